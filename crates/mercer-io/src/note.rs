//! Decisions made while reading that a user should know.

use std::fmt;

use crate::error::counted;

/// A decision made while reading, as data. Its text names no flag and fits every front.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// The first line has numbers and is read as data, so columns are numbered.
    FirstLineIsData,
    /// Missing values were replaced by the means of their columns.
    FilledWithColumnMeans {
        /// How many values.
        values: usize,
        /// In how many columns.
        columns: usize,
    },
    /// Missing values were replaced by the means of the data that the model was fitted to.
    FilledWithFittedMeans {
        /// How many values.
        values: usize,
    },
    /// Rows with missing values were dropped.
    DroppedRows {
        /// How many rows.
        rows: usize,
    },
}

impl Note {
    /// Adds the notes of a further part of the same table to those of the parts before: counts add up.
    pub fn add(notes: &mut Vec<Note>, more: impl IntoIterator<Item = Note>) {
        for note in more {
            let added = notes.iter_mut().any(|known| match (known, &note) {
                (Note::FirstLineIsData, Note::FirstLineIsData) => true,
                (
                    Note::FilledWithColumnMeans { values, columns },
                    Note::FilledWithColumnMeans { values: more, columns: also },
                ) => {
                    (*values, *columns) = (*values + more, (*columns).max(*also));
                    true
                }
                (Note::FilledWithFittedMeans { values }, Note::FilledWithFittedMeans { values: more }) => {
                    *values += more;
                    true
                }
                (Note::DroppedRows { rows }, Note::DroppedRows { rows: more }) => {
                    *rows += more;
                    true
                }
                _ => false,
            });
            if !added {
                notes.push(note);
            }
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::FirstLineIsData => f.write_str("the first line has numbers and is read as data"),
            Note::FilledWithColumnMeans { values, columns } => {
                let (values, columns) = (counted(*values, "missing value"), counted(*columns, "column"));
                write!(f, "{values} in {columns} replaced by column means")
            }
            Note::FilledWithFittedMeans { values } => {
                write!(f, "{} replaced by the means of the fitted data", counted(*values, "missing value"))
            }
            Note::DroppedRows { rows } => write!(f, "{} with missing values dropped", counted(*rows, "row")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_parts_add_up() {
        let mut notes = vec![Note::FirstLineIsData];
        for rows in [1, 2] {
            Note::add(&mut notes, [Note::DroppedRows { rows }, Note::FilledWithFittedMeans { values: rows }]);
        }
        Note::add(&mut notes, [Note::FirstLineIsData]);
        let texts: Vec<String> = notes.iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), 3, "{texts:?}");
        assert_eq!(texts[1], "3 rows with missing values dropped");
        assert_eq!(Note::DroppedRows { rows: 1 }.to_string(), "1 row with missing values dropped");
    }
}
