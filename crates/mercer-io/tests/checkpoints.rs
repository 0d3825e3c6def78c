//! Checkpoints: a resumed fit gives the same bits; damaged checkpoints and those of other fits are refused.
#![allow(missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use mercer::exec::{Journal, PassResult};
use mercer::parts::KernelPcaParts;
use mercer::{Block, ErrorKind, Exec, Kernel, KernelPca, Points, Result};
use mercer_io::{Checkpoint, Task};

/// Points that are the same everywhere: a curve in three dimensions, bent by the seed.
fn points(n: usize, seed: usize) -> Points {
    Points::from_fn(n, 3, |i, j| {
        let t = (i * (7 + 2 * seed) % n) as f64 / n as f64;
        ((j + 1) as f64 * 9.0 * t + seed as f64).sin() + 0.1 * (97.0 * t * (j + 2) as f64).cos()
    })
}

fn task() -> Task {
    Task { spec: pca(2).into(), data: "points".into(), seed: 0, memory: 1 << 30, version: "0".into() }
}

fn pca(k: usize) -> KernelPca {
    KernelPca::new("laplacian".parse::<Kernel>().expect("a kernel")).components(k)
}

fn fit(x: &Points, k: usize, journal: Arc<dyn Journal>) -> Result<KernelPcaParts> {
    pca(k).fit_with(x, &Exec::new().journal(journal))?.to_parts()
}

/// The passes of a fit, as a journal gets them.
#[derive(Default)]
struct Told(Mutex<Vec<(usize, u64, PassResult)>>);

impl Journal for Told {
    fn recall(&self, _: usize, _: u64) -> Result<Option<PassResult>> {
        Ok(None)
    }

    fn record(&self, pass: usize, key: u64, result: &PassResult) -> Result<()> {
        self.0.lock().expect("no panic").push((pass, key, result.clone()));
        Ok(())
    }
}

fn told(x: &Points, k: usize) -> (KernelPcaParts, Vec<(usize, u64, PassResult)>) {
    let told = Arc::new(Told::default());
    let parts = fit(x, k, told.clone()).expect("fits");
    let passes = told.0.lock().expect("no panic").clone();
    assert!(passes.len() > 1, "{} passes", passes.len());
    (parts, passes)
}

fn file(folder: &Path, pass: usize) -> PathBuf {
    folder.join(format!("pass-{pass:04}.safetensors"))
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("a folder")
        .map(|e| e.expect("an entry").file_name().into_string().expect("text"))
        .collect();
    names.sort();
    names
}

/// A folder with the checkpoint of the first passes of a fit.
fn saved(passes: &[(usize, u64, PassResult)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let checkpoint = Checkpoint::create(folder.path().join("c"), task()).expect("new");
    for (pass, key, result) in passes {
        checkpoint.record(*pass, *key, result).expect("writes");
    }
    folder
}

#[test]
fn written_values_are_read_back_with_every_bit() {
    let (_, passes) = told(&points(650, 0), 4);
    let folder = saved(&passes);
    let checkpoint = Checkpoint::resume(folder.path().join("c"), task()).expect("there");
    assert_eq!(checkpoint.passes(), passes.len());
    for (pass, key, result) in &passes {
        let found = checkpoint.recall(*pass, *key).expect("reads").expect("is there");
        assert_eq!(&found, result);
        let bits = |r: &PassResult| r.images.as_slice().iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&found), bits(result));
    }
    assert_eq!(checkpoint.recall(passes.len() + 1, 0).expect("reads"), None);
}

#[test]
fn a_fit_resumes_after_any_pass_with_the_same_bits() {
    for n in [650, 1700] {
        let x = points(n, 0);
        let (plain, passes) = told(&x, 4);
        for kept in 0..=passes.len() {
            let folder = saved(&passes[..kept]);
            let checkpoint = Arc::new(Checkpoint::resume(folder.path().join("c"), task()).expect("there"));
            assert_eq!(checkpoint.passes(), kept);
            assert!(fit(&x, 4, checkpoint.clone()).expect("goes on") == plain, "{n} points from pass {kept} on");
            assert_eq!(checkpoint.passes(), passes.len());
            // As left behind by a process that was killed while it wrote.
            fs::write(folder.path().join("c/.a1b2c3.mercer-tmp"), "half of a pass").expect("writes");
            checkpoint.remove().expect("removes");
            assert_eq!(names(folder.path()), [""; 0], "nothing is left");
        }
    }
}

