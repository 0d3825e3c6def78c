//! Data that is read batch by batch, because it is larger than the memory: `mercer fit` and `mercer transform`.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mercer::{AnyModel, Components, Exec, KernelPca, LandmarkState, Pca, PcaModel, PcaState, Plan, Route, Survey};
use mercer_io::{
    Column, Format, MappedNpy, MappedPoints, Note, Outputs, SavedModel, Stream, StreamOptions, Table, TableWriter,
};
use serde_json::json;

use crate::args::{DataArgs, FitArgs, MissingArg, RunArgs, TransformArgs};
use crate::fit::{DEFAULT_COMPONENTS, Spec, Told, Written, explain, summarise, summary_json};
use crate::input::{self, Input, KernelChoice, exec, hints_of, memory};
use crate::output::{Failure, Outcome, Result, Terminal, json, line};
use crate::remedy;
use mercer_view::component;

/// Data is read batch by batch when so many copies of it exceed the memory: the table, and the points made of it.
const COPIES: u64 = 3;

/// Rows that come in batches.
pub(crate) struct Rows {
    stream: Stream,
    /// Columns that are labels even if they look like numbers.
    kept: Vec<String>,
    /// Columns that become points, and all label columns.
    columns: Vec<String>,
    labels: Vec<String>,
}

/// The data as batches, if it is too large to be read whole, or if that is asked for.
pub(crate) fn open(args: &DataArgs, run: &RunArgs, asked_for: bool) -> Result<Option<Rows>> {
    if args.data.iter().any(|name| name == "-") {
        return match asked_for || args.data.len() > 1 {
            true => Err(Failure::Usage("standard input can be read only once, as a single table: name a file".into())),
            false => Ok(None),
        };
    }
    let budget = memory(run);
    let kept = input::kept_names(args);
    let read = input::read_options(&args.read, kept.clone(), None);
    let batch_bytes = usize::try_from(budget / 32).unwrap_or(usize::MAX).clamp(250_000, 16_000_000);
    let stream = match Stream::open(&args.data, StreamOptions { read, batch_bytes }) {
        // A pipe can be read once only, and is read whole; any other error is the same there.
        Err(_) if input::is_single(args) && !asked_for => return Ok(None),
        other => other?,
    };
    let size = match stream.table_bytes() {
        Some(bytes) => bytes,
        // The size of a compressed table is known after a pass over it, which ends once it is too large.
        None if stream.is_compressed() && !asked_for => decompressed(&stream, budget / COPIES)?,
        None => stream.file_bytes(),
    };
    if !asked_for && size.saturating_mul(COPIES) <= budget {
        return Ok(None);
    }
    let mut rows = Rows { stream, kept, columns: Vec::new(), labels: Vec::new() };
    let Some(first) = rows.stream.batches()?.next() else { return Ok(None) };
    let first = input::split(&dropping(args), first?.table, &rows.kept, None)?;
    rows.labels = first.kept.names().into_iter().map(String::from).collect();
    rows.columns = first.columns;
    Ok(Some(rows))
}

/// The bytes of a decompressed table, counted up to `enough`.
fn decompressed(stream: &Stream, enough: u64) -> Result<u64> {
    let mut bytes = 0;
    for batch in stream.batches()? {
        let table = batch?.table;
        bytes += (table.rows() * table.columns.len() * 8) as u64;
        if bytes > enough {
            break;
        }
    }
    Ok(bytes)
}

/// The same data without rows that have missing values, to find names and types alone.
fn dropping(args: &DataArgs) -> DataArgs {
    let mut read = args.read.clone();
    read.missing = MissingArg::Drop;
    DataArgs { data: args.data.clone(), read }
}

impl Rows {
    fn d(&self) -> usize {
        self.columns.len()
    }

    /// Passes over all batches, with the label columns or without; returns the number of rows, and notes.
    fn each(
        &self,
        args: &DataArgs,
        wanted: Option<&SavedModel>,
        with_labels: bool,
        progress: &mut Line,
        mut take: impl FnMut(Input) -> Result<()>,
    ) -> Result<(u64, Vec<String>)> {
        let mut stream = self.stream.clone();
        // By name, or, where the names are others, by place.
        let mut needed: Vec<String> = match wanted {
            Some(saved) if saved.columns.iter().all(|c| self.columns.contains(c)) => saved.columns.clone(),
            _ => self.columns.clone(),
        };
        if with_labels {
            needed.extend(self.labels.iter().cloned());
        }
        stream.keep(&needed)?;
        let kept = if with_labels { self.kept.as_slice() } else { &[] };
        // Columns were chosen already.
        let mut read = args.read.clone();
        read.select = None;
        if !with_labels {
            (read.label, read.id) = (None, Vec::new());
        }
        let plain = DataArgs { data: args.data.clone(), read };
        let (mut rows, mut notes) = (0u64, self.stream.notes().to_vec());
        for batch in stream.batches()? {
            progress.check_cancelled()?;
            let table = batch?.table;
            // In the order of the model, or of the choice, which need not be that of the file.
            let order = match wanted {
                Some(saved) => (saved.columns.as_slice(), saved.model.column_means()),
                None => (self.columns.as_slice(), None),
            };
            let mut input = input::split(&plain, table, kept, Some(order))?;
            rows += input.points.n() as u64;
            Note::add(&mut notes, input.take_notes());
            progress.show(rows, self.stream.rows());
            if input.points.n() > 0 {
                take(input)?;
            }
        }
        progress.clear();
        Ok((rows, notes.iter().map(remedy::note).collect()))
    }
}

