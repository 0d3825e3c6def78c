//! The threads that decode.

use std::sync::OnceLock;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// The name of the threads that read and decode.
pub(crate) const THREAD: &str = "mercer-io reader";

/// Threads for decoding alone, so that reading never waits for computing. They are started when there is enough work.
#[derive(Debug)]
pub(crate) struct DecodePool {
    threads: usize,
    pool: OnceLock<Option<ThreadPool>>,
}

impl DecodePool {
    /// As many threads as the caller's pool has.
    pub(crate) fn new() -> Self {
        DecodePool { threads: rayon::current_num_threads(), pool: OnceLock::new() }
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// The pool; `None` when there is one thread only.
    pub(crate) fn pool(&self) -> Option<&ThreadPool> {
        let build = || {
            let builder = ThreadPoolBuilder::new().num_threads(self.threads).thread_name(|_| THREAD.into());
            (self.threads > 1).then(|| builder.build().ok()).flatten()
        };
        self.pool.get_or_init(build).as_ref()
    }
}
