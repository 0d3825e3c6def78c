//! Kernel PCA by landmarks.

use super::common::{digits, golden, iris};
use super::{Dice, refuses_damage, survives_forgery};
use mercer::kernel::Bound;
use mercer::state::{LandmarkBasis, LandmarkState, Survey};
use mercer::testing::naive;
use mercer::testing::ratios::aligned_difference;
use mercer::{Exec, Gamma, Kernel, KernelPca, KernelPcaModel, Landmarks, Points, Result};

fn gaussian(gamma: f64) -> KernelPca {
    KernelPca::new(Kernel::gaussian(Gamma::Value(gamma)))
}

fn every(x: &Points<f64>, step: usize) -> Points<f64> {
    Points::from_fn(x.n().div_ceil(step), x.d(), |i, j| x.row(i * step)[j])
}

#[test]
fn all_points_as_landmarks_give_the_exact_result() -> Result<()> {
    let (x, _) = iris();
    for text in ["gaussian(gamma=0.5)", "gaussian(gamma=20)", "poly(degree=2)", "laplacian(gamma=0.3)", "linear"] {
        for standardise in [false, true] {
            let spec = KernelPca::new(text.parse()?).components(3).standardise(standardise);
            let exact = spec.fit(&x)?;
            for landmarks in [
                Landmarks::Given(x.clone()),
                Landmarks::Uniform(150),
                Landmarks::KMeans(200),
                Landmarks::RpCholesky(150),
            ] {
                let model = spec.clone().landmarks(landmarks.clone()).fit(&x)?;
                let scale = exact.spectrum().eigenvalues()[0];
                for (a, b) in model.spectrum().eigenvalues().iter().zip(exact.spectrum().eigenvalues()) {
                    assert!((a - b).abs() < 1e-9 * scale, "{text} {landmarks}: {a} {b}");
                }
                let gap = aligned_difference(&model.transform(&x)?, &exact.scores());
                assert!(gap < 1e-6 * scale.sqrt(), "{text} {landmarks}: scores off by {gap}");
                let share = model.certificate().approximation().map_or(0.0, |a| a.trace_share());
                assert!(share < 1e-8, "{text} {landmarks}: {share}");
                assert_eq!(model.is_exact(), !matches!(landmarks, Landmarks::Given(_)), "chosen from all are all");
                assert!((model.spectrum().total() / exact.spectrum().total() - 1.0).abs() < 1e-8);
            }
        }
    }
    Ok(())
}

/// testdata, `nystrom_iris_every10`.
#[test]
fn the_trace_error_of_iris_is_the_golden_one() -> Result<()> {
    let (x, golden) = (iris().0, golden());
    let landmarks = Landmarks::Given(every(&x, 10));
    let model = gaussian(0.25).components(3).landmarks(landmarks).fit(&x)?;
    let error = model.certificate().approximation().unwrap().trace_error();
    let expected = golden["nystrom_iris_every10"]["trace_error"].as_f64().unwrap();
    assert!((error / expected - 1.0).abs() < 1e-10, "{error} for {expected}");
    Ok(())
}

