//! The share of the variance that each component explains, with how far it can be from the truth.

use mercer::AnyModel;

use crate::figure::{Figure, Layer, Panel};
use crate::text::component;

/// More components than this are too many bars.
const MOST_BARS: usize = 30;

/// Shares in percent as bars, their running sum as a line, and the certificate's enclosures as error bars; `None` for a
/// model without a spectrum or without components.
pub fn scree(title: &str, model: &AnyModel) -> Option<Figure> {
    let (spectrum, certificate) = (model.spectrum()?, model.certificate()?);
    let shown = spectrum.eigenvalues().len().min(MOST_BARS);
    if shown == 0 {
        return None;
    }
    let scale = if spectrum.total() > 0.0 { 100.0 / spectrum.total() } else { 0.0 };
    let heights: Vec<f64> = spectrum.eigenvalues()[..shown].iter().map(|v| v * scale).collect();
    let errors: Vec<(f64, f64)> = (0..shown)
        .map(|j| {
            let (below, above) = certificate.enclosure(j);
            ((below * scale).min(heights[j]), (above * scale).min(100.0 - heights[j].min(100.0)))
        })
        .collect();
    let sums = spectrum.cumulative();
    let cumulative = (0..shown).map(|j| (j as f64 + 1.0, 100.0 * sums[j])).collect();
    let worst = errors.iter().fold(0.0f64, |w, (a, b)| w.max(*a).max(*b));
    let mut note = format!("error bars: how far a share can be from the truth, at most {worst:.0e} percentage points");
    if spectrum.eigenvalues().len() > shown {
        note += &format!("; the first {shown} of {} components", spectrum.eigenvalues().len());
    }
    let names: Vec<String> = (0..shown).map(component).collect();
    let layers = vec![
        Layer::Bars { names, heights, errors, name: "explained".into() },
        Layer::Line { at: cumulative, name: "cumulative".into() },
    ];
    let axes = ("component".into(), "share of the variance, %".into());
    Some(Figure {
        title: title.into(),
        note,
        panels: vec![Panel { axes, layers, ..Panel::default() }],
        across: 1,
        compact: false,
    })
}
