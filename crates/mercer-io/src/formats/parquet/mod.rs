//! Parquet in and out.

mod column;
mod guard;
mod write;

use std::io::{self, Read};
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};
use parquet::schema::types::ColumnDescPtr;
use rayon::prelude::*;

use crate::content::Content;
use crate::error::{Error, Result, shown};
use crate::pool::DecodePool;
use crate::reader::ReadOptions;
use crate::source::TableFile;
use crate::stream::StreamColumn;
use crate::table::Values;

use super::{Format, OpenTable, Output, PandasCode, Pass, RowWriter, TableFormat, Wanted, python_text};
use column::{ColumnPass, is_numeric};
pub use guard::panic_is_handled;
use guard::{guarded, quietly};
use write::ParquetWriter;

const FORMAT: &str = "Parquet";

/// Values from which on it pays to share them out among threads.
const ENOUGH: usize = 1 << 14;

/// No byte of a column stands for more bytes: a block of zstd has at least 4 bytes, and at most 128 KB of data.
const MOST_RATIO: u64 = 1 << 15;

impl Format {
    /// Parquet, written with Snappy compression.
    pub const PARQUET: Format = Format(&Parquet);
}

struct Parquet;

impl TableFormat for Parquet {
    fn name(&self) -> &'static str {
        "parquet"
    }

    fn title(&self) -> &'static str {
        FORMAT
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["parquet", "pq"]
    }

    fn recognises(&self, head: &[u8]) -> bool {
        head.starts_with(b"PAR1")
    }

    fn pandas(&self, file: &str, _: &[String], _: &ReadOptions) -> PandasCode {
        PandasCode { imports: String::new(), expression: format!("pd.read_parquet({})", python_text(file)) }
    }

    fn open(&self, source: &TableFile) -> Result<Arc<dyn OpenTable>> {
        guarded(&source.name, || {
            let mut table = footer(&source.name, &open_file(source)?)?;
            // Numbers may be wanted as text.
            let text = &source.options.text;
            table.columns.iter_mut().filter(|c| text.contains(&c.name)).for_each(|c| c.is_numeric = false);
            Ok(Arc::new(table) as Arc<dyn OpenTable>)
        })
    }

    fn writer(&self, out: Output) -> Box<dyn RowWriter> {
        Box::new(ParquetWriter::new(out))
    }
}

/// A file whose footer was read.
#[derive(Debug)]
struct ParquetTable {
    columns: Vec<StreamColumn>,
    rows: u64,
    memory: u64,
}

impl OpenTable for ParquetTable {
    fn columns(&self) -> &[StreamColumn] {
        &self.columns
    }

    fn rows(&self) -> Option<u64> {
        Some(self.rows)
    }

    fn memory(&self) -> Option<u64> {
        Some(self.memory)
    }

    fn pass(&self, source: &TableFile, wanted: &[Wanted], _: usize, _: u64) -> Result<Box<dyn Pass>> {
        guarded(&source.name, || {
            let file = open_file(source)?;
            let there = footer(&source.name, &file)?.columns;
            if !wanted.iter().all(|w| there.get(w.place).is_some_and(|column| column.name == w.name)) {
                return Err(source.changed());
            }
            let schema = file.metadata().file_metadata().schema_descr_ptr();
            let places = wanted.iter().map(|w| w.place).collect();
            let columns = wanted.iter().map(|w| ColumnPass::new(schema.column(w.place), !w.is_numeric)).collect();
            let pass = ParquetPass { name: source.name.clone(), file, places, columns, group: 0, left: 0 };
            Ok(Box::new(pass) as Box<dyn Pass>)
        })
    }
}

fn open_file(source: &TableFile) -> Result<SerializedFileReader<Content>> {
    let name = source.name.as_str();
    let content = source.location.content().map_err(Error::io(name, "read"))?;
    // The footer's length field must fit the file before anything is allocated for it.
    let length = content.len();
    let end = length.checked_sub(8).filter(|at| *at >= 4).and_then(|at| content.bytes_at(at, 8).ok());
    let Some(&[a, b, c, d, b'P', b'A', b'R', b'1']) = end.as_deref() else {
        return Err(Error::damaged(name, FORMAT, "the end of the file is missing; it may be cut off"));
    };
    if u64::from(u32::from_le_bytes([a, b, c, d])) > length - 8 {
        return Err(Error::damaged(name, FORMAT, "its footer is longer than the file"));
    }
    let file = SerializedFileReader::new(content).map_err(|e| Error::damaged(name, FORMAT, e))?;
    for column in file.metadata().row_groups().iter().flat_map(|g| g.columns()) {
        if u64::try_from(column.compressed_size()).map_or(true, |size| size > length) {
            return Err(Error::damaged(name, FORMAT, "a column is longer than the file"));
        }
        let size = column.uncompressed_size();
        if u64::try_from(size).map_or(true, |size| size > length.saturating_mul(MOST_RATIO)) {
            let what = format!("its footer says that a column has {size} bytes, in a file of {length} bytes");
            return Err(Error::damaged(name, FORMAT, what));
        }
    }
    Ok(file)
}

