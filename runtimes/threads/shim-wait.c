/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Calls that may block. The real one waits without a CPU: where it would not wait, the thread keeps its CPU. A thread that sleeps in a
 * call that is not here is noticed a few milliseconds later (watch.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "shim.h"

/* --- synchronisation ------------------------------------------------------------------------------------------ */

SHIM int pthread_mutex_lock(pthread_mutex_t *m)
{
	int err;

	REAL(pthread_mutex_lock);
	if (!shim_active)
		return real(m);
	/* Free most often: whose call it is matters only if it waits. */
	err = pthread_mutex_trylock(m);
	if (err != EBUSY)
		return err;
	return shim_mine() ? BLOCKING(real(m)) : real(m);
}

/* libc refuses others, even where it would not wait. */
static int is_right(clockid_t clock, const struct timespec *t)
{
	return (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC) && t && t->tv_nsec >= 0 &&
	       t->tv_nsec < 1000000000;
}

/* With a time limit: try at once, else the real call waits without a CPU. */
SHIM int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *t)
{
	int err;

	REAL(pthread_mutex_timedlock);
	err = is_right(CLOCK_REALTIME, t) ? pthread_mutex_trylock(m) : EBUSY;
	return err == EBUSY ? BLOCKING(real(m, t)) : err;
}

SHIM int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock, const struct timespec *t)
{
	int err;

	REAL(pthread_mutex_clocklock);
	err = is_right(clock, t) ? pthread_mutex_trylock(m) : EBUSY;
	return err == EBUSY ? BLOCKING(real(m, clock, t)) : err;
}

SHIM int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	REAL(pthread_cond_wait);
	return BLOCKING(real(c, m));
}

SHIM int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *t)
{
	REAL(pthread_cond_timedwait);
	return BLOCKING(real(c, m, t));
}

SHIM int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
				const struct timespec *t)
{
	REAL(pthread_cond_clockwait);
	return BLOCKING(real(c, m, clock, t));
}

SHIM int pthread_barrier_wait(pthread_barrier_t *b)
{
	REAL(pthread_barrier_wait);
	return BLOCKING(real(b));
}

SHIM int pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
	int err;

	REAL(pthread_rwlock_rdlock);
	err = pthread_rwlock_tryrdlock(l);
	return err == EBUSY ? BLOCKING(real(l)) : err;
}

SHIM int pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
	int err;

	REAL(pthread_rwlock_wrlock);
	err = pthread_rwlock_trywrlock(l);
	return err == EBUSY ? BLOCKING(real(l)) : err;
}

SHIM int pthread_rwlock_timedrdlock(pthread_rwlock_t *l, const struct timespec *t)
{
	int err;

	REAL(pthread_rwlock_timedrdlock);
	err = is_right(CLOCK_REALTIME, t) ? pthread_rwlock_tryrdlock(l) : EBUSY;
	return err == EBUSY ? BLOCKING(real(l, t)) : err;
}

SHIM int pthread_rwlock_timedwrlock(pthread_rwlock_t *l, const struct timespec *t)
{
	int err;

	REAL(pthread_rwlock_timedwrlock);
	err = is_right(CLOCK_REALTIME, t) ? pthread_rwlock_trywrlock(l) : EBUSY;
	return err == EBUSY ? BLOCKING(real(l, t)) : err;
}

SHIM int pthread_rwlock_clockrdlock(pthread_rwlock_t *l, clockid_t clock, const struct timespec *t)
{
	int err;

	REAL(pthread_rwlock_clockrdlock);
	err = is_right(clock, t) ? pthread_rwlock_tryrdlock(l) : EBUSY;
	return err == EBUSY ? BLOCKING(real(l, clock, t)) : err;
}

SHIM int pthread_rwlock_clockwrlock(pthread_rwlock_t *l, clockid_t clock, const struct timespec *t)
{
	int err;

	REAL(pthread_rwlock_clockwrlock);
	err = is_right(clock, t) ? pthread_rwlock_trywrlock(l) : EBUSY;
	return err == EBUSY ? BLOCKING(real(l, clock, t)) : err;
}

