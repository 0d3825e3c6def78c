//! CSV and TSV in.

use csv::{ByteRecord, ReaderBuilder, Trim};

use crate::error::{Error, Result};
use crate::reader::{Header, ReadOptions};
use crate::table::{Column, Table, Values};

/// Fields that stand for a missing value.
const MISSING: &[&str] = &["", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "?", "."];

/// Delimiters that are looked for.
const DELIMITERS: &[u8] = b",\t;";

pub(crate) fn parse(name: &str, bytes: &[u8], delimiter: Option<u8>, options: &ReadOptions) -> Result<Table> {
    let bytes = skip_lines(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes), options.skip);
    let first_line = bytes.split(|b| *b == b'\n').find(|line| !line.is_empty()).unwrap_or_default();
    let most = |d: &&u8| first_line.iter().filter(|b| b == d).count();
    let sniffed = DELIMITERS.iter().rev().max_by_key(most).copied().unwrap_or(b',');
    let delimiter = options.delimiter.or(delimiter).unwrap_or(sniffed);

    let mut file = Lines::open(name, bytes, delimiter);
    let Some(first) = file.next()? else { return Err(Error::Empty { file: name.into() }) };
    let first = first.text(name)?;
    let mut notes = Vec::new();
    let has_header = match options.header {
        Header::Yes => true,
        Header::No => false,
        Header::Auto => {
            let numbers = first.iter().all(|f| f.parse::<f64>().is_ok());
            if numbers {
                notes.push("no names in the first line, which is all numbers (--header yes takes it as names)".into());
            }
            !numbers
        }
    };
    let names = column_names(name, has_header.then_some(&first), first.len())?;

    // Columns are read as numbers until one is not. A column that began as text is read again as text; one that
    // breaks off later is an error, unless it was asked for as text.
    let mut kinds: Vec<Kind> =
        names.iter().map(|n| if options.text.contains(n) { Kind::Text } else { Kind::Number }).collect();
    let columns = loop {
        let mut file = Lines::open(name, bytes, delimiter);
        if has_header {
            file.next()?;
        }
        match read_columns(name, &mut file, &names, &kinds)? {
            Read::Whole(columns) => break columns,
            Read::Again(text) => text.into_iter().for_each(|c| kinds[c] = Kind::Text),
        }
    };
    let columns = names.into_iter().zip(columns).map(|(name, values)| Column { name, values }).collect();
    let mut table = Table::new(name, columns)?;
    table.notes = notes;
    Ok(table)
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Number,
    Text,
}

enum Read {
    Whole(Vec<Values>),
    Again(Vec<usize>),
}

fn read_columns(name: &str, file: &mut Lines<'_>, names: &[String], kinds: &[Kind]) -> Result<Read> {
    let mut columns: Vec<Values> = kinds
        .iter()
        .map(|k| if *k == Kind::Text { Values::Text(Vec::new()) } else { Values::Numbers(Vec::new()) })
        .collect();
    let mut is_text = vec![false; names.len()];
    let mut seen_number = vec![false; names.len()];
    while let Some(line) = file.next()? {
        if line.record.len() != names.len() {
            let (found, expected) = (line.record.len(), names.len());
            return Err(Error::Ragged { file: name.into(), line: line.number, found, expected });
        }
        for (c, field) in line.record.iter().enumerate() {
            let text = std::str::from_utf8(field).map_err(|_| line.not_utf8(name))?;
            match &mut columns[c] {
                Values::Text(values) => values.push(text.to_string()),
                Values::Numbers(_) if is_text[c] => {}
                Values::Numbers(values) => {
                    if MISSING.contains(&text) {
                        values.push(f64::NAN);
                    } else if let Ok(v) = text.parse::<f64>() {
                        seen_number[c] = true;
                        values.push(v);
                    } else if seen_number[c] {
                        let (column, value) = (names[c].clone(), text.to_string());
                        return Err(Error::NotANumber { file: name.into(), line: line.number, column, value });
                    } else {
                        is_text[c] = true;
                    }
                }
            }
        }
    }
    let again: Vec<usize> = (0..names.len()).filter(|&c| is_text[c]).collect();
    Ok(if again.is_empty() { Read::Whole(columns) } else { Read::Again(again) })
}

fn column_names(file: &str, first: Option<&Vec<String>>, count: usize) -> Result<Vec<String>> {
    let numbered = |c: usize| format!("x{}", c + 1);
    let names: Vec<String> = match first {
        None => (0..count).map(numbered).collect(),
        Some(names) => {
            names.iter().enumerate().map(|(c, n)| if n.is_empty() { numbered(c) } else { n.clone() }).collect()
        }
    };
    // The same check as Table::new, but before a large file is read.
    Table::new(file, names.iter().map(|n| Column::numbers(n.clone(), Vec::new())).collect())?;
    Ok(names)
}

fn skip_lines(bytes: &[u8], count: usize) -> &[u8] {
    let mut rest = bytes;
    for _ in 0..count {
        rest = match rest.iter().position(|b| *b == b'\n') {
            Some(at) => &rest[at + 1..],
            None => &[],
        };
    }
    rest
}

struct Lines<'a> {
    name: &'a str,
    reader: csv::Reader<&'a [u8]>,
    record: ByteRecord,
}

struct Line<'a> {
    number: u64,
    record: &'a ByteRecord,
}

impl<'a> Lines<'a> {
    fn open(name: &'a str, bytes: &'a [u8], delimiter: u8) -> Self {
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .trim(Trim::All)
            .from_reader(bytes);
        Lines { name, reader, record: ByteRecord::new() }
    }

    fn next(&mut self) -> Result<Option<Line<'_>>> {
        let more = self.reader.read_byte_record(&mut self.record);
        if !more.map_err(|e| Error::damaged(self.name, "CSV", e))? {
            return Ok(None);
        }
        let number = self.record.position().map_or(0, csv::Position::line);
        Ok(Some(Line { number, record: &self.record }))
    }
}

impl Line<'_> {
    fn not_utf8(&self, file: &str) -> Error {
        Error::NotUtf8 { file: file.into(), line: self.number }
    }

    fn text(&self, file: &str) -> Result<Vec<String>> {
        self.record
            .iter()
            .map(|f| std::str::from_utf8(f).map(str::to_string).map_err(|_| self.not_utf8(file)))
            .collect()
    }
}
