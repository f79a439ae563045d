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
 * cost:      O(out-pipes) per added task, O(tasks) when a CPU comes or goes; no lock of its
 *            own
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
	       .reviews = WEIR_TOPIC_BIT(AFFINITY), .publishes = WEIR_TOPIC_BIT(WITHHELD),
	       .asks = WEIR_TOPIC_BIT(AFFINITY), .needs = WEIR_TOPIC_BIT(AFFINITY));

/* The out-pipe for a task that may run on the CPUs of @mask (null: everywhere); null: none. */
static struct weir_pipe weir_mem *NAME_choose(struct NAME weir_mem *self,
					      const struct weir_cpumask weir_mem *mask)
{
	return weir_first_allowed(&self->inst, mask);
}

/* Where does @t go, which comes, or whose affinity has changed? The answer is an out-port, or that it is withheld. */
WEIR_ENTRY u32 NAME_step(struct NAME weir_mem *self, u32 what, struct weir_task weir_mem *t,
			 struct weir_step weir_mem *s)
{
	const struct weir_cpumask weir_mem *mask = weir_affinity(self->inst.sched, t);

	weir_use(s);
	return weir_send(&self->inst, what, t, NAME_choose(self, mask));
}

/* A CPU comes or goes: the step is asked about all tasks once more. */
WEIR_ENTRY int NAME_on_cpu_status(struct NAME weir_mem *self, const struct weir_msg *msg)
{
	(void)msg;
	return weir_review_all(&self->inst);
}
