//! `mercer compare`: k-means on the scores of PCA against those of kernel PCA.

use std::fmt;
use std::io::Write;

use mercer::k_means::{Agreement, Clusters, KMeans};
use mercer::kernel::Bound;
use mercer::{Gamma, Kernel, KernelPca, Pca, Points};
use serde_json::json;

use crate::args::{CompareArgs, RunArgs};
use crate::input::{class_column, exec, load, standardised};
use crate::output::{Failure, Outcome, Result, Terminal, json, line, table};

/// The lecture's width on Iris, in both conventions, and narrower ones.
const LECTURE_SIGMA2: f64 = 150.0;
const NARROWER: [f64; 4] = [50.0, 20.0, 8.0, 2.0];
/// Widths around the median for any other data, as multiples of the median squared distance.
const AROUND_MEDIAN: [f64; 5] = [16.0, 4.0, 1.0, 0.25, 0.0625];

/// What is clustered.
#[derive(Clone, Debug, PartialEq)]
enum Method {
    Columns,
    Pca,
    KernelPca(Kernel),
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Method::Columns => f.write_str("the columns themselves"),
            Method::Pca => f.write_str("PCA"),
            Method::KernelPca(kernel) => kernel.fmt(f),
        }
    }
}

/// One row of the comparison.
struct Entry {
    method: Method,
    components: usize,
    clusters: Clusters,
    agreement: Agreement,
}

pub(crate) fn run(args: &CompareArgs, run: &RunArgs, terminal: &mut Terminal) -> Result {
    let data = load(&args.data, run)?;
    let exec = exec(run);
    let Some(label) = class_column(&data, &args.data) else {
        return Err(Failure::Usage("name the column of labels with --label".into()));
    };
    let (classes, names) = label.classes();
    if names.len() * 2 > data.points.n() {
        return Err(Failure::Error {
            message: format!(
                "{}: column '{}' has {} different labels in {} rows, too many for classes",
                data.source,
                label.name,
                names.len(),
                data.points.n()
            ),
            help: Some("name the column of classes with --label".into()),
        });
    }
    let clusters = args.clusters.unwrap_or(names.len());
    let points = if args.scale { standardised(&data, &exec)? } else { data.points.clone() };
    let is_lecture = args.data.data == ["iris"] && !args.scale;
    let kernels = if args.kernel.is_empty() { widths(&points, is_lecture)? } else { args.kernel.clone() };

    let kmeans = KMeans::new(clusters).restarts(args.restarts);
    let entry = |method: Method, scores: &Points<f64>| -> Result<Entry> {
        let clusters = kmeans.fit_with(scores, &exec).map_err(|e| data.about(e))?;
        let agreement = Agreement::of(&classes, &clusters.labels)?;
        let components = if method == Method::Columns { 0 } else { scores.d() };
        Ok(Entry { method, components, clusters, agreement })
    };
    let mut entries = vec![entry(Method::Columns, &points)?];
    let two = points.d().min(points.n()).min(2);
    let pca = Pca::new().components(two).fit_with(&points, &exec).map_err(|e| data.about(e))?;
    let pca = pca.transform_with(&points, &exec)?;
    for k in 1..=two {
        entries.push(entry(Method::Pca, &pca.first_columns(k))?);
    }
    let mut remarks = Vec::new();
    for kernel in &kernels {
        let model = KernelPca::new(kernel.clone()).components(2).fit_with(&points, &exec).map_err(|e| data.about(e))?;
        remarks.extend(model.choices().iter().map(|c| ("chosen", c.to_string())));
        remarks.extend(model.notes().iter().map(|n| ("note", format!("{kernel}: {n}"))));
        let scores = model.scores();
        for k in 1..=scores.d() {
            entries.push(entry(Method::KernelPca(kernel.clone()), &scores.first_columns(k))?);
        }
    }

    let out = &mut terminal.out;
    if args.json {
        let rows: Vec<_> = entries
            .iter()
            .map(|e| {
                json!({
                    "method": e.method.to_string(), "components": e.components, "correct": e.agreement.correct, "n": e.agreement.n,
                    "accuracy": e.agreement.accuracy(), "adjusted_rand": e.agreement.adjusted_rand,
                    "inertia": e.clusters.inertia, "same_clusters_as_pca": same_as_pca(&entries, e),
                })
            })
            .collect();
        return json(
            out,
            &json!({"data": data.source, "label": label.name, "clusters": clusters, "entries": rows, "notes": remarks.iter().map(|r| &r.1).collect::<Vec<_>>()}),
        );
    }
    line(out, "data", data.describe())?;
    let seed = format!("{clusters} clusters by k-means, best of {} starts (--restarts, --seed)", args.restarts);
    line(out, "clusters", seed)?;
    line(out, "against", format!("the {} labels of column {}", names.len(), label.name))?;
    report(&entries, out)?;
    for (name, text) in remarks {
        line(out, name, text)?;
    }
    Ok(Outcome::Done)
}

