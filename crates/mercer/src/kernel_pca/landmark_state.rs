//! Sums over batches of points, for kernel PCA by landmarks (MATHS.md, M20).
//!
//! ```text
//! c(x) = (k(x, l_1), ..., k(x, l_m))        W = K(landmarks, landmarks) = V L V'        f(x) = L^-1/2 V' c(x)
//! K ~ FF'. The error E = K - FF' is positive semi-definite: its trace, sum k(x, x) - |f(x)|^2, bounds all errors
//! ```
//!
//! The sums are of c c', with a fixed shift subtracted from c. f is a linear map of c, which is applied once, at the end.
//! If W is nearly singular this would lose digits. Then f itself is summed, which has few entries in that case.

use rayon::prelude::*;

use super::landmark_basis::LandmarkBasis;
use crate::block::Block;
use crate::error::{Error, ErrorKind, ErrorSubject, Result};
use crate::exec::Exec;
use crate::features::Standardise;
use crate::kernel::tile::{self, Form, LARGE_TILE, Rows, Scratch};
use crate::linalg;
use crate::points::{AnyPoints, PointsRef};
use crate::real::Real;
use crate::wire::{MOST_POINTS, Reader, Writer, damaged};

/// Rows whose features are computed and summed together: a few tiles for each of a few threads.
pub(super) const ROWS: usize = 8 * LARGE_TILE;
/// Landmarks per unit of work of a thread.
const STRIP: usize = 96;
/// The name of a state in its bytes.
const NAME: &str = "landmark kernel PCA";

/// Sums over points of their kernel values with landmarks. Their size does not depend on the number of points.
///
/// The states of parts of the data are added to get the state of all.
/// [`KernelPca::finish`](crate::KernelPca::finish) computes a model from a state.
///
/// # Example
/// ```
/// use mercer::state::{LandmarkState, Survey};
/// use mercer::{Exec, Gamma, Kernel, KernelPca, Landmarks, Points};
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
    /// The number of points; their total weight is the last of the products.
    n: u64,
    /// The number of features of a point.
    features: usize,
    /// The lower half of sum v v'. The vector v of a point has its features less their shift, its kernel values with the
    /// rows for which the error is measured, and a 1.
    products: Block,
    /// Sum of k(x, x).
    pub(super) own: f64,
}

/// Buffers for a few rows, reused for the next ones.
struct Room<T> {
    values: Vec<T>,
    mapped: Vec<T>,
    product: Vec<T>,
    tiles: Vec<(Vec<T>, Scratch<T>)>,
}

impl<T> Room<T> {
    fn new() -> Self {
        Room { values: Vec::new(), mapped: Vec::new(), product: Vec::new(), tiles: Vec::new() }
    }
}

impl LandmarkState {
    /// Returns the state of no points.
    pub fn new(basis: &LandmarkBasis) -> Self {
        let size = basis.width() + basis.sampled() + 1;
        LandmarkState { key: basis.key, n: 0, features: basis.width(), products: Block::zeros(size, size), own: 0.0 }
    }

    /// Returns the number of points.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// The total weight of the points.
    pub(super) fn weight(&self) -> f64 {
        self.products.at(self.last(), self.last())
    }

    /// The index of the 1 in the vector of a point.
    fn last(&self) -> usize {
        self.products.n() - 1
    }

    /// Sums of the features less their shift.
    pub(super) fn total(&self) -> Vec<f64> {
        (0..self.features).map(|j| self.products.at(self.last(), j)).collect()
    }

    /// Sums of the products of two features less their shift.
    pub(super) fn scatter(&self) -> Block {
        Block::from_fn(self.features, self.features, |i, j| self.products.at(i.max(j), i.min(j)))
    }

    /// For the rows for which the error is measured, sums of their kernel values with the points, and of these times the
    /// features.
    pub(super) fn measured(&self) -> (Vec<f64>, Block) {
        let rows = self.features..self.last();
        let plain = rows.clone().map(|i| self.products.at(self.last(), i)).collect();
        (plain, Block::from_fn(rows.len(), self.features, |i, j| self.products.at(rows.start + i, j)))
    }

