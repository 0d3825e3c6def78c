//! `mercer fit`: from a table to scores and a model.

use std::io::Write;
use std::path::Path;

use mercer::kernel::registry;
use mercer::text::counted;
use mercer::{AnyModel, Components, Fitted, Points, Spec};
use mercer_io::{
    Column, FORMATS, FileSet, Format, Outputs, SavedModel, StagedFile, Table, TableWriter, Task, write_table,
};
use serde_json::json;

use crate::args::{FitArgs, RunArgs};
use crate::input::{self, exec};
use crate::output::{Failure, Outcome, Result, Terminal, help, json, line, table};
use crate::progress::Watch;
use crate::rows::{Rows, Scored};
use crate::spec::spec;
use mercer_view::{component, describe_spec, eigenvalue_meaning, short, shown_eigenvalues};

pub(crate) fn run(args: &FitArgs, run: &RunArgs, terminal: &mut Terminal) -> Result {
    let to_stdout = args.output.as_deref() == Some("-");
    if to_stdout && args.json {
        return Err(Failure::Usage(
            "the argument '--json' cannot be used with '--output -': both write to standard output".into(),
        ));
    }
    if args.no_scores && to_stdout {
        return Err(Failure::Usage(
            "the argument '--no-scores' cannot be used with '--output -', which are scores".into(),
        ));
    }
    let choice = input::kernel(&args.model.kernel)?;
    // Before any work: the names are taken, and no other fit can write to them meanwhile.
    let mut files = match args.output.as_deref().filter(|_| !to_stdout && !args.explain) {
        Some(prefix) => Some(Written::new(prefix, args.format)?),
        None => None,
    };
    let rows = Rows::open(&args.data, run, args.stream)?;
    let spec = spec(&args.model, choice, rows.d(), run)?;
    let rows = rows.ready_for(&spec, args)?;
    if args.explain {
        // A fit of points in memory keeps its passes, so that Ctrl-C loses none.
        let exec = budgeted(args, run).keep_passes(matches!(spec, Spec::KernelPca(_)) && rows.points().is_some());
        return explain(&rows.describe_unread(), &spec, rows.plan(&spec, &exec), &exec, terminal);
    }
    let (watch, exec) = watched(args, run, &spec, &rows, terminal)?;
    let plan = rows.plan(&spec, &exec).map_err(|e| rows.about(e)).inspect_err(|_| watch.failed())?;
    if plan.landmarks().is_some() && args.checkpoint.is_some() {
        watch.failed();
        return Err(Failure::Usage("the argument '--checkpoint' is for exact components: add '--approx none'".into()));
    }
    if args.rigorous {
        let refused = match (rows.is_whole(), plan.landmarks().is_some()) {
            (false, _) => Some("the argument '--rigorous' needs all rows in memory: leave out '--stream'"),
            (true, true) => Some("the argument '--rigorous' is for exact components: add '--approx none'"),
            (true, false) => None,
        };
        if let Some(refused) = refused {
            watch.failed();
            return Err(Failure::Usage(refused.into()));
        }
        if let Some(points) = rows.points() {
            let possible = spec.check_certifiable(points.n(), points.d(), &exec);
            possible.map_err(|e| rows.about(e)).inspect_err(|_| watch.failed())?;
        }
    }
    let why = plan.why.clone();
    let output = args.output.as_deref();
    let fitted = match rows.fit(&spec, plan, &watch, &exec) {
        Ok(fitted) => fitted,
        Err(Failure::Interrupted { .. }) => return Err(watch.interrupted(output)),
        Err(e) => {
            watch.failed();
            return Err(e);
        }
    };
    watch.clear();
    let interrupted = |failure| watch.or_interrupted(failure, output);
    let Fitted { mut model, n, ranges, notes, .. } = fitted;
    if let Some(points) = rows.points().filter(|_| args.rigorous) {
        model = model.certify(points, &exec).map_err(|e| rows.about(e)).map_err(interrupted)?;
    }
    let mut saved = SavedModel { model, columns: rows.columns().to_vec(), front: None, spec: Some(spec.clone()) };
    let show = !args.no_plot && !args.json && !to_stdout && terminal.is_terminal();
    // Scores of rows in memory are computed once, for the file and the plot.
    let scores = if show || args.output.is_some() { rows.fitted_scores(&saved.model, &exec) } else { Ok(None) };
    let scores = scores.map_err(interrupted)?;
    let job = Scored { saved: &saved, fitted: true, known: scores.as_ref(), errors: false, watch: &watch, exec: &exec };
    if let Some(files) = &mut files
        && !args.no_scores
    {
        let out = files.begin("scores")?;
        files.join(rows.write_scores(&job, out).map_err(interrupted)?.0)?;
    }
    if rows.is_whole() || !to_stdout {
        watch.settle(output)?;
    }
    if to_stdout {
        rows.print_scores(&job, args.format, terminal).map_err(interrupted)?;
    }
    let written = match files {
        Some(files) => files.finish(&mut saved)?,
        None => Vec::new(),
    };
    let figure = scores.as_ref().filter(|_| show).and_then(|scores| rows.scores_figure(&saved, args, scores));
    // Only now: results that cannot be written can still be had from the checkpoint.
    watch.done()?;
    let notes: Vec<String> =
        rows.notes().into_iter().chain(notes).chain(rows.hints(&ranges, args.model.scale)).collect();
    if args.json {
        let facts = json!({
            "source": rows.source(), "rows": n, "columns": rows.columns(), "kept": rows.labels(), "notes": notes,
        });
        return json(&mut terminal.out, &summary_json(&saved, facts, &written));
    }
    let summary = Summary {
        data: rows.describe(n),
        notes,
        why,
        model: rows.describe_model(&spec, &saved.model),
        exact_hint: match (rows.is_whole(), args.model.landmarks.is_some() || args.model.trace_error.is_some()) {
            (false, _) => "",
            (true, false) => " (--approx none is exact)",
            (true, true) => " (exact without --landmarks and --trace-error)",
        },
    };
    summarise(args, &summary, &saved.model, &written, &mut *terminal.summary(to_stdout))?;
    if let Some(figure) = figure {
        crate::plot::after_fit(&figure, &mut *terminal.summary(to_stdout))?;
    }
    Ok(Outcome::Done)
}

