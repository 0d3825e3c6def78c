//! A long fit from outside: a line of progress on a terminal, Ctrl-C, checkpoints.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mercer::Exec;
use mercer::exec::Progress;
use mercer_io::{Checkpoint, Task};
use mercer_view::printable;

use crate::args::FitArgs;
use crate::output::{Failure, Result};
use crate::{remedy, signals};

/// How long work that does not check for cancellation, as a decomposition of a stored matrix, may run after Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Progress, Ctrl-C and checkpoint of a fit.
pub(crate) struct Watch {
    /// The passes over the Gram matrix, if there are any to keep.
    checkpoint: Option<Arc<Checkpoint>>,
    line: Arc<Mutex<Line>>,
    /// Set by Ctrl-C.
    cancelled: Arc<AtomicBool>,
    /// Whether the handler of Ctrl-C may still save the passes and end the process. It holds this while it does.
    open: Arc<Mutex<bool>>,
}

impl Watch {
    /// No progress; Ctrl-C ends the process.
    pub(crate) fn none() -> Self {
        Watch::new(false, None)
    }

    fn new(shown: bool, checkpoint: Option<Arc<Checkpoint>>) -> Self {
        let line = Arc::new(Mutex::new(Line::new(shown)));
        Watch { checkpoint, line, cancelled: Arc::default(), open: Arc::new(Mutex::new(true)) }
    }

    /// Progress of rows that are read batch by batch, and Ctrl-C, after which no partial output remains.
    pub(crate) fn of_rows(quiet: bool, exec: Exec) -> (Self, Exec) {
        let watch = Watch::new(is_shown(quiet), None);
        let cancelled = Arc::clone(&watch.cancelled);
        signals::on_next(move || cancelled.store(true, Ordering::SeqCst));
        let exec = exec.cancel(Arc::clone(&watch.cancelled));
        (watch, exec)
    }

    /// Prepares `exec` for passes: progress when standard error is a terminal, Ctrl-C, and a journal.
    pub(crate) fn of_passes(args: &FitArgs, task: Task, quiet: bool, exec: Exec) -> Result<(Self, Exec)> {
        let checkpoint = Arc::new(match &args.checkpoint {
            Some(folder) if args.resume => Checkpoint::resume(folder, task)?,
            Some(folder) => Checkpoint::create(folder, task)?,
            None => Checkpoint::in_memory(task),
        });
        let watch = Watch::new(is_shown(quiet), Some(Arc::clone(&checkpoint)));
        let shown = Arc::clone(&watch.line);
        let report = Arc::new(move |p: Progress| lock(&shown).take(p));
        let (cancelled, open) = (Arc::clone(&watch.cancelled), Arc::clone(&watch.open));
        let (kept, output) = (Arc::clone(&checkpoint), args.output.clone());
        signals::on_next(move || {
            cancelled.store(true, Ordering::SeqCst);
            std::thread::spawn(move || {
                std::thread::sleep(PATIENCE);
                // Still open: the work has not ended by itself, so its passes are saved from here.
                let open = lock(&open);
                if *open {
                    let (message, help) = keep(&kept, output.as_deref());
                    let help = help.map(|h| format!("{h}\n")).unwrap_or_default();
                    let _ = write!(std::io::stderr(), "{}\n{}", printable(&message), printable(&help));
                    signals::exit();
                }
            });
        });
        let journal = checkpoint as Arc<dyn mercer::exec::Journal>;
        let exec = exec.cancel(Arc::clone(&watch.cancelled)).progress(report).journal(journal);
        Ok((watch, exec))
    }

    /// Shows how many rows were read, of how many if that is known.
    pub(crate) fn rows(&self, rows: u64, of: Option<u64>) {
        let mut line = lock(&self.line);
        if line.last_shown.elapsed() > Duration::from_millis(200) {
            let of = of.map_or(String::new(), |n| format!(" of {}", mercer_view::count(n as usize)));
            line.show(&format!("{} rows{of}", mercer_view::count(rows as usize)));
        }
    }

