//! From the fields of a text to values.

use csv::ByteRecord;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::pool::DecodePool;
use crate::table::Values;

use super::super::{Pass, Wanted};
use super::Dialect;
use super::text::{Chunk, Text, newlines};

/// Bytes from which on it pays to share a chunk out among threads.
const ENOUGH: usize = 1 << 17;

/// Fields that stand for a missing value.
const MISSING: &[&str] = &["", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "?", "."];

/// What a field is when it is read as a number.
pub(super) enum Cell {
    Number(f64),
    Missing,
    Word,
}

impl Cell {
    pub(super) fn of(field: &str) -> Self {
        match field.parse::<f64>() {
            Ok(x) if x.is_nan() => Cell::Missing,
            Ok(x) => Cell::Number(x),
            Err(_) if MISSING.contains(&field) => Cell::Missing,
            Err(_) => Cell::Word,
        }
    }
}

/// The columns that the fields of a line go to.
#[derive(Debug)]
struct Layout {
    delimiter: u8,
    /// For each field, the place among the columns that are read.
    places: Vec<Option<usize>>,
    /// Names of those columns, and whether they have numbers.
    columns: Vec<(String, bool)>,
}

/// What is wrong in a line.
enum Trouble {
    Ragged(usize),
    NotUtf8,
    Word(usize, String),
}

/// One pass over a text.
pub(super) struct CsvPass {
    name: String,
    text: Text,
    layout: Layout,
    /// Bytes of text that are parsed for a batch, at most.
    bytes: usize,
}

impl CsvPass {
    /// A text of `width` fields in a line.
    pub(super) fn open(
        name: &str,
        mut text: Text,
        dialect: Dialect,
        width: usize,
        wanted: &[Wanted],
        batch_bytes: usize,
    ) -> Result<Self> {
        if dialect.header {
            text.records(1, dialect.delimiter, |_| Ok(()))?;
        }
        let mut places = vec![None; width];
        for (c, column) in wanted.iter().enumerate() {
            places[column.place] = Some(c);
        }
        let columns = wanted.iter().map(|column| (column.name.clone(), column.is_numeric)).collect();
        let layout = Layout { delimiter: dialect.delimiter, places, columns };
        Ok(CsvPass { name: name.into(), text, layout, bytes: batch_bytes.saturating_mul(2) })
    }
}

impl Pass for CsvPass {
    fn next(&mut self, rows: usize, pool: &DecodePool) -> Result<Option<Vec<Values>>> {
        let error = |(line, trouble): (u64, Trouble)| {
            let file = self.name.clone();
            match trouble {
                Trouble::Ragged(found) => Error::Ragged { file, line, found, expected: self.layout.places.len() },
                Trouble::NotUtf8 => Error::NotUtf8 { file, line },
                Trouble::Word(c, value) => {
                    Error::NotANumber { file, line, column: self.layout.columns[c].0.clone(), value }
                }
            }
        };
        while let Some(length) = self.text.plain(rows, self.bytes)? {
            let values = self.layout.chunk(&self.text.chunk(length), pool).map_err(error)?;
            self.text.advance(length);
            if !values.first().is_none_or(Values::is_empty) {
                return Ok(Some(values));
            }
        }
        let mut values = self.layout.empty(0);
        let count = self.text.records(rows, self.layout.delimiter, |record| {
            self.layout.record(record.fields, &mut values).map_err(|trouble| error((record.line, trouble)))
        })?;
        Ok((count > 0).then_some(values))
    }

    fn bytes_read(&self) -> u64 {
        self.text.bytes_read()
    }
}

/// A line while its fields are taken: how many there were, and what was wrong first.
#[derive(Default)]
struct Line {
    count: usize,
    trouble: Option<Trouble>,
}

impl Layout {
    fn empty(&self, rows: usize) -> Vec<Values> {
        let of = |(_, numeric): &(String, bool)| {
            if *numeric { Values::Numbers(Vec::with_capacity(rows)) } else { Values::Text(Vec::with_capacity(rows)) }
        };
        self.columns.iter().map(of).collect()
    }

    /// The columns of complete lines, parsed in pieces by all threads; or the first error with its line.
    fn chunk(&self, chunk: &Chunk<'_>, pool: &DecodePool) -> std::result::Result<Vec<Values>, (u64, Trouble)> {
        let Some(threads) = pool.pool().filter(|_| chunk.bytes.len() >= ENOUGH) else {
            return self.piece(chunk.bytes).map_err(|(at, trouble)| (chunk.line + at, trouble));
        };
        let pieces = pieces(chunk.bytes, 4 * pool.threads());
        let parsed: Vec<_> = threads.install(|| pieces.par_iter().map(|piece| self.piece(piece)).collect());
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

    /// The columns of complete lines; or the first error with the number of its line, from 0.
    fn piece(&self, bytes: &[u8]) -> std::result::Result<Vec<Values>, (u64, Trouble)> {
        // Checking the whole piece at once is much faster than checking each field.
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

    /// Takes a line that is already split into fields.
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
                (Values::Numbers(v), Some(text)) => match Cell::of(text) {
                    Cell::Number(x) => v.push(x),
                    Cell::Missing => v.push(f64::NAN),
                    Cell::Word => {
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

    /// Ends a line. A wrong number of fields comes before any other error in it.
    fn end(&self, line: &mut Line) -> std::result::Result<(), Trouble> {
        let line = std::mem::take(line);
        if line.count != self.places.len() {
            return Err(Trouble::Ragged(line.count));
        }
        line.trouble.map_or(Ok(()), Err)
    }
}

/// Cuts a chunk into about `count` pieces of complete lines.
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
