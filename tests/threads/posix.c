/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What POSIX and Linux promise a program beyond waiting, for the preloaded library: `posix CASE`, or `posix` for the list of cases, each to be run in a
 * process of its own. Output and exit status are the same with and without a policy.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REQUIRE(cond)                                                             \
	do {                                                                      \
		if (!(cond)) {                                                    \
			fprintf(stderr, "posix: line %d: %s\n", __LINE__, #cond); \
			exit(1);                                                  \
		}                                                                 \
	} while (0)

static const char *own;

static void *sleeps_then_says(void *arg)
{
	usleep(30000);
	puts(arg);
	return 0;
}

static void *sleeps(void *arg)
{
	for (;;)
		sleep(1000);
	return arg;
}

static void *computes(void *arg)
{
	for (volatile unsigned long n = 0;; n++)
		;
	return arg;
}

/* --- ends ---------------------------------------------------------------------------------------------------------- */

static void says_bye(void)
{
	puts("bye");
}

static void main_exits(void)
{
	pthread_t t;

	atexit(says_bye);
	REQUIRE(!pthread_create(&t, 0, sleeps_then_says, "after main's end"));
	pthread_exit(0);
}

static void main_exits_alone(void)
{
	atexit(says_bye);
	pthread_exit(0);
}

/* Detached ones in a row; the last ends the process. */
static void *another(void *arg)
{
	pthread_t t;
	long n = (long)arg;

	pthread_detach(pthread_self());
	if (n)
		REQUIRE(!pthread_create(&t, 0, another, (void *)(n - 1)));
	else
		puts("the last");
	return 0;
}

static void main_exits_in_a_row(void)
{
	pthread_t t;

	REQUIRE(!pthread_create(&t, 0, another, (void *)20));
	pthread_exit(0);
}

static void exit_while_threads_run(void)
{
	pthread_t t;

	for (int i = 0; i < 4; i++)
		REQUIRE(!pthread_create(&t, 0, i % 2 ? sleeps : computes, 0));
	usleep(20000);
	atexit(says_bye);
	exit(7);
}

static void *exits(void *arg)
{
	usleep(5000);
	exit((int)(long)arg);
}

static void exit_by_a_thread(void)
{
	pthread_t t;

	REQUIRE(!pthread_create(&t, 0, exits, (void *)9));
	computes(0);
}

static void killed_by_a_signal(void)
{
	pthread_t t;

	REQUIRE(!pthread_create(&t, 0, sleeps, 0));
	raise(SIGTERM);
}

static void killed_by_a_fault(void)
{
	pthread_t t;

	REQUIRE(!pthread_create(&t, 0, sleeps, 0));
	usleep(2000);
	*(volatile int *)(long)getppid() = 1;
}

/* --- other programs ------------------------------------------------------------------------------------------------- */

/* What a program that was started finds. */
static void started(int argc, char **argv)
{
	char line[256];
	FILE *f = fopen("/proc/self/status", "r");
	cpu_set_t set;

	REQUIRE(f && argc == 4);
	CPU_ZERO(&set);
	REQUIRE(syscall(SYS_sched_getaffinity, 0, sizeof(set), &set) > 0);
	printf("%s %s env=%s preload=%s", argv[2], argv[3],
	       getenv("POSIX_TEST") ? getenv("POSIX_TEST") : "-",
	       getenv("LD_PRELOAD") && !getenv("WEIR_THREADS_JOIN") ? "yes" : "-");
	/*
	 * Signals 32 and 33 are the C library's: it takes them when the first thread is created, be it ours, and no program can ask for
	 * them. A handler of theirs ends with the program, where a service that started us had them ignored.
	 */
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "SigBlk:", 7) || !strncmp(line, "SigIgn:", 7))
			printf(" %.7s%llx", line, strtoull(line + 7, 0, 16) & ~(3ULL << 31));
	putchar('\n');
	fflush(stdout);
	/* Joined, the program has a CPU of the policy. */
	if (!getenv("WEIR_THREADS_JOIN"))
		REQUIRE(CPU_COUNT(&set) == sysconf(_SC_NPROCESSORS_ONLN));
	_exit(3);
}

