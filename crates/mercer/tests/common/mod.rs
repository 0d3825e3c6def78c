//! Shared by several test files: the golden figures, their data sets, and comparisons of results.
#![allow(dead_code, missing_docs, unreachable_pub)]

use mercer::{Points, Route};
use serde_json::Value;

/// Every way to do PCA.
pub const ROUTES: [Route; 4] = [Route::Auto, Route::Covariance, Route::Gram, Route::Svd];

/// testdata/golden.json: reference figures with the recipes that made them.
pub fn golden() -> Value {
    serde_json::from_str(include_str!("../../../../testdata/golden.json")).expect("golden.json is JSON")
}

/// A list of numbers, given as numbers or as decimal text.
pub fn numbers(value: &Value) -> Vec<f64> {
    let number = |v: &Value| v.as_f64().or_else(|| v.as_str()?.parse().ok()).expect("a number");
    value.as_array().expect("a list").iter().map(number).collect()
}

pub fn rows(value: &Value) -> Points<f64> {
    let rows: Vec<Vec<f64>> = value.as_array().expect("a list").iter().map(numbers).collect();
    Points::new(rows.concat(), rows.len(), rows[0].len()).expect("rows of one length")
}

fn read(text: &str) -> (Points<f64>, Vec<usize>) {
    let (mut data, mut names, mut labels, mut n) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for line in text.lines().skip(1) {
        let mut fields: Vec<&str> = line.split(',').collect();
        let label = fields.pop().expect("a label").to_string();
        data.extend(fields.iter().map(|f| f.parse::<f64>().expect("a number")));
        if !names.contains(&label) {
            names.push(label.clone());
        }
        labels.push(names.iter().position(|x| *x == label).expect("just put in"));
        n += 1;
    }
    let d = data.len() / n;
    (Points::new(data, n, d).expect("a rectangle"), labels)
}

pub fn iris() -> (Points<f64>, Vec<usize>) {
    read(include_str!("../../../mercer-io/data/iris.csv"))
}

pub fn digits() -> (Points<f64>, Vec<usize>) {
    read(include_str!("../../../mercer-io/data/digits.csv"))
}

/// Largest |found / expected - 1|.
pub fn relative(found: &[f64], expected: &[f64]) -> f64 {
    assert!(found.len() >= expected.len(), "{} values where {} are expected", found.len(), expected.len());
    found.iter().zip(expected).map(|(f, e)| (f / e - 1.0).abs()).fold(0.0, f64::max)
}

/// Every number that a PCA model gives out about itself and about `x` is finite.
pub fn assert_finite_pca(what: &str, model: &mercer::PcaModel, x: &Points<f64>) {
    let faults = faults_of_pca(model, x);
    assert!(faults.is_empty(), "{what}: {faults:?}");
}

/// Every number that a kernel PCA model gives out about itself and about `x` is finite.
pub fn assert_finite_kernel_pca(what: &str, model: &mercer::KernelPcaModel, x: &Points<f64>) {
    let faults = faults_of_kernel_pca(model, x);
    assert!(faults.is_empty(), "{what}: {faults:?}");
}

/// The numbers of a PCA model, of itself and of `x`, that are not finite.
pub fn faults_of_pca(model: &mercer::PcaModel, x: &Points<f64>) -> Vec<String> {
    let mut lists = lists_of(model.spectrum(), model.certificate());
    lists.push(("mean", Ok(model.mean().to_vec())));
    lists.push(("scale", Ok(model.scale().to_vec())));
    lists.push(("axes", Ok(model.axes().into_vec())));
    let scores = model.transform(x);
    if let Ok(scores) = &scores {
        lists.push(("reconstructions", model.reconstruct(scores).map(Points::into_vec)));
    }
    lists.push(("scores", scores.map(Points::into_vec)));
    lists.push(("errors", model.squared_errors(x)));
    faults_in(lists)
}

/// The numbers of a kernel PCA model, of itself and of `x`, that are not finite.
pub fn faults_of_kernel_pca(model: &mercer::KernelPcaModel, x: &Points<f64>) -> Vec<String> {
    let mut lists = lists_of(model.spectrum(), model.certificate());
    let found = model.definiteness().expect("all eigenvalues are known");
    let masses = vec![found.smallest, found.largest, found.negative_mass, found.absolute_mass, found.tolerance];
    lists.push(("definiteness", Ok(masses)));
    lists.push(("negative share", Ok(vec![found.negative_share()])));
    lists.push(("alpha", Ok(model.alpha().as_slice().to_vec())));
    lists.push(("scores of the fitted points", Ok(model.scores().into_vec())));
    lists.push(("scores", model.transform(x).map(Points::into_vec)));
    if model.kernel().is_some() {
        lists.push(("errors", model.squared_errors(x)));
    }
    faults_in(lists)
}

type Named = (&'static str, mercer::Result<Vec<f64>>);

fn lists_of(spectrum: &mercer::Spectrum, certificate: &mercer::Certificate) -> Vec<Named> {
    vec![
        ("eigenvalues", Ok(spectrum.eigenvalues().to_vec())),
        ("variances", Ok(spectrum.variances())),
        ("population variances", Ok(spectrum.population_variances())),
        ("ratios", Ok(spectrum.ratios())),
        ("cumulative", Ok(spectrum.cumulative())),
        ("total and discarded", Ok(vec![spectrum.total(), spectrum.discarded()])),
        ("residuals", Ok(certificate.residuals().to_vec())),
        ("rounding", Ok(vec![certificate.rounding(), certificate.worst()])),
    ]
}

fn faults_in(lists: Vec<Named>) -> Vec<String> {
    let fault = |(name, values): Named| match values {
        Ok(values) => values.iter().find(|v| !v.is_finite()).map(|bad| format!("{name}: {bad}")),
        Err(error) => Some(format!("{name}: {error}")),
    };
    lists.into_iter().filter_map(fault).collect()
}

/// The points with every value changed.
pub fn map(x: &Points<f64>, f: impl Fn(f64) -> f64) -> Points<f64> {
    Points::from_fn(x.n(), x.d(), |i, j| f(x.row(i)[j]))
}

/// The points as f32, rounded.
pub fn to_f32(x: &Points<f64>) -> Points<f32> {
    Points::from_fn(x.n(), x.d(), |i, j| x.row(i)[j] as f32)
}

/// The bits of numbers, for results that must be the same to the last one.
pub fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// Z Z': the inner products of the scores of points, which do not depend on signs and rotations of components.
pub fn inner_products(z: &Points<f64>) -> Points<f64> {
    Points::from_fn(z.n(), z.n(), |i, j| z.row(i).iter().zip(z.row(j)).map(|(a, b)| a * b).sum())
}

/// The largest |a - b|.
pub fn largest_gap(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, |m, v| if v.is_nan() { f64::INFINITY } else { m.max(v) })
}

/// The largest magnitude.
pub fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0f64, |m, v| m.max(v.abs()))
}
