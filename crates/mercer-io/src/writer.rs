//! Tables out.

use std::io::{Cursor, Seek, SeekFrom, Write};

use parquet::errors::ParquetError;

use crate::error::{Error, Result};
use crate::formats::npy;
use crate::formats::parquet::ParquetWriter;
use crate::reader::Format;
use crate::table::{Column, Table};

/// The bytes of a table in a format. NPY takes the numeric columns only.
///
/// # Errors
/// When a column cannot be expressed in the format.
pub fn write_table(table: &Table, format: Format) -> Result<Vec<u8>> {
    let mut writer = TableWriter::new(Cursor::new(Vec::new()), format);
    writer.write(table)?;
    Ok(writer.finish()?.into_inner())
}

/// A table that is written part by part.
pub struct TableWriter<W: Write + Send> {
    way: Way<W>,
    format: Format,
    /// Names, and whether the values are numbers; known from the first part.
    columns: Option<Vec<(String, bool)>>,
    rows: u64,
}

/// How a format is written.
enum Way<W: Write + Send> {
    Text(Box<csv::Writer<W>>),
    Npy(W),
    /// A writer of Parquet needs to know the columns before it begins.
    ParquetToBe(W),
    Parquet(Box<ParquetWriter<W>>),
    /// After an error.
    Lost,
}

impl<W: Write + Send> std::fmt::Debug for TableWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableWriter").field("format", &self.format).field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl<W: Write + Send> TableWriter<W> {
    /// Nothing yet. NPY takes the numeric columns only.
    pub fn new(out: W, format: Format) -> Self {
        let text =
            |out, delimiter| Way::Text(Box::new(csv::WriterBuilder::new().delimiter(delimiter).from_writer(out)));
        let way = match format {
            Format::Csv => text(out, b','),
            Format::Tsv => text(out, b'\t'),
            Format::Npy => Way::Npy(out),
            Format::Parquet => Way::ParquetToBe(out),
        };
        TableWriter { way, format, columns: None, rows: 0 }
    }

    /// The number of rows that were written.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Writes more rows, which have the columns of the first.
    ///
    /// # Errors
    /// When the columns are others, cannot be expressed in the format, or cannot be written.
    pub fn write(&mut self, table: &Table) -> Result<()> {
        let columns: Vec<(String, bool)> = table.columns.iter().map(|c| (c.name.clone(), c.is_numeric())).collect();
        let first = self.columns.is_none();
        if self.columns.get_or_insert_with(|| columns.clone()) != &columns {
            return Err(Error::Unsupported {
                file: table.source.clone(),
                what: "has other columns than the rows before".into(),
                help: "rows of one table have the same columns".into(),
            });
        }
        self.write_rows(table, first).map_err(|e| self.failed(e))?;
        self.rows += table.rows() as u64;
        Ok(())
    }

    fn write_rows(&mut self, table: &Table, first: bool) -> std::io::Result<()> {
        if let Way::ParquetToBe(_) = self.way {
            let Way::ParquetToBe(out) = std::mem::replace(&mut self.way, Way::Lost) else { return Ok(()) };
            self.way = Way::Parquet(Box::new(ParquetWriter::new(out, table).map_err(parquet_failed)?));
        }
        match &mut self.way {
            Way::Text(writer) => {
                let mut write = |fields: Vec<String>| writer.write_record(fields).map_err(text_failed);
                if first {
                    write(table.names().into_iter().map(String::from).collect())?;
                }
                (0..table.rows()).try_for_each(|i| write(table.columns.iter().map(|c| c.as_text(i)).collect()))
            }
            Way::Npy(out) => {
                if first {
                    let d = table.columns.iter().filter(|c| c.is_numeric()).count();
                    out.write_all(&npy::header(0, d))?;
                }
                npy::write_rows(table, out)
            }
            Way::Parquet(writer) => writer.write(table).map_err(parquet_failed),
            Way::ParquetToBe(_) | Way::Lost => Err(std::io::Error::other("it could not be begun")),
        }
    }

    fn failed(&self, error: std::io::Error) -> Error {
        Error::io("the output", "written")(error)
    }

    /// Writes what is still held back, and gives the output back. For outputs that only go forward, like pipes: NPY has
    /// its number of rows in front, and needs [`TableWriter::finish`].
    ///
    /// # Errors
    /// When it cannot be written; for NPY.
    pub fn finish_forward(self) -> Result<W> {
        if self.format == Format::Npy {
            return Err(Error::Unsupported {
                file: "the output".into(),
                what: "cannot be NPY, which has its number of rows in front, when it is written part by part".into(),
                help: "write it to a file, or as CSV".into(),
            });
        }
        self.end()
    }

    fn end(self) -> Result<W> {
        let lost = Error::io("the output", "written");
        let out = match self.way {
            Way::Text(writer) => writer.into_inner().map_err(csv::IntoInnerError::into_error),
            Way::Npy(out) | Way::ParquetToBe(out) => Ok(out),
            Way::Parquet(writer) => writer.finish().map_err(parquet_failed),
            Way::Lost => Err(std::io::Error::other("it could not be begun")),
        };
        let mut out = out.map_err(lost)?;
        out.flush().map_err(Error::io("the output", "written"))?;
        Ok(out)
    }
}

impl<W: Write + Seek + Send> TableWriter<W> {
    /// Writes what is still held back, and gives the output back, which begins at its first byte.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(self) -> Result<W> {
        let (format, rows) = (self.format, self.rows);
        let d = self.columns.as_ref().map(|columns| columns.iter().filter(|(_, numeric)| *numeric).count());
        let mut out = self.end()?;
        if let (Format::Npy, Some(d)) = (format, d) {
            let put = |out: &mut W| {
                out.seek(SeekFrom::Start(0))?;
                out.write_all(&npy::header(rows, d))?;
                out.seek(SeekFrom::End(0))?;
                out.flush()
            };
            put(&mut out).map_err(Error::io("the output", "written"))?;
        }
        Ok(out)
    }
}

/// What is wrong with the output, as the system says it.
fn text_failed(error: csv::Error) -> std::io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(e) => e,
        other => std::io::Error::other(format!("{other:?}")),
    }
}

/// What is wrong with the output, or with what was to be written.
fn parquet_failed(error: ParquetError) -> std::io::Error {
    match error {
        ParquetError::External(e) => match e.downcast::<std::io::Error>() {
            Ok(e) => *e,
            Err(e) => std::io::Error::other(e),
        },
        e => std::io::Error::other(e),
    }
}

/// An empty table with the same columns, which are filled part by part.
pub(crate) fn like(table: &Table) -> Vec<Column> {
    let empty = |c: &Column| {
        if c.is_numeric() { Column::numbers(&c.name, Vec::new()) } else { Column::text(&c.name, Vec::new()) }
    };
    table.columns.iter().map(empty).collect()
}
