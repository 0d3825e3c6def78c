//! The error of kernel PCA by landmarks (MATHS.md, M20).

use serde::{Deserialize, Serialize};

/// The error of an approximate fit by landmarks: the distance of the decomposed matrix FF' from the Gram matrix K
/// (MATHS.md, M20).
///
/// The difference E = K - FF' is positive semi-definite, so that no eigenvalue is too small by more than the trace of E.
/// That bound is certain. The residuals are estimates from a sample of the rows.
///
/// # Example
/// ```
/// use mercer::{Gamma, Kernel, KernelPca, Landmarks, Points};
/// let x = Points::from_fn(200, 2, |i, j| ((i * (j + 2)) as f64).sin());
/// let kernel_pca = KernelPca::new(Kernel::gaussian(Gamma::Median)).components(2);
/// let model = kernel_pca.landmarks(Landmarks::KMeans(40)).fit(&x)?;
/// let approximation = model.certificate().approximation().expect("landmarks were used");
/// assert_eq!(approximation.landmarks(), 40);
/// assert!(approximation.trace_share() < 0.1);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Approximation {
    pub(super) landmarks: usize,
    pub(super) trace_error: f64,
    total: f64,
    pub(super) sampled: usize,
    /// The estimate of each residual, and its upper bound at `confidence`.
    pub(super) residuals: Vec<(f64, f64)>,
    pub(super) confidence: f64,
}

impl Approximation {
    pub(crate) fn new(
        landmarks: usize,
        trace_error: f64,
        total: f64,
        sampled: usize,
        residuals: Vec<(f64, f64)>,
        confidence: f64,
    ) -> Self {
        // No residual is larger than the norm of E.
        let residuals = residuals.into_iter().map(|(v, bound)| (v.min(trace_error), bound.min(trace_error))).collect();
        Approximation { landmarks, trace_error, total, sampled, residuals, confidence }
    }

    /// Returns the number of landmarks.
    pub fn landmarks(&self) -> usize {
        self.landmarks
    }

    /// Returns the trace of E = K - FF', an upper bound of the sum of all errors of eigenvalues.
    pub fn trace_error(&self) -> f64 {
        self.trace_error
    }

    /// Returns the trace error as a share of the total variance.
    pub fn trace_share(&self) -> f64 {
        if self.total > 0.0 { self.trace_error / self.total } else { 0.0 }
    }

    /// Returns the number of rows in the sample that the residuals are estimated from.
    pub fn sampled(&self) -> usize {
        self.sampled
    }

    /// Returns |K~u - lambda u| of each component, estimated from the sample; empty without a sample.
    pub fn residuals(&self) -> Vec<f64> {
        self.residuals.iter().map(|r| r.0).collect()
    }

    /// Returns an upper bound of each residual, at [`Approximation::confidence`]: six standard errors above the estimate, or
    /// the trace error where the sample is too small for an estimate.
    pub fn residual_bounds(&self) -> Vec<f64> {
        self.residuals.iter().map(|r| r.1).collect()
    }

    /// Returns the confidence of each bound on a residual. It was measured, on data with and without outliers; it is not
    /// proven.
    pub fn confidence(&self) -> f64 {
        self.confidence
    }

    /// Restricts the residuals to the first k components.
    pub(super) fn first(&mut self, k: usize) {
        self.residuals.truncate(k);
    }

    pub(super) fn is_sound(&self, k: usize) -> bool {
        let numbers = self.residuals.iter().flat_map(|r| [r.0, r.1]);
        let mut numbers = numbers.chain([self.trace_error, self.total, self.confidence]);
        (self.residuals.is_empty() || self.residuals.len() == k) && numbers.all(|v| v.is_finite() && v >= 0.0)
    }
}