    /// The flag that cancels the work, as Ctrl-C does.
    pub(crate) fn canceller(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cancelled)
    }

    /// Fails after Ctrl-C.
    pub(crate) fn check_cancelled(&self) -> Result<()> {
        match self.cancelled.load(Ordering::SeqCst) {
            true => Err(Failure::Interrupted { message: "interrupted; nothing was written".into(), help: None }),
            false => Ok(()),
        }
    }

    /// The last moment for Ctrl-C, before results take their places: fails after it, with the passes saved.
    pub(crate) fn settle(&self, output: Option<&str>) -> Result<()> {
        self.close();
        self.check_cancelled().map_err(|_| self.interrupted(output))
    }

    /// Removes the checkpoint: the work is done and its results are written.
    pub(crate) fn done(self) -> Result<()> {
        self.close();
        self.checkpoint.map_or(Ok(()), |checkpoint| Ok(checkpoint.remove()?))
    }

    /// Saves the passes of interrupted work; the message says how to resume.
    pub(crate) fn interrupted(&self, output: Option<&str>) -> Failure {
        self.close();
        let (message, help) = match &self.checkpoint {
            Some(checkpoint) => keep(checkpoint, output),
            None => ("interrupted; nothing was written".into(), None),
        };
        Failure::Interrupted { message, help }
    }

    /// A failure of the work after the fit. An interruption still saves the passes.
    pub(crate) fn or_interrupted(&self, failure: Failure, output: Option<&str>) -> Failure {
        match failure {
            Failure::Interrupted { .. } => self.interrupted(output),
            other => other,
        }
    }

    /// The work failed otherwise.
    pub(crate) fn failed(&self) {
        self.close();
        self.checkpoint.as_deref().into_iter().for_each(remove_if_empty);
    }

    /// Clears the line of progress.
    pub(crate) fn clear(&self) {
        lock(&self.line).show("");
    }

    /// From now on this thread decides about the passes. If the handler of Ctrl-C is ending the process, this does not
    /// return.
    fn close(&self) {
        self.clear();
        *lock(&self.open) = false;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether progress is shown.
fn is_shown(quiet: bool) -> bool {
    !quiet && std::io::stderr().is_terminal()
}

/// Removes a checkpoint without passes, which would only prevent the next one.
fn remove_if_empty(checkpoint: &Checkpoint) {
    if checkpoint.passes() == 0 {
        let _ = checkpoint.remove();
    }
}

/// Saves the passes, in a folder beside the output if there is none yet; returns a message, and how to resume.
fn keep(checkpoint: &Checkpoint, output: Option<&str>) -> (String, Option<String>) {
    let passes = match checkpoint.passes() {
        0 => {
            remove_if_empty(checkpoint);
            return ("interrupted before the first pass was finished".into(), None);
        }
        1 => "1 pass".to_string(),
        n => format!("{n} passes"),
    };
    let folder: PathBuf = match checkpoint.folder() {
        Some(folder) => folder.into(),
        None => {
            let prefix = output.filter(|o| *o != "-").unwrap_or("mercer");
            let free = |n: usize| {
                PathBuf::from(format!("{prefix}.checkpoint{}", if n == 1 { String::new() } else { format!("-{n}") }))
            };
            let folder = (1..).map(free).find(|f| !f.exists()).expect("some name is free");
            if let Err(e) = checkpoint.save_to(&folder) {
                return (
                    format!("interrupted; {passes} finished, but cannot be saved: {e}"),
                    e.remedy().as_ref().map(remedy::with_flags),
                );
            }
            folder
        }
    };
    let message = format!("interrupted; {passes} saved in {}", folder.display());
    (message, Some(format!("resume with: {}", again(&folder))))
}

/// The same command, resuming from a checkpoint.
fn again(folder: &Path) -> String {
    let mut words: Vec<String> = std::env::args().collect();
    words[0] = "mercer".into();
    let quoted = |w: &String| {
        let plain = !w.is_empty() && w.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,@+".contains(c));
        if plain { w.clone() } else { format!("'{}'", w.replace('\'', "'\\''")) }
    };
    let named = words.iter().any(|w| w == "--checkpoint" || w.starts_with("--checkpoint="));
    let resumed = words.iter().any(|w| w == "--resume");
    let mut text = words.iter().map(quoted).collect::<Vec<_>>().join(" ");
    if !named {
        text += &format!(" --checkpoint {}", quoted(&folder.display().to_string()));
    }
    if !resumed {
        text += " --resume";
    }
    text
}

/// One line that is written over itself.
struct Line {
    shown: bool,
    width: usize,
    start: Instant,
    pass: Option<Pass>,
    last_shown: Instant,
}

struct Pass {
    number: usize,
    reached: Option<f64>,
    before: Option<f64>,
    wanted: f64,
    in_f64: bool,
    start: Instant,
    /// Duration of the last whole pass in f32.
    whole: Option<Duration>,
}

impl Line {
    fn new(shown: bool) -> Self {
        let now = Instant::now();
        Line { shown, width: 0, start: now, pass: None, last_shown: now }
    }

    fn take(&mut self, progress: Progress) {
        if !self.shown {
            return;
        }
        match progress {
            Progress::Landmarks => self.show("choosing landmarks"),
            Progress::Pass { number, reached, wanted, in_f64 } => {
                let before = self.pass.as_ref().and_then(|p| p.reached);
                let whole = self.pass.as_ref().filter(|p| !p.in_f64).map(|p| p.start.elapsed());
                self.pass = Some(Pass { number, reached, before, wanted, in_f64, start: Instant::now(), whole });
                self.show_pass(0.0);
            }
            Progress::Tiles { done, of } if self.last_shown.elapsed() > Duration::from_millis(100) => {
                self.show_pass(done as f64 / of as f64);
            }
            _ => {}
        }
    }

    fn show_pass(&mut self, share: f64) {
        let Some(pass) = &self.pass else { return };
        let kind = if pass.in_f64 { "f64" } else { "f32" };
        let mut text = format!("pass {} ({kind}) {:3.0} %", pass.number, 100.0 * share);
        if let Some(reached) = pass.reached {
            text += &format!("   residual {reached:.1e}, wanted {:.0e}", pass.wanted);
        }
        if let Some(left) = pass.left(share) {
            text += &format!("   about {} left", time(left));
        }
        text += &format!("   ({})", time(self.start.elapsed()));
        self.show(&text);
    }

    fn show(&mut self, text: &str) {
        if !self.shown {
            return;
        }
        self.last_shown = Instant::now();
        let width = text.chars().count();
        let gap = " ".repeat(self.width.saturating_sub(width));
        let mut err = std::io::stderr().lock();
        let _ = write!(err, "\r{text}{gap}\r");
        let _ = err.flush();
        self.width = width;
    }
}

impl Pass {
    /// Time left: the rest of this pass, and the passes still needed if residuals keep falling as they did; the last
    /// one, in f64, takes about twice as long.
    fn left(&self, share: f64) -> Option<Duration> {
        let so_far = self.start.elapsed();
        let one = if share > 0.05 { so_far.div_f64(share) } else { self.whole? };
        let rest = one.mul_f64(1.0 - share);
        if self.in_f64 {
            return Some(rest);
        }
        let fall = match (self.before, self.reached) {
            (Some(before), Some(reached)) => (reached / before).clamp(1e-3, 0.7),
            _ => 0.03,
        };
        let after_this = self.reached.unwrap_or(0.3) * fall;
        let more = (self.wanted / after_this).ln() / fall.ln();
        Some(rest + one.mul_f64(more.max(0.0).ceil() + 2.0))
    }
}

fn time(t: Duration) -> String {
    match t.as_secs() {
        s if s < 60 => format!("{:.1} s", t.as_secs_f64()),
        s if s < 3600 => format!("{} min {} s", s / 60, s % 60),
        s => format!("{} h {} min", s / 3600, s % 3600 / 60),
    }
}
