//! Moments: count, mean and scatter of points. The moments of two sets merge into those of their union.

use std::ops::Range;

use fearless_simd::{Level, dispatch, prelude::*};
use rayon::prelude::*;

use crate::block::Block;
use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::linalg;
use crate::panels::{self, Panels};
use crate::points::{AnyPoints, Points, PointsRef};
use crate::precise::{self, two_sum};
use crate::real::{Real, SQUARABLE};
use crate::wire::{MOST_POINTS, Reader, Writer, damaged};

/// Rows per block that is centred and multiplied: no sum of products has more terms.
const CHUNK: usize = 512;
/// Rows whose sums are taken while they are in cache.
const FEW: usize = 32;
/// From this many columns on, threads share one scatter matrix, instead of having one for each part of the points.
pub(crate) const WIDE_FROM: usize = 256;
/// Chunks that are prepared together there, and rows and columns of the blocks that a thread works on.
const TOGETHER: usize = 8;
pub(crate) const ROWS_TOGETHER: usize = TOGETHER * CHUNK;
const WIDE_BLOCK: usize = 192;
/// Half of eps: the rounding of one operation.
pub(crate) const UNIT: f64 = 0.5 * f64::EPSILON;
/// The errors of M24, in units of [`UNIT`]: of sums of at most [`CHUNK`] products, and of means that are sums of parts of
/// [`FEW`] terms; of sums in twice the precision, of one chunk and merged.
const OF_PRODUCTS: f64 = (CHUNK + 5 * FEW) as f64;
const PRECISE: f64 = 2.0;
const MERGED: f64 = 8.0;
/// Parts that are summed separately and then merged in a fixed tree, whatever the number of threads.
const PARTS: usize = 16;

/// n, mean and scatter S = sum (x - mean)(x - mean)' of points (MATHS.md, M1), with the range of each column.
///
/// # Example
/// ```
/// use mercer::state::Moments;
/// use mercer::Points;
/// let (a, b) = (Points::from_rows(&[[1e8], [1e8 + 1.0]]), Points::from_rows(&[[1e8 + 5.0]]));
/// let both = Moments::of(&a)?.merge(&Moments::of(&b)?)?;
/// assert_eq!((both.n(), both.mean()[0], both.scatter().at(0, 0)), (3, 1e8 + 2.0, 14.0));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    columns: Columns,
    /// The lower half, and the rounding errors of the additions, where there were some.
    scatter: Block,
    rest: Option<Block>,
    /// A bound on the error of each S_ij, relative to sqrt(S_ii S_jj) (MATHS.md, M24).
    error: f64,
}

/// Sums and ranges of each column.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Columns {
    /// The number of points.
    n: u64,
    /// The sum of their weights, which means and sums of squares are formed with. A point counts once unless it has a
    /// weight, and then this is n.
    weight: f64,
    mean: Vec<f64>,
    /// The rounding error of the mean: far from the origin, means differ by less than the spacing of f64.
    rest: Vec<f64>,
    /// sum (x - mean)^2, and the rounding errors of the additions.
    squares: Vec<f64>,
    lost: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
}

impl Moments {
    /// Returns the moments of no points.
    pub fn empty(d: usize) -> Self {
        Moments { columns: Columns::empty(d), scatter: Block::zeros(d, d), rest: None, error: 0.0 }
    }

