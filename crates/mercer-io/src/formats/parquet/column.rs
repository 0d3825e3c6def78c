//! The columns of Parquet files, read piece by piece.

use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::record::Field;
use parquet::schema::types::ColumnDescPtr;

use crate::table::{Values, number};

type Result<T> = std::result::Result<T, ParquetError>;

/// Whether the values of a column are numbers. Dates and times are labels: their numbers mean nothing to a distance.
pub(crate) fn is_numeric(column: &ColumnDescPtr) -> bool {
    let decimal = column.converted_type() == ConvertedType::DECIMAL;
    match column.physical_type() {
        Physical::BOOLEAN | Physical::FLOAT | Physical::DOUBLE => true,
        Physical::INT32 => !matches!(column.converted_type(), ConvertedType::DATE | ConvertedType::TIME_MILLIS),
        Physical::INT64 => {
            let time = matches!(
                column.converted_type(),
                ConvertedType::TIME_MICROS | ConvertedType::TIMESTAMP_MILLIS | ConvertedType::TIMESTAMP_MICROS
            );
            !time && !in_nanoseconds(column)
        }
        Physical::INT96 => false,
        Physical::BYTE_ARRAY => decimal,
        Physical::FIXED_LEN_BYTE_ARRAY => decimal || column.logical_type_ref() == Some(&LogicalType::Float16),
    }
}

/// Times in nanoseconds have a logical type only.
fn in_nanoseconds(column: &ColumnDescPtr) -> bool {
    match column.logical_type_ref() {
        Some(LogicalType::Timestamp(t)) => t.unit == TimeUnit::NANOS,
        Some(LogicalType::Time(t)) => t.unit == TimeUnit::NANOS,
        _ => false,
    }
}

/// One column of a file, while it is read.
pub(crate) struct ColumnPass {
    column: ColumnDescPtr,
    numeric: bool,
    reader: Option<ColumnReader>,
    levels: Vec<i16>,
    values: Values,
}

impl ColumnPass {
    /// `as_text`: numbers are wanted as text.
    pub(crate) fn new(column: ColumnDescPtr, as_text: bool) -> Self {
        let numeric = is_numeric(&column);
        let values = if numeric && !as_text { Values::Numbers(Vec::new()) } else { Values::Text(Vec::new()) };
        ColumnPass { column, numeric, reader: None, levels: Vec::new(), values }
    }

    /// Goes on with the next row group.
    pub(crate) fn set_reader(&mut self, reader: ColumnReader) {
        self.reader = Some(reader);
    }

    /// What was read since the last time.
    pub(crate) fn take(&mut self) -> Values {
        match &mut self.values {
            Values::Numbers(v) => Values::Numbers(std::mem::take(v)),
            Values::Text(v) => Values::Text(std::mem::take(v)),
        }
    }

    /// Reads `rows` more values.
    pub(crate) fn read(&mut self, rows: usize) -> Result<()> {
        let Some(reader) = &mut self.reader else { return Err(fewer_rows()) };
        let column = &self.column;
        let mut to = Target { levels: &mut self.levels, full: column.max_def_level(), values: &mut self.values };
        let converted = column.converted_type();
        match reader {
            ColumnReader::DoubleColumnReader(r) => to.doubles(r, rows),
            ColumnReader::FloatColumnReader(r) => to.numbers(r, rows, |v| Ok(f64::from(*v))),
            ColumnReader::BoolColumnReader(r) => to.numbers(r, rows, |v| Ok(f64::from(u8::from(*v)))),
            ColumnReader::Int32ColumnReader(r) if self.numeric => match converted {
                ConvertedType::UINT_8 => to.numbers(r, rows, |v| Ok(f64::from(*v as u8))),
                ConvertedType::UINT_16 => to.numbers(r, rows, |v| Ok(f64::from(*v as u16))),
                ConvertedType::UINT_32 => to.numbers(r, rows, |v| Ok(f64::from(*v as u32))),
                ConvertedType::INT_8 => to.numbers(r, rows, |v| Ok(f64::from(*v as i8))),
                ConvertedType::INT_16 => to.numbers(r, rows, |v| Ok(f64::from(*v as i16))),
                ConvertedType::DECIMAL => {
                    let scale = column.type_scale();
                    to.numbers(r, rows, |v| {
                        decimal(i64::from(*v), scale).map_or_else(|| parsed(&Field::convert_int32(column, *v)), Ok)
                    })
                }
                _ => to.numbers(r, rows, |v| Ok(f64::from(*v))),
            },
            ColumnReader::Int64ColumnReader(r) if self.numeric => match converted {
                ConvertedType::UINT_64 => to.numbers(r, rows, |v| Ok(*v as u64 as f64)),
                ConvertedType::DECIMAL => {
                    let scale = column.type_scale();
                    to.numbers(r, rows, |v| {
                        decimal(*v, scale).map_or_else(|| parsed(&Field::convert_int64(column, *v)), Ok)
                    })
                }
                _ => to.numbers(r, rows, |v| Ok(*v as f64)),
            },
            ColumnReader::Int32ColumnReader(r) => {
                to.texts(r, rows, |v| Ok(Field::convert_int32(column, *v).to_string()))
            }
            ColumnReader::Int64ColumnReader(r) if in_nanoseconds(column) => {
                let time = matches!(column.logical_type_ref(), Some(LogicalType::Time(_)));
                to.texts(r, rows, |v| Ok(nanoseconds(*v, time)))
            }
            ColumnReader::Int64ColumnReader(r) => {
                to.texts(r, rows, |v| Ok(Field::convert_int64(column, *v).to_string()))
            }
            ColumnReader::Int96ColumnReader(r) => {
                to.texts(r, rows, |v| Ok(Field::convert_int96(column, *v).to_string()))
            }
            ColumnReader::ByteArrayColumnReader(r) if self.numeric => {
                to.numbers(r, rows, |v| parsed(&Field::convert_byte_array(column, v.clone())?))
            }
            ColumnReader::FixedLenByteArrayColumnReader(r) if self.numeric => {
                to.numbers(r, rows, |v| parsed(&Field::convert_byte_array(column, v.clone().into())?))
            }
            ColumnReader::ByteArrayColumnReader(r) => {
                let binary = matches!(converted, ConvertedType::NONE | ConvertedType::BSON);
                to.texts(r, rows, |v| label(v, binary))
            }
            ColumnReader::FixedLenByteArrayColumnReader(r) => to.texts(r, rows, |v| label(v, true)),
        }
    }
}

