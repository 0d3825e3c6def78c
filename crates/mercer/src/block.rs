//! Block: the matrices inside. Columns are vectors, stored one after the other.

use crate::error::{ErrorKind, Result};
use crate::points::Points;

/// An n-by-b matrix of f64 stored column by column.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    data: Vec<f64>,
    n: usize,
    b: usize,
}

impl Block {
    /// All zeros.
    pub fn zeros(n: usize, b: usize) -> Self {
        Block { data: vec![0.0; n * b], n, b }
    }

    /// The matrix with entry `f(i, j)` in row i, column j.
    pub fn from_fn(n: usize, b: usize, mut f: impl FnMut(usize, usize) -> f64) -> Self {
        let mut block = Block::zeros(n, b);
        for j in 0..b {
            for i in 0..n {
                block.data[j * n + i] = f(i, j);
            }
        }
        block
    }

    /// A matrix from its values, column by column; `None` when there are not `n * b` of them.
    pub fn from_columns(data: Vec<f64>, n: usize, b: usize) -> Option<Self> {
        (n.checked_mul(b) == Some(data.len())).then_some(Block { data, n, b })
    }

    /// Number of rows.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Number of columns.
    pub fn b(&self) -> usize {
        self.b
    }

    /// Entry in row i, column j.
    pub fn at(&self, i: usize, j: usize) -> f64 {
        self.data[j * self.n + i]
    }

    /// Entry in row i, column j, to be changed.
    pub fn at_mut(&mut self, i: usize, j: usize) -> &mut f64 {
        &mut self.data[j * self.n + i]
    }

    /// Column j.
    pub fn col(&self, j: usize) -> &[f64] {
        &self.data[j * self.n..(j + 1) * self.n]
    }

    /// Column j, to be changed.
    pub fn col_mut(&mut self, j: usize) -> &mut [f64] {
        &mut self.data[j * self.n..(j + 1) * self.n]
    }

    /// The values column by column.
    pub fn as_slice(&self) -> &[f64] {
        &self.data
    }

    /// The values column by column, to be changed.
    pub fn as_mut_slice(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// Refuses values that are not finite, naming the first in the order of rows; `what` stands for the matrix.
    pub(crate) fn check_finite(&self, what: &'static str) -> Result<()> {
        if self.data.iter().all(|v| v.is_finite()) {
            return Ok(());
        }
        let places = (0..self.n).flat_map(|i| (0..self.b).map(move |j| (i, j)));
        match places.map(|(i, j)| (i, j, self.at(i, j))).find(|(_, _, v)| !v.is_finite()) {
            Some((row, column, value)) => Err(ErrorKind::NotFinite { what, row, column, value }.into()),
            None => Ok(()),
        }
    }

    /// A number that stands for the values: other values have another one, but for a chance of 2^-64 or so.
    pub(crate) fn fingerprint(&self) -> u64 {
        fingerprint(&self.data)
    }

    /// Puts the columns of `other`, which has as many rows, behind these.
    pub(crate) fn append(&mut self, other: &Block) {
        debug_assert_eq!(self.n, other.n);
        self.data.extend_from_slice(&other.data);
        self.b += other.b;
    }

    /// Columns `from` up to, not including, `to`, copied.
    pub(crate) fn columns(&self, from: usize, to: usize) -> Self {
        Block { data: self.data[from * self.n..to * self.n].to_vec(), n: self.n, b: to - from }
    }

    /// These columns, copied.
    pub(crate) fn select(&self, columns: &[usize]) -> Self {
        let mut data = Vec::with_capacity(columns.len() * self.n);
        columns.iter().for_each(|j| data.extend_from_slice(self.col(*j)));
        Block { data, n: self.n, b: columns.len() }
    }

    /// The first `b` columns.
    pub fn first(mut self, b: usize) -> Self {
        self.b = b.min(self.b);
        self.data.truncate(self.n * self.b);
        self
    }

    /// The transpose.
    pub fn transposed(&self) -> Self {
        Block::from_fn(self.b, self.n, |i, j| self.at(j, i))
    }

    /// Rows as points.
    pub fn to_points(&self) -> Points<f64> {
        Points::from_fn(self.n, self.b, |i, j| self.at(i, j))
    }
}

/// A number that stands for values, by their bits and their order.
pub fn fingerprint(values: &[f64]) -> u64 {
    let mix = |h: u64, v: u64| {
        let h = (h ^ v).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        h ^ (h >> 29)
    };
    let hash = values.iter().fold(0x6d65_7263_6572, |h, v| mix(h, v.to_bits()));
    mix(hash, values.len() as u64)
}
