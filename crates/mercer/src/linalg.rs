//! Dense linear algebra: the only place that knows faer.
//!
//! Results do not depend on the number of threads: faer splits its work by the degree of parallelism that it is
//! told, which is a constant here, and not by the number of threads that happen to run it.

use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::qr::no_pivoting::factor::{qr_in_place, qr_in_place_scratch, recommended_block_size};
use faer::linalg::svd::{ComputeSvdVectors, svd, svd_scratch};
use faer::linalg::triangular_inverse::invert_lower_triangular;
use faer::{Accum, MatMut, MatRef, Par};
use fearless_simd::{Level, dispatch, prelude::*};
use rayon::prelude::*;

use crate::block::Block;
use crate::error::{ErrorKind, Result};
use crate::points::Points;
use crate::real::{Real, SQUARABLE, largest};

/// From this size on, the work of a decomposition is split in two.
const PARALLEL_FROM: usize = 700;

/// The same for singular values, which take more work.
const SVD_PARALLEL_FROM: usize = 256;

/// Pieces that a large product is cut into, however many threads there are.
const PIECES: usize = 8;

fn par(size: usize) -> Par {
    if size < PARALLEL_FROM { Par::Seq } else { Par::rayon(2) }
}

/// The same for a product of so many multiplications.
fn par_of_product(n: usize, m: usize, k: usize) -> Par {
    if n.saturating_mul(m).saturating_mul(k) < 4_000_000 { Par::Seq } else { Par::rayon(2) }
}

/// Terms that a matrix product adds up before they are added to the sum of the terms before: the error of a sum of m terms
/// is then at most [`product_error`], however many there are.
const INNER: usize = 256;

/// A bound on the error of a product of matrices with m inner terms, relative to the product of their magnitudes.
pub(crate) fn product_error(m: usize) -> f64 {
    0.5 * f64::EPSILON * (m.min(INNER) + m / INNER + 2) as f64
}

/// What the dense decompositions are assumed to reach (MATHS.md, M23): their results are exact for a matrix that differs by
/// at most this share of its norm.
pub(crate) fn solver_error(size: usize) -> f64 {
    f64::EPSILON * (4.0 + (size as f64).sqrt())
}

/// C = A B, at most [`INNER`] terms at a time.
fn matmul_by_parts(mut c: MatMut<'_, f64>, a: MatRef<'_, f64>, b: MatRef<'_, f64>, par: Par) {
    matmul(
        c.as_mut(),
        Accum::Replace,
        a.subcols(0, a.ncols().min(INNER)),
        b.subrows(0, b.nrows().min(INNER)),
        1.0,
        par,
    );
    for start in (INNER..a.ncols()).step_by(INNER) {
        let len = INNER.min(a.ncols() - start);
        matmul(c.as_mut(), Accum::Add, a.subcols(start, len), b.subrows(start, len), 1.0, par);
    }
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
    matmul_by_parts(view_mut(&mut c), view(a), view(b), par_of_product(a.n(), a.b(), b.b()));
    c
}

/// X B for points X (rows are points) and a block B.
pub(crate) fn product_of_points(x: &Points<f64>, b: &Block) -> Block {
    let mut c = Block::zeros(x.n(), b.b());
    matmul_by_parts(view_mut(&mut c), rows(x), view(b), par_of_product(x.n(), x.d(), b.b()));
    c
}

/// A' B.
pub(crate) fn inner_products(a: &Block, b: &Block) -> Block {
    let mut c = Block::zeros(a.b(), b.b());
    let par = par_of_product(a.n(), a.b(), b.b());
    matmul(view_mut(&mut c), Accum::Replace, view(a).transpose(), view(b), 1.0, par);
    c
}

/// B - Q Q'B, in place.
pub(crate) fn subtract_projection(q: &Block, b: &mut Block) {
    if q.b() == 0 || b.b() == 0 {
        return;
    }
    let along = inner_products(q, b);
    let par = par_of_product(q.n(), q.b(), b.b());
    matmul(view_mut(b), Accum::Add, view(q), view(&along), -1.0, par);
}

