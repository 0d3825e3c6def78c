//! Kernel principal component analysis.

use std::sync::Arc;

use crate::block::Block;
use crate::diagnose::Definiteness;
use crate::eigen::{Certificate, Eigen, check_range, rounding};
use crate::error::{Error, ErrorKind, Result};
use crate::exec::Exec;
use crate::features::{Features, Standardise};
use crate::kernel::tile::Rows;
use crate::kernel::{Bound, Choice, Kernel};
use crate::op::{Dense, Gram, SymOp, centre};
use crate::pca::Pca;
use crate::plan::Plan;
use crate::points::{Points, PointsRef};
use crate::projection::{Projection, finite};
use crate::real::{Real, largest};
use crate::spectrum::{Components, Spectrum};

/// How kernel PCA is to be done.
///
/// # Definition
/// PCA of phi(x_1), ..., phi(x_n) for the map phi behind the kernel, without phi (MATHS.md, M5-M11): the centred Gram
/// matrix HKH has eigenpairs (lambda, u); scores of the fitted points are u sqrt(lambda), those of a new point
/// sum_i alpha_i k~(x, x_i) with alpha = u / sqrt(lambda).
///
/// # Example
/// Two rings, which no straight line parts, are parted by the sign of the first score:
/// ```
/// use mercer::{Gamma, Kernel, KernelPca, Points};
/// let rings = Points::from_fn(400, 2, |i, j| {
///     let (radius, angle) = (if i < 200 { 1.0 } else { 0.3 }, i as f64 * std::f64::consts::TAU / 200.0);
///     radius * if j == 0 { angle.cos() } else { angle.sin() }
/// });
/// let model = KernelPca::new(Kernel::gaussian(Gamma::Value(3.0))).components(2).fit(&rings)?;
/// let z = model.transform(&rings)?;
/// assert!((0..400).all(|i| (z.row(i)[0] > 0.0) == (z.row(0)[0] > 0.0) || i >= 200));
/// assert!((200..400).all(|i| (z.row(i)[0] > 0.0) != (z.row(0)[0] > 0.0)));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct KernelPca {
    kernel: Kernel,
    components: Components,
    standardise: bool,
}

/// A fitted kernel PCA.
#[derive(Clone, Debug)]
pub struct KernelPcaModel {
    projection: Projection,
    spectrum: Spectrum,
    certificate: Certificate,
    definiteness: Definiteness,
    grand_mean: f64,
    notes: Vec<String>,
}

/// The numbers that a [`KernelPcaModel`] consists of, for files. Models of a function or operator of the user's have
/// none, since a file carries no code.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct KernelPcaParts {
    /// The kernel with numbers only; `None` for a model of a given Gram matrix.
    pub kernel: Option<Kernel>,
    pub deviation: bool,
    pub shift: Option<Vec<f64>>,
    pub standardise: Option<Standardise>,
    /// The fitted points as the kernel sees them, of no dimensions for a model of a given Gram matrix.
    pub points: Points<f64>,
    /// alpha, a row per fitted point.
    pub weights: Points<f64>,
    pub offset: Vec<f64>,
    pub grand_mean: f64,
    pub eigenvalues: Vec<f64>,
    pub residuals: Vec<f64>,
    pub rounding: f64,
    pub total: f64,
    pub discarded: f64,
    pub rank: usize,
    pub definiteness: Definiteness,
    pub notes: Vec<String>,
}

impl KernelPca {
    /// All components that are not zero, of the Gram matrix of this kernel.
    pub fn new(kernel: Kernel) -> Self {
        KernelPca { kernel, components: Components::All, standardise: false }
    }

    /// How many components to keep: at most a number (`3`), a share of the variance (`0.95`), or [`Components::All`].
    /// Components whose eigenvalue is zero within rounding do not exist and are not counted.
    pub fn components(mut self, components: impl Into<Components>) -> Self {
        self.components = components.into();
        self
    }

