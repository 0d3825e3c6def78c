//! A table: named columns of numbers or text.

use std::collections::HashMap;

use mercer::Points;

use crate::error::{Error, Result, counted, shown};
use crate::note::Note;

/// Rows that are made of columns at a time.
const BLOCK: usize = 64;

/// Named columns of one length.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Where it was read from, for messages.
    pub source: String,
    /// The columns in order.
    pub columns: Vec<Column>,
    /// Decisions made while reading that a user should know.
    pub notes: Vec<Note>,
    pub(crate) rows: usize,
    /// For a part of a table, the number of its first row, from 0.
    pub(crate) first_row: Option<u64>,
}

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: Values,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Numbers; NaN where a value is missing.
    Numbers(Vec<f64>),
    /// Text; empty where a value is missing.
    Text(Vec<String>),
}

impl Values {
    pub(crate) fn len(&self) -> usize {
        match self {
            Values::Numbers(v) => v.len(),
            Values::Text(v) => v.len(),
        }
    }

    pub(crate) fn clear(&mut self) {
        match self {
            Values::Numbers(v) => v.clear(),
            Values::Text(v) => v.clear(),
        }
    }

    /// Numbers as they are written.
    pub(crate) fn into_text(self) -> Values {
        match self {
            Values::Numbers(v) => Values::Text(v.into_iter().map(number).collect()),
            text => text,
        }
    }

    /// Puts more values of the same kind behind these.
    pub(crate) fn append(&mut self, more: Values) {
        match (self, more) {
            (Values::Numbers(v), Values::Numbers(mut more)) => v.append(&mut more),
            (Values::Text(v), Values::Text(mut more)) => v.append(&mut more),
            // The kinds of a table's columns do not change.
            (Values::Numbers(_), Values::Text(_)) | (Values::Text(_), Values::Numbers(_)) => {}
        }
    }
}

/// How missing values are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Refuse them.
    Error,
    /// Put the mean of the column's other values in their place.
    Mean,
    /// Drop rows that have any.
    Drop,
}

impl Column {
    /// A column of numbers.
    pub fn numbers(name: impl Into<String>, values: Vec<f64>) -> Self {
        Column { name: name.into(), values: Values::Numbers(values) }
    }

    /// A column of text.
    pub fn text(name: impl Into<String>, values: Vec<String>) -> Self {
        Column { name: name.into(), values: Values::Text(values) }
    }

    /// Whether it has numbers.
    pub fn is_numeric(&self) -> bool {
        matches!(self.values, Values::Numbers(_))
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Value i as text.
    pub fn as_text(&self, i: usize) -> String {
        match &self.values {
            Values::Numbers(v) => number(v[i]),
            Values::Text(v) => v[i].clone(),
        }
    }

    /// The values as numbers of classes, in order of first appearance, with the names of the classes.
    pub fn classes(&self) -> (Vec<usize>, Vec<String>) {
        let mut names: Vec<String> = Vec::new();
        let mut places = HashMap::new();
        let classes = (0..self.len())
            .map(|i| {
                let text = self.as_text(i);
                *places.entry(text).or_insert_with_key(|text| {
                    names.push(text.clone());
                    names.len() - 1
                })
            })
            .collect();
        (classes, names)
    }

    fn keep(&mut self, rows: &[bool]) {
        let mut at = 0;
        let mut kept = || {
            at += 1;
            rows[at - 1]
        };
        match &mut self.values {
            Values::Numbers(v) => v.retain(|_| kept()),
            Values::Text(v) => v.retain(|_| kept()),
        }
    }
}

/// The shortest text that reads back as the same number; empty for a missing one.
pub(crate) fn number(v: f64) -> String {
    if v.is_nan() {
        return String::new();
    }
    mercer::text::shortest(v)
}

/// Refuses two columns of one name.
pub(crate) fn check_names<'a>(file: &str, names: impl Iterator<Item = &'a str>) -> Result<()> {
    let mut seen = HashMap::new();
    for (at, name) in names.enumerate() {
        if let Some(first) = seen.insert(name, at) {
            let (file, name) = (file.into(), name.into());
            return Err(Error::DuplicateColumn { file, name, first: first + 1, second: at + 1 });
        }
    }
    Ok(())
}

impl Table {
    /// A table of columns.
    ///
    /// # Errors
    /// When their lengths differ or a name is duplicate.
    pub fn new(source: impl Into<String>, columns: Vec<Column>) -> Result<Self> {
        let (source, rows) = (source.into(), columns.first().map_or(0, Column::len));
        if let Some(odd) = columns.iter().find(|c| c.len() != rows) {
            let what = format!("column '{}' has {}, expected {rows}", shown(&odd.name), counted(odd.len(), "value"));
            return Err(Error::advised(&source, what, "all columns of a table need the same length"));
        }
        check_names(&source, columns.iter().map(|c| c.name.as_str()))?;
        Ok(Table { source, columns, notes: Vec::new(), rows, first_row: None })
    }

