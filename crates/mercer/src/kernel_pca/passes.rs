//! Kernel PCA by passes over a Gram matrix that is not stored.

use super::{KernelPca, KernelPcaModel};
use crate::eigen::{
    Certificate, Found, Known, Precondition, Problem, Wanted, check_range, rounding_of_products, sign, solve,
};
use crate::error::Result;
use crate::exec::Exec;
use crate::features::{Features, Standardise};
use crate::landmarks::Landmarks;
use crate::op::{Gram, SymOp, mean};
use crate::plan::{KernelTask, PassPlan, Plan};
use crate::spectrum::{Components, Spectrum};

/// What is known of an operator before and after the passes.
struct Facts {
    diagonal: Vec<f64>,
    /// Whether no eigenvalue is negative, by the kernel's formula.
    definite: bool,
    /// Error of an entry in f64 and in f32, given the root mean square of the entries.
    entry_errors: Box<dyn Fn(f64) -> (f64, f64)>,
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
        let narrow = plan.swift && bound.allows_narrow(gram.square()) && self.tolerance > 1e-9;
        let swift = narrow.then(|| gram.narrow()).filter(|g| g.far_share() < 0.05).map(|g| g.cached(plan.kept));
        let gram = if swift.is_none() { gram.cached(plan.kept) } else { gram };
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
        let problem = Problem {
            exact: &gram,
            swift: swift.as_ref().map(|s| s as &dyn SymOp),
            precondition: precondition.as_deref(),
        };
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
        let task = KernelTask {
            n: gram.n(),
            d: bound.d(),
            components: self.components,
            dense_up_to: 0,
            points: true,
            narrow: true,
        };
        let (found, k) = self.search(&problem, &facts, &task, plan, exec)?;
        drop((precondition, swift));
        let features = Features::Kernel { bound, landmarks: gram.into_rows(), standardise };
        self.finish_found(features, found, k, &facts)
    }

    /// The leading components of a Gram matrix or an operator of the user's, whose entries are good to `entry_error`.
    pub(super) fn fit_given(
        &self,
        op: &dyn SymOp,
        diagonal: Vec<f64>,
        features: Features,
        entry_error: Option<f64>,
        plan: &PassPlan,
        exec: &Exec,
    ) -> Result<KernelPcaModel> {
        let problem = Problem { exact: op, swift: None, precondition: None };
        let entry_errors = Box::new(move |size| (entry_error.unwrap_or(8.0 * f64::EPSILON * size), 0.0));
        let facts = Facts { diagonal, definite: false, entry_errors };
        let task =
            KernelTask { n: op.n(), d: 1, components: self.components, dense_up_to: 0, points: false, narrow: false };
        let (found, k) = self.search(&problem, &facts, &task, plan, exec)?;
        self.finish_found(features, found, k, &facts)
    }

    /// As many pairs as are asked for; for a share of the variance, twice as many each time until it is reached.
    fn search(
        &self,
        problem: &Problem<'_>,
        facts: &Facts,
        task: &KernelTask,
        plan: &PassPlan,
        exec: &Exec,
    ) -> Result<(Found, usize)> {
        let n = problem.exact.n();
        let (mut plan, mut passes_before) = (plan.clone(), 0);
        loop {
            let k = plan.k.min(n - 1);
            let wanted = Wanted { k, tolerance: self.tolerance, most_columns: plan.basis, passes_before };
            let found = solve(problem, wanted, exec)?;
            passes_before += found.passes.0 + found.passes.1;
            let Components::Share(share) = self.components else { return Ok((found, k)) };
            let total = facts.trace(&found);
            let sum: f64 = found.values[..k].iter().map(|v| v.max(0.0)).sum();
            if sum >= share * total || k == n - 1 {
                let k = self.components.count(&found.values, total, k);
                return Ok((found, k));
            }
            let next = Plan::by_passes(task, (2 * k).min(n - 1), exec)
                .allow(exec, "ask for a smaller share of the variance, or raise the memory budget")?;
            plan = PassPlan { kept: plan.kept, ..next.passes.expect("a plan by passes") };
        }
    }

    /// From the pairs on, line by line as in the textbook.
    fn finish_found(&self, features: Features, found: Found, wanted: usize, facts: &Facts) -> Result<KernelPcaModel> {
        let n = found.vectors.n();
        let (means, grand_mean, trace) = (facts.means(&found), facts.grand_mean(&found), facts.trace(&found));
        let squares = found.squares.map(|s| s.max(0.0));
        // The root mean square of the entries: |K|_F / n.
        let size =
            squares.map_or_else(|| facts.diagonal.iter().fold(0.0f64, |m, v| m.max(v.abs())), |s| s.sqrt() / n as f64);
        check_range(n, size)?;
        let (entry, entry_in_f32) = (facts.entry_errors)(size);
        let rounding = rounding_of_products(n, entry, size, f64::EPSILON);
        let centred_squares = squares.map(|all| {
            let of_means: f64 = means.iter().map(|m| m * m).sum();
            // |HKH|^2 = |K|^2 - 2 n |kbar|^2 + n^2 kbar^2, and what rounding can have taken from it
            let n = n as f64;
            (all - 2.0 * n * of_means + (n * grand_mean).powi(2)).max(0.0) + n * f64::EPSILON * all
        });
        let known = Known {
            trace,
            definite: facts.definite,
            squares: centred_squares,
            rounding,
            swift: if found.passes.0 > 0 {
                rounding_of_products(n, entry_in_f32, size, f64::from(f32::EPSILON))
            } else {
                0.0
            },
            largest: size * n as f64 + rounding,
        };

        let k = found.values.iter().take(wanted).take_while(|v| **v > rounding).count();
        let certificate = Certificate::of_found(&found, k, &known);
        let mut notes = Vec::new();
        let kept: f64 = found.values[..k].iter().sum();
        if !facts.definite {
            notes.push("shares are of the sum of all eigenvalues; negative ones were not looked for".to_string());
        }
        let tolerance = 2.0 * (rounding + certificate.residuals().iter().copied().fold(0.0, f64::max));
        notes.extend(Spectrum::ties(&found.values, k, tolerance));
        let total = trace.max(kept);
        let spectrum = Spectrum {
            eigenvalues: found.values[..k].to_vec(),
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
