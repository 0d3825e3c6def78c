//! Parquet in and out.

mod column;
mod guard;

use std::io::{self, Read, Write};
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnDescPtr, Type};
use rayon::prelude::*;

use crate::content::Content;
use crate::error::{Error, Result};
use crate::pool::DecodePool;
use crate::source::Source;
use crate::stream::StreamColumn;
use crate::table::{Column, Table, Values};
use crate::writer::like;

use super::{OpenTable, Pass, Wanted};
use column::{ColumnPass, is_numeric};
pub use guard::panic_is_handled;
use guard::{guarded, quietly};

const FORMAT: &str = "Parquet";

/// Values from which on it pays to share them out among threads.
const ENOUGH: usize = 1 << 14;

/// A file whose footer was read.
#[derive(Debug)]
struct ParquetTable {
    columns: Vec<StreamColumn>,
    rows: u64,
    memory: u64,
}

/// Opens a file.
pub(crate) fn open(source: &Source) -> Result<Arc<dyn OpenTable>> {
    guarded(&source.name, || {
        let mut table = footer(&source.name, &open_file(source)?)?;
        // Numbers may be wanted as text.
        let text = &source.options.text;
        table.columns.iter_mut().filter(|c| text.contains(&c.name)).for_each(|c| c.is_numeric = false);
        Ok(Arc::new(table) as Arc<dyn OpenTable>)
    })
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

    fn pass(&self, source: &Source, wanted: &[Wanted], _: usize, _: u64) -> Result<Box<dyn Pass>> {
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

fn open_file(source: &Source) -> Result<SerializedFileReader<Content>> {
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
    Error::Unsupported {
        file: file.into(),
        what: format!("column '{column}' is nested"),
        help: "flatten it first".into(),
    }
}

/// Bytes of a row group, about.
const GROUP: usize = 64_000_000;

/// Writes all columns, compressed with Snappy. Rows are gathered until they are enough for a row group.
pub(crate) struct ParquetWriter<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    gathered: Vec<Column>,
    bytes: usize,
    groups: usize,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// For tables with the columns of this one.
    pub(crate) fn new(out: W, table: &Table) -> std::result::Result<Self, ParquetError> {
        let fields = table.columns.iter().map(|c| {
            let (physical, converted) = match c.values {
                Values::Numbers(_) => (Physical::DOUBLE, ConvertedType::NONE),
                Values::Text(_) => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
            };
            let field = Type::primitive_type_builder(&c.name, physical)
                .with_repetition(Repetition::REQUIRED)
                .with_converted_type(converted);
            field.build().map(Arc::new)
        });
        let fields = fields.collect::<std::result::Result<Vec<_>, _>>()?;
        let schema = Type::group_type_builder("mercer").with_fields(fields).build()?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
        Ok(ParquetWriter { writer, gathered: like(table), bytes: 0, groups: 0 })
    }

    pub(crate) fn write(&mut self, table: &Table) -> std::result::Result<(), ParquetError> {
        let text = |v: &Vec<String>| v.iter().map(|t| t.len() + size_of::<String>()).sum();
        let size = |c: &Column| match &c.values {
            Values::Numbers(v) => 8 * v.len(),
            Values::Text(v) => text(v),
        };
        let bytes: usize = table.columns.iter().map(size).sum();
        if self.bytes == 0 && bytes >= GROUP {
            return self.group(&table.columns);
        }
        for (gathered, column) in self.gathered.iter_mut().zip(&table.columns) {
            gathered.values.append(column.values.clone());
        }
        self.bytes += bytes;
        if self.bytes >= GROUP { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> std::result::Result<(), ParquetError> {
        let mut columns = std::mem::take(&mut self.gathered);
        self.group(&columns)?;
        columns.iter_mut().for_each(|c| c.values.clear());
        (self.gathered, self.bytes) = (columns, 0);
        Ok(())
    }

    fn group(&mut self, columns: &[Column]) -> std::result::Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        let mut columns = columns.iter();
        while let (Some(mut writer), Some(column)) = (group.next_column()?, columns.next()) {
            match &column.values {
                Values::Numbers(v) => {
                    writer.typed::<DoubleType>().write_batch(v, None, None)?;
                }
                Values::Text(v) => {
                    let v: Vec<ByteArray> = v.iter().map(|s| s.as_str().into()).collect();
                    writer.typed::<ByteArrayType>().write_batch(&v, None, None)?;
                }
            }
            writer.close()?;
        }
        group.close()?;
        self.groups += 1;
        Ok(())
    }

    /// Writes what was gathered, and gives the output back.
    pub(crate) fn finish(mut self) -> std::result::Result<W, ParquetError> {
        if self.bytes > 0 || self.groups == 0 {
            self.flush()?;
        }
        self.writer.into_inner()
    }
}
