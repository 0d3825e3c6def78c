//! CSV and TSV, batch by batch.

use csv::ByteRecord;
use rayon::prelude::*;

use crate::crew::Crew;
use crate::csv_file::{MISSING, NO_NAMES, column_names, likely_delimiter, looks_like_names};
use crate::error::{Error, Result};
use crate::lines::{Chunk, Record, Text, newlines};
use crate::reader::{Header, ReadOptions};
use crate::table::Values;

/// Rows from which it is told whether a column has numbers.
const SAMPLE: usize = 10_000;

/// Bytes from which on it pays to share a chunk out among threads.
const ENOUGH: usize = 1 << 17;

/// How a text is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dialect {
    pub(crate) delimiter: u8,
    pub(crate) header: bool,
}

/// What the first lines show.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) dialect: Dialect,
    /// Names, and whether the values are numbers.
    pub(crate) columns: Vec<(String, bool)>,
    pub(crate) notes: Vec<String>,
    /// Whether there is a row at all.
    pub(crate) has_rows: bool,
}

/// Looks at the first rows. Of a dialect that is known already only the names are looked at.
pub(crate) fn look(
    name: &str,
    mut text: Text,
    delimiter: Option<u8>,
    known: Option<Dialect>,
    options: &ReadOptions,
) -> Result<Facts> {
    let delimiter = match known {
        Some(known) => known.delimiter,
        None => match options.delimiter.or(delimiter) {
            Some(delimiter) => delimiter,
            None => likely_delimiter(text.first_lines()?),
        },
    };
    let (mut rows, most): (Vec<(u64, Vec<String>)>, usize) = (Vec::new(), if known.is_some() { 1 } else { 2 });
    text.records(most, delimiter, |record| {
        rows.push((record.line, record.texts(name)?));
        Ok(())
    })?;
    if rows.len() == 1 && most == 2 {
        // A record may be all that was read so far.
        text.records(1, delimiter, |record| {
            rows.push((record.line, record.texts(name)?));
            Ok(())
        })?;
    }
    let mut rows = rows.into_iter();
    let Some((line, first)) = rows.next() else { return Err(Error::Empty { file: name.into() }) };
    let second = rows.next();
    let mut notes = Vec::new();
    let header = match (known, options.header) {
        (Some(known), _) => known.header,
        (None, Header::Yes) => true,
        (None, Header::No) => false,
        (None, Header::Auto) => {
            let yes = looks_like_names(&first, second.as_ref().map_or(&[], |(_, fields)| fields.as_slice()));
            if !yes {
                notes.push(NO_NAMES.into());
            }
            yes
        }
    };
    let dialect = Dialect { delimiter, header };
    let names = column_names(name, header.then_some(&first), first.len())?;
    // How many values of a column are numbers, and how many are words.
    let mut counts = vec![(0usize, 0usize); names.len()];
    let mut count = |line: u64, found: usize, fields: &mut dyn Iterator<Item = &[u8]>| -> Result<()> {
        if found != names.len() {
            return Err(Error::Ragged { file: name.into(), line, found, expected: names.len() });
        }
        for (field, (numbers, words)) in fields.zip(&mut counts) {
            let field = std::str::from_utf8(field).map_err(|_| Error::NotUtf8 { file: name.into(), line })?;
            if field.parse::<f64>().is_ok_and(|v| !v.is_nan()) {
                *numbers += 1;
            } else if !MISSING.contains(&field) {
                *words += 1;
            }
        }
        Ok(())
    };
    if !header {
        count(line, first.len(), &mut first.iter().map(String::as_bytes))?;
    }
    if let Some((line, fields)) = &second {
        count(*line, fields.len(), &mut fields.iter().map(String::as_bytes))?;
    }
    let has_rows = !header || second.is_some();
    let mut left = if known.is_some() { 0 } else { SAMPLE };
    while left > 0 {
        let count = |record: Record<'_>| count(record.line, record.fields.len(), &mut record.fields.iter());
        match text.records(left, delimiter, count)? {
            0 => break,
            read => left -= read,
        }
    }
    let numeric = |(name, (numbers, words)): (String, (usize, usize))| {
        let numeric = words <= numbers && !options.text.contains(&name);
        (name, numeric)
    };
    let columns = names.into_iter().zip(counts).map(numeric).collect();
    Ok(Facts { dialect, columns, notes, has_rows })
}

