//! The campaign against the error bounds: random and nasty problems for every route, kernel and precision, and every number
//! that a certificate states against a reference of higher precision (`testing::reference`).
//!
//! Without options it is a test: a fixed number of problems. `cargo xtask certify` runs it for a time, with other problems,
//! or one problem again; it says so by these variables of the environment.
//!
//! * `MERCER_CERTIFY_MINUTES`: how long
//! * `MERCER_CERTIFY_SEED`: the random seed, 1 by default
//! * `MERCER_CERTIFY_CASE`: this problem alone, with all its numbers
#![allow(missing_docs, unreachable_pub, clippy::print_stdout)]

mod check;
mod data;
mod kernels;
mod problem;
mod report;
mod rng;
mod shrink;
mod truth;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use check::{Check, checks};
use mercer::ErrorKind;
use problem::Problem;
use report::{CaseResult, Outcome, Report, grouped, written};
use rng::Rng;
use truth::Truth;

/// The problems of the test.
const CASES: u64 = 3000;
/// How long a problem is made smaller.
const SHRINKING: Duration = Duration::from_secs(10);

#[derive(Clone, Copy)]
struct Campaign {
    seed: u64,
}

#[test]
fn no_error_bound_is_exceeded() {
    let number =
        |name: &str| std::env::var(format!("MERCER_CERTIFY_{name}")).ok().map(|v| v.parse::<f64>().expect(name));
    let minutes = number("MINUTES");
    let campaign = Campaign { seed: number("SEED").unwrap_or(1.0) as u64 };
    if let Some(case) = number("CASE") {
        return campaign.show(case as u64);
    }
    let start = Instant::now();
    let more = |case: u64| match minutes {
        Some(minutes) => start.elapsed() < Duration::from_secs_f64(60.0 * minutes),
        None => case < CASES,
    };
    let report = campaign.run(more);
    println!("{}", report.text(campaign.seed));
    if minutes.is_some() {
        campaign.show_smallest(&report);
    }
    assert!(report.violations.is_empty(), "{} error bounds do not hold", report.violations.len());
}

impl Campaign {
    /// Runs problems on all processors as long as there are more.
    fn run(self, more: impl Fn(u64) -> bool + Sync) -> Report {
        let (next, report) = (AtomicU64::new(0), Mutex::new(Report::default()));
        let workers = std::thread::available_parallelism().map_or(2, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    alone(|| {
                        loop {
                            let case = next.fetch_add(1, Ordering::Relaxed);
                            if !more(case) {
                                return;
                            }
                            let problem = self.problem(case);
                            let (name, outcome) = solved(&problem);
                            let result = CaseResult { case, name, family: problem.family.clone(), outcome };
                            report.lock().expect("no worker panics").add(result);
                        }
                    });
                });
            }
        });
        report.into_inner().expect("no worker panics")
    }

    fn problem(self, case: u64) -> Problem {
        Problem::random(&mut Rng::of(self.seed, case))
    }

    /// Prints one problem with all its claims.
    fn show(self, case: u64) {
        let problem = self.problem(case);
        println!("{}", written(&problem));
        let (name, outcome) = alone(|| solved(&problem));
        match outcome {
            Outcome::Refused(why) => println!("{name}: refused: {why}"),
            Outcome::Unknown => println!("{name}: beyond the reference"),
            Outcome::Panicked(message) => panic!("{message}"),
            Outcome::Fitted { checks } => {
                println!("{name}");
                alone(|| print_claims(&problem));
                let wrong = checks.iter().filter(|c| c.is_violated()).count();
                for c in &checks {
                    let mark = if c.is_violated() { "WRONG" } else { "" };
                    println!(
                        "{:<17} {:>3} stated {:<12.4e} true {:<12.4e} reference {:<9.1e} {mark}",
                        c.kind.name(),
                        c.component + 1,
                        c.claim,
                        c.error,
                        c.reference
                    );
                }
                let wrong_for_sure = checks.iter().any(|c| c.is_violated() && !c.probable);
                let smaller = wrong_for_sure.then(|| alone(|| smallest(problem, &checks)));
                if let Some(smaller) = smaller {
                    println!("\nsmaller: {}", written(&smaller));
                    alone(|| print_claims(&smaller));
                }
                assert!(!wrong_for_sure, "{wrong} claims do not hold");
            }
        }
    }

    /// Prints the worst problem of each kind of violation, made smaller.
    fn show_smallest(self, report: &Report) {
        for group in grouped(&report.violations) {
            let v = group[0];
            let problem = self.problem(v.case);
            let small = alone(|| smallest(problem, std::slice::from_ref(&v.worst)));
            println!("{}, {} (--case {}), made smaller: {}", v.name, v.worst.kind.name(), v.case, written(&small));
            alone(|| print_claims(&small));
            println!();
        }
    }
}

