//! Pre-images (MATHS.md, M18): against the textbook in plain loops, and where plain loops go wrong.
#![allow(missing_docs)]

mod common;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use common::{bits, iris, largest, largest_gap, map, to_f32};
use mercer::testing::matrices::{POINTS, normal, points};
use mercer::testing::naive;
use mercer::{AnyModel, ErrorKind, Exec, Gamma, Kernel, KernelPca, KernelPcaModel, Pca, Points, PreImages, Result};

fn gaussian(gamma: f64) -> Kernel {
    Kernel::gaussian(Gamma::Value(gamma))
}

fn fit(x: &Points, gamma: f64, k: usize) -> Result<KernelPcaModel> {
    KernelPca::new(gaussian(gamma)).components(k).fit(x)
}

fn found(model: &KernelPcaModel, x: &Points) -> Result<PreImages> {
    model.preimages(x, &Exec::new())
}

/// g = A z + 1/n of one point, from Jacobi's eigenvectors and scores with every centring term.
fn weights(kernel: &Kernel, x: &Points, new: &[f64], k: usize) -> Vec<f64> {
    let (values, vectors) = naive::eigen(&naive::centred(&naive::gram(kernel, x)));
    let z = naive::project(kernel, x, new, k);
    let of = |i: usize| (0..k).map(|j| vectors.row(j)[i] / values[j].sqrt() * z[j]).sum::<f64>() + 1.0 / x.n() as f64;
    (0..x.n()).map(of).collect()
}

/// sum_i g_i k(y, x_i).
fn objective(kernel: &Kernel, x: &Points, g: &[f64], y: &[f64]) -> f64 {
    x.rows().zip(g).map(|(x, g)| g * kernel.eval(y, x)).sum()
}

/// The fixed point as Mika et al. print it.
fn mika(kernel: &Kernel, x: &Points, g: &[f64], start: &[f64], steps: usize) -> Vec<f64> {
    let mut y = start.to_vec();
    for _ in 0..steps {
        let w: Vec<f64> = x.rows().zip(g).map(|(x, g)| g * kernel.eval(&y, x)).collect();
        let sum: f64 = w.iter().sum();
        y = (0..x.d()).map(|j| x.rows().zip(&w).map(|(x, w)| w * x[j]).sum::<f64>() / sum).collect();
    }
    y
}

/// Every fifth row of Iris.
fn few() -> Points {
    let (x, _) = iris();
    Points::from_fn(30, 4, |i, j| x.row(5 * i)[j])
}

/// A circle with noise.
fn circle(n: usize, noise: f64) -> Points {
    let e = normal(n, 2, 11);
    Points::from_fn(n, 2, |i, j| {
        let angle = std::f64::consts::TAU * i as f64 / n as f64;
        (if j == 0 { angle.cos() } else { angle.sin() }) + noise * e.row(i)[j]
    })
}

#[test]
fn pre_images_are_those_of_plain_loops() -> Result<()> {
    let (x, kernel) = (few(), gaussian(0.3));
    let new = map(&few(), |v| v + 0.2);
    let model = fit(&x, 0.3, 3)?;
    let found = found(&model, &new)?;
    assert_eq!(found.converged(), new.n(), "{:?}", found.steps());
    for i in 0..new.n() {
        let g = weights(&kernel, &x, new.row(i), 3);
        assert!((g.iter().sum::<f64>() - 1.0).abs() < 1e-10);
        let y = found.points().row(i);
        let plain = mika(&kernel, &x, &g, new.row(i), 5000);
        let gap = largest_gap(y, &plain);
        assert!(gap < 1e-6, "{i}: {gap}");
        // |phi(y) - P phi(x)|^2, every term of it
        let gram = naive::gram(&kernel, &x);
        let square: f64 =
            (0..x.n()).map(|a| (0..x.n()).map(|b| g[a] * g[b] * gram.row(a)[b]).sum::<f64>()).sum::<f64>();
        let distance = 1.0 - 2.0 * objective(&kernel, &x, &g, y) + square;
        assert!((found.distances()[i] - distance).abs() < 1e-10, "{i}: {} {distance}", found.distances()[i]);
    }
    Ok(())
}

