//! Principal component analysis, of points or of their explicit embedding.

mod axes;
mod decompose;
mod design;
mod model;
mod planning;
mod state;
mod wide;

pub use axes::complete_axes;
pub use model::{PcaModel, PcaParts};
pub use state::PcaState;

use serde::{Deserialize, Serialize};

use crate::block::Block;
use crate::eigen::{Certificate, Confidence, sign};
use crate::embedding::Embedding;
use crate::error::{Error, ErrorKind, ErrorSubject, Result, counted};
use crate::exec::Exec;
use crate::features::Standardise;
use crate::moments::{Columns, Moments};
use crate::op::Dense;
use crate::options::Route;
use crate::plan::Plan;
use crate::points::{AnyPoints, Points, PointsRef};
use crate::real::Real;
use crate::spectrum::{Components, Spectrum};
use decompose::{Decomposed, Location};

/// How PCA is to be done.
///
/// # Definition
/// The axes are the leading eigenvectors of the scatter matrix of the points (MATHS.md, M1-M3), or of their embedding
/// phi(x) (M4). Scores are y = F'(x - m), reconstructions m + F y.
///
/// # Example
/// ```
/// use mercer::{Pca, Points};
/// let x = Points::from_rows(&[[2.0, 1.0], [4.0, 2.0], [6.0, 3.1], [8.0, 3.9]]);
/// let model = Pca::new().components(1).fit(&x)?;
/// assert!(model.spectrum().ratios()[0] > 0.999);
/// let scores = model.transform(&x)?;
/// let back = model.reconstruct(&scores)?;
/// assert!((back.row(2)[1] - 3.1).abs() < 0.1);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pca {
    components: Components,
    center: bool,
    standardise: bool,
    whiten: bool,
    route: Route,
    embedding: Embedding,
    #[serde(skip_serializing_if = "Option::is_none")]
    tolerance: Option<f64>,
}

impl Default for Pca {
    fn default() -> Self {
        Pca::new()
    }
}

impl Pca {
    /// All components of centred points, by the best route.
    pub fn new() -> Self {
        Pca {
            components: Components::All,
            center: true,
            standardise: false,
            whiten: false,
            route: Route::Auto,
            embedding: Embedding::Identity,
            tolerance: None,
        }
    }

    /// How many components to keep: a number (`3`), a share of the variance (`0.95`), or [`Components::All`].
    pub fn components(mut self, components: impl Into<Components>) -> Self {
        self.components = components.into();
        self
    }

    /// Whether the mean is subtracted. Without it the eigenvectors are those of the plain correlation matrix
    /// (1/n) sum x x', and variances are mean squares with divisor n.
    pub fn center(mut self, center: bool) -> Self {
        self.center = center;
        self
    }

    /// Whether each dimension is divided by its standard deviation (its root mean square when not centred).
    /// A dimension without variance is left as it is.
    pub fn standardise(mut self, standardise: bool) -> Self {
        self.standardise = standardise;
        self
    }

    /// Whether scores are divided by their standard deviation. Components without variance, by a cut relative to the
    /// largest, are left out.
    pub fn whiten(mut self, whiten: bool) -> Self {
        self.whiten = whiten;
        self
    }

    /// Which matrix is decomposed.
    pub fn route(mut self, route: Route) -> Self {
        self.route = route;
        self
    }

    /// Which matrix is to be decomposed.
    pub fn get_route(&self) -> Route {
        self.route
    }

    /// Takes PCA of phi(x) in place of x.
    pub fn embed(mut self, embedding: Embedding) -> Self {
        self.embedding = embedding;
        self
    }

