//! What is to be fitted, as Python hands it over: the library's record in JSON, made by `python/mercer/_spec.py`.

use mercer::{KernelPca, Pca, Spec};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A [`Spec`], read from JSON.
pub(crate) struct PySpec(pub(crate) Spec);

impl<'a, 'py> FromPyObject<'a, 'py> for PySpec {
    type Error = PyErr;

    fn extract(spec: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let text: &str = spec.extract()?;
        serde_json::from_str(text).map(PySpec).map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

impl PySpec {
    /// The options of PCA.
    pub(crate) fn pca(self) -> PyResult<Pca> {
        match self.0 {
            Spec::Pca(pca) => Ok(pca),
            _ => Err(PyValueError::new_err("the spec is not one of PCA")),
        }
    }

    /// The options of kernel PCA.
    pub(crate) fn kernel_pca(self) -> PyResult<KernelPca> {
        match self.0 {
            Spec::KernelPca(kernel_pca) => Ok(kernel_pca),
            _ => Err(PyValueError::new_err("the spec is not one of kernel PCA")),
        }
    }
}
