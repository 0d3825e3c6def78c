//! Model files: numbers as safetensors, facts as one JSON text in its metadata. No code, readable by anything.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use mercer::diagnose::Definiteness;
use mercer::parts::{KernelPcaParts, PcaParts};
use mercer::text::checksum;
use mercer::{
    AnyModel, Certificate, Embedding, Kernel, KernelPcaModel, NystroemModel, PcaModel, Points, Route, Spec, Standardise,
};
use safetensors::tensor::{Dtype, TensorView};
use safetensors::{SafeTensors, serialize};
use serde::{Deserialize, Serialize};

use crate::atomic::Outputs;
use crate::error::{Error, Result, shown};
use crate::source::read_at_most;

const FORMAT: &str = "model";
/// The version of the format. Files of the version before have no checksum.
const VERSION: &str = "mercer-model/2";
const WITHOUT_CHECKSUM: &str = "mercer-model/1";
/// The key of the facts in the metadata.
const KEY: &str = "mercer";
/// How the header of a file spells the key of the checksum, which is the first of the facts; and its value while there
/// is none.
const CHECKSUM_KEY: &[u8] = br#"\"checksum\":\""#;
const NO_CHECKSUM: &str = "0000000000000000";
/// No model file is larger: 64 GB.
const MODEL_LIMIT: u64 = 64_000_000_000;

/// A model with what the command knows about its data.
#[derive(Clone, Debug)]
pub struct SavedModel {
    /// The model.
    pub model: AnyModel,
    /// Names of the columns it was fitted to, in order.
    pub columns: Vec<String>,
    /// Data of the front that saved it; other fronts ignore it.
    pub front: Option<serde_json::Value>,
    /// What was asked for, where it is known.
    pub spec: Option<Spec>,
}

#[derive(Serialize, Deserialize)]
struct Facts {
    /// Over the whole file but these digits. It comes first, where it is found without parsing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checksum: Option<String>,
    format: String,
    columns: Vec<String>,
    #[serde(flatten)]
    spectrum: Option<SpectrumFacts>,
    model: Kind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    front: Option<serde_json::Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spec: Option<Spec>,
}

/// What models that have components know about them.
#[derive(Serialize, Deserialize)]
struct SpectrumFacts {
    n: usize,
    rank: usize,
    total: f64,
    discarded: f64,
    certificate: Certificate,
    notes: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Kind {
    Pca {
        embedding: String,
        d: usize,
        center: bool,
        standardise: bool,
        whiten: bool,
        route: String,
    },
    KernelPca {
        kernel: Option<Kernel>,
        deviation: bool,
        grand_mean: f64,
        complete: bool,
        definiteness: Option<Negative>,
    },
    Nystroem {
        kernel: Kernel,
    },
}

#[derive(Serialize, Deserialize)]
struct Negative {
    smallest: f64,
    largest: f64,
    negative_count: usize,
    negative_mass: f64,
    absolute_mass: f64,
    tolerance: f64,
}

impl SavedModel {
    /// The spec, unless it holds points: the model has them already, and the header of the file is not for them.
    fn stored_spec(&self) -> Option<Spec> {
        self.spec.clone().filter(|spec| !spec.has_points())
    }

