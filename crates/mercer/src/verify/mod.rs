//! A second opinion on a model: what it says is measured again on its data, by a computation that shares nothing with the
//! fit but the definitions of kernels and embeddings (MATHS.md, M26).
//!
//! The code is plain on purpose. It evaluates the kernel pair by pair or the scatter row by row, adds with compensated sums,
//! and allows for its own rounding. It uses no tile, no operator, no moments, no solver and no probe of the fit.

mod claims;
mod matrix;
mod probes;
mod sums;

use std::fmt;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use claims::Claims;
use matrix::{Located, Matrix, Measured, Pass, plain_error};
use probes::{Bounds, Probes};
use sums::{Sum, add, add_products, dot, eigenvalues, norm, orthonormalised};

use crate::block::Block;
use crate::error::{Error, ErrorKind, Result};
use crate::exec::Exec;
use crate::features::{Features, Standardise};
use crate::kernel::{Kernel, bind};
use crate::kernel_pca::KernelPcaModel;
use crate::model::AnyModel;
use crate::pca::PcaModel;
use crate::points::{Points, PointsRef};
use crate::real::{Real, short};

/// The rounding of f64.
const UNIT: f64 = 0.5 * f64::EPSILON;
/// The number of probes, and the least component along a direction that the bound assumes: M17 with its own numbers.
const PROBES: usize = 4;
const SHARE: f64 = 0.0396;

/// What became of a claim.
///
/// ```
/// assert_eq!(mercer::verify::Outcome::NotDecided.name(), "not decided");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The measured number is within the claim, but for the rounding of both.
    Confirmed,
    /// It is not.
    Refuted,
    /// The measurement is too coarse to tell.
    NotDecided,
}

impl Outcome {
    /// Returns the outcome in words.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Confirmed => "confirmed",
            Outcome::Refuted => "refuted",
            Outcome::NotDecided => "not decided",
        }
    }

    /// Confirmed if the condition holds; a comparison with NaN does not.
    fn of(holds: bool) -> Self {
        if holds { Outcome::Confirmed } else { Outcome::Refuted }
    }
}

/// What a claim is about.
///
/// ```
/// assert_eq!(mercer::verify::Subject::Residual.name(), "residual");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Subject {
    /// The points are those that the model stores.
    Data,
    /// The mean of the columns.
    Mean,
    /// The standard deviation of the columns.
    Scale,
    /// The vectors of the components are orthonormal; for kernel PCA also orthogonal to 1.
    Vectors,
    /// The residual of a component.
    Residual,
    /// The eigenvalue of a component.
    Eigenvalue,
    /// The scores that the model computes of its own points.
    Scores,
    /// The sum of all eigenvalues.
    Total,
    /// The largest eigenvalue that is not among the components.
    Missed,
}

impl Subject {
    /// Returns a short name.
    pub fn name(self) -> &'static str {
        match self {
            Subject::Data => "data",
            Subject::Mean => "mean",
            Subject::Scale => "scale",
            Subject::Vectors => "vectors",
            Subject::Residual => "residual",
            Subject::Eigenvalue => "eigenvalue",
            Subject::Scores => "scores",
            Subject::Total => "total",
            Subject::Missed => "missed",
        }
    }
}

/// A claim of a model, what was measured, and the outcome.
///
/// ```
/// use mercer::{AnyModel, Exec, Pca, Points};
/// let x = Points::from_rows(&[[0.0, 0.1], [1.0, 2.1], [2.0, 3.9], [3.0, 6.0]]);
/// let model = AnyModel::Pca(Pca::new().components(1).fit(&x)?);
/// for claim in &model.verify(&x, &Exec::new())?.claims {
///     assert!(claim.measured <= claim.claimed + claim.allowance);
/// }
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Claim {
    /// What it is about.
    pub about: Subject,
    /// The component it is about, from 0; `None` if it is about the model.
    pub component: Option<usize>,
    /// What became of it.
    pub outcome: Outcome,
    /// The bound that the model states, with its allowance for rounding. For eigenvalues, the larger end of the enclosure.
    pub claimed: f64,
    /// What was measured: the number that the bound is about, or a lower bound of it.
    pub measured: f64,
    /// The allowance for the rounding of the measurement.
    pub allowance: f64,
    /// The claim and the measurement in words.
    pub text: String,
}

