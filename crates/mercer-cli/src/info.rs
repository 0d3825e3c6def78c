//! `mercer info`: what a model file holds.

use std::io::Write;

use mercer::certificate::{BoundKind, Passes};
use mercer::diagnose::Definiteness;
use mercer::text::counted;
use mercer::{AnyModel, Certificate, Spectrum};
use mercer_io::{FileSet, SavedModel, load_model};
use serde_json::{Value, json};

use crate::args::InfoArgs;
use crate::fit::spectrum_table;
use crate::output::{Outcome, Result, Terminal, json, line, table};
use mercer_view::{component, count, describe, eigenvalue_meaning, short, shown_eigenvalues};

pub(crate) fn run(args: &InfoArgs, terminal: &mut Terminal) -> Result {
    let saved = load_model(&args.model)?;
    let out = &mut terminal.out;
    if args.json {
        let mut value = json_of(&saved);
        value["notes"] = saved.model.notes().iter().cloned().chain(strangers(&args.model, &saved)).collect();
        return json(out, &value);
    }
    let (model, columns) = (&saved.model, &saved.columns);
    let shown = columns.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
    let more = if columns.len() > 8 { ", ..." } else { "" };
    line(out, "model", describe(model))?;
    let (Some(spectrum), Some(certificate)) = (model.spectrum(), model.certificate()) else {
        line(out, "takes", format!("{}: {shown}{more}", counted(columns.len() as u128, "column")))?;
        return Ok(Outcome::Done);
    };
    line(
        out,
        "fitted to",
        format!("{} rows x {}: {shown}{more}", count(spectrum.n()), counted(columns.len() as u128, "column")),
    )?;
    line(out, "eigenvalue", eigenvalue_meaning(model))?;
    spectrum_table(model, out)?;
    let total = format!(
        "{} is the sum of all eigenvalues of the {}; {} is discarded; rank {}{}",
        short(spectrum.total()),
        if matches!(model, AnyModel::Pca(_)) { "scatter matrix" } else { "centred Gram matrix" },
        short(spectrum.discarded()),
        if spectrum.is_complete() { "" } else { "at least " },
        spectrum.rank()
    );
    line(out, "total", total)?;
    line(out, "accuracy", certificate)?;
    in_full(model, spectrum, certificate, out)?;
    if let AnyModel::KernelPca(m) = model
        && let Some(definiteness) = m.definiteness()
    {
        line(out, "definite", definiteness)?;
    }
    for note in model.notes().iter().cloned().chain(strangers(&args.model, &saved)) {
        line(out, "note", note)?;
    }
    Ok(Outcome::Done)
}

/// A warning about files beside the model that are not of its fit.
fn strangers(name: &str, saved: &SavedModel) -> Option<String> {
    let found = FileSet::of_front(saved.front.as_ref())?.strangers(name);
    let verb = if found.len() == 1 { "is" } else { "are" };
    (!found.is_empty()).then(|| format!("{} {verb} not of the fit that wrote this model", found.join(" and ")))
}

/// The certificate in full.
fn in_full(model: &AnyModel, spectrum: &Spectrum, c: &Certificate, out: &mut dyn Write) -> std::io::Result<()> {
    if c.kind() == BoundKind::Unknown {
        return Ok(()); // no bounds
    }
    let values = spectrum.eigenvalues();
    let of = |i: usize| c.clusters().iter().find(|cluster| (cluster.first..=cluster.last).contains(&i));
    let rows: Vec<Vec<String>> = (0..values.len())
        .map(|i| {
            let (lower, upper) = c.interval(i, values[i]);
            let angle = match of(i) {
                Some(k) if k.sine >= 1.0 => "not determined".to_string(),
                Some(k) if k.first == k.last => format!("{:.1e}", k.sine),
                Some(k) => format!("{:.1e} with {} to {}", k.sine, component(k.first), component(k.last)),
                None => String::new(),
            };
            // All digits: fewer would have to be rounded outwards.
            let number = |v: f64| format!("{v:e}");
            vec![component(i), number(lower), number(upper), format!("{:.1e}", c.residuals()[i]), angle]
        })
        .collect();
    table(out, &["component", "at least", "at most", "residual", "sine of angle"], &rows)?;
    let meaning = match model {
        AnyModel::Pca(_) => "eigenvalues of the scatter matrix, n - 1 (or n) times the variances",
        _ => "eigenvalues of the centred Gram matrix",
    };
    line(out, "bounds", format!("are on the {meaning}; the allowance for rounding in them is {:.1e}", c.rounding()))?;
    let (missed, name) = (c.missed(), c.kind().name());
    let missed = match c.kind() {
        BoundKind::AllPairs => format!("none: all eigenvalues were computed; the next is at most {missed:.6e}"),
        BoundKind::Probes { failure } => {
            format!("no eigenvalue above {missed:.6e}, except with probability {failure:.1e}, by {name}")
        }
        _ => format!("no eigenvalue above {missed:.6e}, by the {name}"),
    };
    line(out, "missed", missed)?;
    let passes = c.passes();
    if passes != Passes::default() {
        line(out, "passes", format!("{} in f32 and {} in f64 over the Gram matrix", passes.f32, passes.f64))?;
    }
    Ok(())
}

