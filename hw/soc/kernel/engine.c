/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Periodic tasks with the scheduling engine: no scheduler and no tick here. A CPU is interrupted when it has to run another task;
 * reading SCHED hands over contexts (docs/hardware.md), after the old one is in memory.
 */
#include "kernel.h"
#include "periodic.h"
/* One store after the other, without caches. */
#define WEIR_NO_FENCE
#include "weir_laxity.h"

u32 tick_clocks = 4800;

static u32 nr_tasks;
static void (*jobs[64])(u32);
static struct thread idlers[8] __attribute__((aligned(16)));

/* Each job, identified by its number: a task may be released again while it stays where it is. */
static void loop(void *argument)
{
	u32 me = (u32)argument, last = ~0u;

	for (;;) {
		u32 state = weir_laxity_state(SCHEDULER, me),
		    job = WEIR_GET(state, WEIR_LAXITY_STATE_JOB);

		if (!(state & WEIR_LAXITY_STATE_READY_MASK) || job == last)
			continue;
		last = job;
		probe(P_JOB, me);
		jobs[me](me);
		probe(P_DONE, me);
		weir_laxity_done(SCHEDULER, me, last);
	}
}

int task(const char *name, void (*job)(u32), u32 period, u32 wcet)
{
	struct weir_laxity_task t = { .period = (uint16_t)period, .wcet = (uint16_t)wcet };
	u32 n = nr_tasks;

	if (n >= 64 || period > 0xffff || wcet > 0xffff || weir_laxity_set(SCHEDULER, n, &t))
		return -1;
	jobs[n] = job;
	thread_set(&threads[n], n, loop, (void *)n, stacks[n] + STACK);
	announce(n, name, 0);
	return (int)nr_tasks++;
}

u32 ticks(void)
{
	return weir_laxity_read(SCHEDULER, WEIR_LAXITY_TICKS);
}
u32 misses(void)
{
	return weir_laxity_read(SCHEDULER, WEIR_LAXITY_MISSES);
}

KERNEL struct thread *trap(u32 causes, struct thread *old)
{
	struct thread *next;
	u32 s, n;

	(void)causes;
	s = weir_laxity_claim(SCHEDULER);
	n = WEIR_GET(s, WEIR_LAXITY_SCHED_TASK);
	next = s & WEIR_LAXITY_SCHED_IDLE_MASK ? &idlers[CPUS > 1 ? IO_CPU : 0] : &threads[n];
	if (next != old)
		probe(P_RUN, s & WEIR_LAXITY_SCHED_IDLE_MASK ? MAX_THREADS : n);
	return next;
}

static volatile u32 go;

struct thread *begin(u32 cpu)
{
	idlers[cpu].regs[0] = (u32)idle;
	IO_COMPARE = IO_CLOCK + 0x7fffffff;
	if (!cpu) {
		setup();
		if (weir_laxity_start(SCHEDULER, WEIR_LAXITY_POLICY_LLF, tick_clocks))
			IO_EXIT = 1; /* ticks closer than a decision lasts */
		go = 1;
	} else {
		while (!go)
			;
	}
	return &idlers[cpu];
}

void leave(void)
{
	for (;;)
		;
}
