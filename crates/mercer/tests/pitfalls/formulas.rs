//! Kernels have the values of their formulas.

use crate::common::relative;
use crate::kernel;
use mercer::testing::matrices::normal;
use mercer::{Exec, Kernel, KernelPca, Points, Result, diagnose};

// P23
#[test]
fn cosine_is_the_cosine_and_positive() -> Result<()> {
    let k = Kernel::cosine();
    assert!((k.eval(&[1.0, 0.0], &[3.0, 0.0]) - 1.0).abs() < 1e-15);
    assert!(k.eval(&[1.0, 0.0], &[0.0, 2.0]).abs() < 1e-15);
    assert!((k.eval(&[1.0, 2.0], &[-2.0, -4.0]) + 1.0).abs() < 1e-15);
    assert_eq!(k.eval(&[0.0, 0.0], &[1.0, 2.0]), 0.0, "the zero vector has no direction");
    let mut x = normal(60, 3, 14);
    x.row_mut(7).fill(0.0);
    assert!(k.is_psd());
    let report = diagnose::check_kernel(&k, &x, &Exec::new())?;
    assert!(report.holds() && report.gram.largest > 0.0, "{report:?}");
    // Only directions count.
    let stretched = Points::from_fn(60, 3, |i, j| x.row(i)[j] * (1 + i) as f64);
    let (a, b) = (KernelPca::new(k.clone()).fit(&x)?, KernelPca::new(k).fit(&stretched)?);
    assert!(relative(a.spectrum().eigenvalues(), &b.spectrum().eigenvalues()[..3]) < 1e-12);
    Ok(())
}

// P23
#[test]
fn kernels_have_the_values_of_their_formulas() {
    let (x, y) = ([1.0, -2.0, 0.5], [0.0, 1.0, 2.5]);
    let (d2, l1, dot) = (14.0f64, 6.0f64, -0.75f64);
    for (text, expected) in [
        ("gaussian(gamma=0.3)", (-0.3 * d2).exp()),
        ("gaussian(over_sigma2=5)", (-d2 / 5.0).exp()),
        ("gaussian(over_2sigma2=5)", (-d2 / 10.0).exp()),
        ("laplacian(gamma=0.3)", (-0.3 * l1).exp()),
        ("matern(nu=1/2, length=2)", (-d2.sqrt() / 2.0).exp()),
        ("rq(alpha=2, length=3)", (1.0 + d2 / 36.0).powi(-2)),
        ("sigmoid(gamma=2, coef0=1)", (2.0 * dot + 1.0).tanh()),
        ("poly(gamma=2, coef0=1, degree=3)", (2.0 * dot + 1.0).powi(3)),
        ("linear", dot),
    ] {
        assert!((kernel(text).eval(&x, &y) / expected - 1.0).abs() < 1e-14, "{text}");
    }
}
