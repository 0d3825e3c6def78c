//! A storm: signals at random moments, full disks, inputs that change while they are read, two processes at one output.
//!
//! `cargo xtask storm --minutes N --seed S` runs it for longer. The choices follow from the seed; the moments depend on
//! the machine, too. What has to hold:
//!
//! * a file is that of an earlier fit or that of the new one, complete;
//! * files of two fits side by side are only possible after a kill -9, and `mercer info` reports them;
//! * the same command again, or with --resume, gives the same bytes as an undisturbed fit;
//! * after that no temporary file and no checkpoint is left;
//! * exit codes are right, and nothing panics.
#![allow(missing_docs, clippy::print_stdout)]
#![cfg(unix)]

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Files by the ends of their names.
type Files = BTreeMap<String, Vec<u8>>;

/// A kind of work, in variants that differ in their number of components.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Job {
    /// Kernel PCA by passes, with a checkpoint.
    Passes,
    /// PCA of a table in memory.
    Whole,
    /// PCA of a CSV file by batches.
    Csv,
    /// PCA of an NPY file by batches.
    Npy,
    /// Scores of a CSV file by batches.
    Transform,
}

const JOBS: [Job; 5] = [Job::Passes, Job::Whole, Job::Csv, Job::Npy, Job::Transform];
const VARIANTS: [usize; 2] = [2, 3];

impl Job {
    /// The words of the command, for an input and an output.
    fn words(self, variant: usize, input: &str, output: &str) -> Vec<String> {
        let text = match self {
            Job::Passes => format!(
                "fit {input} --kernel laplacian+matern(nu=1/2) -k {variant} --tolerance 1e-7 --memory 300M --checkpoint {output}.D -o {output}"
            ),
            Job::Whole => format!("fit {input} -k {variant} -o {output}"),
            Job::Csv | Job::Npy => format!("--memory 8M fit {input} --stream -k {variant} -o {output}"),
            Job::Transform => {
                format!("--memory 8M transform model{variant}.mercer.safetensors {input} --stream -o {output}.t.csv")
            }
        };
        text.split(' ').map(String::from).chain(["-q".into(), "-j".into(), "1".into()]).collect()
    }

    fn input(self) -> &'static str {
        match self {
            Job::Passes => "passes.npy",
            Job::Npy => "rows.npy",
            Job::Whole => "small.csv",
            Job::Csv | Job::Transform => "rows.csv",
        }
    }

    fn ends(self) -> &'static [&'static str] {
        match self {
            Job::Passes => &["mercer.safetensors", "scores.csv", "eigenvalues.csv"],
            Job::Transform => &["t.csv"],
            _ => &["mercer.safetensors", "scores.csv", "eigenvalues.csv", "loadings.csv"],
        }
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

struct Storm {
    folder: tempfile::TempDir,
    random: Random,
    /// What an undisturbed run writes, by job, variant and content of the input, and how long it takes.
    truths: HashMap<(Job, usize, Input), (Files, Duration)>,
    counts: BTreeMap<String, u64>,
    /// A small file system, where one can be mounted.
    small: Option<PathBuf>,
    round: u64,
    seed: u64,
}

/// The content of an input: as it was, or changed while it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Input {
    Plain,
    Appended,
    Truncated,
    Replaced,
    Overwritten,
}

const CHANGES: [Input; 4] = [Input::Appended, Input::Truncated, Input::Replaced, Input::Overwritten];

fn rows(from: usize, to: usize) -> String {
    let value = |i: usize, j: usize| ((i * (2 * j + 3)) as f64 * 0.37).sin() * (j + 1) as f64 + 5.0;
    let line = |i: usize| format!("{:.6},{:.6},{:.6},{:.6}\n", value(i, 0), value(i, 1), value(i, 2), value(i, 3));
    (from..to).map(line).collect()
}

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

