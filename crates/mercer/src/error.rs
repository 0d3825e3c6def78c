//! The error type of the library: what is wrong, where, the value, the rule, what to do.

use std::fmt;

/// An error of this library.
///
/// `Display` is one sentence without a full stop; [`Error::help`] says what to do about it; [`Error::kind`] has the
/// details as data.
///
/// ```
/// use mercer::{ErrorKind, Pca, Points};
/// let x = Points::from_rows(&[[0.0, 1.0], [f64::NAN, 2.0]]);
/// let error = Pca::new().fit(&x).expect_err("a missing value");
/// assert_eq!(error.to_string(), "points: value NaN in row 1, column 0 (from 0) is not finite");
/// assert!(error.help().is_some());
/// assert!(matches!(error.kind(), ErrorKind::NotFinite { row: 1, column: 0, .. }));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Error(Box<ErrorKind>);

/// A result of this library.
pub type Result<T> = std::result::Result<T, Error>;

/// The kinds of error, with the details that a program needs to handle them.
///
/// ```
/// use mercer::{ErrorKind, Pca, Points};
/// let x = Points::from_rows(&[[0.0, 1.0], [1.0, 2.0], [2.0, 2.9]]);
/// let model = Pca::new().fit(&x)?;
/// match model.transform(&Points::from_rows(&[[1.0]])).map_err(|e| e.kind().clone()) {
///     Err(ErrorKind::Shape { found, expected, .. }) => assert_eq!((found, expected), (1, 2)),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There are too few points or columns.
    TooFew {
        /// What is too few.
        what: ErrorSubject,
        /// How many there are.
        found: usize,
        /// How many are needed at least.
        needed: usize,
    },
    /// A size differs from the expected one.
    Shape {
        /// Which size of which thing: "dimensions of the new points".
        what: String,
        /// The size it has.
        found: usize,
        /// The size it must have.
        expected: usize,
    },
    /// A value is NaN or infinite.
    NotFinite {
        /// What the value is part of.
        what: ErrorSubject,
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// The value.
        value: f64,
    },
    /// A point is outside the domain of a kernel.
    Domain {
        /// The kernel.
        kernel: String,
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// The value.
        value: f64,
        /// What it must satisfy: "value >= 0".
        constraint: &'static str,
    },
    /// A parameter is outside its domain.
    Parameter {
        /// Whose parameter: "gaussian", "pca".
        owner: String,
        /// Its name.
        name: String,
        /// Its value as text.
        value: String,
        /// What it must satisfy: "gamma > 0".
        constraint: String,
    },
    /// A name is not known.
    UnknownName {
        /// What kind of name: "kernel", "parameter of gaussian".
        what: String,
        /// The name.
        name: String,
        /// The most similar known name, if one is similar.
        nearest: Option<String>,
        /// All known names.
        known: Vec<String>,
    },
    /// A text does not follow its grammar.
    Syntax {
        /// The text.
        text: String,
        /// The position of the error, in bytes from the start.
        position: usize,
        /// What was expected there.
        expected: String,
    },
    /// A matrix that must be symmetric is not.
    NotSymmetric {
        /// Row of the worst entry, from 0.
        row: usize,
        /// Column of the worst entry, from 0.
        column: usize,
        /// Entry (row, column).
        value: f64,
        /// Entry (column, row).
        mirrored: f64,
    },
    /// A computation needs more memory than the budget.
    Memory {
        /// What needs it.
        what: String,
        /// Bytes it needs.
        needed: u128,
        /// Bytes of the budget.
        budget: u64,
        /// What to do instead.
        remedy: String,
    },
    /// Squares or products leave the range of f64.
    Range {
        /// What is too large or too small.
        what: ErrorSubject,
        /// The largest magnitude found.
        magnitude: f64,
    },
    /// An eigenvalue or singular value iteration of a small dense problem did not converge.
    NoConvergence {
        /// Which decomposition.
        what: &'static str,
        /// The size of the problem.
        size: usize,
    },
    /// The search for eigenpairs did not reach its tolerance.
    NotConverged {
        /// The largest residual that was reached, relative to the largest eigenvalue.
        found: f64,
        /// The residual that was wanted.
        wanted: f64,
        /// The number of passes over the Gram matrix.
        passes: usize,
    },
    /// The request is not possible for this kind of model.
    Unsupported {
        /// The request, and why it is not possible.
        what: String,
        /// What to do instead.
        remedy: String,
    },
    /// Parts of a model do not fit together.
    Inconsistent {
        /// Which part, and how.
        what: String,
    },
    /// A source of data failed.
    Source {
        /// The message of the source.
        what: String,
    },
    /// A [`crate::exec::Journal`] could not be read or written, or belongs to another fit.
    Journal {
        /// What is wrong.
        what: String,
        /// What to do about it.
        remedy: String,
    },
    /// The computation was cancelled through [`crate::Exec::cancel`].
    Cancelled,
}

