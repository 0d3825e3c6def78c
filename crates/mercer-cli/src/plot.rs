//! `mercer plot`: pictures of models, scores and data.

use std::io::{IsTerminal, Write};

use mercer::{AnyModel, Points};
use mercer_io::Outputs;
use mercer_view::{Axes, Figure, ImageFormat};

use crate::args::{ImageArg, PlotArgs, PlotKind, RunArgs};
use crate::input::exec;
use crate::output::{Failure, Outcome, Result, Terminal, line};
use crate::shown::Shown;

/// Columns and rows of a plot in characters: by default when the terminal's size is unknown, and at most.
const USUAL: (usize, usize) = (80, 18);
const MOST: (usize, usize) = (140, 36);
/// Lines above and below a plot.
const AROUND: usize = 8;

/// The size of a picture in characters.
fn size() -> (usize, usize) {
    match terminal_size::terminal_size_of(std::io::stdout()) {
        Some((width, height)) => (
            usize::from(width.0).saturating_sub(1).min(MOST.0),
            usize::from(height.0).saturating_sub(AROUND).clamp(12, MOST.1),
        ),
        None => USUAL,
    }
}

pub(crate) fn run(args: &PlotArgs, run: &RunArgs, terminal: &mut Terminal) -> Result {
    let named = args.output.as_deref().and_then(ImageFormat::of_name);
    let format = match (args.format, args.output.as_deref()) {
        (Some(ImageArg::Svg), _) => ImageFormat::Svg,
        (Some(ImageArg::Png), _) => ImageFormat::Png,
        (Some(ImageArg::Pdf), _) => ImageFormat::Pdf,
        (None, None | Some("-")) => ImageFormat::Svg,
        (None, Some(name)) => ImageFormat::of_name(name).ok_or_else(|| {
            Failure::Usage(format!("--output {name}: the extension is not .svg, .png or .pdf; set --format"))
        })?,
    };
    if named.is_some_and(|named| named != format) {
        let name = args.output.as_deref().unwrap_or_default();
        return Err(Failure::Usage(format!("--output {name}: the extension does not match --format")));
    }
    let shown = Shown::new(&args.shown, run)?;
    let figure = figure(args, &shown, run)?;
    // Notes about the data; those about the model are shown by `fit`.
    let of_model = shown.model.as_ref().map_or(&[][..], AnyModel::notes);
    for note in shown.notes.iter().filter(|note| !of_model.contains(note)) {
        line(&mut terminal.summary(true), "note", note)?;
    }
    let in_characters = args.terminal || (args.output.is_none() && args.format.is_none() && terminal.is_terminal());
    if in_characters {
        let (columns, rows) = size();
        write!(terminal.out, "{}", figure.terminal(columns, rows))?;
        return Ok(Outcome::Done);
    }
    let bytes = figure.file(format)?;
    match args.output.as_deref() {
        None | Some("-") if format != ImageFormat::Svg && std::io::stdout().is_terminal() => {
            return Err(Failure::Usage(
                "PNG and PDF cannot be shown on the terminal: name a file with --output".into(),
            ));
        }
        None | Some("-") => terminal.data(&bytes)?,
        Some(path) => {
            let mut outputs = Outputs::new();
            outputs.stage(path, bytes)?;
            outputs.commit()?;
            line(&mut terminal.summary(true), "wrote", path)?;
        }
    }
    Ok(Outcome::Done)
}

