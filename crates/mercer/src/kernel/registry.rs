//! The one table of kernels: names, parameters, defaults, domains, formulas. Every front and every page reads it.

use serde::Serialize;

use super::{Gamma, Kernel, Length, Nu};
use crate::error::{Error, ErrorKind, Result, nearest};
use crate::real::shortest;

/// One kernel of the table.
#[derive(Debug)]
pub struct Entry {
    /// The name it is printed with.
    pub name: &'static str,
    /// Other names it is known by.
    pub aliases: &'static [&'static str],
    /// Its formula.
    pub formula: &'static str,
    /// Whether all its Gram matrices are positive semi-definite; a constraint is stated in `about`.
    pub psd: bool,
    /// When to reach for it.
    pub about: &'static str,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    build: fn(&Values<'_>) -> Result<Kernel>,
}

/// One parameter of a kernel.
#[derive(Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What may stand for it besides a number.
    pub kind: ParameterKind,
    /// Its value when none is given, as text; empty when another parameter takes its place.
    pub default: &'static str,
    /// What a number must satisfy, besides being finite.
    pub constraint: &'static str,
    /// Whether a number satisfies it.
    pub holds: fn(f64) -> bool,
    /// The values that are worth trying, for sliders.
    pub range: Range,
    /// What it does.
    pub about: &'static str,
}

/// The values of a parameter that are worth trying.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Range {
    /// From what its rule finds, divided by the factor, to that times the factor, in equal ratios.
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
        /// As they are written.
        choices: &'static [&'static str],
    },
}

/// Widths are worth trying far to both sides of what the data suggests: at the ends every kernel is linear, or sees each
/// point alone.
const WIDTHS: Range = Range::Around { factor: 256.0 };

/// What may stand for a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// A number.
    Number,
    /// A whole number, at least 1.
    Whole,
    /// A number, `median`, `scale` or `1/d`.
    Gamma,
    /// A number, `scale` or `1/d` (a median of dot products means nothing).
    DotGamma,
    /// A number or `median`.
    Length,
    /// `1/2`, `3/2` or `5/2`.
    Nu,
}

const OVER_SIGMA2: &str = "over_sigma2";
const OVER_2SIGMA2: &str = "over_2sigma2";

const DISTANCE_GAMMA: Parameter = Parameter {
    name: "gamma",
    kind: ParameterKind::Gamma,
    default: "median",
    constraint: "gamma > 0",
    holds: |v| v > 0.0,
    range: WIDTHS,
    about: "one over the width: a number, median (1 over the median statistic), scale (1/(d variance)) or 1/d",
};
const DOT_GAMMA: Parameter = Parameter {
    name: "gamma",
    kind: ParameterKind::DotGamma,
    default: "1",
    constraint: "gamma > 0",
    holds: |v| v > 0.0,
    range: WIDTHS,
    about: "factor of x.y: a number, scale (1/(d variance)) or 1/d",
};
const LENGTH: Parameter = Parameter {
    name: "length",
    kind: ParameterKind::Length,
    default: "median",
    constraint: "length > 0",
    holds: |v| v > 0.0,
    range: WIDTHS,
    about: "width in the units of the data: a number, or median (the median distance)",
};

