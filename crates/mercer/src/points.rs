//! Points: the data as users pass it in and get it back. Rows are points, columns are features.

use std::any::TypeId;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, ErrorKind, ErrorSubject, Result};
use crate::real::{Real, SQUARABLE};

/// n points with d columns, stored row by row.
///
/// ```
/// use mercer::Points;
/// let x = Points::from_rows(&[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]);
/// assert_eq!((x.n(), x.d()), (3, 2));
/// assert_eq!(x.row(1), [2.0, 3.0]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Points<T = f64> {
    data: Vec<T>,
    n: usize,
    d: usize,
}

/// Serializes as a list of rows.
impl Serialize for Points<f64> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_seq(self.rows())
    }
}

impl<'de> Deserialize<'de> for Points<f64> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let rows = Vec::<Vec<f64>>::deserialize(deserializer)?;
        let d = rows.first().map_or(0, Vec::len);
        match rows.iter().position(|row| row.len() != d) {
            Some(at) => {
                let found = rows[at].len();
                Err(serde::de::Error::custom(format!("row {at} has {found} values where the first has {d}")))
            }
            None => Ok(Points { n: rows.len(), d, data: rows.concat() }),
        }
    }
}

/// A borrowed view of points that are stored row by row: of [`Points`], or of any slice.
///
/// ```
/// use mercer::{Pca, PointsRef};
/// let values = [0.0, 0.1, 1.0, 2.1, 2.0, 3.9];
/// let x = PointsRef::new(&values, 3, 2)?; // three points, two columns, no copy
/// assert_eq!(x.row(1), [1.0, 2.1]);
/// assert_eq!(Pca::new().components(1).fit(x)?.d(), 2);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PointsRef<'a, T = f64> {
    data: &'a [T],
    n: usize,
    d: usize,
}

/// Points in f64 or f32.
///
/// Code that takes this enum is compiled once, in this crate, and not again in every crate that calls it.
///
/// ```
/// use mercer::{AnyPoints, Points};
/// let x = Points::from_rows(&[[0.5f32, 1.0], [2.0, 3.0]]);
/// let any = AnyPoints::from(x.view());
/// assert!(matches!(any, AnyPoints::F32(_)));
/// assert_eq!((any.n(), any.d()), (2, 2));
/// ```
#[derive(Clone, Copy, Debug)]
pub enum AnyPoints<'a> {
    /// Points in f64.
    F64(PointsRef<'a, f64>),
    /// Points in f32.
    F32(PointsRef<'a, f32>),
}

impl AnyPoints<'_> {
    /// Returns the number of points.
    pub fn n(&self) -> usize {
        match self {
            AnyPoints::F64(x) => x.n(),
            AnyPoints::F32(x) => x.n(),
        }
    }

    /// Returns the number of columns.
    pub fn d(&self) -> usize {
        match self {
            AnyPoints::F64(x) => x.d(),
            AnyPoints::F32(x) => x.d(),
        }
    }
}

impl<'a, T: Real> From<PointsRef<'a, T>> for AnyPoints<'a> {
    fn from(x: PointsRef<'a, T>) -> Self {
        // A cast between the same types: data is one or the other.
        if TypeId::of::<T>() == TypeId::of::<f64>() {
            AnyPoints::F64(PointsRef { data: bytemuck::cast_slice(x.data), n: x.n, d: x.d })
        } else {
            AnyPoints::F32(PointsRef { data: bytemuck::cast_slice(x.data), n: x.n, d: x.d })
        }
    }
}

impl<T: Real> Points<T> {
    /// Builds points from their values, row by row.
    ///
    /// # Errors
    /// When there are not exactly `n * d` values.
    pub fn new(data: Vec<T>, n: usize, d: usize) -> Result<Self> {
        check_len(data.len(), n, d)?;
        Ok(Points { data, n, d })
    }

    /// Builds points from an array of rows.
    pub fn from_rows<const D: usize>(rows: &[[T; D]]) -> Self {
        Points { data: rows.concat(), n: rows.len(), d: D }
    }

    /// Builds points whose value in row i, column j is `f(i, j)`.
    pub fn from_fn(n: usize, d: usize, mut f: impl FnMut(usize, usize) -> T) -> Self {
        let mut data = Vec::with_capacity(n * d);
        for i in 0..n {
            data.extend((0..d).map(|j| f(i, j)));
        }
        Points { data, n, d }
    }

    /// Returns the number of points.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Returns the number of columns.
    pub fn d(&self) -> usize {
        self.d
    }

    /// Returns point i.
    ///
    /// # Panics
    /// When `i >= n`.
    pub fn row(&self, i: usize) -> &[T] {
        &self.data[i * self.d..(i + 1) * self.d]
    }

    /// Returns point i for writing.
    ///
    /// # Panics
    /// When `i >= n`.
    pub fn row_mut(&mut self, i: usize) -> &mut [T] {
        &mut self.data[i * self.d..(i + 1) * self.d]
    }

