//! Kernel principal component analysis.

mod finish;
mod landmark_basis;
mod landmark_choice;
mod landmark_finish;
mod landmark_state;
mod model;
mod passes;
mod planning;
mod remote;
mod run;

pub use landmark_basis::LandmarkBasis;
pub use landmark_state::LandmarkState;
pub use model::{KernelPcaModel, KernelPcaParts};
pub use remote::{BlockFacts, PassFn, PassState, RowBlock};

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::exec::Exec;
use crate::kernel::Kernel;
use crate::kernel::bind::check_domain;
use crate::op::SymOp;
use crate::options::{Approx, Landmarks};
use crate::plan::Plan;
use crate::points::{AnyPoints, PointsRef};
use crate::real::Real;
use crate::spectrum::Components;

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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelPca {
    /// `None` for a Gram matrix, an operator or a function of the user's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kernel: Option<Kernel>,
    #[serde(default)]
    components: Components,
    #[serde(default)]
    standardise: bool,
    #[serde(default = "default_tolerance")]
    tolerance: f64,
    #[serde(default)]
    dense: bool,
    #[serde(default)]
    approx: Approx,
}

/// The residual that is reached by default, relative to the largest eigenvalue.
fn default_tolerance() -> f64 {
    1e-6
}

impl KernelPca {
    /// All components that are not zero, of the Gram matrix of this kernel.
    pub fn new(kernel: Kernel) -> Self {
        KernelPca { kernel: Some(kernel), ..KernelPca::custom() }
    }

    /// All components that are not zero, of a Gram matrix, an operator or a kernel function of your own: for
    /// [`KernelPca::fit_gram`], [`KernelPca::fit_op`] and [`KernelPca::fit_fn`].
    ///
    /// ```
    /// use mercer::{KernelPca, Points};
    /// let gram = Points::from_rows(&[[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]]);
    /// let model = KernelPca::custom().components(1).fit_gram(&gram)?;
    /// assert_eq!(model.components(), 1);
    /// assert!(KernelPca::custom().fit(&gram).is_err()); // points need a kernel
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn custom() -> Self {
        KernelPca {
            kernel: None,
            components: Components::All,
            standardise: false,
            tolerance: default_tolerance(),
            dense: false,
            approx: Approx::None,
        }
    }

    /// Sets how many components to keep: at most a number (`3`), a share of the variance (`0.95`), or
    /// [`Components::All`]. Components whose eigenvalue is zero within rounding do not exist and are not counted.
    pub fn components(mut self, components: impl Into<Components>) -> Self {
        self.components = components.into();
        self
    }

    /// Sets whether each dimension is first centred and divided by its standard deviation; one without variance is only
    /// centred. New points are treated alike. Without effect on a Gram matrix, an operator or a kernel function. The
    /// certificate is about the standardised points as they are in f64.
    pub fn standardise(mut self, standardise: bool) -> Self {
        self.standardise = standardise;
        self
    }

    /// Sets the residual |K~u - lambda u| that is good enough, relative to the largest eigenvalue, where components are
    /// found by passes over the Gram matrix: 1e-6 by default, 1e-3 for a picture, 1e-10 for more digits. Errors of
    /// eigenvalues are about its square.
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Sets whether all eigenpairs of the stored Gram matrix are computed however few are kept: 48 n^2 bytes and about
    /// 9 n^3 operations, and every eigenvalue is known. Few points are done so in any case.
    pub fn dense(mut self, dense: bool) -> Self {
        self.dense = dense;
        self
    }

    /// Sets the kernel.
    pub fn kernel(mut self, kernel: Kernel) -> Self {
        self.kernel = Some(kernel);
        self
    }

    /// Sets whether the components are exact, as they are by default, or found by landmarks.
    pub fn approx(mut self, approx: Approx) -> Self {
        self.approx = approx;
        self
    }

    /// Uses these landmarks: [`Approx::Landmarks`].
    pub fn landmarks(self, landmarks: Landmarks) -> Self {
        self.approx(Approx::Landmarks(landmarks))
    }

    /// Returns the kernel; `None` for a Gram matrix, an operator or a function of your own.
    pub fn get_kernel(&self) -> Option<&Kernel> {
        self.kernel.as_ref()
    }

    /// Returns the residual that is good enough.
    pub fn get_tolerance(&self) -> f64 {
        self.tolerance
    }

