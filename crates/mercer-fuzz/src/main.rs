//! `cargo xtask fuzz`: reads damaged input for some minutes, and reports how each target did.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::fs::{self, File};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant, SystemTime};

use mercer_fuzz::{Finding, Tally, Target, input, run, targets};

const USAGE: &str = "usage: cargo xtask fuzz [--minutes N] [--seed S] [--target NAME] [--input INDEX]";

/// Inputs that a target reads before the next one has its turn.
const TURN: Duration = Duration::from_secs(2);

/// Findings of one target after which it is left alone.
const ENOUGH: usize = 10;

struct Options {
    minutes: f64,
    seed: u64,
    target: Option<String>,
    input: Option<u64>,
    /// Whether this is the process that reads. The other one outlives it, and says with which input it ended.
    reads: bool,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = options(&words).and_then(|options| match options.reads {
        true => read(&options),
        false => supervise(&options, &words),
    });
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn options(words: &[String]) -> Result<Options, String> {
    let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(1, |t| t.as_secs());
    let mut options = Options { minutes: 1.0, seed: clock, target: None, input: None, reads: false };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--reads" {
            options.reads = true;
            continue;
        }
        let value = words.next().ok_or(USAGE)?;
        match word.as_str() {
            "--minutes" => options.minutes = value.parse().map_err(|_| USAGE)?,
            "--seed" => options.seed = value.parse().map_err(|_| USAGE)?,
            "--target" => options.target = Some(value.clone()),
            "--input" => options.input = Some(value.parse().map_err(|_| USAGE)?),
            _ => return Err(USAGE.into()),
        }
    }
    Ok(options)
}

/// Where inputs with findings are saved: beside the programs that cargo builds.
fn folder() -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let folder = program.ancestors().nth(2).unwrap_or(Path::new(".")).join("fuzz");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    Ok(folder)
}

/// The name of a target and the number of an input, as they stand in the file of what is read now.
fn read_now(folder: &Path) -> Option<(String, u64)> {
    let text = fs::read_to_string(folder.join("now")).ok()?;
    let mut words = text.split_whitespace();
    Some((words.next()?.into(), words.next()?.parse().ok()?))
}

/// Starts the process that reads. If it is killed, as by a stack overflow, the input that it was reading is saved.
fn supervise(options: &Options, words: &[String]) -> Result<bool, String> {
    let (folder, program) = (folder()?, std::env::current_exe().map_err(|e| e.to_string())?);
    let _ = fs::remove_file(folder.join("now"));
    let seed = options.seed.to_string();
    let status = Command::new(program).args(words).args(["--seed", &seed, "--reads"]).status();
    let status = status.map_err(|e| e.to_string())?;
    // It removes the file when it ends by itself.
    let Some((name, index)) = read_now(&folder) else { return Ok(status.success()) };
    let targets = targets();
    let target = targets.iter().find(|t| t.name() == name).ok_or("an unknown target")?;
    let finding = Finding { target: target.name(), seed: options.seed, index, what: format!("ended with {status}") };
    save(&folder, target.as_ref(), &finding)?;
    Ok(false)
}

/// Saves the input of a finding, and says where.
fn save(folder: &Path, target: &dyn Target, finding: &Finding) -> Result<(), String> {
    let path = folder.join(format!("{}-{}-{}", finding.target, finding.seed, finding.index));
    fs::write(&path, input(target, finding.seed, finding.index)).map_err(|e| format!("{}: {e}", path.display()))?;
    println!("{finding}\n  input: {}", path.display());
    Ok(())
}

fn read(options: &Options) -> Result<bool, String> {
    let (folder, mut targets) = (folder()?, targets());
    if let Some(name) = &options.target {
        let known: Vec<_> = targets.iter().map(|t| t.name()).collect();
        if !known.contains(&name.as_str()) {
            return Err(format!("no target '{name}'; there are {}", known.join(", ")));
        }
        targets.retain(|t| t.name() == name);
    }
    println!("seed {}", options.seed);
    let mut tallies = vec![Tally::default(); targets.len()];
    let end = Instant::now() + Duration::from_secs_f64(60.0 * options.minutes);
    let now = File::create(folder.join("now")).map_err(|e| e.to_string())?;
    let note = |target: &str, index: u64| {
        // Always as long, so that the file need not be truncated. If it cannot be written, only the number of an input
        // that ends the process is not known.
        let _ = (&now).rewind().and_then(|()| write!(&now, "{target:>20} {index:>20}"));
    };
    while options.input.is_some() || Instant::now() < end {
        for (target, tally) in targets.iter().zip(&mut tallies) {
            if tally.findings.len() >= ENOUGH {
                continue;
            }
            let (from, begun) = (options.input.unwrap_or(tally.inputs), Instant::now());
            let to = options.input.map_or(u64::MAX, |index| index + 1);
            let more = run(target.as_ref(), options.seed, from..to, |index| {
                note(target.name(), index);
                options.input.is_some() || begun.elapsed() < TURN && Instant::now() < end
            });
            for finding in &more.findings {
                save(&folder, target.as_ref(), finding)?;
            }
            tally.add(more);
        }
        if options.input.is_some() || tallies.iter().all(|t| t.findings.len() >= ENOUGH) {
            break;
        }
    }
    let _ = fs::remove_file(folder.join("now"));
    report(&targets, &tallies);
    Ok(tallies.iter().all(|t| t.findings.is_empty()))
}

fn report(targets: &[Box<dyn Target>], tallies: &[Tally]) {
    println!("{:<12} {:>9} {:>9} {:>12} {:>12} {:>9}", "target", "inputs", "accepted", "slowest", "memory", "findings");
    for (target, t) in targets.iter().zip(tallies) {
        let (seconds, megabytes) = (t.slowest.0.as_secs_f64(), t.most_memory.0 as f64 / 1e6);
        println!(
            "{:<12} {:>9} {:>9} {:>10.3} s {:>9.1} MB {:>9}",
            target.name(),
            t.inputs,
            t.accepted,
            seconds,
            megabytes,
            t.findings.len()
        );
    }
}
