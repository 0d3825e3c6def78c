//! Each component as contours over the plane of two columns.

use mercer::{AnyModel, Exec, Points, Result};

use crate::colour::Colour;
use crate::figure::{Figure, Layer, Panel, spread};
use crate::kinds::{AxesOf, PlotKind, Unavailable, some_components};
use crate::text::{component, count, percent};

pub(super) static KIND: PlotKind = PlotKind {
    name: "contours",
    title: "Contours of the components",
    about: "Score of each component over the plane of the data",
    needs: "a model and data of two columns",
    axes: AxesOf::Fixed,
    prepare: |subject, look| {
        let (model, points) = (subject.model()?, subject.points()?);
        // The kernel is checked first, because `points` copies all points.
        if matches!(model, AnyModel::KernelPca(m) if m.kernel().is_none() && m.points().is_none()) {
            return Err(Unavailable::GivenGramMatrix);
        }
        match points.d() {
            2 => some_components(model.components())?,
            found @ (0 | 1) => return Err(Unavailable::TooFewColumns { found, least: 2 }),
            found => return Err(Unavailable::TooManyColumns { found, most: 2 }),
        }
        Ok(Box::new(move |exec| contours(&look.title, model, points, subject.columns, subject.colour, exec)))
    },
};

/// Components that are shown.
const MOST_PANELS: usize = 6;
/// Grid points along each axis.
const FINE: usize = 45;
/// Points that are drawn over the field.
const MOST_POINTS: usize = 1000;
/// How far the grid reaches beyond the points, as a share of their range.
const MARGIN: f64 = 0.12;

/// Scores on a grid in the plane of two columns.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Horizontal positions.
    pub x: Vec<f64>,
    /// Vertical positions.
    pub y: Vec<f64>,
    /// Scores, one row per grid point, line by line from the bottom.
    pub scores: Points<f64>,
}

impl Grid {
    /// Returns the scores of a model over the range of points of two columns, on a grid of `size` by `size`.
    ///
    /// # Errors
    /// When the model does not take two columns.
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

    /// Component j, one row per vertical position.
    fn values(&self, j: usize) -> Vec<Vec<f64>> {
        let across = self.x.len();
        (0..self.y.len()).map(|r| (0..across).map(|c| self.scores.row(r * across + c)[j]).collect()).collect()
    }
}

/// The score that a point would have at each position of the plane, one panel per component.
fn contours(
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
    // Colours by number would put one colour scale over another: the points then have one colour.
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
    // With equal axes, a long field would be a thin strip in its panel.
    let ratio = (grid.x[FINE - 1] - grid.x[0]) / (grid.y[FINE - 1] - grid.y[0]);
    panels.iter_mut().for_each(|p| p.equal = (0.75..1.33).contains(&ratio));
    let mut note = "score at each position: blue below zero, orange above".to_string();
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
