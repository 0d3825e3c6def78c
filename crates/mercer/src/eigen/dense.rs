//! All eigenpairs of a stored symmetric matrix.

use super::{Residual, sign};
use crate::block::Block;
use crate::error::Result;
use crate::exec::Exec;
use crate::linalg;
use crate::op::{Centred, SymOp};

/// Eigenvalues, descending by value, and their orthonormal eigenvectors.
#[derive(Clone, Debug)]
pub(crate) struct Eigen {
    /// All n eigenvalues.
    pub(crate) values: Vec<f64>,
    /// The first eigenvectors as columns; all n unless truncated.
    pub(crate) vectors: Block,
    /// A u - lambda u of each kept pair; empty until [`Eigen::keep`].
    pub(crate) residuals: Vec<Residual>,
}

impl Eigen {
    /// All eigenpairs of HAH on the space orthogonal to 1, the largest eigenvalues first, from its stored matrix.
    pub(crate) fn of_operator<A: SymOp>(op: &Centred<A>, exec: &Exec) -> Result<Self> {
        Eigen::of_centred(op.to_matrix(exec)?)
    }

    /// All pairs of a symmetric matrix that maps 1 to 0, as a centred one does, on the space orthogonal to 1. Otherwise the
    /// vector of a small eigenvalue lambda could have a component eps |A| / lambda along 1. In a score, that component is
    /// multiplied by the mean of a row of kernel values, which may be large.
    ///
    /// The reflection P = I - beta w w', w = 1/sqrt(n) + e_1, takes 1 to a multiple of e_1: the first row and column of
    /// P A P are 0, and the rest has the other eigenvalues. The eigenvalue 0 of 1/sqrt(n) is inserted into `values`, but its
    /// vector is not among `vectors`: k of [`Eigen::keep`] must not exceed the number of positive eigenvalues.
    fn of_centred(matrix: Block) -> Result<Self> {
        let n = matrix.n();
        let mut w = vec![1.0 / (n as f64).sqrt(); n];
        w[0] += 1.0;
        let beta = 1.0 / w[0]; // 2 / w'w, for w'w = 2 + 2/sqrt(n)
        // P A P = A - w q' - q w', q = p - (beta / 2) (p'w) w, p = beta A w
        let mut q: Vec<f64> =
            (0..n).map(|i| beta * matrix.col(i).iter().zip(&w).map(|(a, w)| a * w).sum::<f64>()).collect();
        let along = beta / 2.0 * q.iter().zip(&w).map(|(p, w)| p * w).sum::<f64>();
        q.iter_mut().zip(&w).for_each(|(q, w)| *q -= along * w);
        let rest =
            Block::from_fn(n - 1, n - 1, |i, j| matrix.at(i + 1, j + 1) - (w[i + 1] * q[j + 1] + q[i + 1] * w[j + 1]));
        drop(matrix);
        let (mut values, inner) = linalg::eigh(rest)?;
        let mut vectors = Block::zeros(n, n - 1);
        for j in 0..n - 1 {
            let v = inner.col(j);
            let along = beta * v.iter().zip(&w[1..]).map(|(v, w)| v * w).sum::<f64>();
            let u = vectors.col_mut(j);
            u[0] = -along * w[0];
            for i in 1..n {
                u[i] = v[i - 1] - along * w[i];
            }
        }
        values.insert(values.partition_point(|v| *v > 0.0), 0.0);
        Ok(Eigen { values, vectors, residuals: Vec::new() })
    }

    /// Keeps the first k vectors, with the sign rule and their residuals, measured on the operator itself.
    pub(crate) fn keep(mut self, k: usize, op: &dyn SymOp, exec: &Exec) -> Result<Self> {
        self.vectors = self.vectors.first(k);
        sign::largest_positive(&mut self.vectors);
        let mut image = Block::zeros(self.vectors.n(), self.vectors.b());
        op.apply(&self.vectors, &mut image, exec)?;
        self.residuals = (0..self.vectors.b())
            .map(|j| {
                let (value, u) = (self.values[j], self.vectors.col(j));
                image.col_mut(j).iter_mut().zip(u).for_each(|(a, u)| *a -= value * u);
                Residual::of(image.col(j), u)
            })
            .collect();
        Ok(self)
    }
}
