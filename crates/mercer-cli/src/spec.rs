//! From options to the one record of what is to be fitted.

use mercer::{Approx, Components, KernelPca, Landmarks, Pca, Route, Spec};

use crate::args::{ApproxArg, ModelArgs, RouteArg, RunArgs};
use crate::input::{self, KernelChoice};
use crate::output::{Failure, Result};

/// The number of components unless another is given.
const DEFAULT_COMPONENTS: Components = Components::UpTo(10);

/// What the options ask for, of points of d dimensions. Kernel PCA without a kernel is that of a Gram matrix.
pub(crate) fn spec(args: &ModelArgs, choice: KernelChoice, d: usize, run: &RunArgs) -> Result<Spec> {
    let components = args.components.unwrap_or(DEFAULT_COMPONENTS);
    let kernel = match choice {
        KernelChoice::None => return Ok(pca(args).components(components).into()),
        KernelChoice::Kernel(kernel) => KernelPca::new(kernel).standardise(args.scale).approx(approx(args, d, run)?),
        KernelChoice::Precomputed if args.scale => {
            return Err(Failure::Usage("the argument '--scale' cannot be used with '--kernel precomputed'".into()));
        }
        KernelChoice::Precomputed
            if args.landmarks.is_some()
                || args.trace_error.is_some()
                || matches!(args.approx, ApproxArg::Nystroem(_)) =>
        {
            return Err(Failure::Usage("landmarks are points, and '--kernel precomputed' has none".into()));
        }
        KernelChoice::Precomputed => KernelPca::custom(),
    };
    let kernel = kernel.components(components);
    Ok(match args.tolerance {
        Some(tolerance) => kernel.tolerance(tolerance).into(),
        None => kernel.into(),
    })
}

fn pca(args: &ModelArgs) -> Pca {
    let route = match args.route {
        RouteArg::Auto => Route::Auto,
        RouteArg::Covariance => Route::Covariance,
        RouteArg::Gram => Route::Gram,
        RouteArg::Svd => Route::Svd,
    };
    let pca = Pca::new().center(!args.no_center).standardise(args.scale).whiten(args.whiten).route(route);
    args.embed.clone().map_or(pca.clone(), |embedding| pca.embed(embedding))
}

/// Whether the data is itself a Gram matrix.
pub(crate) fn is_of_gram(spec: &Spec) -> bool {
    matches!(spec, Spec::KernelPca(kernel) if kernel.get_kernel().is_none())
}

/// How landmarks are chosen.
fn approx(args: &ModelArgs, d: usize, run: &RunArgs) -> Result<Approx> {
    let wanted = match args.approx {
        ApproxArg::None if args.landmarks.is_some() || args.trace_error.is_some() => {
            return Err(Failure::Usage("landmarks are not for exact components: leave out '--approx none'".into()));
        }
        ApproxArg::None => return Ok(Approx::None),
        // Whoever states a tolerance wants the exact components.
        ApproxArg::Auto if args.landmarks.is_none() && args.trace_error.is_none() => {
            return Ok(if args.tolerance.is_some() { Approx::None } else { Approx::Auto });
        }
        ApproxArg::Auto => None,
        ApproxArg::Nystroem(m) => m,
    };
    if args.tolerance.is_some() {
        return Err(Failure::Usage(
            "the argument '--tolerance' is for exact components, and these are by landmarks".into(),
        ));
    }
    if let Some(share) = args.trace_error {
        if !(share > 0.0 && share < 1.0) {
            return Err(Failure::Usage(format!(
                "'--trace-error' is a share of the variance between 0 and 1, not {share}"
            )));
        }
        if wanted.is_some() {
            return Err(Failure::Usage(
                "a number of landmarks cannot be used with '--trace-error', which finds it".into(),
            ));
        }
        return Ok(Approx::Landmarks(Landmarks::TraceError(share)));
    }
    let m = wanted.unwrap_or(Landmarks::DEFAULT);
    Ok(Approx::Landmarks(match args.landmarks.as_deref() {
        None | Some("kmeans") => Landmarks::KMeans(m),
        Some("uniform") => Landmarks::Uniform(m),
        Some("rpcholesky") => Landmarks::RpCholesky(m),
        Some(file) => {
            let points = mercer_io::read_with(file, &input::plain_options(run))?.points()?;
            let (n, found) = (points.n(), points.d());
            if let Some(m) = wanted.filter(|m| *m != n) {
                return Err(Failure::Usage(format!(
                    "{file} has {n} landmarks, and '--approx nystroem={m}' asks for {m}"
                )));
            }
            if found != d {
                return Err(Failure::Error {
                    message: format!("{file}: has landmarks of {found} numeric columns, where {d} are needed"),
                    help: Some("it needs the numeric columns of the data, in their order, and nothing else".into()),
                });
            }
            Landmarks::Given(points)
        }
    }))
}
