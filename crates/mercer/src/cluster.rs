//! k-means, and how well clusters agree with labels (MATHS.md, M15).

use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::kernel::statistic::squared_distance;
use crate::points::{Points, PointsRef};
use crate::real::Real;
use crate::rng::Rng;
use rayon::prelude::*;

/// The largest number of Lloyd steps; on real data a few dozen suffice.
const MAX_STEPS: usize = 300;

/// k-means with k-means++ starts. The same seed gives the same clusters on any number of threads.
///
/// # Example
/// ```
/// use mercer::k_means::KMeans;
/// use mercer::Points;
/// let x = Points::from_rows(&[[0.0], [0.1], [5.0], [5.1], [5.2]]);
/// let found = KMeans::new(2).fit(&x)?;
/// assert_eq!(found.labels[0], found.labels[1]);
/// assert_ne!(found.labels[1], found.labels[2]);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct KMeans {
    clusters: usize,
    restarts: usize,
}

/// The result of [`KMeans::fit`].
///
/// ```
/// use mercer::k_means::KMeans;
/// use mercer::Points;
/// let found = KMeans::new(2).fit(&Points::from_rows(&[[0.0], [0.2], [5.0]]))?;
/// assert_eq!(found.labels, [0, 0, 1]);
/// assert_eq!((found.centres.n(), found.centres.row(1)), (2, &[5.0][..]));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Clusters {
    /// The cluster of each point, numbered in order of first appearance.
    pub labels: Vec<usize>,
    /// The cluster means, a row each.
    pub centres: Points<f64>,
    /// The sum of the squared distances of the points to the centres of their clusters.
    pub inertia: f64,
}

impl KMeans {
    /// The default number of starts.
    pub const RESTARTS: usize = 100;

    /// Sets the number of clusters, with [`KMeans::RESTARTS`] starts.
    pub fn new(clusters: usize) -> Self {
        KMeans { clusters, restarts: Self::RESTARTS }
    }

    /// Sets the number of starts; the best result is kept.
    pub fn restarts(mut self, restarts: usize) -> Self {
        self.restarts = restarts.max(1);
        self
    }

    /// Clusters points.
    ///
    /// # Errors
    /// When there are fewer points than clusters, or values that are not finite.
    pub fn fit<'a, T: Real>(&self, points: impl Into<PointsRef<'a, T>>) -> Result<Clusters> {
        self.fit_with(points, &Exec::new())
    }

    /// As [`KMeans::fit`], with threads, seed and cancellation.
    ///
    /// # Errors
    /// As [`KMeans::fit`].
    pub fn fit_with<'a, T: Real>(&self, points: impl Into<PointsRef<'a, T>>, exec: &Exec) -> Result<Clusters> {
        let x = points.into();
        x.check(1)?;
        if self.clusters == 0 || self.clusters > x.n() {
            let constraint = format!("1 <= clusters <= {} points", x.n());
            return Err(Error::parameter("k-means", "clusters", self.clusters, constraint));
        }
        x.check_not_huge()?;
        let x = x.to_f64();
        exec.run(|| {
            // Of equal results the one of the first start, so that the order of the threads does not matter.
            let best = (0..self.restarts)
                .into_par_iter()
                .map(|r| -> Result<(usize, Clusters)> {
                    exec.check_cancelled()?;
                    let mut rng = Rng::new(exec.get_seed().wrapping_mul(0x9e37_79b9).wrapping_add(r as u64));
                    Ok((r, lloyd(&x, plus_plus(&x, self.clusters, &mut rng))))
                })
                .try_reduce_with(|a, b| {
                    let order = a.1.inertia.total_cmp(&b.1.inertia).then(a.0.cmp(&b.0));
                    Ok(if order.is_le() { a } else { b })
                });
            Ok(best.expect("there is at least one start")?.1.renumbered())
        })
    }
}

/// Starting centres (k-means++): each next one is drawn with probability proportional to its squared distance to the others.
fn plus_plus(x: &Points<f64>, k: usize, rng: &mut Rng) -> Points<f64> {
    let mut chosen = vec![rng.below(x.n())];
    let mut distance: Vec<f64> = x.rows().map(|p| squared_distance(p, x.row(chosen[0]))).collect();
    while chosen.len() < k {
        let total: f64 = distance.iter().sum();
        let next = if total > 0.0 && total.is_finite() {
            let mut left = rng.uniform() * total;
            let drawn = distance.iter().position(|d| {
                left -= d;
                left < 0.0
            });
            drawn.unwrap_or(x.n() - 1)
        } else {
            rng.below(x.n())
        };
        chosen.push(next);
        for (d, p) in distance.iter_mut().zip(x.rows()) {
            *d = d.min(squared_distance(p, x.row(next)));
        }
    }
    Points::from_fn(k, x.d(), |c, j| x.row(chosen[c])[j])
}

