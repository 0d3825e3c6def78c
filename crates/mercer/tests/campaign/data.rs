//! Ordinary and nasty data.

use mercer::Points;

use crate::rng::Rng;

/// The families of points.
const FAMILIES: &[&str] = &[
    "normal",
    "clusters",
    "far from the origin",
    "integers",
    "duplicates",
    "constant",
    "constant columns",
    "rank-deficient",
    "giants",
    "heavy tails",
    "tiny units",
    "huge units",
    "ill-conditioned",
    "grid",
    "one outlier",
    "nearly equal eigenvalues",
    "mixed units",
    "fractions",
    "near the sphere",
    "mostly zeros",
    "one zero",
];

/// n random points of d dimensions, and the name of their family.
pub fn points(rng: &mut Rng, n: usize, d: usize) -> (String, Points<f64>) {
    let name = *rng.pick(FAMILIES);
    let x = family(rng, name, n, d);
    // A second nastiness on top of the first.
    if !rng.chance(0.12) || name.ends_with("units") {
        return (name.into(), x);
    }
    let (what, y) = match rng.whole(0, 3) {
        0 => {
            let far = rng.power(1.0, 7.0);
            (format!("moved by {far:.0e}"), changed(&x, |_, _, v| v + far))
        }
        1 => {
            let unit = rng.power(-20.0, 20.0);
            (format!("times {unit:.0e}"), changed(&x, |_, _, v| v * unit))
        }
        2 => {
            let rows: Vec<usize> = (0..n).map(|i| if i % 3 == 2 { i - 1 } else { i }).collect();
            ("some rows twice".into(), changed(&x, |i, j, _| x.row(rows[i])[j]))
        }
        _ => {
            let column = rng.whole(0, d - 1);
            ("a column of ones".into(), changed(&x, |_, j, v| if j == column { 1.0 } else { v }))
        }
    };
    (format!("{name}, {what}"), y)
}

fn changed(x: &Points<f64>, f: impl Fn(usize, usize, f64) -> f64) -> Points<f64> {
    Points::from_fn(x.n(), x.d(), |i, j| f(i, j, x.row(i)[j]))
}

/// Points of one family.
pub fn family(rng: &mut Rng, name: &str, n: usize, d: usize) -> Points<f64> {
    let normal = Points::from_fn(n, d, |_, _| rng.normal());
    match name {
        "clusters" => {
            let (count, apart) = (rng.whole(2, 4), rng.power(0.0, 3.0));
            let centres = Points::from_fn(count, d, |_, _| apart * rng.normal());
            changed(&normal, |i, j, v| v + centres.row(i % count)[j])
        }
        "far from the origin" => {
            let far = rng.power(2.0, 9.0);
            let centre: Vec<f64> = (0..d).map(|_| far * rng.normal()).collect();
            changed(&normal, |_, j, v| v + centre[j])
        }
        "integers" => {
            let most = *rng.pick(&[1.0, 3.0, 10.0, 1000.0]);
            changed(&normal, |_, _, v| (v * most).round())
        }
        "duplicates" => {
            let count = rng.whole(1, n.div_ceil(2));
            changed(&normal, |i, j, _| normal.row(i % count)[j])
        }
        "constant" => {
            let value = rng.normal() * rng.power(-3.0, 6.0);
            changed(&normal, |_, _, _| value)
        }
        "constant columns" => {
            let values: Vec<Option<f64>> = (0..d).map(|_| rng.chance(0.6).then(|| rng.normal() * 1e3)).collect();
            changed(&normal, |_, j, v| values[j].unwrap_or(v))
        }
        "rank-deficient" => {
            let rank = rng.whole(1, n.min(d).div_ceil(2));
            let (left, right) = (whole_numbers(rng, n, rank), whole_numbers(rng, rank, d));
            Points::from_fn(n, d, |i, j| (0..rank).map(|r| left.row(i)[r] * right.row(r)[j]).sum())
        }
        "giants" => {
            let (giant, value) = (rng.power(6.0, 10.0), 7.5);
            let noise = if rng.chance(0.5) { 0.0 } else { rng.power(-6.0, 0.0) };
            changed(&normal, |i, j, v| match i {
                0 => giant,
                1 => -giant,
                _ => (if (i + j) % 2 == 0 { value } else { -value }) + noise * v,
            })
        }
        "heavy tails" => {
            let tail = rng.uniform(1.0, 4.0);
            changed(&normal, |_, _, v| v.signum() * (tail * v.abs()).exp())
        }
        "tiny units" => {
            let unit = if rng.chance(0.7) { rng.power(-135.0, -10.0) } else { rng.power(-90.0, -60.0) };
            changed(&normal, |_, _, v| v * unit)
        }
        "huge units" => {
            let unit = rng.power(10.0, 100.0);
            changed(&normal, |_, _, v| v * unit)
        }
        "ill-conditioned" => {
            let slope = rng.uniform(0.3, 3.0);
            let turn = Points::from_fn(d, d, |_, _| rng.normal());
            let graded = changed(&normal, |_, j, v| v * 10f64.powf(-slope * j as f64));
            match rng.chance(0.5) {
                true => graded,
                false => Points::from_fn(n, d, |i, j| (0..d).map(|l| graded.row(i)[l] * turn.row(l)[j]).sum()),
            }
        }
        "grid" => {
            let side = (n as f64).powf(1.0 / d.min(3) as f64).ceil().max(2.0) as usize;
            let step = *rng.pick(&[1.0, 0.1, 0.25]);
            Points::from_fn(n, d, |i, j| step * ((i / side.pow((j % 3) as u32)) % side) as f64)
        }
        "one outlier" => {
            let far = rng.power(1.0, 8.0);
            changed(&normal, |i, _, v| if i == n / 2 { far * v } else { v })
        }
        "nearly equal eigenvalues" => {
            // Plus and minus unit vectors: all eigenvalues are equal but for a small change.
            let change = rng.power(-16.0, -3.0);
            changed(&normal, |i, j, v| {
                let unit = if (i / 2) % d == j { 1.0 } else { 0.0 };
                (if i % 2 == 0 { unit } else { -unit }) + change * v
            })
        }
        "mixed units" => {
            let units: Vec<f64> = (0..d).map(|_| rng.power(-12.0, 6.0)).collect();
            changed(&normal, |_, j, v| v * units[j])
        }
        "fractions" => {
            let sums: Vec<f64> = normal.rows().map(|r| r.iter().map(|v| v.abs()).sum()).collect();
            changed(&normal, |i, _, v| v.abs() / sums[i].max(1e-300))
        }
        "near the sphere" => {
            let off = rng.power(-10.0, -1.0);
            let norms: Vec<f64> = normal.rows().map(|r| r.iter().map(|v| v * v).sum::<f64>().sqrt()).collect();
            changed(&normal, |i, _, v| v / norms[i].max(1e-300) * (1.0 + off * ((i % 5) as f64 + 1.0)))
        }
        "mostly zeros" => {
            let kept = rng.uniform(0.05, 0.5);
            let scale = rng.power(-2.0, 3.0);
            Points::from_fn(n, d, |_, _| if rng.chance(kept) { scale * rng.normal() } else { 0.0 })
        }
        "one zero" => {
            let value = *rng.pick(&[1.1, 0.1, 1e3, 3.3e7]);
            let noise = if rng.chance(0.5) { 0.0 } else { rng.power(-8.0, -1.0) };
            changed(&normal, |i, j, v| if i == j % n { 0.0 } else { value * (1.0 + noise * v) })
        }
        _ => normal,
    }
}

