//! The one ending of every route: eigenpairs become a model with its spectrum, certificate and notes.

use super::{KernelPca, KernelPcaModel};
use crate::block::Block;
use crate::diagnose::Definiteness;
use crate::eigen::{Certificate, Eigen, Rounding, check_range, rounding};
use crate::error::Result;
use crate::exec::Exec;
use crate::features::Features;
use crate::op::{Centred, Dense, SymOp};
use crate::points::Points;
use crate::projection::Projection;
use crate::spectrum::{Matrix, Spectrum};

/// What a route ends with.
pub(super) struct Ending {
    pub(super) features: Features,
    pub(super) weights: Weights,
    /// The mean of all entries of the Gram matrix.
    pub(super) grand_mean: f64,
    /// All eigenvalues that were computed, descending.
    pub(super) values: Vec<f64>,
    /// Their errors: values that are nearer to each other than this are equal.
    pub(super) tie: f64,
    /// Eigenvalues of the components, their total and so on.
    pub(super) spectrum: Spectrum,
    pub(super) certificate: Certificate,
    /// `None` where only the leading eigenvalues are known.
    pub(super) definiteness: Option<Definiteness>,
    pub(super) notes: Vec<String>,
}

/// What features are weighted with.
pub(super) enum Weights {
    /// Orthonormal eigenvectors (columns) of the centred Gram matrix, and the means of its rows before centring.
    Vectors { vectors: Block, means: Vec<f64> },
    /// Weights of the kernel values with landmarks for scores, and for the mean over the fitted points.
    Landmarks { weights: Block, offset: Vec<f64>, mean_weights: Vec<f64> },
}

impl Ending {
    /// The model.
    pub(super) fn model(self) -> Result<KernelPcaModel> {
        let Ending { features, weights, grand_mean, spectrum, certificate, definiteness, mut notes, .. } = self;
        notes.extend(Spectrum::ties(&self.values, spectrum.eigenvalues.len(), self.tie));
        let (weights, offset, mean_weights) = match weights {
            Weights::Vectors { vectors, means } => {
                let (n, k, values) = (vectors.n(), vectors.b(), &spectrum.eigenvalues);
                // M10  alpha = u / sqrt(lambda)
                let weights = Points::from_fn(n, k, |i, j| vectors.at(i, j) / values[j].sqrt());
                // M11  b = alpha'kbar
                let offset = (0..k).map(|j| (0..n).map(|i| weights.row(i)[j] * means[i]).sum()).collect();
                (weights, offset, None)
            }
            Weights::Landmarks { weights, offset, mean_weights } => (weights.to_points(), offset, Some(mean_weights)),
        };
        let projection = Projection::new(features, weights, offset)?;
        Ok(KernelPcaModel { projection, spectrum, certificate, definiteness, grand_mean, mean_weights, notes })
    }
}

impl KernelPca {
    /// From the stored Gram matrix on, line by line as in the textbook. The errors of its entries are of the size
    /// `entry_error`: their Frobenius norm is at most n times that.
    pub(super) fn finish_matrix(
        &self,
        features: Features,
        gram: Dense,
        entry_error: Rounding,
        exec: &Exec,
    ) -> Result<KernelPcaModel> {
        let n = gram.n();
        check_range(n, gram.largest())?;
        let (means, grand_mean) = gram.means(); //                          M7  kbar = K1/n
        let norm = gram.norm();
        let centred = Centred(gram); //                                     M7  K~ = HKH
        exec.check_cancelled()?;
        let eigen = Eigen::of_operator(&centred, exec)?; //                 M8  K~ = U L U'
        let allowance = rounding(n, entry_error.bound, norm, &eigen.values);
        let rounding = allowance.total();
        let definiteness = Definiteness::of(&eigen.values, rounding);
        let total = definiteness.total(&eigen.values); //                   M9  tr K~, or sum |lambda| when indefinite
        let rank = eigen.values.iter().take_while(|v| **v > rounding).count();

        let k = self.components.count(&eigen.values, total, rank);
        let mut notes = Vec::new();
        if definiteness.is_indefinite() {
            notes.push(format!("{definiteness}; explained shares are of that mass"));
        }
        let Eigen { values, vectors, residuals } = eigen.keep(k, &centred, exec)?;
        Ending {
            features,
            weights: Weights::Vectors { vectors, means },
            grand_mean,
            tie: 2.0 * rounding,
            certificate: Certificate::of_all(&values, n, residuals, allowance, entry_error.confidence),
            spectrum: Spectrum {
                eigenvalues: values[..k].to_vec(),
                total,
                discarded: values[k..].iter().fold(0.0, |sum, v| sum + v),
                rank,
                complete: true,
                n,
                weight: n as f64,
                centred: true,
                matrix: Matrix::Gram,
            },
            values,
            definiteness: Some(definiteness),
            notes,
        }
        .model()
    }
}
