//! How work is done: on our own threads, without the lock of the interpreter, looking out for Ctrl-C.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mercer::{Exec, Progress};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::python;

/// How often signals are looked at.
const LOOK: Duration = Duration::from_millis(100);
/// How long work that was cancelled may take to notice, if it can be left to itself.
const PATIENCE: Duration = Duration::from_millis(700);

/// With what a computation may be done; `python/mercer/_exec.py` makes it.
#[derive(FromPyObject)]
pub(crate) struct Options {
    threads: usize,
    memory: u64,
    seed: u64,
    progress: Option<Py<PyAny>>,
}

impl Options {
    pub(crate) fn exec(&self) -> Exec {
        Exec::new().threads(self.threads).memory(self.memory).seed(self.seed)
    }
}

/// Pools by process and number of threads (0: one per core): threads do not survive a fork.
type Pools = HashMap<(u32, usize), Arc<ThreadPool>>;
static POOLS: Mutex<Option<Pools>> = Mutex::new(None);

fn pool(threads: usize) -> PyResult<Arc<ThreadPool>> {
    let key = (std::process::id(), threads);
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let pools = pools.get_or_insert_default();
    if let Some(pool) = pools.get(&key) {
        return Ok(Arc::clone(pool));
    }
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|i| format!("mercer-{i}"))
        .build()
        .map_err(|e| PyRuntimeError::new_err(format!("{threads} threads cannot be started: {e}")))?;
    // Pools of the process that this one was forked from stay where they are: their threads are not here to be ended.
    Ok(Arc::clone(pools.entry(key).or_insert(Arc::new(pool))))
}

/// Leaves a pool to work that nobody waits for any more; the next to ask gets another one.
fn give_up(threads: usize) {
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    pools.get_or_insert_default().remove(&(std::process::id(), threads));
}

/// Whether this is a thread of a pool: a function of the user's that the pool calls, and that calls us.
fn is_inside_a_pool() -> bool {
    rayon::current_thread_index().is_some()
}

/// What reaches the thread that waits.
enum Event<R> {
    Told(Progress),
    Done(mercer::Result<R>),
}

/// Runs `work` on the pool while this thread tells progress and looks at signals.
pub(crate) fn work<R: Send + 'static>(
    py: Python<'_>,
    options: &Options,
    work: impl FnOnce(&Exec) -> mercer::Result<R> + Send,
) -> PyResult<R> {
    let (watch, exec, done) = Watch::new(options);
    if is_inside_a_pool() {
        // Waiting for the pool would be waiting for oneself.
        return py.detach(|| work(&exec)).map_err(python);
    }
    let pool = pool(options.threads)?;
    py.detach(|| {
        std::thread::scope(|scope| {
            scope.spawn(move || done.send(Event::Done(pool.install(|| work(&exec)))).ok());
            watch.wait(None)
        })
    })
}

/// As [`work`], for work that owns what it works on and may be long without looking at the flag, as a decomposition of a
/// stored matrix: after Ctrl-C it is left to itself. It must not call Python, which may end before it does.
pub(crate) fn work_apart<R: Send + 'static>(
    py: Python<'_>,
    options: &Options,
    work: impl FnOnce(&Exec) -> mercer::Result<R> + Send + 'static,
) -> PyResult<R> {
    let (watch, exec, done) = Watch::new(options);
    if is_inside_a_pool() {
        return py.detach(|| work(&exec)).map_err(python);
    }
    let pool = pool(options.threads)?;
    py.detach(|| {
        std::thread::spawn(move || done.send(Event::Done(pool.install(|| work(&exec)))).ok());
        watch.wait(Some(PATIENCE))
    })
}

/// The thread that waits.
struct Watch<'a, R> {
    progress: Option<&'a Py<PyAny>>,
    threads: usize,
    cancel: Arc<AtomicBool>,
    events: Receiver<Event<R>>,
}

impl<'a, R: Send + 'static> Watch<'a, R> {
    fn new(options: &'a Options) -> (Self, Exec, Sender<Event<R>>) {
        let (sender, events) = channel();
        let cancel = Arc::new(AtomicBool::new(false));
        let mut exec = options.exec().cancel(Arc::clone(&cancel));
        if options.progress.is_some() {
            let tell = sender.clone();
            exec = exec.progress(Arc::new(move |told| drop(tell.send(Event::Told(told)))));
        }
        let (progress, threads) = (options.progress.as_ref(), options.threads);
        (Watch { progress, threads, cancel, events }, exec, sender)
    }

    /// Waits for the work to be done; after it was cancelled not longer than the patience, if there is a limit to it.
    fn wait(self, patience: Option<Duration>) -> PyResult<R> {
        let mut failure: Option<(PyErr, Instant)> = None;
        loop {
            let met = match self.events.recv_timeout(LOOK) {
                Ok(Event::Done(done)) => return failure.map_or_else(|| done.map_err(python), |(error, _)| Err(error)),
                Ok(Event::Told(told)) => Python::attach(|py| self.tell(py, told)),
                Err(RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals()),
                Err(RecvTimeoutError::Disconnected) => return Err(PyRuntimeError::new_err("the work came to no end")),
            };
            match (&failure, met) {
                (None, Err(error)) => {
                    self.cancel.store(true, Ordering::Relaxed);
                    failure = Some((error, Instant::now()));
                }
                (Some((_, since)), _) if patience.is_some_and(|p| since.elapsed() > p) => {
                    give_up(self.threads);
                    return Err(failure.expect("there is one").0);
                }
                _ => {}
            }
        }
    }

    /// Calls the user's function with what was told, as a dictionary.
    fn tell(&self, py: Python<'_>, told: Progress) -> PyResult<()> {
        let Some(progress) = self.progress else { return Ok(()) };
        let facts = PyDict::new(py);
        match told {
            Progress::Landmarks => facts.set_item("stage", "landmarks")?,
            Progress::Pass { number, reached, wanted, exact } => {
                facts.set_item("stage", "pass")?;
                facts.set_item("number", number)?;
                facts.set_item("residual", reached)?;
                facts.set_item("tolerance", wanted)?;
                facts.set_item("precision", if exact { "float64" } else { "float32" })?;
            }
            Progress::Tiles { done, of } => {
                facts.set_item("stage", "tiles")?;
                facts.set_item("done", done)?;
                facts.set_item("total", of)?;
            }
            _ => return Ok(()),
        }
        progress.call1(py, (facts,)).map(|_| ())
    }
}
