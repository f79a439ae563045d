// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `--metrics ADDRESS`: the figures over HTTP, for Prometheus.
//!
//! One thread serves one client at a time, with a deadline for each: a client that holds the connection open can
//! only delay other scrapers for a moment. Clients cannot change anything, and readers do not affect the
//! scheduler.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::metrics::{CONTENT_TYPE, prometheus};
use crate::snapshot::SnapshotSource;

/// A client has this long to send its request, and again to take the answer.
const PATIENCE: Duration = Duration::from_secs(1);
/// Longest request that is read, bytes.
const REQUEST: usize = 8 << 10;

/// Serves the figures until it is dropped.
pub struct Endpoint {
    at: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The address that `--metrics` names: `9100`, `:9100` and `localhost:9100` are this machine alone; another
/// address has to be given in full.
pub fn listen_address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(at) = text.parse() {
        return Ok(at);
    }
    let port = text.strip_prefix("localhost:").or_else(|| text.strip_prefix(':')).unwrap_or(text);
    match port.parse() {
        Ok(port) => Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)),
        Err(_) => Err("write an address and a port: 127.0.0.1:9100, [::1]:9100, or the port alone".into()),
    }
}

impl Endpoint {
    /// Serves what `source` returns at `at`. Port 0 takes a free one.
    pub fn start(at: SocketAddr, source: Arc<dyn SnapshotSource>, version: &str) -> io::Result<Self> {
        let listener = TcpListener::bind(at)?;
        let at = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, version) = (stop.clone(), version.to_owned());
        let serve = move || {
            for client in listener.incoming() {
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                match client {
                    // What goes wrong with a client is the client's.
                    Ok(client) => drop(answer(client, at.ip().is_loopback(), &*source, &version)),
                    // Out of file descriptors, for example: others need the time to return theirs.
                    Err(_) => std::thread::sleep(Duration::from_millis(100)),
                }
            }
        };
        let thread = std::thread::Builder::new().name("metrics".into()).spawn(serve)?;
        Ok(Self { at, stop, thread: Some(thread) })
    }

    /// Where it can be reached.
    pub fn address(&self) -> SocketAddr {
        self.at
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // The thread waits for a client: be one.
        let mut at = self.at;
        if at.ip().is_unspecified() {
            at.set_ip(match at.ip() {
                IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
                IpAddr::V6(_) => IpAddr::V6(std::net::Ipv6Addr::LOCALHOST),
            });
        }
        let woken = TcpStream::connect_timeout(&at, PATIENCE).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| woken) {
            let _ = thread.join();
        }
    }
}

/// One request, one answer.
fn answer(mut client: TcpStream, local: bool, source: &dyn SnapshotSource, version: &str) -> io::Result<()> {
    client.set_write_timeout(Some(PATIENCE))?;
    let head = match request(&mut client)? {
        Some(head) => head,
        None => {
            return send(
                &mut client,
                "431 Request Header Fields Too Large",
                "the request is too long\n",
                true,
            );
        }
    };
    let mut words = head.lines().next().unwrap_or("").split(' ');
    let (method, target) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let body = method != "HEAD";
    if local && !names_this_machine(&head) {
        return send(
            &mut client,
            "421 Misdirected Request",
            "these figures are served to this machine: ask for localhost or 127.0.0.1\n",
            body,
        );
    }
    let path = target.split(['?', '#']).next().unwrap_or("");
    match (method, path) {
        ("GET" | "HEAD", "/metrics") => {
            send(&mut client, "200 OK", &prometheus(&source.snapshot(), version), body)
        }
        ("GET" | "HEAD", _) => send(&mut client, "404 Not Found", "the figures are at /metrics\n", body),
        ("", _) => send(&mut client, "400 Bad Request", "this is HTTP: GET /metrics\n", true),
        _ => send(&mut client, "405 Method Not Allowed", "only GET and HEAD are answered\n", true),
    }
}