/// A line of progress on a terminal, and Ctrl-C, after which no partial output remains.
struct Line {
    live: bool,
    last: Instant,
    flag: Arc<AtomicBool>,
}

impl Line {
    fn new(terminal: &Terminal) -> Self {
        let flag = Arc::new(AtomicBool::new(false));
        let set = Arc::clone(&flag);
        let _ = ctrlc::set_handler(move || set.store(true, Ordering::SeqCst));
        let live = !terminal.is_quiet() && std::io::stderr().is_terminal();
        Line { live, last: Instant::now(), flag }
    }

    fn exec(&self, exec: Exec) -> Exec {
        exec.cancel(Arc::clone(&self.flag))
    }

    fn check_cancelled(&self) -> Result<()> {
        match self.flag.load(Ordering::SeqCst) {
            true => Err(Failure::Interrupted { message: "interrupted; nothing was written".into(), help: None }),
            false => Ok(()),
        }
    }

    fn show(&mut self, rows: u64, of: Option<u64>) {
        if self.live && self.last.elapsed() > Duration::from_millis(200) {
            self.last = Instant::now();
            let of = of.map_or(String::new(), |n| format!(" of {}", mercer_view::count(n as usize)));
            let _ = write!(std::io::stderr(), "\r{} rows{of} ", mercer_view::count(rows as usize));
        }
    }

    fn clear(&mut self) {
        if self.live {
            let _ = write!(std::io::stderr(), "\r{:60}\r", "");
        }
    }
}

/// What a fit of batches found.
struct Found {
    model: AnyModel,
    rows: u64,
    ranges: Vec<(f64, f64)>,
    notes: Vec<String>,
    why: String,
    how: &'static str,
}

/// How rows were read.
const BATCHES: &str = "   (read batch by batch)";

pub(crate) fn fit(args: &FitArgs, run: &RunArgs, choice: KernelChoice, rows: Rows, terminal: &mut Terminal) -> Result {
    if let MissingArg::Mean = args.data.read.missing {
        return Err(Failure::Usage(
            "the argument '--missing mean' needs all rows at once, but the data is read batch by batch: use '--missing drop'"
                .into(),
        ));
    }
    if args.checkpoint.is_some() {
        return Err(Failure::Usage(
            "the argument '--checkpoint' cannot be used with data that is read batch by batch".into(),
        ));
    }
    forward(args.output.as_deref(), args.format)?;
    let mut progress = Line::new(terminal);
    let exec = progress.exec(exec(run));
    let mut spec = Spec::new(&args.model, choice, (usize::MAX, rows.d()), run)?;
    if args.explain {
        let known = rows.stream.rows().map_or("unknown number of rows".to_string(), |n| format!("{n} rows"));
        let data =
            format!("{}: {known} x {}, read batch by batch", rows.stream.source(), input::numeric_columns(rows.d()));
        let n = rows.stream.rows().map_or(1_000_000, |n| n as usize);
        return explain(&data, &spec.describe(&args.model), plan(&spec, (n, rows.d()), &exec), &exec, terminal);
    }
    let found = match &mut spec {
        Spec::Pca(pca) => fit_pca(pca, args, &rows, &exec, &mut progress)?,
        Spec::Kernel(_, true) => {
            let remedy = if args.stream { "omit --stream" } else { "raise --memory" };
            return Err(Failure::Usage(format!("a Gram matrix must fit into memory: {remedy}")));
        }
        Spec::Kernel(kernel, false) => fit_kernel(kernel, args, &rows, &exec, &mut progress)?,
    };
    let saved = SavedModel { model: found.model, columns: rows.columns.clone(), front: None };

    let to_stdout = args.output.as_deref() == Some("-");
    let mut written = Vec::new();
    match args.output.as_deref() {
        Some("-") => {
            let out = TableWriter::new(std::io::stdout(), args.format);
            scores(&rows, &args.data, &saved, None, (out, false), &exec, &mut progress)?.0.finish_forward()?;
        }
        Some(prefix) => {
            let mut files = Written::new(prefix, args.format);
            if !args.no_scores {
                let out = files.begin("scores")?;
                let (out, _) = scores(&rows, &args.data, &saved, None, (out, false), &exec, &mut progress)?;
                files.join(out)?;
            }
            written = files.finish(&saved)?;
        }
        None => {}
    }
    let notes: Vec<String> =
        found.notes.into_iter().chain(hints_of(&rows.columns, &found.ranges, args.model.scale)).collect();
    let source = rows.stream.source();
    if args.json {
        let facts = json!({
            "source": source, "rows": found.rows, "columns": rows.columns, "kept": rows.labels, "notes": notes,
        });
        return json(&mut terminal.out, &summary_json(&saved, facts, &written));
    }
    let labels: Vec<&str> = rows.labels.iter().map(String::as_str).collect();
    let data = input::described(&source, (found.rows as usize, rows.d()), &labels) + found.how;
    let told = Told { data, names: args.data.data.clone(), notes, why: found.why };
    summarise(args, &spec, &told, &saved.model, &written, &mut *terminal.summary(to_stdout))?;
    Ok(Outcome::Done)
}

