//! Converts NumPy arrays to points and back.

use mercer::{Csr, Points, PointsRef, Real};
use numpy::{
    Element, IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::python;

/// Arrays that are returned.
pub(crate) type List<'py> = Bound<'py, PyArray1<f64>>;
pub(crate) type Table<'py> = Bound<'py, PyArray2<f64>>;

/// A C-contiguous table of numbers, which is not copied.
#[derive(FromPyObject)]
pub(crate) enum Array<'py> {
    F64(PyReadonlyArray2<'py, f64>),
    F32(PyReadonlyArray2<'py, f32>),
}

/// Runs the same code for float64 and float32.
macro_rules! with_points {
    ($array:expr, |$points:ident| $body:expr) => {
        match &$array {
            $crate::array::Array::F64(a) => {
                let $points = $crate::array::points(a)?;
                $body
            }
            $crate::array::Array::F32(a) => {
                let $points = $crate::array::points(a)?;
                $body
            }
        }
    };
}
pub(crate) use with_points;

pub(crate) fn points<'a, T: Real + Element>(array: &'a PyReadonlyArray2<'_, T>) -> PyResult<PointsRef<'a, T>> {
    let shape = array.shape();
    PointsRef::new(array.as_slice()?, shape[0], shape[1]).map_err(python)
}

/// Copies an array to points of f64.
pub(crate) fn owned(array: &PyReadonlyArray2<'_, f64>) -> PyResult<Points<f64>> {
    Ok(points(array)?.to_f64())
}

pub(crate) fn table<'py>(py: Python<'py>, points: Points<f64>) -> PyResult<Table<'py>> {
    let (n, d) = (points.n(), points.d());
    points.into_vec().into_pyarray(py).reshape([n, d])
}

pub(crate) fn list<'py>(py: Python<'py>, values: &[f64]) -> List<'py> {
    values.to_vec().into_pyarray(py)
}

/// Numbers of rows or columns as SciPy has them.
#[derive(FromPyObject)]
pub(crate) enum Whole<'py> {
    I32(PyReadonlyArray1<'py, i32>),
    I64(PyReadonlyArray1<'py, i64>),
}

impl Whole<'_> {
    fn to_vec<T: TryFrom<i64>>(&self, most: usize) -> PyResult<Vec<T>> {
        let checked = |v: i64| {
            T::try_from(v).map_err(|_| PyValueError::new_err(format!("sparse points: {v} is no row offset or column")))
        };
        match self {
            Whole::I32(a) => a.as_slice()?.iter().take(most).map(|v| checked(i64::from(*v))).collect(),
            Whole::I64(a) => a.as_slice()?.iter().take(most).map(|v| checked(*v)).collect(),
        }
    }
}

/// Values of sparse points.
#[derive(FromPyObject)]
pub(crate) enum Values<'py> {
    F64(PyReadonlyArray1<'py, f64>),
    F32(PyReadonlyArray1<'py, f32>),
}

/// Sparse points as SciPy's compressed rows: offsets, columns, values and shape.
#[derive(FromPyObject)]
pub(crate) struct SparseRows<'py>(Whole<'py>, Whole<'py>, Values<'py>, (usize, usize));

impl SparseRows<'_> {
    /// The points, copied.
    pub(crate) fn points(&self) -> PyResult<Csr> {
        let SparseRows(offsets, columns, values, (n, d)) = self;
        let offsets: Vec<usize> = offsets.to_vec(usize::MAX)?;
        // SciPy's arrays may have room behind the last row.
        let stored = offsets.last().copied().unwrap_or(0);
        let values: Vec<f64> = match values {
            Values::F64(a) => a.as_slice()?.iter().take(stored).copied().collect(),
            Values::F32(a) => a.as_slice()?.iter().take(stored).map(|v| f64::from(*v)).collect(),
        };
        Csr::new(*n, *d, offsets, columns.to_vec(stored)?, values).map_err(python)
    }
}
