//! Plots of fitted models, and the report.
//!
//! A plot is first data ([`Figure`]): panels of layers, in the units of what is shown. The kinds of plots stand in one table
//! ([`PLOT_KINDS`]); [`PlotKind::draw`] makes a figure of what is at hand ([`Subject`]), or says why it cannot
//! ([`Unavailable`]). [`Figure::file`] draws it as SVG, PNG or PDF, and [`Figure::terminal`] in characters. [`Report`] puts
//! all kinds that can be drawn into one page.

mod agreement;
mod colour;
mod draw;
mod figure;
mod kinds;
mod report;
mod tables;
mod terminal;
mod text;

pub use agreement::{LabelAgreement, agreement};
pub use colour::{Colour, PALETTE, ramp, range};
pub use draw::ImageFormat;
pub use figure::{Figure, Layer, Panel};
pub use kinds::{Axes, AxesOf, Grid, Look, PLOT_KINDS, PlotKind, Subject, Unavailable, scores};
pub use report::{Report, ReportedFit};
pub use tables::{eigenvalue_table, standardised};
pub use text::{
    component, count, describe, describe_kernel, describe_pca, describe_spec, eigenvalue_meaning, percent, plural,
    printable, rounded, shell, short, shown_eigenvalues, title,
};
