//! What the colours of points mean: classes, a number, or nothing.

use mercer_io::{Column, Values};

/// Okabe and Ito's colours, which the colour-blind can tell apart.
pub const PALETTE: [&str; 7] = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#000000"];

/// Classes at most; with more, points are coloured by number, or not at all.
const MOST_CLASSES: usize = 21;
/// A numeric column with at most so many different values holds classes.
const FEW_VALUES: usize = 12;

/// What the colours of points mean.
#[derive(Clone, Debug, Default)]
pub enum Colour {
    /// Nothing: all points have one colour.
    #[default]
    None,
    /// The class of each point.
    Classes {
        /// The name of the column.
        name: String,
        /// The class of each point.
        of: Vec<usize>,
        /// The names of the classes.
        names: Vec<String>,
    },
    /// A number of each point.
    Number {
        /// The name of the column.
        name: String,
        /// The value of each point.
        values: Vec<f64>,
    },
}

impl Colour {
    /// Returns the colours of a column: classes where it is text or has few different values.
    pub fn of(column: &Column) -> Self {
        let (of, names) = column.classes();
        let numeric = numbers(column);
        let few = if numeric.is_some() { FEW_VALUES } else { MOST_CLASSES };
        match numeric {
            Some(values) if names.len() > few => Colour::Number { name: column.name.clone(), values },
            _ if names.len() <= few => Colour::Classes { name: column.name.clone(), of, names },
            _ => Colour::None,
        }
    }

    /// Returns the colours of some of the points.
    pub fn take(&self, which: &[usize]) -> Self {
        match self {
            Colour::None => Colour::None,
            Colour::Classes { name, of, names } => {
                Colour::Classes { name: name.clone(), of: which.iter().map(|&i| of[i]).collect(), names: names.clone() }
            }
            Colour::Number { name, values } => {
                Colour::Number { name: name.clone(), values: which.iter().map(|&i| values[i]).collect() }
            }
        }
    }
}

/// The values as numbers, also where the column is text; missing values are NaN.
fn numbers(column: &Column) -> Option<Vec<f64>> {
    match &column.values {
        Values::Numbers(values) => Some(values.clone()),
        Values::Text(values) => {
            values.iter().map(|v| if v.is_empty() { Some(f64::NAN) } else { v.parse().ok() }).collect()
        }
    }
}

/// A colour scale from dark blue over green to yellow, whose lightness grows evenly.
const RAMP: [(f64, f64, f64); 6] = [
    (68.0, 1.0, 84.0),
    (65.0, 68.0, 135.0),
    (42.0, 120.0, 142.0),
    (34.0, 168.0, 132.0),
    (122.0, 209.0, 81.0),
    (240.0, 229.0, 60.0),
];
/// A colour scale from blue (below zero) over white to orange (above zero).
const SIGNED: [(f64, f64, f64); 5] =
    [(5.0, 80.0, 140.0), (110.0, 170.0, 215.0), (247.0, 247.0, 247.0), (244.0, 165.0, 90.0), (179.0, 80.0, 0.0)];

fn between(corners: &[(f64, f64, f64)], share: f64) -> (u8, u8, u8) {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.5 };
    let place = share * (corners.len() - 1) as f64;
    let low = (place as usize).min(corners.len() - 2);
    let (a, b, f) = (corners[low], corners[low + 1], place - low as f64);
    let mix = |a: f64, b: f64| (a + f * (b - a)).round() as u8;
    (mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

/// Returns the colour of a value from 0 to 1.
pub fn ramp(share: f64) -> (u8, u8, u8) {
    between(&RAMP, share)
}

/// Returns the colour of a value from -1 to 1.
pub(crate) fn signed(value: f64) -> (u8, u8, u8) {
    between(&SIGNED, (value + 1.0) / 2.0)
}

pub(crate) fn hex((r, g, b): (u8, u8, u8)) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// Returns the smallest and largest finite value; (0, 1) when there is none or all are equal.
pub fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) =
        values.filter(|v| v.is_finite()).fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    if high > low { (low, high) } else { (0.0, 1.0) }
}
