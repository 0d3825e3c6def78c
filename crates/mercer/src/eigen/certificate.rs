//! Error bounds of eigenvalues and eigenvectors (MATHS.md, M13).

use serde::{Deserialize, Serialize};

use super::Found;
use super::approximation::Approximation;
use super::statement::{BoundKind, Confidence};
use super::{orth, probe};
use crate::error::{Error, ErrorKind, ErrorSubject, Result};
use crate::linalg;

/// Bounds the effect of rounding on an eigenvalue of the centred Gram matrix of n points and on the residual of its pair
/// (MATHS.md, M25). The errors of the entries have the Frobenius norm n times `entry_error`, the entries themselves `norm`.
pub(crate) fn rounding(n: usize, entry_error: f64, norm: f64, eigenvalues: &[f64]) -> Allowance {
    let largest = eigenvalues.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    // Centring, the reflection that takes the vector 1 away, the product that residuals are measured with.
    let around = 10.0 * f64::EPSILON + linalg::product_error(n);
    Allowance { of_residuals: n as f64 * entry_error + around * norm, of_solver: linalg::solver_error(n) * largest }
}

/// What rounding can have done to eigenpairs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    /// To a measured residual: the errors of the matrix and of the measurement.
    pub(crate) of_residuals: f64,
    /// To an eigenvalue in addition, by the decomposition.
    pub(crate) of_solver: f64,
}

impl Allowance {
    /// To an eigenvalue.
    pub(crate) fn total(self) -> f64 {
        self.of_residuals + self.of_solver
    }
}

/// The residual r = A u - lambda u of a pair: its norm, and u.r, by which the Rayleigh quotient differs from lambda.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Residual {
    pub(crate) norm: f64,
    pub(crate) along: f64,
}

impl Residual {
    pub(crate) fn of(residual: &[f64], u: &[f64]) -> Self {
        Residual { norm: linalg::norm(residual), along: linalg::dot(residual, u) }
    }
}

/// The same for products with a matrix that is not stored and whose entries are at most `largest`: sums over tiles,
/// and then of tiles, in arithmetic of spacing `epsilon` within the `height` of a tile.
pub(crate) fn rounding_of_products(n: usize, entry_error: f64, largest: f64, epsilon: f64, height: usize) -> f64 {
    n as f64 * (entry_error + rounding_of_sums(n, epsilon, height) * largest)
}

/// The relative error of such sums of n terms.
pub(crate) fn rounding_of_sums(n: usize, epsilon: f64, height: usize) -> f64 {
    let within = 0.5 * epsilon * (height as f64 + 8.0);
    let between = 0.5 * f64::EPSILON * (n as f64 / height as f64 + 64.0);
    within + between
}

/// Rejects a Gram matrix whose eigenvalues, or whose rounding, leave the range of f64.
pub(crate) fn check_range(n: usize, largest_entry: f64) -> Result<()> {
    let fits = (64.0 * n as f64 * largest_entry).is_finite() && largest_entry > 1e4 * f64::MIN_POSITIVE;
    if largest_entry == 0.0 || fits {
        return Ok(());
    }
    Err(ErrorKind::Range { what: ErrorSubject::GramMatrix, magnitude: largest_entry }.into())
}

/// Error bounds of computed eigenpairs.
///
/// The residuals |A u - lambda u| are measured in f64. The enclosures hold for the exact matrix under two assumptions: the
/// allowance for rounding, which is a first-order bound, and that no eigenvalue beyond those found exceeds
/// [`Certificate::missed`]. [`Certificate::kind`] says whether the second is certain, or holds up to a small probability.
/// A rigorous certificate ([`Certificate::is_rigorous`]) needs neither.
///
/// # Example
/// ```
/// use mercer::{Pca, Points};
/// let x = Points::from_rows(&[[0.0, 0.1], [1.0, 2.1], [2.0, 3.9], [3.0, 6.0]]);
/// let model = Pca::new().components(1).fit(&x)?;
/// let certificate = model.certificate();
/// let (below, above) = certificate.enclosure(0); // how far the exact eigenvalue can be from the computed one
/// assert!(below.max(above) <= 1e-12 * model.spectrum().eigenvalues()[0]);
/// println!("{certificate}");
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    residuals: Vec<f64>,
    /// The largest distance of the exact eigenvalue below and above the computed one.
    below: Vec<f64>,
    above: Vec<f64>,
    clusters: Vec<EigenvalueCluster>,
    missed: f64,
    kind: BoundKind,
    rounding: f64,
    /// How sure the allowance for rounding is; files of earlier versions do not say.
    #[serde(default = "Confidence::estimate")]
    rounding_is: Confidence,
    passes: Passes,
    scale: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    approximation: Option<Approximation>,
    /// Whether all rounding is enclosed (M27).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    rigorous: bool,
}

