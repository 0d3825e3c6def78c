//! What a campaign has found: counts, tightness, and the worst cases.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::check::{Check, Kind};
use crate::problem::Problem;

/// The result of one case.
pub struct CaseResult {
    pub case: u64,
    pub name: String,
    pub family: String,
    pub outcome: Outcome,
}

pub enum Outcome {
    /// Fitted, with what was checked.
    Fitted { checks: Vec<Check> },
    /// Refused by the library, in these words.
    Refused(String),
    /// The reference does not know the matrix well enough.
    Unknown,
    /// A panic, in these words.
    Panicked(String),
}

/// The violations of a case: the worst of each kind.
pub struct Violation {
    pub case: u64,
    pub name: String,
    pub family: String,
    pub worst: Check,
    pub message: String,
}

#[derive(Default)]
struct Tally {
    checks: usize,
    violations: usize,
    probable: usize,
    probable_failures: usize,
    ratios: Vec<f64>,
}

/// Sums over cases.
#[derive(Default)]
pub struct Report {
    pub fits: usize,
    pub checks: usize,
    refused: BTreeMap<String, usize>,
    unknown: usize,
    tallies: BTreeMap<(String, Kind), Tally>,
    fits_by_name: BTreeMap<String, usize>,
    pub violations: Vec<Violation>,
    /// Failures of claims that hold with a probability only.
    pub unlucky: Vec<Violation>,
}

impl Report {
    pub fn add(&mut self, result: CaseResult) {
        let CaseResult { case, name, family, outcome } = result;
        let violation = |worst: Check, message: String| Violation {
            case,
            name: name.clone(),
            family: family.clone(),
            worst,
            message,
        };
        let checks = match outcome {
            Outcome::Refused(why) => {
                *self.refused.entry(format!("{name}: {why}")).or_default() += 1;
                return;
            }
            Outcome::Unknown => {
                self.unknown += 1;
                return;
            }
            Outcome::Panicked(message) => {
                let worst =
                    Check { kind: Kind::Panic, component: 0, claim: 0.0, error: 1.0, reference: 0.0, probable: false };
                self.violations.push(violation(worst, message));
                return;
            }
            Outcome::Fitted { checks } => checks,
        };
        self.fits += 1;
        self.checks += checks.len();
        *self.fits_by_name.entry(name.clone()).or_default() += 1;
        let mut worst: BTreeMap<(Kind, bool), Check> = BTreeMap::new();
        for check in checks {
            let tally = self.tallies.entry((name.clone(), check.kind)).or_default();
            tally.checks += 1;
            tally.ratios.extend(check.tightness());
            tally.probable += usize::from(check.probable);
            if !check.is_violated() {
                continue;
            }
            if check.probable {
                tally.probable_failures += 1;
            } else {
                tally.violations += 1;
            }
            let entry = worst.entry((check.kind, check.probable)).or_insert_with(|| check.clone());
            if check.excess() > entry.excess() {
                *entry = check;
            }
        }
        for ((_, probable), check) in worst {
            let list = if probable { &mut self.unlucky } else { &mut self.violations };
            list.push(Violation {
                case,
                name: name.clone(),
                family: family.clone(),
                worst: check,
                message: String::new(),
            });
        }
    }

    /// The report as text.
    pub fn text(&self, seed: u64) -> String {
        let mut out = String::new();
        let refused: usize = self.refused.values().sum();
        let (wrong, unlucky) = (self.violations.len(), self.unlucky.len());
        let _ = writeln!(
            out,
            "{} fits, {} checks: {wrong} violations, {unlucky} failures of claims that hold with a probability. \
             {refused} problems were refused, {} are beyond the reference.",
            self.fits, self.checks, self.unknown
        );
        let _ = writeln!(
            out,
            "\n{:<28} {:>6} {:<16} {:>8} {:>6} {:>9} {:>10} {:>10} {:>10}",
            "route", "fits", "claim", "checks", "wrong", "unlucky", "known", "median", "90 %"
        );
        for ((name, kind), t) in &self.tallies {
            let mut ratios = t.ratios.clone();
            ratios.sort_by(f64::total_cmp);
            let at = |share: f64| match ratios.len() {
                0 => "-".to_string(),
                n => short(ratios[((n as f64 * share) as usize).min(n - 1)]),
            };
            let unlucky = if t.probable > 0 { format!("{}/{}", t.probable_failures, t.probable) } else { "-".into() };
            let _ = writeln!(
                out,
                "{name:<28} {:>6} {:<16} {:>8} {:>6} {unlucky:>9} {:>10} {:>10} {:>10}",
                self.fits_by_name[name],
                kind.name(),
                t.checks,
                t.violations,
                ratios.len(),
                at(0.5),
                at(0.9)
            );
        }
        let _ = writeln!(out, "(median and 90 %: bound / true error, where the reference knows the error; 1 is sharp)");
        for (title, list) in [("Violations", &self.violations), ("Failures of probable claims", &self.unlucky)] {
            let groups = grouped(list);
            if groups.is_empty() {
                continue;
            }
            let _ = writeln!(out, "\n{title}, the worst of each kind:");
            for group in groups {
                let v = group[0];
                let _ = writeln!(out, "{:>5} x {}, {}: {}", group.len(), v.name, v.worst.kind.name(), told(v, seed));
                for v in group.iter().skip(1).take(3) {
                    let _ = writeln!(out, "        also {}", told(v, seed));
                }
            }
        }
        let mut refused: Vec<_> = self.refused.iter().collect();
        refused.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let _ = writeln!(out, "\nRefused:");
        for (why, count) in refused.iter().take(12) {
            let _ = writeln!(out, "{count:>5} x {why}");
        }
        out
    }
}

/// Violations by route and kind, the worst first.
pub fn grouped(list: &[Violation]) -> Vec<Vec<&Violation>> {
    let mut groups: BTreeMap<(&str, Kind), Vec<&Violation>> = BTreeMap::new();
    for v in list {
        groups.entry((&v.name, v.worst.kind)).or_default().push(v);
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    for group in &mut groups {
        let worse = |a: &Check, b: &Check| b.excess().total_cmp(&a.excess()).then(b.error.total_cmp(&a.error));
        group.sort_by(|a, b| worse(&a.worst, &b.worst));
    }
    groups.sort_by_key(|g| std::cmp::Reverse(g.len()));
    groups
}

fn told(v: &Violation, seed: u64) -> String {
    let c = &v.worst;
    if c.kind == Kind::Panic {
        return format!("{} ({}); --seed {seed} --case {}", v.message, v.family, v.case);
    }
    format!(
        "component {}: error {:.2e} where {:.2e} is stated, {} times ({}); --seed {seed} --case {}",
        c.component + 1,
        c.error,
        c.claim,
        short(c.excess()),
        v.family,
        v.case
    )
}

fn short(v: f64) -> String {
    if v < 1000.0 { format!("{v:.2}") } else { format!("{v:.1e}") }
}

/// A problem in words and numbers, to be typed in elsewhere.
pub fn written(problem: &Problem) -> String {
    let x = &problem.points;
    let mut out = format!(
        "{} x {} {} points, {}: {:?}",
        x.n(),
        x.d(),
        if problem.f32 { "f32" } else { "f64" },
        problem.family,
        problem.task
    );
    if x.n() * x.d() <= 120 {
        let rows: Vec<String> = x.rows().map(|r| format!("{r:?}")).collect();
        let _ = write!(out, "\n[{}]", rows.join(",\n "));
    }
    out
}
