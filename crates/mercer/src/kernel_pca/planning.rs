//! The decisions of kernel PCA: which plan, and which one instead when a fit has learnt something.

use super::KernelPca;
use crate::error::{Bytes, Error, ErrorKind, Result};
use crate::exec::Exec;
use crate::kernel::Kernel;
use crate::kernel::tile::prepared_values;
use crate::options::{Approx, Landmarks, MOST_GROWN};
use crate::plan::{GramKind, LandmarkPlan, PassPlan, PassTask, Plan, PlannedRoute, Replan, ReplanLandmarks};
use crate::spectrum::Components;

/// Up to this many points all eigenpairs are computed; for a matrix or an operator of the user's, which may have
/// negative eigenvalues, up to so many.
const DENSE_UP_TO: usize = 400;
const DENSE_UP_TO_GIVEN: usize = 2000;
/// Up to this many points all eigenvalues of a kernel that may have negative ones are computed: that takes seconds.
const ALL_EIGENVALUES_UP_TO: usize = 4000;
/// Tolerances above this can be reached with passes in f32.
const F32_ABOVE: f64 = 1e-9;
/// Work beyond which [`Approx::Auto`] takes landmarks, in floating-point operations: about half an hour on two cores.
const MUCH_WORK: f64 = 2e14;
/// The fewest landmarks that are taken where memory is short.
const LEAST_LANDMARKS: usize = 50;
/// Points that landmarks are grown on, at most.
pub(super) const MOST_SAMPLE: usize = 16_000;

const FEWER_LANDMARKS: &str = "use fewer landmarks, or raise the memory budget";

/// What a kernel PCA is about, as far as its plan depends on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) n: usize,
    pub(super) d: usize,
    pub(super) kind: GramKind,
}

impl KernelPca {
    /// What fitting n points of d dimensions will do and need.
    ///
    /// # Errors
    /// When it does not fit the memory budget, or an option is outside its domain.
    pub fn plan(&self, n: usize, d: usize, exec: &Exec) -> Result<Plan> {
        let shape = self.shape_of_points(n, d)?;
        match &self.approx {
            Approx::None => self.exact_plan(shape, exec),
            Approx::Landmarks(landmarks) if landmarks.are_all(n) => self.exact_plan(shape, exec),
            Approx::Landmarks(landmarks) => self.landmark_plan(shape, landmarks.clone(), "requested", exec),
            Approx::Auto => {
                let exact = self.exact_plan(shape, exec);
                // All components, or a share of the variance, cannot be had from some of the points.
                if !matches!(self.components, Components::Count(_) | Components::UpTo(_))
                    || !self.get_kernel().is_some_and(Kernel::is_psd)
                {
                    return exact;
                }
                let why = match &exact {
                    Ok(plan) if plan.flops <= MUCH_WORK => return exact,
                    Ok(plan) => format!("exact components of {n} points take about {:.0e} operations", plan.flops),
                    Err(e) => match e.kind() {
                        ErrorKind::Memory { needed, .. } => format!("exact components need {}", Bytes(*needed)),
                        _ => return exact,
                    },
                };
                self.landmark_plan(shape, self.landmarks_for(exec), &why, exec)
            }
        }
    }

    /// What fitting a Gram matrix of n points will do and need.
    ///
    /// # Errors
    /// As [`KernelPca::plan`].
    pub fn plan_gram(&self, n: usize, exec: &Exec) -> Result<Plan> {
        self.refuse_kernel("a Gram matrix")?;
        self.exact_plan(Shape { n, d: 1, kind: GramKind::Matrix }, exec)
    }

    /// What fitting an operator of n points will do and need.
    ///
    /// # Errors
    /// As [`KernelPca::plan`].
    pub fn plan_op(&self, n: usize, exec: &Exec) -> Result<Plan> {
        self.refuse_kernel("an operator")?;
        self.exact_plan(Shape { n, d: 1, kind: GramKind::Operator }, exec)
    }

