//! Results: compared, told as tables, and kept as a dated record.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::cases::{Case, Definitions, Kind, Task, benchmarks};
use super::machine::{self, Limits, Watch};
use super::measure::Reply;
use super::workshop::{Workshop, said};

/// More than this many cores busy with something else make a time doubtful.
const FOREIGN: f64 = 0.1;

/// What one engine did in one case.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Run {
    pub(crate) engine: String,
    pub(crate) kind: Kind,
    pub(crate) seconds: Vec<f64>,
    pub(crate) memory: Option<u64>,
    pub(crate) answer: Vec<f64>,
    pub(crate) note: String,
    /// The cores that something else used meanwhile, at worst.
    pub(crate) foreign: f64,
    pub(crate) failure: Option<String>,
}

impl Run {
    pub(crate) fn new(engine: &str, kind: Kind) -> Self {
        let (engine, note) = (engine.to_string(), String::new());
        Run { engine, kind, seconds: vec![], memory: None, answer: vec![], note, foreign: 0.0, failure: None }
    }

    /// Adds what one more process told.
    pub(crate) fn add(&mut self, reply: Reply, foreign: f64) {
        self.seconds.extend(reply.seconds);
        self.memory = self.memory.max(reply.memory);
        self.answer = reply.answer;
        self.note = reply.note;
        self.foreign = self.foreign.max(foreign);
    }

    /// The median of its times, if it succeeded.
    pub(crate) fn median(&self) -> Option<f64> {
        let mut sorted = self.seconds.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        match &self.failure {
            Some(_) => None,
            None if sorted.len() % 2 == 1 => Some(sorted[middle]),
            None => Some((sorted.get(middle.checked_sub(1)?)? + sorted[middle]) / 2.0),
        }
    }

    /// What is shown while it goes on.
    pub(crate) fn line(&self) -> String {
        match (&self.failure, self.median()) {
            (Some(message), _) => format!("{}: {message}", self.engine),
            (None, seconds) => format!("{}: {} s, {} MiB", self.engine, number(seconds), mib(self.memory)),
        }
    }
}

/// What all engines did in one case.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct CaseResult {
    pub(crate) case: Case,
    pub(crate) commit: String,
    /// Seconds at the machine's own rates.
    pub(crate) ideal: Option<f64>,
    pub(crate) runs: Vec<Run>,
}

impl CaseResult {
    /// The answer that is right, if it is known.
    fn truth(&self) -> Option<&[f64]> {
        if !self.case.expected.is_empty() {
            return Some(&self.case.expected);
        }
        let run = self.runs.iter().find(|run| Some(&run.engine) == self.case.reference.as_ref())?;
        run.failure.is_none().then_some(&run.answer)
    }

    /// The worst relative difference of an answer from the right one.
    fn error(&self, run: &Run) -> Option<f64> {
        let truth = self.truth().filter(|_| run.failure.is_none())?;
        if run.answer.len() != truth.len() {
            return Some(f64::INFINITY);
        }
        let worst = run.answer.iter().zip(truth).map(|(a, b)| ((a - b) / b).abs());
        Some(worst.fold(0.0, |m, e| if e > m || e.is_nan() { e } else { m }))
    }

    /// Whether an answer is not known to be wrong; NaN is wrong.
    fn is_right(&self, run: &Run) -> bool {
        self.error(run).is_none_or(|error| error <= self.case.tolerance)
    }

    /// Whether mercer gave no answer or a wrong one.
    pub(crate) fn is_failed(&self) -> bool {
        self.mercer().is_some_and(|run| run.failure.is_some() || !self.is_right(run))
    }

    /// Whether something else was busy while one of the engines ran.
    fn is_disturbed(&self) -> bool {
        self.runs.iter().any(|run| run.foreign > FOREIGN)
    }

    fn mercer(&self) -> Option<&Run> {
        self.runs.iter().find(|run| run.kind == Kind::Mercer)
    }

    /// The fastest engine of a kind among those that gave the right answer.
    fn fastest(&self, kind: Kind) -> Option<&Run> {
        let right = self.runs.iter().filter(|run| run.kind == kind && run.median().is_some() && self.is_right(run));
        right.min_by(|a, b| a.median().partial_cmp(&b.median()).expect("times are numbers"))
    }

