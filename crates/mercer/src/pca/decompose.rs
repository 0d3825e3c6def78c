//! The three routes from features to their axes.

use super::Pca;
use crate::block::Block;
use crate::eigen::{Allowance, Residual};
use crate::error::{ErrorKind, ErrorSubject, Result};
use crate::exec::Exec;
use crate::factor::Factor;
use crate::linalg;
use crate::moments::{Columns, Moments, UNIT, standardised};
use crate::options::Route;
use crate::points::{Points, PointsRef};
use crate::precise::{self, two_product};
use crate::real::{Real, SQUARABLE, largest};

/// Where the features lie: what is subtracted from them and what they are divided by.
pub(super) struct Location {
    pub(super) mean: Vec<f64>,
    /// What rounding took from the mean.
    rest: Vec<f64>,
    pub(super) scale: Vec<f64>,
    pub(super) constant: Vec<bool>,
    center: bool,
    standardise: bool,
    /// A bound on the error of a product of two values less their mean and divided by their scale, relative to it.
    pub(super) error_of_rows: f64,
    /// A bound on the Frobenius norm of the errors of all features, scaled.
    error_of_features: f64,
}

/// Two subtractions and a division for each of two values.
const OF_CENTRING: f64 = 6.0 * UNIT;

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
        let scale: Vec<f64> =
            squares.iter().map(|s| if spec.standardise && *s > 0.0 { (s / divisor).sqrt() } else { 1.0 }).collect();
        let constant = (0..d).map(|j| if spec.center { columns.is_constant(j) } else { squares[j] == 0.0 }).collect();
        let error_of_rows = OF_CENTRING + if spec.standardise { 2.0 * Columns::SQUARE_ERROR } else { 0.0 };
        let of_feature = |j: usize| {
            let square = columns.square(j) + weight * about_origin[j] * about_origin[j];
            (square.max(0.0) / scale[j] / scale[j]).sqrt()
        };
        let error_of_features = match spec.embedding.error() {
            0.0 => 0.0,
            error => error * linalg::norm(&(0..d).map(of_feature).collect::<Vec<f64>>()),
        };
        let (center, standardise) = (spec.center, spec.standardise);
        Ok(Location { mean, rest, scale, constant, center, standardise, error_of_rows, error_of_features })
    }

    /// By the covariance route the moments are all that is looked at.
    pub(super) fn decompose<T: Real>(
        &self,
        x: PointsRef<'_, T>,
        moments: Option<&Moments>,
        route: Route,
        exec: &Exec,
    ) -> Result<Decomposed> {
        self.found(x, moments, route, exec).map(|found| self.with_features(found))
    }

    /// Adds what the errors of the features, of the norm e, can do to X'X: 2 sqrt(lambda_1) e + e^2.
    pub(super) fn with_features(&self, mut found: Decomposed) -> Decomposed {
        let (e, largest) = (self.error_of_features, found.eigenvalues.first().copied().unwrap_or(0.0));
        found.error += 2.0 * largest.sqrt() * e + e * e;
        found
    }

    fn found<T: Real>(
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
                let (gram, error) = match is_small(&x) {
                    true => (precise::products(x.as_slice(), x.d(), &columns_of(&x)).0, UNIT),
                    false => (linalg::outer_gram(&x), linalg::product_error(x.d())),
                };
                let (eigenvalues, vectors) = linalg::eigh(gram)?;
                let error = (error + self.error_of_rows) * x.square();
                Ok(Decomposed::new(eigenvalues, most, error, Basis::Points { x, vectors }))
            }
            Route::Svd => {
                // Of many points a factor is enough, which is found in one look at them.
                if x.n() > 4 * x.d() {
                    return self.of_factor(&Factor::of_with(x, exec)?, most);
                }
                Decomposed::of_rows(standardised(x, &self.mean, &self.rest, &self.scale), most, self.error_of_rows)
            }
        }
    }
}

impl Location {
    /// From the scatter.
    pub(super) fn of_moments(&self, moments: &Moments, most: usize) -> Result<Decomposed> {
        let (s, error) = self.scatter(moments);
        Decomposed::of_scatter(s, most, error)
    }

    /// The scatter, and a bound on the norm of its error.
    pub(super) fn scatter(&self, moments: &Moments) -> (Block, f64) {
        let mut s = if self.center { moments.scatter() } else { moments.scatter_about_origin() };
        let mut error = moments.error() + if self.center { 0.0 } else { 8.0 * UNIT };
        if self.standardise {
            for j in 0..s.b() {
                for i in 0..s.n() {
                    *s.at_mut(i, j) /= self.scale[i] * self.scale[j];
                }
            }
            error += 2.0 * Columns::SQUARE_ERROR + 4.0 * UNIT;
        }
        // Errors of at most e sqrt(S_ii S_jj) have the norm e tr S.
        let error = error * trace(&s);
        (s, error)
    }

    /// From rows R with R'R = X'X, which have the same singular values and the same right singular vectors, and the digits
    /// that X'X would lose (MATHS.md, M2).
    pub(super) fn of_factor(&self, factor: &Factor, most: usize) -> Result<Decomposed> {
        let of_scale = self.error_of_rows - OF_CENTRING;
        Decomposed::of_rows(factor.scaled(self.center, &self.scale), most, factor.error() + of_scale)
    }

