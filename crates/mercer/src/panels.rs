//! Matrix products of vectors that are packed once and multiplied often.
//!
//! Vectors lie in panels of `width` vectors: first the first entries of all of them, then the second entries, and so on.
//! A product of two sets of vectors is made of blocks whose sums stay in registers. Each sum is formed over the entries in
//! order, so that it has the same bits in every block, tile and position.

use std::ops::Range;

use fearless_simd::{Level, dispatch, prelude::*};
use rayon::prelude::*;

use crate::block::Block;
use crate::points::PointsRef;
use crate::real::Real;

/// From this many values on, threads share the work of packing.
const MANY: usize = 200_000;

type Native<S, T> = <T as SimdFloatElement>::Native<S>;

/// Vectors in panels, the last one filled up with zeros.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Panels<T> {
    values: Vec<T>,
    width: usize,
    /// The number of vectors, and of the entries of each.
    n: usize,
    depth: usize,
}

/// Vectors of a panel, by the instruction set: a divisor of every size of tiles.
fn width<T: Real>(level: Level) -> usize {
    dispatch!(level, simd => of_lanes::<_, T>(simd))
}

#[inline(always)]
fn of_lanes<S: Simd, T: Real>(_: S) -> usize {
    match Native::<S, T>::LEN {
        lanes @ (4 | 8 | 16) => 3 * lanes,
        _ => 12,
    }
}

impl<T: Real> Panels<T> {
    /// Packs points, a vector each.
    pub(crate) fn of_points(points: PointsRef<'_, T>) -> Self {
        let (n, d, w) = (points.n(), points.d(), width::<T>(Level::new()));
        let mut values = vec![T::ZERO; n.div_ceil(w) * w * d];
        let pack = |(panel, rows): (&mut [T], &[T])| {
            for (i, row) in rows.chunks_exact(d).enumerate() {
                panel[i..].iter_mut().step_by(w).zip(row).for_each(|(to, v)| *to = *v);
            }
        };
        let size = w * d.max(1);
        match values.len() < MANY {
            true => values.chunks_exact_mut(size).zip(points.as_slice().chunks(size)).for_each(pack),
            false => values.par_chunks_exact_mut(size).zip(points.as_slice().par_chunks(size)).for_each(pack),
        }
        Panels { values, width: w, n, depth: d }
    }

    /// Packs columns, a vector each: of rows of `n` values.
    pub(crate) fn of_rows(rows: &[T], n: usize) -> Self {
        let mut panels = Panels::default();
        panels.prepare(n, rows.len() / n.max(1));
        panels.put(0, rows);
        panels
    }

    /// Makes room for n vectors of so many entries.
    pub(crate) fn prepare(&mut self, n: usize, depth: usize) {
        let w = width::<T>(Level::new());
        if (self.n, self.depth, self.width) != (n, depth, w) {
            (self.width, self.n, self.depth) = (w, n, depth);
            self.values.clear();
            self.values.resize(n.div_ceil(w) * w * depth, T::ZERO);
        }
    }

    /// Puts rows of an entry of each vector into their places: the entries from `first` on.
    #[inline(always)]
    pub(crate) fn put(&mut self, first: usize, rows: &[T]) {
        let (w, n) = (self.width, self.n);
        for (p, panel) in self.values.chunks_exact_mut(w * self.depth.max(1)).enumerate() {
            let columns = p * w..n.min((p + 1) * w);
            for (to, row) in panel[first * w..].chunks_exact_mut(w).zip(rows.chunks_exact(n)) {
                to[..columns.len()].copy_from_slice(&row[columns.clone()]);
            }
        }
    }

    /// Packs the columns of a block, a vector each, as far as they are in these rows.
    pub(crate) fn of_block(block: &Block, rows: Range<usize>) -> Self {
        let (w, n, depth) = (width::<T>(Level::new()), block.b(), rows.len());
        let mut values = vec![T::ZERO; n.div_ceil(w) * w * depth];
        for c in 0..n {
            let panel = &mut values[c / w * w * depth..];
            let column = &block.col(c)[rows.clone()];
            panel.iter_mut().skip(c % w).step_by(w).zip(column).for_each(|(to, v)| *to = T::from_f64(*v));
        }
        Panels { values, width: w, n, depth }
    }
}

