//! Model files, and the passes of checkpoints.

use std::fs;

use mercer::exec::{Journal, PassResult};
use mercer::text::{checksum, fingerprint};
use mercer::{
    AnyModel, Block, Embedding, Exec, Kernel, KernelPca, Landmarks, NystroemModel, Pca, Points, Source, Spec,
};
use mercer_io::{Checkpoint, SavedModel, Task};
use mercer_view::{Colour, Look, PLOT_KINDS, Subject};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Target, put};
use crate::dice::Dice;
use crate::mutate;

pub(super) fn targets() -> Vec<Box<dyn Target>> {
    let valid: Vec<Vec<u8>> = models().iter().map(|model| model.to_bytes().expect("a model without code")).collect();
    vec![Box::new(ModelBytes { valid: valid.clone() }), Box::new(ModelFacts { valid }), Box::new(Checkpoints::new())]
}

/// Points on a curve.
pub(super) fn points(n: usize, d: usize) -> Points<f64> {
    Points::from_fn(n, d, |i, j| ((i * (j + 2)) as f64 / 3.0).sin() + 1.5)
}

/// One model of each kind, with and without a spec.
fn models() -> Vec<SavedModel> {
    let x = points(9, 2);
    let pca = |spec: Pca| AnyModel::Pca(spec.fit(&x).expect("fits"));
    let kernel = |text: &str| KernelPca::new(text.parse::<Kernel>().expect(text)).components(2);
    let kernel_pca = |spec: KernelPca| AnyModel::KernelPca(spec.fit(&x).expect("fits"));
    let gaussian = Kernel::gaussian(mercer::Gamma::Value(0.5));
    let gram = Points::from_fn(9, 9, |i, j| gaussian.eval(x.row(i), x.row(j)));
    let weights = Points::from_fn(9, 3, |i, j| ((i + 2 * j) as f64).sin());
    let spec: Spec = kernel("gaussian(length=[1, 0.5])").into();
    let of_spec = spec.fit(Source::points(&x), &Exec::new()).expect("fits").model;
    let mut models: Vec<AnyModel> = vec![
        pca(Pca::new()),
        pca(Pca::new().components(1).standardise(true).whiten(true)),
        pca(Pca::new().embed(Embedding::monomials_up_to(2, 0.3)).components(2)),
        kernel_pca(kernel("gaussian(gamma=0.5)")),
        kernel_pca(kernel("linear + 0.5*normalised(polynomial(degree=3, coef0=0.7))").standardise(true)),
        kernel_pca(kernel("gaussian(gamma=0.5)").standardise(true).landmarks(Landmarks::Uniform(4))),
        kernel_pca(kernel("chi2(gamma=1)").landmarks(Landmarks::Uniform(4))),
        AnyModel::KernelPca(KernelPca::custom().components(2).fit_gram(&gram).expect("fits")),
        AnyModel::Nystroem(NystroemModel::new(gaussian, x.clone(), weights).expect("fits together")),
    ];
    models.push(of_spec);
    let columns = |model: &AnyModel| (1..=model.d()).map(|j| format!("x{j}")).collect();
    let saved = |model: AnyModel| SavedModel { columns: columns(&model), model, front: None, spec: None };
    let mut saved: Vec<SavedModel> = models.into_iter().map(saved).collect();
    if let Some(last) = saved.last_mut() {
        (last.spec, last.front) = (Some(spec), Some(json!({"front": "none", "version": 1})));
    }
    saved
}

/// Files with changed bytes, none of which may be accepted.
struct ModelBytes {
    valid: Vec<Vec<u8>>,
}

impl Target for ModelBytes {
    fn name(&self) -> &'static str {
        "model-bytes"
    }

    fn input(&self, dice: &mut Dice) -> Vec<u8> {
        let file = dice.pick(&self.valid).clone();
        // Some stay as they are, to be accepted.
        if dice.one_in(16) { file } else { mutate::bytes(dice, &file, &self.valid) }
    }

    fn read(&self, input: &[u8]) -> Result<bool, String> {
        match SavedModel::from_bytes("m", input) {
            Ok(_) if self.valid.iter().any(|valid| valid == input) => Ok(true),
            Ok(_) => Err("a changed file is accepted".into()),
            Err(_) => Ok(false),
        }
    }
}

