//! Tables that can be explored: the embedded data sets, the one given to the command, and those dropped on the page.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use mercer_io::{Column, DATA_SETS, Missing, Note, ReadOptions, Table, Values, read_bytes};
use mercer_view::Colour;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::Result;
use crate::state::App;

/// Columns that are described to the page at most.
const MOST_COLUMNS: usize = 20_000;
/// The longest name that a table is shown under.
const LONGEST_NAME: usize = 80;

/// A table that was given to the command.
#[derive(Debug)]
pub struct Given {
    /// The table, all of its columns.
    pub table: Table,
    /// The name of the file as it was typed, for commands that read it again.
    pub name: String,
    /// Columns to begin with; all numeric columns when there are none.
    pub columns: Vec<String>,
    /// The label column to begin with.
    pub label: Option<String>,
    /// Columns that were read as text though they may hold numbers: labels and identifiers.
    pub as_text: Vec<String>,
    /// What to do about missing values to begin with.
    pub missing: Missing,
    /// How it was read.
    pub how: ReadOptions,
    /// The same as command-line options.
    pub options: Vec<String>,
}

/// Where a table is from, for texts that read it again.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Embedded,
    File { options: Vec<String> },
    Dropped,
}

/// A table to explore.
#[derive(Debug)]
pub(crate) struct Data {
    pub(crate) id: usize,
    pub(crate) name: String,
    pub(crate) origin: Origin,
    pub(crate) table: Table,
    columns: Vec<String>,
    pub(crate) label: Option<String>,
    /// Columns that are text by choice.
    pub(crate) as_text: Vec<String>,
    missing: MissingChoice,
    /// How it was read.
    pub(crate) how: ReadOptions,
    about: String,
}

impl Data {
    pub(crate) fn embedded() -> Vec<Data> {
        let sets = DATA_SETS.iter().enumerate();
        let sets = sets.filter_map(|(id, set)| {
            let options = ReadOptions { text: vec![set.label.to_string()], ..ReadOptions::default() };
            let table = read_bytes(set.name, set.csv().as_bytes(), &options).ok()?;
            Some(Data {
                label: Some(set.label.into()),
                as_text: vec![set.label.into()],
                about: set.about.into(),
                ..Data::new(id, set.name.into(), Origin::Embedded, table)
            })
        });
        sets.collect()
    }

    pub(crate) fn given(id: usize, given: Given) -> Data {
        let Given { table, name, columns, label, as_text, missing, how, options } = given;
        let label = label.or_else(|| label_of(&table));
        let missing = match missing {
            Missing::Error => MissingChoice::Error,
            Missing::Mean => MissingChoice::Mean,
            Missing::Drop => MissingChoice::Drop,
        };
        let data = Data::new(id, name, Origin::File { options }, table);
        Data { columns, label, as_text, missing, how, ..data }
    }

    fn new(id: usize, name: String, origin: Origin, table: Table) -> Data {
        let (columns, label, as_text, missing) = (Vec::new(), None, Vec::new(), MissingChoice::Error);
        let (how, about) = (ReadOptions::default(), String::new());
        Data { id, name, origin, table, columns, label, as_text, missing, how, about }
    }

    /// Returns about how much memory it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let of = |c: &Column| match &c.values {
            Values::Numbers(v) => 8 * v.len(),
            Values::Text(v) => v.iter().map(|t| t.len() + size_of::<String>()).sum(),
        };
        self.table.columns.iter().map(of).sum::<usize>() as u64
    }

    fn dropped(id: usize, name: String, table: Table) -> Data {
        let label = label_of(&table);
        Data { label, about: "dropped on the page".into(), ..Data::new(id, name, Origin::Dropped, table) }
    }

    /// Returns the numeric columns other than the label.
    pub(crate) fn usual_columns(&self, label: Option<&str>) -> Vec<String> {
        let numeric = self.table.columns.iter().filter(|c| c.is_numeric() && Some(c.name.as_str()) != label);
        numeric.map(|c| c.name.clone()).collect()
    }

    /// Returns what the list of tables shows.
    pub(crate) fn summary(&self) -> Value {
        json!({"id": self.id, "name": self.name, "rows": self.table.rows(), "about": self.about})
    }

    /// Returns what the page needs to know about the table.
    pub(crate) fn describe(&self) -> Value {
        let columns: Vec<Value> = self
            .table
            .columns
            .iter()
            .take(MOST_COLUMNS)
            .map(|c| {
                let missing = match &c.values {
                    Values::Numbers(v) => v.iter().filter(|v| v.is_nan()).count(),
                    Values::Text(v) => v.iter().filter(|v| v.is_empty()).count(),
                };
                json!({"name": c.name, "numeric": c.is_numeric(), "missing": missing})
            })
            .collect();
        let mut value = self.summary();
        let chosen =
            if self.columns.is_empty() { self.usual_columns(self.label.as_deref()) } else { self.columns.clone() };
        value["columns"] = json!(columns);
        value["chosen"] = json!(chosen);
        value["label"] = json!(self.label);
        value["missing"] = json!(self.missing);
        value["more_columns"] = json!(self.table.columns.len().saturating_sub(MOST_COLUMNS));
        value["notes"] = json!(texts(&self.table.notes));
        value
    }
}

/// Notes of reading as the page shows them.
pub(crate) fn texts(notes: &[Note]) -> Vec<String> {
    notes.iter().map(ToString::to_string).collect()
}

/// The first column of text with few different values.
fn label_of(table: &Table) -> Option<String> {
    let few = |c: &&Column| !c.is_numeric() && matches!(Colour::of(c), Colour::Classes { .. });
    table.columns.iter().find(few).map(|c| c.name.clone())
}

/// A name without folders and control characters.
fn shown_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let clean: Vec<char> = last.chars().filter(|c| !c.is_control()).collect();
    // The extension says the format, so the end is kept.
    let from = clean.len().saturating_sub(LONGEST_NAME);
    let clean: String = clean[from..].iter().collect();
    if clean.trim().is_empty() || clean == "-" { "dropped.csv".into() } else { clean }
}

#[derive(Deserialize)]
pub(crate) struct UploadQuery {
    #[serde(default)]
    name: String,
}

/// A table that the page sends: read as the command reads a file.
pub(crate) async fn upload(
    State(app): State<Arc<App>>,
    Query(query): Query<UploadQuery>,
    body: Bytes,
) -> Result<Json<Value>> {
    let name = shown_name(&query.name);
    let limit = app.limits.upload as u64;
    let read = app.work(move |_| {
        let table = read_bytes(&name, &body, &ReadOptions { limit: Some(limit), ..ReadOptions::default() })?;
        Ok((name, table))
    });
    let (name, table) = read.await?;
    Ok(Json(app.add_data(|id| Data::dropped(id, name, table))?.describe()))
}

pub(crate) async fn describe(State(app): State<Arc<App>>, Path(id): Path<usize>) -> Result<Json<Value>> {
    Ok(Json(app.data(id)?.describe()))
}

/// What to do about missing values.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum MissingChoice {
    #[default]
    Error,
    Mean,
    Drop,
}

impl From<MissingChoice> for Missing {
    fn from(choice: MissingChoice) -> Self {
        match choice {
            MissingChoice::Error => Missing::Error,
            MissingChoice::Mean => Missing::Mean,
            MissingChoice::Drop => Missing::Drop,
        }
    }
}
