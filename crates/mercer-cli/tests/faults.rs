//! Faults from outside: inputs that change, signals, two processes at one output, closed streams, tight limits.
#![allow(missing_docs)]
#![cfg(unix)]

mod common;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::Run;

/// Rows of four numbers, without names.
fn rows(from: usize, to: usize) -> String {
    let value = |i: usize, j: usize| ((i * (2 * j + 3)) as f64 * 0.37).sin() * (j + 1) as f64 + 5.0;
    let line = |i: usize| format!("{},{},{},{}\n", value(i, 0), value(i, 1), value(i, 2), value(i, 3));
    (from..to).map(line).collect()
}

/// An NPY file of float64.
fn npy(n: usize, d: usize) -> Vec<u8> {
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({n}, {d}), }}");
    header += &" ".repeat(63 - (10 + header.len()) % 64);
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(header.len() as u16).to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    let values = (0..n * d).map(|i| ((i * i % 10_007) as f64 * 0.37).sin());
    bytes.extend(values.flat_map(f64::to_le_bytes));
    bytes
}

fn start(run: &Run, words: &[&str]) -> Child {
    let mut command = run.command(words);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("starts")
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().expect("kill");
    assert!(status.success());
}

/// Waits until a file is there; fails if the command was sooner done.
fn wait_for(run: &Run, child: &mut Child, name: &str) {
    while !run.path().join(name).exists() {
        if child.try_wait().expect("waits").is_some() {
            panic!("it ended before {name} was there");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// What a command says when it fails with this code, soon.
fn ends(mut child: Child, code: i32) -> String {
    let start = Instant::now();
    while child.try_wait().expect("waits").is_none() {
        if start.elapsed() > Duration::from_secs(60) {
            child.kill().expect("kills");
            panic!("it did not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().expect("ends");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{error}");
    assert!(!error.contains("panicked"), "{error}");
    error
}

/// The command by a shell, for redirections and limits.
fn shell(run: &Run, script: &str) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(run.path()).env("NO_COLOR", "1");
    command.env("MERCER", env!("CARGO_BIN_EXE_mercer")).output().expect("runs")
}

fn unfinished(run: &Run) -> Vec<String> {
    run.files().into_iter().filter(|name| name.ends_with(".mercer-tmp")).collect()
}

const SLOW: [&str; 9] =
    ["fit", "slow.npy", "--kernel", "laplacian + matern(nu=1/2)", "-k", "5", "--threads", "1", "-q"];

/// A fit that takes seconds.
fn slow<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&SLOW[..], more].concat()
}

fn with_slow() -> Run {
    let run = Run::new();
    fs::write(run.path().join("slow.npy"), npy(6000, 30)).expect("writes");
    run
}

const SLOW_MODEL: &str = ".out.mercer.safetensors.mercer-tmp";

#[test]
fn rows_that_are_appended_while_they_are_read_are_an_error() {
    let run = Run::new();
    run.put("g.csv", &rows(0, 400_000));
    let (more, path) = (rows(0, 50_000), run.path().join("g.csv"));
    let words = ["--memory", "16M", "fit", "g.csv", "-k", "2", "-o", "o", "--stream", "--threads", "1"];
    let mut child = start(&run, &words);
    // The second pass has begun, and stands still while rows are added.
    wait_for(&run, &mut child, ".o.scores.csv.mercer-tmp");
    signal(&child, "STOP");
    OpenOptions::new().append(true).open(path).and_then(|mut f| f.write_all(more.as_bytes())).expect("appends");
    signal(&child, "CONT");
    let error = ends(child, 1);
    assert!(error.contains("g.csv: changed while it was read") && error.contains("help"), "{error}");
    assert_eq!(run.files(), ["g.csv"]);
}

#[test]
fn a_mapped_file_that_changes_is_an_error() {
    let run = with_slow();
    let words = ["--memory", "40M", "--stream", "--approx", "none", "-o", "out"];
    // Overwritten in place, with the same length; then cut off.
    for change in ["written to", "shorter"] {
        fs::write(run.path().join("slow.npy"), npy(6000, 30)).expect("writes");
        let mut child = start(&run, &slow(&words));
        wait_for(&run, &mut child, SLOW_MODEL);
        std::thread::sleep(Duration::from_millis(400));
        let file = OpenOptions::new().write(true).open(run.path().join("slow.npy")).expect("opens");
        match change {
            "shorter" => file.set_len(100_000).expect("cuts"),
            _ => {
                use std::os::unix::fs::FileExt;
                file.write_all_at(&7f64.to_le_bytes(), 8 * 1000).expect("writes");
            }
        }
        let error = ends(child, 1);
        assert!(error.contains(change) || error.contains("changed while it was read"), "{error}");
        assert!(!run.files().contains(&"out.mercer.safetensors".to_string()));
    }
    // What the process that lost its file left behind is gone after the next run.
    run.ok(&["fit", "iris", "-o", "out", "-q"]);
    assert!(unfinished(&run).is_empty(), "{:?}", run.files());
}

#[test]
fn two_fits_to_one_prefix_exclude_each_other() {
    let run = with_slow();
    let mut child = start(&run, &slow(&["-o", "out"]));
    wait_for(&run, &mut child, SLOW_MODEL);
    let error = run.fails(1, &["fit", "iris", "-o", "out"]);
    assert!(error.contains("out.mercer.safetensors: is being written by another process"), "{error}");
    assert!(error.contains("help"), "{error}");
    // In another format, too; to another prefix not.
    run.fails(1, &["fit", "iris", "-o", "out", "--format", "npy", "--no-scores"]);
    run.ok(&["fit", "iris", "-o", "other", "-q"]);
    assert!(child.wait().expect("ends").success());
    // The lock has ended with its process.
    run.ok(&["fit", "iris", "-o", "out", "-q"]);
    assert!(unfinished(&run).is_empty());
}

#[test]
fn files_of_a_killed_process_are_removed_by_the_next() {
    let run = with_slow();
    let mut child = start(&run, &slow(&["-o", "out"]));
    wait_for(&run, &mut child, SLOW_MODEL);
    child.kill().expect("kills");
    child.wait().expect("ends");
    // As if it had been killed while it wrote the scores.
    run.put(".out.scores.npy.mercer-tmp", "half of the scores");
    assert_eq!(unfinished(&run).len(), 2);
    run.ok(&["fit", "iris", "-o", "out", "-q"]);
    assert!(unfinished(&run).is_empty(), "{:?}", run.files());
    // A link under the name is not followed.
    run.put("precious", "stays");
    std::os::unix::fs::symlink("precious", run.path().join(".s.csv.mercer-tmp")).expect("links");
    run.fails(1, &["transform", "out.mercer.safetensors", "iris", "-o", "s.csv"]);
    assert_eq!(run.text("precious"), "stays");
}

#[test]
fn termination_is_an_interruption_with_its_own_code() {
    for (name, code) in [("TERM", 143), ("INT", 130)] {
        let run = with_slow();
        let mut child = start(&run, &slow(&["-o", "out"]));
        wait_for(&run, &mut child, SLOW_MODEL);
        std::thread::sleep(Duration::from_millis(300));
        signal(&child, name);
        let error = ends(child, code);
        assert!(error.contains("interrupted"), "{error}");
        assert!(unfinished(&run).is_empty(), "{:?}", run.files());
    }
}

#[test]
fn the_second_interrupt_ends_what_cannot_look() {
    let run = Run::new();
    run.ok(&["fit", "iris", "-k", "2", "-o", "m", "-q"]);
    assert!(Command::new("mkfifo").arg(run.path().join("p")).status().expect("runs").success());
    // There is no reader: it waits in open(2).
    let child = start(&run, &["transform", "m.mercer.safetensors", "iris", "--stream", "-o", "p"]);
    std::thread::sleep(Duration::from_millis(1000));
    signal(&child, "INT");
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, "INT");
    ends(child, 130);
    // There is no writer: it waits in open(2), before any work can check a flag.
    let child = start(&run, &["fit", "p"]);
    std::thread::sleep(Duration::from_millis(1000));
    signal(&child, "TERM");
    ends(child, 143);
}

#[test]
fn files_of_two_fits_are_not_taken_for_those_of_one() {
    let run = Run::new();
    run.ok(&["fit", "iris", "-k", "2", "-o", "a", "-q"]);
    let json = run.ok(&["fit", "iris", "-k", "3", "--json", "-o", "b"]);
    let value: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let about = |what: &str| run.ok(&["info", &format!("{what}.mercer.safetensors"), "--json"]);
    let stored: serde_json::Value = serde_json::from_str(&about("b")).expect("JSON");
    assert!(value["run"].is_string() && value["run"] == stored["run"], "{value}");
    assert!(!about("a").contains("not of the fit"));
    let plot = |scores: &str| run.output(&["plot", scores, "-o", "p.svg"]);
    let told = |output: Output| String::from_utf8_lossy(&output.stderr).contains("not of the fit");
    assert!(!told(plot("a.scores.csv")));
    // Equal fits are equal files.
    run.ok(&["fit", "iris", "-k", "2", "-o", "again", "-q"]);
    for end in ["mercer.safetensors", "scores.csv", "eigenvalues.csv", "loadings.csv"] {
        let read = |name: &str| fs::read(run.path().join(format!("{name}.{end}"))).expect("reads");
        assert!(read("a") == read("again"), "{end}");
    }
    // As after a kill between two renames.
    fs::copy(run.path().join("b.mercer.safetensors"), run.path().join("a.mercer.safetensors")).expect("copies");
    assert!(told(plot("a.scores.csv")));
    assert!(about("a").contains("a.scores.csv") && about("a").contains("not of the fit"));
    let shown = run.ok(&["info", "a.mercer.safetensors"]);
    assert!(shown.contains("a.eigenvalues.csv and a.loadings.csv and a.scores.csv are not of the fit"), "{shown}");
    let back = run.output(&["reconstruct", "a.mercer.safetensors", "b.scores.csv", "--from", "scores"]);
    assert!(back.status.success() && !told(back));
}

#[test]
fn two_processes_do_not_resume_one_checkpoint() {
    let run = with_slow();
    let words = |out: &'static str, more: &[&'static str]| slow(&[&["--checkpoint", "D", "-o", out], more].concat());
    let mut child = start(&run, &words("out", &[]));
    wait_for(&run, &mut child, "D/pass-0001.safetensors");
    // A second new one, and one that resumes.
    for more in [&[][..], &["--resume"]] {
        let error = run.fails(1, &words("other", more));
        assert!(error.contains("D") && error.contains("in use by another process"), "{error}");
    }
    child.kill().expect("kills");
    child.wait().expect("ends");
    run.ok(&words("out", &["--resume"]));
    assert!(!run.path().join("D").exists());
}