/// The dot product, in eight interleaved sums.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sum = 0.0;
    dispatch!(Level::new(), simd => simd.vectorize(#[inline(always)] || sum = interleaved(a, b)));
    sum
}

#[inline(always)]
fn interleaved(a: &[f64], b: &[f64]) -> f64 {
    let mut parts = [0.0; 8];
    let (x, y) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = x.remainder().iter().zip(y.remainder()).map(|(a, b)| a * b).sum();
    for (x, y) in x.zip(y) {
        for lane in 0..8 {
            parts[lane] += x[lane] * y[lane];
        }
    }
    parts.iter().sum::<f64>() + rest
}

/// Takes a multiple of `b` from `a`.
pub(crate) fn subtract_multiple(a: &mut [f64], factor: f64, b: &[f64]) {
    dispatch!(Level::new(), simd => simd.vectorize(
        #[inline(always)]
        || a.iter_mut().zip(b).for_each(|(a, b)| *a -= factor * b),
    ));
}

/// The inverse of the lower triangle L with LL' = A + d I, column by column, d being the least that rounding in T asks for;
/// `None` when A is farther than that from positive semi-definite.
pub(crate) fn inverse_cholesky<T: Real>(a: Block) -> Option<Vec<T>> {
    let n = a.n();
    let largest = (0..n).map(|i| a.at(i, i)).fold(0.0, f64::max);
    let par = par(n);
    for step in 0..3 {
        let mut l = a.clone();
        let shift = 8.0 * T::EPSILON * largest * n as f64 * 100f64.powi(step);
        for i in 0..n {
            *l.at_mut(i, i) += shift;
        }
        let mut memory = MemBuffer::new(cholesky_in_place_scratch::<f64>(n, par, Default::default()));
        let done = cholesky_in_place(
            view_mut(&mut l),
            Default::default(),
            par,
            MemStack::new(&mut memory),
            Default::default(),
        );
        if done.is_ok() {
            let mut inverse = Block::zeros(n, n);
            invert_lower_triangular(view_mut(&mut inverse), view(&l), par);
            return Some(inverse.as_slice().iter().map(|v| T::from_f64(*v)).collect());
        }
    }
    None
}

/// Whether the Cholesky decomposition of a symmetric matrix, of which the lower half is read, runs to its end.
pub(crate) fn has_cholesky(mut a: Block) -> bool {
    let (n, par) = (a.n(), par(a.n()));
    let mut memory = MemBuffer::new(cholesky_in_place_scratch::<f64>(n, par, Default::default()));
    let memory = MemStack::new(&mut memory);
    cholesky_in_place(view_mut(&mut a), Default::default(), par, memory, Default::default()).is_ok()
}

/// The rows C L'^-1 for rows C of r values, given the inverse of the triangle; they go into the first r of `width` values
/// each. On the calling thread.
pub(crate) fn times_inverse<T: Real>(rows: &[T], inverse: &[T], r: usize, width: usize, out: &mut [T]) {
    use BlockStructure::{Rectangular, TriangularUpper};
    let n = rows.len() / r;
    let rows = MatRef::from_row_major_slice(rows, n, r);
    let inverse = MatRef::from_column_major_slice(inverse, r, r).transpose();
    let out = MatMut::from_row_major_slice_mut(out, n, width).subcols_mut(0, r);
    triangular::matmul(out, Rectangular, Accum::Replace, rows, Rectangular, inverse, TriangularUpper, T::ONE, Par::Seq);
}

fn strided<T: Real>(values: &[T], width: usize, used: usize) -> MatRef<'_, T> {
    MatRef::from_row_major_slice(values, values.len() / width, width).subcols(0, used)
}

fn widened<T: Real>(values: &[T], n: usize, b: usize) -> Block {
    Block::from_columns(values.iter().map(|v| v.to_f64()).collect(), n, b).expect("as many values")
}

/// The lower half of F'F.
fn lower_gram<T: Real>(f: MatRef<'_, T>, out: &mut [T], par: Par) {
    use BlockStructure::{Rectangular, TriangularLower};
    let out = MatMut::from_column_major_slice_mut(out, f.ncols(), f.ncols());
    triangular::matmul(out, TriangularLower, Accum::Replace, f.transpose(), Rectangular, f, Rectangular, T::ONE, par);
}