/// What is known about the definiteness of a matrix, as JSON.
pub(crate) fn json_of_definiteness(d: &Definiteness) -> Value {
    json!({
        "positive_semi_definite": !d.is_indefinite(),
        "smallest": d.smallest,
        "largest": d.largest,
        "negative_count": d.negative_count,
        "negative_mass": d.negative_mass,
        "negative_share": d.negative_share(),
        "rounding": d.tolerance,
    })
}

/// What is known of the components and of their errors, as JSON.
fn json_of_spectrum(model: &AnyModel, spectrum: &Spectrum, certificate: &Certificate) -> Value {
    json!({
        "n": spectrum.n(),
        "eigenvalues": shown_eigenvalues(model),
        "eigenvalue_meaning": eigenvalue_meaning(model),
        "sum_of_squares": spectrum.eigenvalues(),
        "variance": spectrum.variances(),
        "variance_divisor": spectrum.divisor(),
        "variance_over_n": spectrum.population_variances(),
        "explained_variance_ratio": spectrum.ratios(),
        "cumulative": spectrum.cumulative(),
        "total": spectrum.total(),
        "discarded": spectrum.discarded(),
        "rank": spectrum.rank(),
        "complete": spectrum.is_complete(),
        "certificate": {
            "rigorous": certificate.is_rigorous(),
            "enclosures": (0..model.components())
                .map(|i| certificate.interval(i, spectrum.eigenvalues()[i]))
                .collect::<Vec<_>>(),
            "residuals": certificate.residuals(),
            "clusters": certificate.clusters(),
            "missed": {
                "none_above": certificate.missed(),
                "by": certificate.kind().name(),
                "failure_probability": certificate.kind().failure(),
            },
            "rounding": certificate.rounding(),
            "accuracies": (0..model.components()).map(|i| certificate.accuracy(i)).collect::<Vec<_>>(),
            "statements": certificate.statements(),
            "passes": certificate.passes(),
            "approximation": certificate.approximation().map_or(Value::Null, |a| json!({
                "landmarks": a.landmarks(),
                "trace_error": a.trace_error(),
                "trace_share": a.trace_share(),
                "sampled_rows": a.sampled(),
                "sampled_residuals": a.residuals(),
                "sampled_residual_bounds": a.residual_bounds(),
                "confidence": a.confidence(),
            })),
            "worst_relative": certificate.worst(),
        },
    })
}

/// The model as JSON: everything but the points and weights.
pub(crate) fn json_of(saved: &SavedModel) -> Value {
    let model = &saved.model;
    let mut value = match (model.spectrum(), model.certificate()) {
        (Some(spectrum), Some(certificate)) => json_of_spectrum(model, spectrum, certificate),
        _ => json!({}),
    };
    // The name of the fit, and fingerprints of the files that it wrote.
    if let Some(set) = FileSet::of_front(saved.front.as_ref()) {
        value["run"] = json!(set.run);
        value["fingerprints"] = json!(set.files);
    }
    value["columns"] = json!(saved.columns);
    value["components"] = json!(model.components());
    value["notes"] = json!(model.notes());
    match model {
        AnyModel::Pca(m) => {
            value["model"] = json!("pca");
            value["route"] = json!(m.route().name());
            value["center"] = json!(m.is_centered());
            value["scale"] = json!(m.is_standardised());
            value["whiten"] = json!(m.is_whitened());
            value["embedding"] = json!(m.embedding().to_string());
        }
        AnyModel::KernelPca(m) => {
            value["model"] = json!("kernel_pca");
            value["scale"] = json!(m.is_standardised());
            value["kernel"] = m.kernel().map_or(json!("precomputed"), |k| json!(k.to_string()));
            value["definiteness"] = m.definiteness().map_or(Value::Null, json_of_definiteness);
            let choices = m
                .choices()
                .iter()
                .map(|c| json!({"kernel": c.kernel, "parameter": c.parameter, "value": c.value, "rule": c.rule}));
            value["choices"] = choices.collect();
        }
        AnyModel::Nystroem(m) => {
            value["model"] = json!("nystroem");
            value["kernel"] = json!(m.kernel().to_string());
            value["landmarks"] = json!(m.landmarks().n());
        }
        _ => {}
    }
    value
}
