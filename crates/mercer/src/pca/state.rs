//! PCA of points that come in batches: what is known of those seen so far.

use super::Pca;
use super::PcaModel;
use super::decompose::Location;
use crate::embedding::Embedding;
use crate::error::{Error, ErrorKind, ErrorSubject, Result};
use crate::exec::Exec;
use crate::factor::Factor;
use crate::features::Standardise;
use crate::moments::{Columns, Moments};
use crate::options::Route;
use crate::points::{AnyPoints, Points, PointsRef};
use crate::real::Real;
use crate::wire::{Reader, Writer, damaged};

/// The name of the state in its bytes.
const KIND: &str = "PCA";

/// All that PCA needs to know of points, in d^2 numbers however many points there are: count, mean and scatter, or, for the
/// route "svd", a factor R of the scatter that keeps small components (MATHS.md, M19).
///
/// States of parts of the data merge into that of the whole: how the data was cut changes the result by rounding, and
/// batches and merges in the same order give the same bits. [`Pca::finish`] makes a model of it.
///
/// # Example
/// ```
/// use mercer::state::PcaState;
/// use mercer::{Exec, Pca, Points};
/// let (exec, pca) = (Exec::new(), Pca::new().components(1));
/// let mut here = pca.state(2)?;
/// here.update(&Points::from_rows(&[[2.0, 1.0], [4.0, 2.0]]), &exec)?;
/// let mut there = pca.state(2)?; // on another machine, say
/// there.update(&Points::from_rows(&[[6.0, 3.1], [8.0, 3.9]]), &exec)?;
/// let bytes = there.to_bytes()?;
/// here.merge(&PcaState::from_bytes(&bytes)?)?;
/// let model = pca.finish(&here, &exec)?;
/// assert_eq!(model.spectrum().n(), 4);
/// assert!(model.spectrum().ratios()[0] > 0.999);
/// # Ok::<(), mercer::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PcaState {
    embedding: Embedding,
    d: usize,
    sums: Sums,
}

#[derive(Clone, Debug, PartialEq)]
enum Sums {
    Scatter(Moments),
    Factor(Factor),
}

impl Pca {
    /// The state of no points of d dimensions, for this kind of PCA: a factor for [`Route::Svd`], else the scatter.
    ///
    /// # Errors
    /// When there are no dimensions, or an option is outside its domain, or the route needs all points at once.
    pub fn state(&self, d: usize) -> Result<PcaState> {
        self.components.validate("pca")?;
        self.embedding.validate()?;
        if d == 0 {
            return Err(ErrorKind::TooFew { what: ErrorSubject::Dimensions, found: 0, needed: 1 }.into());
        }
        let features = self.embedding.features(d).and_then(|f| usize::try_from(f).ok());
        let features = features.ok_or_else(|| Error::shape("features", usize::MAX, 0))?;
        let sums = match self.route {
            Route::Auto | Route::Covariance => Sums::Scatter(Moments::empty(features)),
            Route::Svd => Sums::Factor(Factor::empty(features)),
            Route::Gram => {
                return Err(ErrorKind::Unsupported {
                    what: "the Gram route needs all points at once".into(),
                    remedy: "use the covariance or the svd route for points that come in batches".into(),
                }
                .into());
            }
        };
        Ok(PcaState { embedding: self.embedding.clone(), d, sums })
    }

    /// The model of all points that a state has seen.
    ///
    /// # Errors
    /// When the state is of another embedding, there are too few points, or more memory is needed than allowed.
    pub fn finish(&self, state: &PcaState, exec: &Exec) -> Result<PcaModel> {
        self.finish_saying(state, exec).map(|(model, _)| model)
    }

    /// As [`Pca::finish`], with the reason why small components lose their digits, if they do.
    pub(crate) fn finish_saying(&self, state: &PcaState, exec: &Exec) -> Result<(PcaModel, Option<String>)> {
        if state.embedding != self.embedding {
            let what = format!("the state is of {}, not of {}", state.embedding, self.embedding);
            return Err(Error::inconsistent(what));
        }
        let columns = state.columns();
        let n = usize::try_from(columns.n()).unwrap_or(usize::MAX);
        let needed = if self.center { 2 } else { 1 };
        if n < needed {
            return Err(ErrorKind::TooFew { what: ErrorSubject::Points, found: n, needed }.into());
        }
        // A state has no plan but this one, of its own route: the number of points is known only now.
        let plan = self.clone().route(state.route()).plan_features(n, columns.d() as u128, exec)?;
        let route = plan.route.of_pca()?;
        exec.run(|| {
            let location = Location::of(columns, self)?;
            let most = n.min(columns.d());
            let found = location.with_features(match &state.sums {
                Sums::Scatter(moments) => location.of_moments(moments, most)?,
                Sums::Factor(factor) => location.of_factor(factor, most)?,
            });
            let k = self.components.count(&found.eigenvalues, found.total(), most);
            let (mut notes, lost) = (location.notes(self), found.lost_digits(k, route));
            notes.extend(lost.iter().map(|lost| format!("{lost}; the svd route keeps them")));
            let at = Standardise { mean: location.mean, scale: location.scale };
            Ok((self.assemble(found, k, route, at, (n, state.d), notes)?, lost))
        })
    }
}

