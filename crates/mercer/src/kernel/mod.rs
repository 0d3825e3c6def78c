//! Kernels: k(x, y) = profile(statistic(x, y)), and what can be built from them.
//!
//! A [`Kernel`] is data: it can be named at run time, compared, printed as text and read back.
//! Binding it to points ([`Bound`]) turns automatic parameters into checked numbers.

mod bind;
mod expr;
pub(crate) mod profile;
pub mod registry;
pub(crate) mod rounding;
pub(crate) mod statistic;
pub(crate) mod tile;

use std::ops::{Add, Mul};

use serde::{Deserialize, Serialize};

pub use bind::{Bound, Choice};

use crate::error::{Error, Result};
use profile::Profile;
use statistic::Statistic;

/// A Mercer kernel as a value.
///
/// # Definition
/// [`Kernel::eval`] is the definition; [`registry::KERNELS`] has names, parameters, defaults and formulas.
///
/// # Example
/// Kernels add, multiply and scale, and are the same thing as their text:
/// ```
/// use mercer::{Gamma, Kernel};
/// let k = 0.5 * Kernel::gaussian(Gamma::Median) + Kernel::Linear;
/// assert_eq!(k.to_string(), "0.5*gaussian(gamma=median) + linear");
/// assert_eq!("0.5*gaussian(gamma=median) + linear".parse::<Kernel>()?, k);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
#[non_exhaustive]
pub enum Kernel {
    /// x.y
    Linear,
    /// (gamma x.y + coef0)^degree
    Polynomial {
        /// Factor of the dot product.
        gamma: Gamma,
        /// The constant; 0 gives exactly the monomials of one degree.
        coef0: f64,
        /// The power, at least 1.
        degree: u32,
    },
    /// exp(-gamma |x-y|^2)
    Gaussian {
        /// One over the squared width, in any of its spellings.
        gamma: Gamma,
    },
    /// exp(-gamma |x-y|_1)
    Laplacian {
        /// One over the width.
        gamma: Gamma,
    },
    /// The Matern kernel of smoothness nu at a = sqrt(2 nu) |x-y| / length.
    Matern {
        /// 1/2, 3/2 or 5/2.
        nu: Nu,
        /// The width.
        length: Length,
    },
    /// (1 + |x-y|^2 / (2 alpha length^2))^-alpha
    RationalQuadratic {
        /// The power; large values approach the Gaussian.
        alpha: f64,
        /// The width.
        length: Length,
    },
    /// tanh(gamma x.y + coef0), which is not positive semi-definite
    Sigmoid {
        /// Factor of the dot product.
        gamma: Gamma,
        /// The constant.
        coef0: f64,
    },
    /// x.y / (|x| |y|), and 0 where x or y is 0
    Cosine,
    /// The sum of kernels.
    Sum(Vec<Kernel>),
    /// The product of kernels.
    Product(Vec<Kernel>),
    /// A positive number times a kernel.
    Scaled(f64, Box<Kernel>),
    /// k(x,y) / sqrt(k(x,x) k(y,y)), and 0 where k(x,x) or k(y,y) is not positive
    Normalised(Box<Kernel>),
}

/// The factor gamma of a statistic, or the rule that finds it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Gamma {
    /// This number.
    Value(f64),
    /// sigma2 in exp(-d2 / sigma2): gamma = 1 / sigma2.
    OverSigma2(f64),
    /// sigma2 in exp(-d2 / (2 sigma2)): gamma = 1 / (2 sigma2).
    Over2Sigma2(f64),
    /// One over the median of the kernel's own statistic (|x-y|^2, or |x-y|_1) over pairs of points.
    Median,
    /// 1 / (d v), v the variance of all values together (scikit-learn's `scale`).
    Scale,
    /// 1 / d, d the number of dimensions (scikit-learn's default).
    PerDimension,
}

/// A width in the units of the points, or the rule that finds it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Length {
    /// This number.
    Value(f64),
    /// The median distance between points.
    Median,
}

/// Smoothness of a Matern kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Nu {
    Half,
    ThreeHalves,
    FiveHalves,
}

impl Gamma {
    /// The number, unless a rule has still to find it.
    pub fn number(self) -> Option<f64> {
        match self {
            Gamma::Value(g) => Some(g),
            Gamma::OverSigma2(s) => Some(1.0 / s),
            Gamma::Over2Sigma2(s) => Some(0.5 / s),
            Gamma::Median | Gamma::Scale | Gamma::PerDimension => None,
        }
    }
}

