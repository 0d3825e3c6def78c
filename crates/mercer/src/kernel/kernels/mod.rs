//! The kernels, one file each, and the table of them.
//!
//! A new kernel is a new file that implements [`LeafKernel`] and a line in the table below. The trait has no default
//! methods, so that the compiler requires every property of a kernel, its rounding errors above all. The conformance suite
//! (`testing::conformance`) tests them.

mod exponential;

use fearless_simd::{Level, dispatch, prelude::*};

use super::formula::Formula;
use super::parameter::{Entry, Value};
use super::rounding::{Size, Slope};
use super::rules::Rules;
use super::statistic::Statistic;
use super::tile::apply::{Raw, each};
use crate::ball::Ball;
use crate::error::Result;
use crate::real::Real;
use crate::vector::Four;

/// A kernel k(x, y) = value(statistic(x, y)).
///
/// Parameters without a number yet, since a rule has still to find it, count as NaN.
pub(crate) trait LeafKernel: Clone {
    /// Its line of the table.
    const ENTRY: Entry;

    /// The parameters that it is printed with, in order.
    fn arguments(&self) -> Vec<(&'static str, Value)>;

    /// Whether all Gram matrices with these parameters are positive semi-definite.
    fn is_psd(&self) -> bool;

    /// The same kernel with numbers in place of rules.
    fn resolve(&self, rules: &mut Rules<'_>) -> Result<Self>;

    /// The statistic that it is a function of.
    fn statistic(&self) -> Statistic<'_>;

    /// The value at statistic s.
    fn value(&self, s: f64) -> f64;

    /// The value at s = 0 where functions of a distance start; 0 for functions of a dot product.
    fn origin(&self) -> f64;

    /// value(s) - origin without cancellation near s = 0 (MATHS.md, M6).
    fn deviation(&self, s: f64) -> f64;

    /// The derivative of the value in s; 0 at s = 0 where it is infinite.
    fn derivative(&self, s: f64) -> f64;

    /// A bound on the derivative (MATHS.md, M13).
    fn slope(&self) -> Slope;

    /// A bound on the value and on the error of a computed value, for points of `d` dimensions with |x|^2 <= `square`.
    fn size(&self, d: usize, square: f64) -> Size;

    /// The value as an expression.
    fn formula(&self) -> Formula;

    /// k(x, y) by its definition, with a bound on its error; less its value at distance 0 if `less_origin`, for functions of
    /// a distance.
    fn ball(&self, x: &[Ball], y: &[Ball], less_origin: bool) -> Ball;

    /// The function that computes the value, or the deviation, of a few vectors of statistics.
    fn vectors<S: Simd, T: Real>(&self, simd: S, deviation: bool) -> impl Fn(Four<S, T>) -> Four<S, T>;
}

macro_rules! kernels {
    ($($(#[$about:meta])* $module:ident :: $name:ident),* $(,)?) => {
        $(mod $module; pub use $module::$name;)*

        /// A kernel of the table, with its parameters.
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Leaf {
            $($(#[$about])* $name($name)),*
        }

        /// All kernels, in the order in which they are shown.
        pub const KERNELS: &[Entry] = &[$(<$name as LeafKernel>::ENTRY),*];

        $(impl From<$name> for Leaf {
            fn from(kernel: $name) -> Leaf {
                Leaf::$name(kernel)
            }
        })*

        impl Leaf {
            /// Its line of the table.
            pub fn entry(&self) -> &'static Entry {
                match self { $(Leaf::$name(_) => &<$name as LeafKernel>::ENTRY),* }
            }

            /// The parameters that it is printed with, in order.
            pub fn arguments(&self) -> Vec<(&'static str, Value)> {
                match self { $(Leaf::$name(k) => k.arguments()),* }
            }

            pub(crate) fn is_psd(&self) -> bool {
                match self { $(Leaf::$name(k) => k.is_psd()),* }
            }

            pub(super) fn resolve(&self, rules: &mut Rules<'_>) -> Result<Leaf> {
                Ok(match self { $(Leaf::$name(k) => Leaf::$name(k.resolve(rules)?)),* })
            }

            /// The statistic that it is a function of.
            pub fn statistic(&self) -> Statistic<'_> {
                match self { $(Leaf::$name(k) => k.statistic()),* }
            }

            pub(crate) fn value(&self, s: f64) -> f64 {
                match self { $(Leaf::$name(k) => k.value(s)),* }
            }

            pub(crate) fn origin(&self) -> f64 {
                match self { $(Leaf::$name(k) => k.origin()),* }
            }

            pub(crate) fn deviation(&self, s: f64) -> f64 {
                match self { $(Leaf::$name(k) => k.deviation(s)),* }
            }

            pub(crate) fn derivative(&self, s: f64) -> f64 {
                match self { $(Leaf::$name(k) => k.derivative(s)),* }
            }

            pub(crate) fn slope(&self) -> Slope {
                match self { $(Leaf::$name(k) => k.slope()),* }
            }

            pub(crate) fn size(&self, d: usize, square: f64) -> Size {
                match self { $(Leaf::$name(k) => k.size(d, square)),* }
            }

            /// The value as an expression of the statistic.
            pub fn formula(&self) -> Formula {
                match self { $(Leaf::$name(k) => k.formula()),* }
            }

            pub(crate) fn ball(&self, x: &[Ball], y: &[Ball], less_origin: bool) -> Ball {
                match self { $(Leaf::$name(k) => k.ball(x, y, less_origin)),* }
            }

            /// Replaces the numbers of a tile of `width` columns by kernel values, or by values less the origin.
            pub(super) fn apply<T: Real>(
                &self, level: Level, deviation: bool, raw: Raw<'_, T>, width: usize, out: &mut [T],
            ) {
                dispatch!(level, simd => self.apply_with(simd, deviation, raw, width, out));
            }

            #[inline(always)]
            fn apply_with<S: Simd, T: Real>(
                &self, simd: S, deviation: bool, raw: Raw<'_, T>, width: usize, out: &mut [T],
            ) {
                match self { $(Leaf::$name(k) => each(simd, raw, width, out, k.vectors::<S, T>(simd, deviation))),* }
            }
        }
    };
}

kernels! {
    /// x.y
    linear::Linear,
    /// (gamma x.y + coef0)^degree
    polynomial::Polynomial,
    /// exp(-gamma |x-y|^2), or with a width per dimension
    gaussian::Gaussian,
    /// exp(-gamma |x-y|_1)
    laplacian::Laplacian,
    /// p(a) exp(-a), a = sqrt(2 nu) |x-y| / length, p = 1, 1 + a or 1 + a + a^2/3
    matern::Matern,
    /// (1 + |x-y|^2 / (2 alpha length^2))^-alpha
    rational_quadratic::RationalQuadratic,
    /// exp(-(|x-y| / length)^power)
    gamma_exponential::GammaExponential,
    /// exp(-2 sum sin^2(pi (x-y) / period) / length^2)
    periodic::Periodic,
    /// tanh(gamma x.y + coef0)
    sigmoid::Sigmoid,
    /// x.y / (|x| |y|)
    cosine::Cosine,
    /// x.y / (|x|^2 + |y|^2 - x.y)
    tanimoto::Tanimoto,
    /// exp(-gamma sum (x-y)^2 / (x+y))
    chi2::Chi2,
}

pub use gaussian::GaussianWidth;
pub use matern::Nu;

impl Leaf {
    /// Whether every parameter is a number (or a word), none a rule.
    pub(crate) fn is_numeric(&self) -> bool {
        !self.arguments().iter().any(|(_, value)| matches!(value, Value::Rule(_)))
    }
}
