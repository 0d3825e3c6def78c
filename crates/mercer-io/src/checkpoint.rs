//! Checkpoints: the passes of a long search, each in a file that is written atomically.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use mercer::exec::{Journal, PassResult};
use mercer::text::fingerprint;
use mercer::{Block, ErrorKind, Spec};
use safetensors::tensor::{Dtype, TensorView};
use safetensors::{SafeTensors, serialize};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::atomic::{Outputs, UNFINISHED, is_at};
use crate::error::{Error, Result};
use crate::remedy::Remedy;
use crate::source::read_at_most;

const FORMAT: &str = "checkpoint";
const VERSION: &str = "mercer-checkpoint/4";
const MANIFEST: &str = "checkpoint.json";
const KEY: &str = "mercer";
/// No file of a checkpoint is larger: 64 GB.
const LIMIT: u64 = 64_000_000_000;
const MANIFEST_LIMIT: u64 = 1_000_000;

/// The fit that a checkpoint belongs to. All of it must be the same when the fit is resumed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// What is fitted.
    pub spec: Spec,
    /// The sizes and the fingerprint of the data.
    pub data: String,
    /// The seed of all random numbers.
    pub seed: u64,
    /// The memory budget, which plans depend on.
    pub memory: u64,
    /// The version of the program.
    pub version: String,
}

impl Task {
    /// Its entries with their names, so that a difference has a name; those of the spec are among the others.
    fn entries(&self) -> Result<Map<String, Value>> {
        let unwritable = |e| Error::damaged(&self.data, FORMAT, e);
        let Value::Object(mut entries) = serde_json::to_value(self).map_err(unwritable)? else { return Ok(Map::new()) };
        if let Some(Value::Object(spec)) = entries.remove("spec") {
            entries.extend(spec);
        }
        Ok(entries)
    }

    /// The name of the first entry that differs, and its values here and in the other.
    fn difference(&self, other: &Task) -> Result<Option<(String, String, String)>> {
        let (mine, theirs) = (self.entries()?, other.entries()?);
        // Another method has other entries as well.
        let names = ["method"].into_iter().chain(mine.keys().chain(theirs.keys()).map(String::as_str));
        let value = |of: &Map<String, Value>, name| of.get(name).map_or("not given".into(), Value::to_string);
        let different = names.into_iter().find(|name| mine.get(*name) != theirs.get(*name));
        Ok(different.map(|name| (name.to_string(), value(&mine, name), value(&theirs, name))))
    }
}

/// A journal of passes, in memory or in a folder.
#[derive(Debug)]
pub struct Checkpoint {
    task: Task,
    folder: Option<PathBuf>,
    /// Locks the folder: two processes would write and remove the same passes.
    _lock: Option<File>,
    passes: Mutex<BTreeMap<usize, (u64, PassResult)>>,
    /// The number of passes, in memory or in the folder.
    count: Mutex<usize>,
}

/// What manifests of all versions have.
#[derive(Deserialize)]
struct Version {
    format: String,
}

#[derive(Serialize, Deserialize)]
struct Manifest {
    format: String,
    task: Task,
}

/// The metadata of a pass file.
#[derive(Serialize, Deserialize)]
struct PassMetadata {
    format: String,
    pass: usize,
    key: u64,
    /// The fingerprint of the images and the norm.
    images: u64,
    norm: Option<f64>,
}

impl Checkpoint {
    /// Keeps passes in memory, until [`Checkpoint::save_to`] writes them.
    pub fn in_memory(task: Task) -> Self {
        Checkpoint { task, folder: None, _lock: None, passes: Mutex::default(), count: Mutex::new(0) }
    }

    /// Starts a checkpoint in a folder, which is created if needed.
    ///
    /// # Errors
    /// When the folder has a checkpoint already, is used by another process, or cannot be written to.
    pub fn create(folder: impl AsRef<Path>, task: Task) -> Result<Self> {
        let folder = folder.as_ref();
        let shown = folder.display().to_string();
        fs::create_dir_all(folder).map_err(Error::io(&shown, "created"))?;
        let held = lock_folder(folder)?;
        if folder.join(MANIFEST).exists() {
            return Err(Error::unsupported(&shown, "already has a checkpoint", Remedy::ResumeCheckpoint));
        }
        if folder.join(pass_name(1)).exists() {
            let what = format!("has pass files but no {MANIFEST}");
            return Err(Error::advised(&shown, what, "remove them, or use another folder"));
        }
        let manifest = Manifest { format: VERSION.into(), task: task.clone() };
        let text = serde_json::to_vec_pretty(&manifest).map_err(|e| Error::damaged(&shown, FORMAT, e))?;
        write(&folder.join(MANIFEST), text)?;
        Ok(Checkpoint { folder: Some(folder.into()), _lock: held, ..Checkpoint::in_memory(task) })
    }

