//! A fitted kernel PCA.

use crate::diagnose::Definiteness;
use crate::eigen::Certificate;
use crate::error::{Error, ErrorKind, ErrorSubject, Result, check_finite};
use crate::exec::Exec;
use crate::features::{Features, Standardise};
use crate::kernel::tile::{DistanceMethod, Form, Rows};
use crate::kernel::{Bound, Choice, Kernel};
use crate::points::{Points, PointsRef};
use crate::projection::Projection;
use crate::real::{Real, check_found};
use crate::spectrum::{Matrix, Spectrum};

/// A fitted kernel PCA: the result of [`KernelPca::fit`](crate::KernelPca::fit).
///
/// # Example
/// ```
/// use mercer::{Gamma, Kernel, KernelPca, Points};
/// let x = Points::from_fn(30, 2, |i, j| ((i * (j + 2)) as f64).sin());
/// let model = KernelPca::new(Kernel::gaussian(Gamma::Median)).components(2).fit(&x)?;
/// let new = Points::from_rows(&[[0.1, 0.2]]);
/// assert_eq!(model.transform(&new)?.d(), 2);
/// assert!(model.squared_errors(&new)?[0] >= 0.0);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct KernelPcaModel {
    pub(super) projection: Projection,
    pub(super) spectrum: Spectrum,
    pub(super) certificate: Certificate,
    pub(super) definiteness: Option<Definiteness>,
    /// The mean of all entries of the Gram matrix.
    pub(super) grand_mean: f64,
    /// The weights of the features in the mean of k(x, .) over the fitted points; `None` for equal weights.
    pub(super) mean_weights: Option<Vec<f64>>,
    pub(super) notes: Vec<String>,
}

/// The numbers that a [`KernelPcaModel`] consists of, for files. A model of a user's function or operator cannot be
/// saved, since a file carries no code.
///
/// # Example
/// ```
/// use mercer::{Gamma, Kernel, KernelPca, KernelPcaModel, Points};
/// let x = Points::from_fn(20, 2, |i, j| ((i * (j + 2)) as f64).sin());
/// let model = KernelPca::new(Kernel::gaussian(Gamma::Median)).components(2).fit(&x)?;
/// let parts = model.to_parts()?; // write these, read them again
/// assert_eq!(KernelPcaModel::from_parts(parts)?.transform(&x)?, model.transform(&x)?);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct KernelPcaParts {
    /// The kernel with numbers only; `None` for a model of a given Gram matrix.
    pub kernel: Option<Kernel>,
    pub deviation: bool,
    /// The point near the mean that is subtracted from points; empty for a model of a given Gram matrix.
    pub shift: Vec<f64>,
    pub standardise: Option<Standardise>,
    /// The fitted points or landmarks, standardised for the kernel; without columns for a model of a given Gram matrix.
    pub points: Points<f64>,
    /// Number of fitted points.
    pub n: usize,
    /// For a model of landmarks, the weights of their kernel values in the mean over the fitted points.
    pub mean_weights: Option<Vec<f64>>,
    /// alpha, a row per fitted point or landmark.
    pub weights: Points<f64>,
    pub offset: Vec<f64>,
    pub grand_mean: f64,
    pub eigenvalues: Vec<f64>,
    pub certificate: Certificate,
    pub total: f64,
    pub discarded: f64,
    pub rank: usize,
    pub complete: bool,
    /// `None` where only the leading eigenvalues are known.
    pub definiteness: Option<Definiteness>,
    pub notes: Vec<String>,
}

