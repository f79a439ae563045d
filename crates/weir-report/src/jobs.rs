// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `jobs.csv`: one line per job, in the order in which the jobs end; jobs still open at the end of the
//! run come last, by task and job.
//!
//! A task works off its jobs in order, one at a time. All times are nanoseconds since the start of the run.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{self, Write};

use weir_core::event::{CpuNo, Event, Observer, Stop};

use crate::csv::csv_field;
use crate::sink::Sink;

const HEADER: &str = "task,name,job,release_ns,deadline_ns,start_ns,finish_ns,cpu_ns,preemptions,migrations,\
    missed,end\n";

/// A job that is released and not written yet.
#[derive(Clone, Copy, Debug)]
struct Job {
    number: u32,
    release_ns: u64,
    deadline_ns: Option<u64>,
    start_ns: Option<u64>,
    cpu_ns: u64,
    preemptions: u32,
    migrations: u32,
    missed: bool,
}

/// A job that is over while its task is still on the CPU: the time that it ran is known when the task leaves.
#[derive(Clone, Copy, Debug)]
struct Ended {
    job: Job,
    at_ns: u64,
    how: &'static str,
    /// What it ran in the present run if nothing better is known.
    guess_ns: u64,
}

#[derive(Debug, Default)]
struct Task {
    name: String,
    /// Released and not over; the first one is worked on.
    open: VecDeque<Job>,
    ended: Option<Ended>,
    /// CPU that it runs on and since when.
    on: Option<(CpuNo, u64)>,
    /// Part of the present run that belongs to jobs already written, ns.
    spent_ns: u64,
}

impl Task {
    /// The number of the next job of a task whose jobs were never announced.
    fn job(&mut self, number: u32) -> Option<&mut Job> {
        let at = self.place(number)?;
        self.open.get_mut(at)
    }

    /// Where the job of this number is among the open ones, which are in order.
    fn place(&self, number: u32) -> Option<usize> {
        self.open.binary_search_by_key(&number, |j| j.number).ok()
    }

    /// The first open job begins if the task runs.
    fn start(&mut self, t: u64) {
        if self.on.is_some()
            && let Some(job) = self.open.front_mut()
        {
            job.start_ns.get_or_insert(t);
        }
    }
}

/// Writes the jobs of a run as `jobs.csv` while it happens.
pub struct Jobs {
    out: Sink,
    text: String,
    tasks: Vec<Task>,
}

impl Jobs {
    /// Jobs into `out`. An error in writing is kept and returned by [`Jobs::finish`].
    pub fn new(out: Box<dyn Write + Send>) -> Self {
        let mut out = Sink::new(out);
        out.put(HEADER.as_bytes());
        Self { out, text: String::new(), tasks: Vec::new() }
    }

    /// Stops at `end_ns`: adds the jobs that are open. Returns the first error.
    pub fn finish(mut self, end_ns: u64) -> io::Result<()> {
        for task in 0..self.tasks.len() as u32 {
            self.settle(task);
            let record = &mut self.tasks[task as usize];
            let running = record.on.map_or(0, |(_, since)| end_ns.saturating_sub(since));
            let mut guess = running.saturating_sub(std::mem::take(&mut record.spent_ns));
            for mut job in std::mem::take(&mut self.tasks[task as usize].open) {
                job.cpu_ns += std::mem::take(&mut guess);
                self.line(task, &job, None, "open");
            }
        }
        self.out.finish()
    }

    fn task(&mut self, task: u32) -> &mut Task {
        let index = task as usize;
        if index >= self.tasks.len() {
            self.tasks.resize_with(index + 1, Task::default);
        }
        &mut self.tasks[index]
    }

    fn line(&mut self, task: u32, job: &Job, finish_ns: Option<u64>, how: &str) {
        let Job { number, release_ns, cpu_ns, preemptions, migrations, .. } = *job;
        let text = |t: Option<u64>| t.map_or(String::new(), |t| t.to_string());
        let (deadline, start, finish) = (text(job.deadline_ns), text(job.start_ns), text(finish_ns));
        let missed = u8::from(job.missed);
        let name = csv_field(&self.tasks[task as usize].name);
        self.text.clear();
        writeln!(
            self.text,
            "{task},{name},{number},{release_ns},{deadline},{start},{finish},{cpu_ns},{preemptions},{migrations},\
             {missed},{how}"
        )
        .expect("writing to a string");
        self.out.put(self.text.as_bytes());
    }

