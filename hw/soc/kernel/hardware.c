/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * All in hardware: threads, mutexes, condition variables, interrupts and timers are calls of weir_kernel, a read each. What is left
 * here: stacks, names, and saving and loading registers. Nothing needs interrupts off, because each call is one bus transfer.
 */
#include "kernel.h"

enum { LISTS, THREADS, MUTEXES, CONDITIONS, INTERRUPTS, TIMERS };
#define ADDRESS(unit, command, thread, argument)                                   \
	(*(volatile u32 *)(0x40000000 | (u32)(command) << 2 | (u32)(thread) << 6 | \
			   (u32)(argument) << 14 | (u32)(unit) << 22))

/* What a call protects stays on its side of it: the compiler moves nothing across. */
static inline u32 call(u32 unit, u32 command, u32 thread, u32 argument)
{
	u32 answer;

	__asm__ volatile("" ::: "memory");
	answer = ADDRESS(unit, command, thread, argument);
	__asm__ volatile("" ::: "memory");
	return answer;
}

enum { SET_PRIORITY = 5, PREEMPTION = 7, SET_IDLE = 8 };
enum { CREATE, CURRENT, NEXT, YIELD, CLEAR, IS_QUEUED, EXIT, JOIN, DETACH, ADD, BLOCK };
enum { LOCK, TRY_LOCK, UNLOCK };
enum { WAIT, SIGNAL, BROADCAST, SLEEP };
enum { ASSOCIATE };
enum { ADD_TIMER };
#define WAITS  1u
#define FAILED 0x80000000u

u32 current, yielding, idler;

static int make(const char *name, void (*entry)(void *), void *argument, u32 priority, u32 detached)
{
	u32 id = call(THREADS, CREATE, 0, detached);

	if (id & FAILED)
		return -1;
	if (id >= MAX_THREADS) {
		/* There is no stack for it. */
		call(THREADS, CLEAR, id, 0);
		return -1;
	}
	thread_set(&threads[id], id, entry, argument, stacks[id] + STACK);
	threads[id].priority = priority;
	call(LISTS, SET_PRIORITY, id, priority);
	announce(id, name, priority);
	probe(P_READY, id);
	call(THREADS, ADD, id, 0);
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
	probe(P_BLOCK, current);
	enter_kernel();
}

void leave(void)
{
	probe(P_LEAVE, current);
	call(THREADS, EXIT, 0, 0);
	enter_kernel();
	for (;;)
		;
}

void join(int thread)
{
	while (call(THREADS, JOIN, thread, 0) == WAITS)
		give_up();
}

int self(void)
{
	return (int)current;
}

void yield(void)
{
	probe(P_YIELD, current);
	yielding = 1;
	enter_kernel();
}

void lock(u32 m)
{
	if (call(MUTEXES, LOCK, current, m) == WAITS)
		give_up();
}

int try_lock(u32 m)
{
	return !call(MUTEXES, TRY_LOCK, current, m);
}
void unlock(u32 m)
{
	call(MUTEXES, UNLOCK, current, m);
}

void wait(u32 c, u32 m)
{
	/* Registered it can be preempted, since it still may run, and give the mutex back; it sleeps unless it was signalled by then. */
	call(CONDITIONS, WAIT, current, c);
	unlock(m);
	if (call(CONDITIONS, SLEEP, current, c) == WAITS)
		give_up();
	lock(m);
}

void signal(u32 c)
{
	call(CONDITIONS, SIGNAL, 0, c);
}
void broadcast(u32 c)
{
	call(CONDITIONS, BROADCAST, 0, c);
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
		ADDRESS(TIMERS, ADD_TIMER, current, 0) = (u32)clocks;
		give_up();
	}
}

void (*services[8])(u32);

static void serve(void *device)
{
	u32 d = (u32)device;

	for (;;) {
		if (!call(INTERRUPTS, ASSOCIATE, current, d))
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
	u32 next;

	(void)causes;
	/* Puts the thread that runs back unless it is blocked, and returns the next one. */
	if (yielding) {
		yielding = 0;
		next = call(THREADS, YIELD, 0, 0);
	} else {
		next = call(THREADS, NEXT, 0, 0);
	}
	current = next & 0xff;
	if (&threads[current] != old)
		probe(P_RUN, current == idler ? MAX_THREADS : current);
	return &threads[current];
}

struct thread *begin(u32 cpu)
{
	(void)cpu;
	IO_COMPARE = IO_CLOCK + 0x7fffffff;
	idler = call(THREADS, CREATE, 0, 0);
	threads[idler].regs[0] = (u32)idle;
	call(LISTS, SET_IDLE, idler, 0);
	call(LISTS, PREEMPTION, 0, 1);
	spawn("main", main_thread, 0, MAIN_PRIORITY);
	return trap(0, 0);
}
