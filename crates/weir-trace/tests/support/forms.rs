// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! One history of two CPUs in each form in which a tool would have recorded it. Names of threads are bytes.

use std::collections::BTreeMap;

use super::{bytes, number};

/// What happened.
#[derive(Clone, Debug)]
pub enum Did {
    /// Threads by index; `None` is idle. The letter is the state of the thread that leaves.
    Switch(Option<usize>, char, Option<usize>),
    Waking(usize),
    Fork(usize, usize),
    New(usize),
}

#[derive(Clone, Debug)]
pub struct Event {
    pub us: u64,
    pub cpu: u32,
    /// The thread that runs.
    pub on: Option<usize>,
    pub did: Did,
}

#[derive(Clone, Debug)]
pub struct History {
    pub names: Vec<Vec<u8>>,
    pub events: Vec<Event>,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Unborn,
    Blocked,
    Ready,
    On(u32),
}

/// Plays `choices` with threads of these names; the last thread is forked by another one.
pub fn play(names: Vec<Vec<u8>>, choices: &[(u8, u16)]) -> History {
    let mut places = vec![Place::Ready; names.len()];
    let last = names.len() - 1;
    places[last] = Place::Unborn;
    let mut h = History { names, events: Vec::new() };
    let mut us = 5_000_000;
    let mut on: [Option<usize>; 2] = [None; 2];
    let first = |places: &[Place], what: Place| places.iter().position(|p| *p == what);
    let switch =
        |h: &mut History, places: &mut [Place], on: &mut [Option<usize>; 2], us, cpu: u32, state, to| {
            let from = on[cpu as usize];
            h.events.push(Event { us, cpu, on: from, did: Did::Switch(from, state, to) });
            if let Some(f) = from {
                places[f] = if state == 'R' { Place::Ready } else { Place::Blocked };
            }
            if let Some(t) = to {
                places[t] = Place::On(cpu);
            }
            on[cpu as usize] = to;
        };
    for cpu in 0..2 {
        us += 1;
        let to = first(&places, Place::Ready);
        switch(&mut h, &mut places, &mut on, us, cpu, 'R', to);
    }
    for &(choice, gap) in choices {
        us += 1 + u64::from(gap);
        let cpu = u32::from(choice & 1);
        let me = on[cpu as usize];
        let ready = first(&places, Place::Ready);
        let event = |did| Event { us, cpu, on: me, did };
        match (me, choice >> 1 & 7) {
            (None, _) if ready.is_some() => switch(&mut h, &mut places, &mut on, us, cpu, 'R', ready),
            // A timer.
            (None, _) => {
                if let Some(who) = first(&places, Place::Blocked) {
                    h.events.push(event(Did::Waking(who)));
                    places[who] = Place::Ready;
                }
            }
            (Some(_), 0 | 1) => switch(&mut h, &mut places, &mut on, us, cpu, 'S', ready),
            (Some(_), 2) => switch(&mut h, &mut places, &mut on, us, cpu, 'D', ready),
            (Some(_), 3) if ready.is_some() => switch(&mut h, &mut places, &mut on, us, cpu, 'R', ready),
            // Before it has left the other CPU: this wakes it if it goes to sleep next.
            (Some(_), 4) => {
                if let Some(who) = on[1 - cpu as usize] {
                    h.events.push(event(Did::Waking(who)));
                }
            }
            (Some(parent), 5) if places[last] == Place::Unborn => {
                h.events.push(event(Did::Fork(parent, last)));
                us += 1;
                h.events.push(Event { us, cpu, on: me, did: Did::New(last) });
                places[last] = Place::Ready;
            }
            (Some(_), _) => {
                if let Some(who) = first(&places, Place::Blocked) {
                    h.events.push(event(Did::Waking(who)));
                    places[who] = Place::Ready;
                }
            }
        }
    }
    for cpu in 0..2 {
        us += 1000;
        if on[cpu as usize].is_some() {
            switch(&mut h, &mut places, &mut on, us, cpu, 'S', None);
        }
    }
    h
}

const PRIO: u64 = 120;

fn pid(thread: Option<usize>) -> u64 {
    thread.map_or(0, |t| 100 + t as u64)
}

