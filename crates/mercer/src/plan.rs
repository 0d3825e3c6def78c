//! Plan: how a fit is done and what it needs, decided from sizes alone before anything is allocated. A plan is executed
//! as it is; a fit that learns something on its way asks for another one (`Replan`).

use std::fmt;

use crate::eigen::columns;
use crate::error::{Bytes, Error, Result, counted};
use crate::exec::Exec;
use crate::moments::{ROWS_TOGETHER, WIDE_FROM};
use crate::op::pass::Grid;
use crate::options::{Landmarks, Route};
use crate::spectrum::Components;

/// How a fit is done, why, and what it needs.
///
/// # Example
/// ```
/// use mercer::plan::PlannedRoute;
/// use mercer::{Exec, Gamma, Kernel, KernelPca};
/// let spec = KernelPca::new(Kernel::gaussian(Gamma::Median)).components(10);
/// let plan = spec.plan(100_000, 50, &Exec::new())?;
/// assert!(matches!(plan.route, PlannedRoute::Passes(_)));
/// assert!(plan.bytes < 8_000_000_000); // the matrix would have 80 GB
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// The route, with what belongs to it.
    pub route: PlannedRoute,
    /// Why this one.
    pub why: String,
    /// Number of points.
    pub n: usize,
    /// Number of features that the eigenproblem is about: dimensions, monomials, landmarks, or points for a kernel.
    pub features: u128,
    /// Memory it needs at its peak, in bytes, besides the points themselves.
    pub bytes: u128,
    /// Floating-point operations, roughly.
    pub flops: f64,
}

/// The route of a fit, with its details.
///
/// ```
/// use mercer::plan::PlannedRoute;
/// use mercer::{Exec, Pca};
/// let plan = Pca::new().components(2).plan(1_000_000, 50, &Exec::new())?;
/// assert_eq!(plan.route, PlannedRoute::Covariance);
/// assert_eq!(plan.route.name(), "covariance");
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PlannedRoute {
    /// PCA by the scatter matrix X'X.
    Covariance,
    /// PCA by the Gram matrix XX'.
    Gram,
    /// PCA by the singular value decomposition of X.
    Svd,
    /// Kernel PCA by all eigenpairs of the stored Gram matrix.
    Dense,
    /// Kernel PCA: the leading eigenpairs by passes over a Gram matrix that is not stored.
    Passes(PassPlan),
    /// Approximate kernel PCA by landmarks.
    Landmarks(LandmarkPlan),
}

impl PlannedRoute {
    /// The route of PCA that it is.
    pub(crate) fn of_pca(&self) -> Result<Route> {
        match self {
            PlannedRoute::Covariance => Ok(Route::Covariance),
            PlannedRoute::Gram => Ok(Route::Gram),
            PlannedRoute::Svd => Ok(Route::Svd),
            PlannedRoute::Dense | PlannedRoute::Passes(_) | PlannedRoute::Landmarks(_) => {
                Err(Error::inconsistent(format!("a plan by the {} route is not one of PCA", self.name())))
            }
        }
    }

    /// Returns the name of the route.
    pub fn name(&self) -> &'static str {
        match self {
            PlannedRoute::Covariance => Route::Covariance.name(),
            PlannedRoute::Gram => Route::Gram.name(),
            PlannedRoute::Svd => Route::Svd.name(),
            PlannedRoute::Dense => "dense",
            PlannedRoute::Passes(_) => "passes",
            PlannedRoute::Landmarks(_) => "landmarks",
        }
    }
}

/// The plan of a search for the leading eigenpairs by passes over the Gram matrix.
///
/// ```
/// use mercer::plan::PlannedRoute;
/// use mercer::{Exec, Gamma, Kernel, KernelPca};
/// let kernel_pca = KernelPca::new(Kernel::gaussian(Gamma::Median)).components(10);
/// let PlannedRoute::Passes(passes) = kernel_pca.plan(100_000, 50, &Exec::new())?.route else {
///     panic!("the matrix does not fit the memory budget");
/// };
/// assert_eq!(passes.k, 10);
/// assert!(passes.cached <= passes.tiles); // the other tiles are recomputed in every pass
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PassPlan {
    /// Eigenpairs that are computed.
    pub k: usize,
    /// Points that the search starts from and is preconditioned by; 0 for a random start.
    pub pivots: usize,
    /// Vectors that a pass multiplies.
    pub columns: usize,
    /// The most vectors that are kept.
    pub basis: usize,
    /// Whether passes are made in f32 before the last one in f64.
    pub f32: bool,
    /// Bytes of tiles that are cached between passes; the others are recomputed. It changes no bit of the result.
    pub cached: u128,
    /// Bytes of all tiles.
    pub tiles: u128,
    /// Passes, roughly.
    pub expected: usize,
    /// Whether all eigenpairs of the stored matrix fit the memory, should the search show that they are needed.
    pub dense_fits: bool,
    /// Whether passes are made over a matrix that is stored, and not over tiles or an operator.
    pub stored: bool,
}

