//! Checks of Mercer's conditions: whether a Gram matrix is symmetric and positive semi-definite, and how far it is from
//! that.

use std::fmt;

use crate::block::Block;
use crate::eigen::{check_range, rounding};
use crate::error::{Result, counted};
use crate::exec::Exec;
use crate::kernel::{Bound, Kernel};
use crate::linalg;
use crate::op::{Dense, Gram, SymOp, centre};
use crate::plan::Plan;
use crate::points::PointsRef;
use crate::real::{Real, largest};

/// Whether a symmetric matrix is positive semi-definite, and how far it is from that.
///
/// ```
/// use mercer::{Exec, Points, diagnose};
/// let gram = Points::from_rows(&[[1.0, 2.0], [2.0, 1.0]]); // eigenvalues 3 and -1
/// let definiteness = diagnose::check_gram(&gram, &Exec::new())?.gram;
/// assert!(definiteness.is_indefinite());
/// assert!((definiteness.negative_share() - 0.25).abs() < 1e-12);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Definiteness {
    /// The smallest eigenvalue.
    pub smallest: f64,
    /// The largest eigenvalue.
    pub largest: f64,
    /// The number of eigenvalues below -tolerance.
    pub negative_count: usize,
    /// The sum of their magnitudes.
    pub negative_mass: f64,
    /// The sum of the magnitudes of all eigenvalues.
    pub absolute_mass: f64,
    /// The bound on the rounding error of an eigenvalue.
    pub tolerance: f64,
}

impl Definiteness {
    /// Builds it from all eigenvalues and the bound on their rounding errors.
    pub(crate) fn of(eigenvalues: &[f64], tolerance: f64) -> Self {
        let negative = eigenvalues.iter().filter(|v| **v < -tolerance);
        Definiteness {
            smallest: eigenvalues.iter().copied().fold(f64::INFINITY, f64::min),
            largest: eigenvalues.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            negative_count: negative.clone().count(),
            negative_mass: negative.fold(0.0, |sum, v| sum - v),
            absolute_mass: eigenvalues.iter().map(|v| v.abs()).sum(),
            tolerance,
        }
    }

    /// Builds it from its numbers, as a file has them.
    pub fn from_parts(bounds: (f64, f64), negative: (usize, f64), absolute_mass: f64, tolerance: f64) -> Self {
        let ((smallest, largest), (negative_count, negative_mass)) = (bounds, negative);
        Definiteness { smallest, largest, negative_count, negative_mass, absolute_mass, tolerance }
    }

    /// Returns whether the numbers fit together.
    pub(crate) fn is_sound(&self) -> bool {
        let numbers = [self.smallest, self.largest, self.negative_mass, self.absolute_mass, self.tolerance];
        numbers.iter().all(|v| v.is_finite())
            && self.smallest <= self.largest
            && self.tolerance >= 0.0
            && (0.0..=self.absolute_mass).contains(&self.negative_mass)
            && (self.negative_count > 0) == (self.negative_mass > 0.0)
    }

    /// Returns whether an eigenvalue is negative beyond rounding.
    pub fn is_indefinite(&self) -> bool {
        self.negative_count > 0
    }

    /// Returns the negative mass as a share of the mass of all eigenvalues.
    pub fn negative_share(&self) -> f64 {
        if self.absolute_mass > 0.0 { self.negative_mass / self.absolute_mass } else { 0.0 }
    }

    /// Returns the total variance: the trace, or the sum of magnitudes when some eigenvalues are negative.
    pub(crate) fn total(&self, eigenvalues: &[f64]) -> f64 {
        if self.is_indefinite() { self.absolute_mass } else { eigenvalues.iter().sum::<f64>().max(0.0) }
    }
}

impl fmt::Display for Definiteness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let smallest = if (1e-3..1e5).contains(&self.smallest.abs()) {
            format!("{:.4}", self.smallest)
        } else {
            format!("{:.2e}", self.smallest)
        };
        if !self.is_indefinite() {
            return write!(
                f,
                "positive semi-definite: smallest eigenvalue {smallest}, rounding {:.1e}",
                self.tolerance
            );
        }
        let share = 100.0 * self.negative_share();
        let share = if share >= 0.1 { format!("{share:.1}") } else { format!("{share:.1e}") };
        write!(
            f,
            "not positive semi-definite: {} down to {smallest}, {share} % of the sum of |lambda|",
            counted(self.negative_count as u128, "negative eigenvalue"),
        )
    }
}

