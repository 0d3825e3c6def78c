//! Any fitted model: what is saved, loaded and served.

use crate::eigen::Certificate;
use crate::embedding::Embedding;
use crate::error::{ErrorKind, Result};
use crate::exec::Exec;
use crate::kernel_pca::KernelPcaModel;
use crate::nystroem::NystroemModel;
use crate::pca::PcaModel;
use crate::points::{Points, PointsRef};
use crate::real::Real;
use crate::spectrum::Spectrum;

/// A fitted model of any kind.
///
/// # Example
/// ```
/// use mercer::{AnyModel, Exec, Pca, Points};
/// let x = Points::from_rows(&[[0.0, 0.1], [1.0, 2.1], [2.0, 3.9]]);
/// let model = AnyModel::Pca(Pca::new().components(1).fit(&x)?);
/// assert_eq!(model.transform(&x, &Exec::new())?.d(), 1);
/// assert!(model.spectrum().is_some());
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AnyModel {
    /// PCA of points or of their explicit embedding.
    Pca(PcaModel),
    /// Kernel PCA.
    KernelPca(KernelPcaModel),
    /// Features of a kernel from a sample of points.
    Nystroem(NystroemModel),
}

impl AnyModel {
    /// Returns the number of components.
    pub fn components(&self) -> usize {
        match self {
            AnyModel::Pca(m) => m.components(),
            AnyModel::KernelPca(m) => m.components(),
            AnyModel::Nystroem(m) => m.components(),
        }
    }

    /// Returns the number of columns of the points it takes.
    pub fn d(&self) -> usize {
        match self {
            AnyModel::Pca(m) => m.d(),
            AnyModel::KernelPca(m) => m.d(),
            AnyModel::Nystroem(m) => m.d(),
        }
    }

    /// Returns eigenvalues, variances and shares; `None` for features, which are no components.
    pub fn spectrum(&self) -> Option<&Spectrum> {
        match self {
            AnyModel::Pca(m) => Some(m.spectrum()),
            AnyModel::KernelPca(m) => Some(m.spectrum()),
            AnyModel::Nystroem(_) => None,
        }
    }

    /// Returns the error bounds of the eigenvalues and components; `None` for features.
    pub fn certificate(&self) -> Option<&Certificate> {
        match self {
            AnyModel::Pca(m) => Some(m.certificate()),
            AnyModel::KernelPca(m) => Some(m.certificate()),
            AnyModel::Nystroem(_) => None,
        }
    }

    /// Returns remarks on the fit: choices that were made, and limits of the result.
    pub fn notes(&self) -> &[String] {
        match self {
            AnyModel::Pca(m) => m.notes(),
            AnyModel::KernelPca(m) => m.notes(),
            AnyModel::Nystroem(_) => &[],
        }
    }

    /// Returns the mean of each column over the fitted points, where it is part of the model.
    pub fn column_means(&self) -> Option<Vec<f64>> {
        match self {
            AnyModel::Pca(m) => (m.is_centered() && *m.embedding() == Embedding::Identity).then(|| m.mean().to_vec()),
            AnyModel::KernelPca(m) => m.column_means(),
            AnyModel::Nystroem(_) => None,
        }
    }

    /// Returns the certificate for at least this many components: those beyond the components of the model have the
    /// eigenvalue 0 and any vectors that are orthonormal to the others. `None` for features of a kernel.
    pub fn certificate_of(&self, components: usize) -> Option<Certificate> {
        let certificate = self.certificate()?;
        let lowest = match self {
            AnyModel::Pca(_) | AnyModel::Nystroem(_) => 0.0,
            AnyModel::KernelPca(model) => model.lowest_eigenvalue(),
        };
        Some(certificate.clone().completed(components.saturating_sub(self.components()), lowest))
    }

    /// Returns the scores of points.
    ///
    /// # Errors
    /// When the points have another number of columns than those fitted, or values that are not finite.
    pub fn transform<'a, T: Real>(&self, points: impl Into<PointsRef<'a, T>>, exec: &Exec) -> Result<Points<f64>> {
        match self {
            AnyModel::Pca(m) => m.transform_with(points, exec),
            AnyModel::KernelPca(m) => m.transform_with(points, exec),
            AnyModel::Nystroem(m) => m.transform(points, exec),
        }
    }

    /// Returns points from scores; for kernel PCA with the Gaussian kernel their pre-images
    /// ([`KernelPcaModel::preimages_of_scores`]).
    ///
    /// # Errors
    /// When the scores have not one column per component, and for other kernels, for which no pre-images are found.
    pub fn reconstruct<'a, T: Real>(&self, scores: impl Into<PointsRef<'a, T>>, exec: &Exec) -> Result<Points<f64>> {
        match self {
            AnyModel::Pca(m) => m.reconstruct_with(scores, exec),
            AnyModel::KernelPca(m) => Ok(m.preimages_of_scores(scores, exec)?.into_points()),
            AnyModel::Nystroem(_) => Err(ErrorKind::Unsupported {
                what: "features of a kernel have no reconstruction: pre-images exist for kernel PCA with the gaussian \
                       kernel"
                    .into(),
                remedy: "use kernel PCA, PCA, or an explicit embedding, whose features are reconstructed".into(),
            }
            .into()),
        }
    }

    /// Returns the squared error of each point when only the components are kept.
    ///
    /// # Errors
    /// As [`AnyModel::transform`]; and for a model of a Gram matrix.
    pub fn squared_errors<'a, T: Real>(&self, points: impl Into<PointsRef<'a, T>>, exec: &Exec) -> Result<Vec<f64>> {
        match self {
            AnyModel::Pca(m) => m.squared_errors_with(points, exec),
            AnyModel::KernelPca(m) => m.squared_errors_with(points, exec),
            AnyModel::Nystroem(_) => Err(ErrorKind::Unsupported {
                what: "features of a kernel have no reconstruction error: they are not components".into(),
                remedy: "use a model of PCA or kernel PCA".into(),
            }
            .into()),
        }
    }
}
