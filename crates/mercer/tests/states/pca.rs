//! PCA of batches.

use super::common::iris;
use super::{Dice, refuses_damage, survives_forgery};
use mercer::state::PcaState;
use mercer::testing::ratios::sine_of_angle;
use mercer::{Embedding, Exec, Pca, PcaModel, Points, Result, Route};

fn data(n: usize, d: usize, offset: f64, seed: u64) -> Points<f64> {
    let mut dice = Dice(seed);
    Points::from_fn(n, d, |_, j| offset + dice.normal() * 0.7f64.powi(j as i32))
}

fn in_pieces(pca: &Pca, x: &Points<f64>, dice: &mut Dice) -> Result<PcaModel> {
    let exec = Exec::new();
    let parts = dice.cuts(x.n()).into_iter().map(|(from, to)| {
        let mut state = pca.state(x.d())?;
        for (a, b) in dice.cuts(to - from) {
            state.update(x.view().slice(from + a, from + b), &exec)?;
        }
        PcaState::from_bytes(&state.to_bytes()?)
    });
    let parts = parts.collect::<Result<Vec<_>>>()?;
    pca.finish(&dice.tree(parts, |a, b| a.merge(b).unwrap()), &exec)
}

#[test]
fn any_cuts_and_any_tree_give_the_model_of_all_points() -> Result<()> {
    let mut dice = Dice(1);
    for offset in [0.0, 1e6] {
        let x = data(700, 6, offset, 3);
        for route in [Route::Covariance, Route::Svd] {
            for (center, standardise) in [(true, false), (true, true), (false, false)] {
                let pca = Pca::new().components(4).route(route).center(center).standardise(standardise);
                let whole = pca.fit(&x)?;
                for _ in 0..10 {
                    let model = in_pieces(&pca, &x, &mut dice)?;
                    let sine = sine_of_angle(&model.axes(), &whole.axes());
                    // Far from the origin, points have ten digits left of their own.
                    let limit = if offset > 0.0 { 1e-8 } else { 1e-12 };
                    assert!(sine < limit, "{route:?} {center} {standardise} {offset}: {sine}");
                    let (a, b) = (model.spectrum(), whole.spectrum());
                    assert_eq!((a.n(), a.rank()), (b.n(), b.rank()));
                    for (a, b) in a.eigenvalues().iter().zip(b.eigenvalues()) {
                        assert!((a / b - 1.0).abs() < limit, "{a} {b}");
                    }
                }
            }
        }
    }
    Ok(())
}

#[test]
fn rows_one_by_one_and_fewer_than_components() -> Result<()> {
    let (x, exec) = (iris().0, Exec::new());
    for route in [Route::Auto, Route::Svd] {
        let pca = Pca::new().components(3).route(route);
        let mut state = pca.state(4)?;
        for i in 0..x.n() {
            state.update(x.view().slice(i, i + 1), &exec)?;
        }
        let (model, whole) = (pca.finish(&state, &exec)?, pca.fit(&x)?);
        assert!(sine_of_angle(&model.axes(), &whole.axes()) < 1e-12);
        assert_eq!(state.mean().len(), 4);
        // Two points have one component with variance, and can have two axes.
        let mut two = pca.state(4)?;
        two.update(x.view().slice(0, 2), &exec)?;
        assert!(pca.finish(&two, &exec).is_err(), "three components of two points");
        assert_eq!(pca.clone().components(2).finish(&two, &exec)?.spectrum().rank(), 1);
        assert!(pca.finish(&pca.state(4)?, &exec).is_err(), "no points");
    }
    Ok(())
}

