/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What few programs do, for the preloaded library: `rare CASE`, or `rare` for the list of cases, each to be run in a process of its own. Output
 * and exit status are the same with and without a policy. Those that need root, or a kernel's feature that is missing, say so and end with 0.
 */
#include <aio.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef LIBRARY
/* What `libraries` loads. */
static __thread long own = 40;
static __thread char room[3000];

long library_adds(long n)
{
	room[n % 3000]++;
	own += n;
	return own;
}
#else

#include "cases.h"

static const char *own;

static long raw(long n, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
	return r;
}

/* --- calls of the kernel that wait ---------------------------------------------------------------------------------- */

struct ring {
	int fd;
	struct io_uring_params p;
	char *sq, *cq;
	struct io_uring_sqe *sqe;
};

static void submit(struct ring *r, struct io_uring_sqe e, unsigned wait)
{
	unsigned *tail = (unsigned *)(r->sq + r->p.sq_off.tail);
	unsigned at = *tail & (r->p.sq_entries - 1);

	r->sqe[at] = e;
	((unsigned *)(r->sq + r->p.sq_off.array))[at] = at;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	REQUIRE(syscall(SYS_io_uring_enter, r->fd, 1, wait, wait ? IORING_ENTER_GETEVENTS : 0, 0,
			0) == 1);
}

static int taken(struct ring *r)
{
	unsigned *head = (unsigned *)(r->cq + r->p.cq_off.head);
	struct io_uring_cqe *all = (struct io_uring_cqe *)(r->cq + r->p.cq_off.cqes);
	int result;

	while (__atomic_load_n((unsigned *)(r->cq + r->p.cq_off.tail), __ATOMIC_ACQUIRE) == *head)
		if (syscall(SYS_io_uring_enter, r->fd, 0, 1, IORING_ENTER_GETEVENTS, 0, 0) < 0)
			REQUIRE(errno == EINTR);
	result = all[*head & (r->p.cq_entries - 1)].res;
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return result;
}

static void *writes_later(void *arg)
{
	for (int i = 0; i < 20; i++) {
		usleep(2000);
		REQUIRE(write((int)(long)arg, "x", 1) == 1);
	}
	return 0;
}

static void io_uring_waits(void)
{
	struct __kernel_timespec t = { .tv_nsec = 3000000 };
	struct ring r = { 0 };
	pthread_t w;
	int pair[2], timeouts = 0, reads = 0;
	char c;

	r.fd = (int)syscall(SYS_io_uring_setup, 8, &r.p);
	if (r.fd < 0)
		skip("no io_uring");
	r.sq = mmap(0, r.p.sq_off.array + r.p.sq_entries * 4, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_POPULATE, r.fd, IORING_OFF_SQ_RING);
	r.cq = mmap(0, r.p.cq_off.cqes + r.p.cq_entries * sizeof(struct io_uring_cqe),
		    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r.fd, IORING_OFF_CQ_RING);
	r.sqe = mmap(0, r.p.sq_entries * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_POPULATE, r.fd, IORING_OFF_SQES);
	busy(2);
	for (int i = 0; i < 20; i++) {
		submit(&r,
		       (struct io_uring_sqe){
			       .opcode = IORING_OP_TIMEOUT, .addr = (uintptr_t)&t, .len = 1 },
		       1);
		timeouts += taken(&r) == -ETIME;
	}
	REQUIRE(!pipe(pair) && !pthread_create(&w, 0, writes_later, (void *)(long)pair[1]));
	for (int i = 0; i < 20; i++) {
		submit(&r,
		       (struct io_uring_sqe){ .opcode = IORING_OP_READ,
					      .fd = pair[0],
					      .addr = (uintptr_t)&c,
					      .len = 1 },
		       i % 2);
		reads += taken(&r) == 1;
	}
	REQUIRE(!pthread_join(w, 0));
	printf("%d timeouts, %d reads\n", timeouts, reads);
}

static void process_files(void)
{
	struct pollfd p = { .events = POLLIN };
	siginfo_t i = { 0 };
	int pair[2], copy;
	pid_t child;

	busy(2);
	REQUIRE(!pipe(pair));
	for (int n = 0; n < 10; n++) {
		child = fork();
		if (!child) {
			char c;

			REQUIRE(read(pair[0], &c, 1) == 1);
			usleep(5000);
			if (n % 2)
				pause();
			_exit(n);
		}
		p.fd = (int)syscall(SYS_pidfd_open, child, 0);
		REQUIRE(p.fd >= 0);
		copy = (int)syscall(SYS_pidfd_getfd, p.fd, pair[1], 0);
		REQUIRE(copy >= 0 && write(copy, "x", 1) == 1 && !close(copy));
		if (n % 2)
			REQUIRE(!syscall(SYS_pidfd_send_signal, p.fd, SIGTERM, 0, 0));
		REQUIRE(poll(&p, 1, 20000) == 1);
		REQUIRE(!waitid(P_PIDFD, (id_t)p.fd, &i, WEXITED) && i.si_pid == child);
		printf("%d: %d %d\n", n, i.si_code, i.si_status);
		close(p.fd);
	}
}

static char *lazy;
static int faults;
#define PAGES 48

static void *fills_pages(void *arg)
{
	static char page[4096];
	int filled = 0;

	(void)arg;
	while (filled < PAGES) {
		struct uffd_msg m;
		struct uffdio_copy c;

		if (read(faults, &m, sizeof(m)) != sizeof(m))
			continue;
		REQUIRE(m.event == UFFD_EVENT_PAGEFAULT);
		usleep(500);
		c = (struct uffdio_copy){ .dst = m.arg.pagefault.address & ~4095ull,
					  .src = (uintptr_t)page,
					  .len = 4096 };
		memset(page, (int)((c.dst - (uintptr_t)lazy) / 4096), sizeof(page));
		if (!ioctl(faults, UFFDIO_COPY, &c))
			filled++;
		else
			REQUIRE(errno == EEXIST);
	}
	return 0;
}

static void *touches(void *arg)
{
	long sum = 0;

	for (long i = 0; i < PAGES; i++)
		sum += lazy[4096 * ((i * 7 + (long)arg) % PAGES)];
	return (void *)sum;
}

