//! States whose bytes were changed and whose checksum is right again.

use mercer::state::{LandmarkBasis, LandmarkState, PassState, PcaState, RowBlock, Survey};
use mercer::text::checksum;
use mercer::{AnyModel, Exec, Kernel, KernelPca, Landmarks, Pca, Points, Result as MercerResult, Route};

use super::Target;
use super::models::{points, use_model};
use crate::dice::Dice;
use crate::mutate;

pub(super) fn targets() -> Vec<Box<dyn Target>> {
    vec![Box::new(States::new().expect("states of sound points"))]
}

/// States of all kinds, of the same points.
struct States {
    x: Points<f64>,
    spec: KernelPca,
    pca: PcaState,
    survey: Survey,
    basis: LandmarkBasis,
    landmarks: LandmarkState,
    pass: PassState,
    valid: Vec<Vec<u8>>,
}

/// The bytes of a checksum, at the end of a state.
const CHECKSUM: usize = 8;

impl States {
    fn new() -> MercerResult<Self> {
        let (x, exec) = (points(12, 2), Exec::new());
        let kernel: Kernel = "gaussian(gamma=0.5)".parse()?;
        let spec = KernelPca::new(kernel).components(2).standardise(true).landmarks(Landmarks::Uniform(4));
        let mut valid = Vec::new();
        let mut pca = Pca::new().state(2)?;
        for route in [Route::Svd, Route::Covariance] {
            pca = Pca::new().route(route).state(2)?;
            pca.update(&x, &exec)?;
            valid.push(pca.to_bytes()?);
        }
        let mut survey = Survey::new(2, 8, 0);
        survey.update(&x, &exec)?;
        let basis = spec.basis(&survey, &exec)?;
        let mut landmarks = LandmarkState::new(&basis);
        landmarks.update(&basis, &x, &exec)?;
        let vectors = Points::from_fn(12, 2, |i, j| (i + j) as f64);
        let mut pass = PassState::new();
        pass.update(&basis, RowBlock { number: 0, points: x.view(), vectors: vectors.view() }, None, false, &exec)?;
        valid.extend([survey.to_bytes(), basis.to_bytes(), landmarks.to_bytes(), pass.to_bytes()]);
        Ok(States { x, spec, pca, survey, basis, landmarks, pass, valid })
    }

    /// Merges a state, updates it and finishes it: each may fail.
    fn used(&self, input: &[u8]) -> Option<Result<(), String>> {
        let exec = Exec::new();
        let model = |model: MercerResult<AnyModel>| match model {
            Ok(model) => use_model(&model, &(1..=model.d()).map(|j| format!("x{j}")).collect::<Vec<_>>()),
            Err(_) => Ok(()),
        };
        if let Ok(mut state) = PcaState::from_bytes(input) {
            let route = state.route();
            let finished = |state: &PcaState| Pca::new().route(route).finish(state, &exec).map(AnyModel::Pca);
            let first = model(finished(&state));
            let _ = (state.mean(), state.squares(), state.ranges());
            let _ = state.merge(&self.pca);
            let _ = state.update(&self.x, &exec);
            return Some(first.and(model(finished(&state))));
        }
        if let Ok(mut survey) = Survey::from_bytes(input) {
            let _ = (survey.mean(), survey.sample(), survey.ranges());
            let _ = self.spec.basis(&survey, &exec);
            let _ = survey.merge(&self.survey);
            let _ = survey.update(&self.x, &exec);
            let _ = self.spec.basis(&survey, &exec);
            return Some(Ok(()));
        }
        if let Ok(basis) = LandmarkBasis::from_bytes(input) {
            let mut state = LandmarkState::new(&basis);
            let _ = state.update(&basis, &points(5, basis.d().min(100)), &exec);
            let _ = basis.facts(self.x.view());
            return Some(model(self.spec.finish(&basis, &state, &exec).map(AnyModel::KernelPca)));
        }
        if let Ok(mut state) = LandmarkState::from_bytes(input) {
            let finished = |state: &LandmarkState| self.spec.finish(&self.basis, state, &exec).map(AnyModel::KernelPca);
            let first = model(finished(&state));
            let _ = state.merge(&self.landmarks);
            let _ = state.update(&self.basis, &self.x, &exec);
            return Some(first.and(model(finished(&state))));
        }
        let mut state = PassState::from_bytes(input).ok()?;
        let _ = (state.finish(1), state.block(0), state.squares());
        let _ = state.merge(&self.pass);
        let _ = state.finish(2);
        Some(Ok(()))
    }
}

impl Target for States {
    fn name(&self) -> &'static str {
        "state"
    }

    fn input(&self, dice: &mut Dice) -> Vec<u8> {
        let state = dice.pick(&self.valid).clone();
        let body = &state[..state.len() - CHECKSUM];
        let body = match dice.one_in(3) {
            true => mutate::bytes(dice, body, &self.valid),
            false => {
                // Numbers are at any place: texts and flags are between them.
                let (mut body, from) = (body.to_vec(), dice.below(8));
                mutate::numbers(dice, &mut body[14 + from..]);
                body
            }
        };
        [&body[..], &checksum(&body).to_le_bytes()].concat()
    }

    fn read(&self, input: &[u8]) -> Result<bool, String> {
        self.used(input).map_or(Ok(false), |used| used.map(|()| true))
    }
}
