//! Huge and tiny numbers give finite results or are refused.

use crate::common::{ROUTES, faults_of_kernel_pca, largest_gap, map};
use crate::{FIXED, finite_or_refused, is_range, kernel};
use mercer::kernel::registry::KERNELS;
use mercer::state::Moments;
use mercer::testing::conformance;
use mercer::testing::matrices::normal;
use mercer::{ErrorKind, Kernel, KernelPca, KernelPcaModel, Pca, Points, Result};

// P24: the kernel of a new point with itself may leave the range though none with the fitted points does.
#[test]
fn errors_of_far_points_are_finite_or_refused() -> Result<()> {
    let x = normal(10, 1, 17);
    let new = Points::from_rows(&[[1e160]]);
    let flat = Pca::new().components(1).fit(&normal(10, 2, 17))?;
    let linear = KernelPca::new(Kernel::linear()).fit(&x)?;
    let own = KernelPca::custom().fit_fn(&x, |a, b| if a[0] > 9.0 && b[0] > 9.0 { f64::NAN } else { a[0] * b[0] })?;
    let wrong: Vec<String> = [
        finite_or_refused("pca", flat.squared_errors(&Points::from_rows(&[[1e160, 1e160]]))),
        finite_or_refused("linear", linear.squared_errors(&new)),
        finite_or_refused("linear, norms", linear.centred_norms(&new)),
        finite_or_refused("a function", own.squared_errors(&Points::from_rows(&[[10.0]]))),
    ]
    .into_iter()
    .flatten()
    .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

// P24
#[test]
fn scores_of_far_points_are_finite_or_refused() -> Result<()> {
    let x = map(&normal(10, 2, 18), |v| v * 1e-3);
    let model = Pca::new().whiten(true).fit(&x)?;
    for size in [1e300, 1e307, f64::MAX] {
        let scores = model.transform(&Points::from_rows(&[[size, -size]])).map(Points::into_vec);
        assert_eq!(finite_or_refused(&format!("{size:e}"), scores), None);
    }
    Ok(())
}

#[test]
fn huge_points_are_refused_rather_than_infinite() {
    for size in [1e160, 1e200, 1e300, 1e308] {
        let x = map(&normal(12, 3, 29), |v| v.clamp(-1.7, 1.7) * size);
        for route in ROUTES {
            for center in [true, false] {
                let error = Pca::new().center(center).route(route).fit(&x).expect_err("too large");
                assert!(is_range(error.kind()), "{route:?} {size}: {error}");
            }
        }
    }
}

fn sound_or_refused(what: &str, model: Result<KernelPcaModel>, x: &Points) -> Option<String> {
    match model {
        Ok(model) => match faults_of_kernel_pca(&model, x) {
            faults if faults.is_empty() => None,
            faults => Some(format!("{what}: {faults:?}")),
        },
        Err(e) if is_range(e.kind()) => None,
        Err(e) => Some(format!("{what}: {e}")),
    }
}

#[test]
fn kernels_of_huge_points_are_finite_or_refused() {
    let mut wrong = Vec::new();
    for size in [1e160, 1e200, 1e300, 1e308] {
        let x = map(&normal(12, 3, 29), |v| v.clamp(-1.7, 1.7) * size);
        for text in FIXED.into_iter().chain(KERNELS.iter().map(|e| e.name)) {
            let x = conformance::within(kernel(text).domain(), &x);
            wrong.extend(sound_or_refused(&format!("{text} of {size:e}"), KernelPca::new(kernel(text)).fit(&x), &x));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn moments_of_huge_points_are_finite_or_refused() {
    for size in [1e160, 1e200, 1e308] {
        let moments = Moments::of(&map(&normal(12, 3, 29), |v| v.clamp(-1.7, 1.7) * size));
        let numbers = moments.map(|m| {
            let (scatter, about) = (m.scatter(), m.scatter_about_origin());
            [m.mean(), scatter.as_slice().to_vec(), about.as_slice().to_vec()].concat()
        });
        assert_eq!(finite_or_refused(&format!("{size:e}"), numbers), None);
    }
}

#[test]
fn kernels_with_a_huge_weight_are_finite_or_refused() {
    let x = normal(12, 3, 30);
    let mut wrong = Vec::new();
    for weight in [1e300, 1e306, 1e307, 1e308, f64::MAX] {
        for text in ["gaussian", "linear", "cosine"] {
            let what = format!("{weight:e}*{text}");
            wrong.extend(sound_or_refused(&what, KernelPca::new(weight * kernel(text)).fit(&x), &x));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn tiny_points_are_refused_by_pca() {
    for size in [1e-150, 1e-200, 1e-300, 1e-310] {
        let x = map(&normal(12, 3, 31), |v| v * size);
        for route in ROUTES {
            let error = Pca::new().route(route).fit(&x).expect_err("squares are 0");
            assert!(matches!(error.kind(), ErrorKind::Range { .. }), "{route:?} {size}: {error}");
        }
    }
    let x = map(&normal(12, 3, 31), |v| v * 1e-130);
    assert_eq!(Pca::new().fit(&x).expect("squares are numbers").spectrum().rank(), 3);
}

#[test]
fn kernels_distinguish_tiny_points() {
    let z = normal(12, 3, 31);
    let mut wrong = Vec::new();
    for size in [1e-158, 1e-200, 1e-300] {
        let x = map(&z, |v| v * size);
        for text in ["linear", "polynomial", "gaussian", "gaussian(gamma=scale)", "laplacian", "matern", "rq", "cosine"]
        {
            match KernelPca::new(kernel(text)).fit(&x) {
                Err(e) if is_range(e.kind()) => {}
                Err(e) => wrong.push(format!("{text} of {size:e}: {e}")),
                Ok(model) => {
                    let truth = KernelPca::new(kernel(text)).fit(&z).expect("ordinary points");
                    let (found, truth) = (model.spectrum().ratios(), truth.spectrum().ratios());
                    if found.len() != truth.len() || largest_gap(&found, &truth) > 1e-9 {
                        let chosen = model.choices().iter().map(ToString::to_string).collect::<Vec<_>>();
                        wrong.push(format!(
                            "{text} of {size:e}: {} components of {} {chosen:?}",
                            found.len(),
                            truth.len()
                        ));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

// Their squares are nothing in f64, and so are their differences: PCA finds no variance, and neither does kernel PCA.
#[test]
fn equal_tiny_points_have_no_variance() -> Result<()> {
    let x = map(&normal(12, 3, 31), |_| 1e-227);
    assert_eq!(Pca::new().fit(&x)?.spectrum().rank(), 0);
    for text in ["linear", "2*linear", "polynomial(degree=2, coef0=1)", "gaussian(gamma=1)"] {
        assert_eq!(KernelPca::new(kernel(text)).fit(&x)?.components(), 0, "{text}");
    }
    // The angle between two such points is lost.
    for text in ["cosine", "normalised(linear)", "tanimoto"] {
        let error = KernelPca::new(kernel(text)).fit(&x).expect_err("squares are 0");
        assert!(is_range(error.kind()), "{text}: {error}");
    }
    Ok(())
}
