//! A plan is executed, and made anew when the work has learnt something.

use std::sync::Arc;

use rayon::prelude::*;

use super::passes::{GramProperties, Outcome};
use super::planning::Shape;
use super::{KernelPca, KernelPcaModel};
use crate::block::{Block, fingerprint};
use crate::eigen::{Confidence, Precondition, Problem, Rounding};
use crate::error::{Error, ErrorKind, ErrorSubject, Result};
use crate::exec::Exec;
use crate::features::{Features, KernelFn, Standardise};
use crate::kernel::Bound;
use crate::kernel::tile::Form;
use crate::landmarks::Preconditioner;
use crate::op::{Dense, Gram, SymOp};
use crate::pca::Pca;
use crate::plan::{GramKind, PassPlan, Plan, PlannedRoute, Replan};
use crate::points::{AnyPoints, Points, PointsRef};
use crate::real::Real;

/// The share of points far from the others beyond which passes in f32 do not pay.
const MOST_FAR: f64 = 0.05;

impl KernelPca {
    /// Points with the kernel.
    pub(super) fn run_points(&self, plan: Plan, x: AnyPoints<'_>, exec: &Exec) -> Result<KernelPcaModel> {
        match x {
            AnyPoints::F64(x) => self.run_points_of(plan, x, exec),
            AnyPoints::F32(x) => self.run_points_of(plan, x, exec),
        }
    }

    fn run_points_of<T: Real>(&self, plan: Plan, x: PointsRef<'_, T>, exec: &Exec) -> Result<KernelPcaModel> {
        if plan.n != x.n() {
            return Err(Error::shape("points of the plan", plan.n, x.n()));
        }
        if let Some(landmarks) = plan.landmarks() {
            return exec.run(|| self.fit_landmarks(x, landmarks, exec));
        }
        let shape = self.shape_of_points(x.n(), x.d())?;
        let kernel = self.kernel_or_refuse()?;
        exec.run(|| {
            let standardise = match self.standardise {
                true => Some(Pca::new().standardise(true).location(x, exec)?),
                false => None,
            };
            let x = Standardise::apply(standardise.as_ref(), x);
            let bound = Bound::new(kernel, &x)?; //                  automatic parameters become numbers
            let gram = Gram::of_points(&bound, x).up_to_centring(); // M5, M6  K_ij = k(x_i, x_j)
            let mut work = OnPoints { gram, gram32: None, preconditioner: None, passes: (0, 0) };
            let mut plan = plan;
            loop {
                match &plan.route {
                    PlannedRoute::Passes(passes) => {
                        let facts = match work.prepare(passes, exec)? {
                            Ok(facts) => facts,
                            Err(reason) => {
                                plan = self.replan(shape, passes, reason, exec)?;
                                continue;
                            }
                        };
                        match work.search(self, &facts, passes, exec)? {
                            Outcome::Found(found, k) => {
                                return self.finish_found(work.features(standardise), found, k, &facts);
                            }
                            Outcome::Again(reason) => plan = self.replan(shape, passes, reason, exec)?,
                        }
                    }
                    PlannedRoute::Dense => {
                        let stored = Dense::measure_block(work.gram.to_matrix(exec)?, f64::EPSILON)?;
                        let error =
                            Rounding { bound: work.gram.entry_error(stored.size()), confidence: Confidence::Theorem };
                        return self.finish_matrix(work.features(standardise), stored, error, exec);
                    }
                    PlannedRoute::Landmarks(_) | PlannedRoute::Covariance | PlannedRoute::Gram | PlannedRoute::Svd => {
                        return Err(not_of_this(&plan));
                    }
                }
            }
        })
    }

    /// Points with a function of the user's.
    pub(super) fn run_function(
        &self,
        plan: Plan,
        points: Points<f64>,
        kernel: KernelFn,
        exec: &Exec,
    ) -> Result<KernelPcaModel> {
        exec.run(|| {
            let n = points.n();
            let mut gram = Block::zeros(n, n);
            gram.as_mut_slice().par_chunks_mut(n).enumerate().try_for_each(|(j, column)| -> Result<()> {
                exec.check_cancelled()?;
                column.iter_mut().enumerate().for_each(|(i, v)| *v = kernel(points.row(i), points.row(j)));
                Ok(())
            })?;
            let dense = Dense::measure_block(gram, f64::EPSILON)?.symmetric()?;
            self.run_stored(plan, dense, None, Features::KernelFn { kernel: Arc::clone(&kernel), points }, exec)
        })
    }

