//! Eigenpairs, each with a statement of how far it can be from the truth.

mod certificate;
mod dense;
pub(crate) mod sign;

pub use certificate::Certificate;
pub(crate) use certificate::{check_range, rounding};
pub(crate) use dense::Eigen;
