//! Approximations K ~ FF' of the Gram matrix from a few points. They are pivots of the preconditioner of the exact search,
//! where they do not affect the accuracy of the result (MATHS.md, M16), or landmarks of the Nystroem method (M20).

use fearless_simd::Level;
use rayon::prelude::*;

use crate::block::Block;
use crate::eigen::Precondition;
use crate::error::Result;
use crate::exec::{Exec, Progress};
use crate::kernel::Bound;
use crate::kernel::tile::{self, DistanceMethod, Form, LARGE_TILE, Rows, Scratch};
use crate::linalg;
use crate::op::{Gram, SymOp};
use crate::panels::{self, Panels};
use crate::points::Points;
use crate::real::{Real, largest};
use crate::rng::Rng;

/// An unexplained share of the variance below this is rounding.
pub(crate) const LEAST_SHARE: f64 = 1e-11;
/// Points per landmark in the sample for k-means, and the number of its steps.
const SAMPLE: usize = 8;
const STEPS: usize = 3;
/// Number of parts of sums over points, independent of the number of threads.
const PARTS: usize = 16;
/// If the largest residual is this many times the mean residual, there are outliers far from all centres of k-means.
const OUTLYING: f64 = 10.0;
/// Pivots that are drawn together.
const PIVOTS: usize = 32;

/// A factor F of n rows with K ~ FF', its columns centred, and the eigenpairs of F'F.
pub(crate) struct Preconditioner<T> {
    factor: Factor<T>,
    values: Vec<f64>,
    vectors: Block,
}

impl<T: Real> Preconditioner<T> {
    /// The preconditioner from about `r` pivots for the points of `rows`, which are `points`. `None` when the kernel is too
    /// far from positive semi-definite on them to have such a factor.
    pub(crate) fn new(
        bound: &Bound,
        rows: &Rows<T>,
        points: &Points<f64>,
        r: usize,
        exec: &Exec,
    ) -> Result<Option<Self>>
    where
        Rows<T>: Ready,
    {
        exec.report(Progress::Landmarks);
        let mut rng = Rng::new(exec.get_seed() ^ 0x6c61_6e64);
        let centres = k_means(points, bound.shift(), r, &mut rng, exec)?;
        let Some(mut factor) = Factor::of_landmarks(bound, rows, centres, r / 2, exec)? else { return Ok(None) };
        let own: Vec<f64> = (0..rows.n()).map(|i| bound.kernel().self_value(points.row(i))).collect();
        let mut left = factor.residual_diagonal(&own);
        let mean = left.iter().sum::<f64>() / left.len() as f64;
        if left.iter().any(|d| *d > OUTLYING * mean) {
            factor.add_pivots(bound, rows, points, &mut left, (r / 2, 0.0), &mut rng, exec)?;
        }
        factor.centre();
        let gram = factor.gram();
        let (values, vectors) = linalg::eigh(gram)?;
        Ok(Some(Preconditioner { factor, values, vectors }))
    }
}

/// Rows of landmarks in the precision of the points.
pub(crate) trait Ready: Sized {
    fn ready(bound: &Bound, points: Points<f64>, method: DistanceMethod) -> Self;
}

impl Ready for Rows<f64> {
    fn ready(bound: &Bound, points: Points<f64>, method: DistanceMethod) -> Self {
        Rows::new(bound, points, method)
    }
}

impl Ready for Rows<f32> {
    fn ready(bound: &Bound, points: Points<f64>, method: DistanceMethod) -> Self {
        Rows::new(bound, points, method).to_f32(bound)
    }
}

impl<T: Real> Precondition for Preconditioner<T> {
    fn start(&self, b: usize) -> Block {
        let cut = self.values[0] * 1e-12;
        let b = self.values.iter().take(b).take_while(|v| **v > cut.max(0.0)).count();
        self.factor.times(&self.vectors.columns(0, b))
    }

