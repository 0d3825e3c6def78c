//! Tables out.

use std::io::{self, Cursor, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::formats::{Format, RowWriter};
use crate::table::Table;

/// The output, in messages.
const OUTPUT: &str = "the output";

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
pub struct TableWriter<W> {
    out: Shared<W>,
    rows_to: Box<dyn RowWriter>,
    format: Format,
    /// Names, and whether the values are numbers; known from the first part.
    columns: Option<Vec<(String, bool)>>,
    rows: u64,
}

impl<W> std::fmt::Debug for TableWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableWriter").field("format", &self.format).field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl<W: Write + Send + 'static> TableWriter<W> {
    /// Begins a table. NPY takes the numeric columns only.
    pub fn new(out: W, format: Format) -> Self {
        let out = Shared(Arc::new(Mutex::new(out)));
        let rows_to = format.writer(Box::new(Shared(Arc::clone(&out.0))));
        TableWriter { out, rows_to, format, columns: None, rows: 0 }
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
        if self.columns.get_or_insert_with(|| columns.clone()) != &columns {
            let what = "has other columns than the rows before";
            return Err(Error::advised(&table.source, what, "rows of one table need the same columns"));
        }
        self.rows_to.write(table).map_err(failed)?;
        self.rows += table.rows() as u64;
        Ok(())
    }

    /// Writes what is buffered, and gives the output back. For outputs that cannot seek, like pipes; a format with its
    /// number of rows in front needs [`TableWriter::finish`].
    ///
    /// # Errors
    /// When it cannot be written; for formats that do not [write forward](Format::writes_forward).
    pub fn finish_forward(self) -> Result<W> {
        if !self.format.writes_forward() {
            let what = format!("{} cannot be written part by part to an output that cannot seek", self.format.title());
            return Err(Error::advised(OUTPUT, what, "write it to a file, or as CSV"));
        }
        self.end().map(|(out, _)| out).map_err(failed)
    }

    /// The output, and what replaces its first bytes.
    fn end(self) -> io::Result<(W, Option<Vec<u8>>)> {
        let head = self.rows_to.finish()?;
        // The writer is gone, and its share of the output with it.
        let out = Arc::into_inner(self.out.0).ok_or_else(|| io::Error::other("the output is still in use"))?;
        let mut out = out.into_inner().unwrap_or_else(PoisonError::into_inner);
        out.flush()?;
        Ok((out, head))
    }
}

impl<W: Write + Seek + Send + 'static> TableWriter<W> {
    /// Writes what is buffered, and gives the output back, which begins at its first byte.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(self) -> Result<W> {
        let end = |(mut out, head): (W, Option<Vec<u8>>)| {
            if let Some(head) = head {
                out.seek(SeekFrom::Start(0))?;
                out.write_all(&head)?;
                out.seek(SeekFrom::End(0))?;
                out.flush()?;
            }
            Ok(out)
        };
        self.end().and_then(end).map_err(failed)
    }
}

fn failed(error: io::Error) -> Error {
    Error::io(OUTPUT, "written")(error)
}

/// An output that a writer of rows uses and that is taken back from it at the end.
struct Shared<W>(Arc<Mutex<W>>);

impl<W: Write> Write for Shared<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).flush()
    }
}