impl Length {
    /// The number, unless a rule has still to find it.
    pub fn number(self) -> Option<f64> {
        match self {
            Length::Value(l) => Some(l),
            Length::Median => None,
        }
    }
}

impl Kernel {
    /// exp(-gamma |x-y|^2).
    pub fn gaussian(gamma: Gamma) -> Self {
        Kernel::Gaussian { gamma }
    }

    /// (x.y + coef0)^degree.
    pub fn polynomial(degree: u32, coef0: f64) -> Self {
        Kernel::Polynomial { gamma: Gamma::Value(1.0), coef0, degree }
    }

    /// exp(-gamma |x-y|_1).
    pub fn laplacian(gamma: Gamma) -> Self {
        Kernel::Laplacian { gamma }
    }

    /// This kernel with k(x,x) made 1.
    pub fn normalised(self) -> Self {
        Kernel::Normalised(Box::new(self))
    }

    /// k(x, y): the definition, in plain loops.
    ///
    /// The points must have the same number of dimensions. Automatic parameters have no number until the kernel is bound
    /// to points: the result is NaN then.
    pub fn eval(&self, x: &[f64], y: &[f64]) -> f64 {
        match self {
            Kernel::Sum(terms) => terms.iter().map(|k| k.eval(x, y)).sum(),
            Kernel::Product(factors) => factors.iter().map(|k| k.eval(x, y)).product(),
            Kernel::Scaled(w, k) => w * k.eval(x, y),
            Kernel::Normalised(k) => normalise(k.eval(x, y), k.self_value(x), k.self_value(y)),
            Kernel::Cosine => normalise(statistic::dot(x, y), statistic::dot(x, x), statistic::dot(y, y)),
            leaf => match leaf.profile() {
                Some((statistic, profile)) => profile.value(statistic.of(x, y)),
                None => f64::NAN,
            },
        }
    }

    /// k(x, x), without looking at x twice however deep normalisations are nested.
    pub(crate) fn self_value(&self, x: &[f64]) -> f64 {
        match self {
            Kernel::Sum(terms) => terms.iter().map(|k| k.self_value(x)).sum(),
            Kernel::Product(factors) => factors.iter().map(|k| k.self_value(x)).product(),
            Kernel::Scaled(w, k) => w * k.self_value(x),
            Kernel::Normalised(k) => f64::from(u8::from(k.self_value(x) > 0.0)),
            leaf => leaf.eval(x, x),
        }
    }

    /// Whether every Gram matrix of this kernel is positive semi-definite (Mercer's condition), by its formula.
    /// Kernels for which this is false may still be so on given points; [`crate::diagnose`] finds out.
    pub fn is_psd(&self) -> bool {
        match self {
            Kernel::Sum(ks) | Kernel::Product(ks) => ks.iter().all(Kernel::is_psd),
            Kernel::Scaled(_, k) | Kernel::Normalised(k) => k.is_psd(),
            // A constant may spoil what the formula promises.
            Kernel::Polynomial { coef0, .. } if *coef0 < 0.0 => false,
            leaf => registry::entry(registry::spell(leaf).0).is_ok_and(|e| e.psd),
        }
    }

    /// Statistic and profile of a leaf whose parameters are numbers.
    pub(crate) fn profile(&self) -> Option<(Statistic, Profile)> {
        Some(match *self {
            Kernel::Linear => (Statistic::Dot, Profile::Identity),
            Kernel::Polynomial { gamma, coef0, degree } => {
                (Statistic::Dot, Profile::Power { gamma: gamma.number()?, coef0, degree })
            }
            Kernel::Sigmoid { gamma, coef0 } => (Statistic::Dot, Profile::Tanh { gamma: gamma.number()?, coef0 }),
            Kernel::Gaussian { gamma } => (Statistic::SquaredDistance, Profile::Exponential { gamma: gamma.number()? }),
            Kernel::Laplacian { gamma } => (Statistic::L1, Profile::Exponential { gamma: gamma.number()? }),
            Kernel::Matern { nu, length } => {
                (Statistic::SquaredDistance, Profile::Matern { nu, length: length.number()? })
            }
            Kernel::RationalQuadratic { alpha, length } => {
                (Statistic::SquaredDistance, Profile::Rational { alpha, length: length.number()? })
            }
            Kernel::Cosine | Kernel::Sum(_) | Kernel::Product(_) | Kernel::Scaled(..) | Kernel::Normalised(_) => {
                return None;
            }
        })
    }

