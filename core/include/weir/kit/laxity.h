/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Remaining execution time and laxity of a job, from its deadline, its execution time and the time it has run. */
#ifndef WEIR_LAXITY_H
#define WEIR_LAXITY_H

#include <weir/component.h>

/* Remaining execution time of @t's job, by JOB and EXECUTED, at capacity 1024, ns; 0: unknown or used up. */
u64 weir_remaining(struct weir_sched weir_mem *s, struct weir_task weir_mem *t);
/*
 * The latest time at which the job of @t can start and still meet its deadline if it then runs without a pause: the deadline less
 * the remaining time, ns. The laxity is this less the time now. WEIR_KEY_NONE: no deadline is known.
 */
u64 weir_latest_start(struct weir_sched weir_mem *s, struct weir_task weir_mem *t);

#endif
