//! Compressed texts: gzip and zstd.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};

use flate2::bufread::MultiGzDecoder;

use crate::error::{Error, Result};

/// How a text is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    None,
    Gzip,
    Zstd,
}

impl Packing {
    /// By the first bytes.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        match bytes {
            [0x1f, 0x8b, 0x08, ..] => Packing::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Packing::Zstd,
            _ => Packing::None,
        }
    }

    /// What a file name is without the end that says how it is packed.
    pub(crate) fn name_within(name: &str) -> &str {
        let end = name.rsplit_once('.').filter(|(_, end)| ["gz", "zst"].iter().any(|e| end.eq_ignore_ascii_case(e)));
        end.map_or(name, |(rest, _)| rest)
    }

    /// For messages.
    pub(crate) fn shown(self) -> &'static str {
        match self {
            Packing::None => "text",
            Packing::Gzip => "gzip",
            Packing::Zstd => "zstd",
        }
    }

    /// The text that `packed` holds.
    pub(crate) fn unpacked<'a>(self, packed: impl BufRead + Send + 'a) -> io::Result<Box<dyn Read + Send + 'a>> {
        Ok(match self {
            Packing::None => Box::new(packed),
            Packing::Gzip => Box::new(MultiGzDecoder::new(packed)),
            Packing::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(packed)?),
        })
    }
}

/// Unpacks a text that is in memory; of a text that is not packed nothing is copied.
pub(crate) fn unpack<'a>(name: &str, bytes: &'a [u8], limit: u64) -> Result<Cow<'a, [u8]>> {
    let packing = Packing::of_bytes(bytes);
    if packing == Packing::None {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut text = Vec::new();
    let read = packing.unpacked(bytes).and_then(|r| r.take(limit.saturating_add(1)).read_to_end(&mut text));
    read.map_err(|e| damaged(name, packing, &text, &e))?;
    crate::reader::within(name, text.len() as u64, limit)?;
    Ok(Cow::Owned(text))
}

/// A packed text that cannot be unpacked to its end, and what there is of it.
pub(crate) fn damaged(name: &str, packing: Packing, text: &[u8], error: &io::Error) -> Error {
    cut_off(name, packing, text.iter().filter(|b| **b == b'\n').count() as u64, error)
}

/// As [`damaged`], after so many whole lines.
pub(crate) fn cut_off(name: &str, packing: Packing, lines: u64, error: &io::Error) -> Error {
    let how = if error.kind() == io::ErrorKind::UnexpectedEof {
        "it is cut off".to_string()
    } else {
        format!("it is damaged ({error})")
    };
    let whole = if lines == 0 { "no line is whole".into() } else { format!("line {lines} is the last that is whole") };
    Error::damaged(name, packing.shown(), format!("{how}; {whole}"))
}