#[test]
fn the_gradient_at_a_pre_image_is_zero() -> Result<()> {
    let (x, _) = iris();
    for (gamma, k) in [(0.02, 2), (0.3, 3), (3.0, 20)] {
        let (kernel, model) = (gaussian(gamma), fit(&x, gamma, k)?);
        let some = Points::from_fn(15, 4, |i, j| x.row(10 * i)[j] + if j == 1 { 0.3 } else { 0.0 });
        let found = found(&model, &some)?;
        let scores = model.transform(&some)?;
        for (i, y) in found.points().rows().enumerate() {
            let of = |alpha: &[f64]| alpha.iter().zip(scores.row(i)).map(|(a, z)| a * z).sum::<f64>();
            let g: Vec<f64> = model.alpha().rows().map(|a| of(a) + 1.0 / 150.0).collect();
            let (h, height) = (1e-4, objective(&kernel, &x, &g, y));
            for j in 0..4 {
                let moved = |by: f64| {
                    let mut y = y.to_vec();
                    y[j] += by;
                    objective(&kernel, &x, &g, &y)
                };
                let slope = (moved(h) - moved(-h)) / (2.0 * h);
                assert!(slope.abs() < 1e-6 * gamma.max(1.0) * height, "gamma {gamma}, {i}: {slope} of {height}");
                assert!(moved(0.01) <= height && moved(-0.01) <= height, "gamma {gamma}, {i}: a maximum");
            }
        }
    }
    Ok(())
}

#[test]
fn a_noisy_circle_comes_nearer_to_the_circle() -> Result<()> {
    let x = circle(200, 0.1);
    let model = fit(&x, 0.5, 6)?;
    let found = found(&model, &x)?;
    let off = |p: &[f64]| (p[0].hypot(p[1]) - 1.0).abs();
    let nearer = (0..200).filter(|i| off(found.points().row(*i)) < off(x.row(*i))).count();
    let sum = |x: &Points| x.rows().map(off).sum::<f64>();
    assert!(nearer > 150 && sum(found.points()) < 0.4 * sum(&x), "{nearer} {}", sum(found.points()) / sum(&x));
    assert_eq!(found.converged(), 200);
    Ok(())
}

#[test]
fn pre_images_of_a_wide_kernel_are_reconstructions_of_pca() -> Result<()> {
    let x = map(&normal(60, 3, 5), |v| v * 2.0 + 7.0);
    let pca = Pca::new().components(2).fit(&x)?;
    let back = pca.reconstruct(&pca.transform(&x)?)?;
    // The gap falls with gamma until rounding is all that is left of it.
    for (gamma, allowed) in [(1e-4, 1e-1), (1e-6, 1e-3), (1e-8, 1e-5), (1e-10, 1e-7), (1e-12, 1e-8)] {
        let model = fit(&x, gamma, 2)?;
        let found = found(&model, &x)?;
        let gap = largest_gap(found.points().as_slice(), back.as_slice());
        assert!(gap < allowed && found.converged() == 60, "{gamma}: {gap}, {} converged", found.converged());
        assert!(found.steps().iter().all(|s| *s < 20), "{gamma}: {:?}", found.steps());
    }
    Ok(())
}

#[test]
fn the_number_of_threads_changes_no_bit() -> Result<()> {
    let (x, _) = iris();
    let model = fit(&x, 0.2, 3)?;
    let run = |threads: usize| -> Result<[PreImages; 2]> {
        let exec = Exec::new().threads(threads);
        Ok([model.preimages(&x, &exec)?, model.preimages_of_scores(&model.scores(), &exec)?])
    };
    let one = run(1)?;
    for threads in [2, 7] {
        for (one, more) in one.iter().zip(run(threads)?) {
            assert_eq!(bits(one.points().as_slice()), bits(more.points().as_slice()), "{threads} threads");
            assert_eq!(*one, more, "{threads} threads");
        }
    }
    // Nor do the other points, nor the function that is called.
    let alone = found(&model, &Points::new(x.row(77).to_vec(), 1, 4)?)?;
    assert_eq!(alone.points().row(0), one[0].points().row(77));
    Ok(())
}

#[test]
fn standardised_models_give_points_in_the_units_of_the_data() -> Result<()> {
    let (x, _) = iris();
    let x = Points::from_fn(150, 4, |i, j| x.row(i)[j] * [1.0, 1e3, 1e-3, 1.0][j]);
    let kernel = KernelPca::new(gaussian(0.2)).components(3);
    let found = found(&kernel.clone().standardise(true).fit(&x)?, &x)?;
    // The same by hand.
    let (mean, values, _) = naive::pca(&x);
    assert!(values[0] > 0.0);
    let sd: Vec<f64> =
        (0..4).map(|j| (x.rows().map(|r| (r[j] - mean[j]).powi(2)).sum::<f64>() / 149.0).sqrt()).collect();
    let by_hand = |sd: &[f64]| -> Result<f64> {
        let inner = Points::from_fn(150, 4, |i, j| (x.row(i)[j] - mean[j]) / sd[j]);
        let back = kernel.fit(&inner)?.preimages(&inner, &Exec::new())?.into_points();
        let gaps = (0..150).flat_map(|i| (0..4).map(move |j| (i, j)));
        Ok(gaps
            .map(|(i, j)| (found.points().row(i)[j] - mean[j]) / sd[j] - back.row(i)[j])
            .fold(0.0, |m, v| m.max(v.abs())))
    };
    let population: Vec<f64> = sd.iter().map(|s| s * (149.0f64 / 150.0).sqrt()).collect();
    let gap = by_hand(&sd)?.min(by_hand(&population)?);
    assert!(gap < 1e-6, "{gap}");
    Ok(())
}

