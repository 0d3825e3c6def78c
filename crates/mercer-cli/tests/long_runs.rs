//! Long fits from outside: killed, interrupted, resumed, refused.
#![allow(missing_docs)]
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A kernel that takes its time, so that a fit can be met on its way.
const KERNEL: &str = "laplacian + matern(nu=1/2)";
const OUTPUTS: [&str; 3] = ["eigenvalues.csv", "mercer.safetensors", "scores.csv"];

struct Run {
    folder: tempfile::TempDir,
}

impl Run {
    /// A folder with big.npy.
    fn new() -> Self {
        let run = Run { folder: tempfile::tempdir().expect("a folder") };
        run.put("big.npy", &npy(4500, 40, 1));
        run
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path().join(name), bytes).expect("writes");
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mercer"));
        command.args(words).current_dir(self.path()).env("NO_COLOR", "1");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn start(&self, words: &[&str]) -> Child {
        self.command(words).spawn().expect("starts")
    }

    fn output(&self, words: &[&str]) -> Output {
        self.command(words).output().expect("runs")
    }

    fn ok(&self, words: &[&str]) -> String {
        let output = self.output(words);
        assert!(output.status.success(), "{words:?}: {}", error_of(&output));
        String::from_utf8(output.stdout).expect("text")
    }

    fn fails(&self, code: i32, words: &[&str]) -> String {
        let output = self.output(words);
        let error = error_of(&output);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {error}");
        assert!(!error.contains("panicked"), "{error}");
        error
    }

    /// The files that were written under a prefix, in bytes.
    fn written(&self, prefix: &str) -> Vec<Option<Vec<u8>>> {
        OUTPUTS.iter().map(|end| fs::read(self.path().join(format!("{prefix}.{end}"))).ok()).collect()
    }

    /// How many passes a checkpoint has.
    fn passes(&self, folder: &str) -> usize {
        self.names(folder).iter().filter(|n| n.starts_with("pass-")).count()
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path().join(folder)) else { return Vec::new() };
        let mut names: Vec<String> = entries.filter_map(|e| e.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    fn exists(&self, name: &str) -> bool {
        self.path().join(name).exists()
    }

    /// Waits until a checkpoint has this many passes; returns false if the command ends earlier.
    fn wait_for(&self, child: &mut Child, folder: &str, passes: usize) -> bool {
        while child.try_wait().expect("waits").is_none() {
            if self.exists(&format!("{folder}/pass-{passes:04}.safetensors")) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        false
    }
}

fn error_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A table as NPY: points around nine centres.
fn npy(n: usize, d: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut uniform = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let centres: Vec<f64> = (0..9 * d).map(|_| 8.0 * uniform()).collect();
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({n}, {d}), }}");
    header += &" ".repeat(63 - (10 + header.len()) % 64);
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(header.len() as u16).to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    for i in 0..n {
        for j in 0..d {
            let noise = (0..4).map(|_| uniform()).sum::<f64>();
            bytes.extend_from_slice(&(centres[i % 9 * d + j] + 1.7 * noise).to_le_bytes());
        }
    }
    bytes
}

/// `mercer fit` of big.npy with these words more.
fn fit<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["fit", "big.npy", "--kernel", KERNEL, "-k", "5", "--tolerance", "1e-9", "--threads", "1"];
    words.extend_from_slice(more);
    words
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().expect("kill");
    assert!(status.success());
}

/// Numbers between 0 and 1 that look random.
fn moments(seed: u64) -> impl Iterator<Item = f64> {
    (1..).map(move |i| ((i * 7 + seed * 3) as f64 * 0.618_033_988_75).fract())
}