impl KernelPcaModel {
    /// Builds a model from its numbers.
    ///
    /// # Errors
    /// When they do not fit together, are not finite, or are beyond what a fit accepts.
    pub fn from_parts(parts: KernelPcaParts) -> Result<Self> {
        let k = parts.eigenvalues.len();
        parts.certificate.validate(k)?;
        if parts.offset.len() != k {
            return Err(Error::shape("offsets", parts.offset.len(), k));
        }
        if !parts.grand_mean.is_finite() {
            return Err(Error::inconsistent("the mean of the Gram matrix is not finite"));
        }
        if parts.definiteness.as_ref().is_some_and(|d| !d.is_sound()) {
            return Err(Error::inconsistent("the negative eigenvalues of the model do not fit together"));
        }
        if parts.eigenvalues.iter().any(|v| *v <= 0.0) {
            return Err(Error::inconsistent("a component has an eigenvalue that is not positive"));
        }
        let (rows, exact) = (parts.weights.n(), parts.mean_weights.is_none());
        let fits = match &parts.mean_weights {
            Some(weights) => weights.len() == rows && weights.iter().all(|v| v.is_finite()) && parts.kernel.is_some(),
            None => parts.n == rows,
        };
        if !fits || exact != parts.certificate.approximation().is_none() {
            return Err(Error::shape("weights of the model's points", rows, parts.n));
        }
        let n = parts.n;
        let features = match parts.kernel {
            Some(kernel) => {
                check_found(ErrorSubject::Shift, &parts.shift)?;
                let bound = Bound::from_parts(kernel, parts.points.d(), parts.deviation, parts.shift)?;
                parts.points.view().check(1)?;
                bound.check(parts.points.view())?;
                if let Some(s) = &parts.standardise {
                    if s.mean.len() != bound.d() || s.scale.len() != bound.d() {
                        return Err(Error::shape("entries of mean and scale", s.mean.len(), bound.d()));
                    }
                    s.check()?;
                }
                let method = DistanceMethod::of(parts.points.n());
                let rows = Rows::new(&bound, parts.points, method);
                let form = if exact { Form::UpToCentring } else { Form::Value };
                Features::Kernel { bound, rows, standardise: parts.standardise, form }
            }
            None => Features::GramRow { n },
        };
        let spectrum = Spectrum {
            eigenvalues: parts.eigenvalues,
            total: parts.total,
            discarded: parts.discarded,
            rank: parts.rank,
            complete: parts.complete,
            n,
            weight: n as f64,
            centred: true,
            matrix: Matrix::Gram,
        };
        spectrum.validate()?;
        let model = KernelPcaModel {
            projection: Projection::new(features, parts.weights, parts.offset)?,
            certificate: parts.certificate,
            spectrum,
            definiteness: parts.definiteness,
            grand_mean: parts.grand_mean,
            mean_weights: parts.mean_weights,
            notes: parts.notes,
        };
        model.checked()
    }

    /// Refuses a model whose points have no finite scores: weights may be finite where scores are not.
    pub(super) fn checked(self) -> Result<Self> {
        let scores = self.own_scores()?;
        check_finite(ErrorSubject::Scores, scores.as_slice(), |at| (at / scores.d(), at % scores.d()))?;
        Ok(self)
    }

