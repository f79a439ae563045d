/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * hw/sw/zephyr on stand-ins: a kernel that only keeps what it was told, and an engine of words. Decisions are written by hand; the test
 * sees which threads may run after each, that the line is off from interrupt to claim, and that jobs are made and reported once.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
#include "weir_zephyr.h"

#define CHECK(what) ((what) ? (void)0 : fail(__LINE__, #what))

extern struct k_thread weir_follow;
extern int (*const stub_init)(void);

static uint32_t words[WEIR_LAXITY_WINDOW / 4];
static int enabled, locked, refuses, claims_with_line_on;
static void (*handler)(const void *);
static jmp_buf out;
static ucontext_t test, follower;
static struct k_thread threads[4];
static k_thread_stack_t stacks[4][64];
static int jobs[4];
static uint32_t reported[8];
static int nr_reported;

static void fail(int line, const char *what)
{
	fprintf(stderr, "zephyr: line %d: not so: %s\n", line, what);
	exit(1);
}

/* ------------------------------------------------------------------ the engine */
uint32_t sys_read32(uintptr_t address)
{
	const uintptr_t at = address - WEIR_ZEPHYR_WINDOW;

	CHECK(at < WEIR_LAXITY_WINDOW && at % 4 == 0);
	if (at == WEIR_LAXITY_SCHED)
		claims_with_line_on += enabled;
	if (at == WEIR_LAXITY_CMD)
		return (uint32_t)refuses;
	return words[at / 4];
}

void sys_write32(uint32_t value, uintptr_t address)
{
	const uintptr_t at = address - WEIR_ZEPHYR_WINDOW;

	CHECK(at < WEIR_LAXITY_WINDOW && at % 4 == 0);
	words[at / 4] = value;
	if (at == WEIR_LAXITY_DONE)
		reported[nr_reported++] = value;
}

/* ------------------------------------------------------------------ the kernel */
void k_sem_give(struct k_sem *sem)
{
	sem->count += sem->count < sem->limit;
}

/* The thread that follows interrupts has nothing to do any more: back to the test, until there is something. */
int k_sem_take(struct k_sem *sem, k_timeout_t timeout)
{
	CHECK(timeout.forever);
	while (!sem->count)
		CHECK(swapcontext(&follower, &test) == 0);
	sem->count--;
	return 0;
}

void k_sched_lock(void)
{
	locked++;
}
void k_sched_unlock(void)
{
	locked--;
}
void k_thread_suspend(struct k_thread *t)
{
	t->suspended = 1;
}
void k_thread_resume(struct k_thread *t)
{
	t->suspended = 0;
}

struct k_thread *k_thread_create(struct k_thread *t, k_thread_stack_t *stack, size_t size,
				 k_thread_entry_t entry, void *p1, void *p2, void *p3, int priority,
				 uint32_t options, k_timeout_t delay)
{
	/* It must not run before the engine has chosen it. */
	CHECK(locked && stack && size && !p2 && !p3 && !options && !delay.forever);
	*t = (struct k_thread){ entry, p1, priority, 0 };
	return t;
}

void irq_enable(unsigned line)
{
	CHECK(line == 7), enabled = 1;
}
void irq_disable(unsigned line)
{
	CHECK(line == 7), enabled = 0;
}
void stub_connect(unsigned line, unsigned priority, void (*h)(const void *), const void *argument)
{
	CHECK(line == 7 && priority == 3 && !argument);
	handler = h;
}

/* ------------------------------------------------------------------ the test */
/* The engine decides, and interrupts; -1: no task. Which threads may run then, a bit each. */
static unsigned decide(int task)
{
	unsigned ready = 0;

	words[WEIR_LAXITY_SCHED / 4] =
		task < 0 ? WEIR_LAXITY_SCHED_IDLE_MASK : WEIR_PUT(WEIR_LAXITY_SCHED_TASK, task);
	CHECK(enabled);
	handler(NULL);
	CHECK(!enabled);
	CHECK(swapcontext(&test, &follower) == 0);
	CHECK(enabled && !claims_with_line_on);
	for (int t = 0; t < 3; t++)
		ready |= (unsigned)!threads[t].suspended << t;
	return ready;
}

static void begin_to_follow(void)
{
	weir_follow.entry(weir_follow.p1, NULL, NULL);
}

/* A job of task n; after the third the engine has no more. */
static void job(void *argument)
{
	const int n = *(const int *)argument;
	uint32_t *const state = &words[(WEIR_LAXITY_STATE + n * WEIR_LAXITY_STATE_STRIDE) / 4];

	CHECK(nr_reported == jobs[n]);
	if (++jobs[n] > 3)
		longjmp(out, 1);
	*state = WEIR_LAXITY_STATE_READY_MASK | WEIR_PUT(WEIR_LAXITY_STATE_JOB, jobs[n] + 1);
}

int main(void)
{
	static char stack[65536];
	static int numbers[4] = { 0, 1, 2, 3 };
	const struct weir_laxity_task times = { .period = 10, .wcet = 2 };

	words[WEIR_LAXITY_STATUS / 4] = WEIR_PUT(WEIR_LAXITY_STATUS_TASKS, 16);
	CHECK(stub_init() == 0 && handler && !enabled);
	CHECK(getcontext(&follower) == 0);
	follower.uc_stack.ss_sp = stack;
	follower.uc_stack.ss_size = sizeof stack;
	makecontext(&follower, begin_to_follow, 0);
	CHECK(weir_follow.priority == CONFIG_WEIR_LAXITY_PRIORITY - 1);
	refuses = 1;
	CHECK(weir_task_create(&threads[0], stacks[0], sizeof stacks[0], job, &numbers[0],
			       &times) == -EINVAL);
	CHECK(!threads[0].entry);
	refuses = 0;
	for (int t = 0; t < 3; t++) {
		CHECK(weir_task_create(&threads[t], stacks[t], sizeof stacks[t], job, &numbers[t],
				       &times) == t);
		CHECK(threads[t].suspended && threads[t].priority == CONFIG_WEIR_LAXITY_PRIORITY &&
		      !locked);
	}
	CHECK(weir_task_create(&threads[3], stacks[3], sizeof stacks[3], job, &numbers[3],
			       &times) == -ENOMEM);
	CHECK(weir_start(WEIR_LAXITY_POLICY_EDF, 4800) == 0 && enabled);
	CHECK(words[WEIR_LAXITY_TICK / 4] == 4800 &&
	      (words[WEIR_LAXITY_CTRL / 4] & WEIR_LAXITY_CTRL_RUN_MASK));

	CHECK(decide(1) == 1u << 1);
	CHECK(decide(2) == 1u << 2);
	/* Another job of the same task; none; the same again. */
	CHECK(decide(2) == 1u << 2);
	CHECK(decide(-1) == 0);
	CHECK(decide(2) == 1u << 2);
	CHECK(decide(0) == 1u << 0);

	words[(WEIR_LAXITY_STATE + 2 * WEIR_LAXITY_STATE_STRIDE) / 4] =
		WEIR_LAXITY_STATE_READY_MASK | WEIR_PUT(WEIR_LAXITY_STATE_JOB, 1);
	if (!setjmp(out))
		threads[2].entry(threads[2].p1, NULL, NULL);
	CHECK(jobs[2] == 4 && nr_reported == 3);
	for (int n = 0; n < 3; n++)
		CHECK(reported[n] ==
		      (WEIR_PUT(WEIR_LAXITY_DONE_TASK, 2) | WEIR_PUT(WEIR_LAXITY_DONE_JOB, n + 1)));
	return 0;
}
