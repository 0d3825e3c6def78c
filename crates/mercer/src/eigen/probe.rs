//! Probes: random vectors that detect large eigenvalues that the search has missed (MATHS.md, M17).
//!
//! For a Gaussian vector w and a given unit vector u, |u.w| >= eps except with probability eps sqrt(2/pi). If u is the
//! eigenvector of an eigenvalue x of C, the Lanczos vectors of C from w have components pi_j(x) (u.w/|w|) along u, with
//! the Lanczos polynomials pi_j. The squares of these components sum to at most 1, since the Lanczos vectors are
//! orthonormal. So sum_j pi_j(x)^2 <= (|w|/eps)^2, and the largest x that satisfies this bounds all eigenvalues of C.

use std::ops::Range;

use crate::block::Block;
use crate::linalg;
use crate::op::subtract_means;
use crate::rng::Rng;

/// Number of probes.
pub(super) const PROBES: usize = 4;
/// Decompositions after which upper bounds are sharp enough; fewer where each takes long.
const MOST_DECOMPOSITIONS: usize = 60;
const FEWER_DECOMPOSITIONS: usize = 18;
/// The least component of a probe along a given direction that the bound assumes (eps above).
const SHARE: f64 = 0.0396;

/// The probability that the bound does not hold: that the component of every probe is smaller.
pub(crate) fn failure() -> f64 {
    (SHARE * (2.0 / std::f64::consts::PI).sqrt()).powi(PROBES as i32)
}

/// Upper bounds of the eigenvalues of A. Let P be the projection on the complement of a basis Q0 with H = Q0'A Q0 and
/// residuals R, and C = PAP <= beta. Then lambda_i(A) <= mu if lambda_i(H + R'R / (mu - beta)) <= mu and mu > beta.
pub(crate) struct Ceiling {
    h: Block,
    residual_gram: Block,
    beta: f64,
    /// The number of Lanczos steps of a probe.
    steps: usize,
}

impl Ceiling {
    pub(super) fn unknown() -> Self {
        Ceiling { h: Block::zeros(0, 0), residual_gram: Block::zeros(0, 0), beta: f64::INFINITY, steps: 0 }
    }

    /// The number of Lanczos steps of a probe.
    pub(crate) fn steps(&self) -> usize {
        self.steps
    }

    /// A bound on the eigenvalue with index i, from 0.
    pub(crate) fn upper(&self, i: usize) -> f64 {
        self.uppers(i..i + 1)[0]
    }

    /// Bounds on the eigenvalues with these indices, mostly within a thousandth of the best possible.
    pub(crate) fn uppers(&self, indices: Range<usize>) -> Vec<f64> {
        let b = self.h.b();
        let inside = indices.start.min(b)..indices.end.min(b);
        if !self.beta.is_finite() || inside.is_empty() {
            return vec![self.beta; indices.len()];
        }
        let values = |mu: f64| {
            let reach = (mu - self.beta).max(f64::MIN_POSITIVE);
            let t = Block::from_fn(b, b, |r, c| self.h.at(r, c) + self.residual_gram.at(r, c) / reach);
            linalg::eigenvalues(t).ok()
        };
        let holds = |values: Option<Vec<f64>>, i: usize, mu: f64| values.is_some_and(|v| v[i] <= mu);
        let size = |m: &Block| linalg::norm(m.as_slice());
        let mut most = self.beta.abs() + size(&self.h) + size(&self.residual_gram).sqrt() * 2.0;
        let mut doublings = 0;
        while !holds(values(most), inside.start, most) {
            (most, doublings) = (2.0 * most, doublings + 1);
            if doublings > 60 || most == 0.0 {
                return vec![f64::INFINITY; indices.len()];
            }
        }
        // By Weyl, lambda_i(H + G / reach) <= lambda_i(H) + |G| / reach, so that the larger root of (mu - lambda_i(H))
        // (mu - beta) = |G| is a bound; and there is none below lambda_i(H). Mostly both agree.
        let Ok(own) = linalg::eigenvalues(self.h.clone()) else { return vec![f64::INFINITY; indices.len()] };
        let square = size(&self.residual_gram) * (1.0 + 1e-12);
        let root = |v: f64| {
            let half = 0.5 * (v - self.beta);
            let mu = (self.beta + half + (half * half + square).sqrt()).max(self.beta.max(v));
            mu + 1e-12 * mu.abs()
        };
        let mut bounds: Vec<(f64, f64)> =
            inside.clone().map(|i| (self.beta.max(own[i]), root(own[i]).min(most).max(self.beta))).collect();
        let wide = |(low, high): (f64, f64)| (high - low) / high.abs().max(f64::MIN_POSITIVE);
        // The least bound is where mu = lambda_i(H + G / (mu - beta)) =: v. Since v falls with mu, it lies between mu and v,
        // whichever of both is larger: a decomposition brings the ends for all i closer.
        for _ in 0..if b <= 64 { MOST_DECOMPOSITIONS } else { FEWER_DECOMPOSITIONS } {
            let Some(&(low, high)) = bounds.iter().max_by(|a, b| wide(**a).total_cmp(&wide(**b))) else { break };
            if wide((low, high)) <= 1e-3 {
                break;
            }
            let mu = low + (high - low) / 2.0;
            let Some(there) = values(mu) else { break };
            for (v, (low, high)) in there[inside.clone()].iter().zip(&mut bounds) {
                let (less, more) = if *v <= mu { (*v, mu) } else { (mu, v + 1e-12 * v.abs()) };
                (*low, *high) = (low.max(less), high.min(more));
            }
        }
        let beyond = vec![self.beta; indices.len() - inside.len()];
        bounds.into_iter().map(|(_, high)| high).chain(beyond).collect()
    }
}

