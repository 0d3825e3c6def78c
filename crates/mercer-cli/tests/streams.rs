//! Data that is read batch by batch: the same answers, in bounded memory, and nothing half done.
#![allow(missing_docs)]

mod common;

use std::fs;
use std::process::Command;

use common::Run as Folder;
use serde_json::Value;

/// 3,000 rows of four numbers and a label, as text.
fn rows(from: usize, to: usize) -> String {
    let value = |i: usize, j: usize| ((i * (2 * j + 3)) as f64 * 0.37).sin() * (j + 1) as f64 + 5.0;
    let line = |i: usize| format!("{},{},{},{},r{}\n", value(i, 0), value(i, 1), value(i, 2), value(i, 3), i % 3);
    "a,b,c,d,kind\n".to_string() + &(from..to).map(line).collect::<String>()
}

/// The folder with the same rows in every form.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.put("all.csv", &rows(0, 3000));
    fs::create_dir(folder.path().join("parts")).expect("a folder");
    for part in 0..3 {
        folder.put(&format!("parts/p{part}.csv"), &rows(1000 * part, 1000 * part + 1000));
    }
    folder.put("parts/_SUCCESS", "");
    for end in ["npy", "parquet"] {
        // The command's own writer: scores of a model that changes nothing would do, but columns are enough.
        folder.ok(&["transform", &identity(&folder), "all.csv", "-o", &format!("all.{end}")]);
    }
    folder
}

/// A model whose scores of all components are the rows turned.
fn identity(folder: &Folder) -> String {
    if !folder.path().join("turn.mercer.safetensors").exists() {
        folder.ok(&["fit", "all.csv", "-k", "4", "-o", "turn"]);
    }
    "turn.mercer.safetensors".into()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|v| v.as_f64().expect("a number")).collect()
}

fn assert_close(a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        assert!((a / b - 1.0).abs() < tolerance, "{a} {b}");
    }
}

#[test]
fn every_form_of_the_data_gives_the_same_components() {
    let folder = folder();
    let whole = json(&folder.ok(&["fit", "all.csv", "-k", "3", "--json"]));
    let inputs: [&[&str]; 4] =
        [&["all.csv"], &["parts"], &["parts/p0.csv", "parts/p1.csv", "parts/p2.csv"], &["all.parquet"]];
    for input in inputs {
        for how in [vec!["--stream"], vec!["--memory", "200K"], vec!["--stream", "--route", "svd"], vec![]] {
            let words = [&["fit"], input, &["-k", "3", "--json"], &how[..]].concat();
            let found = json(&folder.ok(&words));
            assert_close(&numbers(&found["eigenvalues"]), &numbers(&whole["eigenvalues"]), 1e-12);
            assert_eq!(found["data"]["rows"], 3000);
        }
    }
}

#[test]
fn scores_are_written_in_batches_with_their_labels() {
    let folder = folder();
    folder.ok(&["fit", "all.csv", "-k", "2", "-o", "whole", "-q"]);
    folder.ok(&["fit", "parts", "-k", "2", "-o", "parts-of", "--stream", "-q"]);
    let (a, b) = (folder.text("whole.scores.csv"), folder.text("parts-of.scores.csv"));
    assert_eq!(a.lines().count(), 3001);
    for (a, b) in a.lines().zip(b.lines()).skip(1) {
        let (a, b): (Vec<&str>, Vec<&str>) = (a.split(',').collect(), b.split(',').collect());
        assert_eq!(a[0], b[0], "labels stand first");
        for (a, b) in a[1..].iter().zip(&b[1..]) {
            let (a, b): (f64, f64) = (a.parse().expect("a number"), b.parse().expect("a number"));
            assert!((a - b).abs() < 1e-11, "{a} {b}");
        }
    }
    // The same model gives the same bytes, streamed or not, to a file or to a pipe.
    let model = "whole.mercer.safetensors";
    let piped = folder.ok(&["transform", model, "all.csv", "--errors"]);
    assert_eq!(folder.ok(&["transform", model, "all.csv", "--errors", "--stream"]), piped);
    assert_eq!(folder.ok(&["transform", model, "parts", "--errors", "--memory", "200K"]), piped);
    for format in ["csv", "tsv", "npy", "parquet"] {
        folder.ok(&["transform", model, "all.csv", "-o", &format!("one.{format}")]);
        folder.ok(&["transform", model, "parts", "-o", &format!("two.{format}"), "--stream"]);
        let numbers = |name: &str| folder.ok(&["fit", &format!("{name}.{format}"), "-k", "2", "--json"]);
        let (one, two) = (json(&numbers("one")), json(&numbers("two")));
        assert_eq!(one["eigenvalues"], two["eigenvalues"], "{format}");
    }
    let none = folder.ok(&["fit", "parts", "-k", "2", "-o", "none", "--stream", "--no-scores"]);
    assert!(none.contains("none.mercer.safetensors") && !none.contains("none.scores.csv"));
}

