/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * affinity_filter - withhold tasks that may run on no CPU behind the filter
 *
 * class:     filter
 * pipes:     in 1, out 1
 * listens:   AFFINITY: pass or withhold the task. CPU_STATUS: check all tasks again
 * publishes: WITHHELD: the task is withheld
 * asks:      AFFINITY: where the task may run; needed
 * answers:   -
 * params:    -
 * cost:      O(1) per change, O(tasks) when a CPU goes offline or online; takes the in-pipe lock and the
 *            out-pipe lock
 * batch:     the out-pipe holds those tasks of the in-pipe that may run on an online CPU behind it,
 *            in the in-pipe's order
 * source:    CoBaS 5.8.2, filtering
 *
 * Put it before a shared exit, whose CPUs would otherwise look repeatedly at tasks that none
 * of them may run. Distributors need no such filter: they withhold tasks themselves.
 *
 * example:   annotate affinity; entry -> affinity_filter -> head_queue -> cpus;
 */
#include <weir/component.h>

struct affinity_filter {
	struct weir_instance inst;
};

WEIR_COMPONENT(affinity_filter,
	       .summary = "withhold tasks that may run on no CPU behind the filter",
	       .cls = WEIR_FILTER, .carries = WEIR_CARRIES, .ordering = WEIR_KEEPS, .in_min = 1,
	       .in_max = 1, .out_min = 1, .out_max = 1,
	       .listens = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(CPU_STATUS),
	       .publishes = WEIR_TOPIC_BIT(WITHHELD), .asks = WEIR_TOPIC_BIT(AFFINITY),
	       .needs = WEIR_TOPIC_BIT(AFFINITY));

WEIR_ENTRY int affinity_filter_update(struct affinity_filter weir_mem *self,
				      struct weir_pipe weir_mem *in)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	struct weir_change weir_mem *c;
	int err;

	weir_for_change(c, in) {
		struct weir_task weir_mem *t = c->task;
		int pass = weir_pipe_allows(out, weir_affinity(self->inst.sched, t));

		err = weir_route(&self->inst, in, t, pass ? out : 0);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Nothing happens to a task that is on the right side already, or that update has still to look at.
 */
static int affinity_filter_review(struct affinity_filter weir_mem *self,
				  struct weir_pipe weir_mem *in, struct weir_task weir_mem *t,
				  const struct weir_cpumask weir_mem *mask)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	int pass = weir_pipe_allows(out, mask);

	if (weir_pending(in, t) || pass == weir_pipe_has(out, t))
		return 0;
	return weir_route(&self->inst, in, t, pass ? out : 0);
}

WEIR_ENTRY int affinity_filter_on_cpu_status(struct affinity_filter weir_mem *self,
					     const struct weir_msg *msg)
{
	struct weir_pipe weir_mem *in = weir_in(&self->inst, 0);
	struct weir_task weir_mem *t;
	int err;

	(void)msg;
	err = weir_pipe_lock(in);
	if (err)
		return err;
	weir_for_member(t, in) {
		err = affinity_filter_review(self, in, t, weir_affinity(self->inst.sched, t));
		if (err)
			break;
	}
	weir_pipe_unlock(in);
	return err;
}

WEIR_ENTRY int affinity_filter_follow_affinity(struct affinity_filter weir_mem *self,
					       const struct weir_msg *msg,
					       struct weir_pipe weir_mem *in)
{
	return affinity_filter_review(self, in, msg->task, msg->mask);
}
