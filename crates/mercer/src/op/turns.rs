//! Taking turns: which pair of groups is next in a pass, and when it may be worked on.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::pass::Grid;
use crate::exec::{Exec, Progress};

/// Who works on what, and when.
pub(super) struct Turns {
    grid: Grid,
    /// All pairs, round by round.
    pub(super) pairs: Vec<(usize, usize)>,
    /// The next pair to be taken.
    next: AtomicUsize,
    /// The rounds that each group is done with.
    rounds: Vec<AtomicUsize>,
    /// Pairs that are done.
    done: AtomicUsize,
    /// Rounds that were told of.
    told: Mutex<usize>,
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
            told: Mutex::new(0),
            stopped: AtomicBool::new(false),
        }
    }

    /// Pairs of a round: half the groups, and the one that meets itself.
    fn per_round(&self) -> usize {
        self.grid.groups.div_ceil(2)
    }

    /// The next pair, as soon as it is its turn. It waits for earlier pairs only, and those are being worked on.
    pub(super) fn next(&self) -> Option<(usize, (usize, usize))> {
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        let (i, j) = *self.pairs.get(at)?;
        let round = at / self.per_round();
        for group in [i, j] {
            let mut looks = 0;
            while self.rounds[group].load(Ordering::Acquire) < round {
                if self.stopped.load(Ordering::Relaxed) {
                    return None;
                }
                looks += 1;
                if looks < 100 { std::hint::spin_loop() } else { std::thread::yield_now() }
            }
        }
        (!self.stopped.load(Ordering::Relaxed)).then_some((at, (i, j)))
    }

    /// Notes that a pair is done.
    pub(super) fn done(&self, at: usize) {
        let ((i, j), round) = (self.pairs[at], at / self.per_round());
        for group in [i, j] {
            self.rounds[group].store(round + 1, Ordering::Release);
        }
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Tells how far the pass is, in order, as many pairs as make a round at a time. Nobody waits for somebody who tells.
    pub(super) fn tell(&self, exec: &Exec) {
        let Ok(mut told) = self.told.try_lock() else { return };
        while *told < self.done.load(Ordering::Relaxed) / self.per_round() {
            *told += 1;
            exec.report(Progress::Tiles { done: *told, of: self.grid.groups });
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