impl Record<'_> {
    fn texts(&self, file: &str) -> Result<Vec<String>> {
        let text = |field| {
            let text = std::str::from_utf8(field).map(str::to_string);
            text.map_err(|_| Error::NotUtf8 { file: file.into(), line: self.line })
        };
        self.fields.iter().map(text).collect()
    }
}

/// What becomes of the fields of a line.
#[derive(Debug)]
struct Plan {
    delimiter: u8,
    /// For each field, the place among the columns that are read.
    places: Vec<Option<usize>>,
    /// Names of those columns, and whether they are text.
    columns: Vec<(String, bool)>,
}

/// What is wrong in a line.
enum Trouble {
    Ragged(usize),
    NotUtf8,
    Word(usize, String),
}

/// One pass over a text.
pub(crate) struct CsvPass {
    name: String,
    text: Text,
    plan: Plan,
    /// Bytes that are looked at for a batch.
    bytes: usize,
}

impl CsvPass {
    /// `width` fields in a line; of them those in `kept` are read, each with its name and whether it is text.
    pub(crate) fn open(
        name: &str,
        mut text: Text,
        dialect: Dialect,
        width: usize,
        kept: &[(usize, String, bool)],
        bytes: usize,
    ) -> Result<Self> {
        if dialect.header {
            text.records(1, dialect.delimiter, |_| Ok(()))?;
        }
        let mut places = vec![None; width];
        for (c, (place, ..)) in kept.iter().enumerate() {
            places[*place] = Some(c);
        }
        let columns = kept.iter().map(|(_, name, text)| (name.clone(), *text)).collect();
        let plan = Plan { delimiter: dialect.delimiter, places, columns };
        Ok(CsvPass { name: name.into(), text, plan, bytes })
    }

    /// The next rows, at most so many; `None` at the end.
    pub(crate) fn next(&mut self, rows: usize, crew: &Crew) -> Result<Option<Vec<Values>>> {
        let error = |(line, trouble): (u64, Trouble)| {
            let file = self.name.clone();
            match trouble {
                Trouble::Ragged(found) => Error::Ragged { file, line, found, expected: self.plan.places.len() },
                Trouble::NotUtf8 => Error::NotUtf8 { file, line },
                Trouble::Word(c, value) => {
                    Error::NotANumber { file, line, column: self.plan.columns[c].0.clone(), value }
                }
            }
        };
        while let Some(length) = self.text.plain(rows, self.bytes)? {
            let values = self.plan.chunk(&self.text.chunk(length), crew).map_err(error)?;
            self.text.advance(length);
            if !values.first().is_none_or(Values::is_empty) {
                return Ok(Some(values));
            }
        }
        let mut values = self.plan.empty(0);
        let count = self.text.records(rows, self.plan.delimiter, |record| {
            self.plan.record(record.fields, &mut values).map_err(|trouble| error((record.line, trouble)))
        })?;
        Ok((count > 0).then_some(values))
    }
}

/// A line while its fields are taken: how many there were, and what was wrong first.
#[derive(Default)]
struct Line {
    count: usize,
    trouble: Option<Trouble>,
}

impl Plan {
    fn empty(&self, rows: usize) -> Vec<Values> {
        let of = |(_, text): &(String, bool)| {
            if *text { Values::Text(Vec::with_capacity(rows)) } else { Values::Numbers(Vec::with_capacity(rows)) }
        };
        self.columns.iter().map(of).collect()
    }

