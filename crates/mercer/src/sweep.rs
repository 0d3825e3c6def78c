//! The change of the first two scores of kernel PCA (the picture) with the width of the kernel.

use rayon::prelude::*;

use crate::error::{ErrorKind, Result};
use crate::exec::Exec;
use crate::kernel::registry::{self, Range, Value};
use crate::kernel::{Bound, Kernel, Leaf};
use crate::kernel_pca::KernelPca;
use crate::points::{AnyPoints, Points, PointsRef};
use crate::real::{Real, shortest};
use crate::rng::Rng;

/// The largest number of points that are fitted. The 33 fits then take 0.4 s on two cores (two rings).
const MOST_POINTS: usize = 400;
/// Half octaves from the middle value to either end.
const HALF_OCTAVES: i32 = 16;
/// A step with less change than this counts as no change.
const SAME: f64 = 0.05;

/// The result of [`sweep`]: pictures of kernel PCA (the first two scores) over the widths of a kernel.
///
/// ```
/// use mercer::widths::sweep;
/// use mercer::{Exec, Gamma, Kernel, Points};
/// let x = Points::from_fn(60, 2, |i, j| (i * (j + 3) % 17) as f64);
/// let swept = sweep(&Kernel::gaussian(Gamma::Median), &x, &Exec::new())?.expect("the Gaussian has a width");
/// let (from, to) = swept.interval.expect("the picture changes");
/// assert!(from < to); // widths worth trying
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Sweep {
    /// The name of the width: `gamma` or `length`.
    pub parameter: &'static str,
    /// The value of the automatic rule.
    pub middle: f64,
    /// One step per value, ascending; values without a valid fit are skipped.
    pub steps: Vec<SweepStep>,
    /// The smallest range of values outside of which every single step changes the picture by less than 5 %: from the first
    /// value whose step to the next changes it by more, to the last that such a step leads to. `None` when no step does.
    pub interval: Option<(f64, f64)>,
    /// The number of fitted points.
    pub sampled: usize,
}

/// One width of a [`Sweep`].
///
/// ```
/// use mercer::widths::sweep;
/// use mercer::{Exec, Gamma, Kernel, Points};
/// let x = Points::from_fn(60, 2, |i, j| (i * (j + 3) % 17) as f64);
/// let swept = sweep(&Kernel::gaussian(Gamma::Median), &x, &Exec::new())?.expect("the Gaussian has a width");
/// let step = swept.steps[16];
/// assert_eq!(step.value, swept.middle);
/// assert!((0.0..=1.0).contains(&step.change));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SweepStep {
    /// The width.
    pub value: f64,
    /// Shares of the variance of both components, 0 for one that does not exist.
    pub shares: [f64; 2],
    /// The distance from this picture to that of the next value, from 0 to 1; 0 for the last.
    pub change: f64,
}

/// Fits kernel PCA with two components for widths from 1/256 to 256 times the value of the automatic rule (the median of
/// distances; `scale` for dot products), sqrt(2) apart, and compares each picture with the next. Returns `None` for a
/// kernel without a width (linear, cosine, and combinations of kernels), and when all points are equal.
///
/// # Definition
/// Pictures Z, W are centred n x 2 matrices of scores, each divided by its Frobenius norm. The change from one to the other
/// is their distance after the best rotation, reflection and scaling (Procrustes):
///
/// ```text
/// min |Z - c W R|_F = sqrt(1 - s^2),  s the sum of the singular values of Z'W
/// ```
///
/// It is accurate to 1e-8. Of more than 400 points a sample is fitted, drawn with the random seed of `exec`.
///
/// # Errors
/// Fewer than two points, values that are not finite, parameters outside their domain, or cancellation.
///
/// # Cost
/// 33 fits of at most 400 points: half a second.
///
/// # Example
/// ```
/// use mercer::widths::sweep;
/// use mercer::{Exec, Gamma, Kernel, Points};
/// let x = Points::from_fn(60, 2, |i, j| (i * (j + 3) % 17) as f64);
/// let swept = sweep(&Kernel::gaussian(Gamma::Median), &x, &Exec::new())?.expect("the Gaussian has a width");
/// assert_eq!((swept.parameter, swept.steps.len(), swept.sampled), ("gamma", 33, 60));
/// assert!(swept.steps[0].change < 1e-3); // wide: the picture of PCA
/// assert!(sweep(&Kernel::linear(), &x, &Exec::new())?.is_none());
/// # Ok::<(), mercer::Error>(())
/// ```
pub fn sweep<'a, T: Real>(kernel: &Kernel, points: impl Into<PointsRef<'a, T>>, exec: &Exec) -> Result<Option<Sweep>> {
    match points.into().into() {
        AnyPoints::F64(x) => sweep_of(kernel, x, exec),
        AnyPoints::F32(x) => sweep_of(kernel, x, exec),
    }
}