    /// Adds a batch of points.
    ///
    /// # Errors
    /// When the basis is not the one of this state, the points have another number of columns, or values or kernel values
    /// are not finite. The state is then unchanged.
    pub fn update<'a, T: Real>(
        &mut self,
        basis: &LandmarkBasis,
        batch: impl Into<PointsRef<'a, T>>,
        exec: &Exec,
    ) -> Result<()> {
        self.update_any(basis, batch.into().into(), exec)
    }

    pub(crate) fn update_any(&mut self, basis: &LandmarkBasis, batch: AnyPoints<'_>, exec: &Exec) -> Result<()> {
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
        basis.bound.check(x)?;
        let mut sums = LandmarkState::new(basis);
        let (mut room, mut room32) = (Room::new(), Room::new());
        exec.run(|| {
            for start in (0..x.n()).step_by(ROWS) {
                exec.check_cancelled()?;
                let rows = Standardise::apply(basis.standardise.as_ref(), x.slice(start, x.n().min(start + ROWS)));
                sums.own += rows.rows().map(|row| basis.bound.kernel().self_value(row)).sum::<f64>();
                let rows = Rows::new(&basis.bound, rows, basis.columns.method());
                match &basis.columns32 {
                    Some(columns) => sums.add_rows(basis, &rows.to_f32(&basis.bound), columns, &mut room32, exec),
                    None => sums.add_rows(basis, &rows, &basis.columns, &mut room, exec),
                }
            }
            Ok(())
        })?;
        if sums.products.as_slice().iter().chain([&sums.own]).any(|v| !v.is_finite()) {
            return Err(ErrorKind::Range { what: ErrorSubject::GramMatrix, magnitude: f64::INFINITY }.into());
        }
        sums.n = x.n() as u64;
        self.add(&sums);
        Ok(())
    }

    /// Adds a few rows.
    fn add_rows<T: Real>(
        &mut self,
        basis: &LandmarkBasis,
        rows: &Rows<T>,
        columns: &Rows<T>,
        room: &mut Room<T>,
        exec: &Exec,
    ) {
        let (n, width) = (rows.n(), columns.n());
        let Room { values, mapped, product, tiles } = room;
        // A column of kernel values less the shift for each landmark, a column of kernel values for each row for which the
        // error is measured, and a column of ones.
        values.resize(n * (width + 1), T::ZERO);
        let (kernel, ones) = values.split_at_mut(n * width);
        ones.fill(T::ONE);
        tiles.resize_with(width.div_ceil(STRIP), || (Vec::new(), Scratch::new()));
        kernel.par_chunks_mut(STRIP * n).zip(tiles).enumerate().for_each(|(strip, (out, (tile, scratch)))| {
            let own = strip * STRIP..width.min((strip + 1) * STRIP);
            for start in (0..n).step_by(LARGE_TILE) {
                let piece = start..n.min(start + LARGE_TILE);
                tile.resize(own.len() * piece.len(), T::ZERO);
                let how = (&basis.bound, Form::Value, exec.level());
                tile::fill(how, (columns, own.clone()), (rows, piece.clone()), tile, scratch);
                for ((line, out), j) in tile.chunks_exact(piece.len()).zip(out.chunks_exact_mut(n)).zip(own.clone()) {
                    let shift = T::from_f64(basis.shift.get(j).copied().unwrap_or(0.0));
                    out[piece.clone()].iter_mut().zip(line).for_each(|(out, v)| *out = *v - shift);
                }
            }
        });
        if basis.mapped {
            linalg::map_columns(values, n, &basis.map, mapped);
        }
        linalg::add_lower(if basis.mapped { mapped } else { values }, n, product, &mut self.products);
    }

    /// Adds the points of another state.
    ///
    /// # Errors
    /// When it belongs to other landmarks. The state is then unchanged.
    pub fn merge(&mut self, other: &LandmarkState) -> Result<()> {
        if self.key != other.key || self.sizes() != other.sizes() {
            return Err(Error::inconsistent("states of different landmarks cannot be merged"));
        }
        self.add(other);
        Ok(())
    }

    fn add(&mut self, other: &LandmarkState) {
        self.n += other.n;
        self.own += other.own;
        let products = self.products.as_mut_slice().iter_mut();
        products.zip(other.products.as_slice()).for_each(|(mine, theirs)| *mine += theirs);
    }

    fn sizes(&self) -> (usize, usize) {
        (self.features, self.products.n())
    }

    pub(super) fn check(&self, basis: &LandmarkBasis) -> Result<()> {
        match self.key == basis.key && self.sizes() == (basis.width(), basis.width() + basis.sampled() + 1) {
            true => Ok(()),
            false => Err(Error::inconsistent("the state is of other landmarks than these")),
        }
    }

    /// Returns the state as bytes, for files and other machines, without the basis.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new(NAME);
        writer.count(self.key);
        writer.count(self.n);
        writer.number(self.own);
        writer.count(self.features as u64);
        writer.count(self.products.n() as u64);
        writer.lower_half(&self.products);
        writer.finish()
    }

    /// Reads a state from bytes.
    ///
    /// # Errors
    /// When the bytes are damaged, of another version, or not of such a state.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::open(bytes, NAME)?;
        let (key, n, own) = (reader.count()?, reader.count()?, reader.number()?);
        let (features, size) = (reader.size()?, reader.size()?);
        let products = reader.lower_half(size)?;
        reader.end()?;
        if features >= size || !(own.is_finite() && own >= 0.0) {
            return Err(damaged("the sizes do not fit together"));
        }
        if n > MOST_POINTS || products.at(size - 1, size - 1) != n as f64 || (0..size).any(|j| products.at(j, j) < 0.0)
        {
            return Err(damaged("the sums are not those of any points"));
        }
        Ok(LandmarkState { key, n, features, products, own })
    }
}
