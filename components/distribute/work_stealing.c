/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * work_stealing - keep tasks near their last CPU, let idle CPUs steal from loaded ones
 *
 * class:     distribute
 * pipes:     in 1.., out 1..
 * listens:   AFFINITY: move the task if necessary. CPU_STATUS: check all tasks again
 * publishes: WITHHELD: no CPU that the task may use is online
 * asks:      AFFINITY: where the task may run; needed
 * answers:   -
 * params:    reach count 8 [1, 4096]; number of tasks examined in another CPU's pipe
 * cost:      O(words of CPUs) per added task; O(words, and at most 64 loaded pipes each of LLC,
 *            node and machine) when a CPU is out of work; O(tasks) when a CPU goes offline or online; takes
 *            the lock behind one out-pipe when it looks for a task there
 * batch:     each task is in one out-pipe that leads to an online CPU which it may use, or is
 *            withheld if there is none; every out-pipe keeps the order of each in-pipe
 * source:    ours, after Blumofe and Leiserson, "Scheduling multithreaded computations by work
 *            stealing", 1999, and Mitzenmacher, "The power of two choices", 2001
 * long:      placing, stealing and the order of victims read the same groups of CPUs
 *
 * A task returns to the CPU where it last ran if that is idle, else goes to the nearest idle CPU
 * by core, LLC and node, else to the shorter of two pipes: its last one and a random one. An idle CPU
 * takes the last task of the longest nearby pipe that has a task waiting behind a
 * running one: of its LLC, else of its node, else of the machine. Nothing is taken from a
 * postponed pipe. Placing is cheap, so this suits machines with many CPUs.
 *
 * example:   annotate affinity; entry -> work_stealing -> each cpu { round_robin -> cpu };
 */
#include <weir/component.h>
#include <weir/cpus.h>
#include <weir/kit/review.h>

/* Places from @begin to before @end. */
struct work_stealing_range {
	u32 begin;
	u32 end;
};

struct work_stealing {
	struct weir_instance inst;
	struct weir_port_map map;
	u64 reach;	     /* (c) tasks looked at in a victim's pipe, from its tail */
	u32 weir_mem *order; /* (c) ports by node, then by LLC */
	u32 weir_mem *place; /* (c) by port: where it stands there */
	u32 weir_mem *count; /* (c) for sorting */
	struct work_stealing_range weir_mem *llc;  /* (c) by place */
	struct work_stealing_range weir_mem *node; /* (c) by place */
	u32 single;				   /* (c) every out-pipe leads to one CPU */
	u32 sorted;		    /* (c) and within each cache they are in the order of CPUs */
	struct weir_cpumask queued; /* (a) by place: pipes that hold tasks, or did a moment ago */
};

WEIR_COMPONENT(work_stealing,
	       .summary = "keep tasks near their last CPU, let idle CPUs steal from loaded ones",
	       .cls = WEIR_DISTRIBUTE, .ordering = WEIR_KEEPS, .in_min = 1, .in_max = WEIR_ANY,
	       .out_min = 1, .out_max = WEIR_ANY,
	       .listens = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(CPU_STATUS),
	       .reviews = WEIR_TOPIC_BIT(AFFINITY), .publishes = WEIR_TOPIC_BIT(WITHHELD),
	       .asks = WEIR_TOPIC_BIT(AFFINITY), .needs = WEIR_TOPIC_BIT(AFFINITY),
	       WEIR_PARAMS(work_stealing,
			   WEIR_PARAM(work_stealing, reach, COUNT, 8, 1, 4096,
				      "number of tasks examined in another CPU's pipe")));

