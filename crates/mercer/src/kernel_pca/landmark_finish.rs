//! The model of what was summed over the points: components and their error bounds (MATHS.md, M20).

use super::finish::{Ending, Weights};
use super::landmark_basis::LandmarkBasis;
use super::landmark_state::{LandmarkState, ROWS};
use super::{KernelPca, KernelPcaModel};
use crate::block::Block;
use crate::eigen::{Approximation, Certificate, rounding_of_products, rounding_of_sums, sign};
use crate::error::{ErrorKind, ErrorSubject, Result};
use crate::exec::Exec;
use crate::features::Features;
use crate::kernel::rounding::Extent;
use crate::kernel::tile::{self, Form, Rows, Scratch};
use crate::linalg;
use crate::op::{Gram, SymOp};
use crate::points::Points;
use crate::spectrum::{Matrix, Spectrum};

/// How many standard errors the bound on a sampled residual lies above its estimate, and the confidence that goes with it.
const ERRORS: f64 = 6.0;
const CONFIDENCE: f64 = 0.95;
/// The sample has to see so much of a component, whose squares sum to 1, and of the trace error, which is known, to say
/// something about a residual: what lives on a few points is not seen by a few rows.
const SEEN: f64 = 0.6;

impl KernelPca {
    /// The model of all points that a state has seen: their kernel PCA by landmarks.
    ///
    /// # Errors
    /// When the state is of other landmarks, or of fewer than two points; when its scores are not finite.
    pub fn finish(&self, basis: &LandmarkBasis, state: &LandmarkState, exec: &Exec) -> Result<KernelPcaModel> {
        state.check(basis)?;
        self.components.validate("kernel pca")?;
        let n = usize::try_from(state.n()).unwrap_or(usize::MAX);
        if n < 2 {
            return Err(ErrorKind::TooFew { what: ErrorSubject::Points, found: n, needed: 2 }.into());
        }
        // The sums may have come as bytes.
        exec.run(|| self.finish_sums(basis, state, n, exec)?.checked())
    }

