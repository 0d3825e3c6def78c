//! A model taken apart and put together again is the same model.

use crate::strategies::{any_kernel, config, no_error, some_points};
use mercer::{KernelPca, KernelPcaModel, Pca, PcaModel};
use proptest::prelude::*;

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn parts_of_a_model_make_the_same_model(
        kernel in any_kernel(), x in some_points(2..10, 1..5), whiten in any::<bool>(),
    ) {
        let pca = no_error(Pca::new().whiten(whiten).standardise(true).fit(&x))?;
        let again = no_error(PcaModel::from_parts(pca.to_parts()))?;
        prop_assert_eq!(pca.to_parts(), again.to_parts());
        prop_assert_eq!(no_error(pca.transform(&x))?, no_error(again.transform(&x))?);
        let model = no_error(KernelPca::new(kernel).fit(&x))?;
        let parts = no_error(model.to_parts())?;
        let again = no_error(KernelPcaModel::from_parts(parts.clone()))?;
        prop_assert_eq!(&parts, &no_error(again.to_parts())?);
        prop_assert_eq!(no_error(model.transform(&x))?, no_error(again.transform(&x))?);
        prop_assert_eq!(no_error(model.squared_errors(&x))?, no_error(again.squared_errors(&x))?);
    }
}