/// All kernels, in the order in which they are shown.
pub const KERNELS: &[Entry] = &[
    Entry {
        name: "linear",
        aliases: &[],
        formula: "x.y",
        psd: true,
        about: "ordinary PCA seen from the Gram matrix",
        parameters: &[],
        build: |_| Ok(Kernel::Linear),
    },
    Entry {
        name: "polynomial",
        aliases: &["poly"],
        formula: "(gamma x.y + coef0)^degree",
        psd: true,
        about: "products of up to `degree` coordinates; of exactly `degree` when coef0 = 0; coef0 < 0 is not positive semi-definite",
        parameters: &[
            DOT_GAMMA,
            Parameter {
                name: "coef0",
                kind: ParameterKind::Number,
                default: "0",
                constraint: "any coef0",
                holds: |_| true,
                range: Range::Steps { low: 0.0, high: 5.0, step: 0.1 },
                about: "constant that mixes in lower degrees",
            },
            Parameter {
                name: "degree",
                kind: ParameterKind::Whole,
                default: "2",
                constraint: "degree a whole number, 1 or more",
                holds: |v| v >= 1.0,
                range: Range::Steps { low: 1.0, high: 10.0, step: 1.0 },
                about: "how many coordinates are multiplied",
            },
        ],
        build: |v| {
            let (gamma, coef0, degree) = (v.gamma("gamma")?, v.number("coef0")?, v.whole("degree")?);
            Ok(Kernel::Polynomial { gamma, coef0, degree })
        },
    },
    Entry {
        name: "gaussian",
        aliases: &["rbf", "squared_exponential"],
        formula: "exp(-gamma |x-y|^2)",
        psd: true,
        about: "smooth structure at one width; wide is nearly linear, narrow sees each point alone",
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
        ],
        build: |v| {
            let given: Vec<&str> =
                ["gamma", OVER_SIGMA2, OVER_2SIGMA2].into_iter().filter(|name| v.given(name).is_some()).collect();
            if given.len() > 1 {
                return Err(Error::parameter("gaussian", "width", given.join(" and "), "one of them alone"));
            }
            Ok(Kernel::Gaussian {
                gamma: match given.first().copied() {
                    Some(OVER_SIGMA2) => Gamma::OverSigma2(v.number(OVER_SIGMA2)?),
                    Some(OVER_2SIGMA2) => Gamma::Over2Sigma2(v.number(OVER_2SIGMA2)?),
                    _ => v.gamma("gamma")?,
                },
            })
        },
    },
    Entry {
        name: "laplacian",
        aliases: &[],
        formula: "exp(-gamma |x-y|_1)",
        psd: true,
        about: "like the Gaussian with heavier tails and sharp peaks; distances add over coordinates",
        parameters: &[DISTANCE_GAMMA],
        build: |v| Ok(Kernel::Laplacian { gamma: v.gamma("gamma")? }),
    },
    Entry {
        name: "matern",
        aliases: &[],
        formula: "p(a) exp(-a), a = sqrt(2 nu) |x-y| / length, p = 1 | 1 + a | 1 + a + a^2/3",
        psd: true,
        about: "between exp(-r) (nu = 1/2) and the Gaussian in smoothness",
        parameters: &[
            Parameter {
                name: "nu",
                kind: ParameterKind::Nu,
                default: "3/2",
                constraint: "nu one of 1/2, 3/2, 5/2",
                holds: |_| true,
                range: Range::Choices { choices: &["1/2", "3/2", "5/2"] },
                about: "smoothness",
            },
            LENGTH,
        ],
        build: |v| Ok(Kernel::Matern { nu: v.nu("nu")?, length: v.length("length")? }),
    },
    Entry {
        name: "rational_quadratic",
        aliases: &["rq"],
        formula: "(1 + |x-y|^2 / (2 alpha length^2))^-alpha",
        psd: true,
        about: "a mixture of Gaussians of many widths",
        parameters: &[
            Parameter {
                name: "alpha",
                kind: ParameterKind::Number,
                default: "1",
                constraint: "alpha > 0",
                holds: |v| v > 0.0,
                range: Range::Ratios { low: 0.01, high: 100.0 },
                about: "spread of the widths; large is one Gaussian",
            },
            LENGTH,
        ],
        build: |v| Ok(Kernel::RationalQuadratic { alpha: v.number("alpha")?, length: v.length("length")? }),
    },
    Entry {
        name: "sigmoid",
        aliases: &["tanh"],
        formula: "tanh(gamma x.y + coef0)",
        psd: false,
        about: "not a Mercer kernel in general: its negative mass is reported",
        parameters: &[
            Parameter { default: "1/d", ..DOT_GAMMA },
            Parameter {
                name: "coef0",
                kind: ParameterKind::Number,
                default: "1",
                constraint: "any coef0",
                holds: |_| true,
                range: Range::Steps { low: -3.0, high: 3.0, step: 0.05 },
                about: "shift inside tanh",
            },
        ],
        build: |v| Ok(Kernel::Sigmoid { gamma: v.gamma("gamma")?, coef0: v.number("coef0")? }),
    },
    Entry {
        name: "cosine",
        aliases: &[],
        formula: "x.y / (|x| |y|)",
        psd: true,
        about: "directions only, for text and spectra; 0 for the zero vector",
        parameters: &[],
        build: |_| Ok(Kernel::Cosine),
    },
];

