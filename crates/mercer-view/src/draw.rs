//! Figures as SVG, PNG and PDF. The only module that uses the plotting library.

use kuva::backend::svg::SvgBackend;
use kuva::plot::annotations::TextAnnotation;
use kuva::plot::bar::BarPlot;
use kuva::plot::colormap::ColorMap;
use kuva::plot::contour::ContourPlot;
use kuva::plot::heatmap::Heatmap;
use kuva::plot::hexbin::HexbinPlot;
use kuva::plot::legend::LegendPosition;
use kuva::plot::line::LinePlot;
use kuva::plot::scatter::{MarkerShape, ScatterPlot};
use kuva::render::figure::Figure as Sheet;
use kuva::render::layout::Layout;
use kuva::render::plots::Plot;
use kuva::render::render::{Scene, render_multiple};

use crate::colour::{Colour, PALETTE, hex, ramp, range, signed};
use crate::figure::{Figure, Layer, Panel};

/// Marker shapes: classes beyond the number of colours get the next shape.
const MARKS: [MarkerShape; 3] = [MarkerShape::Circle, MarkerShape::Triangle, MarkerShape::Square];
const INK: &str = "#222222";
const FAINT: &str = "#9a9a9a";
const FONT: &str = "DejaVu Sans, Liberation Sans, Arial, sans-serif";
/// Size of a figure of one panel, of each of several, and of a figure beside another.
const ALONE: (f64, f64) = (720.0, 540.0);
const AMONG: (f64, f64) = (440.0, 400.0);
const BESIDE: (f64, f64) = (500.0, 400.0);
/// Pixels per unit in a PNG.
const SHARPNESS: f32 = 2.0;
/// Bands of colour in a field.
const BANDS: usize = 12;

/// A file format of plots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageFormat {
    /// Scalable, for pages and editors.
    Svg,
    /// Pixels.
    Png,
    /// Scalable, for print.
    Pdf,
}

impl ImageFormat {
    /// Every format.
    pub const ALL: [ImageFormat; 3] = [ImageFormat::Svg, ImageFormat::Png, ImageFormat::Pdf];

    /// Returns the format that the extension of a file name says.
    pub fn of_name(name: &str) -> Option<Self> {
        let extension = name.rsplit_once('.')?.1;
        ImageFormat::ALL.into_iter().find(|format| extension.eq_ignore_ascii_case(format.extension()))
    }

    /// Returns the extension of its files.
    pub fn extension(self) -> &'static str {
        match self {
            ImageFormat::Svg => "svg",
            ImageFormat::Png => "png",
            ImageFormat::Pdf => "pdf",
        }
    }

    /// Returns its media type.
    pub fn media_type(self) -> &'static str {
        match self {
            ImageFormat::Svg => "image/svg+xml",
            ImageFormat::Png => "image/png",
            ImageFormat::Pdf => "application/pdf",
        }
    }
}

impl Figure {
    /// Returns the figure as the bytes of a file.
    ///
    /// # Errors
    /// The message of the plotting library.
    pub fn file(&self, format: ImageFormat) -> mercer::Result<Vec<u8>> {
        let scene = self.scene();
        let drawn = match format {
            ImageFormat::Svg => Ok(SvgBackend::default().render_scene(&scene).into_bytes()),
            ImageFormat::Png => kuva::RasterBackend::new().with_scale(SHARPNESS).render_scene(&scene),
            ImageFormat::Pdf => kuva::PdfBackend::default().render_scene(&scene),
        };
        drawn.map_err(|why| {
            let what = format!("the plot cannot be drawn: {why}");
            mercer::ErrorKind::Unsupported { what, remedy: "try another format".into() }.into()
        })
    }

    /// Returns the figure as SVG.
    pub fn svg(&self) -> String {
        SvgBackend::default().render_scene(&self.scene())
    }

    fn scene(&self) -> Scene {
        if let [panel] = self.panels.as_slice() {
            let (plots, layout) = drawn(panel, if self.compact { BESIDE } else { ALONE }, true);
            let layout = layout.with_title(label(&self.title)).with_title_size(if self.compact { 14 } else { 18 });
            let layout = if self.note.is_empty() {
                layout
            } else {
                layout.with_subtitle(label(&self.note)).with_subtitle_size(12).with_subtitle_wrap(if self.compact {
                    60
                } else {
                    95
                })
            };
            return render_multiple(plots, layout);
        }
        let (plots, layouts): (Vec<_>, Vec<_>) = self
            .panels
            .iter()
            .map(|panel| {
                let (plots, layout) = drawn(panel, AMONG, false);
                (plots, layout.with_title(label(&panel.title)).with_title_size(15))
            })
            .unzip();
        let rows = self.panels.len().div_ceil(self.across);
        let title = if self.note.is_empty() { self.title.clone() } else { format!("{} | {}", self.title, self.note) };
        Sheet::new(rows, self.across)
            .with_plots(plots)
            .with_layouts(layouts)
            .with_title(label(&title))
            .with_title_size(fitting(&title, AMONG.0 * self.across as f64))
            .with_cell_size(AMONG.0, AMONG.1)
            .render()
    }
}

