//! What several test files share: the golden figures and the data sets they are about.
#![allow(dead_code, missing_docs, unreachable_pub)]

use mercer::Points;
use serde_json::Value;

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
