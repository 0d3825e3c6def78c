//! Kernel PCA by landmarks of points that come in batches (MATHS.md, M20).
//!
//! ```text
//! c(x) = (k(x, l_1), ..., k(x, l_m))        W = K(landmarks, landmarks) = V L V'        f(x) = L^-1/2 V' c(x)
//! K ~ FF', and what is left, E = K - FF', is positive semi-definite: its trace, sum k(x, x) - |f(x)|^2, bounds all errors
//! ```
//!
//! What is summed over the points is c c' less a fixed shift: f is a linear map of c, which is applied once, at the end.
//! Where W is nearly singular that would lose digits, and f itself is summed, which then has few entries.

use rayon::prelude::*;

use super::{KernelPca, KernelPcaModel};
use crate::block::Block;
use crate::eigen::{Approximation, Certificate, check_range, rounding_of_products, sign};
use crate::error::{Error, ErrorKind, Result};
use crate::exec::Exec;
use crate::features::{Features, Standardise};
use crate::kernel::tile::{self, Form, LARGE_TILE, Means, Rows, Scratch};
use crate::kernel::{Bound, Choice};
use crate::linalg;
use crate::op::{Gram, SymOp};
use crate::points::{AnyPoints, Points, PointsRef};
use crate::real::Real;
use crate::spectrum::Spectrum;
use crate::wire::{MOST_POINTS, Reader, Writer, damaged};

/// Rows whose features are computed and summed together: a few tiles for each of a few threads.
const ROWS: usize = 8 * LARGE_TILE;
/// Columns of a sum that are one thread's work.
const STRIP: usize = 64;
/// Where the eigenvalues of W reach down to this share of the largest, c is summed and f found at the end; in f32 down to the
/// second one.
const RAW: f64 = 1e-7;
const RAW_NARROW: f64 = 1e-6;
/// Below this share of the largest, eigenvalues of W are rounding, and left out.
const CUT: f64 = 1e-12;
/// How many standard errors the bound on a sampled residual lies above its estimate, and the confidence that goes with it.
const ERRORS: f64 = 6.0;
const CONFIDENCE: f64 = 0.95;
/// The sample has to see so much of a component, whose squares sum to 1, to say something about its residual: components that
/// live on a few points are not seen by a few rows.
const SEEN: f64 = 0.6;
/// The names of the states in their bytes.
const BASIS: &str = "landmarks";
const SUMS: &str = "landmark kernel PCA";

/// What stays fixed while points go by: the kernel with its numbers, the landmarks, and a few rows of the data for which the
/// error is measured. It is made once and goes to whoever sees a part of the points.
#[derive(Clone, Debug)]
pub struct LandmarkBasis {
    bound: Bound,
    standardise: Option<Standardise>,
    /// The landmarks, then the rows for which the error is measured, all standardised.
    columns: Rows,
    narrow: Option<Rows<f32>>,
    m: usize,
    /// About the mean of the kernel rows: what is subtracted before anything is summed.
    shift: Vec<f64>,
    /// V L^-1/2, a column per feature.
    map: Block,
    /// Whether f is summed in place of c.
    mapped: bool,
    /// A number that stands for all of this.
    key: u64,
}

