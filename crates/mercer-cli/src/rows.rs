//! The rows that a command works on: in memory, in batches where they are too many for it, or mapped into memory.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use mercer::exec::Progress;
use mercer::{AnyPoints, Approx, Batches, ErrorKind, Exec, Fitted, Plan, Points, Source, Spec};
use mercer_io::{
    Column, Format, MappedNpy, MappedPoints, Note, SavedModel, Stream, StreamOptions, Table, TableWriter, write_table,
};
use mercer_view::{Axes, Colour, Figure, component, describe_spec};

use crate::args::{DataArgs, FitArgs, MissingArg, RunArgs};
use crate::input::{self, Input, class_column, hints_of, memory, numeric_columns};
use crate::output::{Failure, Result, Terminal};
use crate::progress::Watch;
use crate::remedy;
use crate::spec::is_of_gram;

/// Data is read batch by batch when so many copies of it exceed the memory: the table, and the points made of it.
const COPIES: u64 = 3;

/// Rows of either kind.
#[allow(clippy::large_enum_variant)] // there is one per run
pub(crate) enum Rows {
    Whole(Input),
    Batched(BatchedRows),
}

/// Rows that come in batches.
pub(crate) struct BatchedRows {
    args: DataArgs,
    stream: Stream,
    /// Columns that are labels even if they look like numbers.
    kept: Vec<String>,
    /// Columns that become points, and all label columns.
    columns: Vec<String>,
    labels: Vec<String>,
    /// An NPY file that is mapped into memory, for exact kernel PCA.
    mapped: Option<Arc<MappedNpy>>,
    /// Notes of the last pass over the rows.
    notes: std::cell::RefCell<Vec<String>>,
}

impl Rows {
    /// Opens the data: whole, or as batches if it is too large for that, or if that is asked for.
    pub(crate) fn open(args: &DataArgs, run: &RunArgs, batches: bool) -> Result<Self> {
        match BatchedRows::open(args, run, batches)? {
            Some(rows) => Ok(Rows::Batched(rows)),
            None => input::load(args, run).map(Rows::Whole),
        }
    }

    /// Opens data for a model that was fitted before, whose columns are looked for.
    pub(crate) fn open_for(saved: &SavedModel, args: &DataArgs, run: &RunArgs, batches: bool) -> Result<Self> {
        match BatchedRows::open(args, run, batches)? {
            Some(rows) => Ok(Rows::Batched(rows)),
            None => input::load_for(args, run, saved).map(Rows::Whole),
        }
    }

    /// Checks that a fit of these rows can be done, and maps a file where it has to be.
    pub(crate) fn ready_for(self, spec: &Spec, args: &FitArgs) -> Result<Self> {
        match self {
            Rows::Whole(input) => Ok(Rows::Whole(input)),
            Rows::Batched(rows) => rows.ready_for(spec, args).map(Rows::Batched),
        }
    }

    pub(crate) fn d(&self) -> usize {
        self.columns().len()
    }

    /// Names of the columns that become points.
    pub(crate) fn columns(&self) -> &[String] {
        match self {
            Rows::Whole(input) => &input.columns,
            Rows::Batched(rows) => &rows.columns,
        }
    }

    /// Names of the label columns.
    pub(crate) fn labels(&self) -> Vec<&str> {
        match self {
            Rows::Whole(input) => input.kept.names(),
            Rows::Batched(rows) => rows.labels.iter().map(String::as_str).collect(),
        }
    }

    pub(crate) fn source(&self) -> String {
        match self {
            Rows::Whole(input) => input.source.clone(),
            Rows::Batched(rows) => rows.stream.source(),
        }
    }

    pub(crate) fn is_whole(&self) -> bool {
        matches!(self, Rows::Whole(_))
    }

    /// The points, where they are in memory.
    pub(crate) fn points(&self) -> Option<&Points<f64>> {
        match self {
            Rows::Whole(input) => Some(&input.points),
            Rows::Batched(_) => None,
        }
    }

    /// The data in a line, before it is read.
    pub(crate) fn describe_unread(&self) -> String {
        match self {
            Rows::Whole(input) => input.describe(),
            Rows::Batched(rows) => {
                let known = rows
                    .stream
                    .rows()
                    .map_or("unknown number of rows".to_string(), |n| mercer_view::plural(n as usize, "row"));
                format!("{}: {known} x {}, read batch by batch", self.source(), numeric_columns(self.d()))
            }
        }
    }

