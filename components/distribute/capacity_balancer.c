/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * capacity_balancer - give fast CPUs to compute-bound tasks, slow ones to memory-bound tasks
 *
 * class:     distribute
 * pipes:     in 1.., out 1..
 * listens:   AFFINITY: move the task if necessary. CPU_STATUS: check all tasks again
 * publishes: PREEMPT: a memory-bound task occupies a fast CPU that a compute-bound one needs.
 *            WITHHELD: no CPU that the task may use is online
 * asks:      AFFINITY: where the task may run; needed. COUNTERS: its loads from the last-
 *            level cache; needed
 * answers:   -
 * kernel:    on request
 * params:    hungry count 4 [1, 1024]; loads from the last-level cache per 1024 instructions from
 *            which on a task is memory-bound
 *            exchange flag 1 [0, 1]; a compute-bound task preempts a memory-bound one on a faster CPU
 *            if another CPU is idle
 * per-task:  8 bytes
 * cost:      O(CPUs) per added task, O(tasks) when a CPU goes offline or online; no lock of its own
 * batch:     each task is in one out-pipe that leads to an online CPU which it may use, or is
 *            withheld if there is none; every out-pipe keeps the order of each in-pipe
 * source:    ours; that memory-bound tasks lose less on slow CPUs is the idea
 *            of bias scheduling (Koufaty, Reddy, Hahn, 2010)
 *
 * Give it an out-pipe per cluster of equal CPUs. Of the pipes with an idle CPU, a compute-bound task
 * gets the fastest, a memory-bound one the slowest; ties go to its last one. If no CPU is
 * idle, the load decides, in tasks per capacity. No idle CPU is left alone to separate the kinds. Tasks are
 * placed on arrival, which includes the end of a slice. The number of loads per instruction does not
 * depend on the CPU, unlike instructions per cycle. Without counters all tasks count as compute-bound
 * and get the fastest idle CPU.
 *
 * example:   annotate affinity, counters;
 *            entry -> capacity_balancer -> each llc { round_robin -> cpus };
 */
#include <weir/component.h>
#include <weir/cpus.h>
#include <weir/kit/review.h>

struct capacity_balancer {
	struct weir_instance inst;
	struct weir_port_map map;
	u64 hungry;	    /* (c) */
	u64 exchange;	    /* (c) */
	u64 weir_mem *mean; /* (c) capacity of a CPU, by out-pipe */
};

WEIR_COMPONENT(
	capacity_balancer,
	.summary = "give fast CPUs to compute-bound tasks, slow ones to memory-bound tasks",
	.cls = WEIR_DISTRIBUTE, .kernel = WEIR_KERNEL_ON_REQUEST, .ordering = WEIR_KEEPS,
	.in_min = 1, .in_max = WEIR_ANY, .out_min = 1, .out_max = WEIR_ANY,
	.listens = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(CPU_STATUS),
	.reviews = WEIR_TOPIC_BIT(AFFINITY),
	.publishes = WEIR_TOPIC_BIT(PREEMPT) | WEIR_TOPIC_BIT(WITHHELD),
	.asks = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(COUNTERS),
	.needs = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(COUNTERS), .per_task = sizeof(u64),
	WEIR_PARAMS(
		capacity_balancer,
		WEIR_PARAM(capacity_balancer, hungry, COUNT, 4, 1, 1024,
			   "loads from the last-level cache per 1024 instructions from which on a "
			   "task is memory-bound"),
		WEIR_PARAM(capacity_balancer, exchange, FLAG, 1, 0, 1,
			   "a compute-bound task preempts a memory-bound one on a faster CPU if "
			   "another CPU is idle")));

/* Behind all pipes with an idle CPU; more than any capacity. */
#define CAPACITY_BALANCER_BUSY (1ull << 32)

/* The task loads much from memory, by its counters at its last arrival. */
static int capacity_balancer_hungry(const struct capacity_balancer weir_mem *self,
				    const struct weir_task weir_mem *t)
{
	return weir_load((u64 weir_mem *)weir_priv(&self->inst, t)) >= self->hungry;
}

/* The score of out-pipe @i; the least is best. */
static u64 capacity_balancer_score(struct capacity_balancer weir_mem *self, u32 i, int hungry)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, i);
	u64 mean = self->mean[i];
	u32 idle, load = weir_pipe_load(out, &idle);

	if (idle)
		return hungry ? mean : CAPACITY_BALANCER_BUSY - 1 - mean;
	return CAPACITY_BALANCER_BUSY + (((u64)load + 1) << 20) / (mean * out->nr_cpus + 1);
}

