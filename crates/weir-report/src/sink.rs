// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The output of a run's observers: no caller waits for them, so they keep an error until the end.

use std::io::{self, BufWriter, Write};

/// Bytes collected before they are written.
const CHUNK: usize = 128 << 10;

/// A buffered file that keeps its first error and takes nothing after it.
pub(crate) struct Sink {
    out: BufWriter<Box<dyn Write + Send>>,
    error: Option<io::Error>,
}

impl Sink {
    pub(crate) fn new(out: Box<dyn Write + Send>) -> Self {
        Self { out: BufWriter::with_capacity(CHUNK, out), error: None }
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) {
        if self.error.is_none() {
            self.error = self.out.write_all(bytes).err();
        }
    }

    /// Writes what is left. The first error of all.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        match self.error.take() {
            None => self.out.flush(),
            Some(e) => Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with room for one write.
    struct Full(bool);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if std::mem::replace(&mut self.0, true) {
                Err(io::ErrorKind::StorageFull.into())
            } else {
                Ok(bytes.len())
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_first_error_is_reported_at_the_end() {
        let mut sink = Sink::new(Box::new(Full(false)));
        for _ in 0..4 {
            sink.put(&[0; CHUNK]);
        }
        assert_eq!(sink.finish().map_err(|e| e.kind()), Err(io::ErrorKind::StorageFull));
    }
}
