//! What a certificate says, in words and as data: each statement with how sure it is.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::certificate::Certificate;
use crate::error::counted;

/// How sure a statement of a certificate is.
///
/// ```
/// use mercer::certificate::{BoundKind, Confidence};
/// assert_eq!(BoundKind::Trace.confidence(), Confidence::Theorem);
/// assert_eq!(BoundKind::Probes { failure: 1e-6 }.confidence(), Confidence::Probability { failure: 1e-6 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
#[non_exhaustive]
pub enum Confidence {
    /// It follows from the assumptions about arithmetic in MATHS.md (M23).
    Theorem,
    /// It fails with at most this probability, over the random probes. The probes depend on the random seed only: the
    /// probability is for a matrix that was chosen without knowledge of the seed.
    Probability {
        /// The probability.
        failure: f64,
    },
    /// It was measured, or holds under an assumption that is not checked.
    Estimate,
}

impl Confidence {
    pub(super) fn estimate() -> Self {
        Confidence::Estimate
    }
}

/// What a statement is about.
///
/// ```
/// assert_eq!(mercer::certificate::About::Missed.name(), "missed");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum About {
    /// The eigenvalues that were found.
    Eigenvalues,
    /// The directions of the components.
    Directions,
    /// Eigenvalues that were not found.
    Missed,
    /// What landmarks do not represent.
    Approximation,
    /// Residuals that are estimated from a sample.
    Sample,
}

impl About {
    /// Returns a short name.
    pub fn name(self) -> &'static str {
        match self {
            About::Eigenvalues => "eigenvalues",
            About::Directions => "directions",
            About::Missed => "missed",
            About::Approximation => "approximation",
            About::Sample => "sample",
        }
    }
}

/// One statement of a certificate.
///
/// ```
/// use mercer::certificate::{About, Confidence};
/// use mercer::{Pca, Points};
/// let x = Points::from_rows(&[[0.0, 0.1], [1.0, 2.1], [2.0, 3.9], [3.0, 6.0]]);
/// let model = Pca::new().components(1).fit(&x)?;
/// let statements = model.certificate().statements();
/// assert_eq!(statements[0].about, About::Eigenvalues);
/// assert_eq!(statements[0].confidence, Confidence::Theorem);
/// assert!(statements[0].text.starts_with("eigenvalues accurate to"));
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Statement {
    /// What it is about.
    pub about: About,
    /// The statement.
    pub text: String,
    /// How sure it is.
    pub confidence: Confidence,
}

/// The reason why no eigenvalue beyond those found exceeds [`Certificate::missed`].
///
/// ```
/// use mercer::certificate::BoundKind;
/// assert_eq!((BoundKind::AllPairs.name(), BoundKind::AllPairs.failure()), ("all pairs", 0.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "by")]
#[non_exhaustive]
pub enum BoundKind {
    /// All eigenpairs were computed: a theorem.
    AllPairs,
    /// The sum of all eigenvalues is known, and none is negative: a theorem.
    Trace,
    /// A Cholesky decomposition shows it: a theorem.
    Cholesky,
    /// The sum of the squares of all eigenvalues is known: a theorem.
    Frobenius,
    /// Only the diagonal of an operator is known. The bound assumes that no entry is larger than the largest entry of the
    /// diagonal, as for a positive semi-definite operator.
    Diagonal,
    /// The eigenvalues were computed elsewhere: only their sum is known, and that none is negative.
    Unknown,
    /// Random probes would have detected a larger one.
    Probes {
        /// The probability that they did not detect it.
        failure: f64,
    },
}

impl BoundKind {
    /// Returns the probability that the bound does not hold, over the random probes: 0 for the other kinds.
    pub fn failure(self) -> f64 {
        match self {
            BoundKind::Probes { failure } => failure,
            BoundKind::AllPairs
            | BoundKind::Trace
            | BoundKind::Cholesky
            | BoundKind::Frobenius
            | BoundKind::Diagonal
            | BoundKind::Unknown => 0.0,
        }
    }

    /// Returns how sure the bound is.
    pub fn confidence(self) -> Confidence {
        match self {
            BoundKind::AllPairs | BoundKind::Trace | BoundKind::Cholesky | BoundKind::Frobenius => Confidence::Theorem,
            BoundKind::Diagonal | BoundKind::Unknown => Confidence::Estimate,
            BoundKind::Probes { failure } => Confidence::Probability { failure },
        }
    }

    /// Returns a short name of the reason.
    pub fn name(self) -> &'static str {
        match self {
            BoundKind::AllPairs => "all pairs",
            BoundKind::Trace | BoundKind::Unknown => "trace",
            BoundKind::Cholesky => "Cholesky decomposition",
            BoundKind::Frobenius => "Frobenius norm",
            BoundKind::Diagonal => "diagonal",
            BoundKind::Probes { .. } => "random probes",
        }
    }
}

