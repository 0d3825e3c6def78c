//! exp(-gamma sum (x-y)^2 / (x+y)), for histograms.

use fearless_simd::prelude::*;

use super::{LeafKernel, exponential};
use crate::ball::{Ball, exponential, gap, sum};
use crate::error::Result;
use crate::kernel::formula::Formula;
use crate::kernel::parameter::{DISTANCE_GAMMA, Domain, Entry, Value};
use crate::kernel::rounding::{Size, Slope};
use crate::kernel::rules::Rules;
use crate::kernel::statistic::Statistic;
use crate::kernel::{Gamma, Kernel};
use crate::real::Real;
use crate::vector::Four;

/// exp(-gamma sum_j (x_j - y_j)^2 / (x_j + y_j)), for points without negative values
///
/// ```
/// use mercer::kernel::Chi2;
/// use mercer::{Gamma, Kernel};
/// let kernel = Kernel::from(Chi2 { gamma: Gamma::Value(0.5) });
/// assert_eq!(kernel, Kernel::chi2(Gamma::Value(0.5)));
/// assert_eq!(kernel.to_string(), "chi2(gamma=0.5)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chi2 {
    /// One over the width.
    pub gamma: Gamma,
}

impl Kernel {
    /// exp(-gamma sum_j (x_j - y_j)^2 / (x_j + y_j)), for points without negative values.
    pub fn chi2(gamma: Gamma) -> Self {
        Chi2 { gamma }.into()
    }
}

impl LeafKernel for Chi2 {
    const ENTRY: Entry = Entry {
        name: "chi2",
        aliases: &["chi_squared"],
        formula: "exp(-gamma sum (x-y)^2 / (x+y))",
        psd: true,
        domain: Domain::NonNegative,
        about: "histograms and counts, none of them negative; differences count for less where both values are large",
        parameters: &[DISTANCE_GAMMA],
        build: |v| Ok(Chi2 { gamma: v.gamma("gamma")? }.into()),
    };

    fn arguments(&self) -> Vec<(&'static str, Value)> {
        vec![self.gamma.argument()]
    }

    fn is_psd(&self) -> bool {
        true
    }

    fn resolve(&self, rules: &mut Rules<'_>) -> Result<Self> {
        Ok(Chi2 { gamma: rules.gamma("chi2", self.gamma, Statistic::ChiSquared)? })
    }

    fn statistic(&self) -> Statistic<'_> {
        Statistic::ChiSquared
    }

    fn value(&self, s: f64) -> f64 {
        exponential::value(self.gamma.or_nan(), s)
    }

    fn origin(&self) -> f64 {
        1.0
    }

    fn deviation(&self, s: f64) -> f64 {
        exponential::deviation(self.gamma.or_nan(), s)
    }

    fn derivative(&self, s: f64) -> f64 {
        exponential::derivative(self.gamma.or_nan(), s)
    }

    fn slope(&self) -> Slope {
        Slope::Unused
    }

    fn size(&self, d: usize, square: f64) -> Size {
        // Rounding the points themselves, to f32 say, changes s by at most 2 eps sum |x-y|, and
        // gamma sum |x-y| exp(-gamma s) <= 0.43 sqrt(gamma sum (x+y)), where sum (x+y) <= 2 sqrt(d) |x|.
        let total = 2.0 * (d as f64).sqrt() * square.sqrt();
        Size { value: 1.0, error: (self.gamma.number().unwrap_or(1.0) * total).sqrt() }
    }

    fn formula(&self) -> Formula {
        exponential::formula(self.gamma.or_nan())
    }

    fn ball(&self, x: &[Ball], y: &[Ball], less_origin: bool) -> Ball {
        let squares = sum(x, y, |a, b| {
            let total = a + b;
            if total.is_zero() { 0.0.into() } else { gap(a, b) * gap(a, b) / total }
        });
        exponential(self.gamma.times(squares), less_origin)
    }

    #[inline(always)]
    fn vectors<S: Simd, T: Real>(&self, simd: S, deviation: bool) -> impl Fn(Four<S, T>) -> Four<S, T> {
        exponential::vectors::<S, T>(simd, self.gamma.or_nan(), deviation)
    }
}
