//! Converts NumPy arrays to points and back.

use mercer::{Points, PointsRef, Real};
use numpy::{Element, IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
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
