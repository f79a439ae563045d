/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * For `runweir threads POLICY -- COMMAND`: preloaded into an unmodified program. Its main thread and the threads that it makes become
 * bound threads of the runtime; calls that may block give up the CPU meanwhile. The program's own objects stay as they are: where
 * pthread_mutex_lock() has to wait, the real one waits, without a CPU. A call that is not caught here (inside libc, a page fault)
 * blocks while holding the CPU, and loses it at the end of its slice, like a thread that computes.
 *
 * WEIR_THREADS_PLAN names the plan, which is removed after reading if WEIR_THREADS_UNLINK is set; WEIR_THREADS_STATS asks for a line of
 * counters at the end; WEIR_THREADS_TRACE, for a file of what ran where; WEIR_THREADS_GANGS names manifests, one per line, for OpenMP
 * teams; WEIR_THREADS_ATTRIBUTES, what all its threads begin with (`priority=3,weight=2048,group=1`).
 *
 * Or WEIR_THREADS_JOIN names the policy of another process. Programs that this one starts join it, too. WEIR_THREADS_JOINED is set
 * for them: if they cannot, they run without a policy. docs/threads.md has the reasons.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>
#include <weir/threads.h>

#define SHIM __attribute__((visibility("default")))

static int active;
static cpu_set_t whole; /* CPUs that the program may use */
static pthread_key_t ends;
static struct weir_thread_attr attributes; /* of new threads */

/* The thread is pinned again when it gets another CPU; until then it may run anywhere. */
static int sched_free(void)
{
	return (int)syscall(SYS_sched_setaffinity, 0, sizeof(whole), &whole);
}

static void *next(const char *name)
{
	/* libc has two versions of the condition functions; dlsym() would find the old ones. */
	void *f = !strncmp(name, "pthread_cond_", 13) ? dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2") : 0;

	if (!f)
		f = dlsym(RTLD_NEXT, name);
	if (!f) {
		static const char text[] =
			"runweir threads: libc lacks a function that is to be wrapped\n";

		(void)!write(2, text, sizeof(text) - 1);
		_exit(127);
	}
	return f;
}

#define REAL(name)                     \
	static __typeof__(name) *real; \
	if (!real)                     \
	real = (__typeof__(name) *)next(#name)
#define BLOCKING(call)                    \
	({                                \
		__typeof__(call) result_; \
		weir_blocking_begin();    \
		result_ = (call);         \
		weir_blocking_end();      \
		result_;                  \
	})

/* --- threads ------------------------------------------------------------------------------------------------ */

/* The runtime's thread for a POSIX thread. */
struct record {
	struct record *next;
	pthread_t thread;
	weir_thread *own;
	void *(*run)(void *);
	void *arg;
};

static weir_mutex list_lock;
static struct record *list;

static void enlist(struct record *r)
{
	r->thread = pthread_self();
	r->own = weir_thread_self();
	weir_mutex_lock(&list_lock);
	r->next = list;
	list = r;
	weir_mutex_unlock(&list_lock);
}

static void gone(void *arg)
{
	struct record *r = arg;

	weir_mutex_lock(&list_lock);
	for (struct record **at = &list; *at; at = &(*at)->next)
		if (*at == r) {
			*at = r->next;
			break;
		}
	weir_mutex_unlock(&list_lock);
	weir_thread_leave();
	free(r);
}

static void *begin(void *arg)
{
	struct record *r = arg;

	if (!weir_thread_adopt(&attributes)) {
		enlist(r);
		pthread_setspecific(ends, r);
	}
	return r->run(r->arg);
}

SHIM int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			void *arg)
{
	struct record *r;
	int err;

	REAL(pthread_create);
	if (!active)
		return real(thread, attr, run, arg);
	r = calloc(1, sizeof(*r));
	if (!r)
		return EAGAIN;
	r->run = run;
	r->arg = arg;
	err = real(thread, attr, begin, r);
	if (err)
		free(r);
	return err;
}

SHIM int pthread_join(pthread_t thread, void **result)
{
	REAL(pthread_join);
	return BLOCKING(real(thread, result));
}

