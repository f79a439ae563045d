/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Between sync.c and the keeper of the ready threads: software.c or unified.c. */
#ifndef WEIR_SOC_READY_H
#define WEIR_SOC_READY_H
#include "kernel.h"

extern struct thread *current;
extern u32 yielding;
/* In an interrupt or at the start: nobody switches now. */
extern u32 in_trap;

void ready_push(struct thread *t, int front);
/* Interrupts are off: on again, after a switch if something more urgent is ready now. */
void ready_check(void);
void thread_gone(struct thread *t);
void sync_begin(void);
#endif
