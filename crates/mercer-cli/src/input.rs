//! From arguments to points: reading, choosing columns, missing values, kernels, memory.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use mercer::{ErrorKind, ErrorSubject, Exec, Kernel, Points};
use mercer_io::{Column, DATA_SETS, Header, Note, ReadOptions, Remedy, SavedModel, Table, read_all, select};

use crate::args::{DataArgs, KernelArgs, MissingArg, ReadArgs, RunArgs};
use crate::output::{Failure, Result, help};
use crate::remedy;
use mercer_view::count;

/// Data for a model: points, and their label columns.
pub(crate) struct Input {
    pub(crate) source: String,
    pub(crate) points: Points<f64>,
    /// Names of the columns that became points.
    pub(crate) columns: Vec<String>,
    /// Label columns: labels, identifiers and text, row by row with the points.
    pub(crate) kept: Table,
    notes: Vec<Note>,
    /// The number of the first row in the file, from 0.
    pub(crate) first_row: u64,
}

impl Input {
    /// `iris: 150 rows x 4 numeric columns (kept as labels: class)`.
    pub(crate) fn describe(&self) -> String {
        described(&self.source, (self.points.n(), self.points.d()), &self.kept.names())
    }

    /// The notes as texts.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes.iter().map(remedy::note).collect()
    }

    /// The notes, for those of several batches to be added up.
    pub(crate) fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// A table of the label columns followed by `more`.
    pub(crate) fn beside(&self, more: Table) -> Result<Table> {
        if let Some(both) = self.kept.columns.iter().find(|c| more.columns.iter().any(|m| m.name == c.name)) {
            return Err(Failure::Error {
                message: format!("{}: label column '{}' has the name of a result column", self.source, both.name),
                help: Some(remedy::with_flags(&Remedy::DropColumn { column: both.name.clone() })),
            });
        }
        let columns = self.kept.columns.iter().cloned().chain(more.columns).collect();
        Ok(Table::new(&self.source, columns)?)
    }

    /// An error of the library, with the file and the place in it.
    pub(crate) fn about(&self, error: mercer::Error) -> Failure {
        let at = |i: usize, j: usize| {
            let (column, value) = (&self.columns[j], self.points.row(i)[j]);
            let row = self.first_row + i as u64 + 1;
            format!("{}: row {row}, column '{column}': value {value:e}", self.source)
        };
        if *error.kind() == ErrorKind::Cancelled {
            return Failure::Interrupted { message: "interrupted; nothing was written".into(), help: None };
        }
        let message = match error.kind() {
            ErrorKind::Range { what: ErrorSubject::Points, magnitude } if *magnitude > 1.0 => {
                let values = self.points.as_slice();
                let largest = (0..values.len()).fold(0, |m, v| if values[v].abs() > values[m].abs() { v } else { m });
                let place = at(largest / self.points.d(), largest % self.points.d());
                format!("{place} overflows f64 when it is squared")
            }
            // Standardised values are not those of the file.
            ErrorKind::Domain { row, column, value, .. } if self.points.row(*row)[*column] != *value => {
                return Failure::Error {
                    message: format!("{}: {error}", self.source),
                    help: Some("standardised columns have negative values: leave out --scale".into()),
                };
            }
            ErrorKind::Domain { kernel, row, column, constraint, .. } => {
                format!("{}; {kernel} needs {constraint}", at(*row, *column))
            }
            _ => format!("{}: {error}", self.source),
        };
        Failure::Error { message, help: help(&error) }
    }
}

/// `iris: 150 rows x 4 numeric columns (kept as labels: class)`.
pub(crate) fn described(source: &str, (n, d): (usize, usize), kept: &[&str]) -> String {
    let rows = if n == 1 { "row" } else { "rows" };
    let mut text = format!("{source}: {} {rows} x {}", count(n), numeric_columns(d));
    if !kept.is_empty() {
        text += &format!("   (kept as labels: {})", kept.join(", "));
    }
    text
}

/// `4 numeric columns`.
pub(crate) fn numeric_columns(d: usize) -> String {
    format!("{} numeric column{}", count(d), if d == 1 { "" } else { "s" })
}

/// Reads the data; the numeric columns that are neither label nor identifier become points.
pub(crate) fn load(args: &DataArgs, run: &RunArgs) -> Result<Input> {
    let (table, kept_names) = read(args, run)?;
    split(args, table, &kept_names, None)
}

/// As [`load`], with the columns that a model was fitted to, in its order; its means replace missing values.
pub(crate) fn load_for(args: &DataArgs, run: &RunArgs, saved: &SavedModel) -> Result<Input> {
    let (table, kept_names) = read(args, run)?;
    split(args, table, &kept_names, Some((&saved.columns, saved.model.column_means())))
}