    /// Returns the moments of points.
    ///
    /// # Errors
    /// When there are no columns, or a value is not finite or too large to be squared.
    pub fn of<'a, T: Real>(points: impl Into<PointsRef<'a, T>>) -> Result<Self> {
        Moments::of_with(points, &Exec::new())
    }

    /// As [`Moments::of`], with threads and cancellation. The result does not depend on the number of threads.
    ///
    /// # Errors
    /// As [`Moments::of`], and when cancelled.
    pub fn of_with<'a, T: Real>(points: impl Into<PointsRef<'a, T>>, exec: &Exec) -> Result<Self> {
        Moments::of_any(points.into().into(), exec)
    }

    fn of_any(x: AnyPoints<'_>, exec: &Exec) -> Result<Self> {
        match x {
            AnyPoints::F64(x) => Moments::of_chunks(x, exec),
            AnyPoints::F32(x) => Moments::of_chunks(x, exec),
        }
    }

    fn of_chunks<T: Real>(x: PointsRef<'_, T>, exec: &Exec) -> Result<Self> {
        x.check_shape(0)?;
        let moments = if precise::affordable([x.n(), x.d(), x.d()]) {
            let absorb = |sum: &mut Moments, x: PointsRef<'_, T>, _: &mut ()| sum.add(&Moments::of_chunk_precisely(x));
            fold(x, exec, Moments::empty, absorb, Moments::add)?
        } else if x.d() < WIDE_FROM {
            fold(x, exec, Moments::empty, Moments::absorb, Moments::add)?
        } else {
            exec.run(|| Moments::of_wide(x, exec))?
        };
        moments.columns.check(x)?;
        Ok(moments)
    }

    /// Adds a chunk of points.
    fn absorb<T: Real>(&mut self, x: PointsRef<'_, T>, space: &mut (Chunk, Vec<f64>)) {
        let (chunk, products) = space;
        chunk.measure(x, &self.columns.mean);
        let merged = self.add_columns(&chunk.columns);
        let rest = self.rest.get_or_insert_with(|| Block::zeros(x.d(), x.d()));
        let d = x.d();
        for start in (0..d).step_by(WIDE_BLOCK) {
            let columns = start..d.min(start + WIDE_BLOCK);
            let mut out = Lower {
                first: start,
                d,
                sums: &mut self.scatter.as_mut_slice()[start * d..columns.end * d],
                rest: &mut rest.as_mut_slice()[start * d..columns.end * d],
            };
            for start in (start..d).step_by(WIDE_BLOCK) {
                out.add(chunk, &merged, columns.clone(), start..d.min(start + WIDE_BLOCK), products);
            }
        }
    }

    /// The numbers and means of points are added; returns the difference of the means and its weight.
    fn add_columns(&mut self, other: &Columns) -> (Vec<f64>, f64) {
        let error = if self.columns.n == 0 { 0.0 } else { self.error.max(MERGED * UNIT) };
        self.error = error.max(OF_PRODUCTS * UNIT);
        self.columns.add(other).unwrap_or_else(|| (vec![0.0; other.d()], 0.0))
    }

    /// Of many columns: a few chunks are prepared together, and then threads add their products to blocks of one matrix.
    fn of_wide<T: Real>(x: PointsRef<'_, T>, exec: &Exec) -> Result<Self> {
        let (n, d) = (x.n(), x.d());
        let mut sum = Moments::empty(d);
        let mut rest = Block::zeros(d, d);
        let mut chunks: Vec<Chunk> = (0..TOGETHER).map(|_| Chunk::default()).collect();
        for start in (0..n).step_by(ROWS_TOGETHER) {
            exec.check_cancelled()?;
            let count = (n - start).div_ceil(CHUNK).min(TOGETHER);
            let guess = sum.columns.mean.clone();
            chunks[..count].par_iter_mut().enumerate().for_each(|(c, chunk)| {
                let first = start + c * CHUNK;
                chunk.measure(x.slice(first, n.min(first + CHUNK)), &guess);
            });
            let merged: Vec<(Vec<f64>, f64)> = chunks[..count].iter().map(|c| sum.add_columns(&c.columns)).collect();
            let block = if d < 4 * WIDE_BLOCK { WIDE_BLOCK / 2 } else { WIDE_BLOCK };
            let strips = sum.scatter.as_mut_slice().par_chunks_mut(block * d);
            strips.zip(rest.as_mut_slice().par_chunks_mut(block * d)).enumerate().for_each(|(strip, (sums, rest))| {
                let (first, mut products) = (strip * block, Vec::new());
                let columns = first..d.min(first + block);
                let mut out = Lower { first, d, sums, rest };
                for start in (first..d).step_by(WIDE_BLOCK) {
                    for (chunk, merged) in chunks[..count].iter().zip(&merged) {
                        out.add(chunk, merged, columns.clone(), start..d.min(start + WIDE_BLOCK), &mut products);
                    }
                }
            });
        }
        sum.rest = Some(rest);
        Ok(sum)
    }

    /// The moments of a chunk of points, in twice the precision.
    fn of_chunk_precisely<T: Real>(x: PointsRef<'_, T>) -> Self {
        let (columns, high, low) = Columns::of_chunk_precisely(x);
        let (scatter, rest) = precise::scatter(&high, &low, x.n(), x.d());
        Moments { columns, scatter, rest: Some(rest), error: PRECISE * UNIT }
    }

    /// Returns the moments of the union of both sets (MATHS.md, M19; Chan, Golub and LeVeque):
    /// S = S_a + S_b + w_a w_b / w (m_b - m_a)(m_b - m_a)', where w is the sum of the weights, n for points without weights.
    ///
    /// # Errors
    /// When the numbers of columns differ.
    pub fn merge(&self, other: &Moments) -> Result<Self> {
        if self.d() != other.d() {
            return Err(Error::shape("dimensions of the moments to merge", other.d(), self.d()));
        }
        let mut sum = self.clone();
        sum.add(other);
        Ok(sum)
    }

    /// As [`Moments::merge`], in place and for the same number of columns.
    pub(crate) fn add(&mut self, other: &Moments) {
        if self.columns.n == 0 {
            *self = other.clone();
        } else if let Some((gap, weight)) = self.columns.add(&other.columns) {
            self.error = self.error.max(other.error).max(MERGED * UNIT);
            self.add_scatter(other, &gap, weight);
        }
    }

    /// S += S_other + weight gap gap', with the rounding errors of the additions.
    fn add_scatter(&mut self, other: &Moments, gap: &[f64], weight: f64) {
        let rest = self.rest.get_or_insert_with(|| Block::zeros(gap.len(), gap.len()));
        for j in 0..gap.len() {
            let scaled = gap[j] * weight;
            let (mine, theirs) = (&mut self.scatter.col_mut(j)[j..], &other.scatter.col(j)[j..]);
            let rest = &mut rest.col_mut(j)[j..];
            for (((s, o), g), rest) in mine.iter_mut().zip(theirs).zip(&gap[j..]).zip(&mut *rest) {
                let (sum, e) = two_sum(*s, *o);
                let (sum, f) = two_sum(sum, g * scaled);
                (*s, *rest) = (sum, *rest + (e + f));
            }
            if let Some(other) = &other.rest {
                rest.iter_mut().zip(&other.col(j)[j..]).for_each(|(rest, other)| *rest += other);
            }
        }
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        self.columns.write(writer);
        writer.number(self.error);
        writer.lower_half(&self.scatter);
        writer.flag(self.rest.is_some());
        self.rest.iter().for_each(|rest| writer.lower_half(rest));
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let columns = Columns::read(reader)?;
        let (d, error) = (columns.mean.len(), reader.number()?);
        let scatter = reader.lower_half(d)?;
        let rest = if reader.flag()? { Some(reader.lower_half(d)?) } else { None };
        if columns.n == 0 && (rest.is_some() || scatter.as_slice().iter().any(|v| *v != 0.0)) {
            return Err(damaged("there is a scatter matrix but no points"));
        }
        if !(0.0..1.0).contains(&error) {
            return Err(damaged("the error of the scatter matrix is not between 0 and 1"));
        }
        Ok(Moments { columns, scatter, rest, error })
    }

    /// Returns the number of points.
    pub fn n(&self) -> u64 {
        self.columns.n
    }

    /// Returns the sum of the weights of the points, which is n where they have none.
    pub fn weight(&self) -> f64 {
        self.columns.weight
    }

    /// Returns the number of columns.
    pub fn d(&self) -> usize {
        self.columns.mean.len()
    }

    /// Returns the mean point; the mean of a constant column is exactly its value.
    pub fn mean(&self) -> Vec<f64> {
        self.columns.mean()
    }

    /// Returns whether column j has the same value in all points.
    ///
    /// # Panics
    /// When `j >= d`.
    pub fn is_constant(&self, j: usize) -> bool {
        self.columns.is_constant(j)
    }

    /// A bound on the error of each entry S_ij of [`Moments::scatter`], relative to sqrt(S_ii S_jj).
    pub(crate) fn error(&self) -> f64 {
        self.error + UNIT
    }

    /// Sums and ranges of each column.
    pub(crate) fn columns(&self) -> &Columns {
        &self.columns
    }

    /// Returns the scatter matrix about the mean, both halves. Divide by n or n - 1 for the covariance.
    pub fn scatter(&self) -> Block {
        let mut scatter = self.scatter.clone();
        if let Some(rest) = &self.rest {
            scatter.as_mut_slice().iter_mut().zip(rest.as_slice()).for_each(|(s, rest)| *s += rest);
        }
        for j in (0..self.d()).filter(|&j| self.is_constant(j)) {
            for i in 0..self.d() {
                *scatter.at_mut(i.max(j), i.min(j)) = 0.0;
            }
        }
        linalg::mirror_lower(&mut scatter);
        scatter
    }

    /// Returns the scatter matrix about the origin, sum x x'.
    pub fn scatter_about_origin(&self) -> Block {
        let (weight, mean) = (self.columns.weight, self.mean());
        let mut scatter = self.scatter();
        for j in 0..self.d() {
            for i in 0..self.d() {
                *scatter.at_mut(i, j) += weight * mean[i] * mean[j];
            }
        }
        scatter
    }
}

