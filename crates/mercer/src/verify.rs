//! A second opinion on a model: what it says is measured again on its data, by a computation that shares nothing with the
//! fit but the definitions of kernels and embeddings (MATHS.md, M26).
//!
//! The code is plain on purpose. It evaluates the kernel pair by pair or the scatter row by row, adds with compensated sums,
//! and allows for its own rounding. It uses no tile, no operator, no moments, no solver and no probe of the fit.

use std::fmt;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::eigen::{BoundKind, Certificate};
use crate::error::{Error, ErrorKind, Result};
use crate::exec::Exec;
use crate::features::{Features, Standardise};
use crate::kernel::rounding::{Extent, entry_error};
use crate::kernel::{Kernel, bind};
use crate::kernel_pca::KernelPcaModel;
use crate::model::AnyModel;
use crate::pca::PcaModel;
use crate::points::{Points, PointsRef};
use crate::precise::{two_product, two_sum};
use crate::real::{Real, short};
use crate::rng::Rng;
use crate::spectrum::Spectrum;

/// The rounding of f64.
const UNIT: f64 = 0.5 * f64::EPSILON;
/// The number of probes, and the least component along a direction that the bound assumes: M17 with its own numbers.
const PROBES: usize = 4;
const SHARE: f64 = 0.04;
/// A second opinion whose own rounding is larger than this, relative to the largest eigenvalue, is too coarse to confirm a
/// bound that is much smaller.
const COARSE: f64 = 1e-6;

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
/// assert_eq!(opinion.passes, 2);
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
        let facts = Facts { rounding: 32.0 * UNIT * total, total, of_total: 32.0 * UNIT * total, definite: true };
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
            Facts { rounding: entries + 32.0 * UNIT * norm, total, of_total, definite }
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
        facts: impl FnOnce(&Pass) -> Facts,
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

        let mut probes = Probes::new(&basis, exec.seed_value());
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

/// A column of the data less its mean, divided by its scale.
struct Located {
    values: Vec<f64>,
    mean: f64,
    scale: f64,
    /// The standard deviation about the mean, or about 0.
    sd: f64,
}

impl Located {
    fn of(mut column: Vec<f64>, center: bool, standardise: bool) -> Self {
        let n = column.len() as f64;
        let (mut mean, mut rest) = (0.0, 0.0);
        if center {
            let mut sum = Sum::default();
            column.iter().for_each(|v| sum.add(*v));
            let (high, low) = two_sum(sum.high, sum.low);
            mean = high / n;
            rest = ((-mean).mul_add(n, high) + low) / n;
        }
        for v in &mut column {
            let (high, low) = two_sum(*v, -mean);
            *v = high + (low - rest);
        }
        let divisor = if center { (n - 1.0).max(1.0) } else { n };
        let sd = (dot(&column, &column) / divisor).sqrt();
        let scale = if standardise && sd > 0.0 { sd } else { 1.0 };
        if standardise {
            column.iter_mut().for_each(|v| *v /= scale);
        }
        Located { values: column, mean, scale, sd }
    }
}

/// What is known about the matrix besides its products.
struct Facts {
    /// The allowance for the rounding of a residual or of an eigenvalue.
    rounding: f64,
    /// The trace, and the allowance for its rounding.
    total: f64,
    of_total: f64,
    /// Whether no eigenvalue is negative.
    definite: bool,
}

/// The matrix, by its definition.
enum Matrix<'a> {
    /// K, entry by entry.
    Gram { entry: &'a (dyn Fn(usize, usize) -> f64 + Sync), n: usize },
    /// X'X, by the columns of X.
    Scatter { columns: Vec<Vec<f64>>, n: usize },
}

/// The product of the matrix with a block, and sums over its entries.
struct Pass {
    images: Block,
    /// The sum of the squares of all entries, and of all entries.
    squares: f64,
    sum: f64,
    /// The sums of the diagonal and of its magnitudes.
    diagonal: f64,
    diagonal_size: f64,
}