/// A rectangle of inner products, row by row: of the vectors `rows` of `a` with the vectors `cols` of `b`. Lines begin
/// `stride` apart. Ranges that begin and end with panels are fastest.
pub(crate) fn products<T: Real>(
    level: Level,
    (a, rows): (&Panels<T>, Range<usize>),
    (b, cols): (&Panels<T>, Range<usize>),
    out: &mut [T],
    stride: usize,
) {
    debug_assert!(a.depth == b.depth && a.width == b.width && rows.end <= a.n && cols.end <= b.n);
    let start = (rows.start, cols.start);
    let right = Right { panels: b, cols, depth: 0..b.depth };
    multiply(level, &Packed(a), rows, &right, |row, col, line: &[T]| {
        let at = (row - start.0) * stride + col - start.1;
        out[at..at + line.len()].copy_from_slice(line);
    });
}

/// Adds A B to `out`, row by row, where A has rows of as many values as `depth` has, and B is this part of the entries of
/// the vectors of `b`, all of them. Sums over `depth` are formed in T.
pub(crate) fn add_rows_times<T: Real>(level: Level, rows: &[T], b: &Panels<T>, depth: Range<usize>, out: &mut [f64]) {
    let (n, k) = (rows.len() / depth.len().max(1), b.n);
    let left = Rows { values: rows, stride: depth.len(), from: 0 };
    add_to(level, &left, n, &Right { panels: b, cols: 0..k, depth }, out);
}

/// Adds A B to `out` for rows A of as many values as the vectors of `b` have, in sums over `part` of them at a time.
pub(crate) fn add_long_rows_times(level: Level, rows: &[f64], b: &Panels<f64>, part: usize, out: &mut [f64]) {
    let (k, stride) = (b.n, b.depth);
    for from in (0..stride).step_by(part) {
        let depth = from..stride.min(from + part);
        let left = Rows { values: rows, stride, from };
        add_to(level, &left, rows.len() / stride, &Right { panels: b, cols: 0..k, depth }, out);
    }
}

/// Adds A'B to `out`: as [`add_rows_times`] for A' of rows of n values.
pub(crate) fn add_columns_times<T: Real>(
    level: Level,
    (rows, n): (&[T], usize),
    b: &Panels<T>,
    depth: Range<usize>,
    out: &mut [f64],
) {
    add_to(level, &Columns { values: rows, n }, n, &Right { panels: b, cols: 0..b.n, depth }, out);
}

fn add_to<T: Real>(level: Level, left: &impl Left<T>, n: usize, right: &Right<'_, T>, out: &mut [f64]) {
    let k = right.cols.len();
    multiply(level, left, 0..n, right, |row, col, line: &[T]| {
        let out = &mut out[row * k + col..];
        out.iter_mut().zip(line).for_each(|(out, v)| *out += v.to_f64());
    });
}

/// What stands on the left of a product: vectors whose entries are given one after the other, for four or eight vectors at
/// a time, from a multiple of four or eight on.
trait Left<T> {
    /// The first `depth` entries of the four vectors from `row` on; any values for vectors beyond the last.
    fn four(&self, row: usize, depth: usize) -> impl Iterator<Item = [T; 4]>;

    /// The same of eight vectors.
    fn eight(&self, row: usize, depth: usize) -> impl Iterator<Item = [T; 8]>;
}

/// Vectors in panels.
struct Packed<'a, T>(&'a Panels<T>);

impl<T: Copy> Packed<'_, T> {
    #[inline(always)]
    fn several<const R: usize>(&self, row: usize, depth: usize) -> impl Iterator<Item = [T; R]> {
        let (w, d) = (self.0.width, self.0.depth);
        let (start, within) = (row / w * w * d, row % w);
        self.0.values[start..start + depth * w].chunks_exact(w).map(
            #[inline(always)]
            move |entries| cut(entries, within),
        )
    }
}

impl<T: Copy> Left<T> for Packed<'_, T> {
    #[inline(always)]
    fn four(&self, row: usize, depth: usize) -> impl Iterator<Item = [T; 4]> {
        self.several(row, depth)
    }

    #[inline(always)]
    fn eight(&self, row: usize, depth: usize) -> impl Iterator<Item = [T; 8]> {
        self.several(row, depth)
    }
}

/// The columns of rows of n values.
struct Columns<'a, T> {
    values: &'a [T],
    n: usize,
}

impl<T: Copy> Columns<'_, T> {
    #[inline(always)]
    fn several<const R: usize>(&self, row: usize, depth: usize) -> impl Iterator<Item = [T; R]> {
        let whole = row + R <= self.n;
        self.values.chunks_exact(self.n).take(depth).map(
            #[inline(always)]
            move |entries| match whole {
                true => cut(entries, row),
                false => std::array::from_fn(|i| entries[(row + i).min(entries.len() - 1)]),
            },
        )
    }
}

