// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The other end of the control socket: `switch`, `status`, `top`.

use std::io::{BufRead, BufReader, ErrorKind as IoKind, Read, Write};
use std::os::fd::FromRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;

use crate::clock::thread_name;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{Answer, Answered, Ask, MAX_ANSWER, Request, Switch, Switched, TopologyText};
use crate::server::DEFAULT_SOCKET;
use crate::snapshot::Snapshot;

/// Longer than the other side waits for the kernel.
const PATIENCE: Duration = Duration::from_secs(15);
/// Interval at which the client checks whether the other side is stopped.
const LOOK: Duration = Duration::from_millis(250);

/// The socket: the option, else the environment's, else the usual one.
pub fn socket_path(option: Option<&Path>) -> PathBuf {
    let own = option.map(Path::to_path_buf);
    own.or_else(|| std::env::var_os("RUNWEIR_SOCKET").filter(|v| !v.is_empty()).map(PathBuf::from))
        .unwrap_or_else(|| DEFAULT_SOCKET.into())
}

/// Before a process's number: the name of the socket at which a program with threads under a policy answers. It has no file.
const PROGRAM: &str = "@runweir-threads-";

/// The socket of a program with threads under a policy.
pub fn program_socket(pid: u32) -> PathBuf {
    format!("{PROGRAM}{pid}").into()
}

/// The program of such a socket.
fn program_of(socket: &Path) -> Option<u32> {
    socket.to_str()?.strip_prefix(PROGRAM)?.parse().ok()
}

/// Processes that answer at such sockets, and what they run.
pub fn programs() -> Vec<(u32, String)> {
    let list = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let pids: std::collections::BTreeSet<u32> =
        list.lines().filter_map(|line| program_of(Path::new(line.split_whitespace().nth(7)?))).collect();
    pids.into_iter().filter_map(|pid| Some((pid, thread_name(pid)?))).collect()
}

/// The state of the attached scheduler.
pub fn status(socket: &Path) -> Result<Snapshot> {
    read(ask(socket, &Request::Status {})?)
}

/// The topology in charge as text.
pub fn topology(socket: &Path) -> Result<TopologyText> {
    read(ask(socket, &Request::Topology {})?)
}

/// Another topology.
pub fn switch(socket: &Path, wish: &Switch) -> Result<Switched> {
    read(ask(socket, &Request::Switch(wish.clone()))?)
}