#[test]
fn a_fit_that_is_killed_again_and_again_ends_with_the_same_files() {
    let run = Run::new();
    let start = Instant::now();
    run.ok(&fit(&["-o", "plain"]));
    let whole = start.elapsed();
    let plain = run.written("plain");
    assert!(plain.iter().all(Option::is_some));
    for seed in 0..2 {
        let (folder, prefix) = (format!("D{seed}"), format!("out{seed}"));
        let (mut resume, mut most, mut kills) = (false, 0, 0);
        for moment in moments(seed) {
            let mut words = fit(&["--checkpoint", &folder, "-o", &prefix]);
            if resume {
                words.push("--resume");
            }
            let mut child = run.start(&words);
            // Killed early at first, and then let go.
            if kills < 4 {
                std::thread::sleep(whole.mul_f64(0.7 * moment));
                kills += 1;
                child.kill().expect("kills");
            }
            let output = child.wait_with_output().expect("ends");
            if output.status.success() {
                break;
            }
            if kills >= 4 && output.status.code().is_some() {
                panic!("{words:?}: {}", error_of(&output));
            }
            let there = run.written(&prefix).iter().any(Option::is_some);
            let passes = run.passes(&folder);
            assert!(there || passes >= most, "{most} passes were there, {passes} are left, and no results");
            most = passes;
            resume = run.exists(&format!("{folder}/checkpoint.json"));
        }
        assert!(run.written(&prefix) == plain, "other files after {kills} kills");
        assert!(!run.exists(&folder), "the checkpoint is still there: {:?}", run.names(&folder));
    }
}

#[test]
fn a_fit_that_is_killed_after_each_pass_ends_with_the_same_files() {
    let run = Run::new();
    run.ok(&fit(&["-o", "plain"]));
    let words = |passes: usize| {
        let mut words = fit(&["--checkpoint", "D", "-o", "out"]);
        if passes > 1 {
            words.push("--resume");
        }
        words
    };
    let mut pass = 1;
    loop {
        let mut child = run.start(&words(pass));
        let met = run.wait_for(&mut child, "D", pass);
        if met {
            child.kill().expect("kills");
        }
        let output = child.wait_with_output().expect("ends");
        if !met {
            assert!(output.status.success(), "{}", error_of(&output));
            break;
        }
        pass += 1;
    }
    assert!(pass > 2, "{pass} passes");
    assert!(run.written("out") == run.written("plain"));
}

/// The results are what all the work was for: as long as they are not written, the checkpoint is needed.
#[test]
fn the_checkpoint_stays_until_the_results_are_written() {
    let run = Run::new();
    let mut child = run.start(&fit(&["--checkpoint", "D", "-o", "out"]));
    assert!(run.wait_for(&mut child, "D", 1), "it was done too soon");
    // Nothing could be seen of it before the work began.
    fs::create_dir(run.path().join("out.scores.csv")).expect("makes");
    let output = child.wait_with_output().expect("ends");
    let error = error_of(&output);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("out.scores.csv"), "{error}");
    assert!(run.passes("D") > 0, "the work is done, the results cannot be written, and the passes are gone");
    // And the fit resumes from there.
    fs::remove_dir(run.path().join("out.scores.csv")).expect("removes");
    run.ok(&fit(&["--checkpoint", "D", "--resume", "-o", "out"]));
    assert!(run.written("out").iter().all(Option::is_some) && !run.exists("D"));
}

#[test]
fn an_interrupted_fit_prints_how_to_resume_and_resumes() {
    let run = Run::new();
    fs::rename(run.path().join("big.npy"), run.path().join("it's big.npy")).expect("renames");
    let words = |more: &[&'static str]| {
        let mut words = fit(more);
        words[1] = "it's big.npy";
        words
    };
    run.ok(&words(&["-o", "plain"]));
    let mut child = run.start(&words(&["--checkpoint", "D", "-o", "out"]));
    assert!(run.wait_for(&mut child, "D", 1), "it was done before it could be interrupted");
    signal(&child, "INT");
    let output = child.wait_with_output().expect("ends");
    let error = error_of(&output);
    assert_eq!(output.status.code(), Some(130), "{error}");
    assert!(output.stdout.is_empty() && run.written("out").iter().all(Option::is_none), "results of half a fit");
    let left: Vec<String> = run.names(".").into_iter().filter(|n| n.contains("tmp")).collect();
    assert!(left.is_empty() && !run.names("D").iter().any(|n| n.contains("tmp")), "{left:?} {:?}", run.names("D"));
    let hint = error.lines().find_map(|l| l.strip_prefix("resume with: mercer ")).expect(&error).to_string();
    assert!(hint.contains("--resume") && hint.contains("--checkpoint D"), "{hint}");
    let passes = run.passes("D");
    let count = if passes == 1 { "1 pass saved".to_string() } else { format!("{passes} passes saved") };
    assert!(error.contains(&count), "{passes} passes, and it says: {error}");
    // The very words of the hint.
    let binary = env!("CARGO_BIN_EXE_mercer");
    let again = Command::new("sh").args(["-c", &format!("'{binary}' {hint}")]).current_dir(run.path()).output();
    let again = again.expect("runs");
    assert!(again.status.success(), "{hint}: {}", error_of(&again));
    assert!(run.written("out") == run.written("plain") && !run.exists("D"));
}

