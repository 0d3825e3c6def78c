//! The claims of a model against what was measured.

use super::matrix::Located;
use super::probes::Bounds;
use super::sums::{add, norm};
use super::{Claim, Outcome, Subject, UNIT, failure};
use crate::eigen::{BoundKind, Certificate};
use crate::features::Standardise;
use crate::points::Points;
use crate::spectrum::Spectrum;

/// A second opinion whose own rounding is larger than this, relative to the largest eigenvalue, is too coarse to confirm a
/// bound that is much smaller.
const COARSE: f64 = 1e-6;

/// The claims of a model, as they are compared with measurements.
pub(super) struct Claims<'a> {
    pub(super) spectrum: &'a Spectrum,
    pub(super) certificate: &'a Certificate,
    /// Whether the model has no error bounds.
    pub(super) none: bool,
    pub(super) found: Vec<Claim>,
    /// The scores of the points by the model, for kernel PCA.
    pub(super) theirs: Option<Points<f64>>,
    /// Twice the negative mass, by which the total of an indefinite kernel exceeds the trace.
    pub(super) negative: f64,
}

impl<'a> Claims<'a> {
    pub(super) fn new(spectrum: &'a Spectrum, certificate: &'a Certificate) -> Self {
        let none = certificate.kind() == BoundKind::Unknown;
        Claims { spectrum, certificate, none, found: Vec::new(), theirs: None, negative: 0.0 }
    }

    pub(super) fn finish(mut self) -> Vec<Claim> {
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
    pub(super) fn at_most(
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

    pub(super) fn largest(&self) -> f64 {
        self.spectrum.eigenvalues().first().copied().unwrap_or(0.0)
    }

    /// Whether the rounding of a measurement is too large to say much about a bound.
    pub(super) fn is_coarse(&self, allowance: f64, claimed: f64) -> bool {
        allowance > COARSE * self.largest() && allowance > 100.0 * claimed
    }

    pub(super) fn data(&mut self, seen: &Points<f64>, fitted: &Points<f64>, standardise: Option<&Standardise>) {
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

    pub(super) fn location(
        &mut self,
        located: &[Located],
        mean: &[f64],
        scale: &[f64],
        center: bool,
        standardise: bool,
    ) {
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
            (true, false) => "mean: equals that of the data".to_string(),
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

    pub(super) fn vectors(&mut self, measured: f64, moved: f64) {
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

    /// What rounding may have done to scores and to the total. Rigorous error bounds have no allowance for it: they are about
    /// eigenvalues and directions alone.
    fn rounding(&self) -> f64 {
        let of_fit = 16.0 * f64::EPSILON * (4.0 + (self.spectrum.n() as f64).sqrt()) * self.spectrum.total();
        if self.certificate.is_rigorous() { of_fit } else { self.certificate.rounding() }
    }

    pub(super) fn residual(&mut self, j: usize, measured: f64, own: f64) {
        let claimed = self.certificate.residuals()[j] + self.certificate.rounding();
        let text = format!("PC{}: residual {measured:.1e}, claimed at most {claimed:.1e}", j + 1);
        let coarse = self.is_coarse(own, claimed);
        self.at_most((Subject::Residual, Some(j)), measured, claimed, own, text);
        self.undecide(coarse);
    }

    /// Makes the newest claim one that is not decided, if it holds only because of a coarse measurement.
    pub(super) fn undecide(&mut self, coarse: bool) {
        if let Some(claim) = self.found.last_mut()
            && coarse
            && claim.outcome == Outcome::Confirmed
        {
            claim.outcome = Outcome::NotDecided;
            claim.text += &format!(" (own rounding {:.1e})", claim.allowance);
        }
    }

    pub(super) fn eigenvalues(&mut self, bounds: &Bounds) {
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
                "PC{}: eigenvalue {value:.9e}, the exact one from {:+.1e} to {:+.1e} away, claimed -{below:.1e} to +{above:.1e}",
                j + 1,
                lower - value,
                upper - value,
            );
            let (about, component) = (Subject::Eigenvalue, Some(j));
            let claim =
                Claim { about, component, outcome, claimed: most, measured: lower, allowance: bounds.rounding, text };
            self.found.push(claim);
        }
    }

    /// The scores of the points by the model against those by the definition.
    pub(super) fn scores(&mut self, j: usize, difference: f64, allowed: f64) {
        let text = format!("PC{}: scores by the model differ by {difference:.1e}, rounding {allowed:.1e}", j + 1);
        self.at_most((Subject::Scores, Some(j)), difference, allowed, 0.0, text);
    }

    /// The same for exact kernel PCA, whose scores are K~u / sqrt(lambda) (M10).
    pub(super) fn own_scores(&mut self, j: usize, image: &[f64], own: f64) {
        let Some(theirs) = self.theirs.take() else { return };
        let root = self.spectrum.eigenvalues()[j].sqrt();
        let difference = norm(&theirs.rows().zip(image).map(|(z, v)| z[j] - v / root).collect::<Vec<f64>>());
        self.scores(j, difference, (self.rounding() + own) / root);
        self.theirs = Some(theirs);
    }

    /// The squares of the scores by landmarks sum to the eigenvalue (M20).
    pub(super) fn energy(&mut self, j: usize, measured: f64, value: f64, rounding: f64, own: f64) {
        let difference = (measured - value).abs();
        let text =
            format!("PC{}: squares of the scores sum to {measured:.9e}, claimed {value:.9e} to {rounding:.1e}", j + 1);
        self.at_most((Subject::Scores, Some(j)), difference, rounding, own, text);
    }

    pub(super) fn total(&mut self, measured: f64, own: f64) {
        let (total, rounding) = (self.spectrum.total(), self.rounding());
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

    pub(super) fn missed(&mut self, bounds: &Bounds) {
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
            "other eigenvalues: the largest is from {:.3e} to {:.3e} (except with probability {:.0e}), claimed at most \
             {claimed:.3e}",
            lower.max(0.0),
            upper.max(0.0),
            failure()
        );
        let (about, component, allowance) = (Subject::Missed, None, bounds.rounding);
        self.found.push(Claim { about, component, outcome, claimed, measured: lower, allowance, text });
    }
}
