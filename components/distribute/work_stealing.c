/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * work_stealing - keep tasks near where they ran, let idle CPUs fetch from loaded ones
 *
 * class:     distribute
 * pipes:     in 1.., out 1..
 * listens:   AFFINITY: move the task if it must. CPU_STATUS: look at all tasks again
 * publishes: WITHHELD: no CPU that the task may use is there
 * asks:      AFFINITY: where the task may run; needed
 * answers:   -
 * params:    reach count 8 [1, 4096]; tasks looked at in another CPU's pipe for one that may move
 * cost:      O(words of CPUs) per added task; O(out-pipes of the LLC, else of the node, else all)
 *            when a CPU runs dry; O(tasks) when a CPU comes or goes; takes the in-pipe lock and one
 *            out-pipe lock
 * batch:     each task is in one out-pipe that leads to an online CPU which it may use, or is
 *            withheld if there is none; every out-pipe keeps the order of each in-pipe
 * source:    ours, after Blumofe and Leiserson, "Scheduling multithreaded computations by work
 *            stealing", 1999, and Mitzenmacher, "The power of two choices", 2001
 *
 * A task goes back to the CPU where it last ran if that one is idle, else to the nearest idle CPU
 * by core, LLC and node, else to the shorter of two pipes: its last one and a random one. A CPU
 * that finds nothing takes the last task of the longest pipe near it that has one waiting behind a
 * running one: of its LLC, else of its node, else of the machine. Placing costs little, so this
 * suits many CPUs.
 *
 * example:   annotate affinity; entry -> work_stealing -> each cpu { round_robin -> cpu };
 */
#include <weir/component.h>
#include <weir/schedule.h>

struct work_stealing {
	struct weir_instance inst;
	struct weir_port_map map;
	u64 reach;	     /* (c) tasks looked at in a victim's pipe, from its tail */
	u32 weir_mem *order; /* own lock until known, then (c): ports by node, then by LLC */
	u32 weir_mem *place; /* as @order; by port: where it stands there */
	u32 weir_mem *count; /* own lock; for sorting */
	u32 known;	     /* (a) @order is filled in */
};

WEIR_COMPONENT(
	work_stealing,
	.summary = "keep tasks near where they ran, let idle CPUs fetch from loaded ones",
	.cls = WEIR_DISTRIBUTE, .ordering = WEIR_KEEPS, .in_min = 1, .in_max = WEIR_ANY,
	.out_min = 1, .out_max = WEIR_ANY,
	.listens = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(CPU_STATUS),
	.publishes = WEIR_TOPIC_BIT(WITHHELD), .asks = WEIR_TOPIC_BIT(AFFINITY),
	.needs = WEIR_TOPIC_BIT(AFFINITY),
	WEIR_PARAMS(work_stealing,
		    WEIR_PARAM(work_stealing, reach, COUNT, 8, 1, 4096,
			       "tasks looked at in another CPU's pipe for one that may move")));

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

static struct weir_pipe weir_mem *work_stealing_choose(struct work_stealing weir_mem *self,
						       struct weir_task weir_mem *t,
						       const struct weir_cpumask weir_mem *mask)
{
	struct weir_pipe weir_mem *last = weir_port_to(&self->inst, &self->map, weir_load(&t->cpu));
	struct weir_pipe weir_mem *near;
	u32 idle;

	if (last && !weir_pipe_allows(last, mask))
		last = 0;
	if (last) {
		weir_pipe_load(last, &idle);
		if (idle)
			return last;
	}
	near = weir_port_to(&self->inst, &self->map,
			    weir_idle_near(weir_in(&self->inst, 0), t, mask));
	return near ? near : work_stealing_shorter(self, last, mask);
}

/*
 * Nothing happens to a task that may stay, that cannot go on, or that update has still to look at.
 */
static int work_stealing_review(struct work_stealing weir_mem *self, struct weir_pipe weir_mem *in,
				struct weir_task weir_mem *t,
				const struct weir_cpumask weir_mem *mask)
{
	struct weir_pipe weir_mem *now = weir_out_of(&self->inst, t);
	struct weir_pipe weir_mem *to;

	if (weir_pending(in, t) || (now && weir_pipe_allows(now, mask)))
		return 0;
	to = work_stealing_choose(self, t, mask);
	return now == to ? 0 : weir_route(&self->inst, in, t, to);
}

static int work_stealing_review_all(struct work_stealing weir_mem *self,
				    struct weir_pipe weir_mem *in)
{
	struct weir_task weir_mem *t;
	int err = weir_pipe_lock(in);

	if (err)
		return err;
	weir_for_task(t, in) {
		err = work_stealing_review(self, in, t, weir_affinity(self->inst.sched, t));
		if (err)
			break;
	}
	weir_pipe_unlock(in);
	return err;
}

