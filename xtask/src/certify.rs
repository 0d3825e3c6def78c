//! `cargo xtask certify`: the campaign against the error bounds (crates/mercer/tests/campaign), for a time, with other
//! problems, or one problem again.

use std::process::Command;

/// What the campaign is asked for: the words of the command, and the variables that stand for them.
const OPTIONS: &[(&str, &str)] =
    &[("--minutes", "MERCER_CERTIFY_MINUTES"), ("--seed", "MERCER_CERTIFY_SEED"), ("--case", "MERCER_CERTIFY_CASE")];

pub(crate) fn run(words: &[&str]) -> Result<(), String> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let mut command = Command::new(cargo);
    // Without `--minutes` the campaign would be the one of `cargo test`.
    command.args(["test", "--package", "mercer", "--test", "campaign", "--", "--nocapture"]).env(OPTIONS[0].1, "10");
    for (name, value) in options(words)? {
        command.env(name, value);
    }
    crate::told("error bounds", &mut command)
}

/// The variables and their values.
fn options(words: &[&str]) -> Result<Vec<(&'static str, String)>, String> {
    let mut found = Vec::new();
    for pair in words.chunks(2) {
        let Some((option, name)) = OPTIONS.iter().find(|(option, _)| *option == pair[0]) else {
            return Err(format!("certify: {} is none of --minutes N, --seed S, --case K", pair[0]));
        };
        let value = pair.get(1).ok_or(format!("certify: {option} needs a number"))?;
        let holds = match *option {
            "--minutes" => value.parse::<f64>().is_ok_and(|v| v > 0.0),
            _ => value.parse::<u64>().is_ok(),
        };
        if !holds {
            return Err(format!("certify: {option} {value} is not a number that it takes"));
        }
        found.push((*name, value.to_string()));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_become_variables() {
        let found = options(&["--seed", "7", "--minutes", "0.5"]).expect("both are numbers");
        assert_eq!(found, [("MERCER_CERTIFY_SEED", "7".into()), ("MERCER_CERTIFY_MINUTES", "0.5".into())]);
        for wrong in [&["--seed"][..], &["--seed", "x"], &["--minutes", "0"], &["--seconds", "3"], &["--case", "-1"]] {
            assert!(options(wrong).is_err(), "{wrong:?}");
        }
    }
}
