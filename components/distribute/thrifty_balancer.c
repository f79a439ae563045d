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
 * cost:      O(out-pipes) per added task, O(tasks) when a CPU goes offline or online; takes the in-pipe lock and one
 *            out-pipe lock
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
#include <weir/kit/by_capacity.h>
#include <weir/kit/review.h>

struct thrifty_balancer {
	struct weir_instance inst;
	struct weir_port_map map;
	u64 battery;	    /* (a) */
	u64 weir_mem *mean; /* (c) capacity of a CPU, by out-pipe */
};

WEIR_COMPONENT(thrifty_balancer,
	       .summary = "send tasks to small CPUs on battery, to big ones on mains",
	       .cls = WEIR_DISTRIBUTE, .carries = WEIR_CARRIES, .kernel = WEIR_KERNEL_ON_REQUEST,
	       .ordering = WEIR_KEEPS, .in_min = 1, .in_max = WEIR_ANY, .out_min = 1,
	       .out_max = WEIR_ANY,
	       .listens = WEIR_TOPIC_BIT(POWER) | WEIR_TOPIC_BIT(AFFINITY) |
			  WEIR_TOPIC_BIT(CPU_STATUS),
	       .publishes = WEIR_TOPIC_BIT(WITHHELD), .asks = WEIR_TOPIC_BIT(AFFINITY),
	       .needs = WEIR_TOPIC_BIT(AFFINITY),
	       WEIR_PARAMS(thrifty_balancer, WEIR_PARAM(thrifty_balancer, battery, FLAG, 0, 0, 1,
							"what holds until the first POWER")));

WEIR_BY_CAPACITY(thrifty_balancer)

static struct weir_pipe weir_mem *thrifty_balancer_choose(struct thrifty_balancer weir_mem *self,
							  struct weir_task weir_mem *t,
							  const struct weir_cpumask weir_mem *mask)
{
	u32 i = thrifty_balancer_best(self, t, mask, weir_load(&self->battery) != 0);

	return i < self->inst.nr_out ? weir_out(&self->inst, i) : 0;
}

WEIR_PLACE(thrifty_balancer, weir_send)

WEIR_ENTRY int thrifty_balancer_construct(struct thrifty_balancer weir_mem *self)
{
	self->mean = weir_out_capacities(&self->inst);
	return self->mean ? weir_port_map(&self->inst, &self->map) : -WEIR_ENOMEM;
}

WEIR_ENTRY int thrifty_balancer_update(struct thrifty_balancer weir_mem *self,
				       struct weir_pipe weir_mem *in)
{
	return thrifty_balancer_place(self, in);
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
	return thrifty_balancer_review_all(self);
}

WEIR_ENTRY int thrifty_balancer_follow_affinity(struct thrifty_balancer weir_mem *self,
						const struct weir_msg *msg,
						struct weir_pipe weir_mem *in)
{
	return thrifty_balancer_review(self, in, msg->task, msg->mask);
}

WEIR_ENTRY void thrifty_balancer_take_state(struct thrifty_balancer weir_mem *self,
					    struct thrifty_balancer weir_mem *old)
{
	weir_store(&self->battery, weir_load(&old->battery));
}
