// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Random task sets as workload files.

use std::fmt::Write as _;

use weir_model::Workload;

/// Unit of periods and computing times, ns: the quantum of `pd2`.
pub const UNIT: u64 = 1_000_000;

/// A shorter one, where costs are to matter.
const SHORT: u64 = UNIT / 20;

/// Random numbers (xorshift).
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        let mut dice = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        for _ in 0..8 {
            dice.next(2);
        }
        dice
    }

    /// Below a number that is not 0.
    pub fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % below
    }

    /// In so many of a hundred cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.next(100) < percent
    }

    /// One of a list that is not empty.
    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.next(all.len() as u64) as usize]
    }
}

/// A step of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// From so many to so many ns.
    Run(u64, u64),
    Sleep(u64),
    Lock(usize),
    Unlock(usize),
    /// What no test has.
    Device,
}

/// A task with a period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    pub name: String,
    pub period: u64,
    pub deadline: u64,
    pub jitter: u64,
    pub offset: u64,
    pub extra: u64,
    /// Of policy fifo; 0: none.
    pub priority: u64,
    pub steps: Vec<Piece>,
    /// Further lines.
    pub more: String,
}

impl Spec {
    /// When it has taken one of its mutexes, ns from its start, if nothing holds it up.
    fn taken(&self, dice: &mut Dice) -> u64 {
        let locks = self.steps.iter().filter(|s| matches!(s, Piece::Lock(_))).count() as u64;
        let wanted = dice.next(locks);
        let (mut at, mut seen) = (1, 0);
        for step in &self.steps {
            match step {
                Piece::Run(_, most) => at += most,
                Piece::Sleep(ns) => at += ns,
                Piece::Lock(_) if seen == wanted => break,
                Piece::Lock(_) => seen += 1,
                Piece::Unlock(_) | Piece::Device => {}
            }
        }
        at
    }
}

/// A workload under a topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    pub topology: &'static str,
    pub cpus: u32,
    pub costs: bool,
    /// Of its times, ns.
    pub unit: u64,
    pub protocols: Vec<&'static str>,
    pub tasks: Vec<Spec>,
    /// Tasks beside them.
    pub beside: Vec<String>,
}

const ONE: &[&str] = &[
    "rm",
    "dm",
    "fp",
    "edf",
    "rm",
    "dm",
    "fp",
    "edf",
    "edzl",
    "edf-vd",
    "edf-tick",
    "edzl-tick",
    "pd2",
    "llref",
];
const MANY: &[&str] = &[
    "rm",
    "dm",
    "fp",
    "edf",
    "edzl",
    "edf-us",
    "pd2",
    "er-pd2",
    "llref",
    "lre-tl",
    "dp-wrap",
    "run",
    "u-edf",
    "p-edf",
    "p-rm",
    "p-dm",
    "p-fp",
    "p-edzl",
    "edf-tick",
    "edzl-tick",
];
const PERIODS: &[u64] = &[4, 5, 6, 8, 10, 12, 15, 20, 24, 30, 40];

