//! The Matern kernels of smoothness 1/2, 3/2 and 5/2, at a = sqrt(2 nu) |x-y| / length.

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

/// p(a) exp(-a), a = sqrt(2 nu) |x-y| / length, p = 1, 1 + a or 1 + a + a^2/3
///
/// ```
/// use mercer::kernel::{Matern, Nu};
/// use mercer::{Kernel, Length};
/// let kernel = Kernel::from(Matern { nu: Nu::FiveHalves, length: Length::Median });
/// assert_eq!(kernel.to_string(), "matern(nu=5/2, length=median)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Matern {
    /// 1/2, 3/2 or 5/2.
    pub nu: Nu,
    /// The width.
    pub length: Length,
}

/// The smoothness of a Matern kernel.
///
/// ```
/// use mercer::kernel::Nu;
/// use mercer::{Kernel, Length};
/// let kernel = Kernel::matern(Nu::ThreeHalves, Length::Value(2.0));
/// assert_eq!(kernel.to_string(), "matern(nu=3/2, length=2)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nu {
    /// 1/2: exp(-a).
    Half,
    /// 3/2: (1 + a) exp(-a).
    ThreeHalves,
    /// 5/2: (1 + a + a^2/3) exp(-a).
    FiveHalves,
}

impl Nu {
    /// sqrt(2 nu).
    fn root(self) -> f64 {
        match self {
            Nu::Half => 1.0,
            Nu::ThreeHalves => 3f64.sqrt(),
            Nu::FiveHalves => 5f64.sqrt(),
        }
    }

    /// The coefficients of a and a^2 in p.
    fn polynomial(self) -> [f64; 2] {
        match self {
            Nu::Half => [0.0, 0.0],
            Nu::ThreeHalves => [1.0, 0.0],
            Nu::FiveHalves => [1.0, 1.0 / 3.0],
        }
    }

    /// The coefficient of (-a)^m / m! in p(a) exp(-a), m >= 1, by the product rule.
    fn coefficient(self, m: f64) -> f64 {
        let [linear, square] = self.polynomial();
        1.0 - linear * m + square * m * (m - 1.0)
    }
}

impl Kernel {
    /// The Matern kernel of smoothness nu.
    pub fn matern(nu: Nu, length: Length) -> Self {
        Matern { nu, length }.into()
    }
}

impl Matern {
    /// a and p(a) - 1.
    fn parts(&self, s: f64) -> (f64, f64) {
        let a = self.nu.root() * (s.sqrt() / self.length.or_nan());
        let [linear, square] = self.nu.polynomial();
        (a, linear * a + square * a * a)
    }
}

/// Beyond this a the exponential is 0; the polynomial may be infinite there, and 0 times infinity is NaN.
const FAR: f64 = 800.0;

impl LeafKernel for Matern {
    const ENTRY: Entry = Entry {
        name: "matern",
        aliases: &[],
        formula: "p(a) exp(-a), a = sqrt(2 nu) |x-y| / length, p = 1 | 1 + a | 1 + a + a^2/3",
        psd: true,
        domain: Domain::All,
        about: "between exp(-r) (nu = 1/2) and the Gaussian in smoothness",
        parameters: &[
            Parameter {
                name: "nu",
                kind: ParameterKind::Choice,
                default: "3/2",
                constraint: "nu one of 1/2, 3/2, 5/2",
                holds: |_| true,
                range: Range::Choices { choices: &["1/2", "3/2", "5/2"] },
                about: "smoothness",
            },
            LENGTH,
        ],
        build: |v| {
            let words = [
                ("1/2", Nu::Half),
                ("0.5", Nu::Half),
                ("3/2", Nu::ThreeHalves),
                ("1.5", Nu::ThreeHalves),
                ("5/2", Nu::FiveHalves),
                ("2.5", Nu::FiveHalves),
            ];
            Ok(Matern { nu: v.choice("nu", &words)?, length: v.length("length")? }.into())
        },
    };

    fn arguments(&self) -> Vec<(&'static str, Value)> {
        let nu = match self.nu {
            Nu::Half => "1/2",
            Nu::ThreeHalves => "3/2",
            Nu::FiveHalves => "5/2",
        };
        vec![("nu", Value::Word(nu)), self.length.argument()]
    }

    fn is_psd(&self) -> bool {
        true
    }

    fn resolve(&self, rules: &mut Rules<'_>) -> Result<Self> {
        Ok(Matern { length: rules.length("matern", self.length)?, ..*self })
    }

