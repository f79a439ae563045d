/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * More of what few programs do (rare.c has the first part): `seldom CASE`, or `seldom` for a list of cases, each to be run in a process of its own:
 * those that were once another way under a policy or, with WEIR_LONG, all. Output and exit status are the same with and without a policy.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <linux/sched.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "cases.h"

/* Old programs do it that way. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static void *nothing(void *arg)
{
	return arg;
}

static void run(void *(*f)(void *), void *arg)
{
	pthread_t t;

	REQUIRE(!pthread_create(&t, 0, f, arg) && !pthread_join(t, 0));
}

static long ms_since(const struct timespec *from, clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (now.tv_sec - from->tv_sec) * 1000 + (now.tv_nsec - from->tv_nsec) / 1000000;
}

/* --- files that are waited for ------------------------------------------------------------------------------------ */

static int epolls, event;
static int taken;

static void *takes_events(void *arg)
{
	struct epoll_event e;
	uint64_t n;

	for (;;) {
		REQUIRE(epoll_wait(epolls, &e, 1, -1) == 1);
		if (read(event, &n, sizeof(n)) != sizeof(n)) {
			REQUIRE(errno == EAGAIN);
			continue;
		}
		if (__atomic_add_fetch(&taken, 1, __ATOMIC_ACQ_REL) >= 100)
			return arg;
	}
}

static void exclusive_waiters(void)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLEXCLUSIVE };
	pthread_t t[8];
	int own_polls[2];
	uint64_t more = 8;

	busy(1);
	epolls = epoll_create1(0);
	event = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK);
	REQUIRE(!epoll_ctl(epolls, EPOLL_CTL_ADD, event, &e));
	for (int i = 0; i < 2; i++) {
		own_polls[i] = epoll_create1(0);
		REQUIRE(!epoll_ctl(own_polls[i], EPOLL_CTL_ADD, event, &e));
	}
	for (int i = 0; i < 8; i++)
		REQUIRE(!pthread_create(&t[i], 0, takes_events, 0));
	for (int i = 0; i < 100; i++) {
		uint64_t one = 1;

		REQUIRE(write(event, &one, sizeof(one)) == sizeof(one));
		if (i % 10 == 0)
			usleep(1000);
	}
	while (__atomic_load_n(&taken, __ATOMIC_ACQUIRE) < 100)
		usleep(1000);
	REQUIRE(write(event, &more, sizeof(more)) == sizeof(more));
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], 0);
	printf("%d\n", taken >= 100);
}

static void files_of_events(void)
{
	struct itimerspec t = { { 0, 2000000 }, { 0, 2000000 } };
	char name[] = "/tmp/seldom-XXXXXX", file[64], room[4096];
	struct signalfd_siginfo info;
	int timer = timerfd_create(CLOCK_MONOTONIC, 0), watch = inotify_init(), sigs, fd;
	uint64_t n, sum = 0;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	REQUIRE(!pthread_sigmask(SIG_BLOCK, &set, 0));
	busy(2);
	REQUIRE(!timerfd_settime(timer, 0, &t, 0));
	for (; sum < 10; sum += n)
		REQUIRE(read(timer, &n, sizeof(n)) == sizeof(n));
	puts("timer");
	sigs = signalfd(-1, &set, 0);
	REQUIRE(!pthread_kill(pthread_self(), SIGUSR1));
	REQUIRE(read(sigs, &info, sizeof(info)) == sizeof(info));
	printf("%u %d\n", info.ssi_signo, info.ssi_code);
	REQUIRE(mkdtemp(name) && inotify_add_watch(watch, name, IN_CREATE | IN_DELETE) >= 0);
	snprintf(file, sizeof(file), "%s/x", name);
	if (!fork()) {
		usleep(5000);
		fd = open(file, O_CREAT | O_WRONLY, 0600);
		_exit(fd < 0 || unlink(file));
	}
	for (int seen = 0; seen < 2;) {
		ssize_t got = read(watch, room, sizeof(room));

		REQUIRE(got > 0);
		for (char *at = room; at < room + got;) {
			struct inotify_event *e = (void *)at;

			printf("%x %s\n", e->mask, e->name);
			at += sizeof(*e) + e->len;
			seen++;
		}
	}
	wait(0);
	rmdir(name);
}

static int sems, queue;

static void *sysv_consumes(void *arg)
{
	struct {
		long kind;
		int n;
	} m;
	struct sembuf up = { 1, 1, 0 };
	long sum = 0;

	for (int i = 0; i < 50; i++) {
		REQUIRE(msgrcv(queue, &m, sizeof(int), -3, 0) == sizeof(int));
		sum += m.n;
		REQUIRE(!semop(sems, &up, 1));
	}
	*(long *)arg = sum;
	return 0;
}

static void system_v(void)
{
	struct sembuf down = { 1, -1, 0 }, undo = { 0, -1, SEM_UNDO };
	struct {
		long kind;
		int n;
	} m;
	struct timespec little = { 0, 3000000 };
	long sum;
	pthread_t t;

	sems = semget(IPC_PRIVATE, 2, 0600);
	queue = msgget(IPC_PRIVATE, 0600);
	REQUIRE(sems >= 0 && queue >= 0);
	REQUIRE(!semctl(sems, 0, SETVAL, 1) && !semctl(sems, 1, SETVAL, 4));
	busy(1);
	REQUIRE(!pthread_create(&t, 0, sysv_consumes, &sum));
	for (int i = 0; i < 50; i++) {
		REQUIRE(!semop(sems, &down, 1));
		m.kind = 1 + i % 3;
		m.n = i;
		REQUIRE(!msgsnd(queue, &m, sizeof(int), 0));
	}
	pthread_join(t, 0);
	for (int i = 0; i < 3; i++)
		if (!fork()) {
			REQUIRE(!semop(sems, &undo, 1));
			usleep(2000);
			_exit(0);
		}
	while (wait(0) > 0)
		;
	REQUIRE(!semop(sems, &undo, 1));
	REQUIRE(semtimedop(sems, &undo, 1, &little) == -1);
	printf("%ld %d %d\n", sum, semctl(sems, 0, GETVAL), errno == EAGAIN);
	semctl(sems, 0, IPC_RMID);
	msgctl(queue, IPC_RMID, 0);
}

/* --- futexes by hand ------------------------------------------------------------------------------------------------ */

static int word, second, pi, robust_word;

static long futex(int *at, int op, int v, const void *t, int *other, int w)
{
	return syscall(SYS_futex, at, op, v, t, other, w);
}

static void *waits_bits(void *arg)
{
	int bits = (int)(long)arg;

	while (!__atomic_load_n(&word, __ATOMIC_ACQUIRE))
		futex(&word, FUTEX_WAIT_BITSET, 0, 0, 0, bits);
	return 0;
}

static void *waits_requeued(void *arg)
{
	while (futex(&second, FUTEX_WAIT, 0, 0, 0, 0) && errno == EINTR)
		;
	__atomic_add_fetch(&taken, 1, __ATOMIC_ACQ_REL);
	return arg;
}

