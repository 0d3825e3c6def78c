//! Projection: the affine map z(x) = W' phi(x) - b that all models have in common.

use rayon::prelude::*;

use crate::error::{Error, ErrorSubject, Result, check_finite};
use crate::exec::Exec;
use crate::features::Features;
use crate::linalg;
use crate::panels::{self, Panels};
use crate::points::{AnyPoints, Points, PointsRef};
use crate::real::Real;

/// Number of points that are projected together.
const BLOCK: usize = 192;

/// One affine map of one feature row (MATHS.md, M11).
#[derive(Clone, Debug)]
pub(crate) struct Projection {
    features: Features,
    /// W, a row per feature and a column per component.
    weights: Points<f64>,
    /// b, a value per component.
    offset: Vec<f64>,
    /// The columns of W, packed.
    packed: Panels<f64>,
}

impl Projection {
    pub(crate) fn new(features: Features, weights: Points<f64>, offset: Vec<f64>) -> Result<Self> {
        if weights.n() != features.len() {
            return Err(Error::shape("rows of the weights", weights.n(), features.len()));
        }
        if weights.d() != offset.len() {
            return Err(Error::shape("entries of the offset", offset.len(), weights.d()));
        }
        if weights.as_slice().iter().chain(&offset).any(|v| !v.is_finite()) {
            return Err(Error::inconsistent("the model has weights that are not finite"));
        }
        let packed = Panels::of_rows(weights.as_slice(), weights.d());
        Ok(Projection { features, weights, offset, packed })
    }

    pub(crate) fn features(&self) -> &Features {
        &self.features
    }

    pub(crate) fn weights(&self) -> &Points<f64> {
        &self.weights
    }

    pub(crate) fn offset(&self) -> &[f64] {
        &self.offset
    }

    pub(crate) fn components(&self) -> usize {
        self.offset.len()
    }

    /// The scores of points. Each score is summed over features in order: it depends neither on other points nor on the
    /// number of threads.
    pub(crate) fn apply<T: Real>(&self, x: PointsRef<'_, T>, exec: &Exec) -> Result<Points<f64>> {
        Ok(self.apply_any(x.into(), None, exec)?.0)
    }

    /// The scores, and a mean of each point's features, weighted or plain.
    pub(crate) fn apply_with_means<T: Real>(
        &self,
        x: PointsRef<'_, T>,
        weights: Option<&[f64]>,
        exec: &Exec,
    ) -> Result<(Points<f64>, Vec<f64>)> {
        self.apply_any(x.into(), Some(weights), exec)
    }

    fn apply_any(
        &self,
        x: AnyPoints<'_>,
        with_means: Option<Option<&[f64]>>,
        exec: &Exec,
    ) -> Result<(Points<f64>, Vec<f64>)> {
        match x {
            AnyPoints::F64(x) => self.apply_blocks(x, with_means, exec),
            AnyPoints::F32(x) => self.apply_blocks(x, with_means, exec),
        }
    }

    fn apply_blocks<T: Real>(
        &self,
        x: PointsRef<'_, T>,
        with_means: Option<Option<&[f64]>>,
        exec: &Exec,
    ) -> Result<(Points<f64>, Vec<f64>)> {
        self.features.check_dimensions(x)?;
        self.features.check_domain(x).or_else(|error| x.check(0).and(Err(error)))?;
        let (n, k) = (x.n(), self.components());
        let (mut scores, mut means) = (vec![0.0; n * k.max(1)], vec![0.0; n]);
        let parts = scores.par_chunks_mut(BLOCK * k.max(1)).zip(means.par_chunks_mut(BLOCK)).enumerate();
        let work = |(part, (scores, means)): (usize, (&mut [f64], &mut [f64]))| {
            exec.check_cancelled()?;
            let start = part * BLOCK;
            self.apply_block(x.slice(start, start + means.len()), start, with_means, (scores, means), exec)
        };
        // The first value that is not finite is named, whichever block met one first.
        exec.run(|| parts.try_for_each(work)).or_else(|error| x.check(0).and(Err(error)))?;
        scores.truncate(n * k);
        means.truncate(if with_means.is_some() { n } else { 0 });
        Ok((Points::new(scores, n, k)?, means))
    }

    fn apply_block<T: Real>(
        &self,
        x: PointsRef<'_, T>,
        start: usize,
        with_means: Option<Option<&[f64]>>,
        (scores, means): (&mut [f64], &mut [f64]),
        exec: &Exec,
    ) -> Result<()> {
        let (k, m) = (self.components(), self.features.len() as f64);
        x.check(0)?;
        self.features.each_piece(x, start, exec, |first, width, values| {
            if k > 0 {
                panels::add_rows_times(exec.level(), values, &self.packed, first..first + width, scores);
            }
            let Some(weights) = with_means else { return };
            for (mean, line) in means.iter_mut().zip(values.chunks_exact(width)) {
                *mean += match weights {
                    None => line.iter().sum::<f64>() / m,
                    Some(weights) => linalg::dot(line, &weights[first..first + width]),
                };
            }
        })?;
        for (i, row) in scores.chunks_exact_mut(k.max(1)).enumerate().filter(|_| k > 0) {
            row.iter_mut().zip(&self.offset).for_each(|(z, b)| *z -= b);
            if row.iter().any(|z| !z.is_finite()) {
                self.features.not_finite(x.slice(i, i + 1), start + i, exec)?;
                check_finite(ErrorSubject::Scores, row, |at| (start + i, at))?;
            }
        }
        Ok(())
    }
}