    /// The bytes of the file.
    ///
    /// # Errors
    /// For a model of a kernel function or of an embedding of the user's: a file carries no code.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut tensors: Vec<(&str, Vec<usize>, Vec<u8>)> = Vec::new();
        let mut add = |name, shape: &[usize], values: &[f64]| {
            tensors.push((name, shape.to_vec(), values.iter().flat_map(|v| v.to_le_bytes()).collect()));
        };
        let facts = match &self.model {
            AnyModel::Pca(model) => {
                let p = model.to_parts();
                if let Embedding::Custom { .. } = p.embedding {
                    return Err(mercer_unsupported(
                        "a model of an embedding function cannot be saved: a file carries no code",
                    ));
                }
                add("mean", &[p.mean.len()], &p.mean);
                add("scale", &[p.scale.len()], &p.scale);
                add("axes", &[p.axes.n(), p.axes.d()], p.axes.as_slice());
                add("eigenvalues", &[p.eigenvalues.len()], &p.eigenvalues);
                Facts {
                    checksum: Some(NO_CHECKSUM.into()),
                    format: VERSION.into(),
                    columns: self.columns.clone(),
                    front: self.front.clone(),
                    spec: self.stored_spec(),
                    spectrum: Some(SpectrumFacts {
                        n: p.n,
                        rank: p.rank,
                        total: p.total,
                        discarded: p.discarded,
                        certificate: p.certificate,
                        notes: p.notes,
                    }),
                    model: Kind::Pca {
                        embedding: p.embedding.to_string(),
                        d: p.d,
                        center: p.center,
                        standardise: p.standardise,
                        whiten: p.whiten,
                        route: p.route.name().into(),
                    },
                }
            }
            AnyModel::KernelPca(model) => {
                let p = model.to_parts()?;
                add("points", &[p.points.n(), p.points.d()], p.points.as_slice());
                add("alpha", &[p.weights.n(), p.weights.d()], p.weights.as_slice());
                add("offset", &[p.offset.len()], &p.offset);
                add("eigenvalues", &[p.eigenvalues.len()], &p.eigenvalues);
                add("shift", &[p.shift.len()], &p.shift);
                if let Some(s) = &p.standardise {
                    add("mean", &[s.mean.len()], &s.mean);
                    add("scale", &[s.scale.len()], &s.scale);
                }
                if let Some(weights) = &p.mean_weights {
                    add("mean_weights", &[weights.len()], weights);
                }
                Facts {
                    checksum: Some(NO_CHECKSUM.into()),
                    format: VERSION.into(),
                    columns: self.columns.clone(),
                    front: self.front.clone(),
                    spec: self.stored_spec(),
                    spectrum: Some(SpectrumFacts {
                        n: p.n,
                        rank: p.rank,
                        total: p.total,
                        discarded: p.discarded,
                        certificate: p.certificate,
                        notes: p.notes,
                    }),
                    model: Kind::KernelPca {
                        kernel: p.kernel,
                        deviation: p.deviation,
                        grand_mean: p.grand_mean,
                        complete: p.complete,
                        definiteness: p.definiteness.map(|d| Negative {
                            smallest: d.smallest,
                            largest: d.largest,
                            negative_count: d.negative_count,
                            negative_mass: d.negative_mass,
                            absolute_mass: d.absolute_mass,
                            tolerance: d.tolerance,
                        }),
                    },
                }
            }
            AnyModel::Nystroem(model) => {
                let (landmarks, weights) = (model.landmarks(), model.weights());
                add("points", &[landmarks.n(), landmarks.d()], landmarks.as_slice());
                add("weights", &[weights.n(), weights.d()], weights.as_slice());
                Facts {
                    checksum: Some(NO_CHECKSUM.into()),
                    format: VERSION.into(),
                    columns: self.columns.clone(),
                    front: self.front.clone(),
                    spec: self.stored_spec(),
                    spectrum: None,
                    model: Kind::Nystroem { kernel: model.kernel().clone() },
                }
            }
            _ => return Err(mercer_unsupported("this kind of model cannot be saved by this version")),
        };
        let damaged = |e: &dyn std::fmt::Display| Error::damaged("model", FORMAT, e);
        let facts = serde_json::to_string(&facts).map_err(|e| damaged(&e))?;
        let views = tensors
            .iter()
            .map(|(name, shape, bytes)| Ok((*name, TensorView::new(Dtype::F64, shape.clone(), bytes)?)))
            .collect::<std::result::Result<Vec<_>, safetensors::SafeTensorError>>()
            .map_err(|e| damaged(&e))?;
        // One key only: a map of several would come out in any order, and equal models should be equal files.
        let metadata = HashMap::from([(KEY.to_string(), facts)]);
        let mut bytes = serialize(views, Some(metadata)).map_err(|e| damaged(&e))?;
        let place = checksum_place(&bytes).ok_or_else(|| damaged(&"there is no place for the checksum"))?;
        let sum = checksum_of(&bytes, &place);
        bytes[place].copy_from_slice(sum.as_bytes());
        Ok(bytes)
    }

