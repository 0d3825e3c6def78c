//! Reference implementations, error ratios, conformance checks and nasty inputs, for the tests of this library and of your
//! own kernels and operators.

pub mod conformance;
pub mod limits;
pub mod matrices;
pub mod naive;
pub mod ratios;
pub mod reference;

pub use crate::wire::signed_again;

/// Numbers of about 31 digits.
pub mod double_double {
    pub use crate::ball::DoubleDouble;
}