#[test]
fn far_from_the_origin_nothing_is_lost() -> Result<()> {
    let (x, _) = iris();
    for gamma in [0.3, 1e-6] {
        let near = found(&fit(&x, gamma, 3)?, &x)?;
        let far = map(&x, |v| v + 1e6);
        let moved = found(&fit(&far, gamma, 3)?, &far)?;
        let gap = largest_gap(&map(moved.points(), |v| v - 1e6).into_vec(), near.points().as_slice());
        assert!(gap < 1e-7 && moved.converged() == near.converged(), "{gamma}: {gap}");
    }
    Ok(())
}

#[test]
fn pre_images_of_scores_are_those_of_their_points() -> Result<()> {
    let (x, _) = iris();
    let model = fit(&x, 0.1, 2)?;
    let (points, scores) = (found(&model, &x)?, model.preimages_of_scores(&model.transform(&x)?, &Exec::new())?);
    let gap = largest_gap(points.points().as_slice(), scores.points().as_slice());
    assert!(gap < 1e-5, "{gap}");
    let back = AnyModel::KernelPca(model.clone()).reconstruct(&model.transform(&x)?, &Exec::new())?;
    assert_eq!(back, *scores.points());
    // A model that was taken apart and put together has the same.
    let again = KernelPcaModel::from_parts(model.to_parts()?)?;
    assert_eq!(found(&again, &x)?, points);
    // Points in f32 are points.
    let narrow = to_f32(&x);
    let wide = Points::from_fn(150, 4, |i, j| f64::from(narrow.row(i)[j]));
    assert_eq!(model.preimages(&narrow, &Exec::new())?, found(&model, &wide)?);
    Ok(())
}

#[test]
fn with_all_components_fitted_points_are_their_own_pre_images() -> Result<()> {
    let x = few();
    let model = KernelPca::new(gaussian(1.0)).fit(&x)?;
    let found = found(&model, &x)?;
    assert!(largest_gap(found.points().as_slice(), x.as_slice()) < 1e-5);
    assert!(largest(found.distances()) < 1e-10, "{:?}", found.distances());
    Ok(())
}

#[test]
fn weights_and_normalisation_change_nothing() -> Result<()> {
    let x = few();
    let plain = found(&fit(&x, 0.3, 3)?, &x)?;
    for kernel in [7.0 * gaussian(0.3), gaussian(0.3).normalised(), 0.1 * gaussian(0.3).normalised()] {
        let model = KernelPca::new(kernel.clone()).components(3).fit(&x)?;
        assert!(model.has_preimages());
        let other = found(&model, &x)?;
        let gap = largest_gap(other.points().as_slice(), plain.points().as_slice());
        assert!(gap < 1e-6, "{kernel}: {gap}");
        let weight = if let Kernel::Scaled(w, _) = &kernel { *w } else { 1.0 };
        let scaled: Vec<f64> = plain.distances().iter().map(|d| d * weight).collect();
        assert!(largest_gap(other.distances(), &scaled) < 1e-9, "{kernel}");
    }
    Ok(())
}

#[test]
fn the_path_goes_from_the_point_to_its_pre_image() -> Result<()> {
    let x = circle(100, 0.1);
    let model = fit(&x, 1.0, 4)?;
    let found = found(&model, &x)?;
    for i in [0, 17, 99] {
        let path = model.preimage_path(x.row(i), &Exec::new())?;
        assert_eq!(path.row(0), x.row(i));
        assert_eq!(path.row(path.n() - 1), found.points().row(i));
        assert_eq!(path.n(), found.steps()[i] + 1);
        // The objective increases at every step.
        let z = model.transform(&Points::new(x.row(i).to_vec(), 1, 2)?)?;
        let of = |alpha: &[f64]| alpha.iter().zip(z.row(0)).map(|(a, z)| a * z).sum::<f64>();
        let g: Vec<f64> = model.alpha().rows().map(|a| of(a) + 0.01).collect();
        let heights: Vec<f64> = path.rows().map(|y| objective(&gaussian(1.0), &x, &g, y)).collect();
        assert!(heights.windows(2).all(|w| w[1] > w[0] - 1e-14), "{heights:?}");
    }
    assert!(model.preimage_path(&[1.0], &Exec::new()).is_err() && model.preimage_path(&[], &Exec::new()).is_err());
    assert!(model.preimage_path(&[1.0, f64::NAN], &Exec::new()).is_err());
    Ok(())
}

