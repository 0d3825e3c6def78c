//! One or more tests for each numerical pitfall of PITFALLS.md, cited by its number. Tests without a number check what this
//! library refuses or guarantees.
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;

mod batches;
mod by_hand;
mod cancel;
mod certificate;
mod clusters;
mod constant;
mod definiteness;
mod formulas;
mod gram;
mod landmarks;
mod mean;
mod memory;
mod monomials;
mod not_finite;
mod operator;
mod range;
mod rank;
mod reconstruct;
mod refused;
mod scores;
mod shares;
mod shift;
mod threads;
mod units;
mod whitening;

use mercer::{ErrorKind, Kernel, Points, Result};

fn kernel(text: &str) -> Kernel {
    text.parse().expect(text)
}

/// A kernel of each kind, with fixed numbers, and some that are made from others.
const FIXED: [&str; 14] = [
    "linear",
    "polynomial(degree=3, coef0=1)",
    "gaussian(gamma=0.3)",
    "gaussian(over_2sigma2=150)",
    "laplacian(gamma=0.2)",
    "matern(nu=1/2, length=2)",
    "matern(nu=3/2, length=2)",
    "matern(nu=5/2, length=20)",
    "rational_quadratic(alpha=0.7, length=3)",
    "sigmoid(gamma=0.01, coef0=0.1)",
    "cosine",
    "0.5*gaussian(gamma=0.01) + linear",
    "2*matern(length=5) * (polynomial(coef0=1) + cosine)",
    "normalised(linear + gaussian(gamma=0.1))",
];

fn gram_of(n: usize, f: impl Fn(usize, usize) -> f64) -> Points {
    Points::from_fn(n, n, f)
}

fn is_range(kind: &ErrorKind) -> bool {
    matches!(kind, ErrorKind::Range { .. } | ErrorKind::NotFinite { .. })
}

fn finite_or_refused(what: &str, values: Result<Vec<f64>>) -> Option<String> {
    match values {
        Ok(values) => values.iter().find(|v| !v.is_finite()).map(|bad| format!("{what}: {bad}")),
        Err(e) if is_range(e.kind()) => None,
        Err(e) => Some(format!("{what}: {e}")),
    }
}
