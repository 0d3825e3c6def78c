//! Values that are not finite are refused, and the error says where they are.

use crate::common::{ROUTES, to_f32};
use crate::{gram_of, kernel};
use mercer::k_means::KMeans;
use mercer::kernel::Bound;
use mercer::kernel::registry::KERNELS;
use mercer::state::Moments;
use mercer::testing::matrices::normal;
use mercer::{Embedding, ErrorKind, ErrorSubject, Exec, Kernel, KernelPca, Pca, Points, Real, Result, diagnose};

fn not_finite<T: Real>(x: &Points<T>, row: usize, column: usize) {
    let check = |what: &str, kind: &ErrorKind| match kind {
        ErrorKind::NotFinite { row: r, column: c, value, .. } => {
            assert_eq!((*r, *c, value.is_finite()), (row, column, false), "{what}");
        }
        other => panic!("{what}: {other:?}"),
    };
    for route in ROUTES {
        check("pca", Pca::new().route(route).fit(x).expect_err("not finite").kind());
    }
    for entry in KERNELS {
        check(entry.name, KernelPca::new(kernel(entry.name)).fit(x).expect_err("not finite").kind());
    }
    check("moments", Moments::of(x).expect_err("not finite").kind());
    check("k-means", KMeans::new(2).fit(x).expect_err("not finite").kind());
    check("bound", Bound::new(&Kernel::linear(), x).expect_err("not finite").kind());
    let fine = normal(10, 3, 15);
    let pca = Pca::new().fit(&fine).expect("finite points");
    check("scores", pca.transform(x).expect_err("not finite").kind());
    check("errors", pca.squared_errors(x).expect_err("not finite").kind());
    check("reconstruction", pca.reconstruct(x).expect_err("not finite").kind());
    let gaussian = KernelPca::new(kernel("gaussian")).fit(&fine).expect("finite points");
    check("kernel scores", gaussian.transform(x).expect_err("not finite").kind());
}

// P24
#[test]
fn points_that_are_not_finite_are_refused_with_their_place() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut x = normal(10, 3, 16);
        x.row_mut(6)[2] = bad;
        x.row_mut(8)[0] = bad;
        not_finite(&x, 6, 2);
        not_finite(&to_f32(&x), 6, 2);
        let message = Pca::new().fit(&x).expect_err("not finite").to_string();
        assert!(message.contains("row 6, column 2"), "{message}");
    }
}

// P24
#[test]
fn kernel_values_that_are_not_finite_are_refused_with_their_place() {
    let place = |e: &mercer::Error| match *e.kind() {
        ErrorKind::NotFinite { row, column, .. } => (row, column),
        ref other => panic!("{other:?}"),
    };
    let pca = KernelPca::custom();
    let mut gram = gram_of(6, |i, j| if i == j { 1.0 } else { 0.1 });
    gram.row_mut(4)[3] = f64::NAN;
    let error = pca.fit_gram(&gram).expect_err("NaN");
    assert_eq!(place(&error), (4, 3));
    assert!(error.to_string().contains("Gram matrix"), "{error}");
    assert_eq!(place(&diagnose::check_gram(&gram, &Exec::new()).expect_err("NaN")), (4, 3));

    let x = Points::from_fn(6, 1, |i, _| i as f64);
    let bad = |a: f64, b: f64| if (a, b) == (2.0, 5.0) || (a, b) == (5.0, 2.0) { f64::INFINITY } else { a * b };
    assert_eq!(place(&pca.fit_fn(&x, move |a, b| bad(a[0], b[0])).expect_err("infinite")), (2, 5));
    // A function that fails on new points only.
    let model = pca.fit_fn(&x, |a, b| if a[0] > 10.0 { f64::NAN } else { a[0] * b[0] }).expect("finite so far");
    let new = Points::from_rows(&[[1.0], [2.0], [11.0]]);
    assert_eq!(place(&model.transform(&new).expect_err("NaN")), (2, 0));
    assert_eq!(place(&model.squared_errors(&new).expect_err("NaN")), (2, 0));

    // A formula that leaves the range.
    let x = Points::from_rows(&[[1.0], [2.0], [1e60]]);
    assert_eq!(place(&KernelPca::new(Kernel::polynomial(3, 0.0)).fit(&x).expect_err("infinite")), (2, 2));
    let model = KernelPca::new(Kernel::polynomial(3, 0.0)).fit(x.view().slice(0, 2)).expect("small");
    assert_eq!(place(&model.transform(&Points::from_rows(&[[1e110]])).expect_err("infinite")), (0, 0));
}

// P24
#[test]
fn features_that_are_not_finite_are_refused_with_their_place() -> Result<()> {
    let place = |e: &mercer::Error| match *e.kind() {
        ErrorKind::NotFinite { what: ErrorSubject::EmbeddedPoints, row, column, .. } => (row, column),
        ref other => panic!("{other:?}"),
    };
    let root = Embedding::new(2, |x| vec![x[0], x[0].sqrt()]);
    let x = Points::from_rows(&[[1.0], [4.0], [-1.0], [9.0]]);
    assert_eq!(place(&Pca::new().embed(root.clone()).fit(&x).expect_err("the root of -1")), (2, 1));
    let model = Pca::new().embed(root).fit(x.view().slice(0, 2))?;
    assert_eq!(place(&model.transform(&x).expect_err("the root of -1")), (2, 1));
    assert_eq!(place(&model.squared_errors(&x).expect_err("the root of -1")), (2, 1));
    let huge = Points::from_rows(&[[1.0], [1e200]]);
    assert_eq!(place(&Pca::new().embed(Embedding::monomials(2)).fit(&huge).expect_err("infinite")), (1, 0));
    let wrong = Pca::new().embed(Embedding::new(3, |x| vec![x[0]; 2])).fit(&x).expect_err("two, not three");
    assert!(matches!(wrong.kind(), ErrorKind::Shape { found: 2, expected: 3, .. }), "{wrong}");
    let none = Pca::new().embed(Embedding::new(0, |_| vec![])).fit(&x).expect_err("no features");
    assert!(matches!(none.kind(), ErrorKind::Parameter { .. }), "{none}");
    Ok(())
}
