//! linfa: PCA by LOBPCG; kernel PCA put together from its Gram matrix and LOBPCG, with the centring by hand.

use harness::{Job, Result};
use linfa::DatasetBase;
use linfa::traits::Fit;
use linfa_kernel::{Kernel, KernelInner, KernelMethod, KernelType};
use linfa_linalg::Order;
use linfa_linalg::lobpcg::TruncatedEig;
use ndarray16::{Array2, Axis};
use rand_xoshiro::Xoshiro256Plus;
use rand_xoshiro::rand_core::SeedableRng;

use crate::{array, eigenvalues};

pub fn kpca_fit(job: &Job) -> Result<()> {
    let x = array!(ndarray16, &job.x);
    let fit = || {
        let method = KernelMethod::Gaussian(x.ncols() as f64); // exp(-|x-y|^2 / d)
        let params = Kernel::params().kind(KernelType::Dense).method(method);
        let KernelInner::Dense(gram) = Kernel::new(x.view(), &params).inner else { return Err("a sparse Gram".into()) };
        let mut solver = TruncatedEig::new_with_rng(centred(gram), Order::Largest, Xoshiro256Plus::seed_from_u64(0))
            .precision(job.residual as f32)
            .maxiter(1000);
        let found = solver.decompose(job.k).map_err(|(e, _)| e)?;
        Ok(found.eigvals)
    };
    job.measure(fit, |values| eigenvalues(values))
}

fn centred(mut gram: Array2<f64>) -> Array2<f64> {
    let means = gram.sum_axis(Axis(0)) / gram.nrows() as f64;
    let mean = means.sum() / means.len() as f64;
    gram -= &means;
    gram -= &(means - mean).insert_axis(Axis(1));
    gram
}

pub fn pca_fit(job: &Job) -> Result<()> {
    let data = DatasetBase::from(array!(ndarray16, &job.x));
    let divisor = data.records.nrows() as f64 - 1.0;
    // Its explained_variance divides by the number of components, less one.
    let variances = |m: &linfa_reduction::Pca<f64>| eigenvalues(&m.singular_values().mapv(|s| s * s / divisor));
    job.measure(|| Ok(linfa_reduction::Pca::params(job.k).fit(&data)?), variances)
}
