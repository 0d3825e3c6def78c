//! Which points stand for all: kernel PCA by landmarks, where the exact one is out of reach or more than is needed.

use super::landmark_basis::LandmarkBasis;
use super::landmark_state::LandmarkState;
use super::{KernelPca, KernelPcaModel};
use crate::eigen::Approximation;
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
use crate::spectrum::Components;
use crate::survey::Survey;

/// Landmarks when nobody says how many.
pub(crate) const DEFAULT_LANDMARKS: usize = 1000;
/// The fewest that are taken where memory is short.
const LEAST_LANDMARKS: usize = 50;
/// Rows of the data for which the error is measured.
pub(super) const SAMPLED: usize = 64;
/// Rows that landmarks are chosen from, per landmark, and at least.
const PER_LANDMARK: usize = 8;
const LEAST_SAMPLE: usize = 4000;
const MOST_SAMPLE: usize = 16_000;
/// From so many points on, kernel values with landmarks are computed in f32 where that is good enough.
const NARROW_FROM: u64 = 50_000;
/// The most landmarks that are grown to.
const MOST_GROWN: usize = 4000;
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
    /// As many points, by randomly pivoted Cholesky, as it takes to leave at most this share of the variance; at most 4,000.
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

    /// So many of them, chosen in this way, in words.
    pub fn of(&self, m: usize) -> String {
        format!("{m} landmarks {}", self.name())
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
            _ => f.write_str(&self.of(self.count(usize::MAX))),
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
                // All points, chosen from themselves, are the exact answer.
                let all =
                    !matches!(landmarks, Landmarks::Given(_) | Landmarks::TraceError(_)) && landmarks.count(n) >= n;
                Ok((!all).then(|| (landmarks.clone(), "asked for".into())))
            }
            Approx::Auto => {
                let exact = self.clone().approx(Approx::None).plan(n, d, exec);
                // Who asks for all components, or for a share of the variance, does not mean some of them.
                if !matches!(self.components, Components::Count(_)) || !self.kernel.is_psd() {
                    return exact.map(|_| None);
                }
                let why = match exact {
                    Ok(plan) if plan.flops <= MUCH_WORK => return Ok(None),
                    Ok(plan) => {
                        format!("exact components of {n} points take about {:.0e} operations", plan.flops)
                    }
                    Err(e) => match e.kind() {
                        ErrorKind::Memory { needed, .. } => {
                            format!("exact components need {}", crate::Bytes(*needed))
                        }
                        _ => return Err(e),
                    },
                };
                Ok(Some((self.wanted_landmarks(exec), why)))
            }
        }
    }

    /// How many there can be among n points.
    pub(super) fn most_landmarks(&self, landmarks: &Landmarks, n: usize, exec: &Exec) -> usize {
        match landmarks {
            Landmarks::TraceError(_) => room(n.min(MOST_SAMPLE), exec).min(n),
            _ => landmarks.count(n),
        }
    }

    /// What to say when a stated trace error was not reached.
    pub(super) fn unreached(&self, found: &Approximation) -> Vec<String> {
        let Approx::Landmarks(Landmarks::TraceError(stated)) = self.approx else { return Vec::new() };
        let (m, reached) = (found.landmarks(), found.trace_share());
        let said = format!("{m} landmarks leave {reached:.1e} of the variance, where {stated:.1e} was asked for");
        if reached > stated { vec![said] } else { Vec::new() }
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
            Approx::Landmarks(landmarks) => landmarks.count(usize::MAX),
            _ => DEFAULT_LANDMARKS,
        };
        let wanted = PER_LANDMARK.saturating_mul(landmarks).clamp(LEAST_SAMPLE, MOST_SAMPLE.max(landmarks));
        wanted.saturating_add(SAMPLED)
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
        let most = match landmarks {
            Landmarks::TraceError(_) => room(sample.n(), exec),
            _ => landmarks.count(n).min(sample.n().max(landmarks.count(0))),
        };
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
                let most = m.min(rest).min(room(rest, exec));
                landmarks::pivots(&bound, &from, most, MARGIN * share * centred_share(&bound, &from), &mut rng, exec)?
            }
            Landmarks::Given(points) => {
                points.view().check_dimensions(bound.d())?;
                Standardise::apply(standardise.as_ref(), points.view())
            }
        };
        let chosen = if chosen.n() > 0 { chosen } else { Points::from_fn(1, sample.d(), |_, j| sample.row(0)[j]) };
        let square = chosen.rows().map(|r| crate::linalg::dot(r, r)).fold(0.0, f64::max);
        let narrow = many && bound.allows_f32(square) && !bound.uses_deviations();
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
        let (mut aim, mut before) = (landmarks.clone(), 0);
        loop {
            let size = PER_LANDMARK * aim.count(x.n()).min(MOST_GROWN);
            let size = (size.clamp(LEAST_SAMPLE, MOST_SAMPLE.max(aim.count(x.n()))) + SAMPLED).min(x.n());
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
            let most = MOST_GROWN.min(room(sample.n(), exec)).min(sample.n() - SAMPLED.min(sample.n()));
            if m >= most || *share <= landmarks::LEAST_SHARE {
                return Ok(model); // with a note that it is not reached
            }
            // Where the sample has nothing more to give, the last word comes soon.
            let closer = if m > before { (0.7 * stated / reached).min(0.7) } else { 1e-3 };
            (aim, before) = (Landmarks::TraceError(share * closer), m);
        }
    }
}

/// As many landmarks as there is room for beside the factor that chooses them among n points, at least a few.
fn room(n: usize, exec: &Exec) -> usize {
    let needed = |m: usize| Plan::by_landmarks(0, 0, m, String::new()).bytes + (n as u128) * (m as u128) * 8;
    let fewer = std::iter::successors(Some(MOST_GROWN), |m| Some(m * 4 / 5)).take_while(|m| *m >= LEAST_LANDMARKS);
    fewer.filter(|m| needed(*m) <= u128::from(exec.memory_budget())).max().unwrap_or(LEAST_LANDMARKS)
}

/// The share of k(x, x) that is variance, about the mean behind the kernel: from a thousand pairs.
fn centred_share(bound: &Bound, points: &Points<f64>) -> f64 {
    let mut rng = Rng::new(0x7368_6172);
    let (mut own, mut between) = (0.0, 0.0);
    for _ in 0..1000 {
        let (x, y) = (points.row(rng.below(points.n())), points.row(rng.below(points.n())));
        own += bound.kernel().self_value(x);
        between += bound.eval(x, y);
    }
    if own > 0.0 { (1.0 - between / own).clamp(1e-6, 1.0) } else { 1.0 }
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