#[test]
fn a_checkpoint_in_memory_moves_to_a_folder_and_resumes() {
    let x = points(650, 0);
    let (plain, passes) = told(&x, 4);
    let memory = Arc::new(Checkpoint::in_memory(task()));
    assert!(fit(&x, 4, memory.clone()).expect("fits") == plain);
    assert_eq!((memory.passes(), memory.folder()), (passes.len(), None));
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("deep/er");
    memory.save_to(&place).expect("saves");
    let again = memory.save_to(&place).expect_err("there is one already");
    assert!(again.to_string().contains("already") && again.remedy().is_some(), "{again}");
    let resumed = Arc::new(Checkpoint::resume(&place, task()).expect("there"));
    assert!(fit(&x, 4, resumed).expect("goes on") == plain);
}

#[test]
fn a_checkpoint_of_another_fit_is_refused_with_a_message() {
    let folder = saved(&told(&points(650, 0), 4).1);
    let place = folder.path().join("c");
    let kernel = |text: &str| KernelPca::new(text.parse().expect("a kernel")).components(2);
    for (what, task) in [
        ("data", Task { data: "others".into(), ..task() }),
        ("kernel", Task { spec: kernel("gaussian").into(), ..task() }),
        ("components", Task { spec: pca(3).into(), ..task() }),
        ("kernel", Task { spec: KernelPca::custom().components(2).into(), ..task() }),
        ("method", Task { spec: mercer::Pca::new().components(2).into(), ..task() }),
        ("tolerance", Task { spec: pca(2).tolerance(1e-9).into(), ..task() }),
        ("seed", Task { seed: 1, ..task() }),
        ("memory", Task { memory: 1 << 31, ..task() }),
        ("version", Task { version: "1".into(), ..task() }),
    ] {
        match Checkpoint::resume(&place, task) {
            Ok(_) => panic!("{what} is not the same"),
            Err(e) => {
                let text = e.to_string();
                assert!(text.contains(what) && e.remedy().is_some(), "{what}: {text}");
            }
        }
    }
    Checkpoint::resume(&place, task()).expect("the same fit");
}

#[test]
fn no_checkpoint_is_overwritten_and_none_is_invented() {
    let folder = saved(&[]);
    let error = Checkpoint::create(folder.path().join("c"), task()).expect_err("there is one already");
    assert!(error.to_string().contains("already") && error.remedy().is_some(), "{error}");
    for place in ["missing", "."] {
        let error = Checkpoint::resume(folder.path().join(place), task()).expect_err("there is none");
        assert!(error.to_string().contains("no checkpoint") && error.remedy().is_some(), "{error}");
    }
    // A file in its place.
    fs::write(folder.path().join("file"), "text").expect("writes");
    assert!(Checkpoint::create(folder.path().join("file"), task()).is_err());
    assert!(Checkpoint::resume(folder.path().join("file"), task()).is_err());
}

#[test]
fn a_damaged_manifest_is_refused() {
    for text in ["", "{", "[]", "{\"format\": 3}", "{\"format\":\"mercer-checkpoint/999\",\"task\":[]}", "\u{0}\u{1}"] {
        let folder = saved(&[]);
        fs::write(folder.path().join("c/checkpoint.json"), text).expect("writes");
        let error = Checkpoint::resume(folder.path().join("c"), task()).expect_err(text);
        assert!(!error.to_string().is_empty());
    }
    let folder = saved(&[]);
    fs::remove_file(folder.path().join("c/checkpoint.json")).expect("removes");
    let error = Checkpoint::resume(folder.path().join("c"), task()).expect_err("no manifest");
    assert!(error.to_string().contains("no checkpoint"), "{error}");
}

