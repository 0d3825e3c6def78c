//! The leading eigenpairs of an operator, centred or as it is, without storing its matrix: block Davidson (MATHS.md, M16).
//!
//! ```text
//! Q = the leading eigenvectors of FF' ~ A, or a random block; probes beside it
//! repeat   AQ = A Q               one pass over the operator, for the newest columns only
//!          H = Q'AQ = S T S'      Rayleigh and Ritz:  X = QS,  R = AX - XT
//!          Q = (Q, (FF' - T)^-1 R, next vectors of the probes), made orthonormal
//! until |R| <= tolerance
//! ```
//!
//! Without F, Q spans a block Krylov space: the next vectors are the images of the last (block Lanczos), and R itself after
//! a look at the Ritz pairs. If an f32 operator is given, passes are in f32
//! until f32 rounding limits the residuals. The last pass is in f64, on X and the last corrections, and all reported
//! values, vectors and residuals come from it. The bound from the probes has an allowance for the precision of their passes.

use super::orth;
use super::probe::{Ceiling, PROBES, Probes};
use crate::block::Block;
use crate::error::{Error, ErrorKind, ErrorSubject, Result};
use crate::exec::{Exec, PassResult, Progress};
use crate::linalg;
use crate::op::{SymOp, subtract_means};
use crate::real::largest;
use crate::rng::Rng;

/// A preconditioner: an approximation M of the operator that can be inverted. It reduces the number of passes.
pub(crate) trait Precondition: Sync {
    /// The leading `b` eigenvectors of M, or all if there are fewer.
    fn start(&self, b: usize) -> Block;

    /// (M - theta_j)^-1 r_j for each column.
    fn correct(&self, residuals: &Block, theta: &[f64]) -> Block;
}

/// The operator in f64 and, if given, in f32, with its preconditioner.
pub(crate) struct Problem<'a> {
    /// A in f64, before centring.
    pub(crate) f64: &'a dyn SymOp,
    /// A in f32.
    pub(crate) f32: Option<&'a dyn SymOp>,
    pub(crate) precondition: Option<&'a dyn Precondition>,
    /// Whether HAH is meant, on the space orthogonal to 1, and not A itself.
    pub(crate) centred: bool,
    /// A bound on the error of an eigenvalue due to rounding in a product with A, given the Frobenius norm of A, if it is
    /// known, and its largest eigenvalue.
    pub(crate) rounding: &'a dyn Fn(Option<f64>, f64) -> f64,
    /// A fingerprint of A, for the keys of a journal.
    pub(crate) key: u64,
}

/// The goal and the limits of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Wanted {
    /// Number of eigenpairs.
    pub(crate) k: usize,
    /// |A u - lambda u| relative to the largest eigenvalue.
    pub(crate) tolerance: f64,
    /// The largest number of columns of the basis.
    pub(crate) most_columns: usize,
    /// Columns of a step without a preconditioner. They may be fewer than k: the Krylov space grows by as many in each step.
    pub(crate) step: usize,
    /// Passes that were made for the same result before this search.
    pub(crate) passes_before: usize,
}

/// Columns of the first step: the k wanted and a few guard columns, which keep further eigenvectors from mixing into the
/// last of the k. With the probes they are a multiple of eight, for which matrix products are fastest.
pub(crate) fn columns(k: usize) -> usize {
    k.saturating_add(4 + k / 10 + PROBES).min(usize::MAX / 2).next_multiple_of(8) - PROBES
}

/// Columns of the steps after the first: the k wanted and a few more; with the probes a multiple of eight.
fn step_columns(k: usize) -> usize {
    (k + 2 + PROBES).next_multiple_of(8) - PROBES
}

/// Number of Ritz vectors in the f64 pass that ends the search: the k wanted and a few more. With the corrections and the
/// column of ones they are a multiple of eight.
fn last_columns(k: usize, corrections: usize) -> usize {
    (k + corrections + 2).next_multiple_of(8) - 1 - corrections
}

