//! Constructed spectra with known eigenvalues: flat, clustered, repeated, graded, deficient, indefinite.

use std::sync::OnceLock;

use crate::{Spectral, true_residuals, units, violations};
use mercer::testing::matrices::normal;
use mercer::testing::ratios::{orthonormality, sine_of_angle};
use mercer::{KernelPca, KernelPcaModel, Result};

/// Rows of the operators: enough for passes.
const N: usize = 2001;

/// A value for the eigenvalue with index i, from 0.
type Shape = fn(usize) -> f64;

/// Spectra with a name, each with the numbers of components that are asked for.
const SHAPES: [(&str, Shape, &[usize]); 24] = [
    ("flat", |_| 1.0, &[1, 7]),
    ("nearly flat", |i| 1.0 - 1e-4 * i as f64 / N as f64, &[3]),
    ("falling in a line", |i| 1.0 - i as f64 / N as f64, &[1, 5, 30]),
    ("geometric", |i| 0.9f64.powi(i as i32), &[1, 10, 40]),
    ("geometric and fast", |i| 0.1f64.powi(i as i32), &[3, 12, 20]),
    ("algebraic", |i| 1.0 / (i + 1) as f64, &[1, 10, 60]),
    ("one huge", |i| if i == 0 { 1e8 } else { 1.0 / (i + 1) as f64 }, &[1, 4]),
    ("one huge, the others flat", |i| if i == 0 { 1e8 } else { 1.0 }, &[1, 4]),
    ("repeated five times", |i| 0.7f64.powi(i as i32 / 5), &[5, 10, 12, 13]),
    ("repeated twice", |i| 0.9f64.powi(i as i32 / 2), &[1, 2, 7, 8]),
    ("a pair at the cut", |i| [5.0, 4.0, 3.0, 3.0, 2.0].get(i).copied().unwrap_or(0.5 / i as f64), &[3, 4]),
    ("a near pair at the cut", |i| if i == 4 { 1.0 / 4.0 - 1e-10 } else { 1.0 / (i + 1) as f64 }, &[4, 5]),
    ("clusters of width 1e-9", |i| 0.5f64.powi(i as i32 / 4) * (1.0 - 1e-9 * (i % 4) as f64), &[4, 6, 8]),
    ("clusters of width 1e-5", |i| 0.5f64.powi(i as i32 / 4) * (1.0 - 1e-5 * (i % 4) as f64), &[3, 4, 9]),
    ("clusters of width 1e-2", |i| 0.5f64.powi(i as i32 / 4) * (1.0 - 1e-2 * (i % 4) as f64), &[3, 4, 9]),
    ("rank one", |i| if i == 0 { 3.0 } else { 0.0 }, &[1, 5]),
    ("rank three, repeated", |i| if i < 3 { 2.0 } else { 0.0 }, &[2, 3, 9]),
    ("rank forty", |i| if i < 40 { 1.0 / (i + 1) as f64 } else { 0.0 }, &[5, 40, 60]),
    ("a step", |i| if i < 20 { 1.0 } else { 1e-3 }, &[5, 19, 20, 21]),
    ("a long tail under the step", |i| if i < 4 { 2.0 } else { 1.9 }, &[3, 4, 5]),
    ("both signs", |i| if i % 2 == 0 { 0.9f64.powi(i as i32) } else { -0.9f64.powi(i as i32) }, &[1, 6]),
    ("mostly negative", |i| if i < 6 { 0.1 / (i + 1) as f64 } else { -1.0 / (i + 1) as f64 }, &[4]),
    ("tiny", |i| 1e-130 / (i + 1) as f64, &[4]),
    ("huge", |i| 1e130 / (i + 1) as f64, &[4]),
];

struct Fit {
    name: String,
    op: Spectral,
    tolerance: f64,
    model: KernelPcaModel,
}

/// Every spectrum, fitted once for all tests.
fn fits() -> &'static Vec<Fit> {
    static FITS: OnceLock<Vec<Fit>> = OnceLock::new();
    FITS.get_or_init(|| {
        let mut fits = Vec::new();
        for (number, (name, shape, counts)) in SHAPES.into_iter().enumerate() {
            let values: Vec<f64> = (0..N - 1).map(shape).collect();
            for (at, k) in counts.iter().enumerate() {
                let tolerance = [1e-6, 1e-3, 1e-10][(number + at) % 3];
                let op = Spectral::new(&values, number as u64);
                let name = format!("{name}, {k} to {tolerance:e}");
                let model = KernelPca::custom().components(*k).tolerance(tolerance).fit_op(&op).expect(&name);
                fits.push(Fit { name, op, tolerance, model });
            }
        }
        fits
    })
}

/// The violations of all fits, as sentences.
fn faults(check: impl Fn(&Fit) -> Vec<String>) -> Vec<String> {
    fits().iter().flat_map(|fit| check(fit).into_iter().map(|f| format!("{}: {f}", fit.name))).collect()
}

