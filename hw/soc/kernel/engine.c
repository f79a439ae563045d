/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Periodic tasks with the scheduling engine: no scheduler and no tick here. A CPU is interrupted when it has to run another task;
 * reading SCHED hands over contexts (docs/hardware.md), after the old one is in memory.
 */
#include "kernel.h"
#include "periodic.h"

#define ENGINE(offset) (*(volatile u32 *)(0x40000000 + (offset)))
#define CTRL	       ENGINE(0x00)
#define TICK	       ENGINE(0x04)
#define PARAM0	       ENGINE(0x08)
#define PARAM1	       ENGINE(0x0c)
#define CMD	       ENGINE(0x10)
#define SCHED	       ENGINE(0x14)
#define DONE	       ENGINE(0x18)
#define TICKS	       ENGINE(0x28)
#define MISSES	       ENGINE(0x2c)
#define STATE(n)       ENGINE(0x400 + 8 * (n))
#define IS_WAIT	       (1u << 29)
#define IS_IDLE	       (1u << 30)
#define IS_READY       (1u << 30)

u32 tick_clocks = 4800;

static u32 nr_tasks;
static void (*jobs[64])(u32);
static struct thread idlers[8] __attribute__((aligned(16)));

/* Each job, identified by its number: a task may be released again while it stays where it is. */
static void loop(void *argument)
{
	u32 me = (u32)argument, last = ~0u;

	for (;;) {
		u32 state = STATE(me);

		if (!(state & IS_READY) || (state >> 8 & 0xff) == last)
			continue;
		last = state >> 8 & 0xff;
		probe(P_JOB, me);
		jobs[me](me);
		probe(P_DONE, me);
		DONE = last << 8 | me;
	}
}

int task(const char *name, void (*job)(u32), u32 period, u32 wcet)
{
	u32 n = nr_tasks;

	PARAM0 = wcet << 16 | period;
	PARAM1 = 0;
	CMD = 1 | n << 8;
	if (n >= 64 || CMD)
		return -1;
	jobs[n] = job;
	thread_set(&threads[n], n, loop, (void *)n, stacks[n] + STACK);
	announce(n, name, 0);
	return (int)nr_tasks++;
}

u32 ticks(void)
{
	return TICKS;
}
u32 misses(void)
{
	return MISSES;
}

KERNEL struct thread *trap(u32 causes, struct thread *old)
{
	struct thread *next;
	u32 s;

	(void)causes;
	do
		s = SCHED;
	while (s & IS_WAIT);
	next = s & IS_IDLE ? &idlers[CPUS > 1 ? IO_CPU : 0] : &threads[s & 0xff];
	if (next != old)
		probe(P_RUN, s & IS_IDLE ? MAX_THREADS : s & 0xff);
	return next;
}

static volatile u32 go;

struct thread *begin(u32 cpu)
{
	idlers[cpu].regs[0] = (u32)idle;
	IO_COMPARE = IO_CLOCK + 0x7fffffff;
	if (!cpu) {
		setup();
		TICK = tick_clocks;
		CTRL = 1;
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