/// Refuses formats that begin with the number of rows, which is not known before the last batch.
fn forward(output: Option<&str>, format: Format) -> Result<()> {
    match output {
        Some("-") if !format.writes_forward() => Err(Failure::Usage(format!(
            "{} cannot be written to standard output batch by batch: name a file, or choose another --format",
            format.title()
        ))),
        _ => Ok(()),
    }
}

/// The plan for batches: of kernels by landmarks, unless they are asked to be exact.
fn plan(spec: &Spec, (n, d): (usize, usize), exec: &Exec) -> mercer::Result<Plan> {
    match spec {
        Spec::Kernel(kernel, false) if !kernel.is_exact() => {
            kernel.clone().landmarks(kernel.wanted_landmarks(exec)).plan(n, d, exec)
        }
        other => other.plan((n, d), exec),
    }
}

/// Fits PCA in one pass over the data, or two when small components need it.
fn fit_pca(pca: &mut Pca, args: &FitArgs, rows: &Rows, exec: &Exec, progress: &mut Line) -> Result<Found> {
    let pass = |pca: &Pca, progress: &mut Line| -> Result<(PcaState, PcaModel, Vec<String>)> {
        let mut state = pca.state(rows.d())?;
        let (_, notes) = rows.each(&args.data, None, false, progress, |batch| {
            state.update(&batch.points, exec).map_err(|e| batch.about(e))
        })?;
        // As many components as usual, unless there are not so many rows.
        let few = usize::try_from(state.n()).unwrap_or(usize::MAX);
        let usual = DEFAULT_COMPONENTS.min(few).min(state.mean().len());
        let pca = match args.model.components {
            None => pca.clone().components(Components::Count(usual)),
            Some(_) => pca.clone(),
        };
        let model = pca.finish(&state, exec).map_err(|e| progress.check_cancelled().err().unwrap_or(e.into()))?;
        Ok((state, model, notes))
    };
    // What the sums need is known before any row is read.
    let known = rows.stream.rows().map_or(usize::MAX, |n| n as usize);
    let route = if pca.chosen_route() == Route::Auto { Route::Covariance } else { pca.chosen_route() };
    pca.clone().components(Components::All).route(route).plan(known, rows.d(), exec)?;
    let (state, mut model, mut notes) = pass(pca, progress)?;
    if model.loses_digits() && pca.chosen_route() == Route::Auto {
        let lost = model.notes().first().cloned().unwrap_or_default();
        model = pass(&pca.clone().route(Route::Svd), progress)?.1;
        notes.push(format!("the svd route replaced the covariance route, in a second pass over the data: {lost}"));
    }
    let ranges = if *model.embedding() == mercer::Embedding::Identity { state.ranges() } else { Vec::new() };
    let model = AnyModel::Pca(model);
    Ok(Found { model, rows: state.n(), ranges, notes, why: String::new(), how: BATCHES })
}

