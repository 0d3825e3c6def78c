//! Scores as points in the plane of two components, or their density where there are many.

use mercer::{AnyModel, Points};

use crate::colour::Colour;
use crate::figure::{Figure, Layer, Panel, spread};
use crate::kinds::{Axes, AxesOf, PlotKind, components};
use crate::text::{component, count, percent};

pub(super) static KIND: PlotKind = PlotKind {
    name: "scores",
    title: "Scores",
    about: "Points in the plane of two components",
    needs: "scores",
    axes: AxesOf::Components,
    prepare: |subject, look| {
        let scores = subject.scores()?;
        let axes = components(look, scores.d())?;
        Ok(Box::new(move |_| Ok(self::scores(&look.title, scores, subject.model, subject.colour, axes, look.density))))
    },
};

/// More points than this are shown as a density, or by a sample where they have colours.
const MOST_POINTS: usize = 20_000;

/// Returns the scores in the plane of two components; those of a single component against the row number. `density` forces
/// or forbids the density in place of the points.
pub fn scores(
    title: &str,
    scores: &Points<f64>,
    model: Option<&AnyModel>,
    colour: &Colour,
    axes: Axes,
    density: Option<bool>,
) -> Figure {
    let (panel, note) = panel(scores, model, colour, axes, density);
    Figure { title: title.into(), note, panels: vec![panel], across: 1, compact: false }
}

/// Returns one panel as in [`scores`], with its note.
pub(super) fn panel(
    scores: &Points<f64>,
    model: Option<&AnyModel>,
    colour: &Colour,
    axes: Axes,
    density: Option<bool>,
) -> (Panel, String) {
    let (n, k) = (scores.n(), scores.d());
    let one = k < 2 && axes == Axes::default();
    // Components without variance hold rounding errors, which must not look like structure.
    let rank = model.and_then(AnyModel::spectrum).map_or(k, |s| s.rank());
    let value = |i: usize, j: usize| if j < rank { scores.row(i)[j] } else { 0.0 };
    let at: Vec<(f64, f64)> =
        (0..n).map(|i| (value(i, axes.x.min(k - 1)), if one { i as f64 + 1.0 } else { value(i, axes.y) })).collect();
    let name = |j: usize| match model.and_then(AnyModel::spectrum).map(|s| s.ratios()) {
        Some(ratios) if j < ratios.len() => format!("{} ({})", component(j), percent(ratios[j])),
        _ => component(j),
    };
    let many = n > MOST_POINTS;
    let plain = matches!(colour, Colour::None);
    let (layer, note) = if density.unwrap_or(many && plain) {
        (Layer::Density { at }, format!("density of {} points", count(n)))
    } else if many {
        let some = spread(n, MOST_POINTS);
        let at = some.iter().map(|&i| at[i]).collect();
        (Layer::Points { at, colour: colour.take(&some) }, format!("{} of {} points", count(MOST_POINTS), count(n)))
    } else {
        (Layer::Points { at, colour: colour.clone() }, String::new())
    };
    let up = if one { "row".to_string() } else { name(axes.y) };
    let mut panel = Panel { axes: (name(axes.x), up), layers: vec![layer], ..Panel::default() };
    panel.equal = !one && panel.is_square();
    (panel, note)
}
