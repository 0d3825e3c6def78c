//! Spec: what is to be fitted, as one record that every front reads and writes; and Source: what it is fitted to.

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::exec::Exec;
use crate::kernel::Kernel;
use crate::kernel_pca::{KernelPca, KernelPcaModel, LandmarkState};
use crate::model::AnyModel;
use crate::op::SymOp;
use crate::options::Route;
use crate::pca::Pca;
use crate::plan::Plan;
use crate::points::{AnyPoints, Points, PointsRef};
use crate::real::Real;
use crate::sparse::Csr;
use crate::spectrum::Components;
use crate::survey::Survey;

/// What is to be fitted: PCA, PCA of an embedding, or kernel PCA, with all options.
///
/// It can be written as JSON (or in any format of serde) and read back: the command's options and the parameters of the
/// Python classes become this one record, the page sends it, and checkpoints and model files store it.
///
/// # Example
/// ```
/// use mercer::{Exec, Points, Source, Spec};
/// let spec: Spec = serde_json::from_str(
///     r#"{"method": "kernel_pca", "kernel": "gaussian(gamma=median)", "components": 2}"#,
/// )?;
/// let x = Points::from_fn(50, 3, |i, j| ((i * (j + 2)) as f64).sin());
/// let exec = Exec::new();
/// let source = Source::points(&x);
/// let plan = spec.plan(&source, &exec)?; // what will be done, and what it needs
/// let model = spec.run(plan, source, &exec)?.model; // and that is what is done
/// assert_eq!(model.components(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Spec {
    /// PCA of points or of their explicit embedding.
    Pca(Pca),
    /// Kernel PCA.
    KernelPca(KernelPca),
}

impl From<Pca> for Spec {
    fn from(pca: Pca) -> Self {
        Spec::Pca(pca)
    }
}

impl From<KernelPca> for Spec {
    fn from(kernel_pca: KernelPca) -> Self {
        Spec::KernelPca(kernel_pca)
    }
}