/* The kernel puts a thread to sleep at a load, until another thread has filled the page. */
static void pages_filled_by_a_thread(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register r = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	pthread_t filler, t[3];
	void *sum;

	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (faults < 0)
		skip("no userfaultfd");
	lazy = mmap(0, 4096 * PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	r.range.start = (uintptr_t)lazy;
	r.range.len = 4096 * PAGES;
	REQUIRE(!ioctl(faults, UFFDIO_API, &api) && !ioctl(faults, UFFDIO_REGISTER, &r));
	busy(1);
	REQUIRE(!pthread_create(&filler, 0, fills_pages, 0));
	for (long i = 0; i < 3; i++)
		REQUIRE(!pthread_create(&t[i], 0, touches, (void *)i));
	for (int i = 0; i < 3; i++) {
		REQUIRE(!pthread_join(t[i], &sum));
		printf("sum %ld\n", (long)sum);
	}
	REQUIRE(!pthread_join(filler, 0));
}

static volatile int aio_done;

static void aio_finished(union sigval v)
{
	__atomic_add_fetch(&aio_done, v.sival_int, __ATOMIC_SEQ_CST);
}

static void asynchronous_files(void)
{
	struct aiocb c[6], *list[6];
	char text[6][8];
	FILE *f = tmpfile();

	REQUIRE(f && write(fileno(f), "0123456789", 10) == 10);
	busy(2);
	memset(c, 0, sizeof(c));
	for (int i = 0; i < 6; i++) {
		c[i].aio_fildes = fileno(f);
		c[i].aio_buf = text[i];
		c[i].aio_nbytes = 2;
		c[i].aio_offset = i;
		c[i].aio_lio_opcode = LIO_READ;
		c[i].aio_sigevent.sigev_notify = SIGEV_THREAD;
		c[i].aio_sigevent.sigev_notify_function = aio_finished;
		c[i].aio_sigevent.sigev_value.sival_int = 1;
		list[i] = &c[i];
	}
	REQUIRE(!lio_listio(LIO_WAIT, list, 3, 0));
	for (int i = 3; i < 6; i++) {
		REQUIRE(!aio_read(&c[i]));
		REQUIRE(!aio_suspend((const struct aiocb *const *)&list[i], 1, 0) ||
			errno == EINTR);
	}
	for (int n = 0; aio_done < 6 && n < 5000; n++)
		usleep(1000);
	for (int i = 0; i < 6; i++)
		printf("%zd %.2s\n", aio_return(&c[i]), text[i]);
	printf("%d told\n", aio_done);
}

static sem_t notified;

static void queue_notifies(union sigval v)
{
	(void)v;
	sem_post(&notified);
}

static void queue_that_notifies(void)
{
	struct mq_attr attr = { .mq_maxmsg = 4, .mq_msgsize = 16 };
	struct sigevent e = { .sigev_notify = SIGEV_THREAD,
			      .sigev_notify_function = queue_notifies };
	char name[32], text[16];
	mqd_t q;

	snprintf(name, sizeof(name), "/rare-%d", getpid());
	q = mq_open(name, O_CREAT | O_RDWR, 0600, &attr);
	if (q < 0)
		skip("no message queues");
	mq_unlink(name);
	sem_init(&notified, 0, 0);
	busy(2);
	for (int i = 0; i < 10; i++) {
		REQUIRE(!mq_notify(q, &e) && !mq_send(q, "x", 1, 0));
		REQUIRE(!sem_wait(&notified) && mq_receive(q, text, sizeof(text), 0) == 1);
	}
	puts("10 notices");
}

/* --- processes ------------------------------------------------------------------------------------------------------- */

static void *counts_up(void *arg)
{
	for (volatile long n = 0; n < 30000000; n++)
		if (n % 3000000 == 0)
			usleep(100);
	return arg;
}

static void stopped_and_continued(void)
{
	int status, stops = 0, goes_on = 0;
	pthread_t t[3];
	pid_t child = fork();

	if (!child) {
		for (int i = 0; i < 3; i++)
			REQUIRE(!pthread_create(&t[i], 0, counts_up, 0));
		for (int i = 0; i < 3; i++)
			REQUIRE(!pthread_join(t[i], 0));
		pause();
		_exit(9);
	}
	for (int i = 0; i < 10; i++) {
		usleep(3000);
		REQUIRE(!kill(child, SIGSTOP));
		REQUIRE(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status));
		stops += WSTOPSIG(status) == SIGSTOP;
		REQUIRE(!kill(child, SIGCONT));
		REQUIRE(waitpid(child, &status, WCONTINUED) == child);
		goes_on += !!WIFCONTINUED(status);
	}
	kill(child, SIGTERM);
	printf("%d stops, %d continued, status %d\n", stops, goes_on, status_of(child));
}

static void *makes_children(void *arg)
{
	char *argv[] = { "true", 0 }, *env[] = { 0 };
	volatile long good = 0;

	for (volatile int i = 0; i < 12; i++) {
		volatile pid_t child;

		if (i % 3 == 0) {
			pid_t made;

			REQUIRE(!posix_spawnp(&made, "true", 0, 0, argv, env));
			child = made;
		} else if (i % 3 == 1) {
			child = vfork();
			if (!child) {
				execve("/bin/true", argv, env);
				_exit(1);
			}
		} else {
			child = fork();
			if (!child) {
				execve("/bin/true", argv, env);
				_exit(1);
			}
		}
		good += status_of(child) == 0;
	}
	(void)arg;
	return (void *)good;
}

static void storm_of_children(void)
{
	pthread_t t[6];
	long sum = 0;
	void *n;

	busy(1);
	for (int i = 0; i < 6; i++)
		REQUIRE(!pthread_create(&t[i], 0, makes_children, 0));
	for (int i = 0; i < 6; i++) {
		REQUIRE(!pthread_join(t[i], &n));
		sum += (long)n;
	}
	printf("%ld children\n", sum);
}

static pthread_mutex_t *robust;

static void *takes_and_waits(void *arg)
{
	REQUIRE(!pthread_mutex_lock(&robust[(long)arg]));
	for (;;)
		pause();
}

/* Three threads of a process that is killed own three mutexes; three threads here wait for them. */
static void *inherits(void *arg)
{
	int err = pthread_mutex_lock(&robust[(long)arg]);

	REQUIRE(err == EOWNERDEAD && !pthread_mutex_consistent(&robust[(long)arg]) &&
		!pthread_mutex_unlock(&robust[(long)arg]));
	return 0;
}

