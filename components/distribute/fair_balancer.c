/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * fair_balancer - place and migrate tasks like Linux: near, idle CPUs first, balanced by weight
 *
 * class:     distribute
 * pipes:     in 1.., out 1..
 * listens:   AFFINITY: move the task if necessary. CPU_STATUS: check all tasks again. DISPATCH, BLOCK, EXIT:
 *            track each task's load. TICK: balance the load
 * publishes: WITHHELD: no CPU that the task may use is online. PREEMPT: a larger CPU is idle, and the running task has
 *            outgrown its own, or one in the node of its memory is
 * asks:      AFFINITY: where the task may run, and WEIGHT; both needed. UCLAMP: what it counts as using, where CPUs differ.
 *            MEMORY: where its memory is, on several nodes
 * answers:   -
 * kernel:    on request
 * params:    affine flag 1 [0, 1]; a waking task may be placed on the CPU of its waker
 *            hot ns 500000 [0, 1000000000]; a task that ran within this time stays with its cache
 *            imbalance pct 117 [100, 1000]; load of another CPU relative to this one's that justifies a migration
 *            interval ns 16000000 [100000, 10000000000]; time between two balancing attempts of a busy CPU
 *            reach count 8 [1, 4096]; tasks looked at in another CPU's pipe for one that may move
 *            pack flag 0 [0, 1]; tasks prefer large CPUs though they fit small ones (asymmetric packing)
 *            energy flag 0 [0, 1]; while no CPU is near its capacity, waking tasks go to the smallest CPU that they fit
 * per-task:  88 bytes
 * cost:      O(idle CPUs) for a task that wakes (with energy O(out-pipes)), O(1) for one that gave up its CPU, O(out-pipes) for a new one and
 *            for a CPU that looks for work or balances; O(tasks) when a CPU goes offline or online; takes
 *            the lock behind one out-pipe when it looks for a task there
 * batch:     each task is in one out-pipe that leads to an online CPU which it may use, or is withheld if there is
 *            none; every out-pipe keeps the order of each in-pipe
 * source:    Linux 6.12, kernel/sched/fair.c: select_task_rq_fair(), newidle_balance(), load_balance(); pelt.c
 * long:      placing, pulling and pushing keep one account of the load of each CPU
 *
 * A task that gave up its CPU stays there. A waking task goes to its previous CPU or to the CPU of its waker: to the waker's if that is alone there and
 * about to block (a synchronous wake-up), else to the one that is idle or has the smaller load; and from there to an idle CPU of the same last-level cache: an entirely idle core
 * comes before one with a busy sibling, and if CPUs differ, only those count that fit the task
 * with a quarter to spare. A CPU that has only tasks of SCHED_IDLE (weight 3) counts as idle for other tasks. New tasks go to the largest idle CPU, else to the least loaded one. A running task that has outgrown its CPU
 * leaves it at a tick, or when its slice ends, for an idle core of larger CPUs. A CPU that runs out of work takes a task from the
 * nearest CPU that can spare one: of its core, its cache, its node, the machine. At ticks a busy CPU with waiting tasks
 * passes one to an idle CPU, and periodically takes one from the most loaded CPU, if the imbalance is large enough.
 *
 * A task is not pulled to the CPU of its waker if both wake many tasks in turn: each as many as there are CPUs in the cache, and one of them that
 * many times as many as the other. (By `last_wakee` and `wakee_flips`, which are halved each second.)
 *
 * With `pack`, a waking task goes to the largest CPU of an idle core in its node, and a running one leaves its CPU for the
 * idle core of a larger one, however little it computes: for favoured cores, whose capacities differ by little, and
 * where energy does not matter.
 *
 * With `energy`, a waking task goes to the smallest CPU that it fits with a quarter to spare, beside the tasks that are there: to its
 * previous CPU among equals, else to the one with most room. CPUs without work take none from others. Once a CPU uses four fifths of its
 * capacity, the tipping point, all is as without. It needs an out-pipe for each CPU.
 *
 * With the annotator `uclamp`, a task fits no CPU of less capacity than the least that it is to have, and any of more than the most
 * (weir/kit/uclamp.h): so a task with a large least leaves small CPUs though it uses little, and one with a small most stays.
 *
 * With the annotator `memory` on several NUMA nodes, a task that is new or wakes goes to an idle CPU of the node of its memory; if no CPU
 * near is idle, to one of that node that has no more load than the CPU where it was. A running
 * one goes there from another node, as from a CPU that it has outgrown. A CPU that looks for work prefers tasks whose memory is
 * in its node, and no task leaves its memory for a CPU that has work. Unlike in Linux, no two running tasks change places.
 *
 * CPU numbers do not matter: of CPUs that are equally good a task takes the first one in an order that is drawn for it, and a new task the one that was
 * longest without a new task.
 *
 * Load is tracked by weight and time (weir/kit/pelt.h), and counts double on a CPU of half the capacity. Differences from Linux:
 * running tasks are migrated only if they have outgrown their CPU or are away from their memory, and groups of CPUs are compared by their most
 * loaded member only.
 *
 * example:   annotate affinity, weight, fair;
 *            entry -> fair_balancer -> each cpu { eevdf -> cpu };
 */
