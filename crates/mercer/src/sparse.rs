//! Sparse points: rows of which only the values that are not zero are stored.

use fearless_simd::{Level, dispatch, prelude::*};
use rayon::prelude::*;

use crate::block::Block;
use crate::error::{Error, ErrorKind, ErrorSubject, Result};
use crate::exec::Exec;
use crate::linalg;
use crate::points::{Points, PointsRef};
use crate::precise::two_sum;
use crate::real::Real;

/// n points of d dimensions in compressed rows (CSR).
///
/// The stored values of row i, and their columns, are those from `offsets[i]` up to, not including, `offsets[i + 1]`.
/// Columns ascend within a row, and none is there twice.
///
/// # Example
/// ```
/// use mercer::{Block, Csr};
/// // [1 0 2]
/// // [0 0 0]
/// // [0 3 0]
/// let x = Csr::new(3, 3, vec![0, 2, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
/// assert_eq!((x.n(), x.d(), x.stored()), (3, 3, 3));
/// let v = Block::from_fn(3, 1, |i, _| (i + 1) as f64);
/// assert_eq!(x.times(&v)?.col(0), [7.0, 0.0, 6.0]);
/// assert_eq!(x.transposed_times(&v)?.col(0), [1.0, 9.0, 2.0]);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Csr {
    n: usize,
    d: usize,
    offsets: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
}

/// Rows that are computed by one thread at a time.
const ROWS: usize = 64;
/// Products that are added one after the other in the Gram matrix.
const SUMMED: usize = 256;

impl Csr {
    /// Points from the offsets of their rows, and the columns and values that are stored. Columns may come in any order;
    /// values of the same row and column are added up.
    ///
    /// # Errors
    /// When there are not n + 1 offsets that ascend from 0 to the number of values, when there are not as many columns as
    /// values, when a column is not less than d, when d is not below 2^32, or when a value is not finite.
    pub fn new(n: usize, d: usize, offsets: Vec<usize>, indices: Vec<u32>, values: Vec<f64>) -> Result<Self> {
        if n.checked_add(1) != Some(offsets.len()) {
            return Err(Error::shape(format!("row offsets of {n} sparse points"), offsets.len(), n.saturating_add(1)));
        }
        if u32::try_from(d).is_err() {
            return Err(Error::shape("dimensions of sparse points, at most", d, u32::MAX as usize));
        }
        if indices.len() != values.len() {
            return Err(Error::shape("columns of the stored values", indices.len(), values.len()));
        }
        if offsets[0] != 0 || offsets[n] != values.len() {
            let (first, last, stored) = (offsets[0], offsets[n], values.len());
            return Err(Error::inconsistent(format!(
                "sparse points: row offsets go from {first} to {last}, but must go from 0 to the {stored} stored values"
            )));
        }
        if let Some(i) = (0..n).find(|i| offsets[*i] > offsets[i + 1]) {
            let (start, end) = (offsets[i], offsets[i + 1]);
            return Err(Error::inconsistent(format!(
                "sparse points: row {i} (from 0) has offsets {start} and {end}, but offsets must not descend"
            )));
        }
        let mut x = Csr { n, d, offsets, indices, values };
        for i in 0..n {
            let (columns, values) = x.row(i);
            if let Some(column) = columns.iter().find(|j| **j as usize >= d) {
                return Err(Error::inconsistent(format!(
                    "sparse points: row {i} has a value in column {column} (from 0), but there are {d} columns"
                )));
            }
            not_finite(i, columns, values)?;
        }
        if (0..n).any(|i| x.row(i).0.windows(2).any(|pair| pair[0] >= pair[1])) {
            x.sort();
            // Sums of finite values need not be finite.
            (0..n).try_for_each(|i| not_finite(i, x.row(i).0, x.row(i).1))?;
        }
        Ok(x)
    }

    /// Sorts the columns of each row and adds up values of the same column.
    fn sort(&mut self) {
        let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        let mut order: Vec<usize> = Vec::new();
        for i in 0..self.n {
            let start = indices.len();
            order.clear();
            order.extend(self.offsets[i]..self.offsets[i + 1]);
            // A stable sort: values are added up in the order they came in.
            order.sort_by_key(|at| self.indices[*at]);
            for at in &order {
                let (column, value) = (self.indices[*at], self.values[*at]);
                match values.last_mut() {
                    Some(last) if indices.len() > start && indices.last() == Some(&column) => *last += value,
                    _ => {
                        indices.push(column);
                        values.push(value);
                    }
                }
            }
            offsets.push(indices.len());
        }
        (self.offsets, self.indices, self.values) = (offsets, indices, values);
    }

