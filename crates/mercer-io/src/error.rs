//! What can go wrong with files: always which file, and where in it.

use std::io;

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
    #[error("{file}: has no rows of data")]
    Empty { file: String },
    #[error("{file}, line {line}: {found} fields where the lines before have {expected}")]
    Ragged { file: String, line: u64, found: usize, expected: usize },
    #[error(
        "{file}, line {line}, column '{column}': '{}' is not a number, though most values of the column are",
        shown(value)
    )]
    NotANumber { file: String, line: u64, column: String, value: String },
    #[error("{file}, row {row}, column '{column}': value {value} is not finite")]
    NotFinite { file: String, row: usize, column: String, value: f64 },
    #[error("{file}, line {line}: the text is not UTF-8")]
    NotUtf8 { file: String, line: u64 },
    #[error("{file}: column name '{}' stands twice, as column {first} and column {second}", shown(name))]
    DuplicateColumn { file: String, name: String, first: usize, second: usize },
    #[error("{file}: there is no column '{}'", shown(name))]
    UnknownColumn { file: String, name: String, nearest: Option<String>, known: Vec<String> },
    #[error("{file}: {count} missing values in {} columns ({}), the first in row {row}", columns.len(), listed(columns))]
    Missing { file: String, count: usize, columns: Vec<String>, row: usize },
    #[error("{file}: no numeric column is left to work with")]
    NoNumbers { file: String },
    #[error("{file}: not a readable {format} file: {what}")]
    Damaged { file: String, format: &'static str, what: String },
    #[error("{file}: {what}")]
    Unsupported { file: String, what: String, help: String },
    #[error("{file}: needs more than {}, the memory available for reading", mercer::Bytes(u128::from(*limit)))]
    TooLarge { file: String, limit: u64 },
    #[error("{file}: the model was fitted to {expected} columns, but {found}")]
    WrongColumns { file: String, expected: usize, found: String },
    #[error(transparent)]
    Library(#[from] mercer::Error),
}

impl Error {
    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Error::NotFound { nearest: Some(name), .. } => Some(format!("did you mean the data set '{name}'?")),
            Error::NotFound { .. } => Some("`mercer data` lists the embedded sets".into()),
            Error::Ragged { .. } => Some("quote fields that contain the delimiter, or name it with -d".into()),
            Error::NotANumber { column, .. } => {
                Some(format!("keep the column as text with --id '{column}', or leave it out with --select '!{column}'"))
            }
            Error::NotFinite { column, .. } => Some(format!("leave the column out with --select '!{column}'")),
            Error::DuplicateColumn { .. } => {
                Some("rename one of them, or read without names: --header no --skip 1".into())
            }
            Error::UnknownColumn { nearest: Some(name), .. } => Some(format!("did you mean '{name}'?")),
            Error::UnknownColumn { known, .. } => Some(format!("columns: {}", listed(known))),
            Error::Missing { .. } => Some("use --missing mean or --missing drop".into()),
            Error::NoNumbers { .. } => Some("--select chooses columns; text columns are only kept as labels".into()),
            Error::Empty { .. } => Some("a table has a line of names and at least one line of values".into()),
            Error::TooLarge { .. } => Some("raise it with --memory, or choose fewer rows or columns".into()),
            Error::Unsupported { help, .. } => Some(help.clone()),
            Error::Library(e) => e.help(),
            _ => None,
        }
    }

    pub(crate) fn damaged(file: &str, format: &'static str, what: impl ToString) -> Self {
        Error::Damaged { file: file.into(), format, what: what.to_string() }
    }

    pub(crate) fn io(file: impl ToString, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let file = file.to_string();
        move |source| Error::Io { file, action, source }
    }
}

/// The system's words without their number.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(at) => text[..at].to_lowercase(),
        None => text,
    }
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
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let more = if names.len() > SHOWN { ", ..." } else { "" };
    let first: Vec<String> = names.iter().take(SHOWN).map(|n| shown(n)).collect();
    format!("{}{more}", first.join(", "))
}
