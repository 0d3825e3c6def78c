//! PCA without a matrix of d x d or n x n numbers: of sparse points, and of a few components of many points with many
//! dimensions.
//!
//! The Gram matrix XX' of the centred points has the eigenvalues of the scatter matrix X'X. A few leading eigenpairs are
//! found by passes over the smaller of both: a block of vectors is multiplied by it in two products with X, or in one with
//! the matrix itself, if it is stored. From eigenvectors u of XX' come the axes f = X'u / |X'u|; those of X'X are the axes.

use super::axes::{complete_columns, orthonormalise};
use super::decompose::{Location, trace};
use super::design::{Design, Moved, Products, Side, Sparse};
use super::{Pca, PcaModel, PcaParts};
use crate::block::Block;
use crate::eigen::{Certificate, Confidence, Known, Problem, Wanted, rounding_of_sums, sign, solve};
use crate::embedding::Embedding;
use crate::error::{Error, ErrorKind, ErrorSubject, Result, check_finite, counted};
use crate::exec::Exec;
use crate::features::Standardise;
use crate::kernel::tile::LARGE_TILE;
use crate::kernel_pca::KernelPca;
use crate::linalg;
use crate::moments::{Columns, Moments, standardised};
use crate::op::{Dense, SymOp, mean};
use crate::options::Route;
use crate::plan::{Plan, PlannedRoute};
use crate::points::{AnyPoints, Points, PointsRef};
use crate::real::Real;
use crate::sparse::Csr;
use crate::spectrum::{Components, Spectrum};

/// The residual that is reached where no tolerance is given, relative to the largest eigenvalue.
const DEFAULT_TOLERANCE: f64 = 1e-6;
/// Up to this size of the matrix, where steps cost little, residuals are at most this tolerance.
const SMALL: usize = 2000;
const OF_SMALL: f64 = 1e-9;
/// Components of less than this share of the largest variance are small beside the residuals: all are computed instead.
const LEAST_SHARE: f64 = 1e-4;
/// Where the smallest eigenvalue is less than this share of the largest, axes are made orthonormal once more.
const LOSES_ORTHOGONALITY: f64 = 1e-2;

impl Pca {
    /// Kernel PCA of the operator XX'.
    pub(super) fn of_operator(&self) -> KernelPca {
        KernelPca::custom().components(self.components).tolerance(self.tolerance.unwrap_or(DEFAULT_TOLERANCE))
    }

    /// PCA of the matrix XX' as it is, as if it were a scatter matrix.
    pub(super) fn about_origin(&self) -> Pca {
        Pca::new().components(self.components).center(false).route(Route::Covariance)
    }

    /// Fits sparse points, which stay sparse.
    ///
    /// # Example
    /// ```
    /// use mercer::{Csr, Pca, Points};
    /// let points = Points::from_rows(&[[2.0, 0.0, 0.0], [4.0, 2.0, 0.0], [0.0, 0.0, 1.0], [8.0, 4.0, 0.0]]);
    /// let sparse = Csr::from_points(&points)?;
    /// let model = Pca::new().components(2).fit_sparse(&sparse)?;
    /// let (a, b) = (model.transform_sparse(&sparse)?, model.transform(&points)?);
    /// assert!(a.as_slice().iter().zip(b.as_slice()).all(|(a, b)| (a - b).abs() < 1e-12));
    /// # Ok::<(), mercer::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Pca::fit`]; and for an embedding, or the route [`Route::Svd`], which need all values.
    pub fn fit_sparse(&self, x: &Csr) -> Result<PcaModel> {
        self.fit_sparse_with(x, &Exec::new())
    }

    /// As [`Pca::fit_sparse`], with threads, memory and cancellation.
    ///
    /// # Errors
    /// As [`Pca::fit_sparse`].
    pub fn fit_sparse_with(&self, x: &Csr, exec: &Exec) -> Result<PcaModel> {
        let (n, d, points) = (x.n(), x.d(), if self.center { 2 } else { 1 });
        for (what, found, needed) in [(ErrorSubject::Points, n, points), (ErrorSubject::Dimensions, d, 1)] {
            if found < needed {
                return Err(ErrorKind::TooFew { what, found, needed }.into());
            }
        }
        self.run_sparse(&self.plan_sparse(n, d, exec)?, x, exec)
    }

