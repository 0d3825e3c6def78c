//! States of data that comes in batches or lies on a cluster: sums that are merged and sent between processes as bytes.

use std::sync::{Arc, Mutex, PoisonError};

use mercer::state::{BlockFacts, LandmarkBasis, LandmarkState, PassState, PcaState, RowBlock, Survey};
use mercer::{AnyModel, Block, ErrorKind};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};

use crate::array::{Array, Table, owned, points, table, with_points};
use crate::error::python;
use crate::model::Model;
use crate::records::{PyBlockFacts, PyPlan};
use crate::run::{Options, work, work_apart, work_of};
use crate::spec::PySpec;

/// What pickle and skops store: a class and its arguments.
type Reduced<'py> = (Bound<'py, PyType>, (Bound<'py, PyBytes>,));

/// The result of `to_bytes`, which fails for some types of the library and not for others.
trait Encoded {
    fn encoded(self) -> mercer::Result<Vec<u8>>;
}

impl Encoded for Vec<u8> {
    fn encoded(self) -> mercer::Result<Vec<u8>> {
        Ok(self)
    }
}

impl Encoded for mercer::Result<Vec<u8>> {
    fn encoded(self) -> mercer::Result<Vec<u8>> {
        self
    }
}

/// Declares a Python class around a type of the library that is sent as bytes: getters that forward to methods of the
/// same name, `to_bytes`, a constructor that takes these bytes, pickling, and the methods in the last braces.
macro_rules! wrapper {
    ($(#[$($attribute:tt)*])* $class:ident($inner:ident) get { $($get:ident: $kind:ty),* } { $($methods:tt)* }) => {
        $(#[$($attribute)*])*
        pub(crate) struct $class($inner);

        #[pymethods]
        impl $class {
            $(
                #[getter]
                fn $get(&self) -> $kind {
                    self.0.$get()
                }
            )*

            fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
                Ok(PyBytes::new(py, &py.detach(|| self.0.to_bytes().encoded()).map_err(python)?))
            }

            #[new]
            fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
                py.detach(|| $inner::from_bytes(bytes)).map($class).map_err(python)
            }

            fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
                Ok((py.get_type::<Self>(), (self.to_bytes(py)?,)))
            }

            $($methods)*
        }
    };
}

