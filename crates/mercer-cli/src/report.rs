//! `mercer report`: a self-contained HTML page.

use mercer::AnyModel;
use mercer_io::Outputs;
use mercer_view::{Report, ReportedFit};

use crate::args::{ReportArgs, RunArgs};
use crate::input::exec;
use crate::output::{Failure, Outcome, Result, Terminal, line};
use crate::plot_input::PlotInput;

pub(crate) fn run(args: &ReportArgs, run: &RunArgs, terminal: &mut Terminal) -> Result {
    if args.output != "-" && ![".html", ".htm"].iter().any(|end| args.output.to_lowercase().ends_with(end)) {
        return Err(Failure::Usage(format!("--output {}: a report is HTML; name it as report.html", args.output)));
    }
    crate::transform::check(&args.output)?;
    let shown = PlotInput::new(&args.shown, run)?;
    let fitted = ReportedFit::try_from(shown.subject()).map_err(|_| Failure::Error {
        message: format!("{}: a report needs a model and its data; one is missing", shown.source),
        help: Some("name the data, or a model file and its data".into()),
    })?;
    let of_model = shown.model.as_ref().map_or(&[][..], AnyModel::notes);
    let notes = shown.notes.iter().chain(of_model).cloned().collect();
    let plan = shown.plan.clone();
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut commands = vec![format!("mercer {}", mercer_view::shell(&words))];
    if args.shown.input == "-" || args.shown.data.as_deref() == Some("-") {
        commands.insert(0, "# the data was read from standard input".into());
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
