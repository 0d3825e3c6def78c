//! The numbers of a pair of points that kernels are functions of.

use std::f64::consts::PI;

/// The number of a pair of points that a kernel is a function of.
///
/// ```
/// use mercer::kernel::Statistic;
/// assert_eq!(Statistic::L1.of(&[1.0, 2.0], &[0.0, 4.0]), 3.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic<'a> {
    /// x.y
    Dot,
    /// x.y / (|x| |y|), and 0 where x or y is 0
    Cosine,
    /// x.y / (|x|^2 + |y|^2 - x.y), and 1 where x and y are 0
    Tanimoto,
    /// |x-y|^2
    SquaredDistance,
    /// sum_j ((x_j - y_j) / length_j)^2
    ScaledDistance(&'a [f64]),
    /// sum_j 4 sin^2(pi (x_j - y_j) / period): the squared distance of the points wound around circles of radius 1
    CircleDistance(f64),
    /// |x-y|_1
    L1,
    /// sum_j (x_j - y_j)^2 / (x_j + y_j), a term being 0 where both are 0
    ChiSquared,
}

/// How a tile computes a statistic of mapped points (see [`Lens`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pairing {
    /// x.y, by a matrix product.
    Dot,
    /// x.y and the squared norms, by a matrix product.
    Tanimoto,
    /// |x-y|^2, by a matrix product or coordinate by coordinate.
    SquaredDistance,
    /// |x-y|_1, coordinate by coordinate.
    L1,
    /// The chi-squared distance, coordinate by coordinate.
    ChiSquared,
}

/// The map that is applied to points once, before tiles are computed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Lens {
    /// The points as they are.
    Plain,
    /// x / |x|.
    Unit,
    /// (x - middle) / length, coordinate by coordinate.
    Scaled(Vec<f64>),
    /// (cos, sin) of 2 pi x / period.
    Circle(f64),
}

impl Lens {
    /// The number of dimensions of the images of points of d dimensions.
    pub(crate) fn dimensions(&self, d: usize) -> usize {
        match self {
            Lens::Plain | Lens::Unit | Lens::Scaled(_) => d,
            Lens::Circle(_) => d.saturating_mul(2),
        }
    }

    /// A bound on the error of a squared distance of mapped points that the map causes, in units of eps times their
    /// largest squared norm (MATHS.md, M22).
    pub(crate) fn error(&self) -> f64 {
        match self {
            Lens::Plain => 0.0,
            // Each coordinate is rounded twice: 2 |u-v| 2 eps |u|, and |u-v| <= 2 |u|.
            Lens::Unit | Lens::Scaled(_) => 8.0,
            // The remainder is exact; division, product, sine and cosine round: at most 8 eps per coordinate.
            Lens::Circle(_) => 64.0,
        }
    }

    /// The image of a point. `middle` is a point in the middle of the data.
    pub(crate) fn map(&self, x: &[f64], middle: &[f64], out: &mut Vec<f64>) {
        match self {
            Lens::Plain => out.extend_from_slice(x),
            Lens::Unit => {
                let norm = dot(x, x).sqrt();
                out.extend(x.iter().map(|v| if norm > 0.0 { v / norm } else { 0.0 }));
            }
            Lens::Scaled(lengths) => {
                out.extend(x.iter().zip(middle).zip(lengths).map(|((v, middle), length)| (v - middle) / length));
            }
            Lens::Circle(period) => {
                // The remainder is exact, so that points many periods away lose no digits.
                let angle = |v: &f64| 2.0 * PI * ((v % period) / period);
                out.extend(x.iter().map(|v| angle(v).cos()));
                out.extend(x.iter().map(|v| angle(v).sin()));
            }
        }
    }
}

