//! Checks that every kernel must pass: kernels of the table, and your own functions.
//!
//! Each check returns the violations that it finds, as sentences; none means that the kernel passes.

use fearless_simd::Level;

use super::double_double::DoubleDouble;
use super::{matrices, naive};
use crate::error::Result;
use crate::kernel::registry::{Domain, Entry, ParameterKind, Range};
use crate::kernel::rounding::{self, Extent};
use crate::kernel::statistic::Statistic;
use crate::kernel::tile::{self, DistanceMethod, Form, Rows, Scratch};
use crate::kernel::{Bound, Kernel, Leaf, registry};
use crate::points::Points;
use crate::real::Real;

/// Kernels of an entry of the table for points of d dimensions: the defaults, and each parameter over its range.
pub fn examples(entry: &Entry, d: usize) -> Vec<Kernel> {
    let mut texts = vec![entry.name.to_string()];
    for parameter in entry.parameters {
        let name = parameter.name;
        let values: Vec<String> = match (parameter.kind, parameter.range) {
            (ParameterKind::Lengths, _) => {
                let list: Vec<String> = (0..d).map(|j| format!("{}", 0.7 + 0.4 * j as f64)).collect();
                vec!["1.3".into(), format!("[{}]", list.join(", "))]
            }
            (_, Range::Around { .. }) => vec!["0.07".into(), "1.3".into()],
            (_, Range::Ratios { low, high }) => vec![format!("{}", 3.0 * low), format!("{}", (low * high).sqrt())],
            (ParameterKind::Whole, Range::Steps { low, .. }) => vec![format!("{low}"), format!("{}", low + 2.0)],
            (_, Range::Steps { low, high, .. }) => {
                vec![format!("{low}"), format!("{}", 0.3 * low + 0.7 * high), format!("{high}")]
            }
            (_, Range::Choices { choices }) => choices.iter().map(ToString::to_string).collect(),
        };
        texts.extend(values.into_iter().map(|v| format!("{}({name}={v})", entry.name)));
    }
    texts.iter().map(|text| text.parse().expect("the table's own ranges are within its domains")).collect()
}

/// Forty ordinary points of d dimensions in the domain of a kernel, two of them equal, one of them 0.
pub fn points(domain: Domain, d: usize, seed: u64) -> Points<f64> {
    let x = matrices::normal(40, d, seed);
    let x = Points::from_fn(40, d, |i, j| match i {
        0 => 0.0,
        2 => x.row(1)[j],
        _ => x.row(i)[j],
    });
    within(domain, &x)
}

/// The points, with absolute values if the domain has no negative values.
pub fn within(domain: Domain, x: &Points<f64>) -> Points<f64> {
    let value = |v: f64| if domain == Domain::NonNegative { v.abs() } else { v };
    Points::from_fn(x.n(), x.d(), |i, j| value(x.row(i)[j]))
}

/// Checks your own function: finite, symmetric and, if `psd` is true, positive semi-definite on these points.
///
/// # Example
/// ```
/// use mercer::testing::{conformance, matrices};
/// let x = matrices::normal(20, 3, 1);
/// let overlap = |x: &[f64], y: &[f64]| -> f64 { x.iter().zip(y).map(|(a, b)| (-(a - b).abs()).exp()).sum() };
/// assert!(conformance::function(overlap, &x, true).is_empty());
/// let distance = |x: &[f64], y: &[f64]| -> f64 { x.iter().zip(y).map(|(a, b)| (a - b).powi(2)).sum() };
/// assert_eq!(conformance::function(distance, &x, true).len(), 1); // not positive semi-definite
/// ```
pub fn function(kernel: impl Fn(&[f64], &[f64]) -> f64, x: &Points<f64>, psd: bool) -> Vec<String> {
    let gram: Points<f64> = Points::from_fn(x.n(), x.n(), |i, j| kernel(x.row(i), x.row(j)));
    let scale = gram.as_slice().iter().fold(f64::MIN_POSITIVE, |m, v| m.max(v.abs()));
    if let Some(at) = gram.as_slice().iter().position(|v| !v.is_finite()) {
        return vec![format!("the value of points {} and {} is not finite", at / x.n(), at % x.n())];
    }
    let mut wrong = Vec::new();
    for (i, j) in pairs(x.n()) {
        let (a, b) = (gram.row(i)[j], gram.row(j)[i]);
        if (a - b).abs() > 8.0 * f64::EPSILON * scale {
            wrong.push(format!("not symmetric: {a} and {b} for points {i} and {j}"));
        }
    }
    if psd {
        let (values, _) = naive::eigen(&gram);
        let (least, n) = (values.last().copied().unwrap_or(0.0), x.n() as f64);
        if least < -64.0 * n * f64::EPSILON * scale {
            wrong.push(format!("not positive semi-definite: an eigenvalue of {least:e}"));
        }
    }
    wrong
}

