//! Kernel PCA is invariant to shifts of the points if the kernel is.

use crate::common::{largest_gap, map, relative, to_f32};
use crate::kernel;
use mercer::testing::matrices::normal;
use mercer::testing::ratios::aligned_difference;
use mercer::{KernelPca, Points, Result};

/// Points on a grid of 1/1024, which survive a shift by a million exactly.
fn on_a_grid(n: usize, d: usize) -> Points {
    map(&normal(n, d, 3), |v| (v * 1024.0).round() / 1024.0)
}

// P3
#[test]
fn kernels_of_distances_are_invariant_to_shifts() -> Result<()> {
    let x = on_a_grid(60, 3);
    let shifted = map(&x, |v| v + 1e6);
    for text in ["gaussian", "gaussian(over_2sigma2=1e5)", "laplacian", "matern(nu=1/2)", "matern", "rq(alpha=2)"] {
        let fit = |x: &Points| KernelPca::new(kernel(text)).components(8).fit(x);
        let (here, there) = (fit(&x)?, fit(&shifted)?);
        assert_eq!(here.spectrum(), there.spectrum(), "{text}");
        assert_eq!(here.alpha(), there.alpha(), "{text}");
        assert_eq!(here.transform(&x)?, there.transform(&shifted)?, "{text}");
        assert_eq!(here.squared_errors(&x)?, there.squared_errors(&shifted)?, "{text}");
    }
    Ok(())
}

// P3
#[test]
fn the_centred_linear_kernel_is_invariant_to_shifts() -> Result<()> {
    let x = on_a_grid(60, 3);
    for text in ["linear", "linear + gaussian(gamma=0.2)", "3*linear + 0.5*(linear + matern(length=2))"] {
        let here = KernelPca::new(kernel(text)).components(3).fit(&x)?;
        for offset in [1e3, 1e6, 1e8] {
            let shifted = map(&x, |v| v + offset);
            let there = KernelPca::new(kernel(text)).components(3).fit(&shifted)?;
            assert!(relative(there.spectrum().eigenvalues(), here.spectrum().eigenvalues()) < 1e-12, "{text} {offset}");
            let (a, b) = (there.transform(&shifted)?, here.transform(&x)?);
            assert!(aligned_difference(&a, &b) < 1e-11, "{text} {offset}");
            let (a, b) = (there.squared_errors(&shifted)?, here.squared_errors(&x)?);
            assert!(largest_gap(&a, &b) < 1e-10, "{text} {offset}");
        }
    }
    Ok(())
}

// P3
#[test]
fn kernels_of_distances_of_f32_points_are_invariant_to_shifts() -> Result<()> {
    let x = on_a_grid(60, 3);
    let (here, there) = (to_f32(&x), to_f32(&map(&x, |v| v + 1e3)));
    for text in ["gaussian", "laplacian", "matern(nu=5/2)", "rational_quadratic"] {
        let fit = |x: &Points<f32>| Ok::<_, mercer::Error>(KernelPca::new(kernel(text)).fit(x)?.spectrum().clone());
        assert_eq!(fit(&here)?, fit(&there)?, "{text}");
    }
    Ok(())
}

// P3: the numbers that are chosen for the kernel, and those components that are almost nothing, are the same as well.
#[test]
fn a_sum_of_gaussian_and_linear_is_invariant_to_shifts() -> Result<()> {
    let x = on_a_grid(60, 3);
    let shifted = map(&x, |v| v + 1e6);
    for text in ["gaussian + linear", "linear + gaussian(over_2sigma2=1e5)", "0.1*linear + 7*gaussian(gamma=1)"] {
        let (here, there) = (KernelPca::new(kernel(text)).fit(&x)?, KernelPca::new(kernel(text)).fit(&shifted)?);
        assert_eq!(here.choices(), there.choices(), "{text}");
        assert_eq!(here.spectrum().rank(), there.spectrum().rank(), "{text}");
        assert!(
            !there.definiteness().expect("all eigenvalues are known").is_indefinite(),
            "{text}: {}",
            there.definiteness().expect("all eigenvalues are known")
        );
        let (a, b) = (here.spectrum().eigenvalues(), there.spectrum().eigenvalues());
        assert!(largest_gap(a, b) < 1e-13 * a[0], "{text}: {:e} of {:e}", largest_gap(a, b), a[0]);
        assert!(relative(&b[..3], &a[..3]) < 1e-13, "{text}");
    }
    Ok(())
}
