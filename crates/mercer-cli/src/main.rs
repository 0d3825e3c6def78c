//! The `mercer` command: PCA and kernel PCA of tables. The only crate that prints and exits.

mod args;
mod check;
mod compare;
mod data;
mod demo;
mod explore;
mod fit;
mod info;
mod input;
mod kernels;
mod output;
mod plot;
mod plot_input;
mod progress;
mod remedy;
mod report;
mod rows;
mod signals;
mod spec;
mod stdout;
mod steps;
mod transform;
mod verify;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use mercer_view::printable;

use args::{Cli, Command};
use output::{Failure, Outcome, Terminal};

/// Exit codes: 0 done, 1 an error (or a check that does not hold), 2 a wrong call, 3 a model that `verify` refutes, 130
/// interrupted, 143 terminated.
fn main() -> ExitCode {
    // Some panics on damaged files become errors, which are reported as such.
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !mercer_io::panic_is_handled() {
            report(panic);
        }
    }));
    let cli = Cli::try_parse().unwrap_or_else(|e| {
        // Control characters of an argument are not for the terminal, so that nothing is coloured beside them.
        if std::env::args_os().any(|word| word.to_string_lossy().contains(char::is_control)) && e.use_stderr() {
            let _ = write!(std::io::stderr(), "{}", printable(&e.render().to_string()));
            std::process::exit(e.exit_code());
        }
        e.exit()
    });
    // The page has its own way to end.
    if !matches!(cli.command, Command::Explore(_)) {
        signals::start();
    }
    let mut terminal = Terminal::new(cli.color, cli.quiet);
    let outcome = match &cli.command {
        Command::Fit(args) => fit::run(args, &cli.run, &mut terminal),
        Command::Transform(args) => transform::transform(args, &cli.run, &mut terminal),
        Command::Reconstruct(args) => transform::reconstruct(args, &cli.run, &mut terminal),
        Command::Info(args) => info::run(args, &mut terminal),
        Command::Verify(args) => verify::run(args, &cli.run, &mut terminal),
        Command::Compare(args) => compare::run(args, &cli.run, &mut terminal),
        Command::Check(args) => check::run(args, &cli.run, &mut terminal),
        Command::Plot(args) => plot::run(args, &cli.run, &mut terminal),
        Command::Report(args) => report::run(args, &cli.run, &mut terminal),
        Command::Explore(args) => explore::run(args, &cli.run, &mut terminal),
        Command::Steps(args) => steps::run(args, &cli.run, &mut terminal),
        Command::Kernels(args) => kernels::run(args, &mut terminal),
        Command::Data(args) => data::run(args, &mut terminal),
        Command::Demo(args) => demo::run(args, &cli.run, &mut terminal),
    };
    match outcome.and_then(|done| terminal.finish().map(|()| done)) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::DoesNotHold) => ExitCode::from(1),
        Ok(Outcome::Refuted) => ExitCode::from(3),
        // The reader of a pipe has had enough.
        Err(Failure::Pipe) => ExitCode::SUCCESS,
        Err(Failure::Usage(message)) => {
            let _ = writeln!(terminal.err, "error: {}\n\nFor more information, try '--help'.", printable(&message));
            ExitCode::from(2)
        }
        Err(Failure::Error { message, help }) => {
            let _ = writeln!(terminal.err, "error: {}", printable(&message));
            if let Some(help) = help {
                let _ = writeln!(terminal.err, " help: {}", printable(&help));
            }
            ExitCode::from(1)
        }
        Err(Failure::Interrupted { message, help }) => {
            let _ = writeln!(terminal.err, "{}", printable(&message));
            if let Some(help) = help {
                let _ = writeln!(terminal.err, "{}", printable(&help));
            }
            ExitCode::from(signals::exit_code())
        }
    }
}
