//! What must hold for all points and all kernels: agreement with the textbook in plain loops, identities, and
//! LAPACK's ratios. The cases are the same in every run; PROPTEST_RNG_SEED and PROPTEST_CASES ask for others.
#![allow(missing_docs)]

mod common;

use common::{faults_of_kernel_pca, faults_of_pca, inner_products, largest, largest_gap, to_f32};
use mercer::kernel::registry::KERNELS;
use mercer::testing::matrices::{POINTS, SYMMETRIC, normal, points, symmetric};
use mercer::testing::naive;
use mercer::testing::ratios::{THRESHOLD, difference, orthonormality, residual};
use mercer::{
    Bound, Components, Embedding, Exec, Gamma, Gram, Kernel, KernelPca, KernelPcaModel, Length, Moments, Nu, Pca,
    PcaModel, Points, Result, Route, SymOp, diagnose,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const ROUTES: [Route; 4] = [Route::Auto, Route::Covariance, Route::Gram, Route::Svd];
const EPS: f64 = f64::EPSILON;

fn config(cases: u32) -> ProptestConfig {
    let asked = ProptestConfig::default();
    ProptestConfig {
        cases: if std::env::var_os("PROPTEST_CASES").is_some() { asked.cases } else { cases },
        rng_seed: if asked.rng_seed == RngSeed::Random { RngSeed::Fixed(20) } else { asked.rng_seed },
        failure_persistence: None,
        ..asked
    }
}

fn no_error<T>(result: Result<T>) -> std::result::Result<T, TestCaseError> {
    result.map_err(|e| TestCaseError::fail(e.to_string()))
}

/// Points of any small size with ordinary values, some of them equal.
fn some_points(n: std::ops::Range<usize>, d: std::ops::Range<usize>) -> impl Strategy<Value = Points> {
    let value = prop_oneof![8 => -3.0..3.0f64, 1 => Just(0.0), 1 => Just(1.0)];
    (n, d).prop_flat_map(move |(n, d)| {
        prop::collection::vec(value.clone(), n * d).prop_map(move |v| Points::new(v, n, d).expect("n d values"))
    })
}

/// The kernel of this name of the registry, with numbers from a and b in 0..1 and a whole number in 1..=4.
fn leaf(name: &str, a: f64, b: f64, whole: u32) -> Kernel {
    let (gamma, length) = (Gamma::Value(0.01 + a), Length::Value(0.2 + 3.0 * a));
    match name {
        "linear" => Kernel::Linear,
        "cosine" => Kernel::Cosine,
        "polynomial" => Kernel::Polynomial { gamma, coef0: b, degree: whole },
        "gaussian" => Kernel::Gaussian { gamma },
        "laplacian" => Kernel::Laplacian { gamma },
        "matern" => Kernel::Matern { nu: [Nu::Half, Nu::ThreeHalves, Nu::FiveHalves][whole as usize % 3], length },
        "rational_quadratic" => Kernel::RationalQuadratic { alpha: 0.1 + 2.0 * b, length },
        "sigmoid" => Kernel::Sigmoid { gamma, coef0: 2.0 * b - 1.0 },
        other => panic!("a kernel without a test: {other}"),
    }
}

fn any_leaf() -> impl Strategy<Value = Kernel> {
    (0..KERNELS.len(), 0.0..1.0f64, 0.0..1.0f64, 1..5u32).prop_map(|(at, a, b, m)| leaf(KERNELS[at].name, a, b, m))
}

/// Kernels made from kernels, by the operators.
fn made_of(leaf: impl Strategy<Value = Kernel> + 'static) -> impl Strategy<Value = Kernel> {
    leaf.prop_recursive(3, 8, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| a + b),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| a * b),
            (0.1..5.0f64, inner.clone()).prop_map(|(w, k)| w * k),
            inner.prop_map(Kernel::normalised),
        ]
    })
}

