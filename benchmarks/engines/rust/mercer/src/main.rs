//! mercer through its public interface, as its README shows it.

use std::path::Path;
use std::process::ExitCode;

use harness::{Job, Result, column_norms};
use mercer::kernel::Bound;
use mercer::op::{Gram, SymOp};
use mercer::{Block, Exec, Gamma, Kernel, KernelPca, KernelPcaModel, Pca, Points};

fn main() -> ExitCode {
    harness::main(run)
}

fn run(job: &Job) -> Result<()> {
    let exec = Exec::new();
    let x = points(&job.x)?;
    let fit = || -> Result<KernelPcaModel> {
        let kernel = Kernel::gaussian(Gamma::PerDimension);
        Ok(KernelPca::new(kernel).components(job.k).fit_with(&x, &exec)?)
    };
    match job.task.as_str() {
        "kpca_fit" => job.measure(fit, |m| Ok((m.spectrum().eigenvalues().to_vec(), m.certificate().to_string()))),
        "kpca_pass" => {
            let bound = Bound::new(&Kernel::gaussian(Gamma::PerDimension), &x)?;
            let gram = Gram::new(&bound, &x)?;
            // The same block for every engine.
            let v = Block::from_fn(x.n(), job.k, |i, j| (((i + 1) * (j + 1)) as f64).cos());
            let in_f32 = (job.solver == "f32").then(|| mercer::testing::limits::in_f32(&gram));
            let op: &dyn SymOp = match &in_f32 {
                Some(in_f32) => in_f32,
                None => &gram,
            };
            let pass = || {
                let mut images = Block::zeros(x.n(), job.k);
                op.apply(&v, &mut images, &exec)?;
                Ok(images)
            };
            let norms = |y: &Block| (0..y.b()).map(|j| y.col(j).iter().map(|v| v * v).sum::<f64>().sqrt()).collect();
            job.measure(pass, |y| Ok((norms(y), String::new())))
        }
        "kpca_transform" => {
            let model = fit()?;
            let new = points(job.new_points()?)?;
            let transform = || Ok(model.transform_with(&new, &exec)?);
            job.measure(transform, |z| Ok((column_norms(z.as_slice(), z.d()), String::new())))
        }
        "pca_fit" => {
            let fit = || Ok(Pca::new().components(job.k).fit_with(&x, &exec)?);
            job.measure(fit, |m| Ok((m.spectrum().variances(), m.certificate().to_string())))
        }
        task => Err(format!("{task}: this engine does not do it").into()),
    }
}

fn points(path: &Path) -> Result<Points<f64>> {
    Ok(mercer_io::read(path.to_str().ok_or("a path that is no text")?)?.points()?)
}
