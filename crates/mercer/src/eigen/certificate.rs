//! How far a result can be from the truth (MATHS.md, M13).

use std::fmt;

/// What is known about the error of computed eigenvalues.
///
/// Every eigenvalue of the exact matrix lies within `radius` of the computed one of the same rank (Weyl): the radius
/// is the measured residual of the pair plus `rounding`, which covers the evaluation of the matrix itself and the
/// backward error of the dense solver. The residuals are measured; the rounding allowance is a first-order bound with
/// generous constants, an estimate in the strict sense.
#[derive(Clone, Debug, PartialEq)]
pub struct Certificate {
    pub(crate) residuals: Vec<f64>,
    pub(crate) rounding: f64,
    pub(crate) scale: f64,
}

impl Certificate {
    /// The measured residual |A u - lambda u| of each pair.
    pub fn residuals(&self) -> &[f64] {
        &self.residuals
    }

    /// The allowance for rounding, in the units of the eigenvalues.
    pub fn rounding(&self) -> f64 {
        self.rounding
    }

    /// How far eigenvalue i can be from the truth.
    pub fn radius(&self, i: usize) -> f64 {
        self.residuals[i] + self.rounding
    }

    /// The largest radius relative to the largest eigenvalue, 0 for no components.
    pub fn worst(&self) -> f64 {
        let radius = (0..self.residuals.len()).map(|i| self.radius(i)).fold(0.0, f64::max);
        if self.scale > 0.0 { radius / self.scale } else { 0.0 }
    }
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "every eigenvalue is right to within {:.1e} of the largest", self.worst())
    }
}
