//! Symmetric matrices in twice the precision.

use rayon::prelude::*;

use super::{Ball, DoubleDouble, ROUNDING};

/// A symmetric matrix, and a bound on the norm of its error.
///
/// ```
/// use mercer::testing::reference::Symmetric;
/// let matrix = Symmetric::from_fn(2, |i, j| (if i == j { 2.0 } else { 1.0 }).into());
/// let pairs = matrix.eigen();
/// assert!((pairs.values[0].to_f64() - 3.0).abs() <= 1e-28);
/// ```
#[derive(Clone, Debug)]
pub struct Symmetric {
    pub(crate) n: usize,
    pub(crate) values: Vec<DoubleDouble>,
    pub(crate) error: f64,
}

impl Symmetric {
    /// The matrix with these entries, of which those of the lower triangle are asked for.
    pub fn from_fn(n: usize, entry: impl Fn(usize, usize) -> Ball + Sync) -> Self {
        let lower: Vec<Vec<Ball>> = (0..n).into_par_iter().map(|i| (0..=i).map(|j| entry(i, j)).collect()).collect();
        let at = |i: usize, j: usize| if i >= j { lower[i][j] } else { lower[j][i] };
        let values = (0..n * n).map(|at_ij| at(at_ij / n, at_ij % n).value).collect();
        let largest = lower.iter().flatten().map(|v| v.error).fold(0.0, larger);
        let squares: f64 = (0..n * n).map(|ij| at(ij / n, ij % n).error / largest).map(|e| e * e).sum();
        // Of n^2 squares, added one after the other.
        let rounded_up = 1.0 + (n * n) as f64 * f64::EPSILON;
        Symmetric { n, values, error: if largest == 0.0 { 0.0 } else { largest * squares.sqrt() * rounded_up } }
    }

    /// The number of rows.
    pub fn n(&self) -> usize {
        self.n
    }

    /// An entry.
    pub fn at(&self, i: usize, j: usize) -> DoubleDouble {
        self.values[i * self.n + j]
    }

    pub(crate) fn values(&self) -> &[DoubleDouble] {
        &self.values
    }

    /// The root of the sum of the squares of all entries, from above.
    pub(crate) fn frobenius(&self) -> f64 {
        let largest = self.largest();
        if largest == 0.0 {
            return 0.0;
        }
        let squares: f64 = self.values.iter().map(|v| (v.to_f64() / largest).powi(2)).sum();
        largest * squares.sqrt() * (1.0 + self.values.len() as f64 * f64::EPSILON)
    }

    /// A bound on the norm of the error of the matrix; not finite where an entry is not known at all.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// The largest magnitude of an entry.
    pub fn largest(&self) -> f64 {
        self.values.iter().map(|v| v.to_f64().abs()).fold(0.0, larger)
    }

    /// The same matrix in a unit that is about the largest entry: a power of four, so that its root is exact.
    pub fn in_unit(mut self) -> (Self, f64) {
        let largest = self.largest();
        let unit = if largest > 0.0 { 4f64.powi((0.5 * largest.log2()).floor() as i32) } else { 1.0 };
        self.values.iter_mut().for_each(|v| *v = v.times_power_of_two(1.0 / unit));
        self.error /= unit;
        (self, unit)
    }

    /// HAH, H = I - 11'/n.
    pub fn centred(mut self) -> Self {
        let (n, rounding) = (self.n, 8.0 * self.n as f64 * ROUNDING * self.largest());
        let over = DoubleDouble::from(n as f64);
        let means: Vec<DoubleDouble> =
            self.values.chunks_exact(n).map(|row| row.iter().copied().sum::<DoubleDouble>() / over).collect();
        let mean = means.iter().copied().sum::<DoubleDouble>() / over;
        for i in 0..n {
            for j in 0..=i {
                let v = self.values[i * n + j] - (means[i] + means[j] - mean);
                (self.values[i * n + j], self.values[j * n + i]) = (v, v);
            }
        }
        // Entries have errors of a few roundings of the largest entry: |E| <= n max|E_ij|.
        self.error += n as f64 * rounding;
        self
    }

    /// The same with a bound on the norm of its error.
    pub(crate) fn with_error(mut self, error: f64) -> Self {
        self.error = error;
        self
    }

    /// A v for each v.
    pub(crate) fn times_each(&self, vectors: &[Vec<DoubleDouble>]) -> Vec<Vec<DoubleDouble>> {
        let row = |row: &[DoubleDouble], v: &[DoubleDouble]| row.iter().zip(v).map(|(a, b)| *a * *b).sum();
        vectors.iter().map(|v| self.values.par_chunks_exact(self.n).map(|a| row(a, v)).collect()).collect()
    }

    /// A v.
    pub fn times(&self, v: &[DoubleDouble]) -> Vec<DoubleDouble> {
        self.values.chunks_exact(self.n).map(|row| row.iter().zip(v).map(|(a, b)| *a * *b).sum()).collect()
    }
}

pub(crate) fn larger(a: f64, b: f64) -> f64 {
    if b > a || b.is_nan() { b } else { a }
}
