//! Kernels: k(x, y) = value(statistic(x, y)), and what can be built from them.
//!
//! A [`Kernel`] is data: it can be named at run time, compared, printed as text and read back.
//! Binding it to points ([`Bound`]) turns automatic parameters into checked numbers. Each kernel has a file of its own in
//! `kernels/`; [`registry`] is the table of them.

pub(crate) mod bind;
mod enclosed;
mod expr;
mod formula;
pub(crate) mod kernels;
mod parameter;
pub mod registry;
pub(crate) mod rounding;
mod rules;
pub(crate) mod statistic;
pub(crate) mod tile;

use std::ops::{Add, Mul};

use serde::{Deserialize, Serialize};

pub use bind::Bound;
pub use formula::Formula;
pub use kernels::*;
pub use parameter::{Domain, Gamma, Length};
pub use rules::Choice;
pub use statistic::Statistic;

use crate::error::{Error, Result};

/// A Mercer kernel as a value.
///
/// # Definition
/// [`Kernel::eval`] is the definition; [`registry::KERNELS`] has names, parameters, defaults and formulas.
///
/// # Example
/// Kernels add, multiply and scale, and are the same thing as their text. One may consist of up to 100 kernels of the
/// table, in up to 64 levels:
/// ```
/// use mercer::{Gamma, Kernel};
/// let k = 0.5 * Kernel::gaussian(Gamma::Median) + Kernel::linear();
/// assert_eq!(k.to_string(), "0.5*gaussian(gamma=median) + linear");
/// assert_eq!("0.5*gaussian(gamma=median) + linear".parse::<Kernel>()?, k);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Kernel {
    /// A kernel of the table.
    Leaf(Leaf),
    /// The sum of kernels.
    Sum(Vec<Kernel>),
    /// The product of kernels.
    Product(Vec<Kernel>),
    /// A positive number times a kernel.
    Scaled(f64, Box<Kernel>),
    /// k(x,y) / sqrt(k(x,x) k(y,y)), and 0 where k(x,x) or k(y,y) is not positive
    Normalised(Box<Kernel>),
}

impl<L: Into<Leaf>> From<L> for Kernel {
    fn from(leaf: L) -> Kernel {
        Kernel::Leaf(leaf.into())
    }
}