#include <weir/kit/fair.h>
#include <weir/kit/frugal.h>
#include <weir/kit/review.h>
#include <weir/kit/rq_load.h>
#include <weir/cpus.h>

#define FAIR_BALANCER_CAPACITIES 1u
#define FAIR_BALANCER_NODES	 2u

struct fair_balancer {
	struct weir_instance inst;
	u64 affine;	    /* (c) */
	u64 hot;	    /* (c) ns */
	u64 imbalance;	    /* (c) percent */
	u64 interval;	    /* (c) ns */
	u64 reach;	    /* (c) */
	u64 pack;	    /* (c) */
	u64 energy;	    /* (c) */
	u64 kinds;	    /* (c) how CPUs differ, FAIR_BALANCER_... */
	u64 weir_mem *next; /* (a) ns; by port: when its CPU looks at the others again */
	u32 weir_mem *near; /* (c) by number of the cache: CPUs with an out-pipe */
	struct weir_rq_loads loads;
};

struct fair_balancer_task {
	struct weir_rq_load_task load;
	/* What it wants of a CPU, asked at its last step or tick: below, a chain of calls would be too long for the kernel. */
	u64 clamps; /* (a) UCLAMP, where CPUs differ */
	u64 home;   /* (a) MEMORY, on several nodes: 1 + the node, 0: unknown */
	/* Whom it wakes, see fair_balancer_wide(). (a) all */
	u32 wakee; /* 1 + the number of the task that it woke last */
	u32 flips; /* how often that was another one than before; halved each second */
	u32 since; /* 2^20 ns; when they were halved last */
	u32 wide;  /* it is not pulled to the CPU where it was woken last */
};

WEIR_COMPONENT(
	fair_balancer,
	.summary = "place and migrate tasks like Linux: near, idle CPUs first, balanced by weight",
	.cls = WEIR_DISTRIBUTE, .kernel = WEIR_KERNEL_ON_REQUEST, .ordering = WEIR_KEEPS,
	.in_min = 1, .in_max = WEIR_ANY, .out_min = 1, .out_max = WEIR_ANY,
	.listens = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(CPU_STATUS) |
		   WEIR_TOPIC_BIT(DISPATCH) | WEIR_TOPIC_BIT(BLOCK) | WEIR_TOPIC_BIT(EXIT) |
		   WEIR_TOPIC_BIT(TICK),
	.reviews = WEIR_TOPIC_BIT(AFFINITY),
	.publishes = WEIR_TOPIC_BIT(WITHHELD) | WEIR_TOPIC_BIT(PREEMPT),
	.asks = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(WEIGHT) | WEIR_TOPIC_BIT(UCLAMP) |
		WEIR_TOPIC_BIT(MEMORY),
	.needs = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(WEIGHT),
	.per_task = sizeof(struct fair_balancer_task),
	WEIR_PARAMS(
		fair_balancer,
		WEIR_PARAM(fair_balancer, affine, FLAG, 1, 0, 1,
			   "a waking task may be placed on the CPU of its waker"),
		WEIR_PARAM(fair_balancer, hot, NS, 500000, 0, 1000000000,
			   "a task that ran within this time stays with its cache"),
		WEIR_PARAM(fair_balancer, imbalance, PCT, 117, 100, 1000,
			   "load of another CPU relative to this one's that justifies a migration"),
		WEIR_PARAM(fair_balancer, interval, NS, 16000000, 100000, 10000000000ull,
			   "time between two balancing attempts of a busy CPU"),
		WEIR_PARAM(fair_balancer, reach, COUNT, 8, 1, 4096,
			   "tasks looked at in another CPU's pipe for one that may move"),
		WEIR_PARAM(fair_balancer, pack, FLAG, 0, 0, 1,
			   "tasks prefer large CPUs though they fit small ones (asymmetric "
			   "packing)"),
		WEIR_PARAM(fair_balancer, energy, FLAG, 0, 0, 1,
			   "while no CPU is near its capacity, waking tasks go to the smallest CPU "
			   "that they fit")));

