//! Figures in characters, readable without colours too.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};

use crate::colour::{Colour, range};
use crate::figure::{Figure, Layer, Panel};
use crate::text::{printable, short};

/// Marks of the classes.
const MARKS: [char; 21] =
    ['o', '+', 'x', '*', '#', '@', '%', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'A', 'B', 'C', 'D', 'E', 'F', 'G'];
/// Their colours, which repeat.
const COLOURS: [AnsiColor; 7] = [
    AnsiColor::Blue,
    AnsiColor::Yellow,
    AnsiColor::Green,
    AnsiColor::Magenta,
    AnsiColor::Cyan,
    AnsiColor::Red,
    AnsiColor::White,
];

fn mark(class: usize) -> (char, AnsiColor) {
    (MARKS[class % MARKS.len()], COLOURS[class % COLOURS.len()])
}
/// From the smallest to the largest value.
const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];

/// A character and its colour.
type Cell = Option<(char, Option<AnsiColor>)>;

impl Figure {
    /// Returns the figure in characters, `width` columns wide (40 at least), with about `rows` rows per panel.
    pub fn terminal(&self, width: usize, rows: usize) -> String {
        let (width, rows) = (width.clamp(40, 400), rows.clamp(6, 200));
        let mut text = format!("  {}\n", printable(&self.title));
        if !self.note.is_empty() {
            let _ = writeln!(text, "  {}", printable(&self.note));
        }
        for panel in &self.panels {
            if !panel.title.is_empty() {
                let _ = writeln!(text, "  {}", printable(&panel.title));
            }
            match panel.layers.as_slice() {
                [Layer::Bars { names, heights, errors, .. }, ..] => bars(names, heights, errors, width, &mut text),
                _ => framed(panel, width, rows, &mut text),
            }
        }
        text
    }
}

/// Width of the text beside a bar.
const BESIDE_BAR: usize = 30;

fn bars(names: &[String], heights: &[f64], errors: &[(f64, f64)], width: usize, text: &mut String) {
    let names: Vec<String> = names.iter().map(|name| printable(name)).collect();
    let wide = names.iter().map(|n| n.chars().count()).max().unwrap_or(0);
    let columns = width.saturating_sub(wide + BESIDE_BAR).max(8);
    let mut sum = 0.0;
    for ((name, height), (below, above)) in names.iter().zip(heights).zip(errors) {
        sum += height;
        let length = (height / 100.0 * columns as f64 * 8.0).round() as usize;
        let part = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'][length % 8];
        let bar: String = "█".repeat(length / 8) + &part.to_string();
        let style = Style::new().fg_color(Some(AnsiColor::Blue.into()));
        let gap = " ".repeat((columns + 1).saturating_sub(bar.chars().count()));
        // Errors below two decimals are not shown.
        let error = if below.max(*above) >= 0.005 { format!("  -{below:.2} +{above:.2}") } else { String::new() };
        let _ = writeln!(text, "  {name:>wide$} │{style}{bar}{style:#}{gap} {height:>6.2} %  sum {sum:>6.2} %{error}");
    }
}

