//! Points about their mean, dense or sparse, as what multiplies blocks of vectors.
//!
//! Sparse points are centred by what is done to the vectors, (X - 1m')v = Xv - 1(m'v), so that they stay sparse.

use std::borrow::Cow;

use super::Pca;
use crate::block::{Block, fingerprint};
use crate::error::{Error, ErrorKind, ErrorSubject, Result};
use crate::exec::Exec;
use crate::features::Standardise;
use crate::linalg;
use crate::moments::UNIT;
use crate::op::{SymOp, centre, mean};
use crate::points::Points;
use crate::real::{SQUARABLE, largest};
use crate::sparse::Csr;

/// Points X about their mean, and divided by their scale where that is asked for, known by products with them.
pub(super) trait Design: Sync {
    fn n(&self) -> usize;

    fn d(&self) -> usize;

    /// X B.
    fn times(&self, b: &Block) -> Result<Block>;

    /// X'B.
    fn transposed_times(&self, b: &Block) -> Result<Block>;

    /// The squared length of each point.
    fn squares(&self) -> Vec<f64>;

    /// XX' as a stored matrix.
    fn gram(&self, exec: &Exec) -> Result<Block>;

    /// Vectors that are multiplied at once at the least cost for each, if that does not grow with their number.
    fn step(&self) -> Option<usize> {
        None
    }

    /// A hash of the points.
    fn fingerprint(&self) -> u64;

    /// A bound on the norm of the error of XX', stored or by products (MATHS.md, M24).
    fn error(&self) -> f64;
}

/// Which of both matrices with the same eigenvalues is meant: XX', whose vectors have an entry for each point, or X'X, whose
/// vectors have one for each column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Points,
    Columns,
}

/// XX' or X'X, which is not stored.
pub(super) struct Products<'a>(pub(super) &'a dyn Design, pub(super) Side);

impl SymOp for Products<'_> {
    fn n(&self) -> usize {
        match self.1 {
            Side::Points => self.0.n(),
            Side::Columns => self.0.d(),
        }
    }

    fn apply(&self, x: &Block, y: &mut Block, exec: &Exec) -> Result<()> {
        exec.check_cancelled()?;
        let (design, side) = (self.0, self.1);
        let inner = if side == Side::Points { design.transposed_times(x)? } else { design.times(x)? };
        exec.check_cancelled()?;
        *y = if side == Side::Points { design.times(&inner)? } else { design.transposed_times(&inner)? };
        Ok(())
    }

    /// The squared lengths of the points. That of X'X is not needed.
    fn diagonal(&self, _: &Exec) -> Result<Option<Vec<f64>>> {
        Ok((self.1 == Side::Points).then(|| self.0.squares()))
    }

    fn error(&self) -> Option<f64> {
        Some(self.0.error())
    }

    fn to_matrix(&self, exec: &Exec) -> Result<Block> {
        match self.1 {
            Side::Points => self.0.gram(exec),
            Side::Columns => {
                let axes = Block::from_fn(self.n(), self.n(), |i, j| if i == j { 1.0 } else { 0.0 });
                self.0.transposed_times(&self.0.times(&axes)?)
            }
        }
    }
}

/// A moved and scaled copy of dense points, X': a column per point. The product of two of its values has a relative error of
/// at most the second number.
pub(super) struct Moved(Block, f64);

impl Moved {
    pub(super) fn new(x: Points<f64>, error: f64) -> Result<Self> {
        let (n, d) = (x.n(), x.d());
        let values = x.into_vec();
        let found = values.len();
        let columns = Block::from_columns(values, d, n);
        columns.map(|x| Moved(x, error)).ok_or_else(|| Error::shape("values of the points", found, n * d))
    }
}

impl Design for Moved {
    fn n(&self) -> usize {
        self.0.b()
    }

    fn d(&self) -> usize {
        self.0.n()
    }

    fn times(&self, b: &Block) -> Result<Block> {
        Ok(linalg::inner_products(&self.0, b))
    }

    fn transposed_times(&self, b: &Block) -> Result<Block> {
        Ok(linalg::product(&self.0, b))
    }