    /// Sets the residual |XX'u - lambda u| that is good enough, relative to the largest eigenvalue, and lets a few components
    /// of more than 500 points with more than 500 dimensions be found by steps over the points or over the smaller of scatter
    /// and Gram matrix. Up to 2,000 points or dimensions the residual is at most 1e-9 in any case. If a component has less
    /// than 1e-4 of the largest variance, all are computed instead. Without a tolerance, dense points are decomposed to all
    /// digits, and passes over sparse ones reach 1e-6. Errors of eigenvalues are about its square.
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.tolerance = Some(tolerance);
        self
    }

    /// Fits points.
    ///
    /// # Errors
    /// Fewer than two points (one when not centred), values that are not finite or whose squares are not, more
    /// components than min(n, d), or more memory needed than [`Exec::memory`] allows.
    pub fn fit<'a, T: Real>(&self, points: impl Into<PointsRef<'a, T>>) -> Result<PcaModel> {
        self.fit_with(points, &Exec::new())
    }

    /// As [`Pca::fit`], with threads, memory and cancellation.
    ///
    /// # Errors
    /// As [`Pca::fit`].
    pub fn fit_with<'a, T: Real>(&self, points: impl Into<PointsRef<'a, T>>, exec: &Exec) -> Result<PcaModel> {
        let x = points.into();
        x.check_shape(if self.center { 2 } else { 1 })?;
        self.run(self.plan(x.n(), x.d(), exec)?, x.into(), exec)
    }

    /// Fits points as planned by [`Pca::plan`] for as many points and dimensions.
    ///
    /// # Errors
    /// As [`Pca::fit`], and when the plan is of other sizes or of kernel PCA.
    pub fn fit_planned<'a, T: Real>(
        &self,
        plan: Plan,
        points: impl Into<PointsRef<'a, T>>,
        exec: &Exec,
    ) -> Result<PcaModel> {
        let x = points.into();
        x.check_shape(if self.center { 2 } else { 1 })?;
        self.run(plan, x.into(), exec)
    }

    /// Whether the mean is subtracted.
    pub fn get_center(&self) -> bool {
        self.center
    }

    /// Whether dimensions are standardised.
    pub fn get_standardise(&self) -> bool {
        self.standardise
    }

    /// Whether scores are divided by their standard deviation.
    pub fn get_whiten(&self) -> bool {
        self.whiten
    }

    /// The embedding.
    pub fn get_embedding(&self) -> &Embedding {
        &self.embedding
    }

    /// How many components to keep.
    pub fn get_components(&self) -> Components {
        self.components
    }

    pub(crate) fn run_planned(&self, plan: Plan, x: AnyPoints<'_>, exec: &Exec) -> Result<PcaModel> {
        match x {
            AnyPoints::F64(x) => self.fit_planned(plan, x, exec),
            AnyPoints::F32(x) => self.fit_planned(plan, x, exec),
        }
    }

    fn run(&self, plan: Plan, x: AnyPoints<'_>, exec: &Exec) -> Result<PcaModel> {
        match x {
            AnyPoints::F64(x) => self.run_points(&plan, x, exec),
            AnyPoints::F32(x) => self.run_points(&plan, x, exec),
        }
    }

    fn run_points<T: Real>(&self, plan: &Plan, x: PointsRef<'_, T>, exec: &Exec) -> Result<PcaModel> {
        let features = usize::try_from(plan.features).map_err(|_| Error::shape("features", usize::MAX, 0))?;
        let expected = self.embedding.features(x.d()).unwrap_or(u128::MAX);
        if (plan.n, plan.features) != (x.n(), expected) {
            return Err(Error::inconsistent("the plan is of points of another number or other dimensions"));
        }
        if plan.passes().is_some() {
            return self.run_by_passes(plan, x, exec);
        }
        if self.embedding == Embedding::Identity {
            return exec.run(|| self.run_features(plan, x, x.d(), exec));
        }
        x.check(1)?;
        exec.run(|| {
            let mut phi = Vec::with_capacity(x.n() * features);
            for (i, point) in x.to_f64().rows().enumerate() {
                phi.extend(self.embedding.checked_map(i, point, features)?);
            }
            self.run_features(plan, Points::new(phi, x.n(), features)?.view(), x.d(), exec)
        })
    }

    /// What would be subtracted from the dimensions and what they would be divided by.
    pub(crate) fn location<T: Real>(&self, x: PointsRef<'_, T>, exec: &Exec) -> Result<Standardise> {
        self.location_of(&Columns::of_with(x, exec)?)
    }

    pub(crate) fn location_of(&self, columns: &Columns) -> Result<Standardise> {
        let location = Location::of(columns, self)?;
        Ok(Standardise { mean: location.mean, scale: location.scale })
    }

    /// Follows the route of the plan, and asks for another plan where small components lose their digits by it.
    fn run_features<T: Real>(&self, plan: &Plan, phi: PointsRef<'_, T>, d: usize, exec: &Exec) -> Result<PcaModel> {
        let mut route = plan.route.of_pca()?;
        let (n, most) = (phi.n(), phi.n().min(phi.d()));
        let mut notes = Vec::new();
        // By the covariance route one pass over the points is enough.
        let moments = if route == Route::Covariance { Some(Moments::of_with(phi, exec)?) } else { None };
        let location = match &moments {
            Some(moments) => Location::of(moments.columns(), self)?,
            None => Location::of(&Columns::of_with(phi, exec)?, self)?,
        };
        exec.check_cancelled()?;

        let mut found = location.decompose(phi, moments.as_ref(), route, exec)?;
        let mut k = self.components.count(&found.eigenvalues, found.total(), most);
        if let Some(lost) = found.lost_digits(k, route).filter(|_| self.route == Route::Auto) {
            match Pca::replan(plan, exec) {
                Ok(next) => {
                    notes.push(format!("{} route replaced by svd: {lost}", route.name()));
                    route = next.route.of_pca()?;
                    found = location.decompose(phi, None, route, exec)?;
                    k = self.components.count(&found.eigenvalues, found.total(), most);
                }
                Err(needed) => notes.push(format!("{lost}; svd needs {needed}")),
            }
        }
        notes.extend(location.notes(self));
        let at = Standardise { mean: location.mean, scale: location.scale };
        self.assemble(found, k, route, at, (n, d), notes)
    }

    /// Fits points by their scatter matrix, the sum of (x - m)(x - m)' over the points, which may be computed wherever the
    /// points are, or of (x - m)(x - m)' / ss' for dimensions divided by s. The certificate is about this matrix, and allows
    /// for an error of 8 eps sqrt(S_ii S_jj) in each entry.
    ///
    /// # Errors
    /// When the matrix is not square, symmetric and finite, does not fit `at`, or is of no points; and as [`Pca::fit`].
    pub fn fit_scatter(&self, scatter: &Block, at: Standardise, n: usize, exec: &Exec) -> Result<PcaModel> {
        let d = scatter.n();
        for (what, found) in [
            ("columns of the scatter matrix", scatter.b()),
            ("entries of the mean", at.mean.len()),
            ("entries of the scale", at.scale.len()),
        ] {
            if found != d {
                return Err(Error::shape(what, found, d));
            }
        }
        let needed = if self.center { 2 } else { 1 };
        for (what, found, needed) in [(ErrorSubject::Points, n, needed), (ErrorSubject::Dimensions, d, 1)] {
            if found < needed {
                return Err(ErrorKind::TooFew { what, found, needed }.into());
            }
        }
        self.clone().embed(Embedding::Identity).route(Route::Covariance).plan_whole(n, d, exec)?;
        self.run_scatter(scatter, 8.0 * f64::EPSILON * decompose::trace(scatter), at, n, exec)
    }

    /// As [`Pca::fit_scatter`], of a matrix of the right shape whose memory is planned and whose error has at most the norm
    /// `error`.
    fn run_scatter(&self, scatter: &Block, error: f64, at: Standardise, n: usize, exec: &Exec) -> Result<PcaModel> {
        let d = scatter.n();
        exec.run(|| {
            let scatter = Dense::measure_block(scatter.clone(), f64::EPSILON)?.symmetric()?.into_matrix();
            let found = Decomposed::of_scatter(scatter, n.min(d), error)?;
            let k = self.components.count(&found.eigenvalues, found.total(), n.min(d));
            self.assemble(found, k, Route::Covariance, at, (n, d), Vec::new())
        })
    }

    /// The model of the first k components that were found.
    fn assemble(
        &self,
        found: Decomposed,
        mut k: usize,
        route: Route,
        at: Standardise,
        (n, d): (usize, usize),
        mut notes: Vec<String>,
    ) -> Result<PcaModel> {
        let features = at.mean.len();
        let rank = found.rank(route, n.max(features));
        if self.whiten && k > rank {
            notes.push(format!("whitening leaves out {} without variance", counted((k - rank) as u128, "component")));
            k = rank;
        }
        let total = found.total();
        // The factor of a scatter is as good as its decompositions are assumed to be.
        let confidence = if route == Route::Svd { Confidence::Estimate } else { Confidence::Theorem };
        let allowance = found.rounding();
        notes.extend(Spectrum::ties(&found.eigenvalues[..rank], k.min(rank), 2.0 * allowance.total()));
        let discarded = found.eigenvalues[k..].iter().fold(0.0, |sum, v| sum + v);
        let all = found.eigenvalues.clone();
        let eigenvalues = all[..k].to_vec();
        let (mut axes, residuals) = found.axes(k);
        sign::largest_positive(&mut axes);
        PcaModel::from_parts(PcaParts {
            embedding: self.embedding.clone(),
            d,
            mean: at.mean,
            scale: at.scale,
            axes: axes.transposed().to_points(),
            certificate: Certificate::of_all(&all, features, residuals, allowance, confidence),
            eigenvalues,
            total,
            discarded,
            rank,
            n,
            center: self.center,
            standardise: self.standardise,
            whiten: self.whiten,
            route,
            notes,
        })
    }
}