/// What is known of points by their kernel values with landmarks: sums over the points, whose size does not depend on how
/// many there are.
///
/// States of parts of the data merge into that of the whole by addition. [`KernelPca::finish`] makes a model of one.
///
/// # Example
/// ```
/// use mercer::{Exec, Gamma, Kernel, KernelPca, LandmarkState, Landmarks, Points, Survey};
/// let x = Points::from_fn(500, 2, |i, j| (i as f64 * 0.1 + j as f64).sin());
/// let spec = KernelPca::new(Kernel::gaussian(Gamma::Value(1.0))).components(2).landmarks(Landmarks::KMeans(40));
/// let exec = Exec::new();
/// let mut survey = Survey::new(2, spec.sample_size(), 0);
/// survey.update(&x, &exec)?; // first pass over the batches
/// let basis = spec.basis(&survey, &exec)?;
/// let mut state = LandmarkState::new(&basis);
/// state.update(&basis, &x, &exec)?; // second pass
/// let model = spec.finish(&basis, &state, &exec)?;
/// assert_eq!(model.n(), 500);
/// assert!(model.certificate().approximation().is_some_and(|a| a.trace_error() < 1e-3 * 500.0));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LandmarkState {
    key: u64,
    n: u64,
    /// Sums over the points of their features less the shift, and of the products of these (lower half).
    total: Vec<f64>,
    scatter: Block,
    /// Sum of k(x, x).
    own: f64,
    /// For the rows for which the error is measured: sums of their kernel values with the points, plain and times the features.
    seen: Vec<f64>,
    cross: Block,
}

impl LandmarkBasis {
    /// Of a bound kernel; the landmarks, the rows for which the error is measured, and rows that are about where all are, as
    /// the kernel sees them.
    pub(super) fn new(
        bound: Bound,
        standardise: Option<Standardise>,
        landmarks: Points<f64>,
        (sampled, about): (Points<f64>, &Points<f64>),
        narrow: bool,
        exec: &Exec,
    ) -> Result<Self> {
        if !bound.kernel().is_psd() {
            return Err(ErrorKind::Unsupported {
                what: format!(
                    "kernel '{}' may have negative eigenvalues, and landmarks need one that has none",
                    bound.kernel()
                ),
                remedy: "fit it exactly, or choose a positive semi-definite kernel".into(),
            }
            .into());
        }
        let inner = Gram::of_points(&bound, landmarks.clone()).to_matrix(exec)?;
        let m = inner.n();
        let largest = (0..m).map(|i| inner.at(i, i)).fold(0.0, f64::max);
        check_range(m, largest)?;
        let shift = mean_row(&bound, &landmarks, about, exec);
        let (values, vectors) = linalg::eigh(inner)?;
        let least = |share: f64| values.last().is_some_and(|v| *v > (share * values[0]).max(0.0));
        let mapped = !least(RAW);
        let r = if mapped { values.iter().take_while(|v| **v > (CUT * values[0]).max(0.0)).count() } else { m };
        let mut map = vectors.first(r);
        for (j, value) in values.iter().take(r).enumerate() {
            map.col_mut(j).iter_mut().for_each(|v| *v /= value.sqrt());
        }
        let narrow = narrow && least(RAW_NARROW);
        let mut points = landmarks.into_vec();
        points.extend(sampled.as_slice());
        let points = Points::new(points, m + sampled.n(), bound.d())?;
        Ok(LandmarkBasis::put_together(bound, standardise, points, m, shift, map, mapped, narrow))
    }

    #[allow(clippy::too_many_arguments)]
    fn put_together(
        bound: Bound,
        standardise: Option<Standardise>,
        points: Points<f64>,
        m: usize,
        shift: Vec<f64>,
        map: Block,
        mapped: bool,
        narrow: bool,
    ) -> Self {
        let key = crate::fingerprint(points.as_slice())
            ^ crate::fingerprint(map.as_slice()).rotate_left(17)
            ^ crate::fingerprint(&bound.kernel().to_string().bytes().map(f64::from).collect::<Vec<f64>>());
        let columns = Rows::new(&bound, points, Means::of(m));
        let narrow = narrow.then(|| columns.narrow(&bound));
        LandmarkBasis { bound, standardise, columns, narrow, m, shift, map, mapped, key }
    }

    /// Number of landmarks.
    pub fn landmarks(&self) -> usize {
        self.m
    }

    /// Number of dimensions of the points.
    pub fn d(&self) -> usize {
        self.bound.d()
    }

    /// The kernel, with numbers only.
    pub fn kernel(&self) -> &crate::Kernel {
        self.bound.kernel()
    }

