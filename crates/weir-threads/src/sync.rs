// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Synchronisation that gives the CPU to another thread of the runtime while a thread waits. Other threads may use it, too. Waiters are
//! served in order of arrival; a mutex does not lend priority.

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::ffi;
use crate::thread::nanoseconds;

/// A lock with what it protects. The library keeps pointers to its state while threads wait, so it stands in a box of its own.
pub struct Mutex<T: ?Sized> {
    raw: Pin<Box<UnsafeCell<ffi::RawMutex>>>,
    data: UnsafeCell<T>,
}

// SAFETY: the lock lets one thread at a time to the data.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: likewise.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    pub fn new(data: T) -> Self {
        let raw = ffi::RawMutex { state: 0, queue: ffi::Queue::EMPTY };
        Self { raw: Box::pin(UnsafeCell::new(raw)), data: UnsafeCell::new(data) }
    }

    pub fn into_inner(self) -> T {
        self.data.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    pub fn lock(&self) -> MutexGuard<'_, T> {
        // SAFETY: the state is valid and stays where it is.
        unsafe { ffi::weir_mutex_lock(self.raw.get()) };
        MutexGuard { mutex: self, _here: PhantomData }
    }

    /// Nothing where another thread has it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        // SAFETY: the state is valid and stays where it is.
        let status = unsafe { ffi::weir_mutex_trylock(self.raw.get()) };
        (status == 0).then_some(MutexGuard { mutex: self, _here: PhantomData })
    }

    pub fn get_mut(&mut self) -> &mut T {
        self.data.get_mut()
    }
}

impl<T: ?Sized> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mutex").finish_non_exhaustive()
    }
}

/// While it lives, the thread has the lock. It stays with that thread.
#[derive(Debug)]
#[must_use]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    _here: PhantomData<*const ()>,
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard has the lock.
        unsafe { &*self.mutex.data.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard has the lock.
        unsafe { &mut *self.mutex.data.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        // SAFETY: this thread has locked it.
        unsafe { ffi::weir_mutex_unlock(self.mutex.raw.get()) };
    }
}

/// A condition variable.
pub struct Condvar {
    raw: Pin<Box<UnsafeCell<ffi::RawCond>>>,
}

// SAFETY: the library's functions may be called from any thread.
unsafe impl Send for Condvar {}
// SAFETY: likewise.
unsafe impl Sync for Condvar {}

impl Default for Condvar {
    fn default() -> Self {
        Self { raw: Box::pin(UnsafeCell::new(ffi::RawCond { queue: ffi::Queue::EMPTY })) }
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}

impl Condvar {
    pub fn new() -> Self {
        Self::default()
    }

    /// Release the lock, wait, and take it again. It may return spuriously: wait in a loop.
    pub fn wait<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        // SAFETY: this thread has the lock, as the guard shows; both states stay where they are.
        unsafe { ffi::weir_cond_wait(self.raw.get(), guard.mutex.raw.get()) };
        guard
    }

    /// The same, until the clock [`crate::now`] says `at`; false: it did.
    pub fn wait_until<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        at: Duration,
    ) -> (MutexGuard<'a, T>, bool) {
        // SAFETY: as above.
        let status =
            unsafe { ffi::weir_cond_wait_until(self.raw.get(), guard.mutex.raw.get(), nanoseconds(at)) };
        (guard, status == 0)
    }

    pub fn notify_one(&self) {
        // SAFETY: the state is valid and stays where it is.
        unsafe { ffi::weir_cond_signal(self.raw.get()) };
    }

    pub fn notify_all(&self) {
        // SAFETY: the state is valid and stays where it is.
        unsafe { ffi::weir_cond_broadcast(self.raw.get()) };
    }
}

/// A number that may be taken from while it is above zero.
pub struct Semaphore {
    raw: Pin<Box<UnsafeCell<ffi::RawSem>>>,
}

// SAFETY: the library's functions may be called from any thread.
unsafe impl Send for Semaphore {}
// SAFETY: likewise.
unsafe impl Sync for Semaphore {}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore").finish_non_exhaustive()
    }
}

impl Semaphore {
    pub fn new(count: u32) -> Self {
        let raw = ffi::RawSem { count: i64::from(count), queue: ffi::Queue::EMPTY };
        Self { raw: Box::pin(UnsafeCell::new(raw)) }
    }

    pub fn wait(&self) {
        // SAFETY: the state is valid and stays where it is.
        unsafe { ffi::weir_sem_wait(self.raw.get()) };
    }

    /// False: the clock [`crate::now`] says `at`.
    pub fn wait_until(&self, at: Duration) -> bool {
        // SAFETY: the state is valid and stays where it is.
        unsafe { ffi::weir_sem_wait_until(self.raw.get(), nanoseconds(at)) == 0 }
    }