/* --- choice of a pipe --------------------------------------------------------------------------------- */

/* Whether @here is free as soon as it has woken a task: only what it runs is there, and that is about to block. */
WEIR_INLINE int fair_balancer_frees(const struct fair_balancer weir_mem *self, u32 here)
{
	return weir_cpu_leaves(self->inst.sched, here) && weir_cpu_curr(self->inst.sched, here) &&
	       !weir_pipe_nr(weir_port_to(&self->inst, &self->loads.map, here));
}

/*
 * Whether @t, which has just been woken, is one of many that its waker wakes in turn: more than there are CPUs in the cache, while the one of the
 * two that wakes less also wakes that many times less. To pull them all to the waker's CPU would not bring them together.
 */
WEIR_HELPER int fair_balancer_wide(struct fair_balancer weir_mem *self weir_arg,
				   struct weir_task weir_mem *t weir_arg)
{
	struct weir_sched weir_mem *s = self->inst.sched;
	u32 here = weir_load(&t->entry_cpu), llc, now, most, least;
	struct fair_balancer_task weir_mem *p = weir_priv(&self->inst, t), *w;
	struct weir_task weir_mem *waker;

	waker = weir_port_to(&self->inst, &self->loads.map, here) ? weir_cpu_curr(s, here) : 0;
	if (!waker || waker == t)
		return 0;
	w = weir_priv(&self->inst, waker);
	now = (u32)(weir_now(s) >> 20);
	if (now - weir_load(&w->since) > 1000000000u >> 20) {
		weir_store(&w->flips, weir_load(&w->flips) / 2);
		weir_store(&w->since, now);
	}
	if (weir_load(&w->wakee) != t->id + 1) {
		weir_store(&w->wakee, t->id + 1);
		weir_store(&w->flips, weir_load(&w->flips) + 1);
	}
	most = weir_load(&w->flips);
	least = weir_load(&p->flips);
	if (most < least) {
		most = least;
		least = weir_load(&w->flips);
	}
	llc = weir_cpu_llc(s, here);
	return llc < weir_nr_cpus(s) && least >= self->near[llc] && most >= least * self->near[llc];
}

/* Where a waking task's search begins: where it was, or where it was woken. */
WEIR_HELPER u32 fair_balancer_target(struct fair_balancer weir_mem *self weir_arg, u32 prev,
				     u32 here, u64 load)
{
	struct weir_sched weir_mem *s = self->inst.sched;
	u64 now = weir_now(s), mine, theirs;

	if (prev == here)
		return prev;
	if (weir_cpu_waits(s, here) && weir_distance(s, here, prev) < 2)
		return weir_cpu_waits(s, prev) ? prev : here;
	if (fair_balancer_frees(self, here))
		return here;
	if (weir_cpu_waits(s, prev))
		return prev;
	mine = (weir_rq_load_of(&self->loads, here, now) + load) * weir_cpu_capacity(s, prev) * 100;
	theirs = weir_rq_load_of(&self->loads, prev, now) * weir_cpu_capacity(s, here) *
		 (100 + (self->imbalance - 100) / 2);
	return mine < theirs ? here : prev;
}

/*
 * How well idle CPU @i suits, 0: not at all. With @home: in node @home - 1, large enough for @room, then of an idle core. Without: of an
 * idle core in @cpu's node, the largest, then the nearest.
 */
WEIR_INLINE u32 fair_balancer_rank(const struct fair_balancer weir_mem *self, u32 i, u32 cpu,
				   u64 home, u64 room)
{
	struct weir_sched weir_mem *s = self->inst.sched;
	u32 idle = (u32)weir_core_idle(s, &self->loads.near, i), far;

	if (home)
		return weir_cpu_node(s, i) + 1 == home
			       ? 1 + 2 * (room <= weir_cpu_capacity(s, i)) + idle
			       : 0;
	far = weir_distance(s, cpu, i);
	return idle && far < 3 ? weir_cpu_capacity(s, i) * 4 + 3 - far : 0;
}

