//! The files of mercer: tables in (CSV, TSV, NPY, Parquet), tables out, model files, and the embedded data sets.
//!
//! Readers compare every length with the size of the file before they allocate. Files are written atomically. Tables
//! larger than memory are read batch by batch by a [`Stream`].
//!
//! ```
//! use mercer::{Gamma, Kernel, KernelPca};
//! let iris = mercer_io::read("iris")?; // an embedded set, or the path of a file
//! let points = iris.points()?; // the numeric columns; text columns are labels
//! let model = KernelPca::new(Kernel::gaussian(Gamma::OverSigma2(150.0))).components(2).fit(&points)?;
//! assert_eq!(model.scores().n(), 150);
//! # Ok::<(), mercer_io::Error>(())
//! ```

mod atomic;
mod checkpoint;
mod compression;
mod content;
mod embedded;
mod error;
mod formats;
mod map;
mod memory;
mod model_file;
mod note;
pub mod onnx;
mod pool;
mod prefetch;
mod reader;
mod remedy;
mod select;
mod set;
mod source;
mod stream;
mod table;
mod writer;

pub use atomic::{Outputs, StagedFile, remove_unfinished};
pub use checkpoint::{Checkpoint, Task};
pub use embedded::{DATA_SETS, DataSet};
pub use error::{Error, Result};
pub use formats::{FORMATS, Format, PandasCode, panic_is_handled};
pub use map::{MappedNpy, MappedPoints, exit_on_lost_pages};
pub use memory::default_memory;
pub use model_file::{SavedModel, load_model};
pub use note::Note;
pub use reader::{Header, ReadOptions, read, read_all, read_bytes, read_with};
pub use remedy::Remedy;
pub use select::select;
pub use set::{FileSet, foreign_model};
pub use stream::{Batch, BatchReader, Stream, StreamColumn, StreamOptions};
pub use table::{Column, Missing, Table, Values};
pub use writer::{TableWriter, write_table};

/// Runs the code of the README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
