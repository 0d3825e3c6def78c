//! Oracles, ratios and nasty inputs for tests: of this library, and of operators of your own.

pub mod limits;
pub mod matrices;
pub mod naive;
pub mod ratios;

pub use crate::wire::signed_again;
