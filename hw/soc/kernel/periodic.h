/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Programs of periodic tasks, for the systems `engine` and `tick`. A task is a function that is called for each job. All times are
 * ticks. Tasks run on any CPU and migrate in the middle of a job.
 */
#ifndef WEIR_SOC_PERIODIC_H
#define WEIR_SOC_PERIODIC_H
#include "os.h"

/* Clocks between two ticks. */
extern u32 tick_clocks;
/* Before start(): the task's number, or -1 where there is no room for it or it is not 0 < wcet < period. */
int task(const char *name, void (*job)(u32 task), u32 period, u32 wcet);
/* Decisions so far, and deadlines missed. */
u32 ticks(void);
u32 misses(void);

/* Called once, on CPU 0, before anything runs: sets up the tasks. */
void setup(void);
#endif
