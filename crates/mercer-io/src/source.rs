//! The files that a stream reads.

use std::fs::{self, File};
use std::io::{BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;

use crate::ahead::Ahead;
use crate::csv_stream::{self, Dialect};
use crate::embedded;
use crate::error::{Error, Result, shown};
use crate::file_at::{FileAt, Shared};
use crate::lines::Text;
use crate::npy;
use crate::packing::Packing;
use crate::parquet_file::{ParquetPass, guarded};
use crate::reader::{Format, ReadOptions, format, is_device};

/// The name of threads that read other files than Parquet.
pub(crate) const THREAD: &str = "mercer-io reader";

/// What is read of a file at a time.
const BUFFER: usize = 1 << 18;

/// One file of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) format: Format,
    pub(crate) packing: Packing,
    /// The text of an embedded set.
    embedded: Option<Arc<str>>,
    pub(crate) size: u64,
    pub(crate) rows: Option<u64>,
    /// How a text is written.
    pub(crate) dialect: Option<Dialect>,
    /// The number of columns in the file.
    pub(crate) width: usize,
    /// For each column of the stream its place in this file.
    pub(crate) places: Vec<usize>,
}

/// What a file shows when it is opened.
#[derive(Debug)]
pub(crate) struct Shown {
    /// Names, and whether the values are numbers.
    pub(crate) columns: Vec<(String, bool)>,
    pub(crate) notes: Vec<String>,
    pub(crate) has_rows: bool,
}

/// The files that the names stand for, and whether they are those of one folder.
pub(crate) fn find(names: &[String], options: &ReadOptions) -> Result<(Vec<Source>, Option<String>)> {
    let (mut sources, mut folder) = (Vec::new(), None);
    for name in names {
        if Path::new(name).is_dir() {
            sources.extend(in_folder(name, options)?);
            folder = Some(name.clone());
        } else {
            sources.push(Source::find(name, options)?);
        }
    }
    Ok((sources, folder.filter(|_| names.len() == 1)))
}

/// The files of a folder, by name; all of one format.
fn in_folder(folder: &str, options: &ReadOptions) -> Result<Vec<Source>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(Error::io(folder, "read"))? {
        let path = entry.map_err(Error::io(folder, "read"))?.path();
        let hidden = path.file_name().is_none_or(|n| n.to_string_lossy().starts_with(['.', '_']));
        if hidden || !path.is_file() {
            continue;
        }
        match path.to_str() {
            Some(name) => names.push(name.to_string()),
            None => return Err(unsupported(&path.to_string_lossy(), "has a name that is not text", "rename it")),
        }
    }
    names.sort();
    let mut sources: Vec<Source> = Vec::new();
    for name in names {
        let source = Source::find(&name, options)?;
        let known = options.format.is_some() || Format::of_name(Packing::name_within(&name)).is_some();
        if !known && matches!(source.format, Format::Csv) {
            return Err(unsupported(&name, "is no table by its name or its first bytes", "move it out of the folder"));
        }
        if let Some(first) = sources.first().filter(|first| first.format != source.format) {
            let (here, there) = (source.format.extension(), first.format.extension());
            let what = format!("is a table in {here}, where {} is one in {there}", first.name);
            return Err(unsupported(&name, &what, "keep tables of one format in a folder"));
        }
        sources.push(source);
    }
    if sources.is_empty() {
        return Err(unsupported(folder, "is a folder without tables", "name files, or a folder that has some"));
    }
    Ok(sources)
}

fn unsupported(file: &str, what: &str, help: &str) -> Error {
    Error::Unsupported { file: file.into(), what: what.into(), help: help.into() }
}

impl Source {
    fn find(name: &str, options: &ReadOptions) -> Result<Self> {
        if name == "-" {
            let help = "name a file, or read it whole";
            return Err(unsupported("standard input", "can be read only once, and several passes are needed", help));
        }
        if !Path::new(name).try_exists().map_err(Error::io(name, "read"))? {
            let Some(set) = embedded::find(name) else {
                let nearest = mercer::nearest(name, embedded::DATA_SETS.iter().map(|s| s.name));
                return Err(Error::NotFound { file: name.into(), nearest });
            };
            let text: Arc<str> = set.csv().into();
            let size = text.len() as u64;
            return Ok(Source { embedded: Some(text), ..Source::new(name, Format::Csv, Packing::None, size) });
        }
        let facts = fs::metadata(name).map_err(Error::io(name, "read"))?;
        if is_device(&facts) || !facts.is_file() {
            return Err(Error::NotRegular { file: name.into(), what: "a device or a pipe" });
        }
        let mut head = Vec::new();
        let file = File::open(name).map_err(Error::io(name, "read"))?;
        file.take(8).read_to_end(&mut head).map_err(Error::io(name, "read"))?;
        let format = format(name, &head, options).unwrap_or(Format::Csv);
        let packing = match format {
            Format::Csv | Format::Tsv => Packing::of_bytes(&head),
            Format::Npy | Format::Parquet => Packing::None,
        };
        Ok(Source::new(name, format, packing, facts.len()))
    }

