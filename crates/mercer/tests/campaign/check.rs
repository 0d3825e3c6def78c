//! Every claim of a certificate against what is true.

use mercer::Points;
use mercer::certificate::BoundKind;
use mercer::testing::double_double::DoubleDouble;
use mercer::testing::naive;
use mercer::testing::reference::product;

use crate::problem::Shown;
use crate::truth::{Truth, norm, orthonormal};

/// How exactly spaces are orthonormal in higher precision.
const ORTHOGONAL: f64 = 1e-27;

/// What a claim is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The exact eigenvalue is within the enclosure.
    Eigenvalue,
    /// The residual of the pair that is shown is at most the one that is stated, and rounding.
    Residual,
    /// The angle between the space that is shown and the exact one is at most the one that is stated.
    Angle,
    /// No eigenvalue beyond those shown is larger than stated.
    Missed,
    /// The trace error of landmarks bounds the sum of the errors of eigenvalues.
    Trace,
    /// The residual that was estimated from a sample is at most its bound.
    Sampled,
    /// As many components are certified as are shown.
    Count,
    /// Nothing panics.
    Panic,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Eigenvalue => "eigenvalue",
            Kind::Residual => "residual",
            Kind::Angle => "angle",
            Kind::Missed => "missed",
            Kind::Trace => "trace error",
            Kind::Sampled => "sampled residual",
            Kind::Count => "count",
            Kind::Panic => "panic",
        }
    }
}

/// One claim, and the truth about it, in one unit.
#[derive(Clone, Debug)]
pub struct Check {
    pub kind: Kind,
    /// The component, from 0.
    pub component: usize,
    /// What the certificate says that the error is at most.
    pub claim: f64,
    /// What the error is.
    pub error: f64,
    /// How far the reference can be wrong about that.
    pub reference: f64,
    /// Whether the claim holds with a probability only.
    pub probable: bool,
}

impl Check {
    /// Whether the claim is wrong, beyond the error of the reference.
    pub fn is_violated(&self) -> bool {
        let allowed = self.claim + self.reference;
        self.error > allowed || self.error.is_nan() || allowed.is_nan()
    }

    /// How many times the error exceeds the claim.
    pub fn excess(&self) -> f64 {
        if self.claim > 0.0 { self.error / self.claim } else { f64::INFINITY }
    }

    /// Bound / true error, where the reference knows the error well enough.
    pub fn tightness(&self) -> Option<f64> {
        let known = self.error > 3.0 * self.reference && self.error > 0.0;
        (known && self.kind != Kind::Count && self.kind != Kind::Panic).then(|| self.claim / self.error)
    }
}

