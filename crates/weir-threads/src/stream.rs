// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Connections: a thread that waits for one gives up its CPU.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;
use std::time::Duration;

use crate::ffi;
use crate::thread::nanoseconds;

/// A listening socket.
#[derive(Debug)]
pub struct Listener(TcpListener);

impl Listener {
    /// # Errors
    /// The system's.
    pub fn bind(at: impl ToSocketAddrs) -> io::Result<Self> {
        TcpListener::bind(at).map(Self)
    }

    /// The socket, to be asked and set; not to be waited for.
    pub fn as_std(&self) -> &TcpListener {
        &self.0
    }

    /// Wait for a connection.
    ///
    /// # Errors
    /// The system's.
    pub fn accept(&self) -> io::Result<Stream> {
        // SAFETY: the descriptor is open; no address is asked for.
        let fd = unsafe { ffi::weir_accept(self.0.as_raw_fd(), ptr::null_mut(), ptr::null_mut()) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new, and ours.
        Ok(Stream(TcpStream::from(unsafe { OwnedFd::from_raw_fd(fd) })))
    }
}

/// A connection.
#[derive(Debug)]
pub struct Stream(TcpStream);

impl From<TcpStream> for Stream {
    fn from(stream: TcpStream) -> Self {
        Self(stream)
    }
}

impl Stream {
    /// The socket, to be asked and set; not to be waited for.
    pub fn as_std(&self) -> &TcpStream {
        &self.0
    }

    /// Whether there is something to read before the clock [`crate::now`] says `at`.
    ///
    /// # Errors
    /// The system's.
    pub fn readable_until(&self, at: Duration) -> io::Result<bool> {
        // SAFETY: the descriptor is open.
        match unsafe { ffi::weir_wait_fd(self.0.as_raw_fd(), libc::POLLIN, nanoseconds(at)) } {
            n if n < 0 => Err(io::Error::last_os_error()),
            n => Ok(n > 0),
        }
    }
}

fn counted(n: isize) -> io::Result<usize> {
    usize::try_from(n).map_err(|_| io::Error::last_os_error())
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // SAFETY: the buffer has as many bytes.
        counted(unsafe { ffi::weir_read(self.0.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len()) })
    }
}

impl Write for Stream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        // SAFETY: the buffer has as many bytes.
        counted(unsafe { ffi::weir_write(self.0.as_raw_fd(), buffer.as_ptr().cast(), buffer.len()) })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
