//! The fixed part of a streaming fit: landmarks, and the map from kernel values with them to features (MATHS.md, M20).

use super::landmark_choice::SAMPLED;
use super::planning::refuse_indefinite;
use crate::block::Block;
use crate::eigen::check_range;
use crate::error::{ErrorSubject, Result};
use crate::exec::Exec;
use crate::features::Standardise;
use crate::kernel::tile::{self, DistanceMethod, Form, LARGE_TILE, Rows, Scratch};
use crate::kernel::{Bound, Choice};
use crate::linalg;
use crate::op::{Gram, SymOp};
use crate::plan::{LandmarkPlan, ReplanLandmarks};
use crate::points::Points;
use crate::real::check_found;
use crate::wire::{Reader, Writer, damaged};

/// Number of sampled rows whose kernel values estimate the mean kernel row (`shift`).
const SHIFT_ROWS: usize = 8 * LARGE_TILE;
/// If the smallest eigenvalue of W is at least this share of the largest, c is summed and mapped to f at the end; the second
/// number is the limit in f32.
const RAW: f64 = 1e-7;
const RAW_F32: f64 = 1e-6;
/// Eigenvalues of W below this share of the largest are rounding, and are dropped.
const CUT: f64 = 1e-12;
/// The name of a basis in its bytes.
const NAME: &str = "landmarks";

/// The fixed part of a streaming fit by landmarks: the kernel with its numbers, the landmarks, and a sample of rows for
/// which the error is measured. It is built once and sent to every process that has a part of the points.
///
/// ```
/// use mercer::state::{LandmarkBasis, Survey};
/// use mercer::{Exec, Gamma, Kernel, KernelPca, Landmarks, Points};
/// let exec = Exec::new();
/// let x = Points::from_fn(300, 2, |i, j| ((i * (j + 2)) as f64).sin());
/// let kernel_pca = KernelPca::new(Kernel::gaussian(Gamma::Median)).components(2).landmarks(Landmarks::Uniform(30));
/// let mut survey = Survey::new(2, kernel_pca.sample_size(), 0);
/// survey.update(&x, &exec)?;
/// let basis = kernel_pca.basis(&survey, &exec)?;
/// assert_eq!(LandmarkBasis::from_bytes(&basis.to_bytes())?.landmarks(), 30);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LandmarkBasis {
    pub(super) bound: Bound,
    pub(super) standardise: Option<Standardise>,
    /// The landmarks, then the rows for which the error is measured, all standardised.
    pub(super) columns: Rows,
    pub(super) columns32: Option<Rows<f32>>,
    pub(super) m: usize,
    /// An estimate of the mean kernel row, subtracted before summing.
    pub(super) shift: Vec<f64>,
    /// V L^-1/2, a column per feature.
    pub(super) map: Block,
    /// Whether f is summed in place of c.
    pub(super) mapped: bool,
    /// A fingerprint of the fields above.
    pub(super) key: u64,
}

impl LandmarkBasis {
    /// Builds the basis of a bound kernel from the landmarks, the rows for which the error is measured, and the rows that
    /// estimate the shift, all standardised.
    pub(super) fn new(
        bound: Bound,
        standardise: Option<Standardise>,
        landmarks: Points<f64>,
        (sampled, about): (Points<f64>, &Points<f64>),
        mut plan: LandmarkPlan,
        exec: &Exec,
    ) -> Result<Self> {
        refuse_indefinite(bound.kernel())?;
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
        if plan.f32 && !least(RAW_F32) {
            plan = plan.again(ReplanLandmarks::NeedsF64);
        }
        let mut points = landmarks.into_vec();
        points.extend(sampled.as_slice());
        let points = Points::new(points, m + sampled.n(), bound.d())?;
        Ok(LandmarkBasis::put_together(bound, standardise, points, m, shift, map, mapped, plan.f32))
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
        f32: bool,
    ) -> Self {
        let kernel: Vec<f64> = bound.kernel().to_string().bytes().map(f64::from).collect();
        let (location, scale) = standardise.as_ref().map_or((&[][..], &[][..]), |s| (&s.mean, &s.scale));
        let parts = [&kernel[..], points.as_slice(), &shift, map.as_slice(), location, scale];
        let flags = u64::from(mapped) + 2 * u64::from(f32);
        let parts = parts.into_iter().map(crate::block::fingerprint).chain([m as u64, flags]);
        let key = crate::block::fingerprint(&parts.map(f64::from_bits).collect::<Vec<f64>>());
        let columns = Rows::new(&bound, points, DistanceMethod::of(m));
        let columns32 = f32.then(|| columns.to_f32(&bound));
        LandmarkBasis { bound, standardise, columns, columns32, m, shift, map, mapped, key }
    }