/// A file of safetensors: its metadata, its other facts, and its numbers.
struct Container {
    facts: Value,
    header: Value,
    data: Vec<u8>,
}

impl Container {
    fn of(file: &[u8]) -> Self {
        let length = u64::from_le_bytes(file[..8].try_into().expect("eight bytes")) as usize;
        let header: Value = serde_json::from_slice(&file[8..8 + length]).expect("a header");
        let facts = header["__metadata__"]["mercer"].as_str().expect("facts");
        let facts = serde_json::from_str(facts).expect("facts in JSON");
        Container { facts, header, data: file[8 + length..].to_vec() }
    }

    fn file(mut self) -> Vec<u8> {
        if let Some(facts) = self.header.pointer_mut("/__metadata__/mercer") {
            *facts = Value::String(self.facts.to_string());
        }
        let header = self.header.to_string();
        [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &self.data].concat()
    }
}

/// Changed facts and numbers in a sound file with the right checksum.
struct ModelFacts {
    valid: Vec<Vec<u8>>,
}

/// The checksum made right again.
fn signed_again(mut file: Vec<u8>) -> Vec<u8> {
    let key = br#"\"checksum\":\""#;
    if let Some(at) = file.windows(key.len()).position(|w| w == key) {
        let (from, to) = (at + key.len(), at + key.len() + 16);
        let parts = [&file[..from], &file[to..]].map(|part| checksum(part).to_le_bytes()).concat();
        file[from..to].copy_from_slice(format!("{:016x}", checksum(&parts)).as_bytes());
    }
    file
}

impl Target for ModelFacts {
    fn name(&self) -> &'static str {
        "model-facts"
    }

    fn input(&self, dice: &mut Dice) -> Vec<u8> {
        let mut file = Container::of(dice.pick::<Vec<u8>>(&self.valid));
        for _ in 0..1 + dice.below(2) {
            match dice.below(5) {
                0 | 1 => mutate::value(dice, &mut file.facts),
                2 => mutate::value(dice, &mut file.header),
                _ => mutate::numbers(dice, &mut file.data),
            }
        }
        // The checksum has its place, unless this is a file of the version without.
        if let Some(facts) = file.facts.as_object_mut() {
            match dice.one_in(8) {
                true => {
                    facts.remove("checksum");
                    facts.insert("format".into(), json!("mercer-model/1"));
                }
                false => drop(facts.insert("checksum".into(), json!("0000000000000000"))),
            }
        }
        signed_again(file.file())
    }

    fn read(&self, input: &[u8]) -> Result<bool, String> {
        let Ok(saved) = SavedModel::from_bytes("m", input) else { return Ok(false) };
        use_model(&saved.model, &saved.columns)?;
        let again = saved.to_bytes().map_err(|e| format!("cannot be saved again: {e}"))?;
        SavedModel::from_bytes("m", &again).map_err(|e| format!("is saved and does not load: {e}"))?;
        Ok(true)
    }
}

/// Does with a model all that fronts do.
pub(super) fn use_model(model: &AnyModel, columns: &[String]) -> Result<(), String> {
    let (exec, d) = (Exec::new(), model.d());
    if d > 1000 {
        return Ok(());
    }
    let x = points(3, d);
    let finite = |what: &str, values: &[f64]| match values.iter().all(|v| v.is_finite()) {
        true => Ok(()),
        false => Err(format!("{what} are not finite")),
    };
    let _ = (model.column_means(), model.notes(), model.spectrum().map(ToString::to_string));
    let scores = model.transform(&x, &exec);
    if let Ok(scores) = &scores {
        finite("scores", scores.as_slice())?;
        if let Ok(back) = model.reconstruct(scores, &Exec::new()) {
            finite("reconstructions", back.as_slice())?;
        }
    }
    if let Ok(errors) = model.squared_errors(&x, &Exec::new()) {
        finite("squared errors", &errors)?;
    }
    if let AnyModel::KernelPca(model) = model {
        finite("fitted scores", model.scores().as_slice())?;
        if let Some(points) = model.points() {
            finite("fitted points", points.as_slice())?;
        }
        let _ = model.preimages(&x, &exec);
    }
    let subject = Subject {
        source: "t",
        columns,
        points: Some(&x),
        model: Some(model),
        scores: scores.as_ref().ok(),
        colour: &Colour::None,
    };
    for kind in PLOT_KINDS {
        if let Ok(figure) = kind.draw(subject, &Look::titled("t"), &exec) {
            let _ = figure.terminal(60, 12);
        }
    }
    Ok(())
}