    /// Fits sparse points as planned by [`Pca::plan_sparse`].
    pub(crate) fn run_sparse(&self, plan: &Plan, x: &Csr, exec: &Exec) -> Result<PcaModel> {
        if (plan.n, plan.features) != (x.n(), x.d() as u128) {
            return Err(Error::inconsistent("the plan is of points of another number or other dimensions"));
        }
        exec.run(|| {
            let (design, at) = Sparse::new(x, self)?;
            match plan.route {
                PlannedRoute::Covariance => {
                    let (scatter, error) = design.scatter(exec)?;
                    self.run_scatter(&scatter, error, at, x.n(), exec)
                }
                PlannedRoute::Gram | PlannedRoute::Passes(_) => self.run_design(plan, &design, at, exec),
                PlannedRoute::Svd | PlannedRoute::Dense | PlannedRoute::Landmarks(_) => {
                    Err(Error::inconsistent(format!("sparse points are not fitted by the {} route", plan.route.name())))
                }
            }
        })
    }

    /// Fits a number of leading components by passes over the points, without a scatter or Gram matrix: the fastest way
    /// for many points with many dimensions. The residuals that are reached are at most [`Pca::tolerance`] times the
    /// largest eigenvalue, and the certificate tells what follows from them.
    ///
    /// # Errors
    /// As [`Pca::fit`]; and where no number of components is asked for, no mean is subtracted, or an embedding is set.
    pub fn fit_by_passes<'a, T: Real>(&self, points: impl Into<PointsRef<'a, T>>) -> Result<PcaModel> {
        self.fit_by_passes_with(points, &Exec::new())
    }

    /// As [`Pca::fit_by_passes`], with threads, memory and cancellation.
    ///
    /// # Errors
    /// As [`Pca::fit_by_passes`].
    pub fn fit_by_passes_with<'a, T: Real>(
        &self,
        points: impl Into<PointsRef<'a, T>>,
        exec: &Exec,
    ) -> Result<PcaModel> {
        self.check_no_embedding("passes over the points")?;
        if !self.center || !matches!(self.components, Components::Count(_) | Components::UpTo(_)) {
            let what = "passes over the points find a number of components of centred points".into();
            return Err(ErrorKind::Unsupported { what, remedy: "use fit, which has all routes".into() }.into());
        }
        let points = points.into();
        points.check_shape(2)?;
        match points.into() {
            AnyPoints::F64(x) => self.run_by_passes(&self.plan_by_passes(x.n(), x.d(), exec)?, x, exec),
            AnyPoints::F32(x) => self.run_by_passes(&self.plan_by_passes(x.n(), x.d(), exec)?, x, exec),
        }
    }

    pub(super) fn run_by_passes<T: Real>(&self, plan: &Plan, x: PointsRef<'_, T>, exec: &Exec) -> Result<PcaModel> {
        x.check_shape(2)?;
        let stored = plan.passes().is_some_and(|passes| passes.stored);
        exec.run(|| {
            if stored && x.d() <= x.n() {
                let moments = Moments::of_with(x, exec)?;
                let location = Location::of(moments.columns(), self)?;
                let (scatter, error) = location.scatter(&moments);
                let trace = trace(&scatter);
                let scatter = Dense::measure_block(scatter, f64::EPSILON)?;
                let error = error + of_stored(&scatter);
                let key = if exec.has_journal() { scatter.fingerprint() } else { 0 };
                let found = self.leading(plan, &scatter, (trace, error), (Side::Columns, None, key), exec)?;
                if found.has_too_small(self) {
                    return self.run_features(&self.plan_of_all(x.n(), x.d(), exec)?, x, x.d(), exec);
                }
                let at = Standardise { mean: location.mean, scale: location.scale };
                return self.run_pairs(found, (x.n(), x.d()), None, at);
            }
            let columns = Columns::of_with(x, exec)?;
            let Location { mean, scale, error_of_rows, .. } = Location::of(&columns, self)?;
            let moved = standardised(x, &mean, &columns.rest(), &scale);
            let (moved, at) = (Moved::new(moved, error_of_rows)?, Standardise { mean, scale });
            let found = self.pairs(plan, &moved, exec)?;
            if found.has_too_small(self) {
                drop(moved);
                return self.run_features(&self.plan_of_all(x.n(), x.d(), exec)?, x, x.d(), exec);
            }
            self.run_pairs(found, (x.n(), x.d()), Some(&moved), at)
        })
    }

    /// The leading eigenpairs of the smaller of XX' and X'X, of which the trace and a bound on the norm of its error are known,
    /// and perhaps how many vectors are multiplied at once at the least cost for each.
    fn leading(
        &self,
        plan: &Plan,
        op: &dyn SymOp,
        (trace, error): (f64, f64),
        (side, step, key): (Side, Option<usize>, u64),
        exec: &Exec,
    ) -> Result<Pairs> {
        let passes = plan.passes().ok_or_else(|| Error::inconsistent("the plan is not one of passes"))?;
        let rounding = |_: Option<f64>, largest: f64| error + linalg::solver_error(op.n()) * largest;
        let problem = Problem { f64: op, f32: None, precondition: None, centred: false, rounding: &rounding, key };
        let tolerance = self.tolerance.unwrap_or(DEFAULT_TOLERANCE);
        let tolerance = if op.n() <= SMALL { tolerance.min(OF_SMALL) } else { tolerance };
        let k = passes.k.min(op.n());
        // A step of few vectors is cheap, but there is a limit on their number.
        let step = step.map_or(k + 2, |step| step.max((k / 8).next_multiple_of(8)));
        let wanted = Wanted { k, tolerance, most_columns: passes.basis, step, passes_before: 0 };
        let found = solve(&problem, wanted, exec)?;
        let values: Vec<f64> = found.values.iter().map(|v| v * found.unit).collect();
        let rounding = rounding(None, values.first().map_or(0.0, |v| v.abs()));
        let rank = values.iter().take(wanted.k).take_while(|v| **v > rounding).count();
        let (norm, rounding_is) = (None, Confidence::Theorem);
        let known = Known { trace, definite: true, norm, rounding, rounding_is, f32: 0.0, largest: trace + rounding };
        let certificate = Certificate::of_found(&found, rank, &known);
        let eigenvalues = values[..rank].to_vec();
        let (total, vectors) = (trace.max(eigenvalues.iter().sum()), found.vectors.first(rank));
        Ok(Pairs { vectors, side, eigenvalues, total, rank, certificate })
    }

    /// Fits by the route of the plan.
    fn run_design(&self, plan: &Plan, design: &dyn Design, at: Standardise, exec: &Exec) -> Result<PcaModel> {
        let found = self.pairs(plan, design, exec)?;
        self.run_pairs(found, (design.n(), design.d()), Some(design), at)
    }

    /// The eigenpairs by the route of the plan.
    fn pairs(&self, plan: &Plan, design: &dyn Design, exec: &Exec) -> Result<Pairs> {
        match plan.passes().filter(|_| self.center) {
            None => Pairs::of(self, plan, design, exec),
            Some(passes) => {
                let squares = design.squares();
                let known = (mean(&squares) * squares.len() as f64, design.error());
                let side = if design.d() <= design.n() { Side::Columns } else { Side::Points };
                let key = |of: &dyn Fn() -> u64| if exec.has_journal() { of() } else { 0 };
                if passes.stored {
                    let gram = Dense::measure_block(design.gram(exec)?, f64::EPSILON)?;
                    let (known, key) = ((known.0, known.1 + of_stored(&gram)), key(&|| gram.fingerprint()));
                    return self.leading(plan, &gram, known, (Side::Points, None, key), exec);
                }
                let how = (side, design.step(), key(&|| design.fingerprint()));
                self.leading(plan, &Products(design, side), known, how, exec)
            }
        }
    }

    /// From eigenpairs to the model. The points are needed for eigenvectors of their Gram matrix, and for components without
    /// variance.
    fn run_pairs(
        &self,
        found: Pairs,
        (n, d): (usize, usize),
        design: Option<&dyn Design>,
        at: Standardise,
    ) -> Result<PcaModel> {
        let mut eigenvalues = found.eigenvalues.clone();
        let real = eigenvalues.iter().take_while(|v| **v > 0.0).count().min(found.rank);
        let wanted = match self.components {
            Components::Count(k) => k,
            Components::UpTo(k) => k.min(n).min(d),
            Components::All => n.min(d),
            Components::Share(_) => eigenvalues.len(),
        };
        let (real, mut notes) = (real.min(wanted), Vec::new());
        let k = if self.whiten { real } else { wanted };
        if k < wanted {
            notes.push(format!("whitening leaves out {} without variance", counted((wanted - k) as u128, "component")));
        }
        // Rounding can have made a sum of zeros negative.
        let discarded = (found.total - eigenvalues[..real].iter().sum::<f64>()).max(0.0);
        let certificate = found.certificate.first(real, &eigenvalues);
        eigenvalues.truncate(real);
        let worst = certificate.residuals().iter().copied().fold(0.0, f64::max);
        notes.extend(Spectrum::ties(&eigenvalues, real, 2.0 * (certificate.rounding() + worst)));

        let mut axes = found.vectors.first(real);
        if let (Side::Points, Some(design)) = (found.side, design) {
            axes = design.transposed_times(&axes)?;
            for j in 0..real {
                let length = linalg::norm(axes.col(j));
                axes.col_mut(j).iter_mut().for_each(|v| *v /= length);
            }
            // Axes are orthogonal to about eps (largest / smallest eigenvalue).
            if real > 0 && eigenvalues[real - 1] < LOSES_ORTHOGONALITY * eigenvalues[0] {
                orthonormalise(&mut axes);
            }
        }
        sign::largest_positive(&mut axes);
        // Components without variance exist as directions.
        complete_columns(&mut axes, k);
        let certificate = match (found.side, design) {
            (_, Some(design)) if found.side == Side::Points || k > real => {
                // The residuals of the axes themselves: a share of u in a larger component is magnified in X'u.
                let mut images = design.transposed_times(&design.times(&axes)?)?;
                for (j, value) in eigenvalues.iter().enumerate() {
                    images.col_mut(j).iter_mut().zip(axes.col(j)).for_each(|(image, f)| *image -= value * f);
                }
                let residuals: Vec<f64> = (0..k).map(|j| linalg::norm(images.col(j))).collect();
                certificate.for_vectors(&eigenvalues, residuals[..real].to_vec()).with_zeros(&residuals[real..])
            }
            // Of a stored scatter there are as many components as are asked for.
            _ => certificate,
        };
        eigenvalues.resize(k, 0.0);
        PcaModel::from_parts(PcaParts {
            embedding: Embedding::Identity,
            d,
            mean: at.mean,
            scale: at.scale,
            axes: axes.transposed().to_points(),
            eigenvalues,
            certificate,
            total: found.total,
            discarded,
            rank: real,
            n,
            center: self.center,
            standardise: self.standardise,
            whiten: self.whiten,
            route: if found.side == Side::Columns { Route::Covariance } else { Route::Gram },
            notes,
        })
    }
}

