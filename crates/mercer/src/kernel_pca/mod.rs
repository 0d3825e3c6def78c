//! Kernel principal component analysis.

mod approx;
mod landmark_basis;
mod landmark_finish;
mod landmark_state;
mod model;
mod passes;
mod remote;

pub use approx::{Approx, Landmarks};
pub use landmark_basis::LandmarkBasis;
pub use landmark_state::LandmarkState;
pub use model::{KernelPcaModel, KernelPcaParts};
pub use remote::{BlockFacts, PassFn, PassState, RowBlock};

use std::sync::Arc;

use rayon::prelude::*;

use crate::block::Block;
use crate::diagnose::Definiteness;
use crate::eigen::{Certificate, Eigen, Solver, check_range, rounding};
use crate::error::{Error, ErrorKind, Result};
use crate::exec::Exec;
use crate::features::{Features, Standardise};
use crate::kernel::tile::Form;
use crate::kernel::{Bound, Kernel};
use crate::op::{Centred, Dense, Gram, SymOp};
use crate::pca::Pca;
use crate::plan::{KernelTask, Plan, Source};
use crate::points::PointsRef;
use crate::real::Real;
use crate::spectrum::{Components, Spectrum};

/// How kernel PCA is to be done.
///
/// # Definition
/// PCA of phi(x_1), ..., phi(x_n) for the map phi behind the kernel, without phi (MATHS.md, M5-M11): the centred Gram
/// matrix HKH has eigenpairs (lambda, u); scores of the fitted points are u sqrt(lambda), those of a new point
/// sum_i alpha_i k~(x, x_i) with alpha = u / sqrt(lambda).
///
/// # Example
/// Two rings, which no straight line parts, are parted by the sign of the first score:
/// ```
/// use mercer::{Gamma, Kernel, KernelPca, Points};
/// let rings = Points::from_fn(400, 2, |i, j| {
///     let (radius, angle) = (if i < 200 { 1.0 } else { 0.3 }, i as f64 * std::f64::consts::TAU / 200.0);
///     radius * if j == 0 { angle.cos() } else { angle.sin() }
/// });
/// let model = KernelPca::new(Kernel::gaussian(Gamma::Value(3.0))).components(2).fit(&rings)?;
/// let z = model.transform(&rings)?;
/// assert!((0..400).all(|i| (z.row(i)[0] > 0.0) == (z.row(0)[0] > 0.0) || i >= 200));
/// assert!((200..400).all(|i| (z.row(i)[0] > 0.0) != (z.row(0)[0] > 0.0)));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct KernelPca {
    kernel: Kernel,
    components: Components,
    standardise: bool,
    tolerance: f64,
    dense: bool,
    approx: Approx,
}

/// The residual that is reached when nobody says otherwise, relative to the largest eigenvalue.
const TOLERANCE: f64 = 1e-6;
/// Up to this many points all eigenpairs are computed; for a matrix or an operator of the user's, which may have
/// negative eigenvalues, up to so many.
const DENSE_UP_TO: usize = 600;
/// Up to this many points a kernel that may have negative eigenvalues is looked at as a whole: that takes seconds.
const WHOLE_UP_TO: usize = 4000;
/// Tolerances above this can be reached by way of f32.
const NARROW_ABOVE: f64 = 1e-9;
const DENSE_UP_TO_GIVEN: usize = 2000;

impl KernelPca {
    /// All components that are not zero, of the Gram matrix of this kernel.
    pub fn new(kernel: Kernel) -> Self {
        KernelPca {
            kernel,
            components: Components::All,
            standardise: false,
            tolerance: TOLERANCE,
            dense: false,
            approx: Approx::None,
        }
    }

    /// All components that are not zero, of a Gram matrix, an operator or a kernel function of your own: what
    /// [`KernelPca::fit_gram`], [`KernelPca::fit_op`] and [`KernelPca::fit_fn`] take in place of a kernel.
    pub fn custom() -> Self {
        KernelPca::new(Kernel::linear())
    }

    /// How many components to keep: at most a number (`3`), a share of the variance (`0.95`), or [`Components::All`].
    /// Components whose eigenvalue is zero within rounding do not exist and are not counted.
    pub fn components(mut self, components: impl Into<Components>) -> Self {
        self.components = components.into();
        self
    }

