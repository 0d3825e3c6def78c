//! rustyml: kernel PCA by a dense solver or by Lanczos iteration, PCA by the covariance.

use harness::{Job, Result};
use rustyml::machine_learning::decomposition::{EigenSolver, KernelPCA, PCA};
use rustyml::machine_learning::{Gamma, KernelType};

use crate::{array, eigenvalues, scores};

fn model(job: &Job) -> Result<KernelPCA> {
    let solver = if job.solver == "rustyml-lanczos" { EigenSolver::Lanczos } else { EigenSolver::Dense };
    Ok(KernelPCA::new(KernelType::RBF { gamma: Gamma::Auto }, job.k)?.with_eigen_solver(solver))
}

pub fn kpca_fit(job: &Job) -> Result<()> {
    let x = array!(ndarray17, &job.x);
    let fit = || {
        let mut model = model(job)?;
        model.fit(&x)?;
        Ok(model)
    };
    job.measure(fit, |m| eigenvalues(m.get_eigenvalues().ok_or("not fitted")?))
}

pub fn kpca_transform(job: &Job) -> Result<()> {
    let (x, new) = (array!(ndarray17, &job.x), array!(ndarray17, job.new_points()?));
    let mut model = model(job)?;
    model.fit(&x)?;
    job.measure(|| Ok(model.transform(&new)?), |z| scores(z, job.k))
}

pub fn pca_fit(job: &Job) -> Result<()> {
    let x = array!(ndarray17, &job.x);
    let fit = || {
        let mut model = PCA::new(job.k)?;
        model.fit(&x)?;
        Ok(model)
    };
    job.measure(fit, |m| eigenvalues(m.get_explained_variance().ok_or("not fitted")?))
}