fn any_kernel() -> impl Strategy<Value = Kernel> {
    made_of(any_leaf())
}

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
    let definiteness = model.definiteness();
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

    // New points, on components that stand apart from their neighbours and from the rounding of the plain values.
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
            agrees_with_the_textbook(&kernel, &x, &normal(3, x.d(), seed))?;
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
        let matern = Kernel::Matern { nu: Nu::Half, length: Length::Median };
        let length = no_error(Bound::new(&matern, &x))?.choices()[0].value;
        prop_assert!((length * length / middle - 1.0).abs() < 1e-13);
        let gamma = no_error(Bound::new(&Kernel::gaussian(Gamma::PerDimension), &x))?.choices()[0].value;
        prop_assert_eq!(gamma, 1.0 / x.d() as f64);
    }

    #[test]
    fn f32_points_are_f64_points(kernel in any_kernel(), x in some_points(2..12, 1..5)) {
        let narrow = to_f32(&x);
        let x = narrow.view().to_f64();
        for route in ROUTES {
            let pca = Pca::new().route(route).standardise(true);
            let (a, b) = (no_error(pca.fit(&narrow))?, no_error(pca.fit(&x))?);
            prop_assert_eq!(a.to_parts(), b.to_parts());
            prop_assert_eq!(no_error(a.transform(&narrow))?, no_error(b.transform(&x))?);
        }
        let pca = KernelPca::new(kernel);
        let (a, b) = (no_error(pca.fit(&narrow))?, no_error(pca.fit(&x))?);
        prop_assert_eq!(no_error(a.to_parts())?, no_error(b.to_parts())?);
        prop_assert_eq!(no_error(a.transform(&narrow))?, no_error(b.transform(&x))?);
        prop_assert_eq!(no_error(Moments::of(&narrow))?, no_error(Moments::of(&x))?);
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
}

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
    fn routes_agree(x in some_points(2..20, 1..8), center in any::<bool>(), standardise in any::<bool>()) {
        let fit = |route| no_error(Pca::new().center(center).standardise(standardise).route(route).fit(&x));
        let truth = fit(Route::Svd)?;
        let values = truth.spectrum().eigenvalues();
        for route in [Route::Auto, Route::Covariance, Route::Gram] {
            let model = fit(route)?;
            prop_assert!(difference(model.spectrum().eigenvalues(), values, x.n().max(x.d())) < THRESHOLD);
            prop_assert_eq!(model.mean(), truth.mean());
            prop_assert_eq!(model.scale(), truth.scale());
            for k in (1..values.len()).filter(|&k| values[k - 1] - values[k] > 1e-2 * values[0]) {
                let errors = |route| {
                    let pca = Pca::new().center(center).standardise(standardise).route(route).components(k);
                    no_error(pca.fit(&x).and_then(|m| m.squared_errors(&x)))
                };
                prop_assert!(largest_gap(&errors(route)?, &errors(Route::Svd)?) <= 1e-11 * values[0]);
            }
        }
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
            for (j, value) in model.spectrum().eigenvalues().iter().enumerate() {
                let gap = (value - variances[j] * (x.n() - 1) as f64).abs();
                prop_assert!(gap <= model.certificate().radius(j), "{route:?}: {gap}");
            }
        }
    }

    #[test]
    fn the_linear_kernel_is_pca(x in some_points(2..16, 1..6)) {
        let (pca, kernel) = (no_error(Pca::new().fit(&x))?, no_error(KernelPca::new(Kernel::Linear).fit(&x))?);
        let (a, b) = (inner_products(&no_error(pca.transform(&x))?), inner_products(&kernel.scores()));
        prop_assert!(largest_gap(a.as_slice(), b.as_slice()) <= 1e-12 * pca.spectrum().total().max(1e-300));
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

    #[test]
    fn parts_of_a_model_make_the_same_model(
        kernel in any_kernel(), x in some_points(2..10, 1..5), whiten in any::<bool>(),
    ) {
        let pca = no_error(Pca::new().whiten(whiten).standardise(true).fit(&x))?;
        let again = no_error(PcaModel::from_parts(pca.to_parts()))?;
        prop_assert_eq!(pca.to_parts(), again.to_parts());
        prop_assert_eq!(no_error(pca.transform(&x))?, no_error(again.transform(&x))?);
        let model = no_error(KernelPca::new(kernel).fit(&x))?;
        let parts = no_error(model.to_parts())?;
        let again = no_error(KernelPcaModel::from_parts(parts.clone()))?;
        prop_assert_eq!(&parts, &no_error(again.to_parts())?);
        prop_assert_eq!(no_error(model.transform(&x))?, no_error(again.transform(&x))?);
        prop_assert_eq!(no_error(model.squared_errors(&x))?, no_error(again.squared_errors(&x))?);
    }
}

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn moments_of_parts_are_moments_of_the_whole(
        x in some_points(1..40, 1..5), offset in prop_oneof![Just(0.0), Just(100.0)],
        cuts in prop::collection::vec(0..40usize, 0..5),
    ) {
        let x = Points::from_fn(x.n(), x.d(), |i, j| x.row(i)[j] + offset);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|c| c.min(x.n())).chain([0, x.n()]).collect();
        cuts.sort_unstable();
        let mut merged = Moments::empty(x.d());
        for cut in cuts.windows(2) {
            merged = no_error(merged.merge(&no_error(Moments::of(x.view().slice(cut[0], cut[1])))?))?;
        }
        let whole = no_error(Moments::of(&x))?;
        let n = x.n() as f64;
        let mean: Vec<f64> = (0..x.d()).map(|j| x.rows().map(|r| r[j]).sum::<f64>() / n).collect();
        let size = offset + 3.0;
        for moments in [&merged, &whole] {
            prop_assert_eq!(moments.n(), x.n() as u64);
            prop_assert!(largest_gap(&moments.mean(), &mean) <= THRESHOLD * EPS * size);
            let (scatter, about) = (moments.scatter(), moments.scatter_about_origin());
            for i in 0..x.d() {
                prop_assert_eq!(moments.is_constant(i), x.rows().all(|r| r[i] == x.row(0)[i]));
                for j in 0..x.d() {
                    let truth: f64 = x.rows().map(|r| (r[i] - mean[i]) * (r[j] - mean[j])).sum();
                    prop_assert!((scatter.at(i, j) - truth).abs() <= THRESHOLD * n * EPS * 3.0 * size);
                    let truth: f64 = x.rows().map(|r| r[i] * r[j]).sum();
                    prop_assert!((about.at(i, j) - truth).abs() <= THRESHOLD * n * EPS * size * size);
                }
            }
        }
    }

    #[test]
    fn monomials_are_the_polynomial_kernel(
        x in prop::collection::vec(-2.0..2.0f64, 1..5), seed in 0..1000u64, degree in 1..6u32, offset in 0.0..2.0f64,
    ) {
        let y = normal(1, x.len(), seed).into_vec();
        let size = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>();
        let plain = (Embedding::monomials(degree), 0.0);
        for (phi, offset) in [plain, (Embedding::monomials_up_to(degree, offset), offset)] {
            let (a, b) = (phi.map(&x), phi.map(&y));
            prop_assert_eq!(Some(a.len() as u128), phi.features(x.len()));
            prop_assert_eq!(phi.names(&vec!["x"; x.len()]).len(), a.len());
            let dot: f64 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
            let power = Kernel::polynomial(degree, offset).eval(&x, &y);
            let scale = ((size(&x) + offset) * (size(&y) + offset)).powf(f64::from(degree) / 2.0);
            prop_assert!((dot - power).abs() <= 1e-13 * scale, "{phi}: {dot} {power}");
            prop_assert_eq!(phi.to_string().parse::<Embedding>().ok(), Some(phi));
        }
    }

    #[test]
    fn embedded_pca_is_polynomial_kernel_pca(x in some_points(3..12, 1..4), degree in 1..4u32, offset in 0.0..2.0f64) {
        let kernel = no_error(KernelPca::new(Kernel::polynomial(degree, offset)).fit(&x))?;
        let entry = largest(naive::gram(&Kernel::polynomial(degree, offset), &x).as_slice());
        for route in ROUTES {
            let pca = Pca::new().embed(Embedding::monomials_up_to(degree, offset)).route(route);
            let explicit = no_error(pca.fit(&x))?;
            let z = inner_products(&no_error(explicit.transform(&x))?);
            prop_assert!(largest_gap(z.as_slice(), inner_products(&kernel.scores()).as_slice()) <= 1e-11 * entry);
        }
    }
}

