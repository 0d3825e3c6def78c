//! Numbers with a bound on their error, in about twice the precision of f64: ball arithmetic (MATHS.md, M27).

// Public as references for tests (`testing`), which use more of it than the library does.
#![cfg_attr(not(feature = "testing"), allow(unreachable_pub, dead_code, unused_imports))]

mod double_double;
mod symmetric;

use std::ops::{Add, Div, Mul, Neg, Sub};

pub use double_double::{DoubleDouble, product};
pub use symmetric::Symmetric;
pub(crate) use symmetric::larger;

/// A bound on the relative error of one operation on [`DoubleDouble`]s, with room to spare.
pub(crate) const ROUNDING: f64 = 1.0 / (1u128 << 100) as f64;
/// What underflow can add to the error of one operation: numbers below about 1e-290 have fewer digits.
const UNDERFLOW: f64 = 1e-320;
/// The same for exponentials, logarithms and sines, per unit of their argument.
const ELEMENTARY: f64 = 1e-28;

/// A number and a bound on its error, which operations carry along.
///
/// # Example
/// ```
/// use mercer::testing::reference::Ball;
/// let third = Ball::from(1.0) / Ball::from(3.0);
/// assert!((third.value.to_f64() - 1.0 / 3.0).abs() < 1e-16 && third.error < 1e-29);
/// assert_eq!((Ball::from(0.1) - Ball::from(0.1)).value.to_f64(), 0.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ball {
    /// The number.
    pub value: DoubleDouble,
    /// The largest distance of the exact number from it.
    pub error: f64,
}

impl From<f64> for Ball {
    fn from(v: f64) -> Self {
        Ball { value: v.into(), error: 0.0 }
    }
}

impl Ball {
    /// The result of an operation: errors of the operands, and the rounding of the result.
    fn rounded(value: DoubleDouble, error: f64) -> Self {
        Ball::of(value, error + ROUNDING * value.to_f64().abs())
    }

    /// Nothing is known if the error is not a number.
    fn of(value: DoubleDouble, error: f64) -> Self {
        Ball { value, error: if error.is_nan() { f64::INFINITY } else { error } }
    }

    /// The largest number it can be.
    fn upper(self) -> f64 {
        (self.value.to_f64() + self.error) * (1.0 + f64::EPSILON.copysign(self.value.to_f64())) + UNDERFLOW
    }

    /// Whether it is 0 without an error.
    pub(crate) fn is_zero(self) -> bool {
        self.value.to_f64() == 0.0 && self.error == 0.0
    }

    /// The square root of a number that is not negative, whatever its error.
    pub fn sqrt(self) -> Self {
        let (at, root) = (self.value.to_f64(), self.value.sqrt());
        // |sqrt(a) - sqrt(b)| is |a - b| / (sqrt(a) + sqrt(b)), and at most the root of |a - b|.
        let error = if at > 0.0 { self.error.sqrt().min(self.error / at.sqrt()) } else { self.error.sqrt() };
        let lost = if self.is_zero() { 0.0 } else { UNDERFLOW.sqrt().min(UNDERFLOW / at.sqrt().max(UNDERFLOW)) };
        Ball::rounded(root, error + lost)
    }

    pub(crate) fn exp(self) -> Self {
        let value = self.value.exp();
        if value.to_f64() == 0.0 {
            // No more is known than the largest it can be.
            let most = self.upper();
            let most =
                if most < 700.0 { DoubleDouble::from(most).exp().to_f64() * (1.0 + 1e-12) } else { f64::INFINITY };
            return Ball::of(value, most + UNDERFLOW);
        }
        let spread = exp_m1_from_above(self.error) + ELEMENTARY * (1.0 + self.value.to_f64().abs());
        Ball::of(value, value.to_f64() * spread + UNDERFLOW)
    }

    /// e to a number that is not positive, less 1.
    pub(crate) fn exp_m1(self) -> Self {
        if self.is_zero() {
            return self;
        }
        let value = self.value.exp_m1();
        let spread = exp_m1_from_above(self.error);
        let own = ELEMENTARY * value.to_f64().abs() * (1.0 + self.value.to_f64().abs());
        Ball::of(value, spread + own + UNDERFLOW)
    }

    /// The natural logarithm of a positive number.
    pub(crate) fn ln(self) -> Self {
        let (value, at) = (self.value.ln(), self.value.to_f64());
        let spread = if at > self.error { self.error / (at - self.error) } else { f64::INFINITY };
        // How far e to the power of the result is from the number: Newton steps from a bad start would show here.
        let off = (self.value * (-value).exp() - 1.0.into()).to_f64().abs();
        let off = if off < 0.1 { 2.0 * off } else { f64::INFINITY };
        Ball::of(value, spread + off + ELEMENTARY * (1.0 + value.to_f64().abs()))
    }

