//! Binding: a kernel and points become a kernel of numbers.

use super::rounding::entry_error;
use super::statistic::Statistic;
use super::{Gamma, Kernel, Length};
use crate::error::{Error, ErrorKind, Result};
use crate::points::{Points, PointsRef};
use crate::real::{Real, SQUARABLE, largest};
use crate::rng::Rng;

/// Up to this many points the median is over all pairs; beyond, over [`SAMPLED_PAIRS`] random ones.
const EXACT_MEDIAN_POINTS: usize = 2000;
const SAMPLED_PAIRS: usize = 1_000_000;
/// Pairs that decide which form of the kernel has the smaller entries.
const FORM_PAIRS: usize = 1000;
/// One fixed seed, so that every front finds the same automatic parameters.
const SEED: u64 = 0x6d65_7263_6572;

/// A kernel whose parameters are all numbers, for points of d dimensions.
///
/// # Example
/// ```
/// use mercer::{Bound, Gamma, Kernel, Points};
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
    /// Entries are evaluated as k - origin in models that centre (MATHS.md, M6).
    deviation: bool,
    /// A point in the middle of the points, from which they are measured wherever the kernel allows it.
    shift: Vec<f64>,
}

/// What an automatic parameter became.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// Whose parameter.
    pub kernel: &'static str,
    /// Which parameter.
    pub parameter: &'static str,
    /// The number that was found.
    pub value: f64,
    /// The rule that found it.
    pub rule: &'static str,
}

impl std::fmt::Display for Choice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} = {} ({})", self.kernel, self.parameter, self.value, self.rule)
    }
}

impl Bound {
    /// Binds `kernel` to the points that its automatic parameters are taken from.
    ///
    /// # Errors
    /// When a parameter is outside its domain, or points are missing or not finite.
    pub fn new<'a, T: Real>(kernel: &Kernel, points: impl Into<PointsRef<'a, T>>) -> Result<Self> {
        let points = points.into();
        points.check(1)?;
        let x = points.to_f64();
        kernel.validate()?;
        let magnitude = largest(x.as_slice());
        let too_small = magnitude > 0.0 && magnitude < SQUARABLE.start && takes_squares(kernel);
        if too_small || magnitude >= SQUARABLE.end {
            return Err(ErrorKind::Range { what: "points", magnitude }.into());
        }
        let mut choices = Vec::new();
        let kernel = resolve(kernel, &x, &mut choices)?.tidied();
        kernel.validate()?;
        let shift = middle_point(&x);
        let mut bound = Bound { d: x.d(), deviation: false, shift, kernel, choices };
        bound.deviation = bound.deviations_are_smaller(&x);
        Ok(bound)
    }

    /// A bound kernel from its parts, as a model file has them.
    pub(crate) fn from_parts(kernel: Kernel, d: usize, deviation: bool, shift: Vec<f64>) -> Result<Self> {
        kernel.validate()?;
        if !is_numeric(&kernel) {
            return Err(Error::inconsistent(format!("kernel '{kernel}' has parameters that are not numbers")));
        }
        if shift.len() != d {
            return Err(Error::shape("dimensions of the shift", shift.len(), d));
        }
        Ok(Bound { kernel, choices: Vec::new(), d, deviation, shift })
    }

    /// The kernel, with numbers only.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// What the automatic parameters became.
    pub fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// The number of dimensions it is bound to.
    pub fn d(&self) -> usize {
        self.d
    }

    /// k(x, y).
    pub fn eval(&self, x: &[f64], y: &[f64]) -> f64 {
        self.kernel.eval(x, y)
    }

    /// How far a computed entry of the Gram matrix of points with |x|^2 <= `square` can be from k(x, y), the largest
    /// being `largest`, by rows in arithmetic of spacing `epsilon` whose products reach to squared norms `reach`.
    pub(crate) fn entry_error(&self, square: f64, reach: f64, largest: f64, epsilon: f64) -> f64 {
        entry_error(&self.kernel, self.d, square, reach, largest, epsilon)
    }

    /// A bound on |k(x, y)| for points with |x|^2 <= `square`.
    pub(crate) fn largest_value(&self, square: f64) -> f64 {
        super::rounding::largest_value(&self.kernel, square)
    }

    /// Whether f32 is good enough to find the way among points with |x|^2 <= `square`, for f64 to confirm.
    pub(crate) fn allows_narrow(&self, square: f64) -> bool {
        super::rounding::allows_narrow(&self.kernel, square)
    }

    /// Whether models that centre evaluate k - k(x,x) in place of k (MATHS.md, M6).
    pub fn uses_deviations(&self) -> bool {
        self.deviation
    }

    /// A point in the middle of the points, on a coarse grid: linear terms are measured from it in models that centre
    /// (MATHS.md, M6), and distances of many points, which do not depend on it.
    pub fn shift(&self) -> &[f64] {
        &self.shift
    }

    pub(crate) fn has_linear_term(&self) -> bool {
        has_linear_term(&self.kernel)
    }

    /// Wide kernels are 1 plus a small number: the small number alone has the digits that survive centring.
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

