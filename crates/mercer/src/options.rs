//! Options of a fit: the route of PCA, and whether kernel PCA is exact.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, counted};
use crate::points::Points;

/// The matrix that PCA decomposes. All routes give the same components.
///
/// ```
/// use mercer::{Pca, Points, Route};
/// let x = Points::from_rows(&[[0.0, 0.1], [1.0, 2.1], [2.0, 3.9]]);
/// let model = Pca::new().components(1).route(Route::Svd).fit(&x)?;
/// assert_eq!(model.route(), Route::Svd);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Route {
    /// The smaller of covariance and Gram, and the singular value decomposition when small components need it.
    #[default]
    Auto,
    /// The d-by-d scatter matrix X'X: fastest for many points; relative error of a component about
    /// eps (largest / its eigenvalue).
    Covariance,
    /// The n-by-n Gram matrix XX': fastest for many dimensions, the same error.
    Gram,
    /// The singular value decomposition of X: error eps (largest / its singular value), for small components.
    Svd,
}

impl Route {
    /// Returns the name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Route::Auto => "auto",
            Route::Covariance => "covariance",
            Route::Gram => "gram",
            Route::Svd => "svd",
        }
    }

    /// Returns the route with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Route::Auto, Route::Covariance, Route::Gram, Route::Svd].into_iter().find(|r| r.name() == name)
    }
}

/// Whether kernel PCA is exact (all points used) or approximate (Nystroem landmarks).
///
/// ```
/// use mercer::{Approx, Gamma, Kernel, KernelPca, Landmarks};
/// let exact = KernelPca::new(Kernel::gaussian(Gamma::Median)).components(2);
/// assert_eq!(*exact.get_approx(), Approx::None);
/// assert_ne!(*exact.approx(Approx::Landmarks(Landmarks::KMeans(500))).get_approx(), Approx::None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Approx {
    /// Exact.
    #[default]
    None,
    /// Exact where that fits the memory budget and takes less than about half an hour on two cores, else by
    /// [`Landmarks::default`].
    Auto,
    /// By landmarks (Nystroem).
    Landmarks(Landmarks),
}

/// How landmarks are chosen. Where there are many points, they are chosen from a sample.
///
/// ```
/// use mercer::{Gamma, Kernel, KernelPca, Landmarks, Points};
/// let x = Points::from_fn(200, 2, |i, j| ((i * (j + 2)) as f64).sin());
/// let kernel_pca = KernelPca::new(Kernel::gaussian(Gamma::Median)).components(2);
/// let model = kernel_pca.landmarks(Landmarks::TraceError(0.01)).fit(&x)?;
/// assert!(model.certificate().approximation().is_some_and(|a| a.trace_share() <= 0.01));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Landmarks {
    /// This many points at random.
    Uniform(usize),
    /// This many centres of k-means: the most accurate for ordinary data.
    KMeans(usize),
    /// This many points by randomly pivoted Cholesky: better with outliers, and for high accuracy.
    RpCholesky(usize),
    /// These points, in the units of the data.
    Given(Points<f64>),
    /// As many points, by randomly pivoted Cholesky, as are needed to lose at most this share of the variance; at most
    /// 4,000.
    TraceError(f64),
}

/// The most landmarks that are grown to.
pub(crate) const MOST_GROWN: usize = 4000;

impl Default for Landmarks {
    fn default() -> Self {
        Landmarks::KMeans(Landmarks::DEFAULT)
    }
}

impl Landmarks {
    /// The number of landmarks unless another is given.
    pub const DEFAULT: usize = 1000;

    pub(crate) fn validate(&self) -> Result<()> {
        match self {
            Landmarks::Uniform(0) | Landmarks::KMeans(0) | Landmarks::RpCholesky(0) => {
                Err(Error::parameter("kernel pca", "landmarks", 0, "landmarks >= 1"))
            }
            Landmarks::TraceError(e) if !(*e > 0.0 && *e < 1.0) => {
                Err(Error::parameter("kernel pca", "trace error", e, "0 < trace error < 1"))
            }
            Landmarks::Given(points) => points.view().check(1).and_then(|()| points.view().check_not_huge()),
            Landmarks::Uniform(_) | Landmarks::KMeans(_) | Landmarks::RpCholesky(_) | Landmarks::TraceError(_) => {
                Ok(())
            }
        }
    }

    /// How many there are, or at most, among n points.
    pub(crate) fn count(&self, n: usize) -> usize {
        match self {
            Landmarks::Uniform(m) | Landmarks::KMeans(m) | Landmarks::RpCholesky(m) => (*m).min(n),
            Landmarks::Given(points) => points.n(),
            Landmarks::TraceError(_) => MOST_GROWN.min(n),
        }
    }

    /// Whether they are chosen among all n points, and are all of them: the exact answer.
    pub(crate) fn are_all(&self, n: usize) -> bool {
        match self {
            Landmarks::Uniform(m) | Landmarks::KMeans(m) | Landmarks::RpCholesky(m) => *m >= n,
            Landmarks::Given(_) | Landmarks::TraceError(_) => false,
        }
    }

    /// Describes m landmarks chosen in this way.
    pub fn describe(&self, m: usize) -> String {
        let how = match self {
            Landmarks::Uniform(_) => "at random",
            Landmarks::KMeans(_) => "by k-means",
            Landmarks::RpCholesky(_) => "by randomly pivoted Cholesky",
            Landmarks::Given(_) => "as given",
            Landmarks::TraceError(_) => "as many as the trace error takes",
        };
        format!("{} {how}", counted(m as u128, "landmark"))
    }
}

impl fmt::Display for Landmarks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Landmarks::TraceError(share) => write!(f, "landmarks until a trace error of {share}"),
            Landmarks::Uniform(_) | Landmarks::KMeans(_) | Landmarks::RpCholesky(_) | Landmarks::Given(_) => {
                f.write_str(&self.describe(self.count(usize::MAX)))
            }
        }
    }
}
