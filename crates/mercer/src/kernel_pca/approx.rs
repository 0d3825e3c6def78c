//! Which points stand for all: kernel PCA by landmarks, where the exact one is out of reach or more than is needed.

use super::landmark_state::{LandmarkBasis, LandmarkState};
use super::{KernelPca, KernelPcaModel};
use crate::error::{Error, ErrorKind, Result};
use crate::exec::{Exec, Progress};
use crate::features::Standardise;
use crate::kernel::Bound;
use crate::landmarks;
use crate::pca::Pca;
use crate::plan::Plan;
use crate::points::{AnyPoints, Points, PointsRef};
use crate::real::Real;
use crate::rng::Rng;
use crate::survey::Survey;

/// Landmarks when nobody says how many.
pub(crate) const DEFAULT_LANDMARKS: usize = 1000;
/// The fewest that are taken where memory is short.
const LEAST_LANDMARKS: usize = 50;
/// Rows of the data for which the error is measured.
const SAMPLED: usize = 64;
/// Rows that landmarks are chosen from, per landmark, and at least.
const PER_LANDMARK: usize = 8;
const LEAST_SAMPLE: usize = 4000;
const MOST_SAMPLE: usize = 64_000;
/// From so many points on, kernel values with landmarks are computed in f32 where that is good enough.
const NARROW_FROM: u64 = 50_000;
/// The most landmarks that are grown to.
const MOST_GROWN: usize = 8000;
/// The share of a stated trace error that the sample has to be below, since it flatters itself.
const MARGIN: f64 = 0.8;
/// Work beyond which [`Approx::Auto`] takes landmarks, in floating-point operations: about half an hour on two cores.
pub(crate) const MUCH_WORK: f64 = 2e14;

/// Whether kernel PCA is exact, or by landmarks.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Approx {
    /// Exact.
    #[default]
    None,
    /// Exact where that fits the memory and takes less than about half an hour on two cores, else by
    /// [`Landmarks::default`].
    Auto,
    /// By landmarks (Nystroem).
    Landmarks(Landmarks),
}

/// The points that stand for all. From a sample of the points where they are many.
#[derive(Clone, Debug, PartialEq)]
pub enum Landmarks {
    /// So many points at random.
    Uniform(usize),
    /// So many centres of k-means: the most accurate for ordinary data.
    KMeans(usize),
    /// So many points by randomly pivoted Cholesky: better with outliers, and for high accuracy.
    RpCholesky(usize),
    /// These points, in the units of the data.
    Given(Points<f64>),
    /// As many points, by randomly pivoted Cholesky, as it takes for the trace of what is left of the Gram matrix to be at
    /// most this share of its trace.
    TraceError(f64),
}

impl Default for Landmarks {
    fn default() -> Self {
        Landmarks::KMeans(DEFAULT_LANDMARKS)
    }
}

impl Landmarks {
    fn validate(&self) -> Result<()> {
        match self {
            Landmarks::Uniform(0) | Landmarks::KMeans(0) | Landmarks::RpCholesky(0) => {
                Err(Error::parameter("kernel pca", "landmarks", 0, "landmarks >= 1"))
            }
            Landmarks::TraceError(e) if !(*e > 0.0 && *e < 1.0) => {
                Err(Error::parameter("kernel pca", "trace error", e, "0 < trace error < 1"))
            }
            Landmarks::Given(points) => points.view().check(1).and_then(|()| points.view().check_not_huge()),
            _ => Ok(()),
        }
    }

    /// How many there are, or at most, among n points.
    pub(crate) fn count(&self, n: usize) -> usize {
        match self {
            Landmarks::Uniform(m) | Landmarks::KMeans(m) | Landmarks::RpCholesky(m) => (*m).min(n),
            Landmarks::Given(points) => points.n(),
            Landmarks::TraceError(_) => MOST_GROWN.min(n),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Landmarks::Uniform(_) => "at random",
            Landmarks::KMeans(_) => "by k-means",
            Landmarks::RpCholesky(_) => "by randomly pivoted Cholesky",
            Landmarks::Given(_) => "as given",
            Landmarks::TraceError(_) => "as many as the trace error takes",
        }
    }
}

impl std::fmt::Display for Landmarks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Landmarks::TraceError(share) => write!(f, "landmarks until a trace error of {share}"),
            _ => write!(f, "{} landmarks {}", self.count(usize::MAX), self.name()),
        }
    }
}

impl KernelPca {
    /// Whether the components are exact, as they are unless said otherwise, or found by landmarks.
    pub fn approx(mut self, approx: Approx) -> Self {
        self.approx = approx;
        self
    }

