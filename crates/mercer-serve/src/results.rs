//! What the page reads from a result: scores and colours as bytes, rows, contours, pre-images, files.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use mercer::{AnyModel, Embedding, Exec};
use mercer_io::{Column, Format, SavedModel, Table, write_table};
use mercer_view::{Axes, Colour, Grid, ImageFormat, PlotKind, Report, component};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::{Refusal, Result};
use crate::fit::base;
use crate::plots;
use crate::selection::Selection;
use crate::state::{App, FitResult};
use crate::texts::Texts;

/// Rows that are sent at most.
const MOST_ROWS: usize = 500;
/// Columns of a row that are sent at most.
const MOST_COLUMNS: usize = 200;
/// Grid points along each axis.
const GRID: usize = 72;

#[derive(Deserialize)]
pub(crate) struct ColumnsQuery {
    of: String,
    #[serde(default)]
    x: usize,
    #[serde(default)]
    y: usize,
}

/// Sends two columns, all of x and then all of y: scores as f32, and data, which may lie far from zero, as f64. A single
/// component is shown against the row number.
pub(crate) async fn columns(
    State(app): State<Arc<App>>,
    Path(id): Path<usize>,
    Query(query): Query<ColumnsQuery>,
) -> Result<Response> {
    let result = app.result(id)?;
    let points = match query.of.as_str() {
        "scores" => &result.scores,
        "pca" => &result.pca.scores,
        "data" => &result.selection.points,
        of => return Err(Refusal::bad(format!("of={of} is unknown"), "use scores, pca or data")),
    };
    if query.of == "data" {
        let one = |j: usize| points.rows().map(move |row| row.get(j).copied().unwrap_or(0.0));
        return Ok(bytes(one(query.x).chain(one(query.y)).flat_map(f64::to_le_bytes)));
    }
    let single = points.d() == 1;
    let one = |j: usize| {
        let value = move |(i, row): (usize, &[f64])| row.get(j).copied().unwrap_or(if single { i as f64 } else { 0.0 });
        points.rows().enumerate().map(value).flat_map(|v| (v as f32).to_le_bytes())
    };
    Ok(bytes(one(query.x).chain(one(query.y))))
}

/// Sends the class of each point, or its number scaled to 0 to 1, as f32.
pub(crate) async fn colours(State(app): State<Arc<App>>, Path(id): Path<usize>) -> Result<Response> {
    let result = app.result(id)?;
    Ok(match &result.selection.colour {
        Colour::None => bytes(std::iter::empty()),
        Colour::Classes { of, .. } => bytes(of.iter().flat_map(|c| (*c as f32).to_le_bytes())),
        Colour::Number { values, .. } => {
            let (low, high) = mercer_view::range(values.iter().copied());
            bytes(values.iter().flat_map(|v| (((v - low) / (high - low)) as f32).to_le_bytes()))
        }
    })
}

