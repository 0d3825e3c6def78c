//! Features: the row phi(x) of a point. A fitted model is an affine map of it.

use std::fmt;
use std::sync::Arc;

use crate::embedding::Embedding;
use crate::error::{Error, ErrorSubject, Result, check_finite};
use crate::exec::Exec;
use crate::kernel::Bound;
use crate::kernel::tile::{self, DistanceMethod, Form, LARGE_TILE, Rows, Scratch};
use crate::points::{Points, PointsRef};
use crate::real::{Real, check_found};

/// Fitted points whose kernel values are computed together.
const PIECE: usize = LARGE_TILE;

/// A user's kernel function.
pub type KernelFn = Arc<dyn Fn(&[f64], &[f64]) -> f64 + Send + Sync>;

/// The mean that is subtracted from each column and the scale by which it is then divided, before a kernel is evaluated.
///
/// ```
/// use mercer::{Gamma, Kernel, KernelPca, Points};
/// let x = Points::from_rows(&[[0.0, 10.0], [1.0, 30.0], [2.0, 20.0]]);
/// let model = KernelPca::new(Kernel::gaussian(Gamma::Median)).standardise(true).components(1).fit(&x)?;
/// assert_eq!(model.standardise().expect("standardised").mean, [1.0, 20.0]);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Standardise {
    pub mean: Vec<f64>,
    pub scale: Vec<f64>,
}

impl Standardise {
    /// Refuses numbers that no fit finds.
    pub(crate) fn check(&self) -> Result<()> {
        check_found(ErrorSubject::Mean, &self.mean)?;
        check_found(ErrorSubject::Scale, &self.scale)?;
        match self.scale.iter().all(|s| *s > 0.0) {
            true => Ok(()),
            false => Err(Error::inconsistent("the model has a scale that is not positive")),
        }
    }

    pub(crate) fn apply<T: Real>(this: Option<&Self>, x: PointsRef<'_, T>) -> Points<f64> {
        match this {
            Some(s) => crate::moments::standardised(x, &s.mean, &vec![0.0; s.mean.len()], &s.scale),
            None => x.to_f64(),
        }
    }
}

/// The features phi(x) of a model.
#[allow(clippy::large_enum_variant)] // there is one per model
#[derive(Clone)]
pub(crate) enum Features {
    /// (phi(x) - mean) / scale, coordinate by coordinate. The mean is subtracted before any product, so that points far from
    /// the origin keep their digits.
    Explicit { embedding: Embedding, d: usize, mean: Vec<f64>, scale: Vec<f64> },
    /// k(x, x_1), ..., k(x, x_m), in one form or the other, after the points are standardised.
    Kernel { bound: Bound, rows: Rows, standardise: Option<Standardise>, form: Form },
    /// The same by a function of the user's.
    KernelFn { kernel: KernelFn, points: Points<f64> },
    /// Rows of a cross-Gram matrix that the user computes.
    GramRow { n: usize },
}

impl Features {
    /// The number of features.
    pub(crate) fn len(&self) -> usize {
        match self {
            Features::Explicit { mean, .. } => mean.len(),
            Features::Kernel { rows, .. } => rows.n(),
            Features::KernelFn { points, .. } => points.n(),
            Features::GramRow { n } => *n,
        }
    }

    /// The number of dimensions of its points.
    pub(crate) fn d(&self) -> usize {
        match self {
            Features::Explicit { d, .. } => *d,
            Features::Kernel { bound, .. } => bound.d(),
            Features::KernelFn { points, .. } => points.d(),
            Features::GramRow { n } => *n,
        }
    }