    /// Whether each dimension is first centred and divided by its standard deviation; one without variance is only
    /// centred. New points are treated alike. Without effect on a Gram matrix, an operator or a kernel function.
    pub fn standardise(mut self, standardise: bool) -> Self {
        self.standardise = standardise;
        self
    }

    /// The residual |K~u - lambda u| that is good enough, relative to the largest eigenvalue, where components are found by
    /// passes over the Gram matrix: 1e-6 unless said otherwise, 1e-3 for a picture, 1e-10 for more digits. Errors of
    /// eigenvalues are about its square.
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Whether all eigenpairs of the stored Gram matrix are computed however few are kept: 48 n^2 bytes and about 9 n^3
    /// operations, and every eigenvalue is seen. Few points are done so in any case.
    pub fn dense(mut self, dense: bool) -> Self {
        self.dense = dense;
        self
    }

    /// The same with another kernel.
    pub fn kernel_of(mut self, kernel: Kernel) -> Self {
        self.kernel = kernel;
        self
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// What fitting n points of d dimensions will do and need.
    ///
    /// # Errors
    /// When it does not fit the memory budget, or an option is outside its domain.
    pub fn plan(&self, n: usize, d: usize, exec: &Exec) -> Result<Plan> {
        if let Some((landmarks, why)) = self.chosen_landmarks(n, d, exec)? {
            self.components.validate("kernel pca")?;
            self.kernel.validate()?;
            let remedy = "use fewer landmarks, or raise the memory budget";
            let most = self.most_landmarks(&landmarks, n, exec);
            return Plan::by_landmarks(n, d, most, format!("{landmarks}: {why}")).allow(exec, remedy);
        }
        // A kernel that may have negative eigenvalues is looked at as a whole, as long as that fits and is no long work.
        let fits = Plan::dense(n, d, String::new()).bytes <= u128::from(exec.memory_budget());
        let (dense_up_to, dense_because) = match self.kernel.is_psd() || !fits || n <= DENSE_UP_TO {
            true => (DENSE_UP_TO, "few points"),
            false => (WHOLE_UP_TO, "the kernel may have negative eigenvalues, and points are not too many"),
        };
        let (source, narrow) = (Source::Points, self.tolerance > NARROW_ABOVE);
        let components = self.components;
        self.plan_of(&KernelTask { n, d, components, dense_up_to, dense_because, source, narrow }, exec)
    }

    /// What fitting a Gram matrix of n points will do and need.
    ///
    /// # Errors
    /// As [`KernelPca::plan`].
    pub fn plan_given(&self, n: usize, exec: &Exec) -> Result<Plan> {
        self.plan_of(&self.given(n, Source::Matrix), exec)
    }

    /// What fitting an operator of n points will do and need.
    ///
    /// # Errors
    /// As [`KernelPca::plan`].
    pub fn plan_op(&self, n: usize, exec: &Exec) -> Result<Plan> {
        self.plan_of(&self.given(n, Source::Operator), exec)
    }

    fn given(&self, n: usize, source: Source) -> KernelTask {
        let (dense_up_to, dense_because) = (DENSE_UP_TO_GIVEN, "few points");
        KernelTask { n, d: 1, components: self.components, dense_up_to, dense_because, source, narrow: false }
    }

    fn plan_of(&self, task: &KernelTask, exec: &Exec) -> Result<Plan> {
        self.components.validate("kernel pca")?;
        self.kernel.validate()?;
        if !(self.tolerance > 0.0 && self.tolerance < 1.0) {
            return Err(Error::parameter("kernel pca", "tolerance", self.tolerance, "0 < tolerance < 1"));
        }
        let task = &KernelTask {
            dense_up_to: if self.dense { usize::MAX } else { task.dense_up_to },
            dense_because: if self.dense { "asked for" } else { task.dense_because },
            ..*task
        };
        let remedy = match self.components {
            _ if self.dense => "leave the choice of the solver to the plan: few components need no stored matrix",
            Components::All => "ask for a number of components: few of them need no stored matrix",
            _ => "fit fewer points, or raise the memory budget",
        };
        Plan::kernel_pca(task, exec).allow(exec, remedy)
    }

    /// Fits points.
    ///
    /// # Errors
    /// Fewer than two points, values or kernel values that are not finite, parameters outside their domain, or more
    /// memory needed than [`Exec::memory`] allows.
    pub fn fit<'a, T: Real>(&self, points: impl Into<PointsRef<'a, T>>) -> Result<KernelPcaModel> {
        self.fit_with(points, &Exec::new())
    }

