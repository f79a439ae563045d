// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What systemd hears of a service (sd_notify(3)): that it is ready, that it lives, that it ends. The protocol is a datagram
//! of a line, for which no library is needed.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::{Duration, Instant};

/// The manager that started this process, if one did.
pub struct Manager {
    socket: Option<(UnixDatagram, SocketAddr)>,
    /// How often it wants to hear.
    every: Option<Duration>,
    last: Instant,
}

impl Manager {
    /// From the environment: `NOTIFY_SOCKET`, `WATCHDOG_USEC`.
    pub fn find() -> Self {
        let address = std::env::var("NOTIFY_SOCKET").ok().and_then(|path| match path.strip_prefix('@') {
            Some(name) => SocketAddr::from_abstract_name(name).ok(),
            None => SocketAddr::from_pathname(&path).ok(),
        });
        let socket = address.and_then(|a| Some((UnixDatagram::unbound().ok()?, a)));
        let usec = std::env::var("WATCHDOG_USEC").ok().and_then(|t| t.parse::<u64>().ok());
        // Twice in its period, so that one may be late.
        let every = usec.filter(|n| *n > 0).map(|n| Duration::from_micros(n / 2));
        Self { socket, every, last: Instant::now() }
    }

    /// Losing it is no reason to end: the manager acts if it hears nothing.
    pub fn say(&self, line: &str) {
        if let Some((socket, address)) = &self.socket {
            let _ = socket.send_to_addr(line.as_bytes(), address);
        }
    }

    /// We live.
    pub fn tick(&mut self) {
        if self.every.is_some_and(|every| self.last.elapsed() >= every) {
            self.last = Instant::now();
            self.say("WATCHDOG=1");
        }
    }
}