fn whole_numbers(rng: &mut Rng, n: usize, d: usize) -> Points<f64> {
    Points::from_fn(n, d, |_, _| rng.whole(0, 8) as f64 - 4.0)
}

/// A random symmetric matrix of n rows, and the name of its family.
pub fn gram(rng: &mut Rng, n: usize) -> (String, Points<f64>) {
    let noise = Points::from_fn(n, n, |_, _| rng.normal());
    let of = |f: &dyn Fn(usize, usize) -> f64| Points::from_fn(n, n, |i, j| f(i.max(j), i.min(j)));
    let inner = |x: &Points<f64>| of(&|i, j| x.row(i).iter().zip(x.row(j)).map(|(a, b)| a * b).sum());
    let rank = rng.whole(1, n.min(6));
    let few = Points::from_fn(n, rank, |_, _| rng.normal());
    let small = rng.power(-15.0, -3.0);
    let (name, k) = match rng.whole(0, 9) {
        0 => ("inner products", inner(&noise)),
        1 => ("low rank", inner(&few)),
        2 => ("negative", of(&|i, j| noise.row(i)[j])),
        3 => ("flat", of(&|i, j| 1.0 + small * noise.row(i)[j])),
        4 => {
            let large = rng.power(4.0, 12.0);
            ("a huge constant", of(&|i, j| large + few.row(i)[0] * few.row(j)[0]))
        }
        5 => ("clustered", of(&|i, j| (if i == j { [1.0, 2.0, 5.0][i % 3] } else { 0.0 }) + small * noise.row(i)[j])),
        6 => ("diagonal", of(&|i, j| if i == j { (i % 7) as f64 } else { 0.0 })),
        7 => ("whole numbers", of(&|i, j| (4.0 * noise.row(i)[j]).round())),
        8 => ("blocks", of(&|i, j| if i % 3 == j % 3 { 1.0 } else { -0.25 })),
        _ => ("graded", of(&|i, j| noise.row(i)[j] * 10f64.powf(-((i + j) as f64) * 6.0 / n as f64))),
    };
    if rng.chance(0.15) {
        let unit = rng.power(-100.0, 100.0);
        return (format!("{name} times {unit:.0e}"), changed(&k, |_, _, v| v * unit));
    }
    (name.into(), k)
}