    pub(crate) fn sin_pi(self) -> Self {
        let value = self.value.sin_pi();
        Ball { value, error: std::f64::consts::PI * self.error + ELEMENTARY }
    }

    pub(crate) fn tanh(self) -> Self {
        let at = self.value.to_f64();
        let error = self.error + ELEMENTARY * (1.0 + at.abs());
        if at.abs() > 40.0 {
            return Ball { value: at.signum().into(), error };
        }
        let below = (-(self.value.abs() + self.value.abs())).exp();
        let value = (DoubleDouble::from(1.0) - below) / (below + 1.0.into());
        Ball { value: if at < 0.0 { -value } else { value }, error }
    }

    pub(crate) fn power(self, power: u32) -> Self {
        (0..power).fold(1.0.into(), |product, _| product * self)
    }

    pub(crate) fn abs(self) -> Self {
        Ball { value: self.value.abs(), ..self }
    }
}

impl Add for Ball {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Ball::rounded(self.value + other.value, self.error + other.error)
    }
}

impl Neg for Ball {
    type Output = Self;

    fn neg(self) -> Self {
        Ball { value: -self.value, ..self }
    }
}

impl Sub for Ball {
    type Output = Self;

    /// The difference of two f64 is exact.
    fn sub(self, other: Self) -> Self {
        let (value, error) = (self.value - other.value, self.error + other.error);
        let exact = error == 0.0 && self.value.rest() == 0.0 && other.value.rest() == 0.0;
        if exact { Ball { value, error } } else { Ball::rounded(value, error) }
    }
}

impl Mul for Ball {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        if self.is_zero() || other.is_zero() {
            return 0.0.into();
        }
        let (a, b) = (self.value.to_f64().abs(), other.value.to_f64().abs());
        let error = a * other.error + b * self.error + self.error * other.error + UNDERFLOW;
        Ball::rounded(self.value * other.value, error)
    }
}

impl Div for Ball {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        let value = self.value / other.value;
        let below = other.value.to_f64().abs() - other.error;
        if below.is_nan() || below <= 0.0 {
            return Ball { value: 0.0.into(), error: f64::INFINITY };
        }
        if self.is_zero() {
            return self;
        }
        // Of the products that the quotient is corrected by, too.
        let lost = UNDERFLOW + 8.0 * UNDERFLOW / below;
        Ball::rounded(value, (self.error + value.to_f64().abs() * other.error) / below + lost)
    }
}

/// An upper bound of e^v - 1 for v >= 0.
fn exp_m1_from_above(v: f64) -> f64 {
    if v < 1.0 { v * (1.0 + v) } else { f64::INFINITY }
}

/// e to the power of -t, or the same less 1.
pub(crate) fn exponential(t: Ball, less_origin: bool) -> Ball {
    if less_origin { (-t).exp_m1() } else { (-t).exp() }
}

/// The difference of two values of one column: equal numbers, also with an error, stand for the same value.
pub(crate) fn gap(a: Ball, b: Ball) -> Ball {
    if a == b { 0.0.into() } else { a - b }
}

/// The sum of a function of the coordinates of two points.
pub(crate) fn sum(x: &[Ball], y: &[Ball], term: impl Fn(Ball, Ball) -> Ball) -> Ball {
    x.iter().zip(y).fold(0.0.into(), |sum, (a, b)| sum + term(*a, *b))
}

/// x.y
pub(crate) fn dot(x: &[Ball], y: &[Ball]) -> Ball {
    sum(x, y, |a, b| a * b)
}

/// |x-y|^2
pub(crate) fn squared_distance(x: &[Ball], y: &[Ball]) -> Ball {
    sum(x, y, |a, b| gap(a, b) * gap(a, b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_cover_what_is_lost() {
        // (1 + t) - 1 for t of 40 digits: what is lost of t is within the error.
        let t = Ball::from(1.0) / Ball::from(3e20);
        let back = Ball::from(1.0) + t - Ball::from(1.0);
        assert!((back.value - t.value).abs().to_f64() <= back.error);
        assert!(back.error > 0.0 && back.error < 1e-29);
        let zero = Ball::from(0.3) - Ball::from(0.3);
        assert!(zero.is_zero() && zero.sqrt().is_zero());
        assert!((Ball::from(0.3) / zero).error.is_infinite());
    }
}