static void *locks_pi(void *arg)
{
	int me = (int)syscall(SYS_gettid), none;

	for (int i = 0; i < 200; i++) {
		none = 0;
		if (!__atomic_compare_exchange_n(&pi, &none, me, 0, __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			REQUIRE(!futex(&pi, FUTEX_LOCK_PI, 0, 0, 0, 0));
		(*(int *)arg)++;
		none = me;
		if (!__atomic_compare_exchange_n(&pi, &none, 0, 0, __ATOMIC_RELEASE,
						 __ATOMIC_RELAXED))
			REQUIRE(!futex(&pi, FUTEX_UNLOCK_PI, 0, 0, 0, 0));
	}
	return 0;
}

static void futexes(void)
{
	pthread_t t[4];
	struct timespec until;
	int count = 0;

	busy(2);
	for (long i = 0; i < 4; i++)
		REQUIRE(!pthread_create(&t[i], 0, waits_bits, (void *)(1l << i)));
	usleep(3000);
	word = 1;
	for (int i = 0; i < 4; i++)
		futex(&word, FUTEX_WAKE_BITSET, INT_MAX, 0, 0, 1 << i);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
	puts("bits");
	for (int i = 0; i < 4; i++)
		REQUIRE(!pthread_create(&t[i], 0, waits_requeued, 0));
	while (taken < 4) {
		futex(&second, FUTEX_CMP_REQUEUE, 1, (void *)(long)INT_MAX, &robust_word, 0);
		futex(&robust_word, FUTEX_WAKE, 1, 0, 0, 0);
		usleep(1000);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
	puts("requeued");
	for (int i = 0; i < 4; i++)
		REQUIRE(!pthread_create(&t[i], 0, locks_pi, &count));
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec = (until.tv_nsec + 2000000) % 1000000000;
	if (until.tv_nsec < 2000000)
		until.tv_sec++;
	REQUIRE(futex(&second, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0, &until, 0, -1) == -1);
	printf("%d %d\n", count, errno == ETIMEDOUT);
}

struct two {
	uint64_t value, address;
	uint32_t flags, reserved;
};

static void *wakes_second(void *arg)
{
	usleep(3000);
	__atomic_store_n(&second, 1, __ATOMIC_RELEASE);
	while (!stop) {
		futex(&second, FUTEX_WAKE, INT_MAX, 0, 0, 0);
		usleep(1000);
	}
	return arg;
}

static void many_futexes(void)
{
	struct two w[2] = { { 0, (uintptr_t)&word, 2, 0 }, { 0, (uintptr_t)&second, 2, 0 } };
	struct timespec t;
	pthread_t wakes;
	long r;

	busy(1);
	clock_gettime(CLOCK_MONOTONIC, &t);
	r = syscall(449, w, 2, 0, &t, CLOCK_MONOTONIC);
	if (r < 0 && errno == ENOSYS)
		skip("no futex_waitv");
	printf("%d\n", errno == ETIMEDOUT);
	REQUIRE(!pthread_create(&wakes, 0, wakes_second, 0));
	r = syscall(449, w, 2, 0, 0, CLOCK_MONOTONIC);
	printf("%d\n", r == 1 || (r < 0 && errno == EAGAIN));
	stop = 1;
	pthread_join(wakes, 0);
}

/* --- locks ---------------------------------------------------------------------------------------------------------- */

static pthread_rwlock_t rw;
static int writers;

static void *writes(void *arg)
{
	for (int i = 0; i < 20; i++) {
		REQUIRE(!pthread_rwlock_wrlock(&rw));
		writers++;
		pthread_rwlock_unlock(&rw);
	}
	return arg;
}

static void *reads(void *arg)
{
	while (!stop) {
		REQUIRE(!pthread_rwlock_rdlock(&rw));
		sched_yield();
		pthread_rwlock_unlock(&rw);
	}
	return arg;
}

static void writers_first(void)
{
	pthread_rwlockattr_t a;
	pthread_t r[3], w[2];

	pthread_rwlockattr_init(&a);
	pthread_rwlockattr_setkind_np(&a, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	REQUIRE(!pthread_rwlock_init(&rw, &a));
	for (int i = 0; i < 3; i++)
		REQUIRE(!pthread_create(&r[i], 0, reads, 0));
	for (int i = 0; i < 2; i++)
		REQUIRE(!pthread_create(&w[i], 0, writes, 0));
	for (int i = 0; i < 2; i++)
		pthread_join(w[i], 0);
	stop = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(r[i], 0);
	printf("%d\n", writers);
}

/* What a call says of a wrong time, a free lock, a lock of its own. */
static void answers_of_locks(void)
{
	struct timespec wrong = { 0, -1 }, past = { 0, 0 };
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, e = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
	pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	int r;

	printf("%d", pthread_mutex_timedlock(&m, &wrong));
	printf(" %d", pthread_mutex_timedlock(&m, &wrong));
	printf(" %d\n", pthread_mutex_timedlock(&m, &past));
	pthread_mutex_unlock(&m);
	printf("%d", pthread_mutex_clocklock(&m, CLOCK_PROCESS_CPUTIME_ID, &past));
	printf(" %d\n", pthread_mutex_trylock(&m));
	r = pthread_rwlock_timedrdlock(&l, &wrong);
	printf("%d", r);
	if (!r)
		pthread_rwlock_unlock(&l);
	r = pthread_rwlock_timedwrlock(&l, &wrong);
	printf(" %d", r);
	if (!r)
		pthread_rwlock_unlock(&l);
	r = pthread_rwlock_clockrdlock(&l, CLOCK_PROCESS_CPUTIME_ID, &past);
	printf(" %d", r);
	if (!r)
		pthread_rwlock_unlock(&l);
	r = pthread_rwlock_clockwrlock(&l, CLOCK_PROCESS_CPUTIME_ID, &past);
	printf(" %d\n", r);
	if (r)
		REQUIRE(!pthread_rwlock_wrlock(&l));
	printf("%d %d %d\n", pthread_rwlock_wrlock(&l), pthread_rwlock_rdlock(&l),
	       pthread_rwlock_timedrdlock(&l, &past));
	REQUIRE(!pthread_mutex_lock(&e));
	printf("%d %d\n", pthread_mutex_lock(&e), pthread_mutex_timedlock(&e, &past));
	printf("%d %d\n", pthread_cond_timedwait(&c, &e, &wrong),
	       pthread_cond_clockwait(&c, &e, CLOCK_PROCESS_CPUTIME_ID, &past));
	printf("%d %d\n", pthread_cond_clockwait(&c, &e, CLOCK_MONOTONIC, &past),
	       pthread_join(pthread_self(), 0));
}

static void answers_of_semaphores(void)
{
	struct timespec wrong = { 0, -1 }, past = { 0, 0 };
	sem_t s;

	REQUIRE(!sem_init(&s, 0, 1));
	errno = 7;
	printf("%d %d\n", sem_wait(&s), errno);
	errno = 0;
	printf("%d", sem_timedwait(&s, &past));
	printf(" %d\n", errno);
	REQUIRE(!sem_post(&s));
	errno = 0;
	printf("%d", sem_timedwait(&s, &wrong));
	printf(" %d\n", errno);
	errno = 0;
	printf("%d", sem_clockwait(&s, CLOCK_PROCESS_CPUTIME_ID, &past));
	printf(" %d\n", errno);
}

struct shared {
	pthread_barrier_t barrier;
	pthread_mutex_t m;
	pthread_cond_t c;
	int serial, ready;
};

static void shared_barrier(void)
{
	struct shared *s = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_barrierattr_t b;
	pthread_mutexattr_t m;
	pthread_condattr_t c;
	struct timespec until;

	pthread_barrierattr_init(&b);
	pthread_barrierattr_setpshared(&b, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_init(&m);
	pthread_mutexattr_setpshared(&m, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setprotocol(&m, PTHREAD_PRIO_INHERIT);
	pthread_condattr_init(&c);
	pthread_condattr_setpshared(&c, PTHREAD_PROCESS_SHARED);
	pthread_condattr_setclock(&c, CLOCK_MONOTONIC);
	REQUIRE(!pthread_barrier_init(&s->barrier, &b, 4) && !pthread_mutex_init(&s->m, &m) &&
		!pthread_cond_init(&s->c, &c));
	for (int i = 0; i < 3; i++)
		if (!fork()) {
			busy(1);
			for (int k = 0; k < 20; k++)
				if (pthread_barrier_wait(&s->barrier) ==
				    PTHREAD_BARRIER_SERIAL_THREAD)
					__atomic_add_fetch(&s->serial, 1, __ATOMIC_RELAXED);
			REQUIRE(!pthread_mutex_lock(&s->m));
			s->ready++;
			pthread_cond_signal(&s->c);
			pthread_mutex_unlock(&s->m);
			_exit(0);
		}
	for (int k = 0; k < 20; k++)
		if (pthread_barrier_wait(&s->barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
			__atomic_add_fetch(&s->serial, 1, __ATOMIC_RELAXED);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += 30;
	pthread_mutex_lock(&s->m);
	while (s->ready < 3)
		REQUIRE(!pthread_cond_timedwait(&s->c, &s->m, &until));
	pthread_mutex_unlock(&s->m);
	while (wait(0) > 0)
		;
	printf("%d %d\n", s->serial, s->ready);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int tries, finished;

static void slow_once(void)
{
	tries++;
	if (tries == 1)
		for (;;)
			pause();
	finished++;
}

static void *does_once(void *arg)
{
	pthread_once(&once, slow_once);
	return arg;
}

static void once_cancelled(void)
{
	pthread_t first, t[3];
	void *result;

	busy(1);
	REQUIRE(!pthread_create(&first, 0, does_once, 0));
	while (!__atomic_load_n(&tries, __ATOMIC_ACQUIRE))
		usleep(1000);
	for (int i = 0; i < 3; i++)
		REQUIRE(!pthread_create(&t[i], 0, does_once, 0));
	usleep(2000);
	pthread_cancel(first);
	pthread_join(first, &result);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], 0);
	printf("%d %d %d\n", tries, finished, result == PTHREAD_CANCELED);
}

static pthread_key_t key;
static int rounds;
static pthread_mutex_t plain_lock = PTHREAD_MUTEX_INITIALIZER;

static void again(void *arg)
{
	pthread_mutex_lock(&plain_lock);
	rounds++;
	usleep(1000);
	pthread_mutex_unlock(&plain_lock);
	pthread_setspecific(key, arg);
}

static void *has_specific(void *arg)
{
	pthread_setspecific(key, &key);
	return arg;
}

static void leaves_again(void *arg)
{
	(void)arg;
	rounds++;
	pthread_exit(0);
}

static void destructors(void)
{
	busy(1);
	REQUIRE(!pthread_key_create(&key, again));
	for (int i = 0; i < 5; i++)
		run(has_specific, 0);
	printf("%d\n", rounds);
}

/* --- processes ------------------------------------------------------------------------------------------------------- */

static int prepared, in_parent, in_child;

static void prepare(void)
{
	pthread_mutex_lock(&plain_lock);
	prepared++;
}

static void parent(void)
{
	in_parent++;
	pthread_mutex_unlock(&plain_lock);
}

static void child(void)
{
	in_child++;
	pthread_mutex_unlock(&plain_lock);
}

static void *locks_on(void *arg)
{
	while (!stop) {
		pthread_mutex_lock(&plain_lock);
		sched_yield();
		pthread_mutex_unlock(&plain_lock);
	}
	return arg;
}

static void *forks(void *arg)
{
	for (int i = 0; i < 8; i++) {
		pid_t p = fork();

		if (!p) {
			pthread_mutex_lock(&plain_lock);
			run(nothing, 0);
			_exit(in_child == 1 ? 3 : 4);
		}
		REQUIRE(status_of(p) == 3);
	}
	return arg;
}

static void forks_from_all(void)
{
	pthread_t t[4], l[2];

	REQUIRE(!pthread_atfork(prepare, parent, child));
	for (int i = 0; i < 2; i++)
		REQUIRE(!pthread_create(&l[i], 0, locks_on, 0));
	for (int i = 0; i < 4; i++)
		REQUIRE(!pthread_create(&t[i], 0, forks, 0));
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(l[i], 0);
	printf("%d %d\n", prepared, in_parent);
}

static volatile int forked, statuses;

static void forks_in_handler(int sig)
{
	pid_t p = fork();

	(void)sig;
	if (!p)
		_exit(5);
	if (p > 0 && status_of(p) == 5)
		statuses++;
	forked++;
}

static void fork_in_a_handler(void)
{
	struct itimerval t = { { 0, 5000 }, { 0, 5000 } }, off = { { 0, 0 }, { 0, 0 } };

	signal(SIGALRM, forks_in_handler);
	busy(1);
	setitimer(ITIMER_REAL, &t, 0);
	while (forked < 10)
		pause();
	setitimer(ITIMER_REAL, &off, 0);
	printf("%d\n", forked == statuses);
}

static void *fails_to_exec(void *arg)
{
	char *const argv[] = { "none", 0 }, *const env[] = { 0 };

	for (volatile int i = 0; i < 30; i++) {
		REQUIRE(execv("/none/such", argv) == -1 && errno == ENOENT);
		REQUIRE(execve("/tmp", argv, env) == -1 && errno == EACCES);
		REQUIRE(execvp("no-such-program", argv) == -1 && errno == ENOENT);
		if (i % 10 == 0) {
			pid_t p = vfork();

			if (!p) {
				execv("/none/such", argv);
				_exit(127);
			}
			REQUIRE(status_of(p) == 127);
		}
	}
	return arg;
}

static void failing_programs(void)
{
	pthread_t t[3];
	pid_t p;

	busy(1);
	for (int i = 0; i < 3; i++)
		REQUIRE(!pthread_create(&t[i], 0, fails_to_exec, 0));
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], 0);
	REQUIRE(posix_spawn(&p, "/none/such", 0, 0, (char *const[]){ "x", 0 }, environ) == ENOENT);
	puts("goes on");
}

static void twice_a_daemon(void)
{
	int pair[2];
	char text[8] = "";
	pid_t p;

	busy(1);
	REQUIRE(!pipe(pair));
	p = fork();
	if (!p) {
		busy(1);
		REQUIRE(!daemon(0, 0) && !daemon(1, 1));
		run(nothing, 0);
		for (int fd = 0; fd < 1024; fd++)
			if (fd != pair[1])
				syscall(SYS_close, fd);
		run(nothing, 0);
		usleep(3000);
		_exit(write(pair[1], "done", 4) != 4);
	}
	close(pair[1]);
	status_of(p);
	REQUIRE(read(pair[0], text, 4) == 4);
	puts(text);
}

/* By calls of its own, not libc's. */
static void closes_all_by_hand(void)
{
	int fd = open("/dev/null", O_RDONLY), end = 0;

	busy(1);
	for (int i = 3; i < 1024; i++)
		syscall(SYS_close, i);
	run(nothing, 0);
	syscall(SYS_close_range, 3, ~0u, 0);
	for (int i = 0; i < 20; i++) {
		run(nothing, 0);
		usleep(500);
	}
	end = open("/dev/null", O_RDONLY);
	printf("%d %d\n", fd, end);
	for (int i = 3; i < 400; i++)
		if (syscall(SYS_dup2, 1, i) == i)
			end++;
	printf("%d\n", end > 100);
	for (int i = 0; i < 20; i++) {
		run(nothing, 0);
		usleep(500);
	}
	if (!fork()) {
		run(nothing, 0);
		_exit(0);
	}
	wait(0);
	puts("goes on");
}

static void *new_place(void *arg)
{
	sigset_t set;

	REQUIRE(!pthread_sigmask(SIG_BLOCK, 0, &set));
	for (int i = 1; i < 32; i++)
		if (sigismember(&set, i) == 1)
			printf(" %d", i);
	puts("");
	return arg;
}

static void masks_of_attributes(void)
{
	pthread_attr_t a;
	sigset_t set;
	pthread_t t;

	pthread_attr_init(&a);
	sigfillset(&set);
	REQUIRE(!pthread_attr_setsigmask_np(&a, &set));
	REQUIRE(!pthread_create(&t, &a, new_place, 0) && !pthread_join(t, 0));
	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	sigaddset(&set, SIGUSR1);
	REQUIRE(!pthread_sigmask(SIG_SETMASK, &set, 0));
	run(new_place, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	REQUIRE(!pthread_attr_setsigmask_np(&a, &set));
	REQUIRE(!pthread_create(&t, &a, new_place, 0) && !pthread_join(t, 0));
}

/* --- signals ---------------------------------------------------------------------------------------------------------- */

static volatile int count, inner;

static void counts(int sig)
{
	(void)sig;
	count++;
}

static void old_masks(void)
{
	sigset_t set;

	busy(2);
	printf("%d\n", sigsetmask(~0));
	REQUIRE(!pthread_sigmask(SIG_BLOCK, 0, &set));
	printf("%d %d\n", sigismember(&set, SIGUSR1), sigismember(&set, SIGURG));
	run(new_place, 0);
	sigsetmask(0);
	sigblock(1 << (SIGUSR2 - 1) | 1 << (SIGURG - 1));
	REQUIRE(!pthread_sigmask(SIG_BLOCK, 0, &set));
	printf("%d %d\n", sigismember(&set, SIGUSR2), sigismember(&set, SIGURG));
	sigsetmask(0);
	REQUIRE(sigset(SIGUSR1, counts) == SIG_DFL);
	REQUIRE(sigset(SIGUSR1, SIG_HOLD) == counts);
	raise(SIGUSR1);
	printf("%d", count);
	REQUIRE(!sigrelse(SIGUSR1));
	printf(" %d\n", count);
	REQUIRE(!sighold(SIGUSR1) && !raise(SIGUSR1));
	/* In this header it takes a mask. */
	sigpause(0);
	printf("%d\n", count);
	REQUIRE(!sigignore(SIGUSR1) && !raise(SIGUSR1));
	sigset(SIGUSR1, counts);
	REQUIRE(!sighold(SIGURG));
	REQUIRE(!pthread_sigmask(SIG_BLOCK, 0, &set));
	printf("%d\n", sigismember(&set, SIGURG));
	REQUIRE(!sigrelse(SIGURG));
	REQUIRE(!pthread_sigmask(SIG_BLOCK, 0, &set));
	printf("%d %d\n", count, sigismember(&set, SIGURG));
	busy(2);
	for (int i = 0; i < 20; i++)
		usleep(500);
}

/* By a call of its own, as some daemons begin. */
static void resets_all(void)
{
	unsigned long none[4] = { 0 }, all = 0;
	int n = 0;

	busy(2);
	for (int sig = 1; sig < 65; sig++)
		n += !syscall(SYS_rt_sigaction, sig, none, 0, 8);
	REQUIRE(!syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, 0, 8));
	for (int i = 0; i < 20; i++) {
		run(nothing, 0);
		usleep(500);
	}
	printf("%d\n", n);
}

static pthread_t threads_hit[3];

static void set_by_sigset(int sig)
{
	(void)sig;
	/* Not where its thread waits for a CPU. */
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&m);
	usleep(100);
	pthread_mutex_unlock(&m);
	__atomic_add_fetch((int *)&count, 1, __ATOMIC_RELAXED);
}

static void *sleeps_and_computes(void *arg)
{
	while (!stop) {
		for (volatile int i = 0; i < 10000; i++)
			;
		usleep(50);
		sched_yield();
	}
	return arg;
}

static void old_handlers(void)
{
	REQUIRE(sigset(SIGUSR1, set_by_sigset) == SIG_DFL);
	for (int i = 0; i < 3; i++)
		REQUIRE(!pthread_create(&threads_hit[i], 0, sleeps_and_computes, 0));
	for (int i = 0; i < 300; i++) {
		int was = count;

		REQUIRE(!pthread_kill(threads_hit[i % 3], SIGUSR1));
		while (count == was)
			usleep(100);
	}
	stop = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads_hit[i], 0);
	printf("%d\n", count);
}

static __thread sigjmp_buf recovers_here;

static void jumps_back(int sig, siginfo_t *i, void *context)
{
	(void)context;
	siglongjmp(recovers_here, sig == SIGSEGV && i->si_code > 0 ? 1 : 2);
}

static int deep(volatile char *from)
{
	volatile char here[512];

	here[0] = from[0];
	here[511] = 1;
	return here[0] == 7 ? 0 : deep(here) + here[0] + here[511];
}

static void *overflows(void *arg)
{
	stack_t s = { .ss_size = 65536 };
	char c = 0;

	s.ss_sp = malloc(s.ss_size);
	REQUIRE(!sigaltstack(&s, 0));
	for (int i = 0; i < 10; i++) {
		int r = sigsetjmp(recovers_here, 1);

		if (r)
			__atomic_add_fetch((int *)arg, r == 1, __ATOMIC_RELAXED);
		else
			deep(&c);
		usleep(100);
	}
	return 0;
}

static void recovered_overflows(void)
{
	struct sigaction act = { .sa_sigaction = jumps_back, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	pthread_t t[3];
	int recovered = 0;

	sigemptyset(&act.sa_mask);
	REQUIRE(!sigaction(SIGSEGV, &act, 0) && !sigaction(SIGBUS, &act, 0));
	busy(1);
	for (int i = 0; i < 3; i++)
		REQUIRE(!pthread_create(&t[i], 0, overflows, &recovered));
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], 0);
	printf("%d\n", recovered);
}

static void on_small_stack(int sig)
{
	struct timespec from;

	(void)sig;
	clock_gettime(CLOCK_MONOTONIC, &from);
	while (ms_since(&from, CLOCK_MONOTONIC) < 20)
		;
	count++;
}

static void small_signal_stacks(void)
{
	struct sigaction act = { .sa_handler = on_small_stack, .sa_flags = SA_ONSTACK };
	char *room = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t s = { .ss_size = 8192, .ss_sp = room + 65536 };
	int touched = 0;

	sigemptyset(&act.sa_mask);
	busy(2);
	REQUIRE(!sigaltstack(&s, 0) && !sigaction(SIGUSR1, &act, 0));
	for (int i = 0; i < 5; i++)
		raise(SIGUSR1);
	for (int i = 0; i < 65536; i++)
		touched += room[i] != 0;
	printf("%d %d\n", count, touched);
}

static void order_of_realtime(void)
{
	sigset_t set;
	siginfo_t info;
	struct timespec none = { 0, 0 };

	sigemptyset(&set);
	for (int i = SIGRTMIN; i <= SIGRTMIN + 5; i++)
		sigaddset(&set, i);
	sigaddset(&set, SIGUSR1);
	REQUIRE(!pthread_sigmask(SIG_BLOCK, &set, 0));
	busy(1);
	for (int k = 0; k < 3; k++)
		for (int i = 5; i >= 0; i--)
			REQUIRE(!sigqueue(getpid(), SIGRTMIN + i,
					  (union sigval){ .sival_int = k }));
	REQUIRE(!pthread_kill(pthread_self(), SIGUSR1) && !kill(getpid(), SIGUSR1));
	while (sigtimedwait(&set, &info, &none) > 0)
		printf("%d:%d ", info.si_signo - (info.si_signo >= SIGRTMIN ? SIGRTMIN : 0),
		       info.si_signo >= SIGRTMIN ? info.si_value.sival_int : info.si_code);
	printf("\n%d\n", errno == EAGAIN);
}

static void masks_of_waits(void)
{
	struct timespec t = { 5, 0 }, little = { 0, 2000000 };
	struct pollfd none = { .fd = -1 };
	sigset_t set, empty;

	signal(SIGUSR1, counts);
	sigemptyset(&empty);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	REQUIRE(!pthread_sigmask(SIG_BLOCK, &set, 0));
	busy(2);
	for (int i = 0; i < 10; i++) {
		REQUIRE(!raise(SIGUSR1) && count == 3 * i);
		REQUIRE(ppoll(&none, 1, &t, &empty) == -1 && errno == EINTR);
		REQUIRE(!kill(getpid(), SIGUSR1) && count == 3 * i + 1);
		REQUIRE(pselect(0, 0, 0, 0, &t, &empty) == -1 && errno == EINTR);
		REQUIRE(!raise(SIGUSR1) && count == 3 * i + 2);
		REQUIRE(sigsuspend(&empty) == -1 && errno == EINTR && count == 3 * i + 3);
		REQUIRE(ppoll(&none, 1, &little, &set) == 0);
	}
	printf("%d\n", count);
}

static void children_by_waitid(void)
{
	int sums[3] = { 0 };
	siginfo_t i;

	signal(SIGCHLD, counts);
	busy(1);
	for (int n = 0; n < 9; n++)
		if (!fork()) {
			usleep(1000 * (n % 3));
			if (n % 3 == 1)
				raise(SIGKILL);
			if (n % 3 == 2)
				abort();
			_exit(n);
		}
	for (int n = 0; n < 9;) {
		i.si_pid = 0;
		if (waitid(P_ALL, 0, &i, WEXITED | WNOWAIT) < 0) {
			REQUIRE(errno == EINTR);
			continue;
		}
		REQUIRE(!waitid(P_PID, (id_t)i.si_pid, &i, WEXITED));
		sums[i.si_code == CLD_EXITED ? 0 : i.si_code == CLD_KILLED ? 1 : 2]++;
		n++;
	}
	printf("%d %d %d %d\n", sums[0], sums[1], sums[2], count > 0);
}

/* Where there is room for no more queued signals and timers. */
static void no_queued_signals(void)
{
	struct rlimit none = { 0, 0 };
	pthread_t t;
	int err = 0;

	busy(1);
	REQUIRE(!setrlimit(RLIMIT_SIGPENDING, &none));
	for (int i = 0; i < 5 && !err; i++) {
		err = pthread_create(&t, 0, nothing, 0);
		if (!err)
			pthread_join(t, 0);
	}
	printf("%d\n", err);
	signal(SIGUSR1, counts);
	for (int i = 0; i < 5; i++)
		REQUIRE(!raise(SIGUSR1));
	printf("%d\n", count);
	if (!fork()) {
		run(nothing, 0);
		_exit(0);
	}
	REQUIRE(wait(0) > 0);
}

/* --- terminals --------------------------------------------------------------------------------------------------------- */

static void has_terminal(void)
{
	char text[16];
	pid_t p;
	int status;

	busy(1);
	signal(SIGTTOU, SIG_IGN);
	p = fork();
	if (!p) {
		setpgid(0, 0);
		busy(1);
		signal(SIGTTIN, SIG_DFL);
		/* In the background until the other has the terminal. */
		REQUIRE(read(0, text, sizeof(text)) == 3);
		_exit(7);
	}
	setpgid(p, p);
	REQUIRE(waitpid(p, &status, WUNTRACED) == p && WIFSTOPPED(status));
	printf("stopped %d\n", WSTOPSIG(status));
	fflush(stdout);
	REQUIRE(!tcsetpgrp(0, p) && !kill(-p, SIGCONT));
	REQUIRE(waitpid(p, &status, WCONTINUED) == p && WIFCONTINUED(status));
	puts("continued");
	fflush(stdout);
	REQUIRE(waitpid(p, &status, WUNTRACED) == p && WIFSTOPPED(status));
	printf("stopped %d\n", WSTOPSIG(status));
	REQUIRE(!kill(-p, SIGCONT) && waitpid(p, &status, WCONTINUED) == p);
	puts("foreground");
	fflush(stdout);
	printf("status %d\n", status_of(p));
	REQUIRE(!tcsetpgrp(0, getpgrp()));
	fflush(stdout);
	_exit(0);
}

static void job_control(void)
{
	char text[4096];
	size_t at = 0;
	ssize_t n;
	int fd, sent = 0;
	pid_t p = forkpty(&fd, 0, 0, 0);

	if (!p)
		has_terminal();
	busy(1);
	while ((n = read(fd, text + at, sizeof(text) - 1 - at)) > 0) {
		at += (size_t)n;
		text[at] = 0;
		if (!sent && strstr(text, "continued")) {
			usleep(2000);
			REQUIRE(write(fd, "\x1a", 1) == 1);
			sent = 1;
		}
		if (sent == 1 && strstr(text, "foreground")) {
			REQUIRE(write(fd, "ab\n", 3) == 3);
			sent = 2;
		}
	}
	for (char *line = strtok(text, "\r\n"); line; line = strtok(0, "\r\n"))
		if (strstr(line, "st"))
			puts(strstr(line, "st"));
	printf("%d\n", status_of(p));
}

/* --- CPUs and clocks ---------------------------------------------------------------------------------------------------- */

static void *asks_cpus(void *arg)
{
	cpu_set_t set, by_call;
	long bytes;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	REQUIRE(!sched_setaffinity(0, sizeof(set), &set));
	CPU_ZERO(&by_call);
	bytes = syscall(SYS_sched_getaffinity, 0, sizeof(by_call), &by_call);
	printf("%d %d\n", bytes > 0, CPU_EQUAL(&set, &by_call));
	CPU_SET(1, &set);
	REQUIRE(!syscall(SYS_sched_setaffinity, syscall(SYS_gettid), sizeof(set), &set));
	CPU_ZERO(&by_call);
	REQUIRE(!sched_getaffinity(0, sizeof(by_call), &by_call));
	printf("%d\n", CPU_COUNT(&by_call));
	CPU_CLR(1, &set);
	REQUIRE(!syscall(SYS_sched_setaffinity, 0, sizeof(set), &set));
	if (!fork()) {
		CPU_ZERO(&by_call);
		syscall(SYS_sched_getaffinity, 0, sizeof(by_call), &by_call);
		_exit(CPU_COUNT(&by_call));
	}
	return arg;
}

static void cpus_by_call(void)
{
	int status;
	cpu_set_t set;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip("one CPU");
	busy(1);
	CPU_ZERO(&set);
	REQUIRE(syscall(SYS_sched_getaffinity, getpid(), sizeof(set), &set) > 0);
	printf("%d\n", CPU_COUNT(&set));
	run(asks_cpus, 0);
	REQUIRE(wait(&status) > 0);
	printf("%d\n", WEXITSTATUS(status));
	CPU_ZERO(&set);
	REQUIRE(syscall(SYS_sched_getaffinity, 0, sizeof(set), &set) > 0);
	printf("%d\n", CPU_COUNT(&set));
}

static void *burns(void *arg)
{
	struct timespec t;

	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while (t.tv_nsec < 20000000 && !t.tv_sec);
	while (!stop)
		usleep(1000);
	return arg;
}

static void clocks_of_threads(void)
{
	struct timespec t = { 0, 0 }, from, until;
	struct rusage u;
	clockid_t c, mine;
	pthread_t burner;

	REQUIRE(!pthread_create(&burner, 0, burns, 0));
	REQUIRE(!pthread_getcpuclockid(burner, &c) &&
		!pthread_getcpuclockid(pthread_self(), &mine));
	while (t.tv_nsec < 20000000 && !t.tv_sec) {
		usleep(1000);
		REQUIRE(!clock_gettime(c, &t));
	}
	REQUIRE(!clock_gettime(mine, &t) && t.tv_sec == 0);
	REQUIRE(!getrusage(RUSAGE_THREAD, &u) && u.ru_utime.tv_sec == 0);
	stop = 1;
	pthread_join(burner, 0);
	stop = 0;
	busy(1);
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (int i = 1; i <= 10; i++) {
		until = from;
		until.tv_nsec += i * 2000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		REQUIRE(!clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, 0));
		REQUIRE(ms_since(&from, CLOCK_MONOTONIC) >= i * 2);
	}
	t = (struct timespec){ 0, 3000000 };
	REQUIRE(!clock_nanosleep(CLOCK_PROCESS_CPUTIME_ID, 0, &t, 0));
	printf("%d\n", clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &t, 0));
}

