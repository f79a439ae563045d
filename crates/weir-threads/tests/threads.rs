// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Threads under a policy from Rust. There is one runtime in a process, so the tests take turns.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use weir_threads::sync::{Barrier, Condvar, Mutex, Semaphore, channel};
use weir_threads::{
    Builder, Listener, Options, Plan, Runtime, Stream, blocking, current, foreign, now, park, spawn,
    yield_now,
};

const PRIORITY: &str = "annotate priority;\nentry -> priority_order -> cpus;\n";
const ROUND_ROBIN: &str = "entry -> round_robin(slice = 1ms) -> cpus;\n";

/// One test at a time.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn plan(text: &str, cpus: u32) -> Plan {
    Plan::compile("test.weir", text, cpus).expect("it is right")
}

fn open(text: &str, cpus: u32) -> Runtime {
    let options = Options { oversubscribe: true, ..Options::default() };
    Runtime::open_with(&plan(text, cpus), options).expect("it opens")
}

fn closed(runtime: Runtime) {
    assert!(runtime.check());
    runtime.close().map_err(|(_, e)| e).expect("no thread is left");
}

#[test]
fn results_and_panics_come_back() {
    let _turn = turn();
    let runtime = open(ROUND_ROBIN, 2);
    let sums: Vec<_> = (0..20u64).map(|i| spawn(move || (0..i).sum::<u64>()).expect("made")).collect();
    for (i, handle) in (0u64..).zip(sums) {
        assert_eq!(handle.join().expect("no panic"), i * i.saturating_sub(1) / 2);
    }
    let panics = spawn(|| std::panic::resume_unwind(Box::new("by intention"))).expect("made");
    let what: Box<dyn std::any::Any + Send> = panics.join().map(|()| "nothing").expect_err("it panics");
    assert_eq!(what.downcast_ref::<&str>(), Some(&"by intention"));
    // Dropped, a handle lets its thread end by itself.
    let done = Arc::new(AtomicBool::new(false));
    let theirs = Arc::clone(&done);
    drop(spawn(move || theirs.store(true, Ordering::Release)).expect("made"));
    while !done.load(Ordering::Acquire) || runtime.stats().threads > 0 {
        std::thread::yield_now();
    }
    assert_eq!(runtime.stats().created, 22);
    closed(runtime);
}

/// Threads that this one has made, by their name, and that sleep.
fn asleep() -> usize {
    let stat = |path: std::path::PathBuf| std::fs::read_to_string(path.join("stat")).unwrap_or_default();
    let name =
        |stat: &str| stat.split_once('(').and_then(|(_, s)| s.rsplit_once(')')).map(|(n, _)| n.to_string());
    let ours = name(&stat("/proc/thread-self".into()));
    let threads = std::fs::read_dir("/proc/self/task").expect("Linux has it").flatten();
    let of_ours = threads.map(|t| stat(t.path())).filter(|s| name(s) == ours);
    of_ours.filter(|s| s.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('S'))).count()
}

/// On one CPU the order in which threads run is the policy's.
#[test]
fn the_policy_chooses() {
    let _turn = turn();
    let runtime = open(PRIORITY, 1);
    let order = Arc::new(Mutex::new(Vec::new()));
    let adopted = runtime.adopt(&Builder::new().priority(100)).expect("not yet one");
    let before = asleep();
    let threads: Vec<_> = [3, 9, 1, 7]
        .map(|priority| {
            let order = Arc::clone(&order);
            let run = move || order.lock().push(priority);
            Builder::new().priority(priority).spawn(run).expect("made")
        })
        .into_iter()
        .collect();
    // A thread enters the policy once Linux has started it, and then waits for the CPU.
    while asleep() < before + 4 {
        std::thread::yield_now();
    }
    // This thread is more urgent than all of them, so none has run.
    assert!(order.lock().is_empty());
    current(|me| me.describe(&Builder::new().priority(0))).expect("it is one").expect("in range");
    for t in threads {
        t.join().expect("no panic");
    }
    assert_eq!(*order.lock(), [9, 7, 3, 1]);
    drop(adopted);
    assert!(current(|_| ()).is_none());
    closed(runtime);
}