/// The budget of the interrupted fit that is resumed.
fn earlier_budget(args: &FitArgs) -> Option<u64> {
    let checkpoint = args.checkpoint.as_ref().filter(|_| args.resume);
    checkpoint.and_then(mercer_io::Checkpoint::task_of).map(|task| task.memory)
}

/// With the budget that is given, or that an interrupted fit had. The plan depends on it, and it depends on what is free:
/// what was planned stays.
fn budgeted(args: &FitArgs, run: &RunArgs) -> mercer::Exec {
    match run.memory.or_else(|| earlier_budget(args)) {
        Some(budget) => exec(run).memory(budget),
        None => exec(run),
    }
}

/// Progress, Ctrl-C and, for passes over a Gram matrix, a checkpoint; with the budget that an interrupted fit had.
fn watched(
    args: &FitArgs,
    run: &RunArgs,
    spec: &Spec,
    rows: &Rows,
    terminal: &Terminal,
) -> Result<(Watch, mercer::Exec)> {
    let exec = exec(run);
    let (Spec::KernelPca(_), Some(points)) = (spec, rows.points()) else {
        return Ok(match rows.is_whole() {
            true => (Watch::none(), exec), // Ctrl-C ends the process
            false => Watch::of_rows(terminal.is_quiet(), exec),
        });
    };
    let exec = budgeted(args, run);
    let fingerprint = mercer::text::fingerprint(points.as_slice());
    let task = Task {
        spec: spec.clone(),
        data: format!("{} x {} with fingerprint {fingerprint:016x}", points.n(), points.d()),
        seed: run.seed,
        memory: earlier_budget(args).unwrap_or(exec.get_memory()),
        version: env!("CARGO_PKG_VERSION").into(),
    };
    Watch::of_passes(args, task, terminal.is_quiet(), exec)
}

/// What a summary says beside the model.
pub(crate) struct Summary {
    data: String,
    model: String,
    notes: Vec<String>,
    /// Why it was done so.
    why: String,
    /// How to get exact components instead, where that is possible.
    exact_hint: &'static str,
}

