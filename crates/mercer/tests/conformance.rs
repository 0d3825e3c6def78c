//! Every kernel of the table through the conformance suite.
#![allow(missing_docs)]

use mercer::kernel::registry::KERNELS;
use mercer::testing::conformance;
use mercer::{Kernel, Points, Result};

#[test]
fn every_kernel_of_the_table_conforms() -> Result<()> {
    let wrong = conformance::table()?;
    assert!(wrong.is_empty(), "{} violations, the first: {:#?}", wrong.len(), &wrong[..wrong.len().min(12)]);
    Ok(())
}

#[test]
fn sums_products_and_normalisations_conform() -> Result<()> {
    let leaves: Vec<Kernel> = KERNELS.iter().filter(|e| e.psd).flat_map(|e| conformance::examples(e, 3)).collect();
    let x = conformance::points(mercer::kernel::Domain::NonNegative, 3, 5);
    for pair in leaves.windows(2) {
        let (a, b) = (pair[0].clone(), pair[1].clone());
        for made in [a.clone() + b.clone(), 0.3 * a.clone() * b.clone(), (2.0 * a + b).normalised()] {
            let wrong = conformance::kernel(&made, &x)?;
            assert!(wrong.is_empty(), "{wrong:#?}");
        }
    }
    Ok(())
}

#[test]
fn a_function_that_is_not_a_kernel_is_detected() -> Result<()> {
    let x = conformance::points(mercer::kernel::Domain::All, 2, 1);
    let one_sided = |x: &[f64], y: &[f64]| x[0] - y[1];
    assert!(conformance::function(one_sided, &x, false).iter().any(|w| w.contains("not symmetric")));
    let sigmoid: Kernel = "sigmoid(gamma=1, coef0=-1)".parse()?;
    assert!(conformance::function(|a, b| sigmoid.eval(a, b), &x, true).iter().any(|w| w.contains("semi-definite")));
    Ok(())
}

#[test]
fn values_by_hand() -> Result<()> {
    let value = |text: &str, x: &[f64], y: &[f64]| text.parse::<Kernel>().map(|k| k.eval(x, y));
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-15, "{found} {expected}");
    near(value("tanimoto", &[1.0, 1.0, 0.0, 1.0], &[1.0, 0.0, 1.0, 1.0])?, 0.5);
    near(value("tanimoto", &[0.0, 0.0], &[0.0, 0.0])?, 1.0);
    near(value("chi2(gamma=0.5)", &[1.0, 0.0, 3.0], &[3.0, 0.0, 1.0])?, (-1.0f64).exp());
    near(value("periodic(period=2, length=0.5)", &[0.25], &[0.75])?, (-8.0 * 0.5f64).exp());
    near(value("periodic(period=2)", &[0.25], &[20_000_000_000.25])?, 1.0);
    near(value("gamma_exponential(power=0.5, length=4)", &[0.0], &[16.0])?, (-2.0f64).exp());
    near(value("gaussian(length=[1, 2, 0.5])", &[0.0; 3], &[1.0, 2.0, 0.5])?, (-1.5f64).exp());
    near(value("gaussian(length=3)", &[0.0], &[3.0])?, (-0.5f64).exp());
    Ok(())
}

#[test]
fn points_outside_the_domain_are_refused_with_their_place() -> Result<()> {
    let spec = mercer::KernelPca::new("chi2".parse()?).components(1);
    let x = Points::from_rows(&[[1.0, 2.0], [0.0, 4.0], [3.0, 1.0]]);
    let model = spec.fit(&x)?;
    let bad = Points::from_rows(&[[1.0, 2.0], [3.0, -4.0]]);
    for error in [spec.fit(&bad).map(|_| ()), model.transform(&bad).map(|_| ())] {
        let error = error.expect_err("a negative value").to_string();
        assert!(error.contains("value -4 in row 1, column 1") && error.contains("value >= 0"), "{error}");
    }
    let lengths = mercer::KernelPca::new("gaussian(length=[1, 2, 3])".parse()?).fit(&x).expect_err("three lengths");
    assert!(lengths.to_string().contains("expected 2 numbers, one per dimension"), "{lengths}");
    Ok(())
}