/* LLC or node of an out-pipe, below the number of CPUs. */
static u32 work_stealing_group(const struct work_stealing weir_mem *self, u32 port, int node)
{
	struct weir_sched weir_mem *s = self->inst.sched;
	u32 cpu = weir_out(&self->inst, port)->cpu;
	u32 group;

	if (cpu >= s->nr_cpus)
		return 0;
	group = node ? s->cpus[cpu].node : s->cpus[cpu].llc;
	return group < s->nr_cpus ? group : s->nr_cpus - 1;
}

/* Counting sort, stable; @from null: the ports as they are numbered. */
static void work_stealing_sort(struct work_stealing weir_mem *self, const u32 weir_mem *from,
			       u32 weir_mem *to, int node)
{
	u32 nr = self->inst.nr_out, i;

	for (i = 0; i <= self->inst.sched->nr_cpus && weir_loop; i++)
		self->count[i] = 0;
	for (i = 0; i < nr && weir_loop; i++)
		self->count[work_stealing_group(self, i, node) + 1]++;
	for (i = 0; i < self->inst.sched->nr_cpus && weir_loop; i++)
		self->count[i + 1] += self->count[i];
	for (i = 0; i < nr && weir_loop; i++) {
		u32 port = from ? from[i] : i;

		to[self->count[work_stealing_group(self, port, node)]++] = port;
	}
}

/* When construct runs the framework does not know the CPUs yet. */
static void work_stealing_learn(struct work_stealing weir_mem *self)
{
	if (weir_spin_lock(&self->inst.lock))
		return;
	if (!self->known) {
		work_stealing_sort(self, 0, self->place, 0);
		work_stealing_sort(self, self->place, self->order, 1);
		for (u32 i = 0; i < self->inst.nr_out && weir_loop; i++)
			self->place[self->order[i]] = i;
		weir_store_release(&self->known, 1);
	}
	weir_spin_unlock(&self->inst.lock);
}

/* Tasks that the pipe can do without: a CPU that runs none is about to take one of them. */
static u32 work_stealing_spare(struct weir_pipe weir_mem *pipe)
{
	u32 nr = weir_pipe_nr(pipe), idle;

	if (!nr)
		return 0;
	return weir_pipe_load(pipe, &idle) > nr ? nr : nr - 1;
}

/* The pipe with the most to spare among places @from to before @to, or null. */
static struct weir_pipe weir_mem *work_stealing_victim(struct work_stealing weir_mem *self,
						       u32 from, u32 to)
{
	struct weir_pipe weir_mem *best = 0;
	u32 most = 0;

	for (u32 i = from; i < to && weir_loop; i++) {
		struct weir_pipe weir_mem *out = weir_out(&self->inst, self->order[i]);
		u32 spare = work_stealing_spare(out);

		if (spare > most) {
			best = out;
			most = spare;
		}
	}
	weir_note_scan(&self->inst, to - from);
	return best;
}

static int work_stealing_may(struct work_stealing weir_mem *self, struct weir_task weir_mem *t,
			     u32 cpu)
{
	const struct weir_cpumask weir_mem *mask = weir_affinity(self->inst.sched, t);

	return !mask || weir_mask_test(mask, cpu);
}

/*
 * The last task of @victim that may run on @cpu, or null; it may be gone when the caller looks
 * again.
 */
static struct weir_task weir_mem *work_stealing_last(struct work_stealing weir_mem *self,
						     struct weir_pipe weir_mem *victim, u32 cpu)
{
	struct weir_task weir_mem *t;
	u64 n = 0;

	if (weir_pipe_lock(victim))
		return 0;
	for (t = victim->tail; t && n < self->reach && weir_loop; t = weir_pipe_prev(victim, t)) {
		if (weir_load(&t->state) == WEIR_SCHEDULABLE && work_stealing_may(self, t, cpu))
			break;
		n++;
	}
	weir_pipe_unlock(victim);
	return n < self->reach ? t : 0;
}

/*
 * Move @t from @victim to the pipe of @cpu. 1: done. Only under the in-pipe's lock is what is known
 * of the task certain: a change of its affinity that we do not see now is followed after us.
 */
static int work_stealing_take(struct work_stealing weir_mem *self, struct weir_task weir_mem *t,
			      struct weir_pipe weir_mem *victim, u32 cpu)
{
	struct weir_pipe weir_mem *in = weir_holder(&self->inst, t);
	int taken = 0;

	if (!in || weir_pipe_lock(in))
		return 0;
	if (weir_pipe_has(in, t) && weir_out_of(&self->inst, t) == victim &&
	    work_stealing_may(self, t, cpu))
		taken = !weir_route(&self->inst, in, t, weir_port_to(&self->inst, &self->map, cpu));
	weir_pipe_unlock(in);
	return taken;
}

