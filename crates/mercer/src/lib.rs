//! PCA and kernel PCA done right: exact, with the error stated, the same bits on any number of threads.
//!
//! The library follows one line of thought, the textbook's:
//!
//! ```text
//! points -> kernel -> Gram operator -> centre -> eigenpairs -> projection -> scores
//! ```
//!
//! [`Pca`] and [`KernelPca`] say how; their `fit` returns a [`PcaModel`] or a [`KernelPcaModel`], whose `transform`
//! gives the scores of any points. Kernels are values of [`Kernel`], listed in [`kernel::registry`].
//!
//! ```
//! use mercer::{Gamma, Kernel, KernelPca, Points};
//!
//! let x = Points::from_rows(&[[0.0, 0.1], [0.2, 0.9], [0.4, 2.1], [0.5, 2.9], [0.9, 4.2]]);
//! let model = KernelPca::new(Kernel::gaussian(Gamma::Median) + Kernel::linear()).components(2).fit(&x)?;
//! let scores = model.transform(&x)?; // a row per point, a column per component
//! println!("{}", model.spectrum()); // eigenvalues and their true shares of the variance
//! println!("{}", model.certificate()); // how far they can be from the truth
//! # assert_eq!(scores.d(), 2);
//! # Ok::<(), mercer::Error>(())
//! ```

// floor 0, vocabulary
mod block;
#[cfg(any(feature = "faer", feature = "nalgebra", feature = "ndarray"))]
mod convert;
mod error;
mod exec;
mod linalg;
mod points;
mod real;
mod rng;
mod vector;
mod wire;
// floor 1, kernels and embeddings
mod embedding;
pub mod kernel;
// floor 2, operators
mod factor;
mod moments;
pub mod op;
mod survey;
// floor 3, eigenpairs
mod eigen;
// floor 4, what a fitted model is
mod features;
mod landmarks;
mod options;
mod plan;
mod projection;
mod spectrum;
// floor 5, models
mod cluster;
pub mod diagnose;
mod kernel_pca;
mod model;
mod nystroem;
mod pca;
mod preimage;
mod spec;
mod sweep;
// beside
#[cfg(feature = "testing")]
pub mod testing;

pub use block::{Block, fingerprint};
pub use cluster::{Agreement, Clusters, KMeans};
pub use diagnose::{Definiteness, MercerReport};
pub use eigen::{Approximation, Certificate, Cluster, Kind, Passes};
pub use embedding::{Embedding, EmbeddingFn, Monomials};
pub use error::{Bytes, Error, ErrorKind, Result, nearest};
pub use exec::{DEFAULT_MEMORY, Exec, Instructions, Journal, PassResult, Progress, ProgressFn};
pub use features::{KernelFn, Standardise};
pub use kernel::{Bound, Choice, Gamma, Kernel, Length, Nu};
pub use kernel_pca::{
    BlockFacts, KernelPca, KernelPcaModel, KernelPcaParts, LandmarkBasis, LandmarkState, PassFn, PassState, RowBlock,
};
pub use model::AnyModel;
pub use moments::Moments;
pub use nystroem::NystroemModel;
pub use op::{Gram, SymOp};
pub use options::{Approx, Landmarks, Route};
pub use pca::{Pca, PcaModel, PcaParts, PcaState};
pub use plan::{PassPlan, Plan, PlannedRoute};
pub use points::{AnyPoints, Points, PointsRef};
pub use preimage::PreImages;
pub use real::{Real, shortest};
pub use spec::{Batches, Fitted, Source, Spec};
pub use spectrum::{Components, Spectrum};
pub use survey::Survey;
pub use sweep::{Sweep, SweepStep, sweep};
