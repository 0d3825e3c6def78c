//! Fitting.

use std::sync::{Arc, Mutex, PoisonError};

use mercer::{
    AnyModel, Approx, Block, Components, ErrorKind, Exec, Kernel, KernelPca, Landmarks, Layout, Pca, PcaModel, Plan,
    PlannedRoute, PointsRef, Real, Route, Standardise, SymOp, Way,
};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyTuple};

use crate::array::{Array, SparseRows, Table, owned, points, table, with_points};
use crate::error::python;
use crate::kernels::read;
use crate::model::Model;
use crate::records::PyPlan;
use crate::run::{Options, work, work_apart};

/// How many components: all, a number, or a share of the variance.
#[derive(FromPyObject)]
pub(crate) enum Wanted {
    Count(usize),
    Share(f64),
}

fn components(wanted: Option<Wanted>) -> Components {
    match wanted {
        None => Components::All,
        Some(Wanted::Count(k)) => Components::Count(k),
        Some(Wanted::Share(share)) => Components::Share(share),
    }
}

pub(crate) fn kernel_pca(
    kernel: Option<Kernel>,
    wanted: Option<Wanted>,
    tolerance: Option<f64>,
    dense: bool,
) -> KernelPca {
    let spec = kernel.map_or_else(KernelPca::custom, KernelPca::new).components(components(wanted)).dense(dense);
    match tolerance {
        Some(tolerance) => spec.tolerance(tolerance),
        None => spec,
    }
}

/// Landmarks: how they are chosen ("none", "auto", "uniform", "kmeans", "rpcholesky", "given", "trace"), how many, those that
/// are given, and the trace error.
#[derive(FromPyObject)]
pub(crate) struct Approximate(String, Option<usize>, Option<Py<PyAny>>, Option<f64>);

impl Approximate {
    pub(crate) fn of(&self, spec: KernelPca) -> PyResult<KernelPca> {
        let many = self.1.unwrap_or(1000);
        let landmarks = match self.0.as_str() {
            "none" => return Ok(spec),
            "auto" => return Ok(spec.approx(Approx::Auto)),
            "uniform" => Landmarks::Uniform(many),
            "kmeans" => Landmarks::KMeans(many),
            "rpcholesky" => Landmarks::RpCholesky(many),
            "trace" => Landmarks::TraceError(self.3.unwrap_or(0.01)),
            "given" => {
                let points = self.2.as_ref().ok_or_else(|| PyValueError::new_err("no landmarks were given"))?;
                let points = Python::attach(|py| {
                    let array: PyReadonlyArray2<'_, f64> = points.extract(py)?;
                    owned(&array)
                })?;
                Landmarks::Given(points)
            }
            other => return Err(PyValueError::new_err(format!("'{other}' is no way to choose landmarks"))),
        };
        Ok(spec.landmarks(landmarks))
    }
}

/// Kernel PCA of points with a kernel given as text.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn fit_kernel(
    py: Python<'_>,
    kernel: &str,
    x: Array<'_>,
    wanted: Option<Wanted>,
    tolerance: Option<f64>,
    dense: bool,
    approximate: Approximate,
    options: Options,
) -> PyResult<Model> {
    let spec = approximate.of(kernel_pca(Some(read(kernel)?), wanted, tolerance, dense))?;
    with_points!(x, |x| fit_points(py, &spec, x, &options))
}

fn fit_points<T: Real>(py: Python<'_>, spec: &KernelPca, x: PointsRef<'_, T>, options: &Options) -> PyResult<Model> {
    let plan = spec.plan(x.n(), x.d(), &options.exec()).map_err(python)?;
    let model = match plan.route {
        // The decomposition of a stored matrix is not interrupted; its points are few enough to be copied.
        PlannedRoute::Dense => {
            let (spec, x) = (spec.clone(), x.to_f64());
            work_apart(py, options, move |exec| spec.fit_planned(plan, &x, exec))?
        }
        _ => work(py, options, |exec| spec.fit_planned(plan, x, exec))?,
    };
    Ok(Model::new(AnyModel::KernelPca(model)))
}