impl PcaModel {
    /// Scores of sparse points, a row per point: (x / s)F - (m / s)F, so that zeros cost nothing. In columns where all
    /// of the points store a value, the mean is subtracted first: there the two products could cancel.
    ///
    /// # Errors
    /// When the points have other dimensions than those fitted, or the model has an embedding.
    pub fn transform_sparse(&self, x: &Csr) -> Result<Points<f64>> {
        self.transform_sparse_with(x, &Exec::new())
    }

    /// As [`PcaModel::transform_sparse`], with threads and cancellation.
    ///
    /// # Errors
    /// As [`PcaModel::transform_sparse`].
    pub fn transform_sparse_with(&self, x: &Csr, exec: &Exec) -> Result<Points<f64>> {
        let (k, mean, scale) = (self.components(), self.mean(), self.scale());
        if *self.embedding() != Embedding::Identity {
            let what = format!("sparse points are not embedded by {}", self.embedding());
            return Err(ErrorKind::Unsupported { what, remedy: "use points that are not sparse".into() }.into());
        }
        if x.d() != self.d() {
            return Err(Error::shape("dimensions of the points", x.d(), self.d()));
        }
        let axes = self.axes();
        let sd: Vec<f64> = match self.is_whitened() {
            true => self.spectrum().variances().iter().map(|v| v.sqrt()).collect(),
            false => vec![1.0; k],
        };
        let weights = Points::from_fn(x.d(), k, |j, c| axes.row(c)[j] / scale[j] / sd[c]);
        let full: Vec<bool> = x.column_counts().iter().map(|count| *count == x.n()).collect();
        let shift: Vec<f64> = mean.iter().zip(&full).map(|(m, full)| if *full { *m } else { 0.0 }).collect();
        let mut offset = vec![0.0; k];
        for j in (0..x.d()).filter(|j| !full[*j]) {
            offset.iter_mut().zip(weights.row(j)).for_each(|(b, w)| *b += mean[j] * w);
        }
        let moved = shift.iter().any(|s| *s != 0.0);
        exec.run(|| {
            let mut scores = x.times_rows(weights.as_slice(), k, if moved { &shift } else { &[] });
            for row in scores.chunks_exact_mut(k.max(1)) {
                row.iter_mut().zip(&offset).for_each(|(z, b)| *z -= b);
            }
            check_finite(ErrorSubject::Scores, &scores, |at| (at / k, at % k))?;
            Points::new(scores, x.n(), k)
        })
    }
}