    /// Returns all points in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[T]> + '_ {
        (0..self.n).map(|i| self.row(i))
    }

    /// Returns the values row by row.
    pub fn as_slice(&self) -> &[T] {
        &self.data
    }

    /// Returns the values row by row, for writing.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// Returns the values row by row, without copying.
    pub fn into_vec(self) -> Vec<T> {
        self.data
    }

    /// Returns a copy of column j.
    ///
    /// # Panics
    /// When `j >= d`.
    pub fn column(&self, j: usize) -> Vec<T> {
        self.rows().map(|r| r[j]).collect()
    }

    /// Returns a copy of the first `k` columns, or of all where there are fewer.
    pub fn first_columns(&self, k: usize) -> Self {
        let k = k.min(self.d);
        Points { data: self.rows().flat_map(|r| &r[..k]).copied().collect(), n: self.n, d: k }
    }

    /// The sum of the squares of all values.
    pub(crate) fn square(&self) -> f64 {
        self.data.iter().map(|v| v.to_f64() * v.to_f64()).sum()
    }

    /// Returns the mean point, accurate to rounding.
    pub(crate) fn mean(&self) -> Vec<f64> {
        let share = 1.0 / self.n as f64;
        let mut mean = vec![0.0; self.d];
        for row in self.rows() {
            mean.iter_mut().zip(row).for_each(|(m, v)| *m += v.to_f64() * share);
        }
        mean
    }

    /// Returns a view of all points.
    pub fn view(&self) -> PointsRef<'_, T> {
        PointsRef { data: &self.data, n: self.n, d: self.d }
    }
}

impl<'a, T: Real> PointsRef<'a, T> {
    /// Views values that are stored row by row.
    ///
    /// # Errors
    /// When there are not exactly `n * d` values.
    pub fn new(data: &'a [T], n: usize, d: usize) -> Result<Self> {
        check_len(data.len(), n, d)?;
        Ok(PointsRef { data, n, d })
    }

    /// Returns the number of points.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Returns the number of columns.
    pub fn d(&self) -> usize {
        self.d
    }

    /// Returns point i.
    ///
    /// # Panics
    /// When `i >= n`.
    pub fn row(&self, i: usize) -> &'a [T] {
        &self.data[i * self.d..(i + 1) * self.d]
    }

    /// Returns the values row by row.
    pub fn as_slice(&self) -> &'a [T] {
        self.data
    }

    /// Returns all points in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &'a [T]> + use<'a, T> {
        let this = *self;
        (0..this.n).map(move |i| this.row(i))
    }

    /// Returns the points from row `start` up to, not including, row `end`.
    ///
    /// # Panics
    /// When `start > end` or `end > n`.
    pub fn slice(&self, start: usize, end: usize) -> Self {
        PointsRef { data: &self.data[start * self.d..end * self.d], n: end - start, d: self.d }
    }

    /// Returns the same points as f64, which is exact.
    pub fn to_f64(&self) -> Points<f64> {
        Points { data: self.data.iter().map(|v| v.to_f64()).collect(), n: self.n, d: self.d }
    }

    /// Rejects fewer than `points` points or `1` column.
    pub(crate) fn check_shape(&self, points: usize) -> Result<()> {
        if self.n < points {
            return Err(ErrorKind::TooFew { what: ErrorSubject::Points, found: self.n, needed: points }.into());
        }
        if self.d == 0 {
            return Err(ErrorKind::TooFew { what: ErrorSubject::Dimensions, found: 0, needed: 1 }.into());
        }
        Ok(())
    }

    /// Rejects fewer than `points` points or `1` column, and values that are not finite.
    pub(crate) fn check(&self, points: usize) -> Result<()> {
        self.check_shape(points)?;
        // A block of values is looked at as a whole, which is vector code, before one of them is searched for.
        let is_finite = |block: &[T]| block.iter().fold(true, |all, v| all & v.to_f64().is_finite());
        if self.data.chunks(1024).all(is_finite) {
            return Ok(());
        }
        match self.data.iter().position(|v| !v.to_f64().is_finite()) {
            None => Ok(()),
            Some(at) => Err(ErrorKind::NotFinite {
                what: ErrorSubject::Points,
                row: at / self.d,
                column: at % self.d,
                value: self.data[at].to_f64(),
            }
            .into()),
        }
    }

    /// Rejects magnitudes whose squares are too large for sums of them.
    pub(crate) fn check_not_huge(&self) -> Result<()> {
        let magnitude = self.data.iter().fold(0.0f64, |m, v| m.max(v.to_f64().abs()));
        if magnitude < SQUARABLE.end {
            return Ok(());
        }
        Err(ErrorKind::Range { what: ErrorSubject::Points, magnitude }.into())
    }

    /// Rejects another number of columns than `d`.
    pub(crate) fn check_dimensions(&self, d: usize) -> Result<()> {
        if self.d == d { Ok(()) } else { Err(Error::shape("dimensions of the points", self.d, d)) }
    }
}

impl<'a, T: Real> From<&'a Points<T>> for PointsRef<'a, T> {
    fn from(points: &'a Points<T>) -> Self {
        points.view()
    }
}

fn check_len(found: usize, n: usize, d: usize) -> Result<()> {
    match n.checked_mul(d) {
        Some(len) if len == found => Ok(()),
        len => Err(Error::shape(format!("values of {n} points of {d} dimensions"), found, len.unwrap_or(usize::MAX))),
    }
}