    /// A table of points, with a name for each column.
    pub fn of_points(points: &Points<f64>, names: impl Fn(usize) -> String) -> Self {
        let columns = (0..points.d()).map(|j| Column::numbers(names(j), points.column(j))).collect();
        Table { source: String::new(), columns, notes: Vec::new(), rows: points.n(), first_row: None }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of the first row, from 0, in the table that this is a part of; `None` for a whole table.
    pub fn first_row(&self) -> Option<u64> {
        self.first_row
    }

    /// The same rows as a part of a larger table, or of none: messages then count rows as in that table, and a part may
    /// have no rows.
    pub fn part_from(mut self, first_row: Option<u64>) -> Self {
        self.first_row = first_row;
        self
    }

    /// The number of a row for people, from 1.
    fn number(&self, row: usize) -> usize {
        row + 1 + self.first_row.map_or(0, |first| first as usize)
    }

    /// Names of the columns.
    pub fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|c| c.name.as_str()).collect()
    }

    /// The place of a column.
    ///
    /// # Errors
    /// Suggests the nearest name when there is none of this one.
    pub fn position(&self, name: &str) -> Result<usize> {
        self.columns.iter().position(|c| c.name == name).ok_or_else(|| Error::UnknownColumn {
            file: self.source.clone(),
            name: name.into(),
            nearest: mercer::text::nearest(name, self.names()),
            known: self.columns.iter().map(|c| c.name.clone()).collect(),
        })
    }

    /// The column of this name.
    ///
    /// # Errors
    /// As [`Table::position`].
    pub fn column(&self, name: &str) -> Result<&Column> {
        Ok(&self.columns[self.position(name)?])
    }

    /// Handles missing values of numeric columns. Rows that are dropped are dropped from `beside` as well.
    ///
    /// # Errors
    /// When there are any and they are to be refused; when no row is left; for a column of missing values alone.
    pub fn resolve_missing(&mut self, missing: Missing, beside: &mut Table) -> Result<Option<Note>> {
        let (mut count, mut columns, mut first) = (0, Vec::new(), usize::MAX);
        for column in &self.columns {
            let Values::Numbers(values) = &column.values else { continue };
            let here = values.iter().filter(|v| v.is_nan()).count();
            if here > 0 {
                count += here;
                columns.push(column.name.clone());
                first = first.min(values.iter().position(|v| v.is_nan()).unwrap_or(first));
            }
        }
        if count == 0 {
            return Ok(None);
        }
        match missing {
            Missing::Error => {
                Err(Error::Missing { file: self.source.clone(), count, columns, row: self.number(first) })
            }
            Missing::Mean => {
                for column in &mut self.columns {
                    let Values::Numbers(values) = &mut column.values else { continue };
                    let present: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
                    if present.is_empty() {
                        let (file, column) = (self.source.clone(), column.name.clone());
                        return Err(Error::AllMissing { file, column });
                    }
                    let mean = present.iter().map(|v| v / present.len() as f64).sum::<f64>();
                    values.iter_mut().filter(|v| v.is_nan()).for_each(|v| *v = mean);
                }
                Ok(Some(Note::FilledWithColumnMeans { values: count, columns: columns.len() }))
            }
            Missing::Drop => {
                let keep: Vec<bool> = (0..self.rows)
                    .map(|i| self.columns.iter().all(|c| !matches!(&c.values, Values::Numbers(v) if v[i].is_nan())))
                    .collect();
                let left = keep.iter().filter(|k| **k).count();
                let dropped = self.rows - left;
                if left == 0 && self.first_row.is_none() {
                    return Err(Error::NoCompleteRow { file: self.source.clone() });
                }
                for table in [&mut *self, beside] {
                    table.columns.iter_mut().for_each(|c| c.keep(&keep));
                    table.rows = left;
                }
                Ok(Some(Note::DroppedRows { rows: dropped }))
            }
        }
    }

    /// Replaces missing values by `means`, one for each numeric column.
    pub fn fill_missing(&mut self, means: &[f64]) -> Option<Note> {
        let mut values_filled = 0;
        for (column, mean) in self.columns.iter_mut().zip(means) {
            let Values::Numbers(values) = &mut column.values else { continue };
            for v in values.iter_mut().filter(|v| v.is_nan()) {
                *v = *mean;
                values_filled += 1;
            }
        }
        (values_filled > 0).then_some(Note::FilledWithFittedMeans { values: values_filled })
    }

    /// All numeric columns as points.
    ///
    /// # Errors
    /// When there are none, or values are missing or not finite.
    pub fn points(&self) -> Result<Points<f64>> {
        let columns: Vec<(&str, &[f64])> = self
            .columns
            .iter()
            .filter_map(|c| match &c.values {
                Values::Numbers(v) => Some((c.name.as_str(), v.as_slice())),
                Values::Text(_) => None,
            })
            .collect();
        if columns.is_empty() {
            return Err(Error::NoNumbers { file: self.source.clone() });
        }
        if self.rows == 0 && self.first_row.is_none() {
            return Err(Error::Empty { file: self.source.clone() });
        }
        // Columns become rows in blocks that stay in the cache. Only when a value is not finite a second pass finds it.
        let (n, d) = (self.rows, columns.len());
        let (mut data, mut finite) = (vec![0.0; n * d], true);
        for (block, rows) in data.chunks_mut(BLOCK * d).enumerate() {
            let from = block * BLOCK;
            let to = (from + BLOCK).min(n);
            for (j, (_, values)) in columns.iter().enumerate() {
                let values = &values[from..to];
                finite &= values.iter().fold(true, |all, v| all & v.is_finite());
                rows[j..].iter_mut().step_by(d).zip(values).for_each(|(x, v)| *x = *v);
            }
        }
        if !finite {
            return Err(self.not_finite(&columns));
        }
        Ok(Points::new(data, n, d)?)
    }

    /// The first value that is missing or infinite.
    fn not_finite(&self, columns: &[(&str, &[f64])]) -> Error {
        let file = self.source.clone();
        for (name, values) in columns {
            if let Some(row) = values.iter().position(|v| v.is_nan()) {
                let count = values.iter().filter(|v| v.is_nan()).count();
                return Error::Missing { file, count, columns: vec![name.to_string()], row: self.number(row) };
            }
            if let Some(row) = values.iter().position(|v| v.is_infinite()) {
                return Error::NotFinite { file, row: self.number(row), column: name.to_string(), value: values[row] };
            }
        }
        Error::NoNumbers { file }
    }
}
