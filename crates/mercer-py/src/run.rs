//! Runs computations on a thread pool, without the interpreter lock, and checks for Ctrl-C.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use mercer::Exec;
use mercer::exec::Progress;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::python;

/// How often signals are checked.
const SIGNAL_CHECK: Duration = Duration::from_millis(100);
/// How long to wait for cancelled work to stop before abandoning it.
const CANCEL_TIMEOUT: Duration = Duration::from_millis(700);

/// The options of a computation, made by `python/mercer/_exec.py`.
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

/// Pools by process and number of threads (0: one per core). The process is part of the key because threads do not
/// survive a fork.
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
        .map_err(|e| PyRuntimeError::new_err(format!("cannot start {threads} threads: {e}")))?;
    // Pools of the parent process are not dropped after a fork: their threads do not exist here.
    Ok(Arc::clone(pools.entry(key).or_insert(Arc::new(pool))))
}

/// Forgets a pool whose work was abandoned, so that the next call makes a new one.
fn abandon_pool(threads: usize) {
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    pools.get_or_insert_default().remove(&(std::process::id(), threads));
}

/// Returns whether this is a thread of a pool, as when a kernel callback calls mercer.
fn is_inside_a_pool() -> bool {
    rayon::current_thread_index().is_some()
}

/// What the waiting thread receives.
enum Event<R> {
    Progress(Progress),
    Done(mercer::Result<R>),
}

/// Work of at most this many floating-point operations is done before a signal would be checked.
pub(crate) const LITTLE: f64 = 5e7;

/// As [`work`]; without a thread that waits for it if it takes only about so many operations.
pub(crate) fn work_of<R: Send + 'static>(
    py: Python<'_>,
    options: &Options,
    flops: f64,
    task: impl FnOnce(&Exec) -> mercer::Result<R> + Send,
) -> PyResult<R> {
    if flops > LITTLE || options.progress.is_some() || is_inside_a_pool() {
        return work(py, options, task);
    }
    let (pool, exec) = (pool(options.threads)?, options.exec());
    py.detach(|| pool.install(|| task(&exec))).map_err(python)
}

/// Runs `work` on the pool while this thread reports progress and checks signals.
pub(crate) fn work<R: Send + 'static>(
    py: Python<'_>,
    options: &Options,
    work: impl FnOnce(&Exec) -> mercer::Result<R> + Send,
) -> PyResult<R> {
    let (watch, exec, done) = Watch::new(options);
    if is_inside_a_pool() {
        // Waiting for the pool on one of its own threads could block forever.
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

/// As [`work`], for work that owns its data and may not check the cancel flag for long, such as a dense decomposition.
/// After Ctrl-C it is abandoned. It must not call Python, which may exit before the work ends.
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
        watch.wait(Some(CANCEL_TIMEOUT))
    })
}

/// The waiting thread.
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
            let sender = sender.clone();
            exec = exec.progress(Arc::new(move |progress| drop(sender.send(Event::Progress(progress)))));
        }
        let (progress, threads) = (options.progress.as_ref(), options.threads);
        (Watch { progress, threads, cancel, events }, exec, sender)
    }

    /// Waits for the result; after a cancellation at most for `timeout`.
    fn wait(self, timeout: Option<Duration>) -> PyResult<R> {
        let mut failure: Option<(PyErr, Instant)> = None;
        loop {
            let outcome = match self.events.recv_timeout(SIGNAL_CHECK) {
                Ok(Event::Done(done)) => return failure.map_or_else(|| done.map_err(python), |(error, _)| Err(error)),
                Ok(Event::Progress(progress)) => Python::attach(|py| self.report(py, progress)),
                Err(RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals()),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(PyRuntimeError::new_err("the computation ended without a result"));
                }
            };
            match (&failure, outcome) {
                (None, Err(error)) => {
                    self.cancel.store(true, Ordering::Relaxed);
                    failure = Some((error, Instant::now()));
                }
                (Some((_, since)), _) if timeout.is_some_and(|t| since.elapsed() > t) => {
                    abandon_pool(self.threads);
                    return Err(failure.expect("there is one").0);
                }
                _ => {}
            }
        }
    }

    /// Calls the progress callback with a dictionary.
    fn report(&self, py: Python<'_>, progress: Progress) -> PyResult<()> {
        let Some(callback) = self.progress else { return Ok(()) };
        let facts = PyDict::new(py);
        match progress {
            Progress::Landmarks => facts.set_item("stage", "landmarks")?,
            Progress::Pass { number, reached, wanted, in_f64: exact } => {
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
        callback.call1(py, (facts,)).map(|_| ())
    }
}