/// Lanczos recurrences of C = PAP, P the projection on the complement of the basis at the start of the probes.
pub(super) struct Probes {
    basis: Block,
    /// Whether P also projects on the complement of 1.
    centred: bool,
    /// |w| of each probe.
    norms: Vec<f64>,
    /// The newest Lanczos vector of each probe.
    vectors: Block,
    /// The Lanczos vectors before it, a block for each step. The argument of M17 needs vectors that are orthonormal, which
    /// the recurrence alone does not give.
    before: Vec<Block>,
    /// Diagonal and off-diagonal of each tridiagonal matrix.
    alpha: Vec<Vec<f64>>,
    beta: Vec<Vec<f64>>,
    /// H = Q0'A Q0 and R'R of the basis; `None` until they are computed.
    inner: Option<(Block, Block)>,
}

impl Probes {
    pub(super) fn new(basis: &Block, centred: bool, seed: u64) -> Self {
        let n = basis.n();
        let mut rng = Rng::new(seed ^ 0x7072_6f62_6573);
        let mut vectors = Block::from_fn(n, PROBES, |_, _| rng.normal());
        project(basis, centred, &mut vectors);
        let norms: Vec<f64> = (0..PROBES).map(|j| linalg::norm(vectors.col(j))).collect();
        for (j, norm) in norms.iter().enumerate() {
            vectors.col_mut(j).iter_mut().for_each(|v| *v /= norm.max(f64::MIN_POSITIVE));
        }
        let empty = vec![Vec::new(); PROBES];
        Probes {
            basis: basis.clone(),
            centred,
            norms,
            vectors,
            before: Vec::new(),
            alpha: empty.clone(),
            beta: empty,
            inner: None,
        }
    }

    /// Whether all recurrences have ended: further steps cannot improve the bound.
    pub(super) fn is_done(&self) -> bool {
        self.beta.iter().zip(&self.alpha).all(|(b, a)| {
            let scale = a.iter().chain(b).fold(0.0f64, |m, v| m.max(v.abs()));
            b.last().is_some_and(|last| *last <= 1e-12 * scale)
        })
    }

    /// The number of Lanczos steps of a probe.
    pub(super) fn steps(&self) -> usize {
        self.alpha[0].len()
    }

    pub(super) fn basis(&self) -> &Block {
        &self.basis
    }

    /// Computes H and R'R from A times the basis, centred.
    pub(super) fn set_basis_images(&mut self, images: &Block) {
        let mut h = linalg::inner_products(&self.basis, images);
        for j in 0..h.b() {
            for i in 0..j {
                let middle = 0.5 * (h.at(i, j) + h.at(j, i));
                *h.at_mut(i, j) = middle;
                *h.at_mut(j, i) = middle;
            }
        }
        let mut residuals = images.clone();
        linalg::subtract_projection(&self.basis, &mut residuals);
        self.inner = Some((h, linalg::inner_products(&residuals, &residuals)));
    }