/// A page of another site can let its own name mean 127.0.0.1 and read what is served there: the request's host must be one of ours. Clients
/// that name none are no browsers.
fn names_this_machine(head: &str) -> bool {
    let host = head.lines().skip(1).find_map(|l| {
        let (key, value) = l.split_once(':')?;
        key.trim().eq_ignore_ascii_case("host").then_some(value.trim())
    });
    let Some(host) = host else { return true };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.strip_prefix('[').and_then(|n| n.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// The request up to its empty line; `None` where it is too long.
fn request(client: &mut TcpStream) -> io::Result<Option<String>> {
    let deadline = Instant::now() + PATIENCE;
    let mut head = Vec::new();
    let mut part = [0; 1024];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        client.set_read_timeout(Some(left))?;
        let n = client.read(&mut part)?;
        head.extend_from_slice(&part[..n]);
        let ended = head.windows(4).any(|w| w == b"\r\n\r\n") || head.windows(2).any(|w| w == b"\n\n");
        if n == 0 || ended {
            return Ok(Some(String::from_utf8_lossy(&head).into_owned()));
        }
        if head.len() >= REQUEST {
            return Ok(None);
        }
    }
}

fn send(client: &mut TcpStream, status: &str, text: &str, body: bool) -> io::Result<()> {
    let kind = if status.starts_with("200") { CONTENT_TYPE } else { "text/plain; charset=utf-8" };
    let allow = if status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
    let mut answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{allow}Connection: close\r\n\r\n",
        text.len()
    );
    if body {
        answer.push_str(text);
    }
    client.write_all(answer.as_bytes())?;
    client.shutdown(std::net::Shutdown::Write)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Snapshot;

    struct Still;

    impl SnapshotSource for Still {
        fn snapshot(&self) -> Snapshot {
            Snapshot { topology: "decentral".into(), ..Snapshot::default() }
        }
    }

    fn ask(at: SocketAddr, request: &[u8]) -> String {
        let mut client = TcpStream::connect(at).expect("it listens");
        client.write_all(request).expect("it reads");
        let mut answer = Vec::new();
        // What was sent beyond the limit resets the connection after the answer.
        let _ = client.read_to_end(&mut answer);
        String::from_utf8(answer).expect("text")
    }

    #[test]
    fn serves_the_page_and_nothing_else() {
        let endpoint =
            Endpoint::start(listen_address("0").expect("a port"), Arc::new(Still), "0.1.0").expect("free");
        let at = endpoint.address();
        assert!(at.ip().is_loopback());
        let page = ask(at, b"GET /metrics HTTP/1.1\r\nHost: localhost:9100\r\n\r\n");
        let (head, body) = page.split_once("\r\n\r\n").expect("a body");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4"), "{head}");
        assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
        assert!(body.contains("runweir_info{version=\"0.1.0\",topology=\"decentral\"} 1\n"));
        for (request, says) in [
            (&b"HEAD /metrics?x=1 HTTP/1.0\n\n"[..], "HTTP/1.1 200 OK"),
            (b"GET /metrics HTTP/1.1\r\nHost: [::1]:1\r\n\r\n", "HTTP/1.1 200 OK"),
            (b"GET /metrics HTTP/1.1\r\nhost: 127.0.0.1.evil.example\r\n\r\n", "HTTP/1.1 421"),
            (b"GET / HTTP/1.1\r\n\r\n", "404 Not Found"),
            (b"POST /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed"),
            (b"\r\n\r\n", "400 Bad Request"),
            (b"\xff\xfe\x00 nonsense\r\n\r\n", "405 Method Not Allowed"),
            (&[b'a'; 20_000], "431 Request Header"),
        ] {
            let answer = ask(at, request);
            assert!(answer.contains(says), "{answer}");
        }
        assert!(ask(at, b"HEAD /metrics HTTP/1.1\r\n\r\n").ends_with("\r\n\r\n"), "no body");
        drop(endpoint);
        assert!(TcpStream::connect(at).is_err(), "it listens no more");
    }

    #[test]
    fn a_silent_client_is_sent_away() {
        let at = listen_address(":0").expect("a port");
        let endpoint = Endpoint::start(at, Arc::new(Still), "0.1.0").expect("free");
        let silent = TcpStream::connect(endpoint.address()).expect("it listens");
        let page = ask(endpoint.address(), b"GET /metrics HTTP/1.1\r\n\r\n");
        assert!(page.starts_with("HTTP/1.1 200"), "served after the silent one's time was up");
        drop(silent);
    }

    #[test]
    fn only_a_full_address_leaves_the_machine() {
        for text in ["9100", ":9100", "localhost:9100", "127.0.0.1:9100", "[::1]:9100"] {
            let at = listen_address(text).expect(text);
            assert!(at.ip().is_loopback() && at.port() == 9100, "{text}");
        }
        assert_eq!(listen_address("0.0.0.0:80").expect("given").to_string(), "0.0.0.0:80");
        for text in ["", "x", "example.org:9100", "70000", "127.0.0.1", "-1"] {
            assert!(listen_address(text).is_err(), "{text}");
        }
    }
}
