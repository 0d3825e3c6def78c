//! `mercer transform` and `mercer reconstruct`: a fitted model on other data.

use mercer::{AnyModel, Points};
use mercer_io::{Outputs, SavedModel, Table, TableWriter, load_model, write_table};

use crate::args::{FromArg, OutputArgs, ReconstructArgs, RunArgs, TransformArgs};
use crate::input::{self, exec};
use crate::output::{Failure, Outcome, Result, Terminal, line};
use crate::progress::Watch;
use crate::rows::{Rows, Scored, refuse_npy_on_stdout};
use mercer_view::{component, short};

pub(crate) fn transform(args: &TransformArgs, run: &RunArgs, terminal: &mut Terminal) -> Result {
    let saved = load_model(&args.model)?;
    uncompressed(&args.output.output)?;
    let (output, format) = (&args.output.output, args.output.format());
    // Before any work: a name that cannot be written, or that another process writes to.
    let file = if output == "-" { None } else { Some(Outputs::stage_file(output)?) };
    let rows = Rows::open_for(&saved, &args.data, run, args.stream)?;
    let (watch, exec) = match rows.is_whole() {
        true => (Watch::none(), exec(run)),
        false => Watch::of_rows(terminal.is_quiet(), exec(run)),
    };
    let job = Scored { saved: &saved, fitted: false, known: None, errors: args.errors, watch: &watch, exec: &exec };
    let notes = match file {
        None => {
            if !rows.is_whole() {
                refuse_npy_on_stdout(Some(output), format)?;
            }
            rows.print_scores(&job, format, terminal)?
        }
        Some(file) => {
            let (out, notes) = rows.write_scores(&job, TableWriter::new(file, format))?;
            let mut outputs = Outputs::new();
            outputs.join(out.finish()?)?;
            watch.settle(None)?;
            outputs.commit()?;
            notes
        }
    };
    watch.clear();
    let mut out = terminal.summary(true);
    for note in notes {
        line(&mut out, "note", note)?;
    }
    Ok(Outcome::Done)
}

pub(crate) fn reconstruct(args: &ReconstructArgs, run: &RunArgs, terminal: &mut Terminal) -> Result {
    check(&args.output.output)?;
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
    let foreign = args.data.data.iter().filter(|_| are_scores).find_map(|name| input::foreign_note(name));
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
        other => (other.reconstruct(&scores, &exec(run))?, None),
    };
    let features = match &model {
        AnyModel::Pca(m) => m.embedding().names(&columns),
        _ => columns,
    };
    write(&data.beside(Table::of_points(&back, |j| features[j].clone()))?, &args.output, terminal)?;
    let mut out = terminal.summary(true);
    for note in data.notes().into_iter().chain(foreign) {
        line(&mut out, "note", note)?;
    }
    if !are_scores {
        let total: f64 = model.squared_errors(&data.points, &exec(run))?.iter().sum();
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

/// Refuses a file that cannot be written, before any work.
pub(crate) fn check(output: &str) -> Result<()> {
    if output == "-" { Ok(()) } else { Ok(Outputs::check(output)?) }
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
