// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `wakeups.csv`: one line per wake-up, in the order in which the tasks got their CPUs. Times are nanoseconds.

use std::fmt::Write as _;
use std::io::{self, Write};

use weir_core::event::{Event, Observer};

use crate::csv::csv_field;
use crate::sink::Sink;

const HEADER: &str = "run_ns,task,name,cpu,latency_ns,migrated\n";

/// Writes the wake-ups of a run as `wakeups.csv` while it happens.
pub struct Wakeups {
    out: Sink,
    text: String,
    /// Names as fields.
    names: Vec<String>,
}

impl Wakeups {
    /// Wake-ups into `out`. An error in writing is kept and returned by [`Wakeups::finish`].
    pub fn new(out: Box<dyn Write + Send>) -> Self {
        let mut out = Sink::new(out);
        out.put(HEADER.as_bytes());
        Self { out, text: String::new(), names: Vec::new() }
    }

    /// Writes what is left. Returns the first error.
    pub fn finish(self) -> io::Result<()> {
        self.out.finish()
    }
}

impl Observer for Wakeups {
    fn event(&mut self, t: u64, event: &Event<'_>) {
        match *event {
            Event::TaskNew { task, name, .. } | Event::TaskName { task, name, .. } => {
                if self.names.len() <= task as usize {
                    self.names.resize(task as usize + 1, String::new());
                }
                self.names[task as usize] = csv_field(name).into_owned();
            }
            Event::Run { task, cpu, migrated, wakeup: true, waited_ns, .. } => {
                let name = self.names.get(task as usize).map_or("", String::as_str);
                self.text.clear();
                let migrated = u8::from(migrated);
                writeln!(self.text, "{t},{task},{name},{cpu},{waited_ns},{migrated}")
                    .expect("writing to a string");
                self.out.put(self.text.as_bytes());
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InMemory;

    #[test]
    fn a_line_a_wake_up() {
        let file = InMemory::default();
        let mut w = Wakeups::new(Box::new(file.clone()));
        let run = |wakeup, migrated, waited_ns| Event::Run {
            task: 0,
            cpu: 3,
            migrated,
            switched: true,
            wakeup,
            waited_ns,
        };
        w.event(0, &Event::TaskNew { task: 0, name: "a,b", group: "" });
        w.event(5, &run(true, false, 5));
        w.event(9, &run(false, false, 2));
        w.event(20, &run(true, true, 0));
        w.finish().expect("memory is never full");
        let text = String::from_utf8(file.take()).expect("text");
        assert_eq!(text, format!("{HEADER}5,0,\"a,b\",3,5,0\n20,0,\"a,b\",3,0,1\n"));
    }
}