#[test]
fn pre_images_of_the_nasty_points_are_finite() -> Result<()> {
    let check = |what: &str, found: &PreImages| {
        let values = found.points().as_slice().iter().chain(found.distances());
        assert!(values.into_iter().all(|v| v.is_finite()), "{what}");
        assert!(found.distances().iter().all(|d| *d >= 0.0), "{what}");
    };
    for number in 0..POINTS {
        let (name, x) = points(number);
        for kernel in ["gaussian", "gaussian(gamma=1e-12)", "gaussian(gamma=1)", "gaussian(gamma=1e12)"] {
            for standardise in [false, true] {
                let fits = KernelPca::new(kernel.parse()?).standardise(standardise);
                for model in [fits.clone().fit(&x)?, fits.components(2).fit(&x)?] {
                    check(name, &found(&model, &x)?);
                    // So far away that every kernel value is 0.
                    check(name, &found(&model, &map(&x, |v| v + 1e9))?);
                    check(name, &found(&model, &map(&x, |v| 1e130 * (v + 1.0)))?);
                    // Scores that no point has.
                    for size in [-1e3, 1e3, 1e30] {
                        let z = Points::from_fn(3, model.components(), |i, j| size * (i as f64 - 1.0) * (j + 1) as f64);
                        check(name, &model.preimages_of_scores(&z, &Exec::new())?);
                    }
                }
            }
        }
    }
    // Without components the projection is the mean.
    let same = Points::from_fn(5, 2, |_, j| j as f64 + 0.5);
    let model = fit(&same, 1.0, 2)?;
    assert_eq!(model.components(), 0);
    assert_eq!(*found(&model, &same)?.points(), same);
    let none: Points = Points::new(Vec::new(), 3, 0)?;
    assert_eq!(model.preimages_of_scores(&none, &Exec::new())?.points().row(2), same.row(2));
    assert_eq!(found(&model, &Points::new(Vec::new(), 0, 2)?)?.points().n(), 0);
    Ok(())
}

#[test]
fn other_kernels_have_no_pre_images() -> Result<()> {
    let x = few();
    let refused = |what: &str, error: mercer::Error| {
        assert!(matches!(error.kind(), ErrorKind::Unsupported { .. }), "{what}: {error}");
        assert!(error.to_string().contains("pre-images exist for"), "{what}: {error}");
    };
    let mut models: Vec<KernelPcaModel> = Vec::new();
    for text in ["linear", "laplacian", "matern", "polynomial", "gaussian + linear", "gaussian * gaussian", "cosine"] {
        models.push(KernelPca::new(text.parse()?).components(2).fit(&x)?);
    }
    models.push(KernelPca::custom().components(2).fit_gram(&naive::gram(&gaussian(0.3), &x))?);
    models.push(KernelPca::custom().components(2).fit_fn(&x, |a, b| gaussian(0.3).eval(a, b))?);
    for model in models {
        assert!(!model.has_preimages());
        let (what, z) = (format!("{:?}", model.kernel()), model.scores());
        refused(&what, model.preimages(&x, &Exec::new()).expect_err("another kernel"));
        refused(&what, model.preimages_of_scores(&z, &Exec::new()).expect_err("another kernel"));
        refused(&what, model.preimage_path(x.row(0), &Exec::new()).expect_err("another kernel"));
        refused(&what, AnyModel::KernelPca(model).reconstruct(&z, &Exec::new()).expect_err("another kernel"));
    }
    Ok(())
}

#[test]
fn other_shapes_and_huge_scores_are_refused() -> Result<()> {
    let x = few();
    let model = fit(&x, 0.3, 2)?;
    let exec = Exec::new();
    let shape = |error: mercer::Error| assert!(matches!(error.kind(), ErrorKind::Shape { .. }), "{error}");
    shape(model.preimages_of_scores(&x, &exec).expect_err("four columns for two components"));
    shape(model.preimages(&model.scores(), &exec).expect_err("two dimensions for four"));
    let range = model.preimages_of_scores(&Points::from_rows(&[[1e200, 0.0]]), &exec).expect_err("too large");
    assert!(matches!(range.kind(), ErrorKind::Range { .. }), "{range}");
    let nan = model.preimages_of_scores(&Points::from_rows(&[[f64::NAN, 0.0]]), &exec).expect_err("not finite");
    assert!(matches!(nan.kind(), ErrorKind::NotFinite { .. }), "{nan}");
    let cancelled = exec.cancel(Arc::new(AtomicBool::new(true)));
    assert_eq!(*model.preimages(&x, &cancelled).expect_err("cancelled").kind(), ErrorKind::Cancelled);
    Ok(())
}