/// Bounds in which all rounding is enclosed.
pub(super) struct EnclosedBounds {
    /// The residual of each pair, from above.
    pub(super) residuals: Vec<f64>,
    /// The residuals that bound the angles.
    pub(super) for_angles: Vec<f64>,
    /// The largest distance of the exact eigenvalue below and above the one that is shown.
    pub(super) below: Vec<f64>,
    pub(super) above: Vec<f64>,
    /// No other eigenvalue is larger.
    pub(super) missed: f64,
    pub(super) kind: BoundKind,
}

/// An eigenvalue cluster: components whose eigenvalues are separated from all others, but not from each other.
///
/// The space that they span is determined. The directions within it are determined only when the cluster is one component.
///
/// # Example
/// ```
/// use mercer::{Pca, Points};
/// let x = Points::from_rows(&[[0.0, 0.1], [1.0, 2.1], [2.0, 3.9], [3.0, 6.0]]);
/// let model = Pca::new().components(1).fit(&x)?;
/// let cluster = model.certificate().clusters()[0];
/// assert_eq!((cluster.first, cluster.last), (0, 0));
/// assert!(cluster.sine < 1e-12);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EigenvalueCluster {
    /// The first component, from 0.
    pub first: usize,
    /// The last component.
    pub last: usize,
    /// The sine of the largest angle between the computed space and the exact one is at most this; 1 means not determined.
    pub sine: f64,
}

/// The numbers of passes over the Gram matrix; 0 when all eigenpairs were computed from the stored matrix.
///
/// ```
/// use mercer::certificate::Passes;
/// use mercer::{Pca, Points};
/// let x = Points::from_rows(&[[0.0, 0.1], [1.0, 2.1], [2.0, 3.9]]);
/// assert_eq!(Pca::new().fit(&x)?.certificate().passes(), Passes::default());
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passes {
    /// f32 passes, which come first.
    #[serde(alias = "swift")] // in files of earlier versions
    pub f32: usize,
    /// f64 passes; the results come from the last of them.
    #[serde(alias = "exact")]
    pub f64: usize,
}

/// A bound on the effect of rounding on an eigenvalue, and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rounding {
    pub(crate) bound: f64,
    pub(crate) confidence: Confidence,
}

/// Facts about a symmetric matrix besides the computed eigenpairs.
pub(crate) struct Known {
    /// The sum of all its eigenvalues.
    pub(crate) trace: f64,
    /// Whether none of them is negative.
    pub(crate) definite: bool,
    /// The root of the sum of the squares of all its eigenvalues.
    pub(crate) norm: Option<f64>,
    /// The bound on the effect of rounding on an eigenvalue, and how sure it is.
    pub(crate) rounding: f64,
    pub(crate) rounding_is: Confidence,
    /// The bound on the effect of f32 passes on an eigenvalue, since the probes use them.
    pub(crate) f32: f64,
    /// An upper bound of all eigenvalues.
    pub(crate) largest: f64,
}

/// What numbers are multiplied with, so that a few roundings cannot make a bound too small.
pub(super) const ROUNDED_UP: f64 = 1.0 + 1e-12;
/// Gaps this many times the errors beside them separate clusters: the sine is then at most about its inverse.
const APART: f64 = 20.0;

