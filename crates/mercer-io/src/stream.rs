//! Tables that are read batch by batch.

use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

use crate::compression::Compression;
use crate::error::{Error, Result, counted, shown};
use crate::formats::{OpenTable, Pass, Wanted};
use crate::note::Note;
use crate::pool::{DecodePool, THREAD};
use crate::reader::ReadOptions;
use crate::source::{self, TableFile};
use crate::table::{Column, Table, Values, check_names};

/// Batches that are read before they are asked for.
const AHEAD: usize = 2;

/// The size of a text value in a batch.
const TEXT_BYTES: usize = 64;

/// How a stream is read.
#[derive(Clone, Debug)]
pub struct StreamOptions {
    /// As for a table that is read whole. The limit is ignored: a stream is bounded by the size of its batches.
    pub read: ReadOptions,
    /// The size of a batch: 8 bytes for a number, 64 for a text.
    pub batch_bytes: usize,
}

impl Default for StreamOptions {
    fn default() -> Self {
        StreamOptions { read: ReadOptions::default(), batch_bytes: 16_000_000 }
    }
}

/// A column of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamColumn {
    /// Its name.
    pub name: String,
    /// Whether it has numbers.
    pub is_numeric: bool,
}

/// A table that is read batch by batch, as often as wanted: one file, several, or a folder.
///
/// ```
/// use mercer_io::{Stream, StreamOptions};
/// let stream = Stream::open(&["iris".to_string()], StreamOptions::default())?;
/// let mut rows = 0;
/// for batch in stream.batches()? {
///     rows += batch?.table.rows();
/// }
/// assert_eq!(rows, 150);
/// # Ok::<(), mercer_io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Stream {
    files: Vec<OpenFile>,
    folder: Option<String>,
    columns: Vec<StreamColumn>,
    /// The places of these columns in the first file.
    kept: Vec<usize>,
    options: StreamOptions,
    notes: Vec<Note>,
}

/// One file of a stream.
#[derive(Clone, Debug)]
struct OpenFile {
    source: TableFile,
    table: Arc<dyn OpenTable>,
    /// For each column of the stream its place in this file.
    places: Vec<usize>,
    /// The number of rows that the first whole pass found, for all clones of the stream.
    rows: Arc<OnceLock<u64>>,
}

impl Stream {
    /// Opens files and folders, of which only names, types and sizes are read.
    ///
    /// The files of a folder are taken in the order of their names, without those that begin with `.` or `_`. All
    /// files have the columns of the first, in any order. Types of text files are decided by the first 10,000 rows of
    /// the first one.
    ///
    /// # Errors
    /// When a file cannot be read, is not a table, or has other columns than the first; when there are no rows.
    pub fn open(names: &[String], mut options: StreamOptions) -> Result<Stream> {
        options.read.limit = None;
        let (sources, folder) = source::find(names, &options.read)?;
        Stream::new(sources, folder, options)
    }

    pub(crate) fn new(sources: Vec<TableFile>, folder: Option<String>, options: StreamOptions) -> Result<Stream> {
        let mut files: Vec<OpenFile> = Vec::new();
        for source in sources {
            let alike = files.iter().find(|f| f.source.format == source.format);
            let table = match alike {
                Some(earlier) => earlier.table.open_next(&source)?,
                None => source.format.open(&source)?,
            };
            let places = match files.first() {
                None => {
                    check_names(&source.name, table.columns().iter().map(|c| c.name.as_str()))?;
                    (0..table.columns().len()).collect()
                }
                Some(first) => first.places_in(&source.name, &*table)?,
            };
            files.push(OpenFile { source, table, places, rows: Arc::default() });
        }
        let Some(first) = files.first() else {
            return Err(Error::advised("input", "no file is named", "name a file or a folder"));
        };
        let (columns, notes) = (first.table.columns().to_vec(), first.table.notes().to_vec());
        if columns.is_empty() || files.iter().all(|f| f.table.is_empty()) {
            return Err(Error::Empty { file: first.source.name.clone() });
        }
        let kept = (0..columns.len()).collect();
        Ok(Stream { files, folder, columns, kept, options, notes })
    }

    /// The columns that are read.
    pub fn columns(&self) -> &[StreamColumn] {
        &self.columns
    }