static int lock_word;

static void *yields_for_lock(void *arg)
{
	for (int i = 0; i < 300; i++) {
		while (__atomic_exchange_n(&lock_word, 1, __ATOMIC_ACQUIRE))
			sched_yield();
		(*(int *)arg)++;
		__atomic_store_n(&lock_word, 0, __ATOMIC_RELEASE);
	}
	return 0;
}

static void locks_by_yields(void)
{
	pthread_t t[4];
	int n = 0;

	for (int i = 0; i < 4; i++)
		REQUIRE(!pthread_create(&t[i], 0, yields_for_lock, &n));
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
	printf("%d\n", n);
}

static void memory_barriers(void)
{
	busy(1);
	for (int i = 0; i < 20; i++) {
		REQUIRE(!syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0));
		REQUIRE(!syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0));
	}
	puts("barriers");
}

/* --- memory -------------------------------------------------------------------------------------------------------------- */

static void all_memory_locked(void)
{
	int r, s;

	busy(1);
	r = mlockall(MCL_CURRENT);
	s = munlockall();
	printf("%d %d\n", r, s);
	r = mlockall(MCL_FUTURE);
	printf("%d\n", r);
	fflush(stdout);
	free(malloc(1 << 20));
}

static void code_made_and_changed(void)
{
	unsigned char *code =
		mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* mov eax, N; ret, after a loop of 2^20 rounds */
	static const unsigned char text[] = { 0xb9, 0,	  0, 0x10, 0, 0xff, 0xc9, 0x75,
					      0xfc, 0xb8, 0, 0,	   0, 0,    0xc3 };
	int sum = 0;

	busy(2);
	for (int i = 0; i < 20; i++) {
		REQUIRE(!mprotect(code, 4096, PROT_READ | PROT_WRITE));
		memcpy(code, text, sizeof(text));
		code[10] = (unsigned char)i;
		REQUIRE(!mprotect(code, 4096, PROT_READ | PROT_EXEC));
		sum += ((int (*)(void))(uintptr_t)code)();
	}
	printf("%d\n", sum);
}

