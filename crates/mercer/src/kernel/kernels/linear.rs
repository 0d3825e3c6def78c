//! x.y: kernel PCA with it is linear PCA.

use fearless_simd::prelude::*;

use super::LeafKernel;
use crate::ball::{Ball, dot};
use crate::error::Result;
use crate::kernel::Kernel;
use crate::kernel::formula::Formula;
use crate::kernel::parameter::{Domain, Entry, Value};
use crate::kernel::rounding::{Size, Slope};
use crate::kernel::rules::Rules;
use crate::kernel::statistic::Statistic;
use crate::real::Real;
use crate::vector::Four;

/// x.y
///
/// ```
/// use mercer::kernel::Linear;
/// use mercer::Kernel;
/// let kernel = Kernel::from(Linear);
/// assert_eq!(kernel, Kernel::linear());
/// assert_eq!(kernel.to_string(), "linear");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Linear;

impl Kernel {
    /// x.y.
    pub fn linear() -> Self {
        Linear.into()
    }
}

impl LeafKernel for Linear {
    const ENTRY: Entry = Entry {
        name: "linear",
        aliases: &[],
        formula: "x.y",
        psd: true,
        domain: Domain::All,
        about: "ordinary PCA seen from the Gram matrix",
        parameters: &[],
        build: |_| Ok(Linear.into()),
    };

    fn arguments(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }

    fn is_psd(&self) -> bool {
        true
    }

    fn resolve(&self, _: &mut Rules<'_>) -> Result<Self> {
        Ok(*self)
    }

    fn statistic(&self) -> Statistic<'_> {
        Statistic::Dot
    }

    fn value(&self, s: f64) -> f64 {
        s
    }

    fn origin(&self) -> f64 {
        0.0
    }

    fn deviation(&self, s: f64) -> f64 {
        s
    }

    fn derivative(&self, _: f64) -> f64 {
        1.0
    }

    fn slope(&self) -> Slope {
        Slope::Unused
    }

    fn size(&self, _: usize, square: f64) -> Size {
        Size { value: square, error: 0.0 }
    }

    fn formula(&self) -> Formula {
        Formula::Statistic
    }

    fn ball(&self, x: &[Ball], y: &[Ball], _: bool) -> Ball {
        dot(x, y)
    }

    #[inline(always)]
    fn vectors<S: Simd, T: Real>(&self, _: S, _: bool) -> impl Fn(Four<S, T>) -> Four<S, T> {
        #[inline(always)]
        |s| s
    }
}
