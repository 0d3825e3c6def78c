//! The part of a table that is fitted: some of its columns, without missing values.

use std::sync::{Arc, Mutex};

use mercer::{PcaModel, Points};
use mercer_io::Table;
use mercer_view::{Colour, LabelAgreement};

use crate::data::{Data, MissingChoice, texts};
use crate::error::{Refusal, Result};
use crate::recipe::Recipe;
use crate::state::locked;

/// Chosen columns of a table as points. It is built once and shared by all fits of the same choice: a slider moves a
/// parameter of the kernel, and none of this.
pub(crate) struct Selection {
    /// A number by which the page knows that points and colours have not changed.
    pub(crate) id: usize,
    pub(crate) data: Arc<Data>,
    /// Names of the columns of the points.
    pub(crate) columns: Vec<String>,
    label: Option<String>,
    missing: MissingChoice,
    pub(crate) points: Points<f64>,
    /// All columns of the table, row by row with the points, where rows were dropped.
    kept: Option<Table>,
    pub(crate) colour: Colour,
    /// Notes about the table and its missing values.
    pub(crate) notes: Vec<String>,
    /// The last PCA of these points, and what it was asked for with.
    pca: Mutex<Option<(String, Arc<PcaResult>)>>,
}

/// PCA of a selection. A kernel does not change it, so it is fitted once while a slider moves.
pub(crate) struct PcaResult {
    /// A number by which the page knows that it has not changed.
    pub(crate) id: usize,
    pub(crate) model: PcaModel,
    pub(crate) scores: Points<f64>,
    pub(crate) agreement: Option<LabelAgreement>,
}

impl Selection {
    /// Builds the points that a recipe asks for.
    pub(crate) fn new(id: usize, data: Arc<Data>, recipe: &Recipe) -> Result<Self> {
        let columns = recipe.columns(&data);
        let mut chosen = Vec::with_capacity(columns.len());
        for name in &columns {
            let column = data.table.column(name)?;
            if !column.is_numeric() {
                let help = "choose numeric columns; a text column can be the label";
                return Err(Refusal::bad(format!("column '{name}' is text"), help));
            }
            chosen.push(column.clone());
        }
        if chosen.is_empty() {
            return Err(Refusal::bad("no column is chosen", "choose at least one numeric column"));
        }
        let mut table = Table::new(&data.name, chosen)?;
        let mut kept = match recipe.missing {
            MissingChoice::Drop => Some(Table::new(&data.name, data.table.columns.clone())?),
            MissingChoice::Error | MissingChoice::Mean => None,
        };
        let mut nothing = Table::new(&data.name, Vec::new())?;
        let mut notes = texts(&data.table.notes);
        let handled = table.resolve_missing(recipe.missing.into(), kept.as_mut().unwrap_or(&mut nothing))?;
        notes.extend(handled.map(|note| note.to_string()));
        let points = table.points()?;
        let colour = match &recipe.label {
            Some(label) => Colour::of(kept.as_ref().unwrap_or(&data.table).column(label)?),
            None => Colour::None,
        };
        let (label, missing) = (recipe.label.clone(), recipe.missing);
        let pca = Mutex::default();
        Ok(Selection { id, data, columns, label, missing, points, kept, colour, notes, pca })
    }

    /// Whether a recipe asks for these points and these colours.
    pub(crate) fn is_of(&self, recipe: &Recipe) -> bool {
        self.data.id == recipe.data
            && self.missing == recipe.missing
            && self.label == recipe.label
            && self.columns == recipe.columns(&self.data)
    }

    /// Returns PCA of these points as a recipe asks for it: the last one where it is the same, or a new one.
    pub(crate) fn pca(&self, recipe: &Recipe, fit: impl FnOnce() -> Result<PcaResult>) -> Result<Arc<PcaResult>> {
        let key = recipe.without_kernel();
        if let Some((last, found)) = &*locked(&self.pca)
            && *last == key
        {
            return Ok(Arc::clone(found));
        }
        let fitted = Arc::new(fit()?);
        *locked(&self.pca) = Some((key, Arc::clone(&fitted)));
        Ok(fitted)
    }

    /// Returns all columns of the table, row by row with the points.
    pub(crate) fn table(&self) -> &Table {
        self.kept.as_ref().unwrap_or(&self.data.table)
    }

    /// Returns about how much memory it takes.
    pub(crate) fn bytes(&self) -> u64 {
        let kept = self.kept.as_ref().map_or(0, |t| t.rows() * t.columns.len() * 2);
        8 * (self.points.as_slice().len() + kept) as u64
    }
}
