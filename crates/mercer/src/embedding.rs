//! Explicit embeddings: phi maps a point to a row of features, and PCA is done on these.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, ErrorKind, ErrorSubject, Result, nearest};
use crate::real::shortest;

/// A user's map from a point to its features.
pub type EmbeddingFn = Arc<dyn Fn(&[f64]) -> Vec<f64> + Send + Sync>;

/// A map phi from points to features.
///
/// # Example
/// Monomials are weighted so that their dot product is a power of the points' own (MATHS.md, M4):
/// ```
/// use mercer::Embedding;
/// let phi = Embedding::monomials(2);
/// let (x, y) = ([1.0, 2.0], [3.0, -1.0]);
/// let dot: f64 = phi.map(&x).iter().zip(phi.map(&y)).map(|(a, b)| a * b).sum();
/// assert!((dot - (1.0f64 * 3.0 - 2.0).powi(2)).abs() < 1e-12);
/// assert_eq!(phi.names(&["x", "y"]), ["x^2", "x*y", "y^2"]);
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub enum Embedding {
    /// phi(x) = x.
    Identity,
    /// All monomials of degree M, or of degree up to M with an offset.
    Monomials(Monomials),
    /// A map of your own; see [`Embedding::new`].
    Custom {
        /// Number of features.
        features: usize,
        /// The map, which returns this many.
        map: EmbeddingFn,
    },
}

/// Weighted monomials: phi(x).phi(y) = (x.y + offset)^degree.
///
/// ```
/// use mercer::Embedding;
/// let phi = Embedding::monomials_up_to(2, 1.0);
/// assert!(matches!(phi, Embedding::Monomials(_)));
/// assert_eq!(phi.features(2), Some(6)); // 1, x, y, x^2, x*y, y^2
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Monomials {
    degree: u32,
    offset: f64,
}

impl Embedding {
    /// A bound on the relative error of a computed feature. What a function of the user's returns is the feature.
    pub(crate) fn error(&self) -> f64 {
        match self {
            Embedding::Identity | Embedding::Custom { .. } => 0.0,
            // The powers and their product, the weight and its root.
            Embedding::Monomials(m) => 0.5 * f64::EPSILON * f64::from(m.degree + 6),
        }
    }

    /// Returns all monomials of degree M, weighted so that phi(x).phi(y) = (x.y)^M. There are C(M+P-1, M) for P dimensions.
    pub fn monomials(degree: u32) -> Self {
        Embedding::Monomials(Monomials { degree, offset: 0.0 })
    }

    /// Returns all monomials of degree up to M, weighted so that phi(x).phi(y) = (x.y + offset)^M. There are C(M+P, M).
    pub fn monomials_up_to(degree: u32, offset: f64) -> Self {
        Embedding::Monomials(Monomials { degree, offset })
    }

    /// Wraps a map of your own from a point to `features` numbers.
    pub fn new(features: usize, map: impl Fn(&[f64]) -> Vec<f64> + Send + Sync + 'static) -> Self {
        Embedding::Custom { features, map: Arc::new(map) }
    }

    /// Returns whether phi(x) = x.
    pub fn is_identity(&self) -> bool {
        matches!(self, Embedding::Identity)
    }

    /// Returns the number of features of points with `d` columns; `None` when it overflows.
    pub fn features(&self, d: usize) -> Option<u128> {
        match self {
            Embedding::Identity => Some(d as u128),
            Embedding::Monomials(m) => m.count(d),
            Embedding::Custom { features, .. } => Some(*features as u128),
        }
    }

    /// Returns phi(x).
    pub fn map(&self, x: &[f64]) -> Vec<f64> {
        match self {
            Embedding::Identity => x.to_vec(),
            Embedding::Monomials(m) => m.map(x),
            Embedding::Custom { map, .. } => map(x),
        }
    }

    /// Returns names of the features, made from the names of the columns.
    pub fn names<S: AsRef<str>>(&self, dimensions: &[S]) -> Vec<String> {
        match self {
            Embedding::Identity => dimensions.iter().map(|s| s.as_ref().to_string()).collect(),
            Embedding::Monomials(m) => m.names(dimensions),
            Embedding::Custom { features, .. } => (1..=*features).map(|i| format!("phi{i}")).collect(),
        }
    }

