// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A web server with two classes of requests: /fast/N is more urgent than /slow/N; each computes for N microseconds and answers. A
//! thread a connection; which one runs first is the policy's business. `cargo run -p weir-threads --example server -- [PORT]`

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use weir_threads::{Builder, Listener, Plan, Runtime, Stream, current};

const POLICY: &str = "annotate priority;\nentry -> priority_order -> cpus;\n";

/// Of those who read and write, and of urgent requests; of the others.
const URGENT: i64 = 10;
const USUAL: i64 = 1;

fn priority(of: i64) {
    current(|me| me.describe(&Builder::new().priority(of)));
}

fn serve(mut stream: Stream) {
    let mut text = [0; 2048];
    while let Ok(n @ 1..) = stream.read(&mut text) {
        let request = String::from_utf8_lossy(&text[..n]);
        let mut path = request.split_whitespace().nth(1).unwrap_or("/").split('/').skip(1);
        let (class, us) =
            (path.next().unwrap_or(""), path.next().and_then(|us| us.parse().ok()).unwrap_or(0));
        priority(if class == "fast" { URGENT } else { USUAL });
        let until = Instant::now() + Duration::from_micros(us);
        while Instant::now() < until {}
        priority(URGENT);
        if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n").is_err() {
            break;
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port = std::env::args().nth(1).map_or(Ok(8080), |p| p.parse())?;
    let cpus = std::thread::available_parallelism()?.get() as u32;
    let runtime = Runtime::open(&Plan::compile("server.weir", POLICY, cpus)?)?;
    let door = Listener::bind(("127.0.0.1", port))?;
    println!("http://{} under {}", door.as_std().local_addr()?, runtime.policy());
    loop {
        let stream = door.accept()?;
        Builder::new().priority(URGENT).spawn(|| serve(stream))?;
    }
}