/// Runs work in a pool of one thread, so that as many problems are worked on as there are processors.
fn alone<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread").install(work)
}

/// A problem with fewer numbers that violates a claim of the same kind.
fn smallest(problem: Problem, checks: &[Check]) -> Problem {
    let kinds: Vec<_> = checks.iter().filter(|c| c.is_violated()).map(|c| c.kind).collect();
    let route = solved(&problem).0;
    shrink::smaller(problem, SHRINKING, |p| match solved(p) {
        (name, _) if name != route => false,
        (_, Outcome::Fitted { checks }) => {
            checks.iter().any(|c| c.is_violated() && !c.probable && kinds.contains(&c.kind))
        }
        (_, Outcome::Panicked(_)) => kinds.contains(&check::Kind::Panic),
        (_, Outcome::Refused(_) | Outcome::Unknown) => false,
    })
}

/// The name of the route and what came of it.
fn solved(problem: &Problem) -> (String, Outcome) {
    let name = problem.name();
    let result = catch_unwind(AssertUnwindSafe(|| {
        let shown = match problem.fit() {
            Ok(shown) => shown,
            Err(e) => return (name.clone(), Outcome::Refused(reason(e.kind()))),
        };
        let name = match name.as_str() {
            "kernel pca" => format!("kernel pca, {}", shown.route),
            "landmarks" if shown.route != "landmarks" => "landmarks, all points".into(),
            name => name.to_string(),
        };
        match Truth::of(problem, &shown) {
            Some(truth) => (name, Outcome::Fitted { checks: checks(&shown, &truth) }),
            None => (name, Outcome::Unknown),
        }
    }));
    result.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned().or(panic.downcast_ref::<&str>().map(ToString::to_string));
        (problem.name(), Outcome::Panicked(text.unwrap_or_default()))
    })
}

/// The kind of an error, without its numbers.
fn reason(kind: &ErrorKind) -> String {
    let text = format!("{kind:?}");
    text.split([' ', '(', '{']).next().unwrap_or_default().to_string()
}

/// The eigenvalues that are shown, their enclosures, and the exact ones.
fn print_claims(problem: &Problem) {
    let Ok(shown) = problem.fit() else { return };
    let Some(truth) = Truth::of(problem, &shown) else { return };
    let c = &shown.certificate;
    println!("{c}");
    println!("rounding {:.3e}, missed {:.6e} ({}), unit {:e}", c.rounding(), c.missed(), c.kind().name(), truth.unit);
    for (i, value) in shown.values.iter().enumerate().take(12) {
        let (below, above) = c.enclosure(i);
        let exact = truth.values.get(i).map_or(f64::NAN, |v| v.to_f64() * truth.unit);
        println!(
            "{:>4} {value:.17e} -{below:.2e} +{above:.2e}, exact {exact:.17e}, residual {:.2e}",
            i + 1,
            c.residuals()[i]
        );
    }
    for cluster in c.clusters().iter().take(12) {
        println!("     components {} to {}: sine {:.2e}", cluster.first + 1, cluster.last + 1, cluster.sine);
    }
    if let Some(a) = c.approximation() {
        println!("     trace error {:.3e}, {} landmarks", a.trace_error(), a.landmarks());
    }
}
