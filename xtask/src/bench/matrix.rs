//! `cargo xtask bench --matrix`: everyday jobs through Python, beside scikit-learn; `--compare COMMIT`: beside an earlier
//! mercer. benchmarks/matrix has the jobs and what measures them.

use std::fs;
use std::process::Command;

use super::cases::benchmarks;
use super::machine;
use super::workshop::{Workshop, said, told};
use crate::root;

/// Where the table of the README stands.
const BEGIN: &str = "<!-- cargo xtask bench --matrix writes from here -->";
const END: &str = "<!-- to here -->";

/// Measures, and records a whole matrix.
pub(crate) fn run(only: &[String], compare: Option<&str>) -> Result<(), String> {
    let workshop = Workshop::of_python(true)?;
    let script = benchmarks().join("matrix/matrix.py");
    let mut command = Command::new(workshop.python());
    command.arg(script).env("PYTHONDONTWRITEBYTECODE", "1");
    command.args(only.iter().flat_map(|text| ["--only", text]));
    if let Some(revision) = compare {
        return told(command.arg("--against").arg(workshop.package_of(revision)?));
    }
    if !only.is_empty() {
        return told(&mut command);
    }
    let date = said(Command::new("date").args(["-u", "+%F"]))?;
    let record = benchmarks().join("record").join(format!("{date}-matrix"));
    let (json, text) = (record.with_extension("json"), record.with_extension("md"));
    let machine = format!("{}, {date}", machine::processor());
    told(command.arg("--machine").arg(machine).arg("--record").arg(&json).arg("--text").arg(&text))?;
    let text = fs::read_to_string(&text).map_err(|e| e.to_string())?;
    let short = text.split_once("\n## All jobs").map_or(text.as_str(), |(short, _)| short);
    write_readme(short.split_once('\n').map_or("", |(_, body)| body).trim())
}

/// Puts a table into the README, between two marks.
fn write_readme(table: &str) -> Result<(), String> {
    let path = root().join("README.md");
    let text = fs::read_to_string(&path).map_err(|e| e.to_string())?;
    let (before, rest) = text.split_once(BEGIN).ok_or(format!("README.md has no {BEGIN}"))?;
    let (_, after) = rest.split_once(END).ok_or(format!("README.md has no {END}"))?;
    fs::write(path, format!("{before}{BEGIN}\n{table}\n{END}{after}")).map_err(|e| e.to_string())
}