/// The mean, rounded to a 256th of the spread of each coordinate (to a power of two): whole numbers and short fractions
/// stay exactly what they are when it is subtracted.
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

/// Whether coordinates are multiplied anywhere: all kernels but the Laplacian do.
fn takes_squares(kernel: &Kernel) -> bool {
    match kernel {
        Kernel::Sum(ks) | Kernel::Product(ks) => ks.iter().any(takes_squares),
        Kernel::Scaled(_, k) | Kernel::Normalised(k) => takes_squares(k),
        Kernel::Laplacian { .. } => false,
        _ => true,
    }
}

/// Two different indices below n.
fn pair(rng: &mut Rng, n: usize) -> (usize, usize) {
    let i = rng.below(n);
    (i, (i + 1 + rng.below(n - 1)) % n)
}

/// Whether a sum has a linear term, whose Gram matrix may be measured from any point when it is centred.
fn has_linear_term(kernel: &Kernel) -> bool {
    match kernel {
        Kernel::Linear => true,
        Kernel::Sum(terms) => terms.iter().any(has_linear_term),
        Kernel::Scaled(_, k) => has_linear_term(k),
        _ => false,
    }
}

/// What is left of a sum when its linear terms, which are measured from the mean anyway, are taken out.
fn without_linear_terms(kernel: &Kernel) -> Option<Kernel> {
    match kernel {
        Kernel::Linear => None,
        Kernel::Sum(terms) => terms.iter().filter_map(without_linear_terms).reduce(|a, b| a + b),
        Kernel::Scaled(w, k) => without_linear_terms(k).map(|k| *w * k),
        k => Some(k.clone()),
    }
}

fn is_numeric(kernel: &Kernel) -> bool {
    match kernel {
        Kernel::Sum(ks) | Kernel::Product(ks) => ks.iter().all(is_numeric),
        Kernel::Scaled(_, k) | Kernel::Normalised(k) => is_numeric(k),
        Kernel::Cosine => true,
        leaf => leaf.profile().is_some(),
    }
}

/// The same kernel with numbers in place of rules.
fn resolve(kernel: &Kernel, x: &Points<f64>, choices: &mut Vec<Choice>) -> Result<Kernel> {
    let mut all = |ks: &[Kernel]| ks.iter().map(|k| resolve(k, x, choices)).collect::<Result<Vec<_>>>();
    Ok(match kernel {
        Kernel::Sum(ks) => Kernel::Sum(all(ks)?),
        Kernel::Product(ks) => Kernel::Product(all(ks)?),
        Kernel::Scaled(w, k) => Kernel::Scaled(*w, Box::new(resolve(k, x, choices)?)),
        Kernel::Normalised(k) => Kernel::Normalised(Box::new(resolve(k, x, choices)?)),
        Kernel::Gaussian { gamma } => {
            Kernel::Gaussian { gamma: find_gamma("gaussian", *gamma, Statistic::SquaredDistance, x, choices)? }
        }
        Kernel::Laplacian { gamma } => {
            Kernel::Laplacian { gamma: find_gamma("laplacian", *gamma, Statistic::L1, x, choices)? }
        }
        Kernel::Polynomial { gamma, coef0, degree } => Kernel::Polynomial {
            gamma: find_gamma("polynomial", *gamma, Statistic::Dot, x, choices)?,
            coef0: *coef0,
            degree: *degree,
        },
        Kernel::Sigmoid { gamma, coef0 } => {
            Kernel::Sigmoid { gamma: find_gamma("sigmoid", *gamma, Statistic::Dot, x, choices)?, coef0: *coef0 }
        }
        Kernel::Matern { nu, length } => {
            Kernel::Matern { nu: *nu, length: find_length("matern", *length, x, choices)? }
        }
        Kernel::RationalQuadratic { alpha, length } => {
            Kernel::RationalQuadratic { alpha: *alpha, length: find_length("rational_quadratic", *length, x, choices)? }
        }
        Kernel::Linear | Kernel::Cosine => kernel.clone(),
    })
}

