//! Kernel PCA by passes over a Gram matrix that is not stored.

use super::{KernelPca, KernelPcaModel, NARROW_ABOVE, WHOLE_UP_TO};
use crate::block::fingerprint;
use crate::eigen::{
    Certificate, Found, Known, Precondition, Problem, Wanted, check_range, rounding_of_products, sign, solve,
};
use crate::error::{Error, Result, check_finite};
use crate::exec::Exec;
use crate::features::{Features, Standardise};
use crate::kernel::tile::{Form, LARGE_TILE};
use crate::landmarks::Landmarks;
use crate::op::{Dense, Gram, SymOp, mean};
use crate::plan::{KernelTask, PassPlan, Plan, Source};
use crate::spectrum::{Components, Spectrum};

/// What is known of an operator before and after the passes.
pub(super) struct Facts {
    pub(super) diagonal: Vec<f64>,
    /// Whether no eigenvalue is negative, by the kernel's formula.
    pub(super) definite: bool,
    /// Error of an entry in f64 and in f32, given the root mean square of the entries.
    pub(super) entry_errors: Box<dyn Fn(f64) -> (f64, f64)>,
}

impl Facts {
    /// The root mean square of the entries, |K|_F / n, or something that is not less.
    fn size(&self, norm: Option<f64>, largest: f64) -> f64 {
        let of_diagonal = || self.diagonal.iter().fold(largest, |m, v| m.max(v.abs()));
        norm.map_or_else(of_diagonal, |norm| norm / self.diagonal.len() as f64)
    }

    /// What rounding can do to an eigenvalue, in f64.
    pub(super) fn rounding(&self, norm: Option<f64>, largest: f64) -> f64 {
        let size = self.size(norm, largest);
        rounding_of_products(self.diagonal.len(), (self.entry_errors)(size).0, size, f64::EPSILON, LARGE_TILE)
    }

    /// Refuses a diagonal that is not finite, naming the entry.
    pub(super) fn check(&self, n: usize) -> Result<()> {
        if self.diagonal.len() != n {
            return Err(Error::shape("entries of the diagonal", self.diagonal.len(), n));
        }
        check_finite("Gram matrix", &self.diagonal, |at| (at, at))
    }
}

impl KernelPca {
    /// The leading components of a kernel on points.
    pub(super) fn fit_by_passes(
        &self,
        gram: Gram,
        standardise: Option<Standardise>,
        plan: &PassPlan,
        exec: &Exec,
    ) -> Result<KernelPcaModel> {
        let bound = gram.bound().clone();
        let narrow = plan.swift && bound.allows_f32(gram.square()) && self.tolerance > NARROW_ABOVE;
        let swift = narrow.then(|| gram.to_f32()).filter(|g| g.far_share() < 0.05).map(|g| g.cached(plan.kept));
        let gram = if swift.is_none() { gram.cached(plan.kept) } else { gram };
        let (square, reach) = (gram.square(), gram.rows().reach());
        let reach_in_f32 = swift.as_ref().map(|s| s.rows().reach());
        let errors = bound.clone();
        let facts = Facts {
            diagonal: gram.diagonal(exec)?.unwrap_or_default(),
            definite: bound.kernel().is_psd(),
            entry_errors: Box::new(move |size| {
                let in_f32 = |reach| errors.entry_error(square, reach, size, f64::from(f32::EPSILON));
                (errors.entry_error(square, reach, size, f64::EPSILON), reach_in_f32.map_or(0.0, in_f32))
            }),
        };
        // |k(x, y)| is at most the larger of k(x, x) and k(y, y): what overflows does so here.
        facts.check(gram.n())?;
        let points = gram.rows().points();
        let mut precondition: Option<Box<dyn Precondition>> = None;
        if plan.landmarks > 0 {
            // A wide kernel is 1 less a small number: f32 would keep little of it.
            precondition =
                match swift.as_ref().filter(|_| !bound.uses_deviations()) {
                    Some(swift) => Landmarks::new(&bound, swift.rows(), points, plan.landmarks, exec)?
                        .map(|l| Box::new(l) as Box<_>),
                    None => Landmarks::new(&bound, gram.rows(), points, plan.landmarks, exec)?
                        .map(|l| Box::new(l) as Box<_>),
                };
        }
        let rounding = |norm, largest| facts.rounding(norm, largest);
        let problem = Problem {
            exact: &gram,
            swift: swift.as_ref().map(|s| s as &dyn SymOp),
            precondition: precondition.as_deref(),
            rounding: &rounding,
            key: if exec.has_journal() {
                fingerprint(points.as_slice()) ^ text_key(&bound.kernel().to_string())
            } else {
                0
            },
        };
        let task = KernelTask { d: bound.d(), narrow: swift.is_some(), ..self.given(gram.n(), Source::Points) };
        let found = self.search(&problem, &facts, &task, plan, exec)?;
        drop((precondition, swift));
        let Some((found, k)) = found else {
            let stored = Dense::measure_block(gram.to_matrix(exec)?, f64::EPSILON)?;
            let error = gram.entry_error(stored.largest());
            let features =
                Features::Kernel { bound, landmarks: gram.into_rows(), standardise, form: Form::UpToCentring };
            return self.finish_matrix(features, stored, error, exec);
        };
        let features = Features::Kernel { bound, landmarks: gram.into_rows(), standardise, form: Form::UpToCentring };
        self.finish_found(features, found, k, &facts)
    }