/// Kernel PCA of a Gram matrix.
#[pyfunction]
pub(crate) fn fit_gram(
    py: Python<'_>,
    gram: PyReadonlyArray2<'_, f64>,
    wanted: Option<Wanted>,
    tolerance: Option<f64>,
    dense: bool,
    options: Options,
) -> PyResult<Model> {
    let spec = kernel_pca(None, wanted, tolerance, dense);
    let gram = points(&gram)?;
    let gram = py.detach(|| gram.to_f64());
    let model = work_apart(py, &options, move |exec| spec.fit_gram_with(&gram, exec))?;
    Ok(Model::new(AnyModel::KernelPca(model)))
}

/// A symmetric operator that is a function of the user's: blocks of vectors in, blocks of vectors out.
struct Operator {
    apply: Py<PyAny>,
    diagonal: Vec<f64>,
    /// What the function raised.
    raised: Arc<Mutex<Option<PyErr>>>,
}

impl SymOp for Operator {
    fn n(&self) -> usize {
        self.diagonal.len()
    }

    fn apply(&self, x: &Block, y: &mut Block, exec: &Exec) -> mercer::Result<()> {
        if exec.is_cancelled() {
            return Err(ErrorKind::Cancelled.into());
        }
        Python::attach(|py| -> PyResult<()> {
            let columns = PyArray1::from_slice(py, x.as_slice()).reshape([x.b(), x.n()])?;
            let exec = exec.clone();
            let is_cancelled = move |_: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| exec.is_cancelled();
            let is_cancelled = PyCFunction::new_closure(py, None, None, is_cancelled)?;
            let image = self.apply.call1(py, (columns, is_cancelled))?;
            let image: PyReadonlyArray2<'_, f64> = image.extract(py)?;
            let image = image.as_slice()?;
            if image.len() != y.as_slice().len() {
                return Err(PyValueError::new_err("the kernel callback changed the shape of the vectors"));
            }
            y.as_mut_slice().copy_from_slice(image);
            Ok(())
        })
        .map_err(|error| {
            let what = error.to_string();
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            ErrorKind::Unsupported { what, remedy: "the kernel callback raised; fix it".into() }.into()
        })
    }

    fn diagonal(&self, _: &Exec) -> mercer::Result<Option<Vec<f64>>> {
        Ok(Some(self.diagonal.clone()))
    }
}

/// Kernel PCA of an operator: `apply` takes a block of vectors, a row per vector, and returns their images so. It is also
/// given a function that tells whether it had better stop.
#[pyfunction]
pub(crate) fn fit_operator(
    py: Python<'_>,
    apply: Py<PyAny>,
    diagonal: PyReadonlyArray1<'_, f64>,
    wanted: Option<Wanted>,
    tolerance: Option<f64>,
    options: Options,
) -> PyResult<Model> {
    let spec = kernel_pca(None, wanted, tolerance, false);
    let raised = Arc::new(Mutex::new(None));
    let op = Operator { apply, diagonal: diagonal.as_slice()?.to_vec(), raised: Arc::clone(&raised) };
    // What the function raised comes out as it was.
    let model = work(py, &options, |exec| spec.fit_op_with(&op, exec))
        .map_err(|error| raised.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or(error))?;
    Ok(Model::new(AnyModel::KernelPca(model)))
}

pub(crate) fn pca(wanted: Option<Wanted>, center: bool, scale: bool, route: &str) -> PyResult<Pca> {
    let route = Route::from_name(route).ok_or_else(|| PyValueError::new_err(format!("'{route}' is not a route")))?;
    Ok(Pca::new().components(components(wanted)).center(center).standardise(scale).route(route))
}

fn with_tolerance(spec: Pca, tolerance: Option<f64>) -> Pca {
    match tolerance {
        Some(tolerance) => spec.tolerance(tolerance),
        None => spec,
    }
}