/// What all claims together amount to.
///
/// ```
/// assert_eq!(mercer::verify::Verdict::Confirmed.name(), "confirmed");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Claims were confirmed, and none was refuted.
    Confirmed,
    /// A claim was refuted.
    Refuted,
    /// No claim was confirmed or refuted.
    NotDecided,
    /// The model has no error bounds: its numbers were computed elsewhere.
    NoClaims,
}

impl Verdict {
    /// Returns the verdict in words.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Confirmed => "confirmed",
            Verdict::Refuted => "refuted",
            Verdict::NotDecided => "not decided",
            Verdict::NoClaims => "no claims to check",
        }
    }
}

/// A second opinion on a model: what was measured on its data, and what that says about its claims.
///
/// # Example
/// ```
/// use mercer::verify::Verdict;
/// use mercer::{AnyModel, Exec, Gamma, Kernel, KernelPca, KernelPcaModel, Points};
/// let x = Points::from_fn(30, 2, |i, j| ((i * (j + 2)) as f64).sin());
/// let model = KernelPca::new(Kernel::gaussian(Gamma::Median)).components(2).fit(&x)?;
/// let mut parts = model.to_parts()?;
/// assert_eq!(AnyModel::KernelPca(model).verify(&x, &Exec::new())?.verdict(), Verdict::Confirmed);
///
/// parts.eigenvalues[1] *= 1.0 + 1e-9; // in a damaged file, say
/// let damaged = AnyModel::KernelPca(KernelPcaModel::from_parts(parts)?);
/// assert_eq!(damaged.verify(&x, &Exec::new())?.verdict(), Verdict::Refuted);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Verification {
    /// The claims; none for a model whose numbers were computed elsewhere.
    pub claims: Vec<Claim>,
    /// The residual |A u - lambda u| of each component, with the vector u of length 1.
    pub residuals: Vec<f64>,
    /// The Rayleigh quotient u'A u of each component.
    pub quotients: Vec<f64>,
    /// The largest entry of |U'U - I|.
    pub orthonormality: f64,
    /// The sum of all eigenvalues.
    pub total: f64,
    /// A lower bound of the largest eigenvalue in the complement of the components (a theorem), and an upper bound, which
    /// fails with probability [`failure`] or is a theorem too.
    pub beyond: (f64, f64),
    /// The allowance for the rounding of a measured residual or eigenvalue.
    pub rounding: f64,
    /// The number of passes over the data.
    pub passes: usize,
}

impl Verification {
    /// Returns what all claims together amount to.
    pub fn verdict(&self) -> Verdict {
        let any = |outcome| self.claims.iter().any(|c| c.outcome == outcome);
        match (self.claims.is_empty(), any(Outcome::Refuted), any(Outcome::Confirmed)) {
            (true, _, _) => Verdict::NoClaims,
            (_, true, _) => Verdict::Refuted,
            (_, _, true) => Verdict::Confirmed,
            _ => Verdict::NotDecided,
        }
    }

    /// Returns the verdict as a sentence.
    pub fn sentence(&self) -> String {
        let count = |outcome| self.claims.iter().filter(|c| c.outcome == outcome).count();
        let (holds, fails, open) = (count(Outcome::Confirmed), count(Outcome::Refuted), count(Outcome::NotDecided));
        let open = match open {
            0 => String::new(),
            n => format!(", {n} not decided"),
        };
        match self.verdict() {
            Verdict::Confirmed => format!("confirmed: {holds} claims hold{open}"),
            Verdict::Refuted if self.wrong_data() => "refuted: the data is not that of the fit".to_string(),
            Verdict::Refuted => format!("refuted: {fails} of {} claims do not hold{open}", self.claims.len()),
            Verdict::NotDecided => format!("not decided: rounding of {:.1e} hides all claims", self.rounding),
            Verdict::NoClaims => "no claims to check: the model has no error bounds".to_string(),
        }
    }

