//! What can be read from a result: scores and colours as bytes, rows, contours, pre-images, files.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use mercer::{AnyModel, Embedding, Exec};
use mercer_io::{Column, Format, SavedModel, Table, write_table};
use mercer_view::{Axes, Colour, Figure, Grid, ImageFormat, Report, component};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::{Refusal, Result};
use crate::fit::base;
use crate::state::{App, Outcome};
use crate::texts::Texts;

/// Rows of a selection that are sent.
const MOST_ROWS: usize = 500;
/// Columns of a row that are sent.
const MOST_COLUMNS: usize = 200;
/// Places of a grid along each axis.
const GRID: usize = 72;

#[derive(Deserialize)]
pub(crate) struct Pair {
    of: String,
    #[serde(default)]
    x: usize,
    #[serde(default)]
    y: usize,
}

/// Two columns, all of x and then all of y: scores and those of PCA as numbers of four bytes, the data, which may lie far
/// from zero, of eight. A single component is shown against the row.
pub(crate) async fn columns(
    State(app): State<Arc<App>>,
    Path(id): Path<usize>,
    Query(pair): Query<Pair>,
) -> Result<Response> {
    let result = app.result(id)?;
    let points = match pair.of.as_str() {
        "scores" => &result.scores,
        "pca" => &result.pca.scores,
        "data" => &result.points,
        _ => return Err(Refusal::bad("of is none of scores, pca, data", "ask for one of them")),
    };
    if pair.of == "data" {
        let one = |j: usize| points.rows().map(move |row| row.get(j).copied().unwrap_or(0.0));
        return Ok(bytes(one(pair.x).chain(one(pair.y)).flat_map(f64::to_le_bytes)));
    }
    let single = points.d() == 1;
    let one = |j: usize| {
        let value = move |(i, row): (usize, &[f64])| row.get(j).copied().unwrap_or(if single { i as f64 } else { 0.0 });
        points.rows().enumerate().map(value).flat_map(|v| (v as f32).to_le_bytes())
    };
    Ok(bytes(one(pair.x).chain(one(pair.y))))
}