/* The idle CPU in @mask that suits best; WEIR_NO_CPU: none does. */
WEIR_HELPER u32 fair_balancer_idle(struct fair_balancer weir_mem *self weir_arg, u32 cpu, u64 home,
				   u64 room, const struct weir_cpumask weir_mem *mask weir_arg)
{
	u64 best = weir_unknown(WEIR_RANKED_NONE), lot = weir_lot(&self->loads.near, cpu);

	for (u32 w = weir_in(&self->inst, 0)->word_lo;
	     w <= weir_in(&self->inst, 0)->word_hi && weir_loop; w++) {
		u64 bits = weir_in(&self->inst, 0)->cpus->word[w] &
			   weir_idle_word(self->inst.sched, w);

		weir_note_scan(&self->inst, weir_count_bits(bits));
		while (bits && weir_loop) {
			u32 i = w * 64 + weir_lowest_bit(bits);
			u64 rank;

			bits &= bits - 1;
			if (!weir_cpu_may(self->inst.sched, i, mask))
				continue;
			rank = fair_balancer_rank(self, i, cpu, home, room);
			rank = weir_unknown(weir_ranked(rank, lot, i));
			if (rank > best)
				best = rank;
		}
	}
	return weir_ranked_cpu(best);
}

/* Ask what @t wants of a CPU, if they differ. */
WEIR_INLINE void fair_balancer_ask(struct fair_balancer weir_mem *self,
				   struct weir_task weir_mem *t)
{
	struct fair_balancer_task weir_mem *p = weir_priv(&self->inst, t);

	if (self->kinds & FAIR_BALANCER_CAPACITIES)
		weir_store(&p->clamps, weir_property(self->inst.sched, WEIR_TOPIC_UCLAMP, t));
	if (self->kinds & FAIR_BALANCER_NODES)
		weir_store(&p->home, weir_property(self->inst.sched, WEIR_TOPIC_MEMORY, t));
}

/* The smallest capacity of a CPU that @t fits; 0: CPUs do not differ. */
WEIR_INLINE u64 fair_balancer_room(struct fair_balancer weir_mem *self,
				   struct weir_task weir_mem *t)
{
	struct fair_balancer_task weir_mem *p = weir_priv(&self->inst, t);

	if (!(self->kinds & FAIR_BALANCER_CAPACITIES))
		return 0;
	return weir_uclamp_room(weir_pelt_util(&p->load.pelt), weir_load(&p->clamps));
}

/* 1 + the node where @t's memory is; 0: it does not matter, or is unknown. */
WEIR_INLINE u64 fair_balancer_home(struct fair_balancer weir_mem *self,
				   struct weir_task weir_mem *t)
{
	struct fair_balancer_task weir_mem *p = weir_priv(&self->inst, t);

	return weir_load(&p->home);
}

/* Where no CPU near @cpu is idle for @t: the one with least load of the node of its memory, if that is no more than @cpu's; else @cpu. */
WEIR_HELPER u32 fair_balancer_homeward(struct fair_balancer weir_mem *self weir_arg,
				       struct weir_task weir_mem *t weir_arg, u32 cpu,
				       const struct weir_cpumask weir_mem *mask weir_arg)
{
	struct weir_sched weir_mem *s = self->inst.sched;
	u64 home = fair_balancer_home(self, t), now = weir_now(s), least;
	u32 best = cpu;

	if (!home || weir_cpu_node(s, cpu) + 1 == home)
		return cpu;
	least = weir_rq_load_weighs(s, cpu, weir_rq_load_of(&self->loads, cpu, now)) + 1;
	for (u32 i = 0; i < self->inst.nr_out && weir_loop; i++) {
		u32 to = weir_out(&self->inst, i)->cpu;
		u64 load;

		if (!weir_cpu_may(s, to, mask) || weir_cpu_node(s, to) + 1 != home)
			continue;
		load = weir_rq_load_weighs(s, to, weir_rq_load_of(&self->loads, to, now));
		if (load < least) {
			least = load;
			best = to;
		}
	}
	weir_note_scan(&self->inst, self->inst.nr_out);
	return best;
}

/* Where CPUs differ: one for @t, whose search begins at @cpu, that is better than an idle one near; WEIR_NO_CPU: none. */
WEIR_HELPER u32 fair_balancer_apart(struct fair_balancer weir_mem *self weir_arg,
				    struct weir_task weir_mem *t weir_arg, u32 cpu,
				    const struct weir_cpumask weir_mem *mask weir_arg)
{
	u64 home = fair_balancer_home(self, t);
	u32 to = WEIR_NO_CPU;

	if (home && weir_cpu_node(self->inst.sched, cpu) + 1 != home)
		to = fair_balancer_idle(self, cpu, home, fair_balancer_room(self, t), mask);
	if (to == WEIR_NO_CPU && self->pack && self->kinds & FAIR_BALANCER_CAPACITIES)
		to = fair_balancer_idle(self, cpu, 0, 0, mask);
	return to;
}

