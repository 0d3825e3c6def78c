//! What the server keeps: tables, the last selections and results, limits, and the queue of work.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::http::StatusCode;
use mercer::{AnyModel, Exec, Points, Spec};
use mercer_view::ReportedFit;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::data::{Data, Origin};
use crate::error::{Refusal, Result, lost};
use crate::request::DataChoice;
use crate::selection::{PcaResult, Selection};

/// Tables dropped on the page that are kept; the oldest is removed first.
const KEPT_TABLES: usize = 8;
/// Selections that are kept: those of a few open pages; fewer where they are large.
const KEPT_SELECTIONS: usize = 8;
/// Results that are kept: those of a few open pages, and those still being drawn; fewer where they are large.
const KEPT_RESULTS: usize = 32;
const LEAST_RESULTS: usize = 2;
/// Selections, and results, may each take one part in so many of the memory.
const KEPT_SHARE: u64 = 8;
/// Jobs that wait at most, and how long.
const MOST_WAITING: usize = 128;
const LONGEST_WAIT: Duration = Duration::from_secs(120);
/// Jobs that run at the same time.
const AT_ONCE: usize = 2;

/// Sizes and times beyond which requests are refused; the page gets the sizes, too.
pub(crate) struct Limits {
    /// Bytes of a table.
    pub(crate) upload: usize,
    /// Bytes of any other request.
    pub(crate) request: usize,
    /// Points that are refitted while a slider moves.
    pub(crate) live: usize,
    /// Time for the head of a request.
    pub(crate) head_within: Duration,
    /// Time for its body.
    pub(crate) body_within: Duration,
    /// Time in which a client has to take something of its answer.
    pub(crate) taken_within: Duration,
    /// Time until an answer begins.
    pub(crate) answer_within: Duration,
    /// Time for a fit, whose answer begins at once.
    pub(crate) fit_within: Duration,
}

/// A fitted model with its points.
pub(crate) struct FitResult {
    pub(crate) id: usize,
    /// What was fitted: the spec of the command that is shown beside the result.
    pub(crate) spec: Spec,
    pub(crate) selection: Arc<Selection>,
    pub(crate) model: AnyModel,
    pub(crate) scores: Points<f64>,
    /// PCA of the same selection.
    pub(crate) pca: Arc<PcaResult>,
    pub(crate) notes: Vec<String>,
    pub(crate) plan: String,
}

impl FitResult {
    /// Returns about how much memory it takes; a kernel model has a copy of the points.
    fn bytes(&self) -> u64 {
        let of = |x: &Points<f64>| x.as_slice().len();
        let own = of(&self.selection.points) + 2 * of(&self.scores) + of(&self.pca.scores);
        8 * own as u64 + self.selection.bytes()
    }

    pub(crate) fn fitted(&self) -> ReportedFit<'_> {
        let Selection { data, columns, points, colour, .. } = &*self.selection;
        ReportedFit { source: &data.name, columns, points, model: &self.model, scores: &self.scores, colour }
    }
}

/// The state of the server.
pub(crate) struct App {
    /// Number of the table to begin with.
    pub(crate) first: usize,
    pub(crate) limits: Limits,
    exec: Exec,
    data: Mutex<Vec<Arc<Data>>>,
    selections: Mutex<VecDeque<Arc<Selection>>>,
    results: Mutex<VecDeque<Arc<FitResult>>>,
    turns: Arc<Semaphore>,
    waiting: AtomicUsize,
    ids: AtomicUsize,
    /// Set when the server shuts down: no job starts any more.
    pub(crate) ending: AtomicBool,
}

impl App {
    pub(crate) fn new(data: Vec<Data>, first: usize, exec: Exec, limits: Limits) -> Self {
        App {
            first,
            limits,
            ids: AtomicUsize::new(data.len()),
            // Jobs that run at the same time share the memory.
            exec: exec.clone().memory(exec.get_memory() / AT_ONCE as u64),
            data: Mutex::new(data.into_iter().map(Arc::new).collect()),
            selections: Mutex::default(),
            results: Mutex::default(),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            waiting: AtomicUsize::new(0),
            ending: AtomicBool::new(false),
        }
    }

    /// Returns the execution settings of a job, which is cancelled when the flag is set.
    pub(crate) fn exec(&self, cancel: Arc<AtomicBool>) -> Exec {
        self.exec.clone().cancel(cancel)
    }

    /// Returns a number that is used nowhere else.
    pub(crate) fn next_id(&self) -> usize {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// Waits for a place to run a job, which is held until it is dropped.
    pub(crate) async fn turn(&self) -> Result<OwnedSemaphorePermit> {
        let busy = || {
            let help = "wait until a fit is done, or close other pages";
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "the server is busy with other fits", help)
        };
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= MOST_WAITING {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(busy());
        }
        let _waiting = Waiting(&self.waiting);
        match tokio::time::timeout(LONGEST_WAIT, Arc::clone(&self.turns).acquire_owned()).await {
            Ok(Ok(turn)) => Ok(turn),
            _ => Err(busy()),
        }
    }