static void memory_of_children(void)
{
	/* Where nothing else is put. */
	char *a = mmap((void *)(1l << 32), 8192, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	int status;

	REQUIRE(a != MAP_FAILED);
	busy(1);
	a[0] = a[4096] = 1;
	REQUIRE(!madvise(a, 4096, MADV_WIPEONFORK) && !madvise(a + 4096, 4096, MADV_DONTFORK));
	if (!fork()) {
		run(nothing, 0);
		printf("%d\n", a[0]);
		fflush(stdout);
		_exit(a[4096]);
	}
	REQUIRE(wait(&status) > 0);
	printf("%d\n", WTERMSIG(status));
}

static void *leaf(void *arg)
{
	__atomic_add_fetch((int *)arg, 1, __ATOMIC_RELAXED);
	return 0;
}

static long resident(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	REQUIRE(f && fscanf(f, "%*d %ld", &pages) == 1);
	fclose(f);
	return pages;
}

static void short_threads(void)
{
	int n = 0;
	long was, now;

	for (int i = 0; i < 300; i++)
		run(leaf, &n);
	was = resident();
	for (int i = 0; i < 1500; i++)
		run(leaf, &n);
	now = resident();
	printf("%d %d\n", n, now - was < 256);
}

static void large_stacks(void)
{
	struct rlimit large = { 1ul << 30, RLIM_INFINITY };
	pthread_attr_t a;
	pthread_t t[4];

	REQUIRE(!setrlimit(RLIMIT_STACK, &large));
	REQUIRE(!pthread_attr_init(&a) && !pthread_attr_setstacksize(&a, 1ul << 30));
	for (int i = 0; i < 4; i++)
		REQUIRE(!pthread_create(&t[i], &a, nothing, 0));
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
	puts("large");
}

/* --- the end ---------------------------------------------------------------------------------------------------------------- */

static void said(void)
{
	puts("at quick exit");
	fflush(stdout);
}

static void *quits(void *arg)
{
	usleep(2000);
	quick_exit((int)(long)arg);
}

static void quick_end(void)
{
	at_quick_exit(said);
	busy(2);
	run(quits, (void *)9l);
}

static void *aborts(void *arg)
{
	(void)arg;
	usleep(2000);
	abort();
}

static void aborted(void)
{
	struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	busy(2);
	run(aborts, 0);
}

extern int __cxa_thread_atexit_impl(void (*f)(void *), void *obj, void *dso);
extern void *__dso_handle;

static void at_thread_end(void *arg)
{
	pthread_mutex_lock(&plain_lock);
	usleep(1000);
	printf("%s\n", (const char *)arg);
	pthread_mutex_unlock(&plain_lock);
}

static void *with_ends(void *arg)
{
	__cxa_thread_atexit_impl(at_thread_end, "first", &__dso_handle);
	__cxa_thread_atexit_impl(at_thread_end, "second", &__dso_handle);
	if (arg)
		pthread_exit(0);
	return 0;
}

static void ends_of_threads(void)
{
	busy(1);
	run(with_ends, 0);
	run(with_ends, &key);
	pthread_key_create(&key, leaves_again);
	run(has_specific, 0);
	printf("%d\n", rounds);
}

static void *late(void *arg)
{
	usleep(10000);
	puts("late");
	fflush(stdout);
	return arg;
}

static void outlives_main(void)
{
	pthread_t t;

	busy(1);
	REQUIRE(!pthread_create(&t, 0, late, 0) && !pthread_detach(t));
	REQUIRE(!pthread_create(&t, 0, late, 0) && !pthread_detach(t));
	stop = 1;
	pthread_exit(0);
}

static void other_namespace(void)
{
	void *lib = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW | RTLD_LOCAL);
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	int (*join)(pthread_t, void **);
	unsigned (*naps)(unsigned);
	int n = 0;

	if (!lib)
		skip(dlerror());
	busy(1);
	create = (__typeof__(create))dlsym(lib, "pthread_create");
	join = (__typeof__(join))dlsym(lib, "pthread_join");
	naps = (__typeof__(naps))dlsym(lib, "usleep");
	REQUIRE(create && join && naps);
	for (int i = 0; i < 5; i++) {
		naps(1000);
		n++;
	}
	printf("%d\n", n);
}

