//! `cargo xtask bench`: mercer beside its peers, and beside what the machine can do.
//!
//! benchmarks/cases.toml says what is measured, benchmarks/engines/engines.toml with what. Here the engines are made
//! ready (`workshop`), run (`measure`), their answers compared and the results told (`report`). `--matrix` and `--compare`
//! measure everyday jobs instead, in Python (`matrix`).

mod cases;
mod machine;
mod matrix;
mod measure;
mod report;
mod workshop;

use cases::{Case, Definitions, Size};
use report::Record;
use workshop::Workshop;

/// Which cases to run.
#[derive(Default)]
struct Options {
    only: Vec<String>,
    quick: bool,
    huge: bool,
    /// The matrix of jobs against scikit-learn in place of the cases.
    matrix: bool,
    /// The same against the package at this commit.
    compare: Option<String>,
}

impl Options {
    fn parse(words: &[&str]) -> Result<Self, String> {
        let mut options = Options::default();
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            match word {
                "--quick" => options.quick = true,
                "--huge" => options.huge = true,
                "--only" => options.only.push(words.next().ok_or("--only needs the name of a case")?.to_string()),
                "--matrix" => options.matrix = true,
                "--compare" => {
                    options.compare = Some(words.next().ok_or("--compare needs a commit")?.to_string());
                }
                _ => {
                    let known = "--only NAME, --quick, --huge, --matrix, --compare COMMIT";
                    return Err(format!("bench: {word} is none of {known}"));
                }
            }
        }
        Ok(options)
    }

    /// A case that is named is run whatever its size.
    fn choose(&self, case: &Case) -> bool {
        if !self.only.is_empty() {
            return self.only.contains(&case.name);
        }
        match case.size {
            Size::Small => true,
            Size::Normal => !self.quick,
            Size::Huge => self.huge,
        }
    }
}

pub(crate) fn run(words: &[&str]) -> Result<(), String> {
    let options = Options::parse(words)?;
    if options.matrix || options.compare.is_some() {
        return matrix::run(&options.only, options.compare.as_deref());
    }
    let definitions = Definitions::read()?;
    if let Some(name) = options.only.iter().find(|name| definitions.cases.iter().all(|case| case.name != **name)) {
        let names: Vec<&str> = definitions.cases.iter().map(|case| case.name.as_str()).collect();
        return Err(format!("--only {name}: no such case; there are {}", names.join(", ")));
    }
    let cases: Vec<&Case> = definitions.cases.iter().filter(|case| options.choose(case)).collect();

    let workshop = Workshop::set_up(&definitions, &cases)?;
    let mut record = Record::of_today(&workshop, &definitions)?;
    println!("{}", record.machine());
    let mut failed = Vec::new();
    for case in cases {
        let result = measure::case(case, &definitions, &workshop, &record.limits)?;
        println!("{}", result.table());
        if result.is_failed() {
            failed.push(case.name.clone());
        }
        record.put(result);
    }
    println!("{}", record.summary());
    if !options.quick {
        record.write(&workshop)?;
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("mercer: no answer, or a wrong one, in {}", failed.join(", "))) }
}