static void owners_killed(void)
{
	pthread_mutexattr_t a;
	pthread_t t[3];
	pid_t child;

	robust = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 3; i++) {
			pthread_mutexattr_setprotocol(&a, round % 2 ? PTHREAD_PRIO_INHERIT
								    : PTHREAD_PRIO_NONE);
			REQUIRE(!pthread_mutex_init(&robust[i], &a));
		}
		child = fork();
		if (!child) {
			for (long i = 0; i < 3; i++)
				REQUIRE(!pthread_create(&t[i], 0, takes_and_waits, (void *)i));
			pause();
		}
		for (int i = 0; i < 3; i++)
			while (!pthread_mutex_trylock(&robust[i])) {
				pthread_mutex_unlock(&robust[i]);
				usleep(1000);
			}
		for (long i = 0; i < 3; i++)
			REQUIRE(!pthread_create(&t[i], 0, inherits, (void *)i));
		usleep(3000);
		kill(child, SIGKILL);
		for (int i = 0; i < 3; i++)
			REQUIRE(!pthread_join(t[i], 0));
		REQUIRE(status_of(child) == 1000 + SIGKILL);
	}
	puts("15 owners died");
}

/* What a program that was started finds: its arguments, and what it does with blocked and ignored signals. */
static int started(char **argv)
{
	static const int some[] = { SIGURG, SIGUSR1, SIGUSR2, SIGCHLD, SIGPIPE };
	struct sigaction a;
	sigset_t mask;

	sigprocmask(SIG_BLOCK, 0, &mask);
	printf("%s", argv[2]);
	for (unsigned i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
		REQUIRE(!sigaction(some[i], 0, &a));
		printf(" %d%s%s", some[i], sigismember(&mask, some[i]) ? " blocked" : "",
		       a.sa_handler == SIG_IGN	 ? " ignored"
		       : a.sa_handler == SIG_DFL ? ""
						 : " handled");
	}
	printf(", group %s, %s\n", getpgrp() == getpid() ? "of its own" : "inherited",
	       getenv("RARE") ? getenv("RARE") : "-");
	return 3;
}

static void *executes_in_thread(void *arg)
{
	char *argv[] = { "rare", "started", arg, 0 }, *env[] = { "RARE=1", 0 };
	int file = memfd_create("program", MFD_CLOEXEC), from = open(own, O_RDONLY);
	char bytes[65536];
	ssize_t n;

	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		REQUIRE(write(file, bytes, (size_t)n) == n);
	fexecve(file, argv, env);
	return 0;
}

/* A program in memory, executed by a thread beside others; signals that are blocked stay so. */
static void program_in_memory(void)
{
	pthread_t t;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGURG);
	pthread_sigmask(SIG_BLOCK, &set, 0);
	busy(3);
	REQUIRE(!pthread_create(&t, 0, executes_in_thread, "memory"));
	pthread_join(t, 0);
}

static void spawned_with_actions(void)
{
	char *argv[] = { "rare", "started", "spawned", 0 }, *env[] = { "RARE=2", 0 };
	posix_spawn_file_actions_t f;
	posix_spawnattr_t a;
	char text[300] = "";
	sigset_t set;
	int pair[2];
	pid_t child;
	ssize_t n;

	busy(2);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	for (int round = 0; round < 4; round++) {
		REQUIRE(!pipe(pair) && !posix_spawn_file_actions_init(&f) &&
			!posix_spawnattr_init(&a));
		REQUIRE(!posix_spawn_file_actions_addclose(&f, pair[0]) &&
			!posix_spawn_file_actions_adddup2(&f, pair[1], 1) &&
			!posix_spawn_file_actions_addopen(&f, 0, "/dev/null", O_RDONLY, 0) &&
			!posix_spawn_file_actions_addchdir_np(&f, "/") &&
			!posix_spawn_file_actions_addclosefrom_np(&f, 3));
		sigemptyset(&set);
		sigaddset(&set, round < 2 ? SIGUSR2 : SIGURG);
		if (round % 2)
			REQUIRE(!posix_spawnattr_setsigmask(&a, &set));
		else
			REQUIRE(!pthread_sigmask(SIG_SETMASK, &set, 0));
		sigemptyset(&set);
		sigaddset(&set, SIGPIPE);
		REQUIRE(!posix_spawnattr_setsigdefault(&a, &set));
		REQUIRE(!posix_spawnattr_setflags(
			&a, (short)(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP |
				    (round % 2 ? POSIX_SPAWN_SETSIGMASK : 0))));
		REQUIRE(!posix_spawn(&child, "/proc/self/exe", &f, &a, argv, env) ||
			!posix_spawn(&child, own, &f, &a, argv, env));
		close(pair[1]);
		n = read(pair[0], text, sizeof(text) - 1);
		text[n > 0 ? n : 0] = 0;
		printf("%s%d\n", text, status_of(child));
		close(pair[0]);
		posix_spawn_file_actions_destroy(&f);
		posix_spawnattr_destroy(&a);
	}
}

