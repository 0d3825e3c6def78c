//! The choice of landmarks, for kernel PCA by landmarks.

use super::landmark_basis::LandmarkBasis;
use super::landmark_state::LandmarkState;
use super::planning::MOST_SAMPLE;
use super::{KernelPca, KernelPcaModel};
use crate::eigen::Approximation;
use crate::error::{Error, Result};
use crate::exec::{Exec, Progress};
use crate::features::Standardise;
use crate::kernel::Bound;
use crate::landmarks;
use crate::options::{Approx, Landmarks, MOST_GROWN};
use crate::pca::Pca;
use crate::plan::{LandmarkPlan, ReplanLandmarks};
use crate::points::{Points, PointsRef};
use crate::real::Real;
use crate::rng::Rng;
use crate::survey::Survey;

/// Rows of the data for which the error is measured.
pub(super) const SAMPLED: usize = 64;
/// Rows that landmarks are chosen from: this many per landmark, and at least this many.
const PER_LANDMARK: usize = 8;
const LEAST_SAMPLE: usize = 4000;
/// The trace error of the sample must be below this share of the stated one, since landmarks chosen from the sample
/// explain it better than the other points.
const MARGIN: f64 = 0.8;

impl KernelPca {
    /// The note for a stated trace error that was not reached.
    pub(super) fn unreached(&self, found: &Approximation) -> Vec<String> {
        let Approx::Landmarks(Landmarks::TraceError(stated)) = self.approx else { return Vec::new() };
        let (m, reached) = (found.landmarks(), found.trace_share());
        let said = format!("{m} landmarks leave {reached:.1e} of the variance, where {stated:.1e} was asked for");
        if reached > stated { vec![said] } else { Vec::new() }
    }

    /// Rows that a [`Survey`] should sample, for landmarks to be chosen from.
    pub fn sample_size(&self) -> usize {
        let landmarks = match &self.approx {
            Approx::Landmarks(landmarks) => landmarks.count(usize::MAX),
            Approx::None | Approx::Auto => Landmarks::DEFAULT,
        };
        let wanted = PER_LANDMARK.saturating_mul(landmarks).clamp(LEAST_SAMPLE, MOST_SAMPLE.max(landmarks));
        wanted.saturating_add(SAMPLED)
    }

    /// Returns the landmarks and everything else that stays fixed while the batches are read, from a survey of the points.
    /// Automatic parameters of the kernel are computed from the sample.
    ///
    /// # Errors
    /// Fewer than two points, a kernel that is not positive semi-definite, or parameters outside their domain.
    pub fn basis(&self, survey: &Survey, exec: &Exec) -> Result<LandmarkBasis> {
        survey.sample().view().check(2)?;
        let n = usize::try_from(survey.n()).unwrap_or(usize::MAX);
        let plan = self.plan_landmarks(n, survey.d(), exec)?;
        let landmarks =
            plan.landmarks().ok_or_else(|| Error::inconsistent("landmarks are planned by another route"))?;
        self.basis_planned(landmarks, survey, exec)
    }

    /// As [`KernelPca::basis`], as planned for as many points as the survey has counted.
    pub(crate) fn basis_planned(&self, plan: &LandmarkPlan, survey: &Survey, exec: &Exec) -> Result<LandmarkBasis> {
        let sample = survey.sample();
        sample.view().check(2)?;
        let kernel = self.kernel_or_refuse()?;
        let standardise = match self.standardise {
            true => Some(Pca::new().standardise(true).location_of(survey.columns())?),
            false => None,
        };
        let sample = Standardise::apply(standardise.as_ref(), sample.view());
        exec.run(|| {
            let bound = Bound::new(kernel, &sample)?;
            self.basis_of(bound, standardise, &sample, plan.clone(), exec)
        })
    }

