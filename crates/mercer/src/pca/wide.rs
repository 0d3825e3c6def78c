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
use crate::error::{Error, ErrorKind, Result, check_finite};
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
/// Up to this size the smaller of scatter and Gram matrix is decomposed as a whole.
const WHOLE_UP_TO: usize = 2000;
/// Where the smallest eigenvalue is less than this share of the largest, axes are made orthonormal once more.
const LOSES_ORTHOGONALITY: f64 = 1e-2;

/// Bytes of a table of numbers.
fn table(n: usize, d: usize) -> u128 {
    (n as u128 * d as u128).saturating_mul(8)
}

/// How points are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// All values, as [`Points`] has them.
    Dense,
    /// The values that are not zero, as [`Csr`] has them.
    Sparse,
}

/// How components are found, and why so.
#[derive(Clone, Debug, PartialEq)]
pub enum Way {
    /// All eigenpairs of one matrix.
    Whole {
        /// The matrix.
        route: Route,
        /// The reason.
        why: String,
    },
    /// The leading eigenpairs of the Gram matrix by passes over the points.
    Passes {
        /// How many.
        k: usize,
        /// The reason.
        why: String,
    },
}

impl Pca {
    /// How the components of n points of d dimensions are best found. Dense points are fitted by passes only where
    /// [`Pca::fit_by_passes`] is called. Of sparse points with d > n, the covariance route is not taken even if it is
    /// asked for, unless there are few dimensions.
    pub fn way(&self, n: usize, d: usize, layout: Layout, exec: &Exec) -> Way {
        let least = n.min(d);
        let few = match self.components {
            Components::Count(k) | Components::UpTo(k) if k <= least / 10 && self.center => Some(k),
            Components::Count(_) | Components::UpTo(_) | Components::Share(_) | Components::All => None,
        };
        let passes = |k: usize| Way::Passes { k, why: format!("{k} leading components of {least}") };
        let whole = |route: Route, why: String| Way::Whole { route, why };
        if layout == Layout::Dense {
            // A centred copy of the points, and as much again for the vectors.
            let fits = table(n, d).saturating_mul(2) <= u128::from(exec.memory_budget());
            let plain = self.route == Route::Auto && self.embedding == Embedding::Identity;
            if let Some(k) = few.filter(|_| plain && fits && least > WHOLE_UP_TO) {
                return passes(k);
            }
            let plan = Plan::pca(n, self.embedding.features(d).unwrap_or(u128::MAX), self.route);
            let route = match plan.route {
                PlannedRoute::Gram => Route::Gram,
                PlannedRoute::Svd => Route::Svd,
                PlannedRoute::Covariance
                | PlannedRoute::Dense
                | PlannedRoute::Passes(_)
                | PlannedRoute::Landmarks(_) => Route::Covariance,
            };
            return whole(route, plan.why);
        }
        let many = if self.center { "all or many components" } else { "no mean is subtracted" };
        match (self.route, few) {
            (Route::Gram, _) => whole(Route::Gram, "requested".into()),
            _ if d <= WHOLE_UP_TO => whole(Route::Covariance, format!("few features ({d})")),
            (Route::Covariance, _) if d <= n => whole(Route::Covariance, "requested".into()),
            (_, None) if d <= n => {
                whole(Route::Covariance, format!("{many}, and no more features ({d}) than points ({n})"))
            }
            _ if n <= WHOLE_UP_TO => whole(Route::Gram, format!("few points ({n})")),
            (_, None) => whole(Route::Gram, format!("{many}, and fewer points ({n}) than features ({d})")),
            (_, Some(k)) => passes(k),
        }
    }

    /// What fitting n points of d dimensions by [`Pca::way`] will do and need.
    ///
    /// # Errors
    /// As [`Pca::plan`].
    pub fn plan_way(&self, n: usize, d: usize, layout: Layout, exec: &Exec) -> Result<Plan> {
        let way = self.way(n, d, layout, exec);
        let why = match &way {
            Way::Whole { route, why } if layout == Layout::Dense || *route != Route::Gram => {
                let plan = self.clone().route(*route).plan_whole(n, d, exec)?;
                return Ok(Plan { why: why.clone(), ..plan });
            }
            Way::Whole { why, .. } | Way::Passes { why, .. } => why,
        };
        self.check_count(n, d)?;
        let plan = match self.center {
            true => self.of_operator().plan_op(n, exec)?,
            false => self.about_origin().plan_whole(n, n, exec)?,
        };
        // Many components whose matrix does not fit the memory are found by passes, too.
        let route = if plan.passes().is_some() { plan.route } else { PlannedRoute::Gram };
        let (mut bytes, mut flops) = (plan.bytes, plan.flops);
        if let Way::Passes { k, .. } = way {
            // A pass multiplies the points twice by about as many vectors as there are components and a few more.
            let columns = k + 10;
            let copy = if layout == Layout::Dense { table(n, d) } else { 0 };
            bytes = bytes.saturating_add(copy).saturating_add(table(d, 3 * columns));
            flops = 7.0 * 4.0 * n as f64 * d as f64 * columns as f64;
        }
        exec.allow(bytes, format!("finding the leading components of {n} points"), "raise the memory budget")?;
        Ok(Plan { route, why: why.clone(), n, features: d as u128, bytes, flops })
    }