    pub(crate) fn validate(&self) -> Result<()> {
        match self {
            Embedding::Monomials(m) => m.validate(),
            Embedding::Custom { features: 0, .. } => Err(Error::parameter("embedding", "features", 0, "features >= 1")),
            _ => Ok(()),
        }
    }

    /// The features of a point, checked: a map of the user's may return anything.
    pub(crate) fn checked_map(&self, row: usize, x: &[f64], features: usize) -> Result<Vec<f64>> {
        let phi = self.map(x);
        if phi.len() != features {
            return Err(Error::shape(format!("features of point {row}"), phi.len(), features));
        }
        match phi.iter().position(|v| !v.is_finite()) {
            None => Ok(phi),
            Some(column) => {
                Err(ErrorKind::NotFinite { what: ErrorSubject::EmbeddedPoints, row, column, value: phi[column] }.into())
            }
        }
    }
}

/// As its text; a map of your own cannot be written.
impl Serialize for Embedding {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Embedding::Custom { .. } => {
                Err(serde::ser::Error::custom("an embedding function cannot be written: text carries no code"))
            }
            Embedding::Identity | Embedding::Monomials(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Embedding {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl Monomials {
    fn validate(&self) -> Result<()> {
        if self.degree == 0 {
            return Err(Error::parameter("monomials", "degree", 0, "degree >= 1"));
        }
        if !(self.offset >= 0.0 && self.offset.is_finite()) {
            return Err(Error::parameter("monomials", "offset", self.offset, "offset >= 0 and finite"));
        }
        Ok(())
    }

    /// The variables that are chosen from: the dimensions, and the constant when there is an offset.
    fn variables(&self, d: usize) -> usize {
        d + usize::from(self.offset > 0.0)
    }

    /// C(M + V - 1, M), V the number of variables.
    fn count(&self, d: usize) -> Option<u128> {
        let (degree, variables) = (u128::from(self.degree), self.variables(d) as u128);
        if variables == 0 {
            return Some(0);
        }
        // C(a + b, a) with the smaller as a. Each partial product is itself a binomial coefficient: the division leaves
        // no rest.
        let (a, b) = (degree.min(variables - 1), degree.max(variables - 1));
        (1..=a).try_fold(1u128, |c, i| Some(c.checked_mul(b.checked_add(i)?)? / i))
    }

    /// Calls `f` with the exponents of each monomial, in the order x1^M, x1^(M-1) x2, ...; the constant comes last.
    fn each(&self, d: usize, mut f: impl FnMut(&[u32])) {
        let variables = self.variables(d);
        if variables == 0 {
            return;
        }
        let mut exponents = vec![0; variables];
        exponents[0] = self.degree;
        loop {
            f(&exponents);
            // The next composition: move one from the last variable but the end that has any, and gather the rest there.
            let Some(at) = (0..variables - 1).rev().find(|&i| exponents[i] > 0) else {
                return;
            };
            let rest = exponents[variables - 1];
            exponents[variables - 1] = 0;
            exponents[at] -= 1;
            exponents[at + 1] = rest + 1;
        }
    }

    fn map(&self, x: &[f64]) -> Vec<f64> {
        let mut phi = Vec::new();
        // sqrt(M! / (a1! a2! ...)) x1^a1 x2^a2 ...; multiplied up factor by factor, so that no factorial overflows.
        let constant = self.offset.sqrt();
        self.each(x.len(), |exponents| {
            let (mut monomial, mut count, mut taken) = (1.0, 1.0, 0);
            for (i, &a) in exponents.iter().enumerate() {
                let v = x.get(i).copied().unwrap_or(constant);
                for c in 1..=a {
                    taken += 1;
                    count = count * f64::from(taken) / f64::from(c);
                    monomial *= v;
                }
            }
            phi.push(count.sqrt() * monomial);
        });
        phi
    }

    fn names<S: AsRef<str>>(&self, dimensions: &[S]) -> Vec<String> {
        let mut names = Vec::new();
        self.each(dimensions.len(), |exponents| {
            let factors: Vec<String> = dimensions
                .iter()
                .zip(exponents)
                .filter(|(_, a)| **a > 0)
                .map(|(name, a)| match a {
                    1 => name.as_ref().to_string(),
                    a => format!("{}^{a}", name.as_ref()),
                })
                .collect();
            names.push(if factors.is_empty() { "1".into() } else { factors.join("*") });
        });
        names
    }
}

/// `identity`, `monomials:M` or `monomials:M:OFFSET`.
impl fmt::Display for Embedding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Embedding::Identity => f.write_str("identity"),
            Embedding::Monomials(Monomials { degree, offset: 0.0 }) => write!(f, "monomials:{degree}"),
            Embedding::Monomials(m) => {
                write!(f, "monomials:{}:{}", m.degree, shortest(m.offset))
            }
            Embedding::Custom { features, .. } => write!(f, "custom({features} features)"),
        }
    }
}