/* The shorter of two allowed pipes: the last one and one that chance names. */
static struct weir_pipe weir_mem *work_stealing_shorter(struct work_stealing weir_mem *self,
							struct weir_pipe weir_mem *last,
							const struct weir_cpumask weir_mem *mask)
{
	u32 at = weir_random(self->inst.sched) % self->inst.nr_out;
	struct weir_pipe weir_mem *other = 0;
	u32 idle;

	/* A random pipe that is not allowed gives way to the next one that is. */
	for (u32 i = 0; i < self->inst.nr_out && weir_loop; i++) {
		struct weir_pipe weir_mem *out = weir_out(&self->inst, at);

		if (out != last && weir_pipe_allows(out, mask)) {
			weir_note_scan(&self->inst, i + 1);
			other = out;
			break;
		}
		at = at + 1 == self->inst.nr_out ? 0 : at + 1;
	}
	if (!last || !other)
		return last ? last : other;
	return weir_pipe_load(other, &idle) < weir_pipe_load(last, &idle) ? other : last;
}

static int work_stealing_idle(const struct work_stealing weir_mem *self, u32 cpu,
			      const struct weir_cpumask weir_mem *mask)
{
	struct weir_sched weir_mem *s = self->inst.sched;

	return weir_cpu_is_idle(s, cpu) && weir_cpu_is_online(s, cpu) &&
	       (!mask || weir_mask_test(mask, cpu));
}

/* As work_stealing_idle_among(), where places of a cache are in the order of CPUs: by the set of idle ones. */
static u32 work_stealing_idle_between(const struct work_stealing weir_mem *self, u32 last,
				      struct work_stealing_range places,
				      const struct weir_cpumask weir_mem *mask)
{
	u32 second = weir_unknown(WEIR_NO_CPU);
	u32 from = weir_unknown(weir_out(&self->inst, self->order[places.begin])->cpu / 64);
	u32 to = weir_unknown(weir_out(&self->inst, self->order[places.end - 1])->cpu / 64);

	for (u32 w = from; w <= to && weir_loop; w++) {
		u64 bits = weir_idle_word(self->inst.sched, w & (WEIR_MASK_WORDS - 1));

		while (bits && weir_loop) {
			u32 cpu = w * 64 + weir_lowest_bit(bits), port;

			bits &= bits - 1;
			port = cpu < self->map.nr ? self->map.port[cpu] : 0;
			if (!port || self->place[port - 1] < places.begin ||
			    self->place[port - 1] >= places.end ||
			    !work_stealing_idle(self, cpu, mask))
				continue;
			if (weir_cpu_core(self->inst.sched, cpu) ==
			    weir_cpu_core(self->inst.sched, last))
				return cpu;
			if (second == WEIR_NO_CPU)
				second = cpu;
		}
	}
	return second;
}

/* An idle CPU of one cache, of @last's core if there is one. */
static u32 work_stealing_idle_among(const struct work_stealing weir_mem *self, u32 last,
				    struct work_stealing_range places,
				    const struct weir_cpumask weir_mem *mask)
{
	u32 second = weir_unknown(WEIR_NO_CPU);

	if (self->sorted)
		return work_stealing_idle_between(self, last, places, mask);
	for (u32 i = places.begin; i < places.end && weir_loop; i++) {
		u32 cpu = weir_out(&self->inst, self->order[i])->cpu;

		if (!work_stealing_idle(self, cpu, mask))
			continue;
		if (weir_cpu_core(self->inst.sched, cpu) == weir_cpu_core(self->inst.sched, last))
			return cpu;
		if (second == WEIR_NO_CPU)
			second = cpu;
	}
	return second;
}

/* As weir_idle_near(), by places: cache and node of the last CPU before all the others. */
static u32 work_stealing_near(const struct work_stealing weir_mem *self,
			      const struct weir_task weir_mem *t,
			      const struct weir_cpumask weir_mem *mask)
{
	u32 last = weir_last_cpu(t), port = last < self->map.nr ? self->map.port[last] : 0;
	struct work_stealing_range llc, node;
	u32 cpu;

	if (!port || !self->single)
		return weir_idle_near(weir_in(&self->inst, 0), t, mask);
	llc = self->llc[self->place[port - 1]];
	cpu = work_stealing_idle_among(self, last, llc, mask);
	node = self->node[self->place[port - 1]];
	if (node.begin == llc.begin && node.end == llc.end)
		node.begin = node.end;
	for (u32 i = node.begin; i < node.end && cpu == WEIR_NO_CPU && weir_loop; i++) {
		u32 other = weir_out(&self->inst, self->order[i])->cpu;

		if (work_stealing_idle(self, other, mask))
			cpu = other;
	}
	return cpu != WEIR_NO_CPU ? cpu : weir_idle_near(weir_in(&self->inst, 0), t, mask);
}

