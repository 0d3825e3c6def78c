//! exp(-gamma |x-y|^2), and the same with a width per dimension.

use fearless_simd::prelude::*;

use super::{LeafKernel, exponential};
use crate::ball::{Ball, exponential, gap, squared_distance};
use crate::error::{Error, Result};
use crate::kernel::formula::Formula;
use crate::kernel::parameter::{DISTANCE_GAMMA, Domain, Entry, LENGTH, OVER_2SIGMA2, OVER_SIGMA2, Parameter, ParameterKind, Value, WIDTHS};
use crate::kernel::rounding::{Size, Slope};
use crate::kernel::rules::Rules;
use crate::kernel::statistic::Statistic;
use crate::kernel::{Gamma, Kernel, Length};
use crate::real::Real;
use crate::vector::Four;

/// exp(-gamma |x-y|^2), or exp(-sum_j (x_j - y_j)^2 / (2 length_j^2))
///
/// ```
/// use mercer::kernel::Gaussian;
/// use mercer::{Gamma, Kernel};
/// let kernel = Kernel::from(Gaussian { width: Gamma::Median.into() });
/// assert_eq!(kernel, Kernel::gaussian(Gamma::Median));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Gaussian {
    /// The width, as gamma, as a length, or as a length per dimension.
    pub width: GaussianWidth,
}

/// The width of a Gaussian kernel.
///
/// ```
/// use mercer::Kernel;
/// use mercer::kernel::{Gaussian, GaussianWidth};
/// let width = GaussianWidth::Lengths(vec![1.0, 2.0, 0.5]);
/// assert_eq!(Kernel::from(Gaussian { width }).to_string(), "gaussian(length=[1, 2, 0.5])");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum GaussianWidth {
    /// gamma in exp(-gamma |x-y|^2).
    Gamma(Gamma),
    /// length in exp(-|x-y|^2 / (2 length^2)).
    Length(Length),
    /// A length per dimension.
    Lengths(Vec<f64>),
}

impl From<Gamma> for GaussianWidth {
    fn from(gamma: Gamma) -> Self {
        GaussianWidth::Gamma(gamma)
    }
}

impl From<Length> for GaussianWidth {
    fn from(length: Length) -> Self {
        GaussianWidth::Length(length)
    }
}

impl From<Vec<f64>> for GaussianWidth {
    fn from(lengths: Vec<f64>) -> Self {
        GaussianWidth::Lengths(lengths)
    }
}

impl Kernel {
    /// exp(-gamma |x-y|^2), the width being a [`Gamma`], a [`Length`], or a list of lengths, one per dimension.
    ///
    /// ```
    /// use mercer::{Gamma, Kernel};
    /// assert_eq!(Kernel::gaussian(Gamma::Value(0.5)).eval(&[0.0], &[2.0]), (-2.0f64).exp());
    /// assert_eq!(Kernel::gaussian(vec![1.0, 2.0]).eval(&[0.0, 0.0], &[1.0, 2.0]), (-1.0f64).exp());
    /// ```
    pub fn gaussian(width: impl Into<GaussianWidth>) -> Self {
        Gaussian { width: width.into() }.into()
    }
}

impl Gaussian {
    /// The factor of the statistic.
    pub(crate) fn gamma(&self) -> f64 {
        match &self.width {
            GaussianWidth::Gamma(gamma) => gamma.or_nan(),
            GaussianWidth::Length(length) => 0.5 / length.or_nan() / length.or_nan(),
            GaussianWidth::Lengths(_) => 0.5,
        }
    }
}