/// `1 pass`, `2 passes`.
fn passes_of(n: usize) -> String {
    if n == 1 { "1 pass".into() } else { format!("{n} passes") }
}

fn explain(
    data: &str,
    spec: &Spec,
    plan: mercer::Result<mercer::Plan>,
    exec: &mercer::Exec,
    terminal: &mut Terminal,
) -> Result {
    let out = &mut terminal.out;
    line(out, "data", data)?;
    line(out, "model", describe_spec(spec))?;
    line(out, "budget", format!("{} (--memory)", mercer::text::Bytes(u128::from(exec.get_memory()))))?;
    match plan {
        Ok(plan) => {
            writeln!(out, "{plan}")?;
            Ok(Outcome::Done)
        }
        Err(e) => {
            line(out, "refused", &e)?;
            help(&e).map_or(Ok(()), |help| line(out, "", help))?;
            Ok(Outcome::DoesNotHold)
        }
    }
}

/// The files of a fit. They are renamed one directly after the other, the model first. The model has the fingerprints of
/// the others, so that files of two fits are not taken for those of one.
pub(crate) struct Written<'a> {
    prefix: &'a str,
    format: Format,
    outputs: Outputs,
    model: StagedFile,
    names: Vec<String>,
}

impl<'a> Written<'a> {
    /// Takes the names. Only one process can have those of a prefix.
    fn new(prefix: &'a str, format: Format) -> Result<Self> {
        if Path::new(prefix).is_dir() {
            return Err(Failure::Error {
                message: format!("--output {prefix}: is a directory, not the beginning of file names"),
                help: Some(format!("name files in it, as {prefix}/fit")),
            });
        }
        let model = Outputs::stage_file(format!("{prefix}.mercer.safetensors"))?;
        for table in ["scores", "eigenvalues", "loadings"] {
            Outputs::check(format!("{prefix}.{table}.{}", format.name()))?;
            FORMATS.iter().for_each(|format| Outputs::sweep(format!("{prefix}.{table}.{}", format.name())));
        }
        Ok(Written { prefix, format, outputs: Outputs::new(), model, names: Vec::new() })
    }

    fn path(&mut self, what: &str) -> String {
        let path = format!("{}.{what}", self.prefix);
        self.names.push(path.clone());
        path
    }

    fn stage(&mut self, what: &str, table: &Table) -> Result<()> {
        let path = self.path(&format!("{what}.{}", self.format.name()));
        Ok(self.outputs.stage(&path, write_table(table, self.format)?)?)
    }

    /// A table that is written part by part, and given back to [`Written::join`].
    fn begin(&mut self, what: &str) -> Result<TableWriter<StagedFile>> {
        let path = self.path(&format!("{what}.{}", self.format.name()));
        Ok(TableWriter::new(Outputs::stage_file(&path)?, self.format))
    }

    fn join(&mut self, table: TableWriter<StagedFile>) -> Result<()> {
        Ok(self.outputs.join(table.finish()?)?)
    }

    /// What is known of the components, and the model; then all take their places.
    fn finish(mut self, saved: &mut SavedModel) -> Result<Vec<String>> {
        self.stage("eigenvalues", &mercer_view::eigenvalue_table(&saved.model)?)?;
        if let AnyModel::Pca(model) = &saved.model {
            let mut columns = vec![Column::text("feature", model.embedding().names(&saved.columns))];
            columns.extend(Table::of_points(&transposed(&model.axes()), component).columns);
            self.stage("loadings", &Table::new("loadings", columns)?)?;
        }
        let set = FileSet::new(self.prefix, &self.outputs.fingerprints()?);
        saved.front = Some(json!(set));
        let name = self.path("mercer.safetensors");
        self.model.write_all(&saved.to_bytes()?).map_err(|e| Failure::from(e).about(&name))?;
        self.outputs.join_first(self.model)?;
        self.outputs.commit()?;
        Ok(self.names)
    }
}

fn transposed(x: &Points<f64>) -> Points<f64> {
    Points::from_fn(x.d(), x.n(), |i, j| x.row(j)[i])
}

