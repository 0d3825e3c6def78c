//! Inputs one by one, with their time and memory.

use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::dice::Dice;
use crate::memory;
use crate::targets::Target;

/// The seconds that an input may take. Most take less than a thousandth of one, on a machine that does nothing else.
pub const SECONDS: u64 = 30;

/// The bytes of memory that an input may take, beside a thousand times its size.
pub const MEMORY: usize = 200_000_000;

/// Something that should not happen, and the input that it happens with.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The name of the target.
    pub target: &'static str,
    /// The seed of the run.
    pub seed: u64,
    /// The number of the input.
    pub index: u64,
    /// What happens.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.target, self.what)?;
        write!(f, "  repeat: cargo xtask fuzz --seed {} --target {} --input {}", self.seed, self.target, self.index)
    }
}

/// What is known of a target after some inputs.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// The number of inputs.
    pub inputs: u64,
    /// How many of them were accepted.
    pub accepted: u64,
    /// The longest time that one took, and its number.
    pub slowest: (Duration, u64),
    /// The most bytes of memory that one took, and its number.
    pub most_memory: (usize, u64),
    /// What should not happen.
    pub findings: Vec<Finding>,
}

impl Tally {
    /// Adds what further inputs of the same target gave.
    pub fn add(&mut self, more: Tally) {
        self.inputs += more.inputs;
        self.accepted += more.accepted;
        self.slowest = self.slowest.max(more.slowest);
        self.most_memory = self.most_memory.max(more.most_memory);
        self.findings.extend(more.findings);
    }
}

/// Returns an input of a target.
pub fn input(target: &dyn Target, seed: u64, index: u64) -> Vec<u8> {
    target.input(&mut Dice::new(seed, target.name(), index))
}

/// Reads inputs of a target, as long as `goes_on` with the number of the next one. An input that takes more than
/// [`SECONDS`] ends the process: there is no other way to stop it.
pub fn run(target: &dyn Target, seed: u64, indices: Range<u64>, goes_on: impl Fn(u64) -> bool) -> Tally {
    watch();
    let mut tally = Tally::default();
    for index in indices.take_while(|index| goes_on(*index)) {
        let bytes = input(target, seed, index);
        let begun = Instant::now();
        *current() = Some((Finding { target: target.name(), seed, index, what: String::new() }, begun));
        let (read, memory) = memory::most(|| catch_unwind(AssertUnwindSafe(|| target.read(&bytes))));
        let time = begun.elapsed();
        *current() = None;
        tally.inputs += 1;
        tally.slowest = tally.slowest.max((time, index));
        tally.most_memory = tally.most_memory.max((memory, index));
        let what = match read {
            Ok(Ok(accepted)) => {
                tally.accepted += u64::from(accepted);
                let most = MEMORY + 1000 * bytes.len();
                (memory > most).then(|| format!("{memory} bytes of memory for an input of {} bytes", bytes.len()))
            }
            Ok(Err(what)) => Some(what),
            Err(_) => Some(std::mem::take(&mut *lock(&PANIC))),
        };
        tally.findings.extend(what.map(|what| Finding { target: target.name(), seed, index, what }));
    }
    tally
}

/// The input that is being read, and since when.
static CURRENT: Mutex<Option<(Finding, Instant)>> = Mutex::new(None);

/// What the last panic said.
static PANIC: Mutex<String> = Mutex::new(String::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn current() -> MutexGuard<'static, Option<(Finding, Instant)>> {
    lock(&CURRENT)
}

/// Keeps the words of panics, and ends the process when an input takes too long.
fn watch() {
    static WATCH: Once = Once::new();
    WATCH.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| match *current() {
            Some(_) if mercer_io::panic_is_handled() => {}
            Some(_) => *lock(&PANIC) = panic.to_string(),
            None => usual(panic),
        }));
        thread::spawn(|| {
            loop {
                thread::sleep(Duration::from_millis(500));
                if let Some((finding, _)) = current().take_if(|(_, begun)| begun.elapsed().as_secs() >= SECONDS) {
                    say(&Finding { what: format!("takes more than {SECONDS} seconds"), ..finding });
                    std::process::exit(1);
                }
            }
        });
    });
}

#[allow(clippy::print_stderr)]
fn say(finding: &Finding) {
    eprintln!("{finding}");
}
