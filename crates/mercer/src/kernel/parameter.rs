//! Parameters of kernels: numbers, and rules that find numbers from the data.

use std::fmt;

use serde::Serialize;

use super::kernels::Leaf;
use crate::ball::Ball;
use crate::error::{Error, ErrorKind, Result};
use crate::real::shortest;

/// The factor gamma of a kernel, or the rule that finds it from the data.
///
/// ```
/// use mercer::{Gamma, Kernel};
/// assert_eq!(Gamma::Over2Sigma2(4.0).number(), Some(0.125));
/// assert_eq!(Gamma::Median.number(), None); // found when the kernel is bound to points
/// assert_eq!(Kernel::gaussian(Gamma::Value(0.5)).to_string(), "gaussian(gamma=0.5)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Gamma {
    /// This number.
    Value(f64),
    /// sigma2 in exp(-d2 / sigma2): gamma = 1 / sigma2.
    OverSigma2(f64),
    /// sigma2 in exp(-d2 / (2 sigma2)): gamma = 1 / (2 sigma2).
    Over2Sigma2(f64),
    /// One over the median of the kernel's statistic, such as |x-y|^2, over pairs of points.
    Median,
    /// 1 / (d v), v the variance of all values together (scikit-learn's `scale`).
    Scale,
    /// 1 / d, d the number of dimensions (scikit-learn's default).
    PerDimension,
}

/// A width in the units of the points, or the rule that finds it from the data.
///
/// ```
/// use mercer::Length;
/// assert_eq!((Length::Value(2.0).number(), Length::Median.number()), (Some(2.0), None));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Length {
    /// This number.
    Value(f64),
    /// The median distance between points.
    Median,
}

pub(super) const OVER_SIGMA2: &str = "over_sigma2";
pub(super) const OVER_2SIGMA2: &str = "over_2sigma2";

impl Gamma {
    /// gamma s; NaN for a rule.
    pub(crate) fn times(self, s: Ball) -> Ball {
        match self {
            Gamma::OverSigma2(v) => s / v.into(),
            Gamma::Over2Sigma2(v) => s / Ball::from(v) / 2.0.into(),
            Gamma::Value(_) | Gamma::Median | Gamma::Scale | Gamma::PerDimension => s * self.or_nan().into(),
        }
    }

    /// The number, unless a rule has still to find it.
    pub fn number(self) -> Option<f64> {
        match self {
            Gamma::Value(g) => Some(g),
            Gamma::OverSigma2(s) => Some(1.0 / s),
            Gamma::Over2Sigma2(s) => Some(0.5 / s),
            Gamma::Median | Gamma::Scale | Gamma::PerDimension => None,
        }
    }

    /// The number, NaN where a rule has still to find it.
    pub(super) fn or_nan(self) -> f64 {
        self.number().unwrap_or(f64::NAN)
    }

    pub(super) fn argument(self) -> (&'static str, Value) {
        match self {
            Gamma::Value(v) => ("gamma", Value::Number(v)),
            Gamma::OverSigma2(v) => (OVER_SIGMA2, Value::Number(v)),
            Gamma::Over2Sigma2(v) => (OVER_2SIGMA2, Value::Number(v)),
            Gamma::Median => ("gamma", Value::Rule("median")),
            Gamma::Scale => ("gamma", Value::Rule("scale")),
            Gamma::PerDimension => ("gamma", Value::Rule("1/d")),
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

    /// The number, NaN where a rule has still to find it.
    pub(super) fn or_nan(self) -> f64 {
        self.number().unwrap_or(f64::NAN)
    }

    pub(super) fn argument(self) -> (&'static str, Value) {
        let value = match self {
            Length::Value(v) => Value::Number(v),
            Length::Median => Value::Rule("median"),
        };
        ("length", value)
    }
}

/// The value of a kernel's parameter. `Display` is its text in a kernel expression.
///
/// ```
/// use mercer::kernel::registry::Value;
/// assert_eq!(Value::Numbers(vec![1.0, 0.5]).to_string(), "[1, 0.5]");
/// assert_eq!(Value::Rule("median").number(), None);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// A number.
    Number(f64),
    /// A number per dimension.
    Numbers(Vec<f64>),
    /// One of a few words that are not rules, such as the smoothness `3/2`.
    Word(&'static str),
    /// A rule that finds the number from the data, such as `median`.
    Rule(&'static str),
}

impl Value {
    /// The number, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Number(v) => Some(*v),
            Value::Numbers(_) | Value::Word(_) | Value::Rule(_) => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(v) => f.write_str(&shortest(*v)),
            Value::Numbers(vs) => write!(f, "[{}]", vs.iter().map(|v| shortest(*v)).collect::<Vec<_>>().join(", ")),
            Value::Word(text) | Value::Rule(text) => f.write_str(text),
        }
    }
}

/// One line of the table of kernels.
///
/// ```
/// use mercer::kernel::registry;
/// let entry = registry::entry("rbf")?;
/// assert_eq!((entry.name, entry.formula), ("gaussian", "exp(-gamma |x-y|^2)"));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Entry {
    /// The name it is printed with.
    pub name: &'static str,
    /// Its other names.
    pub aliases: &'static [&'static str],
    /// Its formula.
    pub formula: &'static str,
    /// Whether all its Gram matrices are positive semi-definite; a constraint is stated in `about`.
    pub psd: bool,
    /// The points that it is defined for.
    pub domain: Domain,
    /// When to use it.
    pub about: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    pub(super) build: fn(&Arguments<'_>) -> Result<Leaf>,
}