static struct weir_pipe weir_mem *work_stealing_choose(struct work_stealing weir_mem *self,
						       struct weir_task weir_mem *t,
						       const struct weir_cpumask weir_mem *mask)
{
	struct weir_pipe weir_mem *last = weir_port_to(&self->inst, &self->map, weir_last_cpu(t));
	struct weir_pipe weir_mem *near;
	u32 idle;

	if (last && !weir_pipe_allows(last, mask))
		last = 0;
	if (last) {
		weir_pipe_load(last, &idle);
		if (idle)
			return last;
	}
	near = weir_port_to(&self->inst, &self->map, work_stealing_near(self, t, mask));
	return near ? near : work_stealing_shorter(self, last, mask);
}

/* LLC or node of an out-pipe, below the number of CPUs. */
WEIR_HELPER u32 work_stealing_group(const struct work_stealing weir_mem *self weir_arg, u32 port,
				    int node)
{
	struct weir_sched weir_mem *s = self->inst.sched;
	u32 cpu = weir_out(&self->inst, port)->cpu;
	u32 group;

	if (cpu >= weir_nr_cpus(s))
		return 0;
	group = node ? weir_cpu_node(s, cpu) : weir_cpu_llc(s, cpu);
	return group < weir_nr_cpus(s) ? group : weir_nr_cpus(s) - 1;
}

/* Ports by LLC, then those by node: a counting sort, stable. */
WEIR_HELPER int work_stealing_sort(struct work_stealing weir_mem *self weir_arg, int node)
{
	const u32 weir_mem *from = node ? self->place : 0;
	u32 weir_mem *to = node ? self->order : self->place;
	u32 i;

	/* Each loop rereads its limit: a limit that two loops share shows the verifier how the first one ended. */
	for (i = 0; i <= weir_nr_cpus(self->inst.sched) && weir_loop; i++)
		self->count[i] = 0;
	for (i = 0; i < weir_load(&self->inst.nr_out) && weir_loop; i++)
		self->count[work_stealing_group(self, i, node) + 1]++;
	for (i = 0; i < weir_nr_cpus(self->inst.sched) && weir_loop; i++)
		self->count[i + 1] += self->count[i];
	for (i = 0; i < weir_load(&self->inst.nr_out) && weir_loop; i++) {
		u32 port = from ? from[i] : i;

		to[self->count[work_stealing_group(self, port, node)]++] = port;
	}
	return 0;
}

/* For each place, where the places of its LLC or its node begin and end; and whether those of each LLC are in the order of CPUs. */
WEIR_HELPER int work_stealing_groups(struct work_stealing weir_mem *self weir_arg, int node)
{
	struct work_stealing_range weir_mem *ranges = node ? self->node : self->llc;
	u32 begin = 0;

	for (u32 i = 0; i < weir_load(&self->inst.nr_out) && weir_loop; i++) {
		if (work_stealing_group(self, self->order[i], node) !=
		    work_stealing_group(self, self->order[begin], node))
			begin = i;
		else if (!node && i &&
			 weir_out(&self->inst, self->order[i])->cpu <=
				 weir_out(&self->inst, self->order[i - 1])->cpu)
			self->sorted = 0;
		ranges[i].begin = begin;
	}
	begin = weir_load(&self->inst.nr_out);
	for (u32 i = begin; i > 0 && weir_loop; i--) {
		/* As a number: before 7.0 a kernel does not know what a pointer into its arena is added to. */
		struct work_stealing_range weir_mem *r =
			(struct work_stealing_range
			 weir_mem *)((u64)ranges + (u64)(i - 1) * sizeof(*r));
		int last = i == begin || r[1].begin != r->begin;

		r->end = last ? i : r[1].end;
	}
	return 0;
}

