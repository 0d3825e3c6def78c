//! The Gram operator of a kernel on points, evaluated tile by tile and never stored unless asked for.

use rayon::prelude::*;

use super::SymOp;
use crate::block::Block;
use crate::error::Result;
use crate::exec::Exec;
use crate::kernel::Bound;
use crate::kernel::tile::{self, Form, Rows, TILE};
use crate::linalg;
use crate::points::PointsRef;
use crate::real::Real;

/// K_ij = k(x_i, x_j) (MATHS.md, M5).
#[derive(Clone, Debug)]
pub struct Gram {
    bound: Bound,
    rows: Rows,
    form: Form,
}

impl Gram {
    /// The Gram operator of a bound kernel on points.
    ///
    /// # Errors
    /// When the points have another number of dimensions than the kernel is bound to, or are not finite.
    pub fn new<'a, T: Real>(bound: &Bound, points: impl Into<PointsRef<'a, T>>) -> Result<Self> {
        let points = points.into();
        points.check(1)?;
        points.check_dimensions(bound.d())?;
        Ok(Gram { rows: Rows::new(bound, points.to_f64()), bound: bound.clone(), form: Form::Value })
    }

    /// The same operator up to terms that centring removes, with smaller entries and so with more digits (MATHS.md, M6).
    pub fn up_to_centring(mut self) -> Self {
        self.form = Form::UpToCentring;
        self
    }

    pub(crate) fn into_rows(self) -> Rows {
        self.rows
    }
}

impl SymOp for Gram {
    fn n(&self) -> usize {
        self.rows.n()
    }

    /// Each row of Y is summed by one thread over columns in order.
    fn apply(&self, x: &Block, y: &mut Block, exec: &Exec) -> Result<()> {
        let (n, b) = (self.n(), x.b());
        if b == 0 {
            return Ok(());
        }
        let parts: Vec<Vec<f64>> = (0..n.div_ceil(TILE))
            .into_par_iter()
            .map(|t| {
                exec.go_on()?;
                let rows = t * TILE..n.min((t + 1) * TILE);
                let mut sums = vec![0.0; rows.len() * b];
                let mut values = vec![0.0; rows.len() * TILE];
                for start in (0..n).step_by(TILE) {
                    let cols = start..n.min(start + TILE);
                    let values = &mut values[..rows.len() * cols.len()];
                    tile::fill(&self.bound, self.form, (&self.rows, rows.clone()), (&self.rows, cols.clone()), values);
                    for (sums, line) in sums.chunks_exact_mut(b).zip(values.chunks_exact(cols.len())) {
                        for (c, sum) in sums.iter_mut().enumerate() {
                            *sum += line.iter().zip(&x.col(c)[cols.clone()]).map(|(k, v)| k * v).sum::<f64>();
                        }
                    }
                }
                Ok(sums)
            })
            .collect::<Result<_>>()?;
        for (i, line) in parts.iter().flat_map(|p| p.chunks_exact(b)).enumerate() {
            for (c, v) in line.iter().enumerate() {
                y.col_mut(c)[i] = *v;
            }
        }
        Ok(())
    }

    /// Each tile of one half is computed once.
    fn to_matrix(&self, exec: &Exec) -> Result<Block> {
        let n = self.n();
        let mut matrix = Block::zeros(n, n);
        // A strip of TILE columns is contiguous: threads write to strips of their own.
        matrix.as_mut_slice().par_chunks_mut(n * TILE).enumerate().try_for_each(|(strip, out)| -> Result<()> {
            exec.go_on()?;
            let cols = strip * TILE..n.min((strip + 1) * TILE);
            let mut values = vec![0.0; TILE * TILE];
            for start in (cols.start..n).step_by(TILE) {
                let rows = start..n.min(start + TILE);
                let values = &mut values[..rows.len() * cols.len()];
                // Symmetric: columns of the matrix are filled as rows of the tile.
                tile::fill(&self.bound, self.form, (&self.rows, cols.clone()), (&self.rows, rows.clone()), values);
                for (j, line) in values.chunks_exact(rows.len()).enumerate() {
                    out[j * n..][rows.clone()].copy_from_slice(line);
                }
            }
            Ok(())
        })?;
        linalg::mirror_lower(&mut matrix);
        matrix.check_finite("Gram matrix")?;
        Ok(matrix)
    }
}
