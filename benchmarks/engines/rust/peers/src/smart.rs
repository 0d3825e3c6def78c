//! smartcore: PCA by the singular values of the points.

use harness::{Job, Result};
use smartcore::decomposition::pca::{PCA, PCAParameters};
use smartcore::linalg::basic::arrays::Array;
use smartcore::linalg::basic::matrix::DenseMatrix;

pub fn pca_fit(job: &Job) -> Result<()> {
    let (numbers, n, d) = crate::read(&job.x)?;
    let x = DenseMatrix::new(n, d, numbers, false)?;
    let fit = || Ok(PCA::fit(&x, PCAParameters::default().with_n_components(job.k))?);
    // It keeps its eigenvalues to itself: the variances of the scores are the same.
    job.measure(fit, |m: &PCA<f64, DenseMatrix<f64>>| {
        let scores = m.transform(&x)?;
        let scores: Vec<f64> = scores.iterator(0).copied().collect();
        let norms = harness::column_norms(&scores, job.k);
        Ok((norms.iter().map(|norm| norm * norm / (n - 1) as f64).collect(), String::new()))
    })
}