    fn squares(&self) -> Vec<f64> {
        (0..self.n()).map(|i| linalg::dot(self.0.col(i), self.0.col(i))).collect()
    }

    fn gram(&self, _: &Exec) -> Result<Block> {
        Ok(linalg::inner_products(&self.0, &self.0))
    }

    fn fingerprint(&self) -> u64 {
        self.0.fingerprint()
    }

    fn error(&self) -> f64 {
        let square = linalg::norm(self.0.as_slice()).powi(2);
        (self.1 + linalg::product_error(self.n()) + linalg::product_error(self.d())) * square
    }
}

/// The relative error of n m_i m_j, of the values less their mean in columns without zeros, and of the differences.
const OF_MEAN: f64 = 12.0 * UNIT;

/// Sparse points, scaled, and what of their mean is left to subtract.
pub(super) struct Sparse<'a> {
    rows: Cow<'a, Csr>,
    /// The transpose of the rows.
    columns: Csr,
    /// The mean of the rows; all 0 where no mean is subtracted.
    rest: Vec<f64>,
    center: bool,
    /// A bound on the relative error of the product of two scaled values.
    of_scale: f64,
}

impl<'a> Sparse<'a> {
    pub(super) fn new(x: &'a Csr, spec: &Pca) -> Result<(Self, Standardise)> {
        let (n, d) = (x.n() as f64, x.d());
        let magnitude = largest(x.values());
        if magnitude > 0.0 && !SQUARABLE.contains(&magnitude) {
            return Err(ErrorKind::Range { what: ErrorSubject::Points, magnitude }.into());
        }
        // A column without zeros is moved to its mean first: there centring could cancel.
        let shift = if spec.center { means_of_full(x) } else { vec![0.0; d] };
        let mut rows = Cow::Borrowed(x);
        if shift.iter().any(|s| *s != 0.0) {
            rows = Cow::Owned(x.map(|j, v| v - shift[j]));
        }
        let mut rest = vec![0.0; d];
        if spec.center {
            rest.iter_mut().zip(rows.column_sums()).for_each(|(m, sum)| *m = sum / n);
        }
        let (mut scale, mut of_scale) = (vec![1.0; d], 0.0f64);
        if spec.standardise {
            let divisor = if spec.center { n - 1.0 } else { n };
            for ((s, all), m) in scale.iter_mut().zip(rows.column_squares()).zip(&rest) {
                let square = all - n * (m * m);
                *s = if square > 0.0 { (square / divisor).sqrt() } else { 1.0 };
                // What is left of the squares less the mean has their rounding errors.
                of_scale = of_scale.max(if square > 0.0 { 8.0 * UNIT * (all / square) } else { 0.0 });
            }
            rows = Cow::Owned(rows.map(|j, v| v / scale[j]));
            rest.iter_mut().zip(&scale).for_each(|(m, s)| *m /= s);
        }
        let mean = (0..d).map(|j| shift[j] + rest[j] * scale[j]).collect();
        let columns = rows.transposed()?;
        Ok((Sparse { rows, columns, rest, center: spec.center, of_scale }, Standardise { mean, scale }))
    }

    /// X'X about the mean, and a bound on the norm of its error: relative to the squares before the mean is subtracted.
    pub(super) fn scatter(&self, exec: &Exec) -> Result<(Block, f64)> {
        let (n, m) = (self.rows.n() as f64, &self.rest);
        let mut scatter = self.columns.gram(&self.rows, exec)?;
        for j in 0..scatter.b() {
            scatter.col_mut(j).iter_mut().enumerate().for_each(|(i, v)| *v -= n * (m[i] * m[j]));
        }
        Ok((scatter, (Csr::GRAM_ERROR + OF_MEAN + self.of_scale) * self.square()))
    }

    /// The sum of the squares of all stored values.
    fn square(&self) -> f64 {
        linalg::norm(self.rows.values()).powi(2)
    }
}

/// Terms that are summed before they are added to the sum of the terms before.
const PART: usize = 256;

