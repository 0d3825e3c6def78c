//! A plot as data.

use crate::colour::Colour;

/// Panels side by side under one title.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The title.
    pub title: String,
    /// A line under the title, or nothing.
    pub note: String,
    /// The panels, row by row.
    pub panels: Vec<Panel>,
    /// Number of panels in a row.
    pub across: usize,
    /// Whether a figure of one panel is drawn small, to be placed beside another.
    pub compact: bool,
}

/// Layers on one pair of axes.
#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// The title, or nothing where the figure's suffices.
    pub title: String,
    /// Names of the horizontal and the vertical axis.
    pub axes: (String, String),
    /// The layers, drawn in this order.
    pub layers: Vec<Layer>,
    /// Whether both axes have the same scale.
    pub equal: bool,
}

/// What is drawn on a pair of axes.
#[derive(Clone, Debug)]
pub enum Layer {
    /// Points, coloured.
    Points {
        /// Their positions.
        at: Vec<(f64, f64)>,
        /// What their colours mean.
        colour: Colour,
    },
    /// Points in the background, with a name for the legend.
    Faint {
        /// Their positions.
        at: Vec<(f64, f64)>,
        /// The name for the legend.
        name: String,
    },
    /// The density of points.
    Density {
        /// Their positions.
        at: Vec<(f64, f64)>,
    },
    /// Bars with names on the horizontal axis, and error bars.
    Bars {
        /// The names.
        names: Vec<String>,
        /// Their heights.
        heights: Vec<f64>,
        /// Error bounds below and above.
        errors: Vec<(f64, f64)>,
        /// The name for the legend.
        name: String,
    },
    /// A line with markers at its vertices.
    Line {
        /// Its vertices.
        at: Vec<(f64, f64)>,
        /// The name for the legend.
        name: String,
    },
    /// Thin lines without a name.
    Links(Vec<[(f64, f64); 2]>),
    /// Arrows from the origin, with names at their tips.
    Arrows(Vec<((f64, f64), String)>),
    /// A matrix of values, row by row from the top, as colours.
    Matrix {
        /// The values.
        rows: Vec<Vec<f64>>,
        /// The name for the legend.
        name: String,
        /// Whether the colours diverge at zero.
        signed: bool,
        /// The number of points behind the rows.
        points: usize,
    },
    /// Values over the plane as bands of colour that diverge at zero.
    Field {
        /// Horizontal positions.
        x: Vec<f64>,
        /// Vertical positions.
        y: Vec<f64>,
        /// The values, one row per vertical position.
        values: Vec<Vec<f64>>,
    },
}

impl Layer {
    /// The positions that the axes must cover.
    pub(crate) fn places(&self) -> Vec<(f64, f64)> {
        match self {
            Layer::Points { at, .. } | Layer::Faint { at, .. } | Layer::Density { at } | Layer::Line { at, .. } => {
                at.clone()
            }
            Layer::Bars { heights, .. } => {
                heights.iter().enumerate().flat_map(|(i, h)| [(i as f64 + 1.0, *h), (i as f64 + 1.0, 0.0)]).collect()
            }
            Layer::Links(links) => links.iter().flatten().copied().collect(),
            Layer::Arrows(arrows) => arrows.iter().map(|(tip, _)| *tip).chain([(0.0, 0.0)]).collect(),
            Layer::Matrix { rows, .. } => {
                vec![(0.0, 0.0), (rows.first().map_or(0, Vec::len) as f64, rows.len() as f64)]
            }
            Layer::Field { x, y, .. } => x.iter().zip(y).map(|(x, y)| (*x, *y)).collect(),
        }
    }
}

impl Figure {
    /// About how many marks are drawn.
    pub(crate) fn marks(&self) -> usize {
        let marks = |layer: &Layer| match layer {
            Layer::Density { .. } => 2000,
            Layer::Matrix { rows, .. } => rows.iter().map(Vec::len).sum(),
            Layer::Field { .. } => 1000,
            other => other.places().len(),
        };
        self.panels.iter().flat_map(|p| &p.layers).map(marks).sum()
    }
}

impl Panel {
    /// Whether width and height are similar in the units of the axes, which then get the same scale.
    pub(crate) fn is_square(&self) -> bool {
        let ((left, right), (bottom, top)) = self.bounds();
        (0.5..2.0).contains(&((right - left) / (top - bottom)))
    }

    /// The smallest and largest position on each axis; a range of a single value is widened.
    pub(crate) fn bounds(&self) -> ((f64, f64), (f64, f64)) {
        let (mut x, mut y) = ((f64::INFINITY, f64::NEG_INFINITY), (f64::INFINITY, f64::NEG_INFINITY));
        for layer in &self.layers {
            for (px, py) in layer.places() {
                x = (x.0.min(px), x.1.max(px));
                y = (y.0.min(py), y.1.max(py));
            }
        }
        let wide = |(low, high): (f64, f64)| match high - low {
            span if span.is_finite() && span > 0.0 => (low, high),
            _ if low.is_finite() => (low - low.abs().max(1.0) * 0.5, low + low.abs().max(1.0) * 0.5),
            _ => (0.0, 1.0),
        };
        (wide(x), wide(y))
    }
}

/// At most `most` of `n` indices, spread evenly.
pub(crate) fn spread(n: usize, most: usize) -> Vec<usize> {
    let m = n.min(most);
    (0..m).map(|i| i * n / m).collect()
}