    /// What a user should know about the columns.
    pub(super) fn notes(&self, spec: &Pca) -> Vec<String> {
        let constant = self.constant.iter().filter(|c| **c).count();
        let (are, all) = (if constant == 1 { "is" } else { "are" }, self.constant.len());
        let said = format!("{constant} of {all} columns {are} constant and not standardised");
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
        return Err(ErrorKind::Range { what: ErrorSubject::Points, magnitude }.into());
    }
    let tiny = columns.iter().find(|v| **v > 0.0 && **v < SQUARABLE.start);
    match (spec.standardise, tiny) {
        (true, Some(&magnitude)) => Err(ErrorKind::Range { what: ErrorSubject::Points, magnitude }.into()),
        _ => Ok(()),
    }
}

/// The sum of the diagonal.
pub(super) fn trace(matrix: &Block) -> f64 {
    (0..matrix.n()).map(|j| matrix.at(j, j).max(0.0)).sum()
}

/// Whether products of these points are computed in twice the precision.
fn is_small(x: &Points<f64>) -> bool {
    precise::affordable([x.n(), x.d(), x.n().min(x.d())])
}

/// The points as columns.
fn columns_of(x: &Points<f64>) -> Block {
    Block::from_fn(x.d(), x.n(), |i, j| x.row(j)[i])
}

/// Eigenvalues, and what the axes are made from once it is known how many are wanted.
pub(super) struct Decomposed {
    /// All min(n, d), descending, none negative.
    pub(super) eigenvalues: Vec<f64>,
    /// A bound on the norm of the error of the matrix that was decomposed.
    error: f64,
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
    /// Of a scatter matrix whose error has at most the norm `error`.
    pub(super) fn of_scatter(scatter: Block, most: usize, error: f64) -> Result<Self> {
        let (eigenvalues, axes) = linalg::eigh(scatter.clone())?;
        Ok(Decomposed::new(eigenvalues, most, error, Basis::Scatter { scatter, axes }))
    }

    /// Of rows X, where X'X has an error of at most `error` times its trace.
    fn of_rows(x: Points<f64>, most: usize, error: f64) -> Result<Self> {
        let (s, axes) = linalg::svd_right(&x)?;
        let error = error * x.square();
        Ok(Decomposed::new(s.iter().map(|s| s * s).collect(), most, error, Basis::Axes { x, axes }))
    }

    /// What to say when component k is so small that the route loses its digits.
    pub(super) fn lost_digits(&self, k: usize, route: Route) -> Option<String> {
        let ratio = self.eigenvalues[k - 1] / self.eigenvalues[0];
        (route != Route::Svd && ratio < RETREAT).then(|| {
            let name = route.name();
            format!("component {k} has {ratio:.0e} of the largest variance, where the {name} route loses digits")
        })
    }

    fn new(mut eigenvalues: Vec<f64>, most: usize, error: f64, basis: Basis) -> Self {
        eigenvalues.truncate(most);
        eigenvalues.iter_mut().for_each(|v| *v = v.max(0.0));
        Decomposed { eigenvalues, error, basis }
    }

    /// What rounding can have done to an eigenvalue and to the residual of a pair (M24): the error of the matrix, of its
    /// decomposition, and of the products that residuals are measured with.
    pub(super) fn rounding(&self) -> Allowance {
        let largest = self.eigenvalues.first().copied().unwrap_or(0.0);
        let (size, measured) = match &self.basis {
            Basis::Scatter { scatter, .. } => {
                let d = scatter.n();
                let error = if precise::affordable([d, d, d]) { UNIT } else { linalg::product_error(d) };
                (d, error * linalg::norm(scatter.as_slice()))
            }
            Basis::Points { x, .. } | Basis::Axes { x, .. } => {
                let products = linalg::product_error(x.n()) + linalg::product_error(x.d());
                let error = if is_small(x) { 4.0 * UNIT } else { products };
                (x.n().min(x.d()), error * x.square())
            }
        };
        Allowance { of_residuals: self.error + measured, of_solver: linalg::solver_error(size) * largest }
    }

    /// The first k axes and the residuals S f - lambda f of their eigenpairs, S = X'X.
    pub(super) fn axes(self, k: usize) -> (Block, Vec<Residual>) {
        let values = &self.eigenvalues;
        match self.basis {
            Basis::Scatter { scatter, axes } => {
                let (axes, d) = (axes.first(k), scatter.n());
                let images = match precise::affordable([d, d, d]) {
                    true => precise::products(scatter.as_slice(), d, &axes),
                    false => (linalg::product(&scatter, &axes), Block::zeros(d, k)),
                };
                let residuals = residuals(values, &axes, images);
                (axes, residuals)
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
                let residuals = residuals(values, &axes, images(&x, &axes));
                (axes, residuals)
            }
            Basis::Axes { x, axes } => {
                let axes = axes.first(k);
                let residuals = residuals(values, &axes, images(&x, &axes));
                (axes, residuals)
            }
        }
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

/// X'X F, in two parts.
fn images(x: &Points<f64>, axes: &Block) -> (Block, Block) {
    if is_small(x) {
        let (scores, _) = precise::products(x.as_slice(), x.d(), axes);
        return precise::products(columns_of(x).transposed().as_slice(), x.n(), &scores);
    }
    (linalg::transposed_product(x, &linalg::product_of_points(x, axes)), Block::zeros(x.d(), axes.b()))
}

/// S f - lambda f of each axis, given S F in two parts.
fn residuals(values: &[f64], axes: &Block, (high, low): (Block, Block)) -> Vec<Residual> {
    let residual = |j: usize| {
        let entry = |i: usize| {
            let (product, error) = two_product(values[j], axes.at(i, j));
            (high.at(i, j) - product) + (low.at(i, j) - error)
        };
        Residual::of(&(0..axes.n()).map(entry).collect::<Vec<f64>>(), axes.col(j))
    };
    (0..axes.b()).map(residual).collect()
}
