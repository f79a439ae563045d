/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Periodic tasks by least laxity in software, by the rules of the scheduling engine. A timer interrupts CPU 0 at each tick; it
 * brings all tasks up to date, chooses, and interrupts the other CPUs that have to switch.
 */
#include "kernel.h"
#include "periodic.h"

u32 tick_clocks = 4800;

struct {
	u32 period, wcet, deadline, left;
	u32 ready, chosen, job;
} state[64];
u32 nr_tasks, nr_ticks, nr_misses, next_tick;
static void (*jobs[64])(u32);
static struct thread idlers[8] __attribute__((aligned(16)));
/* What each CPU is to run, or -1; and what it has. */
volatile int assigned[CPUS];
static struct thread *on[CPUS];

static inline void acquire(void)
{
#if CPUS > 1
	while (IO_LOCK)
		;
#endif
}

static inline void release(void)
{
#if CPUS > 1
	IO_LOCK = 0;
#endif
}

static void loop(void *argument)
{
	u32 me = (u32)argument, last = ~0u;

	for (;;) {
		volatile u32 *ready = &state[me].ready, *job = &state[me].job;

		if (!*ready || *job == last)
			continue;
		last = *job;
		probe(P_JOB, me);
		jobs[me](me);
		probe(P_DONE, me);
		irq_off();
		acquire();
		if (state[me].job == last)
			state[me].ready = 0;
		release();
		irq_on();
	}
}

int task(const char *name, void (*job)(u32), u32 period, u32 wcet)
{
	u32 n = nr_tasks;

	if (n >= 64 || !wcet || wcet >= period)
		return -1;
	state[n].period = period;
	state[n].wcet = wcet;
	state[n].deadline = period;
	state[n].left = wcet;
	state[n].ready = 1;
	jobs[n] = job;
	thread_set(&threads[n], n, loop, (void *)n, stacks[n] + STACK);
	announce(n, name, 0);
	return (int)nr_tasks++;
}

u32 ticks(void)
{
	return nr_ticks;
}
u32 misses(void)
{
	return nr_misses;
}

KERNEL static void tick(void)
{
	int chosen[CPUS];
	u32 nr = 0, changed = 0;

	nr_ticks++;
	acquire();
	for (u32 t = 0; t < nr_tasks; t++) {
		if (state[t].chosen && state[t].ready && !--state[t].left)
			state[t].ready = 0;
		if (!--state[t].deadline) {
			nr_misses += state[t].ready;
			state[t].deadline = state[t].period;
			state[t].left = state[t].wcet;
			state[t].ready = 1;
			state[t].job = (state[t].job + 1) & 0xff;
		}
	}
	/* The most urgent ones, in order: insertion into a list as long as there are CPUs. Among equals a task chosen before goes first. */
	for (u32 t = 0; t < nr_tasks; t++) {
		int laxity = (int)(state[t].deadline - state[t].left);
		u32 at;

		if (!state[t].ready)
			continue;
		for (at = nr; at; at--) {
			u32 o = (u32)chosen[at - 1];
			int other = (int)(state[o].deadline - state[o].left);

			if (other < laxity ||
			    (other == laxity && state[o].chosen >= state[t].chosen))
				break;
		}
		if (at == CPUS)
			continue;
		for (u32 i = nr < CPUS ? nr : CPUS - 1; i > at; i--)
			chosen[i] = chosen[i - 1];
		chosen[at] = (int)t;
		if (nr < CPUS)
			nr++;
	}
	for (u32 t = 0; t < nr_tasks; t++)
		state[t].chosen = 0;
	/* A task that stays keeps its CPU; the others take free CPUs, in order. */
	for (u32 c = 0; c < CPUS; c++) {
		int old = assigned[c], stays = 0;

		for (u32 i = 0; i < nr; i++)
			if (chosen[i] == old && old >= 0) {
				state[old].chosen = 1;
				stays = 1;
			}
		if (!stays)
			assigned[c] = -1;
		if (!stays && old >= 0)
			changed |= 1u << c;
	}
	for (u32 i = 0; i < nr; i++) {
		if (state[chosen[i]].chosen)
			continue;
		for (u32 c = 0; c < CPUS; c++)
			if (assigned[c] < 0) {
				assigned[c] = chosen[i];
				state[chosen[i]].chosen = 1;
				changed |= 1u << c;
				break;
			}
	}
	release();
#if CPUS > 1
	if (changed & ~1u)
		IO_IPI = changed & ~1u;
#endif
	do
		next_tick += tick_clocks;
	while ((int)(next_tick - IO_CLOCK) <= 0);
	IO_COMPARE = next_tick;
}

KERNEL struct thread *trap(u32 causes, struct thread *old)
{
	u32 cpu = CPUS > 1 ? IO_CPU : 0;
	struct thread *next;

	if (causes >> IRQ_TIMER & 1)
		tick();
	if (causes >> IRQ_IPI & 1)
		IO_IPI_DONE = 1;
#if CPUS == 1
	next = assigned[0] < 0 ? &idlers[0] : &threads[assigned[0]];
#else
	/* The old context is in memory: it may be loaded elsewhere. Ours must be as well, or it is still on its way. */
	old->busy = 0;
	for (;;) {
		int t;

		acquire();
		t = assigned[cpu];
		next = t < 0 ? &idlers[cpu] : &threads[t];
		if (!next->busy) {
			next->busy = 1;
			release();
			break;
		}
		release();
	}
#endif
	on[cpu] = next;
	if (next != old)
		probe(P_RUN, next == &idlers[cpu] ? MAX_THREADS : next->id);
	return next;
}

static volatile u32 go;

struct thread *begin(u32 cpu)
{
	idlers[cpu].regs[0] = (u32)idle;
	idlers[cpu].busy = 1;
	assigned[cpu] = -1;
	IO_COMPARE = IO_CLOCK + 0x7fffffff;
	if (!cpu) {
		setup();
		for (u32 c = 1; c < CPUS; c++)
			assigned[c] = -1;
		next_tick = IO_CLOCK + tick_clocks;
		IO_COMPARE = next_tick;
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