/* A tracer, its child, and what the child's stops are. */
static void traced_child(void)
{
	struct user_regs_struct regs;
	int status, steps = 0, calls = 0;
	pid_t child = fork();

	if (!child) {
		REQUIRE(!ptrace(PTRACE_TRACEME, 0, 0, 0));
		raw(SYS_kill, raw(SYS_getpid, 0, 0, 0, 0), SIGSTOP, 0, 0);
		raw(SYS_getppid, 0, 0, 0, 0);
		raw(SYS_getuid, 0, 0, 0, 0);
		raw(SYS_exit_group, 7, 0, 0, 0);
	}
	/* Signals other than the trap are passed on, as tracers do. */
	REQUIRE(waitpid(child, &status, 0) == child);
	while (WIFSTOPPED(status) && WSTOPSIG(status) != SIGSTOP) {
		REQUIRE(!ptrace(PTRACE_CONT, child, 0, WSTOPSIG(status)));
		REQUIRE(waitpid(child, &status, 0) == child);
	}
	REQUIRE(WIFSTOPPED(status));
	for (int i = 0; i < 3; i++) {
		REQUIRE(!ptrace(PTRACE_SINGLESTEP, child, 0, 0));
		REQUIRE(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
		steps++;
	}
	REQUIRE(!ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD));
	for (long signal = 0;;) {
		REQUIRE(!ptrace(PTRACE_SYSCALL, child, 0, signal));
		REQUIRE(waitpid(child, &status, 0) == child);
		if (!WIFSTOPPED(status))
			break;
		signal = WSTOPSIG(status) & ~0x80;
		if (!(WSTOPSIG(status) & 0x80)) {
			signal = signal == SIGTRAP ? 0 : signal;
			continue;
		}
		signal = 0;
		REQUIRE(!ptrace(PTRACE_GETREGS, child, 0, &regs));
		calls += regs.orig_rax == SYS_getppid || regs.orig_rax == SYS_getuid;
	}
	printf("%d steps, %d stops at calls, status %d\n", steps, calls,
	       WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

/* All threads of a child are seized, interrupted and let go again. */
static void seized_threads(void)
{
	int ready[2], status, stopped = 0;
	char path[64], c;
	pid_t child, tid[3];

	REQUIRE(!pipe(ready));
	child = fork();
	if (!child) {
		pthread_t t[2];

		for (int i = 0; i < 2; i++)
			REQUIRE(!pthread_create(&t[i], 0, computes, 0));
		snprintf(path, sizeof(path), "%d", (int)gettid());
		REQUIRE(write(ready[1], "x", 1) == 1);
		for (int i = 0; i < 40; i++)
			usleep(5000);
		stop = 1;
		for (int i = 0; i < 2; i++)
			REQUIRE(!pthread_join(t[i], 0));
		_exit(8);
	}
	REQUIRE(read(ready[0], &c, 1) == 1);
	tid[0] = child;
	for (int round = 0; round < 5; round++) {
		REQUIRE(!ptrace(PTRACE_SEIZE, child, 0, 0) &&
			!ptrace(PTRACE_INTERRUPT, child, 0, 0));
		for (;;) {
			REQUIRE(waitpid(child, &status, __WALL) == child && WIFSTOPPED(status));
			if (status >> 16 == PTRACE_EVENT_STOP)
				break;
			REQUIRE(!ptrace(PTRACE_CONT, child, 0, WSTOPSIG(status)));
		}
		stopped++;
		usleep(20000);
		REQUIRE(!ptrace(PTRACE_DETACH, child, 0, 0));
		usleep(5000);
	}
	printf("%d stops, status %d\n", stopped, status_of(tid[0]));
}

static void daemon_stays(void)
{
	int pair[2];
	char text[16];
	pid_t child;
	ssize_t n;

	REQUIRE(!pipe(pair));
	child = fork();
	if (!child) {
		if (fork())
			_exit(0);
		setsid();
		if (fork())
			_exit(0);
		for (int i = 0; i < 1024; i++)
			if (i != pair[1])
				close(i);
		REQUIRE(!chdir("/"));
		busy(2);
		usleep(30000);
		_exit(write(pair[1], "daemon", 6) != 6);
	}
	REQUIRE(!status_of(child));
	close(pair[1]);
	n = read(pair[0], text, sizeof(text));
	printf("%.*s\n", (int)n, text);
	REQUIRE(read(pair[0], text, sizeof(text)) == 0);
}

/* --- limits and walls ------------------------------------------------------------------------------------------------- */

static void *nothing(void *arg)
{
	return arg;
}

static void limited_processes(void)
{
	struct rlimit none = { 0 };
	pthread_t t;

	if (getuid())
		skip("not root");
	busy(1);
	REQUIRE(!setresuid(65534, 65534, 65534) && !setrlimit(RLIMIT_NPROC, &none));
	printf("thread: %d\n", pthread_create(&t, 0, nothing, 0) == EAGAIN);
	printf("process: %d\n", fork() == -1 && errno == EAGAIN);
	usleep(20000);
	puts("it goes on");
}

static volatile int over;

static void is_over(int sig)
{
	over = sig;
}

static void limited_time(void)
{
	struct rlimit l = { 1, 3 };
	pid_t child = fork();

	if (!child) {
		signal(SIGXCPU, is_over);
		REQUIRE(!setrlimit(RLIMIT_CPU, &l));
		busy(1);
		while (!over)
			;
		_exit(over == SIGXCPU ? 5 : 6);
	}
	printf("status %d\n", status_of(child));
	child = fork();
	if (!child) {
		l.rlim_max = 1;
		REQUIRE(!setrlimit(RLIMIT_CPU, &l));
		computes(0);
	}
	printf("status %d\n", status_of(child));
}

static void few_files(void)
{
	struct rlimit l = { 64, 64 };
	struct timespec t = { .tv_nsec = 1000000 };
	pthread_t r;
	int n = 0;

	REQUIRE(!setrlimit(RLIMIT_NOFILE, &l));
	while (dup(0) >= 0)
		n++;
	printf("%s %d\n", errno == EMFILE ? "full after" : "?", n > 50);
	for (int i = 0; i < 5; i++) {
		REQUIRE(!pthread_create(&r, 0, nothing, 0) && !pthread_join(r, 0));
		nanosleep(&t, 0);
	}
	printf("status %d\n", status_of(fork() ?: (_exit(4), 0)));
}

static void limited_memory(void)
{
	struct rlimit l = { 768 << 20, 768 << 20 };
	pthread_t t;

	REQUIRE(!setrlimit(RLIMIT_AS, &l));
	REQUIRE(!pthread_create(&t, 0, nothing, 0) && !pthread_join(t, 0));
	printf("%d\n",
	       mmap(0, 64 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
}

/* Filters that end a thread, or the process, at calls that the program does not make. */
static void forbid(unsigned flags, unsigned action, const int *allowed, unsigned nr)
{
	struct sock_filter f[64] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					      offsetof(struct seccomp_data, nr)) };
	struct sock_fprog p = { .filter = f };
	unsigned n = 1;

	for (unsigned i = 0; i < nr; i++) {
		f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
						      (unsigned)allowed[i], 0, 1);
		f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
	p.len = (unsigned short)n;
	REQUIRE(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	REQUIRE(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &p));
}

static void *behind_filter(void *arg)
{
	static const int allowed[] = { SYS_write,      SYS_read,	 SYS_exit,
				       SYS_exit_group, SYS_futex,	 SYS_mmap,
				       SYS_brk,	       SYS_munmap,	 SYS_mprotect,
				       SYS_madvise,    SYS_rt_sigreturn, SYS_rt_sigprocmask };

	(void)arg;
	forbid(0, SECCOMP_RET_KILL_PROCESS, allowed, sizeof(allowed) / sizeof(allowed[0]));
	for (int i = 0; i < 5; i++) {
		for (volatile unsigned long n = 0; n < 30000000; n++)
			;
		REQUIRE(write(1, "behind\n", 7) == 7);
	}
	return 0;
}

static void filter_of_a_thread(void)
{
	pthread_t t;

	busy(2);
	fflush(stdout);
	REQUIRE(!pthread_create(&t, 0, behind_filter, 0) && !pthread_join(t, 0));
	puts("done");
}

static void filter_before_threads(void)
{
	static const int allowed[] = { SYS_write,
				       SYS_read,
				       SYS_exit,
				       SYS_exit_group,
				       SYS_futex,
				       SYS_mmap,
				       SYS_brk,
				       SYS_munmap,
				       SYS_mprotect,
				       SYS_madvise,
				       SYS_clock_nanosleep,
				       SYS_clone3,
				       SYS_rseq,
				       SYS_set_robust_list,
				       SYS_rt_sigprocmask,
				       SYS_newfstatat,
				       SYS_getrandom,
				       SYS_rt_sigaction,
				       SYS_rt_sigreturn };
	pthread_t t;

	forbid(SECCOMP_FILTER_FLAG_TSYNC, SECCOMP_RET_KILL_PROCESS, allowed,
	       sizeof(allowed) / sizeof(allowed[0]));
	for (int i = 0; i < 5; i++) {
		usleep(10000);
		REQUIRE(!pthread_create(&t, 0, nothing, 0) && !pthread_join(t, 0));
		REQUIRE(write(1, "behind\n", 7) == 7);
	}
	puts("done");
}

/* Nothing but reads and writes is left to the process. */
static void strict_filter(void)
{
	int pair[2];
	char c;
	pid_t child;

	REQUIRE(!pipe(pair));
	busy(1);
	child = fork();
	if (!child) {
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
			raw(SYS_exit, 9, 0, 0, 0);
		for (int i = 0; i < 3; i++) {
			for (volatile unsigned long n = 0; n < 30000000; n++)
				;
			(void)!write(pair[1], "x", 1);
		}
		raw(SYS_exit, 6, 0, 0, 0);
	}
	for (int i = 0; i < 3; i++)
		REQUIRE(read(pair[0], &c, 1) == 1);
	printf("status %d\n", status_of(child));
}

static volatile int refused_calls;

static void is_refused(int sig, siginfo_t *i, void *context)
{
	ucontext_t *u = context;

	(void)sig;
	refused_calls++;
	u->uc_mcontext.gregs[REG_RAX] = i->si_syscall == SYS_getppid ? 4711 : -ENOSYS;
}

/* Calls that a handler of the program answers. */
static void calls_answered_by_a_handler(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { sizeof(f) / sizeof(f[0]), f };
	struct sigaction a = { .sa_sigaction = is_refused, .sa_flags = SA_SIGINFO };
	long sum = 0;

	busy(2);
	REQUIRE(!sigaction(SIGSYS, &a, 0) && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	REQUIRE(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p));
	for (int i = 0; i < 100; i++) {
		sum += syscall(SYS_getppid);
		if (i % 10 == 0)
			usleep(1000);
	}
	printf("%ld, %d calls\n", sum, refused_calls);
}

static char fifo[64];

static void *opens_fifo(void *arg)
{
	int fd;

	(void)arg;
	fd = (int)raw(SYS_open, (long)"/fifo", O_RDONLY, 0, 0);
	REQUIRE(fd >= 0);
	return 0;
}

/* There is no /proc behind the new root. Each of these threads sleeps for as long as main has no CPU. */
static void other_root(void)
{
	char dir[] = "/tmp/rare-XXXXXX";
	pthread_t t[8];
	struct timespec from, to;

	if (getuid())
		skip("not root");
	REQUIRE(mkdtemp(dir));
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	REQUIRE(!mkfifo(fifo, 0600) && !chroot(dir) && !chdir("/"));
	for (int i = 0; i < 8; i++)
		REQUIRE(!pthread_create(&t[i], 0, opens_fifo, 0));
	usleep(100000);
	clock_gettime(CLOCK_MONOTONIC, &from);
	usleep(1000);
	clock_gettime(CLOCK_MONOTONIC, &to);
	REQUIRE(open("/fifo", O_WRONLY) >= 0);
	for (int i = 0; i < 8; i++)
		REQUIRE(!pthread_join(t[i], 0));
	unlink("/fifo");
	/* The starved would be reported after two seconds. */
	printf("main %s\n", to.tv_sec - from.tv_sec < 2 ? "had a CPU" : "starved");
}

static void *sees_user(void *arg)
{
	while (!stop)
		usleep(500);
	return (void *)(long)(geteuid() == 65534 && arg);
}

static void other_user(void)
{
	pthread_t t[4];
	pid_t child;
	void *same;
	int n = 0;

	if (getuid())
		skip("not root");
	for (int i = 0; i < 4; i++)
		REQUIRE(!pthread_create(&t[i], 0, sees_user, &n));
	usleep(2000);
	REQUIRE(!setgid(65534) && !setuid(65534));
	stop = 1;
	for (int i = 0; i < 4; i++) {
		REQUIRE(!pthread_join(t[i], &same));
		n += (int)(long)same;
	}
	stop = 0;
	busy(2);
	child = fork();
	if (!child) {
		busy(2);
		usleep(10000);
		_exit(5);
	}
	printf("%d threads, status %d\n", n, status_of(child));
}

/* --- signals ----------------------------------------------------------------------------------------------------------- */

static __thread volatile int ticks;
static volatile int strangers;

static void own_tick(int sig, siginfo_t *i, void *context)
{
	(void)sig;
	(void)context;
	ticks++;
	if (i->si_value.sival_int != gettid())
		strangers++;
}

static void *has_timer(void *arg)
{
	struct itimerspec at = { { .tv_nsec = 3000000 }, { .tv_nsec = 3000000 } };
	struct sigevent e = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 3 };
	timer_t timer;

	e._sigev_un._tid = gettid();
	e.sigev_value.sival_int = gettid();
	REQUIRE(!timer_create((long)arg % 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME, &e, &timer) &&
		!timer_settime(timer, 0, &at, 0));
	while (ticks < 15)
		if ((long)arg & 2)
			usleep(1000);
	timer_delete(timer);
	return 0;
}

static void timers_of_threads(void)
{
	struct sigaction a = { .sa_sigaction = own_tick, .sa_flags = SA_SIGINFO };
	pthread_t t[4];

	sigaction(SIGRTMIN + 3, &a, 0);
	for (long i = 0; i < 4; i++)
		REQUIRE(!pthread_create(&t[i], 0, has_timer, (void *)i));
	for (int i = 0; i < 4; i++)
		REQUIRE(!pthread_join(t[i], 0));
	printf("%d strangers\n", strangers);
}

/* As Go's runtime preempts: a signal to a thread, whose handler lets it go on in another function, on a stack for signals. */
static volatile long detours;
static void detour(void)
{
	__atomic_add_fetch(&detours, 1, __ATOMIC_SEQ_CST);
}

extern void trampoline(void);
__asm__("trampoline:\n"
	"	pushfq\n	push %rax\n	push %rcx\n	push %rdx\n	push %rsi\n	"
	"push %rdi\n"
	"	push %r8\n	push %r9\n	push %r10\n	push %r11\n	push %rbp\n"
	"	mov %rsp, %rbp\n	and $-64, %rsp\n	sub $512, %rsp\n	fxsave "
	"(%rsp)\n"
	"	call goes_there\n"
	"	fxrstor (%rsp)\n	mov %rbp, %rsp\n	pop %rbp\n	pop %r11\n	"
	"pop %r10\n"
	"	pop %r9\n	pop %r8\n	pop %rdi\n	pop %rsi\n	pop %rdx\n	"
	"pop %rcx\n"
	"	pop %rax\n	popfq\n	ret $128\n");
__attribute__((used)) void goes_there(void)
{
	detour();
	sched_yield();
}

static volatile char *loop_from, *loop_to;

static void preempts(int sig, siginfo_t *i, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	volatile char *pc = (volatile char *)r[REG_RIP];

	(void)sig;
	(void)i;
	if (pc < loop_from || pc >= loop_to)
		return;
	/* Below the red zone: the address to go back to. */
	r[REG_RSP] -= 128 + 8;
	*(greg_t *)r[REG_RSP] = r[REG_RIP];
	r[REG_RIP] = (greg_t)&trampoline;
}

extern char spin_from[], spin_to[];
static void *spins_on(void *arg)
{
	stack_t s = { .ss_sp = malloc(32768), .ss_size = 32768 };
	unsigned long n = 0;

	REQUIRE(!sigaltstack(&s, 0));
	__asm__ volatile("spin_from:\n"
			 "1:	inc %0\n"
			 "	cmpl $0, %1\n"
			 "	je 1b\n"
			 "spin_to:\n"
			 : "+r"(n)
			 : "m"(stop)
			 : "cc");
	return arg;
}

static void preempted_by_a_monitor(void)
{
	struct sigaction a = { .sa_sigaction = preempts,
			       .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART };
	pthread_t t[3];

	loop_from = spin_from;
	loop_to = spin_to;
	sigaction(SIGUSR1, &a, 0);
	for (int i = 0; i < 3; i++)
		REQUIRE(!pthread_create(&t[i], 0, spins_on, 0));
	for (int n = 0; detours < 60 && n < 20000; n++) {
		usleep(500);
		REQUIRE(!pthread_kill(t[n % 3], SIGUSR1));
	}
	stop = 1;
	for (int i = 0; i < 3; i++)
		REQUIRE(!pthread_join(t[i], 0));
	printf("preempted: %d\n", detours >= 60);
}

static volatile int queued, out_of_order;

static void next_queued(int sig, siginfo_t *i, void *context)
{
	(void)sig;
	(void)context;
	out_of_order += i->si_value.sival_int != queued;
	queued++;
}

/* None of the queued ones is lost, and they come in order. */
static void queued_signals(void)
{
	struct sigaction a = { .sa_sigaction = next_queued, .sa_flags = SA_SIGINFO | SA_RESTART };
	sigset_t set;
	pid_t child;

	sigaction(SIGRTMIN + 1, &a, 0);
	child = fork();
	if (!child) {
		for (int i = 0; i < 300; i++) {
			union sigval v = { .sival_int = i };

			while (sigqueue(getppid(), SIGRTMIN + 1, v))
				REQUIRE(errno == EAGAIN);
			if (i % 50 == 49)
				usleep(3000);
		}
		_exit(0);
	}
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 1);
	pthread_sigmask(SIG_BLOCK, &set, 0);
	busy(2);
	pthread_sigmask(SIG_UNBLOCK, &set, 0);
	while (queued < 300)
		usleep(300);
	printf("%d, %d out of order, status %d\n", queued, out_of_order, status_of(child));
}

