//! All kernels and combinations of kernels: fits by passes against the stored matrix.

use crate::{blobs, dense, kernel, leading, violations};
use mercer::kernel::registry::KERNELS;
use mercer::testing::conformance;
use mercer::testing::matrices::normal;
use mercer::{KernelPca, KernelPcaModel, Points, Result};

/// Combinations of kernels.
const MADE: [&str; 16] = [
    "gaussian + linear",
    "0.5*gaussian(gamma=0.01) + linear",
    "3*polynomial(coef0=1) + 0.1*cosine",
    "gaussian * linear",
    "gaussian * laplacian * matern(nu=5/2)",
    "2*matern(length=5) * (polynomial(coef0=1) + cosine)",
    "normalised(linear)",
    "normalised(linear + gaussian(gamma=0.1))",
    "normalised(polynomial(degree=4, coef0=2)) * rational_quadratic",
    "linear + normalised(gaussian * polynomial)",
    "normalised(normalised(linear + 1e3*laplacian))",
    "1e-3*gaussian + 1e3*gaussian(gamma=1e-3)",
    "matern(nu=1/2) + matern(nu=3/2) + matern(nu=5/2)",
    "laplacian * laplacian",
    "gaussian(over_sigma2=150)",
    "rational_quadratic(alpha=0.3) + 2*linear",
];

/// Components against those of the stored matrix, and scores of the fitted points against those of the same points as
/// new ones.
fn compare(text: &str, k: usize, x: &Points) -> Result<Vec<String>> {
    let model = leading(text, k, x)?;
    let truth = dense(&model, x)?;
    let values = truth.spectrum().eigenvalues();
    let mut wrong = violations(&model, values, 30.0 * f64::EPSILON * values[0]);
    if model.components() != k.min(truth.components()) {
        wrong.push(format!("{} components where {} are", model.components(), truth.components()));
    }
    wrong.extend(scores_of_fitted(&model, x)?);
    Ok(wrong.into_iter().map(|w| format!("{text}: {w}")).collect())
}

/// K~ alpha = (lambda u + r) / sqrt(lambda): scores may differ by r / sqrt(lambda), and by rounding.
fn scores_of_fitted(model: &KernelPcaModel, x: &Points) -> Result<Vec<String>> {
    let (scores, known, c) = (model.transform(x)?, model.scores(), model.certificate());
    let mut wrong = Vec::new();
    for j in 0..model.components() {
        let gap: f64 = (0..x.n()).map(|i| (scores.row(i)[j] - known.row(i)[j]).powi(2)).sum::<f64>().sqrt();
        let allowed = (c.residuals()[j] + 2.0 * c.rounding()) / model.spectrum().eigenvalues()[j].sqrt();
        if gap > allowed {
            wrong.push(format!("scores {j} of the fitted points are {gap:.2e} apart, {allowed:.2e} allowed"));
        }
    }
    Ok(wrong)
}

