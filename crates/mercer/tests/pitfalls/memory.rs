//! Fits beyond the memory budget are refused, or use a method that fits.

use crate::common::ROUTES;
use crate::{gram_of, kernel};
use mercer::op::SymOp;
use mercer::testing::matrices::normal;
use mercer::{Block, Embedding, ErrorKind, Exec, Kernel, KernelPca, Pca, Points, Result, Route, diagnose};

#[test]
fn fits_beyond_the_memory_budget_are_refused_before_they_start() {
    let memory = |e: mercer::Error| match e.kind() {
        ErrorKind::Memory { needed, budget, .. } => {
            assert!(*needed > u128::from(*budget) && e.help().is_some(), "{e}");
            e.to_string()
        }
        other => panic!("{other:?}"),
    };
    // C(109, 10) monomials.
    let phi = Embedding::monomials(10);
    assert_eq!(phi.features(100), Some(42_634_215_112_710));
    let pca = Pca::new().embed(phi);
    let message = memory(pca.fit(&normal(3, 100, 27)).expect_err("too many features"));
    assert!(message.contains("42634215112710 features"), "{message}");
    memory(pca.plan(3, 100, &Exec::new()).expect_err("too many features"));

    let gaussian = KernelPca::new(kernel("gaussian"));
    let message = memory(gaussian.plan(1_000_000, 10, &Exec::new()).expect_err("8 TB and more"));
    assert!(message.contains("1000000 points"), "{message}");
    assert!(gaussian.plan(1000, 10, &Exec::new()).is_ok());
    memory(gaussian.fit_with(&normal(600, 2, 1), &Exec::new().memory(1_000_000)).expect_err("1 MB"));
    memory(KernelPca::custom().fit_gram_with(&gram_of(100, |_, _| 1.0), &Exec::new().memory(1000)).expect_err("1 kB"));
    memory(
        diagnose::check_kernel(&kernel("linear"), &normal(600, 2, 1), &Exec::new().memory(1_000_000))
            .expect_err("1 MB"),
    );
    for route in ROUTES {
        let pca = Pca::new().route(route);
        memory(pca.plan(1_000_000_000, 1_000_000, &Exec::new()).expect_err("too large"));
        memory(pca.fit_with(&normal(100, 100, 1), &Exec::new().memory(1000)).expect_err("1 kB"));
    }
}

#[test]
fn the_message_has_no_number_for_features_beyond_counting() {
    let pca = Pca::new().embed(Embedding::monomials(2000));
    let error = pca.plan(3, 100_000, &Exec::new()).expect_err("more than 2^128 features");
    assert!(matches!(error.kind(), ErrorKind::Memory { .. }), "{error}");
    assert!(!error.to_string().contains(&u128::MAX.to_string()), "{error}");
}

#[test]
fn sizes_that_overflow_are_refused() {
    for size in [1 << 40, 1 << 62, usize::MAX] {
        for route in ROUTES {
            for (n, d) in [(size, 3), (3, size), (size, size)] {
                // A refusal for memory is fine, and so is a plan that fits; a panic is not.
                let plan = Pca::new().route(route).plan(n, d, &Exec::new());
                assert!(plan.is_err() || plan.is_ok_and(|p| p.bytes <= 8_000_000_000), "{route:?} {n} {d}");
            }
        }
        assert!(KernelPca::new(Kernel::linear()).plan(size, 3, &Exec::new()).is_err());
        assert!(Pca::new().embed(Embedding::monomials(3)).plan(10, size, &Exec::new()).is_err());
    }
}

/// An operator of any size that must never be applied.
struct Vast(usize);

impl SymOp for Vast {
    fn n(&self) -> usize {
        self.0
    }

    fn apply(&self, _: &Block, _: &mut Block, _: &Exec) -> Result<()> {
        panic!("applied though there is no memory for it");
    }
}

#[test]
fn functions_and_operators_that_do_not_fit_the_memory_are_not_called() {
    let pca = KernelPca::custom();
    let small = Exec::new().memory(100_000);
    let never = |_: &[f64], _: &[f64]| -> f64 { panic!("called though there is no memory for it") };
    let mut errors = vec![pca.fit_fn_with(&normal(100, 2, 1), never, &small).expect_err("100 kB")];
    errors.push(pca.fit_op_with(&Vast(100), &small).expect_err("100 kB"));
    for size in [1_000_000, 1 << 40, usize::MAX] {
        errors.push(pca.fit_op(&Vast(size)).expect_err("more than the default"));
    }
    for error in errors {
        assert!(matches!(error.kind(), ErrorKind::Memory { .. }) && error.help().is_some(), "{error}");
    }
    // What fits is done.
    let x = normal(40, 2, 1);
    let dot = |x: &[f64], y: &[f64]| x[0] * y[0] + x[1] * y[1];
    let model = pca.fit_fn_with(&x, dot, &small).expect("77 kB");
    assert_eq!(model.spectrum().rank(), 2);
}

#[test]
fn the_automatic_route_is_unchanged_when_svd_does_not_fit() -> Result<()> {
    // A component of so little variance that svd is called for.
    let z = normal(200, 4, 43);
    let tall = Points::from_fn(200, 4, |i, j| z.row(i)[j] * if j == 3 { 1e-5 } else { 1.0 });
    let wide = Points::from_fn(4, 200, |i, j| tall.row(j)[i]);
    let pca = Pca::new().center(false);
    for (x, route) in [(&tall, Route::Covariance), (&wide, Route::Gram)] {
        let bytes = |route| Ok::<_, mercer::Error>(Pca::new().route(route).plan(x.n(), x.d(), &Exec::new())?.bytes);
        let between = (bytes(route)? + bytes(Route::Svd)?) / 2;
        let small = Exec::new().memory(u64::try_from(between).expect("some kB"));
        let free = pca.fit(x)?;
        assert_eq!(free.route(), Route::Svd);
        assert!(free.notes().iter().any(|n| n.contains("replaced by svd")), "{:?}", free.notes());
        let bound = pca.fit_with(x, &small)?;
        assert_eq!(bound.route(), route);
        let note = bound.notes().iter().find(|n| n.contains("loses digits")).expect("a note");
        assert!(note.contains(route.name()) && note.contains("svd needs"), "{note}");
        for (j, (a, b)) in bound.spectrum().eigenvalues().iter().zip(free.spectrum().eigenvalues()).enumerate() {
            let radius = bound.certificate().radius(j) + free.certificate().radius(j);
            assert!((a - b).abs() <= radius, "{route:?}: eigenvalue {j}, {a:e} and {b:e}");
        }
        let error = pca.clone().route(Route::Svd).fit_with(x, &small).expect_err("asked for");
        assert!(matches!(error.kind(), ErrorKind::Memory { .. }), "{error}");
    }
    Ok(())
}
