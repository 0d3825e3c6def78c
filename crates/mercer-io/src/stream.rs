//! Tables that are read batch by batch.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use crate::crew::Crew;
use crate::csv_stream::CsvPass;
use crate::error::{Error, Result};
use crate::file_at::Shared;
use crate::npy::NpyPass;
use crate::parquet_file::{PARQUET_THREAD, ParquetPass, panicked};
use crate::reader::{Format, ReadOptions};
use crate::source::{self, Source, THREAD};
use crate::table::{Column, Table, Values};

/// Batches that are read before they are asked for.
const AHEAD: usize = 2;

/// What a text column counts for in a row of a batch.
const TEXT_BYTES: usize = 64;

/// How a stream is read.
#[derive(Clone, Debug)]
pub struct StreamOptions {
    /// As for a table that is read whole. The limit is not looked at: a stream has its own bound.
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
    files: Vec<Source>,
    folder: Option<String>,
    columns: Vec<StreamColumn>,
    /// The places of these columns in the first file.
    kept: Vec<usize>,
    options: StreamOptions,
    notes: Vec<String>,
}

impl Stream {
    /// Opens files and folders, of which only names, types and sizes are looked at.
    ///
    /// The files of a folder are taken in the order of their names, without those that begin with `.` or `_`. All
    /// files have the columns of the first, in whatever order. Types of text files are told by the first 10,000 rows
    /// of the first one.
    ///
    /// # Errors
    /// When a file cannot be read, is no table, or has other columns than the first; when there are no rows.
    pub fn open(names: &[String], options: StreamOptions) -> Result<Stream> {
        let (mut files, folder) = source::find(names, &options.read)?;
        let (mut columns, mut notes, mut first) = (Vec::new(), Vec::new(), None::<String>);
        let (mut dialect, mut empty) = (None, true);
        for file in &mut files {
            let shown = file.look(dialect, &options.read)?;
            dialect = dialect.or(file.dialect);
            empty &= !shown.has_rows;
            match &first {
                None => {
                    (columns, notes) = (shown.columns, shown.notes);
                    // The same check as for a table.
                    let named = columns.iter().map(|(n, _): &(String, bool)| Column::numbers(n.clone(), Vec::new()));
                    Table::new(&file.name, named.collect())?;
                    file.places = (0..columns.len()).collect();
                    first = Some(file.name.clone());
                }
                Some(first) => file.arrange(first, &columns, &shown.columns)?,
            }
        }
        let Some(first) = first else {
            let help = "name a file or a folder".into();
            return Err(Error::Unsupported { file: "a stream".into(), what: "needs a file".into(), help });
        };
        // Of later texts only the first line was looked at.
        if columns.is_empty() || (empty && (files.len() == 1 || files.iter().all(|f| f.rows.is_some()))) {
            return Err(Error::Empty { file: first });
        }
        let kept = (0..columns.len()).collect();
        let columns = columns.into_iter().map(|(name, is_numeric)| StreamColumn { name, is_numeric }).collect();
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
                nearest: mercer::nearest(name, self.columns.iter().map(|c| c.name.as_str())),
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

    /// The number of rows, where headers tell it: in Parquet and NPY.
    pub fn rows(&self) -> Option<u64> {
        self.files.iter().try_fold(0u64, |sum, f| f.rows.map(|rows| sum.saturating_add(rows)))
    }

    /// The size of the columns that are read, at 8 bytes a value, where the number of rows is known.
    pub fn table_bytes(&self) -> Option<u64> {
        self.rows().map(|rows| rows.saturating_mul(8).saturating_mul(self.columns.len() as u64))
    }

    /// The size of the files.
    pub fn file_bytes(&self) -> u64 {
        self.files.iter().map(|f| f.size).fold(0, u64::saturating_add)
    }

    /// Whether a file is a packed text, whose size tells little.
    pub fn is_packed(&self) -> bool {
        self.files.iter().any(|f| f.packing != crate::packing::Packing::None)
    }

    /// What is read, for messages.
    pub fn source(&self) -> String {
        let first = self.files.first().map_or("", |f| f.name.as_str());
        match (&self.folder, self.files.len()) {
            (Some(folder), 1) => format!("{folder} (1 file)"),
            (Some(folder), count) => format!("{folder} ({count} files)"),
            (None, 1) => first.into(),
            (None, 2) => format!("{first} and another file"),
            (None, count) => format!("{first} and {} other files", count - 1),
        }
    }

    /// What was decided while opening and a user should know.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// A pass over all rows, from the first.
    ///
    /// # Errors
    /// When no thread can be had to read.
    pub fn batches(&self) -> Result<Batches> {
        let (sender, receiver) = sync_channel(AHEAD);
        let parquet = self.files.iter().any(|f| f.format == Format::Parquet);
        let name = if parquet { PARQUET_THREAD } else { THREAD };
        let (stream, crew) = (self.clone(), Crew::new(name));
        let reader = thread::Builder::new()
            .name(name.into())
            .spawn(move || {
                let mut sent = false;
                let done = stream.send(&crew, &sender, &mut sent);
                let done = done.and_then(|()| if sent { Ok(()) } else { Err(Error::Empty { file: stream.source() }) });
                if let Err(error) = done {
                    let _ = sender.send(Err(error));
                }
            })
            .map_err(Error::io(self.source(), "read"))?;
        Ok(Batches { receiver: Some(receiver), reader: Some(reader) })
    }

    /// Reads everything and sends it, until nobody listens.
    fn send(&self, crew: &Crew, sender: &SyncSender<Result<Batch>>, sent: &mut bool) -> Result<()> {
        let row: usize = self.columns.iter().map(|c| if c.is_numeric { 8 } else { TEXT_BYTES }).sum();
        let rows = (self.options.batch_bytes / row.max(1)).max(1);
        for file in &self.files {
            let mut all = || self.send_file(file, rows, crew, sender, sent);
            let goes_on = if file.format == Format::Parquet {
                // The reader of Parquet panics on some damaged files.
                catch_unwind(AssertUnwindSafe(all)).unwrap_or_else(|_| Err(panicked(&file.name)))?
            } else {
                all()?
            };
            if !goes_on {
                break;
            }
        }
        Ok(())
    }

    /// Sends one file; `false` when nobody listens.
    fn send_file(
        &self,
        file: &Source,
        rows: usize,
        crew: &Crew,
        sender: &SyncSender<Result<Batch>>,
        sent: &mut bool,
    ) -> Result<bool> {
        let (mut pass, mut first_row) = (self.pass(file)?, 0);
        while let Some(values) = pass.next(rows, crew)? {
            let columns = self.columns.iter().zip(values);
            let columns = columns.map(|(c, values)| Column { name: c.name.clone(), values }).collect();
            let table = Table::new(&file.name, columns)?.part_from(Some(first_row));
            let count = table.rows() as u64;
            *sent = true;
            if sender.send(Ok(Batch { table, file: file.name.clone(), first_row })).is_err() {
                return Ok(false);
            }
            first_row += count;
        }
        Ok(true)
    }

    fn pass(&self, file: &Source) -> Result<Pass> {
        let places: Vec<usize> = self.kept.iter().map(|c| file.places[*c]).collect();
        let changed = || Error::Unsupported {
            file: file.name.clone(),
            what: "has other columns than when it was opened".into(),
            help: "leave files alone while they are read".into(),
        };
        Ok(match file.format {
            Format::Parquet => {
                let mut pass = ParquetPass::open(&file.name, file.shared()?)?;
                let there = pass.facts()?.columns;
                let same = |(c, place): (&StreamColumn, &usize)| there.get(*place).is_some_and(|t| t.0 == c.name);
                if !self.columns.iter().zip(&places).all(same) {
                    return Err(changed());
                }
                let as_text = self.columns.iter().map(|c| !c.is_numeric);
                pass.keep(&places.into_iter().zip(as_text).collect::<Vec<_>>());
                Pass::Parquet(pass)
            }
            Format::Npy => {
                let pass = NpyPass::open(&file.name, places)?;
                if pass.d() != file.width {
                    return Err(changed());
                }
                Pass::Npy(pass, self.columns.iter().map(|c| c.is_numeric).collect())
            }
            Format::Csv | Format::Tsv => {
                let kept: Vec<_> =
                    places.into_iter().zip(&self.columns).map(|(p, c)| (p, c.name.clone(), !c.is_numeric)).collect();
                let (text, dialect) = (file.text(self.options.read.skip, true)?, file.dialect.ok_or_else(changed)?);
                let bytes = self.options.batch_bytes.saturating_mul(2);
                Pass::Csv(CsvPass::open(&file.name, text, dialect, file.width, &kept, bytes)?)
            }
        })
    }
}

/// One pass over one file.
enum Pass {
    Parquet(ParquetPass<Shared>),
    Npy(NpyPass, Vec<bool>),
    Csv(CsvPass),
}

impl Pass {
    fn next(&mut self, rows: usize, crew: &Crew) -> Result<Option<Vec<Values>>> {
        match self {
            Pass::Parquet(pass) => pass.next(rows, crew),
            Pass::Csv(pass) => pass.next(rows, crew),
            Pass::Npy(pass, numeric) => {
                let values = pass.next(rows)?;
                // Beside files with names a column may be text.
                let wanted = |(v, numeric): (Values, &bool)| if *numeric { v } else { v.into_text() };
                Ok(values.map(|values| values.into_iter().zip(numeric.iter()).map(wanted).collect()))
            }
        }
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

/// The batches of a pass, in order. A thread of its own reads ahead, so that reading overlaps computing; it ends soon
/// after this is dropped. After an error there are no more.
#[derive(Debug)]
pub struct Batches {
    receiver: Option<Receiver<Result<Batch>>>,
    reader: Option<JoinHandle<()>>,
}

impl Iterator for Batches {
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

impl Drop for Batches {
    fn drop(&mut self) {
        // Nobody listens: the reader stops with the batch it is at.
        self.receiver = None;
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}
