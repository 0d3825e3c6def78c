//! The scores of a new point do not depend on the points it comes with.

use crate::common::{bits, iris, largest, largest_gap};
use crate::{FIXED, kernel};
use mercer::state::Moments;
use mercer::testing::matrices::normal;
use mercer::testing::naive;
use mercer::{Embedding, Exec, KernelPca, Pca, Points, Result};

// P10
#[test]
fn scores_of_new_points_do_not_depend_on_each_other() -> Result<()> {
    let (x, _) = iris();
    let n = 75;
    let train = Points::from_fn(n, 4, |i, j| x.row(2 * i)[j]);
    let query = normal(2 * n, 4, 8);
    let mut models: Vec<(String, mercer::AnyModel)> = Vec::new();
    for text in FIXED {
        models
            .push((text.into(), mercer::AnyModel::KernelPca(KernelPca::new(kernel(text)).components(5).fit(&train)?)));
    }
    let fun = KernelPca::custom().components(5).fit_fn(&train, |x, y| {
        let d2: f64 = x.iter().zip(y).map(|(a, b)| (a - b) * (a - b)).sum();
        1.0 / (1.0 + d2)
    })?;
    models.push(("a function".into(), mercer::AnyModel::KernelPca(fun)));
    models.push(("pca".into(), mercer::AnyModel::Pca(Pca::new().whiten(true).fit(&train)?)));
    models.push(("embedded".into(), mercer::AnyModel::Pca(Pca::new().embed(Embedding::monomials(2)).fit(&train)?)));
    for (name, model) in &models {
        let all = model.transform(&query, &Exec::new())?;
        for batch in [1, 7, n, 2 * n] {
            let mut parts = Vec::new();
            for start in (0..query.n()).step_by(batch) {
                let part = query.view().slice(start, query.n().min(start + batch));
                parts.extend(model.transform(part, &Exec::new())?.into_vec());
            }
            assert_eq!(bits(&parts), bits(all.as_slice()), "{name}: batches of {batch}");
        }
    }
    Ok(())
}

// P10
#[test]
fn new_points_agree_with_the_textbook() -> Result<()> {
    let train = normal(25, 3, 9);
    for (text, new) in
        [("gaussian(gamma=0.2)", 1), ("polynomial(coef0=1)", 7), ("linear", 25), ("laplacian(gamma=0.3)", 50)]
    {
        let model = KernelPca::new(kernel(text)).components(2).fit(&train)?;
        let query = normal(new, 3, 10);
        let truth: Vec<f64> = query.rows().flat_map(|q| naive::project(&kernel(text), &train, q, 2)).collect();
        let truth = Points::new(truth, new, 2)?;
        // A sign for each component, found on the fitted points and kept for the new ones.
        let (_, fitted) = naive::kernel_pca(&kernel(text), &train, 2);
        let ours = model.scores();
        let sign = |j: usize| ours.column(j).iter().zip(fitted.column(j)).map(|(a, b)| a * b).sum::<f64>().signum();
        let truth = Points::from_fn(new, 2, |i, j| sign(j) * truth.row(i)[j]);
        let gap = largest_gap(model.transform(&query)?.as_slice(), truth.as_slice());
        assert!(gap < 1e-11 * largest(truth.as_slice()), "{text}: {gap}");
    }
    Ok(())
}

#[test]
fn no_points_have_no_scores() -> Result<()> {
    let (x, none) = (normal(8, 3, 32), normal(0, 3, 1));
    let pca = Pca::new().fit(&x)?;
    let kernel_pca = KernelPca::new(kernel("gaussian")).components(2).fit(&x)?;
    assert_eq!((pca.transform(&none)?.n(), kernel_pca.transform(&none)?.n()), (0, 0));
    assert!(pca.squared_errors(&none)?.is_empty() && kernel_pca.squared_errors(&none)?.is_empty());
    assert_eq!(pca.reconstruct(&none)?.n(), 0);
    assert_eq!(Moments::of(&none)?.n(), 0);
    Ok(())
}
