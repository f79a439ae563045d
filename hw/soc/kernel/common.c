/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What our kernels share: how a thread begins. */
#include "kernel.h"

u8 kernel_stacks[8][2048] __attribute__((aligned(16)));
struct thread threads[MAX_THREADS + 1] __attribute__((aligned(16)));
u8 stacks[MAX_THREADS][STACK] __attribute__((aligned(16)));

static void thread_begin(void (*entry)(void *), void *argument)
{
	entry(argument);
	leave();
}

void thread_set(struct thread *t, u32 id, void (*entry)(void *), void *argument, u8 *stack_end)
{
	t->id = id;
	t->regs[0] = (u32)thread_begin;
	t->regs[2] = (u32)stack_end;
	t->regs[10] = (u32)entry;
	t->regs[11] = (u32)argument;
}

/* Programs of periodic tasks have none. */
int main(void) __attribute__((weak));

void main_thread(void *unused)
{
	(void)unused;
	finish((u32)main());
}

void announce(u32 id, const char *name, u32 priority)
{
#ifndef NO_PROBES
	probe(P_NEW, id << 8 | priority);
	while (*name)
		probe(P_NAME, id << 8 | (u8)*name++);
#else
	(void)id, (void)name, (void)priority;
#endif
}
