//! Parquet in and out.

use std::sync::Arc;
use std::thread;

use bytes::Bytes;
use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::Field;
use parquet::schema::types::Type;

use crate::error::{Error, Result};
use crate::table::{Column, Table, Values, number};

const FORMAT: &str = "Parquet";

/// The name of the thread that reads Parquet. A panic in it becomes an error.
pub const PARQUET_THREAD: &str = "mercer-io parquet";

pub(crate) fn parse(name: &str, bytes: &[u8], text: &[String], limit: Option<u64>) -> Result<Table> {
    // The footer's length field must fit the file before anything is made of it.
    let footer = bytes.len().checked_sub(8).map(|at| &bytes[at..]);
    let Some([a, b, c, d, b'P', b'A', b'R', b'1']) = footer else {
        return Err(Error::damaged(name, FORMAT, "it does not end like one; perhaps it was cut off"));
    };
    if u32::from_le_bytes([*a, *b, *c, *d]) as usize > bytes.len() - 8 {
        return Err(Error::damaged(name, FORMAT, "its footer is longer than the file"));
    }
    // The reader is made for files that writers made, and panics on some damaged ones: it has a thread of its own,
    // whose name tells a panic hook that the panic is dealt with.
    let bytes = bytes.to_vec();
    thread::scope(|scope| {
        let reader = thread::Builder::new()
            .name(PARQUET_THREAD.into())
            .spawn_scoped(scope, || read(name, bytes, text, limit))
            .map_err(Error::io(name, "read"))?;
        reader.join().unwrap_or_else(|_| Err(Error::damaged(name, FORMAT, "its pages do not fit its footer")))
    })
}

fn read(name: &str, bytes: Vec<u8>, text: &[String], limit: Option<u64>) -> Result<Table> {
    let damaged = |e: ParquetError| Error::damaged(name, FORMAT, e);
    let size = bytes.len() as u64;
    let file = SerializedFileReader::new(Bytes::from(bytes)).map_err(damaged)?;
    let schema = file.metadata().file_metadata().schema_descr_ptr();
    let names: Vec<String> = schema.root_schema().get_fields().iter().map(|f| f.name().to_string()).collect();
    if let Some(nested) = schema.root_schema().get_fields().iter().find(|f| !f.is_primitive()) {
        return Err(Error::Unsupported {
            file: name.into(),
            what: format!("column '{}' is nested", nested.name()),
            help: "flatten it first".into(),
        });
    }
    let (mut rows, mut unpacked) = (0u64, 0u64);
    for group in file.metadata().row_groups() {
        rows = rows.saturating_add(u64::try_from(group.num_rows()).unwrap_or(u64::MAX));
        for column in group.columns() {
            let compressed = u64::try_from(column.compressed_size()).unwrap_or(u64::MAX);
            if compressed > size {
                return Err(Error::damaged(name, FORMAT, "a column is longer than the file"));
            }
            unpacked = unpacked.saturating_add(u64::try_from(column.uncompressed_size()).unwrap_or(u64::MAX));
        }
    }
    let needed = rows.saturating_mul(8).saturating_mul(names.len() as u64).max(unpacked);
    if let Some(limit) = limit.filter(|l| needed > *l) {
        let bytes = |n: u64| mercer::Bytes(u128::from(n));
        return Err(Error::Unsupported {
            file: name.into(),
            what: format!("unpacks to {}, more than the {} there are for reading", bytes(needed), bytes(limit)),
            help: "raise it with --memory, or choose fewer rows or columns".into(),
        });
    }
    let mut columns: Vec<Option<Values>> = vec![None; names.len()];
    let mut before = vec![0usize; names.len()]; // missing values before the first that shows the column's type
    for row in file.get_row_iter(None).map_err(damaged)? {
        let row = row.map_err(damaged)?;
        for (c, (_, field)) in row.get_column_iter().enumerate() {
            let cell = Cell::of(name, &names[c], field)?;
            if columns[c].is_none() {
                columns[c] = match cell {
                    Cell::Missing => {
                        before[c] += 1;
                        continue;
                    }
                    Cell::Number(_) if !text.contains(&names[c]) => Some(Values::Numbers(vec![f64::NAN; before[c]])),
                    _ => Some(Values::Text(vec![String::new(); before[c]])),
                };
            }
            match (&mut columns[c], cell) {
                (Some(Values::Numbers(v)), Cell::Number(x)) => v.push(x),
                (Some(Values::Numbers(v)), _) => v.push(f64::NAN),
                (Some(Values::Text(v)), Cell::Number(x)) => v.push(number(x)),
                (Some(Values::Text(v)), Cell::Text(t)) => v.push(t),
                (Some(Values::Text(v)), Cell::Missing) => v.push(String::new()),
                (None, _) => {}
            }
        }
    }
    let columns = names.into_iter().zip(columns).zip(before).map(|((name, values), before)| Column {
        name,
        values: values.unwrap_or_else(|| Values::Numbers(vec![f64::NAN; before])),
    });
    Table::new(name, columns.collect())
}

enum Cell {
    Number(f64),
    Text(String),
    Missing,
}

impl Cell {
    fn of(file: &str, column: &str, field: &Field) -> Result<Cell> {
        Ok(match field {
            Field::Null => Cell::Missing,
            Field::Bool(v) => Cell::Number(f64::from(u8::from(*v))),
            Field::Byte(v) => Cell::Number(f64::from(*v)),
            Field::Short(v) => Cell::Number(f64::from(*v)),
            Field::Int(v) => Cell::Number(f64::from(*v)),
            Field::Long(v) => Cell::Number(*v as f64),
            Field::UByte(v) => Cell::Number(f64::from(*v)),
            Field::UShort(v) => Cell::Number(f64::from(*v)),
            Field::UInt(v) => Cell::Number(f64::from(*v)),
            Field::ULong(v) => Cell::Number(*v as f64),
            Field::Float(v) => Cell::Number(f64::from(*v)),
            Field::Float16(v) => Cell::Number(f64::from(*v)),
            Field::Double(v) => Cell::Number(*v),
            Field::Str(v) => Cell::Text(v.clone()),
            Field::Decimal(_) => match field.to_string().parse() {
                Ok(v) => Cell::Number(v),
                Err(_) => return Err(Error::damaged(file, FORMAT, format!("column '{column}' has a bad decimal"))),
            },
            Field::Bytes(v) => Cell::Text(String::from_utf8_lossy(v.data()).into_owned()),
            // Dates and times are labels: their numbers mean nothing to a distance.
            other => Cell::Text(other.to_string()),
        })
    }
}

/// Writes all columns, compressed with Snappy.
pub(crate) fn write(table: &Table, out: &mut Vec<u8>) -> std::result::Result<(), ParquetError> {
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
    let mut writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    let mut columns = table.columns.iter();
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
    writer.close()?;
    Ok(())
}