SHIM int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *t)
{
	REAL(pthread_timedjoin_np);
	return BLOCKING(real(thread, result, t));
}

SHIM int pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock,
			      const struct timespec *t)
{
	REAL(pthread_clockjoin_np);
	return BLOCKING(real(thread, result, clock, t));
}

/* --- the same by C11's names: libc implements these with internal calls, which are not caught ---------------- */

struct c11 {
	thrd_start_t run;
	void *arg;
};

static void *begin_c11(void *arg)
{
	struct c11 c = *(struct c11 *)arg;

	free(arg);
	/* The result as thrd_join() reads it. */
	return (void *)(uintptr_t)(unsigned)c.run(c.arg);
}

static int c11_error(int err)
{
	return !err		  ? thrd_success
	       : err == ENOMEM	  ? thrd_nomem
	       : err == ETIMEDOUT ? thrd_timedout
	       : err == EBUSY	  ? thrd_busy
				  : thrd_error;
}

SHIM int thrd_create(thrd_t *thread, thrd_start_t run, void *arg)
{
	struct c11 *c;
	int err;

	REAL(thrd_create);
	if (!active)
		return real(thread, run, arg);
	c = malloc(sizeof(*c));
	if (!c)
		return thrd_nomem;
	*c = (struct c11){ run, arg };
	err = pthread_create(thread, 0, begin_c11, c);
	if (err)
		free(c);
	return c11_error(err);
}

SHIM int thrd_join(thrd_t thread, int *result)
{
	REAL(thrd_join);
	return BLOCKING(real(thread, result));
}

SHIM void thrd_yield(void)
{
	sched_yield();
}

SHIM int thrd_sleep(const struct timespec *t, struct timespec *left)
{
	REAL(thrd_sleep);
	return BLOCKING(real(t, left));
}

/* The objects are POSIX's under other names. */
SHIM int mtx_lock(mtx_t *m)
{
	return c11_error(pthread_mutex_lock((pthread_mutex_t *)m));
}

SHIM int mtx_timedlock(mtx_t *restrict m, const struct timespec *restrict t)
{
	return c11_error(pthread_mutex_timedlock((pthread_mutex_t *)m, t));
}

SHIM int cnd_wait(cnd_t *c, mtx_t *m)
{
	return c11_error(pthread_cond_wait((pthread_cond_t *)c, (pthread_mutex_t *)m));
}

SHIM int cnd_timedwait(cnd_t *restrict c, mtx_t *restrict m, const struct timespec *restrict t)
{
	return c11_error(pthread_cond_timedwait((pthread_cond_t *)c, (pthread_mutex_t *)m, t));
}

static int set_priority(pthread_t thread, int priority)
{
	int err = ESRCH;

	weir_mutex_lock(&list_lock);
	for (struct record *r = list; r; r = r->next)
		if (pthread_equal(r->thread, thread))
			err = -weir_thread_set(r->own, WEIR_PRIORITY, priority, 0);
	weir_mutex_unlock(&list_lock);
	return err;
}

/* These are the policy's priorities, not Linux's: the kernel is not asked, so root is not needed. */
SHIM int pthread_setschedparam(pthread_t thread, int policy, const struct sched_param *param)
{
	REAL(pthread_setschedparam);
	return active ? set_priority(thread, param->sched_priority) : real(thread, policy, param);
}

SHIM int pthread_setschedprio(pthread_t thread, int priority)
{
	REAL(pthread_setschedprio);
	return active ? set_priority(thread, priority) : real(thread, priority);
}

SHIM int sched_yield(void)
{
	REAL(sched_yield);
	/* The core's own spin loops call this, too. */
	if (!active || !weir_thread_self() || weir_disabled())
		return real();
	weir_thread_yield();
	return 0;
}

/* The runtime pins threads as the policy places them. The program sees its original CPU set, and its own settings have no effect. */
SHIM int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
	REAL(sched_getaffinity);
	if (!active || !weir_thread_self() || bytes < sizeof(whole))
		return real(pid, bytes, set);
	memset(set, 0, bytes);
	memcpy(set, &whole, sizeof(whole));
	return 0;
}

