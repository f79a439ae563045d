// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The guest's kernel: the user's own, or the best of Debian's that is not damaged.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cache::Cache;
use crate::error::{Error, ErrorKind, Result};
use crate::suites::{Apt, Candidate};
use crate::{OnStep, Step, btf, image};

/// Kernels tried before giving up; each is a download of about 14 MB.
const TRIES: usize = 8;

/// Name of the file in the cache that says which kernel was chosen.
const CHOSEN: &str = "kernel";

/// A kernel to boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// What `uname -r` says.
    pub version: String,
    /// The boot file.
    pub image: PathBuf,
    /// The configuration that it was built with, where it is known.
    pub config: Option<PathBuf>,
    /// Why schedulers cannot be loaded into it; `None` where all is well.
    pub damage: Option<String>,
}

impl Kernel {
    /// A boot file of the user's own. Damage that only concerns schedulers is not an error here.
    pub fn of_file(path: &Path) -> Result<Self> {
        let bytes =
            fs::read(path).map_err(|e| Error { kind: ErrorKind::Input, ..Error::io("read", path, &e) })?;
        let version = image::version(&bytes).map_err(|why| {
            Error::new(ErrorKind::Input, format!("`{}` cannot be booted: {why}", path.display()))
                .help("name a kernel's boot file, which Debian calls vmlinuz")
        })?;
        let config =
            configs(path.parent().unwrap_or(Path::new("")), &version).into_iter().find(|c| c.is_file());
        let damage = damage(&bytes, config.as_deref());
        Ok(Self { version, image: path.to_path_buf(), config, damage })
    }

    /// An error where the kernel cannot take schedulers.
    pub fn takes_schedulers(&self) -> Result<()> {
        match &self.damage {
            None => Ok(()),
            // Only the user's own kernels can be damaged: others are checked before they are kept.
            Some(why) => Err(Error::new(
                ErrorKind::Input,
                format!("schedulers cannot be loaded into kernel {}: {why}", self.version),
            )
            .help("leave out --kernel, and a kernel that works is fetched; or name another build")),
        }
    }
}

/// The cached kernel; fetched and checked first if there is none.
pub fn ensure(cache: &Cache, on_step: OnStep) -> Result<Kernel> {
    if let Some(kernel) = cached(cache) {
        return Ok(kernel);
    }
    let _lock = cache.lock()?;
    // Somebody else may have been faster.
    cached(cache).map_or_else(|| fetch(cache, on_step), Ok)
}

/// The kernel chosen earlier.
fn cached(cache: &Cache) -> Option<Kernel> {
    let version = fs::read_to_string(cache.path(CHOSEN)).ok()?.trim().to_string();
    let dir = cache.path(&format!("kernel-{version}"));
    let image = dir.join("vmlinuz");
    let config = Some(dir.join("config")).filter(|c| c.is_file());
    image.is_file().then_some(Kernel { version, image, config, damage: None })
}

/// Try the candidates in turn; needs the cache's lock.
fn fetch(cache: &Cache, on_step: OnStep) -> Result<Kernel> {
    if std::env::consts::ARCH != "x86_64" {
        return Err(Error::new(
            ErrorKind::Kernel,
            "the virtual machine runs on x86-64 computers only so far",
        ));
    }
    let scratch = cache.scratch()?;
    let apt = Apt::update(scratch.path(), on_step)?;
    let mut rejected = String::new();
    let mut last = None;
    for candidate in apt.candidates()?.iter().take(TRIES) {
        match candidate_kernel(&apt, candidate, scratch.path(), on_step) {
            Ok(dir) => return keep(cache, candidate, &dir),
            Err(e) => {
                rejected.push_str(&format!("{}: {}\n", candidate.version, e.message));
                last = Some(e);
            }
        }
    }
    let message = "none of the kernels that Debian offers can be used";
    let mut error = Error::new(ErrorKind::Kernel, message)
        .help("try again later, or name a kernel of your own with --kernel FILE")
        .log("kernels tried", &rejected);
    if let Some((name, text)) = last.and_then(|e| e.log) {
        error = error.log(&format!("kernels tried, and {name} of the last"), &format!("{rejected}{text}"));
    }
    Err(error)
}

/// Download, unpack and check one; returns a folder with `vmlinuz` and perhaps `config`.
fn candidate_kernel(apt: &Apt, candidate: &Candidate, scratch: &Path, on_step: OnStep) -> Result<PathBuf> {
    let files = scratch.join(format!("files-{}", candidate.version));
    let dir = scratch.join(format!("kernel-{}", candidate.version));
    apt.unpack(candidate, &files, on_step)?;
    fs::create_dir_all(&dir).map_err(|e| Error::io("make the folder", &dir, &e))?;
    let version = &candidate.version;
    let images = [
        files.join(format!("usr/lib/modules/{version}/vmlinuz")),
        files.join(format!("lib/modules/{version}/vmlinuz")),
        files.join(format!("boot/vmlinuz-{version}")),
    ];
    let image = images.iter().find(|p| p.is_file()).ok_or_else(|| {
        Error::new(ErrorKind::Kernel, format!("the package `{}` has no kernel in it", candidate.package))
    })?;
    on_step(&Step { what: format!("checking kernel {version}"), done: 0, total: 0 });
    let bytes = fs::read(image).map_err(|e| Error::io("read", image, &e))?;
    let folders = [format!("usr/lib/modules/{version}"), format!("lib/modules/{version}"), "boot".into()];
    let config = folders.iter().flat_map(|f| configs(&files.join(f), version)).find(|c| c.is_file());
    if let Some(why) = damage(&bytes, config.as_deref()) {
        return Err(Error::new(ErrorKind::Kernel, why));
    }
    let mut moves = vec![(image.clone(), "vmlinuz")];
    moves.extend(config.map(|c| (c, "config")));
    for (from, to) in moves {
        fs::rename(&from, dir.join(to)).map_err(|e| Error::io("move", &from, &e))?;
    }
    Ok(dir)
}

