/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * All in hardware: threads, mutexes, condition variables, interrupts and timers are calls of weir_kernel, a read each. What is left
 * here: stacks, names, and saving and loading registers. Nothing needs interrupts off, because each call is one bus transfer. With
 * several CPUs threads move between them: what a thread asks of itself must not depend on where it runs.
 */
#include "kernel.h"
#include "weir_kernel.h"

#define CALL(unit, command, thread, argument) \
	WEIR_KERNEL(SCHEDULER, unit, command, thread, argument)
#define WAITS WEIR_KERNEL_BLOCKED

u32 current[CPUS], idlers[CPUS], yielding;

/* The thread that calls. With several CPUs it is found by its stack. */
static inline u32 me(void)
{
	register u32 sp __asm__("sp");

	return CPUS > 1 ? (sp - 1 - (u32)stacks) / STACK : current[0];
}

/* The thread gives its turn to equals when it enters the kernel. */
static inline u32 *yields(struct thread *t)
{
	return CPUS > 1 ? &t->busy : &yielding;
}

static int make(const char *name, void (*entry)(void *), void *argument, u32 priority, u32 detached)
{
	u32 id = CALL(THREADS, CREATE, 0, detached);

	if (id & WEIR_KERNEL_FAILED)
		return -1;
	if (id >= MAX_THREADS) {
		/* There is no stack for it. */
		CALL(THREADS, CLEAR, id, 0);
		return -1;
	}
	thread_set(&threads[id], id, entry, argument, stacks[id] + STACK);
	threads[id].priority = priority;
	CALL(LISTS, SET_PRIORITY, id, priority);
	announce(id, name, priority);
	probe(P_READY, id);
	CALL(THREADS, ADD, id, 0);
	return (int)id;
}

int spawn(const char *name, void (*entry)(void *), void *argument, u32 priority)
{
	return make(name, entry, argument, priority, 0);
}

int spawn_detached(const char *name, void (*entry)(void *), void *argument, u32 priority)
{
	return make(name, entry, argument, priority, 1);
}

/* The hardware has blocked the thread that runs: leave the CPU. */
static void give_up(void)
{
	probe(P_BLOCK, me());
	enter_kernel();
}

void leave(void)
{
	probe(P_LEAVE, me());
	CALL(THREADS, EXIT, 0, 0);
	enter_kernel();
	for (;;)
		;
}

void join(int thread)
{
	while (CALL(THREADS, JOIN, thread, 0) == WAITS)
		give_up();
}

int self(void)
{
	return (int)me();
}

void yield(void)
{
	probe(P_YIELD, me());
	*yields(&threads[me()]) = 1;
	enter_kernel();
}

void lock(u32 m)
{
	if (CALL(MUTEXES, LOCK, me(), m) == WAITS)
		give_up();
}

int try_lock(u32 m)
{
	return !CALL(MUTEXES, TRY_LOCK, me(), m);
}
void unlock(u32 m)
{
	CALL(MUTEXES, UNLOCK, me(), m);
}

void wait(u32 c, u32 m)
{
	/* Registered it can be preempted, since it still may run, and give the mutex back; it sleeps unless it was signalled by then. */
	CALL(CONDITIONS, WAIT, me(), c);
	unlock(m);
	if (CALL(CONDITIONS, SLEEP, me(), c) == WAITS)
		give_up();
	lock(m);
}

void signal(u32 c)
{
	CALL(CONDITIONS, SIGNAL, 0, c);
}
void broadcast(u32 c)
{
	CALL(CONDITIONS, BROADCAST, 0, c);
}

/* A semaphore is a mutex and a condition variable, the last ones. */
u32 counts[MAX_SEMAPHORES];
#define OF(s) (MAX_MUTEXES - 1 - (s))

void post(u32 s)
{
	lock(OF(s));
	counts[s]++;
	signal(OF(s));
	unlock(OF(s));
}

void take(u32 s)
{
	lock(OF(s));
	while (!counts[s])
		wait(OF(s), OF(s));
	counts[s]--;
	unlock(OF(s));
}

void sleep_until(u32 at)
{
	for (;;) {
		int clocks = (int)(at - IO_CLOCK);

		if (clocks <= 0)
			return;
		/* Where there is no room for a timer nobody is blocked, and this only lets others run. */
		weir_kernel_timer(SCHEDULER, me(), 0, (u32)clocks);
		give_up();
	}
}

void (*services[8])(u32);

static void serve(void *device)
{
	u32 d = (u32)device;

	for (;;) {
		if (!CALL(INTERRUPTS, ASSOCIATE, me(), d))
			give_up();
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
	const u32 cpu = CPUS > 1 ? IO_CPU : 0;
	u32 next;

	(void)causes;
	/* Puts the thread that runs back unless it is blocked, and returns the next one. */
	if (*yields(old)) {
		*yields(old) = 0;
		next = CALL(THREADS, YIELD, 0, 0);
	} else {
		next = CALL(THREADS, NEXT, 0, 0);
	}
	current[cpu] = WEIR_GET(next, WEIR_LISTS_NEXT_THREAD);
	/* Of several CPUs another may have woken the thread that has just reported that it blocks. */
	if (CPUS > 1 || &threads[current[cpu]] != old)
		probe(P_RUN, current[cpu] == idlers[cpu] ? MAX_THREADS : current[cpu]);
	return &threads[current[cpu]];
}

struct thread *begin(u32 cpu)
{
	struct thread *idler;

	IO_COMPARE = IO_CLOCK + 0x7fffffff;
	idlers[cpu] = CALL(THREADS, CREATE, 0, 0);
	idler = &threads[idlers[cpu]];
	idler->regs[0] = (u32)idle;
	CALL(LISTS, SET_IDLE, idlers[cpu], 0);
	CALL(LISTS, PREEMPTION, 0, 1);
	if (!cpu)
		spawn("main", main_thread, 0, MAIN_PRIORITY);
	return trap(0, idler);
}
