//! Projection: the affine map z(x) = W' phi(x) - b that all models have in common.

use rayon::prelude::*;

use crate::error::{Error, ErrorSubject, Result, check_finite};
use crate::exec::Exec;
use crate::features::Features;
use crate::linalg;
use crate::points::{AnyPoints, Points, PointsRef};
use crate::real::Real;

/// Number of points that are projected together.
const BLOCK: usize = 64;

/// One affine map of one feature row (MATHS.md, M11).
#[derive(Clone, Debug)]
pub(crate) struct Projection {
    features: Features,
    /// W, a row per feature and a column per component.
    weights: Points<f64>,
    /// b, a value per component.
    offset: Vec<f64>,
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
        Ok(Projection { features, weights, offset })
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

    /// The scores of points. Points are projected in blocks of a fixed size, the last one padded, and each score is summed
    /// over features in order: it depends neither on other points nor on the number of threads.
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
        x.check(0)?;
        self.features.check_domain(x)?;
        let (n, k) = (x.n(), self.components());
        let blocks: Vec<(Vec<f64>, Vec<f64>)> = exec.run(|| {
            (0..n.div_ceil(BLOCK))
                .into_par_iter()
                .map(|block| {
                    exec.check_cancelled()?;
                    let start = block * BLOCK;
                    self.apply_block(x.slice(start, n.min(start + BLOCK)), start, with_means, exec)
                })
                .collect::<Result<_>>()
        })?;
        let (mut scores, mut means) = (Vec::with_capacity(n * k), Vec::with_capacity(n));
        for (z, m) in blocks {
            scores.extend(z);
            means.extend(m);
        }
        check_finite(ErrorSubject::Scores, &scores, |at| (at / k, at % k))?;
        Ok((Points::new(scores, n, k)?, means))
    }

    fn apply_block<T: Real>(
        &self,
        x: PointsRef<'_, T>,
        start: usize,
        with_means: Option<Option<&[f64]>>,
        exec: &Exec,
    ) -> Result<(Vec<f64>, Vec<f64>)> {
        let (n, d, k, m) = (x.n(), x.d(), self.components(), self.features.len() as f64);
        // All blocks have the same shape, so that the scores of a point have the same bits in any of them.
        let mut full = x.to_f64().into_vec();
        for _ in n..BLOCK {
            full.extend_from_within((n - 1) * d..n * d);
        }
        let full = Points::new(full, BLOCK, d)?;
        let (mut scores, mut means) = (vec![0.0; BLOCK * k], vec![0.0; BLOCK]);
        self.features.each_piece(full.view(), start, exec, |first, width, values| {
            let weights = &self.weights.as_slice()[first * k..(first + width) * k];
            if k > 0 {
                linalg::add_row_products(values, weights, (BLOCK, width, k), &mut scores);
            }
            for (mean, line) in means.iter_mut().zip(values.chunks_exact(width)) {
                *mean += match with_means {
                    None => 0.0,
                    Some(None) => line.iter().sum::<f64>() / m,
                    Some(Some(weights)) => linalg::dot(line, &weights[first..first + width]),
                };
            }
        })?;
        for (i, row) in scores.chunks_exact_mut(k.max(1)).take(n).enumerate() {
            row.iter_mut().zip(&self.offset).for_each(|(z, b)| *z -= b);
            if row.iter().any(|z| !z.is_finite()) {
                self.features.not_finite(full.view().slice(i, i + 1), start + i, exec)?;
            }
        }
        scores.truncate(n * k);
        means.truncate(n);
        Ok((scores, means))
    }
}
