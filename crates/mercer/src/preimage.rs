//! Pre-images: the points whose images are nearest to projections in the feature space of the Gaussian kernel
//! (MATHS.md, M18).

use rayon::prelude::*;

use crate::error::{Error, ErrorKind, ErrorSubject, Result, check_finite};
use crate::exec::Exec;
use crate::features::{Features, Standardise};
use crate::kernel::statistic::squared_distance;
use crate::kernel::{Bound, GaussianWidth, Kernel, Leaf};
use crate::kernel_pca::KernelPcaModel;
use crate::points::{AnyPoints, Points, PointsRef};
use crate::real::{Real, SQUARABLE, largest};

/// The largest number of steps. A few dozen suffice where the components determine the point well, and hundreds where
/// they nearly leave a direction undetermined.
const MOST_STEPS: usize = 1000;
/// The search ends when the next step is shorter than this share of the spread of the fitted points.
const SMALL: f64 = 1e-9;
/// The largest value of that share where weights of both signs cancel and rounding keeps steps from becoming so short.
const LARGE: f64 = 1e-6;
/// The largest number of halvings of one step.
const MOST_HALVINGS: usize = 40;
/// The share of the gain predicted by the slope that a step must reach. Steps beyond a maximum are halved, so that the
/// search does not oscillate.
const GAIN: f64 = 0.25;

/// Pre-images: points y whose images phi(y) are nearest to given points in the span of the components, with the remaining
/// distances. In general no point is mapped to a projection exactly.
///
/// ```
/// use mercer::{Exec, Gamma, Kernel, KernelPca, Points};
/// let x = Points::from_fn(30, 2, |i, j| ((i * (j + 2)) as f64).sin());
/// let model = KernelPca::new(Kernel::gaussian(Gamma::Median)).components(5).fit(&x)?;
/// let found = model.preimages(&x, &Exec::new())?;
/// assert_eq!((found.points().n(), found.points().d()), (30, 2));
/// assert_eq!(found.distances().len(), 30);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PreImages {
    points: Points<f64>,
    distances: Vec<f64>,
    steps: Vec<usize>,
    converged: usize,
}

impl PreImages {
    /// Returns the pre-images, a row each, in the units of the data.
    pub fn points(&self) -> &Points<f64> {
        &self.points
    }

    /// Returns the pre-images, without copying.
    pub fn into_points(self) -> Points<f64> {
        self.points
    }

    /// Returns |phi(y) - P phi(x)|^2, the squared distance in feature space between the image of each pre-image and the
    /// projection.
    pub fn distances(&self) -> &[f64] {
        &self.distances
    }

    /// Returns the number of steps of each search.
    pub fn steps(&self) -> &[usize] {
        &self.steps
    }

    /// Returns the number of searches that converged: their last step was below 1e-9 of the spread of the fitted points
    /// (below rounding, where that is more, but at most 1e-6). The others stopped after 1000 steps, or found no ascent, and
    /// have the best point found.
    pub fn converged(&self) -> usize {
        self.converged
    }
}

impl KernelPcaModel {
    /// Returns whether pre-images can be computed: for a Gaussian kernel, also weighted or normalised.
    pub fn has_preimages(&self) -> bool {
        Search::parts(self).is_some()
    }

