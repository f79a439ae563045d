// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The bar of a long run: only on a terminal, only after a second, never with `--quiet`.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use weir::Watch;

use crate::output::note;
use crate::stop;

/// A run shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);
/// Steps of a full bar.
const STEPS: u64 = 1000;

/// Progress of one or several runs; may be reported from several threads.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    bounded: bool,
    /// The user wants to hear of things meanwhile.
    speaks: bool,
    began: Instant,
    /// Virtual time of each run so far, and the end it is headed for (0: unknown).
    runs: Vec<(AtomicU64, AtomicU64)>,
}

impl Progress {
    /// For `runs` runs; `wanted` is false with `--quiet`, `bounded` where the end is a known time.
    pub fn new(runs: usize, bounded: bool, wanted: bool) -> Self {
        let shown = wanted && std::io::stderr().is_terminal();
        let target = if shown { ProgressDrawTarget::stderr_with_hz(8) } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(bounded.then_some(STEPS), target);
        let style = if bounded {
            ProgressStyle::with_template("{bar:32} {percent:>3} %  {msg}  {elapsed} so far, {eta} to go")
        } else {
            ProgressStyle::with_template("{spinner} {msg}  {elapsed} so far, until all tasks have ended")
        };
        bar.set_style(style.expect("the template is valid"));
        let runs = (0..runs).map(|_| (AtomicU64::new(0), AtomicU64::new(0))).collect();
        Self { bar, bounded, speaks: wanted, began: Instant::now(), runs }
    }

    fn draw(&self) {
        let mut share = 0.0;
        let mut virtual_ns = 0;
        for (now, end) in &self.runs {
            let (now, end) = (now.load(Ordering::Relaxed), end.load(Ordering::Relaxed));
            virtual_ns += now;
            if end > 0 {
                share += (now.min(end) as f64 / end as f64) / self.runs.len() as f64;
            }
        }
        if self.bounded {
            self.bar.set_position((share * STEPS as f64) as u64);
        } else {
            self.bar.tick();
        }
        self.bar.set_message(format!("{} of virtual time", crate::units::duration(virtual_ns)));
    }

    /// Take the bar off the screen.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Watch for Progress {
    fn stop(&self) -> &AtomicBool {
        stop::flag()
    }

    fn begins(&self) {
        stop::begins();
    }

    fn ends(&self) {
        stop::ends_one();
    }

    fn at(&self, run: usize, now_ns: u64, end_ns: Option<u64>) {
        let (now, end) = &self.runs[run];
        now.store(now_ns, Ordering::Relaxed);
        end.store(end_ns.unwrap_or(0), Ordering::Relaxed);
        if !self.bar.is_hidden() && self.began.elapsed() > PATIENCE {
            self.draw();
        }
    }

    fn remark(&self, text: &str) {
        note(text);
    }

    fn reads_remarks(&self) -> bool {
        self.speaks
    }
}

/// Progress of a wait without anything to count: a line with the time on a terminal; elsewhere, a line of text where it
/// takes long.
#[derive(Debug)]
pub struct Waiting {
    bar: ProgressBar,
    /// What it is at, and since when; ends its thread when it goes.
    at: Arc<Mutex<Option<(String, Instant)>>>,
}

impl Waiting {
    /// `wanted` is false with `--quiet`.
    pub fn new(wanted: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let target = if wanted && terminal {
            ProgressDrawTarget::stderr_with_hz(8)
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(
            ProgressStyle::with_template("{spinner} {msg}  {elapsed}").expect("the template is valid"),
        );
        let at = Arc::new(Mutex::new(None));
        if wanted && terminal {
            bar.enable_steady_tick(Duration::from_millis(125));
        } else if wanted {
            let known = Arc::downgrade(&at);
            std::thread::spawn(move || remind(&known));
        }
        Self { bar, at }
    }

    /// This is what is being done now.
    pub fn at(&self, what: &str) {
        self.bar.set_message(what.to_owned());
        *self.at.lock().unwrap_or_else(PoisonError::into_inner) = Some((what.into(), Instant::now()));
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Say what takes long: after three seconds, then after twice that, and so on.
fn remind(at: &Weak<Mutex<Option<(String, Instant)>>>) {
    let mut said = (String::new(), PATIENCE * 3);
    while let Some(at) = at.upgrade() {
        if let Some((what, since)) = at.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            if *what != said.0 {
                said = (what.clone(), PATIENCE * 3);
            }
            if since.elapsed() >= said.1 {
                note(&format!("waiting: {what} ({} s so far)", since.elapsed().as_secs()));
                said.1 *= 2;
            }
        }
        drop(at);
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Progress of many short runs: how many are done.
#[derive(Debug)]
pub struct Counter {
    bar: ProgressBar,
    began: Instant,
    done: AtomicU64,
    wanted: bool,
}

impl Counter {
    /// For `all` runs of which `before` are done already; `wanted` is false with `--quiet`.
    pub fn new(all: u64, before: u64, wanted: bool) -> Self {
        let shown = wanted && std::io::stderr().is_terminal();
        let target = if shown { ProgressDrawTarget::stderr_with_hz(8) } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(all), target).with_position(before);
        let style = "{bar:32} {percent:>3} %  {human_pos} of {human_len} runs  {elapsed} so far, {eta} to go";
        bar.set_style(ProgressStyle::with_template(style).expect("the template is valid"));
        bar.reset_eta();
        Self { bar, began: Instant::now(), done: AtomicU64::new(before), wanted }
    }

    /// Take the bar off the screen.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Watch for Counter {
    fn stop(&self) -> &AtomicBool {
        stop::flag()
    }

    fn begins(&self) {
        stop::begins();
    }

    fn ends(&self) {
        stop::ends_one();
    }

    fn more(&self, runs: u64) {
        self.bar.inc_length(runs);
    }

    fn remark(&self, text: &str) {
        if self.wanted {
            self.bar.suspend(|| crate::output::note(text));
        }
    }

    fn one(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if !self.bar.is_hidden() && self.began.elapsed() > PATIENCE {
            self.bar.set_position(done);
        }
    }
}
