//! The conic example is a test: circles and ellipses become planes whose normal is the conic's equation.
#![allow(missing_docs)]

use mercer::{Embedding, Pca, Points, Result, Route};

#[path = "../examples/conic.rs"]
#[allow(dead_code)]
mod example;

#[test]
fn the_example_runs() -> Result<()> {
    example::main()
}

#[test]
fn every_route_gives_the_equation_back() -> Result<()> {
    for (a, b, c) in [(1.0, 0.0, 1.0), (4.0, 0.0, 0.25), (2.0, 1.0, 3.0), (5.0, -3.0, 1.0)] {
        let x = Points::from_fn(48, 2, |i, j| {
            let (sin, cos) = (0.1 + i as f64 * std::f64::consts::TAU / 48.0).sin_cos();
            let radius = 1.0 / f64::sqrt(a * cos * cos + b * cos * sin + c * sin * sin);
            radius * if j == 0 { cos } else { sin }
        });
        for route in [Route::Auto, Route::Svd, Route::Covariance, Route::Gram] {
            let model = Pca::new().embed(Embedding::monomials(2)).route(route).fit(&x)?;
            assert_eq!(model.spectrum().rank(), 2, "{route:?}");
            assert!(model.spectrum().ratios()[2] < 1e-14);
            let (axes, mean) = (model.axes(), model.mean());
            let level: f64 = axes.row(2).iter().zip(mean).map(|(n, m)| n * m).sum();
            for (found, expected) in axes.row(2).iter().zip([a, b / 2f64.sqrt(), c]) {
                assert!((found / level - expected).abs() < 1e-11, "{route:?}: {found} {expected}");
            }
        }
    }
    Ok(())
}