    /// Returns the fit of the checkpoint in a folder; `None` when there is none that can be read.
    pub fn task_of(folder: impl AsRef<Path>) -> Option<Task> {
        let manifest = folder.as_ref().join(MANIFEST).display().to_string();
        let bytes = read_at_most(&manifest, FORMAT, MANIFEST_LIMIT).ok()?;
        serde_json::from_slice::<Manifest>(&bytes).ok().map(|m| m.task)
    }

    /// Resumes from the checkpoint in a folder.
    ///
    /// # Errors
    /// When there is none, when it is of another fit, or when another process uses it.
    pub fn resume(folder: impl AsRef<Path>, task: Task) -> Result<Self> {
        let folder = folder.as_ref();
        let shown = folder.display().to_string();
        let manifest = folder.join(MANIFEST);
        let none = || Error::unsupported(&shown, "has no checkpoint to resume from", Remedy::StartCheckpoint);
        if !folder.is_dir() {
            return Err(none());
        }
        let held = lock_folder(folder)?;
        if !manifest.is_file() {
            return Err(none());
        }
        let bytes = read_at_most(&manifest.display().to_string(), FORMAT, MANIFEST_LIMIT)?;
        let version: Version = serde_json::from_slice(&bytes).map_err(|e| Error::damaged(&shown, FORMAT, e))?;
        let refuse = |what: String| Err(Error::unsupported(&shown, what, Remedy::MatchCheckpoint));
        if version.format != VERSION {
            return refuse(format!("is a checkpoint of format '{}'; this version reads '{VERSION}'", version.format));
        }
        let found: Manifest = serde_json::from_slice(&bytes).map_err(|e| Error::damaged(&shown, FORMAT, e))?;
        if let Some((name, here, there)) = task.difference(&found.task)? {
            return refuse(format!("is a checkpoint of another fit: {name} was {there}, now it is {here}"));
        }
        let this = Checkpoint { folder: Some(folder.into()), _lock: held, ..Checkpoint::in_memory(task) };
        *lock(&this.count) = (1..).take_while(|pass| this.file(folder, *pass).is_file()).count();
        Ok(this)
    }

    /// The number of passes.
    pub fn passes(&self) -> usize {
        *lock(&self.count)
    }

    /// The folder, when there is one.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Writes the passes in memory to a folder, for [`Checkpoint::resume`].
    ///
    /// # Errors
    /// As [`Checkpoint::create`], and when a file cannot be written.
    pub fn save_to(&self, folder: impl AsRef<Path>) -> Result<()> {
        let saved = Checkpoint::create(folder, self.task.clone())?;
        for (pass, (key, result)) in lock(&self.passes).iter() {
            saved.record(*pass, *key, result)?;
        }
        Ok(())
    }

