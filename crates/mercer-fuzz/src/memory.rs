//! The memory that is in use, and the most of it since the last time.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

struct Counting;

static USED: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static COUNTING: Counting = Counting;

fn add(size: usize) {
    let used = USED.fetch_add(size, Ordering::Relaxed) + size;
    MOST.fetch_max(used, Ordering::Relaxed);
}

// SAFETY: every call is passed on to the system's allocator as it is; only its size is counted.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add(size);
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// Runs some work, and returns the most memory that it had at a time, on all threads.
pub(crate) fn most<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = USED.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let done = work();
    (done, MOST.load(Ordering::Relaxed).saturating_sub(before))
}
