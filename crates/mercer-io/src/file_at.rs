//! Reading anywhere in a file, by many threads at once.

use std::fs::File;
use std::io::{self, Read};

use bytes::Bytes;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, Length};
use std::sync::Arc;

/// A file without a place in it: each read says where it begins.
#[derive(Debug)]
pub(crate) struct FileAt {
    #[cfg(unix)]
    file: File,
    #[cfg(not(unix))]
    file: std::sync::Mutex<File>,
    len: u64,
}

impl FileAt {
    pub(crate) fn open(name: &str) -> io::Result<Self> {
        let file = File::open(name)?;
        let len = file.metadata()?.len();
        #[cfg(not(unix))]
        let file = std::sync::Mutex::new(file);
        Ok(FileAt { file, len })
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
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

    /// Fills `into` with the bytes from `at` on.
    pub(crate) fn read_at(&self, mut into: &mut [u8], mut at: u64) -> io::Result<()> {
        while !into.is_empty() {
            match self.read_some(into, at) {
                Ok(0) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends before its data")),
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

/// What stands in a file from some place on, read in small pieces: heads of pages.
pub(crate) struct From {
    file: Arc<FileAt>,
    at: u64,
    piece: Vec<u8>,
    used: usize,
}

impl Read for From {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.used == self.piece.len() {
            let length = self.file.len.saturating_sub(self.at).min(256);
            self.piece.resize(length as usize, 0);
            self.file.read_at(&mut self.piece, self.at)?;
            self.at += length;
            self.used = 0;
        }
        let count = into.len().min(self.piece.len() - self.used);
        into[..count].copy_from_slice(&self.piece[self.used..self.used + count]);
        self.used += count;
        Ok(count)
    }
}

/// A file that the columns of a table share.
#[derive(Clone, Debug)]
pub(crate) struct Shared(pub(crate) Arc<FileAt>);

impl Length for Shared {
    fn len(&self) -> u64 {
        self.0.len
    }
}

impl ChunkReader for Shared {
    type T = From;

    fn get_read(&self, start: u64) -> ParquetResult<From> {
        Ok(From { file: Arc::clone(&self.0), at: start, piece: Vec::new(), used: 0 })
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        // Nothing is allocated for what the file does not have.
        if start.checked_add(length as u64).is_none_or(|end| end > self.0.len) {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} in a file of {}", self.0.len)));
        }
        let mut bytes = vec![0; length];
        self.0.read_at(&mut bytes, start)?;
        Ok(bytes.into())
    }
}
