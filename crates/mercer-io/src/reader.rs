//! Reading: one door for all formats.

use std::path::Path;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::formats::Format;
use crate::source::{self, TableFile};
use crate::stream::{Stream, StreamOptions};
use crate::table::Table;

/// Whether the first line has names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Header {
    /// It has, unless it has numbers.
    #[default]
    Auto,
    /// It has.
    Yes,
    /// It has not: columns are x1, x2, ...
    No,
}

/// How to read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The format; by default that of the name, or of the first bytes.
    pub format: Option<Format>,
    /// The delimiter of text formats; by default the most frequent one in the first line.
    pub delimiter: Option<u8>,
    /// Whether the first line has names.
    pub header: Header,
    /// Lines to skip before anything else.
    pub skip: usize,
    /// Columns to be read as text, even when they look like numbers.
    pub text: Vec<String>,
    /// Bytes that may be read; `None` for no limit.
    pub limit: Option<u64>,
}

/// Reads a file, standard input for `-`, or an embedded data set by its name.
///
/// A text has no types of its own: a column is text when more of its values are words than numbers in the first 10,000
/// rows. The same holds for a [`Stream`].
///
/// # Errors
/// Names the file, the line, the column and the value.
pub fn read(name: &str) -> Result<Table> {
    read_with(name, &ReadOptions::default())
}

/// As [`read`], with options.
///
/// # Errors
/// As [`read`].
pub fn read_with(name: &str, options: &ReadOptions) -> Result<Table> {
    whole(vec![TableFile::find_once(name, options)?], None, options)
}

/// Reads several files, or folders of them, as one table; one name as [`read_with`] does.
///
/// # Errors
/// As [`read`], and when a file has other columns than the first.
pub fn read_all(names: &[String], options: &ReadOptions) -> Result<Table> {
    match names {
        [name] if !Path::new(name).is_dir() => read_with(name, options),
        _ => {
            let (sources, folder) = source::find(names, options)?;
            whole(sources, folder, options)
        }
    }
}

/// As [`read_with`], for bytes in memory. The name is for messages, and its extension may tell the format.
///
/// # Errors
/// As [`read`].
pub fn read_bytes(name: &str, bytes: &[u8], options: &ReadOptions) -> Result<Table> {
    whole(vec![TableFile::in_memory(name, Bytes::copy_from_slice(bytes), options)], None, options)
}

fn whole(sources: Vec<TableFile>, folder: Option<String>, options: &ReadOptions) -> Result<Table> {
    let limit = options.limit.unwrap_or(u64::MAX);
    // Before a header is believed.
    let size = sources.iter().map(|s| s.size).fold(0, u64::saturating_add);
    if let Some(first) = sources.first().filter(|_| size > limit) {
        return Err(Error::TooLarge { file: first.name.clone(), limit });
    }
    let options = StreamOptions { read: options.clone(), ..StreamOptions::default() };
    Stream::new(sources, folder, options)?.read_whole(limit)
}