    fn wrong_data(&self) -> bool {
        self.claims.iter().any(|c| c.about == Subject::Data && c.outcome == Outcome::Refuted)
    }

    /// Returns the share of the total variance that each component explains, as measured.
    pub fn shares(&self) -> Vec<f64> {
        self.quotients.iter().map(|v| if self.total > 0.0 { v / self.total } else { 0.0 }).collect()
    }

    /// Returns what was measured, in words: for a model without claims.
    pub fn measurements(&self) -> Vec<String> {
        let largest = self.quotients.iter().copied().fold(0.0, f64::max);
        let worst = self.residuals.iter().copied().fold(0.0, f64::max);
        let relative = if largest > 0.0 { worst / largest } else { 0.0 };
        vec![
            format!("residuals are at most {relative:.1e} of the largest eigenvalue"),
            format!("vectors are orthonormal to {:.1e}", self.orthonormality),
            format!("the sum of all eigenvalues is {}", short(self.total)),
            format!(
                "the largest eigenvalue beyond the components is between {} and {}",
                short(self.beyond.0.max(0.0)),
                short(self.beyond.1.max(0.0))
            ),
        ]
    }
}

impl fmt::Display for Verification {
    /// Writes a line for each claim, or for each measurement if there are no claims, and then the verdict.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for claim in &self.claims {
            writeln!(f, "{:<12} {}", claim.outcome.name(), claim.text)?;
        }
        if self.claims.is_empty() {
            self.measurements().iter().try_for_each(|text| writeln!(f, "{:<12} {text}", "measured"))?;
        }
        write!(f, "{:<12} {}", "verdict", self.sentence())
    }
}

/// Returns the probability that the upper bound of [`Verification::beyond`] does not hold, over the random probes.
pub fn failure() -> f64 {
    (SHARE * (2.0 / std::f64::consts::PI).sqrt()).powi(PROBES as i32)
}

/// The options of a verification.
///
/// The random probes depend on the random seed of [`Exec`]. They differ from those of a fit with the same seed.
///
/// # Example
/// ```
/// use mercer::verify::Verify;
/// use mercer::{AnyModel, Exec, Pca, Points};
/// let x = Points::from_rows(&[[0.0, 0.1], [1.0, 2.1], [2.0, 3.9], [3.0, 6.0]]);
/// let model = AnyModel::Pca(Pca::new().components(1).fit(&x)?);
/// let opinion = Verify::new().passes(2).run(&model, &x, &Exec::new())?;
/// assert!(opinion.passes <= 2); // fewer, if nothing is left beside the components
/// println!("{opinion}");
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verify {
    passes: usize,
}

impl Default for Verify {
    fn default() -> Self {
        Verify::new()
    }
}

impl Verify {
    /// The default number of passes.
    pub const PASSES: usize = 8;

    /// Returns the defaults.
    pub fn new() -> Self {
        Verify { passes: Verify::PASSES }
    }

    /// Makes this many passes over the data, at least 1. Each evaluates the kernel for all pairs of points. More passes give
    /// better bounds on eigenvalues that are not among the components.
    pub fn passes(mut self, passes: usize) -> Self {
        self.passes = passes.max(1);
        self
    }