    /// Writes the file atomically.
    ///
    /// # Errors
    /// As [`SavedModel::to_bytes`], and when the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let mut outputs = Outputs::new();
        outputs.stage(path, self.to_bytes()?)?;
        outputs.commit()
    }

    /// Reads the bytes of a file. Nothing in them is trusted: every length and every number is checked.
    ///
    /// # Errors
    /// When they are not those of a model; `name` is the file in the message.
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self> {
        let damaged = |what: String| Error::damaged(name, FORMAT, what);
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(|e| damaged(e.to_string()))?;
        let tensors = SafeTensors::deserialize(bytes).map_err(|e| damaged(e.to_string()))?;
        let facts = header.metadata().as_ref().and_then(|m| m.get(KEY));
        let facts = facts.ok_or_else(|| damaged("the metadata of mercer is missing".into()))?;
        #[derive(Deserialize)]
        struct Version {
            format: String,
            checksum: Option<String>,
        }
        let version: Version = serde_json::from_str(facts).map_err(|e| damaged(e.to_string()))?;
        if ![VERSION, WITHOUT_CHECKSUM].contains(&version.format.as_str()) {
            let what = format!(
                "is a model of format '{}'; this version reads '{VERSION}' and '{WITHOUT_CHECKSUM}'",
                shown(&version.format)
            );
            return Err(Error::advised(name, what, "use the version of mercer that wrote it, or fit again"));
        }
        // A checksum in a file of the version that has none is that of a file whose version was changed.
        let is_whole = match checksum_place(bytes) {
            Some(place) => version.checksum.is_some_and(|sum| sum == checksum_of(bytes, &place)),
            None => version.checksum.is_none() && version.format == WITHOUT_CHECKSUM,
        };
        if !is_whole {
            let what = "checksum mismatch: the file was changed after it was written";
            return Err(Error::advised(name, what, "copy it again from where it was written, or fit again"));
        }
        let facts: Facts = serde_json::from_str(facts).map_err(|e| damaged(e.to_string()))?;
        let reader = Tensors { name, tensors };
        let model = facts.into_model(&reader).map_err(|e| match e {
            Error::Library(e) => damaged(e.to_string()),
            e => e,
        })?;
        Ok(model)
    }
}

/// Where the digits of the checksum are in a file.
fn checksum_place(bytes: &[u8]) -> Option<Range<usize>> {
    let length = usize::try_from(u64::from_le_bytes(*bytes.first_chunk()?)).ok()?;
    let header = bytes.get(8..)?.get(..length)?;
    let start = 8 + header.windows(CHECKSUM_KEY.len()).position(|w| w == CHECKSUM_KEY)? + CHECKSUM_KEY.len();
    let place = start..start + NO_CHECKSUM.len();
    bytes.get(place.clone()).map(|_| place)
}

/// The checksum of a file: over all bytes before its place, and all behind it.
fn checksum_of(bytes: &[u8], place: &Range<usize>) -> String {
    let parts = [&bytes[..place.start], &bytes[place.end..]].map(|part| checksum(part).to_le_bytes());
    format!("{:016x}", checksum(parts.as_flattened()))
}

/// Reads a model file.
///
/// # Errors
/// When it cannot be read, is not a model, or was changed after it was written.
pub fn load_model(path: &str) -> Result<SavedModel> {
    SavedModel::from_bytes(path, &read_at_most(path, FORMAT, MODEL_LIMIT)?)
}

fn mercer_unsupported(what: &str) -> Error {
    Error::advised("model", what, "use named kernels and embeddings, or fit the Gram matrix")
}

struct Tensors<'a> {
    name: &'a str,
    tensors: SafeTensors<'a>,
}

impl Tensors<'_> {
    fn damaged(&self, what: String) -> Error {
        Error::damaged(self.name, FORMAT, what)
    }

    fn read(&self, tensor: &str) -> Result<(Vec<usize>, Vec<f64>)> {
        let view = self.tensors.tensor(tensor).map_err(|e| self.damaged(format!("'{tensor}': {e}")))?;
        if view.dtype() != Dtype::F64 {
            return Err(self.damaged(format!("'{tensor}' is {:?}, not F64", view.dtype())));
        }
        let values = view.data().chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().expect("eight bytes")));
        Ok((view.shape().to_vec(), values.collect()))
    }

    fn list(&self, tensor: &str) -> Result<Vec<f64>> {
        match self.read(tensor)? {
            (shape, values) if shape.len() == 1 => Ok(values),
            (shape, _) => Err(self.damaged(format!("'{tensor}' has {} dimensions, not 1", shape.len()))),
        }
    }

    fn list_if_any(&self, tensor: &str) -> Result<Option<Vec<f64>>> {
        if self.tensors.names().into_iter().any(|n| n == tensor) { self.list(tensor).map(Some) } else { Ok(None) }
    }

    fn table(&self, tensor: &str) -> Result<Points<f64>> {
        match self.read(tensor)? {
            (shape, values) if shape.len() == 2 => Ok(Points::new(values, shape[0], shape[1])?),
            (shape, _) => Err(self.damaged(format!("'{tensor}' has {} dimensions, not 2", shape.len()))),
        }
    }
}