fn sweep_of<T: Real>(kernel: &Kernel, x: PointsRef<'_, T>, exec: &Exec) -> Result<Option<Sweep>> {
    x.check(2)?;
    kernel.validate()?;
    let Some((leaf, parameter, rule)) = width(kernel) else { return Ok(None) };
    exec.run(|| {
        let middle = match (Bound::new(&with_width(leaf, parameter, rule)?, x), number(leaf, parameter)) {
            (Ok(bound), given) => bound.choices().first().map(|c| c.value).or(given),
            // The rule has no value for these points.
            (Err(error), Some(given)) if matches!(error.kind(), ErrorKind::Parameter { .. }) => Some(given),
            (Err(error), _) => return Err(error),
        };
        let Some(middle) = middle else { return Ok(None) };
        let sample = sample(x, exec);
        let values: Vec<f64> = (-HALF_OCTAVES..=HALF_OCTAVES).map(|s| middle * (f64::from(s) / 2.0).exp2()).collect();
        let fits: Vec<Option<Picture>> = values
            .par_iter()
            .map(|v| picture(with_width(leaf, parameter, &shortest(*v))?, &sample, exec))
            .collect::<Result<_>>()?;
        let found: Vec<(f64, Picture)> = values.into_iter().zip(fits).filter_map(|(v, p)| Some((v, p?))).collect();
        if found.iter().all(|(_, p)| p.is_empty()) {
            return Ok(None);
        }
        let mut steps: Vec<SweepStep> =
            found.iter().map(|(value, p)| SweepStep { value: *value, shares: p.shares, change: 0.0 }).collect();
        for (step, pair) in steps.iter_mut().zip(found.windows(2)) {
            step.change = change(&pair[0].1.scores, &pair[1].1.scores);
        }
        let (interval, sampled) = (interval(&steps), sample.n());
        Ok(Some(Sweep { parameter, middle, steps, interval, sampled }))
    })
}

/// The parameter that is a kernel's width: the first one whose range is centred on an automatic value. `None` for kernels
/// without one, combinations of kernels, and kernels with a width per dimension.
fn width(kernel: &Kernel) -> Option<(&Leaf, &'static str, &'static str)> {
    let Kernel::Leaf(leaf) = kernel else { return None };
    let arguments = leaf.arguments();
    let parameters = leaf.entry().parameters.iter();
    let mut widths = parameters.filter(|p| matches!(p.range, Range::Around { .. }));
    let (name, rule) = widths.find_map(|p| Some((p.name, p.kind.rule()?)))?;
    // Another spelling of the width is replaced, a list of widths is not.
    let list = arguments.iter().any(|(_, value)| matches!(value, Value::Numbers(_)));
    (!list).then_some((leaf, name, rule))
}

/// The kernel with another width, as text: the other parameters stay.
fn with_width(leaf: &Leaf, name: &str, width: &str) -> Result<Kernel> {
    let is_width = |given: &str| {
        given == name
            || leaf.entry().parameters.iter().any(|p| p.name == given && matches!(p.range, Range::Around { .. }))
    };
    let others = leaf.arguments().into_iter().filter(|(given, _)| !is_width(given));
    let arguments: Vec<(String, String)> = others
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .chain([(name.to_string(), width.to_string())])
        .collect();
    registry::build(leaf.entry().name, &arguments).map(Kernel::Leaf)
}