#[test]
fn landmarks_of_batches_and_of_all_rows() {
    let folder = folder();
    let exact = json(&folder.ok(&["fit", "all.csv", "--kernel", "gaussian(gamma=0.1)", "-k", "3", "--json"]));
    let truth = numbers(&exact["sum_of_squares"]);
    for more in
        [vec![], vec!["--stream"], vec!["--landmarks", "rpcholesky"], vec!["--landmarks", "uniform", "--stream"]]
    {
        let words =
            ["fit", "all.csv", "--kernel", "gaussian(gamma=0.1)", "-k", "3", "--json", "--approx", "nystroem=200"];
        let found = json(&folder.ok(&[&words[..], &more].concat()));
        let approximation = &found["certificate"]["approximation"];
        // Randomly pivoted Cholesky stops where nothing but rounding is left.
        assert!(approximation["landmarks"].as_u64().is_some_and(|m| (100..=200).contains(&m)), "{more:?}");
        let error = approximation["trace_error"].as_f64().expect("a number");
        for (value, truth) in numbers(&found["sum_of_squares"]).iter().zip(&truth) {
            assert!(*value <= truth * (1.0 + 1e-9) && truth - value <= error, "{more:?}: {value} {truth} {error}");
        }
    }
    let grown = folder.ok(&["fit", "all.csv", "--kernel", "gaussian(gamma=0.1)", "--trace-error", "0.05", "-k", "2"]);
    assert!(grown.contains("approximate"), "{grown}");
    // Landmarks from a file: here all rows, which is exact.
    let all = ["fit", "all.csv", "--kernel", "gaussian(gamma=0.1)", "-k", "3", "--json", "--landmarks", "all.csv"];
    assert_close(&numbers(&json(&folder.ok(&all))["sum_of_squares"]), &truth, 1e-8);
    let plan = folder.ok(&["fit", "all.csv", "--kernel", "gaussian", "--approx", "nystroem=50", "--explain"]);
    assert!(plan.contains("landmarks (50 landmarks by k-means: requested)"), "{plan}");
    // A model of landmarks is a model: saved, described, applied.
    folder.ok(&[
        "fit",
        "parts",
        "--kernel",
        "gaussian",
        "--approx",
        "nystroem=50",
        "-k",
        "2",
        "-o",
        "m",
        "-q",
        "--stream",
    ]);
    assert!(folder.ok(&["info", "m.mercer.safetensors"]).contains("50 landmarks"));
    assert_eq!(folder.ok(&["transform", "m.mercer.safetensors", "all.csv"]).lines().count(), 3001);
    folder.ok(&["plot", "m.mercer.safetensors", "-o", "m.svg"]);
}

#[test]
fn exact_kernel_pca_of_a_mapped_file() {
    let folder = folder();
    let kernel = ["--kernel", "gaussian(gamma=0.1)", "-k", "2", "--json"];
    let whole = json(&folder.ok(&[&["fit", "all.npy"], &kernel[..]].concat()));
    let mapped = json(&folder.ok(&[&["fit", "all.npy", "--stream", "--approx", "none"], &kernel[..]].concat()));
    assert_eq!(whole["eigenvalues"], mapped["eigenvalues"]);
    let refused = folder.fails(1, &[&["fit", "all.parquet", "--stream", "--approx", "none"], &kernel[..]].concat());
    assert!(refused.contains("--approx nystroem"), "{refused}");
}

