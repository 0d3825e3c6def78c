//! PCA without a matrix of d x d or n x n numbers: of sparse points, and of a few components of many points with many
//! dimensions.
//!
//! The Gram matrix XX' of the centred points has the eigenvalues of the scatter matrix X'X. A block of vectors is
//! multiplied by it in two products with X, and from its eigenvectors u come the axes f = X'u / |X'u|.

use super::axes::{complete_columns, orthonormalise};
use super::decompose::Location;
use super::design::{Design, Gram, Moved, Sparse};
use super::{Pca, PcaModel, PcaParts};
use crate::block::Block;
use crate::eigen::{Certificate, sign};
use crate::embedding::Embedding;
use crate::error::{Error, ErrorKind, ErrorSubject, Result, check_finite, counted};
use crate::exec::Exec;
use crate::features::Standardise;
use crate::kernel_pca::KernelPca;
use crate::linalg;
use crate::moments::{Columns, standardised};
use crate::options::Route;
use crate::plan::{Plan, PlannedRoute};
use crate::points::{AnyPoints, Points, PointsRef};
use crate::real::Real;
use crate::sparse::Csr;
use crate::spectrum::{Components, Spectrum};

/// The residual that is reached where no tolerance is given, relative to the largest eigenvalue.
const DEFAULT_TOLERANCE: f64 = 1e-6;
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
        match points.into().into() {
            AnyPoints::F64(x) => self.run_by_passes(&self.plan_by_passes(x.n(), x.d(), exec)?, x, exec),
            AnyPoints::F32(x) => self.run_by_passes(&self.plan_by_passes(x.n(), x.d(), exec)?, x, exec),
        }
    }

    pub(super) fn run_by_passes<T: Real>(&self, plan: &Plan, x: PointsRef<'_, T>, exec: &Exec) -> Result<PcaModel> {
        x.check_shape(2)?;
        exec.run(|| {
            let columns = Columns::of_with(x, exec)?;
            let Location { mean, scale, error_of_rows, .. } = Location::of(&columns, self)?;
            let moved = standardised(x, &mean, &columns.rest(), &scale);
            self.run_design(plan, &Moved::new(moved, error_of_rows)?, Standardise { mean, scale }, exec)
        })
    }

    /// From eigenvectors u of the Gram matrix to the axes f = X'u / |X'u|.
    fn run_design(&self, plan: &Plan, design: &dyn Design, at: Standardise, exec: &Exec) -> Result<PcaModel> {
        let (n, d) = (design.n(), design.d());
        let found = Pairs::of(self, plan, design, exec)?;
        let mut eigenvalues = found.spectrum.eigenvalues.clone();
        let real = eigenvalues.iter().take_while(|v| **v > 0.0).count().min(found.spectrum.rank);
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
        let discarded = eigenvalues[real..].iter().rev().fold(found.spectrum.discarded, |sum, v| sum + v).max(0.0);
        let certificate = found.certificate.first(real, &eigenvalues);
        eigenvalues.truncate(real);
        let worst = certificate.residuals().iter().copied().fold(0.0, f64::max);
        notes.extend(Spectrum::ties(&eigenvalues, real, 2.0 * (certificate.rounding() + worst)));

        let mut axes = design.transposed_times(&found.vectors.first(real))?;
        for j in 0..real {
            let length = linalg::norm(axes.col(j));
            axes.col_mut(j).iter_mut().for_each(|v| *v /= length);
        }
        // Axes are orthogonal to about eps (largest / smallest eigenvalue).
        if real > 0 && eigenvalues[real - 1] < LOSES_ORTHOGONALITY * eigenvalues[0] {
            orthonormalise(&mut axes);
        }
        sign::largest_positive(&mut axes);
        // Components without variance exist as directions.
        complete_columns(&mut axes, k);
        // The residuals of the axes themselves: a share of u in a larger component is magnified in X'u.
        let mut images = design.transposed_times(&design.times(&axes)?)?;
        for (j, value) in eigenvalues.iter().enumerate() {
            images.col_mut(j).iter_mut().zip(axes.col(j)).for_each(|(image, f)| *image -= value * f);
        }
        let residuals: Vec<f64> = (0..k).map(|j| linalg::norm(images.col(j))).collect();
        let certificate = certificate.for_vectors(&eigenvalues, residuals[..real].to_vec());
        let residuals = &residuals[real..];
        eigenvalues.resize(k, 0.0);
        PcaModel::from_parts(PcaParts {
            embedding: Embedding::Identity,
            d,
            mean: at.mean,
            scale: at.scale,
            axes: axes.transposed().to_points(),
            eigenvalues,
            certificate: certificate.with_zeros(residuals),
            total: found.spectrum.total,
            discarded,
            rank: real,
            n,
            center: self.center,
            standardise: self.standardise,
            whiten: self.whiten,
            route: Route::Gram,
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

/// Eigenpairs of XX'.
struct Pairs {
    vectors: Block,
    spectrum: Spectrum,
    certificate: Certificate,
}

impl Pairs {
    fn of(spec: &Pca, plan: &Plan, design: &dyn Design, exec: &Exec) -> Result<Self> {
        if spec.center {
            let model = spec.of_operator().run_op(plan.of_operator(), &Gram(design), exec)?;
            let alpha = model.alpha();
            return Ok(Pairs {
                vectors: Block::from_fn(alpha.n(), alpha.d(), |i, j| alpha.row(i)[j]),
                spectrum: model.spectrum().clone(),
                certificate: model.certificate().clone(),
            });
        }
        // Kernel PCA always centres. Without a mean, eigenvectors are those of a scatter matrix about the origin.
        let n = design.n();
        let at = Standardise { mean: vec![0.0; n], scale: vec![1.0; n] };
        let model = spec.about_origin().run_scatter(&design.gram(exec)?, design.error(), at, n, exec)?;
        let axes = model.axes();
        Ok(Pairs {
            vectors: Block::from_fn(n, axes.n(), |i, j| axes.row(j)[i]),
            spectrum: model.spectrum().clone(),
            certificate: model.certificate().clone(),
        })
    }
}
