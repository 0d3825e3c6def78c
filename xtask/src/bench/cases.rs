//! The definitions: cases and engines, as benchmarks/cases.toml and benchmarks/engines/engines.toml have them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::root;
use serde::{Deserialize, Serialize};

/// What is measured; the fields are explained in cases.toml.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) task: Task,
    #[serde(default)]
    pub(crate) size: Size,
    #[serde(default)]
    pub(crate) n: usize,
    #[serde(default)]
    pub(crate) d: usize,
    #[serde(default)]
    pub(crate) m: usize,
    pub(crate) k: usize,
    #[serde(default)]
    pub(crate) narrow: bool,
    #[serde(default)]
    pub(crate) data: String,
    #[serde(default = "default_tolerance")]
    pub(crate) tolerance: f64,
    #[serde(default = "default_residual")]
    pub(crate) residual: f64,
    #[serde(default = "default_limit")]
    pub(crate) limit: f64,
    pub(crate) reference: Option<String>,
    #[serde(default)]
    pub(crate) expected: Vec<f64>,
    pub(crate) engines: Vec<String>,
}

fn default_tolerance() -> f64 {
    1e-8
}

fn default_residual() -> f64 {
    1e-6
}

fn default_limit() -> f64 {
    300.0
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Task {
    KpcaFit,
    KpcaTransform,
    KpcaPass,
    PcaFit,
    Command,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Size {
    Small,
    #[default]
    Normal,
    Huge,
}

/// A program that does what a case asks for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Engine {
    pub(crate) kind: Kind,
    pub(crate) run: Vec<String>,
    #[serde(default)]
    pub(crate) solver: String,
    /// The crate whose version is recorded.
    pub(crate) package: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub(crate) enum Kind {
    #[serde(rename = "mercer")]
    Mercer,
    #[serde(rename = "mercer from Python")]
    Python,
    #[serde(rename = "scikit-learn")]
    ScikitLearn,
    #[serde(rename = "by hand")]
    ByHand,
    #[serde(rename = "rust")]
    Rust,
}

pub(crate) struct Definitions {
    pub(crate) cases: Vec<Case>,
    pub(crate) engines: BTreeMap<String, Engine>,
}

impl Definitions {
    pub(crate) fn read() -> Result<Self, String> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Cases {
            case: Vec<Case>,
        }
        let Cases { case: cases } = read_toml(&benchmarks().join("cases.toml"))?;
        let engines: BTreeMap<String, Engine> = read_toml(&benchmarks().join("engines/engines.toml"))?;
        for case in &cases {
            if let Some(name) = case.engines.iter().find(|name| !engines.contains_key(*name)) {
                return Err(format!("cases.toml: {}: there is no engine {name}", case.name));
            }
            if let Some(name) = case.reference.iter().find(|name| !case.engines.contains(name)) {
                return Err(format!("cases.toml: {}: the reference {name} is none of its engines", case.name));
            }
        }
        Ok(Definitions { cases, engines })
    }

    /// Whether one of these cases has an engine of this kind.
    pub(crate) fn need(&self, kind: Kind, cases: &[&Case]) -> bool {
        cases.iter().flat_map(|case| &case.engines).any(|name| self.engines[name].kind == kind)
    }
}

/// The folder of the benchmarks.
pub(crate) fn benchmarks() -> PathBuf {
    root().join("benchmarks")
}

pub(crate) fn read_toml<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<T, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    toml::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_hold_together() {
        let definitions = Definitions::read().expect("definitions");
        for case in &definitions.cases {
            let ours = case.engines.iter().filter(|name| definitions.engines[*name].kind == Kind::Mercer).count();
            assert_eq!(ours, 1, "{}: mercer takes part once", case.name);
            assert!(case.expected.is_empty() || case.expected.len() == case.k, "{}", case.name);
            assert!(case.task == Task::Command || case.n * case.d > 0, "{}", case.name);
            assert!((case.task == Task::KpcaTransform) == (case.m > 0), "{}", case.name);
        }
    }
}