fn find_gamma(
    kernel: &'static str,
    gamma: Gamma,
    statistic: Statistic,
    x: &Points<f64>,
    choices: &mut Vec<Choice>,
) -> Result<Gamma> {
    let (value, rule) = match gamma {
        Gamma::Value(_) | Gamma::OverSigma2(_) | Gamma::Over2Sigma2(_) => return Ok(gamma),
        Gamma::PerDimension => (1.0 / x.d() as f64, "1/d"),
        Gamma::Scale => match variance_of_all(x) {
            0.0 => (1.0, "scale; all values are equal, any gamma gives the same"),
            v => (1.0 / (x.d() as f64 * v), "scale"),
        },
        Gamma::Median => match median(statistic, x) {
            (0.0, _) => (1.0, "median; all points are equal, any gamma gives the same"),
            (m, rule) => (1.0 / m, rule),
        },
    };
    choices.push(Choice { kernel, parameter: "gamma", value, rule });
    if value.is_finite() && value > 0.0 {
        return Ok(Gamma::Value(value));
    }
    Err(Error::parameter(
        kernel,
        "gamma",
        value,
        format!("gamma > 0 and finite, as found by the rule {rule}; give a number"),
    ))
}

fn find_length(kernel: &'static str, length: Length, x: &Points<f64>, choices: &mut Vec<Choice>) -> Result<Length> {
    if length.number().is_some() {
        return Ok(length);
    }
    let (value, rule) = match median(Statistic::SquaredDistance, x) {
        (0.0, _) => (1.0, "median; all points are equal, any length gives the same"),
        (m, rule) => (m.sqrt(), rule),
    };
    choices.push(Choice { kernel, parameter: "length", value, rule });
    Ok(Length::Value(value))
}

/// The median of the statistic over pairs of points, over the positive ones where the median itself is 0
/// (more than half of the pairs being equal points), and 0 when all points are equal.
fn median(statistic: Statistic, x: &Points<f64>) -> (f64, &'static str) {
    let n = x.n();
    let mut values: Vec<f64> = if n <= EXACT_MEDIAN_POINTS {
        (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| statistic.of(x.row(i), x.row(j))).collect()
    } else {
        let mut rng = Rng::new(SEED);
        (0..SAMPLED_PAIRS)
            .map(|_| {
                let (i, j) = pair(&mut rng, n);
                statistic.of(x.row(i), x.row(j))
            })
            .collect()
    };
    let rule = if n <= EXACT_MEDIAN_POINTS { "median" } else { "median of a million sampled pairs" };
    match middle(&mut values) {
        m if m > 0.0 => (m, rule),
        _ => {
            values.retain(|v| *v > 0.0);
            (middle(&mut values), "median of the pairs that differ")
        }
    }
}

/// The median: the mean of the two middle values when their number is even; 0 when there are none.
fn middle(values: &mut [f64]) -> f64 {
    let half = values.len() / 2;
    if values.is_empty() {
        return 0.0;
    }
    let even = values.len().is_multiple_of(2);
    let (below, &mut upper, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    if !even {
        return upper;
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    lower + (upper - lower) / 2.0
}

fn variance_of_all(x: &Points<f64>) -> f64 {
    let values = x.as_slice();
    let count = values.len() as f64;
    let first = values[0];
    let mean = values.iter().map(|v| v - first).sum::<f64>() / count + first;
    values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / count
}
