//! What the server keeps: tables, the last results, limits, and whose turn it is.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::http::StatusCode;
use mercer::{AnyModel, Exec, PcaModel, Points};
use mercer_io::Table;
use mercer_view::{Agreed, Colour, Fitted};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::data::{Data, Origin};
use crate::error::{Refusal, Result, lost};
use crate::recipe::Recipe;

/// Tables that were dropped on the page and are kept; the oldest goes first.
const KEPT_TABLES: usize = 8;
/// Results that are kept: those of a few open pages, and what is still being drawn; fewer where they are large.
const KEPT_RESULTS: usize = 32;
const LEAST_RESULTS: usize = 2;
/// The share of the memory that they may take.
const KEPT_SHARE: u64 = 8;
/// Pieces of work that wait for their turn at most, and how long.
const MOST_WAITING: usize = 32;
const LONGEST_WAIT: Duration = Duration::from_secs(120);
/// Pieces of work at the same time.
const AT_ONCE: usize = 2;

/// Sizes beyond which requests are refused, told to the page as well.
pub(crate) struct Limits {
    /// Bytes of a table.
    pub(crate) upload: usize,
    /// Bytes of any other request.
    pub(crate) request: usize,
    /// Points that are refitted while a slider moves.
    pub(crate) live: usize,
}

/// PCA, which a kernel does not change: it is kept while a slider moves.
pub(crate) struct Beside {
    pub(crate) model: PcaModel,
    pub(crate) scores: Points<f64>,
    pub(crate) agreed: Option<Agreed>,
}

/// A fitted model with its points.
pub(crate) struct Outcome {
    pub(crate) id: usize,
    pub(crate) data: Arc<Data>,
    pub(crate) recipe: Recipe,
    pub(crate) points: Points<f64>,
    pub(crate) columns: Vec<String>,
    /// All columns, row by row with the points, where rows were dropped; else they are the table's.
    pub(crate) kept: Option<Table>,
    pub(crate) model: AnyModel,
    pub(crate) scores: Points<f64>,
    /// PCA beside it.
    pub(crate) pca: Arc<Beside>,
    pub(crate) colour: Colour,
    pub(crate) notes: Vec<String>,
    pub(crate) plan: String,
    /// What the page is told.
    pub(crate) summary: Value,
}

impl Outcome {
    /// All columns, row by row with the points.
    pub(crate) fn beside(&self) -> &Table {
        self.kept.as_ref().unwrap_or(&self.data.table)
    }

    /// About how much memory it takes.
    fn bytes(&self) -> u64 {
        let of = |x: &Points<f64>| x.as_slice().len();
        let kept = self.kept.as_ref().map_or(0, |t| t.rows() * t.columns.len() * 2);
        8 * (2 * of(&self.points) + 2 * of(&self.scores) + of(&self.pca.scores) + kept) as u64
    }

    pub(crate) fn fitted(&self) -> Fitted<'_> {
        let Outcome { points, columns, model, scores, colour, .. } = self;
        Fitted { source: &self.data.name, columns, points, model, scores, colour }
    }
}

/// The state of the server.
pub(crate) struct App {
    /// Number of the table to begin with.
    pub(crate) first: usize,
    pub(crate) limits: Limits,
    exec: Exec,
    data: Mutex<Vec<Arc<Data>>>,
    results: Mutex<VecDeque<Arc<Outcome>>>,
    /// The last PCA, and what it was asked for by.
    beside: Mutex<Option<(String, Arc<Beside>)>>,
    turns: Arc<Semaphore>,
    waiting: AtomicUsize,
    ids: AtomicUsize,
    /// Set when the server ends: nothing new begins.
    pub(crate) ending: AtomicBool,
}

impl App {
    pub(crate) fn new(data: Vec<Data>, first: usize, exec: Exec, limits: Limits) -> Self {
        App {
            first,
            limits,
            ids: AtomicUsize::new(data.len()),
            // Two pieces of work share the memory.
            exec: exec.clone().memory(exec.memory_budget() / AT_ONCE as u64),
            data: Mutex::new(data.into_iter().map(Arc::new).collect()),
            results: Mutex::default(),
            beside: Mutex::default(),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            waiting: AtomicUsize::new(0),
            ending: AtomicBool::new(false),
        }
    }

