/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Cancellation, for the preloaded library: `cancel [CASE]`. In each case a thread is cancelled at one cancellation point: where it sleeps, before it gets
 * there, and again and again at any moment. Its clean-up handlers run in order and may wait, so do the destructors of its thread-specific data, and
 * what it had locked is free again. The output is the same with and without a policy: a line a case.
 *
 * `cancel green PLAN` is of the thread library itself: for libc a green thread is the thread of its CPU, which a cancellation must not end.
 */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#ifdef EMBEDS
#include <weir/threads.h>
#endif

#define REQUIRE(cond)                                                                          \
	do {                                                                                   \
		if (!(cond)) {                                                                 \
			fprintf(stderr, "cancel: %s, line %d: %s\n", now_at, __LINE__, #cond); \
			exit(1);                                                               \
		}                                                                              \
	} while (0)

static const char *now_at = "begin";
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER,
		       logs = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem, there;
static pthread_key_t key;
static int in[2], full[2], door, epoll, box, locked, child_lives;
static pthread_t sleeper;
static mqd_t queue, full_queue;
static char buffer[4096];
static _Atomic int steps;

static void *sleeps(void *arg)
{
	for (;;)
		sleep(1000);
	return arg;
}

/* --- what waits for ever ---------------------------------------------------------------------------------------- */

static const struct timespec hour = { .tv_sec = 3600 };
static struct timespec late(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_sec += 3600;
	return t;
}

static void unlock(void *m)
{
	pthread_mutex_unlock(m);
}

static void in_cond(int kind)
{
	struct timespec t = late(kind == 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME);

	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, &mutex);
	for (;;)
		if (kind == 0)
			pthread_cond_wait(&cond, &mutex);
		else if (kind == 1)
			pthread_cond_timedwait(&cond, &mutex, &t);
		else
			pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &t);
	pthread_cleanup_pop(1);
}