static void no_dump(void)
{
	int status;

	busy(1);
	if (!geteuid())
		REQUIRE(!setgid(65534) && !setuid(65534));
	REQUIRE(!prctl(PR_SET_DUMPABLE, 0));
	for (int i = 0; i < 20; i++) {
		run(nothing, 0);
		usleep(500);
	}
	if (!fork()) {
		run(nothing, 0);
		_exit(11);
	}
	REQUIRE(wait(&status) > 0);
	printf("%d\n", WEXITSTATUS(status));
}

static void new_processes_numbers(void)
{
	int status;

	busy(1);
	if (unshare(CLONE_NEWPID))
		skip("no namespaces");
	if (!fork()) {
		run(nothing, 0);
		busy(1);
		usleep(2000);
		pid_t p = fork();

		if (!p) {
			run(nothing, 0);
			_exit(6);
		}
		_exit((int)getpid() * 10 + status_of(p));
	}
	REQUIRE(wait(&status) > 0);
	printf("%d\n", WEXITSTATUS(status));
}

static void children_by_clone3(void)
{
	int fd = -1;
	siginfo_t i;

	busy(1);
	for (int n = 0; n < 5; n++) {
		struct clone_args a = { .flags = CLONE_PIDFD | CLONE_CLEAR_SIGHAND,
					.pidfd = (uintptr_t)&fd,
					.exit_signal = SIGCHLD };
		long p = syscall(SYS_clone3, &a, sizeof(a));

		if (!p) {
			run(nothing, 0);
			_exit(n);
		}
		REQUIRE(p > 0 && !waitid(P_PIDFD, (id_t)fd, &i, WEXITED) && i.si_status == n);
		close(fd);
	}
	struct clone_args bad = { .flags = CLONE_INTO_CGROUP,
				  .exit_signal = SIGCHLD,
				  .cgroup = 9999 };

	REQUIRE(syscall(SYS_clone3, &bad, sizeof(bad)) == -1);
	printf("%d\n", errno);
	run(nothing, 0);
}

