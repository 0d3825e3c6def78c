//! A stored symmetric matrix.

use super::SymOp;
use crate::block::Block;
use crate::error::{Error, ErrorKind, Result};
use crate::exec::Exec;
use crate::linalg;
use crate::points::PointsRef;
use crate::real::Real;

/// Asymmetry up to this share of the largest entry is rounding, and is averaged away.
const SYMMETRY_TOLERANCE: f64 = 1e-10;

/// A symmetric matrix that was given.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    matrix: Block,
    asymmetry: f64,
}

impl Dense {
    /// A Gram matrix K, row i and column i belonging to point i.
    ///
    /// # Errors
    /// When it is not square, not finite, or not symmetric: entries must mirror each other to 1e-10 of the largest.
    pub fn new<'a, T: Real>(gram: impl Into<PointsRef<'a, T>>) -> Result<Self> {
        let dense = Dense::measure(gram)?;
        if dense.asymmetry <= SYMMETRY_TOLERANCE {
            return Ok(dense.averaged());
        }
        let (row, column) = dense.worst();
        let (value, mirrored) = (dense.matrix.at(row, column), dense.matrix.at(column, row));
        Err(ErrorKind::NotSymmetric { row, column, value, mirrored }.into())
    }

    /// As [`Dense::new`] for a matrix that need not be symmetric.
    pub(crate) fn measure<'a, T: Real>(gram: impl Into<PointsRef<'a, T>>) -> Result<Self> {
        let gram = gram.into();
        if gram.n() != gram.d() {
            return Err(Error::shape("columns of the Gram matrix, which must be square", gram.d(), gram.n()));
        }
        gram.check(1).map_err(|e| match *e.kind() {
            ErrorKind::NotFinite { row, column, value, .. } => {
                ErrorKind::NotFinite { what: "Gram matrix", row, column, value }.into()
            }
            _ => e,
        })?;
        let n = gram.n();
        let matrix = Block::from_fn(n, n, |i, j| gram.row(i)[j].to_f64());
        let largest = matrix.as_slice().iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let mut dense = Dense { matrix, asymmetry: 0.0 };
        let (i, j) = dense.worst();
        if largest > 0.0 {
            dense.asymmetry = (dense.matrix.at(i, j) / largest - dense.matrix.at(j, i) / largest).abs();
        }
        Ok(dense)
    }

    /// The largest |K_ij - K_ji| over the largest |K_ij|.
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

    /// Where the matrix is farthest from its mirror image.
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
        exec.go_on()?;
        *y = linalg::product(&self.matrix, x);
        Ok(())
    }

    fn to_matrix(&self, _: &Exec) -> Result<Block> {
        Ok(self.matrix.clone())
    }
}