    /// Reads only these columns from now on, in the order of the file.
    ///
    /// # Errors
    /// When there is none of a name, or no name.
    pub fn keep(&mut self, names: &[String]) -> Result<()> {
        if let Some(name) = names.iter().find(|n| !self.columns.iter().any(|c| c.name == **n)) {
            return Err(Error::UnknownColumn {
                file: self.source(),
                name: name.clone(),
                nearest: mercer::text::nearest(name, self.columns.iter().map(|c| c.name.as_str())),
                known: self.columns.iter().map(|c| c.name.clone()).collect(),
            });
        }
        if names.is_empty() {
            return Err(Error::NoNumbers { file: self.source() });
        }
        let stays: Vec<bool> = self.columns.iter().map(|c| names.contains(&c.name)).collect();
        let (mut column, mut place) = (stays.iter(), stays.iter());
        self.columns.retain(|_| column.next() == Some(&true));
        self.kept.retain(|_| place.next() == Some(&true));
        Ok(())
    }

    /// The number of rows, where the files state it: Parquet and NPY.
    pub fn rows(&self) -> Option<u64> {
        self.files.iter().try_fold(0u64, |sum, f| f.table.rows().map(|rows| sum.saturating_add(rows)))
    }

    /// The size of the columns that are read, at 8 bytes a value, where the number of rows is known.
    pub fn table_bytes(&self) -> Option<u64> {
        self.rows().map(|rows| rows.saturating_mul(8).saturating_mul(self.columns.len() as u64))
    }

    /// The size of the files.
    pub fn file_bytes(&self) -> u64 {
        self.files.iter().map(|f| f.source.size).fold(0, u64::saturating_add)
    }

    /// Whether a file is compressed, so that its size says little about the table.
    pub fn is_compressed(&self) -> bool {
        self.files.iter().any(|f| f.source.compression != Compression::None)
    }

    /// The name of the data, for messages.
    pub fn source(&self) -> String {
        let first = self.files.first().map_or("", |f| f.source.name.as_str());
        match (&self.folder, self.files.len()) {
            (Some(folder), 1) => format!("{folder} (1 file)"),
            (Some(folder), count) => format!("{folder} ({count} files)"),
            (None, 1) => first.into(),
            (None, 2) => format!("{first} and another file"),
            (None, count) => format!("{first} and {} other files", count - 1),
        }
    }

    /// Decisions made while opening that a user should know.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Begins a pass over all rows. A file that changed since it was opened is an error of a batch, at the latest after
    /// the last batch of the file.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn batches(&self) -> Result<BatchReader> {
        let (sender, receiver) = sync_channel(AHEAD);
        let (stream, pool) = (self.clone(), DecodePool::new());
        let reader = thread::Builder::new()
            .name(THREAD.into())
            .spawn(move || {
                if let Err(error) = stream.send(&pool, &sender) {
                    let _ = sender.send(Err(error));
                }
            })
            .map_err(Error::io(self.source(), "read"))?;
        Ok(BatchReader { receiver: Some(receiver), reader: Some(reader) })
    }

    /// All rows as one table, from files of at most `limit` bytes.
    pub(crate) fn read_whole(&self, limit: u64) -> Result<Table> {
        let (pool, mut left) = (DecodePool::new(), limit);
        let too_large = || Error::TooLarge { file: self.source(), limit };
        let memory = self.files.iter().filter_map(|f| f.table.memory()).fold(0, u64::saturating_add);
        left = left.checked_sub(memory).ok_or_else(too_large)?;
        let mut whole: Option<Vec<Values>> = None;
        for file in &self.files {
            let mut pass = file.unchanged(|| self.pass(file, left))?;
            let mut rows = 0;
            while let Some(values) = file.unchanged(|| pass.next(self.batch_rows(), &pool))? {
                rows += values.first().map_or(0, Values::len) as u64;
                match &mut whole {
                    Some(whole) => whole.iter_mut().zip(values).for_each(|(whole, more)| whole.append(more)),
                    None => whole = Some(values),
                }
            }
            file.end_pass(rows)?;
            left = left.checked_sub(pass.bytes_read()).ok_or_else(too_large)?;
        }
        let values = whole.ok_or_else(|| Error::Empty { file: self.source() })?;
        let mut table = Table::new(self.source(), self.named(values))?;
        table.notes = self.notes.clone();
        Ok(table)
    }

    /// Rows of a batch.
    fn batch_rows(&self) -> usize {
        let row: usize = self.columns.iter().map(|c| if c.is_numeric { 8 } else { TEXT_BYTES }).sum();
        (self.options.batch_bytes / row.max(1)).max(1)
    }

    fn named(&self, values: Vec<Values>) -> Vec<Column> {
        self.columns.iter().zip(values).map(|(c, values)| Column { name: c.name.clone(), values }).collect()
    }

    /// Reads all files and sends their rows, until the receiver is gone.
    fn send(&self, pool: &DecodePool, sender: &SyncSender<Result<Batch>>) -> Result<()> {
        let mut sent = false;
        for file in &self.files {
            let (mut pass, mut first_row) = (file.unchanged(|| self.pass(file, u64::MAX))?, 0);
            while let Some(values) = file.unchanged(|| pass.next(self.batch_rows(), pool))? {
                let name = &file.source.name;
                let table = Table::new(name, self.named(values))?.part_from(Some(first_row));
                let count = table.rows() as u64;
                if sender.send(Ok(Batch { table, file: name.clone(), first_row })).is_err() {
                    return Ok(());
                }
                (sent, first_row) = (true, first_row + count);
            }
            file.end_pass(first_row)?;
        }
        match sent {
            true => Ok(()),
            false => Err(Error::Empty { file: self.source() }),
        }
    }

    fn pass(&self, file: &OpenFile, limit: u64) -> Result<Box<dyn Pass>> {
        file.source.check_unchanged()?;
        let wanted = self.kept.iter().zip(&self.columns).map(|(c, column)| Wanted {
            place: file.places[*c],
            name: column.name.clone(),
            is_numeric: column.is_numeric,
        });
        file.table.pass(&file.source, &wanted.collect::<Vec<_>>(), self.options.batch_bytes, limit)
    }
}

