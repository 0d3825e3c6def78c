//! Principal component analysis, of points or of their explicit embedding.

use crate::block::Block;
use crate::eigen::{Certificate, Eigen, sign};
use crate::embedding::Embedding;
use crate::error::{Bytes, Error, ErrorKind, Result};
use crate::exec::Exec;
use crate::features::{Features, Standardise};
use crate::linalg;
use crate::moments::{Moments, standardised, two_sum};
use crate::plan::Plan;
use crate::points::{Points, PointsRef};
use crate::projection::{Projection, finite};
use crate::real::{Real, SQUARABLE, largest};
use crate::spectrum::{Components, Spectrum};

/// Eigenvalues of a product matrix lose digits as (largest / smallest): below this ratio the singular value
/// decomposition, which loses only its root, takes over.
const RETREAT: f64 = 2e-6;

/// How PCA is to be done.
///
/// # Definition
/// The axes are the leading eigenvectors of the scatter matrix of the points (MATHS.md, M1-M3), or of their embedding
/// phi(x) (M4). Scores are y = F'(x - m), reconstructions m + F y.
///
/// # Example
/// ```
/// use mercer::{Pca, Points};
/// let x = Points::from_rows(&[[2.0, 1.0], [4.0, 2.0], [6.0, 3.1], [8.0, 3.9]]);
/// let model = Pca::new().components(1).fit(&x)?;
/// assert!(model.spectrum().ratios()[0] > 0.999);
/// let scores = model.transform(&x)?;
/// let back = model.reconstruct(&scores)?;
/// assert!((back.row(2)[1] - 3.1).abs() < 0.1);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Pca {
    components: Components,
    center: bool,
    standardise: bool,
    whiten: bool,
    route: Route,
    embedding: Embedding,
}

/// Which matrix is decomposed. All give the same components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// The smaller of covariance and Gram, and the singular value decomposition when small components need it.
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
    /// Its name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Route::Auto => "auto",
            Route::Covariance => "covariance",
            Route::Gram => "gram",
            Route::Svd => "svd",
        }
    }

    /// The route with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Route::Auto, Route::Covariance, Route::Gram, Route::Svd].into_iter().find(|r| r.name() == name)
    }
}

/// A fitted PCA.
#[derive(Clone, Debug)]
pub struct PcaModel {
    axes: Block,
    projection: Projection,
    spectrum: Spectrum,
    certificate: Certificate,
    center: bool,
    standardise: bool,
    whiten: bool,
    route: Route,
    notes: Vec<String>,
}

/// The numbers that a [`PcaModel`] consists of, for files.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct PcaParts {
    pub embedding: Embedding,
    /// Dimensions of the points; the other lengths are numbers of features.
    pub d: usize,
    pub mean: Vec<f64>,
    pub scale: Vec<f64>,
    /// A row per component.
    pub axes: Points<f64>,
    pub eigenvalues: Vec<f64>,
    pub residuals: Vec<f64>,
    pub rounding: f64,
    pub total: f64,
    pub discarded: f64,
    pub rank: usize,
    pub n: usize,
    pub center: bool,
    pub standardise: bool,
    pub whiten: bool,
    pub route: Route,
    pub notes: Vec<String>,
}

impl Default for Pca {
    fn default() -> Self {
        Pca::new()
    }
}

impl Pca {
    /// All components of centred points, by the best route.
    pub fn new() -> Self {
        Pca {
            components: Components::All,
            center: true,
            standardise: false,
            whiten: false,
            route: Route::Auto,
            embedding: Embedding::Identity,
        }
    }

    /// How many components to keep: a number (`3`), a share of the variance (`0.95`), or [`Components::All`].
    pub fn components(mut self, components: impl Into<Components>) -> Self {
        self.components = components.into();
        self
    }

    /// Whether the mean is subtracted. Without it the eigenvectors are those of the plain correlation matrix
    /// (1/n) sum x x', and variances are mean squares with divisor n.
    pub fn center(mut self, center: bool) -> Self {
        self.center = center;
        self
    }

    /// Whether each dimension is divided by its standard deviation (its root mean square when not centred).
    /// A dimension without variance is left as it is.
    pub fn standardise(mut self, standardise: bool) -> Self {
        self.standardise = standardise;
        self
    }

    /// Whether scores are divided by their standard deviation. Components without variance, by a cut relative to the
    /// largest, are left out.
    pub fn whiten(mut self, whiten: bool) -> Self {
        self.whiten = whiten;
        self
    }

