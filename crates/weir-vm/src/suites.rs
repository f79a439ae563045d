// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Debian's package lists: the available kernels, and how to get one without installing it.
//!
//! The mirror and the proxy are those of the computer's own apt; the suites are Debian's newest,
//! whatever the computer itself runs. All of apt's state is in a separate folder, so root is not
//! needed and the system's lists are not changed. apt checks signatures and checksums.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::error::{Error, ErrorKind, Result};
use crate::tool;
use crate::{OnStep, Step};

/// Suites by the names that every Debian mirror has, newest first.
const SUITES: [&str; 3] = ["unstable", "testing", "stable-backports"];

/// Other names under which a mirror may stand in the computer's sources.
const ALIASES: [&str; 6] = ["sid", "unstable", "testing", "stable", "oldstable", "oldoldstable"];

/// The archive's keys, where Debian and its derivatives keep them.
const KEYRINGS: [&str; 2] =
    ["/usr/share/keyrings/debian-archive-keyring.gpg", "/usr/share/keyrings/debian-archive-keyring.pgp"];

/// A package with a kernel in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Package name: `linux-binary-7.2.13+deb14-cloud-amd64`.
    pub package: String,
    /// The kernel's own version: `7.2.13+deb14-cloud-amd64`.
    pub version: String,
}

/// apt with state of its own.
pub struct Apt {
    dir: PathBuf,
}

impl Apt {
    /// Fetch the package lists of the newest suites into `dir`.
    pub fn update(dir: &Path, on_step: OnStep) -> Result<Self> {
        tool::require(tool::FETCHING)?;
        let apt = Self { dir: dir.to_path_buf() };
        for folder in ["lists/partial", "cache/archives/partial", "packages"] {
            let path = dir.join(folder);
            fs::create_dir_all(&path).map_err(|e| Error::io("make the folder", &path, &e))?;
        }
        let mirrors = apt.mirrors()?;
        let mut complaints = String::new();
        for mirror in &mirrors {
            apt.configure(mirror)?;
            match apt.run(&["update"], "asking Debian's package lists", on_step) {
                Ok(_) if !apt.candidates()?.is_empty() => return Ok(apt),
                // apt is content with lists that it could not get.
                Ok(text) if text.is_empty() => {
                    complaints.push_str("the lists name no kernel with sched_ext\n")
                }
                Ok(text) | Err(text) => complaints.push_str(&text),
            }
        }
        Err(Error::new(ErrorKind::Kernel, "cannot get Debian's package lists to choose a kernel from")
            .help("check the network and the proxy, or name a kernel of your own with --kernel FILE")
            .log("apt-get update", &complaints))
    }

    /// Debian mirrors of the computer's own apt configuration, the likeliest first.
    fn mirrors(&self) -> Result<Vec<String>> {
        let lists = format!("Dir::State::Lists={}", self.dir.join("lists").display());
        let output = tool::output("apt-get", ["update", "--print-uris", "-o", &lists])?;
        let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
        let codename = release.lines().find_map(|l| l.strip_prefix("VERSION_CODENAME=")).unwrap_or_default();
        let mirrors = mirrors_in(&String::from_utf8_lossy(&output.stdout), codename.trim_matches('"'));
        if mirrors.is_empty() {
            let message = "this computer's apt names no Debian mirror to fetch a kernel from";
            return Err(Error::new(ErrorKind::Kernel, message)
                .help("name a kernel of your own with --kernel FILE (6.12 or later, with sched_ext and BTF)")
                .log("apt-get update --print-uris", &String::from_utf8_lossy(&output.stderr)));
        }
        Ok(mirrors)
    }

    /// Write apt's configuration: the system's own words on how to fetch, our folders and sources.
    fn configure(&self, mirror: &str) -> Result<()> {
        let dump = tool::output("apt-config", ["dump"])?;
        let keyring = KEYRINGS.iter().find(|k| Path::new(k).exists());
        let signed = keyring.map_or(String::new(), |k| format!("[signed-by={k}] "));
        let sources: String =
            SUITES.iter().map(|suite| format!("deb {signed}{mirror} {suite} main\n")).collect();
        let write = |name: &str, text: &str| {
            let path = self.dir.join(name);
            fs::write(&path, text).map_err(|e| Error::io("write", &path, &e))
        };
        write("sources.list", &sources)?;
        write("apt.conf", &configuration(&String::from_utf8_lossy(&dump.stdout), &self.dir))
    }

    /// Kernels in the lists, the preferred ones first.
    pub fn candidates(&self) -> Result<Vec<Candidate>> {
        let pattern = "^linux-(binary|image)-[0-9].*-amd64$";
        let output = self
            .command("apt-cache")?
            .args(["search", "--names-only", pattern])
            .stdin(Stdio::null())
            .output()
            .map_err(|e| Error::new(ErrorKind::Io, format!("cannot run `apt-cache`: {e}")))?;
        Ok(candidates_in(&String::from_utf8_lossy(&output.stdout)))
    }

