/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Calls that sleep without the runtime's knowledge, for the preloaded library: `asleep [LIMIT_MS]`. For each, as many threads as there are CPUs sleep in it, made by a
 * machine instruction that nobody can wrap (every second one in code that the program has made itself, as a compiler at run time does), or by a call of libc that is
 * not wrapped. Another thread wants a CPU all the time, and has to get one within four times the limit after the last of them has gone to sleep, and within the limit later on. At the
 * end, all go on. Prints a line a call, and on stderr the delays of all calls and the longest of both kinds.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REQUIRE(cond)                                                                           \
	do {                                                                                    \
		if (!(cond)) {                                                                  \
			fprintf(stderr, "asleep: %s, line %d: %s (%m)\n", at, __LINE__, #cond); \
			exit(1);                                                                \
		}                                                                               \
	} while (0)

#define HOLDERS 8
static const char *at = "begin";
static _Atomic int going, returned;
static int in[2], full[2], pipe_in[2], pipe_full[2], door, epoll, event, timer, notify, box, sems,
	locked;
static int child_lives, futex_word, ring;
static mqd_t queue, full_queue;
static char fifo[64], lock_file[64];
static const struct timespec short_time = { .tv_nsec = 400000000 };

typedef long call(long n, long a, long b, long c, long d, long e, long f);
static call *made;
static __thread int by_made;

static long raw(long n, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long r;

	if (by_made)
		return made(n, a, b, c, d, e, f);
	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return r;
}

static void make_code(void)
{
	static const unsigned char code[] = {
		0x48, 0x89, 0xf8,	      /* mov %rdi, %rax */
		0x48, 0x89, 0xf7,	      /* mov %rsi, %rdi */
		0x48, 0x89, 0xd6,	      /* mov %rdx, %rsi */
		0x48, 0x89, 0xca,	      /* mov %rcx, %rdx */
		0x4d, 0x89, 0xc2,	      /* mov %r8, %r10 */
		0x4d, 0x89, 0xc8,	      /* mov %r9, %r8 */
		0x4c, 0x8b, 0x4c, 0x24, 0x08, /* mov 8(%rsp), %r9 */
		0x0f, 0x05, 0xc3,	      /* syscall; ret */
	};
	void *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(page != MAP_FAILED);
	memcpy(page, code, sizeof(code));
	REQUIRE(!mprotect(page, 4096, PROT_READ | PROT_EXEC));
	made = (call *)page;
}

#define P(x) ((long)(x))
static char bytes[8192];

/* Every one ends 0.4 s later at the latest, or when main says so. */
static void s_nanosleep(void)
{
	raw(SYS_nanosleep, P(&short_time), 0, 0, 0, 0, 0);
}
static void s_clock_nanosleep(void)
{
	raw(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, P(&short_time), 0, 0, 0);
}
static void s_poll(void)
{
	struct pollfd p = { .fd = in[0], .events = POLLIN };
	raw(SYS_poll, P(&p), 1, 400, 0, 0, 0);
}
static void s_ppoll(void)
{
	struct timespec t = short_time;
	struct pollfd p = { .fd = in[0], .events = POLLIN };
	raw(SYS_ppoll, P(&p), 1, P(&t), 0, 8, 0);
}
static void s_select(void)
{
	struct timeval t = { .tv_usec = 400000 };
	raw(SYS_select, 0, 0, 0, 0, P(&t), 0);
}
static void s_pselect(void)
{
	struct timespec t = short_time;
	raw(SYS_pselect6, 0, 0, 0, 0, P(&t), 0);
}
static void s_epoll_wait(void)
{
	struct epoll_event e;
	raw(SYS_epoll_wait, epoll, P(&e), 1, 400, 0, 0);
}
static void s_epoll_pwait(void)
{
	struct epoll_event e;
	raw(SYS_epoll_pwait, epoll, P(&e), 1, 400, 0, 8);
}
static void s_futex(void)
{
	raw(SYS_futex, P(&futex_word), FUTEX_WAIT_PRIVATE, 0, P(&short_time), 0, 0);
}
static void s_futex_bitset(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += 400000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	raw(SYS_futex, P(&futex_word), FUTEX_WAIT_BITSET, 0, P(&t), 0, ~0);
}
static void s_read_socket(void)
{
	raw(SYS_read, in[0], P(bytes), 1, 0, 0, 0);
}
static void s_read_pipe(void)
{
	raw(SYS_read, pipe_in[0], P(bytes), 1, 0, 0, 0);
}
static void s_readv(void)
{
	struct iovec v = { bytes, 1 };
	raw(SYS_readv, in[0], P(&v), 1, 0, 0, 0);
}
static void s_recvfrom(void)
{
	raw(SYS_recvfrom, in[0], P(bytes), 1, 0, 0, 0);
}
static void s_recvmsg(void)
{
	struct iovec v = { bytes, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	raw(SYS_recvmsg, in[0], P(&m), 0, 0, 0, 0);
}
static void s_recvmmsg(void)
{
	struct iovec v = { bytes, 1 };
	struct mmsghdr m = { .msg_hdr = { .msg_iov = &v, .msg_iovlen = 1 } };
	raw(SYS_recvmmsg, in[0], P(&m), 1, 0, 0, 0);
}
static void s_write_socket(void)
{
	raw(SYS_write, full[1], P(bytes), 4096, 0, 0, 0);
}
static void s_write_pipe(void)
{
	raw(SYS_write, pipe_full[1], P(bytes), 4096, 0, 0, 0);
}
static void s_sendto(void)
{
	raw(SYS_sendto, full[1], P(bytes), 4096, 0, 0, 0);
}
static void s_sendfile(void)
{
	raw(SYS_sendfile, full[1], open("/proc/self/exe", O_RDONLY), 0, 4096, 0, 0);
}
static void s_splice(void)
{
	raw(SYS_splice, pipe_in[0], 0, pipe_full[1], 0, 1, 0);
}
static void s_tee(void)
{
	raw(SYS_tee, pipe_in[0], pipe_full[1], 1, 0, 0, 0);
}
static void s_accept(void)
{
	raw(SYS_accept, door, 0, 0, 0, 0, 0);
}
static void s_accept4(void)
{
	raw(SYS_accept4, door, 0, 0, 0, 0, 0);
}
static void s_wait4(void)
{
	raw(SYS_wait4, child_lives, 0, 0, 0, 0, 0);
}
static void s_waitid(void)
{
	siginfo_t i;
	raw(SYS_waitid, P_PID, child_lives, P(&i), WEXITED | WNOWAIT, 0, 0);
}
static void s_eventfd(void)
{
	raw(SYS_read, event, P(bytes), 8, 0, 0, 0);
}
static void s_timerfd(void)
{
	raw(SYS_read, timer, P(bytes), 8, 0, 0, 0);
}
static void s_inotify(void)
{
	raw(SYS_read, notify, P(bytes), 4096, 0, 0, 0);
}
static void s_msgrcv(void)
{
	raw(SYS_msgrcv, box, P(bytes), 100, 0, 0, 0);
}
static void s_semop(void)
{
	struct sembuf b = { .sem_op = -1 };
	raw(SYS_semop, sems, P(&b), 1, 0, 0, 0);
}
static void s_semtimedop(void)
{
	struct sembuf b = { .sem_op = -1 };
	raw(SYS_semtimedop, sems, P(&b), 1, P(&short_time), 0, 0);
}
static void s_mq_timedreceive(void)
{
	raw(SYS_mq_timedreceive, queue, P(bytes), 4096, 0, 0, 0);
}
static void s_mq_timedsend(void)
{
	raw(SYS_mq_timedsend, full_queue, P(bytes), 8, 0, 0, 0);
}
static void s_flock(void)
{
	raw(SYS_flock, open(lock_file, O_RDONLY), LOCK_EX, 0, 0, 0, 0);
}
static void s_setlkw(void)
{
	static struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	raw(SYS_fcntl, locked, F_SETLKW, P(&l), 0, 0, 0);
}
static void s_open_fifo(void)
{
	raw(SYS_open, P(fifo), O_RDONLY, 0, 0, 0, 0);
}
static void s_rt_sigtimedwait(void)
{
	unsigned long set = 1ul << (SIGUSR2 - 1);
	raw(SYS_rt_sigtimedwait, P(&set), 0, P(&short_time), 8, 0, 0);
}
static void s_io_uring(void)
{
	if (ring >= 0)
		raw(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, 0, 0);
	else
		raw(SYS_nanosleep, P(&short_time), 0, 0, 0, 0, 0);
}

/*
 * UNTIL: it waits until a signal of ours, and Linux restarts it after one of the runtime's. CASE: it ends by itself; the end of a slice may interrupt it
 * before the thread is found asleep (CAVEATS.md), and EITHER, which waits for ever.
 */
#define CASE(name)   { #name, s_##name, 0 }
#define UNTIL(name)  { #name, s_##name, 1 }
#define EITHER(name) { #name, s_##name, 2 }
static const struct {
	const char *name;
	void (*run)(void);
	int until;
} cases[] = {
	CASE(nanosleep),     CASE(clock_nanosleep), CASE(poll),
	CASE(ppoll),	     CASE(select),	    CASE(pselect),
	CASE(epoll_wait),    CASE(epoll_pwait),	    CASE(futex),
	CASE(futex_bitset),  UNTIL(read_socket),    UNTIL(read_pipe),
	UNTIL(readv),	     UNTIL(recvfrom),	    UNTIL(recvmsg),
	UNTIL(recvmmsg),     UNTIL(write_socket),   UNTIL(write_pipe),
	UNTIL(sendto),	     UNTIL(sendfile),	    UNTIL(splice),
	UNTIL(tee),	     UNTIL(accept),	    UNTIL(accept4),
	UNTIL(wait4),	     UNTIL(waitid),	    UNTIL(eventfd),
	UNTIL(timerfd),	     UNTIL(inotify),	    EITHER(msgrcv),
	EITHER(semop),	     CASE(semtimedop),	    UNTIL(mq_timedreceive),
	UNTIL(mq_timedsend), UNTIL(flock),	    UNTIL(setlkw),
	UNTIL(open_fifo),    CASE(rt_sigtimedwait), EITHER(io_uring),
};
#define NR (sizeof(cases) / sizeof(cases[0]))

static void nothing(int sig)
{
	(void)sig;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static _Atomic double began[HOLDERS];

static void *sleeper(void *arg)
{
	int n = going++;

	by_made = n % 2;
	began[n] = seconds();
	cases[(long)arg].run();
	returned++;
	return 0;
}

static void prepare(void)
{
	struct mq_attr small = { .mq_maxmsg = 1, .mq_msgsize = 64 };
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct io_uring_params params = { 0 };
	struct sigaction a = { .sa_handler = nothing };
	int ready[2];
	char name[64];

	REQUIRE(!socketpair(AF_UNIX, SOCK_STREAM, 0, in) &&
		!socketpair(AF_UNIX, SOCK_STREAM, 0, full));
	REQUIRE(!pipe(pipe_in) && !pipe(pipe_full) && !pipe(ready));
	while (send(full[1], bytes, 4096, MSG_DONTWAIT) > 0)
		;
	fcntl(pipe_full[1], F_SETFL, O_NONBLOCK);
	while (write(pipe_full[1], bytes, 4096) > 0)
		;
	fcntl(pipe_full[1], F_SETFL, 0);
	door = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "asleep-%d", getpid());
	REQUIRE(!bind(door, (struct sockaddr *)&address, sizeof(address)) && !listen(door, 1));
	epoll = epoll_create1(0);
	event = eventfd(0, 0);
	timer = timerfd_create(CLOCK_MONOTONIC, 0);
	notify = inotify_init1(0);
	box = msgget(IPC_PRIVATE, 0600);
	sems = semget(IPC_PRIVATE, 1, 0600);
	ring = (int)syscall(SYS_io_uring_setup, 4, &params);
	snprintf(name, sizeof(name), "/asleep-%d", getpid());
	queue = mq_open(name, O_CREAT | O_RDWR, 0600, &small);
	mq_unlink(name);
	full_queue = mq_open(name, O_CREAT | O_RDWR, 0600, &small);
	mq_unlink(name);
	REQUIRE(queue >= 0 && full_queue >= 0 && !mq_send(full_queue, "x", 1, 0));
	snprintf(fifo, sizeof(fifo), "/tmp/asleep-%d", getpid());
	REQUIRE(!mkfifo(fifo, 0600));
	snprintf(lock_file, sizeof(lock_file), "/tmp/asleep-%d.lock", getpid());
	locked = memfd_create("locked", 0);
	sigaction(SIGUSR1, &a, 0);
	child_lives = fork();
	if (!child_lives) {
		REQUIRE(!flock(open(lock_file, O_CREAT | O_RDWR, 0600), LOCK_EX));
		REQUIRE(!fcntl(locked, F_SETLKW, &l) && write(ready[1], "x", 1) == 1);
		for (;;)
			pause();
	}
	REQUIRE(read(ready[0], name, 1) == 1);
}

int main(int argc, char **argv)
{
	double limit = argc > 1 ? atof(argv[1]) * 1e-3 : 1e9, longest = 0, given = 0;
	pthread_t t[HOLDERS];

	setvbuf(stdout, 0, _IOLBF, 0);
	make_code();
	prepare();
	for (unsigned i = 0; i < NR; i++) {
		double from, late, last = 0;
		int nr = (int)sysconf(_SC_NPROCESSORS_ONLN);

		nr = nr > HOLDERS ? HOLDERS : nr;
		at = cases[i].name;
		going = returned = 0;
		for (int n = 0; n < nr; n++)
			REQUIRE(!pthread_create(&t[n], 0, sleeper, (void *)(long)i));
		/* Main gives up its CPU, so that all sleep, and wants one again at once. */
		while (going < nr)
			sched_yield();
		late = seconds();
		for (int n = 0; n < nr; n++)
			last = began[n] > last ? began[n] : last;
		late -= last;
		given = late > given ? late : given;
		fprintf(stderr, "%s %.1f\n", at, 1e3 * late);
		/* Other programs run in between on a busy machine. A CPU that is kept is so until the call ends. */
		REQUIRE(late < 4 * limit);
		usleep(20000);
		late = 0;
		for (int n = 0; n < 3; n++) {
			from = seconds();
			usleep(1000);
			late = seconds() - from - 1e-3 > late ? seconds() - from - 1e-3 : late;
		}
		REQUIRE(late < limit);
		longest = late > longest ? late : longest;
		/* They sleep still: nothing of ours has ended their calls. */
		REQUIRE(cases[i].until != 1 || returned == 0);
		for (int n = 0; cases[i].until && returned < nr && n < 3000; n++) {
			for (int m = 0; m < nr; m++)
				pthread_kill(t[m], SIGUSR1);
			usleep(2000);
		}
		for (int n = 0; n < nr; n++)
			REQUIRE(!pthread_join(t[n], 0));
		printf("%s: the CPU is given on\n", cases[i].name);
	}
	fprintf(stderr,
		"asleep: %u calls, the CPU is given on after %.1f ms, longest delay later on %.1f "
		"ms\n",
		(unsigned)NR, 1e3 * given, 1e3 * longest);
	kill(child_lives, SIGKILL);
	waitpid(child_lives, 0, 0);
	msgctl(box, IPC_RMID, 0);
	semctl(sems, 0, IPC_RMID);
	unlink(fifo);
	unlink(lock_file);
	puts("asleep: done");
	return 0;
}
