//! Plan: what will be done, and what it will need, decided from sizes alone before anything is allocated.

use std::fmt;

use crate::eigen::columns;
use crate::error::{Bytes, Result};
use crate::exec::Exec;
use crate::op::pass::Grid;
use crate::pca::Route;
use crate::spectrum::Components;

/// The chosen way, its reason and its needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The way: "covariance", "gram", "svd"; for kernel PCA "dense" (all eigenpairs of the stored Gram matrix), "passes"
    /// (the leading ones, by passes over a Gram matrix that is not stored) or "landmarks" (approximate).
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
    /// More about the route "passes".
    pub passes: Option<PassPlan>,
}

/// How the leading eigenpairs are found by passes over the Gram matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct PassPlan {
    /// Eigenpairs that are looked for.
    pub k: usize,
    /// Landmarks that the search starts from; 0 for a start at random.
    pub landmarks: usize,
    /// Vectors that a pass multiplies.
    pub columns: usize,
    /// The most vectors that are kept.
    pub basis: usize,
    /// Whether passes are made in f32 before the last one in f64.
    pub swift: bool,
    /// Bytes of tiles that are kept between passes; the others are computed anew. It changes no bit of the result.
    pub kept: u128,
    /// Bytes of all tiles.
    pub tiles: u128,
    /// Passes, roughly.
    pub expected: usize,
}

/// Where a Gram matrix comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A kernel on points.
    Points,
    /// The user, who has it stored.
    Matrix,
    /// The user, who can multiply by it.
    Operator,
}

/// What is known of a kernel PCA before it starts.
pub(crate) struct KernelTask {
    pub(crate) n: usize,
    pub(crate) d: usize,
    pub(crate) components: Components,
    /// Up to so many points all eigenpairs are computed, and why.
    pub(crate) dense_up_to: usize,
    pub(crate) dense_because: &'static str,
    /// Where the Gram matrix comes from.
    pub(crate) source: Source,
    /// Whether f32 is good enough to find the way.
    pub(crate) narrow: bool,
}