/// The plan of an approximation by landmarks.
///
/// ```
/// use mercer::{Exec, Gamma, Kernel, KernelPca, Landmarks};
/// let kernel_pca = KernelPca::new(Kernel::gaussian(Gamma::Median)).components(10).landmarks(Landmarks::KMeans(500));
/// let plan = kernel_pca.plan(1_000_000, 50, &Exec::new())?;
/// let by_landmarks = plan.landmarks().expect("as requested");
/// assert_eq!((by_landmarks.most, by_landmarks.f32), (500, true));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LandmarkPlan {
    /// How landmarks are chosen.
    pub landmarks: Landmarks,
    /// The most landmarks there can be.
    pub most: usize,
    /// Whether kernel values with landmarks are computed in f32. Where the points or the landmarks do not allow it, they
    /// are computed in f64.
    pub f32: bool,
}

/// Why a fit asks for another plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Replan {
    /// Kernel values, or too many points, are outside of what f32 can tell apart.
    NeedsF64,
    /// The kernel has negative eigenvalues on these points, whose sum shares have to account for.
    Negative,
    /// The share of the variance that is asked for takes at least this many components.
    Components(usize),
    /// The operator has no diagonal, without which nothing can be said about eigenvalues that were not searched for.
    NoDiagonal,
}

/// Why a fit by landmarks asks for another plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ReplanLandmarks {
    /// Kernel values, or the matrix of the landmarks, are outside of what f32 can tell apart.
    NeedsF64,
    /// The stated trace error was not reached with this aim, whether or not there were more landmarks than before.
    NotReached { stated: f64, reached: f64, grown: bool },
}

/// What a Gram matrix comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GramKind {
    /// A kernel on points, which are prepared as so many numbers each.
    Points { prepared: usize },
    /// A matrix that the user has stored.
    Matrix,
    /// An operator of the user's, or rows on other machines.
    Operator,
}

/// What is known of a kernel PCA by passes before it starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PassTask {
    pub(crate) n: usize,
    pub(crate) d: usize,
    pub(crate) k: usize,
    pub(crate) kind: GramKind,
    /// Whether the tolerance lets passes be made in f32.
    pub(crate) f32: bool,
    /// The share of the variance that is asked for, if any.
    pub(crate) share: Option<f64>,
}

/// From this many points on, passes in f32 pay.
pub(crate) const F32_FROM: usize = 1500;
/// From this many points on, kernel values with landmarks are computed in f32.
const SUMS_IN_F32_FROM: usize = 50_000;
/// From this many points on, a preconditioner pays.
const PIVOTS_FROM: usize = 600;
/// From this many dimensions on, tiles are worth caching; of fewer, as long as all of them have at most so many bytes, about
/// what caches hold: more is computed as fast as memory is had from the system.
const CACHE_FROM: usize = 100;
const CACHE_UP_TO: u128 = 32_000_000;
/// Components that are computed first when a share of the variance is asked for.
pub(crate) const FIRST_COMPONENTS: usize = 16;

const FLOAT: u128 = 8;
/// An eigendecomposition holds the matrix, its vectors and three times as much scratch.
const EIGEN_COPIES: u128 = 5;
/// Arithmetic of a dense symmetric eigendecomposition with all vectors, in n^3.
const EIGEN_FLOPS: f64 = 9.0;
/// Floating-point operations that two ordinary cores do in a second.
const FLOPS_PER_SECOND: f64 = 1.1e11;

