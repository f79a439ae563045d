// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What Rust's standard library makes of threads: channels of all kinds, locks, parking, scopes, sockets, children; and a pool that steals
//! work, spins a little before it sleeps and splits its tasks in two, as rayon's does. Prints the same each time.
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{mpsc, Arc, Barrier, Condvar, Mutex, Once, OnceLock, RwLock};
use std::thread;
use std::time::{Duration, Instant};

type Task = Box<dyn FnOnce(&Arc<Pool>) + Send>;

struct Pool {
    queues: Vec<Mutex<VecDeque<Task>>>,
    sleepers: Mutex<Vec<thread::Thread>>,
    nr_asleep: AtomicUsize,
    ends: AtomicBool,
    stolen: AtomicUsize,
}

thread_local! {
    static WORKER: Cell<usize> = const { Cell::new(usize::MAX) };
    static NOTES: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

impl Pool {
    fn start(workers: usize) -> (Arc<Pool>, Vec<thread::JoinHandle<()>>) {
        let pool = Arc::new(Pool {
            queues: (0..workers).map(|_| Mutex::default()).collect(),
            sleepers: Mutex::default(),
            nr_asleep: AtomicUsize::new(0),
            ends: AtomicBool::new(false),
            stolen: AtomicUsize::new(0),
        });
        let threads = (0..workers)
            .map(|n| {
                let pool = pool.clone();
                thread::Builder::new().name(format!("worker {n}")).spawn(move || pool.work(n)).unwrap()
            })
            .collect();
        (pool, threads)
    }
    fn push(&self, task: Task) {
        let own = WORKER.get();
        let queue = if own < self.queues.len() { own } else { 0 };
        self.queues[queue].lock().unwrap().push_back(task);
        if self.nr_asleep.load(SeqCst) > 0 {
            if let Some(sleeper) = self.sleepers.lock().unwrap().pop() {
                self.nr_asleep.fetch_sub(1, SeqCst);
                sleeper.unpark();
            }
        }
    }
    fn find(&self) -> Option<Task> {
        let own = WORKER.get();
        let n = self.queues.len();
        if own < n {
            if let Some(task) = self.queues[own].lock().unwrap().pop_back() {
                return Some(task);
            }
        }
        for i in 0..n {
            let from = (own.wrapping_add(1) + i) % n;
            if let Some(task) = self.queues[from].lock().unwrap().pop_front() {
                self.stolen.fetch_add(1, SeqCst);
                return Some(task);
            }
        }
        None
    }
    fn work(self: Arc<Self>, n: usize) {
        WORKER.set(n);
        let mut idle = 0;
        while !self.ends.load(SeqCst) {
            if let Some(task) = self.find() {
                task(&self);
                idle = 0;
            } else if idle < 32 {
                idle += 1;
                thread::yield_now();
            } else {
                self.sleepers.lock().unwrap().push(thread::current());
                self.nr_asleep.fetch_add(1, SeqCst);
                thread::park_timeout(Duration::from_millis(20));
                let id = thread::current().id();
                let mut all = self.sleepers.lock().unwrap();
                if let Some(at) = all.iter().position(|t| t.id() == id) {
                    all.remove(at);
                    self.nr_asleep.fetch_sub(1, SeqCst);
                }
                idle = 0;
            }
        }
    }
    /// Both, the second one by whoever is free; a waiting worker does other work meanwhile, and spins.
    fn join<A: Send + 'static>(self: &Arc<Self>, a: impl FnOnce(&Arc<Pool>) -> A, b: impl FnOnce(&Arc<Pool>) -> A + Send + 'static) -> (A, A) {
        let place = Arc::new(Mutex::new(None));
        let done = Arc::new(AtomicBool::new(false));
        let (place2, done2) = (place.clone(), done.clone());
        self.push(Box::new(move |pool| {
            *place2.lock().unwrap() = Some(b(pool));
            done2.store(true, SeqCst);
        }));
        let first = a(self);
        while !done.load(SeqCst) {
            match self.find() {
                Some(task) => task(self),
                None => thread::yield_now(),
            }
        }
        let second = place.lock().unwrap().take().unwrap();
        (first, second)
    }
}

fn sum(pool: &Arc<Pool>, from: u64, to: u64) -> u64 {
    if to - from < 2_000 {
        return (from..to).map(|n| n.wrapping_mul(0x9E37_79B9) % 7).sum();
    }
    let half = from + (to - from) / 2;
    let (a, b) = pool.join(move |pool| sum(pool, from, half), move |pool| sum(pool, half, to));
    a + b
}

fn pool() {
    let (pool, threads) = Pool::start(4);
    let total = AtomicU64::new(0);
    for round in 0..5 {
        total.fetch_add(sum(&pool, round * 1_000, 200_000 + round), SeqCst);
        thread::sleep(Duration::from_millis(2));
    }
    pool.ends.store(true, SeqCst);
    for t in &threads {
        t.thread().unpark();
    }
    threads.into_iter().for_each(|t| t.join().unwrap());
    println!("pool {}", total.load(SeqCst));
}

