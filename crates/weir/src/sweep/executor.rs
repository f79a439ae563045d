// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Shards of a sweep run by other executors: Dask workers, a Slurm job array. If a worker is lost, the shards' journals keep the finished
//! runs, and the same command continues.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::{Shard, Sweep};
use crate::fault::{Blame, Fault, Result};
use crate::input::reason;
use crate::outdir::{SCRATCH, replace_file, write_error};
use crate::watch::Watch;

/// The code that a Dask worker runs.
const DASK: &str = include_str!("dask_executor.py");
/// Names of what an executor runs, in the folder of the shards.
const DASK_FILE: &str = "executor.py";
const SLURM_FILE: &str = "array.sh";
/// Interval at which the queue and the journals are polled.
const LOOK: Duration = Duration::from_secs(2);
/// Interval at which the stop flag is polled.
const BLINK: Duration = Duration::from_millis(100);

/// The executor of the shards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Executor {
    /// Workers of Dask: those of a scheduler, or two or more processes on this computer.
    Dask { address: Option<String> },
    /// An array of jobs under Slurm, on nodes that see the same folders.
    Slurm,
}

impl Executor {
    /// `dask`, `dask:tcp://host:8786`, `slurm`.
    ///
    /// # Errors
    /// The text is of another form; the error says which there are.
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        match text.split_once(':') {
            None if text == "dask" => Ok(Executor::Dask { address: None }),
            None if text == "slurm" => Ok(Executor::Slurm),
            Some(("dask", address)) if !address.is_empty() => {
                Ok(Executor::Dask { address: Some(address.into()) })
            }
            _ => Err("write dask, dask:ADDRESS (such as dask:tcp://host:8786) or slurm".into()),
        }
    }
}

/// A sweep that others make.
pub struct Away<'a> {
    pub sweep: &'a Sweep,
    /// The specification, as it was named.
    pub spec: &'a str,
    /// The program that makes a shard.
    pub program: &'a Path,
    /// Options that every call of it needs.
    pub options: &'a [String],
    /// Folder of the results.
    pub dir: &'a Path,
    /// In how many parts.
    pub shards: u64,
    /// Parallel runs of a shard; workers at the same time on this computer, where it is they.
    pub jobs: Option<u32>,
}