static int work_stealing_from(struct work_stealing weir_mem *self,
			      struct weir_pipe weir_mem *victim, u32 cpu)
{
	struct weir_task weir_mem *t = work_stealing_last(self, victim, cpu);

	return t && work_stealing_take(self, t, victim, cpu);
}

/* Fetch a task for @cpu from places @from to before @to: the longest pipe, else any. 1: done. */
static int work_stealing_fetch(struct work_stealing weir_mem *self, u32 cpu, u32 from, u32 to)
{
	struct weir_pipe weir_mem *victim = work_stealing_victim(self, from, to);

	if (!victim)
		return 0;
	if (work_stealing_from(self, victim, cpu))
		return 1;
	for (u32 i = from; i < to && weir_loop; i++) {
		struct weir_pipe weir_mem *out = weir_out(&self->inst, self->order[i]);

		if (out != victim && work_stealing_spare(out) && work_stealing_from(self, out, cpu))
			return 1;
	}
	return 0;
}

/* First place of those around @place, itself among them, that are of the same LLC or node. */
static u32 work_stealing_first(const struct work_stealing weir_mem *self, u32 place, int node)
{
	u32 group = work_stealing_group(self, self->order[place], node);

	while (place > 0 && weir_loop) {
		if (work_stealing_group(self, self->order[place - 1], node) != group)
			break;
		place--;
	}
	return place;
}

/* The place behind the last of them. */
static u32 work_stealing_end(const struct work_stealing weir_mem *self, u32 place, int node)
{
	u32 group = work_stealing_group(self, self->order[place], node);

	while (place < self->inst.nr_out && weir_loop) {
		if (work_stealing_group(self, self->order[place], node) != group)
			break;
		place++;
	}
	return place;
}

WEIR_ENTRY int work_stealing_construct(struct work_stealing weir_mem *self)
{
	u64 ports = (u64)self->inst.nr_out * sizeof(u32);

	self->order = weir_instance_alloc(&self->inst, ports);
	self->place = weir_instance_alloc(&self->inst, ports);
	self->count = weir_instance_alloc(&self->inst,
					  ((u64)self->inst.sched->nr_cpus + 1) * sizeof(u32));
	if (!self->order || !self->place || !self->count)
		return -WEIR_ENOMEM;
	return weir_port_map(&self->inst, &self->map);
}

WEIR_ENTRY int work_stealing_update(struct work_stealing weir_mem *self,
				    struct weir_pipe weir_mem *in)
{
	struct weir_change weir_mem *c;
	int err;

	weir_for_change(c, in) {
		struct weir_task weir_mem *t = c->task;
		const struct weir_cpumask weir_mem *mask = weir_affinity(self->inst.sched, t);
		struct weir_pipe weir_mem *to = weir_out_of(&self->inst, t);

		if (!to || !weir_pipe_allows(to, mask))
			to = work_stealing_choose(self, t, mask);
		err = weir_route(&self->inst, in, t, to);
		if (err)
			return err;
	}
	return 0;
}

WEIR_ENTRY int work_stealing_on_cpu_status(struct work_stealing weir_mem *self,
					   const struct weir_msg *msg)
{
	int err = 0;

	(void)msg;
	for (u32 i = 0; i < self->inst.nr_in && !err && weir_loop; i++)
		err = work_stealing_review_all(self, weir_in(&self->inst, i));
	return err;
}

WEIR_ENTRY int work_stealing_follow_affinity(struct work_stealing weir_mem *self,
					     const struct weir_msg *msg,
					     struct weir_pipe weir_mem *in)
{
	return work_stealing_review(self, in, msg->task, msg->mask);
}

/* Same LLC, then same node, then anywhere. */
WEIR_ENTRY int work_stealing_on_idle(struct work_stealing weir_mem *self, u32 cpu)
{
	u32 port = cpu < self->map.nr ? self->map.port[cpu] : 0;
	u32 waiting = 0, place, llc, llc_end, node, node_end;

	for (u32 i = 0; i < self->inst.nr_in && !waiting && weir_loop; i++)
		waiting = weir_pipe_nr(weir_in(&self->inst, i));
	if (!port || !waiting)
		return 0;
	if (!weir_load_acquire(&self->known))
		work_stealing_learn(self);
	place = self->place[port - 1];
	llc = work_stealing_first(self, place, 0);
	llc_end = work_stealing_end(self, place, 0);
	if (work_stealing_fetch(self, cpu, llc, llc_end))
		return 1;
	node = work_stealing_first(self, llc, 1);
	node_end = work_stealing_end(self, llc, 1);
	if (work_stealing_fetch(self, cpu, node, llc) ||
	    work_stealing_fetch(self, cpu, llc_end, node_end))
		return 1;
	return work_stealing_fetch(self, cpu, node_end, self->inst.nr_out) ||
	       work_stealing_fetch(self, cpu, 0, node);
}