    /// Removes the checkpoint.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn remove(&self) -> Result<()> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let remove = |path: PathBuf| {
            let shown = path.display().to_string();
            match fs::remove_file(path) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
                other => other.map_err(Error::io(&shown, "removed")),
            }
        };
        // The passes first: without the manifest they would have no settings.
        for pass in (1..).take_while(|pass| self.file(folder, *pass).is_file()) {
            remove(self.file(folder, pass))?;
        }
        // And the unfinished files of a killed process.
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().ends_with(UNFINISHED) {
                remove(entry.path())?;
            }
        }
        remove(folder.join(MANIFEST))?;
        // Fails if the folder has other files, which is fine.
        let _ = fs::remove_dir(folder);
        Ok(())
    }

    fn file(&self, folder: &Path, pass: usize) -> PathBuf {
        folder.join(pass_name(pass))
    }

    fn read(&self, path: &Path, pass: usize, key: u64) -> Result<PassResult> {
        let shown = path.display().to_string();
        let damaged = |what: String| Error::damaged(&shown, FORMAT, what);
        let bytes = read_at_most(&shown, FORMAT, LIMIT)?;
        let (_, header) = SafeTensors::read_metadata(&bytes).map_err(|e| damaged(e.to_string()))?;
        let metadata = header.metadata().as_ref().and_then(|m| m.get(KEY));
        let metadata = metadata.ok_or_else(|| damaged("the metadata of mercer is missing".into()))?;
        let metadata: PassMetadata = serde_json::from_str(metadata).map_err(|e| damaged(e.to_string()))?;
        if metadata.format != VERSION || metadata.pass != pass {
            return Err(damaged("it is of another pass or format version".into()));
        }
        if metadata.key != key {
            let advice = "the memory budget, the processor or the version may differ; start again instead of resuming";
            return Err(Error::advised(&shown, "is a pass of other work: checksum mismatch of its input", advice));
        }
        let tensors = SafeTensors::deserialize(&bytes).map_err(|e| damaged(e.to_string()))?;
        let view = tensors.tensor("images").map_err(|e| damaged(e.to_string()))?;
        let values: Vec<f64> =
            view.data().chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().expect("eight bytes"))).collect();
        match (view.dtype(), view.shape()) {
            (Dtype::F64, &[b, n]) if fingerprint_of(&values, metadata.norm) == metadata.images => {
                let images = Block::from_columns(values, n, b).ok_or_else(|| damaged("it is too short".into()))?;
                Ok(PassResult { images, norm: metadata.norm })
            }
            _ => Err(damaged("checksum mismatch".into())),
        }
    }

    fn write_pass(&self, folder: &Path, pass: usize, key: u64, result: &PassResult) -> Result<()> {
        let path = self.file(folder, pass);
        let shown = path.display().to_string();
        let damaged = |e: String| Error::damaged(&shown, FORMAT, e);
        let values = result.images.as_slice();
        let images = fingerprint_of(values, result.norm);
        let metadata = PassMetadata { format: VERSION.into(), pass, key, images, norm: result.norm };
        let metadata = serde_json::to_string(&metadata).map_err(|e| damaged(e.to_string()))?;
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let shape = vec![result.images.b(), result.images.n()];
        let view = TensorView::new(Dtype::F64, shape, &bytes).map_err(|e| damaged(e.to_string()))?;
        let metadata = HashMap::from([(KEY.to_string(), metadata)]);
        write(&path, serialize([("images", view)], Some(metadata)).map_err(|e| damaged(e.to_string()))?)
    }
}

/// The fingerprint of the images of a pass, and of the norm where there is one.
fn fingerprint_of(images: &[f64], norm: Option<f64>) -> u64 {
    let images = fingerprint(images);
    norm.map_or(images, |norm| fingerprint(&[f64::from_bits(images), norm]))
}

/// Locks a folder for as long as the file is open; `None` on systems and file systems without such locks.
fn lock_folder(folder: &Path) -> Result<Option<File>> {
    let (Ok(folder), Ok(file)) = (fs::canonicalize(folder), File::open(folder)) else { return Ok(None) };
    match file.try_lock() {
        // Also when the process that had the lock has just removed the folder.
        Ok(()) if is_at(&file, &folder) => Ok(Some(file)),
        Err(TryLockError::Error(_)) => Ok(None),
        Ok(()) | Err(TryLockError::WouldBlock) => {
            Err(Error::InUse { file: folder.display().to_string(), what: "is a checkpoint in use" })
        }
    }
}

fn pass_name(pass: usize) -> String {
    format!("pass-{pass:04}.safetensors")
}

fn write(path: &Path, bytes: Vec<u8>) -> Result<()> {
    let mut outputs = Outputs::new();
    outputs.stage(path, bytes)?;
    outputs.commit()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn refused(e: Error) -> mercer::Error {
    let remedy = e.remedy().map_or("check that the folder can be read and written".into(), |r| r.to_string());
    ErrorKind::Journal { what: e.to_string(), remedy }.into()
}

impl Journal for Checkpoint {
    fn recall(&self, pass: usize, key: u64) -> mercer::Result<Option<PassResult>> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let path = self.file(folder, pass);
        if !path.is_file() {
            return Ok(None);
        }
        self.read(&path, pass, key).map(Some).map_err(refused)
    }

    fn record(&self, pass: usize, key: u64, result: &PassResult) -> mercer::Result<()> {
        match &self.folder {
            Some(folder) => self.write_pass(folder, pass, key, result).map_err(refused)?,
            None => {
                lock(&self.passes).insert(pass, (key, result.clone()));
            }
        }
        let mut count = lock(&self.count);
        *count = (*count).max(pass);
        Ok(())
    }
}
