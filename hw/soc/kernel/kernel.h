/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the parts of a kernel know of each other. */
#ifndef WEIR_SOC_KERNEL_H
#define WEIR_SOC_KERNEL_H
#include "io.h"
#include "os.h"

#ifndef CPUS
#define CPUS 1
#endif
/*
 * Data that both threads and trap() change are not static: of a static variable the compiler knows all accesses, and keeps it in a
 * register across irq_off() or enter_kernel(), whatever these clobber.
 */

/* Code that runs in the kernel's part of memory: an observer takes what is outside for a thread. */
#define KERNEL __attribute__((section(".text.kernel")))

/* Interrupts of the core. */
enum { IRQ_SWITCH = 1, IRQ_BUS = 2, IRQ_TIMER = 3, IRQ_SCHED = 4, IRQ_LINES = 5, IRQ_IPI = 6 };

enum { FREE, READY, RUNNING, BLOCKED, LEFT, IDLE };

struct thread {
	u32 regs[32]; /* pc, x1 .. x31: boot.S */
	u32 id, state, priority, next;
	u32 wake_at; /* software: end of its sleep */
	u32 joiner, detached;
	u32 timer; /* unified: its timer */
	u32 busy;  /* laxity in software: its context is in use */
};

#define STACK 1024
extern struct thread threads[MAX_THREADS + 1]; /* the last one idles */
extern u8 stacks[MAX_THREADS][STACK];

/* Interrupts off and on; 1 (ebreak) and 2 (bus error) always are on. */
static inline void irq_off(void)
{
	__asm__ volatile(".insn r 0x0b, 6, 3, x0, %0, x0" ::"r"(~6u) : "memory");
}
static inline void irq_on(void)
{
	__asm__ volatile(".insn r 0x0b, 6, 3, x0, x0, x0" ::: "memory");
}
/* Into the kernel, on purpose. Comes back with interrupts on. */
static inline void enter_kernel(void)
{
	__asm__ volatile("ebreak" ::: "memory");
}

void idle(void);
void thread_set(struct thread *t, u32 id, void (*entry)(void *), void *argument, u8 *stack_end);
/* The thread that executes main() and then ends the program. */
void main_thread(void *unused);
void announce(u32 id, const char *name, u32 priority);
#endif