impl FromStr for Embedding {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut parts = text.split(':').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let embedding = match name {
            "identity" => Embedding::Identity,
            "monomials" => {
                let degree = parts.next().unwrap_or("2");
                let degree = degree
                    .parse()
                    .map_err(|_| Error::parameter("monomials", "degree", degree, "degree a whole number, 1 or more"))?;
                let offset = parts.next().unwrap_or("0");
                let offset = offset
                    .parse()
                    .map_err(|_| Error::parameter("monomials", "offset", offset, "offset >= 0 and finite"))?;
                Embedding::Monomials(Monomials { degree, offset })
            }
            _ => {
                let known = ["identity", "monomials:M", "monomials:M:OFFSET"];
                return Err(ErrorKind::UnknownName {
                    what: "embedding".into(),
                    name: name.into(),
                    nearest: nearest(name, ["monomials", "identity"]),
                    known: known.map(String::from).to_vec(),
                }
                .into());
            }
        };
        if let Some(extra) = parts.next() {
            return Err(Error::parameter("embedding", "text", extra, "monomials:M or monomials:M:OFFSET"));
        }
        embedding.validate()?;
        Ok(embedding)
    }
}

impl fmt::Debug for Embedding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Embedding({self})")
    }
}

impl PartialEq for Embedding {
    /// Maps of the user's are equal when they are the same map.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Embedding::Identity, Embedding::Identity) => true,
            (Embedding::Monomials(a), Embedding::Monomials(b)) => a == b,
            (Embedding::Custom { features: a, map: f }, Embedding::Custom { features: b, map: g }) => {
                a == b && Arc::ptr_eq(f, g)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_binomial_and_agree_with_the_list() {
        for d in 1..6 {
            for degree in 1..5 {
                for offset in [0.0, 1.5] {
                    let phi = Embedding::monomials_up_to(degree, offset);
                    let x: Vec<f64> = (0..d).map(|i| i as f64 + 0.5).collect();
                    assert_eq!(phi.features(d), Some(phi.map(&x).len() as u128));
                }
            }
        }
        assert_eq!(Embedding::monomials(2).features(4), Some(10));
        assert_eq!(Embedding::monomials(3).features(4), Some(20));
        assert_eq!(Embedding::monomials_up_to(2, 1.0).features(4), Some(15));
        assert_eq!(Embedding::monomials(15).features(1000).map(|c| c > 1 << 100), Some(true));
        assert_eq!(Embedding::monomials(2000).features(100_000), None);
    }

    #[test]
    fn names_go_with_the_values() {
        let phi = Embedding::monomials_up_to(2, 1.0);
        assert_eq!(phi.names(&["x", "y"]), ["x^2", "x*y", "x", "y^2", "y", "1"]);
        let r = 2f64.sqrt();
        let expected = [4.0, r * 6.0, r * 2.0, 9.0, r * 3.0, 1.0];
        for (v, e) in phi.map(&[2.0, 3.0]).iter().zip(expected) {
            assert!((v - e).abs() < 1e-14);
        }
    }

    #[test]
    fn text_reads_back() {
        for text in ["identity", "monomials:3", "monomials:2:0.5"] {
            assert_eq!(text.parse::<Embedding>().map(|e| e.to_string()), Ok(text.to_string()));
        }
        for text in ["monomials:0", "monomials:x", "monomials:2:-1", "monomials:2:1:1", "monomial", "foo"] {
            assert!(text.parse::<Embedding>().is_err(), "{text}");
        }
    }
}
