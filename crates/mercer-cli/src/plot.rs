//! Pictures: SVG by kuva, which only this module knows, and scatter plots in the terminal.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use kuva::plot::scatter::ScatterPlot;
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;
use mercer::Points;

use crate::output::short;

/// Okabe and Ito's colours, which the colour-blind can tell apart.
const COLORS: [&str; 7] = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#000000"];

/// Marks and terminal colours of the classes: told apart without colour, too.
const MARKS: [(char, AnsiColor); 7] = [
    ('o', AnsiColor::Blue),
    ('+', AnsiColor::Yellow),
    ('x', AnsiColor::Green),
    ('*', AnsiColor::Magenta),
    ('#', AnsiColor::Cyan),
    ('@', AnsiColor::Red),
    ('%', AnsiColor::White),
];

/// A scatter plot of two columns of points, coloured by class.
pub(crate) struct Scatter<'a> {
    pub(crate) title: &'a str,
    pub(crate) axes: (&'a str, &'a str),
    pub(crate) points: &'a Points<f64>,
    pub(crate) classes: &'a [usize],
    pub(crate) names: &'a [String],
}

impl Scatter<'_> {
    fn place(&self, i: usize) -> (f64, f64) {
        let row = self.points.row(i);
        (row[0], row.get(1).copied().unwrap_or(0.0))
    }

    pub(crate) fn svg(&self) -> String {
        let plots: Vec<Plot> = (0..self.names.len())
            .map(|class| {
                let members = (0..self.points.n()).filter(|&i| self.classes[i] == class).map(|i| self.place(i));
                ScatterPlot::new()
                    .with_data(members.collect::<Vec<_>>())
                    .with_color(COLORS[class % COLORS.len()])
                    .with_size(4.0)
                    .with_legend(self.names[class].clone())
                    .into()
            })
            .collect();
        let layout = Layout::auto_from_plots(&plots)
            .with_title(self.title)
            .with_x_label(self.axes.0)
            .with_y_label(self.axes.1)
            .with_width(640.0)
            .with_height(480.0);
        kuva::render_to_svg(plots, layout)
    }

    /// The plot in characters: a mark per class, and where several classes share a cell the one with most points.
    pub(crate) fn terminal(&self, columns: usize, rows: usize) -> String {
        let places: Vec<(f64, f64)> = (0..self.points.n()).map(|i| self.place(i)).collect();
        let range = |values: &dyn Fn(&(f64, f64)) -> f64| {
            let (low, high) =
                places.iter().map(values).fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
            if high > low { (low, high) } else { (low - 1.0, high + 1.0) }
        };
        let ((left, right), (bottom, top)) = (range(&|p| p.0), range(&|p| p.1));
        let cell = |v: f64, low: f64, high: f64, count: usize| {
            (((v - low) / (high - low) * count as f64) as usize).min(count - 1)
        };
        let mut counts = vec![vec![0usize; self.names.len()]; columns * rows];
        for (&(x, y), &class) in places.iter().zip(self.classes) {
            counts[(rows - 1 - cell(y, bottom, top, rows)) * columns + cell(x, left, right, columns)][class] += 1;
        }
        let mut text = format!("  {}   ", self.title);
        for (class, name) in self.names.iter().enumerate() {
            let (mark, color) = MARKS[class % MARKS.len()];
            let style = Style::new().fg_color(Some(color.into()));
            let _ = write!(text, "  {style}{mark} {name}{style:#}");
        }
        let (high, low) = (short(top), short(bottom));
        let margin = high.len().max(low.len()).max(self.axes.1.len()) + 1;
        let _ = write!(text, "\n{:margin$} ┌{}┐", "", "─".repeat(columns));
        for (r, line) in counts.chunks_exact(columns).enumerate() {
            let side = match r {
                0 => high.as_str(),
                _ if r == rows / 2 => self.axes.1,
                _ if r + 1 == rows => low.as_str(),
                _ => "",
            };
            let _ = write!(text, "\n{side:>margin$} │");
            for cell in line {
                let most = (0..cell.len()).filter(|&c| cell[c] > 0).max_by_key(|&c| (cell[c], std::cmp::Reverse(c)));
                match most {
                    None => text.push(' '),
                    Some(class) => {
                        let (mark, color) = MARKS[class % MARKS.len()];
                        let style = Style::new().fg_color(Some(color.into()));
                        let _ = write!(text, "{style}{mark}{style:#}");
                    }
                }
            }
            text.push('│');
        }
        let (first, last) = (short(left), short(right));
        let inner = columns.saturating_sub(first.len() + last.len());
        let _ = write!(text, "\n{:margin$} └{}┘\n", "", "─".repeat(columns));
        let _ = writeln!(text, "{:margin$}  {first}{:^inner$}{last}", "", self.axes.0);
        text
    }
}