/// What an error is about.
///
/// ```
/// use mercer::{ErrorKind, Pca, Points, ErrorSubject};
/// let error = Pca::new().fit(&Points::from_rows(&[[0.0, 1.0]])).expect_err("one point has no variance");
/// assert!(matches!(error.kind(), ErrorKind::TooFew { what: ErrorSubject::Points, found: 1, needed: 2 }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorSubject {
    /// Points, as they were given.
    Points,
    /// Dimensions of points.
    Dimensions,
    /// Points after an embedding.
    EmbeddedPoints,
    /// A Gram matrix.
    GramMatrix,
    /// Kernel values of new points.
    KernelValues,
    /// What an operator returns.
    Product,
    /// Scores of points.
    Scores,
    /// Reconstructed points.
    Reconstructions,
    /// Squared errors of reconstructions.
    SquaredErrors,
    /// Weights of the points of a pre-image.
    Weights,
    /// The mean of a model.
    Mean,
    /// The scale of a model.
    Scale,
    /// The axes of a model.
    Axes,
    /// The point that a model subtracts from all others before it computes kernel values.
    Shift,
}

impl fmt::Display for ErrorSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ErrorSubject::Points => "points",
            ErrorSubject::Dimensions => "dimensions",
            ErrorSubject::EmbeddedPoints => "embedded points",
            ErrorSubject::GramMatrix => "Gram matrix",
            ErrorSubject::KernelValues => "kernel values of the new points",
            ErrorSubject::Product => "product with the operator",
            ErrorSubject::Scores => "scores",
            ErrorSubject::Reconstructions => "reconstructions",
            ErrorSubject::SquaredErrors => "squared errors",
            ErrorSubject::Weights => "weights of a pre-image",
            ErrorSubject::Mean => "mean",
            ErrorSubject::Scale => "scale",
            ErrorSubject::Axes => "axes",
            ErrorSubject::Shift => "shift",
        })
    }
}

impl Error {
    /// Returns the kind of this error with its details.
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// Returns what to do about the error, if there is advice beyond the error itself.
    pub fn help(&self) -> Option<String> {
        match self.kind() {
            ErrorKind::UnknownName { nearest: Some(n), .. } => Some(format!("did you mean '{n}'?")),
            ErrorKind::UnknownName { known, .. } => Some(format!("known: {}", known.join(", "))),
            ErrorKind::Memory { remedy, .. }
            | ErrorKind::Unsupported { remedy, .. }
            | ErrorKind::Journal { remedy, .. } => Some(remedy.clone()),
            ErrorKind::NotFinite { what: ErrorSubject::Points, .. } => {
                Some("remove or fill missing and infinite values first".into())
            }
            ErrorKind::NotFinite { .. } => Some(
                "the value is outside the range of f64: use a smaller degree, gamma or weight, or rescale the data"
                    .into(),
            ),
            ErrorKind::NotSymmetric { .. } => {
                Some("a Gram matrix has K[i][j] = K[j][i]; use (K + K')/2 if the difference is rounding".into())
            }
            ErrorKind::Range { what: ErrorSubject::Points, .. } => Some("rescale the data".into()),
            ErrorKind::Range { .. } => Some("use a smaller degree or weight, or rescale the data".into()),
            ErrorKind::TooFew { what: ErrorSubject::Points, .. } => Some("give more rows".into()),
            ErrorKind::NotConverged { .. } => {
                Some("use a larger tolerance, fewer components, or a wider kernel".into())
            }
            _ => None,
        }
    }

    pub(crate) fn parameter(owner: &str, name: &str, value: impl fmt::Display, constraint: impl Into<String>) -> Self {
        ErrorKind::Parameter {
            owner: owner.into(),
            name: name.into(),
            value: value.to_string(),
            constraint: constraint.into(),
        }
        .into()
    }

    pub(crate) fn shape(what: impl Into<String>, found: usize, expected: usize) -> Self {
        ErrorKind::Shape { what: what.into(), found, expected }.into()
    }

