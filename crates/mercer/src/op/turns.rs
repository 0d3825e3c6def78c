//! The order in which threads process pairs of groups in a pass.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::pass::Grid;
use crate::exec::{Exec, Progress};

/// Assigns pairs of groups to threads.
pub(super) struct Turns {
    grid: Grid,
    /// All pairs, round by round.
    pub(super) pairs: Vec<(usize, usize)>,
    /// The index of the next pair.
    next: AtomicUsize,
    /// The number of completed rounds of each group.
    rounds: Vec<AtomicUsize>,
    /// The number of completed pairs.
    done: AtomicUsize,
    /// The number of rounds that were reported.
    reported: Mutex<usize>,
    stopped: AtomicBool,
}

impl Turns {
    pub(super) fn new(grid: Grid) -> Self {
        Turns {
            grid,
            pairs: (0..grid.groups).flat_map(|round| grid.pairs(round)).collect(),
            next: AtomicUsize::new(0),
            rounds: (0..grid.groups).map(|_| AtomicUsize::new(0)).collect(),
            done: AtomicUsize::new(0),
            reported: Mutex::new(0),
            stopped: AtomicBool::new(false),
        }
    }

    /// Pairs of a round: half of the groups, rounded up, since one group is paired with itself.
    fn per_round(&self) -> usize {
        self.grid.groups.div_ceil(2)
    }

    /// Returns the next pair as soon as both its groups are free. It waits only for earlier pairs, which are in progress.
    pub(super) fn next(&self) -> Option<(usize, (usize, usize))> {
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        let (i, j) = *self.pairs.get(at)?;
        let round = at / self.per_round();
        for group in [i, j] {
            let mut tries = 0;
            while self.rounds[group].load(Ordering::Acquire) < round {
                if self.stopped.load(Ordering::Relaxed) {
                    return None;
                }
                tries += 1;
                if tries < 100 { std::hint::spin_loop() } else { std::thread::yield_now() }
            }
        }
        (!self.stopped.load(Ordering::Relaxed)).then_some((at, (i, j)))
    }

    /// Records that a pair is done.
    pub(super) fn done(&self, at: usize) {
        let ((i, j), round) = (self.pairs[at], at / self.per_round());
        for group in [i, j] {
            self.rounds[group].store(round + 1, Ordering::Release);
        }
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Reports progress in order, once per number of pairs that make a round. A thread does not wait for another that is
    /// reporting.
    pub(super) fn report(&self, exec: &Exec) {
        let Ok(mut reported) = self.reported.try_lock() else { return };
        while *reported < self.done.load(Ordering::Relaxed) / self.per_round() {
            *reported += 1;
            exec.report(Progress::Tiles { done: *reported, of: self.grid.groups });
        }
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// Lets the other threads end when one of them panics.
pub(super) struct StopOnPanic<'a>(pub(super) &'a Turns);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}