/// Numbers of all sizes, printed in the shortest way.
fn any_positive() -> impl Strategy<Value = f64> {
    prop_oneof![
        (-300..300i32, 1.0..10.0f64).prop_map(|(e, m)| m * 10f64.powi(e)),
        (1..100u32).prop_map(f64::from),
        Just(f64::MIN_POSITIVE),
        Just(1e300),
    ]
}

fn any_gamma() -> impl Strategy<Value = Gamma> {
    prop_oneof![
        any_positive().prop_map(Gamma::Value),
        any_positive().prop_map(Gamma::OverSigma2),
        any_positive().prop_map(Gamma::Over2Sigma2),
        Just(Gamma::Median),
        Just(Gamma::Scale),
        Just(Gamma::PerDimension),
    ]
}

/// Leaves with any parameters that are valid.
fn any_spelling() -> impl Strategy<Value = Kernel> {
    let length = prop_oneof![any_positive().prop_map(Length::Value), Just(Length::Median)];
    let number = prop_oneof![any_positive(), any_positive().prop_map(|v| -v), Just(0.0)];
    prop_oneof![
        Just(Kernel::Linear),
        Just(Kernel::Cosine),
        any_gamma().prop_map(Kernel::gaussian),
        any_gamma().prop_map(Kernel::laplacian),
        (any_gamma(), number.clone(), 1..u32::MAX).prop_map(|(gamma, coef0, degree)| Kernel::Polynomial {
            gamma,
            coef0,
            degree
        }),
        (any_gamma(), number).prop_map(|(gamma, coef0)| Kernel::Sigmoid { gamma, coef0 }),
        (prop_oneof![Just(Nu::Half), Just(Nu::ThreeHalves), Just(Nu::FiveHalves)], length.clone())
            .prop_map(|(nu, length)| Kernel::Matern { nu, length }),
        (any_positive(), length).prop_map(|(alpha, length)| Kernel::RationalQuadratic { alpha, length }),
    ]
    .prop_filter("valid", |k| k.validate().is_ok())
}

