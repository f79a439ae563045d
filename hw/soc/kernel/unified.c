/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * With the unified controller: lists of ready threads are kept here, the controller knows the first of each. It alone compares
 * threads, interrupts and timers, and interrupts the CPU only if it has to switch.
 */
#include "ready.h"
#include "weir_unified.h"

struct thread *current;
u32 yielding, in_trap;

u32 some[256], heads[256], tails[256];
static struct thread *const nobody = &threads[MAX_THREADS];

#define CALL(command, thread, priority, which) \
	WEIR_UNIFIED(SCHEDULER, command, thread, priority, which)
#define TIMERS 16
u32 free_timers = (1u << TIMERS) - 1;

KERNEL void ready_push(struct thread *t, int front)
{
	u32 p = t->priority;

	if (!some[p]++) {
		heads[p] = tails[p] = t->id;
	} else if (front) {
		t->next = heads[p];
		heads[p] = t->id;
	} else {
		threads[tails[p]].next = t->id;
		tails[p] = t->id;
		return;
	}
	(void)CALL(SET_THREAD, t->id, p, 0);
}

/* The controller interrupts by itself if something more urgent is ready now. */
void ready_check(void)
{
	if (!in_trap)
		irq_on();
}

void sleep_until(u32 at)
{
	u32 timer;
	int clocks;

	irq_off();
	clocks = (int)(at - IO_CLOCK);
	if (clocks <= 0) {
		irq_on();
		return;
	}
	if (!free_timers) {
		/* None is free: look again when others have run. */
		irq_on();
		yield();
		sleep_until(at);
		return;
	}
	for (timer = 0; !(free_timers >> timer & 1); timer++)
		;
	free_timers &= ~(1u << timer);
	current->timer = timer;
	current->state = BLOCKED;
	probe(P_BLOCK, current->id);
	weir_unified_timer(SCHEDULER, current->id, current->priority, timer, (u32)clocks);
	enter_kernel();
	irq_off();
	free_timers |= 1u << timer;
	irq_on();
}

void (*services[8])(u32);

static void serve(void *device)
{
	u32 d = (u32)device;

	for (;;) {
		irq_off();
		if (!CALL(ASSOCIATE, current->id, current->priority, d)) {
			current->state = BLOCKED;
			probe(P_BLOCK, current->id);
			enter_kernel();
		}
		irq_on();
		probe(P_SERVE, d);
		services[d](d);
		probe(P_SERVED, d);
	}
}

void on_interrupt(u32 device, void (*service)(u32), u32 priority)
{
	static const char *const names[] = { "irq-0", "irq-1", "irq-2", "irq-3" };

	services[device] = service;
	spawn_detached(names[device & 3], serve, (void *)device, priority);
}

/* Only events that are more urgent than the current thread interrupt, each time. */
void on_each_interrupt(u32 device, void (*service)(u32), u32 priority)
{
	on_interrupt(device, service, priority);
}

KERNEL struct thread *trap(u32 causes, struct thread *old)
{
	u32 next, p;

	(void)causes;
	if (old->state == RUNNING) {
		old->state = READY;
		probe(P_READY, old->id);
		ready_push(old, !yielding);
		yielding = 0;
	} else if (old->state == LEFT) {
		thread_gone(old);
	}
	next = CALL(NEXT, 0, 0, 0);
	if (next & WEIR_UNIFIED_NEXT_NONE_MASK) {
		current = nobody;
	} else {
		current = &threads[WEIR_GET(next, WEIR_UNIFIED_NEXT_THREAD)];
		if (!WEIR_GET(next, WEIR_UNIFIED_NEXT_SOURCE)) {
			/* Out of its list; interrupts and timers are in none. */
			p = WEIR_GET(next, WEIR_UNIFIED_NEXT_PRIORITY);
			heads[p] = current->next;
			(void)CALL(SET_THREAD, heads[p], p, !--some[p]);
		}
		current->state = RUNNING;
	}
	if (current != old)
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