static void *many_users(void *arg)
{
	while (!stop) {
		usleep(200);
		sched_yield();
	}
	return getegid() == 65534 && geteuid() == 65534 ? (void *)1l : arg;
}

static void users_across_threads(void)
{
	pthread_t t[4];
	void *r;
	int n = 0;

	if (geteuid())
		skip("not root");
	for (int i = 0; i < 4; i++)
		REQUIRE(!pthread_create(&t[i], 0, many_users, 0));
	for (int i = 0; i < 20; i++)
		REQUIRE(!setresgid(65534, 65534, 0) && !setresgid(0, 0, 0) &&
			!setresuid(65534, 65534, 0) && !setresuid(0, 0, 0));
	REQUIRE(!setresgid(65534, 65534, 0) && !setresuid(65534, 65534, 0));
	stop = 1;
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &r);
		n += r != 0;
	}
	printf("%d\n", n);
}

extern int capset(cap_user_header_t header, const cap_user_data_t data);

/* As a server does that keeps some of root's rights. */
static void rights_of_a_thread(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { 0 } };

	if (geteuid())
		skip("not root");
	REQUIRE(!prctl(PR_SET_KEEPCAPS, 1) && !setresuid(65534, 65534, 65534));
	data[0].permitted = data[0].effective = 1u << CAP_SETGID;
	REQUIRE(!capset(&header, data) && !setgroups(0, 0) && !setresgid(65534, 65534, 65534));
	data[0].effective = 0;
	REQUIRE(!capset(&header, data));
	run(nothing, 0);
	printf("%d\n", setgroups(0, 0));
}

