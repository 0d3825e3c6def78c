//! Binding: a kernel and points become a kernel of numbers.

use super::rounding::{self, Extent, Slope};
use super::rules::{Choice, Rules, SEED, pair};
use super::statistic::Statistic;
use super::{Domain, Kernel, Leaf};
use crate::error::{Error, ErrorKind, ErrorSubject, Result};
use crate::points::{Points, PointsRef};
use crate::real::{Real, SQUARABLE, largest};
use crate::rng::Rng;

/// Number of pairs from which the form of the kernel with the smaller entries is chosen.
const FORM_PAIRS: usize = 1000;

/// A kernel whose parameters are all numbers, for points of d dimensions.
///
/// # Example
/// ```
/// use mercer::kernel::Bound;
/// use mercer::{Gamma, Kernel, Points};
/// let x = Points::from_rows(&[[0.0], [1.0], [3.0]]);
/// let k = Bound::new(&Kernel::gaussian(Gamma::Median), &x)?;
/// // squared distances 1, 4, 9: the median is 4
/// assert_eq!(k.kernel().to_string(), "gaussian(gamma=0.25)");
/// assert_eq!(k.choices()[0].to_string(), "gaussian: gamma = 0.25 (median)");
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    kernel: Kernel,
    choices: Vec<Choice>,
    d: usize,
    /// Whether entries are evaluated as k - origin in models that centre (MATHS.md, M6).
    deviation: bool,
    /// A point near the mean of the points, subtracted from them where the kernel allows it.
    shift: Vec<f64>,
}

impl Bound {
    /// Binds `kernel` to points, from which its automatic parameters are computed.
    ///
    /// # Errors
    /// When a parameter is outside its domain, or points are missing or not finite.
    pub fn new<'a, T: Real>(kernel: &Kernel, points: impl Into<PointsRef<'a, T>>) -> Result<Self> {
        let points = points.into();
        points.check(1)?;
        let x = points.to_f64();
        kernel.validate()?;
        let magnitude = largest(x.as_slice());
        let takes_squares = kernel.leaves().iter().any(|leaf| leaf.statistic().takes_squares());
        // Equal points have no differences that squares would lose. Their dot products round to 0, which matters only to
        // a kernel that divides by them.
        let equal = x.rows().all(|row| row == x.row(0)) && !divides(kernel);
        let too_small = magnitude > 0.0 && magnitude < SQUARABLE.start && takes_squares && !equal;
        if too_small || magnitude >= SQUARABLE.end {
            return Err(ErrorKind::Range { what: ErrorSubject::Points, magnitude }.into());
        }
        check_domain(kernel, x.view())?;
        let mut rules = Rules::new(&x);
        let kernel = resolve(kernel, &mut rules)?.tidied();
        let choices = rules.choices;
        kernel.validate()?;
        let shift = middle_point(&x);
        let mut bound = Bound { d: x.d(), deviation: false, shift, kernel, choices };
        bound.deviation = bound.deviations_are_smaller(&x);
        Ok(bound)
    }

    /// A bound kernel from its parts, as a model file has them.
    pub(crate) fn from_parts(kernel: Kernel, d: usize, deviation: bool, shift: Vec<f64>) -> Result<Self> {
        kernel.validate()?;
        if !kernel.is_numeric() {
            return Err(Error::inconsistent(format!("kernel '{kernel}' has parameters that are not numbers")));
        }
        if shift.len() != d {
            return Err(Error::shape("dimensions of the shift", shift.len(), d));
        }
        Ok(Bound { kernel, choices: Vec::new(), d, deviation, shift })
    }

    /// Returns the kernel, with numbers only.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Returns the values found for automatic parameters.
    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// Refuses points of another number of dimensions, points whose squares leave the range, and points that the kernel
    /// is not defined for.
    pub(crate) fn check<T: Real>(&self, x: PointsRef<'_, T>) -> Result<()> {
        x.check_dimensions(self.d)?;
        x.check_not_huge()?;
        check_domain(&self.kernel, x)
    }

    /// The number of dimensions it is bound to.
    pub fn d(&self) -> usize {
        self.d
    }

    /// k(x, y).
    pub fn eval(&self, x: &[f64], y: &[f64]) -> f64 {
        self.kernel.eval(x, y)
    }

    /// How far a computed entry of the Gram matrix of points with this extent can be from k(x, y), entries being of the size
    /// `size`, in arithmetic of spacing `epsilon`.
    pub(crate) fn entry_error(&self, extent: &Extent, size: f64, epsilon: f64) -> f64 {
        rounding::entry_error(&self.kernel, self.d, extent, size, epsilon)
    }

    /// A bound on |k(x, y)| for points with |x|^2 <= `square`.
    pub(crate) fn largest_value(&self, square: f64) -> f64 {
        rounding::largest_value(&self.kernel, self.d, square)
    }

    /// Whether f32 is accurate enough for the first passes over points with |x|^2 <= `square`.
    pub(crate) fn allows_f32(&self, square: f64) -> bool {
        rounding::allows_f32(&self.kernel, self.d, square)
    }

    /// Whether models that centre evaluate k - k(x,x) in place of k (MATHS.md, M6).
    pub fn uses_deviations(&self) -> bool {
        self.deviation
    }

    /// A point near the mean of the points, on a coarse grid. It is subtracted from points before linear terms are computed
    /// in models that centre (MATHS.md, M6), and before distances of many points, which do not depend on it.
    pub fn shift(&self) -> &[f64] {
        &self.shift
    }

    /// Whether a leaf is a smooth function of the squared distance of the points themselves, without a lens.
    pub(crate) fn uses_plain_distances(&self) -> bool {
        let plain =
            |leaf: &Leaf| leaf.statistic() == Statistic::SquaredDistance && matches!(leaf.slope(), Slope::At(_));
        self.kernel.leaves().into_iter().any(plain)
    }

    pub(crate) fn has_linear_term(&self) -> bool {
        has_linear_term(&self.kernel)
    }

    /// Whether to evaluate k - origin. Values of a wide kernel are 1 plus a small number, and centring removes the 1. If the
    /// small number is computed alone, it has more digits.
    fn deviations_are_smaller(&self, x: &Points<f64>) -> bool {
        let Some(kernel) = without_linear_terms(&self.kernel) else { return false };
        let origin = super::tile::origin(&kernel);
        if origin == 0.0 || x.n() < 2 {
            return false;
        }
        let mut rng = Rng::new(SEED);
        let (mut values, mut deviations) = (0.0, 0.0);
        for _ in 0..FORM_PAIRS {
            let (i, j) = pair(&mut rng, x.n());
            let k = kernel.eval(x.row(i), x.row(j));
            values += k.abs();
            deviations += (k - origin).abs();
        }
        deviations < values
    }
}