/// A chunk of points less about their mean.
#[derive(Default)]
struct Chunk {
    columns: Columns,
    /// What is left of the mean in the rows.
    left: Vec<f64>,
    /// The columns of the rows.
    rows: Panels<f64>,
    few: Vec<f64>,
}

impl Chunk {
    fn measure<T: Real>(&mut self, x: PointsRef<'_, T>, guess: &[f64]) {
        let Chunk { columns, left, rows, few } = self;
        rows.prepare(x.d(), x.n());
        (*columns, *left) = Columns::of_chunk(x, guess, few, |first, centred| rows.put(first, centred));
    }
}

/// Some columns of a scatter matrix, of which the lower half is kept, and the rounding errors of its sums.
struct Lower<'a> {
    first: usize,
    d: usize,
    sums: &'a mut [f64],
    rest: &'a mut [f64],
}

impl Lower<'_> {
    /// Adds the products of a chunk for a block, and the term for the distance of its mean. The scatter about a point near
    /// the mean is too large by weight (distance)^2, which is subtracted.
    fn add(
        &mut self,
        chunk: &Chunk,
        (gap, weight): &(Vec<f64>, f64),
        columns: Range<usize>,
        rows: Range<usize>,
        products: &mut Vec<f64>,
    ) {
        let level = Level::new();
        products.resize(columns.len() * rows.len(), 0.0);
        panels::products(level, (&chunk.rows, columns.clone()), (&chunk.rows, rows.clone()), products, rows.len());
        dispatch!(level, simd => simd.vectorize(#[inline(always)] || {
            for (j, line) in columns.clone().zip(products.chunks_exact(rows.len())) {
                let from = rows.start.max(j);
                let at = (j - self.first) * self.d;
                let place = at + from..at + rows.end;
                let (sums, rest) = (&mut self.sums[place.clone()], &mut self.rest[place]);
                let (line, left, gap_of) = (&line[from - rows.start..], &chunk.left[from..rows.end], &gap[from..rows.end]);
                let (left_j, gap_j) = (chunk.columns.weight * chunk.left[j], weight * gap[j]);
                for i in 0..sums.len() {
                    let (sum, e) = two_sum(sums[i], line[i] - left_j * left[i]);
                    let (sum, f) = two_sum(sum, gap_of[i] * gap_j);
                    (sums[i], rest[i]) = (sum, rest[i] + (e + f));
                }
            }
        }));
    }
}

