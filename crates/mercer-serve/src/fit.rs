//! Fits, told as they go: the answer to a request is a stream of events, and ends with the result or an error. Who stops
//! listening stops the fit.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_core::Stream;
use mercer::{AnyModel, Exec, Progress, ProgressFn};
use mercer_view::{Agreed, Colour, agreement, describe, eigenvalue_meaning, shown_eigenvalues};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::data::Data;
use crate::error::{Refusal, Result, lost};
use crate::recipe::Recipe;
use crate::state::{App, Beside, Outcome, StopOnDrop};
use crate::texts::Texts;

/// How often a connection whose other end may be gone is tried.
const STILL_THERE: Duration = Duration::from_secs(1);
/// Progress is told this often at most.
const BETWEEN: Duration = Duration::from_millis(100);

/// Events for the page; the work stops when nobody takes them any more.
pub(crate) struct Events {
    received: UnboundedReceiver<Event>,
    _taken: StopOnDrop,
}

impl Stream for Events {
    type Item = std::result::Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.received.poll_recv(context).map(|event| event.map(Ok))
    }
}

fn tell(to: &UnboundedSender<Event>, name: &str, value: &Value) {
    // Who does not listen any more need not be told.
    let _ = to.send(Event::default().event(name).data(value.to_string()));
}

/// Fits what the page asks for.
pub(crate) async fn fit(
    State(app): State<Arc<App>>,
    Json(recipe): Json<Recipe>,
) -> Result<Sse<impl Stream<Item = std::result::Result<Event, Infallible>>>> {
    let kernel = recipe.kernel()?;
    let data = app.data(recipe.data)?;
    let taken = StopOnDrop::default();
    let cancel = taken.flag();
    let (sender, received) = unbounded_channel();
    let events = Events { received, _taken: taken };
    tokio::spawn(async move {
        let done = async {
            let cancelled = || Refusal::from(mercer::Error::from(mercer::ErrorKind::Cancelled));
            // Who goes away while waiting leaves the queue.
            let turn = tokio::select! {
                turn = app.turn() => turn?,
                () = sender.closed() => return Err(cancelled()),
            };
            if app.ending.load(Ordering::Relaxed) {
                return Err(cancelled());
            }
            let exec = app.exec(cancel).progress(progress(sender.clone()));
            let id = app.next_id();
            let with = Arc::clone(&app);
            let work = tokio::task::spawn_blocking(move || {
                let _turn = turn;
                fitted(&with, id, data, recipe, kernel, &exec)
            });
            let outcome = work.await.map_err(lost)??;
            let summary = outcome.summary.clone();
            app.add_result(outcome);
            Ok::<Value, Refusal>(summary)
        };
        match done.await {
            Ok(summary) => tell(&sender, "done", &summary),
            Err(refusal) => tell(&sender, "failed", &refusal.to_json()),
        }
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(STILL_THERE)))
}

/// Progress as events, not too many of them.
fn progress(to: UnboundedSender<Event>) -> ProgressFn {
    let last = std::sync::Mutex::new((Instant::now(), Value::Null));
    Arc::new(move |progress| {
        let Ok(mut last) = last.lock() else { return };
        let (at, pass) = &mut *last;
        match progress {
            Progress::Landmarks => tell(&to, "progress", &json!({"stage": "landmarks"})),
            Progress::Pass { number, reached, wanted, exact } => {
                *pass =
                    json!({"stage": "pass", "number": number, "reached": reached, "wanted": wanted, "exact": exact});
                tell(&to, "progress", pass);
            }
            Progress::Tiles { done, of } if at.elapsed() >= BETWEEN => {
                *at = Instant::now();
                let mut value = pass.clone();
                value["share"] = json!(done as f64 / of.max(1) as f64);
                tell(&to, "progress", &value);
            }
            _ => {}
        }
    })
}

