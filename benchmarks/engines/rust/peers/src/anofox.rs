//! anofox-ml: kernel PCA by a dense decomposition (faer).

use anofox_ml_core::{FitUnsupervised, Transform};
use anofox_ml_preprocessing::{KernelPca, KpcaKernel};
use harness::{Job, Result};

use crate::{array, eigenvalues, scores};

pub fn kpca_fit(job: &Job) -> Result<()> {
    let x = array!(ndarray16, &job.x);
    let model = KernelPca::new(job.k, KpcaKernel::Rbf { gamma: 1.0 / x.ncols() as f64 });
    job.measure(|| Ok(model.fit(&x)?), |m| eigenvalues(&m.eigenvalues))
}

pub fn kpca_transform(job: &Job) -> Result<()> {
    let (x, new) = (array!(ndarray16, &job.x), array!(ndarray16, job.new_points()?));
    let model = KernelPca::new(job.k, KpcaKernel::Rbf { gamma: 1.0 / x.ncols() as f64 }).fit(&x)?;
    job.measure(|| Ok(model.transform(&new)?), |z| scores(z, job.k))
}
