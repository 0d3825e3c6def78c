//! One test or more for each numerical pitfall that libraries of this kind have or had. The letter P and its number
//! name the pitfall; what has no number is a refusal or a promise of this library.
#![allow(missing_docs)]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{
    assert_finite_kernel_pca, assert_finite_pca, bits, faults_of_kernel_pca, inner_products, iris, largest,
    largest_gap, map, relative, to_f32,
};
use mercer::kernel::registry::KERNELS;
use mercer::op::SymOp;
use mercer::testing::matrices::normal;
use mercer::testing::naive;
use mercer::testing::ratios::{THRESHOLD, aligned_difference, orthonormality, sine_of_angle};
use mercer::{
    Agreement, Block, Bound, Components, Embedding, ErrorKind, Exec, Gamma, Gram, KMeans, Kernel, KernelPca,
    KernelPcaModel, Moments, Pca, PcaModel, Points, Real, Result, Route, diagnose,
};

const ROUTES: [Route; 4] = [Route::Auto, Route::Covariance, Route::Gram, Route::Svd];
/// The first point beyond which f64 has no halves.
const NO_HALVES: f64 = 4_503_599_627_370_496.0;

fn kernel(text: &str) -> Kernel {
    text.parse().expect(text)
}

/// A kernel of each kind, with fixed numbers, and some that are made from others.
const FIXED: [&str; 14] = [
    "linear",
    "polynomial(degree=3, coef0=1)",
    "gaussian(gamma=0.3)",
    "gaussian(over_2sigma2=150)",
    "laplacian(gamma=0.2)",
    "matern(nu=1/2, length=2)",
    "matern(nu=3/2, length=2)",
    "matern(nu=5/2, length=20)",
    "rational_quadratic(alpha=0.7, length=3)",
    "sigmoid(gamma=0.01, coef0=0.1)",
    "cosine",
    "0.5*gaussian(gamma=0.01) + linear",
    "2*matern(length=5) * (polynomial(coef0=1) + cosine)",
    "normalised(linear + gaussian(gamma=0.1))",
];

/// 1000 points of 5 dimensions with standard deviations from 3 down to 0.1, far from the origin.
fn far(offset: f64) -> Points {
    let z = normal(1000, 5, 1);
    Points::from_fn(1000, 5, |i, j| offset + [3.0, 1.5, 0.8, 0.3, 0.1][j] * z.row(i)[j])
}

/// A product of orthonormal bases with singular values exp(-(i/2)^2): numerically of low rank.
fn low_rank(n: usize, d: usize) -> Points {
    let (u, v) = (orthonormal(n, d, 1), orthonormal(d, d, 2));
    let s = |l: usize| (-(l as f64 / 2.0).powi(2)).exp();
    Points::from_fn(n, d, |i, j| (0..d).map(|l| u[l][i] * s(l) * v[l][j]).sum())
}

/// So many orthonormal vectors, by Gram and Schmidt.
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

/// Points on a grid of 1/1024, which survive a shift by a million exactly.
fn on_a_grid(n: usize, d: usize) -> Points {
    map(&normal(n, d, 3), |v| (v * 1024.0).round() / 1024.0)
}

