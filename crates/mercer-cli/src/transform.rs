//! `mercer transform` and `mercer reconstruct`: a fitted model on other data.

use std::io::Write;

use mercer::{AnyModel, Points};
use mercer_io::{Column, Format, Outputs, SavedModel, Table, load_model, write_table};

use crate::args::{OutputArgs, ReconstructArgs, RunArgs, TransformArgs};
use crate::fit::component;
use crate::input::{self, exec, load_for};
use crate::output::{Outcome, Result, Terminal, line, short};

pub(crate) fn transform(args: &TransformArgs, run: &RunArgs, terminal: &mut Terminal) -> Result {
    let SavedModel { model, columns } = load_model(&args.model)?;
    let data = load_for(&args.data, run, &columns)?;
    let scores = model.transform(&data.points, &exec(run))?;
    let mut scores = Table::of_points(&scores, component);
    if args.errors {
        scores.columns.push(Column::numbers("squared_error", model.squared_errors(&data.points)?));
    }
    write(&data.beside(scores)?, &args.output, terminal)?;
    let mut out = terminal.summary(true);
    for note in &data.notes {
        line(&mut out, "note", note)?;
    }
    Ok(Outcome::Done)
}

pub(crate) fn reconstruct(args: &ReconstructArgs, run: &RunArgs, terminal: &mut Terminal) -> Result {
    let SavedModel { model, columns } = load_model(&args.model)?;
    let names: Vec<String> = (0..model.components()).map(component).collect();
    let (table, kept) = input::read(&args.data, run)?;
    let are_scores = names.iter().all(|n| table.column(n).is_ok());
    let wanted = if are_scores { &names } else { &columns };
    let data = input::split(&args.data, table, &kept, Some(wanted))?;
    let scores: Points<f64> =
        if are_scores { data.points.clone() } else { model.transform(&data.points, &exec(run))? };
    let back = model.reconstruct(&scores)?;
    let features = match &model {
        AnyModel::Pca(m) => m.embedding().names(&columns),
        _ => columns,
    };
    write(&data.beside(Table::of_points(&back, |j| features[j].clone()))?, &args.output, terminal)?;
    let mut out = terminal.summary(true);
    for note in &data.notes {
        line(&mut out, "note", note)?;
    }
    if !are_scores {
        let total: f64 = model.squared_errors(&data.points)?.iter().sum();
        line(
            &mut out,
            "error",
            format!("{} in all, the sum of squared distances to the reconstructions", short(total)),
        )?;
    }
    Ok(Outcome::Done)
}

/// Writes a table to a file, whole or not at all, or to standard output.
pub(crate) fn write(table: &Table, args: &OutputArgs, terminal: &mut Terminal) -> Result<()> {
    let by_name = Format::of_name(&args.output);
    let format = args.format.map(Format::from).or(by_name).unwrap_or(Format::Csv);
    let bytes = write_table(table, format)?;
    if args.output == "-" {
        terminal.out.write_all(&bytes)?;
        return Ok(());
    }
    let mut outputs = Outputs::new();
    outputs.stage(&args.output, bytes)?;
    outputs.commit()?;
    Ok(())
}
