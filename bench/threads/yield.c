/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What a yield, a wake-up and a creation cost under a policy, against runtimes without one, in one run: `yield FOLDER [ROUNDS]`.
 * The yardstick is a FIFO runtime as one would write it by hand: a list under a spin lock, the same switch of stacks, nothing else.
 * One JSON object a line.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <weir/threads.h>

typedef uint64_t u64;

static u64 rounds = 200000, took;
static double yardstick;

/* CPU time of the process: what others on the machine do counts for less. */
static u64 used(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (u64)t.tv_sec * 1000000000ull + (u64)t.tv_nsec;
}

static void report(const char *subject, const char *figure, double value, double against)
{
	printf("{\"subject\":\"%s\",\"figure\":\"%s\",\"value\":%.1f,\"unit\":\"ns\"", subject,
	       figure, value);
	if (against > 0)
		printf(",\"ratio\":%.2f", value / against);
	printf("}\n");
	fflush(stdout);
}

/* --- the runtime written by hand ----------------------------------------------------------------------------- */

struct fiber {
	void *sp;
	struct fiber *next;
	void (*run)(void);
	int over;
};

static struct fiber *head, *tail, *current;
static uint32_t lock;
static void *main_sp;

void fifo_switch(void **from, void *to);
__asm__(".text\n.globl fifo_switch\nfifo_switch:\n"
	"	pushq %rbp\n	pushq %rbx\n	pushq %r12\n	pushq %r13\n	pushq %r14\n	"
	"pushq %r15\n"
	"	subq $8, %rsp\n	stmxcsr (%rsp)\n	fnstcw 4(%rsp)\n"
	"	movq %rsp, (%rdi)\n	movq %rsi, %rsp\n"
	"	ldmxcsr (%rsp)\n	fldcw 4(%rsp)\n	addq $8, %rsp\n"
	"	popq %r15\n	popq %r14\n	popq %r13\n	popq %r12\n	popq %rbx\n	"
	"popq %rbp\n	retq\n");

