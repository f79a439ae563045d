// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A file in memory: data written to one copy can be read from another.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard};

/// Bytes in memory, shared by all copies.
#[derive(Clone, Debug, Default)]
pub struct InMemory(Arc<Mutex<Vec<u8>>>);

impl InMemory {
    /// Takes the data written so far; the file is then empty.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// A file that several write to, each whole pieces at a time.
struct Shared(Arc<Mutex<Box<dyn Write + Send>>>);

/// `n` ways into one file. What is written at once stays together; the file is closed with the last way.
pub fn shared(file: Box<dyn Write + Send>, n: usize) -> Vec<Box<dyn Write + Send>> {
    let file = Arc::new(Mutex::new(file));
    (0..n).map(|_| Box::new(Shared(file.clone())) as Box<dyn Write + Send>).collect()
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).write_all(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).flush()
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