/// F'F of rows of `width` values of which the first `used` count, on the calling thread.
pub(crate) fn rows_gram<T: Real>(values: &[T], width: usize, used: usize) -> Block {
    let mut out = vec![T::ZERO; used * used];
    lower_gram(strided(values, width, used), &mut out, Par::Seq);
    let mut gram = widened(&out, used, used);
    mirror_lower(&mut gram);
    gram
}

/// F'R of such rows, R column by column.
pub(crate) fn rows_transposed_times<T: Real>(values: &[T], width: usize, used: usize, r: &[T], b: usize) -> Block {
    let f = strided(values, width, used);
    let mut out = vec![T::ZERO; used * b];
    let r = MatRef::from_column_major_slice(r, f.nrows(), b);
    matmul(MatMut::from_column_major_slice_mut(&mut out, used, b), Accum::Replace, f.transpose(), r, T::ONE, Par::Seq);
    widened(&out, used, b)
}

/// Columns of n values with a map applied to the first of them, as many as it has rows; the rest is as it was.
pub(crate) fn map_columns<T: Real>(values: &[T], n: usize, map: &Block, out: &mut Vec<T>) {
    let (m, r) = (map.n(), map.b());
    let rounded: Vec<T> = map.as_slice().iter().map(|v| T::from_f64(*v)).collect();
    let (first, rest) = values.split_at(n * m);
    out.resize(n * r + rest.len(), T::ZERO);
    let (mapped, kept) = out.split_at_mut(n * r);
    kept.copy_from_slice(rest);
    let first = MatRef::from_column_major_slice(first, n, m);
    let map = MatRef::from_column_major_slice(&rounded, m, r);
    let mapped = MatMut::from_column_major_slice_mut(mapped, n, r);
    matmul(mapped, Accum::Replace, first, map, T::ONE, Par::rayon(PIECES));
}

/// Adds F'F to the lower half of a matrix, F having columns of n values; `product` is room for it. (Rows of many values would
/// have each of them on another page, and products of such are a third slower.)
pub(crate) fn add_lower<T: Real>(values: &[T], n: usize, product: &mut Vec<T>, out: &mut Block) {
    let size = out.n();
    product.resize(size * size, T::ZERO);
    lower_gram(MatRef::from_column_major_slice(values, n, size), product, Par::rayon(PIECES));
    out.as_mut_slice().par_chunks_mut(size).zip(product.par_chunks(size)).enumerate().for_each(
        |(j, (out, product))| {
            out[j..].iter_mut().zip(&product[j..]).for_each(|(o, v)| *o += v.to_f64());
        },
    );
}

/// Takes F G' from a tile, row by row, F being such rows and G rows of `used` values: on the calling thread.
pub(crate) fn subtract_products<T: Real>(tile: &mut [T], values: &[T], width: usize, used: usize, g: &[T]) {
    if used == 0 {
        return;
    }
    let (f, p) = (strided(values, width, used), g.len() / used);
    let g = MatRef::from_row_major_slice(g, p, used);
    matmul(MatMut::from_row_major_slice_mut(tile, f.nrows(), p), Accum::Add, f, g.transpose(), -T::ONE, Par::Seq);
}

/// F C of such rows, column by column.
pub(crate) fn rows_times<T: Real>(values: &[T], width: usize, used: usize, c: &[T], b: usize) -> Vec<T> {
    let f = strided(values, width, used);
    let mut out = vec![T::ZERO; f.nrows() * b];
    let c = MatRef::from_column_major_slice(c, used, b);
    matmul(MatMut::from_column_major_slice_mut(&mut out, f.nrows(), b), Accum::Replace, f, c, T::ONE, Par::Seq);
    out
}

/// X X', both halves.
pub(crate) fn outer_gram(x: &Points<f64>) -> Block {
    use BlockStructure::{Rectangular, TriangularLower};
    let mut g = Block::zeros(x.n(), x.n());
    for start in (0..x.d()).step_by(INNER) {
        let part = rows(x).subcols(start, INNER.min(x.d() - start));
        let (out, turned) = (view_mut(&mut g), part.transpose());
        let par = par(x.n());
        triangular::matmul(out, TriangularLower, Accum::Add, part, Rectangular, turned, Rectangular, 1.0, par);
    }
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
    matmul_by_parts(view_mut(&mut c), rows(a).transpose(), view(b), par(a.n()));
    c
}

