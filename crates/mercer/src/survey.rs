//! A survey of points that come in batches: count, mean, ranges and a uniform sample.

use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::moments::Columns;
use crate::points::{AnyPoints, Points, PointsRef};
use crate::real::Real;
use crate::rng::Rng;
use crate::wire::{Reader, Writer, damaged};

/// The name of the state in its bytes.
const KIND: &str = "a survey";

/// Count, mean, spread and a uniform sample of points: the first pass over the data of kernel PCA of many points.
///
/// Each row gets a random number from the random seed, the number of its part of the data and its place there. The sample
/// is the rows with the smallest numbers. Surveys of parts therefore merge in any order, and the same parts give the same
/// sample.
///
/// # Example
/// ```
/// use mercer::state::Survey;
/// use mercer::{Exec, Points};
/// let exec = Exec::new();
/// let rows = Points::from_fn(1000, 2, |i, j| (i * (j + 1)) as f64);
/// let mut first = Survey::new(2, 50, 0);
/// first.update(&rows, &exec)?;
/// let mut second = Survey::new(2, 50, 1); // another part of the data
/// second.update(&rows, &exec)?;
/// first.merge(&second)?;
/// assert_eq!((first.n(), first.sample().n()), (2000, 50));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Survey {
    columns: Columns,
    most: usize,
    part: u64,
    /// The number of rows of this part so far.
    seen: u64,
    /// Random numbers with their rows, ascending.
    sample: Vec<(u64, Vec<f64>)>,
    /// The largest |x|^2.
    square: f64,
}

impl Survey {
    /// Builds the survey of no points with d columns, for the part of the data with this number and a sample of at most
    /// `most` rows.
    pub fn new(d: usize, most: usize, part: u64) -> Self {
        Survey { columns: Columns::empty(d), most, part, seen: 0, sample: Vec::new(), square: 0.0 }
    }

    /// Adds a batch of points.
    ///
    /// # Errors
    /// When it has another number of columns, or values that are not finite or too large to be squared. The survey is then
    /// unchanged.
    pub fn update<'a, T: Real>(&mut self, batch: impl Into<PointsRef<'a, T>>, exec: &Exec) -> Result<()> {
        self.update_any(batch.into().into(), exec)
    }

    pub(crate) fn update_any(&mut self, batch: AnyPoints<'_>, exec: &Exec) -> Result<()> {
        match batch {
            AnyPoints::F64(x) => self.update_points(x, exec),
            AnyPoints::F32(x) => self.update_points(x, exec),
        }
    }

    fn update_points<T: Real>(&mut self, x: PointsRef<'_, T>, exec: &Exec) -> Result<()> {
        x.check_dimensions(self.d())?;
        if x.n() == 0 {
            return Ok(());
        }
        let columns = Columns::of_with(x, exec)?;
        self.columns.add(&columns);
        let draw = Rng::new(self.part ^ exec.get_seed().rotate_left(32) ^ 0x7375_7276).next_u64();
        let mut ceiling = self.ceiling();
        for row in x.rows() {
            let number = Rng::new(draw.wrapping_add(self.seen)).next_u64();
            self.seen += 1;
            self.square = self.square.max(row.iter().map(|v| v.to_f64() * v.to_f64()).sum());
            if number < ceiling {
                self.sample.push((number, row.iter().map(|v| v.to_f64()).collect()));
                if self.sample.len() / 2 > self.most {
                    self.settle();
                    ceiling = self.ceiling();
                }
            }
        }
        self.settle();
        Ok(())
    }

    /// Returns the number from which on rows are not part of the sample.
    fn ceiling(&self) -> u64 {
        if self.most == 0 { 0 } else { self.sample.get(self.most - 1).map_or(u64::MAX, |last| last.0) }
    }

    /// Keeps the rows with the smallest numbers, in order.
    fn settle(&mut self) {
        self.sample.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| order(&a.1, &b.1)));
        self.sample.truncate(self.most);
    }

    /// Adds the points of another survey.
    ///
    /// # Errors
    /// When it has another number of columns or another size of sample. The survey is then unchanged.
    pub fn merge(&mut self, other: &Survey) -> Result<()> {
        if (self.d(), self.most) != (other.d(), other.most) {
            let of = |s: &Survey| format!("{} columns with samples of {} rows", s.d(), s.most);
            return Err(Error::inconsistent(format!("surveys of {} and of {} cannot be merged", of(self), of(other))));
        }
        self.columns.add(&other.columns);
        self.square = self.square.max(other.square);
        self.sample.extend(other.sample.iter().cloned());
        self.settle();
        Ok(())
    }

    /// Returns the number of points.
    pub fn n(&self) -> u64 {
        self.columns.n()
    }

    /// Returns the number of columns.
    pub fn d(&self) -> usize {
        self.columns.d()
    }

    /// Returns the mean of the points.
    pub fn mean(&self) -> Vec<f64> {
        self.columns.mean()
    }

    /// Returns the sample, in a random but reproducible order.
    pub fn sample(&self) -> Points<f64> {
        Points::from_fn(self.sample.len(), self.d(), |i, j| self.sample[i].1[j])
    }

    /// Returns the range of each column.
    pub fn ranges(&self) -> Vec<(f64, f64)> {
        self.columns.ranges()
    }

    pub(crate) fn columns(&self) -> &Columns {
        &self.columns
    }

    /// Returns the survey as bytes, for files and other machines.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new(KIND);
        self.columns.write(&mut writer);
        writer.count(self.most as u64);
        writer.count(self.part);
        writer.count(self.seen);
        writer.number(self.square);
        writer.count(self.sample.len() as u64);
        for (number, row) in &self.sample {
            writer.count(*number);
            writer.numbers(row);
        }
        writer.finish()
    }

    /// Reads a survey from bytes.
    ///
    /// # Errors
    /// When the bytes are damaged, of another version, or not of a survey.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::open(bytes, KIND)?;
        let columns = Columns::read(&mut reader)?;
        let (most, part, seen) = (reader.size()?, reader.count()?, reader.count()?);
        let square = reader.number()?;
        let count = reader.size()?;
        let mut sample = Vec::new();
        for _ in 0..count {
            sample.push((reader.count()?, reader.finite("coordinates", columns.d())?));
        }
        reader.end()?;
        let ascending = sample.windows(2).all(|w| w[0].0 <= w[1].0);
        if sample.len() > most
            || sample.len() as u64 > columns.n()
            || !ascending
            || !(square.is_finite() && square >= 0.0)
        {
            return Err(damaged("the sample does not fit the count"));
        }
        Ok(Survey { columns, most, part, seen, sample, square })
    }
}

fn order(a: &[f64], b: &[f64]) -> std::cmp::Ordering {
    a.iter().zip(b).map(|(a, b)| a.total_cmp(b)).find(|o| o.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
}