    /// (FF' - theta)^-1 r = -(r + F (theta - F'F)^-1 F'r) / theta. The distance of theta to the eigenvalues of FF' is kept
    /// above a bound; without it the correction would be close to the eigenvector itself.
    fn correct(&self, residuals: &Block, theta: &[f64]) -> Block {
        let inner = linalg::inner_products(&self.vectors, &self.factor.transposed_times(residuals));
        let mut weights = inner;
        for (j, theta) in theta.iter().enumerate() {
            for (w, s) in weights.col_mut(j).iter_mut().zip(&self.values) {
                let gap = theta - s;
                let least = 1e-3 * theta.abs();
                *w /= if gap.abs() < least { least.copysign(gap) } else { gap };
            }
        }
        let mut corrections = self.factor.times(&linalg::product(&self.vectors, &weights));
        for j in 0..corrections.b() {
            for (c, r) in corrections.col_mut(j).iter_mut().zip(residuals.col(j)) {
                *c = -(*c + r) / theta[j];
            }
        }
        corrections
    }
}

/// Centres of a sample of the points by Lloyd's steps from random ones; the middle point is subtracted from all.
pub(crate) fn k_means(
    points: &Points<f64>,
    middle: &[f64],
    r: usize,
    rng: &mut Rng,
    exec: &Exec,
) -> Result<Points<f64>> {
    let (n, d) = (points.n(), points.d());
    let mut order: Vec<usize> = (0..n).collect();
    let taken = (SAMPLE * r).min(n);
    for i in 0..taken {
        let j = i + rng.below(n - i);
        order.swap(i, j);
    }
    let r = r.min(taken);
    let mut sample = Vec::with_capacity(taken * d);
    for i in &order[..taken] {
        sample.extend(points.row(*i).iter().zip(middle).map(|(v, m)| v - m));
    }
    let sample = Points::new(sample, taken, d)?;
    let mut centres = Points::from_fn(r, d, |i, j| sample.row(i)[j]);
    for _ in 0..STEPS {
        exec.check_cancelled()?;
        let nearest = nearest(&sample, &centres);
        let (mut sums, mut counts) = (vec![0.0; r * d], vec![0.0; r]);
        for (row, c) in sample.rows().zip(&nearest) {
            counts[*c] += 1.0;
            sums[c * d..(c + 1) * d].iter_mut().zip(row).for_each(|(s, v)| *s += v);
        }
        for c in (0..r).filter(|c| counts[*c] > 0.0) {
            for (v, s) in centres.row_mut(c).iter_mut().zip(&sums[c * d..(c + 1) * d]) {
                *v = s / counts[c];
            }
        }
    }
    Ok(Points::from_fn(r, d, |i, j| centres.row(i)[j] + middle[j]))
}

/// The centre nearest to each point, up to rounding in f32.
fn nearest(points: &Points<f64>, centres: &Points<f64>) -> Vec<usize> {
    // In a unit near to the largest coordinate no product leaves the range of f32.
    let unit = linalg::power_of_two(largest(points.as_slice()).max(largest(centres.as_slice())));
    let packed = |x: &Points<f64>| {
        let values = x.as_slice().iter().map(|v| (v / unit) as f32).collect();
        Panels::of_points(Points::new(values, x.n(), x.d()).expect("as many values").view())
    };
    let (x, c) = (packed(points), packed(centres));
    let halves: Vec<f32> = centres.rows().map(|c| (0.5 * linalg::dot(c, c) / unit / unit) as f32).collect();
    let (r, level) = (centres.n(), Level::new());
    let chunks: Vec<Vec<usize>> = (0..points.n().div_ceil(LARGE_TILE))
        .into_par_iter()
        .map(|chunk| {
            let rows = chunk * LARGE_TILE..points.n().min((chunk + 1) * LARGE_TILE);
            let mut products = vec![0.0f32; rows.len() * r];
            panels::products(level, (&x, rows), (&c, 0..r), &mut products, r);
            let best = |line: &[f32]| {
                let most = line.iter().zip(&halves).fold(f32::NEG_INFINITY, |m, (p, h)| m.max(p - h));
                line.iter().zip(&halves).position(|(p, h)| p - h >= most).unwrap_or(0)
            };
            products.chunks_exact(r).map(best).collect()
        })
        .collect();
    chunks.concat()
}

