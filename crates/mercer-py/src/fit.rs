//! Fitting.

use std::sync::{Arc, Mutex, PoisonError};

use mercer::op::SymOp;
use mercer::plan::PlannedRoute;
use mercer::{AnyModel, Block, ErrorKind, Exec, Plan, PointsRef, Real, Source, Spec, Standardise};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyTuple};

use crate::array::{Array, SparseRows, Table, owned, points, table, with_points};
use crate::error::python;
use crate::model::Model;
use crate::records::PyPlan;
use crate::run::{LITTLE, Options, work, work_apart, work_of};
use crate::spec::PySpec;

/// Fits points, by PCA or by kernel PCA.
#[pyfunction]
pub(crate) fn fit_points(py: Python<'_>, spec: PySpec, x: Array<'_>, options: Options) -> PyResult<Model> {
    with_points!(x, |x| fit(py, spec.0, x, &options))
}

fn fit<T: Real>(py: Python<'_>, spec: Spec, x: PointsRef<'_, T>, options: &Options) -> PyResult<Model> {
    let plan = spec.plan(&Source::points(x), &options.exec()).map_err(python)?;
    let asked = spec.clone();
    let flops = plan.flops;
    let fitted = match plan.route {
        PlannedRoute::Dense if flops < LITTLE => {
            work_of(py, options, flops, |exec| spec.run(plan, Source::points(x), exec))?
        }
        // The decomposition of a stored matrix is not interrupted; its points are few enough to be copied.
        PlannedRoute::Dense => {
            let x = x.to_f64();
            work_apart(py, options, move |exec| spec.run(plan, Source::points(&x), exec))?
        }
        _ => work_of(py, options, flops, |exec| spec.run(plan, Source::points(x), exec))?,
    };
    Ok(Model::of(fitted.model, asked))
}

/// Kernel PCA of a Gram matrix.
#[pyfunction]
pub(crate) fn fit_gram(
    py: Python<'_>,
    spec: PySpec,
    gram: PyReadonlyArray2<'_, f64>,
    plan: &PyPlan,
    options: Options,
) -> PyResult<Model> {
    let gram = points(&gram)?;
    let gram = py.detach(|| gram.to_f64());
    let (asked, plan) = (spec.0.clone(), plan.0.clone());
    let fitted = work_apart(py, &options, move |exec| spec.0.run(plan, Source::gram(&gram), exec))?;
    Ok(Model::of(fitted.model, asked))
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
    spec: PySpec,
    apply: Py<PyAny>,
    diagonal: PyReadonlyArray1<'_, f64>,
    plan: &PyPlan,
    options: Options,
) -> PyResult<Model> {
    let raised = Arc::new(Mutex::new(None));
    let plan = plan.0.clone();
    let op = Operator { apply, diagonal: diagonal.as_slice()?.to_vec(), raised: Arc::clone(&raised) };
    // What the function raised comes out as it was.
    let asked = spec.0.clone();
    let fitted = work(py, &options, |exec| spec.0.run(plan, Source::Operator(&op), exec))
        .map_err(|error| raised.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or(error))?;
    Ok(Model::of(fitted.model, asked))
}

/// Fits sparse points, by PCA.
#[pyfunction]
pub(crate) fn fit_sparse(py: Python<'_>, spec: PySpec, x: SparseRows<'_>, options: Options) -> PyResult<Model> {
    let x = x.points()?;
    let asked = spec.0.clone();
    let fitted = work_apart(py, &options, move |exec| spec.0.fit(Source::Sparse(&x), exec))?;
    Ok(Model::of(fitted.model, asked))
}

/// Orthonormal rows, and others after them so that there are `width`.
#[pyfunction]
pub(crate) fn complete_axes<'py>(
    py: Python<'py>,
    axes: PyReadonlyArray2<'_, f64>,
    width: usize,
) -> PyResult<Table<'py>> {
    let axes = owned(&axes)?;
    table(py, py.detach(|| mercer::axes::complete_axes(&axes, width)))
}

/// PCA of n points by their scatter matrix about a mean, after they were divided by a scale.
#[pyfunction]
pub(crate) fn fit_scatter(
    py: Python<'_>,
    spec: PySpec,
    scatter: PyReadonlyArray2<'_, f64>,
    mean: Vec<f64>,
    scale: Vec<f64>,
    n: usize,
    options: Options,
) -> PyResult<Model> {
    let spec = spec.pca()?;
    let scatter = owned(&scatter)?;
    let (rows, columns) = (scatter.n(), scatter.d());
    // Symmetric: rows and columns are the same.
    let scatter = Block::from_columns(scatter.into_vec(), columns, rows)
        .ok_or_else(|| PyValueError::new_err("a scatter matrix is square"))?;
    let at = Standardise { mean, scale };
    let model = work_apart(py, &options, move |exec| spec.fit_scatter(&scatter, at, n, exec))?;
    Ok(Model::new(AnyModel::Pca(model)))
}

/// What a fit will do and need: of n points of d dimensions here ("points", "sparse") or elsewhere ("remote"), or of the Gram
/// matrix ("gram"), the kernel function ("function") or the operator ("operator") of n points.
#[pyfunction]
pub(crate) fn plan(spec: PySpec, kind: &str, n: usize, d: usize, options: Options) -> PyResult<PyPlan> {
    let exec = options.exec();
    let plan: mercer::Result<Plan> = match (kind, spec) {
        ("points", PySpec(Spec::Pca(pca))) => pca.plan(n, d, &exec),
        ("sparse", spec) => spec.pca()?.plan_sparse(n, d, &exec),
        ("points", spec) => spec.kernel_pca()?.plan(n, d, &exec),
        ("gram", spec) => spec.kernel_pca()?.plan_gram(n, &exec),
        ("function", spec) => spec.kernel_pca()?.plan_function(n, &exec),
        ("remote", spec) => spec.kernel_pca()?.plan_remote(n, d, &exec),
        ("operator", spec) => spec.kernel_pca()?.plan_op(n, &exec),
        _ => {
            return Err(PyValueError::new_err(format!(
                "kind={kind:?} is not 'points', 'sparse', 'gram', 'function', 'operator' or 'remote'"
            )));
        }
    };
    plan.map(PyPlan).map_err(python)
}
