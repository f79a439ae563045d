// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Components shipped with a package: found, checked and loaded before it is merged (docs/packages.md).

use std::fs;
use std::path::{Path, PathBuf};

use weir_core::loaded;
use weir_lang::{Need, Source};

use crate::code;
use crate::fault::Result;
use crate::topology;

/// Load what a package needs and the program does not have; the names of what was loaded.
///
/// # Errors
/// Of the user, at the place in the package: there is no such file, it is refused, or it holds something else; or the
/// component's name is taken. Nothing is loaded then.
pub fn bring(package: &Source) -> Result<Vec<String>> {
    let mut brought = Vec::new();
    for need in weir_lang::needs(package) {
        match one(&need, package) {
            Ok(true) => brought.push(need.component),
            Ok(false) => {}
            Err((message, help)) => {
                take_back(&brought);
                return Err(topology::fault(vec![need.refused(message, help)]));
            }
        }
    }
    Ok(brought)
}

/// Unload components that nothing uses yet.
pub fn take_back(names: &[String]) {
    for name in names {
        // One that something does use stays, which does no harm.
        let _ = loaded::unload(name);
    }
}

/// See to one component; whether it was loaded for that. The error is what is wrong, and how to mend it.
fn one(need: &Need, package: &Source) -> std::result::Result<bool, (String, String)> {
    let (name, file) = (&need.component, beside(package, &need.file));
    let shown = file.display();
    if let Some(there) = weir_core::catalog().get(name) {
        if !loaded::is_loaded(there.id) {
            let message = format!("the program has a component `{name}` of its own");
            return Err((message, "give the package's component, and its file, another name".into()));
        }
        let same = |a: &Path, b: &Path| matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b);
        if !same(Path::new(&there.source), &file) {
            let message = format!("`{name}` is loaded already, from `{}` instead of `{shown}`", there.source);
            return Err((message, "unload the other, or give one of the two another name".into()));
        }
        return Ok(false);
    }
    if !file.exists() {
        let from = Path::new(&need.file).with_extension("c");
        let help = format!(
            "a package is shipped with its components; this one is made by `runweir component build {} -o {shown}`",
            from.display()
        );
        return Err((format!("there is no `{shown}`, which holds the component `{name}`"), help));
    }
    let Some(info) = code::load(&file)? else {
        let message = format!("`{shown}` is loaded already, and holds another component than `{name}`");
        return Err((message, "write `needs` with that one's name, or name the right file".into()));
    };
    if info.name != *name {
        take_back(std::slice::from_ref(&info.name));
        let message = format!("`{shown}` holds the component `{}`, not `{name}`", info.name);
        return Err((message, format!("write `needs {} from …`, or name the right file", info.name)));
    }
    Ok(true)
}

/// A file that a package names, as seen from the current folder.
fn beside(package: &Source, file: &str) -> PathBuf {
    Path::new(&package.name).parent().unwrap_or(Path::new("")).join(file)
}
