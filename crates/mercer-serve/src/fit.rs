//! Fits. The answer to a request is a stream of events: progress, and at the end the result or an error. Closing the stream
//! cancels the fit.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_core::Stream;
use mercer::exec::{Progress, ProgressFn};
use mercer::{AnyModel, Exec, Source, Spec};
use mercer_view::{Colour, LabelAgreement, agreement, describe, eigenvalue_meaning, shown_eigenvalues};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::data::Data;
use crate::error::{Refusal, Result, lost};
use crate::plots;
use crate::request::{DataChoice, FitRequest, asked, pca_beside};
use crate::selection::{PcaResult, Selection};
use crate::state::{App, FitResult, StopOnDrop};
use crate::texts::Texts;

/// How often an idle connection is checked: the page may be closed.
const KEEP_ALIVE: Duration = Duration::from_millis(250);
/// The least time between two progress events.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Events for the page. Dropping them cancels the fit.
pub(crate) struct Events {
    received: UnboundedReceiver<Event>,
    _cancel: StopOnDrop,
}

impl Stream for Events {
    type Item = std::result::Result<Event, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.received.poll_recv(context).map(|event| event.map(Ok))
    }
}

fn send(to: &UnboundedSender<Event>, name: &str, value: &Value) {
    // An error means that the page has closed the stream.
    let _ = to.send(Event::default().event(name).data(value.to_string()));
}