/// PCA of points, in the way that their sizes ask for.
#[pyfunction]
#[pyo3(signature = (x, wanted, center, scale, route, options, tolerance=None))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn fit_pca(
    py: Python<'_>,
    x: Array<'_>,
    wanted: Option<Wanted>,
    center: bool,
    scale: bool,
    route: &str,
    options: Options,
    tolerance: Option<f64>,
) -> PyResult<Model> {
    fn fit<T: Real>(spec: &Pca, x: PointsRef<'_, T>, exec: &Exec) -> mercer::Result<PcaModel> {
        match spec.way(x.n(), x.d(), Layout::Dense, exec) {
            Way::Passes { .. } => spec.fit_by_passes_with(x, exec),
            Way::Whole { .. } => spec.fit_with(x, exec),
        }
    }
    let spec = with_tolerance(pca(wanted, center, scale, route)?, tolerance);
    let model = with_points!(x, |x| work(py, &options, |exec| fit(&spec, x, exec)))?;
    Ok(Model::new(AnyModel::Pca(model)))
}

/// PCA of sparse points.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn fit_sparse(
    py: Python<'_>,
    x: SparseRows<'_>,
    wanted: Option<Wanted>,
    center: bool,
    scale: bool,
    route: &str,
    options: Options,
    tolerance: Option<f64>,
) -> PyResult<Model> {
    let spec = with_tolerance(pca(wanted, center, scale, route)?, tolerance);
    let x = x.points()?;
    let model = work_apart(py, &options, move |exec| spec.fit_sparse_with(&x, exec))?;
    Ok(Model::new(AnyModel::Pca(model)))
}

/// Orthonormal rows, and others after them so that there are `width`.
#[pyfunction]
pub(crate) fn complete_axes<'py>(
    py: Python<'py>,
    axes: PyReadonlyArray2<'_, f64>,
    width: usize,
) -> PyResult<Table<'py>> {
    let axes = owned(&axes)?;
    table(py, py.detach(|| mercer::complete_axes(&axes, width)))
}

/// PCA of n points by their scatter matrix about a mean, after they were divided by a scale.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn fit_scatter(
    py: Python<'_>,
    scatter: PyReadonlyArray2<'_, f64>,
    mean: Vec<f64>,
    scale: Vec<f64>,
    n: usize,
    wanted: Option<Wanted>,
    center: bool,
    standardise: bool,
    options: Options,
) -> PyResult<Model> {
    let spec = pca(wanted, center, standardise, "covariance")?;
    let scatter = owned(&scatter)?;
    let (rows, columns) = (scatter.n(), scatter.d());
    // Symmetric: rows and columns are the same.
    let scatter = Block::from_columns(scatter.into_vec(), columns, rows)
        .ok_or_else(|| PyValueError::new_err("a scatter matrix is square"))?;
    let at = Standardise { mean, scale };
    let model = work_apart(py, &options, move |exec| spec.fit_scatter(&scatter, at, n, exec))?;
    Ok(Model::new(AnyModel::Pca(model)))
}

fn record(plan: mercer::Result<Plan>) -> PyResult<PyPlan> {
    plan.map(PyPlan).map_err(python)
}

/// What fitting kernel PCA will do and need; without a kernel, of a Gram matrix.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn plan_kernel(
    kernel: Option<&str>,
    n: usize,
    d: usize,
    wanted: Option<Wanted>,
    tolerance: Option<f64>,
    dense: bool,
    approximate: Approximate,
    options: Options,
) -> PyResult<PyPlan> {
    let given = kernel.is_none();
    let spec = approximate.of(kernel_pca(kernel.map(read).transpose()?, wanted, tolerance, dense))?;
    record(if given { spec.plan_gram(n, &options.exec()) } else { spec.plan(n, d, &options.exec()) })
}

/// What fitting an operator will do and need.
#[pyfunction]
pub(crate) fn plan_operator(
    n: usize,
    wanted: Option<Wanted>,
    tolerance: Option<f64>,
    options: Options,
) -> PyResult<PyPlan> {
    record(kernel_pca(None, wanted, tolerance, false).plan_op(n, &options.exec()))
}

/// What fitting PCA will do and need.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn plan_pca(
    n: usize,
    d: usize,
    sparse: bool,
    wanted: Option<Wanted>,
    center: bool,
    route: &str,
    options: Options,
    tolerance: Option<f64>,
) -> PyResult<PyPlan> {
    let layout = if sparse { Layout::Sparse } else { Layout::Dense };
    record(with_tolerance(pca(wanted, center, false, route)?, tolerance).plan_way(n, d, layout, &options.exec()))
}