fn channels() {
    let (send, receive) = mpsc::channel();
    let (slow, slowly) = mpsc::sync_channel(2);
    let (meet, met) = mpsc::sync_channel::<u64>(0);
    let mut total = 0;
    thread::scope(|s| {
        for n in 0..6u64 {
            let (send, slow, meet) = (send.clone(), slow.clone(), meet.clone());
            s.spawn(move || {
                for i in 0..100 {
                    send.send(n * i).unwrap();
                    slow.send(n + i).unwrap();
                    if i % 10 == 0 {
                        meet.send(i).unwrap();
                    }
                }
            });
        }
        drop((slow, meet));
        let a = s.spawn(move || slowly.iter().sum::<u64>());
        let b = s.spawn(move || met.iter().sum::<u64>());
        total = a.join().unwrap() * 1_000_000 + b.join().unwrap();
    });
    drop(send);
    let (never, timed) = mpsc::channel::<()>();
    let from = Instant::now();
    let out = timed.recv_timeout(Duration::from_millis(15)) == Err(mpsc::RecvTimeoutError::Timeout);
    drop(never);
    println!("channels {} {total} {out} {}", receive.iter().sum::<u64>(), from.elapsed() >= Duration::from_millis(15));
}

fn locks() {
    static ONCE: Once = Once::new();
    static CELL: OnceLock<u64> = OnceLock::new();
    let state = Arc::new((Mutex::new(0u64), Condvar::new(), RwLock::new(vec![0u64; 8]), Barrier::new(5)));
    let nr_leaders = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..5u64)
        .map(|n| {
            let (state, nr_leaders) = (state.clone(), nr_leaders.clone());
            thread::spawn(move || {
                ONCE.call_once(|| thread::sleep(Duration::from_millis(3)));
                CELL.get_or_init(|| {
                    thread::sleep(Duration::from_millis(3));
                    40
                });
                for round in 0..20u64 {
                    state.2.write().unwrap()[n as usize] += round;
                    NOTES.with_borrow_mut(|notes| notes.push(state.2.read().unwrap().iter().sum()));
                    nr_leaders.fetch_add(state.3.wait().is_leader() as usize, SeqCst);
                    // In turn, one after the other.
                    let mut turn = state.0.lock().unwrap();
                    while *turn != round * 5 + n {
                        turn = state.1.wait_timeout(turn, Duration::from_secs(20)).unwrap().0;
                    }
                    *turn += 1;
                    state.1.notify_all();
                }
                NOTES.with_borrow(|notes| notes.len() as u64)
            })
        })
        .collect();
    let notes: u64 = threads.into_iter().map(|t| t.join().unwrap()).sum();
    let whole: u64 = state.2.read().unwrap().iter().sum();
    println!("locks {notes} {whole} {} {} {:?}", *state.0.lock().unwrap(), nr_leaders.load(SeqCst), CELL.get());
}

fn panics() {
    std::panic::set_hook(Box::new(|_| {}));
    let poisoned = Arc::new(Mutex::new(1));
    let other = poisoned.clone();
    let ended = thread::spawn(move || {
        let _held = other.lock().unwrap();
        panic!("on purpose");
    })
    .join();
    let _ = std::panic::take_hook();
    println!("panics {} {}", ended.is_err(), poisoned.is_poisoned());
}

fn sockets() {
    let door = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = door.local_addr().unwrap();
    let echo = thread::spawn(move || {
        for stream in door.incoming().take(4) {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                let mut word = [0; 8];
                while stream.read_exact(&mut word).is_ok() {
                    stream.write_all(&word).unwrap();
                }
            });
        }
    });
    let clients: Vec<_> = (0..4u64)
        .map(|n| {
            thread::spawn(move || {
                let mut stream = std::net::TcpStream::connect(at).unwrap();
                stream.set_nodelay(true).unwrap();
                (0..100u64)
                    .map(|i| {
                        let mut word = (n * i).to_le_bytes();
                        stream.write_all(&word).unwrap();
                        stream.read_exact(&mut word).unwrap();
                        u64::from_le_bytes(word)
                    })
                    .sum::<u64>()
            })
        })
        .collect();
    let total: u64 = clients.into_iter().map(|t| t.join().unwrap()).sum();
    echo.join().unwrap();
    println!("sockets {total}");
}

fn children() {
    let threads: Vec<_> = (0..3)
        .map(|n| {
            thread::spawn(move || {
                let out = std::process::Command::new("sh").args(["-c", &format!("sleep 0.01; echo child {n}; exit {n}")]).output().unwrap();
                (String::from_utf8(out.stdout).unwrap(), out.status.code())
            })
        })
        .collect();
    for t in threads {
        let (text, status) = t.join().unwrap();
        println!("{} {status:?}", text.trim());
    }
}

fn main() {
    pool();
    channels();
    locks();
    panics();
    sockets();
    children();
    // More threads than CPUs, small stacks; main leaves them and ends.
    let many: Vec<_> = (0..200u64).map(|n| thread::Builder::new().stack_size(64 << 10).spawn(move || n).unwrap()).collect();
    println!("many {} {}", many.into_iter().map(|t| t.join().unwrap()).sum::<u64>(), thread::available_parallelism().is_ok());
    thread::spawn(|| loop {
        thread::park();
    });
    std::process::exit(9);
}