impl Storm {
    fn new(seed: u64) -> Self {
        let mut storm = Storm {
            folder: tempfile::tempdir().expect("a folder"),
            random: Random(seed),
            truths: HashMap::new(),
            counts: BTreeMap::new(),
            small: None,
            round: 0,
            seed,
        };
        storm.put("passes.npy", &npy(2000, 20));
        storm.put("rows.npy", &npy(150_000, 6));
        storm.put("small.csv", format!("a,b,c,d\n{}", rows(0, 3000)).as_bytes());
        storm.put("rows.csv", format!("a,b,c,d\n{}", rows(0, 40_000)).as_bytes());
        for variant in VARIANTS {
            let output = format!("model{variant}");
            storm.runs(&["fit", "small.csv", "-k", &variant.to_string(), "-o", &output, "-q"]);
        }
        storm.small = storm.mount();
        storm
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).expect("writes");
    }

    fn count(&mut self, what: impl Into<String>) {
        *self.counts.entry(what.into()).or_default() += 1;
    }

    /// Ends the test with what is needed to repeat it.
    #[track_caller]
    fn holds(&self, what: bool, why: impl std::fmt::Display) {
        assert!(what, "seed {}, round {}: {why}", self.seed, self.round);
    }

    fn command(&self, words: &[impl AsRef<str>]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mercer"));
        command.args(words.iter().map(AsRef::as_ref)).current_dir(self.folder.path()).env("NO_COLOR", "1");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn start(&self, words: &[impl AsRef<str>]) -> Child {
        self.command(words).spawn().expect("starts")
    }

    /// A run that has to succeed.
    fn runs(&self, words: &[impl AsRef<str>]) -> String {
        let output = self.command(words).output().expect("runs");
        self.look(&output);
        let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
        self.holds(output.status.success(), format!("{words:?}: {}", error_of(&output)));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn look(&self, output: &Output) {
        let error = error_of(output);
        self.holds(!error.contains("panicked") && !error.contains("backtrace"), error);
    }

    /// The files of a prefix, as far as they are there.
    fn files(&self, job: Job, folder: &Path, output: &str) -> Files {
        let read = |end: &&str| Some((end.to_string(), fs::read(folder.join(format!("{output}.{end}"))).ok()?));
        job.ends().iter().filter_map(read).collect()
    }

    fn temporary(&self, folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder");
        let names = entries.filter_map(|e| e.ok()?.file_name().into_string().ok());
        names.filter(|n| n.ends_with(".mercer-tmp")).collect()
    }

    fn clear(&self, output: &str) {
        for entry in fs::read_dir(self.folder.path()).expect("a folder").flatten() {
            let name = entry.file_name().into_string().expect("text");
            if name.starts_with(&format!("{output}.")) || name.starts_with(&format!(".{output}.")) {
                let path = entry.path();
                let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
                removed.expect("removes");
            }
        }
    }

    /// What an undisturbed run writes, and how long it takes.
    fn truth(&mut self, job: Job, variant: usize, input: Input) -> (Files, Duration) {
        if !self.truths.contains_key(&(job, variant, input)) {
            let name = match input {
                Input::Plain => job.input().to_string(),
                _ => {
                    let name = format!("changed-{}", job.input());
                    fs::copy(self.path(job.input()), self.path(&name)).expect("copies");
                    self.change(&name, input);
                    name
                }
            };
            self.clear("truth");
            let start = Instant::now();
            let output = self.command(&job.words(variant, &name, "truth")).output().expect("runs");
            let time = start.elapsed();
            self.look(&output);
            let files = self.files(job, self.folder.path(), "truth");
            // Not every change leaves a table.
            self.holds(output.status.success() || input != Input::Plain, error_of(&output));
            self.holds(output.status.success() == (files.len() == job.ends().len()), "some files are missing");
            self.truths.insert((job, variant, input), (files, time));
        }
        self.truths[&(job, variant, input)].clone()
    }

    /// Puts an earlier result of the other variant in place, or nothing; returns it.
    fn earlier(&mut self, job: Job, variant: usize, output: &str) -> Files {
        self.clear(output);
        if self.random.below(4) == 0 {
            return Files::new();
        }
        let other = if variant == VARIANTS[0] { VARIANTS[1] } else { VARIANTS[0] };
        let (files, _) = self.truth(job, other, Input::Plain);
        files.iter().for_each(|(end, bytes)| self.put(&format!("{output}.{end}"), bytes));
        files
    }

    /// Checks that each file is an earlier or a new one; returns whether all are new, all earlier, or mixed.
    fn state(&self, job: Job, output: &str, old: &Files, new: &Files) -> State {
        let found = self.files(job, self.folder.path(), output);
        for end in job.ends() {
            let known = [old.get(*end), new.get(*end)].contains(&found.get(*end));
            self.holds(known, format!("{job:?}: {output}.{end} is neither the earlier file nor the new one"));
        }
        match () {
            () if found == *new => State::New,
            () if found == *old => State::Old,
            () => State::Mixed,
        }
    }

    /// Files of two fits have to be reported.
    fn detects(&mut self, output: &str) {
        let told = self.runs(&["info", &format!("{output}.mercer.safetensors")]);
        self.holds(told.contains("not of the fit"), format!("a mixed set is not reported: {told}"));
        self.count("mixed sets, all reported");
    }

    /// A signal at a random moment, and the same command again.
    fn signals(&mut self) {
        let (job, variant) = (self.random.of(&JOBS), self.random.of(&VARIANTS));
        let (new, time) = self.truth(job, variant, Input::Plain);
        let old = self.earlier(job, variant, "out");
        let words = job.words(variant, job.input(), "out");
        for _ in 0..1 + self.random.below(3) {
            let resumed = self.path("out.D/checkpoint.json").exists();
            let words = if resumed { with(&words, "--resume") } else { words.clone() };
            // A process that was killed before leaves files, which one that is stopped early has not yet removed.
            let before = self.temporary(self.folder.path());
            let child = self.start(&words);
            let name = self.random.of(&["KILL", "TERM", "INT"]);
            std::thread::sleep(time.mul_f64(1.1 * self.random.share()));
            let sent = send(&child, name);
            let output = child.wait_with_output().expect("ends");
            self.look(&output);
            let (code, signal) = (output.status.code(), output.status.signal());
            self.count(if sent { format!("SIG{name} sent") } else { format!("SIG{name} came too late") });
            let right = match name {
                // A handler that is not there yet cannot act.
                "TERM" => [Some(0), Some(143)].contains(&code) || signal == Some(15),
                "INT" => [Some(0), Some(130)].contains(&code) || signal == Some(2),
                _ => code == Some(0) || signal == Some(9),
            };
            self.holds(right, format!("{job:?}: {:?} after SIG{name}: {}", output.status, error_of(&output)));
            let state = self.state(job, "out", &old, &new);
            self.holds(code != Some(0) || state == State::New, format!("{job:?}: exit 0 without results"));
            if state == State::Mixed {
                self.holds(name == "KILL", format!("{job:?}: a mixed set after SIG{name}"));
                self.detects("out");
            }
            if code == Some(143) || code == Some(130) {
                let left = self.temporary(self.folder.path());
                let of_before = left.iter().all(|file| before.contains(file));
                self.holds(of_before, format!("{job:?}: {left:?} after SIG{name}"));
            }
        }
        self.completes(job, &words, &new);
    }

    /// The same command again, undisturbed.
    fn completes(&mut self, job: Job, words: &[String], new: &Files) {
        let resumed = self.path("out.D/checkpoint.json").exists();
        let words = if resumed { with(words, "--resume") } else { words.to_vec() };
        self.runs(&words);
        let same = self.files(job, self.folder.path(), "out") == *new;
        self.holds(same, format!("{job:?}: other bytes after {words:?}"));
        let left = self.temporary(self.folder.path());
        self.holds(left.is_empty(), format!("{job:?}: {left:?}"));
        self.holds(!self.path("out.D").exists(), format!("{job:?}: the checkpoint is still there"));
        self.count(if resumed { "resumed, same bytes" } else { "run again, same bytes" });
    }

    /// No room for the results.
    fn full_disk(&mut self) {
        let (job, variant) = (self.random.of(&[Job::Whole, Job::Csv, Job::Npy, Job::Transform]), VARIANTS[0]);
        self.truth(job, variant, Input::Plain);
        let output = match self.small.clone() {
            Some(place) => {
                let prefix = place.join("out").display().to_string();
                let old: Vec<PathBuf> = job.ends().iter().map(|end| place.join(format!("out.{end}"))).collect();
                old.iter().for_each(|file| fs::write(file, "old").expect("writes"));
                let output = self.command(&job.words(variant, job.input(), &prefix)).output().expect("runs");
                let left = self.temporary(&place);
                self.holds(left.is_empty(), format!("{job:?}: {left:?} on a full disk"));
                let intact = old.iter().all(|file| fs::read(file).is_ok_and(|bytes| bytes == b"old"));
                self.holds(intact, format!("{job:?}: an old file was destroyed on a full disk"));
                self.count("full file systems");
                output
            }
            None => {
                let old = self.earlier(job, variant, "out");
                let words = mercer_words(&job.words(variant, job.input(), "out"));
                let script = format!("trap '' XFSZ; ulimit -f 4; exec '{}' {words}", env!("CARGO_BIN_EXE_mercer"));
                let mut command = Command::new("sh");
                let output = command.args(["-c", &script]).current_dir(self.folder.path()).output().expect("runs");
                self.holds(self.state(job, "out", &old, &Files::new()) != State::Mixed, "a file was destroyed");
                let left = self.temporary(self.folder.path());
                self.holds(left.is_empty(), format!("{job:?}: {left:?} with limited files"));
                self.count("limited sizes of files");
                output
            }
        };
        self.look(&output);
        let error = error_of(&output);
        self.holds(output.status.code() == Some(1) && error.contains("cannot be written"), error);
    }

    /// Mounts a small file system, if that is allowed.
    fn mount(&self) -> Option<PathBuf> {
        let place = self.path("small");
        fs::create_dir(&place).ok()?;
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", "size=64k", "none"]).arg(&place);
        let mounted = command.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
        mounted.then_some(place)
    }

    fn change(&self, name: &str, change: Input) {
        let path = self.path(name);
        let file = OpenOptions::new().write(true).open(&path).expect("opens");
        let length = file.metadata().expect("a file").len();
        match change {
            Input::Plain => {}
            Input::Appended if name.ends_with(".csv") => {
                file.write_all_at(rows(0, 5000).as_bytes(), length).expect("appends");
            }
            Input::Appended => file.write_all_at(&[1; 4096], length).expect("appends"),
            // At the end of a row, so that it is a table all the same.
            Input::Truncated if name.ends_with(".csv") => {
                let text = fs::read_to_string(&path).expect("reads");
                let end = text[..text.len() / 2].rfind('\n').expect("lines");
                file.set_len(end as u64 + 1).expect("truncates");
            }
            Input::Truncated => file.set_len(length / 2).expect("truncates"),
            Input::Replaced => {
                let other = self.path("replacement");
                let bytes = match name.ends_with(".csv") {
                    true => format!("a,b,c,d\n{}", rows(7, 30_007)).into_bytes(),
                    false => npy(100_000, 6),
                };
                fs::write(&other, bytes).expect("writes");
                fs::rename(other, path).expect("renames");
            }
            // The same length: one digit, or one number.
            Input::Overwritten if name.ends_with(".csv") => file.write_all_at(b"9", length - 4).expect("writes"),
            Input::Overwritten => file.write_all_at(&0.5f64.to_le_bytes(), length - 8).expect("writes"),
        }
    }

    /// An input that changes while it is read.
    fn changes(&mut self) {
        let (job, variant) = (self.random.of(&[Job::Csv, Job::Npy, Job::Transform]), self.random.of(&VARIANTS));
        let change = self.random.of(&CHANGES);
        let (plain, time) = self.truth(job, variant, Input::Plain);
        let (changed, _) = self.truth(job, variant, change);
        let old = self.earlier(job, variant, "out");
        let name = format!("x-{}", job.input());
        fs::copy(self.path(job.input()), self.path(&name)).expect("copies");
        let child = self.start(&job.words(variant, &name, "out"));
        std::thread::sleep(time.mul_f64(self.random.share()));
        self.change(&name, change);
        let output = child.wait_with_output().expect("ends");
        self.look(&output);
        let found = self.files(job, self.folder.path(), "out");
        match output.status.code() {
            Some(0) => {
                let of_one = found == plain || (found == changed && !changed.is_empty());
                self.holds(of_one, format!("{job:?}, {change:?}: exit 0, and results of no content that there was"));
                self.count("changed inputs, before or after they were read");
            }
            Some(1) => {
                self.holds(found == old, format!("{job:?}, {change:?}: an error, and other files than before"));
                let told = error_of(&output).contains("changed while it was read");
                self.count(if told { "changed inputs, refused" } else { "changed inputs, other errors" });
            }
            code => self.holds(false, format!("{job:?}, {change:?}: {code:?}, {}", error_of(&output))),
        }
        let left = self.temporary(self.folder.path());
        self.holds(left.is_empty(), format!("{job:?}, {change:?}: {left:?}"));
    }

    /// Two processes write the same files.
    fn two_writers(&mut self) {
        let job = self.random.of(&JOBS);
        let truths = VARIANTS.map(|variant| self.truth(job, variant, Input::Plain));
        self.clear("out");
        let words = VARIANTS.map(|variant| job.words(variant, job.input(), "out"));
        let first = self.start(&words[0]);
        std::thread::sleep(truths[0].1.mul_f64(1.2 * self.random.share()));
        let second = self.start(&words[1]);
        let outputs = [first, second].map(|child| child.wait_with_output().expect("ends"));
        let done = outputs.each_ref().map(|output| output.status.success());
        for output in &outputs {
            self.look(output);
            let refused = error_of(output).contains("by another process");
            self.holds(output.status.success() || (output.status.code() == Some(1) && refused), error_of(output));
        }
        self.holds(done.contains(&true), "both were refused");
        let found = self.files(job, self.folder.path(), "out");
        let of_one = (0..2).any(|at| done[at] && found == truths[at].0);
        self.holds(of_one, format!("{job:?}: the files are not those of one of the fits"));
        let left = self.temporary(self.folder.path());
        self.holds(left.is_empty() && !self.path("out.D").exists(), format!("{job:?}: {left:?}"));
        self.count(if done == [true; 2] { "two writers, one after the other" } else { "two writers, one refused" });
    }

    /// Two processes resume from one checkpoint.
    fn two_resumes(&mut self) {
        let (job, variant) = (Job::Passes, self.random.of(&VARIANTS));
        let (new, time) = self.truth(job, variant, Input::Plain);
        self.clear("out");
        self.clear("other");
        let words = job.words(variant, job.input(), "out");
        let mut child = self.start(&words);
        while !self.path("out.D/pass-0001.safetensors").exists() && child.try_wait().expect("waits").is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let _ = child.kill();
        self.look(&child.wait_with_output().expect("ends"));
        if !self.path("out.D/checkpoint.json").exists() {
            return;
        }
        let resume = with(&words, "--resume");
        let elsewhere: Vec<String> =
            resume.iter().map(|w| if w == "out" { "other".into() } else { w.clone() }).collect();
        let first = self.start(&resume);
        std::thread::sleep(time.mul_f64(self.random.share()));
        let second = self.start(&elsewhere);
        let outputs =
            [("out", first), ("other", second)].map(|(o, child)| (o, child.wait_with_output().expect("ends")));
        let mut done = 0;
        for (name, output) in &outputs {
            self.look(output);
            let error = error_of(output);
            if output.status.success() {
                let same = self.files(job, self.folder.path(), name) == new;
                self.holds(same, format!("other bytes in {name}"));
                done += 1;
            } else {
                let told = error.contains("in use by another process") || error.contains("no checkpoint");
                self.holds(output.status.code() == Some(1) && told, error);
                self.holds(self.files(job, self.folder.path(), name).is_empty(), "results of a refused fit");
            }
        }
        self.holds(done == 1, format!("{done} of two resumed fits are done"));
        let left = self.temporary(self.folder.path());
        self.holds(left.is_empty() && !self.path("out.D").exists(), format!("{left:?}"));
        self.count("two resumes, one refused");
        self.clear("other");
    }

    fn round(&mut self) {
        let kind = if self.round < 5 { self.round as usize } else { self.random.below(10) };
        match kind {
            0 => self.two_resumes(),
            1 => self.full_disk(),
            2 | 5 => self.changes(),
            3 => self.two_writers(),
            _ => self.signals(),
        }
        self.round += 1;
    }
}

impl Drop for Storm {
    fn drop(&mut self) {
        if let Some(place) = &self.small {
            let _ = Command::new("umount").arg(place).status();
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum State {
    Old,
    New,
    Mixed,
}

fn error_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn with(words: &[String], more: &str) -> Vec<String> {
    words.iter().cloned().chain([more.to_string()]).collect()
}

/// Words for a shell.
fn mercer_words(words: &[String]) -> String {
    words.iter().map(|w| format!("'{w}'")).collect::<Vec<_>>().join(" ")
}

/// Sends a signal; whether the process was still there.
fn send(child: &Child, name: &str) -> bool {
    let mut command = Command::new("kill");
    command.args([&format!("-{name}"), &child.id().to_string()]).stderr(Stdio::null());
    // A process that has ended and was not waited for still has its number: see what it is.
    let alive = fs::read_to_string(format!("/proc/{}/stat", child.id())).map_or(true, |s| !s.contains(") Z"));
    command.status().is_ok_and(|status| status.success()) && alive
}

#[test]
fn nothing_is_lost_in_a_storm() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let (seconds, seed) = (number("MERCER_STORM_SECONDS").unwrap_or(35), number("MERCER_STORM_SEED").unwrap_or(1));
    let start = Instant::now();
    let mut storm = Storm::new(seed);
    // Each kind of fault at least once.
    while storm.round < 5 || start.elapsed() < Duration::from_secs(seconds) {
        storm.round();
    }
    println!("storm of {} s, seed {seed}: {} rounds", start.elapsed().as_secs(), storm.round);
    for (what, count) in &storm.counts {
        println!("  {count:>6}  {what}");
    }
    std::io::stdout().flush().expect("prints");
}