static void c_cond_wait(void)
{
	in_cond(0);
}
static void c_cond_timedwait(void)
{
	in_cond(1);
}
static void c_cond_clockwait(void)
{
	in_cond(2);
}
static void c_sem_wait(void)
{
	sem_wait(&sem);
}
static void c_sem_timedwait(void)
{
	struct timespec t = late(CLOCK_REALTIME);
	sem_timedwait(&sem, &t);
}
static void c_sem_clockwait(void)
{
	struct timespec t = late(CLOCK_MONOTONIC);
	sem_clockwait(&sem, CLOCK_MONOTONIC, &t);
}
static void c_join(void)
{
	pthread_join(sleeper, 0);
}
static void c_timedjoin(void)
{
	struct timespec t = late(CLOCK_REALTIME);
	pthread_timedjoin_np(sleeper, 0, &t);
}
static void c_testcancel(void)
{
	for (;;)
		pthread_testcancel();
}
static void c_sleep(void)
{
	sleep(3600);
}
static void c_usleep(void)
{
	usleep(900000000);
}
static void c_nanosleep(void)
{
	nanosleep(&hour, 0);
}
static void c_clock_nanosleep(void)
{
	clock_nanosleep(CLOCK_MONOTONIC, 0, &hour, 0);
}
static void c_pause(void)
{
	pause();
}
static void c_read(void)
{
	(void)!read(in[0], buffer, 1);
}
static void c_readv(void)
{
	struct iovec v = { buffer, 1 };
	(void)!readv(in[0], &v, 1);
}
static void c_recv(void)
{
	recv(in[0], buffer, 1, 0);
}
static void c_recvfrom(void)
{
	recvfrom(in[0], buffer, 1, 0, 0, 0);
}
static void c_recvmsg(void)
{
	struct iovec v = { buffer, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	recvmsg(in[0], &m, 0);
}
static void c_recvmmsg(void)
{
	struct iovec v = { buffer, 1 };
	struct mmsghdr m = { .msg_hdr = { .msg_iov = &v, .msg_iovlen = 1 } };
	recvmmsg(in[0], &m, 1, 0, 0);
}
static void c_write(void)
{
	(void)!write(full[1], buffer, sizeof(buffer));
}
static void c_writev(void)
{
	struct iovec v = { buffer, sizeof(buffer) };
	(void)!writev(full[1], &v, 1);
}
static void c_send(void)
{
	send(full[1], buffer, sizeof(buffer), 0);
}
static void c_sendto(void)
{
	sendto(full[1], buffer, sizeof(buffer), 0, 0, 0);
}
static void c_sendmsg(void)
{
	struct iovec v = { buffer, sizeof(buffer) };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	sendmsg(full[1], &m, 0);
}
static void c_accept(void)
{
	accept(door, 0, 0);
}
static void c_accept4(void)
{
	accept4(door, 0, 0, 0);
}
static void c_poll(void)
{
	struct pollfd p = { .fd = in[0], .events = POLLIN };
	poll(&p, 1, -1);
}
static void c_ppoll(void)
{
	struct pollfd p = { .fd = in[0], .events = POLLIN };
	ppoll(&p, 1, 0, 0);
}
static void c_select(void)
{
	fd_set set;
	FD_ZERO(&set);
	FD_SET(in[0], &set);
	select(in[0] + 1, &set, 0, 0, 0);
}
static void c_pselect(void)
{
	fd_set set;
	FD_ZERO(&set);
	FD_SET(in[0], &set);
	pselect(in[0] + 1, &set, 0, 0, 0, 0);
}
static void c_epoll_wait(void)
{
	struct epoll_event e;
	epoll_wait(epoll, &e, 1, -1);
}
static void c_epoll_pwait(void)
{
	struct epoll_event e;
	epoll_pwait(epoll, &e, 1, -1, 0);
}
static void c_waitpid(void)
{
	waitpid(child_lives, 0, 0);
}
static void c_wait(void)
{
	wait(0);
}
static void c_waitid(void)
{
	siginfo_t i;
	waitid(P_PID, (id_t)child_lives, &i, WEXITED);
}
static void c_sigsuspend(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigsuspend(&set);
}
static sigset_t only_usr1(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return set;
}
static void c_sigwait(void)
{
	sigset_t set = only_usr1();
	int sig;
	sigwait(&set, &sig);
}
static void c_sigwaitinfo(void)
{
	sigset_t set = only_usr1();
	sigwaitinfo(&set, 0);
}
static void c_sigtimedwait(void)
{
	sigset_t set = only_usr1();
	sigtimedwait(&set, 0, &hour);
}
static void c_msgrcv(void)
{
	(void)!msgrcv(box, buffer, 100, 0, 0);
}
static void c_mq_receive(void)
{
	mq_receive(queue, buffer, sizeof(buffer), 0);
}
static void c_mq_timedreceive(void)
{
	struct timespec t = late(CLOCK_REALTIME);
	mq_timedreceive(queue, buffer, sizeof(buffer), 0, &t);
}
static void c_mq_send(void)
{
	mq_send(full_queue, buffer, 8, 0);
}
static struct flock whole_file = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
/* The child has locked it. */
static void c_setlkw(void)
{
	fcntl(locked, F_SETLKW, &whole_file);
}
/* A FIFO that nobody opens for writing: this one is not wrapped. */
static char fifo[64];
static void c_open(void)
{
	(void)!open(fifo, O_RDONLY);
}

#define CASE(name) { #name, c_##name }
static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	CASE(testcancel),
	CASE(cond_wait),
	CASE(cond_timedwait),
	CASE(cond_clockwait),
	CASE(sem_wait),
	CASE(sem_timedwait),
	CASE(sem_clockwait),
	CASE(join),
	CASE(timedjoin),
	CASE(sleep),
	CASE(usleep),
	CASE(nanosleep),
	CASE(pause),
	CASE(clock_nanosleep),
	CASE(read),
	CASE(readv),
	CASE(recv),
	CASE(recvfrom),
	CASE(recvmsg),
	CASE(recvmmsg),
	CASE(write),
	CASE(writev),
	CASE(send),
	CASE(sendto),
	CASE(sendmsg),
	CASE(accept),
	CASE(accept4),
	CASE(poll),
	CASE(ppoll),
	CASE(select),
	CASE(pselect),
	CASE(epoll_wait),
	CASE(epoll_pwait),
	CASE(waitpid),
	CASE(wait),
	CASE(waitid),
	CASE(sigsuspend),
	CASE(sigwait),
	CASE(sigwaitinfo),
	CASE(sigtimedwait),
	CASE(msgrcv),
	CASE(mq_receive),
	CASE(mq_timedreceive),
	CASE(mq_send),
	CASE(setlkw),
	CASE(open),
};
#define NR (sizeof(cases) / sizeof(cases[0]))

/* --- the thread that is cancelled ------------------------------------------------------------------------------- */

