//! The biplot of a linear model: scores, and an arrow for each column.

use mercer::{AnyModel, PcaModel, Points};

use crate::colour::Colour;
use crate::figure::{Figure, Layer};
use crate::kinds::scores::panel;
use crate::kinds::{Axes, AxesOf, PlotKind, Unavailable, components, some_components};
use crate::text::count;

pub(super) static KIND: PlotKind = PlotKind {
    name: "loadings",
    title: "Scores and loadings",
    about: "Scores, and an arrow for each column",
    needs: "a linear model",
    axes: AxesOf::Components,
    prepare: |subject, look| {
        let AnyModel::Pca(model) = subject.model()? else { return Err(Unavailable::NotLinear) };
        some_components(model.components())?;
        let axes = components(look, model.components())?;
        Ok(Box::new(move |_| {
            let names = model.embedding().names(subject.columns);
            Ok(loadings(&look.title, model, &names, subject.scores, subject.colour, axes))
        }))
    },
};

/// More arrows than this cannot be read.
const MOST_ARROWS: usize = 12;
/// Arrows reach this far into the scores.
const REACH: f64 = 0.85;

/// The scores of a linear model with the loadings of its columns as arrows, all of them enlarged by one factor; without
/// scores the arrows alone.
fn loadings(
    title: &str,
    model: &PcaModel,
    columns: &[String],
    scores: Option<&Points<f64>>,
    colour: &Colour,
    axes: Axes,
) -> Figure {
    let f = model.axes();
    let up = if f.n() > 1 { axes.y } else { axes.x };
    let tip = |j: usize| (f.row(axes.x)[j], if f.n() > 1 { f.row(up)[j] } else { 0.0 });
    let mut order: Vec<usize> = (0..f.d()).collect();
    let length = |j: usize| tip(j).0.hypot(tip(j).1);
    order.sort_by(|&a, &b| length(b).total_cmp(&length(a)).then(a.cmp(&b)));
    order.truncate(MOST_ARROWS);
    let any = AnyModel::Pca(model.clone());
    let empty = Points::from_fn(1, f.n().max(1), |_, _| 0.0);
    let (mut panel, mut note) = panel(scores.unwrap_or(&empty), Some(&any), colour, axes, None);
    let factor = match scores {
        None => {
            panel.layers.clear();
            1.0
        }
        Some(_) => {
            let ((left, right), (bottom, top)) = panel.bounds();
            let reach = [left, right, bottom, top].into_iter().fold(f64::INFINITY, |m, v| m.min(v.abs()));
            let reach = if reach > 0.0 { reach } else { (right - left).max(top - bottom) / 2.0 };
            let longest = order.iter().map(|&j| length(j)).fold(0.0, f64::max);
            if longest > 0.0 { REACH * reach.max((right - left).min(top - bottom) / 2.0) / longest } else { 1.0 }
        }
    };
    let arrows = order.iter().map(|&j| ((factor * tip(j).0, factor * tip(j).1), columns[j].clone())).collect();
    panel.layers.push(Layer::Arrows(arrows));
    if !note.is_empty() {
        note += "; ";
    }
    note += &match (f.d() > MOST_ARROWS, scores) {
        (true, _) => format!("the {MOST_ARROWS} longest of {} loadings", count(f.d())),
        (false, None) => "loadings".into(),
        (false, Some(_)) => "arrows: loadings, all enlarged by the same factor".into(),
    };
    Figure { title: title.into(), note, panels: vec![panel], across: 1, compact: false }
}