/// The table of components.
pub(crate) fn spectrum_table(model: &AnyModel, out: &mut dyn Write) -> std::io::Result<()> {
    let Some(spectrum) = model.spectrum() else { return Ok(()) };
    let (values, ratios, sums) = (shown_eigenvalues(model), spectrum.ratios(), spectrum.cumulative());
    let rows: Vec<Vec<String>> = (0..model.components())
        .map(|i| {
            let percent = |v: f64| format!("{:.2} %", 100.0 * v);
            vec![component(i), short(values[i]), percent(ratios[i]), percent(sums[i])]
        })
        .collect();
    table(out, &["component", "eigenvalue", "explained", "cumulative"], &rows)
}

fn summarise(
    args: &FitArgs,
    summary: &Summary,
    model: &AnyModel,
    written: &[String],
    out: &mut dyn Write,
) -> Result<()> {
    line(out, "data", &summary.data)?;
    line(out, "model", &summary.model)?;
    match model {
        AnyModel::KernelPca(m) => {
            for choice in m.choices() {
                let bare = args.model.kernel.kernel.as_ref().is_some_and(|k| registry::entry(k).is_ok());
                let how = match choice.parameter {
                    "gamma" if bare => "--gamma changes it".to_string(),
                    other => format!("{}({other}=NUMBER) in --kernel changes it", choice.kernel),
                };
                line(out, "chosen", format!("{choice}; {how}"))?;
            }
            let passes = m.certificate().passes();
            let method = match (passes.f32, passes.f64) {
                (0, 0) => "all eigenpairs of the stored Gram matrix".to_string(),
                (0, in_f64) => format!("{} over the Gram matrix", passes_of(in_f64)),
                (in_f32, in_f64) => format!("{} in f32 and {in_f64} in f64 over the Gram matrix", passes_of(in_f32)),
            };
            match m.certificate().approximation() {
                Some(_) => line(out, "method", format!("approximate: {}{}", summary.why, summary.exact_hint))?,
                None => line(out, "method", format!("exact: {method} (--explain shows the plan)"))?,
            }
        }
        AnyModel::Pca(m) => {
            line(out, "method", format!("exact, by the {} route (--route changes it)", m.route().name()))?
        }
        _ => {}
    }
    match (args.model.components, model.components()) {
        (_, 0) => line(out, "result", "no component has variance: all points are alike to this model")?,
        (None, found) => line(out, "chosen", format!("{} (-k changes it)", counted(found as u128, "component")))?,
        (Some(Components::Count(wanted)), found) if wanted > found => {
            line(
                out,
                "note",
                format!(
                    "{} asked for, {found} found: the others have no variance",
                    counted(wanted as u128, "component")
                ),
            )?;
        }
        _ => {}
    }
    spectrum_table(model, out)?;
    line(out, "eigenvalue", eigenvalue_meaning(model))?;
    if let Some(certificate) = model.certificate() {
        line(out, "accuracy", certificate)?;
    }
    for note in summary.notes.iter().chain(model.notes()) {
        line(out, "note", note)?;
    }
    match written {
        [] if args.output.is_none() => line(out, "next", "-o PREFIX writes scores, eigenvalues and the model")?,
        [] => {}
        files => {
            line(out, "wrote", files.join("  "))?;
            let mut words = vec!["mercer".to_string(), "explore".into()];
            words.extend(args.data.data.first().filter(|name| args.data.data.len() == 1 && *name != "-").cloned());
            let explore = mercer_view::shell(&words);
            // Scores if there are any, else what the model says of itself.
            let plot = match args.no_scores {
                false => vec![files[0].clone()],
                true => vec![files[files.len() - 1].clone(), "--kind".into(), "scree".into()],
            };
            let plot = mercer_view::shell(&[vec!["mercer".to_string(), "plot".into()], plot].concat());
            line(out, "next", plot)?;
            line(out, "or", explore)?;
        }
    }
    Ok(())
}

fn summary_json(saved: &SavedModel, data: serde_json::Value, written: &[String]) -> serde_json::Value {
    let mut value = crate::info::json_of(saved);
    value["data"] = data;
    value["files"] = json!(written);
    value
}