    fn statistic(&self) -> Statistic<'_> {
        Statistic::SquaredDistance
    }

    fn value(&self, s: f64) -> f64 {
        let (a, p) = self.parts(s);
        if a > FAR { 0.0 } else { (1.0 + p) * (-a).exp() }
    }

    fn origin(&self) -> f64 {
        1.0
    }

    fn deviation(&self, s: f64) -> f64 {
        let (a, p) = self.parts(s);
        if a > FAR {
            return -1.0;
        }
        if a > 0.5 || self.nu == Nu::Half {
            return (-a).exp_m1() + p * (-a).exp();
        }
        // For small a the leading terms of expm1 and p e^-a cancel: the series is summed instead (20 terms reach 1e-17
        // at a = 1/2).
        let (mut sum, mut term) = (0.0, 1.0);
        for m in 1..=20 {
            let m = f64::from(m);
            term *= -a / m;
            sum += term * self.nu.coefficient(m);
        }
        sum
    }

    fn derivative(&self, s: f64) -> f64 {
        let (a, _) = self.parts(s);
        // da/ds = rate / (2 a), rate = 2 nu / length^2
        let rate = (self.nu.root() / self.length.or_nan()).powi(2);
        let of_a = match self.nu {
            Nu::Half if a > 0.0 => 1.0 / a,
            Nu::Half => 0.0,
            Nu::ThreeHalves => 1.0,
            Nu::FiveHalves => (1.0 + a) / 3.0,
        };
        if a > FAR { 0.0 } else { -0.5 * rate * of_a * (-a).exp() }
    }

    fn slope(&self) -> Slope {
        let over = self.length.or_nan().powi(-2);
        match self.nu {
            Nu::Half => Slope::NotSmooth { lipschitz: true },
            Nu::ThreeHalves => Slope::At(1.5 * over),
            Nu::FiveHalves => Slope::At(5.0 / 6.0 * over),
        }
    }

    fn size(&self, _: usize, _: f64) -> Size {
        Size::OF_DISTANCE
    }

    fn formula(&self) -> Formula {
        let a = Formula::Statistic.root().times(self.nu.root() / self.length.or_nan());
        let decay = a.clone().times(-1.0).exp();
        match self.nu {
            Nu::Half => decay,
            Nu::ThreeHalves => a.plus(1.0).product(decay),
            // 1 + a (1 + a/3)
            Nu::FiveHalves => a.clone().product(a.times(1.0 / 3.0).plus(1.0)).plus(1.0).product(decay),
        }
    }

    /// p(a) exp(-a), less 1 for the deviation. Near 0 the two cancel: up to a = 3/2 the series is summed.
    fn ball(&self, x: &[Ball], y: &[Ball], less_origin: bool) -> Ball {
        let (square, length) = (squared_distance(x, y), Ball::from(self.length.or_nan()));
        let times = |factor: f64| (square * factor.into()).sqrt() / length;
        let origin = Ball::from(if less_origin { 0.0 } else { 1.0 });
        match self.nu {
            Nu::Half => exponential(times(1.0), less_origin),
            Nu::ThreeHalves => {
                let a = times(3.0);
                (-a).exp_m1() + a * (-a).exp() + origin
            }
            Nu::FiveHalves => {
                let a = times(5.0);
                (-a).exp_m1() + (a + a * a / 3.0.into()) * (-a).exp() + origin
            }
        }
    }

    #[inline(always)]
    fn vectors<S: Simd, T: Real>(&self, simd: S, deviation: bool) -> impl Fn(Four<S, T>) -> Four<S, T> {
        let constant = |v| vector::constant::<S, T>(simd, v);
        let (nu, scale, one) = (self.nu, constant(self.nu.root() / self.length.or_nan()), constant(1.0));
        let [linear, square] = self.nu.polynomial().map(constant);
        let (lowest, small) = (constant(T::LOWEST.to_f64()), constant(-SMALL));
        let series = series(nu);
        #[inline(always)]
        move |s| {
            // x = -a. For large a the exponential is 0, and the polynomial must stay finite, since 0 times infinity is NaN.
            let x = map(
                s,
                #[inline(always)]
                |s| (-(s.sqrt() * scale)).max(lowest),
            );
            if deviation && nu == Nu::Half {
                return vector::exp_m1::<S, T, SIDE_BY_SIDE>(simd, x);
            }
            let mut out = vector::exp::<S, T, SIDE_BY_SIDE>(simd, x);
            for (v, x) in out.iter_mut().zip(x) {
                *v *= (x * square - linear).mul_add(x, one);
                if deviation {
                    let near = vector::series_of::<S, T>(simd, -x, &series) * x * x;
                    *v = x.simd_gt(small).select(near, *v - one);
                }
            }
            out
        }
    }
}

/// Up to this a the series is summed.
const SMALL: f64 = 1.5;

/// The coefficients of (p(a) e^-a - 1) / a^2 for a <= 3/2, the highest power first (MATHS.md, M6).
fn series(nu: Nu) -> [f64; 24] {
    let (mut coefficients, mut factorial) = ([0.0; 24], 1.0);
    for (at, c) in coefficients.iter_mut().rev().enumerate() {
        let m = at as f64 + 2.0;
        factorial *= m;
        let sign = if at % 2 == 0 { 1.0 } else { -1.0 };
        *c = sign * nu.coefficient(m) / factorial;
    }
    coefficients
}