fn lloyd(x: &Points<f64>, mut centres: Points<f64>) -> Clusters {
    let mut labels = vec![usize::MAX; x.n()];
    for _ in 0..MAX_STEPS {
        let nearest: Vec<(usize, f64)> = x.rows().map(|p| nearest(p, &centres)).collect();
        let next: Vec<usize> = nearest.iter().map(|n| n.0).collect();
        if next == labels {
            break;
        }
        labels = next;
        let mut counts = vec![0usize; centres.n()];
        let mut means = Points::from_fn(centres.n(), x.d(), |_, _| 0.0);
        for (p, &c) in x.rows().zip(&labels) {
            counts[c] += 1;
            means.row_mut(c).iter_mut().zip(p).for_each(|(m, v)| *m += v);
        }
        for c in 0..centres.n() {
            if counts[c] > 0 {
                means.row_mut(c).iter_mut().for_each(|m| *m /= counts[c] as f64);
            } else {
                // An empty cluster is moved to the point that is farthest from its centre.
                let worst = (0..x.n()).fold(0, |w, i| if nearest[i].1 > nearest[w].1 { i } else { w });
                means.row_mut(c).copy_from_slice(x.row(worst));
            }
        }
        centres = means;
    }
    let inertia = x.rows().map(|p| nearest(p, &centres).1).sum();
    Clusters { labels, centres, inertia }
}

fn nearest(point: &[f64], centres: &Points<f64>) -> (usize, f64) {
    centres
        .rows()
        .map(|c| squared_distance(point, c))
        .enumerate()
        .fold((0, f64::INFINITY), |best, (c, d)| if d < best.1 { (c, d) } else { best })
}

impl Clusters {
    fn renumbered(self) -> Self {
        let k = self.centres.n();
        let mut order: Vec<usize> = Vec::new();
        for &c in &self.labels {
            if !order.contains(&c) {
                order.push(c);
            }
        }
        order.extend((0..k).filter(|c| !self.labels.contains(c)));
        let place = |c: usize| order.iter().position(|o| *o == c).expect("every cluster is in the order");
        Clusters {
            labels: self.labels.iter().map(|&c| place(c)).collect(),
            centres: Points::from_fn(k, self.centres.d(), |i, j| self.centres.row(order[i])[j]),
            inertia: self.inertia,
        }
    }
}

/// The agreement of two partitions of the same points.
///
/// ```
/// use mercer::k_means::Agreement;
/// let agreement = Agreement::of(&[0, 0, 1, 1], &[1, 1, 0, 1])?;
/// assert_eq!((agreement.correct, agreement.accuracy()), (3, 0.75));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// The number of points in the right cluster under the best matching of clusters to classes.
    pub correct: usize,
    /// The number of points.
    pub n: usize,
    /// The adjusted Rand index: 1 for equal partitions, 0 on average for unrelated ones.
    pub adjusted_rand: f64,
}

impl Agreement {
    /// Compares two partitions given by a number per point.
    ///
    /// # Errors
    /// When they are not of the same points.
    pub fn of(classes: &[usize], clusters: &[usize]) -> Result<Self> {
        if classes.len() != clusters.len() {
            return Err(Error::shape("points of the second partition", clusters.len(), classes.len()));
        }
        let ((classes, r), (clusters, c)) = (ranks(classes), ranks(clusters));
        let mut table = vec![vec![0usize; c]; r];
        for (&a, &b) in classes.iter().zip(&clusters) {
            table[a][b] += 1;
        }
        Ok(Agreement { correct: best_matching(&table, c), n: classes.len(), adjusted_rand: adjusted_rand(&table, c) })
    }

    /// Returns the share of points in the right cluster.
    pub fn accuracy(&self) -> f64 {
        if self.n == 0 { 0.0 } else { self.correct as f64 / self.n as f64 }
    }
}