    /// Measures again, on the points that a model was fitted to, what the model says. A model of a given Gram matrix takes
    /// that matrix.
    ///
    /// # Errors
    /// When there is another number of points or columns than in the fit, or a value that is not finite; for features,
    /// which make no claims; when the points need more memory than the budget; and when cancelled.
    pub fn run<'a, T: Real>(
        &self,
        model: &AnyModel,
        points: impl Into<PointsRef<'a, T>>,
        exec: &Exec,
    ) -> Result<Verification> {
        let x = points.into();
        let Some(spectrum) = model.spectrum() else {
            return Err(ErrorKind::Unsupported {
                what: "features of a kernel make no claims that could be verified".into(),
                remedy: "verify a model of PCA or kernel PCA".into(),
            }
            .into());
        };
        x.check_dimensions(model.d())?;
        if x.n() != spectrum.n() {
            let what = "the data is not that of the fit: number of points";
            return Err(Error::shape(what, x.n(), spectrum.n()));
        }
        x.check(1)?;
        x.check_not_huge()?;
        exec.run(|| match model {
            AnyModel::Pca(m) => self.pca(m, x.to_f64(), exec),
            AnyModel::KernelPca(m) => self.kernel_pca(m, x.to_f64(), exec),
            AnyModel::Nystroem(_) => unreachable!("features have no spectrum"),
        })
    }

    fn pca(&self, model: &PcaModel, x: Points<f64>, exec: &Exec) -> Result<Verification> {
        let (n, features) = (x.n(), model.mean().len());
        exec.allow(
            8 * 2 * n as u128 * features as u128,
            "the points in twice the precision of their sums",
            "verify on a machine with more memory",
        )?;
        let mut columns = vec![Vec::with_capacity(n); features];
        for (i, row) in x.rows().enumerate() {
            let phi = model.embedding().checked_map(i, row, features)?;
            columns.iter_mut().zip(phi).for_each(|(column, v)| column.push(v));
        }
        let located: Vec<Located> = columns
            .into_par_iter()
            .map(|column| Located::of(column, model.is_centered(), model.is_standardised()))
            .collect();
        let mut claims = Claims::new(model.spectrum(), model.certificate());
        claims.location(&located, model.mean(), model.scale(), model.is_centered(), model.is_standardised());
        // |dX| <= 8 u |X|: a difference, its division, and the scale. So |dS| <= 16 u tr S; products add 8 u tr S.
        let columns: Vec<Vec<f64>> = located.iter().map(|l| l.values.clone()).collect();
        let total = add(columns.iter().map(|c| dot(c, c)));
        let axes = model.axes();
        let vectors = Block::from_fn(features, axes.n(), |i, j| axes.row(j)[i]);
        // M2  y = F'(x - m), of which the model has its own.
        let matrix = Matrix::Scatter { columns, n };
        let (scores, spectrum) = (matrix.scores(&vectors), model.spectrum());
        let sd: Vec<f64> = spectrum.variances().iter().map(|v| v.sqrt()).collect();
        let (theirs, width) = (model.transform_with(&x, exec)?, features as f64);
        for j in 0..axes.n() {
            let unit = if model.is_whitened() { sd[j] } else { 1.0 };
            let difference = norm(&(0..n).map(|i| theirs.row(i)[j] * unit - scores[j][i]).collect::<Vec<f64>>());
            // The model subtracts a rounded mean, and adds as many terms as there are features.
            let of_mean = add((0..features).map(|i| (model.mean()[i] / model.scale()[i] * axes.row(j)[i]).abs()));
            claims.scores(j, difference, UNIT * ((width + 16.0) * total.sqrt() + 2.0 * (n as f64).sqrt() * of_mean));
        }
        let facts = Measured { rounding: 32.0 * UNIT * total, total, of_total: 32.0 * UNIT * total, definite: true };
        let moved = vec![0.0; axes.n()];
        self.measure(&matrix, &vectors, moved, |_| facts, claims, exec)
    }

    fn kernel_pca(&self, model: &KernelPcaModel, x: Points<f64>, exec: &Exec) -> Result<Verification> {
        let mut claims = Claims::new(model.spectrum(), model.certificate());
        let n = x.n();
        let (kernel, fitted, seen) = match model.features() {
            Features::Kernel { bound, rows, standardise, .. } => {
                let seen = match standardise {
                    Some(s) => self.standardised(s, &x, &mut claims),
                    None => x.clone(),
                };
                bind::check_domain(bound.kernel(), seen.view())?;
                (Some(bound.kernel()), Some(rows.points()), seen)
            }
            Features::KernelFn { points, .. } => (None, Some(points), x.clone()),
            Features::GramRow { .. } | Features::Explicit { .. } => (None, None, x.clone()),
        };
        if let Some(fitted) = fitted.filter(|_| model.is_exact()) {
            claims.data(&seen, fitted, model.standardise());
        }
        let entry = |i: usize, j: usize| match (model.features(), kernel) {
            (Features::Kernel { .. }, Some(kernel)) => kernel.eval(seen.row(i), seen.row(j)),
            (Features::KernelFn { kernel, .. }, _) => kernel(seen.row(i), seen.row(j)),
            // What is decomposed is the symmetric part.
            _ => 0.5 * seen.row(i)[j] + 0.5 * seen.row(j)[i],
        };
        // What rounding does to an entry, values being of the size `size` (M25, for plain sums).
        let error = |size: f64| match (kernel, model.features()) {
            (Some(kernel), _) => plain_error(kernel, &seen, size),
            (None, Features::KernelFn { .. }) => 8.0 * f64::EPSILON * size,
            (None, _) => 0.0,
        };
        let matrix = Matrix::Gram { entry: &entry, n };
        let (alpha, values) = (model.alpha(), model.spectrum().eigenvalues());
        let (vectors, moved) = match (kernel, fitted) {
            (Some(kernel), Some(landmarks)) if !model.is_exact() => {
                self.of_landmarks(model, kernel, landmarks, &seen, &x, &mut claims, exec)?
            }
            // M10  u = alpha sqrt(lambda)
            _ => (Block::from_fn(n, alpha.d(), |i, j| alpha.row(i)[j] * values[j].sqrt()), vec![0.0; alpha.d()]),
        };
        let definite = kernel.is_some_and(Kernel::is_psd);
        let facts = |first: &Pass| {
            let nf = n as f64;
            let (norm, diagonal) = (first.squares.sqrt(), first.diagonal);
            // |dK| <= n e, by entries of the root mean square or of the size of k(x, x); products and centring add to it.
            let entries = nf * error((norm / nf).max(first.diagonal_size / nf));
            let total = diagonal - first.sum / nf;
            let of_total = 2.0 * entries + 32.0 * UNIT * (first.diagonal_size + first.sum.abs() / nf);
            Measured { rounding: entries + 32.0 * UNIT * norm, total, of_total, definite }
        };
        if model.is_exact() && !claims.none {
            claims.theirs = Some(model.transform_with(&x, exec)?);
        }
        claims.negative = model.definiteness().map_or(0.0, |d| 2.0 * d.negative_mass);
        self.measure(&matrix, &vectors, moved, facts, claims, exec)
    }

    /// The points as the model standardises them.
    fn standardised(&self, s: &Standardise, x: &Points<f64>, claims: &mut Claims<'_>) -> Points<f64> {
        let located: Vec<Located> = (0..x.d()).map(|j| Located::of(x.column(j), true, true)).collect();
        claims.location(&located, &s.mean, &s.scale, true, true);
        Points::from_fn(x.n(), x.d(), |i, j| (x.row(i)[j] - s.mean[j]) / s.scale[j])
    }

    /// The scores of the points by the landmarks (M20), each column divided by its norm, and what rounding can have done to
    /// these unit vectors.
    #[allow(clippy::too_many_arguments)]
    fn of_landmarks(
        &self,
        model: &KernelPcaModel,
        kernel: &Kernel,
        landmarks: &Points<f64>,
        seen: &Points<f64>,
        x: &Points<f64>,
        claims: &mut Claims<'_>,
        exec: &Exec,
    ) -> Result<(Block, Vec<f64>)> {
        let (n, m, k) = (seen.n(), landmarks.n(), model.components());
        let (weights, offset) = (model.alpha(), model.alpha_offset());
        let rows: Vec<(Vec<f64>, f64)> = (0..n)
            .into_par_iter()
            .map(|i| {
                exec.check_cancelled()?;
                let c: Vec<f64> = landmarks.rows().map(|l| kernel.eval(seen.row(i), l)).collect();
                let score = |j: usize| {
                    let mut sum = Sum::default();
                    sum.add(-offset[j]);
                    c.iter().enumerate().for_each(|(l, c)| sum.add_product(*c, weights.row(l)[j]));
                    sum.value()
                };
                Ok(((0..k).map(score).collect(), dot(&c, &c)))
            })
            .collect::<Result<_>>()?;
        let size = (add(rows.iter().map(|r| r.1)) / (n * m) as f64).sqrt();
        let own = add(seen.rows().map(|x| kernel.self_value(x).abs())) / n as f64;
        let error = plain_error(kernel, seen, size.max(own));
        let mut vectors = Block::from_fn(n, k, |i, j| rows[i].0[j]);
        let theirs = if claims.none { None } else { Some(model.transform_with(x, exec)?) };
        let (values, rounding) = (model.spectrum().eigenvalues(), model.certificate().rounding());
        let mut moved = Vec::with_capacity(k);
        for j in 0..k {
            let length = norm(vectors.col(j));
            let of_weights = norm(&weights.column(j));
            let lost = error * ((n * m) as f64).sqrt() * of_weights + 16.0 * UNIT * (length + offset[j].abs());
            if let Some(theirs) = &theirs {
                let ours = vectors.col(j);
                let difference = norm(&(0..n).map(|i| theirs.row(i)[j] - ours[i]).collect::<Vec<f64>>());
                let size = of_weights * ((n * m) as f64).sqrt() * size;
                let sums = UNIT * (m as f64 + 16.0) * (size + (n as f64).sqrt() * offset[j].abs());
                claims.scores(j, difference, 2.0 * lost + sums + rounding / values[j].sqrt());
                claims.energy(j, length * length, values[j], rounding, 4.0 * length * lost);
            }
            vectors.col_mut(j).iter_mut().for_each(|v| *v /= length.max(f64::MIN_POSITIVE));
            moved.push(lost / length.max(f64::MIN_POSITIVE));
        }
        Ok((vectors, moved))
    }

    /// The passes, and what follows from them. `moved` is what rounding can have done to the vectors.
    fn measure(
        &self,
        matrix: &Matrix<'_>,
        vectors: &Block,
        moved: Vec<f64>,
        facts: impl FnOnce(&Pass) -> Measured,
        mut claims: Claims<'_>,
        exec: &Exec,
    ) -> Result<Verification> {
        let (size, k) = (vectors.n(), vectors.b());
        let values = claims.spectrum.eigenvalues();
        // U = Q T, with 1 before the vectors where the matrix is centred: Q is orthonormal, and T = I but for rounding.
        let centred = matches!(matrix, Matrix::Gram { .. });
        let first = usize::from(centred);
        let all = Block::from_fn(size, first + k, |i, j| match j.checked_sub(first) {
            Some(j) => vectors.at(i, j),
            None => 1.0 / (size as f64).sqrt(),
        });
        let (basis, t) = orthonormalised(&all);
        let independent = (first..first + k).all(|j| t.at(j, j) > 0.5);
        let orthonormality = (first..first + k)
            .flat_map(|j| (0..=j).map(move |i| (i, j)))
            .map(|(i, j)| (dot(all.col(i), all.col(j)) - f64::from(u8::from(i == j))).abs())
            .fold(0.0, f64::max);

        let mut probes = Probes::new(&basis, exec.get_seed());
        let start = Block::from_fn(size, k + probes.newest.b(), |i, j| match j.checked_sub(k) {
            Some(probe) => probes.newest.at(i, probe),
            None => basis.at(i, first + j),
        });
        let pass = matrix.times(&start, exec)?;
        let facts = facts(&pass);
        let images = &pass.images;
        // A Q, with A = K~ = HKH on vectors orthogonal to 1, or A = S.
        let image = |j: usize| {
            let mut column = images.col(j).to_vec();
            if centred {
                let mean = add(column.iter().copied()) / size as f64;
                column.iter_mut().for_each(|v| *v -= mean);
            }
            column
        };
        let of_basis: Vec<Vec<f64>> = (0..k).map(image).collect();
        // A u_j = sum_i A q_i T_ij
        let of_vector = |j: usize| -> Vec<f64> {
            let entry = |r: usize| add_products((0..=j).map(|i| (of_basis[i][r], t.at(first + i, first + j))));
            (0..size).map(entry).collect()
        };
        let mut residuals = Vec::with_capacity(k);
        let mut quotients = Vec::with_capacity(k);
        let largest = values.first().copied().unwrap_or(0.0);
        for j in 0..k {
            let (u, au) = (vectors.col(j), of_vector(j));
            let left: Vec<f64> = (0..size).map(|r| add_products([(au[r], 1.0), (-values[j], u[r])])).collect();
            residuals.push(norm(&left));
            quotients.push(dot(u, &au) / dot(u, u).max(f64::MIN_POSITIVE));
            // Rounding of a unit vector by `moved` changes its residual by at most that times |A| + lambda.
            let own = facts.rounding + 2.0 * facts.total.abs().max(largest) * moved[j];
            claims.residual(j, residuals[j], own);
            claims.own_scores(j, &au, facts.rounding);
        }
        let moved = moved.iter().copied().fold(0.0, f64::max);
        claims.vectors(orthonormality, 2.0 * moved);

        // Ritz values of A on Q, and |A Q - Q Theta|.
        let column = |j: usize| basis.col(first + j);
        let theta = Block::from_fn(k, k, |i, j| 0.5 * (dot(column(i), &of_basis[j]) + dot(column(j), &of_basis[i])));
        let left = (0..k).flat_map(|j| {
            let (theta, of_basis, basis) = (&theta, &of_basis, &basis);
            let entry = move |r: usize| {
                let along = (0..k).map(move |i| (-theta.at(i, j), basis.at(r, first + i)));
                add_products(along.chain([(of_basis[j][r], 1.0)]))
            };
            (0..size).map(entry)
        });
        let coupling = norm(&left.collect::<Vec<f64>>()) + (k as f64).sqrt() * facts.rounding;
        let ritz = eigenvalues(theta);

        // Lanczos steps of the probes on the complement of Q.
        let room = size - basis.b();
        probes.step(Block::from_fn(size, probes.newest.b(), |i, j| images.at(i, k + j)));
        let mut passes = 1;
        while passes < self.passes && passes < room && !probes.ended() {
            let images = matrix.times(&probes.newest, exec)?.images;
            probes.step(images);
            passes += 1;
        }
        let seen = 2.0 * (passes as f64).sqrt() * facts.rounding;
        let (low, high) = probes.bounds();
        let kept = add(ritz.iter().copied());
        let by_trace = match facts.definite {
            true => (facts.total - kept).max(0.0) + facts.of_total + k as f64 * facts.rounding,
            false => f64::INFINITY,
        };
        let beyond = (low - seen, (high + seen).min(by_trace));
        let bounds = Bounds { ritz, coupling, beyond, rounding: facts.rounding, of_beyond: seen, independent };
        claims.eigenvalues(&bounds);
        claims.total(facts.total, facts.of_total);
        claims.missed(&bounds);
        let (rounding, total) = (facts.rounding, facts.total);
        Ok(Verification {
            claims: claims.finish(),
            residuals,
            quotients,
            orthonormality,
            total,
            beyond,
            rounding,
            passes,
        })
    }
}

impl AnyModel {
    /// Returns a second opinion on the model, from the points that it was fitted to, by a computation that shares nothing
    /// with the fit but the definition of the kernel. [`Verify`] has options.
    ///
    /// # Errors
    /// As [`Verify::run`].
    ///
    /// # Cost
    /// [`Verify::PASSES`] passes, each of which evaluates the kernel for all n^2 pairs, or reads all rows twice.
    pub fn verify<'a, T: Real>(&self, points: impl Into<PointsRef<'a, T>>, exec: &Exec) -> Result<Verification> {
        Verify::new().run(self, points, exec)
    }
}