impl OpenFile {
    /// What a step of a pass returns. If it fails because the file was changed, that is the error.
    fn unchanged<T>(&self, step: impl FnOnce() -> Result<T>) -> Result<T> {
        step().or_else(|e| self.source.check_unchanged().and(Err(e)))
    }

    /// Checks at the end of a pass over so many rows that the file is as it was when it was opened. All passes have then
    /// read the same rows.
    fn end_pass(&self, rows: u64) -> Result<()> {
        self.source.check_unchanged()?;
        let first = *self.rows.get_or_init(|| rows);
        let what = || format!("it had {}, and now has {rows}", counted(first as usize, "row"));
        (rows == first).then_some(()).ok_or_else(|| Error::Changed { file: self.source.name.clone(), what: what() })
    }

    /// The places of this file's columns in another file of the same table.
    fn places_in(&self, name: &str, other: &dyn OpenTable) -> Result<Vec<usize>> {
        let (first, here, there) = (&self.source.name, self.table.columns(), other.columns());
        let wrong = |what: String| Error::advised(name, what, "files of one table need the same columns");
        if !other.has_names() {
            return match there.len() == here.len() {
                true => Ok((0..here.len()).collect()),
                false => Err(wrong(format!("has {}, but {first} has {}", counted(there.len(), "column"), here.len()))),
            };
        }
        if let Some(extra) = there.iter().find(|t| !here.iter().any(|h| h.name == t.name)) {
            return Err(wrong(format!("has a column '{}' that {first} does not have", shown(&extra.name))));
        }
        let place = |column: &StreamColumn| match there.iter().position(|t| t.name == column.name) {
            None => Err(wrong(format!("has no column '{}', but {first} has one", shown(&column.name)))),
            // A word in a text without types is found when it is read.
            Some(at) if column.is_numeric && !there[at].is_numeric && other.has_types() => {
                Err(wrong(format!("column '{}' is text, but numbers in {first}", shown(&column.name))))
            }
            Some(at) => Ok(at),
        };
        here.iter().map(place).collect()
    }
}

/// Some rows of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The rows.
    pub table: Table,
    /// The file they are from.
    pub file: String,
    /// The number of the first of them within that file, from 0.
    pub first_row: u64,
}

/// The batches of a pass, in order. A thread reads ahead, so that reading overlaps computing; it ends soon after this is
/// dropped. There are no batches after an error.
#[derive(Debug)]
pub struct BatchReader {
    receiver: Option<Receiver<Result<Batch>>>,
    reader: Option<JoinHandle<()>>,
}

impl Iterator for BatchReader {
    type Item = Result<Batch>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.receiver.as_ref()?.recv() {
            Ok(Ok(batch)) => Some(Ok(batch)),
            Ok(Err(error)) => {
                self.receiver = None;
                Some(Err(error))
            }
            // The reader is done.
            Err(_) => {
                self.receiver = None;
                self.reader.take()?.join().unwrap_or_else(|panic| resume_unwind(panic));
                None
            }
        }
    }
}

impl Drop for BatchReader {
    fn drop(&mut self) {
        // Without a receiver the reader stops at the end of its batch.
        self.receiver = None;
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}