/// Labels renumbered 0, 1, ... in order of size, and how many there are.
fn ranks(labels: &[usize]) -> (Vec<usize>, usize) {
    let mut known = labels.to_vec();
    known.sort_unstable();
    known.dedup();
    (labels.iter().map(|l| known.binary_search(l).expect("just put in")).collect(), known.len())
}

/// The largest sum over a one-to-one matching of rows to columns (Hungarian method by shortest augmenting paths).
fn best_matching(table: &[Vec<usize>], columns: usize) -> usize {
    let size = table.len().max(columns);
    let gain = |i: usize, j: usize| table.get(i).and_then(|row| row.get(j)).copied().unwrap_or(0) as i64;
    // Potentials u, v and the row matched to each column; index 0 is a sentinel.
    let (mut u, mut v, mut matched) = (vec![0i64; size + 1], vec![0i64; size + 1], vec![0usize; size + 1]);
    for row in 1..=size {
        matched[0] = row;
        let (mut least, mut from, mut used) = (vec![i64::MAX; size + 1], vec![0; size + 1], vec![false; size + 1]);
        let mut at = 0;
        loop {
            used[at] = true;
            let (i, mut step, mut next) = (matched[at], i64::MAX, 0);
            for j in 1..=size {
                if used[j] {
                    continue;
                }
                let cost = -gain(i - 1, j - 1) - u[i] - v[j];
                if cost < least[j] {
                    (least[j], from[j]) = (cost, at);
                }
                if least[j] < step {
                    (step, next) = (least[j], j);
                }
            }
            for j in 0..=size {
                if used[j] {
                    u[matched[j]] += step;
                    v[j] -= step;
                } else if least[j] < i64::MAX {
                    least[j] -= step;
                }
            }
            at = next;
            if matched[at] == 0 {
                break;
            }
        }
        while at != 0 {
            matched[at] = matched[from[at]];
            at = from[at];
        }
    }
    (1..=size).map(|j| gain(matched[j] - 1, j - 1)).sum::<i64>() as usize
}

fn adjusted_rand(table: &[Vec<usize>], columns: usize) -> f64 {
    let pairs = |count: usize| (count * count.saturating_sub(1)) as f64 / 2.0;
    let by_row: Vec<usize> = table.iter().map(|row| row.iter().sum()).collect();
    let by_column: Vec<usize> = (0..columns).map(|j| table.iter().map(|row| row[j]).sum()).collect();
    let together: f64 = table.iter().flatten().map(|&c| pairs(c)).sum();
    let (rows, cols): (f64, f64) = (by_row.iter().map(|&c| pairs(c)).sum(), by_column.iter().map(|&c| pairs(c)).sum());
    let all = pairs(by_row.iter().sum());
    if all == 0.0 {
        return 1.0;
    }
    let expected = rows * cols / all;
    let most = (rows + cols) / 2.0;
    // Both partitions trivial: they are equal.
    if most == expected { 1.0 } else { (together - expected) / (most - expected) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_matching_is_the_best_of_all_permutations() {
        let mut rng = Rng::new(3);
        for _ in 0..200 {
            let table: Vec<Vec<usize>> = (0..4).map(|_| (0..4).map(|_| rng.below(20)).collect()).collect();
            let mut best = 0;
            for p in 0..256usize {
                let to = [p & 3, (p >> 2) & 3, (p >> 4) & 3, p >> 6];
                if (0..4).all(|i| (0..i).all(|j| to[i] != to[j])) {
                    best = best.max((0..4).map(|i| table[i][to[i]]).sum());
                }
            }
            assert_eq!(best_matching(&table, 4), best);
        }
        assert_eq!(best_matching(&[vec![3, 1, 5], vec![2, 2, 4]], 3), 7);
    }

    #[test]
    fn agreement_of_equal_and_of_renamed_partitions_is_one() -> Result<()> {
        let same = Agreement::of(&[0, 0, 1, 2], &[2, 2, 0, 1])?;
        assert_eq!((same.correct, same.adjusted_rand), (4, 1.0));
        // Hubert and Arabie's index of a known small table
        let part = Agreement::of(&[0, 0, 0, 1, 1, 1], &[0, 0, 1, 1, 2, 2])?;
        assert!((part.adjusted_rand - 0.242_424_242_424_242_4).abs() < 1e-15);
        assert!(Agreement::of(&[0], &[0, 1]).is_err());
        Ok(())
    }
}