impl Facts {
    fn into_model(self, tensors: &Tensors<'_>) -> Result<SavedModel> {
        let known = || {
            let facts = self.spectrum.as_ref().ok_or_else(|| tensors.damaged("the spectrum is missing".into()))?;
            Ok::<_, Error>((facts, tensors.list("eigenvalues")?))
        };
        let (model, d) = match self.model {
            Kind::Nystroem { kernel } => {
                let (points, weights) = (tensors.table("points")?, tensors.table("weights")?);
                let d = points.d();
                (AnyModel::Nystroem(NystroemModel::new(kernel, points, weights)?), d)
            }
            Kind::Pca { embedding, d, center, standardise, whiten, route } => {
                let route = Route::from_name(&route)
                    .ok_or_else(|| tensors.damaged(format!("'{route}' is not a route of PCA")))?;
                let (facts, eigenvalues) = known()?;
                let parts = PcaParts {
                    embedding: embedding.parse::<Embedding>()?,
                    d,
                    mean: tensors.list("mean")?,
                    scale: tensors.list("scale")?,
                    axes: tensors.table("axes")?,
                    eigenvalues,
                    certificate: facts.certificate.clone(),
                    total: facts.total,
                    discarded: facts.discarded,
                    rank: facts.rank,
                    n: facts.n,
                    center,
                    standardise,
                    whiten,
                    route,
                    notes: facts.notes.clone(),
                };
                (AnyModel::Pca(PcaModel::from_parts(parts)?), d)
            }
            Kind::KernelPca { kernel, deviation, grand_mean, complete, definiteness } => {
                let (facts, eigenvalues) = known()?;
                let shift = tensors.list("shift")?;
                let standardise = match (tensors.list_if_any("mean")?, tensors.list_if_any("scale")?) {
                    (Some(mean), Some(scale)) => Some(Standardise { mean, scale }),
                    (None, None) => None,
                    _ => return Err(tensors.damaged("one of mean and scale is missing".into())),
                };
                let (points, weights) = (tensors.table("points")?, tensors.table("alpha")?);
                let mean_weights = tensors.list_if_any("mean_weights")?;
                // Landmarks stand for more points than they are.
                let expected = mean_weights.as_ref().map_or(facts.n, Vec::len);
                if weights.n() != expected || points.n() != expected {
                    return Err(tensors.damaged(format!("{} points, expected {expected}", points.n())));
                }
                let width = if kernel.is_some() { points.d() } else { facts.n };
                let parts = KernelPcaParts {
                    kernel,
                    deviation,
                    shift,
                    standardise,
                    points,
                    n: facts.n,
                    mean_weights,
                    weights,
                    offset: tensors.list("offset")?,
                    grand_mean,
                    eigenvalues,
                    certificate: facts.certificate.clone(),
                    total: facts.total,
                    discarded: facts.discarded,
                    rank: facts.rank,
                    complete,
                    definiteness: definiteness.map(|d| {
                        Definiteness::from_parts(
                            (d.smallest, d.largest),
                            (d.negative_count, d.negative_mass),
                            d.absolute_mass,
                            d.tolerance,
                        )
                    }),
                    notes: facts.notes.clone(),
                };
                (AnyModel::KernelPca(KernelPcaModel::from_parts(parts)?), width)
            }
        };
        let mut names: Vec<&String> = self.columns.iter().collect();
        names.sort();
        if let Some(twice) = names.windows(2).find(|w| w[0] == w[1]) {
            return Err(tensors.damaged(format!("duplicate column name '{}'", shown(twice[0]))));
        }
        if self.columns.len() != d {
            return Err(tensors.damaged(format!("{} column names for {d} columns", self.columns.len())));
        }
        Ok(SavedModel { model, columns: self.columns, front: self.front, spec: self.spec })
    }
}
