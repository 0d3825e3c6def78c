//! Dot products in twice the precision of f64 (Dekker; Ogita, Rump and Oishi), for problems so small that they cost next to
//! nothing. Error bounds are then those of the last rounding (MATHS.md, M24).

use fearless_simd::{Level, dispatch, prelude::*};

use crate::block::Block;

/// Up to this many products, they are computed in twice the precision.
const FEW: usize = 1 << 20;
/// Sums that are formed side by side.
const LANES: usize = 8;

/// Whether a problem of so many products is small enough.
pub(crate) fn affordable(products: [usize; 3]) -> bool {
    products.iter().fold(1usize, |all, n| all.saturating_mul(*n)) <= FEW
}

/// Returns a + b as the nearest f64, and its rounding error (Knuth).
#[inline(always)]
pub(crate) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// Returns a b as the nearest f64, and its rounding error.
#[inline(always)]
pub(crate) fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    (product, a.mul_add(b, -product))
}

/// Subtracts the mean from values, in place, and returns it in two parts. What rounding takes from the differences goes to
/// `low`.
pub(crate) fn centre(values: &mut [f64], low: &mut [f64]) -> (f64, f64) {
    let mut mean = (0.0, 0.0);
    dispatch!(Level::new(), simd => simd.vectorize(#[inline(always)] || mean = centred(values, low)));
    mean
}

#[inline(always)]
fn centred(values: &mut [f64], low: &mut [f64]) -> (f64, f64) {
    let (n, first) = (values.len() as f64, values.first().copied().unwrap_or(0.0));
    let rough = first + sum(values, first) / n;
    for (v, low) in values.iter_mut().zip(&mut *low) {
        (*v, *low) = two_sum(*v, -rough);
    }
    // What is left of the mean in the differences, which are exact in two parts.
    let left = (sum(values, 0.0) + sum(low, 0.0)) / n;
    for (v, low) in values.iter_mut().zip(&mut *low) {
        let (a, b) = two_sum(*v, -left);
        (*v, *low) = two_sum(a, b + *low);
    }
    two_sum(rough, left)
}

/// The sum of values less a number, with the rounding errors of the additions.
#[inline(always)]
fn sum(values: &[f64], less: f64) -> f64 {
    let (mut sums, mut errors) = ([0.0; LANES], [0.0; LANES]);
    let pieces = values.chunks_exact(LANES);
    let rest = pieces.remainder();
    for piece in pieces {
        for lane in 0..LANES {
            let (sum, e) = two_sum(sums[lane], piece[lane] - less);
            (sums[lane], errors[lane]) = (sum, errors[lane] + e);
        }
    }
    let (mut total, mut error) = (0.0, 0.0);
    for v in sums.into_iter().chain(rest.iter().map(|v| v - less)) {
        let (next, e) = two_sum(total, v);
        (total, error) = (next, error + e);
    }
    total + (error + errors.iter().sum::<f64>())
}

/// The lower half of (X + Y)'(X + Y) in two parts, X having d columns of n values, and Y being small beside X.
pub(crate) fn scatter(x: &[f64], y: &[f64], n: usize, d: usize) -> (Block, Block) {
    let (mut high, mut low) = (Block::zeros(d, d), Block::zeros(d, d));
    dispatch!(Level::new(), simd => simd.vectorize(#[inline(always)] || {
        for j in 0..d {
            let (b, b_low) = (&x[j * n..][..n], &y[j * n..][..n]);
            for i in j..d {
                let (a, a_low) = (&x[i * n..][..n], &y[i * n..][..n]);
                (*high.at_mut(i, j), *low.at_mut(i, j)) = sum_of_products(a, b, (a_low, b_low));
            }
        }
    }));
    (high, low)
}

/// The square of the norm of x + y in two parts, y being small beside x: the same bits as on the diagonal of [`scatter`].
pub(crate) fn square(x: &[f64], y: &[f64]) -> (f64, f64) {
    let mut square = (0.0, 0.0);
    dispatch!(Level::new(), simd => simd.vectorize(#[inline(always)] || square = sum_of_products(x, x, (y, y))));
    square
}

/// The dot products of rows of `width` values with the columns of a block, in two parts.
pub(crate) fn products(rows: &[f64], width: usize, x: &Block) -> (Block, Block) {
    let n = rows.len().checked_div(width).unwrap_or(0);
    let (mut high, mut low) = (Block::zeros(n, x.b()), Block::zeros(n, x.b()));
    let none = vec![0.0; width];
    dispatch!(Level::new(), simd => simd.vectorize(#[inline(always)] || {
        for j in 0..x.b() {
            for (i, row) in rows.chunks_exact(width).enumerate() {
                (*high.at_mut(i, j), *low.at_mut(i, j)) = sum_of_products(row, x.col(j), (&none, &none));
            }
        }
    }));
    (high, low)
}

/// The sum of (a + c)(b + d) without c d, in two parts, in a fixed order; all have the same length.
#[inline(always)]
fn sum_of_products(a: &[f64], b: &[f64], (c, d): (&[f64], &[f64])) -> (f64, f64) {
    let (mut sums, mut errors) = ([0.0; LANES], [0.0; LANES]);
    let pieces = a.chunks_exact(LANES).zip(b.chunks_exact(LANES));
    for ((a, b), (c, d)) in pieces.zip(c.chunks_exact(LANES).zip(d.chunks_exact(LANES))) {
        for lane in 0..LANES {
            let (product, e) = two_product(a[lane], b[lane]);
            let (sum, f) = two_sum(sums[lane], product);
            sums[lane] = sum;
            errors[lane] += f + a[lane].mul_add(d[lane], c[lane].mul_add(b[lane], e));
        }
    }
    let (mut sum, mut error) = (0.0, 0.0);
    for lane in 0..LANES {
        let (next, e) = two_sum(sum, sums[lane]);
        (sum, error) = (next, error + e + errors[lane]);
    }
    for r in a.len() / LANES * LANES..a.len() {
        let (product, e) = two_product(a[r], b[r]);
        let (next, f) = two_sum(sum, product);
        (sum, error) = (next, error + (f + a[r].mul_add(d[r], c[r].mul_add(b[r], e))));
    }
    two_sum(sum, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dot_products_keep_what_f64_loses() {
        // f64 cannot hold 1e16 + 1.
        let a: Vec<f64> = (0..1001).map(|i| [1e16, 1.0, -1e16, 0.25][i % 4]).collect();
        let ones = Block::from_fn(1001, 1, |_, _| 1.0);
        let (high, low) = products(&a, 1001, &ones);
        assert_eq!((high.at(0, 0), low.at(0, 0)), two_sum(1e16, 250.0 * 1.25));
        // (1 + 2^-30)^2 has 61 digits; its parts are exact.
        let b = 1.0 + 2f64.powi(-30);
        let (high, low) = scatter(&[b], &[0.0], 1, 1);
        assert_eq!((high.at(0, 0), low.at(0, 0)), two_sum(1.0 + 2f64.powi(-29), 2f64.powi(-60)));
    }
}
