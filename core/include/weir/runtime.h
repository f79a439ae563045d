/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * All that the framework needs from a runtime. A missing function is a link error. weir_init() gets the
 * memory; locks, atomics and the CPU number come from the port.
 */
#ifndef WEIR_RUNTIME_H
#define WEIR_RUNTIME_H

#include <weir/broker.h>

/* Monotonic time, ns. */
u64 weir_rt_now(struct weir_sched weir_mem *s);
/* A message for the runtime: called once for every message of a topic in `rt_topics`, without locks. */
void weir_rt_message(struct weir_sched weir_mem *s, const struct weir_msg *msg);
/* Call weir_timer_expired(s, instance) at @at_ns; 0 cancels the call. */
void weir_rt_timer(struct weir_sched weir_mem *s, u32 instance, u64 at_ns);

#endif
