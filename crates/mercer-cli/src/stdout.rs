//! Whether standard output was closed when the command was started, as by `>&-`.
//!
//! The runtime of Rust opens /dev/null in place of a closed stream before `main`, so that data would be lost without an
//! error. It is therefore looked at before that.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Fails if standard output was closed from the start.
pub(crate) fn check_open() -> io::Result<()> {
    match CLOSED.load(Ordering::Relaxed) {
        true => Err(io::Error::new(io::ErrorKind::NotConnected, "standard output is closed")),
        false => Ok(()),
    }
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
mod early {
    use super::{CLOSED, Ordering};

    extern "C" fn look() {
        // SAFETY: this asks for the flags of a number, which need not be that of an open file.
        let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
        CLOSED.store(flags == -1, Ordering::Relaxed);
    }

    // SAFETY: functions of this section are called once, before `main`; this one uses nothing of the runtime.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static LOOK: extern "C" fn() = look;
}
