//! States as bytes: a name and a version, numbers with their lengths, a checksum. Input is never trusted: every length is
//! compared with the number of bytes that are left before memory is allocated.

use crate::error::{Error, Result};

const MAGIC: &[u8] = b"mercer-state/";
/// The version of all states; it is raised when the layout of any of them changes.
const VERSION: u8 = 3;
const CHECKSUM: usize = 8;
/// The largest number of points of a state: larger counts are not exact in f64.
pub(crate) const MOST_POINTS: u64 = 1 << 53;

/// Writes the parts of a state one after the other.
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    /// Starts a state of this kind.
    pub(crate) fn new(kind: &str) -> Self {
        let mut writer = Writer(MAGIC.to_vec());
        writer.0.push(VERSION);
        writer.text(kind);
        writer
    }

    pub(crate) fn count(&mut self, v: u64) {
        self.0.extend(v.to_le_bytes());
    }

    pub(crate) fn flag(&mut self, v: bool) {
        self.0.push(u8::from(v));
    }

    pub(crate) fn number(&mut self, v: f64) {
        self.0.extend(v.to_le_bytes());
    }

    pub(crate) fn numbers(&mut self, values: &[f64]) {
        self.count(values.len() as u64);
        self.0.reserve(values.len() * 8);
        values.iter().for_each(|v| self.0.extend(v.to_le_bytes()));
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.count(text.len() as u64);
        self.0.extend(text.as_bytes());
    }

    /// The lower half of a symmetric matrix of d columns, each from its diagonal on.
    pub(crate) fn lower_half(&mut self, matrix: &crate::Block) {
        for j in 0..matrix.b() {
            matrix.col(j)[j..].iter().for_each(|v| self.0.extend(v.to_le_bytes()));
        }
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        let sum = checksum(&self.0);
        self.0.extend(sum.to_le_bytes());
        self.0
    }
}

/// Reads the parts of a state in the order in which they were written.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Opens a state of this kind.
    pub(crate) fn open(bytes: &'a [u8], kind: &str) -> Result<Self> {
        let Some(rest) = bytes.strip_prefix(MAGIC) else { return Err(damaged("the header is missing")) };
        let Some((version, _)) = rest.split_first() else { return Err(damaged("the bytes are truncated")) };
        if *version != VERSION {
            let what = format!("it has version {version}; this program reads version {VERSION}");
            return Err(damaged(what));
        }
        let Some(end) = bytes.len().checked_sub(CHECKSUM) else { return Err(damaged("the bytes are truncated")) };
        let (body, sum) = bytes.split_at(end);
        if checksum(body).to_le_bytes() != sum {
            return Err(damaged("checksum mismatch"));
        }
        let mut reader = Reader { rest: &body[MAGIC.len() + 1..] };
        let found = reader.text()?;
        if found != kind {
            return Err(damaged(format!("the kind is '{found}', not '{kind}'")));
        }
        Ok(reader)
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or_else(|| damaged("the bytes are truncated"))?;
        self.rest = rest;
        Ok(taken)
    }

    fn eight(&mut self) -> Result<[u8; 8]> {
        let mut eight = [0; 8];
        eight.copy_from_slice(self.take(8)?);
        Ok(eight)
    }

    pub(crate) fn count(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.eight()?))
    }

    /// Reads a count that fits into memory.
    pub(crate) fn size(&mut self) -> Result<usize> {
        usize::try_from(self.count()?).map_err(|_| damaged("a size is too large"))
    }

    pub(crate) fn flag(&mut self) -> Result<bool> {
        match self.take(1)? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(damaged("a flag is neither 0 nor 1")),
        }
    }

    pub(crate) fn number(&mut self) -> Result<f64> {
        Ok(f64::from_le_bytes(self.eight()?))
    }

    fn plain(&mut self, len: usize) -> Result<Vec<f64>> {
        let bytes = self.take(len.checked_mul(8).ok_or_else(|| damaged("a length is too large"))?)?;
        let number = |b: &[u8]| f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]);
        Ok(bytes.chunks_exact(8).map(number).collect())
    }

    /// Reads as many numbers as were written.
    pub(crate) fn numbers(&mut self) -> Result<Vec<f64>> {
        let len = self.size()?;
        self.plain(len)
    }

    /// Reads the expected count of numbers, all finite.
    pub(crate) fn finite(&mut self, what: &str, expected: usize) -> Result<Vec<f64>> {
        let values = self.numbers()?;
        if values.len() != expected {
            return Err(Error::shape(format!("{what} of the state"), values.len(), expected));
        }
        match values.iter().all(|v| v.is_finite()) {
            true => Ok(values),
            false => Err(damaged(format!("{what} are not finite"))),
        }
    }

    /// Reads a symmetric matrix of d columns, its lower half filled.
    pub(crate) fn lower_half(&mut self, d: usize) -> Result<crate::Block> {
        let twice = d.checked_add(1).and_then(|more| d.checked_mul(more));
        let len = twice.ok_or_else(|| damaged("a size is too large"))? / 2;
        let values = self.plain(len)?;
        if values.iter().any(|v| !v.is_finite()) {
            return Err(damaged("a matrix has values that are not finite"));
        }
        let mut matrix = crate::Block::zeros(d, d);
        let mut at = 0;
        for j in 0..d {
            matrix.col_mut(j)[j..].copy_from_slice(&values[at..at + d - j]);
            at += d - j;
        }
        Ok(matrix)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str> {
        let len = self.size()?;
        std::str::from_utf8(self.take(len)?).map_err(|_| damaged("a text is not UTF-8"))
    }

    /// Fails when bytes are left.
    pub(crate) fn end(self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(damaged("there are bytes after the end")) }
    }
}

