/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * load_balancer - balance the number of tasks across the out-pipes
 *
 * class:     distribute
 * pipes:     in 1.., out 1..
 * listens:   AFFINITY: move the task if necessary. CPU_STATUS: check all tasks again
 * publishes: WITHHELD: no CPU that the task may use is online
 * asks:      AFFINITY: where the task may run; needed
 * answers:   -
 * params:    quick flag 0 [0, 1]; find an idle CPU in the set of idle CPUs instead of by a scan
 *            full flag 0 [0, 1]; look at every out-pipe, also if the task's last CPU is idle
 *            sync flag 0 [0, 1]; a task whose waker is about to block goes to the waker's CPU if nothing waits there
 * cost:      O(out-pipes) per added task unless its last CPU is idle, O(tasks) when a CPU goes offline or
 *            online; no lock of its own
 * batch:     each task is in one out-pipe that leads to an online CPU which it may use, or is
 *            withheld if there is none; every out-pipe keeps the order of each in-pipe
 * source:    CoBaS 8.7.3 and appendix A.1, component 0x12
 *
 * A task returns to the CPU where it last ran if that is idle, else goes to an idle CPU, else to
 * the pipe with the fewest waiting and running tasks; ties go to its last pipe, then to the lowest. A
 * task is placed once, on arrival; it is not moved later to balance the load. All out-pipes
 * count the same: use advanced_balancer if pipes lead to several CPUs or CPUs differ.
 *
 * `full` makes no other choice. It is what the source's balancer costs: table B.17 has the same time for a wake-up as for an
 * admission, where there is no last CPU.
 *
 * With `sync`, two tasks that answer each other share a CPU, as under Linux: no CPU has to be woken. But a waker that does not block after all
 * keeps the task waiting while other CPUs are idle.
 *
 * example:   annotate affinity; entry -> load_balancer -> each cpu { round_robin -> cpu };
 */
#include <weir/cpus.h>
#include <weir/kit/review.h>

struct load_balancer {
	struct weir_instance inst;
	struct weir_port_map map;
	u64 quick; /* (c) */
	u64 full;  /* (c) */
	u64 sync;  /* (c) */
};

WEIR_COMPONENT(
	load_balancer, .summary = "balance the number of tasks across the out-pipes",
	.cls = WEIR_DISTRIBUTE, .ordering = WEIR_KEEPS, .in_min = 1, .in_max = WEIR_ANY,
	.out_min = 1, .out_max = WEIR_ANY,
	.listens = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(CPU_STATUS),
	.reviews = WEIR_TOPIC_BIT(AFFINITY), .publishes = WEIR_TOPIC_BIT(WITHHELD),
	.asks = WEIR_TOPIC_BIT(AFFINITY), .needs = WEIR_TOPIC_BIT(AFFINITY),
	WEIR_PARAMS(load_balancer,
		    WEIR_PARAM(load_balancer, quick, FLAG, 0, 0, 1,
			       "find an idle CPU in the set of idle CPUs instead of by a scan"),
		    WEIR_PARAM(load_balancer, full, FLAG, 0, 0, 1,
			       "look at every out-pipe, also if the task's last CPU is idle"),
		    WEIR_PARAM(load_balancer, sync, FLAG, 0, 0, 1,
			       "a task whose waker is about to block goes to the waker's CPU if "
			       "nothing waits there")));

/* Where a task must not go has the greatest cost, and one with an idle CPU less than any other. */
#define LOAD_BALANCER_NEVER (~0u)
#define LOAD_BALANCER_BUSY  (1u << 31)

/* Of an out-pipe that leads to several CPUs. */
WEIR_COLD static u32 load_balancer_cost_of_several(const struct weir_pipe weir_mem *out,
						   const struct weir_cpumask weir_mem *mask)
{
	u32 idle, load;

	if (!weir_pipe_allows(out, mask))
		return LOAD_BALANCER_NEVER;
	load = weir_pipe_load(out, &idle);
	return idle ? load : load | LOAD_BALANCER_BUSY;
}