fn bytes(bytes: impl Iterator<Item = u8>) -> Response {
    let bytes: Vec<u8> = bytes.collect();
    ([(CONTENT_TYPE, "application/octet-stream")], bytes).into_response()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RowsQuery {
    rows: Vec<usize>,
}

/// Sends rows of the table, with their scores.
pub(crate) async fn rows(
    State(app): State<Arc<App>>,
    Path(id): Path<usize>,
    Json(query): Json<RowsQuery>,
) -> Result<Json<Value>> {
    let result = app.result(id)?;
    let shown: Vec<&Column> = result.selection.table().columns.iter().take(MOST_COLUMNS).collect();
    let k = result.scores.d().min(3);
    let names: Vec<String> = (0..k).map(component).chain(shown.iter().map(|c| c.name.clone())).collect();
    let rows: Vec<Value> = query
        .rows
        .iter()
        .filter(|i| **i < result.scores.n())
        .take(MOST_ROWS)
        .map(|&i| {
            let scores = result.scores.row(i)[..k].iter().map(|z| mercer_view::short(*z));
            json!({"row": i, "cells": scores.chain(shown.iter().map(|c| c.as_text(i))).collect::<Vec<_>>()})
        })
        .collect();
    Ok(Json(json!({"names": names, "rows": rows, "of": query.rows.len()})))
}

/// Sends a point with its reconstruction, or with the path to its pre-image.
pub(crate) async fn point(State(app): State<Arc<App>>, Path((id, row)): Path<(usize, usize)>) -> Result<Json<Value>> {
    let result = app.result(id)?;
    if row >= result.scores.n() {
        return Err(Refusal::gone(format!("there is no row {row}"), "choose a point of the plot"));
    }
    let found = app.work(move |exec| {
        let x = result.selection.points.row(row);
        let (name, path, converged): (_, Vec<Vec<f64>>, _) = match &result.model {
            AnyModel::Pca(m) if *m.embedding() == Embedding::Identity => {
                let back = m.reconstruct(mercer::PointsRef::new(result.scores.row(row), 1, m.components())?)?;
                ("reconstruction", vec![x.to_vec(), back.row(0).to_vec()], true)
            }
            AnyModel::KernelPca(m) if m.has_preimages() => {
                let path = m.preimage_path(x, exec)?.rows().map(<[f64]>::to_vec).collect();
                let converged = m.preimages(mercer::PointsRef::new(x, 1, x.len())?, exec)?.converged() == 1;
                ("pre-image", path, converged)
            }
            _ => ("", vec![x.to_vec()], true),
        };
        let steps = path.len() - 1;
        // The path is drawn in the plane of two columns only.
        let ends = || path.first().into_iter().chain(path.last()).cloned().collect();
        let shown: Vec<Vec<f64>> = if x.len() == 2 { path.clone() } else { ends() };
        let cells = result.selection.table().columns.iter().take(MOST_COLUMNS);
        let cells = cells.map(|c| json!({"name": c.name, "value": c.as_text(row)}));
        Ok(json!({
            "row": row, "cells": cells.collect::<Vec<_>>(), "columns": result.selection.columns, "kind": name, "path": shown,
            "steps": steps, "converged": converged, "scores": result.scores.row(row),
        }))
    });
    Ok(Json(found.await?))
}

#[derive(Deserialize)]
pub(crate) struct FieldQuery {
    #[serde(default)]
    component: usize,
}

/// Sends a component on a grid over the plane of two columns.
pub(crate) async fn field(
    State(app): State<Arc<App>>,
    Path(id): Path<usize>,
    Query(query): Query<FieldQuery>,
) -> Result<Json<Value>> {
    let result = app.result(id)?;
    let points = &result.selection.points;
    if points.d() != 2 || query.component >= result.model.components() {
        let what = format!("there are no contours of component {}", query.component + 1);
        return Err(Refusal::bad(what, "contours need data of two columns"));
    }
    let found = app.work(move |exec| {
        let grid = Grid::of(&result.model, &result.selection.points, GRID, exec)?;
        let values: Vec<f32> = grid.scores.rows().map(|row| row[query.component] as f32).collect();
        Ok(
            json!({"x": [grid.x[0], grid.x[GRID - 1]], "y": [grid.y[0], grid.y[GRID - 1]], "size": GRID, "values": values}),
        )
    });
    Ok(Json(found.await?))
}

#[derive(Deserialize)]
pub(crate) struct FileQuery {
    #[serde(default)]
    x: usize,
    #[serde(default = "one")]
    y: usize,
}

fn one() -> usize {
    1
}

/// Sends a file: scores, eigenvalues, model, plots, report.
pub(crate) async fn file(
    State(app): State<Arc<App>>,
    Path((id, name)): Path<(usize, String)>,
    Query(query): Query<FileQuery>,
) -> Result<Response> {
    let result = app.result(id)?;
    let (seed, axes) = (app.seed(), Axes { x: query.x, y: query.y });
    let (bytes, kind, saved_as) = app.work(move |exec| made(&result, &name, axes, seed, exec)).await?;
    let quoted: String =
        saved_as.chars().map(|c| if c.is_ascii_graphic() && c != '"' && c != '\\' { c } else { '_' }).collect();
    Ok(([(CONTENT_TYPE, kind.to_string()), (CONTENT_DISPOSITION, format!("attachment; filename=\"{quoted}\""))], bytes)
        .into_response())
}

fn made(result: &FitResult, name: &str, axes: Axes, seed: u64, exec: &Exec) -> Result<(Vec<u8>, &'static str, String)> {
    let FitResult { spec, selection, model, scores, .. } = result;
    let Selection { data, columns, choice, .. } = &**selection;
    let base = base(&data.name);
    let csv = |table: &Table| write_table(table, Format::CSV);
    Ok(match name {
        "scores.csv" => {
            let scores = Table::of_points(scores, component);
            // As the command writes them: text and label columns before the scores.
            let kept = |c: &&Column| !c.is_numeric() || Some(&c.name) == choice.label.as_ref();
            let columns = selection.table().columns.iter().filter(kept).cloned().chain(scores.columns).collect();
            (csv(&Table::new(&base, columns)?)?, "text/csv", format!("{base}.scores.csv"))
        }
        "eigenvalues.csv" => {
            let table = mercer_view::eigenvalue_table(model)?;
            (csv(&table)?, "text/csv", format!("{base}.eigenvalues.csv"))
        }
        "model" => {
            let (model, spec) = (model.clone(), Some(spec.clone()));
            let saved = SavedModel { model, columns: columns.clone(), front: None, spec };
            (saved.to_bytes()?, "application/octet-stream", format!("{base}.mercer.safetensors"))
        }
        "report.html" => {
            let texts = Texts { spec, selection, found: model.components(), seed };
            let commands = vec![texts.command("report", &format!("{base}.html"))];
            let report =
                Report { fitted: result.fitted(), notes: result.notes.clone(), plan: result.plan.clone(), commands };
            (report.html(exec)?.into_bytes(), "text/html; charset=utf-8", format!("{base}.html"))
        }
        plot => {
            let kind = plot.rsplit_once('.').and_then(|(kind, _)| PlotKind::named(kind));
            let (kind, format) = kind.zip(ImageFormat::of_name(plot)).ok_or_else(|| {
                let help = "use scores.csv, eigenvalues.csv, model, report.html, or a plot such as scores.svg";
                Refusal::gone(format!("a result has no file '{name}'"), help)
            })?;
            let figure = plots::draw(kind, result, axes, exec)?;
            (figure.file(format)?, format.media_type(), format!("{base}.{plot}"))
        }
    })
}
