//! States: what is known of points that come in batches, and travels from one process to another.

use std::sync::{Arc, Mutex, PoisonError};

use mercer::{
    AnyModel, Block, BlockFacts, ErrorKind, KernelPca, LandmarkBasis, LandmarkState, PassState, PcaState, Points,
    RowBlock, Survey,
};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::PyTypeInfo;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::array::{Array, Table, owned, points, table, with_points};
use crate::error::python;
use crate::fit::{Approximate, Wanted, kernel_pca, pca};
use crate::kernels::read;
use crate::model::Model;
use crate::run::{Options, work, work_apart};

/// What pickle takes: a function and its arguments.
type Reduced<'py> = (Bound<'py, PyAny>, (Bound<'py, PyBytes>,));

fn reduced<'py, C: PyTypeInfo>(py: Python<'py>, bytes: Bound<'py, PyBytes>) -> PyResult<Reduced<'py>> {
    Ok((py.get_type::<C>().getattr("from_bytes")?, (bytes,)))
}

/// PCA of batches.
#[pyclass(module = "mercer._mercer", name = "PcaState")]
pub(crate) struct PyPcaState(PcaState);

#[pymethods]
impl PyPcaState {
    /// Of no points of d dimensions, by a route that batches can take: "covariance", or "svd" for small components.
    #[new]
    fn new(d: usize, route: &str) -> PyResult<Self> {
        pca(None, true, false, route)?.state(d).map(PyPcaState).map_err(python)
    }

    fn update(&mut self, py: Python<'_>, x: Array<'_>, options: Options) -> PyResult<()> {
        let mut state = self.0.clone();
        self.0 = with_points!(x, |x| work(py, &options, |exec| state.update(x, exec).map(|()| state)))?;
        Ok(())
    }

    fn merge(&mut self, other: &Self) -> PyResult<()> {
        self.0.merge(&other.0).map_err(python)
    }

    #[getter]
    fn n(&self) -> u64 {
        self.0.n()
    }

    #[getter]
    fn d(&self) -> usize {
        self.0.d()
    }

    #[getter]
    fn mean(&self) -> Vec<f64> {
        self.0.mean()
    }

    /// sum (x - mean)^2 of each column.
    #[getter]
    fn squares(&self) -> Vec<f64> {
        self.0.squares()
    }

    fn finish(
        &self,
        py: Python<'_>,
        wanted: Option<Wanted>,
        center: bool,
        scale: bool,
        options: Options,
    ) -> PyResult<Model> {
        let spec = pca(wanted, center, scale, self.0.route().name())?;
        let state = self.0.clone();
        work_apart(py, &options, move |exec| spec.finish(&state, exec)).map(|m| Model::new(AnyModel::Pca(m)))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &py.detach(|| self.0.to_bytes()).map_err(python)?))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        py.detach(|| PcaState::from_bytes(bytes)).map(PyPcaState).map_err(python)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        reduced::<Self>(py, self.to_bytes(py)?)
    }
}

/// A survey of batches.
#[pyclass(module = "mercer._mercer", name = "Survey")]
pub(crate) struct PySurvey(Survey);

#[pymethods]
impl PySurvey {
    #[new]
    fn new(d: usize, most: usize, part: u64) -> Self {
        PySurvey(Survey::new(d, most, part))
    }

    fn update(&mut self, py: Python<'_>, x: Array<'_>, options: Options) -> PyResult<()> {
        let mut survey = self.0.clone();
        self.0 = with_points!(x, |x| work(py, &options, |exec| survey.update(x, exec).map(|()| survey)))?;
        Ok(())
    }

    fn merge(&mut self, other: &Self) -> PyResult<()> {
        self.0.merge(&other.0).map_err(python)
    }

    #[getter]
    fn n(&self) -> u64 {
        self.0.n()
    }

    #[getter]
    fn d(&self) -> usize {
        self.0.d()
    }

    fn sample<'py>(&self, py: Python<'py>) -> PyResult<Table<'py>> {
        table(py, self.0.sample())
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &py.detach(|| self.0.to_bytes())))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        py.detach(|| Survey::from_bytes(bytes)).map(PySurvey).map_err(python)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        reduced::<Self>(py, self.to_bytes(py)?)
    }
}