    /// How many times longer than mercer the fastest of a kind takes, with its name.
    fn ratio(&self, kind: Kind) -> String {
        let ratio = |run: &Run| Some(run.median()? / self.mercer()?.median()?);
        match self.fastest(kind).and_then(|run| Some((run, ratio(run)?))) {
            Some((run, ratio)) => format!("{} ({})", times(Some(ratio)), run.engine),
            None => "-".into(),
        }
    }

    /// How many times more memory than mercer the fastest of a kind takes.
    fn memory_ratio(&self, kind: Kind) -> String {
        let ratio = || Some(self.fastest(kind)?.memory? as f64 / self.mercer()?.memory? as f64);
        times(ratio())
    }

    fn title(&self) -> String {
        let Case { name, task, n, d, m, k, data, .. } = &self.case;
        let n = thousands(*n);
        match task {
            Task::KpcaFit => format!("{name}: kernel PCA of {n} points ({data}), d = {d}, k = {k}"),
            Task::KpcaTransform => {
                format!("{name}: scores of {} new points, n = {n} ({data}), d = {d}, k = {k}", thousands(*m))
            }
            Task::KpcaPass => {
                let precision = if self.case.narrow { "f32" } else { "f64" };
                format!("{name}: the Gram matrix of {n} points ({data}), d = {d}, times {k} columns, in {precision}")
            }
            Task::PcaFit => format!("{name}: PCA of {n} points ({data}), d = {d}, k = {k}"),
            Task::Command => format!("{name}: the whole command, k = {k}"),
        }
    }

    /// Every engine in a table of its own.
    pub(crate) fn table(&self) -> String {
        let mut rows = vec![row(["engine", "seconds", "fastest", "slowest", "repeats", "MiB", "error", ""])];
        for run in &self.runs {
            if let Some(message) = &run.failure {
                rows.push(row([&run.engine, "-", "-", "-", "-", "-", "-", message]));
                continue;
            }
            let fold = |f: fn(f64, f64) -> f64| number(run.seconds.iter().copied().reduce(f));
            let mut remarks: Vec<String> = Vec::new();
            if !self.is_right(run) {
                remarks.push(format!("WRONG: beyond {:e}", self.case.tolerance));
            }
            if run.foreign > FOREIGN {
                remarks.push(busy(run.foreign));
            }
            rows.push(row([
                run.engine.as_str(),
                &number(run.median()),
                &fold(f64::min),
                &fold(f64::max),
                &run.seconds.len().to_string(),
                &mib(run.memory),
                &power(self.error(run)),
                &remarks.join("; "),
            ]));
        }
        let mut text = format!("## {}\n\n{}", self.title(), table(&rows));
        for run in self.runs.iter().filter(|run| run.failure.is_none() && !run.note.is_empty()) {
            let _ = write!(text, "\n{}: {}\n", run.engine, run.note);
        }
        text
    }

    fn summary(&self) -> Vec<String> {
        let mercer = self.mercer();
        let median = mercer.and_then(Run::median);
        let error = power(mercer.and_then(|run| self.error(run)));
        row([
            self.case.name.as_str(),
            &format!("{}{}", number(median), if self.is_disturbed() { "*" } else { "" }),
            &mib(mercer.filter(|_| median.is_some()).and_then(|run| run.memory)),
            &if self.is_failed() { format!("{error} FAILED") } else { error },
            &number(self.ideal),
            &times(median.zip(self.ideal).map(|(seconds, ideal)| seconds / ideal)),
            &self.ratio(Kind::Python),
            &self.ratio(Kind::ScikitLearn),
            &self.memory_ratio(Kind::ScikitLearn),
            &self.ratio(Kind::ByHand),
            &self.memory_ratio(Kind::ByHand),
            &self.ratio(Kind::Rust),
        ])
    }
}

/// What was measured on a day, the last run of each case.
#[derive(Deserialize, Serialize)]
pub(crate) struct Record {
    date: String,
    processor: String,
    memory: u64,
    versions: BTreeMap<String, String>,
    pub(crate) limits: Limits,
    /// The cores that something else used while the limits were measured.
    foreign: f64,
    results: Vec<CaseResult>,
}