SHIM int sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *t)
{
	REAL(sem_clockwait);
	pthread_testcancel();
	return is_right(clock, t) && !sem_trywait(s) ? 0 : BLOCKING(real(s, clock, t));
}

SHIM int sem_wait(sem_t *s)
{
	REAL(sem_wait);
	pthread_testcancel();
	return sem_trywait(s) ? BLOCKING(real(s)) : 0;
}

SHIM int sem_timedwait(sem_t *s, const struct timespec *t)
{
	REAL(sem_timedwait);
	pthread_testcancel();
	return is_right(CLOCK_REALTIME, t) && !sem_trywait(s) ? 0 : BLOCKING(real(s, t));
}

/* Whether calls on @fd wait at all. */
static int waits(int fd)
{
	int was = errno;
	long flags = weir_shim_call(SYS_fcntl, fd, F_GETFL, 0);

	errno = was;
	return flags >= 0 && !(flags & O_NONBLOCK);
}

/*
 * A call that moves many bytes and is interrupted in the middle, as by the end of a turn, returns what it has moved, or fails. A program without signals
 * sees neither without the policy. So where it may wait or stop in the middle, it is made without a CPU and is not interrupted. Not for files on disks: there the
 * kernel does not stop.
 */
static int may_stop(int fd, size_t bytes, size_t most)
{
	int was = errno, may;
	struct stat st;

	if (bytes <= most || !shim_mine() || !waits(fd))
		return 0;
	may = !fstat(fd, &st) && !S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode);
	errno = was;
	return may;
}

/* So many bytes that a socket or a pipe that is writable has room for. */
#define SOCKET_HAS 1024u
#define PIPE_HAS   ((size_t)PIPE_BUF)

static size_t bytes_of(const struct iovec *v, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n && sum <= PIPE_HAS; i++)
		sum += v[i].iov_len;
	return sum;
}

/* The kernel stops after a page of random bytes if a signal is there. */
static int is_random(int fd, size_t bytes)
{
	int was = errno, is;
	struct stat st;

	if (bytes <= PIPE_HAS || !shim_mine())
		return 0;
	is = !fstat(fd, &st) && S_ISCHR(st.st_mode);
	errno = was;
	return is;
}

/*
 * Runtimes of other languages wait by direct system calls. Those are wrapped here that Linux does not restart after a signal: the end
 * of a slice would make them fail with EINTR, or write a part only. Any other is left to watch.c.
 */
static int may_wait(long number, const long *a)
{
	switch (number) {
	case SYS_futex: {
		int op = (int)a[1] & ~(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);

		return op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI;
	}
#ifdef SYS_poll
	case SYS_poll:
		return a[2] != 0;
	case SYS_select:
	case SYS_pause:
	case SYS_epoll_wait:
#endif
#ifdef SYS_epoll_pwait2
	case SYS_epoll_pwait2:
#endif
	case SYS_ppoll:
	case SYS_pselect6:
	case SYS_epoll_pwait:
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_rt_sigsuspend:
	case SYS_rt_sigtimedwait:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_msgsnd:
	case SYS_msgrcv:
	case SYS_io_getevents:
#ifdef SYS_io_pgetevents
	case SYS_io_pgetevents:
#endif
#ifdef SYS_futex_waitv
	case SYS_futex_waitv:
#endif
		return 1;
#ifdef SYS_io_uring_enter
	case SYS_io_uring_enter:
		return a[2] != 0;
#endif
	case SYS_write:
	case SYS_sendto:
		return may_stop((int)a[0], (size_t)a[2], SOCKET_HAS);
	}
	return 0;
}