/// The data that a model is fitted to.
///
/// ```
/// use mercer::{Exec, Gamma, Kernel, KernelPca, Points, Source, Spec};
/// let gram = Points::from_rows(&[[2.0, 0.5, 0.1], [0.5, 2.0, 0.3], [0.1, 0.3, 2.0]]);
/// let spec = Spec::from(KernelPca::custom().components(1));
/// let (source, exec) = (Source::gram(&gram), Exec::new());
/// let plan = spec.plan(&source, &exec)?;
/// assert_eq!(spec.run(plan, source, &exec)?.model.components(), 1);
/// # Ok::<(), mercer::Error>(())
/// ```
#[non_exhaustive]
pub enum Source<'a> {
    /// Points in memory.
    Points(AnyPoints<'a>),
    /// Sparse points.
    Sparse(&'a Csr),
    /// A Gram matrix.
    Gram(AnyPoints<'a>),
    /// An operator: the Gram matrix of anything.
    Operator(&'a dyn SymOp),
    /// Points that come in batches, as often as they are asked for.
    Batches(&'a mut dyn Batches),
}

/// Points that come in batches. A call of [`Batches::each`] is one pass over the data.
///
/// ```
/// use mercer::{AnyPoints, Batches, Exec, Pca, Points, Result, Source, Spec};
///
/// struct Counter; // 1,000 points in ten batches
///
/// impl Batches for Counter {
///     fn d(&self) -> usize {
///         2
///     }
///     fn n(&self) -> Option<u64> {
///         Some(1000)
///     }
///     fn each(&mut self, take: &mut dyn FnMut(AnyPoints<'_>) -> Result<()>) -> Result<()> {
///         for batch in 0..10 {
///             let x = Points::from_fn(100, 2, |i, j| ((100 * batch + i) as f64 * (j + 1) as f64).sin());
///             take(x.view().into())?;
///         }
///         Ok(())
///     }
/// }
///
/// let (spec, exec) = (Spec::from(Pca::new().components(1)), Exec::new());
/// let source = Source::Batches(&mut Counter);
/// let plan = spec.plan(&source, &exec)?;
/// assert_eq!(spec.run(plan, source, &exec)?.n, 1000);
/// # Ok::<(), mercer::Error>(())
/// ```
pub trait Batches {
    /// Returns the number of columns.
    fn d(&self) -> usize;

    /// Returns the number of points, where it is known before the first pass.
    fn n(&self) -> Option<u64>;

    /// Calls `take` with all batches in order, the same ones in every pass, until it fails.
    ///
    /// # Errors
    /// The error of `take`, or [`ErrorKind::Source`] with the message of the source.
    fn each(&mut self, take: &mut dyn FnMut(AnyPoints<'_>) -> Result<()>) -> Result<()>;
}

impl<'a> Source<'a> {
    /// Points in memory.
    pub fn points<T: Real>(points: impl Into<PointsRef<'a, T>>) -> Self {
        Source::Points(points.into().into())
    }

    /// A Gram matrix.
    pub fn gram<T: Real>(gram: impl Into<PointsRef<'a, T>>) -> Self {
        Source::Gram(gram.into().into())
    }
}

/// A fitted model, with facts about the data from the passes of the fit.
///
/// ```
/// use mercer::{Exec, Pca, Points, Source, Spec};
/// let x = Points::from_rows(&[[0.0, 0.1], [1.0, 2.1], [2.0, 3.9]]);
/// let (spec, exec) = (Spec::from(Pca::new().components(1)), Exec::new());
/// let source = Source::points(&x);
/// let plan = spec.plan(&source, &exec)?;
/// let fitted = spec.run(plan, source, &exec)?;
/// assert_eq!((fitted.n, fitted.model.components()), (3, 1));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Fitted {
    /// The model.
    pub model: AnyModel,
    /// The number of points.
    pub n: u64,
    /// The smallest and the largest value of each column, where the fit computed them.
    pub ranges: Vec<(f64, f64)>,
    /// Remarks beside the notes of the model.
    pub notes: Vec<String>,
}

impl Spec {
    /// Returns the number of components to keep.
    pub fn components(&self) -> Components {
        match self {
            Spec::Pca(pca) => pca.get_components(),
            Spec::KernelPca(kernel) => kernel.get_components(),
        }
    }

    /// Returns the same with another number of components.
    pub fn with_components(self, components: impl Into<Components>) -> Self {
        match self {
            Spec::Pca(pca) => Spec::Pca(pca.components(components)),
            Spec::KernelPca(kernel) => Spec::KernelPca(kernel.components(components)),
        }
    }

    /// Returns the kernel; `None` for PCA, and for a Gram matrix, an operator or a function of your own.
    pub fn kernel(&self) -> Option<&Kernel> {
        match self {
            Spec::Pca(_) => None,
            Spec::KernelPca(kernel) => kernel.get_kernel(),
        }
    }

    /// Returns whether columns are standardised.
    pub fn is_standardised(&self) -> bool {
        match self {
            Spec::Pca(pca) => pca.get_standardise(),
            Spec::KernelPca(kernel) => kernel.get_standardise(),
        }
    }

    /// Whether it holds points of its own: given landmarks.
    pub fn has_points(&self) -> bool {
        matches!(self, Spec::KernelPca(kernel) if kernel.has_given_landmarks())
    }

    /// What a fit of this source will do and need.
    ///
    /// # Errors
    /// When it does not fit the memory budget, an option is outside its domain, or the method takes no such source.
    pub fn plan(&self, source: &Source<'_>, exec: &Exec) -> Result<Plan> {
        match (self, source) {
            (Spec::Pca(pca), Source::Points(x)) => pca.plan(x.n(), x.d(), exec),
            (Spec::Pca(pca), Source::Batches(batches)) => pca.plan_batches(known(*batches), batches.d(), exec),
            (Spec::Pca(pca), Source::Sparse(x)) => pca.plan_sparse(x.n(), x.d(), exec),
            (Spec::Pca(_), Source::Gram(_) | Source::Operator(_)) => Err(not_for_pca()),
            (Spec::KernelPca(_), Source::Sparse(_)) => Err(not_sparse()),
            (Spec::KernelPca(kernel), Source::Points(x)) => kernel.plan(x.n(), x.d(), exec),
            (Spec::KernelPca(kernel), Source::Gram(gram)) => kernel.plan_gram(gram.n(), exec),
            (Spec::KernelPca(kernel), Source::Operator(op)) => kernel.plan_op(op.n(), exec),
            (Spec::KernelPca(kernel), Source::Batches(batches)) => {
                kernel.plan_batches(known(*batches), batches.d(), exec)
            }
        }
    }

    /// Fits a source: plans, and does what was planned.
    ///
    /// # Errors
    /// As [`Spec::plan`], and whatever stops the fit.
    pub fn fit(&self, source: Source<'_>, exec: &Exec) -> Result<Fitted> {
        let plan = self.plan(&source, exec)?;
        self.run(plan, source, exec)
    }

    /// Fits a source as planned.
    ///
    /// # Errors
    /// Whatever stops the fit, and when the plan is of another source.
    pub fn run(&self, plan: Plan, source: Source<'_>, exec: &Exec) -> Result<Fitted> {
        let whole = |model: AnyModel, n: usize| Fitted { model, n: n as u64, ranges: Vec::new(), notes: Vec::new() };
        match (self, source) {
            (Spec::Pca(pca), Source::Points(x)) => Ok(whole(AnyModel::Pca(pca.run_planned(plan, x, exec)?), x.n())),
            (Spec::Pca(pca), Source::Sparse(x)) => Ok(whole(AnyModel::Pca(pca.run_sparse(&plan, x, exec)?), x.n())),
            (Spec::KernelPca(_), Source::Sparse(_)) => Err(not_sparse()),
            (Spec::Pca(pca), Source::Batches(batches)) => pca.run_batches(&plan, batches, exec),
            (Spec::Pca(_), Source::Gram(_) | Source::Operator(_)) => Err(not_for_pca()),
            (Spec::KernelPca(kernel), Source::Points(x)) => {
                Ok(whole(AnyModel::KernelPca(kernel.run_planned(plan, x, exec)?), x.n()))
            }
            (Spec::KernelPca(kernel), Source::Gram(gram)) => {
                Ok(whole(AnyModel::KernelPca(kernel.run_gram(plan, gram, exec)?), gram.n()))
            }
            (Spec::KernelPca(kernel), Source::Operator(op)) => {
                Ok(whole(AnyModel::KernelPca(kernel.run_op(plan, op, exec)?), op.n()))
            }
            (Spec::KernelPca(kernel), Source::Batches(batches)) => kernel.run_batches(&plan, batches, exec),
        }
    }
}

/// The number of points, as large as it gets where it is not known.
fn known(batches: &dyn Batches) -> usize {
    batches.n().map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX))
}

fn not_for_pca() -> Error {
    ErrorKind::Unsupported {
        what: "PCA is fitted to points, not to a Gram matrix or an operator".into(),
        remedy: "use kernel PCA without a kernel".into(),
    }
    .into()
}

fn not_sparse() -> Error {
    ErrorKind::Unsupported {
        what: "kernel PCA does not take sparse points".into(),
        remedy: "make them dense with Csr::to_points, or use PCA".into(),
    }
    .into()
}

impl Pca {
    /// One pass over the batches by the planned route, and a second one by another, where small components lose their
    /// digits by the first.
    fn run_batches(&self, plan: &Plan, batches: &mut dyn Batches, exec: &Exec) -> Result<Fitted> {
        let (mut fitted, lost) = self.one_pass(plan, batches, exec)?;
        if let Some(lost) = lost.filter(|_| self.get_route() == Route::Auto) {
            match Pca::replan(plan, exec) {
                Ok(next) => {
                    fitted = self.one_pass(&next, batches, exec)?.0;
                    let note = format!("covariance route replaced by svd, in a second pass over the data: {lost}");
                    fitted.notes.push(note);
                }
                Err(needed) => fitted.notes.push(format!("{lost}; svd needs {needed}")),
            }
        }
        Ok(fitted)
    }

    /// The model of one pass, and a note where its small components lose their digits.
    fn one_pass(&self, plan: &Plan, batches: &mut dyn Batches, exec: &Exec) -> Result<(Fitted, Option<String>)> {
        let pca = self.clone().route(plan.route.of_pca()?);
        let mut state = pca.state(batches.d())?;
        batches.each(&mut |batch| state.update_any(batch, exec))?;
        let (model, lost) = pca.finish_saying(&state, exec)?;
        let ranges = if model.embedding().is_identity() { state.ranges() } else { Vec::new() };
        Ok((Fitted { model: AnyModel::Pca(model), n: state.n(), ranges, notes: Vec::new() }, lost))
    }
}

impl KernelPca {
    /// Two passes over the batches: a sample to choose landmarks from, then sums over all points.
    fn run_batches(&self, plan: &Plan, batches: &mut dyn Batches, exec: &Exec) -> Result<Fitted> {
        let landmarks =
            plan.landmarks().ok_or_else(|| Error::inconsistent("a plan for batches of points is by landmarks"))?;
        let spec = self.clone().landmarks(landmarks.landmarks.clone());
        let mut survey = Survey::new(batches.d(), spec.sample_size(), 0);
        batches.each(&mut |batch| {
            spec.check_domain(batch)?; // here, where the row is known
            survey.update_any(batch, exec)
        })?;
        // Batches of an unknown number of points are planned again once they are counted.
        let basis = match survey.n() == plan.n as u64 {
            true => spec.basis_planned(landmarks, &survey, exec)?,
            false => spec.basis(&survey, exec)?,
        };
        let mut state = LandmarkState::new(&basis);
        batches.each(&mut |batch| state.update_any(&basis, batch, exec))?;
        let model: KernelPcaModel = spec.finish(&basis, &state, exec)?;
        let mut notes = Vec::new();
        if survey.n() > survey.sample().n() as u64 {
            notes
                .push(format!("landmarks and automatic parameters come from a sample of {} rows", survey.sample().n()));
        }
        Ok(Fitted { model: AnyModel::KernelPca(model), n: state.n(), ranges: survey.ranges(), notes })
    }
}

impl AnyModel {
    /// Scores of the points that the model was fitted to, which are given again: a model by landmarks keeps none of them.
    ///
    /// # Errors
    /// As [`AnyModel::transform`].
    pub fn fitted_scores<'a, T: Real>(&self, points: impl Into<PointsRef<'a, T>>, exec: &Exec) -> Result<Points<f64>> {
        match self {
            AnyModel::KernelPca(model) if model.is_exact() => Ok(model.scores()),
            AnyModel::Pca(_) | AnyModel::KernelPca(_) | AnyModel::Nystroem(_) => self.transform(points, exec),
        }
    }
}
