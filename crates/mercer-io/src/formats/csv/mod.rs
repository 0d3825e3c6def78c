//! CSV and TSV.
//!
//! A text has no types of its own. They follow one rule, whether the table is read at once or batch by batch: a column
//! has numbers unless more of its values are words than numbers in the first [`SAMPLE`] rows. A word in a column of
//! numbers is then an error wherever it is.

mod parse;
pub(crate) mod text;

use std::io;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::note::Note;
use crate::reader::{Header, ReadOptions};
use crate::source::TableFile;
use crate::stream::StreamColumn;
use crate::table::{Table, check_names};

use super::{Format, OpenTable, Output, PandasCode, Pass, RowWriter, TableFormat, Wanted, python_list, python_text};
use parse::{Cell, Counts, CsvPass, Trouble};
use text::{Record, Text};

/// Rows that decide whether a column has numbers.
const SAMPLE: usize = 10_000;

/// Delimiters that are detected.
const DELIMITERS: &[u8] = b",\t;";

impl Format {
    /// Comma-separated values; also with semicolons or tabs.
    pub const CSV: Format =
        Format(&Csv { name: "csv", title: "CSV", extensions: &["csv", "txt", "data"], tabs: false });
    /// Tab-separated values.
    pub const TSV: Format = Format(&Csv { name: "tsv", title: "TSV", extensions: &["tsv", "tab"], tabs: true });
}

/// CSV, or TSV with tabs.
struct Csv {
    name: &'static str,
    title: &'static str,
    extensions: &'static [&'static str],
    tabs: bool,
}

impl TableFormat for Csv {
    fn name(&self) -> &'static str {
        self.name
    }

    fn title(&self) -> &'static str {
        self.title
    }

    fn extensions(&self) -> &'static [&'static str] {
        self.extensions
    }

    fn is_text(&self) -> bool {
        true
    }

    fn pandas(&self, file: &str, names: &[String], options: &ReadOptions) -> PandasCode {
        let mut expression = format!("pd.read_csv({}", python_text(file));
        match options.delimiter.or(self.tabs.then_some(b'\t')) {
            Some(b',') => {}
            Some(delimiter) => {
                expression += &format!(", sep={}", python_text(&char::from(delimiter).to_string()));
            }
            // Detected, as here.
            None => expression += ", sep=None, engine=\"python\"",
        }
        if options.skip > 0 {
            expression += &format!(", skiprows={}", options.skip);
        }
        let unnamed = names.iter().enumerate().all(|(c, name)| *name == numbered(c));
        if unnamed && options.header != Header::Yes {
            expression += &format!(", header=None, names=[{}]", python_list(names));
        }
        PandasCode { imports: String::new(), expression: expression + ")" }
    }

    fn open(&self, source: &TableFile) -> Result<Arc<dyn OpenTable>> {
        open(source, self.tabs.then_some(b'\t'))
    }

    fn writer(&self, out: Output) -> Box<dyn RowWriter> {
        let delimiter = if self.tabs { b'\t' } else { b',' };
        let writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(out);
        Box::new(CsvWriter { writer, has_names: false })
    }
}

/// How a text is written.
#[derive(Clone, Copy, Debug)]
struct Dialect {
    delimiter: u8,
    header: bool,
}

/// A text whose first rows were read.
#[derive(Debug)]
struct CsvTable {
    dialect: Dialect,
    columns: Vec<StreamColumn>,
    notes: Vec<Note>,
    is_empty: bool,
}

/// Reads the first rows of a text with a delimiter that is known, or to be detected.
fn open(source: &TableFile, delimiter: Option<u8>) -> Result<Arc<dyn OpenTable>> {
    let (name, options) = (source.name.as_str(), &source.options);
    let mut text = Text::open(source, false, options.limit.unwrap_or(u64::MAX))?;
    let delimiter = match options.delimiter.or(delimiter) {
        Some(delimiter) => delimiter,
        None => likely_delimiter(text.first_lines()?),
    };
    let Some((line, first)) = next_row(name, &mut text, delimiter)? else {
        return Err(Error::Empty { file: name.into() });
    };
    let second = next_row(name, &mut text, delimiter)?;
    let mut notes = Vec::new();
    let header = match options.header {
        Header::Yes => true,
        Header::No => false,
        Header::Auto => {
            let has_names = looks_like_names(&first, second.as_ref().map_or(&[], |(_, fields)| fields));
            if !has_names {
                notes.push(Note::FirstLineIsData);
            }
            has_names
        }
    };
    let names = column_names(name, header.then_some(&first), first.len())?;
    let mut counts = Counts::new(names.len());
    let wrong = |line: u64| move |trouble: Trouble| trouble.at(name, line, &[]);
    if !header {
        counts.row(&first).map_err(wrong(line))?;
    }
    if let Some((line, fields)) = &second {
        counts.row(fields).map_err(wrong(*line))?;
    }
    counts.sample(name, &mut text, delimiter, SAMPLE)?;
    let columns = names.into_iter().zip(counts.are_numeric()).map(|(name, numeric)| {
        let is_numeric = numeric && !options.text.contains(&name);
        StreamColumn { name, is_numeric }
    });
    let columns = columns.collect();
    let (dialect, is_empty) = (Dialect { delimiter, header }, header && second.is_none());
    Ok(Arc::new(CsvTable { dialect, columns, notes, is_empty }))
}