    fn finish_sums(
        &self,
        basis: &LandmarkBasis,
        state: &LandmarkState,
        n: usize,
        exec: &Exec,
    ) -> Result<KernelPcaModel> {
        let (nf, map) = (state.weight(), &basis.map);
        let sums = state.total();
        let about: Vec<f64> = sums.iter().map(|t| t / nf).collect(); // the mean, from the shift on
        let mut scatter = state.scatter();
        for j in 0..scatter.b() {
            scatter.col_mut(j).iter_mut().zip(&sums).for_each(|(v, t)| *v -= t * about[j]);
        }
        // Where c is summed in place of f, the map magnifies the rounding of the sums as well.
        let raw_trace = if basis.mapped { 0.0 } else { (0..scatter.n()).map(|j| scatter.at(j, j).max(0.0)).sum() };
        // The scatter and the mean of the features f, and how they come from the sums.
        let shift = times(&map.transposed(), &basis.shift);
        let (spread, mean) = if basis.mapped {
            (scatter, shift.iter().zip(&about).map(|(s, a)| s + a).collect::<Vec<f64>>())
        } else {
            let spread = linalg::inner_products(map, &linalg::product(&scatter, map));
            (spread, shift.iter().zip(times(&map.transposed(), &about)).map(|(s, a)| s + a).collect())
        };
        let spread_diagonal: Vec<f64> = (0..spread.n()).map(|j| spread.at(j, j).max(0.0)).collect();
        exec.check_cancelled()?;
        let (values, vectors) = match spread.n() {
            0 => (Vec::new(), Block::zeros(0, 0)),
            _ => linalg::eigh(symmetric(spread))?,
        };
        let kept: f64 = values.iter().map(|v| v.max(0.0)).sum();
        let grand_mean = linalg::dot(&mean, &mean);
        let size = state.own / nf;
        let epsilon = if basis.columns32.is_some() { f64::from(f32::EPSILON) } else { f64::EPSILON };
        let extent = Extent::of(basis.bound.kernel(), basis.columns.points(), basis.columns.reach());
        let error = basis.bound.entry_error(&extent, size, epsilon);
        let of_sums = rounding_of_sums(n, epsilon, ROWS);
        let core = Core::of(map, error, 0.5 * epsilon * (basis.m + 2) as f64 * size);
        let magnified = core.magnified(map, &spread_diagonal, &mean, n) + core.of_raw_sums(raw_trace, of_sums);
        // Once for the eigenvalues, and once for the trace error.
        let rounding =
            rounding_of_products(n, error, size, epsilon, ROWS) + 2.0 * magnified + 4.0 * epsilon * state.own;
        // Roundings are as often up as down: eigenvalues above this are no longer noise. In f32 the bound on what W magnifies
        // would be far too large, since the errors of many points average out.
        let noise = rounding_of_products(n, error, size, epsilon, ROWS.isqrt())
            + if basis.columns32.is_none() { magnified } else { 0.0 };
        // What is below the rounding of the sum itself says nothing; the allowance for rounding covers it.
        let left = state.own - kept - nf * grand_mean;
        let of_trace = 4.0 * epsilon * state.own;
        let trace_error = if left > of_trace { left } else { 0.0 };
        let total = kept + trace_error;
        let rank = values.iter().take_while(|v| **v > noise).count();
        let k = self.components.count(&values, total, rank);

        // z(x) = Y'(f(x) - mean), f(x) = map' c(x).
        let mut y = vectors.first(k);
        let landmarks = Points::from_fn(basis.m, basis.d(), |i, j| basis.columns.points().row(i)[j]);
        let rows = Rows::new(&basis.bound, landmarks, basis.columns.method());
        let own = Gram::of_points(&basis.bound, rows.points().clone()).to_matrix(exec)?;
        let images = linalg::product(&own, &linalg::product(map, &y));
        turn(&mut y, &images, &mean);
        let weights = linalg::product(map, &y);
        let offset = times(&y.transposed(), &mean);

        let sampled =
            self.sampled_residuals(basis, state, (&values[..k], &y, &weights, &offset), &about, trace_error, exec);
        let approximation = Approximation::new(basis.m, trace_error, total, basis.sampled(), sampled, CONFIDENCE);
        let notes = self.unreached(&approximation);
        // Errors of kernel values change the scores of component j, sqrt(lambda) u, by at most their norm times |w_j|.
        let of_scores = |j: usize| {
            let moved = core.of_value * (nf * basis.m as f64).sqrt() * linalg::norm(weights.col(j)) / values[j].sqrt();
            (values[0] + trace_error) * moved
        };
        let of_scores = (0..k).map(of_scores).collect();
        let certificate = Certificate::of_landmarks(&values, of_scores, approximation, rounding);
        let spectrum = Spectrum {
            eigenvalues: values[..k].to_vec(),
            total,
            discarded: total - values[..k].iter().sum::<f64>(),
            rank: k,
            complete: false,
            n,
            weight: state.weight(),
            centred: true,
            matrix: Matrix::Gram,
        };
        let features = Features::Kernel {
            bound: basis.bound.clone(),
            rows,
            standardise: basis.standardise.clone(),
            form: Form::Value,
        };
        Ending {
            features,
            weights: Weights::Landmarks { weights, offset, mean_weights: times(map, &mean) },
            grand_mean,
            tie: 2.0 * noise,
            values,
            spectrum,
            certificate,
            definiteness: None,
            notes,
        }
        .model()
    }