static int in_child(void (*run)(int), int how, int threads)
{
	int status;
	pid_t child;

	if (threads) {
		pthread_t t;

		REQUIRE(!pthread_create(&t, 0, sleeps, 0));
	}
	fflush(stdout);
	child = fork();
	REQUIRE(child >= 0);
	if (!child) {
		run(how);
		_exit(100);
	}
	REQUIRE(waitpid(child, &status, 0) == child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void executes(int how)
{
	char *argv[] = { (char *)own, "started", "a", "b", 0 }, *env[] = { "POSIX_TEST=given", 0 };
	int fd;

	switch (how) {
	case 0:
		execl(own, own, "started", "a", "b", (char *)0);
		break;
	case 1:
		execlp(own, own, "started", "a", "b", (char *)0);
		break;
	case 2:
		execle(own, own, "started", "a", "b", (char *)0, env);
		break;
	case 3:
		execv(own, argv);
		break;
	case 4:
		execvp(own, argv);
		break;
	case 5:
		execve(own, argv, env);
		break;
	case 6:
		execvpe(own, argv, env);
		break;
	case 7:
		fd = open(own, O_RDONLY | O_CLOEXEC);
		fexecve(fd, argv, env);
		break;
	default:
		execl("/nowhere/to/be/found", "x", (char *)0);
		REQUIRE(errno == ENOENT);
		_exit(4);
	}
}

static void exec_after_fork(void)
{
	setenv("POSIX_TEST", "inherited", 1);
	for (int how = 0; how <= 8; how++)
		printf("%d: %d\n", how, in_child(executes, how, how == 0));
}

/* The process itself becomes another one, beside running threads. */
static void exec_beside_threads(void)
{
	pthread_t t;

	for (int i = 0; i < 3; i++)
		REQUIRE(!pthread_create(&t, 0, i % 2 ? sleeps : computes, 0));
	usleep(3000);
	executes(0);
}

static void vfork_and_exec(void)
{
	for (volatile int how = 0; how <= 7; how++) {
		int status;
		pid_t child = vfork();

		if (!child) {
			executes(how);
			_exit(100);
		}
		REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status));
		printf("%d: %d\n", how, WEXITSTATUS(status));
	}
	for (volatile int i = 0; i < 100; i++) {
		int status;
		pid_t child = vfork();

		if (!child)
			_exit(i);
		REQUIRE(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == i);
	}
	puts("100 children");
}

static int works_in_child(void *arg)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	struct timespec t = { .tv_nsec = 1000000 };
	pthread_t r;

	(void)arg;
	nanosleep(&t, 0);
	usleep(1000);
	pthread_mutex_lock(&m);
	REQUIRE(!pthread_create(&r, 0, sleeps_then_says, "thread of a child"));
	pthread_join(r, 0);
	fflush(stdout);
	_exit(6);
}

/* libc's clone() ends its thread then, not the process; it has no other. */
static int returns_in_child(void *arg)
{
	usleep(1000);
	return arg ? 7 : 8;
}

static void wait_for(pid_t child)
{
	int status;

	REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
	printf("status %x\n", status);
}

static void processes_without_fork(void)
{
	struct clone_args a = { .exit_signal = SIGCHLD };
	char *stack = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t t;
	long pid;

	REQUIRE(!pthread_create(&t, 0, computes, 0));
	fflush(stdout);
	pid = syscall(SYS_fork);
	if (!pid)
		works_in_child(0);
	wait_for((pid_t)pid);
	fflush(stdout);
	pid = syscall(SYS_clone3, &a, sizeof(a));
	if (!pid)
		works_in_child(0);
	wait_for((pid_t)pid);
	fflush(stdout);
	pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (!pid)
		works_in_child(0);
	wait_for((pid_t)pid);
	fflush(stdout);
	wait_for(clone(works_in_child, stack + (1 << 20), SIGCHLD, 0));
	wait_for(clone(returns_in_child, stack + (1 << 20), SIGCHLD, stack));
}

static int writes_in_clone(void *arg)
{
	/* It has the memory and the thread-local variables of its maker. */
	struct timespec t = { .tv_nsec = 5000000 };

	for (int i = 0; i < 5; i++)
		nanosleep(&t, 0);
	*(volatile int *)arg = 1;
	_exit(8);
}