/// Where a kernel's configuration may be in a folder.
fn configs(dir: &Path, version: &str) -> [PathBuf; 2] {
    [dir.join("config"), dir.join(format!("config-{version}"))]
}

/// Move a checked kernel into the cache and choose it.
fn keep(cache: &Cache, candidate: &Candidate, dir: &Path) -> Result<Kernel> {
    let target = cache.path(&format!("kernel-{}", candidate.version));
    // What is there was not chosen, or is incomplete.
    let _ = fs::remove_dir_all(&target);
    fs::rename(dir, &target).map_err(|e| Error::io("write", &target, &e))?;
    let note = dir.with_extension("chosen");
    fs::write(&note, &candidate.version).map_err(|e| Error::io("write", &note, &e))?;
    let chosen = cache.path(CHOSEN);
    fs::rename(&note, &chosen).map_err(|e| Error::io("write", &chosen, &e))?;
    Ok(cached(cache).expect("it was just written"))
}

/// Why schedulers cannot be loaded into a kernel.
fn damage(image: &[u8], config: Option<&Path>) -> Option<String> {
    if let Some(text) = config.and_then(|c| fs::read_to_string(c).ok())
        && !text.lines().any(|l| l == "CONFIG_SCHED_CLASS_EXT=y")
    {
        return Some("it is built without sched_ext (CONFIG_SCHED_CLASS_EXT)".into());
    }
    let findings = match image::btf(image) {
        Ok(bytes) => {
            btf::check(&bytes).map_err(|why| format!("its type information (BTF) is damaged: {why}"))
        }
        Err(why) => Err(why),
    };
    match findings {
        Ok(findings) if findings.is_empty() => None,
        Ok(findings) => Some(format!("its type information (BTF) is wrong: {}", btf::describe(&findings))),
        Err(why) => Some(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::btf::tests::kernel;
    use crate::image::tests::boot_file;

    fn write(dir: &Path, name: &str, bytes: &[u8]) -> PathBuf {
        let path = dir.join(name);
        fs::write(&path, bytes).expect("written");
        path
    }

    #[test]
    fn a_kernel_with_wrong_types_boots_but_takes_no_schedulers() {
        let dir = tempfile::tempdir().expect("a folder");
        let (mut m, aux) = kernel();
        let good = write(dir.path(), "good", &boot_file("7.2.13", &m.bytes()));
        m.function("scx_bpf_exit_bstr", &[("aux", aux)]);
        let wrong = write(dir.path(), "wrong", &boot_file("7.1.13-cloud", &m.bytes()));
        let good = Kernel::of_file(&good).expect("a kernel");
        assert_eq!((good.version.as_str(), good.damage.as_deref()), ("7.2.13", None));
        assert!(good.takes_schedulers().is_ok());
        let wrong = Kernel::of_file(&wrong).expect("a kernel all the same");
        insta::assert_snapshot!(wrong.takes_schedulers().expect_err("damaged"), @"
        schedulers cannot be loaded into kernel 7.1.13-cloud: its type information (BTF) is wrong: `scx_bpf_exit_bstr` has the parameter `aux`, which the kernel passes by itself and programs must not see
        help: leave out --kernel, and a kernel that works is fetched; or name another build
        ");
    }

    #[test]
    fn the_configuration_is_asked_first() {
        let dir = tempfile::tempdir().expect("a folder");
        let (m, _) = kernel();
        let path = write(dir.path(), "vmlinuz", &boot_file("6.12.1", &m.bytes()));
        write(dir.path(), "config-6.12.1", b"# CONFIG_SCHED_CLASS_EXT is not set\n");
        let kernel = Kernel::of_file(&path).expect("a kernel");
        assert_eq!(kernel.damage.as_deref(), Some("it is built without sched_ext (CONFIG_SCHED_CLASS_EXT)"));
    }

    #[test]
    fn wrong_files_are_the_users() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = write(dir.path(), "notes.txt", b"hello");
        for path in [path, dir.path().join("absent"), dir.path().to_path_buf()] {
            let error = Kernel::of_file(&path).expect_err("no kernel");
            assert_eq!(error.kind, ErrorKind::Input, "{error}");
            assert!(error.help.is_some(), "{error}");
        }
    }

    #[test]
    fn the_chosen_kernel_is_found_again() {
        let dir = tempfile::tempdir().expect("a folder");
        let cache = Cache::at(dir.path()).expect("a cache");
        assert_eq!(cached(&cache), None);
        let unfinished = dir.path().join("unfinished");
        fs::create_dir(&unfinished).expect("a folder");
        write(&unfinished, "vmlinuz", b"kernel");
        let candidate = Candidate { package: "linux-binary-7.2".into(), version: "7.2".into() };
        let kept = keep(&cache, &candidate, &unfinished).expect("kept");
        assert_eq!((kept.version.as_str(), &kept.config), ("7.2", &None));
        assert_eq!(ensure(&cache, &|_| {}).expect("no download"), kept);
    }
}
