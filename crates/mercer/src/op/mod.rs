//! Symmetric operators: Y = A X on blocks. Solvers need no stored matrix.

mod centred;
mod dense;
mod gram;
pub(crate) mod pass;
mod turns;

pub use centred::{Centred, centre};
pub(crate) use centred::{mean, subtract_means};
pub use dense::Dense;
pub use gram::{Gram, cross_gram};

use crate::block::Block;
use crate::error::{Error, Result};
use crate::exec::Exec;

/// A symmetric n-by-n operator.
///
/// # Example
/// Kernel PCA of an operator of your own; here the kernel min(i, j) of a random walk, which is not stored:
/// ```
/// use mercer::op::SymOp;
/// use mercer::{Block, Exec, KernelPca};
///
/// struct RandomWalk(usize);
///
/// impl SymOp for RandomWalk {
///     fn n(&self) -> usize {
///         self.0
///     }
///     fn apply(&self, x: &Block, y: &mut Block, _: &Exec) -> mercer::Result<()> {
///         for c in 0..x.b() {
///             for i in 0..self.0 {
///                 y.col_mut(c)[i] = (0..self.0).map(|j| (1 + i.min(j)) as f64 * x.col(c)[j]).sum();
///             }
///         }
///         Ok(())
///     }
/// }
///
/// let model = KernelPca::custom().components(2).fit_op(&RandomWalk(50))?;
/// assert!(model.spectrum().ratios()[0] > 0.5);
/// # Ok::<(), mercer::Error>(())
/// ```
pub trait SymOp: Sync {
    /// Returns the size n.
    fn n(&self) -> usize;

    /// Computes Y = A X. `y` has the shape of `x` and any content.
    ///
    /// # Errors
    /// Any error stops the fit, for instance [`crate::ErrorKind::Cancelled`].
    fn apply(&self, x: &Block, y: &mut Block, exec: &Exec) -> Result<()>;

    /// Computes Y = A X and, where it costs nothing extra, the Frobenius norm of A (the root of the sum of the squares of all
    /// entries). The norm bounds the eigenvalues beyond those that were found.
    ///
    /// # Errors
    /// As [`SymOp::apply`].
    fn apply_with_norm(&self, x: &Block, y: &mut Block, exec: &Exec) -> Result<Option<f64>> {
        self.apply(x, y, exec).map(|()| None)
    }

    /// Returns the diagonal of A where it is cheap. The sum of all eigenvalues is then known, and the leading eigenpairs can
    /// be found without storing the matrix.
    ///
    /// # Errors
    /// As [`SymOp::apply`].
    fn diagonal(&self, exec: &Exec) -> Result<Option<Vec<f64>>> {
        let _ = exec;
        Ok(None)
    }

    /// Returns a bound on the norm of the difference between the operator as it is computed and the exact one, where it is
    /// known. Without it, 8 eps of the size of the entries is assumed, and the certificate says that it is an estimate.
    fn error(&self) -> Option<f64> {
        None
    }

    /// Returns the operator as a stored matrix: by default its products with the columns of the identity.
    ///
    /// # Errors
    /// As [`SymOp::apply`].
    fn to_matrix(&self, exec: &Exec) -> Result<Block> {
        const COLUMNS: usize = 64;
        let n = self.n();
        let mut matrix = Block::zeros(n, n);
        for start in (0..n).step_by(COLUMNS) {
            exec.check_cancelled()?;
            let b = COLUMNS.min(n - start);
            let unit = Block::from_fn(n, b, |i, j| if i == start + j { 1.0 } else { 0.0 });
            let mut y = Block::zeros(n, b);
            self.apply(&unit, &mut y, exec)?;
            if (y.n(), y.b()) != (n, b) {
                return Err(Error::shape("values of the operator's result", y.as_slice().len(), n * b));
            }
            matrix.as_mut_slice()[start * n..(start + b) * n].copy_from_slice(y.as_slice());
        }
        Ok(matrix)
    }
}