    pub(crate) fn inconsistent(what: impl Into<String>) -> Self {
        ErrorKind::Inconsistent { what: what.into() }.into()
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Error(Box::new(kind))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            ErrorKind::TooFew { what, found, needed } => {
                let what = what.to_string();
                let what = if *found == 1 { what.trim_end_matches('s') } else { &what };
                write!(f, "{found} {what}, but at least {needed} are needed")
            }
            ErrorKind::Shape { what, found, expected } => write!(f, "{what}: {found}; expected {expected}"),
            ErrorKind::NotFinite { what, row, column, value } => {
                write!(f, "{what}: value {value} in row {row}, column {column} (from 0) is not finite")
            }
            ErrorKind::Domain { kernel, row, column, value, constraint } => {
                write!(f, "{kernel}: value {value} in row {row}, column {column} (from 0); expected {constraint}")
            }
            ErrorKind::Parameter { owner, name, value, constraint } => {
                write!(f, "{owner}: {name} = {value}; expected {constraint}")
            }
            ErrorKind::UnknownName { what, name, .. } => write!(f, "'{name}' is not a {what}"),
            ErrorKind::Syntax { text, position, expected } => {
                write!(f, "expected {expected} at position {position} of '{text}'")
            }
            ErrorKind::NotSymmetric { row, column, value, mirrored } => write!(
                f,
                "Gram matrix is not symmetric: K[{row}][{column}] = {value} but K[{column}][{row}] = {mirrored}"
            ),
            ErrorKind::Memory { what, needed, budget, .. } => {
                write!(f, "{what} needs {}, the budget is {}", Bytes(*needed), Bytes(u128::from(*budget)))
            }
            ErrorKind::Range { what, magnitude } => {
                write!(f, "{what}: values of magnitude {magnitude:e} cannot be squared within the range of f64")
            }
            ErrorKind::NoConvergence { what, size } => {
                write!(f, "{what} of size {size} did not converge")
            }
            ErrorKind::NotConverged { found, wanted, passes } => {
                write!(f, "eigenpairs have residuals of {found:.1e} after {passes} passes where {wanted:.1e} is wanted")
            }
            ErrorKind::Unsupported { what, .. }
            | ErrorKind::Source { what }
            | ErrorKind::Journal { what, .. }
            | ErrorKind::Inconsistent { what } => f.write_str(what),
            ErrorKind::Cancelled => f.write_str("cancelled"),
        }
    }
}

impl std::error::Error for Error {}

/// Rejects values that are not finite; `place` returns row and column of the value at an index.
pub(crate) fn check_finite(what: ErrorSubject, values: &[f64], place: impl Fn(usize) -> (usize, usize)) -> Result<()> {
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(at) => {
            let (row, column) = place(at);
            Err(ErrorKind::NotFinite { what, row, column, value: values[at] }.into())
        }
    }
}

/// A number of bytes, displayed with a decimal unit.
///
/// ```
/// assert_eq!(mercer::text::Bytes(3_200_000_000).to_string(), "3.2 GB");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u128);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = ["bytes", "kB", "MB", "GB", "TB", "PB", "EB"];
        let mut value = self.0 as f64;
        let mut unit = 0;
        while value >= 999.5 && unit + 1 < units.len() {
            value /= 1000.0;
            unit += 1;
        }
        match unit {
            0 => write!(f, "{} bytes", self.0),
            _ if value < 10.0 => write!(f, "{value:.1} {}", units[unit]),
            _ => write!(f, "{value:.0} {}", units[unit]),
        }
    }
}

/// A number of things, with the right plural.
///
/// ```
/// use mercer::text::counted;
/// assert_eq!((counted(1_u32, "landmark").as_str(), counted(20_u32, "landmark").as_str()), ("1 landmark", "20 landmarks"));
/// ```
pub fn counted(n: impl Into<u128>, what: &str) -> String {
    match n.into() {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}

/// Returns the known name with the smallest edit distance to `name`, if it is small enough for a typing error.
///
/// ```
/// assert_eq!(mercer::text::nearest("guassian", ["gaussian", "linear"]).as_deref(), Some("gaussian"));
/// assert_eq!(mercer::text::nearest("cubic", ["gaussian", "linear"]), None);
/// ```
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    /// Longer names are not compared.
    const LONGEST: usize = 64;
    let name = name.to_lowercase();
    let length = name.chars().count();
    known
        .into_iter()
        .filter_map(|k| {
            let other = k.chars().count();
            let allowed = (1 + length.max(other) / 4).min(length.saturating_sub(1));
            if length.max(other) > LONGEST || length.abs_diff(other) > allowed {
                return None;
            }
            let distance = edit_distance(&name, &k.to_lowercase());
            (distance <= allowed).then_some((distance, k))
        })
        .min_by_key(|(d, _)| *d)
        .map(|(_, k)| k.to_string())
}

/// Edit distance with swaps of neighbours counted once (optimal string alignment).
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let substituted = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
                let mut best = substituted.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(rows[i - 2][j - 2] + 1);
                }
                best
            };
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_suggested_and_far_ones_are_not() {
        let known = ["gaussian", "laplacian", "linear"];
        assert_eq!(nearest("guassian", known).as_deref(), Some("gaussian"));
        assert_eq!(nearest("Linaer", known).as_deref(), Some("linear"));
        assert_eq!(nearest("foo", known), None);
    }

    #[test]
    fn bytes_are_readable() {
        assert_eq!(Bytes(12).to_string(), "12 bytes");
        assert_eq!(Bytes(3_200_000_000).to_string(), "3.2 GB");
        assert_eq!(Bytes(999_600).to_string(), "1.0 MB");
    }
}
