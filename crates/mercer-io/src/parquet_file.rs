//! Parquet in and out.

use std::io::Write;
use std::sync::Arc;
use std::thread;

use bytes::Bytes;
use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use rayon::prelude::*;

use crate::crew::Crew;
use crate::error::{Error, Result};
use crate::parquet_column::{ColumnPass, is_numeric};
use crate::table::{Column, Table, Values};
use crate::writer::like;

const FORMAT: &str = "Parquet";

/// The name of the thread that reads Parquet. A panic in it becomes an error.
pub const PARQUET_THREAD: &str = "mercer-io parquet";

/// Values from which on it pays to share them out among threads.
const ENOUGH: usize = 1 << 14;

/// Bytes that are read at a time of a file that is read whole.
const WHOLE: usize = 16_000_000;

/// What a file's footer says.
#[derive(Debug)]
pub(crate) struct Facts {
    /// Names, and whether the values are numbers.
    pub(crate) columns: Vec<(String, bool)>,
    pub(crate) rows: u64,
    /// Bytes of all columns, unpacked.
    unpacked: u64,
}

/// A table whose file is in memory.
pub(crate) fn parse(name: &str, bytes: &[u8], text: &[String], limit: Option<u64>) -> Result<Table> {
    read(name, Bytes::copy_from_slice(bytes), text, limit)
}

/// A whole table.
pub(crate) fn read<R: ChunkReader + 'static>(
    name: &str,
    source: R,
    text: &[String],
    limit: Option<u64>,
) -> Result<Table> {
    let crew = Crew::new(PARQUET_THREAD);
    guarded(name, || {
        let mut pass = ParquetPass::open(name, source)?;
        let facts = pass.facts()?;
        let needed = facts.rows.saturating_mul(8).saturating_mul(facts.columns.len() as u64).max(facts.unpacked);
        if let Some(limit) = limit.filter(|l| needed > *l) {
            let bytes = |n: u64| mercer::Bytes(u128::from(n));
            return Err(Error::Unsupported {
                file: name.into(),
                what: format!("unpacks to {}, more than the {} there are for reading", bytes(needed), bytes(limit)),
                help: "raise it with --memory, or choose fewer rows or columns".into(),
            });
        }
        let kept: Vec<(usize, bool)> = facts.columns.iter().map(|(n, _)| text.contains(n)).enumerate().collect();
        pass.keep(&kept);
        let mut whole: Vec<Option<Values>> = vec![None; kept.len()];
        let rows = (WHOLE / (8 * kept.len().max(1))).max(1);
        while let Some(batch) = pass.next(rows, &crew)? {
            for (whole, values) in whole.iter_mut().zip(batch) {
                match whole {
                    Some(whole) => whole.append(values),
                    None => *whole = Some(values),
                }
            }
        }
        let columns = facts
            .columns
            .into_iter()
            .zip(whole)
            .map(|((name, _), values)| Column { name, values: values.unwrap_or_else(|| Values::Numbers(Vec::new())) });
        Table::new(name, columns.collect())
    })
}

/// Runs what reads Parquet. The reader is made for files that writers made, and panics on some damaged ones: it has a
/// thread of its own, whose name tells a panic hook that the panic is dealt with.
pub(crate) fn guarded<T: Send>(name: &str, read: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    thread::scope(|scope| {
        let reader = thread::Builder::new()
            .name(PARQUET_THREAD.into())
            .spawn_scoped(scope, read)
            .map_err(Error::io(name, "read"))?;
        reader.join().unwrap_or_else(|_| Err(panicked(name)))
    })
}

/// What a panic of the reader becomes.
pub(crate) fn panicked(name: &str) -> Error {
    Error::damaged(name, FORMAT, "its pages do not fit its footer")
}

/// One pass over a file. Of each column one page is in memory, never a row group.
pub(crate) struct ParquetPass<R: ChunkReader + 'static> {
    name: String,
    file: SerializedFileReader<R>,
    /// The places of the columns that are read.
    places: Vec<usize>,
    columns: Vec<ColumnPass>,
    /// The next row group.
    group: usize,
    /// Rows left in the present one.
    left: usize,
}

impl<R: ChunkReader + 'static> ParquetPass<R> {
    pub(crate) fn open(name: &str, source: R) -> Result<Self> {
        // The footer's length field must fit the file before anything is made of it.
        let length = source.len();
        let end = length.checked_sub(8).filter(|at| *at >= 4).and_then(|at| source.get_bytes(at, 8).ok());
        let Some(&[a, b, c, d, b'P', b'A', b'R', b'1']) = end.as_deref() else {
            return Err(Error::damaged(name, FORMAT, "it does not end like one; perhaps it was cut off"));
        };
        if u64::from(u32::from_le_bytes([a, b, c, d])) > length - 8 {
            return Err(Error::damaged(name, FORMAT, "its footer is longer than the file"));
        }
        let file = SerializedFileReader::new(source).map_err(|e| Error::damaged(name, FORMAT, e))?;
        for column in file.metadata().row_groups().iter().flat_map(|g| g.columns()) {
            if u64::try_from(column.compressed_size()).map_or(true, |size| size > length) {
                return Err(Error::damaged(name, FORMAT, "a column is longer than the file"));
            }
        }
        Ok(ParquetPass { name: name.into(), file, places: Vec::new(), columns: Vec::new(), group: 0, left: 0 })
    }

    pub(crate) fn facts(&self) -> Result<Facts> {
        let (metadata, name) = (self.file.metadata(), &self.name);
        let schema = metadata.file_metadata().schema_descr_ptr();
        if let Some(nested) = schema.root_schema().get_fields().iter().find(|f| !f.is_primitive()) {
            return Err(nested_column(name, nested.name()));
        }
        if let Some(list) = schema.columns().iter().find(|c| c.max_rep_level() > 0) {
            return Err(nested_column(name, list.name()));
        }
        let (mut rows, mut unpacked) = (0u64, 0u64);
        for group in metadata.row_groups() {
            let count = u64::try_from(group.num_rows());
            rows = rows.saturating_add(count.map_err(|_| Error::damaged(name, FORMAT, "it has fewer than no rows"))?);
            for column in group.columns() {
                unpacked = unpacked.saturating_add(u64::try_from(column.uncompressed_size()).unwrap_or(u64::MAX));
            }
        }
        let columns = schema.columns().iter().map(|c| (c.name().to_string(), is_numeric(c))).collect();
        Ok(Facts { columns, rows, unpacked })
    }

    /// Reads these columns: their places, and whether numbers are wanted as text.
    pub(crate) fn keep(&mut self, kept: &[(usize, bool)]) {
        let schema = self.file.metadata().file_metadata().schema_descr_ptr();
        self.places = kept.iter().map(|(place, _)| *place).collect();
        self.columns = kept.iter().map(|(place, text)| ColumnPass::new(schema.column(*place), *text)).collect();
    }

    /// The next rows, at most so many; `None` at the end.
    pub(crate) fn next(&mut self, rows: usize, crew: &Crew) -> Result<Option<Vec<Values>>> {
        let mut have = 0;
        while have < rows {
            if self.left == 0 && !self.next_group()? {
                break;
            }
            let count = self.left.min(rows - have);
            let read = |column: &mut ColumnPass| column.read(count);
            let done = match crew.pool().filter(|_| count * self.columns.len() >= ENOUGH) {
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
            self.left = rows.map_err(|_| Error::damaged(&self.name, FORMAT, "it has fewer than no rows"))?;
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
