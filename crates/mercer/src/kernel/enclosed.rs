//! Kernel values in twice the precision with a bound on their error, by the definition of the kernel.

use super::Kernel;
use crate::ball::Ball;

impl Kernel {
    /// The value of this kernel, whose parameters are numbers.
    pub(crate) fn ball(&self, x: &[Ball], y: &[Ball]) -> Ball {
        match self {
            Kernel::Leaf(leaf) => leaf.ball(x, y, false),
            Kernel::Sum(terms) => terms.iter().fold(0.0.into(), |sum, k| sum + k.ball(x, y)),
            Kernel::Product(factors) => factors.iter().fold(1.0.into(), |product, k| product * k.ball(x, y)),
            Kernel::Scaled(w, k) => Ball::from(*w) * k.ball(x, y),
            Kernel::Normalised(k) => {
                let (own, other) = (k.ball(x, x), k.ball(y, y));
                if [own, other].iter().any(|v| v.value.to_f64() < -v.error || v.is_zero()) {
                    return 0.0.into();
                }
                k.ball(x, y) / (own.sqrt() * other.sqrt())
            }
        }
    }

    /// The same up to terms that centring removes (MATHS.md, M6): a function of a distance less its value at 0, which a
    /// wide kernel would lose even in higher precision.
    pub(crate) fn ball_up_to_centring(&self, x: &[Ball], y: &[Ball]) -> Ball {
        match self {
            Kernel::Leaf(leaf) => leaf.ball(x, y, true),
            Kernel::Scaled(w, k) => Ball::from(*w) * k.ball_up_to_centring(x, y),
            Kernel::Sum(terms) => terms.iter().fold(0.0.into(), |sum, k| sum + k.ball_up_to_centring(x, y)),
            Kernel::Product(_) | Kernel::Normalised(_) => self.ball(x, y),
        }
    }
}
