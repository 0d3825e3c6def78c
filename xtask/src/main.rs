//! `cargo xtask test`: every check there is. `cargo xtask bench`: every measurement. Each with whatever it needs.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod bench;

use std::process::{Command, ExitCode};

const USAGE: &str = "usage: cargo xtask test     every check: format, lints, tests, documentation
       cargo xtask bench    every measurement (benchmarks/README.md); --only NAME, --quick, --huge";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["test"] => test(),
        ["bench", ref options @ ..] => bench::run(options),
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

fn test() -> Result<(), String> {
    run("format", &["fmt", "--all", "--check"], &[])?;
    run("lints", &["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"], &[])?;
    // Unit and integration tests, examples, documentation examples, and the snippets of README and documents.
    run("tests", &["test", "--workspace"], &[])?;
    run("documentation", &["doc", "--workspace", "--no-deps", "--all-features"], &[("RUSTDOCFLAGS", "-D warnings")])
}

fn run(what: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Result<(), String> {
    eprintln!("== {what}: cargo {}", arguments.join(" "));
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let status = Command::new(cargo).args(arguments).envs(environment.iter().copied()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{what}: failed with {status}")),
        Err(e) => Err(format!("{what}: cargo cannot be started: {e}")),
    }
}