    /// The values of points that are not zero.
    ///
    /// # Errors
    /// When a value is not finite, or there are 2^32 dimensions or more.
    pub fn from_points<'a, T: Real>(points: impl Into<PointsRef<'a, T>>) -> Result<Self> {
        let x = points.into();
        let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for row in x.rows() {
            for (j, v) in (0u32..).zip(row).filter(|(_, v)| v.to_f64() != 0.0) {
                indices.push(j);
                values.push(v.to_f64());
            }
            offsets.push(values.len());
        }
        Csr::new(x.n(), x.d(), offsets, indices, values)
    }

    /// The same points with their zeros.
    ///
    /// # Errors
    /// When they need more memory than the budget.
    pub fn to_points(&self, exec: &Exec) -> Result<Points<f64>> {
        let bytes = (self.n as u128) * (self.d as u128) * 8;
        exec.allow(bytes, format!("{} sparse points as rows", self.n), "keep the points sparse")?;
        let mut points = Points::from_fn(self.n, self.d, |_, _| 0.0);
        for (i, (columns, values)) in self.rows().enumerate() {
            let row = points.row_mut(i);
            columns.iter().zip(values).for_each(|(j, v)| row[*j as usize] = *v);
        }
        Ok(points)
    }

    /// Number of points.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Number of dimensions.
    pub fn d(&self) -> usize {
        self.d
    }

    /// Number of stored values.
    pub fn stored(&self) -> usize {
        self.values.len()
    }

    /// The columns and values that row i stores.
    ///
    /// # Panics
    /// When there are not more than `i` rows.
    pub fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let at = self.offsets[i]..self.offsets[i + 1];
        (&self.indices[at.clone()], &self.values[at])
    }

    /// The columns and values of all rows in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = (&[u32], &[f64])> + '_ {
        (0..self.n).map(|i| self.row(i))
    }

    /// All stored values, row by row.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// How many values each column stores.
    pub fn column_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.d];
        self.indices.iter().for_each(|j| counts[*j as usize] += 1);
        counts
    }

    /// The sum of each column.
    pub fn column_sums(&self) -> Vec<f64> {
        self.summed(|v| v)
    }

    /// The sum of the squares of each column.
    pub fn column_squares(&self) -> Vec<f64> {
        self.summed(|v| v * v)
    }

    fn summed(&self, f: impl Fn(f64) -> f64) -> Vec<f64> {
        let (mut sums, mut lost) = (vec![0.0; self.d], vec![0.0; self.d]);
        for (j, v) in self.indices.iter().zip(&self.values) {
            let j = *j as usize;
            let (sum, e) = two_sum(sums[j], f(*v));
            (sums[j], lost[j]) = (sum, lost[j] + e);
        }
        sums.iter_mut().zip(lost).for_each(|(sum, lost)| *sum += lost);
        sums
    }

    /// X B, the same bits on any number of threads.
    ///
    /// # Errors
    /// When B has not d rows.
    pub fn times(&self, b: &Block) -> Result<Block> {
        if b.n() != self.d {
            return Err(Error::shape("rows of the block that sparse points are multiplied by", b.n(), self.d));
        }
        let product = self.times_rows(&by_rows(b), b.b(), &[]);
        Ok(Block::from_fn(self.n, b.b(), |i, j| product[i * b.b() + j]))
    }

    /// X'B, the same bits on any number of threads.
    ///
    /// # Errors
    /// When B has not n rows.
    pub fn transposed_times(&self, b: &Block) -> Result<Block> {
        if b.n() != self.n {
            return Err(Error::shape("rows of the block that sparse points are multiplied by", b.n(), self.n));
        }
        self.transposed()?.times(b)
    }

    /// The transpose, whose rows are the columns of these points: a product with it needs no sums that threads share.
    ///
    /// # Errors
    /// When there are 2^32 points or more.
    pub fn transposed(&self) -> Result<Csr> {
        if u32::try_from(self.n).is_err() {
            return Err(Error::shape("sparse points that are transposed", self.n, u32::MAX as usize));
        }
        let mut offsets = vec![0; self.d + 1];
        self.indices.iter().for_each(|j| offsets[*j as usize + 1] += 1);
        (0..self.d).for_each(|j| offsets[j + 1] += offsets[j]);
        let mut next = offsets.clone();
        let (mut indices, mut values) = (vec![0; self.stored()], vec![0.0; self.stored()]);
        for (i, (columns, row)) in self.rows().enumerate() {
            for (j, v) in columns.iter().zip(row) {
                let at = &mut next[*j as usize];
                (indices[*at], values[*at]) = (i as u32, *v);
                *at += 1;
            }
        }
        Ok(Csr { n: self.d, d: self.n, offsets, indices, values })
    }

    /// The points with each stored value replaced by `f(column, value)`.
    pub(crate) fn map(&self, f: impl Fn(usize, f64) -> f64) -> Csr {
        let values = self.indices.iter().zip(&self.values).map(|(j, v)| f(*j as usize, *v)).collect();
        Csr { values, ..self.clone() }
    }

    /// (X - S) W for W of b columns, W and the result row by row, where S has `shift` in the columns and rows that are
    /// stored; without a shift, X W.
    pub(crate) fn times_rows(&self, w: &[f64], b: usize, shift: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.n * b];
        if b > 0 {
            let level = Level::new();
            out.par_chunks_mut(ROWS * b).enumerate().for_each(|(block, rows)| {
                dispatch!(level, simd => simd.vectorize(#[inline(always)] || {
                    for (r, row) in rows.chunks_exact_mut(b).enumerate() {
                        self.row_times(block * ROWS + r, w, shift, row);
                    }
                }));
            });
        }
        out
    }

    /// One row of the product, in groups of columns whose sums stay in registers.
    #[inline(always)]
    fn row_times(&self, i: usize, w: &[f64], shift: &[f64], out: &mut [f64]) {
        let mut at = 0;
        while at < out.len() {
            at += match out.len() - at {
                16.. => self.row_times_columns::<16>(i, w, shift, out, at),
                8.. => self.row_times_columns::<8>(i, w, shift, out, at),
                4.. => self.row_times_columns::<4>(i, w, shift, out, at),
                _ => self.row_times_columns::<1>(i, w, shift, out, at),
            };
        }
    }

    #[inline(always)]
    fn row_times_columns<const W: usize>(
        &self,
        i: usize,
        w: &[f64],
        shift: &[f64],
        out: &mut [f64],
        at: usize,
    ) -> usize {
        let (b, (columns, values)) = (out.len(), self.row(i));
        let mut sums = [0.0; W];
        for (j, v) in columns.iter().zip(values) {
            let j = *j as usize;
            let v = if shift.is_empty() { *v } else { v - shift[j] };
            let weights = &w[j * b + at..][..W];
            for c in 0..W {
                sums[c] += v * weights[c];
            }
        }
        out[at..at + W].copy_from_slice(&sums);
        W
    }

    /// A bound on the error of an entry of [`Csr::gram`], relative to |x_i||x_j|.
    pub(crate) const GRAM_ERROR: f64 = 0.5 * f64::EPSILON * (SUMMED + 4) as f64;

    /// X X', where `columns` is the transpose of these rows. At most [`SUMMED`] products are added one after the other; their
    /// sums are added in two parts.
    pub(crate) fn gram(&self, columns: &Csr, exec: &Exec) -> Result<Block> {
        let n = self.n;
        let mut gram = Block::zeros(n, n);
        gram.as_mut_slice().par_chunks_mut(n.max(1)).enumerate().try_for_each(|(i, out)| -> Result<()> {
            exec.check_cancelled()?;
            let (indices, values) = self.row(i);
            let (mut before, mut lost) = (Vec::new(), Vec::new());
            for (part, (indices, values)) in indices.chunks(SUMMED).zip(values.chunks(SUMMED)).enumerate() {
                if part > 0 {
                    before.resize(n, 0.0);
                    lost.resize(n, 0.0);
                    add_in_two_parts(&mut before, &mut lost, out);
                    out.fill(0.0);
                }
                for (j, v) in indices.iter().zip(values) {
                    // Points i and after: the other half is the same.
                    let (points, others) = columns.row(*j as usize);
                    let start = points.partition_point(|p| (*p as usize) < i);
                    for (p, other) in points[start..].iter().zip(&others[start..]) {
                        out[*p as usize] += v * other;
                    }
                }
            }
            if !before.is_empty() {
                add_in_two_parts(&mut before, &mut lost, out);
                out.iter_mut().zip(before.iter().zip(&lost)).for_each(|(out, (sum, lost))| *out = sum + lost);
            }
            Ok(())
        })?;
        linalg::mirror_lower(&mut gram);
        Ok(gram)
    }
}

/// Adds numbers to sums whose rounding errors are kept.
fn add_in_two_parts(sums: &mut [f64], lost: &mut [f64], more: &[f64]) {
    for ((sum, lost), v) in sums.iter_mut().zip(lost).zip(more) {
        let (next, e) = two_sum(*sum, *v);
        (*sum, *lost) = (next, *lost + e);
    }
}

/// The entries of a block row by row.
pub(crate) fn by_rows(block: &Block) -> Vec<f64> {
    let (n, b) = (block.n(), block.b());
    let mut rows = vec![0.0; n * b];
    for j in 0..b {
        block.col(j).iter().enumerate().for_each(|(i, v)| rows[i * b + j] = *v);
    }
    rows
}

/// Refuses values of row i that are not finite, naming the first.
fn not_finite(i: usize, columns: &[u32], values: &[f64]) -> Result<()> {
    match columns.iter().zip(values).find(|(_, v)| !v.is_finite()) {
        None => Ok(()),
        Some((j, v)) => {
            Err(ErrorKind::NotFinite { what: ErrorSubject::Points, row: i, column: *j as usize, value: *v }.into())
        }
    }
}
