//! (gamma x.y + coef0)^degree.

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
use crate::vector::{self, Four, map};

/// (gamma x.y + coef0)^degree
///
/// ```
/// use mercer::kernel::Polynomial;
/// use mercer::{Gamma, Kernel};
/// let kernel = Kernel::from(Polynomial { gamma: Gamma::Value(1.0), coef0: 1.0, degree: 2 });
/// assert_eq!(kernel.to_string(), "polynomial(gamma=1, coef0=1, degree=2)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Polynomial {
    /// Factor of the dot product.
    pub gamma: Gamma,
    /// The constant; 0 gives exactly the monomials of one degree.
    pub coef0: f64,
    /// The power, at least 1.
    pub degree: u32,
}

impl Kernel {
    /// (x.y + coef0)^degree.
    pub fn polynomial(degree: u32, coef0: f64) -> Self {
        Polynomial { gamma: Gamma::Value(1.0), coef0, degree }.into()
    }
}

impl Polynomial {
    fn base(&self, s: f64) -> f64 {
        self.gamma.or_nan() * s + self.coef0
    }
}

impl LeafKernel for Polynomial {
    const ENTRY: Entry = Entry {
        name: "polynomial",
        aliases: &["poly"],
        formula: "(gamma x.y + coef0)^degree",
        psd: true,
        domain: Domain::All,
        about: "products of up to `degree` coordinates; of exactly `degree` when coef0 = 0; coef0 < 0 is not positive semi-definite",
        parameters: &[
            DOT_GAMMA,
            Parameter {
                name: "coef0",
                kind: ParameterKind::Number,
                default: "0",
                constraint: "any coef0",
                holds: |_| true,
                range: Range::Steps { low: 0.0, high: 5.0, step: 0.1 },
                about: "constant that mixes in lower degrees",
            },
            Parameter {
                name: "degree",
                kind: ParameterKind::Whole,
                default: "2",
                constraint: "degree a whole number, 1 or more",
                holds: |v| v >= 1.0,
                range: Range::Steps { low: 1.0, high: 10.0, step: 1.0 },
                about: "how many coordinates are multiplied",
            },
        ],
        build: |v| {
            let (gamma, coef0, degree) = (v.gamma("gamma")?, v.number("coef0")?, v.whole("degree")?);
            Ok(Polynomial { gamma, coef0, degree }.into())
        },
    };

    fn arguments(&self) -> Vec<(&'static str, Value)> {
        let degree = Value::Number(f64::from(self.degree));
        vec![self.gamma.argument(), ("coef0", Value::Number(self.coef0)), ("degree", degree)]
    }

    fn is_psd(&self) -> bool {
        self.coef0 >= 0.0
    }

    fn resolve(&self, rules: &mut Rules<'_>) -> Result<Self> {
        Ok(Polynomial { gamma: rules.gamma("polynomial", self.gamma, Statistic::Dot)?, ..*self })
    }

    fn statistic(&self) -> Statistic<'_> {
        Statistic::Dot
    }

    fn value(&self, s: f64) -> f64 {
        power(self.base(s), self.degree)
    }

    fn origin(&self) -> f64 {
        0.0
    }

    fn deviation(&self, s: f64) -> f64 {
        self.value(s)
    }

    fn derivative(&self, s: f64) -> f64 {
        f64::from(self.degree) * self.gamma.or_nan() * power(self.base(s), self.degree - 1)
    }

    fn slope(&self) -> Slope {
        Slope::Unused
    }

    fn size(&self, _: usize, square: f64) -> Size {
        let base = self.gamma.number().unwrap_or(1.0) * square + self.coef0.abs();
        let (degree, value) = (f64::from(self.degree), base.powf(f64::from(self.degree)));
        // A power multiplies the relative error of its base, and the constant may cancel the dot product.
        Size { value, error: degree * value }
    }

    fn formula(&self) -> Formula {
        Formula::Statistic.times(self.gamma.or_nan()).plus(self.coef0).power(f64::from(self.degree))
    }

    fn ball(&self, x: &[Ball], y: &[Ball], _: bool) -> Ball {
        (self.gamma.times(dot(x, y)) + self.coef0.into()).power(self.degree)
    }

    #[inline(always)]
    fn vectors<S: Simd, T: Real>(&self, simd: S, _: bool) -> impl Fn(Four<S, T>) -> Four<S, T> {
        let (gamma, coef0) = (vector::constant::<S, T>(simd, self.gamma.or_nan()), vector::constant::<S, T>(simd, self.coef0));
        let degree = self.degree;
        #[inline(always)]
        move |s| {
            map(
                s,
                #[inline(always)]
                |s| vector::power::<S, T>(simd, s.mul_add(gamma, coef0), degree),
            )
        }
    }
}

/// base^degree by repeated squaring: for negative bases too, and the same bits on every machine.
fn power(base: f64, degree: u32) -> f64 {
    let (mut result, mut square, mut left) = (1.0, base, degree);
    while left > 0 {
        if left & 1 == 1 {
            result *= square;
        }
        left >>= 1;
        if left > 0 {
            square *= square;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::power;

    #[test]
    fn powers_of_negative_numbers() {
        assert_eq!(power(-2.0, 3), -8.0);
        assert_eq!(power(-2.0, 4), 16.0);
        assert_eq!(power(5.0, 1), 5.0);
    }
}
