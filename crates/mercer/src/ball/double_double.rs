//! Numbers of about 31 digits, as the sum of two f64: the reference for results in f64.

use std::cmp::Ordering;
use std::iter::Sum;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// high + low, |low| at most half an ulp of high.
///
/// ```
/// use mercer::testing::double_double::DoubleDouble;
/// let third = DoubleDouble::from(1.0) / DoubleDouble::from(3.0);
/// assert_eq!(third.to_f64(), 1.0 / 3.0);
/// assert!(third.rest() != 0.0); // the digits that f64 does not have
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DoubleDouble {
    high: f64,
    low: f64,
}

/// ln 2 and pi to 32 digits.
const LN_2: DoubleDouble = DoubleDouble { high: std::f64::consts::LN_2, low: 2.319_046_813_846_299_6e-17 };
const PI: DoubleDouble = DoubleDouble { high: std::f64::consts::PI, low: 1.224_646_799_147_353_2e-16 };

impl From<f64> for DoubleDouble {
    fn from(v: f64) -> Self {
        DoubleDouble { high: v, low: 0.0 }
    }
}

/// 2 to a whole power between -1022 and 1023.
fn power_of_two(exponent: f64) -> f64 {
    f64::from_bits(((exponent + 1023.0) as u64) << 52)
}

/// a + b exactly, for any a and b.
fn two_sum(a: f64, b: f64) -> DoubleDouble {
    let high = a + b;
    let part = high - a;
    DoubleDouble { high, low: (a - (high - part)) + (b - part) }
}

impl Add for DoubleDouble {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let sum = two_sum(self.high, other.high);
        let low = two_sum(self.low, other.low);
        let first = two_sum(sum.high, sum.low + low.high);
        two_sum(first.high, first.low + low.low)
    }
}

impl Neg for DoubleDouble {
    type Output = Self;

    fn neg(self) -> Self {
        DoubleDouble { high: -self.high, low: -self.low }
    }
}

impl Sub for DoubleDouble {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for DoubleDouble {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let high = self.high * other.high;
        let low = self.high.mul_add(other.high, -high) + (self.high * other.low + self.low * other.high);
        two_sum(high, low)
    }
}

impl Div for DoubleDouble {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        let first = self.high / other.high;
        let rest = self - other * first.into();
        let second = rest.high / other.high;
        let rest = rest - other * second.into();
        two_sum(first, second) + (rest.high / other.high).into()
    }
}

impl Sum for DoubleDouble {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        terms.fold(0.0.into(), |sum, term| sum + term)
    }
}

/// v'w.
pub fn product(v: &[DoubleDouble], w: &[DoubleDouble]) -> DoubleDouble {
    v.iter().zip(w).map(|(a, b)| *a * *b).sum()
}

impl PartialOrd for DoubleDouble {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match self.high.partial_cmp(&other.high)? {
            Ordering::Equal => self.low.partial_cmp(&other.low),
            order => Some(order),
        }
    }
}

impl DoubleDouble {
    /// This number without its sign.
    pub fn abs(self) -> Self {
        if self.high < 0.0 { -self } else { self }
    }

    /// This number times a power of two, which is exact within the range of f64.
    pub fn times_power_of_two(self, power: f64) -> Self {
        DoubleDouble { high: self.high * power, low: self.low * power }
    }

    /// What [`DoubleDouble::to_f64`] leaves of this number.
    pub fn rest(self) -> f64 {
        self.low
    }

    /// The nearest f64.
    pub fn to_f64(self) -> f64 {
        self.high
    }

    /// The square root of a number that is not negative.
    pub fn sqrt(self) -> Self {
        if self.high <= 0.0 {
            return 0.0.into();
        }
        let root = DoubleDouble::from(self.high.sqrt());
        root + (self - root * root) / (root * 2.0.into())
    }