/// Landmarks and all else that stays fixed while points go by.
#[pyclass(module = "mercer._mercer", name = "LandmarkBasis", frozen)]
pub(crate) struct PyLandmarkBasis(LandmarkBasis);

/// k(x, x) of the rows of a block, the largest |x|^2, and that from the point in the middle on.
type Facts<'py> = (Bound<'py, PyArray1<f64>>, f64, f64);

#[pymethods]
impl PyLandmarkBasis {
    /// From a survey.
    #[new]
    fn new(
        py: Python<'_>,
        kernel: &str,
        survey: &PySurvey,
        scale: bool,
        approximate: Approximate,
        options: Options,
    ) -> PyResult<Self> {
        let spec = approximate.of(kernel_pca(Some(read(kernel)?), None, None, false))?.standardise(scale);
        let survey = survey.0.clone();
        work_apart(py, &options, move |exec| spec.basis(&survey, exec)).map(PyLandmarkBasis)
    }

    /// Rows that a survey should sample for these landmarks.
    #[staticmethod]
    fn sample_size(approximate: Approximate) -> PyResult<usize> {
        Ok(approximate.of(KernelPca::custom())?.sample_size())
    }

    #[getter]
    fn kernel(&self) -> String {
        self.0.kernel().to_string()
    }

    #[getter]
    fn landmarks(&self) -> usize {
        self.0.landmarks()
    }

    #[getter]
    fn d(&self) -> usize {
        self.0.d()
    }

    fn state(&self) -> PyLandmarkState {
        PyLandmarkState(LandmarkState::new(&self.0))
    }

    fn finish(
        &self,
        py: Python<'_>,
        state: &PyLandmarkState,
        wanted: Option<Wanted>,
        options: Options,
    ) -> PyResult<Model> {
        let spec = kernel_pca(None, wanted, None, false);
        let (basis, state) = (self.0.clone(), state.0.clone());
        let model = work_apart(py, &options, move |exec| spec.finish(&basis, &state, exec))?;
        Ok(Model::new(AnyModel::KernelPca(model)))
    }

    /// What the driver has to know of the rows of a block before the first pass.
    fn facts<'py>(&self, py: Python<'py>, x: PyReadonlyArray2<'_, f64>) -> PyResult<Facts<'py>> {
        let x = points(&x)?;
        let facts = py.detach(|| self.0.facts(x)).map_err(python)?;
        Ok((PyArray1::from_vec(py, facts.diagonal), facts.square, facts.reach))
    }

    /// sum_i k(x, x_i) alpha_i over the rows of a block.
    fn scores_part<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'_, f64>,
        block: PyReadonlyArray2<'_, f64>,
        alpha: PyReadonlyArray2<'_, f64>,
        options: Options,
    ) -> PyResult<Table<'py>> {
        let (x, block, alpha) = (points(&x)?, points(&block)?, points(&alpha)?);
        table(py, work(py, &options, |exec| self.0.scores_part(x, block, alpha, exec))?)
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &py.detach(|| self.0.to_bytes())))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        py.detach(|| LandmarkBasis::from_bytes(bytes)).map(PyLandmarkBasis).map_err(python)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        reduced::<Self>(py, self.to_bytes(py)?)
    }
}

/// Sums over points of what landmarks know of them.
#[pyclass(module = "mercer._mercer", name = "LandmarkState")]
pub(crate) struct PyLandmarkState(LandmarkState);

#[pymethods]
impl PyLandmarkState {
    fn update(&mut self, py: Python<'_>, basis: &PyLandmarkBasis, x: Array<'_>, options: Options) -> PyResult<()> {
        let state = &mut self.0;
        with_points!(x, |x| work(py, &options, |exec| state.update(&basis.0, x, exec)))
    }

    fn merge(&mut self, other: &Self) -> PyResult<()> {
        self.0.merge(&other.0).map_err(python)
    }

    #[getter]
    fn n(&self) -> u64 {
        self.0.n()
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &py.detach(|| self.0.to_bytes())))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        py.detach(|| LandmarkState::from_bytes(bytes)).map(PyLandmarkState).map_err(python)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        reduced::<Self>(py, self.to_bytes(py)?)
    }
}

/// One pass over pairs of blocks.
#[pyclass(module = "mercer._mercer", name = "PassState")]
pub(crate) struct PyPassState(PassState);

/// A block: its number, its rows, and its rows of the vectors.
type PyBlock<'py> = (u64, PyReadonlyArray2<'py, f64>, PyReadonlyArray2<'py, f64>);

