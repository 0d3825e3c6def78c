//! NumPy's NPY in and out.

use npyz::{DType, NpyFile, Order, WriterBuilder};

use crate::error::{Error, Result};
use crate::table::{Column, Table, Values};

const FORMAT: &str = "NPY";

pub(crate) fn parse(name: &str, bytes: &[u8]) -> Result<Table> {
    check_header(name, bytes)?;
    let file = NpyFile::new(bytes).map_err(|e| Error::damaged(name, FORMAT, e))?;
    let (n, d) = match *file.shape() {
        [n] => (n, 1),
        [n, d] => (n, d),
        ref shape => {
            return Err(Error::Unsupported {
                file: name.into(),
                what: format!("has {} dimensions; a table has 2", shape.len()),
                help: "save one two-dimensional array, rows being points".into(),
            });
        }
    };
    let DType::Plain(kind) = file.dtype() else { return Err(unsupported(name, &file.dtype().descr())) };
    let kind = kind.to_string();
    let size: u64 = kind.get(2..).and_then(|s| s.parse().ok()).ok_or_else(|| unsupported(name, &kind))?;
    let (fixed, text) = header_size(bytes);
    if n == 0 || d == 0 {
        return Err(Error::Empty { file: name.into() });
    }
    let data = n.checked_mul(d).and_then(|c| c.checked_mul(size));
    if data.and_then(|d| d.checked_add(fixed + text)).is_none_or(|whole| whole > bytes.len() as u64) {
        let what = format!("a header of {n} x {d} values in a file of {} bytes", bytes.len());
        return Err(Error::damaged(name, FORMAT, what));
    }
    let (n, d, order) = (n as usize, d as usize, file.order());
    let values = match &kind[1..] {
        "f8" => numbers(name, file, |v: f64| v),
        "f4" => numbers(name, file, |v: f32| f64::from(v)),
        "i8" => numbers(name, file, |v: i64| v as f64),
        "i4" => numbers(name, file, |v: i32| f64::from(v)),
        "i2" => numbers(name, file, |v: i16| f64::from(v)),
        "i1" => numbers(name, file, |v: i8| f64::from(v)),
        "u8" => numbers(name, file, |v: u64| v as f64),
        "u4" => numbers(name, file, |v: u32| f64::from(v)),
        "u2" => numbers(name, file, |v: u16| f64::from(v)),
        "u1" => numbers(name, file, |v: u8| f64::from(v)),
        "b1" => numbers(name, file, |v: bool| f64::from(u8::from(v))),
        _ => Err(unsupported(name, &kind)),
    }?;
    let at = |i: usize, j: usize| if order == Order::C { i * d + j } else { j * n + i };
    let columns =
        (0..d).map(|j| Column::numbers(format!("x{}", j + 1), (0..n).map(|i| values[at(i, j)]).collect())).collect();
    Table::new(name, columns)
}

fn unsupported(name: &str, kind: &str) -> Error {
    Error::Unsupported {
        file: name.into(),
        what: format!("holds values of type {kind}, not real numbers"),
        help: "save it as float64 or float32".into(),
    }
}

fn numbers<T: npyz::Deserialize>(name: &str, file: NpyFile<&[u8]>, f: impl Fn(T) -> f64) -> Result<Vec<f64>> {
    let values = file.data::<T>().map_err(|e| Error::damaged(name, FORMAT, e))?;
    values.map(|v| v.map(&f).map_err(|e| Error::damaged(name, FORMAT, e))).collect()
}

/// The size of version and length field, and of the header text that the length field promises.
fn header_size(bytes: &[u8]) -> (u64, u64) {
    match bytes.get(6) {
        Some(1) => (10, bytes.get(8..10).map_or(0, |b| u64::from(u16::from_le_bytes([b[0], b[1]])))),
        _ => (12, bytes.get(8..12).map_or(0, |b| u64::from(u32::from_le_bytes([b[0], b[1], b[2], b[3]])))),
    }
}

/// The length of the header must fit the file: nothing is allocated for a header that is not there.
fn check_header(name: &str, bytes: &[u8]) -> Result<()> {
    if bytes.len() < 12 || !bytes.starts_with(b"\x93NUMPY") {
        return Err(Error::damaged(name, FORMAT, "it does not begin like one"));
    }
    let (fixed, text) = header_size(bytes);
    if fixed + text > bytes.len() as u64 {
        return Err(Error::damaged(name, FORMAT, "its header is longer than the file"));
    }
    Ok(())
}

/// The numeric columns as one float64 array.
pub(crate) fn write(table: &Table, out: &mut Vec<u8>) -> std::io::Result<()> {
    let columns: Vec<&Vec<f64>> = table
        .columns
        .iter()
        .filter_map(|c| match &c.values {
            Values::Numbers(v) => Some(v),
            Values::Text(_) => None,
        })
        .collect();
    let shape = [table.rows() as u64, columns.len() as u64];
    let mut writer = npyz::WriteOptions::new().default_dtype().shape(&shape).writer(out).begin_nd()?;
    for i in 0..table.rows() {
        writer.extend(columns.iter().map(|c| c[i]))?;
    }
    writer.finish()
}