pub(crate) fn read(args: &DataArgs, run: &RunArgs) -> Result<(Table, Vec<String>)> {
    let kept = kept_names(args);
    let options = read_options(&args.read, kept.clone(), Some(memory(run)));
    Ok((read_all(&args.data, &options)?, kept))
}

/// Columns that are labels even if they look like numbers.
pub(crate) fn kept_names(args: &DataArgs) -> Vec<String> {
    let read = &args.read;
    let mut kept: Vec<String> = read.label.iter().chain(&read.id).cloned().collect();
    // The labels of an embedded set are labels, also where they are numbers.
    let embedded = |name: &str| DATA_SETS.iter().find(|s| s.name == name && !Path::new(s.name).exists());
    if let (Some(set), None, None) = (args.data.first().and_then(|d| embedded(d)), &read.label, &read.select)
        && !kept.iter().any(|k| k == set.label)
    {
        kept.push(set.label.into());
    }
    kept
}

/// A warning about a table that is not of the same fit as the model beside it.
pub(crate) fn foreign_note(table: &str) -> Option<String> {
    mercer_io::foreign_model(table).map(|model| {
        format!("{table} is not of the fit that wrote {model}: it was changed later, or the fit was cut off")
    })
}

/// Whether the data is one file, or one thing that is not a file.
pub(crate) fn is_single(args: &DataArgs) -> bool {
    args.data.len() == 1 && !Path::new(&args.data[0]).is_dir()
}

/// How a file beside the data is read.
pub(crate) fn plain_options(run: &RunArgs) -> ReadOptions {
    ReadOptions { limit: Some(memory(run)), ..ReadOptions::default() }
}

/// How a file is read.
pub(crate) fn read_options(read: &ReadArgs, text: Vec<String>, limit: Option<u64>) -> ReadOptions {
    ReadOptions {
        format: read.input_format,
        delimiter: read.delimiter,
        header: if read.no_headers { Header::No } else { read.header.into() },
        skip: read.skip,
        text,
        limit,
    }
}

/// Columns that a model needs, and the means that replace missing values.
type Wanted<'a> = (&'a [String], Option<Vec<f64>>);

pub(crate) fn split(args: &DataArgs, table: Table, kept_names: &[String], wanted: Option<Wanted<'_>>) -> Result<Input> {
    for name in kept_names {
        table.position(name)?;
    }
    let chosen: Vec<String> = match &args.read.select {
        Some(list) => select(table.clone(), list)?.columns.into_iter().map(|c| c.name).collect(),
        None => table.columns.iter().map(|c| c.name.clone()).collect(),
    };
    let first_row = table.first_row();
    let (source, mut notes) = (table.source, table.notes);
    let kept_names: HashSet<&String> = kept_names.iter().collect();
    let selected: HashSet<&String> = chosen.iter().collect();
    let mut kept = Vec::new();
    let mut numeric = HashMap::new();
    for column in table.columns {
        if kept_names.contains(&column.name) || (!column.is_numeric() && selected.contains(&column.name)) {
            kept.push(column);
        } else if selected.contains(&column.name) {
            numeric.insert(column.name.clone(), column);
        }
    }
    let mut kept = Table::new(&source, kept)?.part_from(first_row);
    let mut names: Vec<String> = chosen.into_iter().filter(|n| numeric.contains_key(n)).collect();
    let mut means = None;
    if let Some((wanted, known)) = wanted {
        names = match_columns(&source, wanted, names, &kept)?;
        means = known;
    }
    let columns = names.iter().filter_map(|n| numeric.remove(n)).collect();
    let mut data = Table::new(&source, columns)?.part_from(first_row);
    if let (MissingArg::Mean, Some(means)) = (args.read.missing, means) {
        notes.extend(data.fill_missing(&means));
    }
    notes.extend(data.resolve_missing(args.read.missing.into(), &mut kept)?);
    let points = data.points()?;
    Ok(Input { source, points, columns: names, kept, notes, first_row: first_row.unwrap_or(0) })
}

/// Whether these are the numbered names of columns without names.
pub(crate) fn unnamed(names: &[String]) -> bool {
    names.iter().enumerate().all(|(i, n)| *n == format!("x{}", i + 1))
}

/// The columns of the data that a model's columns are: by name, or by place where the data has no names.
fn match_columns(source: &str, wanted: &[String], found: Vec<String>, kept: &Table) -> Result<Vec<String>> {
    let here: HashSet<&String> = found.iter().collect();
    let missing: Vec<String> = wanted.iter().filter(|w| !here.contains(w)).cloned().collect();
    if missing.is_empty() {
        return Ok(wanted.to_vec());
    }
    if found.len() == wanted.len() && (unnamed(&found) || unnamed(wanted)) {
        return Ok(found);
    }
    let text: Vec<String> = missing.iter().filter(|m| kept.column(m).is_ok()).cloned().collect();
    let (file, expected, found) = (source.into(), wanted.len(), found.len());
    Err(mercer_io::Error::WrongColumns { file, expected, found, missing, text }.into())
}

