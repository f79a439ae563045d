// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The guest's first and only file system: busybox, load generators, this program, the user's files.
//!
//! It is three archives one after the other. The first (tools) and the second (this program) are
//! cached until one of their files changes; the third is made for each job. Programs bring the
//! libraries that `ldd` names, scripts their interpreters. Paths are those of the host.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::process::Stdio;
use std::time::SystemTime;

use crate::cache::Cache;
use crate::cpio::Writer;
use crate::error::{Error, ErrorKind, Result};
use crate::tool;

/// The guest's first program.
const INIT: &str = include_str!("guest/init.sh");

/// Folders at the root that a merged-/usr system has as links; the guest has them like the host.
const ROOTS: [&str; 6] = ["bin", "sbin", "lib", "lib32", "lib64", "libx32"];

/// Programs larger than this are stripped of debug information, which the guest has no memory for.
const LARGE: u64 = 24 << 20;

/// Largest file that is taken into a guest, bytes.
const MAX_FILE: u64 = 1 << 30;

/// The files of a job.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// Files, folders and programs of the host; a program's name without folder is looked up in `PATH`.
    pub with: Vec<PathBuf>,
    /// Files made for the job: path in the guest, mode, content.
    pub made: Vec<(PathBuf, u32, Vec<u8>)>,
}

impl Files {
    /// Check that all files can be had, before anything slow is done.
    pub fn check(&self) -> Result<()> {
        self.with.iter().try_for_each(|path| found(path).map(|_| ()))
    }
}

/// The file, folder or program that the user names, by its full path.
fn found(path: &Path) -> Result<PathBuf> {
    let wrong = |why: &str, help: &str| {
        Err(Error::new(ErrorKind::Input, format!("`{}` {why}", path.display())).help(help.to_string()))
    };
    let bare = path.components().count() == 1 && !path.starts_with("/");
    let found = match path {
        p if p.exists() => Some(p.to_path_buf()),
        p if bare => p.to_str().and_then(tool::find),
        _ => None,
    };
    let Some(found) = found else {
        let help = "check the path; it is relative to the current folder";
        return wrong("is neither a file nor a program on this computer", help);
    };
    let absolute = normal(&std::path::absolute(&found).map_err(|e| Error::io("find", &found, &e))?);
    if absolute == Path::new("/") || ["/proc", "/sys", "/dev"].iter().any(|p| absolute.starts_with(p)) {
        return wrong("cannot be taken into the virtual machine", "name ordinary files and folders");
    }
    Ok(absolute)
}

/// What a cached archive depends on: path, size and time of change of each file.
type Stamp = Vec<(PathBuf, u64, Option<SystemTime>)>;

/// The archive with busybox, the load generators and the first program.
pub fn tools(cache: &Cache) -> Result<File> {
    let busybox =
        tool::find("busybox").ok_or_else(|| tool::require(tool::NEEDED).expect_err("busybox is missing"))?;
    let loads: Vec<PathBuf> = tool::LOADS.iter().filter_map(|name| tool::find(name)).collect();
    let mut files = vec![busybox.clone()];
    files.extend(loads.iter().cloned());
    cache.archive("tools", &(INIT, stamp(&files)), |path| {
        let mut bundle = Bundle::create(path)?;
        bundle.skeleton()?;
        bundle.busybox(&busybox)?;
        for program in &loads {
            bundle.place(
                program,
                &Path::new("/usr/bin").join(program.file_name().expect("a program has a name")),
            )?;
            bundle.needs_of(program)?;
        }
        bundle.finish()
    })
}

/// The archive with this program as `/usr/local/bin/runweir`.
pub fn program(cache: &Cache, program: &Path) -> Result<File> {
    cache.archive("runweir", &stamp(&[program.to_path_buf()]), |path| {
        let mut bundle = Bundle::create(path)?;
        bundle.needs_of(program)?;
        let stripped = path.with_extension("stripped");
        let large = program.metadata().is_ok_and(|m| m.len() > LARGE);
        // Without `strip` the program goes in as it is.
        let slim = large && strip(program, &stripped);
        bundle.place(if slim { &stripped } else { program }, Path::new("/usr/local/bin/runweir"))?;
        bundle.finish()
    })
}

