//! The bytes of a table, in a file or in memory, read at any place and by many threads at once.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::sync::Arc;

use bytes::Bytes;

use crate::compression::Compression;
use crate::pool::THREAD;
use crate::prefetch::Prefetch;

/// What is read of a file at a time.
const BUFFER: usize = 1 << 18;

/// Where the bytes of a table are. A file is opened anew for each pass: a folder may have more files than can be open.
#[derive(Clone, Debug)]
pub(crate) enum Location {
    File(String),
    Memory(Bytes),
}

impl Location {
    /// Opens the bytes for reading at any place.
    pub(crate) fn content(&self) -> io::Result<Content> {
        Ok(match self {
            Location::File(path) => Content::File(Arc::new(FileAt::open(path)?)),
            Location::Memory(bytes) => Content::Memory(bytes.clone()),
        })
    }

    /// Opens the bytes for reading from the first to the last, decompressed. With `prefetch` a thread decompresses ahead.
    pub(crate) fn reader(&self, compression: Compression, prefetch: bool) -> io::Result<Box<dyn Read + Send>> {
        let reader = match self {
            Location::File(path) => compression.decoder(BufReader::with_capacity(BUFFER, File::open(path)?))?,
            Location::Memory(bytes) => compression.decoder(Cursor::new(bytes.clone()))?,
        };
        match prefetch && compression != Compression::None {
            true => Ok(Box::new(Prefetch::new(reader, THREAD)?)),
            false => Ok(reader),
        }
    }
}

/// The bytes of a table that is open.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    File(Arc<FileAt>),
    Memory(Bytes),
}

impl Content {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Content::File(file) => file.len,
            Content::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// Fills `into` with the bytes from `at` on.
    pub(crate) fn read_at(&self, into: &mut [u8], at: u64) -> io::Result<()> {
        match self {
            Content::File(file) => file.read_at(into, at),
            Content::Memory(bytes) => {
                let from = usize::try_from(at).unwrap_or(usize::MAX);
                let part = from.checked_add(into.len()).and_then(|to| bytes.get(from..to)).ok_or_else(too_short)?;
                into.copy_from_slice(part);
                Ok(())
            }
        }
    }

    /// `length` bytes from `at` on. Nothing is allocated for bytes that are not there.
    pub(crate) fn bytes_at(&self, at: u64, length: usize) -> io::Result<Bytes> {
        if at.checked_add(length as u64).is_none_or(|end| end > self.len()) {
            return Err(too_short());
        }
        match self {
            Content::File(file) => {
                let mut bytes = vec![0; length];
                file.read_at(&mut bytes, at)?;
                Ok(bytes.into())
            }
            Content::Memory(bytes) => Ok(bytes.slice(at as usize..at as usize + length)),
        }
    }
}

fn too_short() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends before its data")
}

/// A file without a position: each read names the place where it begins.
#[derive(Debug)]
pub(crate) struct FileAt {
    #[cfg(unix)]
    file: File,
    #[cfg(not(unix))]
    file: std::sync::Mutex<File>,
    len: u64,
}

impl FileAt {
    fn open(path: &str) -> io::Result<Self> {
        let file = File::open(path)?;
        let len = file.metadata()?.len();
        #[cfg(not(unix))]
        let file = std::sync::Mutex::new(file);
        Ok(FileAt { file, len })
    }

    #[cfg(unix)]
    fn read_some(&self, into: &mut [u8], at: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&self.file, into, at)
    }

    #[cfg(not(unix))]
    fn read_some(&self, into: &mut [u8], at: u64) -> io::Result<usize> {
        use std::io::{Seek, SeekFrom};
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.seek(SeekFrom::Start(at))?;
        file.read(into)
    }

    fn read_at(&self, mut into: &mut [u8], mut at: u64) -> io::Result<()> {
        while !into.is_empty() {
            match self.read_some(into, at) {
                Ok(0) => return Err(too_short()),
                Ok(count) => {
                    into = &mut into[count..];
                    at += count as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}