    /// Which matrix is decomposed.
    pub fn route(mut self, route: Route) -> Self {
        self.route = route;
        self
    }

    /// Takes PCA of phi(x) in place of x.
    pub fn embed(mut self, embedding: Embedding) -> Self {
        self.embedding = embedding;
        self
    }

    /// What fitting n points of d dimensions will do and need.
    ///
    /// # Errors
    /// When it does not fit the memory budget, or an option is outside its domain.
    pub fn plan(&self, n: usize, d: usize, exec: &Exec) -> Result<Plan> {
        self.components.validate("pca")?;
        self.embedding.validate()?;
        let features = self.embedding.features(d).unwrap_or(u128::MAX);
        if self.embedding != Embedding::Identity {
            let bytes = features.saturating_mul(n as u128).saturating_mul(8);
            let count = self.embedding.features(d).map_or("more than 2^128".to_string(), |f| f.to_string());
            let what = format!("embedding {n} points of {d} dimensions by {} with {count} features", self.embedding);
            exec.allow(bytes, what, "use a smaller degree, or the polynomial kernel, which needs no features")?;
        }
        let (_, plan) = Plan::pca(n, features, self.route);
        plan.allow(exec, "keep fewer dimensions or points, or raise the memory budget (--memory in the command)")
    }

    /// Fits points.
    ///
    /// # Errors
    /// Fewer than two points (one when not centred), values that are not finite or whose squares are not, more
    /// components than min(n, d), or more memory needed than [`Exec::memory`] allows.
    pub fn fit<'a, T: Real>(&self, points: impl Into<PointsRef<'a, T>>) -> Result<PcaModel> {
        self.fit_with(points, &Exec::new())
    }

    /// As [`Pca::fit`], with threads, memory and cancellation.
    ///
    /// # Errors
    /// As [`Pca::fit`].
    pub fn fit_with<'a, T: Real>(&self, points: impl Into<PointsRef<'a, T>>, exec: &Exec) -> Result<PcaModel> {
        let x = points.into();
        x.check(if self.center { 2 } else { 1 })?;
        let plan = self.plan(x.n(), x.d(), exec)?;
        let features = usize::try_from(plan.features).map_err(|_| Error::shape("features", usize::MAX, 0))?;
        if let Components::Count(k) = self.components {
            let most = x.n().min(features);
            if k > most {
                let constraint = format!("components <= min(points, features) = {most}");
                return Err(Error::parameter("pca", "components", k, constraint));
            }
        }
        if self.embedding == Embedding::Identity {
            return exec.run(|| self.fit_features(x, x.d(), exec));
        }
        exec.run(|| {
            let mut phi = Vec::with_capacity(x.n() * features);
            for (i, point) in x.to_f64().rows().enumerate() {
                phi.extend(self.embedding.checked_map(i, point, features)?);
            }
            self.fit_features(Points::new(phi, x.n(), features)?.view(), x.d(), exec)
        })
    }

    /// What would be subtracted from the dimensions and what they would be divided by.
    pub(crate) fn location<T: Real>(&self, x: PointsRef<'_, T>) -> Result<Standardise> {
        let location = Location::of(x, self)?;
        Ok(Standardise { mean: location.mean, scale: location.scale })
    }

    fn fit_features<T: Real>(&self, phi: PointsRef<'_, T>, d: usize, exec: &Exec) -> Result<PcaModel> {
        let (n, most) = (phi.n(), phi.n().min(phi.d()));
        let (mut route, _) = Plan::pca(n, phi.d() as u128, self.route);
        let mut notes = Vec::new();
        let location = Location::of(phi, self)?;
        exec.go_on()?;

        let mut found = location.decompose(phi, route, exec)?;
        let mut k = self.components.count(&found.eigenvalues, found.total(), most);
        let (largest, smallest) = (found.eigenvalues[0], found.eigenvalues[k - 1]);
        if self.route == Route::Auto && smallest < RETREAT * largest {
            let (_, plan) = Plan::pca(n, phi.d() as u128, Route::Svd);
            if plan.bytes <= u128::from(exec.memory_budget()) {
                notes.push(format!(
                    "{} route left for svd: component {k} has {:.0e} of the largest variance, where {} loses digits",
                    route.name(),
                    smallest / largest,
                    route.name()
                ));
                route = Route::Svd;
                found = location.decompose(phi, route, exec)?;
                k = self.components.count(&found.eigenvalues, found.total(), most);
            } else {
                notes.push(format!(
                    "component {k} has {:.0e} of the largest variance, where the {} route loses digits; svd needs {}",
                    smallest / largest,
                    route.name(),
                    Bytes(plan.bytes)
                ));
            }
        }
        let rank = found.rank(route, n.max(phi.d()));
        if self.whiten && k > rank {
            notes.push(format!("whitening leaves out {} components without variance", k - rank));
            k = rank;
        }
        let constant = location.constant.iter().filter(|c| **c).count();
        if self.standardise && constant > 0 {
            notes.push(format!("{constant} of {} columns are constant and were not standardised", phi.d()));
        }
        let (total, discarded) = (found.total(), found.eigenvalues[k..].iter().sum());
        let mut axes = found.axes.first(k);
        sign::largest_positive(&mut axes);
        let eigenvalues = found.eigenvalues[..k].to_vec();
        let rounding = match route {
            Route::Svd => f64::EPSILON * (32 + most) as f64 * largest,
            _ => f64::EPSILON * (32 + most) as f64 * total,
        };
        PcaModel::from_parts(PcaParts {
            embedding: self.embedding.clone(),
            d,
            mean: location.mean,
            scale: location.scale,
            axes: axes.transposed().to_points(),
            residuals: found.residuals[..k].to_vec(),
            rounding,
            eigenvalues,
            total,
            discarded,
            rank,
            n,
            center: self.center,
            standardise: self.standardise,
            whiten: self.whiten,
            route,
            notes,
        })
    }
}

