//! How far a result can be from the truth (MATHS.md, M13).

use std::fmt;

use crate::error::{ErrorKind, Result};

/// What rounding can have done to an eigenvalue of the centred Gram matrix of n points, whose entries are good to
/// `entry_error` (Weyl: |E|_2 <= n max|E_ij|); centring and the dense solver add a small multiple of n eps times the
/// largest eigenvalue.
pub(crate) fn rounding(n: usize, entry_error: f64, eigenvalues: &[f64]) -> f64 {
    let norm = eigenvalues.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    n as f64 * (entry_error + f64::EPSILON * norm)
}

/// Refuses a Gram matrix whose eigenvalues, or whose rounding, leave the range of f64.
pub(crate) fn check_range(n: usize, largest_entry: f64) -> Result<()> {
    let fits = (64.0 * n as f64 * largest_entry).is_finite() && largest_entry > 1e4 * f64::MIN_POSITIVE;
    if largest_entry == 0.0 || fits {
        return Ok(());
    }
    Err(ErrorKind::Range { what: "Gram matrix", magnitude: largest_entry }.into())
}

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
        let worst = self.worst();
        write!(f, "eigenvalues within {worst:.1e} of the largest: residuals measured, rounding estimated")
    }
}