#[test]
fn every_kernel_of_the_registry_is_as_from_the_stored_matrix() -> Result<()> {
    // So many points that distances come from products.
    let x = blobs(1030, 4, 5, 31);
    let mut wrong = Vec::new();
    for entry in KERNELS.iter().filter(|e| e.psd) {
        wrong.extend(compare(entry.name, 4, &conformance::within(entry.domain, &x))?);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

#[test]
fn sums_products_weights_and_normalisations_are_as_from_the_stored_matrix() -> Result<()> {
    let x = blobs(640, 4, 5, 32);
    let mut wrong = Vec::new();
    for text in MADE {
        wrong.extend(compare(text, 6, &x)?);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

#[test]
fn standardised_points_are_as_from_the_stored_matrix() -> Result<()> {
    let z = normal(640, 4, 33);
    let x = Points::from_fn(640, 4, |i, j| 1e3 * j as f64 + z.row(i)[j] * 10f64.powi(2 * j as i32 - 3));
    let pca = KernelPca::new(kernel("gaussian + linear")).standardise(true);
    let (model, truth) = (pca.clone().components(4).fit(&x)?, pca.fit(&x)?);
    let values = truth.spectrum().eigenvalues();
    let mut wrong = violations(&model, values, 30.0 * f64::EPSILON * values[0]);
    wrong.extend(scores_of_fitted(&model, &x)?);
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

#[test]
fn new_points_have_the_scores_that_the_stored_matrix_gives_them() -> Result<()> {
    let (x, new) = (blobs(1030, 4, 5, 34), blobs(40, 4, 5, 35));
    for text in ["gaussian", "laplacian", "normalised(linear + gaussian)", "matern * polynomial(coef0=1)"] {
        let model = KernelPca::new(kernel(text)).components(3).tolerance(1e-10).fit(&x)?;
        let truth = KernelPca::new(model.kernel().expect("a kernel").clone()).fit(&x)?;
        let (a, b) = (model.transform(&new)?, truth.transform(&new)?);
        for j in 0..3 {
            let column = |z: &Points| (0..new.n()).map(|i| z.row(i)[j]).collect::<Vec<f64>>();
            let (a, b) = (column(&a), column(&b));
            let sign = if a.iter().zip(&b).map(|(a, b)| a * b).sum::<f64>() < 0.0 { -1.0 } else { 1.0 };
            let gap = a.iter().zip(&b).map(|(a, b)| (a - sign * b).abs()).fold(0.0, f64::max);
            assert!(sign == 1.0, "{text}: the sign of component {j}");
            assert!(gap < 1e-7 * crate::common::largest(&b), "{text}, {j}: {gap:e}");
        }
        let (a, b) = (model.centred_norms(&new)?, truth.centred_norms(&new)?);
        assert!(crate::common::largest_gap(&a, &b) < 1e-11 * crate::common::largest(&b), "{text}: centred norms");
    }
    Ok(())
}

#[test]
fn every_kernel_goes_through_f32_and_back() -> Result<()> {
    let x = blobs(4100, 4, 5, 36);
    let mut wrong = Vec::new();
    for text in KERNELS.iter().filter(|e| e.psd).map(|e| e.name).chain(MADE.into_iter().step_by(3)) {
        let x = conformance::within(kernel(text).domain(), &x);
        let model = leading(text, 3, &x)?;
        let c = model.certificate();
        if c.passes().f32 == 0 {
            wrong.push(format!("{text}: no pass in f32"));
        }
        if c.worst_residual() > 1e-6 {
            wrong.push(format!("{text}: {}", c.worst_residual()));
        }
        wrong.extend(scores_of_fitted(&model, &x)?.into_iter().map(|w| format!("{text}: {w}")));
        let better = KernelPca::new(model.kernel().expect("a kernel").clone()).components(5).tolerance(1e-9).fit(&x)?;
        let found = violations(&model, better.spectrum().eigenvalues(), better.certificate().rounding());
        wrong.extend(found.into_iter().map(|w| format!("{text}: {w}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

#[test]
fn mapped_points_go_through_f32_whatever_their_units() -> Result<()> {
    // Only the mapped points matter: the plain ones are far apart in units of any width.
    let x = blobs(2000, 4, 5, 37);
    let x = Points::from_fn(x.n(), x.d(), |i, j| 1e4 * x.row(i)[j] + 1e6);
    for text in ["gaussian(length=[2e4, 2e4, 3e4, 1e4])", "periodic(period=1e5)", "cosine", "tanimoto"] {
        let model = leading(text, 3, &x)?;
        assert!(model.certificate().passes().f32 > 0, "{text}: no pass in f32");
        let values = dense(&model, &x)?;
        let values = values.spectrum().eigenvalues();
        let wrong = violations(&model, values, 30.0 * f64::EPSILON * values[0]);
        assert!(wrong.is_empty(), "{text}: {wrong:#?}");
    }
    // A power below 1 distinguishes points that are equal in f32.
    let model = leading("gamma_exponential(power=0.3, length=1e4)", 3, &x)?;
    assert_eq!(model.certificate().passes().f32, 0);
    Ok(())
}