    /// Kernel PCA by these landmarks: [`Approx::Landmarks`].
    pub fn landmarks(self, landmarks: Landmarks) -> Self {
        self.approx(Approx::Landmarks(landmarks))
    }

    /// The landmarks to be used for n points of d dimensions, and why; `None` for exact components.
    ///
    /// # Errors
    /// When the landmarks cannot be.
    pub(crate) fn chosen_landmarks(&self, n: usize, d: usize, exec: &Exec) -> Result<Option<(Landmarks, String)>> {
        match &self.approx {
            Approx::None => Ok(None),
            Approx::Landmarks(landmarks) => {
                landmarks.validate()?;
                Ok(Some((landmarks.clone(), "asked for".into())))
            }
            Approx::Auto => {
                let exact = self.clone().approx(Approx::None).plan(n, d, exec);
                let why = match exact {
                    Ok(plan) if plan.flops <= MUCH_WORK || !self.kernel.is_psd() => return Ok(None),
                    Ok(plan) => {
                        format!("exact components of {n} points take about {:.0e} operations", plan.flops)
                    }
                    Err(e) => match e.kind() {
                        ErrorKind::Memory { needed, .. } if self.kernel.is_psd() => {
                            format!("exact components need {}", crate::Bytes(*needed))
                        }
                        _ => return Err(e),
                    },
                };
                Ok(Some((self.wanted_landmarks(exec), why)))
            }
        }
    }

    /// Whether nothing but exact components will do.
    pub fn is_exact(&self) -> bool {
        self.approx == Approx::None
    }

    /// The landmarks that are used where components are not exact: those asked for, or as many as are usual, fewer where memory
    /// is short.
    pub fn wanted_landmarks(&self, exec: &Exec) -> Landmarks {
        if let Approx::Landmarks(landmarks) = &self.approx {
            return landmarks.clone();
        }
        let fits = |m: &usize| Plan::by_landmarks(0, 0, *m, String::new()).bytes <= u128::from(exec.memory_budget());
        let fewer = std::iter::successors(Some(DEFAULT_LANDMARKS), |m| Some(m * 4 / 5));
        Landmarks::KMeans(fewer.take_while(|m| *m >= LEAST_LANDMARKS).find(fits).unwrap_or(LEAST_LANDMARKS))
    }

    /// Rows that a [`Survey`] should sample, for landmarks to be chosen from.
    pub fn sample_size(&self) -> usize {
        let landmarks = match &self.approx {
            Approx::Landmarks(landmarks) => landmarks.count(DEFAULT_LANDMARKS * PER_LANDMARK),
            _ => DEFAULT_LANDMARKS,
        };
        (PER_LANDMARK * landmarks).max(LEAST_SAMPLE) + SAMPLED
    }

    /// The landmarks and all else that stays fixed while points go by in batches, from a survey of them. Automatic parameters
    /// of the kernel are taken from the sample.
    ///
    /// # Errors
    /// Fewer than two points, a kernel that is not positive semi-definite, or parameters outside their domain.
    pub fn basis(&self, survey: &Survey, exec: &Exec) -> Result<LandmarkBasis> {
        let landmarks = self.wanted_landmarks(exec);
        landmarks.validate()?;
        let sample = survey.sample();
        sample.view().check(2)?;
        let n = usize::try_from(survey.n()).unwrap_or(usize::MAX);
        let most = landmarks.count(n).min(sample.n().max(landmarks.count(0)));
        Plan::by_landmarks(n, survey.d(), most, String::new())
            .allow(exec, "use fewer landmarks, or raise the memory budget")?;
        let standardise = match self.standardise {
            true => Some(Pca::new().standardise(true).location_of(survey.columns())?),
            false => None,
        };
        let sample = Standardise::apply(standardise.as_ref(), sample.view());
        exec.run(|| {
            let bound = Bound::new(&self.kernel, &sample)?;
            self.basis_of(bound, standardise, &sample, &landmarks, survey.n() >= NARROW_FROM, exec)
        })
    }

