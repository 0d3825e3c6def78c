//! `mercer check`: Mercer's conditions for a kernel on data, or for a Gram matrix.

use mercer::diagnose;
use serde_json::json;

use crate::args::{CheckArgs, RunArgs};
use crate::info::json_of_definiteness;
use crate::input::{self, KernelChoice, exec, load, standardised};
use crate::output::{Failure, Outcome, Result, Terminal, json, line};

pub(crate) fn run(args: &CheckArgs, run: &RunArgs, terminal: &mut Terminal) -> Result {
    let choice = input::kernel(&args.kernel)?;
    if matches!(choice, KernelChoice::None) {
        return Err(Failure::Usage("name the kernel with --kernel; use precomputed for a Gram matrix".into()));
    }
    let data = load(&args.data, run)?;
    let exec = exec(run);
    let points = if args.scale { standardised(&data, &exec)? } else { data.points.clone() };
    let report = match &choice {
        KernelChoice::Kernel(kernel) => diagnose::check_kernel(kernel, &points, &exec),
        _ => diagnose::check_gram(&points, &exec),
    }
    .map_err(|e| data.about(e))?;
    let outcome = if report.holds() { Outcome::Done } else { Outcome::DoesNotHold };
    let out = &mut terminal.out;
    if args.json {
        let value = json!({
            "n": report.n,
            "kernel": report.kernel.as_ref().map(ToString::to_string),
            "holds": report.holds(),
            "symmetric": report.is_symmetric, "asymmetry": report.asymmetry,
            "gram": json_of_definiteness(&report.gram), "centred": json_of_definiteness(&report.centred),
        });
        json(out, &value)?;
        return Ok(outcome);
    }
    line(out, "data", data.describe())?;
    match &report.kernel {
        Some(kernel) => line(out, "kernel", kernel)?,
        None => line(out, "kernel", "a given Gram matrix")?,
    }
    let symmetric = if report.is_symmetric { "yes" } else { "no" };
    line(out, "symmetric", format!("{symmetric} (largest difference {:.1e} of the largest entry)", report.asymmetry))?;
    line(out, "K", report.gram)?;
    line(out, "HKH", report.centred)?;
    line(
        out,
        "verdict",
        match (report.holds(), report.centred.is_indefinite()) {
            (true, _) => "Mercer's conditions hold on this data",
            (false, false) if report.is_symmetric => {
                "Mercer's conditions do not hold, but the centred matrix is positive semi-definite: kernel PCA is sound"
            }
            _ => "Mercer's conditions do not hold: scores are not those of any feature map",
        },
    )?;
    Ok(outcome)
}