/// The class of each point, or where its number lies between the smallest and the largest, as numbers of four bytes.
pub(crate) async fn colours(State(app): State<Arc<App>>, Path(id): Path<usize>) -> Result<Response> {
    let result = app.result(id)?;
    Ok(match &result.colour {
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
pub(crate) struct Which {
    rows: Vec<usize>,
}

/// Rows of the table, with their scores.
pub(crate) async fn rows(
    State(app): State<Arc<App>>,
    Path(id): Path<usize>,
    Json(which): Json<Which>,
) -> Result<Json<Value>> {
    let result = app.result(id)?;
    let shown: Vec<&Column> = result.beside().columns.iter().take(MOST_COLUMNS).collect();
    let k = result.scores.d().min(3);
    let names: Vec<String> = (0..k).map(component).chain(shown.iter().map(|c| c.name.clone())).collect();
    let rows: Vec<Value> = which
        .rows
        .iter()
        .filter(|i| **i < result.points.n())
        .take(MOST_ROWS)
        .map(|&i| {
            let scores = result.scores.row(i)[..k].iter().map(|z| mercer_view::short(*z));
            json!({"row": i, "cells": scores.chain(shown.iter().map(|c| c.as_text(i))).collect::<Vec<_>>()})
        })
        .collect();
    Ok(Json(json!({"names": names, "rows": rows, "of": which.rows.len()})))
}

/// A point and what the components keep of it: its reconstruction, or the way to its pre-image.
pub(crate) async fn point(State(app): State<Arc<App>>, Path((id, row)): Path<(usize, usize)>) -> Result<Json<Value>> {
    let result = app.result(id)?;
    if row >= result.points.n() {
        return Err(Refusal::gone(format!("there is no row {row}"), "choose a point of the picture"));
    }
    let found = app.work(move |exec| {
        let x = result.points.row(row);
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
        // Only in a plane the way is drawn.
        let ends = || path.first().into_iter().chain(path.last()).cloned().collect();
        let shown: Vec<Vec<f64>> = if x.len() == 2 { path.clone() } else { ends() };
        let cells = result.beside().columns.iter().take(MOST_COLUMNS);
        let cells = cells.map(|c| json!({"name": c.name, "value": c.as_text(row)}));
        Ok(json!({
            "row": row, "cells": cells.collect::<Vec<_>>(), "columns": result.columns, "kind": name, "path": shown,
            "steps": steps, "converged": converged, "scores": result.scores.row(row),
        }))
    });
    Ok(Json(found.await?))
}

#[derive(Deserialize)]
pub(crate) struct OneComponent {
    #[serde(default)]
    component: usize,
}

/// A component over the plane of two-dimensional data.
pub(crate) async fn field(
    State(app): State<Arc<App>>,
    Path(id): Path<usize>,
    Query(of): Query<OneComponent>,
) -> Result<Json<Value>> {
    let result = app.result(id)?;
    if result.points.d() != 2 || of.component >= result.model.components() {
        return Err(Refusal::bad("there is no such field", "contours are for data of two columns"));
    }
    let found = app.work(move |exec| {
        let grid = Grid::of(&result.model, &result.points, GRID, exec)?;
        let values: Vec<f32> = grid.scores.rows().map(|row| row[of.component] as f32).collect();
        Ok(
            json!({"x": [grid.x[0], grid.x[GRID - 1]], "y": [grid.y[0], grid.y[GRID - 1]], "size": GRID, "values": values}),
        )
    });
    Ok(Json(found.await?))
}

#[derive(Deserialize)]
pub(crate) struct Look {
    #[serde(default)]
    x: usize,
    #[serde(default = "one")]
    y: usize,
}

fn one() -> usize {
    1
}

/// A file to keep: scores, eigenvalues, model, pictures, report.
pub(crate) async fn file(
    State(app): State<Arc<App>>,
    Path((id, name)): Path<(usize, String)>,
    Query(look): Query<Look>,
) -> Result<Response> {
    let result = app.result(id)?;
    let seed = app.seed();
    let (bytes, kind, saved_as) = app.work(move |exec| made(&result, &name, &look, seed, exec)).await?;
    let quoted: String =
        saved_as.chars().map(|c| if c.is_ascii_graphic() && c != '"' && c != '\\' { c } else { '_' }).collect();
    Ok(([(CONTENT_TYPE, kind.to_string()), (CONTENT_DISPOSITION, format!("attachment; filename=\"{quoted}\""))], bytes)
        .into_response())
}

fn made(result: &Outcome, name: &str, look: &Look, seed: u64, exec: &Exec) -> Result<(Vec<u8>, &'static str, String)> {
    let base = base(&result.data.name);
    let csv = |table: &Table| write_table(table, Format::CSV);
    Ok(match name {
        "scores.csv" => {
            let scores = Table::of_points(&result.scores, component);
            // As the command does it: text and labels beside the scores.
            let kept = result
                .beside()
                .columns
                .iter()
                .filter(|c| !c.is_numeric() || Some(&c.name) == result.recipe.label.as_ref());
            let columns = kept.cloned().chain(scores.columns).collect();
            (csv(&Table::new(&base, columns)?)?, "text/csv", format!("{base}.scores.csv"))
        }
        "eigenvalues.csv" => {
            let table = mercer_view::eigenvalue_table(&result.model)?;
            (csv(&table)?, "text/csv", format!("{base}.eigenvalues.csv"))
        }
        "model" => {
            let saved = SavedModel { model: result.model.clone(), columns: result.columns.clone(), front: None };
            (saved.to_bytes()?, "application/octet-stream", format!("{base}.mercer.safetensors"))
        }
        "report.html" => {
            let Outcome { recipe, data, columns, points, .. } = result;
            let (k, found) = (recipe.count(points.n(), points.d()), result.model.components());
            let texts = Texts { recipe, data, columns, k, found, seed };
            let commands = vec![texts.command("report", &format!("{base}.html"))];
            let report =
                Report { fitted: result.fitted(), notes: result.notes.clone(), plan: result.plan.clone(), commands };
            (report.html(exec)?.into_bytes(), "text/html; charset=utf-8", format!("{base}.html"))
        }
        picture => {
            let (kind, format) = picture.rsplit_once('.').unwrap_or((picture, ""));
            let (format, mime) = match format {
                "svg" => (ImageFormat::Svg, "image/svg+xml"),
                "png" => (ImageFormat::Png, "image/png"),
                "pdf" => (ImageFormat::Pdf, "application/pdf"),
                _ => return Err(unknown(name)),
            };
            let figure = drawn(result, kind, look, exec)?.ok_or_else(|| unknown(name))?;
            (figure.file(format)?, mime, format!("{base}.{picture}"))
        }
    })
}

fn drawn(result: &Outcome, kind: &str, look: &Look, exec: &Exec) -> Result<Option<Figure>> {
    let Outcome { points, columns, model, scores, colour, .. } = result;
    let title = format!("{}: {}", result.data.name, mercer_view::title(model));
    let axes = Axes { x: look.x, y: look.y };
    if model.components() <= look.x.max(look.y) && !(model.components() == 1 && axes == Axes::default()) {
        return Ok(None);
    }
    Ok(match (kind, model) {
        ("scores", _) => Some(mercer_view::scores(&title, scores, Some(model), colour, axes, None)),
        ("scree", _) => mercer_view::scree(&title, model),
        ("loadings", AnyModel::Pca(m)) => Some(mercer_view::loadings(&title, m, columns, Some(scores), colour, axes)),
        ("kernel", AnyModel::KernelPca(m)) => mercer_view::gram(&title, m, points, scores, colour, exec)?,
        ("reconstruction", _) if points.d() >= 2 => {
            mercer_view::reconstruction(&title, model, points, columns, (0, 1), exec)?
        }
        ("contours", _) if points.d() == 2 => {
            Some(mercer_view::contours(&title, model, points, columns, colour, exec)?)
        }
        _ => None,
    })
}

fn unknown(name: &str) -> Refusal {
    Refusal::gone(format!("there is no file '{name}' of this result"), "scores.csv, model, report.html, or a picture")
}
