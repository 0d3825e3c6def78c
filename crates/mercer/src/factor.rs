//! The factor of a scatter: rows R with R'R = sum (x - mean)(x - mean)'. Factors merge as moments do, and keep the small
//! components that the scatter itself would lose (MATHS.md, M19).

use crate::error::Result;
use crate::exec::Exec;
use crate::linalg;
use crate::moments::{Columns, UNIT, fold};
use crate::points::{Points, PointsRef};
use crate::real::Real;
use crate::wire::{Reader, Writer};

/// Rows are replaced by a triangle if there are more than this many times d of them, and more than this many.
const TIMES: usize = 4;
const LEAST: usize = 512;
/// The relative error of the product of two centred values, and of the row for the distance of two means, in units of
/// [`UNIT`].
const OF_ROWS: f64 = 8.0;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Factor {
    columns: Columns,
    rows: Points<f64>,
    /// An estimate of |R'R - S| relative to the trace of S (MATHS.md, M24).
    error: f64,
}

impl Factor {
    pub(crate) fn empty(d: usize) -> Self {
        Factor { columns: Columns::empty(d), rows: Points::from_fn(0, d, |_, _| 0.0), error: 0.0 }
    }

    /// The factor of points. It does not depend on the number of threads.
    pub(crate) fn of_with<T: Real>(x: PointsRef<'_, T>, exec: &Exec) -> Result<Self> {
        x.check_shape(0)?;
        let absorb = |sum: &mut Factor, x: PointsRef<'_, T>, _: &mut ()| sum.add(&Factor::of_chunk(x, &sum.columns));
        let factor = fold(x, exec, Factor::empty, absorb, Factor::add)?;
        factor.columns.check(x)?;
        Ok(factor)
    }

    fn of_chunk<T: Real>(x: PointsRef<'_, T>, before: &Columns) -> Self {
        let d = x.d();
        let mut centred = vec![0.0; x.n() * d];
        let keep = |first: usize, rows: &[f64]| centred[first * d..first * d + rows.len()].copy_from_slice(rows);
        let (columns, left) = Columns::of_chunk(x, before.guess(), &mut Vec::new(), keep);
        let rows = Points::from_fn(x.n(), d, |i, j| centred[i * d + j] - left[j]);
        Factor { columns, rows, error: OF_ROWS * UNIT }
    }

    /// The factor of both sets together: the rows of both, and one for the distance between their means.
    pub(crate) fn add(&mut self, other: &Factor) {
        if self.columns.n() == 0 {
            *self = other.clone();
        } else if let Some((gap, weight)) = self.columns.add(&other.columns) {
            let d = gap.len();
            let mut rows = std::mem::replace(&mut self.rows, Points::from_fn(0, d, |_, _| 0.0)).into_vec();
            rows.extend(other.rows.as_slice());
            rows.extend(gap.iter().map(|g| g * weight.sqrt()));
            let n = rows.len() / d;
            self.rows = Points::new(rows, n, d).expect("whole rows");
            self.error = self.error.max(other.error);
        }
        if self.rows.n() > LEAST.max(TIMES * self.rows.d()) {
            self.reduce();
        }
    }

    /// The same factor with at most d rows.
    fn reduce(&mut self) {
        if self.rows.n() > self.rows.d() {
            self.rows = linalg::triangle(&self.rows);
            self.error += 2.0 * linalg::solver_error(self.rows.d());
        }
    }

    /// An estimate of the error of R'R for the rows of [`Factor::scaled`], relative to its trace.
    pub(crate) fn error(&self) -> f64 {
        self.error + 2.0 * linalg::solver_error(self.rows.d())
    }

    pub(crate) fn columns(&self) -> &Columns {
        &self.columns
    }

    /// Rows with the same scatter about the mean, or with the same sum of x x', divided by a scale.
    pub(crate) fn scaled(&self, centred: bool, scale: &[f64]) -> Points<f64> {
        let (columns, d) = (&self.columns, scale.len());
        let mut rows = self.rows.as_slice().to_vec();
        for row in rows.chunks_exact_mut(d.max(1)) {
            for j in (0..d).filter(|j| columns.is_constant(*j)) {
                row[j] = 0.0;
            }
        }
        if !centred {
            let root = columns.weight().sqrt();
            rows.extend(columns.mean().iter().zip(columns.rest()).map(|(m, r)| root * (m + r)));
        }
        rows.chunks_exact_mut(d.max(1)).for_each(|row| row.iter_mut().zip(scale).for_each(|(v, s)| *v /= s));
        let n = rows.len().checked_div(d).unwrap_or(0);
        let rows = Points::new(rows, n, d).expect("whole rows");
        if n > d { linalg::triangle(&rows) } else { rows }
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        let mut own = self.clone();
        own.reduce();
        own.columns.write(writer);
        writer.number(own.error);
        writer.numbers(own.rows.as_slice());
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let columns = Columns::read(reader)?;
        let (d, error) = (columns.d(), reader.number()?);
        let rows = reader.numbers()?;
        let n = rows.len().checked_div(d).unwrap_or(0);
        // There are at least min(points, dimensions) rows, and at most as many as dimensions.
        let least = usize::try_from(columns.n()).unwrap_or(usize::MAX).min(d);
        let sound = rows.len() == n * d && (least..=d).contains(&n) && rows.iter().all(|v| v.is_finite());
        if !sound {
            return Err(crate::wire::damaged("the rows do not fit the number of columns"));
        }
        if !(0.0..1.0).contains(&error) {
            return Err(crate::wire::damaged("the error of the rows is not between 0 and 1"));
        }
        Ok(Factor { columns, rows: Points::new(rows, n, d)?, error })
    }
}