    /// Returns whether all eigenpairs are computed however few are kept.
    pub fn get_dense(&self) -> bool {
        self.dense
    }

    /// Returns whether the components are exact or found by landmarks.
    pub fn get_approx(&self) -> &Approx {
        &self.approx
    }

    /// Returns how many components to keep.
    pub fn get_components(&self) -> Components {
        self.components
    }

    /// Returns whether columns are standardised.
    pub fn get_standardise(&self) -> bool {
        self.standardise
    }

    /// Whether landmarks are given as points.
    pub(crate) fn has_given_landmarks(&self) -> bool {
        matches!(self.approx, Approx::Landmarks(Landmarks::Given(_)))
    }

    /// The kernel, for fits of points.
    fn kernel_or_refuse(&self) -> Result<&Kernel> {
        self.kernel.as_ref().ok_or_else(|| {
            ErrorKind::Unsupported {
                what: "points are fitted with a kernel, and there is none".into(),
                remedy: "use KernelPca::new with a kernel, or fit a Gram matrix, an operator or a function".into(),
            }
            .into()
        })
    }

    /// Refuses points that the kernel is not defined for; standardised ones are checked later.
    pub(crate) fn check_domain(&self, x: AnyPoints<'_>) -> Result<()> {
        match (self.kernel_or_refuse()?, x) {
            _ if self.standardise => Ok(()),
            (kernel, AnyPoints::F64(x)) => check_domain(kernel, x),
            (kernel, AnyPoints::F32(x)) => check_domain(kernel, x),
        }
    }

    /// Refuses a kernel beside data that has one of its own.
    fn refuse_kernel(&self, beside: &str) -> Result<()> {
        match &self.kernel {
            None => Ok(()),
            Some(kernel) => Err(Error::parameter("kernel pca", "kernel", kernel, format!("no kernel beside {beside}"))),
        }
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
        self.run_points(plan, x.into(), exec)
    }

    /// Fits points as planned by [`KernelPca::plan`] for as many points and dimensions.
    ///
    /// # Errors
    /// As [`KernelPca::fit`], and when the plan is of other sizes or of PCA.
    pub fn fit_planned<'a, T: Real>(
        &self,
        plan: Plan,
        points: impl Into<PointsRef<'a, T>>,
        exec: &Exec,
    ) -> Result<KernelPcaModel> {
        let x = points.into();
        x.check(2)?;
        self.run_points(plan, x.into(), exec)
    }

    pub(crate) fn run_planned(&self, plan: Plan, x: AnyPoints<'_>, exec: &Exec) -> Result<KernelPcaModel> {
        match x {
            AnyPoints::F64(x) => self.fit_planned(plan, x, exec),
            AnyPoints::F32(x) => self.fit_planned(plan, x, exec),
        }
    }

    /// Fits points with a kernel function of your own.
    ///
    /// # Errors
    /// As [`KernelPca::fit`], and when the function is not symmetric, or beside a kernel.
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
        self.refuse_kernel("a kernel function")?;
        let plan = self.plan_gram(x.n(), exec)?;
        self.run_function(plan, x.to_f64(), std::sync::Arc::new(kernel), exec)
    }

    /// Fits a Gram matrix that you computed. New points are projected by [`KernelPcaModel::transform`] of their
    /// kernel values with the fitted points, a row per new point.
    ///
    /// # Errors
    /// When the matrix is not square, symmetric and finite, beside a kernel, and as [`KernelPca::fit`].
    pub fn fit_gram<'a, T: Real>(&self, gram: impl Into<PointsRef<'a, T>>) -> Result<KernelPcaModel> {
        self.fit_gram_with(gram, &Exec::new())
    }

    /// As [`KernelPca::fit_gram`], with threads, memory and cancellation.
    ///
    /// # Errors
    /// As [`KernelPca::fit_gram`].
    pub fn fit_gram_with<'a, T: Real>(&self, gram: impl Into<PointsRef<'a, T>>, exec: &Exec) -> Result<KernelPcaModel> {
        let gram = gram.into();
        let plan = self.plan_gram(gram.n(), exec)?;
        self.run_gram(plan, gram.into(), exec)
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
        let plan = self.plan_op(op.n(), exec)?;
        self.run_op(plan, op, exec)
    }
}
