//! The kinds of plots, one file each. A new kind is a new file, named here twice: as a module and in [`PLOT_KINDS`].

mod contours;
mod kernel;
mod loadings;
mod reconstruction;
mod scores;
mod scree;

use mercer::{AnyModel, Exec, Points};

use crate::colour::Colour;
use crate::figure::Figure;

pub use contours::Grid;
pub use scores::scores;

/// Every kind, in the order in which the report shows them. The command, the page and the report all read this table.
pub static PLOT_KINDS: &[&PlotKind] =
    &[&scores::KIND, &scree::KIND, &loadings::KIND, &kernel::KIND, &contours::KIND, &reconstruction::KIND];

/// A kind of plot: its names, and how it is drawn.
#[derive(Debug)]
pub struct PlotKind {
    /// The name in a command and in an address.
    pub name: &'static str,
    /// The heading over the plot.
    pub title: &'static str,
    /// One line of help.
    pub about: &'static str,
    /// What it needs, in words for the help; `prepare` is what checks it.
    pub needs: &'static str,
    /// What its axes are, where they can be chosen.
    pub axes: AxesOf,
    /// Checks what is at hand, and returns the work that remains. Preconditions stand here and nowhere else.
    prepare: for<'a> fn(Subject<'a>, &'a Look) -> Result<Drawing<'a>, Unavailable>,
}

/// The work that remains once the preconditions of a kind hold.
type Drawing<'a> = Box<dyn FnOnce(&Exec) -> mercer::Result<Figure> + 'a>;

impl PlotKind {
    /// Returns the kind of this name.
    pub fn named(name: &str) -> Option<&'static PlotKind> {
        PLOT_KINDS.iter().find(|kind| kind.name == name).copied()
    }

    /// Checks, without drawing, whether this kind can be drawn.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn check(&self, subject: Subject<'_>, look: &Look) -> Result<(), Unavailable> {
        (self.prepare)(subject, look).map(drop)
    }

    /// Draws this kind.
    ///
    /// # Errors
    /// Why it cannot be drawn, or [`Unavailable::Failed`] when the work fails or is cancelled.
    pub fn draw(&self, subject: Subject<'_>, look: &Look, exec: &Exec) -> Result<Figure, Unavailable> {
        Ok((self.prepare)(subject, look)?(exec)?)
    }
}

/// What the two axes of a plot are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AxesOf {
    /// Two components.
    Components,
    /// Two columns of the data.
    Columns,
    /// They cannot be chosen.
    Fixed,
}

/// Two components or two columns, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axes {
    /// The horizontal one.
    pub x: usize,
    /// The vertical one.
    pub y: usize,
}

impl Default for Axes {
    fn default() -> Self {
        Axes { x: 0, y: 1 }
    }
}

/// How a plot is drawn.
#[derive(Clone, Debug, Default)]
pub struct Look {
    /// The title.
    pub title: String,
    /// The axes; the kind's usual ones without.
    pub axes: Option<Axes>,
    /// Whether the density is drawn in place of the points; by their number without.
    pub density: Option<bool>,
}

impl Look {
    /// Returns the usual look under this title.
    pub fn titled(title: impl Into<String>) -> Self {
        Look { title: title.into(), ..Look::default() }
    }
}

/// What is at hand to draw. A model file of PCA has no points, and a table of scores has no model.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The name of the data.
    pub source: &'a str,
    /// Names of the columns of the points.
    pub columns: &'a [String],
    /// The points.
    pub points: Option<&'a Points<f64>>,
    /// The model.
    pub model: Option<&'a AnyModel>,
    /// The scores of the points.
    pub scores: Option<&'a Points<f64>>,
    /// What the colours of the points mean.
    pub colour: &'a Colour,
}

impl<'a> Subject<'a> {
    /// Returns the title of a plot that stands alone.
    pub fn title(&self) -> String {
        match self.model {
            Some(model) => format!("{}: {}", self.source, crate::text::title(model)),
            None => self.source.to_string(),
        }
    }

    /// Returns the model.
    ///
    /// # Errors
    /// [`Unavailable::NoModel`].
    pub fn model(&self) -> Result<&'a AnyModel, Unavailable> {
        self.model.ok_or(Unavailable::NoModel)
    }

    /// Returns the points.
    ///
    /// # Errors
    /// [`Unavailable::NoPoints`].
    pub fn points(&self) -> Result<&'a Points<f64>, Unavailable> {
        self.points.ok_or(Unavailable::NoPoints)
    }

    /// Returns the scores.
    ///
    /// # Errors
    /// [`Unavailable::NoPoints`] without scores, [`Unavailable::NoComponents`] where they have no column.
    pub fn scores(&self) -> Result<&'a Points<f64>, Unavailable> {
        let scores = self.scores.ok_or(Unavailable::NoPoints)?;
        some_components(scores.d())?;
        Ok(scores)
    }
}

/// Why a plot of this kind cannot be drawn. The command and the page put it into words.
#[derive(Debug)]
#[non_exhaustive]
pub enum Unavailable {
    /// There are scores only.
    NoModel,
    /// There is a model without its points.
    NoPoints,
    /// No component has variance.
    NoComponents,
    /// The model is a feature map, which has no eigenvalues.
    NoSpectrum,
    /// The model has a kernel; loadings exist for linear models only.
    NotLinear,
    /// The model is linear.
    NoKernel,
    /// The model was fitted to a Gram matrix, and cannot be evaluated at points.
    GivenGramMatrix,
    /// The model has neither reconstructions nor pre-images.
    NoReconstruction,
    /// The data has too few columns.
    TooFewColumns {
        /// Columns of the data.
        found: usize,
        /// Columns that are needed at least.
        least: usize,
    },
    /// The data has too many columns.
    TooManyColumns {
        /// Columns of the data.
        found: usize,
        /// Columns that can be drawn at most.
        most: usize,
    },
    /// An axis is none of the components or columns.
    NoSuchAxis {
        /// What the axes are.
        of: AxesOf,
        /// How many components or columns there are.
        count: usize,
    },
    /// Drawing failed, or was cancelled.
    Failed(mercer::Error),
}

impl From<mercer::Error> for Unavailable {
    fn from(e: mercer::Error) -> Self {
        Unavailable::Failed(e)
    }
}

/// Checks that there are components.
fn some_components(count: usize) -> Result<(), Unavailable> {
    if count == 0 { Err(Unavailable::NoComponents) } else { Ok(()) }
}

/// The axes that are asked for, or the first two. A single component needs no second axis.
fn components(look: &Look, count: usize) -> Result<Axes, Unavailable> {
    let axes = look.axes.unwrap_or_default();
    let single = count == 1 && axes == Axes::default();
    if single || axes.x.max(axes.y) < count {
        Ok(axes)
    } else {
        Err(Unavailable::NoSuchAxis { of: AxesOf::Components, count })
    }
}
