//! A kernel's function of its statistic as an expression, for programs that evaluate it by other means (ONNX).

/// A function of one number s, the statistic.
///
/// # Example
/// ```
/// use mercer::kernel::Formula;
/// let f = Formula::Statistic.times(-0.5).exp(); // exp(-s/2)
/// assert_eq!(f.eval(2.0), (-1.0f64).exp());
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Formula {
    /// s
    Statistic,
    /// A factor times a formula.
    Times(f64, Box<Formula>),
    /// A formula plus a number.
    Plus(Box<Formula>, f64),
    /// The product of two formulas.
    Product(Box<Formula>, Box<Formula>),
    /// A formula to a power.
    Power(Box<Formula>, f64),
    /// The square root of a formula.
    Root(Box<Formula>),
    /// e to a formula.
    Exp(Box<Formula>),
    /// tanh of a formula.
    Tanh(Box<Formula>),
}

impl Formula {
    /// A factor times this.
    pub fn times(self, factor: f64) -> Self {
        Formula::Times(factor, Box::new(self))
    }

    /// This plus a number.
    pub fn plus(self, number: f64) -> Self {
        Formula::Plus(Box::new(self), number)
    }

    /// This times another.
    pub fn product(self, other: Formula) -> Self {
        Formula::Product(Box::new(self), Box::new(other))
    }

    /// This to a power.
    pub fn power(self, power: f64) -> Self {
        Formula::Power(Box::new(self), power)
    }

    /// The square root of this.
    pub fn root(self) -> Self {
        Formula::Root(Box::new(self))
    }

    /// e to the power of this.
    pub fn exp(self) -> Self {
        Formula::Exp(Box::new(self))
    }

    /// tanh of this.
    pub fn tanh(self) -> Self {
        Formula::Tanh(Box::new(self))
    }

    /// The value at s.
    pub fn eval(&self, s: f64) -> f64 {
        match self {
            Formula::Statistic => s,
            Formula::Times(factor, f) => factor * f.eval(s),
            Formula::Plus(f, number) => f.eval(s) + number,
            Formula::Product(f, g) => f.eval(s) * g.eval(s),
            Formula::Power(f, power) => f.eval(s).powf(*power),
            Formula::Root(f) => f.eval(s).sqrt(),
            Formula::Exp(f) => f.eval(s).exp(),
            Formula::Tanh(f) => f.eval(s).tanh(),
        }
    }
}
