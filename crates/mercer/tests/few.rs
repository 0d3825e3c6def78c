//! A few components of many: by products with the points, or with the smaller of scatter and Gram matrix.

use mercer::plan::PlannedRoute;
use mercer::testing::matrices::normal;
use mercer::testing::ratios::sine_of_angle;
use mercer::{Exec, Pca, PcaModel, Points, Result, Route};

/// Points with a spectrum that falls slowly, far from the origin.
fn falling(n: usize, d: usize) -> Points {
    let x = normal(n, d, 31);
    Points::from_fn(n, d, |i, j| x.row(i)[j] / (1.0 + j as f64).sqrt() + 100.0 * (j % 3) as f64)
}

fn fitted(x: &Points, route: Route, tolerance: Option<f64>, exec: &Exec) -> Result<(String, PcaModel)> {
    let spec = Pca::new().components(8).route(route).standardise(route == Route::Gram);
    let spec = tolerance.map_or(spec.clone(), |tolerance| spec.tolerance(tolerance));
    let plan = spec.plan(x.n(), x.d(), exec)?;
    let name = match &plan.route {
        PlannedRoute::Passes(passes) if passes.stored => "stored".to_string(),
        other => other.name().to_string(),
    };
    Ok((name, spec.fit_planned(plan, x, exec)?))
}

#[test]
fn few_components_are_those_of_the_whole_matrix() -> Result<()> {
    let exec = Exec::new();
    for (n, d, route, expected) in [
        (2200, 900, Route::Auto, "passes"),
        (2200, 900, Route::Covariance, "stored"),
        (900, 2200, Route::Auto, "passes"),
        (900, 2200, Route::Gram, "stored"),
    ] {
        let x = falling(n, d);
        let (whole, right) = fitted(&x, route, None, &exec)?;
        assert_ne!(whole, expected, "without a tolerance all digits are computed");
        let (name, model) = fitted(&x, route, Some(1e-6), &exec)?;
        assert_eq!(name, expected, "{n} x {d} by {route:?}");
        let (found, truth) = (model.spectrum(), right.spectrum());
        for j in 0..8 {
            let (value, exact) = (found.eigenvalues()[j], truth.eigenvalues()[j]);
            assert!((value / exact - 1.0).abs() < 1e-10, "{n} x {d}, {j}: {value} for {exact}");
            let (low, high) = model.certificate().interval(j, value);
            let slack = 1e-12 * exact;
            assert!(low - slack <= exact && exact <= high + slack, "{n} x {d}, {j}: {exact} is not in {low}, {high}");
        }
        assert!((found.total() / truth.total() - 1.0).abs() < 1e-12);
        assert!(sine_of_angle(&model.axes(), &right.axes()) < 1e-4, "{n} x {d}");
        assert!(model.certificate().residuals().iter().all(|r| *r <= 2e-6 * truth.eigenvalues()[0]));
    }
    Ok(())
}

#[test]
fn bits_of_few_components_do_not_depend_on_threads() -> Result<()> {
    for (n, d, route) in [(1300, 700, Route::Covariance), (1300, 700, Route::Auto), (700, 1300, Route::Gram)] {
        let x = falling(n, d);
        let fit = |threads| fitted(&x, route, Some(1e-6), &Exec::new().threads(threads)).map(|(_, m)| m.to_parts());
        let first = fit(1)?;
        assert!(fit(2)? == first && fit(7)? == first, "{n} x {d} by {route:?}");
    }
    Ok(())
}

/// Residuals are relative to the largest eigenvalue, so that a search cannot tell small components from each other.
#[test]
fn small_components_are_computed_by_the_whole_matrix() -> Result<()> {
    for factor in [1e3, 1e8] {
        let x = normal(900, 700, 32);
        let x = Points::from_fn(900, 700, |i, j| x.row(i)[j] * if j == 0 { factor } else { 1.0 });
        let (name, model) = fitted(&x, Route::Auto, Some(1e-6), &Exec::new())?;
        let (_, right) = fitted(&x, Route::Svd, None, &Exec::new())?;
        assert_eq!(name, "passes");
        for (value, exact) in model.spectrum().eigenvalues().iter().zip(right.spectrum().eigenvalues()) {
            assert!((value / exact - 1.0).abs() < 1e-9, "{factor}: {value} for {exact}");
        }
        assert!(sine_of_angle(&model.axes(), &right.axes()) < 1e-8);
    }
    Ok(())
}
