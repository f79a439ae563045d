/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Remaining execution time and laxity of a job (weir/kit/laxity.h). */
#include <weir/kit/laxity.h>

WEIR_FLAT u64 weir_remaining(struct weir_sched weir_mem *s, struct weir_task weir_mem *t)
{
	u64 wcet = weir_property(s, WEIR_TOPIC_JOB, t);
	u64 used = wcet ? weir_property(s, WEIR_TOPIC_EXECUTED, t) : 0;

	return wcet > used ? wcet - used : 0;
}

WEIR_GLOBAL u64 weir_latest_start(struct weir_sched weir_mem *s weir_arg,
				  struct weir_task weir_mem *t weir_arg)
{
	u64 deadline = weir_property(s, WEIR_TOPIC_DEADLINE, t);
	u64 left;

	if (!deadline)
		return WEIR_KEY_NONE;
	left = weir_remaining(s, t);
	return deadline > left ? deadline - left : 0;
}
