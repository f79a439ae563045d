/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * CPUs that programs are asked to use: `allot PLAN`, a plan of three CPUs whose policy obeys affinity.
 *
 * First the division itself, for all wishes of up to four programs. Then a server and three programs of three threads that compute. Those that
 * answer get what the division says, within a second; one that does not is confined to as many CPUs, and freed once it answers.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The library has others. */
#define weir_rt_allotment  own_allotment
#define weir_rt_activation own_activation
#include "../../runtimes/threads/allot.c"
#undef weir_rt_allotment
#undef weir_rt_activation

#define REQUIRE(cond)                                                                     \
	do {                                                                              \
		if (!(cond)) {                                                            \
			fprintf(stderr, "allot: %s:%d: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                          \
		}                                                                         \
	} while (0)

#define PROGRAMS 3
#define THREADS	 3

const struct weir_activation *weir_rt_activation(void);
unsigned weir_rt_allotment(unsigned wish);

struct rt rt;

struct weir_activation *join_activation(void)
{
	return 0;
}

int join_ask(struct remote_question *q, const void *text, int file, struct remote_answer *a)
{
	return -EPIPE;
}

/* Of all processes; one writes, others look. */
static struct program {
	u32 wish;
	u32 deaf; /* it does not answer */
	u32 over;
	u32 got;
	u32 confined, confinements;
	u32 cpus_seen; /* bits: CPUs of the policy on which its threads ran; the reader clears them */
} *program;

static char name[64];

static u32 get(const u32 *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static void put(u32 *word, u32 value)
{
	__atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

/* --- the division ------------------------------------------------------------------------------------------------ */

static void divide(u32 nr_cpus, u32 n, const u32 *wish)
{
	u32 cpus[4], sum = 0, wishes = 0, followers = 0;

	allot_divide(nr_cpus, n, wish, cpus);
	for (u32 i = 0; i < n; i++) {
		sum += cpus[i];
		wishes += wish[i];
		followers += wish[i] != 0;
		REQUIRE(cpus[i] <= wish[i] && !cpus[i] == !wish[i]);
		/* Nobody has to wait while another one has more than one CPU more; the first come first. */
		for (u32 k = 0; k < n; k++)
			REQUIRE(cpus[i] == wish[i] || cpus[k] <= cpus[i] + (k < i));
	}
	if (followers <= nr_cpus)
		REQUIRE(sum == (wishes < nr_cpus ? wishes : nr_cpus));
	else
		REQUIRE(sum == followers);
}

static void divisions(void)
{
	for (u32 nr_cpus = 1; nr_cpus <= 6; nr_cpus++)
		for (u32 all = 0; all < 7 * 7 * 7 * 7; all++) {
			u32 wish[4] = { all % 7, all / 7 % 7, all / 49 % 7, all / 343 };

			for (u32 n = 0; n <= 4; n++)
				divide(nr_cpus, n, wish);
		}
}

/* --- programs ------------------------------------------------------------------------------------------------------ */

static void *computes(void *arg)
{
	struct program *p = arg;
	int cpu;

	/* A policy places a thread when it wakes up. */
	for (u32 i = 1; !get(&p->over); i++) {
		if (i % 100000 == 0)
			weir_sleep(100000);
		cpu = weir_thread_cpu(weir_thread_self());
		if (cpu >= 0)
			__atomic_or_fetch(&p->cpus_seen, 1u << cpu, __ATOMIC_SEQ_CST);
	}
	return 0;
}

static void runs(struct program *p)
{
	struct weir_rt_config config = { .join = name };
	weir_thread *t[THREADS];
	const struct weir_activation *a;

	REQUIRE(!weir_rt_open(&config));
	a = weir_rt_activation();
	REQUIRE(a);
	for (int i = 0; i < THREADS; i++)
		REQUIRE(!weir_thread_create(&t[i], 0, computes, p));
	while (!get(&p->over)) {
		if (!get(&p->deaf))
			put(&p->got, weir_rt_allotment(get(&p->wish)));
		put(&p->confined, get(&a->confined));
		put(&p->confinements, get(&a->confinements));
		usleep(2000);
	}
	for (int i = 0; i < THREADS; i++)
		REQUIRE(!weir_thread_join(t[i], 0));
	REQUIRE(!weir_rt_close());
	_exit(0);
}

static void serve(const char *plan, int ready, int over)
{
	struct weir_rt_config config = { .plan_file = plan,
					 .serve = name,
					 .flags = WEIR_RT_WATCHDOG | WEIR_RT_FALLBACK |
						  WEIR_RT_OVERSUBSCRIBE };
	char byte = 0;

	REQUIRE(!weir_rt_open(&config));
	REQUIRE(write(ready, &byte, 1) == 1);
	while (read(over, &byte, 1) < 0 && errno == EINTR)
		;
	REQUIRE(!weir_rt_close());
	_exit(0);
}

/* It becomes true within 5 s: a busy machine may be late. */
#define SOON(cond)                                                                           \
	do {                                                                                 \
		int tries = 0;                                                               \
                                                                                             \
		while (!(cond) && tries++ < 500)                                             \
			usleep(10000);                                                       \
		if (!(cond))                                                                 \
			fprintf(stderr, "got %u %u %u, confined %u %u %u\n", program[0].got, \
				program[1].got, program[2].got, program[0].confined,         \
				program[1].confined, program[2].confined);                   \
		REQUIRE(cond);                                                               \
	} while (0)

static pid_t start(struct program *p, u32 wish)
{
	pid_t pid;

	put(&p->wish, wish);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		/* Not longer than the test. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		runs(p);
	}
	return pid;
}

static void end(struct program *p, pid_t pid)
{
	int status;

	put(&p->over, 1);
	REQUIRE(waitpid(pid, &status, 0) == pid && !status);
}

/* Its threads run on one CPU within 6 s, or on several. */
static int shares(struct program *p, int one)
{
	for (int tries = 0; tries < 20; tries++) {
		put(&p->cpus_seen, 0);
		usleep(300000);
		if ((__builtin_popcount(get(&p->cpus_seen)) == 1) == one)
			return 1;
	}
	fprintf(stderr, "allot: CPUs %x\n", get(&p->cpus_seen));
	return 0;
}

int main(int argc, char **argv)
{
	pid_t server, pid[PROGRAMS];
	int ready[2], over[2], status;
	char byte;

	if (argc != 2) {
		fprintf(stderr, "usage: allot PLAN\n");
		return 2;
	}
	divisions();
	snprintf(name, sizeof(name), "allot-%d", getpid());
	program = mmap(0, PROGRAMS * sizeof(*program), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(program != MAP_FAILED && !pipe(ready) && !pipe(over));
	alarm(120);
	server = fork();
	if (!server) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(over[1]);
		serve(argv[1], ready[1], over[0]);
	}
	close(ready[1]);
	REQUIRE(read(ready[0], &byte, 1) == 1);
	/* Alone it has all; beside another one, the first has the third CPU. */
	pid[0] = start(&program[0], 5);
	SOON(get(&program[0].got) == 3);
	pid[1] = start(&program[1], 3);
	SOON(get(&program[0].got) == 2 && get(&program[1].got) == 1);
	REQUIRE(!get(&program[0].confinements) && shares(&program[0], 0));
	/* It does not answer when it has to give up another CPU: its three threads share one. */
	put(&program[0].deaf, 1);
	pid[2] = start(&program[2], 1);
	SOON(get(&program[0].confined) == 1);
	REQUIRE(shares(&program[0], 1));
	REQUIRE(get(&program[0].got) == 2 && !get(&program[1].confinements));
	put(&program[0].deaf, 0);
	SOON(get(&program[0].confined) == 0 && get(&program[0].got) == 1);
	REQUIRE(get(&program[0].confinements) == 1);
	REQUIRE(shares(&program[0], 0));
	/* Who stays grows. */
	end(&program[1], pid[1]);
	SOON(get(&program[0].got) == 2 && get(&program[2].got) == 1);
	put(&program[2].wish, 0);
	SOON(get(&program[0].got) == 3 && get(&program[2].got) == 0);
	/* One that is killed, as well. */
	put(&program[2].wish, 3);
	SOON(get(&program[0].got) == 2 && get(&program[2].got) == 1);
	kill(pid[2], SIGKILL);
	REQUIRE(waitpid(pid[2], &status, 0) == pid[2]);
	SOON(get(&program[0].got) == 3);
	end(&program[0], pid[0]);
	close(over[1]);
	close(over[0]);
	REQUIRE(waitpid(server, &status, 0) == server && !status);
	puts("ok   CPUs that programs are asked to use");
	return 0;
}