/// The pivots of a randomly pivoted Cholesky factorisation of the Gram matrix: at most `most`, and no more than leave at
/// most `share` of its trace unexplained.
pub(crate) fn pivots(
    bound: &Bound,
    points: &Points<f64>,
    most: usize,
    share: f64,
    rng: &mut Rng,
    exec: &Exec,
) -> Result<Points<f64>> {
    let rows = Rows::new(bound, points.clone(), DistanceMethod::of(points.n()));
    let mut left: Vec<f64> = points.rows().map(|x| bound.kernel().self_value(x)).collect();
    let mut factor = Factor { values: Vec::new(), n: points.n(), width: most, used: 0, pivots: Vec::new() };
    factor.values = vec![0.0; points.n() * most];
    factor.add_pivots(bound, &rows, points, &mut left, (most, share), rng, exec)?;
    Ok(Points::from_fn(factor.pivots.len(), points.d(), |i, j| points.row(factor.pivots[i])[j]))
}

/// The factor: `used` columns of each row of `width` values.
struct Factor<T> {
    values: Vec<T>,
    n: usize,
    width: usize,
    used: usize,
    /// The indices of the pivots.
    pivots: Vec<usize>,
}

impl<T: Real> Factor<T> {
    /// F = C L'^-1 with C = K(points, landmarks) and LL' = K(landmarks, landmarks), with room for `more` columns.
    fn of_landmarks(
        bound: &Bound,
        rows: &Rows<T>,
        landmarks: Points<f64>,
        more: usize,
        exec: &Exec,
    ) -> Result<Option<Self>>
    where
        Rows<T>: Ready,
    {
        let (n, r) = (rows.n(), landmarks.n());
        let inner = Gram::of_points(bound, landmarks.clone()).to_matrix(exec)?;
        let Some(inverse) = linalg::inverse_cholesky::<T>(inner) else { return Ok(None) };
        let landmarks = Rows::<T>::ready(bound, landmarks, rows.method());
        let width = r + more;
        let mut values = vec![T::ZERO; n * width];
        values.par_chunks_mut(LARGE_TILE * width).enumerate().try_for_each(|(chunk, out)| -> Result<()> {
            exec.check_cancelled()?;
            let start = chunk * LARGE_TILE;
            let height = out.len() / width;
            let mut tile = vec![T::ZERO; height * r];
            let how = (bound, Form::Value, exec.level());
            let mut scratch = Scratch::new();
            tile::fill(how, (rows, start..start + height), (&landmarks, 0..r), &mut tile, &mut scratch);
            linalg::times_inverse(&tile, &inverse, r, width, out);
            Ok(())
        })?;
        Ok(Some(Factor { values, n, width, used: r, pivots: Vec::new() }))
    }

    fn row(&self, i: usize) -> &[T] {
        &self.values[i * self.width..i * self.width + self.used]
    }

    /// k(x, x) - |f|^2 of each point: its unexplained part.
    fn residual_diagonal(&self, own: &[f64]) -> Vec<f64> {
        let square = |row: &[T]| row.iter().fold(T::ZERO, |sum, v| sum + *v * *v).to_f64();
        own.par_iter().enumerate().map(|(i, k)| (k - square(self.row(i))).max(0.0)).collect()
    }