/* A CPU near where @t was or was woken, which would count @weight there; WEIR_NO_CPU: none. */
WEIR_HELPER u32 fair_balancer_near(struct fair_balancer weir_mem *self weir_arg,
				   struct weir_task weir_mem *t weir_arg, u32 weight,
				   const struct weir_cpumask weir_mem *mask weir_arg)
{
	struct weir_sched weir_mem *s = self->inst.sched;
	struct fair_balancer_task weir_mem *p = weir_priv(&self->inst, t);
	u32 prev = weir_last_cpu(t), here = weir_load(&t->entry_cpu), cpu = prev, last;

	if (prev >= weir_nr_cpus(s) || !weir_port_to(&self->inst, &self->loads.map, prev)) {
		u64 home = fair_balancer_home(self, t);

		return home ? fair_balancer_idle(self, cpu, home, fair_balancer_room(self, t), mask)
			    : WEIR_NO_CPU;
	}
	if (self->loads.uses) {
		cpu = weir_frugal_cpu(&self->loads, prev, weir_pelt_util(&p->load.pelt),
				      weir_load(&p->clamps), mask);
		if (cpu != WEIR_NO_CPU)
			return cpu;
		cpu = prev;
	}
	if (self->affine && !weir_load(&p->wide) && weir_cpu_may(s, here, mask) &&
	    weir_port_to(&self->inst, &self->loads.map, here))
		cpu = weir_cpu_may(s, prev, mask)
			      ? fair_balancer_target(self, prev, here,
						     weir_rq_load_mean(&p->load, weight))
			      : here;
	last = cpu;
	if (weir_unlikely(self->kinds)) {
		here = fair_balancer_apart(self, t, cpu, mask);
		if (here != WEIR_NO_CPU)
			return here;
		last = fair_balancer_homeward(self, t, cpu, mask);
	}
	prev = weir_idle_sibling(&self->loads.near, cpu, prev,
				 fair_balancer_room(self, t) | WEIR_SIBLING_BY(t->id) |
					 (weight == WEIR_WEIGHT_IDLE ? WEIR_SIBLING_WAITS : 0),
				 mask);
	if (prev != WEIR_NO_CPU)
		return prev;
	return weir_cpu_may(s, last, mask) ? last : WEIR_NO_CPU;
}

/*
 * For a task that runs on @cpu or ran there until now: a CPU of an idle core in the node of its memory, if @cpu is in another one; if it
 * does not fit @cpu (with `pack` for any task), a larger one, one that it fits if there is one; WEIR_NO_CPU: it may as well stay.
 */
WEIR_FLAT static u32 fair_balancer_better(struct fair_balancer weir_mem *self,
					  struct weir_task weir_mem *t, u32 cpu,
					  const struct weir_cpumask weir_mem *mask)
{
	struct weir_sched weir_mem *s = self->inst.sched;
	u64 room = fair_balancer_room(self, t), home = fair_balancer_home(self, t);
	u32 to = WEIR_NO_CPU;

	if (cpu >= weir_nr_cpus(s))
		return WEIR_NO_CPU;
	if (home && weir_cpu_node(s, cpu) + 1 != home)
		to = fair_balancer_idle(self, cpu, home, room, mask);
	if (to != WEIR_NO_CPU && weir_core_idle(s, &self->loads.near, to))
		return to;
	if (!room || (!self->pack && room <= weir_cpu_capacity(s, cpu)))
		return WEIR_NO_CPU;
	to = self->pack
		     ? fair_balancer_idle(self, cpu, 0, 0, mask)
		     : weir_idle_sibling(&self->loads.near, cpu, cpu,
					 room | WEIR_SIBLING_BY(t->id) | WEIR_SIBLING_WAITS, mask);
	return to != WEIR_NO_CPU && weir_core_idle(s, &self->loads.near, to) &&
			       weir_cpu_capacity(s, to) > weir_cpu_capacity(s, cpu)
		       ? to
		       : WEIR_NO_CPU;
}

/* --- placement ---------------------------------------------------------------------------------------- */

/* 1 + the port for @t: of @to if it may go there, null: where it is best; 0: it may go nowhere. */
WEIR_FLAT static u32 fair_balancer_put(struct fair_balancer weir_mem *self,
				       struct weir_task weir_mem *t, struct weir_pipe weir_mem *to)
{
	u32 weight = (u32)weir_property(self->inst.sched, WEIR_TOPIC_WEIGHT, t), port;
	const struct weir_cpumask weir_mem *mask = weir_affinity(self->inst.sched, t);

