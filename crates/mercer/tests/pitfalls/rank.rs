//! The number of components is the rank of the features; rounding adds none.

use crate::common::to_f32;
use crate::kernel;
use mercer::testing::matrices::normal;
use mercer::testing::naive;
use mercer::{Kernel, KernelPca, Result};

// P6
#[test]
fn three_dimensions_of_f32_give_three_linear_components() -> Result<()> {
    let x = to_f32(&normal(400, 3, 6));
    assert_eq!(KernelPca::new(Kernel::linear()).fit(&x)?.components(), 3);
    assert_eq!(KernelPca::new(Kernel::polynomial(2, 0.0)).fit(&x)?.components(), 6);
    Ok(())
}

// P11
#[test]
fn one_dimension_has_many_kernel_components() -> Result<()> {
    let x = normal(50, 1, 11);
    for text in ["gaussian", "laplacian", "matern", "rational_quadratic", "polynomial(degree=6, coef0=1)"] {
        let model = KernelPca::new(kernel(text)).components(5).fit(&x)?;
        assert_eq!(model.components(), 5, "{text}");
        let (truth, _) = naive::kernel_pca(model.kernel().expect("a kernel"), &x, 5);
        for (j, (found, truth)) in model.spectrum().eigenvalues().iter().zip(&truth).enumerate() {
            assert!((found - truth).abs() <= 2.0 * model.certificate().radius(j), "{text}: {found} {truth}");
        }
    }
    Ok(())
}