#[test]
fn another_policy_takes_over_under_load() {
    let _turn = turn();
    let runtime = open(PRIORITY, 2);
    let ended = Arc::new(AtomicBool::new(false));
    let rounds = Arc::new(AtomicU64::new(0));
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let (ended, rounds) = (Arc::clone(&ended), Arc::clone(&rounds));
            spawn(move || {
                while !ended.load(Ordering::Relaxed) {
                    rounds.fetch_add(1, Ordering::Relaxed);
                    yield_now();
                }
            })
            .expect("made")
        })
        .collect();
    for i in 0..20 {
        let text = if i % 2 == 0 { ROUND_ROBIN } else { PRIORITY };
        let before = rounds.load(Ordering::Relaxed);
        let swapped = runtime.swap(&plan(text, 2)).expect("it fits");
        assert!(swapped.represented <= 8 && swapped.pause_ns > 0);
        while rounds.load(Ordering::Relaxed) < before + 100 {
            std::thread::yield_now();
        }
    }
    assert!(runtime.swap(&Plan::from_bytes(vec![1, 2, 3])).is_err());
    ended.store(true, Ordering::Relaxed);
    for t in threads {
        t.join().expect("no panic");
    }
    assert_eq!(runtime.stats().swaps, 20);
    closed(runtime);
}

#[test]
fn threads_wait_for_each_other() {
    let _turn = turn();
    let runtime = open(ROUND_ROBIN, 2);
    let counter = Arc::new((Mutex::new(0u64), Condvar::new()));
    let barrier = Arc::new(Barrier::new(4));
    let semaphore = Arc::new(Semaphore::new(2));
    let inside = Arc::new(AtomicU64::new(0));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (counter, barrier) = (Arc::clone(&counter), Arc::clone(&barrier));
            let (semaphore, inside) = (Arc::clone(&semaphore), Arc::clone(&inside));
            spawn(move || {
                let mut first = 0;
                for _ in 0..50 {
                    first += u64::from(barrier.wait());
                    semaphore.wait();
                    assert!(inside.fetch_add(1, Ordering::SeqCst) < 2);
                    yield_now();
                    inside.fetch_sub(1, Ordering::SeqCst);
                    semaphore.post();
                    *counter.0.lock() += 1;
                    counter.1.notify_all();
                }
                first
            })
            .expect("made")
        })
        .collect();
    // This thread is not the runtime's and waits all the same.
    let mut count = counter.0.lock();
    while *count < 200 {
        count = counter.1.wait(count);
    }
    drop(count);
    assert_eq!(threads.into_iter().map(|t| t.join().expect("no panic")).sum::<u64>(), 50);
    // The last to count notifies after it has counted: only now is there nobody left who could.
    let (count, notified) = counter.1.wait_until(counter.0.lock(), now() + Duration::from_millis(1));
    assert!(*count == 200 && !notified);
    drop(count);
    closed(runtime);
}

#[test]
fn values_go_through_channels_once() {
    let _turn = turn();
    let runtime = open(ROUND_ROBIN, 2);
    let alive = Arc::new(());
    for capacity in [0, 1, 7] {
        let (to, from) = channel::<(u64, Arc<()>)>(capacity).expect("there is memory");
        let producers: Vec<_> = (0..3)
            .map(|p| {
                let (to, alive) = (to.clone(), Arc::clone(&alive));
                spawn(move || {
                    (0..200).for_each(|i| to.send((p * 1000 + i, Arc::clone(&alive))).expect("open"))
                })
                .expect("made")
            })
            .collect();
        drop(to);
        let consumers: Vec<_> = (0..2)
            .map(|_| from.clone())
            .map(|from| spawn(move || from.map(|(n, _)| n).collect::<Vec<_>>()).expect("made"))
            .collect();
        drop(from);
        for p in producers {
            p.join().expect("no panic");
        }
        let mut all: Vec<u64> = consumers.into_iter().flat_map(|c| c.join().expect("no panic")).collect();
        all.sort_unstable();
        let sent: Vec<u64> = (0..3).flat_map(|p| (0..200).map(move |i| p * 1000 + i)).collect();
        assert_eq!(all, sent);
    }
    // What nobody fetched is dropped with the channel, and what cannot be sent comes back.
    let (to, from) = channel::<Arc<()>>(4).expect("there is memory");
    to.send(Arc::clone(&alive)).expect("room");
    from.close();
    assert!(to.send(Arc::clone(&alive)).is_err());
    drop((to, from));
    assert_eq!(Arc::strong_count(&alive), 1);
    closed(runtime);
}