impl Certificate {
    /// Returns what the certificate says, statement by statement: how accurate the components that were found are, and which
    /// eigenvalues cannot have been missed. All of it is about numerical error. It says nothing about how well a sample
    /// represents the population that it was drawn from.
    pub fn statements(&self) -> Vec<Statement> {
        if self.kind() == BoundKind::Unknown {
            let text = "no error bounds: the eigenvalues were computed elsewhere".to_string();
            return vec![Statement { about: About::Eigenvalues, text, confidence: Confidence::Estimate }];
        }
        if self.approximation().is_some() {
            return self.statements_on_landmarks();
        }
        let mut said = vec![Statement {
            about: About::Eigenvalues,
            text: match self.is_rigorous() {
                true => format!("eigenvalues accurate to {:.1e} of the largest, all rounding enclosed", self.worst()),
                false => format!("eigenvalues accurate to {:.1e} of the largest", self.worst()),
            },
            confidence: self.rounding_confidence(),
        }];
        said.extend(self.on_directions());
        said.push(Statement {
            about: About::Missed,
            text: match self.kind() {
                BoundKind::AllPairs => "all eigenpairs computed".to_string(),
                BoundKind::Cholesky => {
                    format!("no eigenvalue above {:.3e} missed, by a Cholesky decomposition", self.missed())
                }
                BoundKind::Trace | BoundKind::Frobenius | BoundKind::Unknown => {
                    format!("no eigenvalue above {:.3e} missed, by the {}", self.missed(), self.kind().name())
                }
                BoundKind::Diagonal => {
                    format!("no eigenvalue above {:.3e} missed if no entry exceeds the diagonal", self.missed())
                }
                BoundKind::Probes { failure } => {
                    format!("no eigenvalue above {:.3e} missed, except with probability {failure:.0e}", self.missed())
                }
            },
            confidence: self.kind().confidence(),
        });
        said
    }

    fn on_directions(&self) -> Option<Statement> {
        let clusters = self.clusters();
        let sine = clusters.iter().map(|c| c.sine).reduce(f64::max)?;
        let single = clusters.iter().all(|c| c.first == c.last);
        // All components together span everything there is.
        let angle = if sine == 0.0 { "0".to_string() } else { format!("{:.1e}", sine.asin()) };
        let text = match (single, sine < 0.5) {
            (true, true) => format!("directions to {angle} rad"),
            (false, true) => format!("spaces of equal eigenvalues to {angle} rad"),
            (_, false) => "last directions not determined: the next eigenvalue is too close".to_string(),
        };
        // Gaps to eigenvalues that were not computed are as sure as these are.
        let confidence = match (self.rounding_confidence(), self.kind().confidence()) {
            (Confidence::Estimate, _) | (_, Confidence::Estimate) => Confidence::Estimate,
            (_, confidence) => confidence,
        };
        Some(Statement { about: About::Directions, text, confidence })
    }

    fn statements_on_landmarks(&self) -> Vec<Statement> {
        let Some(a) = self.approximation() else { return Vec::new() };
        let share = |v: f64| if self.scale() > 0.0 { v / self.scale() } else { 0.0 };
        let (landmarks, lost) = (a.landmarks, a.trace_share());
        let bound = match share(a.trace_error + self.rounding()) {
            bound if bound < 1.0 => format!("so no eigenvalue is too small by more than {bound:.1e} of the largest"),
            _ => "too much to bound an eigenvalue".to_string(),
        };
        let mut said = vec![Statement {
            about: About::Approximation,
            text: format!(
                "approximate ({}): {lost:.1e} of the variance is lost, {bound}",
                counted(landmarks as u128, "landmark")
            ),
            confidence: self.rounding_confidence(),
        }];
        let (rows, sure, k) = (a.sampled, 100.0 * a.confidence, a.residuals.len());
        let bounds: Vec<f64> = a.residuals.iter().map(|r| r.1).filter(|v| *v < a.trace_error || *v == 0.0).collect();
        let whose =
            if bounds.len() < k { format!(" of {} of the {k} components", bounds.len()) } else { String::new() };
        let text = match bounds.into_iter().reduce(f64::max).map(share) {
            Some(worst) => format!(
                "residuals{whose} are below {worst:.1e} of the largest eigenvalue, estimated from {rows} sampled rows \
                 (confidence {sure:.0} % each)"
            ),
            None if k > 0 => format!("{rows} sampled rows give no better bound on residuals"),
            None => return said,
        };
        said.push(Statement { about: About::Sample, text, confidence: Confidence::Estimate });
        said
    }
}

impl fmt::Display for Certificate {
    /// The statements, as one or two sentences.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, statement) in self.statements().iter().enumerate() {
            match (i, statement.about) {
                (0, _) => {}
                (_, About::Directions) => f.write_str(", ")?,
                _ => f.write_str("; ")?,
            }
            f.write_str(&statement.text)?;
        }
        Ok(())
    }
}
