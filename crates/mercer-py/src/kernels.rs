//! Kernels: the table, texts, and kernel matrices.

use mercer::kernel::registry::KERNELS;
use mercer::{Bound as BoundKernel, Kernel, op};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::array::{Array, Table, points, table, with_points};
use crate::error::python;
use crate::run::{Options, work};

/// Kernel, parameter, number and rule of an automatic choice.
pub(crate) type Chosen = (String, String, f64, String);

pub(crate) fn read(text: &str) -> PyResult<Kernel> {
    text.parse().map_err(python)
}

/// The table of kernels: a dictionary per kernel, with its names, formula and parameters.
#[pyfunction]
pub(crate) fn kernels(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for entry in KERNELS {
        let facts = PyDict::new(py);
        facts.set_item("name", entry.name)?;
        facts.set_item("aliases", entry.aliases)?;
        facts.set_item("formula", entry.formula)?;
        facts.set_item("about", entry.about)?;
        facts.set_item("psd", entry.psd)?;
        let parameters = PyList::empty(py);
        for parameter in entry.parameters {
            let of = PyDict::new(py);
            of.set_item("name", parameter.name)?;
            of.set_item("default", parameter.default)?;
            of.set_item("constraint", parameter.constraint)?;
            of.set_item("about", parameter.about)?;
            parameters.append(of)?;
        }
        facts.set_item("parameters", parameters)?;
        list.append(facts)?;
    }
    Ok(list)
}

/// A kernel's text as the library writes it, and whether all its Gram matrices are positive semi-definite.
#[pyfunction]
pub(crate) fn parse_kernel(text: &str) -> PyResult<(String, bool)> {
    let kernel = read(text)?;
    Ok((kernel.to_string(), kernel.is_psd()))
}

/// The kernel with numbers in place of rules, taken from these points, and what was chosen.
#[pyfunction]
pub(crate) fn bind_kernel(
    py: Python<'_>,
    text: &str,
    x: Array<'_>,
    options: Options,
) -> PyResult<(String, Vec<Chosen>)> {
    let kernel = read(text)?;
    let bound = with_points!(x, |x| work(py, &options, |_| BoundKernel::new(&kernel, x)))?;
    let choices = bound.choices().iter().map(|c| (c.kernel.into(), c.parameter.into(), c.value, c.rule.into()));
    Ok((bound.kernel().to_string(), choices.collect()))
}

/// k(x, y) for every row x of one table and y of the other.
#[pyfunction]
pub(crate) fn kernel_matrix<'py>(
    py: Python<'py>,
    text: &str,
    x: Array<'py>,
    y: Array<'py>,
    options: Options,
) -> PyResult<Table<'py>> {
    let kernel = read(text)?;
    let values = match (&x, &y) {
        (Array::F64(x), Array::F64(y)) => {
            let (x, y) = (points(x)?, points(y)?);
            work(py, &options, |exec| op::cross_gram(&BoundKernel::new(&kernel, y)?, x, y, exec))?
        }
        (Array::F32(x), Array::F32(y)) => {
            let (x, y) = (points(x)?, points(y)?);
            work(py, &options, |exec| op::cross_gram(&BoundKernel::new(&kernel, y)?, x, y, exec))?
        }
        _ => return Err(PyTypeError::new_err("both tables must have the same kind of numbers")),
    };
    table(py, values)
}
