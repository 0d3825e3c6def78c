//! The three routes from features to their axes.

use super::Pca;
use crate::block::Block;
use crate::error::{ErrorKind, Result};
use crate::exec::Exec;
use crate::factor::Factor;
use crate::linalg;
use crate::moments::{Columns, Moments, standardised};
use crate::options::Route;
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
    pub(super) fn of(columns: &Columns, spec: &Pca) -> Result<Self> {
        let (weight, zero) = (columns.weight(), vec![0.0; columns.mean().len()]);
        let d = zero.len();
        let (mean, rest) = if spec.center { (columns.mean(), columns.rest()) } else { (zero.clone(), zero) };
        check_spread((0..d).map(|j| columns.spread(j, mean[j])).collect(), spec)?;
        let about_origin = columns.mean();
        let squares: Vec<f64> = (0..d)
            .map(|j| columns.square(j) + if spec.center { 0.0 } else { weight * about_origin[j] * about_origin[j] })
            .collect();
        let divisor = if spec.center { (weight - 1.0).max(1.0) } else { weight };
        let scale =
            squares.iter().map(|s| if spec.standardise && *s > 0.0 { (s / divisor).sqrt() } else { 1.0 }).collect();
        let constant = (0..d).map(|j| if spec.center { columns.is_constant(j) } else { squares[j] == 0.0 }).collect();
        Ok(Location { mean, rest, scale, constant, center: spec.center })
    }

    /// By the covariance route the moments are all that is looked at.
    pub(super) fn decompose<T: Real>(
        &self,
        x: PointsRef<'_, T>,
        moments: Option<&Moments>,
        route: Route,
        exec: &Exec,
    ) -> Result<Decomposed> {
        let most = x.n().min(x.d());
        match route {
            Route::Covariance | Route::Auto => {
                let own;
                let moments = match moments {
                    Some(moments) => moments,
                    None => {
                        own = Moments::of_with(x, exec)?;
                        &own
                    }
                };
                self.of_moments(moments, most)
            }
            Route::Gram => {
                let x = standardised(x, &self.mean, &self.rest, &self.scale);
                let gram = linalg::outer_gram(&x);
                let (eigenvalues, vectors) = linalg::eigh(gram)?;
                Ok(Decomposed::new(eigenvalues, most, Basis::Points { x, vectors }))
            }
            Route::Svd => {
                // Of many points a factor is enough, which is found in one look at them.
                if x.n() > 4 * x.d() {
                    return self.of_factor(&Factor::of_with(x, exec)?, most);
                }
                Decomposed::of_rows(standardised(x, &self.mean, &self.rest, &self.scale), most)
            }
        }
    }
}

impl Location {
    /// From the scatter.
    pub(super) fn of_moments(&self, moments: &Moments, most: usize) -> Result<Decomposed> {
        let mut s = if self.center { moments.scatter() } else { moments.scatter_about_origin() };
        for j in 0..s.b() {
            for i in 0..s.n() {
                *s.at_mut(i, j) /= self.scale[i] * self.scale[j];
            }
        }
        Decomposed::of_scatter(s, most)
    }

    /// From rows R with R'R = X'X, which have the same singular values and the same right singular vectors, and the digits
    /// that X'X would lose (MATHS.md, M2).
    pub(super) fn of_factor(&self, factor: &Factor, most: usize) -> Result<Decomposed> {
        Decomposed::of_rows(factor.scaled(self.center, &self.scale), most)
    }

    /// What a user should know about the columns.
    pub(super) fn notes(&self, spec: &Pca) -> Vec<String> {
        let constant = self.constant.iter().filter(|c| **c).count();
        let said = format!("{constant} of {} columns are constant and were not standardised", self.constant.len());
        if spec.standardise && constant > 0 { vec![said] } else { Vec::new() }
    }
}

/// Eigenvalues of a product matrix lose digits as (largest / smallest): below this ratio the singular value
/// decomposition, which loses only its root, is the better way.
pub(super) const RETREAT: f64 = 2e-6;

/// Refuses columns whose spread about the mean cannot be squared.
fn check_spread(columns: Vec<f64>, spec: &Pca) -> Result<()> {
    let magnitude = largest(&columns);
    if magnitude > 0.0 && !SQUARABLE.contains(&magnitude) {
        return Err(ErrorKind::Range { what: "points", magnitude }.into());
    }
    let tiny = columns.iter().find(|v| **v > 0.0 && **v < SQUARABLE.start);
    match (spec.standardise, tiny) {
        (true, Some(&magnitude)) => Err(ErrorKind::Range { what: "points", magnitude }.into()),
        _ => Ok(()),
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
    pub(super) fn of_scatter(scatter: Block, most: usize) -> Result<Self> {
        let (eigenvalues, axes) = linalg::eigh(scatter.clone())?;
        Ok(Decomposed::new(eigenvalues, most, Basis::Scatter { scatter, axes }))
    }

    fn of_rows(x: Points<f64>, most: usize) -> Result<Self> {
        let (s, axes) = linalg::svd_right(&x)?;
        Ok(Decomposed::new(s.iter().map(|s| s * s).collect(), most, Basis::Axes { x, axes }))
    }

    /// What to say when component k is so small that the route loses its digits.
    pub(super) fn lost_digits(&self, k: usize, route: Route) -> Option<String> {
        let ratio = self.eigenvalues[k - 1] / self.eigenvalues[0];
        (route != Route::Svd && ratio < RETREAT).then(|| {
            let name = route.name();
            format!("component {k} has {ratio:.0e} of the largest variance, where the {name} route loses digits")
        })
    }

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
