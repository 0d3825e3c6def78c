//! The decisions of PCA: which matrix is decomposed, and which one instead when a fit has learnt something.

use super::Pca;
use crate::embedding::Embedding;
use crate::error::{Bytes, Error, ErrorKind, Result};
use crate::exec::Exec;
use crate::options::Route;
use crate::plan::{GramKind, PassTask, Plan, PlannedRoute};
use crate::spectrum::Components;

/// Up to this size the smaller of scatter and Gram matrix is decomposed as a whole, of dense points and of sparse ones.
const WHOLE_UP_TO: usize = 500;
const SPARSE_WHOLE_UP_TO: usize = 2000;
/// Steps that a search takes, about; of a stored matrix, where a step costs little, the most that are reckoned with.
const STEPS: f64 = 12.0;
const STORED_STEPS: f64 = 40.0;
/// Vectors that a step multiplies besides the components.
const MORE_COLUMNS: usize = 12;

/// Bytes of a table of numbers.
fn table(n: usize, d: usize) -> u128 {
    (n as u128 * d as u128).saturating_mul(8)
}

impl Pca {
    /// Returns what fitting n points of d dimensions will do and need.
    ///
    /// # Errors
    /// When it does not fit the memory budget, an option is outside its domain, or more components are asked for than
    /// min(n, features).
    pub fn plan(&self, n: usize, d: usize, exec: &Exec) -> Result<Plan> {
        let whole = || self.plan_whole(n, d, exec);
        let Some(k) = self.few(n, d) else { return whole() };
        let plain = self.tolerance.is_some() && self.embedding == Embedding::Identity;
        if !plain || n.min(d) <= WHOLE_UP_TO {
            return whole();
        }
        // Work in floating-point operations: of the smaller matrix, of its decomposition, and of steps with it or with the
        // points.
        let (nf, df, size, columns) = (n as f64, d as f64, n.min(d) as f64, (k + MORE_COLUMNS) as f64);
        let matrix = nf * df * size;
        let (all, stored) = (9.0 * size.powi(3), STORED_STEPS * 2.0 * size * size * columns);
        let by_points = STEPS * 4.0 * nf * df * columns;
        let is_stored = match self.route {
            Route::Svd => return whole(),
            Route::Covariance if d > n => return whole(),
            Route::Gram if n > d => return whole(),
            Route::Covariance | Route::Gram => true,
            Route::Auto => matrix + stored < by_points,
        };
        let work = if is_stored { matrix + stored } else { by_points };
        if 1.5 * work > matrix + all {
            return whole();
        }
        // A centred copy of the points, and as much again for the vectors.
        let fits = |plan: &Plan| plan.bytes <= u128::from(exec.get_memory());
        let plan = self.plan_passes(n, d, k, (is_stored, table(n, d)), exec).ok().filter(fits);
        plan.map_or_else(whole, Ok)
    }

    /// Returns what fitting n points that come in batches will do and need.
    ///
    /// # Errors
    /// As [`Pca::plan`].
    pub fn plan_batches(&self, n: usize, d: usize, exec: &Exec) -> Result<Plan> {
        self.components.validate("pca")?;
        self.embedding.validate()?;
        let route = if self.route == Route::Auto { Route::Covariance } else { self.route };
        // Batches are embedded one by one.
        let features = self.embedding.features(d).unwrap_or(u128::MAX);
        let plan = self.clone().route(route).plan_features(n, features, exec)?;
        let why = "the data is read batch by batch".to_string();
        Ok(if self.route == Route::Auto { Plan { why, ..plan } } else { plan })
    }

