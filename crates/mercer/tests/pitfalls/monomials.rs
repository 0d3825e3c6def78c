//! Monomials of nothing and of very high degree.

use std::time::{Duration, Instant};

use mercer::testing::matrices::normal;
use mercer::{Embedding, ErrorKind, Pca};

#[test]
fn monomials_of_nothing_are_none() {
    let phi = Embedding::monomials(2);
    assert_eq!(phi.features(0), Some(0));
    assert!(phi.map(&[]).is_empty() && phi.names::<&str>(&[]).is_empty());
    let phi = Embedding::monomials_up_to(2, 4.0);
    assert_eq!(phi.map(&[]), [4.0], "the constant alone");
}

#[test]
fn monomials_of_any_degree_are_counted_at_once() {
    let started = Instant::now();
    // C(M + 3, 3) = (M + 1) (M + 2) (M + 3) / 6.
    let m = 4_000_000_000u32;
    let count = (1..=3).map(|i| u128::from(m) + i).product::<u128>() / 6;
    assert_eq!(Embedding::monomials(m).features(4), Some(count));
    assert_eq!(Embedding::monomials_up_to(m, 1.0).features(3), Some(count));
    assert_eq!(Embedding::monomials(m).features(1), Some(1));
    assert_eq!(Embedding::monomials(1).features(usize::MAX), Some(usize::MAX as u128));
    assert_eq!(Embedding::monomials(m).features(usize::MAX), None);
    let error = Pca::new().embed(Embedding::monomials(m)).fit(&normal(5, 4, 1)).expect_err("too many features");
    assert!(
        matches!(error.kind(), ErrorKind::Memory { .. }) && error.to_string().contains(&count.to_string()),
        "{error}"
    );
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
}
