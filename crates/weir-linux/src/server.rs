// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The control socket. One thread accepts, and each client has its own thread, so that none can delay another.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, ErrorKind as IoKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{self, Answer, MAX_REQUEST, Request};

/// Where the socket is, unless `--socket` or RUNWEIR_SOCKET says otherwise.
pub const DEFAULT_SOCKET: &str = "/run/runweir/live.sock";

/// Time limit for a silent client, and for one that does not read its answer.
const SILENCE: Duration = Duration::from_secs(10);
/// Clients of one user at a time; more have to come again. One user's cannot lock the other's out.
const MAX_CLIENTS: usize = 32;
/// How often the threads look whether it is over.
const LOOK: Duration = Duration::from_millis(100);

/// The handler of requests.
pub trait Handler: Send + Sync + 'static {
    fn handle(&self, request: &Request) -> Answer;
}

impl Handler for crate::control::Control {
    fn handle(&self, request: &Request) -> Answer {
        self.serve(request)
    }
}

/// A socket that is served until this is dropped; then the file is gone, too.
pub struct Server {
    path: PathBuf,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Make the socket, only for this user. A stale socket without a server is replaced.
    pub fn open(path: &Path, handler: Arc<dyn Handler>) -> Result<Self> {
        let help = "name another path with --socket, in a folder that you may write to";
        let shown = path.display();
        if let Some(dir) = path.parent().filter(|d| !d.as_os_str().is_empty() && !d.exists()) {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o755)
                .create(dir)
                .map_err(|e| Error::io(&format!("make the folder {}", dir.display()), &e, help))?;
        }
        match fs::symlink_metadata(path) {
            Ok(meta) if !meta.file_type().is_socket() => {
                return Err(Error::new(ErrorKind::Io, format!("{shown} exists and is not a socket"), help));
            }
            Ok(_) if UnixStream::connect(path).is_ok() => {
                return Err(Error::new(
                    ErrorKind::InCharge,
                    format!("somebody serves the socket {shown} already"),
                    "`runweir status` names it; a second one needs another --socket",
                ));
            }
            // Left by one that was killed.
            Ok(_) => fs::remove_file(path).map_err(|e| Error::io(&format!("replace {shown}"), &e, help))?,
            Err(_) => {}
        }
        // Before anybody can connect, so that nobody else ever can.
        let listener = with_mask(0o177, || UnixListener::bind(path))
            .map_err(|e| Error::io(&format!("make the socket {shown}"), &e, help))?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))
            .map_err(|e| Error::io(&format!("protect the socket {shown}"), &e, help))?;
        let over = Arc::new(AtomicBool::new(false));
        let flag = over.clone();
        let thread = std::thread::Builder::new()
            .name("weir-socket".into())
            .spawn(move || accept(&listener, &handler, &flag))
            .map_err(|e| Error::io("start a thread", &e, "the system is out of threads"))?;
        Ok(Self { path: path.into(), over, thread: Some(thread) })
    }

    #[cfg(test)]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = fs::remove_file(&self.path);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Run `make` with the process's file mode mask at `mask`.
fn with_mask<T>(mask: libc::mode_t, make: impl FnOnce() -> T) -> T {
    // SAFETY: a number in, a number out.
    let old = unsafe { libc::umask(mask) };
    let made = make();
    // SAFETY: likewise.
    unsafe { libc::umask(old) };
    made
}

/// Wait until there is something to read; false after `time`.
fn readable(fd: &impl AsRawFd, time: Duration) -> bool {
    let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one record, which is ours.
    unsafe { libc::poll(&mut poll, 1, time.as_millis() as i32) > 0 }
}

fn accept(listener: &UnixListener, handler: &Arc<dyn Handler>, over: &Arc<AtomicBool>) {
    let clients = Clients::default();
    while !over.load(Ordering::Relaxed) {
        if !readable(listener, LOOK) {
            continue;
        }
        let Ok((stream, _)) = listener.accept() else {
            std::thread::sleep(LOOK); // out of descriptors, most likely
            continue;
        };
        let turn_away = |e: &Error| {
            let _ = stream.set_write_timeout(Some(LOOK));
            let _ = (&stream).write_all(&Answer::error(e).line());
        };
        // SAFETY: no arguments.
        let own = unsafe { libc::geteuid() };
        let Some(user) = peer(&stream).map(|p| p.uid).filter(|user| may_talk(*user, own)) else {
            turn_away(&Error::new(
                ErrorKind::Permission,
                "only root and the user who attached the scheduler may talk to it",
                "use the account that runs `runweir live`, or root",
            ));
            continue;
        };
        let Some(guard) = clients.enter(user) else {
            turn_away(&Error::new(
                ErrorKind::Busy,
                format!("{MAX_CLIENTS} clients of this user (number {user}) are connected already"),
                "try again; one that says nothing for 10 s is let go",
            ));
            continue;
        };
        let (handler, over) = (handler.clone(), over.clone());
        // Without a thread the guard goes with the closure.
        let _ = std::thread::Builder::new().name("weir-client".into()).spawn(move || {
            converse(stream, handler.as_ref(), &over);
            drop(guard);
        });
    }
}

/// Clients that are connected, by user.
#[derive(Clone, Default)]
struct Clients(Arc<Mutex<BTreeMap<u32, usize>>>);

impl Clients {
    fn all(&self) -> MutexGuard<'_, BTreeMap<u32, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more of this user, until the result goes; none where there are as many as may be.
    fn enter(&self, user: u32) -> Option<Client> {
        let mut all = self.all();
        let nr = all.entry(user).or_default();
        if *nr >= MAX_CLIENTS {
            return None;
        }
        *nr += 1;
        drop(all);
        Some(Client { all: self.clone(), user })
    }
}