/// All claims of a certificate. A claim that cannot be true is one of infinite error.
pub fn checks(shown: &Shown, truth: &Truth) -> Vec<Check> {
    let (c, k, unit) = (&shown.certificate, shown.values.len(), truth.unit);
    let mut all = Vec::new();
    let counts = [c.residuals().len(), c.clusters().last().map_or(0, |last| last.last + 1), shown.vectors.len()];
    all.extend(counts.map(|found| Check {
        kind: Kind::Count,
        component: k,
        claim: 0.0,
        error: found.abs_diff(k) as f64,
        reference: 0.0,
        probable: false,
    }));
    if counts.iter().any(|count| *count != k) {
        return all;
    }
    let probable = matches!(c.kind(), BoundKind::Probes { .. });
    let zero = DoubleDouble::from(0.0);
    // Beyond what is known, eigenvalues are 0 for a complete list: there are none.
    let exact = |i: usize| truth.values.get(i).copied().or(truth.beyond.map(DoubleDouble::from));
    let error_at = |i: usize| truth.errors.get(i).copied().unwrap_or(truth.distance);
    for i in 0..k {
        let Some(exact) = exact(i).or(truth.complete.then_some(zero)) else { continue };
        let (below, above) = c.enclosure(i);
        let gap = (exact - DoubleDouble::from(shown.values[i]).times_power_of_two(1.0 / unit)).to_f64();
        all.push(Check {
            kind: Kind::Eigenvalue,
            component: i,
            claim: if gap > 0.0 { above } else { below } / unit,
            error: gap.abs(),
            reference: error_at(i),
            probable: probable && gap > 0.0,
        });
        let (error, reference) = truth.residual(shown.values[i], &shown.vectors[i]);
        let claim = (c.residuals()[i] + c.rounding()) / unit;
        all.push(Check { kind: Kind::Residual, component: i, claim, error, reference, probable: false });
        if let Some(bound) = c.approximation().and_then(|a| a.residual_bounds().get(i).copied()) {
            let claim = bound / unit;
            all.push(Check {
                kind: Kind::Sampled,
                component: i,
                claim,
                error,
                reference: reference + c.rounding() / unit,
                probable: true,
            });
        }
    }
    if let Some(next) = exact(k) {
        all.push(Check {
            kind: Kind::Missed,
            component: k,
            claim: c.missed() / unit,
            error: next.to_f64().max(0.0),
            reference: error_at(k),
            probable,
        });
    }
    if let Some(a) = c.approximation() {
        let sum =
            |i: usize| exact(i).unwrap_or(zero) - DoubleDouble::from(shown.values[i]).times_power_of_two(1.0 / unit);
        let claim = (a.trace_error() + k as f64 * c.rounding()) / unit;
        let error = (0..k).map(sum).sum::<DoubleDouble>().to_f64();
        all.push(Check {
            kind: Kind::Trace,
            component: 0,
            claim,
            error,
            reference: k as f64 * truth.distance,
            probable: false,
        });
    }
    for cluster in c.clusters().iter().filter(|cluster| cluster.sine < 1.0) {
        let (first, last) = (cluster.first, cluster.last);
        let count = truth.values.len();
        if last >= count {
            // Directions that do not exist among those of the exact matrix.
            if truth.complete {
                all.push(Check {
                    kind: Kind::Angle,
                    component: first,
                    claim: cluster.sine,
                    error: 1.0,
                    reference: 0.0,
                    probable: false,
                });
            }
            continue;
        }
        let Some(next) = exact(last + 1).or(truth.complete.then_some(DoubleDouble::from(f64::MIN))) else { continue };
        let above = if first > 0 { (truth.values[first - 1] - truth.values[first]).to_f64() } else { f64::INFINITY };
        let gap = above.min((truth.values[last] - next).to_f64());
        let reference = if gap > 0.0 { 2.0 * truth.distance / gap + ORTHOGONAL } else { 1.0 };
        let error = if reference < 0.1 {
            sine(&shown.vectors[first..=last], &truth.vectors[first..=last])
        } else if c.rounding() / unit > cluster.sine * 100.0 * (gap.max(0.0) + truth.distance) || cluster.sine == 0.0 {
            // The certificate relies on a gap that does not exist: every space between is as right as any other.
            1.0
        } else {
            continue;
        };
        let reference = if reference < 0.1 { reference } else { 0.0 };
        all.push(Check { kind: Kind::Angle, component: first, claim: cluster.sine, error, reference, probable });
    }
    all
}

/// The sine of the largest angle between a space and an exact one.
fn sine(shown: &[Vec<f64>], exact: &[Vec<DoubleDouble>]) -> f64 {
    let shown = orthonormal(shown.iter().map(|v| v.iter().map(|x| (*x).into()).collect()).collect());
    let outside: Vec<Vec<DoubleDouble>> = shown
        .into_iter()
        .map(|mut v| {
            for e in exact {
                let along = product(e, &v);
                v.iter_mut().zip(e).for_each(|(v, e)| *v = *v - along * *e);
            }
            v
        })
        .collect();
    if let [one] = &outside[..] {
        return norm(one.iter().copied());
    }
    // The largest singular value of what is outside, in a unit in which its squares do not vanish.
    let largest = outside.iter().map(|v| norm(v.iter().copied())).fold(0.0, f64::max);
    if largest == 0.0 {
        return 0.0;
    }
    let scaled: Vec<Vec<f64>> = outside.iter().map(|v| v.iter().map(|x| x.to_f64() / largest).collect()).collect();
    let dot = |i: usize, j: usize| scaled[i].iter().zip(&scaled[j]).map(|(a, b)| a * b).sum::<f64>();
    let (values, _) = naive::eigen(&Points::from_fn(scaled.len(), scaled.len(), dot));
    largest * values[0].max(0.0).sqrt()
}