/// Kernels made from kernels without the operators, which would tidy them up.
fn untidy() -> impl Strategy<Value = Kernel> {
    any_leaf().prop_recursive(3, 10, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Kernel::Sum),
            prop::collection::vec(inner.clone(), 1..4).prop_map(Kernel::Product),
            (0.1..5.0f64, inner.clone()).prop_map(|(w, k)| Kernel::Scaled(w, Box::new(k))),
            inner.prop_map(Kernel::normalised),
        ]
    })
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn text_reads_back_as_the_same_kernel(kernel in made_of(any_spelling())) {
        prop_assume!(kernel.validate().is_ok());
        let text = kernel.to_string();
        prop_assert_eq!(text.parse::<Kernel>(), Ok(kernel.clone()), "{}", text);
        let json = serde_json::to_string(&kernel).expect("text");
        prop_assert_eq!(serde_json::from_str::<Kernel>(&json).ok(), Some(kernel));
    }

    #[test]
    fn text_of_untidy_kernels_means_the_same(kernel in untidy(), x in some_points(2..3, 1..4)) {
        let text = kernel.to_string();
        let again: Kernel = no_error(text.parse())?;
        let (a, b) = (kernel.eval(x.row(0), x.row(1)), again.eval(x.row(0), x.row(1)));
        prop_assert!((a - b).abs() <= 1e-12 * a.abs().max(1.0), "{text}: {a} {b}");
        prop_assert_eq!(again.to_string().parse::<Kernel>().ok(), Some(again), "{}", text);
    }

    #[test]
    fn any_text_is_read_or_explained(text in any::<String>()) {
        for read in [text.parse::<Kernel>().err(), text.parse::<Embedding>().err()].into_iter().flatten() {
            let _ = (read.to_string(), read.help());
        }
    }

    #[test]
    fn any_text_of_the_right_letters_is_read_or_explained(
        words in prop::collection::vec(
            prop::sample::select(vec![
                "linear", "gaussian", "poly", "matern", "normalised", "(", ")", "+", "*", "=", ",", "gamma", "degree",
                "nu", "1", "-2.5", "1e", "1e+", "1e400", "e", "-", ".", " ", "\u{a0}", "\u{2003}", "λ", "é", "1/2",
                "median", "\n", "nan", "inf",
            ]),
            0..12,
        ),
    ) {
        let text = words.concat();
        match text.parse::<Kernel>() {
            Ok(kernel) => prop_assert_eq!(kernel.to_string().parse::<Kernel>(), Ok(kernel), "{}", text),
            Err(e) => prop_assert!(!e.to_string().is_empty()),
        }
        let monomials = format!("monomials:{text}");
        if let Ok(phi) = monomials.parse::<Embedding>() {
            prop_assert_eq!(phi.to_string().parse::<Embedding>(), Ok(phi), "{}", text);
        }
    }
}

/// Numbers that code is not written for.
fn nasty_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -2.0..2.0f64,
        2 => Just(0.0),
        1 => Just(-0.0),
        1 => Just(1e8 + 0.5),
        1 => Just(1e-8),
        1 => Just(1e15),
        1 => Just(1e-170),
        1 => Just(1e-310),
        1 => Just(1e100),
        1 => Just(-1e139),
        1 => Just(1e153),
        1 => Just(1e200),
        1 => Just(f64::MAX),
        1 => Just(f64::MIN),
    ]
}