/// Checks a kernel on points: all of [`function`], its values with themselves, tiles against the formula in higher
/// precision within the stated error, the gradient against differences, and its text.
///
/// # Errors
/// When the kernel cannot be bound to the points.
pub fn kernel(kernel: &Kernel, x: &Points<f64>) -> Result<Vec<String>> {
    let bound = Bound::new(kernel, x)?;
    let numeric = bound.kernel();
    let mut wrong = function(|a, b| numeric.eval(a, b), x, numeric.is_psd());
    for i in 0..x.n() {
        let (own, both) = (numeric.self_value(x.row(i)), numeric.eval(x.row(i), x.row(i)));
        if (own - both).abs() > 8.0 * f64::EPSILON * both.abs() {
            wrong.push(format!("k(x, x) of point {i} is {own} and {both}"));
        }
    }
    for text in [kernel.to_string(), numeric.to_string()] {
        if text.parse::<Kernel>()?.to_string() != text {
            wrong.push(format!("'{text}' does not read back as itself"));
        }
    }
    wrong.extend(gradients(numeric, x));
    if let Kernel::Leaf(leaf) = numeric {
        wrong.extend(formulas(leaf));
        let shift = bound.shift().to_vec();
        for deviation in [false, true] {
            let bound = Bound::from_parts(numeric.clone(), x.d(), deviation, shift.clone())?;
            for method in [DistanceMethod::Differences, DistanceMethod::Products] {
                let rows = Rows::new(&bound, x.clone(), method);
                wrong.extend(tiles(&bound, leaf, x, &rows, deviation));
                wrong.extend(tiles(&bound, leaf, x, &rows.to_f32(&bound), deviation));
            }
        }
    }
    wrong.iter_mut().for_each(|w| *w = format!("{kernel}: {w}"));
    Ok(wrong)
}

/// Checks every example of every kernel of the table.
///
/// # Errors
/// As [`kernel`].
pub fn table() -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    for entry in registry::KERNELS {
        for d in [1, 3, 11] {
            for example in examples(entry, d) {
                wrong.extend(kernel(&example, &points(entry.domain, d, 7 + d as u64))?);
            }
        }
    }
    Ok(wrong)
}

fn pairs(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).flat_map(|i| (0..i).map(move |j| (i, j)))
}

/// The gradient against central differences, away from equal coordinates, where some kernels have none.
fn gradients(kernel: &Kernel, x: &Points<f64>) -> Vec<String> {
    const STEP: f64 = 1e-5;
    let mut wrong = Vec::new();
    for (i, j) in [(3, 4), (5, 9), (12, 7)] {
        let (a, b) = (x.row(i), x.row(j));
        let gradient = kernel.gradient(a, b);
        for c in 0..x.d() {
            let step = STEP * a[c].abs().max(1e-2);
            let at = |h: f64| {
                let moved: Vec<f64> = a.iter().enumerate().map(|(at, v)| if at == c { v + h } else { *v }).collect();
                kernel.eval(&moved, b)
            };
            let (slope, curve) = ((at(step) - at(-step)) / (2.0 * step), at(step) - 2.0 * at(0.0) + at(-step));
            let scale = at(0.0).abs() + gradient.iter().fold(0.0f64, |m, g| m.max(g.abs()));
            if (slope - gradient[c]).abs() > 1e-5 * scale + (curve / step).abs() * 1e-2 {
                wrong.push(format!("the gradient is {} where differences give {slope}", gradient[c]));
            }
        }
    }
    wrong
}