/// The result of checking Mercer's conditions on a Gram matrix.
///
/// ```
/// use mercer::{Exec, Points, diagnose};
/// let gram = Points::from_rows(&[[1.0, 0.5], [0.5, 1.0]]);
/// let report = diagnose::check_gram(&gram, &Exec::new())?;
/// assert!(report.is_symmetric && report.holds());
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MercerReport {
    /// Number of points.
    pub n: usize,
    /// The kernel with its numbers, when there is one.
    pub kernel: Option<Kernel>,
    /// The largest |K_ij - K_ji| over the largest |K_ij|.
    pub asymmetry: f64,
    /// Whether the asymmetry is only rounding.
    pub is_symmetric: bool,
    /// The definiteness of K itself: Mercer's condition.
    pub gram: Definiteness,
    /// The definiteness of the centred HKH, which kernel PCA decomposes.
    pub centred: Definiteness,
}

impl MercerReport {
    /// Returns whether K satisfies Mercer's conditions: symmetric and positive semi-definite.
    pub fn holds(&self) -> bool {
        self.is_symmetric && !self.gram.is_indefinite()
    }
}

/// Checks Mercer's conditions for a kernel on points.
///
/// # Errors
/// When the kernel or the points are not valid, or the Gram matrix does not fit the memory budget.
///
/// # Example
/// ```
/// use mercer::{Exec, Points, diagnose};
/// let x = Points::from_rows(&[[0.0, 1.0], [1.0, 2.0], [3.0, 0.5]]);
/// assert!(diagnose::check_kernel(&"gaussian".parse()?, &x, &Exec::new())?.holds());
/// assert!(!diagnose::check_kernel(&"sigmoid(gamma=1, coef0=-2)".parse()?, &x, &Exec::new())?.holds());
/// # Ok::<(), mercer::Error>(())
/// ```
pub fn check_kernel<'a, T: Real>(
    kernel: &Kernel,
    points: impl Into<PointsRef<'a, T>>,
    exec: &Exec,
) -> Result<MercerReport> {
    let x = points.into();
    x.check(1)?;
    allow(x.n(), exec)?;
    exec.run(|| {
        let bound = Bound::new(kernel, x)?;
        let gram = Gram::new(&bound, x)?;
        let matrix = gram.to_matrix(exec)?;
        let stored = Dense::measure_block(matrix, f64::EPSILON)?;
        let error = gram.entry_error(stored.size());
        let matrix = stored.into_matrix();
        let mut report = report(matrix, error)?;
        report.kernel = Some(bound.kernel().clone());
        Ok(report)
    })
}

/// Checks Mercer's conditions for a given matrix. For a matrix that is not symmetric, the definiteness is that of its
/// symmetric part.
///
/// # Errors
/// When it is not square or not finite, or does not fit the memory budget.
pub fn check_gram<'a, T: Real>(gram: impl Into<PointsRef<'a, T>>, exec: &Exec) -> Result<MercerReport> {
    let gram = gram.into();
    allow(gram.n(), exec)?;
    exec.run(|| {
        let dense = Dense::measure(gram)?;
        let (asymmetry, is_symmetric, error) = (dense.asymmetry(), dense.is_symmetric(), dense.entry_error());
        Ok(MercerReport { asymmetry, is_symmetric, ..report(dense.averaged().into_matrix(), error)? })
    })
}

fn allow(n: usize, exec: &Exec) -> Result<()> {
    let bytes = Plan::dense(n, 1, String::new()).bytes;
    exec.allow(bytes, format!("checking the Gram matrix of {n} points"), "check a sample of the points")
}

fn report(mut matrix: Block, entry_error: f64) -> Result<MercerReport> {
    let n = matrix.n();
    check_range(n, largest(matrix.as_slice()))?;
    let norm = linalg::norm(matrix.as_slice());
    let check = |m: &Block| -> Result<Definiteness> {
        let values = linalg::eigenvalues(m.clone())?;
        // Centring does not reduce the rounding errors of the entries.
        Ok(Definiteness::of(&values, rounding(n, entry_error, norm, &values).total()))
    };
    let gram = check(&matrix)?;
    centre(&mut matrix);
    Ok(MercerReport { n, kernel: None, asymmetry: 0.0, is_symmetric: true, gram, centred: check(&matrix)? })
}