    /// Returns the numbers of this model.
    ///
    /// # Errors
    /// For a model of a kernel function: a file carries no code.
    pub fn to_parts(&self) -> Result<KernelPcaParts> {
        let n = self.n();
        let (kernel, deviation, shift, standardise, points) = match self.projection.features() {
            Features::Kernel { bound, rows, standardise, .. } => (
                Some(bound.kernel().clone()),
                bound.uses_deviations(),
                bound.shift().to_vec(),
                standardise.clone(),
                rows.points().clone(),
            ),
            Features::GramRow { .. } => (None, false, Vec::new(), None, Points::new(Vec::new(), n, 0)?),
            Features::KernelFn { .. } | Features::Explicit { .. } => {
                return Err(ErrorKind::Unsupported {
                    what: "a model of a kernel function cannot be saved: a file carries no code".into(),
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
            n,
            mean_weights: self.mean_weights.clone(),
            weights: self.projection.weights().clone(),
            offset: self.projection.offset().to_vec(),
            grand_mean: self.grand_mean,
            eigenvalues: self.spectrum.eigenvalues.clone(),
            certificate: self.certificate.clone(),
            total: self.spectrum.total,
            discarded: self.spectrum.discarded,
            rank: self.spectrum.rank,
            complete: self.spectrum.complete,
            definiteness: self.definiteness,
            notes: self.notes.clone(),
        })
    }

    /// Returns the same model with its first k components only. Its certificate counts the others as missed.
    ///
    /// # Errors
    /// None for a model that was fitted.
    ///
    /// # Example
    /// ```
    /// use mercer::{Gamma, Kernel, KernelPca, Points};
    /// let x = Points::from_fn(30, 2, |i, j| ((i * (j + 2)) as f64).sin());
    /// let model = KernelPca::new(Kernel::gaussian(Gamma::Median)).components(3).fit(&x)?;
    /// let first = model.first(2)?;
    /// assert_eq!(first.transform(&x)?, model.transform(&x)?.first_columns(2));
    /// assert!(first.certificate().missed() >= model.spectrum().eigenvalues()[2]);
    /// # Ok::<(), mercer::Error>(())
    /// ```
    pub fn first(&self, k: usize) -> Result<Self> {
        let (kept, mut spectrum) = (k.min(self.components()), self.spectrum.clone());
        spectrum.discarded += spectrum.eigenvalues[kept..].iter().rev().fold(0.0, |sum, v| sum + v);
        let certificate = self.certificate.clone().first(kept, &spectrum.eigenvalues);
        spectrum.eigenvalues.truncate(kept);
        let (features, offset) = (self.projection.features().clone(), self.projection.offset()[..kept].to_vec());
        Ok(KernelPcaModel {
            projection: Projection::new(features, self.alpha().first_columns(kept), offset)?,
            spectrum,
            certificate,
            definiteness: self.definiteness,
            grand_mean: self.grand_mean,
            mean_weights: self.mean_weights.clone(),
            notes: self.notes.clone(),
        })
    }

    /// Returns the number of components.
    pub fn components(&self) -> usize {
        self.projection.components()
    }

    /// Returns the number of fitted points.
    pub fn n(&self) -> usize {
        self.spectrum.n()
    }

    /// Returns the number of columns of the points; for a model of a Gram matrix, the number of fitted points.
    pub fn d(&self) -> usize {
        self.projection.features().d()
    }

    /// Returns the kernel with numbers only; `None` for a user's function, operator or Gram matrix.
    pub fn kernel(&self) -> Option<&Kernel> {
        match self.projection.features() {
            Features::Kernel { bound, .. } => Some(bound.kernel()),
            _ => None,
        }
    }

    pub(crate) fn features(&self) -> &Features {
        self.projection.features()
    }

    /// Returns whether columns are centred and divided by their standard deviation before the kernel is evaluated.
    pub fn is_standardised(&self) -> bool {
        self.standardise().is_some()
    }

    /// Returns the mean and scale by which columns are standardised before the kernel is evaluated, if they are.
    pub fn standardise(&self) -> Option<&Standardise> {
        match self.projection.features() {
            Features::Kernel { standardise, .. } => standardise.as_ref(),
            _ => None,
        }
    }

    /// Returns the fitted points in their own units, accurate to rounding where they were standardised; `None` for a
    /// Gram matrix or an operator.
    pub fn points(&self) -> Option<Points<f64>> {
        match self.projection.features() {
            Features::Kernel { rows, standardise: None, .. } => Some(rows.points().clone()),
            Features::Kernel { rows, standardise: Some(s), .. } => {
                let x = rows.points();
                Some(Points::from_fn(x.n(), x.d(), |i, j| s.mean[j] + s.scale[j] * x.row(i)[j]))
            }
            Features::KernelFn { points, .. } => Some(points.clone()),
            Features::Explicit { .. } | Features::GramRow { .. } => None,
        }
    }

    /// Returns the mean of each column over the fitted points; `None` for a Gram matrix or an operator.
    pub fn column_means(&self) -> Option<Vec<f64>> {
        let points = match self.projection.features() {
            Features::Kernel { standardise: Some(s), .. } => return Some(s.mean.clone()),
            Features::Kernel { rows, .. } => rows.points(),
            Features::KernelFn { points, .. } => points,
            Features::Explicit { .. } | Features::GramRow { .. } => return None,
        };
        Some(points.mean())
    }

    /// Returns the values found for automatic parameters of the kernel; empty for a model read from a file.
    pub fn choices(&self) -> &[Choice] {
        match self.projection.features() {
            Features::Kernel { bound, .. } => bound.choices(),
            _ => &[],
        }
    }

    /// Returns the eigenvalues of HKH, variances, and shares of tr HKH.
    pub fn spectrum(&self) -> &Spectrum {
        &self.spectrum
    }

    /// A lower bound of all eigenvalues of the exact matrix; the lowest number if none is known.
    pub(crate) fn lowest_eigenvalue(&self) -> f64 {
        if self.kernel().is_some_and(Kernel::is_psd) {
            return 0.0;
        }
        match &self.definiteness {
            Some(found) if !self.certificate.is_rigorous() => {
                let largest = self.spectrum.eigenvalues.first().map_or(0.0, |v| v.max(-found.smallest));
                let solver = crate::linalg::solver_error(self.n()) * largest.max(-found.smallest);
                found.smallest.min(0.0) - self.certificate.rounding() - solver
            }
            _ => f64::MIN,
        }
    }

    /// The same model with other error bounds.
    pub(crate) fn with_certificate(self, certificate: Certificate) -> Self {
        KernelPcaModel { certificate, ..self }
    }

    /// Returns the error bounds of the eigenvalues and components.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// Returns whether the centred Gram matrix is positive semi-definite, and its negative mass if it is not; `None` if
    /// only the leading eigenvalues were computed.
    pub fn definiteness(&self) -> Option<&Definiteness> {
        self.definiteness.as_ref()
    }

    /// Returns remarks on the fit: choices that were made, and limits of the result.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns alpha = u / sqrt(lambda), lambda the eigenvalue of HKH: a row per fitted point, a column per component.
    /// For a model of landmarks, a row per landmark: the weights of its kernel values.
    pub fn alpha(&self) -> &Points<f64> {
        self.projection.weights()
    }

    /// b in z(x) = alpha'k(x) - b.
    pub(crate) fn alpha_offset(&self) -> &[f64] {
        self.projection.offset()
    }

    /// The weight of the kernel values with fitted point or landmark i in the mean over the fitted points.
    pub(crate) fn mean_weight(&self, i: usize) -> f64 {
        self.mean_weights.as_ref().map_or(1.0 / self.alpha().n() as f64, |weights| weights[i])
    }

    /// Returns whether the fit is exact (all points used). A fit by landmarks is approximate;
    /// [`Certificate::approximation`] bounds its error.
    pub fn is_exact(&self) -> bool {
        self.mean_weights.is_none()
    }

    /// Returns the scores of the fitted points, u sqrt(lambda). A model of landmarks keeps no other points and returns the
    /// scores of the landmarks. The entry of largest magnitude of a component is positive.
    pub fn scores(&self) -> Points<f64> {
        self.own_scores().expect("a fit and from_parts refuse points that have no scores")
    }

    fn own_scores(&self) -> Result<Points<f64>> {
        if let (false, Features::Kernel { bound, rows, form, .. }) = (self.is_exact(), self.projection.features()) {
            // The stored points are standardised already.
            let (bound, rows, form) = (bound.clone(), rows.clone(), *form);
            let (points, standardise) = (rows.points().clone(), None);
            let features = Features::Kernel { bound, rows, standardise, form };
            let (weights, offset) = (self.alpha().clone(), self.projection.offset().to_vec());
            return Projection::new(features, weights, offset)?.apply(points.view(), &Exec::new());
        }
        let (alpha, values) = (self.alpha(), self.spectrum.eigenvalues());
        Ok(Points::from_fn(alpha.n(), alpha.d(), |i, j| alpha.row(i)[j] * values[j]))
    }

    /// Returns the scores of new points (of rows of kernel values with the fitted points, for a model of a Gram matrix).
    ///
    /// # Errors
    /// When the points have another number of columns than those fitted, or values that are not finite.
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

    /// Returns the squared distance of each point to its projection on the components, in the feature space of the kernel
    /// (MATHS.md, M12): k~(x,x) less the squared scores. Over the fitted points these sum to [`Spectrum::discarded`].
    ///
    /// # Errors
    /// As [`KernelPcaModel::transform`], and for a model of a Gram matrix, for which k(x,x) is not known.
    pub fn squared_errors<'a, T: Real>(&self, points: impl Into<PointsRef<'a, T>>) -> Result<Vec<f64>> {
        self.squared_errors_with(points, &Exec::new())
    }

    /// As [`KernelPcaModel::squared_errors`], with threads and cancellation.
    ///
    /// # Errors
    /// As [`KernelPcaModel::squared_errors`], and when cancelled.
    pub fn squared_errors_with<'a, T: Real>(
        &self,
        points: impl Into<PointsRef<'a, T>>,
        exec: &Exec,
    ) -> Result<Vec<f64>> {
        let (scores, norms) = self.scores_and_norms(points.into(), exec)?;
        let errors: Vec<f64> =
            norms.iter().zip(scores.rows()).map(|(norm, z)| norm - z.iter().map(|z| z * z).sum::<f64>()).collect();
        check_finite(ErrorSubject::SquaredErrors, &errors, |at| (at, 0))?;
        Ok(errors)
    }