/* Handlers and destructors work, and wait. */
static void waits_a_little(void)
{
	volatile unsigned n = 0;

	pthread_mutex_lock(&logs);
	for (unsigned i = 0; i < 20000; i++)
		n += i;
	nanosleep(&(struct timespec){ .tv_nsec = 200000 }, 0);
	pthread_mutex_unlock(&logs);
}

static void last(void *arg)
{
	(void)arg;
	waits_a_little();
	REQUIRE(steps++ == 1);
}

static void first(void *arg)
{
	pthread_mutex_unlock(arg);
	waits_a_little();
	REQUIRE(steps++ == 0);
}

static void ends_with(void *arg)
{
	/* In two rounds. */
	waits_a_little();
	if (steps++ == 2)
		pthread_setspecific(key, arg);
	else
		REQUIRE(steps == 4);
}

static void victim_of(void (*run)(void))
{
	pthread_setspecific(key, &steps);
	pthread_mutex_lock(&held);
	pthread_cleanup_push(last, 0);
	pthread_cleanup_push(first, &held);
	sem_post(&there);
	for (;;)
		run();
	pthread_cleanup_pop(0);
	pthread_cleanup_pop(0);
}

static void *victim(void *arg)
{
	victim_of(cases[(long)arg].run);
	return 0;
}

/* Asynchronous: while it computes, and where it calls what is no cancellation point. */
static void computes(void)
{
	for (volatile unsigned i = 0; i < 100000; i++)
		;
}

static void yields(void)
{
	sched_yield();
}

static void raw(void)
{
	syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &(struct timespec){ .tv_sec = 3600 }, 0);
}

static void *asynchronous(void *arg)
{
	void (*run[])(void) = { computes, yields, raw };
	int was;

	REQUIRE(!pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &was) &&
		was == PTHREAD_CANCEL_DEFERRED);
	victim_of(run[(long)arg]);
	return 0;
}

/* Not before it is allowed. */
static void *disabled(void *arg)
{
	int was;

	(void)arg;
	REQUIRE(!pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was) &&
		was == PTHREAD_CANCEL_ENABLE);
	sem_post(&there);
	usleep(20000);
	steps = 4;
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, 0);
	pthread_testcancel();
	steps = 0;
	return 0;
}

static void *busy(void *arg)
{
	while (!*(_Atomic int *)arg)
		for (volatile unsigned i = 0; i < 1000; i++)
			;
	return 0;
}

static void cancel_one(const char *name, void *(*run)(void *), void *arg, int when)
{
	void *result;
	pthread_t t;

	now_at = name;
	steps = 0;
	REQUIRE(!pthread_create(&t, 0, run, arg));
	if (when >= 0)
		while (sem_wait(&there))
			;
	if (when > 0)
		usleep((useconds_t)when);
	REQUIRE(!pthread_cancel(t));
	REQUIRE(!pthread_join(t, &result) && result == PTHREAD_CANCELED);
	/* Before it began, it may have been cancelled before it pushed its handlers. */
	if (when >= 0) {
		REQUIRE(steps == 4);
		REQUIRE(!pthread_mutex_trylock(&held));
		pthread_mutex_unlock(&held);
	}
}

static void prepare(void)
{
	struct mq_attr small = { .mq_maxmsg = 1, .mq_msgsize = 64 };
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct epoll_event e = { .events = EPOLLIN };
	sigset_t set = only_usr1();
	char name[64];
	int ready[2];

	now_at = "prepare";
	REQUIRE(!pthread_sigmask(SIG_BLOCK, &set, 0));
	REQUIRE(!sem_init(&sem, 0, 0) && !sem_init(&there, 0, 0));
	REQUIRE(!pthread_key_create(&key, ends_with));
	REQUIRE(!socketpair(AF_UNIX, SOCK_STREAM, 0, in) &&
		!socketpair(AF_UNIX, SOCK_STREAM, 0, full));
	while (send(full[1], buffer, sizeof(buffer), MSG_DONTWAIT) > 0)
		;
	door = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1, "cancel-%d", getpid());
	REQUIRE(!bind(door, (struct sockaddr *)&at, sizeof(at)) && !listen(door, 1));
	epoll = epoll_create1(0);
	REQUIRE(!epoll_ctl(epoll, EPOLL_CTL_ADD, in[0], &e));
	box = msgget(IPC_PRIVATE, 0600);
	REQUIRE(box >= 0);
	snprintf(name, sizeof(name), "/cancel-%d", getpid());
	queue = mq_open(name, O_CREAT | O_RDWR, 0600, &small);
	REQUIRE(queue >= 0);
	mq_unlink(name);
	full_queue = mq_open(name, O_CREAT | O_RDWR, 0600, &small);
	REQUIRE(full_queue >= 0 && !mq_send(full_queue, "x", 1, 0));
	mq_unlink(name);
	snprintf(fifo, sizeof(fifo), "/tmp/cancel-%d", getpid());
	REQUIRE(!mkfifo(fifo, 0600));
	REQUIRE(!pthread_create(&sleeper, 0, sleeps, 0));
	locked = memfd_create("locked", 0);
	REQUIRE(locked >= 0 && !pipe(ready));
	child_lives = fork();
	if (!child_lives) {
		REQUIRE(!fcntl(locked, F_SETLKW, &whole_file) && write(ready[1], "x", 1) == 1);
		for (;;)
			pause();
	}
	REQUIRE(read(ready[0], name, 1) == 1);
}