impl Record {
    /// Today's record, with what it has already, and the limits of the machine as they are now.
    pub(crate) fn of_today(workshop: &Workshop, definitions: &Definitions) -> Result<Self, String> {
        let date = said(Command::new("date").args(["-u", "+%F"]))?;
        let earlier = fs::read_to_string(path(&date, "json")).ok();
        let results = earlier.and_then(|text| serde_json::from_str::<Record>(&text).ok()).map_or(vec![], |r| r.results);
        let watch = Watch::start();
        let limits = workshop.limits()?;
        Ok(Record {
            date,
            processor: machine::processor(),
            memory: machine::memory(),
            versions: workshop.versions(definitions)?,
            limits,
            foreign: watch.foreign_cores(),
            results,
        })
    }

    /// Takes a result in, in place of an earlier one of the same case.
    pub(crate) fn put(&mut self, result: CaseResult) {
        match self.results.iter_mut().find(|earlier| earlier.case.name == result.case.name) {
            Some(earlier) => *earlier = result,
            None => self.results.push(result),
        }
    }

    /// The machine, its limits, and the versions of the peers.
    pub(crate) fn machine(&self) -> String {
        let Limits { threads, gemm_f64, gemm_f32, read, triad, exp_f64, exp_f32 } = self.limits;
        let giga = |rate: f64| format!("{:.1}", rate / 1e9);
        let rates = [
            row(["limit", "per second"]),
            row(["product in f64", &format!("{} Gflop", giga(gemm_f64))]),
            row(["product in f32", &format!("{} Gflop", giga(gemm_f32))]),
            row(["exponential in f64", &format!("{} G", giga(exp_f64))]),
            row(["exponential in f32", &format!("{} G", giga(exp_f32))]),
            row(["memory, read", &format!("{} GB", giga(read))]),
            row(["memory, triad", &format!("{} GB", giga(triad))]),
        ];
        let versions: Vec<String> = self.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
        let mut machine = format!("{}, {threads} threads, {} GB", self.processor, self.memory);
        if self.foreign > FOREIGN {
            let _ = write!(machine, "; limits measured {}", busy(self.foreign));
        }
        format!("# Measured on {}\n\n{machine}\n\n{}\n{}\n", self.date, table(&rates), versions.join(", "))
    }

    /// mercer beside the limits and the best of each kind of peer, case by case, and how it grows.
    pub(crate) fn summary(&self) -> String {
        let ours = ["case", "mercer, s", "MiB", "error", "ideal, s", "of ideal", "from Python"];
        let peers = ["scikit-learn", "its memory", "by hand", "its memory", "rust"];
        let mut rows = vec![row(ours.into_iter().chain(peers))];
        rows.extend(self.results.iter().map(CaseResult::summary));
        let mut text = format!("## Summary\n\n{}", table(&rows));
        text += "\nRatios: time and memory of the fastest right engine of the kind, in those of mercer.\n";
        if self.results.iter().any(CaseResult::is_disturbed) {
            text += "\n\\* while something else was busy\n";
        }
        if let Some((from, to, time, memory)) = self.growth() {
            let (from, to) = (thousands(from), thousands(to));
            let _ = writeln!(
                text,
                "\nGrowth of mercer from {from} to {to} points: time n^{time:.2}, memory n^{memory:.2}."
            );
        }
        text
    }

    /// The exponents of mercer's time and memory in n, between the smallest and the largest of the kernel PCAs of
    /// 10,000 points and more that differ in n alone.
    fn growth(&self) -> Option<(usize, usize, f64, f64)> {
        let first = self.results.iter().find(|r| r.case.task == Task::KpcaFit && r.case.n == 10_000)?;
        let alike = |r: &&CaseResult| {
            let key = |case: &Case| (case.task, case.d, case.k, case.data.clone());
            key(&r.case) == key(&first.case) && r.mercer().and_then(Run::median).is_some()
        };
        let last = self.results.iter().filter(alike).max_by_key(|r| r.case.n).filter(|r| r.case.n > first.case.n)?;
        let exponent = |of: fn(&Run) -> Option<f64>| {
            let ratio = of(last.mercer()?)? / of(first.mercer()?)?;
            Some(ratio.ln() / (last.case.n as f64 / first.case.n as f64).ln())
        };
        let memory = exponent(|run| Some(run.memory? as f64))?;
        Some((first.case.n, last.case.n, exponent(Run::median)?, memory))
    }

