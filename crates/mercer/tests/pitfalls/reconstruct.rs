//! Scores are turned back into the points.

use crate::common::{ROUTES, iris, largest_gap, map};
use mercer::testing::matrices::normal;
use mercer::{Pca, Points, Result};

// P8
#[test]
fn whitened_scores_are_turned_back_into_the_points() -> Result<()> {
    let (x, _) = iris();
    for route in ROUTES {
        for (center, standardise) in [(true, false), (true, true), (false, false), (false, true)] {
            let pca = Pca::new().whiten(true).center(center).standardise(standardise).route(route);
            let model = pca.fit(&x)?;
            let scores = model.transform(&x)?;
            let back = model.reconstruct(&scores)?;
            let gap = largest_gap(back.as_slice(), x.as_slice());
            assert!(gap < 1e-12, "{route:?} {center} {standardise}: {gap}");
            for j in 0..4 {
                let square: f64 = scores.column(j).iter().map(|z| z * z).sum();
                assert!((square / model.spectrum().divisor() - 1.0).abs() < 1e-10, "{route:?} {center} {standardise}");
            }
        }
        // With fewer components, whitening changes the scores but not what they mean.
        let back = |whiten| -> Result<Points> {
            let model = Pca::new().components(2).whiten(whiten).route(route).fit(&x)?;
            model.reconstruct(&model.transform(&x)?)
        };
        assert!(largest_gap(back(true)?.as_slice(), back(false)?.as_slice()) < 1e-12, "{route:?}");
    }
    Ok(())
}

// P9
#[test]
fn negative_values_survive_reconstruction() -> Result<()> {
    let x = map(&normal(50, 4, 7), |v| v - 3.0);
    assert!(x.as_slice().iter().filter(|v| **v < 0.0).count() > 190);
    for route in ROUTES {
        let model = Pca::new().route(route).fit(&x)?;
        let back = model.reconstruct(&model.transform(&x)?)?;
        assert!(largest_gap(back.as_slice(), x.as_slice()) < 1e-13, "{route:?}");
    }
    Ok(())
}
