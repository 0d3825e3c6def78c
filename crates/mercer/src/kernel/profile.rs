//! Profiles: the scalar functions that turn a statistic into a kernel value. One line per kernel.

use super::Nu;

/// A function of one statistic, its parameters being numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Profile {
    /// s
    Identity,
    /// (gamma s + coef0)^degree
    Power { gamma: f64, coef0: f64, degree: u32 },
    /// tanh(gamma s + coef0)
    Tanh { gamma: f64, coef0: f64 },
    /// exp(-gamma s)
    Exponential { gamma: f64 },
    /// Matern of a squared distance
    Matern { nu: Nu, length: f64 },
    /// (1 + s / (2 alpha length^2))^-alpha
    Rational { alpha: f64, length: f64 },
}

impl Profile {
    /// The kernel value at statistic s.
    #[inline(always)]
    pub(crate) fn value(self, s: f64) -> f64 {
        match self {
            Profile::Identity => s,
            Profile::Power { gamma, coef0, degree } => power(gamma * s + coef0, degree),
            Profile::Tanh { gamma, coef0 } => (gamma * s + coef0).tanh(),
            Profile::Exponential { gamma } => (-gamma * s).exp(),
            Profile::Matern { nu, length } => matern(nu, s, length),
            Profile::Rational { alpha, length } => (-alpha * rational_log(s, alpha, length)).exp(),
        }
    }

    /// The value at s = 0 where profiles of distances start; profiles of dot products have no such point: 0.
    pub(crate) fn origin(self) -> f64 {
        match self {
            Profile::Identity | Profile::Power { .. } | Profile::Tanh { .. } => 0.0,
            Profile::Exponential { .. } | Profile::Matern { .. } | Profile::Rational { .. } => 1.0,
        }
    }

    /// Whether an error in the statistic does no worse to the value: exp(-sqrt(s)) has no slope at s = 0.
    pub(crate) fn is_smooth(self) -> bool {
        !matches!(self, Profile::Matern { nu: Nu::Half, .. })
    }

    /// value(s) - origin without cancellation near s = 0 (MATHS.md, M6): what a wide kernel has to say.
    #[inline(always)]
    pub(crate) fn deviation(self, s: f64) -> f64 {
        match self {
            Profile::Identity | Profile::Power { .. } | Profile::Tanh { .. } => self.value(s),
            Profile::Exponential { gamma } => (-gamma * s).exp_m1(),
            Profile::Matern { nu, length } => matern_deviation(nu, s, length),
            Profile::Rational { alpha, length } => (-alpha * rational_log(s, alpha, length)).exp_m1(),
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

fn rational_log(s: f64, alpha: f64, length: f64) -> f64 {
    (s / length / (2.0 * alpha) / length).ln_1p()
}

/// The polynomial p with matern = p(a) exp(-a), less its constant 1, and a = sqrt(2 nu s) / length.
fn matern_parts(nu: Nu, s: f64, length: f64) -> (f64, f64) {
    let r = s.sqrt() / length;
    match nu {
        Nu::Half => (r, 0.0),
        Nu::ThreeHalves => {
            let a = 3f64.sqrt() * r;
            (a, a)
        }
        Nu::FiveHalves => {
            let a = 5f64.sqrt() * r;
            (a, a + a * a / 3.0)
        }
    }
}

fn matern(nu: Nu, s: f64, length: f64) -> f64 {
    let (a, p) = matern_parts(nu, s, length);
    // Beyond a = 800 the exponential is 0; the polynomial may be infinite there, and 0 times infinity is NaN.
    if a > 800.0 { 0.0 } else { (1.0 + p) * (-a).exp() }
}

fn matern_deviation(nu: Nu, s: f64, length: f64) -> f64 {
    let (a, p) = matern_parts(nu, s, length);
    if a > 800.0 {
        return -1.0;
    }
    if a > 0.5 || nu == Nu::Half {
        return (-a).exp_m1() + p * (-a).exp();
    }
    // p(a) e^-a - 1 = sum over m >= 1 of c_m (-a)^m / m!, with c_m from the product rule; for small a the
    // leading terms of expm1 and p e^-a cancel, so the series is summed instead (20 terms reach 1e-17 at a = 1/2).
    let (mut sum, mut term) = (0.0, 1.0);
    for m in 1..=20 {
        let m = f64::from(m);
        term *= -a / m;
        sum += term
            * match nu {
                Nu::FiveHalves => 1.0 - m + m * (m - 1.0) / 3.0,
                _ => 1.0 - m,
            };
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_are_values_less_the_origin() {
        for profile in [
            Profile::Exponential { gamma: 0.3 },
            Profile::Matern { nu: Nu::Half, length: 1.3 },
            Profile::Matern { nu: Nu::ThreeHalves, length: 1.3 },
            Profile::Matern { nu: Nu::FiveHalves, length: 1.3 },
            Profile::Rational { alpha: 0.7, length: 1.3 },
        ] {
            for s in [0.0, 1e-3, 0.02, 0.1, 0.3, 1.0, 7.0, 100.0, 1e4, 1e300] {
                let (direct, careful) = (profile.value(s) - profile.origin(), profile.deviation(s));
                assert!((direct - careful).abs() < 4.0 * f64::EPSILON, "{profile:?} at {s}: {direct} {careful}");
            }
        }
    }

    #[test]
    fn small_deviations_keep_their_digits() {
        // leading terms: expm1: -gamma s; Matern 3/2: -a^2/2; Matern 5/2: -a^2/6; rational: -s/(2 l^2)
        let near = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 1e-7, "{found} {expected}");
        let s = 1e-16;
        near(Profile::Exponential { gamma: 2.0 }.deviation(s), -2.0 * s);
        near(Profile::Matern { nu: Nu::ThreeHalves, length: 1.0 }.deviation(s), -1.5 * s);
        near(Profile::Matern { nu: Nu::FiveHalves, length: 1.0 }.deviation(s), -5.0 / 6.0 * s);
        near(Profile::Rational { alpha: 3.0, length: 2.0 }.deviation(s), -s / 8.0);
    }

    #[test]
    fn powers_of_negative_numbers() {
        assert_eq!(power(-2.0, 3), -8.0);
        assert_eq!(power(-2.0, 4), 16.0);
        assert_eq!(power(5.0, 1), 5.0);
    }
}
