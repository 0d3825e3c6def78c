//! What can be done about an error.

use std::fmt;

use crate::error::{listed, shown};

/// What a user can do about an error, as data: the command names its flags, the page its controls.
///
/// Its text names neither and fits every front.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// Use this name, which is near the one that was given.
    DidYouMean {
        /// The name.
        name: String,
    },
    /// Use one of the embedded data sets.
    ListDataSets,
    /// Use one of the columns there are.
    ChooseColumn {
        /// Their names.
        known: Vec<String>,
    },
    /// Select columns with numbers.
    ChooseNumericColumns,
    /// Set the delimiter, or quote fields that contain it.
    SetDelimiter,
    /// Skip lines before the table, or set the delimiter.
    SkipLines,
    /// Keep the column as a label.
    KeepAsLabel {
        /// Its name.
        column: String,
    },
    /// Drop the column.
    DropColumn {
        /// Its name.
        column: String,
    },
    /// Rename columns, or read the table without the names in its first line.
    IgnoreNames,
    /// Fill missing values, or drop the rows that have any.
    HandleMissing,
    /// Fill missing values, since dropping rows leaves none.
    FillMissing,
    /// Allow more memory, or read less.
    RaiseMemory,
    /// Resume from the checkpoint, remove it, or use another folder.
    ResumeCheckpoint,
    /// Start a new checkpoint instead of resuming.
    StartCheckpoint,
    /// Resume with the data and options that the checkpoint was made with, or start a new one.
    MatchCheckpoint,
    /// Something that is said in the same way everywhere.
    Advice(String),
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Remedy::DidYouMean { name } => write!(f, "did you mean '{}'?", shown(name)),
            Remedy::ListDataSets => f.write_str("name a file or an embedded data set"),
            Remedy::ChooseColumn { known } => write!(f, "columns: {}", listed(known)),
            Remedy::ChooseNumericColumns => f.write_str("select numeric columns; text columns are only labels"),
            Remedy::SetDelimiter => f.write_str("quote fields that contain the delimiter, or set another delimiter"),
            Remedy::SkipLines => f.write_str("skip the lines before the table, or set the delimiter"),
            Remedy::KeepAsLabel { column } => {
                write!(f, "correct the value, or keep column '{}' as text", shown(column))
            }
            Remedy::DropColumn { column } => write!(f, "drop column '{}'", shown(column)),
            Remedy::IgnoreNames => f.write_str("rename one of them, or read the table without names"),
            Remedy::HandleMissing => f.write_str("fill missing values, or drop the rows that have any"),
            Remedy::FillMissing => f.write_str("fill missing values, or drop the columns that have most of them"),
            Remedy::RaiseMemory => f.write_str("allow more memory, or read fewer rows or columns"),
            Remedy::ResumeCheckpoint => f.write_str("resume from it, remove it, or use another folder"),
            Remedy::StartCheckpoint => f.write_str("start a new checkpoint instead of resuming"),
            Remedy::MatchCheckpoint => {
                f.write_str("use the data and options it was made with, or start a new checkpoint in another folder")
            }
            Remedy::Advice(text) => f.write_str(text),
        }
    }
}
