//! A text, read in pieces that end where records end.

use std::io::Read;

use csv::{ByteRecord, ReaderBuilder, Trim};

use crate::error::{Error, Result};
use crate::packing::{Packing, cut_off};

/// The longest record: a quote that is never closed makes the rest of a file one.
const LONGEST: usize = 8 << 20;

/// What is read at a time.
const STEP: usize = 1 << 20;

/// A text and how far it was read.
pub(crate) struct Text {
    name: String,
    packing: Packing,
    source: Box<dyn Read + Send>,
    /// What was read and not yet used begins at `start`.
    buffer: Vec<u8>,
    start: usize,
    ended: bool,
    /// The number of the line that `start` is in.
    line: u64,
}

/// A record that is read one by one.
pub(crate) struct Record<'a> {
    pub(crate) line: u64,
    pub(crate) fields: &'a ByteRecord,
}

/// Whole lines, in none of which there is a quote.
pub(crate) struct Chunk<'a> {
    pub(crate) line: u64,
    pub(crate) bytes: &'a [u8],
}

impl Text {
    /// The text without a byte order mark and without its first lines.
    pub(crate) fn open(name: &str, packing: Packing, source: Box<dyn Read + Send>, skip: usize) -> Result<Self> {
        let (name, buffer) = (name.into(), Vec::new());
        let mut text = Text { name, packing, source, buffer, start: 0, ended: false, line: 1 };
        text.fill(3)?;
        if text.rest().starts_with(b"\xef\xbb\xbf") {
            text.start = 3;
        }
        for _ in 0..skip {
            let end = text.end_of_line()?;
            text.advance(end);
            if text.ended && text.rest().is_empty() {
                break; // there are no more lines to pass over
            }
        }
        Ok(text)
    }

    fn rest(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// What the text begins with: the first line that is not empty, and more.
    pub(crate) fn first_lines(&mut self) -> Result<&[u8]> {
        self.fill(STEP)?;
        while !self.ended && !has_line(self.rest()) {
            self.grow()?;
        }
        Ok(self.rest())
    }

    /// Reads until `count` bytes are there, or all there are.
    fn fill(&mut self, count: usize) -> Result<()> {
        if self.rest().len() >= count || self.ended {
            return Ok(());
        }
        self.buffer.drain(..self.start);
        self.start = 0;
        while self.buffer.len() < count {
            let before = self.buffer.len();
            let read = (&mut self.source).take(STEP as u64).read_to_end(&mut self.buffer);
            match read {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(_) => {}
                Err(e) if self.packing == Packing::None => return Err(Error::io(&self.name, "read")(e)),
                Err(e) => {
                    // What came before the damage is not used: a batch is whole or an error.
                    let whole = self.line - 1 + newlines(&self.buffer[..self.buffer.len().max(before)]) as u64;
                    return Err(cut_off(&self.name, self.packing, whole, &e));
                }
            }
        }
        Ok(())
    }

    /// Where the first line ends.
    fn end_of_line(&mut self) -> Result<usize> {
        let mut from = 0;
        loop {
            if let Some(at) = self.rest()[from..].iter().position(|b| *b == b'\n') {
                return Ok(from + at + 1);
            }
            from = self.rest().len();
            if self.ended {
                return Ok(from);
            }
            self.grow()?;
        }
    }

    /// Reads more than there is.
    fn grow(&mut self) -> Result<()> {
        let count = self.rest().len();
        if count > LONGEST {
            let what = format!("line {} begins a record of more than {} MB", self.line, LONGEST >> 20);
            return Err(Error::damaged(&self.name, "CSV", what));
        }
        self.fill((2 * count).max(STEP))
    }

    /// The length of the next chunk of whole lines, at most `lines` of them and about `bytes` long; `None` where there
    /// is a quote or another sign that lines may not be records, and at the end.
    pub(crate) fn plain(&mut self, lines: usize, bytes: usize) -> Result<Option<usize>> {
        let (mut seen, mut count) = (0, 0);
        let end = loop {
            if let Some(end) = nth_line(self.rest(), &mut seen, &mut count, lines) {
                break end;
            }
            if self.ended {
                break self.rest().len();
            }
            if seen >= bytes {
                match self.rest().iter().rposition(|b| *b == b'\n') {
                    Some(at) => break at + 1,
                    None if is_plain(self.rest()) => self.grow()?,
                    None => return Ok(None),
                }
            } else {
                self.fill(seen + STEP)?;
            }
        };
        Ok((end > 0 && is_plain(&self.rest()[..end])).then_some(end))
    }

    /// The chunk that [`Text::plain`] found.
    pub(crate) fn chunk(&self, length: usize) -> Chunk<'_> {
        Chunk { line: self.line, bytes: &self.rest()[..length] }
    }

