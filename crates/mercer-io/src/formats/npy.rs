//! NumPy's NPY in and out.

mod header;

use std::io;
use std::sync::Arc;

use crate::content::Content;
use crate::error::{Error, Result, counted, shown};
use crate::pool::DecodePool;
use crate::reader::ReadOptions;
use crate::source::TableFile;
use crate::stream::StreamColumn;
use crate::table::{Table, Values};

use super::{Format, OpenTable, Output, PandasCode, Pass, RowWriter, TableFormat, Wanted, python_list, python_text};

const FORMAT: &str = "NPY";

/// The longest header, which is the longest that NumPy reads, too. That of a table has about 100 bytes.
const LONGEST_HEADER: u64 = 10_000;

/// Bytes of rows that are converted at a time.
const BLOCK: usize = 1 << 18;

impl Format {
    /// An array of NumPy. Columns are named x1, x2, ...; those of text are not written.
    pub const NPY: Format = Format(&Npy);
}

struct Npy;

impl TableFormat for Npy {
    fn name(&self) -> &'static str {
        "npy"
    }

    fn title(&self) -> &'static str {
        FORMAT
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["npy"]
    }

    fn recognises(&self, head: &[u8]) -> bool {
        head.starts_with(b"\x93NUMPY")
    }

    fn writes_forward(&self) -> bool {
        false
    }

    fn pandas(&self, file: &str, names: &[String], _: &ReadOptions) -> PandasCode {
        let expression = format!("pd.DataFrame(np.load({}), columns=[{}])", python_text(file), python_list(names));
        PandasCode { imports: "import numpy as np\n".into(), expression }
    }

    fn open(&self, source: &TableFile) -> Result<Arc<dyn OpenTable>> {
        let io = Error::io(&source.name, "read");
        let header = Header::read(&source.name, &source.location.content().map_err(io)?)?;
        let columns = (1..=header.d).map(|j| StreamColumn { name: format!("x{j}"), is_numeric: true }).collect();
        Ok(Arc::new(NpyTable { header, columns }))
    }

    fn writer(&self, out: Output) -> Box<dyn RowWriter> {
        Box::new(NpyWriter { out, columns: None, rows: 0 })
    }
}

/// The header of a file, checked against the size of the file.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub(crate) n: u64,
    pub(crate) d: usize,
    /// Where the data begin.
    pub(crate) offset: u64,
    pub(crate) c_order: bool,
    little: bool,
    kind: DataType,
}

/// The type of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DataType {
    F8,
    F4,
    I8,
    I4,
    I2,
    I1,
    U8,
    U4,
    U2,
    U1,
}

impl DataType {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "f8" => DataType::F8,
            "f4" => DataType::F4,
            "i8" => DataType::I8,
            "i4" => DataType::I4,
            "i2" => DataType::I2,
            "i1" => DataType::I1,
            "u8" => DataType::U8,
            "u4" => DataType::U4,
            "u2" => DataType::U2,
            "u1" | "b1" => DataType::U1,
            _ => return None,
        })
    }

    fn size(self) -> usize {
        match self {
            DataType::F8 | DataType::I8 | DataType::U8 => 8,
            DataType::F4 | DataType::I4 | DataType::U4 => 4,
            DataType::I2 | DataType::U2 => 2,
            DataType::I1 | DataType::U1 => 1,
        }
    }
}

impl Header {
    /// `head` is the header, and `length` that of the file.
    fn of(name: &str, head: &[u8], length: u64) -> Result<Self> {
        let (fixed, text) = header_size(head);
        let keys = header::parse(&head[fixed as usize..]).map_err(|e| Error::damaged(name, FORMAT, e))?;
        let Some(descr) = keys.descr else { return Err(unsupported(name, "structured")) };
        let (n, d) = match keys.shape[..] {
            [n] => (n, 1),
            [n, d] => (n, d),
            ref shape => {
                let what = format!("has {}; a table has 2", counted(shape.len(), "dimension"));
                return Err(Error::advised(name, what, "save one two-dimensional array, with a row for each point"));
            }
        };
        let kind = descr.strip_prefix(['<', '>', '|']).and_then(DataType::of);
        let kind = kind.ok_or_else(|| unsupported(name, descr))?;
        if n == 0 || d == 0 {
            return Err(Error::Empty { file: name.into() });
        }
        let data = n.checked_mul(d).and_then(|c| c.checked_mul(kind.size() as u64));
        if data.and_then(|d| d.checked_add(fixed + text)).is_none_or(|whole| whole > length) {
            let what = format!("the header says {n} x {d} values in a file of {length} bytes");
            return Err(Error::damaged(name, FORMAT, what));
        }
        let (c_order, little) = (!keys.fortran_order, !descr.starts_with('>'));
        Ok(Header { n, d: d as usize, offset: fixed + text, c_order, little, kind })
    }