    /// Download a package and unpack it below `to`; with it the package of its configuration file,
    /// where there is one. Nothing is installed.
    pub fn unpack(&self, candidate: &Candidate, to: &Path, on_step: OnStep) -> Result<()> {
        let what = format!("downloading kernel {}", candidate.version);
        self.fetch(&candidate.package, to, &what, on_step)?;
        // Only newer packages have it; the kernel is checked by its BTF anyway.
        let _ = self.fetch(&format!("linux-base-{}", candidate.version), to, &what, &|_| {});
        Ok(())
    }

    fn fetch(&self, package: &str, to: &Path, what: &str, on_step: OnStep) -> Result<()> {
        let failed = |text: String| {
            Error::new(ErrorKind::Kernel, format!("cannot download `{package}`"))
                .help("check the network, or name a kernel of your own with --kernel FILE")
                .log("apt-get download", &text)
        };
        self.run(&["download", package], what, on_step).map_err(failed)?;
        let packages = self.dir.join("packages");
        let entries = fs::read_dir(&packages).map_err(|e| Error::io("read", &packages, &e))?;
        for path in entries.flatten().map(|e| e.path()) {
            let output = tool::output("dpkg-deb", [Path::new("-x"), &path, to])?;
            if !output.status.success() {
                return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
            }
            fs::remove_file(&path).map_err(|e| Error::io("remove", &path, &e))?;
        }
        Ok(())
    }

    /// Run `apt-get`, reporting its progress; the result, good or bad, is what it complained about.
    fn run(&self, args: &[&str], what: &str, on_step: OnStep) -> std::result::Result<String, String> {
        let mut child = self
            .command("apt-get")
            .map_err(|e| e.to_string())?
            .args(["-qq", "-o", "APT::Status-Fd=1"])
            .args(args)
            .current_dir(self.dir.join("packages"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| e.to_string())?;
        let mut complaints = child.stderr.take().expect("a pipe was asked for");
        let complaints = std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = complaints.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        on_step(&Step { what: what.into(), done: 0, total: 0 });
        let status = BufReader::new(child.stdout.take().expect("a pipe was asked for"));
        for line in status.lines().map_while(std::result::Result::ok) {
            if let Some(share) = share_in(&line) {
                on_step(&Step { what: what.into(), done: share, total: 10_000 });
            }
        }
        let done = child.wait().is_ok_and(|s| s.success());
        let complaints = complaints.join().unwrap_or_default();
        if done { Ok(complaints) } else { Err(complaints) }
    }

    fn command(&self, program: &str) -> Result<std::process::Command> {
        let mut command = tool::command(program)?;
        command.env("APT_CONFIG", self.dir.join("apt.conf"));
        Ok(command)
    }
}

/// Hundredths of a per cent in a line of apt's status: `dlstatus:1:56.78:…`.
fn share_in(line: &str) -> Option<u64> {
    let share: f64 = line.strip_prefix("dlstatus:")?.split(':').nth(1)?.parse().ok()?;
    (0.0..=100.0).contains(&share).then_some((share * 100.0) as u64)
}

/// Mirrors among the addresses that `apt-get update --print-uris` prints: those whose sources name
/// the computer's release before those that name another of Debian's suites.
fn mirrors_in(uris: &str, codename: &str) -> Vec<String> {
    let mut ranked: Vec<(u32, &str)> = Vec::new();
    let release = |line: &'_ str| -> Option<(String, String)> {
        let uri = line.strip_prefix('\'')?.split('\'').next()?.strip_suffix("/InRelease")?;
        let (base, suite) = uri.rsplit_once("/dists/")?;
        Some((base.into(), suite.into()))
    };
    let found: Vec<(String, String)> = uris.lines().filter_map(release).collect();
    for (base, suite) in &found {
        // Third parties use Debian's release names too, but not its update suites.
        let updated = found.iter().any(|(b, s)| b == base && *s == format!("{suite}-updates"));
        let rank = match (suite == codename && !codename.is_empty(), ALIASES.contains(&suite.as_str())) {
            (true, _) if updated => 0,
            (_, true) => 1,
            (true, _) => 2,
            _ => continue,
        };
        if !ranked.iter().any(|(_, b)| b == base) {
            ranked.push((rank, base));
        }
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, base)| base.to_string()).collect()
}

/// apt's configuration: how to fetch as the computer's own says, everything else ours.
fn configuration(dump: &str, dir: &Path) -> String {
    let fetching = |line: &&str| line.starts_with("Acquire::") && !line.starts_with("Acquire::IndexTargets");
    let mut text: String = dump.lines().filter(fetching).flat_map(|l| [l, "\n"]).collect();
    let path = |name: &str| dir.join(name).display().to_string();
    for (key, value) in [
        ("Dir::Etc::parts", "/dev/null".to_string()),
        ("Dir::Etc::main", "/dev/null".into()),
        ("Dir::Etc::sourcelist", path("sources.list")),
        ("Dir::Etc::sourceparts", "/dev/null".into()),
        ("Dir::Etc::preferences", "/dev/null".into()),
        ("Dir::Etc::preferencesparts", "/dev/null".into()),
        ("Dir::State::Lists", path("lists")),
        ("Dir::Cache", path("cache")),
        ("APT::Architecture", "amd64".into()),
        ("APT::Architectures", "amd64".into()),
        ("APT::Sandbox::User", String::new()),
        ("Acquire::Languages", "none".into()),
    ] {
        text.push_str(&format!("{key} \"{value}\";\n"));
    }
    text
}