    /// The data of so many rows in a line.
    pub(crate) fn describe(&self, n: u64) -> String {
        let text = input::described(&self.source(), (n as usize, self.d()), &self.labels());
        match self {
            Rows::Whole(_) => text,
            Rows::Batched(rows) if rows.mapped.is_some() => text + "   (mapped into memory)",
            Rows::Batched(_) => text + "   (read batch by batch)",
        }
    }

    /// The model in a line; of batches with the numbers that were found.
    pub(crate) fn describe_model(&self, spec: &Spec, model: &mercer::AnyModel) -> String {
        match (self, model) {
            (Rows::Batched(_), mercer::AnyModel::KernelPca(_)) => mercer_view::describe(model),
            _ => describe_spec(spec),
        }
    }

    /// Notes about the data.
    pub(crate) fn notes(&self) -> Vec<String> {
        match self {
            Rows::Whole(input) => input.notes(),
            Rows::Batched(rows) => rows.notes.borrow().clone(),
        }
    }

    /// Warnings about columns that distort distances between rows.
    pub(crate) fn hints(&self, ranges: &[(f64, f64)], scaled: bool) -> Vec<String> {
        match self {
            Rows::Whole(input) => input::hints(input, scaled),
            Rows::Batched(rows) => hints_of(&rows.columns, ranges, scaled),
        }
    }

    /// An error of the library with the file, and the place in it where it is known.
    pub(crate) fn about(&self, error: mercer::Error) -> Failure {
        match self {
            Rows::Whole(input) => input.about(error),
            Rows::Batched(_) => Failure::from(error).about(&self.source()),
        }
    }

    /// What a fit will do and need.
    pub(crate) fn plan(&self, spec: &Spec, exec: &Exec) -> mercer::Result<Plan> {
        match self {
            Rows::Whole(input) => spec.plan(&source_of(spec, &input.points), exec),
            Rows::Batched(rows) => match &rows.mapped {
                Some(mapped) => spec.plan(&mapped_source(mapped), exec),
                None => {
                    let mut sizes = Sizes { d: self.d(), n: rows.stream.rows() };
                    spec.plan(&Source::Batches(&mut sizes), exec)
                }
            },
        }
    }

    /// Fits the rows as planned.
    pub(crate) fn fit(&self, spec: &Spec, plan: Plan, watch: &Watch, exec: &Exec) -> Result<Fitted> {
        match self {
            Rows::Whole(input) => spec.run(plan, source_of(spec, &input.points), exec).map_err(|e| input.about(e)),
            Rows::Batched(rows) => rows.fit(spec, plan, watch, exec),
        }
    }

    /// Scores of the rows that the model was fitted to, where they are in memory.
    pub(crate) fn fitted_scores(&self, model: &mercer::AnyModel, exec: &Exec) -> Result<Option<Points<f64>>> {
        match self {
            Rows::Whole(input) => model.fitted_scores(&input.points, exec).map(Some).map_err(|e| input.about(e)),
            Rows::Batched(_) => Ok(None),
        }
    }

    /// Hands over the label columns and the scores of all rows, part by part; returns notes.
    fn each_scored(&self, job: &Scored<'_>, take: &mut dyn FnMut(Table) -> Result<()>) -> Result<Vec<String>> {
        let scored = |input: &Input, known: Option<&Points<f64>>| -> Result<Table> {
            let mut table = match known {
                Some(scores) => Table::of_points(scores, component),
                None => {
                    let scores = job.saved.model.transform(&input.points, job.exec).map_err(|e| input.about(e))?;
                    Table::of_points(&scores, component)
                }
            };
            if job.errors {
                let errors = job.saved.model.squared_errors(&input.points, job.exec);
                table.columns.push(Column::numbers("squared_error", errors.map_err(|e| input.about(e))?));
            }
            input.beside(table)
        };
        match self {
            Rows::Whole(input) => {
                take(scored(input, job.known)?)?;
                Ok(input.notes())
            }
            Rows::Batched(rows) => {
                let wanted = (!job.fitted).then_some(job.saved);
                rows.each(wanted, true, job.watch, |batch| take(scored(&batch, None)?))
            }
        }
    }

