//! How many components: one, many, a share of the variance; and kernels with negative eigenvalues.

use std::sync::{Arc, Mutex};

use crate::{blobs, dense, kernel, leading, violations};
use mercer::certificate::Passes;
use mercer::exec::Progress;
use mercer::testing::matrices::normal;
use mercer::{Components, Exec, KernelPca, Result};

#[test]
fn a_share_of_the_variance_takes_as_many_components_as_from_the_stored_matrix() -> Result<()> {
    let x = blobs(650, 5, 6, 81);
    for text in ["gaussian", "linear", "laplacian", "polynomial(degree=2, coef0=1)"] {
        let truth = KernelPca::new(kernel(text)).components(Components::All).fit(&x)?;
        let sums = truth.spectrum().cumulative();
        for share in [0.01, 0.3, 0.6, 0.85, 0.9] {
            let expected = sums.iter().position(|s| *s >= share).expect("a share below 1") + 1;
            if expected > 65 {
                continue;
            }
            let model = KernelPca::new(kernel(text)).components(share).fit(&x)?;
            assert!(!model.spectrum().is_complete(), "{text}");
            assert_eq!(model.components(), expected, "{share} of {text}");
            let own = 30.0 * f64::EPSILON * truth.spectrum().eigenvalues()[0];
            let wrong = violations(&model, truth.spectrum().eigenvalues(), own);
            assert!(wrong.is_empty(), "{share} of {text}: {wrong:#?}");
        }
    }
    Ok(())
}

#[test]
fn a_large_share_of_a_flat_spectrum_is_found_too() -> Result<()> {
    let x = normal(620, 8, 82);
    let truth = KernelPca::new(kernel("gaussian(gamma=2)")).components(Components::All).fit(&x)?;
    let expected = truth.spectrum().cumulative().iter().position(|s| *s >= 0.6).expect("a share below 1") + 1;
    let model = KernelPca::new(kernel("gaussian(gamma=2)")).components(0.6).fit(&x)?;
    assert_eq!(model.components(), expected);
    Ok(())
}

#[test]
fn the_passes_that_are_reported_are_those_that_were_made() -> Result<()> {
    for (n, components) in [
        (800, Components::Count(5)),
        (800, Components::Share(0.5)),
        (800, Components::Share(0.9)),
        (4200, Components::Count(3)),
    ] {
        let x = normal(n, 6, 83);
        let counted = Arc::new(Mutex::new((0, 0)));
        let count = Arc::clone(&counted);
        let exec = Exec::new().progress(Arc::new(move |p| {
            if let Progress::Pass { in_f64: exact, .. } = p {
                let mut count = count.lock().expect("no panic");
                *if exact { &mut count.1 } else { &mut count.0 } += 1;
            }
        }));
        let model = KernelPca::new(kernel("gaussian")).components(components).fit_with(&x, &exec)?;
        let (in_f32, in_f64) = *counted.lock().expect("no panic");
        assert_eq!(model.certificate().passes(), Passes { f32: in_f32, f64: in_f64 }, "{components:?} of {n}");
    }
    Ok(())
}

#[test]
fn one_component_and_as_many_as_passes_find() -> Result<()> {
    let x = blobs(660, 6, 6, 84);
    for text in ["gaussian", "laplacian"] {
        let truth = dense(&leading(text, 1, &x)?, &x)?;
        let own = 30.0 * f64::EPSILON * truth.spectrum().eigenvalues()[0];
        for k in [1, 2, 65, 66] {
            let model = leading(text, k, &x)?;
            assert_eq!(model.components(), k, "{text}");
            let wrong = violations(&model, truth.spectrum().eigenvalues(), own);
            assert!(wrong.is_empty(), "{text}, {k}: {wrong:#?}");
        }
    }
    Ok(())
}

#[test]
fn more_components_than_the_memory_has_room_for_are_refused() {
    let x = blobs(3000, 5, 6, 85);
    let exec = Exec::new().memory(40_000_000);
    let error = KernelPca::new(kernel("gaussian")).components(2999).fit_with(&x, &exec).expect_err("40 MB");
    assert!(matches!(error.kind(), mercer::ErrorKind::Memory { .. }) && error.help().is_some(), "{error}");
}

#[test]
fn the_route_changes_no_share_of_an_indefinite_kernel() -> Result<()> {
    // If all pairs fit the memory, all eigenvalues of an indefinite kernel are computed.
    let x = normal(2001, 4, 87);
    let pca = KernelPca::new(kernel("sigmoid(gamma=0.5, coef0=1)")).components(4);
    let many = pca.fit(&x)?;
    let few = pca.fit(&mercer::Points::from_fn(2000, 4, |i, j| x.row(i)[j]))?;
    assert!(few.spectrum().is_complete() && many.spectrum().is_complete());
    let (a, b) = (many.spectrum().cumulative()[3], few.spectrum().cumulative()[3]);
    assert!(
        (a - b).abs() < 0.02,
        "4 components explain {a:.3} of the variance of 2001 points and {b:.3} of that of 2000"
    );
    Ok(())
}
