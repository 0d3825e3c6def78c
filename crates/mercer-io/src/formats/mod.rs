//! The formats of tables. A new format is a file in this folder, its `mod` line, and its line in [`FORMATS`].

pub(crate) mod csv;
pub(crate) mod npy;
mod parquet;

use std::fmt::{self, Debug};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use crate::error::Result;
use crate::note::Note;
use crate::pool::DecodePool;
use crate::reader::ReadOptions;
use crate::source::TableFile;
use crate::stream::StreamColumn;
use crate::table::{Table, Values};

pub use self::parquet::panic_is_handled;

/// All formats. Readers, writers, the options of the command and the page use this list.
pub const FORMATS: &[Format] = &[Format::CSV, Format::TSV, Format::NPY, Format::PARQUET];

/// A format of tables.
#[derive(Clone, Copy)]
pub struct Format(&'static dyn TableFormat);

/// Python code that reads a file into a pandas table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PandasCode {
    /// Lines of imports beside that of pandas.
    pub imports: String,
    /// The expression, with pandas as `pd`.
    pub expression: String,
}

impl Format {
    /// The format of this name.
    pub fn named(name: &str) -> Option<Self> {
        FORMATS.iter().find(|f| f.name() == name).copied()
    }

    /// The format that the extension of a file name stands for.
    pub fn of_name(file: &str) -> Option<Self> {
        let extension = Path::new(file).extension()?.to_str()?.to_lowercase();
        FORMATS.iter().find(|f| f.extensions().contains(&extension.as_str())).copied()
    }

    /// The format that the first bytes of a file show.
    pub(crate) fn of_bytes(head: &[u8]) -> Option<Self> {
        FORMATS.iter().find(|f| f.0.recognises(head)).copied()
    }

    /// Its name in options, which is also the extension of files that are written: `csv`.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// Its name in texts: `CSV`.
    pub fn title(self) -> &'static str {
        self.0.title()
    }

    /// The extensions of its files.
    pub fn extensions(self) -> &'static [&'static str] {
        self.0.extensions()
    }

    /// Whether its files are texts, which may be compressed.
    pub fn is_text(self) -> bool {
        self.0.is_text()
    }

    /// Whether it can be written part by part to an output that cannot seek, like a pipe.
    pub fn writes_forward(self) -> bool {
        self.0.writes_forward()
    }

    /// Python code that reads a file of this format, whose columns have these names.
    pub fn pandas(self, file: &str, names: &[String], options: &ReadOptions) -> PandasCode {
        self.0.pandas(file, names, options)
    }

    pub(crate) fn open(self, source: &TableFile) -> Result<Arc<dyn OpenTable>> {
        self.0.open(source)
    }

    pub(crate) fn writer(self, out: Output) -> Box<dyn RowWriter> {
        self.0.writer(out)
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Format {}

impl Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}

/// What a format is.
trait TableFormat: Send + Sync {
    /// See [`Format::name`].
    fn name(&self) -> &'static str;

    /// See [`Format::title`].
    fn title(&self) -> &'static str;

    /// See [`Format::extensions`].
    fn extensions(&self) -> &'static [&'static str];

    /// Whether the first bytes of a file show this format.
    fn recognises(&self, _head: &[u8]) -> bool {
        false
    }

    /// See [`Format::is_text`].
    fn is_text(&self) -> bool {
        false
    }

    /// See [`Format::writes_forward`].
    fn writes_forward(&self) -> bool {
        true
    }

    /// See [`Format::pandas`].
    fn pandas(&self, file: &str, names: &[String], options: &ReadOptions) -> PandasCode;

    /// Reads the head of a table.
    fn open(&self, source: &TableFile) -> Result<Arc<dyn OpenTable>>;

    /// Begins a table.
    fn writer(&self, out: Output) -> Box<dyn RowWriter>;
}

/// Where a table is written to.
pub(crate) type Output = Box<dyn Write + Send>;

/// A table while it is written.
pub(crate) trait RowWriter: Send {
    /// Writes more rows. All calls have the columns of the first one.
    fn write(&mut self, rows: &Table) -> io::Result<()>;

    /// Writes what is buffered. Returns bytes that replace the first ones of the output, for formats with the number of
    /// rows in front.
    fn finish(self: Box<Self>) -> io::Result<Option<Vec<u8>>>;
}

/// A text as a literal of Python, whose strings are those of JSON.
fn python_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Names as the inner part of a list of Python.
fn python_list(names: &[String]) -> String {
    names.iter().map(|n| python_text(n)).collect::<Vec<_>>().join(", ")
}

/// A table whose head was read: its columns are known, and it can be read as often as wanted.
pub(crate) trait OpenTable: Debug + Send + Sync {
    /// The columns of the file, in its order.
    fn columns(&self) -> &[StreamColumn];

    /// The number of rows, where the head says it.
    fn rows(&self) -> Option<u64> {
        None
    }

    /// Whether it is known to have no rows.
    fn is_empty(&self) -> bool {
        self.rows() == Some(0)
    }

    /// The memory that the whole table needs, where the head says it.
    fn memory(&self) -> Option<u64> {
        None
    }

    /// Whether columns have names. Without them, files are matched by the order of their columns.
    fn has_names(&self) -> bool {
        true
    }

    /// Whether columns have types of their own. Without them, a column has the type that it is read with.
    fn has_types(&self) -> bool {
        true
    }

    /// Decisions that a user should know.
    fn notes(&self) -> &[Note] {
        &[]
    }

    /// Opens a further file of the same format and the same table.
    fn open_next(&self, source: &TableFile) -> Result<Arc<dyn OpenTable>> {
        source.format.open(source)
    }

    /// Begins to read `wanted` from the first row, in batches of about `batch_bytes`, of at most `limit` bytes.
    fn pass(&self, source: &TableFile, wanted: &[Wanted], batch_bytes: usize, limit: u64) -> Result<Box<dyn Pass>>;
}

/// One pass over the rows of a file.
pub(crate) trait Pass: Send {
    /// The next rows of the wanted columns, at most so many; `None` at the end.
    fn next(&mut self, rows: usize, pool: &DecodePool) -> Result<Option<Vec<Values>>>;

    /// Bytes read so far; 0 where [`OpenTable::memory`] counts.
    fn bytes_read(&self) -> u64 {
        0
    }
}

/// A column that is to be read: its place in the file, its name, and whether as numbers.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) place: usize,
    pub(crate) name: String,
    pub(crate) is_numeric: bool,
}