#[test]
fn an_interrupted_fit_writes_a_checkpoint_unasked() {
    let run = Run::new();
    let start = Instant::now();
    run.ok(&fit(&["-o", "plain"]));
    let whole = start.elapsed();
    let mut kept = 0;
    for share in [0.05, 0.4, 0.6, 0.7] {
        let child = run.start(&fit(&["-o", "out"]));
        std::thread::sleep(whole.mul_f64(share));
        signal(&child, "INT");
        let output = child.wait_with_output().expect("ends");
        let error = error_of(&output);
        if output.status.success() {
            OUTPUTS.iter().for_each(|end| fs::remove_file(run.path().join(format!("out.{end}"))).expect("removes"));
            continue;
        }
        // Before the handler is installed, the signal itself ends the process.
        if output.status.code().is_none() {
            continue;
        }
        assert_eq!(output.status.code(), Some(130), "{error}");
        assert!(error.contains("interrupted"), "nothing is said: {error:?}");
        assert!(run.written("out").iter().all(Option::is_none), "results of half a fit");
        if !error.contains("resume with") {
            assert!(!run.exists("out.checkpoint"), "a checkpoint that nobody tells of: {error}");
            continue;
        }
        kept += 1;
        assert!(run.passes("out.checkpoint") > 0);
        run.ok(&fit(&["-o", "out", "--checkpoint", "out.checkpoint", "--resume"]));
        assert!(run.written("out") == run.written("plain") && !run.exists("out.checkpoint"));
        OUTPUTS.iter().for_each(|end| fs::remove_file(run.path().join(format!("out.{end}"))).expect("removes"));
    }
    assert!(kept > 0, "no moment was right");
}

#[test]
fn scores_on_standard_output_are_complete_or_absent() {
    let run = Run::new();
    let mut child = run.start(&fit(&["--checkpoint", "D", "-o", "-"]));
    assert!(run.wait_for(&mut child, "D", 1));
    signal(&child, "INT");
    let output = child.wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(130));
    assert!(output.stdout.is_empty());
    let resumed = run.ok(&fit(&["--checkpoint", "D", "--resume", "-o", "-"]));
    assert_eq!(resumed, run.ok(&fit(&["-o", "-"])));
}

/// A decomposition of a stored matrix does not check the flag; the user still gets a message.
#[test]
fn a_dense_fit_can_be_interrupted_and_says_so() {
    let run = Run::new();
    run.put("big.npy", &npy(3600, 5, 2));
    let child = run.start(&["fit", "big.npy", "--kernel", "gaussian", "-k", "500", "-o", "out"]);
    std::thread::sleep(Duration::from_millis(900));
    signal(&child, "INT");
    let output = child.wait_with_output().expect("ends");
    let error = error_of(&output);
    assert_eq!(output.status.code(), Some(130), "{error}");
    assert!(error.contains("interrupted"), "nothing is said: {error:?}");
    assert_eq!(run.names("."), ["big.npy"]);
}

