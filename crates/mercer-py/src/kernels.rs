//! Kernels: the table, expressions, and kernel matrices.

use mercer::kernel::registry::KERNELS;
use mercer::{Bound as BoundKernel, Gamma, Kernel, Length, op};
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
    /// The name in the table; None for an expression of several kernels.
    name: Option<&'static str>,
    /// The numeric parameters of a single kernel. A Gaussian width is given as gamma, however it was written.
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
    let single = single(&kernel);
    Ok(ParsedKernel {
        text: kernel.to_string(),
        is_psd: kernel.is_psd(),
        is_bound: is_bound(&kernel),
        name: single.as_ref().map(|(name, _)| *name),
        arguments: single.map_or_else(Vec::new, |(_, arguments)| {
            arguments.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
        }),
    })
}

/// Parameters by name; None stands for a rule that finds the number.
type Arguments = Vec<(&'static str, Option<Number>)>;

/// Returns the name and the parameters of a kernel that is a single one of the table.
fn single(kernel: &Kernel) -> Option<(&'static str, Arguments)> {
    let gamma = |g: Gamma| ("gamma", g.number().map(Number::Real));
    let length = |l: Length| ("length", l.number().map(Number::Real));
    let real = |name, value| (name, Some(Number::Real(value)));
    Some(match *kernel {
        Kernel::Linear => ("linear", vec![]),
        Kernel::Cosine => ("cosine", vec![]),
        Kernel::Gaussian { gamma: g } => ("gaussian", vec![gamma(g)]),
        Kernel::Laplacian { gamma: g } => ("laplacian", vec![gamma(g)]),
        Kernel::Sigmoid { gamma: g, coef0 } => ("sigmoid", vec![gamma(g), real("coef0", coef0)]),
        Kernel::Polynomial { gamma: g, coef0, degree } => {
            ("polynomial", vec![gamma(g), real("coef0", coef0), ("degree", Some(Number::Whole(degree)))])
        }
        Kernel::RationalQuadratic { alpha, length: l } => ("rational_quadratic", vec![real("alpha", alpha), length(l)]),
        Kernel::Matern { length: l, .. } => ("matern", vec![length(l)]),
        _ => return None,
    })
}

fn is_bound(kernel: &Kernel) -> bool {
    match kernel {
        Kernel::Sum(parts) | Kernel::Product(parts) => parts.iter().all(is_bound),
        Kernel::Scaled(_, kernel) | Kernel::Normalised(kernel) => is_bound(kernel),
        leaf => single(leaf).is_some_and(|(_, arguments)| arguments.iter().all(|(_, value)| value.is_some())),
    }
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
