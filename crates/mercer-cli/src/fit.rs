//! `mercer fit`: from a table to scores and a model.

use std::io::Write;

use mercer::{AnyModel, Approx, Components, KernelPca, Landmarks, Pca, Points, Route};
use mercer_io::{Column, Format, Outputs, SavedModel, StagedFile, Table, TableWriter, write_table};
use serde_json::json;

use crate::args::{ApproxArg, FitArgs, ModelArgs, RouteArg, RunArgs};
use crate::input::{self, Input, KernelChoice, class_column, exec, hints, load};
use crate::output::{Failure, Outcome, Result, Terminal, help, json, line, table};
use crate::progress::Watch;
use crate::stream;
use mercer_view::{
    Axes, Colour, component, describe_kernel, describe_pca, eigenvalue_meaning, short, shown_eigenvalues,
};

/// Components when nobody says how many.
pub(crate) const DEFAULT_COMPONENTS: usize = 10;
/// The name of the memory budget in a checkpoint.
const BUDGET: &str = "memory budget";

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
    if let Some(rows) = stream::open(&args.data, run, args.stream)? {
        return stream::fit(args, run, choice, rows, terminal);
    }
    let data = load(&args.data, run)?;
    let exec = exec(run);
    let shape = (data.points.n(), data.points.d());
    let spec = Spec::new(&args.model, choice, shape, run)?;
    if args.explain {
        return explain(&data.describe(), &spec.describe(&args.model), spec.plan(shape, &exec), &exec, terminal);
    }
    let plan = spec.plan(shape, &exec).map_err(|e| data.about(e))?;
    if plan.route == "landmarks" && args.checkpoint.is_some() {
        return Err(Failure::Usage("the argument '--checkpoint' is for exact components: add '--approx none'".into()));
    }

    let (model, scores, watch) = spec.fit_watched(args, &data, run, exec, terminal)?;
    let saved = SavedModel { model, columns: data.columns.clone(), front: None };
    let show = !args.no_plot && !args.json && !to_stdout && terminal.is_terminal();
    let picture = (show && scores.d() > 0).then(|| {
        let colour = class_column(&data, &args.data).map_or(Colour::None, Colour::of);
        let title = format!("{}: {}", data.source, mercer_view::title(&saved.model));
        mercer_view::scores(&title, &scores, Some(&saved.model), &colour, Axes::default(), None)
    });
    let scores = data.beside(Table::of_points(&scores, component))?;
    let written = match args.output.as_deref() {
        Some("-") => {
            terminal.data(&write_table(&scores, args.format)?)?;
            Vec::new()
        }
        Some(prefix) => {
            let mut written = Written::new(prefix, args.format);
            if !args.no_scores {
                written.stage("scores", &scores)?;
            }
            written.finish(&saved)?
        }
        None => Vec::new(),
    };
    // Only now: results that cannot be written can still be had from the checkpoint.
    watch.map_or(Ok(()), Watch::done)?;
    if args.json {
        let facts = json!({
            "source": data.source, "rows": data.points.n(), "columns": data.columns, "kept": data.kept.names(),
            "notes": data.notes(),
        });
        return json(&mut terminal.out, &summary_json(&saved, facts, &written));
    }
    let told = Told {
        data: data.describe(),
        names: args.data.data.clone(),
        notes: data.notes().into_iter().chain(hints(&data, args.model.scale)).collect(),
        why: plan.why,
    };
    summarise(args, &spec, &told, &saved.model, &written, &mut *terminal.summary(to_stdout))?;
    if let Some(picture) = picture {
        crate::plot::after_fit(&picture, &mut *terminal.summary(to_stdout))?;
    }
    Ok(Outcome::Done)
}

/// What a summary says beside the model.
pub(crate) struct Told {
    /// The data in a line, and its names.
    pub(crate) data: String,
    pub(crate) names: Vec<String>,
    pub(crate) notes: Vec<String>,
    /// Why it was done so.
    pub(crate) why: String,
}