impl Set {
    /// One of many.
    pub fn draw(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let cpus = if dice.chance(65) { 1 } else { 2 + dice.next(3) as u32 };
        let topology = dice.of(if cpus == 1 { ONE } else { MANY });
        let fixed = topology.ends_with("fp");
        let plain = ["pd2", "er-pd2", "llref", "lre-tl", "dp-wrap", "run", "u-edf", "edf-us", "edf-vd"]
            .contains(&topology);
        let costs = dice.chance(20);
        // Quanta, ticks, and tasks beside them have times of their own.
        let short = costs && !plain && !topology.ends_with("-tick") && dice.chance(60);
        let unit = if short { SHORT } else { UNIT };
        // With costs, both leave everything undecided.
        let locks = dice.chance(if cpus == 1 && !plain && !costs { 55 } else { 8 });
        let sleeps = dice.chance(if cpus == 1 && !plain && !costs { 25 } else { 8 });
        let jitter = dice.chance(if plain { 5 } else { 30 });
        let extra = dice.chance(30);
        let ranges = dice.chance(25);
        let deadlines = if plain { dice.next(12) / 10 } else { dice.next(4) };
        let odd = dice.chance(10);
        let protocols: Vec<&str> = match locks {
            true => {
                let same = dice.of(&["inherit", "ceiling", "pcp", "none", ""]);
                let any =
                    |d: &mut Dice| d.of(&["inherit", "ceiling", "pcp", "inherit", "ceiling", "pcp", "none"]);
                (0..1 + dice.next(3)).map(|_| if same.is_empty() { any(&mut dice) } else { same }).collect()
            }
            false => Vec::new(),
        };
        let n = 2 + dice.next(if cpus == 1 { 4 } else { 7 });
        let load = u64::from(cpus) * (25 + dice.next(76));
        let spread = dice.chance(50);
        let tasks = (0..n)
            .map(|i| {
                let period = dice.of(PERIODS);
                let share = 1 + dice.next(2 * load / n).min(99);
                let wcet = (period * share).div_ceil(100).clamp(1, period);
                let deadline = match deadlines {
                    0 => period,
                    1 => wcet + dice.next(period - wcet + 1),
                    2 => wcet + dice.next(2 * period),
                    _ => match dice.next(3) {
                        0 => period,
                        1 => wcet + dice.next(period - wcet + 1),
                        _ => period + dice.next(period),
                    },
                };
                let mut steps = vec![Piece::Run(wcet * unit, wcet * unit)];
                if !protocols.is_empty() && dice.chance(70) {
                    steps = sections(&mut dice, wcet, protocols.len(), unit);
                }
                if sleeps && dice.chance(40) {
                    sleep(&mut dice, &mut steps, period, unit);
                }
                if ranges {
                    for step in &mut steps {
                        if let Piece::Run(least, most) = step {
                            *least = (*most / (1 + dice.next(3))).max(1);
                        }
                    }
                }
                let priority = match () {
                    () if fixed => 1 + dice.next(if spread { 90 } else { 6 }),
                    () if dice.chance(10) => 1 + dice.next(50),
                    () => 0,
                };
                let mut more = String::new();
                if topology == "edf-vd" && dice.chance(80) {
                    let hi = dice.chance(50);
                    if hi {
                        let most = (wcet + dice.next(period - wcet + 1)) * UNIT;
                        let _ = writeln!(
                            more,
                            "criticality = \"hi\"\nwcet = \"{}ns\"\nwcet_hi = \"{most}ns\"",
                            wcet * UNIT
                        );
                        if dice.chance(20) {
                            steps = vec![Piece::Run(UNIT, most)];
                        }
                    } else {
                        more += "criticality = \"lo\"\n";
                    }
                }
                if dice.chance(5) {
                    let _ = writeln!(more, "blocking = \"{unit}ns\"");
                }
                if odd && dice.chance(30) {
                    match dice.next(6) {
                        0 => more += "cpus = [0]\n",
                        1 => more += "jobs = 3\n",
                        2 => steps.push(Piece::Device),
                        3 => more += "on_miss = \"abort\"\n",
                        4 => more += "on_miss = \"skip\"\n",
                        _ => more += "weight = 2048\n",
                    }
                }
                Spec {
                    name: format!("t{i}"),
                    period: period * unit,
                    deadline: deadline.max(1) * unit,
                    jitter: if jitter && dice.chance(60) { 1 + dice.next(4 * unit) } else { 0 },
                    offset: 0,
                    extra: if extra && dice.chance(60) { 1 + dice.next(4 * unit) } else { 0 },
                    priority,
                    steps,
                    more,
                }
            })
            .collect();
        let mut beside = Vec::new();
        if !short && dice.chance(12) {
            let priority = 1 + dice.next(60);
            let work = 1 + dice.next(4);
            let lock = if !protocols.is_empty() && dice.chance(50) {
                ("lock m0; ", "; unlock m0")
            } else {
                ("", "")
            };
            beside.push(match dice.next(3) {
                0 => format!(
                    "policy = \"fifo\"\npriority = {priority}\narrivals = \"poisson 30ms\"\nprogram = \"{}run {work}ms{}\"\n",
                    lock.0, lock.1
                ),
                1 => format!(
                    "policy = \"fifo\"\npriority = {priority}\narrivals = \"poisson 30ms {}ms\"\nprogram = \"{}run {work}ms{}\"\n{}",
                    4 + dice.next(20),
                    lock.0,
                    lock.1,
                    if dice.chance(50) { format!("deadline = \"{}ms\"\n", work + dice.next(40)) } else { String::new() }
                ),
                _ => format!(
                    "policy = \"fifo\"\npriority = {priority}\nloop = \"forever\"\nprogram = \"{}run {work}ms{}; sleep 7ms\"\n",
                    lock.0, lock.1
                ),
            });
        }
        Self { topology, cpus, costs, unit, protocols, tasks, beside }
    }