    /// What the kernel's automatic parameters became.
    pub fn choices(&self) -> &[Choice] {
        self.bound.choices()
    }

    pub(super) fn bound(&self) -> &Bound {
        &self.bound
    }

    pub(super) fn standardise(&self) -> Option<&Standardise> {
        self.standardise.as_ref()
    }

    /// Features that are summed.
    fn width(&self) -> usize {
        if self.mapped { self.map.b() } else { self.m }
    }

    fn sampled(&self) -> usize {
        self.columns.n() - self.m
    }

    /// The basis as bytes, for files and other machines.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new(BASIS);
        writer.text(&self.bound.kernel().to_string());
        writer.count(self.bound.d() as u64);
        writer.flag(self.bound.uses_deviations());
        writer.numbers(self.bound.shift());
        writer.flag(self.standardise.is_some());
        if let Some(s) = &self.standardise {
            writer.numbers(&s.mean);
            writer.numbers(&s.scale);
        }
        writer.count(self.m as u64);
        writer.numbers(self.columns.points().as_slice());
        writer.numbers(&self.shift);
        writer.count(self.map.b() as u64);
        writer.numbers(self.map.as_slice());
        writer.flag(self.mapped);
        writer.flag(self.narrow.is_some());
        writer.finish()
    }

    /// The basis that these bytes are of.
    ///
    /// # Errors
    /// When they are damaged, of another version, or not of a basis.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::open(bytes, BASIS)?;
        let kernel = reader.text()?.parse()?;
        let d = reader.size()?;
        let deviation = reader.flag()?;
        let shift = reader.finite("shift", d)?;
        let bound = Bound::from_parts(kernel, d, deviation, shift)?;
        let standardise = match reader.flag()? {
            true => {
                let (mean, scale) = (reader.finite("mean", d)?, reader.finite("scale", d)?);
                if scale.iter().any(|s| *s <= 0.0) {
                    return Err(damaged("a scale is not positive"));
                }
                Some(Standardise { mean, scale })
            }
            false => None,
        };
        let m = reader.size()?;
        let points = reader.numbers()?;
        let rows = points.len().checked_div(d).unwrap_or(0);
        if m == 0 || rows < m || rows * d != points.len() || points.iter().any(|v| !v.is_finite()) {
            return Err(damaged("their landmarks do not fit their dimensions"));
        }
        let points = Points::new(points, rows, d)?;
        points.view().check_not_huge()?;
        let shift = reader.finite("means", m)?;
        let r = reader.size()?;
        let map = reader.finite("maps", m.checked_mul(r).ok_or_else(|| damaged("their map is beyond all measure"))?)?;
        let map = Block::from_columns(map, m, r).ok_or_else(|| damaged("their map has another size"))?;
        let (mapped, narrow) = (reader.flag()?, reader.flag()?);
        reader.end()?;
        if r > m || !mapped && r != m || !bound.kernel().is_psd() {
            return Err(damaged("their parts do not fit together"));
        }
        Ok(LandmarkBasis::put_together(bound, standardise, points, m, shift, map, mapped, narrow))
    }
}

impl LandmarkState {
    /// Of no points.
    pub fn new(basis: &LandmarkBasis) -> Self {
        let (r, s) = (basis.width(), basis.sampled());
        LandmarkState {
            key: basis.key,
            n: 0,
            total: vec![0.0; r],
            scatter: Block::zeros(r, r),
            own: 0.0,
            seen: vec![0.0; s],
            cross: Block::zeros(s, r),
        }
    }