impl Away<'_> {
    fn folder(&self) -> PathBuf {
        self.dir.join(format!("{SCRATCH}shards")).join(format!("of-{}", self.shards))
    }

    fn part(&self, index: u64) -> PathBuf {
        self.folder().join((index + 1).to_string())
    }

    /// Runs of each shard that are not done, from the journals.
    fn missing(&self) -> Result<Vec<(u64, u64)>> {
        let mut out = Vec::new();
        for index in 0..self.shards {
            let shard = Shard { index, of: self.shards };
            let all = (self.sweep.nr_runs() + self.shards - 1 - index) / self.shards;
            let part = self.part(index);
            let done = if part.join(format!("{SCRATCH}sweep")).join("identity").is_file() {
                let rows = self.sweep.merge(&[part])?;
                rows.keys().filter(|run| shard.has(**run)).count() as u64
            } else {
                0
            };
            if done < all {
                out.push((index, all - done));
            }
        }
        Ok(out)
    }

    /// Make what is missing. Returns the folders of all shards, to be merged; `None` where the caller ended it.
    ///
    /// # Errors
    /// The user's: the executor is not there. The system's: shards failed, again and again.
    pub fn run(&self, executor: &Executor, fresh: bool, watch: &dyn Watch) -> Result<Option<Vec<PathBuf>>> {
        let was_there = self.dir.exists();
        let done = self.make(executor, fresh, watch);
        if matches!(&done, Err(fault) if fault.blame == Blame::User) {
            self.tidy(was_there);
        }
        done
    }

    /// The executor was refused: what was only prepared for it goes again. Finished runs stay, with the folders around them.
    fn tidy(&self, was_there: bool) {
        let folder = self.folder();
        for name in [DASK_FILE, SLURM_FILE] {
            let _ = fs::remove_file(folder.join(name));
        }
        // A folder that holds anything is not removed.
        let gone =
            fs::remove_dir(&folder).and_then(|()| fs::remove_dir(self.dir.join(format!("{SCRATCH}shards"))));
        if gone.is_ok() && !was_there {
            let _ = fs::remove_dir(self.dir);
        }
    }

    fn make(&self, executor: &Executor, fresh: bool, watch: &dyn Watch) -> Result<Option<Vec<PathBuf>>> {
        let folder = self.folder();
        let fail = |e: &std::io::Error| write_error(&folder, e);
        if fresh && folder.exists() {
            fs::remove_dir_all(&folder).map_err(|e| fail(&e))?;
        }
        fs::create_dir_all(&folder).map_err(|e| fail(&e))?;
        let missing = self.missing()?;
        let left: u64 = missing.iter().map(|m| m.1).sum();
        for _ in 0..self.sweep.nr_runs() - left {
            watch.one();
        }
        if !missing.is_empty() {
            let ended = match executor {
                Executor::Dask { address } => self.dask(address.as_deref(), &missing, watch)?,
                Executor::Slurm => self.slurm(&missing, watch)?,
            };
            if ended {
                return Ok(None);
            }
            let still = self.missing()?;
            if let Some((first, _)) = still.first() {
                return Err(Fault::system(
                    format!(
                        "{} of {} shards are not complete, the first is {}/{}",
                        still.len(),
                        self.shards,
                        first + 1,
                        self.shards
                    ),
                    format!(
                        "finished runs are kept: repeat the command to continue. Messages are in {}",
                        folder.display()
                    ),
                ));
            }
        }
        Ok(Some((0..self.shards).map(|i| self.part(i)).collect()))
    }

    /// Workers of Dask; true where the caller ended it.
    fn dask(&self, address: Option<&str>, missing: &[(u64, u64)], watch: &dyn Watch) -> Result<bool> {
        let script = self.folder().join(DASK_FILE);
        replace_file(&script, DASK.as_bytes())?;
        let list: Vec<String> = missing.iter().map(|m| (m.0 + 1).to_string()).collect();
        let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".into());
        let mut command = Command::new(&python);
        command
            .arg(&script)
            .arg(address.unwrap_or("local"))
            .arg(absolute(Path::new(self.spec))?)
            .arg(self.shards.to_string())
            .arg(absolute(&self.folder())?)
            .arg(self.jobs.unwrap_or(0).to_string())
            .arg(list.join(","))
            .arg(self.program)
            .args(self.options)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| {
            Fault::user(
                format!("cannot start {python} for Dask: {}", reason(&e)),
                "install Python 3 with `pip install 'dask[distributed]'`, or say where it is: PYTHON=/path/to/python3",
            )
        })?;
        let runs: std::collections::BTreeMap<u64, u64> = missing.iter().copied().collect();
        let stdout = child.stdout.take().expect("it is piped");
        let mut stderr = child.stderr.take().expect("it is piped");
        let words = thread::spawn(move || {
            let mut text = String::new();
            let _ = stderr.read_to_string(&mut text);
            text
        });
        let (ended, status) = thread::scope(|scope| {
            scope.spawn(|| {
                for line in BufReader::new(stdout).lines().map_while(std::result::Result::ok) {
                    match line.split_once(' ') {
                        Some(("done", k)) => {
                            let runs = k.parse::<u64>().ok().and_then(|k| runs.get(&k.saturating_sub(1)));
                            (0..runs.copied().unwrap_or(0)).for_each(|_| watch.one());
                        }
                        _ => watch.remark(&line),
                    }
                }
            });
            wait(&mut child, watch)
        })?;
        let words = words.join().unwrap_or_default();
        if ended {
            return Ok(true);
        }
        match status {
            Some(0) => Ok(false),
            Some(3) => Err(Fault::user(
                last_lines(&words),
                "install it with `pip install 'dask[distributed]'`; PYTHON=/path/to/python3 selects another Python",
            )),
            Some(4) => Err(Fault::user(
                last_lines(&words),
                "start `dask scheduler` and workers, and name the address that it prints: --executor dask:tcp://HOST:8786",
            )),
            _ => Err(Fault::system(
                format!("workers of Dask did not make all shards: {}", last_lines(&words)),
                "finished runs are kept: repeat the command to continue",
            )),
        }
    }

    /// An array of jobs; true if the caller ended it. The jobs then continue, and the same command waits for them.
    fn slurm(&self, missing: &[(u64, u64)], watch: &dyn Watch) -> Result<bool> {
        let folder = absolute(&self.folder())?;
        let noted = folder.join("job");
        let mut job = fs::read_to_string(&noted).ok().map(|t| t.trim().to_string()).filter(|j| !j.is_empty());
        if let Some(id) = &job
            && !self.queued(id)?
        {
            job = None;
        }
        let job = match job {
            Some(job) => {
                watch.remark(&format!("waiting for job {job}, which is in the queue already"));
                job
            }
            None => {
                let script = folder.join(SLURM_FILE);
                replace_file(&script, self.script(&folder)?.as_bytes())?;
                let list: Vec<String> = missing.iter().map(|m| (m.0 + 1).to_string()).collect();
                let out = tool(
                    Command::new("sbatch")
                        .arg("--parsable")
                        .arg(format!("--array={}", list.join(",")))
                        .arg(&script),
                )?;
                let id = out.trim().split(';').next().unwrap_or("").to_string();
                replace_file(&noted, id.as_bytes())?;
                watch.remark(&format!("submitted job {id}: {} of {} shards", missing.len(), self.shards));
                id
            }
        };
        let mut left: u64 = missing.iter().map(|m| m.1).sum();
        let mut looked = Instant::now();
        loop {
            if watch.stopped() {
                watch.remark(&format!(
                    "job {job} continues; the same command waits for it, `scancel {job}` ends it"
                ));
                return Ok(true);
            }
            thread::sleep(BLINK);
            if looked.elapsed() < LOOK {
                continue;
            }
            looked = Instant::now();
            let queued = self.queued(&job)?;
            let now: u64 = self.missing()?.iter().map(|m| m.1).sum();
            (now..left).for_each(|_| watch.one());
            left = left.min(now);
            if !queued || now == 0 {
                return Ok(false);
            }
        }
    }

    /// Whether tasks of the job wait or run.
    fn queued(&self, job: &str) -> Result<bool> {
        let mut squeue = Command::new("squeue");
        squeue.args(["--noheader", "--jobs", job]);
        match squeue.stdin(Stdio::null()).output() {
            Ok(out) if out.status.success() => Ok(!out.stdout.is_empty()),
            // It does not know a job that is long over.
            Ok(out) if String::from_utf8_lossy(&out.stderr).contains("Invalid job id") => Ok(false),
            Ok(out) => Err(Fault::system(
                format!("squeue failed: {}", last_lines(&String::from_utf8_lossy(&out.stderr))),
                "see whether Slurm is up: sinfo",
            )),
            Err(e) => Err(no_slurm("squeue", &e)),
        }
    }

    fn script(&self, folder: &Path) -> Result<String> {
        let quote = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
        let path = |p: &Path| quote(&p.to_string_lossy());
        let options: Vec<String> = self.options.iter().map(|o| quote(o)).collect();
        Ok(format!(
            "#!/bin/sh\n\
             # A shard of a sweep for each task of the array. What a task has done is kept: it may be repeated at any time.\n\
             #SBATCH --job-name=runweir-sweep\n\
             #SBATCH --output=\"{folder}/%a.log\"\n\
             #SBATCH --requeue\n\
             exec {program} {options} sweep {spec} --shard \"$SLURM_ARRAY_TASK_ID/{shards}\" --jobs \"${{SLURM_CPUS_PER_TASK:-{jobs}}}\" \\\n\
             \t--quiet --out {parts}/\"$SLURM_ARRAY_TASK_ID\"\n",
            folder = folder.display(),
            program = path(self.program),
            options = options.join(" "),
            spec = path(&absolute(Path::new(self.spec))?),
            shards = self.shards,
            jobs = self.jobs.unwrap_or(1),
            parts = path(folder),
        ))
    }
}