	weir_rq_load_track(weir_priv(&self->inst, t), weir_now(self->inst.sched));
	if (!to || !weir_pipe_allows(to, mask))
		to = weir_port_to(&self->inst, &self->loads.map,
				  fair_balancer_near(self, t, weight, mask));
	port = to ? to->from_port + 1
		  : weir_rq_load_idlest(&self->loads, weir_load(&t->entry_cpu),
					weight == WEIR_WEIGHT_IDLE, mask);
	weir_rq_load_enter(&self->loads, weir_priv(&self->inst, t), port, weight ? weight : 1,
			   weir_now(self->inst.sched));
	if (port)
		weir_rq_load_queued(&self->loads, port - 1);
	return port;
}

WEIR_ENTRY int fair_balancer_construct(struct fair_balancer weir_mem *self)
{
	struct weir_sched weir_mem *s = self->inst.sched;

	self->next = weir_instance_alloc(&self->inst, (u64)self->inst.nr_out * sizeof(u64) + 8);
	self->near = weir_instance_alloc(&self->inst, (u64)weir_nr_cpus(s) * sizeof(u32));
	if (!self->next || !self->near)
		return -WEIR_ENOMEM;
	for (u32 i = 1; i < weir_nr_cpus(s) && weir_loop; i++) {
		if (weir_cpu_capacity(s, i) != weir_cpu_capacity(s, 0))
			self->kinds |= FAIR_BALANCER_CAPACITIES;
		if (weir_cpu_node(s, i) != weir_cpu_node(s, 0))
			self->kinds |= FAIR_BALANCER_NODES;
	}
	for (u32 i = 0; i < self->inst.nr_out && weir_loop; i++) {
		u32 cpu = weir_out(&self->inst, i)->cpu;

		if (cpu < weir_nr_cpus(s) && weir_cpu_llc(s, cpu) < weir_nr_cpus(s))
			self->near[weir_cpu_llc(s, cpu)]++;
	}
	self->loads.uses = self->kinds & FAIR_BALANCER_CAPACITIES && self->energy;
	return weir_rq_load_construct(&self->inst, &self->loads);
}

/* Where a task goes on that gave up its CPU: there, unless another one is better. */
WEIR_FLAT static struct weir_pipe weir_mem *fair_balancer_stay(struct fair_balancer weir_mem *self,
							       struct weir_task weir_mem *t)
{
	u32 cpu = weir_last_cpu(t), better = WEIR_NO_CPU;

	if (self->kinds) {
		weir_rq_load_track(weir_priv(&self->inst, t), weir_now(self->inst.sched));
		better = fair_balancer_better(self, t, cpu, weir_affinity(self->inst.sched, t));
	}
	return weir_port_to(&self->inst, &self->loads.map, better != WEIR_NO_CPU ? better : cpu);
}

/* Where @t is to go if it may; null: where it is best. */
static struct weir_pipe weir_mem *fair_balancer_wanted(struct fair_balancer weir_mem *self,
						       u32 what, struct weir_task weir_mem *t,
						       u32 want)
{
	if (want < self->inst.nr_out)
		return weir_out(&self->inst, want);
	if (what == WEIR_ARRIVED && weir_rq_load_weight(weir_priv(&self->inst, t)))
		return fair_balancer_stay(self, t);
	return 0;
}

/* Where @t was woken, if it was. */
WEIR_INLINE void fair_balancer_wake(struct fair_balancer weir_mem *self,
				    struct weir_task weir_mem *t, u32 why)
{
	struct fair_balancer_task weir_mem *p = weir_priv(&self->inst, t);

	weir_store(&p->wide, why == WEIR_WHY_WOKE && fair_balancer_wide(self, t));
}

WEIR_ENTRY u32 fair_balancer_step(struct fair_balancer weir_mem *self, u32 what,
				  struct weir_task weir_mem *t, struct weir_step weir_mem *s)
{
	u32 port = weir_stays(&self->inst, what, t, weir_affinity(self->inst.sched, t));

	if (s->runs || (port != WEIR_WITHHOLD && s->want == WEIR_WITHHOLD))
		return port;
	fair_balancer_ask(self, t);
	fair_balancer_wake(self, t, s->why);
	port = fair_balancer_put(self, t, fair_balancer_wanted(self, what, t, s->want));
	return weir_send(&self->inst, what, t, port ? weir_out(&self->inst, port - 1) : 0);
}

WEIR_ENTRY int fair_balancer_on_cpu_status(struct fair_balancer weir_mem *self,
					   const struct weir_msg *msg)
{
	(void)msg;
	return weir_review_all(&self->inst);
}

/* --- load tracking -------------------------------------------------------------------------------------- */