/// Any damage to the file of a pass gives an error of the journal that names the file, or the pass unchanged.
#[test]
fn a_damaged_pass_is_refused_wherever_the_damage_is() {
    let x = points(650, 0);
    let (_, passes) = told(&x, 2);
    let whole = {
        let folder = saved(&passes[..1]);
        fs::read(file(&folder.path().join("c"), 1)).expect("a pass")
    };
    let mut damages: Vec<(String, Vec<u8>)> = vec![("empty".into(), vec![])];
    for at in [1, 7, 8, 9, 40, 200, whole.len() / 2, whole.len() - 8, whole.len() - 1] {
        damages.push((format!("cut at {at}"), whole[..at].to_vec()));
    }
    for at in (0..whole.len()).step_by(whole.len() / 97).chain(0..16).chain(300..310) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        damages.push((format!("byte {at} changed"), bytes));
    }
    let mut longer = whole.clone();
    longer.extend_from_slice(&[0; 8]);
    damages.push(("eight bytes more".into(), longer));
    damages.push(("a header without end".into(), u64::MAX.to_le_bytes().to_vec()));
    let mut wrong = Vec::new();
    for (what, bytes) in damages {
        let folder = saved(&passes[..1]);
        let place = folder.path().join("c");
        fs::write(file(&place, 1), bytes).expect("writes");
        let checkpoint = Checkpoint::resume(&place, task()).expect("there");
        match checkpoint.recall(1, passes[0].1) {
            Ok(Some(found)) if found == passes[0].2 => {}
            Ok(found) => wrong.push(format!("{what}: {} columns", found.map_or(0, |f| f.images.b()))),
            Err(e) => {
                if !matches!(e.kind(), ErrorKind::Journal { .. }) || !e.to_string().contains("pass-0001") {
                    wrong.push(format!("{what}: {e}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The norm decides a bound of the certificate.
#[test]
fn a_pass_with_another_norm_is_refused() {
    let images = Block::from_columns(vec![1.0, 2.0, 3.0], 3, 1).expect("as many values");
    let pass = PassResult { images, norm: Some(2.5) };
    let folder = saved(&[(1, 7, pass.clone())]);
    let place = folder.path().join("c");
    let recall = || Checkpoint::resume(&place, task()).expect("there").recall(1, 7);
    assert_eq!(recall().expect("sound"), Some(pass));
    let bytes = fs::read(file(&place, 1)).expect("a pass");
    for norm in ["3.5", "2.4", "2e5"] {
        let at = bytes.windows(3).position(|w| w == b"2.5").expect("the norm");
        let mut other = bytes.clone();
        other[at..at + 3].copy_from_slice(norm.as_bytes());
        fs::write(file(&place, 1), other).expect("writes");
        assert!(recall().is_err(), "{norm}");
    }
}

#[test]
fn a_fit_stops_at_a_damaged_pass_with_a_message() {
    let x = points(650, 0);
    let (_, passes) = told(&x, 4);
    let folder = saved(&passes);
    let place = folder.path().join("c");
    let bytes = fs::read(file(&place, 2)).expect("a pass");
    fs::write(file(&place, 2), &bytes[..bytes.len() / 2]).expect("writes");
    let checkpoint = Arc::new(Checkpoint::resume(&place, task()).expect("there"));
    let error = fit(&x, 4, checkpoint).expect_err("damaged");
    assert!(matches!(error.kind(), ErrorKind::Journal { .. }), "{error}");
    assert!(error.to_string().contains("pass-0002") && error.help().is_some(), "{error}");
}

#[test]
fn a_pass_in_the_place_of_another_is_refused() {
    let (_, passes) = told(&points(650, 0), 4);
    let folder = saved(&passes);
    let place = folder.path().join("c");
    fs::copy(file(&place, 1), file(&place, 2)).expect("copies");
    let checkpoint = Checkpoint::resume(&place, task()).expect("there");
    for key in [passes[0].1, passes[1].1] {
        assert!(checkpoint.recall(2, key).is_err(), "pass 1 under the name of pass 2");
    }
    let error = checkpoint.recall(1, passes[0].1 ^ 1).expect_err("another input");
    assert!(error.to_string().contains("other work") && error.help().is_some(), "{error}");
}

/// A pass is missing in the middle: those after it are still good, and the result is the same.
#[test]
fn a_missing_pass_is_made_again() {
    let x = points(650, 0);
    let (plain, passes) = told(&x, 4);
    let folder = saved(&passes);
    let place = folder.path().join("c");
    fs::remove_file(file(&place, 1)).expect("removes");
    let checkpoint = Arc::new(Checkpoint::resume(&place, task()).expect("there"));
    assert!(fit(&x, 4, checkpoint.clone()).expect("goes on") == plain);
    checkpoint.remove().expect("removes");
    assert_eq!(names(folder.path()), [""; 0]);
}

/// Files of passes without a manifest are of an unknown fit: a new checkpoint must not use them.
#[test]
fn leftover_passes_are_not_used_for_a_new_fit() {
    // Without landmarks the first input is the same for all data of one size; so it is for operators of the user's.
    let (n, custom) = (2050, KernelPca::custom().components(3));
    let gram = |seed| {
        let x = points(n, seed);
        let kernel = "gaussian(gamma=2)".parse::<Kernel>().expect("a kernel");
        Points::from_fn(n, n, |i, j| kernel.eval(x.row(i), x.row(j)))
    };
    let (old, new) = (gram(0), gram(1));
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("c");
    let first = Arc::new(Checkpoint::create(&place, task()).expect("new"));
    custom.fit_gram_with(&old, &Exec::new().journal(first)).expect("fits");
    fs::remove_file(place.join("checkpoint.json")).expect("removes");

    let truth = custom.fit_gram(&new).expect("fits").to_parts().expect("parts");
    let Ok(second) = Checkpoint::create(&place, task()) else { return };
    match custom.fit_gram_with(&new, &Exec::new().journal(Arc::new(second))) {
        Err(e) => assert!(matches!(e.kind(), ErrorKind::Journal { .. }), "{e}"),
        Ok(model) => {
            let parts = model.to_parts().expect("parts");
            assert!(
                parts == truth,
                "the passes of other data were taken: {:?} for {:?}; {}",
                parts.eigenvalues,
                truth.eigenvalues,
                parts.certificate
            );
        }
    }
}

#[test]
fn other_files_in_the_folder_are_not_touched() {
    let (_, passes) = told(&points(650, 0), 4);
    let folder = saved(&passes);
    let place = folder.path().join("c");
    fs::write(place.join("notes.txt"), "mine").expect("writes");
    let checkpoint = Checkpoint::resume(&place, task()).expect("there");
    checkpoint.remove().expect("removes");
    assert_eq!(names(&place), ["notes.txt"]);
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_is_an_error_of_the_journal() {
    use std::os::unix::fs::PermissionsExt;
    let x = points(650, 0);
    let (_, passes) = told(&x, 4);
    let folder = saved(&passes[..1]);
    let place = folder.path().join("c");
    let checkpoint = Arc::new(Checkpoint::resume(&place, task()).expect("there"));
    let permissions = |mode| fs::set_permissions(&place, fs::Permissions::from_mode(mode)).expect("sets");
    permissions(0o555);
    let writable = fs::write(place.join("probe"), "").is_ok(); // as root everything is
    let found = fit(&x, 4, checkpoint);
    permissions(0o755);
    if !writable {
        let error = found.expect_err("cannot be written");
        assert!(matches!(error.kind(), ErrorKind::Journal { .. }) && error.help().is_some(), "{error}");
    }
}

#[test]
fn a_deleted_folder_stops_the_fit_with_a_message() {
    let x = points(650, 0);
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("c");
    let checkpoint = Arc::new(Checkpoint::create(&place, task()).expect("new"));
    fs::remove_dir_all(&place).expect("removes");
    let error = fit(&x, 4, checkpoint).expect_err("gone");
    assert!(matches!(error.kind(), ErrorKind::Journal { .. }) && error.help().is_some(), "{error}");
}

#[test]
fn only_complete_files_are_ever_in_the_folder() {
    let x = points(650, 0);
    let (_, passes) = told(&x, 4);
    let folder = saved(&passes);
    let expected: Vec<String> = std::iter::once("checkpoint.json".to_string())
        .chain((1..=passes.len()).map(|p| format!("pass-{p:04}.safetensors")))
        .collect();
    assert_eq!(names(&folder.path().join("c")), expected);
}

#[test]
fn a_checkpoint_is_of_one_process_at_a_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("c");
    let first = Checkpoint::create(&place, task()).expect("new");
    for second in [Checkpoint::resume(&place, task()), Checkpoint::create(&place, task())] {
        let error = second.expect_err("in use");
        assert!(matches!(error, mercer_io::Error::InUse { .. }) && error.remedy().is_some(), "{error}");
    }
    drop(first);
    let first = Checkpoint::resume(&place, task()).expect("free again");
    // Removed files are ignored.
    fs::remove_dir_all(&place).expect("removes");
    first.remove().expect("nothing to do");
}
