//! Inputs of the property tests: points and kernels of all kinds, the same in every run.
#![allow(unreachable_pub)]

use mercer::kernel::Nu;
use mercer::kernel::Polynomial;
use mercer::kernel::registry::{Domain, Entry, KERNELS};
use mercer::testing::conformance;
use mercer::{Gamma, Kernel, Length, Points, Result};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

pub const EPS: f64 = f64::EPSILON;

pub fn config(cases: u32) -> ProptestConfig {
    let asked = ProptestConfig::default();
    ProptestConfig {
        cases: if std::env::var_os("PROPTEST_CASES").is_some() { asked.cases } else { cases },
        rng_seed: if asked.rng_seed == RngSeed::Random { RngSeed::Fixed(20) } else { asked.rng_seed },
        failure_persistence: None,
        ..asked
    }
}

pub fn no_error<T>(result: Result<T>) -> std::result::Result<T, TestCaseError> {
    result.map_err(|e| TestCaseError::fail(e.to_string()))
}

/// Points of any small size with ordinary values, some of them equal.
pub fn some_points(n: std::ops::Range<usize>, d: std::ops::Range<usize>) -> impl Strategy<Value = Points> {
    let value = prop_oneof![8 => -3.0..3.0f64, 1 => Just(0.0), 1 => Just(1.0)];
    (n, d).prop_flat_map(move |(n, d)| {
        prop::collection::vec(value.clone(), n * d).prop_map(move |v| Points::new(v, n, d).expect("n d values"))
    })
}

/// The kernel of this name of the registry, with numbers from a and b in 0..1 and a whole number in 1..=4.
pub fn leaf(name: &str, a: f64, b: f64, whole: u32) -> Kernel {
    let (gamma, length) = (Gamma::Value(0.01 + a), Length::Value(0.2 + 3.0 * a));
    match name {
        "linear" => Kernel::linear(),
        "cosine" => Kernel::cosine(),
        "polynomial" => Polynomial { gamma, coef0: b, degree: whole }.into(),
        "gaussian" => Kernel::gaussian(gamma),
        "laplacian" => Kernel::laplacian(gamma),
        "matern" => Kernel::matern([Nu::Half, Nu::ThreeHalves, Nu::FiveHalves][whole as usize % 3], length),
        "rational_quadratic" => Kernel::rational_quadratic(0.1 + 2.0 * b, length),
        "sigmoid" => Kernel::sigmoid(gamma, 2.0 * b - 1.0),
        other => {
            let entry = KERNELS.iter().find(|e| e.name == other).expect("a kernel of the table");
            let examples = conformance::examples(entry, 1);
            let numeric: Vec<&Kernel> = examples.iter().filter(|k| k.is_numeric()).collect();
            numeric[whole as usize % numeric.len()].clone()
        }
    }
}

pub fn any_leaf() -> impl Strategy<Value = Kernel> {
    let all: Vec<&Entry> = KERNELS.iter().filter(|e| e.domain == Domain::All).collect();
    (0..all.len(), 0.0..1.0f64, 0.0..1.0f64, 1..5u32).prop_map(move |(at, a, b, m)| leaf(all[at].name, a, b, m))
}

/// Kernels made from kernels, by the operators.
pub fn made_of(leaf: impl Strategy<Value = Kernel> + 'static) -> impl Strategy<Value = Kernel> {
    leaf.prop_recursive(3, 8, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| a + b),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| a * b),
            (0.1..5.0f64, inner.clone()).prop_map(|(w, k)| w * k),
            inner.prop_map(Kernel::normalised),
        ]
    })
}

pub fn any_kernel() -> impl Strategy<Value = Kernel> {
    made_of(any_leaf())
}
