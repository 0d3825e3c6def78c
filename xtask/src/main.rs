//! `cargo xtask test`: every check there is. `cargo xtask bench`: every measurement. `cargo xtask certify`, `fuzz` and
//! `storm`: error bounds, damaged input and faults for as long as wanted. `cargo xtask docs`: the pages. Each sets up
//! whatever it needs.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod certify;
mod python;
mod web;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const USAGE: &str =
    "usage: cargo xtask test     every check: format, lints, tests, documentation, of Rust, the page, Python and Spark
       cargo xtask rust     those of Rust only
       cargo xtask web      those of the page only, in a browser
       cargo xtask page     builds the page from web/ into crates/mercer-serve/page
       cargo xtask python   those of the Python package only
       cargo xtask spark    those on a Spark cluster only, which need Java
       cargo xtask docs     the pages of the user guide, into target/python/docs
       cargo xtask fuzz     damaged input for all readers; --minutes N, --seed S, --target NAME, --input INDEX
       cargo xtask storm    signals, full disks, changing inputs and rival processes; --minutes N [10], --seed S [1]
       cargo xtask bench    every measurement (benchmarks/README.md); --only NAME, --quick, --huge; --matrix: everyday
                            jobs beside scikit-learn; --compare COMMIT: the same beside an earlier mercer
       cargo xtask certify  random problems against the error bounds; --minutes N [10], --seed S [1], --case K";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["test"] => rust().and_then(|()| web::test()).and_then(|()| python::test_all()),
        ["rust"] => rust(),
        ["web"] => web::test(),
        ["page"] => web::build(),
        ["python"] => python::test(),
        ["spark"] => python::spark(),
        ["docs"] => python::docs(),
        ["fuzz", ref options @ ..] => fuzz(options),
        ["storm", ref options @ ..] => storm(options),
        ["bench", ref options @ ..] => bench::run(options),
        ["certify", ref options @ ..] => certify::run(options),
        _ => Err(USAGE.to_string()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn rust() -> Result<(), String> {
    cargo("format", &["fmt", "--all", "--check"], &[])?;
    cargo("lints", &["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"], &[])?;
    // Unit and integration tests, examples, documentation examples, and the snippets of README and documents. The
    // extension module is tested from Python.
    cargo("tests", &["test", "--workspace", "--exclude", "mercer-py"], &[])?;
    let doc = ["doc", "--workspace", "--exclude", "mercer-py", "--no-deps", "--all-features"];
    cargo("documentation", &doc, &[("RUSTDOCFLAGS", "-D warnings")])
}

fn fuzz(options: &[&str]) -> Result<(), String> {
    cargo("fuzzer", &[&["run", "--package", "mercer-fuzz", "--"], options].concat(), &[])
}

/// Runs the storm of the command's tests for longer, and prints its counts.
fn storm(options: &[&str]) -> Result<(), String> {
    let (mut minutes, mut seed) = (10.0, 1u64);
    for pair in options.chunks(2) {
        let wrong = || format!("{}: not an option with its number\n{USAGE}", pair.join(" "));
        match *pair {
            ["--minutes", value] => minutes = value.parse().map_err(|_| wrong())?,
            ["--seed", value] => seed = value.parse().map_err(|_| wrong())?,
            _ => return Err(wrong()),
        }
    }
    let seconds = (60.0 * minutes) as u64;
    let words = ["test", "-p", "mercer-cli", "--test", "storm", "--", "--nocapture"];
    let environment = [("MERCER_STORM_SECONDS", seconds.to_string()), ("MERCER_STORM_SEED", seed.to_string())];
    cargo("storm", &words, &environment.each_ref().map(|(name, value)| (*name, value.as_str())))
}

fn cargo(what: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Result<(), String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    told(what, Command::new(cargo).args(arguments).envs(environment.iter().copied()))
}

/// Runs a command after saying so.
fn told(what: &str, command: &mut Command) -> Result<(), String> {
    let words: Vec<_> = std::iter::once(command.get_program()).chain(command.get_args()).collect();
    let name = Path::new(words[0]).file_name().unwrap_or(words[0]).to_string_lossy().into_owned();
    let rest: Vec<_> = words[1..].iter().map(|w| w.to_string_lossy()).collect();
    eprintln!("== {what}: {name} {}", rest.join(" "));
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{what}: failed with {status}")),
        Err(e) => Err(format!("{what}: {name} cannot be started: {e}")),
    }
}

/// The folder of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a folder of the repository").to_path_buf()
}