static volatile int rings;

static void alarms(int sig)
{
	(void)sig;
	rings++;
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void ring_each(long us)
{
	struct itimerval at = { { .tv_usec = us }, { .tv_usec = us } };

	REQUIRE(!setitimer(ITIMER_REAL, &at, 0));
}

/* A handler without SA_RESTART ends a call; one with it does not. */
static void calls_ended_by_signals(void)
{
	struct sigaction a = { .sa_handler = alarms };
	int pair[2], ended = 0, before;
	pthread_t w;
	char c;

	REQUIRE(!pipe(pair));
	sigaction(SIGALRM, &a, 0);
	ring_each(5000);
	for (int i = 0; i < 10; i++) {
		before = rings;
		ended += read(pair[0], &c, 1) == -1 && errno == EINTR && rings > before;
	}
	siginterrupt(SIGALRM, 0);
	REQUIRE(!pthread_create(&w, 0, writes_later, (void *)(long)pair[1]));
	for (int i = 0; i < 20; i++)
		REQUIRE(read(pair[0], &c, 1) == 1);
	REQUIRE(!pthread_join(w, 0));
	printf("%d ended\n", ended);
	siginterrupt(SIGALRM, 1);
	signal(SIGALRM, alarms);
	printf("after siginterrupt: %d\n", read(pair[0], &c, 1) == -1 && errno == EINTR);
	sigset(SIGALRM, SIG_HOLD);
	before = rings;
	usleep(10000);
	printf("held: %d\n", rings == before);
	ring_each(0);
	sigset(SIGALRM, alarms);
	printf("released: %d\n", rings == before + 1);
}

static char *watched;
static volatile int dirty;

static void is_written(int sig, siginfo_t *i, void *context)
{
	char *page = (char *)((uintptr_t)i->si_addr & ~4095ul);

	(void)sig;
	(void)context;
	if (page < watched || page >= watched + 64 * 4096)
		_exit(3);
	__atomic_add_fetch(&dirty, 1, __ATOMIC_SEQ_CST);
	mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

static void *writes_pages(void *arg)
{
	for (int i = 0; i < 16; i++) {
		watched[((long)arg * 16 + i) * 4096] = 1;
		if (i % 4 == 0)
			usleep(500);
	}
	return 0;
}

static void written_pages_by_faults(void)
{
	struct sigaction a = { .sa_sigaction = is_written, .sa_flags = SA_SIGINFO };
	pthread_t t[4];

	watched = mmap(0, 64 * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGSEGV, &a, 0);
	busy(1);
	for (long i = 0; i < 4; i++)
		REQUIRE(!pthread_create(&t[i], 0, writes_pages, (void *)i));
	for (int i = 0; i < 4; i++)
		REQUIRE(!pthread_join(t[i], 0));
	printf("%d pages\n", dirty);
}

/* --- stacks ------------------------------------------------------------------------------------------------------------ */

#define NR_COROUTINES 8
static ucontext_t scheduler[2], coroutine[2][NR_COROUTINES];
static long turns[2][NR_COROUTINES];

static void coroutine_runs(int who, int number)
{
	for (int i = 0; i < 400; i++) {
		for (volatile int n = 0; n < 20000; n++)
			;
		turns[who][number]++;
		swapcontext(&coroutine[who][number], &scheduler[who]);
	}
}

/* Coroutines with stacks of 8 KiB: the frame of a signal has to fit (docs/threads.md). */
static void *switches(void *arg)
{
	int who = (int)(long)arg;
	static char stacks[2][NR_COROUTINES][8192] __attribute__((aligned(64)));

	for (volatile int i = 0; i < NR_COROUTINES; i++) {
		ucontext_t *c = &coroutine[who][i];

		memset(stacks[who][i], 0x5a, 512);
		REQUIRE(!getcontext(c));
		c->uc_stack.ss_sp = stacks[who][i];
		c->uc_stack.ss_size = sizeof(stacks[who][i]);
		c->uc_link = &scheduler[who];
		makecontext(c, (void (*)(void))coroutine_runs, 2, who, i);
	}
	for (int n = 0; n < 401; n++)
		for (int i = 0; i < NR_COROUTINES; i++)
			if (n < 400 || turns[who][i] == 400)
				swapcontext(&scheduler[who], &coroutine[who][i]);
	for (int i = 0; i < NR_COROUTINES; i++)
		for (int n = 0; n < 512; n++)
			REQUIRE(stacks[who][i][n] == 0x5a);
	return 0;
}

static void small_coroutines(void)
{
	pthread_t t[2];
	long sum = 0;

	busy(2);
	for (long i = 0; i < 2; i++)
		REQUIRE(!pthread_create(&t[i], 0, switches, (void *)i));
	for (int i = 0; i < 2; i++)
		REQUIRE(!pthread_join(t[i], 0));
	for (int i = 0; i < 2; i++)
		for (int n = 0; n < NR_COROUTINES; n++)
			sum += turns[i][n];
	printf("%ld turns\n", sum);
}

/* Threads of a program's own by a timer's signal and swapcontext(). */
static ucontext_t user[3];
static volatile int current;
static volatile long counted[3];

static void switch_user(int sig)
{
	int was = current;

	(void)sig;
	current = (current + 1) % 3;
	swapcontext(&user[was], &user[current]);
}

static void user_runs(int number)
{
	sigset_t set;

	/* It begins in the handler, whose signal is blocked until here: else one that comes during the switch would be lost. */
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_UNBLOCK, &set, 0);
	for (;;)
		counted[number]++;
}

static void threads_by_a_timer(void)
{
	struct sigaction a = { .sa_handler = switch_user, .sa_flags = SA_RESTART };
	struct itimerval at = { { .tv_usec = 2000 }, { .tv_usec = 2000 } };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &set, 0);
	busy(1);
	for (int i = 1; i < 3; i++) {
		REQUIRE(!getcontext(&user[i]));
		user[i].uc_stack.ss_sp = malloc(65536);
		user[i].uc_stack.ss_size = 65536;
		makecontext(&user[i], (void (*)(void))user_runs, 1, i);
	}
	pthread_sigmask(SIG_UNBLOCK, &set, 0);
	sigaction(SIGALRM, &a, 0);
	setitimer(ITIMER_REAL, &at, 0);
	for (int i = 0; i < 30; i++)
		while (usleep(1000) && errno == EINTR)
			;
	while (!counted[1] || !counted[2])
		;
	puts("three ran");
	exit(0);
}

