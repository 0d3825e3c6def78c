//! `mercer transform` and `mercer reconstruct`: a fitted model on other data.

use mercer::{AnyModel, Points};
use mercer_io::{Column, Outputs, SavedModel, Table, load_model, write_table};

use crate::args::{FromArg, OutputArgs, ReconstructArgs, RunArgs, TransformArgs};
use crate::input::{self, exec, load_for};
use crate::output::{Failure, Outcome, Result, Terminal, line};
use crate::stream;
use mercer_view::{component, short};

pub(crate) fn transform(args: &TransformArgs, run: &RunArgs, terminal: &mut Terminal) -> Result {
    let saved = load_model(&args.model)?;
    uncompressed(&args.output.output)?;
    if let Some(rows) = stream::open(&args.data, run, args.stream)? {
        return stream::transform(args, run, &saved, &rows, terminal);
    }
    let data = load_for(&args.data, run, &saved)?;
    let model = saved.model;
    let scores = model.transform(&data.points, &exec(run)).map_err(|e| data.about(e))?;
    let mut scores = Table::of_points(&scores, component);
    if args.errors {
        scores.columns.push(Column::numbers("squared_error", model.squared_errors(&data.points)?));
    }
    write(&data.beside(scores)?, &args.output, terminal)?;
    let mut out = terminal.summary(true);
    for note in data.notes() {
        line(&mut out, "note", note)?;
    }
    Ok(Outcome::Done)
}

pub(crate) fn reconstruct(args: &ReconstructArgs, run: &RunArgs, terminal: &mut Terminal) -> Result {
    let SavedModel { model, columns, .. } = load_model(&args.model)?;
    let names: Vec<String> = (0..model.components()).map(component).collect();
    let (table, kept) = input::read(&args.data, run)?;
    let are_scores = match args.from {
        FromArg::Scores => true,
        FromArg::Points => false,
        FromArg::Auto => guess(&table, &names, &columns)?,
    };
    let wanted: (&[String], _) = if are_scores { (&names, None) } else { (&columns, model.column_means()) };
    let data = input::split(&args.data, table, &kept, Some(wanted))?;
    let scores: Points<f64> = if are_scores {
        data.points.clone()
    } else {
        model.transform(&data.points, &exec(run)).map_err(|e| data.about(e))?
    };
    let (back, told) = match &model {
        AnyModel::KernelPca(m) => {
            let found = m.preimages_of_scores(&scores, &exec(run))?;
            let (n, left) = (scores.n(), found.distances().iter().sum());
            let told = format!(
                "{} of {n} searches converged; sum of squared distances from their images to the projections: {}",
                found.converged(),
                short(left)
            );
            (found.into_points(), Some(told))
        }
        other => (other.reconstruct(&scores)?, None),
    };
    let features = match &model {
        AnyModel::Pca(m) => m.embedding().names(&columns),
        _ => columns,
    };
    write(&data.beside(Table::of_points(&back, |j| features[j].clone()))?, &args.output, terminal)?;
    let mut out = terminal.summary(true);
    for note in data.notes() {
        line(&mut out, "note", note)?;
    }
    if !are_scores {
        let total: f64 = model.squared_errors(&data.points)?.iter().sum();
        let of = match told {
            Some(_) => "sum of squared distances to the projections, in the feature space of the kernel",
            None => "sum of squared distances to the reconstructions",
        };
        line(&mut out, "error", format!("{of}: {}", short(total)))?;
    }
    if let Some(told) = told {
        line(&mut out, "pre-images", told)?;
    }
    Ok(Outcome::Done)
}

/// Whether a table has scores, and not points like those the model was fitted to. A table that fits both is refused.
fn guess(table: &Table, scores: &[String], points: &[String]) -> Result<bool> {
    let numeric: Vec<String> = table.columns.iter().filter(|c| c.is_numeric()).map(|c| c.name.clone()).collect();
    let fits = |names: &[String]| {
        names.iter().all(|n| numeric.contains(n)) || (input::unnamed(&numeric) && numeric.len() == names.len())
    };
    match (fits(scores), fits(points)) {
        (true, false) => Ok(true),
        (true, true) => Err(Failure::Error {
            message: format!("{}: the columns fit both scores and points of this model", table.source),
            help: Some("use --from scores or --from points".into()),
        }),
        (false, _) => Ok(false),
    }
}

/// Refuses names of compressed files.
fn uncompressed(name: &str) -> Result<()> {
    match name.ends_with(".gz") || name.ends_with(".zst") {
        true => {
            Err(Failure::Usage(format!("{name}: compressed output is not supported; drop .gz or .zst from the name")))
        }
        false => Ok(()),
    }
}

/// Writes a table to a file, atomically, or to standard output.
pub(crate) fn write(table: &Table, args: &OutputArgs, terminal: &mut Terminal) -> Result<()> {
    let bytes = write_table(table, args.format())?;
    if args.output == "-" {
        return terminal.data(&bytes);
    }
    let mut outputs = Outputs::new();
    outputs.stage(&args.output, bytes)?;
    outputs.commit()?;
    Ok(())
}
