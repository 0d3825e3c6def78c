//! PCA and kernel PCA: exact, with error bounds, and with the same bits on any number of threads.
//!
//! ```
//! use mercer::{Gamma, Kernel, KernelPca, Points};
//!
//! let x = Points::from_rows(&[[0.0, 0.1], [0.2, 0.9], [0.4, 2.1], [0.5, 2.9], [0.9, 4.2]]);
//! let model = KernelPca::new(Kernel::gaussian(Gamma::Median) + Kernel::linear()).components(2).fit(&x)?;
//! let scores = model.transform(&x)?; // a row per point, a column per component
//! println!("{}", model.spectrum()); // eigenvalues and their shares of the total variance
//! println!("{}", model.certificate()); // error bounds
//! # assert_eq!(scores.d(), 2);
//! # Ok::<(), mercer::Error>(())
//! ```
//!
//! # Types by task
//!
//! | task | types |
//! |---|---|
//! | pass data in | [`Points`], [`PointsRef`] (f32 or f64, a row per point) |
//! | fit | [`Pca`], [`KernelPca`] with a [`Kernel`]; [`Embedding`], [`Components`], [`Route`], [`Approx`], [`Landmarks`] |
//! | transform, reconstruct | [`PcaModel`], [`KernelPcaModel`], [`PreImages`]; [`AnyModel`] holds a model of any kind |
//! | inspect | [`Spectrum`], [`Certificate`], [`diagnose`] (Mercer's conditions), [`widths`] (of a kernel) |
//! | check | [`AnyModel::verify`]: a second opinion on a model, from its data ([`verify`]) |
//! | save | [`parts`]: the numbers of a model; [`Spec`]: the options of a fit, with serde |
//! | stream, distribute | [`Source`] and [`Batches`]; [`state`]s, which merge; [`Csr`] (sparse) |
//! | limit and watch | [`Exec`] (threads, memory, random seed, cancellation), [`Plan`], [`exec`] (progress, journals to resume from) |
//! | cluster the scores | [`k_means`] |
//! | use an own kernel | [`KernelPca::fit_fn`], [`KernelPca::fit_gram`], [`KernelPca::fit_op`] with an [`op::SymOp`] |
//! | handle errors | [`Error`], [`ErrorKind`] |
//!
//! Methods that can run long take an [`Exec`], or have a twin that ends in `_with` and takes one. Kernels are listed in
//! [`kernel::registry`], and are written as text or as values: `"gaussian(gamma=0.5) + linear".parse::<Kernel>()`.
//!
//! # Steps of a fit
//!
//! ```text
//! points -> kernel -> Gram operator -> centre -> eigenpairs -> projection -> scores
//! ```
//!
//! # Features
//!
//! * `ndarray`, `nalgebra`, `faer`: conversions between [`Points`] or [`PointsRef`] and the matrices of these libraries.
//!   Views of an `ndarray` in standard layout are not copied.
//! * `testing`: reference implementations and test matrices, and checks for kernels and operators of your own.

// floor 0, vocabulary
mod ball;
mod block;
#[cfg(any(feature = "faer", feature = "nalgebra", feature = "ndarray"))]
mod convert;
mod error;
pub mod exec;
mod linalg;
mod panels;
mod points;
mod precise;
mod real;
mod rng;
mod sparse;
mod vector;
mod wire;
// floor 1, kernels and embeddings
pub mod embedding;
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
pub mod plan;
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
mod rigorous;
mod spec;
mod sweep;
pub mod verify;
// beside
#[cfg(feature = "testing")]
pub mod testing;

pub use block::Block;
pub use eigen::Certificate;
pub use embedding::Embedding;
pub use error::{Error, ErrorKind, ErrorSubject, Result};
pub use exec::Exec;
pub use features::{KernelFn, Standardise};
pub use kernel::{Gamma, Kernel, Length};
pub use kernel_pca::{KernelPca, KernelPcaModel};
pub use model::AnyModel;
pub use nystroem::NystroemModel;
pub use options::{Approx, Landmarks, Route};
pub use pca::{Pca, PcaModel};
pub use plan::Plan;
pub use points::{AnyPoints, Points, PointsRef};
pub use preimage::PreImages;
pub use real::Real;
pub use sparse::Csr;
pub use spec::{Batches, Fitted, Source, Spec};
pub use spectrum::{Components, Spectrum};

/// What a [`Certificate`] consists of.
pub mod certificate {
    pub use crate::eigen::{About, Approximation, BoundKind, Confidence, EigenvalueCluster, Passes, Statement};
}

/// Sums over points that merge: data in batches, on several machines, or in parts.
pub mod state {
    pub use crate::kernel_pca::{BlockFacts, LandmarkBasis, LandmarkState, PassFn, PassState, RowBlock};
    pub use crate::moments::Moments;
    pub use crate::pca::PcaState;
    pub use crate::survey::Survey;
}

/// The numbers that models consist of, for files.
pub mod parts {
    pub use crate::kernel_pca::KernelPcaParts;
    pub use crate::pca::PcaParts;
}

/// k-means, to compare scores with labels.
pub mod k_means {
    pub use crate::cluster::{Agreement, Clusters, KMeans};
}

/// How scores depend on the width of a kernel.
pub mod widths {
    pub use crate::sweep::{Sweep, SweepStep, sweep};
}

/// Orthonormal bases that contain the axes of a PCA.
pub mod axes {
    pub use crate::pca::complete_axes;
}

/// Numbers and names as text, for messages and reports.
pub mod text {
    pub use crate::block::fingerprint;
    pub use crate::error::{Bytes, counted, nearest};
    pub use crate::real::{short, shortest};
    pub use crate::wire::checksum;
}
