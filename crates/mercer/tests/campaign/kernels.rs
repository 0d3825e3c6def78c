//! Random kernels: every one of the table, with random parameters, alone and in sums, products and normalisations.

use mercer::kernel::registry::{self, Domain, Entry, ParameterKind, Range};
use mercer::{Kernel, Points};

use crate::rng::Rng;

/// A kernel for points of this kind; `psd` asks for a positive semi-definite one.
pub fn kernel(rng: &mut Rng, x: &Points<f64>, psd: bool) -> Kernel {
    let mut text = leaf(rng, x, psd);
    match rng.whole(0, 19) {
        0..=2 => text = format!("{text} + {}", leaf(rng, x, psd)),
        3..=4 => text = format!("{} * {text}", leaf(rng, x, psd)),
        5..=6 => text = format!("{:e} * {text}", rng.power(-3.0, 3.0)),
        7..=8 => text = format!("normalised({text})"),
        9 => text = format!("normalised({text} + {})", leaf(rng, x, psd)),
        10 => text = format!("normalised({text}) + 0.5*{}", leaf(rng, x, psd)),
        _ => {}
    }
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// How large points are, and how far they are from each other.
struct Scale {
    square: f64,
    distance: f64,
    l1: f64,
    d: usize,
}

fn leaf(rng: &mut Rng, x: &Points<f64>, psd: bool) -> String {
    let takes = |e: &&Entry| (!psd || e.psd) && (e.domain == Domain::All || x.as_slice().iter().all(|v| *v >= 0.0));
    let entries: Vec<&Entry> = registry::KERNELS.iter().filter(takes).collect();
    let entry = *rng.pick(&entries);
    let (n, d) = (x.n(), x.d());
    let mean = |f: &dyn Fn(&[f64], &[f64]) -> f64| {
        let sum: f64 = (1..n).map(|i| f(x.row(i), x.row(i - 1))).sum();
        if sum > 0.0 && sum.is_finite() { sum / (n - 1) as f64 } else { 1.0 }
    };
    let scale = Scale {
        square: mean(&|a, _| a.iter().map(|v| v * v).sum()),
        distance: mean(&|a, b| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()),
        l1: mean(&|a, b| a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum()),
        d,
    };
    let mut parameters: Vec<_> = entry.parameters.iter().collect();
    if entry.name == "gaussian" {
        // They exclude each other.
        let one = rng.whole(0, parameters.len() - 1);
        parameters = vec![parameters[one]];
    }
    let mut given = Vec::new();
    for parameter in parameters {
        if !rng.chance(0.8) {
            continue;
        }
        let value = value(rng, entry, parameter.name, parameter.kind, parameter.range, &scale, psd);
        given.push(format!("{}={value}", parameter.name));
    }
    format!("{}({})", entry.name, given.join(", ")).replace("()", "")
}

fn value(
    rng: &mut Rng,
    entry: &Entry,
    name: &str,
    kind: ParameterKind,
    range: Range,
    scale: &Scale,
    psd: bool,
) -> String {
    let length = scale.distance.sqrt();
    match (kind, range) {
        (ParameterKind::Gamma, _) => match rng.whole(0, 5) {
            0 => "median".into(),
            1 => "scale".into(),
            2 => "1/d".into(),
            _ if entry.name == "gaussian" => format!("{:e}", rng.power(-5.0, 2.0) / scale.distance),
            _ => format!("{:e}", rng.power(-4.0, 2.0) / scale.l1),
        },
        (ParameterKind::DotGamma, _) => match rng.whole(0, 3) {
            0 => "1".into(),
            1 => "scale".into(),
            2 => "1/d".into(),
            _ => format!("{:e}", rng.power(-2.0, 1.0) / scale.square),
        },
        (ParameterKind::Length | ParameterKind::Lengths, _) => match rng.whole(0, 3) {
            0 => "median".into(),
            1 if kind == ParameterKind::Lengths => {
                let list: Vec<String> = (0..scale.d).map(|_| format!("{:e}", length * rng.power(-1.0, 1.5))).collect();
                format!("[{}]", list.join(", "))
            }
            _ => format!("{:e}", length * rng.power(-1.0, 2.0)),
        },
        (ParameterKind::Whole, _) => format!("{}", rng.whole(1, 5)),
        (_, Range::Choices { choices }) => (*rng.pick(choices)).to_string(),
        (_, Range::Around { .. }) => format!("{:e}", scale.distance * rng.power(-1.0, 3.0)),
        // Periods are in the units of the data; other ratios have no unit.
        (_, Range::Ratios { .. }) if name == "period" => format!("{:e}", length * rng.power(-1.0, 1.5)),
        (_, Range::Ratios { low, high }) => format!("{:e}", rng.power(low.log10(), high.log10())),
        (_, Range::Steps { .. }) if name == "coef0" => {
            let list: &[&str] = if psd { &["0", "1", "0.5", "100"] } else { &["0", "1", "0.5", "-1", "-0.3", "1e4"] };
            (*rng.pick(list)).to_string()
        }
        (_, Range::Steps { low, high, .. }) => format!("{:.3}", rng.uniform(low.max(0.05), high)),
        (_, _) => "1".into(),
    }
}
