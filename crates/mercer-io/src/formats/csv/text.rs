//! A text, read in chunks that end where records end.

use std::io::Read;

use csv_core::{ReadRecordResult, Reader};

use crate::compression::Compression;
use crate::error::{Error, Result};
use crate::source::TableFile;

/// The longest record. A quote that is never closed, and a file without line ends, make one record of all that follows.
pub(crate) const LONGEST: usize = 64 << 20;

/// The most fields of a record: each becomes a column, which takes more memory than its two bytes of text.
const MOST_FIELDS: usize = 1 << 22;

/// Bytes read at a time.
const STEP: usize = 1 << 20;

/// A text and how far it was read.
pub(super) struct Text {
    name: String,
    compression: Compression,
    source: Box<dyn Read + Send>,
    /// Bytes that were read and not yet used begin at `start`.
    buffer: Vec<u8>,
    start: usize,
    ended: bool,
    /// The number of the line that `start` is in.
    line: u64,
    /// Bytes read so far, and at most.
    read: u64,
    limit: u64,
}

/// A record that is read one by one.
pub(super) struct Record<'a> {
    pub(super) line: u64,
    pub(super) fields: &'a Fields,
}

/// The fields of a record without their quotes, one behind the other, and where each ends.
#[derive(Default)]
pub(super) struct Fields {
    text: Vec<u8>,
    ends: Vec<usize>,
    count: usize,
}

/// What a text begins with.
enum First {
    /// A record, in so many bytes.
    Record(usize),
    /// A record that goes on behind the text, or nothing.
    Unfinished,
    /// A record of more than [`MOST_FIELDS`].
    TooWide,
}

impl Fields {
    /// The fields without spaces around them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let ends = &self.ends[..self.count];
        let starts = std::iter::once(&0).chain(ends);
        starts.zip(ends).map(|(start, end)| self.text[*start..*end].trim_ascii())
    }

    /// Reads the first record of `bytes`. With `ended` nothing follows, and the end of the text ends the record, too.
    fn read(&mut self, reader: &mut Reader, bytes: &[u8], ended: bool) -> First {
        let (mut used, mut length) = (0, 0);
        self.count = 0;
        loop {
            let (text, ends) = (&mut self.text[length..], &mut self.ends[self.count..]);
            let (result, taken, written, fields) = reader.read_record(&bytes[used..], text, ends);
            (used, length, self.count) = (used + taken, length + written, self.count + fields);
            match result {
                ReadRecordResult::Record => return First::Record(used),
                ReadRecordResult::End => return First::Unfinished,
                // Then it is called once more with no bytes, which stands for the end.
                ReadRecordResult::InputEmpty if ended => {}
                ReadRecordResult::InputEmpty => return First::Unfinished,
                ReadRecordResult::OutputFull => self.text.resize((2 * self.text.len()).max(1024), 0),
                ReadRecordResult::OutputEndsFull if self.count == MOST_FIELDS => return First::TooWide,
                ReadRecordResult::OutputEndsFull => {
                    self.ends.resize((2 * self.ends.len()).clamp(64, MOST_FIELDS), 0);
                }
            }
        }
    }
}

/// Complete lines without quotes.
pub(super) struct Chunk<'a> {
    pub(super) line: u64,
    pub(super) bytes: &'a [u8],
}

impl Text {
    /// Opens the text behind a byte order mark and the lines to be skipped. At most `limit` bytes are read. With
    /// `prefetch` a compressed text is decompressed ahead by a thread.
    pub(super) fn open(source: &TableFile, prefetch: bool, limit: u64) -> Result<Self> {
        let (name, compression, skip) = (source.name.clone(), source.compression, source.options.skip);
        let reader = source.location.reader(compression, prefetch).map_err(Error::io(&name, "read"))?;
        let (buffer, start) = (Vec::new(), 0);
        let mut text = Text { name, compression, source: reader, buffer, start, ended: false, line: 1, read: 0, limit };
        text.fill(3)?;
        if text.rest().starts_with(b"\xef\xbb\xbf") {
            text.start = 3;
        }
        for _ in 0..skip {
            let end = text.end_of_line()?;
            text.advance(end);
            if text.ended && text.rest().is_empty() {
                break; // no more lines to skip
            }
        }
        Ok(text)
    }