    /// Writes the scores of all rows; returns notes.
    pub(crate) fn write_scores<W: std::io::Write + Send + 'static>(
        &self,
        job: &Scored<'_>,
        mut out: TableWriter<W>,
    ) -> Result<(TableWriter<W>, Vec<String>)> {
        let notes = self.each_scored(job, &mut |table| Ok(out.write(&table)?))?;
        Ok((out, notes))
    }

    /// Writes the scores of all rows to standard output; returns notes.
    pub(crate) fn print_scores(
        &self,
        job: &Scored<'_>,
        format: Format,
        terminal: &mut Terminal,
    ) -> Result<Vec<String>> {
        if self.is_whole() {
            return self.each_scored(job, &mut |table| terminal.data(&write_table(&table, format)?));
        }
        crate::stdout::check_open()?;
        let (out, notes) = self.write_scores(job, TableWriter::new(std::io::stdout(), format))?;
        out.finish_forward()?;
        Ok(notes)
    }

    /// The plot of the scores of rows in memory.
    pub(crate) fn scores_figure(&self, saved: &SavedModel, args: &FitArgs, scores: &Points<f64>) -> Option<Figure> {
        let Rows::Whole(input) = self else { return None };
        let colour = class_column(input, &args.data).map_or(Colour::None, Colour::of);
        let title = format!("{}: {}", input.source, mercer_view::title(&saved.model));
        let axes = Axes::default();
        (scores.d() > 0).then(|| mercer_view::scores(&title, scores, Some(&saved.model), &colour, axes, None))
    }
}

/// What scores are written of, and how.
pub(crate) struct Scored<'a> {
    pub(crate) saved: &'a SavedModel,
    /// Whether the model was fitted to these very rows; else its columns are looked for among those of the data.
    pub(crate) fitted: bool,
    /// Scores that are known already.
    pub(crate) known: Option<&'a Points<f64>>,
    /// Whether the squared error of each row is written beside.
    pub(crate) errors: bool,
    pub(crate) watch: &'a Watch,
    pub(crate) exec: &'a Exec,
}

/// Points, or a Gram matrix where there is no kernel.
pub(crate) fn source_of<'a>(spec: &Spec, points: &'a Points<f64>) -> Source<'a> {
    if is_of_gram(spec) { Source::gram(points) } else { Source::points(points) }
}

fn mapped_source(mapped: &MappedNpy) -> Source<'_> {
    match mapped.points() {
        MappedPoints::F64(x) => Source::points(x),
        MappedPoints::F32(x) => Source::points(x),
    }
}

/// The sizes of batches, for a plan.
struct Sizes {
    d: usize,
    n: Option<u64>,
}

impl Batches for Sizes {
    fn d(&self) -> usize {
        self.d
    }

    fn n(&self) -> Option<u64> {
        self.n
    }

