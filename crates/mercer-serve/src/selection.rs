//! The part of a table that is fitted: some of its columns, without missing values.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use mercer::{Pca, PcaModel, Points};
use mercer_io::{Column, Table};
use mercer_view::{Colour, LabelAgreement};

use crate::data::{Data, MissingChoice, texts};
use crate::error::{Refusal, Result};
use crate::request::DataChoice;
use crate::state::locked;

/// Chosen columns of a table as points. It is built once and shared by all fits of the same choice: a slider moves a
/// parameter of the kernel, and none of this.
pub(crate) struct Selection {
    /// A number by which the page knows that points and colours have not changed.
    pub(crate) id: usize,
    pub(crate) data: Arc<Data>,
    /// Names of the columns of the points.
    pub(crate) columns: Vec<String>,
    pub(crate) choice: DataChoice,
    pub(crate) points: Points<f64>,
    /// All columns of the table, row by row with the points, where rows were dropped.
    kept: Option<Table>,
    pub(crate) colour: Colour,
    /// Notes about the table and its missing values.
    pub(crate) notes: Vec<String>,
    /// The last PCA of these points.
    pca: Mutex<Option<(Pca, Arc<PcaResult>)>>,
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
    /// Builds the points of a choice of data.
    pub(crate) fn new(id: usize, data: Arc<Data>, choice: DataChoice) -> Result<Self> {
        let columns = choice.columns(&data);
        let chosen = found(&data.table, &columns)?;
        let mut table = Table::new(&data.name, chosen.into_iter().cloned().collect())?;
        let mut kept = match choice.missing {
            MissingChoice::Drop => Some(Table::new(&data.name, data.table.columns.clone())?),
            MissingChoice::Error | MissingChoice::Mean => None,
        };
        let mut nothing = Table::new(&data.name, Vec::new())?;
        let mut notes = texts(&data.table.notes);
        let handled = table.resolve_missing(choice.missing.into(), kept.as_mut().unwrap_or(&mut nothing))?;
        notes.extend(handled.map(|note| note.to_string()));
        let points = table.points()?;
        let colour = match &choice.label {
            Some(label) => Colour::of(kept.as_ref().unwrap_or(&data.table).column(label)?),
            None => Colour::None,
        };
        let pca = Mutex::default();
        Ok(Selection { id, data, columns, choice, points, kept, colour, notes, pca })
    }

    /// Whether these are the points and the colours of a choice.
    pub(crate) fn is_of(&self, choice: &DataChoice) -> bool {
        self.data.id == choice.table
            && self.choice.missing == choice.missing
            && self.choice.label == choice.label
            && self.columns == choice.columns(&self.data)
    }

    /// Returns PCA of these points: the last one where it is the same, or a new one.
    pub(crate) fn pca(&self, pca: Pca, fit: impl FnOnce(&Pca) -> Result<PcaResult>) -> Result<Arc<PcaResult>> {
        if let Some((last, found)) = &*locked(&self.pca)
            && *last == pca
        {
            return Ok(Arc::clone(found));
        }
        let fitted = Arc::new(fit(&pca)?);
        *locked(&self.pca) = Some((pca, Arc::clone(&fitted)));
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

/// Finds numeric columns by name. Nothing is copied before every name is known to be right: a request of a megabyte can
/// name one column two hundred thousand times. The names are looked up in a map because a table may have a million columns.
fn found<'a>(table: &'a Table, names: &[String]) -> Result<Vec<&'a Column>> {
    let help = "choose at least one numeric column, and each at most once";
    if names.is_empty() {
        return Err(Refusal::bad("no column is chosen", help));
    }
    if names.len() > table.columns.len() {
        let what = format!("{} columns are chosen, but the table has {}", names.len(), table.columns.len());
        return Err(Refusal::bad(what, help));
    }
    let mut unused: HashMap<&str, &Column> = table.columns.iter().map(|c| (c.name.as_str(), c)).collect();
    let one = |name: &String| match unused.remove(name.as_str()) {
        Some(column) if column.is_numeric() => Ok(column),
        Some(_) => {
            let help = "choose numeric columns; a text column can be the label";
            Err(Refusal::bad(format!("column '{name}' is text"), help))
        }
        None => {
            table.position(name)?;
            Err(Refusal::bad(format!("column '{name}' is chosen more than once"), help))
        }
    };
    names.iter().map(one).collect()
}
