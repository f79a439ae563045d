/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * thrifty_balancer - send tasks to small CPUs on battery, to big ones on mains
 *
 * class:     distribute
 * pipes:     in 1.., out 1..
 * listens:   POWER: battery or mains. AFFINITY: move the task if necessary. CPU_STATUS: check all tasks again
 * publishes: WITHHELD: no CPU that the task may use is online
 * asks:      AFFINITY: where the task may run; needed
 * answers:   -
 * kernel:    on request
 * params:    battery flag 0 [0, 1]; what holds until the first POWER
 * per-task:  0 bytes
 * cost:      O(out-pipes) per added task, O(tasks) when a CPU goes offline or online; no lock of
 *            its own
 * batch:     each task is in one out-pipe that leads to an online CPU which it may use, or is
 *            withheld if there is none; every out-pipe keeps the order of each in-pipe
 * source:    ours; small cores do the same work for less energy, and big ones sooner (Kumar et al., "Single-ISA
 *            heterogeneous multi-core architectures", 2003)
 *
 * Of the idle CPUs a task gets the smallest on battery and the biggest on mains; among equals its last one. If none is idle, the
 * load decides, in tasks per capacity: no task waits for energy's sake, so under full load this is a plain balancer. Give it an
 * out-pipe per CPU, or one per cluster of equal CPUs.
 *
 * example:   annotate affinity; entry -> thrifty_balancer -> each cpu { round_robin -> cpu };
 */
#include <weir/component.h>
#include <weir/cpus.h>
#include <weir/kit/review.h>

struct thrifty_balancer {
	struct weir_instance inst;
	struct weir_port_map map;
	u64 battery;	    /* (a) */
	u64 weir_mem *size; /* (c) capacity of a CPU, by out-pipe */
};

WEIR_COMPONENT(thrifty_balancer,
	       .summary = "send tasks to small CPUs on battery, to big ones on mains",
	       .cls = WEIR_DISTRIBUTE, .kernel = WEIR_KERNEL_ON_REQUEST, .ordering = WEIR_KEEPS,
	       .in_min = 1, .in_max = WEIR_ANY, .out_min = 1, .out_max = WEIR_ANY,
	       .listens = WEIR_TOPIC_BIT(POWER) | WEIR_TOPIC_BIT(AFFINITY) |
			  WEIR_TOPIC_BIT(CPU_STATUS),
	       .reviews = WEIR_TOPIC_BIT(AFFINITY), .publishes = WEIR_TOPIC_BIT(WITHHELD),
	       .asks = WEIR_TOPIC_BIT(AFFINITY), .needs = WEIR_TOPIC_BIT(AFFINITY),
	       WEIR_PARAMS(thrifty_balancer, WEIR_PARAM(thrifty_balancer, battery, FLAG, 0, 0, 1,
							"what holds until the first POWER")));

/* Behind all pipes with an idle CPU; more than any capacity. */
#define THRIFTY_BALANCER_BUSY (1ull << 32)

/* The score of out-pipe @i; the least is best. */
static u64 thrifty_balancer_score(struct thrifty_balancer weir_mem *self, u32 i)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, i);
	u64 size = self->size[i];
	u32 idle, load = weir_pipe_load(out, &idle);

	if (idle)
		return weir_load(&self->battery) ? size : THRIFTY_BALANCER_BUSY - 1 - size;
	return THRIFTY_BALANCER_BUSY + (((u64)load + 1) << 20) / (size * out->nr_cpus + 1);
}

static struct weir_pipe weir_mem *thrifty_balancer_choose(struct thrifty_balancer weir_mem *self,
							  struct weir_task weir_mem *t,
							  const struct weir_cpumask weir_mem *mask)
{
	struct weir_pipe weir_mem *last = weir_port_to(&self->inst, &self->map, weir_last_cpu(t));
	struct weir_pipe weir_mem *best = 0;
	u64 least = ~0ull;

	for (u32 i = 0; i < self->inst.nr_out && weir_loop; i++) {
		struct weir_pipe weir_mem *out = weir_out(&self->inst, i);
		u64 score;

		if (!weir_pipe_allows(out, mask))
			continue;
		score = thrifty_balancer_score(self, i);
		if (score < least || (score == least && out == last)) {
			least = score;
			best = out;
		}
	}
	weir_note_scan(&self->inst, self->inst.nr_out);
	return best;
}

WEIR_PLACE(thrifty_balancer)

WEIR_ENTRY u32 thrifty_balancer_step(struct thrifty_balancer weir_mem *self, u32 what,
				     struct weir_task weir_mem *t, struct weir_step weir_mem *s)
{
	weir_use(s);
	return thrifty_balancer_place(self, what, t);
}

WEIR_ENTRY int thrifty_balancer_construct(struct thrifty_balancer weir_mem *self)
{
	self->size = weir_out_capacities(&self->inst);
	return self->size ? weir_port_map(&self->inst, &self->map) : -WEIR_ENOMEM;
}

WEIR_ENTRY int thrifty_balancer_on_power(struct thrifty_balancer weir_mem *self,
					 const struct weir_msg *msg)
{
	weir_store(&self->battery, msg->value);
	return 0;
}

WEIR_ENTRY int thrifty_balancer_on_cpu_status(struct thrifty_balancer weir_mem *self,
					      const struct weir_msg *msg)
{
	(void)msg;
	return weir_review_all(&self->inst);
}

WEIR_ENTRY void thrifty_balancer_take_state(struct thrifty_balancer weir_mem *self,
					    struct thrifty_balancer weir_mem *old)
{
	weir_store(&self->battery, weir_load(&old->battery));
}
