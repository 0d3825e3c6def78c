//! The rules that find a kernel's automatic parameters from the data.

use super::statistic::Statistic;
use super::{Gamma, Length};
use crate::error::{Error, Result};
use crate::points::Points;
use crate::rng::Rng;

/// Up to this many points the median is over all pairs; for more, over [`SAMPLED_PAIRS`] random ones.
const EXACT_MEDIAN_POINTS: usize = 2000;
const SAMPLED_PAIRS: usize = 1_000_000;
/// The seed is fixed, so that all fronts find the same automatic parameters.
pub(super) const SEED: u64 = 0x6d65_7263_6572;

/// The value that was found for an automatic parameter of a kernel.
///
/// ```
/// use mercer::{Gamma, Kernel, KernelPca, Points};
/// let x = Points::from_rows(&[[0.0], [1.0], [2.0]]);
/// let model = KernelPca::new(Kernel::gaussian(Gamma::Median)).components(1).fit(&x)?;
/// let choice = &model.choices()[0];
/// assert_eq!((choice.kernel, choice.parameter), ("gaussian", "gamma"));
/// assert_eq!(choice.value, 1.0); // one over the median squared distance
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Choice {
    /// The name of the kernel.
    pub kernel: &'static str,
    /// The name of the parameter.
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

/// Finds parameters from points, and records the values found.
pub(crate) struct Rules<'a> {
    x: &'a Points<f64>,
    pub(super) choices: Vec<Choice>,
}

impl<'a> Rules<'a> {
    pub(super) fn new(x: &'a Points<f64>) -> Self {
        Rules { x, choices: Vec::new() }
    }

    pub(super) fn d(&self) -> usize {
        self.x.d()
    }

    /// A number for gamma; the median is that of the statistic.
    pub(super) fn gamma(&mut self, kernel: &'static str, gamma: Gamma, statistic: Statistic<'_>) -> Result<Gamma> {
        let (value, rule) = match gamma {
            Gamma::Value(_) | Gamma::OverSigma2(_) | Gamma::Over2Sigma2(_) => return Ok(gamma),
            Gamma::PerDimension => (1.0 / self.x.d() as f64, "1/d"),
            Gamma::Scale => match variance_of_all(self.x) {
                0.0 => (1.0, "scale; all values are equal, any gamma gives the same"),
                v => (1.0 / (self.x.d() as f64 * v), "scale"),
            },
            Gamma::Median => match median(statistic, self.x) {
                (0.0, _) => (1.0, "median; all points are equal, any gamma gives the same"),
                (m, rule) => (1.0 / m, rule),
            },
        };
        self.note(kernel, "gamma", value, rule).map(Gamma::Value)
    }

    /// A number for a length.
    pub(super) fn length(&mut self, kernel: &'static str, length: Length) -> Result<Length> {
        match length {
            Length::Value(_) => Ok(length),
            Length::Median => {
                let (value, rule) = match median(Statistic::SquaredDistance, self.x) {
                    (0.0, _) => (1.0, "median; all points are equal, any length gives the same"),
                    (m, rule) => (m.sqrt(), rule),
                };
                self.note(kernel, "length", value, rule).map(Length::Value)
            }
        }
    }

    fn note(&mut self, kernel: &'static str, parameter: &'static str, value: f64, rule: &'static str) -> Result<f64> {
        self.choices.push(Choice { kernel, parameter, value, rule });
        if value.is_finite() && value > 0.0 {
            return Ok(value);
        }
        let constraint = format!("{parameter} > 0 and finite, as found by the rule {rule}; give a number");
        Err(Error::parameter(kernel, parameter, value, constraint))
    }
}

/// Two different indices below n.
pub(super) fn pair(rng: &mut Rng, n: usize) -> (usize, usize) {
    let i = rng.below(n);
    (i, (i + 1 + rng.below(n - 1)) % n)
}

/// The median of the statistic over pairs of points. If it is 0, because more than half of the pairs are equal points, the
/// median of the positive values; 0 if all points are equal.
fn median(statistic: Statistic<'_>, x: &Points<f64>) -> (f64, &'static str) {
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