static void clone_with_memory(void)
{
	char *stack = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static volatile int done;
	pid_t child = clone(writes_in_clone, stack + (1 << 20), CLONE_VM | SIGCHLD, (void *)&done);

	wait_for(child);
	printf("done %d\n", done);
	child = clone(writes_in_clone, stack + (1 << 20), CLONE_VM | CLONE_VFORK | SIGCHLD,
		      (void *)&done);
	wait_for(child);
}

/* --- signals -------------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t counted;
static pthread_t counted_by;

static void counts(int sig)
{
	(void)sig;
	counted++;
	counted_by = pthread_self();
}

static void *waits_for_count(void *arg)
{
	while (counted < (int)(long)arg)
		usleep(1000);
	return 0;
}

static void signals_to_threads(void)
{
	struct sigaction a = { .sa_handler = counts };
	pthread_t t[4];

	sigfillset(&a.sa_mask);
	sigaction(SIGUSR1, &a, 0);
	for (int i = 0; i < 4; i++) {
		REQUIRE(!pthread_create(&t[i], 0, i == 3 ? waits_for_count : sleeps, (void *)4));
		usleep(1000);
	}
	for (int i = 0; i < 4; i++) {
		int before = counted;

		REQUIRE(!pthread_kill(t[i], SIGUSR1));
		for (int n = 0; counted == before && n < 5000; n++)
			usleep(1000);
		REQUIRE(counted == before + 1 && pthread_equal(counted_by, t[i]));
	}
	REQUIRE(!pthread_join(t[3], 0));
	puts("4 signals");
}

static void *takes_signals(void *arg)
{
	sigset_t all;
	int sig, n = 0;

	sigfillset(&all);
	for (;;) {
		REQUIRE(!sigwait(&all, &sig));
		if (sig == SIGTERM)
			break;
		REQUIRE(sig == SIGUSR1 || sig == SIGUSR2);
		n++;
		sem_post(arg);
	}
	return (void *)(long)n;
}

/* All signals blocked in all threads, one takes them. A thread of the runtime must not take one, nor is there one more. */
static void sigwait_for_all(void)
{
	sigset_t all;
	pthread_t t, busy;
	void *n;
	sem_t got;

	sigfillset(&all);
	REQUIRE(!pthread_sigmask(SIG_SETMASK, &all, 0) && !sem_init(&got, 0, 0));
	REQUIRE(!pthread_create(&t, 0, takes_signals, &got) &&
		!pthread_create(&busy, 0, computes, 0));
	for (int i = 0; i < 50; i++) {
		kill(getpid(), i % 2 ? SIGUSR1 : SIGUSR2);
		REQUIRE(!sem_wait(&got));
	}
	kill(getpid(), SIGTERM);
	REQUIRE(!pthread_join(t, &n));
	printf("%ld signals\n", (long)n);
}

static void signal_file(void)
{
	struct signalfd_siginfo info;
	sigset_t all;
	int fd;

	sigfillset(&all);
	REQUIRE(!pthread_sigmask(SIG_SETMASK, &all, 0));
	fd = signalfd(-1, &all, 0);
	for (int i = 0; i < 20; i++) {
		usleep(3000);
		kill(getpid(), SIGUSR1);
		REQUIRE(read(fd, &info, sizeof(info)) == sizeof(info));
		REQUIRE(info.ssi_signo == SIGUSR1);
	}
	puts("20 signals");
}

static sigjmp_buf back;

static void jumps(int sig)
{
	(void)sig;
	siglongjmp(back, 1);
}

/* Out of a call that waits, and out of a computation, many times. */
static void jumps_out_of_waits(void)
{
	volatile int jumped = 0;
	int pair[2];
	pthread_t t[2];
	sigset_t set;
	char c;

	/* The signal is main's alone, as the jump is. */
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &set, 0);
	for (int i = 0; i < 2; i++)
		REQUIRE(!pthread_create(&t[i], 0, computes, 0));
	pthread_sigmask(SIG_UNBLOCK, &set, 0);
	REQUIRE(!pipe(pair));
	signal(SIGALRM, jumps);
	while (jumped < 40) {
		struct itimerval at = { .it_value = { .tv_usec = 2000 + 100 * jumped } };

		if (sigsetjmp(back, 1)) {
			jumped++;
			continue;
		}
		setitimer(ITIMER_REAL, &at, 0);
		if (jumped % 2)
			(void)!read(pair[0], &c, 1);
		else
			for (;;)
				;
	}
	printf("%d jumps\n", jumped);
}

