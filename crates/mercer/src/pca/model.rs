//! A fitted PCA.

use rayon::prelude::*;

use super::decompose::RETREAT;
use crate::block::Block;
use crate::eigen::Certificate;
use crate::embedding::Embedding;
use crate::error::{Error, ErrorSubject, Result, check_finite};
use crate::exec::Exec;
use crate::features::Features;
use crate::options::Route;
use crate::points::{Points, PointsRef};
use crate::projection::Projection;
use crate::real::{Real, check_found};
use crate::spectrum::{Matrix, Spectrum};

/// A fitted PCA: the result of [`Pca::fit`](crate::Pca::fit).
///
/// # Example
/// ```
/// use mercer::{Pca, Points};
/// let x = Points::from_rows(&[[0.0, 0.1], [1.0, 2.1], [2.0, 3.9], [3.0, 6.0]]);
/// let model = Pca::new().components(1).fit(&x)?;
/// let scores = model.transform(&x)?; // a row per point
/// let back = model.reconstruct(&scores)?;
/// assert!((back.row(2)[1] - 3.9).abs() < 0.1);
/// assert!(model.spectrum().ratios()[0] > 0.99);
/// # Ok::<(), mercer::Error>(())
/// ```
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
///
/// # Example
/// ```
/// use mercer::{Pca, PcaModel, Points};
/// let x = Points::from_rows(&[[0.0, 0.1], [1.0, 2.1], [2.0, 3.9]]);
/// let model = Pca::new().fit(&x)?;
/// let parts = model.to_parts(); // write these, read them again
/// assert_eq!(PcaModel::from_parts(parts)?.transform(&x)?, model.transform(&x)?);
/// # Ok::<(), mercer::Error>(())
/// ```
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
    pub certificate: Certificate,
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

