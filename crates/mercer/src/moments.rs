//! Moments: count, mean and scatter of points. They add up: the moments of two sets give those of their union.

use rayon::prelude::*;

use crate::block::Block;
use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::linalg;
use crate::points::{Points, PointsRef};
use crate::real::Real;

/// Rows that are centred and multiplied together.
const CHUNK: usize = 512;
/// Parts that are summed apart and then merged in a fixed tree, however many threads there are.
const PARTS: usize = 16;

/// n, mean and scatter S = sum (x - mean)(x - mean)' of points (MATHS.md, M1), with the range of each coordinate.
///
/// # Example
/// ```
/// use mercer::{Moments, Points};
/// let (a, b) = (Points::from_rows(&[[1e8], [1e8 + 1.0]]), Points::from_rows(&[[1e8 + 5.0]]));
/// let both = Moments::of(&a)?.merge(&Moments::of(&b)?)?;
/// assert_eq!((both.n(), both.mean()[0], both.scatter().at(0, 0)), (3, 1e8 + 2.0, 14.0));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    n: u64,
    mean: Vec<f64>,
    /// What rounding took from the mean: far from the origin, means differ by less than the spacing of f64.
    rest: Vec<f64>,
    /// Lower half.
    scatter: Block,
    low: Vec<f64>,
    high: Vec<f64>,
}

impl Moments {
    /// The moments of no points.
    pub fn empty(d: usize) -> Self {
        Moments {
            n: 0,
            mean: vec![0.0; d],
            rest: vec![0.0; d],
            scatter: Block::zeros(d, d),
            low: vec![f64::INFINITY; d],
            high: vec![f64::NEG_INFINITY; d],
        }
    }