impl OpenTable for CsvTable {
    fn columns(&self) -> &[StreamColumn] {
        &self.columns
    }

    fn is_empty(&self) -> bool {
        self.is_empty
    }

    fn has_types(&self) -> bool {
        false
    }

    fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Of a further text only the names are read: it is written like this one, and has its types.
    fn open_next(&self, source: &TableFile) -> Result<Arc<dyn OpenTable>> {
        let (name, dialect) = (source.name.as_str(), self.dialect);
        let mut text = Text::open(source, false, source.options.limit.unwrap_or(u64::MAX))?;
        let Some((_, first)) = next_row(name, &mut text, dialect.delimiter)? else {
            return Err(Error::Empty { file: name.into() });
        };
        let names = column_names(name, dialect.header.then_some(&first), first.len())?;
        let columns = names.into_iter().map(|name| StreamColumn { name, is_numeric: true }).collect();
        Ok(Arc::new(CsvTable { dialect, columns, notes: Vec::new(), is_empty: false }))
    }

    fn pass(&self, source: &TableFile, wanted: &[Wanted], batch_bytes: usize, limit: u64) -> Result<Box<dyn Pass>> {
        let text = Text::open(source, true, limit)?;
        Ok(Box::new(CsvPass::open(&source.name, text, self.dialect, self.columns.len(), wanted, batch_bytes)?))
    }
}

/// The delimiter that is most frequent in the first line that is not empty.
fn likely_delimiter(bytes: &[u8]) -> u8 {
    let mut lines = bytes.split(|b| *b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let first = lines.find(|line| !line.is_empty()).unwrap_or_default();
    let count = |d: &&u8| first.iter().filter(|b| b == d).count();
    DELIMITERS.iter().rev().max_by_key(count).copied().unwrap_or(b',')
}

/// Whether a first row has names: none of its fields is a number, or a word is above a number.
fn looks_like_names(first: &[String], second: &[String]) -> bool {
    let is_number = |f: &String| matches!(Cell::of(f), Cell::Number(_));
    let is_word = |f: &String| matches!(Cell::of(f), Cell::Word);
    !first.iter().any(is_number) || first.iter().zip(second).any(|(f, s)| is_word(f) && is_number(s))
}

/// The name of a column without one.
fn numbered(column: usize) -> String {
    format!("x{}", column + 1)
}

fn column_names(file: &str, first: Option<&Vec<String>>, count: usize) -> Result<Vec<String>> {
    let names: Vec<String> = match first {
        None => (0..count).map(numbered).collect(),
        Some(names) => {
            names.iter().enumerate().map(|(c, n)| if n.is_empty() { numbered(c) } else { n.clone() }).collect()
        }
    };
    check_names(file, names.iter().map(String::as_str))?;
    Ok(names)
}

/// The next row and its line.
fn next_row(file: &str, text: &mut Text, delimiter: u8) -> Result<Option<(u64, Vec<String>)>> {
    let mut row = None;
    text.records(1, delimiter, |record: Record<'_>| {
        let field = |field| utf8(file, record.line, field).map(str::to_string);
        row = Some((record.line, record.fields.iter().map(field).collect::<Result<_>>()?));
        Ok(())
    })?;
    Ok(row)
}

fn utf8<'a>(file: &str, line: u64, field: &'a [u8]) -> Result<&'a str> {
    std::str::from_utf8(field).map_err(|_| Error::NotUtf8 { file: file.into(), line })
}

/// A text while it is written.
struct CsvWriter {
    writer: csv::Writer<Output>,
    has_names: bool,
}

impl RowWriter for CsvWriter {
    fn write(&mut self, rows: &Table) -> io::Result<()> {
        let mut write = |fields: Vec<String>| self.writer.write_record(fields).map_err(io_error);
        if !self.has_names {
            write(rows.names().into_iter().map(String::from).collect())?;
            self.has_names = true;
        }
        (0..rows.rows()).try_for_each(|i| write(rows.columns.iter().map(|c| c.as_text(i)).collect()))
    }

    fn finish(mut self: Box<Self>) -> io::Result<Option<Vec<u8>>> {
        self.writer.flush()?;
        Ok(None)
    }
}

fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(e) => e,
        other => io::Error::other(format!("{other:?}")),
    }
}
