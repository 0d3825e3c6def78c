//! Named records that are handed to Python.

use mercer::diagnose::Definiteness;
use mercer::state::BlockFacts;
use mercer::{PcaModel, Plan, Spectrum};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::array::{List, list};

/// What a fit will do and need.
#[pyclass(module = "mercer._mercer", name = "Plan", frozen)]
pub(crate) struct PyPlan(pub(crate) Plan);

#[pymethods]
impl PyPlan {
    #[getter]
    fn route(&self) -> &'static str {
        self.0.route.name()
    }

    /// Whether Nystroem landmarks stand for the points.
    #[getter]
    fn uses_landmarks(&self) -> bool {
        self.0.landmarks().is_some()
    }

    /// Whether the whole matrix is stored.
    #[getter]
    fn stores_matrix(&self) -> bool {
        self.0.stores_matrix()
    }

    /// Why this route was chosen.
    #[getter]
    fn why(&self) -> &str {
        &self.0.why
    }

    /// Memory at the peak, besides the data.
    #[getter]
    fn bytes(&self) -> u128 {
        self.0.bytes
    }

    /// Floating-point operations, roughly.
    #[getter]
    fn flops(&self) -> f64 {
        self.0.flops
    }

    /// The plan for a person to read.
    #[getter]
    fn text(&self) -> String {
        self.0.to_string()
    }

    /// Seconds on two ordinary cores, roughly.
    #[getter]
    fn seconds(&self) -> f64 {
        self.0.seconds()
    }
}

/// The eigenvalues of a model and what they are shares of.
#[pyclass(module = "mercer._mercer", name = "Spectrum", frozen, get_all)]
pub(crate) struct PySpectrum {
    /// Variances of the scores.
    variances: Py<PyArray1<f64>>,
    /// Shares of the true total variance.
    ratios: Py<PyArray1<f64>>,
    /// The sum of all eigenvalues.
    total: f64,
    /// The sum of the eigenvalues that were not kept.
    discarded: f64,
    /// The number of eigenvalues that are not zero.
    rank: usize,
    /// Whether all eigenvalues were computed.
    is_complete: bool,
}

impl PySpectrum {
    pub(crate) fn new(py: Python<'_>, spectrum: &Spectrum) -> Self {
        PySpectrum {
            variances: list(py, &spectrum.variances()).unbind(),
            ratios: list(py, &spectrum.ratios()).unbind(),
            total: spectrum.total(),
            discarded: spectrum.discarded(),
            rank: spectrum.rank(),
            is_complete: spectrum.is_complete(),
        }
    }
}

/// What PCA subtracts from points and divides them by.
#[pyclass(module = "mercer._mercer", name = "Location", frozen, get_all)]
pub(crate) struct PyLocation {
    mean: Py<PyArray1<f64>>,
    scale: Py<PyArray1<f64>>,
    is_centered: bool,
    is_standardised: bool,
    is_whitened: bool,
}

impl PyLocation {
    pub(crate) fn new(py: Python<'_>, model: &PcaModel) -> Self {
        PyLocation {
            mean: list(py, model.mean()).unbind(),
            scale: list(py, model.scale()).unbind(),
            is_centered: model.is_centered(),
            is_standardised: model.is_standardised(),
            is_whitened: model.is_whitened(),
        }
    }
}

/// The negative eigenvalues of a Gram matrix.
#[pyclass(module = "mercer._mercer", name = "NegativePart", frozen, get_all)]
pub(crate) struct PyNegativePart {
    /// How many there are.
    count: usize,
    /// The smallest.
    smallest: f64,
    /// The sum of their magnitudes, as a share of that of all eigenvalues.
    share: f64,
}

impl From<&Definiteness> for PyNegativePart {
    fn from(d: &Definiteness) -> Self {
        PyNegativePart { count: d.negative_count, smallest: d.smallest, share: d.negative_share() }
    }
}

/// What the driver needs of a block of rows before the first pass; it travels as a pickle.
#[pyclass(module = "mercer._mercer", name = "BlockFacts", frozen)]
pub(crate) struct PyBlockFacts(pub(crate) BlockFacts);

#[pymethods]
impl PyBlockFacts {
    #[new]
    fn new(diagonal: PyReadonlyArray1<'_, f64>, square: f64, reach: f64) -> PyResult<Self> {
        Ok(PyBlockFacts(BlockFacts { diagonal: diagonal.as_slice()?.to_vec(), square, reach }))
    }

    /// k(x, x) of each row, up to what centring removes.
    #[getter]
    fn diagonal<'py>(&self, py: Python<'py>) -> List<'py> {
        list(py, &self.0.diagonal)
    }

    /// The largest |x|^2 of a row.
    #[getter]
    fn square(&self) -> f64 {
        self.0.square
    }

    /// The largest squared distance of a row from the central point.
    #[getter]
    fn reach(&self) -> f64 {
        self.0.reach
    }

    fn __len__(&self) -> usize {
        self.0.diagonal.len()
    }

    #[allow(clippy::type_complexity)]
    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, (List<'py>, f64, f64)) {
        (py.get_type::<Self>(), (self.diagonal(py), self.0.square, self.0.reach))
    }
}