impl Statistic<'_> {
    /// The statistic of a pair: the definition.
    pub fn of(self, x: &[f64], y: &[f64]) -> f64 {
        match self {
            Statistic::Dot => dot(x, y),
            Statistic::Cosine => super::normalise(dot(x, y), dot(x, x), dot(y, y)),
            Statistic::Tanimoto => tanimoto(dot(x, y), dot(x, x), dot(y, y)),
            Statistic::SquaredDistance => squared_distance(x, y),
            Statistic::ScaledDistance(lengths) => {
                x.iter().zip(y).zip(lengths).map(|((a, b), length)| ((a - b) / length).powi(2)).sum()
            }
            Statistic::CircleDistance(period) => {
                // Remainders are exact: points many periods away lose no digits.
                x.iter().zip(y).map(|(a, b)| 4.0 * (PI * ((a % period - b % period) / period)).sin().powi(2)).sum()
            }
            Statistic::L1 => l1(x, y),
            Statistic::ChiSquared => sum(x, y, chi_squared),
        }
    }

    /// The statistic of a point with itself, without computing differences.
    pub(crate) fn of_self(self, x: &[f64]) -> f64 {
        match self {
            Statistic::Dot => dot(x, x),
            Statistic::Cosine => f64::from(u8::from(dot(x, x) > 0.0)),
            Statistic::Tanimoto => 1.0,
            Statistic::SquaredDistance
            | Statistic::ScaledDistance(_)
            | Statistic::CircleDistance(_)
            | Statistic::L1
            | Statistic::ChiSquared => 0.0,
        }
    }

    /// The derivatives with respect to the coordinates of x. Where there is none (|x-y|_1 at equal coordinates), 0.
    pub(crate) fn gradient(self, x: &[f64], y: &[f64]) -> Vec<f64> {
        let each = |f: &dyn Fn(f64, f64) -> f64| x.iter().zip(y).map(|(a, b)| f(*a, *b)).collect();
        match self {
            Statistic::Dot => y.to_vec(),
            Statistic::Cosine => {
                let (nx, ny) = (dot(x, x).sqrt(), dot(y, y).sqrt());
                let cosine = self.of(x, y);
                each(&|a, b| if nx > 0.0 && ny > 0.0 { (b / ny - cosine * a / nx) / nx } else { 0.0 })
            }
            Statistic::Tanimoto => {
                let (p, below) = (dot(x, y), dot(x, x) + dot(y, y) - dot(x, y));
                each(&|a, b| if below > 0.0 { (b - p / below * (2.0 * a - b)) / below } else { 0.0 })
            }
            Statistic::SquaredDistance => each(&|a, b| 2.0 * (a - b)),
            Statistic::ScaledDistance(lengths) => {
                x.iter().zip(y).zip(lengths).map(|((a, b), length)| 2.0 * (a - b) / length / length).collect()
            }
            Statistic::CircleDistance(period) => {
                each(&|a, b| 4.0 * PI / period * (2.0 * PI * ((a % period - b % period) / period)).sin())
            }
            Statistic::L1 => each(&|a, b| if a == b { 0.0 } else { (a - b).signum() }),
            Statistic::ChiSquared => each(&|a, b| {
                let total = a + b;
                if total > 0.0 { (a - b) / total * ((a + 3.0 * b) / total) } else { 0.0 }
            }),
        }
    }

    /// The way tiles compute it: the map of the points, and the product or distance of a pair of mapped points.
    pub(crate) fn by_tiles(self) -> (Lens, Pairing) {
        match self {
            Statistic::Dot => (Lens::Plain, Pairing::Dot),
            Statistic::Cosine => (Lens::Unit, Pairing::Dot),
            Statistic::Tanimoto => (Lens::Plain, Pairing::Tanimoto),
            Statistic::SquaredDistance => (Lens::Plain, Pairing::SquaredDistance),
            Statistic::ScaledDistance(lengths) => (Lens::Scaled(lengths.to_vec()), Pairing::SquaredDistance),
            Statistic::CircleDistance(period) => (Lens::Circle(period), Pairing::SquaredDistance),
            Statistic::L1 => (Lens::Plain, Pairing::L1),
            Statistic::ChiSquared => (Lens::Plain, Pairing::ChiSquared),
        }
    }

    /// Whether coordinates are multiplied, so that their squares must stay in range.
    pub(crate) fn takes_squares(self) -> bool {
        match self {
            Statistic::Dot
            | Statistic::Cosine
            | Statistic::Tanimoto
            | Statistic::SquaredDistance
            | Statistic::ScaledDistance(_)
            | Statistic::ChiSquared => true,
            Statistic::CircleDistance(_) | Statistic::L1 => false,
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

/// From x.y, |x|^2 and |y|^2.
pub(crate) fn tanimoto(dot: f64, xx: f64, yy: f64) -> f64 {
    let below = xx + yy - dot;
    if below > 0.0 { dot / below } else { 1.0 }
}

fn chi_squared(a: f64, b: f64) -> f64 {
    let total = a + b;
    if total > 0.0 { (a - b) / total * (a - b) } else { 0.0 }
}

/// The sum of f over coordinates, in eight interleaved parts so that it vectorises. The order depends on the length alone,
/// so that a pair gives the same bits at any position in a tile.
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
