//! The Gram operator of a kernel on points. It is computed tile by tile, and stored only on request.

use std::ops::Range;

use rayon::prelude::*;

use super::SymOp;
use super::pass::{self, Cache, Tiles};
use crate::block::Block;
use crate::error::{Error, ErrorKind, ErrorSubject, Result, check_finite};
use crate::exec::Exec;
use crate::kernel::Bound;
use crate::kernel::rounding::Extent;
use crate::kernel::tile::{self, DistanceMethod, Form, LARGE_TILE, Rows, Scratch, TILE};
use crate::linalg;
use crate::points::{Points, PointsRef};
use crate::real::Real;

/// The operator K_ij = k(x_i, x_j) (MATHS.md, M5), in f64, or in f32 for the first passes of a fit.
///
/// ```
/// use mercer::kernel::Bound;
/// use mercer::op::{Gram, SymOp};
/// use mercer::{Exec, Gamma, Kernel, Points};
/// let x = Points::from_rows(&[[0.0], [1.0]]);
/// let kernel = Bound::new(&Kernel::gaussian(Gamma::Value(1.0)), &x)?;
/// let gram = Gram::new(&kernel, &x)?.to_matrix(&Exec::new())?;
/// assert_eq!(gram.at(0, 0), 1.0);
/// assert!((gram.at(0, 1) - (-1f64).exp()).abs() < 1e-15);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Debug)]
pub struct Gram<T: Real = f64> {
    bound: Bound,
    rows: Rows<T>,
    form: Form,
    cache: Option<Cache<T>>,
    extent: Extent,
}

impl Gram {
    /// Builds the Gram operator of a bound kernel on points.
    ///
    /// # Errors
    /// When the points have another number of dimensions than the kernel is bound to, or are not finite.
    pub fn new<'a, T: Real>(bound: &Bound, points: impl Into<PointsRef<'a, T>>) -> Result<Self> {
        let points = points.into();
        points.check(1)?;
        points.check_dimensions(bound.d())?;
        let points = points.to_f64();
        Ok(Gram::of_points(bound, points))
    }

    pub(crate) fn of_points(bound: &Bound, points: Points<f64>) -> Self {
        let method = DistanceMethod::of(points.n());
        let rows = Rows::new(bound, points, method);
        let extent = Extent::of(bound.kernel(), rows.points(), rows.reach());
        Gram { rows, bound: bound.clone(), form: Form::Value, cache: None, extent }
    }

    /// The same operator up to terms that centring removes (MATHS.md, M6). Its smaller entries have more digits.
    pub fn up_to_centring(mut self) -> Self {
        self.form = Form::UpToCentring;
        self
    }

    /// Returns the same operator in f32, for the first passes: half the work; the last pass is in f64.
    pub(crate) fn to_f32(&self) -> Gram<f32> {
        let rows = self.rows.to_f32(&self.bound);
        let extent = Extent { reach: rows.reach(), ..self.extent };
        Gram { bound: self.bound.clone(), rows, form: self.form, cache: None, extent }
    }

    pub(crate) fn into_rows(self) -> Rows {
        self.rows
    }
}

/// k(x_i, y_j) for every pair: a row per x, a column per y.
///
/// # Errors
/// When points have another number of dimensions than the kernel is bound to or are not finite, or when a value is not.
///
/// # Example
/// ```
/// use mercer::kernel::Bound;
/// use mercer::{Exec, Gamma, Kernel, Points, op};
/// let (x, y) = (Points::from_rows(&[[0.0], [2.0]]), Points::from_rows(&[[0.0], [1.0], [3.0]]));
/// let k = Bound::new(&Kernel::gaussian(Gamma::Value(0.5)), &x)?;
/// let cross = op::cross_gram(&k, x.view(), y.view(), &Exec::new())?;
/// assert_eq!((cross.n(), cross.d()), (2, 3));
/// assert_eq!(cross.row(0)[0], 1.0);
/// # Ok::<(), mercer::Error>(())
/// ```
pub fn cross_gram<T: Real>(
    bound: &Bound,
    x: PointsRef<'_, T>,
    y: PointsRef<'_, T>,
    exec: &Exec,
) -> Result<Points<f64>> {
    for points in [x, y] {
        points.check(0)?;
        bound.check(points)?;
    }
    cross(bound, x.to_f64(), y.to_f64(), exec)
}

fn cross(bound: &Bound, x: Points<f64>, y: Points<f64>, exec: &Exec) -> Result<Points<f64>> {
    let (n, m) = (x.n(), y.n());
    let method = DistanceMethod::of(n.max(m));
    let (rows, cols) = (Rows::new(bound, x, method), Rows::new(bound, y, method));
    let mut values = vec![0.0; n * m];
    exec.run(|| {
        values.par_chunks_mut((TILE * m).max(1)).enumerate().try_for_each(|(strip, out)| -> Result<()> {
            exec.check_cancelled()?;
            let first = strip * TILE;
            let strip = first..first + out.len() / m;
            let (mut tile, mut scratch) = (vec![0.0; strip.len() * LARGE_TILE], Scratch::new());
            for start in (0..m).step_by(LARGE_TILE) {
                let piece = start..m.min(start + LARGE_TILE);
                let tile = &mut tile[..strip.len() * piece.len()];
                let how = (bound, Form::Value, exec.level());
                tile::fill(how, (&rows, strip.clone()), (&cols, piece.clone()), tile, &mut scratch);
                for (line, out) in tile.chunks_exact(piece.len()).zip(out.chunks_exact_mut(m)) {
                    out[piece.clone()].copy_from_slice(line);
                }
            }
            Ok(())
        })
    })?;
    check_finite(ErrorSubject::GramMatrix, &values, |at| (at / m, at % m))?;
    Points::new(values, n, m)
}