/* Whether the call makes a process that has a copy of this one's memory, and none of libc's handlers knows. */
static int forks(long number, const long *a)
{
	switch (number) {
#ifdef SYS_fork
	case SYS_fork:
		return 1;
#endif
	case SYS_clone:
		return !(a[0] & CLONE_VM);
#ifdef SYS_clone3
	case SYS_clone3:
		return a[0] && !(*(const unsigned long *)a[0] & CLONE_VM);
#endif
	}
	return 0;
}

long weir_shim_call(long number, long a, long b, long c)
{
	REAL(syscall);
	return real(number, a, b, c);
}

SHIM long syscall(long number, ...)
{
	long a[6], result;
	va_list list;
	int child;

	REAL(syscall);
	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	/* The runtime's own calls come by here, too. */
	if (may_wait(number, a) && !weir_disabled())
		return BLOCKING(real(number, a[0], a[1], a[2], a[3], a[4], a[5]));
	if (shim_scheduling(number, a, &result) || shim_files(number, a, &result) ||
	    shim_actions(number, a, &result))
		return result;
	shim_before(number, a);
	child = shim_active && forks(number, a);
	if (child)
		weir_rt_fork_begins();
	result = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (child && !result)
		shim_follow();
	else if (child)
		weir_rt_fork_done();
	if (!result && number == SYS_sched_getattr)
		shim_attributes_got(a);
	return result;
}

/* --- time -------------------------------------------------------------------------------------------------------- */

SHIM int nanosleep(const struct timespec *t, struct timespec *left)
{
	REAL(nanosleep);
	return BLOCKING(real(t, left));
}

SHIM int clock_nanosleep(clockid_t clock, int flags, const struct timespec *t,
			 struct timespec *left)
{
	REAL(clock_nanosleep);
	return BLOCKING(real(clock, flags, t, left));
}

SHIM int usleep(useconds_t us)
{
	REAL(usleep);
	return BLOCKING(real(us));
}

SHIM unsigned sleep(unsigned s)
{
	REAL(sleep);
	return BLOCKING(real(s));
}

SHIM int pause(void)
{
	REAL(pause);
	return BLOCKING(real());
}

/* --- files ---------------------------------------------------------------------------------------------------------- */

SHIM int poll(struct pollfd *p, nfds_t n, int timeout)
{
	int ready;

	REAL(poll);
	if (!timeout || !shim_mine())
		return real(p, n, timeout);
	ready = real(p, n, 0);
	return ready ? ready : BLOCKING(real(p, n, timeout));
}

SHIM int ppoll(struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *mask)
{
	sigset_t copy;

	REAL(ppoll);
	mask = shim_with_ours(mask, &copy);
	return BLOCKING(real(p, n, t, mask));
}

SHIM int select(int n, fd_set *in, fd_set *out, fd_set *except, struct timeval *t)
{
	REAL(select);
	return BLOCKING(real(n, in, out, except, t));
}

SHIM int pselect(int n, fd_set *in, fd_set *out, fd_set *except, const struct timespec *t,
		 const sigset_t *mask)
{
	sigset_t copy;

	REAL(pselect);
	mask = shim_with_ours(mask, &copy);
	return BLOCKING(real(n, in, out, except, t, mask));
}

SHIM int epoll_wait(int fd, struct epoll_event *events, int max, int timeout)
{
	int ready;

	REAL(epoll_wait);
	if (!timeout || !shim_mine())
		return real(fd, events, max, timeout);
	ready = real(fd, events, max, 0);
	return ready ? ready : BLOCKING(real(fd, events, max, timeout));
}

SHIM int epoll_pwait(int fd, struct epoll_event *events, int max, int timeout, const sigset_t *mask)
{
	sigset_t copy;

	REAL(epoll_pwait);
	mask = shim_with_ours(mask, &copy);
	return timeout ? BLOCKING(real(fd, events, max, timeout, mask))
		       : real(fd, events, max, timeout, mask);
}