WEIR_ENTRY int fair_balancer_on_dispatch(struct fair_balancer weir_mem *self,
					 const struct weir_msg *msg)
{
	struct weir_sched weir_mem *s = self->inst.sched;

	if (self->loads.uses)
		weir_frugal_runs(&self->loads, msg->cpu,
				 weir_property(s, WEIR_TOPIC_UCLAMP, msg->task));
	return weir_rq_load_start(&self->loads, weir_priv(&self->inst, msg->task), msg->cpu,
				  weir_now(s));
}

WEIR_ENTRY int fair_balancer_on_block(struct fair_balancer weir_mem *self,
				      const struct weir_msg *msg)
{
	return weir_rq_load_leave(&self->loads, weir_priv(&self->inst, msg->task));
}

WEIR_ENTRY int fair_balancer_on_exit(struct fair_balancer weir_mem *self,
				     const struct weir_msg *msg)
{
	return weir_rq_load_leave(&self->loads, weir_priv(&self->inst, msg->task));
}

/* --- balancing -------------------------------------------------------------------------------------------- */

/* How a move of @t from @from to @cpu suits its memory. 3: well, or it does not matter; 2: it is elsewhere; 1: the task leaves it. */
WEIR_INLINE u32 fair_balancer_suits(struct fair_balancer weir_mem *self,
				    struct weir_task weir_mem *t, u32 from, u32 cpu)
{
	struct weir_sched weir_mem *s = self->inst.sched;
	u64 home;

	if (!(self->kinds & FAIR_BALANCER_NODES) || weir_cpu_node(s, from) == weir_cpu_node(s, cpu))
		return 3;
	home = fair_balancer_home(self, t);
	return weir_cpu_node(s, cpu) + 1 == home ? 3 : weir_cpu_node(s, from) + 1 == home ? 1 : 2;
}

/*
 * A task of @from that may move to @cpu and last ran before @before, ns, from the tail on: its address; 0: none. Of the tasks that are looked
 * at, one whose memory is there; none leaves its memory for a CPU that has work.
 */
WEIR_FLAT static u64 fair_balancer_find(struct fair_balancer weir_mem *self,
					struct weir_pipe weir_mem *from, u32 cpu, u64 before)
{
	/* Where its tasks wait. */
	struct weir_pipe weir_mem *exit = from->home ? from->home : from;
	struct weir_task weir_mem *t;
	u32 best = weir_cpu_curr(self->inst.sched, cpu) ? 1 : 0;
	u64 n = 0, found = 0;

	if (weir_pipe_lock(exit))
		return 0;
	for (t = exit->tail; t && best < 3 && n < self->reach && weir_loop; t = t->prev) {
		struct weir_rq_load_task weir_mem *p = weir_priv(&self->inst, t);

		if (weir_state(t) == WEIR_SCHEDULABLE && weir_load(&p->stopped) < before &&
		    weir_port_of(&self->inst, t) == from->from_port &&
		    weir_cpu_may(self->inst.sched, cpu, weir_affinity(self->inst.sched, t))) {
			u32 suits = fair_balancer_suits(self, t, from->cpu, cpu);

			found = suits > best ? (u64)t : found;
			best = suits > best ? suits : best;
		}
		n++;
	}
	weir_pipe_unlock(exit);
	return found;
}

/* When a task of @from must have stopped before it may move to @cpu, ns: one that ran lately stays in its cache. */
WEIR_INLINE u64 fair_balancer_cold(struct fair_balancer weir_mem *self,
				   struct weir_pipe weir_mem *from, u32 cpu)
{
	u64 now = weir_now(self->inst.sched);

	if (weir_distance(self->inst.sched, from->cpu, cpu) < 2)
		return ~0ull;
	return now >= self->hot ? now - self->hot + 1 : 0;
}

/* Move one task from @from to @cpu's pipe. 1: it is asked to go; whether it may is looked at again then. */
WEIR_HELPER int fair_balancer_move(struct fair_balancer weir_mem *self weir_arg,
				   struct weir_pipe weir_mem *from weir_arg, u32 cpu)
{
	u64 before = fair_balancer_cold(self, from, cpu);
	struct weir_task weir_mem *t =
		(struct weir_task weir_mem *)fair_balancer_find(self, from, cpu, before);
	struct weir_pipe weir_mem *to = weir_port_to(&self->inst, &self->loads.map, cpu);

	return t && to && !weir_move(&self->inst, t, to->from_port);
}

/* With energy, tasks wait where they are while no CPU is near its capacity. */
WEIR_INLINE int fair_balancer_rests(const struct fair_balancer weir_mem *self)
{
	return self->loads.uses && !weir_load(&self->loads.tipped);
}

