//! Data as it comes: far from the origin, doubled, constant, deficient, flat, with outliers, in odd units, broken.

use crate::common::{map, relative};
use crate::{blobs, dense, kernel, leading, violations};
use mercer::kernel::Bound;
use mercer::testing::matrices::normal;
use mercer::{Components, ErrorKind, ErrorSubject, Kernel, KernelPca, KernelPcaModel, Points, Result};

/// Points on a grid of 1/1024, so that nothing is lost when they are moved by a power of two.
fn on_a_grid(x: &Points) -> Points {
    map(x, |v| (v * 1024.0).round() / 1024.0)
}

#[test]
fn results_do_not_depend_on_the_distance_to_the_origin() -> Result<()> {
    let mut wrong = Vec::new();
    for (n, text) in [
        (650, "gaussian(gamma=0.1)"),
        (1100, "gaussian(gamma=0.1)"),
        (1100, "matern(length=3)"),
        (1100, "rational_quadratic(length=3)"),
        (650, "laplacian(gamma=0.2)"),
        (1100, "linear"),
        (1100, "gaussian(gamma=1e-3) + 0.1*linear"),
        (4100, "gaussian(gamma=0.1)"),
        (4100, "linear"),
    ] {
        let x = on_a_grid(&blobs(n, 4, 5, 61));
        let near = leading(text, 4, &x)?;
        for offset in [1024.0, 1048576.0, 67108864.0] {
            let far = leading(text, 4, &map(&x, |v| v + offset))?;
            for (j, (a, b)) in near.spectrum().eigenvalues().iter().zip(far.spectrum().eigenvalues()).enumerate() {
                let allowed = near.certificate().radius(j) + far.certificate().radius(j);
                if (a - b).abs() > allowed {
                    wrong.push(format!("{text} of {n} moved by {offset}: {j}: {:.2e} {allowed:.2e}", (a - b).abs()));
                }
            }
            let ratio = relative(&[far.spectrum().total()], &[near.spectrum().total()]);
            if ratio > 1e-9 {
                wrong.push(format!("{text} of {n} moved by {offset}: total {ratio:.1e}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

/// Products of points far from the origin have few digits. The components that these allow are found, in f64 if f32 is not
/// accurate enough.
#[test]
fn kernels_of_products_find_all_components_above_rounding() -> Result<()> {
    let z = normal(4200, 5, 62);
    let mut wrong = Vec::new();
    for offset in [10.0, 100.0, 1000.0] {
        let x = Points::from_fn(4200, 5, |i, j| offset + z.row(i)[j] * (1 + j) as f64);
        let few = Points::from_fn(650, 5, |i, j| x.row(i)[j]);
        for text in ["cosine", "polynomial(degree=2, coef0=1)", "polynomial(degree=3, coef0=1)"] {
            // The number of components that the dense route finds for a part of the points.
            let there = KernelPca::new(kernel(text)).components(Components::All).fit(&few)?;
            let clear = there.certificate().rounding() < 1e-7 * there.spectrum().eigenvalues()[3];
            match KernelPca::new(kernel(text)).components(4).fit(&x) {
                Ok(model) if model.components() < 4 && clear => wrong.push(format!("{text} at {offset}: too few")),
                Err(e) if clear => wrong.push(format!("{text} at {offset}: {e}")),
                _ => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

/// If the values have fewer digits than the tolerance requires, the dense route gives components with wide bounds.
#[test]
fn kernels_of_products_far_out_are_fitted_as_the_dense_route_fits_them() -> Result<()> {
    let z = normal(700, 4, 3);
    let mut wrong = Vec::new();
    let x = Points::from_fn(700, 4, |i, j| 1e6 + z.row(i)[j] * (1 + j) as f64);
    for text in ["cosine", "normalised(polynomial(coef0=1))", "polynomial(degree=3)"] {
        let pca = KernelPca::new(kernel(text));
        let truth = pca.clone().components(Components::All).fit(&x)?;
        match pca.components(4).fit(&x) {
            Ok(model) => {
                let allowed = truth.certificate().rounding();
                wrong.extend(
                    violations(&model, truth.spectrum().eigenvalues(), allowed).iter().map(|l| format!("{text}: {l}")),
                );
            }
            Err(e) => wrong.push(format!("{text}: {e}; the dense route finds {} components", truth.components())),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

#[test]
fn every_point_twice_doubles_every_eigenvalue() -> Result<()> {
    for (n, text) in [(350, "gaussian"), (350, "laplacian"), (800, "gaussian"), (350, "polynomial(coef0=1)")] {
        let half = blobs(n, 4, 5, 63);
        let bound = Bound::new(&kernel(text), &half)?.kernel().clone();
        let truth = KernelPca::new(bound.clone()).components(Components::All).fit(&half)?;
        let doubled: Vec<f64> = truth.spectrum().eigenvalues().iter().map(|v| 2.0 * v).collect();
        for order in [|i: usize, _: usize| i / 2, |i: usize, n: usize| i % n] {
            let x = Points::from_fn(2 * n, 4, |i, j| half.row(order(i, n))[j]);
            let model = KernelPca::new(bound.clone()).components(5).fit(&x)?;
            let wrong = violations(&model, &doubled, 100.0 * f64::EPSILON * doubled[0]);
            assert!(wrong.is_empty(), "{text} of twice {n}: {wrong:#?}");
        }
    }
    Ok(())
}

#[test]
fn nine_tenths_of_equal_points_do_no_harm() -> Result<()> {
    let z = blobs(1600, 4, 5, 64);
    for n in [700, 1600] {
        let x = Points::from_fn(n, 4, |i, j| if i % 10 == 0 { z.row(i)[j] } else { 0.25 });
        for text in ["gaussian", "laplacian", "linear", "polynomial(coef0=1)", "cosine"] {
            let model = leading(text, 6, &x)?;
            let c = model.certificate();
            assert!(c.worst_residual() <= 1e-6, "{text}: {}", c.worst_residual());
            if n == 700 {
                let truth = dense(&model, &x)?;
                let own = 30.0 * f64::EPSILON * truth.spectrum().eigenvalues()[0];
                let wrong = violations(&model, truth.spectrum().eigenvalues(), own);
                assert!(wrong.is_empty(), "{text}: {wrong:#?}");
            }
        }
    }
    Ok(())
}

#[test]
fn one_far_outlier_is_found_or_within_the_bound() -> Result<()> {
    let mut wrong = Vec::new();
    for (n, far) in [(650, 1e3), (1100, 1e6), (1700, 1e9), (4100, 1e5)] {
        let z = blobs(n, 4, 5, 65);
        let x = Points::from_fn(n, 4, |i, j| if i == 17 { far } else { z.row(i)[j] });
        for text in ["gaussian(gamma=0.1)", "linear", "laplacian(gamma=0.1)", "rational_quadratic(length=2)"] {
            let model = leading(text, 5, &x)?;
            let c = model.certificate();
            if c.worst_residual() > 1e-6 {
                wrong.push(format!("{text}, {n}: {}", c.worst_residual()));
            }
            if n < 1500 {
                let truth = dense(&model, &x)?;
                let own = 30.0 * f64::EPSILON * truth.spectrum().eigenvalues()[0];
                let found = violations(&model, truth.spectrum().eigenvalues(), own);
                wrong.extend(found.into_iter().map(|f| format!("{text}, {n}, {far:e}: {f}")));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

/// A few nearly equal points far from all others have an eigenvalue of about their number, and may be far from all pivots.
/// It is found, or it is within the bound of the certificate.
#[test]
fn a_tiny_far_group_is_found_or_within_the_bound() -> Result<()> {
    let mut wrong = Vec::new();
    for (n, group, k) in [(1700, 4, 12), (1700, 12, 5), (2400, 25, 8), (4200, 9, 10), (4200, 40, 3)] {
        let z = normal(n, 3, 66);
        // A spectrum that is nearly flat around the eigenvalue of the group.
        let x = Points::from_fn(n, 3, |i, j| if i < group { 50.0 + 0.01 * z.row(i)[j] } else { 2.0 * z.row(i)[j] });
        let pca = KernelPca::new(kernel("gaussian(gamma=2)"));
        let model = pca.clone().components(k).fit(&x)?;
        let better = pca.components(k + 12).tolerance(1e-10).fit(&x)?;
        let found = violations(&model, better.spectrum().eigenvalues(), better.certificate().rounding());
        wrong.extend(found.into_iter().map(|f| format!("{group} of {n}, {k}: {f}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

#[test]
fn constant_data_has_no_components() -> Result<()> {
    let mut wrong = Vec::new();
    for n in [650, 1600] {
        let x = Points::from_fn(n, 3, |_, j| 0.1 + j as f64);
        for text in ["linear", "gaussian", "polynomial(coef0=1)", "cosine", "laplacian", "matern", "gaussian + linear"]
        {
            let few = Points::from_fn(10, 3, |_, j| 0.1 + j as f64);
            assert_eq!(KernelPca::new(kernel(text)).components(4).fit(&few)?.components(), 0, "{text} of ten points");
            match KernelPca::new(kernel(text)).components(4).fit(&x) {
                Ok(model) if model.components() == 0 => {
                    if let Err(e) = model.to_parts().and_then(KernelPcaModel::from_parts) {
                        wrong.push(format!("{text} of {n}: {e}"));
                    }
                }
                Ok(model) => wrong.push(format!("{text} of {n}: {} components", model.components())),
                Err(e) => wrong.push(format!("{text} of {n}: {e}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

#[test]
fn data_of_small_rank_has_as_many_components() -> Result<()> {
    let mut wrong = Vec::new();
    for n in [650, 1100, 1700, 4200] {
        let z = normal(n, 2, 67);
        for (rank, k) in [(1, 1), (1, 8), (2, 2), (2, 30)] {
            let x = Points::from_fn(n, 6, |i, j| {
                (0..rank).map(|r| z.row(i)[r] * (1.0 + (j * (r + 1)) as f64).sin()).sum::<f64>() + 3.0
            });
            match KernelPca::new(Kernel::linear()).components(k).fit(&x) {
                Ok(model) => {
                    if model.components() != rank.min(k)
                        || model.spectrum().discarded().abs() > 1e-9 * model.spectrum().total()
                    {
                        wrong.push(format!("rank {rank} of {n}, {k}: {} components", model.components()));
                    }
                }
                Err(e) => wrong.push(format!("rank {rank} of {n}, {k}: {e}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

#[test]
fn a_narrow_kernel_has_a_flat_spectrum() -> Result<()> {
    // Points on a grid, and a kernel so narrow that K = I to all digits.
    for (n, k) in [(650, 3), (1700, 10), (4200, 5)] {
        let x = Points::from_fn(n, 2, |i, j| if j == 0 { (i % 80) as f64 } else { (i / 80) as f64 });
        let model = leading("gaussian(gamma=1000)", k, &x)?;
        assert_eq!(model.components(), k);
        let wrong = violations(&model, &vec![1.0; n - 1], 0.0);
        assert!(wrong.is_empty(), "{n}: {wrong:#?}");
        assert!((model.spectrum().total() - (n - 1) as f64).abs() < 1e-9, "{n}: {}", model.spectrum().total());
    }
    Ok(())
}

#[test]
fn a_wide_kernel_is_the_linear_one() -> Result<()> {
    // exp(-g d2) - 1 = -g d2 + ..., and centred that is 2 g x.y.
    let gamma = 1e-9;
    for n in [650, 1100, 4200] {
        let x = blobs(n, 4, 5, 68);
        let wide = leading(&format!("gaussian(gamma={gamma:e})"), 4, &x)?;
        let linear = leading("linear", 4, &x)?;
        let scaled: Vec<f64> = wide.spectrum().eigenvalues().iter().map(|v| v / (2.0 * gamma)).collect();
        let ratio = relative(&scaled, linear.spectrum().eigenvalues());
        assert!(ratio < 1e-5, "{n}: {ratio:e}");
    }
    Ok(())
}

#[test]
fn whole_numbers_and_other_units_change_nothing() -> Result<()> {
    let z = blobs(1100, 4, 5, 69);
    let x = map(&z, |v| (v * 8.0).round());
    for (text, scaled) in
        [("gaussian(gamma=0.0009765625)", "gaussian(gamma={})"), ("laplacian(gamma=0.03125)", "laplacian(gamma={})")]
    {
        // In f64 alone: the range of f32 is smaller.
        let exact = |text: &str, x: &Points| KernelPca::new(kernel(text)).components(5).tolerance(1e-10).fit(x);
        let plain = exact(text, &x)?;
        for exponent in [-80, -20, 20, 80] {
            let unit = 2f64.powi(exponent);
            let gamma = if text.starts_with('g') { 2f64.powi(-10 - 2 * exponent) } else { 2f64.powi(-5 - exponent) };
            let model = exact(&scaled.replace("{}", &format!("{gamma:e}")), &map(&x, |v| v * unit))?;
            // Powers of two change no digit.
            assert_eq!(model.spectrum().eigenvalues(), plain.spectrum().eigenvalues(), "{text} times 2^{exponent}");
        }
    }
    Ok(())
}

#[test]
fn tiny_and_huge_points_are_fitted_or_refused_and_the_certificate_keeps_its_scale() -> Result<()> {
    let mut wrong = Vec::new();
    for n in [650, 1700] {
        let x = normal(n, 30, 70);
        // In f64 alone: the range of f32 is smaller.
        let plain = KernelPca::new(Kernel::linear()).components(3).tolerance(1e-10).fit(&x)?;
        for exponent in [-430, -400, -330, -270, -100, 100, 240, 330, 430] {
            let scale = 2f64.powi(exponent);
            let model =
                match KernelPca::new(Kernel::linear()).components(3).tolerance(1e-10).fit(&map(&x, |v| v * scale)) {
                    Ok(model) => model,
                    Err(e) => {
                        let said = matches!(e.kind(), ErrorKind::Range { .. });
                        if !said || e.to_string().contains("inf") {
                            wrong.push(format!("{n} points times 2^{exponent}: {e}"));
                        }
                        continue;
                    }
                };
            let (a, b) = (model.certificate(), plain.certificate());
            for j in 0..3 {
                let (found, expected) = (a.radius(j) / scale / scale, b.radius(j));
                if found < 0.5 * expected {
                    wrong.push(format!("{n} points times 2^{exponent}: radius {j} is {found:e} for {expected:e}"));
                }
            }
            if a.missed() / scale / scale < 0.5 * b.missed() {
                wrong.push(format!("{n} points times 2^{exponent}: missed {:e}", a.missed()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

#[test]
fn a_weight_changes_nothing_but_the_scale() -> Result<()> {
    let x = blobs(650, 4, 5, 71);
    let plain = leading("gaussian(gamma=0.1)", 4, &x)?;
    let mut wrong = Vec::new();
    for exponent in [-900, -600, -200, 200, 480] {
        let weight = 2f64.powi(exponent);
        let model = match KernelPca::new(weight * kernel("gaussian(gamma=0.1)")).components(4).fit(&x) {
            Ok(model) => model,
            Err(e) if matches!(e.kind(), ErrorKind::Range { .. }) => continue,
            Err(e) => {
                wrong.push(format!("2^{exponent}: {e}"));
                continue;
            }
        };
        let scaled: Vec<f64> = model.spectrum().eigenvalues().iter().map(|v| v / weight).collect();
        if relative(&scaled, plain.spectrum().eigenvalues()) > 1e-11 {
            wrong.push(format!("2^{exponent}: eigenvalues {scaled:?}"));
        }
        let (found, expected) = (model.certificate().rounding() / weight, plain.certificate().rounding());
        if found < 0.5 * expected {
            wrong.push(format!("2^{exponent}: rounding {found:e} for {expected:e}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

#[test]
fn values_that_are_not_finite_are_named() {
    for n in [650, 1700, 4200] {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let z = normal(n, 3, 72);
            let x = Points::from_fn(n, 3, |i, j| if (i, j) == (n - 7, 1) { bad } else { z.row(i)[j] });
            for text in ["gaussian", "linear", "laplacian + cosine"] {
                let error = KernelPca::new(kernel(text)).components(3).fit(&x).expect_err("not finite");
                match error.kind() {
                    ErrorKind::NotFinite { what: ErrorSubject::Points, row, column: 1, .. } => assert_eq!(*row, n - 7),
                    other => panic!("{other:?}"),
                }
            }
        }
    }
}

/// One point is so large that its kernel with itself overflows: the message names that point.
#[test]
fn an_overflow_is_named_with_its_place() {
    let mut wrong = Vec::new();
    for n in [650, 1700] {
        let z = normal(n, 3, 73);
        for at in [5, n - 7] {
            let x = Points::from_fn(n, 3, |i, j| if i == at { 1e60 } else { z.row(i)[j] });
            for text in ["polynomial(degree=4)", "polynomial(degree=3) + gaussian"] {
                let error = KernelPca::new(kernel(text)).components(4).fit(&x).map(|m| m.certificate().to_string());
                match error {
                    Ok(model) => wrong.push(format!("{text} of {n}: {model}")),
                    Err(e) => match e.kind() {
                        ErrorKind::NotFinite { what: ErrorSubject::GramMatrix, row, column, .. }
                            if *row == at || *column == at => {}
                        ErrorKind::Range { .. } => {}
                        _ => wrong.push(format!("{text} of {n}, point {at}: {e}")),
                    },
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Numbers that leave the range of f32 and not that of f64.
#[test]
fn kernels_that_overflow_in_f32_alone_are_fitted_in_f64() -> Result<()> {
    let x = map(&normal(4200, 10, 74), |v| 100.0 * v);
    let mut wrong = Vec::new();
    for text in [
        "normalised(polynomial(degree=10, coef0=1))",
        "1e-30*polynomial(degree=8)",
        "1e-20*polynomial(degree=8) + gaussian",
        "normalised(polynomial(degree=9, coef0=1) + linear) * cosine",
        "polynomial(degree=6)",
    ] {
        // The same kernel on fewer points is no problem.
        let few = Points::from_fn(650, 10, |i, j| x.row(i)[j]);
        leading(text, 3, &few)?;
        if let Err(e) = KernelPca::new(kernel(text)).components(3).fit(&x) {
            wrong.push(format!("{text}: {e}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}