/// Where the features lie: what is subtracted from them and what they are divided by.
struct Location {
    mean: Vec<f64>,
    /// What rounding took from the mean.
    rest: Vec<f64>,
    scale: Vec<f64>,
    constant: Vec<bool>,
    center: bool,
}

impl Location {
    fn of<T: Real>(x: PointsRef<'_, T>, spec: &Pca) -> Result<Self> {
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

    fn decompose<T: Real>(&self, x: PointsRef<'_, T>, route: Route, exec: &Exec) -> Result<Decomposed> {
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
                let eigen = Eigen::of(&s)?.keep(most, &s);
                Ok(Decomposed::new(eigen.values[..most].to_vec(), eigen.vectors, eigen.residuals))
            }
            Route::Gram => {
                let x = standardised(x, &self.mean, &self.rest, &self.scale);
                let gram = linalg::outer_gram(&x);
                let eigen = Eigen::of(&gram)?.keep(most, &gram);
                // F = X'U / s; axes without variance are completed to an orthonormal basis.
                let mut axes = linalg::transposed_product(&x, &eigen.vectors);
                let cut = f64::EPSILON * x.n().max(x.d()) as f64 * eigen.values[0].max(0.0);
                for j in 0..most {
                    let value = eigen.values[j];
                    let column = axes.col_mut(j);
                    if value > cut { column.iter_mut().for_each(|v| *v /= value.sqrt()) } else { column.fill(0.0) }
                }
                linalg::orthonormalise(&mut axes);
                Ok(Decomposed::new(eigen.values[..most].to_vec(), axes, eigen.residuals))
            }
            Route::Svd => {
                let x = standardised(x, &self.mean, &self.rest, &self.scale);
                let (s, axes) = linalg::svd_right(&x)?;
                // |X'(X f) - s^2 f|
                let image = linalg::transposed_product(&x, &times(&x, &axes));
                let residuals = (0..most)
                    .map(|j| {
                        let gap: Vec<f64> =
                            image.col(j).iter().zip(axes.col(j)).map(|(a, v)| a - s[j] * s[j] * v).collect();
                        linalg::norm(&gap)
                    })
                    .collect();
                Ok(Decomposed::new(s.iter().map(|s| s * s).collect(), axes, residuals))
            }
        }
    }
}

/// X B.
fn times(x: &Points<f64>, b: &Block) -> Block {
    Block::from_fn(x.n(), b.b(), |i, j| x.row(i).iter().zip(b.col(j)).map(|(x, v)| x * v).sum())
}

struct Decomposed {
    /// All min(n, d), descending, none negative.
    eigenvalues: Vec<f64>,
    axes: Block,
    residuals: Vec<f64>,
}

impl Decomposed {
    fn new(mut eigenvalues: Vec<f64>, axes: Block, residuals: Vec<f64>) -> Self {
        eigenvalues.iter_mut().for_each(|v| *v = v.max(0.0));
        Decomposed { eigenvalues, axes, residuals }
    }

    fn total(&self) -> f64 {
        self.eigenvalues.iter().sum()
    }

