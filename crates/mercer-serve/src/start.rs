//! What the page needs to begin: the kernels of the registry, the colours, and the tables.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use mercer::kernel::registry::{Entry, KERNELS, ParameterKind};
use mercer_io::FORMATS;
use mercer_view::ImageFormat;
use serde_json::{Value, json};

use crate::state::App;

pub(crate) async fn start(State(app): State<Arc<App>>) -> Json<Value> {
    Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "kernels": KERNELS.iter().map(kernel).collect::<Vec<_>>(),
        "formats": FORMATS.iter().map(|f| json!({"title": f.title(), "extensions": f.extensions()})).collect::<Vec<_>>(),
        "palette": mercer_view::PALETTE,
        "ramp": (0..=32).map(|i| mercer_view::ramp(f64::from(i) / 32.0)).collect::<Vec<_>>(),
        "image_formats": ImageFormat::ALL.map(ImageFormat::extension),
        "data": app.all_data().iter().map(|d| d.summary()).collect::<Vec<_>>(),
        "first": app.first,
        "limits": {"upload": app.limits.upload, "live": app.limits.live},
    }))
}

fn kernel(entry: &Entry) -> Value {
    // A parameter that replaces another has no default, and no slider.
    let parameters = entry.parameters.iter().filter(|p| !p.default.is_empty());
    json!({
        "name": entry.name, "formula": entry.formula, "about": entry.about, "psd": entry.psd,
        "parameters": parameters.map(|p| json!({
            "name": p.name, "default": p.default, "about": p.about, "constraint": p.constraint,
            "whole": p.kind == ParameterKind::Whole,
            "range": p.range,
        })).collect::<Vec<_>>(),
    })
}