    /// As [`KernelPca::fit`], with threads, memory and cancellation.
    ///
    /// # Errors
    /// As [`KernelPca::fit`].
    pub fn fit_with<'a, T: Real>(&self, points: impl Into<PointsRef<'a, T>>, exec: &Exec) -> Result<KernelPcaModel> {
        let x = points.into();
        x.check(2)?;
        let plan = self.plan(x.n(), x.d(), exec)?;
        if let Some((landmarks, _)) = self.chosen_landmarks(x.n(), x.d(), exec)? {
            return exec.run(|| self.fit_landmarks(x.into(), &landmarks, exec));
        }
        exec.run(|| {
            let standardise =
                if self.standardise { Some(Pca::new().standardise(true).location(x, exec)?) } else { None };
            let x = Standardise::apply(standardise.as_ref(), x);
            let bound = Bound::new(&self.kernel, &x)?; //            automatic parameters become numbers
            let gram = Gram::of_points(&bound, x).up_to_centring(); // M5, M6  K_ij = k(x_i, x_j)
            if let Some(plan) = &plan.passes {
                return self.fit_by_passes(gram, standardise, plan, exec);
            }
            let stored = Dense::measure_block(gram.to_matrix(exec)?, f64::EPSILON)?;
            let error = gram.entry_error(stored.largest());
            let features =
                Features::Kernel { bound, landmarks: gram.into_rows(), standardise, form: Form::UpToCentring };
            self.finish_matrix(features, stored, error, exec)
        })
    }

    /// Fits points with a kernel function of your own in place of [`KernelPca::kernel`].
    ///
    /// # Errors
    /// As [`KernelPca::fit`], and when the function is not symmetric.
    pub fn fit_fn<'a, T: Real>(
        &self,
        points: impl Into<PointsRef<'a, T>>,
        kernel: impl Fn(&[f64], &[f64]) -> f64 + Send + Sync + 'static,
    ) -> Result<KernelPcaModel> {
        self.fit_fn_with(points, kernel, &Exec::new())
    }

    /// As [`KernelPca::fit_fn`], with threads, memory and cancellation.
    ///
    /// # Errors
    /// As [`KernelPca::fit_fn`].
    pub fn fit_fn_with<'a, T: Real>(
        &self,
        points: impl Into<PointsRef<'a, T>>,
        kernel: impl Fn(&[f64], &[f64]) -> f64 + Send + Sync + 'static,
        exec: &Exec,
    ) -> Result<KernelPcaModel> {
        let x = points.into();
        x.check(2)?;
        let plan = self.plan_given(x.n(), exec)?;
        exec.run(|| {
            let landmarks = x.to_f64();
            let mut gram = Block::zeros(x.n(), x.n());
            gram.as_mut_slice().par_chunks_mut(x.n()).enumerate().try_for_each(|(j, column)| -> Result<()> {
                exec.go_on()?;
                column.iter_mut().enumerate().for_each(|(i, v)| *v = kernel(landmarks.row(i), landmarks.row(j)));
                Ok(())
            })?;
            let dense = Dense::measure_block(gram, f64::EPSILON)?.symmetric()?;
            self.finish_dense(Features::KernelFn { kernel: Arc::new(kernel), landmarks }, dense, &plan, exec)
        })
    }

    /// Fits a Gram matrix that you computed. New points are projected by [`KernelPcaModel::transform`] of their
    /// kernel values with the fitted points, a row per new point.
    ///
    /// # Errors
    /// When the matrix is not square, symmetric and finite, and as [`KernelPca::fit`].
    pub fn fit_gram<'a, T: Real>(&self, gram: impl Into<PointsRef<'a, T>>) -> Result<KernelPcaModel> {
        self.fit_gram_with(gram, &Exec::new())
    }

    /// As [`KernelPca::fit_gram`], with threads, memory and cancellation.
    ///
    /// # Errors
    /// As [`KernelPca::fit_gram`].
    pub fn fit_gram_with<'a, T: Real>(&self, gram: impl Into<PointsRef<'a, T>>, exec: &Exec) -> Result<KernelPcaModel> {
        let gram = gram.into();
        let plan = self.plan_given(gram.n(), exec)?;
        exec.run(|| {
            let dense = Dense::new(gram)?;
            self.finish_dense(Features::GramRow { n: gram.n() }, dense, &plan, exec)
        })
    }

    /// Fits a symmetric operator of your own: the Gram matrix of anything. The model projects new rows of it as after
    /// [`KernelPca::fit_gram`].
    ///
    /// # Errors
    /// As [`KernelPca::fit_gram`].
    pub fn fit_op(&self, op: &dyn SymOp) -> Result<KernelPcaModel> {
        self.fit_op_with(op, &Exec::new())
    }

    /// As [`KernelPca::fit_op`], with threads, memory and cancellation.
    ///
    /// # Errors
    /// As [`KernelPca::fit_op`].
    pub fn fit_op_with(&self, op: &dyn SymOp, exec: &Exec) -> Result<KernelPcaModel> {
        let mut plan = self.plan_op(op.n(), exec)?;
        exec.run(|| {
            if let (Some(passes), Some(diagonal)) = (&plan.passes, op.diagonal(exec)?) {
                let features = Features::GramRow { n: op.n() };
                if let Some(model) = self.fit_given(op, diagonal, features, (None, 0), passes, exec)? {
                    return Ok(model);
                }
            }
            plan = Plan::dense(op.n(), 1, String::new());
            let remedy = "implement `diagonal` of the operator: a few components then need no stored matrix";
            let plan = plan.allow(exec, remedy)?;
            let matrix = op.to_matrix(exec)?;
            if (matrix.n(), matrix.b()) != (op.n(), op.n()) {
                return Err(Error::shape("values of the operator's matrix", matrix.as_slice().len(), op.n() * op.n()));
            }
            let dense = Dense::measure_block(matrix, f64::EPSILON)?.symmetric()?;
            self.finish_dense(Features::GramRow { n: op.n() }, dense, &plan, exec)
        })
    }

    fn finish_dense(&self, features: Features, dense: Dense, plan: &Plan, exec: &Exec) -> Result<KernelPcaModel> {
        if dense.n() < 2 {
            return Err(ErrorKind::TooFew { what: "points", found: dense.n(), needed: 2 }.into());
        }
        let error = dense.entry_error();
        let key = if exec.has_journal() { dense.fingerprint() } else { 0 };
        if let (Some(passes), Some(diagonal)) = (&plan.passes, dense.diagonal(exec)?)
            && let Some(model) = self.fit_given(&dense, diagonal, features.clone(), (Some(error), key), passes, exec)?
        {
            return Ok(model);
        }
        self.finish_matrix(features, dense, error, exec)
    }

    /// From the Gram matrix on, line by line as in the textbook. Entries are good to `entry_error`.
    fn finish_matrix(&self, features: Features, gram: Dense, entry_error: f64, exec: &Exec) -> Result<KernelPcaModel> {
        let n = gram.n();
        check_range(n, gram.largest())?;
        let (means, grand_mean) = gram.means(); //                          M7  kbar = K1/n
        let centred = Centred(gram); //                                     M7  K~ = HKH
        exec.go_on()?;
        let eigen = Solver::Dense.pairs(&centred, exec)?; //                M8  K~ = U L U'
        let rounding = rounding(n, entry_error, &eigen.values);
        let definiteness = Definiteness::of(&eigen.values, rounding);
        let total = definiteness.total(&eigen.values); //                   M9  tr K~, or sum |lambda| when indefinite
        let rank = eigen.values.iter().take_while(|v| **v > rounding).count();

        let mut notes = Vec::new();
        let k = self.components.count(&eigen.values, total, rank);
        if definiteness.is_indefinite() {
            notes.push(format!("{definiteness}; explained shares are of that mass"));
        }
        notes.extend(Spectrum::ties(&eigen.values, k, 2.0 * rounding));
        let Eigen { values, vectors, residuals } = eigen.keep(k, &centred, exec)?;
        let certificate = Certificate::of_all(&values, residuals, rounding);
        let spectrum = Spectrum {
            eigenvalues: values[..k].to_vec(),
            total,
            discarded: values[k..].iter().fold(0.0, |sum, v| sum + v),
            rank,
            complete: true,
            n,
            centred: true,
        };
        KernelPcaModel::assemble(
            features,
            vectors,
            (means, grand_mean),
            spectrum,
            certificate,
            Some(definiteness),
            notes,
        )
    }
}
