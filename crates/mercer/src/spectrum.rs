//! The spectrum of a fitted model: eigenvalues, variances, and their shares of the total variance.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::real::short;

/// How many components to keep.
///
/// ```
/// use mercer::{Components, Pca, Points};
/// let x = Points::from_rows(&[[0.0, 0.1, 0.3], [1.0, 2.1, 0.1], [2.0, 3.9, 0.2], [3.0, 6.0, 0.1]]);
/// assert_eq!(Pca::new().components(2).fit(&x)?.components(), 2); // Components::Count
/// assert_eq!(Pca::new().components(0.95).fit(&x)?.components(), 1); // Components::Share
/// assert_eq!(Pca::new().components(Components::UpTo(10)).fit(&x)?.components(), 3);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
#[non_exhaustive]
pub enum Components {
    /// This many.
    Count(usize),
    /// This many, or all where there are fewer.
    UpTo(usize),
    /// The fewest whose variance is at least this share of the total, 0 < share <= 1.
    Share(f64),
    /// All that have variance.
    #[default]
    All,
}

/// How a number of components is written: `3`, `0.95`, `{"up_to": 10}` or `"all"`.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Count(usize),
    Share(f64),
    UpTo { up_to: usize },
    All(All),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum All {
    All,
}

impl From<Written> for Components {
    fn from(written: Written) -> Self {
        match written {
            Written::Count(k) => Components::Count(k),
            Written::Share(share) => Components::Share(share),
            Written::UpTo { up_to } => Components::UpTo(up_to),
            Written::All(All::All) => Components::All,
        }
    }
}

impl From<Components> for Written {
    fn from(components: Components) -> Self {
        match components {
            Components::Count(k) => Written::Count(k),
            Components::Share(share) => Written::Share(share),
            Components::UpTo(up_to) => Written::UpTo { up_to },
            Components::All => Written::All(All::All),
        }
    }
}

impl From<usize> for Components {
    fn from(count: usize) -> Self {
        Components::Count(count)
    }
}

impl From<f64> for Components {
    fn from(share: f64) -> Self {
        Components::Share(share)
    }
}

impl fmt::Display for Components {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Components::Count(k) => write!(f, "{k}"),
            Components::UpTo(k) => write!(f, "up to {k}"),
            Components::Share(s) => write!(f, "{s} of the variance"),
            Components::All => f.write_str("all"),
        }
    }
}

impl Components {
    pub(crate) fn validate(&self, owner: &str) -> Result<()> {
        match *self {
            Components::Count(0) | Components::UpTo(0) => {
                Err(Error::parameter(owner, "components", 0, "components >= 1"))
            }
            Components::Share(s) if !(s > 0.0 && s <= 1.0) => {
                Err(Error::parameter(owner, "components", s, "0 < share <= 1"))
            }
            _ => Ok(()),
        }
    }

    /// How many of `eigenvalues` (descending) to keep, at most `available`.
    pub(crate) fn count(&self, eigenvalues: &[f64], total: f64, available: usize) -> usize {
        match *self {
            Components::Count(k) | Components::UpTo(k) => k.min(available),
            Components::All => available,
            Components::Share(share) => {
                // A share that is reached but for rounding is reached.
                let wanted = share * total * (1.0 - 8.0 * f64::EPSILON * eigenvalues.len() as f64);
                let mut sum = 0.0;
                let reached = eigenvalues[..available].iter().position(|v| {
                    sum += v.max(0.0);
                    sum >= wanted
                });
                reached.map_or(available, |at| at + 1)
            }
        }
    }
}

/// The eigenvalues of a fitted model, with variances and shares of the total variance.
///
/// The eigenvalues are those of the scatter matrix X'X of PCA or of the centred Gram matrix HKH, which have the same
/// non-zero eigenvalues for the linear kernel. Divided by n - 1 or by n they are variances (MATHS.md, M3).
///
/// ```
/// use mercer::{Pca, Points};
/// let x = Points::from_rows(&[[-1.0, 0.0], [1.0, 0.0], [0.0, 0.5], [0.0, -0.5]]);
/// let model = Pca::new().fit(&x)?;
/// let spectrum = model.spectrum();
/// assert!((spectrum.eigenvalues()[0] - 2.0).abs() < 1e-12); // the sum of squares of the scores
/// assert!((spectrum.variances()[0] - 2.0 / 3.0).abs() < 1e-12); // divided by n - 1
/// assert!((spectrum.ratios()[0] - 0.8).abs() < 1e-12); // of the total variance
/// assert_eq!(
///     spectrum.to_string(),
///     "  component   eigenvalue   explained   cumulative
///   PC1           0.666667     80.00 %      80.00 %
///   PC2           0.166667     20.00 %     100.00 %
///   eigenvalue: variance of the scores with divisor n - 1
/// "
/// );
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spectrum {
    pub(crate) eigenvalues: Vec<f64>,
    /// The sum of all eigenvalues, kept or not; of their magnitudes when the kernel is indefinite.
    pub(crate) total: f64,
    /// The sum of the eigenvalues that were not kept.
    pub(crate) discarded: f64,
    pub(crate) rank: usize,
    /// Whether all eigenvalues were computed.
    pub(crate) complete: bool,
    /// The number of points.
    pub(crate) n: usize,
    /// The sum of their weights, n where they have none: what variances are divided by.
    pub(crate) weight: f64,
    pub(crate) centred: bool,
    pub(crate) matrix: Matrix,
}

/// The matrix whose eigenvalues a spectrum holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Matrix {
    /// X'X of PCA.
    Scatter,
    /// HKH of kernel PCA.
    Gram,
}