    /// With what work is done; it stops when the flag is set.
    pub(crate) fn exec(&self, cancel: Arc<AtomicBool>) -> Exec {
        self.exec.clone().cancel(cancel)
    }

    /// A number that nothing else has.
    pub(crate) fn next_id(&self) -> usize {
        self.ids.fetch_add(1, Ordering::Relaxed)
    }

    /// Waits for a turn to work; held until it is dropped.
    pub(crate) async fn turn(&self) -> Result<OwnedSemaphorePermit> {
        let busy = || {
            let help = "wait until something is done, or close other pages";
            Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "too much is being computed already", help)
        };
        if self.waiting.fetch_add(1, Ordering::Relaxed) >= MOST_WAITING {
            self.waiting.fetch_sub(1, Ordering::Relaxed);
            return Err(busy());
        }
        let _waits = Waits(&self.waiting);
        match tokio::time::timeout(LONGEST_WAIT, Arc::clone(&self.turns).acquire_owned()).await {
            Ok(Ok(turn)) => Ok(turn),
            _ => Err(busy()),
        }
    }

    /// Does work when its turn has come, on a thread of its own. It has its turn as long as it goes on, and is told to stop
    /// when nobody waits for it any more.
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

    /// The seed of whatever is drawn at random.
    pub(crate) fn seed(&self) -> u64 {
        self.exec.seed_value()
    }

    pub(crate) fn all_data(&self) -> Vec<Arc<Data>> {
        locked(&self.data).clone()
    }

    pub(crate) fn data(&self, id: usize) -> Result<Arc<Data>> {
        let found = locked(&self.data).iter().find(|d| d.id == id).cloned();
        found.ok_or_else(|| Refusal::gone("the table is not here any more", "drop the file on the page again"))
    }

    pub(crate) fn add_data(&self, make: impl FnOnce(usize) -> Data) -> Result<Arc<Data>> {
        let data = Arc::new(make(self.next_id()));
        let most = self.exec.memory_budget() / KEPT_SHARE * 2;
        if data.bytes() > most {
            let what = format!("{}: takes more memory than there is for tables", data.name);
            let help = "raise `mercer explore --memory`, or use the command: mercer fit";
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
            locked(&self.results).retain(|r| r.data.id != gone.id);
        }
        Ok(data)
    }

    pub(crate) fn result(&self, id: usize) -> Result<Arc<Outcome>> {
        let found = locked(&self.results).iter().find(|r| r.id == id).cloned();
        found.ok_or_else(|| Refusal::gone("the result is not here any more", "change a setting to fit again"))
    }

    /// PCA of what `key` stands for: the last one, if it is the same, or a new one.
    pub(crate) fn pca(&self, key: String, make: impl FnOnce() -> Result<Beside>) -> Result<Arc<Beside>> {
        if let Some((last, found)) = &*locked(&self.beside)
            && *last == key
        {
            return Ok(Arc::clone(found));
        }
        let made = Arc::new(make()?);
        *locked(&self.beside) = Some((key, Arc::clone(&made)));
        Ok(made)
    }

    pub(crate) fn add_result(&self, outcome: Outcome) {
        let mut all = locked(&self.results);
        all.push_back(Arc::new(outcome));
        let most = self.exec.memory_budget() / KEPT_SHARE;
        let too_many = |all: &VecDeque<Arc<Outcome>>| {
            all.len() > KEPT_RESULTS || (all.len() > LEAST_RESULTS && all.iter().map(|r| r.bytes()).sum::<u64>() > most)
        };
        while too_many(&all) {
            all.pop_front();
        }
    }
}

/// A flag that is set when this is dropped: nobody waits any more.
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

/// Counts one that waits, as long as it waits.
struct Waits<'a>(&'a AtomicUsize);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What a thread that panicked left locked is whole all the same: nothing is changed halfway under these locks.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