/// A bound on the errors of products with a stored matrix (MATHS.md, M25).
fn of_stored(matrix: &Dense) -> f64 {
    rounding_of_sums(matrix.n(), f64::EPSILON, LARGE_TILE) * matrix.norm()
}

/// Eigenpairs of XX' or of X'X.
struct Pairs {
    vectors: Block,
    side: Side,
    eigenvalues: Vec<f64>,
    /// The sum of all eigenvalues.
    total: f64,
    /// The number of eigenvalues that rounding cannot have made.
    rank: usize,
    certificate: Certificate,
}

impl Pairs {
    /// Whether components are asked for that this search cannot tell from residuals.
    fn has_too_small(&self, spec: &Pca) -> bool {
        let wanted = match spec.components {
            Components::Count(k) | Components::UpTo(k) => k,
            Components::Share(_) | Components::All => self.eigenvalues.len(),
        };
        let least = LEAST_SHARE * self.eigenvalues.first().copied().unwrap_or(0.0);
        self.rank < wanted || self.eigenvalues.last().is_some_and(|v| *v < least)
    }

    /// Of the stored matrix XX', or by passes over it where it does not fit the memory.
    fn of(spec: &Pca, plan: &Plan, design: &dyn Design, exec: &Exec) -> Result<Self> {
        let (vectors, spectrum, certificate) = if spec.center {
            let model = spec.of_operator().run_op(plan.of_operator(), &Products(design, Side::Points), exec)?;
            let alpha = model.alpha();
            let vectors = Block::from_fn(alpha.n(), alpha.d(), |i, j| alpha.row(i)[j]);
            (vectors, model.spectrum().clone(), model.certificate().clone())
        } else {
            // Kernel PCA always centres. Without a mean, eigenvectors are those of a scatter matrix about the origin.
            let n = design.n();
            let at = Standardise { mean: vec![0.0; n], scale: vec![1.0; n] };
            let model = spec.about_origin().run_scatter(&design.gram(exec)?, design.error(), at, n, exec)?;
            let axes = model.axes();
            let vectors = Block::from_fn(n, axes.n(), |i, j| axes.row(j)[i]);
            (vectors, model.spectrum().clone(), model.certificate().clone())
        };
        let Spectrum { eigenvalues, total, rank, .. } = spectrum;
        Ok(Pairs { vectors, side: Side::Points, eigenvalues, total, rank, certificate })
    }
}
