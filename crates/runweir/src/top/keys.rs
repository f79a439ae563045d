// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What the keys have set: which pane is in front, where it stands, what it is sorted by.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Parts of the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pane {
    #[default]
    Graph,
    Cpus,
    Tasks,
}

impl Pane {
    pub(crate) const ALL: [Pane; 3] = [Pane::Graph, Pane::Cpus, Pane::Tasks];
}

/// What tasks are sorted by; the greatest first, names alphabetically.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    #[default]
    Cpu,
    Wait,
    Switches,
    Migrations,
    Name,
}

impl Sort {
    const ALL: [Sort; 5] = [Sort::Cpu, Sort::Wait, Sort::Switches, Sort::Migrations, Sort::Name];

    /// As the pane's title says it.
    pub fn name(self) -> &'static str {
        ["CPU", "waiting", "switches", "migrations", "name"][self as usize]
    }
}

/// State of the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    pub focus: Pane,
    /// First line shown of each pane; one beyond the end shows the last page.
    pub scroll: [usize; 3],
    pub sort: Sort,
    pub paused: bool,
    pub quit: bool,
}

impl Keys {
    /// A key was pressed while a page had `page` lines and the pane in front `lines`. Returns whether
    /// the screen changes.
    pub fn press(&mut self, key: KeyEvent, page: usize, lines: usize) -> bool {
        let before = self.clone();
        let end = lines.saturating_sub(page);
        let at = &mut self.scroll[self.focus as usize];
        *at = (*at).min(end);
        match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => self.quit = true,
            KeyCode::Char('q') | KeyCode::Esc => self.quit = true,
            KeyCode::Char('p' | ' ') => self.paused = !self.paused,
            KeyCode::Char('s') => self.sort = next(&Sort::ALL, self.sort, 1),
            KeyCode::Char('S') => self.sort = next(&Sort::ALL, self.sort, Sort::ALL.len() - 1),
            KeyCode::Tab | KeyCode::Right => self.focus = next(&Pane::ALL, self.focus, 1),
            KeyCode::BackTab | KeyCode::Left => self.focus = next(&Pane::ALL, self.focus, 2),
            KeyCode::Down | KeyCode::Char('j') => *at = (*at + 1).min(end),
            KeyCode::Up | KeyCode::Char('k') => *at = at.saturating_sub(1),
            KeyCode::PageDown => *at = (*at + page).min(end),
            KeyCode::PageUp => *at = at.saturating_sub(page),
            KeyCode::Home => *at = 0,
            KeyCode::End => *at = end,
            _ => {}
        }
        *self != before
    }
}

fn next<T: Copy + PartialEq>(all: &[T], now: T, step: usize) -> T {
    let at = all.iter().position(|x| *x == now).unwrap_or(0);
    all[(at + step) % all.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(keys: &mut Keys, codes: &[KeyCode]) {
        for code in codes {
            keys.press(KeyEvent::new(*code, KeyModifiers::NONE), 10, 35);
        }
    }

    #[test]
    fn panes_go_round() {
        let mut keys = Keys::default();
        press(&mut keys, &[KeyCode::Tab, KeyCode::Right]);
        assert_eq!(keys.focus, Pane::Tasks);
        press(&mut keys, &[KeyCode::Tab, KeyCode::BackTab, KeyCode::Left]);
        assert_eq!(keys.focus, Pane::Cpus);
    }

    #[test]
    fn scrolling_stays_within_the_lines() {
        let mut keys = Keys::default();
        press(&mut keys, &[KeyCode::Up, KeyCode::PageDown, KeyCode::Down]);
        assert_eq!(keys.scroll, [11, 0, 0]);
        press(&mut keys, &[KeyCode::PageDown, KeyCode::PageDown, KeyCode::Down]);
        assert_eq!(keys.scroll, [25, 0, 0]);
        press(&mut keys, &[KeyCode::End, KeyCode::Tab, KeyCode::Down, KeyCode::Home]);
        assert_eq!(keys.scroll, [25, 0, 0]);
        // The graph got shorter meanwhile: the next key counts from its end.
        keys.focus = Pane::Graph;
        keys.press(KeyEvent::new(KeyCode::Up, KeyModifiers::NONE), 10, 12);
        assert_eq!(keys.scroll, [1, 0, 0]);
    }

    #[test]
    fn sorting_pausing_leaving() {
        let mut keys = Keys::default();
        press(&mut keys, &[KeyCode::Char('s'), KeyCode::Char('p')]);
        assert_eq!((keys.sort, keys.paused, keys.quit), (Sort::Wait, true, false));
        press(&mut keys, &[KeyCode::Char('S'), KeyCode::Char('S'), KeyCode::Char('p')]);
        assert_eq!((keys.sort, keys.paused), (Sort::Name, false));
        assert!(!keys.press(KeyEvent::new(KeyCode::Char('x'), KeyModifiers::NONE), 10, 35));
        assert!(keys.press(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL), 10, 35));
        assert!(keys.quit);
    }
}
