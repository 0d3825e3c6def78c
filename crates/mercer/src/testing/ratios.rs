//! Test ratios after LAPACK: errors divided by size, norm and machine epsilon. A correct result has ratios of order 1. The
//! threshold [`THRESHOLD`] applies to all sizes and precisions.

use crate::points::Points;

/// Ratios above this mean an error.
pub const THRESHOLD: f64 = 30.0;

/// |A V' - V' L| / (|A| n eps): residual of eigenpairs, the vectors being rows of `vectors`.
pub fn residual(a: &Points<f64>, values: &[f64], vectors: &Points<f64>) -> f64 {
    let n = a.n();
    let norm = frobenius(a.as_slice()).max(f64::MIN_POSITIVE);
    let worst = vectors.rows().zip(values).map(|(u, value)| {
        let gap: Vec<f64> = (0..n).map(|i| dot(a.row(i), u) - value * u[i]).collect();
        frobenius(&gap)
    });
    worst.fold(0.0, f64::max) / (norm * n as f64 * f64::EPSILON)
}

/// |V V' - I| / (n eps): orthonormality of the rows of `vectors`.
pub fn orthonormality(vectors: &Points<f64>) -> f64 {
    let worst = (0..vectors.n())
        .flat_map(|i| (0..=i).map(move |j| (i, j)))
        .map(|(i, j)| (dot(vectors.row(i), vectors.row(j)) - if i == j { 1.0 } else { 0.0 }).abs())
        .fold(0.0, f64::max);
    worst / (vectors.d() as f64 * f64::EPSILON)
}

/// max |a - b| / (max |b| n eps): two lists of numbers of one size.
pub fn difference(a: &[f64], b: &[f64], n: usize) -> f64 {
    let scale = b.iter().fold(f64::MIN_POSITIVE, |m, v| m.max(v.abs()));
    let worst = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    if a.len() != b.len() || worst.is_nan() { f64::INFINITY } else { worst / (scale * n as f64 * f64::EPSILON) }
}

/// The sine of the largest principal angle between the spans of two sets of orthonormal rows: |(I - A'A) B'|_F.
pub fn sine_of_angle(a: &Points<f64>, b: &Points<f64>) -> f64 {
    let mut sum = 0.0;
    for v in b.rows() {
        let mut left = v.to_vec();
        for u in a.rows() {
            let along = dot(u, v);
            left.iter_mut().zip(u).for_each(|(l, u)| *l -= along * u);
        }
        sum += dot(&left, &left);
    }
    sum.sqrt()
}

/// max |a - b| / max |b| for scores, after changing the sign of columns of `a` to agree with `b`.
pub fn aligned_difference(a: &Points<f64>, b: &Points<f64>) -> f64 {
    let scale = b.as_slice().iter().fold(f64::MIN_POSITIVE, |m, v| m.max(v.abs()));
    let mut worst: f64 = if (a.n(), a.d()) == (b.n(), b.d()) { 0.0 } else { f64::INFINITY };
    for j in 0..a.d().min(b.d()) {
        let (a, b) = (a.column(j), b.column(j));
        let sign = if dot(&a, &b) < 0.0 { -1.0 } else { 1.0 };
        worst = a.iter().zip(&b).map(|(a, b)| (sign * a - b).abs()).fold(worst, f64::max);
    }
    worst / scale
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn frobenius(v: &[f64]) -> f64 {
    let scale = v.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    if scale == 0.0 { 0.0 } else { scale * v.iter().map(|x| (x / scale).powi(2)).sum::<f64>().sqrt() }
}