    /// The leading components of a Gram matrix or an operator of the user's, whose entries are good to `entry_error`, and
    /// for which `own_key` stands beside its diagonal; `None` where all pairs are the better way.
    pub(super) fn fit_given(
        &self,
        op: &dyn SymOp,
        diagonal: Vec<f64>,
        features: Features,
        (entry_error, own_key): (Option<f64>, u64),
        plan: &PassPlan,
        exec: &Exec,
    ) -> Result<Option<KernelPcaModel>> {
        let entry_errors = Box::new(move |size| (entry_error.unwrap_or(8.0 * f64::EPSILON * size), 0.0));
        let facts = Facts { diagonal, definite: false, entry_errors };
        facts.check(op.n())?;
        let rounding = |norm, largest| facts.rounding(norm, largest);
        let problem = Problem {
            exact: op,
            swift: None,
            precondition: None,
            rounding: &rounding,
            key: fingerprint(&facts.diagonal) ^ own_key,
        };
        let task = self.given(op.n(), Source::Operator);
        match self.search(&problem, &facts, &task, plan, exec)? {
            Some((found, k)) => self.finish_found(features, found, k, &facts).map(Some),
            None => Ok(None),
        }
    }

    /// As many pairs as are asked for; for a share of the variance, at least twice as many each time until it is reached. `None`
    /// where all pairs of the stored matrix are the better way, and fit the memory: for many components, and for a
    /// spectrum that turns out to have a negative part, whose mass shares have to account for.
    pub(super) fn search(
        &self,
        problem: &Problem<'_>,
        facts: &Facts,
        task: &KernelTask,
        plan: &PassPlan,
        exec: &Exec,
    ) -> Result<Option<(Found, usize)>> {
        let n = problem.exact.n();
        let (mut plan, mut passes) = (plan.clone(), (0, 0));
        let dense_fits = Plan::dense(n, task.d, String::new()).bytes <= u128::from(exec.memory_budget());
        loop {
            let k = plan.k.min(n - 1);
            let wanted =
                Wanted { k, tolerance: self.tolerance, most_columns: plan.basis, passes_before: passes.0 + passes.1 };
            let mut found = solve(problem, wanted, exec)?;
            passes.0 += found.passes.0;
            passes.1 += found.passes.1;
            found.passes = passes;
            let largest = found.values.first().map_or(0.0, |v| v.abs()) * found.unit;
            let negative = -found.smallest * found.unit > 4.0 * facts.rounding(found.norm, largest);
            if !facts.definite && negative && dense_fits && n <= WHOLE_UP_TO {
                return Ok(None);
            }
            let Components::Share(share) = self.components else { return Ok(Some((found, k))) };
            let total = facts.trace(&found);
            let values: Vec<f64> = found.values.iter().map(|v| v * found.unit).collect();
            let sum: f64 = values[..k].iter().map(|v| v.max(0.0)).sum();
            if sum >= share * total || k == n - 1 {
                let k = self.components.count(&values, total, k);
                return Ok(Some((found, k)));
            }
            // None of the others is larger than the last: so many of them are needed at least.
            let missing = ((share * total - sum) / values[k - 1].max(f64::MIN_POSITIVE)).ceil();
            let next = (2 * k).max(k.saturating_add(missing as usize)).min(n - 1);
            if next > n / 10 && dense_fits {
                return Ok(None);
            }
            let next = Plan::by_passes(task, next, exec)
                .allow(exec, "ask for a smaller share of the variance, or raise the memory budget")?;
            plan = PassPlan { kept: plan.kept, ..next.passes.expect("a plan by passes") };
        }
    }

    /// From the pairs on, line by line as in the textbook.
    pub(super) fn finish_found(
        &self,
        features: Features,
        found: Found,
        wanted: usize,
        facts: &Facts,
    ) -> Result<KernelPcaModel> {
        let n = found.vectors.n();
        let (means, grand_mean, trace) = (facts.means(&found), facts.grand_mean(&found), facts.trace(&found));
        let largest = found.values.first().map_or(0.0, |v| v.abs()) * found.unit;
        let size = facts.size(found.norm, largest);
        check_range(n, size)?;
        let rounding = facts.rounding(found.norm, largest);
        let centred_norm = found.norm.map(|all| {
            // |HKH|^2 = |K|^2 - 2 n |kbar|^2 + n^2 kbar^2, and what rounding can have taken from it
            let (n, scale) = (n as f64, if all > 0.0 { all } else { 1.0 });
            let of_means: f64 = means.iter().map(|m| (m / scale).powi(2)).sum();
            all * ((1.0 - 2.0 * n * of_means + (n * (grand_mean / scale)).powi(2)).max(0.0) + n * f64::EPSILON).sqrt()
        });
        let known = Known {
            trace,
            definite: facts.definite,
            norm: centred_norm,
            rounding,
            swift: if found.passes.0 > 0 {
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
        let kept: f64 = values[..k].iter().sum();
        if !facts.definite {
            notes.push("shares are of the sum of all eigenvalues; negative ones were not looked for".to_string());
        }
        let tolerance = 2.0 * (rounding + certificate.residuals().iter().copied().fold(0.0, f64::max));
        notes.extend(Spectrum::ties(&values, k, tolerance));
        let total = trace.max(kept);
        let spectrum = Spectrum {
            eigenvalues: values[..k].to_vec(),
            total,
            discarded: total - kept,
            rank: k,
            complete: false,
            n,
            centred: true,
        };
        let mut vectors = found.vectors.first(k);
        sign::largest_positive(&mut vectors);
        KernelPcaModel::assemble(features, vectors, (means, grand_mean), spectrum, certificate, None, notes)
    }
}

/// A number that stands for a text.
fn text_key(text: &str) -> u64 {
    fingerprint(&text.bytes().map(f64::from).collect::<Vec<f64>>())
}

impl Facts {
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
