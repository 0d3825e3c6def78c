//! The machine: what it is, what it can do at best, and whether something else is using it.

use std::fs;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::cases::{Case, Task};

/// The rates that `machine-limits` measures, per second, on all cores.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Limits {
    pub(crate) threads: usize,
    /// Flops of a large square product.
    pub(crate) gemm_f64: f64,
    pub(crate) gemm_f32: f64,
    /// Bytes read from memory.
    pub(crate) read: f64,
    /// Bytes of a = b + 3c.
    pub(crate) triad: f64,
    /// Exponentials.
    pub(crate) exp_f64: f64,
    pub(crate) exp_f32: f64,
}

/// The columns of a block in the ideal pass: four more than the ten components.
const BLOCK: f64 = 14.0;

impl Limits {
    /// Seconds that the case takes at the machine's own rates.
    ///
    /// * kernel PCA: one pass in f64 over the upper half of the Gram matrix, which is n^2 d flops for the products,
    ///   n^2 / 2 exponentials, and 2 n^2 b flops to multiply a block of b vectors from both sides
    /// * one pass, in f64 or in f32, with a block of as many columns as it has
    /// * a transform of m points: 2 m n d flops, m n exponentials, 2 m n k flops
    /// * PCA: reading the points once, or the n d^2 flops of the covariance, whichever takes longer
    pub(crate) fn ideal(&self, case: &Case) -> Option<f64> {
        let [n, d, m, k] = [case.n, case.d, case.m, case.k].map(|v| v as f64);
        let (gemm, exp) = if case.narrow { (self.gemm_f32, self.exp_f32) } else { (self.gemm_f64, self.exp_f64) };
        let pass = |b: f64| n * n * (d + 2.0 * b) / gemm + n * n / 2.0 / exp;
        match case.task {
            Task::KpcaFit => Some(pass(BLOCK)),
            Task::KpcaPass => Some(pass(k)),
            Task::KpcaTransform => Some(2.0 * m * n * (d + k) / gemm + m * n / exp),
            Task::PcaFit => Some((8.0 * n * d / self.read).max(n * d * d / self.gemm_f64)),
            Task::Command => None,
        }
    }
}

/// The name of the processor.
pub(crate) fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    model.map_or("unknown processor".into(), |(_, name)| name.trim().into())
}

/// Gigabytes of main memory, 0 if unknown.
pub(crate) fn memory() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse().ok());
    kib.unwrap_or(0u64) * 1024 / 1_000_000_000
}

/// A watch on the processors: how much of them others use meanwhile.
pub(crate) struct Watch {
    start: Instant,
    others: Option<f64>,
}

impl Watch {
    pub(crate) fn start() -> Self {
        Watch { start: Instant::now(), others: others() }
    }

    /// The cores that were busy on average with something that is neither this process nor one that it waited for; 0
    /// where the system does not tell.
    pub(crate) fn foreign_cores(&self) -> f64 {
        match (self.others, others()) {
            (Some(before), Some(after)) => (after - before).max(0.0) / self.start.elapsed().as_secs_f64().max(0.5),
            _ => 0.0,
        }
    }
}

/// Processor seconds since boot that were spent on others, from Linux's /proc.
fn others() -> Option<f64> {
    const TICKS: f64 = 100.0; // per second, on every Linux that matters
    let all = fs::read_to_string("/proc/stat").ok()?;
    let all: Vec<f64> = all.lines().next()?.split_whitespace().skip(1).filter_map(|v| v.parse().ok()).collect();
    let &[user, nice, system, _idle, _wait, interrupts, soft, ..] = &all[..] else { return None };
    let own = fs::read_to_string("/proc/self/stat").ok()?;
    let own: Vec<f64> = own.rsplit_once(')')?.1.split_whitespace().filter_map(|v| v.parse().ok()).collect();
    // After the name and the state, which is a letter: utime, stime, cutime and cstime are the fields 14 to 17.
    let own: f64 = own.get(10..14)?.iter().sum();
    Some((user + nice + system + interrupts + soft - own) / TICKS)
}