#[test]
fn data_for_a_closed_output_is_an_error() {
    let run = Run::new();
    run.ok(&["fit", "iris", "-k", "2", "-o", "m", "-q"]);
    for script in [
        "\"$MERCER\" transform m.mercer.safetensors iris >&-",
        "\"$MERCER\" transform m.mercer.safetensors iris --stream >&-",
        "\"$MERCER\" fit iris -o - -q >&-",
        "\"$MERCER\" info m.mercer.safetensors --json >&-",
        "\"$MERCER\" plot m.scores.csv --format svg >&-",
    ] {
        let output = shell(&run, script);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{script}: {error}");
        assert!(error.contains("standard output is closed"), "{script}: {error}");
    }
    for script in [
        "\"$MERCER\" transform m.mercer.safetensors iris 1<>/dev/null",
        "\"$MERCER\" transform m.mercer.safetensors iris > /dev/null",
        "\"$MERCER\" fit iris -o quiet -q >&-",
        "\"$MERCER\" transform m.mercer.safetensors iris <&- 2>&-",
    ] {
        assert!(shell(&run, script).status.success(), "{script}");
    }
}

#[test]
fn escapes_in_names_do_not_reach_the_terminal() {
    let run = Run::new();
    let name = "a\u{1b}[31mb\u{7}\u{9b}2J.csv";
    run.put(name, &format!("x,y\u{1b}[32m,k\n{}", "1,2,u\u{1b}[33mv\n2,1,w\n4,4,w\n".repeat(3)));
    let missing = "no\u{1b}[31m.csv";
    let out = "o\u{1b}[34m";
    for words in [
        &["fit", name, "-o", out][..],
        &["plot", name, "--terminal"],
        &["plot", name, "--terminal", "--kind", "loadings"],
        &["steps", name],
        &["info", "o\u{1b}[34m.mercer.safetensors"],
        &["fit", missing],
        &["fit", "--\u{1b}[31m"],
        &["fit", "iris", "--select", "\u{1b}[31m"],
    ] {
        let output = run.command(words).args(["--color", "always"]).env_remove("NO_COLOR").output().expect("runs");
        for text in [output.stdout, output.stderr] {
            let text = String::from_utf8(text).expect("text");
            for escape in ["\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[34m", "\u{7}", "\u{9b}"] {
                // Colours of our own are not in names: those of a plot stand before marks.
                let bad = text.split(escape).skip(1).any(|after| after.starts_with(['b', ',', 'v', '.', '2', '\'']));
                assert!(!bad, "{words:?}: {text:?}");
            }
        }
    }
}

