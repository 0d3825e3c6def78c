//! Eigenpairs, each with a statement of how far it can be from the truth.

mod certificate;
pub(crate) mod davidson;
mod dense;
mod orth;
pub(crate) mod probe;
pub(crate) mod sign;

pub use certificate::{Approximation, BoundKind, Certificate, EigenvalueCluster, Passes};
pub(crate) use certificate::{Known, check_range, rounding, rounding_of_products};
pub(crate) use davidson::{Found, Precondition, Problem, Wanted, columns, solve};
pub(crate) use dense::Eigen;