    /// Write the job that is over, with what is known of its time.
    fn settle(&mut self, task: u32) {
        let record = &mut self.tasks[task as usize];
        let Some(mut ended) = record.ended.take() else { return };
        ended.job.cpu_ns += ended.guess_ns;
        record.spent_ns += ended.guess_ns;
        self.line(task, &ended.job, Some(ended.at_ns), ended.how);
    }

    /// A job is over.
    fn end(&mut self, t: u64, task: u32, number: u32, how: &'static str, edit: impl FnOnce(&mut Job)) {
        self.task(task);
        self.settle(task);
        let record = &mut self.tasks[task as usize];
        let Some(at) = record.place(number) else { return };
        let mut job = record.open.remove(at).expect("the index was found");
        edit(&mut job);
        let current = at == 0;
        let running = record.on.filter(|_| current);
        let guess_ns =
            running.map_or(0, |(_, since)| t.saturating_sub(since).saturating_sub(record.spent_ns));
        record.ended = Some(Ended { job, at_ns: t, how, guess_ns });
        if running.is_none() {
            self.settle(task);
        } else {
            record.start(t);
        }
    }

    /// A task leaves its CPU after `ran_ns`, which all jobs of this run have to share.
    fn off(&mut self, t: u64, task: u32, why: Stop, ran_ns: u64) {
        let record = self.task(task);
        record.on = None;
        let mut left = ran_ns.saturating_sub(std::mem::take(&mut record.spent_ns));
        let preempted = u32::from(why == Stop::Preempted);
        if let Some(ended) = &mut record.ended {
            // With no other job to work on, the task was displaced from what was left of this one.
            ended.job.preemptions += if record.open.is_empty() { preempted } else { 0 };
            // Nothing ran after the end of a job at whose end the task left.
            let all = ended.at_ns == t && matches!(why, Stop::Block | Stop::Exit);
            let own = if all { left } else { left.min(ended.guess_ns) };
            ended.job.cpu_ns += own;
            ended.guess_ns = 0;
            left -= own;
        }
        self.settle(task);
        let record = &mut self.tasks[task as usize];
        record.spent_ns = 0;
        if let Some(job) = record.open.front_mut() {
            job.cpu_ns += left;
            job.preemptions += preempted;
            if job.cpu_ns == 0 {
                // It was the task's job when the one before ended, but did not get to run.
                job.start_ns = None;
            }
        }
    }
}

