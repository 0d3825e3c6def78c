//! Oracles, ratios, conformance checks and nasty inputs for tests: of this library, and of kernels and operators of your
//! own.

pub mod conformance;
pub mod double_double;
pub mod limits;
pub mod matrices;
pub mod naive;
pub mod ratios;
pub mod reference;

pub use crate::wire::signed_again;