/// The largest font size, up to that of a title, at which a line of text is no wider than this.
fn fitting(text: &str, width: f64) -> u32 {
    (width / (0.62 * text.chars().count().max(1) as f64)).clamp(9.0, 18.0) as u32
}

/// Escapes text for the library: a dollar sign would begin a formula.
fn label(text: &str) -> String {
    text.replace('$', "\\$")
}

fn drawn(panel: &Panel, (width, height): (f64, f64), alone: bool) -> (Vec<Plot>, Layout) {
    let mut plots: Vec<Plot> = Vec::new();
    let mut notes = Vec::new();
    let bounds = panel.bounds();
    for layer in &panel.layers {
        add(layer, bounds, &mut plots, &mut notes, alone);
    }
    let mut layout = Layout::auto_from_plots(&plots)
        .with_x_label(label(&panel.axes.0))
        .with_y_label(label(&panel.axes.1))
        .with_width(width)
        .with_height(height)
        .with_font_family(FONT)
        .with_label_size(14)
        .with_tick_size(12)
        .with_body_size(13);
    if panel.equal {
        layout = layout.with_equal_aspect();
    }
    let only = |kind: fn(&Layer) -> bool| panel.layers.iter().any(kind);
    if only(|l| matches!(l, Layer::Bars { .. })) {
        layout =
            layout.with_legend_position(LegendPosition::OutsideRightTop).with_y_axis_min(0.0).with_y_axis_max(100.0);
    }
    if only(|l| matches!(l, Layer::Field { .. })) {
        let ((left, right), (bottom, top)) = panel.bounds();
        layout = layout
            .with_x_axis_min(left)
            .with_x_axis_max(right)
            .with_y_axis_min(bottom)
            .with_y_axis_max(top)
            .with_clamp_axis()
            .with_show_grid(false);
    }
    if let Some(Layer::Matrix { points, .. }) = panel.layers.first() {
        let end = *points as f64;
        layout = layout.with_show_grid(false).with_clamp_axis();
        layout = layout.with_x_axis_min(0.0).with_x_axis_max(end).with_y_axis_min(0.0).with_y_axis_max(end);
    }
    if only(|l| matches!(l, Layer::Arrows(_))) {
        layout = layout.with_label_background(true);
    }
    for note in notes {
        layout = layout.with_annotation(note);
    }
    (plots, layout)
}

fn add(layer: &Layer, bounds: Bounds, plots: &mut Vec<Plot>, notes: &mut Vec<TextAnnotation>, alone: bool) {
    match layer {
        Layer::Points { at, colour } => points(at, colour, plots, alone),
        Layer::Faint { at, name } => plots.push(
            ScatterPlot::new()
                .with_data(at.clone())
                .with_color(FAINT)
                .with_size(size(at.len(), alone))
                .with_legend(label(name))
                .into(),
        ),
        Layer::Density { at } => plots.push(
            HexbinPlot::new()
                .with_data(at.iter().map(|p| p.0), at.iter().map(|p| p.1))
                .with_n_bins(60)
                .with_color_map(numbers())
                .with_log_color(true)
                .with_colorbar_label("points")
                .into(),
        ),
        Layer::Bars { names, heights, errors, name } => {
            let mut bars = BarPlot::new().with_color(PALETTE[4]).with_error_color(INK);
            for (name, height) in names.iter().zip(heights) {
                bars = bars.with_bar(label(name), *height);
            }
            plots.push(bars.with_asymmetric_error(errors.clone()).with_legend(vec![name.as_str()]).into());
        }
        Layer::Line { at, name } => {
            plots.push(LinePlot::new().with_data(at.clone()).with_color(PALETTE[5]).with_stroke_width(2.0).into());
            plots.push(
                ScatterPlot::new()
                    .with_data(at.clone())
                    .with_color(PALETTE[5])
                    .with_size(4.0)
                    .with_legend(label(name))
                    .into(),
            );
        }
        Layer::Links(links) => {
            for link in links {
                plots.push(LinePlot::new().with_data(link.to_vec()).with_color(FAINT).with_stroke_width(0.7).into());
            }
        }
        Layer::Arrows(arrows) => {
            for ((x, y), _) in arrows {
                let line = LinePlot::new().with_data(vec![(0.0, 0.0), (*x, *y)]).with_color(INK).with_stroke_width(1.6);
                plots.push(line.into());
                plots.push(ScatterPlot::new().with_data(vec![(*x, *y)]).with_color(INK).with_size(4.0).into());
            }
            for ((x, y), name) in apart(arrows, bounds) {
                notes.push(TextAnnotation::new(label(name), x, y).with_color(INK).with_font_size(13));
            }
        }
        Layer::Matrix { rows, signed, points, .. } => {
            let map = if *signed { zero_is_white(rows.iter().flatten().copied()) } else { numbers() };
            plots.push(
                Heatmap::new()
                    .with_data(rows.clone())
                    .with_x_range(0.0, *points as f64)
                    .with_y_range(0.0, *points as f64)
                    .with_color_map(map)
                    .with_cell_size(1.02)
                    .into(),
            );
        }
        Layer::Field { x, y, values } => {
            let field = ContourPlot::new()
                .with_grid(values.clone(), x.clone(), y.clone())
                .with_levels(&levels(values))
                .with_colormap(zero_is_white(values.iter().flatten().copied()))
                .with_line_width(0.6);
            plots.push(field.clone().with_filled().into());
            plots.push(field.with_line_color("#777777").into());
        }
    }
}

