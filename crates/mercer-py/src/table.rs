//! Tables of any library that speaks Arrow, as one array of numbers.

use std::sync::{Mutex, PoisonError};

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array as _, RecordBatch, RecordBatchReader};
use arrow_cast::cast;
use arrow_schema::{DataType, Field};
use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3_arrow::PyRecordBatchReader;

pyo3::create_exception!(mercer._mercer, ColumnTypeError, PyTypeError, "A column has dates or durations.");

/// Rows that are transposed together: they and their place in the result stay in cache.
const ROWS: usize = 256;

/// Names of the columns, and their values: float32 if all columns are, else float64. Missing values are NaN. Dates are
/// refused as a type, other columns that are not numbers as values.
#[pyfunction]
pub(crate) fn read_table<'py>(
    py: Python<'py>,
    table: PyRecordBatchReader,
) -> PyResult<(Vec<String>, Bound<'py, PyAny>)> {
    let (names, mut reader) = open_table(table)?;
    let mut values = Vec::new();
    while reader.append(py, &mut values)? {}
    Ok((names, reader.array(py, values)?))
}

/// Names of the columns, and the batches one after the other.
#[pyfunction]
pub(crate) fn open_table(table: PyRecordBatchReader) -> PyResult<(Vec<String>, TableReader)> {
    let reader = table.into_reader()?;
    let schema = reader.schema();
    if let Some(field) = schema.fields().iter().find(|f| !is_number(f)) {
        let what = format!(
            "column '{}' has type {}, which is not a number; drop it or encode it as numbers",
            field.name(),
            field.data_type()
        );
        let dated = field.data_type().is_temporal();
        return Err(if dated { ColumnTypeError::new_err(what) } else { PyValueError::new_err(what) });
    }
    let names = schema.fields().iter().map(|f| f.name().clone()).collect();
    let narrow = schema.fields().iter().all(|f| matches!(f.data_type(), DataType::Float32 | DataType::Float16));
    let d = schema.fields().len();
    Ok((names, TableReader { reader: Mutex::new(reader), d, narrow }))
}

/// The batches of an Arrow stream.
#[pyclass(module = "mercer._mercer")]
pub(crate) struct TableReader {
    reader: Mutex<Box<dyn RecordBatchReader + Send>>,
    d: usize,
    narrow: bool,
}

#[pymethods]
impl TableReader {
    /// The next batch, None at the end.
    fn next<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let mut values = Vec::new();
        while self.append(py, &mut values)? {
            if !values.is_empty() {
                return self.array(py, values).map(Some);
            }
        }
        Ok(None)
    }
}

impl TableReader {
    /// Puts the next batch after those that are there; whether there was one.
    fn append(&mut self, py: Python<'_>, values: &mut Vec<f64>) -> PyResult<bool> {
        let (reader, d) = (self.reader.get_mut().unwrap_or_else(PoisonError::into_inner), self.d);
        let more = py.detach(|| match reader.next() {
            Some(batch) => append(values, &batch.map_err(|e| e.to_string())?, d).map(|()| true),
            None => Ok(false),
        });
        more.map_err(|e| PyValueError::new_err(format!("the table cannot be read: {e}")))
    }

    /// Rows as float32 if all columns are, else as float64.
    fn array<'py>(&self, py: Python<'py>, values: Vec<f64>) -> PyResult<Bound<'py, PyAny>> {
        let shape = [values.len().checked_div(self.d).unwrap_or(0), self.d];
        if self.narrow {
            let values: Vec<f32> = values.into_iter().map(|v| v as f32).collect();
            return Ok(values.into_pyarray(py).reshape(shape)?.into_any());
        }
        Ok(values.into_pyarray(py).reshape(shape)?.into_any())
    }
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