/// Checks the certificate against the whole matrix.
#[test]
fn the_certificate_holds() -> Result<()> {
    let x = every(&digits().0, 3);
    for gamma in [2e-4, 1e-3, 5e-3] {
        let exact = gaussian(gamma).dense(true).fit(&x)?;
        let kernel = Bound::new(&Kernel::gaussian(Gamma::Value(gamma)), &x)?;
        let gram = Points::from_fn(x.n(), x.n(), |i, j| kernel.eval(x.row(i), x.row(j)));
        let centred = naive::centred(&gram);
        for landmarks in [Landmarks::Uniform(60), Landmarks::KMeans(60), Landmarks::RpCholesky(60)] {
            let model = gaussian(gamma).components(5).landmarks(landmarks.clone()).fit(&x)?;
            let (c, found) = (model.certificate(), model.spectrum());
            let truth = exact.spectrum().eigenvalues();
            for i in 0..5 {
                let (below, above) = c.enclosure(i);
                let value = found.eigenvalues()[i];
                assert!(value - below <= truth[i] && truth[i] <= value + above, "{landmarks} {gamma} {i}");
            }
            assert!(truth[5] <= c.missed());
            // The share is of the whole variance, and at most what it is.
            let share = found.ratios().iter().zip(exact.spectrum().ratios()).all(|(a, b)| *a <= b + 1e-12);
            assert!(share && found.total() >= exact.spectrum().total() * (1.0 - 1e-10));
            // The residuals estimated from the sample.
            let a = c.approximation().unwrap();
            let z = model.transform(&x)?;
            for j in 0..5 {
                let (theta, u) = (found.eigenvalues()[j], z.column(j));
                let residual = (0..x.n())
                    .map(|i| (centred.row(i).iter().zip(&u).map(|(k, u)| k * u).sum::<f64>() - theta * u[i]).powi(2))
                    .sum::<f64>()
                    .sqrt()
                    / theta.sqrt();
                let (estimate, bound) = (a.residuals()[j], a.residual_bounds()[j]);
                assert!(residual <= bound, "{landmarks} {gamma} {j}: {residual} beyond {bound}");
                // Without an estimate from the sample, the trace bounds them.
                let said = bound < a.trace_error();
                assert!(!said || estimate > 0.5 * residual && estimate < 2.0 * residual, "{residual} as {estimate}");
                assert!(said || gamma > 1e-3, "nothing is said of component {j}");
            }
        }
    }
    Ok(())
}

#[test]
fn any_cuts_and_any_tree_give_the_same_model() -> Result<()> {
    let (x, exec) = (digits().0, Exec::new());
    let spec = gaussian(1e-3).components(4).standardise(true).landmarks(Landmarks::KMeans(50));
    let mut survey = Survey::new(x.d(), spec.sample_size(), 0);
    survey.update(&x, &exec)?;
    let basis = spec.basis(&survey, &exec)?;
    let mut whole = LandmarkState::new(&basis);
    whole.update(&basis, &x, &exec)?;
    let whole = spec.finish(&basis, &whole, &exec)?;
    let travelled = LandmarkBasis::from_bytes(&basis.to_bytes())?;
    let mut dice = Dice(4);
    for _ in 0..10 {
        let parts = dice.cuts(x.n()).into_iter().map(|(from, to)| {
            let mut state = LandmarkState::new(&travelled);
            for (a, b) in dice.cuts(to - from) {
                state.update(&travelled, x.view().slice(from + a, from + b), &exec)?;
            }
            LandmarkState::from_bytes(&state.to_bytes())
        });
        let parts = parts.collect::<Result<Vec<_>>>()?;
        let state = dice.tree(parts, |a, b| a.merge(b).unwrap());
        let model = spec.finish(&basis, &state, &exec)?;
        assert!(aligned_difference(&model.transform(&x)?, &whole.transform(&x)?) < 1e-9);
        assert_eq!(model.n(), x.n());
    }
    let (bytes, sums) = (basis.to_bytes(), LandmarkState::new(&basis).to_bytes());
    refuses_damage(&bytes, |b| LandmarkBasis::from_bytes(b).is_ok());
    refuses_damage(&sums, |b| LandmarkState::from_bytes(b).is_ok());
    Ok(())
}

/// A mean or scale that no fit finds would make points of the model that are not finite.
#[test]
fn a_basis_with_a_mean_that_no_fit_finds_is_refused() -> Result<()> {
    let (x, exec) = (iris().0, Exec::new());
    let spec = gaussian(0.1).standardise(true).landmarks(Landmarks::Uniform(5));
    let mut survey = Survey::new(x.d(), spec.sample_size(), 0);
    survey.update(&x, &exec)?;
    let bytes = spec.basis(&survey, &exec)?.to_bytes();
    let mean = survey.mean()[0].to_le_bytes();
    let at = bytes.windows(8).position(|w| w == mean).expect("the mean of the first column");
    for huge in [f64::MAX, 1e200] {
        let mut other = bytes.clone();
        other[at..at + 8].copy_from_slice(&huge.to_le_bytes());
        let error = LandmarkBasis::from_bytes(&mercer::testing::signed_again(&other)).unwrap_err();
        assert!(error.to_string().starts_with("mean: values of magnitude"), "{error}");
    }
    Ok(())
}