    /// Number of points seen.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// Takes a batch of points.
    ///
    /// # Errors
    /// When the basis is another, the points have other dimensions, or values or kernel values are not finite; the state is
    /// then as it was.
    pub fn update<'a, T: Real>(
        &mut self,
        basis: &LandmarkBasis,
        batch: impl Into<PointsRef<'a, T>>,
        exec: &Exec,
    ) -> Result<()> {
        self.update_any(basis, batch.into().into(), exec)
    }

    fn update_any(&mut self, basis: &LandmarkBasis, batch: AnyPoints<'_>, exec: &Exec) -> Result<()> {
        match batch {
            AnyPoints::F64(x) => self.update_points(basis, x, exec),
            AnyPoints::F32(x) => self.update_points(basis, x, exec),
        }
    }

    fn update_points<T: Real>(&mut self, basis: &LandmarkBasis, x: PointsRef<'_, T>, exec: &Exec) -> Result<()> {
        self.check(basis)?;
        x.check_dimensions(basis.d())?;
        if x.n() == 0 {
            return Ok(());
        }
        x.check(0)?;
        x.check_not_huge()?;
        let mut sums = LandmarkState::new(basis);
        let (mut room, mut narrow_room) = (Vec::new(), Vec::new());
        exec.run(|| {
            for start in (0..x.n()).step_by(ROWS) {
                exec.go_on()?;
                let rows = Standardise::apply(basis.standardise.as_ref(), x.slice(start, x.n().min(start + ROWS)));
                sums.n += rows.n() as u64;
                sums.own += rows.rows().map(|row| basis.bound.kernel().self_value(row)).sum::<f64>();
                let rows = Rows::new(&basis.bound, rows, basis.columns.means());
                match &basis.narrow {
                    Some(columns) => sums.add_rows(basis, &rows.narrow(&basis.bound), columns, &mut narrow_room, exec),
                    None => sums.add_rows(basis, &rows, &basis.columns, &mut room, exec),
                }
            }
            Ok(())
        })?;
        let numbers = sums.total.iter().chain(sums.scatter.as_slice()).chain(&sums.seen).chain([&sums.own]);
        if numbers.into_iter().any(|v| !v.is_finite()) {
            return Err(ErrorKind::Range { what: "Gram matrix", magnitude: f64::INFINITY }.into());
        }
        self.add(&sums);
        Ok(())
    }

    /// Adds what a few rows give; `room` is kept for the next.
    fn add_rows<T: Real>(
        &mut self,
        basis: &LandmarkBasis,
        rows: &Rows<T>,
        columns: &Rows<T>,
        room: &mut Vec<T>,
        exec: &Exec,
    ) {
        let (n, m, width) = (rows.n(), basis.m, columns.n());
        // Kernel values with landmarks, less the shift, and with the rows for which the error is measured, plain.
        let mut values = vec![T::ZERO; n * width];
        values.par_chunks_mut(LARGE_TILE * width).enumerate().for_each(|(strip, out)| {
            let first = strip * LARGE_TILE;
            let height = out.len() / width;
            let (mut tile, mut scratch) = (vec![T::ZERO; height * LARGE_TILE], Scratch::new());
            for start in (0..width).step_by(LARGE_TILE) {
                let piece = start..width.min(start + LARGE_TILE);
                let tile = &mut tile[..height * piece.len()];
                let how = (&basis.bound, Form::Value, exec.level());
                tile::fill(how, (rows, first..first + height), (columns, piece.clone()), tile, &mut scratch);
                let shift: Vec<T> =
                    piece.clone().map(|j| basis.shift.get(j).map_or(T::ZERO, |s| T::from_f64(*s))).collect();
                for (line, out) in tile.chunks_exact(piece.len()).zip(out.chunks_exact_mut(width)) {
                    for ((out, v), s) in out[piece.clone()].iter_mut().zip(line).zip(&shift) {
                        *out = *v - *s;
                    }
                }
            }
        });
        let mapped;
        let (features, feature_width, r) = if basis.mapped {
            mapped = linalg::mapped_rows(&values, width, &basis.map);
            (&mapped, basis.map.b(), basis.map.b())
        } else {
            (&values, width, m)
        };
        let s = basis.sampled();
        if r == 0 {
            return; // the kernel is 0 on all landmarks
        }
        linalg::add_lower(features, (feature_width, r), room, &mut self.scatter);
        self.total.par_chunks_mut(STRIP).enumerate().for_each(|(strip, total)| {
            let columns = strip * STRIP..strip * STRIP + total.len();
            for row in features.chunks_exact(feature_width) {
                total.iter_mut().zip(&row[columns.clone()]).for_each(|(t, v)| *t += v.to_f64());
            }
        });
        if s > 0 {
            self.cross.as_mut_slice().par_chunks_mut(STRIP * s).enumerate().for_each(|(strip, cross)| {
                let columns = strip * STRIP..strip * STRIP + cross.len() / s;
                linalg::add_cross((&values, width, m..m + s), (features, feature_width, columns), cross);
            });
        }
        for row in values.chunks_exact(width) {
            self.seen.iter_mut().zip(&row[m..]).for_each(|(sum, v)| *sum += v.to_f64());
        }
    }

    /// Takes all that another state has seen.
    ///
    /// # Errors
    /// When it is of other landmarks; the state is then as it was.
    pub fn merge(&mut self, other: &LandmarkState) -> Result<()> {
        if self.key != other.key || self.sizes() != other.sizes() {
            return Err(Error::inconsistent("states of different landmarks do not merge"));
        }
        self.add(other);
        Ok(())
    }

    fn add(&mut self, other: &LandmarkState) {
        let sum = |mine: &mut [f64], theirs: &[f64]| mine.iter_mut().zip(theirs).for_each(|(a, b)| *a += b);
        self.n += other.n;
        self.own += other.own;
        sum(&mut self.total, &other.total);
        sum(&mut self.seen, &other.seen);
        sum(self.scatter.as_mut_slice(), other.scatter.as_slice());
        sum(self.cross.as_mut_slice(), other.cross.as_slice());
    }

    fn sizes(&self) -> (usize, usize) {
        (self.total.len(), self.seen.len())
    }

    fn check(&self, basis: &LandmarkBasis) -> Result<()> {
        match self.key == basis.key && self.sizes() == (basis.width(), basis.sampled()) {
            true => Ok(()),
            false => Err(Error::inconsistent("the state is of other landmarks than these")),
        }
    }

    /// The state as bytes, for files and other machines; the basis is not among them.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new(SUMS);
        writer.count(self.key);
        writer.count(self.n);
        writer.number(self.own);
        writer.numbers(&self.total);
        writer.lower_half(&self.scatter);
        writer.numbers(&self.seen);
        writer.numbers(self.cross.as_slice());
        writer.finish()
    }

    /// The state that these bytes are of.
    ///
    /// # Errors
    /// When they are damaged, of another version, or not of such a state.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::open(bytes, SUMS)?;
        let (key, n, own) = (reader.count()?, reader.count()?, reader.number()?);
        let total = reader.numbers()?;
        let r = total.len();
        let scatter = reader.lower_half(r)?;
        let seen = reader.numbers()?;
        let s = seen.len();
        let cross = reader.finite("sums", s.checked_mul(r).ok_or_else(|| damaged("a sum is beyond all measure"))?)?;
        reader.end()?;
        if !(own.is_finite() && own >= 0.0) || total.iter().chain(&seen).any(|v| !v.is_finite()) {
            return Err(damaged("their sums are not finite"));
        }
        if n > MOST_POINTS || (0..r).any(|j| scatter.at(j, j) < 0.0) {
            return Err(damaged("their sums cannot be those of points"));
        }
        let cross = Block::from_columns(cross, s, r).ok_or_else(|| damaged("a sum has another size"))?;
        Ok(LandmarkState { key, n, total, scatter, own, seen, cross })
    }
}