SHIM int epoll_pwait2(int fd, struct epoll_event *events, int max, const struct timespec *t,
		      const sigset_t *mask)
{
	sigset_t copy;

	REAL(epoll_pwait2);
	mask = shim_with_ours(mask, &copy);
	return BLOCKING(real(fd, events, max, t, mask));
}

/*
 * Whether a call on @fd would wait. A file that never waits (a server's socket) is cheaper asked for that than for what it has; other files are asked for it
 * once in a while only.
 */
static int would_wait(int fd, short events)
{
	static unsigned char asked[1024]; /* 0: to be asked whether it waits */
	unsigned char *at = &asked[(unsigned)fd % sizeof(asked)];
	unsigned n = __atomic_load_n(at, __ATOMIC_RELAXED);
	struct pollfd p = { .fd = fd, .events = events };
	int was = errno, wait;

	if (!shim_mine())
		return 0;
	if (!n && !waits(fd))
		return 0;
	__atomic_store_n(at, (unsigned char)((n + 1) % 32), __ATOMIC_RELAXED);
	wait = poll(&p, 1, 0) == 0;
	errno = was;
	return wait;
}

#define ON_FILE(fd, events, call) (would_wait((fd), (events)) ? BLOCKING(call) : (call))
/* @n bytes go out, of which there is room for @most. */
#define ALL_OF(fd, n, most, call) \
	(may_stop((fd), (n), (most)) ? BLOCKING(call) : ON_FILE(fd, POLLOUT, call))

/* Some socket is to wait for more than a byte. */
static int low_marks;

SHIM int setsockopt(int fd, int level, int what, const void *value, socklen_t bytes)
{
	REAL(setsockopt);
	if (level == SOL_SOCKET && what == SO_RCVLOWAT)
		__atomic_store_n(&low_marks, 1, __ATOMIC_RELAXED);
	return real(fd, level, what, value, bytes);
}

/* Whether a read may wait although some bytes are there. */
static int wants_more(int fd)
{
	return __atomic_load_n(&low_marks, __ATOMIC_RELAXED) && shim_mine() && waits(fd);
}

/* The socket says itself that it would wait. If it is to wait for more than it has, it would give a part. */
#define NOW_OR_LATER(fd, flags, call)                                   \
	({                                                              \
		int given_ = (flags), was_ = errno;                     \
		ssize_t got_;                                           \
                                                                        \
		if (given_ & MSG_DONTWAIT || !shim_mine()) {            \
			got_ = (call);                                  \
		} else if (given_ & MSG_WAITALL || wants_more(fd)) {    \
			got_ = waits(fd) ? BLOCKING(call) : (call);     \
		} else {                                                \
			(flags) = given_ | MSG_DONTWAIT;                \
			got_ = (call);                                  \
			(flags) = given_;                               \
			if (got_ < 0 && errno == EAGAIN && waits(fd)) { \
				errno = was_;                           \
				got_ = BLOCKING(call);                  \
			}                                               \
		}                                                       \
		got_;                                                   \
	})

SHIM ssize_t read(int fd, void *b, size_t n)
{
	REAL(read);
	return wants_more(fd) || is_random(fd, n) ? BLOCKING(real(fd, b, n))
						  : ON_FILE(fd, POLLIN, real(fd, b, n));
}

SHIM ssize_t readv(int fd, const struct iovec *v, int n)
{
	REAL(readv);
	return wants_more(fd) ? BLOCKING(real(fd, v, n)) : ON_FILE(fd, POLLIN, real(fd, v, n));
}

SHIM ssize_t recv(int fd, void *b, size_t n, int flags)
{
	REAL(recv);
	return NOW_OR_LATER(fd, flags, real(fd, b, n, flags));
}

SHIM ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	REAL(recvmsg);
	return NOW_OR_LATER(fd, flags, real(fd, m, flags));
}

SHIM ssize_t recvfrom(int fd, void *b, size_t n, int flags, struct sockaddr *restrict a,
		      socklen_t *restrict l)
{
	REAL(recvfrom);
	return NOW_OR_LATER(fd, flags, real(fd, b, n, flags, a, l));
}