/// From this many points on, passes in f32 pay.
const SWIFT_FROM: usize = 1500;
/// From this many points on, landmarks pay.
const LANDMARKS_FROM: usize = 600;
/// From this many dimensions on, tiles are worth keeping; of fewer, as long as all of them have at most so many bytes, about
/// what caches hold: more is computed as fast as memory is had from the system.
const KEEP_FROM: usize = 100;
const KEEP_UP_TO: u128 = 32_000_000;
/// Components that are looked for first when a share of the variance is asked for.
pub(crate) const FIRST_COMPONENTS: usize = 16;

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
                // A tall table is reduced part by part.
                table
                    .min(features.saturating_mul(16 * FLOAT).saturating_mul(4096.max(features.saturating_mul(2))))
                    .saturating_mul(4)
                    .saturating_add(square(small).saturating_mul(EIGEN_COPIES)),
                4.0 * nf * df * sf + EIGEN_FLOPS * sf.powi(3),
            ),
        };
        (route, Plan { route: route.name(), why, n, features, bytes, flops, passes: None })
    }

    /// How kernel PCA is done: all eigenpairs of the stored matrix where that is small or asked for, else the leading ones
    /// by passes.
    pub(crate) fn kernel_pca(task: &KernelTask, exec: &Exec) -> Plan {
        let KernelTask { n, components, .. } = *task;
        let dense = |why: String| Plan::dense(n, task.d, why);
        let k = match components {
            Components::All => return dense("all components are asked for".into()),
            Components::Share(_) => FIRST_COMPONENTS,
            Components::Count(k) => k,
        };
        if n <= task.dense_up_to {
            return dense(format!("{} ({n}): all eigenpairs of the stored Gram matrix", task.dense_because));
        }
        let whole = dense(format!("{k} of {n} components are many: all eigenpairs of the stored Gram matrix"));
        if k > n / 10 && whole.bytes <= u128::from(exec.memory_budget()) {
            return whole;
        }
        Plan::by_passes(task, k, exec)
    }

    /// All eigenpairs of the stored Gram matrix.
    pub(crate) fn dense(n: usize, d: usize, why: String) -> Plan {
        let points = n as u128;
        Plan {
            route: "dense",
            why,
            n,
            features: points,
            bytes: points.saturating_mul(points).saturating_mul(FLOAT * (EIGEN_COPIES + 1)),
            flops: (n as f64).powi(2) * d as f64 + EIGEN_FLOPS * (n as f64).powi(3),
            passes: None,
        }
    }

    /// Kernel PCA by m landmarks: one look at the points, sums of m^2 numbers and their eigenpairs.
    pub(crate) fn by_landmarks(n: usize, d: usize, m: usize, why: String) -> Plan {
        let (size, nf, mf) = (m as u128, n as f64, m as f64);
        let square = size.saturating_mul(size).saturating_mul(FLOAT);
        Plan {
            route: "landmarks",
            why,
            n,
            features: size,
            bytes: square.saturating_mul(EIGEN_COPIES + 4).saturating_add(size.saturating_mul(FLOAT * 8192)),
            flops: nf * mf * (mf + 2.0 * d as f64 + 30.0) + 2.0 * EIGEN_FLOPS * mf.powi(3),
            passes: None,
        }
    }

    /// The k leading eigenpairs by passes.
    pub(crate) fn by_passes(task: &KernelTask, k: usize, exec: &Exec) -> Plan {
        // Sizes beyond all measure are refused for their memory: none may overflow before.
        let KernelTask { n, .. } = *task;
        let (nf, points, d) = (n as f64, (n as u128).min(1 << 60), task.d.min(1 << 40));
        let columns = columns(k).min(1 << 40) + 5;
        let of_points = task.source == Source::Points;
        let swift = task.narrow && of_points && n >= SWIFT_FROM;
        let value: u128 = if swift { 4 } else { 8 };
        let budget = u128::from(exec.memory_budget());
        // Landmarks cost n r (d + r) operations: a twentieth of a pass.
        let landmarks = if of_points && n >= LANDMARKS_FROM {
            let r = (0.05 * nf * (d + 2 * columns + 30) as f64).sqrt() as usize;
            let most = (budget / 4 / (points * FLOAT)).min(400_000_000 / points) as usize;
            r.clamp(4 * columns, 2000.max(4 * columns)).min(n / 4).min(most)
        } else {
            0
        };
        let landmarks = if landmarks < columns { 0 } else { landmarks };
        // A basis of sixteen steps is seldom filled; four are enough to go on from.
        let room = usize::try_from(budget / 3 / (points * 2 * FLOAT)).unwrap_or(usize::MAX);
        let basis = (16 * columns).min(room).max(4 * columns).min(n);
        let vectors = (basis.min(8 * columns) as u128 * 2 + 8 * columns as u128) * points * FLOAT;
        // For a wide kernel it is in f64.
        let factor = (landmarks as u128 * 3 / 2) * points * FLOAT;
        let prepared = match task.source {
            Source::Points => points * d as u128 * (4 * FLOAT),
            Source::Matrix => points * points * FLOAT,
            Source::Operator => 0,
        };
        let expected = if landmarks > 0 { 4 } else { 7 };
        let journal = if exec.has_journal() { expected as u128 * columns as u128 * points * FLOAT } else { 0 };
        let needed = prepared + vectors + factor + journal;
        let tiles = if of_points && needed < budget { Grid::new(n).all_entries() * value } else { 0 };
        let tiles = if d >= KEEP_FROM || tiles <= KEEP_UP_TO { tiles } else { 0 };
        let worth = (points * points * FLOAT / 6).max(128_000_000);
        let kept = tiles.min(worth).min(budget.saturating_sub(needed) * 3 / 4);
        Plan {
            route: "passes",
            why: match task.components {
                Components::Share(share) => format!(
                    "as many components as have {share} of the variance, {k} at first, by passes over the Gram matrix; \
                     for many it takes much more than is said here"
                ),
                _ => format!("{k} leading components of {n}, by passes over the Gram matrix tile by tile"),
            },
            n,
            features: points,
            bytes: needed + kept,
            flops: expected as f64 * nf * nf * (d + 2 * columns + 30) as f64,
            passes: Some(PassPlan { k, landmarks, columns, basis, swift, kept, tiles, expected }),
        }
    }

    /// Refuses a plan that does not fit the budget.
    pub(crate) fn allow(self, exec: &Exec, remedy: &str) -> Result<Self> {
        let what = match self.route {
            "dense" => format!("the Gram matrix of {} points with its eigenvectors", self.n),
            "passes" => format!("finding the leading components of {} points", self.n),
            "landmarks" => format!("kernel PCA by {} landmarks", self.features),
            route => format!("PCA of {} points with {} features by the {route} route", self.n, self.features),
        };
        exec.allow(self.bytes, what, remedy)?;
        Ok(self)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "route      {} ({})", self.route, self.why)?;
        match self.route {
            "dense" | "passes" => writeln!(f, "size       {} points", self.n)?,
            "landmarks" => writeln!(f, "size       {} points, at most {} landmarks", self.n, self.features)?,
            _ => writeln!(f, "size       {} points, {} features", self.n, self.features)?,
        }
        if let Some(p) = &self.passes {
            let landmarks =
                if p.landmarks > 0 { format!("{} landmarks", p.landmarks) } else { "a random block".into() };
            let precision = if p.swift { "in f32, the last in f64" } else { "in f64" };
            writeln!(f, "passes     about {} over the Gram matrix, {precision}, from {landmarks}", p.expected)?;
            let tiles = match p.kept {
                0 => "computed anew in each pass".to_string(),
                kept if kept >= p.tiles => format!("all kept ({})", Bytes(kept)),
                kept => format!("{} of {} kept, the others computed anew", Bytes(kept), Bytes(p.tiles)),
            };
            writeln!(f, "tiles      {tiles}")?;
        }
        writeln!(f, "memory     about {} besides the data", Bytes(self.bytes))?;
        write!(f, "work       about {:.1e} floating-point operations", self.flops)
    }
}