/// As `wrapper`, with `merge`.
macro_rules! state {
    ($(#[$($attribute:tt)*])* $class:ident($inner:ident) get { $($get:tt)* } { $($methods:tt)* }) => {
        wrapper! {
            $(#[$($attribute)*])*
            $class($inner) get { $($get)* } {
                fn merge(&mut self, other: &Self) -> PyResult<()> {
                    self.0.merge(&other.0).map_err(python)
                }

                $($methods)*
            }
        }
    };
}

/// As `state`, with an `update` that takes points and nothing else. An update that fails leaves the state as it was.
macro_rules! state_of_points {
    ($(#[$($attribute:tt)*])* $class:ident($inner:ident) get { $($get:tt)* } { $($methods:tt)* }) => {
        state! {
            $(#[$($attribute)*])*
            $class($inner) get { $($get)* } {
                fn update(&mut self, py: Python<'_>, x: Array<'_>, options: Options) -> PyResult<()> {
                    let mut state = self.0.clone();
                    self.0 = with_points!(x, |x| {
                        let flops = 2.0 * x.n() as f64 * (x.d() as f64).powi(2);
                        work_of(py, &options, flops, |exec| state.update(x, exec).map(|()| state))
                    })?;
                    Ok(())
                }

                $($methods)*
            }
        }
    };
}

state_of_points! {
    /// The state of PCA.
    #[pyclass(module = "mercer._mercer", name = "PcaState")]
    PyPcaState(PcaState) get { n: u64, d: usize, mean: Vec<f64>, squares: Vec<f64> } {
        /// Starts without points, by a route that can take batches: "covariance", or "svd" for small components.
        #[staticmethod]
        fn start(d: usize, spec: PySpec) -> PyResult<Self> {
            spec.pca()?.state(d).map(PyPcaState).map_err(python)
        }

        /// Returns the model of all points so far, by the route that the state was started with.
        fn finish(&self, py: Python<'_>, spec: PySpec, options: Options) -> PyResult<Model> {
            let (asked, spec, state) = (spec.0.clone(), spec.pca()?, self.0.clone());
            let model = work_apart(py, &options, move |exec| spec.finish(&state, exec))?;
            Ok(Model::of(AnyModel::Pca(model), asked))
        }
    }
}

state_of_points! {
    /// A sample of the rows, and what landmarks and the numbers of a kernel are chosen from.
    #[pyclass(module = "mercer._mercer", name = "Survey")]
    PySurvey(Survey) get { n: u64, d: usize } {
        /// Starts without points.
        #[staticmethod]
        fn start(d: usize, most: usize, part: u64) -> Self {
            PySurvey(Survey::new(d, most, part))
        }
    }
}

state! {
    /// Sums over points of their kernel values with the landmarks.
    #[pyclass(module = "mercer._mercer", name = "LandmarkState")]
    PyLandmarkState(LandmarkState) get { n: u64 } {
        fn update(&mut self, py: Python<'_>, basis: &PyLandmarkBasis, x: Array<'_>, options: Options) -> PyResult<()> {
            let state = &mut self.0;
            with_points!(x, |x| work(py, &options, |exec| state.update(&basis.0, x, exec)))
        }
    }
}

wrapper! {
    /// Landmarks, and the kernel with its numbers: what stays fixed while batches are read.
    #[pyclass(module = "mercer._mercer", name = "LandmarkBasis", frozen)]
    PyLandmarkBasis(LandmarkBasis) get { landmarks: usize, d: usize } {
        /// Chooses landmarks from a survey.
        #[staticmethod]
        fn choose(py: Python<'_>, spec: PySpec, survey: &PySurvey, options: Options) -> PyResult<Self> {
            let (spec, survey) = (spec.kernel_pca()?, survey.0.clone());
            work_apart(py, &options, move |exec| spec.basis(&survey, exec)).map(PyLandmarkBasis)
        }

        /// Returns how many rows a survey should sample for the landmarks.
        #[staticmethod]
        fn sample_size(spec: PySpec) -> PyResult<usize> {
            Ok(spec.kernel_pca()?.sample_size())
        }

        #[getter]
        fn kernel(&self) -> String {
            self.0.kernel().to_string()
        }

        /// Returns the state of no points.
        fn state(&self) -> PyLandmarkState {
            PyLandmarkState(LandmarkState::new(&self.0))
        }

        fn finish(
            &self,
            py: Python<'_>,
            state: &PyLandmarkState,
            spec: PySpec,
            options: Options,
        ) -> PyResult<Model> {
            let (asked, spec) = (spec.0.clone(), spec.kernel_pca()?);
            let (basis, state) = (self.0.clone(), state.0.clone());
            let model = work_apart(py, &options, move |exec| spec.finish(&basis, &state, exec))?;
            Ok(Model::of(AnyModel::KernelPca(model), asked))
        }

        /// Returns what the driver needs of the rows of a block before the first pass.
        fn facts(&self, py: Python<'_>, x: PyReadonlyArray2<'_, f64>) -> PyResult<PyBlockFacts> {
            let x = points(&x)?;
            py.detach(|| self.0.facts(x)).map(PyBlockFacts).map_err(python)
        }

        /// Returns sum_i k(x, x_i) alpha_i over the rows x_i of a block.
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
    }
}

/// A block: its number, its rows, and its rows of the vectors.
type PyBlock<'py> = (u64, PyReadonlyArray2<'py, f64>, PyReadonlyArray2<'py, f64>);

wrapper! {
    /// The sums of one pass over pairs of blocks.
    #[pyclass(module = "mercer._mercer", name = "PassState")]
    PyPassState(PassState) get { squares: f64 } {
        /// Starts without pairs of blocks.
        #[staticmethod]
        fn start() -> Self {
            PyPassState(PassState::new())
        }

        /// Adds a pair of blocks, or a block with itself.
        fn update(
            &mut self,
            py: Python<'_>,
            basis: &PyLandmarkBasis,
            first: PyBlock<'_>,
            second: Option<PyBlock<'_>>,
            single_precision: bool,
            options: Options,
        ) -> PyResult<()> {
            fn block<'a>(b: &'a PyBlock<'_>) -> PyResult<RowBlock<'a>> {
                Ok(RowBlock { number: b.0, points: points(&b.1)?, vectors: points(&b.2)? })
            }
            let (first, second) = (block(&first)?, second.as_ref().map(block).transpose()?);
            let state = &mut self.0;
            work(py, &options, |exec| state.update(&basis.0, first, second, single_precision, exec))
        }

        /// Returns the sums of one block, a row per point.
        fn block<'py>(&self, py: Python<'py>, number: u64) -> PyResult<Table<'py>> {
            let sums = self.0.block(number);
            let sums = sums.ok_or_else(|| PyValueError::new_err(format!("the pass has no block {number}")))?;
            table(py, sums.clone())
        }
    }
}

/// Fits exact kernel PCA to rows that are not in this process. `apply(vectors, single_precision)` takes vectors, a row
/// each, and returns their images in the same form and the Frobenius norm of the matrix.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // of Python
pub(crate) fn fit_remote(
    py: Python<'_>,
    spec: PySpec,
    plan: &PyPlan,
    basis: &PyLandmarkBasis,
    facts: Vec<PyRef<'_, PyBlockFacts>>,
    start: PyReadonlyArray2<'_, f64>,
    apply: Py<PyAny>,
    options: Options,
) -> PyResult<Model> {
    let (asked, spec, plan) = (spec.0.clone(), spec.kernel_pca()?, &plan.0);
    let facts: Vec<BlockFacts> = facts.iter().map(|facts| facts.0.clone()).collect();
    let start = owned(&start)?;
    let raised: Arc<Mutex<Option<PyErr>>> = Arc::new(Mutex::new(None));
    let pass = |x: &Block, single_precision: bool| -> mercer::Result<(Block, f64)> {
        Python::attach(|py| -> PyResult<(Block, f64)> {
            let vectors = PyArray1::from_slice(py, x.as_slice()).reshape([x.b(), x.n()])?;
            let (images, norm): (PyReadonlyArray2<'_, f64>, f64) =
                apply.call1(py, (vectors, single_precision))?.extract(py).map_err(|e: PyErr| e)?;
            let values = images.as_slice()?.to_vec();
            let images = Block::from_columns(values, x.n(), x.b());
            Ok((images.ok_or_else(|| PyValueError::new_err("a pass changed the shape of the vectors"))?, norm))
        })
        .map_err(|error| {
            let what = error.to_string();
            *raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            ErrorKind::Unsupported { what, remedy: "a pass on the cluster failed; see its log".into() }.into()
        })
    };
    let model = work(py, &options, |exec| spec.fit_remote(plan, &basis.0, &facts, &start, &pass, exec))
        .map_err(|error| raised.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or(error))?;
    Ok(Model::of(AnyModel::KernelPca(model), asked))
}