SHIM ssize_t write(int fd, const void *b, size_t n)
{
	REAL(write);
	return ALL_OF(fd, n, PIPE_HAS, real(fd, b, n));
}

SHIM ssize_t writev(int fd, const struct iovec *v, int n)
{
	REAL(writev);
	return ALL_OF(fd, bytes_of(v, (size_t)n), PIPE_HAS, real(fd, v, n));
}

SHIM ssize_t send(int fd, const void *b, size_t n, int flags)
{
	REAL(send);
	return flags & MSG_DONTWAIT ? real(fd, b, n, flags)
				    : ALL_OF(fd, n, SOCKET_HAS, real(fd, b, n, flags));
}

SHIM ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	REAL(sendmsg);
	return flags & MSG_DONTWAIT ? real(fd, m, flags)
				    : ALL_OF(fd, bytes_of(m->msg_iov, m->msg_iovlen), SOCKET_HAS,
					     real(fd, m, flags));
}

SHIM ssize_t sendto(int fd, const void *b, size_t n, int flags, const struct sockaddr *a,
		    socklen_t l)
{
	REAL(sendto);
	return flags & MSG_DONTWAIT ? real(fd, b, n, flags, a, l)
				    : ALL_OF(fd, n, SOCKET_HAS, real(fd, b, n, flags, a, l));
}

SHIM int recvmmsg(int fd, struct mmsghdr *m, unsigned n, int flags, struct timespec *t)
{
	REAL(recvmmsg);
	return flags & MSG_DONTWAIT ? real(fd, m, n, flags, t) : BLOCKING(real(fd, m, n, flags, t));
}

SHIM int sendmmsg(int fd, struct mmsghdr *m, unsigned n, int flags)
{
	REAL(sendmmsg);
	return !(flags & MSG_DONTWAIT) && shim_mine() && waits(fd) ? BLOCKING(real(fd, m, n, flags))
								   : real(fd, m, n, flags);
}

SHIM ssize_t sendfile(int to, int from, off_t *at, size_t n)
{
	REAL(sendfile);
	return may_stop(to, n, 0) ? BLOCKING(real(to, from, at, n)) : real(to, from, at, n);
}

SHIM ssize_t sendfile64(int to, int from, off64_t *at, size_t n)
{
	REAL(sendfile64);
	return may_stop(to, n, 0) ? BLOCKING(real(to, from, at, n)) : real(to, from, at, n);
}

SHIM ssize_t splice(int from, off64_t *at, int to, off64_t *there, size_t n, unsigned flags)
{
	REAL(splice);
	return flags & SPLICE_F_NONBLOCK ? real(from, at, to, there, n, flags)
					 : BLOCKING(real(from, at, to, there, n, flags));
}

SHIM ssize_t vmsplice(int fd, const struct iovec *v, size_t n, unsigned flags)
{
	REAL(vmsplice);
	return flags & SPLICE_F_NONBLOCK ? real(fd, v, n, flags) : BLOCKING(real(fd, v, n, flags));
}

SHIM ssize_t tee(int from, int to, size_t n, unsigned flags)
{
	REAL(tee);
	return flags & SPLICE_F_NONBLOCK ? real(from, to, n, flags)
					 : BLOCKING(real(from, to, n, flags));
}

SHIM ssize_t getrandom(void *b, size_t n, unsigned flags)
{
	REAL(getrandom);
	return n > 256 ? BLOCKING(real(b, n, flags)) : real(b, n, flags);
}

/* In memory (tmpfs) it stops at a signal, and fails. */
SHIM int fallocate(int fd, int mode, off_t from, off_t n)
{
	REAL(fallocate);
	return BLOCKING(real(fd, mode, from, n));
}

