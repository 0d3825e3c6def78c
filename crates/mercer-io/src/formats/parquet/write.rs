//! Parquet out.

use std::io;
use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use crate::table::{Column, Table, Values};

use super::super::{Output, RowWriter};

/// Bytes of a row group, about.
const GROUP: usize = 64_000_000;

/// Writes all columns, compressed with Snappy. Rows are gathered until they are enough for a row group.
pub(super) struct ParquetWriter {
    state: State,
}

enum State {
    /// The columns are known with the first rows.
    New(Output),
    Open(Box<Open>),
    /// After an error.
    Failed,
}

struct Open {
    writer: SerializedFileWriter<Output>,
    gathered: Vec<Column>,
    bytes: usize,
    groups: usize,
}

impl ParquetWriter {
    pub(super) fn new(out: Output) -> Self {
        ParquetWriter { state: State::New(out) }
    }
}

impl RowWriter for ParquetWriter {
    fn write(&mut self, rows: &Table) -> io::Result<()> {
        if let State::New(_) = self.state
            && let State::New(out) = std::mem::replace(&mut self.state, State::Failed)
        {
            self.state = State::Open(Box::new(Open::new(out, rows).map_err(io_error)?));
        }
        match &mut self.state {
            State::Open(open) => open.write(rows).map_err(io_error),
            State::New(_) | State::Failed => Err(io::Error::other("the table could not be begun")),
        }
    }

    fn finish(self: Box<Self>) -> io::Result<Option<Vec<u8>>> {
        match self.state {
            State::New(_) => Ok(None),
            State::Open(open) => open.finish().map(|()| None).map_err(io_error),
            State::Failed => Err(io::Error::other("the table could not be begun")),
        }
    }
}

/// The error of the output inside the library's own.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(e) => match e.downcast::<io::Error>() {
            Ok(e) => *e,
            Err(e) => io::Error::other(e),
        },
        e => io::Error::other(e),
    }
}

/// Columns like those of a table, without rows.
fn empty_columns(table: &Table) -> Vec<Column> {
    let empty = |c: &Column| {
        if c.is_numeric() { Column::numbers(&c.name, Vec::new()) } else { Column::text(&c.name, Vec::new()) }
    };
    table.columns.iter().map(empty).collect()
}

impl Open {
    /// For tables with the columns of this one.
    fn new(out: Output, table: &Table) -> Result<Self> {
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
        let fields = fields.collect::<Result<Vec<_>>>()?;
        let schema = Type::group_type_builder("mercer").with_fields(fields).build()?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
        Ok(Open { writer, gathered: empty_columns(table), bytes: 0, groups: 0 })
    }

    fn write(&mut self, table: &Table) -> Result<()> {
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

    fn flush(&mut self) -> Result<()> {
        let mut columns = std::mem::take(&mut self.gathered);
        self.group(&columns)?;
        columns.iter_mut().for_each(|c| c.values.clear());
        (self.gathered, self.bytes) = (columns, 0);
        Ok(())
    }

    fn group(&mut self, columns: &[Column]) -> Result<()> {
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

    /// Writes what was gathered, and the footer.
    fn finish(mut self) -> Result<()> {
        if self.bytes > 0 || self.groups == 0 {
            self.flush()?;
        }
        self.writer.into_inner().map(|_| ())
    }
}
