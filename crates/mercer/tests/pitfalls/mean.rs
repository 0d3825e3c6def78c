//! Variances, moments and scores do not depend on how far from the origin the points are.

use crate::common::{ROUTES, map, relative, to_f32};
use mercer::state::Moments;
use mercer::testing::matrices::normal;
use mercer::testing::naive;
use mercer::testing::ratios::aligned_difference;
use mercer::{Kernel, KernelPca, Pca, Points, Result, Route};

/// The first point beyond which f64 has no halves.
const NO_HALVES: f64 = 4_503_599_627_370_496.0;

/// 1000 points of 5 dimensions with standard deviations from 3 down to 0.1, far from the origin.
fn far(offset: f64) -> Points {
    let z = normal(1000, 5, 1);
    Points::from_fn(1000, 5, |i, j| offset + [3.0, 1.5, 0.8, 0.3, 0.1][j] * z.row(i)[j])
}

// P1
#[test]
fn variances_do_not_depend_on_the_mean() -> Result<()> {
    let mut wrong = Vec::new();
    for offset in [0.0, 1e2, 1e4, 1e6, 1e8] {
        let x = far(offset);
        // The subtraction is exact, so that the reference is for the same points.
        let (_, truth, _) = naive::pca(&map(&x, |v| v - offset));
        for route in [Route::Auto, Route::Covariance, Route::Svd] {
            let model = Pca::new().route(route).fit(&x)?;
            let found = model.spectrum().variances();
            let error = relative(&found, &truth);
            let radii = (0..5).map(|j| (found[j] - truth[j]).abs() * 999.0 / model.certificate().radius(j));
            let radii = radii.fold(0.0, f64::max);
            if error > 1e-12 || radii > 1.0 {
                wrong.push(format!("{route:?} at {offset:e}: error {error:.1e}, {radii:.1} radii"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

// P1
#[test]
fn variances_by_the_gram_route_do_not_depend_on_the_mean() -> Result<()> {
    for offset in [0.0, 1e8] {
        let x = far(offset);
        let (_, truth, _) = naive::pca(&map(&x, |v| v - offset));
        let model = Pca::new().route(Route::Gram).fit(&x)?;
        let error = relative(&model.spectrum().variances(), &truth);
        assert!(error < 1e-12, "{offset}: {error}");
    }
    Ok(())
}

// P1
#[test]
fn variances_of_f32_points_do_not_depend_on_the_mean() -> Result<()> {
    for offset in [0.0, 1e2, 1e3, 1e4] {
        let x = to_f32(&far(offset));
        let (_, truth, _) = naive::pca(&Points::from_fn(x.n(), x.d(), |i, j| f64::from(x.row(i)[j]) - offset));
        for route in [Route::Auto, Route::Covariance, Route::Svd] {
            let error = relative(&Pca::new().route(route).fit(&x)?.spectrum().variances(), &truth);
            assert!(error < 1e-11, "{route:?} at {offset}: {error}");
        }
    }
    Ok(())
}

// P1
#[test]
fn moments_do_not_depend_on_the_mean() -> Result<()> {
    for offset in [0.0, 1e4, 1e8] {
        let x = far(offset);
        let (found, truth) = (Moments::of(&x)?.scatter(), Moments::of(&map(&x, |v| v - offset))?.scatter());
        for j in 0..5 {
            for i in 0..5 {
                let scale = (truth.at(i, i) * truth.at(j, j)).sqrt();
                assert!((found.at(i, j) - truth.at(i, j)).abs() < 1e-11 * scale, "{offset}: {i} {j}");
            }
        }
    }
    Ok(())
}

// P1: the mean of these points is not a number of f64, but their variance is.
#[test]
fn points_one_unit_in_the_last_place_apart() -> Result<()> {
    let x = Points::from_rows(&[[NO_HALVES], [NO_HALVES + 1.0]]);
    assert_eq!(Moments::of(&x)?.scatter().at(0, 0), 0.5);
    for route in ROUTES {
        let model = Pca::new().route(route).fit(&x)?;
        let value = model.spectrum().eigenvalues()[0];
        assert!((value - 0.5).abs() <= model.certificate().radius(0), "{route:?}: {value}");
        let standardised = Pca::new().standardise(true).route(route).fit(&x)?;
        let variance = standardised.spectrum().variances()[0];
        assert!((variance - 1.0).abs() < 1e-12, "{route:?}, standardised: {variance}");
    }
    let linear = KernelPca::new(Kernel::linear()).fit(&x)?.spectrum().eigenvalues()[0];
    assert!((linear - 0.5).abs() < 1e-14, "{linear}");
    Ok(())
}

// P1: as above, but the moments of parts are merged.
#[test]
fn merged_moments_of_points_one_unit_in_the_last_place_apart() -> Result<()> {
    // 205 of the first 512 are ones, and 307 of the last: 512 of 1024.
    let one = |i: usize| if i < 512 { i < 205 } else { i - 512 < 307 };
    let x = Points::from_fn(1024, 1, |i, _| NO_HALVES + f64::from(u8::from(one(i))));
    let scatter = Moments::of(&x)?.scatter().at(0, 0);
    assert!((scatter - 256.0).abs() < 1e-9, "{scatter}");
    Ok(())
}

// P2
#[test]
fn scores_do_not_depend_on_the_mean() -> Result<()> {
    for offset in [0.0, 1e4, 1e6, 1e8] {
        let x = far(offset);
        let (mean, _, axes) = naive::pca(&map(&x, |v| v - offset));
        let truth = Points::from_fn(x.n(), 5, |i, k| {
            x.row(i).iter().zip(&mean).zip(axes.row(k)).map(|((x, m), a)| (x - offset - m) * a).sum()
        });
        let scores = Pca::new().fit(&x)?.transform(&x)?;
        let error = aligned_difference(&scores, &truth);
        // The mean itself is a number of f64, with the spacing that these have so far out.
        assert!(error < 1e-12 + offset * f64::EPSILON, "{offset}: {error}");
    }
    Ok(())
}

// P2
#[test]
fn scores_of_f32_points_do_not_depend_on_the_mean() -> Result<()> {
    for offset in [0.0, 1e3, 1e4, 1e6] {
        let x = to_f32(&far(offset));
        let exact = x.view().to_f64();
        let centred = map(&exact, |v| v - offset);
        let truth = Pca::new().fit(&centred)?.transform(&centred)?;
        let model = Pca::new().fit(&x)?;
        let error = aligned_difference(&model.transform(&x)?, &truth);
        assert!(error < 1e-12 + offset * f64::EPSILON, "{offset}: {error}");
        assert_eq!(model.transform(&x)?, model.transform(&exact)?, "f32 points are f64 points");
    }
    Ok(())
}