#[pymethods]
impl PyPassState {
    #[new]
    fn new() -> Self {
        PyPassState(PassState::new())
    }

    /// Takes a pair of blocks, or a block with itself.
    fn update(
        &mut self,
        py: Python<'_>,
        basis: &PyLandmarkBasis,
        first: PyBlock<'_>,
        second: Option<PyBlock<'_>>,
        swift: bool,
        options: Options,
    ) -> PyResult<()> {
        fn block<'a>(b: &'a PyBlock<'_>) -> PyResult<RowBlock<'a>> {
            Ok(RowBlock { number: b.0, points: points(&b.1)?, vectors: points(&b.2)? })
        }
        let (first, second) = (block(&first)?, second.as_ref().map(block).transpose()?);
        let state = &mut self.0;
        work(py, &options, |exec| state.update(&basis.0, first, second, swift, exec))
    }

    fn merge(&mut self, other: &Self) -> PyResult<()> {
        self.0.merge(&other.0).map_err(python)
    }

    /// The sums of one block, a row per point.
    fn block<'py>(&self, py: Python<'py>, number: u64) -> PyResult<Table<'py>> {
        let sums = self.0.block(number).ok_or_else(|| PyValueError::new_err(format!("block {number} was not seen")))?;
        table(py, sums.clone())
    }

    /// The sum of the squares of the entries seen.
    #[getter]
    fn squares(&self) -> f64 {
        self.0.squares()
    }

    /// Y, a row per vector, and the Frobenius norm of the matrix.
    fn finish<'py>(&self, py: Python<'py>, blocks: u64) -> PyResult<(Table<'py>, f64)> {
        let (y, norm) = self.0.finish(blocks).map_err(python)?;
        let (n, b) = (y.n(), y.b());
        Ok((table(py, Points::new(y.as_slice().to_vec(), b, n).map_err(python)?)?, norm))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &py.detach(|| self.0.to_bytes())))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        py.detach(|| PassState::from_bytes(bytes)).map(PyPassState).map_err(python)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        reduced::<Self>(py, self.to_bytes(py)?)
    }
}

/// Exact kernel PCA of rows that lie elsewhere: `apply(vectors, swift)` takes vectors, a row each, and returns their images so,
/// and the Frobenius norm of the matrix.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn fit_remote(
    py: Python<'_>,
    basis: &PyLandmarkBasis,
    facts: Vec<(PyReadonlyArray1<'_, f64>, f64, f64)>,
    start: PyReadonlyArray2<'_, f64>,
    apply: Py<PyAny>,
    wanted: Option<Wanted>,
    tolerance: Option<f64>,
    options: Options,
) -> PyResult<Model> {
    let spec = kernel_pca(None, wanted, tolerance, false);
    let facts: Vec<BlockFacts> = facts
        .iter()
        .map(|(diagonal, square, reach)| {
            Ok(BlockFacts { diagonal: diagonal.as_slice()?.to_vec(), square: *square, reach: *reach })
        })
        .collect::<PyResult<_>>()?;
    let start = owned(&start)?;
    let raised: Arc<Mutex<Option<PyErr>>> = Arc::new(Mutex::new(None));
    let pass = |x: &Block, swift: bool| -> mercer::Result<(Block, f64)> {
        Python::attach(|py| -> PyResult<(Block, f64)> {
            let vectors = PyArray1::from_slice(py, x.as_slice()).reshape([x.b(), x.n()])?;
            let (images, norm): (PyReadonlyArray2<'_, f64>, f64) =
                apply.call1(py, (vectors, swift))?.extract(py).map_err(|e: PyErr| e)?;
            let values = images.as_slice()?.to_vec();
            let images = Block::from_columns(values, x.n(), x.b());
            Ok((images.ok_or_else(|| PyValueError::new_err("a pass gave another shape than it took"))?, norm))
        })
        .map_err(|error| {
            let what = error.to_string();
            *raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            ErrorKind::Unsupported { what, remedy: "see to the cluster".into() }.into()
        })
    };
    let model = work(py, &options, |exec| spec.fit_remote(&basis.0, &facts, &start, &pass, exec))
        .map_err(|error| raised.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or(error))?;
    Ok(Model::new(AnyModel::KernelPca(model)))
}