#[test]
fn a_prefix_that_is_a_directory_is_refused_before_any_work() {
    let run = Run::new();
    fs::create_dir(run.path().join("folder")).expect("a folder");
    // The data is not looked at.
    let error = run.fails(1, &["fit", "no-such-data.csv", "-o", "folder"]);
    assert!(error.contains("is a directory") && error.contains("help: name files in it, as folder/fit"), "{error}");
    run.fails(2, &["fit", "no-such-data.csv", "-o", "folder/"]);
    let error = run.fails(1, &["fit", "no-such-data.csv", "-o", "missing/out"]);
    assert!(error.contains("missing/out") && error.contains("cannot be written"), "{error}");
    run.ok(&["fit", "iris", "-o", "m", "-q"]);
    let error = run.fails(1, &["transform", "m.mercer.safetensors", "no-such-data.csv", "-o", "folder"]);
    assert!(error.contains("is a directory"), "{error}");
    run.ok(&["fit", "iris", "-o", "folder/fit", "-q"]);
}

/// A limit on address space is part of the budget: a fit that does not fit is refused, and one that does is done.
#[cfg(target_os = "linux")]
#[test]
fn a_limit_on_address_space_is_respected() {
    let run = Run::new();
    fs::write(run.path().join("k8000.npy"), npy(8000, 4)).expect("writes");
    let output = shell(
        &run,
        "ulimit -v 614400; exec \"$MERCER\" fit k8000.npy --kernel 'gaussian(gamma=0.02)' -k all -j 2 --approx none",
    );
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("--memory") && !error.contains("panicked"), "{error}");
    let plan = shell(&run, "ulimit -v 614400; exec \"$MERCER\" fit iris --explain -j 2");
    let plan = String::from_utf8_lossy(&plan.stdout).into_owned();
    let budget = plan.lines().find_map(|line| line.strip_prefix("budget")).expect("a budget").trim().to_string();
    let megabytes: f64 = budget.split(' ').next().and_then(|n| n.parse().ok()).expect(&budget);
    assert!(budget.contains("MB") && (50.0..380.0).contains(&megabytes), "{budget}");
    let output = shell(&run, "ulimit -v 614400; exec \"$MERCER\" fit k8000.npy -k 2 -j 2 -o out -q");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
