//! What the machine can do at best, on all cores: the rates that no algorithm exceeds, printed as one line of JSON.

use std::hint::black_box;
use std::time::Instant;

use faer::linalg::matmul::matmul;
use faer::traits::ComplexField;
use faer::{Accum, Mat, Par};
use rayon::prelude::*;
use serde_json::json;

fn main() {
    println!(
        "{}",
        json!({
            "threads": rayon::current_num_threads(),
            "read": read_rate(),
            "triad": triad_rate(),
            "gemm_f64": gemm_rate(|i, j| ((i * 7 + j * 3) % 11) as f64 - 5.0),
            "gemm_f32": gemm_rate(|i, j| ((i * 7 + j * 3) % 11) as f32 - 5.0),
            "exp_f64": exp_rate(|v| v),
            "exp_f32": exp_rate(|v| v as f32),
        })
    );
}

/// The shortest of several times, in seconds: what the machine can do.
fn shortest(mut work: impl FnMut()) -> f64 {
    (0..7)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

/// Flops per second of a large square product.
fn gemm_rate<T: ComplexField>(entry: impl Fn(usize, usize) -> T) -> f64 {
    let n = 2048;
    let a = Mat::from_fn(n, n, &entry);
    let b = Mat::from_fn(n, n, &entry);
    let mut c = Mat::<T>::zeros(n, n);
    let seconds = shortest(|| matmul(c.as_mut(), Accum::Replace, a.as_ref(), b.as_ref(), T::one_impl(), Par::rayon(0)));
    2.0 * (n as f64).powi(3) / seconds
}

/// The elements of each array of the memory rates: 256 MB, far beyond the caches.
const LENGTH: usize = 32 << 20;
/// What a thread takes at a time.
const PART: usize = LENGTH / 32;

/// Bytes per second read from memory, by a sum.
fn read_rate() -> f64 {
    let a = vec![1.0f64; LENGTH];
    let seconds = shortest(|| assert_eq!(a.par_chunks(PART).map(sum).sum::<f64>(), LENGTH as f64));
    (8 * LENGTH) as f64 / seconds
}

/// The sum of a part, read as four streams: one alone does not keep the memory busy.
fn sum(part: &[f64]) -> f64 {
    let (front, back) = part.split_at(part.len() / 2);
    let (a, b) = front.split_at(front.len() / 2);
    let (c, d) = back.split_at(back.len() / 2);
    let mut sums = [0.0; 16];
    let groups = a.chunks_exact(4).zip(b.chunks_exact(4)).zip(c.chunks_exact(4).zip(d.chunks_exact(4)));
    for ((a, b), (c, d)) in groups {
        for i in 0..4 {
            sums[i] += a[i];
            sums[4 + i] += b[i];
            sums[8 + i] += c[i];
            sums[12 + i] += d[i];
        }
    }
    sums.iter().sum()
}

/// Bytes per second of a = b + 3 c, three arrays through memory.
fn triad_rate() -> f64 {
    let (mut a, b, c) = (vec![0.0f64; LENGTH], vec![1.0f64; LENGTH], vec![2.0f64; LENGTH]);
    let seconds = shortest(|| {
        let parts = a.par_chunks_mut(PART).zip(b.par_chunks(PART)).zip(c.par_chunks(PART));
        parts.for_each(|((a, b), c)| {
            for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
                *a = b + 3.0 * c;
            }
        });
        black_box(&a);
    });
    (24 * LENGTH) as f64 / seconds
}

/// Exponentials per second of the library's own vector loop, arguments and results in the first cache.
fn exp_rate<T: mercer::Real>(number: impl Fn(f64) -> T + Sync) -> f64 {
    let (length, times) = (256, 160_000);
    let seconds = shortest(|| {
        rayon::broadcast(|_| {
            let arguments: Vec<T> = (0..length).map(|i| number(-8.0 * i as f64 / length as f64)).collect();
            let mut values = arguments.clone();
            for _ in 0..times {
                values.copy_from_slice(black_box(&arguments));
                mercer::testing::limits::exponentials(black_box(&mut values));
            }
        });
    });
    (rayon::current_num_threads() * length * times) as f64 / seconds
}