static volatile sig_atomic_t urgent;

static void is_urgent(int sig)
{
	(void)sig;
	urgent++;
}

/* The signal that the runtime uses is also the program's. */
static void urgent_signal(void)
{
	struct sigaction a = { .sa_handler = is_urgent }, old;
	pthread_t t;

	REQUIRE(!sigaction(SIGURG, &a, &old) && old.sa_handler == SIG_DFL);
	REQUIRE(!pthread_create(&t, 0, computes, 0));
	for (int i = 1; i <= 5; i++) {
		kill(getpid(), SIGURG);
		for (int n = 0; urgent < i && n < 3000; n++)
			usleep(1000);
		/* It may be called in vain as well. */
		REQUIRE(urgent >= i);
	}
	REQUIRE(!sigaction(SIGURG, 0, &old) && old.sa_handler == is_urgent);
	puts("5 urgent signals");
}

/* The program blocks it, and takes it from a file and by calls (PostgreSQL's processes wake each other so). */
static void urgent_signal_taken(void)
{
	struct timespec t = { .tv_sec = 20 }, none = { 0 };
	struct signalfd_siginfo info;
	sigset_t set, old;
	int fd, taken = 0;
	siginfo_t i;
	pid_t child;

	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	REQUIRE(!sigprocmask(SIG_BLOCK, &set, &old) && !sigismember(&old, SIGURG));
	REQUIRE(!sigprocmask(SIG_BLOCK, 0, &old) && sigismember(&old, SIGURG));
	/* It comes while the thread runs, and is taken later. */
	kill(getpid(), SIGURG);
	for (volatile unsigned long n = 0; n < 20000000; n++)
		;
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	REQUIRE(fd >= 0 && read(fd, &info, sizeof(info)) == sizeof(info));
	REQUIRE(info.ssi_signo == SIGURG && info.ssi_pid == (unsigned)getpid());
	child = fork();
	if (!child) {
		/* It takes one, and sends one. */
		for (int n = 0; n < 50; n++) {
			REQUIRE(sigwaitinfo(&set, &i) == SIGURG && i.si_pid == getppid());
			kill(getppid(), SIGURG);
		}
		_exit(0);
	}
	for (int n = 0; n < 50; n++) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		kill(child, SIGURG);
		REQUIRE(poll(&p, 1, 20000) == 1 && read(fd, &info, sizeof(info)) == sizeof(info));
		REQUIRE(info.ssi_signo == SIGURG && info.ssi_pid == (unsigned)child);
		taken++;
	}
	wait_for(child);
	REQUIRE(sigtimedwait(&set, &i, &none) == -1 && errno == EAGAIN);
	kill(getpid(), SIGURG);
	REQUIRE(sigtimedwait(&set, &i, &t) == SIGURG && i.si_code == SI_USER);
	signal(SIGURG, is_urgent);
	kill(getpid(), SIGURG);
	usleep(10000);
	REQUIRE(!urgent && !sigprocmask(SIG_UNBLOCK, &set, 0) && urgent >= 1);
	printf("%d urgent signals taken\n", taken);
}

static void by_timer(union sigval v)
{
	sem_post(v.sival_ptr);
}

static void timers(void)
{
	struct itimerspec at = { .it_value = { .tv_nsec = 2000000 },
				 .it_interval = { .tv_nsec = 2000000 } };
	struct sigevent e = { .sigev_notify = SIGEV_THREAD, .sigev_notify_function = by_timer };
	unsigned long long n, all = 0;
	timer_t timer;
	sem_t sem;
	int fd;

	REQUIRE(!sem_init(&sem, 0, 0));
	e.sigev_value.sival_ptr = &sem;
	REQUIRE(!timer_create(CLOCK_MONOTONIC, &e, &timer) && !timer_settime(timer, 0, &at, 0));
	for (int i = 0; i < 10; i++)
		REQUIRE(!sem_wait(&sem));
	timer_delete(timer);
	fd = timerfd_create(CLOCK_MONOTONIC, 0);
	timerfd_settime(fd, 0, &at, 0);
	while (all < 10 && read(fd, &n, sizeof(n)) == sizeof(n))
		all += n;
	puts("20 times");
	exit(0);
}

