//! Block: a matrix stored column by column, as eigensolvers use it.

use crate::error::{ErrorKind, ErrorSubject, Result};
use crate::points::Points;

/// An n-by-b matrix of f64 stored column by column.
///
/// ```
/// use mercer::Block;
/// let mut a = Block::from_fn(3, 2, |i, j| (10 * i + j) as f64);
/// assert_eq!((a.at(2, 1), a.col(0)), (21.0, &[0.0, 10.0, 20.0][..]));
/// a.col_mut(1).fill(0.0);
/// assert_eq!(a.transposed().at(0, 2), 20.0);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    data: Vec<f64>,
    n: usize,
    b: usize,
}

impl Block {
    /// Builds a matrix of zeros.
    pub fn zeros(n: usize, b: usize) -> Self {
        Block { data: vec![0.0; n * b], n, b }
    }

    /// Builds the matrix with entry `f(i, j)` in row i, column j.
    pub fn from_fn(n: usize, b: usize, mut f: impl FnMut(usize, usize) -> f64) -> Self {
        let mut block = Block::zeros(n, b);
        for j in 0..b {
            for i in 0..n {
                block.data[j * n + i] = f(i, j);
            }
        }
        block
    }

    /// Builds a matrix from its values, column by column; `None` when there are not `n * b` of them.
    pub fn from_columns(data: Vec<f64>, n: usize, b: usize) -> Option<Self> {
        (n.checked_mul(b) == Some(data.len())).then_some(Block { data, n, b })
    }

    /// Returns the number of rows.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Returns the number of columns.
    pub fn b(&self) -> usize {
        self.b
    }

    /// Returns the entry in row i, column j, for `i < n` and `j < b`.
    ///
    /// # Panics
    /// When `j >= b`. A row `i >= n` is not always detected: it may be read from the next column.
    pub fn at(&self, i: usize, j: usize) -> f64 {
        self.data[j * self.n + i]
    }

    /// Returns the entry in row i, column j, for writing.
    ///
    /// # Panics
    /// As [`Block::at`].
    pub fn at_mut(&mut self, i: usize, j: usize) -> &mut f64 {
        &mut self.data[j * self.n + i]
    }

    /// Returns column j.
    ///
    /// # Panics
    /// When `j >= b`.
    pub fn col(&self, j: usize) -> &[f64] {
        &self.data[j * self.n..(j + 1) * self.n]
    }

    /// Returns column j for writing.
    ///
    /// # Panics
    /// When `j >= b`.
    pub fn col_mut(&mut self, j: usize) -> &mut [f64] {
        &mut self.data[j * self.n..(j + 1) * self.n]
    }

    /// Returns the values column by column.
    pub fn as_slice(&self) -> &[f64] {
        &self.data
    }

    /// Returns the values column by column, for writing.
    pub fn as_mut_slice(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// Rejects values that are not finite and reports the first in row order; `what` names the matrix.
    pub(crate) fn check_finite(&self, what: ErrorSubject) -> Result<()> {
        if self.data.iter().all(|v| v.is_finite()) {
            return Ok(());
        }
        let places = (0..self.n).flat_map(|i| (0..self.b).map(move |j| (i, j)));
        match places.map(|(i, j)| (i, j, self.at(i, j))).find(|(_, _, v)| !v.is_finite()) {
            Some((row, column, value)) => Err(ErrorKind::NotFinite { what, row, column, value }.into()),
            None => Ok(()),
        }
    }

    /// Returns a hash of the values; two matrices collide with a probability of about 2^-64.
    pub(crate) fn fingerprint(&self) -> u64 {
        fingerprint(&self.data)
    }

    /// Appends the columns of `other`, which has as many rows.
    pub(crate) fn append(&mut self, other: &Block) {
        debug_assert_eq!(self.n, other.n);
        self.data.extend_from_slice(&other.data);
        self.b += other.b;
    }

    /// Returns a copy of columns `from` up to, not including, `to`.
    pub(crate) fn columns(&self, from: usize, to: usize) -> Self {
        Block { data: self.data[from * self.n..to * self.n].to_vec(), n: self.n, b: to - from }
    }

    /// Returns a copy of these columns.
    pub(crate) fn select(&self, columns: &[usize]) -> Self {
        let mut data = Vec::with_capacity(columns.len() * self.n);
        columns.iter().for_each(|j| data.extend_from_slice(self.col(*j)));
        Block { data, n: self.n, b: columns.len() }
    }

    /// Returns the first `b` columns, or all where there are fewer.
    pub fn first(mut self, b: usize) -> Self {
        self.b = b.min(self.b);
        self.data.truncate(self.n * self.b);
        self
    }

    /// Returns the transpose.
    pub fn transposed(&self) -> Self {
        Block::from_fn(self.b, self.n, |i, j| self.at(j, i))
    }

    /// Returns the rows as points.
    pub fn to_points(&self) -> Points<f64> {
        Points::from_fn(self.n, self.b, |i, j| self.at(i, j))
    }
}

/// Returns a hash of values, by their bits and their order.
///
/// ```
/// use mercer::text::fingerprint;
/// assert_eq!(fingerprint(&[1.0, 2.0]), fingerprint(&[1.0, 2.0]));
/// assert_ne!(fingerprint(&[1.0, 2.0]), fingerprint(&[2.0, 1.0]));
/// ```
pub fn fingerprint(values: &[f64]) -> u64 {
    let mix = |h: u64, v: u64| {
        let h = (h ^ v).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        h ^ (h >> 29)
    };
    let hash = values.iter().fold(0x6d65_7263_6572, |h, v| mix(h, v.to_bits()));
    mix(hash, values.len() as u64)
}