static void *small_stack(void *arg)
{
	char text[32];

	for (volatile unsigned long n = 0; n < 20000000; n++)
		;
	snprintf(text, sizeof(text), "%ld", (long)arg);
	usleep(1000);
	return (void *)atol(text);
}

static void smallest_stacks(void)
{
	pthread_attr_t a;
	pthread_t t[6];
	long sum = 0;
	void *n;

	busy(1);
	pthread_attr_init(&a);
	REQUIRE(!pthread_attr_setstacksize(&a, (size_t)PTHREAD_STACK_MIN));
	for (long i = 0; i < 6; i++)
		REQUIRE(!pthread_create(&t[i], &a, small_stack, (void *)i));
	for (int i = 0; i < 6; i++) {
		REQUIRE(!pthread_join(t[i], &n));
		sum += (long)n;
	}
	printf("%ld\n", sum);
}

/* --- threads ----------------------------------------------------------------------------------------------------------- */

static mtx_t plain, timed;
static cnd_t changed;
static tss_t specific;
static once_flag once = ONCE_FLAG_INIT;
static int phase, destroyed, initialised;

static void destroys(void *arg)
{
	__atomic_add_fetch(&destroyed, (int)(long)arg, __ATOMIC_SEQ_CST);
}

static void initialises(void)
{
	usleep(10000);
	initialised++;
}

