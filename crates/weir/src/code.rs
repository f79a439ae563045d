// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Whether a file may bring native code. Files from others are data: what a workload, a scenario or a package wants to load is loaded only
//! where the user names it, or allows all of it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use weir_core::{ComponentInfo, loaded};

/// What was allowed, for the whole program.
struct Trust {
    named: Vec<PathBuf>,
    /// Who allows everything: calls in progress, and the command line, for good.
    all: u32,
    /// How to allow it, in another face's words than the command line's.
    remedy: Option<&'static str>,
    /// Nothing is loaded, whatever else was said: the remedy.
    never: Option<&'static str>,
}

static TRUST: Mutex<Trust> = Mutex::new(Trust { named: Vec::new(), all: 0, remedy: None, never: None });

fn trust() -> MutexGuard<'static, Trust> {
    TRUST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Files may load this object, too: the user named it.
pub fn allow(object: &Path) {
    if let Ok(full) = object.canonicalize() {
        trust().named.push(full);
    }
}

/// Files may load what they name.
pub fn allow_all() {
    trust().all += 1;
}

/// Files may load what they name while this lives: those of other threads, too.
pub struct Allowed(());

impl Allowed {
    /// For a call; `None` where its caller does not allow it.
    pub fn during(allowed: bool) -> Option<Self> {
        allowed.then(|| {
            trust().all += 1;
            Self(())
        })
    }
}

impl Drop for Allowed {
    fn drop(&mut self) {
        trust().all -= 1;
    }
}

/// How a face other than the command line allows it.
pub fn allowed_by(remedy: &'static str) {
    trust().remedy = Some(remedy);
}

/// Files load nothing from now on, and this is what can be done about it.
pub fn refuse_all(remedy: &'static str) {
    trust().never = Some(remedy);
}

/// Load the component that a file names, if that is allowed. One that is there already, from the same object, stays: `None`.
///
/// # Errors
/// What is wrong, and how to mend it.
pub fn load(object: &Path) -> Result<Option<ComponentInfo>, (String, String)> {
    let shown = object.display();
    // What is not there is reported by who reads it.
    if let Ok(full) = object.canonicalize() {
        let trust = trust();
        if let Some(remedy) = trust.never {
            return Err((format!("`{shown}` is native code, which nothing loads here"), remedy.into()));
        }
        if trust.all == 0 && !trust.named.contains(&full) {
            let remedy = trust.remedy.map_or_else(
                || format!("if you trust it, name it: --load {shown}; or let files load what they name: --allow-code"),
                str::to_string,
            );
            return Err((
                format!("`{shown}` is native code, and a file does not load code unless its user says so"),
                remedy,
            ));
        }
        let same = |c: &ComponentInfo| {
            loaded::is_loaded(c.id) && Path::new(&c.source).canonicalize().is_ok_and(|source| source == full)
        };
        if weir_core::catalog().components.iter().any(same) {
            return Ok(None);
        }
    }
    loaded::load(object).map(Some).map_err(|e| (e.message, e.help))
}