SHIM int fallocate64(int fd, int mode, off64_t from, off64_t n)
{
	REAL(fallocate64);
	return BLOCKING(real(fd, mode, from, n));
}

SHIM int posix_fallocate(int fd, off_t from, off_t n)
{
	REAL(posix_fallocate);
	return BLOCKING(real(fd, from, n));
}

SHIM int posix_fallocate64(int fd, off64_t from, off64_t n)
{
	REAL(posix_fallocate64);
	return BLOCKING(real(fd, from, n));
}

SHIM int accept(int fd, struct sockaddr *restrict a, socklen_t *restrict l)
{
	REAL(accept);
	return ON_FILE(fd, POLLIN, real(fd, a, l));
}

SHIM int accept4(int fd, struct sockaddr *restrict a, socklen_t *restrict l, int flags)
{
	REAL(accept4);
	return ON_FILE(fd, POLLIN, real(fd, a, l, flags));
}

SHIM int connect(int fd, const struct sockaddr *a, socklen_t l)
{
	REAL(connect);
	return BLOCKING(real(fd, a, l));
}

SHIM pid_t waitpid(pid_t pid, int *status, int options)
{
	REAL(waitpid);
	return options & WNOHANG ? real(pid, status, options)
				 : BLOCKING(real(pid, status, options));
}

SHIM pid_t wait(int *status)
{
	REAL(wait);
	return BLOCKING(real(status));
}

SHIM pid_t wait3(int *status, int options, struct rusage *usage)
{
	REAL(wait3);
	return options & WNOHANG ? real(status, options, usage)
				 : BLOCKING(real(status, options, usage));
}

SHIM pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	REAL(wait4);
	return options & WNOHANG ? real(pid, status, options, usage)
				 : BLOCKING(real(pid, status, options, usage));
}

SHIM int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	REAL(waitid);
	return options & WNOHANG ? real(type, id, info, options)
				 : BLOCKING(real(type, id, info, options));
}

SHIM int sigsuspend(const sigset_t *set)
{
	sigset_t copy;

	REAL(sigsuspend);
	set = shim_with_ours(set, &copy);
	return BLOCKING(real(set));
}

SHIM int flock(int fd, int operation)
{
	REAL(flock);
	return operation & LOCK_NB ? real(fd, operation) : BLOCKING(real(fd, operation));
}

SHIM int lockf(int fd, int operation, off_t bytes)
{
	REAL(lockf);
	return operation == F_LOCK ? BLOCKING(real(fd, operation, bytes))
				   : real(fd, operation, bytes);
}

SHIM int semop(int id, struct sembuf *ops, size_t n)
{
	REAL(semop);
	return BLOCKING(real(id, ops, n));
}

SHIM int semtimedop(int id, struct sembuf *ops, size_t n, const struct timespec *t)
{
	REAL(semtimedop);
	return BLOCKING(real(id, ops, n, t));
}

SHIM int msgsnd(int id, const void *m, size_t bytes, int flags)
{
	REAL(msgsnd);
	return flags & IPC_NOWAIT ? real(id, m, bytes, flags) : BLOCKING(real(id, m, bytes, flags));
}

SHIM ssize_t msgrcv(int id, void *m, size_t bytes, long type, int flags)
{
	REAL(msgrcv);
	return flags & IPC_NOWAIT ? real(id, m, bytes, type, flags)
				  : BLOCKING(real(id, m, bytes, type, flags));
}

SHIM ssize_t mq_receive(mqd_t queue, char *m, size_t bytes, unsigned *priority)
{
	REAL(mq_receive);
	return BLOCKING(real(queue, m, bytes, priority));
}

SHIM int mq_send(mqd_t queue, const char *m, size_t bytes, unsigned priority)
{
	REAL(mq_send);
	return BLOCKING(real(queue, m, bytes, priority));
}

SHIM int fsync(int fd)
{
	REAL(fsync);
	return BLOCKING(real(fd));
}