    /// Whether each dimension is first centred and divided by its standard deviation; one without variance is only
    /// centred. New points are treated alike. Without effect on a Gram matrix, an operator or a kernel function.
    pub fn standardise(mut self, standardise: bool) -> Self {
        self.standardise = standardise;
        self
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// What fitting n points of d dimensions will do and need.
    ///
    /// # Errors
    /// When it does not fit the memory budget, or an option is outside its domain.
    pub fn plan(&self, n: usize, d: usize, exec: &Exec) -> Result<Plan> {
        self.components.validate("kernel pca")?;
        self.kernel.validate()?;
        Plan::kernel_pca(n, d).allow(exec, "fit fewer points, or raise the memory budget (--memory in the command)")
    }

    /// Fits points.
    ///
    /// # Errors
    /// Fewer than two points, values or kernel values that are not finite, parameters outside their domain, or more
    /// memory needed than [`Exec::memory`] allows.
    pub fn fit<'a, T: Real>(&self, points: impl Into<PointsRef<'a, T>>) -> Result<KernelPcaModel> {
        self.fit_with(points, &Exec::new())
    }

    /// As [`KernelPca::fit`], with threads, memory and cancellation.
    ///
    /// # Errors
    /// As [`KernelPca::fit`].
    pub fn fit_with<'a, T: Real>(&self, points: impl Into<PointsRef<'a, T>>, exec: &Exec) -> Result<KernelPcaModel> {
        let x = points.into();
        x.check(2)?;
        self.plan(x.n(), x.d(), exec)?;
        exec.run(|| {
            let standardise = if self.standardise { Some(Pca::new().standardise(true).location(x)?) } else { None };
            let x = Standardise::apply(standardise.as_ref(), x);
            let bound = Bound::new(&self.kernel, &x)?; //            automatic parameters become numbers
            let gram = Gram::new(&bound, &x)?.up_to_centring(); //   M5, M6  K_ij = k(x_i, x_j)
            let matrix = gram.to_matrix(exec)?;
            let error = bound.entry_error(x.view(), largest(matrix.as_slice()));
            let features = Features::Kernel { bound, landmarks: gram.into_rows(), standardise };
            self.finish(features, matrix, error, exec)
        })
    }

    /// Fits points with a kernel function of your own in place of [`KernelPca::kernel`].
    ///
    /// # Errors
    /// As [`KernelPca::fit`], and when the function is not symmetric.
    pub fn fit_fn<'a, T: Real>(
        &self,
        points: impl Into<PointsRef<'a, T>>,
        kernel: impl Fn(&[f64], &[f64]) -> f64 + Send + Sync + 'static,
    ) -> Result<KernelPcaModel> {
        self.fit_fn_with(points, kernel, &Exec::new())
    }

    /// As [`KernelPca::fit_fn`], with threads, memory and cancellation.
    ///
    /// # Errors
    /// As [`KernelPca::fit_fn`].
    pub fn fit_fn_with<'a, T: Real>(
        &self,
        points: impl Into<PointsRef<'a, T>>,
        kernel: impl Fn(&[f64], &[f64]) -> f64 + Send + Sync + 'static,
        exec: &Exec,
    ) -> Result<KernelPcaModel> {
        let x = points.into();
        x.check(2)?;
        self.plan(x.n(), x.d(), exec)?;
        let landmarks = x.to_f64();
        let gram = Block::from_fn(x.n(), x.n(), |i, j| kernel(landmarks.row(i), landmarks.row(j)));
        let dense = Dense::measure_block(gram, f64::EPSILON)?.symmetric()?;
        let features = Features::KernelFn { kernel: Arc::new(kernel), landmarks };
        exec.run(|| self.finish_dense(features, dense, exec))
    }

    /// Fits a Gram matrix that you computed. New points are projected by [`KernelPcaModel::transform`] of their
    /// kernel values with the fitted points, a row per new point.
    ///
    /// # Errors
    /// When the matrix is not square, symmetric and finite, and as [`KernelPca::fit`].
    pub fn fit_gram<'a, T: Real>(&self, gram: impl Into<PointsRef<'a, T>>) -> Result<KernelPcaModel> {
        self.fit_gram_with(gram, &Exec::new())
    }

    /// As [`KernelPca::fit_gram`], with threads, memory and cancellation.
    ///
    /// # Errors
    /// As [`KernelPca::fit_gram`].
    pub fn fit_gram_with<'a, T: Real>(&self, gram: impl Into<PointsRef<'a, T>>, exec: &Exec) -> Result<KernelPcaModel> {
        let gram = gram.into();
        self.plan(gram.n(), 1, exec)?;
        exec.run(|| {
            let dense = Dense::new(gram)?;
            self.finish_dense(Features::GramRow { n: gram.n() }, dense, exec)
        })
    }

    /// Fits a symmetric operator of your own: the Gram matrix of anything. The model projects new rows of it as after
    /// [`KernelPca::fit_gram`].
    ///
    /// # Errors
    /// As [`KernelPca::fit_gram`].
    pub fn fit_op(&self, op: &dyn SymOp) -> Result<KernelPcaModel> {
        self.fit_op_with(op, &Exec::new())
    }

    /// As [`KernelPca::fit_op`], with threads, memory and cancellation.
    ///
    /// # Errors
    /// As [`KernelPca::fit_op`].
    pub fn fit_op_with(&self, op: &dyn SymOp, exec: &Exec) -> Result<KernelPcaModel> {
        self.plan(op.n(), 1, exec)?;
        exec.run(|| {
            let dense = Dense::measure_block(op.to_matrix(exec)?, f64::EPSILON)?.symmetric()?;
            self.finish_dense(Features::GramRow { n: op.n() }, dense, exec)
        })
    }

    fn finish_dense(&self, features: Features, dense: Dense, exec: &Exec) -> Result<KernelPcaModel> {
        if dense.n() < 2 {
            return Err(ErrorKind::TooFew { what: "points", found: dense.n(), needed: 2 }.into());
        }
        let error = dense.entry_error();
        self.finish(features, dense.into_matrix(), error, exec)
    }

    /// From the Gram matrix on, line by line as in the textbook. Entries are good to `entry_error`.
    fn finish(&self, features: Features, mut gram: Block, entry_error: f64, exec: &Exec) -> Result<KernelPcaModel> {
        let n = gram.n();
        check_range(n, largest(gram.as_slice()))?;
        let (means, grand_mean) = centre(&mut gram); //                     M7  K~ = HKH
        exec.go_on()?;
        let eigen = Eigen::of_centred(&gram)?; //                           M8  K~ = U L U'
        let rounding = rounding(n, entry_error, &eigen.values);
        let definiteness = Definiteness::of(&eigen.values, rounding);
        let total = definiteness.total(&eigen.values); //                   M9  tr K~, or sum |lambda| when indefinite
        let rank = eigen.values.iter().take_while(|v| **v > rounding).count();

        let mut notes = Vec::new();
        let k = self.components.count(&eigen.values, total, rank);
        if let Components::Count(wanted) = self.components
            && wanted > rank
        {
            notes.push(format!("{wanted} components asked for, but only {rank} have variance"));
        }
        if definiteness.is_indefinite() {
            notes.push(format!("{definiteness}; explained shares are of that mass"));
        }
        let eigen = eigen.keep(k, &gram);
        let values = &eigen.values[..k];
        let weights = Points::from_fn(n, k, |i, j| eigen.vectors.at(i, j) / values[j].sqrt()); // M10 alpha = u / sqrt(lambda)
        let offset = (0..k).map(|j| (0..n).map(|i| weights.row(i)[j] * means[i]).sum()).collect(); // M11 b = alpha'kbar
        Ok(KernelPcaModel {
            projection: Projection::new(features, weights, offset)?,
            spectrum: Spectrum {
                eigenvalues: values.to_vec(),
                total,
                discarded: eigen.values[k..].iter().sum(),
                rank,
                n,
                centred: true,
            },
            certificate: Certificate {
                residuals: eigen.residuals,
                rounding,
                scale: eigen.values.first().copied().unwrap_or(0.0),
            },
            definiteness,
            grand_mean,
            notes,
        })
    }
}