    /// Runs a job on a thread of its own as soon as there is a place. It keeps the place until it ends, and is cancelled when
    /// the request is dropped.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Exec) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let waiting = StopOnDrop::default();
        let turn = self.turn().await?;
        let exec = self.exec(waiting.flag());
        let done = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            job(&exec)
        });
        done.await.map_err(lost)?
    }

    /// Returns the random seed.
    pub(crate) fn seed(&self) -> u64 {
        self.exec.get_seed()
    }

    pub(crate) fn all_data(&self) -> Vec<Arc<Data>> {
        locked(&self.data).clone()
    }

    pub(crate) fn data(&self, id: usize) -> Result<Arc<Data>> {
        let found = locked(&self.data).iter().find(|d| d.id == id).cloned();
        found.ok_or_else(|| Refusal::gone("the table is no longer kept", "drop the file on the page again"))
    }

    pub(crate) fn add_data(&self, make: impl FnOnce(usize) -> Data) -> Result<Arc<Data>> {
        let data = Arc::new(make(self.next_id()));
        let most = self.exec.get_memory() / KEPT_SHARE * 2;
        if data.bytes() > most {
            let what = format!("{}: needs more memory than is set aside for tables", data.name);
            let help = "raise `mercer explore --memory`, or use `mercer fit`";
            return Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, what, help));
        }
        let mut all = locked(&self.data);
        all.push(Arc::clone(&data));
        let dropped = |d: &&Arc<Data>| d.origin == Origin::Dropped;
        let too_many = |all: &[Arc<Data>]| {
            let bytes = all.iter().filter(dropped).map(|d| d.bytes()).sum::<u64>();
            all.iter().filter(dropped).count() > KEPT_TABLES || bytes > most
        };
        while too_many(&all)
            && let Some(oldest) = all.iter().position(|d| dropped(&d))
        {
            let gone = all.remove(oldest);
            locked(&self.selections).retain(|s| s.data.id != gone.id);
            locked(&self.results).retain(|r| r.selection.data.id != gone.id);
        }
        Ok(data)
    }

    pub(crate) fn result(&self, id: usize) -> Result<Arc<FitResult>> {
        let found = locked(&self.results).iter().find(|r| r.id == id).cloned();
        found.ok_or_else(|| Refusal::gone("the result is no longer kept", "change a setting to fit again"))
    }

    /// Returns the points of a choice of data: those of an earlier fit of the same choice, or new ones.
    pub(crate) fn selection(&self, data: Arc<Data>, choice: DataChoice) -> Result<Arc<Selection>> {
        // The last one used is kept longest.
        let used = |all: &mut VecDeque<Arc<Selection>>| {
            let found = all.iter().position(|s| s.is_of(&choice)).and_then(|at| all.remove(at))?;
            all.push_back(Arc::clone(&found));
            Some(found)
        };
        if let Some(found) = used(&mut locked(&self.selections)) {
            return Ok(found);
        }
        let made = Arc::new(Selection::new(self.next_id(), data, choice.clone())?);
        let mut all = locked(&self.selections);
        // Another fit may have built the same in the meantime.
        if let Some(found) = used(&mut all) {
            return Ok(found);
        }
        all.push_back(Arc::clone(&made));
        self.drop_oldest(&mut all, 1, KEPT_SELECTIONS, Selection::bytes);
        Ok(made)
    }

    pub(crate) fn add_result(&self, result: FitResult) {
        let mut all = locked(&self.results);
        all.push_back(Arc::new(result));
        self.drop_oldest(&mut all, LEAST_RESULTS, KEPT_RESULTS, FitResult::bytes);
    }

    /// Drops the oldest of what is kept until it is few and small enough; `least` are kept whatever their size.
    fn drop_oldest<T>(&self, all: &mut VecDeque<Arc<T>>, least: usize, most: usize, bytes: fn(&T) -> u64) {
        let budget = self.exec.get_memory() / KEPT_SHARE;
        let too_large = |all: &VecDeque<Arc<T>>| all.iter().map(|one| bytes(one)).sum::<u64>() > budget;
        while all.len() > most || (all.len() > least && too_large(all)) {
            all.pop_front();
        }
    }
}

/// A flag that is set when this is dropped, which cancels the job.
#[derive(Default)]
pub(crate) struct StopOnDrop(Arc<AtomicBool>);

impl StopOnDrop {
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Counts a job that waits, until it is dropped.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Locks a mutex, also after a panic: nothing is left half changed under these locks.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
