//! How far a result can be from the truth (MATHS.md, M13).

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Found;
use super::{orth, probe};
use crate::error::{Error, ErrorKind, Result};
use crate::linalg;

/// What rounding can have done to an eigenvalue of the centred Gram matrix of n points, whose entries are good to
/// `entry_error` (Weyl: |E|_2 <= n max|E_ij|); centring and the dense solver add a small multiple of n eps times the
/// largest eigenvalue.
pub(crate) fn rounding(n: usize, entry_error: f64, eigenvalues: &[f64]) -> f64 {
    let norm = eigenvalues.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    n as f64 * (entry_error + f64::EPSILON * norm)
}

/// The same for products with a matrix that is not stored and whose entries are at most `largest`: sums over tiles,
/// and then of tiles, in arithmetic of spacing `epsilon` within the `height` of a tile.
pub(crate) fn rounding_of_products(n: usize, entry_error: f64, largest: f64, epsilon: f64, height: usize) -> f64 {
    let (n, height) = (n as f64, height as f64);
    let within = 0.5 * epsilon * (height + 8.0);
    let between = 0.5 * f64::EPSILON * (n / height + 64.0);
    n * (entry_error + (within + between) * largest)
}

/// Refuses a Gram matrix whose eigenvalues, or whose rounding, leave the range of f64.
pub(crate) fn check_range(n: usize, largest_entry: f64) -> Result<()> {
    let fits = (64.0 * n as f64 * largest_entry).is_finite() && largest_entry > 1e4 * f64::MIN_POSITIVE;
    if largest_entry == 0.0 || fits {
        return Ok(());
    }
    Err(ErrorKind::Range { what: "Gram matrix", magnitude: largest_entry }.into())
}

/// What is known about the error of computed eigenpairs.
///
/// The residuals |A u - lambda u| are measured in f64. An enclosure is a theorem about the exact matrix, given the
/// allowance for rounding, which is a first-order bound, and given that no eigenvalue beyond those found exceeds
/// [`Certificate::missed`]; [`Certificate::kind`] tells whether that is certain, or certain but for a small probability.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    residuals: Vec<f64>,
    /// How far below and above the computed eigenvalue the exact one can be.
    below: Vec<f64>,
    above: Vec<f64>,
    clusters: Vec<Cluster>,
    missed: f64,
    kind: Kind,
    rounding: f64,
    passes: Passes,
    scale: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    approximation: Option<Approximation>,
}

/// What landmarks cost: how far the Gram matrix that was decomposed is from the one that is meant (MATHS.md, M20).
///
/// What is left, E = K - FF', is positive semi-definite, so that no eigenvalue is underestimated by more than its trace: that
/// is certain. The residuals are estimates from a sample of the rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Approximation {
    landmarks: usize,
    trace_error: f64,
    total: f64,
    sampled: usize,
    /// The estimate of each residual, and what it is below with `confidence`.
    residuals: Vec<(f64, f64)>,
    confidence: f64,
}

impl Approximation {
    pub(crate) fn new(
        landmarks: usize,
        trace_error: f64,
        total: f64,
        sampled: usize,
        residuals: Vec<(f64, f64)>,
        confidence: f64,
    ) -> Self {
        // No residual is larger than the norm of what is left.
        let residuals = residuals.into_iter().map(|(v, bound)| (v.min(trace_error), bound.min(trace_error))).collect();
        Approximation { landmarks, trace_error, total, sampled, residuals, confidence }
    }

    /// Number of landmarks.
    pub fn landmarks(&self) -> usize {
        self.landmarks
    }

    /// The trace of what is left of the Gram matrix: the sum of all errors of eigenvalues is at most this.
    pub fn trace_error(&self) -> f64 {
        self.trace_error
    }

    /// The same as a share of the whole variance.
    pub fn trace_share(&self) -> f64 {
        if self.total > 0.0 { self.trace_error / self.total } else { 0.0 }
    }

    /// Rows of the data that residuals were measured for.
    pub fn sampled(&self) -> usize {
        self.sampled
    }

    /// |K~u - lambda u| of each component as estimated from these rows; empty when there were none.
    pub fn residuals(&self) -> Vec<f64> {
        self.residuals.iter().map(|r| r.0).collect()
    }

    /// What each residual is below, with [`Approximation::confidence`] for each: six standard errors above its estimate; the trace
    /// error where the sample sees too little of a component or of that error.
    pub fn residual_bounds(&self) -> Vec<f64> {
        self.residuals.iter().map(|r| r.1).collect()
    }

