//! `mercer plot`: plots of models, scores and data.

use std::io::{IsTerminal, Write};

use mercer_io::Outputs;
use mercer_view::{Axes, AxesOf, Figure, ImageFormat, Look, Unavailable, count, plural};

use crate::args::{ImageArg, PlotArgs, RunArgs};
use crate::input::exec;
use crate::output::{Failure, Outcome, Result, Terminal, line};
use crate::plot_input::PlotInput;

/// Columns and rows of a plot in characters when the size of the terminal is not known, and at most.
const USUAL: (usize, usize) = (80, 18);
const MOST: (usize, usize) = (140, 36);
/// Lines above and below a plot.
const AROUND: usize = 8;

/// The size of a plot in characters.
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
            Failure::Usage(format!("--output {name}: the name does not end in .svg, .png or .pdf; use --format"))
        })?,
    };
    if named.is_some_and(|named| named != format) {
        let name = args.output.as_deref().unwrap_or_default();
        return Err(Failure::Usage(format!("--output {name}: the extension does not match --format")));
    }
    crate::transform::check(args.output.as_deref().unwrap_or("-"))?;
    let shown = PlotInput::new(&args.shown, run)?;
    let figure = figure(args, &shown, run)?;
    // Those about the model are printed by `fit`.
    for note in &shown.notes {
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
            return Err(Failure::Usage("PNG and PDF are not written to a terminal: name a file with --output".into()));
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

fn figure(args: &PlotArgs, shown: &PlotInput, run: &RunArgs) -> Result<Figure> {
    let subject = shown.subject();
    let axes = args.axes.as_deref().map(|text| axes(text, args.kind.axes, &shown.columns)).transpose()?.flatten();
    let look = Look { title: subject.title(), axes, density: args.density.then_some(true) };
    args.kind.draw(subject, &look, &exec(run)).map_err(|why| failure(args, &shown.source, why))
}

/// Why a kind cannot be drawn, with the options that help.
fn failure(args: &PlotArgs, source: &str, why: Unavailable) -> Failure {
    let (what, help) = match why {
        Unavailable::Failed(e) => return e.into(),
        Unavailable::NoSuchAxis { of, count } => {
            let text = args.axes.as_deref().unwrap_or_default();
            let known = match of {
                AxesOf::Columns => format!("two of the {}", plural(count, "column")),
                AxesOf::Components | AxesOf::Fixed => {
                    format!("two of the {}, as 1,2 or PC1,PC2", plural(count, "component"))
                }
            };
            return Failure::Usage(format!("--axes {text}: give {known}"));
        }
        Unavailable::NoModel => {
            ("has scores and no model".into(), "name the model file (.mercer.safetensors) or the data".to_string())
        }
        Unavailable::NoPoints => ("the points are not in this file".into(), "name the data after the model".into()),
        Unavailable::NoComponents => {
            ("no component has variance".into(), "check the data: all points may be equal".into())
        }
        Unavailable::NoSpectrum => {
            ("a feature map has no eigenvalues".into(), "fit PCA or kernel PCA to the data".into())
        }
        Unavailable::NotLinear => {
            ("a kernel model has no loadings".into(), "omit --kernel for PCA, or use --kind contours".into())
        }
        Unavailable::NoKernel => {
            ("PCA has no kernel matrix".into(), "use --kernel linear for the Gram matrix of PCA".into())
        }
        Unavailable::GivenGramMatrix => {
            ("the model was fitted to a Gram matrix, not to points".into(), "fit the points with --kernel".into())
        }
        Unavailable::NoReconstruction => {
            ("this model has no reconstruction".into(), "use PCA, or --kernel gaussian".into())
        }
        Unavailable::TooFewColumns { found, least } => (
            format!("{} needs at least {}, found {found}", args.kind.name, plural(least, "column")),
            "choose more columns with --select".into(),
        ),
        Unavailable::TooManyColumns { found, most } => (
            format!("{} needs {}, found {}", args.kind.name, plural(most, "column"), count(found)),
            "choose two columns with --select a,b".into(),
        ),
        _ => ("this kind cannot be drawn".into(), format!("it needs {}", args.kind.needs)),
    };
    Failure::Error { message: format!("{source}: {what}"), help: Some(help) }
}

/// The axes in a text: components by number, or columns by name or number. Whether there are so many is for the kind to
/// check.
fn axes(text: &str, of: AxesOf, columns: &[String]) -> Result<Option<Axes>> {
    let number = |part: &str| part.parse::<usize>().ok()?.checked_sub(1);
    let by_name = |part: &str| columns.iter().position(|name| name == part);
    let one = |part: &str| match of {
        AxesOf::Columns => by_name(part).or_else(|| number(part)),
        AxesOf::Components | AxesOf::Fixed => number(part.trim_start_matches("PC")),
    };
    if of == AxesOf::Fixed {
        return Ok(None);
    }
    let both = text.split_once(',').and_then(|(x, y)| Some(Axes { x: one(x.trim())?, y: one(y.trim())? }));
    both.map(Some).ok_or_else(|| {
        let known = match of {
            AxesOf::Columns => format!("two columns of {}", columns.join(", ")),
            AxesOf::Components | AxesOf::Fixed => "two components, as 1,2 or PC1,PC2".into(),
        };
        Failure::Usage(format!("--axes {text}: give {known}"))
    })
}

/// Prints the plot that `fit` shows on a terminal.
pub(crate) fn after_fit(figure: &Figure, out: &mut dyn Write) -> Result<()> {
    let (columns, rows) = size();
    write!(out, "\n{}", figure.terminal(columns, rows))?;
    Ok(())
}