impl<T: Copy> Left<T> for Columns<'_, T> {
    #[inline(always)]
    fn four(&self, row: usize, depth: usize) -> impl Iterator<Item = [T; 4]> {
        self.several(row, depth)
    }

    #[inline(always)]
    fn eight(&self, row: usize, depth: usize) -> impl Iterator<Item = [T; 8]> {
        self.several(row, depth)
    }
}

/// Rows of values, one after the other.
struct Rows<'a, T> {
    values: &'a [T],
    stride: usize,
    /// The first entry that is meant.
    from: usize,
}

impl<T: Copy> Left<T> for Rows<'_, T> {
    // Iterators over several rows at once are free of checks, which indices would not be.
    #[inline(always)]
    fn four(&self, row: usize, depth: usize) -> impl Iterator<Item = [T; 4]> {
        let last = self.values.len() / self.stride - 1;
        let line = |i: usize| self.values[(row + i).min(last) * self.stride + self.from..][..depth].iter();
        line(0).zip(line(1)).zip(line(2).zip(line(3))).map(
            #[inline(always)]
            |((a, b), (c, d))| [*a, *b, *c, *d],
        )
    }

    #[inline(always)]
    fn eight(&self, row: usize, depth: usize) -> impl Iterator<Item = [T; 8]> {
        self.four(row, depth).zip(self.four(row + 4, depth)).map(
            #[inline(always)]
            |([a, b, c, d], [e, f, g, h])| [a, b, c, d, e, f, g, h],
        )
    }
}

#[inline(always)]
fn cut<T: Copy, const R: usize>(entries: &[T], at: usize) -> [T; R] {
    let entries = &entries[at..at + R];
    std::array::from_fn(
        #[inline(always)]
        |i| entries[i],
    )
}

/// What stands on the right: vectors `cols` of panels, and the part of their entries that is multiplied.
struct Right<'a, T> {
    panels: &'a Panels<T>,
    cols: Range<usize>,
    depth: Range<usize>,
}

/// Calls `f(row, column, values)` with a part of a line of the product, for all of its lines.
fn multiply<T: Real>(
    level: Level,
    left: &impl Left<T>,
    rows: Range<usize>,
    right: &Right<'_, T>,
    mut f: impl FnMut(usize, usize, &[T]),
) {
    dispatch!(level, simd => {
        simd.vectorize(
            #[inline(always)]
            || by_registers(simd, left, rows.clone(), right, &mut f),
        )
    });
}

/// Blocks of four or eight vectors on the left with one to six registers of vectors on the right, as there are registers.
#[inline(always)]
fn by_registers<S: Simd, T: Real>(
    simd: S,
    left: &impl Left<T>,
    rows: Range<usize>,
    right: &Right<'_, T>,
    f: &mut impl FnMut(usize, usize, &[T]),
) {
    let lanes = Native::<S, T>::LEN;
    let block = of_lanes::<S, T>(simd);
    let depth = right.depth.len();
    let (four, eight) = (|row| left.four(row, depth), |row| left.eight(row, depth));
    for col in (right.cols.start / block * block..right.cols.end).step_by(block) {
        // The registers that the columns of this block take.
        let needed = (right.cols.end.min(col + block) - col).div_ceil(lanes);
        match (lanes * size_of::<T>(), needed) {
            // 32 registers
            (64, 1) => strips::<S, T, 8, 1, _>(simd, eight, &rows, right, col, f),
            (64, 2) => strips::<S, T, 8, 2, _>(simd, eight, &rows, right, col, f),
            (64, _) => strips::<S, T, 8, 3, _>(simd, eight, &rows, right, col, f),
            // 16 registers
            (_, 1) => strips::<S, T, 4, 1, _>(simd, four, &rows, right, col, f),
            (_, 2) => strips::<S, T, 4, 2, _>(simd, four, &rows, right, col, f),
            (_, 3) => strips::<S, T, 4, 3, _>(simd, four, &rows, right, col, f),
            (_, _) => strips::<S, T, 4, 6, _>(simd, four, &rows, right, col, f),
        }
    }
}

