//! Every figure of testdata/golden.json that this library covers, with the tolerances its `_meta` states.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use common::{ROUTES, digits, golden, iris, numbers, relative, rows};
use mercer::k_means::{Agreement, KMeans};
use mercer::kernel::Bound;
use mercer::testing::matrices::rings;
use mercer::testing::ratios::{aligned_difference, sine_of_angle};
use mercer::{Components, Embedding, Gamma, Kernel, KernelPca, Pca, Points, Result, Route};

fn gaussian(denominator: f64) -> KernelPca {
    KernelPca::new(Kernel::gaussian(Gamma::OverSigma2(denominator)))
}

#[test]
fn data_sets_are_the_golden_ones() {
    let golden = golden();
    for (name, x) in [("iris", iris().0), ("digits", digits().0)] {
        let expected = &golden["_datasets"][name];
        assert_eq!(vec![x.n() as f64, x.d() as f64], numbers(&expected["shape"]));
        let sum: f64 = x.as_slice().iter().sum();
        assert!((sum / expected["sum"].as_f64().unwrap() - 1.0).abs() < 1e-13, "{name}: {sum}");
    }
}

#[test]
fn pca_eigenvalues_ratios_and_counts() -> Result<()> {
    let golden = golden();
    for (entry, x, standardise) in
        [("pca_iris_cov", iris().0, false), ("pca_iris_corr", iris().0, true), ("pca_digits_cov", digits().0, false)]
    {
        let expected = &golden[entry];
        for route in ROUTES {
            if route == Route::Gram && x.n() > 1000 {
                continue; // the 1797-square eigenproblem is covered by the kernel tests
            }
            let pca = Pca::new().standardise(standardise).route(route);
            let spectrum = pca.fit(&x)?.spectrum().clone();
            assert!(relative(&spectrum.variances(), &numbers(&expected["eigenvalues"])) < 1e-12, "{entry} {route:?}");
            assert!(relative(&spectrum.ratios(), &numbers(&expected["explained_ratio"])) < 1e-12, "{entry} {route:?}");
            let total = expected["total_variance"].as_f64().unwrap();
            assert!((spectrum.total() / spectrum.divisor() / total - 1.0).abs() < 1e-12);
            assert_eq!(spectrum.rank() as u64, expected["rank"].as_u64().unwrap(), "{entry} {route:?}");
            for (share, count) in expected["n_for"].as_object().unwrap() {
                let kept = pca.clone().components(Components::Share(share.parse().unwrap())).fit(&x)?.components();
                assert_eq!(kept as u64, count.as_u64().unwrap(), "{entry} {route:?} {share}");
            }
        }
    }
    Ok(())
}

