// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The loop: ask for snapshots in the background, draw, listen to the keys.

use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::layout::Rect;
use weir_linux::snapshot::Snapshot;

use super::keys::Keys;
use super::view::{Picture, extent};

/// How long a key may wait.
const BLINK: Duration = Duration::from_millis(50);

/// Both ends of the program are a terminal that can be drawn on.
pub fn usable() -> bool {
    let dumb = std::env::var_os("TERM").is_none_or(|t| t.is_empty() || t == "dumb");
    io::stdin().is_terminal() && io::stdout().is_terminal() && !dumb
}

/// Shows snapshots every `interval` until the user leaves or `stop` is set. `first` is the first of them;
/// `fetch` gets the next, or says why there is none (it is asked again and again).
pub fn run(
    first: Snapshot,
    fetch: impl Fn() -> Result<Snapshot, String> + Send + 'static,
    interval: Duration,
    stop: &AtomicBool,
) -> io::Result<()> {
    let news = ask(fetch, interval)?;
    let mut terminal = ratatui::try_init()?;
    let result = show(&mut terminal, first, &news, stop);
    ratatui::restore();
    result
}

/// Asks every `interval`, also while an answer is slow to come and the screen is to be drawn.
fn ask(
    fetch: impl Fn() -> Result<Snapshot, String> + Send + 'static,
    interval: Duration,
) -> io::Result<Receiver<Result<Snapshot, String>>> {
    let (sender, news) = mpsc::sync_channel(1);
    let work = move || {
        loop {
            std::thread::sleep(interval);
            if sender.send(fetch()).is_err() {
                break;
            }
        }
    };
    std::thread::Builder::new().name("snapshots".into()).spawn(work)?;
    Ok(news)
}

fn show(
    terminal: &mut ratatui::DefaultTerminal,
    first: Snapshot,
    news: &Receiver<Result<Snapshot, String>>,
    stop: &AtomicBool,
) -> io::Result<()> {
    let mut keys = Keys::default();
    let (mut before, mut now, mut note) = (None, first, None::<String>);
    let mut dirty = true;
    while !keys.quit && !stop.load(Ordering::Relaxed) {
        if std::mem::take(&mut dirty) {
            let picture = Picture { before: before.as_ref(), now: &now, keys: &keys, note: note.as_deref() };
            terminal.draw(|frame| frame.render_widget(&picture, frame.area()))?;
        }
        if event::poll(BLINK)? {
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => {
                    let size = terminal.size()?;
                    let (page, lines) = extent(Rect::new(0, 0, size.width, size.height), &now, &keys);
                    dirty |= keys.press(key, page, lines);
                }
                Event::Resize(..) => dirty = true,
                _ => {}
            }
        }
        match news.recv_timeout(Duration::ZERO) {
            // While the picture stands still the news is read and forgotten.
            Ok(_) if keys.paused => {}
            Ok(Ok(next)) => {
                note = None;
                before = Some(std::mem::replace(&mut now, next));
                dirty = true;
            }
            Ok(Err(why)) => {
                note = Some(why);
                dirty = true;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Ok(())
}