static int c11_thread(void *arg)
{
	struct timespec t = { .tv_nsec = 1000000 };
	long number = (long)arg;

	call_once(&once, initialises);
	REQUIRE(initialised == 1);
	tss_set(specific, (void *)1);
	for (int i = 0; i < 50; i++) {
		REQUIRE(mtx_lock(&plain) == thrd_success);
		while (phase % 4 != number)
			REQUIRE(cnd_wait(&changed, &plain) == thrd_success);
		phase++;
		cnd_broadcast(&changed);
		mtx_unlock(&plain);
	}
	thrd_sleep(&t, 0);
	thrd_yield();
	if (number % 2)
		thrd_exit((int)number - 10);
	return (int)number;
}

static int detached(void *arg)
{
	usleep(1000);
	__atomic_add_fetch((int *)arg, 1, __ATOMIC_SEQ_CST);
	return 0;
}

static void c11_threads(void)
{
	struct timespec at;
	thrd_t t[4];
	int result, sum = 0, gone = 0;

	REQUIRE(mtx_init(&plain, mtx_plain | mtx_recursive) == thrd_success &&
		mtx_init(&timed, mtx_timed) == thrd_success);
	REQUIRE(cnd_init(&changed) == thrd_success &&
		tss_create(&specific, destroys) == thrd_success);
	for (long i = 0; i < 4; i++)
		REQUIRE(thrd_create(&t[i], c11_thread, (void *)i) == thrd_success);
	for (int i = 0; i < 4; i++) {
		REQUIRE(thrd_join(t[i], &result) == thrd_success);
		sum += result;
	}
	mtx_lock(&timed);
	timespec_get(&at, TIME_UTC);
	at.tv_nsec += 1000000;
	at.tv_sec += at.tv_nsec / 1000000000;
	at.tv_nsec %= 1000000000;
	REQUIRE(mtx_timedlock(&timed, &at) == thrd_timedout && mtx_trylock(&timed) == thrd_busy);
	mtx_lock(&plain);
	REQUIRE(cnd_timedwait(&changed, &plain, &at) == thrd_timedout);
	for (int i = 0; i < 5; i++) {
		REQUIRE(thrd_create(&t[0], detached, &gone) == thrd_success);
		REQUIRE(thrd_detach(t[0]) == thrd_success);
	}
	while (__atomic_load_n(&gone, __ATOMIC_SEQ_CST) < 5)
		thrd_yield();
	printf("%d phases, sum %d, %d destroyed\n", phase, sum, destroyed);
}

