//! exp(-gamma s), which several kernels use with different statistics.

use fearless_simd::prelude::*;

use crate::kernel::formula::Formula;
use crate::real::Real;
use crate::vector::{self, Four, SIDE_BY_SIDE};

pub(super) fn value(gamma: f64, s: f64) -> f64 {
    (-gamma * s).exp()
}

pub(super) fn deviation(gamma: f64, s: f64) -> f64 {
    (-gamma * s).exp_m1()
}

pub(super) fn derivative(gamma: f64, s: f64) -> f64 {
    -gamma * (-gamma * s).exp()
}

pub(super) fn formula(gamma: f64) -> Formula {
    Formula::Statistic.times(-gamma).exp()
}

#[inline(always)]
pub(super) fn vectors<S: Simd, T: Real>(simd: S, gamma: f64, deviation: bool) -> impl Fn(Four<S, T>) -> Four<S, T> {
    let factor = vector::constant::<S, T>(simd, -gamma);
    #[inline(always)]
    move |s| {
        let x = vector::times(s, factor);
        if deviation {
            vector::exp_m1::<S, T, SIDE_BY_SIDE>(simd, x)
        } else {
            vector::exp::<S, T, SIDE_BY_SIDE>(simd, x)
        }
    }
}