pub(crate) fn explain(
    data: &str,
    model: &str,
    plan: mercer::Result<mercer::Plan>,
    exec: &mercer::Exec,
    terminal: &mut Terminal,
) -> Result {
    let out = &mut terminal.out;
    line(out, "data", data)?;
    line(out, "model", model)?;
    line(out, "budget", format!("{} (--memory)", mercer::Bytes(u128::from(exec.memory_budget()))))?;
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

/// What is fitted.
pub(crate) enum Spec {
    Pca(Pca),
    /// The flag: the data is itself a Gram matrix.
    Kernel(KernelPca, bool),
}

impl Spec {
    /// For n points of d dimensions, n being as large as it gets where it is not known.
    pub(crate) fn new(args: &ModelArgs, choice: KernelChoice, (n, d): (usize, usize), run: &RunArgs) -> Result<Self> {
        let (kernel, precomputed) = match choice {
            KernelChoice::Kernel(kernel) => (KernelPca::new(kernel), false),
            KernelChoice::Precomputed if args.scale => {
                return Err(Failure::Usage("the argument '--scale' cannot be used with '--kernel precomputed'".into()));
            }
            KernelChoice::Precomputed => (KernelPca::custom(), true),
            KernelChoice::None => {
                let embedding = args.embed.clone().unwrap_or(mercer::Embedding::Identity);
                let most = embedding.features(d).unwrap_or(u128::MAX).min(n as u128);
                let default = Components::Count((DEFAULT_COMPONENTS as u128).min(most) as usize);
                let route = match args.route {
                    RouteArg::Auto => Route::Auto,
                    RouteArg::Covariance => Route::Covariance,
                    RouteArg::Gram => Route::Gram,
                    RouteArg::Svd => Route::Svd,
                };
                return Ok(Spec::Pca(
                    Pca::new()
                        .components(args.components.unwrap_or(default))
                        .center(!args.no_center)
                        .standardise(args.scale)
                        .whiten(args.whiten)
                        .route(route)
                        .embed(embedding),
                ));
            }
        };
        let components = args.components.unwrap_or(Components::Count(DEFAULT_COMPONENTS.min(n)));
        let mut kernel = kernel.components(components).standardise(args.scale);
        if precomputed
            && (args.landmarks.is_some() || args.trace_error.is_some() || matches!(args.approx, ApproxArg::Nystroem(_)))
        {
            return Err(Failure::Usage("landmarks are points, and '--kernel precomputed' has none".into()));
        }
        if !precomputed {
            kernel = kernel.approx(approx(args, d, run)?);
        }
        if let Some(tolerance) = args.tolerance {
            kernel = kernel.tolerance(tolerance);
        }
        Ok(Spec::Kernel(kernel, precomputed))
    }

    /// What the fit will do and need.
    pub(crate) fn plan(&self, (n, d): (usize, usize), exec: &mercer::Exec) -> mercer::Result<mercer::Plan> {
        // As the fit, which keeps the results of its passes.
        let exec = exec.clone().journal(std::sync::Arc::new(mercer_io::Checkpoint::in_memory(Vec::new())));
        match self {
            Spec::Pca(pca) => pca.plan(n, d, &exec),
            Spec::Kernel(kernel, true) => kernel.plan_given(n, &exec),
            Spec::Kernel(kernel, false) => kernel.plan(n, d, &exec),
        }
    }

    pub(crate) fn fit(&self, x: &Points<f64>, exec: &mercer::Exec) -> mercer::Result<(AnyModel, Points<f64>)> {
        match self {
            Spec::Pca(pca) => {
                let model = pca.fit_with(x, exec)?;
                let scores = model.transform_with(x, exec)?;
                Ok((AnyModel::Pca(model), scores))
            }
            Spec::Kernel(kernel, true) => {
                let model = kernel.fit_gram_with(x, exec)?;
                let scores = model.scores();
                Ok((AnyModel::KernelPca(model), scores))
            }
            Spec::Kernel(kernel, false) => {
                let model = kernel.fit_with(x, exec)?;
                // Landmarks are not all points.
                let scores = if model.is_exact() { model.scores() } else { model.transform_with(x, exec)? };
                Ok((AnyModel::KernelPca(model), scores))
            }
        }
    }

    /// As [`Spec::fit`], with progress, Ctrl-C and checkpoints for kernels, whose fits can be long.
    fn fit_watched(
        &self,
        args: &FitArgs,
        data: &Input,
        run: &RunArgs,
        exec: mercer::Exec,
        terminal: &Terminal,
    ) -> Result<(AnyModel, Points<f64>, Option<Watch>)> {
        if matches!(self, Spec::Pca(_)) {
            let (model, scores) = self.fit(&data.points, &exec).map_err(|e| data.about(e))?;
            return Ok((model, scores, None));
        }
        // The plan depends on the budget, which depends on what is free, unless it is told: what was planned stays.
        let earlier = args.checkpoint.as_ref().filter(|_| args.resume).and_then(mercer_io::Checkpoint::task_of);
        let earlier = earlier.unwrap_or_default().into_iter().find(|(name, _)| name == BUDGET);
        let earlier = earlier.and_then(|(_, value)| value.parse().ok());
        let free = exec.memory_budget();
        let exec = exec.memory(run.memory.or(earlier).unwrap_or(free));
        let budget = earlier.unwrap_or(exec.memory_budget());
        let (watch, exec) = Watch::new(args, self.task(args, data, run, budget), terminal.is_quiet(), exec)?;
        match self.fit(&data.points, &exec) {
            Ok((model, scores)) => {
                watch.clear();
                Ok((model, scores, Some(watch)))
            }
            Err(e) if *e.kind() == mercer::ErrorKind::Cancelled => Err(watch.interrupted(args.output.as_deref())),
            Err(e) => {
                watch.failed();
                Err(data.about(e))
            }
        }
    }

    /// All that the passes of a fit depend on.
    fn task(&self, args: &FitArgs, data: &Input, run: &RunArgs, budget: u64) -> Vec<(String, String)> {
        let (n, d) = (data.points.n(), data.points.d());
        let components = args.model.components.map_or("the default".to_string(), |k| k.to_string());
        let tolerance = args.model.tolerance.map_or("the default".to_string(), |t| t.to_string());
        let facts = [
            ("data", format!("{n} x {d} with fingerprint {:016x}", mercer::fingerprint(data.points.as_slice()))),
            ("model", format!("{}, {:?}", self.describe(&args.model), args.model.approx)),
            ("number of components", components),
            ("tolerance", tolerance),
            ("seed", run.seed.to_string()),
            (BUDGET, budget.to_string()),
            ("version", env!("CARGO_PKG_VERSION").to_string()),
        ];
        facts.map(|(name, value)| (name.to_string(), value)).to_vec()
    }

    pub(crate) fn describe(&self, args: &ModelArgs) -> String {
        match self {
            Spec::Kernel(_, true) => describe_kernel(None, false),
            Spec::Kernel(kernel, false) => describe_kernel(Some(kernel.kernel()), args.scale),
            Spec::Pca(_) => {
                let embedding = args.embed.clone().unwrap_or(mercer::Embedding::Identity);
                describe_pca(!args.no_center, args.scale, args.whiten, &embedding)
            }
        }
    }
}

/// How landmarks are chosen.
fn approx(args: &ModelArgs, d: usize, run: &RunArgs) -> Result<Approx> {
    let wanted = match args.approx {
        ApproxArg::None if args.landmarks.is_some() || args.trace_error.is_some() => {
            return Err(Failure::Usage("landmarks are not for exact components: leave out '--approx none'".into()));
        }
        ApproxArg::None => return Ok(Approx::None),
        // Whoever states a tolerance wants the exact components.
        ApproxArg::Auto if args.landmarks.is_none() && args.trace_error.is_none() => {
            return Ok(if args.tolerance.is_some() { Approx::None } else { Approx::Auto });
        }
        ApproxArg::Auto => None,
        ApproxArg::Nystroem(m) => m,
    };
    if args.tolerance.is_some() {
        return Err(Failure::Usage(
            "the argument '--tolerance' is for exact components, and these are by landmarks".into(),
        ));
    }
    if let Some(share) = args.trace_error {
        if !(share > 0.0 && share < 1.0) {
            return Err(Failure::Usage(format!(
                "'--trace-error' is a share of the variance between 0 and 1, not {share}"
            )));
        }
        if wanted.is_some() {
            return Err(Failure::Usage(
                "a number of landmarks cannot be used with '--trace-error', which finds it".into(),
            ));
        }
        return Ok(Approx::Landmarks(Landmarks::TraceError(share)));
    }
    let Landmarks::KMeans(usual) = Landmarks::default() else { unreachable!("the default is a number of centres") };
    let m = wanted.unwrap_or(usual);
    Ok(Approx::Landmarks(match args.landmarks.as_deref() {
        None | Some("kmeans") => Landmarks::KMeans(m),
        Some("uniform") => Landmarks::Uniform(m),
        Some("rpcholesky") => Landmarks::RpCholesky(m),
        Some(file) => {
            let points = mercer_io::read_with(file, &input::plain_options(run))?.points()?;
            let (n, found) = (points.n(), points.d());
            if let Some(m) = wanted.filter(|m| *m != n) {
                return Err(Failure::Usage(format!(
                    "{file} has {n} landmarks, and '--approx nystroem={m}' asks for {m}"
                )));
            }
            if found != d {
                return Err(Failure::Error {
                    message: format!("{file}: has landmarks of {found} numeric columns, where {d} are needed"),
                    help: Some("it needs the numeric columns of the data, in their order, and nothing else".into()),
                });
            }
            Landmarks::Given(points)
        }
    }))
}

/// The files of a fit, which appear together or not at all.
pub(crate) struct Written<'a> {
    prefix: &'a str,
    format: Format,
    outputs: Outputs,
    names: Vec<String>,
}