    /// The workload file.
    pub fn toml(&self) -> String {
        let mut text = format!(
            "# runweir analyze {t} --schedulability -m smp-{c} --costs {costs} -w FILE\n# runweir run -t {t} -m smp-{c} --costs {costs} -w FILE -d {d}ns\n",
            t = self.topology,
            c = self.cpus,
            costs = if self.costs { "default" } else { "zero" },
            d = self.duration(),
        );
        if !self.protocols.is_empty() {
            let all: Vec<String> =
                self.protocols.iter().enumerate().map(|(i, p)| format!("m{i} = \"{p}\"")).collect();
            let _ = writeln!(text, "mutexes = {{ {} }}", all.join(", "));
        }
        for t in &self.tasks {
            let _ = write!(
                text,
                "\n[[task]]\nname = \"{}\"\nperiod = \"{}ns\"\ndeadline = \"{}ns\"\n",
                t.name, t.period, t.deadline
            );
            for (key, ns) in [("jitter", t.jitter), ("offset", t.offset), ("sporadic", t.extra)] {
                if ns > 0 {
                    let _ = writeln!(text, "{key} = \"{ns}ns\"");
                }
            }
            if t.priority > 0 {
                let _ = writeln!(text, "policy = \"fifo\"\npriority = {}", t.priority);
            }
            text += &t.more;
            let steps: Vec<String> = t
                .steps
                .iter()
                .map(|s| match s {
                    Piece::Run(a, b) if a == b => format!("run {a}ns"),
                    Piece::Run(a, b) => format!("run {a}ns..{b}ns"),
                    Piece::Sleep(ns) => format!("sleep {ns}ns"),
                    Piece::Lock(m) => format!("lock m{m}"),
                    Piece::Unlock(m) => format!("unlock m{m}"),
                    Piece::Device => "io 4KiB".to_string(),
                })
                .collect();
            let _ = writeln!(text, "program = \"{}\"", steps.join("; "));
        }
        for (i, lines) in self.beside.iter().enumerate() {
            let _ = write!(text, "\n[[task]]\nname = \"beside{i}\"\n{lines}");
        }
        text
    }

    /// The workload of the file.
    ///
    /// # Panics
    /// The file is none.
    pub fn workload(&self, seed: u64) -> Workload {
        let text = self.toml();
        let read = |_: &str| Ok(text.clone().into_bytes());
        match Workload::resolve("set.toml", seed, &read, &[]) {
            Ok(workload) => workload,
            Err(e) => panic!("{e}\n{text}"),
        }
    }

    /// For how long it is run, ns: some hyperperiods, if they are short.
    pub fn duration(&self) -> u64 {
        fn gcd(a: u64, b: u64) -> u64 {
            if b == 0 { a } else { gcd(b, a % b) }
        }
        let hyper =
            self.tasks.iter().fold(1, |h: u64, t| h / gcd(h, t.period / self.unit) * (t.period / self.unit));
        let last = self.tasks.iter().map(|t| t.offset).max().unwrap_or(0);
        (2 * hyper + 40).min(100) * self.unit + last
    }

    /// The set with other offsets, by what they are.
    pub fn attacks(&self, dice: &mut Dice) -> Vec<(&'static str, Set)> {
        let mut all = vec![("as drawn", self.clone())];
        let mut random = self.clone();
        for t in &mut random.tasks {
            // Quanta begin at whole units.
            let fine = if self.topology.contains("pd2") { UNIT } else { 1 };
            t.offset = dice.next(t.period / fine) * fine;
        }
        all.push(("with random offsets", random));
        let takers: Vec<usize> = (0..self.tasks.len())
            .filter(|i| self.tasks[*i].steps.iter().any(|s| matches!(s, Piece::Lock(_))))
            .collect();
        for _ in 0..if takers.is_empty() { 0 } else { 2 } {
            // The others come when it has just taken its mutex.
            let first = takers[dice.next(takers.len() as u64) as usize];
            let at = self.tasks[first].taken(dice);
            let mut set = self.clone();
            for (i, t) in set.tasks.iter_mut().enumerate() {
                // Some of them even later, so that they come while others wait.
                let later = if dice.chance(30) { dice.next(3 * self.unit) } else { 0 };
                t.offset = if i == first { 0 } else { at + later };
            }
            all.push(("just after a lock", set));
        }
        if takers.len() > 1 {
            // Each comes when the next less urgent one has just taken its mutex, those without a mutex at last.
            let mut set = self.clone();
            let mut order: Vec<usize> = (0..self.tasks.len()).collect();
            order.sort_by_key(|i| (!takers.contains(i), std::cmp::Reverse(self.lateness(*i))));
            let mut at = 0;
            for i in order {
                set.tasks[i].offset = at;
                if takers.contains(&i) {
                    at += self.tasks[i].taken(dice);
                }
            }
            all.push(("each just after a less urgent one's lock", set));
        }
        all
    }

