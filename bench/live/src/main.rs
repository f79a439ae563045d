// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Used by `bench/live/run.sh`, in the guest: `fifo OBJECT` attaches the yardstick until a signal ends it, `stats`
//! prints what each BPF program has cost, `wakeup` and `pingpong` are small loads that time themselves.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use libbpf_rs::query::ProgInfoIter;
use libbpf_rs::{MapCore, MapType, ObjectBuilder};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["fifo", object] => fifo(object),
        ["stats"] => {
            stats();
            Ok(())
        }
        ["wakeup", workers, rounds] => wakeup(workers.parse()?, rounds.parse()?),
        ["pingpong", rounds] => pingpong(rounds.parse()?),
        _ => Err("wants: fifo OBJECT | stats | wakeup WORKERS ROUNDS | pingpong ROUNDS".into()),
    }
}

/// Put the scheduler of an object file in charge; a signal ends the program and so the scheduler.
fn fifo(path: &str) -> Result<()> {
    let mut object = ObjectBuilder::default().open_file(path)?.load()?;
    let mut links = Vec::new();
    for mut map in object.maps_mut().filter(|m| m.map_type() == MapType::StructOps) {
        links.push(map.attach_struct_ops()?);
    }
    if links.is_empty() {
        return Err(format!("{path} has no scheduler").into());
    }
    eprintln!("attached");
    loop {
        thread::park();
    }
}

/// A line a BPF program that ran: name, runs, ns. Nothing unless `kernel.bpf_stats_enabled` is 1.
fn stats() {
    for p in ProgInfoIter::default().filter(|p| p.run_cnt > 0) {
        println!("{},{},{}", p.name.to_string_lossy(), p.run_cnt, p.run_time_ns);
    }
}

/// One thread wakes all workers, each computes a little and answers. Prints p50, p95 and p99 of the time from the
/// message to the worker's first instruction, in us.
fn wakeup(workers: usize, rounds: usize) -> Result<()> {
    let (answer, answers) = mpsc::channel();
    let mut doors = Vec::new();
    for _ in 0..workers {
        let (door, messages) = mpsc::channel::<Instant>();
        let answer = answer.clone();
        doors.push(door);
        thread::spawn(move || {
            for sent in messages {
                let late = sent.elapsed();
                for i in 0..20_000u32 {
                    std::hint::black_box(i);
                }
                if answer.send(late).is_err() {
                    return;
                }
            }
        });
    }
    let mut late = Vec::with_capacity(workers * rounds);
    for _ in 0..rounds {
        for door in &doors {
            door.send(Instant::now())?;
        }
        for _ in &doors {
            late.push(answers.recv()?);
        }
        thread::sleep(Duration::from_millis(1));
    }
    late.sort();
    let at = |percent: usize| late[(late.len() * percent / 100).min(late.len() - 1)].as_nanos() / 1000;
    println!("{} {} {}", at(50), at(95), at(99));
    Ok(())
}

/// Two threads pass a byte to and fro; prints ns a pass.
fn pingpong(rounds: u32) -> Result<()> {
    let (mut a, mut b) = UnixStream::pair()?;
    let other = thread::spawn(move || -> std::io::Result<()> {
        let mut byte = [0];
        for _ in 0..rounds {
            b.read_exact(&mut byte)?;
            b.write_all(&byte)?;
        }
        Ok(())
    });
    let start = Instant::now();
    let mut byte = [0];
    for _ in 0..rounds {
        a.write_all(&byte)?;
        a.read_exact(&mut byte)?;
    }
    let each = start.elapsed().as_nanos() / u128::from(rounds) / 2;
    other.join().map_err(|_| "the other thread ended early")??;
    println!("{each}");
    Ok(())
}
