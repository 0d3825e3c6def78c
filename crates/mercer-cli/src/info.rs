//! `mercer info`: what a model file holds.

use mercer::{AnyModel, Definiteness};
use mercer_io::{SavedModel, load_model};
use serde_json::{Value, json};

use crate::args::InfoArgs;
use crate::fit::{describe_kernel, describe_pca, eigenvalue_meaning, shown_eigenvalues, spectrum_table};
use crate::output::{Outcome, Result, Terminal, count, json, line, short};

pub(crate) fn run(args: &InfoArgs, terminal: &mut Terminal) -> Result {
    let saved = load_model(&args.model)?;
    let out = &mut terminal.out;
    if args.json {
        return json(out, &json_of(&saved));
    }
    let (model, columns) = (&saved.model, &saved.columns);
    let shown = columns.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
    let more = if columns.len() > 8 { ", ..." } else { "" };
    line(out, "model", describe(model))?;
    line(out, "fitted to", format!("{} rows x {} columns: {shown}{more}", count(model.spectrum().n()), columns.len()))?;
    line(out, "eigenvalue", eigenvalue_meaning(model))?;
    spectrum_table(model, out)?;
    let spectrum = model.spectrum();
    let total = format!(
        "{} is the sum of all eigenvalues of the {}; {} is discarded; rank {}",
        short(spectrum.total()),
        if matches!(model, AnyModel::Pca(_)) { "scatter matrix" } else { "centred Gram matrix" },
        short(spectrum.discarded()),
        spectrum.rank()
    );
    line(out, "total", total)?;
    line(out, "accuracy", model.certificate())?;
    let certificate = model.certificate();
    let worst = certificate.residuals().iter().copied().fold(0.0, f64::max);
    line(out, "", format!("largest residual {worst:.1e}, allowance for rounding {:.1e}", certificate.rounding()))?;
    if let AnyModel::KernelPca(m) = model {
        line(out, "definite", m.definiteness())?;
    }
    for note in model.notes() {
        line(out, "note", note)?;
    }
    Ok(Outcome::Done)
}

fn describe(model: &AnyModel) -> String {
    match model {
        AnyModel::Pca(m) => {
            let words = describe_pca(m.is_centered(), m.is_standardised(), m.is_whitened(), m.embedding());
            format!("{words}, by the {} route", m.route().name())
        }
        AnyModel::KernelPca(m) => describe_kernel(m.kernel(), m.is_standardised()),
        _ => "of a kind that this version does not know".into(),
    }
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

/// The model as JSON: everything but the points and weights.
pub(crate) fn json_of(saved: &SavedModel) -> Value {
    let (model, spectrum, certificate) = (&saved.model, saved.model.spectrum(), saved.model.certificate());
    let mut value = json!({
        "columns": saved.columns,
        "n": spectrum.n(),
        "components": model.components(),
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
        "certificate": {
            "residuals": certificate.residuals(),
            "rounding": certificate.rounding(),
            "worst_relative": certificate.worst(),
        },
        "notes": model.notes(),
    });
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
            value["definiteness"] = json_of_definiteness(m.definiteness());
            let choices = m
                .choices()
                .iter()
                .map(|c| json!({"kernel": c.kernel, "parameter": c.parameter, "value": c.value, "rule": c.rule}));
            value["choices"] = choices.collect();
        }
        _ => {}
    }
    value
}
