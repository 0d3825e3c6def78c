//! Centring as an operator: H A H with H = I - 11'/n.

use rayon::prelude::*;

use super::SymOp;
use crate::block::Block;
use crate::error::Result;
use crate::exec::Exec;

/// The operator H A H (MATHS.md, M7): the Gram matrix of points shifted so that their mean in feature space is 0.
///
/// ```
/// use mercer::op::{Centred, Dense};
/// use mercer::op::SymOp;
/// use mercer::{Exec, Points};
/// let gram = Dense::new(&Points::from_rows(&[[2.0, 0.0], [0.0, 2.0]]))?;
/// assert_eq!(Centred(gram).to_matrix(&Exec::new())?.as_slice(), [1.0, -1.0, -1.0, 1.0]);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Centred<A>(pub A);

impl<A: SymOp> SymOp for Centred<A> {
    fn n(&self) -> usize {
        self.0.n()
    }

    fn apply(&self, x: &Block, y: &mut Block, exec: &Exec) -> Result<()> {
        let mut x = x.clone();
        subtract_means(&mut x);
        self.0.apply(&x, y, exec)?;
        subtract_means(y);
        Ok(())
    }

    fn to_matrix(&self, exec: &Exec) -> Result<Block> {
        let mut matrix = self.0.to_matrix(exec)?;
        centre(&mut matrix);
        Ok(matrix)
    }
}

/// From this many values on, threads share the work.
const MANY: usize = 100_000;

/// Replaces X by H X: subtracts the mean of every column.
pub(crate) fn subtract_means(x: &mut Block) {
    let (n, many) = (x.n().max(1), x.as_slice().len() >= MANY);
    let subtract = |column: &mut [f64]| {
        let mean = mean(column);
        column.iter_mut().for_each(|v| *v -= mean);
    };
    match many {
        true => x.as_mut_slice().par_chunks_exact_mut(n).for_each(subtract),
        false => x.as_mut_slice().chunks_exact_mut(n).for_each(subtract),
    }
}

/// Returns the mean: summed in blocks of fixed size, then corrected by the mean of the differences from it.
pub(crate) fn mean(v: &[f64]) -> f64 {
    let n = v.len() as f64;
    if v.is_empty() {
        return 0.0;
    }
    // Each value is divided first, so that a sum of huge values does not overflow.
    let share = 1.0 / n;
    let sum = |about: f64| v.chunks(256).map(|c| sum_of(c, |x| (x - about) * share)).sum::<f64>();
    let rough = sum(0.0);
    rough + sum(rough)
}

/// The sum of f over a chunk, in eight interleaved sums.
fn sum_of(chunk: &[f64], f: impl Fn(f64) -> f64) -> f64 {
    let mut parts = [0.0; 8];
    let eights = chunk.chunks_exact(8);
    let rest: f64 = eights.remainder().iter().map(|x| f(*x)).sum();
    for eight in eights {
        parts.iter_mut().zip(eight).for_each(|(part, x)| *part += f(*x));
    }
    parts.iter().sum::<f64>() + rest
}

/// The mean of each row of a symmetric matrix, and the mean of these.
pub(super) fn means(k: &Block) -> (Vec<f64>, f64) {
    let means: Vec<f64> = (0..k.b()).map(|j| mean(k.col(j))).collect();
    let grand = mean(&means);
    (means, grand)
}

/// Replaces a symmetric matrix K by HKH; returns the row means of K and the mean of all its entries.
pub fn centre(k: &mut Block) -> (Vec<f64>, f64) {
    let (means, grand) = means(k);
    for j in 0..k.b() {
        for (i, v) in k.col_mut(j).iter_mut().enumerate() {
            // The two row means are added first, so that (i, j) and (j, i) get the same bits.
            *v = *v - (means[i] + means[j]) + grand;
        }
    }
    (means, grand)
}