/// Until the child ends, or the caller ends it: whether the latter, and its status.
fn wait(child: &mut Child, watch: &dyn Watch) -> Result<(bool, Option<i32>)> {
    let lost = |e: std::io::Error| {
        Fault::system(format!("lost the executor: {}", reason(&e)), "repeat the command to continue")
    };
    let mut ended = false;
    loop {
        if let Some(status) = child.try_wait().map_err(lost)? {
            return Ok((ended, status.code()));
        }
        if watch.stopped() && !ended {
            ended = true;
            child.kill().map_err(lost)?;
        }
        thread::sleep(BLINK);
    }
}

fn tool(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let out = command.stdin(Stdio::null()).output().map_err(|e| no_slurm(&name, &e))?;
    if !out.status.success() {
        return Err(Fault::system(
            format!("{name} failed: {}", last_lines(&String::from_utf8_lossy(&out.stderr))),
            "SBATCH_PARTITION, SBATCH_ACCOUNT and other variables of sbatch select partition and account",
        ));
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

fn no_slurm(name: &str, e: &std::io::Error) -> Fault {
    Fault::user(
        format!("cannot start {name}: {}", reason(e)),
        "call it where Slurm's commands are, or use --executor dask; Debian has them in slurm-client",
    )
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|e| write_error(path, &e))
}

/// The end of what a tool said, on one line.
fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    if lines.is_empty() {
        "it said nothing".into()
    } else {
        lines[lines.len().saturating_sub(3)..].join(" / ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executors_are_read() {
        assert_eq!(Executor::parse("dask"), Ok(Executor::Dask { address: None }));
        assert_eq!(
            Executor::parse("dask:tcp://h:1"),
            Ok(Executor::Dask { address: Some("tcp://h:1".into()) })
        );
        assert_eq!(Executor::parse("slurm"), Ok(Executor::Slurm));
        for wrong in ["", "ray", "dask:", "slurm:x"] {
            assert!(Executor::parse(wrong).is_err(), "{wrong}");
        }
    }
}