    /// |K~u - lambda u| of each component, estimated from the rows for which K u is known, with a bound of some standard
    /// errors above it: the entries of a residual sum to 0, so that its square is n times their variance.
    fn sampled_residuals(
        &self,
        basis: &LandmarkBasis,
        state: &LandmarkState,
        (values, y, weights, offset): (&[f64], &Block, &Block, &[f64]),
        about: &[f64],
        trace_error: f64,
        exec: &Exec,
    ) -> Vec<(f64, f64)> {
        let (s, m, n) = (basis.sampled(), basis.m, state.n() as f64);
        if s < 2 {
            return Vec::new();
        }
        let summed = if basis.mapped { y } else { weights }; // z from the features that are summed
        let (seen, cross) = state.measured();
        let images = linalg::product(&cross, summed);
        let of_mean = times(&summed.transposed(), about);
        let mut own = vec![0.0; s * m];
        let how = (&basis.bound, Form::Value, exec.level());
        for (i, out) in own.chunks_exact_mut(m).enumerate() {
            tile::fill(how, (&basis.columns, m + i..m + i + 1), (&basis.columns, 0..m), out, &mut Scratch::new());
        }
        // What is left of k(x, x), which bounds the entries of residuals, sums to the trace error.
        let features = linalg::inner_products(&basis.map, &Block::from_fn(m, s, |j, i| own[i * m + j]));
        let left = |i: usize| {
            let own = basis.bound.kernel().self_value(basis.columns.points().row(m + i));
            (own - linalg::dot(features.col(i), features.col(i))).max(0.0)
        };
        let sf = s as f64;
        let error_seen = if trace_error > 0.0 { (0..s).map(left).sum::<f64>() * n / sf / trace_error } else { 1.0 };
        (0..values.len())
            .map(|j| {
                let score = |i: usize| linalg::dot(&own[i * m..(i + 1) * m], weights.col(j)) - offset[j];
                let scores: Vec<f64> = (0..s).map(score).collect();
                let image = |i: usize| images.at(i, j) - seen[i] * of_mean[j];
                let root = values[j].sqrt();
                let entries: Vec<f64> = (0..s).map(|i| (image(i) - values[j] * scores[i]) / root).collect();
                let part = error_seen.min(linalg::dot(&scores, &scores) / values[j] * n / sf);
                let mean = entries.iter().sum::<f64>() / sf;
                let squares: Vec<f64> = entries.iter().map(|v| (v - mean).powi(2) * sf / (sf - 1.0)).collect();
                let variance = squares.iter().sum::<f64>() / sf;
                let spread = squares.iter().map(|q| (q - variance).powi(2)).sum::<f64>() / (sf - 1.0);
                let bound = (n * (variance + ERRORS * (spread / sf).sqrt())).sqrt();
                // Where the sample sees less than there is, as much less is seen of the residual.
                ((n * variance).sqrt(), if part < SEEN { f64::MAX } else { bound / part.sqrt().min(1.0) })
            })
            .collect()
    }
}

/// The core W of landmarks, as far as it magnifies errors (MATHS.md, M20).
struct Core {
    /// The smallest eigenvalue that is used.
    least: f64,
    /// Bounds on the error of W and on that of a kernel value, with the rounding of the map.
    of_core: f64,
    of_value: f64,
}

impl Core {
    /// The columns of the map have the lengths L_j^-1/2.
    fn of(map: &Block, error: f64, of_map: f64) -> Self {
        let values = (0..map.b()).map(|j| 1.0 / linalg::dot(map.col(j), map.col(j)));
        let (least, largest) = values.fold((f64::INFINITY, 0.0f64), |(low, high), v| (low.min(v), high.max(v)));
        let of_core = map.n() as f64 * error + linalg::solver_error(map.n()) * largest;
        Core { least, of_core, of_value: error + of_map }
    }

    /// With B = C W^-1, errors of W change C W^-1 C' by at most |B|^2 |dW|, and errors of C by at most 2 |B| |dC|. The norm
    /// of B comes from the features: |B|^2 = sum_j |f_j|^2 / L_j.
    fn magnified(&self, map: &Block, spread: &[f64], mean: &[f64], n: usize) -> f64 {
        let (nf, m) = (n as f64, map.n() as f64);
        let of_feature = |j: usize| (spread[j] + nf * mean[j] * mean[j]) * linalg::dot(map.col(j), map.col(j));
        let square: f64 = (0..map.b()).map(of_feature).sum();
        square * self.of_core + 2.0 * (square * nf * m).sqrt() * self.of_value
    }

    /// What the map makes of the rounding of sums of c c' with this trace.
    fn of_raw_sums(&self, trace: f64, of_sums: f64) -> f64 {
        if trace > 0.0 { of_sums * trace / self.least } else { 0.0 }
    }
}

/// A x.
fn times(a: &Block, x: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; a.n()];
    for (j, x) in x.iter().enumerate() {
        out.iter_mut().zip(a.col(j)).for_each(|(o, v)| *o += v * x);
    }
    out
}

fn symmetric(mut a: Block) -> Block {
    for j in 0..a.b() {
        for i in 0..j {
            let v = 0.5 * (a.at(i, j) + a.at(j, i));
            (*a.at_mut(i, j), *a.at_mut(j, i)) = (v, v);
        }
    }
    a
}

/// Turns columns so that the score of largest magnitude of a landmark is positive (M14); scores are `images` less `mean`.
fn turn(y: &mut Block, images: &Block, mean: &[f64]) {
    for j in 0..y.b() {
        let offset = linalg::dot(y.col(j), mean);
        let mut scores = Block::from_fn(images.n(), 1, |i, _| images.at(i, j) - offset);
        let before = scores.clone();
        sign::largest_positive(&mut scores);
        if scores != before {
            y.col_mut(j).iter_mut().for_each(|v| *v = -*v);
        }
    }
}
