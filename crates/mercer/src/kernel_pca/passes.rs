//! The leading eigenpairs by passes over a Gram matrix that is not stored.

use super::finish::{Ending, Weights};
use super::planning::computes_all_if_negative;
use super::{KernelPca, KernelPcaModel};
use crate::eigen::{
    Certificate, Confidence, Found, Known, Problem, Wanted, check_range, rounding_of_products, sign, solve,
};
use crate::error::{Error, ErrorSubject, Result, check_finite};
use crate::exec::Exec;
use crate::features::Features;
use crate::kernel::tile::LARGE_TILE;
use crate::op::mean;
use crate::plan::{PassPlan, Replan};
use crate::spectrum::{Components, Matrix, Spectrum};

/// Up to this many points passes cost so little that they are made until rounding ends them, whatever the tolerance.
const ALL_DIGITS_UP_TO: usize = 600;
const ALL_DIGITS: f64 = 1e-13;

/// Properties of a Gram operator that a search and its error bounds need besides the products.
pub(super) struct GramProperties {
    pub(super) diagonal: Vec<f64>,
    /// Whether no eigenvalue is negative, by the kernel's formula.
    pub(super) definite: bool,
    /// Error of an entry in f64 and in f32, given the root mean square of the entries.
    pub(super) entry_errors: Box<dyn Fn(f64) -> (f64, f64)>,
    /// How sure these errors are.
    pub(super) confidence: Confidence,
}

impl GramProperties {
    /// The size of the entries (M25): the root of their mean square, |K|_F / n, or the mean of k(x, x) if that is larger,
    /// since errors of dot products are relative to |x||y|. Where the norm is not known, something that is not less for a
    /// positive semi-definite operator.
    fn size(&self, norm: Option<f64>, largest: f64) -> f64 {
        let n = self.diagonal.len() as f64;
        let of_diagonal = || self.diagonal.iter().fold(largest, |m, v| m.max(v.abs()));
        norm.map_or_else(of_diagonal, |norm| self.diagonal.iter().map(|v| v.abs() / n).sum::<f64>().max(norm / n))
    }

    /// A bound on the rounding error of an eigenvalue in f64.
    pub(super) fn rounding(&self, norm: Option<f64>, largest: f64) -> f64 {
        let size = self.size(norm, largest);
        rounding_of_products(self.diagonal.len(), (self.entry_errors)(size).0, size, f64::EPSILON, LARGE_TILE)
    }

    /// Refuses a diagonal that is not finite, naming the entry.
    pub(super) fn check(&self, n: usize) -> Result<()> {
        if self.diagonal.len() != n {
            return Err(Error::shape("entries of the diagonal", self.diagonal.len(), n));
        }
        check_finite(ErrorSubject::GramMatrix, &self.diagonal, |at| (at, at))
    }
}

/// The result of a search.
pub(super) enum Outcome {
    /// Eigenpairs, and the number of components among them.
    Found(Box<Found>, usize),
    /// Another plan is needed.
    Again(Replan),
}

impl KernelPca {
    /// Searches for the number of eigenpairs in the plan. `made` counts the passes of all searches for one result.
    pub(super) fn search(
        &self,
        problem: &Problem<'_>,
        facts: &GramProperties,
        plan: &PassPlan,
        made: &mut (usize, usize),
        exec: &Exec,
    ) -> Result<Outcome> {
        let n = problem.f64.n();
        let k = plan.k.min(n - 1);
        let wanted = Wanted {
            k,
            tolerance: if n <= ALL_DIGITS_UP_TO { self.tolerance.min(ALL_DIGITS) } else { self.tolerance },
            most_columns: plan.basis,
            step: k + 2,
            passes_before: made.0 + made.1,
        };
        let mut found = solve(problem, wanted, exec)?;
        *made = (made.0 + found.passes.0, made.1 + found.passes.1);
        found.passes = *made;
        let largest = found.values.first().map_or(0.0, |v| v.abs()) * found.unit;
        let negative = -found.smallest * found.unit > 4.0 * facts.rounding(found.norm, largest);
        if !facts.definite && negative && plan.dense_fits && computes_all_if_negative(n) {
            return Ok(Outcome::Again(Replan::Negative));
        }
        let Components::Share(share) = self.components else { return Ok(Outcome::Found(Box::new(found), k)) };
        let total = facts.trace(&found);
        let values: Vec<f64> = found.values.iter().map(|v| v * found.unit).collect();
        let sum: f64 = values[..k].iter().map(|v| v.max(0.0)).sum();
        if sum >= share * total || k == n - 1 {
            let k = self.components.count(&values, total, k);
            return Ok(Outcome::Found(Box::new(found), k));
        }
        // None of the other eigenvalues is larger than the last one found, so at least this many more are needed.
        let missing = ((share * total - sum) / values[k - 1].max(f64::MIN_POSITIVE)).ceil();
        let next = (2 * k).max(k.saturating_add(missing as usize)).min(n - 1);
        Ok(Outcome::Again(Replan::Components(next)))
    }