    /// Returns the number of landmarks.
    pub fn landmarks(&self) -> usize {
        self.m
    }

    /// Returns the number of columns of the points.
    pub fn d(&self) -> usize {
        self.bound.d()
    }

    /// Returns the kernel, with numbers only.
    pub fn kernel(&self) -> &crate::Kernel {
        self.bound.kernel()
    }

    /// Returns the values found for automatic parameters of the kernel.
    pub fn choices(&self) -> &[Choice] {
        self.bound.choices()
    }

    /// The number of features that are summed.
    pub(super) fn width(&self) -> usize {
        if self.mapped { self.map.b() } else { self.m }
    }

    pub(super) fn sampled(&self) -> usize {
        self.columns.n() - self.m
    }

    /// Returns the basis as bytes, for files and other machines.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new(NAME);
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
        writer.flag(self.columns32.is_some());
        writer.finish()
    }

    /// Reads a basis from bytes.
    ///
    /// # Errors
    /// When the bytes are damaged, of another version, or not of a basis.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::open(bytes, NAME)?;
        let kernel = reader.text()?.parse()?;
        let d = reader.size()?;
        let deviation = reader.flag()?;
        let shift = reader.finite("shift", d)?;
        check_found(ErrorSubject::Shift, &shift)?;
        let bound = Bound::from_parts(kernel, d, deviation, shift)?;
        let standardise = match reader.flag()? {
            true => {
                let (mean, scale) = (reader.finite("mean", d)?, reader.finite("scale", d)?);
                let standardise = Standardise { mean, scale };
                standardise.check()?;
                Some(standardise)
            }
            false => None,
        };
        let m = reader.size()?;
        let points = reader.numbers()?;
        let rows = points.len().checked_div(d).unwrap_or(0);
        if m == 0 || rows < m || rows - m > SAMPLED || rows * d != points.len() || points.iter().any(|v| !v.is_finite())
        {
            return Err(damaged("the landmarks do not fit the number of columns"));
        }
        let points = Points::new(points, rows, d)?;
        points.view().check_not_huge()?;
        let shift = reader.finite("means", m)?;
        let r = reader.size()?;
        let map = reader.finite("maps", m.checked_mul(r).ok_or_else(|| damaged("the map is too large"))?)?;
        let map = Block::from_columns(map, m, r).ok_or_else(|| damaged("the map has the wrong size"))?;
        let (mapped, f32) = (reader.flag()?, reader.flag()?);
        reader.end()?;
        if r > m || !mapped && r != m || !bound.kernel().is_psd() {
            return Err(damaged("the parts do not fit together"));
        }
        Ok(LandmarkBasis::put_together(bound, standardise, points, m, shift, map, mapped, f32))
    }
}

/// The mean of the kernel values of rows with each landmark.
fn mean_row(bound: &Bound, landmarks: &Points<f64>, rows: &Points<f64>, exec: &Exec) -> Vec<f64> {
    let (n, m) = (rows.n().min(SHIFT_ROWS), landmarks.n());
    let method = DistanceMethod::of(m);
    let rows = Rows::new(bound, Points::from_fn(n, rows.d(), |i, j| rows.row(i)[j]), method);
    let landmarks = Rows::new(bound, landmarks.clone(), method);
    let (mut line, mut mean) = (vec![0.0; m], vec![0.0; m]);
    for i in 0..n {
        let how = (bound, Form::Value, exec.level());
        tile::fill(how, (&rows, i..i + 1), (&landmarks, 0..m), &mut line, &mut Scratch::new());
        mean.iter_mut().zip(&line).for_each(|(mean, v)| *mean += v / n as f64);
    }
    mean
}
