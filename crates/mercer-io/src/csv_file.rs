//! CSV and TSV in.

use csv::{ByteRecord, ReaderBuilder, Trim};

use crate::error::{Error, Result};
use crate::lines::{blank, newlines};
use crate::reader::{Header, ReadOptions};
use crate::table::{Column, Table, Values};

/// Fields that stand for a missing value.
pub(crate) const MISSING: &[&str] = &["", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "?", "."];

/// What is said when the first line is not taken for names.
pub(crate) const NO_NAMES: &str = "the first line has numbers and is taken as data (--header yes takes it as names)";

/// Delimiters that are looked for.
const DELIMITERS: &[u8] = b",\t;";

pub(crate) fn parse(name: &str, bytes: &[u8], delimiter: Option<u8>, options: &ReadOptions) -> Result<Table> {
    let bytes = skip_lines(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes), options.skip);
    let delimiter = options.delimiter.or(delimiter).unwrap_or_else(|| likely_delimiter(bytes));

    let mut file = Lines::open(name, bytes, delimiter, options.skip);
    let Some(first) = file.next()? else { return Err(Error::Empty { file: name.into() }) };
    let first = first.text(name)?;
    let mut notes = Vec::new();
    let has_header = match options.header {
        Header::Yes => true,
        Header::No => false,
        Header::Auto => {
            let second = file.next()?.map(|line| line.text(name)).transpose()?.unwrap_or_default();
            let yes = looks_like_names(&first, &second);
            if !yes {
                notes.push(NO_NAMES.into());
            }
            yes
        }
    };
    let names = column_names(name, has_header.then_some(&first), first.len())?;

    // Columns are read as numbers. One with more words than numbers is read again as text; a word among numbers is an
    // error, unless the column was asked for as text.
    let mut kinds: Vec<Kind> =
        names.iter().map(|n| if options.text.contains(n) { Kind::Text } else { Kind::Number }).collect();
    let columns = loop {
        let mut file = Lines::open(name, bytes, delimiter, options.skip);
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

/// What the first line that is not empty has most of.
pub(crate) fn likely_delimiter(bytes: &[u8]) -> u8 {
    let first_line = bytes.split(|b| *b == b'\n').find(|line| !line.is_empty()).unwrap_or_default();
    let most = |d: &&u8| first_line.iter().filter(|b| b == d).count();
    DELIMITERS.iter().rev().max_by_key(most).copied().unwrap_or(b',')
}

/// Names have no number among them, or stand over a column of numbers without being one.
pub(crate) fn looks_like_names(first: &[String], second: &[String]) -> bool {
    let is_number = |f: &String| f.parse::<f64>().is_ok() && !MISSING.contains(&f.as_str());
    let is_word = |f: &String| !is_number(f) && !MISSING.contains(&f.as_str());
    !first.iter().any(is_number) || first.iter().zip(second).any(|(f, s)| is_word(f) && is_number(s))
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
    // What a column has that is not a number: how often, and where first.
    let mut words: Vec<Option<(usize, u64, String)>> = vec![None; names.len()];
    let mut numbers = vec![0usize; names.len()];
    while let Some(line) = file.next()? {
        if line.record.len() != names.len() {
            let (found, expected) = (line.record.len(), names.len());
            return Err(Error::Ragged { file: name.into(), line: line.number, found, expected });
        }
        for (c, field) in line.record.iter().enumerate() {
            let text = std::str::from_utf8(field).map_err(|_| line.not_utf8(name))?;
            match &mut columns[c] {
                Values::Text(values) => values.push(text.to_string()),
                Values::Numbers(values) => {
                    if MISSING.contains(&text) {
                        values.push(f64::NAN);
                    } else if let Ok(v) = text.parse::<f64>() {
                        numbers[c] += 1;
                        values.push(v);
                    } else {
                        let first = words[c].get_or_insert_with(|| (0, line.number, text.to_string()));
                        first.0 += 1;
                        values.push(f64::NAN);
                    }
                }
            }
        }
    }
    let mut again = Vec::new();
    for (c, word) in words.into_iter().enumerate() {
        match word {
            // A column of numbers in which something is wrong.
            Some((count, line, value)) if count <= numbers[c] => {
                return Err(Error::NotANumber { file: name.into(), line, column: names[c].clone(), value });
            }
            Some(_) => again.push(c),
            None => {}
        }
    }
    Ok(if again.is_empty() { Read::Whole(columns) } else { Read::Again(again) })
}

pub(crate) fn column_names(file: &str, first: Option<&Vec<String>>, count: usize) -> Result<Vec<String>> {
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
            None => return &[],
        };
    }
    rest
}

struct Lines<'a> {
    name: &'a str,
    bytes: &'a [u8],
    reader: csv::Reader<&'a [u8]>,
    record: ByteRecord,
    /// How far the records reach, and the number of the line there.
    used: usize,
    line: u64,
}

struct Line<'a> {
    number: u64,
    record: &'a ByteRecord,
}

impl<'a> Lines<'a> {
    /// Of a text that begins with line `skip` + 1 of its file.
    fn open(name: &'a str, bytes: &'a [u8], delimiter: u8, skip: usize) -> Self {
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .trim(Trim::All)
            .from_reader(bytes);
        Lines { name, bytes, reader, record: ByteRecord::new(), used: 0, line: skip as u64 + 1 }
    }

    fn next(&mut self) -> Result<Option<Line<'_>>> {
        let more = self.reader.read_byte_record(&mut self.record);
        if !more.map_err(|e| Error::damaged(self.name, "CSV", e))? {
            return Ok(None);
        }
        let read = &self.bytes[self.used..self.reader.position().byte() as usize];
        let (before, within) = read.split_at(blank(read));
        let number = self.line + newlines(before) as u64;
        self.used += read.len();
        self.line = number + newlines(within) as u64;
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
