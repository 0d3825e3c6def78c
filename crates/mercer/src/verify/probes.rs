//! Bounds on what the components leave: random vectors and Lanczos steps (M17), and what follows for eigenvalues (M26).

use super::sums::{dot, eigenvalues, norm, project, subtract_along};
use super::{PROBES, SHARE};
use crate::block::Block;
use crate::rng::Rng;

/// Lanczos recurrences from random vectors, on the complement of a basis (M17).
pub(super) struct Probes<'a> {
    pub(super) basis: &'a Block,
    /// |w| of each probe.
    pub(super) norms: Vec<f64>,
    /// The newest Lanczos vector of each probe, and those before it.
    pub(super) newest: Block,
    pub(super) before: Vec<Block>,
    /// The diagonals and off-diagonals of the tridiagonal matrices.
    pub(super) alpha: Vec<Vec<f64>>,
    pub(super) beta: Vec<Vec<f64>>,
}

impl<'a> Probes<'a> {
    pub(super) fn new(basis: &'a Block, seed: u64) -> Self {
        let (size, room) = (basis.n(), basis.n() - basis.b());
        let count = if room == 0 { 0 } else { PROBES };
        let mut rng = Rng::new(seed ^ 0x7365_636f_6e64);
        let mut newest = Block::from_fn(size, count, |_, _| rng.normal());
        let norms = (0..count)
            .map(|j| {
                project(basis, newest.col_mut(j));
                let length = norm(newest.col(j));
                newest.col_mut(j).iter_mut().for_each(|v| *v /= length.max(f64::MIN_POSITIVE));
                length
            })
            .collect();
        let none = vec![Vec::new(); count];
        Probes { basis, norms, newest, before: Vec::new(), alpha: none.clone(), beta: none }
    }

    /// Makes a step, from the images of the newest vectors. Each new vector is made orthogonal to all before it, twice: the
    /// argument of M17 needs that.
    pub(super) fn step(&mut self, mut images: Block) {
        let room = self.basis.n() - self.basis.b();
        for j in 0..self.newest.b() {
            let w = images.col_mut(j);
            project(self.basis, w);
            let alpha = dot(self.newest.col(j), w);
            for _ in 0..2 {
                for v in self.before.iter().map(|b| b.col(j)).chain([self.newest.col(j)]) {
                    subtract_along(v, w);
                }
            }
            project(self.basis, w);
            let beta = norm(w);
            let scale = self.alpha[j].iter().chain(&self.beta[j]).fold(alpha.abs(), |m, v| m.max(v.abs()));
            // What is left is rounding: the vectors so far span an invariant space, or all of the complement.
            let ends = beta <= 1e-13 * scale || beta == 0.0 || self.before.len() + 1 >= room;
            w.iter_mut().for_each(|v| *v = if ends { 0.0 } else { *v / beta });
            self.alpha[j].push(alpha);
            self.beta[j].push(if ends { 0.0 } else { beta });
        }
        self.before.push(std::mem::replace(&mut self.newest, images));
    }

    /// Whether no further step can tell more.
    pub(super) fn ended(&self) -> bool {
        self.beta.iter().all(|b| b.last() == Some(&0.0))
    }

    /// A lower bound of the largest eigenvalue in the complement, which is a theorem, and an upper bound of all of them,
    /// which fails with probability [`failure`].
    pub(super) fn bounds(&self) -> (f64, f64) {
        let of = |j: usize| {
            // Steps after the end of a recurrence have nothing to say.
            let end = self.beta[j].iter().position(|b| *b == 0.0).map_or(self.beta[j].len(), |at| at + 1);
            let (alpha, beta) = (&self.alpha[j][..end], &self.beta[j][..end]);
            let tridiagonal = Block::from_fn(end, end, |r, c| match r.abs_diff(c) {
                0 => alpha[r],
                1 => beta[r.min(c)],
                _ => 0.0,
            });
            let ritz = eigenvalues(tridiagonal).first().copied().unwrap_or(0.0);
            (ritz, upper_bound(alpha, beta, ritz, (self.norms[j] / SHARE).powi(2)))
        };
        let all: Vec<(f64, f64)> = (0..self.newest.b()).map(of).collect();
        // The component that the bound assumes is that of one probe at least: which one is not known.
        let fold = |values: Vec<f64>| values.into_iter().reduce(f64::max).unwrap_or(0.0);
        (fold(all.iter().map(|b| b.0).collect()), fold(all.iter().map(|b| b.1).collect()))
    }
}

/// The largest x at which the squares of the Lanczos polynomials sum to at most `most` (M17), from above.
pub(super) fn upper_bound(alpha: &[f64], beta: &[f64], ritz: f64, most: f64) -> f64 {
    let exceeds = |x: f64| {
        let (mut before, mut now, mut sum, mut last) = (0.0, 1.0, 1.0, 0.0);
        for (a, b) in alpha.iter().zip(beta) {
            if *b == 0.0 {
                return true; // beyond the eigenvalues of an invariant space the next polynomial is infinite
            }
            let next = ((x - a) * now - last * before) / b;
            (before, now, last) = (now, next, *b);
            sum += now * now;
            if sum > most {
                return true;
            }
        }
        false
    };
    let mut reach = alpha.iter().chain(beta).fold(f64::MIN_POSITIVE, |m, v| m.max(v.abs()));
    while !exceeds(ritz + reach) {
        reach *= 2.0;
        if !reach.is_finite() {
            return f64::INFINITY;
        }
    }
    let (mut low, mut high) = (ritz, ritz + reach);
    for _ in 0..100 {
        let middle = low + 0.5 * (high - low);
        if exceeds(middle) { high = middle } else { low = middle }
    }
    high
}

/// Bounds of eigenvalues, from Ritz values and probes (M13).
pub(super) struct Bounds {
    /// Ritz values of A on the space of the components, descending.
    pub(super) ritz: Vec<f64>,
    /// |A Q - Q Theta|.
    pub(super) coupling: f64,
    pub(super) beyond: (f64, f64),
    /// The allowances for rounding of Ritz values and of `beyond`.
    pub(super) rounding: f64,
    pub(super) of_beyond: f64,
    pub(super) independent: bool,
}

impl Bounds {
    /// What the eigenvalue with index i is at least. Courant and Fischer: the Ritz value of the same index; with one more
    /// direction, the same for the components and that direction together, less what couples them.
    pub(super) fn lower(&self, i: usize) -> f64 {
        let mut more = self.ritz.clone();
        more.push(self.beyond.0);
        more.sort_by(|a, b| b.total_cmp(a));
        let alone = self.ritz.get(i).map_or(f64::NEG_INFINITY, |v| v - self.rounding);
        alone.max(more[i] - self.coupling - self.rounding)
    }

    /// What it is at most: the larger eigenvalue of [[theta, r], [r, beta]], and beta for the first that is not a component.
    pub(super) fn upper(&self, i: usize) -> f64 {
        let beta = self.beyond.1;
        let Some(&theta) = self.ritz.get(i) else { return beta };
        if !beta.is_finite() {
            return f64::INFINITY;
        }
        let (half, r) = (0.5 * (theta - beta).abs(), self.coupling);
        let more = if r > 0.0 { r * r / (half + half.hypot(r)) } else { 0.0 };
        theta.max(beta) + more + self.rounding
    }
}