#[test]
fn a_checkpoint_of_other_data_or_other_options_is_refused_and_unchanged() {
    let run = Run::new();
    let mut child = run.start(&fit(&["--checkpoint", "D", "-o", "out"]));
    assert!(run.wait_for(&mut child, "D", 1));
    child.kill().expect("kills");
    child.wait().expect("ends");
    let before: Vec<String> = run.names("D").into_iter().filter(|n| !n.starts_with('.')).collect();
    run.put("other.npy", &npy(4500, 40, 2));
    run.put("longer.npy", &npy(4501, 40, 1));
    let change = |at: usize, word: &'static str| {
        let mut words = fit(&["--checkpoint", "D", "--resume", "-o", "out"]);
        words[at] = word;
        words
    };
    for (what, words) in [
        ("data", change(1, "other.npy")),
        ("data", change(1, "longer.npy")),
        ("kernel", change(3, "laplacian")),
        ("components", change(5, "6")),
        ("components", change(5, "0.5")),
        ("tolerance", change(7, "1e-8")),
        ("seed", fit(&["--checkpoint", "D", "--resume", "--seed", "3"])),
        ("standardise", fit(&["--checkpoint", "D", "--resume", "--scale"])),
        ("data", fit(&["--checkpoint", "D", "--resume", "--select", "x1:x39"])),
    ] {
        let error = run.fails(1, &words);
        assert!(error.contains(what) && error.contains("help"), "{words:?}: {error}");
    }
    // A new fit does not write over it.
    let error = run.fails(1, &fit(&["--checkpoint", "D"]));
    assert!(error.contains("already") && error.contains("--resume"), "{error}");
    let after: Vec<String> = run.names("D").into_iter().filter(|n| !n.starts_with('.')).collect();
    assert_eq!(before, after);
    // Threads and memory may be others.
    let mut words = fit(&["--checkpoint", "D", "--resume", "-o", "out", "--memory", "300000000"]);
    words[9] = "2";
    run.ok(&words);
    run.ok(&fit(&["-o", "plain"]));
    assert!(run.written("out") == run.written("plain"));
}

#[test]
fn a_damaged_checkpoint_is_refused_with_its_file() {
    let run = Run::new();
    let fresh = |name: &str| -> PathBuf {
        let mut child = run.start(&fit(&["--checkpoint", name]));
        assert!(run.wait_for(&mut child, name, 2), "two passes");
        child.kill().expect("kills");
        child.wait().expect("ends");
        run.path().join(name)
    };
    let folder = fresh("A");
    let pass = folder.join("pass-0002.safetensors");
    let bytes = fs::read(&pass).expect("a pass");
    fs::write(&pass, &bytes[..bytes.len() - 100]).expect("writes");
    let error = run.fails(1, &fit(&["--checkpoint", "A", "--resume"]));
    assert!(error.contains("pass-0002") && error.contains("help"), "cut off: {error}");
    let mut changed = bytes.clone();
    changed[bytes.len() - 1000] ^= 1;
    fs::write(&pass, &changed).expect("writes");
    let error = run.fails(1, &fit(&["--checkpoint", "A", "--resume"]));
    assert!(error.contains("pass-0002"), "one bit: {error}");

    fs::write(folder.join("checkpoint.json"), "{}").expect("writes");
    let error = run.fails(1, &fit(&["--checkpoint", "A", "--resume"]));
    assert!(error.contains('A'), "{error}");
    fs::remove_file(folder.join("checkpoint.json")).expect("removes");
    let error = run.fails(1, &fit(&["--checkpoint", "A", "--resume"]));
    assert!(error.contains("no checkpoint") && error.contains("help"), "{error}");
}

#[test]
fn a_failed_call_leaves_no_checkpoint_behind() {
    let run = Run::new();
    let error = run.fails(1, &fit(&["--checkpoint", "D", "--memory", "10000000"]));
    assert!(error.contains("budget") || error.contains("memory"), "{error}");
    let output = run.output(&fit(&["--checkpoint", "D", "-o", "out"]));
    assert!(output.status.success(), "the call after the one that was refused: {}", error_of(&output));
}

