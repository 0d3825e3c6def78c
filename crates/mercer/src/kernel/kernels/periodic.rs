//! exp(-2 sum sin^2(pi (x-y) / period) / length^2): seasons, angles, times of day.

use fearless_simd::prelude::*;

use super::{LeafKernel, exponential};
use crate::ball::{Ball, exponential, gap, sum};
use crate::error::Result;
use crate::kernel::Kernel;
use crate::kernel::formula::Formula;
use crate::kernel::parameter::{Domain, Entry, LENGTH, Parameter, ParameterKind, Range, Value};
use crate::kernel::rounding::{Size, Slope};
use crate::kernel::rules::Rules;
use crate::kernel::statistic::Statistic;
use crate::real::Real;
use crate::vector::Four;

/// exp(-2 sum_j sin^2(pi (x_j - y_j) / period) / length^2)
///
/// ```
/// use mercer::kernel::Periodic;
/// use mercer::Kernel;
/// let kernel = Kernel::from(Periodic { period: 7.0, length: 0.5 });
/// assert_eq!(kernel, Kernel::periodic(7.0, 0.5));
/// assert_eq!(kernel.to_string(), "periodic(period=7, length=0.5)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Periodic {
    /// The distance at which the values repeat.
    pub period: f64,
    /// The width, relative to the period.
    pub length: f64,
}

impl Kernel {
    /// exp(-2 sum_j sin^2(pi (x_j - y_j) / period) / length^2).
    pub fn periodic(period: f64, length: f64) -> Self {
        Periodic { period, length }.into()
    }
}

impl Periodic {
    /// The factor of the squared distance of the points wound around circles.
    fn gamma(&self) -> f64 {
        0.5 / self.length / self.length
    }
}

impl LeafKernel for Periodic {
    const ENTRY: Entry = Entry {
        name: "periodic",
        aliases: &["exp_sine_squared"],
        formula: "exp(-2 sum sin^2(pi (x-y) / period) / length^2)",
        psd: true,
        domain: Domain::All,
        about: "values that repeat: seasons, angles, times of day",
        parameters: &[
            Parameter {
                name: "period",
                kind: ParameterKind::Number,
                default: "1",
                constraint: "period > 0",
                holds: |v| v > 0.0,
                range: Range::Ratios { low: 0.01, high: 1000.0 },
                about: "distance at which values repeat, in the units of the data",
            },
            Parameter {
                kind: ParameterKind::Number,
                default: "1",
                holds: |v| v > 0.0 && (0.5 / v / v).is_finite() && 0.5 / v / v > 0.0,
                range: Range::Ratios { low: 0.05, high: 20.0 },
                about: "width relative to the period: small sees each phase alone, large is nearly linear on the circle",
                ..LENGTH
            },
        ],
        build: |v| Ok(Periodic { period: v.number("period")?, length: v.number("length")? }.into()),
    };

    fn arguments(&self) -> Vec<(&'static str, Value)> {
        vec![("period", Value::Number(self.period)), ("length", Value::Number(self.length))]
    }

    fn is_psd(&self) -> bool {
        true
    }

    fn resolve(&self, _: &mut Rules<'_>) -> Result<Self> {
        Ok(*self)
    }

    fn statistic(&self) -> Statistic<'_> {
        Statistic::CircleDistance(self.period)
    }

    fn value(&self, s: f64) -> f64 {
        exponential::value(self.gamma(), s)
    }

    fn origin(&self) -> f64 {
        1.0
    }

    fn deviation(&self, s: f64) -> f64 {
        exponential::deviation(self.gamma(), s)
    }

    fn derivative(&self, s: f64) -> f64 {
        exponential::derivative(self.gamma(), s)
    }

    fn slope(&self) -> Slope {
        Slope::At(self.gamma())
    }

    fn size(&self, _: usize, _: f64) -> Size {
        Size::OF_DISTANCE
    }

    fn formula(&self) -> Formula {
        exponential::formula(self.gamma())
    }

    fn ball(&self, x: &[Ball], y: &[Ball], less_origin: bool) -> Ball {
        let sines = sum(x, y, |a, b| {
            let sine = (gap(a, b) / self.period.into()).sin_pi();
            sine * sine
        });
        exponential(sines * 2.0.into() / (Ball::from(self.length) * self.length.into()), less_origin)
    }

    #[inline(always)]
    fn vectors<S: Simd, T: Real>(&self, simd: S, deviation: bool) -> impl Fn(Four<S, T>) -> Four<S, T> {
        exponential::vectors::<S, T>(simd, self.gamma(), deviation)
    }
}
