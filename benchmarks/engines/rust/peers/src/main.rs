//! The Rust crates that do PCA or kernel PCA, each as its documentation shows it.
//!
//! Kernel PCA, as far as the registry has it:
//!
//! * rustyml (dense, by its own Householder and QL; or Lanczos) and anofox-ml-preprocessing (dense, by faer) are
//!   measured here.
//! * scirs2-transform and sklears-decomposition, on one dense solver, took 3 s at a thousand points and did not end
//!   within a minute at two thousand; they are left out for the time it takes to build them.
//! * ferrolearn-decomp and solow-decomposition rotate the whole Gram matrix by Jacobi's method, which does not end in
//!   useful time at a thousand points.
//! * linfa, smartcore, petal-decomposition, efficient_pca and pca offer no kernel PCA. linfa has its parts, a Gram
//!   matrix and LOBPCG, which are put together here.
//!
//! PCA: linfa-reduction, rustyml and smartcore are measured here. petal-decomposition and pca need a LAPACK of the
//! system's; efficient_pca always divides by the standard deviations, which is another model.

mod anofox;
mod linfa_parts;
mod rusty;
mod smart;

use std::path::Path;
use std::process::ExitCode;

use harness::{Job, Result};
use npyz::NpyFile;

fn main() -> ExitCode {
    harness::main(run)
}

fn run(job: &Job) -> Result<()> {
    match (job.task.as_str(), job.solver.as_str()) {
        ("kpca_fit", "anofox") => anofox::kpca_fit(job),
        ("kpca_fit", "linfa") => linfa_parts::kpca_fit(job),
        ("kpca_fit", "rustyml-dense" | "rustyml-lanczos") => rusty::kpca_fit(job),
        ("kpca_transform", "anofox") => anofox::kpca_transform(job),
        ("kpca_transform", "rustyml-dense" | "rustyml-lanczos") => rusty::kpca_transform(job),
        ("pca_fit", "linfa") => linfa_parts::pca_fit(job),
        ("pca_fit", "rustyml-dense") => rusty::pca_fit(job),
        ("pca_fit", "smartcore") => smart::pca_fit(job),
        (task, solver) => Err(format!("{task}: {solver} does not do it").into()),
    }
}

/// The points of an NPY file: their numbers row by row, how many points, how many dimensions.
fn read(path: &Path) -> Result<(Vec<f64>, usize, usize)> {
    let file = NpyFile::new(std::io::BufReader::new(std::fs::File::open(path)?))?;
    match file.shape() {
        &[n, d] => Ok((file.into_vec()?, n as usize, d as usize)),
        other => Err(format!("{}: an array of shape {other:?}, not n x d", path.display()).into()),
    }
}

/// The points as the array of the `ndarray` that a crate speaks.
macro_rules! array {
    ($ndarray:ident, $path:expr) => {{
        let (numbers, n, d) = crate::read($path)?;
        $ndarray::Array2::from_shape_vec((n, d), numbers)?
    }};
}
pub(crate) use array;

/// What a job tells of eigenvalues.
fn eigenvalues<'a>(values: impl IntoIterator<Item = &'a f64>) -> Result<(Vec<f64>, String)> {
    Ok((values.into_iter().copied().collect(), String::new()))
}

/// What a job tells of scores, given row by row.
fn scores<'a>(values: impl IntoIterator<Item = &'a f64>, k: usize) -> Result<(Vec<f64>, String)> {
    let values: Vec<f64> = values.into_iter().copied().collect();
    Ok((harness::column_norms(&values, k), String::new()))
}
