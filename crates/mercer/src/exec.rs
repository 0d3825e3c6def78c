//! Exec: the resources of a computation. It is passed explicitly; there is no global state.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fearless_simd::Level;

use crate::block::Block;
use crate::error::{Error, ErrorKind, Result};

/// The default memory budget of a computation: 8 GB.
pub const DEFAULT_MEMORY: u64 = 8_000_000_000;

/// A progress report of a long computation.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use mercer::exec::Progress;
/// use mercer::{Exec, Gamma, Kernel, KernelPca, Points};
///
/// let passes = Arc::new(AtomicUsize::new(0));
/// let counter = Arc::clone(&passes);
/// let exec = Exec::new().progress(Arc::new(move |progress| {
///     if let Progress::Pass { number, .. } = progress {
///         counter.fetch_max(number, Ordering::Relaxed);
///     }
/// }));
/// let x = Points::from_fn(600, 2, |i, j| ((i * (j + 2)) as f64).sin());
/// let model = KernelPca::new(Kernel::gaussian(Gamma::Median)).components(2).fit_with(&x, &exec)?;
/// let made = model.certificate().passes();
/// assert_eq!(passes.load(Ordering::Relaxed), made.f32 + made.f64);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Progress {
    /// Landmarks are being chosen.
    Landmarks,
    /// A pass over the Gram matrix starts.
    Pass {
        /// The number of the pass, from 1.
        number: usize,
        /// The largest residual after the passes before it, relative to the largest eigenvalue.
        reached: Option<f64>,
        /// The residual that is wanted.
        wanted: f64,
        /// Whether the pass is an f64 pass; else it is an f32 pass.
        in_f64: bool,
    },
    /// A part of the pass is done.
    Tiles {
        /// The number of parts that are done.
        done: usize,
        /// The number of all parts.
        of: usize,
    },
}

/// A function that receives [`Progress`] reports.
pub type ProgressFn = Arc<dyn Fn(Progress) + Send + Sync>;

/// A store for the results of passes, from which an interrupted fit resumes.
///
/// A resumed fit starts again, but reads every pass that the journal holds instead of computing it. All other steps are
/// cheap and reproduce the same bits, so the result is the same as without the interruption.
///
/// ```
/// use std::collections::HashMap;
/// use std::sync::{Arc, Mutex};
/// use mercer::exec::{Journal, PassResult};
/// use mercer::{Exec, Gamma, Kernel, KernelPca, Points, Result};
///
/// #[derive(Default)]
/// struct InMemory(Mutex<HashMap<(usize, u64), PassResult>>);
///
/// impl Journal for InMemory {
///     fn recall(&self, pass: usize, key: u64) -> Result<Option<PassResult>> {
///         Ok(self.0.lock().expect("not poisoned").get(&(pass, key)).cloned())
///     }
///     fn record(&self, pass: usize, key: u64, result: &PassResult) -> Result<()> {
///         self.0.lock().expect("not poisoned").insert((pass, key), result.clone());
///         Ok(())
///     }
/// }
///
/// let exec = Exec::new().journal(Arc::new(InMemory::default()));
/// let x = Points::from_fn(600, 2, |i, j| ((i * (j + 2)) as f64).sin());
/// let kernel_pca = KernelPca::new(Kernel::gaussian(Gamma::Median)).components(2);
/// let first = kernel_pca.fit_with(&x, &exec)?;
/// let again = kernel_pca.fit_with(&x, &exec)?; // reads the passes
/// assert_eq!(first.scores(), again.scores());
/// # Ok::<(), mercer::Error>(())
/// ```
pub trait Journal: Send + Sync {
    /// Returns the result of a pass, numbered from 1, if it was recorded. `key` is a hash of the input of the pass.
    ///
    /// # Errors
    /// [`ErrorKind::Journal`] when it cannot be read, or belongs to another input.
    fn recall(&self, pass: usize, key: u64) -> Result<Option<PassResult>>;

    /// Records the result of a pass.
    ///
    /// # Errors
    /// [`ErrorKind::Journal`] when it cannot be written.
    fn record(&self, pass: usize, key: u64, result: &PassResult) -> Result<()>;
}

/// The result of a pass over the Gram matrix, as a [`Journal`] stores it.
///
/// ```
/// use mercer::exec::PassResult;
/// use mercer::Block;
/// let result = PassResult { images: Block::zeros(10, 3), norm: Some(2.5) };
/// assert_eq!(result.images.b(), 3);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PassResult {
    /// The product of the Gram matrix with the input.
    pub images: Block,
    /// The Frobenius norm of the matrix, where it was computed.
    pub norm: Option<f64>,
}