    /// As [`KernelPca::basis`], from a sample in random order, standardised for the kernel.
    fn basis_of(
        &self,
        bound: Bound,
        standardise: Option<Standardise>,
        sample: &Points<f64>,
        mut plan: LandmarkPlan,
        exec: &Exec,
    ) -> Result<LandmarkBasis> {
        let landmarks = &plan.landmarks;
        exec.report(Progress::Landmarks);
        let mut rng = Rng::new(exec.get_seed() ^ 0x6c61_6e64);
        let n = sample.n();
        // If there are enough rows, the last ones are not used for landmarks: the error is measured on them.
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
                let most = m.min(rest).min(plan.most);
                landmarks::pivots(&bound, &from, most, MARGIN * share * centred_share(&bound, &from), &mut rng, exec)?
            }
            Landmarks::Given(points) => {
                points.view().check_dimensions(bound.d())?;
                Standardise::apply(standardise.as_ref(), points.view())
            }
        };
        let chosen = if chosen.n() > 0 { chosen } else { Points::from_fn(1, sample.d(), |_, j| sample.row(0)[j]) };
        let square = chosen.rows().map(|r| crate::linalg::dot(r, r)).fold(0.0, f64::max);
        if plan.f32 && (!bound.allows_f32(square) || bound.uses_deviations()) {
            plan = plan.again(ReplanLandmarks::NeedsF64);
        }
        LandmarkBasis::new(bound, standardise, chosen, (sampled, sample), plan, exec)
    }

    /// Fits points in memory: the same two passes and, for a stated trace error, more landmarks until it is reached.
    pub(super) fn fit_landmarks<T: Real>(
        &self,
        x: PointsRef<'_, T>,
        plan: &LandmarkPlan,
        exec: &Exec,
    ) -> Result<KernelPcaModel> {
        let kernel = self.kernel_or_refuse()?;
        let standardise = if self.standardise { Some(Pca::new().standardise(true).location(x, exec)?) } else { None };
        let bound = match &standardise {
            Some(_) => Bound::new(kernel, &Standardise::apply(standardise.as_ref(), x))?,
            None => Bound::new(kernel, x)?,
        };
        let stated = if let Landmarks::TraceError(stated) = plan.landmarks { Some(stated) } else { None };
        let (mut plan, mut before) = (plan.clone(), 0);
        loop {
            let count = plan.landmarks.count(x.n());
            let size = PER_LANDMARK * count.min(MOST_GROWN);
            let size = (size.clamp(LEAST_SAMPLE, MOST_SAMPLE.max(count)) + SAMPLED).min(x.n());
            let sample = Standardise::apply(standardise.as_ref(), shuffled(x, size, exec.get_seed()).view());
            let basis = self.basis_of(bound.clone(), standardise.clone(), &sample, plan.clone(), exec)?;
            let mut state = LandmarkState::new(&basis);
            state.update(&basis, x, exec)?;
            let model = self.finish(&basis, &state, exec)?;
            let (Some(stated), Landmarks::TraceError(share)) = (stated, &plan.landmarks) else { return Ok(model) };
            let reached = model.certificate().approximation().map_or(0.0, |a| a.trace_share());
            if reached <= stated {
                return Ok(model);
            }
            let m = basis.landmarks();
            let most = plan.most.min(sample.n() - SAMPLED.min(sample.n()));
            if m >= most || *share <= landmarks::LEAST_SHARE {
                return Ok(model); // with a note that it is not reached
            }
            plan = plan.again(ReplanLandmarks::NotReached { stated, reached, grown: m > before });
            before = m;
        }
    }
}

/// An estimate of tr HKH / tr K from a thousand pairs of points.
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

/// A sample of this many rows, in random order.
fn shuffled<T: Real>(x: PointsRef<'_, T>, size: usize, seed: u64) -> Points<f64> {
    let mut rng = Rng::new(seed ^ 0x7368_7566);
    let mut order: Vec<usize> = (0..x.n()).collect();
    for i in 0..size {
        let j = i + rng.below(x.n() - i);
        order.swap(i, j);
    }
    Points::from_fn(size, x.d(), |i, j| x.row(order[i])[j].to_f64())
}