/// The power of two nearest below the largest magnitude, or `None` for the zero matrix: dividing by it is exact and
/// keeps the decompositions away from overflow and from subnormal numbers.
fn scale_of(values: &[f64]) -> Option<f64> {
    let max = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    (max > 0.0).then(|| power_of_two(max))
}

/// The power of two nearest below a positive number; 1 for what is none.
pub(crate) fn power_of_two(v: f64) -> f64 {
    if v > 0.0 && v.is_finite() { 2f64.powi(v.log2().floor().clamp(-1000.0, 1000.0) as i32) } else { 1.0 }
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

/// Singular values, descending, and the right singular vectors (as columns) of points, min(n, d) of each. Of points with
/// more dimensions than there are points, the transpose is decomposed: the decomposition of a tall matrix begins with a
/// triangle, and needs no more memory than the matrix.
pub(crate) fn svd_right(x: &Points<f64>) -> Result<(Vec<f64>, Block)> {
    let (n, d) = (x.n(), x.d());
    let size = n.min(d);
    let Some(scale) = scale_of(x.as_slice()) else {
        return Ok((vec![0.0; size], identity(d).first(size)));
    };
    let wide = d > n;
    let scaled: Vec<f64> = x.as_slice().iter().map(|v| v / scale).collect();
    let transposed = Block::from_columns(scaled, d, n).expect("as many values");
    let a = if wide { transposed } else { transposed.transposed() };
    let (mut values, mut vectors) = (vec![0.0; size], Block::zeros(d, size));
    let par = if size < SVD_PARALLEL_FROM { Par::Seq } else { Par::rayon(2) };
    let (left, right) = match wide {
        true => (ComputeSvdVectors::Thin, ComputeSvdVectors::No),
        false => (ComputeSvdVectors::No, ComputeSvdVectors::Thin),
    };
    let mut memory = MemBuffer::new(svd_scratch::<f64>(a.n(), a.b(), left, right, par, Default::default()));
    let out = view_mut(&mut vectors);
    let (left, right) = if wide { (Some(out), None) } else { (None, Some(out)) };
    let singular = DiagMut::from_slice_mut(&mut values);
    svd(view(&a), singular, left, right, par, MemStack::new(&mut memory), Default::default())
        .map_err(|_| ErrorKind::NoConvergence { what: "singular value decomposition", size })?;
    values.iter_mut().for_each(|v| *v *= scale);
    Ok((values, vectors))
}

/// The triangle R with R'R = X'X, min(n, d) rows of it, by Householder's reflections: the digits that X'X would lose are kept.
pub(crate) fn triangle(x: &Points<f64>) -> Points<f64> {
    let (n, d) = (x.n(), x.d());
    let size = n.min(d);
    if size == 0 {
        return Points::from_fn(0, d, |_, _| 0.0);
    }
    let mut a = Block::from_fn(n, d, |i, j| x.row(i)[j]);
    let par = par(d);
    let width = recommended_block_size::<f64>(n, d);
    let mut coefficients = Block::zeros(width, size);
    let mut memory = MemBuffer::new(qr_in_place_scratch::<f64>(n, d, width, par, Default::default()));
    qr_in_place(view_mut(&mut a), view_mut(&mut coefficients), par, MemStack::new(&mut memory), Default::default());
    Points::from_fn(size, d, |i, j| if j < i { 0.0 } else { a.at(i, j) })
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

/// The Euclidean length.
pub(crate) fn norm(v: &[f64]) -> f64 {
    let square = dot(v, v);
    if SQUARABLE.contains(&square.sqrt()) {
        return square.sqrt();
    }
    let max = largest(v);
    if max == 0.0 || !max.is_finite() {
        return max;
    }
    max * v.iter().map(|x| (x / max) * (x / max)).sum::<f64>().sqrt()
}