impl History {
    fn name(&self, thread: Option<usize>, cpu: u32) -> Vec<u8> {
        thread.map_or_else(|| format!("swapper/{cpu}").into_bytes(), |t| self.names[t].clone())
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Text {
    /// tracefs's `trace`.
    Ftrace,
    Perf,
    /// `trace-cmd report`, with its own and with the raw form of events.
    Report,
    Raw,
}

fn right(out: &mut Vec<u8>, width: usize, what: &[u8]) {
    out.extend(std::iter::repeat_n(b' ', width.saturating_sub(what.len())));
    out.extend_from_slice(what);
}

/// As a text of one of the tools.
pub fn text(h: &History, form: Text) -> Vec<u8> {
    let mut out = b"# tracer: nop\n#\n#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n".to_vec();
    for e in &h.events {
        let head = e.on.map_or_else(|| b"<idle>".to_vec(), |t| h.names[t].clone());
        right(&mut out, 16, &head);
        let (s, us) = (e.us / 1_000_000, e.us % 1_000_000);
        let irq = if e.on.is_none() { 'h' } else { '.' };
        let (before, width) = match form {
            Text::Ftrace => (format!("-{:<7} [{:03}] d.{irq}2. {s:5}.{us:06}: ", pid(e.on), e.cpu), 0),
            Text::Perf => (format!(" {:5} [{:03}] {s:5}.{us:06}: ", pid(e.on), e.cpu), 0),
            Text::Report | Text::Raw => (format!("-{:<5} [{:03}] {s:5}.{us:06}: ", pid(e.on), e.cpu), 22),
        };
        out.extend_from_slice(before.as_bytes());
        let event = match e.did {
            Did::Switch(..) => "sched_switch",
            Did::Waking(_) => "sched_waking",
            Did::Fork(..) => "sched_process_fork",
            Did::New(_) => "sched_wakeup_new",
        };
        let event = format!("{}{event}: ", if form == Text::Perf { "sched:" } else { "" });
        out.extend_from_slice(format!("{event:width$}").as_bytes());
        let mut put = |parts: &[&[u8]]| parts.iter().for_each(|p| out.extend_from_slice(p));
        let woken = |t: usize| format!(" pid={} prio={PRIO} target_cpu={:03}", pid(Some(t)), e.cpu);
        match e.did {
            Did::Switch(prev, state, next) => {
                let (from, to) = (h.name(prev, e.cpu), h.name(next, e.cpu));
                let (p, n) = (pid(prev), pid(next));
                if form == Text::Report {
                    let middle = format!(":{p} [{PRIO}] {state} ==> ");
                    put(&[&from, middle.as_bytes(), &to, format!(":{n} [{PRIO}]").as_bytes()]);
                } else {
                    let state = match form {
                        Text::Raw => format!("{} ", bits(state)),
                        _ => format!("{state} ==> "),
                    };
                    let middle = format!(" prev_pid={p} prev_prio={PRIO} prev_state={state}next_comm=");
                    let end = format!(" next_pid={n} next_prio={PRIO}");
                    put(&[b"prev_comm=", &from, middle.as_bytes(), &to, end.as_bytes()]);
                }
            }
            Did::New(t) if form == Text::Report => {
                let end = format!(":{} [{PRIO}] CPU:{:03}", pid(Some(t)), e.cpu);
                put(&[&h.names[t], end.as_bytes()]);
            }
            Did::Waking(t) | Did::New(t) => put(&[b"comm=", &h.names[t], woken(t).as_bytes()]),
            Did::Fork(parent, child) => {
                let middle = format!(" pid={} child_comm=", pid(Some(parent)));
                let end = format!(" child_pid={}", pid(Some(child)));
                put(&[b"comm=", &h.names[parent], middle.as_bytes(), &h.names[child], end.as_bytes()]);
            }
        }
        out.push(b'\n');
    }
    out
}

/// As an HTML page of systrace.
pub fn html(h: &History) -> Vec<u8> {
    let viewer: String = (0..6000).map(|i| format!("/* {i} */ var v{i} = [{i}];\n")).collect();
    let head = format!("<!DOCTYPE html>\n<html><body>\n<script>\n{viewer}</script>\n");
    let open = "<script class=\"trace-data\" type=\"application/text\">\n";
    [head.as_bytes(), open.as_bytes(), &text(h, Text::Ftrace), b"</script>\n</body></html>\n"].concat()
}

fn bits(state: char) -> u64 {
    match state {
        'R' => 0,
        'S' => 1,
        _ => 2,
    }
}

/// Numbers of events in the binary forms, as their descriptions have them.
const SWITCH: u16 = 301;
const WAKING: u16 = 302;
const NEW: u16 = 303;
const FORK: u16 = 304;

fn format(name: &str, id: u16, fields: &str) -> String {
    let common = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
                  \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
                  \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
                  \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n";
    let mut at = 8;
    let fields: String = fields
        .split(' ')
        .map(|f| {
            let (size, what) = match f.split_once('[') {
                Some((f, _)) => (16, format!("char {f}[16]")),
                None if f == "prev_state" => (8, format!("long {f}")),
                None => (4, format!("int {f}")),
            };
            // A name may stand anywhere, a number where it is aligned.
            at += if size < 16 { at % size } else { 0 };
            at += size;
            format!("\tfield:{what};\toffset:{};\tsize:{size};\tsigned:1;\n", at - size)
        })
        .collect();
    format!("name: {name}\nID: {id}\nformat:\n{common}\n{fields}\nprint fmt: \"\"\n")
}

/// The head of trace.dat of version 6, which is also perf's tracing data.
fn head(version: &str) -> Vec<u8> {
    let mut out = b"\x17\x08\x44tracing".to_vec();
    out.extend_from_slice(version.as_bytes());
    out.extend_from_slice(&[0, 0, 8]);
    out.extend_from_slice(&4096u32.to_le_bytes());
    let page = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n";
    for (mark, text) in [(&b"header_page\0"[..], page), (b"header_event\0", "# compressed entry header\n")] {
        out.extend_from_slice(mark);
        out.extend_from_slice(&(text.len() as u64).to_le_bytes());
        out.extend_from_slice(text.as_bytes());
    }
    out.extend_from_slice(&0u32.to_le_bytes());
    out.extend_from_slice(&1u32.to_le_bytes());
    out.extend_from_slice(b"sched\0");
    let events = [
        format(
            "sched_switch",
            SWITCH,
            "prev_comm[] prev_pid prev_prio prev_state next_comm[] next_pid next_prio",
        ),
        format("sched_waking", WAKING, "comm[] pid prio target_cpu"),
        format("sched_wakeup_new", NEW, "comm[] pid prio target_cpu"),
        format("sched_process_fork", FORK, "parent_comm[] parent_pid child_comm[] child_pid"),
    ];
    out.extend_from_slice(&(events.len() as u32).to_le_bytes());
    for event in events {
        out.extend_from_slice(&(event.len() as u64).to_le_bytes());
        out.extend_from_slice(event.as_bytes());
    }
    // Neither symbols nor texts.
    out.extend_from_slice(&[0; 8]);
    out
}

/// An event as the kernel's ring buffer has it.
fn raw(h: &History, e: &Event) -> Vec<u8> {
    let comm = |name: &[u8]| {
        let mut wide = name.to_vec();
        wide.resize(16, 0);
        wide
    };
    let mut out = Vec::new();
    let int = |n: u64| (n as u32).to_le_bytes();
    let id = match e.did {
        Did::Switch(..) => SWITCH,
        Did::Waking(_) => WAKING,
        Did::New(_) => NEW,
        Did::Fork(..) => FORK,
    };
    out.extend_from_slice(&id.to_le_bytes());
    out.extend_from_slice(&[if e.on.is_none() { 8 } else { 0 }, 0]);
    out.extend_from_slice(&int(pid(e.on)));
    match e.did {
        Did::Switch(prev, state, next) => {
            out.extend(comm(&h.name(prev, e.cpu)));
            out.extend([int(pid(prev)), int(PRIO)].concat());
            out.extend_from_slice(&bits(state).to_le_bytes());
            out.extend(comm(&h.name(next, e.cpu)));
            out.extend([int(pid(next)), int(PRIO)].concat());
        }
        Did::Waking(t) | Did::New(t) => {
            out.extend(comm(&h.names[t]));
            out.extend([int(pid(Some(t))), int(PRIO), int(e.cpu.into())].concat());
        }
        Did::Fork(parent, child) => {
            out.extend(comm(&h.names[parent]));
            out.extend(int(pid(Some(parent))));
            out.extend(comm(&h.names[child]));
            out.extend(int(pid(Some(child))));
        }
    }
    out
}

/// As trace.dat of version 6: pages with a time before each event.
pub fn trace_dat(h: &History) -> Vec<u8> {
    let mut out = head("6");
    // No names, two CPUs, no options.
    out.extend_from_slice(&0u64.to_le_bytes());
    out.extend_from_slice(&2u32.to_le_bytes());
    out.extend_from_slice(b"options  \0");
    out.extend_from_slice(&0u16.to_le_bytes());
    out.extend_from_slice(b"flyrecord\0");
    let mut data = Vec::new();
    let mut table = Vec::new();
    let begin = (out.len() + 32).next_multiple_of(4096);
    for cpu in 0..2 {
        let from = data.len();
        let mut page: Vec<u8> = Vec::new();
        let close = |page: &mut Vec<u8>, data: &mut Vec<u8>| {
            if !page.is_empty() {
                let used = page.len() as u64 - 16;
                page[8..16].copy_from_slice(&used.to_le_bytes());
                page.resize(4096, 0);
                data.append(page);
            }
        };
        let mut now = 0;
        for e in h.events.iter().filter(|e| e.cpu == cpu) {
            let (raw, ns) = (raw(h, e), e.us * 1000);
            if page.len() + raw.len() + 16 > 4096 {
                close(&mut page, &mut data);
            }
            if page.is_empty() {
                page.extend_from_slice(&ns.to_le_bytes());
                page.extend_from_slice(&[0; 8]);
                now = ns;
            }
            let gap = ns - now;
            now = ns;
            // A longer time, then the event with its length in a word of its own.
            page.extend_from_slice(&(30 | (gap as u32 & 0x7ff_ffff) << 5).to_le_bytes());
            page.extend_from_slice(&((gap >> 27) as u32).to_le_bytes());
            page.extend_from_slice(&0u32.to_le_bytes());
            page.extend_from_slice(&(raw.len() as u32 + 4).to_le_bytes());
            page.extend_from_slice(&raw);
        }
        close(&mut page, &mut data);
        table.extend_from_slice(&((begin + from) as u64).to_le_bytes());
        table.extend_from_slice(&((data.len() - from) as u64).to_le_bytes());
    }
    out.extend(table);
    out.resize(begin, 0);
    out.extend(data);
    out
}

/// As perf.data, whole or with its records compressed as by `perf record -z`.
pub fn perf_data(h: &History, compressed: bool) -> Vec<u8> {
    const ATTR: u64 = 128;
    let record = |kind: u32, body: &[u8]| {
        let mut out = kind.to_le_bytes().to_vec();
        out.extend_from_slice(&0u16.to_le_bytes());
        out.extend_from_slice(&(8 + body.len() as u16).to_le_bytes());
        out.extend_from_slice(body);
        out
    };
    let mut records = Vec::new();
    for e in &h.events {
        let (mut body, mut raw) = (Vec::new(), raw(h, e));
        // The raw bytes and their length together have whole words of eight bytes.
        raw.resize((raw.len() + 4).next_multiple_of(8) - 4, 0);
        let n = pid(e.on) as u32;
        body.extend_from_slice(&n.to_le_bytes());
        body.extend_from_slice(&n.to_le_bytes());
        body.extend_from_slice(&(e.us * 1000).to_le_bytes());
        body.extend_from_slice(&u64::from(e.cpu).to_le_bytes());
        body.extend_from_slice(&(raw.len() as u32).to_le_bytes());
        body.extend_from_slice(&raw);
        records.push(record(9, &body));
    }
    let data = if compressed {
        // Records are cut anywhere.
        let pack = |b: &[u8]| {
            let mut body = ruzstd::encoding::compress_to_vec(b, ruzstd::encoding::CompressionLevel::Fastest);
            let size = body.len() as u64;
            body.resize(body.len().next_multiple_of(8), 0);
            record(83, &[&size.to_le_bytes()[..], &body].concat())
        };
        records.concat().chunks(1000).flat_map(pack).collect()
    } else {
        records.concat()
    };
    let mut attr = vec![0u8; ATTR as usize];
    attr[0..4].copy_from_slice(&2u32.to_le_bytes());
    attr[4..8].copy_from_slice(&(ATTR as u32).to_le_bytes());
    attr[8..16].copy_from_slice(&u64::from(SWITCH).to_le_bytes());
    attr[16..24].copy_from_slice(&1u64.to_le_bytes());
    let sample = 1u64 << 1 | 1 << 2 | 1 << 7 | 1 << 10;
    attr[24..32].copy_from_slice(&sample.to_le_bytes());
    let tracing = head("0.6");
    let (attrs_at, data_at) = (104, 104 + ATTR + 16);
    let mut out = b"PERFILE2".to_vec();
    let features = 1u64 << 1 | u64::from(compressed) << 27;
    let sections = data_at + data.len() as u64;
    let tracing_at = sections + 16 * u64::from(features.count_ones());
    for n in [104, ATTR + 16, attrs_at, ATTR + 16, data_at, data.len() as u64, 0, 0, features, 0, 0, 0] {
        out.extend_from_slice(&n.to_le_bytes());
    }
    out.extend(attr);
    out.extend_from_slice(&[0; 16]);
    out.extend(data);
    let compression = [1u32, 1, 1, 1, 1].map(u32::to_le_bytes).concat();
    out.extend_from_slice(&tracing_at.to_le_bytes());
    out.extend_from_slice(&(tracing.len() as u64).to_le_bytes());
    if compressed {
        out.extend_from_slice(&(tracing_at + tracing.len() as u64).to_le_bytes());
        out.extend_from_slice(&(compression.len() as u64).to_le_bytes());
    }
    out.extend(tracing);
    if compressed {
        out.extend(compression);
    }
    out
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Packets {
    Plain,
    Zlib,
    Zstd,
}

/// As a Perfetto trace.
pub fn perfetto(h: &History, packets: Packets) -> Vec<u8> {
    let mut cpus: BTreeMap<u32, Vec<&Event>> = BTreeMap::new();
    h.events.iter().for_each(|e| cpus.entry(e.cpu).or_default().push(e));
    let mut trace = Vec::new();
    for (cpu, events) in cpus {
        let mut bundle = Vec::new();
        number(&mut bundle, 1, cpu.into());
        for e in events {
            let (mut event, mut body) = (Vec::new(), Vec::new());
            number(&mut event, 1, e.us * 1000);
            number(&mut event, 2, pid(e.on));
            number(&mut event, 5, if e.on.is_none() { 8 } else { 0 });
            let field = match e.did {
                Did::Switch(prev, state, next) => {
                    bytes(&mut body, 1, &h.name(prev, cpu));
                    number(&mut body, 2, pid(prev));
                    number(&mut body, 3, PRIO);
                    number(&mut body, 4, bits(state));
                    bytes(&mut body, 5, &h.name(next, cpu));
                    number(&mut body, 6, pid(next));
                    number(&mut body, 7, PRIO);
                    4
                }
                Did::Waking(t) | Did::New(t) => {
                    bytes(&mut body, 1, &h.names[t]);
                    number(&mut body, 2, pid(Some(t)));
                    number(&mut body, 3, PRIO);
                    number(&mut body, 5, cpu.into());
                    if matches!(e.did, Did::New(_)) { 114 } else { 20 }
                }
                Did::Fork(parent, child) => {
                    bytes(&mut body, 1, &h.names[parent]);
                    number(&mut body, 2, pid(Some(parent)));
                    bytes(&mut body, 3, &h.names[child]);
                    number(&mut body, 4, pid(Some(child)));
                    239
                }
            };
            bytes(&mut event, field, &body);
            bytes(&mut bundle, 2, &event);
        }
        let mut packet = Vec::new();
        bytes(&mut packet, 1, &bundle);
        bytes(&mut trace, 1, &packet);
    }
    let (field, packed) = match packets {
        Packets::Plain => return trace,
        Packets::Zlib => (50, miniz_oxide::deflate::compress_to_vec_zlib(&trace, 6)),
        Packets::Zstd => {
            (133, ruzstd::encoding::compress_to_vec(&trace[..], ruzstd::encoding::CompressionLevel::Fastest))
        }
    };
    let (mut packet, mut outer) = (Vec::new(), Vec::new());
    bytes(&mut packet, field, &packed);
    bytes(&mut outer, 1, &packet);
    outer
}