impl Spectrum {
    /// Returns the eigenvalues of the components, descending.
    pub fn eigenvalues(&self) -> &[f64] {
        &self.eigenvalues
    }

    /// Returns the variances with divisor n - 1 (sample variances), or with divisor n when the model does not centre.
    pub fn variances(&self) -> Vec<f64> {
        self.divided_by(self.divisor())
    }

    /// Returns the variances with divisor n (population variances).
    pub fn population_variances(&self) -> Vec<f64> {
        self.divided_by(self.weight)
    }

    /// Returns the divisor of [`Spectrum::variances`]: n - 1, or n when the model does not centre.
    pub fn divisor(&self) -> f64 {
        if self.centred { (self.weight - 1.0).max(1.0) } else { self.weight }
    }

    /// Returns the eigenvalues as they are shown: the variances for PCA, the eigenvalues of HKH for kernel PCA.
    pub fn shown(&self) -> Vec<f64> {
        match self.matrix {
            Matrix::Scatter => self.variances(),
            Matrix::Gram => self.eigenvalues.clone(),
        }
    }

    /// Returns what the numbers of [`Spectrum::shown`] are.
    pub fn meaning(&self) -> &'static str {
        match (self.matrix, self.centred) {
            (Matrix::Scatter, true) => "variance of the scores with divisor n - 1",
            (Matrix::Scatter, false) => "mean square of the scores with divisor n",
            (Matrix::Gram, _) => "of the centred Gram matrix HKH; divided by n it is the variance of the scores",
        }
    }

    fn divided_by(&self, divisor: f64) -> Vec<f64> {
        self.eigenvalues.iter().map(|v| v / divisor).collect()
    }

    /// Returns the share of the total variance that each component explains. The total includes components that were not
    /// kept. All shares are 0 when there is no variance.
    pub fn ratios(&self) -> Vec<f64> {
        self.eigenvalues.iter().map(|v| if self.total > 0.0 { v / self.total } else { 0.0 }).collect()
    }

    /// Returns the running sum of [`Spectrum::ratios`].
    pub fn cumulative(&self) -> Vec<f64> {
        self.ratios()
            .iter()
            .scan(0.0, |sum, r| {
                *sum += r;
                Some(*sum)
            })
            .collect()
    }

    /// Returns the sum of all eigenvalues, kept or not: n - 1 (or n) times the total variance.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// Returns the sum of the eigenvalues that were not kept: the total squared error of reconstruction.
    pub fn discarded(&self) -> f64 {
        self.discarded
    }

    /// Returns the number of computed eigenvalues that are larger than rounding.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Returns whether all eigenvalues were computed. If only the leading ones were, [`Spectrum::rank`] is a lower bound.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Returns the number of fitted points.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Returns a note for each group of components whose eigenvalues are equal within `tolerance`, among all `eigenvalues`
    /// of which the first k are kept: only the space that such components span is determined (MATHS.md, M14).
    pub(crate) fn ties(eigenvalues: &[f64], k: usize, tolerance: f64) -> Vec<String> {
        let (mut notes, mut start) = (Vec::new(), 0);
        while start < k {
            let tied = |i: &usize| eigenvalues[i - 1] - eigenvalues[*i] <= tolerance && eigenvalues[*i] > tolerance;
            let end = (start + 1..eigenvalues.len()).take_while(tied).last().map_or(start + 1, |i| i + 1);
            if end > start + 1 {
                let (first, last) = (start + 1, end.min(k));
                let who = match last - first {
                    0 => format!("PC{first} and components that were not kept are"),
                    1 => format!("PC{first} and PC{last} are"),
                    _ => format!("PC{first} to PC{last} are"),
                };
                let more = if end > k && last > first { ", with components that were not kept" } else { "" };
                notes.push(format!("{who} equal within the error{more}: only the space they span is certain"));
            }
            start = end;
        }
        notes
    }

    /// Rejects numbers that do not fit together, as a damaged file may have them.
    pub(crate) fn validate(&self) -> Result<()> {
        let numbers = self.eigenvalues.iter().chain([&self.total, &self.discarded]);
        if numbers.into_iter().any(|v| !v.is_finite()) {
            return Err(Error::inconsistent("the spectrum has values that are not finite"));
        }
        if self.eigenvalues.windows(2).any(|w| w[0] < w[1]) {
            return Err(Error::inconsistent("the eigenvalues are not in descending order"));
        }
        let negative = self.eigenvalues.iter().any(|v| *v < 0.0);
        if negative || self.total < 0.0 || self.eigenvalues.iter().sum::<f64>() > self.total * (1.0 + 1e-9) {
            return Err(Error::inconsistent(
                "an eigenvalue is negative, or the eigenvalues sum to more than the total",
            ));
        }
        if self.n == 0 || self.n > 1 << 48 || self.rank > self.n || self.eigenvalues.len() > self.n {
            return Err(Error::inconsistent("the rank or the number of components does not fit the number of points"));
        }
        Ok(())
    }
}

impl fmt::Display for Spectrum {
    /// Writes a line per component with [`Spectrum::shown`], and a line with [`Spectrum::meaning`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values: Vec<String> = self.shown().into_iter().map(short).collect();
        let width = values.iter().map(String::len).fold("eigenvalue".len(), usize::max);
        writeln!(f, "  component   {:>width$}   explained   cumulative", "eigenvalue")?;
        for (i, ((value, ratio), sum)) in values.iter().zip(self.ratios()).zip(self.cumulative()).enumerate() {
            writeln!(f, "  PC{:<7}   {value:>width$}   {:>7.2} %   {:>8.2} %", i + 1, 100.0 * ratio, 100.0 * sum)?;
        }
        writeln!(f, "  eigenvalue: {}", self.meaning())
    }
}
