//! The files and bytes that tables are read from.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::time::SystemTime;

use bytes::Bytes;

use crate::compression::{Compression, without_extension};
use crate::content::Location;
use crate::embedded;
use crate::error::{Error, Result};
use crate::formats::Format;
use crate::formats::csv::text::{LONGEST, newlines, too_long};
use crate::reader::ReadOptions;

/// Standard input, in messages.
const STANDARD_INPUT: &str = "standard input";

/// Bytes that the format and the compression are recognised by.
const HEAD: usize = 8;

/// Bytes that are read at a time of what can be read only once.
const STEP: u64 = 1 << 20;

/// One file of a table, or bytes in memory.
#[derive(Clone, Debug)]
pub(crate) struct TableFile {
    /// The name in messages.
    pub(crate) name: String,
    pub(crate) location: Location,
    pub(crate) size: u64,
    pub(crate) format: Format,
    pub(crate) compression: Compression,
    pub(crate) options: ReadOptions,
    /// The file as it was found; `None` for bytes in memory.
    stamp: Option<Stamp>,
}

/// What changes with the content of a file: it is compared before and after each pass over it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    /// Device and inode: a file that was replaced has others.
    place: (u64, u64),
}

impl Stamp {
    pub(crate) fn of(metadata: &fs::Metadata) -> Self {
        #[cfg(unix)]
        let place = {
            use std::os::unix::fs::MetadataExt;
            (metadata.dev(), metadata.ino())
        };
        #[cfg(not(unix))]
        let place = (0, 0);
        Stamp { length: metadata.len(), modified: metadata.modified().ok(), place }
    }

    /// Fails if the file of this name is not as it was.
    pub(crate) fn check(&self, name: &str) -> Result<()> {
        let now = Stamp::of(&fs::metadata(name).map_err(Error::io(name, "read"))?);
        let what = match () {
            () if now.place != self.place => "it was replaced".to_string(),
            () if now.length != self.length => format!("it had {} bytes, and now has {}", self.length, now.length),
            () if now.modified != self.modified => "it was written to".to_string(),
            () => return Ok(()),
        };
        Err(Error::Changed { file: name.into(), what })
    }
}

impl TableFile {
    /// A file or an embedded set, which can be read as often as wanted.
    fn find(name: &str, options: &ReadOptions) -> Result<Self> {
        if name == "-" {
            let what = "can be read only once, but several passes are needed";
            return Err(Error::advised(STANDARD_INPUT, what, "name a file, or read it whole"));
        }
        // A file that cannot be examined is not one that does not exist.
        if !Path::new(name).try_exists().map_err(Error::io(name, "read"))? {
            let Some(set) = embedded::find(name) else {
                let nearest = mercer::text::nearest(name, embedded::DATA_SETS.iter().map(|s| s.name));
                return Err(Error::NotFound { file: name.into(), nearest });
            };
            // Options that describe a file do not apply.
            let options = ReadOptions { text: options.text.clone(), ..ReadOptions::default() };
            return Ok(TableFile::in_memory(name, set.csv().into(), &options));
        }
        let metadata = fs::metadata(name).map_err(Error::io(name, "read"))?;
        if metadata.is_dir() {
            return Err(Error::NotRegular { file: name.into(), what: "a directory" });
        }
        if !metadata.is_file() {
            return Err(Error::NotRegular { file: name.into(), what: "a device or a pipe" });
        }
        let mut head = Vec::new();
        let file = File::open(name).map_err(Error::io(name, "read"))?;
        file.take(HEAD as u64).read_to_end(&mut head).map_err(Error::io(name, "read"))?;
        let source = TableFile::new(name, Location::File(name.into()), metadata.len(), &head, options);
        Ok(TableFile { stamp: Some(Stamp::of(&metadata)), ..source })
    }

    /// As [`TableFile::find`], also for standard input and pipes, which are read into memory.
    pub(crate) fn find_once(name: &str, options: &ReadOptions) -> Result<Self> {
        let limit = options.limit.unwrap_or(u64::MAX);
        if name == "-" {
            let bytes = read_table(STANDARD_INPUT, std::io::stdin().lock(), limit, options)?;
            return Ok(TableFile::in_memory(STANDARD_INPUT, bytes.into(), options));
        }
        match fs::metadata(name) {
            Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => {
                let bytes = read_table(name, open_file(name, limit)?, limit, options)?;
                Ok(TableFile::in_memory(name, bytes.into(), options))
            }
            _ => TableFile::find(name, options),
        }
    }

    pub(crate) fn in_memory(name: &str, bytes: Bytes, options: &ReadOptions) -> Self {
        let (size, head) = (bytes.len() as u64, bytes.slice(..bytes.len().min(HEAD)));
        TableFile::new(name, Location::Memory(bytes), size, &head, options)
    }

    fn new(name: &str, location: Location, size: u64, head: &[u8], options: &ReadOptions) -> Self {
        let (format, compression) = kind(name, head, options);
        TableFile { name: name.into(), location, size, format, compression, options: options.clone(), stamp: None }
    }

    /// Fails if the file is not as it was when it was found.
    pub(crate) fn check_unchanged(&self) -> Result<()> {
        self.stamp.as_ref().map_or(Ok(()), |stamp| stamp.check(&self.name))
    }

    /// The error for a file that was changed between two passes.
    pub(crate) fn changed(&self) -> Error {
        Error::Changed { file: self.name.clone(), what: "it has other columns than when it was opened".into() }
    }
}

