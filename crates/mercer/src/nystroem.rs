//! Features of a kernel from a sample of points.

use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::features::Features;
use crate::kernel::tile::{DistanceMethod, Form, Rows};
use crate::kernel::{Bound, Kernel};
use crate::points::{Points, PointsRef};
use crate::projection::Projection;
use crate::real::Real;

/// Features z(x) = W'k(x) of a kernel, k(x) its values with landmarks: z(x).z(y) is near to k(x, y) when WW' is the inverse
/// of the Gram matrix of the landmarks (the pseudo-inverse if it is singular), and exact where x or y is one of them. For
/// an indefinite kernel, WW' can only be the inverse of the positive part.
///
/// # Example
/// ```
/// use mercer::{Exec, Gamma, Kernel, NystroemModel, Points};
/// let landmarks = Points::from_rows(&[[0.0, 1.0]]);
/// let weights = Points::from_rows(&[[1.0]]); // k(x, x) = 1
/// let map = NystroemModel::new(Kernel::gaussian(Gamma::Value(0.5)), landmarks.clone(), weights)?;
/// assert_eq!(map.transform(&landmarks, &Exec::new())?.row(0), [1.0]);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct NystroemModel {
    projection: Projection,
}

impl NystroemModel {
    /// Builds the map with these landmarks and weights, a row per landmark and a column per feature.
    ///
    /// # Errors
    /// When the kernel has parameters that are not numbers, or sizes do not fit or values are not finite.
    pub fn new(kernel: Kernel, landmarks: Points<f64>, weights: Points<f64>) -> Result<Self> {
        landmarks.view().check(1)?;
        landmarks.view().check_not_huge()?;
        let bound = Bound::new(&kernel, &landmarks)?;
        if !bound.choices().is_empty() {
            return Err(Error::inconsistent(format!("kernel '{kernel}' has parameters that are not numbers")));
        }
        let rows = Rows::new(&bound, landmarks, DistanceMethod::Differences);
        let features = Features::Kernel { bound, rows, standardise: None, form: Form::Value };
        let offset = vec![0.0; weights.d()];
        Ok(NystroemModel { projection: Projection::new(features, weights, offset)? })
    }

    fn parts(&self) -> (&Bound, &Rows) {
        match self.projection.features() {
            Features::Kernel { bound, rows, .. } => (bound, rows),
            _ => unreachable!("these features are a kernel's"),
        }
    }

    /// Returns the kernel.
    pub fn kernel(&self) -> &Kernel {
        self.parts().0.kernel()
    }

    /// Returns the landmarks.
    pub fn landmarks(&self) -> &Points<f64> {
        self.parts().1.points()
    }

    /// Returns W, a row per landmark.
    pub fn weights(&self) -> &Points<f64> {
        self.projection.weights()
    }

    /// Returns the number of features.
    pub fn components(&self) -> usize {
        self.projection.components()
    }

    /// Returns the number of columns of the points.
    pub fn d(&self) -> usize {
        self.projection.features().d()
    }

    /// Features of points.
    ///
    /// # Errors
    /// When the points have other dimensions than the landmarks, or values that are not finite.
    pub fn transform<'a, T: Real>(&self, points: impl Into<PointsRef<'a, T>>, exec: &Exec) -> Result<Points<f64>> {
        self.projection.apply(points.into(), exec)
    }
}
