//! Orthonormal bases, kept orthogonal to the vector 1 as well where the operator is centred.

use crate::block::Block;
use crate::linalg;
use crate::op::subtract_means;

/// A column is dropped if orthogonalisation reduces its norm below this share: the rest would be rounding.
pub(super) const LEAST: f64 = 1e-6;

/// A column that keeps this share of its norm is orthogonal to the basis up to a few roundings.
const MUCH: f64 = 0.1;

/// Orthonormal columns that have, together with the orthonormal `basis` (and 1, if centred), the same span as `block` with
/// them. Columns of `block` that depend on the others are dropped.
pub(super) fn extension(basis: &Block, mut block: Block, centred: bool) -> Block {
    let mut least = 1.0f64;
    normalise_all(&mut block);
    // Twice is enough (Kahan, Parlett), and once if no column loses much. Each time, columns are also made orthogonal to each
    // other.
    for time in 0..2 {
        if centred {
            subtract_means(&mut block);
        }
        if time == 0 || least < MUCH {
            linalg::subtract_projection(basis, &mut block);
        }
        let kept = (0..block.b()).map(|j| linalg::norm(block.col(j))).fold(1.0, f64::min);
        let pivot;
        (block, pivot) = orthonormalise(block);
        // What is left along the basis is magnified by both.
        least = kept * pivot;
    }
    if centred {
        subtract_means(&mut block);
    }
    block
}

fn normalise_all(block: &mut Block) {
    for j in 0..block.b() {
        let norm = linalg::norm(block.col(j));
        if norm > 0.0 && norm.is_finite() {
            block.col_mut(j).iter_mut().for_each(|v| *v /= norm);
        } else {
            block.col_mut(j).fill(0.0);
        }
    }
}

/// The columns made orthonormal, in order, by the Cholesky factor of their inner products. Columns that depend on earlier
/// ones are dropped. One application loses digits if columns are nearly parallel; a second one restores them. The second
/// value is the least share of its norm that a kept column has beside the columns before it.
fn orthonormalise(block: Block) -> (Block, f64) {
    let mut gram = linalg::inner_products(&block, &block);
    let b = gram.b();
    // Column j of `gram` becomes column j of the lower triangle L, B'B = LL'.
    let mut kept: Vec<usize> = Vec::new();
    let mut least = 1.0f64;
    for j in 0..b {
        let before = gram.at(j, j);
        let after = before - kept.iter().map(|k| gram.at(j, *k).powi(2)).sum::<f64>();
        if after <= LEAST * LEAST * before || before <= LEAST * LEAST || after.is_nan() {
            continue;
        }
        let pivot = after.sqrt();
        least = least.min((after / before).sqrt());
        for i in j + 1..b {
            let known: f64 = kept.iter().map(|k| gram.at(i, *k) * gram.at(j, *k)).sum();
            *gram.at_mut(i, j) = (gram.at(i, j) - known) / pivot;
        }
        *gram.at_mut(j, j) = pivot;
        kept.push(j);
    }
    // Q = B L'^-1, column by column of the inverse.
    let mut inverse = Block::zeros(b, kept.len());
    for (c, j) in kept.iter().enumerate() {
        *inverse.at_mut(*j, c) = 1.0 / gram.at(*j, *j);
        for (r, i) in kept[..c].iter().enumerate().rev() {
            let sum: f64 = kept[r + 1..=c].iter().map(|k| gram.at(*k, *i) * inverse.at(*k, c)).sum();
            *inverse.at_mut(*i, c) = -sum / gram.at(*i, *i);
        }
    }
    (linalg::product(&block, &inverse), least)
}