/// The entry with this name or alias.
///
/// # Errors
/// Suggests the nearest known name.
pub fn entry(name: &str) -> Result<&'static Entry> {
    let lower = name.to_lowercase().replace('-', "_");
    KERNELS.iter().find(|e| e.name == lower || e.aliases.contains(&lower.as_str())).ok_or_else(|| {
        let all = KERNELS.iter().flat_map(|e| std::iter::once(e.name).chain(e.aliases.iter().copied()));
        ErrorKind::UnknownName {
            what: "kernel".into(),
            name: name.into(),
            nearest: nearest(name, all),
            known: KERNELS.iter().map(|e| e.name.to_string()).collect(),
        }
        .into()
    })
}

/// The kernel called `name` with `arguments` as written; what is not given takes its default.
pub(crate) fn build(name: &str, arguments: &[(String, String)]) -> Result<Kernel> {
    let entry = entry(name)?;
    for (at, (given, _)) in arguments.iter().enumerate() {
        if arguments[..at].iter().any(|(earlier, _)| earlier == given) {
            return Err(Error::parameter(entry.name, given, "given twice", "one value"));
        }
        if !entry.parameters.iter().any(|p| p.name == given) {
            return Err(unknown_parameter(entry, given));
        }
    }
    let kernel = (entry.build)(&Values { entry, arguments })?;
    kernel.validate()?;
    Ok(kernel)
}

fn unknown_parameter(entry: &Entry, name: &str) -> Error {
    if name.starts_with("sigma") && entry.name == "gaussian" {
        let constraint = format!(
            "a width whose meaning is plain: {OVER_SIGMA2}=S for exp(-d2/S), {OVER_2SIGMA2}=S for exp(-d2/(2 S)), or gamma"
        );
        return Error::parameter(entry.name, "width", name, constraint);
    }
    ErrorKind::UnknownName {
        what: format!("parameter of {}", entry.name),
        name: name.into(),
        nearest: nearest(name, entry.parameters.iter().map(|p| p.name)),
        known: match entry.parameters {
            [] => vec![format!("{} takes none", entry.name)],
            some => some.iter().map(|p| p.name.to_string()).collect(),
        },
    }
    .into()
}

/// Arguments as written, read by the parameters of an entry.
struct Values<'a> {
    entry: &'static Entry,
    arguments: &'a [(String, String)],
}