/// Without a preconditioner, the probes start when residuals are below this. Earlier, they would only find eigenvectors that
/// the search itself has still to find.
const PROBE_FROM: f64 = 0.03;
/// Passes after which the search ends with an error.
const MOST_PASSES: usize = 200;
/// A pass is slow if it does not reduce the largest residual to this share of what it was.
const SLOW: f64 = 0.5;

/// Ritz pairs, and bounds on the rest of the spectrum. Eigenvalues and residuals are in units of `unit`.
pub(crate) struct Found {
    /// A power of two.
    pub(crate) unit: f64,
    /// Descending; the k wanted and the guard.
    pub(crate) values: Vec<f64>,
    /// Orthonormal; orthogonal to 1 if centred.
    pub(crate) vectors: Block,
    /// A X - X T, all in f64.
    pub(crate) residuals: Block,
    /// K1, before centring, not divided by `unit`; empty if not centred.
    pub(crate) row_sums: Vec<f64>,
    /// The Frobenius norm before centring, not divided by `unit`.
    pub(crate) norm: Option<f64>,
    /// Upper bounds of all eigenvalues, which fail with probability [`super::probe::failure`].
    pub(crate) ceiling: Ceiling,
    /// Passes in f32 and in f64.
    pub(crate) passes: (usize, usize),
    /// The smallest Ritz value of the search.
    pub(crate) smallest: f64,
}

struct Search<'a> {
    problem: &'a Problem<'a>,
    exec: &'a Exec,
    wanted: Wanted,
    /// Columns per step: the k wanted and the guard.
    b: usize,
    q: Block,
    aq: Block,
    /// Q'AQ.
    h: Block,
    /// `None` until the basis is good enough for them to start.
    probes: Option<Probes>,
    /// Whether the probes are multiplied by the f32 operator.
    probed_in_f32: bool,
    passes: (usize, usize),
    row_sums: Vec<f64>,
    norm: Option<f64>,
    /// The smallest Ritz value so far.
    smallest: f64,
    /// A power of two close to the entries of the first images. All images are divided by it, so that they are of order 1.
    unit: Option<f64>,
    /// Without a preconditioner, the size of the basis at which Ritz pairs are computed next.
    next_look: usize,
}

/// The current Ritz pairs.
struct Ritz {
    values: Vec<f64>,
    vectors: Block,
    images: Block,
    residuals: Block,
}

impl Ritz {
    /// The largest residual of the first k that is above `floor`, relative to the largest eigenvalue.
    fn worst(&self, k: usize, floor: f64) -> f64 {
        let scale = self.values.first().map_or(0.0, |v| v.abs()).max(f64::MIN_POSITIVE);
        let residuals = (0..k.min(self.residuals.b())).map(|j| linalg::norm(self.residuals.col(j)));
        residuals.filter(|r| *r > floor).fold(0.0, f64::max) / scale
    }
}

/// The k largest eigenvalues of HAH, or of A, and their vectors.
///
/// # Errors
/// [`ErrorKind::NotConverged`] with the residual that was reached, and any error of the operator.
pub(crate) fn solve(problem: &Problem<'_>, wanted: Wanted, exec: &Exec) -> Result<Found> {
    let n = problem.f64.n();
    let b = columns(wanted.k).min(if problem.centred { n - 1 } else { n });
    let mut rng = Rng::new(exec.get_seed() ^ 0x0073_7461_7274);
    let mut start = problem.precondition.map_or_else(|| Block::zeros(n, 0), |p| p.start(b));
    let width = if problem.precondition.is_some() { b } else { wanted.step.clamp(1, b) };
    start.append(&Block::from_fn(n, width - start.b().min(width), |_, _| rng.normal()));
    let start = orth::extension(&Block::zeros(n, 0), start, problem.centred);
    let probes = problem.precondition.map(|_| Probes::new(&start, problem.centred, exec.get_seed()));
    let mut search = Search {
        problem,
        exec,
        wanted,
        b,
        q: Block::zeros(n, 0),
        aq: Block::zeros(n, 0),
        h: Block::zeros(0, 0),
        probes,
        probed_in_f32: problem.f32.is_some(),
        passes: (0, 0),
        row_sums: Vec::new(),
        norm: None,
        smallest: f64::INFINITY,
        unit: None,
        next_look: b + 2 * width,
    };
    search.run(start)
}

