/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The scheduler in software: a list a priority, a bitmap over them, sleepers in order, a timer for the first of them.
 *
 * Without THREADED the service of an interrupt is executed by the interrupt, above all threads. With it the interrupt only makes
 * a thread ready and turns its line off until that thread has served; or, with on_each_interrupt(), the line is an edge and stays on.
 */
#include "ready.h"

struct thread *current;
u32 yielding, in_trap;

u32 levels[8], heads[256], tails[256];
struct thread *sleepers;
struct thread *sleep_next[MAX_THREADS];
static struct thread *const nobody = &threads[MAX_THREADS];

KERNEL void ready_push(struct thread *t, int front)
{
	u32 p = t->priority, bit = 1u << (p & 31);

	if (!(levels[p >> 5] & bit)) {
		levels[p >> 5] |= bit;
		heads[p] = tails[p] = t->id;
	} else if (front) {
		t->next = heads[p];
		heads[p] = t->id;
	} else {
		threads[tails[p]].next = t->id;
		tails[p] = t->id;
	}
}

/* The highest level that has a thread; -1: none has. The core has no instruction for it. */
KERNEL static int top(void)
{
	for (int w = 7; w >= 0; w--) {
		u32 x = levels[w], n = 0;

		if (!x)
			continue;
		if (x >> 16)
			n += 16, x >>= 16;
		if (x >> 8)
			n += 8, x >>= 8;
		if (x >> 4)
			n += 4, x >>= 4;
		if (x >> 2)
			n += 2, x >>= 2;
		return (int)(32 * (u32)w + n + (x >> 1));
	}
	return -1;
}

void ready_check(void)
{
	if (in_trap)
		return;
	if (top() > (int)current->priority)
		enter_kernel();
	else
		irq_on();
}

/* Inline, because the time in the kernel is what is measured. */
KERNEL static inline __attribute__((always_inline)) void wake(struct thread *t)
{
	t->state = READY;
	probe(P_READY, t->id);
	ready_push(t, 0);
}

/* ------------------------------------------------------------------ sleep */
KERNEL static void arm(void)
{
	IO_COMPARE = sleepers ? sleepers->wake_at : IO_CLOCK + 0x7fffffff;
}

void sleep_until(u32 at)
{
	struct thread **p;

	irq_off();
	if ((int)(at - IO_CLOCK) <= 0) {
		irq_on();
		return;
	}
	current->wake_at = at;
	for (p = &sleepers; *p && (int)((*p)->wake_at - at) <= 0; p = &sleep_next[(*p)->id])
		;
	sleep_next[current->id] = *p;
	*p = current;
	arm();
	current->state = BLOCKED;
	probe(P_BLOCK, current->id);
	enter_kernel();
}

KERNEL static void wake_sleepers(void)
{
	while (sleepers && (int)(IO_CLOCK - sleepers->wake_at) >= 0) {
		struct thread *t = sleepers;

		sleepers = sleep_next[t->id];
		wake(t);
	}
	arm();
}

/* ------------------------------------------------------------------ interrupts */
struct {
	void (*service)(u32);
	struct thread *thread; /* waits for the line; none: the line is an edge */
	u32 stay;	       /* lines that stay on when it interrupts */
} lines[8];

#ifdef THREADED
struct {
	struct thread *thread; /* waits for an edge */
	u32 some;	       /* one came since the thread last looked */
} edges[8];

KERNEL static __attribute__((noinline)) void edge(u32 d)
{
	struct thread *t = edges[d].thread;

	IO_LINES_NOW = 1u << d;
	edges[d].some = 1;
	edges[d].thread = 0;
	if (t)
		wake(t);
}

KERNEL static void interrupt(void)
{
	u32 now = IO_LINES_NOW & IO_LINES;

	for (u32 d = 0; d < 8; d++)
		if (now >> d & 1) {
			struct thread *t = lines[d].thread;

			IO_LINES &= lines[d].stay;
			if (t)
				wake(t);
			else
				edge(d);
		}
}

