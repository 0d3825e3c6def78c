//! Eigenpairs, each with error bounds.

mod approximation;
mod certificate;
pub(crate) mod davidson;
mod dense;
mod enclosed;
mod orth;
pub(crate) mod probe;
pub(crate) mod sign;
mod statement;

pub use approximation::Approximation;
pub(crate) use certificate::{
    Allowance, Known, Residual, Rounding, check_range, rounding, rounding_of_products, rounding_of_sums,
};
pub use certificate::{Certificate, EigenvalueCluster, Passes};
pub(crate) use davidson::{Found, Precondition, Problem, Wanted, columns, solve};
pub(crate) use dense::Eigen;
pub(crate) use enclosed::Enclosed;
pub use statement::{About, BoundKind, Confidence, Statement};
