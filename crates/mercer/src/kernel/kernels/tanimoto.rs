//! x.y / (|x|^2 + |y|^2 - x.y): for binary fingerprints, common bits divided by all set bits.

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

/// x.y / (|x|^2 + |y|^2 - x.y), and 1 where x and y are 0
///
/// ```
/// use mercer::kernel::Tanimoto;
/// use mercer::Kernel;
/// let kernel = Kernel::from(Tanimoto);
/// assert_eq!(kernel, Kernel::tanimoto());
/// assert_eq!(kernel.to_string(), "tanimoto");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tanimoto;

impl Kernel {
    /// x.y / (|x|^2 + |y|^2 - x.y), and 1 where x and y are 0.
    pub fn tanimoto() -> Self {
        Tanimoto.into()
    }
}

impl LeafKernel for Tanimoto {
    const ENTRY: Entry = Entry {
        name: "tanimoto",
        aliases: &["jaccard"],
        formula: "x.y / (|x|^2 + |y|^2 - x.y)",
        psd: true,
        domain: Domain::All,
        about: "fingerprints of molecules, and sets written as 0 and 1: the share of what two have in common",
        parameters: &[],
        build: |_| Ok(Tanimoto.into()),
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
        Statistic::Tanimoto
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
        // |x.y| <= (|x|^2 + |y|^2) / 2, so that the denominator, whose three sums have errors, is never smaller than x.y.
        Size { value: 1.0, error: 4.0 }
    }

    fn formula(&self) -> Formula {
        Formula::Statistic
    }

    fn ball(&self, x: &[Ball], y: &[Ball], _: bool) -> Ball {
        let (own, other, both) = (dot(x, x), dot(y, y), dot(x, y));
        if own.is_zero() && other.is_zero() { 1.0.into() } else { both / (own + other - both) }
    }

    #[inline(always)]
    fn vectors<S: Simd, T: Real>(&self, _: S, _: bool) -> impl Fn(Four<S, T>) -> Four<S, T> {
        #[inline(always)]
        |s| s
    }
}