/// Columns, rows and sizes from the footer.
fn footer(name: &str, file: &SerializedFileReader<Content>) -> Result<ParquetTable> {
    let metadata = file.metadata();
    let schema = metadata.file_metadata().schema_descr_ptr();
    if let Some(nested) = schema.root_schema().get_fields().iter().find(|f| !f.is_primitive()) {
        return Err(nested_column(name, nested.name()));
    }
    if let Some(list) = schema.columns().iter().find(|c| c.max_rep_level() > 0) {
        return Err(nested_column(name, list.name()));
    }
    let (mut rows, mut decompressed) = (0u64, 0u64);
    for group in metadata.row_groups() {
        let count = u64::try_from(group.num_rows());
        rows = rows.saturating_add(count.map_err(|_| negative_rows(name))?);
        for column in group.columns() {
            decompressed = decompressed.saturating_add(u64::try_from(column.uncompressed_size()).unwrap_or(u64::MAX));
        }
    }
    let column = |c: &ColumnDescPtr| StreamColumn { name: c.name().to_string(), is_numeric: is_numeric(c) };
    let columns: Vec<StreamColumn> = schema.columns().iter().map(column).collect();
    let memory = rows.saturating_mul(8).saturating_mul(columns.len() as u64).max(decompressed);
    Ok(ParquetTable { columns, rows, memory })
}

fn negative_rows(name: &str) -> Error {
    Error::damaged(name, FORMAT, "a row group has a negative number of rows")
}

impl Length for Content {
    fn len(&self) -> u64 {
        Content::len(self)
    }
}

impl ChunkReader for Content {
    type T = PageHeads;

    fn get_read(&self, start: u64) -> ParquetResult<PageHeads> {
        Ok(PageHeads { content: self.clone(), at: start, piece: Vec::new(), used: 0 })
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        Ok(self.bytes_at(start, length)?)
    }
}

/// The bytes from some place on, read in small pieces: the heads of pages are short.
pub(crate) struct PageHeads {
    content: Content,
    at: u64,
    piece: Vec<u8>,
    used: usize,
}

impl Read for PageHeads {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.used == self.piece.len() {
            let length = self.content.len().saturating_sub(self.at).min(256);
            self.piece.resize(length as usize, 0);
            self.content.read_at(&mut self.piece, self.at)?;
            self.at += length;
            self.used = 0;
        }
        let count = into.len().min(self.piece.len() - self.used);
        into[..count].copy_from_slice(&self.piece[self.used..self.used + count]);
        self.used += count;
        Ok(count)
    }
}

/// One pass over a file. Of each column one page is in memory, never a row group.
struct ParquetPass {
    name: String,
    file: SerializedFileReader<Content>,
    /// The places of the columns that are read.
    places: Vec<usize>,
    columns: Vec<ColumnPass>,
    /// The next row group.
    group: usize,
    /// Rows left in the present one.
    left: usize,
}

impl Pass for ParquetPass {
    fn next(&mut self, rows: usize, pool: &DecodePool) -> Result<Option<Vec<Values>>> {
        let name = self.name.clone();
        guarded(&name, || self.read(rows, pool))
    }
}

impl ParquetPass {
    fn read(&mut self, rows: usize, pool: &DecodePool) -> Result<Option<Vec<Values>>> {
        let mut have = 0;
        while have < rows {
            if self.left == 0 && !self.next_group()? {
                break;
            }
            let count = self.left.min(rows - have);
            let read = |column: &mut ColumnPass| quietly(|| column.read(count));
            let done = match pool.pool().filter(|_| count * self.columns.len() >= ENOUGH) {
                Some(pool) => pool.install(|| self.columns.par_iter_mut().try_for_each(read)),
                None => self.columns.iter_mut().try_for_each(read),
            };
            done.map_err(|e| Error::damaged(&self.name, FORMAT, e))?;
            self.left -= count;
            have += count;
        }
        Ok((have > 0).then(|| self.columns.iter_mut().map(ColumnPass::take).collect()))
    }

    fn next_group(&mut self) -> Result<bool> {
        let damaged = |e: ParquetError| Error::damaged(&self.name, FORMAT, e);
        while self.left == 0 {
            if self.group == self.file.num_row_groups() {
                return Ok(false);
            }
            let group = self.file.get_row_group(self.group).map_err(damaged)?;
            let rows = usize::try_from(group.metadata().num_rows());
            self.left = rows.map_err(|_| negative_rows(&self.name))?;
            for (place, column) in self.places.iter().zip(&mut self.columns) {
                column.set_reader(group.get_column_reader(*place).map_err(damaged)?);
            }
            self.group += 1;
        }
        Ok(true)
    }
}

fn nested_column(file: &str, column: &str) -> Error {
    Error::advised(file, format!("column '{}' is nested", shown(column)), "flatten it first")
}
