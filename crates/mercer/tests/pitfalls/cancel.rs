//! Work that is cancelled stops.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::common::ROUTES;
use crate::kernel;
use mercer::k_means::KMeans;
use mercer::op::SymOp;
use mercer::state::Moments;
use mercer::testing::matrices::normal;
use mercer::testing::naive;
use mercer::{Block, Embedding, ErrorKind, Exec, Kernel, KernelPca, Pca, Result, diagnose};

#[test]
fn cancelled_work_stops() -> Result<()> {
    let flag = Arc::new(AtomicBool::new(true));
    let exec = Exec::new().cancel(flag.clone());
    let x = normal(100, 4, 28);
    let model = Pca::new().fit(&x)?;
    let gaussian = KernelPca::new(kernel("gaussian"));
    let fitted = gaussian.fit(&x)?;
    let gram = naive::gram(&Kernel::linear(), &x);
    let mut errors = vec![
        ("kernel pca", gaussian.fit_with(&x, &exec).expect_err("cancelled")),
        ("gram", KernelPca::custom().fit_gram_with(&gram, &exec).expect_err("cancelled")),
        ("scores", model.transform_with(&x, &exec).expect_err("cancelled")),
        ("kernel scores", fitted.transform_with(&x, &exec).expect_err("cancelled")),
        ("moments", Moments::of_with(&x, &exec).expect_err("cancelled")),
        ("k-means", KMeans::new(2).fit_with(&x, &exec).expect_err("cancelled")),
        ("check", diagnose::check_kernel(&Kernel::linear(), &x, &exec).expect_err("cancelled")),
        ("check", diagnose::check_gram(&gram, &exec).expect_err("cancelled")),
    ];
    for route in ROUTES {
        errors.push(("pca", Pca::new().route(route).fit_with(&x, &exec).expect_err("cancelled")));
    }
    for (what, error) in errors {
        assert_eq!(*error.kind(), ErrorKind::Cancelled, "{what}");
    }
    flag.store(false, Ordering::Relaxed);
    assert!(gaussian.fit_with(&x, &exec).is_ok(), "a flag that is taken back");
    // Cancelled on the way, by the first point that is embedded.
    let mine = flag.clone();
    let phi = Embedding::new(1, move |x| {
        mine.store(true, Ordering::Relaxed);
        vec![x[0]]
    });
    let error = Pca::new().embed(phi).fit_with(&x, &exec).expect_err("cancelled on the way");
    assert_eq!(*error.kind(), ErrorKind::Cancelled);
    Ok(())
}

/// The linear kernel as a function that sets a flag and counts its calls.
fn counted(flag: &Arc<AtomicBool>, calls: &Arc<AtomicUsize>) -> impl Fn(&[f64], &[f64]) -> f64 + use<> {
    let (flag, calls) = (flag.clone(), calls.clone());
    move |x, y| {
        flag.store(true, Ordering::Relaxed);
        calls.fetch_add(1, Ordering::Relaxed);
        x.iter().zip(y).map(|(a, b)| a * b).sum()
    }
}

/// The identity as an operator that sets a flag and counts its calls.
struct Counted {
    n: usize,
    flag: Arc<AtomicBool>,
    calls: AtomicUsize,
}

impl SymOp for Counted {
    fn n(&self) -> usize {
        self.n
    }

    fn apply(&self, x: &Block, y: &mut Block, _: &Exec) -> Result<()> {
        self.flag.store(true, Ordering::Relaxed);
        self.calls.fetch_add(1, Ordering::Relaxed);
        *y = x.clone();
        Ok(())
    }
}

#[test]
fn fits_of_functions_and_operators_stop_when_cancelled() {
    let (x, pca) = (normal(100, 2, 28), KernelPca::custom());
    // Cancelled before, and on the way by the first call.
    for before in [true, false] {
        let flag = Arc::new(AtomicBool::new(before));
        let exec = Exec::new().cancel(flag.clone());
        let error = pca.fit_fn_with(&x, counted(&flag, &Arc::default()), &exec).expect_err("cancelled");
        assert_eq!(*error.kind(), ErrorKind::Cancelled, "{before}");
        flag.store(before, Ordering::Relaxed);
        let op = Counted { n: 100, flag, calls: AtomicUsize::new(0) };
        let error = pca.fit_op_with(&op, &exec).expect_err("cancelled");
        assert_eq!(*error.kind(), ErrorKind::Cancelled, "{before}");
    }
}

#[test]
fn a_cancelled_fit_stops_calling_the_function() {
    let (x, calls) = (normal(100, 2, 28), Arc::new(AtomicUsize::new(0)));
    for (before, most) in [(true, 0), (false, 100 * 100 / 2)] {
        let flag = Arc::new(AtomicBool::new(before));
        calls.store(0, Ordering::Relaxed);
        let exec = Exec::new().cancel(flag.clone());
        let error = KernelPca::custom().fit_fn_with(&x, counted(&flag, &calls), &exec);
        assert_eq!(*error.expect_err("cancelled").kind(), ErrorKind::Cancelled);
        let calls = calls.load(Ordering::Relaxed);
        assert!(calls <= most, "cancelled before: {before}; {calls} calls of 10000");
    }
}

#[test]
fn a_cancelled_fit_stops_applying_the_operator() {
    // Large enough for its columns to be asked for in parts.
    for (before, most) in [(true, 0), (false, 1)] {
        let flag = Arc::new(AtomicBool::new(before));
        let op = Counted { n: 200, flag: flag.clone(), calls: AtomicUsize::new(0) };
        let error = KernelPca::custom().fit_op_with(&op, &Exec::new().cancel(flag));
        assert_eq!(*error.expect_err("cancelled").kind(), ErrorKind::Cancelled);
        let calls = op.calls.load(Ordering::Relaxed);
        assert!(calls <= most, "cancelled before: {before}; {calls} calls");
    }
}
