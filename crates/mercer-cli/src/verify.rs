//! `mercer verify`: a second opinion on a model file, from the data it was fitted to.

use mercer::verify::{Outcome, Verdict, Verify, failure};
use mercer_io::load_model;
use serde_json::json;

use crate::args::{RunArgs, VerifyArgs};
use crate::input::{self, exec};
use crate::output::{self, Result, Terminal, json, line};

pub(crate) fn run(args: &VerifyArgs, run: &RunArgs, terminal: &mut Terminal) -> Result {
    let saved = load_model(&args.model)?;
    let data = input::load_for(&args.data, run, &saved)?;
    let verify = Verify::new().passes(args.passes.into());
    let opinion = verify.run(&saved.model, &data.points, &exec(run)).map_err(|e| data.about(e))?;
    let outcome = if opinion.verdict() == Verdict::Refuted { output::Outcome::Refuted } else { output::Outcome::Done };
    let out = &mut terminal.out;
    if args.json {
        let value = json!({
            "verdict": opinion.verdict(),
            "sentence": opinion.sentence(),
            "claims": opinion.claims,
            "residuals": opinion.residuals,
            "quotients": opinion.quotients,
            "explained_variance_ratio": opinion.shares(),
            "orthonormality": opinion.orthonormality,
            "total": opinion.total,
            "beyond": { "at_least": opinion.beyond.0, "at_most": opinion.beyond.1, "failure_probability": failure() },
            "rounding": opinion.rounding,
            "passes": opinion.passes,
        });
        json(out, &value)?;
        return Ok(outcome);
    }
    line(out, "data", data.describe())?;
    for note in data.notes() {
        line(out, "note", note)?;
    }
    for claim in &opinion.claims {
        let outcome = match claim.outcome {
            Outcome::NotDecided => "undecided",
            Outcome::Confirmed | Outcome::Refuted => claim.outcome.name(),
        };
        line(out, outcome, &claim.text)?;
    }
    if opinion.claims.is_empty() {
        for text in opinion.measurements() {
            line(out, "measured", text)?;
        }
    }
    line(out, "rounding", format!("of this measurement: at most {:.1e}", opinion.rounding))?;
    line(out, "verdict", opinion.sentence())?;
    Ok(outcome)
}