/* @last: the task ran there last, and may just have left it. */
WEIR_PART u32 load_balancer_cost(const struct weir_pipe weir_mem *out weir_arg,
				 const struct weir_cpumask weir_mem *mask weir_arg, int last)
{
	const struct weir_cpu weir_mem *only = out->only;
	u32 load, away;

	if (weir_unlikely(!only))
		return load_balancer_cost_of_several(out, mask);
	if (mask && !weir_mask_test(mask, out->cpu))
		return LOAD_BALANCER_NEVER;
	load = weir_home_nr(out->tally) + weir_cpu_runs(only, last);
	away = weir_load(&only->away);
	if (weir_unlikely(away)) {
		if (away & WEIR_CPU_OFF)
			return LOAD_BALANCER_NEVER;
		if (weir_cpu_is_idle(out->sched, out->cpu))
			return load;
	}
	if (weir_unlikely(!load))
		return 0;
	return load | LOAD_BALANCER_BUSY;
}

/* The out-port of the CPU that woke @t, if that is about to be free for it; WEIR_WITHHOLD: it is not. */
WEIR_HELPER u32 load_balancer_freed(struct load_balancer weir_mem *self weir_arg,
				    struct weir_task weir_mem *t weir_arg,
				    const struct weir_cpumask weir_mem *mask weir_arg)
{
	u32 here = weir_load(&t->entry_cpu);
	const struct weir_pipe weir_mem *out = weir_port_to(&self->inst, &self->map, here);

	if (!out || !weir_cpu_leaves(self->inst.sched, here))
		return WEIR_WITHHOLD;
	return out->only && !weir_home_nr(out->tally) && weir_out_allows(out, mask)
		       ? self->map.port[here] - 1
		       : WEIR_WITHHOLD;
}

static u32 load_balancer_choose(struct load_balancer weir_mem *self, struct weir_task weir_mem *t,
				const struct weir_cpumask weir_mem *mask)
{
	struct weir_pipe weir_mem *weir_mem *out = self->inst.out;
	u32 cpu = weir_claim_raw_cpu(weir_load(&t->claim)), nr = self->inst.nr_out;
	u32 last = cpu < self->map.nr ? self->map.port[cpu] - 1u : WEIR_WITHHOLD;
	u32 best = WEIR_WITHHOLD, least = weir_unknown(LOAD_BALANCER_NEVER);

	if (last < nr) {
		least = load_balancer_cost(out[last], mask, 1);
		if (least != LOAD_BALANCER_NEVER)
			best = last;
		if (least < LOAD_BALANCER_BUSY && !self->full)
			return best;
	}
	if (self->quick && least >= LOAD_BALANCER_BUSY) {
		const struct weir_pipe weir_mem *in = weir_in(&self->inst, 0);

		cpu = weir_idle_near(in, t, mask);
		weir_note_scan(&self->inst, in->word_hi - in->word_lo + 1);
		if (cpu < self->map.nr && self->map.port[cpu])
			return self->map.port[cpu] - 1;
	}
	for (u32 i = 0; i < weir_unknown(nr) && weir_loop; i++) {
		u32 cost;

		if (i == weir_unknown(last))
			continue;
		cost = load_balancer_cost(out[i], mask, 0);
		if (cost < least) {
			best = i;
			least = cost;
		}
	}
	weir_note_scan(&self->inst, nr);
	return best;
}

WEIR_ENTRY u32 load_balancer_step(struct load_balancer weir_mem *self, u32 what,
				  struct weir_task weir_mem *t, struct weir_step weir_mem *s)
{
	const struct weir_cpumask weir_mem *mask = weir_affinity(self->inst.sched, t);
	u32 port = weir_stays(&self->inst, what, t, mask);

	weir_use(s);
	if (port == WEIR_WITHHOLD && weir_unlikely(self->sync))
		port = load_balancer_freed(self, t, mask);
	if (port == WEIR_WITHHOLD)
		port = load_balancer_choose(self, t, mask);
	return port != WEIR_WITHHOLD ? port : weir_withhold(&self->inst, what, t, 0);
}

WEIR_ENTRY int load_balancer_construct(struct load_balancer weir_mem *self)
{
	return weir_port_map(&self->inst, &self->map);
}

WEIR_ENTRY int load_balancer_on_cpu_status(struct load_balancer weir_mem *self,
					   const struct weir_msg *msg)
{
	(void)msg;
	return weir_review_all(&self->inst);
}
