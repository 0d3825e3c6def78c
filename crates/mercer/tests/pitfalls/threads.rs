//! The number of threads changes no bit.

use crate::common::bits;
use crate::kernel;
use mercer::k_means::KMeans;
use mercer::state::Moments;
use mercer::testing::matrices::normal;
use mercer::testing::naive;
use mercer::{Exec, KernelPca, Pca, PcaModel, Points, Result, Route};

#[test]
fn the_number_of_threads_changes_no_bit_of_pca() -> Result<()> {
    let x = normal(600, 300, 21);
    let wide = normal(300, 600, 22);
    for (x, routes) in [(&x, vec![Route::Auto, Route::Covariance, Route::Gram, Route::Svd]), (&wide, vec![Route::Gram])]
    {
        for route in routes {
            let run = |threads: usize| -> Result<(PcaModel, Points)> {
                let exec = Exec::new().threads(threads);
                let model = Pca::new().route(route).fit_with(x, &exec)?;
                let scores = model.transform_with(x, &exec)?;
                Ok((model, scores))
            };
            let (one, scores) = run(1)?;
            for threads in [2, 7] {
                let (more, other) = run(threads)?;
                assert_eq!(one.to_parts(), more.to_parts(), "{route:?} on {threads} threads");
                assert_eq!(bits(one.axes().as_slice()), bits(more.axes().as_slice()), "{route:?} on {threads} threads");
                assert_eq!(bits(scores.as_slice()), bits(other.as_slice()), "{route:?} on {threads} threads");
            }
        }
    }
    Ok(())
}

#[test]
fn the_number_of_threads_changes_no_bit_of_kernel_pca() -> Result<()> {
    let x = normal(600, 5, 23);
    for text in ["gaussian", "sigmoid", "normalised(polynomial(coef0=1)) + linear"] {
        let run = |threads: usize| {
            let exec = Exec::new().threads(threads);
            let model = KernelPca::new(kernel(text)).components(40).fit_with(&x, &exec)?;
            let scores = model.transform_with(&x, &exec)?;
            Ok::<_, mercer::Error>((model.to_parts()?, scores))
        };
        let (one, scores) = run(1)?;
        for threads in [2, 7] {
            let (more, other) = run(threads)?;
            assert_eq!(bits(one.weights.as_slice()), bits(more.weights.as_slice()), "{text} on {threads} threads");
            assert_eq!(one, more, "{text} on {threads} threads");
            assert_eq!(bits(scores.as_slice()), bits(other.as_slice()), "{text} on {threads} threads");
        }
    }
    Ok(())
}

#[test]
fn the_number_of_threads_changes_no_bit_of_a_given_gram_matrix() -> Result<()> {
    let gram = naive::gram(&kernel("laplacian(gamma=0.4)"), &normal(600, 2, 24));
    let run = |threads: usize| {
        let exec = Exec::new().threads(threads);
        KernelPca::custom().components(20).fit_gram_with(&gram, &exec)?.to_parts()
    };
    let one = run(1)?;
    assert!(one == run(2)? && one == run(7)?);
    Ok(())
}

#[test]
fn the_number_of_threads_changes_no_bit_of_moments_and_clusters() -> Result<()> {
    let x = normal(20_000, 5, 25);
    let moments = |threads: usize| Moments::of_with(&x, &Exec::new().threads(threads));
    let one = moments(1)?;
    assert!(one == moments(2)? && one == moments(7)?);
    let x = normal(600, 3, 26);
    for seed in [0, 5] {
        let clusters =
            |threads: usize| KMeans::new(5).restarts(9).fit_with(&x, &Exec::new().threads(threads).seed(seed));
        let one = clusters(1)?;
        for threads in [2, 7] {
            let more = clusters(threads)?;
            assert_eq!(one, more);
            assert_eq!(bits(one.centres.as_slice()), bits(more.centres.as_slice()));
        }
    }
    Ok(())
}