#[test]
fn pca_loadings_and_scores() -> Result<()> {
    let (golden, (x, _)) = (golden(), iris());
    let expected = &golden["pca_iris_loadings"];
    for route in ROUTES {
        let model = Pca::new().route(route).fit(&x)?;
        assert!(relative(model.mean(), &numbers(&expected["mean"])) < 1e-14);
        // The golden sign rule is ours: compared without alignment.
        let (axes, golden_axes) = (model.axes(), rows(&expected["components"]));
        let gap = axes.as_slice().iter().zip(golden_axes.as_slice()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(gap < 1e-12, "{route:?}: {gap}");
        let scores = model.transform(x.view().slice(0, 3))?;
        for (a, b) in scores.as_slice().iter().zip(rows(&expected["scores_first3"]).as_slice()) {
            assert!((a - b).abs() < 1e-12, "{route:?}: {a} {b}");
        }
    }
    Ok(())
}

#[test]
fn pca_reconstruction_error_is_the_discarded_variance() -> Result<()> {
    let (golden, (x, _)) = (golden(), digits());
    for k in [2, 10, 20, 30] {
        let model = Pca::new().components(k).fit(&x)?;
        let entry = &golden["pca_digits_reconstruction"][k.to_string()];
        let mean: f64 = model.squared_errors(&x)?.iter().sum::<f64>() / x.n() as f64;
        assert!((mean / entry["mean_sq_error_per_sample"].as_f64().unwrap() - 1.0).abs() < 1e-12);
        assert!((mean * x.n() as f64 / model.spectrum().discarded() - 1.0).abs() < 1e-12);
    }
    Ok(())
}

#[test]
fn wide_kernels_on_iris_agree_with_forty_digits() -> Result<()> {
    let (golden, (x, _)) = (golden(), iris());
    for (entry, gamma) in [
        ("kpca_iris_gauss_exp(-d2/(2*150))", Gamma::Over2Sigma2(150.0)),
        ("kpca_iris_gauss_exp(-d2/150)", Gamma::OverSigma2(150.0)),
    ] {
        let expected = &golden[entry];
        let model = KernelPca::new(Kernel::gaussian(gamma)).components(20).fit(&x)?;
        let exact = numbers(&expected["eigenvalues_mpmath_40digits"]);
        // The golden tolerance is 1e-9; what plain f64 reaches is in the file as well, and we must not be worse.
        let error = relative(model.spectrum().eigenvalues(), &exact[..10]);
        assert!(error < 3e-13, "{entry}: {error}");
        for (i, value) in model.spectrum().eigenvalues().iter().enumerate().take(exact.len()) {
            assert!((value - exact[i]).abs() <= model.certificate().radius(i), "{entry}: enclosure {i}");
        }
        let trace: f64 = expected["trace_mpmath"].as_str().unwrap().parse().unwrap();
        assert!((model.spectrum().total() / trace - 1.0).abs() < 1e-13);
        assert!(relative(&model.spectrum().ratios(), &numbers(&expected["explained_ratio"])[..10]) < 1e-9);
        let over_n = numbers(&expected["eigenvalues_over_n"]);
        assert!(relative(&model.spectrum().population_variances(), &over_n[..10]) < 1e-9);
    }
    Ok(())
}

#[test]
fn linear_kernel_is_pca() -> Result<()> {
    let (golden, (x, _)) = (golden(), iris());
    let expected = &golden["kpca_iris_linear"];
    let kernel = KernelPca::new(Kernel::linear()).fit(&x)?;
    assert_eq!(kernel.components(), 4);
    assert!(relative(kernel.spectrum().eigenvalues(), &numbers(&expected["eigenvalues_of_centred_gram"])) < 1e-12);
    assert!(relative(&kernel.spectrum().variances(), &numbers(&golden["pca_iris_cov"]["eigenvalues"])) < 1e-12);
    let pca = Pca::new().fit(&x)?.transform(&x)?;
    assert!(aligned_difference(&kernel.scores(), &pca) < 1e-13);
    Ok(())
}

#[test]
fn explicit_monomials_are_the_polynomial_kernel() -> Result<()> {
    let (golden, (x, _)) = (golden(), iris());
    for degree in [2, 3] {
        let expected = &golden[format!("poly_embedding_iris_degree{degree}")];
        let phi = Embedding::monomials(degree);
        assert_eq!(phi.features(4).unwrap() as u64, expected["D"].as_u64().unwrap());
        let eigenvalues = numbers(&expected["eigenvalues_explicit"]);
        let kernel = KernelPca::new(Kernel::polynomial(degree, 0.0)).components(8).fit(&x)?;
        assert!(relative(kernel.spectrum().eigenvalues(), &eigenvalues[..8]) < 1e-10);
        for route in ROUTES {
            let explicit = Pca::new().embed(phi.clone()).components(8).route(route).fit(&x)?;
            assert!(relative(explicit.spectrum().eigenvalues(), &eigenvalues[..8]) < 1e-10, "{route:?}");
            assert!(aligned_difference(&explicit.transform(&x)?, &kernel.scores()) < 1e-9, "{route:?}");
        }
        for (i, j) in [(0, 1), (17, 140)] {
            let dot: f64 = phi.map(x.row(i)).iter().zip(phi.map(x.row(j))).map(|(a, b)| a * b).sum();
            let power = Kernel::polynomial(degree, 0.0).eval(x.row(i), x.row(j));
            assert!((dot / power - 1.0).abs() < 1e-14);
        }
    }
    Ok(())
}

#[test]
fn kmeans_on_scores_of_iris() -> Result<()> {
    let (golden, (x, classes)) = (golden(), iris());
    let standardised = {
        let model = Pca::new().standardise(true).fit(&x)?;
        Points::from_fn(x.n(), 4, |i, j| (x.row(i)[j] - model.mean()[j]) / model.scale()[j])
    };
    let pca = |k: usize, standardise| Pca::new().components(k).standardise(standardise).fit(&x)?.transform(&x);
    let kpca = |x: &Points, den: f64, k: usize| Ok::<_, mercer::Error>(gaussian(den).components(k).fit(x)?.scores());
    let cases = [
        ("raw_4d", x.clone()),
        ("standardised_4d", standardised.clone()),
        ("pca_cov_1", pca(1, false)?),
        ("pca_cov_2", pca(2, false)?),
        ("pca_cov_3", pca(3, false)?),
        ("pca_corr_2", pca(2, true)?),
        ("kpca_2sigma2_300_1", kpca(&x, 300.0, 1)?),
        ("kpca_sigma2_150_1", kpca(&x, 150.0, 1)?),
        ("kpca_2sigma2_300_2", kpca(&x, 300.0, 2)?),
        ("kpca_sigma2_150_2", kpca(&x, 150.0, 2)?),
        ("kpca_2sigma2_300_3", kpca(&x, 300.0, 3)?),
        ("kpca_sigma2_150_3", kpca(&x, 150.0, 3)?),
        ("kpca_den2_2", kpca(&x, 2.0, 2)?),
        ("kpca_den4_2", kpca(&x, 4.0, 2)?),
        ("kpca_den8_2", kpca(&x, 8.0, 2)?),
        ("kpca_den20_2", kpca(&x, 20.0, 2)?),
        ("kpca_den50_2", kpca(&x, 50.0, 2)?),
        ("kpca_std_den0.25_2", kpca(&standardised, 0.25, 2)?),
        ("kpca_std_den0.5_2", kpca(&standardised, 0.5, 2)?),
        ("kpca_std_den1_2", kpca(&standardised, 1.0, 2)?),
        ("kpca_std_den2_2", kpca(&standardised, 2.0, 2)?),
        ("kpca_std_den4_2", kpca(&standardised, 4.0, 2)?),
        ("kpca_std_den8_2", kpca(&standardised, 8.0, 2)?),
    ];
    for (name, scores) in cases {
        let expected = &golden["kmeans_iris_k3"][name];
        let clusters = KMeans::new(3).restarts(200).fit(&scores)?;
        let agreement = Agreement::of(&classes, &clusters.labels)?;
        assert!((clusters.inertia / expected["inertia"].as_f64().unwrap() - 1.0).abs() < 1e-8, "{name}");
        assert_eq!(agreement.correct as u64, expected["correct_of_150"].as_u64().unwrap(), "{name}");
        assert!((agreement.adjusted_rand - expected["ARI"].as_f64().unwrap()).abs() < 1e-12, "{name}");
    }
    for name in ["pca_cov_1", "kpca_2sigma2_300_1", "kpca_sigma2_150_1"] {
        let exact = &golden["kmeans_iris_1d_exact_dp"][name];
        let ours = &golden["kmeans_iris_k3"][name];
        assert_eq!(exact["correct_of_150"], ours["correct_of_150"], "k-means reaches the global optimum");
    }
    Ok(())
}

#[test]
fn unit_eigenvectors_in_place_of_scores_cluster_worse() -> Result<()> {
    let (golden, (x, classes)) = (golden(), iris());
    let expected = &golden["kmeans_iris_k3"]["kpca_2sigma2_300_2_unit_eigenvectors(not scaled)"];
    let model = gaussian(300.0).components(2).fit(&x)?;
    let unit = Points::from_fn(150, 2, |i, j| model.alpha().row(i)[j] * model.spectrum().eigenvalues()[j].sqrt());
    let clusters = KMeans::new(3).restarts(200).fit(&unit)?;
    assert_eq!(Agreement::of(&classes, &clusters.labels)?.correct as u64, expected["correct_of_150"].as_u64().unwrap());
    Ok(())
}

#[test]
fn two_rings_are_separated_by_the_first_component() -> Result<()> {
    let golden = golden();
    let expected = &golden["kpca_circles_noiseless_gamma3"];
    let x = rings(400, 1.0, 0.3);
    let classes: Vec<usize> = (0..400).map(|i| i / 200).collect();
    let model = KernelPca::new(Kernel::gaussian(Gamma::Value(3.0))).components(12).fit(&x)?;
    assert!(relative(model.spectrum().eigenvalues(), &numbers(&expected["eigenvalues_of_centred_gram"])) < 1e-10);
    assert!((model.spectrum().total() / expected["trace_centred"].as_f64().unwrap() - 1.0).abs() < 1e-12);
    let z = model.scores();
    let half = expected["gap"].as_f64().unwrap() / 2.0;
    let side = z.row(0)[0].signum();
    for i in 0..400 {
        let expected = if i < 200 { side * half } else { -side * half };
        assert!((z.row(i)[0] - expected).abs() < 1e-12);
    }
    let correct = |points: &Points| -> Result<u64> {
        Ok(Agreement::of(&classes, &KMeans::new(2).restarts(20).fit(points)?.labels)?.correct as u64)
    };
    assert_eq!(correct(&z.first_columns(2))?, expected["kmeans2_correct_on_first2_of_400"].as_u64().unwrap());
    assert!(correct(&x)? <= expected["kmeans2_correct_on_raw_of_400"].as_u64().unwrap() + 1, "raw rings do not part");
    Ok(())
}

#[test]
fn the_range_of_widths_that_separates_rings() -> Result<()> {
    let golden = golden();
    let radial_leads = |inner: f64, gamma: f64| -> Result<bool> {
        let z =
            KernelPca::new(Kernel::gaussian(Gamma::Value(gamma))).components(1).fit(&rings(400, 1.0, inner))?.scores();
        Ok((0..200).all(|i| (z.row(i)[0] - z.row(0)[0]).abs() < 1e-6 && z.row(i)[0] * z.row(200)[0] < 0.0))
    };
    for (inner, range) in
        golden["circles_gamma_range_first_PC_separates"]["r2->[gamma_lo,gamma_hi]"].as_object().unwrap()
    {
        let inner: f64 = inner.parse().unwrap();
        if range.is_null() {
            for gamma in [0.5, 1.0, 2.0, 4.0, 8.0, 16.0] {
                assert!(!radial_leads(inner, gamma)?, "{inner} {gamma}");
            }
            continue;
        }
        let range = numbers(range);
        assert!(!radial_leads(inner, range[0] * 0.999)? && radial_leads(inner, range[0] * 1.001)?, "{inner}");
        assert!(radial_leads(inner, range[1] * 0.999)? && !radial_leads(inner, range[1] * 1.001)?, "{inner}");
    }
    Ok(())
}

#[test]
fn median_heuristic() -> Result<()> {
    let expected = &golden()["median_heuristic"];
    let gamma =
        |x: &Points| Ok::<_, mercer::Error>(Bound::new(&Kernel::gaussian(Gamma::Median), x)?.choices()[0].value);
    assert!((1.0 / gamma(&iris().0)? / expected["iris_sq"].as_f64().unwrap() - 1.0).abs() < 1e-14);
    let digits = digits().0;
    let digits = Points::from_fn(digits.n(), digits.d(), |i, j| digits.row(i)[j] / 16.0);
    assert!((1.0 / gamma(&digits)? / expected["digits16_sq"].as_f64().unwrap() - 1.0).abs() < 1e-14);
    let matern: Kernel = "matern".parse()?;
    let length = Bound::new(&matern, &iris().0)?.choices()[0].value;
    assert!((length / expected["iris"].as_f64().unwrap() - 1.0).abs() < 1e-14);
    Ok(())
}

#[test]
fn new_points_and_their_squared_errors() -> Result<()> {
    let (golden, (x, _)) = (golden(), iris());
    let expected = &golden["kpca_iris_out_of_sample"];
    let kept: Vec<usize> = (0..150).filter(|i| i % 5 != 0).collect();
    let train = Points::from_fn(120, 4, |i, j| x.row(kept[i])[j]);
    let query = rows(&expected["query"]);
    let model = gaussian(4.0).components(3).fit(&train)?;
    assert!(relative(model.spectrum().eigenvalues(), &numbers(&expected["eigenvalues"])) < 1e-10);
    // Same sign rule as the file: no alignment.
    let (scores, golden_scores) = (model.transform(&query)?, rows(&expected["scores"]));
    for (a, b) in scores.as_slice().iter().zip(golden_scores.as_slice()) {
        assert!((a - b).abs() < 1e-10, "{a} {b}");
    }
    assert!(relative(&model.centred_norms(&query)?, &numbers(&expected["ktilde_xx"])) < 1e-10);
    assert!(relative(&model.squared_errors(&query)?, &numbers(&expected["residual"])) < 1e-10);
    Ok(())
}

#[test]
fn laeuchli_keeps_its_small_singular_values() -> Result<()> {
    let expected = numbers(&golden()["laeuchli_eps1e-8"]["svd"]);
    let e = 1e-8;
    let x = Points::from_rows(&[[1.0, 1.0, 1.0], [e, 0.0, 0.0], [0.0, e, 0.0], [0.0, 0.0, e]]);
    for route in [Route::Svd, Route::Auto] {
        let model = Pca::new().center(false).route(route).fit(&x)?;
        let singular: Vec<f64> = model.spectrum().eigenvalues().iter().map(|v| v.sqrt()).collect();
        assert!(relative(&singular, &expected) < 1e-7, "{route:?} {singular:?}");
        assert_eq!(model.route(), Route::Svd, "auto retreats");
    }
    Ok(())
}

#[test]
fn distances_do_not_depend_on_shifts() -> Result<()> {
    let golden = golden();
    let x = iris().0;
    for row in golden["distance_cancellation_iris"]["rows"].as_array().unwrap() {
        let offset = row["offset"].as_f64().unwrap();
        let shifted = Points::from_fn(150, 4, |i, j| x.row(i)[j] + offset);
        let worst = (0..150)
            .map(|i| {
                let d2 = |x: &Points| -Kernel::gaussian(Gamma::Value(1e-3)).eval(x.row(i), x.row(149 - i)).ln() * 1e3;
                (d2(&shifted) - d2(&x)).abs()
            })
            .fold(0.0, f64::max);
        // The remaining error is the rounding of the shifted data itself.
        assert!(worst <= 1e-11 + 100.0 * offset * f64::EPSILON, "{offset}: {worst}");
    }
    Ok(())
}

#[test]
fn wide_kernels_tend_to_pca() -> Result<()> {
    let (golden, (x, _)) = (golden(), iris());
    let linear = numbers(&golden["kpca_iris_linear"]["eigenvalues_of_centred_gram"]);
    for (name, den) in [("den1e6", 1e6), ("den1e8", 1e8), ("den1e10", 1e10)] {
        let model = gaussian(den).components(4).fit(&x)?;
        let scaled: Vec<f64> = model.spectrum().eigenvalues().iter().map(|v| v * den / 2.0).collect();
        let expected = golden["wide_kernel_limit_iris"][name]["expm1"].as_f64().unwrap();
        let found = relative(&scaled, &linear);
        assert!((found / expected - 1.0).abs() < 1e-2, "{name}: {found} {expected}");
    }
    Ok(())
}

#[test]
fn probabilistic_pca_and_monitoring_follow_from_the_model() -> Result<()> {
    let (golden, (x, _)) = (golden(), iris());
    let model = Pca::new().components(2).fit(&x)?;
    let left = model.spectrum().discarded() / 2.0;
    let expected = &golden["ppca_iris_q2"];
    assert!((left / 150.0 / expected["sigma2_ddof0"].as_f64().unwrap() - 1.0).abs() < 1e-12);
    assert!((left / 149.0 / expected["sigma2_ddof1"].as_f64().unwrap() - 1.0).abs() < 1e-12);
    let expected = &golden["monitoring_iris_pca_k2"];
    let errors = model.squared_errors(&x)?;
    let worst = (0..150).max_by(|&a, &b| errors[a].total_cmp(&errors[b])).unwrap();
    assert_eq!(worst as u64, expected["SPE_argmax"].as_u64().unwrap());
    assert!((errors[worst] / expected["SPE_max"].as_f64().unwrap() - 1.0).abs() < 1e-10);
    let whitened = Pca::new().components(2).whiten(true).fit(&x)?.transform(&x)?;
    let t2: Vec<f64> = whitened.rows().map(|z| z.iter().map(|z| z * z).sum()).collect();
    assert!((t2.iter().sum::<f64>() / expected["T2_sum"].as_f64().unwrap() - 1.0).abs() < 1e-12);
    assert!((t2[131] / expected["T2_max"].as_f64().unwrap() - 1.0).abs() < 1e-10);
    Ok(())
}

#[test]
fn digits_by_pca_and_by_the_linear_kernel_span_the_same_space() -> Result<()> {
    let x = digits().0;
    let explicit = Pca::new().components(10).fit(&x)?;
    let gram = Pca::new().components(10).route(Route::Gram).fit(&x)?;
    assert!(sine_of_angle(&explicit.axes(), &gram.axes()) < 1e-12);
    Ok(())
}
