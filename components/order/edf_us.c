/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * edf_us - run heavy tasks first, all others by deadline
 *
 * class:     order
 * pipes:     in 1, out 1, keyed
 * listens:   DEADLINE: a waiting task is reordered; a running one is preempted if necessary
 * publishes: PREEMPT: a CPU runs a less urgent task than a new one
 * asks:      DEADLINE: absolute, and the period; needed. JOB: the worst-case execution time; needed.
 *            AFFINITY: which CPUs the task may take
 * answers:   -
 * kernel:    on request
 * params:    threshold pct 50 [0, 100]; load of one CPU above which a task is heavy
 * cost:      O(log n) per change, plus a scan of the CPUs behind the out-pipe for preemption;
 *            no lock of its own
 * batch:     the out-pipe holds the tasks of the in-pipe: first the heavy ones by arrival, then the
 *            others stably sorted by deadline, those without one last
 * source:    Srinivasan and Baruah, "Deadline-based scheduling of periodic task systems on
 *            multiprocessors", 2002; the threshold of 1/2 by Baker, 2005
 *
 * Global edf can miss a deadline at a load just above 1 on any number of CPUs if one task
 * is heavy. With heavy tasks first, m CPUs can schedule any implicit-deadline tasks with a load of (m + 1) / 2
 * (threshold 50 %), or m^2 / (2m - 1) with the threshold m / (2m - 1).
 *
 * example:   annotate deadline, job; entry -> edf_us(threshold = 50%) -> cpus;
 */
#include <weir/component.h>

struct edf_us {
	struct weir_instance inst;
	u64 threshold; /* (c) percent */
};

WEIR_COMPONENT(edf_us, .summary = "run heavy tasks first, all others by deadline",
	       .cls = WEIR_ORDER, .kernel = WEIR_KERNEL_ON_REQUEST, .ordering = WEIR_STABLE,
	       .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1, .keyed_out = 1,
	       .listens = WEIR_TOPIC_BIT(DEADLINE), .reviews = WEIR_TOPIC_BIT(DEADLINE),
	       .publishes = WEIR_TOPIC_BIT(PREEMPT),
	       .asks = WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(AFFINITY),
	       .needs = WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(JOB),
	       WEIR_PARAMS(edf_us, WEIR_PARAM(edf_us, threshold, PCT, 50, 0, 100,
					      "load of one CPU above which a task is heavy")));

static u64 edf_us_key(struct edf_us weir_mem *self, struct weir_task weir_mem *t)
{
	struct weir_msg msg = { .topic = WEIR_TOPIC_DEADLINE, .task = t };
	u64 wcet = weir_property(self->inst.sched, WEIR_TOPIC_JOB, t);

	if (weir_request(self->inst.sched, &msg) || !msg.value)
		return WEIR_KEY_NONE;
	return wcet * 100 > self->threshold * msg.value2 && msg.value2 ? 0 : msg.value;
}

WEIR_ENTRY u32 edf_us_step(struct edf_us weir_mem *self, u32 what, struct weir_task weir_mem *t,
			   struct weir_step weir_mem *s)
{
	weir_use(what);
	weir_store(&t->slice_ns, WEIR_SLICE_UNLIMITED);
	return weir_place_urgent(s, edf_us_key(self, t));
}