#ifdef EMBEDS
static void *green(void *arg)
{
	unsigned n = 0;

	REQUIRE(!pthread_cancel(pthread_self()));
	/* Cancellation points that do not wait. */
	for (int i = 0; i < 1000; i++) {
		pthread_testcancel();
		usleep(1);
		/* A preemption may interrupt poll(). */
		n += (unsigned)(poll(0, 0, 0) > 0) + (unsigned)(write(full[1], 0, 0) < 0);
		weir_thread_yield();
	}
	sem_post(&there);
	(void)arg;
	return (void *)(long)n;
}

static int of_green(const char *plan)
{
	struct weir_rt_config config = { .plan_file = plan, .flags = WEIR_RT_OVERSUBSCRIBE };
	struct weir_thread_attr attr = { .kind = WEIR_GREEN };
	weir_thread *t[4];
	void *result;

	now_at = "green";
	REQUIRE(!sem_init(&there, 0, 0));
	REQUIRE(!socketpair(AF_UNIX, SOCK_STREAM, 0, full));
	REQUIRE(!weir_rt_open(&config));
	for (int i = 0; i < 4; i++)
		REQUIRE(!weir_thread_create(&t[i], &attr, green, 0));
	for (int i = 0; i < 4; i++)
		REQUIRE(!weir_thread_join(t[i], &result) && !result);
	REQUIRE(!weir_rt_close());
	puts("cancel: green, done");
	return 0;
}
#endif

int main(int argc, char **argv)
{
	_Atomic int stop = 0;
	pthread_t others[3];

#ifdef EMBEDS
	if (argc > 2 && !strcmp(argv[1], "green"))
		return of_green(argv[2]);
#endif
	setvbuf(stdout, 0, _IOLBF, 0);
	prepare();
	for (unsigned i = 0; i < NR; i++) {
		if (argc > 1 && strcmp(argv[1], cases[i].name))
			continue;
		cancel_one(cases[i].name, victim, (void *)(long)i, 2000); /* it sleeps */
		cancel_one(cases[i].name, victim, (void *)(long)i, 0);	  /* it is on its way */
		printf("%s: cancelled\n", cases[i].name);
		fflush(stdout);
	}
	/* While others want the CPUs, so that the thread waits for one at any moment. */
	for (int i = 0; i < 3; i++)
		REQUIRE(!pthread_create(&others[i], 0, busy, &stop));
	for (unsigned i = 0; i < NR; i++)
		if (argc < 2 || !strcmp(argv[1], cases[i].name))
			cancel_one(cases[i].name, victim, (void *)(long)i, (int)(i * 37 % 5000));
	printf("beside others: cancelled\n");
	for (int i = 0; i < 3; i++)
		for (int when = 0; when < 10; when++)
			cancel_one("asynchronous", asynchronous, (void *)(long)i, when * 700);
	printf("asynchronous: cancelled\n");
	cancel_one("disabled", disabled, 0, 0);
	printf("disabled: cancelled\n");
	stop = 1;
	for (int i = 0; i < 3; i++)
		REQUIRE(!pthread_join(others[i], 0));
	kill(child_lives, SIGKILL);
	waitpid(child_lives, 0, 0);
	msgctl(box, IPC_RMID, 0);
	unlink(fifo);
	REQUIRE(!pthread_cancel(sleeper) && !pthread_join(sleeper, 0));
	puts("cancel: done");
	return 0;
}