/* A wait is not cut short by what the runtime does: no call returns EINTR. */
static void *waits_raw(void *arg)
{
	struct timespec t = { .tv_nsec = 40000000 };

	for (int i = 0; i < 5; i++) {
		REQUIRE(!syscall(SYS_nanosleep, &t, &t));
		REQUIRE(!syscall(SYS_poll, 0, 0, 20));
		REQUIRE(!syscall(SYS_epoll_wait, (long)arg, &(char[100]){ 0 }, 1, 20));
	}
	return 0;
}

static void no_interruptions(void)
{
	pthread_t t[4], busy[3];
	int fd = (int)syscall(SYS_epoll_create1, 0);

	for (int i = 0; i < 3; i++)
		REQUIRE(!pthread_create(&busy[i], 0, computes, 0));
	for (int i = 0; i < 4; i++)
		REQUIRE(!pthread_create(&t[i], 0, waits_raw, (void *)(long)fd));
	for (int i = 0; i < 4; i++)
		REQUIRE(!pthread_join(t[i], 0));
	puts("60 waits");
	exit(0);
}

/* --- synchronisation ------------------------------------------------------------------------------------------------ */

static void *dies_with_lock(void *arg)
{
	REQUIRE(!pthread_mutex_lock(arg));
	return 0;
}

static void robust_mutexes(void)
{
	pthread_mutex_t *m =
		mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	volatile int *taken = (volatile int *)(m + 1);
	pthread_mutexattr_t a;
	pthread_t t;
	pid_t child;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	REQUIRE(!pthread_mutex_init(m, &a));
	REQUIRE(!pthread_create(&t, 0, dies_with_lock, m) && !pthread_join(t, 0));
	REQUIRE(pthread_mutex_lock(m) == EOWNERDEAD && !pthread_mutex_consistent(m) &&
		!pthread_mutex_unlock(m));
	child = fork();
	if (!child) {
		pthread_mutex_lock(m);
		*taken = 1;
		usleep(20000);
		_exit(0);
	}
	while (!*taken)
		usleep(1000);
	REQUIRE(pthread_mutex_lock(m) == EOWNERDEAD && !pthread_mutex_consistent(m) &&
		!pthread_mutex_unlock(m));
	REQUIRE(waitpid(child, 0, 0) == child);
	puts("two owners died");
}

struct shared {
	pthread_mutex_t m;
	pthread_cond_t c;
	pthread_barrier_t b;
	sem_t s;
	int turn;
};

static void shared_between_processes(void)
{
	struct shared *s = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t ma;
	pthread_condattr_t ca;
	pthread_barrierattr_t ba;
	pid_t child;
	int me;

	pthread_mutexattr_init(&ma);
	pthread_condattr_init(&ca);
	pthread_barrierattr_init(&ba);
	pthread_mutexattr_setpshared(&ma, 1);
	pthread_condattr_setpshared(&ca, 1);
	pthread_barrierattr_setpshared(&ba, 1);
	REQUIRE(!pthread_mutex_init(&s->m, &ma) && !pthread_cond_init(&s->c, &ca) &&
		!pthread_barrier_init(&s->b, &ba, 2) && !sem_init(&s->s, 1, 0));
	child = fork();
	me = !child;
	pthread_barrier_wait(&s->b);
	for (int i = 0; i < 200; i++) {
		pthread_mutex_lock(&s->m);
		while (s->turn % 2 != me)
			pthread_cond_wait(&s->c, &s->m);
		s->turn++;
		pthread_cond_broadcast(&s->c);
		pthread_mutex_unlock(&s->m);
	}
	if (!child) {
		sem_post(&s->s);
		_exit(0);
	}
	REQUIRE(!sem_wait(&s->s) && waitpid(child, 0, 0) == child);
	printf("%d turns\n", s->turn);
}

static void kinds_of_mutex(void)
{
	pthread_mutexattr_t a;
	pthread_mutex_t m;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);
	REQUIRE(!pthread_mutex_init(&m, &a) && !pthread_mutex_lock(&m) &&
		pthread_mutex_lock(&m) == EDEADLK);
	REQUIRE(!pthread_mutex_unlock(&m) && pthread_mutex_unlock(&m) == EPERM);
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE);
	REQUIRE(!pthread_mutex_init(&m, &a) && !pthread_mutex_lock(&m) && !pthread_mutex_lock(&m) &&
		!pthread_mutex_unlock(&m) && !pthread_mutex_unlock(&m));
	pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_NORMAL);
	REQUIRE(!pthread_mutex_init(&m, &a) && !pthread_mutex_lock(&m) &&
		!pthread_mutex_unlock(&m));
	puts("three kinds");
}

