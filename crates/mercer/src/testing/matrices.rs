//! Numbered nasty inputs, and random inputs that are the same on every machine.

use crate::points::Points;
use crate::rng::Rng;

/// Standard normal points from a seed.
pub fn normal(n: usize, d: usize, seed: u64) -> Points<f64> {
    let mut rng = Rng::new(seed);
    Points::from_fn(n, d, |_, _| {
        let (u, v) = (1.0 - rng.uniform(), rng.uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    })
}

/// Two rings: the first half of the points on the circle of radius `outer`, the others on that of radius `inner`.
pub fn rings(n: usize, outer: f64, inner: f64) -> Points<f64> {
    let half = n / 2;
    Points::from_fn(n, 2, |i, j| {
        let (radius, at) = if i < half { (outer, i) } else { (inner, i - half) };
        let angle = std::f64::consts::TAU * at as f64 / half as f64;
        radius * if j == 0 { angle.cos() } else { angle.sin() }
    })
}

/// The number of [`points`].
pub const POINTS: usize = 10;

/// Nasty points number 0 to [`POINTS`] - 1, with a short description.
pub fn points(number: usize) -> (&'static str, Points<f64>) {
    let plain = normal(40, 5, number as u64);
    let change =
        |f: &dyn Fn(usize, usize, f64) -> f64| Points::from_fn(plain.n(), plain.d(), |i, j| f(i, j, plain.row(i)[j]));
    match number {
        0 => ("normal", plain),
        1 => ("far from the origin", change(&|_, _, v| v + 1e6)),
        2 => ("tiny", change(&|_, _, v| v * 1e-6)),
        3 => ("huge", change(&|_, _, v| v * 1e6)),
        4 => ("with a constant column", change(&|_, j, v| if j == 2 { 7.0 } else { v })),
        5 => ("every point twice", Points::from_fn(40, 5, |i, j| plain.row(i / 2)[j])),
        6 => (
            "rank two",
            Points::from_fn(40, 5, |i, j| plain.row(i)[0] * (j + 1) as f64 + plain.row(i)[1] * (j * j) as f64),
        ),
        7 => ("columns of very different scale", change(&|_, j, v| v * 10f64.powi(3 * j as i32 - 6))),
        8 => ("more dimensions than points", normal(7, 30, 8)),
        _ => ("one dimension", normal(40, 1, 9)),
    }
}

/// The number of [`symmetric`] matrices.
pub const SYMMETRIC: usize = 9;

/// Nasty symmetric matrices number 0 to [`SYMMETRIC`] - 1, with a short description.
pub fn symmetric(number: usize, n: usize) -> (&'static str, Points<f64>) {
    let noise = normal(n, n, 100 + number as u64);
    let of = |f: &dyn Fn(usize, usize) -> f64| Points::from_fn(n, n, |i, j| f(i.max(j), i.min(j)));
    match number {
        0 => ("random", of(&|i, j| noise.row(i)[j])),
        1 => ("zero", of(&|_, _| 0.0)),
        2 => ("identity", of(&|i, j| if i == j { 1.0 } else { 0.0 })),
        3 => ("all ones", of(&|_, _| 1.0)),
        4 => ("tiny", of(&|i, j| 1e-300 * noise.row(i)[j])),
        5 => ("huge", of(&|i, j| 1e300 * noise.row(i)[j])),
        6 => ("graded", of(&|i, j| noise.row(i)[j] * 10f64.powf(-((i + j) as f64) / n as f64 * 8.0))),
        7 => (
            "clustered",
            of(&|i, j| (if i == j { 1.0 + f64::from(u8::from(i < n / 2)) } else { 0.0 }) + 1e-13 * noise.row(i)[j]),
        ),
        _ => ("rank one", of(&|i, j| noise.row(i)[0] * noise.row(j)[0])),
    }
}