/// The whole of a fit: points, the model, PCA beside it, and what the page is told.
fn fitted(
    app: &App,
    id: usize,
    data: Arc<Data>,
    recipe: Recipe,
    kernel: Option<mercer::Kernel>,
    exec: &Exec,
) -> Result<Outcome> {
    let start = Instant::now();
    let (points, kept, mut notes) = data.points(&recipe)?;
    let columns = recipe.columns(&data);
    let colour = match &recipe.label {
        Some(label) => Colour::of(kept.as_ref().unwrap_or(&data.table).column(label)?),
        None => Colour::None,
    };
    let plan = recipe.plan(kernel.as_ref(), &points, exec)?;
    let pca = app.pca(recipe.without_kernel(), || {
        let model = recipe.pca(&points).fit_with(&points, exec)?;
        let scores = model.transform_with(&points, exec)?;
        let agreed = agreement(&scores, &colour, exec)?;
        Ok(Beside { model, scores, agreed })
    })?;
    let (model, scores) = match kernel {
        Some(kernel) => {
            let model = recipe.kernel_pca(kernel, points.n()).fit_with(&points, exec)?;
            let scores = model.scores();
            (AnyModel::KernelPca(model), scores)
        }
        None => (AnyModel::Pca(pca.model.clone()), pca.scores.clone()),
    };
    let took = start.elapsed();
    let agreed = if recipe.kernel.is_some() { agreement(&scores, &colour, exec)? } else { pca.agreed.clone() };
    notes.extend(model.notes().iter().cloned());
    let choices = match &model {
        AnyModel::KernelPca(m) => m.choices().to_vec(),
        _ => Vec::new(),
    };
    let count = recipe.count(points.n(), points.d());
    let found = model.components();
    let texts = Texts { recipe: &recipe, data: &data, columns: &columns, k: count, found, seed: app.seed() };
    let spectrum = model.spectrum();
    let (certificate, k) = (model.certificate(), model.components());
    let summary = json!({
        "id": id,
        "n": points.n(),
        "d": points.d(),
        "columns": columns,
        "components": k,
        "asked": count,
        "model": describe(&model),
        "kernel": match &model { AnyModel::KernelPca(m) => m.kernel().map(ToString::to_string), _ => None },
        "choices": choices.iter().map(|c| json!({"kernel": c.kernel, "parameter": c.parameter, "value": c.value, "rule": c.rule})).collect::<Vec<_>>(),
        "eigenvalues": shown_eigenvalues(&model),
        "eigenvalue_meaning": eigenvalue_meaning(&model),
        "shares": spectrum.map(|s| s.ratios()),
        "cumulative": spectrum.map(|s| s.cumulative()),
        "errors": certificate.zip(spectrum).map(|(c, s)| (0..k).map(|j| {
            let (below, above) = c.enclosure(j);
            [below / s.total().max(f64::MIN_POSITIVE), above / s.total().max(f64::MIN_POSITIVE)]
        }).collect::<Vec<_>>()),
        "certificate": certificate.map(ToString::to_string),
        "pca": {"shares": pca.model.spectrum().ratios(), "agreement": json_of(pca.agreed.as_ref()), "components": pca.scores.d()},
        "agreement": json_of(agreed.as_ref()),
        "colour": match &colour {
            Colour::None => Value::Null,
            Colour::Classes { name, names, .. } => json!({"kind": "classes", "name": name, "names": names}),
            Colour::Number { name, values } => {
                json!({"kind": "number", "name": name, "range": mercer_view::range(values.iter().copied())})
            }
        },
        "preimages": match &model { AnyModel::KernelPca(m) => m.has_preimages(), _ => true },
        "plan": plan,
        "notes": notes,
        "seconds": took.as_secs_f64(),
        "command": texts.command("fit", &base(&data.name)),
        "python": texts.python(),
        "rust": texts.rust(),
    });
    Ok(Outcome { id, data, recipe, points, columns, kept, model, scores, pca, colour, notes, plan, summary })
}

/// The beginning of the names of outputs: the file's without its folder and its end.
pub(crate) fn base(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let stem = last.split('.').next().unwrap_or(last);
    if stem.is_empty() || stem == "-" || stem.starts_with('-') { "explored".into() } else { stem.into() }
}

fn json_of(agreed: Option<&Agreed>) -> Value {
    let one = |a: &mercer::Agreement| json!({"correct": a.correct, "n": a.n, "adjusted_rand": a.adjusted_rand});
    agreed.map_or(Value::Null, |a| json!({"first": one(&a.first), "both": a.both.as_ref().map(one)}))
}

/// How the picture depends on the width of the kernel.
pub(crate) async fn sweep(State(app): State<Arc<App>>, Json(recipe): Json<Recipe>) -> Result<Json<Value>> {
    let (kernel, data) = (recipe.kernel()?, app.data(recipe.data)?);
    let Some(kernel) = kernel else { return Ok(Json(Value::Null)) };
    let swept = app.work(move |exec| {
        let (points, ..) = data.points(&recipe)?;
        let points = if recipe.scale { mercer_view::standardised(&points, exec)? } else { points };
        let Some(sweep) = mercer::sweep(&kernel, &points, exec)? else { return Ok(Value::Null) };
        let step = |s: &mercer::SweepStep| json!({"value": s.value, "shares": s.shares, "change": s.change});
        Ok(json!({
            "parameter": sweep.parameter, "middle": sweep.middle, "interval": sweep.interval, "sampled": sweep.sampled,
            "steps": sweep.steps.iter().map(step).collect::<Vec<_>>(),
        }))
    });
    Ok(Json(swept.await?))
}