    /// The confidence of each of the bounds on residuals. It was measured, on data with and without outliers; it is no theorem.
    pub fn confidence(&self) -> f64 {
        self.confidence
    }

    fn first(&mut self, k: usize) {
        self.residuals.truncate(k);
    }

    fn is_sound(&self, k: usize) -> bool {
        let numbers = self.residuals.iter().flat_map(|r| [r.0, r.1]);
        let mut numbers = numbers.chain([self.trace_error, self.total, self.confidence]);
        (self.residuals.is_empty() || self.residuals.len() == k) && numbers.all(|v| v.is_finite() && v >= 0.0)
    }
}

/// Components whose eigenvalues are apart from all others: the space that they span is certain, the directions within
/// it only as far as the cluster is one component.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cluster {
    /// The first component, from 0.
    pub first: usize,
    /// The last component.
    pub last: usize,
    /// The sine of the largest angle between the computed space and the exact one is at most this; 1 says nothing.
    pub sine: f64,
}

/// Why no eigenvalue beyond those found exceeds [`Certificate::missed`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "by")]
pub enum Kind {
    /// All eigenpairs were computed: certain.
    AllPairs,
    /// The sum of all eigenvalues is known, and none is negative: certain.
    Trace,
    /// The sum of the squares of all eigenvalues is known: certain.
    Frobenius,
    /// Nobody knows more of these eigenvalues than that all of them sum to so much, and none is negative.
    Unknown,
    /// Random probes would have shown it.
    Probes {
        /// The probability that they did not.
        failure: f64,
    },
}

impl Kind {
    /// The probability that the bound does not hold: 0 when it is certain.
    pub fn failure(self) -> f64 {
        match self {
            Kind::Probes { failure } => failure,
            _ => 0.0,
        }
    }
}

/// Passes over the Gram matrix; none when all eigenpairs were computed from the stored matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passes {
    /// In f32, which bring the search near.
    #[serde(rename = "swift")]
    pub f32: usize,
    /// In f64: what is reported comes from the last of them.
    #[serde(rename = "exact")]
    pub f64: usize,
}

/// What is known about a symmetric matrix besides the pairs that were found.
pub(crate) struct Known {
    /// The sum of all its eigenvalues.
    pub(crate) trace: f64,
    /// Whether none of them is negative.
    pub(crate) definite: bool,
    /// The root of the sum of the squares of all its eigenvalues.
    pub(crate) norm: Option<f64>,
    /// What rounding can have done to an eigenvalue.
    pub(crate) rounding: f64,
    /// How far the operator that the probes saw can be from the one that is meant, as seen in an eigenvalue.
    pub(crate) f32: f64,
    /// No eigenvalue is larger.
    pub(crate) largest: f64,
}

/// Gaps this many times the errors beside them separate clusters: the sine is then at most about its inverse.
const APART: f64 = 20.0;

impl Certificate {
    /// For the first k of all eigenvalues of a matrix, descending, with the residuals of their pairs.
    pub(crate) fn of_all(eigenvalues: &[f64], residuals: Vec<f64>, rounding: f64) -> Self {
        let k = residuals.len();
        let missed = eigenvalues.get(k).map_or(0.0, |v| v.max(0.0) + rounding);
        let radius: Vec<f64> = residuals.iter().map(|r| r + rounding).collect();
        let upper = |i: usize| eigenvalues.get(i).map_or(f64::NEG_INFINITY, |v| v + rounding);
        let lower = |i: usize| eigenvalues[i] - rounding;
        Certificate {
            clusters: clusters(&eigenvalues[..k], &residuals, rounding, lower, upper),
            below: radius.clone(),
            above: radius,
            missed,
            kind: Kind::AllPairs,
            rounding,
            passes: Passes::default(),
            scale: eigenvalues.first().map_or(0.0, |v| v.max(0.0)),
            residuals,
            approximation: None,
        }
    }

    /// Of eigenvalues that somebody else computed: nothing is known but that none is negative and that all of them sum to
    /// `total`, so that each can be anywhere from 0 to there.
    pub fn unknown(eigenvalues: &[f64], total: f64) -> Self {
        let k = eigenvalues.len();
        Certificate {
            residuals: vec![total; k],
            below: eigenvalues.to_vec(),
            above: eigenvalues.iter().map(|v| (total - v).max(0.0)).collect(),
            clusters: if k > 0 { vec![Cluster { first: 0, last: k - 1, sine: 1.0 }] } else { Vec::new() },
            missed: total,
            kind: Kind::Unknown,
            rounding: 0.0,
            passes: Passes::default(),
            scale: eigenvalues.first().map_or(0.0, |v| v.max(0.0)),
            approximation: None,
        }
    }