SHIM int fdatasync(int fd)
{
	REAL(fdatasync);
	return BLOCKING(real(fd));
}

SHIM ssize_t mq_timedreceive(mqd_t queue, char *restrict m, size_t bytes,
			     unsigned *restrict priority, const struct timespec *restrict t)
{
	REAL(mq_timedreceive);
	return BLOCKING(real(queue, m, bytes, priority, t));
}

SHIM int mq_timedsend(mqd_t queue, const char *m, size_t bytes, unsigned priority,
		      const struct timespec *t)
{
	REAL(mq_timedsend);
	return BLOCKING(real(queue, m, bytes, priority, t));
}

SHIM int tcdrain(int fd)
{
	REAL(tcdrain);
	return BLOCKING(real(fd));
}

static int waits_for_lock(int command)
{
	return command == F_SETLKW || command == F_OFD_SETLKW;
}

SHIM int fcntl(int fd, int command, ...)
{
	va_list list;
	void *arg;

	REAL(fcntl);
	va_start(list, command);
	arg = va_arg(list, void *);
	va_end(list);
	return waits_for_lock(command) ? BLOCKING(real(fd, command, arg)) : real(fd, command, arg);
}

SHIM int fcntl64(int fd, int command, ...)
{
	va_list list;
	void *arg;

	REAL(fcntl64);
	va_start(list, command);
	arg = va_arg(list, void *);
	va_end(list);
	return waits_for_lock(command) ? BLOCKING(real(fd, command, arg)) : real(fd, command, arg);
}

SHIM int lockf64(int fd, int operation, off64_t bytes)
{
	REAL(lockf64);
	return operation == F_LOCK ? BLOCKING(real(fd, operation, bytes))
				   : real(fd, operation, bytes);
}

/* --- the same as programs call them that are built with _FORTIFY_SOURCE ------------------------------------------- */

extern void __chk_fail(void) __attribute__((noreturn));

SHIM ssize_t __read_chk(int fd, void *b, size_t n, size_t room)
{
	if (n > room)
		__chk_fail();
	return read(fd, b, n);
}

SHIM ssize_t __recv_chk(int fd, void *b, size_t n, size_t room, int flags)
{
	if (n > room)
		__chk_fail();
	return recv(fd, b, n, flags);
}

SHIM ssize_t __recvfrom_chk(int fd, void *restrict b, size_t n, size_t room, int flags,
			    struct sockaddr *restrict a, socklen_t *restrict l)
{
	if (n > room)
		__chk_fail();
	return recvfrom(fd, b, n, flags, a, l);
}

SHIM int __poll_chk(struct pollfd *p, nfds_t n, int timeout, size_t room)
{
	if (room / sizeof(*p) < n)
		__chk_fail();
	return poll(p, n, timeout);
}

SHIM int __ppoll_chk(struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *mask,
		     size_t room)
{
	if (room / sizeof(*p) < n)
		__chk_fail();
	return ppoll(p, n, t, mask);
}

/* --- jumps out of a call that waits ----------------------------------------------------------------------------------- */

/* A handler jumps out of a call that waited without a CPU: the thread gets one before. */
static void settle(void)
{
	sigset_t mask;

	if (!shim_active || !weir_blocking())
		return;
	/* The handler's mask stays, as it would. */
	pthread_sigmask(SIG_SETMASK, 0, &mask);
	while (weir_blocking())
		weir_blocking_end();
	pthread_sigmask(SIG_SETMASK, &mask, 0);
}

#define JUMPS(name)                                                                     \
	SHIM __attribute__((noreturn)) void name(struct __jmp_buf_tag at[1], int value) \
	{                                                                               \
		REAL_AS(name, void(struct __jmp_buf_tag *, int));                       \
		settle();                                                               \
		real(at, value);                                                        \
		abort();                                                                \
	}

JUMPS(longjmp)
JUMPS(_longjmp)
JUMPS(siglongjmp)
JUMPS(__longjmp_chk)