/* --- sockets, and sleeps that need no driver ---------------------------------------------------------------------- */

static int wire[2];

static void *writes_later(void *arg)
{
	usleep(5000);
	REQUIRE(write(wire[1], arg, strlen(arg)) == (ssize_t)strlen(arg));
	return 0;
}

static void *reads_slowly(void *arg)
{
	char part[3000];
	ssize_t n;

	for (int i = 0; (n = read(wire[1], part, sizeof(part))) > 0; i++) {
		*(long *)arg += n;
		if (i % 20 == 0)
			usleep(100);
	}
	return 0;
}

static void is_told(int sig)
{
	taken += sig;
}

static void sends_a_file(void)
{
	char bytes[CMSG_SPACE(sizeof(int))] = { 0 }, c = 0;
	struct iovec io = { &c, 1 };
	struct msghdr m = { .msg_iov = &io,
			    .msg_iovlen = 1,
			    .msg_control = bytes,
			    .msg_controllen = sizeof(bytes) };
	struct cmsghdr *at = CMSG_FIRSTHDR(&m);

	at->cmsg_level = SOL_SOCKET;
	at->cmsg_type = SCM_RIGHTS;
	at->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(at), &wire[0], sizeof(int));
	usleep(5000);
	REQUIRE(sendmsg(wire[1], &m, 0) == 1);
}

static void *sends_it(void *arg)
{
	sends_a_file();
	return arg;
}

static void answer(const char *what, ssize_t n)
{
	int err = errno;

	printf("%s: %zd %s\n", what, n, n < 0 ? strerrorname_np(err) : "");
}

/* What calls on sockets return and leave in errno, whether they wait or not. */
static void answers_of_sockets(void)
{
	struct sigaction told = { .sa_handler = is_told };
	struct timeval limit = { .tv_usec = 20000 };
	char bytes[CMSG_SPACE(sizeof(int))], part[200];
	struct iovec io = { part, sizeof(part) };
	struct msghdr m = { .msg_iov = &io,
			    .msg_iovlen = 1,
			    .msg_control = bytes,
			    .msg_controllen = sizeof(bytes) };
	struct itimerval soon = { .it_value = { .tv_usec = 10000 } };
	struct timespec from;
	int low = 6;
	pthread_t t;

	REQUIRE(!socketpair(AF_UNIX, SOCK_STREAM, 0, wire));
	answer("empty", recv(wire[0], part, 5, MSG_DONTWAIT));
	REQUIRE(!fcntl(wire[0], F_SETFL, O_NONBLOCK));
	answer("empty", recv(wire[0], part, 5, 0));
	answer("empty", read(wire[0], part, 5));
	REQUIRE(!fcntl(wire[0], F_SETFL, 0));
	for (int i = 0; i < 40; i++) {
		errno = 77;
		pthread_create(&t, 0, writes_later, "later");
		REQUIRE((i % 2 ? read(wire[0], part, 9) : recv(wire[0], part, 9, 0)) == 5);
		REQUIRE(errno == 77 && !memcmp(part, "later", 5) && !pthread_join(t, 0));
	}
	REQUIRE(write(wire[1], "one part, ", 10) == 10);
	pthread_create(&t, 0, writes_later, "two parts");
	answer("peeked", recv(wire[0], part, 5, MSG_PEEK));
	answer("all", recv(wire[0], part, 19, MSG_WAITALL));
	pthread_join(t, 0);
	REQUIRE(!setsockopt(wire[0], SOL_SOCKET, SO_RCVLOWAT, &low, sizeof(low)));
	REQUIRE(write(wire[1], "few", 3) == 3);
	pthread_create(&t, 0, writes_later, "enough");
	answer("enough", recv(wire[0], part, 100, 0));
	pthread_join(t, 0);
	low = 1;
	REQUIRE(!setsockopt(wire[0], SOL_SOCKET, SO_RCVLOWAT, &low, sizeof(low)));
	pthread_create(&t, 0, sends_it, 0);
	answer("a file", recvmsg(wire[0], &m, MSG_CMSG_CLOEXEC));
	printf("received: %d\n", m.msg_controllen != 0);
	pthread_join(t, 0);
	clock_gettime(CLOCK_MONOTONIC, &from);
	REQUIRE(!setsockopt(wire[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)));
	answer("too late", recv(wire[0], part, 5, 0));
	printf("waited: %d\n", ms_since(&from, CLOCK_MONOTONIC) >= 20);
	limit.tv_usec = 0;
	REQUIRE(!setsockopt(wire[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)));
	REQUIRE(!sigaction(SIGALRM, &told, 0) && !sigaction(SIGPIPE, &told, 0));
	setitimer(ITIMER_REAL, &soon, 0);
	answer("ended by a signal", recv(wire[0], part, 5, 0));
	shutdown(wire[0], SHUT_WR);
	answer("shut", send(wire[0], part, 1, 0));
	answer("shut", recv(wire[1], part, 5, 0));
	printf("signals: %d\n", taken);
}

