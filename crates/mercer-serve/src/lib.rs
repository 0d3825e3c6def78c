//! The local page: PCA and kernel PCA explored live in the browser.
//!
//! A [`Server`] listens on the loopback interface and answers only who has the token (`guard.rs`). The page asks for fits by
//! `POST /api/fit` (`fit.rs`), whose answer is a stream of events: progress, and at last the result, which is kept
//! (`state.rs`) and read from by what follows (`results.rs`). A fit ends when the page stops listening to it.

mod data;
mod error;
mod fit;
mod guard;
mod page;
mod recipe;
mod results;
mod server;
mod start;
mod state;
mod texts;

pub use data::Given;
pub use server::{Server, ServerOptions};

/// Runs what "Copy as Rust" gives.
#[cfg(doctest)]
mod copied {
    #[doc = concat!("```\n", include_str!("../tests/copied/kernel.rs"), "# Ok::<(), mercer_io::Error>(())\n```")]
    struct Kernel;

    #[doc = concat!("```\n", include_str!("../tests/copied/pca.rs"), "# Ok::<(), mercer_io::Error>(())\n```")]
    struct Pca;

    #[doc = concat!("```\n", include_str!("../tests/copied/default.rs"), "# Ok::<(), mercer_io::Error>(())\n```")]
    struct Default;
}
