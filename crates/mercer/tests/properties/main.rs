//! What must hold for all points and all kernels: agreement with the textbook in plain loops, identities, and
//! LAPACK's ratios. The cases are the same in every run; PROPTEST_RNG_SEED and PROPTEST_CASES ask for others.
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;

mod f32_points;
mod identities;
mod moments;
mod monomials;
mod nasty;
mod parts;
mod ratios;
mod routes;
mod strategies;
mod text;
mod textbook;
