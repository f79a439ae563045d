// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Estimates the size of a trace, so that the user is warned before it fills the disk.

use std::cell::Cell;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::units::exact;
use crate::watch::Watch;

/// A trace above this is worth a word, bytes.
const LARGE: u64 = 100_000_000;
/// Events after which the size of the whole is estimated from what there is: they take a fraction of a second.
const SAMPLE: u64 = 1 << 17;

/// A file that counts what is written to it.
pub struct Counted<W> {
    out: W,
    written: Arc<AtomicU64>,
}

impl<W> Counted<W> {
    pub fn new(out: W, written: &Arc<AtomicU64>) -> Self {
        Self { out, written: written.clone() }
    }
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.written.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Watches how a trace grows, and speaks once.
pub struct Size<'a> {
    written: &'a AtomicU64,
    duration_ns: Option<u64>,
    watch: &'a dyn Watch,
    /// Nothing more is to be said.
    done: Cell<bool>,
}

impl<'a> Size<'a> {
    pub fn new(written: &'a AtomicU64, duration_ns: Option<u64>, watch: &'a dyn Watch) -> Self {
        Self { written, duration_ns, watch, done: Cell::new(!watch.reads_remarks()) }
    }

    /// The run has come so far.
    pub fn look(&self, now_ns: u64, events: u64) {
        if self.done.get() || events < SAMPLE {
            return;
        }
        let written = self.written.load(Ordering::Relaxed);
        let text = match self.duration_ns {
            Some(end_ns) => {
                self.done.set(true);
                match expected(written, now_ns, end_ns) {
                    // Many workloads end by themselves before that.
                    all if all > LARGE => {
                        let (all, end) = (bytes(all), exact(end_ns));
                        format!("the trace will take about {all} if the run continues at this rate for {end}")
                    }
                    _ => return,
                }
            }
            // Nobody knows how long the run is.
            None if written > LARGE => {
                self.done.set(true);
                format!("the trace has {} so far, and the run continues", bytes(written))
            }
            None => return,
        };
        let help = "`--trace misses`, `--trace 10ms..20ms` or `--trace none` write less";
        self.watch.remark(&format!("{text}; {help}"));
    }
}

/// Predicted total size, if it continues as it began.
fn expected(written: u64, now_ns: u64, duration_ns: u64) -> u64 {
    let all = u128::from(written) * u128::from(duration_ns) / u128::from(now_ns.max(1));
    u64::try_from(all).unwrap_or(u64::MAX)
}

/// A size as people write it.
fn bytes(n: u64) -> String {
    match n {
        1_000_000_000.. => format!("{:.1} GB", n as f64 / 1e9),
        _ => format!("{} MB", n / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn what_is_written_is_counted() {
        let written = Arc::new(AtomicU64::new(0));
        Counted::new(Vec::new(), &written).write_all(b"12345").expect("memory");
        assert_eq!(written.load(Ordering::Relaxed), 5);
    }

    /// A run of 2 s was announced with 30 times its size, as it might have gone on for 60 s.
    #[test]
    fn the_estimate_says_for_how_long() {
        #[derive(Default)]
        struct Ear(AtomicBool, Mutex<String>);
        impl Watch for Ear {
            fn stop(&self) -> &AtomicBool {
                &self.0
            }
            fn reads_remarks(&self) -> bool {
                true
            }
            fn remark(&self, text: &str) {
                self.1.lock().expect("one thread").push_str(text);
            }
        }
        let (ear, written) = (Ear::default(), AtomicU64::new(50_000_000));
        Size::new(&written, Some(60_000_000_000), &ear).look(2_000_000_000, SAMPLE);
        let said = ear.1.into_inner().expect("one thread");
        assert!(
            said.starts_with("the trace will take about 1.5 GB if the run continues at this rate for 60 s;"),
            "{said}"
        );
    }

    #[test]
    fn the_whole_is_as_dense_as_its_beginning() {
        assert_eq!(expected(1_000_000, 10, 1_000), 100_000_000);
        assert_eq!(expected(1, 0, u64::MAX), u64::MAX);
        assert_eq!((bytes(369_000_000), bytes(1_250_000_000)), ("369 MB".into(), "1.2 GB".into()));
    }

    #[derive(Default)]
    struct Heard(AtomicU64);

    impl Watch for Heard {
        fn reads_remarks(&self) -> bool {
            true
        }

        fn remark(&self, text: &str) {
            assert!(text.contains("--trace"), "{text}");
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn it_speaks_once() {
        let written = AtomicU64::new(LARGE);
        let heard = Heard::default();
        let size = Size::new(&written, Some(1_000), &heard);
        size.look(100, SAMPLE - 1);
        assert!(!size.done.get(), "too early to say");
        size.look(100, SAMPLE);
        size.look(200, 2 * SAMPLE);
        assert_eq!(heard.0.load(Ordering::Relaxed), 1);
    }
}
