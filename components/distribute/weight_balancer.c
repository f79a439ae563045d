/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * weight_balancer - balance the weights of the tasks across the out-pipes
 *
 * class:     distribute
 * pipes:     in 1.., out 1..
 * listens:   AFFINITY: move the task if necessary. CPU_STATUS: check all tasks again. BLOCK, EXIT: the task's weight
 *            counts no longer
 * publishes: WITHHELD: no CPU that the task may use is online
 * asks:      AFFINITY: where the task may run, and WEIGHT; both needed
 * answers:   -
 * params:    -
 * per-task:  8 bytes
 * cost:      O(out-pipes) per added task unless its last CPU is idle, O(tasks) when a CPU goes offline or
 *            online; no lock of its own
 * batch:     each task is in one out-pipe that leads to an online CPU which it may use, or is
 *            withheld if there is none; every out-pipe keeps the order of each in-pipe
 * source:    ours; placing by weight as in Linux, kernel/sched/fair.c, without its averages
 *
 * load_balancer with weights in the place of numbers, for shares that hold across CPUs. A task returns to the CPU where
 * it last ran if that is idle, else goes to an idle CPU, else to the pipe with the least weight of runnable tasks; ties
 * go to its last pipe, then to the lowest. A task whose slice has ended is placed again: it leaves a CPU only for one that has less
 * weight than the others leave there, so each move makes the weights more equal, and moves end. A waiting task does not move.
 * Where all weights are equal, tasks go where load_balancer sends them.
 *
 * What remains: a CPU can keep up to one task's weight more than another one. A task with more weight than a whole CPU's part of
 * the sum gets one CPU, and no more.
 *
 * example:   annotate affinity, weight, fair; entry -> weight_balancer -> each cpu { cfs -> cpu };
 */
#include <weir/component.h>
#include <weir/kit/review.h>

struct weight_balancer {
	struct weir_instance inst;
	struct weir_port_map map;
	s64 weir_mem *load; /* (a) by port: weights of the runnable tasks there */
};

struct weight_balancer_task {
	u64 counted; /* (a) weight that counts, 0: it is not runnable; from bit 32 on 1 + the port where, 0: none */
};

WEIR_COMPONENT(weight_balancer, .summary = "balance the weights of the tasks across the out-pipes",
	       .cls = WEIR_DISTRIBUTE, .ordering = WEIR_KEEPS, .in_min = 1, .in_max = WEIR_ANY,
	       .out_min = 1, .out_max = WEIR_ANY,
	       .listens = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(CPU_STATUS) |
			  WEIR_TOPIC_BIT(BLOCK) | WEIR_TOPIC_BIT(EXIT),
	       .reviews = WEIR_TOPIC_BIT(AFFINITY), .publishes = WEIR_TOPIC_BIT(WITHHELD),
	       .asks = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(WEIGHT),
	       .needs = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(WEIGHT),
	       .per_task = sizeof(struct weight_balancer_task));

/* From now on @t counts with @weight in out-pipe @port - 1 (0: in none), and where it was no more. */
WEIR_HELPER int weight_balancer_count(struct weight_balancer weir_mem *self weir_arg,
				      struct weir_task weir_mem *t weir_arg, u32 port, u32 weight)
{
	struct weight_balancer_task weir_mem *p = weir_priv(&self->inst, t);
	u64 new = (u64)port << 32 | weight, old = weir_load(&p->counted), seen;

	while (old != new && weir_loop) {
		seen = weir_cas(&p->counted, old, new);
		if (seen != old) {
			old = seen;
			continue;
		}
		/* (A port of an earlier graph, with fewer of them now.) */
		if (old >> 32 && old >> 32 <= self->inst.nr_out)
			weir_fetch_add(&self->load[(old >> 32) - 1], -(s64)(u32)old);
		if (port)
			weir_fetch_add(&self->load[port - 1], (s64)weight);
		break;
	}
	return 0;
}