/// The answer of the component that responds to a topic.
pub fn request(socket: &Path, wish: &Ask) -> Result<Answered> {
    read(ask(socket, &Request::Request(wish.clone()))?)
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
    let stream = connect(socket).map_err(|e| refused(socket, &e))?;
    let pid = crate::server::peer(&stream).map(|p| p.pid as u32);
    // Anybody may take a name that has no file.
    if let (Some(wanted), Some(there)) = (program_of(socket), pid)
        && wanted != there
    {
        return Err(Error::new(
            ErrorKind::Permission,
            format!("process {there} answers in the name of process {wanted}"),
            "do not trust it; a process of the same number in another container may be harmless",
        ));
    }
    let broken = |e: &std::io::Error| match e.kind() {
        IoKind::WouldBlock | IoKind::TimedOut => Error::new(
            ErrorKind::Busy,
            format!("nobody answers at {shown} within {} s{}", PATIENCE.as_secs(), process(pid)),
            "is the machine overloaded? Try again",
        ),
        _ => Error::io(&format!("talk to `runweir live` at {shown}"), e, "did it end? Start it again"),
    };
    stream.set_read_timeout(Some(LOOK)).map_err(|e| broken(&e))?;
    stream.set_write_timeout(Some(LOOK)).map_err(|e| broken(&e))?;
    let mut line = serde_json::to_vec(request).expect("strings, numbers and lists");
    line.push(b'\n');
    let began = Instant::now();
    // What is slow may be stopped: that is looked at now and then.
    let go_on = |e: std::io::Error| match e.kind() {
        IoKind::Interrupted => Ok(()),
        IoKind::WouldBlock | IoKind::TimedOut => match pid.filter(|pid| is_stopped(*pid)) {
            Some(pid) => Err(stopped(pid, socket)),
            None if began.elapsed() < PATIENCE => Ok(()),
            None => Err(broken(&e)),
        },
        _ => Err(broken(&e)),
    };
    // One that is turned away at the door may have been answered and closed already.
    let sent = send(&stream, &line, &go_on);
    let mut text = Vec::new();
    let mut reader = BufReader::new(&stream).take(MAX_ANSWER as u64);
    let got = loop {
        match reader.read_until(b'\n', &mut text) {
            Ok(_) => break Ok(()),
            Err(e) => match go_on(e) {
                Ok(()) => {}
                Err(e) => break Err(e),
            },
        }
    };
    if text.is_empty() {
        sent.and(got)?;
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

/// All of `line`, in as many pieces as it takes.
fn send(mut stream: &UnixStream, line: &[u8], go_on: &dyn Fn(std::io::Error) -> Result<()>) -> Result<()> {
    let mut rest = line;
    while !rest.is_empty() {
        match stream.write(rest) {
            Ok(n) => rest = &rest[n..],
            Err(e) => go_on(e)?,
        }
    }
    Ok(())
}

/// The process that listens at a socket.
pub fn process_at(socket: &Path) -> Option<u32> {
    crate::server::peer(&connect(socket).ok()?).map(|p| p.pid as u32)
}

/// A connection. If it is not accepted because too many wait already, the attempt ends after a time limit.
fn connect(socket: &Path) -> std::io::Result<UnixStream> {
    let bytes = socket.as_os_str().as_bytes();
    // SAFETY: all zero is a valid address.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    if bytes.len() >= address.sun_path.len() || bytes.contains(&0) {
        // Its own words for what is wrong with the path.
        return UnixStream::connect(socket);
    }
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    for (to, from) in address.sun_path.iter_mut().zip(bytes) {
        *to = *from as libc::c_char;
    }
    let mut len = size_of::<libc::sockaddr_un>();
    if bytes.first() == Some(&b'@') {
        address.sun_path[0] = 0;
        len = std::mem::offset_of!(libc::sockaddr_un, sun_path) + bytes.len();
    }
    // SAFETY: numbers alone.
    let fd = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: a descriptor that is ours and nobody else's.
    let stream = unsafe { UnixStream::from_raw_fd(fd) };
    // Connecting waits as long as writing may.
    stream.set_write_timeout(Some(LOOK * 2))?;
    // SAFETY: the record is ours and `len` not beyond its size.
    match unsafe { libc::connect(fd, (&raw const address).cast(), len as libc::socklen_t) } {
        0 => Ok(stream),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// The process is stopped: by SIGSTOP, by a terminal, or by a debugger.
fn is_stopped(pid: u32) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name before the state may have anything in it, also blanks and brackets.
    let state = text.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    matches!(state, Some('T' | 't'))
}

fn stopped(pid: u32, socket: &Path) -> Error {
    Error::new(
        ErrorKind::Busy,
        format!("`runweir live` is stopped and answers nobody (process {pid}, socket {})", socket.display()),
        format!(
            "the scheduler in the kernel runs on meanwhile, without its watchdog; let it go on: kill -CONT {pid}"
        ),
    )
}

fn process(pid: Option<u32>) -> String {
    pid.map_or(String::new(), |pid| format!(" (process {pid})"))
}

fn kind(name: &str) -> ErrorKind {
    use ErrorKind::*;
    [Permission, Kernel, InCharge, Busy, Input, NotAttached, Io]
        .into_iter()
        .find(|k| format!("{k:?}").to_lowercase() == name)
        .unwrap_or(Internal)
}

/// No scheduler listens, or it refuses this user.
fn refused(socket: &Path, e: &std::io::Error) -> Error {
    let shown = socket.display();
    if let Some(pid) = program_of(socket)
        && matches!(e.kind(), IoKind::NotFound | IoKind::ConnectionRefused)
    {
        let others: Vec<String> = programs().iter().map(|(pid, name)| format!("{pid} ({name})")).collect();
        return Error::new(
            ErrorKind::NotAttached,
            format!("process {pid} has no threads under a policy, or does not answer for them"),
            match others.as_slice() {
                [] => {
                    "none here has; `runweir threads POLICY -- COMMAND` starts one (docs/threads.md)".into()
                }
                some => format!("these have: {}", some.join(", ")),
            },
        );
    }
    match e.kind() {
        IoKind::NotFound | IoKind::ConnectionRefused => Error::new(
            ErrorKind::NotAttached,
            format!("runweir is not in charge of this machine: nobody listens at {shown}"),
            "start it: sudo runweir live TOPOLOGY. If it runs with --socket PATH, name the same path here",
        ),
        IoKind::WouldBlock => Error::new(
            ErrorKind::Busy,
            format!("nobody takes connections at {shown}: as many as may be are waiting"),
            "is `runweir live` stopped (SIGSTOP)? ps -C runweir -o pid,stat,args shows T then; kill -CONT PID lets it go on",
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
    fn without_a_server_the_remedy_is_reported() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("live.sock");
        let e = status(&path).expect_err("nobody there");
        assert_eq!(e.kind, ErrorKind::NotAttached);
        assert!(e.message.contains("not in charge") && e.help.contains("runweir live"), "{e}");
        drop(std::os::unix::net::UnixListener::bind(&path).expect("a socket"));
        assert_eq!(status(&path).expect_err("nobody listens").kind, ErrorKind::NotAttached);
    }

    #[test]
    fn a_program_is_asked_by_its_number_and_nobody_in_its_place() {
        use std::os::linux::net::SocketAddrExt;
        use std::os::unix::net::{SocketAddr, UnixListener};

        let e = status(&program_socket(u32::MAX)).expect_err("nobody there");
        assert!(e.kind == ErrorKind::NotAttached && e.message.contains("process 4294967295"), "{e}");
        let listen = |pid: u32| {
            let at = SocketAddr::from_abstract_name(format!("runweir-threads-{pid}")).expect("short");
            UnixListener::bind_addr(&at).expect("free")
        };
        let own = std::process::id();
        let listener = listen(own);
        assert!(programs().iter().any(|(pid, _)| *pid == own));
        let answers = std::thread::spawn(move || {
            let (stream, _) = listener.accept().expect("a client");
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).expect("a request");
            assert_eq!(line, "{\"verb\":\"status\"}\n");
            (&stream).write_all(&Answer::result(&Snapshot::default()).line()).expect("taken");
        });
        assert_eq!(status(&program_socket(own)).expect("answered"), Snapshot::default());
        answers.join().expect("it answered");
        let _foreign = listen(u32::MAX - 1);
        let e = status(&program_socket(u32::MAX - 1)).expect_err("another process");
        assert!(e.kind == ErrorKind::Permission && e.message.contains("in the name of"), "{e}");
    }

    #[test]
    fn a_loader_that_is_stopped_is_reported_within_a_second() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("live.sock");
        let listener = std::os::unix::net::UnixListener::bind(&path).expect("a socket");
        // SAFETY: the child only stops, and is killed.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: it begins to listen again, so that the socket is its own, and stops.
            unsafe {
                libc::listen(std::os::fd::AsRawFd::as_raw_fd(&listener), 4);
                libc::raise(libc::SIGSTOP);
                libc::_exit(0);
            }
        }
        while !is_stopped(child as u32) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let began = Instant::now();
        let e = status(&path).expect_err("stopped");
        let took = began.elapsed();
        // More than wait there may be: connecting ends, too.
        let held: Vec<_> = (0..8).map_while(|_| connect(&path).ok()).collect();
        let full = status(&path).expect_err("stopped");
        // SAFETY: our own child.
        unsafe {
            libc::kill(child, libc::SIGKILL);
            libc::waitpid(child, std::ptr::null_mut(), 0);
        }
        assert!(held.len() < 8, "the queue is short");
        assert!(took < Duration::from_secs(1), "{took:?}");
        assert!(e.message.contains(&format!("process {child}")) && e.help.contains("kill -CONT"), "{e}");
        assert!(full.message.contains("nobody takes connections") && full.help.contains("SIGSTOP"), "{full}");
        assert_eq!((e.kind, full.kind), (ErrorKind::Busy, ErrorKind::Busy));
    }

    #[test]
    fn errors_keep_their_kind() {
        for k in [ErrorKind::Permission, ErrorKind::Busy, ErrorKind::Input, ErrorKind::NotAttached] {
            assert_eq!(kind(&format!("{k:?}").to_lowercase()), k);
        }
    }
}