/// The smallest and largest place on each axis.
type Bounds = ((f64, f64), (f64, f64));

/// Positions of the names of arrows: a little beyond the tips, and moved up until none covers another.
fn apart(arrows: &[((f64, f64), String)], ((left, right), (bottom, top)): Bounds) -> Vec<((f64, f64), &String)> {
    let (across, up) = (right - left, top - bottom);
    let line = 0.055 * up;
    let mut names: Vec<((f64, f64), &String)> = arrows
        .iter()
        .map(|((x, y), name)| {
            // The text is centred at its position, so it is moved sideways by half its length.
            let half = 0.0085 * name.chars().count() as f64 * across;
            let side = x.signum() * half * (x.abs() / across / (x.abs() / across + y.abs() / up + 1e-9));
            ((x * 1.03 + side, y * 1.03 + y.signum() * 0.6 * line), name)
        })
        .collect();
    names.sort_by(|a, b| a.0.1.total_cmp(&b.0.1));
    for i in 1..names.len() {
        for j in 0..i {
            let width = 0.0085 * across * (names[i].1.chars().count() + names[j].1.chars().count()) as f64;
            if (names[i].0.0 - names[j].0.0).abs() < width && names[i].0.1 - names[j].0.1 < line {
                names[i].0.1 = names[j].0.1 + line;
            }
        }
    }
    names
}

/// The size of a mark: many points are drawn small.
fn size(n: usize, alone: bool) -> f64 {
    let size = match n {
        0..=500 => 4.0,
        501..=3000 => 3.0,
        _ => 2.0,
    };
    if alone { size } else { size * 0.6 }
}

fn points(at: &[(f64, f64)], colour: &Colour, plots: &mut Vec<Plot>, alone: bool) {
    let size = size(at.len(), alone);
    let scatter = || ScatterPlot::new().with_size(size);
    match colour {
        Colour::None => {
            plots.push(scatter().with_data(at.to_vec()).with_color(if alone { PALETTE[0] } else { INK }).into())
        }
        Colour::Classes { of, names, .. } => {
            for (class, name) in names.iter().enumerate() {
                let members: Vec<_> = at.iter().zip(of).filter(|(_, c)| **c == class).map(|(p, _)| *p).collect();
                let plot = scatter()
                    .with_data(members)
                    .with_color(PALETTE[class % PALETTE.len()])
                    .with_marker(MARKS[class / PALETTE.len() % MARKS.len()]);
                // Small panels have no room for a legend each.
                plots.push(if alone { plot.with_legend(label(name)) } else { plot }.into());
            }
        }
        Colour::Number { name, values } => {
            let (low, high) = range(values.iter().copied());
            let tint = |v: f64| if v.is_finite() { hex(ramp((v - low) / (high - low))) } else { FAINT.to_string() };
            let plot = scatter().with_data(at.to_vec()).with_colors(values.iter().map(|v| tint(*v)));
            plots.push(plot.into());
            // The library has no colour bar for points: the legend names its ends and its middle.
            for share in [1.0, 0.5, 0.0] {
                let value = low + share * (high - low);
                let text = format!("{name} {}", crate::text::short(value));
                plots.push(
                    scatter()
                        .with_data(Vec::<(f64, f64)>::new())
                        .with_color(hex(ramp(share)))
                        .with_legend(label(&text))
                        .into(),
                );
            }
        }
    }
}

fn numbers() -> ColorMap {
    ColorMap::Custom(std::sync::Arc::new(|share| hex(ramp(share))))
}

/// Colours for values of both signs, zero being white: the library maps the smallest to 0 and the largest to 1.
fn zero_is_white(values: impl Iterator<Item = f64> + Clone) -> ColorMap {
    let (low, high) = range(values);
    let most = low.abs().max(high.abs()).max(f64::MIN_POSITIVE);
    ColorMap::Custom(std::sync::Arc::new(move |share| hex(signed((low + share * (high - low)) / most))))
}

/// Levels that include zero, evenly spread over the values.
fn levels(values: &[Vec<f64>]) -> Vec<f64> {
    let (low, high) = range(values.iter().flatten().copied());
    let step = (high - low) / BANDS as f64;
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    (first..=last).map(|i| i as f64 * step).collect()
}
