//! Exact eigenvalues are within the error bound, also where powers and constants lose digits.

use mercer::{Kernel, KernelPca, Points, Result};

/// The eigenvalue of (x.y)^degree on the points a and 0 is a^(2 degree) / 2. The square of a is rounded, and the power
/// takes its relative error times the degree.
#[test]
fn high_powers_stay_within_the_radius() -> Result<()> {
    let mut wrong = Vec::new();
    for (a, degree) in [(1.1f64, 10), (1.1, 100), (1.1, 500), (1.01, 3000), (0.99, 10_000), (1.3, 600)] {
        let x = Points::from_rows(&[[a], [0.0]]);
        let model = KernelPca::new(Kernel::polynomial(degree, 0.0)).fit(&x)?;
        let value = model.spectrum().eigenvalues()[0];
        let p = a * a;
        let truth = 0.5 * exact_power(p, a.mul_add(a, -p), degree);
        let (gap, radius) = ((value - truth).abs(), model.certificate().radius(0));
        if gap > radius {
            wrong.push(format!("{a}^{degree}: {:.1} radii from the truth", gap / radius));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

/// (p + e)^degree with about twice the digits of f64.
fn exact_power(p: f64, e: f64, degree: u32) -> f64 {
    let times = |(a, b): (f64, f64), (c, d): (f64, f64)| {
        let high = a * c;
        let low = a.mul_add(c, -high) + (a * d + b * c);
        (high + low, low - ((high + low) - high))
    };
    let (mut result, mut square, mut left) = ((1.0, 0.0), (p, e), degree);
    while left > 0 {
        if left & 1 == 1 {
            result = times(result, square);
        }
        square = times(square, square);
        left >>= 1;
    }
    result.0 + result.1
}

/// (x.y - c)^1, centred, is the linear kernel for every c. If x.y is close to c, the entries are small, but they have the
/// rounding errors of x.y and c.
#[test]
fn constants_that_cancel_stay_within_the_radius() -> Result<()> {
    for offset in [1.0, 1e3, 1e6] {
        let x = Points::from_fn(8, 1, |i, _| offset + (i * i + 3 * i) as f64 / 1024.0 / offset);
        let truth = KernelPca::new(Kernel::linear()).fit(&x)?.spectrum().eigenvalues()[0];
        let model = KernelPca::new(Kernel::polynomial(1, -offset * offset)).components(1).fit(&x)?;
        // If the component is below rounding, none is found, which is also correct.
        let (value, radius) = match model.spectrum().eigenvalues().first() {
            Some(value) => (*value, model.certificate().radius(0)),
            None => (0.0, model.certificate().rounding()),
        };
        let gap = (value - truth).abs();
        assert!(gap <= radius, "{offset:e}: {value:e} {truth:e}, {:.1e} radii from the truth", gap / radius);
    }
    Ok(())
}