static void serve(void *device)
{
	u32 d = (u32)device;

	for (;;) {
		irq_off();
		if (!(IO_LINES_NOW >> d & 1)) {
			lines[d].thread = current;
			IO_LINES |= 1u << d;
			current->state = BLOCKED;
			probe(P_BLOCK, current->id);
			enter_kernel();
		}
		irq_on();
		probe(P_SERVE, d);
		lines[d].service(d);
		probe(P_SERVED, d);
	}
}

void on_interrupt(u32 device, void (*service)(u32), u32 priority)
{
	static const char *const names[] = { "irq-0", "irq-1", "irq-2", "irq-3" };

	lines[device].service = service;
	lines[device].stay = ~(1u << device);
	spawn_detached(names[device & 3], serve, (void *)device, priority);
}

static void serve_edges(void *device)
{
	u32 d = (u32)device;

	for (;;) {
		irq_off();
		if (!edges[d].some) {
			edges[d].thread = current;
			current->state = BLOCKED;
			probe(P_BLOCK, current->id);
			enter_kernel();
		}
		edges[d].some = 0;
		irq_on();
		probe(P_SERVE, d);
		/* Events whose edges came while the latch was set are served with the first one. */
		while (device_waiting(d))
			lines[d].service(d);
		probe(P_SERVED, d);
	}
}

void on_each_interrupt(u32 device, void (*service)(u32), u32 priority)
{
	static const char *const names[] = { "irq-0", "irq-1", "irq-2", "irq-3" };

	lines[device].service = service;
	lines[device].stay = ~0u;
	/* From now on, whether or not the thread has run before. */
	IO_EDGES |= 1u << device;
	IO_LINES |= 1u << device;
	spawn_detached(names[device & 3], serve_edges, (void *)device, priority);
}
#else
KERNEL static void interrupt(void)
{
	u32 now = IO_LINES_NOW & IO_LINES;

	for (u32 d = 0; d < 8; d++)
		if (now >> d & 1) {
			probe(P_SERVE, d);
			lines[d].service(d);
			probe(P_SERVED, d);
		}
}

void on_interrupt(u32 device, void (*service)(u32), u32 priority)
{
	(void)priority;
	lines[device].service = service;
	IO_LINES |= 1u << device;
}

void on_each_interrupt(u32 device, void (*service)(u32), u32 priority)
{
	on_interrupt(device, service, priority);
}
#endif

/* ------------------------------------------------------------------ the kernel */
KERNEL struct thread *trap(u32 causes, struct thread *old)
{
	int level;

	in_trap = 1;
	if (causes >> IRQ_TIMER & 1)
		wake_sleepers();
	if (causes >> IRQ_LINES & 1)
		interrupt();
	in_trap = 0;
	level = top();
	if (old->state == RUNNING) {
		if (!yielding && level <= (int)old->priority)
			return old;
		old->state = READY;
		probe(P_READY, old->id);
		ready_push(old, !yielding);
		yielding = 0;
		level = top();
	} else if (old->state == LEFT) {
		thread_gone(old);
	} else if (old == nobody && level < 0) {
		return old;
	}
	current = nobody;
	if (level >= 0) {
		u32 l = (u32)level;

		current = &threads[heads[l]];
		if (heads[l] == tails[l])
			levels[l >> 5] &= ~(1u << (l & 31));
		else
			heads[l] = current->next;
		current->state = RUNNING;
	}
	probe(P_RUN, current->id);
	return current;
}

struct thread *begin(u32 cpu)
{
	(void)cpu;
	sync_begin();
	nobody->id = MAX_THREADS;
	nobody->state = IDLE;
	nobody->regs[0] = (u32)idle;
	current = nobody;
	IO_COMPARE = IO_CLOCK + 0x7fffffff;
	in_trap = 1;
	spawn("main", main_thread, 0, MAIN_PRIORITY);
	current = trap(0, nobody);
	in_trap = 0;
	return current;
}
