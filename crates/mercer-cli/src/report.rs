//! `mercer report`: a self-contained HTML report.

use mercer_io::Outputs;
use mercer_view::{Fitted, Report};

use crate::args::{ReportArgs, RunArgs};
use crate::input::exec;
use crate::output::{Failure, Outcome, Result, Terminal, line};
use crate::shown::Shown;

pub(crate) fn run(args: &ReportArgs, run: &RunArgs, terminal: &mut Terminal) -> Result {
    if args.output != "-" && ![".html", ".htm"].iter().any(|end| args.output.to_lowercase().ends_with(end)) {
        return Err(Failure::Usage(format!("--output {}: a report is an HTML file, as in report.html", args.output)));
    }
    let shown = Shown::new(&args.shown, run)?;
    let Shown { source, points, columns, model, scores, colour, notes, plan } = shown;
    let (Some(model), Some(points), Some(scores)) = (&model, &points, &scores) else {
        return Err(Failure::Error {
            message: format!("{source}: a report needs a model and its data; one is missing"),
            help: Some("name data, or a model file and its data".into()),
        });
    };
    let fitted = Fitted { source: &source, columns: &columns, points, model, scores, colour: &colour };
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut commands = vec![format!("mercer {}", mercer_view::shell(&words))];
    if args.shown.input == "-" || args.shown.data.as_deref() == Some("-") {
        commands.insert(0, "# the data is from standard input".into());
    }
    let page = Report { fitted, notes, plan, commands }.html(&exec(run))?;
    if args.output == "-" {
        terminal.data(page.as_bytes())?;
        return Ok(Outcome::Done);
    }
    let mut outputs = Outputs::new();
    outputs.stage(&args.output, page.into_bytes())?;
    outputs.commit()?;
    line(&mut terminal.summary(true), "wrote", &args.output)?;
    Ok(Outcome::Done)
}
