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
 * cost:      O(words of CPUs) per added task, O(out-pipes of the LLC, the node, then all) when a
 *            CPU runs dry, O(tasks) when a CPU comes or goes; takes the in-pipe lock and one out-
 *            pipe lock
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

struct work_stealing {
	struct weir_instance inst;
	struct weir_port_map map;
	u64 reach; /* (c) tasks looked at in a victim's pipe, from its tail */
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
	near = weir_port_to(&self->inst, &self->map, weir_idle_near(weir_in(&self->inst, 0), t, mask));
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

WEIR_ENTRY int work_stealing_construct(struct work_stealing weir_mem *self)
{
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

/*
 * Tasks that wait in the pipe behind a running one; where none runs the CPU is about to take them.
 */
static u32 work_stealing_spare(struct weir_pipe weir_mem *pipe)
{
	u32 idle, load = weir_pipe_load(pipe, &idle);
	u32 nr = weir_pipe_nr(pipe);

	return load > nr ? nr : 0;
}

/* The pipe with the most to spare among those no further away than @limit, for @cpu. */
static struct weir_pipe weir_mem *work_stealing_victim(struct work_stealing weir_mem *self, u32 cpu,
						       u32 limit)
{
	struct weir_pipe weir_mem *mine = weir_port_to(&self->inst, &self->map, cpu), *best = 0;
	u32 most = 0;

	for (u32 i = 0; i < self->inst.nr_out && weir_loop; i++) {
		struct weir_pipe weir_mem *out = weir_out(&self->inst, i);
		u32 spare;

		if (out == mine || !weir_pipe_nr(out) ||
		    weir_distance(self->inst.sched, cpu, out->cpu) > limit)
			continue;
		spare = work_stealing_spare(out);
		if (spare > most) {
			best = out;
			most = spare;
		}
	}
	weir_note_scan(&self->inst, self->inst.nr_out);
	return best;
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
		const struct weir_cpumask weir_mem *mask = weir_affinity(self->inst.sched, t);

		if (weir_load(&t->state) == WEIR_SCHEDULABLE &&
		    (!mask || weir_mask_test(mask, cpu)))
			break;
		n++;
	}
	weir_pipe_unlock(victim);
	return n < self->reach ? t : 0;
}

/* Move @t from @victim to the pipe of @cpu. 1: done. */
static int work_stealing_take(struct work_stealing weir_mem *self, struct weir_task weir_mem *t,
			      struct weir_pipe weir_mem *victim, u32 cpu)
{
	struct weir_pipe weir_mem *in = weir_holder(&self->inst, t);
	int taken = 0;

	if (!in || weir_pipe_lock(in))
		return 0;
	if (weir_pipe_has(in, t) && weir_out_of(&self->inst, t) == victim)
		taken = !weir_route(&self->inst, in, t, weir_port_to(&self->inst, &self->map, cpu));
	weir_pipe_unlock(in);
	return taken;
}

/* Same LLC, then same node, then anywhere. */
WEIR_ENTRY int work_stealing_on_idle(struct work_stealing weir_mem *self, u32 cpu)
{
	u32 waiting = 0;

	if (!weir_port_to(&self->inst, &self->map, cpu))
		return 0;
	for (u32 i = 0; i < self->inst.nr_in && !waiting && weir_loop; i++)
		waiting = weir_pipe_nr(weir_in(&self->inst, i));
	for (u32 limit = 1; waiting && limit <= 3 && weir_loop; limit++) {
		struct weir_pipe weir_mem *victim = work_stealing_victim(self, cpu, limit);
		struct weir_task weir_mem *t = victim ? work_stealing_last(self, victim, cpu) : 0;

		if (t && work_stealing_take(self, t, victim, cpu))
			return 1;
	}
	return 0;
}
