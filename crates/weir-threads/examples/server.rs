// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A web server with two classes of requests: /fast/N is more urgent than /slow/N; each computes for N microseconds and answers. A
//! thread a connection; which one runs first is the policy's business. `cargo run -p weir-threads --example server -- [PORT]`

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use httparse::Status;
use weir_threads::{Builder, Listener, Plan, Runtime, Stream, current};

const POLICY: &str = "annotate priority;\nentry -> priority_order -> cpus;\n";

/// Of those who read and write, and of urgent requests; of the others.
const URGENT: i64 = 10;
const USUAL: i64 = 1;

fn priority(of: i64) {
    current(|me| me.describe(&Builder::new().priority(of)));
}

/// The next request's path, and what it takes of `text`; nothing if it has not all come yet.
fn request(text: &[u8]) -> httparse::Result<(String, usize)> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut headers);
    Ok(match request.parse(text)? {
        Status::Complete(bytes) => Status::Complete((request.path.unwrap_or("/").to_owned(), bytes)),
        Status::Partial => Status::Partial,
    })
}

fn answer(stream: &mut Stream, path: &str) -> std::io::Result<()> {
    let mut parts = path.split('/').skip(1);
    let urgent = parts.next() == Some("fast");
    let us = parts.next().and_then(|us| us.parse().ok()).unwrap_or(0);
    priority(if urgent { URGENT } else { USUAL });
    let until = Instant::now() + Duration::from_micros(us);
    while Instant::now() < until {}
    priority(URGENT);
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n")
}

fn serve(mut stream: Stream) {
    let mut text = Vec::new();
    let mut more = [0; 2048];
    loop {
        let done = match request(&text) {
            Ok(Status::Complete((path, bytes))) => {
                text.drain(..bytes);
                answer(&mut stream, &path)
            }
            Ok(Status::Partial) => match stream.read(&mut more) {
                Ok(n @ 1..) => {
                    text.extend_from_slice(&more[..n]);
                    Ok(())
                }
                _ => return,
            },
            Err(_) => {
                let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
                return;
            }
        };
        if done.is_err() {
            return;
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