/* Same core or cache, then same node, then anywhere. */
WEIR_ENTRY int fair_balancer_on_idle(struct fair_balancer weir_mem *self, u32 cpu)
{
	if (!weir_port_to(&self->inst, &self->loads.map, cpu) || fair_balancer_rests(self))
		return 0;
	for (u32 far = 1; far < weir_unknown(4) && weir_loop; far++) {
		u32 from = weir_rq_load_busiest(&self->loads, cpu, far == 1 ? 0 : far, far);

		if (from && fair_balancer_move(self, weir_out(&self->inst, from - 1), cpu))
			return 1;
	}
	return 0;
}

/* An idle CPU, if more tasks wait in @out, the pipe of @cpu, than @cpu runs; WEIR_NO_CPU: none. */
WEIR_INLINE u32 fair_balancer_needs_work(struct fair_balancer weir_mem *self,
					 struct weir_pipe weir_mem *out, u32 cpu)
{
	struct weir_task weir_mem *t = weir_cpu_curr(self->inst.sched, cpu);

	return t && weir_pipe_spare(out) ? weir_idle_near(weir_in(&self->inst, 0), t, 0)
					 : WEIR_NO_CPU;
}

/* 1 + the port of the pipe with most load for its capacity, if that is a good deal more than @cpu's; 0: none has. */
WEIR_HELPER u32 fair_balancer_burdened(struct fair_balancer weir_mem *self weir_arg, u32 cpu)
{
	u32 port = weir_rq_load_busiest(&self->loads, cpu, 0, 3);
	struct weir_sched weir_mem *s = self->inst.sched;
	u64 now = weir_now(s), load, mine, task;
	struct weir_pipe weir_mem *from;

	if (!port)
		return 0;
	from = weir_out(&self->inst, port - 1);
	load = weir_rq_load_of(&self->loads, from->cpu, now) + 1;
	task = weir_rq_load_weighs(s, cpu, load / (weir_pipe_nr(from) + 1));
	load = weir_rq_load_weighs(s, from->cpu, load);
	mine = weir_rq_load_weighs(s, cpu, weir_rq_load_of(&self->loads, cpu, now));
	/* With one task more it must still have less, or the two CPUs would pass the task back and forth. */
	return load * 100 > mine * self->imbalance && load > mine + task ? port : 0;
}

/* Whether another CPU is better for the task that runs on @cpu. */
WEIR_FLAT static int fair_balancer_misfit(struct fair_balancer weir_mem *self, u32 cpu)
{
	struct weir_sched weir_mem *s = self->inst.sched;
	struct weir_task weir_mem *t = weir_cpu_curr(s, cpu);

	if (!self->kinds || !t)
		return 0;
	fair_balancer_ask(self, t);
	weir_rq_load_track(weir_priv(&self->inst, t), weir_now(s));
	return fair_balancer_better(self, t, cpu, weir_affinity(s, t)) != WEIR_NO_CPU;
}

WEIR_ENTRY int fair_balancer_on_tick(struct fair_balancer weir_mem *self,
				     const struct weir_msg *msg)
{
	struct weir_pipe weir_mem *out = weir_port_to(&self->inst, &self->loads.map, msg->cpu);
	u64 now = weir_now(self->inst.sched);
	u32 cpu;

	if (!out)
		return 0;
	/* It goes when it gives the CPU up. */
	if (fair_balancer_misfit(self, msg->cpu)) {
		weir_publish(&self->inst, WEIR_TOPIC_PREEMPT,
			     weir_cpu_curr(self->inst.sched, msg->cpu), msg->cpu, 0);
		return 0;
	}
	if (self->loads.uses && weir_frugal_full(&self->loads, msg->cpu,
						 weir_rq_load_util(&self->loads, msg->cpu, now)))
		weir_store(&self->loads.tipped, 1);
	if (fair_balancer_rests(self))
		return 0;
	cpu = fair_balancer_needs_work(self, out, msg->cpu);
	if (cpu != WEIR_NO_CPU && fair_balancer_move(self, out, cpu))
		return 0;
	if (now < weir_load(&self->next[out->from_port]))
		return 0;
	weir_store(&self->next[out->from_port], now + self->interval);
	cpu = fair_balancer_burdened(self, msg->cpu);
	if (cpu)
		fair_balancer_move(self, weir_out(&self->inst, cpu - 1), msg->cpu);
	return 0;
}

WEIR_ENTRY void fair_balancer_take_state(struct fair_balancer weir_mem *self,
					 struct fair_balancer weir_mem *old)
{
	for (u32 i = 0; i < self->inst.nr_out && i < old->inst.nr_out && weir_loop; i++)
		self->next[i] = old->next[i];
	weir_rq_load_take(&self->loads, &old->loads);
}