static void *many(void *arg)
{
	pthread_barrier_wait(arg);
	return 0;
}

static void a_thousand_threads(void)
{
	static pthread_t t[1200];
	pthread_barrier_t b;
	pthread_attr_t a;

	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 65536);
	pthread_barrier_init(&b, 0, 1201);
	for (int i = 0; i < 1200; i++)
		REQUIRE(!pthread_create(&t[i], &a, many, &b));
	pthread_barrier_wait(&b);
	for (int i = 0; i < 1200; i++)
		REQUIRE(!pthread_join(t[i], 0));
	puts("1200");
}

static void *protects(void *arg)
{
	pthread_mutex_t *m = arg;

	for (int i = 0; i < 50; i++) {
		REQUIRE(!pthread_mutex_lock(m));
		if (i % 10 == 0)
			usleep(200);
		REQUIRE(!pthread_mutex_unlock(m));
	}
	return 0;
}

static void mutex_with_ceiling(void)
{
	pthread_mutexattr_t a;
	pthread_mutex_t m;
	pthread_t t[3];

	if (getuid())
		skip("not root");
	REQUIRE(!sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ 2 }));
	pthread_mutexattr_init(&a);
	REQUIRE(!pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_PROTECT) &&
		!pthread_mutexattr_setprioceiling(&a, 5));
	REQUIRE(!pthread_mutex_init(&m, &a));
	for (int i = 0; i < 3; i++)
		REQUIRE(!pthread_create(&t[i], 0, protects, &m));
	for (int i = 0; i < 3; i++)
		REQUIRE(!pthread_join(t[i], 0));
	puts("150");
}

/* A process with several threads is refused these, and this one has one. */
static void namespace_of_users(void)
{
	pid_t child = fork();

	if (!child)
		_exit(unshare(CLONE_NEWUSER) ? errno : 100);
	printf("status %d\n", status_of(child));
	printf("%d\n", unshare(CLONE_NEWUSER) ? errno : 0);
	busy(2);
	usleep(5000);
	puts("threads");
}

static void *loads(void *arg)
{
	long sum = 0;

	for (int i = 0; i < 30; i++) {
		char path[256];
		void *l;
		long (*f)(long);

		/* Two copies, so that one is loaded again while the other one stays. */
		snprintf(path, sizeof(path), "%s%d.so", own, (int)((long)arg + i) % 2);
		l = dlopen(path, RTLD_NOW);
		if (!l)
			skip("no library beside the program");
		f = (long (*)(long))dlsym(l, "library_adds");
		sum += f(i) > 0;
		if (i % 7 == 0)
			usleep(300);
		sum += f(1) > 40;
		dlclose(l);
	}
	return (void *)sum;
}

static void libraries(void)
{
	pthread_t t[5];
	long sum = 0;
	void *n;

	busy(1);
	for (long i = 0; i < 5; i++)
		REQUIRE(!pthread_create(&t[i], 0, loads, (void *)i));
	for (int i = 0; i < 5; i++) {
		REQUIRE(!pthread_join(t[i], &n));
		sum += (long)n;
	}
	printf("%ld\n", sum);
}

static void *unshares(void *arg)
{
	char here[256];

	REQUIRE(!unshare(CLONE_FS | CLONE_FILES) && !chdir("/"));
	close(1);
	usleep(2000);
	REQUIRE(getcwd(here, sizeof(here)) && !strcmp(here, "/"));
	return arg;
}

static void files_of_a_thread(void)
{
	char before[256], after[256];
	pthread_t t;

	busy(1);
	REQUIRE(getcwd(before, sizeof(before)));
	REQUIRE(!pthread_create(&t, 0, unshares, 0) && !pthread_join(t, 0));
	REQUIRE(getcwd(after, sizeof(after)) && !strcmp(before, after));
	puts("unchanged");
}

#define CASE(name) { #name, name }
static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	CASE(io_uring_waits),
	CASE(process_files),
	CASE(pages_filled_by_a_thread),
	CASE(asynchronous_files),
	CASE(queue_that_notifies),
	CASE(stopped_and_continued),
	CASE(storm_of_children),
	CASE(owners_killed),
	CASE(program_in_memory),
	CASE(spawned_with_actions),
	CASE(traced_child),
	CASE(seized_threads),
	CASE(daemon_stays),
	CASE(limited_processes),
	CASE(limited_time),
	CASE(few_files),
	CASE(limited_memory),
	CASE(filter_of_a_thread),
	CASE(filter_before_threads),
	CASE(strict_filter),
	CASE(calls_answered_by_a_handler),
	CASE(other_root),
	CASE(other_user),
	CASE(timers_of_threads),
	CASE(preempted_by_a_monitor),
	CASE(queued_signals),
	CASE(calls_ended_by_signals),
	CASE(written_pages_by_faults),
	CASE(small_coroutines),
	CASE(threads_by_a_timer),
	CASE(smallest_stacks),
	CASE(c11_threads),
	CASE(a_thousand_threads),
	CASE(mutex_with_ceiling),
	CASE(namespace_of_users),
	CASE(libraries),
	CASE(files_of_a_thread),
};

int main(int argc, char **argv)
{
	own = argv[0];
	if (argc > 2 && !strcmp(argv[1], "started"))
		return started(argv);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (argc < 2)
			puts(cases[i].name);
		else if (!strcmp(argv[1], cases[i].name))
			cases[i].run();
	fflush(stdout);
	_exit(0);
}
#endif
