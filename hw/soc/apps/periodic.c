/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Periodic tasks with checksums that a lost or doubled context would spoil. TASKS: how many, TICK: clocks between ticks, LOAD: per
 * cent of all CPUs, TICKS: when to stop, SECTION: 1 for sections in which no interrupt is taken.
 */
#include "kernel.h"
#include "periodic.h"

#ifndef TASKS
#define TASKS 8
#endif
#ifndef TICK
#define TICK 4800
#endif
#ifndef LOAD
#define LOAD 80
#endif
#ifndef TICKS
#define TICKS 2000
#endif
#ifndef SECTION
#define SECTION 0
#endif

static u32 done[TASKS], bad[TASKS], rounds[TASKS];
static u32 expected[TASKS];

static void job(u32 me)
{
	u32 sum = work(me + 1, rounds[me]);

#if SECTION
	irq_off();
	sum += work(me, 100) - work(me, 100);
	irq_on();
#endif
	done[me]++;
	bad[me] += sum != expected[me];
	if (!me && ticks() >= TICKS) {
		u32 all = 0, wrong = 0;

		/* The others may be in the middle of a job: what they have counted is whole. */
		for (u32 t = 0; t < TASKS; t++) {
			all += done[t];
			wrong += bad[t];
		}
		figure("jobs", all);
		figure("wrong", wrong);
		figure("ticks", ticks());
		figure("misses", misses());
		finish(wrong != 0);
	}
}

void setup(void)
{
	static const char *const names[] = { "task-0", "task-1", "task-2", "task-3",
					     "task-4", "task-5", "task-6", "task-7" };

	tick_clocks = TICK;
	for (u32 t = 0; t < TASKS; t++) {
		u32 period = 8 + (t * 37) % 29 + TASKS * 2;
		u32 wcet = period * CPUS * LOAD / (100 * TASKS);

		if (!wcet)
			wcet = 1;
		if (wcet >= period)
			wcet = period - 1;
		/* Jobs that are shorter than they may be: three quarters of their time, if a round takes 45 clocks. */
		rounds[t] = wcet * TICK * 3 / 4 / 45;
		if (!rounds[t])
			rounds[t] = 1;
		expected[t] = work(t + 1, rounds[t]);
		if (task(names[t % 8], job, period, wcet) < 0)
			finish(3);
	}
}