/// The square (1, 1), (-1, 1), (-1, -1), (1, -1).
fn square() -> Points {
    Points::from_rows(&[[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
}

fn gram_of(n: usize, f: impl Fn(usize, usize) -> f64) -> Points {
    Points::from_fn(n, n, f)
}

fn is_range(kind: &ErrorKind) -> bool {
    matches!(kind, ErrorKind::Range { .. } | ErrorKind::NotFinite { .. })
}

// P1
#[test]
fn variances_do_not_depend_on_the_mean() -> Result<()> {
    let mut wrong = Vec::new();
    for offset in [0.0, 1e2, 1e4, 1e6, 1e8] {
        let x = far(offset);
        // The subtraction is exact: the truth is that of the very same points.
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
    let linear = KernelPca::new(Kernel::Linear).fit(&x)?.spectrum().eigenvalues()[0];
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

// P3
#[test]
fn kernels_of_distances_do_not_see_shifts_at_all() -> Result<()> {
    let x = on_a_grid(60, 3);
    let shifted = map(&x, |v| v + 1e6);
    for text in ["gaussian", "gaussian(over_2sigma2=1e5)", "laplacian", "matern(nu=1/2)", "matern", "rq(alpha=2)"] {
        let fit = |x: &Points| KernelPca::new(kernel(text)).components(8).fit(x);
        let (here, there) = (fit(&x)?, fit(&shifted)?);
        assert_eq!(here.spectrum(), there.spectrum(), "{text}");
        assert_eq!(here.alpha(), there.alpha(), "{text}");
        assert_eq!(here.transform(&x)?, there.transform(&shifted)?, "{text}");
        assert_eq!(here.squared_errors(&x)?, there.squared_errors(&shifted)?, "{text}");
    }
    Ok(())
}

// P3
#[test]
fn the_linear_kernel_does_not_see_shifts_once_centred() -> Result<()> {
    let x = on_a_grid(60, 3);
    for text in ["linear", "linear + gaussian(gamma=0.2)", "3*linear + 0.5*(linear + matern(length=2))"] {
        let here = KernelPca::new(kernel(text)).components(3).fit(&x)?;
        for offset in [1e3, 1e6, 1e8] {
            let shifted = map(&x, |v| v + offset);
            let there = KernelPca::new(kernel(text)).components(3).fit(&shifted)?;
            assert!(relative(there.spectrum().eigenvalues(), here.spectrum().eigenvalues()) < 1e-12, "{text} {offset}");
            let (a, b) = (there.transform(&shifted)?, here.transform(&x)?);
            assert!(aligned_difference(&a, &b) < 1e-11, "{text} {offset}");
            let (a, b) = (there.squared_errors(&shifted)?, here.squared_errors(&x)?);
            assert!(largest_gap(&a, &b) < 1e-10, "{text} {offset}");
        }
    }
    Ok(())
}

// P3
#[test]
fn kernels_of_distances_of_f32_points_do_not_see_shifts() -> Result<()> {
    let x = on_a_grid(60, 3);
    let (here, there) = (to_f32(&x), to_f32(&map(&x, |v| v + 1e3)));
    for text in ["gaussian", "laplacian", "matern(nu=5/2)", "rational_quadratic"] {
        let fit = |x: &Points<f32>| Ok::<_, mercer::Error>(KernelPca::new(kernel(text)).fit(x)?.spectrum().clone());
        assert_eq!(fit(&here)?, fit(&there)?, "{text}");
    }
    Ok(())
}

// P4
#[test]
fn whitening_does_not_blow_up_what_has_no_variance() -> Result<()> {
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
fn whitening_leaves_out_exactly_dependent_columns() -> Result<()> {
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

// P5
#[test]
fn a_kernel_that_is_not_positive_is_reported_for_every_number_of_components() -> Result<()> {
    let (x, _) = iris();
    for k in [1, 2, 10, 100] {
        let model = KernelPca::new(kernel("sigmoid(gamma=0.05, coef0=-1)")).components(k).fit(&x)?;
        let found = model.definiteness();
        assert!(found.is_indefinite(), "{k}");
        assert!((found.smallest + 4.25).abs() < 0.005, "{k}: {}", found.smallest);
        assert!((found.largest - 1.54).abs() < 0.005, "{k}: {}", found.largest);
        assert!(found.negative_mass > 4.2 && found.negative_share() > 0.5, "{k}: {found:?}");
        assert!(model.notes().iter().any(|n| n.contains("not positive semi-definite")), "{k}");
        assert!(model.spectrum().eigenvalues().iter().all(|v| *v > 0.0));
        // Shares are of the whole mass: the negative part is not hidden.
        let share: f64 = model.spectrum().ratios().iter().sum();
        assert!(share < 0.5, "{k}: {share}");
    }
    Ok(())
}

// P5: what centring leaves of a wide kernel is small, but its rounding is that of the entries before.
#[test]
fn wide_kernels_are_found_positive() -> Result<()> {
    let (x, _) = iris();
    let mut wrong = Vec::new();
    for text in ["gaussian(gamma=0.1)", "gaussian(gamma=1e-4)", "gaussian(gamma=1e-8)", "rq(length=1e4)", "cosine"] {
        let report = diagnose::check_kernel(&kernel(text), &x, &Exec::new())?;
        if report.gram.is_indefinite() || report.centred.is_indefinite() {
            wrong.push(format!("{text}: {}; centred: {}", report.gram, report.centred));
        }
        let given = diagnose::check_gram(&naive::gram(&kernel(text), &x), &Exec::new())?;
        if given.gram.is_indefinite() || given.centred.is_indefinite() {
            wrong.push(format!("{text} given: {}; centred: {}", given.gram, given.centred));
        }
        let model = KernelPca::new(kernel(text)).fit(&x)?;
        assert!(!model.definiteness().is_indefinite(), "{text}: {}", model.definiteness());
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

// P6
#[test]
fn the_rank_and_the_axes_do_not_depend_on_the_unit() -> Result<()> {
    let z = normal(200, 3, 5);
    let x = Points::from_fn(200, 5, |i, j| z.row(i)[0] * (j + 1) as f64 + z.row(i)[1] * (j * j) as f64);
    for route in ROUTES {
        let base = Pca::new().route(route).fit(&x)?;
        assert_eq!(base.spectrum().rank(), 2, "{route:?}");
        for unit in [1e-6, 1e6, 1e-100, 1e100] {
            let scaled = map(&x, |v| v * unit);
            let model = Pca::new().route(route).fit(&scaled)?;
            assert_eq!(model.spectrum().rank(), 2, "{route:?} {unit}");
            let (a, b) = (first_rows(&base.axes(), 2), first_rows(&model.axes(), 2));
            assert!(sine_of_angle(&a, &b) < 1e-12, "{route:?} {unit}");
            assert!(relative(&model.spectrum().ratios()[..2], &base.spectrum().ratios()[..2]) < 1e-12);
        }
        // By powers of two everything scales exactly.
        for unit in [2f64.powi(-100), 2f64.powi(100)] {
            let model = Pca::new().route(route).fit(&map(&x, |v| v * unit))?;
            assert_eq!(model.axes(), base.axes(), "{route:?}");
            assert_eq!(model.spectrum().ratios(), base.spectrum().ratios(), "{route:?}");
        }
    }
    Ok(())
}

fn first_rows(x: &Points, k: usize) -> Points {
    Points::from_fn(k, x.d(), |i, j| x.row(i)[j])
}

// P6
#[test]
fn the_weight_of_a_kernel_changes_nothing_but_the_eigenvalues() -> Result<()> {
    let (x, _) = iris();
    for text in ["gaussian(gamma=0.25)", "gaussian(over_2sigma2=150)", "linear", "matern", "polynomial(coef0=1)"] {
        let base = KernelPca::new(kernel(text)).fit(&x)?;
        for weight in [1e-40, 1e150, 2f64.powi(-400), 2f64.powi(400)] {
            let model = KernelPca::new(weight * kernel(text)).fit(&x)?;
            let what = format!("{weight}*{text}");
            assert_eq!(model.components(), base.components(), "{what}");
            let unit = |m: &KernelPcaModel| {
                let values = m.spectrum().eigenvalues();
                Points::from_fn(4, x.n(), |j, i| m.alpha().row(i)[j] * values[j].sqrt())
            };
            assert!(sine_of_angle(&unit(&base), &unit(&model)) < 1e-9, "{what}");
            let values: Vec<f64> = model.spectrum().eigenvalues()[..4].iter().map(|v| v / weight).collect();
            assert!(relative(&values, &base.spectrum().eigenvalues()[..4]) < 1e-10, "{what}");
            assert_finite_kernel_pca(&what, &model, &x);
        }
    }
    Ok(())
}

// P6
#[test]
fn three_dimensions_of_f32_give_three_linear_components() -> Result<()> {
    let x = to_f32(&normal(400, 3, 6));
    assert_eq!(KernelPca::new(Kernel::Linear).fit(&x)?.components(), 3);
    assert_eq!(KernelPca::new(Kernel::polynomial(2, 0.0)).fit(&x)?.components(), 6);
    Ok(())
}

// P7
#[test]
fn variances_have_the_right_divisor_and_shares_the_true_total() -> Result<()> {
    let (x, _) = iris();
    let (_, truth, _) = naive::pca(&x);
    let total: f64 = truth.iter().sum();
    for route in ROUTES {
        for k in 1..=4 {
            let model = Pca::new().components(k).route(route).fit(&x)?;
            let s = model.spectrum();
            assert_eq!(s.divisor(), 149.0);
            assert!(relative(&s.variances(), &truth[..k]) < 1e-12, "{route:?} {k}");
            let population: Vec<f64> = truth[..k].iter().map(|v| v * 149.0 / 150.0).collect();
            assert!(relative(&s.population_variances(), &population) < 1e-12, "{route:?} {k}");
            let shares: Vec<f64> = truth[..k].iter().map(|v| v / total).collect();
            assert!(relative(&s.ratios(), &shares) < 1e-12, "{route:?} {k}");
            assert!((s.cumulative()[k - 1] - shares.iter().sum::<f64>()).abs() < 1e-12);
            assert!((s.discarded() / 149.0 - truth[k..].iter().sum::<f64>()).abs() < 1e-12 * total);
        }
    }
    let standardised = Pca::new().standardise(true).fit(&x)?;
    assert!((standardised.spectrum().variances().iter().sum::<f64>() - 4.0).abs() < 1e-12);
    let mean_square = Pca::new().center(false).fit(&x)?;
    assert_eq!(mean_square.spectrum().divisor(), 150.0);
    let expected = x.as_slice().iter().map(|v| v * v).sum::<f64>() / 150.0;
    assert!((mean_square.spectrum().variances().iter().sum::<f64>() / expected - 1.0).abs() < 1e-13);
    Ok(())
}

// P7
#[test]
fn shares_of_one_kernel_component_are_of_the_true_total() -> Result<()> {
    let (x, _) = iris();
    for text in ["gaussian", "linear", "laplacian", "cosine"] {
        let all = KernelPca::new(kernel(text)).fit(&x)?;
        let one = KernelPca::new(kernel(text)).components(1).fit(&x)?;
        assert_eq!(one.spectrum().ratios()[0], all.spectrum().ratios()[0], "{text}");
        assert!((all.spectrum().cumulative().last().expect("some") - 1.0).abs() < 1e-9, "{text}");
        let kept = one.spectrum().eigenvalues()[0] + one.spectrum().discarded();
        assert!((kept / one.spectrum().total() - 1.0).abs() < 1e-12, "{text}");
    }
    Ok(())
}

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

// P10
#[test]
fn new_points_do_not_see_their_neighbours() -> Result<()> {
    let (x, _) = iris();
    let n = 75;
    let train = Points::from_fn(n, 4, |i, j| x.row(2 * i)[j]);
    let query = normal(2 * n, 4, 8);
    let mut models: Vec<(String, mercer::AnyModel)> = Vec::new();
    for text in FIXED {
        models
            .push((text.into(), mercer::AnyModel::KernelPca(KernelPca::new(kernel(text)).components(5).fit(&train)?)));
    }
    let fun = KernelPca::new(Kernel::Linear).components(5).fit_fn(&train, |x, y| {
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

// P11
#[test]
fn one_dimension_has_many_kernel_components() -> Result<()> {
    let x = normal(50, 1, 11);
    for text in ["gaussian", "laplacian", "matern", "rational_quadratic", "polynomial(degree=6, coef0=1)"] {
        let model = KernelPca::new(kernel(text)).components(5).fit(&x)?;
        assert_eq!(model.components(), 5, "{text}");
        let (truth, _) = naive::kernel_pca(model.kernel().expect("a kernel"), &x, 5);
        for (j, (found, truth)) in model.spectrum().eigenvalues().iter().zip(&truth).enumerate() {
            assert!((found - truth).abs() <= 2.0 * model.certificate().radius(j), "{text}: {found} {truth}");
        }
    }
    Ok(())
}

// P13: sums of squares by hand: 9 + 1 + 1 + 9 = 20.
#[test]
fn four_points_on_a_line_by_hand() -> Result<()> {
    let x = Points::from_rows(&[[7.0], [9.0], [11.0], [13.0]]);
    let model = KernelPca::new(Kernel::Linear).fit(&x)?;
    let s = model.spectrum();
    assert_eq!(model.components(), 1);
    assert!((s.eigenvalues()[0] - 20.0).abs() < 1e-13);
    assert!((s.variances()[0] - 20.0 / 3.0).abs() < 1e-13 && (s.population_variances()[0] - 5.0).abs() < 1e-13);
    assert!((s.ratios()[0] - 1.0).abs() < 1e-13 && (s.total() - 20.0).abs() < 1e-13);
    // The entry of largest magnitude is positive; of the two the first.
    for scores in [model.scores(), model.transform(&x)?] {
        assert!(largest_gap(scores.as_slice(), &[3.0, 1.0, -1.0, -3.0]) < 1e-13, "{scores:?}");
    }
    // alpha = u / sqrt(lambda) = scores / lambda
    assert!(largest_gap(model.alpha().as_slice(), &[0.15, 0.05, -0.05, -0.15]) < 1e-14);
    let new = model.transform(&Points::from_rows(&[[10.0], [0.0]]))?;
    assert!(largest_gap(new.as_slice(), &[0.0, 10.0]) < 1e-13, "{new:?}");
    Ok(())
}

// P13: K of (x.y)^2 on -1, 0, 1, 2 is v v' with v = 1, 0, 1, 4; centred, its eigenvalue is |v - 3/2|^2 = 9.
#[test]
fn a_square_by_hand() -> Result<()> {
    let x = Points::from_rows(&[[-1.0], [0.0], [1.0], [2.0]]);
    let model = KernelPca::new(Kernel::polynomial(2, 0.0)).fit(&x)?;
    assert_eq!(model.components(), 1);
    assert!((model.spectrum().eigenvalues()[0] - 9.0).abs() < 1e-13);
    assert!(largest_gap(model.scores().as_slice(), &[-0.5, -1.5, -0.5, 2.5]) < 1e-13, "{:?}", model.scores());
    let new = model.transform(&Points::from_rows(&[[3.0]]))?;
    assert!((new.row(0)[0] - 7.5).abs() < 1e-12, "9 - 3/2");
    Ok(())
}

// P17: K is circulant; with a = k(side), b = k(diagonal), HKH has eigenvalues 1 - b twice and 1 - 2a + b.
#[test]
fn the_square_has_a_pair_of_equal_eigenvalues() -> Result<()> {
    let x = square();
    for gamma in [0.01f64, 0.1, 0.3, 1.0] {
        let (a, b) = ((-4.0 * gamma).exp(), (-8.0 * gamma).exp());
        let model = KernelPca::new(Kernel::gaussian(Gamma::Value(gamma))).fit(&x)?;
        let expected = [1.0 - b, 1.0 - b, 1.0 - 2.0 * a + b];
        assert!(largest_gap(model.spectrum().eigenvalues(), &expected) < 1e-14, "{gamma}");
        // No one says how the pair is turned, but its plane and its inner products are certain.
        let (pair, both) = (model.scores().first_columns(2), |i: usize, j: usize| {
            (1.0 - b) / 2.0 * [[1.0, 0.0, -1.0, 0.0], [0.0, 1.0, 0.0, -1.0]][i % 2][j] * if i < 2 { 1.0 } else { -1.0 }
        });
        let products = inner_products(&pair);
        assert!(largest_gap(products.as_slice(), gram_of(4, both).as_slice()) < 1e-14, "{gamma}: {products:?}");
        let third = model.scores().column(2);
        let size = ((1.0 - 2.0 * a + b) / 4.0).sqrt();
        assert!(largest_gap(&third, &[size, -size, size, -size]) < 1e-10, "{gamma}: {third:?}");
    }
    Ok(())
}

// P17
#[test]
fn equal_variances_leave_the_space_certain() -> Result<()> {
    let x = Points::from_fn(8, 4, |i, j| if i / 2 == j { if i % 2 == 0 { 1.0 } else { -1.0 } } else { 0.0 });
    for route in ROUTES {
        let model = Pca::new().route(route).fit(&x)?;
        assert!(largest_gap(model.spectrum().eigenvalues(), &[2.0; 4]) < 1e-14, "{route:?}");
        assert!(orthonormality(&model.axes()) < THRESHOLD, "{route:?}");
        let back = model.reconstruct(&model.transform(&x)?)?;
        assert!(largest_gap(back.as_slice(), x.as_slice()) < 1e-14, "{route:?}");
    }
    Ok(())
}

// P19
#[test]
fn constant_points_have_no_variance_and_nothing_is_nan() -> Result<()> {
    for value in [0.0, 0.1, -7.0, 1e8, 1e-8] {
        let x = Points::from_fn(20, 3, |_, j| value * (j + 1) as f64);
        for route in ROUTES {
            for (standardise, whiten) in [(false, false), (true, false), (false, true), (true, true)] {
                let what = format!("{value} {route:?} {standardise} {whiten}");
                let model = Pca::new().standardise(standardise).whiten(whiten).route(route).fit(&x)?;
                assert_finite_pca(&what, &model, &x);
                assert_eq!(model.spectrum().rank(), 0, "{what}");
                assert_eq!(model.spectrum().total(), 0.0, "{what}");
                assert!(model.spectrum().ratios().iter().all(|r| *r == 0.0), "{what}");
                let scores = model.transform(&x)?;
                assert!(scores.as_slice().iter().all(|z| *z == 0.0), "{what}");
                assert_eq!(model.reconstruct(&scores)?, x, "{what}");
                assert_eq!(model.components(), if whiten { 0 } else { 3 }, "{what}");
            }
        }
        let shared = Pca::new().components(Components::Share(0.9)).fit(&x)?;
        assert_finite_pca("by share", &shared, &x);
    }
    Ok(())
}

// P19
#[test]
fn kernels_of_constant_points_have_no_components() -> Result<()> {
    for value in [0.0, 0.1, -7.0, 1e8, 1e-8] {
        let x = Points::from_fn(20, 3, |_, j| value * (j + 1) as f64);
        for text in FIXED.into_iter().chain(KERNELS.iter().map(|e| e.name)).chain(["gaussian(gamma=scale)"]) {
            let what = format!("{text} of {value}");
            for components in [Components::All, Components::Count(2), Components::Share(0.9)] {
                let model = KernelPca::new(kernel(text)).components(components).fit(&x)?;
                assert_finite_kernel_pca(&what, &model, &x);
                assert_eq!((model.components(), model.spectrum().rank()), (0, 0), "{what}");
                assert!(model.spectrum().ratios().is_empty(), "{what}");
                assert!(!model.definiteness().is_indefinite(), "{what}");
                let scores = model.transform(&normal(5, 3, 1))?;
                assert_eq!((scores.n(), scores.d()), (5, 0), "{what}");
            }
        }
    }
    Ok(())
}

// P19
#[test]
fn a_constant_column_is_left_as_it_is() -> Result<()> {
    for value in [0.0, 0.1, 1e8 / 3.0, -1e-8] {
        let z = normal(40, 3, 12);
        let x = Points::from_fn(40, 4, |i, j| if j == 2 { value } else { z.row(i)[j.min(2)] + 10.0 });
        for route in ROUTES {
            let model = Pca::new().standardise(true).route(route).fit(&x)?;
            let what = format!("{value} {route:?}");
            assert_finite_pca(&what, &model, &x);
            assert_eq!(model.scale()[2], 1.0, "{what}");
            assert_eq!(model.mean()[2], value, "{what}");
            assert_eq!(model.spectrum().rank(), 3, "{what}");
            assert!((model.spectrum().variances().iter().sum::<f64>() - 3.0).abs() < 1e-12, "{what}");
            assert!(model.notes().iter().any(|n| n.contains("1 of 4 columns")), "{what}");
            let back = model.reconstruct(&model.transform(&x)?)?;
            let gap = largest_gap(&back.column(2), &[value; 40]);
            assert!(gap <= 1e-14 * (1.0 + value.abs()), "{what}: {gap}");
        }
    }
    Ok(())
}

// P19: the squares of such a column are nothing in f64, but the column is not constant.
#[test]
fn a_tiny_column_is_standardised_or_refused() {
    let z = normal(40, 2, 13);
    let mut wrong = Vec::new();
    for unit in [1e-130, 1e-158, 1e-170, 1e-300] {
        let x = Points::from_fn(40, 2, |i, j| z.row(i)[j] * if j == 0 { 1.0 } else { unit });
        for route in ROUTES {
            match Pca::new().standardise(true).route(route).fit(&x) {
                Err(e) if is_range(e.kind()) => {}
                Err(e) => wrong.push(format!("{unit:e} {route:?}: {e}")),
                Ok(model) => {
                    let total: f64 = model.spectrum().variances().iter().sum();
                    if (total - 2.0).abs() > 1e-9 {
                        wrong.push(format!("{unit:e} {route:?}: two unit variances, together {total}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

// P19, P25
#[test]
fn a_kernel_of_standardised_points_does_not_see_the_units_of_columns() -> Result<()> {
    let (x, _) = iris();
    let units = [1.0, 1024.0, 2f64.powi(-30), 2f64.powi(90)];
    let scaled = Points::from_fn(x.n(), 5, |i, j| if j < 4 { x.row(i)[j] * units[j] } else { 0.3 });
    for text in ["gaussian", "linear", "laplacian(gamma=0.2)", "polynomial(coef0=1)", "matern + linear"] {
        let pca = KernelPca::new(kernel(text)).components(4).standardise(true);
        let (base, model) = (pca.fit(&x)?, pca.fit(&scaled)?);
        assert!(model.is_standardised());
        // A column that never changes is as if it were not there, and powers of two change no digit.
        assert!(relative(model.spectrum().eigenvalues(), base.spectrum().eigenvalues()) < 1e-13, "{text}");
        assert!(largest_gap(model.scores().as_slice(), base.scores().as_slice()) < 1e-11, "{text}");
        assert_finite_kernel_pca(text, &model, &scaled);
        let explicit = {
            let pca = Pca::new().standardise(true).fit(&x)?;
            Points::from_fn(x.n(), 4, |i, j| (x.row(i)[j] - pca.mean()[j]) / pca.scale()[j])
        };
        let plain = KernelPca::new(kernel(text)).components(4).fit(&explicit)?;
        assert_eq!(plain.spectrum(), base.spectrum(), "{text}");
        assert_eq!(plain.transform(&explicit)?, base.transform(&x)?, "{text}");
        assert_eq!(plain.squared_errors(&explicit)?, base.squared_errors(&x)?, "{text}");
    }
    Ok(())
}

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
        let gram = KernelPca::new(Kernel::Linear).fit(&x)?.scores();
        assert!(aligned_difference(&pca.transform(&x)?, &gram) < 1e-12, "{route:?}");
    }
    // A model of a Gram matrix takes rows of it.
    let k = naive::gram(&kernel("gaussian(gamma=0.25)"), &x);
    let model = KernelPca::new(Kernel::Linear).components(5).fit_gram(&k)?;
    assert!(largest_gap(model.transform(&k)?.as_slice(), model.scores().as_slice()) < 1e-12);
    let direct = KernelPca::new(kernel("gaussian(gamma=0.25)")).components(5).fit(&x)?;
    assert!(aligned_difference(&model.scores(), &direct.scores()) < 1e-11);
    Ok(())
}

// P20: a score is alpha'k, alpha = u / sqrt(lambda): what rounding does to it goes with 1 / sqrt(lambda), not worse.
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

// P23
#[test]
fn cosine_is_the_cosine_and_positive() -> Result<()> {
    let k = Kernel::Cosine;
    assert!((k.eval(&[1.0, 0.0], &[3.0, 0.0]) - 1.0).abs() < 1e-15);
    assert!(k.eval(&[1.0, 0.0], &[0.0, 2.0]).abs() < 1e-15);
    assert!((k.eval(&[1.0, 2.0], &[-2.0, -4.0]) + 1.0).abs() < 1e-15);
    assert_eq!(k.eval(&[0.0, 0.0], &[1.0, 2.0]), 0.0, "the zero vector has no direction");
    let mut x = normal(60, 3, 14);
    x.row_mut(7).fill(0.0);
    assert!(k.is_psd());
    let report = diagnose::check_kernel(&k, &x, &Exec::new())?;
    assert!(report.holds() && report.gram.largest > 0.0, "{report:?}");
    // Only directions count.
    let stretched = Points::from_fn(60, 3, |i, j| x.row(i)[j] * (1 + i) as f64);
    let (a, b) = (KernelPca::new(k.clone()).fit(&x)?, KernelPca::new(k).fit(&stretched)?);
    assert!(relative(a.spectrum().eigenvalues(), &b.spectrum().eigenvalues()[..3]) < 1e-12);
    Ok(())
}

// P23
#[test]
fn formulas_are_what_they_say() {
    let (x, y) = ([1.0, -2.0, 0.5], [0.0, 1.0, 2.5]);
    let (d2, l1, dot) = (14.0f64, 6.0f64, -0.75f64);
    for (text, expected) in [
        ("gaussian(gamma=0.3)", (-0.3 * d2).exp()),
        ("gaussian(over_sigma2=5)", (-d2 / 5.0).exp()),
        ("gaussian(over_2sigma2=5)", (-d2 / 10.0).exp()),
        ("laplacian(gamma=0.3)", (-0.3 * l1).exp()),
        ("matern(nu=1/2, length=2)", (-d2.sqrt() / 2.0).exp()),
        ("rq(alpha=2, length=3)", (1.0 + d2 / 36.0).powi(-2)),
        ("sigmoid(gamma=2, coef0=1)", (2.0 * dot + 1.0).tanh()),
        ("poly(gamma=2, coef0=1, degree=3)", (2.0 * dot + 1.0).powi(3)),
        ("linear", dot),
    ] {
        assert!((kernel(text).eval(&x, &y) / expected - 1.0).abs() < 1e-14, "{text}");
    }
}

fn not_finite<T: Real>(x: &Points<T>, row: usize, column: usize) {
    let check = |what: &str, kind: &ErrorKind| match kind {
        ErrorKind::NotFinite { row: r, column: c, value, .. } => {
            assert_eq!((*r, *c, value.is_finite()), (row, column, false), "{what}");
        }
        other => panic!("{what}: {other:?}"),
    };
    for route in ROUTES {
        check("pca", Pca::new().route(route).fit(x).expect_err("not finite").kind());
    }
    for entry in KERNELS {
        check(entry.name, KernelPca::new(kernel(entry.name)).fit(x).expect_err("not finite").kind());
    }
    check("moments", Moments::of(x).expect_err("not finite").kind());
    check("k-means", KMeans::new(2).fit(x).expect_err("not finite").kind());
    check("bound", Bound::new(&Kernel::Linear, x).expect_err("not finite").kind());
    let fine = normal(10, 3, 15);
    let pca = Pca::new().fit(&fine).expect("finite points");
    check("scores", pca.transform(x).expect_err("not finite").kind());
    check("errors", pca.squared_errors(x).expect_err("not finite").kind());
    check("reconstruction", pca.reconstruct(x).expect_err("not finite").kind());
    let gaussian = KernelPca::new(kernel("gaussian")).fit(&fine).expect("finite points");
    check("kernel scores", gaussian.transform(x).expect_err("not finite").kind());
}

// P24
#[test]
fn points_that_are_not_finite_are_refused_with_their_place() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut x = normal(10, 3, 16);
        x.row_mut(6)[2] = bad;
        x.row_mut(8)[0] = bad;
        not_finite(&x, 6, 2);
        not_finite(&to_f32(&x), 6, 2);
        let message = Pca::new().fit(&x).expect_err("not finite").to_string();
        assert!(message.contains("row 6, column 2"), "{message}");
    }
}

// P24
#[test]
fn kernel_values_that_are_not_finite_are_refused_with_their_place() {
    let place = |e: &mercer::Error| match *e.kind() {
        ErrorKind::NotFinite { row, column, .. } => (row, column),
        ref other => panic!("{other:?}"),
    };
    let pca = KernelPca::new(Kernel::Linear);
    let mut gram = gram_of(6, |i, j| if i == j { 1.0 } else { 0.1 });
    gram.row_mut(4)[3] = f64::NAN;
    let error = pca.fit_gram(&gram).expect_err("NaN");
    assert_eq!(place(&error), (4, 3));
    assert!(error.to_string().contains("Gram matrix"), "{error}");
    assert_eq!(place(&diagnose::check_gram(&gram, &Exec::new()).expect_err("NaN")), (4, 3));

    let x = Points::from_fn(6, 1, |i, _| i as f64);
    let bad = |a: f64, b: f64| if (a, b) == (2.0, 5.0) || (a, b) == (5.0, 2.0) { f64::INFINITY } else { a * b };
    assert_eq!(place(&pca.fit_fn(&x, move |a, b| bad(a[0], b[0])).expect_err("infinite")), (2, 5));
    // A function that fails on new points only.
    let model = pca.fit_fn(&x, |a, b| if a[0] > 10.0 { f64::NAN } else { a[0] * b[0] }).expect("finite so far");
    let new = Points::from_rows(&[[1.0], [2.0], [11.0]]);
    assert_eq!(place(&model.transform(&new).expect_err("NaN")), (2, 0));
    assert_eq!(place(&model.squared_errors(&new).expect_err("NaN")), (2, 0));

    // A formula that leaves the range.
    let x = Points::from_rows(&[[1.0], [2.0], [1e60]]);
    assert_eq!(place(&KernelPca::new(Kernel::polynomial(3, 0.0)).fit(&x).expect_err("infinite")), (2, 2));
    let model = KernelPca::new(Kernel::polynomial(3, 0.0)).fit(x.view().slice(0, 2)).expect("small");
    assert_eq!(place(&model.transform(&Points::from_rows(&[[1e110]])).expect_err("infinite")), (0, 0));
}

fn finite_or_refused(what: &str, values: Result<Vec<f64>>) -> Option<String> {
    match values {
        Ok(values) => values.iter().find(|v| !v.is_finite()).map(|bad| format!("{what}: {bad}")),
        Err(e) if is_range(e.kind()) => None,
        Err(e) => Some(format!("{what}: {e}")),
    }
}

// P24: the kernel of a new point with itself may leave the range though none with the fitted points does.
#[test]
fn errors_of_far_points_are_finite_or_refused() -> Result<()> {
    let x = normal(10, 1, 17);
    let new = Points::from_rows(&[[1e160]]);
    let flat = Pca::new().components(1).fit(&normal(10, 2, 17))?;
    let linear = KernelPca::new(Kernel::Linear).fit(&x)?;
    let own = KernelPca::new(Kernel::Linear)
        .fit_fn(&x, |a, b| if a[0] > 9.0 && b[0] > 9.0 { f64::NAN } else { a[0] * b[0] })?;
    let wrong: Vec<String> = [
        finite_or_refused("pca", flat.squared_errors(&Points::from_rows(&[[1e160, 1e160]]))),
        finite_or_refused("linear", linear.squared_errors(&new)),
        finite_or_refused("linear, norms", linear.centred_norms(&new)),
        finite_or_refused("a function", own.squared_errors(&Points::from_rows(&[[10.0]]))),
    ]
    .into_iter()
    .flatten()
    .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

// P24
#[test]
fn scores_of_far_points_are_finite_or_refused() -> Result<()> {
    let x = map(&normal(10, 2, 18), |v| v * 1e-3);
    let model = Pca::new().whiten(true).fit(&x)?;
    for size in [1e300, 1e307, f64::MAX] {
        let scores = model.transform(&Points::from_rows(&[[size, -size]])).map(Points::into_vec);
        assert_eq!(finite_or_refused(&format!("{size:e}"), scores), None);
    }
    Ok(())
}

// P24
#[test]
fn features_that_are_not_finite_are_refused_with_their_place() -> Result<()> {
    let place = |e: &mercer::Error| match *e.kind() {
        ErrorKind::NotFinite { what: "embedded points", row, column, .. } => (row, column),
        ref other => panic!("{other:?}"),
    };
    let root = Embedding::new(2, |x| vec![x[0], x[0].sqrt()]);
    let x = Points::from_rows(&[[1.0], [4.0], [-1.0], [9.0]]);
    assert_eq!(place(&Pca::new().embed(root.clone()).fit(&x).expect_err("the root of -1")), (2, 1));
    let model = Pca::new().embed(root).fit(x.view().slice(0, 2))?;
    assert_eq!(place(&model.transform(&x).expect_err("the root of -1")), (2, 1));
    assert_eq!(place(&model.squared_errors(&x).expect_err("the root of -1")), (2, 1));
    let huge = Points::from_rows(&[[1.0], [1e200]]);
    assert_eq!(place(&Pca::new().embed(Embedding::monomials(2)).fit(&huge).expect_err("infinite")), (1, 0));
    let wrong = Pca::new().embed(Embedding::new(3, |x| vec![x[0]; 2])).fit(&x).expect_err("two, not three");
    assert!(matches!(wrong.kind(), ErrorKind::Shape { found: 2, expected: 3, .. }), "{wrong}");
    let none = Pca::new().embed(Embedding::new(0, |_| vec![])).fit(&x).expect_err("no features");
    assert!(matches!(none.kind(), ErrorKind::Parameter { .. }), "{none}");
    Ok(())
}

// P25
#[test]
fn the_median_width_goes_with_the_unit() -> Result<()> {
    let (x, _) = iris();
    for text in ["gaussian", "gaussian(gamma=scale)", "laplacian", "matern", "matern(nu=5/2)", "rational_quadratic"] {
        let base = KernelPca::new(kernel(text)).components(5).fit(&x)?;
        for unit in [10.0, 100.0, 1e-6] {
            let scaled = map(&x, |v| v * unit);
            let model = KernelPca::new(kernel(text)).components(5).fit(&scaled)?;
            assert!(relative(&model.spectrum().ratios(), &base.spectrum().ratios()) < 1e-11, "{text} {unit}");
            assert!(aligned_difference(&model.transform(&scaled)?, &base.transform(&x)?) < 1e-9, "{text} {unit}");
        }
        // A power of two changes no bit.
        let model = KernelPca::new(kernel(text)).components(5).fit(&map(&x, |v| v * 1024.0))?;
        assert_eq!(model.spectrum(), base.spectrum(), "{text}");
    }
    Ok(())
}

#[test]
fn plain_gram_matrices_have_the_answers_of_the_book() -> Result<()> {
    let n = 7;
    let pca = KernelPca::new(Kernel::Linear);
    for (what, value) in [("zero", 0.0), ("ones", 1.0), ("constant", 1e300), ("negative", -3.0), ("small", 1e-300)] {
        let gram = gram_of(n, |_, _| value);
        let model = pca.fit_gram(&gram)?;
        assert_eq!((model.components(), model.spectrum().rank()), (0, 0), "{what}");
        assert!(!model.definiteness().is_indefinite(), "{what}");
        assert_finite_kernel_pca(what, &model, &gram);
        let scores = model.transform(&gram)?;
        assert_eq!((scores.n(), scores.d()), (n, 0), "{what}");
    }
    // HIH = H: n - 1 eigenvalues of 1.
    let gram = gram_of(n, |i, j| f64::from(u8::from(i == j)));
    for components in [Components::All, Components::Count(n), Components::Share(1.0)] {
        let model = pca.clone().components(components).fit_gram(&gram)?;
        assert_eq!((model.components(), model.spectrum().rank()), (n - 1, n - 1));
        assert!(largest_gap(model.spectrum().eigenvalues(), &[1.0; 6]) < 1e-14);
        assert!(largest_gap(inner_products(&model.scores()).as_slice(), naive::centred(&gram).as_slice()) < 1e-14);
        assert_finite_kernel_pca("identity", &model, &gram);
    }
    // -I: nothing positive at all.
    let model = pca.fit_gram(&map(&gram, |v| -v))?;
    assert_eq!((model.components(), model.definiteness().negative_count), (0, n - 1));
    assert!((model.definiteness().negative_share() - 1.0).abs() < 1e-12);
    assert_finite_kernel_pca("minus identity", &model, &gram);
    Ok(())
}

#[test]
fn gram_matrices_at_the_ends_of_the_range_are_sound_or_refused() {
    let noise = normal(8, 8, 19);
    let mut wrong = Vec::new();
    for size in [1e308, f64::MAX / 2.0, 1e-308, 1e-315, 1e-320] {
        let two = |i: usize, j: usize| (noise.row(i)[0] * noise.row(j)[0] + noise.row(i)[1] * noise.row(j)[1]) / 10.0;
        for (what, gram, rank) in [
            ("constant", gram_of(8, |_, _| size), 0),
            ("identity", gram_of(8, |i, j| if i == j { size } else { 0.0 }), 7),
            ("rank two", gram_of(8, |i, j| size * two(i.max(j), i.min(j))), 2),
        ] {
            match KernelPca::new(Kernel::Linear).fit_gram(&gram) {
                Err(e) if is_range(e.kind()) => {}
                Err(e) => wrong.push(format!("{what} {size:e}: {e}")),
                Ok(model) => {
                    let faults = faults_of_kernel_pca(&model, &gram);
                    if !faults.is_empty() || model.spectrum().rank() != rank {
                        wrong.push(format!("{what} {size:e}: rank {}, {faults:?}", model.spectrum().rank()));
                    }
                }
            }
            match diagnose::check_gram(&gram, &Exec::new()) {
                Err(e) if is_range(e.kind()) => {}
                Ok(report) if report.holds() => {}
                other => wrong.push(format!("{what} {size:e}, checked: {other:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn gram_matrices_that_are_none_are_refused() {
    let pca = KernelPca::new(Kernel::Linear);
    let mut gram = gram_of(5, |i, j| if i == j { 2.0 } else { 0.5 });
    gram.row_mut(1)[3] = 0.6;
    gram.row_mut(4)[2] = -0.7;
    let error = pca.fit_gram(&gram).expect_err("not symmetric");
    match *error.kind() {
        ErrorKind::NotSymmetric { row, column, value, mirrored } => {
            let worst = if (row, column) == (2, 4) { (value, mirrored) } else { (mirrored, value) };
            assert!((row.min(column), row.max(column)) == (2, 4) && worst == (0.5, -0.7), "{error}");
        }
        ref other => panic!("{other:?}"),
    }
    assert!(error.to_string().contains("K[2][4] = 0.5 but K[4][2] = -0.7"), "{error}");
    assert!(error.help().is_some());
    let report = diagnose::check_gram(&gram, &Exec::new()).expect("a report");
    assert!(!report.is_symmetric && !report.holds() && (report.asymmetry - 0.6).abs() < 1e-15);
    let skew = pca.fit_fn(&normal(5, 2, 20), |x, y| x[0] - y[0]).expect_err("not symmetric");
    assert!(matches!(skew.kind(), ErrorKind::NotSymmetric { .. }), "{skew}");
    // Rounding is not asymmetry.
    gram.row_mut(1)[3] = 0.5 * (1.0 + 1e-12);
    gram.row_mut(4)[2] = 0.5;
    assert!(pca.fit_gram(&gram).is_ok());

    for (n, d) in [(3, 4), (4, 3), (1, 5), (5, 0)] {
        let error = pca.fit_gram(&Points::from_fn(n, d, |_, _| 1.0)).expect_err("not square");
        assert!(matches!(error.kind(), ErrorKind::Shape { found, expected, .. } if (*found, *expected) == (d, n)));
        assert!(error.to_string().contains("square"), "{error}");
    }
    for n in [0, 1] {
        let error = pca.fit_gram(&gram_of(n, |_, _| 1.0)).expect_err("too few");
        assert!(matches!(error.kind(), ErrorKind::TooFew { what: "points", .. }), "{n}: {error}");
    }
    let model = pca.fit_gram(&gram).expect("symmetric");
    let error = model.transform(&normal(2, 4, 1)).expect_err("four columns, not five");
    assert!(matches!(error.kind(), ErrorKind::Shape { found: 4, expected: 5, .. }), "{error}");
    let error = model.squared_errors(&gram).expect_err("k(x, x) is not known");
    assert!(matches!(error.kind(), ErrorKind::Unsupported { .. }), "{error}");
}

#[test]
fn the_number_of_threads_changes_no_bit_of_pca() -> Result<()> {
    let x = normal(600, 300, 21);
    let wide = normal(300, 600, 22);
    for (x, routes) in [(&x, vec![Route::Auto, Route::Covariance, Route::Gram, Route::Svd]), (&wide, vec![Route::Gram])]
    {
        for route in routes {
            let run = |threads: usize| -> Result<(PcaModel, Points)> {
                let exec = Exec::new().threads(threads);
                let model = Pca::new().route(route).fit_with(x, &exec)?;
                let scores = model.transform_with(x, &exec)?;
                Ok((model, scores))
            };
            let (one, scores) = run(1)?;
            for threads in [2, 7] {
                let (more, other) = run(threads)?;
                assert_eq!(one.to_parts(), more.to_parts(), "{route:?} on {threads} threads");
                assert_eq!(bits(one.axes().as_slice()), bits(more.axes().as_slice()), "{route:?} on {threads} threads");
                assert_eq!(bits(scores.as_slice()), bits(other.as_slice()), "{route:?} on {threads} threads");
            }
        }
    }
    Ok(())
}

#[test]
fn the_number_of_threads_changes_no_bit_of_kernel_pca() -> Result<()> {
    let x = normal(600, 5, 23);
    for text in ["gaussian", "sigmoid", "normalised(polynomial(coef0=1)) + linear"] {
        let run = |threads: usize| {
            let exec = Exec::new().threads(threads);
            let model = KernelPca::new(kernel(text)).components(40).fit_with(&x, &exec)?;
            let scores = model.transform_with(&x, &exec)?;
            Ok::<_, mercer::Error>((model.to_parts()?, scores))
        };
        let (one, scores) = run(1)?;
        for threads in [2, 7] {
            let (more, other) = run(threads)?;
            assert_eq!(bits(one.weights.as_slice()), bits(more.weights.as_slice()), "{text} on {threads} threads");
            assert_eq!(one, more, "{text} on {threads} threads");
            assert_eq!(bits(scores.as_slice()), bits(other.as_slice()), "{text} on {threads} threads");
        }
    }
    Ok(())
}

#[test]
fn the_number_of_threads_changes_no_bit_of_a_given_gram_matrix() -> Result<()> {
    let gram = naive::gram(&kernel("laplacian(gamma=0.4)"), &normal(600, 2, 24));
    let run = |threads: usize| {
        let exec = Exec::new().threads(threads);
        KernelPca::new(Kernel::Linear).components(20).fit_gram_with(&gram, &exec)?.to_parts()
    };
    let one = run(1)?;
    assert!(one == run(2)? && one == run(7)?);
    Ok(())
}

#[test]
fn the_number_of_threads_changes_no_bit_of_moments_and_clusters() -> Result<()> {
    let x = normal(20_000, 5, 25);
    let moments = |threads: usize| Moments::of_with(&x, &Exec::new().threads(threads));
    let one = moments(1)?;
    assert!(one == moments(2)? && one == moments(7)?);
    let x = normal(600, 3, 26);
    for seed in [0, 5] {
        let clusters =
            |threads: usize| KMeans::new(5).restarts(9).fit_with(&x, &Exec::new().threads(threads).seed(seed));
        let one = clusters(1)?;
        for threads in [2, 7] {
            let more = clusters(threads)?;
            assert_eq!(one, more);
            assert_eq!(bits(one.centres.as_slice()), bits(more.centres.as_slice()));
        }
    }
    Ok(())
}

#[test]
fn what_does_not_fit_the_memory_is_refused_before_it_is_tried() {
    let memory = |e: mercer::Error| match e.kind() {
        ErrorKind::Memory { needed, budget, .. } => {
            assert!(*needed > u128::from(*budget) && e.help().is_some(), "{e}");
            e.to_string()
        }
        other => panic!("{other:?}"),
    };
    // C(109, 10) monomials.
    let phi = Embedding::monomials(10);
    assert_eq!(phi.features(100), Some(42_634_215_112_710));
    let pca = Pca::new().embed(phi);
    let message = memory(pca.fit(&normal(3, 100, 27)).expect_err("too many features"));
    assert!(message.contains("42634215112710 features"), "{message}");
    memory(pca.plan(3, 100, &Exec::new()).expect_err("too many features"));

    let gaussian = KernelPca::new(kernel("gaussian"));
    let message = memory(gaussian.plan(1_000_000, 10, &Exec::new()).expect_err("8 TB and more"));
    assert!(message.contains("1000000 points"), "{message}");
    assert!(gaussian.plan(1000, 10, &Exec::new()).is_ok());
    memory(gaussian.fit_with(&normal(600, 2, 1), &Exec::new().memory(1_000_000)).expect_err("1 MB"));
    memory(
        KernelPca::new(Kernel::Linear)
            .fit_gram_with(&gram_of(100, |_, _| 1.0), &Exec::new().memory(1000))
            .expect_err("1 kB"),
    );
    memory(
        diagnose::check_kernel(&kernel("linear"), &normal(600, 2, 1), &Exec::new().memory(1_000_000))
            .expect_err("1 MB"),
    );
    for route in ROUTES {
        let pca = Pca::new().route(route);
        memory(pca.plan(1_000_000_000, 1_000_000, &Exec::new()).expect_err("too large"));
        memory(pca.fit_with(&normal(100, 100, 1), &Exec::new().memory(1000)).expect_err("1 kB"));
    }
}

#[test]
fn no_number_is_made_up_for_features_that_cannot_be_counted() {
    let pca = Pca::new().embed(Embedding::monomials(2000));
    let error = pca.plan(3, 100_000, &Exec::new()).expect_err("more than 2^128 features");
    assert!(matches!(error.kind(), ErrorKind::Memory { .. }), "{error}");
    assert!(!error.to_string().contains(&u128::MAX.to_string()), "{error}");
}

#[test]
fn sizes_beyond_all_measure_are_refused_as_well() {
    for size in [1 << 40, 1 << 62, usize::MAX] {
        for route in ROUTES {
            for (n, d) in [(size, 3), (3, size), (size, size)] {
                // What is refused for its memory is fine, and so is a plan that fits; only a panic is not.
                let plan = Pca::new().route(route).plan(n, d, &Exec::new());
                assert!(plan.is_err() || plan.is_ok_and(|p| p.bytes <= 8_000_000_000), "{route:?} {n} {d}");
            }
        }
        assert!(KernelPca::new(Kernel::Linear).plan(size, 3, &Exec::new()).is_err());
        assert!(Pca::new().embed(Embedding::monomials(3)).plan(10, size, &Exec::new()).is_err());
    }
}

#[test]
fn cancelled_work_stops() -> Result<()> {
    let flag = Arc::new(AtomicBool::new(true));
    let exec = Exec::new().cancel(flag.clone());
    let x = normal(100, 4, 28);
    let model = Pca::new().fit(&x)?;
    let gaussian = KernelPca::new(kernel("gaussian"));
    let fitted = gaussian.fit(&x)?;
    let gram = naive::gram(&Kernel::Linear, &x);
    let mut errors = vec![
        ("kernel pca", gaussian.fit_with(&x, &exec).expect_err("cancelled")),
        ("gram", gaussian.fit_gram_with(&gram, &exec).expect_err("cancelled")),
        ("scores", model.transform_with(&x, &exec).expect_err("cancelled")),
        ("kernel scores", fitted.transform_with(&x, &exec).expect_err("cancelled")),
        ("moments", Moments::of_with(&x, &exec).expect_err("cancelled")),
        ("k-means", KMeans::new(2).fit_with(&x, &exec).expect_err("cancelled")),
        ("check", diagnose::check_kernel(&Kernel::Linear, &x, &exec).expect_err("cancelled")),
        ("check", diagnose::check_gram(&gram, &exec).expect_err("cancelled")),
    ];
    for route in ROUTES {
        errors.push(("pca", Pca::new().route(route).fit_with(&x, &exec).expect_err("cancelled")));
    }
    for (what, error) in errors {
        assert_eq!(*error.kind(), ErrorKind::Cancelled, "{what}");
    }
    flag.store(false, Ordering::Relaxed);
    assert!(gaussian.fit_with(&x, &exec).is_ok(), "a flag that is taken back");
    // Cancelled on the way, by the first point that is embedded.
    let mine = flag.clone();
    let phi = Embedding::new(1, move |x| {
        mine.store(true, Ordering::Relaxed);
        vec![x[0]]
    });
    let error = Pca::new().embed(phi).fit_with(&x, &exec).expect_err("cancelled on the way");
    assert_eq!(*error.kind(), ErrorKind::Cancelled);
    Ok(())
}

#[test]
fn huge_points_are_refused_rather_than_infinite() {
    for size in [1e160, 1e200, 1e300, 1e308] {
        let x = map(&normal(12, 3, 29), |v| v.clamp(-1.7, 1.7) * size);
        for route in ROUTES {
            for center in [true, false] {
                let error = Pca::new().center(center).route(route).fit(&x).expect_err("too large");
                assert!(is_range(error.kind()), "{route:?} {size}: {error}");
            }
        }
    }
}

fn sound_or_refused(what: &str, model: Result<KernelPcaModel>, x: &Points) -> Option<String> {
    match model {
        Ok(model) => match faults_of_kernel_pca(&model, x) {
            faults if faults.is_empty() => None,
            faults => Some(format!("{what}: {faults:?}")),
        },
        Err(e) if is_range(e.kind()) => None,
        Err(e) => Some(format!("{what}: {e}")),
    }
}

#[test]
fn kernels_of_huge_points_are_finite_or_refused() {
    let mut wrong = Vec::new();
    for size in [1e160, 1e200, 1e300, 1e308] {
        let x = map(&normal(12, 3, 29), |v| v.clamp(-1.7, 1.7) * size);
        for text in FIXED.into_iter().chain(KERNELS.iter().map(|e| e.name)) {
            wrong.extend(sound_or_refused(&format!("{text} of {size:e}"), KernelPca::new(kernel(text)).fit(&x), &x));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn moments_of_huge_points_are_finite_or_refused() {
    for size in [1e160, 1e200, 1e308] {
        let moments = Moments::of(&map(&normal(12, 3, 29), |v| v.clamp(-1.7, 1.7) * size));
        let numbers = moments.map(|m| {
            let (scatter, about) = (m.scatter(), m.scatter_about_origin());
            [m.mean(), scatter.as_slice().to_vec(), about.as_slice().to_vec()].concat()
        });
        assert_eq!(finite_or_refused(&format!("{size:e}"), numbers), None);
    }
}

#[test]
fn clusters_of_huge_points_are_finite_or_refused() {
    for size in [1e160, 1e200, 1e308] {
        let found = KMeans::new(2).fit(&map(&normal(12, 3, 29), |v| v.clamp(-1.7, 1.7) * size));
        if let Ok(found) = &found {
            assert!(found.labels.contains(&1), "{size:e}: one cluster where two were asked for");
        }
        let numbers = found.map(|f| [vec![f.inertia], f.centres.into_vec()].concat());
        assert_eq!(finite_or_refused(&format!("{size:e}"), numbers), None);
    }
}

#[test]
fn kernels_with_a_huge_weight_are_finite_or_refused() {
    let x = normal(12, 3, 30);
    let mut wrong = Vec::new();
    for weight in [1e300, 1e306, 1e307, 1e308, f64::MAX] {
        for text in ["gaussian", "linear", "cosine"] {
            let what = format!("{weight:e}*{text}");
            wrong.extend(sound_or_refused(&what, KernelPca::new(weight * kernel(text)).fit(&x), &x));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn tiny_points_are_refused_by_pca() {
    for size in [1e-150, 1e-200, 1e-300, 1e-310] {
        let x = map(&normal(12, 3, 31), |v| v * size);
        for route in ROUTES {
            let error = Pca::new().route(route).fit(&x).expect_err("squares are 0");
            assert!(matches!(error.kind(), ErrorKind::Range { .. }), "{route:?} {size}: {error}");
        }
    }
    let x = map(&normal(12, 3, 31), |v| v * 1e-130);
    assert_eq!(Pca::new().fit(&x).expect("squares are numbers").spectrum().rank(), 3);
}

#[test]
fn kernels_do_not_take_tiny_points_for_equal_ones() {
    let z = normal(12, 3, 31);
    let mut wrong = Vec::new();
    for size in [1e-158, 1e-200, 1e-300] {
        let x = map(&z, |v| v * size);
        for text in ["linear", "polynomial", "gaussian", "gaussian(gamma=scale)", "laplacian", "matern", "rq", "cosine"]
        {
            match KernelPca::new(kernel(text)).fit(&x) {
                Err(e) if is_range(e.kind()) => {}
                Err(e) => wrong.push(format!("{text} of {size:e}: {e}")),
                Ok(model) => {
                    let truth = KernelPca::new(kernel(text)).fit(&z).expect("ordinary points");
                    let (found, truth) = (model.spectrum().ratios(), truth.spectrum().ratios());
                    if found.len() != truth.len() || largest_gap(&found, &truth) > 1e-9 {
                        let chosen = model.choices().iter().map(ToString::to_string).collect::<Vec<_>>();
                        wrong.push(format!(
                            "{text} of {size:e}: {} components of {} {chosen:?}",
                            found.len(),
                            truth.len()
                        ));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn too_little_is_refused() {
    let few = |e: mercer::Error, what: &str, found: usize, needed: usize| match *e.kind() {
        ErrorKind::TooFew { what: w, found: f, needed: m } => assert_eq!((w, f, m), (what, found, needed)),
        ref other => panic!("{other:?}"),
    };
    let (none, one, flat) = (normal(0, 3, 1), normal(1, 3, 1), normal(5, 0, 1));
    for route in ROUTES {
        few(Pca::new().route(route).fit(&none).expect_err("none"), "points", 0, 2);
        few(Pca::new().route(route).fit(&one).expect_err("one"), "points", 1, 2);
        few(Pca::new().route(route).fit(&flat).expect_err("flat"), "dimensions", 0, 1);
        few(Pca::new().center(false).route(route).fit(&none).expect_err("none"), "points", 0, 1);
        let alone = Pca::new().center(false).route(route).fit(&one).expect("one point has a direction");
        assert_finite_pca("alone", &alone, &one);
        assert_eq!((alone.components(), alone.spectrum().rank()), (1, 1), "{route:?}");
    }
    for entry in KERNELS {
        let pca = KernelPca::new(kernel(entry.name));
        few(pca.fit(&none).expect_err("none"), "points", 0, 2);
        few(pca.fit(&one).expect_err("one"), "points", 1, 2);
        few(pca.fit(&flat).expect_err("flat"), "dimensions", 0, 1);
    }
    few(Moments::of(&flat).expect_err("flat"), "dimensions", 0, 1);
    few(KMeans::new(1).fit(&none).expect_err("none"), "points", 0, 1);
    let x = normal(5, 3, 1);
    for (k, pca) in [(0, Pca::new().components(0)), (4, Pca::new().components(4))] {
        let error = pca.fit(&x).expect_err("components");
        assert!(matches!(error.kind(), ErrorKind::Parameter { name, .. } if name == "components"), "{k}: {error}");
    }
    for share in [0.0, -0.1, 1.1, f64::NAN] {
        assert!(Pca::new().components(Components::Share(share)).fit(&x).is_err(), "{share}");
        assert!(KernelPca::new(Kernel::Linear).components(Components::Share(share)).fit(&x).is_err(), "{share}");
    }
    for clusters in [0, 6] {
        assert!(KMeans::new(clusters).fit(&x).is_err(), "{clusters}");
    }
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

#[test]
fn other_dimensions_are_refused() -> Result<()> {
    let x = normal(8, 3, 33);
    let shape = |e: mercer::Error| assert!(matches!(e.kind(), ErrorKind::Shape { found: 4, expected: 3, .. }), "{e}");
    let other = normal(2, 4, 1);
    shape(Pca::new().fit(&x)?.transform(&other).expect_err("four, not three"));
    shape(Pca::new().fit(&x)?.reconstruct(&other).expect_err("four, not three"));
    shape(KernelPca::new(kernel("gaussian")).fit(&x)?.transform(&other).expect_err("four, not three"));
    shape(Gram::new(&Bound::new(&Kernel::Linear, &x)?, &other).expect_err("four, not three"));
    shape(Moments::of(&x)?.merge(&Moments::of(&other)?).expect_err("four, not three"));
    Ok(())
}

/// The eigenvalue of (x.y)^degree on the points a and 0 is a^(2 degree) / 2. The square of a is rounded, and the power
/// takes its relative error times the degree.
#[test]
fn high_powers_stay_within_the_radius() -> Result<()> {
    let mut wrong = Vec::new();
    for (a, degree) in [(1.1f64, 10), (1.1, 100), (1.1, 500), (1.01, 3000), (0.99, 10_000), (1.3, 600)] {
        let x = Points::from_rows(&[[a], [0.0]]);
        let model = KernelPca::new(Kernel::polynomial(degree, 0.0)).fit(&x)?;
        let value = model.spectrum().eigenvalues()[0];
        let p = a * a;
        let truth = 0.5 * exact_power(p, a.mul_add(a, -p), degree);
        let (gap, radius) = ((value - truth).abs(), model.certificate().radius(0));
        if gap > radius {
            wrong.push(format!("{a}^{degree}: {:.1} radii from the truth", gap / radius));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

/// (p + e)^degree with about twice the digits of f64.
fn exact_power(p: f64, e: f64, degree: u32) -> f64 {
    let times = |(a, b): (f64, f64), (c, d): (f64, f64)| {
        let high = a * c;
        let low = a.mul_add(c, -high) + (a * d + b * c);
        (high + low, low - ((high + low) - high))
    };
    let (mut result, mut square, mut left) = ((1.0, 0.0), (p, e), degree);
    while left > 0 {
        if left & 1 == 1 {
            result = times(result, square);
        }
        square = times(square, square);
        left >>= 1;
    }
    result.0 + result.1
}

/// (x.y - c)^1, centred, is the linear kernel, whatever c is. But where x.y is near c the entries are small, and their
/// errors are those of the large numbers that they are differences of.
#[test]
fn constants_that_cancel_stay_within_the_radius() -> Result<()> {
    for offset in [1.0, 1e3, 1e6] {
        let x = Points::from_fn(8, 1, |i, _| offset + (i * i + 3 * i) as f64 / 1024.0 / offset);
        let truth = KernelPca::new(Kernel::Linear).fit(&x)?.spectrum().eigenvalues()[0];
        let model = KernelPca::new(Kernel::polynomial(1, -offset * offset)).components(1).fit(&x)?;
        // Where rounding hides the component, none is found, and that is an answer as well.
        let (value, radius) = match model.spectrum().eigenvalues().first() {
            Some(value) => (*value, model.certificate().radius(0)),
            None => (0.0, model.certificate().rounding()),
        };
        let gap = (value - truth).abs();
        assert!(gap <= radius, "{offset:e}: {value:e} {truth:e}, {:.1e} radii from the truth", gap / radius);
    }
    Ok(())
}

#[test]
fn monomials_of_nothing_are_none() {
    let phi = Embedding::monomials(2);
    assert_eq!(phi.features(0), Some(0));
    assert!(phi.map(&[]).is_empty() && phi.names::<&str>(&[]).is_empty());
    let phi = Embedding::monomials_up_to(2, 4.0);
    assert_eq!(phi.map(&[]), [4.0], "the constant alone");
}

#[test]
fn labels_may_be_any_numbers() -> Result<()> {
    let same = Agreement::of(&[3, 3, 1_000_000_007, 5], &[usize::MAX, usize::MAX, 0, 1])?;
    assert_eq!((same.correct, same.adjusted_rand), (4, 1.0));
    Ok(())
}

#[test]
fn an_operator_on_no_columns_gives_none() -> Result<()> {
    let x = normal(10, 2, 34);
    let gram = Gram::new(&Bound::new(&Kernel::Linear, &x)?, &x)?;
    let mut y = Block::zeros(10, 0);
    gram.apply(&Block::zeros(10, 0), &mut y, &Exec::new())?;
    assert_eq!((y.n(), y.b()), (10, 0));
    Ok(())
}

#[test]
fn an_operator_is_its_matrix() -> Result<()> {
    let x = normal(150, 3, 35);
    for text in FIXED {
        let bound = Bound::new(&kernel(text), &x)?;
        let noise = normal(150, 3, 36);
        let v = Block::from_fn(150, 3, |i, j| noise.row(i)[j]);
        for gram in [Gram::new(&bound, &x)?, Gram::new(&bound, &x)?.up_to_centring()] {
            let matrix = gram.to_matrix(&Exec::new())?;
            let mut y = Block::zeros(150, 3);
            gram.apply(&v, &mut y, &Exec::new())?;
            for c in 0..3 {
                for i in 0..150 {
                    let expected: f64 = (0..150).map(|j| matrix.at(i, j) * v.at(j, c)).sum();
                    assert!((y.at(i, c) - expected).abs() < 1e-11 * largest(matrix.as_slice()), "{text}");
                    assert_eq!(matrix.at(i, c), matrix.at(c, i), "{text}: symmetric to the last bit");
                }
            }
        }
    }
    Ok(())
}
