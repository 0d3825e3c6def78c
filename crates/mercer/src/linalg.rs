//! Dense linear algebra: the only place that knows faer.
//!
//! Results do not depend on the number of threads: faer splits its work by the degree of parallelism that it is
//! told, which is a constant here, and not by the number of threads that happen to run it.

use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::svd::{ComputeSvdVectors, svd, svd_scratch};
use faer::{Accum, MatMut, MatRef, Par};

use crate::block::Block;
use crate::error::{ErrorKind, Result};
use crate::points::Points;

/// From this size on, the work of a decomposition is split in two.
const PARALLEL_FROM: usize = 256;

fn par(size: usize) -> Par {
    if size < PARALLEL_FROM { Par::Seq } else { Par::rayon(2) }
}

fn view(a: &Block) -> MatRef<'_, f64> {
    MatRef::from_column_major_slice(a.as_slice(), a.n(), a.b())
}

fn view_mut(a: &mut Block) -> MatMut<'_, f64> {
    let (n, b) = (a.n(), a.b());
    MatMut::from_column_major_slice_mut(a.as_mut_slice(), n, b)
}

fn rows(x: &Points<f64>) -> MatRef<'_, f64> {
    MatRef::from_row_major_slice(x.as_slice(), x.n(), x.d())
}

/// A B.
pub(crate) fn product(a: &Block, b: &Block) -> Block {
    let mut c = Block::zeros(a.n(), b.b());
    matmul(view_mut(&mut c), Accum::Replace, view(a), view(b), 1.0, par(a.n().min(a.b())));
    c
}

/// Adds X'X to the lower half of `scatter`, on the calling thread.
pub(crate) fn add_scatter(scatter: &mut Block, x: &Points<f64>) {
    use BlockStructure::{Rectangular, TriangularLower};
    let x = rows(x);
    let out = view_mut(scatter);
    triangular::matmul(out, TriangularLower, Accum::Add, x.transpose(), Rectangular, x, Rectangular, 1.0, Par::Seq);
}

/// X X', both halves.
pub(crate) fn outer_gram(x: &Points<f64>) -> Block {
    use BlockStructure::{Rectangular, TriangularLower};
    let mut g = Block::zeros(x.n(), x.n());
    let out = view_mut(&mut g);
    let m = rows(x);
    triangular::matmul(
        out,
        TriangularLower,
        Accum::Replace,
        m,
        Rectangular,
        m.transpose(),
        Rectangular,
        1.0,
        par(x.n()),
    );
    mirror_lower(&mut g);
    g
}

/// Copies the lower half of a square matrix onto its upper half.
pub(crate) fn mirror_lower(a: &mut Block) {
    for j in 0..a.b() {
        for i in 0..j {
            *a.at_mut(i, j) = a.at(j, i);
        }
    }
}

/// A' B for points A (rows are points) and a block B.
pub(crate) fn transposed_product(a: &Points<f64>, b: &Block) -> Block {
    let mut c = Block::zeros(a.d(), b.b());
    matmul(view_mut(&mut c), Accum::Replace, rows(a).transpose(), view(b), 1.0, par(a.n()));
    c
}

/// The power of two nearest below the largest magnitude, or `None` for the zero matrix: dividing by it is exact and
/// keeps the decompositions away from overflow and from subnormal numbers.
fn scale_of(values: &[f64]) -> Option<f64> {
    let max = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    (max > 0.0).then(|| 2f64.powi(max.log2().floor().clamp(-1022.0, 1023.0) as i32))
}

fn identity(n: usize) -> Block {
    Block::from_fn(n, n, |i, j| if i == j { 1.0 } else { 0.0 })
}

/// All eigenvalues, descending, and orthonormal eigenvectors of a symmetric matrix, of which the lower half is read.
pub(crate) fn eigh(a: Block) -> Result<(Vec<f64>, Block)> {
    let n = a.n();
    let mut vectors = Block::zeros(n, n);
    let values = decompose(a, Some(&mut vectors))?;
    Ok((values, vectors))
}

/// All eigenvalues of a symmetric matrix, descending.
pub(crate) fn eigenvalues(a: Block) -> Result<Vec<f64>> {
    decompose(a, None)
}

