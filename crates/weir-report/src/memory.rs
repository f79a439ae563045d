// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A file that is none: what is written to one copy can be had from another.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard};

/// Bytes in memory, shared by all copies.
#[derive(Clone, Debug, Default)]
pub struct InMemory(Arc<Mutex<Vec<u8>>>);

impl InMemory {
    /// What was written so far; nothing is left.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl Write for InMemory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.lock().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
