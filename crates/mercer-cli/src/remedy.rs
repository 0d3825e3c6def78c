//! Remedies and notes of mercer-io, with the flags of the command.

use mercer_io::{Note, Remedy};

/// What to do about an error, with flags.
pub(crate) fn with_flags(remedy: &Remedy) -> String {
    match remedy {
        Remedy::ListDataSets => "`mercer data` lists the embedded data sets".into(),
        Remedy::ChooseNumericColumns => "choose numeric columns with --select; text columns are only labels".into(),
        Remedy::SetDelimiter => "quote fields that contain the delimiter, or set it with --delimiter".into(),
        Remedy::SkipLines => "skip lines before the table with --skip, or set the delimiter with --delimiter".into(),
        Remedy::KeepAsLabel { column } => {
            format!("correct the value, or use --id {} to keep the column as text", word(column))
        }
        Remedy::DropColumn { column } => {
            format!("drop the column with --select {}", word(&format!("!{column}")))
        }
        Remedy::IgnoreNames => "rename one of them, or ignore the names with --header no --skip 1".into(),
        Remedy::HandleMissing => "use --missing mean or --missing drop".into(),
        Remedy::FillMissing => "use --missing mean, or drop the columns that have most of them with --select".into(),
        Remedy::RaiseMemory => "raise it with --memory, or read fewer rows or columns".into(),
        Remedy::ResumeCheckpoint => "use --resume to continue it, remove it, or name another folder".into(),
        Remedy::StartCheckpoint => "omit --resume to start a checkpoint there".into(),
        Remedy::MatchCheckpoint => {
            "use the data and options it was made with, or omit --resume and name another folder".into()
        }
        other => other.to_string(),
    }
}

/// A note, with the flag that changes the decision.
pub(crate) fn note(note: &Note) -> String {
    match note {
        Note::FirstLineIsData => format!("{note}; --header yes reads it as names"),
        other => other.to_string(),
    }
}

/// A name as a word of the shell, always in quotes.
fn word(name: &str) -> String {
    format!("'{}'", name.replace('\'', "'\\''"))
}
