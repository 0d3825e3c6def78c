//! Figure: a picture as data.

use crate::colour::Colour;

/// Panels side by side under one title.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What is shown.
    pub title: String,
    /// What a reader should know besides.
    pub note: String,
    /// The panels, row by row.
    pub panels: Vec<Panel>,
    /// Panels in a row.
    pub across: usize,
    /// Whether a figure of one panel is drawn small, to stand beside another.
    pub compact: bool,
}

/// Layers on one pair of axes.
#[derive(Clone, Debug, Default)]
pub struct Panel {
    /// Empty where the figure's title says it.
    pub title: String,
    /// Names of the axes, across and up.
    pub axes: (String, String),
    /// Drawn one over the other.
    pub layers: Vec<Layer>,
    /// Whether a unit is equally long on both axes.
    pub equal: bool,
}

/// Something drawn on a pair of axes.
#[derive(Clone, Debug)]
pub enum Layer {
    /// Points, coloured.
    Points {
        /// Where they are.
        at: Vec<(f64, f64)>,
        /// What their colours mean.
        colour: Colour,
    },
    /// Points in the background, with a name for the legend.
    Faint {
        /// Where they are.
        at: Vec<(f64, f64)>,
        /// What they are.
        name: String,
    },
    /// How many points are where.
    Density {
        /// Where they are.
        at: Vec<(f64, f64)>,
    },
    /// Bars named along the horizontal axis, with how far the truth may be below and above.
    Bars {
        /// The names.
        names: Vec<String>,
        /// Their heights.
        heights: Vec<f64>,
        /// How far the truth may be below and above.
        errors: Vec<(f64, f64)>,
        /// What they are.
        name: String,
    },
    /// A line with marks at its corners.
    Line {
        /// Its corners.
        at: Vec<(f64, f64)>,
        /// What it is.
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
        /// What they are.
        name: String,
        /// Whether colours part at zero.
        signed: bool,
        /// How many points the rows stand for.
        points: usize,
    },
    /// Values over the plane as bands of colour that part at zero.
    Field {
        /// Where, across.
        x: Vec<f64>,
        /// Where, up.
        y: Vec<f64>,
        /// The value at y, at x.
        values: Vec<Vec<f64>>,
    },
}

impl Layer {
    /// Where the layer's points are, for the ends of the axes.
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
    /// How many marks are drawn, about.
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
    /// Whether it is about as wide as it is high in the units of its axes, which are then made equally long.
    pub(crate) fn is_square(&self) -> bool {
        let ((left, right), (bottom, top)) = self.bounds();
        (0.5..2.0).contains(&((right - left) / (top - bottom)))
    }

    /// The smallest and largest place on each axis; a range of one value is widened.
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