fn label(bytes: &ByteArray, binary: bool) -> Result<String> {
    match std::str::from_utf8(bytes.data()) {
        Ok(text) => Ok(text.to_string()),
        Err(_) if binary => Ok(String::from_utf8_lossy(bytes.data()).into_owned()),
        Err(_) => Err(ParquetError::General("a text is not UTF-8".into())),
    }
}

/// A time, to the microsecond.
fn nanoseconds(value: i64, time_of_day: bool) -> String {
    let micros = value.div_euclid(1000);
    let field = if time_of_day { Field::TimeMicros(micros) } else { Field::TimestampMicros(micros) };
    field.to_string()
}

/// A decimal whose digits and power of ten are both exact: the quotient is the nearest number.
fn decimal(digits: i64, scale: i32) -> Option<f64> {
    let exact = digits.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS && (0..=22).contains(&scale);
    exact.then(|| digits as f64 / 10f64.powi(scale))
}

fn parsed(field: &Field) -> Result<f64> {
    match field {
        Field::Float16(v) => Ok(f64::from(*v)),
        other => other.to_string().parse().map_err(|_| ParquetError::General("a decimal is none".into())),
    }
}

fn fewer_rows() -> ParquetError {
    ParquetError::General("a column has fewer rows than the footer says".into())
}

/// Where values go: one per row, missing ones between them.
struct Target<'a> {
    levels: &'a mut Vec<i16>,
    /// The definition level of a value that is there.
    full: i16,
    values: &'a mut Values,
}

impl Target<'_> {
    /// Appends the present values of the next rows to `into`; `levels` then say which rows have one.
    fn pull<T: DataType>(
        &mut self,
        reader: &mut ColumnReaderImpl<T>,
        rows: usize,
        into: &mut Vec<T::T>,
    ) -> Result<usize> {
        self.levels.clear();
        let (records, present, _) = reader.read_records(rows, Some(self.levels), None, into)?;
        if records != rows || (present != rows && self.levels.len() != rows) {
            return Err(fewer_rows());
        }
        Ok(present)
    }

    /// Doubles need no other place to be read to.
    fn doubles(&mut self, reader: &mut ColumnReaderImpl<parquet::data_type::DoubleType>, rows: usize) -> Result<()> {
        let mut values = match self.values {
            Values::Numbers(v) => std::mem::take(v),
            Values::Text(_) => return self.numbers(reader, rows, |v| Ok(*v)),
        };
        values.reserve(rows);
        let before = values.len();
        let present = self.pull(reader, rows, &mut values)?;
        if present < rows {
            // From the end, each value moves to its row.
            values.resize(before + rows, f64::NAN);
            let mut from = before + present;
            for (row, level) in self.levels.iter().enumerate().rev() {
                values[before + row] = if *level == self.full {
                    from -= 1;
                    values[from]
                } else {
                    f64::NAN
                };
            }
        }
        *self.values = Values::Numbers(values);
        Ok(())
    }

    fn numbers<T: DataType>(
        &mut self,
        reader: &mut ColumnReaderImpl<T>,
        rows: usize,
        turn: impl Fn(&T::T) -> Result<f64>,
    ) -> Result<()> {
        let mut read = Vec::with_capacity(rows);
        let present = self.pull(reader, rows, &mut read)?;
        match self.values {
            Values::Numbers(v) => {
                v.reserve(rows);
                place(self.levels, self.full, present == rows, &read, |x| {
                    v.push(x.map_or(Ok(f64::NAN), &turn)?);
                    Ok(())
                })
            }
            Values::Text(v) => place(self.levels, self.full, present == rows, &read, |x| {
                v.push(x.map_or(Ok(String::new()), |x| turn(x).map(number))?);
                Ok(())
            }),
        }
    }

    fn texts<T: DataType>(
        &mut self,
        reader: &mut ColumnReaderImpl<T>,
        rows: usize,
        turn: impl Fn(&T::T) -> Result<String>,
    ) -> Result<()> {
        let mut read = Vec::with_capacity(rows);
        let present = self.pull(reader, rows, &mut read)?;
        let Values::Text(v) = self.values else { return Err(fewer_rows()) };
        v.reserve(rows);
        place(self.levels, self.full, present == rows, &read, |x| {
            v.push(x.map_or(Ok(String::new()), &turn)?);
            Ok(())
        })
    }
}

/// Hands over one value, or none, for each row.
fn place<T>(
    levels: &[i16],
    full: i16,
    all: bool,
    present: &[T],
    mut take: impl FnMut(Option<&T>) -> Result<()>,
) -> Result<()> {
    if all {
        return present.iter().try_for_each(|v| take(Some(v)));
    }
    let mut present = present.iter();
    levels.iter().try_for_each(|level| take(if *level == full { present.next() } else { None }))
}
