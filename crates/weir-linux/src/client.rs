// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The other end of the control socket: `switch`, `status`, `top`.

use std::io::{BufRead, BufReader, ErrorKind as IoKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{Answer, MAX_ANSWER, Request, Switch, Switched};
use crate::server::DEFAULT_SOCKET;
use crate::snapshot::Snapshot;

/// Longer than the other side waits for the kernel.
const PATIENCE: Duration = Duration::from_secs(15);

/// The socket: the option, else the environment's, else the usual one.
pub fn socket_path(option: Option<&Path>) -> PathBuf {
    let own = option.map(Path::to_path_buf);
    own.or_else(|| std::env::var_os("RUNWEIR_SOCKET").filter(|v| !v.is_empty()).map(PathBuf::from))
        .unwrap_or_else(|| DEFAULT_SOCKET.into())
}

/// What can be seen of the scheduler in charge.
pub fn status(socket: &Path) -> Result<Snapshot> {
    read(ask(socket, &Request::Status {})?)
}

/// Another topology.
pub fn switch(socket: &Path, wish: &Switch) -> Result<Switched> {
    read(ask(socket, &Request::Switch(wish.clone()))?)
}

fn read<T: DeserializeOwned>(value: serde_json::Value) -> Result<T> {
    serde_json::from_value(value).map_err(|e| {
        Error::new(
            ErrorKind::Internal,
            format!("the answer of `runweir live` makes no sense: {e}"),
            "are both the same version of runweir? Compare: runweir --version",
        )
    })
}

/// One request and its result.
pub fn ask(socket: &Path, request: &Request) -> Result<serde_json::Value> {
    let shown = socket.display();
    let mut stream = UnixStream::connect(socket).map_err(|e| refused(socket, &e))?;
    let broken = |e: &std::io::Error| match e.kind() {
        IoKind::WouldBlock | IoKind::TimedOut => Error::new(
            ErrorKind::NotAttached,
            format!("nobody answers at {shown} within {} s", PATIENCE.as_secs()),
            "is the machine overloaded, or `runweir live` stopped (SIGSTOP)? Try again",
        ),
        _ => Error::io(&format!("talk to `runweir live` at {shown}"), e, "did it end? Start it again"),
    };
    stream.set_read_timeout(Some(PATIENCE)).map_err(|e| broken(&e))?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(|e| broken(&e))?;
    let mut line = serde_json::to_vec(request).expect("strings, numbers and lists");
    line.push(b'\n');
    // One that is turned away at the door may have been answered and closed already.
    let sent = stream.write_all(&line);
    let mut text = Vec::new();
    let got = BufReader::new(&stream).take(MAX_ANSWER as u64).read_until(b'\n', &mut text);
    if text.is_empty() {
        sent.and(got.map(|_| ())).map_err(|e| broken(&e))?;
        return Err(broken(&IoKind::UnexpectedEof.into()));
    }
    let answer: Answer = read(serde_json::from_slice(&text).unwrap_or_default())?;
    match (answer.error, answer.result) {
        (Some(e), _) => {
            Err(Error { kind: kind(&e.kind), message: e.message, help: e.help, findings: e.findings })
        }
        (None, Some(result)) if answer.ok => Ok(result),
        _ => Err(Error::bug("an answer with neither result nor error")),
    }
}

fn kind(name: &str) -> ErrorKind {
    use ErrorKind::*;
    [Permission, Kernel, Busy, Input, NotAttached, Io]
        .into_iter()
        .find(|k| format!("{k:?}").to_lowercase() == name)
        .unwrap_or(Internal)
}

/// Nobody is there to talk to, or not to us.
fn refused(socket: &Path, e: &std::io::Error) -> Error {
    let shown = socket.display();
    match e.kind() {
        IoKind::NotFound | IoKind::ConnectionRefused => Error::new(
            ErrorKind::NotAttached,
            format!("runweir is not in charge of this machine: nobody listens at {shown}"),
            "start it: sudo runweir live TOPOLOGY. If it runs with --socket PATH, name the same path here",
        ),
        IoKind::PermissionDenied => Error::new(
            ErrorKind::Permission,
            format!("the socket {shown} belongs to another user"),
            "use the account that runs `runweir live`, or root (sudo)",
        ),
        _ => Error::io(&format!("reach {shown}"), e, "name the socket of `runweir live` with --socket"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_server_the_remedy_is_told() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("live.sock");
        let e = status(&path).expect_err("nobody there");
        assert_eq!(e.kind, ErrorKind::NotAttached);
        assert!(e.message.contains("not in charge") && e.help.contains("runweir live"), "{e}");
        drop(std::os::unix::net::UnixListener::bind(&path).expect("a socket"));
        assert_eq!(status(&path).expect_err("nobody listens").kind, ErrorKind::NotAttached);
    }

    #[test]
    fn errors_keep_their_kind() {
        for k in [ErrorKind::Permission, ErrorKind::Busy, ErrorKind::Input, ErrorKind::NotAttached] {
            assert_eq!(kind(&format!("{k:?}").to_lowercase()), k);
        }
    }
}