static void push(struct fiber *f)
{
	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		;
	f->next = 0;
	if (tail)
		tail->next = f;
	else
		head = f;
	tail = f;
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

static struct fiber *pop(void)
{
	struct fiber *f;

	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		;
	f = head;
	if (f) {
		head = f->next;
		if (!head)
			tail = 0;
	}
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
	return f;
}

/* As ours: over the scheduler's stack, so that another CPU could take the fiber once it is off its own. */
static void fifo_yield(void)
{
	push(current);
	fifo_switch(&current->sp, main_sp);
}

static void fiber_begin(void)
{
	current->run();
	current->over = 1;
	fifo_switch(&current->sp, main_sp);
}

static void fifo_run(void)
{
	while ((current = pop()))
		fifo_switch(&main_sp, current->sp);
}

static void fifo_spawn(struct fiber *f, void (*run)(void))
{
	u64 *sp = (u64 *)((u64)((char *)aligned_alloc(64, 65536) + 65536 - 64) & ~63ull);

	f->run = run;
	f->over = 0;
	*--sp = 0;
	*--sp = (u64)fiber_begin;
	for (int i = 0; i < 6; i++)
		*--sp = 0;
	*--sp = 0x037f00001f80ull;
	f->sp = sp;
	push(f);
}

static void fifo_body(void)
{
	for (u64 i = 0; i < rounds; i++)
		fifo_yield();
}

/* --- the same on others ------------------------------------------------------------------------------------------ */

static void *yields(void *arg)
{
	for (u64 i = 0; i < rounds; i++)
		weir_thread_yield();
	return arg;
}

static void *yields_to_linux(void *arg)
{
	for (u64 i = 0; i < rounds; i++)
		sched_yield();
	return arg;
}

static weir_thread *peer[2];
static u64 ball;

static void *plays(void *arg)
{
	u64 me = (u64)arg;

	for (u64 i = 0; i < rounds; i++) {
		while (__atomic_load_n(&ball, __ATOMIC_ACQUIRE) % 2 != me)
			weir_thread_park();
		__atomic_fetch_add(&ball, 1, __ATOMIC_RELEASE);
		weir_thread_unpark(peer[!me]);
	}
	return 0;
}

static void *nothing(void *arg)
{
	return arg;
}

static void *pair(void *what)
{
	struct weir_thread_attr attr = { .kind = WEIR_GREEN, .stack_bytes = 65536 };
	u64 from;

	attr.kind = ((u64 *)what)[1] ? WEIR_BOUND : WEIR_GREEN;
	for (u64 i = 0; i < 2; i++)
		if (weir_thread_create(&peer[i], &attr, (void *(*)(void *))((u64 *)what)[0],
				       (void *)i))
			abort();
	from = used();
	for (int i = 0; i < 2; i++)
		weir_thread_join(peer[i], 0);
	took = used() - from;
	return 0;
}

static void in_runtime(void *(*run)(void *), u64 bound)
{
	u64 what[2] = { (u64)run, bound };
	weir_thread *t;

	ball = 0;
	/* They begin when the one that makes them waits: all on one CPU. */
	if (weir_thread_create(&t, 0, pair, what))
		abort();
	weir_thread_join(t, 0);
}

/* Bound threads under the policy of another process: the time of both. It is forked before this one has threads. */
static void joined(const char *plan)
{
	static char name[64];
	struct weir_rt_config config = { .plan_file = plan, .serve = name };
	int ready[2], over[2];
	u64 many = rounds;
	clockid_t clock;
	pid_t server;
	char byte = 0;

	snprintf(name, sizeof(name), "bench-%d", getpid());
	if (pipe(ready) || pipe(over))
		abort();
	server = fork();
	if (!server) {
		close(over[1]);
		if (weir_rt_open(&config) || write(ready[1], &byte, 1) != 1)
			_exit(1);
		while (read(over[0], &byte, 1) < 0)
			;
		_exit(0);
	}
	if (read(ready[0], &byte, 1) != 1 || clock_getcpuclockid(server, &clock))
		abort();
	config = (struct weir_rt_config){ .join = name };
	if (weir_rt_open(&config)) {
		fprintf(stderr, "yield: %s\n", weir_rt_error());
		exit(1);
	}
	rounds /= 20;
	for (int parks = 0; parks < 2; parks++) {
		struct timespec a, b;
		char subject[64];
		double its;

		clock_gettime(clock, &a);
		in_runtime(parks ? plays : yields, 1);
		clock_gettime(clock, &b);
		its = (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
		snprintf(subject, sizeof(subject), "%s, bound, of another process",
			 weir_rt_policy());
		report(subject, parks ? "unpark, park and switch" : "yield",
		       ((double)took + its) / (double)rounds / 2, yardstick);
	}
	rounds = many;
	weir_rt_close();
	close(over[1]);
	waitpid(server, 0, 0);
}

int main(int argc, char **argv)
{
	static const char *const policies[] = { "rr1", "priority1", "edf1", "linux1" };
	struct fiber f[2];
	pthread_t p[2];
	cpu_set_t set, all;
	u64 from;

	if (argc < 2) {
		fprintf(stderr, "usage: yield FOLDER [ROUNDS]\n");
		return 2;
	}
	if (argc > 2)
		rounds = strtoull(argv[2], 0, 0);
	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&set);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all)) {
			CPU_SET(i, &set);
			break;
		}
	sched_setaffinity(0, sizeof(set), &set);
	for (int again = 0; again < 2; again++) {
		for (int i = 0; i < 2; i++)
			fifo_spawn(&f[i], fifo_body);
		from = used();
		fifo_run();
		yardstick = (double)(used() - from) / (double)rounds / 2;
	}
	report("FIFO runtime by hand", "yield", yardstick, 0);
	from = used();
	for (int i = 0; i < 2; i++)
		pthread_create(&p[i], 0, yields_to_linux, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(p[i], 0);
	report("Linux, sched_yield", "yield", (double)(used() - from) / (double)rounds / 2,
	       yardstick);
	{
		char file[512];

		snprintf(file, sizeof(file), "%s/rr1.plan", argv[1]);
		joined(file);
	}
	for (unsigned k = 0; k < sizeof(policies) / sizeof(policies[0]); k++) {
		char file[512], subject[64];
		struct weir_rt_config config = { .plan_file = file };
		u64 n = rounds;

		snprintf(file, sizeof(file), "%s/%s.plan", argv[1], policies[k]);
		if (weir_rt_open(&config)) {
			fprintf(stderr, "yield: %s\n", weir_rt_error());
			return 1;
		}
		snprintf(subject, sizeof(subject), "%s, green", weir_rt_policy());
		in_runtime(yields, 0);
		report(subject, "yield", (double)took / (double)rounds / 2, yardstick);
		in_runtime(plays, 0);
		report(subject, "unpark, park and switch", (double)took / (double)rounds / 2,
		       yardstick);
		rounds /= 10;
		snprintf(subject, sizeof(subject), "%s, bound", weir_rt_policy());
		in_runtime(yields, 1);
		report(subject, "yield", (double)took / (double)rounds / 2, yardstick);
		in_runtime(plays, 1);
		report(subject, "unpark, park and switch", (double)took / (double)rounds / 2,
		       yardstick);
		rounds = n;
		from = used();
		for (int i = 0; i < 5000; i++) {
			struct weir_thread_attr attr = { .kind = WEIR_GREEN, .stack_bytes = 65536 };
			weir_thread *t;

			if (weir_thread_create(&t, &attr, nothing, 0))
				abort();
			weir_thread_join(t, 0);
		}
		snprintf(subject, sizeof(subject), "%s, green", weir_rt_policy());
		report(subject, "create and join, from outside", (double)(used() - from) / 5000, 0);
		weir_rt_close();
	}
	return 0;
}