    /// What fitting n points of d dimensions that come in batches will do and need: landmarks.
    ///
    /// # Errors
    /// As [`KernelPca::plan`], and when nothing but exact components will do.
    pub fn plan_batches(&self, n: usize, d: usize, exec: &Exec) -> Result<Plan> {
        match &self.approx {
            Approx::None => Err(ErrorKind::Unsupported {
                what: "exact kernel PCA needs all points in memory, and these come in batches".into(),
                remedy: "use landmarks, or read all points".into(),
            }
            .into()),
            Approx::Auto | Approx::Landmarks(_) => self.plan_landmarks(n, d, exec),
        }
    }

    /// As [`KernelPca::plan_batches`], by landmarks whatever is asked for.
    pub(super) fn plan_landmarks(&self, n: usize, d: usize, exec: &Exec) -> Result<Plan> {
        let shape = self.shape_of_points(n, d)?;
        self.landmark_plan(shape, self.landmarks_for(exec), "the data is read batch by batch", exec)
    }

    /// Points, and what the kernel makes of them.
    pub(super) fn shape_of_points(&self, n: usize, d: usize) -> Result<Shape> {
        let prepared = prepared_values(self.kernel_or_refuse()?, d);
        Ok(Shape { n, d, kind: GramKind::Points { prepared } })
    }

    fn validate(&self) -> Result<()> {
        self.components.validate("kernel pca")?;
        self.get_kernel().map_or(Ok(()), Kernel::validate)?;
        if !(self.tolerance > 0.0 && self.tolerance < 1.0) {
            return Err(Error::parameter("kernel pca", "tolerance", self.tolerance, "0 < tolerance < 1"));
        }
        Ok(())
    }

    fn landmark_plan(&self, shape: Shape, landmarks: Landmarks, why: &str, exec: &Exec) -> Result<Plan> {
        landmarks.validate()?;
        self.validate()?;
        refuse_indefinite(self.kernel_or_refuse()?)?;
        let most = match landmarks {
            Landmarks::TraceError(_) => room(shape.n.min(MOST_SAMPLE), exec).min(shape.n),
            Landmarks::Uniform(_) | Landmarks::KMeans(_) | Landmarks::RpCholesky(_) | Landmarks::Given(_) => {
                landmarks.count(shape.n)
            }
        };
        let why = format!("{landmarks}: {why}");
        Plan::by_landmarks(shape.n, shape.d, most, landmarks, why).allow(exec, FEWER_LANDMARKS)
    }

    /// All eigenpairs of the stored matrix where that is small or asked for, else the leading ones by passes.
    pub(super) fn exact_plan(&self, shape: Shape, exec: &Exec) -> Result<Plan> {
        self.validate()?;
        let Shape { n, d, kind } = shape;
        let remedy = match self.components {
            _ if self.dense => "leave the choice of the solver to the plan: few components need no stored matrix",
            Components::All => "ask for a number of components: few of them need no stored matrix",
            Components::Count(_) | Components::UpTo(_) | Components::Share(_) => {
                "fit fewer points, or raise the memory budget"
            }
        };
        let dense = |why: String| Plan::dense(n, d, why);
        let fits = dense(String::new()).bytes <= u128::from(exec.get_memory());
        // All eigenvalues are computed of a kernel that may have negative ones, as long as that fits and takes seconds.
        let psd = self.get_kernel().is_some_and(Kernel::is_psd);
        let (dense_up_to, because) = match kind {
            _ if self.dense => (usize::MAX, "requested"),
            GramKind::Matrix | GramKind::Operator => (DENSE_UP_TO_GIVEN, "few points"),
            GramKind::Points { .. } if psd || !fits || n <= DENSE_UP_TO => (DENSE_UP_TO, "few points"),
            GramKind::Points { .. } => (
                ALL_EIGENVALUES_UP_TO,
                "the kernel may have negative eigenvalues, and points are few enough to compute all",
            ),
        };
        let plan = match self.components.first_count() {
            None => dense("all components are requested".into()),
            Some(_) if n <= dense_up_to => dense(format!("{because} ({n}): all eigenpairs of the stored Gram matrix")),
            Some((k, _)) if k > n / 10 && fits => {
                dense(format!("{k} of {n} components are many: all eigenpairs of the stored Gram matrix"))
            }
            Some((k, share)) => {
                let f32 = matches!(kind, GramKind::Points { .. }) && self.tolerance > F32_ABOVE;
                Plan::by_passes(&PassTask { n, d, k, kind, f32, share }, exec)
            }
        };
        plan.allow(exec, remedy)
    }