impl Values<'_> {
    fn given(&self, name: &str) -> Option<&str> {
        self.arguments.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    fn parameter(&self, name: &str) -> &'static Parameter {
        self.entry.parameters.iter().find(|p| p.name == name).expect("entries build from their own parameters")
    }

    fn text(&self, name: &str) -> &str {
        self.given(name).unwrap_or(self.parameter(name).default)
    }

    fn refuse<T>(&self, name: &str, also: &str) -> Result<T> {
        let constraint = format!("{}{also}", self.parameter(name).constraint);
        Err(Error::parameter(self.entry.name, name, self.text(name), constraint))
    }

    fn number(&self, name: &str) -> Result<f64> {
        match self.text(name).parse() {
            Ok(v) => Ok(v),
            Err(_) => self.refuse(name, ""),
        }
    }

    fn whole(&self, name: &str) -> Result<u32> {
        match self.text(name).parse() {
            Ok(v) => Ok(v),
            Err(_) => self.refuse(name, ""),
        }
    }

    fn gamma(&self, name: &str) -> Result<Gamma> {
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

    fn length(&self, name: &str) -> Result<Length> {
        match self.text(name) {
            "median" => Ok(Length::Median),
            number => match number.parse() {
                Ok(v) => Ok(Length::Value(v)),
                Err(_) => self.refuse(name, ", or median"),
            },
        }
    }

    fn nu(&self, name: &str) -> Result<Nu> {
        match self.text(name) {
            "1/2" | "0.5" => Ok(Nu::Half),
            "3/2" | "1.5" => Ok(Nu::ThreeHalves),
            "5/2" | "2.5" => Ok(Nu::FiveHalves),
            _ => self.refuse(name, ""),
        }
    }
}

/// Name and arguments of a leaf, as text that [`build`] reads back.
pub(crate) fn spell(leaf: &Kernel) -> (&'static str, Vec<(&'static str, String)>) {
    let gamma = |g: Gamma| match g {
        Gamma::Value(v) => ("gamma", shortest(v)),
        Gamma::OverSigma2(v) => (OVER_SIGMA2, shortest(v)),
        Gamma::Over2Sigma2(v) => (OVER_2SIGMA2, shortest(v)),
        Gamma::Median => ("gamma", "median".into()),
        Gamma::Scale => ("gamma", "scale".into()),
        Gamma::PerDimension => ("gamma", "1/d".into()),
    };
    let length = |l: Length| match l {
        Length::Value(v) => ("length", shortest(v)),
        Length::Median => ("length", "median".into()),
    };
    match *leaf {
        Kernel::Linear => ("linear", vec![]),
        Kernel::Cosine => ("cosine", vec![]),
        Kernel::Gaussian { gamma: g } => ("gaussian", vec![gamma(g)]),
        Kernel::Laplacian { gamma: g } => ("laplacian", vec![gamma(g)]),
        Kernel::Polynomial { gamma: g, coef0, degree } => {
            ("polynomial", vec![gamma(g), ("coef0", shortest(coef0)), ("degree", degree.to_string())])
        }
        Kernel::Sigmoid { gamma: g, coef0 } => ("sigmoid", vec![gamma(g), ("coef0", shortest(coef0))]),
        Kernel::RationalQuadratic { alpha, length: l } => {
            ("rational_quadratic", vec![("alpha", shortest(alpha)), length(l)])
        }
        Kernel::Matern { nu, length: l } => {
            let nu = match nu {
                Nu::Half => "1/2",
                Nu::ThreeHalves => "3/2",
                Nu::FiveHalves => "5/2",
            };
            ("matern", vec![("nu", nu.into()), length(l)])
        }
        Kernel::Sum(_) | Kernel::Product(_) | Kernel::Scaled(..) | Kernel::Normalised(_) => {
            unreachable!("composites are spelled by expr.rs")
        }
    }
}

/// Refuses what the parameters of a leaf may not be: its spelling is held against the table.
pub(crate) fn validate(leaf: &Kernel) -> Result<()> {
    let (name, arguments) = spell(leaf);
    let entry = entry(name)?;
    for (given, text) in arguments {
        let Some(parameter) = entry.parameters.iter().find(|p| p.name == given) else {
            return Err(unknown_parameter(entry, given));
        };
        if parameter.kind == ParameterKind::DotGamma && text == "median" {
            return Err(Error::parameter(name, given, text, "a number, scale or 1/d"));
        }
        // What is no number is a rule, which the parser knows.
        match text.parse::<f64>() {
            Ok(v) if !(v.is_finite() && (parameter.holds)(v)) => {
                return Err(Error::parameter(name, given, text, format!("{} and finite", parameter.constraint)));
            }
            _ => {}
        }
    }
    Ok(())
}