    /// A Gram matrix of the user's.
    pub(crate) fn run_gram(&self, plan: Plan, gram: AnyPoints<'_>, exec: &Exec) -> Result<KernelPcaModel> {
        exec.run(|| {
            let stored = match gram {
                AnyPoints::F64(gram) => Dense::new(gram)?,
                AnyPoints::F32(gram) => Dense::new(gram)?,
            };
            self.run_stored(plan, stored, None, Features::GramRow { n: gram.n() }, exec)
        })
    }

    /// A stored Gram matrix. Where the norm of its error is not known, a few eps of the size of its entries are assumed.
    fn run_stored(
        &self,
        plan: Plan,
        gram: Dense,
        error: Option<f64>,
        features: Features,
        exec: &Exec,
    ) -> Result<KernelPcaModel> {
        if gram.n() < 2 {
            return Err(ErrorKind::TooFew { what: ErrorSubject::Points, found: gram.n(), needed: 2 }.into());
        }
        check_plan(&plan, gram.n())?;
        let error = match error {
            Some(norm) => Rounding { bound: norm / gram.n() as f64, confidence: Confidence::Theorem },
            None => Rounding { bound: gram.entry_error(), confidence: Confidence::Estimate },
        };
        let own_key = if exec.has_journal() { gram.fingerprint() } else { 0 };
        if let Some(passes) = plan.passes()
            && let Some(diagonal) = gram.diagonal(exec)?
        {
            let shape = Shape { n: gram.n(), d: 1, kind: GramKind::Matrix };
            match self.run_given((&gram, shape), diagonal, &features, (Some(error), own_key), passes, exec)? {
                Searched::Done(model) => return Ok(*model),
                Searched::Store(plan) => check_plan(&plan, gram.n())?, // it is stored already
            }
        }
        self.finish_matrix(features, gram, error, exec)
    }

    /// An operator of the user's.
    pub(crate) fn run_op(&self, plan: Plan, op: &dyn SymOp, exec: &Exec) -> Result<KernelPcaModel> {
        check_plan(&plan, op.n())?;
        exec.run(|| {
            let features = Features::GramRow { n: op.n() };
            let error =
                op.error().map(|norm| Rounding { bound: norm / op.n() as f64, confidence: Confidence::Theorem });
            let shape = Shape { n: op.n(), d: 1, kind: GramKind::Operator };
            let mut plan = plan;
            if let Some(passes) = plan.passes() {
                plan = match op.diagonal(exec)? {
                    None => self.replan(shape, passes, Replan::NoDiagonal, exec)?,
                    Some(diagonal) => {
                        match self.run_given((op, shape), diagonal, &features, (error, 0), passes, exec)? {
                            Searched::Done(model) => return Ok(*model),
                            Searched::Store(plan) => plan,
                        }
                    }
                };
            }
            let matrix = op.to_matrix(exec)?;
            if (matrix.n(), matrix.b()) != (op.n(), op.n()) {
                return Err(Error::shape("values of the operator's matrix", matrix.as_slice().len(), op.n() * op.n()));
            }
            self.run_stored(plan, Dense::measure_block(matrix, f64::EPSILON)?.symmetric()?, op.error(), features, exec)
        })
    }

    /// The leading components of a matrix or an operator whose entries are good to `entry_error`, and for which `own_key`
    /// stands beside its diagonal.
    fn run_given(
        &self,
        (op, shape): (&dyn SymOp, Shape),
        diagonal: Vec<f64>,
        features: &Features,
        (entry_error, own_key): (Option<Rounding>, u64),
        passes: &PassPlan,
        exec: &Exec,
    ) -> Result<Searched> {
        let entry_errors =
            Box::new(move |size| (entry_error.map_or(8.0 * f64::EPSILON * size, |error| error.bound), 0.0));
        let confidence = entry_error.map_or(Confidence::Estimate, |error| error.confidence);
        let facts = GramProperties { diagonal, definite: false, entry_errors, confidence };
        facts.check(op.n())?;
        let rounding = |norm, largest| facts.rounding(norm, largest);
        let problem = Problem {
            f64: op,
            f32: None,
            precondition: None,
            centred: true,
            rounding: &rounding,
            key: fingerprint(&facts.diagonal) ^ own_key,
        };
        let (mut made, mut passes) = ((0, 0), passes.clone());
        loop {
            match self.search(&problem, &facts, &passes, &mut made, exec)? {
                Outcome::Found(found, k) => {
                    let model = self.finish_found(features.clone(), found, k, &facts)?;
                    return Ok(Searched::Done(Box::new(model)));
                }
                Outcome::Again(reason) => {
                    let plan = self.replan(shape, &passes, reason, exec)?;
                    match plan.passes() {
                        Some(next) => passes = next.clone(),
                        None => return Ok(Searched::Store(plan)),
                    }
                }
            }
        }
    }
}

