// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Files that the page opens and saves: topologies and scenarios, whole or not at all, never over a change by others.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use serde::{Deserialize, Serialize};
use weir::fault::{Fault, Result};
use weir::outdir::replace_file;
use weir::{catalogue, input, topology};

/// A text with what it is called.
#[derive(Debug, Serialize)]
pub(crate) struct Opened {
    /// As includes are found from: a path, or `catalogue:/…`.
    pub name: String,
    pub text: String,
    /// Where it is saved; none: the user has to say.
    pub path: Option<String>,
    /// What the file was like, to notice changes by others.
    pub mark: Option<String>,
}

/// With what a new file begins.
const FIRST: &str = "\
annotate affinity;
entry -> load_balancer -> each cpu { round_robin(slice = 3ms) -> cpu };
";

pub(crate) fn begin(file: Option<&str>) -> Result<()> {
    let Some(file) = file else { return Ok(()) };
    open(file).map(|_| ())
}

/// A catalogue name or a file.
pub(crate) fn open(name: &str) -> Result<Opened> {
    if catalogue::find(catalogue::TOPOLOGIES, name).is_some() {
        let source = topology::source(name)?;
        return Ok(Opened { name: source.name, text: source.text, path: None, mark: None });
    }
    if name == "-" {
        return Err(Fault::user("the studio does not read standard input", "name a file"));
    }
    let path = Path::new(name);
    if input::is_path(name) && path.extension().is_some_and(|e| e == "weir") && !path.exists() {
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() {
            return Err(Fault::user(
                format!("there is no folder `{}`", folder.display()),
                "make it first, or choose another path",
            ));
        }
        let text = format!("// {name}\n{FIRST}");
        return Ok(Opened { name: name.into(), text, path: Some(name.into()), mark: None });
    }
    let source = topology::source(name)?;
    let mark = Some(mark(&source.text));
    Ok(Opened { name: source.name, text: source.text, path: Some(name.into()), mark })
}

fn mark(text: &str) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// What is to be saved.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Save {
    pub path: String,
    pub text: String,
    /// What the page knows of the file; none: there is to be no file.
    pub mark: Option<String>,
    /// Whatever is there.
    #[serde(default)]
    pub force: bool,
}

/// Write the file; the answer is its new mark.
pub(crate) fn save(save: &Save) -> Result<String> {
    let path = Path::new(&save.path);
    let shown = save.path.escape_debug();
    if !path.extension().is_some_and(|e| e == "weir" || e == "toml") {
        return Err(Fault::user(
            format!("`{shown}` does not end in .weir or .toml"),
            "the studio writes topologies (.weir) and scenarios (.toml) only",
        ));
    }
    let there = match fs::read_to_string(path) {
        Ok(text) => Some(mark(&text)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
        Err(e) => return Err(failed(&shown.to_string(), &e)),
    };
    if !save.force && there != save.mark && there != Some(mark(&save.text)) {
        let message = match save.mark {
            None => format!("`{shown}` exists already"),
            Some(_) => format!("`{shown}` has changed on disk since it was opened here"),
        };
        return Err(Fault::user(message, "save under another name, or overwrite it"));
    }
    replace_file(path, save.text.as_bytes())?;
    Ok(mark(&save.text))
}

fn failed(shown: &str, e: &std::io::Error) -> Fault {
    Fault::user(
        format!("cannot save `{shown}`: {}", input::reason(e)),
        "choose a folder that you may write to",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_by_others_is_not_lost() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("a.weir").display().to_string();
        let one = |text: &str, mark: Option<&str>| Save {
            path: path.clone(),
            text: text.into(),
            mark: mark.map(String::from),
            force: false,
        };
        let first = save(&one("a", None)).expect("it is new");
        assert_eq!(open(&path).expect("it is there").mark, Some(first.clone()));
        let second = save(&one("b", Some(&first))).expect("nobody changed it");
        let e = save(&one("c", Some(&first))).expect_err("it was changed");
        assert!(e.to_string().contains("has changed on disk"), "{e}");
        let e = save(&one("c", None)).expect_err("it exists");
        assert!(e.to_string().contains("exists already"), "{e}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "b");
        save(&Save { force: true, ..one("c", Some(&second)) }).expect("asked for");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing else is left");
        // A link stays one, and what others have put beside it is not written to.
        let victim = dir.path().join("victim");
        fs::write(&victim, "mine").unwrap();
        let link = dir.path().join("link.weir");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        std::os::unix::fs::symlink(
            &victim,
            dir.path().join(format!(".link.weir.{}.new", std::process::id())),
        )
        .unwrap();
        let at = link.display().to_string();
        save(&Save { path: at, text: "d".into(), mark: None, force: true }).expect("asked for");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(
            (fs::read_to_string(&path).unwrap(), fs::read_to_string(&victim).unwrap()),
            ("d".into(), "mine".into())
        );
    }

    #[test]
    fn only_texts_of_ours_are_written() {
        let dir = tempfile::tempdir().expect("a folder");
        for name in ["x.sh", "weir", ".weir", "none/x.weir"] {
            let path = dir.path().join(name).display().to_string();
            assert!(save(&Save { path, text: String::new(), mark: None, force: true }).is_err(), "{name}");
        }
        assert!(open(&dir.path().join("none/new.weir").display().to_string()).is_err());
        let new = open(&dir.path().join("new.weir").display().to_string()).expect("begun");
        assert!(new.mark.is_none() && new.text.contains("entry"));
    }
}