    /// Returns the pre-images of the projections of points on the components. The search starts at the points themselves.
    ///
    /// # Definition
    /// y maximises sum_i g_i k(y, x_i), g = A z(x) + 1/n, by Mika's fixed point with damping (MATHS.md, M18). The
    /// search finds a local maximum; there may be others.
    ///
    /// # Errors
    /// As [`KernelPcaModel::transform`], and for kernels other than the Gaussian.
    ///
    /// # Cost
    /// About n d operations and n exponentials per point and step, n the number of fitted points.
    ///
    /// # Example
    /// A noisy circle is drawn towards the circle:
    /// ```
    /// use mercer::{Exec, Gamma, Kernel, KernelPca, Points};
    /// let x = Points::from_fn(60, 2, |i, j| {
    ///     let (radius, angle) = (1.0 + 0.1 * (7.0 * i as f64).sin(), i as f64 * std::f64::consts::TAU / 60.0);
    ///     radius * if j == 0 { angle.cos() } else { angle.sin() }
    /// });
    /// let model = KernelPca::new(Kernel::gaussian(Gamma::Value(1.0))).components(8).fit(&x)?;
    /// let found = model.preimages(&x, &Exec::new())?;
    /// let off = |x: &Points| x.rows().map(|p| (p[0].hypot(p[1]) - 1.0).powi(2)).sum::<f64>();
    /// assert!(off(found.points()) < 0.2 * off(&x));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn preimages<'a, T: Real>(&self, points: impl Into<PointsRef<'a, T>>, exec: &Exec) -> Result<PreImages> {
        self.preimages_any(points.into().into(), exec)
    }

    /// Returns the pre-images of points in the span of the components that are given by their scores. The search starts at
    /// the fitted point with the nearest scores.
    ///
    /// # Errors
    /// When the scores have not one column per component or are not finite, and for kernels other than the Gaussian.
    ///
    /// # Cost
    /// As [`KernelPcaModel::preimages`].
    pub fn preimages_of_scores<'a, T: Real>(
        &self,
        scores: impl Into<PointsRef<'a, T>>,
        exec: &Exec,
    ) -> Result<PreImages> {
        self.preimages_of_any(scores.into().into(), exec)
    }

    /// Returns the path of the search for a pre-image, a row each: the point itself, the point after each step, and last the
    /// pre-image of its projection. It has one row more than [`PreImages::steps`].
    ///
    /// # Errors
    /// As [`KernelPcaModel::preimages`].
    pub fn preimage_path(&self, point: &[f64], exec: &Exec) -> Result<Points<f64>> {
        let search = Search::new(self)?;
        let x = PointsRef::new(point, 1, point.len())?;
        let scores = self.transform_with(x, exec)?;
        let mut path = point.to_vec();
        search.run(scores.row(0), Some(search.inner(x).row(0)), exec, &mut |y| path.extend(search.outer(y)))?;
        let rows = path.len() / point.len();
        Points::new(path, rows, point.len())
    }

    fn preimages_any(&self, x: AnyPoints<'_>, exec: &Exec) -> Result<PreImages> {
        let search = Search::new(self)?;
        let (scores, starts) = match x {
            AnyPoints::F64(x) => (self.transform_with(x, exec)?, search.inner(x)),
            AnyPoints::F32(x) => (self.transform_with(x, exec)?, search.inner(x)),
        };
        search.all(&scores, Some(&starts), exec)
    }

    fn preimages_of_any(&self, scores: AnyPoints<'_>, exec: &Exec) -> Result<PreImages> {
        let scores = match scores {
            AnyPoints::F64(z) => z.to_f64(),
            AnyPoints::F32(z) => z.to_f64(),
        };
        let search = Search::new(self)?;
        if scores.d() != self.components() {
            return Err(Error::shape("columns of the scores, one per component", scores.d(), self.components()));
        }
        check_finite(ErrorSubject::Scores, scores.as_slice(), |at| (at / scores.d(), at % scores.d()))?;
        let magnitude = largest(scores.as_slice());
        if magnitude >= SQUARABLE.end {
            return Err(ErrorKind::Range { what: ErrorSubject::Scores, magnitude }.into());
        }
        search.all(&scores, None, exec)
    }
}

/// The gamma of a Gaussian. A weight changes neither g nor the maximum, and normalising changes nothing, since k(x, x) = 1.
fn gamma(kernel: &Kernel) -> Option<f64> {
    match kernel {
        Kernel::Leaf(Leaf::Gaussian(gaussian)) => match gaussian.width {
            GaussianWidth::Gamma(_) | GaussianWidth::Length(_) => Some(gaussian.gamma()),
            GaussianWidth::Lengths(_) => None,
        },
        Kernel::Scaled(_, k) | Kernel::Normalised(k) => self::gamma(k),
        Kernel::Leaf(_) | Kernel::Sum(_) | Kernel::Product(_) => None,
    }
}

/// The parts of a model that a search needs. Points are standardised as for the kernel and shifted by the middle point, so
/// that no digits are lost far from the origin.
struct Search<'a> {
    model: &'a KernelPcaModel,
    gamma: f64,
    /// Whether 1 is subtracted from each kernel value in the objective (MATHS.md, M6). A wide kernel is close to 1
    /// everywhere, and its variation would be lost to rounding.
    deviation: bool,
    shift: &'a [f64],
    standardise: Option<&'a Standardise>,
    fitted: Points<f64>,
    /// Scores of the fitted points.
    scores: Points<f64>,
    /// The root mean square distance of the fitted points from their mean.
    spread: f64,
}