impl KernelPcaModel {
    /// A model from its numbers.
    ///
    /// # Errors
    /// When they do not fit together or are not finite.
    pub fn from_parts(parts: KernelPcaParts) -> Result<Self> {
        let k = parts.eigenvalues.len();
        if parts.residuals.len() != k || parts.offset.len() != k {
            return Err(Error::shape("residuals and offsets", parts.residuals.len().min(parts.offset.len()), k));
        }
        let numbers = parts.residuals.iter().chain([&parts.rounding, &parts.grand_mean]);
        let numbers = numbers.chain(parts.shift.iter().flatten()).chain(parts.points.as_slice());
        if numbers.into_iter().any(|v| !v.is_finite()) {
            return Err(Error::inconsistent("the model has values that are not finite"));
        }
        if parts.eigenvalues.iter().any(|v| *v <= 0.0) {
            return Err(Error::inconsistent("a component has an eigenvalue that is not positive"));
        }
        let n = parts.weights.n();
        let features = match parts.kernel {
            Some(kernel) => {
                let bound = Bound::from_parts(kernel, parts.points.d(), parts.deviation, parts.shift)?;
                if let Some(s) = &parts.standardise {
                    if s.mean.len() != bound.d() || s.scale.len() != bound.d() {
                        return Err(Error::shape("entries of mean and scale", s.mean.len(), bound.d()));
                    }
                    if s.mean.iter().any(|v| !v.is_finite()) || !s.scale.iter().all(|v| v.is_finite() && *v > 0.0) {
                        return Err(Error::inconsistent("the model has a mean or scale that is not valid"));
                    }
                }
                let landmarks = Rows::new(&bound, parts.points);
                Features::Kernel { bound, landmarks, standardise: parts.standardise }
            }
            None => Features::GramRow { n },
        };
        let spectrum = Spectrum {
            eigenvalues: parts.eigenvalues,
            total: parts.total,
            discarded: parts.discarded,
            rank: parts.rank,
            n,
            centred: true,
        };
        spectrum.validate()?;
        Ok(KernelPcaModel {
            projection: Projection::new(features, parts.weights, parts.offset)?,
            certificate: Certificate {
                residuals: parts.residuals,
                rounding: parts.rounding,
                scale: spectrum.eigenvalues.first().copied().unwrap_or(0.0),
            },
            spectrum,
            definiteness: parts.definiteness,
            grand_mean: parts.grand_mean,
            notes: parts.notes,
        })
    }