SHIM int sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *set)
{
	/* The runtime's own calls are direct system calls, or come from threads that do not run for the program at that moment. */
	REAL(sched_setaffinity);
	return active && weir_thread_self() ? 0 : real(pid, bytes, set);
}

SHIM int pthread_getaffinity_np(pthread_t thread, size_t bytes, cpu_set_t *set)
{
	REAL(pthread_getaffinity_np);
	if (!active || bytes < sizeof(whole))
		return real(thread, bytes, set);
	memset(set, 0, bytes);
	memcpy(set, &whole, sizeof(whole));
	return 0;
}

SHIM int pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *set)
{
	REAL(pthread_setaffinity_np);
	return active ? 0 : real(thread, bytes, set);
}

/* A program that blocks all signals could not be preempted. */
static const sigset_t *but_ours(int how, const sigset_t *set, sigset_t *copy)
{
	if (!active || !set || how == SIG_UNBLOCK)
		return set;
	*copy = *set;
	sigdelset(copy, SIGURG);
	return copy;
}

SHIM int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t copy;

	REAL(pthread_sigmask);
	return real(how, but_ours(how, set, &copy), old);
}

SHIM int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t copy;

	REAL(sigprocmask);
	return real(how, but_ours(how, set, &copy), old);
}

/* --- synchronisation ------------------------------------------------------------------------------------------ */

SHIM int pthread_mutex_lock(pthread_mutex_t *m)
{
	int err;

	REAL(pthread_mutex_lock);
	if (!active || !weir_thread_self())
		return real(m);
	err = pthread_mutex_trylock(m);
	return err == EBUSY ? BLOCKING(real(m)) : err;
}

/* With a time limit: try at once, else the real call waits without a CPU. */
SHIM int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *t)
{
	int err;

	REAL(pthread_mutex_timedlock);
	err = pthread_mutex_trylock(m);
	return err == EBUSY ? BLOCKING(real(m, t)) : err;
}

SHIM int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock, const struct timespec *t)
{
	int err;

	REAL(pthread_mutex_clocklock);
	err = pthread_mutex_trylock(m);
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
	err = pthread_rwlock_tryrdlock(l);
	return err == EBUSY ? BLOCKING(real(l, t)) : err;
}

SHIM int pthread_rwlock_timedwrlock(pthread_rwlock_t *l, const struct timespec *t)
{
	int err;

	REAL(pthread_rwlock_timedwrlock);
	err = pthread_rwlock_trywrlock(l);
	return err == EBUSY ? BLOCKING(real(l, t)) : err;
}

SHIM int pthread_rwlock_clockrdlock(pthread_rwlock_t *l, clockid_t clock, const struct timespec *t)
{
	int err;

	REAL(pthread_rwlock_clockrdlock);
	err = pthread_rwlock_tryrdlock(l);
	return err == EBUSY ? BLOCKING(real(l, clock, t)) : err;
}

SHIM int pthread_rwlock_clockwrlock(pthread_rwlock_t *l, clockid_t clock, const struct timespec *t)
{
	int err;

	REAL(pthread_rwlock_clockwrlock);
	err = pthread_rwlock_trywrlock(l);
	return err == EBUSY ? BLOCKING(real(l, clock, t)) : err;
}

SHIM int sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *t)
{
	REAL(sem_clockwait);
	return sem_trywait(s) ? BLOCKING(real(s, clock, t)) : 0;
}

SHIM int sem_wait(sem_t *s)
{
	REAL(sem_wait);
	return sem_trywait(s) ? BLOCKING(real(s)) : 0;
}

SHIM int sem_timedwait(sem_t *s, const struct timespec *t)
{
	REAL(sem_timedwait);
	return sem_trywait(s) ? BLOCKING(real(s, t)) : 0;
}

/* Runtimes of other languages wait by direct system calls. */
SHIM long syscall(long number, ...)
{
	long a[6];
	va_list list;

	REAL(syscall);
	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_futex) {
		int op = (int)a[1] & ~(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);

		if (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI)
			return BLOCKING(real(number, a[0], a[1], a[2], a[3], a[4], a[5]));
	}
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
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
	if (!timeout || !active || !weir_thread_self())
		return real(p, n, timeout);
	ready = real(p, n, 0);
	return ready ? ready : BLOCKING(real(p, n, timeout));
}