/// Kernels in what `apt-cache search` prints: the cloud flavour (small, nothing loaded later) before
/// the general one, then the newest; none older than sched_ext (6.12).
fn candidates_in(listing: &str) -> Vec<Candidate> {
    let mut found: Vec<(bool, Vec<u64>, bool, Candidate)> = Vec::new();
    for package in listing.lines().filter_map(|l| l.split_whitespace().next()) {
        let binary = package.strip_prefix("linux-binary-");
        let Some(version) = binary.or(package.strip_prefix("linux-image-")) else { continue };
        let Some(release) = version.strip_suffix("-amd64") else { continue };
        let cloud = release.strip_suffix("-cloud");
        let numbers = cloud.unwrap_or(release);
        let plain = numbers.bytes().all(|b| b.is_ascii_digit() || b".+-~debpo".contains(&b));
        let order: Vec<u64> =
            numbers.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect();
        if plain && order >= vec![6, 12] {
            let candidate = Candidate { package: package.into(), version: version.into() };
            found.push((cloud.is_some(), order, binary.is_some(), candidate));
        }
    }
    found.sort_by(|a, b| (b.0, &b.1, b.2).cmp(&(a.0, &a.1, a.2)));
    // `linux-image` of a version that has `linux-binary` holds no kernel.
    found.dedup_by(|later, first| later.3.version == first.3.version);
    found.into_iter().map(|(.., candidate)| candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirrors_are_distinguished_from_third_parties() {
        let uris = "\
'http://apt.example.org/tool/dists/nodistro/InRelease' x 0
'http://docker.example.org/linux/debian/dists/bookworm/InRelease' x 0
'http://mirror.example.net/debian/dists/bookworm/InRelease' x 0
'http://mirror.example.net/debian/dists/bookworm-updates/InRelease' x 0
'http://mirror.example.net/debian-security/dists/bookworm-security/InRelease' x 0
'http://mirror.example.net/debian/dists/bookworm/main/binary-amd64/Packages.xz' x 0";
        let mirrors = mirrors_in(uris, "bookworm");
        assert_eq!(mirrors, ["http://mirror.example.net/debian", "http://docker.example.org/linux/debian"]);
        assert_eq!(mirrors_in("'file:/srv/debian/dists/sid/InRelease' x 0", "forky"), ["file:/srv/debian"]);
        assert!(mirrors_in("W: nothing here\n'odd", "bookworm").is_empty());
    }

    #[test]
    fn small_and_new_kernels_come_first() {
        let listing = "\
linux-image-6.1.0-40-cloud-amd64 - too old
linux-image-amd64 - a meta package
linux-image-7.2.13+deb14-cloud-amd64 - depends on the binary
linux-binary-7.2.13+deb14-cloud-amd64 - x
linux-binary-7.2.13+deb14-amd64 - x
linux-binary-unsigned-7.2.13+deb14-amd64 - x
linux-binary-7.2.13+deb14-rt-amd64 - x
linux-binary-7.2.9+deb13-cloud-amd64 - x
linux-binary-7.10.1+deb14-cloud-amd64 - x
linux-image-6.18.5+deb13-cloud-amd64 - x
linux-image-6.18.5+deb13-cloud-amd64-dbg - x";
        let names: Vec<_> = candidates_in(listing).into_iter().map(|c| c.package).collect();
        assert_eq!(
            names,
            [
                "linux-binary-7.10.1+deb14-cloud-amd64",
                "linux-binary-7.2.13+deb14-cloud-amd64",
                "linux-binary-7.2.9+deb13-cloud-amd64",
                "linux-image-6.18.5+deb13-cloud-amd64",
                "linux-binary-7.2.13+deb14-amd64",
            ]
        );
    }

    #[test]
    fn keeps_how_to_fetch_and_drops_the_rest() {
        let dump =
            "APT::Install \"yes\";\nAcquire::http::Proxy \"p\";\nAcquire::IndexTargets::deb::X \"y\";\n";
        let text = configuration(dump, Path::new("/c"));
        assert!(text.starts_with("Acquire::http::Proxy \"p\";\nDir::Etc::parts"), "{text}");
        assert!(!text.contains("IndexTargets") && text.contains("Dir::Cache \"/c/cache\";"), "{text}");
    }

    #[test]
    fn reads_apts_progress() {
        assert_eq!(share_in("dlstatus:14:97.3333:Retrieving file 14 of 15"), Some(9733));
        assert_eq!(share_in("dlstatus:1:x:y"), None);
        assert_eq!(share_in("pmstatus:1:2:y"), None);
    }
}