    /// Returns what fitting n sparse points of d dimensions will do and need. If d > n, the covariance route is not taken
    /// even if it is requested, unless there are few dimensions.
    ///
    /// # Errors
    /// As [`Pca::plan`]; and for an embedding, or the route [`Route::Svd`], which need all values.
    pub fn plan_sparse(&self, n: usize, d: usize, exec: &Exec) -> Result<Plan> {
        self.check_no_embedding("sparse points")?;
        let covariance = |why: String| -> Result<Plan> {
            let plan = self.clone().route(Route::Covariance).plan_whole(n, d, exec)?;
            Ok(Plan { why, ..plan })
        };
        let gram = |why: String| self.plan_operator(n, d, why, exec);
        let many = if self.center { "all or many components" } else { "no mean is subtracted" };
        match (self.route, self.few(n, d)) {
            (Route::Svd, _) => Err(ErrorKind::Unsupported {
                what: "the singular value decomposition of sparse points needs their zeros too".into(),
                remedy: "leave the choice of the route to the plan".into(),
            }
            .into()),
            (Route::Gram, _) => gram("requested".into()),
            (Route::Auto | Route::Covariance, _) if d <= SPARSE_WHOLE_UP_TO => {
                covariance(format!("few features ({d})"))
            }
            (Route::Covariance, _) if d <= n => covariance("requested".into()),
            (Route::Auto | Route::Covariance, None) if d <= n => {
                covariance(format!("{many} of {n} points with {d} columns: the smaller matrix"))
            }
            (Route::Auto | Route::Covariance, _) if n <= SPARSE_WHOLE_UP_TO => gram(format!("few points ({n})")),
            (Route::Auto | Route::Covariance, None) => {
                gram(format!("{many} of {n} points with {d} columns: the smaller matrix"))
            }
            (Route::Auto | Route::Covariance, Some(k)) => self.plan_passes(n, d, k, (false, 0), exec),
        }
    }

    /// The plan of a number of components of dense points by passes over them.
    pub(super) fn plan_by_passes(&self, n: usize, d: usize, exec: &Exec) -> Result<Plan> {
        match self.components {
            Components::Count(k) | Components::UpTo(k) => self.plan_passes(n, d, k, (false, table(n, d)), exec),
            Components::Share(_) | Components::All => self.plan_whole(n, d, exec),
        }
    }

    /// The plan of all eigenpairs of one matrix.
    pub(super) fn plan_whole(&self, n: usize, d: usize, exec: &Exec) -> Result<Plan> {
        self.components.validate("pca")?;
        self.embedding.validate()?;
        let features = self.embedding.features(d).unwrap_or(u128::MAX);
        if self.embedding != Embedding::Identity {
            let bytes = features.saturating_mul(n as u128).saturating_mul(8);
            let count = self.embedding.features(d).map_or("more than 2^128".to_string(), |f| f.to_string());
            let what = format!("embedding {n} points of {d} dimensions by {} with {count} features", self.embedding);
            exec.allow(bytes, what, "use a smaller degree, or the polynomial kernel, which needs no features")?;
        }
        self.plan_features(n, features, exec)
    }

    pub(super) fn plan_features(&self, n: usize, features: u128, exec: &Exec) -> Result<Plan> {
        self.check_count(n, features)?;
        if self.route == Route::Auto && self.has_empty_components(n, features) {
            let plan = Plan::pca(n, features, Route::Svd);
            if plan.bytes <= u128::from(exec.get_memory()) {
                return Ok(Plan { why: format!("all of {n} components: the last has no variance"), ..plan });
            }
        }
        Plan::pca(n, features, self.route).allow(exec, "use fewer columns or points, or raise the memory budget")
    }

    /// Another plan, because components are too small to be found by passes: the singular value decomposition, unless another
    /// route is requested or it does not fit the memory.
    pub(super) fn plan_of_all(&self, n: usize, d: usize, exec: &Exec) -> Result<Plan> {
        let whole = self.plan_whole(n, d, exec)?;
        match self.route {
            Route::Auto => Ok(Pca::replan(&whole, exec).unwrap_or(whole)),
            Route::Covariance | Route::Gram | Route::Svd => Ok(whole),
        }
    }