impl Matrix<'_> {
    /// Each number is a sum in a fixed order, so that bits do not depend on threads.
    fn times(&self, v: &Block, exec: &Exec) -> Result<Pass> {
        match self {
            Matrix::Scatter { columns, .. } => {
                exec.check_cancelled()?;
                let scores = self.scores(v);
                let image = |column: &Vec<f64>| scores.iter().map(|w| dot(column, w)).collect::<Vec<f64>>();
                let rows: Vec<Vec<f64>> = columns.par_iter().map(image).collect();
                let images = Block::from_fn(columns.len(), v.b(), |i, j| rows[i][j]);
                Ok(Pass { images, squares: 0.0, sum: 0.0, diagonal: 0.0, diagonal_size: 0.0 })
            }
            Matrix::Gram { entry, n } => {
                let turned = v.transposed();
                let row = |i: usize| {
                    exec.check_cancelled()?;
                    let mut products = vec![Sum::default(); v.b()];
                    let (mut squares, mut sum) = (Sum::default(), Sum::default());
                    for j in 0..*n {
                        let k = entry(i, j);
                        if !k.is_finite() {
                            return Err(
                                ErrorKind::NotFinite { what: "kernel matrix", row: i, column: j, value: k }.into()
                            );
                        }
                        squares.add_product(k, k);
                        sum.add(k);
                        products.iter_mut().zip(turned.col(j)).for_each(|(sum, v)| sum.add_product(k, *v));
                    }
                    Ok((products.iter().map(Sum::value).collect(), squares.value(), sum.value(), entry(i, i)))
                };
                let rows: Vec<(Vec<f64>, f64, f64, f64)> = (0..*n).into_par_iter().map(row).collect::<Result<_>>()?;
                Ok(Pass {
                    images: Block::from_fn(*n, v.b(), |i, j| rows[i].0[j]),
                    squares: add(rows.iter().map(|r| r.1)),
                    sum: add(rows.iter().map(|r| r.2)),
                    diagonal: add(rows.iter().map(|r| r.3)),
                    diagonal_size: add(rows.iter().map(|r| r.3.abs())),
                })
            }
        }
    }

    /// X v, for each column of a block.
    fn scores(&self, v: &Block) -> Vec<Vec<f64>> {
        let Matrix::Scatter { columns, n } = self else { return Vec::new() };
        let score = |j: usize| {
            let mut sums = vec![Sum::default(); *n];
            for (column, v) in columns.iter().zip(v.col(j)) {
                sums.iter_mut().zip(column).for_each(|(sum, x)| sum.add_product(*x, *v));
            }
            sums.iter().map(Sum::value).collect()
        };
        (0..v.b()).into_par_iter().map(score).collect()
    }
}

/// Lanczos recurrences from random vectors, on the complement of a basis (M17).
struct Probes<'a> {
    basis: &'a Block,
    /// |w| of each probe.
    norms: Vec<f64>,
    /// The newest Lanczos vector of each probe, and those before it.
    newest: Block,
    before: Vec<Block>,
    /// The diagonals and off-diagonals of the tridiagonal matrices.
    alpha: Vec<Vec<f64>>,
    beta: Vec<Vec<f64>>,
}

