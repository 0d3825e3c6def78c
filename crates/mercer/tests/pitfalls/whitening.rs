//! Whitening drops components without variance.

use crate::common::{ROUTES, largest, map};
use mercer::testing::matrices::normal;
use mercer::{Pca, Points, Result};

/// A product of orthonormal bases with singular values exp(-(i/2)^2): numerically of low rank.
fn low_rank(n: usize, d: usize) -> Points {
    let (u, v) = (orthonormal(n, d, 1), orthonormal(d, d, 2));
    let s = |l: usize| (-(l as f64 / 2.0).powi(2)).exp();
    Points::from_fn(n, d, |i, j| (0..d).map(|l| u[l][i] * s(l) * v[l][j]).sum())
}

/// This many orthonormal vectors, by Gram and Schmidt.
fn orthonormal(length: usize, count: usize, seed: u64) -> Vec<Vec<f64>> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut found: Vec<Vec<f64>> = Vec::new();
    for row in normal(count, length, seed).rows() {
        let mut v = row.to_vec();
        for _ in 0..2 {
            for q in &found {
                let along = dot(q, &v);
                v.iter_mut().zip(q).for_each(|(v, q)| *v -= along * q);
            }
        }
        let length = dot(&v, &v).sqrt();
        found.push(v.iter().map(|v| v / length).collect());
    }
    found
}

// P4
#[test]
fn whitening_does_not_amplify_components_without_variance() -> Result<()> {
    let x = low_rank(1000, 10);
    for route in ROUTES {
        let model = Pca::new().whiten(true).route(route).fit(&x)?;
        let scores = model.transform(&x)?;
        let most = largest(scores.as_slice());
        assert!(model.components() >= 6 && (2.5..6.0).contains(&most), "{route:?}: {most}");
        for j in 0..scores.d() {
            let variance = scores.column(j).iter().map(|z| z * z).sum::<f64>() / 999.0;
            assert!((variance - 1.0).abs() < 0.2, "{route:?}: variance {variance} of component {j}");
        }
    }
    Ok(())
}

// P4
#[test]
fn whitening_drops_exactly_dependent_columns() -> Result<()> {
    let z = normal(300, 3, 4);
    let x = Points::from_fn(300, 6, |i, j| z.row(i)[j % 3] * if j < 3 { 1.0 } else { 2.0 } + 5.0);
    for route in ROUTES {
        for x in [x.clone(), map(&x, |v| v * 1e-100), map(&x, |v| v * 1e100)] {
            let model = Pca::new().whiten(true).route(route).fit(&x)?;
            assert_eq!((model.components(), model.spectrum().rank()), (3, 3), "{route:?}");
            assert!(largest(model.transform(&x)?.as_slice()) < 6.0, "{route:?}");
            assert!(model.notes().iter().any(|n| n.contains("leaves out 3")), "{route:?}: {:?}", model.notes());
        }
    }
    Ok(())
}