/// Counts a client out, however its thread ends.
struct Client {
    all: Clients,
    user: u32,
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(nr) = self.all.all().get_mut(&self.user) {
            *nr -= 1;
        }
    }
}

/// The process at the other end: of a client's connection the one that listens, of a server's the one that connected.
pub(crate) fn peer(stream: &UnixStream) -> Option<libc::ucred> {
    let mut peer = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the buffer is ours and `len` its size.
    let done = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &mut len,
        )
    };
    (done == 0).then_some(peer)
}

fn may_talk(peer: u32, own: u32) -> bool {
    peer == 0 || peer == own
}

/// One request after the other, until the client leaves, is silent, or says what is not a request.
fn converse(stream: UnixStream, handler: &dyn Handler, over: &AtomicBool) {
    if stream.set_read_timeout(Some(SILENCE)).is_err() || stream.set_write_timeout(Some(SILENCE)).is_err() {
        return;
    }
    let Ok(mut out) = stream.try_clone() else { return };
    let mut lines = BufReader::new(stream);
    while !over.load(Ordering::Relaxed) {
        let mut line = Vec::new();
        // One byte more than allowed shows that it is too long.
        let read = (&mut lines).take(MAX_REQUEST as u64 + 1).read_until(b'\n', &mut line);
        match read {
            Ok(0) => return,
            Ok(_) => {}
            Err(e) if e.kind() == IoKind::Interrupted => continue,
            Err(_) => return,
        }
        if line.last() != Some(&b'\n') {
            if line.len() > MAX_REQUEST {
                let _ = out.write_all(&Answer::error(&protocol::too_long()).line());
            }
            return;
        }
        line.pop();
        let answer = match protocol::parse(&line) {
            Ok(request) => handler.handle(&request),
            Err(e) => Answer::error(&e),
        };
        if out.write_all(&answer.line()).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client;

    struct Echo;

    impl Handler for Echo {
        fn handle(&self, request: &Request) -> Answer {
            Answer::result(request)
        }
    }

    fn server() -> (tempfile::TempDir, Server) {
        let dir = tempfile::tempdir().expect("a folder");
        let server = Server::open(&dir.path().join("deep/live.sock"), Arc::new(Echo)).expect("a socket");
        (dir, server)
    }

    fn says(stream: &mut UnixStream, text: &[u8]) -> Answer {
        stream.write_all(text).expect("listening");
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).expect("an answer");
        serde_json::from_str(&line).expect("JSON")
    }

    #[test]
    fn a_request_is_answered_and_the_file_is_for_us_alone() {
        let (_dir, server) = server();
        let mode = fs::metadata(server.path()).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let result = client::ask(server.path(), &Request::Stop {}).expect("an answer");
        assert_eq!(result["verb"], "stop");
    }

    #[test]
    fn bad_clients_hold_up_nobody() {
        let (_dir, server) = server();
        let mut silent: Vec<UnixStream> =
            (0..8).map(|_| UnixStream::connect(server.path()).expect("listening")).collect();
        silent[0].write_all(b"{\"verb\":\"sta").expect("listening");
        let mut stream = UnixStream::connect(server.path()).expect("listening");
        assert!(!says(&mut stream, b"nonsense\n").ok);
        assert!(says(&mut stream, b"{\"verb\":\"status\"}\n").ok, "the connection lives on");
        let mut long = UnixStream::connect(server.path()).expect("listening");
        let answer = says(&mut long, &vec![b' '; MAX_REQUEST + 1]);
        assert!(answer.error.expect("refused").message.contains("longer than 4 MiB"));
        client::ask(server.path(), &Request::Status {}).expect("still answering");
    }

    #[test]
    fn too_many_clients_are_reported() {
        let (_dir, server) = server();
        let _held: Vec<UnixStream> = (0..MAX_CLIENTS)
            .map(|_| {
                let mut s = UnixStream::connect(server.path()).expect("listening");
                assert!(says(&mut s, b"{\"verb\":\"status\"}\n").ok);
                s
            })
            .collect();
        let e = client::ask(server.path(), &Request::Status {}).expect_err("one too many");
        assert!(e.message.contains("32 clients") && e.kind == ErrorKind::Busy, "{e}");
    }

    #[test]
    fn one_user_does_not_lock_another_out() {
        let clients = Clients::default();
        let mut of_one: Vec<Client> = (0..MAX_CLIENTS).map(|_| clients.enter(1000).expect("room")).collect();
        assert!(clients.enter(1000).is_none());
        let _root = clients.enter(0).expect("another user's room");
        of_one.pop();
        assert!(clients.enter(1000).is_some());
    }

    #[test]
    fn a_dead_socket_is_replaced_and_other_files_are_not() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("live.sock");
        drop(UnixListener::bind(&path).expect("a socket"));
        let server = Server::open(&path, Arc::new(Echo)).expect("replaced");
        drop(server);
        assert!(!path.exists());
        fs::write(&path, "precious").expect("writable");
        let e = Server::open(&path, Arc::new(Echo)).err().expect("refused");
        assert!(e.message.contains("not a socket"), "{e}");
        assert_eq!(fs::read_to_string(&path).expect("untouched"), "precious");
    }

    #[test]
    fn others_may_not_talk() {
        assert!(may_talk(0, 1000) && may_talk(1000, 1000));
        assert!(!may_talk(1001, 1000) && !may_talk(1000, 0));
    }
}
