//! exp(-(|x-y| / length)^power): from rough to smooth by one number.

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
use crate::vector::{self, Four, SIDE_BY_SIDE};

/// exp(-(|x-y| / length)^power), 0 < power <= 2
///
/// ```
/// use mercer::kernel::GammaExponential;
/// use mercer::{Kernel, Length};
/// let kernel = Kernel::from(GammaExponential { power: 1.5, length: Length::Value(2.0) });
/// assert_eq!(kernel, Kernel::gamma_exponential(1.5, Length::Value(2.0)));
/// assert_eq!(kernel.to_string(), "gamma_exponential(power=1.5, length=2)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GammaExponential {
    /// 1 is exp(-r), 2 the Gaussian.
    pub power: f64,
    /// The width.
    pub length: Length,
}

impl Kernel {
    /// exp(-(|x-y| / length)^power), 0 < power <= 2.
    pub fn gamma_exponential(power: f64, length: Length) -> Self {
        GammaExponential { power, length }.into()
    }
}

impl GammaExponential {
    /// (r / length)^power from s = r^2.
    fn exponent(&self, s: f64) -> f64 {
        let length = self.length.or_nan();
        (s / length / length).powf(0.5 * self.power)
    }
}

impl LeafKernel for GammaExponential {
    const ENTRY: Entry = Entry {
        name: "gamma_exponential",
        aliases: &["powered_exponential"],
        formula: "exp(-(|x-y| / length)^power)",
        psd: true,
        domain: Domain::All,
        about: "rough (power below 1), exp(-r) (1), up to the Gaussian (2)",
        parameters: &[
            Parameter {
                name: "power",
                kind: ParameterKind::Number,
                default: "1",
                constraint: "0 < power <= 2",
                holds: |v| v > 0.0 && v <= 2.0,
                range: Range::Steps { low: 0.05, high: 2.0, step: 0.05 },
                about: "roughness: 1 is exp(-r), 2 the Gaussian",
            },
            LENGTH,
        ],
        build: |v| Ok(GammaExponential { power: v.number("power")?, length: v.length("length")? }.into()),
    };

    fn arguments(&self) -> Vec<(&'static str, Value)> {
        vec![("power", Value::Number(self.power)), self.length.argument()]
    }

    fn is_psd(&self) -> bool {
        true
    }

    fn resolve(&self, rules: &mut Rules<'_>) -> Result<Self> {
        Ok(GammaExponential { length: rules.length("gamma_exponential", self.length)?, ..*self })
    }

    fn statistic(&self) -> Statistic<'_> {
        Statistic::SquaredDistance
    }

    fn value(&self, s: f64) -> f64 {
        (-self.exponent(s)).exp()
    }

    fn origin(&self) -> f64 {
        1.0
    }

    fn deviation(&self, s: f64) -> f64 {
        (-self.exponent(s)).exp_m1()
    }

    fn derivative(&self, s: f64) -> f64 {
        let exponent = self.exponent(s);
        if s > 0.0 { -0.5 * self.power * exponent / s * (-exponent).exp() } else { 0.0 }
    }

    fn slope(&self) -> Slope {
        Slope::NotSmooth { lipschitz: self.power >= 1.0 }
    }

    fn size(&self, _: usize, _: f64) -> Size {
        // The power is computed by a logarithm, whose error changes the value by t |ln t| exp(-t) < 1 times as much.
        Size { value: 1.0, error: 2.0 }
    }

    fn formula(&self) -> Formula {
        let length = self.length.or_nan();
        Formula::Statistic.times(1.0 / length / length).power(0.5 * self.power).times(-1.0).exp()
    }

    fn ball(&self, x: &[Ball], y: &[Ball], less_origin: bool) -> Ball {
        let (square, length) = (squared_distance(x, y), Ball::from(self.length.or_nan()));
        // Of points that may be equal, no more is known than how far they are from each other at most.
        if square.value.to_f64() <= square.error {
            let origin = if less_origin { 0.0 } else { 1.0 }.into();
            if square.is_zero() {
                return Ball { value: origin, error: 0.0 };
            }
            // 1 - exp(-v) is at most v, for v = (distance / length)^power.
            let most = Ball::from(2.0 * (square.value.to_f64() + square.error)) / (length * length);
            let most = (Ball::from(self.power) / 2.0.into() * most.ln()).exp();
            return Ball { value: origin, error: 2.0 * (most.value.to_f64() + most.error) };
        }
        let half = Ball::from(self.power) / 2.0.into();
        exponential((half * (square / (length * length)).ln()).exp(), less_origin)
    }

    #[inline(always)]
    fn vectors<S: Simd, T: Real>(&self, simd: S, deviation: bool) -> impl Fn(Four<S, T>) -> Four<S, T> {
        let over = vector::constant::<S, T>(simd, 1.0 / self.length.or_nan());
        let (half, zero) = (vector::constant::<S, T>(simd, 0.5 * self.power), vector::constant::<S, T>(simd, 0.0));
        // For t above exp(highest), exp(-t) is 0.
        let (least, most) = (vector::constant::<S, T>(simd, T::LEAST), vector::constant::<S, T>(simd, T::LARGEST));
        let highest = vector::constant::<S, T>(simd, (-T::LOWEST.to_f64()).ln());
        #[inline(always)]
        move |s| {
            // In two factors. Their product may overflow; it is then replaced by the largest number.
            let r = vector::map(
                s,
                #[inline(always)]
                |s| (s * over * over).min(most),
            );
            let log = vector::map(
                r,
                #[inline(always)]
                |r| (vector::ln::<S, T>(simd, r.max(least)) * half).min(highest),
            );
            let mut t = vector::exp::<S, T, SIDE_BY_SIDE>(simd, log);
            for (t, r) in t.iter_mut().zip(r) {
                *t = -r.simd_lt(least).select(zero, *t);
            }
            if deviation {
                vector::exp_m1::<S, T, SIDE_BY_SIDE>(simd, t)
            } else {
                vector::exp::<S, T, SIDE_BY_SIDE>(simd, t)
            }
        }
    }
}