    /// Adds at most `count` columns. Their pivots are drawn with probability proportional to `left`, the unexplained part of
    /// each point, until its sum is at most `share` of the sum at the start (randomly pivoted Cholesky by Chen, Epperly,
    /// Tropp and Webber, in blocks).
    #[allow(clippy::too_many_arguments)]
    fn add_pivots(
        &mut self,
        bound: &Bound,
        rows: &Rows<T>,
        points: &Points<f64>,
        left: &mut [f64],
        (count, share): (usize, f64),
        rng: &mut Rng,
        exec: &Exec,
    ) -> Result<()>
    where
        Rows<T>: Ready,
    {
        let all: f64 = left.iter().sum();
        let end = (self.used + count).min(self.width);
        while self.used < end {
            exec.check_cancelled()?;
            let pivots = draw(left, (end - self.used).min(PIVOTS), rng);
            // The unexplained part is rounding: further columns would not help.
            if pivots.is_empty() || left.iter().sum::<f64>() <= share.max(LEAST_SHARE) * all {
                return Ok(());
            }
            let chosen = Points::from_fn(pivots.len(), points.d(), |i, j| points.row(pivots[i])[j]);
            let chosen = Rows::<T>::ready(bound, chosen, rows.method());
            let (p, old) = (pivots.len(), self.used);
            let before: Vec<T> = pivots.iter().flat_map(|i| self.row(*i).to_vec()).collect();
            // The columns of K - FF' at the pivots.
            let columns = |start: usize, height: usize, values: &[T]| -> Vec<T> {
                let mut tile = vec![T::ZERO; height * p];
                let how = (bound, Form::Value, exec.level());
                tile::fill(how, (rows, start..start + height), (&chosen, 0..p), &mut tile, &mut Scratch::new());
                linalg::subtract_products(&mut tile, values, self.width, old, &before);
                tile
            };
            let corner: Vec<f64> = pivots
                .iter()
                .flat_map(|i| columns(*i, 1, &self.values[i * self.width..(i + 1) * self.width]))
                .map(|v| v.to_f64())
                .collect();
            let (triangle, kept) = pivot_triangle(corner, p);
            let width = self.width;
            let pieces: Vec<Vec<T>> = (0..self.n.div_ceil(LARGE_TILE))
                .into_par_iter()
                .map(|chunk| {
                    let start = chunk * LARGE_TILE;
                    let height = LARGE_TILE.min(self.n - start);
                    columns(start, height, &self.values[start * width..(start + height) * width])
                })
                .collect();
            for (i, line) in pieces.iter().flat_map(|p2| p2.chunks_exact(p)).enumerate() {
                let mut f = vec![0.0; kept.len()];
                for (at, c) in kept.iter().enumerate() {
                    let known: f64 = (0..at).map(|b| triangle[c * p + kept[b]] * f[b]).sum();
                    f[at] = (line[*c].to_f64() - known) / triangle[c * p + c];
                    self.values[i * width + old + at] = T::from_f64(f[at]);
                    left[i] = (left[i] - f[at] * f[at]).max(0.0);
                }
            }
            self.pivots.extend(kept.iter().map(|at| pivots[*at]));
            for i in pivots {
                left[i] = 0.0;
            }
            self.used += kept.len();
        }
        Ok(())
    }

    fn centre(&mut self) {
        let parts: Vec<Vec<f64>> = self
            .values
            .par_chunks(self.part() * self.width)
            .map(|rows| {
                let mut sums = vec![0.0; self.used];
                for row in rows.chunks_exact(self.width) {
                    sums.iter_mut().zip(row).for_each(|(s, v)| *s += v.to_f64());
                }
                sums
            })
            .collect();
        let mean = |j: usize| parts.iter().map(|p| p[j]).sum::<f64>() / self.n as f64;
        let means: Vec<T> = (0..self.used).map(|j| T::from_f64(mean(j))).collect();
        self.values.par_chunks_exact_mut(self.width).for_each(|row| {
            row.iter_mut().zip(&means).for_each(|(v, m)| *v -= *m);
        });
    }

    /// Rows that are summed together.
    fn part(&self) -> usize {
        self.n.div_ceil(PARTS).max(1)
    }