    /// The numbers of this model.
    ///
    /// # Errors
    /// For a model of a kernel function: a file carries no code.
    pub fn to_parts(&self) -> Result<KernelPcaParts> {
        let n = self.n();
        let (kernel, deviation, shift, standardise, points) = match self.projection.features() {
            Features::Kernel { bound, landmarks, standardise } => (
                Some(bound.kernel().clone()),
                bound.uses_deviations(),
                bound.shift().map(<[f64]>::to_vec),
                standardise.clone(),
                landmarks.points().clone(),
            ),
            Features::GramRow { .. } => (None, false, None, None, Points::new(Vec::new(), n, 0)?),
            Features::KernelFn { .. } | Features::Explicit { .. } => {
                return Err(ErrorKind::Unsupported {
                    what: "a model of a kernel function cannot be taken apart: a file carries no code".into(),
                    remedy: "build the kernel from named ones, or fit its Gram matrix".into(),
                }
                .into());
            }
        };
        Ok(KernelPcaParts {
            kernel,
            deviation,
            shift,
            standardise,
            points,
            weights: self.projection.weights().clone(),
            offset: self.projection.offset().to_vec(),
            grand_mean: self.grand_mean,
            eigenvalues: self.spectrum.eigenvalues.clone(),
            residuals: self.certificate.residuals.clone(),
            rounding: self.certificate.rounding,
            total: self.spectrum.total,
            discarded: self.spectrum.discarded,
            rank: self.spectrum.rank,
            definiteness: self.definiteness,
            notes: self.notes.clone(),
        })
    }

    /// Number of components.
    pub fn components(&self) -> usize {
        self.projection.components()
    }

    /// Number of fitted points.
    pub fn n(&self) -> usize {
        self.spectrum.n()
    }

    /// Number of dimensions of the points; of fitted points for a model of a Gram matrix.
    pub fn d(&self) -> usize {
        self.projection.features().d()
    }

    /// The kernel with numbers only; `None` for a function, an operator or a Gram matrix of the user's.
    pub fn kernel(&self) -> Option<&Kernel> {
        match self.projection.features() {
            Features::Kernel { bound, .. } => Some(bound.kernel()),
            _ => None,
        }
    }