SHIM int ppoll(struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *mask)
{
	REAL(ppoll);
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
	REAL(pselect);
	return BLOCKING(real(n, in, out, except, t, mask));
}

SHIM int epoll_wait(int fd, struct epoll_event *events, int max, int timeout)
{
	int ready;

	REAL(epoll_wait);
	if (!timeout || !active || !weir_thread_self())
		return real(fd, events, max, timeout);
	ready = real(fd, events, max, 0);
	return ready ? ready : BLOCKING(real(fd, events, max, timeout));
}

SHIM int epoll_pwait(int fd, struct epoll_event *events, int max, int timeout, const sigset_t *mask)
{
	REAL(epoll_pwait);
	return timeout ? BLOCKING(real(fd, events, max, timeout, mask))
		       : real(fd, events, max, timeout, mask);
}

/* Whether a call on @fd would wait. */
static int would_wait(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };
	int was = errno, wait = active && weir_thread_self() && poll(&p, 1, 0) == 0;

	errno = was;
	return wait;
}

#define ON_FILE(fd, events, call) (would_wait((fd), (events)) ? BLOCKING(call) : (call))

SHIM ssize_t read(int fd, void *b, size_t n)
{
	REAL(read);
	return ON_FILE(fd, POLLIN, real(fd, b, n));
}

SHIM ssize_t readv(int fd, const struct iovec *v, int n)
{
	REAL(readv);
	return ON_FILE(fd, POLLIN, real(fd, v, n));
}

SHIM ssize_t recv(int fd, void *b, size_t n, int flags)
{
	REAL(recv);
	return flags & MSG_DONTWAIT ? real(fd, b, n, flags)
				    : ON_FILE(fd, POLLIN, real(fd, b, n, flags));
}

SHIM ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	REAL(recvmsg);
	return flags & MSG_DONTWAIT ? real(fd, m, flags) : ON_FILE(fd, POLLIN, real(fd, m, flags));
}

SHIM ssize_t recvfrom(int fd, void *b, size_t n, int flags, struct sockaddr *restrict a,
		      socklen_t *restrict l)
{
	REAL(recvfrom);
	return flags & MSG_DONTWAIT ? real(fd, b, n, flags, a, l)
				    : ON_FILE(fd, POLLIN, real(fd, b, n, flags, a, l));
}

SHIM ssize_t write(int fd, const void *b, size_t n)
{
	REAL(write);
	return ON_FILE(fd, POLLOUT, real(fd, b, n));
}

SHIM ssize_t writev(int fd, const struct iovec *v, int n)
{
	REAL(writev);
	return ON_FILE(fd, POLLOUT, real(fd, v, n));
}

SHIM ssize_t send(int fd, const void *b, size_t n, int flags)
{
	REAL(send);
	return flags & MSG_DONTWAIT ? real(fd, b, n, flags)
				    : ON_FILE(fd, POLLOUT, real(fd, b, n, flags));
}

SHIM ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	REAL(sendmsg);
	return flags & MSG_DONTWAIT ? real(fd, m, flags) : ON_FILE(fd, POLLOUT, real(fd, m, flags));
}

SHIM ssize_t sendto(int fd, const void *b, size_t n, int flags, const struct sockaddr *a,
		    socklen_t l)
{
	REAL(sendto);
	return flags & MSG_DONTWAIT ? real(fd, b, n, flags, a, l)
				    : ON_FILE(fd, POLLOUT, real(fd, b, n, flags, a, l));
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
	REAL(sigsuspend);
	return BLOCKING(real(set));
}

SHIM int sigwait(const sigset_t *restrict set, int *restrict sig)
{
	REAL(sigwait);
	return BLOCKING(real(set, sig));
}

SHIM int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info)
{
	REAL(sigwaitinfo);
	return BLOCKING(real(set, info));
}

