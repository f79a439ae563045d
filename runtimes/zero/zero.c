/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The least runtime: no time, no timers, nobody listens. Shows that runtime.h is all the core asks for. */
#include <weir/runtime.h>

u64 weir_rt_now(struct weir_sched weir_mem *s)
{
	(void)s;
	return 0;
}

void weir_rt_message(struct weir_sched weir_mem *s, const struct weir_msg *msg)
{
	(void)s;
	(void)msg;
}

void weir_rt_timer(struct weir_sched weir_mem *s, u32 instance, u64 at_ns)
{
	(void)s;
	(void)instance;
	(void)at_ns;
}