impl<'a> Probes<'a> {
    fn new(basis: &'a Block, seed: u64) -> Self {
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
    fn step(&mut self, mut images: Block) {
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
    fn ended(&self) -> bool {
        self.beta.iter().all(|b| b.last() == Some(&0.0))
    }

    /// A lower bound of the largest eigenvalue in the complement, which is a theorem, and an upper bound of all of them,
    /// which fails with probability [`failure`].
    fn bounds(&self) -> (f64, f64) {
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
fn upper_bound(alpha: &[f64], beta: &[f64], ritz: f64, most: f64) -> f64 {
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
struct Bounds {
    /// Ritz values of A on the space of the components, descending.
    ritz: Vec<f64>,
    /// |A Q - Q Theta|.
    coupling: f64,
    beyond: (f64, f64),
    /// The allowances for rounding of Ritz values and of `beyond`.
    rounding: f64,
    of_beyond: f64,
    independent: bool,
}

impl Bounds {
    /// What the eigenvalue with index i is at least. Courant and Fischer: the Ritz value of the same index; with one more
    /// direction, the same for the components and that direction together, less what couples them.
    fn lower(&self, i: usize) -> f64 {
        let mut more = self.ritz.clone();
        more.push(self.beyond.0);
        more.sort_by(|a, b| b.total_cmp(a));
        let alone = self.ritz.get(i).map_or(f64::NEG_INFINITY, |v| v - self.rounding);
        alone.max(more[i] - self.coupling - self.rounding)
    }

    /// What it is at most: the larger eigenvalue of [[theta, r], [r, beta]], and beta for the first that is not a component.
    fn upper(&self, i: usize) -> f64 {
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

/// The claims of a model, as they are compared with measurements.
struct Claims<'a> {
    spectrum: &'a Spectrum,
    certificate: &'a Certificate,
    /// Whether the model has no error bounds.
    none: bool,
    found: Vec<Claim>,
    /// The scores of the points by the model, for kernel PCA.
    theirs: Option<Points<f64>>,
    /// Twice the negative mass, by which the total of an indefinite kernel exceeds the trace.
    negative: f64,
}

impl<'a> Claims<'a> {
    fn new(spectrum: &'a Spectrum, certificate: &'a Certificate) -> Self {
        let none = certificate.kind() == BoundKind::Unknown;
        Claims { spectrum, certificate, none, found: Vec::new(), theirs: None, negative: 0.0 }
    }

    fn finish(mut self) -> Vec<Claim> {
        let order = |c: &Claim| match c.about {
            Subject::Data => 0,
            Subject::Mean => 1,
            Subject::Scale => 2,
            Subject::Vectors => 3,
            Subject::Eigenvalue | Subject::Residual | Subject::Scores => 4 + c.component.unwrap_or(0),
            Subject::Total => usize::MAX - 1,
            Subject::Missed => usize::MAX,
        };
        self.found.sort_by_key(order);
        self.found
    }

    /// Adds a claim that `measured` is at most `claimed`, but for the allowance of the measurement.
    fn at_most(
        &mut self,
        (about, component): (Subject, Option<usize>),
        measured: f64,
        claimed: f64,
        allowance: f64,
        text: String,
    ) {
        if self.none {
            return;
        }
        let outcome = Outcome::of(measured <= claimed + allowance);
        self.found.push(Claim { about, component, outcome, claimed, measured, allowance, text });
    }

    fn largest(&self) -> f64 {
        self.spectrum.eigenvalues().first().copied().unwrap_or(0.0)
    }

    /// Whether the rounding of a measurement is too large to say much about a bound.
    fn is_coarse(&self, allowance: f64, claimed: f64) -> bool {
        allowance > COARSE * self.largest() && allowance > 100.0 * claimed
    }

    fn data(&mut self, seen: &Points<f64>, fitted: &Points<f64>, standardise: Option<&Standardise>) {
        if seen.n() != fitted.n() || seen.d() != fitted.d() {
            return self.at_most((Subject::Data, None), f64::INFINITY, 0.0, 0.0, "data: another shape".into());
        }
        // Standardised values are rounded twice, and the mean is.
        let allowed = |j: usize, v: f64| match standardise {
            Some(s) => 8.0 * UNIT * (v.abs() + s.mean[j].abs() / s.scale[j]),
            None => 0.0,
        };
        let (mut worst, mut at) = (0.0f64, None);
        for i in 0..seen.n() {
            for j in 0..seen.d() {
                let (a, b) = (seen.row(i)[j], fitted.row(i)[j]);
                let beyond = (a - b).abs() - allowed(j, b);
                if beyond > worst {
                    (worst, at) = (beyond, Some((i, j, a, b)));
                }
            }
        }
        let text = match at {
            None => "data: the points are those that the model stores".to_string(),
            Some((i, j, a, b)) => {
                format!("data: row {} has {a} in column {} where the model stores {b}", i + 1, j + 1)
            }
        };
        self.at_most((Subject::Data, None), worst, 0.0, 0.0, text);
    }

    fn location(&mut self, located: &[Located], mean: &[f64], scale: &[f64], center: bool, standardise: bool) {
        // In units of the standard deviation, so that one number tells of all columns. Sums of the fit have an error of at
        // most 32 u of the mean or of the deviation (M24).
        let allowed = |l: &Located| 32.0 * UNIT * (l.mean.abs() + l.sd);
        let (mut worst, mut at) = (0.0f64, 0);
        for (j, (l, theirs)) in located.iter().zip(mean).enumerate() {
            let beyond = (l.mean - theirs).abs() - allowed(l);
            if beyond > worst {
                (worst, at) = (beyond, j);
            }
        }
        let text = match (center, worst > 0.0) {
            (_, true) => format!("mean: column {} has {} where the model has {}", at + 1, located[at].mean, mean[at]),
            (true, false) => "mean: that of the data".to_string(),
            (false, false) => "mean: not subtracted".to_string(),
        };
        self.at_most((Subject::Mean, None), worst, 0.0, 0.0, text);
        let (mut worst, mut at) = (0.0f64, 0);
        for (j, (l, theirs)) in located.iter().zip(scale).enumerate() {
            // A column that is constant but for rounding may be scaled or not.
            let constant = standardise && l.sd <= 32.0 * UNIT * l.mean.abs() && *theirs == 1.0;
            let beyond = if constant { 0.0 } else { (theirs / l.scale - 1.0).abs() - 128.0 * UNIT };
            if beyond > worst {
                (worst, at) = (beyond, j);
            }
        }
        let text = match (standardise, worst > 0.0) {
            (_, true) => {
                format!("scale: column {} has {} where the model has {}", at + 1, located[at].scale, scale[at])
            }
            (true, false) => "scale: the standard deviations of the data".to_string(),
            (false, false) => "scale: not divided by".to_string(),
        };
        if standardise || worst > 0.0 {
            self.at_most((Subject::Scale, None), worst, 0.0, 0.0, text);
        }
    }

    fn vectors(&mut self, measured: f64, moved: f64) {
        if self.spectrum.eigenvalues().is_empty() {
            return;
        }
        // Decompositions return vectors that are orthonormal to eps (4 + sqrt(n)) (M23); landmarks add what rounding does
        // to scores, relative to the smallest.
        let n = self.spectrum.n() as f64;
        let smallest = self.spectrum.eigenvalues().last().copied().unwrap_or(0.0);
        let of_landmarks = match self.certificate.approximation() {
            Some(_) => 4.0 * self.certificate.rounding() / smallest.max(f64::MIN_POSITIVE),
            None => 0.0,
        };
        let claimed = 16.0 * f64::EPSILON * (4.0 + n.sqrt()) + of_landmarks;
        let text = format!("vectors: orthonormal to {measured:.1e}, claimed {claimed:.1e}");
        self.at_most((Subject::Vectors, None), measured, claimed, moved, text);
    }

    fn residual(&mut self, j: usize, measured: f64, own: f64) {
        let claimed = self.certificate.residuals()[j] + self.certificate.rounding();
        let text = format!("PC{}: residual {measured:.1e}, claimed at most {claimed:.1e}", j + 1);
        let coarse = self.is_coarse(own, claimed);
        self.at_most((Subject::Residual, Some(j)), measured, claimed, own, text);
        self.undecide(coarse);
    }

    /// Makes the newest claim one that is not decided, if it holds only because of a coarse measurement.
    fn undecide(&mut self, coarse: bool) {
        if let Some(claim) = self.found.last_mut()
            && coarse
            && claim.outcome == Outcome::Confirmed
        {
            claim.outcome = Outcome::NotDecided;
            claim.text += &format!(" (own rounding {:.1e})", claim.allowance);
        }
    }

    fn eigenvalues(&mut self, bounds: &Bounds) {
        let wide = 2.0 * bounds.rounding;
        for (j, value) in self.spectrum.eigenvalues().iter().enumerate() {
            if self.none {
                return;
            }
            let (below, above) = self.certificate.enclosure(j);
            let (least, most) = (value - below, value + above);
            let (lower, upper) = (bounds.lower(j), bounds.upper(j));
            let outcome = if !bounds.independent || self.is_coarse(bounds.rounding, below + above) {
                Outcome::NotDecided
            } else if !(lower <= most && upper >= least) {
                Outcome::Refuted
            } else if lower >= least - wide && upper <= most + wide {
                Outcome::Confirmed
            } else {
                Outcome::NotDecided
            };
            let text = format!(
                "PC{}: eigenvalue from {lower:.9e} to {upper:.9e}, claimed from {least:.9e} to {most:.9e}",
                j + 1
            );
            let (about, component) = (Subject::Eigenvalue, Some(j));
            let claim =
                Claim { about, component, outcome, claimed: most, measured: lower, allowance: bounds.rounding, text };
            self.found.push(claim);
        }
    }

    /// The scores of the points by the model against those by the definition.
    fn scores(&mut self, j: usize, difference: f64, allowed: f64) {
        let text = format!("PC{}: scores by the model differ by {difference:.1e}, rounding {allowed:.1e}", j + 1);
        self.at_most((Subject::Scores, Some(j)), difference, allowed, 0.0, text);
    }

    /// The same for exact kernel PCA, whose scores are K~u / sqrt(lambda) (M10).
    fn own_scores(&mut self, j: usize, image: &[f64], own: f64) {
        let Some(theirs) = self.theirs.take() else { return };
        let root = self.spectrum.eigenvalues()[j].sqrt();
        let difference = norm(&theirs.rows().zip(image).map(|(z, v)| z[j] - v / root).collect::<Vec<f64>>());
        self.scores(j, difference, (self.certificate.rounding() + own) / root);
        self.theirs = Some(theirs);
    }

    /// The squares of the scores by landmarks sum to the eigenvalue (M20).
    fn energy(&mut self, j: usize, measured: f64, value: f64, rounding: f64, own: f64) {
        let difference = (measured - value).abs();
        let text =
            format!("PC{}: squares of the scores sum to {measured:.9e}, claimed {value:.9e} to {rounding:.1e}", j + 1);
        self.at_most((Subject::Scores, Some(j)), difference, rounding, own, text);
    }

    fn total(&mut self, measured: f64, own: f64) {
        let (total, rounding) = (self.spectrum.total(), self.certificate.rounding());
        // A total is a sum of as many eigenvalues as there are, each with its rounding.
        let n = self.spectrum.n() as f64;
        let (off, claimed) = match self.certificate.approximation() {
            // M20  sum theta <= tr K~ <= sum theta + tr E
            Some(_) => {
                let kept = add(self.spectrum.eigenvalues().iter().copied());
                ((measured - total).max(kept - measured).max(0.0), n * rounding)
            }
            None => ((measured - (total - self.negative)).abs(), n * rounding),
        };
        let text = format!("total: {measured:.9e}, claimed {:.9e}", total - self.negative);
        let coarse = self.is_coarse(own, claimed);
        self.at_most((Subject::Total, None), off, claimed, own, text);
        self.undecide(coarse && !self.none);
    }

    fn missed(&mut self, bounds: &Bounds) {
        if self.none {
            return;
        }
        let (claimed, k) = (self.certificate.missed(), bounds.ritz.len());
        let (lower, upper) = (bounds.lower(k), bounds.upper(k));
        let outcome = if !bounds.independent {
            Outcome::NotDecided
        } else if lower.is_nan() || lower > claimed {
            Outcome::Refuted
        } else if upper <= claimed + 2.0 * bounds.of_beyond {
            Outcome::Confirmed
        } else {
            Outcome::NotDecided
        };
        let text = format!(
            "beyond: largest eigenvalue from {:.3e} to {:.3e} (except with probability {:.0e}), claimed at most \
             {claimed:.3e}",
            lower.max(0.0),
            upper.max(0.0),
            failure()
        );
        let (about, component, allowance) = (Subject::Missed, None, bounds.rounding);
        self.found.push(Claim { about, component, outcome, claimed, measured: lower, allowance, text });
    }
}

/// What rounding does to a kernel value that is computed in plain loops (M25): sums over d dimensions have d roundings.
fn plain_error(kernel: &Kernel, points: &Points<f64>, size: f64) -> f64 {
    let d = points.d();
    let (by_parts, plain) = ((8 + d / 16) as f64, 8.0 + 0.5 * d as f64);
    let extent = Extent::of(kernel, points, 0.0);
    plain / by_parts * entry_error(kernel, d, &extent, size, f64::EPSILON)
}

/// A sum with its rounding errors, which are added at the end: exact to a rounding of the result, but for terms of u^2.
#[derive(Clone, Copy, Default)]
struct Sum {
    high: f64,
    low: f64,
}

impl Sum {
    #[inline]
    fn add(&mut self, v: f64) {
        let (high, error) = two_sum(self.high, v);
        (self.high, self.low) = (high, self.low + error);
    }

    #[inline]
    fn add_product(&mut self, a: f64, b: f64) {
        let (product, error) = two_product(a, b);
        self.add(product);
        self.low += error;
    }

    fn value(&self) -> f64 {
        self.high + self.low
    }
}

fn add(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut sum = Sum::default();
    values.into_iter().for_each(|v| sum.add(v));
    sum.value()
}

fn add_products(pairs: impl IntoIterator<Item = (f64, f64)>) -> f64 {
    let mut sum = Sum::default();
    pairs.into_iter().for_each(|(a, b)| sum.add_product(a, b));
    sum.value()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    add_products(a.iter().copied().zip(b.iter().copied()))
}

/// The norm, of values of any size.
fn norm(v: &[f64]) -> f64 {
    let largest = v.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return if v.iter().any(|v| v.is_nan()) { f64::NAN } else { largest };
    }
    largest * v.iter().map(|v| (v / largest).powi(2)).sum::<f64>().sqrt()
}

/// w less its part along v.
fn subtract_along(v: &[f64], w: &mut [f64]) -> f64 {
    let along = dot(v, w);
    w.iter_mut().zip(v).for_each(|(w, v)| *w -= along * v);
    along
}

/// w less its part in the space of an orthonormal basis.
fn project(basis: &Block, w: &mut [f64]) {
    for _ in 0..2 {
        (0..basis.b()).for_each(|j| {
            subtract_along(basis.col(j), w);
        });
    }
}

/// U = Q T by Gram and Schmidt, twice. A column that depends on those before it becomes 0.
fn orthonormalised(u: &Block) -> (Block, Block) {
    let (mut q, mut t) = (u.clone(), Block::zeros(u.b(), u.b()));
    for j in 0..u.b() {
        let mut column = q.col(j).to_vec();
        let before = norm(&column);
        for _ in 0..2 {
            for i in 0..j {
                *t.at_mut(i, j) += subtract_along(q.col(i), &mut column);
            }
        }
        let length = norm(&column);
        let depends = length <= 1e-12 * before || length == 0.0;
        q.col_mut(j).iter_mut().zip(&column).for_each(|(q, v)| *q = if depends { 0.0 } else { v / length });
        *t.at_mut(j, j) = if depends { 0.0 } else { length };
    }
    (q, t)
}

/// The eigenvalues of a small symmetric matrix, descending, by Jacobi's rotations.
fn eigenvalues(mut a: Block) -> Vec<f64> {
    let n = a.n();
    let size = norm(a.as_slice());
    for _ in 0..60 {
        let mut turned = false;
        for p in 0..n {
            for q in p + 1..n {
                let apq = a.at(p, q);
                if apq.abs() <= 0.125 * f64::EPSILON * size / n as f64 || !apq.is_finite() {
                    continue;
                }
                turned = true;
                let tau = (a.at(q, q) - a.at(p, p)) / (2.0 * apq);
                let tangent = tau.signum() / (tau.abs() + tau.hypot(1.0));
                let cosine = 1.0 / tangent.hypot(1.0);
                let sine = tangent * cosine;
                for r in 0..n {
                    let (x, y) = (a.at(r, p), a.at(r, q));
                    (*a.at_mut(r, p), *a.at_mut(r, q)) = (cosine * x - sine * y, sine * x + cosine * y);
                }
                for r in 0..n {
                    let (x, y) = (a.at(p, r), a.at(q, r));
                    (*a.at_mut(p, r), *a.at_mut(q, r)) = (cosine * x - sine * y, sine * x + cosine * y);
                }
            }
        }
        if !turned {
            break;
        }
    }
    let mut values: Vec<f64> = (0..n).map(|i| a.at(i, i)).collect();
    values.sort_by(|a, b| b.total_cmp(a));
    values
}