impl Certificate {
    /// For the first k of the eigenvalues of a matrix of size `size`, descending, with the residuals of their pairs. All
    /// eigenvalues that are not exactly 0 are among them.
    pub(crate) fn of_all(
        eigenvalues: &[f64],
        size: usize,
        found: Vec<Residual>,
        allowance: Allowance,
        confidence: Confidence,
    ) -> Self {
        let (k, bound, rounding) = (found.len(), allowance.total(), allowance.of_residuals);
        let missed = eigenvalues.get(k).map_or(0.0, |v| v.max(0.0) + bound);
        let residuals: Vec<f64> = found.iter().map(|r| r.norm).collect();
        let beyond = if eigenvalues.len() < size { 0.0 } else { f64::NEG_INFINITY };
        let upper = |i: usize| eigenvalues.get(i).map_or(beyond, |v| v + bound);
        let lower = |i: usize| eigenvalues[i] - bound;
        // Temple and Kato: where no other eigenvalue is near, that of the pair is near its Rayleigh quotient.
        let enclosed = |i: usize| {
            let Residual { norm, along } = found[i];
            let (size, quotient, rough) = (norm + rounding, eigenvalues[i] + along, norm + bound);
            let above = if i > 0 { lower(i - 1) - quotient } else { f64::INFINITY };
            // The quotient itself is within e of the exact one.
            let (above, below) = (above - rounding, quotient - upper(i + 1) - rounding);
            let within = |gap: f64| if gap > 0.0 { size * (size / gap) } else { f64::INFINITY };
            let alone = above > 0.0 && below > 0.0;
            let (down, up) = (within(above) - along + rounding, within(below) + along + rounding);
            if alone { (down.max(0.0).min(rough), up.max(0.0).min(rough)) } else { (rough, rough) }
        };
        let (below, above) = (0..k).map(enclosed).unzip();
        Certificate {
            clusters: clusters(&eigenvalues[..k], &residuals, rounding, lower, upper),
            below,
            above,
            missed,
            kind: BoundKind::AllPairs,
            rounding,
            rounding_is: confidence,
            passes: Passes::default(),
            scale: eigenvalues.first().map_or(0.0, |v| v.max(0.0)),
            residuals,
            approximation: None,
            rigorous: false,
        }
    }

    /// Builds the certificate of eigenvalues that were computed elsewhere. Only their sum `total` is known, and that none is
    /// negative: each lies between 0 and `total`.
    pub fn unknown(eigenvalues: &[f64], total: f64) -> Self {
        let k = eigenvalues.len();
        Certificate {
            residuals: vec![total; k],
            below: eigenvalues.to_vec(),
            above: eigenvalues.iter().map(|v| (total - v).max(0.0)).collect(),
            clusters: if k > 0 { vec![EigenvalueCluster { first: 0, last: k - 1, sine: 1.0 }] } else { Vec::new() },
            missed: total,
            kind: BoundKind::Unknown,
            rounding: 0.0,
            rounding_is: Confidence::Estimate,
            passes: Passes::default(),
            scale: eigenvalues.first().map_or(0.0, |v| v.max(0.0)),
            approximation: None,
            rigorous: false,
        }
    }

    /// For the first of all eigenvalues of FF', centred, where K - FF' is positive semi-definite with a known trace (Weyl): none
    /// is too large but for rounding, and none too small by more than that trace. `of_scores` is what rounding does to the
    /// residual of each component.
    pub(crate) fn of_landmarks(
        eigenvalues: &[f64],
        of_scores: Vec<f64>,
        approximation: Approximation,
        rounding: f64,
    ) -> Self {
        let k = of_scores.len();
        let slack = approximation.trace_error + rounding;
        let values = &eigenvalues[..k];
        // |K~u - theta u| = |HEu| is at most the trace; an estimate from a sample is not a bound.
        let residuals: Vec<f64> = of_scores.iter().map(|moved| approximation.trace_error + moved).collect();
        let next = eigenvalues.get(k).map_or(0.0, |v| v.max(0.0)) + slack;
        let upper = |i: usize| if i < k { values[i] + slack } else { next };
        Certificate {
            clusters: clusters(values, &residuals, rounding, |i| values[i] - rounding, upper),
            below: vec![rounding; k],
            above: vec![slack; k],
            residuals,
            missed: next,
            kind: BoundKind::Trace,
            rounding,
            rounding_is: Confidence::Theorem,
            passes: Passes::default(),
            scale: values.first().map_or(0.0, |v| v.max(0.0)),
            approximation: Some(approximation),
            rigorous: false,
        }
    }

