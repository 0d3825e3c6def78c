//! Converts errors of the library to Python exceptions.

use mercer::ErrorKind;
use pyo3::PyErr;
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyOSError, PyRuntimeError, PyValueError};

/// Returns the matching Python exception, with the remedy in its message.
pub(crate) fn python(error: mercer::Error) -> PyErr {
    let message = match error.help() {
        Some(help) => format!("{error}; {help}"),
        None => error.to_string(),
    };
    match error.kind() {
        ErrorKind::Memory { .. } => PyMemoryError::new_err(message),
        ErrorKind::Cancelled => PyKeyboardInterrupt::new_err(()),
        ErrorKind::NotConverged { .. } | ErrorKind::NoConvergence { .. } => PyRuntimeError::new_err(message),
        _ => PyValueError::new_err(message),
    }
}

/// Returns the matching Python exception for an error of a file.
pub(crate) fn of_files(error: mercer_io::Error) -> PyErr {
    // Remedies about reading tables do not occur here, where tables come from Python; the others need no parameter.
    let message = match error.remedy() {
        Some(remedy) => format!("{error}; {remedy}"),
        None => error.to_string(),
    };
    match error {
        mercer_io::Error::Library(error) => python(error),
        // The kind of the system's error selects FileNotFoundError, PermissionError and so on.
        mercer_io::Error::Io { source, .. } => std::io::Error::new(source.kind(), message).into(),
        mercer_io::Error::NotRegular { .. } | mercer_io::Error::InUse { .. } => PyOSError::new_err(message),
        _ => PyValueError::new_err(message),
    }
}