    fn rest(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// The first line that is not empty, and more.
    pub(super) fn first_lines(&mut self) -> Result<&[u8]> {
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
            let read = (&mut self.source).take(STEP as u64).read_to_end(&mut self.buffer);
            match read {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(count) => {
                    self.read += count as u64;
                    if self.read > self.limit {
                        return Err(Error::TooLarge { file: self.name.clone(), limit: self.limit });
                    }
                }
                Err(e) if self.compression == Compression::None => return Err(Error::io(&self.name, "read")(e)),
                Err(e) => {
                    // The lines before the damage are not used: a batch is complete or an error.
                    let complete = self.line - 1 + newlines(&self.buffer) as u64;
                    return Err(self.compression.damaged(&self.name, complete, &e));
                }
            }
        }
        Ok(())
    }

    /// Bytes read so far.
    pub(super) fn bytes_read(&self) -> u64 {
        self.read
    }

    /// The end of the first line.
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
            return Err(too_long(&self.name, self.line));
        }
        self.fill((2 * count).clamp(STEP, LONGEST + 1))
    }

    /// The length of the next chunk of complete lines, at most `lines` of them and about `bytes` long; `None` at the end,
    /// and where lines may not be records, because of a quote or a carriage return alone.
    pub(super) fn plain(&mut self, lines: usize, bytes: usize) -> Result<Option<usize>> {
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
    pub(super) fn chunk(&self, length: usize) -> Chunk<'_> {
        Chunk { line: self.line, bytes: &self.rest()[..length] }
    }

    /// Skips so many bytes.
    pub(super) fn advance(&mut self, length: usize) {
        self.line += newlines(&self.rest()[..length]) as u64;
        self.start += length;
    }

    /// Hands over at most `most` records, quoted or not, and returns how many there were: 0 at the end.
    pub(super) fn records(
        &mut self,
        most: usize,
        delimiter: u8,
        mut take: impl FnMut(Record<'_>) -> Result<()>,
    ) -> Result<usize> {
        self.fill(STEP)?;
        let (mut fields, mut count) = (Fields::default(), 0);
        loop {
            let rest = self.rest();
            let mut reader = csv_core::ReaderBuilder::new().delimiter(delimiter).build();
            // At its start a reader drops a byte order mark. This is not the start of the text.
            reader.read_record(b"\n", &mut [], &mut []);
            let (mut used, mut line) = (0, self.line);
            while count < most {
                let end = match fields.read(&mut reader, &rest[used..], self.ended) {
                    First::Record(length) => used + length,
                    First::Unfinished => break,
                    First::TooWide => {
                        let before = &rest[used..][..blank(&rest[used..])];
                        return Err(too_wide(&self.name, line + newlines(before) as u64));
                    }
                };
                let (before, within) = rest[used..end].split_at(blank(&rest[used..end]));
                line += newlines(before) as u64;
                take(Record { line, fields: &fields })?;
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

/// The error for a record that is longer than [`LONGEST`].
pub(crate) fn too_long(file: &str, line: u64) -> Error {
    let what = format!("the record at line {line} is longer than {} MB", LONGEST >> 20);
    Error::advised(file, what, "check its quotes and line ends")
}

fn too_wide(file: &str, line: u64) -> Error {
    let what = format!("the record at line {line} has more than {MOST_FIELDS} fields");
    Error::advised(file, what, "check its line ends, or save the table as NPY or Parquet")
}

/// Whether there is a complete line that is not empty.
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

/// The length of the empty lines before a record.
fn blank(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|b| matches!(b, b'\r' | b'\n')).count()
}

/// The number of line ends.
pub(crate) fn newlines(bytes: &[u8]) -> usize {
    // Sums of bytes are vectorised; 192 of them cannot overflow a byte.
    let count = |block: &[u8]| block.iter().fold(0u8, |sum, b| sum.wrapping_add(u8::from(*b == b'\n')));
    bytes.chunks(192).map(|block| usize::from(count(block))).sum()
}

/// The end of line `lines`, when it is there. `seen` and `count` save what was scanned before.
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