    /// F'F.
    fn gram(&self) -> Block {
        let parts: Vec<Block> = (0..self.n.div_ceil(self.part()))
            .into_par_iter()
            .map(|p| {
                let (start, end) = (p * self.part(), self.n.min((p + 1) * self.part()));
                linalg::rows_gram(&self.values[start * self.width..end * self.width], self.width, self.used)
            })
            .collect();
        sum(parts)
    }

    /// F'R.
    fn transposed_times(&self, r: &Block) -> Block {
        let parts: Vec<Block> = (0..self.n.div_ceil(self.part()))
            .into_par_iter()
            .map(|p| {
                let (start, end) = (p * self.part(), self.n.min((p + 1) * self.part()));
                let values = &self.values[start * self.width..end * self.width];
                let mut piece = Vec::with_capacity((end - start) * r.b());
                (0..r.b()).for_each(|j| piece.extend(r.col(j)[start..end].iter().map(|v| T::from_f64(*v))));
                linalg::rows_transposed_times(values, self.width, self.used, &piece, r.b())
            })
            .collect();
        sum(parts)
    }

    /// F C.
    fn times(&self, c: &Block) -> Block {
        let rounded: Vec<T> = c.as_slice().iter().map(|v| T::from_f64(*v)).collect();
        let pieces: Vec<Vec<T>> = self
            .values
            .par_chunks(self.part() * self.width)
            .map(|values| linalg::rows_times(values, self.width, self.used, &rounded, c.b()))
            .collect();
        let mut out = Block::zeros(self.n, c.b());
        let mut start = 0;
        for piece in pieces {
            let height = piece.len() / c.b().max(1);
            for (j, column) in piece.chunks_exact(height.max(1)).enumerate() {
                let out = &mut out.col_mut(j)[start..start + height];
                out.iter_mut().zip(column).for_each(|(o, v)| *o = v.to_f64());
            }
            start += height;
        }
        out
    }
}

fn sum(parts: Vec<Block>) -> Block {
    let mut parts = parts.into_iter();
    let mut total = parts.next().unwrap_or_else(|| Block::zeros(0, 0));
    for part in parts {
        total.as_mut_slice().iter_mut().zip(part.as_slice()).for_each(|(t, v)| *t += v);
    }
    total
}

/// Different indices, drawn with probability proportional to `weights`.
fn draw(weights: &[f64], count: usize, rng: &mut Rng) -> Vec<usize> {
    let sums: Vec<f64> = weights
        .iter()
        .scan(0.0, |sum, w| {
            *sum += w;
            Some(*sum)
        })
        .collect();
    let total = sums.last().copied().unwrap_or(0.0);
    if total <= 0.0 {
        return Vec::new();
    }
    let mut drawn: Vec<usize> = (0..count)
        .map(|_| {
            let at = rng.uniform() * total;
            sums.partition_point(|s| *s <= at).min(weights.len() - 1)
        })
        .collect();
    drawn.sort_unstable();
    drawn.dedup();
    drawn
}

/// The lower triangle of a Cholesky factorisation of a p-by-p matrix, row by row, and the pivots that were used. Those with
/// no unexplained part are skipped.
fn pivot_triangle(mut a: Vec<f64>, p: usize) -> (Vec<f64>, Vec<usize>) {
    let largest = (0..p).map(|i| a[i * p + i]).fold(0.0, f64::max);
    let mut kept: Vec<usize> = Vec::new();
    for j in 0..p {
        let square: f64 = kept.iter().map(|k| a[j * p + k] * a[j * p + k]).sum();
        let pivot = a[j * p + j] - square;
        if pivot <= 1e-6 * largest || pivot.is_nan() {
            continue;
        }
        a[j * p + j] = pivot.sqrt();
        for i in j + 1..p {
            let known: f64 = kept.iter().map(|k| a[i * p + k] * a[j * p + k]).sum();
            a[i * p + j] = (a[i * p + j] - known) / a[j * p + j];
        }
        kept.push(j);
    }
    (a, kept)
}
