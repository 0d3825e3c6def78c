//! From arguments to points: reading, choosing columns, missing values, kernels, memory.

use mercer::{Exec, Kernel, Points};
use mercer_io::{Column, Format, Header, ReadOptions, Table, Values, read_with, select};

use crate::args::{DataArgs, KernelArgs, RunArgs};
use crate::output::{Failure, Result, count};

/// Data made ready: points, and the columns that go along with them.
pub(crate) struct Input {
    pub(crate) source: String,
    pub(crate) points: Points<f64>,
    /// Names of the columns that became points.
    pub(crate) columns: Vec<String>,
    /// Labels, identifiers and text, row by row with the points.
    pub(crate) kept: Table,
    pub(crate) notes: Vec<String>,
}

impl Input {
    /// `iris: 150 rows x 4 numeric columns (kept as labels: class)`.
    pub(crate) fn describe(&self) -> String {
        let (n, d) = (self.points.n(), self.points.d());
        let columns = if d == 1 { "column" } else { "columns" };
        let mut text = format!("{}: {} rows x {} numeric {columns}", self.source, count(n), count(d));
        if !self.kept.columns.is_empty() {
            text += &format!("   (kept as labels: {})", self.kept.names().join(", "));
        }
        text
    }

    /// A table of the kept columns followed by `more`.
    pub(crate) fn beside(&self, more: Table) -> Result<Table> {
        let mut columns = self.kept.columns.clone();
        let taken: Vec<String> = more.columns.iter().map(|c| c.name.clone()).collect();
        columns.retain(|c| !taken.contains(&c.name));
        columns.extend(more.columns);
        Ok(Table::new(&self.source, columns)?)
    }
}

/// Reads the data; the numeric columns that are neither label nor identifier become points.
pub(crate) fn load(args: &DataArgs, run: &RunArgs) -> Result<Input> {
    let (table, kept_names) = read(args, run)?;
    split(args, table, &kept_names, None)
}

/// As [`load`], with the columns that a model was fitted to, in its order.
pub(crate) fn load_for(args: &DataArgs, run: &RunArgs, columns: &[String]) -> Result<Input> {
    let (table, kept_names) = read(args, run)?;
    split(args, table, &kept_names, Some(columns))
}

pub(crate) fn read(args: &DataArgs, run: &RunArgs) -> Result<(Table, Vec<String>)> {
    let read = &args.read;
    let kept: Vec<String> = read.label.iter().chain(&read.id).cloned().collect();
    let options = ReadOptions {
        format: read.input_format.map(Format::from),
        delimiter: read.delimiter,
        header: if read.no_headers { Header::No } else { read.header.into() },
        skip: read.skip,
        text: kept.clone(),
        limit: Some(memory(run)),
    };
    Ok((read_with(&args.data, &options)?, kept))
}

pub(crate) fn split(args: &DataArgs, table: Table, kept_names: &[String], wanted: Option<&[String]>) -> Result<Input> {
    for name in kept_names {
        table.position(name)?;
    }
    let chosen: Vec<String> = match &args.read.select {
        Some(list) => select(table.clone(), list)?.columns.into_iter().map(|c| c.name).collect(),
        None => table.columns.iter().map(|c| c.name.clone()).collect(),
    };
    let numeric = |name: &String| !kept_names.contains(name) && table.column(name).is_ok_and(Column::is_numeric);
    let mut numbers: Vec<String> = chosen.iter().filter(|n| numeric(n)).cloned().collect();
    if let Some(wanted) = wanted {
        numbers = match_columns(&table.source, wanted, &numbers)?;
    }
    let take =
        |keep: &dyn Fn(&Column) -> bool| -> Vec<Column> { table.columns.iter().filter(|c| keep(c)).cloned().collect() };
    let mut kept = Table::new(
        &table.source,
        take(&|c| kept_names.contains(&c.name) || (!c.is_numeric() && chosen.contains(&c.name))),
    )?;
    let columns = numbers.iter().map(|n| table.column(n).cloned()).collect::<mercer_io::Result<Vec<_>>>()?;
    let mut data = Table::new(&table.source, columns)?;
    let mut notes = table.notes.clone();
    notes.extend(data.resolve_missing(args.read.missing.into(), &mut kept)?);
    let points = data.points()?;
    Ok(Input { source: table.source, points, columns: numbers, kept, notes })
}