/// The objective f(y) = sum_i g_i k(y, x_i) at a point, and the image of the point under the fixed-point map.
struct At {
    y: Vec<f64>,
    /// f(y), or sum_i g_i (k(y, x_i) - 1).
    objective: f64,
    /// The bound on its rounding error.
    rounding: f64,
    /// f(y).
    value: f64,
    /// sum_i |g_i| k(y, x_i) / f(y): the factor by which the map amplifies rounding.
    cancellation: f64,
    /// sum_i g_i k(y, x_i) x_i / f(y); `None` where f(y) is not positive beyond rounding.
    next: Option<Vec<f64>>,
}

impl<'a> Search<'a> {
    fn parts(model: &'a KernelPcaModel) -> Option<(f64, &'a Bound, &'a Points<f64>, Option<&'a Standardise>)> {
        match model.features() {
            Features::Kernel { bound, rows, standardise, .. } => {
                Some((gamma(bound.kernel())?, bound, rows.points(), standardise.as_ref()))
            }
            _ => None,
        }
    }

    fn new(model: &'a KernelPcaModel) -> Result<Self> {
        let Some((gamma, bound, points, standardise)) = Search::parts(model) else {
            let of = model.kernel().map_or("no named kernel".into(), |k| format!("the kernel {k}"));
            return Err(ErrorKind::Unsupported {
                what: format!("pre-images exist for the gaussian kernel with one width only; this model has {of}"),
                remedy:
                    "fit the gaussian kernel with one width; or use PCA, or an explicit embedding, whose features are reconstructed"
                        .into(),
            }
            .into());
        };
        let shift = bound.shift();
        let fitted = Points::from_fn(points.n(), points.d(), |i, j| points.row(i)[j] - shift[j]);
        let mean = fitted.mean();
        let square = fitted.rows().map(|x| squared_distance(x, &mean)).sum::<f64>() / fitted.n() as f64;
        // The weights of landmarks need not sum to 1.
        let (deviation, scores) = (bound.uses_deviations() && model.is_exact(), model.scores());
        Ok(Search { model, gamma, deviation, shift, standardise, fitted, scores, spread: square.sqrt() })
    }

    /// Points standardised and shifted for the search.
    fn inner<T: Real>(&self, x: PointsRef<'_, T>) -> Points<f64> {
        let mut x = Standardise::apply(self.standardise, x);
        for i in 0..x.n() {
            x.row_mut(i).iter_mut().zip(self.shift).for_each(|(v, m)| *v -= m);
        }
        x
    }

    /// A point of the search in the coordinates of the data.
    fn outer(&self, y: &[f64]) -> Vec<f64> {
        let y = y.iter().zip(self.shift).map(|(v, m)| v + m);
        match self.standardise {
            Some(s) => y.zip(&s.mean).zip(&s.scale).map(|((v, m), s)| m + s * v).collect(),
            None => y.collect(),
        }
    }

    /// One search per row of scores, each by one thread, so that the number of threads changes no bit.
    fn all(&self, scores: &Points<f64>, starts: Option<&Points<f64>>, exec: &Exec) -> Result<PreImages> {
        let found: Vec<(Vec<f64>, usize, bool)> = exec.run(|| {
            (0..scores.n())
                .into_par_iter()
                .map(|i| {
                    let (mut last, mut steps) = (Vec::new(), 0);
                    let start = starts.map(|s| s.row(i));
                    let converged = self.run(scores.row(i), start, exec, &mut |y| {
                        last = y.to_vec();
                        steps += 1;
                    })?;
                    Ok((self.outer(if last.is_empty() { start.unwrap_or(&last) } else { &last }), steps, converged))
                })
                .collect::<Result<_>>()
        })?;
        let points = Points::new(found.iter().flat_map(|f| &f.0).copied().collect(), found.len(), self.fitted.d())?;
        // |phi(y) - P phi|^2 = the part of phi(y) outside the components + the squared distance of the scores (M18).
        let (reached, norms) = self.model.scores_and_norms(points.view(), exec)?;
        let distance = |i: usize| -> f64 {
            let (z, own) = (scores.row(i), reached.row(i));
            let left = norms[i] - own.iter().map(|v| v * v).sum::<f64>();
            left.max(0.0) + squared_distance(z, own)
        };
        Ok(PreImages {
            distances: (0..points.n()).map(distance).collect(),
            points,
            steps: found.iter().map(|f| f.1).collect(),
            converged: found.iter().filter(|f| f.2).count(),
        })
    }