impl Search<'_> {
    fn run(&mut self, mut block: Block) -> Result<Found> {
        let k = self.wanted.k;
        let n = block.n();
        let mut f32_op = self.problem.f32;
        let (mut reached, mut steps, mut slow, mut ceiling) = (None, 0, 0, f64::INFINITY);
        loop {
            // One pass: the new columns, and the probes unless the precision has changed since they started.
            let mut probing = self.probes.is_some() && f32_op.is_some() == self.probed_in_f32;
            if probing {
                block.append(&self.next_probes());
            }
            block = orth::extension(&self.q, block, self.problem.centred);
            self.exec.check_cancelled()?;
            if block.b() == 0 {
                // The basis is closed under the operator: try a random direction, if one is left, and look at once.
                self.next_look = 0;
                let mut rng = Rng::new(steps as u64);
                block = orth::extension(&self.q, Block::from_fn(n, 1, |_, _| rng.normal()), self.problem.centred);
            }
            let images = self.pass(f32_op, &block, reached)?;
            self.extend(&block, &images);
            if let Some(probes) = self.probes.as_mut().filter(|_| probing && steps == 0) {
                probes.set_basis_images(&images.columns(0, probes.basis().b()));
            }
            if probing {
                self.step_probes();
            }
            steps += 1;

            self.exec.check_cancelled()?;
            let width = self.wanted.step.min(images.b());
            if !self.is_time_to_look(reached, block.b()) {
                block = images.first(width);
                continue;
            }
            self.next_look = self.q.b() + (2 * width).max(self.q.b() / 4);
            let mut ritz = self.ritz()?;
            let floor = if f32_op.is_some() { 0.0 } else { self.floor(&ritz) };
            let mut worst = ritz.worst(k, floor);
            let all = ritz.values.len() >= k;
            if self.probes.is_none() && all && worst < PROBE_FROM {
                let mut probes = Probes::new(&ritz.vectors, self.problem.centred, self.exec.get_seed());
                probes.set_basis_images(&ritz.images);
                self.probes = Some(probes);
                self.probed_in_f32 = f32_op.is_some();
                probing = true;
            }
            let exhausted = self.q.b() + usize::from(self.problem.centred) >= n;
            let fall = reached.map_or(1.0, |before: f64| worst / before);
            slow = if fall > SLOW { slow + 1 } else { 0 };
            let mut enough = if f32_op.is_some() {
                // Either one more step suffices, which is made in f64, or f32 passes no longer reduce the residuals.
                let near = worst * fall.min(0.1) <= self.wanted.tolerance / 4.0 && steps > 1;
                near || slow > 0 && worst < 1e-4 || slow > 1
            } else {
                worst <= self.wanted.tolerance
            } && all;
            // All pairs have converged, but the probes cannot yet exclude another one: they continue alone.
            let before = steps;
            while enough && probing && !exhausted && self.needs_probe_steps(&ritz, &mut ceiling) {
                let block = orth::extension(&self.q, self.next_probes(), self.problem.centred);
                if block.b() == 0 {
                    break;
                }
                let images = self.pass(f32_op, &block, Some(worst))?;
                self.extend(&block, &images);
                self.step_probes();
                steps += 1;
            }
            if steps > before && ceiling >= ritz.values[k - 1] {
                // What they have found may belong to a pair that was missed.
                ritz = self.ritz()?;
                worst = ritz.worst(k, floor);
                enough &= f32_op.is_some() || worst <= self.wanted.tolerance;
            }
            if f32_op.is_some() && (enough || exhausted) {
                let corrections = if worst > self.wanted.tolerance / 2.0 {
                    self.corrections(&ritz, k, 0.3)
                } else {
                    Block::zeros(n, 0)
                };
                f32_op = None;
                self.b = last_columns(k, corrections.b()).min(self.b);
                block = ritz.vectors.first(self.b);
                block.append(&corrections);
                (self.q, self.aq, self.h) = (Block::zeros(n, 0), Block::zeros(n, 0), Block::zeros(0, 0));
                (reached, slow, self.next_look) = (Some(worst), 0, 0);
                continue;
            }
            if enough || exhausted {
                return Ok(self.finish(ritz));
            }
            reached = Some(worst);
            if self.passes.0 + self.passes.1 >= MOST_PASSES {
                let (found, wanted, passes) = (worst, self.wanted.tolerance, MOST_PASSES);
                return Err(ErrorKind::NotConverged { found, wanted, passes }.into());
            }
            // The guard need not converge. A few of its columns are corrected to help the k wanted converge.
            block = self.corrections(&ritz, step_columns(k), 0.1);
            if self.q.b() + block.b() + PROBES > self.wanted.most_columns {
                self.restart()?;
                self.next_look = self.q.b() + 2 * width;
            }
        }
    }

    /// Whether Ritz pairs are computed now. With a preconditioner they are always needed. Without one the next vectors are the
    /// images of the last (block Lanczos), and decompositions of Q'AQ at every step would be most of the work.
    fn is_time_to_look(&self, reached: Option<f64>, width: usize) -> bool {
        let near = reached.is_some_and(|reached| reached < 30.0 * self.wanted.tolerance);
        let full = self.q.b() + width + PROBES > self.wanted.most_columns.min(self.q.n());
        self.problem.precondition.is_some() || full || near || self.q.b() >= self.next_look
    }

    /// The bound on rounding in a product with A. Smaller residuals carry no information.
    fn floor(&self, ritz: &Ritz) -> f64 {
        let (unit, largest) = (self.unit.unwrap_or(1.0), ritz.values.first().map_or(0.0, |v| v.abs()));
        (self.problem.rounding)(self.norm, largest * unit) / unit
    }

    fn next_probes(&self) -> Block {
        self.probes.as_ref().map_or_else(|| Block::zeros(self.q.n(), 0), |probes| probes.vectors().clone())
    }

    /// One step of the probes, whose vectors are in the basis.
    fn step_probes(&mut self) {
        let Some(probes) = self.probes.as_mut() else { return };
        let shares = linalg::inner_products(&self.q, probes.vectors());
        probes.step(linalg::product(&self.aq, &shares));
    }

    /// Whether the bound from the probes does not yet separate the k wanted from the rest of the spectrum, but still falls.
    fn needs_probe_steps(&self, ritz: &Ritz, ceiling: &mut f64) -> bool {
        let k = self.wanted.k.min(ritz.values.len());
        let Some(probes) = &self.probes else { return false };
        if k == 0 || probes.steps() > MOST_PASSES / 8 || probes.is_done() {
            return false;
        }
        if probes.steps() == 0 {
            return true;
        }
        let before = std::mem::replace(ceiling, probes.ceiling().upper(k));
        *ceiling >= ritz.values[k - 1] && *ceiling < 0.97 * before
    }

    /// H A (block). The first f64 pass also computes the row sums and the sum of squares.
    fn pass(&mut self, f32_op: Option<&dyn SymOp>, block: &Block, reached: Option<f64>) -> Result<Block> {
        let number = self.passes.0 + self.passes.1 + 1;
        let in_f64 = f32_op.is_none();
        self.exec.report(Progress::Pass { number, reached, wanted: self.wanted.tolerance, in_f64 });
        let survey = in_f64 && self.problem.centred && self.row_sums.is_empty();
        let mut input = block.clone();
        if survey {
            input.append(&Block::from_fn(block.n(), 1, |_, _| 1.0));
        }
        let key = || (input.fingerprint() ^ u64::from(in_f64)).wrapping_mul(31) ^ self.problem.key;
        let PassResult { mut images, norm } =
            self.exec.pass_or_replay(self.wanted.passes_before + number, (input.n(), input.b()), key, || {
                let mut images = Block::zeros(input.n(), input.b());
                let mut norm = None;
                match f32_op {
                    Some(op) => op.apply(&input, &mut images, self.exec)?,
                    None if survey => norm = self.problem.f64.apply_with_norm(&input, &mut images, self.exec)?,
                    None => self.problem.f64.apply(&input, &mut images, self.exec)?,
                }
                self.exec.check_cancelled()?;
                images.check_finite(ErrorSubject::Product)?;
                Ok(PassResult { images, norm })
            })?;
        if (images.n(), images.b()) != (input.n(), input.b()) {
            return Err(Error::shape(
                "values of the operator's result",
                images.as_slice().len(),
                input.as_slice().len(),
            ));
        }
        if survey {
            self.norm = norm;
            self.row_sums = images.col(block.b()).to_vec();
            images = images.first(block.b());
        }
        if in_f64 {
            self.passes.1 += 1
        } else {
            self.passes.0 += 1
        }
        if self.problem.centred {
            subtract_means(&mut images);
        }
        let unit = *self.unit.get_or_insert_with(|| linalg::power_of_two(largest(images.as_slice())));
        images.as_mut_slice().iter_mut().for_each(|v| *v /= unit);
        Ok(images)
    }

    /// Appends columns and their images to the basis, and extends Q'AQ.
    fn extend(&mut self, block: &Block, images: &Block) {
        let old = self.q.b();
        self.q.append(block);
        self.aq.append(images);
        let new = linalg::inner_products(&self.q, images);
        let m = self.q.b();
        let mut h = Block::zeros(m, m);
        for j in 0..m {
            for i in j..m {
                let v = match (i < old, j < old) {
                    (true, _) => self.h.at(i, j),
                    (false, true) => new.at(j, i - old),
                    (false, false) => 0.5 * (new.at(i, j - old) + new.at(j, i - old)),
                };
                *h.at_mut(i, j) = v;
                *h.at_mut(j, i) = v;
            }
        }
        self.h = h;
    }

    fn ritz(&mut self) -> Result<Ritz> {
        let (mut values, s) = linalg::eigh(self.h.clone())?;
        self.smallest = values.last().copied().unwrap_or(0.0).min(self.smallest);
        let b = self.b.min(values.len());
        let s = s.first(b);
        values.truncate(b);
        let vectors = linalg::product(&self.q, &s);
        let images = linalg::product(&self.aq, &s);
        let mut residuals = images.clone();
        for (j, value) in values.iter().enumerate() {
            residuals.col_mut(j).iter_mut().zip(vectors.col(j)).for_each(|(r, x)| *r -= value * x);
        }
        Ok(Ritz { values, vectors, images, residuals })
    }

    /// The first-order corrections of those of the first pairs whose residuals are not yet below this share of the
    /// tolerance.
    fn corrections(&self, ritz: &Ritz, first: usize, share: f64) -> Block {
        let enough = share * self.wanted.tolerance * ritz.values[0].abs();
        let unconverged: Vec<usize> =
            (0..ritz.values.len().min(first)).filter(|j| linalg::norm(ritz.residuals.col(*j)) > enough).collect();
        let residuals = ritz.residuals.select(&unconverged);
        let unit = self.unit.unwrap_or(1.0);
        let theta: Vec<f64> = unconverged.iter().map(|j| ritz.values[*j] * unit).collect();
        match self.problem.precondition {
            Some(p) => p.correct(&residuals, &theta),
            None => residuals,
        }
    }

    /// Restarts from the leading Ritz vectors: those that are searched for, and more of them where the basis is large, since
    /// they are what the next steps would have to find again.
    fn restart(&mut self) -> Result<()> {
        let (values, s) = linalg::eigh(self.h.clone())?;
        let kept = self.b.max(self.wanted.most_columns / 3).min(values.len());
        let s = s.first(kept);
        self.q = linalg::product(&self.q, &s);
        self.aq = linalg::product(&self.aq, &s);
        self.h = Block::from_fn(kept, kept, |i, j| if i == j { values[i] } else { 0.0 });
        Ok(())
    }

    fn finish(&mut self, ritz: Ritz) -> Found {
        Found {
            unit: self.unit.unwrap_or(1.0),
            values: ritz.values,
            vectors: ritz.vectors,
            residuals: ritz.residuals,
            row_sums: std::mem::take(&mut self.row_sums),
            norm: self.norm,
            ceiling: self.probes.as_ref().map_or_else(Ceiling::unknown, Probes::ceiling),
            passes: self.passes,
            smallest: self.smallest,
        }
    }
}