    /// The columns of whole lines, piece by piece on all threads. What is wrong first is told, with its line.
    fn chunk(&self, chunk: &Chunk<'_>, crew: &Crew) -> std::result::Result<Vec<Values>, (u64, Trouble)> {
        let Some(pool) = crew.pool().filter(|_| chunk.bytes.len() >= ENOUGH) else {
            return self.piece(chunk.bytes).map_err(|(at, trouble)| (chunk.line + at, trouble));
        };
        let pieces = pieces(chunk.bytes, 4 * crew.threads());
        let parsed: Vec<_> = pool.install(|| pieces.par_iter().map(|piece| self.piece(piece)).collect());
        let (mut line, mut parts) = (chunk.line, Vec::with_capacity(pieces.len()));
        for (piece, parsed) in pieces.iter().zip(parsed) {
            parts.push(parsed.map_err(|(at, trouble)| (line + at, trouble))?);
            line += newlines(piece) as u64;
        }
        let rows = parts.iter().map(|part| part.first().map_or(0, Values::len)).sum();
        let mut whole = self.empty(rows);
        for part in parts {
            whole.iter_mut().zip(part).for_each(|(whole, values)| whole.append(values));
        }
        Ok(whole)
    }

    /// The columns of whole lines; or the number of the line that is wrong, from 0.
    fn piece(&self, bytes: &[u8]) -> std::result::Result<Vec<Values>, (u64, Trouble)> {
        // Looked at as a whole, text is checked much faster than field by field.
        let text = std::str::from_utf8(bytes);
        let mut values = self.empty(newlines(bytes) + 1);
        let (mut line, mut at, mut start) = (Line::default(), 0, 0);
        let ends = bytes.iter().enumerate().filter(|(_, b)| **b == self.delimiter || **b == b'\n');
        for end in ends.map(|(end, _)| end).chain([bytes.len()]) {
            let last = bytes.get(end).is_none_or(|b| *b == b'\n');
            let stop = if last && end > start && bytes[end - 1] == b'\r' { end - 1 } else { end };
            if !(last && line.count == 0 && start == stop) {
                let field = match text {
                    Ok(text) => text.get(start..stop),
                    Err(_) => std::str::from_utf8(&bytes[start..stop]).ok(),
                };
                self.field(&mut line, field.map(str::trim_ascii), &mut values);
                if last {
                    self.end(&mut line).map_err(|trouble| (at, trouble))?;
                }
            }
            at += u64::from(last);
            start = end + 1;
        }
        Ok(values)
    }

    /// Takes a line that somebody else took apart.
    fn record(&self, record: &ByteRecord, values: &mut [Values]) -> std::result::Result<(), Trouble> {
        let mut line = Line::default();
        record.iter().for_each(|field| self.field(&mut line, std::str::from_utf8(field).ok(), values));
        self.end(&mut line)
    }

    /// Takes the next field of a line; `None` for one that is not UTF-8.
    fn field(&self, line: &mut Line, field: Option<&str>, values: &mut [Values]) {
        if let Some(&Some(c)) = self.places.get(line.count) {
            match (&mut values[c], field) {
                (Values::Text(v), Some(text)) => v.push(text.to_string()),
                (Values::Numbers(v), Some(text)) => match text.parse::<f64>() {
                    Ok(x) => v.push(x),
                    Err(_) if MISSING.contains(&text) => v.push(f64::NAN),
                    Err(_) => {
                        line.trouble.get_or_insert_with(|| Trouble::Word(c, text.to_string()));
                    }
                },
                (_, None) => {
                    line.trouble.get_or_insert(Trouble::NotUtf8);
                }
            }
        }
        line.count += 1;
    }

    /// Ends a line. One of the wrong length is that first of all.
    fn end(&self, line: &mut Line) -> std::result::Result<(), Trouble> {
        let line = std::mem::take(line);
        if line.count != self.places.len() {
            return Err(Trouble::Ragged(line.count));
        }
        line.trouble.map_or(Ok(()), Err)
    }
}

/// Cuts lines into about `count` pieces of whole lines.
fn pieces(bytes: &[u8], count: usize) -> Vec<&[u8]> {
    let (size, mut rest, mut pieces) = (bytes.len().div_ceil(count.max(1)).max(1), bytes, Vec::new());
    while !rest.is_empty() {
        let from = size.min(rest.len()) - 1;
        let end = rest[from..].iter().position(|b| *b == b'\n').map_or(rest.len(), |at| from + at + 1);
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces
}
