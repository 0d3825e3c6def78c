//! Tables of any library that speaks Arrow, as one array of numbers.

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array as _, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{DataType, Field};
use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3_arrow::PyRecordBatchReader;

/// Rows that are transposed together: they and their place in the result stay in cache.
const ROWS: usize = 256;

/// Names of the columns, and their values: float32 if all columns are, else float64. Missing values are NaN. Dates are
/// refused as a type, other columns that are not numbers as values.
#[pyfunction]
pub(crate) fn read_table<'py>(
    py: Python<'py>,
    table: PyRecordBatchReader,
) -> PyResult<(Vec<String>, Bound<'py, PyAny>)> {
    let reader = table.into_reader()?;
    let schema = reader.schema();
    if let Some(field) = schema.fields().iter().find(|f| !is_number(f)) {
        let what = format!(
            "column '{}' has type {}, which is not a number; leave it out or encode it as numbers",
            field.name(),
            field.data_type()
        );
        let dated = field.data_type().is_temporal();
        return Err(if dated { PyTypeError::new_err(what) } else { PyValueError::new_err(what) });
    }
    let names = schema.fields().iter().map(|f| f.name().clone()).collect();
    let narrow = schema.fields().iter().all(|f| matches!(f.data_type(), DataType::Float32 | DataType::Float16));
    let d = schema.fields().len();
    let values = py.detach(|| -> Result<Vec<f64>, String> {
        let mut values = Vec::new();
        for batch in reader {
            append(&mut values, &batch.map_err(|e| e.to_string())?, d)?;
        }
        Ok(values)
    });
    let values = values.map_err(|e| PyValueError::new_err(format!("the table cannot be read: {e}")))?;
    let n = values.len().checked_div(d).unwrap_or(0);
    let array = if narrow {
        let values: Vec<f32> = values.into_iter().map(|v| v as f32).collect();
        values.into_pyarray(py).reshape([n, d])?.into_any()
    } else {
        values.into_pyarray(py).reshape([n, d])?.into_any()
    };
    Ok((names, array))
}

fn is_number(field: &Field) -> bool {
    let kind = field.data_type();
    if field.extension_type_name().is_some() {
        return false; // numbers that stand for something else, as periods of time
    }
    kind.is_numeric() || *kind == DataType::Boolean || *kind == DataType::Null
}

/// Puts the rows of a batch after those that are there.
fn append(values: &mut Vec<f64>, batch: &RecordBatch, d: usize) -> Result<(), String> {
    let (start, n) = (values.len(), batch.num_rows());
    values.resize(start + n * d, f64::NAN);
    let out = &mut values[start..];
    let columns: Vec<_> = batch
        .columns()
        .iter()
        .map(|c| cast(c, &DataType::Float64))
        .collect::<Result<_, _>>()
        .map_err(|e| e.to_string())?;
    for first in (0..n).step_by(ROWS) {
        let rows = first..n.min(first + ROWS);
        for (j, column) in columns.iter().enumerate() {
            let column = column.as_primitive::<Float64Type>();
            for i in rows.clone() {
                if column.is_valid(i) {
                    out[i * d + j] = column.value(i);
                }
            }
        }
    }
    Ok(())
}
