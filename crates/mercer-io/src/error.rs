//! Errors of files: what is wrong, where, and what can be done about it, all as data.

use std::io;

use crate::remedy::Remedy;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Errors of reading and writing, with their facts as data.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Error {
    #[error("{file}: cannot be {action}: {}", plain(source))]
    Io { file: String, action: &'static str, source: io::Error },
    #[error("{file}: no such file, and no embedded data set of this name")]
    NotFound { file: String, nearest: Option<String> },
    #[error("{file}: is {what}, not a regular file")]
    NotRegular { file: String, what: &'static str },
    #[error("{file}: {what} by another process")]
    InUse { file: String, what: &'static str },
    #[error("{file}: changed while it was read: {what}")]
    Changed { file: String, what: String },
    #[error("{file}: has no rows")]
    Empty { file: String },
    #[error("{file}:{line}: {}, expected {expected}", counted(*found, "field"))]
    Ragged { file: String, line: u64, found: usize, expected: usize },
    #[error("{file}:{line}: column '{}': \"{}\" is not a number in a numeric column", shown(column), shown(value))]
    NotANumber { file: String, line: u64, column: String, value: String },
    #[error("{file}: row {row}, column '{}': value {value} is not finite", shown(column))]
    NotFinite { file: String, row: usize, column: String, value: f64 },
    #[error("{file}:{line}: the text is not UTF-8")]
    NotUtf8 { file: String, line: u64 },
    #[error("{file}: duplicate column name '{}' (columns {first} and {second})", shown(name))]
    DuplicateColumn { file: String, name: String, first: usize, second: usize },
    #[error("{file}: no column '{}'", shown(name))]
    UnknownColumn { file: String, name: String, nearest: Option<String>, known: Vec<String> },
    #[error(
        "{file}: {} in {} ({}), the first in row {row}",
        counted(*count, "missing value"), counted(columns.len(), "column"), listed(columns)
    )]
    Missing { file: String, count: usize, columns: Vec<String>, row: usize },
    #[error("{file}: column '{}' has only missing values, so there is no mean to fill in", shown(column))]
    AllMissing { file: String, column: String },
    #[error("{file}: every row has a missing value")]
    NoCompleteRow { file: String },
    #[error("{file}: no numeric column")]
    NoNumbers { file: String },
    #[error("{file}: not a readable {format} file: {what}")]
    Damaged { file: String, format: &'static str, what: String },
    #[error("{file}: needs more than {}, the memory available for reading", mercer::text::Bytes(u128::from(*limit)))]
    TooLarge { file: String, limit: u64 },
    #[error("{file}: the model was fitted to {}, but {}", counted(*expected, "column"), differs(*found, missing, text))]
    WrongColumns { file: String, expected: usize, found: usize, missing: Vec<String>, text: Vec<String> },
    #[error("{file}: {what}")]
    Unsupported { file: String, what: String, remedy: Remedy },
    #[error(transparent)]
    Library(#[from] mercer::Error),
}

impl Error {
    /// What can be done about it. A front says it in its own terms.
    pub fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Error::NotFound { nearest: Some(name), .. } => Remedy::DidYouMean { name: name.clone() },
            Error::NotFound { .. } => Remedy::ListDataSets,
            Error::InUse { .. } => Remedy::Advice("wait until it has ended, or use another name".into()),
            Error::Changed { .. } => Remedy::Advice("start again, and do not change files while they are read".into()),
            Error::Empty { .. } => Remedy::Advice("a table has a line of names and at least one row".into()),
            // A title or a comment, or a delimiter that was not detected.
            Error::Ragged { expected: 1, .. } => Remedy::SkipLines,
            Error::Ragged { .. } => Remedy::SetDelimiter,
            Error::NotANumber { column, .. } => Remedy::KeepAsLabel { column: column.clone() },
            Error::NotFinite { column, .. } | Error::AllMissing { column, .. } => {
                Remedy::DropColumn { column: column.clone() }
            }
            Error::NotUtf8 { .. } => Remedy::Advice("save the file as UTF-8".into()),
            Error::DuplicateColumn { .. } => Remedy::IgnoreNames,
            Error::UnknownColumn { nearest: Some(name), .. } => Remedy::DidYouMean { name: name.clone() },
            Error::UnknownColumn { known, .. } => Remedy::ChooseColumn { known: known.clone() },
            Error::Missing { .. } => Remedy::HandleMissing,
            Error::NoCompleteRow { .. } => Remedy::FillMissing,
            Error::NoNumbers { .. } => Remedy::ChooseNumericColumns,
            Error::TooLarge { .. } => Remedy::RaiseMemory,
            Error::Unsupported { remedy, .. } => remedy.clone(),
            Error::Library(e) => Remedy::Advice(e.help()?),
            Error::Io { .. } | Error::NotRegular { .. } | Error::Damaged { .. } | Error::WrongColumns { .. } => {
                return None;
            }
        })
    }

    pub(crate) fn damaged(file: &str, format: &'static str, what: impl ToString) -> Self {
        Error::Damaged { file: file.into(), format, what: what.to_string() }
    }

    pub(crate) fn unsupported(file: &str, what: impl Into<String>, remedy: Remedy) -> Self {
        Error::Unsupported { file: file.into(), what: what.into(), remedy }
    }

    /// With a remedy that is the same for every front.
    pub(crate) fn advised(file: &str, what: impl Into<String>, advice: &str) -> Self {
        Error::unsupported(file, what, Remedy::Advice(advice.into()))
    }

    pub(crate) fn io(file: impl ToString, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let file = file.to_string();
        move |source| Error::Io { file, action, source }
    }
}

/// How the columns of data differ from those of a model.
fn differs(found: usize, missing: &[String], text: &[String]) -> String {
    match text {
        [] => format!("the data has {}, without {}", counted(found, "numeric column"), listed(missing)),
        [one] => format!("column '{}' of the data is text", shown(one)),
        more => format!("columns {} of the data are text", listed(more)),
    }
}

/// The system's message without its number.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(at) => text[..at].to_lowercase(),
        None => text,
    }
}

/// `1 column`, `2 columns`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A value as it can be shown: cut to a readable length, control characters escaped.
pub(crate) fn shown(value: &str) -> String {
    const LONGEST: usize = 60;
    let text: String = value.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    // Quotes need no escape here.
    let text = text.replace("\\'", "'").replace("\\\"", "\"");
    if value.chars().nth(LONGEST).is_some() { text + "..." } else { text }
}

/// The first few names.
pub(crate) fn listed(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let more = if names.len() > SHOWN { ", ..." } else { "" };
    let first: Vec<String> = names.iter().take(SHOWN).map(|n| shown(n)).collect();
    format!("{}{more}", first.join(", "))
}