    /// For eigenvalues whose bounds have all rounding enclosed; passes are those of the fit.
    pub(super) fn of_enclosed(values: &[f64], bounds: EnclosedBounds, passes: Passes) -> Self {
        let EnclosedBounds { residuals, for_angles, below, above, missed, kind } = bounds;
        // So much that differences of these numbers cannot be too large.
        let scale = values.first().map_or(0.0, |v| v.max(0.0));
        let rounded = 4.0 * f64::EPSILON * scale;
        let lower = |i: usize| values[i] - below[i] - rounded;
        let upper = |i: usize| if i < values.len() { values[i] + above[i] + rounded } else { missed + rounded };
        let mut clusters = clusters(values, &for_angles, 0.0, lower, upper);
        clusters.iter_mut().for_each(|c| c.sine = (c.sine * ROUNDED_UP).min(1.0));
        Certificate {
            clusters,
            below,
            above,
            missed: missed.max(0.0),
            kind,
            rounding: 0.0,
            rounding_is: Confidence::Theorem,
            passes,
            scale,
            residuals,
            approximation: None,
            rigorous: true,
        }
    }

    /// The same for a matrix that is this many times as large.
    pub(crate) fn in_units_of(mut self, unit: f64) -> Self {
        // Rounded upwards: products may be subnormal.
        let times = |v: &mut f64| *v = if *v > 0.0 { (*v * unit).next_up() } else { *v };
        for list in [&mut self.residuals, &mut self.below, &mut self.above] {
            list.iter_mut().for_each(times);
        }
        [&mut self.missed, &mut self.rounding].into_iter().for_each(times);
        self.scale *= unit;
        self
    }

    /// Restricts the certificate to the first k components; the others count as missed.
    pub(crate) fn first(mut self, k: usize, eigenvalues: &[f64]) -> Self {
        if k >= self.residuals.len() {
            return self;
        }
        self.missed = self.missed.max(self.interval(k, eigenvalues[k]).1);
        self.clusters.retain(|c| c.first < k);
        if let Some(last) = self.clusters.last_mut().filter(|c| c.last >= k) {
            // A part of the space of a cluster is not determined.
            (last.last, last.sine) = (k - 1, 1.0);
        }
        self.residuals.truncate(k);
        self.below.truncate(k);
        self.above.truncate(k);
        self.approximation.iter_mut().for_each(|a| a.first(k));
        self
    }

    /// The same with components of eigenvalue 0 after the others, given the residuals of their pairs. No eigenvalue beyond
    /// those found exceeds [`Certificate::missed`]; of their directions nothing is known.
    pub(crate) fn with_zeros(mut self, residuals: &[f64]) -> Self {
        let (first, more) = (self.residuals.len(), residuals.len());
        if more == 0 {
            return self;
        }
        self.residuals.extend(residuals);
        self.below.resize(first + more, self.rounding);
        self.above.resize(first + more, self.missed.max(self.rounding));
        self.clusters.push(EigenvalueCluster { first, last: first + more - 1, sine: 1.0 });
        self
    }

    /// Adds `more` components of eigenvalue 0, with any vectors that are orthonormal to those of the others. No eigenvalue is
    /// below `lowest`.
    pub(crate) fn completed(mut self, more: usize, lowest: f64) -> Self {
        if more == 0 {
            return self;
        }
        let (k, missed) = (self.residuals.len(), self.missed.max(self.rounding));
        let all = linalg::norm(&self.residuals);
        // Off the space of the components, the matrix has no eigenvalue beyond this: its eigenvalues there and those of the
        // components are together `all` away from the exact ones (Weyl).
        let size = (missed + self.above.iter().sum::<f64>() + (k + 1) as f64 * all).max(-lowest);
        let known = |v: f64| (v * ROUNDED_UP).min(f64::MAX);
        self.residuals.resize(k + more, known(size + all));
        self.below.resize(k + more, known(-lowest));
        self.above.resize(k + more, known(missed));
        self.clusters.push(EigenvalueCluster { first: k, last: k + more - 1, sine: 1.0 });
        self
    }