    /// From a sample in random order, as the kernel sees it.
    fn basis_of(
        &self,
        bound: Bound,
        standardise: Option<Standardise>,
        sample: &Points<f64>,
        landmarks: &Landmarks,
        many: bool,
        exec: &Exec,
    ) -> Result<LandmarkBasis> {
        exec.tell(Progress::Landmarks);
        let mut rng = Rng::new(exec.seed_value() ^ 0x6c61_6e64);
        let n = sample.n();
        // The last rows are for measuring, where there are enough of them.
        let m = landmarks.count(n);
        let measured = SAMPLED.min(n);
        let rest = if n >= m + measured { n - measured } else { n };
        let from = Points::from_fn(rest, sample.d(), |i, j| sample.row(i)[j]);
        let sampled = Points::from_fn(measured, sample.d(), |i, j| sample.row(n - measured + i)[j]);
        let chosen = match landmarks {
            Landmarks::Uniform(_) => Points::from_fn(m.min(rest), from.d(), |i, j| from.row(i)[j]),
            Landmarks::KMeans(_) if m >= rest => from,
            Landmarks::KMeans(_) => landmarks::k_means(&from, bound.shift(), m, &mut rng, exec)?,
            Landmarks::RpCholesky(_) if m >= rest => from,
            Landmarks::RpCholesky(_) => landmarks::pivots(&bound, &from, m, 0.0, &mut rng, exec)?,
            Landmarks::TraceError(share) => {
                landmarks::pivots(&bound, &from, m.min(rest), MARGIN * share, &mut rng, exec)?
            }
            Landmarks::Given(points) => {
                points.view().check_dimensions(bound.d())?;
                Standardise::apply(standardise.as_ref(), points.view())
            }
        };
        let square = chosen.rows().map(|r| crate::linalg::dot(r, r)).fold(0.0, f64::max);
        let narrow = many && bound.allows_narrow(square) && !bound.uses_deviations();
        LandmarkBasis::new(bound, standardise, chosen, (sampled, sample), narrow, exec)
    }

    pub(super) fn fit_landmarks(&self, x: AnyPoints<'_>, landmarks: &Landmarks, exec: &Exec) -> Result<KernelPcaModel> {
        match x {
            AnyPoints::F64(x) => self.fit_landmarks_of(x, landmarks, exec),
            AnyPoints::F32(x) => self.fit_landmarks_of(x, landmarks, exec),
        }
    }

    /// Points that are all here: the same two steps, and, for a stated trace error, more landmarks until it is reached.
    fn fit_landmarks_of<T: Real>(
        &self,
        x: PointsRef<'_, T>,
        landmarks: &Landmarks,
        exec: &Exec,
    ) -> Result<KernelPcaModel> {
        let standardise = if self.standardise { Some(Pca::new().standardise(true).location(x, exec)?) } else { None };
        let bound = match &standardise {
            Some(_) => Bound::new(&self.kernel, &Standardise::apply(standardise.as_ref(), x))?,
            None => Bound::new(&self.kernel, x)?,
        };
        let many = x.n() as u64 >= NARROW_FROM;
        let stated = if let Landmarks::TraceError(stated) = landmarks { Some(*stated) } else { None };
        let mut aim = landmarks.clone();
        loop {
            let size = PER_LANDMARK * aim.count(x.n()).min(MOST_GROWN);
            let size = (size.clamp(LEAST_SAMPLE, MOST_SAMPLE) + SAMPLED).min(x.n());
            let sample = Standardise::apply(standardise.as_ref(), shuffled(x, size, exec.seed_value()).view());
            let basis = self.basis_of(bound.clone(), standardise.clone(), &sample, &aim, many, exec)?;
            let mut state = LandmarkState::new(&basis);
            state.update(&basis, x, exec)?;
            let model = self.finish(&basis, &state, exec)?;
            let (Some(stated), Landmarks::TraceError(share)) = (stated, &aim) else { return Ok(model) };
            let reached = model.certificate().approximation().map_or(0.0, |a| a.trace_share());
            if reached <= stated {
                return Ok(model);
            }
            let m = basis.landmarks();
            if m >= MOST_GROWN.min(sample.n() - SAMPLED.min(sample.n())) {
                return Ok(model.with_note(format!(
                    "{m} landmarks leave a trace error of {reached:.1e}, where {stated:.1e} was asked for"
                )));
            }
            aim = Landmarks::TraceError(share * (0.7 * stated / reached).min(0.7));
        }
    }
}

/// So many rows in random order.
fn shuffled<T: Real>(x: PointsRef<'_, T>, size: usize, seed: u64) -> Points<f64> {
    let mut rng = Rng::new(seed ^ 0x7368_7566);
    let mut order: Vec<usize> = (0..x.n()).collect();
    for i in 0..size {
        let j = i + rng.below(x.n() - i);
        order.swap(i, j);
    }
    Points::from_fn(size, x.d(), |i, j| x.row(order[i])[j].to_f64())
}