impl LeafKernel for Gaussian {
    const ENTRY: Entry = Entry {
        name: "gaussian",
        aliases: &["rbf", "squared_exponential"],
        formula: "exp(-gamma |x-y|^2)",
        psd: true,
        domain: Domain::All,
        about: "smooth structure at one width; a wide one is nearly linear PCA, a narrow one treats each point alone",
        parameters: &[
            DISTANCE_GAMMA,
            Parameter {
                name: OVER_SIGMA2,
                kind: ParameterKind::Number,
                default: "",
                constraint: "sigma2 > 0",
                holds: |v| v > 0.0 && (1.0 / v).is_finite(),
                range: WIDTHS,
                about: "sigma2 in exp(-|x-y|^2 / sigma2), in place of gamma",
            },
            Parameter {
                name: OVER_2SIGMA2,
                kind: ParameterKind::Number,
                default: "",
                constraint: "sigma2 > 0",
                holds: |v| v > 0.0 && (1.0 / v).is_finite(),
                range: WIDTHS,
                about: "sigma2 in exp(-|x-y|^2 / (2 sigma2)), in place of gamma",
            },
            Parameter {
                kind: ParameterKind::Lengths,
                default: "",
                holds: |v| v > 0.0 && (0.5 / v / v).is_finite() && 0.5 / v / v > 0.0,
                about: "length in exp(-|x-y|^2 / (2 length^2)), in place of gamma: a number, median, or one number per dimension as in [1, 2, 0.5]",
                ..LENGTH
            },
        ],
        build: |v| {
            let width = match v.one_of("width", &["gamma", OVER_SIGMA2, OVER_2SIGMA2, "length"])? {
                Some(OVER_SIGMA2) => Gamma::OverSigma2(v.number(OVER_SIGMA2)?).into(),
                Some(OVER_2SIGMA2) => Gamma::Over2Sigma2(v.number(OVER_2SIGMA2)?).into(),
                Some("length") => match v.list("length")? {
                    Some(lengths) => lengths.into(),
                    None => v.length("length")?.into(),
                },
                _ => v.gamma("gamma")?.into(),
            };
            Ok(Gaussian { width }.into())
        },
    };

    fn arguments(&self) -> Vec<(&'static str, Value)> {
        vec![match &self.width {
            GaussianWidth::Gamma(gamma) => gamma.argument(),
            GaussianWidth::Length(length) => length.argument(),
            GaussianWidth::Lengths(lengths) => ("length", Value::Numbers(lengths.clone())),
        }]
    }

    fn is_psd(&self) -> bool {
        true
    }

    fn resolve(&self, rules: &mut Rules<'_>) -> Result<Self> {
        let width = match &self.width {
            GaussianWidth::Gamma(gamma) => rules.gamma("gaussian", *gamma, Statistic::SquaredDistance)?.into(),
            GaussianWidth::Length(length) => rules.length("gaussian", *length)?.into(),
            GaussianWidth::Lengths(lengths) if lengths.len() == rules.d() => lengths.clone().into(),
            GaussianWidth::Lengths(lengths) => {
                let constraint = format!("{} numbers, one per dimension", rules.d());
                return Err(Error::parameter("gaussian", "length", format!("a list of {} numbers", lengths.len()), constraint));
            }
        };
        Ok(Gaussian { width })
    }

    fn statistic(&self) -> Statistic<'_> {
        match &self.width {
            GaussianWidth::Gamma(_) | GaussianWidth::Length(_) => Statistic::SquaredDistance,
            GaussianWidth::Lengths(lengths) => Statistic::ScaledDistance(lengths),
        }
    }

    fn value(&self, s: f64) -> f64 {
        exponential::value(self.gamma(), s)
    }

    fn origin(&self) -> f64 {
        1.0
    }

    fn deviation(&self, s: f64) -> f64 {
        exponential::deviation(self.gamma(), s)
    }

    fn derivative(&self, s: f64) -> f64 {
        exponential::derivative(self.gamma(), s)
    }

    fn slope(&self) -> Slope {
        Slope::At(self.gamma())
    }

    fn size(&self, _: usize, _: f64) -> Size {
        Size::OF_DISTANCE
    }

    fn formula(&self) -> Formula {
        exponential::formula(self.gamma())
    }

    fn ball(&self, x: &[Ball], y: &[Ball], less_origin: bool) -> Ball {
        exponential(
            match &self.width {
                GaussianWidth::Gamma(gamma) => gamma.times(squared_distance(x, y)),
                GaussianWidth::Length(length) => {
                    let length = Ball::from(length.or_nan());
                    squared_distance(x, y) / (length * length) / 2.0.into()
                }
                GaussianWidth::Lengths(lengths) => {
                    let gaps = x.iter().zip(y).zip(lengths).map(|((a, b), l)| gap(*a, *b) / (*l).into());
                    gaps.fold(Ball::from(0.0), |sum, gap| sum + gap * gap) / 2.0.into()
                }
            },
            less_origin,
        )
    }

    #[inline(always)]
    fn vectors<S: Simd, T: Real>(&self, simd: S, deviation: bool) -> impl Fn(Four<S, T>) -> Four<S, T> {
        exponential::vectors::<S, T>(simd, self.gamma(), deviation)
    }
}
