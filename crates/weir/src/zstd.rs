// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A file that is compressed by zstd while it is written. The compressor pulls its input, but the writer pushes, so the
//! compressor has its own thread behind a short queue.

use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use ruzstd::encoding::{CompressionLevel, compress};

/// Bytes that are handed over at once, and how many such pieces wait at most.
const PIECE: usize = 1 << 18;
const WAITING: usize = 4;

/// The output. The file is complete when this is dropped and [`Compressing::finish`] has returned.
pub struct Compressed {
    piece: Vec<u8>,
    to: SyncSender<Vec<u8>>,
}

/// The thread that compresses.
pub struct Compressing(JoinHandle<io::Result<()>>);

/// Compress into `file` what is written.
pub fn compressed(file: impl Write + Send + 'static) -> (Compressed, Compressing) {
    let (to, from) = sync_channel(WAITING);
    let work = move || {
        let mut drain = Drain { file, failed: None };
        compress(Source { from, piece: Vec::new(), at: 0 }, &mut drain, CompressionLevel::Fastest);
        match drain.failed {
            Some(e) => Err(e),
            None => drain.file.flush(),
        }
    };
    (Compressed { piece: Vec::with_capacity(PIECE), to }, Compressing(thread::spawn(work)))
}

impl Compressing {
    /// Wait for the end. Returns the first error in writing.
    pub fn finish(self) -> io::Result<()> {
        self.0.join().unwrap_or_else(|_| Err(io::Error::other("the compressor gave up")))
    }
}

impl Compressed {
    fn hand_over(&mut self) {
        if !self.piece.is_empty() {
            // Nobody listens any more: why, `finish` says.
            let _ = self.to.send(std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE)));
        }
    }
}

impl Write for Compressed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE {
            self.hand_over();
        }
        Ok(bytes.len())
    }

    /// Pieces are handed over when they are full, and at the end: small ones would compress badly.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Compressed {
    fn drop(&mut self) {
        self.hand_over();
    }
}

/// The other end of the queue.
struct Source {
    from: Receiver<Vec<u8>>,
    piece: Vec<u8>,
    at: usize,
}

impl Read for Source {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while self.at == self.piece.len() {
            let Ok(piece) = self.from.recv() else { return Ok(0) };
            (self.piece, self.at) = (piece, 0);
        }
        let n = to.len().min(self.piece.len() - self.at);
        to[..n].copy_from_slice(&self.piece[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

/// The compressor takes errors for impossible: the first one is kept, and nothing more is written.
struct Drain<W> {
    file: W,
    failed: Option<io::Error>,
}

impl<W: Write> Write for Drain<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.failed.is_none() {
            self.failed = self.file.write_all(bytes).err();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_report::InMemory;

    #[test]
    fn what_is_written_comes_back() {
        let text: Vec<u8> = (0..400_000u32).flat_map(|i| (i / 7).to_le_bytes()).collect();
        for length in [0, 1, PIECE, text.len()] {
            let file = InMemory::default();
            let (mut to, compressing) = compressed(file.clone());
            for part in text[..length].chunks(1_000) {
                to.write_all(part).expect("the queue takes all");
            }
            drop(to);
            compressing.finish().expect("memory is never full");
            let packed = file.take();
            assert!(length < 1_000 || packed.len() < length / 2, "{} of {length}", packed.len());
            let mut back = Vec::new();
            let mut stream = ruzstd::decoding::StreamingDecoder::new(packed.as_slice()).expect("zstd");
            stream.read_to_end(&mut back).expect("whole");
            assert!(back == text[..length], "{length} bytes");
        }
    }

    #[test]
    fn a_full_disk_is_said_at_the_end() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (mut to, compressing) = compressed(Full);
        to.write_all(&vec![1; 4 * WAITING * PIECE]).expect("said at the end");
        drop(to);
        assert_eq!(compressing.finish().map_err(|e| e.kind()), Err(io::ErrorKind::StorageFull));
    }
}