/// The archive of one job.
pub fn job(path: &Path, files: &Files) -> Result<()> {
    let mut bundle = Bundle::create(path)?;
    for (place, mode, bytes) in &files.made {
        bundle.made(place, *mode, bytes)?;
    }
    for path in &files.with {
        bundle.tree(&found(path)?)?;
    }
    bundle.finish()
}

/// Put archives one after the other; returns the size in bytes.
pub fn join(parts: Vec<File>, to: &Path) -> Result<u64> {
    let mut out = File::create(to).map_err(|e| Error::io("write", to, &e))?;
    let mut size = 0;
    for mut part in parts {
        size += io::copy(&mut part, &mut out).map_err(|e| Error::io("write", to, &e))?;
    }
    Ok(size)
}

fn stamp(files: &[PathBuf]) -> Stamp {
    let of = |path: &PathBuf| {
        let meta = path.metadata().ok();
        (path.clone(), meta.as_ref().map_or(0, fs::Metadata::len), meta.and_then(|m| m.modified().ok()))
    };
    files.iter().map(of).collect()
}

fn strip(program: &Path, to: &Path) -> bool {
    let Some(strip) = tool::find("strip").or_else(|| tool::find("llvm-strip-19")) else { return false };
    let mut command = std::process::Command::new(strip);
    command.arg("--strip-debug").arg("-o").arg(to).arg(program);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|s| s.success())
}

/// An archive being filled from the host's files.
struct Bundle {
    writer: Writer<BufWriter<File>>,
    path: PathBuf,
    /// Programs whose libraries are in.
    served: BTreeSet<PathBuf>,
}