impl<'a> Written<'a> {
    pub(crate) fn new(prefix: &'a str, format: Format) -> Self {
        Written { prefix, format, outputs: Outputs::new(), names: Vec::new() }
    }

    fn path(&mut self, what: &str) -> String {
        let path = format!("{}.{what}", self.prefix);
        self.names.push(path.clone());
        path
    }

    /// A table.
    pub(crate) fn stage(&mut self, what: &str, table: &Table) -> Result<()> {
        let path = self.path(&format!("{what}.{}", self.format.name()));
        Ok(self.outputs.stage(&path, write_table(table, self.format)?)?)
    }

    /// A table that is written part by part, and given back to [`Written::join`].
    pub(crate) fn begin(&mut self, what: &str) -> Result<TableWriter<StagedFile>> {
        let path = self.path(&format!("{what}.{}", self.format.name()));
        Ok(TableWriter::new(Outputs::stage_file(&path)?, self.format))
    }

    pub(crate) fn join(&mut self, table: TableWriter<StagedFile>) -> Result<()> {
        Ok(self.outputs.join(table.finish()?)?)
    }

    /// What is known of the components, and the model; then all take their places.
    pub(crate) fn finish(mut self, saved: &SavedModel) -> Result<Vec<String>> {
        self.stage("eigenvalues", &mercer_view::eigenvalue_table(&saved.model)?)?;
        if let AnyModel::Pca(model) = &saved.model {
            let mut columns = vec![Column::text("feature", model.embedding().names(&saved.columns))];
            columns.extend(Table::of_points(&transposed(&model.axes()), component).columns);
            self.stage("loadings", &Table::new("loadings", columns)?)?;
        }
        let path = self.path("mercer.safetensors");
        self.outputs.stage(&path, saved.to_bytes()?)?;
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

pub(crate) fn summarise(
    args: &FitArgs,
    spec: &Spec,
    told: &Told,
    model: &AnyModel,
    written: &[String],
    out: &mut dyn Write,
) -> Result<()> {
    line(out, "data", &told.data)?;
    line(out, "model", spec.describe(&args.model))?;
    match model {
        AnyModel::KernelPca(m) => {
            for choice in m.choices() {
                let bare = args.model.kernel.kernel.as_ref().is_some_and(|k| !k.contains(['(', '+', '*']));
                let how = match choice.parameter {
                    "gamma" if bare => "--gamma changes it".to_string(),
                    other => format!("{}({other}=NUMBER) in --kernel changes it", choice.kernel),
                };
                line(out, "chosen", format!("{choice}; {how}"))?;
            }
            let passes = m.certificate().passes();
            let method = match (passes.swift, passes.exact) {
                (0, 0) => "all eigenpairs of the stored Gram matrix".to_string(),
                (0, exact) => format!("{exact} passes over the Gram matrix"),
                (swift, exact) => {
                    format!("{swift} passes in f32 and {exact} in f64 over the Gram matrix")
                }
            };
            match m.certificate().approximation() {
                Some(_) => line(out, "method", format!("approximate: {} (--approx none is exact)", told.why))?,
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
        (None, found) => line(out, "chosen", format!("{found} components (-k changes it)"))?,
        (Some(Components::Count(wanted)), found) if wanted > found => {
            line(out, "note", format!("{wanted} components asked for, but only {found} have variance"))?;
        }
        _ => {}
    }
    spectrum_table(model, out)?;
    line(out, "eigenvalue", eigenvalue_meaning(model))?;
    if let Some(certificate) = model.certificate() {
        line(out, "accuracy", certificate)?;
    }
    for note in told.notes.iter().chain(model.notes()) {
        line(out, "note", note)?;
    }
    match written {
        [] if args.output.is_none() => line(out, "next", "-o PREFIX writes scores, eigenvalues and the model")?,
        [] => {}
        files => {
            line(out, "wrote", files.join("  "))?;
            let mut words = vec!["mercer".to_string(), "explore".into()];
            words.extend(told.names.first().filter(|name| told.names.len() == 1 && *name != "-").cloned());
            let explore = mercer_view::shell(&words);
            // Scores if there are any, else what the model says of itself.
            let plot = match args.no_scores {
                false => vec![files[0].clone()],
                true => vec![files[files.len() - 1].clone(), "--kind".into(), "scree".into()],
            };
            let plot = mercer_view::shell(&[vec!["mercer".to_string(), "plot".into()], plot].concat());
            line(out, "next", format!("{plot}   |   {explore}"))?;
        }
    }
    Ok(())
}

pub(crate) fn summary_json(saved: &SavedModel, data: serde_json::Value, written: &[String]) -> serde_json::Value {
    let mut value = crate::info::json_of(saved);
    value["data"] = data;
    value["files"] = json!(written);
    value
}