fn widths(points: &Points<f64>, is_lecture: bool) -> Result<Vec<Kernel>> {
    let over = |s: f64| Kernel::gaussian(Gamma::OverSigma2(s));
    if is_lecture {
        let lecture = [Kernel::gaussian(Gamma::Over2Sigma2(LECTURE_SIGMA2)), over(LECTURE_SIGMA2)];
        return Ok(lecture.into_iter().chain(NARROWER.into_iter().map(over)).collect());
    }
    let median = 1.0 / Bound::new(&Kernel::gaussian(Gamma::Median), points)?.choices()[0].value;
    Ok(AROUND_MEDIAN.into_iter().map(|f| over(round(f * median))).collect())
}

/// Three figures: these are widths to try, and should be easy to type again.
fn round(v: f64) -> f64 {
    format!("{v:.2e}").parse().unwrap_or(v)
}

/// Whether an entry has just the clusters of PCA with as many components.
fn same_as_pca(entries: &[Entry], entry: &Entry) -> bool {
    let pca = entries.iter().find(|e| e.method == Method::Pca && e.components == entry.components);
    // Clusters are numbered in order of appearance: equal partitions have equal labels.
    pca.is_some_and(|p| p.clusters.labels == entry.clusters.labels)
}

fn report(entries: &[Entry], out: &mut dyn Write) -> Result<()> {
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|e| {
            let same = e.method != Method::Pca && same_as_pca(entries, e);
            vec![
                e.method.to_string(),
                if e.components == 0 { "-".into() } else { e.components.to_string() },
                format!("{} of {}", e.agreement.correct, e.agreement.n),
                format!("{:.1} %", 100.0 * e.agreement.accuracy()),
                format!("{:.3}", e.agreement.adjusted_rand),
                if same { "same as PCA".into() } else { String::new() },
            ]
        })
        .collect();
    table(out, &["scores of", "components", "right", "accuracy", "adj. Rand", "clusters"], &rows)?;
    let best = |of_pca: bool| {
        let candidates = entries.iter().filter(|e| e.components > 0 && (e.method == Method::Pca) == of_pca);
        candidates.reduce(|a, b| if b.agreement.correct > a.agreement.correct { b } else { a })
    };
    if let (Some(pca), Some(kernel)) = (best(true), best(false)) {
        let gain = kernel.agreement.correct as i64 - pca.agreement.correct as i64;
        let verdict = match gain {
            1.. => format!("{gain} more than the best of PCA"),
            0 => "no more than the best of PCA".into(),
            _ => format!("{} fewer than the best of PCA", -gain),
        };
        let text = format!(
            "{} with {} component{}: {} right, {verdict}",
            kernel.method,
            kernel.components,
            if kernel.components == 1 { "" } else { "s" },
            kernel.agreement.correct
        );
        line(out, "best", text)?;
    }
    let alike: Vec<String> = entries
        .iter()
        .filter(|e| e.components == 2 && e.method != Method::Pca && same_as_pca(entries, e))
        .map(|e| e.method.to_string())
        .collect();
    if !alike.is_empty() {
        let text = format!("with 2 components these give exactly the clusters of PCA: {}", alike.join(", "));
        line(out, "same", text)?;
    }
    Ok(())
}