    /// The moments of points.
    ///
    /// # Errors
    /// When there are no dimensions, or a value is not finite or too large to be squared.
    pub fn of<'a, T: Real>(points: impl Into<PointsRef<'a, T>>) -> Result<Self> {
        Moments::of_with(points, &Exec::new())
    }

    /// As [`Moments::of`], with threads and cancellation. The result does not depend on the number of threads.
    ///
    /// # Errors
    /// As [`Moments::of`], and when cancelled.
    pub fn of_with<'a, T: Real>(points: impl Into<PointsRef<'a, T>>, exec: &Exec) -> Result<Self> {
        let x = points.into();
        x.check(0)?;
        x.check_not_huge()?;
        exec.run(|| {
            let chunks = x.n().div_ceil(CHUNK);
            let per_part = chunks.div_ceil(PARTS).max(1) * CHUNK;
            let mut parts: Vec<Moments> = (0..x.n().div_ceil(per_part))
                .into_par_iter()
                .map(|p| {
                    let mut sum = Moments::empty(x.d());
                    for start in (p * per_part..x.n().min((p + 1) * per_part)).step_by(CHUNK) {
                        exec.go_on()?;
                        let end = (start + CHUNK).min(x.n()).min((p + 1) * per_part);
                        sum = sum.merge(&Moments::of_chunk(x.slice(start, end)))?;
                    }
                    Ok(sum)
                })
                .collect::<Result<_>>()?;
            while parts.len() > 1 {
                parts = parts
                    .chunks(2)
                    .map(|pair| match pair {
                        [a, b] => a.merge(b),
                        rest => Ok(rest[0].clone()),
                    })
                    .collect::<Result<_>>()?;
            }
            Ok(parts.pop().unwrap_or_else(|| Moments::empty(x.d())))
        })
    }

    /// The moments of a few rows: mean from the first row on, then the scatter about that mean.
    fn of_chunk<T: Real>(x: PointsRef<'_, T>) -> Self {
        let (n, d) = (x.n(), x.d());
        let mut m = Moments::empty(d);
        m.n = n as u64;
        let mut centred = x.to_f64();
        let first = centred.row(0).to_vec();
        for row in centred.rows() {
            for j in 0..d {
                m.low[j] = m.low[j].min(row[j]);
                m.high[j] = m.high[j].max(row[j]);
                m.mean[j] += (row[j] - first[j]) / n as f64;
            }
        }
        m.mean.iter_mut().zip(&first).for_each(|(m, f)| *m += f);
        for i in 0..n {
            centred.row_mut(i).iter_mut().zip(&m.mean).for_each(|(v, m)| *v -= m);
        }
        // The mean is rounded; the scatter about it exceeds the true one by n (error)^2, which is taken off.
        let left: Vec<f64> = (0..d).map(|j| centred.rows().map(|r| r[j]).sum::<f64>() / n as f64).collect();
        for i in 0..n {
            centred.row_mut(i).iter_mut().zip(&left).for_each(|(v, l)| *v -= l);
        }
        for j in 0..d {
            (m.mean[j], m.rest[j]) = two_sum(m.mean[j], left[j]);
        }
        linalg::add_scatter(&mut m.scatter, &centred);
        m
    }

    /// The moments of both sets together (Chan, Golub and LeVeque): S = S_a + S_b + n_a n_b / n (m_b - m_a)(m_b - m_a)'.
    ///
    /// # Errors
    /// When the numbers of dimensions differ.
    pub fn merge(&self, other: &Moments) -> Result<Self> {
        if self.d() != other.d() {
            return Err(Error::shape("dimensions of the moments to merge", other.d(), self.d()));
        }
        if self.n == 0 || other.n == 0 {
            return Ok(if self.n == 0 { other.clone() } else { self.clone() });
        }
        let mut sum = self.clone();
        sum.n += other.n;
        let (na, nb, n) = (self.n as f64, other.n as f64, sum.n as f64);
        let gap: Vec<f64> =
            (0..self.d()).map(|j| (other.mean[j] - self.mean[j]) + (other.rest[j] - self.rest[j])).collect();
        for j in 0..self.d() {
            (sum.mean[j], sum.rest[j]) = two_sum(self.mean[j], self.rest[j] + gap[j] * (nb / n));
            sum.low[j] = self.low[j].min(other.low[j]);
            sum.high[j] = self.high[j].max(other.high[j]);
            for i in j..self.d() {
                *sum.scatter.at_mut(i, j) += other.scatter.at(i, j) + gap[i] * gap[j] * (na * nb / n);
            }
        }
        Ok(sum)
    }

    /// Number of points.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// Number of dimensions.
    pub fn d(&self) -> usize {
        self.mean.len()
    }

    /// The mean point; a coordinate that never changes has exactly its value.
    pub fn mean(&self) -> Vec<f64> {
        (0..self.d()).map(|j| if self.is_constant(j) { self.low[j] } else { self.mean[j] }).collect()
    }

    /// Whether coordinate j has the same value in all points.
    pub fn is_constant(&self, j: usize) -> bool {
        self.low[j] == self.high[j]
    }

    /// The scatter matrix about the mean, both halves. Divide by n or n - 1 for the covariance.
    pub fn scatter(&self) -> Block {
        let mut scatter = self.scatter.clone();
        for j in (0..self.d()).filter(|&j| self.is_constant(j)) {
            for i in 0..self.d() {
                *scatter.at_mut(i.max(j), i.min(j)) = 0.0;
            }
        }
        linalg::mirror_lower(&mut scatter);
        scatter
    }

    /// The scatter matrix about the origin, sum x x': n times the plain correlation matrix.
    pub fn scatter_about_origin(&self) -> Block {
        let (n, mean) = (self.n as f64, self.mean());
        let mut scatter = self.scatter();
        for j in 0..self.d() {
            for i in 0..self.d() {
                *scatter.at_mut(i, j) += n * mean[i] * mean[j];
            }
        }
        scatter
    }
}

/// a + b as the nearest f64 and what rounding took (Knuth).
pub(crate) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// The points less `mean` and `rest`, divided by `scale`.
pub(crate) fn standardised<T: Real>(x: PointsRef<'_, T>, mean: &[f64], rest: &[f64], scale: &[f64]) -> Points<f64> {
    Points::from_fn(x.n(), x.d(), |i, j| (x.row(i)[j].to_f64() - mean[j] - rest[j]) / scale[j])
}
