//! Results without a unit do not depend on the units of points, columns or kernel values.

use crate::common::{ROUTES, assert_finite_kernel_pca, iris, largest_gap, map, relative};
use crate::kernel;
use mercer::testing::matrices::normal;
use mercer::testing::ratios::{aligned_difference, sine_of_angle};
use mercer::{KernelPca, KernelPcaModel, Pca, Points, Result};

// P6
#[test]
fn the_rank_and_the_axes_do_not_depend_on_the_unit() -> Result<()> {
    let z = normal(200, 3, 5);
    let x = Points::from_fn(200, 5, |i, j| z.row(i)[0] * (j + 1) as f64 + z.row(i)[1] * (j * j) as f64);
    for route in ROUTES {
        let base = Pca::new().route(route).fit(&x)?;
        assert_eq!(base.spectrum().rank(), 2, "{route:?}");
        for unit in [1e-6, 1e6, 1e-100, 1e100] {
            let scaled = map(&x, |v| v * unit);
            let model = Pca::new().route(route).fit(&scaled)?;
            assert_eq!(model.spectrum().rank(), 2, "{route:?} {unit}");
            let (a, b) = (first_rows(&base.axes(), 2), first_rows(&model.axes(), 2));
            assert!(sine_of_angle(&a, &b) < 1e-12, "{route:?} {unit}");
            assert!(relative(&model.spectrum().ratios()[..2], &base.spectrum().ratios()[..2]) < 1e-12);
        }
        // By powers of two everything scales exactly.
        for unit in [2f64.powi(-100), 2f64.powi(100)] {
            let model = Pca::new().route(route).fit(&map(&x, |v| v * unit))?;
            assert_eq!(model.axes(), base.axes(), "{route:?}");
            assert_eq!(model.spectrum().ratios(), base.spectrum().ratios(), "{route:?}");
        }
    }
    Ok(())
}

fn first_rows(x: &Points, k: usize) -> Points {
    Points::from_fn(k, x.d(), |i, j| x.row(i)[j])
}

// P6
#[test]
fn the_weight_of_a_kernel_changes_nothing_but_the_eigenvalues() -> Result<()> {
    let (x, _) = iris();
    for text in ["gaussian(gamma=0.25)", "gaussian(over_2sigma2=150)", "linear", "matern", "polynomial(coef0=1)"] {
        let base = KernelPca::new(kernel(text)).fit(&x)?;
        for weight in [1e-40, 1e150, 2f64.powi(-400), 2f64.powi(400)] {
            let model = KernelPca::new(weight * kernel(text)).fit(&x)?;
            let what = format!("{weight}*{text}");
            assert_eq!(model.components(), base.components(), "{what}");
            let unit = |m: &KernelPcaModel| {
                let values = m.spectrum().eigenvalues();
                Points::from_fn(4, x.n(), |j, i| m.alpha().row(i)[j] * values[j].sqrt())
            };
            assert!(sine_of_angle(&unit(&base), &unit(&model)) < 1e-9, "{what}");
            let values: Vec<f64> = model.spectrum().eigenvalues()[..4].iter().map(|v| v / weight).collect();
            assert!(relative(&values, &base.spectrum().eigenvalues()[..4]) < 1e-10, "{what}");
            assert_finite_kernel_pca(&what, &model, &x);
        }
    }
    Ok(())
}

// P19, P25
#[test]
fn a_kernel_of_standardised_points_does_not_depend_on_units() -> Result<()> {
    let (x, _) = iris();
    let units = [1.0, 1024.0, 2f64.powi(-30), 2f64.powi(90)];
    let scaled = Points::from_fn(x.n(), 5, |i, j| if j < 4 { x.row(i)[j] * units[j] } else { 0.3 });
    for text in ["gaussian", "linear", "laplacian(gamma=0.2)", "polynomial(coef0=1)", "matern + linear"] {
        let pca = KernelPca::new(kernel(text)).components(4).standardise(true);
        let (base, model) = (pca.fit(&x)?, pca.fit(&scaled)?);
        assert!(model.is_standardised());
        // A column that never changes is as if it were not there, and powers of two change no digit.
        assert!(relative(model.spectrum().eigenvalues(), base.spectrum().eigenvalues()) < 1e-13, "{text}");
        assert!(largest_gap(model.scores().as_slice(), base.scores().as_slice()) < 1e-11, "{text}");
        assert_finite_kernel_pca(text, &model, &scaled);
        let explicit = {
            let pca = Pca::new().standardise(true).fit(&x)?;
            Points::from_fn(x.n(), 4, |i, j| (x.row(i)[j] - pca.mean()[j]) / pca.scale()[j])
        };
        let plain = KernelPca::new(kernel(text)).components(4).fit(&explicit)?;
        assert_eq!(plain.spectrum(), base.spectrum(), "{text}");
        assert_eq!(plain.transform(&explicit)?, base.transform(&x)?, "{text}");
        assert_eq!(plain.squared_errors(&explicit)?, base.squared_errors(&x)?, "{text}");
    }
    Ok(())
}

// P25
#[test]
fn the_median_width_scales_with_the_unit() -> Result<()> {
    let (x, _) = iris();
    for text in ["gaussian", "gaussian(gamma=scale)", "laplacian", "matern", "matern(nu=5/2)", "rational_quadratic"] {
        let base = KernelPca::new(kernel(text)).components(5).fit(&x)?;
        for unit in [10.0, 100.0, 1e-6] {
            let scaled = map(&x, |v| v * unit);
            let model = KernelPca::new(kernel(text)).components(5).fit(&scaled)?;
            assert!(relative(&model.spectrum().ratios(), &base.spectrum().ratios()) < 1e-11, "{text} {unit}");
            assert!(aligned_difference(&model.transform(&scaled)?, &base.transform(&x)?) < 1e-9, "{text} {unit}");
        }
        // A power of two changes no bit.
        let model = KernelPca::new(kernel(text)).components(5).fit(&map(&x, |v| v * 1024.0))?;
        assert_eq!(model.spectrum(), base.spectrum(), "{text}");
    }
    Ok(())
}