/// The points that a kernel is defined for.
///
/// ```
/// use mercer::kernel::{Domain, registry};
/// assert_eq!(registry::entry("chi2")?.domain, Domain::NonNegative);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Domain {
    /// All points.
    All,
    /// Points without negative values: histograms.
    NonNegative,
}

/// One parameter of a kernel.
///
/// ```
/// use mercer::kernel::registry;
/// let gamma = &registry::entry("gaussian")?.parameters[0];
/// assert_eq!((gamma.name, gamma.default, gamma.constraint), ("gamma", "median", "gamma > 0"));
/// assert!(!(gamma.holds)(-1.0));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// The kind of its value.
    pub kind: ParameterKind,
    /// Its default as text; empty for another way to write a parameter that has a default.
    pub default: &'static str,
    /// The condition on a number, besides being finite.
    pub constraint: &'static str,
    /// Returns whether a number satisfies the condition.
    pub holds: fn(f64) -> bool,
    /// The values that are worth trying, for sliders.
    pub range: Range,
    /// Its effect.
    pub about: &'static str,
}

/// The values of a parameter that are worth trying.
///
/// ```
/// use mercer::kernel::registry;
/// use mercer::kernel::registry::Range;
/// let range = registry::entry("gaussian")?.parameters[0].range;
/// assert!(matches!(range, Range::Around { factor } if factor > 1.0)); // around the median
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Range {
    /// From the automatic value divided by the factor to the automatic value times the factor, in equal ratios.
    Around {
        /// The factor.
        factor: f64,
    },
    /// From low to high, in equal ratios.
    Ratios {
        /// The smallest.
        low: f64,
        /// The largest.
        high: f64,
    },
    /// From low to high, in equal steps.
    Steps {
        /// The smallest.
        low: f64,
        /// The largest.
        high: f64,
        /// The step.
        step: f64,
    },
    /// One of these.
    Choices {
        /// The words.
        choices: &'static [&'static str],
    },
}

/// The range of a width extends far to both sides of the automatic value. At one end every kernel is nearly linear, at the
/// other every point is far from all others.
pub(super) const WIDTHS: Range = Range::Around { factor: 256.0 };

/// The kind of value of a parameter.
///
/// ```
/// use mercer::kernel::registry;
/// use mercer::kernel::registry::ParameterKind;
/// let degree = registry::entry("polynomial")?.parameters.iter().find(|p| p.name == "degree");
/// assert_eq!(degree.map(|p| p.kind), Some(ParameterKind::Whole));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParameterKind {
    /// A number.
    Number,
    /// A whole number, at least 1.
    Whole,
    /// A number, `median`, `scale` or `1/d`.
    Gamma,
    /// A number, `scale` or `1/d`; not `median`, since a median of dot products is not a scale.
    DotGamma,
    /// A number or `median`.
    Length,
    /// A number, `median`, or a list of numbers, one per dimension.
    Lengths,
    /// One of a few words.
    Choice,
}

impl ParameterKind {
    /// The rule that finds a value of the right size from the data.
    pub(crate) fn rule(self) -> Option<&'static str> {
        match self {
            ParameterKind::Gamma | ParameterKind::Length | ParameterKind::Lengths => Some("median"),
            ParameterKind::DotGamma => Some("scale"),
            ParameterKind::Number | ParameterKind::Whole | ParameterKind::Choice => None,
        }
    }
}

