//! The input of `plot` and `report`: a model, scores, or data that a model is fitted to.

use mercer::{AnyModel, Exec, Points};
use mercer_io::{Column, SavedModel, Table, load_model};
use mercer_view::{Colour, Subject, component};

use crate::args::{DataArgs, ModelArgs, RunArgs, ShownArgs};
use crate::input::{self, Input, class_column, exec};
use crate::output::{Failure, Result};
use crate::rows::source_of;
use crate::spec::spec;

/// What there is to draw; a model file of PCA has no points, and a table of scores has no model.
pub(crate) struct PlotInput {
    pub(crate) source: String,
    /// The points, with the columns that go along with them.
    pub(crate) points: Option<Points<f64>>,
    pub(crate) columns: Vec<String>,
    pub(crate) model: Option<AnyModel>,
    pub(crate) scores: Option<Points<f64>>,
    pub(crate) colour: Colour,
    pub(crate) notes: Vec<String>,
    /// The plan of the fit, where there was one.
    pub(crate) plan: String,
}

impl PlotInput {
    pub(crate) fn new(args: &ShownArgs, run: &RunArgs) -> Result<Self> {
        let exec = exec(run);
        if args.input.ends_with(".safetensors") {
            return PlotInput::of_model(args, run, &exec);
        }
        if let Some(data) = &args.data {
            return Err(Failure::Usage(format!(
                "{}: only a model file (.mercer.safetensors) takes data after it, here '{data}'",
                args.input
            )));
        }
        let data = DataArgs { data: vec![args.input.clone()], read: args.read.clone() };
        let (table, mut kept) = input::read(&data, run)?;
        let table = with_by(args, table, &mut kept)?;
        if has_scores(&table) && !asks_for_fit(&args.model) {
            return PlotInput::of_scores(args, &data, table);
        }
        let choice = input::kernel(&args.model.kernel)?;
        let data_in = input::split(&data, table, &kept, None)?;
        let spec = spec(&args.model, choice, data_in.points.d(), run)?;
        let plan = spec.plan(&source_of(&spec, &data_in.points), &exec).map_err(|e| data_in.about(e))?;
        let text = plan.to_string();
        let fitted = spec.run(plan, source_of(&spec, &data_in.points), &exec);
        let model = fitted.map_err(|e| data_in.about(e))?.model;
        let scores = model.fitted_scores(&data_in.points, &exec).map_err(|e| data_in.about(e))?;
        let colour = colour(args, &data_in, &data)?;
        let notes = [data_in.notes(), input::hints(&data_in, args.model.scale)].concat();
        let Input { source, points, columns, .. } = data_in;
        Ok(PlotInput {
            source,
            points: Some(points),
            columns,
            model: Some(model),
            scores: Some(scores),
            colour,
            notes,
            plan: text,
        })
    }

    fn of_model(args: &ShownArgs, run: &RunArgs, exec: &Exec) -> Result<Self> {
        if asks_for_fit(&args.model) {
            return Err(Failure::Usage(format!("{}: is already fitted; options of a model are for data", args.input)));
        }
        let saved = load_model(&args.input)?;
        let Some(data) = &args.data else {
            if args.by.is_some() {
                return Err(Failure::Usage("--by names a column of the data: give the data after the model".into()));
            }
            let (points, scores) = match &saved.model {
                AnyModel::KernelPca(m) => (m.points(), Some(m.scores())),
                _ => (None, None),
            };
            let SavedModel { model, columns, .. } = saved;
            let (source, notes) = (args.input.clone(), Vec::new());
            let (colour, plan) = (Colour::None, String::new());
            return Ok(PlotInput { source, points, columns, model: Some(model), scores, colour, notes, plan });
        };
        let data = DataArgs { data: vec![data.clone()], read: args.read.clone() };
        let (table, mut kept) = input::read(&data, run)?;
        let table = with_by(args, table, &mut kept)?;
        let wanted = (saved.columns.as_slice(), saved.model.column_means());
        let data_in = input::split(&data, table, &kept, Some(wanted))?;
        let scores = saved.model.transform(&data_in.points, exec).map_err(|e| data_in.about(e))?;
        let colour = colour(args, &data_in, &data)?;
        let SavedModel { model, columns, .. } = saved;
        let notes = data_in.notes();
        let Input { source, points, .. } = data_in;
        let (model, scores, plan) = (Some(model), Some(scores), String::new());
        Ok(PlotInput { source, points: Some(points), columns, model, scores, colour, notes, plan })
    }

    /// Columns PC1, PC2, ... are the scores; the others are labels.
    fn of_scores(args: &ShownArgs, data: &DataArgs, table: Table) -> Result<Self> {
        let names: Vec<String> =
            (0..).map(component).take_while(|name| table.column(name).is_ok_and(|c| c.is_numeric())).collect();
        let kept: Vec<String> = table.names().iter().map(|n| n.to_string()).filter(|n| !names.contains(n)).collect();
        let mut read = data.read.clone();
        read.select = None;
        let data_in = input::split(&DataArgs { data: data.data.clone(), read }, table, &kept, None)?;
        let colour = colour(args, &data_in, data)?;
        let mut notes = data_in.notes();
        notes.extend(input::foreign_note(&args.input));
        let Input { source, points, .. } = data_in;
        let (columns, plan) = (names, String::new());
        Ok(PlotInput { source, points: None, columns, model: None, scores: Some(points), colour, notes, plan })
    }

    /// What there is to draw.
    pub(crate) fn subject(&self) -> Subject<'_> {
        Subject {
            source: &self.source,
            columns: &self.columns,
            points: self.points.as_ref(),
            model: self.model.as_ref(),
            scores: self.scores.as_ref(),
            colour: &self.colour,
        }
    }
}

fn has_scores(table: &Table) -> bool {
    table.column("PC1").is_ok_and(|c| c.is_numeric())
}

fn asks_for_fit(args: &ModelArgs) -> bool {
    args.kernel.kernel.is_some() || args.embed.is_some() || args.components.is_some() || args.scale || args.no_center
}

/// The name under which the column of --by goes along with the rows, whatever else is done with it.
const BY: &str = " by";

/// A copy of the column of --by, as text, so that it is kept.
fn with_by(args: &ShownArgs, mut table: Table, kept: &mut Vec<String>) -> Result<Table> {
    if let Some(by) = &args.by {
        let column = table.column(by)?;
        let copy = Column::text(BY, (0..column.len()).map(|i| column.as_text(i)).collect());
        let (source, notes) = (table.source.clone(), std::mem::take(&mut table.notes));
        table.columns.push(copy);
        table = Table::new(source, table.columns)?;
        table.notes = notes;
        kept.push(BY.into());
    }
    Ok(table)
}

/// What the colours mean: the column of --by, or the labels, where there are any that few colours can show.
fn colour(args: &ShownArgs, input: &Input, data: &DataArgs) -> Result<Colour> {
    let Some(by) = &args.by else {
        let label = class_column(input, data).filter(|c| c.name != BY);
        return Ok(label.map_or(Colour::None, Colour::of));
    };
    let copy = input.kept.column(BY)?;
    let named = Column { name: by.clone(), values: copy.values.clone() };
    match Colour::of(&named) {
        Colour::None => Err(Failure::Error {
            message: format!("{}: column '{by}' has too many different values for colours", input.source),
            help: Some("name a column of classes or of numbers with --by".into()),
        }),
        colour => Ok(colour),
    }
}
