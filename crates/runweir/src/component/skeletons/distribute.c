/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * NAME - send each task to the first CPU that it may use
 *
 * class:     distribute
 * pipes:     in 1.., out 1..
 * listens:   AFFINITY: move the task. CPU_STATUS: look at all tasks again
 * publishes: WITHHELD: no CPU that the task may use is there
 * asks:      AFFINITY: where the task may run; needed
 * answers:   -
 * params:    -
 * cost:      O(out-pipes) per added task, O(tasks) when a CPU comes or goes; takes the in-pipe lock and one
 *            out-pipe lock
 * batch:     each task is in an out-pipe that leads to an online CPU which it may use, or is withheld if there
 *            is none; every out-pipe keeps the order of each in-pipe
 * source:    ours
 *
 * Say here what it promises, and when it is the wrong choice. NAME_choose() is the place to be clever:
 * weir_pipe_load() says how much there is to do behind a pipe, weir_idle_near() which CPU waits for work.
 *
 * example:   annotate affinity; entry each cpu -> NAME -> each cpu { round_robin -> cpu };
 */
#include <weir/component.h>

/* The state of an instance. The framework's part comes first; parameters are u64 fields. */
struct NAME {
	struct weir_instance inst;
};

/* The facts: what the language, the checker and the manual know. Topics that code uses are listed here. */
WEIR_COMPONENT(NAME, .summary = "send each task to the first CPU that it may use",
	       .cls = WEIR_DISTRIBUTE, .ordering = WEIR_KEEPS, .in_min = 1, .in_max = WEIR_ANY,
	       .out_min = 1, .out_max = WEIR_ANY,
	       .listens = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(CPU_STATUS),
	       .publishes = WEIR_TOPIC_BIT(WITHHELD), .asks = WEIR_TOPIC_BIT(AFFINITY),
	       .needs = WEIR_TOPIC_BIT(AFFINITY));

/* The out-pipe for a task that may run on the CPUs of @mask (null: everywhere); null: none. */
static struct weir_pipe weir_mem *NAME_choose(struct NAME weir_mem *self,
					      const struct weir_cpumask weir_mem *mask)
{
	return weir_first_allowed(&self->inst, mask);
}

/* An in-pipe has changed, and is locked: send each task that is new there on its way. */
WEIR_ENTRY int NAME_update(struct NAME weir_mem *self, struct weir_pipe weir_mem *in)
{
	struct weir_change weir_mem *c;
	int err;

	weir_for_change(c, in) {
		err = weir_route(&self->inst, in, c->task,
				 NAME_choose(self, weir_affinity(self->inst.sched, c->task)));
		if (err)
			return err;
	}
	return 0;
}

/* Put @t right if it stands in the wrong place. What update has still to look at is left to it. */
static int NAME_review(struct NAME weir_mem *self, struct weir_pipe weir_mem *in,
		       struct weir_task weir_mem *t, const struct weir_cpumask weir_mem *mask)
{
	struct weir_pipe weir_mem *to = NAME_choose(self, mask);

	if (weir_pending(in, t) || to == weir_out_of(&self->inst, t))
		return 0;
	return weir_route(&self->inst, in, t, to);
}

/* All tasks of an in-pipe, which is locked for that: in messages nothing is. */
static int NAME_review_all(struct NAME weir_mem *self, struct weir_pipe weir_mem *in)
{
	struct weir_task weir_mem *t;
	int err = weir_pipe_lock(in);

	if (err)
		return err;
	weir_for_task(t, in) {
		err = NAME_review(self, in, t, weir_affinity(self->inst.sched, t));
		if (err)
			break;
	}
	weir_pipe_unlock(in);
	return err;
}

/* A CPU comes or goes. */
WEIR_ENTRY int NAME_on_cpu_status(struct NAME weir_mem *self, const struct weir_msg *msg)
{
	int err = 0;

	(void)msg;
	for (u32 i = 0; i < self->inst.nr_in && !err && weir_loop; i++)
		err = NAME_review_all(self, weir_in(&self->inst, i));
	return err;
}

/* A task that waits here may run elsewhere from now on; the in-pipe that holds it is locked. */
WEIR_ENTRY int NAME_follow_affinity(struct NAME weir_mem *self, const struct weir_msg *msg,
				    struct weir_pipe weir_mem *in)
{
	return NAME_review(self, in, msg->task, msg->mask);
}