    /// Kernel PCA of the operator XX'.
    fn of_operator(&self) -> KernelPca {
        KernelPca::custom().components(self.components).tolerance(self.tolerance.unwrap_or(DEFAULT_TOLERANCE))
    }

    /// PCA of the matrix XX' as it is, as if it were a scatter matrix.
    fn about_origin(&self) -> Pca {
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
        for (what, found, needed) in [("points", n, points), ("dimensions", d, 1)] {
            if found < needed {
                return Err(ErrorKind::TooFew { what, found, needed }.into());
            }
        }
        if self.route == Route::Svd {
            let what = "the singular value decomposition of sparse points needs their zeros too".into();
            return Err(
                ErrorKind::Unsupported { what, remedy: "leave the choice of the route to the plan".into() }.into()
            );
        }
        self.check_no_embedding("sparse points")?;
        self.plan_way(n, d, Layout::Sparse, exec)?;
        exec.run(|| {
            let (design, at) = Sparse::new(x, self)?;
            match self.way(n, d, Layout::Sparse, exec) {
                Way::Whole { route: Route::Covariance, .. } => self.fit_scatter(&design.scatter(exec)?, at, n, exec),
                _ => self.fit_design(&design, at, exec),
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
            AnyPoints::F64(x) => self.fit_dense_by_passes(x, exec),
            AnyPoints::F32(x) => self.fit_dense_by_passes(x, exec),
        }
    }

    fn fit_dense_by_passes<T: Real>(&self, x: PointsRef<'_, T>, exec: &Exec) -> Result<PcaModel> {
        x.check_shape(2)?;
        self.check_count(x.n(), x.d())?;
        exec.allow(table(x.n(), x.d()), format!("a centred copy of {} points", x.n()), "use fit, which needs no copy")?;
        exec.run(|| {
            let columns = Columns::of_with(x, exec)?;
            let Location { mean, scale, .. } = Location::of(&columns, self)?;
            let moved = standardised(x, &mean, &columns.rest(), &scale);
            self.fit_design(&Moved::new(moved)?, Standardise { mean, scale }, exec)
        })
    }

    /// Refuses a number of components that there cannot be.
    fn check_count(&self, n: usize, d: usize) -> Result<()> {
        self.components.validate("pca")?;
        let most = n.min(d);
        match self.components {
            Components::Count(k) if k > most => {
                let constraint = format!("components <= min(points, features) = {most}");
                Err(Error::parameter("pca", "components", k, constraint))
            }
            _ => Ok(()),
        }
    }

    fn check_no_embedding(&self, of: &str) -> Result<()> {
        if self.embedding == Embedding::Identity {
            return Ok(());
        }
        let what = format!("PCA by {of} has no embedding, and {} is set", self.embedding);
        Err(ErrorKind::Unsupported { what, remedy: "use fit with points that are not sparse".into() }.into())
    }

    /// From eigenvectors u of the Gram matrix to the axes f = X'u / |X'u|.
    fn fit_design(&self, design: &dyn Design, at: Standardise, exec: &Exec) -> Result<PcaModel> {
        let (n, d) = (design.n(), design.d());
        let found = Pairs::of(self, design, exec)?;
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
            notes.push(format!("whitening leaves out {} components without variance", wanted - k));
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
        let images = design.transposed_times(&design.times(&axes.columns(real, k))?)?;
        let residuals: Vec<f64> = (0..k - real).map(|j| linalg::norm(images.col(j))).collect();
        eigenvalues.resize(k, 0.0);
        PcaModel::from_parts(PcaParts {
            embedding: Embedding::Identity,
            d,
            mean: at.mean,
            scale: at.scale,
            axes: axes.transposed().to_points(),
            eigenvalues,
            certificate: certificate.with_zeros(&residuals),
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
            check_finite("scores", &scores, |at| (at / k, at % k))?;
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
    fn of(spec: &Pca, design: &dyn Design, exec: &Exec) -> Result<Self> {
        if spec.center {
            let model = spec.of_operator().fit_op_with(&Gram(design), exec)?;
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
        let model = spec.about_origin().fit_scatter(&design.gram(exec)?, at, n, exec)?;
        let axes = model.axes();
        Ok(Pairs {
            vectors: Block::from_fn(n, axes.n(), |i, j| axes.row(j)[i]),
            spectrum: model.spectrum().clone(),
            certificate: model.certificate().clone(),
        })
    }
}