    /// For the first k of all eigenvalues of FF', centred, where K - FF' is positive semi-definite with a known trace (Weyl):
    /// none is too large but for rounding, and none too small by more than that trace.
    pub(crate) fn of_landmarks(eigenvalues: &[f64], k: usize, approximation: Approximation, rounding: f64) -> Self {
        let slack = approximation.trace_error + rounding;
        let values = &eigenvalues[..k];
        // |K~u - theta u| = |HEu| is at most the trace; what a sample says of it is no bound.
        let residuals = vec![approximation.trace_error; k];
        let next = eigenvalues.get(k).map_or(0.0, |v| v.max(0.0)) + slack;
        let upper = |i: usize| if i < k { values[i] + slack } else { next };
        Certificate {
            clusters: clusters(values, &residuals, rounding, |i| values[i] - rounding, upper),
            below: vec![rounding; k],
            above: vec![slack; k],
            residuals,
            missed: next,
            kind: Kind::Trace,
            rounding,
            passes: Passes::default(),
            scale: values.first().map_or(0.0, |v| v.max(0.0)),
            approximation: Some(approximation),
        }
    }

    /// The same for the first k components only, the others being among those that may be missed.
    pub(crate) fn first(mut self, k: usize, eigenvalues: &[f64]) -> Self {
        if k >= self.residuals.len() {
            return self;
        }
        self.missed = self.missed.max(eigenvalues[k] + self.above[k]);
        self.clusters.retain(|c| c.first < k);
        if let Some(last) = self.clusters.last_mut().filter(|c| c.last >= k) {
            // A part of a space is as uncertain as directions within it.
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
        self.clusters.push(Cluster { first, last: first + more - 1, sine: 1.0 });
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
        let certain = [trace.map(|t| (t, Kind::Trace)), frobenius.map(|f| (f, Kind::Frobenius))];
        let certain = certain.into_iter().flatten().min_by(|a, b| a.0.total_cmp(&b.0));
        let (beyond, certain_kind) = certain.unwrap_or((known.largest / unit, Kind::Frobenius));
        let beta = |p: usize| if p < b { larger_root(theta[p], beyond, after[p]) } else { beyond };
        // Likely: what the probes say about the eigenvalue after the first k.
        // Vectors that are nearly within the basis stand there for the probes.
        let seen = slack + known.f32 / unit + orth::LEAST * theta.first().map_or(0.0, |v| v.abs());
        let lifted = |mu: f64| (mu + seen).min(known.largest / unit);
        let likely = lifted(found.ceiling.upper(k));

        // lambda_i <= mu as soon as (mu - theta_i)(mu - beta_p) >= |R_p|^2, for any p > i; and lambda_p <= beta_p.
        let last = if k > 0 { theta[k - 1] } else { 0.0 };
        let certain_upper =
            |i: usize| (i + 1..=b).map(|p| larger_root(theta[i], beta(p), before[p])).fold(beta(i), f64::min);
        let (next, kind, uppers): (f64, Kind, Vec<f64>) = if beta(k) < last || beta(k) <= likely {
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
            (likely, Kind::Probes { failure: probe::failure() }, uppers)
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
            passes: Passes { f32: found.passes.0, f64: found.passes.1 },
            scale: theta.first().map_or(0.0, |v| v.max(0.0)) * unit,
            approximation: None,
        }
    }

    /// The measured residual |A u - lambda u| of each pair.
    pub fn residuals(&self) -> &[f64] {
        &self.residuals
    }

    /// The allowance for rounding, in the units of the eigenvalues.
    pub fn rounding(&self) -> f64 {
        self.rounding
    }

    /// How far eigenvalue i can be from the truth.
    pub fn radius(&self, i: usize) -> f64 {
        self.below[i].max(self.above[i])
    }

    /// How far below and how far above the computed eigenvalue i the exact one can be.
    pub fn enclosure(&self, i: usize) -> (f64, f64) {
        (self.below[i], self.above[i])
    }

    /// The components in groups whose spaces are certain.
    pub fn clusters(&self) -> &[Cluster] {
        &self.clusters
    }

    /// No eigenvalue that is not among the components exceeds this.
    pub fn missed(&self) -> f64 {
        self.missed
    }

    /// Why that is so.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What landmarks cost, where components were found by them; `None` for exact ones.
    pub fn approximation(&self) -> Option<&Approximation> {
        self.approximation.as_ref()
    }

    /// Passes over the Gram matrix.
    pub fn passes(&self) -> Passes {
        self.passes
    }

    /// The largest radius relative to the largest eigenvalue, 0 for no components.
    pub fn worst(&self) -> f64 {
        let radius = (0..self.residuals.len()).map(|i| self.radius(i)).fold(0.0, f64::max);
        if self.scale > 0.0 { radius / self.scale } else { 0.0 }
    }

    /// The largest residual relative to the largest eigenvalue.
    pub fn worst_residual(&self) -> f64 {
        let worst = self.residuals.iter().copied().fold(0.0, f64::max);
        if self.scale > 0.0 { worst / self.scale } else { 0.0 }
    }

    /// Refuses a certificate that cannot be one of `k` components, as a damaged file may have it.
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
            return Err(Error::inconsistent("the certificate has an error that cannot be"));
        }
        if self.approximation.as_ref().is_some_and(|a| !a.is_sound(k)) {
            return Err(Error::inconsistent("the certificate has an approximation that cannot be"));
        }
        let mut next = 0;
        for cluster in &self.clusters {
            if cluster.first != next || cluster.last < cluster.first || cluster.last >= k {
                return Err(Error::inconsistent("the clusters of the certificate do not follow each other"));
            }
            next = cluster.last + 1;
        }
        if next == k {
            Ok(())
        } else {
            Err(Error::inconsistent("the clusters of the certificate leave components out"))
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
) -> Vec<Cluster> {
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
        let norm = residuals[first..=last].iter().map(|r| (r + rounding).powi(2)).sum::<f64>().sqrt();
        let separation = below.min(above);
        let sine = if separation > norm { norm / separation } else { 1.0 };
        found.push(Cluster { first, last, sine });
        first = last + 1;
    }
    found
}

