// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The end of memory: said in a line, with exit status 1, where Rust's own way is an abort without a remedy.

use std::alloc::{GlobalAlloc, Layout, System};

/// The system's allocator. If it has no more, the program ends.
pub struct OrEnd;

/// Not formatted: that would need memory.
const WORDS: &[u8] = b"error: there is no more memory\n  help: ask for less: fewer tasks, CPUs or runs at a time (--jobs), a shorter \
duration; or raise the limit (ulimit -v)\n";

#[cold]
fn end() -> ! {
    // SAFETY: plain bytes to a descriptor; `_exit` runs nothing of this program any more.
    unsafe {
        libc::write(2, WORDS.as_ptr().cast(), WORDS.len());
        libc::_exit(1)
    }
}

fn some(p: *mut u8) -> *mut u8 {
    if p.is_null() { end() } else { p }
}

// SAFETY: the system's allocator, which never returns null here.
unsafe impl GlobalAlloc for OrEnd {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise, passed on.
        some(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise, passed on.
        some(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise, passed on.
        some(unsafe { System.realloc(p, layout, size) })
    }

    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise, passed on.
        unsafe { System.dealloc(p, layout) }
    }
}
