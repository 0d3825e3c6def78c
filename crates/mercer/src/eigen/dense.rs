//! All eigenpairs of a stored symmetric matrix.

use super::sign;
use crate::block::Block;
use crate::error::Result;
use crate::linalg;

/// Eigenvalues, descending by value, and their orthonormal eigenvectors.
#[derive(Clone, Debug)]
pub(crate) struct Eigen {
    /// All n eigenvalues.
    pub(crate) values: Vec<f64>,
    /// The first eigenvectors as columns; all n unless truncated.
    pub(crate) vectors: Block,
    /// |A u - lambda u| of each kept pair; empty until [`Eigen::keep`].
    pub(crate) residuals: Vec<f64>,
}

impl Eigen {
    /// All pairs of a symmetric matrix.
    pub(crate) fn of(matrix: &Block) -> Result<Self> {
        let (values, vectors) = linalg::eigh(matrix.clone())?;
        Ok(Eigen { values, vectors, residuals: Vec::new() })
    }

    /// Keeps the first k vectors, with the sign rule and their residuals, measured on `matrix` itself.
    pub(crate) fn keep(mut self, k: usize, matrix: &Block) -> Self {
        self.vectors = self.vectors.first(k);
        sign::largest_positive(&mut self.vectors);
        let mut image = linalg::product(matrix, &self.vectors);
        self.residuals = (0..self.vectors.b())
            .map(|j| {
                let (value, u) = (self.values[j], self.vectors.col(j));
                image.col_mut(j).iter_mut().zip(u).for_each(|(a, u)| *a -= value * u);
                linalg::norm(image.col(j))
            })
            .collect();
        self
    }
}
