//! The extension module behind the Python package: arrays in, arrays out, errors as Python's, the lock of the
//! interpreter released. All that a user sees is plain Python, in `python/mercer`.

mod array;
mod error;
mod fit;
mod kernels;
mod model;
mod run;
mod states;
mod table;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _mercer {
    #[pymodule_export]
    use crate::fit::{
        complete_axes, fit_gram, fit_kernel, fit_operator, fit_pca, fit_scatter, fit_sparse, plan_kernel,
        plan_operator, plan_pca,
    };
    #[pymodule_export]
    use crate::kernels::{bind_kernel, kernel_matrix, kernels, parse_kernel};
    #[pymodule_export]
    use crate::model::{
        Model, kernel_model, load_model, nystroem_model, onnx_kernel, onnx_linear, pca_model, write_file,
    };
    #[pymodule_export]
    use crate::states::{PyLandmarkBasis, PyLandmarkState, PyPassState, PyPcaState, PySurvey, fit_remote};
    #[pymodule_export]
    use crate::table::{TableReader, open_table, read_table};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("DEFAULT_MEMORY", mercer::DEFAULT_MEMORY)
    }
}
