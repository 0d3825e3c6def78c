//! (1 + |x-y|^2 / (2 alpha length^2))^-alpha: a mixture of Gaussians of many widths.

use fearless_simd::prelude::*;

use super::LeafKernel;
use crate::ball::{Ball, exponential, squared_distance};
use crate::error::Result;
use crate::kernel::formula::Formula;
use crate::kernel::parameter::{Domain, Entry, LENGTH, Parameter, ParameterKind, Range, Value};
use crate::kernel::rounding::{Size, Slope};
use crate::kernel::rules::Rules;
use crate::kernel::statistic::Statistic;
use crate::kernel::{Kernel, Length};
use crate::real::Real;
use crate::vector::{self, Four, SIDE_BY_SIDE, map};

/// (1 + |x-y|^2 / (2 alpha length^2))^-alpha
///
/// ```
/// use mercer::kernel::RationalQuadratic;
/// use mercer::{Kernel, Length};
/// let kernel = Kernel::from(RationalQuadratic { alpha: 2.0, length: Length::Median });
/// assert_eq!(kernel, Kernel::rational_quadratic(2.0, Length::Median));
/// assert_eq!(kernel.to_string(), "rational_quadratic(alpha=2, length=median)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RationalQuadratic {
    /// The power; large values approach the Gaussian.
    pub alpha: f64,
    /// The width.
    pub length: Length,
}

impl Kernel {
    /// (1 + |x-y|^2 / (2 alpha length^2))^-alpha.
    pub fn rational_quadratic(alpha: f64, length: Length) -> Self {
        RationalQuadratic { alpha, length }.into()
    }
}

impl RationalQuadratic {
    /// The logarithm of the value.
    fn log(&self, s: f64) -> f64 {
        let length = self.length.or_nan();
        -self.alpha * (s / length / (2.0 * self.alpha) / length).ln_1p()
    }
}

impl LeafKernel for RationalQuadratic {
    const ENTRY: Entry = Entry {
        name: "rational_quadratic",
        aliases: &["rq"],
        formula: "(1 + |x-y|^2 / (2 alpha length^2))^-alpha",
        psd: true,
        domain: Domain::All,
        about: "a mixture of Gaussians of many widths",
        parameters: &[
            Parameter {
                name: "alpha",
                kind: ParameterKind::Number,
                default: "1",
                constraint: "alpha > 0",
                holds: |v| v > 0.0,
                range: Range::Ratios { low: 0.01, high: 100.0 },
                about: "spread of the widths; large is one Gaussian",
            },
            LENGTH,
        ],
        build: |v| Ok(RationalQuadratic { alpha: v.number("alpha")?, length: v.length("length")? }.into()),
    };

    fn arguments(&self) -> Vec<(&'static str, Value)> {
        vec![("alpha", Value::Number(self.alpha)), self.length.argument()]
    }

    fn is_psd(&self) -> bool {
        true
    }

    fn resolve(&self, rules: &mut Rules<'_>) -> Result<Self> {
        Ok(RationalQuadratic { length: rules.length("rational_quadratic", self.length)?, ..*self })
    }

    fn statistic(&self) -> Statistic<'_> {
        Statistic::SquaredDistance
    }

    fn value(&self, s: f64) -> f64 {
        self.log(s).exp()
    }

    fn origin(&self) -> f64 {
        1.0
    }

    fn deviation(&self, s: f64) -> f64 {
        self.log(s).exp_m1()
    }

    fn derivative(&self, s: f64) -> f64 {
        let length = self.length.or_nan();
        let base = 1.0 + s / length / (2.0 * self.alpha) / length;
        -0.5 / length / length / base * self.value(s)
    }

    fn slope(&self) -> Slope {
        Slope::At(0.5 * self.length.or_nan().powi(-2))
    }

    fn size(&self, _: usize, _: f64) -> Size {
        Size::OF_DISTANCE
    }

    fn formula(&self) -> Formula {
        let rate = 0.5 / (self.alpha * self.length.or_nan().powi(2));
        Formula::Statistic.times(rate).plus(1.0).power(-self.alpha)
    }

    fn ball(&self, x: &[Ball], y: &[Ball], less_origin: bool) -> Ball {
        let (length, alpha) = (Ball::from(self.length.or_nan()), Ball::from(self.alpha));
        let base = Ball::from(1.0) + squared_distance(x, y) / (length * length) / (alpha * 2.0.into());
        exponential(alpha * base.ln(), less_origin)
    }

    #[inline(always)]
    fn vectors<S: Simd, T: Real>(&self, simd: S, deviation: bool) -> impl Fn(Four<S, T>) -> Four<S, T> {
        let over = 1.0 / self.length.or_nan();
        // In two factors. Their product with s may overflow; it is then replaced by the largest number.
        let first = vector::constant::<S, T>(simd, over);
        let second = vector::constant::<S, T>(simd, over / (2.0 * self.alpha));
        let alpha = vector::constant::<S, T>(simd, -self.alpha);
        let largest = vector::constant::<S, T>(simd, T::LARGEST);
        #[inline(always)]
        move |s| {
            let x = map(
                s,
                #[inline(always)]
                |s| vector::ln_1p::<S, T>(simd, (s * first * second).min(largest)) * alpha,
            );
            if deviation {
                vector::exp_m1::<S, T, SIDE_BY_SIDE>(simd, x)
            } else {
                vector::exp::<S, T, SIDE_BY_SIDE>(simd, x)
            }
        }
    }
}