#[test]
fn the_same_bits_on_any_number_of_threads() -> Result<()> {
    let x = digits().0;
    let bits = |threads: usize| -> Result<(Vec<f64>, Vec<f64>)> {
        let exec = Exec::new().threads(threads);
        let model = gaussian(1e-3).components(3).landmarks(Landmarks::RpCholesky(200)).fit_with(&x, &exec)?;
        Ok((model.alpha().as_slice().to_vec(), model.certificate().approximation().unwrap().residuals()))
    };
    let one = bits(1)?;
    assert!(one == bits(2)? && one == bits(7)?);
    Ok(())
}

/// Many points are computed in f32 if that is accurate enough; only the stated rounding shows it.
#[test]
fn many_points_in_f32_agree_with_f64() -> Result<()> {
    let mut dice = Dice(8);
    let x = Points::from_fn(60_000, 8, |i, j| ((i % 5 + j) % 5) as f64 * 2.0 + dice.normal());
    let spec = gaussian(0.1).components(4).landmarks(Landmarks::Given(every(&x, 601)));
    let narrow = spec.fit(&x)?;
    // The same landmarks over parts that are too few for f32.
    let exec = Exec::new();
    let mut survey = Survey::new(8, spec.sample_size(), 0);
    survey.update(x.view().slice(0, 40_000), &exec)?;
    let basis = spec.basis(&survey, &exec)?;
    let mut state = LandmarkState::new(&basis);
    state.update(&basis, &x, &exec)?;
    let wide = spec.finish(&basis, &state, &exec)?;
    for (a, b) in narrow.spectrum().eigenvalues().iter().zip(wide.spectrum().eigenvalues()) {
        assert!(a != b && (a / b - 1.0).abs() < 1e-6, "{a} {b}");
        assert!((a - b).abs() <= narrow.certificate().rounding());
    }
    Ok(())
}

#[test]
fn landmarks_grow_until_the_trace_error_is_reached() -> Result<()> {
    let x = digits().0;
    let mut before = 0;
    for wanted in [0.3, 0.1, 0.03] {
        let model = gaussian(1e-3).components(3).landmarks(Landmarks::TraceError(wanted)).fit(&x)?;
        let a = model.certificate().approximation().unwrap();
        assert!(a.trace_share() <= wanted && a.trace_share() > 0.2 * wanted, "{} for {wanted}", a.trace_share());
        assert!(a.landmarks() > before && a.landmarks() < x.n());
        before = a.landmarks();
    }
    Ok(())
}

/// k~(x, x) less the squared scores sums to what the components leave.
#[test]
fn errors_of_points_sum_to_what_is_discarded() -> Result<()> {
    let x = iris().0;
    let model = gaussian(0.5).components(2).landmarks(Landmarks::KMeans(40)).fit(&x)?;
    let sum: f64 = model.squared_errors(&x)?.iter().sum();
    assert!((sum / model.spectrum().discarded() - 1.0).abs() < 1e-9);
    let again = KernelPcaModel::from_parts(model.to_parts()?)?;
    assert_eq!(again.transform(&x)?, model.transform(&x)?);
    assert_eq!((again.n(), again.is_exact()), (150, false));
    assert_eq!(again.scores().n(), 40);
    assert!(model.preimages(&x, &Exec::new())?.points().n() == 150);
    Ok(())
}

