//! Ctrl-C and SIGTERM. The first signal asks the work to end; the second ends the process, whatever it is doing.

use std::io::Write;
use std::process;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Exit codes, as shells expect them: 128 and the number of the signal.
const INTERRUPTED: u8 = 130;
const TERMINATED: u8 = 143;

/// The exit code of the last signal; 0 before the first one.
static RECEIVED: AtomicU8 = AtomicU8::new(0);

type Reaction = Box<dyn FnOnce() + Send>;

/// What the next signal does instead of ending the process.
static REACTION: Mutex<Option<Reaction>> = Mutex::new(None);

/// Handles signals from now on. If no thread can be started, they end the process as the system does it.
pub(crate) fn start() {
    let _ = thread::Builder::new().name("signals".into()).spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        if let Ok(runtime) = runtime {
            runtime.block_on(listen());
        }
    });
}

/// Lets work end by itself at the next signal: `reaction` asks it to. The signal after that ends the process.
pub(crate) fn on_next(reaction: impl FnOnce() + Send + 'static) {
    *REACTION.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(reaction));
}

/// The exit code of an interrupted command.
pub(crate) fn exit_code() -> u8 {
    match RECEIVED.load(Ordering::SeqCst) {
        0 => INTERRUPTED,
        code => code,
    }
}

/// Ends the process after a signal. No temporary file remains, and no set of outputs is left half renamed.
pub(crate) fn exit() -> ! {
    mercer_io::remove_unfinished();
    process::exit(exit_code().into())
}

fn receive(code: u8) {
    RECEIVED.store(code, Ordering::SeqCst);
    // Without the lock while it runs: the reaction may take long.
    let reaction = REACTION.lock().unwrap_or_else(PoisonError::into_inner).take();
    match reaction {
        Some(react) => react(),
        None => {
            let _ = writeln!(std::io::stderr(), "interrupted");
            exit();
        }
    }
}

#[cfg(unix)]
async fn listen() {
    use tokio::signal::unix::{SignalKind, signal};
    let signals = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
    let (Ok(mut interrupt), Ok(mut terminate)) = signals else { return };
    loop {
        let code = tokio::select! {
            _ = interrupt.recv() => INTERRUPTED,
            _ = terminate.recv() => TERMINATED,
        };
        receive(code);
    }
}

#[cfg(not(unix))]
async fn listen() {
    const _: u8 = TERMINATED; // there is no such signal
    while tokio::signal::ctrl_c().await.is_ok() {
        receive(INTERRUPTED);
    }
}
