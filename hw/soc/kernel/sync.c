/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Threads, mutexes, condition variables and semaphores in software, for the systems whose hardware has none. Interrupts are off
 * while a list changes. Which threads are ready, and which is next, is the matter of software.c or unified.c.
 */
#include "ready.h"

#define NONE 0xffu

struct queue {
	u32 head, tail, some;
};

struct {
	struct queue waiters;
	u32 locked, owner;
} mutexes[MAX_MUTEXES];
struct queue conditions[MAX_CONDITIONS];
struct {
	struct queue waiters;
	u32 count;
} semaphores[MAX_SEMAPHORES];

/* Numbers that are free, last in first out. */
u8 free_ids[MAX_THREADS];
u32 nr_free;

static void append(struct queue *q, struct thread *t)
{
	if (q->some)
		threads[q->tail].next = t->id;
	else
		q->head = t->id;
	q->tail = t->id;
	q->some++;
}

static struct thread *first(struct queue *q)
{
	struct thread *t = &threads[q->head];

	q->head = t->next;
	q->some--;
	return t;
}

static void wake(struct thread *t)
{
	t->state = READY;
	probe(P_READY, t->id);
	ready_push(t, 0);
}

/* Wait: interrupts are off, and on when it comes back. */
static void block(void)
{
	current->state = BLOCKED;
	probe(P_BLOCK, current->id);
	enter_kernel();
}

void sync_begin(void)
{
	for (nr_free = 0; nr_free < MAX_THREADS; nr_free++)
		free_ids[nr_free] = (u8)(MAX_THREADS - 1 - nr_free);
}

static int make(const char *name, void (*entry)(void *), void *argument, u32 priority, u32 detached)
{
	struct thread *t;
	u32 id;

	irq_off();
	if (!nr_free) {
		irq_on();
		return -1;
	}
	id = free_ids[--nr_free];
	t = &threads[id];
	thread_set(t, id, entry, argument, stacks[id] + STACK);
	t->priority = priority;
	t->joiner = NONE;
	t->detached = detached;
	announce(id, name, priority);
	wake(t);
	ready_check();
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

void leave(void)
{
	irq_off();
	if (current->joiner != NONE)
		wake(&threads[current->joiner]);
	current->state = LEFT;
	probe(P_LEAVE, current->id);
	enter_kernel();
	for (;;)
		;
}

/* Called in the kernel when a detached thread that has ended is no longer on its stack. */
KERNEL void thread_gone(struct thread *t)
{
	if (t->detached) {
		t->state = FREE;
		free_ids[nr_free++] = (u8)t->id;
	}
}

void join(int thread)
{
	struct thread *t = &threads[thread];

	irq_off();
	if (t->state != LEFT) {
		t->joiner = current->id;
		block();
		irq_off();
	}
	t->state = FREE;
	free_ids[nr_free++] = (u8)thread;
	irq_on();
}

int self(void)
{
	return (int)current->id;
}

void yield(void)
{
	irq_off();
	yielding = 1;
	probe(P_YIELD, current->id);
	enter_kernel();
}

int try_lock(u32 m)
{
	int got;

	irq_off();
	got = !mutexes[m].locked;
	if (got) {
		mutexes[m].locked = 1;
		mutexes[m].owner = current->id;
	}
	irq_on();
	return got;
}

void lock(u32 m)
{
	irq_off();
	if (!mutexes[m].locked) {
		mutexes[m].locked = 1;
		mutexes[m].owner = current->id;
		irq_on();
		return;
	}
	append(&mutexes[m].waiters, current);
	block();
}

static void hand_over(u32 m)
{
	if (mutexes[m].waiters.some) {
		struct thread *t = first(&mutexes[m].waiters);

		mutexes[m].owner = t->id;
		wake(t);
	} else {
		mutexes[m].locked = 0;
	}
}

void unlock(u32 m)
{
	irq_off();
	hand_over(m);
	ready_check();
}

void wait(u32 c, u32 m)
{
	irq_off();
	append(&conditions[c], current);
	hand_over(m);
	block();
	lock(m);
}

void signal(u32 c)
{
	irq_off();
	if (conditions[c].some)
		wake(first(&conditions[c]));
	ready_check();
}

void broadcast(u32 c)
{
	irq_off();
	while (conditions[c].some)
		wake(first(&conditions[c]));
	ready_check();
}

void post(u32 s)
{
	irq_off();
	if (semaphores[s].waiters.some)
		wake(first(&semaphores[s].waiters));
	else
		semaphores[s].count++;
	ready_check();
}

void take(u32 s)
{
	irq_off();
	if (semaphores[s].count) {
		semaphores[s].count--;
		irq_on();
		return;
	}
	append(&semaphores[s].waiters, current);
	block();
}
