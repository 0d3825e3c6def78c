//! The share of the variance that each component explains, with bounds on the numerical error.

use mercer::{Certificate, Spectrum};

use crate::figure::{Figure, Layer, Panel};
use crate::kinds::{AxesOf, PlotKind, Unavailable, some_components};
use crate::text::component;

pub(super) static KIND: PlotKind = PlotKind {
    name: "scree",
    title: "Scree plot",
    about: "Share of the variance of each component, with error bars of the certificate",
    needs: "a model",
    axes: AxesOf::Fixed,
    prepare: |subject, look| {
        let model = subject.model()?;
        let parts = model.spectrum().zip(model.certificate());
        let (spectrum, certificate) = parts.ok_or(Unavailable::NoSpectrum)?;
        some_components(spectrum.eigenvalues().len())?;
        Ok(Box::new(move |_| Ok(scree(&look.title, spectrum, certificate))))
    },
};

/// More components than this are too many bars.
const MOST_BARS: usize = 30;

/// Shares in percent as bars, their running sum as a line, and the certificate's enclosures as error bars.
fn scree(title: &str, spectrum: &Spectrum, certificate: &Certificate) -> Figure {
    let shown = spectrum.eigenvalues().len().min(MOST_BARS);
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
    let mut note = format!("error bars: bounds on the numerical error, at most {worst:.0e} percentage points");
    if spectrum.eigenvalues().len() > shown {
        note += &format!("; the first {shown} of {} components", spectrum.eigenvalues().len());
    }
    let names: Vec<String> = (0..shown).map(component).collect();
    let layers = vec![
        Layer::Bars { names, heights, errors, name: "explained".into() },
        Layer::Line { at: cumulative, name: "cumulative".into() },
    ];
    let axes = ("component".into(), "share of the variance, %".into());
    Figure {
        title: title.into(),
        note,
        panels: vec![Panel { axes, layers, ..Panel::default() }],
        across: 1,
        compact: false,
    }
}
