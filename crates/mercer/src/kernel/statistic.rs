//! The numbers of a pair of points that kernels are functions of.

/// What a kernel looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Statistic {
    /// x.y
    Dot,
    /// |x-y|^2
    SquaredDistance,
    /// |x-y|_1
    L1,
}

impl Statistic {
    pub(crate) fn of(self, x: &[f64], y: &[f64]) -> f64 {
        match self {
            Statistic::Dot => dot(x, y),
            Statistic::SquaredDistance => squared_distance(x, y),
            Statistic::L1 => l1(x, y),
        }
    }
}

pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    sum(x, y, |a, b| a * b)
}

/// By differences, never by |x|^2 + |y|^2 - 2 x.y, which loses all digits far from the origin.
pub(crate) fn squared_distance(x: &[f64], y: &[f64]) -> f64 {
    sum(x, y, |a, b| (a - b) * (a - b))
}

pub(crate) fn l1(x: &[f64], y: &[f64]) -> f64 {
    sum(x, y, |a, b| (a - b).abs())
}

/// The sum of f over coordinates, in eight interleaved parts so that it vectorises; the order depends on the
/// length alone, so that a pair gives the same bits wherever it stands.
#[inline(always)]
fn sum(x: &[f64], y: &[f64], f: impl Fn(f64, f64) -> f64) -> f64 {
    const LANES: usize = 8;
    let mut parts = [0.0; LANES];
    let (x8, y8) = (x.chunks_exact(LANES), y.chunks_exact(LANES));
    let rest: f64 = x8.remainder().iter().zip(y8.remainder()).map(|(&a, &b)| f(a, b)).sum();
    for (a, b) in x8.zip(y8) {
        for lane in 0..LANES {
            parts[lane] += f(a[lane], b[lane]);
        }
    }
    let [a, b, c, d, e, g, h, i] = parts;
    ((a + e) + (b + g)) + ((c + h) + (d + i)) + rest
}