/// The width that was given as a number.
fn number(leaf: &Leaf, name: &str) -> Option<f64> {
    leaf.arguments().into_iter().find(|(given, _)| *given == name).and_then(|(_, value)| value.number())
}

/// All points, or a sample of them, in their order.
fn sample<T: Real>(x: PointsRef<'_, T>, exec: &Exec) -> Points<f64> {
    if x.n() <= MOST_POINTS {
        return x.to_f64();
    }
    // Each point is taken with probability (points still needed) / (points left).
    let (mut rng, mut missing) = (Rng::new(exec.get_seed()), MOST_POINTS);
    let mut take = |i: usize| {
        let taken = rng.below(x.n() - i) < missing;
        missing -= usize::from(taken);
        taken
    };
    let rows: Vec<usize> = (0..x.n()).filter(|i| take(*i)).collect();
    Points::from_fn(rows.len(), x.d(), |i, j| x.row(rows[i])[j].to_f64())
}

/// The first two scores of the fitted points.
struct Picture {
    scores: Vec<[f64; 2]>,
    shares: [f64; 2],
}

impl Picture {
    fn is_empty(&self) -> bool {
        self.scores.iter().all(|z| *z == [0.0; 2])
    }
}

/// Computes the picture of one width; `None` where the kernel values leave the range of f64.
fn picture(kernel: Kernel, x: &Points<f64>, exec: &Exec) -> Result<Option<Picture>> {
    exec.check_cancelled()?;
    let model = match KernelPca::new(kernel).components(2).fit_with(x, exec) {
        Ok(model) => model,
        Err(e) if matches!(e.kind(), ErrorKind::Cancelled | ErrorKind::Memory { .. }) => return Err(e),
        Err(_) => return Ok(None),
    };
    let (z, ratios) = (model.scores(), model.spectrum().ratios());
    let first_two = |values: &[f64]| [0, 1].map(|j| values.get(j).copied().unwrap_or(0.0));
    // By the largest entry, so that sums of squares neither overflow nor vanish.
    let unit = z.as_slice().iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let unit = if unit > 0.0 { unit } else { 1.0 };
    let scores = z.rows().map(|z| first_two(z).map(|v| v / unit)).collect();
    Ok(Some(Picture { scores, shares: first_two(&ratios) }))
}

/// Returns the distance of two pictures of the same points after the best rotation, reflection and scaling. Two empty
/// pictures are equal; an empty one and another have distance 1.
fn change(z: &[[f64; 2]], w: &[[f64; 2]]) -> f64 {
    let square = |z: &[[f64; 2]]| z.iter().map(|[a, b]| a * a + b * b).sum::<f64>();
    let (zz, ww) = (square(z), square(w));
    if zz == 0.0 || ww == 0.0 {
        return f64::from(u8::from(zz != ww));
    }
    let of = |i: usize, j: usize| z.iter().zip(w).map(|(z, w)| z[i] * w[j]).sum::<f64>() / (zz * ww).sqrt();
    let (a, b, c, d) = (of(0, 0), of(0, 1), of(1, 0), of(1, 1));
    // (s_1 + s_2)^2 = |Z'W|_F^2 + 2 |det Z'W|
    let same = a * a + b * b + c * c + d * d + 2.0 * (a * d - b * c).abs();
    (1.0 - same).max(0.0).sqrt()
}

