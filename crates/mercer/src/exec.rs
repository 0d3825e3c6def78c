//! Exec: with what a computation may be done. Passed explicitly; there is no global state.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fearless_simd::Level;

use crate::block::Block;
use crate::error::{Error, ErrorKind, Result};

/// Memory that a computation may use when nobody says otherwise: 8 GB.
pub const DEFAULT_MEMORY: u64 = 8_000_000_000;

/// What a long computation tells on its way.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Progress {
    /// Landmarks are being chosen.
    Landmarks,
    /// A pass over all tiles of the Gram matrix begins.
    Pass {
        /// Its number, from 1.
        number: usize,
        /// The largest residual that the passes before it reached, relative to the largest eigenvalue.
        reached: Option<f64>,
        /// The residual that is wanted.
        wanted: f64,
        /// Whether it is done in f64; the others are done in f32.
        in_f64: bool,
    },
    /// So many parts of the pass are done.
    Tiles {
        /// Parts that are done.
        done: usize,
        /// All parts.
        of: usize,
    },
}

/// Takes [`Progress`].
pub type ProgressFn = Arc<dyn Fn(Progress) + Send + Sync>;

/// Where the results of passes are written down, so that work that was interrupted can go on: the search for components
/// is run again from the start, and every pass that stands in the journal is read instead of made. Since all else is
/// the same to the last bit, so is the result.
pub trait Journal: Send + Sync {
    /// The result of a pass, numbered from 1, if it is there. `key` stands for its input.
    ///
    /// # Errors
    /// [`ErrorKind::Journal`] when it cannot be read, or is of another input.
    fn recall(&self, pass: usize, key: u64) -> Result<Option<PassResult>>;

    /// Writes down the result of a pass.
    ///
    /// # Errors
    /// [`ErrorKind::Journal`] when that fails.
    fn record(&self, pass: usize, key: u64, result: &PassResult) -> Result<()>;
}

/// What a pass over the Gram matrix gives.
#[derive(Clone, Debug, PartialEq)]
pub struct PassResult {
    /// The product of the Gram matrix with the input.
    pub images: Block,
    /// The Frobenius norm of the matrix, where it was taken.
    pub norm: Option<f64>,
}

/// Which instructions the inner loops use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Instructions {
    /// The best that the processor has, found at run time.
    #[default]
    Best,
    /// Kernel values one number at a time, in plain loops: slow, for comparison.
    Scalar,
}

/// Threads, memory, seed, cancellation and progress of a computation.
///
/// The number of threads never changes a result, not in its last bit.
///
/// ```
/// use mercer::Exec;
/// let exec = Exec::new().threads(2).memory(1_000_000_000).seed(7);
/// assert_eq!(exec.memory_budget(), 1_000_000_000);
/// ```
#[derive(Clone)]
pub struct Exec {
    threads: Option<NonZeroUsize>,
    memory: u64,
    seed: u64,
    instructions: Instructions,
    cancel: Option<Arc<AtomicBool>>,
    progress: Option<ProgressFn>,
    journal: Option<Arc<dyn Journal>>,
}

impl std::fmt::Debug for Exec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Exec { threads, memory, seed, instructions, .. } = self;
        write!(f, "Exec {{ threads: {threads:?}, memory: {memory}, seed: {seed}, instructions: {instructions:?} }}")
    }
}

impl Default for Exec {
    fn default() -> Self {
        Exec::new()
    }
}

impl Exec {
    /// All cores, [`DEFAULT_MEMORY`], seed 0.
    pub fn new() -> Self {
        Exec {
            threads: None,
            memory: DEFAULT_MEMORY,
            seed: 0,
            instructions: Instructions::Best,
            cancel: None,
            progress: None,
            journal: None,
        }
    }

    /// Uses this many threads; 0 means one per core. A call from inside a thread pool of rayon's stays in that pool.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = NonZeroUsize::new(threads);
        self
    }

    /// Uses at most about this many bytes.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// Seeds whatever is drawn at random.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Chooses the instructions of the inner loops.
    pub fn instructions(mut self, instructions: Instructions) -> Self {
        self.instructions = instructions;
        self
    }

    /// Tells its progress, from whichever thread has something to tell.
    pub fn progress(mut self, tell: ProgressFn) -> Self {
        self.progress = Some(tell);
        self
    }

    /// Writes down the results of passes, and goes on from those that are there.
    pub fn journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.journal = Some(journal);
        self
    }

    /// Stops with [`ErrorKind::Cancelled`] soon after this flag is set.
    pub fn cancel(mut self, flag: Arc<AtomicBool>) -> Self {
        self.cancel = Some(flag);
        self
    }

    /// The memory budget in bytes.
    pub fn memory_budget(&self) -> u64 {
        self.memory
    }

    /// The seed.
    pub fn seed_value(&self) -> u64 {
        self.seed
    }

    /// Whether the work has been cancelled: an operator that takes long looks at this and returns
    /// [`ErrorKind::Cancelled`].
    pub fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    pub(crate) fn level(&self) -> Level {
        match self.instructions {
            Instructions::Best => Level::new(),
            Instructions::Scalar => Level::fallback(),
        }
    }

    pub(crate) fn has_journal(&self) -> bool {
        self.journal.is_some()
    }

    /// The result of a pass, a block of this shape: from the journal if it stands there, else made and written down.
    pub(crate) fn pass_or_replay(
        &self,
        pass: usize,
        (n, b): (usize, usize),
        key: impl FnOnce() -> u64,
        make: impl FnOnce() -> Result<PassResult>,
    ) -> Result<PassResult> {
        let Some(journal) = &self.journal else { return make() };
        let key = key();
        if let Some(result) = journal.recall(pass, key)? {
            let sound = result.images.as_slice().iter().chain(&result.norm).all(|v| v.is_finite());
            if sound && (result.images.n(), result.images.b()) == (n, b) {
                return Ok(result);
            }
            let what = format!("the journal's pass {pass} is not one of this work");
            return Err(ErrorKind::Journal { what, remedy: "start again without it".into() }.into());
        }
        let result = make()?;
        journal.record(pass, key, &result)?;
        Ok(result)
    }

    pub(crate) fn report(&self, progress: Progress) {
        if let Some(tell) = &self.progress {
            tell(progress);
        }
    }

    /// Fails when the work has been cancelled.
    pub(crate) fn check_cancelled(&self) -> Result<()> {
        if self.is_cancelled() { Err(ErrorKind::Cancelled.into()) } else { Ok(()) }
    }

    /// Refuses what needs more memory than the budget.
    pub(crate) fn allow(&self, needed: u128, what: impl Into<String>, remedy: impl Into<String>) -> Result<()> {
        if needed <= u128::from(self.memory) {
            return Ok(());
        }
        Err(ErrorKind::Memory { what: what.into(), needed, budget: self.memory, remedy: remedy.into() }.into())
    }

    /// Runs `work` on this many threads; on those of the pool that it is called from, if it is called from one.
    pub(crate) fn run<R: Send>(&self, work: impl FnOnce() -> Result<R> + Send) -> Result<R> {
        self.check_cancelled()?;
        let inside_a_pool = rayon::current_thread_index().is_some();
        let Some(threads) = self.threads.filter(|_| !inside_a_pool) else {
            // Inside the pool, as all that follows: threads then hand over work among themselves.
            return if inside_a_pool { work() } else { rayon::scope(|_| work()) };
        };
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads.get())
            .build()
            .map_err(|e| Error::parameter("exec", "threads", threads, format!("the system can start them ({e})")))?
            .install(work)
    }
}