#[test]
fn no_enclosure_excludes_the_eigenvalue() {
    let wrong =
        faults(|f| violations(&f.model, &f.op.truth(), 0.0).into_iter().filter(|l| !l.contains("missed")).collect());
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_eigenvalue_above_the_bound_is_missed() {
    let wrong =
        faults(|f| violations(&f.model, &f.op.truth(), 0.0).into_iter().filter(|l| l.contains("missed")).collect());
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_eigenvalue_above_the_bound_is_missed_by_more_than_the_rounding() {
    let wrong = faults(|f| violations(&f.model, &f.op.truth(), f.model.certificate().rounding()));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn reported_residuals_are_the_true_ones_and_small_enough() {
    let wrong = faults(|f| {
        let (c, values) = (f.model.certificate(), f.model.spectrum().eigenvalues());
        let truth = true_residuals(&f.model, |x| f.op.image(x));
        let mut wrong = Vec::new();
        for (i, (found, truth)) in c.residuals().iter().zip(&truth).enumerate() {
            if (found - truth).abs() > c.rounding() {
                wrong.push(format!("residual {i} is {truth:.3e}, not {found:.3e}; rounding {:.1e}", c.rounding()));
            }
            if *found > f.tolerance * values[0] {
                wrong.push(format!("residual {i} is {found:.3e}, more than {:e} of {:e}", f.tolerance, values[0]));
            }
        }
        wrong
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_component_that_exists_is_there_and_no_other() {
    let wrong = faults(|f| {
        let wanted: usize = f.name.split(' ').rev().nth(2).and_then(|w| w.parse().ok()).expect("a number");
        let above = |cut: f64| wanted.min(f.op.truth().iter().filter(|v| **v > cut).count());
        // Those below the tolerance need not be found.
        let (least, most) = (above(f.tolerance * f.op.truth()[0]), above(2.0 * f.model.certificate().rounding()));
        let found = f.model.components();
        if (least..=most).contains(&found) { vec![] } else { vec![format!("{found} components, {least} to {most}")] }
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_sine_of_a_cluster_bounds_the_angle_to_its_space() {
    let wrong = faults(|f| {
        let mut wrong = Vec::new();
        let mut next = 0;
        for c in f.model.certificate().clusters() {
            if c.first != next || c.last < c.first {
                wrong.push(format!("cluster {c:?} does not follow"));
            }
            next = c.last + 1;
            let (found, truth) = (units(&f.model, c.first, next), f.op.vectors(c.first, next));
            let sine = sine_of_angle(&truth, &found);
            if c.sine < 1.0 && sine > c.sine + 1e-14 {
                wrong.push(format!("{c:?}, but the sine is {sine:.3e}"));
            }
        }
        wrong
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn vectors_are_orthonormal_and_orthogonal_to_one() {
    let wrong = faults(|f| {
        let vectors = units(&f.model, 0, f.model.components());
        let along = vectors.rows().map(|u| u.iter().sum::<f64>().abs()).fold(0.0, f64::max);
        let mut wrong = Vec::new();
        if orthonormality(&vectors) > 1.0 {
            wrong.push(format!("orthonormality {}", orthonormality(&vectors)));
        }
        if along > 1e-12 {
            wrong.push(format!("{along:e} along 1"));
        }
        wrong
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_model_of_any_spectrum_is_made_of_parts_that_fit_together() {
    let wrong = faults(|f| {
        let parts = f.model.to_parts().expect("parts");
        KernelPcaModel::from_parts(parts).err().map(|e| vec![e.to_string()]).unwrap_or_default()
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn random_spectra_stay_within_their_enclosures() -> Result<()> {
    let mut wrong = Vec::new();
    for seed in 0..12 {
        let noise = normal(1, N - 1, 500 + seed);
        // From a flat spectrum to one of six decades, some eigenvalues drawn together.
        let decades = 0.5 * seed as f64;
        let mut values: Vec<f64> = noise.row(0).iter().map(|z| 10f64.powf(decades * (z - 2.0) / 2.0)).collect();
        (1..60).for_each(|i| values[3 * i] = values[3 * i - 1] * (1.0 + 1e-7 * (i % 5) as f64));
        let op = Spectral::new(&values, seed);
        let (k, tolerance) = ([2, 7, 15][seed as usize % 3], [1e-2, 1e-4, 1e-7, 1e-9][seed as usize % 4]);
        let model = KernelPca::custom().components(k).tolerance(tolerance).fit_op(&op)?;
        let found = violations(&model, &op.truth(), 0.0);
        wrong.extend(found.into_iter().map(|f| format!("seed {seed}, {k} to {tolerance:e}: {f}")));
        for c in model.certificate().clusters() {
            let sine = sine_of_angle(&op.vectors(c.first, c.last + 1), &units(&model, c.first, c.last + 1));
            if c.sine < 1.0 && sine > c.sine + 1e-14 {
                wrong.push(format!("seed {seed}: {c:?}, but the sine is {sine:.3e}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}

#[test]
fn a_zero_matrix_has_no_components() -> Result<()> {
    let op = Spectral::new(&[0.0; N - 1], 1);
    let model = KernelPca::custom().components(5).fit_op(&op)?;
    assert_eq!((model.components(), model.spectrum().total()), (0, 0.0));
    assert_eq!(model.certificate().missed(), 0.0);
    KernelPcaModel::from_parts(model.to_parts()?)?;
    Ok(())
}

#[test]
fn a_negative_definite_matrix_has_no_components() -> Result<()> {
    let values: Vec<f64> = (0..N - 1).map(|i| -1.0 - (i % 7) as f64).collect();
    let model = KernelPca::custom().components(5).fit_op(&Spectral::new(&values, 1))?;
    assert_eq!(model.components(), 0);
    // And it can be written to a file and read back.
    KernelPcaModel::from_parts(model.to_parts()?)?;
    Ok(())
}

#[test]
fn a_tolerance_below_rounding_ends_at_rounding() -> Result<()> {
    // No vector has a residual of 1e-30: the fit ends at the limit of rounding, and reports the residual.
    let values: Vec<f64> = (0..N - 1).map(|i| 1.0 / (i + 1) as f64).collect();
    let model = KernelPca::custom().components(3).tolerance(1e-30).fit_op(&Spectral::new(&values, 1))?;
    let c = model.certificate();
    assert!(c.residuals().iter().all(|r| *r <= c.rounding()), "{:?} {:e}", c.residuals(), c.rounding());
    Ok(())
}