SHIM int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info,
		      const struct timespec *restrict t)
{
	REAL(sigtimedwait);
	return BLOCKING(real(set, info, t));
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

/*
 * A program that this one starts may run anywhere, not only where the calling thread is pinned now. After a fork, weir_rt_open()'s
 * handler unpins the child; these calls have no such handler.
 */
static void anywhere(void)
{
	if (active && weir_thread_self())
		(void)!sched_free();
}

#define FREED(call)                       \
	({                                \
		__typeof__(call) result_; \
		anywhere();               \
		result_ = (call);         \
		result_;                  \
	})

SHIM int posix_spawn(pid_t *restrict pid, const char *restrict path,
		     const posix_spawn_file_actions_t *actions,
		     const posix_spawnattr_t *restrict attr, char *const argv[restrict],
		     char *const envp[restrict])
{
	REAL(posix_spawn);
	return FREED(real(pid, path, actions, attr, argv, envp));
}

SHIM int posix_spawnp(pid_t *restrict pid, const char *restrict path,
		      const posix_spawn_file_actions_t *actions,
		      const posix_spawnattr_t *restrict attr, char *const argv[restrict],
		      char *const envp[restrict])
{
	REAL(posix_spawnp);
	return FREED(real(pid, path, actions, attr, argv, envp));
}

SHIM int execve(const char *path, char *const argv[], char *const envp[])
{
	REAL(execve);
	return FREED(real(path, argv, envp));
}

SHIM int execv(const char *path, char *const argv[])
{
	REAL(execv);
	return FREED(real(path, argv));
}

SHIM int execvp(const char *path, char *const argv[])
{
	REAL(execvp);
	return FREED(real(path, argv));
}

SHIM int system(const char *command)
{
	REAL(system);
	return BLOCKING(FREED(real(command)));
}

SHIM FILE *popen(const char *command, const char *mode)
{
	REAL(popen);
	return FREED(real(command, mode));
}

/* --- the program's beginning and end ------------------------------------------------------------------------------------ */

/* One gang for each manifest. */
static int open_gangs(char *files)
{
	static char text[65536];

	for (char *name = strtok(files, "\n"); name; name = strtok(0, "\n")) {
		int fd = open(name, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

		if (fd >= 0)
			close(fd);
		if (n < 0) {
			fprintf(stderr, "runweir threads: %s: %s\n", name, strerror(errno));
			return 2;
		}
		if (weir_gang_open(text, (size_t)n) < 0) {
			fprintf(stderr, "runweir threads: %s: %s\n", name, weir_rt_error());
			return 2;
		}
	}
	return 0;
}

static int stats_file = -1; /* because programs close stderr before they end */
static int talks = -1;	    /* likewise */

/* `name=number,...` */
static int read_attributes(char *text)
{
	static const struct {
		const char *name;
		enum weir_attribute what;
	} known[] = { { "priority", WEIR_PRIORITY },
		      { "weight", WEIR_WEIGHT },
		      { "group", WEIR_GROUP } };

	for (char *part = strtok(text, ","); part; part = strtok(0, ",")) {
		char *value = strchr(part, '=');
		unsigned i = 0;

		while (i < sizeof(known) / sizeof(known[0]) &&
		       (!value || strncmp(part, known[i].name, (size_t)(value - part)) ||
			known[i].name[value - part]))
			i++;
		if (i == sizeof(known) / sizeof(known[0]))
			return 2;
		attributes.given |= 1u << known[i].what;
		attributes.value[known[i].what] = strtoll(value + 1, 0, 10);
	}
	return 0;
}

static void alone(const char *why)
{
	static const char rest[] = "; the program continues without a policy\n";

	if (talks < 0)
		return;
	(void)!syscall(SYS_write, talks, "runweir threads: ", 17);
	(void)!syscall(SYS_write, talks, why, strlen(why));
	(void)!syscall(SYS_write, talks, rest, sizeof(rest) - 1);
}

/* Take it out of the environment. */
static char *taken(const char *name)
{
	char *value = getenv(name);

	value = value ? strdup(value) : 0;
	unsetenv(name);
	return value;
}

static int failed(const char *why)
{
	fprintf(stderr, "runweir threads: %s\n", why);
	_exit(2);
}

/* Programs that this one starts join as well. 0: this one is not to have a policy. */
static int join_runtime(struct weir_rt_config *config)
{
	int follows = getenv("WEIR_THREADS_JOINED") != 0;

	config->join = getenv("WEIR_THREADS_JOIN");
	config->alone = alone;
	if (weir_rt_open(config)) {
		if (!follows) {
			fprintf(stderr, "runweir threads: %s\n", weir_rt_error());
			fprintf(stderr, "help: `runweir threads POLICY --serve NAME` starts a "
					"policy that programs join\n");
			_exit(2);
		}
		return 0;
	}
	setenv("WEIR_THREADS_JOINED", "1", 1);
	return 1;
}

/* The calling thread, with the attributes that all have. */
static int take_in(void)
{
	struct record *r = calloc(1, sizeof(*r));

	if (!r || weir_thread_adopt(&attributes)) {
		free(r);
		return -1;
	}
	enlist(r);
	active = 1;
	return 0;
}

/* In the child of a fork: it joins for itself. If it cannot, or there is nothing to join, it runs without a policy. */
static void follow(void)
{
	struct weir_rt_config config = { 0 };

	active = 0;
	stats_file = -1;
	list = 0;
	memset(&list_lock, 0, sizeof(list_lock));
	if (getenv("WEIR_THREADS_JOINED") && join_runtime(&config))
		take_in();
}

__attribute__((constructor)) static void open_runtime(void)
{
	struct weir_rt_config config = { 0 };
	char *plan = taken("WEIR_THREADS_PLAN"), *unlinks = taken("WEIR_THREADS_UNLINK"),
	     *stats = taken("WEIR_THREADS_STATS"), *gangs = taken("WEIR_THREADS_GANGS"),
	     *trace = taken("WEIR_THREADS_TRACE");
	const char *given = getenv("WEIR_THREADS_ATTRIBUTES");

	if (given && read_attributes(strdup(given)))
		failed("WEIR_THREADS_ATTRIBUTES: priority, weight and group are known, as "
		       "`priority=3`");
	sched_getaffinity(0, sizeof(whole), &whole);
	if (plan) {
		config.plan_file = plan;
		if (weir_rt_open(&config))
			failed(weir_rt_error());
		if (unlinks)
			unlink(plan);
		/* Programs that this one starts run without the runtime. */
		unsetenv("LD_PRELOAD");
	} else if (!getenv("WEIR_THREADS_JOIN") || !join_runtime(&config)) {
		return;
	}
	if (stats)
		stats_file = fcntl(2, F_DUPFD_CLOEXEC, 100);
	if (!plan)
		talks = fcntl(2, F_DUPFD_CLOEXEC, 100);
	if (gangs && open_gangs(gangs))
		_exit(2);
	if (trace && weir_rt_trace(trace))
		failed(weir_rt_error());
	if (pthread_key_create(&ends, gone) || take_in() || pthread_atfork(0, 0, follow)) {
		fprintf(stderr, "runweir threads: the main thread cannot be taken in\n");
		_exit(1);
	}
	free(plan);
	free(unlinks);
	free(stats);
	free(gangs);
	free(trace);
}

__attribute__((destructor)) static void close_runtime(void)
{
	struct weir_rt_stats s;

	if (active && weir_rt_trace_end() == -EIO)
		fprintf(stderr, "runweir threads: the trace could not be written\n");
	if (!active || stats_file < 0)
		return;
	weir_rt_stats(&s);
	dprintf(stats_file,
		"{\"policy\":\"%s\",\"cpus\":%u,\"threads\":%llu,\"dispatches\":%llu,\"blocks\":%"
		"llu,\"preemptions\":%llu,"
		"\"expiries\":%llu,\"kicks\":%llu,\"sleeps\":%llu,\"idle_ns\":%llu,\"deadline_"
		"misses\":%llu}\n",
		weir_rt_policy(), s.cpus, (unsigned long long)s.created,
		(unsigned long long)s.dispatches, (unsigned long long)s.blocks,
		(unsigned long long)s.preemptions, (unsigned long long)s.expiries,
		(unsigned long long)s.kicks, (unsigned long long)s.sleeps,
		(unsigned long long)s.idle_ns, (unsigned long long)s.deadline_misses);
}
