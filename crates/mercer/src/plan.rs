//! Plan: what will be done, and what it will need, decided from sizes alone before anything is allocated.

use std::fmt;

use crate::error::{Bytes, Result};
use crate::exec::Exec;
use crate::pca::Route;

/// The chosen way, its reason and its needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The way: "covariance", "gram", "svd", or "dense" for kernel PCA.
    pub route: &'static str,
    /// Why this one.
    pub why: String,
    /// Number of points.
    pub n: usize,
    /// Number of features that the eigenproblem is about: dimensions, monomials, or points for a kernel.
    pub features: u128,
    /// Memory it needs at its peak, in bytes, besides the points themselves.
    pub bytes: u128,
    /// Floating-point operations, roughly.
    pub flops: f64,
}

const FLOAT: u128 = 8;
/// An eigendecomposition holds the matrix, its vectors and three times as much scratch.
const EIGEN_COPIES: u128 = 5;
/// Arithmetic of a dense symmetric eigendecomposition with all vectors, in n^3.
const EIGEN_FLOPS: f64 = 9.0;

impl Plan {
    /// How PCA of n points with so many features is done.
    pub(crate) fn pca(n: usize, features: u128, route: Route) -> (Route, Plan) {
        let (wide, points) = (features > n as u128, n as u128);
        let (route, why) = match route {
            Route::Auto if wide => (Route::Gram, format!("fewer points ({n}) than features ({features})")),
            Route::Auto => (Route::Covariance, format!("no more features ({features}) than points ({n})")),
            forced => (forced, "asked for".to_string()),
        };
        let small = points.min(features);
        let (nf, df, sf) = (n as f64, features as f64, small as f64);
        let square = |size: u128| size.saturating_mul(size).saturating_mul(FLOAT);
        let table = points.saturating_mul(features).saturating_mul(FLOAT);
        let (bytes, flops) = match route {
            Route::Covariance | Route::Auto => {
                (square(features).saturating_mul(EIGEN_COPIES + 16), nf * df * df + EIGEN_FLOPS * df.powi(3))
            }
            Route::Gram => (
                square(points).saturating_mul(EIGEN_COPIES).saturating_add(table.saturating_mul(3)),
                nf * nf * df + EIGEN_FLOPS * nf.powi(3),
            ),
            Route::Svd => (
                table.saturating_mul(4).saturating_add(square(small).saturating_mul(EIGEN_COPIES)),
                4.0 * nf * df * sf + EIGEN_FLOPS * sf.powi(3),
            ),
        };
        (route, Plan { route: route.name(), why, n, features, bytes, flops })
    }

    /// How kernel PCA of n points is done.
    pub(crate) fn kernel_pca(n: usize, d: usize) -> Plan {
        let points = n as u128;
        Plan {
            route: "dense",
            why: "all eigenpairs of the stored Gram matrix".into(),
            n,
            features: points,
            bytes: points.saturating_mul(points).saturating_mul(FLOAT * (EIGEN_COPIES + 1)),
            flops: (n as f64).powi(2) * d as f64 + EIGEN_FLOPS * (n as f64).powi(3),
        }
    }

    /// Refuses a plan that does not fit the budget.
    pub(crate) fn allow(self, exec: &Exec, remedy: &str) -> Result<Self> {
        let what = match self.route {
            "dense" => format!("the Gram matrix of {} points with its eigenvectors", self.n),
            route => format!("PCA of {} points with {} features by the {route} route", self.n, self.features),
        };
        exec.allow(self.bytes, what, remedy)?;
        Ok(self)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "route      {} ({})", self.route, self.why)?;
        writeln!(f, "size       {} points, {} features", self.n, self.features)?;
        writeln!(f, "memory     about {} besides the data", Bytes(self.bytes))?;
        write!(f, "work       about {:.1e} floating-point operations", self.flops)
    }
}
