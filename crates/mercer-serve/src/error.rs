//! Errors as JSON: what is wrong, and what to do about it.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use mercer_io::Remedy;
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
            e => Refusal {
                status: StatusCode::UNPROCESSABLE_ENTITY,
                help: Some(e.remedy().map_or("correct the file, or choose another".into(), |r| on_the_page(&r))),
                error: e.to_string(),
            },
        }
    }
}

/// What to do about an error on the page: with its controls, or by giving the file to the command.
fn on_the_page(remedy: &Remedy) -> String {
    let command = |options: &[&str]| {
        let words = [&["mercer", "explore", "FILE"], options].concat();
        mercer_view::shell(&words.into_iter().map(String::from).collect::<Vec<_>>())
    };
    match remedy {
        Remedy::HandleMissing | Remedy::FillMissing => "choose under Data how missing values are handled".into(),
        Remedy::ChooseColumn { .. } | Remedy::ChooseNumericColumns => "choose numeric columns under Data".into(),
        Remedy::DropColumn { column } => format!("drop column '{column}' under Data"),
        Remedy::KeepAsLabel { column } => {
            format!("correct the value, or keep the column as text: {}", command(&["--id", column]))
        }
        Remedy::SetDelimiter => {
            format!("quote fields that contain the delimiter, or set it: {}", command(&["--delimiter", ";"]))
        }
        Remedy::SkipLines => format!("skip the lines before the table: {}", command(&["--skip", "1"])),
        Remedy::IgnoreNames => {
            format!("rename one of them, or ignore the names: {}", command(&["--header", "no", "--skip", "1"]))
        }
        Remedy::RaiseMemory => format!("give the file to the command: {}", command(&["--memory", "8G"])),
        other => other.to_string(),
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