    /// Reads the header.
    pub(crate) fn read(name: &str, file: &Content) -> Result<Self> {
        let mut head = vec![0; file.len().min(12) as usize];
        file.read_at(&mut head, 0).map_err(Error::io(name, "read"))?;
        check_header(name, &head, file.len())?;
        let (fixed, text) = header_size(&head);
        head.resize((fixed + text) as usize, 0);
        file.read_at(&mut head, 0).map_err(Error::io(name, "read"))?;
        Header::of(name, &head, file.len())
    }

    /// The type of rows that can be used without conversion; `None` when they cannot.
    pub(crate) fn plain_type(&self) -> Option<Plain> {
        let plain = self.c_order && self.little && cfg!(target_endian = "little");
        match self.kind {
            DataType::F8 if plain => Some(Plain::F64),
            DataType::F4 if plain => Some(Plain::F32),
            _ => None,
        }
    }

    /// The bytes of the data.
    pub(crate) fn data_bytes(&self) -> u64 {
        self.n * self.d as u64 * self.kind.size() as u64
    }

    /// Rows `from` to `from + rows` of the columns in `kept`; `read` fills a slice from a place in the file.
    pub(crate) fn columns(
        &self,
        from: u64,
        rows: usize,
        kept: &[usize],
        mut read: impl FnMut(&mut [u8], u64) -> std::io::Result<()>,
    ) -> std::io::Result<Vec<Vec<f64>>> {
        let size = self.kind.size();
        let mut columns: Vec<Vec<f64>> = kept.iter().map(|_| Vec::with_capacity(rows)).collect();
        if self.c_order {
            // A block of rows at a time, which stays in the cache while its columns are picked out of it.
            let width = self.d * size;
            let block = (BLOCK / width).max(1).min(rows);
            let mut bytes = vec![0; block * width];
            let mut at = self.offset + from * width as u64;
            let mut left = rows;
            while left > 0 {
                let bytes = &mut bytes[..block.min(left) * width];
                read(bytes, at)?;
                for (j, column) in kept.iter().zip(&mut columns) {
                    self.numbers(bytes.chunks_exact(width).map(|row| &row[j * size..(j + 1) * size]), column);
                }
                at += bytes.len() as u64;
                left -= bytes.len() / width;
            }
        } else {
            let mut bytes = vec![0; rows * size];
            for (j, column) in kept.iter().zip(&mut columns) {
                read(&mut bytes, self.offset + (*j as u64 * self.n + from) * size as u64)?;
                self.numbers(bytes.chunks_exact(size), column);
            }
        }
        Ok(columns)
    }

    fn numbers<'a>(&self, values: impl Iterator<Item = &'a [u8]>, into: &mut Vec<f64>) {
        /// Bytes as a number of some type, then as f64.
        macro_rules! of {
            ($t:ty, $turn:expr) => {{
                let turn: fn($t) -> f64 = $turn;
                let exact = |b: &[u8]| b.try_into().expect("a chunk is as long as a value");
                if self.little {
                    into.extend(values.map(|b| turn(<$t>::from_le_bytes(exact(b)))));
                } else {
                    into.extend(values.map(|b| turn(<$t>::from_be_bytes(exact(b)))));
                }
            }};
        }
        match self.kind {
            DataType::F8 => of!(f64, |v| v),
            DataType::F4 => of!(f32, |v| f64::from(v)),
            DataType::I8 => of!(i64, |v| v as f64),
            DataType::I4 => of!(i32, |v| f64::from(v)),
            DataType::I2 => of!(i16, |v| f64::from(v)),
            DataType::I1 => of!(i8, |v| f64::from(v)),
            DataType::U8 => of!(u64, |v| v as f64),
            DataType::U4 => of!(u32, |v| f64::from(v)),
            DataType::U2 => of!(u16, |v| f64::from(v)),
            DataType::U1 => of!(u8, |v| f64::from(v)),
        }
    }
}

/// Values that can be used without conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plain {
    F64,
    F32,
}

/// An array whose header was read.
#[derive(Debug)]
struct NpyTable {
    header: Header,
    columns: Vec<StreamColumn>,
}

impl OpenTable for NpyTable {
    fn columns(&self) -> &[StreamColumn] {
        &self.columns
    }

    fn rows(&self) -> Option<u64> {
        Some(self.header.n)
    }

    /// A value of one byte becomes one of eight.
    fn memory(&self) -> Option<u64> {
        Some(self.header.n.saturating_mul(self.header.d as u64).saturating_mul(8))
    }

    fn has_names(&self) -> bool {
        false
    }

