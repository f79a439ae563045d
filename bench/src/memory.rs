// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Zeroed memory at a fixed place, for schedulers in C.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::c_void;

/// A block, aligned to a page.
pub struct Block {
    at: *mut u8,
    layout: Layout,
}

impl Block {
    pub fn new(bytes: usize) -> Self {
        let layout = Layout::from_size_align(bytes.max(1), 4096).expect("a size that fits");
        // SAFETY: the size is not zero.
        let at = unsafe { alloc_zeroed(layout) };
        assert!(!at.is_null(), "{bytes} bytes of memory");
        Self { at, layout }
    }

    /// The address of a byte within.
    pub fn at(&self, offset: usize) -> *mut c_void {
        debug_assert!(offset < self.layout.size());
        // SAFETY: within the block.
        unsafe { self.at.add(offset).cast() }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: made with this layout.
        unsafe { dealloc(self.at, self.layout) }
    }
}
