//! Compressed texts: gzip and zstd.

use std::io::{self, BufRead, Read};

use flate2::bufread::MultiGzDecoder;

use crate::error::Error;

/// How a text is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    /// By the first bytes.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        match bytes {
            [0x1f, 0x8b, 0x08, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
            _ => Compression::None,
        }
    }

    /// The name for messages.
    fn name(self) -> &'static str {
        match self {
            Compression::None => "text",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
        }
    }

    /// Reads the decompressed text.
    pub(crate) fn decoder<'a>(self, bytes: impl BufRead + Send + 'a) -> io::Result<Box<dyn Read + Send + 'a>> {
        Ok(match self {
            Compression::None => Box::new(bytes),
            Compression::Gzip => Box::new(MultiGzDecoder::new(bytes)),
            Compression::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(bytes)?),
        })
    }

    /// A text that cannot be decompressed to its end, after so many complete lines.
    pub(crate) fn damaged(self, file: &str, lines: u64, error: &io::Error) -> Error {
        let how = if error.kind() == io::ErrorKind::UnexpectedEof {
            "the file is cut off".to_string()
        } else {
            format!("the compressed data is damaged ({error})")
        };
        let complete = match lines {
            0 => "no line is complete".into(),
            _ => format!("line {lines} is the last complete one"),
        };
        Error::damaged(file, self.name(), format!("{how}; {complete}"))
    }
}

/// A file name without the extension of a compressed file.
pub(crate) fn without_extension(name: &str) -> &str {
    let end = name.rsplit_once('.').filter(|(_, end)| ["gz", "zst"].iter().any(|e| end.eq_ignore_ascii_case(e)));
    end.map_or(name, |(rest, _)| rest)
}