    /// Calls `f(first feature, width, values)` with the features of a block of points, row by row, piece by piece and in
    /// order. `first_row` is the number of the first point in messages.
    pub(crate) fn each_piece<T: Real>(
        &self,
        x: PointsRef<'_, T>,
        first_row: usize,
        exec: &Exec,
        mut f: impl FnMut(usize, usize, &[f64]),
    ) -> Result<()> {
        match self {
            Features::Explicit { embedding: Embedding::Identity, mean, scale, .. } => {
                let plain = scale.iter().all(|s| *s == 1.0);
                let mut values = Vec::with_capacity(x.n() * mean.len());
                for point in x.rows() {
                    let centred = point.iter().zip(mean).map(|(v, m)| v.to_f64() - m);
                    match plain {
                        true => values.extend(centred),
                        false => values.extend(centred.zip(scale).map(|(v, s)| v / s)),
                    }
                }
                f(0, mean.len(), &values);
            }
            Features::Explicit { embedding, mean, scale, .. } => {
                let mut values = Vec::with_capacity(x.n() * mean.len());
                for (i, point) in x.to_f64().rows().enumerate() {
                    let phi = embedding.checked_map(first_row + i, point, mean.len())?;
                    values.extend(phi.iter().zip(mean).zip(scale).map(|((v, m), s)| (v - m) / s));
                }
                f(0, mean.len(), &values);
            }
            Features::Kernel { bound, rows, standardise, form } => {
                let new = Rows::new(bound, Standardise::apply(standardise.as_ref(), x), rows.method());
                let (mut values, mut scratch) = (vec![0.0; x.n() * PIECE], Scratch::new());
                for start in (0..rows.n()).step_by(PIECE) {
                    let cols = start..rows.n().min(start + PIECE);
                    let values = &mut values[..x.n() * cols.len()];
                    let how = (bound, *form, exec.level());
                    tile::fill(how, (&new, 0..x.n()), (rows, cols.clone()), values, &mut scratch);
                    f(start, cols.len(), values);
                }
            }
            Features::KernelFn { kernel, points } => {
                let x = x.to_f64();
                let values: Vec<f64> =
                    x.rows().flat_map(|point| points.rows().map(|fitted| kernel(point, fitted))).collect();
                f(0, points.n(), &values);
            }
            Features::GramRow { n } => f(0, *n, x.to_f64().as_slice()),
        }
        Ok(())
    }

    /// The error for a point whose scores are not finite. It names the feature that is not finite.
    pub(crate) fn not_finite<T: Real>(&self, x: PointsRef<'_, T>, row: usize, exec: &Exec) -> Result<()> {
        let mut found = Ok(());
        self.each_piece(x, row, exec, |first, width, values| {
            if found.is_ok() {
                found = check_finite(ErrorSubject::KernelValues, &values[..width], |at| (row, first + at));
            }
        })?;
        found
    }

    /// k(x, x) of each point, in the same form as the features; `None` for an embedding or a given Gram matrix.
    pub(crate) fn self_values<T: Real>(&self, x: PointsRef<'_, T>) -> Option<Vec<f64>> {
        match self {
            Features::Kernel { bound, standardise, form, .. } => {
                let rows = Rows::new(bound, Standardise::apply(standardise.as_ref(), x), DistanceMethod::Differences);
                let how = (bound, *form, Exec::new().level());
                Some((0..x.n()).map(|i| tile::self_value(how, &rows, i)).collect())
            }
            Features::KernelFn { kernel, .. } => Some(x.to_f64().rows().map(|p| kernel(p, p)).collect()),
            Features::Explicit { .. } | Features::GramRow { .. } => None,
        }
    }

    /// Refuses new points that the kernel is not defined for, or whose squares leave the range.
    pub(crate) fn check_domain<T: Real>(&self, x: PointsRef<'_, T>) -> Result<()> {
        match self {
            Features::Kernel { bound, standardise: None, .. } => bound.check(x),
            Features::Kernel { standardise: Some(_), .. } => x.check_not_huge(),
            Features::Explicit { .. } | Features::KernelFn { .. } | Features::GramRow { .. } => Ok(()),
        }
    }

    pub(crate) fn check_dimensions<T: Real>(&self, x: PointsRef<'_, T>) -> Result<()> {
        if x.d() == self.d() {
            return Ok(());
        }
        let what = match self {
            Features::GramRow { .. } => "columns of the cross-Gram matrix, one per fitted point",
            _ => "dimensions of the points, which must be those the model was fitted to",
        };
        Err(Error::shape(what, x.d(), self.d()))
    }
}

impl fmt::Debug for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Features::Explicit { embedding, mean, .. } => write!(f, "{embedding:?} with {} features", mean.len()),
            Features::Kernel { bound, rows, .. } => {
                write!(f, "{} on {} points", bound.kernel(), rows.n())
            }
            Features::KernelFn { points, .. } => {
                write!(f, "kernel function on {} points", points.n())
            }
            Features::GramRow { n } => write!(f, "Gram rows of {n} points"),
        }
    }
}
