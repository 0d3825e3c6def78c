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
    /// Number of components.
    pub fn components(&self) -> usize {
        match self {
            AnyModel::Pca(m) => m.components(),
            AnyModel::KernelPca(m) => m.components(),
            AnyModel::Nystroem(m) => m.components(),
        }
    }

    /// Number of dimensions of the points it takes.
    pub fn d(&self) -> usize {
        match self {
            AnyModel::Pca(m) => m.d(),
            AnyModel::KernelPca(m) => m.d(),
            AnyModel::Nystroem(m) => m.d(),
        }
    }

    /// Eigenvalues, variances and shares; `None` for features, which are no components.
    pub fn spectrum(&self) -> Option<&Spectrum> {
        match self {
            AnyModel::Pca(m) => Some(m.spectrum()),
            AnyModel::KernelPca(m) => Some(m.spectrum()),
            AnyModel::Nystroem(_) => None,
        }
    }

    /// How far the eigenvalues can be from the truth.
    pub fn certificate(&self) -> Option<&Certificate> {
        match self {
            AnyModel::Pca(m) => Some(m.certificate()),
            AnyModel::KernelPca(m) => Some(m.certificate()),
            AnyModel::Nystroem(_) => None,
        }
    }

    /// What was decided on the way and a reader should know.
    pub fn notes(&self) -> &[String] {
        match self {
            AnyModel::Pca(m) => m.notes(),
            AnyModel::KernelPca(m) => m.notes(),
            AnyModel::Nystroem(_) => &[],
        }
    }

    /// The mean of each dimension over the fitted points, where the model knows it.
    pub fn column_means(&self) -> Option<Vec<f64>> {
        match self {
            AnyModel::Pca(m) => (m.is_centered() && *m.embedding() == Embedding::Identity).then(|| m.mean().to_vec()),
            AnyModel::KernelPca(m) => m.column_means(),
            AnyModel::Nystroem(_) => None,
        }
    }

    /// Scores of points.
    ///
    /// # Errors
    /// When the points have other dimensions than those fitted, or values that are not finite.
    pub fn transform<'a, T: Real>(&self, points: impl Into<PointsRef<'a, T>>, exec: &Exec) -> Result<Points<f64>> {
        match self {
            AnyModel::Pca(m) => m.transform_with(points, exec),
            AnyModel::KernelPca(m) => m.transform_with(points, exec),
            AnyModel::Nystroem(m) => m.transform(points, exec),
        }
    }

    /// Points from scores; for kernel PCA with the Gaussian kernel their pre-images
    /// ([`KernelPcaModel::preimages_of_scores`]).
    ///
    /// # Errors
    /// When the scores have not one column per component, and for other kernels, for which no pre-images are found.
    pub fn reconstruct<'a, T: Real>(&self, scores: impl Into<PointsRef<'a, T>>) -> Result<Points<f64>> {
        match self {
            AnyModel::Pca(m) => m.reconstruct(scores),
            AnyModel::KernelPca(m) => Ok(m.preimages_of_scores(scores, &Exec::new())?.into_points()),
            AnyModel::Nystroem(_) => Err(ErrorKind::Unsupported {
                what: "features of a kernel are not turned back into points: pre-images are found for kernel PCA with \
                       the gaussian kernel"
                    .into(),
                remedy: "use kernel PCA, PCA, or an explicit embedding, whose features are reconstructed".into(),
            }
            .into()),
        }
    }

    /// The squared error of each point when only the components are kept.
    ///
    /// # Errors
    /// As [`AnyModel::transform`]; and for a model of a Gram matrix.
    pub fn squared_errors<'a, T: Real>(&self, points: impl Into<PointsRef<'a, T>>) -> Result<Vec<f64>> {
        match self {
            AnyModel::Pca(m) => m.squared_errors(points),
            AnyModel::KernelPca(m) => m.squared_errors(points),
            AnyModel::Nystroem(_) => Err(ErrorKind::Unsupported {
                what: "features of a kernel are no components, and leave nothing out".into(),
                remedy: "use a model of PCA or kernel PCA".into(),
            }
            .into()),
        }
    }
}
