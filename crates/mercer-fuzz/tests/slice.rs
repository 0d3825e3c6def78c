//! A part of what `cargo xtask fuzz` does, the same every time.
#![allow(missing_docs)]

use mercer_fuzz::{Finding, run, targets};

#[test]
fn damaged_input_is_refused_or_harmless() {
    let mut findings: Vec<Finding> = Vec::new();
    for target in targets() {
        let tally = run(target.as_ref(), 1, 0..400, |_| true);
        assert!(tally.accepted > 0, "{}: no input is accepted", target.name());
        assert!(tally.accepted < tally.inputs, "{}: every input is accepted", target.name());
        findings.extend(tally.findings);
    }
    let findings: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}