fn nasty_points() -> impl Strategy<Value = Points> {
    (1..7usize, 1..4usize, prop::collection::vec(nasty_number(), 3)).prop_flat_map(|(n, d, few)| {
        // A few different numbers only, so that no case is refused for one wild value among many.
        prop::collection::vec(prop::sample::select(few), n * d)
            .prop_map(move |v| Points::new(v, n, d).expect("n d values"))
    })
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn pca_of_nasty_points_is_finite_or_refused(
        x in nasty_points(), route in prop::sample::select(ROUTES.to_vec()),
        center in any::<bool>(), standardise in any::<bool>(), whiten in any::<bool>(),
    ) {
        let pca = Pca::new().route(route).center(center).standardise(standardise).whiten(whiten);
        if let Ok(model) = pca.fit(&x) {
            let faults = faults_of_pca(&model, &x);
            prop_assert!(faults.is_empty(), "{faults:?}");
            prop_assert!(model.spectrum().eigenvalues().iter().all(|v| *v >= 0.0));
            prop_assert!(model.components() <= x.n().min(x.d()));
            prop_assert!(model.spectrum().rank() <= x.n().min(x.d()));
        }
    }

    #[test]
    fn kernel_pca_of_nasty_points_is_finite_or_refused(x in nasty_points(), kernel in any_kernel()) {
        if let Ok(model) = KernelPca::new(kernel).fit(&x) {
            let faults = faults_of_kernel_pca(&model, &x);
            prop_assert!(faults.is_empty(), "{faults:?}");
            prop_assert!(model.spectrum().eigenvalues().iter().all(|v| *v > 0.0));
            prop_assert!(model.components() < x.n());
        }
    }

    #[test]
    fn rules_for_nasty_points_are_finite_or_refused(x in nasty_points(), at in 0..KERNELS.len()) {
        let kernel: Kernel = no_error(KERNELS[at].name.parse())?;
        if let Ok(model) = KernelPca::new(kernel).fit(&x) {
            let faults = faults_of_kernel_pca(&model, &x);
            prop_assert!(faults.is_empty(), "{faults:?}");
        }
    }
}

#[test]
fn no_model_of_the_nasty_points_says_anything_that_is_not_finite() -> Result<()> {
    for number in 0..POINTS {
        let (name, x) = points(number);
        for route in ROUTES {
            for options in 0..8 {
                let (center, standardise, whiten) = (options & 1 == 0, options & 2 == 0, options & 4 == 0);
                let pca = Pca::new().route(route).center(center).standardise(standardise).whiten(whiten);
                let faults = faults_of_pca(&pca.fit(&x)?, &x);
                assert!(faults.is_empty(), "{name}, {pca:?}: {faults:?}");
            }
        }
        for entry in KERNELS {
            let model = KernelPca::new(entry.name.parse()?).fit(&x)?;
            let faults = faults_of_kernel_pca(&model, &x);
            assert!(faults.is_empty(), "{name}, {}: {faults:?}", entry.name);
            assert!(!entry.psd || !model.definiteness().is_indefinite(), "{name}, {}", entry.name);
        }
    }
    Ok(())
}

/// X'X of the points less their mean.
fn scatter(x: &Points) -> Points {
    let mean = naive::pca(x).0;
    Points::from_fn(x.d(), x.d(), |a, b| x.rows().map(|r| (r[a] - mean[a]) * (r[b] - mean[b])).sum())
}

#[test]
fn axes_of_the_nasty_points_have_small_ratios() -> Result<()> {
    for number in 0..POINTS {
        let (name, x) = points(number);
        let (size, truth) = (x.n().max(x.d()), naive::pca(&x).1);
        for route in ROUTES {
            let model = Pca::new().route(route).fit(&x)?;
            let (axes, values) = (model.axes(), model.spectrum().eigenvalues());
            let ratio = residual(&scatter(&x), values, &axes);
            assert!(ratio < THRESHOLD, "{name}, {route:?}: residual {ratio}");
            let ratio = orthonormality(&axes);
            assert!(ratio < THRESHOLD, "{name}, {route:?}: orthonormality {ratio}");
            let truth: Vec<f64> = truth[..values.len()].iter().map(|v| v * (x.n() - 1) as f64).collect();
            let ratio = difference(values, &truth, size);
            assert!(ratio < THRESHOLD, "{name}, {route:?}: eigenvalues {ratio}");
            for (j, (value, truth)) in values.iter().zip(&truth).enumerate() {
                let (gap, radius) = ((value - truth).abs(), model.certificate().radius(j));
                assert!(gap <= radius, "{name}, {route:?}: eigenvalue {j} is {gap:e} off, radius {radius:e}");
            }
        }
    }
    Ok(())
}

