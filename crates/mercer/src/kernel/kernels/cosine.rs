//! x.y / (|x| |y|): directions only.

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

/// x.y / (|x| |y|), and 0 where x or y is 0
///
/// ```
/// use mercer::kernel::Cosine;
/// use mercer::Kernel;
/// let kernel = Kernel::from(Cosine);
/// assert_eq!(kernel, Kernel::cosine());
/// assert_eq!(kernel.to_string(), "cosine");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cosine;

impl Kernel {
    /// x.y / (|x| |y|), and 0 where x or y is 0.
    pub fn cosine() -> Self {
        Cosine.into()
    }
}

impl LeafKernel for Cosine {
    const ENTRY: Entry = Entry {
        name: "cosine",
        aliases: &[],
        formula: "x.y / (|x| |y|)",
        psd: true,
        domain: Domain::All,
        about: "directions only, for text and spectra; 0 for the zero vector",
        parameters: &[],
        build: |_| Ok(Cosine.into()),
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
        Statistic::Cosine
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

    fn size(&self, _: usize, _: f64) -> Size {
        // The dot product and both norms are sums over dimensions.
        Size { value: 1.0, error: 2.0 }
    }

    fn formula(&self) -> Formula {
        Formula::Statistic
    }

    fn ball(&self, x: &[Ball], y: &[Ball], _: bool) -> Ball {
        let (own, other) = (dot(x, x), dot(y, y));
        if own.is_zero() || other.is_zero() {
            return 0.0.into();
        }
        dot(x, y) / (own.sqrt() * other.sqrt())
    }

    #[inline(always)]
    fn vectors<S: Simd, T: Real>(&self, _: S, _: bool) -> impl Fn(Four<S, T>) -> Four<S, T> {
        #[inline(always)]
        |s| s
    }
}
