//! Panics of the Parquet library as errors.
//!
//! The library is made for files that writers made, and panics on some damaged ones.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, Result};

use super::FORMAT;

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic on this thread becomes an error: a panic hook need not report it.
pub fn panic_is_handled() -> bool {
    GUARDED.get()
}

/// Marks panics of `work` on this thread as handled.
pub(super) fn quietly<T>(work: impl FnOnce() -> T) -> T {
    struct Reset(bool);
    impl Drop for Reset {
        fn drop(&mut self) {
            GUARDED.set(self.0);
        }
    }
    let _reset = Reset(GUARDED.replace(true));
    work()
}

/// Runs code that calls the library; a panic is a damaged file.
pub(super) fn guarded<T>(file: &str, read: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(|| quietly(read)))
        .unwrap_or_else(|_| Err(Error::damaged(file, FORMAT, "its pages do not match its footer")))
}