pub(super) const DISTANCE_GAMMA: Parameter = Parameter {
    name: "gamma",
    kind: ParameterKind::Gamma,
    default: "median",
    constraint: "gamma > 0",
    holds: |v| v > 0.0,
    range: WIDTHS,
    about: "1 over the width: a number, median (1 over the median distance that the formula has), scale (1/(d variance)) or 1/d",
};
pub(super) const DOT_GAMMA: Parameter = Parameter {
    name: "gamma",
    kind: ParameterKind::DotGamma,
    default: "1",
    constraint: "gamma > 0",
    holds: |v| v > 0.0,
    range: WIDTHS,
    about: "factor of x.y: a number, scale (1/(d variance)) or 1/d",
};
pub(super) const LENGTH: Parameter = Parameter {
    name: "length",
    kind: ParameterKind::Length,
    default: "median",
    constraint: "length > 0",
    holds: |v| v > 0.0,
    range: WIDTHS,
    about: "width in the units of the data: a number, or median (the median distance)",
};

/// Arguments as written, read by the parameters of an entry.
pub(super) struct Arguments<'a> {
    pub(super) entry: &'static Entry,
    pub(super) given: &'a [(String, String)],
}

impl Arguments<'_> {
    /// Of these parameters, which are alternatives, the one that is given.
    ///
    /// # Errors
    /// When more than one is.
    pub(super) fn one_of(&self, what: &str, names: &[&'static str]) -> Result<Option<&'static str>> {
        let given: Vec<&'static str> = names.iter().copied().filter(|name| self.find(name).is_some()).collect();
        match given[..] {
            [] => Ok(None),
            [one] => Ok(Some(one)),
            _ => {
                let what =
                    format!("{}: {} are both given, and each is the {what}", self.entry.name, given.join(" and "));
                Err(ErrorKind::Unsupported { what, remedy: "give one of them".into() }.into())
            }
        }
    }

    fn find(&self, name: &str) -> Option<&str> {
        self.given.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    fn parameter(&self, name: &str) -> &'static Parameter {
        self.entry.parameters.iter().find(|p| p.name == name).expect("entries build from their own parameters")
    }

    fn text(&self, name: &str) -> &str {
        self.find(name).unwrap_or(self.parameter(name).default)
    }

    fn refuse<T>(&self, name: &str, also: &str) -> Result<T> {
        let constraint = format!("{}{also}", self.parameter(name).constraint);
        Err(Error::parameter(self.entry.name, name, self.text(name), constraint))
    }

    pub(super) fn number(&self, name: &str) -> Result<f64> {
        self.text(name).parse().or_else(|_| self.refuse(name, ""))
    }

    pub(super) fn whole(&self, name: &str) -> Result<u32> {
        self.text(name).parse().or_else(|_| self.refuse(name, ""))
    }

    pub(super) fn gamma(&self, name: &str) -> Result<Gamma> {
        let dot = self.parameter(name).kind == ParameterKind::DotGamma;
        match self.text(name) {
            "median" if !dot => Ok(Gamma::Median),
            "scale" => Ok(Gamma::Scale),
            "1/d" | "1/p" => Ok(Gamma::PerDimension),
            number => match number.parse() {
                Ok(v) => Ok(Gamma::Value(v)),
                Err(_) if dot => self.refuse(name, ", or one of scale, 1/d"),
                Err(_) => self.refuse(name, ", or one of median, scale, 1/d"),
            },
        }
    }

    pub(super) fn length(&self, name: &str) -> Result<Length> {
        match self.text(name) {
            "median" => Ok(Length::Median),
            number => match number.parse() {
                Ok(v) => Ok(Length::Value(v)),
                Err(_) => self.refuse(name, ", or median"),
            },
        }
    }

    /// A list in brackets, if the value is one.
    pub(super) fn list(&self, name: &str) -> Result<Option<Vec<f64>>> {
        let Some(inner) = self.text(name).strip_prefix('[') else { return Ok(None) };
        let numbers = inner.strip_suffix(']').unwrap_or(inner).split(',').map(|v| v.trim().parse());
        match numbers.collect::<std::result::Result<Vec<f64>, _>>() {
            Ok(list) => Ok(Some(list)),
            Err(_) => self.refuse(name, ", a list being numbers as in [1, 2, 0.5]"),
        }
    }

    /// The index of the value among these words.
    pub(super) fn choice<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<T> {
        let text = self.text(name);
        words.iter().find(|(word, _)| *word == text).map_or_else(|| self.refuse(name, ""), |(_, v)| Ok(*v))
    }
}