    /// The same kernel as its text reads back: sums in sums and products in products opened, weights drawn together.
    pub(crate) fn tidied(&self) -> Kernel {
        let fold = |ks: &[Kernel], join: fn(Kernel, Kernel) -> Kernel| ks.iter().map(Kernel::tidied).reduce(join);
        match self {
            Kernel::Sum(ks) => fold(ks, |a, b| a + b).unwrap_or_else(|| self.clone()),
            Kernel::Product(ks) => fold(ks, |a, b| a * b).unwrap_or_else(|| self.clone()),
            Kernel::Scaled(w, k) => *w * k.tidied(),
            Kernel::Normalised(k) => k.tidied().normalised(),
            leaf => leaf.clone(),
        }
    }

    /// Refuses numbers outside the domains that the registry states.
    ///
    /// # Errors
    /// Names the kernel, the parameter, its value and the constraint.
    pub fn validate(&self) -> Result<()> {
        if self.depth() > expr::MAX_DEPTH {
            let constraint = format!("at most {} levels, as many as its text may have", expr::MAX_DEPTH);
            return Err(Error::parameter("kernel", "depth", self.depth(), constraint));
        }
        self.validate_parts()
    }

    /// How deep sums, products, weights and normalisations are nested.
    fn depth(&self) -> usize {
        match self {
            Kernel::Sum(ks) | Kernel::Product(ks) => 1 + ks.iter().map(Kernel::depth).max().unwrap_or(0),
            Kernel::Scaled(_, k) | Kernel::Normalised(k) => 1 + k.depth(),
            _ => 1,
        }
    }

    fn validate_parts(&self) -> Result<()> {
        let composite = |owner, ks: &[Kernel]| {
            if ks.is_empty() {
                return Err(Error::parameter(owner, "terms", 0, "at least one kernel"));
            }
            ks.iter().try_for_each(Kernel::validate_parts)
        };
        match self {
            Kernel::Sum(ks) => composite("sum", ks),
            Kernel::Product(ks) => composite("product", ks),
            Kernel::Normalised(k) => k.validate_parts(),
            Kernel::Scaled(w, k) => {
                if !(w.is_finite() && *w > 0.0) {
                    return Err(Error::parameter("scaled kernel", "weight", w, "weight > 0 and finite"));
                }
                k.validate_parts()
            }
            leaf => registry::validate(leaf),
        }
    }
}

/// k / sqrt(kx ky), and 0 where a self-value is not positive.
pub(crate) fn normalise(k: f64, kx: f64, ky: f64) -> f64 {
    // Two roots, not the root of the product: it neither overflows nor underflows.
    if kx > 0.0 && ky > 0.0 { k / (kx.sqrt() * ky.sqrt()) } else { 0.0 }
}

impl Add for Kernel {
    type Output = Kernel;

    fn add(self, other: Kernel) -> Kernel {
        let mut terms = match self {
            Kernel::Sum(terms) => terms,
            k => vec![k],
        };
        match other {
            Kernel::Sum(more) => terms.extend(more),
            k => terms.push(k),
        }
        Kernel::Sum(terms)
    }
}

impl Mul for Kernel {
    type Output = Kernel;

    /// Weights are drawn to the front, so that equal products are equal values.
    fn mul(self, other: Kernel) -> Kernel {
        let (mut weight, mut factors) = (None, Vec::new());
        for k in [self, other] {
            let k = match k {
                Kernel::Scaled(w, k) => {
                    weight = Some(weight.unwrap_or(1.0) * w);
                    *k
                }
                k => k,
            };
            match k {
                Kernel::Product(more) => factors.extend(more),
                k => factors.push(k),
            }
        }
        match weight {
            Some(w) => w * Kernel::Product(factors),
            None => Kernel::Product(factors),
        }
    }
}

impl Mul<Kernel> for f64 {
    type Output = Kernel;

    fn mul(self, kernel: Kernel) -> Kernel {
        match kernel {
            Kernel::Scaled(w, k) => Kernel::Scaled(self * w, k),
            k => Kernel::Scaled(self, Box::new(k)),
        }
    }
}