fn interval(steps: &[SweepStep]) -> Option<(f64, f64)> {
    let changes = |s: &SweepStep| s.change >= SAME;
    let (first, last) = (steps.iter().position(changes)?, steps.iter().rposition(changes)?);
    Some((steps[first].value, steps.get(last + 1)?.value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(n: usize, seed: u64) -> Vec<[f64; 2]> {
        let mut rng = Rng::new(seed);
        (0..n).map(|_| [rng.normal(), 0.5 * rng.normal()]).collect()
    }

    #[test]
    fn change_is_invariant_to_rotation_sign_and_scale() {
        let z = normal(40, 1);
        let (sin, cos) = 0.7f64.sin_cos();
        let turned = |s: f64| z.iter().map(|[a, b]| [s * (a * cos - b * sin), a * sin + b * cos]).collect::<Vec<_>>();
        let larger: Vec<[f64; 2]> = z.iter().map(|p| p.map(|v| 1e3 * v)).collect();
        let swapped: Vec<[f64; 2]> = z.iter().map(|[a, b]| [*b, -a]).collect();
        for other in [z.clone(), turned(1.0), turned(-1.0), larger, swapped] {
            assert!(change(&z, &other) < 1e-7, "{}", change(&z, &other));
        }
        let other = normal(40, 2);
        assert!((change(&z, &other) - change(&turned(-1.0), &other)).abs() < 1e-12);
        assert!((change(&z, &other) - change(&other, &z)).abs() < 1e-12);
        assert!(change(&z, &other) > 0.5);
    }

    #[test]
    fn change_is_the_distance_after_the_best_rotation() {
        let (z, w) = (normal(30, 3), normal(30, 4));
        let norm = |z: &[[f64; 2]]| z.iter().map(|[a, b]| a * a + b * b).sum::<f64>().sqrt();
        let (nz, nw) = (norm(&z), norm(&w));
        // By trying many angles, with and without reflection; the best factor is <Z, WR>.
        let mut best = f64::INFINITY;
        for s in [1.0, -1.0] {
            for angle in 0..20_000 {
                let (sin, cos) = (f64::from(angle) * std::f64::consts::TAU / 20_000.0).sin_cos();
                let dot: f64 = z
                    .iter()
                    .zip(&w)
                    .map(|(z, [a, b])| z[0] * (a * cos - b * sin) + s * z[1] * (a * sin + b * cos))
                    .sum();
                best = best.min((1.0 - (dot / nz / nw).max(0.0).powi(2)).sqrt());
            }
        }
        assert!((change(&z, &w) - best).abs() < 1e-6, "{} {best}", change(&z, &w));
    }

    #[test]
    fn pictures_without_points_apart() {
        let (z, none) = (normal(5, 5), vec![[0.0; 2]; 5]);
        assert_eq!((change(&none, &none), change(&z, &none), change(&none, &z)), (0.0, 1.0, 1.0));
        let line: Vec<[f64; 2]> = z.iter().map(|[a, _]| [*a, 0.0]).collect();
        assert!(change(&line, &line) < 1e-7 && change(&z, &line) > 0.1);
    }

    #[test]
    fn the_interval_reaches_from_the_first_change_to_the_last() {
        let steps = |changes: &[f64]| -> Vec<SweepStep> {
            let step = |(i, c): (usize, &f64)| SweepStep { value: i as f64, shares: [0.0; 2], change: *c };
            changes.iter().enumerate().map(step).collect()
        };
        assert_eq!(interval(&steps(&[0.0, 0.1, 0.0, 0.2, 0.01, 0.0])), Some((1.0, 4.0)));
        assert_eq!(interval(&steps(&[0.3, 0.0])), Some((0.0, 1.0)));
        assert_eq!(interval(&steps(&[0.04, 0.0])), None);
        assert_eq!(interval(&[]), None);
    }

    #[test]
    fn samples_are_of_the_wanted_size_and_in_order() {
        let x = Points::from_fn(1000, 1, |i, _| i as f64);
        let (a, b) = (sample(x.view(), &Exec::new()), sample(x.view(), &Exec::new().seed(1)));
        assert_eq!((a.n(), b.n()), (MOST_POINTS, MOST_POINTS));
        assert!(a.as_slice().windows(2).all(|w| w[0] < w[1]));
        assert_ne!(a, b);
    }
}