    /// Returns k~(x, x), the squared distance of each point from the mean in the feature space of the kernel
    /// (MATHS.md, M12).
    ///
    /// # Errors
    /// As [`KernelPcaModel::squared_errors`].
    pub fn centred_norms<'a, T: Real>(&self, points: impl Into<PointsRef<'a, T>>) -> Result<Vec<f64>> {
        self.centred_norms_with(points, &Exec::new())
    }

    /// As [`KernelPcaModel::centred_norms`], with threads and cancellation.
    ///
    /// # Errors
    /// As [`KernelPcaModel::centred_norms`], and when cancelled.
    pub fn centred_norms_with<'a, T: Real>(
        &self,
        points: impl Into<PointsRef<'a, T>>,
        exec: &Exec,
    ) -> Result<Vec<f64>> {
        Ok(self.scores_and_norms(points.into(), exec)?.1)
    }

    /// Scores and k~(x, x) of points.
    pub(crate) fn scores_and_norms<T: Real>(
        &self,
        x: PointsRef<'_, T>,
        exec: &Exec,
    ) -> Result<(Points<f64>, Vec<f64>)> {
        let (scores, means) = self.projection.apply_with_means(x, self.mean_weights.as_deref(), exec)?;
        let Some(own) = self.projection.features().self_values(x) else {
            return Err(ErrorKind::Unsupported {
                what: "k(x, x) of new points is not known to a model of a Gram matrix".into(),
                remedy: "fit the points with a kernel".into(),
            }
            .into());
        };
        let norms: Vec<f64> = own.iter().zip(means).map(|(k, mean)| k - 2.0 * mean + self.grand_mean).collect();
        check_finite(ErrorSubject::KernelValues, &norms, |at| (at, 0))?;
        Ok((scores, norms))
    }
}
