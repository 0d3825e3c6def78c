//! Pictures over the widths of a kernel.
#![allow(missing_docs)]

mod common;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use common::{iris, map, to_f32};
use mercer::kernel::registry::KERNELS;
use mercer::testing::conformance;
use mercer::testing::matrices::{POINTS, points, rings};
use mercer::widths::{Sweep, sweep};
use mercer::{ErrorKind, Exec, Gamma, Kernel, Points, Result};

fn swept(kernel: &str, x: &Points) -> Result<Option<Sweep>> {
    sweep(&kernel.parse()?, x, &Exec::new())
}

#[test]
fn the_rings_separate_within_the_interval() -> Result<()> {
    let found = swept("gaussian", &rings(400, 1.0, 0.3))?.expect("a width");
    assert_eq!((found.parameter, found.sampled, found.steps.len()), ("gamma", 400, 33));
    // The first component parts the rings for gamma in (1.385, 9.124).
    let (low, high) = found.interval.expect("the picture changes");
    assert!((found.middle - 1.205).abs() < 0.02, "{}", found.middle);
    assert!(found.steps.windows(2).all(|w| w[0].value < w[1].value));
    assert!(found.steps[0].change < 0.01 && found.steps[32].change == 0.0, "wide: the picture of PCA");
    // The picture of complete rings changes at the ends of this range only, so the interval is at most a step or two wider.
    assert!((0.6..1.385).contains(&low) && (9.124..14.0).contains(&high), "{low} {high}");
    Ok(())
}

#[test]
fn other_units_have_other_widths_and_the_same_pictures() -> Result<()> {
    let (x, _) = iris();
    let (found, large) = (swept("gaussian", &x)?.expect("a width"), swept("gaussian", &map(&x, |v| 1000.0 * v))?);
    let large = large.expect("a width");
    let ((a, b), (c, d)) = (found.interval.expect("changes"), large.interval.expect("changes"));
    assert!((c / a * 1e6 - 1.0).abs() < 1e-9 && (d / b * 1e6 - 1.0).abs() < 1e-9, "{a} {b} {c} {d}");
    for (s, l) in found.steps.iter().zip(&large.steps) {
        assert!((s.change - l.change).abs() < 1e-6 && (s.shares[0] - l.shares[0]).abs() < 1e-9, "{s:?} {l:?}");
    }
    let (found, large) = (swept("matern", &x)?.expect("a width"), swept("matern", &map(&x, |v| 1024.0 * v))?);
    assert_eq!(found.parameter, "length");
    assert_eq!(large.expect("a width").middle, 1024.0 * found.middle);
    Ok(())
}

#[test]
fn the_middle_of_the_scan_is_the_automatic_width() -> Result<()> {
    let (x, _) = iris();
    let by_rule = swept("gaussian", &x)?;
    for text in ["gaussian(gamma=3)", "gaussian(gamma=scale)", "gaussian(over_sigma2=4)"] {
        assert_eq!(swept(text, &x)?, by_rule, "{text}");
    }
    assert_eq!(swept("polynomial(coef0=1)", &x)?, swept("polynomial(coef0=1, gamma=scale)", &x)?);
    // Any positive gamma gives monomials of one degree the same picture.
    assert_eq!(swept("polynomial", &x)?.expect("a width").interval, None);
    let mixed = swept("polynomial(coef0=1, degree=3)", &x)?.expect("a width");
    assert!(mixed.steps.iter().any(|s| s.change > 1e-3), "{mixed:?}");
    Ok(())
}

#[test]
fn kernels_without_a_width_have_no_sweep() -> Result<()> {
    let (x, _) = iris();
    for text in ["linear", "cosine", "gaussian + linear", "2*gaussian", "normalised(polynomial)", "gaussian*matern"] {
        assert_eq!(swept(text, &x)?, None, "{text}");
    }
    Ok(())
}

#[test]
fn threads_and_the_type_of_numbers_change_nothing() -> Result<()> {
    let (x, kernel) = (to_f32(&rings(700, 1.0, 0.4)), Kernel::gaussian(Gamma::Median));
    let wide = Points::from_fn(700, 2, |i, j| f64::from(x.row(i)[j]));
    let one = sweep(&kernel, &x, &Exec::new().threads(1))?;
    for threads in [2, 7] {
        assert_eq!(sweep(&kernel, &x, &Exec::new().threads(threads))?, one);
    }
    assert_eq!(sweep(&kernel, &wide, &Exec::new())?, one);
    assert_ne!(sweep(&kernel, &wide, &Exec::new().seed(5))?, one);
    Ok(())
}

#[test]
fn scans_of_the_nasty_points_are_finite() -> Result<()> {
    for number in 0..POINTS {
        let (name, x) = points(number);
        for text in KERNELS.iter().map(|e| e.name).chain(["polynomial(degree=200, coef0=1)", "sigmoid(coef0=-3)"]) {
            let x = conformance::within(text.parse::<Kernel>()?.domain(), &x);
            let Some(found) = swept(text, &x)? else { continue };
            assert!(found.middle.is_finite() && found.middle > 0.0, "{name}, {text}");
            for s in &found.steps {
                let numbers = [s.value, s.shares[0], s.shares[1], s.change];
                assert!(numbers.iter().all(|v| v.is_finite() && *v >= 0.0) && s.change <= 1.0, "{name}, {text}: {s:?}");
            }
            let inside = found.interval.is_none_or(|(low, high)| low < high);
            assert!(inside, "{name}, {text}");
        }
    }
    let same = Points::from_fn(20, 3, |_, j| j as f64);
    for entry in KERNELS {
        assert_eq!(swept(entry.name, &same)?, None, "{}: all points are equal", entry.name);
    }
    Ok(())
}

#[test]
fn invalid_points_and_cancelled_scans_are_refused() {
    let kernel = Kernel::gaussian(Gamma::Median);
    let refused = |x: &Points| sweep(&kernel, x, &Exec::new()).expect_err("refused");
    assert!(matches!(refused(&Points::from_rows(&[[1.0]])).kind(), ErrorKind::TooFew { .. }));
    assert!(matches!(refused(&Points::from_rows(&[[1.0], [f64::NAN]])).kind(), ErrorKind::NotFinite { .. }));
    assert!(matches!(refused(&Points::from_rows(&[[1e200], [0.0]])).kind(), ErrorKind::Range { .. }));
    let cancelled = Exec::new().cancel(Arc::new(AtomicBool::new(true)));
    let error = sweep(&kernel, &rings(40, 1.0, 0.3), &cancelled).expect_err("cancelled");
    assert_eq!(*error.kind(), ErrorKind::Cancelled);
    let negative = sweep(&Kernel::gaussian(Gamma::Value(-1.0)), &rings(40, 1.0, 0.3), &Exec::new());
    assert!(matches!(negative.expect_err("gamma").kind(), ErrorKind::Parameter { .. }));
}
