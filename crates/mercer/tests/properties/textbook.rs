//! Kernel PCA and PCA against the textbook in plain loops.

use crate::common::{ROUTES, inner_products, largest, largest_gap};
use crate::strategies::{EPS, any_kernel, config, leaf, no_error, some_points};
use mercer::kernel::registry::KERNELS;
use mercer::kernel::{Bound, Nu};
use mercer::op::{Gram, SymOp};
use mercer::testing::conformance;
use mercer::testing::matrices::normal;
use mercer::testing::ratios::{THRESHOLD, difference, orthonormality};
use mercer::testing::{naive, reference};
use mercer::{Exec, Gamma, Kernel, KernelPca, Length, Pca, Points};
use proptest::prelude::*;

/// Everything that kernel PCA says about `x` and about new points, against the textbook.
fn agrees_with_the_textbook(kernel: &Kernel, x: &Points, new: &Points) -> std::result::Result<(), TestCaseError> {
    let n = x.n();
    let model = no_error(KernelPca::new(kernel.clone()).fit(x))?;
    let gram = naive::gram(kernel, x);
    let centred = naive::centred(&gram);
    let (values, vectors) = naive::eigen(&centred);
    let tolerance = THRESHOLD * n as f64 * EPS * (largest(gram.as_slice()) + largest(&values));
    let (k, found) = (model.components(), model.spectrum().eigenvalues());

    prop_assert!(largest_gap(found, &values[..k]) <= tolerance, "{kernel}: {found:?} {values:?}");
    let cut = model.certificate().rounding();
    prop_assert!(values[k..].iter().all(|v| *v <= tolerance + cut), "{kernel}: {k} components of {values:?}");
    let definiteness = model.definiteness().expect("all eigenvalues are known");
    prop_assert!((definiteness.smallest - values[n - 1]).abs() <= tolerance, "{kernel}");
    prop_assert!((definiteness.largest - values[0]).abs() <= tolerance, "{kernel}");
    let negative = values[n - 1] < -tolerance - cut;
    prop_assert!(!negative || definiteness.is_indefinite(), "{kernel}: {values:?}");
    prop_assert!(!kernel.is_psd() || !definiteness.is_indefinite(), "{kernel}: {definiteness}");
    let total: f64 =
        if definiteness.is_indefinite() { values.iter().map(|v| v.abs()).sum() } else { values.iter().sum() };
    prop_assert!((model.spectrum().total() - total).abs() <= n as f64 * tolerance, "{kernel}");

    // Scores are certain up to a turn among equal eigenvalues; their inner products are certain.
    let positive =
        Points::from_fn(n, n, |i, j| (0..n).map(|l| values[l].max(0.0) * vectors.row(l)[i] * vectors.row(l)[j]).sum());
    let gap = largest_gap(inner_products(&model.scores()).as_slice(), positive.as_slice());
    prop_assert!(gap <= 4.0 * tolerance + cut, "{kernel}: inner products differ by {gap}");

    // New points, on components whose eigenvalues are clear of their neighbours and of rounding.
    let entry = largest(gram.as_slice());
    let apart = |j: usize| {
        let gap = |i: usize| (values[j] - values[i]).abs() > 1e-2 * entry;
        values[j] > 1e-2 * entry && (j == 0 || gap(j - 1)) && (j + 1 == n || gap(j + 1))
    };
    let (ours, fitted) = (no_error(model.transform(new))?, model.scores());
    for (i, point) in new.rows().enumerate() {
        let truth = naive::project(kernel, x, point, k);
        let size = kernel.eval(point, point).abs().max(entry).sqrt();
        for j in (0..k).filter(|&j| apart(j)) {
            let same: f64 = (0..n).map(|l| fitted.row(l)[j] * vectors.row(j)[l]).sum();
            let gap = (ours.row(i)[j] - same.signum() * truth[j]).abs();
            prop_assert!(gap <= 1e-10 * size.max(largest(&truth)), "{kernel}: score {j} of {point:?} is {gap} off");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn every_kernel_of_the_registry_is_the_textbook(
        x in some_points(2..12, 1..5), a in 0.0..1.0f64, b in 0.0..1.0f64, m in 1..5u32, seed in 0..1000u64,
    ) {
        for entry in KERNELS {
            let kernel = leaf(entry.name, a, b, m);
            let (x, new) = (&x, normal(3, x.d(), seed));
            let within = |x| conformance::within(entry.domain, x);
            agrees_with_the_textbook(&kernel, &within(x), &within(&new))?;
            prop_assert_eq!(entry.psd, kernel.is_psd());
        }
    }

    #[test]
    fn kernels_made_of_kernels_are_the_textbook(
        kernel in any_kernel(), x in some_points(2..12, 1..5), seed in 0..1000u64,
    ) {
        agrees_with_the_textbook(&kernel, &x, &normal(3, x.d(), seed))?;
    }

    #[test]
    fn rules_find_the_numbers_that_they_name(x in some_points(2..12, 1..4)) {
        let mut pairs = Vec::new();
        for i in 0..x.n() {
            for j in 0..i {
                pairs.push((0..x.d()).map(|c| (x.row(i)[c] - x.row(j)[c]).powi(2)).sum::<f64>());
            }
        }
        pairs.sort_by(f64::total_cmp);
        let middle = (pairs[(pairs.len() - 1) / 2] + pairs[pairs.len() / 2]) / 2.0;
        prop_assume!(middle > 0.0);
        let gamma = no_error(Bound::new(&Kernel::gaussian(Gamma::Median), &x))?.choices()[0].value;
        prop_assert!((gamma * middle - 1.0).abs() < 1e-13);
        let matern = Kernel::matern(Nu::Half, Length::Median);
        let length = no_error(Bound::new(&matern, &x))?.choices()[0].value;
        prop_assert!((length * length / middle - 1.0).abs() < 1e-13);
        let gamma = no_error(Bound::new(&Kernel::gaussian(Gamma::PerDimension), &x))?.choices()[0].value;
        prop_assert_eq!(gamma, 1.0 / x.d() as f64);
    }

    #[test]
    fn values_and_forms_differ_by_what_centring_removes(kernel in any_kernel(), x in some_points(2..12, 1..5)) {
        let bound = no_error(Bound::new(&kernel, &x))?;
        let gram = no_error(Gram::new(&bound, &x))?;
        let values = no_error(gram.to_matrix(&Exec::new()))?.to_points();
        let naive_values = naive::gram(&kernel, &x);
        let tolerance = THRESHOLD * EPS * largest(naive_values.as_slice());
        prop_assert!(largest_gap(values.as_slice(), naive_values.as_slice()) <= tolerance);
        let form = no_error(gram.up_to_centring().to_matrix(&Exec::new()))?.to_points();
        let (a, b) = (naive::centred(&values), naive::centred(&form));
        prop_assert!(largest_gap(a.as_slice(), b.as_slice()) <= x.n() as f64 * tolerance);
    }

    #[test]
    fn pca_is_the_textbook(x in some_points(2..20, 1..6)) {
        let (mean, variances, _) = naive::pca(&x);
        for route in ROUTES {
            let model = no_error(Pca::new().route(route).fit(&x))?;
            prop_assert!(largest_gap(model.mean(), &mean) <= 1e-14);
            let found = model.spectrum().variances();
            prop_assert!(difference(&found, &variances[..found.len()], x.n().max(x.d())) < THRESHOLD);
            prop_assert!(orthonormality(&model.axes()) < THRESHOLD);
            // The certificate is sharper than the oracle in f64.
            let (exact, unit) = reference::scatter(&x, false);
            let truth = exact.eigen();
            for (j, value) in model.spectrum().eigenvalues().iter().enumerate() {
                let gap = (truth.values[j] - (value / unit).into()).to_f64().abs() - truth.error;
                prop_assert!(gap <= model.certificate().radius(j) / unit, "{route:?}: {gap}");
            }
        }
    }

    #[test]
    fn the_linear_kernel_is_pca(x in some_points(2..16, 1..6)) {
        let (pca, kernel) = (no_error(Pca::new().fit(&x))?, no_error(KernelPca::new(Kernel::linear()).fit(&x))?);
        let (a, b) = (inner_products(&no_error(pca.transform(&x))?), inner_products(&kernel.scores()));
        prop_assert!(largest_gap(a.as_slice(), b.as_slice()) <= 1e-12 * pca.spectrum().total().max(1e-300));
    }
}