    /// Another plan, because small components lose their digits by the route of this one: the singular value
    /// decomposition. The memory that it needs, where that exceeds the budget.
    pub(crate) fn replan(plan: &Plan, exec: &Exec) -> std::result::Result<Plan, Bytes> {
        let next = Plan::pca(plan.n, plan.features, Route::Svd);
        if next.bytes <= u128::from(exec.get_memory()) { Ok(next) } else { Err(Bytes(next.bytes)) }
    }

    /// The plan of k components by passes over the points, of which `copy` bytes are copied, or over the smaller of their
    /// scatter and Gram matrix, which is stored.
    fn plan_passes(&self, n: usize, d: usize, k: usize, (stored, copy): (bool, u128), exec: &Exec) -> Result<Plan> {
        self.components.validate("pca")?;
        self.check_count(n, d as u128)?;
        let size = n.min(d);
        let kind = if stored { GramKind::Matrix } else { GramKind::Operator };
        let plan = Plan::by_passes(&PassTask { n: size, d: 1, k, kind, f32: false, share: None }, exec);
        // A pass multiplies the points twice by about as many vectors as there are components and a few more.
        let columns = k + MORE_COLUMNS;
        let of_matrix = if stored && d <= n { Plan::bytes_of_moments(d as u128) } else { copy };
        let bytes = plan.bytes.saturating_add(of_matrix).saturating_add(table(n.max(d), 3 * columns));
        let (nf, df, mf) = (n as f64, d as f64, size as f64);
        let (flops, of) = match stored {
            true => (nf * df * mf + STORED_STEPS * 2.0 * mf * mf * columns as f64, "the stored matrix"),
            false => (STEPS * 4.0 * nf * df * columns as f64, "the points"),
        };
        exec.allow(bytes, format!("finding the leading components of {n} points"), "raise the memory budget")?;
        let why = format!("{k} leading components of {size}, by products with {of}");
        Ok(Plan { bytes, flops, why, n, features: d as u128, ..plan })
    }

    /// The plan of eigenpairs of the Gram matrix, which is an operator: by passes, or of the stored matrix. Many
    /// components whose matrix does not fit the memory are found by passes, too.
    fn plan_operator(&self, n: usize, d: usize, why: String, exec: &Exec) -> Result<Plan> {
        self.components.validate("pca")?;
        self.check_count(n, d as u128)?;
        let plan = match self.center {
            true => self.of_operator().plan_op(n, exec)?,
            false => self.about_origin().plan_whole(n, n, exec)?,
        };
        let route = if plan.passes().is_some() { plan.route } else { PlannedRoute::Gram };
        Ok(Plan { route, why, features: d as u128, ..plan })
    }

    /// The number of components, where they are few of many.
    fn few(&self, n: usize, d: usize) -> Option<usize> {
        match self.components {
            Components::Count(k) | Components::UpTo(k) if k <= n.min(d) / 10 && self.center => Some(k),
            Components::Count(_) | Components::UpTo(_) | Components::Share(_) | Components::All => None,
        }
    }

    /// Whether components without variance are asked for, whatever the points are: n centred points have at most n - 1
    /// with some. The singular value decomposition alone keeps their digits.
    fn has_empty_components(&self, n: usize, features: u128) -> bool {
        let all = match self.components {
            Components::All => true,
            Components::Count(k) | Components::UpTo(k) => k >= n,
            Components::Share(_) => false,
        };
        self.center && all && n as u128 <= features
    }

    /// Refuses a number of components that there cannot be.
    fn check_count(&self, n: usize, features: u128) -> Result<()> {
        let most = features.min(n as u128);
        match self.components {
            Components::Count(k) if k as u128 > most => {
                let constraint = format!("components <= {most}, the smaller of points and columns");
                Err(Error::parameter("pca", "components", k, constraint))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn check_no_embedding(&self, of: &str) -> Result<()> {
        if self.embedding == Embedding::Identity {
            return Ok(());
        }
        let what = format!("PCA by {of} has no embedding, and {} is set", self.embedding);
        Err(ErrorKind::Unsupported { what, remedy: "use fit with points that are not sparse".into() }.into())
    }
}