    fn each(&mut self, _: &mut dyn FnMut(AnyPoints<'_>) -> mercer::Result<()>) -> mercer::Result<()> {
        Ok(())
    }
}

impl BatchedRows {
    /// The data as batches, if it is too large to be read whole, or if that is asked for.
    fn open(args: &DataArgs, run: &RunArgs, asked_for: bool) -> Result<Option<Self>> {
        if args.data.iter().any(|name| name == "-") {
            return match asked_for || args.data.len() > 1 {
                true => {
                    Err(Failure::Usage("standard input can be read only once, as a single table: name a file".into()))
                }
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
        let mut rows = BatchedRows {
            args: args.clone(),
            stream,
            kept,
            columns: Vec::new(),
            labels: Vec::new(),
            mapped: None,
            notes: Vec::new().into(),
        };
        let Some(first) = rows.stream.batches()?.next() else { return Ok(None) };
        let first = input::split(&dropping(args), first?.table, &rows.kept, None)?;
        rows.labels = first.kept.names().into_iter().map(String::from).collect();
        rows.columns = first.columns;
        Ok(Some(rows))
    }

    /// Refuses what cannot be done with rows that come in batches.
    fn ready_for(mut self, spec: &Spec, args: &FitArgs) -> Result<Self> {
        if let MissingArg::Mean = self.args.read.missing {
            return Err(Failure::Usage(
                "the argument '--missing mean' needs all rows at once, and these are read batch by batch: use '--missing drop'"
                    .into(),
            ));
        }
        if args.checkpoint.is_some() {
            return Err(Failure::Usage(
                "the argument '--checkpoint' is for fits of rows that are in memory, by passes".into(),
            ));
        }
        refuse_npy_on_stdout(args.output.as_deref(), args.format)?;
        if is_of_gram(spec) {
            let remedy = if args.stream { "leave out --stream" } else { "raise it with --memory" };
            return Err(Failure::Usage(format!("a Gram matrix has to fit the memory: {remedy}")));
        }
        if matches!(spec, Spec::KernelPca(kernel) if *kernel.get_approx() == Approx::None) {
            self.mapped = Some(Arc::new(self.map(args)?));
        }
        Ok(self)
    }

    /// Maps an NPY file into memory: exact kernel PCA needs all rows.
    fn map(&self, args: &FitArgs) -> Result<MappedNpy> {
        let refused = || Failure::Error {
            message: format!("{}: exact kernel PCA needs all rows in memory", self.stream.source()),
            help: Some(format!(
                "{}, take landmarks with --approx nystroem and no --tolerance, or store the rows as one float64 or float32 NPY file, which is mapped",
                if args.stream { "leave out --stream" } else { "raise --memory" }
            )),
        };
        let [name] = self.args.data.as_slice() else { return Err(refused()) };
        let names: Vec<&str> = self.stream.columns().iter().map(|c| c.name.as_str()).collect();
        let plain = Format::of_name(name) == Some(Format::NPY) && self.columns == names;
        if !plain || !matches!(self.args.read.missing, MissingArg::Error) {
            return Err(refused());
        }
        mercer_io::exit_on_lost_pages();
        Ok(MappedNpy::open(name)?)
    }

    fn fit(&self, spec: &Spec, plan: Plan, watch: &Watch, exec: &Exec) -> Result<Fitted> {
        let about = |e: mercer::Error| match e.kind() {
            ErrorKind::Cancelled => {
                Failure::Interrupted { message: "interrupted; nothing was written".into(), help: None }
            }
            _ => Failure::from(e).about(&self.stream.source()),
        };
        if let Some(mapped) = &self.mapped {
            // A file that changes has no model: the work ends at the next pass.
            let (file, cancelled) = (Arc::clone(mapped), watch.canceller());
            let exec = exec.clone().progress(Arc::new(move |event| {
                if matches!(event, Progress::Pass { .. }) && file.check_unchanged().is_err() {
                    cancelled.store(true, Ordering::SeqCst);
                }
            }));
            let fitted = spec.run(plan, mapped_source(mapped), &exec);
            mapped.check_unchanged()?;
            return fitted.map_err(about);
        }
        let mut passes = Passes { rows: self, watch, failure: None };
        let fitted = spec.run(plan, Source::Batches(&mut passes), exec);
        fitted.map_err(|e| passes.failure.take().unwrap_or_else(|| about(e)))
    }

    /// Passes over all batches, with the label columns or without; returns notes.
    fn each(
        &self,
        wanted: Option<&SavedModel>,
        with_labels: bool,
        watch: &Watch,
        mut take: impl FnMut(Input) -> Result<()>,
    ) -> Result<Vec<String>> {
        let args = &self.args;
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
            watch.check_cancelled()?;
            let table = batch?.table;
            // In the order of the model, or of the choice, which need not be that of the file.
            let order = match wanted {
                Some(saved) => (saved.columns.as_slice(), saved.model.column_means()),
                None => (self.columns.as_slice(), None),
            };
            let mut input = input::split(&plain, table, kept, Some(order))?;
            rows += input.points.n() as u64;
            Note::add(&mut notes, input.take_notes());
            watch.rows(rows, self.stream.rows());
            if input.points.n() > 0 {
                take(input)?;
            }
        }
        Ok(notes.iter().map(remedy::note).collect())
    }
}

/// Passes over rows for the library; what the reader fails with is kept here.
struct Passes<'a> {
    rows: &'a BatchedRows,
    watch: &'a Watch,
    failure: Option<Failure>,
}

impl Batches for Passes<'_> {
    fn d(&self) -> usize {
        self.rows.columns.len()
    }

    fn n(&self) -> Option<u64> {
        self.rows.stream.rows()
    }

    fn each(&mut self, take: &mut dyn FnMut(AnyPoints<'_>) -> mercer::Result<()>) -> mercer::Result<()> {
        let done = self
            .rows
            .each(None, false, self.watch, |batch| take(batch.points.view().into()).map_err(|e| batch.about(e)));
        match done {
            Ok(notes) => {
                *self.rows.notes.borrow_mut() = notes;
                Ok(())
            }
            Err(failure) => {
                self.failure = Some(failure);
                Err(ErrorKind::Source { what: "the rows could not be read".into() }.into())
            }
        }
    }
}

/// NPY has its number of rows in front, which is not known before the last of them.
pub(crate) fn refuse_npy_on_stdout(output: Option<&str>, format: Format) -> Result<()> {
    match output == Some("-") && format == Format::NPY {
        true => Err(Failure::Usage(
            "NPY cannot be written to standard output batch by batch: name a file, or write csv or parquet".into(),
        )),
        false => Ok(()),
    }
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