/// The formula, the value and the deviation against each other.
fn formulas(leaf: &Leaf) -> Vec<String> {
    let (formula, mut wrong) = (leaf.formula(), Vec::new());
    for at in 0..60 {
        let s = if at == 0 { 0.0 } else { 1e-13 * 2.3f64.powi(at) };
        // For larger statistics, powers leave the range of the reference.
        if s > 1e3 {
            break;
        }
        let exact = DoubleDouble::from(s).formula(&formula);
        let (value, deviation) = (leaf.value(s), leaf.deviation(s));
        let exact_deviation = (exact - leaf.origin().into()).to_f64();
        // The rounding error of the exponent is a relative error of the value.
        let exponent = if leaf.origin() == 0.0 { 40.0 } else { 4.0 - exact.to_f64().max(1e-300).ln() };
        for (what, found, expected) in [("value", value, exact.to_f64()), ("deviation", deviation, exact_deviation)] {
            let inner = if leaf.origin() == 0.0 { 1.0 } else { expected.abs() };
            if (found - expected).abs() > 16.0 * f64::EPSILON * exponent * inner.max(expected.abs()) + 1e-300 {
                wrong.push(format!("the {what} at {s:e} is {found:e} where the formula has {expected:e}"));
            }
        }
    }
    wrong
}

/// Tiles against the formula in higher precision, on every instruction set of this machine.
fn tiles<T: Real>(bound: &Bound, leaf: &Leaf, x: &Points<f64>, rows: &Rows<T>, deviation: bool) -> Vec<String> {
    let (n, kernel) = (x.n(), bound.kernel());
    let extent = Extent::of(kernel, x, rows.reach());
    let mut wrong = Vec::new();
    // For f32 tiles, too, the exact values are those of the f64 points.
    let form = if deviation && !bound.has_linear_term() { Form::UpToCentring } else { Form::Value };
    let origin = if form == Form::UpToCentring { leaf.origin() } else { 0.0 };
    let formula = leaf.formula();
    for level in [Level::new(), Level::fallback()] {
        let mut values = vec![T::ZERO; n * n];
        tile::fill((bound, form, level), (rows, 0..n), (rows, 0..n), &mut values, &mut Scratch::new());
        let largest = values.iter().fold(0.0f64, |m, v| m.max(v.to_f64().abs()));
        let allowed = rounding::entry_error(kernel, x.d(), &extent, largest, T::EPSILON);
        for (at, v) in values.iter().enumerate() {
            let (i, j) = (at / n, at % n);
            let exact = statistic(leaf.statistic(), x.row(i), x.row(j)).formula(&formula) - origin.into();
            let gap = (v.to_f64() - exact.to_f64()).abs();
            if gap.is_nan() || gap > allowed {
                let what = format!("{} eps, {:?}, origin {origin}", T::EPSILON, rows.method());
                wrong.push(format!("a tile has an error of {gap:e} where {allowed:e} is allowed ({what}; {i}, {j})"));
                break;
            }
        }
    }
    wrong
}

/// The statistic of a pair in higher precision.
fn statistic(statistic: Statistic<'_>, x: &[f64], y: &[f64]) -> DoubleDouble {
    let zero = DoubleDouble::from(0.0);
    let sum = |f: &dyn Fn(usize, DoubleDouble, DoubleDouble) -> DoubleDouble| {
        x.iter().zip(y).enumerate().fold(zero, |sum, (j, (a, b))| sum + f(j, (*a).into(), (*b).into()))
    };
    let dot = |x: &[f64], y: &[f64]| {
        x.iter().zip(y).fold(zero, |sum, (a, b)| sum + DoubleDouble::from(*a) * DoubleDouble::from(*b))
    };
    match statistic {
        Statistic::Dot => dot(x, y),
        Statistic::Cosine => {
            let norms = dot(x, x).sqrt() * dot(y, y).sqrt();
            if norms.to_f64() > 0.0 { dot(x, y) / norms } else { zero }
        }
        Statistic::Tanimoto => {
            let below = dot(x, x) + dot(y, y) - dot(x, y);
            if below.to_f64() > 0.0 { dot(x, y) / below } else { 1.0.into() }
        }
        Statistic::SquaredDistance => sum(&|_, a, b| (a - b) * (a - b)),
        Statistic::ScaledDistance(lengths) => sum(&|j, a, b| {
            let gap = (a - b) / lengths[j].into();
            gap * gap
        }),
        Statistic::CircleDistance(period) => sum(&|_, a, b| {
            let sine = ((a - b) / period.into()).sin_pi();
            sine * sine * 4.0.into()
        }),
        Statistic::L1 => sum(&|_, a, b| if (a - b).to_f64() < 0.0 { b - a } else { a - b }),
        Statistic::ChiSquared => sum(&|_, a, b| {
            let (gap, total) = (a - b, a + b);
            if total.to_f64() > 0.0 { gap * gap / total } else { zero }
        }),
    }
}
