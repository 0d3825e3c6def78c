//! The page: three files, built from `web/` and kept here, so that cargo alone suffices.

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

const HTML: &str = include_str!("../page/index.html");
const SCRIPT: &str = include_str!("../page/app.js");
const STYLE: &str = include_str!("../page/app.css");
const ICON: &str = include_str!("../page/icon.svg");

fn with_type(kind: &'static str, text: &'static str) -> Response {
    ([(CONTENT_TYPE, kind)], text).into_response()
}

pub(crate) async fn html() -> Response {
    with_type("text/html; charset=utf-8", HTML)
}

pub(crate) async fn script() -> Response {
    with_type("text/javascript; charset=utf-8", SCRIPT)
}

pub(crate) async fn style() -> Response {
    with_type("text/css; charset=utf-8", STYLE)
}

pub(crate) async fn icon() -> Response {
    with_type("image/svg+xml", ICON)
}