    /// What fitting n points of d dimensions on other machines will do and need here: passes over pairs of blocks, or
    /// landmarks.
    ///
    /// # Errors
    /// As [`KernelPca::plan`].
    pub fn plan_remote(&self, n: usize, d: usize, exec: &Exec) -> Result<Plan> {
        let landmarks =
            |why: &str| self.landmark_plan(self.shape_of_points(n, d)?, self.landmarks_for(exec), why, exec);
        match &self.approx {
            Approx::None => self.remote_passes(n, d, exec),
            Approx::Landmarks(_) => landmarks("requested"),
            Approx::Auto => match self.remote_passes(n, d, exec) {
                Ok(plan) if plan.flops <= MUCH_WORK => Ok(plan),
                Ok(plan) => landmarks(&format!("exact components take about {:.0e} operations", plan.flops)),
                Err(e) => match e.kind() {
                    ErrorKind::Memory { needed, .. } => landmarks(&format!("exact components need {}", Bytes(*needed))),
                    _ => Err(e),
                },
            },
        }
    }

    /// Passes over rows that are never stored here.
    fn remote_passes(&self, n: usize, d: usize, exec: &Exec) -> Result<Plan> {
        self.validate()?;
        let k = match self.components.first_count() {
            Some((k, _)) => k.min(n.saturating_sub(1)),
            None => n.saturating_sub(1),
        };
        let f32 = self.tolerance > F32_ABOVE;
        let mut plan = Plan::by_passes(&PassTask { n, d, k, kind: GramKind::Operator, f32, share: None }, exec);
        if let PlannedRoute::Passes(passes) = &mut plan.route {
            passes.dense_fits = false;
        }
        plan.allow(exec, "ask for fewer components, or raise the memory budget")
    }

    /// What fitting a kernel function of the user's on n points will do and need: the matrix is stored if it fits the
    /// memory, with a copy for the check of its symmetry, or if all components are asked for.
    ///
    /// # Errors
    /// As [`KernelPca::plan`].
    pub fn plan_function(&self, n: usize, exec: &Exec) -> Result<Plan> {
        self.refuse_kernel("a kernel function")?;
        let stored = self.plan_gram(n, exec);
        let copies = 16 * (n as u128).pow(2);
        match &stored {
            Ok(plan) if plan.bytes.saturating_add(copies) <= u128::from(exec.get_memory()) => stored,
            _ if self.components == Components::All => stored,
            Ok(_) => self.plan_op(n, exec),
            Err(e) if matches!(e.kind(), ErrorKind::Memory { .. }) => self.clone().dense(false).plan_op(n, exec),
            Err(_) => stored,
        }
    }