impl PcaModel {
    /// Builds a model from its numbers.
    ///
    /// # Errors
    /// When they do not fit together, are not finite, or are beyond what a fit accepts.
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
        ] {
            if found != expected {
                return Err(Error::shape(what, found, expected));
            }
        }
        parts.certificate.validate(k)?;
        check_found(ErrorSubject::Mean, &parts.mean)?;
        check_found(ErrorSubject::Scale, &parts.scale)?;
        check_found(ErrorSubject::Axes, parts.axes.as_slice())?;
        if parts.discarded < 0.0 {
            return Err(Error::inconsistent("the sum of the discarded eigenvalues is negative"));
        }
        if parts.route == Route::Auto {
            return Err(Error::inconsistent("the route of a fitted model cannot be auto"));
        }
        if parts.scale.iter().any(|s| *s <= 0.0) {
            return Err(Error::inconsistent("the model has a scale that is not positive"));
        }
        let spectrum = Spectrum {
            eigenvalues: parts.eigenvalues,
            total: parts.total,
            discarded: parts.discarded,
            rank: parts.rank,
            complete: true,
            n: parts.n,
            weight: parts.n as f64,
            centred: parts.center,
            matrix: Matrix::Scatter,
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
            certificate: parts.certificate,
            axes,
            spectrum,
            center: parts.center,
            standardise: parts.standardise,
            whiten: parts.whiten,
            route: parts.route,
            notes: parts.notes,
        })
    }

    /// Returns the numbers of this model.
    pub fn to_parts(&self) -> PcaParts {
        let (embedding, d, mean, scale) = self.explicit();
        PcaParts {
            embedding: embedding.clone(),
            d,
            mean: mean.to_vec(),
            scale: scale.to_vec(),
            axes: self.axes(),
            eigenvalues: self.spectrum.eigenvalues.clone(),
            certificate: self.certificate.clone(),
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

    /// Returns the same model with its first k components only.
    ///
    /// # Errors
    /// None for a model that was fitted.
    pub fn first(&self, k: usize) -> Result<Self> {
        let mut parts = self.to_parts();
        let kept = k.min(parts.eigenvalues.len());
        parts.discarded += parts.eigenvalues[kept..].iter().rev().fold(0.0, |sum, v| sum + v);
        parts.certificate = parts.certificate.first(kept, &parts.eigenvalues);
        parts.eigenvalues.truncate(kept);
        parts.axes = Points::from_fn(kept, parts.axes.d(), |i, j| parts.axes.row(i)[j]);
        PcaModel::from_parts(parts)
    }

    fn explicit(&self) -> (&Embedding, usize, &[f64], &[f64]) {
        match self.projection.features() {
            Features::Explicit { embedding, d, mean, scale } => (embedding, *d, mean, scale),
            _ => unreachable!("a PCA model has explicit features"),
        }
    }

    /// Returns the number of components.
    pub fn components(&self) -> usize {
        self.projection.components()
    }

    /// Returns the number of columns of the points.
    pub fn d(&self) -> usize {
        self.explicit().1
    }

    /// Returns the embedding, [`Embedding::Identity`] for plain PCA.
    pub fn embedding(&self) -> &Embedding {
        self.explicit().0
    }

    /// Returns what is subtracted from the features: their mean, or 0.
    pub fn mean(&self) -> &[f64] {
        self.explicit().2
    }

    /// Returns what the features are divided by: their standard deviation, or 1.
    pub fn scale(&self) -> &[f64] {
        self.explicit().3
    }

    /// Returns the axes, a row of length 1 per component: the loadings. The entry of largest magnitude is positive.
    pub fn axes(&self) -> Points<f64> {
        self.axes.transposed().to_points()
    }

    /// Returns eigenvalues, variances and explained shares.
    pub fn spectrum(&self) -> &Spectrum {
        &self.spectrum
    }

    /// The same model with other error bounds.
    pub(crate) fn with_certificate(self, certificate: Certificate) -> Self {
        PcaModel { certificate, ..self }
    }

    /// Returns the error bounds of the eigenvalues and axes.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// Returns the matrix that was decomposed.
    pub fn route(&self) -> Route {
        self.route
    }

    /// Returns whether the last component is so small that the route lost digits which [`Route::Svd`] keeps.
    pub fn loses_digits(&self) -> bool {
        let values = &self.spectrum.eigenvalues;
        self.route != Route::Svd
            && values.last().zip(values.first()).is_some_and(|(last, first)| *last < RETREAT * first)
    }

    /// Returns whether the mean is subtracted.
    pub fn is_centered(&self) -> bool {
        self.center
    }

    /// Returns whether columns are divided by their standard deviation.
    pub fn is_standardised(&self) -> bool {
        self.standardise
    }

    /// Returns whether scores are divided by their standard deviation.
    pub fn is_whitened(&self) -> bool {
        self.whiten
    }

    /// Returns remarks on the fit: choices that were made, and limits of the result.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the scores y = F'((phi(x) - m) / s), a row per point (MATHS.md, M2).
    ///
    /// # Errors
    /// When the points have another number of columns than those fitted, or values that are not finite.
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

    /// Returns the reconstructions m + s F y of scores, in the space of the features (MATHS.md, M2).
    ///
    /// # Errors
    /// When the scores have not one column per component, or values that are not finite.
    pub fn reconstruct<'a, T: Real>(&self, scores: impl Into<PointsRef<'a, T>>) -> Result<Points<f64>> {
        self.reconstruct_with(scores, &Exec::new())
    }

    /// As [`PcaModel::reconstruct`], with threads and cancellation.
    ///
    /// # Errors
    /// As [`PcaModel::reconstruct`], and when cancelled.
    pub fn reconstruct_with<'a, T: Real>(
        &self,
        scores: impl Into<PointsRef<'a, T>>,
        exec: &Exec,
    ) -> Result<Points<f64>> {
        let y = scores.into();
        if y.d() != self.components() {
            return Err(Error::shape("columns of the scores, one per component", y.d(), self.components()));
        }
        y.check(0).or_else(|e| if y.d() == 0 { Ok(()) } else { Err(e) })?;
        let (_, _, mean, scale) = self.explicit();
        let sd = self.whitening();
        let mut back = Points::from_fn(y.n(), mean.len(), |_, j| mean[j]);
        exec.run(|| {
            back.as_mut_slice().par_chunks_mut(mean.len().max(1)).enumerate().try_for_each(|(i, row)| {
                exec.check_cancelled()?;
                for ((out, v), s) in row.iter_mut().zip(self.expand(y.row(i), &sd)).zip(scale) {
                    *out += s * v;
                }
                Ok(())
            })
        })?;
        check_finite(ErrorSubject::Reconstructions, back.as_slice(), |at| (at / mean.len(), at % mean.len()))?;
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

    /// Returns the squared distance of each point to its reconstruction, in the space of the (standardised) features.
    /// Over the fitted points these sum to [`Spectrum::discarded`].
    ///
    /// # Errors
    /// As [`PcaModel::transform`].
    pub fn squared_errors<'a, T: Real>(&self, points: impl Into<PointsRef<'a, T>>) -> Result<Vec<f64>> {
        self.squared_errors_with(points, &Exec::new())
    }

    /// As [`PcaModel::squared_errors`], with threads and cancellation.
    ///
    /// # Errors
    /// As [`PcaModel::squared_errors`], and when cancelled.
    pub fn squared_errors_with<'a, T: Real>(
        &self,
        points: impl Into<PointsRef<'a, T>>,
        exec: &Exec,
    ) -> Result<Vec<f64>> {
        let x = points.into();
        let scores = self.transform_with(x, exec)?;
        let (embedding, _, mean, scale) = self.explicit();
        let sd = self.whitening();
        let x = x.to_f64();
        let error = |i: usize| {
            exec.check_cancelled()?;
            let phi = embedding.checked_map(i, x.row(i), mean.len())?;
            let back = self.expand(scores.row(i), &sd);
            Ok((0..mean.len()).map(|j| ((phi[j] - mean[j]) / scale[j] - back[j]).powi(2)).sum())
        };
        let errors: Vec<f64> = exec.run(|| (0..x.n()).into_par_iter().map(error).collect::<Result<_>>())?;
        check_finite(ErrorSubject::SquaredErrors, &errors, |at| (at, 0))?;
        Ok(errors)
    }
}