/// Fits landmarks in two passes over the data: a sample to choose them from, then the projections of all rows.
fn fit_kernel(kernel: &mut KernelPca, args: &FitArgs, rows: &Rows, exec: &Exec, progress: &mut Line) -> Result<Found> {
    if kernel.is_exact() {
        return fit_mapped(kernel, args, rows, exec);
    }
    let spec = kernel.clone().landmarks(kernel.wanted_landmarks(exec));
    let mut survey = Survey::new(rows.d(), spec.sample_size(), 0);
    let (_, mut notes) = rows.each(&args.data, None, false, progress, |batch| {
        survey.update(&batch.points, exec).map_err(|e| batch.about(e))
    })?;
    let stopped = |e: mercer::Error, progress: &Line| progress.check_cancelled().err().unwrap_or(e.into());
    let basis = spec.basis(&survey, exec).map_err(|e| stopped(e, progress))?;
    let mut state = LandmarkState::new(&basis);
    rows.each(&args.data, None, false, progress, |batch| {
        state.update(&basis, &batch.points, exec).map_err(|e| batch.about(e))
    })?;
    let model = spec.finish(&basis, &state, exec).map_err(|e| stopped(e, progress))?;
    if survey.n() > survey.sample().n() as u64 {
        notes.push(format!(
            "landmarks and automatic kernel parameters are from a sample of {} rows",
            survey.sample().n()
        ));
    }
    *kernel = kernel.clone().kernel_of(basis.kernel().clone());
    let why = format!("{}; the data is read batch by batch", spec.wanted_landmarks(exec).of(basis.landmarks()));
    let model = AnyModel::KernelPca(model);
    Ok(Found { model, rows: state.n(), ranges: survey.ranges(), notes, why, how: BATCHES })
}

/// Fits exact components of an NPY file that is mapped into memory, so that its rows are not copied first.
fn fit_mapped(kernel: &KernelPca, args: &FitArgs, rows: &Rows, exec: &Exec) -> Result<Found> {
    let refused = || Failure::Error {
        message: format!("{}: exact kernel PCA needs all rows in memory", rows.stream.source()),
        help: Some(format!(
            "{}, use landmarks (--approx nystroem, without --tolerance), or store the rows in one NPY file of float64 or float32, which is mapped into memory",
            if args.stream { "omit --stream" } else { "raise --memory" }
        )),
    };
    let [name] = args.data.data.as_slice() else { return Err(refused()) };
    let names: Vec<&str> = rows.stream.columns().iter().map(|c| c.name.as_str()).collect();
    let plain = Format::of_name(name) == Some(Format::NPY) && rows.columns == names;
    if !plain || !matches!(args.data.read.missing, MissingArg::Error) {
        return Err(refused());
    }
    let mapped = MappedNpy::open(name)?;
    let about = |e: mercer::Error| match e.kind() {
        mercer::ErrorKind::Cancelled => {
            Failure::Interrupted { message: "interrupted; nothing was written".into(), help: None }
        }
        _ => Failure::from(e).about(name),
    };
    let model = match mapped.points() {
        MappedPoints::F64(x) => kernel.fit_with(x, exec),
        MappedPoints::F32(x) => kernel.fit_with(x, exec),
    }
    .map_err(about)?;
    let (rows, why, how) = (mapped.n() as u64, String::new(), "   (mapped into memory)");
    Ok(Found { model: AnyModel::KernelPca(model), rows, ranges: Vec::new(), notes: Vec::new(), why, how })
}

/// Writes the scores of all rows, batch by batch, beside the label columns; on request with their squared errors.
fn scores<W: Write + Send + 'static>(
    rows: &Rows,
    args: &DataArgs,
    saved: &SavedModel,
    wanted: Option<&SavedModel>,
    (mut out, with_errors): (TableWriter<W>, bool),
    exec: &Exec,
    progress: &mut Line,
) -> Result<(TableWriter<W>, Vec<String>)> {
    let (_, notes) = rows.each(args, wanted, true, progress, |batch| {
        let found = saved.model.transform(&batch.points, exec).map_err(|e| batch.about(e))?;
        let mut table = Table::of_points(&found, component);
        if with_errors {
            let errors = saved.model.squared_errors(&batch.points).map_err(|e| batch.about(e))?;
            table.columns.push(Column::numbers("squared_error", errors));
        }
        Ok(out.write(&batch.beside(table)?)?)
    })?;
    Ok((out, notes))
}

/// Writes the scores of new rows, batch by batch.
pub(crate) fn transform(
    args: &TransformArgs,
    run: &RunArgs,
    saved: &SavedModel,
    rows: &Rows,
    terminal: &mut Terminal,
) -> Result {
    let mut progress = Line::new(terminal);
    let exec = progress.exec(exec(run));
    let format = args.output.format();
    forward(Some(&args.output.output), format)?;
    let notes = if args.output.output == "-" {
        let out = (TableWriter::new(std::io::stdout(), format), args.errors);
        let (out, notes) = scores(rows, &args.data, saved, Some(saved), out, &exec, &mut progress)?;
        out.finish_forward()?;
        notes
    } else {
        let out = TableWriter::new(Outputs::stage_file(&args.output.output)?, format);
        let (out, notes) = scores(rows, &args.data, saved, Some(saved), (out, args.errors), &exec, &mut progress)?;
        let mut outputs = Outputs::new();
        outputs.join(out.finish()?)?;
        outputs.commit()?;
        notes
    };
    let mut out = terminal.summary(true);
    for note in &notes {
        line(&mut out, "note", note)?;
    }
    Ok(Outcome::Done)
}