/* The next place from @from on, before @to, whose pipe holds tasks; @to if none does. */
WEIR_HELPER u32 work_stealing_next(const struct work_stealing weir_mem *self weir_arg, u32 from,
				   u32 to)
{
	while (from < to && weir_loop) {
		u64 bits = weir_load(&self->queued.word[from / 64]) >> (from % 64);

		if (bits) {
			from += weir_lowest_bit(bits);
			return from < to ? from : to;
		}
		from = (from / 64 + 1) * 64;
	}
	return to;
}

/* Tasks that the pipe can do without: a CPU that runs none is about to take one of them. */
WEIR_HELPER u32 work_stealing_spare(struct weir_pipe weir_mem *pipe weir_arg)
{
	u32 nr = weir_pipe_nr(pipe), idle;

	if (!nr)
		return 0;
	return weir_pipe_load(pipe, &idle) > nr ? nr : nr - 1;
}

/* Loaded pipes compared before one is chosen: enough to find a long one, few on a large machine. */
#define WORK_STEALING_LOOK 64u

/* 1 + the place of the pipe with the most to spare among places @from to before @to, or 0. */
static u32 work_stealing_victim(struct work_stealing weir_mem *self, u32 from, u32 to)
{
	u32 best = weir_unknown(0u), most = weir_unknown(0u), looked = weir_unknown(0u);

	for (u32 i = work_stealing_next(self, from, to);
	     i < to && looked < WORK_STEALING_LOOK && weir_loop;
	     i = work_stealing_next(self, i + 1, to)) {
		struct weir_pipe weir_mem *out = weir_out(&self->inst, self->order[i]);
		u32 spare = work_stealing_spare(out);

		if (!weir_pipe_nr(out)) {
			/* A CPU that fills it in between sets the bit again after us. */
			weir_mask_clear(&self->queued, i);
			if (weir_pipe_nr(out))
				weir_mask_set(&self->queued, i);
		}
		looked += spare != 0;
		if (spare > most) {
			best = i + 1;
			most = spare;
		}
	}
	weir_note_scan(&self->inst, looked + (to - from + 63) / 64);
	return best;
}

static int work_stealing_may(struct work_stealing weir_mem *self, struct weir_task weir_mem *t,
			     u32 cpu)
{
	const struct weir_cpumask weir_mem *mask = weir_affinity(self->inst.sched, t);

	return !mask || weir_mask_test(mask, cpu);
}

/* The last task of @victim that may run on @cpu, or null; it may be gone when the caller looks again. */
static struct weir_task weir_mem *work_stealing_last(struct work_stealing weir_mem *self,
						     struct weir_pipe weir_mem *victim, u32 cpu)
{
	/* Where its tasks wait. */
	struct weir_pipe weir_mem *exit = victim->home ? victim->home : victim;
	struct weir_task weir_mem *t;
	u64 n = 0;

	if (weir_pipe_lock(exit))
		return 0;
	for (t = exit->tail; t && n < self->reach && weir_loop; t = t->prev) {
		if (weir_state(t) == WEIR_SCHEDULABLE && work_stealing_may(self, t, cpu) &&
		    weir_port_of(&self->inst, t) == victim->from_port)
			break;
		n++;
	}
	weir_pipe_unlock(exit);
	return n < self->reach ? t : 0;
}

/* Whether @t may run there is looked at again in its REVIEW. */
WEIR_HELPER int work_stealing_from(struct work_stealing weir_mem *self weir_arg,
				   struct weir_pipe weir_mem *victim weir_arg, u32 cpu)
{
	struct weir_task weir_mem *t = work_stealing_last(self, victim, cpu);

	return t && !weir_move(&self->inst, t, self->map.port[cpu] - 1);
}