    /// For the first k of the pairs that were found.
    pub(crate) fn of_found(found: &Found, k: usize, known: &Known) -> Self {
        // All in the unit of the pairs, so that nothing leaves the range of f64.
        let (theta, unit) = (&found.values, found.unit);
        let (b, slack) = (theta.len(), known.rounding / unit);
        let norms: Vec<f64> = (0..b).map(|j| linalg::norm(found.residuals.col(j)) + slack).collect();
        // |R| of the first p columns and of the others, by their Frobenius norm.
        let before: Vec<f64> = running(norms.iter());
        let mut after: Vec<f64> = running(norms.iter().rev());
        after.reverse();
        after.push(0.0);

        // Certain: what no eigenvalue of A on the complement of all pairs exceeds, and then on that of the first p.
        let sum: f64 = theta.iter().sum();
        let trace = known.definite.then(|| (known.trace / unit - sum).max(0.0) + b as f64 * slack);
        let frobenius = known.norm.map(|all| {
            let kept = theta.iter().map(|v| v * v).sum::<f64>();
            ((all / unit).powi(2) - kept).max(0.0).sqrt() + b as f64 * slack
        });
        let certain = [trace.map(|t| (t, BoundKind::Trace)), frobenius.map(|f| (f, BoundKind::Frobenius))];
        let certain = certain.into_iter().flatten().min_by(|a, b| a.0.total_cmp(&b.0));
        let (beyond, certain_kind) = certain.unwrap_or((known.largest / unit, BoundKind::Diagonal));
        let beta = |p: usize| if p < b { larger_root(theta[p], beyond, after[p]) } else { beyond };
        // Likely: what the probes say about the eigenvalue after the first k.
        // The Lanczos vectors are orthonormal, and each of their m products with A has an error of at most `each`: that of
        // the arithmetic, and that of vectors that lie nearly within the basis. They are exact for another operator, which
        // differs from A by at most 2 sqrt(m) times as much (M17).
        let size = if known.definite { theta.first().map_or(0.0, |v| v.abs()) } else { known.largest / unit };
        let each = slack + known.f32 / unit + orth::LEAST * size;
        let seen = 2.0 * (found.ceiling.steps() as f64).sqrt() * each;
        let lifted = |mu: f64| (mu + seen).min(known.largest / unit);
        let likely = lifted(found.ceiling.upper(k));

        // lambda_i <= mu as soon as (mu - theta_i)(mu - beta_p) >= |R_p|^2, for any p > i; and lambda_p <= beta_p.
        let last = if k > 0 { theta[k - 1] } else { 0.0 };
        let certain_upper =
            |i: usize| (i + 1..=b).map(|p| larger_root(theta[i], beta(p), before[p])).fold(beta(i), f64::min);
        let (next, kind, uppers): (f64, BoundKind, Vec<f64>) = if beta(k) < last || beta(k) <= likely {
            (beta(k) + slack, certain_kind, (0..k).map(certain_upper).collect())
        } else {
            // On the complement of the first k pairs nothing exceeds likely + |R_k|, if that is less than theta_k: else k + 1
            // eigenvalues would exceed `likely`.
            let beta = likely + before[k];
            let uppers = if beta < last {
                (0..k).map(|i| larger_root(theta[i], beta, before[k])).collect()
            } else {
                // The same for the first p pairs, as far as the eigenvalue after them is known to be apart.
                let ceilings: Vec<f64> = found.ceiling.uppers(0..k + 1).into_iter().map(lifted).collect();
                let apart = |p: &usize| ceilings[*p] + before[*p] < theta[p - 1];
                let upper = |i: usize| {
                    (i + 1..=k)
                        .filter(apart)
                        .map(|p| larger_root(theta[i], ceilings[p] + before[p], before[p]))
                        .fold(ceilings[i].min(certain_upper(i)), f64::min)
                };
                (0..k).map(upper).collect()
            };
            (likely, BoundKind::Probes { failure: probe::failure() }, uppers)
        };
        let residuals: Vec<f64> = norms[..k].iter().map(|r| (r - slack).max(0.0)).collect();
        let upper = |i: usize| if i < k { uppers[i] } else { next };
        let in_no_unit = |values: Vec<f64>| values.into_iter().map(|v| v * unit).collect::<Vec<f64>>();
        Certificate {
            clusters: clusters(&theta[..k], &residuals, slack, |i| theta[i] - slack, upper),
            below: vec![known.rounding; k],
            above: in_no_unit((0..k).map(|i| (uppers[i] - theta[i]).max(0.0) + slack).collect()),
            residuals: in_no_unit(residuals),
            missed: next.max(0.0) * unit,
            kind,
            rounding: known.rounding,
            rounding_is: known.rounding_is,
            passes: Passes { f32: found.passes.0, f64: found.passes.1 },
            scale: theta.first().map_or(0.0, |v| v.max(0.0)) * unit,
            approximation: None,
            rigorous: false,
        }
    }