fn dot_by_parts(a: &[f64], b: &[f64]) -> f64 {
    a.chunks(PART).zip(b.chunks(PART)).map(|(a, b)| linalg::dot(a, b)).sum()
}

/// The means of the columns that have a value in every row, 0 for the others; of a constant column, its value.
fn means_of_full(x: &Csr) -> Vec<f64> {
    let (counts, mut means) = (x.column_counts(), x.column_sums());
    let (mut low, mut high) = (vec![f64::INFINITY; x.d()], vec![f64::NEG_INFINITY; x.d()]);
    for (columns, values) in x.rows() {
        for (j, v) in columns.iter().zip(values) {
            let j = *j as usize;
            (low[j], high[j]) = (low[j].min(*v), high[j].max(*v));
        }
    }
    for (j, mean) in means.iter_mut().enumerate() {
        *mean = match counts[j] == x.n() {
            true if low[j] == high[j] => low[j],
            true => *mean / x.n() as f64,
            false => 0.0,
        };
    }
    means
}

impl Design for Sparse<'_> {
    /// Each stored value is multiplied by a row of the vectors: eight numbers are a line of the cache.
    fn step(&self) -> Option<usize> {
        Some(8)
    }

    fn n(&self) -> usize {
        self.rows.n()
    }

    fn d(&self) -> usize {
        self.rows.d()
    }

    fn times(&self, b: &Block) -> Result<Block> {
        let mut product = self.rows.times(b)?;
        for j in 0..b.b() {
            let along = dot_by_parts(&self.rest, b.col(j));
            product.col_mut(j).iter_mut().for_each(|v| *v -= along);
        }
        Ok(product)
    }

    fn transposed_times(&self, b: &Block) -> Result<Block> {
        let mut product = self.columns.times(b)?;
        for j in 0..b.b() {
            let sum = mean(b.col(j)) * b.n() as f64;
            product.col_mut(j).iter_mut().zip(&self.rest).for_each(|(v, m)| *v -= m * sum);
        }
        Ok(product)
    }

    fn squares(&self) -> Vec<f64> {
        let of_zeros = dot_by_parts(&self.rest, &self.rest);
        let square = |(columns, values): (&[u32], &[f64])| {
            let stored = columns.iter().zip(values).map(|(j, v)| v * (v - 2.0 * self.rest[*j as usize])).sum::<f64>();
            (of_zeros + stored).max(0.0)
        };
        self.rows.rows().map(square).collect()
    }

    fn gram(&self, exec: &Exec) -> Result<Block> {
        let mut gram = self.rows.gram(&self.columns, exec)?;
        if self.center {
            centre(&mut gram);
        }
        Ok(gram)
    }

    fn error(&self) -> f64 {
        // Products with vectors add the terms of a row or a column one after the other.
        let most = |x: &Csr| x.rows().map(|(columns, _)| columns.len()).max().unwrap_or(0);
        let of_products = (most(&self.rows) + most(&self.columns)) as f64 * UNIT;
        // What is subtracted for the mean m: 1 m'v has at most the length sqrt(n) |m|, and so has m 1'u.
        let (n, square) = (self.rows.n() as f64, self.square());
        let of_mean = n.sqrt() * linalg::norm(&self.rest);
        let of_sums = (PART as f64 / 8.0 + (n + self.rows.d() as f64) / PART as f64 + 16.0) * UNIT;
        (of_products.max(Csr::GRAM_ERROR) + OF_MEAN + self.of_scale) * square
            + of_sums * of_mean * (2.0 * square.sqrt() + of_mean)
    }

    fn fingerprint(&self) -> u64 {
        let places: Vec<f64> = self.rows.rows().flat_map(|(columns, _)| columns).map(|j| f64::from(*j)).collect();
        let ends: Vec<f64> = self.rows.rows().map(|(columns, _)| columns.len() as f64).collect();
        let parts = [self.rows.values(), &places, &ends, &self.rest];
        parts.iter().fold(0, |key: u64, part| key.wrapping_mul(31) ^ fingerprint(part))
    }
}