    pub fn try_wait(&self) -> bool {
        // SAFETY: the state is valid and stays where it is.
        unsafe { ffi::weir_sem_trywait(self.raw.get()) == 0 }
    }

    pub fn post(&self) {
        // SAFETY: the state is valid and stays where it is.
        unsafe { ffi::weir_sem_post(self.raw.get()) };
    }
}

/// Holds threads until as many as it needs have come: spins for as long as a wake-up costs, then sleeps.
pub struct Barrier {
    raw: Pin<Box<UnsafeCell<ffi::RawBarrier>>>,
}

// SAFETY: the library's functions may be called from any thread.
unsafe impl Send for Barrier {}
// SAFETY: likewise.
unsafe impl Sync for Barrier {}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").finish_non_exhaustive()
    }
}

impl Barrier {
    /// At least one.
    pub fn new(threads: u32) -> Self {
        let raw =
            ffi::RawBarrier { needed: threads.max(1), arrived: 0, generation: 0, queue: ffi::Queue::EMPTY };
        Self { raw: Box::pin(UnsafeCell::new(raw)) }
    }

    /// True for one of them.
    pub fn wait(&self) -> bool {
        // SAFETY: the state is valid and stays where it is.
        unsafe { ffi::weir_barrier_wait(self.raw.get()) == 1 }
    }
}

/// The queue behind a channel.
struct Queue<T> {
    raw: *mut ffi::RawChan,
    _values: PhantomData<T>,
}

// SAFETY: the library's functions may be called from any thread, and each value goes to one.
unsafe impl<T: Send> Send for Queue<T> {}
// SAFETY: likewise.
unsafe impl<T: Send> Sync for Queue<T> {}

impl<T> Queue<T> {
    fn receive(&self, at: u64) -> Result<T, i32> {
        let mut word = 0;
        // SAFETY: the channel is open; `word` is ours.
        match unsafe { ffi::weir_chan_recv_until(self.raw, &mut word, at) } {
            // SAFETY: each word is a box that `send` gave away, and comes out once.
            0 => Ok(*unsafe { Box::from_raw(word as *mut T) }),
            status => Err(status),
        }
    }

    fn close(&self) {
        // SAFETY: the channel lives.
        unsafe { ffi::weir_chan_close(self.raw) };
    }
}

impl<T> Drop for Queue<T> {
    fn drop(&mut self) {
        self.close();
        // What nobody has received.
        while self.receive(0).is_ok() {}
        // SAFETY: both ends have gone, so nobody uses it.
        unsafe { ffi::weir_chan_free(self.raw) };
    }
}

/// The end that sends; the channel closes when the last of its clones goes.
pub struct Sender<T>(Arc<Closing<T>>);
/// The end that receives.
pub struct Receiver<T>(Arc<Queue<T>>);

struct Closing<T>(Arc<Queue<T>>);

impl<T> Drop for Closing<T> {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}

/// A queue of at most `capacity` values; 0: each send meets a receive.
///
/// # Errors
/// There is no memory.
pub fn channel<T: Send>(capacity: u32) -> crate::Result<(Sender<T>, Receiver<T>)> {
    // SAFETY: it makes a channel, or returns null.
    let raw = unsafe { ffi::weir_chan_new(capacity) };
    if raw.is_null() {
        return Err(crate::Error::new("there is no memory for a channel"));
    }
    let queue = Arc::new(Queue { raw, _values: PhantomData });
    Ok((Sender(Arc::new(Closing(Arc::clone(&queue)))), Receiver(queue)))
}

impl<T: Send> Sender<T> {
    /// Wait for room, and send.
    ///
    /// # Errors
    /// The value, where the channel was closed.
    pub fn send(&self, value: T) -> Result<(), T> {
        let word = Box::into_raw(Box::new(value));
        let queue = &self.0.0;
        // SAFETY: the channel lives; the box is the receiver's if it is taken.
        let status = unsafe { ffi::weir_chan_send_until(queue.raw, word as u64, ffi::FOREVER) };
        // SAFETY: it was not taken, so the box is still ours.
        if status == 0 { Ok(()) } else { Err(*unsafe { Box::from_raw(word) }) }
    }
}

impl<T: Send> Receiver<T> {
    /// Wait for a value; nothing where the channel is closed and empty.
    pub fn recv(&self) -> Option<T> {
        self.0.receive(ffi::FOREVER).ok()
    }

    /// Nothing where none is there now.
    pub fn try_recv(&self) -> Option<T> {
        self.0.receive(0).ok()
    }

    /// Wait until the clock [`crate::now`] says `at`; nothing where it did, or where the channel is closed and empty.
    pub fn recv_until(&self, at: Duration) -> Option<T> {
        self.0.receive(nanoseconds(at).max(1)).ok()
    }

    /// Nothing more can be sent.
    pub fn close(&self) {
        self.0.close();
    }
}

impl<T: Send> Iterator for Receiver<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.recv()
    }
}
