//! tanh(gamma x.y + coef0), which is not positive semi-definite.

use fearless_simd::prelude::*;

use super::LeafKernel;
use crate::ball::{Ball, dot};
use crate::error::Result;
use crate::kernel::formula::Formula;
use crate::kernel::parameter::{DOT_GAMMA, Domain, Entry, Parameter, ParameterKind, Range, Value};
use crate::kernel::rounding::{Size, Slope};
use crate::kernel::rules::Rules;
use crate::kernel::statistic::Statistic;
use crate::kernel::{Gamma, Kernel};
use crate::real::Real;
use crate::vector::{self, Four, SIDE_BY_SIDE, map};

/// tanh(gamma x.y + coef0)
///
/// ```
/// use mercer::kernel::Sigmoid;
/// use mercer::{Gamma, Kernel};
/// let kernel = Kernel::from(Sigmoid { gamma: Gamma::Value(0.01), coef0: -1.0 });
/// assert_eq!(kernel, Kernel::sigmoid(Gamma::Value(0.01), -1.0));
/// assert_eq!(kernel.to_string(), "sigmoid(gamma=0.01, coef0=-1)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sigmoid {
    /// Factor of the dot product.
    pub gamma: Gamma,
    /// The constant.
    pub coef0: f64,
}

impl Kernel {
    /// tanh(gamma x.y + coef0), which is not positive semi-definite.
    pub fn sigmoid(gamma: Gamma, coef0: f64) -> Self {
        Sigmoid { gamma, coef0 }.into()
    }
}

impl LeafKernel for Sigmoid {
    const ENTRY: Entry = Entry {
        name: "sigmoid",
        aliases: &["tanh"],
        formula: "tanh(gamma x.y + coef0)",
        psd: false,
        domain: Domain::All,
        about: "not a Mercer kernel in general: its negative mass is reported",
        parameters: &[
            Parameter { default: "1/d", ..DOT_GAMMA },
            Parameter {
                name: "coef0",
                kind: ParameterKind::Number,
                default: "1",
                constraint: "any coef0",
                holds: |_| true,
                range: Range::Steps { low: -3.0, high: 3.0, step: 0.05 },
                about: "shift inside tanh",
            },
        ],
        build: |v| Ok(Sigmoid { gamma: v.gamma("gamma")?, coef0: v.number("coef0")? }.into()),
    };

    fn arguments(&self) -> Vec<(&'static str, Value)> {
        vec![self.gamma.argument(), ("coef0", Value::Number(self.coef0))]
    }

    fn is_psd(&self) -> bool {
        false
    }

    fn resolve(&self, rules: &mut Rules<'_>) -> Result<Self> {
        Ok(Sigmoid { gamma: rules.gamma("sigmoid", self.gamma, Statistic::Dot)?, ..*self })
    }

    fn statistic(&self) -> Statistic<'_> {
        Statistic::Dot
    }

    fn value(&self, s: f64) -> f64 {
        (self.gamma.or_nan() * s + self.coef0).tanh()
    }

    fn origin(&self) -> f64 {
        0.0
    }

    fn deviation(&self, s: f64) -> f64 {
        self.value(s)
    }

    fn derivative(&self, s: f64) -> f64 {
        self.gamma.or_nan() * (1.0 - self.value(s).powi(2))
    }

    fn slope(&self) -> Slope {
        Slope::Unused
    }

    fn size(&self, _: usize, square: f64) -> Size {
        Size { value: 1.0, error: self.gamma.number().unwrap_or(1.0) * square + self.coef0.abs() }
    }

    fn formula(&self) -> Formula {
        Formula::Statistic.times(self.gamma.or_nan()).plus(self.coef0).tanh()
    }

    fn ball(&self, x: &[Ball], y: &[Ball], _: bool) -> Ball {
        (self.gamma.times(dot(x, y)) + self.coef0.into()).tanh()
    }

    #[inline(always)]
    fn vectors<S: Simd, T: Real>(&self, simd: S, _: bool) -> impl Fn(Four<S, T>) -> Four<S, T> {
        let gamma = vector::constant::<S, T>(simd, self.gamma.or_nan());
        let coef0 = vector::constant::<S, T>(simd, self.coef0);
        #[inline(always)]
        move |s| {
            let x = map(
                s,
                #[inline(always)]
                |s| s.mul_add(gamma, coef0),
            );
            vector::tanh::<S, T, SIDE_BY_SIDE>(simd, x)
        }
    }
}