/* The best out-pipe of those that the task may use, the last one among equals; nr_out: there is none. */
WEIR_HELPER u32 capacity_balancer_best(struct capacity_balancer weir_mem *self weir_arg,
				       struct weir_task weir_mem *t weir_arg,
				       const struct weir_cpumask weir_mem *mask weir_arg,
				       int hungry)
{
	struct weir_pipe weir_mem *last = weir_port_to(&self->inst, &self->map, weir_last_cpu(t));
	u32 best = self->inst.nr_out;
	u64 least = ~0ull;

	for (u32 i = 0; i < self->inst.nr_out && weir_loop; i++) {
		struct weir_pipe weir_mem *out = weir_out(&self->inst, i);
		u64 score;

		if (!weir_pipe_allows(out, mask))
			continue;
		score = capacity_balancer_score(self, i, hungry);
		if (score < least || (score == least && out == last)) {
			least = score;
			best = i;
		}
	}
	weir_note_scan(&self->inst, self->inst.nr_out);
	return best;
}

/* A CPU behind the pipe, allowed by @mask, that runs a task which waits for memory; WEIR_NO_CPU: none does. */
WEIR_HELPER u32 capacity_balancer_victim(struct capacity_balancer weir_mem *self weir_arg,
					 const struct weir_pipe weir_mem *pipe weir_arg,
					 const struct weir_cpumask weir_mem *mask weir_arg)
{
	struct weir_sched weir_mem *s = self->inst.sched;

	for (u32 w = pipe->word_lo; w <= pipe->word_hi && weir_loop; w++) {
		u64 bits = pipe->cpus->word[w];

		if (mask)
			bits &= weir_load(&mask->word[w]);
		while (bits && weir_loop) {
			u32 cpu = w * 64 + weir_lowest_bit(bits);
			struct weir_task weir_mem *t = weir_cpu_curr(s, cpu);

			bits &= bits - 1;
			if (t && capacity_balancer_hungry(self, t))
				return cpu;
		}
	}
	return WEIR_NO_CPU;
}

/*
 * The task, which computes, would have an idle CPU behind out-pipe @have. The fastest out-pipe better than that one whose CPU
 * can be had, with that CPU in @victim; @have: none. A task that already waits there is served first.
 */
WEIR_HELPER u32 capacity_balancer_faster(struct capacity_balancer weir_mem *self weir_arg, u32 have,
					 const struct weir_cpumask weir_mem *mask weir_arg,
					 u32 *victim weir_arg_record)
{
	u32 best = have;

	for (u32 i = 0; i < self->inst.nr_out && weir_loop; i++) {
		struct weir_pipe weir_mem *out = weir_out(&self->inst, i);
		u32 cpu;

		if (self->mean[i] <= self->mean[best] || weir_pipe_nr(out) ||
		    !weir_pipe_allows(out, mask))
			continue;
		cpu = capacity_balancer_victim(self, out, mask);
		if (cpu != WEIR_NO_CPU) {
			*victim = cpu;
			best = i;
		}
	}
	return best;
}

/* Note what @t loads, and send it where it belongs; @mask: where it may run. */
WEIR_HELPER u32 capacity_balancer_place(struct capacity_balancer weir_mem *self weir_arg, u32 what,
					struct weir_task weir_mem *t weir_arg,
					const struct weir_cpumask weir_mem *mask weir_arg)
{
	u32 victim = WEIR_NO_CPU, to, idle = 0;
	int hungry;

	weir_store((u64 weir_mem *)weir_priv(&self->inst, t),
		   weir_property(self->inst.sched, WEIR_TOPIC_COUNTERS, t));
	hungry = capacity_balancer_hungry(self, t);
	to = capacity_balancer_best(self, t, mask, hungry);
	if (to < self->inst.nr_out)
		weir_pipe_load(weir_out(&self->inst, to), &idle);
	if (self->exchange && !hungry && idle)
		to = capacity_balancer_faster(self, to, mask, &victim);
	if (victim != WEIR_NO_CPU)
		weir_publish(&self->inst, WEIR_TOPIC_PREEMPT, t, victim, 0);
	return weir_send(&self->inst, what, t,
			 to < self->inst.nr_out ? weir_out(&self->inst, to) : 0);
}

WEIR_ENTRY int capacity_balancer_construct(struct capacity_balancer weir_mem *self)
{
	self->mean = weir_out_capacities(&self->inst);
	return self->mean ? weir_port_map(&self->inst, &self->map) : -WEIR_ENOMEM;
}

WEIR_ENTRY u32 capacity_balancer_step(struct capacity_balancer weir_mem *self, u32 what,
				      struct weir_task weir_mem *t, struct weir_step weir_mem *s)
{
	const struct weir_cpumask weir_mem *mask = weir_affinity(self->inst.sched, t);
	u32 port = weir_stays(&self->inst, what, t, mask);

	if (s->runs || port != WEIR_WITHHOLD)
		return port;
	return capacity_balancer_place(self, what, t, mask);
}

WEIR_ENTRY int capacity_balancer_on_cpu_status(struct capacity_balancer weir_mem *self,
					       const struct weir_msg *msg)
{
	(void)msg;
	return weir_review_all(&self->inst);
}