/// Builds the error for bytes that are not a valid state.
pub(crate) fn damaged(what: impl std::fmt::Display) -> Error {
    Error::inconsistent(format!("cannot resume from this state: {what}"))
}

/// Returns a checksum of bytes: FNV-1a, on eight bytes at a time. A change within eight bytes always changes it.
///
/// ```
/// use mercer::text::checksum;
/// assert_ne!(checksum(b"a model"), checksum(b"a modem"));
/// ```
pub fn checksum(bytes: &[u8]) -> u64 {
    let step = |sum: u64, v: u64| (sum ^ v).wrapping_mul(0x0100_0000_01b3).rotate_left(29);
    let chunks = bytes.chunks_exact(8);
    let rest = chunks.remainder().iter().fold(bytes.len() as u64, |sum, b| step(sum, u64::from(*b)));
    chunks.fold(rest ^ 0xcbf2_9ce4_8422_2325, |sum, b| {
        step(sum, u64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]))
    })
}

/// Replaces the checksum by the correct one, so that a test can reach the checks behind it.
#[cfg(feature = "testing")]
pub fn signed_again(bytes: &[u8]) -> Vec<u8> {
    let body = &bytes[..bytes.len().saturating_sub(CHECKSUM)];
    let mut bytes = body.to_vec();
    bytes.extend(checksum(body).to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_damage_is_found() -> Result<()> {
        let mut writer = Writer::new("a test");
        writer.count(7);
        writer.flag(true);
        writer.numbers(&[1.0, -2.5, f64::INFINITY]);
        writer.text("words");
        let bytes = writer.finish();
        let mut reader = Reader::open(&bytes, "a test")?;
        assert_eq!((reader.count()?, reader.flag()?), (7, true));
        assert_eq!(reader.numbers()?, [1.0, -2.5, f64::INFINITY]);
        assert_eq!(reader.text()?, "words");
        reader.end()?;
        assert!(Reader::open(&bytes, "another").is_err());
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 0x10;
            assert!(Reader::open(&other, "a test").is_err(), "byte {at}");
            assert!(Reader::open(&bytes[..at], "a test").is_err(), "cut at {at}");
        }
        Ok(())
    }
}
