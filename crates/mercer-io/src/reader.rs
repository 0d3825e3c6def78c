//! Reading: one door for all formats.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use crate::embedded;
use crate::error::{Error, Result};
use crate::file_at::{FileAt, Shared};
use crate::packing::{Packing, unpack};
use crate::table::Table;
use crate::{csv_file, npy, parquet_file};

/// What a table may be stored as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Format {
    Csv,
    Tsv,
    Npy,
    Parquet,
}

impl Format {
    /// The format that the end of a file name stands for.
    pub fn of_name(name: &str) -> Option<Self> {
        let end = Path::new(name).extension()?.to_str()?.to_lowercase();
        Some(match end.as_str() {
            "csv" | "txt" | "data" => Format::Csv,
            "tsv" | "tab" => Format::Tsv,
            "npy" => Format::Npy,
            "parquet" | "pq" => Format::Parquet,
            _ => return None,
        })
    }

    /// The end of file names.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Tsv => "tsv",
            Format::Npy => "npy",
            Format::Parquet => "parquet",
        }
    }
}

/// Whether the first line has names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Header {
    /// It has, unless all its fields are numbers.
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
    /// What stands between fields of text formats; by default what the first line has most of.
    pub delimiter: Option<u8>,
    /// Whether the first line has names.
    pub header: Header,
    /// Lines to pass over before anything else.
    pub skip: usize,
    /// Columns to be kept as they are written, even when they look like numbers.
    pub text: Vec<String>,
    /// Bytes that may be read; `None` for no limit.
    pub limit: Option<u64>,
}

/// Reads a file, standard input for `-`, or an embedded data set by its name.
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
    if name == "-" {
        let mut bytes = Vec::new();
        let limit = options.limit.unwrap_or(u64::MAX - 1);
        let read = std::io::stdin().lock().take(limit + 1).read_to_end(&mut bytes);
        read.map_err(Error::io("standard input", "read"))?;
        within("standard input", bytes.len() as u64, limit)?;
        return parse("standard input", &bytes, options);
    }
    // A file that cannot be looked at is not taken for one that is not there.
    if !Path::new(name).try_exists().map_err(Error::io(name, "read"))? {
        return match embedded::find(name) {
            Some(set) => {
                parse(name, set.csv().as_bytes(), &ReadOptions { text: options.text.clone(), ..Default::default() })
            }
            None => {
                let nearest = mercer::nearest(name, embedded::DATA_SETS.iter().map(|s| s.name));
                Err(Error::NotFound { file: name.into(), nearest })
            }
        };
    }
    let limit = options.limit.unwrap_or(u64::MAX);
    if format_of_file(name, options)? == Some(Format::Parquet) {
        // Its columns are picked out of the file, which need not be in memory.
        let file = FileAt::open(name).map_err(Error::io(name, "read"))?;
        within(name, file.len(), limit)?;
        return not_empty(parquet_file::read(name, Shared(Arc::new(file)), &options.text, options.limit)?);
    }
    parse(name, &read_file(name, limit)?, options)
}

/// The format of a regular file, as far as it is told by the options, the first bytes or the name.
fn format_of_file(name: &str, options: &ReadOptions) -> Result<Option<Format>> {
    if !fs::metadata(name).map_err(Error::io(name, "read"))?.is_file() {
        return Ok(None);
    }
    let mut head = Vec::new();
    let file = File::open(name).map_err(Error::io(name, "read"))?;
    file.take(8).read_to_end(&mut head).map_err(Error::io(name, "read"))?;
    Ok(format(name, &head, options))
}

/// The format of a file that begins with `head`.
pub(crate) fn format(name: &str, head: &[u8], options: &ReadOptions) -> Option<Format> {
    options.format.or(format_of_bytes(head)).or_else(|| Format::of_name(Packing::name_within(name)))
}

/// As [`read_with`], of bytes that somebody else read; the name is for messages, and its end may tell the format.
///
/// # Errors
/// As [`read`].
pub fn read_bytes(name: &str, bytes: &[u8], options: &ReadOptions) -> Result<Table> {
    within(name, bytes.len() as u64, options.limit.unwrap_or(u64::MAX))?;
    parse(name, bytes, options)
}

/// The bytes of a file of at most `limit` bytes.
pub(crate) fn read_file(name: &str, limit: u64) -> Result<Vec<u8>> {
    let facts = fs::metadata(name).map_err(Error::io(name, "read"))?;
    if facts.is_dir() {
        return Err(Error::NotRegular { file: name.into(), what: "a directory" });
    }
    if is_device(&facts) {
        return Err(Error::NotRegular { file: name.into(), what: "a device" });
    }
    within(name, facts.len(), limit)?;
    let mut bytes = Vec::new();
    // A pipe tells no length: what is read is limited as well.
    let file = File::open(name).map_err(Error::io(name, "read"))?;
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(Error::io(name, "read"))?;
    within(name, bytes.len() as u64, limit)?;
    Ok(bytes)
}

/// Whether it is a device, which may have no end. Standard input has its own name, `-`.
pub(crate) fn is_device(facts: &fs::Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        facts.file_type().is_char_device() || facts.file_type().is_block_device()
    }
    #[cfg(not(unix))]
    {
        let _ = facts;
        false
    }
}

pub(crate) fn within(file: &str, size: u64, limit: u64) -> Result<()> {
    if size <= limit {
        return Ok(());
    }
    let bytes = |n: u64| mercer::Bytes(u128::from(n));
    Err(Error::Unsupported {
        file: file.into(),
        what: format!("has more than {}, the memory there is for reading", bytes(limit)),
        help: "raise it with --memory, or choose fewer rows".into(),
    })
}

/// The format that the first bytes show.
fn format_of_bytes(bytes: &[u8]) -> Option<Format> {
    match bytes {
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Some(Format::Npy),
        [b'P', b'A', b'R', b'1', ..] => Some(Format::Parquet),
        _ => None,
    }
}

fn parse(name: &str, bytes: &[u8], options: &ReadOptions) -> Result<Table> {
    let format = format(name, bytes, options).unwrap_or(Format::Csv);
    let text = |delimiter| {
        let bytes = unpack(name, bytes, options.limit.unwrap_or(u64::MAX))?;
        csv_file::parse(name, &bytes, delimiter, options)
    };
    let table = match format {
        Format::Csv => text(None),
        Format::Tsv => text(Some(b'\t')),
        Format::Npy => npy::parse(name, bytes),
        Format::Parquet => parquet_file::parse(name, bytes, &options.text, options.limit),
    }?;
    not_empty(table)
}

fn not_empty(table: Table) -> Result<Table> {
    if table.rows() == 0 || table.columns.is_empty() {
        return Err(Error::Empty { file: table.source });
    }
    Ok(table)
}