    /// Whether dimensions are centred and divided by their standard deviation before the kernel sees them.
    pub fn is_standardised(&self) -> bool {
        matches!(self.projection.features(), Features::Kernel { standardise: Some(_), .. })
    }

    /// What the kernel's automatic parameters became; empty for a model read from a file, whose kernel has the numbers.
    pub fn choices(&self) -> &[Choice] {
        match self.projection.features() {
            Features::Kernel { bound, .. } => bound.choices(),
            _ => &[],
        }
    }

    /// Eigenvalues of HKH, variances and true shares of tr HKH.
    pub fn spectrum(&self) -> &Spectrum {
        &self.spectrum
    }

    /// How far the eigenvalues can be from the truth.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// Whether the centred Gram matrix is positive semi-definite, and its negative mass when it is not.
    pub fn definiteness(&self) -> &Definiteness {
        &self.definiteness
    }

    /// What was decided on the way and a reader should know.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// alpha = u / sqrt(lambda), lambda the eigenvalue of HKH: a row per fitted point, a column per component.
    pub fn alpha(&self) -> &Points<f64> {
        self.projection.weights()
    }

    /// Scores of the fitted points, u sqrt(lambda). The entry of largest magnitude of a component is positive.
    pub fn scores(&self) -> Points<f64> {
        let (alpha, values) = (self.alpha(), self.spectrum.eigenvalues());
        Points::from_fn(alpha.n(), alpha.d(), |i, j| alpha.row(i)[j] * values[j])
    }

    /// Scores of new points (of rows of kernel values with the fitted points, for a model of a Gram matrix).
    ///
    /// # Errors
    /// When the points have other dimensions than those fitted, or values that are not finite.
    pub fn transform<'a, T: Real>(&self, points: impl Into<PointsRef<'a, T>>) -> Result<Points<f64>> {
        self.transform_with(points, &Exec::new())
    }

    /// As [`KernelPcaModel::transform`], with threads and cancellation.
    ///
    /// # Errors
    /// As [`KernelPcaModel::transform`].
    pub fn transform_with<'a, T: Real>(&self, x: impl Into<PointsRef<'a, T>>, exec: &Exec) -> Result<Points<f64>> {
        self.projection.apply(x.into(), exec)
    }

    /// The squared distance of each point to its projection on the components, in the space behind the kernel
    /// (MATHS.md, M12): k~(x,x) less the squared scores, within rounding of 0 where nothing is left. Over the fitted points
    /// these sum to [`Spectrum::discarded`].
    ///
    /// # Errors
    /// As [`KernelPcaModel::transform`], and for a model of a Gram matrix, which does not know k(x,x).
    pub fn squared_errors<'a, T: Real>(&self, points: impl Into<PointsRef<'a, T>>) -> Result<Vec<f64>> {
        let x = points.into();
        let (scores, norms) = self.scores_and_norms(x)?;
        let errors: Vec<f64> =
            norms.iter().zip(scores.rows()).map(|(norm, z)| norm - z.iter().map(|z| z * z).sum::<f64>()).collect();
        finite("squared errors", &errors, 1)?;
        Ok(errors)
    }

    /// k~(x, x), the squared distance of each point from the mean in the space behind the kernel (MATHS.md, M12).
    ///
    /// # Errors
    /// As [`KernelPcaModel::squared_errors`].
    pub fn centred_norms<'a, T: Real>(&self, points: impl Into<PointsRef<'a, T>>) -> Result<Vec<f64>> {
        Ok(self.scores_and_norms(points.into())?.1)
    }

    fn scores_and_norms<T: Real>(&self, x: PointsRef<'_, T>) -> Result<(Points<f64>, Vec<f64>)> {
        let (scores, means) = self.projection.apply_with_means(x, &Exec::new())?;
        let Some(own) = self.projection.features().self_values(x) else {
            return Err(ErrorKind::Unsupported {
                what: "a model of a Gram matrix does not know k(x, x) of new points".into(),
                remedy: "fit the points with a kernel".into(),
            }
            .into());
        };
        let norms: Vec<f64> = own.iter().zip(means).map(|(k, mean)| k - 2.0 * mean + self.grand_mean).collect();
        finite("kernel of the new points with themselves", &norms, 1)?;
        Ok((scores, norms))
    }
}