/* Fetch a task for @cpu from places @from to before @to: the longest pipe, else any. 1: done. */
WEIR_HELPER int work_stealing_fetch(struct work_stealing weir_mem *self weir_arg, u32 cpu, u32 from,
				    u32 to)
{
	u32 place = work_stealing_victim(self, from, to);
	struct weir_pipe weir_mem *victim;

	if (!place)
		return 0;
	victim = weir_out(&self->inst, self->order[place - 1]);
	if (work_stealing_from(self, victim, cpu))
		return 1;
	for (u32 i = work_stealing_next(self, from, to); i < to && weir_loop;
	     i = work_stealing_next(self, i + 1, to)) {
		struct weir_pipe weir_mem *out = weir_out(&self->inst, self->order[i]);

		if (out != victim && work_stealing_spare(out) && work_stealing_from(self, out, cpu))
			return 1;
	}
	return 0;
}

WEIR_ENTRY int work_stealing_construct(struct work_stealing weir_mem *self)
{
	u64 nr = self->inst.nr_out;

	if (nr > WEIR_MAX_CPUS)
		return -WEIR_EPORTS;
	self->order = weir_instance_alloc(&self->inst, nr * sizeof(u32));
	self->place = weir_instance_alloc(&self->inst, nr * sizeof(u32));
	self->count = weir_instance_alloc(&self->inst,
					  ((u64)weir_nr_cpus(self->inst.sched) + 1) * sizeof(u32));
	self->llc = weir_instance_alloc(&self->inst, nr * sizeof(struct work_stealing_range));
	self->node = weir_instance_alloc(&self->inst, nr * sizeof(struct work_stealing_range));
	if (!self->order || !self->place || !self->count || !self->llc || !self->node)
		return -WEIR_ENOMEM;
	work_stealing_sort(self, 0);
	work_stealing_sort(self, 1);
	self->single = 1;
	for (u32 i = 0; i < nr && weir_loop; i++) {
		self->place[self->order[i]] = i;
		self->single &= weir_out(&self->inst, i)->nr_cpus == 1;
	}
	self->sorted = self->single;
	work_stealing_groups(self, 0);
	work_stealing_groups(self, 1);
	return weir_port_map(&self->inst, &self->map);
}

/*
 * (Who looks at the pipe before the task is linked there finds it empty and clears the bit: then it is missing until a task comes there
 * again, one slice at most.)
 */
WEIR_ENTRY u32 work_stealing_step(struct work_stealing weir_mem *self, u32 what,
				  struct weir_task weir_mem *t, struct weir_step weir_mem *s)
{
	const struct weir_cpumask weir_mem *mask = weir_affinity(self->inst.sched, t);
	u32 port = weir_stays(&self->inst, what, t, mask);

	if (s->runs)
		return port;
	if (s->want < self->inst.nr_out && weir_pipe_allows(weir_out(&self->inst, s->want), mask))
		port = s->want;
	if (port == WEIR_WITHHOLD)
		port = weir_send(&self->inst, what, t, work_stealing_choose(self, t, mask));
	if (port < self->inst.nr_out && !weir_mask_test(&self->queued, self->place[port]))
		weir_mask_set(&self->queued, self->place[port]);
	return port;
}

WEIR_ENTRY int work_stealing_on_cpu_status(struct work_stealing weir_mem *self,
					   const struct weir_msg *msg)
{
	(void)msg;
	return weir_review_all(&self->inst);
}

/* Same LLC, then same node, then anywhere. */
WEIR_ENTRY int work_stealing_on_idle(struct work_stealing weir_mem *self, u32 cpu)
{
	u32 port = cpu < self->map.nr ? self->map.port[cpu] : 0;
	struct work_stealing_range weir_mem *llc;
	struct work_stealing_range weir_mem *node;

	if (!port)
		return 0;
	llc = &self->llc[self->place[port - 1]];
	node = &self->node[self->place[port - 1]];
	return work_stealing_fetch(self, cpu, llc->begin, llc->end) ||
	       work_stealing_fetch(self, cpu, node->begin, llc->begin) ||
	       work_stealing_fetch(self, cpu, llc->end, node->end) ||
	       work_stealing_fetch(self, cpu, node->end, self->inst.nr_out) ||
	       work_stealing_fetch(self, cpu, 0, node->begin);
}
