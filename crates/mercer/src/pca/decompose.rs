//! The three routes from features to their axes.

use super::{Pca, Route};
use crate::block::Block;
use crate::error::{ErrorKind, Result};
use crate::exec::Exec;
use crate::linalg;
use crate::moments::{Moments, standardised, two_sum};
use crate::points::{Points, PointsRef};
use crate::real::{Real, SQUARABLE, largest};

/// Where the features lie: what is subtracted from them and what they are divided by.
pub(super) struct Location {
    pub(super) mean: Vec<f64>,
    /// What rounding took from the mean.
    rest: Vec<f64>,
    pub(super) scale: Vec<f64>,
    pub(super) constant: Vec<bool>,
    center: bool,
}

impl Location {
    pub(super) fn of<T: Real>(x: PointsRef<'_, T>, spec: &Pca) -> Result<Self> {
        let (n, d) = (x.n() as f64, x.d());
        let first: Vec<f64> = x.row(0).iter().map(|v| v.to_f64()).collect();
        let (mut mean, mut constant) = (vec![0.0; d], vec![true; d]);
        for row in x.rows() {
            for j in 0..d {
                let v = row[j].to_f64();
                mean[j] += (v - first[j]) / n;
                constant[j] &= v == first[j];
            }
        }
        for j in 0..d {
            mean[j] = if constant[j] { first[j] } else { mean[j] + first[j] };
        }
        // What rounding left of the mean.
        let mut rest = vec![0.0; d];
        for row in x.rows() {
            for j in 0..d {
                rest[j] += (row[j].to_f64() - mean[j]) / n;
            }
        }
        for j in 0..d {
            (mean[j], rest[j]) = match (spec.center, constant[j]) {
                (false, _) => (0.0, 0.0),
                (true, true) => (mean[j], 0.0),
                (true, false) => two_sum(mean[j], rest[j]),
            };
        }
        // The spread about it, of each column relative to its largest magnitude, so that no square leaves the range.
        let used = |row: &[T], j: usize| row[j].to_f64() - mean[j] - rest[j];
        let mut columns = vec![0.0f64; d];
        for row in x.rows() {
            for j in 0..d {
                columns[j] = columns[j].max(used(row, j).abs());
            }
        }
        let magnitude = largest(&columns);
        if magnitude > 0.0 && !SQUARABLE.contains(&magnitude) {
            return Err(ErrorKind::Range { what: "points", magnitude }.into());
        }
        let tiny = columns.iter().find(|v| **v > 0.0 && **v < SQUARABLE.start);
        if let (true, Some(&magnitude)) = (spec.standardise, tiny) {
            return Err(ErrorKind::Range { what: "points", magnitude }.into());
        }
        let mut squares = vec![0.0; d];
        for row in x.rows() {
            for j in 0..d {
                squares[j] += used(row, j) * used(row, j);
            }
        }
        let divisor = if spec.center { (n - 1.0).max(1.0) } else { n };
        let scale =
            squares.iter().map(|s| if spec.standardise && *s > 0.0 { (s / divisor).sqrt() } else { 1.0 }).collect();
        if !spec.center {
            constant = squares.iter().map(|s| *s == 0.0).collect();
        }
        Ok(Location { mean, rest, scale, constant, center: spec.center })
    }

