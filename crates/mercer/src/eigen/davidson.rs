//! The leading eigenpairs of a centred operator that nobody stores: block Davidson (MATHS.md, M16).
//!
//! ```text
//! Q = the leading eigenvectors of FF' ~ A, or a random block; probes beside it
//! repeat   AQ = A Q               one pass over the operator, for the newest columns only
//!          H = Q'AQ = S T S'      Rayleigh and Ritz:  X = QS,  R = AX - XT
//!          Q = (Q, (FF' - T)^-1 R, next vectors of the probes), made orthonormal
//! until |R| <= tolerance
//! ```
//!
//! Without F the corrections are R itself, and Q spans a block Krylov space. Passes are in f32 where that is given, until
//! its own error is met; the last one is in f64, on X and the last corrections. Values, vectors and residuals that are
//! reported come from it alone; what the probes say comes with an allowance for the arithmetic they saw.

use super::orth;
use super::probe::{Ceiling, PROBES, Probes};
use crate::block::Block;
use crate::error::{Error, ErrorKind, Result};
use crate::exec::{Exec, PassResult, Progress};
use crate::linalg;
use crate::op::{SymOp, subtract_means};
use crate::real::largest;
use crate::rng::Rng;

/// Something near to the operator that can be inverted: what makes the steps long.
pub(crate) trait Precondition: Sync {
    /// The leading `b` eigenvectors, fewer when there are not so many.
    fn start(&self, b: usize) -> Block;

    /// (M - theta_j)^-1 r_j for each column.
    fn correct(&self, residuals: &Block, theta: &[f64]) -> Block;
}

/// The operator, as far as there are ways to apply it.
pub(crate) struct Problem<'a> {
    /// A in f64, before centring.
    pub(crate) f64: &'a dyn SymOp,
    /// A in f32.
    pub(crate) f32: Option<&'a dyn SymOp>,
    pub(crate) precondition: Option<&'a dyn Precondition>,
    /// What rounding can do to a product with A, as seen in an eigenvalue, given the Frobenius norm of A, if it is known,
    /// and its largest eigenvalue.
    pub(crate) rounding: &'a dyn Fn(Option<f64>, f64) -> f64,
    /// A number that stands for A, in the keys of a journal.
    pub(crate) key: u64,
}

/// What is wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Wanted {
    /// Number of eigenpairs.
    pub(crate) k: usize,
    /// |A u - lambda u| relative to the largest eigenvalue.
    pub(crate) tolerance: f64,
    /// The most columns of the basis.
    pub(crate) most_columns: usize,
    /// Passes that were made for the same result before this search.
    pub(crate) passes_before: usize,
}

/// Columns of the first step: those wanted and a guard that catches what would otherwise mix into the last ones; with the probes a
/// multiple of eight, which matrix products are fastest for.
pub(crate) fn columns(k: usize) -> usize {
    k.saturating_add(4 + k / 10 + PROBES).min(usize::MAX / 2).next_multiple_of(8) - PROBES
}

/// Columns of the steps after the first: those wanted and a few more, with the probes a multiple of eight.
fn step_columns(k: usize) -> usize {
    (k + 2 + PROBES).next_multiple_of(8) - PROBES
}

/// Ritz vectors that the last step, in f64, goes on from beside so many corrections: those wanted and a few more, a
/// multiple of eight with the corrections and the column of ones.
fn last_columns(k: usize, corrections: usize) -> usize {
    (k + corrections + 2).next_multiple_of(8) - 1 - corrections
}

/// Without landmarks, the probes start when residuals are below this: before, they would find what is yet to be found.
const PROBE_FROM: f64 = 0.03;
/// Passes after which the search is given up.
const MOST_PASSES: usize = 200;
/// Passes in f32 go on as long as each brings at least this.
const WORTH: f64 = 0.5;