impl Columns {
    pub(crate) fn empty(d: usize) -> Self {
        Columns {
            n: 0,
            weight: 0.0,
            mean: vec![0.0; d],
            rest: vec![0.0; d],
            squares: vec![0.0; d],
            lost: vec![0.0; d],
            low: vec![f64::INFINITY; d],
            high: vec![f64::NEG_INFINITY; d],
        }
    }

    /// Computes the sums of points with any number of columns; of few columns with the same bits as [`Moments::of_with`].
    pub(crate) fn of_with<T: Real>(x: PointsRef<'_, T>, exec: &Exec) -> Result<Self> {
        x.check_shape(0)?;
        let small = precise::affordable([x.n(), x.d(), x.d()]);
        let absorb = |sum: &mut Columns, x: PointsRef<'_, T>, few: &mut Vec<f64>| {
            let more = match small {
                true => Columns::of_chunk_precisely(x).0,
                false => Columns::of_chunk(x, &sum.mean, few, |_, _| {}).0,
            };
            sum.add(&more);
        };
        let add = |a: &mut Columns, b: &Columns| {
            a.add(b);
        };
        let columns = fold(x, exec, Columns::empty, absorb, add)?;
        columns.check(x)?;
        Ok(columns)
    }

    /// Rejects values that are not finite or too large for sums of squares. They show in the sums; only then is the data
    /// searched for them.
    pub(crate) fn check<T: Real>(&self, x: PointsRef<'_, T>) -> Result<()> {
        let sound = |v: &f64| v.abs() < SQUARABLE.end;
        let sums = self.mean.iter().chain(&self.squares).all(|v| v.is_finite());
        if self.n == 0 || sums && self.low.iter().chain(&self.high).all(sound) {
            return Ok(());
        }
        x.check(0)?;
        x.check_not_huge()
    }

    /// The numbers of a few rows, and what was left of the mean in the rows less about the mean. These go to `centred`, a few
    /// at a time with the number of the first, perhaps twice.
    pub(crate) fn of_chunk<T: Real>(
        x: PointsRef<'_, T>,
        guess: &[f64],
        few: &mut Vec<f64>,
        mut centred: impl FnMut(usize, &[f64]),
    ) -> (Self, Vec<f64>) {
        let mut m = Columns::empty(x.d());
        (m.n, m.weight) = (x.n() as u64, x.n() as f64);
        dispatch!(Level::new(), simd => simd.vectorize(#[inline(always)] || m.measure(x, guess, few, &mut centred)));
        let left = m.rest.clone();
        for (j, l) in left.iter().enumerate() {
            m.squares[j] -= m.weight * l * l;
            (m.mean[j], m.rest[j]) = two_sum(m.mean[j], *l);
        }
        (m, left)
    }

    /// The same in twice the precision, with the columns less their mean, in two parts.
    fn of_chunk_precisely<T: Real>(x: PointsRef<'_, T>) -> (Self, Vec<f64>, Vec<f64>) {
        let (n, d) = (x.n(), x.d());
        let mut m = Columns::empty(d);
        (m.n, m.weight) = (n as u64, n as f64);
        let (mut high, mut low) = (vec![0.0; n * d], vec![0.0; n * d]);
        for (i, row) in x.rows().enumerate() {
            row.iter().enumerate().for_each(|(j, v)| high[j * n + i] = v.to_f64());
        }
        for j in 0..d {
            let (column, rest) = (&mut high[j * n..(j + 1) * n], &mut low[j * n..(j + 1) * n]);
            for v in &*column {
                (m.low[j], m.high[j]) = (m.low[j].min(*v), m.high[j].max(*v));
            }
            (m.mean[j], m.rest[j]) = precise::centre(column, rest);
            (m.squares[j], m.lost[j]) = precise::square(column, rest);
        }
        (m, high, low)
    }

    /// Ranges and means, and the rows less the means. One pass over the rows is enough where the guess at a mean is within
    /// half a standard deviation of it, as the mean of the rows before mostly is; else the mean is taken first.
    #[inline(always)]
    fn measure<T: Real>(
        &mut self,
        x: PointsRef<'_, T>,
        guess: &[f64],
        few: &mut Vec<f64>,
        centred: &mut impl FnMut(usize, &[f64]),
    ) {
        let (weight, d) = (self.weight, x.d());
        few.resize(FEW * d, 0.0);
        self.mean.copy_from_slice(guess);
        self.less(x, few, centred);
        let near = |c: usize| 5.0 * self.rest[c] * self.rest[c] <= weight * self.squares[c];
        if !(0..d).all(near) {
            // The mean from the first row on.
            let first = x.row(0);
            let mut total = vec![0.0; d];
            for row in x.as_slice().chunks_exact(d) {
                total.iter_mut().zip(row).zip(first).for_each(|((t, v), f)| *t += v.to_f64() - f.to_f64());
            }
            self.mean = total.iter().zip(first).map(|(t, f)| t / weight + f.to_f64()).collect();
            self.less(x, few, centred);
        }
        self.rest.iter_mut().for_each(|r| *r /= weight);
    }

    /// The rows less `mean`, their sums in `rest` and their squares, and the range of the rows: a few rows are copied, in
    /// the order in which they lie in memory, and then read again while they are in the first-level cache.
    #[inline(always)]
    fn less<T: Real>(&mut self, x: PointsRef<'_, T>, few: &mut [f64], centred: &mut impl FnMut(usize, &[f64])) {
        let d = x.d();
        self.rest.fill(0.0);
        self.squares.fill(0.0);
        for (part, rows) in x.as_slice().chunks(FEW * d).enumerate() {
            let out = &mut few[..rows.len()];
            out.iter_mut().zip(rows).for_each(|(out, v)| *out = v.to_f64());
            let mut at = 0;
            while at < d {
                at += match d - at {
                    8.. => self.less_columns::<8>(out, at),
                    4.. => self.less_columns::<4>(out, at),
                    _ => self.less_columns::<1>(out, at),
                };
            }
            centred(part * FEW, out);
        }
    }

    /// The same for the W columns from `at` on, with sums that stay in registers; returns W.
    #[inline(always)]
    fn less_columns<const W: usize>(&mut self, rows: &mut [f64], at: usize) -> usize {
        let columns = at..at + W;
        let of = |values: &[f64]| -> [f64; W] { std::array::from_fn(|c| values[at + c]) };
        let (mean, mut low, mut high) = (of(&self.mean), of(&self.low), of(&self.high));
        let (mut total, mut squares) = ([0.0; W], [0.0; W]);
        for row in rows.chunks_exact_mut(self.mean.len()) {
            let row = &mut row[columns.clone()];
            for c in 0..W {
                let v = row[c];
                low[c] = if v < low[c] { v } else { low[c] };
                high[c] = if v > high[c] { v } else { high[c] };
                row[c] = v - mean[c];
                total[c] += row[c];
                squares[c] += row[c] * row[c];
            }
        }
        self.low[columns.clone()].copy_from_slice(&low);
        self.high[columns.clone()].copy_from_slice(&high);
        self.rest[columns.clone()].iter_mut().zip(total).for_each(|(sum, v)| *sum += v);
        self.squares[columns].iter_mut().zip(squares).for_each(|(sum, v)| *sum += v);
        W
    }

    /// Adds others; returns the difference of the means and w_a w_b / w of the weights, unless one of both is empty.
    pub(crate) fn add(&mut self, other: &Columns) -> Option<(Vec<f64>, f64)> {
        if self.n == 0 || other.n == 0 {
            if self.n == 0 {
                *self = other.clone();
            }
            return None;
        }
        let (before, more) = (self.weight, other.weight);
        self.n += other.n;
        self.weight += more;
        let weight = before * more / self.weight;
        let gap: Vec<f64> =
            (0..self.mean.len()).map(|j| (other.mean[j] - self.mean[j]) + (other.rest[j] - self.rest[j])).collect();
        for j in 0..gap.len() {
            (self.mean[j], self.rest[j]) = two_sum(self.mean[j], self.rest[j] + gap[j] * (more / self.weight));
            let (sum, e) = two_sum(self.squares[j], other.squares[j]);
            let (sum, f) = two_sum(sum, gap[j] * (gap[j] * weight));
            (self.squares[j], self.lost[j]) = (sum, self.lost[j] + other.lost[j] + e + f);
            self.low[j] = self.low[j].min(other.low[j]);
            self.high[j] = self.high[j].max(other.high[j]);
        }
        Some((gap, weight))
    }

    pub(crate) fn n(&self) -> u64 {
        self.n
    }

    /// The sum of the weights of the points: n, where they have none.
    pub(crate) fn weight(&self) -> f64 {
        self.weight
    }

    pub(crate) fn d(&self) -> usize {
        self.mean.len()
    }

    pub(crate) fn ranges(&self) -> Vec<(f64, f64)> {
        self.low.iter().copied().zip(self.high.iter().copied()).collect()
    }

    /// Returns a guess at the mean of the rows that follow.
    pub(crate) fn guess(&self) -> &[f64] {
        &self.mean
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.count(self.n);
        writer.number(self.weight);
        for list in [&self.mean, &self.rest, &self.squares, &self.lost, &self.low, &self.high] {
            writer.numbers(list);
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let (n, weight) = (reader.count()?, reader.number()?);
        let mut lists = [(); 6].map(|()| Vec::new());
        for list in &mut lists {
            *list = reader.numbers()?;
        }
        let [mean, rest, squares, lost, low, high] = lists;
        let d = mean.len();
        if [&rest, &squares, &lost, &low, &high].iter().any(|list| list.len() != d) {
            return Err(damaged("the lists have different lengths"));
        }
        let columns = Columns { n, weight, mean, rest, squares, lost, low, high };
        if n > MOST_POINTS {
            return Err(damaged("the number of points is too large"));
        }
        if n == 0 {
            return if columns == Columns::empty(d) {
                Ok(columns)
            } else {
                Err(damaged("there are sums but no points"))
            };
        }
        if !(weight.is_finite() && weight > 0.0) {
            return Err(damaged("the sum of the weights is not a positive number"));
        }
        let sound = |j: usize| {
            let (low, high, mean) = (columns.low[j], columns.high[j], columns.mean[j]);
            let reach = low.abs().max(high.abs());
            reach < SQUARABLE.end
                && low <= high
                && (low - 1e-9 * reach..=high + 1e-9 * reach).contains(&mean)
                && columns.rest[j].abs() <= reach
                && columns.squares[j].is_finite()
                && columns.lost[j].is_finite()
                && columns.squares[j] >= -1e-9 * weight * reach * reach
        };
        if (0..d).all(sound) { Ok(columns) } else { Err(damaged("means and ranges do not fit together")) }
    }

    /// Returns the mean point; the mean of a constant column is exactly its value.
    pub(crate) fn mean(&self) -> Vec<f64> {
        (0..self.mean.len()).map(|j| if self.is_constant(j) { self.low[j] } else { self.mean[j] }).collect()
    }

    /// Returns the rounding error of the mean.
    pub(crate) fn rest(&self) -> Vec<f64> {
        (0..self.mean.len()).map(|j| if self.is_constant(j) { 0.0 } else { self.rest[j] }).collect()
    }

    pub(crate) fn is_constant(&self, j: usize) -> bool {
        self.low[j] == self.high[j]
    }

    /// A bound on the relative error of [`Columns::square`] (MATHS.md, M24).
    pub(crate) const SQUARE_ERROR: f64 = (FEW + CHUNK / FEW + 32) as f64 * UNIT;

    /// sum (x - mean)^2 of coordinate j.
    pub(crate) fn square(&self, j: usize) -> f64 {
        if self.is_constant(j) { 0.0 } else { self.squares[j] + self.lost[j] }
    }

    /// The largest |x - about| of coordinate j.
    pub(crate) fn spread(&self, j: usize, about: f64) -> f64 {
        (self.high[j] - about).abs().max((self.low[j] - about).abs())
    }
}

/// Sums over chunks of rows, in parts that are then merged in a fixed tree, whatever the number of threads. `absorb` adds a
/// chunk to a sum, and has its own space for each part.
pub(crate) fn fold<T: Real, M: Send + Clone, B: Default>(
    x: PointsRef<'_, T>,
    exec: &Exec,
    empty: impl Fn(usize) -> M + Sync,
    absorb: impl Fn(&mut M, PointsRef<'_, T>, &mut B) + Sync,
    add: impl Fn(&mut M, &M) + Sync,
) -> Result<M> {
    exec.run(|| {
        let chunks = x.n().div_ceil(CHUNK);
        let per_part = chunks.div_ceil(PARTS).max(1) * CHUNK;
        let mut parts: Vec<M> = (0..x.n().div_ceil(per_part))
            .into_par_iter()
            .map(|p| {
                let (mut sum, mut space) = (empty(x.d()), B::default());
                let last = x.n().min((p + 1) * per_part);
                for start in (p * per_part..last).step_by(CHUNK) {
                    exec.check_cancelled()?;
                    absorb(&mut sum, x.slice(start, last.min(start + CHUNK)), &mut space);
                }
                Ok(sum)
            })
            .collect::<Result<_>>()?;
        while parts.len() > 1 {
            let pairs = parts.chunks_mut(2).map(|pair| {
                if let [a, b] = pair {
                    add(a, b);
                }
                pair[0].clone()
            });
            parts = pairs.collect();
        }
        Ok(parts.pop().unwrap_or_else(|| empty(x.d())))
    })
}

/// The points less `mean` and `rest`, divided by `scale`.
pub(crate) fn standardised<T: Real>(x: PointsRef<'_, T>, mean: &[f64], rest: &[f64], scale: &[f64]) -> Points<f64> {
    Points::from_fn(x.n(), x.d(), |i, j| (x.row(i)[j].to_f64() - mean[j] - rest[j]) / scale[j])
}