impl Observer for Jobs {
    fn event(&mut self, t: u64, event: &Event<'_>) {
        match *event {
            Event::TaskNew { task, name, .. } | Event::TaskName { task, name, .. } => {
                self.task(task).name = name.to_string();
            }
            Event::JobRelease { task, job, due_ns, deadline_ns } => {
                let record = self.task(task);
                record.open.push_back(Job {
                    number: job,
                    release_ns: due_ns,
                    deadline_ns,
                    start_ns: None,
                    cpu_ns: 0,
                    preemptions: 0,
                    migrations: 0,
                    missed: false,
                });
                if record.open.len() == 1 {
                    record.start(t);
                }
            }
            Event::DeadlineMiss { task, job, .. } => {
                if let Some(job) = self.task(task).job(job) {
                    job.missed = true;
                }
            }
            Event::JobDone { task, job, missed, .. } => {
                self.end(t, task, job, "done", |j| j.missed |= missed)
            }
            Event::JobDropped { task, job } => self.end(t, task, job, "dropped", |_| ()),
            Event::Run { task, cpu, migrated, .. } => {
                let record = self.task(task);
                record.on = Some((cpu, t));
                record.spent_ns = 0;
                if let Some(job) = record.open.front_mut()
                    && job.start_ns.replace(job.start_ns.unwrap_or(t)).is_some()
                {
                    job.migrations += u32::from(migrated);
                }
            }
            Event::Off { task, why, ran_ns, .. } => self.off(t, task, why, ran_ns),
            Event::Preempted { task, .. } => {
                if let Some(job) = self.task(task).open.front_mut() {
                    job.preemptions += 1;
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InMemory;

    /// A file that the test can look into afterwards.
    fn lines(events: &[(u64, Event<'_>)], end: u64) -> Vec<String> {
        let file = InMemory::default();
        let mut jobs = Jobs::new(Box::new(file.clone()));
        for (t, e) in events {
            jobs.event(*t, e);
        }
        jobs.finish(end).expect("memory is never full");
        let text = String::from_utf8(file.take()).expect("text");
        text.lines().skip(1).map(str::to_string).collect()
    }

    fn run(task: u32, cpu: u32, migrated: bool) -> Event<'static> {
        Event::Run { task, cpu, migrated, switched: true, wakeup: true, waited_ns: 0 }
    }

    fn release(task: u32, job: u32, deadline: u64) -> Event<'static> {
        Event::JobRelease { task, job, due_ns: deadline - 10, deadline_ns: Some(deadline) }
    }

    fn off(task: u32, cpu: u32, why: Stop, ran_ns: u64) -> Event<'static> {
        Event::Off { task, cpu, why, ran_ns }
    }

    #[test]
    fn a_job_that_is_displaced_and_moves() {
        let events = [
            (0, Event::TaskNew { task: 0, name: "a,b", group: "" }),
            (5, release(0, 0, 15)),
            (6, run(0, 1, false)),
            (10, off(0, 1, Stop::Preempted, 4)),
            (15, run(0, 2, true)),
            (20, Event::JobDone { task: 0, job: 0, response_ns: 15, missed: false }),
            (20, off(0, 2, Stop::Block, 5)),
        ];
        assert_eq!(lines(&events, 50), ["0,\"a,b\",0,5,15,6,20,9,1,1,0,done"]);
    }

    /// The second job is released while the first runs, and follows it without a pause; the third never runs.
    #[test]
    fn jobs_of_one_run_share_its_time() {
        let events = [
            (0, Event::TaskNew { task: 0, name: "t", group: "" }),
            (0, release(0, 0, 10)),
            (0, run(0, 0, false)),
            (10, Event::DeadlineMiss { task: 0, job: 0, deadline_ns: 10 }),
            (10, release(0, 1, 20)),
            (12, Event::JobDone { task: 0, job: 0, response_ns: 12, missed: true }),
            (19, Event::JobDone { task: 0, job: 1, response_ns: 9, missed: false }),
            (19, off(0, 0, Stop::Block, 19)),
            (20, release(0, 2, 30)),
            // Its task has not come to this one, which was due at 22, before the end.
            (24, release(0, 3, 32)),
        ];
        let want = [
            "0,t,0,0,10,0,12,12,0,0,1,done",
            "0,t,1,10,20,12,19,7,0,0,0,done",
            "0,t,2,20,30,,,0,0,0,0,open",
            "0,t,3,22,32,,,0,0,0,0,open",
        ];
        assert_eq!(lines(&events, 25), want);
    }

    /// A job that is displaced in the instant in which it gets the CPU counts a preemption, as the totals do.
    #[test]
    fn a_job_that_is_displaced_at_once() {
        let events = [
            (0, Event::TaskNew { task: 0, name: "t", group: "" }),
            (0, release(0, 0, 10)),
            (0, run(0, 0, false)),
            (0, off(0, 0, Stop::Preempted, 0)),
            (5, run(0, 0, false)),
            (7, Event::JobDone { task: 0, job: 0, response_ns: 7, missed: false }),
            (7, off(0, 0, Stop::Block, 2)),
        ];
        assert_eq!(lines(&events, 25), ["0,t,0,0,10,5,7,2,1,0,0,done"]);
    }

    /// After its first job the task gives way to another one before the second has run.
    #[test]
    fn a_job_that_is_next_but_waits_has_not_started() {
        let events = [
            (0, Event::TaskNew { task: 0, name: "t", group: "" }),
            (0, release(0, 0, 10)),
            (0, run(0, 0, false)),
            (10, release(0, 1, 20)),
            (12, Event::JobDone { task: 0, job: 0, response_ns: 12, missed: true }),
            (12, off(0, 0, Stop::Yield, 12)),
            (18, run(0, 0, false)),
            (21, Event::JobDropped { task: 0, job: 1 }),
            (21, off(0, 0, Stop::Block, 3)),
        ];
        let want = ["0,t,0,0,10,0,12,12,0,0,1,done", "0,t,1,10,20,18,21,3,0,0,0,dropped"];
        assert_eq!(lines(&events, 25), want);
    }
}