/// Ritz pairs with what is known about the rest of the spectrum. Eigenvalues and residuals are in a unit of their own.
pub(crate) struct Found {
    /// A power of two.
    pub(crate) unit: f64,
    /// Descending; those wanted and the guard.
    pub(crate) values: Vec<f64>,
    /// Orthonormal, orthogonal to 1.
    pub(crate) vectors: Block,
    /// A X - X T, all in f64.
    pub(crate) residuals: Block,
    /// K1, before centring, in no unit.
    pub(crate) row_sums: Vec<f64>,
    /// The Frobenius norm before centring, in no unit.
    pub(crate) norm: Option<f64>,
    /// What no eigenvalue exceeds, but for the probability of [`super::probe::failure`].
    pub(crate) ceiling: Ceiling,
    /// Passes in f32 and in f64.
    pub(crate) passes: (usize, usize),
    /// The smallest Ritz value that was met.
    pub(crate) smallest: f64,
}

struct Search<'a> {
    problem: &'a Problem<'a>,
    exec: &'a Exec,
    wanted: Wanted,
    /// Columns per step: those wanted and the guard.
    b: usize,
    q: Block,
    aq: Block,
    /// Q'AQ.
    h: Block,
    /// From the moment on at which there is a basis worth looking beyond.
    probes: Option<Probes>,
    /// Whether they see the operator in f32.
    probed_in_f32: bool,
    passes: (usize, usize),
    row_sums: Vec<f64>,
    norm: Option<f64>,
    /// The smallest Ritz value so far.
    smallest: f64,
    /// A power of two near to the entries of the first images: all that follows is of the order of 1.
    unit: Option<f64>,
}

/// Ritz pairs of the moment.
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