impl Plan {
    /// PCA of n points with so many features.
    pub(crate) fn pca(n: usize, features: u128, route: Route) -> Plan {
        let (wide, points) = (features > n as u128, n as u128);
        let (route, why) = match route {
            Route::Auto if wide => (PlannedRoute::Gram, format!("{n} points, {features} columns: the smaller matrix")),
            Route::Auto => (PlannedRoute::Covariance, format!("{n} points, {features} columns: the smaller matrix")),
            Route::Covariance => (PlannedRoute::Covariance, "requested".to_string()),
            Route::Gram => (PlannedRoute::Gram, "requested".to_string()),
            Route::Svd => (PlannedRoute::Svd, "requested".to_string()),
        };
        let small = points.min(features);
        let (nf, df, sf) = (n as f64, features as f64, small as f64);
        let square = |size: u128| size.saturating_mul(size).saturating_mul(FLOAT);
        let table = points.saturating_mul(features).saturating_mul(FLOAT);
        let (bytes, flops) = match route {
            PlannedRoute::Gram => (
                square(points).saturating_mul(EIGEN_COPIES).saturating_add(table.saturating_mul(3)),
                nf * nf * df + EIGEN_FLOPS * nf.powi(3),
            ),
            PlannedRoute::Svd => (
                // A tall table is reduced part by part.
                table
                    .min(features.saturating_mul(16 * FLOAT).saturating_mul(4096.max(features.saturating_mul(2))))
                    .saturating_mul(4)
                    .saturating_add(square(small).saturating_mul(EIGEN_COPIES)),
                4.0 * nf * df * sf + EIGEN_FLOPS * sf.powi(3),
            ),
            PlannedRoute::Covariance | PlannedRoute::Dense | PlannedRoute::Passes(_) | PlannedRoute::Landmarks(_) => (
                square(features).saturating_mul(EIGEN_COPIES).saturating_add(Plan::bytes_of_moments(features)),
                nf * df * df + EIGEN_FLOPS * df.powi(3),
            ),
        };
        Plan { route, why, n, features, bytes, flops }
    }

    /// Memory of the sums of moments: of few columns sixteen parts of the points, whose sums have two parts each; of many
    /// one such sum, a copy of it, and a few rows.
    pub(crate) fn bytes_of_moments(columns: u128) -> u128 {
        let square = columns.saturating_mul(columns).saturating_mul(FLOAT);
        match columns < WIDE_FROM as u128 {
            true => square.saturating_mul(32),
            false => square.saturating_mul(3).saturating_add(columns.saturating_mul(ROWS_TOGETHER as u128 * FLOAT)),
        }
    }

    /// Kernel PCA by all eigenpairs of the stored Gram matrix.
    pub(crate) fn dense(n: usize, d: usize, why: String) -> Plan {
        let points = n as u128;
        Plan {
            route: PlannedRoute::Dense,
            why,
            n,
            features: points,
            bytes: points.saturating_mul(points).saturating_mul(FLOAT * (EIGEN_COPIES + 1)),
            flops: (n as f64).powi(2) * d as f64 + EIGEN_FLOPS * (n as f64).powi(3),
        }
    }

    /// Kernel PCA by at most m landmarks: one pass over the points, sums of m^2 numbers and their eigenpairs.
    pub(crate) fn by_landmarks(n: usize, d: usize, m: usize, landmarks: Landmarks, why: String) -> Plan {
        let (size, nf, mf) = (m as u128, n as f64, m as f64);
        Plan {
            route: PlannedRoute::Landmarks(LandmarkPlan { landmarks, most: m, f32: n >= SUMS_IN_F32_FROM }),
            why,
            n,
            features: size,
            bytes: Plan::bytes_of_landmarks(m),
            flops: nf * mf * (mf + 2.0 * d as f64 + 30.0) + 2.0 * EIGEN_FLOPS * mf.powi(3),
        }
    }

    /// Memory that m landmarks need.
    pub(crate) fn bytes_of_landmarks(m: usize) -> u128 {
        let size = m as u128;
        let square = size.saturating_mul(size).saturating_mul(FLOAT);
        square.saturating_mul(EIGEN_COPIES + 4).saturating_add(size.saturating_mul(FLOAT * 8192))
    }

