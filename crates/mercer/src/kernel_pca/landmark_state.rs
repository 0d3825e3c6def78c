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

use super::landmark_basis::LandmarkBasis;
use crate::block::Block;
use crate::error::{Error, ErrorKind, Result};
use crate::exec::Exec;
use crate::features::Standardise;
use crate::kernel::tile::{self, Form, LARGE_TILE, Rows, Scratch};
use crate::linalg;
use crate::points::{AnyPoints, PointsRef};
use crate::real::Real;
use crate::wire::{MOST_POINTS, Reader, Writer, damaged};

/// Rows whose features are computed and summed together: a few tiles for each of a few threads.
const ROWS: usize = 8 * LARGE_TILE;
/// Columns of a sum that are one thread's work.
const STRIP: usize = 64;
/// The name of a state in its bytes.
const NAME: &str = "landmark kernel PCA";

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
    pub(super) n: u64,
    /// Sums over the points of their features less the shift, and of the products of these (lower half).
    pub(super) total: Vec<f64>,
    pub(super) scatter: Block,
    /// Sum of k(x, x).
    pub(super) own: f64,
    /// For the rows for which the error is measured: sums of their kernel values with the points, plain and times the features.
    pub(super) seen: Vec<f64>,
    pub(super) cross: Block,
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

    pub(super) fn check(&self, basis: &LandmarkBasis) -> Result<()> {
        match self.key == basis.key && self.sizes() == (basis.width(), basis.sampled()) {
            true => Ok(()),
            false => Err(Error::inconsistent("the state is of other landmarks than these")),
        }
    }

    /// The state as bytes, for files and other machines; the basis is not among them.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new(NAME);
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
        let mut reader = Reader::open(bytes, NAME)?;
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