/// The k largest eigenvalues of HAH and their vectors.
///
/// # Errors
/// [`ErrorKind::NotConverged`] with what was reached, and whatever stops the operator.
pub(crate) fn solve(problem: &Problem<'_>, wanted: Wanted, exec: &Exec) -> Result<Found> {
    let n = problem.f64.n();
    let b = columns(wanted.k).min(n - 1);
    let mut rng = Rng::new(exec.seed_value() ^ 0x0073_7461_7274);
    let mut start = problem.precondition.map_or_else(|| Block::zeros(n, 0), |p| p.start(b));
    start.append(&Block::from_fn(n, b - start.b().min(b), |_, _| rng.normal()));
    let start = orth::extension(&Block::zeros(n, 0), start);
    let probes = problem.precondition.map(|_| Probes::new(&start, exec.seed_value()));
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
            // One pass: the new columns, and the probes as long as they see one and the same operator.
            let probing = self.probes.is_some() && f32_op.is_some() == self.probed_in_f32;
            if let Some(probes) = self.probes.as_ref().filter(|_| probing) {
                block.append(probes.vectors());
            }
            block = orth::extension(&self.q, block);
            self.exec.check_cancelled()?;
            if block.b() == 0 {
                // The basis is closed under the operator: a fresh direction, if there is one.
                let mut rng = Rng::new(steps as u64);
                block = orth::extension(&self.q, Block::from_fn(n, 1, |_, _| rng.normal()));
            }
            let images = self.pass(f32_op, &block, reached)?;
            self.extend(&block, &images);
            if let Some(probes) = self.probes.as_mut().filter(|_| probing) {
                if steps == 0 {
                    probes.learn(&images.columns(0, probes.basis().b()));
                }
                let shares = linalg::inner_products(&self.q, probes.vectors());
                probes.step(linalg::product(&self.aq, &shares));
            }
            steps += 1;

            self.exec.check_cancelled()?;
            let ritz = self.ritz()?;
            let floor = if f32_op.is_some() { 0.0 } else { self.floor(&ritz) };
            let worst = ritz.worst(k, floor);
            if self.probes.is_none() && worst < PROBE_FROM {
                let mut probes = Probes::new(&ritz.vectors, self.exec.seed_value());
                probes.learn(&ritz.images);
                self.probes = Some(probes);
                self.probed_in_f32 = f32_op.is_some();
            }
            let exhausted = self.q.b() + 1 >= n;
            let fall = reached.map_or(1.0, |before: f64| worst / before);
            slow = if fall > WORTH { slow + 1 } else { 0 };
            let enough = if f32_op.is_some() {
                // One more step would do, and it is made in f64; or f32 has given what it can.
                let near = worst * fall.min(0.1) <= self.wanted.tolerance / 4.0 && steps > 1;
                near || slow > 0 && worst < 1e-4 || slow > 1
            } else {
                worst <= self.wanted.tolerance
            };
            if enough && !exhausted && self.is_open(&ritz, &mut ceiling, steps) {
                // All pairs are there, but not yet the certainty that there is no other: the probes go on alone.
                block = Block::zeros(n, 0);
                reached = Some(worst);
                continue;
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
                (reached, slow) = (Some(worst), 0);
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
            // The guard need not converge: a few of it are corrected, so that the pairs wanted do.
            block = self.corrections(&ritz, step_columns(k), 0.1);
            if self.q.b() + block.b() + PROBES > self.wanted.most_columns {
                self.restart(&ritz);
            }
        }
    }

    /// What rounding can do to a product with A: nothing below it can be known.
    fn floor(&self, ritz: &Ritz) -> f64 {
        let (unit, largest) = (self.unit.unwrap_or(1.0), ritz.values.first().map_or(0.0, |v| v.abs()));
        (self.problem.rounding)(self.norm, largest * unit) / unit
    }

    /// Whether the probes cannot yet tell the pairs wanted from the rest of the spectrum, but still come nearer to it.
    fn is_open(&self, ritz: &Ritz, ceiling: &mut f64, steps: usize) -> bool {
        let k = self.wanted.k.min(ritz.values.len());
        let Some(probes) = &self.probes else { return false };
        if k == 0 || steps > MOST_PASSES / 8 || probes.is_done() {
            return false;
        }
        let before = std::mem::replace(ceiling, probes.ceiling().upper(k));
        *ceiling >= ritz.values[k - 1] && *ceiling < 0.97 * before
    }

    /// H A (block). The first f64 pass also takes the row sums and the sum of squares along.
    fn pass(&mut self, f32_op: Option<&dyn SymOp>, block: &Block, reached: Option<f64>) -> Result<Block> {
        let number = self.passes.0 + self.passes.1 + 1;
        let in_f64 = f32_op.is_none();
        self.exec.report(Progress::Pass { number, reached, wanted: self.wanted.tolerance, in_f64 });
        let survey = in_f64 && self.row_sums.is_empty();
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
                images.check_finite("product with the operator")?;
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
        subtract_means(&mut images);
        let unit = *self.unit.get_or_insert_with(|| linalg::power_of_two(largest(images.as_slice())));
        images.as_mut_slice().iter_mut().for_each(|v| *v /= unit);
        Ok(images)
    }

    /// Puts columns and their images behind the basis.
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
        let s = s.first(self.b);
        values.truncate(self.b);
        let vectors = linalg::product(&self.q, &s);
        let images = linalg::product(&self.aq, &s);
        let mut residuals = images.clone();
        for (j, value) in values.iter().enumerate() {
            residuals.col_mut(j).iter_mut().zip(vectors.col(j)).for_each(|(r, x)| *r -= value * x);
        }
        Ok(Ritz { values, vectors, images, residuals })
    }

    /// What the basis lacks, by the first order: for those of the first pairs whose residuals are
    /// not yet below this share of the tolerance.
    fn corrections(&self, ritz: &Ritz, first: usize, share: f64) -> Block {
        let enough = share * self.wanted.tolerance * ritz.values[0].abs();
        let open: Vec<usize> =
            (0..ritz.values.len().min(first)).filter(|j| linalg::norm(ritz.residuals.col(*j)) > enough).collect();
        let residuals = ritz.residuals.select(&open);
        let unit = self.unit.unwrap_or(1.0);
        let theta: Vec<f64> = open.iter().map(|j| ritz.values[*j] * unit).collect();
        match self.problem.precondition {
            Some(p) => p.correct(&residuals, &theta),
            None => residuals,
        }
    }

    /// Goes on from the Ritz vectors alone.
    fn restart(&mut self, ritz: &Ritz) {
        self.q = ritz.vectors.clone();
        self.aq = ritz.images.clone();
        let b = self.q.b();
        self.h = Block::from_fn(b, b, |i, j| if i == j { ritz.values[i] } else { 0.0 });
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
