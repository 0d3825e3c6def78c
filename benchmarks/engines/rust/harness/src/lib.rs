//! What every Rust engine does alike: take a job, time it, watch its memory, print one line of JSON.
//!
//! A job is JSON, the last argument of the command line; `python/harness.py` is the same for Python.

use std::error::Error;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use std::{env, fs};

use serde::Deserialize;
use serde_json::json;

/// Whatever went wrong.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What is to be measured.
#[derive(Deserialize)]
pub struct Job {
    pub task: String,
    pub solver: String,
    /// The number of components.
    pub k: usize,
    /// The NPY file of the points to fit.
    pub x: PathBuf,
    /// The NPY file of new points, for a transform.
    pub new: Option<PathBuf>,
    /// How small a residual, relative to the largest eigenvalue, an engine that lets one choose is to reach.
    pub residual: f64,
    /// Repeats end after this many seconds.
    pub seconds: f64,
}

/// Does the job of the command line with this engine; what goes wrong is said on standard error.
pub fn main(engine: impl FnOnce(&Job) -> Result<()>) -> ExitCode {
    let job = env::args().next_back().ok_or("no job".into()).and_then(|last| Ok(serde_json::from_str(&last)?));
    match job.and_then(|job| engine(&job)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

impl Job {
    /// The file of new points, which a transform needs.
    pub fn new_points(&self) -> Result<&Path> {
        Ok(self.new.as_deref().ok_or("a transform needs new points")?)
    }

    /// Times `measured` and prints the line. `told` takes from the last result
    /// the numbers by which engines are compared, and a note.
    pub fn measure<T>(
        &self,
        mut measured: impl FnMut() -> Result<T>,
        told: impl FnOnce(&T) -> Result<(Vec<f64>, String)>,
    ) -> Result<()> {
        let base = forget_peak();
        let mut seconds: Vec<f64> = Vec::new();
        let result = loop {
            let start = Instant::now();
            let result = black_box(measured()?);
            seconds.push(start.elapsed().as_secs_f64());
            if seconds.iter().sum::<f64>() >= self.seconds || seconds.len() >= 10 {
                break result;
            }
        };
        let memory = base.zip(status("VmHWM:")).map(|(base, peak)| peak.saturating_sub(base));
        let (answer, note) = told(&result)?;
        println!("{}", json!({ "seconds": seconds, "memory": memory, "answer": answer, "note": note }));
        Ok(())
    }
}

/// The norms of the columns of a row-major matrix of k columns: what is compared of scores, whose signs are free.
pub fn column_norms(scores: &[f64], k: usize) -> Vec<f64> {
    (0..k).map(|j| scores.iter().skip(j).step_by(k).map(|z| z * z).sum::<f64>().sqrt()).collect()
}

/// Lets the peak of the resident memory start anew; returns what is resident now, in bytes, where Linux tells.
fn forget_peak() -> Option<u64> {
    #[cfg(target_env = "gnu")]
    // SAFETY: takes a number and gives free pages back; what reading the data left is then no part of the base.
    unsafe {
        libc::malloc_trim(0);
    }
    fs::write("/proc/self/clear_refs", "5").ok()?;
    status("VmRSS:")
}

/// A field of Linux's /proc/self/status, in bytes.
fn status(field: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}