impl Kernel {
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
            Kernel::Leaf(leaf) => leaf.value(leaf.statistic().of(x, y)),
            Kernel::Sum(terms) => terms.iter().map(|k| k.eval(x, y)).sum(),
            Kernel::Product(factors) => factors.iter().map(|k| k.eval(x, y)).product(),
            Kernel::Scaled(w, k) => w * k.eval(x, y),
            Kernel::Normalised(k) => normalise(k.eval(x, y), k.self_value(x), k.self_value(y)),
        }
    }

    /// k(x, x), in one pass over x however deep normalisations are nested.
    pub fn self_value(&self, x: &[f64]) -> f64 {
        match self {
            Kernel::Leaf(leaf) => leaf.value(leaf.statistic().of_self(x)),
            Kernel::Sum(terms) => terms.iter().map(|k| k.self_value(x)).sum(),
            Kernel::Product(factors) => factors.iter().map(|k| k.self_value(x)).product(),
            Kernel::Scaled(w, k) => w * k.self_value(x),
            Kernel::Normalised(k) => f64::from(u8::from(k.self_value(x) > 0.0)),
        }
    }

    /// The derivatives of k(x, y) with respect to the coordinates of x; 0 where there is none.
    ///
    /// ```
    /// use mercer::{Gamma, Kernel};
    /// let k = Kernel::gaussian(Gamma::Value(0.5));
    /// assert_eq!(k.gradient(&[1.0], &[0.0]), [-(-0.5f64).exp()]);
    /// ```
    pub fn gradient(&self, x: &[f64], y: &[f64]) -> Vec<f64> {
        let scaled = |factor: f64, g: Vec<f64>| g.into_iter().map(|v| factor * v).collect::<Vec<f64>>();
        let add = |a: Vec<f64>, b: Vec<f64>| a.into_iter().zip(b).map(|(a, b)| a + b).collect::<Vec<f64>>();
        match self {
            Kernel::Leaf(leaf) => {
                let statistic = leaf.statistic();
                scaled(leaf.derivative(statistic.of(x, y)), statistic.gradient(x, y))
            }
            Kernel::Sum(terms) => terms.iter().map(|k| k.gradient(x, y)).fold(vec![0.0; x.len()], add),
            Kernel::Product(factors) => {
                let others = |at: usize| {
                    factors.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, k)| k.eval(x, y)).product::<f64>()
                };
                let terms = factors.iter().enumerate().map(|(at, k)| scaled(others(at), k.gradient(x, y)));
                terms.fold(vec![0.0; x.len()], add)
            }
            Kernel::Scaled(w, k) => scaled(*w, k.gradient(x, y)),
            Kernel::Normalised(k) => {
                let (own, other) = (k.self_value(x), k.self_value(y));
                if !(own > 0.0 && other > 0.0) {
                    return vec![0.0; x.len()];
                }
                // d k(x,x) = 2 d_1 k(x,x)
                let over = 1.0 / (own.sqrt() * other.sqrt());
                let of_own = scaled(-k.eval(x, y) / own * over, k.gradient_of_self(x));
                add(scaled(over, k.gradient(x, y)), of_own)
            }
        }
    }

    /// Half the derivatives of k(x, x): those of k(x, y) in x at y = x.
    fn gradient_of_self(&self, x: &[f64]) -> Vec<f64> {
        let zero = || vec![0.0; x.len()];
        let add = |mut sum: Vec<f64>, (factor, g): (f64, Vec<f64>)| {
            sum.iter_mut().zip(g).for_each(|(s, v)| *s += factor * v);
            sum
        };
        match self {
            Kernel::Leaf(_) => self.gradient(x, x),
            Kernel::Sum(terms) => terms.iter().map(|k| (1.0, k.gradient_of_self(x))).fold(zero(), add),
            Kernel::Product(factors) => {
                let others = |at: usize| {
                    factors.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, k)| k.self_value(x)).product()
                };
                factors.iter().enumerate().map(|(at, k)| (others(at), k.gradient_of_self(x))).fold(zero(), add)
            }
            Kernel::Scaled(w, k) => add(zero(), (*w, k.gradient_of_self(x))),
            Kernel::Normalised(_) => zero(), // k(x, x) is 1 wherever it is not 0
        }
    }

    /// Whether every Gram matrix of this kernel is positive semi-definite (Mercer's condition), by its formula.
    /// Kernels for which this is false may still be so on given points; [`crate::diagnose`] finds out.
    pub fn is_psd(&self) -> bool {
        match self {
            Kernel::Leaf(leaf) => leaf.is_psd(),
            Kernel::Sum(ks) | Kernel::Product(ks) => ks.iter().all(Kernel::is_psd),
            Kernel::Scaled(_, k) | Kernel::Normalised(k) => k.is_psd(),
        }
    }

    /// Returns the kernels of the table that it is made of, in order.
    pub fn leaves(&self) -> Vec<&Leaf> {
        match self {
            Kernel::Leaf(leaf) => vec![leaf],
            Kernel::Sum(ks) | Kernel::Product(ks) => ks.iter().flat_map(Kernel::leaves).collect(),
            Kernel::Scaled(_, k) | Kernel::Normalised(k) => k.leaves(),
        }
    }

    /// Returns whether every parameter is a number, and none a rule such as `median`.
    pub fn is_numeric(&self) -> bool {
        self.leaves().iter().all(|leaf| leaf.is_numeric())
    }

    /// Returns the points that it is defined for.
    pub fn domain(&self) -> Domain {
        match self.leaves().iter().any(|leaf| leaf.entry().domain == Domain::NonNegative) {
            true => Domain::NonNegative,
            false => Domain::All,
        }
    }

    /// The same kernel as its text reads back: sums in sums and products in products opened, weights drawn together.
    pub(crate) fn tidied(&self) -> Kernel {
        let fold = |ks: &[Kernel], join: fn(Kernel, Kernel) -> Kernel| ks.iter().map(Kernel::tidied).reduce(join);
        match self {
            Kernel::Leaf(leaf) => Kernel::Leaf(leaf.clone()),
            Kernel::Sum(ks) => fold(ks, |a, b| a + b).unwrap_or_else(|| self.clone()),
            Kernel::Product(ks) => fold(ks, |a, b| a * b).unwrap_or_else(|| self.clone()),
            Kernel::Scaled(w, k) => *w * k.tidied(),
            Kernel::Normalised(k) => k.tidied().normalised(),
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
        let leaves = self.leaves().len();
        if leaves > expr::MAX_LEAVES {
            let constraint = format!("leaves <= {}", expr::MAX_LEAVES);
            return Err(Error::parameter("kernel", "leaves", leaves, constraint));
        }
        self.validate_parts()
    }

    /// How deep sums, products, weights and normalisations are nested.
    fn depth(&self) -> usize {
        match self {
            Kernel::Leaf(_) => 1,
            Kernel::Sum(ks) | Kernel::Product(ks) => 1 + ks.iter().map(Kernel::depth).max().unwrap_or(0),
            Kernel::Scaled(_, k) | Kernel::Normalised(k) => 1 + k.depth(),
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
            Kernel::Leaf(leaf) => registry::validate(leaf),
            Kernel::Sum(ks) => composite("sum", ks),
            Kernel::Product(ks) => composite("product", ks),
            Kernel::Normalised(k) => k.validate_parts(),
            Kernel::Scaled(w, k) => {
                if !(w.is_finite() && *w > 0.0) {
                    return Err(Error::parameter("scaled kernel", "weight", w, "weight > 0 and finite"));
                }
                k.validate_parts()
            }
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
        let parts = |k| match k {
            Kernel::Scaled(w, k) => (Some(w), *k),
            k => (None, k),
        };
        let ((v, a), (w, b)) = (parts(self), parts(other));
        let mut factors = match a {
            Kernel::Product(factors) => factors,
            k => vec![k],
        };
        match b {
            Kernel::Product(more) => factors.extend(more),
            k => factors.push(k),
        }
        match v.into_iter().chain(w).reduce(|v, w| v * w) {
            Some(weight) => weight * Kernel::Product(factors),
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