    fn new(name: &str, format: Format, packing: Packing, size: u64) -> Self {
        let (name, places) = (name.to_string(), Vec::new());
        Source { name, format, packing, embedded: None, size, rows: None, dialect: None, width: 0, places }
    }

    /// Looks at names, types and sizes. A text is taken to be written like the one before it.
    pub(crate) fn look(&mut self, before: Option<Dialect>, options: &ReadOptions) -> Result<Shown> {
        let (name, mut notes, mut has_rows) = (self.name.as_str(), Vec::new(), true);
        let columns = match self.format {
            Format::Parquet => {
                let file = self.shared()?;
                let facts = guarded(name, || ParquetPass::open(name, file)?.facts())?;
                (self.rows, has_rows) = (Some(facts.rows), facts.rows > 0);
                let wanted = |(n, numeric): (String, bool)| (numeric && !options.text.contains(&n), n);
                facts.columns.into_iter().map(wanted).map(|(numeric, n)| (n, numeric)).collect()
            }
            Format::Npy => {
                let facts = npy::Facts::read(name, &FileAt::open(name).map_err(Error::io(name, "read"))?)?;
                self.rows = Some(facts.n);
                facts.names().into_iter().map(|n| (n, true)).collect()
            }
            Format::Csv | Format::Tsv => {
                let delimiter = (self.format == Format::Tsv).then_some(b'\t');
                let facts = csv_stream::look(name, self.text(options.skip, false)?, delimiter, before, options)?;
                self.dialect = Some(facts.dialect);
                (notes, has_rows) = (facts.notes, facts.has_rows);
                facts.columns
            }
        };
        self.width = columns.len();
        Ok(Shown { columns, notes, has_rows })
    }

    /// The file, for many columns at once.
    pub(crate) fn shared(&self) -> Result<Shared> {
        Ok(Shared(Arc::new(FileAt::open(&self.name).map_err(Error::io(&self.name, "read"))?)))
    }

    /// The text, unpacked; where it is to be read to its end, by a thread of its own.
    pub(crate) fn text(&self, skip: usize, whole: bool) -> Result<Text> {
        let io = |e| Error::io(&self.name, "read")(e);
        let source: Box<dyn Read + Send> = match &self.embedded {
            Some(text) => Box::new(Cursor::new(text.as_bytes().to_vec())),
            None => {
                let file = BufReader::with_capacity(BUFFER, File::open(&self.name).map_err(io)?);
                let text = self.packing.unpacked(file).map_err(io)?;
                let ahead = whole && self.packing != Packing::None;
                if ahead { Box::new(Ahead::of(text, THREAD).map_err(io)?) } else { text }
            }
        };
        let skip = if self.embedded.is_some() { 0 } else { skip };
        Text::open(&self.name, self.packing, source, skip)
    }

    /// Finds the columns of the first file in this one.
    pub(crate) fn arrange(&mut self, first: &str, wanted: &[(String, bool)], here: &[(String, bool)]) -> Result<()> {
        let help = "files that are read as one table have the same columns";
        let what = |what: String| unsupported(&self.name, &what, help);
        if self.format == Format::Npy {
            // These have no names.
            if here.len() != wanted.len() {
                return Err(what(format!("has {} columns, where {first} has {}", here.len(), wanted.len())));
            }
            self.places = (0..wanted.len()).collect();
            return Ok(());
        }
        if let Some((extra, _)) = here.iter().find(|(n, _)| !wanted.iter().any(|(w, _)| w == n)) {
            return Err(what(format!("has a column '{}', which {first} has not", shown(extra))));
        }
        let mut places = Vec::with_capacity(wanted.len());
        for (name, numeric) in wanted {
            let Some(place) = here.iter().position(|(n, _)| n == name) else {
                return Err(what(format!("has no column '{}', which {first} has", shown(name))));
            };
            // A text has the types of the first file: a word in it is found when it is read.
            if *numeric && !here[place].1 && self.dialect.is_none() {
                return Err(what(format!("column '{}' is text, where in {first} it is numbers", shown(name))));
            }
            places.push(place);
        }
        self.places = places;
        Ok(())
    }
}