/// Fits what the page asks for.
pub(crate) async fn fit(
    State(app): State<Arc<App>>,
    Json(request): Json<FitRequest>,
) -> Result<Sse<impl Stream<Item = std::result::Result<Event, Infallible>>>> {
    let (spec, choice) = (request.spec()?, request.choice);
    let data = app.data(choice.table)?;
    let stop = StopOnDrop::default();
    let cancel = stop.flag();
    let (sender, received) = unbounded_channel();
    let events = Events { received, _cancel: stop };
    tokio::spawn(async move {
        let done = async {
            let cancelled = || Refusal::from(mercer::Error::from(mercer::ErrorKind::Cancelled));
            // A page that closes the stream leaves the queue.
            let turn = tokio::select! {
                turn = app.turn() => turn?,
                () = sender.closed() => return Err(cancelled()),
            };
            if app.ending.load(Ordering::Relaxed) {
                return Err(cancelled());
            }
            let exec = app.exec(Arc::clone(&cancel)).progress(progress(sender.clone()));
            let id = app.next_id();
            let with = Arc::clone(&app);
            let work = tokio::task::spawn_blocking(move || {
                let _turn = turn;
                let start = Instant::now();
                let result = fitted(&with, id, data, choice, spec, &exec)?;
                let summary = summary(&with, &result, start.elapsed(), &exec)?;
                Ok::<_, Refusal>((result, summary))
            });
            let within = app.limits.fit_within;
            let Ok(done) = tokio::time::timeout(within, work).await else {
                cancel.store(true, Ordering::Relaxed);
                let what = format!("the fit took longer than {} seconds", within.as_secs());
                let help = "use fewer points or components, or the command: mercer fit";
                return Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, what, help));
            };
            let (result, summary) = done.map_err(lost)??;
            app.add_result(result);
            Ok::<Value, Refusal>(summary)
        };
        match done.await {
            Ok(summary) => send(&sender, "done", &summary),
            Err(refusal) => send(&sender, "failed", &refusal.to_json()),
        }
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

/// Sends progress as events, at most so many a second.
fn progress(to: UnboundedSender<Event>) -> ProgressFn {
    let last = std::sync::Mutex::new((Instant::now(), Value::Null));
    Arc::new(move |progress| {
        let Ok(mut last) = last.lock() else { return };
        let (at, pass) = &mut *last;
        match progress {
            Progress::Landmarks => send(&to, "progress", &json!({"stage": "landmarks"})),
            Progress::Pass { number, reached, wanted, in_f64 } => {
                *pass = json!({"stage": "pass", "number": number, "reached": reached, "wanted": wanted, "f64": in_f64});
                send(&to, "progress", pass);
            }
            Progress::Tiles { done, of } if at.elapsed() >= PROGRESS_INTERVAL => {
                *at = Instant::now();
                let mut value = pass.clone();
                value["share"] = json!(done as f64 / of.max(1) as f64);
                send(&to, "progress", &value);
            }
            _ => {}
        }
    })
}

/// Fits the model, and PCA of the same points unless it is kept.
fn fitted(app: &App, id: usize, data: Arc<Data>, choice: DataChoice, spec: Spec, exec: &Exec) -> Result<FitResult> {
    let selection = app.selection(data, choice)?;
    let Selection { points, colour, .. } = &*selection;
    let components = asked(&spec, points.n(), points.d());
    let spec = spec.with_components(components);
    let plan = spec.plan(&Source::points(points), exec)?;
    let text = plan.to_string();
    // Where PCA itself is asked for, it is the PCA that every result is shown beside.
    let pca = selection.pca(pca_beside(&spec), |pca| {
        let model = match &spec {
            Spec::Pca(_) => pca.fit_planned(plan.clone(), points, exec)?,
            _ => pca.fit_with(points, exec)?,
        };
        let scores = model.transform_with(points, exec)?;
        let agreement = agreement(&scores, colour, exec)?;
        Ok(PcaResult { id: app.next_id(), model, scores, agreement })
    })?;
    let (model, scores) = match &spec {
        Spec::Pca(_) => (AnyModel::Pca(pca.model.clone()), pca.scores.clone()),
        spec => {
            let model = spec.run(plan, Source::points(points), exec)?.model;
            let scores = model.fitted_scores(points, exec)?;
            (model, scores)
        }
    };
    let notes = selection.notes.iter().chain(model.notes()).cloned().collect();
    Ok(FitResult { id, spec, selection, model, scores, pca, notes, plan: text })
}

/// Returns the description of a result that the page gets.
fn summary(app: &App, result: &FitResult, took: Duration, exec: &Exec) -> Result<Value> {
    let FitResult { spec, selection, model, scores, pca, .. } = result;
    let Selection { data, columns, points, colour, .. } = &**selection;
    let agreement = match spec {
        Spec::Pca(_) => pca.agreement.clone(),
        _ => agreement(scores, colour, exec)?,
    };
    let (kernel, choices, preimages) = match model {
        AnyModel::KernelPca(m) => (m.kernel().map(ToString::to_string), m.choices(), m.has_preimages()),
        _ => (None, &[][..], true),
    };
    let k = model.components();
    let texts = Texts { spec, selection, found: k, seed: app.seed() };
    let (spectrum, certificate) = (model.spectrum(), model.certificate());
    Ok(json!({
        "id": result.id,
        "selection": selection.id,
        "n": points.n(),
        "d": points.d(),
        "columns": columns,
        "components": k,
        "asked": spec.components(),
        "model": describe(model),
        "kernel": kernel,
        "choices": choices.iter().map(|c| json!({"kernel": c.kernel, "parameter": c.parameter, "value": c.value, "rule": c.rule})).collect::<Vec<_>>(),
        "eigenvalues": shown_eigenvalues(model),
        "eigenvalue_meaning": eigenvalue_meaning(model),
        "shares": spectrum.map(|s| s.ratios()),
        "cumulative": spectrum.map(|s| s.cumulative()),
        "errors": certificate.zip(spectrum).map(|(c, s)| (0..k).map(|j| {
            let (below, above) = c.enclosure(j);
            [below / s.total().max(f64::MIN_POSITIVE), above / s.total().max(f64::MIN_POSITIVE)]
        }).collect::<Vec<_>>()),
        "certificate": certificate.map(ToString::to_string),
        "statements": certificate.map(|c| c.statements()),
        "pca": {
            "id": pca.id, "components": pca.scores.d(), "shares": pca.model.spectrum().ratios(),
            "agreement": agreement_json(pca.agreement.as_ref()),
        },
        "agreement": agreement_json(agreement.as_ref()),
        "colour": match colour {
            Colour::None => Value::Null,
            Colour::Classes { name, names, .. } => json!({"kind": "classes", "name": name, "names": names}),
            Colour::Number { name, values } => {
                json!({"kind": "number", "name": name, "range": mercer_view::range(values.iter().copied())})
            }
        },
        "preimages": preimages,
        "plots": plots::list(result),
        "plan": result.plan,
        "notes": result.notes,
        "seconds": took.as_secs_f64(),
        "command": texts.command("fit", &base(&data.name)),
        "python": texts.python(),
        "rust": texts.rust(),
    }))
}

/// The prefix of output files: the file name without folder and extension.
pub(crate) fn base(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let stem = last.split('.').next().unwrap_or(last);
    if stem.is_empty() || stem == "-" || stem.starts_with('-') { "explored".into() } else { stem.into() }
}

fn agreement_json(agreement: Option<&LabelAgreement>) -> Value {
    let one =
        |a: &mercer::k_means::Agreement| json!({"correct": a.correct, "n": a.n, "adjusted_rand": a.adjusted_rand});
    agreement.map_or(Value::Null, |a| json!({"first": one(&a.first), "both": a.both.as_ref().map(one)}))
}

/// Scans the width of the kernel: how much the plot changes with it.
pub(crate) async fn sweep(State(app): State<Arc<App>>, Json(request): Json<FitRequest>) -> Result<Json<Value>> {
    let (spec, choice) = (request.spec()?, request.choice);
    let data = app.data(choice.table)?;
    let Some(kernel) = spec.kernel().cloned() else { return Ok(Json(Value::Null)) };
    let with = Arc::clone(&app);
    let swept = app.work(move |exec| {
        let selection = with.selection(data, choice)?;
        let points = &selection.points;
        let points = if spec.is_standardised() { &mercer_view::standardised(points, exec)? } else { points };
        let Some(sweep) = mercer::widths::sweep(&kernel, points, exec)? else { return Ok(Value::Null) };
        let step = |s: &mercer::widths::SweepStep| json!({"value": s.value, "shares": s.shares, "change": s.change});
        Ok(json!({
            "parameter": sweep.parameter, "middle": sweep.middle, "interval": sweep.interval, "sampled": sweep.sampled,
            "steps": sweep.steps.iter().map(step).collect::<Vec<_>>(),
        }))
    });
    Ok(Json(swept.await?))
}