/* --- settings ------------------------------------------------------------------------------------------------------- */

static void affinity(void)
{
	cpu_set_t all, one, got;

	REQUIRE(!sched_getaffinity(0, sizeof(all), &all));
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	REQUIRE(!pthread_setaffinity_np(pthread_self(), sizeof(one), &one));
	REQUIRE(!sched_getaffinity(0, sizeof(got), &got) && CPU_EQUAL(&one, &got));
	REQUIRE(!sched_setaffinity(0, sizeof(all), &all));
	REQUIRE(!pthread_getaffinity_np(pthread_self(), sizeof(got), &got) &&
		CPU_EQUAL(&all, &got));
	CPU_ZERO(&one);
	REQUIRE(sched_setaffinity(0, sizeof(one), &one) == -1 && errno == EINVAL);
	puts("affinity");
}

static void *sees_policy(void *arg)
{
	struct sched_param p;
	int policy;

	REQUIRE(!pthread_getschedparam(pthread_self(), &policy, &p));
	printf("policy %d, priority %d\n", policy, p.sched_priority);
	return arg;
}

static void policies(void)
{
	struct sched_param p = { .sched_priority = 7 }, q;
	pthread_attr_t a;
	pthread_t t;
	int policy;

	REQUIRE(sched_getscheduler(0) == SCHED_OTHER);
	REQUIRE(!sched_setscheduler(0, SCHED_FIFO, &p) && sched_getscheduler(0) == SCHED_FIFO);
	REQUIRE(!sched_getparam(0, &q) && q.sched_priority == 7);
	REQUIRE(!pthread_getschedparam(pthread_self(), &policy, &q) && policy == SCHED_FIFO &&
		q.sched_priority == 7);
	p.sched_priority = 0;
	REQUIRE(sched_setscheduler(0, SCHED_RR, &p) == -1 && errno == EINVAL);
	REQUIRE(!sched_setscheduler(0, SCHED_OTHER, &p));
	p.sched_priority = 3;
	pthread_attr_init(&a);
	pthread_attr_setinheritsched(&a, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&a, SCHED_RR);
	pthread_attr_setschedparam(&a, &p);
	pthread_attr_setstacksize(&a, 1 << 20);
	REQUIRE(!pthread_create(&t, &a, sees_policy, 0) && !pthread_join(t, 0));
}

static void closes_files(void)
{
	struct timespec t = { .tv_nsec = 1000000 };
	pthread_t r;

	for (int i = 3; i < 1000; i++)
		close(i);
	close_range(3, ~0u, 0);
	closefrom(3);
	REQUIRE(!pthread_create(&r, 0, sleeps_then_says, "a thread") && !pthread_join(r, 0));
	nanosleep(&t, 0);
	printf("first file: %d\n", dup(0));
}

#define CASE(name) { #name, name }
static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	CASE(main_exits),
	CASE(main_exits_alone),
	CASE(main_exits_in_a_row),
	CASE(exit_while_threads_run),
	CASE(exit_by_a_thread),
	CASE(killed_by_a_signal),
	CASE(killed_by_a_fault),
	CASE(exec_after_fork),
	CASE(exec_beside_threads),
	CASE(vfork_and_exec),
	CASE(processes_without_fork),
	CASE(clone_with_memory),
	CASE(signals_to_threads),
	CASE(sigwait_for_all),
	CASE(signal_file),
	CASE(jumps_out_of_waits),
	CASE(urgent_signal),
	CASE(urgent_signal_taken),
	CASE(timers),
	CASE(no_interruptions),
	CASE(robust_mutexes),
	CASE(shared_between_processes),
	CASE(kinds_of_mutex),
	CASE(affinity),
	CASE(policies),
	CASE(closes_files),
};

int main(int argc, char **argv)
{
	own = argv[0];
	if (argc > 1 && !strcmp(argv[1], "started"))
		started(argc, argv);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (argc < 2)
			puts(cases[i].name);
		else if (!strcmp(argv[1], cases[i].name))
			cases[i].run();
	return 0;
}