/// All rows of the product for N registers of columns, R rows at a time.
#[inline(always)]
fn strips<S: Simd, T: Real, const R: usize, const N: usize, I: Iterator<Item = [T; R]>>(
    simd: S,
    left: impl Fn(usize) -> I,
    rows: &Range<usize>,
    right: &Right<'_, T>,
    col: usize,
    f: &mut impl FnMut(usize, usize, &[T]),
) {
    let Right { panels, cols, depth } = right;
    let (block, w) = (N * Native::<S, T>::LEN, panels.width);
    let (first, within) = (col / w * w * panels.depth, col % w);
    let right = &panels.values[first + depth.start * w..first + depth.end * w];
    let visible = col.max(cols.start)..cols.end.min(col + block);
    for row in (rows.start / R * R..rows.end).step_by(R) {
        let mut sums = [[Native::<S, T>::splat(simd, T::ZERO); N]; R];
        for (x, y) in left(row).zip(right.chunks_exact(w)) {
            let y = load::<S, T, N>(simd, &y[within..within + block]);
            for i in 0..R {
                let x = Native::<S, T>::splat(simd, x[i]);
                for v in 0..N {
                    sums[i][v] = x.mul_add(y[v], sums[i][v]);
                }
            }
        }
        let whole = visible.len() == block;
        for i in 0..R {
            if rows.contains(&(row + i)) {
                let mut line = [T::ZERO; MOST];
                store::<S, T, N>(sums[i], &mut line);
                // A line of known length is copied by registers.
                match whole {
                    true => f(row + i, col, &line[..block]),
                    false => f(row + i, visible.start, &line[visible.start - col..visible.end - col]),
                }
            }
        }
    }
}

/// The most vectors of a panel.
const MOST: usize = 48;

#[inline(always)]
fn load<S: Simd, T: Real, const N: usize>(simd: S, from: &[T]) -> [Native<S, T>; N] {
    let lanes = Native::<S, T>::LEN;
    std::array::from_fn(
        #[inline(always)]
        |v| Native::<S, T>::from_slice(simd, &from[v * lanes..(v + 1) * lanes]),
    )
}

#[inline(always)]
fn store<S: Simd, T: Real, const N: usize>(values: [Native<S, T>; N], to: &mut [T]) {
    for (v, to) in values.iter().zip(to.chunks_exact_mut(Native::<S, T>::LEN)) {
        v.store_slice(to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::points::Points;

    fn entry(i: usize, j: usize) -> f64 {
        ((i * 37 + j * 101) % 89) as f64 / 16.0 - 2.0
    }

    /// Small integers over 16 multiply and add without rounding: products equal the definition, for any part of them and on
    /// every instruction set.
    fn products_are_the_definition<T: Real>() {
        for (n, m, d) in [(1, 1, 1), (5, 7, 3), (49, 100, 50), (97, 53, 192), (30, 61, 401)] {
            let x = Points::from_fn(n, d, |i, j| T::from_f64(entry(i, j)));
            let y = Points::from_fn(m, d, |i, j| T::from_f64(entry(i + 13, j)));
            let (a, b) = (Panels::of_points(x.view()), Panels::of_points(y.view()));
            for level in [Level::new(), Level::fallback()] {
                for (rows, cols) in [(0..n, 0..m), (n / 3..n, m / 2..m), (n / 2..n / 2 + 1, 0..m / 2 + 1)] {
                    let stride = cols.len() + 3;
                    let mut out = vec![T::from_f64(-1.0); rows.len() * stride];
                    products(level, (&a, rows.clone()), (&b, cols.clone()), &mut out, stride);
                    for (line, i) in out.chunks_exact(stride).zip(rows.clone()) {
                        for (c, j) in cols.clone().enumerate() {
                            let right: f64 = (0..d).map(|p| entry(i, p) * entry(j + 13, p)).sum();
                            assert_eq!(line[c].to_f64(), right, "{n} {m} {d} {rows:?} {cols:?}");
                        }
                        assert!(line[cols.len()..].iter().all(|v| v.to_f64() == -1.0), "written beside the rectangle");
                    }
                }
            }
        }
    }

    #[test]
    fn products_are_the_definition_in_f64() {
        products_are_the_definition::<f64>();
    }

    #[test]
    fn products_are_the_definition_in_f32() {
        products_are_the_definition::<f32>();
    }

    #[test]
    fn an_entry_has_the_same_bits_in_every_rectangle() {
        let x = Points::from_fn(100, 333, |i, j| (entry(i, j) * 0.37).sin());
        let a = Panels::of_points(x.view());
        let mut all = vec![0.0; 100 * 100];
        products(Level::new(), (&a, 0..100), (&a, 0..100), &mut all, 100);
        for (i, j) in [(0, 0), (3, 99), (99, 4), (50, 51)] {
            let mut one = [0.0];
            products(Level::new(), (&a, i..i + 1), (&a, j..j + 1), &mut one, 1);
            assert_eq!(one[0], all[i * 100 + j]);
            assert_eq!(all[j * 100 + i], all[i * 100 + j], "symmetric");
        }
    }

    #[test]
    fn columns_are_packed_like_points() {
        let rows = Points::from_fn(7, 29, entry);
        let points = Points::from_fn(29, 7, |i, j| entry(j, i));
        assert_eq!(Panels::of_rows(rows.as_slice(), 29), Panels::of_points(points.view()));
    }
}
