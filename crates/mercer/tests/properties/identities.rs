//! Identities for sums, norms and products of eigenvalues, scores and errors.

use crate::common::{ROUTES, largest};
use crate::strategies::{EPS, any_kernel, config, no_error, some_points};
use mercer::testing::naive;
use mercer::testing::ratios::THRESHOLD;
use mercer::{Components, Embedding, KernelPca, Pca, Points};
use proptest::prelude::*;

proptest! {
    #![proptest_config(config(200))]

    /// tr HKH = tr K - 1'K1 / n, and |HKH|^2 = |K|^2 - 2 |K1|^2 / n + (1'K1)^2 / n^2.
    #[test]
    fn trace_and_norm_of_the_centred_gram_matrix(kernel in any_kernel(), x in some_points(2..16, 1..5)) {
        prop_assume!(kernel.is_psd());
        let (n, gram) = (x.n() as f64, naive::gram(&kernel, &x));
        let sums: Vec<f64> = gram.rows().map(|r| r.iter().sum()).collect();
        let all: f64 = sums.iter().sum();
        let trace = (0..x.n()).map(|i| gram.row(i)[i]).sum::<f64>() - all / n;
        let square = gram.as_slice().iter().map(|v| v * v).sum::<f64>()
            - 2.0 / n * sums.iter().map(|s| s * s).sum::<f64>() + (all / n).powi(2);
        let spectrum = no_error(KernelPca::new(kernel.clone()).fit(&x))?.spectrum().clone();
        let entry = largest(gram.as_slice());
        prop_assert!((spectrum.total() - trace).abs() <= THRESHOLD * n * n * EPS * entry, "{kernel}");
        let found: f64 = spectrum.eigenvalues().iter().map(|v| v * v).sum();
        prop_assert!((found - square).abs() <= THRESHOLD * n.powi(3) * EPS * entry * entry, "{kernel}");
        let kept: f64 = spectrum.eigenvalues().iter().sum();
        prop_assert!((kept + spectrum.discarded() - trace).abs() <= THRESHOLD * n * n * EPS * entry, "{kernel}");
    }

    #[test]
    fn squared_errors_of_kernel_pca_sum_to_what_was_discarded(
        kernel in any_kernel(), x in some_points(2..16, 1..5), k in 1..6usize,
    ) {
        let model = no_error(KernelPca::new(kernel.clone()).components(k).fit(&x))?;
        let sum: f64 = no_error(model.squared_errors(&x))?.iter().sum();
        let gram = naive::gram(&kernel, &x);
        let tolerance = 1e-11 * x.n() as f64 * largest(gram.as_slice());
        let discarded = model.spectrum().discarded();
        prop_assert!((sum - discarded).abs() <= tolerance, "{kernel}: {sum} {discarded}");
        let norms: f64 = no_error(model.centred_norms(&x))?.iter().sum();
        let centred = naive::centred(&gram);
        let trace: f64 = (0..x.n()).map(|i| centred.row(i)[i]).sum();
        prop_assert!((norms - trace).abs() <= tolerance, "{kernel}: {norms} {trace}");
    }

    #[test]
    fn squared_errors_of_pca_sum_to_what_was_discarded(
        x in some_points(2..16, 1..6), k in 1..4usize, degree in 1..4u32,
        center in any::<bool>(), standardise in any::<bool>(), whiten in any::<bool>(),
    ) {
        for embedding in [Embedding::Identity, Embedding::monomials(degree), Embedding::monomials_up_to(degree, 0.5)] {
            let features = embedding.features(x.d()).expect("few") as usize;
            let k = k.min(x.n()).min(features);
            for route in ROUTES {
                let pca = Pca::new().center(center).standardise(standardise).whiten(whiten).components(k).route(route);
                let model = no_error(pca.embed(embedding.clone()).fit(&x))?;
                let sum: f64 = no_error(model.squared_errors(&x))?.iter().sum();
                let s = model.spectrum();
                let gap = (sum - s.discarded()).abs();
                prop_assert!(gap <= 1e-12 * s.total(), "{route:?} {embedding}: {sum} {}", s.discarded());
                let kept: f64 = s.eigenvalues().iter().sum();
                prop_assert!((kept + s.discarded() - s.total()).abs() <= 1e-13 * s.total());
            }
        }
    }

    #[test]
    fn scores_are_orthogonal_and_their_squares_are_the_eigenvalues(
        kernel in any_kernel(), x in some_points(2..16, 1..6),
    ) {
        let check = |what: &str, z: &Points, values: &[f64], size: f64| {
            for i in 0..z.d() {
                for j in 0..=i {
                    let product: f64 = z.rows().map(|r| r[i] * r[j]).sum();
                    let expected = if i == j { values[i] } else { 0.0 };
                    let gap = (product - expected).abs();
                    prop_assert!(gap <= THRESHOLD * z.n() as f64 * EPS * size, "{what}: {i} {j}: {gap}");
                }
            }
            Ok(())
        };
        for route in ROUTES {
            let model = no_error(Pca::new().route(route).fit(&x))?;
            let z = no_error(model.transform(&x))?;
            check(route.name(), &z, model.spectrum().eigenvalues(), model.spectrum().total())?;
        }
        let model = no_error(KernelPca::new(kernel.clone()).fit(&x))?;
        let values = model.spectrum().eigenvalues();
        check(&kernel.to_string(), &model.scores(), values, largest(values))?;
    }

    #[test]
    fn components_by_share_are_the_fewest(
        kernel in any_kernel(), x in some_points(3..16, 1..6), share in 0.01..1.0f64,
    ) {
        let check = |what: &str, found: usize, all: &[f64]| {
            let reached = all.iter().position(|c| *c >= share).map_or(all.len(), |at| at + 1);
            // On the edge rounding decides.
            if all.iter().all(|c| (c - share).abs() > 1e-12) {
                prop_assert_eq!(found, reached, "{}", what);
            }
            Ok(())
        };
        for route in ROUTES {
            let pca = Pca::new().route(route);
            let all = no_error(pca.fit(&x))?.spectrum().cumulative();
            prop_assume!(*all.last().expect("some") > 0.0);
            let model = no_error(pca.components(Components::Share(share)).fit(&x))?;
            check(route.name(), model.components(), &all)?;
        }
        let all = no_error(KernelPca::new(kernel.clone()).fit(&x))?.spectrum().cumulative();
        let model = no_error(KernelPca::new(kernel.clone()).components(Components::Share(share)).fit(&x))?;
        check(&kernel.to_string(), model.components(), &all)?;
    }
}