impl PcaState {
    /// Takes a batch of points, of any size.
    ///
    /// # Errors
    /// When it has other dimensions, or values that are not finite or too large to be squared; the state is then as it was.
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
        x.check_dimensions(self.d)?;
        if x.n() == 0 {
            return Ok(());
        }
        if self.embedding == Embedding::Identity {
            return self.add_points(x, exec);
        }
        x.check(0)?;
        let features = self.columns().d();
        let mut phi = Vec::with_capacity(x.n() * features);
        for (i, point) in x.to_f64().rows().enumerate() {
            phi.extend(self.embedding.checked_map(i, point, features)?);
        }
        self.add_points(Points::new(phi, x.n(), features)?.view(), exec)
    }

    fn add_points<T: Real>(&mut self, x: PointsRef<'_, T>, exec: &Exec) -> Result<()> {
        match &mut self.sums {
            Sums::Scatter(moments) => moments.add(&Moments::of_with(x, exec)?),
            Sums::Factor(factor) => factor.add(&Factor::of_with(x, exec)?),
        }
        Ok(())
    }

    /// Takes all that another state has seen.
    ///
    /// # Errors
    /// When it is of another kind; the state is then as it was.
    pub fn merge(&mut self, other: &PcaState) -> Result<()> {
        if (&self.embedding, self.d, self.route()) != (&other.embedding, other.d, other.route()) {
            let of = |s: &PcaState| format!("{} dimensions, {}, by the {} route", s.d, s.embedding, s.route().name());
            return Err(Error::inconsistent(format!("states of {} and of {} cannot be merged", of(self), of(other))));
        }
        match (&mut self.sums, &other.sums) {
            (Sums::Scatter(mine), Sums::Scatter(theirs)) => mine.add(theirs),
            (Sums::Factor(mine), Sums::Factor(theirs)) => mine.add(theirs),
            // Excluded by the comparison of routes.
            (Sums::Scatter(_), Sums::Factor(_)) | (Sums::Factor(_), Sums::Scatter(_)) => {}
        }
        Ok(())
    }

    fn columns(&self) -> &Columns {
        match &self.sums {
            Sums::Scatter(moments) => moments.columns(),
            Sums::Factor(factor) => factor.columns(),
        }
    }

    /// [`Route::Covariance`] or [`Route::Svd`].
    pub fn route(&self) -> Route {
        match self.sums {
            Sums::Scatter(_) => Route::Covariance,
            Sums::Factor(_) => Route::Svd,
        }
    }

    /// Returns the number of points.
    pub fn n(&self) -> u64 {
        self.columns().n()
    }

    /// Returns the number of columns of the points.
    pub fn d(&self) -> usize {
        self.d
    }

    /// Returns the mean of the features.
    pub fn mean(&self) -> Vec<f64> {
        self.columns().mean()
    }

    /// Returns sum (x - mean)^2 of each feature.
    pub fn squares(&self) -> Vec<f64> {
        (0..self.columns().d()).map(|j| self.columns().square(j)).collect()
    }

    /// Returns the smallest and the largest value of each feature; infinite without points.
    pub fn ranges(&self) -> Vec<(f64, f64)> {
        self.columns().ranges()
    }

    /// The state as bytes, for files and other machines.
    ///
    /// # Errors
    /// For an embedding of your own: bytes carry no code.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        if let Embedding::Custom { .. } = self.embedding {
            return Err(ErrorKind::Unsupported {
                what: "a state of an embedding function cannot become bytes: they carry no code".into(),
                remedy: "embed the points before, and take PCA of the result".into(),
            }
            .into());
        }
        let mut writer = Writer::new(KIND);
        writer.text(&self.embedding.to_string());
        writer.count(self.d as u64);
        writer.flag(self.route() == Route::Svd);
        match &self.sums {
            Sums::Scatter(moments) => moments.write(&mut writer),
            Sums::Factor(factor) => factor.write(&mut writer),
        }
        Ok(writer.finish())
    }

    /// The state that these bytes are of.
    ///
    /// # Errors
    /// When the bytes are damaged, of another version, or not of such a state.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::open(bytes, KIND)?;
        let embedding: Embedding = reader.text()?.parse()?;
        let d = reader.size()?;
        let sums = match reader.flag()? {
            true => Sums::Factor(Factor::read(&mut reader)?),
            false => Sums::Scatter(Moments::read(&mut reader)?),
        };
        reader.end()?;
        let state = PcaState { embedding, d, sums };
        match state.embedding.features(d) == Some(state.columns().d() as u128) && d > 0 {
            true => Ok(state),
            false => Err(damaged("the numbers of columns do not fit together")),
        }
    }
}