/* More than there is room for: all of it is written, whatever ends in between. */
static void much_at_once(void)
{
	enum { MUCH = 1 << 20 };
	char *much = calloc(3, MUCH);
	struct iovec io[3] = { { much, 100 }, { much + 100, MUCH }, { much + MUCH, MUCH } };
	struct msghdr m = { .msg_iov = io, .msg_iovlen = 3 };
	struct mmsghdr two[2] = { { .msg_hdr = m }, { .msg_hdr = m } };
	long there;
	pthread_t t;

	busy(2);
	for (int pipes = 0; pipes < 2; pipes++) {
		there = 0;
		REQUIRE(pipes ? !pipe(wire) : !socketpair(AF_UNIX, SOCK_STREAM, 0, wire));
		if (pipes) {
			/* Both are read from the second. */
			int to = wire[1];

			wire[1] = wire[0];
			wire[0] = to;
		}
		pthread_create(&t, 0, reads_slowly, &there);
		answer("write", write(wire[0], much, MUCH));
		answer("writev", writev(wire[0], io, 3));
		if (!pipes) {
			answer("send", send(wire[0], much, MUCH, 0));
			answer("sendto", sendto(wire[0], much, MUCH, 0, 0, 0));
			answer("sendmsg", sendmsg(wire[0], &m, 0));
			answer("sendmmsg", sendmmsg(wire[0], two, 2, 0));
			printf("of %u and %u\n", two[0].msg_len, two[1].msg_len);
		}
		close(wire[0]);
		pthread_join(t, 0);
		printf("there: %ld\n", there);
		close(wire[1]);
	}
	for (int i = 0; i < 4; i++) {
		int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);

		REQUIRE(read(fd, much, 3 * MUCH) == 3 * MUCH && !close(fd));
		REQUIRE(getrandom(much, 3 * MUCH, 0) == 3 * MUCH);
		fd = memfd_create("much", MFD_CLOEXEC);
		REQUIRE(fd >= 0 && !fallocate(fd, 0, 0, 64l * MUCH) && !close(fd));
		fd = memfd_create("much", MFD_CLOEXEC);
		REQUIRE(fd >= 0 && !posix_fallocate(fd, 0, 64l * MUCH) && !close(fd));
	}
	puts("random bytes and memory: all");
	free(much);
}

/* How often the library's drivers have slept. */
static long sleeps_of_drivers(void)
{
	long sum = 0, n;
	struct dirent *e;
	DIR *tasks = opendir("/proc/self/task");

	while (tasks && (e = readdir(tasks))) {
		char path[300], line[200] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%s/status", e->d_name);
		f = fopen(path, "r");
		if (!f || !fgets(line, sizeof(line), f) || !strstr(line, "weir-driver"))
			line[0] = 0;
		while (line[0] && fgets(line, sizeof(line), f))
			if (sscanf(line, "voluntary_ctxt_switches: %ld", &n) == 1)
				sum += n;
		if (f)
			fclose(f);
	}
	closedir(tasks);
	return sum;
}

/* A thread that sleeps and wakes up, with nothing else to run, costs no switches to a driver and back. */
static void sleeps_without_a_driver(void)
{
	long before;
	char c = 0;
	pid_t child;

	REQUIRE(!socketpair(AF_UNIX, SOCK_STREAM, 0, wire));
	child = fork();
	if (!child) {
		close(wire[0]);
		while (read(wire[1], &c, 1) == 1 && write(wire[1], &c, 1) == 1)
			;
		_exit(3);
	}
	close(wire[1]);
	before = sleeps_of_drivers();
	for (int i = 0; i < 2000; i++)
		REQUIRE(write(wire[0], &c, 1) == 1 && read(wire[0], &c, 1) == 1);
	printf("few sleeps of drivers: %d\n", sleeps_of_drivers() - before < 200);
	close(wire[0]);
	printf("child: %d\n", status_of(child));
}

#define CASE(name) { #name, name, 0 }
#define ONCE(name) { #name, name, 1 }
static const struct {
	const char *name;
	void (*run)(void);
	int differed;
} cases[] = {
	CASE(exclusive_waiters),
	CASE(files_of_events),
	CASE(system_v),
	CASE(futexes),
	CASE(many_futexes),
	CASE(writers_first),
	ONCE(answers_of_locks),
	ONCE(answers_of_semaphores),
	CASE(shared_barrier),
	CASE(once_cancelled),
	CASE(destructors),
	CASE(forks_from_all),
	CASE(fork_in_a_handler),
	CASE(failing_programs),
	ONCE(twice_a_daemon),
	ONCE(closes_all_by_hand),
	ONCE(masks_of_attributes),
	ONCE(old_masks),
	ONCE(resets_all),
	CASE(old_handlers),
	CASE(recovered_overflows),
	CASE(small_signal_stacks),
	CASE(order_of_realtime),
	CASE(masks_of_waits),
	CASE(children_by_waitid),
	ONCE(no_queued_signals),
	CASE(job_control),
	ONCE(cpus_by_call),
	CASE(clocks_of_threads),
	CASE(locks_by_yields),
	CASE(memory_barriers),
	CASE(all_memory_locked),
	CASE(code_made_and_changed),
	CASE(memory_of_children),
	CASE(short_threads),
	CASE(large_stacks),
	CASE(quick_end),
	CASE(aborted),
	CASE(ends_of_threads),
	CASE(outlives_main),
	CASE(other_namespace),
	CASE(no_dump),
	CASE(new_processes_numbers),
	CASE(children_by_clone3),
	CASE(users_across_threads),
	ONCE(rights_of_a_thread),
	ONCE(answers_of_sockets),
	ONCE(much_at_once),
	ONCE(sleeps_without_a_driver),
};

int main(int argc, char **argv)
{
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (argc < 2 && (cases[i].differed || getenv("WEIR_LONG")))
			puts(cases[i].name);
		else if (argc > 1 && !strcmp(argv[1], cases[i].name))
			cases[i].run();
	fflush(stdout);
	_exit(0);
}