fn decompose(mut a: Block, mut vectors: Option<&mut Block>) -> Result<Vec<f64>> {
    let n = a.n();
    let Some(scale) = scale_of(a.as_slice()) else {
        if let Some(vectors) = vectors {
            *vectors = identity(n);
        }
        return Ok(vec![0.0; n]);
    };
    a.as_mut_slice().iter_mut().for_each(|v| *v /= scale);
    let mut values = vec![0.0; n];
    let par = par(n);
    let wanted = if vectors.is_some() { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No };
    let mut memory = MemBuffer::new(self_adjoint_evd_scratch::<f64>(n, wanted, par, Default::default()));
    self_adjoint_evd(
        view(&a),
        DiagMut::from_slice_mut(&mut values),
        vectors.as_deref_mut().map(view_mut),
        par,
        MemStack::new(&mut memory),
        Default::default(),
    )
    .map_err(|_| ErrorKind::NoConvergence { what: "eigendecomposition", size: n })?;
    // faer's order is ascending
    values.reverse();
    values.iter_mut().for_each(|v| *v *= scale);
    if let Some(vectors) = vectors {
        for j in 0..n / 2 {
            let (front, back) = vectors.as_mut_slice().split_at_mut((n - 1 - j) * n);
            front[j * n..(j + 1) * n].swap_with_slice(&mut back[..n]);
        }
    }
    Ok(values)
}

/// Singular values, descending, and the right singular vectors (as columns) of points, min(n, d) of each.
pub(crate) fn svd_right(x: &Points<f64>) -> Result<(Vec<f64>, Block)> {
    let (n, d) = (x.n(), x.d());
    let size = n.min(d);
    let Some(scale) = scale_of(x.as_slice()) else {
        return Ok((vec![0.0; size], identity(d).first(size)));
    };
    let mut a = Block::zeros(n, d);
    for j in 0..d {
        for (i, v) in a.col_mut(j).iter_mut().enumerate() {
            *v = x.row(i)[j] / scale;
        }
    }
    let (mut values, mut right) = (vec![0.0; size], Block::zeros(d, size));
    let par = par(size);
    let scratch = svd_scratch::<f64>(n, d, ComputeSvdVectors::No, ComputeSvdVectors::Thin, par, Default::default());
    let mut memory = MemBuffer::new(scratch);
    svd(
        view(&a),
        DiagMut::from_slice_mut(&mut values),
        None,
        Some(view_mut(&mut right)),
        par,
        MemStack::new(&mut memory),
        Default::default(),
    )
    .map_err(|_| ErrorKind::NoConvergence { what: "singular value decomposition", size })?;
    values.iter_mut().for_each(|v| *v *= scale);
    Ok((values, right))
}

/// Makes the columns of `a` orthonormal in order; columns that depend on earlier ones are replaced by directions
/// orthogonal to all. Needs at least as many rows as columns.
pub(crate) fn orthonormalise(a: &mut Block) {
    let (n, b) = (a.n(), a.b());
    debug_assert!(n >= b);
    // Of the n coordinate axes at least one keeps 1/sqrt(n) of its length beside any j < n others, so that the search for
    // a direction ends.
    let least = 1e-3 / (n as f64).sqrt();
    let mut fresh = 0; // the next coordinate axis to try
    for j in 0..b {
        loop {
            let before = norm(a.col(j));
            // Twice is enough (Kahan, Parlett); the third time is for directions that nearly vanish.
            for _ in 0..3 {
                for i in 0..j {
                    let (done, rest) = a.as_mut_slice().split_at_mut(j * n);
                    let (q, v) = (&done[i * n..(i + 1) * n], &mut rest[..n]);
                    let along: f64 = q.iter().zip(&*v).map(|(q, v)| q * v).sum();
                    v.iter_mut().zip(q).for_each(|(v, q)| *v -= along * q);
                }
            }
            let after = norm(a.col(j));
            if after > least * before {
                a.col_mut(j).iter_mut().for_each(|v| *v /= after);
                break;
            }
            a.col_mut(j).fill(0.0);
            a.col_mut(j)[fresh % n] = 1.0;
            fresh += 1;
        }
    }
}

pub(crate) fn norm(v: &[f64]) -> f64 {
    let max = v.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    if max == 0.0 || !max.is_finite() {
        return max;
    }
    max * v.iter().map(|x| (x / max) * (x / max)).sum::<f64>().sqrt()
}