/// The instructions that the inner loops use.
///
/// ```
/// use mercer::exec::Instructions;
/// use mercer::Exec;
/// let slow = Exec::new().instructions(Instructions::Scalar);
/// assert!(format!("{slow:?}").contains("Scalar"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Instructions {
    /// The best that the processor has, detected at run time.
    #[default]
    Best,
    /// One number at a time, in plain loops: slow, for comparison.
    Scalar,
}

/// The threads, memory budget, random seed, cancellation and progress reports of a computation.
///
/// The number of threads does not change a single bit of a result.
///
/// ```
/// use mercer::Exec;
/// let exec = Exec::new().threads(2).memory(1_000_000_000).seed(7);
/// assert_eq!(exec.get_memory(), 1_000_000_000);
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
    keeps_passes: bool,
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
    /// Returns the defaults: all cores, [`DEFAULT_MEMORY`], random seed 0.
    pub fn new() -> Self {
        Exec {
            threads: None,
            memory: DEFAULT_MEMORY,
            seed: 0,
            instructions: Instructions::Best,
            cancel: None,
            progress: None,
            journal: None,
            keeps_passes: false,
        }
    }

    /// Uses this many threads; 0 means one per core. A call from inside a rayon thread pool stays in that pool.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = NonZeroUsize::new(threads);
        self
    }

    /// Sets the memory budget to about this many bytes.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// Sets the random seed.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets the instructions of the inner loops.
    pub fn instructions(mut self, instructions: Instructions) -> Self {
        self.instructions = instructions;
        self
    }

    /// Calls `report` with progress reports, from any thread.
    pub fn progress(mut self, report: ProgressFn) -> Self {
        self.progress = Some(report);
        self
    }

    /// Records the results of passes in `journal`, and resumes from those that it holds.
    pub fn journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.journal = Some(journal);
        self
    }

    /// Stops with [`ErrorKind::Cancelled`] soon after this flag is set.
    pub fn cancel(mut self, flag: Arc<AtomicBool>) -> Self {
        self.cancel = Some(flag);
        self
    }

    /// Returns the memory budget in bytes.
    pub fn get_memory(&self) -> u64 {
        self.memory
    }

    /// Returns the random seed.
    pub fn get_seed(&self) -> u64 {
        self.seed
    }

    /// Returns whether the computation was cancelled. A slow operator checks this and returns [`ErrorKind::Cancelled`].
    pub fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    pub(crate) fn level(&self) -> Level {
        match self.instructions {
            Instructions::Best => Level::new(),
            Instructions::Scalar => Level::fallback(),
        }
    }

    /// Says that the results of passes will be kept, by a journal that is given later: plans count their memory.
    pub fn keep_passes(mut self, keep: bool) -> Self {
        self.keeps_passes = keep;
        self
    }

    pub(crate) fn has_journal(&self) -> bool {
        self.journal.is_some()
    }

    pub(crate) fn keeps_passes(&self) -> bool {
        self.keeps_passes || self.has_journal()
    }

    /// Returns the result of a pass, a block of this shape: read from the journal, or computed and recorded there.
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
            let what = format!("pass {pass} of the journal belongs to another fit");
            return Err(ErrorKind::Journal { what, remedy: "start again without the journal".into() }.into());
        }
        let result = make()?;
        journal.record(pass, key, &result)?;
        Ok(result)
    }

    pub(crate) fn report(&self, progress: Progress) {
        if let Some(report) = &self.progress {
            report(progress);
        }
    }

    /// Fails when the computation was cancelled.
    pub(crate) fn check_cancelled(&self) -> Result<()> {
        if self.is_cancelled() { Err(ErrorKind::Cancelled.into()) } else { Ok(()) }
    }

    /// Fails when more memory is needed than the budget allows.
    pub(crate) fn allow(&self, needed: u128, what: impl Into<String>, remedy: impl Into<String>) -> Result<()> {
        if needed <= u128::from(self.memory) {
            return Ok(());
        }
        Err(ErrorKind::Memory { what: what.into(), needed, budget: self.memory, remedy: remedy.into() }.into())
    }

    /// Runs `work` on the threads of this record, or on those of the pool that it is called from.
    pub(crate) fn run<R: Send>(&self, work: impl FnOnce() -> Result<R> + Send) -> Result<R> {
        self.check_cancelled()?;
        let inside_a_pool = rayon::current_thread_index().is_some();
        let Some(threads) = self.threads.filter(|_| !inside_a_pool) else {
            // The work starts inside the pool, so that its parallel loops need no hand-over from outside.
            return if inside_a_pool { work() } else { rayon::scope(|_| work()) };
        };
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads.get())
            .build()
            .map_err(|e| Error::parameter("exec", "threads", threads, format!("the system can start them ({e})")))?
            .install(work)
    }
}