#[test]
fn a_broken_row_names_its_file_and_line_and_nothing_is_written() {
    let folder = folder();
    folder.put("old.scores.csv", "old");
    let broken = |text: &str, wrong: &str| text.replacen("r2\n", wrong, 301).replacen(wrong, "r2\n", 300);
    for (name, wrong, said) in [
        ("word", "r2\nfour,1,2,3,r1\n", "\"four\" is not a number"),
        ("ragged", "r2\n1,2,3\n", "3 fields, expected 5"),
        ("gap", "r2\n,1,2,3,r1\n", "missing"),
        ("infinite", "r2\ninf,1,2,3,r1\n", "not finite"),
    ] {
        fs::create_dir(folder.path().join(name)).expect("a folder");
        folder.put(&format!("{name}/a.csv"), &rows(0, 1000));
        folder.put(&format!("{name}/b.csv"), &broken(&rows(1000, 2000), wrong));
        let before = folder.files();
        let error = folder.fails(1, &["fit", name, "-k", "2", "--stream", "-o", "old"]);
        assert!(error.contains("b.csv") && error.contains(said), "{error}");
        assert!(error.contains("b.csv:904:") || error.contains("row 90"), "{error}");
        assert_eq!(folder.text("old.scores.csv"), "old");
        assert_eq!(folder.files(), before, "nothing is left behind");
        if name == "gap" {
            folder.ok(&["fit", name, "-k", "2", "--stream", "--missing", "drop"]);
            let refused = folder.fails(2, &["fit", name, "-k", "2", "--stream", "--missing", "mean"]);
            assert!(refused.contains("--missing drop"), "{refused}");
        }
    }
}

#[test]
fn a_truncated_file_leaves_no_half_written_output() {
    let folder = folder();
    folder.put("old.csv", "old");
    for name in ["all.parquet", "all.npy"] {
        let bytes = fs::read(folder.path().join(name)).expect("reads");
        fs::create_dir_all(folder.path().join("cut")).expect("a folder");
        let end = name.rsplit('.').next().expect("an end");
        fs::write(folder.path().join(format!("cut/a.{end}")), &bytes).expect("writes");
        fs::write(folder.path().join(format!("cut/b.{end}")), &bytes[..bytes.len() * 2 / 3]).expect("writes");
        let before = folder.files();
        let words = ["transform", "turn.mercer.safetensors", "cut", "--stream", "-o", "old.csv"];
        let error = folder.fails(1, &words);
        assert!(error.contains(&format!("b.{end}")), "{error}");
        assert_eq!((folder.text("old.csv").as_str(), folder.files()), ("old", before));
        fs::remove_dir_all(folder.path().join("cut")).expect("removes");
    }
}

#[test]
fn usage_errors_have_messages() {
    let folder = folder();
    for (words, said) in [
        (vec!["fit", "-", "--stream"], "standard input"),
        (vec!["fit", "all.csv", "-", "-k", "2"], "standard input"),
        (vec!["fit", "all.csv", "--approx", "nystroem=0", "--kernel", "gaussian"], "number of landmarks"),
        (vec!["fit", "all.csv", "--approx", "all", "--kernel", "gaussian"], "expected auto"),
        (vec!["fit", "all.csv", "--approx", "none", "--landmarks", "uniform", "--kernel", "gaussian"], "exact"),
        (vec!["fit", "all.csv", "--no-scores", "-o", "-"], "--no-scores"),
    ] {
        let error = folder.fails(2, &words);
        assert!(error.contains(said), "{words:?}: {error}");
    }
    folder.put("other.csv", "a,b,c,e,kind\n1,2,3,4,x\n");
    let error = folder.fails(1, &["fit", "all.csv", "other.csv", "-k", "2"]);
    assert!(error.contains("other.csv"), "{error}");
    let error = folder.fails(1, &["fit", "all.csv", "--kernel", "sigmoid(gamma=0.1)", "--approx", "nystroem=10"]);
    assert!(error.contains("negative"), "{error}");
}

