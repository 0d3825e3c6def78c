//! Cases small enough to be solved by hand.

use crate::common::{ROUTES, inner_products, largest_gap};
use crate::gram_of;
use mercer::testing::ratios::{THRESHOLD, orthonormality};
use mercer::{Gamma, Kernel, KernelPca, Pca, Points, Result};

/// The square (1, 1), (-1, 1), (-1, -1), (1, -1).
fn square() -> Points {
    Points::from_rows(&[[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
}

// P13: sums of squares by hand: 9 + 1 + 1 + 9 = 20.
#[test]
fn four_points_on_a_line_by_hand() -> Result<()> {
    let x = Points::from_rows(&[[7.0], [9.0], [11.0], [13.0]]);
    let model = KernelPca::new(Kernel::linear()).fit(&x)?;
    let s = model.spectrum();
    assert_eq!(model.components(), 1);
    assert!((s.eigenvalues()[0] - 20.0).abs() < 1e-13);
    assert!((s.variances()[0] - 20.0 / 3.0).abs() < 1e-13 && (s.population_variances()[0] - 5.0).abs() < 1e-13);
    assert!((s.ratios()[0] - 1.0).abs() < 1e-13 && (s.total() - 20.0).abs() < 1e-13);
    // The entry of largest magnitude is positive; of the two the first.
    for scores in [model.scores(), model.transform(&x)?] {
        assert!(largest_gap(scores.as_slice(), &[3.0, 1.0, -1.0, -3.0]) < 1e-13, "{scores:?}");
    }
    // alpha = u / sqrt(lambda) = scores / lambda
    assert!(largest_gap(model.alpha().as_slice(), &[0.15, 0.05, -0.05, -0.15]) < 1e-14);
    let new = model.transform(&Points::from_rows(&[[10.0], [0.0]]))?;
    assert!(largest_gap(new.as_slice(), &[0.0, 10.0]) < 1e-13, "{new:?}");
    Ok(())
}

// P13: K of (x.y)^2 on -1, 0, 1, 2 is v v' with v = 1, 0, 1, 4; centred, its eigenvalue is |v - 3/2|^2 = 9.
#[test]
fn a_square_by_hand() -> Result<()> {
    let x = Points::from_rows(&[[-1.0], [0.0], [1.0], [2.0]]);
    let model = KernelPca::new(Kernel::polynomial(2, 0.0)).fit(&x)?;
    assert_eq!(model.components(), 1);
    assert!((model.spectrum().eigenvalues()[0] - 9.0).abs() < 1e-13);
    assert!(largest_gap(model.scores().as_slice(), &[-0.5, -1.5, -0.5, 2.5]) < 1e-13, "{:?}", model.scores());
    let new = model.transform(&Points::from_rows(&[[3.0]]))?;
    assert!((new.row(0)[0] - 7.5).abs() < 1e-12, "9 - 3/2");
    Ok(())
}

// P17: K is circulant; with a = k(side), b = k(diagonal), HKH has eigenvalues 1 - b twice and 1 - 2a + b.
#[test]
fn the_square_has_a_pair_of_equal_eigenvalues() -> Result<()> {
    let x = square();
    for gamma in [0.01f64, 0.1, 0.3, 1.0] {
        let (a, b) = ((-4.0 * gamma).exp(), (-8.0 * gamma).exp());
        let model = KernelPca::new(Kernel::gaussian(Gamma::Value(gamma))).fit(&x)?;
        let expected = [1.0 - b, 1.0 - b, 1.0 - 2.0 * a + b];
        assert!(largest_gap(model.spectrum().eigenvalues(), &expected) < 1e-14, "{gamma}");
        // The rotation of the pair is not determined, but its plane and its inner products are.
        let (pair, both) = (model.scores().first_columns(2), |i: usize, j: usize| {
            (1.0 - b) / 2.0 * [[1.0, 0.0, -1.0, 0.0], [0.0, 1.0, 0.0, -1.0]][i % 2][j] * if i < 2 { 1.0 } else { -1.0 }
        });
        let products = inner_products(&pair);
        assert!(largest_gap(products.as_slice(), gram_of(4, both).as_slice()) < 1e-14, "{gamma}: {products:?}");
        let third = model.scores().column(2);
        let size = ((1.0 - 2.0 * a + b) / 4.0).sqrt();
        assert!(largest_gap(&third, &[size, -size, size, -size]) < 1e-10, "{gamma}: {third:?}");
    }
    Ok(())
}

// P17
#[test]
fn equal_variances_have_a_determined_space() -> Result<()> {
    let x = Points::from_fn(8, 4, |i, j| if i / 2 == j { if i % 2 == 0 { 1.0 } else { -1.0 } } else { 0.0 });
    for route in ROUTES {
        let model = Pca::new().route(route).fit(&x)?;
        assert!(largest_gap(model.spectrum().eigenvalues(), &[2.0; 4]) < 1e-14, "{route:?}");
        assert!(orthonormality(&model.axes()) < THRESHOLD, "{route:?}");
        let back = model.reconstruct(&model.transform(&x)?)?;
        assert!(largest_gap(back.as_slice(), x.as_slice()) < 1e-14, "{route:?}");
    }
    Ok(())
}
