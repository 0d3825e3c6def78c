//! exp(-gamma |x-y|_1).

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

/// exp(-gamma |x-y|_1)
///
/// ```
/// use mercer::kernel::Laplacian;
/// use mercer::{Gamma, Kernel};
/// let kernel = Kernel::from(Laplacian { gamma: Gamma::Median });
/// assert_eq!(kernel, Kernel::laplacian(Gamma::Median));
/// assert_eq!(kernel.to_string(), "laplacian(gamma=median)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Laplacian {
    /// One over the width.
    pub gamma: Gamma,
}

impl Kernel {
    /// exp(-gamma |x-y|_1).
    pub fn laplacian(gamma: Gamma) -> Self {
        Laplacian { gamma }.into()
    }
}

impl LeafKernel for Laplacian {
    const ENTRY: Entry = Entry {
        name: "laplacian",
        aliases: &[],
        formula: "exp(-gamma |x-y|_1)",
        psd: true,
        domain: Domain::All,
        about: "like the Gaussian with heavier tails and sharp peaks; distances add over coordinates",
        parameters: &[DISTANCE_GAMMA],
        build: |v| Ok(Laplacian { gamma: v.gamma("gamma")? }.into()),
    };

    fn arguments(&self) -> Vec<(&'static str, Value)> {
        vec![self.gamma.argument()]
    }

    fn is_psd(&self) -> bool {
        true
    }

    fn resolve(&self, rules: &mut Rules<'_>) -> Result<Self> {
        Ok(Laplacian { gamma: rules.gamma("laplacian", self.gamma, Statistic::L1)? })
    }

    fn statistic(&self) -> Statistic<'_> {
        Statistic::L1
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

    fn size(&self, _: usize, _: f64) -> Size {
        Size::OF_DISTANCE
    }

    fn formula(&self) -> Formula {
        exponential::formula(self.gamma.or_nan())
    }

    fn ball(&self, x: &[Ball], y: &[Ball], less_origin: bool) -> Ball {
        exponential(self.gamma.times(sum(x, y, |a, b| gap(a, b).abs())), less_origin)
    }

    #[inline(always)]
    fn vectors<S: Simd, T: Real>(&self, simd: S, deviation: bool) -> impl Fn(Four<S, T>) -> Four<S, T> {
        exponential::vectors::<S, T>(simd, self.gamma.or_nan(), deviation)
    }
}