    /// The bounds after the steps so far.
    pub(super) fn ceiling(&self) -> Ceiling {
        let (h, residual_gram) = self.inner.clone().unwrap_or((Block::zeros(0, 0), Block::zeros(0, 0)));
        let beta = if self.inner.is_some() { self.bound() } else { f64::INFINITY };
        Ceiling { h, residual_gram, beta, steps: self.alpha[0].len() }
    }

    /// The vectors for the next pass.
    pub(super) fn vectors(&self) -> &Block {
        &self.vectors
    }

    /// Makes one Lanczos step from A times the vectors.
    pub(super) fn step(&mut self, mut images: Block) {
        project(&self.basis, self.centred, &mut images);
        for j in 0..PROBES {
            let (v, w) = (self.vectors.col(j), images.col_mut(j));
            let alpha = linalg::dot(v, w);
            for _ in 0..2 {
                for u in self.before.iter().map(|before| before.col(j)).chain([v]) {
                    let along = linalg::dot(u, w);
                    linalg::subtract_multiple(w, along, u);
                }
            }
            let beta = linalg::norm(w);
            w.iter_mut().for_each(|w| *w /= beta.max(f64::MIN_POSITIVE));
            self.alpha[j].push(alpha);
            self.beta[j].push(beta);
        }
        project(&self.basis, self.centred, &mut images);
        self.before.push(std::mem::replace(&mut self.vectors, images));
    }

    /// An upper bound of all eigenvalues of C, which fails with probability [`failure`]. Infinite before the first step.
    fn bound(&self) -> f64 {
        (0..PROBES).map(|j| self.bound_of(j)).fold(f64::NEG_INFINITY, f64::max)
    }

    fn bound_of(&self, j: usize) -> f64 {
        let (alpha, beta) = (&self.alpha[j], &self.beta[j]);
        if alpha.is_empty() {
            return f64::INFINITY;
        }
        let scale = alpha.iter().chain(beta).fold(0.0f64, |m, v| m.max(v.abs()));
        if scale == 0.0 {
            return 0.0;
        }
        let most = (self.norms[j] / SHARE).powi(2);
        let exceeds = |x: f64| {
            let (mut before, mut now, mut sum, mut last) = (0.0, 1.0, 1.0, 0.0);
            for (a, b) in alpha.iter().zip(beta) {
                // An invariant subspace: beyond its eigenvalues the polynomial is infinite.
                if *b <= 1e-14 * scale {
                    return true;
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
        // Above the largest eigenvalue of the tridiagonal matrix the sum grows with x.
        let top = tridiagonal_bound(alpha, beta);
        let mut high = top + scale;
        while !exceeds(high) {
            high = top + 2.0 * (high - top);
        }
        let mut low = largest_ritz(alpha, beta, top);
        for _ in 0..100 {
            let middle = low + (high - low) / 2.0;
            if exceeds(middle) { high = middle } else { low = middle }
        }
        high
    }
}

fn project(basis: &Block, centred: bool, block: &mut Block) {
    for _ in 0..2 {
        if centred {
            subtract_means(block);
        }
        linalg::subtract_projection(basis, block);
    }
}

/// An upper bound of the eigenvalues of the tridiagonal matrix, by Gershgorin's circles.
fn tridiagonal_bound(alpha: &[f64], beta: &[f64]) -> f64 {
    let around = |i: usize| if i > 0 { beta[i - 1] } else { 0.0 } + if i + 1 < alpha.len() { beta[i] } else { 0.0 };
    (0..alpha.len()).map(|i| alpha[i] + around(i)).fold(f64::NEG_INFINITY, f64::max)
}

/// The largest eigenvalue of the tridiagonal matrix, from below, by bisection with Sturm counts.
fn largest_ritz(alpha: &[f64], beta: &[f64], top: f64) -> f64 {
    let above = |x: f64| {
        let mut pivot = 1.0;
        alpha.iter().enumerate().any(|(i, a)| {
            let b = if i > 0 { beta[i - 1] } else { 0.0 };
            pivot = x - a - b * b / pivot;
            pivot <= 0.0
        })
    };
    let mut low = alpha.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut high = top;
    for _ in 0..100 {
        let middle = low + (high - low) / 2.0;
        if above(middle) { low = middle } else { high = middle }
    }
    low
}
