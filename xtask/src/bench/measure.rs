//! Runs of engines: each a process of its own, those of different engines by turns.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::json;

use super::cases::{Case, Definitions, Engine, Task};
use super::machine::{Limits, Watch};
use super::report::{CaseResult, Run};
use super::workshop::{Workshop, said};
use crate::root;

/// How often each engine is started.
const ROUNDS: usize = 3;
/// An engine that takes longer than this many seconds is started once.
const LONG: f64 = 20.0;
/// For how many seconds a process repeats what it measures.
const REPEAT: f64 = 1.0;

/// Runs all engines of a case.
pub(crate) fn case(
    case: &Case,
    with: &Definitions,
    workshop: &Workshop,
    limits: &Limits,
) -> Result<CaseResult, String> {
    eprintln!("== {}", case.name);
    let x = if case.n == 0 { None } else { Some(workshop.points(&case.data, case.n, case.d, 0)?) };
    let new = if case.m == 0 { None } else { Some(workshop.points(&case.data, case.m, case.d, 1)?) };
    let mut runs: Vec<Run> = case.engines.iter().map(|name| Run::new(name, with.engines[name].kind)).collect();
    for round in 1..=ROUNDS {
        for run in &mut runs {
            if run.failure.is_some() || (round > 1 && run.seconds[0] > LONG) {
                continue;
            }
            let engine = &with.engines[&run.engine];
            let watch = Watch::start();
            let reply = match case.task {
                Task::Command => command(case, engine, workshop),
                _ => process(case, engine, x.as_deref(), new.as_deref(), workshop),
            };
            let foreign = watch.foreign_cores();
            match reply {
                Ok(reply) => run.add(reply, foreign),
                Err(message) => run.failure = Some(workshop.without_paths(&message)),
            }
            eprintln!("   {round}/{ROUNDS}  {}", run.line());
        }
    }
    let commit = said(Command::new("git").current_dir(root()).args(["describe", "--always", "--dirty", "--abbrev=7"]))?;
    Ok(CaseResult { case: case.clone(), commit, ideal: limits.ideal(case), runs })
}

/// What an engine answers.
#[derive(Deserialize)]
pub(crate) struct Reply {
    pub(crate) seconds: Vec<f64>,
    /// Bytes at the peak, beyond what was resident before.
    pub(crate) memory: Option<u64>,
    /// Eigenvalues, or norms of the columns of scores.
    pub(crate) answer: Vec<f64>,
    pub(crate) note: String,
}

/// One process of an engine, which measures itself.
fn process(
    case: &Case,
    engine: &Engine,
    x: Option<&Path>,
    new: Option<&Path>,
    workshop: &Workshop,
) -> Result<Reply, String> {
    let job = json!({
        "task": case.task, "solver": engine.solver, "k": case.k, "x": x, "new": new,
        "residual": case.residual, "seconds": REPEAT,
    });
    let output = output(workshop.command(&engine.run).arg(job.to_string()), case.limit)?;
    let line = output.lines().last().ok_or("no answer")?;
    serde_json::from_str(line).map_err(|e| format!("{e} in {line}"))
}

/// Many processes, each timed from its start to its end.
fn command(case: &Case, engine: &Engine, workshop: &Workshop) -> Result<Reply, String> {
    let mut seconds: Vec<f64> = Vec::new();
    let mut text = String::new();
    while seconds.len() < 50 && seconds.iter().sum::<f64>() < 3.0 * REPEAT {
        let start = Instant::now();
        let output = workshop.command(&engine.run).output().map_err(|e| e.to_string())?;
        seconds.push(start.elapsed().as_secs_f64());
        if !output.status.success() {
            return Err(last_line(&String::from_utf8_lossy(&output.stderr)));
        }
        text = String::from_utf8_lossy(&output.stdout).into_owned();
    }
    Ok(Reply { seconds, memory: None, answer: column_norms(&text, case.k), note: String::new() })
}

/// The norms of the last k columns of a CSV with a header.
fn column_norms(text: &str, k: usize) -> Vec<f64> {
    let mut squares = vec![0.0; k];
    for line in text.lines().skip(1) {
        for (sum, cell) in squares.iter_mut().rev().zip(line.rsplit(',')) {
            *sum += cell.parse::<f64>().unwrap_or(f64::NAN).powi(2);
        }
    }
    squares.into_iter().map(f64::sqrt).collect()
}

/// The standard output of a process, or why there is none; it is stopped at the limit.
fn output(command: &mut Command, limit: f64) -> Result<String, String> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(|e| e.to_string())?;
    let start = Instant::now();
    // The engines say a line or two, which the pipes hold.
    while child.try_wait().map_err(|e| e.to_string())?.is_none() {
        if start.elapsed().as_secs_f64() > limit {
            child.kill().and_then(|()| child.wait()).map_err(|e| e.to_string())?;
            return Err(format!("stopped after {limit} s"));
        }
        sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().map_err(|e| e.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(if errors.trim().is_empty() { output.status.to_string() } else { last_line(&errors) })
}

fn last_line(text: &str) -> String {
    text.trim().lines().next_back().unwrap_or("failed without a word").trim().into()
}