    /// Writes benchmarks/record/DATE.json, all there is, and DATE.md, to be read.
    pub(crate) fn write(&self, workshop: &Workshop) -> Result<(), String> {
        let json = serde_json::to_string_pretty(self).map_err(|e| e.to_string())?;
        let mut text = format!("{}\n{}", self.machine(), self.summary());
        for result in &self.results {
            let _ = write!(text, "\n{}\nCommit {}.\n", result.table(), result.commit);
        }
        for (ending, content) in [("json", json + "\n"), ("md", text)] {
            let path = path(&self.date, ending);
            fs::create_dir_all(benchmarks().join("record")).map_err(|e| e.to_string())?;
            fs::write(&path, content).map_err(|e| format!("{}: {e}", path.display()))?;
            eprintln!("wrote {}", workshop.without_paths(&path.to_string_lossy()));
        }
        Ok(())
    }
}

fn path(date: &str, ending: &str) -> std::path::PathBuf {
    benchmarks().join("record").join(format!("{date}.{ending}"))
}

fn busy(cores: f64) -> String {
    format!("while {cores:.1} cores were busy with something else")
}

fn row<T: AsRef<str>>(cells: impl IntoIterator<Item = T>) -> Vec<String> {
    cells.into_iter().map(|cell| cell.as_ref().to_string()).collect()
}

/// A table in Markdown that reads well as text: the first column and those without a title to the left, numbers to the
/// right.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows[0].len();
    let left = |j: usize| j == 0 || rows[0][j].is_empty();
    let width = |j: usize| rows.iter().map(|row| row[j].chars().count()).max().unwrap_or(0).max(2);
    let mut text = String::new();
    for (i, row) in rows.iter().enumerate() {
        for (j, cell) in row.iter().enumerate() {
            let width = width(j);
            let _ = if left(j) { write!(text, "| {cell:<width$} ") } else { write!(text, "| {cell:>width$} ") };
        }
        text += "|\n";
        if i == 0 {
            for j in 0..columns {
                let line = "-".repeat(width(j));
                let _ = if left(j) { write!(text, "| {line} ") } else { write!(text, "| {}: ", &line[1..]) };
            }
            text += "|\n";
        }
    }
    text
}

/// Three significant digits.
fn number(value: Option<f64>) -> String {
    let Some(value) = value else { return "-".into() };
    let decimals = (2 - value.abs().max(1e-9).log10().floor() as i32).clamp(0, 6) as usize;
    format!("{value:.decimals$}")
}

/// One significant digit.
fn power(value: Option<f64>) -> String {
    match value {
        None => "-".into(),
        Some(0.0) => "0".into(),
        Some(value) => format!("{value:.0e}"),
    }
}

fn times(ratio: Option<f64>) -> String {
    ratio.map_or("-".into(), |ratio| format!("{}x", number(Some(ratio))))
}

fn mib(bytes: Option<u64>) -> String {
    number(bytes.map(|bytes| bytes as f64 / f64::from(1 << 20)))
}

/// 1234567 as 1,234,567.
fn thousands(n: usize) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(number(Some(0.035_24)), "0.0352");
        assert_eq!(number(Some(66.24)), "66.2");
        assert_eq!(number(Some(1234.5)), "1234");
        assert_eq!(number(None), "-");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(thousands(500), "500");
    }

    #[test]
    fn medians() {
        let mut run = Run::new("mercer", Kind::Mercer);
        assert_eq!(run.median(), None);
        run.seconds = vec![3.0, 1.0, 2.0];
        assert_eq!(run.median(), Some(2.0));
        run.seconds.push(10.0);
        assert_eq!(run.median(), Some(2.5));
    }

    #[test]
    fn a_wrong_answer_is_seen_and_is_never_the_fastest() {
        let text = "name = 'c'\ntask = 'kpca_fit'\nn = 9\nd = 1\nk = 2\nexpected = [2.0, 1.0]\nengines = []";
        let case: Case = toml::from_str(text).expect("a case");
        let run = |engine: &str, kind, seconds: f64, answer: [f64; 2]| Run {
            seconds: vec![seconds],
            answer: answer.to_vec(),
            ..Run::new(engine, kind)
        };
        let mut result = CaseResult {
            case,
            commit: String::new(),
            ideal: None,
            runs: vec![
                run("mercer", Kind::Mercer, 1.0, [2.0, 1.0]),
                run("quick", Kind::Rust, 0.1, [2.0, 1.1]),
                run("sound", Kind::Rust, 3.0, [2.0, 1.0]),
            ],
        };
        assert_eq!(result.ratio(Kind::Rust), "3.00x (sound)");
        assert!(!result.is_failed());
        result.runs[0].answer[1] = f64::NAN;
        assert!(result.is_failed());
    }
}