/// The columns of the data that a model's columns are: by name, or by place where the data has no names.
fn match_columns(source: &str, wanted: &[String], found: &[String]) -> Result<Vec<String>> {
    if wanted.iter().all(|w| found.contains(w)) {
        return Ok(wanted.to_vec());
    }
    let unnamed = |names: &[String]| names.iter().enumerate().all(|(i, n)| *n == format!("x{}", i + 1));
    if found.len() == wanted.len() && (unnamed(found) || unnamed(wanted)) {
        return Ok(found.to_vec());
    }
    let missing: Vec<&str> = wanted.iter().filter(|w| !found.contains(w)).map(String::as_str).take(5).collect();
    let found = format!("{} numeric columns are here, without {}", found.len(), missing.join(", "));
    Err(mercer_io::Error::WrongColumns { file: source.into(), expected: wanted.len(), found }.into())
}

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
    } else if text.contains(['(', '+', '*']) || text == "precomputed" {
        return Err(Failure::Usage(format!("write {} into the expression '{text}' itself", extra.join(", "))));
    } else {
        format!("{text}({})", extra.join(", "))
    };
    if text == "precomputed" {
        return Ok(KernelChoice::Precomputed);
    }
    let wrong = |e: mercer::Error| {
        let help = e.help().map(|h| format!("\n help: {h}")).unwrap_or_default();
        Failure::Usage(format!("invalid value for '--kernel': {e}{help}"))
    };
    text.parse().map(KernelChoice::Kernel).map_err(wrong)
}

pub(crate) fn exec(run: &RunArgs) -> Exec {
    Exec::new().threads(run.threads.unwrap_or(0)).memory(memory(run)).seed(run.seed)
}

/// The budget: what was asked for, or 60 % of what the system says is free.
fn memory(run: &RunArgs) -> u64 {
    run.memory.unwrap_or_else(|| free_memory().map_or(mercer::DEFAULT_MEMORY, |free| free / 10 * 6))
}

fn free_memory() -> Option<u64> {
    let facts = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = facts.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

/// The points with columns divided by their standard deviation.
pub(crate) fn standardised(points: &Points<f64>, exec: &Exec) -> Result<Points<f64>> {
    let model = mercer::Pca::new().standardise(true).components(1).fit_with(points, exec)?;
    let (mean, scale) = (model.mean(), model.scale());
    Ok(Points::from_fn(points.n(), points.d(), |i, j| (points.row(i)[j] - mean[j]) / scale[j]))
}

/// What a user should know about the columns before trusting distances between rows.
pub(crate) fn hints(input: &Input, scaled: bool) -> Vec<String> {
    let mut hints = Vec::new();
    let spread = |j: usize| {
        let column = input.points.column(j);
        let (low, high) = column.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
        high - low
    };
    let spreads: Vec<f64> = (0..input.points.d()).map(spread).collect();
    let constant: Vec<&str> =
        input.columns.iter().zip(&spreads).filter(|(_, s)| **s == 0.0).map(|(n, _)| n.as_str()).collect();
    if !constant.is_empty() {
        let more = if constant.len() > 5 { ", ..." } else { "" };
        let shown = constant[..constant.len().min(5)].join(", ");
        hints.push(format!("{} columns are constant: {shown}{more}", constant.len()));
    }
    let used = || spreads.iter().copied().filter(|s| *s > 0.0);
    let (low, high) = (used().fold(f64::INFINITY, f64::min), used().fold(0.0, f64::max));
    if !scaled && high > 100.0 * low {
        hints.push(format!("columns differ in scale by a factor of {:.0}; --scale makes them alike", high / low));
    }
    hints
}

/// The columns of text of a table, for messages.
pub(crate) fn class_column<'a>(input: &'a Input, label: Option<&str>) -> Option<&'a Column> {
    let named = |name: &str| input.kept.columns.iter().find(|c| c.name == name);
    match label {
        Some(name) => named(name),
        None => input.kept.columns.iter().find(|c| matches!(c.values, Values::Text(_))),
    }
}