impl<T: Real> Gram<T> {
    pub(crate) fn rows(&self) -> &Rows<T> {
        &self.rows
    }

    pub(crate) fn bound(&self) -> &Bound {
        &self.bound
    }

    /// The extent of the points.
    pub(crate) fn extent(&self) -> &Extent {
        &self.extent
    }

    /// Caches computed tiles, up to this many bytes.
    pub(crate) fn cached(mut self, bytes: u128) -> Self {
        self.cache(bytes);
        self
    }

    /// Caches computed tiles, up to this many bytes, unless they are cached already.
    pub(crate) fn cache(&mut self, bytes: u128) {
        if self.cache.is_none() {
            self.cache = Cache::new(self.rows.n(), bytes);
        }
    }

    /// How far an entry can be from the exact one, entries being of the size `size`.
    pub(crate) fn entry_error(&self, size: f64) -> f64 {
        self.bound.entry_error(&self.extent, size, T::EPSILON)
    }

    /// The share of points too far from the middle for distances by products.
    pub(crate) fn far_share(&self) -> f64 {
        self.rows.far_share()
    }

    /// Y = K X; with a unit also the sum of squares of entries in that unit.
    fn multiply(&self, unit: Option<f64>, x: &Block, y: &mut Block, exec: &Exec) -> Result<f64> {
        for (what, found, expected) in [
            ("rows of the block", x.n(), self.rows.n()),
            ("rows of the result", y.n(), x.n()),
            ("columns of the result", y.b(), x.b()),
        ] {
            if found != expected {
                return Err(Error::shape(what, found, expected));
            }
        }
        if x.b() == 0 {
            return Ok(0.0);
        }
        let sum = exec.run(|| pass::multiply(self, self.cache.as_ref(), unit, x, y, exec))?;
        match (0..self.rows.n()).find(|i| (0..y.b()).any(|c| !y.at(*i, c).is_finite())) {
            None => Ok(sum),
            Some(row) => Err(self.not_finite(row, exec).into()),
        }
    }

    /// The error that names the entry of a row that is not finite.
    fn not_finite(&self, row: usize, exec: &Exec) -> ErrorKind {
        let mut value = [T::ZERO];
        let mut scratch = Scratch::new();
        for column in 0..self.rows.n() {
            Tiles::fill(self, row..row + 1, column..column + 1, &mut value, &mut scratch, exec);
            if !value[0].to_f64().is_finite() {
                return ErrorKind::NotFinite { what: ErrorSubject::GramMatrix, row, column, value: value[0].to_f64() };
            }
        }
        ErrorKind::Range { what: ErrorSubject::GramMatrix, magnitude: f64::INFINITY }
    }
}

impl<T: Real> Tiles<T> for Gram<T> {
    fn n(&self) -> usize {
        self.rows.n()
    }

    fn fill(&self, rows: Range<usize>, cols: Range<usize>, out: &mut [T], scratch: &mut Scratch<T>, exec: &Exec) {
        let how = (&self.bound, self.form, exec.level());
        tile::fill(how, (&self.rows, rows), (&self.rows, cols), out, scratch);
    }
}

impl<T: Real> SymOp for Gram<T> {
    fn n(&self) -> usize {
        self.rows.n()
    }

    fn apply(&self, x: &Block, y: &mut Block, exec: &Exec) -> Result<()> {
        self.multiply(None, x, y, exec).map(|_| ())
    }

    fn apply_with_norm(&self, x: &Block, y: &mut Block, exec: &Exec) -> Result<Option<f64>> {
        // In a unit near to the largest entries no square leaves the range of f64.
        let unit = linalg::power_of_two(self.bound.largest_value(self.extent.square));
        self.multiply(Some(unit), x, y, exec).map(|sum| Some(sum.sqrt() * unit))
    }

    fn diagonal(&self, exec: &Exec) -> Result<Option<Vec<f64>>> {
        let mut scratch = Scratch::new();
        let mut value = [T::ZERO];
        let own = (0..self.rows.n()).map(|i| {
            Tiles::fill(self, i..i + 1, i..i + 1, &mut value, &mut scratch, exec);
            value[0].to_f64()
        });
        Ok(Some(own.collect()))
    }

    /// Computes each tile of the lower half once.
    fn to_matrix(&self, exec: &Exec) -> Result<Block> {
        let n = self.rows.n();
        let mut matrix = Block::zeros(n, n);
        // A strip of TILE columns is contiguous, so that each thread can write to its own strips.
        matrix.as_mut_slice().par_chunks_mut(n * TILE).enumerate().try_for_each(|(strip, out)| -> Result<()> {
            exec.check_cancelled()?;
            let cols = strip * TILE..n.min((strip + 1) * TILE);
            let (mut values, mut scratch) = (vec![T::ZERO; TILE * TILE], Scratch::new());
            for start in (cols.start..n).step_by(TILE) {
                let rows = start..n.min(start + TILE);
                let values = &mut values[..rows.len() * cols.len()];
                // Symmetric: columns of the matrix are filled as rows of the tile.
                Tiles::fill(self, cols.clone(), rows.clone(), values, &mut scratch, exec);
                for (j, line) in values.chunks_exact(rows.len()).enumerate() {
                    let column = &mut out[j * n..][rows.clone()];
                    column.iter_mut().zip(line).for_each(|(out, v)| *out = v.to_f64());
                }
            }
            Ok(())
        })?;
        linalg::mirror_lower(&mut matrix);
        matrix.check_finite(ErrorSubject::GramMatrix)?;
        Ok(matrix)
    }
}