/// Peak memory stays at the budget when the file is many times larger.
#[cfg(target_os = "linux")]
#[test]
fn memory_is_bounded() {
    let folder = Folder::new();
    // 80 MB of numbers, in a file of the simplest kind.
    let (n, d) = (200_000usize, 50usize);
    let mut text = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({n}, {d}), }}");
    text += &" ".repeat(117 - text.len());
    text += "\n";
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    for i in 0..n * d {
        bytes.extend((((i * 7919) % 10_007) as f64 * ((i % d) + 1) as f64).to_le_bytes());
    }
    fs::write(folder.path().join("big.npy"), bytes).expect("writes");
    let peak = |words: &[&str]| -> u64 {
        let mut child = Command::new(env!("CARGO_BIN_EXE_mercer"))
            .args(words)
            .current_dir(folder.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("starts");
        let status = format!("/proc/{}/status", child.id());
        let mut most = 0;
        while child.try_wait().expect("waits").is_none() {
            let text = fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find_map(|l| l.strip_prefix("VmHWM:"));
            let now = line.and_then(|l| l.trim().strip_suffix("kB")).and_then(|l| l.trim().parse::<u64>().ok());
            most = most.max(now.unwrap_or(0));
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        assert!(child.wait().expect("waits").success());
        most * 1024
    };
    let bounded = peak(&["fit", "big.npy", "-k", "5", "--memory", "40M", "--no-scores", "-o", "small"]);
    assert!(bounded < 60_000_000, "{bounded} bytes");
    let landmarks = ["--kernel", "gaussian", "--approx", "nystroem=100", "--memory", "40M"];
    let bounded = peak(&[&["fit", "big.npy", "-k", "5", "-o", "small"], &landmarks[..]].concat());
    assert!(bounded < 75_000_000, "{bounded} bytes");
}

/// Columns chosen in another order than that of the file are named right.
#[test]
fn a_choice_of_columns_has_its_own_order() {
    let folder = folder();
    for (input, kernel) in [("all.csv", vec![]), ("all.csv", vec!["--kernel", "gaussian", "--approx", "nystroem=50"])] {
        let words =
            [&["fit", input, "--select", "c,a,b", "-k", "2", "-o", "chosen", "--stream", "-q"], &kernel[..]].concat();
        folder.ok(&words);
        let again = folder.ok(&["transform", "chosen.mercer.safetensors", input, "--select", "a,b,c"]);
        let fitted = folder.text("chosen.scores.csv");
        let last = |text: &str| text.lines().nth(7).and_then(|l| l.rsplit(',').next().map(String::from));
        assert_eq!(last(&again), last(&fitted), "{kernel:?}");
        let info = json(&folder.ok(&["info", "chosen.mercer.safetensors", "--json"]));
        assert_eq!(info["columns"], serde_json::json!(["c", "a", "b"]));
    }
    let exact = ["--kernel", "gaussian", "--approx", "none", "--stream", "--select", "x3,x1"];
    folder.fails(1, &[&["fit", "all.npy", "-k", "2"], &exact[..]].concat());
}

#[cfg(unix)]
#[test]
fn failed_outputs_are_not_reported_as_errors_of_the_input() {
    let folder = folder();
    let model = identity(&folder);
    let binary = env!("CARGO_BIN_EXE_mercer");
    let shell = |script: String| {
        let output = Command::new("sh").args(["-c", &script]).current_dir(folder.path()).output().expect("runs");
        String::from_utf8(output.stderr).expect("text")
    };
    assert_eq!(
        shell(format!("{binary} transform {model} all.csv --stream | head -n 1")),
        "",
        "a closed pipe is no error"
    );
    let full = shell(format!("{binary} transform {model} all.csv --stream > /dev/full"));
    assert!(full.contains("output") && !full.contains("all.csv"), "{full}");
    let npy = folder.fails(2, &["transform", &model, "all.csv", "--stream", "--format", "npy"]);
    assert!(npy.contains("standard output"), "{npy}");
    folder.fails(2, &["transform", &model, "all.csv", "-o", "x.csv.gz"]);
    folder.fails(2, &["fit", "all.csv", "--kernel", "gaussian", "--stream", "--checkpoint", "c"]);
}