    /// Searches for one pre-image. Calls back with every point on the path, and returns whether it converged.
    fn run(&self, z: &[f64], start: Option<&[f64]>, exec: &Exec, visit: &mut dyn FnMut(&[f64])) -> Result<bool> {
        let g = self.weights(z)?;
        let mut at = match start {
            Some(start) => self.at(&g, start),
            None => self.begin(&g, self.nearest(z), visit),
        };
        // If no step from the start ascends, the search starts again at the fitted point with the nearest scores, then at
        // the one with the best objective.
        if at.next.is_none() && start.is_some() {
            at = self.begin(&g, self.nearest(z), visit);
        }
        if at.next.is_none() {
            at = self.begin(&g, self.best(&g, exec)?, visit);
        }
        for _ in 0..MOST_STEPS {
            exec.check_cancelled()?;
            let Some(next) = &at.next else { return Ok(false) };
            let square = squared_distance(next, &at.y);
            let rounding = (8.0 * f64::EPSILON * at.cancellation).clamp(SMALL, LARGE);
            if square.sqrt() <= rounding * self.spread {
                visit(next);
                return Ok(true);
            }
            let Some(higher) = self.higher(&g, &at, next, square) else { return Ok(false) };
            at = higher;
            visit(&at.y);
        }
        Ok(false)
    }

    fn begin(&self, g: &[f64], fitted: usize, visit: &mut dyn FnMut(&[f64])) -> At {
        visit(self.fitted.row(fitted));
        self.at(g, self.fitted.row(fitted))
    }

    /// Returns the point after the full step, or after the first of its halvings whose gain is the required share of that
    /// predicted by the slope. The gradient is 2 gamma f times the step, an ascent direction wherever f is positive.
    fn higher(&self, g: &[f64], at: &At, next: &[f64], square: f64) -> Option<At> {
        let mut part = 1.0;
        for _ in 0..MOST_HALVINGS {
            let y: Vec<f64> = at.y.iter().zip(next).map(|(y, next)| y + part * (next - y)).collect();
            let found = self.at(g, &y);
            let predicted = 2.0 * self.gamma * at.value * square * part;
            let gain = found.objective - at.objective;
            if found.next.is_some() && gain >= GAIN * predicted - (at.rounding + found.rounding) {
                return Some(found);
            }
            part /= 2.0;
        }
        None
    }

    /// M18  g = A z + 1/n: P phi = sum_i g_i phi(x_i), the mean included.
    fn weights(&self, z: &[f64]) -> Result<Vec<f64>> {
        let of = |(i, alpha): (usize, &[f64])| {
            alpha.iter().zip(z).map(|(a, z)| a * z).sum::<f64>() + self.model.mean_weight(i)
        };
        let g: Vec<f64> = self.model.alpha().rows().enumerate().map(of).collect();
        check_finite(ErrorSubject::Weights, &g, |at| (at, 0))?;
        Ok(g)
    }

    /// M18  f(y) = sum_i g_i k(y, x_i) and the map, in one pass over the fitted points.
    fn at(&self, g: &[f64], y: &[f64]) -> At {
        let (mut objective, mut magnitude) = (0.0, 0.0);
        let (mut value, mut positive, mut next) = (0.0, 0.0f64, vec![0.0; y.len()]);
        for (g, x) in g.iter().zip(self.fitted.rows()) {
            let exponent = -self.gamma * squared_distance(y, x);
            let (term, k) = if self.deviation {
                let less = exponent.exp_m1();
                (g * less, 1.0 + less)
            } else {
                let k = exponent.exp();
                (g * k, k)
            };
            objective += term;
            magnitude += term.abs();
            let weight = g * k;
            value += weight;
            positive += weight.abs();
            next.iter_mut().zip(x).for_each(|(sum, x)| *sum += weight * x);
        }
        let rises = value > 64.0 * f64::EPSILON * positive && value.is_normal();
        next.iter_mut().for_each(|v| *v /= value);
        At {
            y: y.to_vec(),
            objective,
            rounding: 8.0 * f64::EPSILON * magnitude,
            value,
            cancellation: positive / value,
            next: (rises && next.iter().all(|v| v.is_finite())).then_some(next),
        }
    }

    /// The fitted point whose scores are nearest.
    fn nearest(&self, z: &[f64]) -> usize {
        let distances = self.scores.rows().map(|own| squared_distance(own, z));
        distances.enumerate().fold((0, f64::INFINITY), |best, (i, d)| if d < best.1 { (i, d) } else { best }).0
    }

    /// The fitted point with the largest objective.
    fn best(&self, g: &[f64], exec: &Exec) -> Result<usize> {
        let mut best = (0, f64::NEG_INFINITY);
        for (i, x) in self.fitted.rows().enumerate() {
            exec.check_cancelled()?;
            let objective = self.at(g, x).objective;
            if objective > best.1 {
                best = (i, objective);
            }
        }
        Ok(best.0)
    }
}