#[test]
fn a_thread_that_waits_gives_its_cpu_up() {
    let _turn = turn();
    let runtime = open(ROUND_ROBIN, 1);
    let door = Listener::bind("127.0.0.1:0").expect("a port");
    let at = door.as_std().local_addr().expect("bound");
    // All on one CPU: a server that waits, a client that waits, one that sleeps in a call of the standard library.
    let server = spawn(move || {
        let mut stream = door.accept().expect("a client");
        let mut text = [0; 5];
        stream.read_exact(&mut text).expect("a question");
        stream.write_all(&text).expect("an answer");
        text
    })
    .expect("made");
    let client = spawn(move || {
        let mut stream = Stream::from(blocking(|| std::net::TcpStream::connect(at)).expect("a server"));
        assert!(!stream.readable_until(now() + Duration::from_millis(2)).expect("open"));
        stream.write_all(b"hello").expect("sent");
        let mut text = [0; 5];
        stream.read_exact(&mut text).expect("an answer");
        text
    })
    .expect("made");
    let sleeper = spawn(|| blocking(|| std::thread::sleep(Duration::from_millis(20)))).expect("made");
    let parked = spawn(park).expect("made");
    parked.thread().unpark();
    assert_eq!(client.join().expect("no panic"), *b"hello");
    assert_eq!(server.join().expect("no panic"), *b"hello");
    sleeper.join().expect("no panic");
    parked.join().expect("no panic");
    assert!(runtime.stats().blocks > 0);
    closed(runtime);
}

/// What `runweir top --pid` shows, unless the program wants to be left alone.
#[test]
fn others_may_look_unless_it_is_private() {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixStream};

    let _turn = turn();
    let at =
        SocketAddr::from_abstract_name(format!("runweir-threads-{}", std::process::id())).expect("short");
    let runtime = open(PRIORITY, 1);
    let waits = spawn(park).expect("made");
    let mut stream = UnixStream::connect_addr(&at).expect("it listens");
    stream.write_all(b"{\"verb\":\"status\"}\n").expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("{\"ok\":true,") && answer.contains("\"topology\":\"test\""), "{answer}");
    assert!(answer.contains("\"component\":\"priority_order\""), "{answer}");
    waits.thread().unpark();
    waits.join().expect("no panic");
    closed(runtime);
    let options = Options { oversubscribe: true, private: true, ..Options::default() };
    let runtime = Runtime::open_with(&plan(PRIORITY, 1), options).expect("it opens");
    assert!(UnixStream::connect_addr(&at).is_err(), "nobody listens");
    closed(runtime);
}

const ACCELERATOR: &str = "annotate affinity, isa, lamport, tcb;\nentry -> split :: isa_demux;\n\
    split[native] -> load_balancer -> each cpu in native { head_queue -> cpu };\nsplit[accel] -> fcfs -> cpus in accel;\n";