/// The manifest of a checkpoint, or its pass: the first byte of an input says which.
struct Checkpoints {
    folder: TempDir,
    /// The two files, as they are written.
    valid: [Vec<u8>; 2],
}

const FILES: [&str; 2] = ["checkpoint.json", "pass-0001.safetensors"];
const KEY: u64 = 0x1234_5678_9abc_def0;

fn task() -> Task {
    let spec = Spec::from(KernelPca::new("laplacian".parse().expect("a kernel")).components(2));
    Task { spec, data: "points".into(), seed: 0, memory: 1 << 30, version: "0".into() }
}

fn pass() -> PassResult {
    let images = Block::from_columns((0..12).map(|i| (i as f64).sin()).collect(), 6, 2).expect("as many values");
    PassResult { images, norm: Some(2.53125) }
}

impl Checkpoints {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let checkpoint = Checkpoint::create(folder.path(), task()).expect("a folder without files");
        checkpoint.record(1, KEY, &pass()).expect("a pass");
        let valid = FILES.map(|file| fs::read(folder.path().join(file)).expect("a file of the checkpoint"));
        Checkpoints { folder, valid }
    }
}

impl Target for Checkpoints {
    fn name(&self) -> &'static str {
        "checkpoint"
    }

    fn input(&self, dice: &mut Dice) -> Vec<u8> {
        let which = u8::from(!dice.one_in(4));
        let file = &self.valid[usize::from(which)];
        let changed = match (which, dice.below(3)) {
            (_, 0) => mutate::bytes(dice, file, &[]),
            (0, _) => {
                let mut manifest: Value = serde_json::from_slice(file).expect("JSON");
                mutate::value(dice, &mut manifest);
                manifest.to_string().into_bytes()
            }
            _ => {
                let mut file = Container::of(file);
                match dice.below(3) {
                    0 => mutate::value(dice, &mut file.facts),
                    1 => mutate::value(dice, &mut file.header),
                    _ => {
                        // Other numbers with the fingerprint that older versions had.
                        mutate::numbers(dice, &mut file.data);
                        let numbers = file.data.chunks_exact(8);
                        let numbers: Vec<f64> =
                            numbers.map(|b| f64::from_le_bytes(b.try_into().expect("eight bytes"))).collect();
                        file.facts["images"] = json!(fingerprint(&numbers));
                    }
                }
                file.file()
            }
        };
        [&[which][..], &changed].concat()
    }

    fn read(&self, input: &[u8]) -> Result<bool, String> {
        let Some((which, file)) = input.split_first() else { return Ok(false) };
        for (at, valid) in self.valid.iter().enumerate() {
            let bytes = if at == usize::from(*which) { file } else { valid };
            put(&self.folder.path().join(FILES[at]), bytes)?;
        }
        let _ = Checkpoint::task_of(self.folder.path());
        let Ok(checkpoint) = Checkpoint::resume(self.folder.path(), task()) else { return Ok(false) };
        match checkpoint.recall(1, KEY) {
            Ok(Some(found)) if found == pass() => Ok(true),
            Ok(Some(_)) => Err("a pass with other numbers is accepted".into()),
            Ok(None) => Err("the pass is not found".into()),
            Err(_) => Ok(false),
        }
    }
}