/// The format and the compression of a file with this name that begins with these bytes.
fn kind(name: &str, head: &[u8], options: &ReadOptions) -> (Format, Compression) {
    let by_name = || Format::of_name(without_extension(name));
    let format = options.format.or_else(|| Format::of_bytes(head)).or_else(by_name).unwrap_or(Format::CSV);
    (format, if format.is_text() { Compression::of_bytes(head) } else { Compression::None })
}

/// The files of the names, and the folder if it is the only name.
pub(crate) fn find(names: &[String], options: &ReadOptions) -> Result<(Vec<TableFile>, Option<String>)> {
    let (mut sources, mut folder) = (Vec::new(), None);
    for name in names {
        if Path::new(name).is_dir() {
            sources.extend(in_folder(name, options)?);
            folder = Some(name.clone());
        } else {
            sources.push(TableFile::find(name, options)?);
        }
    }
    Ok((sources, folder.filter(|_| names.len() == 1)))
}

/// The files of a folder, by name; all of one format.
fn in_folder(folder: &str, options: &ReadOptions) -> Result<Vec<TableFile>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(Error::io(folder, "read"))? {
        let path = entry.map_err(Error::io(folder, "read"))?.path();
        let hidden = path.file_name().is_none_or(|n| n.to_string_lossy().starts_with(['.', '_']));
        if hidden || !path.is_file() {
            continue;
        }
        match path.to_str() {
            Some(name) => names.push(name.to_string()),
            None => return Err(Error::advised(&path.to_string_lossy(), "the file name is not UTF-8", "rename it")),
        }
    }
    names.sort();
    let mut sources: Vec<TableFile> = Vec::new();
    for name in names {
        let source = TableFile::find(&name, options)?;
        let known = options.format.is_some() || Format::of_name(without_extension(&name)).is_some();
        if !known && source.format.is_text() {
            let what = "is not a table, by its name and its first bytes";
            return Err(Error::advised(&name, what, "move it out of the folder"));
        }
        if let Some(first) = sources.first().filter(|first| first.format != source.format) {
            let what = format!("is {}, but {} is {}", source.format.title(), first.name, first.format.title());
            return Err(Error::advised(&name, what, "keep files of one format in a folder"));
        }
        sources.push(source);
    }
    if sources.is_empty() {
        return Err(Error::advised(folder, "the folder has no tables", "name files, or a folder that has some"));
    }
    Ok(sources)
}

/// Opens a file of at most `limit` bytes, or a pipe.
fn open_file(name: &str, limit: u64) -> Result<File> {
    let metadata = fs::metadata(name).map_err(Error::io(name, "read"))?;
    if metadata.is_dir() {
        return Err(Error::NotRegular { file: name.into(), what: "a directory" });
    }
    if is_device(&metadata) {
        return Err(Error::NotRegular { file: name.into(), what: "a device" });
    }
    if metadata.len() > limit {
        return Err(Error::TooLarge { file: name.into(), limit });
    }
    File::open(name).map_err(Error::io(name, "read"))
}

/// The bytes of a file of a format whose files are never larger than `limit`.
pub(crate) fn read_at_most(name: &str, format: &'static str, limit: u64) -> Result<Vec<u8>> {
    let bytes = open_file(name, limit).and_then(|file| read_limited(name, file, limit, |_, _| Ok(())));
    bytes.map_err(|e| match e {
        Error::TooLarge { .. } => {
            Error::damaged(name, format, format!("it is larger than {}", mercer::text::Bytes(u128::from(limit))))
        }
        e => e,
    })
}

/// All bytes of a table from a reader that can be read only once. A text whose line has no end is refused while it
/// comes, and not when it fills the memory.
fn read_table(name: &str, reader: impl Read, limit: u64, options: &ReadOptions) -> Result<Vec<u8>> {
    let mut line = 0; // where the last line begins
    read_limited(name, reader, limit, |bytes, before| {
        let head = &bytes[..bytes.len().min(HEAD)];
        if !matches!(kind(name, head, options), (format, Compression::None) if format.is_text()) {
            return Ok(());
        }
        let end = bytes[before..].iter().rposition(|b| matches!(b, b'\n' | b'\r'));
        line = end.map_or(line, |at| before + at + 1);
        match bytes.len() - line > LONGEST {
            true => Err(too_long(name, 1 + newlines(&bytes[..line]) as u64)),
            false => Ok(()),
        }
    })
}

/// All bytes of a reader, in steps; `check` is called with the bytes so far, and how many there were before. A pipe does
/// not tell its length: the bytes are counted as they come.
fn read_limited(
    name: &str,
    mut reader: impl Read,
    limit: u64,
    mut check: impl FnMut(&[u8], usize) -> Result<()>,
) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let before = bytes.len();
        let step = (limit.saturating_add(1) - before as u64).min(STEP);
        let more = (&mut reader).take(step).read_to_end(&mut bytes).map_err(Error::io(name, "read"))?;
        if bytes.len() as u64 > limit {
            return Err(Error::TooLarge { file: name.into(), limit });
        }
        if more == 0 {
            return Ok(bytes);
        }
        check(&bytes, before)?;
    }
}

/// Whether it is a device, which may have no end. Standard input has its own name, `-`.
fn is_device(metadata: &fs::Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        metadata.file_type().is_char_device() || metadata.file_type().is_block_device()
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        false
    }
}
