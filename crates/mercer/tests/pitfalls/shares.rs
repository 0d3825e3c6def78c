//! Variances have the right divisor and shares are of the true total.

use crate::common::{ROUTES, iris, relative};
use crate::kernel;
use mercer::testing::naive;
use mercer::{KernelPca, Pca, Result};

// P7
#[test]
fn variances_have_the_right_divisor_and_shares_the_true_total() -> Result<()> {
    let (x, _) = iris();
    let (_, truth, _) = naive::pca(&x);
    let total: f64 = truth.iter().sum();
    for route in ROUTES {
        for k in 1..=4 {
            let model = Pca::new().components(k).route(route).fit(&x)?;
            let s = model.spectrum();
            assert_eq!(s.divisor(), 149.0);
            assert!(relative(&s.variances(), &truth[..k]) < 1e-12, "{route:?} {k}");
            let population: Vec<f64> = truth[..k].iter().map(|v| v * 149.0 / 150.0).collect();
            assert!(relative(&s.population_variances(), &population) < 1e-12, "{route:?} {k}");
            let shares: Vec<f64> = truth[..k].iter().map(|v| v / total).collect();
            assert!(relative(&s.ratios(), &shares) < 1e-12, "{route:?} {k}");
            assert!((s.cumulative()[k - 1] - shares.iter().sum::<f64>()).abs() < 1e-12);
            assert!((s.discarded() / 149.0 - truth[k..].iter().sum::<f64>()).abs() < 1e-12 * total);
        }
    }
    let standardised = Pca::new().standardise(true).fit(&x)?;
    assert!((standardised.spectrum().variances().iter().sum::<f64>() - 4.0).abs() < 1e-12);
    let mean_square = Pca::new().center(false).fit(&x)?;
    assert_eq!(mean_square.spectrum().divisor(), 150.0);
    let expected = x.as_slice().iter().map(|v| v * v).sum::<f64>() / 150.0;
    assert!((mean_square.spectrum().variances().iter().sum::<f64>() / expected - 1.0).abs() < 1e-13);
    Ok(())
}

// P7
#[test]
fn shares_of_one_kernel_component_are_of_the_true_total() -> Result<()> {
    let (x, _) = iris();
    for text in ["gaussian", "linear", "laplacian", "cosine"] {
        let all = KernelPca::new(kernel(text)).fit(&x)?;
        let one = KernelPca::new(kernel(text)).components(1).fit(&x)?;
        assert_eq!(one.spectrum().ratios()[0], all.spectrum().ratios()[0], "{text}");
        assert!((all.spectrum().cumulative().last().expect("some") - 1.0).abs() < 1e-9, "{text}");
        let kept = one.spectrum().eigenvalues()[0] + one.spectrum().discarded();
        assert!((kept / one.spectrum().total() - 1.0).abs() < 1e-12, "{text}");
    }
    Ok(())
}