    /// Returns the measured residual |A u - lambda u| of each pair.
    pub fn residuals(&self) -> &[f64] {
        &self.residuals
    }

    /// Returns the allowance for rounding of a residual, in the units of the eigenvalues; 0 if all rounding is enclosed. What a
    /// decomposition can have done to an eigenvalue in addition is in [`Certificate::enclosure`].
    pub fn rounding(&self) -> f64 {
        self.rounding
    }

    /// Returns the error bound of eigenvalue i: the larger part of [`Certificate::enclosure`].
    ///
    /// # Panics
    /// When there are not more than `i` components.
    pub fn radius(&self, i: usize) -> f64 {
        self.below[i].max(self.above[i])
    }

    /// Returns the largest distance of the exact eigenvalue below and above the computed eigenvalue i.
    ///
    /// # Panics
    /// When there are not more than `i` components.
    pub fn enclosure(&self, i: usize) -> (f64, f64) {
        (self.below[i], self.above[i])
    }

    /// Returns an interval that contains the exact eigenvalue i, given the computed one. Its ends are rounded outwards.
    ///
    /// # Panics
    /// When there are not more than `i` components.
    pub fn interval(&self, i: usize, value: f64) -> (f64, f64) {
        let (below, above) = self.enclosure(i);
        let lower = if below > 0.0 { (value - below).next_down() } else { value };
        let upper = if above > 0.0 { (value + above).next_up() } else { value };
        (lower, upper)
    }

    /// Returns the components grouped into eigenvalue clusters, whose spaces are determined.
    pub fn clusters(&self) -> &[EigenvalueCluster] {
        &self.clusters
    }

    /// Returns an upper bound of all eigenvalues that are not among the components.
    pub fn missed(&self) -> f64 {
        self.missed
    }

    /// Returns the reason for the bound [`Certificate::missed`].
    pub fn kind(&self) -> BoundKind {
        self.kind
    }

    /// Returns the error of an approximate fit by landmarks; `None` for an exact fit.
    pub fn approximation(&self) -> Option<&Approximation> {
        self.approximation.as_ref()
    }

    /// Returns the numbers of passes over the Gram matrix.
    pub fn passes(&self) -> Passes {
        self.passes
    }

    /// Returns a bound on the distance of the computed eigenvalue i from the nearest exact eigenvalue. That is the accuracy
    /// of what was found. Whether a larger eigenvalue was missed, so that this one is not the one with index i, is another
    /// question: [`Certificate::enclosure`] and [`Certificate::missed`] answer it.
    ///
    /// # Panics
    /// When there are not more than `i` components.
    pub fn accuracy(&self, i: usize) -> f64 {
        (self.residuals[i] + self.rounding).min(self.radius(i))
    }

    /// Returns the largest [`Certificate::accuracy`] of a component relative to the largest eigenvalue, 0 for no components.
    pub fn worst(&self) -> f64 {
        let worst = (0..self.residuals.len()).map(|i| self.accuracy(i)).fold(0.0, f64::max);
        if self.scale > 0.0 { worst / self.scale } else { 0.0 }
    }

    /// Returns how sure the allowance for rounding is.
    pub fn rounding_confidence(&self) -> Confidence {
        self.rounding_is
    }

    /// The largest eigenvalue, for bounds that are shown relative to it.
    pub(super) fn scale(&self) -> f64 {
        self.scale
    }

    /// The same for other vectors of the same eigenvalues, with these residuals: the angles are those of these vectors.
    pub(crate) fn for_vectors(mut self, values: &[f64], residuals: Vec<f64>) -> Self {
        let k = residuals.len();
        let upper = |i: usize| if i < k { values[i] + self.above[i] } else { self.missed };
        let found = clusters(&values[..k], &residuals, self.rounding, |i| values[i] - self.below[i], upper);
        (self.clusters, self.residuals) = (found, residuals);
        self
    }

