//! All routes of PCA give the same model.

use crate::common::largest_gap;
use crate::strategies::{config, no_error, some_points};
use mercer::testing::ratios::{THRESHOLD, difference};
use mercer::{Pca, Route};
use proptest::prelude::*;

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn routes_agree(x in some_points(2..20, 1..8), center in any::<bool>(), standardise in any::<bool>()) {
        let fit = |route| no_error(Pca::new().center(center).standardise(standardise).route(route).fit(&x));
        let truth = fit(Route::Svd)?;
        let values = truth.spectrum().eigenvalues();
        for route in [Route::Auto, Route::Covariance, Route::Gram] {
            let model = fit(route)?;
            prop_assert!(difference(model.spectrum().eigenvalues(), values, x.n().max(x.d())) < THRESHOLD);
            prop_assert_eq!(model.mean(), truth.mean());
            prop_assert_eq!(model.scale(), truth.scale());
            for k in (1..values.len()).filter(|&k| values[k - 1] - values[k] > 1e-2 * values[0]) {
                let errors = |route| {
                    let pca = Pca::new().center(center).standardise(standardise).route(route).components(k);
                    no_error(pca.fit(&x).and_then(|m| m.squared_errors(&x)))
                };
                prop_assert!(largest_gap(&errors(route)?, &errors(Route::Svd)?) <= 1e-11 * values[0]);
            }
        }
    }
}