#[test]
fn invalid_landmarks_and_states_are_refused() -> Result<()> {
    let x = iris().0;
    let exec = Exec::new();
    for landmarks in [Landmarks::Uniform(0), Landmarks::TraceError(0.0), Landmarks::TraceError(2.0)] {
        assert!(gaussian(1.0).landmarks(landmarks).fit(&x).is_err());
    }
    let wrong = Landmarks::Given(Points::from_rows(&[[1.0, 2.0]]));
    assert!(gaussian(1.0).landmarks(wrong).fit(&x).is_err());
    let sigmoid = KernelPca::new("sigmoid(gamma=0.1)".parse()?).landmarks(Landmarks::KMeans(10));
    assert!(sigmoid.fit(&x).is_err_and(|e| e.to_string().contains("negative")));
    let spec = gaussian(1.0).components(2).landmarks(Landmarks::KMeans(10));
    let mut survey = Survey::new(4, spec.sample_size(), 0);
    assert!(spec.basis(&survey, &exec).is_err(), "no points");
    survey.update(&x, &exec)?;
    let (basis, other) =
        (spec.basis(&survey, &exec)?, gaussian(2.0).landmarks(Landmarks::KMeans(10)).basis(&survey, &exec)?);
    let mut state = LandmarkState::new(&basis);
    assert!(spec.finish(&basis, &state, &exec).is_err(), "no points");
    assert!(state.update(&other, &x, &exec).is_err(), "another basis");
    state.update(&basis, &x, &exec)?;
    let before = state.to_bytes();
    let mut bad = x.clone();
    bad.row_mut(149)[0] = f64::INFINITY;
    assert!(state.update(&basis, &bad, &exec).is_err());
    assert!(state.merge(&LandmarkState::new(&other)).is_err());
    assert_eq!(state.to_bytes(), before);
    refuses_damage(&survey.to_bytes(), |b| Survey::from_bytes(b).is_ok());
    survives_forgery(&survey.to_bytes(), 5, |b| {
        if let Ok(mut other) = Survey::from_bytes(b) {
            let _ = other.merge(&survey);
            let _ = spec.basis(&other, &exec);
        }
    });
    survives_forgery(&before, 6, |b| {
        if let Ok(mut other) = LandmarkState::from_bytes(b) {
            let _ = other.merge(&state);
            let _ = spec.finish(&basis, &other, &exec);
        }
    });
    survives_forgery(&basis.to_bytes(), 7, |b| {
        if let Ok(other) = LandmarkBasis::from_bytes(b) {
            let mut state = LandmarkState::new(&other);
            let _ = state.update(&other, &x, &exec);
            let _ = spec.finish(&other, &state, &exec);
        }
    });
    Ok(())
}

#[test]
fn a_survey_samples_fairly_and_does_not_depend_on_the_order() -> Result<()> {
    let exec = Exec::new();
    let x = Points::from_fn(20_000, 1, |i, _| i as f64);
    let part = |number: u64, from: usize, to: usize| -> Result<Survey> {
        let mut survey = Survey::new(1, 500, number);
        survey.update(x.view().slice(from, to), &exec)?;
        Survey::from_bytes(&survey.to_bytes())
    };
    let (a, b, c) = (part(0, 0, 5000)?, part(1, 5000, 5100)?, part(2, 5100, 20_000)?);
    let merged = |parts: [&Survey; 3]| -> Result<Survey> {
        let mut all = parts[0].clone();
        all.merge(parts[1])?;
        all.merge(parts[2])?;
        Ok(all)
    };
    let (one, two) = (merged([&a, &b, &c])?, merged([&c, &a, &b])?);
    assert_eq!(one.sample(), two.sample());
    assert_eq!((one.n(), one.sample().n()), (20_000, 500));
    let below = one.sample().as_slice().iter().filter(|v| **v < 5000.0).count();
    assert!((75..175).contains(&below), "{below} of 500 from the first quarter");
    Ok(())
}