impl fmt::Display for Certificate {
    /// One or two sentences.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kind == Kind::Unknown {
            return f.write_str("nothing is known of the errors: the eigenvalues were computed elsewhere");
        }
        if let Some(a) = &self.approximation {
            let share = |v: f64| if self.scale > 0.0 { v / self.scale } else { 0.0 };
            write!(
                f,
                "approximate, by {} landmarks: they leave {:.1e} of the variance, ",
                a.landmarks,
                a.trace_share()
            )?;
            match share(a.trace_error + self.rounding) {
                bound if bound < 1.0 => {
                    write!(f, "so that no eigenvalue is too small by more than {bound:.1e} of the largest")?
                }
                _ => f.write_str("too much to bound an eigenvalue")?,
            }
            let (rows, sure, k) = (a.sampled, 100.0 * a.confidence, a.residuals.len());
            let bounds: Vec<f64> =
                a.residuals.iter().map(|r| r.1).filter(|v| *v < a.trace_error || *v == 0.0).collect();
            let whose =
                if bounds.len() < k { format!(" of {} of the {k} components", bounds.len()) } else { String::new() };
            return match bounds.into_iter().reduce(f64::max).map(share) {
                Some(worst) => write!(
                    f,
                    "; residuals{whose} are below {worst:.1e} of the largest eigenvalue, as a sample of {rows} rows tells \
                     ({sure:.0} % sure of each)"
                ),
                None if k > 0 => write!(f, "; of residuals a sample of {rows} rows tells no more than that"),
                None => Ok(()),
            };
        }
        write!(f, "eigenvalues within {:.1e} of the largest", self.worst())?;
        let sine = self.clusters.iter().map(|c| c.sine).fold(0.0, f64::max);
        let single = self.clusters.iter().all(|c| c.first == c.last);
        match (single, sine < 0.5) {
            _ if self.clusters.is_empty() => {}
            (true, true) => write!(f, ", directions within {:.1e} rad", sine.asin())?,
            (false, true) => write!(f, ", spaces of equal eigenvalues within {:.1e} rad", sine.asin())?,
            (_, false) => write!(f, ", the last directions open: the next eigenvalue is too near")?,
        }
        match self.kind {
            Kind::AllPairs => write!(f, "; all pairs computed"),
            Kind::Trace | Kind::Frobenius | Kind::Unknown => {
                write!(f, "; none above {:.3e} missed, by the {}", self.missed, self.kind.name())
            }
            Kind::Probes { failure } => {
                write!(f, "; none above {:.3e} missed, but for a chance of {failure:.0e}", self.missed)
            }
        }
    }
}

impl Kind {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Kind::AllPairs => "whole spectrum",
            Kind::Trace | Kind::Unknown => "trace",
            Kind::Frobenius => "Frobenius norm",
            Kind::Probes { .. } => "random probes",
        }
    }
}