    /// e to this power, at most 700.
    pub fn exp(self) -> Self {
        if self.high < -740.0 {
            return 0.0.into();
        }
        // x = n ln 2 + r, and e^x = 2^n e^r
        let n = (self.high / LN_2.high).round();
        let value = (self - LN_2 * n.into()).small_exp_m1() + 1.0.into();
        // In two steps, so that 2^n itself need not be a number.
        let (half, rest) = ((n / 2.0).floor(), n - (n / 2.0).floor());
        value.times_power_of_two(power_of_two(half)).times_power_of_two(power_of_two(rest))
    }

    /// e to this power less 1, with all digits where that is small.
    pub fn exp_m1(self) -> Self {
        if self.high.abs() < 0.4 { self.small_exp_m1() } else { self.exp() - 1.0.into() }
    }

    /// e^x - 1 = (1 + (e^r - 1))^512 - 1 for |x| < 0.4, x = 512 r.
    fn small_exp_m1(self) -> Self {
        let r = self * (1.0 / 512.0).into();
        let (mut sum, mut term) = (DoubleDouble::from(0.0), DoubleDouble::from(1.0));
        for m in 1..14 {
            term = term * r / f64::from(m).into();
            sum = sum + term;
        }
        for _ in 0..9 {
            sum = sum * sum + sum * 2.0.into(); // (1 + s)^2 - 1
        }
        sum
    }

    /// The natural logarithm of a positive number.
    pub fn ln(self) -> Self {
        let mut y = DoubleDouble::from(self.high.ln());
        for _ in 0..2 {
            y = y + (self * (-y).exp() - 1.0.into());
        }
        y
    }

    /// sin(pi x).
    pub fn sin_pi(self) -> Self {
        // Of a large number the low part has whole periods, too.
        let whole = self.high.round();
        let rest = self - whole.into();
        let more = rest.high.round();
        let r = (rest - more.into()) * PI;
        let odd = (whole.rem_euclid(2.0) + more.rem_euclid(2.0)) == 1.0;
        let (square, mut term, mut sum) = (r * r, r, r);
        for m in 1..20 {
            let m = f64::from(m);
            term = -(term * square) / (2.0 * m * (2.0 * m + 1.0)).into();
            sum = sum + term;
        }
        if odd { -sum } else { sum }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_those_of_f64_and_undo_each_other() {
        for v in [1e-9, 0.03, 0.4, 1.0, 2.5, 17.0, 300.0] {
            let x = DoubleDouble::from(v);
            for (found, expected) in [
                (x.exp().to_f64(), v.exp()),
                ((-x).exp().to_f64(), (-v).exp()),
                ((-x).exp_m1().to_f64(), (-v).exp_m1()),
                (x.ln().to_f64(), v.ln()),
                (x.sqrt().to_f64(), v.sqrt()),
                ((x / 400.0.into()).sin_pi().to_f64(), (std::f64::consts::PI * v / 400.0).sin()),
            ] {
                assert!((found - expected).abs() <= 4.0 * f64::EPSILON * expected.abs(), "{v}: {found} {expected}");
            }
            for back in [x.ln().exp(), x.sqrt() * x.sqrt(), x / 3.0.into() * 3.0.into(), (-x).exp() * x.exp() * x] {
                let gap = (back - x).to_f64().abs() / v;
                assert!(gap < 1e-28 * (1.0 + v), "{v}: {gap:e}");
            }
        }
        // 2^60 + 1/6 = 2^60 up to the low part, and an even number of half turns away from 1/6.
        let far = DoubleDouble::from(2f64.powi(60)) + DoubleDouble::from(1.0) / 6.0.into();
        assert!((far.sin_pi() - 0.5.into()).to_f64().abs() < 1e-13);
        let whole = DoubleDouble::from(2f64.powi(70)) + 12_345.0.into();
        assert!(whole.sin_pi().to_f64().abs() < 1e-15);
        let sixth = (DoubleDouble::from(1.0) / 6.0.into()).sin_pi();
        assert!((sixth - 0.5.into()).to_f64().abs() < 1e-31);
    }
}