    /// Computes the model from the eigenpairs, line by line as in the textbook.
    pub(super) fn finish_found(
        &self,
        features: Features,
        found: Box<Found>,
        wanted: usize,
        facts: &GramProperties,
    ) -> Result<KernelPcaModel> {
        let n = found.vectors.n();
        let (means, grand_mean, trace) = (facts.means(&found), facts.grand_mean(&found), facts.trace(&found));
        let largest = found.values.first().map_or(0.0, |v| v.abs()) * found.unit;
        let size = facts.size(found.norm, largest);
        check_range(n, size)?;
        let rounding = facts.rounding(found.norm, largest);
        let centred_norm = found.norm.map(|all| {
            // |HKH|^2 = |K|^2 - 2 n |kbar|^2 + n^2 kbar^2, plus an allowance for rounding
            let (n, scale) = (n as f64, if all > 0.0 { all } else { 1.0 });
            let of_means: f64 = means.iter().map(|m| (m / scale).powi(2)).sum();
            all * ((1.0 - 2.0 * n * of_means + (n * (grand_mean / scale)).powi(2)).max(0.0) + n * f64::EPSILON).sqrt()
        });
        let known = Known {
            trace,
            definite: facts.definite,
            norm: centred_norm,
            rounding,
            rounding_is: facts.confidence,
            f32: if found.passes.0 > 0 {
                rounding_of_products(n, (facts.entry_errors)(size).1, size, f64::from(f32::EPSILON), LARGE_TILE)
            } else {
                0.0
            },
            largest: size * n as f64 + rounding,
        };

        let values: Vec<f64> = found.values.iter().map(|v| v * found.unit).collect();
        let k = values.iter().take(wanted).take_while(|v| **v > rounding).count();
        let certificate = Certificate::of_found(&found, k, &known);
        let mut notes = Vec::new();
        if !facts.definite {
            notes.push("shares are of the sum of all eigenvalues; negative ones were not searched for".to_string());
        }
        let kept: f64 = values[..k].iter().sum();
        let total = trace.max(kept);
        let mut vectors = found.vectors.first(k);
        sign::largest_positive(&mut vectors);
        Ending {
            features,
            weights: Weights::Vectors { vectors, means },
            grand_mean,
            tie: 2.0 * (rounding + certificate.residuals().iter().copied().fold(0.0, f64::max)),
            certificate,
            spectrum: Spectrum {
                eigenvalues: values[..k].to_vec(),
                total,
                discarded: total - kept,
                rank: k,
                complete: false,
                n,
                weight: n as f64,
                centred: true,
                matrix: Matrix::Gram,
            },
            values,
            definiteness: None,
            notes,
        }
        .model()
    }
}

impl GramProperties {
    /// kbar = K1/n (M7).
    fn means(&self, found: &Found) -> Vec<f64> {
        found.row_sums.iter().map(|s| s / found.row_sums.len() as f64).collect()
    }

    fn grand_mean(&self, found: &Found) -> f64 {
        mean(&self.means(found))
    }

    /// tr HKH = tr K - 1'K1/n (M9).
    fn trace(&self, found: &Found) -> f64 {
        let n = self.diagonal.len() as f64;
        (mean(&self.diagonal) - self.grand_mean(found)) * n
    }
}