    /// The number of eigenvalues that rounding cannot have made, by the error of the route.
    fn rank(&self, route: Route, size: usize) -> usize {
        let cut = f64::EPSILON * size as f64;
        let cut = if route == Route::Svd { cut * cut } else { cut };
        let largest = self.eigenvalues[0];
        self.eigenvalues.iter().take_while(|v| **v > cut * largest).count()
    }
}

impl PcaModel {
    /// A model from its numbers.
    ///
    /// # Errors
    /// When they do not fit together or are not finite.
    pub fn from_parts(parts: PcaParts) -> Result<Self> {
        let k = parts.axes.n();
        let features = parts.mean.len();
        parts.embedding.validate()?;
        if parts.embedding.features(parts.d) != Some(features as u128) {
            return Err(Error::inconsistent(format!(
                "{} of {} dimensions has not {features} features",
                parts.embedding, parts.d
            )));
        }
        for (what, found, expected) in [
            ("entries of the scale", parts.scale.len(), features),
            ("columns of the axes", parts.axes.d(), features),
            ("eigenvalues", parts.eigenvalues.len(), k),
            ("residuals", parts.residuals.len(), k),
        ] {
            if found != expected {
                return Err(Error::shape(what, found, expected));
            }
        }
        let numbers = [&parts.mean, &parts.scale, &parts.residuals];
        if numbers.into_iter().flatten().chain([&parts.rounding]).any(|v| !v.is_finite()) {
            return Err(Error::inconsistent("the model has values that are not finite"));
        }
        if parts.scale.iter().any(|s| *s <= 0.0) {
            return Err(Error::inconsistent("the model has a scale that is not positive"));
        }
        let spectrum = Spectrum {
            eigenvalues: parts.eigenvalues,
            total: parts.total,
            discarded: parts.discarded,
            rank: parts.rank,
            n: parts.n,
            centred: parts.center,
        };
        spectrum.validate()?;
        let sd: Vec<f64> = spectrum.variances().iter().map(|v| v.sqrt()).collect();
        if parts.whiten && sd.iter().any(|s| *s <= 0.0) {
            return Err(Error::inconsistent("a whitened component has no variance"));
        }
        let axes = Block::from_fn(features, k, |i, j| parts.axes.row(j)[i]);
        let weights = Points::from_fn(features, k, |i, j| axes.at(i, j) / if parts.whiten { sd[j] } else { 1.0 });
        let features =
            Features::Explicit { embedding: parts.embedding, d: parts.d, mean: parts.mean, scale: parts.scale };
        Ok(PcaModel {
            projection: Projection::new(features, weights, vec![0.0; k])?,
            certificate: Certificate {
                scale: spectrum.eigenvalues.first().copied().unwrap_or(0.0),
                residuals: parts.residuals,
                rounding: parts.rounding,
            },
            axes,
            spectrum,
            center: parts.center,
            standardise: parts.standardise,
            whiten: parts.whiten,
            route: parts.route,
            notes: parts.notes,
        })
    }

    /// The numbers of this model.
    pub fn to_parts(&self) -> PcaParts {
        let (embedding, d, mean, scale) = self.explicit();
        PcaParts {
            embedding: embedding.clone(),
            d,
            mean: mean.to_vec(),
            scale: scale.to_vec(),
            axes: self.axes(),
            eigenvalues: self.spectrum.eigenvalues.clone(),
            residuals: self.certificate.residuals.clone(),
            rounding: self.certificate.rounding,
            total: self.spectrum.total,
            discarded: self.spectrum.discarded,
            rank: self.spectrum.rank,
            n: self.spectrum.n,
            center: self.center,
            standardise: self.standardise,
            whiten: self.whiten,
            route: self.route,
            notes: self.notes.clone(),
        }
    }

    fn explicit(&self) -> (&Embedding, usize, &[f64], &[f64]) {
        match self.projection.features() {
            Features::Explicit { embedding, d, mean, scale } => (embedding, *d, mean, scale),
            _ => unreachable!("a PCA model has explicit features"),
        }
    }

    /// Number of components.
    pub fn components(&self) -> usize {
        self.projection.components()
    }

    /// Number of dimensions of the points.
    pub fn d(&self) -> usize {
        self.explicit().1
    }

    /// The embedding, [`Embedding::Identity`] for plain PCA.
    pub fn embedding(&self) -> &Embedding {
        self.explicit().0
    }

    /// What is subtracted from the features: their mean, or 0.
    pub fn mean(&self) -> &[f64] {
        self.explicit().2
    }

