//! Points and columns that are constant, or all but constant.

use crate::common::{ROUTES, assert_finite_kernel_pca, assert_finite_pca, largest_gap};
use crate::{FIXED, is_range, kernel};
use mercer::kernel::registry::KERNELS;
use mercer::testing::conformance;
use mercer::testing::matrices::normal;
use mercer::{Components, KernelPca, Pca, Points, Result};

// P19
#[test]
fn constant_points_have_no_variance_and_nothing_is_nan() -> Result<()> {
    for value in [0.0, 0.1, -7.0, 1e8, 1e-8] {
        let x = Points::from_fn(20, 3, |_, j| value * (j + 1) as f64);
        for route in ROUTES {
            for (standardise, whiten) in [(false, false), (true, false), (false, true), (true, true)] {
                let what = format!("{value} {route:?} {standardise} {whiten}");
                let model = Pca::new().standardise(standardise).whiten(whiten).route(route).fit(&x)?;
                assert_finite_pca(&what, &model, &x);
                assert_eq!(model.spectrum().rank(), 0, "{what}");
                assert_eq!(model.spectrum().total(), 0.0, "{what}");
                assert!(model.spectrum().ratios().iter().all(|r| *r == 0.0), "{what}");
                let scores = model.transform(&x)?;
                assert!(scores.as_slice().iter().all(|z| *z == 0.0), "{what}");
                assert_eq!(model.reconstruct(&scores)?, x, "{what}");
                assert_eq!(model.components(), if whiten { 0 } else { 3 }, "{what}");
            }
        }
        let shared = Pca::new().components(Components::Share(0.9)).fit(&x)?;
        assert_finite_pca("by share", &shared, &x);
    }
    Ok(())
}

// P19
#[test]
fn kernels_of_constant_points_have_no_components() -> Result<()> {
    for value in [0.0, 0.1, -7.0, 1e8, 1e-8] {
        let x = Points::from_fn(20, 3, |_, j| value * (j + 1) as f64);
        for text in FIXED.into_iter().chain(KERNELS.iter().map(|e| e.name)).chain(["gaussian(gamma=scale)"]) {
            let what = format!("{text} of {value}");
            let domain = kernel(text).domain();
            let (x, new) = (conformance::within(domain, &x), conformance::within(domain, &normal(5, 3, 1)));
            for components in [Components::All, Components::Count(2), Components::Share(0.9)] {
                let model = KernelPca::new(kernel(text)).components(components).fit(&x)?;
                assert_finite_kernel_pca(&what, &model, &x);
                assert_eq!((model.components(), model.spectrum().rank()), (0, 0), "{what}");
                assert!(model.spectrum().ratios().is_empty(), "{what}");
                assert!(!model.definiteness().expect("all eigenvalues are known").is_indefinite(), "{what}");
                let scores = model.transform(&new)?;
                assert_eq!((scores.n(), scores.d()), (5, 0), "{what}");
            }
        }
    }
    Ok(())
}

// P19
#[test]
fn a_constant_column_is_not_scaled() -> Result<()> {
    for value in [0.0, 0.1, 1e8 / 3.0, -1e-8] {
        let z = normal(40, 3, 12);
        let x = Points::from_fn(40, 4, |i, j| if j == 2 { value } else { z.row(i)[j.min(2)] + 10.0 });
        for route in ROUTES {
            let model = Pca::new().standardise(true).route(route).fit(&x)?;
            let what = format!("{value} {route:?}");
            assert_finite_pca(&what, &model, &x);
            assert_eq!(model.scale()[2], 1.0, "{what}");
            assert_eq!(model.mean()[2], value, "{what}");
            assert_eq!(model.spectrum().rank(), 3, "{what}");
            assert!((model.spectrum().variances().iter().sum::<f64>() - 3.0).abs() < 1e-12, "{what}");
            assert!(model.notes().iter().any(|n| n.contains("1 of 4 columns")), "{what}");
            let back = model.reconstruct(&model.transform(&x)?)?;
            let gap = largest_gap(&back.column(2), &[value; 40]);
            assert!(gap <= 1e-14 * (1.0 + value.abs()), "{what}: {gap}");
        }
    }
    Ok(())
}

// P19: the squares of such a column are nothing in f64, but the column is not constant.
#[test]
fn a_tiny_column_is_standardised_or_refused() {
    let z = normal(40, 2, 13);
    let mut wrong = Vec::new();
    for unit in [1e-130, 1e-158, 1e-170, 1e-300] {
        let x = Points::from_fn(40, 2, |i, j| z.row(i)[j] * if j == 0 { 1.0 } else { unit });
        for route in ROUTES {
            match Pca::new().standardise(true).route(route).fit(&x) {
                Err(e) if is_range(e.kind()) => {}
                Err(e) => wrong.push(format!("{unit:e} {route:?}: {e}")),
                Ok(model) => {
                    let total: f64 = model.spectrum().variances().iter().sum();
                    if (total - 2.0).abs() > 1e-9 {
                        wrong.push(format!("{unit:e} {route:?}: two unit variances, together {total}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