impl Bundle {
    fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(|e| Error::io("write", path, &e))?;
        Ok(Self { writer: Writer::new(BufWriter::new(file)), path: path.into(), served: BTreeSet::new() })
    }

    fn finish(self) -> Result<()> {
        let path = self.path;
        self.writer.finish().map(|_| ()).map_err(|e| Error::io("write", &path, &e))
    }

    fn check(&self, result: io::Result<()>) -> Result<()> {
        result.map_err(|e| Error::io("write", &self.path, &e))
    }

    fn made(&mut self, path: &Path, mode: u32, bytes: &[u8]) -> Result<()> {
        let result = self.writer.file(path, mode, bytes);
        self.check(result)
    }

    /// Folders, accounts, and the links of a merged /usr.
    fn skeleton(&mut self) -> Result<()> {
        for root in ROOTS {
            if let Ok(target) = fs::read_link(Path::new("/").join(root)) {
                let result = self.writer.link(Path::new(root), &target);
                self.check(result)?;
                let result = self.writer.dir(&target);
                self.check(result)?;
            }
        }
        let folders = [
            "bin",
            "dev",
            "etc",
            "proc",
            "sys",
            "run",
            "root",
            "tmp",
            "var/tmp",
            "usr/bin",
            "usr/local/bin",
            "boot",
        ];
        for folder in folders {
            // `bin` is a link already where /usr is merged.
            if !self.writer.has(Path::new(folder)) {
                let result = self.writer.dir(Path::new(folder));
                self.check(result)?;
            }
        }
        self.made(Path::new("/init"), 0o755, INIT.as_bytes())?;
        let accounts = b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n";
        self.made(Path::new("/etc/passwd"), 0o644, accounts)?;
        self.made(Path::new("/etc/group"), 0o644, b"root:x:0:\nnogroup:x:65534:\n")?;
        self.made(Path::new("/etc/hosts"), 0o644, b"127.0.0.1 localhost guest\n")?;
        // Libraries outside the standard folders are found through it.
        match fs::read("/etc/ld.so.cache") {
            Ok(bytes) => self.made(Path::new("/etc/ld.so.cache"), 0o644, &bytes),
            Err(_) => Ok(()),
        }
    }

    /// busybox under the names of all its programs.
    fn busybox(&mut self, busybox: &Path) -> Result<()> {
        let bin = real_place(Path::new("/bin/busybox"));
        self.place(busybox, &bin)?;
        self.needs_of(busybox)?;
        let list = std::process::Command::new(busybox)
            .arg("--list")
            .output()
            .map_err(|e| Error::io("run", busybox, &e))?;
        for name in String::from_utf8_lossy(&list.stdout).lines().filter(|n| *n != "busybox") {
            let link = bin.with_file_name(name);
            let result = self.writer.link(&link, Path::new("busybox"));
            self.check(result)?;
        }
        Ok(())
    }

    /// A file with what it needs, or a folder with all that is in it.
    fn tree(&mut self, path: &Path) -> Result<()> {
        if !path.is_dir() {
            self.place(path, &real_place(path))?;
            return self.needs_of(path);
        }
        let result = self.writer.dir(&real_place(path));
        self.check(result)?;
        let entries = fs::read_dir(path).map_err(|e| Error::io("read", path, &e))?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
        paths.sort();
        for path in paths {
            let kind = path.symlink_metadata().map_err(|e| Error::io("read", &path, &e))?.file_type();
            if kind.is_symlink() {
                let target = fs::read_link(&path).map_err(|e| Error::io("read", &path, &e))?;
                let result = self.writer.link(&real_place(&path), &target);
                self.check(result)?;
            } else if kind.is_dir() || kind.is_file() {
                self.tree(&path)?;
            }
        }
        Ok(())
    }

    /// Copy one file of the host to a place in the guest.
    fn place(&mut self, from: &Path, to: &Path) -> Result<()> {
        let input = |e: &io::Error| Error { kind: ErrorKind::Input, ..Error::io("read", from, e) };
        if self.writer.has(to) {
            return Ok(());
        }
        let meta = from.metadata().map_err(|e| input(&e))?;
        if !meta.is_file() || meta.len() > MAX_FILE {
            let message = format!("`{}` is not a regular file of at most 1 GiB", from.display());
            return Err(Error::new(ErrorKind::Input, message).help("the guest holds all files in its memory"));
        }
        let bytes = fs::read(from).map_err(|e| input(&e))?;
        self.made(to, meta.permissions().mode(), &bytes)
    }

    /// Libraries of a program, interpreter of a script; nothing for other files.
    fn needs_of(&mut self, path: &Path) -> Result<()> {
        if !self.served.insert(path.to_path_buf()) {
            return Ok(());
        }
        let mut head = [0; 256];
        let read = File::open(path).and_then(|f| read_head(f, &mut head)).unwrap_or(0);
        match &head[..read] {
            [0x7f, b'E', b'L', b'F', ..] => {
                for library in libraries(path)? {
                    self.place(&library, &real_place(&library))?;
                }
                Ok(())
            }
            [b'#', b'!', line @ ..] => {
                let line = line.split(|b| *b == b'\n').next().unwrap_or_default();
                let line = String::from_utf8_lossy(line).into_owned();
                let mut words = line.split_whitespace();
                let Some(interpreter) = words.next() else { return Ok(()) };
                let mut wanted = vec![PathBuf::from(interpreter)];
                if interpreter.ends_with("/env") {
                    wanted.extend(words.find(|w| !w.starts_with('-')).and_then(tool::find));
                }
                for program in wanted {
                    // The guest has busybox for a shell and the like.
                    let provided = ["/bin/sh", "/usr/bin/sh", "/usr/bin/env", "/bin/env"];
                    if !provided.iter().any(|p| program == Path::new(p)) && program.is_file() {
                        self.tree(&program)?;
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn read_head(mut file: File, head: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < head.len() {
        match file.read(&mut head[done..])? {
            0 => break,
            n => done += n,
        }
    }
    Ok(done)
}

/// Libraries that the dynamic loader would load; empty for static programs.
fn libraries(path: &Path) -> Result<Vec<PathBuf>> {
    let output = tool::output("ldd", [path])?;
    libraries_in(&String::from_utf8_lossy(&output.stdout)).map_err(|missing| {
        let message = format!("`{}` needs the library `{missing}`, which is not found", path.display());
        Error::new(ErrorKind::Input, message).help("install it, or set LD_LIBRARY_PATH to its folder")
    })
}

/// Paths in what `ldd` prints; the error is a library that it does not find.
fn libraries_in(text: &str) -> std::result::Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some((name, _)) = line.split_once(" => not found") {
            return Err(name.into());
        }
        let path = line.split_once(" => ").map_or(line, |(_, path)| path);
        if let Some((path, _)) = path.split_once(" (0x").filter(|(p, _)| p.starts_with('/')) {
            found.push(PathBuf::from(path));
        }
    }
    Ok(found)
}

/// Where a file of the host goes in the guest: the same path, with the links of a merged /usr taken.
fn real_place(path: &Path) -> PathBuf {
    let mut parts = path.components();
    if path.has_root() {
        parts.next();
    }
    let Some(first) = parts.next() else { return path.into() };
    match fs::read_link(Path::new("/").join(first)) {
        Ok(target) => Path::new("/").join(target).join(parts.as_path()),
        Err(_) => path.into(),
    }
}

/// Without `.` and `..`, as far as text can tell.
pub fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// `text` as one word of the guest's shell.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Write something that may be long to a stream; `false` for a closed reader.
pub fn copy_live(mut from: impl Read, mut to: impl Write) -> bool {
    let mut buffer = [0; 16 << 10];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return true,
            Ok(n) => {
                if to.write_all(&buffer[..n]).and_then(|()| to.flush()).is_err() {
                    return false;
                }
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpio;

    fn names(archive: &Path) -> Vec<String> {
        let bytes = fs::read(archive).expect("there");
        let entries = cpio::read(&bytes).expect("well-formed");
        entries.iter().map(|e| e.path.display().to_string()).collect()
    }

    #[test]
    fn ldd_is_understood() {
        let text = "\tlinux-vdso.so.1 (0x00007ffc)\n\tlibc.so.6 => /lib/x/libc.so.6 (0x00007f)\n\t/lib64/ld.so.2 (0x7f)\n";
        let expected: Vec<PathBuf> = vec!["/lib/x/libc.so.6".into(), "/lib64/ld.so.2".into()];
        assert_eq!(libraries_in(text), Ok(expected));
        assert_eq!(libraries_in("\tnot a dynamic executable\n"), Ok(vec![]));
        assert_eq!(libraries_in("\tlibx.so.1 => not found\n"), Err("libx.so.1".into()));
    }

    #[test]
    fn a_program_brings_its_libraries_and_a_script_its_interpreter() {
        let dir = tempfile::tempdir().expect("a folder");
        let script = dir.path().join("script");
        fs::write(&script, "#!/usr/bin/env -S cat\nhello\n").expect("written");
        fs::write(dir.path().join("data"), "1").expect("written");
        std::os::unix::fs::symlink("data", dir.path().join("link")).expect("linked");
        let archive = dir.path().join("out.cpio");
        let files = Files {
            with: vec![script, dir.path().join("data"), "ls".into()],
            made: vec![("/x/y".into(), 0o644, b"z".to_vec())],
        };
        job(&archive, &files).expect("made");
        let names = names(&archive);
        for end in ["x/y", "/script", "/data", "bin/cat", "bin/ls"] {
            assert!(names.iter().any(|n| n.ends_with(end)), "{end} in {names:?}");
        }
        assert!(names.iter().any(|n| n.contains("libc.so")), "{names:?}");
    }

    #[test]
    fn what_cannot_be_taken_is_the_users() {
        let dir = tempfile::tempdir().expect("a folder");
        for path in ["/proc/cpuinfo", "/", "/no/such/file", "no-such-program", "/dev/null", "", "a\0b"] {
            let files = Files { with: vec![path.into()], ..Files::default() };
            let error = job(&dir.path().join("out"), &files).expect_err(path);
            assert_eq!(error.kind, ErrorKind::Input, "{path}: {error}");
            assert!(error.help.is_some(), "{path}");
        }
    }

    #[test]
    fn folders_come_whole_and_sorted() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(dir.path().join("f/g")).expect("made");
        for name in ["f/b", "f/a", "f/g/c"] {
            fs::write(dir.path().join(name), "x").expect("written");
        }
        let archive = dir.path().join("out.cpio");
        job(&archive, &Files { with: vec![dir.path().join("f")], ..Files::default() }).expect("made");
        let names = names(&archive);
        let ends: Vec<_> = names.iter().map(|n| n.rsplit_once("/f/").expect("inside").1).collect();
        assert_eq!(ends, ["a", "b", "g/c"]);
    }

    #[test]
    fn words_survive_the_shell() {
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }

    #[test]
    fn dots_go() {
        assert_eq!(normal(Path::new("/a/./b/../c")), Path::new("/a/c"));
        assert_eq!(normal(Path::new("/../x")), Path::new("/x"));
    }
}