impl KernelPca {
    /// The model of all points that a state has seen: their kernel PCA by landmarks.
    ///
    /// # Errors
    /// When the state is of other landmarks, or of fewer than two points.
    pub fn finish(&self, basis: &LandmarkBasis, state: &LandmarkState, exec: &Exec) -> Result<KernelPcaModel> {
        state.check(basis)?;
        self.components.validate("kernel pca")?;
        let n = usize::try_from(state.n).unwrap_or(usize::MAX);
        if n < 2 {
            return Err(ErrorKind::TooFew { what: "points", found: n, needed: 2 }.into());
        }
        exec.run(|| self.finish_sums(basis, state, n, exec))
    }

    fn finish_sums(
        &self,
        basis: &LandmarkBasis,
        state: &LandmarkState,
        n: usize,
        exec: &Exec,
    ) -> Result<KernelPcaModel> {
        let (nf, map) = (n as f64, &basis.map);
        let about: Vec<f64> = state.total.iter().map(|t| t / nf).collect(); // the mean, from the shift on
        let mut scatter = state.scatter.clone();
        linalg::mirror_lower(&mut scatter);
        for j in 0..scatter.b() {
            for (i, v) in scatter.col_mut(j).iter_mut().enumerate() {
                *v -= state.total[i] * about[j];
            }
        }
        // The scatter and the mean of the features f, and how they come from the sums.
        let shift = times(&map.transposed(), &basis.shift);
        let (spread, mean) = if basis.mapped {
            (scatter, shift.iter().zip(&about).map(|(s, a)| s + a).collect::<Vec<f64>>())
        } else {
            let spread = linalg::inner_products(map, &linalg::product(&scatter, map));
            (spread, shift.iter().zip(times(&map.transposed(), &about)).map(|(s, a)| s + a).collect())
        };
        exec.go_on()?;
        let (values, vectors) = match spread.n() {
            0 => (Vec::new(), Block::zeros(0, 0)),
            _ => linalg::eigh(symmetric(spread))?,
        };
        let kept: f64 = values.iter().map(|v| v.max(0.0)).sum();
        let grand_mean = linalg::dot(&mean, &mean);
        let size = state.own / nf;
        let epsilon = if basis.narrow.is_some() { f64::from(f32::EPSILON) } else { f64::EPSILON };
        let square = basis.columns.points().rows().map(|x| linalg::dot(x, x)).fold(0.0, f64::max);
        let error = basis.bound.entry_error(square, basis.columns.reach(), size, epsilon);
        let rounding = rounding_of_products(n, error, size, epsilon);
        // What is below the rounding of a sum of n numbers is no error that anybody made.
        let left = state.own - kept - nf * grand_mean;
        let trace_error = if left > 4.0 * epsilon * state.own { left } else { 0.0 };
        let total = kept + trace_error;
        let rank = values.iter().take_while(|v| **v > rounding).count();
        let k = self.components.count(&values, total, rank);

        // z(x) = Y'(f(x) - mean), f(x) = map' c(x).
        let mut y = vectors.first(k);
        let landmarks = Points::from_fn(basis.m, basis.d(), |i, j| basis.columns.points().row(i)[j]);
        let rows = Rows::new(&basis.bound, landmarks, basis.columns.means());
        let own = Gram::of_points(&basis.bound, rows.points().clone()).to_matrix(exec)?;
        let images = linalg::product(&own, &linalg::product(map, &y));
        turn(&mut y, &images, &mean);
        let weights = linalg::product(map, &y);
        let offset = times(&y.transposed(), &mean);

        let sampled = self.sampled_residuals(basis, state, (&values[..k], &y, &weights, &offset), &about, exec);
        let approximation = Approximation::new(basis.m, trace_error, total, basis.sampled(), sampled, CONFIDENCE);
        let mut notes = self.unreached(&approximation);
        let certificate = Certificate::of_landmarks(&values, k, approximation, rounding);
        notes.extend(Spectrum::ties(&values, k, 2.0 * rounding));
        let spectrum = Spectrum {
            eigenvalues: values[..k].to_vec(),
            total,
            discarded: total - values[..k].iter().sum::<f64>(),
            rank: k,
            complete: false,
            n,
            centred: true,
        };
        let features = Features::Kernel {
            bound: basis.bound.clone(),
            landmarks: rows,
            standardise: basis.standardise.clone(),
            form: Form::Value,
        };
        let mean_weights = times(map, &mean);
        KernelPcaModel::of_landmarks(
            features,
            weights,
            offset,
            (mean_weights, grand_mean),
            spectrum,
            certificate,
            notes,
        )
    }

