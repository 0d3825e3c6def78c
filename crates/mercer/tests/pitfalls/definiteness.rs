//! Kernels that are not positive are reported, and rounding is not reported.

use crate::common::iris;
use crate::kernel;
use mercer::testing::naive;
use mercer::{Exec, KernelPca, Result, diagnose};

// P5
#[test]
fn an_indefinite_kernel_is_reported_for_every_number_of_components() -> Result<()> {
    let (x, _) = iris();
    for k in [1, 2, 10, 100] {
        let model = KernelPca::new(kernel("sigmoid(gamma=0.05, coef0=-1)")).components(k).fit(&x)?;
        let found = model.definiteness().expect("all eigenvalues are known");
        assert!(found.is_indefinite(), "{k}");
        assert!((found.smallest + 4.25).abs() < 0.005, "{k}: {}", found.smallest);
        assert!((found.largest - 1.54).abs() < 0.005, "{k}: {}", found.largest);
        assert!(found.negative_mass > 4.2 && found.negative_share() > 0.5, "{k}: {found:?}");
        assert!(model.notes().iter().any(|n| n.contains("not positive semi-definite")), "{k}");
        assert!(model.spectrum().eigenvalues().iter().all(|v| *v > 0.0));
        // Shares are of the whole mass: the negative part is not hidden.
        let share: f64 = model.spectrum().ratios().iter().sum();
        assert!(share < 0.5, "{k}: {share}");
    }
    Ok(())
}

// P5: what centring leaves of a wide kernel is small, but its rounding is that of the entries before.
#[test]
fn wide_kernels_are_found_positive() -> Result<()> {
    let (x, _) = iris();
    let mut wrong = Vec::new();
    for text in ["gaussian(gamma=0.1)", "gaussian(gamma=1e-4)", "gaussian(gamma=1e-8)", "rq(length=1e4)", "cosine"] {
        let report = diagnose::check_kernel(&kernel(text), &x, &Exec::new())?;
        if report.gram.is_indefinite() || report.centred.is_indefinite() {
            wrong.push(format!("{text}: {}; centred: {}", report.gram, report.centred));
        }
        let given = diagnose::check_gram(&naive::gram(&kernel(text), &x), &Exec::new())?;
        if given.gram.is_indefinite() || given.centred.is_indefinite() {
            wrong.push(format!("{text} given: {}; centred: {}", given.gram, given.centred));
        }
        let model = KernelPca::new(kernel(text)).fit(&x)?;
        assert!(
            !model.definiteness().expect("all eigenvalues are known").is_indefinite(),
            "{text}: {}",
            model.definiteness().expect("all eigenvalues are known")
        );
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}
