//! Eigenpairs, each with a statement of how far it can be from the truth.

mod certificate;
pub(crate) mod davidson;
mod dense;
mod orth;
pub(crate) mod probe;
pub(crate) mod sign;

pub use certificate::{Approximation, Certificate, Cluster, Kind, Passes};
pub(crate) use certificate::{Known, check_range, rounding, rounding_of_products};
pub(crate) use davidson::{Found, Precondition, Problem, Wanted, columns, solve};
pub(crate) use dense::Eigen;

use crate::error::Result;
use crate::exec::Exec;
use crate::op::{Centred, SymOp};

/// How the eigenpairs of a centred operator are found. A solver sees the operator alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Solver {
    /// All pairs of the operator as a stored matrix.
    Dense,
}

impl Solver {
    /// Eigenpairs of HAH on the space orthogonal to 1, the largest eigenvalues first.
    pub(crate) fn pairs<A: SymOp>(self, op: &Centred<A>, exec: &Exec) -> Result<Eigen> {
        match self {
            Solver::Dense => Eigen::of_centred(op.to_matrix(exec)?),
        }
    }
}
