//! The one rule for the sign of a vector: its entry of largest magnitude is positive (MATHS.md, M14).

use crate::block::Block;

/// Entries this close to the largest count as ties, which the lowest index wins, so that rounding does not decide a sign.
const TIE: f64 = 1e-9;

/// Flips columns whose entry of largest magnitude is negative.
pub(crate) fn largest_positive(vectors: &mut Block) {
    for j in 0..vectors.b() {
        let column = vectors.col_mut(j);
        let largest = column.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let leading = column.iter().find(|v| v.abs() >= largest * (1.0 - TIE));
        if leading.is_some_and(|v| *v < 0.0) {
            column.iter_mut().for_each(|v| *v = -*v);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_lowest_index() {
        let mut v = Block::from_fn(3, 2, |i, j| [[-1.0, 1.0 + 1e-12, 0.0], [0.5, -2.0, 1.0]][j][i]);
        largest_positive(&mut v);
        assert_eq!(v.col(0), [1.0, -1.0 - 1e-12, -0.0]);
        assert_eq!(v.col(1), [-0.5, 2.0, -1.0]);
    }
}