    fn pass(&self, source: &TableFile, wanted: &[Wanted], _: usize, _: u64) -> Result<Box<dyn Pass>> {
        let content = source.location.content().map_err(Error::io(&source.name, "read"))?;
        let header = Header::read(&source.name, &content)?;
        if header.d != self.header.d {
            return Err(source.changed());
        }
        let places = wanted.iter().map(|column| column.place).collect();
        let numeric = wanted.iter().map(|column| column.is_numeric).collect();
        Ok(Box::new(NpyPass { name: source.name.clone(), content, header, places, numeric, at: 0 }))
    }
}

/// One pass over a file.
struct NpyPass {
    name: String,
    content: Content,
    header: Header,
    places: Vec<usize>,
    /// Beside files with names, a column may be wanted as text.
    numeric: Vec<bool>,
    at: u64,
}

impl Pass for NpyPass {
    fn next(&mut self, rows: usize, _: &DecodePool) -> Result<Option<Vec<Values>>> {
        let rows = (self.header.n - self.at).min(rows as u64) as usize;
        if rows == 0 {
            return Ok(None);
        }
        let read = self.header.columns(self.at, rows, &self.places, |into, at| self.content.read_at(into, at));
        let columns = read.map_err(Error::io(&self.name, "read"))?;
        self.at += rows as u64;
        let column = |(values, numeric): (Vec<f64>, &bool)| match numeric {
            true => Values::Numbers(values),
            false => Values::Numbers(values).into_text(),
        };
        Ok(Some(columns.into_iter().zip(&self.numeric).map(column).collect()))
    }
}

fn unsupported(name: &str, kind: &str) -> Error {
    let what = format!("has values of type {}, not real numbers", shown(kind));
    Error::advised(name, what, "save it as float64 or float32")
}

/// The size of version and length field, and of the header text that the length field promises.
fn header_size(bytes: &[u8]) -> (u64, u64) {
    match bytes.get(6) {
        Some(1) => (10, bytes.get(8..10).map_or(0, |b| u64::from(u16::from_le_bytes([b[0], b[1]])))),
        _ => (12, bytes.get(8..12).map_or(0, |b| u64::from(u32::from_le_bytes([b[0], b[1], b[2], b[3]])))),
    }
}

/// The length of the header must fit the file: nothing is allocated for a header that is not there.
fn check_header(name: &str, head: &[u8], length: u64) -> Result<()> {
    if head.len() < 12 || !head.starts_with(b"\x93NUMPY") {
        return Err(Error::damaged(name, FORMAT, "it does not begin with the NPY signature"));
    }
    if !matches!(head[6..8], [1..=3, 0]) {
        let what = format!("it has version {}.{}; this program reads 1.0, 2.0 and 3.0", head[6], head[7]);
        return Err(Error::damaged(name, FORMAT, what));
    }
    let (fixed, text) = header_size(head);
    if fixed + text > length {
        return Err(Error::damaged(name, FORMAT, "its header is longer than the file"));
    }
    if text > LONGEST_HEADER {
        let what = format!("its header has {text} bytes; that of a table has at most {LONGEST_HEADER}");
        return Err(Error::damaged(name, FORMAT, what));
    }
    Ok(())
}

/// The header of a float64 array, of the same length for every number of rows.
fn header(rows: u64, columns: usize) -> Vec<u8> {
    // Room for the largest number, and data that begin at a multiple of 64.
    let text = |rows: u64| format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    let length = (10 + text(u64::MAX).len() + 1).next_multiple_of(64);
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((length as u16 - 10).to_le_bytes());
    bytes.extend(text(rows).bytes());
    bytes.resize(length - 1, b' ');
    bytes.push(b'\n');
    bytes
}

/// An array while it is written. The header has the number of rows, and is written again at the end.
struct NpyWriter {
    out: Output,
    columns: Option<usize>,
    rows: u64,
}

impl RowWriter for NpyWriter {
    fn write(&mut self, rows: &Table) -> io::Result<()> {
        let numbers = rows.columns.iter().filter_map(|c| match &c.values {
            Values::Numbers(v) => Some(v),
            Values::Text(_) => None,
        });
        let columns: Vec<&Vec<f64>> = numbers.collect();
        if self.columns.is_none() {
            self.columns = Some(columns.len());
            self.out.write_all(&header(0, columns.len()))?;
        }
        let mut bytes = Vec::with_capacity(BLOCK);
        for i in 0..rows.rows() {
            bytes.extend(columns.iter().flat_map(|c| c[i].to_le_bytes()));
            if bytes.len() >= BLOCK || i + 1 == rows.rows() {
                self.out.write_all(&bytes)?;
                bytes.clear();
            }
        }
        self.rows += rows.rows() as u64;
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<Option<Vec<u8>>> {
        Ok(self.columns.map(|columns| header(self.rows, columns)))
    }
}
