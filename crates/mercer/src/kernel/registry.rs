//! The table of kernels, by name. All fronts and documents are made from it or tested against it.

pub use super::kernels::KERNELS;
pub use super::parameter::{Domain, Entry, Parameter, ParameterKind, Range, Value};

use super::kernels::Leaf;
use super::parameter::{Arguments, OVER_2SIGMA2, OVER_SIGMA2};
use crate::error::{Error, ErrorKind, Result, nearest};

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

/// The kernel called `name` with the `given` arguments as text, and defaults for the others.
pub(crate) fn build(name: &str, given: &[(String, String)]) -> Result<Leaf> {
    let entry = entry(name)?;
    for (at, (parameter, _)) in given.iter().enumerate() {
        if given[..at].iter().any(|(earlier, _)| earlier == parameter) {
            return Err(Error::parameter(entry.name, parameter, "given twice", "one value"));
        }
        if !entry.parameters.iter().any(|p| p.name == parameter) {
            return Err(unknown_parameter(entry, parameter));
        }
    }
    (entry.build)(&Arguments { entry, given })
}

fn unknown_parameter(entry: &Entry, name: &str) -> Error {
    if name.starts_with("sigma") && entry.name == "gaussian" {
        let what = format!(
            "gaussian: {name} has two meanings; use {OVER_SIGMA2}=S for exp(-d2/S), {OVER_2SIGMA2}=S for exp(-d2/(2 S)), or gamma"
        );
        return ErrorKind::Unsupported { what, remedy: "as in gaussian(over_sigma2=2)".into() }.into();
    }
    ErrorKind::UnknownName {
        what: format!("parameter of {}", entry.name),
        name: name.into(),
        nearest: nearest(name, entry.parameters.iter().map(|p| p.name)),
        known: match entry.parameters {
            [] => vec![format!("none: {} has no parameters", entry.name)],
            some => some.iter().map(|p| p.name.to_string()).collect(),
        },
    }
    .into()
}

/// Refuses parameters outside their domains.
pub(crate) fn validate(leaf: &Leaf) -> Result<()> {
    let entry = leaf.entry();
    for (name, value) in leaf.arguments() {
        let Some(parameter) = entry.parameters.iter().find(|p| p.name == name) else {
            return Err(unknown_parameter(entry, name));
        };
        let numbers = match &value {
            Value::Number(v) => std::slice::from_ref(v),
            Value::Numbers(vs) => vs.as_slice(),
            Value::Rule("median") if parameter.kind == ParameterKind::DotGamma => {
                return Err(Error::parameter(entry.name, name, value, "a number, scale or 1/d"));
            }
            Value::Rule(_) | Value::Word(_) => &[],
        };
        if numbers.iter().any(|v| !(v.is_finite() && (parameter.holds)(*v))) {
            return Err(Error::parameter(entry.name, name, value, format!("{} and finite", parameter.constraint)));
        }
        if value == Value::Numbers(Vec::new()) {
            return Err(Error::parameter(entry.name, name, value, "at least one number"));
        }
    }
    Ok(())
}
