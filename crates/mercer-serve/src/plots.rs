//! Plots of a result: which kinds there are, and why some cannot be drawn, in the words of the page.

use axum::http::StatusCode;
use mercer_view::{Axes, AxesOf, Figure, Look, PLOT_KINDS, PlotKind, Unavailable, plural};
use serde_json::{Value, json};

use crate::error::Refusal;
use crate::state::FitResult;

/// Every kind of plot for the page, with the reason where it cannot be drawn.
pub(crate) fn list(result: &FitResult) -> Vec<Value> {
    let subject = result.fitted().subject();
    let one = |kind: &&PlotKind| {
        let why = kind.check(subject, &Look::default()).err().map(|why| in_words(why).error);
        // The page chooses the axes of components only.
        let axes = kind.axes == AxesOf::Components;
        json!({"name": kind.name, "title": kind.title, "about": kind.about, "axes": axes, "unavailable": why})
    };
    PLOT_KINDS.iter().map(one).collect()
}

/// Draws a kind of plot. Axes of columns are the kind's usual ones.
pub(crate) fn draw(
    kind: &PlotKind,
    result: &FitResult,
    components: Axes,
    exec: &mercer::Exec,
) -> Result<Figure, Refusal> {
    let subject = result.fitted().subject();
    let axes = (kind.axes == AxesOf::Components).then_some(components);
    kind.draw(subject, &Look { title: subject.title(), axes, density: None }, exec).map_err(in_words)
}

fn in_words(why: Unavailable) -> Refusal {
    let (error, help): (String, &str) = match why {
        Unavailable::Failed(e) => return e.into(),
        Unavailable::NoModel | Unavailable::NoPoints => ("there is no fitted model".into(), "fit a model first"),
        Unavailable::NoComponents => {
            ("no component has variance".into(), "choose other columns, another kernel or another width")
        }
        Unavailable::NoSpectrum => ("a feature map has no eigenvalues".into(), "choose PCA or a kernel"),
        Unavailable::NotLinear => ("a kernel model has no loadings".into(), "choose PCA under Kernel"),
        Unavailable::NoKernel => ("PCA has no kernel matrix".into(), "choose the linear kernel for its Gram matrix"),
        Unavailable::GivenGramMatrix => ("the model was fitted to a Gram matrix".into(), "choose a kernel"),
        Unavailable::NoReconstruction => {
            ("only PCA and the gaussian kernel have one".into(), "choose PCA or the gaussian kernel")
        }
        Unavailable::TooFewColumns { least, .. } => {
            (format!("needs at least {}", plural(least, "column")), "choose more columns under Data")
        }
        Unavailable::TooManyColumns { most, .. } => {
            (format!("needs data of {}", plural(most, "column")), "choose fewer columns under Data")
        }
        Unavailable::NoSuchAxis { count, .. } => {
            (format!("there are only {}", plural(count, "component")), "choose other axes")
        }
        _ => ("cannot be drawn".into(), "choose another kind of plot"),
    };
    Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, error, help)
}
