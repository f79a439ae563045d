// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Requests that nobody would send, at the control socket of a scheduler under load.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weir_core::Topic;
use weir_linux::client;
use weir_linux::protocol::{Answer, MAX_REQUEST, Request};

use crate::{Outcome, socket, spread, status};

/// xorshift64*: the same requests for the same seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 16) as usize % n.max(1)
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// Numbers that programs stumble over, now and then any.
    fn odd(&mut self) -> u64 {
        let any = self.next();
        *self.pick(&[0, 1, 2, 7, 63, 64, 4095, 4096, u64::from(u32::MAX), 1 << 32, 1 << 63, u64::MAX, any])
    }

    /// Change, drop or repeat some bytes.
    fn damage(&mut self, text: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            let at = self.below(text.len());
            match self.below(4) {
                0 if !text.is_empty() => text[at] = self.next() as u8,
                1 if !text.is_empty() => drop(text.remove(at)),
                2 => text.truncate(at),
                _ => {
                    let piece: Vec<u8> = text.iter().skip(at).take(self.below(20)).copied().collect();
                    text.splice(at..at, piece);
                }
            }
        }
        text.retain(|b| *b != b'\n');
    }
}

/// Parts that a random topology is made of.
const WORDS: &[&str] = &[
    "entry",
    "->",
    "~>",
    "cpus",
    "cpu",
    "cpu 0",
    "cpu 9",
    "each",
    "{",
    "}",
    "[",
    "]",
    ";",
    "fifo",
    "round_robin",
    "load_balancer",
    "lb ::",
    "head_queue",
    "(slice = 3ms)",
    "(slice = -1)",
    "annotate affinity",
    "isa_demux",
    "merge",
    "all",
    "leave cpu 0",
    "topology x",
    "in",
    "in native",
    "part of 2",
    "priority_order",
    "burn",
    "9",
];

fn topology(r: &mut Random, present: &str) -> String {
    if r.below(2) == 0 {
        let mut text = present.as_bytes().to_vec();
        r.damage(&mut text);
        return String::from_utf8_lossy(&text).into_owned();
    }
    (0..r.below(40)).map(|_| *r.pick(WORDS)).collect::<Vec<_>>().join(" ")
}

/// Any line but one that asks to stop. `present` is the source of the topology in charge.
fn line(r: &mut Random, present: &str, instances: &[String]) -> Vec<u8> {
    let topics: Vec<&str> = Topic::all().map(Topic::name).collect();
    let name = if r.below(3) == 0 { "nobody".to_owned() } else { r.pick(instances).clone() };
    let pid = r.below(400);
    let wish: Value = match r.below(8) {
        0 => return (0..r.below(300)).map(|_| r.next() as u8).filter(|b| *b != b'\n').collect(),
        1 => return "[".repeat(r.below(100_000)).into_bytes(),
        2 => json!({"verb": r.pick(&["status", "", "Stop", "halt", "switch"]), "x": r.odd()}),
        3 | 4 => {
            let mut wish =
                json!({"verb": "notify", "topic": r.pick(&topics), "value": r.odd(), "value2": r.odd()});
            if r.below(2) == 0 {
                wish["cpu"] = json!(r.odd());
            }
            if r.below(2) == 0 {
                wish["task"] = json!(pid);
            }
            wish
        }
        5 => json!({"verb": "replace", "instance": name,
            "component": r.pick(&["fifo", "round_robin", "lcfs", "load_balancer", "burn", "nothing"]),
            "params": {"slice": r.pick(&["1ms", "0", "-1s", "9999999h", "x"])}}),
        _ => json!({"verb": "switch", "topology": "t.weir", "source": topology(r, present),
            "dry_run": r.below(2) == 0}),
    };
    let mut line = wish.to_string().into_bytes();
    if r.below(4) == 0 {
        r.damage(&mut line);
    }
    // The only request that would end the test; damage does not make one, but let nobody wonder. To an empty one there is
    // no answer but silence.
    let avoided = line.trim_ascii().is_empty() || String::from_utf8_lossy(&line).contains("stop");
    if avoided { b"{}".to_vec() } else { line }
}

/// Send a line; whether it was carried out, refused, or left without an answer.
fn ask(line: &[u8]) -> Result<Option<Answer>, String> {
    let mut stream = UnixStream::connect(socket()).map_err(|e| format!("connect: {e}"))?;
    stream.set_read_timeout(Some(Duration::from_secs(20))).map_err(|e| e.to_string())?;
    // One that is too long is let go before we are through.
    let _ = stream.write_all(line).and_then(|()| stream.write_all(b"\n"));
    let mut answer = String::new();
    match BufReader::new(stream).read_line(&mut answer) {
        Ok(0) => Ok(None),
        Ok(_) => serde_json::from_str(&answer).map(Some).map_err(|e| format!("answer {answer:?}: {e}")),
        Err(e) if e.kind() == std::io::ErrorKind::ConnectionReset => Ok(None),
        Err(e) => {
            Err(format!("no answer to {:?}: {e}", String::from_utf8_lossy(&line[..line.len().min(200)])))
        }
    }
}

pub fn run(seed: u64, n: u64) -> Outcome {
    let mut r = Random(seed | 1);
    let start = status()?;
    let instances: Vec<String> = start.instances.iter().map(|i| i.name.clone()).collect();
    let home =
        json!({"verb": "switch", "topology": format!("{}.weir", start.topology), "source": start.source});
    let home = home.to_string().into_bytes();
    // Clients that connect and say nothing, or half a word, hold nobody up.
    let mut idle: Vec<UnixStream> = (0..8).filter_map(|_| UnixStream::connect(socket()).ok()).collect();
    for stream in idle.iter_mut().step_by(2) {
        let _ = stream.write_all(b"{\"verb\":");
    }
    let (mut done, mut refused, mut mute) = (0u64, 0u64, 0u64);
    let mut took = Vec::new();
    for turn in 0..n {
        let line = line(&mut r, &start.source, &instances);
        let shown = || String::from_utf8_lossy(&line[..line.len().min(300)]).into_owned();
        let began = Instant::now();
        let answer = ask(&line).map_err(|e| format!("request {turn}: {e}"))?;
        took.push(began.elapsed().as_nanos() as u64);
        match answer {
            Some(a) if a.ok => {
                done += 1;
                // Where it was a topology, it may serve nobody: not for long.
                if let Ok(Request::Switch(_) | Request::Replace(_)) = serde_json::from_slice(&line) {
                    let back = ask(&home).map_err(|e| format!("after {}: {e}", shown()))?;
                    if !back.as_ref().is_some_and(|a| a.ok) {
                        return Err(format!("no way back from {}: {back:?}", shown()));
                    }
                }
            }
            Some(a) => {
                refused += 1;
                let e = a.error.ok_or("a refusal without a reason")?;
                if e.message.is_empty() && e.findings.is_empty() || e.kind == "internal" {
                    return Err(format!("request {turn}: {}: {:?}", shown(), e));
                }
            }
            None => mute += 1,
        }
    }
    drop(idle);
    let too_long = ask(&vec![b' '; MAX_REQUEST + 1000])?;
    println!("{n} requests: {done} carried out, {refused} refused, {mute} without an answer");
    println!("each took, ms: {}", spread(&mut took, 1_000_000));
    println!("one too long: {}", too_long.and_then(|a| a.error).map_or("hung up".into(), |e| e.message));
    // Messages to components may have changed what they keep: a graph rebuilt has none of it.
    ask(&home)?;
    let s = client::status(&socket()).map_err(|e| e.to_string())?;
    if s.attached { Ok(()) } else { Err("it is not attached any more".into()) }
}
