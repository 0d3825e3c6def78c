//! Kernels and embeddings as text and back.

use crate::strategies::{any_leaf, config, made_of, no_error, some_points};
use mercer::kernel::Nu;
use mercer::kernel::Polynomial;
use mercer::{Embedding, Gamma, Kernel, Length};
use proptest::prelude::*;

/// Numbers of all sizes, printed in the shortest way.
fn any_positive() -> impl Strategy<Value = f64> {
    prop_oneof![
        (-300..300i32, 1.0..10.0f64).prop_map(|(e, m)| m * 10f64.powi(e)),
        (1..100u32).prop_map(f64::from),
        Just(f64::MIN_POSITIVE),
        Just(1e300),
    ]
}

fn any_gamma() -> impl Strategy<Value = Gamma> {
    prop_oneof![
        any_positive().prop_map(Gamma::Value),
        any_positive().prop_map(Gamma::OverSigma2),
        any_positive().prop_map(Gamma::Over2Sigma2),
        Just(Gamma::Median),
        Just(Gamma::Scale),
        Just(Gamma::PerDimension),
    ]
}

/// Leaves with any parameters that are valid.
fn any_spelling() -> impl Strategy<Value = Kernel> {
    let length = prop_oneof![any_positive().prop_map(Length::Value), Just(Length::Median)];
    let number = prop_oneof![any_positive(), any_positive().prop_map(|v| -v), Just(0.0)];
    prop_oneof![
        Just(Kernel::linear()),
        Just(Kernel::cosine()),
        any_gamma().prop_map(Kernel::gaussian),
        any_gamma().prop_map(Kernel::laplacian),
        (any_gamma(), number.clone(), 1..u32::MAX)
            .prop_map(|(gamma, coef0, degree)| { Kernel::from(Polynomial { gamma, coef0, degree }) }),
        (any_gamma(), number).prop_map(|(gamma, coef0)| Kernel::sigmoid(gamma, coef0)),
        (prop_oneof![Just(Nu::Half), Just(Nu::ThreeHalves), Just(Nu::FiveHalves)], length.clone())
            .prop_map(|(nu, length)| Kernel::matern(nu, length)),
        (any_positive(), length).prop_map(|(alpha, length)| Kernel::rational_quadratic(alpha, length)),
    ]
    .prop_filter("valid", |k| k.validate().is_ok())
}

/// Kernels made from kernels without the operators, which would tidy them up.
fn untidy() -> impl Strategy<Value = Kernel> {
    any_leaf().prop_recursive(3, 10, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Kernel::Sum),
            prop::collection::vec(inner.clone(), 1..4).prop_map(Kernel::Product),
            (0.1..5.0f64, inner.clone()).prop_map(|(w, k)| Kernel::Scaled(w, Box::new(k))),
            inner.prop_map(Kernel::normalised),
        ]
    })
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn text_reads_back_as_the_same_kernel(kernel in made_of(any_spelling())) {
        prop_assume!(kernel.validate().is_ok());
        let text = kernel.to_string();
        prop_assert_eq!(text.parse::<Kernel>(), Ok(kernel.clone()), "{}", text);
        let json = serde_json::to_string(&kernel).expect("text");
        prop_assert_eq!(serde_json::from_str::<Kernel>(&json).ok(), Some(kernel));
    }

    #[test]
    fn text_of_untidy_kernels_means_the_same(kernel in untidy(), x in some_points(2..3, 1..4)) {
        let text = kernel.to_string();
        let again: Kernel = no_error(text.parse())?;
        let (a, b) = (kernel.eval(x.row(0), x.row(1)), again.eval(x.row(0), x.row(1)));
        prop_assert!((a - b).abs() <= 1e-12 * a.abs().max(1.0), "{text}: {a} {b}");
        prop_assert_eq!(again.to_string().parse::<Kernel>().ok(), Some(again), "{}", text);
    }

    #[test]
    fn any_text_is_read_or_explained(text in any::<String>()) {
        for read in [text.parse::<Kernel>().err(), text.parse::<Embedding>().err()].into_iter().flatten() {
            let _ = (read.to_string(), read.help());
        }
    }

    #[test]
    fn any_text_of_the_right_letters_is_read_or_explained(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "linear", "gaussian", "poly", "matern", "normalised", "(", ")", "+", "*", "=", ",", "gamma", "degree",
                "nu", "1", "-2.5", "1e", "1e+", "1e400", "e", "-", ".", " ", "\u{a0}", "\u{2003}", "λ", "é", "1/2",
                "median", "\n", "nan", "inf",
            ]),
            0..12,
        ),
    ) {
        let text = words.concat();
        match text.parse::<Kernel>() {
            Ok(kernel) => prop_assert_eq!(kernel.to_string().parse::<Kernel>(), Ok(kernel), "{}", text),
            Err(e) => prop_assert!(!e.to_string().is_empty()),
        }
        let monomials = format!("monomials:{text}");
        if let Ok(phi) = monomials.parse::<Embedding>() {
            prop_assert_eq!(phi.to_string().parse::<Embedding>(), Ok(phi), "{}", text);
        }
    }
}
