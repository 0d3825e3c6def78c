//! Features of landmarks are centred like any others: with all points as landmarks they give kernel PCA itself.

use mercer::testing::naive;
use mercer::testing::ratios::aligned_difference;
use mercer::{Embedding, KernelPca, Pca, Points, Result};

use crate::common::{iris, relative};
use crate::kernel;

// P12
#[test]
fn pca_of_the_features_of_all_landmarks_is_kernel_pca() -> Result<()> {
    let (iris, _) = iris();
    let x = Points::from_fn(30, 4, |i, j| iris.row(5 * i)[j]);
    for text in ["gaussian(gamma=0.5)", "laplacian(gamma=0.3)", "matern(nu=1/2, length=2)"] {
        let k = kernel(text);
        // phi(x) = W^(-1/2) k(x), W the Gram matrix of the landmarks: phi(x).phi(y) = k(x, y) on them.
        let (values, vectors) = naive::eigen(&naive::gram(&k, &x));
        let (landmarks, of) = (x.clone(), k.clone());
        let phi = Embedding::new(30, move |point| {
            let row: Vec<f64> = landmarks.rows().map(|l| of.eval(point, l)).collect();
            let along = |j: usize| vectors.row(j).iter().zip(&row).map(|(u, k)| u * k).sum::<f64>() / values[j].sqrt();
            (0..30).map(along).collect()
        });
        let explicit = Pca::new().embed(phi).components(5).fit(&x)?;
        let exact = KernelPca::new(k).components(5).fit(&x)?;
        assert!(relative(explicit.spectrum().eigenvalues(), exact.spectrum().eigenvalues()) < 1e-11, "{text}");
        assert!((explicit.spectrum().total() / exact.spectrum().total() - 1.0).abs() < 1e-11, "{text}");
        assert!(aligned_difference(&explicit.transform(&x)?, &exact.scores()) < 1e-10, "{text}");
        let new = Points::from_rows(&[[5.0, 3.0, 2.0, 1.0], [6.5, 2.9, 5.1, 1.9]]);
        assert!(aligned_difference(&explicit.transform(&new)?, &exact.transform(&new)?) < 1e-9, "{text}");
    }
    Ok(())
}