    /// Goes on behind so many bytes.
    pub(crate) fn advance(&mut self, length: usize) {
        self.line += newlines(&self.rest()[..length]) as u64;
        self.start += length;
    }

    /// Hands over at most `most` records, with quotes as they may be, and returns how many there were: none at the end.
    pub(crate) fn records(
        &mut self,
        most: usize,
        delimiter: u8,
        mut take: impl FnMut(Record<'_>) -> Result<()>,
    ) -> Result<usize> {
        self.fill(STEP)?;
        let (mut record, mut count) = (ByteRecord::new(), 0);
        loop {
            let rest = self.rest();
            let mut reader = ReaderBuilder::new()
                .has_headers(false)
                .flexible(true)
                .delimiter(delimiter)
                .trim(Trim::All)
                .from_reader(rest);
            let (mut used, mut line) = (0, self.line);
            while count < most {
                let more = reader.read_byte_record(&mut record).map_err(|e| Error::damaged(&self.name, "CSV", e))?;
                let end = reader.position().byte() as usize;
                // A record that ends with what was read may go on in what was not.
                if !more || (end >= rest.len() && !self.ended) {
                    break;
                }
                let (before, within) = rest[used..end].split_at(blank(&rest[used..end]));
                line += newlines(before) as u64;
                take(Record { line, fields: &record })?;
                line += newlines(within) as u64;
                (used, count) = (end, count + 1);
            }
            if count > 0 || self.ended {
                self.advance(used);
                return Ok(count);
            }
            self.grow()?;
        }
    }
}

/// Whether there is a line that ends and is not empty.
fn has_line(bytes: &[u8]) -> bool {
    bytes.iter().position(|b| !matches!(b, b'\r' | b'\n')).is_some_and(|at| bytes[at..].contains(&b'\n'))
}

/// Whether lines are records: no field has a quote, and no line ends with a carriage return alone.
fn is_plain(bytes: &[u8]) -> bool {
    let paired = || {
        let after = |(at, b): (usize, &u8)| *b != b'\r' || bytes.get(at + 1) == Some(&b'\n');
        bytes.iter().enumerate().all(after)
    };
    !bytes.contains(&b'"') && (!bytes.contains(&b'\r') || paired())
}

/// The length of the empty lines before a record, which are not its own.
pub(crate) fn blank(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|b| matches!(b, b'\r' | b'\n')).count()
}

/// The number of line ends.
pub(crate) fn newlines(bytes: &[u8]) -> usize {
    // Sums of bytes, which vector instructions make; 255 of them fit a byte.
    let blocks = bytes.chunks(192);
    blocks.map(|block| usize::from(block.iter().map(|b| u8::from(*b == b'\n')).sum::<u8>())).sum()
}

/// The end of line `lines`, when it is there; what was looked at is not looked at again.
fn nth_line(bytes: &[u8], seen: &mut usize, count: &mut usize, lines: usize) -> Option<usize> {
    for block in bytes[*seen..].chunks(4096) {
        let here = newlines(block);
        if *count + here >= lines {
            let mut ends = block.iter().enumerate().filter(|(_, b)| **b == b'\n');
            let (at, _) = ends.nth(lines.saturating_sub(*count + 1))?;
            return Some(*seen + at + 1);
        }
        *count += here;
        *seen += block.len();
    }
    None
}
