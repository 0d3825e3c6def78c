//! The extension module behind the Python package. It takes and returns NumPy arrays, raises Python exceptions and
//! releases the interpreter lock while it computes. The public classes are plain Python, in `python/mercer`.

mod array;
mod error;
mod fit;
mod kernels;
mod model;
mod records;
mod run;
mod spec;
mod states;
mod table;

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// Returns the memory limit of a fit without one: 8 GB, or 60 % of the memory that this process may still use if that is
/// less. On large machines it is a constant, so that plans do not depend on what else is running.
#[pyfunction]
fn default_memory() -> u64 {
    mercer_io::default_memory().min(mercer::exec::DEFAULT_MEMORY)
}

/// Returns the same, as it was within the last second: looking it up takes as long as a small fit.
#[pyfunction]
fn recent_memory() -> u64 {
    static KNOWN: Mutex<Option<(Instant, u64)>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    match *known {
        Some((since, memory)) if since.elapsed() < Duration::from_secs(1) => memory,
        _ => {
            let memory = default_memory();
            *known = Some((Instant::now(), memory));
            memory
        }
    }
}

#[pymodule(gil_used = false)]
mod _mercer {
    #[pymodule_export]
    use crate::fit::{complete_axes, fit_gram, fit_operator, fit_points, fit_scatter, fit_sparse, plan};
    #[pymodule_export]
    use crate::kernels::{ParsedKernel, bind_kernel, kernel_matrix, kernels, parse_kernel};
    #[pymodule_export]
    use crate::model::{
        Model, kernel_model, load_model, nystroem_model, onnx_kernel, onnx_linear, pca_model, write_file,
    };
    #[pymodule_export]
    use crate::records::{PyBlockFacts, PyLocation, PyNegativePart, PyPlan, PySpectrum};
    #[pymodule_export]
    use crate::states::{PyLandmarkBasis, PyLandmarkState, PyPassState, PyPcaState, PySurvey, fit_remote};
    #[pymodule_export]
    use crate::table::{DateColumnError, TableReader, open_table, read_table};
    #[pymodule_export]
    use crate::{default_memory, recent_memory};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("DEFAULT_MEMORY", mercer::exec::DEFAULT_MEMORY)
    }
}