/// What a search by passes over a matrix or an operator has come to.
enum Searched {
    Done(Box<KernelPcaModel>),
    /// The matrix is to be stored, by this plan.
    Store(Plan),
}

/// Refuses a plan of other sizes, or of a route that a Gram matrix has not.
fn check_plan(plan: &Plan, n: usize) -> Result<()> {
    match plan.route {
        PlannedRoute::Dense | PlannedRoute::Passes(_) if plan.n == n => Ok(()),
        PlannedRoute::Dense | PlannedRoute::Passes(_) => Err(Error::shape("points of the plan", plan.n, n)),
        PlannedRoute::Landmarks(_) | PlannedRoute::Covariance | PlannedRoute::Gram | PlannedRoute::Svd => {
            Err(not_of_this(plan))
        }
    }
}

fn not_of_this(plan: &Plan) -> Error {
    Error::inconsistent(format!("a plan by the {} route is not one of kernel PCA", plan.route.name()))
}

/// Points under way: what was prepared stays when the plan changes.
struct OnPoints {
    gram: Gram,
    gram32: Option<Gram<f32>>,
    /// `None` as long as it was not tried.
    preconditioner: Option<Option<Box<dyn Precondition>>>,
    /// Passes that were made, in f32 and in f64.
    passes: (usize, usize),
}

impl OnPoints {
    /// Makes ready what the plan asks for, or says why it cannot be done so.
    fn prepare(&mut self, plan: &PassPlan, exec: &Exec) -> Result<std::result::Result<GramProperties, Replan>> {
        let bound = self.gram.bound().clone();
        if plan.f32 && self.gram32.is_none() {
            if !bound.allows_f32(self.gram.extent().square) {
                return Ok(Err(Replan::NeedsF64));
            }
            let gram32 = self.gram.to_f32();
            if gram32.far_share() >= MOST_FAR {
                return Ok(Err(Replan::NeedsF64));
            }
            self.gram32 = Some(gram32.cached(plan.cached));
        }
        if !plan.f32 {
            self.gram.cache(plan.cached);
        }
        let facts = self.facts(exec)?;
        // |k(x, y)| is at most the larger of k(x, x) and k(y, y): what overflows does so here.
        facts.check(self.gram.n())?;
        if self.preconditioner.is_none() {
            let points = self.gram.rows().points();
            self.preconditioner = Some(match (plan.pivots, &self.gram32) {
                (0, _) => None,
                // A wide kernel is 1 less a small number: f32 would keep little of it.
                (r, Some(gram32)) if !bound.uses_deviations() => {
                    Preconditioner::new(&bound, gram32.rows(), points, r, exec)?.map(|p| Box::new(p) as Box<_>)
                }
                (r, _) => {
                    Preconditioner::new(&bound, self.gram.rows(), points, r, exec)?.map(|p| Box::new(p) as Box<_>)
                }
            });
        }
        Ok(Ok(facts))
    }

    fn search(&mut self, spec: &KernelPca, facts: &GramProperties, plan: &PassPlan, exec: &Exec) -> Result<Outcome> {
        let rounding = |norm, largest| facts.rounding(norm, largest);
        let problem = Problem {
            f64: &self.gram,
            f32: self.gram32.as_ref().map(|g| g as &dyn SymOp),
            precondition: self.preconditioner.as_ref().and_then(|p| p.as_deref()),
            centred: true,
            rounding: &rounding,
            key: match exec.has_journal() {
                true => {
                    let kernel: Vec<f64> = self.gram.bound().kernel().to_string().bytes().map(f64::from).collect();
                    fingerprint(self.gram.rows().points().as_slice()) ^ fingerprint(&kernel)
                }
                false => 0,
            },
        };
        spec.search(&problem, facts, plan, &mut self.passes, exec)
    }

    fn facts(&self, exec: &Exec) -> Result<GramProperties> {
        let bound = self.gram.bound().clone();
        let (extent, extent32) = (*self.gram.extent(), self.gram32.as_ref().map(|gram| *gram.extent()));
        Ok(GramProperties {
            diagonal: self.gram.diagonal(exec)?.unwrap_or_default(),
            definite: bound.kernel().is_psd(),
            entry_errors: Box::new(move |size| {
                let in_f32 = |extent| bound.entry_error(&extent, size, f64::from(f32::EPSILON));
                (bound.entry_error(&extent, size, f64::EPSILON), extent32.map_or(0.0, in_f32))
            }),
            confidence: Confidence::Theorem,
        })
    }

    fn features(self, standardise: Option<Standardise>) -> Features {
        let bound = self.gram.bound().clone();
        Features::Kernel { bound, rows: self.gram.into_rows(), standardise, form: Form::UpToCentring }
    }
}
