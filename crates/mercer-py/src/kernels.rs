//! Kernels: the table, expressions, and kernel matrices.

use mercer::kernel::Bound as BoundKernel;
use mercer::kernel::registry::{Domain, KERNELS, ParameterKind};
use mercer::kernel::{GaussianWidth, Leaf};
use mercer::{Kernel, op};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::array::{Array, Table, points, table, with_points};
use crate::error::python;
use crate::run::{Options, work};

pub(crate) fn read(text: &str) -> PyResult<Kernel> {
    text.parse().map_err(python)
}

/// Returns the table of kernels: a dictionary per kernel, with its names, formula and parameters.
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
            of.set_item("per_dimension", parameter.kind == ParameterKind::Lengths)?;
            of.set_item("about", parameter.about)?;
            parameters.append(of)?;
        }
        facts.set_item("parameters", parameters)?;
        list.append(facts)?;
    }
    Ok(list)
}

/// A kernel expression, read.
#[pyclass(module = "mercer._mercer", name = "ParsedKernel", frozen, get_all)]
pub(crate) struct ParsedKernel {
    /// The expression as the library writes it.
    text: String,
    /// Whether all Gram matrices are positive semi-definite.
    is_psd: bool,
    /// Whether all parameters are known to be numbers, so that no points are needed to find them.
    is_bound: bool,
    /// Whether it is defined for points without negative values only.
    is_non_negative: bool,
    /// The name in the table; None for an expression of several kernels.
    name: Option<&'static str>,
    /// The numeric parameters of a single kernel. A Gaussian width is given as gamma, however it was written, unless
    /// there is one per dimension.
    arguments: Vec<(&'static str, Number)>,
}

#[derive(Clone, Copy, IntoPyObject)]
enum Number {
    Whole(u32),
    Real(f64),
}

/// Reads a kernel expression.
#[pyfunction]
pub(crate) fn parse_kernel(text: &str) -> PyResult<ParsedKernel> {
    let kernel = read(text)?;
    let leaf = match &kernel {
        Kernel::Leaf(leaf) => Some(leaf),
        _ => None,
    };
    Ok(ParsedKernel {
        text: kernel.to_string(),
        is_psd: kernel.is_psd(),
        is_bound: kernel.is_numeric(),
        is_non_negative: kernel.domain() == Domain::NonNegative,
        name: leaf.map(|leaf| leaf.entry().name),
        arguments: leaf.map_or_else(Vec::new, numbers),
    })
}

/// Returns the parameters of a kernel that are numbers; a Gaussian width as gamma, however it was written, unless there
/// is one per dimension.
fn numbers(leaf: &Leaf) -> Vec<(&'static str, Number)> {
    if let Leaf::Gaussian(gaussian) = leaf {
        let gamma = match &gaussian.width {
            GaussianWidth::Gamma(gamma) => gamma.number(),
            GaussianWidth::Length(length) => length.number().map(|v| 0.5 / v / v),
            _ => None,
        };
        return gamma.map(|v| ("gamma", Number::Real(v))).into_iter().collect();
    }
    let parameters = leaf.entry().parameters;
    let whole = |name| parameters.iter().any(|p| p.name == name && p.kind == ParameterKind::Whole);
    let arguments = leaf.arguments().into_iter().filter_map(|(name, value)| Some((name, value.number()?)));
    arguments.map(|(name, v)| (name, if whole(name) { Number::Whole(v as u32) } else { Number::Real(v) })).collect()
}

/// Returns the kernel with numbers in place of rules, taken from these points.
#[pyfunction]
pub(crate) fn bind_kernel(py: Python<'_>, text: &str, x: Array<'_>, options: Options) -> PyResult<String> {
    let kernel = read(text)?;
    let bound = with_points!(x, |x| work(py, &options, |_| BoundKernel::new(&kernel, x)))?;
    Ok(bound.kernel().to_string())
}

/// Returns k(x, y) for every row x of one table and every row y of the other.
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
        _ => return Err(PyTypeError::new_err("x and y have different number types: use float64 or float32 for both")),
    };
    table(py, values)
}
