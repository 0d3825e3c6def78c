//! Each component as a field over the plane of two-dimensional data.

use mercer::{AnyModel, Exec, Points, Result};

use crate::colour::Colour;
use crate::figure::{Figure, Layer, Panel, spread};
use crate::text::{component, count, percent};

/// Components that are shown.
const MOST_PANELS: usize = 6;
/// Points of the grid along each axis, for files.
const FINE: usize = 45;
/// Points that are drawn over the field.
const MOST_POINTS: usize = 1000;
/// How far the grid reaches beyond the points, as a share of their range.
const MARGIN: f64 = 0.12;

/// Scores over a grid in the plane.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Places across.
    pub x: Vec<f64>,
    /// Places up.
    pub y: Vec<f64>,
    /// Scores, a row per place, line by line from the bottom.
    pub scores: Points<f64>,
}

impl Grid {
    /// The scores of a model over the range of two-dimensional points, with so many places along each axis.
    ///
    /// # Errors
    /// When the model is not one of two dimensions.
    pub fn of(model: &AnyModel, points: &Points<f64>, size: usize, exec: &Exec) -> Result<Self> {
        let places = |j: usize| -> Vec<f64> {
            let (low, high) =
                points.rows().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), r| (l.min(r[j]), h.max(r[j])));
            let span = if high > low { high - low } else { 1.0 };
            let (low, span) = (low - MARGIN * span, span * (1.0 + 2.0 * MARGIN));
            (0..size).map(|i| low + span * i as f64 / (size - 1) as f64).collect()
        };
        let (x, y) = (places(0), places(1));
        let all = Points::from_fn(size * size, 2, |i, j| if j == 0 { x[i % size] } else { y[i / size] });
        let scores = model.transform(&all, exec)?;
        Ok(Grid { x, y, scores })
    }

    /// Component j, a row per place up.
    pub fn values(&self, j: usize) -> Vec<Vec<f64>> {
        let across = self.x.len();
        (0..self.y.len()).map(|r| (0..across).map(|c| self.scores.row(r * across + c)[j]).collect()).collect()
    }
}

/// Whether a model takes points, and not rows of a Gram matrix.
pub fn on_points(model: &AnyModel) -> bool {
    !matches!(model, AnyModel::KernelPca(m) if m.points().is_none())
}

/// The contours of each component over the plane of the data: the scores that a point would have there.
///
/// # Errors
/// When the model or the points are not of two dimensions.
pub fn contours(
    title: &str,
    model: &AnyModel,
    points: &Points<f64>,
    columns: &[String],
    colour: &Colour,
    exec: &Exec,
) -> Result<Figure> {
    let grid = Grid::of(model, points, FINE, exec)?;
    let some = spread(points.n(), MOST_POINTS);
    let at: Vec<(f64, f64)> = some.iter().map(|&i| (points.row(i)[0], points.row(i)[1])).collect();
    // A number would be one colour scale over another: points are then alike.
    let colour = match colour {
        Colour::Classes { .. } => colour.take(&some),
        _ => Colour::None,
    };
    let shown = model.components().min(MOST_PANELS);
    let ratios = model.spectrum().map(|s| s.ratios()).unwrap_or_default();
    let mut panels: Vec<Panel> = (0..shown)
        .map(|j| Panel {
            title: match ratios.get(j) {
                Some(share) => format!("{} ({})", component(j), percent(*share)),
                None => component(j),
            },
            axes: (columns[0].clone(), columns[1].clone()),
            layers: vec![
                Layer::Field { x: grid.x.clone(), y: grid.y.clone(), values: grid.values(j) },
                Layer::Points { at: at.clone(), colour: colour.clone() },
            ],
            equal: false,
        })
        .collect();
    // A strip of a field in the middle of its panel would waste the room.
    let ratio = (grid.x[FINE - 1] - grid.x[0]) / (grid.y[FINE - 1] - grid.y[0]);
    panels.iter_mut().for_each(|p| p.equal = (0.75..1.33).contains(&ratio));
    let mut note = "the score that a point would have at each place: blue below zero, orange above".to_string();
    if shown < model.components() {
        note += &format!("; the first {shown} of {} components", model.components());
    }
    if some.len() < points.n() {
        note += &format!("; {} of {} points", count(some.len()), count(points.n()));
    }
    let across = match shown {
        1 => 1,
        2 | 4 => 2,
        _ => 3,
    };
    Ok(Figure { title: title.into(), note, panels, across, compact: false })
}