fn framed(panel: &Panel, width: usize, rows: usize, text: &mut String) {
    let ((left, right), (bottom, top)) = panel.bounds();
    let scaled = !panel.layers.iter().any(|l| matches!(l, Layer::Matrix { .. }));
    let end = |v: f64| if scaled { short((v * 1e4).round() / 1e4) } else { String::new() };
    let (high, low, first, last) = (end(top), end(bottom), end(left), end(right));
    // A long name would leave no room for the plot.
    let up: String = printable(&panel.axes.1).chars().take(width / 4).collect();
    let margin = [&high, &low, &up].iter().map(|t| t.chars().count()).max().unwrap_or(0) + 1;
    let columns = width.saturating_sub(margin + 3).max(16);
    let mut cells: Vec<Cell> = vec![None; columns * rows];
    let mut legend: Vec<(String, char, AnsiColor)> = Vec::new();
    let cell = |(x, y): (f64, f64)| -> usize {
        let place = |v: f64, low: f64, high: f64, count: usize| {
            (((v - low) / (high - low) * count as f64).max(0.0) as usize).min(count - 1)
        };
        (rows - 1 - place(y, bottom, top, rows)) * columns + place(x, left, right, columns)
    };
    let over_field = panel.layers.iter().any(|l| matches!(l, Layer::Field { .. }));
    for layer in &panel.layers {
        match layer {
            // Points would hide the marks of the field.
            Layer::Points { .. } if over_field => {}
            Layer::Points { at, colour } => points(at, colour, &cell, &mut cells, &mut legend),
            Layer::Faint { at, name } => {
                legend.push((name.clone(), '.', AnsiColor::White));
                at.iter().for_each(|p| cells[cell(*p)] = Some(('.', None)));
            }
            Layer::Density { at } => density(at, &cell, &mut cells),
            Layer::Line { at, .. } => {
                at.iter().for_each(|p| cells[cell(*p)] = Some(('+', Some(AnsiColor::Red))));
            }
            Layer::Links(_) | Layer::Bars { .. } => {}
            Layer::Arrows(all) => arrows(all, &cell, columns, &mut cells),
            Layer::Matrix { rows: values, signed, .. } => {
                let down = values.len();
                let at = |r: usize, c: usize| values[r * down / rows][c * values[0].len() / columns];
                shade((0..rows * columns).map(|i| at(i / columns, i % columns)), *signed, &mut cells);
            }
            Layer::Field { values, .. } => {
                let up = values.len();
                let at = |r: usize, c: usize| values[up - 1 - r * up / rows][c * values[0].len() / columns];
                shade((0..rows * columns).map(|i| at(i / columns, i % columns)), true, &mut cells);
                legend.push(("below zero".into(), SHADES[2], AnsiColor::Blue));
                legend.push(("above".into(), '#', AnsiColor::Yellow));
            }
        }
    }
    if !legend.is_empty() {
        text.push(' ');
        for (name, mark, color) in &legend {
            let style = Style::new().fg_color(Some((*color).into()));
            let _ = write!(text, "  {style}{mark} {}{style:#}", printable(name));
        }
        text.push('\n');
    }
    let _ = write!(text, "{:margin$} ┌{}┐", "", "─".repeat(columns));
    for (r, line) in cells.chunks_exact(columns).enumerate() {
        let side = match r {
            0 => high.as_str(),
            _ if r == rows / 2 => up.as_str(),
            _ if r + 1 == rows => low.as_str(),
            _ => "",
        };
        let _ = write!(text, "\n{side:>margin$} │");
        for cell in line {
            match cell {
                None => text.push(' '),
                Some((mark, None)) => text.push(*mark),
                Some((mark, Some(color))) => {
                    let style = Style::new().fg_color(Some((*color).into()));
                    let _ = write!(text, "{style}{mark}{style:#}");
                }
            }
        }
        text.push('│');
    }
    let inner = columns.saturating_sub(first.chars().count() + last.chars().count());
    let _ = write!(text, "\n{:margin$} └{}┘\n", "", "─".repeat(columns));
    let _ = writeln!(text, "{:margin$}  {first}{:^inner$}{last}", "", printable(&panel.axes.0));
}

