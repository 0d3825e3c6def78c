//! Orthonormal bases, kept orthogonal to the vector 1 as well.

use crate::block::Block;
use crate::linalg;
use crate::op::subtract_means;

/// A column of which less than this is left beside the others is dropped: what is left would be rounding.
const LEAST: f64 = 1e-7;

/// Orthonormal columns that span, together with the orthonormal `basis` and 1, what `block` spans with them. Columns
/// that add nothing are left out.
pub(super) fn extension(basis: &Block, mut block: Block) -> Block {
    let n = block.n();
    normalise_all(&mut block);
    // Twice is enough (Kahan, Parlett); between the two, columns are made orthogonal to each other.
    let mut kept = Block::zeros(n, 0);
    for _ in 0..2 {
        subtract_means(&mut block);
        linalg::subtract_projection(basis, &mut block);
        kept = among_themselves(block);
        block = kept.clone();
    }
    drop(block);
    subtract_means(&mut kept);
    kept
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

/// The columns made orthonormal in order, those that depend on earlier ones left out.
fn among_themselves(block: Block) -> Block {
    let n = block.n();
    let mut kept: Vec<f64> = Vec::with_capacity(block.as_slice().len());
    for j in 0..block.b() {
        let mut v = block.col(j).to_vec();
        let before = linalg::norm(&v);
        for _ in 0..2 {
            for q in kept.chunks_exact(n) {
                let along = linalg::dot(q, &v);
                v.iter_mut().zip(q).for_each(|(v, q)| *v -= along * q);
            }
        }
        let after = linalg::norm(&v);
        if after > LEAST * before && before > LEAST {
            kept.extend(v.iter().map(|v| v / after));
        }
    }
    let b = kept.len() / n.max(1);
    Block::from_columns(kept, n, b).expect("whole columns")
}
