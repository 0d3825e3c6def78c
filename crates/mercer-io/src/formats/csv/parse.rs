//! From the fields of a text to values and types.

use rayon::prelude::*;

use crate::error::Error;
use crate::pool::DecodePool;
use crate::table::Values;

use super::super::{Pass, Wanted};
use super::Dialect;
use super::text::{Chunk, Fields, Record, Text, newlines};

/// Bytes from which on it pays to share a chunk out among threads.
const ENOUGH: usize = 1 << 17;

/// Bytes of text that are sampled at a time.
const SAMPLE_BYTES: usize = 4 << 20;

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

/// What is wrong in a line.
pub(super) enum Trouble {
    Ragged { found: usize, expected: usize },
    NotUtf8,
    Word { column: usize, value: String },
}

/// What the fields of lines are for.
trait Sink: Send {
    /// The number of fields in a line.
    fn width(&self) -> usize;

    /// Takes field `at` of a line; `None` for one that is not UTF-8.
    fn field(&mut self, at: usize, field: Option<&str>) -> Result<(), Trouble>;
}

/// A line while its fields are taken: how many there were, and the first error.
#[derive(Default)]
struct Line {
    count: usize,
    trouble: Option<Trouble>,
}

impl Line {
    fn take(&mut self, field: Option<&str>, sink: &mut impl Sink) {
        if let Err(trouble) = sink.field(self.count, field) {
            self.trouble.get_or_insert(trouble);
        }
        self.count += 1;
    }

    /// Ends the line. A wrong number of fields comes before any other error in it.
    fn end(&mut self, sink: &impl Sink) -> Result<(), Trouble> {
        let (line, expected) = (std::mem::take(self), sink.width());
        if line.count != expected {
            return Err(Trouble::Ragged { found: line.count, expected });
        }
        line.trouble.map_or(Ok(()), Err)
    }
}

/// Takes a line that is already split into fields.
fn record(fields: &Fields, sink: &mut impl Sink) -> Result<(), Trouble> {
    let mut line = Line::default();
    fields.iter().for_each(|field| line.take(std::str::from_utf8(field).ok(), sink));
    line.end(sink)
}

/// Takes complete lines without quotes; or the first error with the number of its line, from 0.
fn lines(bytes: &[u8], delimiter: u8, sink: &mut impl Sink) -> Result<(), (u64, Trouble)> {
    // Checking all bytes at once is much faster than checking each field.
    let text = std::str::from_utf8(bytes);
    let (mut line, mut at, mut start) = (Line::default(), 0, 0);
    let ends = bytes.iter().enumerate().filter(|(_, b)| **b == delimiter || **b == b'\n');
    for end in ends.map(|(end, _)| end).chain([bytes.len()]) {
        let last = bytes.get(end).is_none_or(|b| *b == b'\n');
        let stop = if last && end > start && bytes[end - 1] == b'\r' { end - 1 } else { end };
        if !(last && line.count == 0 && start == stop) {
            let field = match text {
                Ok(text) => text.get(start..stop),
                Err(_) => std::str::from_utf8(&bytes[start..stop]).ok(),
            };
            line.take(field.map(str::trim_ascii), sink);
            if last {
                line.end(sink).map_err(|trouble| (at, trouble))?;
            }
        }
        at += u64::from(last);
        start = end + 1;
    }
    Ok(())
}