/* What @t would meet in @out: the weights of the others there. @idle: the CPU has nothing and takes it at once. */
WEIR_INLINE s64 weight_balancer_load(struct weight_balancer weir_mem *self,
				     struct weir_pipe weir_mem *out, u64 counted, u32 *idle)
{
	s64 load = weir_load(&self->load[out->from_port]);

	if (counted >> 32 == out->from_port + 1)
		load -= (u32)counted;
	weir_pipe_load(out, idle);
	return load > 0 ? load : 0;
}

WEIR_HELPER u64 weight_balancer_choose(struct weight_balancer weir_mem *self weir_arg,
				       struct weir_task weir_mem *t weir_arg,
				       const struct weir_cpumask weir_mem *mask weir_arg)
{
	struct weight_balancer_task weir_mem *p = weir_priv(&self->inst, t);
	struct weir_pipe weir_mem *last = weir_port_to(&self->inst, &self->map, weir_last_cpu(t));
	struct weir_pipe weir_mem *best = 0;
	u64 counted = weir_load(&p->counted);
	u32 best_idle = 0, idle;
	s64 best_load = 0;

	if (last && weir_pipe_allows(last, mask)) {
		best = last;
		best_load = weight_balancer_load(self, last, counted, &best_idle);
		if (best_idle)
			return (u64)best;
	}
	for (u32 i = 0; i < self->inst.nr_out && weir_loop; i++) {
		struct weir_pipe weir_mem *out = weir_out(&self->inst, i);
		s64 load;

		if (out == last || !weir_pipe_allows(out, mask))
			continue;
		load = weight_balancer_load(self, out, counted, &idle);
		if (!best || (idle && !best_idle) || (!idle == !best_idle && load < best_load)) {
			best = out;
			best_load = load;
			best_idle = idle;
		}
	}
	weir_note_scan(&self->inst, self->inst.nr_out);
	return (u64)best;
}

WEIR_ENTRY int weight_balancer_construct(struct weight_balancer weir_mem *self)
{
	self->load = weir_instance_alloc(&self->inst, (u64)self->inst.nr_out * sizeof(s64));
	if (!self->load)
		return -WEIR_ENOMEM;
	return weir_port_map(&self->inst, &self->map);
}

WEIR_ENTRY u32 weight_balancer_step(struct weight_balancer weir_mem *self, u32 what,
				    struct weir_task weir_mem *t, struct weir_step weir_mem *s)
{
	const struct weir_cpumask weir_mem *mask = weir_affinity(self->inst.sched, t);
	u32 port = weir_stays(&self->inst, what, t, mask);
	u32 weight;

	if (port != WEIR_WITHHOLD || s->runs)
		return port;
	port = weir_send(&self->inst, what, t,
			 (struct weir_pipe weir_mem *)weight_balancer_choose(self, t, mask));
	weight = (u32)weir_property(self->inst.sched, WEIR_TOPIC_WEIGHT, t);
	weight_balancer_count(self, t, port + 1, weight ? weight : 1);
	return port;
}

WEIR_ENTRY int weight_balancer_on_cpu_status(struct weight_balancer weir_mem *self,
					     const struct weir_msg *msg)
{
	(void)msg;
	return weir_review_all(&self->inst);
}

WEIR_ENTRY int weight_balancer_on_block(struct weight_balancer weir_mem *self,
					const struct weir_msg *msg)
{
	return weight_balancer_count(self, msg->task, 0, 0);
}

WEIR_ENTRY int weight_balancer_on_exit(struct weight_balancer weir_mem *self,
				       const struct weir_msg *msg)
{
	return weight_balancer_count(self, msg->task, 0, 0);
}

/* Tasks keep the weight that they count for; if a port is gone they count nowhere until they are placed again. */
WEIR_ENTRY void weight_balancer_take_state(struct weight_balancer weir_mem *self,
					   struct weight_balancer weir_mem *old)
{
	for (u32 i = 0; i < self->inst.nr_out && i < old->inst.nr_out && weir_loop; i++)
		self->load[i] = weir_load(&old->load[i]);
}