    /// More for tasks that are less urgent.
    fn lateness(&self, task: usize) -> u64 {
        let t = &self.tasks[task];
        match self.topology {
            "fp" | "p-fp" => 100 - t.priority,
            "rm" | "p-rm" => t.period,
            _ => t.deadline,
        }
    }

    /// Sets that are a little smaller.
    pub fn smaller(&self) -> Vec<Set> {
        let mut all = Vec::new();
        let mut with = |change: &dyn Fn(&mut Set)| {
            let mut set = self.clone();
            change(&mut set);
            if set != *self {
                all.push(set);
            }
        };
        for i in (0..self.tasks.len()).filter(|_| self.tasks.len() > 1) {
            with(&|s| drop(s.tasks.remove(i)));
        }
        for i in 0..self.beside.len() {
            with(&|s| drop(s.beside.remove(i)));
        }
        with(&|s| s.costs = false);
        for i in 0..self.tasks.len() {
            with(&|s| s.tasks[i].jitter = 0);
            with(&|s| s.tasks[i].extra = 0);
            with(&|s| s.tasks[i].offset = 0);
            with(&|s| s.tasks[i].more.clear());
            with(&|s| s.tasks[i].deadline = s.tasks[i].period);
            with(&|s| s.tasks[i].steps.retain(|p| !matches!(p, Piece::Sleep(_) | Piece::Device)));
            with(&|s| s.tasks[i].steps.retain(|p| !matches!(p, Piece::Lock(_) | Piece::Unlock(_))));
            for k in 0..self.tasks[i].steps.len() {
                with(&|s| {
                    if let Piece::Run(least, most) = &mut s.tasks[i].steps[k] {
                        *most = (*most / 2 / s.unit).max(1) * s.unit;
                        *least = *most;
                    }
                });
                with(&|s| {
                    if let Piece::Run(least, most) = &mut s.tasks[i].steps[k] {
                        *least = *most;
                    }
                });
            }
        }
        all
    }
}

/// Computing of `wcet` units with one or two critical sections, one of them perhaps in the other.
fn sections(dice: &mut Dice, wcet: u64, mutexes: usize, unit: u64) -> Vec<Piece> {
    let run = |ns: u64| Piece::Run(ns, ns);
    let total = wcet * unit;
    let parts: Vec<u64> = (0..5).map(|_| 1 + dice.next(10)).collect();
    let sum: u64 = parts.iter().sum();
    let part = |i: usize| (total * parts[i] / sum).max(1);
    let a = dice.next(mutexes as u64) as usize;
    let b = dice.next(mutexes as u64) as usize;
    match dice.next(4) {
        0 | 1 => vec![
            run(part(0)),
            Piece::Lock(a),
            run(part(1) + part(2)),
            Piece::Unlock(a),
            run(part(3) + part(4)),
        ],
        2 if a != b => vec![
            run(part(0)),
            Piece::Lock(a),
            run(part(1)),
            Piece::Lock(b),
            run(part(2)),
            Piece::Unlock(b),
            run(part(3)),
            Piece::Unlock(a),
            run(part(4)),
        ],
        _ => vec![
            Piece::Lock(a),
            run(part(0) + part(1)),
            Piece::Unlock(a),
            run(part(2)),
            Piece::Lock(b),
            run(part(3) + part(4)),
            Piece::Unlock(b),
        ],
    }
}

/// Sleep at some place, rarely while a mutex is held.
fn sleep(dice: &mut Dice, steps: &mut Vec<Piece>, period: u64, unit: u64) {
    if let [Piece::Run(ns, _)] = steps[..]
        && ns >= 2 * unit
    {
        *steps = vec![Piece::Run(ns / 2, ns / 2), Piece::Run(ns - ns / 2, ns - ns / 2)];
    }
    let mut free = vec![0];
    let mut held = 0;
    for (i, s) in steps.iter().enumerate() {
        match s {
            Piece::Lock(_) => held += 1,
            Piece::Unlock(_) => held -= 1,
            Piece::Run(..) | Piece::Sleep(_) | Piece::Device => {}
        }
        if held == 0 || dice.chance(3) {
            free.push(i + 1);
        }
    }
    for _ in 0..1 + dice.next(2) {
        let at = free[dice.next(free.len() as u64) as usize].min(steps.len());
        steps.insert(at, Piece::Sleep((1 + dice.next(period.div_ceil(3))) * unit));
    }
}