/// The unit eigenvectors of a kernel model, a row each.
fn units(model: &KernelPcaModel) -> Points {
    let values = model.spectrum().eigenvalues();
    Points::from_fn(model.components(), model.n(), |j, i| model.alpha().row(i)[j] * values[j].sqrt())
}

#[test]
fn eigenpairs_of_the_nasty_matrices_have_small_ratios() -> Result<()> {
    for number in 0..SYMMETRIC {
        for n in [2, 5, 20, 60] {
            let (name, gram) = symmetric(number, n);
            let model = KernelPca::new(Kernel::Linear).fit_gram(&gram)?;
            let what = format!("{name} of size {n}");
            let faults = faults_of_kernel_pca(&model, &gram);
            assert!(faults.is_empty(), "{what}: {faults:?}");
            let (centred, values, vectors) = (naive::centred(&gram), model.spectrum().eigenvalues(), units(&model));
            // Of a matrix that centring removes, rounding is left: its norm is not what errors are measured by.
            let norm = largest(gram.as_slice()) / largest(centred.as_slice()).max(f64::MIN_POSITIVE);
            let ratio = residual(&centred, values, &vectors) / norm.max(1.0);
            assert!(ratio < THRESHOLD, "{what}: residual {ratio}");
            assert!(orthonormality(&vectors) < THRESHOLD, "{what}: orthonormality {}", orthonormality(&vectors));
            assert!(values.iter().all(|v| *v > 0.0), "{what}");
            // The oracle multiplies diagonal entries: it is asked about the same matrix at a size that it can square.
            let unit = 2f64.powi(largest(gram.as_slice()).max(f64::MIN_POSITIVE).log2().floor() as i32);
            let scaled = Points::from_fn(n, n, |i, j| gram.row(i)[j] / unit);
            let (truth, _) = naive::eigen(&naive::centred(&scaled));
            for (j, value) in values.iter().enumerate() {
                let (gap, radius) = ((value / unit - truth[j]).abs(), model.certificate().radius(j) / unit);
                assert!(gap <= radius, "{what}: eigenvalue {j} is {gap:e} off, radius {radius:e}");
            }
            let radius = model.certificate().rounding() / unit;
            assert!(truth[values.len()..].iter().all(|v| *v <= 2.0 * radius), "{what}: positive ones are left out");
            let negative = truth.iter().filter(|v| **v < -2.0 * radius).count();
            assert!(model.definiteness().negative_count >= negative, "{what}");
            let report = diagnose::check_gram(&gram, &Exec::new())?;
            assert_eq!(report.centred.negative_count, model.definiteness().negative_count, "{what}");
        }
    }
    Ok(())
}

#[test]
fn the_oracle_does_not_depend_on_the_unit() {
    for number in 0..SYMMETRIC {
        let (name, matrix) = symmetric(number, 12);
        let (values, vectors) = naive::eigen(&matrix);
        let ratio = residual(&matrix, &values, &vectors);
        assert!(ratio < THRESHOLD, "{name}: residual {ratio}");
        assert!(orthonormality(&vectors) < THRESHOLD, "{name}");
    }
}

#[test]
fn the_radius_encloses_what_the_oracle_finds() -> Result<()> {
    for number in 0..POINTS {
        let (name, x) = points(number);
        for entry in KERNELS {
            let model = KernelPca::new(entry.name.parse()?).fit(&x)?;
            let kernel = model.kernel().expect("a kernel").clone();
            let gram = naive::gram(&kernel, &x);
            let given = KernelPca::new(Kernel::Linear).fit_gram(&gram)?;
            let (truth, _) = naive::eigen(&naive::centred(&gram));
            // The oracle's own rounding is that of the plain values, which are larger than ours.
            let own = given.certificate().rounding();
            for (j, value) in model.spectrum().eigenvalues().iter().enumerate() {
                let gap = (value - truth[j]).abs();
                assert!(gap <= model.certificate().radius(j) + own, "{name}, {kernel}: {j}: {gap:e}");
            }
            for (j, value) in given.spectrum().eigenvalues().iter().enumerate() {
                let (gap, radius) = ((value - truth[j]).abs(), given.certificate().radius(j));
                assert!(gap <= radius, "{name}, {kernel} given: {j}: {gap:e} {radius:e}");
            }
        }
    }
    Ok(())
}
