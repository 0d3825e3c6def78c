//! Points of f32 are points of f64 with the same numbers.

use crate::common::{ROUTES, to_f32};
use crate::strategies::{any_kernel, config, no_error, some_points};
use mercer::state::Moments;
use mercer::{KernelPca, Pca};
use proptest::prelude::*;

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn f32_points_are_f64_points(kernel in any_kernel(), x in some_points(2..12, 1..5)) {
        let narrow = to_f32(&x);
        let x = narrow.view().to_f64();
        for route in ROUTES {
            let pca = Pca::new().route(route).standardise(true);
            let (a, b) = (no_error(pca.fit(&narrow))?, no_error(pca.fit(&x))?);
            prop_assert_eq!(a.to_parts(), b.to_parts());
            prop_assert_eq!(no_error(a.transform(&narrow))?, no_error(b.transform(&x))?);
        }
        let pca = KernelPca::new(kernel);
        let (a, b) = (no_error(pca.fit(&narrow))?, no_error(pca.fit(&x))?);
        prop_assert_eq!(no_error(a.to_parts())?, no_error(b.to_parts())?);
        prop_assert_eq!(no_error(a.transform(&narrow))?, no_error(b.transform(&x))?);
        prop_assert_eq!(no_error(Moments::of(&narrow))?, no_error(Moments::of(&x))?);
    }
}
