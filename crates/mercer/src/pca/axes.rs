//! Directions for components without variance.

use crate::block::Block;
use crate::eigen::sign;
use crate::linalg;
use crate::points::Points;

/// Orthonormal rows, and others after them so that there are `width`, at most as many as a row has values: each is what
/// a unit vector has besides the rows before it, with its entry of largest magnitude positive.
///
/// ```
/// use mercer::axes::complete_axes;
/// use mercer::Points;
/// let axes = complete_axes(&Points::from_rows(&[[0.6, 0.8, 0.0]]), 2);
/// assert_eq!(axes.row(1), [0.0, 0.0, 1.0]);
/// ```
pub fn complete_axes(axes: &Points<f64>, width: usize) -> Points<f64> {
    let mut columns = Block::from_fn(axes.d(), axes.n(), |i, j| axes.row(j)[i]);
    complete_columns(&mut columns, width);
    columns.transposed().to_points()
}

/// The same for columns. Those that are there stay as they are.
pub(super) fn complete_columns(axes: &mut Block, width: usize) {
    let d = axes.n();
    let mut squares = vec![0.0; d];
    let mut add = |column: &[f64]| -> usize {
        squares.iter_mut().zip(column).for_each(|(s, v)| *s += v * v);
        (0..d).fold(0, |least, i| if squares[i] < squares[least] { i } else { least })
    };
    let mut least = 0;
    for j in 0..axes.b() {
        least = add(axes.col(j));
    }
    while axes.b() < width.min(d) {
        // The unit vector that has least of itself in the space of the others.
        let mut next = Block::zeros(d, 1);
        *next.at_mut(least, 0) = 1.0;
        // Twice is enough (Kahan, Parlett).
        for _ in 0..2 {
            linalg::subtract_projection(axes, &mut next);
            let length = linalg::norm(next.col(0)).max(f64::MIN_POSITIVE);
            next.col_mut(0).iter_mut().for_each(|v| *v /= length);
        }
        sign::largest_positive(&mut next);
        axes.append(&next);
        least = add(next.col(0));
    }
}

/// Makes nearly orthonormal columns orthonormal, in order and a block at a time, so that most of the work is products of
/// matrices.
pub(super) fn orthonormalise(axes: &mut Block) {
    const COLUMNS: usize = 32;
    let mut done = axes.columns(0, 0);
    for start in (0..axes.b()).step_by(COLUMNS) {
        let mut block = axes.columns(start, axes.b().min(start + COLUMNS));
        // Twice is enough (Kahan, Parlett).
        for _ in 0..2 {
            linalg::subtract_projection(&done, &mut block);
            linalg::orthonormalise(&mut block);
        }
        done.append(&block);
    }
    *axes = done;
}
