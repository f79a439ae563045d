/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * advanced_balancer - spread tasks by the capacity behind each pipe
 *
 * class:     distribute
 * pipes:     in 1.., out 1..
 * listens:   AFFINITY: move the task if necessary. CPU_STATUS: check all tasks again
 * publishes: WITHHELD: no CPU that the task may use is online
 * asks:      AFFINITY: where the task may run; needed
 * answers:   -
 * params:    -
 * cost:      O(out-pipes) per added task, O(CPUs + tasks) when a CPU goes offline or online; no
 *            lock of its own
 * batch:     each task is in one out-pipe that leads to an online CPU which it may use, or is
 *            withheld if there is none; every out-pipe keeps the order of each in-pipe
 * source:    CoBaS 6.1 and appendix A.1, component 0x13
 *
 * An out-pipe can lead to several CPUs, as in a hierarchy, and CPUs can differ: the load of a
 * pipe is counted per unit of capacity of its online CPUs. Pipes with an idle CPU come first, then
 * the one with the smallest load including the task; ties go to the task's last pipe, then to the lowest. On
 * a machine with equal CPUs and a pipe each, this equals load_balancer at a higher cost.
 *
 * example:   annotate affinity; entry -> advanced_balancer -> each llc { head_queue -> cpus };
 */
#include <weir/component.h>
#include <weir/kit/review.h>

struct advanced_balancer {
	struct weir_instance inst;
	struct weir_port_map map;
	u64 weir_mem *capacity; /* (a) by out-pipe; sum of its online CPUs */
};

WEIR_COMPONENT(advanced_balancer, .summary = "spread tasks by the capacity behind each pipe",
	       .cls = WEIR_DISTRIBUTE, .ordering = WEIR_KEEPS, .in_min = 1, .in_max = WEIR_ANY,
	       .out_min = 1, .out_max = WEIR_ANY,
	       .listens = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(CPU_STATUS),
	       .reviews = WEIR_TOPIC_BIT(AFFINITY), .publishes = WEIR_TOPIC_BIT(WITHHELD),
	       .asks = WEIR_TOPIC_BIT(AFFINITY), .needs = WEIR_TOPIC_BIT(AFFINITY));

static void advanced_balancer_measure(struct advanced_balancer weir_mem *self)
{
	for (u32 i = 0; i < self->inst.nr_out && weir_loop; i++)
		weir_store(&self->capacity[i], weir_pipe_capacity(weir_out(&self->inst, i)));
}

static struct weir_pipe weir_mem *advanced_balancer_choose(struct advanced_balancer weir_mem *self,
							   struct weir_task weir_mem *t,
							   const struct weir_cpumask weir_mem *mask)
{
	struct weir_pipe weir_mem *last = weir_port_to(&self->inst, &self->map, weir_last_cpu(t));
	struct weir_pipe weir_mem *best = 0;
	u64 best_load = 0, best_capacity = 0;
	u32 best_idle = 0;

	for (u32 i = 0; i < self->inst.nr_out && weir_loop; i++) {
		struct weir_pipe weir_mem *out = weir_out(&self->inst, i);
		u64 capacity = weir_load(&self->capacity[i]);
		u64 load, mine, theirs;
		u32 idle;

		if (!weir_pipe_allows(out, mask))
			continue;
		load = (u64)weir_pipe_load(out, &idle) + 1;
		/* load / capacity, compared without division. */
		mine = load * best_capacity;
		theirs = best_load * capacity;
		if (!best || (idle && !best_idle) ||
		    (!idle == !best_idle && (mine < theirs || (mine == theirs && out == last)))) {
			best = out;
			best_load = load;
			best_capacity = capacity;
			best_idle = idle;
		}
	}
	weir_note_scan(&self->inst, self->inst.nr_out);
	return best;
}

WEIR_PLACE(advanced_balancer)

WEIR_ENTRY u32 advanced_balancer_step(struct advanced_balancer weir_mem *self, u32 what,
				      struct weir_task weir_mem *t, struct weir_step weir_mem *s)
{
	weir_use(s);
	return advanced_balancer_place(self, what, t);
}

WEIR_ENTRY int advanced_balancer_construct(struct advanced_balancer weir_mem *self)
{
	self->capacity = weir_instance_alloc(&self->inst, (u64)self->inst.nr_out * sizeof(u64));
	if (!self->capacity)
		return -WEIR_ENOMEM;
	advanced_balancer_measure(self);
	return weir_port_map(&self->inst, &self->map);
}

WEIR_ENTRY int advanced_balancer_on_cpu_status(struct advanced_balancer weir_mem *self,
					       const struct weir_msg *msg)
{
	(void)msg;
	advanced_balancer_measure(self);
	return weir_review_all(&self->inst);
}
