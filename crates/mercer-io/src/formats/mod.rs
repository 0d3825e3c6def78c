//! The formats of tables.

mod csv;
pub(crate) mod npy;
pub(crate) mod parquet;

use std::fmt::Debug;
use std::sync::Arc;

use crate::error::Result;
use crate::pool::DecodePool;
use crate::reader::Format;
use crate::source::Source;
use crate::stream::StreamColumn;
use crate::table::Values;

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
    fn notes(&self) -> &[String] {
        &[]
    }

    /// Opens a further file of the same format and the same table.
    fn open_next(&self, source: &Source) -> Result<Arc<dyn OpenTable>> {
        open(source)
    }

    /// Begins to read `wanted` from the first row, in batches of about `batch_bytes`, of at most `limit` bytes.
    fn pass(&self, source: &Source, wanted: &[Wanted], batch_bytes: usize, limit: u64) -> Result<Box<dyn Pass>>;
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

/// Opens a table.
pub(crate) fn open(source: &Source) -> Result<Arc<dyn OpenTable>> {
    match source.format {
        Format::Csv => csv::open(source, None),
        Format::Tsv => csv::open(source, Some(b'\t')),
        Format::Npy => npy::open(source),
        Format::Parquet => parquet::open(source),
    }
}
