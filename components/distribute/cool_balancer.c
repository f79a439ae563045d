/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * cool_balancer - send tasks to the coolest idle CPU
 *
 * class:     distribute
 * pipes:     in 1.., out 1..
 * listens:   THERMAL: the temperature of a CPU. AFFINITY: move the task if necessary. CPU_STATUS: check all tasks again
 * publishes: WITHHELD: no CPU that the task may use is online
 * asks:      AFFINITY: where the task may run; needed
 * answers:   -
 * kernel:    on request
 * params:    margin count 2000 [0, 100000]; a task leaves its last CPU only for one that is cooler by this, millidegrees
 * per-task:  0 bytes
 * cost:      O(out-pipes) per added task, O(tasks) when a CPU goes offline or online; no lock of
 *            its own
 * batch:     each task is in one out-pipe that leads to an online CPU which it may use, or is
 *            withheld if there is none; every out-pipe keeps the order of each in-pipe
 * source:    ours; that hot CPUs are rested is an old idea of thermal management (Powell, Gomaa and Vijaykumar,
 *            "Heat-and-run", 2004)
 *
 * A task that comes keeps its last CPU if that is idle, unless an idle one is cooler by more than `margin`. If none is idle,
 * the shortest queue is chosen, whatever the temperatures. On a machine that says nothing about temperatures all CPUs count as
 * equally cool, and this is `load_balancer`.
 *
 * example:   annotate affinity; entry -> cool_balancer -> each cpu { round_robin -> cpu };
 */
#include <weir/component.h>
#include <weir/cpus.h>
#include <weir/kit/review.h>

struct cool_balancer {
	struct weir_instance inst;
	struct weir_port_map map;
	u64 margin;	    /* (c) millidegrees */
	u64 weir_mem *heat; /* (a) of each CPU, millidegrees */
};

WEIR_COMPONENT(cool_balancer, .summary = "send tasks to the coolest idle CPU",
	       .cls = WEIR_DISTRIBUTE, .kernel = WEIR_KERNEL_ON_REQUEST, .ordering = WEIR_KEEPS,
	       .in_min = 1, .in_max = WEIR_ANY, .out_min = 1, .out_max = WEIR_ANY,
	       .listens = WEIR_TOPIC_BIT(THERMAL) | WEIR_TOPIC_BIT(AFFINITY) |
			  WEIR_TOPIC_BIT(CPU_STATUS),
	       .reviews = WEIR_TOPIC_BIT(AFFINITY), .publishes = WEIR_TOPIC_BIT(WITHHELD),
	       .asks = WEIR_TOPIC_BIT(AFFINITY), .needs = WEIR_TOPIC_BIT(AFFINITY),
	       WEIR_PARAMS(cool_balancer,
			   WEIR_PARAM(cool_balancer, margin, COUNT, 2000, 0, 100000,
				      "a task leaves its last CPU only for one that is cooler by "
				      "this, millidegrees")));

/* Temperature of the coolest idle CPU behind @out; that of the coolest of all where none is idle. */
static u64 cool_balancer_heat(const struct cool_balancer weir_mem *self,
			      const struct weir_pipe weir_mem *out)
{
	struct weir_sched weir_mem *s = self->inst.sched;
	u64 least = ~0ull;

	for (u32 w = out->word_lo; w <= out->word_hi && weir_loop; w++) {
		u64 bits = out->cpus->word[w], idle = bits & weir_idle_word(s, w);

		bits = idle ? idle : bits;
		while (bits && weir_loop) {
			u64 heat = weir_load(&self->heat[w * 64 + weir_lowest_bit(bits)]);

			bits &= bits - 1;
			least = heat < least ? heat : least;
		}
	}
	return least;
}

static struct weir_pipe weir_mem *cool_balancer_choose(struct cool_balancer weir_mem *self,
						       struct weir_task weir_mem *t,
						       const struct weir_cpumask weir_mem *mask)
{
	struct weir_pipe weir_mem *last = weir_port_to(&self->inst, &self->map, weir_last_cpu(t));
	struct weir_pipe weir_mem *best = 0;
	u64 best_heat = 0;
	u32 best_load = 0, best_idle = 0;

	for (u32 i = 0; i < self->inst.nr_out && weir_loop; i++) {
		struct weir_pipe weir_mem *out = weir_out(&self->inst, i);
		u32 idle, load;
		u64 heat;
		int better;

		if (!weir_pipe_allows(out, mask))
			continue;
		load = weir_pipe_load(out, &idle);
		heat = cool_balancer_heat(self, out);
		if (out != last)
			heat += self->margin;
		if (!best || !idle != !best_idle)
			better = !best || idle;
		else
			better = idle ? heat < best_heat || (heat == best_heat && out == last)
				      : load < best_load || (load == best_load && out == last);
		if (!better)
			continue;
		best = out;
		best_heat = heat;
		best_load = load;
		best_idle = idle;
	}
	weir_note_scan(&self->inst, self->inst.nr_out);
	return best;
}

WEIR_PLACE(cool_balancer)

WEIR_ENTRY u32 cool_balancer_step(struct cool_balancer weir_mem *self, u32 what,
				  struct weir_task weir_mem *t, struct weir_step weir_mem *s)
{
	weir_use(s);
	return cool_balancer_place(self, what, t);
}

WEIR_ENTRY int cool_balancer_construct(struct cool_balancer weir_mem *self)
{
	self->heat =
		weir_instance_alloc(&self->inst, (u64)weir_nr_cpus(self->inst.sched) * sizeof(u64));
	return self->heat ? weir_port_map(&self->inst, &self->map) : -WEIR_ENOMEM;
}

WEIR_ENTRY int cool_balancer_on_thermal(struct cool_balancer weir_mem *self,
					const struct weir_msg *msg)
{
	if (msg->cpu >= weir_nr_cpus(self->inst.sched))
		return -WEIR_EINVAL;
	weir_store(&self->heat[msg->cpu], msg->value);
	return 0;
}

WEIR_ENTRY int cool_balancer_on_cpu_status(struct cool_balancer weir_mem *self,
					   const struct weir_msg *msg)
{
	(void)msg;
	return weir_review_all(&self->inst);
}

WEIR_ENTRY void cool_balancer_take_state(struct cool_balancer weir_mem *self,
					 struct cool_balancer weir_mem *old)
{
	for (u32 i = 0; i < weir_nr_cpus(self->inst.sched) && weir_loop; i++)
		self->heat[i] = old->heat[i];
}