    /// Kernel PCA by passes: the k leading eigenpairs.
    pub(crate) fn by_passes(task: &PassTask, exec: &Exec) -> Plan {
        // Huge sizes are refused for their memory: none may overflow before.
        let PassTask { n, k, .. } = *task;
        let (nf, points, d) = (n as f64, (n as u128).min(1 << 60), task.d.min(1 << 40));
        let columns = columns(k).min(1 << 40) + 5;
        let of_points = matches!(task.kind, GramKind::Points { .. });
        let f32 = task.f32 && n >= F32_FROM;
        let value: u128 = if f32 { 4 } else { 8 };
        let budget = u128::from(exec.get_memory());
        // Pivots cost n r (d + r) operations: a twentieth of a pass.
        let pivots = if of_points && n >= PIVOTS_FROM {
            let r = (0.05 * nf * (d + 2 * columns + 30) as f64).sqrt() as usize;
            let most = (budget / 4 / (points * FLOAT)).min(400_000_000 / points) as usize;
            r.clamp(4 * columns, 2000.max(4 * columns)).min(n / 4).min(most)
        } else {
            0
        };
        let pivots = if pivots < columns { 0 } else { pivots };
        // A basis of sixteen steps is seldom filled; four are enough to continue from.
        let room = usize::try_from(budget / 3 / (points.max(1) * 2 * FLOAT)).unwrap_or(usize::MAX);
        let basis = (16 * columns).min(room).max(4 * columns).min(n);
        let vectors = (basis.min(8 * columns) as u128 * 2 + 8 * columns as u128) * points * FLOAT;
        // For a wide kernel it is in f64.
        let factor = (pivots as u128 * 3 / 2) * points * FLOAT;
        let prepared = match task.kind {
            // Some of them while they are made.
            GramKind::Points { prepared } => points * (prepared.min(1 << 40) + d) as u128 * FLOAT,
            GramKind::Matrix => points * points * FLOAT,
            GramKind::Operator => 0,
        };
        let expected = if pivots > 0 { 4 } else { 7 };
        let journal = if exec.keeps_passes() { expected as u128 * columns as u128 * points * FLOAT } else { 0 };
        let needed = prepared + vectors + factor + journal;
        let tiles = if of_points && needed < budget { Grid::new(n).all_entries() * value } else { 0 };
        let tiles = if d >= CACHE_FROM || tiles <= CACHE_UP_TO { tiles } else { 0 };
        let worth = (points * points * FLOAT / 6).max(128_000_000);
        let cached = tiles.min(worth).min(budget.saturating_sub(needed) * 3 / 4);
        let dense_fits = Plan::dense(n, d, String::new()).bytes <= budget;
        Plan {
            route: PlannedRoute::Passes(PassPlan {
                k,
                pivots,
                columns,
                basis,
                f32,
                cached,
                tiles,
                expected,
                dense_fits,
                stored: task.kind == GramKind::Matrix,
            }),
            why: match task.share {
                Some(share) => format!(
                    "as many components as have {share} of the variance, {k} at first, by passes over the Gram matrix; \
                     if many components are needed, time and memory are larger than stated"
                ),
                None => format!("{k} leading components of {n}, by passes over the Gram matrix tile by tile"),
            },
            n,
            features: points,
            bytes: needed + cached,
            flops: expected as f64 * nf * nf * (d + 2 * columns + 30) as f64,
        }
    }

    /// What belongs to a route by passes.
    pub fn passes(&self) -> Option<&PassPlan> {
        match &self.route {
            PlannedRoute::Passes(passes) => Some(passes),
            PlannedRoute::Covariance
            | PlannedRoute::Gram
            | PlannedRoute::Svd
            | PlannedRoute::Dense
            | PlannedRoute::Landmarks(_) => None,
        }
    }

    /// The plan of kernel PCA for the operator XX' of a PCA that is planned by its Gram matrix or by passes.
    pub(crate) fn of_operator(&self) -> Plan {
        let route = if self.passes().is_some() { self.route.clone() } else { PlannedRoute::Dense };
        Plan { route, features: self.n as u128, ..self.clone() }
    }

    /// Whether the whole matrix is stored.
    pub fn stores_matrix(&self) -> bool {
        match &self.route {
            PlannedRoute::Dense => true,
            PlannedRoute::Passes(passes) => passes.stored,
            PlannedRoute::Covariance | PlannedRoute::Gram | PlannedRoute::Svd | PlannedRoute::Landmarks(_) => false,
        }
    }