    /// Returns whether all rounding is enclosed, that of the kernel and of the decomposition included, so that nothing is
    /// assumed but correctly rounded arithmetic: [`AnyModel::certify`](crate::AnyModel::certify).
    pub fn is_rigorous(&self) -> bool {
        self.rigorous
    }

    /// Returns the largest residual relative to the largest eigenvalue.
    pub fn worst_residual(&self) -> f64 {
        let worst = self.residuals.iter().copied().fold(0.0, f64::max);
        if self.scale > 0.0 { worst / self.scale } else { 0.0 }
    }

    /// Rejects a certificate that does not fit `k` components, as a damaged file may have it.
    pub(crate) fn validate(&self, k: usize) -> Result<()> {
        for (what, len) in [
            ("residuals", self.residuals.len()),
            ("lower bounds", self.below.len()),
            ("upper bounds", self.above.len()),
        ] {
            if len != k {
                return Err(Error::shape(format!("{what} of the certificate"), len, k));
            }
        }
        let lists = self.residuals.iter().chain(&self.below).chain(&self.above);
        let sines = self.clusters.iter().map(|c| &c.sine);
        let failure = self.kind.failure();
        let numbers = lists.chain(sines).chain([&self.missed, &self.rounding, &self.scale, &failure]);
        if numbers.into_iter().any(|v| !(v.is_finite() && *v >= 0.0)) {
            return Err(Error::inconsistent("the certificate has an error bound that is negative or not finite"));
        }
        if self.approximation.as_ref().is_some_and(|a| !a.is_sound(k)) {
            return Err(Error::inconsistent(
                "the certificate has an approximation error that is negative or not finite",
            ));
        }
        let mut next = 0;
        for cluster in &self.clusters {
            if cluster.first != next || cluster.last < cluster.first || cluster.last >= k {
                return Err(Error::inconsistent("the eigenvalue clusters of the certificate are not in order"));
            }
            next = cluster.last + 1;
        }
        if next == k {
            Ok(())
        } else {
            Err(Error::inconsistent("the eigenvalue clusters of the certificate do not cover all components"))
        }
    }
}

/// Roots of the running sums of squares, from none on.
fn running<'a>(norms: impl Iterator<Item = &'a f64>) -> Vec<f64> {
    let mut squares = 0.0;
    std::iter::once(0.0)
        .chain(norms.map(|r| {
            squares += r * r;
            squares
        }))
        .map(f64::sqrt)
        .collect()
}

/// The larger eigenvalue of [[a, r], [r, b]].
fn larger_root(a: f64, b: f64, r: f64) -> f64 {
    let (high, gap) = (a.max(b), (a - b).abs());
    if r == 0.0 {
        return high;
    }
    // high + r^2 / (gap/2 + root): no cancellation.
    high + r * r / (0.5 * gap + (0.25 * gap * gap + r * r).sqrt())
}

/// Cuts components where gaps are large against the errors beside them; sines by Davis and Kahan.
fn clusters(
    values: &[f64],
    residuals: &[f64],
    rounding: f64,
    lower: impl Fn(usize) -> f64,
    upper: impl Fn(usize) -> f64,
) -> Vec<EigenvalueCluster> {
    let k = values.len();
    let mut found = Vec::new();
    let mut first = 0;
    for last in 0..k {
        let gap = values[last] - upper(last + 1);
        let error = residuals[last].max(residuals.get(last + 1).copied().unwrap_or(0.0)) + rounding;
        if last + 1 < k && gap <= APART * error {
            continue;
        }
        let below = gap;
        let above = if first > 0 { lower(first - 1) - values[first] } else { f64::INFINITY };
        // This norm neither overflows nor underflows, whatever the units of the data.
        let norm = linalg::norm(&residuals[first..=last].iter().map(|r| r + rounding).collect::<Vec<f64>>());
        let separation = below.min(above);
        let sine = if separation > norm { norm / separation } else { 1.0 };
        found.push(EigenvalueCluster { first, last, sine });
        first = last + 1;
    }
    found
}