    /// What the features are divided by: their standard deviation, or 1.
    pub fn scale(&self) -> &[f64] {
        self.explicit().3
    }

    /// The axes, a unit row per component: the loadings. The entry of largest magnitude is positive.
    pub fn axes(&self) -> Points<f64> {
        self.axes.transposed().to_points()
    }

    /// Eigenvalues, variances and shares.
    pub fn spectrum(&self) -> &Spectrum {
        &self.spectrum
    }

    /// How far the eigenvalues can be from the truth.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// The matrix that was decomposed.
    pub fn route(&self) -> Route {
        self.route
    }

    /// Whether the mean is subtracted.
    pub fn is_centered(&self) -> bool {
        self.center
    }

    /// Whether dimensions are divided by their standard deviation.
    pub fn is_standardised(&self) -> bool {
        self.standardise
    }

    /// Whether scores are divided by their standard deviation.
    pub fn is_whitened(&self) -> bool {
        self.whiten
    }

    /// What was decided on the way and a reader should know.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Scores y = F'((phi(x) - m) / s), a row per point (MATHS.md, M2).
    ///
    /// # Errors
    /// When the points have other dimensions than those fitted, or values that are not finite.
    pub fn transform<'a, T: Real>(&self, points: impl Into<PointsRef<'a, T>>) -> Result<Points<f64>> {
        self.transform_with(points, &Exec::new())
    }

    /// As [`PcaModel::transform`], with threads and cancellation.
    ///
    /// # Errors
    /// As [`PcaModel::transform`].
    pub fn transform_with<'a, T: Real>(&self, x: impl Into<PointsRef<'a, T>>, exec: &Exec) -> Result<Points<f64>> {
        self.projection.apply(x.into(), exec)
    }

    /// Reconstructions m + s F y from scores, in the space of the features (MATHS.md, M2).
    ///
    /// # Errors
    /// When the scores have not one column per component.
    pub fn reconstruct<'a, T: Real>(&self, scores: impl Into<PointsRef<'a, T>>) -> Result<Points<f64>> {
        let y = scores.into();
        if y.d() != self.components() {
            return Err(Error::shape("columns of the scores, one per component", y.d(), self.components()));
        }
        y.check(0).or_else(|e| if y.d() == 0 { Ok(()) } else { Err(e) })?;
        let (_, _, mean, scale) = self.explicit();
        let sd = self.whitening();
        let mut back = Points::from_fn(y.n(), mean.len(), |_, j| mean[j]);
        for i in 0..y.n() {
            let inner = self.expand(y.row(i), &sd);
            for ((out, v), s) in back.row_mut(i).iter_mut().zip(inner).zip(scale) {
                *out += s * v;
            }
        }
        Ok(back)
    }

    /// What scores are multiplied by before they are laid along the axes.
    fn whitening(&self) -> Vec<f64> {
        if self.whiten {
            self.spectrum.variances().iter().map(|v| v.sqrt()).collect()
        } else {
            vec![1.0; self.components()]
        }
    }

    /// F y.
    fn expand<T: Real>(&self, y: &[T], sd: &[f64]) -> Vec<f64> {
        let mut sum = vec![0.0; self.axes.n()];
        for (j, y) in y.iter().enumerate() {
            let y = y.to_f64() * sd[j];
            sum.iter_mut().zip(self.axes.col(j)).for_each(|(s, f)| *s += f * y);
        }
        sum
    }

    /// The squared distance of each point to its reconstruction, in the space of the (standardised) features. Over the
    /// fitted points these sum to [`Spectrum::discarded`].
    ///
    /// # Errors
    /// As [`PcaModel::transform`].
    pub fn squared_errors<'a, T: Real>(&self, points: impl Into<PointsRef<'a, T>>) -> Result<Vec<f64>> {
        let x = points.into();
        let scores = self.transform(x)?;
        let (embedding, _, mean, scale) = self.explicit();
        let sd = self.whitening();
        let errors = x
            .to_f64()
            .rows()
            .enumerate()
            .map(|(i, point)| {
                let phi = embedding.checked_map(i, point, mean.len())?;
                let back = self.expand(scores.row(i), &sd);
                Ok((0..mean.len()).map(|j| ((phi[j] - mean[j]) / scale[j] - back[j]).powi(2)).sum())
            })
            .collect::<Result<Vec<f64>>>()?;
        finite("squared errors", &errors, 1)?;
        Ok(errors)
    }
}