    pub(super) fn decompose<T: Real>(&self, x: PointsRef<'_, T>, route: Route, exec: &Exec) -> Result<Decomposed> {
        let most = x.n().min(x.d());
        match route {
            Route::Covariance | Route::Auto => {
                let moments = Moments::of_with(x, exec)?;
                let mut s = if self.center { moments.scatter() } else { moments.scatter_about_origin() };
                for j in 0..s.b() {
                    for i in 0..s.n() {
                        *s.at_mut(i, j) /= self.scale[i] * self.scale[j];
                    }
                }
                let (eigenvalues, axes) = linalg::eigh(s.clone())?;
                Ok(Decomposed::new(eigenvalues, most, Basis::Scatter { scatter: s, axes }))
            }
            Route::Gram => {
                let x = standardised(x, &self.mean, &self.rest, &self.scale);
                let gram = linalg::outer_gram(&x);
                let (eigenvalues, vectors) = linalg::eigh(gram)?;
                Ok(Decomposed::new(eigenvalues, most, Basis::Points { x, vectors }))
            }
            Route::Svd => {
                let x = standardised(x, &self.mean, &self.rest, &self.scale);
                let (s, axes) = linalg::svd_right(&x)?;
                Ok(Decomposed::new(s.iter().map(|s| s * s).collect(), most, Basis::Axes { x, axes }))
            }
        }
    }
}

/// X B.
fn times(x: &Points<f64>, b: &Block) -> Block {
    Block::from_fn(x.n(), b.b(), |i, j| x.row(i).iter().zip(b.col(j)).map(|(x, v)| x * v).sum())
}

/// Eigenvalues, and what the axes are made from once it is known how many are wanted.
pub(super) struct Decomposed {
    /// All min(n, d), descending, none negative.
    pub(super) eigenvalues: Vec<f64>,
    basis: Basis,
}

enum Basis {
    /// Eigenvectors of the scatter matrix.
    Scatter { scatter: Block, axes: Block },
    /// Eigenvectors of the Gram matrix of x.
    Points { x: Points<f64>, vectors: Block },
    /// Right singular vectors of x.
    Axes { x: Points<f64>, axes: Block },
}

impl Decomposed {
    fn new(mut eigenvalues: Vec<f64>, most: usize, basis: Basis) -> Self {
        eigenvalues.truncate(most);
        eigenvalues.iter_mut().for_each(|v| *v = v.max(0.0));
        Decomposed { eigenvalues, basis }
    }

    /// The first k axes and the residuals |S f - lambda f| of their eigenpairs, S = X'X.
    pub(super) fn axes(self, k: usize) -> (Block, Vec<f64>) {
        let (axes, image) = match self.basis {
            Basis::Scatter { scatter, axes } => {
                let axes = axes.first(k);
                let image = linalg::product(&scatter, &axes);
                (axes, image)
            }
            Basis::Points { x, vectors } => {
                // f = X'u / sqrt(lambda); axes without variance are completed to an orthonormal basis.
                let mut axes = linalg::transposed_product(&x, &vectors.first(k));
                let cut = f64::EPSILON * x.n().max(x.d()) as f64 * self.eigenvalues[0];
                for j in 0..k {
                    let value = self.eigenvalues[j];
                    let column = axes.col_mut(j);
                    if value > cut { column.iter_mut().for_each(|v| *v /= value.sqrt()) } else { column.fill(0.0) }
                }
                linalg::orthonormalise(&mut axes);
                let image = linalg::transposed_product(&x, &times(&x, &axes));
                (axes, image)
            }
            Basis::Axes { x, axes } => {
                let axes = axes.first(k);
                let image = linalg::transposed_product(&x, &times(&x, &axes));
                (axes, image)
            }
        };
        let residuals = (0..k)
            .map(|j| {
                let value = self.eigenvalues[j];
                let gap: Vec<f64> = image.col(j).iter().zip(axes.col(j)).map(|(a, f)| a - value * f).collect();
                linalg::norm(&gap)
            })
            .collect();
        (axes, residuals)
    }

    pub(super) fn total(&self) -> f64 {
        self.eigenvalues.iter().sum()
    }

    /// The number of eigenvalues that rounding cannot have made, by the error of the route.
    pub(super) fn rank(&self, route: Route, size: usize) -> usize {
        let cut = f64::EPSILON * size as f64;
        let cut = if route == Route::Svd { cut * cut } else { cut };
        let largest = self.eigenvalues[0];
        self.eigenvalues.iter().take_while(|v| **v > cut * largest).count()
    }
}