#[test]
fn an_interrupt_before_the_first_pass_leaves_no_checkpoint() {
    let run = Run::new();
    let mut child = run.start(&fit(&["--checkpoint", "D", "-o", "out"]));
    while !run.exists("D/checkpoint.json") && child.try_wait().expect("waits").is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    signal(&child, "INT");
    let output = child.wait_with_output().expect("ends");
    let error = error_of(&output);
    if output.status.code() == Some(130) && run.passes("D") == 0 {
        // Either the same command works again, or its message names --resume.
        let again = run.output(&fit(&["--checkpoint", "D", "-o", "out"]));
        assert!(error.contains("--resume") || again.status.success(), "{error}\nand then: {}", error_of(&again));
    }
}

#[test]
fn senseless_options_are_usage_errors() {
    let run = Run { folder: tempfile::tempdir().expect("a folder") };
    assert!(run.fails(2, &["fit", "iris", "--kernel", "gaussian", "--resume"]).contains("--checkpoint"));
    assert!(run.fails(2, &["fit", "iris", "--checkpoint", "D"]).contains("--kernel"));
    assert!(
        run.fails(1, &["fit", "iris", "--kernel", "gaussian", "--checkpoint", "D", "--resume"])
            .contains("no checkpoint")
    );
    assert_eq!(run.names("."), [""; 0]);
    // A small fit has no passes to keep, and leaves nothing behind.
    run.ok(&["fit", "iris", "--kernel", "gaussian", "--checkpoint", "D", "-q"]);
    assert_eq!(run.names("."), [""; 0]);
}

#[test]
fn no_progress_is_written_without_a_terminal() {
    let run = Run::new();
    let output = run.output(&fit(&["-o", "out"]));
    assert!(output.status.success());
    assert_eq!(error_of(&output), "");
    assert!(!String::from_utf8_lossy(&output.stdout).contains('\r'));
}

#[test]
fn the_fit_of_a_given_gram_matrix_follows_the_plan() {
    let run = Run { folder: tempfile::tempdir().expect("a folder") };
    // x x' of points on a line: few points are done from the stored matrix.
    let n = 700;
    let rows: String = (0..n)
        .map(|i| (0..n).map(|j| format!("{}", ((i * 7 % n) * (j * 7 % n)) as f64 / 1e3)).collect::<Vec<_>>().join(","))
        .collect::<Vec<_>>()
        .join("\n");
    run.put("gram.csv", rows.as_bytes());
    let words = ["fit", "gram.csv", "--header", "no", "--kernel", "precomputed", "-k", "3"];
    let done = run.ok(&words);
    let plan = run.ok(&[&words[..], &["--explain"]].concat());
    let dense = done.contains("all eigenpairs of the stored");
    assert_eq!(plan.contains("dense"), dense, "{plan}\n{done}");
}

#[test]
fn the_certificate_is_printed_in_short_and_in_full() {
    let run = Run::new();
    let summary = run.ok(&fit(&["-o", "out"]));
    for part in ["accuracy", "eigenvalues accurate to", "missed", "passes"] {
        assert!(summary.contains(part), "no {part} in:\n{summary}");
    }
    let info = run.ok(&["info", "out.mercer.safetensors"]);
    for part in ["at least", "at most", "residual", "sine of angle", "rounding", "no eigenvalue above", "passes"] {
        assert!(info.contains(part), "no {part} in:\n{info}");
    }
    let json = run.ok(&["info", "out.mercer.safetensors", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let certificate = &value["certificate"];
    for key in ["enclosures", "residuals", "clusters", "missed", "rounding", "passes"] {
        assert!(!certificate[key].is_null(), "no {key} in {certificate}");
    }
    for i in 0..5 {
        let value = value["eigenvalues"][i].as_f64().expect("a number");
        let bounds = &certificate["enclosures"][i];
        let (low, high) = (bounds[0].as_f64().expect("a number"), bounds[1].as_f64().expect("a number"));
        assert!(low <= value && value <= high, "{low} {value} {high}");
    }
}