    /// What belongs to a route by landmarks; `None` for exact ones.
    pub fn landmarks(&self) -> Option<&LandmarkPlan> {
        match &self.route {
            PlannedRoute::Landmarks(plan) => Some(plan),
            PlannedRoute::Covariance
            | PlannedRoute::Gram
            | PlannedRoute::Svd
            | PlannedRoute::Dense
            | PlannedRoute::Passes(_) => None,
        }
    }

    /// Seconds that the work takes on two ordinary cores, roughly.
    pub fn seconds(&self) -> f64 {
        self.flops / FLOPS_PER_SECOND
    }

    /// Refuses a plan that does not fit the budget.
    pub(crate) fn allow(self, exec: &Exec, remedy: &str) -> Result<Self> {
        let what = match self.route {
            PlannedRoute::Dense => format!("the Gram matrix of {} points with its eigenvectors", self.n),
            PlannedRoute::Passes(_) => format!("finding the leading components of {} points", self.n),
            PlannedRoute::Landmarks(_) => format!("kernel PCA by {}", counted(self.features, "landmark")),
            PlannedRoute::Covariance | PlannedRoute::Gram | PlannedRoute::Svd => {
                let route = self.route.name();
                let (points, columns) = (points(self.n), counted(self.features, "column"));
                format!("PCA of {points} with {columns} by the {route} route")
            }
        };
        exec.allow(self.bytes, what, remedy)?;
        Ok(self)
    }
}

/// About how long it takes: one figure is all that is known of it.
fn duration(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s < 0.95 => return "less than a second".into(),
        s if s < 95.0 => (s, "second"),
        s if s < 5700.0 => (s / 60.0, "minute"),
        s if s < 170_000.0 => (s / 3600.0, "hour"),
        s => (s / 86_400.0, "day"),
    };
    let value = format!("{value:.0e}").parse::<f64>().unwrap_or(value);
    format!("about {value} {unit}{}", if value == 1.0 { "" } else { "s" })
}

/// A number of points, which batches need not know beforehand.
fn points(n: usize) -> String {
    match n {
        usize::MAX => "an unknown number of points".into(),
        n => counted(n as u128, "point"),
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "route      {} ({})", self.route.name(), self.why)?;
        match &self.route {
            PlannedRoute::Covariance | PlannedRoute::Gram | PlannedRoute::Svd => {
                writeln!(f, "size       {}, {}", points(self.n), counted(self.features, "column"))?;
            }
            PlannedRoute::Landmarks(p) => {
                writeln!(f, "size       {}, at most {}", points(self.n), counted(p.most as u128, "landmark"))?;
                let precision = if p.f32 { "f32 where these points allow it, else f64" } else { "f64" };
                writeln!(f, "kernel     values with landmarks in {precision}")?;
            }
            PlannedRoute::Dense => writeln!(f, "size       {} points", self.n)?,
            PlannedRoute::Passes(p) => {
                writeln!(f, "size       {} points", self.n)?;
                let start = if p.pivots > 0 { format!("{} pivots", p.pivots) } else { "a random block".into() };
                let precision = if p.f32 { "in f32, the last in f64" } else { "in f64" };
                writeln!(f, "passes     about {} over the Gram matrix, {precision}, from {start}", p.expected)?;
                let tiles = match p.cached {
                    0 => "recomputed in each pass".to_string(),
                    cached if cached >= p.tiles => format!("all cached ({})", Bytes(cached)),
                    cached => format!("{} of {} cached, the others recomputed", Bytes(cached), Bytes(p.tiles)),
                };
                writeln!(f, "tiles      {tiles}")?;
            }
        }
        writeln!(f, "memory     about {} besides the data", Bytes(self.bytes))?;
        match self.n {
            usize::MAX => write!(f, "work       proportional to the number of points"),
            _ => write!(
                f,
                "work       about {:.1e} floating-point operations: {} on two ordinary cores",
                self.flops,
                duration(self.seconds())
            ),
        }
    }
}

impl Components {
    /// The number to begin with, and the share that is asked for; `None` for all.
    pub(crate) fn first_count(self) -> Option<(usize, Option<f64>)> {
        match self {
            Components::All => None,
            Components::Share(share) => Some((FIRST_COMPONENTS, Some(share))),
            Components::Count(k) | Components::UpTo(k) => Some((k, None)),
        }
    }
}