    /// |K~u - lambda u| of each component, estimated from the rows for which K u is known, with a bound of some standard
    /// errors above it: the entries of a residual sum to 0, so that its square is n times their variance.
    fn sampled_residuals(
        &self,
        basis: &LandmarkBasis,
        state: &LandmarkState,
        (values, y, weights, offset): (&[f64], &Block, &Block, &[f64]),
        about: &[f64],
        exec: &Exec,
    ) -> Vec<(f64, f64)> {
        let (s, m, n) = (basis.sampled(), basis.m, state.n as f64);
        if s < 2 {
            return Vec::new();
        }
        let summed = if basis.mapped { y } else { weights }; // z from the features that are summed
        let images = linalg::product(&state.cross, summed);
        let of_mean = times(&summed.transposed(), about);
        let mut own = vec![0.0; s * m];
        let how = (&basis.bound, Form::Value, exec.level());
        for (i, out) in own.chunks_exact_mut(m).enumerate() {
            tile::fill(how, (&basis.columns, m + i..m + i + 1), (&basis.columns, 0..m), out, &mut Scratch::new());
        }
        (0..values.len())
            .map(|j| {
                let score = |i: usize| linalg::dot(&own[i * m..(i + 1) * m], weights.col(j)) - offset[j];
                let scores: Vec<f64> = (0..s).map(score).collect();
                let image = |i: usize| images.at(i, j) - state.seen[i] * of_mean[j];
                let root = values[j].sqrt();
                let entries: Vec<f64> = (0..s).map(|i| (image(i) - values[j] * scores[i]) / root).collect();
                let sf = s as f64;
                let part = linalg::dot(&scores, &scores) / values[j] * n / sf;
                let mean = entries.iter().sum::<f64>() / sf;
                let squares: Vec<f64> = entries.iter().map(|v| (v - mean).powi(2) * sf / (sf - 1.0)).collect();
                let variance = squares.iter().sum::<f64>() / sf;
                let spread = squares.iter().map(|q| (q - variance).powi(2)).sum::<f64>() / (sf - 1.0);
                let bound = (n * (variance + ERRORS * (spread / sf).sqrt())).sqrt();
                // Where the sample sees less of the component than there is, as much less is seen of the residual.
                ((n * variance).sqrt(), if part < SEEN { f64::MAX } else { bound / part.sqrt().min(1.0) })
            })
            .collect()
    }
}

/// The mean of the kernel values of rows with each landmark.
fn mean_row(bound: &Bound, landmarks: &Points<f64>, rows: &Points<f64>, exec: &Exec) -> Vec<f64> {
    let (n, m) = (rows.n().min(ROWS), landmarks.n());
    let means = Means::of(m);
    let rows = Rows::new(bound, Points::from_fn(n, rows.d(), |i, j| rows.row(i)[j]), means);
    let landmarks = Rows::new(bound, landmarks.clone(), means);
    let (mut line, mut mean) = (vec![0.0; m], vec![0.0; m]);
    for i in 0..n {
        let how = (bound, Form::Value, exec.level());
        tile::fill(how, (&rows, i..i + 1), (&landmarks, 0..m), &mut line, &mut Scratch::new());
        mean.iter_mut().zip(&line).for_each(|(mean, v)| *mean += v / n as f64);
    }
    mean
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