/// The word for a Gram matrix in place of data.
const PRECOMPUTED: &str = "precomputed";

/// What the options say about the kernel.
pub(crate) enum KernelChoice {
    None,
    /// The data is itself a Gram matrix.
    Precomputed,
    Kernel(Kernel),
}

pub(crate) fn kernel(args: &KernelArgs) -> Result<KernelChoice> {
    let Some(text) = &args.kernel else { return Ok(KernelChoice::None) };
    let extra: Vec<String> = [("gamma", &args.gamma), ("degree", &args.degree), ("coef0", &args.coef0)]
        .into_iter()
        .filter_map(|(name, value)| value.as_ref().map(|v| format!("{name}={v}")))
        .collect();
    let text = if extra.is_empty() {
        text.clone()
    } else if text == PRECOMPUTED {
        let what = extra.join(", ");
        return Err(Failure::Usage(format!("{what} has no meaning with '--kernel precomputed'")));
    } else if text.contains(['(', '+', '*']) {
        return Err(Failure::Usage(format!("write {} into the expression '{text}' itself", extra.join(", "))));
    } else {
        format!("{text}({})", extra.join(", "))
    };
    if text == PRECOMPUTED {
        return Ok(KernelChoice::Precomputed);
    }
    let wrong = |e: mercer::Error| {
        let help = match mercer::text::nearest(&text, [PRECOMPUTED]) {
            Some(_) => Some(format!("did you mean '{PRECOMPUTED}'?")),
            None => e.help(),
        };
        let help = help.map(|h| format!("\n help: {h}")).unwrap_or_default();
        Failure::Usage(format!("invalid value for '--kernel': {e}{help}"))
    };
    text.parse().map(KernelChoice::Kernel).map_err(wrong)
}

pub(crate) fn exec(run: &RunArgs) -> Exec {
    Exec::new().threads(run.threads.map_or(0, usize::from)).memory(memory(run)).seed(run.seed)
}

/// The budget: what was asked for, or the default.
pub(crate) fn memory(run: &RunArgs) -> u64 {
    run.memory.unwrap_or_else(|| *run.budget.get_or_init(mercer_io::default_memory))
}

/// The points with columns centred and divided by their standard deviation, as the models do it.
pub(crate) fn standardised(input: &Input, exec: &Exec) -> Result<Points<f64>> {
    mercer_view::standardised(&input.points, exec).map_err(|e| input.about(e))
}

/// Warnings about columns that distort distances between rows.
pub(crate) fn hints(input: &Input, scaled: bool) -> Vec<String> {
    let range = |j: usize| {
        let column = input.points.column(j);
        column.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)))
    };
    hints_of(&input.columns, &(0..input.points.d()).map(range).collect::<Vec<_>>(), scaled)
}

/// The same from the ranges of the columns.
pub(crate) fn hints_of(columns: &[String], ranges: &[(f64, f64)], scaled: bool) -> Vec<String> {
    let mut hints = Vec::new();
    let spreads: Vec<f64> = ranges.iter().map(|(low, high)| high - low).collect();
    let constant: Vec<&str> =
        columns.iter().zip(&spreads).filter(|(_, s)| **s == 0.0).map(|(n, _)| n.as_str()).collect();
    if !constant.is_empty() {
        let more = if constant.len() > 5 { ", ..." } else { "" };
        let shown = constant[..constant.len().min(5)].join(", ");
        let counted = match constant.len() {
            1 => "1 column is constant".to_string(),
            n => format!("{n} columns are constant"),
        };
        hints.push(format!("{counted}: {shown}{more}"));
    }
    let used = || spreads.iter().copied().filter(|s| *s > 0.0);
    let (low, high) = (used().fold(f64::INFINITY, f64::min), used().fold(0.0, f64::max));
    if !scaled && high > 100.0 * low {
        hints.push(format!("column ranges differ by a factor of {:.0}; --scale standardises them", high / low));
    }
    hints
}

/// The column of labels: the one that is named, or the first kept column that is no identifier.
pub(crate) fn class_column<'a>(input: &'a Input, args: &DataArgs) -> Option<&'a Column> {
    match &args.read.label {
        Some(name) => input.kept.columns.iter().find(|c| c.name == *name),
        None => input.kept.columns.iter().find(|c| !args.read.id.contains(&c.name)),
    }
}