/// Takes a chunk in pieces by all threads, each with a sink of its own; or the first error with its line.
fn chunk<S: Sink>(
    chunk: &Chunk<'_>,
    delimiter: u8,
    pool: &DecodePool,
    sink: impl Fn(&[u8]) -> S + Sync,
) -> Result<Vec<S>, (u64, Trouble)> {
    let take = |bytes: &[u8]| {
        let mut sink = sink(bytes);
        lines(bytes, delimiter, &mut sink).map(|()| sink)
    };
    let Some(threads) = pool.pool().filter(|_| chunk.bytes.len() >= ENOUGH) else {
        return Ok(vec![take(chunk.bytes).map_err(|(at, trouble)| (chunk.line + at, trouble))?]);
    };
    let pieces = pieces(chunk.bytes, 4 * pool.threads());
    let taken: Vec<_> = threads.install(|| pieces.par_iter().map(|piece| take(piece)).collect());
    let (mut line, mut sinks) = (chunk.line, Vec::with_capacity(pieces.len()));
    for (piece, taken) in pieces.iter().zip(taken) {
        sinks.push(taken.map_err(|(at, trouble)| (line + at, trouble))?);
        line += newlines(piece) as u64;
    }
    Ok(sinks)
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

/// For each column, how many values are numbers and how many are words.
pub(super) struct Counts {
    columns: Vec<(usize, usize)>,
    rows: usize,
}

impl Sink for Counts {
    fn width(&self) -> usize {
        self.columns.len()
    }

    fn field(&mut self, at: usize, field: Option<&str>) -> Result<(), Trouble> {
        self.rows += usize::from(at == 0);
        let field = field.ok_or(Trouble::NotUtf8)?;
        if let Some((numbers, words)) = self.columns.get_mut(at) {
            match Cell::of(field) {
                Cell::Number(_) => *numbers += 1,
                Cell::Word => *words += 1,
                Cell::Missing => {}
            }
        }
        Ok(())
    }
}

impl Counts {
    pub(super) fn new(width: usize) -> Self {
        Counts { columns: vec![(0, 0); width], rows: 0 }
    }

    /// Whether each column has no more words than numbers.
    pub(super) fn are_numeric(&self) -> impl Iterator<Item = bool> {
        self.columns.iter().map(|(numbers, words)| words <= numbers)
    }

    /// Counts a row that is already split into fields.
    pub(super) fn row(&mut self, fields: &[String]) -> Result<(), Trouble> {
        let mut line = Line::default();
        fields.iter().for_each(|field| line.take(Some(field), self));
        line.end(self)
    }

    /// Counts further rows of a text, at most so many.
    pub(super) fn sample(&mut self, file: &str, text: &mut Text, delimiter: u8, rows: usize) -> crate::Result<()> {
        let (pool, most) = (DecodePool::new(), self.rows + rows);
        let width = self.width();
        while self.rows < most {
            let left = most - self.rows;
            if let Some(length) = text.plain(left, SAMPLE_BYTES)? {
                let counted = chunk(&text.chunk(length), delimiter, &pool, |_| Counts::new(width));
                counted.map_err(|(line, trouble)| trouble.at(file, line, &[]))?.iter().for_each(|more| self.add(more));
                text.advance(length);
                continue;
            }
            let take = |r: Record<'_>| record(r.fields, self).map_err(|trouble| trouble.at(file, r.line, &[]));
            if text.records(left, delimiter, take)? == 0 {
                break;
            }
        }
        Ok(())
    }

    fn add(&mut self, more: &Counts) {
        self.rows += more.rows;
        for ((numbers, words), (n, w)) in self.columns.iter_mut().zip(&more.columns) {
            *numbers += n;
            *words += w;
        }
    }
}

impl Trouble {
    /// The error, in a line of a file with columns of these names.
    pub(super) fn at(self, file: &str, line: u64, names: &[String]) -> Error {
        let file = file.into();
        match self {
            Trouble::Ragged { found, expected } => Error::Ragged { file, line, found, expected },
            Trouble::NotUtf8 => Error::NotUtf8 { file, line },
            Trouble::Word { column, value } => {
                Error::NotANumber { file, line, column: names.get(column).cloned().unwrap_or_default(), value }
            }
        }
    }
}

/// The columns that the fields of a line go to.
struct Layout {
    /// For each field, the place among the columns that are read.
    places: Vec<Option<usize>>,
    /// Names of those columns, and whether they have numbers.
    names: Vec<String>,
    numeric: Vec<bool>,
}

impl Layout {
    fn rows(&self, count: usize) -> Rows<'_> {
        let empty = |numeric: &bool| match numeric {
            true => Values::Numbers(Vec::with_capacity(count)),
            false => Values::Text(Vec::with_capacity(count)),
        };
        Rows { places: &self.places, values: self.numeric.iter().map(empty).collect() }
    }
}

/// Columns while they are filled.
struct Rows<'a> {
    places: &'a [Option<usize>],
    values: Vec<Values>,
}

impl Rows<'_> {
    fn count(&self) -> usize {
        self.values.first().map_or(0, Values::len)
    }
}

impl Sink for Rows<'_> {
    fn width(&self) -> usize {
        self.places.len()
    }

    fn field(&mut self, at: usize, field: Option<&str>) -> Result<(), Trouble> {
        let Some(&Some(column)) = self.places.get(at) else { return Ok(()) };
        let text = field.ok_or(Trouble::NotUtf8)?;
        match &mut self.values[column] {
            Values::Text(v) => v.push(text.to_string()),
            Values::Numbers(v) => v.push(match Cell::of(text) {
                Cell::Number(x) => x,
                Cell::Missing => f64::NAN,
                Cell::Word => return Err(Trouble::Word { column, value: text.to_string() }),
            }),
        }
        Ok(())
    }
}

/// One pass over a text.
pub(super) struct CsvPass {
    name: String,
    text: Text,
    delimiter: u8,
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
    ) -> crate::Result<Self> {
        let delimiter = dialect.delimiter;
        if dialect.header {
            text.records(1, delimiter, |_| Ok(()))?;
        }
        let mut places = vec![None; width];
        for (c, column) in wanted.iter().enumerate() {
            places[column.place] = Some(c);
        }
        let names = wanted.iter().map(|column| column.name.clone()).collect();
        let layout = Layout { places, names, numeric: wanted.iter().map(|column| column.is_numeric).collect() };
        Ok(CsvPass { name: name.into(), text, delimiter, layout, bytes: batch_bytes.saturating_mul(2) })
    }
}

impl Pass for CsvPass {
    fn next(&mut self, rows: usize, pool: &DecodePool) -> crate::Result<Option<Vec<Values>>> {
        let CsvPass { name, text, delimiter, layout, bytes } = self;
        while let Some(length) = text.plain(rows, *bytes)? {
            let parts = chunk(&text.chunk(length), *delimiter, pool, |piece| layout.rows(newlines(piece) + 1));
            let mut parts = parts.map_err(|(line, trouble)| trouble.at(name, line, &layout.names))?;
            text.advance(length);
            let count = parts.iter().map(Rows::count).sum();
            if count == 0 {
                continue; // empty lines
            }
            if parts.len() == 1 {
                return Ok(parts.pop().map(|part| part.values));
            }
            let mut whole = layout.rows(count).values;
            for part in parts {
                whole.iter_mut().zip(part.values).for_each(|(whole, values)| whole.append(values));
            }
            return Ok(Some(whole));
        }
        let mut taken = layout.rows(0);
        let count = text.records(rows, *delimiter, |r| {
            record(r.fields, &mut taken).map_err(|trouble| trouble.at(name, r.line, &layout.names))
        })?;
        Ok((count > 0).then_some(taken.values))
    }

    fn bytes_read(&self) -> u64 {
        self.text.bytes_read()
    }
}
