//! What people look at: pictures of fitted models, and the report.
//!
//! A picture is first data ([`Figure`]): panels of layers, in the units of what is shown. The functions named after the
//! kinds ([`scores`], [`scree`], [`loadings`], [`gram`], [`contours`], [`reconstruction`]) make it; [`Figure::file`] draws
//! it as SVG, PNG or PDF, and [`Figure::terminal`] in characters. [`Report`] puts several into one page.

mod agreement;
mod colour;
mod contours;
mod draw;
mod figure;
mod gram;
mod loadings;
mod reconstruction;
mod report;
mod scores;
mod scree;
mod tables;
mod terminal;
mod text;

pub use agreement::{Agreed, agreement};
pub use colour::{Colour, PALETTE, ramp, range};
pub use contours::{Grid, contours, on_points};
pub use draw::ImageFormat;
pub use figure::{Figure, Layer, Panel};
pub use gram::gram;
pub use loadings::loadings;
pub use reconstruction::{Reconstruction, reconstruction, widest};
pub use report::{Fitted, Report};
pub use scores::{Axes, scores};
pub use scree::scree;
pub use tables::{eigenvalue_table, standardised};
pub use text::{
    component, count, describe, describe_kernel, describe_pca, eigenvalue_meaning, percent, plural, rounded, shell,
    short, shown_eigenvalues, title,
};
