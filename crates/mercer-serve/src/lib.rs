//! The local page: PCA and kernel PCA explored live in the browser.
//!
//! A [`Server`] listens on the loopback interface and answers requests that have the token (`guard.rs`). The page asks for
//! fits by `POST /api/fit` with a choice of data and a [`mercer::Spec`] (`request.rs`). The answer is a stream of events:
//! progress, and at last the result (`fit.rs`). The result is kept (`state.rs`), and the page reads scores, rows and files
//! from it (`results.rs`). The points are built once for each choice of data (`selection.rs`). Work is cancelled when its
//! client leaves (`connection.rs`).

mod connection;
mod data;
mod error;
mod fit;
mod guard;
mod page;
mod plots;
mod request;
mod results;
mod selection;
mod server;
mod start;
mod state;
mod texts;

pub use data::Given;
pub use server::{Server, ServerOptions};

/// Runs the code of "Copy as Rust".
#[cfg(doctest)]
mod copied {
    #[doc = concat!("```\n", include_str!("../tests/copied/kernel.rs"), "# Ok::<(), mercer_io::Error>(())\n```")]
    struct Kernel;

    #[doc = concat!("```\n", include_str!("../tests/copied/pca.rs"), "# Ok::<(), mercer_io::Error>(())\n```")]
    struct Pca;

    #[doc = concat!("```\n", include_str!("../tests/copied/default.rs"), "# Ok::<(), mercer_io::Error>(())\n```")]
    struct Default;
}