    /// Another plan, for a reason that a fit by `passes` has found.
    pub(super) fn replan(&self, shape: Shape, passes: &PassPlan, reason: Replan, exec: &Exec) -> Result<Plan> {
        let Shape { n, d, kind } = shape;
        let share = self.components.first_count().and_then(|(_, share)| share);
        let task = PassTask { n, d, k: passes.k, kind, f32: passes.f32, share };
        match reason {
            Replan::NeedsF64 => Plan::by_passes(&PassTask { f32: false, ..task }, exec)
                .allow(exec, "fit fewer points, or raise the memory budget"),
            Replan::Negative => Ok(Plan::dense(n, d, "the kernel has negative eigenvalues on these points".into())),
            Replan::NoDiagonal => {
                let remedy = "implement `diagonal` of the operator: a few components then need no stored matrix";
                Plan::dense(n, d, "the operator has no diagonal".into()).allow(exec, remedy)
            }
            Replan::Components(k) if k > n / 10 && passes.dense_fits => {
                Ok(Plan::dense(n, d, format!("the share of the variance takes {k} components or more")))
            }
            Replan::Components(k) => {
                let mut next = Plan::by_passes(&PassTask { k, ..task }, exec)
                    .allow(exec, "ask for a smaller share of the variance, or raise the memory budget")?;
                if let PlannedRoute::Passes(next) = &mut next.route {
                    next.cached = passes.cached; // tiles that are there stay there
                    next.dense_fits = passes.dense_fits;
                }
                Ok(next)
            }
        }
    }

    /// The landmarks that are used where components are not exact: those asked for, or as many as are usual, fewer where
    /// memory is short.
    pub fn landmarks_for(&self, exec: &Exec) -> Landmarks {
        if let Approx::Landmarks(landmarks) = &self.approx {
            return landmarks.clone();
        }
        let fits = |m: &usize| Plan::bytes_of_landmarks(*m) <= u128::from(exec.get_memory());
        let fewer = std::iter::successors(Some(Landmarks::DEFAULT), |m| Some(m * 4 / 5));
        Landmarks::KMeans(fewer.take_while(|m| *m >= LEAST_LANDMARKS).find(fits).unwrap_or(LEAST_LANDMARKS))
    }
}

impl LandmarkPlan {
    /// Another plan, for a reason that a fit by this one has found.
    pub(super) fn again(&self, reason: ReplanLandmarks) -> LandmarkPlan {
        match (reason, &self.landmarks) {
            (ReplanLandmarks::NeedsF64, _) => LandmarkPlan { f32: false, ..self.clone() },
            (ReplanLandmarks::NotReached { stated, reached, grown }, Landmarks::TraceError(share)) => {
                // If the last attempt added no landmark, the aim is lowered a thousandfold, so that the search ends soon.
                let closer = if grown { (0.7 * stated / reached).min(0.7) } else { 1e-3 };
                LandmarkPlan { landmarks: Landmarks::TraceError(share * closer), ..self.clone() }
            }
            (ReplanLandmarks::NotReached { .. }, _) => self.clone(),
        }
    }
}

/// Whether all eigenvalues are computed once negative ones are met.
pub(super) fn computes_all_if_negative(n: usize) -> bool {
    n <= ALL_EIGENVALUES_UP_TO
}

/// Refuses landmarks for a kernel that may have negative eigenvalues.
pub(super) fn refuse_indefinite(kernel: &Kernel) -> Result<()> {
    if kernel.is_psd() {
        return Ok(());
    }
    Err(ErrorKind::Unsupported {
        what: format!("kernel '{kernel}' may have negative eigenvalues, and landmarks need one that has none"),
        remedy: "fit it exactly, or choose a positive semi-definite kernel".into(),
    }
    .into())
}

/// As many landmarks as there is room for beside the factor that chooses them among n points, at least a few.
pub(super) fn room(n: usize, exec: &Exec) -> usize {
    let needed = |m: usize| Plan::bytes_of_landmarks(m) + (n as u128) * (m as u128) * 8;
    let fewer = std::iter::successors(Some(MOST_GROWN), |m| Some(m * 4 / 5)).take_while(|m| *m >= LEAST_LANDMARKS);
    fewer.filter(|m| needed(*m) <= u128::from(exec.get_memory())).max().unwrap_or(LEAST_LANDMARKS)
}
