/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Processes under one policy, some of which end badly: `processes PLAN SECONDS SEED`, and `processes PLAN stopped` for a plan of one CPU.
 *
 * A server; a survivor, whose threads must all end with the right sums; victims, which are killed, stopped and continued at random moments, also while
 * they start and end; and rogues, which speak the protocol by themselves and write what they like into the memory they share. In the end no
 * thread and no client is left, the policy's state is sound, and the survivor has had CPUs all the time.
 *
 * `stopped`: a program that computes is stopped while it has the only CPU; another one gets it, and the first goes on when it is continued.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <weir/threads.h>

/* The library has another one. */
#define ump_wake rogue_wake
#include "../../runtimes/threads/remote.h"

#define REQUIRE(cond)                                                                         \
	do {                                                                                  \
		if (!(cond)) {                                                                \
			fprintf(stderr, "processes: %s:%d: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                              \
		}                                                                             \
	} while (0)

#define VICTIMS 3u
#define ROGUES	2u

static char name[64];
static u64 ends;
/* Of all processes. */
static struct shared {
	u64 rounds; /* the survivor's */
	u64 refused;
} *shared;

static u64 chance(u64 *state, u64 below)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (*state >> 33) % below;
}

/* --- a client that behaves -------------------------------------------------------------------------------------- */

struct work {
	weir_mutex mutex;
	weir_barrier barrier;
	u64 sum;
	u64 seed;
};

static void *works(void *arg)
{
	struct work *w = arg;
	u64 seed = __atomic_fetch_add(&w->seed, 1, __ATOMIC_RELAXED);

	for (int i = 0; i < 40; i++) {
		weir_mutex_lock(&w->mutex);
		w->sum++;
		if (chance(&seed, 8) == 0)
			weir_thread_yield();
		weir_mutex_unlock(&w->mutex);
		switch (chance(&seed, 5)) {
		case 0:
			weir_sleep(chance(&seed, 200000));
			break;
		case 1:
			weir_thread_set(weir_thread_self(), WEIR_PRIORITY,
					(int64_t)chance(&seed, 4), 0);
			break;
		case 2:
			weir_blocking_begin();
			usleep((useconds_t)chance(&seed, 300));
			weir_blocking_end();
			break;
		case 3:
			for (u64 at = weir_clock(); weir_clock() - at < 300000;)
				;
			break;
		default:
			weir_thread_yield();
		}
	}
	weir_barrier_wait(&w->barrier);
	return 0;
}

static void alone(const char *why)
{
	fprintf(stderr, "processes: %s\n", why);
	_exit(4);
}

static void behave(u64 seed, int survives)
{
	struct weir_rt_config config = { .join = name, .alone = alone };

	if (weir_rt_open(&config)) {
		fprintf(stderr, "processes: %s\n", weir_rt_error());
		_exit(3);
	}
	while (weir_clock() < ends || !survives) {
		struct work w = { .barrier = WEIR_BARRIER_INIT(6), .seed = seed++ };
		weir_thread *t[6];

		for (int i = 0; i < 6; i++)
			REQUIRE(!weir_thread_create(&t[i], 0, works, &w));
		for (int i = 0; i < 6; i++)
			REQUIRE(!weir_thread_join(t[i], 0));
		REQUIRE(w.sum == 240);
		if (survives)
			__atomic_fetch_add(&shared->rounds, 1, __ATOMIC_RELAXED);
		else if (chance(&seed, 4) == 0)
			break;
	}
	REQUIRE(!weir_rt_close());
	_exit(0);
}

/* --- a client that does not ----------------------------------------------------------------------------------------- */

void ump_wake(const void *word)
{
	(void)word;
}

static char *meet(int *fd, int *bell)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int n = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, REMOTE_NAME "%s",
			 name);
	struct remote_hello h;
	char control[CMSG_SPACE(2 * sizeof(int))] __attribute__((aligned(8)));
	struct iovec io = { .iov_base = &h, .iov_len = sizeof(h) };
	struct msghdr m = { .msg_iov = &io,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	int files[2];
	char *memory;

	*fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (connect(*fd, (struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) ||
	    recvmsg(*fd, &m, 0) != sizeof(h) || !CMSG_FIRSTHDR(&m)) {
		close(*fd);
		return 0;
	}
	memcpy(files, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(files));
	memory = mmap(0, REMOTE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, files[0], 0);
	REQUIRE(memory != MAP_FAILED);
	/* Nobody can take the memory from under the server. */
	REQUIRE(ftruncate(files[0], 4096) && errno == EPERM);
	close(files[0]);
	*bell = files[1];
	return memory;
}

static void say(struct ump *ump, int bell, u32 kind, u32 number, u64 first)
{
	u64 words[UMP_WORDS] = { first, 1, 2 }, one = 1;

	ump_send(ump, words, UMP_WORDS, kind, number);
	(void)!write(bell, &one, sizeof(one));
}

static void misbehave(u64 seed)
{
	while (weir_clock() < ends) {
		struct control *all;
		struct ump ump;
		int fd, bell;
		char *memory = meet(&fd, &bell);

		if (!memory)
			_exit(0);
		all = remote_controls(memory);
		ump_init(&ump, memory, memory + REMOTE_RING, REMOTE_SLOTS);
		for (u32 i = 0; i < 4; i++) {
			say(&ump, bell, SAYS_NEW, i, 0);
			say(&ump, bell, SAYS_ATTRIBUTE, i, chance(&seed, 8));
			say(&ump, bell, SAYS_ADMIT, i, (u64)syscall(SYS_gettid));
		}
		for (u64 i = 0, many = chance(&seed, 3000); i < many; i++) {
			struct control *b = &all[chance(&seed, 5)];

			switch (chance(&seed, 12)) {
			case 0:
				say(&ump, bell,
				    (u32)chance(&seed, 64) ? SAYS_WAKE : (u32)chance(&seed, 9),
				    (u32)chance(&seed, 64) ? (u32)chance(&seed, 4)
							   : (u32)chance(&seed, 5000),
				    chance(&seed, 99));
				break;
			case 1:
				((u64 *)memory)[chance(&seed, REMOTE_RING / 8)] =
					chance(&seed, ~0ull);
				break;
			case 2:
				b->to = (u32)chance(&seed, 6);
				b->woken = (u32)chance(&seed, 2);
				break;
			case 3:
				((u32 *)b)[chance(&seed, 16)] = (u32)chance(&seed, 1u << 31);
				break;
			case 4: {
				struct remote_question q = {
					.call = (u32)chance(&seed, 9),
					.thread = (u32)chance(&seed, 6),
					.gang = (int)chance(&seed, 4) - 1,
					.number = (u32)chance(&seed, 4),
					.bytes = chance(&seed, 8) ? 0 : chance(&seed, 1000)
				};

				if (!chance(&seed, 50))
					send(fd, &q, sizeof(q) - chance(&seed, 2) * 8,
					     MSG_DONTWAIT | MSG_NOSIGNAL);
				break;
			}
			case 5:
				usleep((useconds_t)chance(&seed, 500));
				break;
			default: {
				u32 turn = b->op & ~((1u << OP_BITS) - 1);

				if (chance(&seed, 40) == 0)
					turn += 1u << OP_BITS;
				__atomic_store_n(&b->op, turn | (u32)chance(&seed, 9),
						 __ATOMIC_RELEASE);
				syscall(SYS_futex, &b->op, 1 /* FUTEX_WAKE */, 1, 0, 0, 0);
			}
			}
		}
		__atomic_fetch_add(&shared->refused, 1, __ATOMIC_RELAXED);
		munmap(memory, REMOTE_BYTES);
		close(fd);
		close(bell);
	}
	_exit(0);
}

/* --- all of them ---------------------------------------------------------------------------------------------------- */

static pid_t start(void (*run)(u64, int), u64 seed, int survives)
{
	pid_t pid = fork();

	REQUIRE(pid >= 0);
	if (!pid) {
		run(seed, survives);
		_exit(0);
	}
	return pid;
}

static void rogue(u64 seed, int unused)
{
	(void)unused;
	/* Signals for threads that do not give way. */
	signal(SIGURG, SIG_IGN);
	misbehave(seed);
}

static void serve(const char *plan, int ready, int over)
{
	struct weir_rt_config config = { .plan_file = plan,
					 .serve = name,
					 .flags = WEIR_RT_OVERSUBSCRIBE,
					 .slice_ns = 1000000,
					 .arena_bytes = 256u << 20 };
	struct weir_rt_stats s;
	char byte = 0;

	if (weir_rt_open(&config)) {
		fprintf(stderr, "processes: %s\n", weir_rt_error());
		_exit(2);
	}
	REQUIRE(write(ready, &byte, 1) == 1);
	while (read(over, &byte, 1) < 0 && errno == EINTR)
		;
	for (int i = 0; i < 5000; i++) {
		weir_rt_stats(&s);
		if (!weir_rt_clients() && !s.threads)
			break;
		usleep(1000);
	}
	REQUIRE(!weir_rt_clients() && !s.threads && !s.faults);
	REQUIRE(!weir_rt_check());
	printf("processes: %u served, %llu threads, %llu times a CPU was taken away, ",
	       weir_rt_served(), (unsigned long long)s.created, (unsigned long long)s.taken);
	fflush(stdout);
	REQUIRE(!weir_rt_close());
	_exit(0);
}

/* Compute for so long, with the CPU; its time is the process's own, so a stop does not shorten it. */
static void computes(u64 ms, int unused)
{
	struct weir_rt_config config = { .join = name, .alone = alone };
	struct timespec t = { 0 };

	(void)unused;
	REQUIRE(!weir_rt_open(&config) && !weir_thread_adopt(0));
	while ((u64)t.tv_sec * 1000 + (u64)t.tv_nsec / 1000000 < ms)
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	REQUIRE(!weir_thread_leave() && !weir_rt_close());
}

static void ended(pid_t pid, u64 within_ms)
{
	int status;

	for (u64 ms = 0; ms < within_ms; ms++) {
		if (waitpid(pid, &status, WNOHANG) == pid) {
			REQUIRE(!status);
			return;
		}
		usleep(1000);
	}
	REQUIRE(!"it ends in time");
}

static void stopped(void)
{
	pid_t first = start(computes, 800, 0), second;

	usleep(400000);
	kill(first, SIGSTOP);
	second = start(computes, 100, 0);
	ended(second, 5000);
	kill(first, SIGCONT);
	ended(first, 10000);
	printf("processes: one is stopped, another one runs, ");
}

int main(int argc, char **argv)
{
	u64 seed = argc > 3 ? strtoull(argv[3], 0, 10) : 1, killed = 0;
	pid_t server, survivor, victim[VICTIMS] = { 0 }, rogues[ROGUES];
	int ready[2], over[2], status, just_stopped;
	char byte;

	if (argc < 3) {
		fprintf(stderr, "usage: processes PLAN SECONDS [SEED] | processes PLAN stopped\n");
		return 2;
	}
	just_stopped = !strcmp(argv[2], "stopped");
	setvbuf(stdout, 0, _IOLBF, 0);
	snprintf(name, sizeof(name), "processes-%d", getpid());
	shared =
		mmap(0, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(shared != MAP_FAILED && !pipe(ready) && !pipe(over));
	alarm(60 + (unsigned)(2 * atof(argv[2])));
	server = fork();
	if (!server) {
		close(over[1]);
		serve(argv[1], ready[1], over[0]);
	}
	close(ready[1]);
	REQUIRE(read(ready[0], &byte, 1) == 1);
	ends = weir_clock() + (u64)(atof(argv[2]) * 1e9);
	fcntl(over[1], F_SETFD, FD_CLOEXEC);
	if (just_stopped) {
		stopped();
		close(over[1]);
		close(over[0]);
		REQUIRE(waitpid(server, &status, 0) == server && !status);
		puts("");
		return 0;
	}
	survivor = start(behave, seed, 1);
	for (u64 i = 0; i < ROGUES; i++)
		rogues[i] = start(rogue, seed + 100 + i, 0);
	while (weir_clock() < ends) {
		u32 i = (u32)chance(&seed, VICTIMS);

		usleep((useconds_t)chance(&seed, 20000));
		if (victim[i] && waitpid(victim[i], &status, WNOHANG) == victim[i]) {
			REQUIRE(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL
						    : !WEXITSTATUS(status));
			victim[i] = 0;
		}
		if (!victim[i]) {
			victim[i] = start(behave, seed, 0);
			continue;
		}
		switch (chance(&seed, 4)) {
		case 0:
			kill(victim[i], SIGKILL);
			killed++;
			break;
		case 1:
			kill(victim[i], SIGSTOP);
			break;
		default:
			kill(victim[i], SIGCONT);
		}
	}
	for (u32 i = 0; i < VICTIMS; i++)
		if (victim[i]) {
			kill(victim[i], SIGKILL);
			waitpid(victim[i], &status, 0);
		}
	for (u32 i = 0; i < ROGUES; i++)
		REQUIRE(waitpid(rogues[i], &status, 0) == rogues[i] && !status);
	REQUIRE(waitpid(survivor, &status, 0) == survivor && !status);
	close(over[1]);
	close(over[0]);
	REQUIRE(waitpid(server, &status, 0) == server && !status);
	printf("%llu killed, %llu connections of rogues, %llu rounds of the survivor\n",
	       (unsigned long long)killed, (unsigned long long)shared->refused,
	       (unsigned long long)shared->rounds);
	REQUIRE(shared->rounds >= 5);
	return 0;
}