/// testdata, `tsqr_merge_test`: standard deviations 1 to 1e-10 at offset 0 and 1000, in ten parts.
#[test]
fn the_factor_keeps_components_that_the_scatter_loses() -> Result<()> {
    let (n, d) = (3000, 6);
    // Columns that are orthogonal to each other and to 1: cosines.
    let spectrum: Vec<f64> = (0..d).map(|j| 10f64.powi(-2 * j as i32)).collect();
    let wave = |i: usize, j: usize| {
        (std::f64::consts::PI * (i as f64 + 0.5) * (j + 1) as f64 / n as f64).cos() * (2.0 / n as f64).sqrt()
    };
    // Turned by reflections, so that no axis is a coordinate.
    let turned = |i: usize, c: usize| {
        let row: Vec<f64> = (0..d).map(|j| spectrum[j] * wave(i, j) * (n as f64).sqrt()).collect();
        let v = 2.0 * row.iter().sum::<f64>() / d as f64;
        row[c] - v
    };
    for (offset, tolerance) in [(0.0, 1e-4), (1000.0, 2e-3)] {
        let x = Points::from_fn(n, d, |i, c| offset + turned(i, c));
        let exec = Exec::new();
        let deviations = |route: Route| -> Result<Vec<f64>> {
            let pca = Pca::new().route(route);
            let mut whole = pca.state(d)?;
            for part in 0..10 {
                let mut state = pca.state(d)?;
                state.update(x.view().slice(part * 300, (part + 1) * 300), &exec)?;
                whole.merge(&state)?;
            }
            let model = pca.finish(&whole, &exec)?;
            Ok(model.spectrum().eigenvalues().iter().map(|v| (v / n as f64).sqrt()).collect())
        };
        let (factor, scatter) = (deviations(Route::Svd)?, deviations(Route::Covariance)?);
        for j in 0..d {
            let error = (factor[j] / spectrum[j] - 1.0).abs();
            assert!(error < tolerance, "offset {offset}, component {j}: {} for {}", factor[j], spectrum[j]);
        }
        assert!((scatter[5] / spectrum[5] - 1.0).abs() > 0.1, "the scatter would do as well: {}", scatter[5]);
    }
    Ok(())
}

#[test]
fn the_same_tree_gives_the_same_bits_on_any_number_of_threads() -> Result<()> {
    let x = data(5000, 7, 2.0, 5);
    for route in [Route::Auto, Route::Svd] {
        let pca = Pca::new().route(route);
        let bytes = |threads: usize| -> Result<Vec<u8>> {
            let exec = Exec::new().threads(threads);
            let (mut a, mut b) = (pca.state(7)?, pca.state(7)?);
            a.update(x.view().slice(0, 2222), &exec)?;
            b.update(x.view().slice(2222, 5000), &exec)?;
            a.merge(&b)?;
            a.to_bytes()
        };
        let one = bytes(1)?;
        assert!(one == bytes(2)? && one == bytes(7)?);
        let again = PcaState::from_bytes(&one)?;
        assert_eq!(again.to_bytes()?, one, "bytes come back as they were");
    }
    Ok(())
}

#[test]
fn embeddings_and_their_states() -> Result<()> {
    let (x, exec) = (data(300, 2, 0.0, 9), Exec::new());
    let pca = Pca::new().components(3).embed("monomials:2:1".parse::<Embedding>()?);
    let mut state = pca.state(2)?;
    state.update(x.view().slice(0, 100), &exec)?;
    let mut rest = PcaState::from_bytes(&pca.state(2)?.to_bytes()?)?;
    rest.update(x.view().slice(100, 300), &exec)?;
    state.merge(&rest)?;
    assert!(sine_of_angle(&pca.finish(&state, &exec)?.axes(), &pca.fit(&x)?.axes()) < 1e-10);
    assert!(Pca::new().finish(&state, &exec).is_err(), "another embedding");
    assert!(state.merge(&Pca::new().state(2)?).is_err());
    Ok(())
}

#[test]
fn bad_batches_and_bytes_leave_the_state_unchanged() -> Result<()> {
    let (x, exec) = (data(100, 3, 0.0, 2), Exec::new());
    for route in [Route::Auto, Route::Svd] {
        let mut state = Pca::new().route(route).state(3)?;
        state.update(&x, &exec)?;
        let before = state.to_bytes()?;
        let mut bad = x.clone();
        bad.row_mut(70)[1] = f64::NAN;
        assert!(state.update(&bad, &exec).is_err());
        assert!(state.update(&data(5, 2, 0.0, 1), &exec).is_err());
        assert!(state.merge(&Pca::new().route(route).state(2)?).is_err());
        let other = if route == Route::Svd { Route::Auto } else { Route::Svd };
        assert!(state.merge(&Pca::new().route(other).state(3)?).is_err());
        assert_eq!(state.to_bytes()?, before);
        refuses_damage(&before, |bytes| PcaState::from_bytes(bytes).is_ok());
        let pca = Pca::new().route(route);
        survives_forgery(&before, 1, |bytes| {
            if let Ok(mut other) = PcaState::from_bytes(bytes) {
                let _ = other.merge(&state);
                let _ = pca.finish(&other, &exec).and_then(|m| m.transform(&data(5, other.d(), 0.0, 1)));
            }
        });
    }
    assert!(Pca::new().route(Route::Gram).state(3).is_err());
    Ok(())
}
