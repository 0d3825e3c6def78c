//! A stored symmetric matrix.

use rayon::prelude::*;

use super::SymOp;
use crate::block::Block;
use crate::error::{Error, ErrorKind, ErrorSubject, Result};
use crate::exec::Exec;
use crate::kernel::tile::LARGE_TILE;
use crate::linalg;
use crate::panels::{self, Panels};
use crate::points::PointsRef;
use crate::real::{Real, largest};

/// Rows that a thread multiplies at once.
const STRIP: usize = 48;

/// A stored symmetric matrix.
///
/// ```
/// use mercer::op::Dense;
/// use mercer::op::SymOp;
/// use mercer::{Exec, Points};
/// let gram = Dense::new(&Points::from_rows(&[[2.0, 1.0], [1.0, 2.0]]))?;
/// assert_eq!(gram.diagonal(&Exec::new())?, Some(vec![2.0, 2.0]));
/// assert!(Dense::new(&Points::from_rows(&[[2.0, 1.0], [0.0, 2.0]])).is_err()); // not symmetric
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    matrix: Block,
    largest: f64,
    asymmetry: f64,
    /// The machine epsilon of the entries as they were given: they are accurate to a few of it.
    epsilon: f64,
}

impl Dense {
    /// Returns a hash of the entries.
    pub(crate) fn fingerprint(&self) -> u64 {
        self.matrix.fingerprint()
    }

    /// Builds the operator of a Gram matrix K; row i and column i belong to point i.
    ///
    /// # Errors
    /// When it is not square, not finite, or not symmetric up to rounding: about 1e-10 of the largest entry in f64, 3e-6 in
    /// f32.
    pub fn new<'a, T: Real>(gram: impl Into<PointsRef<'a, T>>) -> Result<Self> {
        Dense::measure(gram)?.symmetric()
    }

    /// As [`Dense::new`] for a matrix that need not be symmetric.
    pub(crate) fn measure<'a, T: Real>(gram: impl Into<PointsRef<'a, T>>) -> Result<Self> {
        let gram = gram.into();
        if gram.n() != gram.d() {
            return Err(Error::shape("columns of a Gram matrix, which must be square", gram.d(), gram.n()));
        }
        let matrix = Block::from_fn(gram.n(), gram.n(), |i, j| gram.row(i)[j].to_f64());
        Dense::measure_block(matrix, T::EPSILON)
    }

    /// As [`Dense::measure`] for a square block.
    pub(crate) fn measure_block(matrix: Block, epsilon: f64) -> Result<Self> {
        let n = matrix.n();
        if n == 0 {
            return Err(ErrorKind::TooFew { what: ErrorSubject::Points, found: 0, needed: 1 }.into());
        }
        matrix.check_finite(ErrorSubject::GramMatrix)?;
        let mut dense = Dense { largest: largest(matrix.as_slice()), matrix, asymmetry: 0.0, epsilon };
        let (i, j) = dense.worst();
        if dense.largest > 0.0 {
            dense.asymmetry = (dense.matrix.at(i, j) / dense.largest - dense.matrix.at(j, i) / dense.largest).abs();
        }
        Ok(dense)
    }

    /// Rejects a matrix that is not symmetric up to rounding, and replaces it by (K + K')/2.
    pub(crate) fn symmetric(self) -> Result<Self> {
        if self.is_symmetric() {
            return Ok(self.averaged());
        }
        let (row, column) = self.worst();
        let (value, mirrored) = (self.matrix.at(row, column), self.matrix.at(column, row));
        Err(ErrorKind::NotSymmetric { row, column, value, mirrored }.into())
    }

    /// Returns whether the matrix is symmetric up to rounding.
    pub(crate) fn is_symmetric(&self) -> bool {
        self.asymmetry <= self.epsilon.sqrt() * 1e-2
    }

    /// Returns the assumed error of an entry: a few machine epsilons of the type in which the entries were given, relative to
    /// their size.
    pub(crate) fn entry_error(&self) -> f64 {
        8.0 * self.epsilon * self.size()
    }

    /// The Frobenius norm.
    pub(crate) fn norm(&self) -> f64 {
        let columns: Vec<f64> = (0..self.matrix.b()).map(|j| linalg::norm(self.matrix.col(j))).collect();
        linalg::norm(&columns)
    }

    /// The size of the entries (MATHS.md, M25): the root of their mean square, or the mean of the diagonal if that is larger.
    pub(crate) fn size(&self) -> f64 {
        let n = self.matrix.n() as f64;
        let diagonal: f64 = (0..self.matrix.n()).map(|i| self.matrix.at(i, i).abs() / n).sum();
        diagonal.max(self.norm() / n)
    }

    /// The largest magnitude of an entry.
    pub(crate) fn largest(&self) -> f64 {
        self.largest
    }

    /// The mean of each row, and the mean of these.
    pub(crate) fn means(&self) -> (Vec<f64>, f64) {
        super::centred::means(&self.matrix)
    }

    pub(crate) fn into_matrix(self) -> Block {
        self.matrix
    }

    /// Returns the largest |K_ij - K_ji| over the largest |K_ij|.
    pub fn asymmetry(&self) -> f64 {
        self.asymmetry
    }

    /// (K + K')/2.
    pub(crate) fn averaged(mut self) -> Self {
        let a = &mut self.matrix;
        for j in 0..a.b() {
            for i in 0..j {
                let middle = a.at(i, j) / 2.0 + a.at(j, i) / 2.0;
                *a.at_mut(i, j) = middle;
                *a.at_mut(j, i) = middle;
            }
        }
        self
    }

    /// Returns the position of the largest |K_ij - K_ji|.
    fn worst(&self) -> (usize, usize) {
        let (mut at, mut most) = ((0, 0), 0.0);
        for j in 0..self.matrix.b() {
            for i in 0..j {
                let gap = (self.matrix.at(i, j) - self.matrix.at(j, i)).abs();
                if gap > most {
                    (at, most) = ((i, j), gap);
                }
            }
        }
        at
    }
}

impl SymOp for Dense {
    fn n(&self) -> usize {
        self.matrix.n()
    }

    fn apply(&self, x: &Block, y: &mut Block, exec: &Exec) -> Result<()> {
        exec.check_cancelled()?;
        let (n, b) = (self.n(), x.b());
        let (vectors, level) = (Panels::of_block(x, 0..n), exec.level());
        let mut rows = vec![0.0; n * b];
        // Columns of a symmetric matrix are its rows.
        let lines = self.matrix.as_slice().par_chunks(STRIP * n);
        rows.par_chunks_mut((STRIP * b).max(1)).zip(lines).for_each(|(out, lines)| {
            panels::add_long_rows_times(level, lines, &vectors, LARGE_TILE, out);
        });
        for c in 0..b {
            y.col_mut(c).iter_mut().zip(rows[c..].iter().step_by(b)).for_each(|(y, v)| *y = *v);
        }
        Ok(())
    }

    fn apply_with_norm(&self, x: &Block, y: &mut Block, exec: &Exec) -> Result<Option<f64>> {
        self.apply(x, y, exec)?;
        Ok(Some(self.norm()))
    }

    fn diagonal(&self, _: &Exec) -> Result<Option<Vec<f64>>> {
        Ok(Some((0..self.n()).map(|i| self.matrix.at(i, i)).collect()))
    }

    fn to_matrix(&self, _: &Exec) -> Result<Block> {
        Ok(self.matrix.clone())
    }
}