/// Equal points, and points on which the kernel is 0, have no component with any landmarks.
#[test]
fn points_without_variance() -> Result<()> {
    for (x, text) in [
        (Points::from_fn(100, 2, |_, _| 0.0), "linear"),
        (Points::from_fn(100, 2, |_, _| 3.0), "gaussian(gamma=1)"),
        (Points::from_fn(100, 2, |_, _| 0.0), "poly(degree=2)"),
    ] {
        for landmarks in [Landmarks::KMeans(10), Landmarks::RpCholesky(5), Landmarks::TraceError(0.1)] {
            let model = KernelPca::new(text.parse()?).components(2).landmarks(landmarks.clone()).fit(&x)?;
            assert_eq!(model.components(), 0, "{text} {landmarks}");
        }
    }
    Ok(())
}

/// Of the bounds on sampled residuals at most as many fail as their confidence allows: over seeds, with outliers and without.
#[test]
fn a_trace_error_that_cannot_be_reached_ends_with_a_note() -> Result<()> {
    // Ten places, and five more that a sample hardly ever has.
    let rare = |i: usize| if i % 8000 == 77 { 10 + i / 8000 } else { i % 10 };
    let x = Points::from_fn(40_000, 2, |i, j| (rare(i) * (3 + 4 * j) % 31) as f64);
    let kernel = Kernel::gaussian(Gamma::Value(1.0));
    for stated in [1e-5, 1e-12] {
        let spec = KernelPca::new(kernel.clone()).components(3).landmarks(Landmarks::TraceError(stated));
        let model = spec.fit(&x)?;
        let reached = model.certificate().approximation().unwrap().trace_share();
        let said = model.notes().iter().any(|n| n.contains("was asked for"));
        assert_eq!(said, reached > stated, "{reached:e}");
    }
    Ok(())
}

#[test]
fn sampled_residuals_are_as_sure_as_they_say() -> Result<()> {
    let n = 1200;
    let mut dice = Dice(11);
    let plain = Points::from_fn(n, 5, |_, _| dice.normal());
    let clusters = Points::from_fn(n, 4, |i, j| ((i % 6 * (j + 2)) % 7) as f64 + 0.5 * dice.normal());
    let heavy = Points::from_fn(n, 3, |_, _| dice.normal() / (0.1 + dice.normal().abs()));
    let few = Points::from_fn(n, 2, |i, _| if i % 60 == 0 { 9.0 } else { 0.0 } + 0.5 * dice.normal());
    let mut partly = 0;
    for (name, x, gamma) in
        [("plain", plain, 0.1), ("clusters", clusters, 0.2), ("heavy", heavy, 0.05), ("few", few, 0.1)]
    {
        let kernel = Kernel::gaussian(Gamma::Value(gamma));
        let centred = naive::centred(&naive::gram(&kernel, &x));
        let (mut failed, mut all) = (0, 0);
        for seed in 0..12 {
            let exec = Exec::new().seed(seed);
            let spec = KernelPca::new(kernel.clone()).components(6).landmarks(Landmarks::Uniform(40));
            let model = spec.fit_with(&x, &exec)?;
            let z = model.transform(&x)?;
            let approximation = model.certificate().approximation().unwrap();
            let told = approximation.residual_bounds().iter().filter(|b| **b < approximation.trace_error()).count();
            let words = match told {
                0 => "give no better bound on residuals".to_string(),
                6 => "residuals are below".to_string(),
                _ => format!("residuals of {told} of the 6 components are below"),
            };
            assert!(model.certificate().to_string().contains(&words), "{}", model.certificate());
            partly += usize::from((1..6).contains(&told));
            for (j, bound) in approximation.residual_bounds().iter().enumerate() {
                let (theta, u) = (model.spectrum().eigenvalues()[j], z.column(j));
                let entry = |i: usize| centred.row(i).iter().zip(&u).map(|(k, u)| k * u).sum::<f64>() - theta * u[i];
                let residual = ((0..n).map(|i| entry(i).powi(2)).sum::<f64>() / theta).sqrt();
                failed += usize::from(residual > *bound);
                all += 1;
            }
        }
        let allowed = 1.0 - 0.95;
        assert!(failed as f64 <= allowed * all as f64, "{name}: {failed} of {all}");
    }
    assert!(partly > 0, "a sample saw all, always");
    Ok(())
}
