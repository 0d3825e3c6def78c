//! The matrix of a model by its definition: entries of the kernel, or rows of the data.

use rayon::prelude::*;

use super::sums::{Sum, add, dot};
use crate::block::Block;
use crate::error::{ErrorKind, ErrorSubject, Result};
use crate::exec::Exec;
use crate::kernel::Kernel;
use crate::kernel::rounding::{Extent, entry_error};
use crate::points::Points;
use crate::precise::two_sum;

/// A column of the data less its mean, divided by its scale.
pub(super) struct Located {
    pub(super) values: Vec<f64>,
    pub(super) mean: f64,
    pub(super) scale: f64,
    /// The standard deviation about the mean, or about 0.
    pub(super) sd: f64,
}

impl Located {
    pub(super) fn of(mut column: Vec<f64>, center: bool, standardise: bool) -> Self {
        let n = column.len() as f64;
        let (mut mean, mut rest) = (0.0, 0.0);
        if center {
            let mut sum = Sum::default();
            column.iter().for_each(|v| sum.add(*v));
            let (high, low) = two_sum(sum.high, sum.low);
            mean = high / n;
            rest = ((-mean).mul_add(n, high) + low) / n;
        }
        for v in &mut column {
            let (high, low) = two_sum(*v, -mean);
            *v = high + (low - rest);
        }
        let divisor = if center { (n - 1.0).max(1.0) } else { n };
        let sd = (dot(&column, &column) / divisor).sqrt();
        let scale = if standardise && sd > 0.0 { sd } else { 1.0 };
        if standardise {
            column.iter_mut().for_each(|v| *v /= scale);
        }
        Located { values: column, mean, scale, sd }
    }
}

/// What is known about the matrix besides its products.
pub(super) struct Measured {
    /// The allowance for the rounding of a residual or of an eigenvalue.
    pub(super) rounding: f64,
    /// The trace, and the allowance for its rounding.
    pub(super) total: f64,
    pub(super) of_total: f64,
    /// Whether no eigenvalue is negative.
    pub(super) definite: bool,
}

/// The matrix, by its definition.
pub(super) enum Matrix<'a> {
    /// K, entry by entry.
    Gram { entry: &'a (dyn Fn(usize, usize) -> f64 + Sync), n: usize },
    /// X'X, by the columns of X.
    Scatter { columns: Vec<Vec<f64>>, n: usize },
}

/// The product of the matrix with a block, and sums over its entries.
pub(super) struct Pass {
    pub(super) images: Block,
    /// The sum of the squares of all entries, and of all entries.
    pub(super) squares: f64,
    pub(super) sum: f64,
    /// The sums of the diagonal and of its magnitudes.
    pub(super) diagonal: f64,
    pub(super) diagonal_size: f64,
}

impl Matrix<'_> {
    /// Each number is a sum in a fixed order, so that bits do not depend on threads.
    pub(super) fn times(&self, v: &Block, exec: &Exec) -> Result<Pass> {
        match self {
            Matrix::Scatter { columns, .. } => {
                exec.check_cancelled()?;
                let scores = self.scores(v);
                let image = |column: &Vec<f64>| scores.iter().map(|w| dot(column, w)).collect::<Vec<f64>>();
                let rows: Vec<Vec<f64>> = columns.par_iter().map(image).collect();
                let images = Block::from_fn(columns.len(), v.b(), |i, j| rows[i][j]);
                Ok(Pass { images, squares: 0.0, sum: 0.0, diagonal: 0.0, diagonal_size: 0.0 })
            }
            Matrix::Gram { entry, n } => {
                let turned = v.transposed();
                let row = |i: usize| {
                    exec.check_cancelled()?;
                    let mut products = vec![Sum::default(); v.b()];
                    let (mut squares, mut sum) = (Sum::default(), Sum::default());
                    for j in 0..*n {
                        let k = entry(i, j);
                        if !k.is_finite() {
                            return Err(ErrorKind::NotFinite {
                                what: ErrorSubject::GramMatrix,
                                row: i,
                                column: j,
                                value: k,
                            }
                            .into());
                        }
                        squares.add_product(k, k);
                        sum.add(k);
                        products.iter_mut().zip(turned.col(j)).for_each(|(sum, v)| sum.add_product(k, *v));
                    }
                    Ok((products.iter().map(Sum::value).collect(), squares.value(), sum.value(), entry(i, i)))
                };
                let rows: Vec<(Vec<f64>, f64, f64, f64)> = (0..*n).into_par_iter().map(row).collect::<Result<_>>()?;
                Ok(Pass {
                    images: Block::from_fn(*n, v.b(), |i, j| rows[i].0[j]),
                    squares: add(rows.iter().map(|r| r.1)),
                    sum: add(rows.iter().map(|r| r.2)),
                    diagonal: add(rows.iter().map(|r| r.3)),
                    diagonal_size: add(rows.iter().map(|r| r.3.abs())),
                })
            }
        }
    }

    /// X v, for each column of a block.
    pub(super) fn scores(&self, v: &Block) -> Vec<Vec<f64>> {
        let Matrix::Scatter { columns, n } = self else { return Vec::new() };
        let score = |j: usize| {
            let mut sums = vec![Sum::default(); *n];
            for (column, v) in columns.iter().zip(v.col(j)) {
                sums.iter_mut().zip(column).for_each(|(sum, x)| sum.add_product(*x, *v));
            }
            sums.iter().map(Sum::value).collect()
        };
        (0..v.b()).into_par_iter().map(score).collect()
    }
}

/// What rounding does to a kernel value that is computed in plain loops (M25): sums over d dimensions have d roundings.
pub(super) fn plain_error(kernel: &Kernel, points: &Points<f64>, size: f64) -> f64 {
    let d = points.d();
    let (by_parts, plain) = ((8 + d / 16) as f64, 8.0 + 0.5 * d as f64);
    let extent = Extent::of(kernel, points, 0.0);
    plain / by_parts * entry_error(kernel, d, &extent, size, f64::EPSILON)
}