fn figure(args: &PlotArgs, shown: &Shown, run: &RunArgs) -> Result<Figure> {
    let (title, exec) = (shown.title(), exec(run));
    let missing = |what: &str, remedy: &str| Failure::Error {
        message: format!("{}: {what}", shown.source),
        help: Some(remedy.to_string()),
    };
    let no_points = || missing("the model file does not contain the points", "name the data after the model");
    let no_model = || missing("has scores but no model", "name the model file (.mercer.safetensors) or the data");
    let model = || shown.model.as_ref().ok_or_else(no_model);
    let points = || shown.points.as_ref().ok_or_else(no_points);
    let no_components =
        || missing("no component has variance, so there is nothing to draw", "check that the rows differ");
    let scores = || match &shown.scores {
        Some(scores) if scores.d() == 0 => Err(no_components()),
        Some(scores) => Ok(scores),
        None => Err(no_points()),
    };
    match args.kind {
        PlotKind::Scores => {
            let (scores, density) = (scores()?, args.density.then_some(true));
            let axes = components(args, scores.d())?;
            Ok(mercer_view::scores(&title, scores, shown.model.as_ref(), &shown.colour, axes, density))
        }
        PlotKind::Scree => mercer_view::scree(&title, model()?).ok_or_else(no_components),
        PlotKind::Loadings => match model()? {
            AnyModel::Pca(pca) if pca.components() == 0 => Err(no_components()),
            AnyModel::Pca(pca) => {
                let axes = components(args, pca.components())?;
                let names = pca.embedding().names(&shown.columns);
                Ok(mercer_view::loadings(&title, pca, &names, shown.scores.as_ref(), &shown.colour, axes))
            }
            _ => Err(missing(
                "a kernel model has no loadings, since its components are not linear in the columns",
                "omit --kernel for PCA, or use --kind contours",
            )),
        },
        PlotKind::Kernel => {
            let AnyModel::KernelPca(kernel) = model()? else {
                return Err(missing("PCA has no kernel matrix", "use --kernel linear"));
            };
            let figure = mercer_view::gram(&title, kernel, points()?, scores()?, &shown.colour, &exec)?;
            figure.ok_or_else(|| {
                missing("the model was fitted to a Gram matrix and has no kernel", "fit the points with a kernel")
            })
        }
        PlotKind::Contours => {
            let (model, points) = (model()?, points()?);
            if !mercer_view::on_points(model) {
                return Err(missing(
                    "a model of a Gram matrix has no points to draw contours over",
                    "fit the points with a kernel",
                ));
            }
            if points.d() != 2 {
                let what = format!("contours need two columns, but the data has {}", points.d());
                return Err(missing(&what, "choose two columns with --select a,b"));
            }
            if model.components() == 0 {
                return Err(no_components());
            }
            Ok(mercer_view::contours(&title, model, points, &shown.columns, &shown.colour, &exec)?)
        }
        PlotKind::Reconstruction => {
            let points = points()?;
            let axes = columns(args, &shown.columns, points)?;
            let figure = mercer_view::reconstruction(&title, model()?, points, &shown.columns, axes, &exec)?;
            figure
                .ok_or_else(|| missing("the model cannot reconstruct these columns", "use PCA, or the gaussian kernel"))
        }
    }
}

/// Two components of so many, counted from 0.
fn components(args: &PlotArgs, k: usize) -> Result<Axes> {
    let Some(text) = &args.axes else { return Ok(Axes::default()) };
    let wrong = || Failure::Usage(format!("--axes {text}: two of the {k} components, as 1,2 or PC1,PC2"));
    let one = |part: &str| -> Result<usize> {
        let number = part.trim().trim_start_matches("PC").parse::<usize>().map_err(|_| wrong())?;
        if (1..=k).contains(&number) { Ok(number - 1) } else { Err(wrong()) }
    };
    let (x, y) = text.split_once(',').ok_or_else(wrong)?;
    Ok(Axes { x: one(x)?, y: one(y)? })
}

/// Two columns, by name or number.
fn columns(args: &PlotArgs, names: &[String], points: &Points<f64>) -> Result<(usize, usize)> {
    let Some(text) = &args.axes else {
        return match names.len() {
            0 | 1 => Err(Failure::Usage("a reconstruction plot needs two columns, but the data has one".into())),
            _ => Ok(mercer_view::widest(points)),
        };
    };
    let wrong = || Failure::Usage(format!("--axes {text}: two columns of {}", names.join(", ")));
    let one = |part: &str| -> Result<usize> {
        let by_number = part.trim().parse::<usize>().ok().filter(|n| (1..=names.len()).contains(n)).map(|n| n - 1);
        names.iter().position(|n| n == part.trim()).or(by_number).ok_or_else(wrong)
    };
    let (x, y) = text.split_once(',').ok_or_else(wrong)?;
    Ok((one(x)?, one(y)?))
}

/// The picture that `fit` shows on a terminal.
pub(crate) fn after_fit(figure: &Figure, out: &mut dyn Write) -> Result<()> {
    let (columns, rows) = size();
    write!(out, "\n{}", figure.terminal(columns, rows))?;
    Ok(())
}
