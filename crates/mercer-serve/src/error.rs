//! Errors as JSON: what is wrong, and what to do about it.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::json;

/// What went wrong with a request.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) error: String,
    pub(crate) help: Option<String>,
}

pub(crate) type Result<T> = std::result::Result<T, Refusal>;

impl Refusal {
    pub(crate) fn new(status: StatusCode, error: impl Into<String>, help: &str) -> Self {
        Refusal { status, error: error.into(), help: Some(help.into()) }
    }

    /// The request cannot be understood.
    pub(crate) fn bad(error: impl Into<String>, help: &str) -> Self {
        Refusal::new(StatusCode::BAD_REQUEST, error, help)
    }

    /// What was asked for is not there.
    pub(crate) fn gone(error: impl Into<String>, help: &str) -> Self {
        Refusal::new(StatusCode::NOT_FOUND, error, help)
    }

    pub(crate) fn to_json(&self) -> serde_json::Value {
        json!({"error": self.error, "help": self.help})
    }
}

impl From<mercer::Error> for Refusal {
    fn from(e: mercer::Error) -> Self {
        let help = match e.kind() {
            mercer::ErrorKind::Memory { remedy, .. } => {
                Some(format!("{remedy}; `mercer explore --memory` sets the budget"))
            }
            _ => Some(e.help().unwrap_or_else(|| "change the setting that it names".into())),
        };
        Refusal { status: StatusCode::UNPROCESSABLE_ENTITY, error: e.to_string(), help }
    }
}

impl From<mercer_io::Error> for Refusal {
    fn from(e: mercer_io::Error) -> Self {
        match e {
            mercer_io::Error::Library(e) => e.into(),
            mercer_io::Error::Missing { .. } => Refusal {
                status: StatusCode::UNPROCESSABLE_ENTITY,
                error: e.to_string(),
                help: Some("choose under Data what to do about missing values".into()),
            },
            e => Refusal {
                status: StatusCode::UNPROCESSABLE_ENTITY,
                help: Some(by_command(e.help())),
                error: e.to_string(),
            },
        }
    }
}

/// A remedy that speaks of options is one of the command's.
fn by_command(help: Option<String>) -> String {
    match help {
        Some(help) if help.contains("--") || help.contains("-d") => format!("by the command mercer fit: {help}"),
        Some(help) => help,
        None => "mend the file, or choose another".into(),
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, Json(self.to_json())).into_response()
    }
}

/// Work that panicked or was lost: the request fails, the server goes on.
pub(crate) fn lost(_: impl std::fmt::Debug) -> Refusal {
    let help = "try it again with other settings; if it happens again, it is a fault of mercer's";
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the work ended without a result", help)
}