/// A thread beside the runtime is the accelerator: it does what threads hand to its instruction set, and they go on with the result.
#[test]
fn a_thread_of_the_program_is_a_foreign_cpu() {
    let _turn = turn();
    let plan = Plan::compile_with("test.weir", ACCELERATOR, 2, &[("accel", 1)]).expect("it is right");
    let options = Options { oversubscribe: true, ..Options::default() };
    let runtime = Runtime::open_with(&plan, options).expect("it opens");
    let isas: Vec<_> = (0..4).map(|c| foreign::instruction_set(c).ok()).collect();
    assert_eq!(isas, [Some(0), Some(0), Some(1), None]);
    assert!(foreign::Server::new(0).is_err() && foreign::cancel(2).is_err());
    assert!(foreign::run_on(1, || ()).is_err(), "this is no thread of the runtime");
    let accelerator = std::thread::spawn(|| {
        let mut server = foreign::Server::new(2).expect("nobody else serves it");
        let mut done = 0;
        while server.serve(Duration::from_secs(60)).expect("work of this instruction set") {
            done += 1;
        }
        done
    });
    let threads: Vec<_> = (0..4u64)
        .map(|i| {
            let work = move || {
                let here = std::thread::current().id();
                // It borrows from the thread that waits, and is done by another one.
                (0..50u64)
                    .map(|k| {
                        foreign::run_on(1, || (k * i, std::thread::current().id() == here)).expect("done")
                    })
                    .map(|(product, same)| if same { u64::MAX / 64 } else { product })
                    .sum::<u64>()
            };
            spawn(work).expect("made")
        })
        .collect();
    for (i, handle) in (0u64..).zip(threads) {
        assert_eq!(handle.join().expect("no panic"), i * 50 * 49 / 2);
    }
    let panics = spawn(|| foreign::run_on(1, || std::panic::resume_unwind(Box::new("there"))).map(|()| 0));
    assert!(panics.expect("made").join().is_err(), "it is the thread's panic");
    let refused = spawn(|| foreign::run_on(7, || ()).is_err()).expect("made");
    assert!(refused.join().expect("no panic"), "no CPU has it");
    foreign::cancel(2).expect("it is served");
    assert_eq!(accelerator.join().expect("no panic"), 201);
    closed(runtime);
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let _turn = turn();
    assert!(spawn(|| ()).is_err(), "no runtime is open");
    let wrong = Plan::compile("x.weir", "entry -> round_robbin -> cpus;", 1).expect_err("no such component");
    assert!(wrong.message.contains("x.weir") && wrong.message.contains("round_robin"), "{wrong}");
    assert!(Plan::from_file("none.plan").expect_err("no file").message.contains("none.plan"));
    assert!(!Runtime::open(&Plan::from_bytes(vec![0; 64])).expect_err("no plan").message.is_empty());
    let runtime = open(ROUND_ROBIN, 1);
    assert!(Runtime::open(&plan(ROUND_ROBIN, 1)).expect_err("one at a time").message.contains("already"));
    let waits = spawn(park).expect("made");
    let (runtime, busy) = runtime.close().expect_err("a thread is alive");
    assert_eq!(busy.number, Some(libc::EBUSY));
    waits.thread().unpark();
    waits.join().expect("no panic");
    closed(runtime);
}

/// This program again is the process that has the policy, until its input ends.
#[test]
fn threads_run_under_the_policy_of_another_process() {
    const NAME: &str = "WEIR_THREADS_TEST_SERVES";
    let _turn = turn();
    if let Some(name) = std::env::var_os(NAME) {
        let serve = Some(name.into_string().expect("a name"));
        let options = Options { oversubscribe: true, serve, ..Options::default() };
        let runtime = Runtime::open_with(&plan(PRIORITY, 2), options).expect("it opens");
        eprintln!("serves");
        std::io::stdin().read_to_end(&mut Vec::new()).expect("it ends");
        closed(runtime);
        return;
    }
    let name = format!("rust-{}", std::process::id());
    let nobody = Runtime::join(&name).expect_err("nobody is there");
    assert!(nobody.to_string().contains("no process serves"), "{nobody}");
    let mut server = Command::new(std::env::current_exe().expect("a path"))
        .args(["--exact", "threads::threads_run_under_the_policy_of_another_process", "--nocapture"])
        .env(NAME, &name)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut says = BufReader::new(server.stderr.take().expect("piped"));
    let mut line = String::new();
    while line.trim() != "serves" {
        line.clear();
        assert!(says.read_line(&mut line).expect("text") > 0, "it did not start");
    }
    let runtime = Runtime::join(&name).expect("it is there");
    let total = Arc::new(Mutex::new(0u64));
    let threads: Vec<_> = (0..6)
        .map(|i| {
            let total = Arc::clone(&total);
            Builder::new()
                .priority(i)
                .spawn(move || {
                    for _ in 0..100 {
                        *total.lock() += 1;
                        yield_now();
                    }
                })
                .expect("made")
        })
        .collect();
    for t in threads {
        t.join().expect("no panic");
    }
    assert_eq!(*total.lock(), 600);
    let swapped = runtime.swap(&plan(ROUND_ROBIN, 2)).expect("it fits");
    assert!(swapped.built > 0);
    let wrong = runtime.swap(&plan(ROUND_ROBIN, 1)).expect_err("another number of CPUs");
    assert!(wrong.to_string().contains("number of CPUs"), "{wrong}");
    closed(runtime);
    drop(server.stdin.take());
    assert!(server.wait().expect("it ends").success());
}
