//! The threads that decode.

use std::sync::OnceLock;

use rayon::{ThreadPool, ThreadPoolBuilder};

/// Threads of a reader's own: those that compute are not kept waiting, and a panic in one of them is known by the
/// thread's name to be dealt with. They are started when there is enough to do for them.
#[derive(Debug)]
pub(crate) struct Crew {
    name: &'static str,
    threads: usize,
    pool: OnceLock<Option<ThreadPool>>,
}

impl Crew {
    /// As many threads as the caller's pool has.
    pub(crate) fn new(name: &'static str) -> Self {
        Crew { name, threads: rayon::current_num_threads(), pool: OnceLock::new() }
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// The pool; `None` when there is one thread only.
    pub(crate) fn pool(&self) -> Option<&ThreadPool> {
        let build = || {
            let name = self.name;
            let builder = ThreadPoolBuilder::new().num_threads(self.threads).thread_name(|_| name.into());
            (self.threads > 1).then(|| builder.build().ok()).flatten()
        };
        self.pool.get_or_init(build).as_ref()
    }
}
