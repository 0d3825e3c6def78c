//! Projection: what every fitted model is. z(x) = W' phi(x) - b.

use rayon::prelude::*;

use crate::error::{Error, Result, check_finite};
use crate::exec::Exec;
use crate::features::Features;
use crate::kernel::tile::TILE;
use crate::points::{Points, PointsRef};
use crate::real::Real;

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

    /// The scores of points. Each is summed by one thread over features in order: the result for a point depends
    /// neither on the points beside it nor on the number of threads.
    pub(crate) fn apply<T: Real>(&self, x: PointsRef<'_, T>, exec: &Exec) -> Result<Points<f64>> {
        Ok(self.apply_with_means(x, exec)?.0)
    }

    /// The scores, and the mean of each point's features.
    pub(crate) fn apply_with_means<T: Real>(
        &self,
        x: PointsRef<'_, T>,
        exec: &Exec,
    ) -> Result<(Points<f64>, Vec<f64>)> {
        self.features.check_dimensions(x)?;
        x.check(0)?;
        let (n, k, m) = (x.n(), self.components(), self.features.len() as f64);
        let (mut scores, mut means) = (vec![0.0; n * k], vec![0.0; n]);
        exec.run(|| {
            // k may be 0, for data without variance: the rows of scores are then empty, but there are still n of them.
            let tiles: Vec<(usize, &mut [f64], &mut [f64])> = {
                let mut rest = scores.as_mut_slice();
                means
                    .chunks_mut(TILE)
                    .enumerate()
                    .map(|(t, means)| {
                        let (mine, others) = std::mem::take(&mut rest).split_at_mut(means.len() * k);
                        rest = others;
                        (t * TILE, mine, means)
                    })
                    .collect()
            };
            tiles.into_par_iter().try_for_each(|(start, scores, means)| {
                exec.go_on()?;
                let points = x.slice(start, start + means.len());
                self.features.each_piece(points, start, exec, |i, first, values| {
                    let scores = &mut scores[i * k..(i + 1) * k];
                    for (c, v) in values.iter().enumerate() {
                        means[i] += v;
                        for (z, w) in scores.iter_mut().zip(self.weights.row(first + c)) {
                            *z += v * w;
                        }
                    }
                })?;
                for row in scores.chunks_exact_mut(k.max(1)) {
                    row.iter_mut().zip(&self.offset).for_each(|(z, b)| *z -= b);
                }
                means.iter_mut().for_each(|v| *v /= m);
                Ok(())
            })
        })?;
        check_finite("scores", &scores, |at| (at / k, at % k))?;
        Ok((Points::new(scores, n, k)?, means))
    }
}