/// A mark per class; where several classes share a cell, the one with most points.
fn points(
    at: &[(f64, f64)],
    colour: &Colour,
    cell: &dyn Fn((f64, f64)) -> usize,
    cells: &mut [Cell],
    legend: &mut Vec<(String, char, AnsiColor)>,
) {
    let (of, names) = match colour {
        Colour::Classes { of, names, .. } => (of.clone(), names.clone()),
        Colour::None => (vec![0; at.len()], Vec::new()),
        // A number in five steps of equal width.
        Colour::Number { name, values } => {
            let (low, high) = range(values.iter().copied());
            let step = |v: f64| (((v - low) / (high - low) * 5.0).max(0.0) as usize).min(4);
            let edge = |s: usize| short(((low + (high - low) * s as f64 / 5.0) * 1e3).round() / 1e3);
            (
                values.iter().map(|v| if v.is_finite() { step(*v) } else { 5 }).collect(),
                (0..5)
                    .map(|s| if s == 0 { format!("{name} from {}", edge(0)) } else { format!("{} on", edge(s)) })
                    .collect(),
            )
        }
    };
    let classes = of.iter().copied().max().unwrap_or(0) + 1;
    let mut counts = vec![0u32; cells.len() * classes];
    for (place, class) in at.iter().zip(&of) {
        counts[cell(*place) * classes + class] += 1;
    }
    for (cell, counts) in cells.iter_mut().zip(counts.chunks_exact(classes)) {
        let most = (0..classes).filter(|&c| counts[c] > 0).max_by_key(|&c| (counts[c], std::cmp::Reverse(c)));
        if let Some(class) = most {
            let (mark, color) = mark(class);
            *cell = Some((mark, Some(color)));
        }
    }
    for (class, name) in names.iter().enumerate() {
        let (mark, color) = mark(class);
        legend.push((name.clone(), mark, color));
    }
}

fn density(at: &[(f64, f64)], cell: &dyn Fn((f64, f64)) -> usize, cells: &mut [Cell]) {
    let mut counts = vec![0u32; cells.len()];
    at.iter().for_each(|p| counts[cell(*p)] += 1);
    let most = f64::from(counts.iter().copied().max().unwrap_or(0)).ln_1p();
    for (cell, count) in cells.iter_mut().zip(counts).filter(|(_, c)| *c > 0) {
        let share = f64::from(count).ln_1p() / most;
        *cell = Some((SHADES[((share * 5.0) as usize).min(4)], Some(AnsiColor::Blue)));
    }
}

/// Values as shades; with signs, those above zero have marks of their own.
fn shade(values: impl Iterator<Item = f64> + Clone, signed: bool, cells: &mut [Cell]) {
    const ABOVE: [char; 5] = ['.', '-', '+', '*', '#'];
    let (low, high) = range(values.clone());
    let most = low.abs().max(high.abs());
    for (cell, v) in cells.iter_mut().zip(values) {
        let share = if signed { v.abs() / most } else { (v - low) / (high - low) };
        let step = ((share * 5.0).max(0.0) as usize).min(4);
        *cell = match (signed, v > 0.0) {
            (true, true) => Some((ABOVE[step], Some(AnsiColor::Yellow))),
            _ => Some((SHADES[step], Some(AnsiColor::Blue))),
        };
    }
}

/// Arrows first, then their names, each in the nearest line where it covers no other.
fn arrows(arrows: &[((f64, f64), String)], cell: &dyn Fn((f64, f64)) -> usize, columns: usize, cells: &mut [Cell]) {
    for ((x, y), _) in arrows {
        for step in 0..=60 {
            let share = f64::from(step) / 60.0;
            cells[cell((x * share, y * share))] = Some(('.', Some(AnsiColor::White)));
        }
    }
    let lines = cells.len() / columns;
    let mut taken: Vec<std::ops::Range<usize>> = Vec::new();
    for ((x, y), name) in arrows {
        let (name, tip) = (printable(name), cell((*x, *y)));
        let length = name.chars().count().min(columns);
        let from = (tip % columns).min(columns - length);
        let free = |line: i64| {
            let start = usize::try_from(line).ok().filter(|l| *l < lines)? * columns + from;
            let place = start..start + length;
            taken.iter().all(|t| place.end < t.start || t.end < place.start).then_some(place)
        };
        let line = (tip / columns) as i64;
        let place = (0..lines as i64).find_map(|off| free(line - off).or_else(|| free(line + off)));
        let place = place.unwrap_or(line as usize * columns + from..line as usize * columns + from + length);
        for (at, c) in place.clone().zip(name.chars()) {
            cells[at] = Some((c, Some(AnsiColor::White)));
        }
        taken.push(place);
    }
}
