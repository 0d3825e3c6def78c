//! The scores of the fit and those of the same points, transformed, are the same.

use crate::common::{ROUTES, iris, largest, largest_gap};
use crate::{FIXED, kernel};
use mercer::testing::naive;
use mercer::testing::ratios::{THRESHOLD, aligned_difference};
use mercer::{Kernel, KernelPca, Pca, Points, Result};

// P20
#[test]
fn scores_of_the_fit_are_the_transform_of_the_same_points() -> Result<()> {
    let (x, _) = iris();
    let mut wrong = Vec::new();
    for text in FIXED {
        let all = KernelPca::new(kernel(text)).fit(&x)?;
        let values = all.spectrum().eigenvalues();
        let leading = values.iter().filter(|v| **v > 1e-4 * values[0]).count();
        let model = KernelPca::new(kernel(text)).components(leading).fit(&x)?;
        let (fitted, again) = (model.scores(), model.transform(&x)?);
        let gap = largest_gap(fitted.as_slice(), again.as_slice()) / largest(fitted.as_slice());
        if gap > 1e-12 {
            wrong.push(format!("{text}: {gap:.1e}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    for route in ROUTES {
        let pca = Pca::new().route(route).fit(&x)?;
        let gram = KernelPca::new(Kernel::linear()).fit(&x)?.scores();
        assert!(aligned_difference(&pca.transform(&x)?, &gram) < 1e-12, "{route:?}");
    }
    // A model of a Gram matrix takes rows of it.
    let k = naive::gram(&kernel("gaussian(gamma=0.25)"), &x);
    let model = KernelPca::custom().components(5).fit_gram(&k)?;
    assert!(largest_gap(model.transform(&k)?.as_slice(), model.scores().as_slice()) < 1e-12);
    let direct = KernelPca::new(kernel("gaussian(gamma=0.25)")).components(5).fit(&x)?;
    assert!(aligned_difference(&model.scores(), &direct.scores()) < 1e-11);
    Ok(())
}

// P20: a score is alpha'k with alpha = u / sqrt(lambda): its rounding error grows as 1 / sqrt(lambda), not faster.
#[test]
fn small_components_lose_no_more_digits_than_they_must() -> Result<()> {
    let (x, _) = iris();
    let mut wrong = Vec::new();
    for text in FIXED {
        let entry = largest(naive::gram(&kernel(text), &x).as_slice());
        let model = KernelPca::new(kernel(text)).components(12).fit(&x)?;
        let (fitted, again) = (model.scores(), model.transform(&x)?);
        for (j, value) in model.spectrum().eigenvalues().iter().enumerate() {
            let gap = largest_gap(&fitted.column(j), &again.column(j));
            let ratio = gap * value.sqrt() / (x.n() as f64 * f64::EPSILON * entry);
            if ratio > THRESHOLD {
                wrong.push(format!(
                    "{text}: component {j}: {gap:.1e} of {:.1e}, {ratio:.0}",
                    largest(&fitted.column(j))
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

// P20: the second eigenvalue is tiny, and the negative one next to it is not; the errors are differences of entries
// of size 0.01.
#[test]
fn errors_of_the_fitted_points_are_what_was_discarded_though_components_are_tiny() -> Result<()> {
    let x = Points::from_rows(&[
        [0.0],
        [0.01790520883930673],
        [-0.7512086363461861],
        [-0.7857113650105416],
        [2.6471963436919403],
    ]);
    let model = KernelPca::new(kernel("0.01*sigmoid(gamma=0.01, coef0=0.041443738893686355)")).components(2).fit(&x)?;
    let (sum, discarded) = (model.squared_errors(&x)?.iter().sum::<f64>(), model.spectrum().discarded());
    assert!((sum - discarded).abs() < 1e-13, "{sum} {discarded}, eigenvalues {:?}", model.spectrum().eigenvalues());
    Ok(())
}