/// The mean, each coordinate rounded to a multiple of a power of two of about a 256th of its spread. Subtracting it from
/// whole numbers and short fractions is then exact.
fn middle_point(x: &Points<f64>) -> Vec<f64> {
    let mean = x.mean();
    let mut spread = vec![0.0f64; x.d()];
    for row in x.rows() {
        for ((spread, v), mean) in spread.iter_mut().zip(row).zip(&mean) {
            *spread = spread.max((v - mean).abs());
        }
    }
    mean.iter()
        .zip(spread)
        .map(|(mean, spread)| {
            let grid = 2f64.powi((spread.log2().floor() - 8.0).clamp(-1000.0, 1000.0) as i32);
            let rounded = (mean / grid).round() * grid;
            if spread > 0.0 && rounded.is_finite() { rounded } else { *mean }
        })
        .collect()
}

/// Refuses points that the kernel is not defined for.
pub(crate) fn check_domain<T: Real>(kernel: &Kernel, x: PointsRef<'_, T>) -> Result<()> {
    match kernel.domain() {
        Domain::All => Ok(()),
        Domain::NonNegative => {
            let negative = |row: &[T]| row.iter().position(|v| v.to_f64() < 0.0);
            let found = x.rows().enumerate().find_map(|(i, row)| negative(row).map(|j| (i, j, row[j].to_f64())));
            match found {
                Some((row, column, value)) => {
                    let kernel = kernel.to_string();
                    Err(ErrorKind::Domain { kernel, row, column, value, constraint: "value >= 0" }.into())
                }
                None => Ok(()),
            }
        }
    }
}

/// Whether a sum has a linear term. Any point may be subtracted before its Gram matrix is computed, if that is then centred.
fn has_linear_term(kernel: &Kernel) -> bool {
    match kernel {
        Kernel::Leaf(leaf) => matches!(leaf, Leaf::Linear(_)),
        Kernel::Sum(terms) => terms.iter().any(has_linear_term),
        Kernel::Scaled(_, k) => has_linear_term(k),
        Kernel::Product(_) | Kernel::Normalised(_) => false,
    }
}

/// Whether a value is divided by squares of coordinates.
fn divides(kernel: &Kernel) -> bool {
    match kernel {
        Kernel::Leaf(leaf) => match leaf.statistic() {
            Statistic::Cosine | Statistic::Tanimoto => true,
            Statistic::Dot
            | Statistic::SquaredDistance
            | Statistic::ScaledDistance(_)
            | Statistic::CircleDistance(_)
            | Statistic::L1
            | Statistic::ChiSquared => false,
        },
        Kernel::Sum(ks) | Kernel::Product(ks) => ks.iter().any(divides),
        Kernel::Scaled(_, k) => divides(k),
        Kernel::Normalised(_) => true,
    }
}

/// The sum without its linear terms, from which the mean is subtracted anyway.
fn without_linear_terms(kernel: &Kernel) -> Option<Kernel> {
    match kernel {
        Kernel::Leaf(Leaf::Linear(_)) => None,
        Kernel::Sum(terms) => terms.iter().filter_map(without_linear_terms).reduce(|a, b| a + b),
        Kernel::Scaled(w, k) => without_linear_terms(k).map(|k| *w * k),
        Kernel::Leaf(_) | Kernel::Product(_) | Kernel::Normalised(_) => Some(kernel.clone()),
    }
}

/// The same kernel with numbers in place of rules.
fn resolve(kernel: &Kernel, rules: &mut Rules<'_>) -> Result<Kernel> {
    let mut all = |ks: &[Kernel]| ks.iter().map(|k| resolve(k, rules)).collect::<Result<Vec<_>>>();
    Ok(match kernel {
        Kernel::Leaf(leaf) => Kernel::Leaf(leaf.resolve(rules)?),
        Kernel::Sum(ks) => Kernel::Sum(all(ks)?),
        Kernel::Product(ks) => Kernel::Product(all(ks)?),
        Kernel::Scaled(w, k) => Kernel::Scaled(*w, Box::new(resolve(k, rules)?)),
        Kernel::Normalised(k) => Kernel::Normalised(Box::new(resolve(k, rules)?)),
    })
}
