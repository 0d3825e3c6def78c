//! Extreme points: results are finite, or the points are refused.

use crate::common::{ROUTES, faults_of_kernel_pca, faults_of_pca};
use crate::strategies::{any_kernel, config, no_error};
use mercer::kernel::registry::KERNELS;
use mercer::testing::conformance;
use mercer::testing::matrices::{POINTS, points};
use mercer::{Kernel, KernelPca, Pca, Points, Result};
use proptest::prelude::*;

/// Extreme numbers.
fn nasty_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -2.0..2.0f64,
        2 => Just(0.0),
        1 => Just(-0.0),
        1 => Just(1e8 + 0.5),
        1 => Just(1e-8),
        1 => Just(1e15),
        1 => Just(1e-170),
        1 => Just(1e-310),
        1 => Just(1e100),
        1 => Just(-1e139),
        1 => Just(1e153),
        1 => Just(1e200),
        1 => Just(f64::MAX),
        1 => Just(f64::MIN),
    ]
}

fn nasty_points() -> impl Strategy<Value = Points> {
    (1..7usize, 1..4usize, prop::collection::vec(nasty_number(), 3)).prop_flat_map(|(n, d, few)| {
        // A few different numbers only, so that no case is refused for one wild value among many.
        prop::collection::vec(prop::sample::select(few), n * d)
            .prop_map(move |v| Points::new(v, n, d).expect("n d values"))
    })
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn pca_of_nasty_points_is_finite_or_refused(
        x in nasty_points(), route in prop::sample::select(ROUTES.to_vec()),
        center in any::<bool>(), standardise in any::<bool>(), whiten in any::<bool>(),
    ) {
        let pca = Pca::new().route(route).center(center).standardise(standardise).whiten(whiten);
        if let Ok(model) = pca.fit(&x) {
            let faults = faults_of_pca(&model, &x);
            prop_assert!(faults.is_empty(), "{faults:?}");
            prop_assert!(model.spectrum().eigenvalues().iter().all(|v| *v >= 0.0));
            prop_assert!(model.components() <= x.n().min(x.d()));
            prop_assert!(model.spectrum().rank() <= x.n().min(x.d()));
        }
    }

    #[test]
    fn kernel_pca_of_nasty_points_is_finite_or_refused(x in nasty_points(), kernel in any_kernel()) {
        if let Ok(model) = KernelPca::new(kernel).fit(&x) {
            let faults = faults_of_kernel_pca(&model, &x);
            prop_assert!(faults.is_empty(), "{faults:?}");
            prop_assert!(model.spectrum().eigenvalues().iter().all(|v| *v > 0.0));
            prop_assert!(model.components() < x.n());
        }
    }

    #[test]
    fn rules_for_nasty_points_are_finite_or_refused(x in nasty_points(), at in 0..KERNELS.len()) {
        let kernel: Kernel = no_error(KERNELS[at].name.parse())?;
        let x = conformance::within(KERNELS[at].domain, &x);
        if let Ok(model) = KernelPca::new(kernel).fit(&x) {
            let faults = faults_of_kernel_pca(&model, &x);
            prop_assert!(faults.is_empty(), "{faults:?}");
        }
    }
}

#[test]
fn all_numbers_in_models_of_the_nasty_points_are_finite() -> Result<()> {
    for number in 0..POINTS {
        let (name, x) = points(number);
        for route in ROUTES {
            for options in 0..8 {
                let (center, standardise, whiten) = (options & 1 == 0, options & 2 == 0, options & 4 == 0);
                let pca = Pca::new().route(route).center(center).standardise(standardise).whiten(whiten);
                let faults = faults_of_pca(&pca.fit(&x)?, &x);
                assert!(faults.is_empty(), "{name}, {pca:?}: {faults:?}");
            }
        }
        for entry in KERNELS {
            let x = conformance::within(entry.domain, &x);
            let model = KernelPca::new(entry.name.parse()?).fit(&x)?;
            let faults = faults_of_kernel_pca(&model, &x);
            assert!(faults.is_empty(), "{name}, {}: {faults:?}", entry.name);
            assert!(
                !entry.psd || !model.definiteness().expect("all eigenvalues are known").is_indefinite(),
                "{name}, {}",
                entry.name
            );
        }
    }
    Ok(())
}
