/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * fair_balancer - place and move tasks as Linux does: near, idle first, even in weight
 *
 * class:     distribute
 * pipes:     in 1.., out 1..
 * listens:   AFFINITY: move the task if it must. CPU_STATUS: look at all tasks again. DISPATCH, BLOCK, EXIT: how
 *            much each task runs. TICK: even the load out
 * publishes: WITHHELD: no CPU that the task may use is there
 * asks:      AFFINITY: where the task may run, and WEIGHT; both needed
 * answers:   -
 * kernel:    no, its calls are nested deeper than the verifier allows
 * params:    affine flag 1 [0, 1]; a task that wakes may come to the CPU of who woke it
 *            hot ns 500000 [0, 1000000000]; a task that ran so lately stays with its cache
 *            imbalance pct 117 [100, 1000]; load of another CPU, of one's own, that is worth a move
 *            interval ns 16000000 [100000, 10000000000]; between two looks of a busy CPU at the others
 *            reach count 8 [1, 4096]; tasks looked at in another CPU's pipe for one that may move
 * per-task:  56 bytes
 * cost:      O(idle CPUs) for a task that wakes, O(1) for one that gave up its CPU, O(out-pipes) for a new one and
 *            for a CPU that looks for work or has its look at the others; O(tasks) when a CPU comes or goes; takes
 *            the in-pipe lock and one out-pipe lock
 * batch:     each task is in one out-pipe that leads to an online CPU which it may use, or is withheld if there is
 *            none; every out-pipe keeps the order of each in-pipe
 * source:    Linux 6.12, kernel/sched/fair.c: select_task_rq_fair(), newidle_balance(), load_balance(); pelt.c
 *
 * A task that gave up its CPU stays there. One that wakes goes to where it was or to the CPU of who woke it, whichever
 * is idle, else has the smaller load; and from there to an idle CPU of the same last-level cache: a core of which
 * no thread is busy comes before one whose sibling is, and where CPUs differ only those count that the task fits,
 * with a quarter to spare. New tasks go to the least loaded CPU of all. A CPU that runs dry takes a task from the
 * nearest CPU that can spare one: of its core, its cache, its node, the machine. At ticks a CPU with more than it runs
 * hands a task to an idle one, and now and then takes one from the most loaded CPU, if that has a good deal more.
 *
 * Load is tracked by weight and time (weir/pelt.h). Less than in Linux: tasks that run are never moved, groups of
 * CPUs are compared by their most loaded member only, and nobody learns who wakes whom.
 *
 * example:   annotate affinity, weight, fair;
 *            entry -> fair_balancer -> each cpu { eevdf -> cpu };
 */
#include <weir/pelt.h>
#include <weir/schedule.h>

struct fair_balancer_task {
	struct weir_pelt pelt; /* (l) load 1 while it is runnable */
	u64 stopped;	       /* (l) ns; when it ran last */
	u32 port;	       /* (l) 1 + the pipe where it is or was, 0: none */
	u32 weight;	       /* (l) that counts there, 0: it is not runnable */
	u32 running;	       /* (l) capacity of the CPU it runs on, 0: it does not */
	u32 unused;
};

struct fair_balancer_port {
	struct weir_pelt pelt; /* (l) */
	u64 load;	       /* (l) weights of its runnable tasks */
	u64 next;	       /* (l) ns; when its CPU looks at the others again */
};

struct fair_balancer {
	struct weir_instance inst;
	struct weir_port_map map;
	u64 affine;    /* (c) */
	u64 hot;       /* (c) ns */
	u64 imbalance; /* (c) percent */
	u64 interval;  /* (c) ns */
	u64 reach;     /* (c) */
	u32 differ;    /* (c) CPUs do, in capacity */
	u32 unused;
	struct fair_balancer_port weir_mem *port; /* (l) */
	struct weir_cpumask queued; /* (a) by port: it holds tasks, or did a moment ago */
};

WEIR_COMPONENT(
	fair_balancer,
	.summary = "place and move tasks as Linux does: near, idle first, even in weight",
	.cls = WEIR_DISTRIBUTE, .ordering = WEIR_KEEPS, .in_min = 1, .in_max = WEIR_ANY,
	.out_min = 1, .out_max = WEIR_ANY,
	.listens = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(CPU_STATUS) |
		   WEIR_TOPIC_BIT(DISPATCH) | WEIR_TOPIC_BIT(BLOCK) | WEIR_TOPIC_BIT(EXIT) |
		   WEIR_TOPIC_BIT(TICK),
	.publishes = WEIR_TOPIC_BIT(WITHHELD),
	.asks = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(WEIGHT),
	.needs = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(WEIGHT),
	.per_task = sizeof(struct fair_balancer_task),
	WEIR_PARAMS(fair_balancer,
		    WEIR_PARAM(fair_balancer, affine, FLAG, 1, 0, 1,
			       "a task that wakes may come to the CPU of who woke it"),
		    WEIR_PARAM(fair_balancer, hot, NS, 500000, 0, 1000000000,
			       "a task that ran so lately stays with its cache"),
		    WEIR_PARAM(fair_balancer, imbalance, PCT, 117, 100, 1000,
			       "load of another CPU, of one's own, that is worth a move"),
		    WEIR_PARAM(fair_balancer, interval, NS, 16000000, 100000, 10000000000ull,
			       "between two looks of a busy CPU at the others"),
		    WEIR_PARAM(fair_balancer, reach, COUNT, 8, 1, 4096,
			       "tasks looked at in another CPU's pipe for one that may move")));

static int fair_balancer_idle(const struct weir_sched weir_mem *s, u32 cpu)
{
	return weir_mask_test(s->idle, cpu) && weir_load(&s->cpus[cpu].online);
}

static int fair_balancer_may(const struct weir_sched weir_mem *s, u32 cpu,
			     const struct weir_cpumask weir_mem *mask)
{
	return cpu < s->nr_cpus && weir_load(&s->cpus[cpu].online) &&
	       (!mask || weir_mask_test(mask, cpu));
}

/* --- load; the lock of the instance is held ------------------------------------------------------- */

/* Up to now the task was what it was. */
static void fair_balancer_track(struct fair_balancer_task weir_mem *p, u64 now)
{
	weir_pelt_update(&p->pelt, now, p->weight != 0, p->running);
}

static void fair_balancer_count(struct fair_balancer weir_mem *self, u32 port, u64 add, u64 take,
				u64 now)
{
	struct fair_balancer_port weir_mem *q;

	if (!port || port > self->inst.nr_out)
		return;
	q = &self->port[port - 1];
	weir_pelt_update(&q->pelt, now, q->load, 0);
	q->load = q->load + add > take ? q->load + add - take : 0;
}

/* The task is runnable, in out-pipe @port - 1; 0: in none. */
static void fair_balancer_enter(struct fair_balancer weir_mem *self,
				struct fair_balancer_task weir_mem *p, u32 port, u32 weight,
				u64 now)
{
	fair_balancer_track(p, now);
	if (p->running)
		p->stopped = now;
	p->running = 0;
	fair_balancer_count(self, p->port, 0, p->weight, now);
	fair_balancer_count(self, port, weight, 0, now);
	p->weight = weight;
	p->port = port;
}

/* Mean load of a CPU, as it is now. */
static u64 fair_balancer_load(struct fair_balancer weir_mem *self, u32 cpu, u64 now)
{
	u32 port = cpu < self->map.nr ? self->map.port[cpu] : 0;

	if (!port)
		return ~0ull >> 20;
	fair_balancer_count(self, port, 0, 0, now);
	return weir_pelt_load(&self->port[port - 1].pelt);
}

/* --- where to ----------------------------------------------------------------------------------------- */

/* No thread of the CPU's core is busy. */
static int fair_balancer_core_idle(const struct weir_pipe weir_mem *in, u32 cpu)
{
	const struct weir_sched weir_mem *s = in->sched;
	u32 first = cpu & ~63u;

	/* Threads of a core are numbered as neighbours, or a half of the machine apart: the latter are not looked at. */
	for (u32 i = first; i < first + 64 && i < s->nr_cpus && weir_loop; i++)
		if (i != cpu && s->cpus[i].core == s->cpus[cpu].core && !weir_mask_test(s->idle, i))
			return 0;
	return 1;
}

/* The CPU has a quarter more than the task used of late. */
static int fair_balancer_fits(const struct fair_balancer weir_mem *self, u32 cpu, u64 util)
{
	return !self->differ || util * 5 / 4 < self->inst.sched->cpus[cpu].capacity ||
	       self->inst.sched->cpus[cpu].capacity >= 1024;
}

/* An idle CPU of @target's cache that the task fits; with the largest capacity if it fits none; WEIR_NO_CPU: none idle. */
static u32 fair_balancer_sibling(struct fair_balancer weir_mem *self, u32 target, u32 prev,
				 u64 util, const struct weir_cpumask weir_mem *mask)
{
	const struct weir_pipe weir_mem *in = weir_in(&self->inst, 0);
	struct weir_sched weir_mem *s = self->inst.sched;
	u32 best = WEIR_NO_CPU, rank = 0, n = 0;

	if (fair_balancer_idle(s, target) && fair_balancer_fits(self, target, util) &&
	    fair_balancer_may(s, target, mask))
		return target;
	if (prev != target && fair_balancer_may(s, prev, mask) && fair_balancer_idle(s, prev) &&
	    weir_distance(s, prev, target) < 2 && fair_balancer_fits(self, prev, util))
		return prev;
	for (u32 w = in->word_lo; w <= in->word_hi && weir_loop; w++) {
		u64 bits = in->cpus->word[w] & weir_load(&s->idle->word[w]);

		if (mask)
			bits &= weir_load(&mask->word[w]);
		while (bits && weir_loop) {
			u32 cpu = w * 64 + weir_lowest_bit(bits), have;

			bits &= bits - 1;
			n++;
			/* Where CPUs differ, all of the node's are as good as those of one cache. */
			if (!weir_load(&s->cpus[cpu].online) ||
			    weir_distance(s, target, cpu) > 1 + (self->differ != 0))
				continue;
			have = fair_balancer_fits(self, cpu, util) ? 1u << 20
								   : s->cpus[cpu].capacity;
			have += have >= 1u << 20 && fair_balancer_core_idle(in, cpu) ? 1 : 0;
			if (have > rank) {
				rank = have;
				best = cpu;
			}
		}
	}
	weir_note_scan(&self->inst, n + in->word_hi - in->word_lo + 1);
	return best;
}

/* Where a waking task's search begins: where it was, or where it was woken. The lock of the instance is held. */
static u32 fair_balancer_target(struct fair_balancer weir_mem *self, u32 prev, u32 here, u64 load,
				u64 now)
{
	struct weir_sched weir_mem *s = self->inst.sched;
	u64 mine, theirs;

	if (prev == here)
		return prev;
	if (fair_balancer_idle(s, here) && weir_distance(s, here, prev) < 2)
		return fair_balancer_idle(s, prev) ? prev : here;
	if (fair_balancer_idle(s, prev))
		return prev;
	mine = (fair_balancer_load(self, here, now) + load) * s->cpus[prev].capacity * 100;
	theirs = fair_balancer_load(self, prev, now) * s->cpus[here].capacity *
		 (100 + (self->imbalance - 100) / 2);
	return mine < theirs ? here : prev;
}

/* A task without history: a core that is idle, else an idle CPU, else the least load; near @here among equals. */
static u32 fair_balancer_idlest(struct fair_balancer weir_mem *self, u32 here, u64 now,
				const struct weir_cpumask weir_mem *mask)
{
	const struct weir_pipe weir_mem *in = weir_in(&self->inst, 0);
	struct weir_sched weir_mem *s = self->inst.sched;
	u64 best = ~0ull;
	u32 found = WEIR_NO_CPU;

	for (u32 i = 0; i < self->inst.nr_out && weir_loop; i++) {
		u32 cpu = weir_out(&self->inst, i)->cpu;
		u64 load;

		if (!fair_balancer_may(s, cpu, mask))
			continue;
		load = (fair_balancer_load(self, cpu, now) + self->port[i].load) * 1024 /
		       (s->cpus[cpu].capacity ? s->cpus[cpu].capacity : 1024);
		if (!fair_balancer_idle(s, cpu))
			load += 1ull << 40;
		else if (!fair_balancer_core_idle(in, cpu))
			load += 1ull << 39;
		load = load * 4 + (here < s->nr_cpus ? weir_distance(s, here, cpu) : 0);
		if (load < best) {
			best = load;
			found = cpu;
		}
	}
	weir_note_scan(&self->inst, self->inst.nr_out);
	return found;
}

/* The lock of the instance is held. */
static struct weir_pipe weir_mem *fair_balancer_choose(struct fair_balancer weir_mem *self,
						       struct weir_task weir_mem *t,
						       struct fair_balancer_task weir_mem *p,
						       u32 weight, u64 now)
{
	struct weir_sched weir_mem *s = self->inst.sched;
	const struct weir_cpumask weir_mem *mask = weir_affinity(s, t);
	u32 prev = weir_load(&t->cpu), here = weir_load(&t->entry_cpu), cpu = WEIR_NO_CPU;
	u64 util = weir_pelt_util(&p->pelt);
	struct weir_pipe weir_mem *out;

	if (prev < s->nr_cpus && weir_port_to(&self->inst, &self->map, prev)) {
		int came = fair_balancer_may(s, prev, mask);

		cpu = prev;
		if (self->affine && here < s->nr_cpus && fair_balancer_may(s, here, mask) &&
		    weir_port_to(&self->inst, &self->map, here))
			cpu = came ? fair_balancer_target(self, prev, here,
							  weight * weir_pelt_load(&p->pelt), now)
				   : here;
		prev = fair_balancer_sibling(self, cpu, prev, util, mask);
		if (prev != WEIR_NO_CPU)
			cpu = prev;
	}
	if (!fair_balancer_may(s, cpu, mask))
		cpu = fair_balancer_idlest(self, here, now, mask);
	out = cpu < s->nr_cpus ? weir_port_to(&self->inst, &self->map, cpu) : 0;
	return out ? out : weir_first_allowed(&self->inst, mask);
}

/* Count the task, which is in @in, where it goes, and put it there; @anew: it need not stay. */
static int fair_balancer_put(struct fair_balancer weir_mem *self, struct weir_pipe weir_mem *in,
			     struct weir_task weir_mem *t, struct weir_pipe weir_mem *to, int anew)
{
	struct weir_sched weir_mem *s = self->inst.sched;
	struct fair_balancer_task weir_mem *p = weir_priv(&self->inst, t);
	u64 weight = weir_property(s, WEIR_TOPIC_WEIGHT, t), now = weir_now(s);
	int err = weir_spin_lock(&self->inst.lock);
	u32 at;

	if (err)
		return err;
	fair_balancer_track(p, now);
	/* One that gave up its CPU stays where that is. */
	if (!to && !anew && p->weight)
		to = weir_port_to(&self->inst, &self->map, weir_load(&t->cpu));
	if (!to || !weir_pipe_allows(to, weir_affinity(s, t)))
		to = fair_balancer_choose(self, t, p, (u32)weight, now);
	at = to ? to->from_port + 1 : 0;
	fair_balancer_enter(self, p, at, (u32)(weight ? weight : 1), now);
	weir_spin_unlock(&self->inst.lock);
	err = weir_route(&self->inst, in, t, to);
	if (at && !weir_mask_test(&self->queued, at - 1))
		weir_mask_set(&self->queued, at - 1);
	return err;
}

/* Nothing happens to a task that may stay, that cannot go on, or that update has still to look at. */
static int fair_balancer_review(struct fair_balancer weir_mem *self, struct weir_pipe weir_mem *in,
				struct weir_task weir_mem *t,
				const struct weir_cpumask weir_mem *mask)
{
	struct weir_pipe weir_mem *now = weir_out_of(&self->inst, t);

	if (weir_pending(in, t) || (now && weir_pipe_allows(now, mask)) ||
	    (!now && !weir_first_allowed(&self->inst, mask)))
		return 0;
	return fair_balancer_put(self, in, t, 0, 1);
}

WEIR_ENTRY int fair_balancer_construct(struct fair_balancer weir_mem *self)
{
	struct weir_sched weir_mem *s = self->inst.sched;

	if (self->inst.nr_out > WEIR_MAX_CPUS)
		return -WEIR_EPORTS;
	self->port = weir_instance_alloc(&self->inst, (u64)self->inst.nr_out *
							      sizeof(struct fair_balancer_port));
	if (!self->port)
		return -WEIR_ENOMEM;
	for (u32 i = 1; i < s->nr_cpus && weir_loop; i++)
		self->differ |= s->cpus[i].capacity != s->cpus[0].capacity;
	return weir_port_map(&self->inst, &self->map);
}

WEIR_ENTRY int fair_balancer_update(struct fair_balancer weir_mem *self,
				    struct weir_pipe weir_mem *in)
{
	struct weir_change weir_mem *c;
	int err;

	weir_for_change(c, in) {
		err = fair_balancer_put(self, in, c->task, weir_out_of(&self->inst, c->task), 0);
		if (err)
			return err;
	}
	return 0;
}

WEIR_ENTRY int fair_balancer_on_cpu_status(struct fair_balancer weir_mem *self,
					   const struct weir_msg *msg)
{
	int err = 0;

	(void)msg;
	for (u32 i = 0; i < self->inst.nr_in && !err && weir_loop; i++) {
		struct weir_pipe weir_mem *in = weir_in(&self->inst, i);
		struct weir_task weir_mem *t;

		err = weir_pipe_lock(in);
		if (err)
			break;
		weir_for_task(t, in) {
			err = fair_balancer_review(self, in, t, weir_affinity(self->inst.sched, t));
			if (err)
				break;
		}
		weir_pipe_unlock(in);
	}
	return err;
}

WEIR_ENTRY int fair_balancer_follow_affinity(struct fair_balancer weir_mem *self,
					     const struct weir_msg *msg,
					     struct weir_pipe weir_mem *in)
{
	return fair_balancer_review(self, in, msg->task, msg->mask);
}

/* --- how tasks run -------------------------------------------------------------------------------------- */

WEIR_ENTRY int fair_balancer_on_dispatch(struct fair_balancer weir_mem *self,
					 const struct weir_msg *msg)
{
	struct fair_balancer_task weir_mem *p = weir_priv(&self->inst, msg->task);
	int err = weir_spin_lock(&self->inst.lock);

	if (err)
		return err;
	fair_balancer_track(p, weir_now(self->inst.sched));
	if (msg->cpu < self->inst.sched->nr_cpus)
		p->running = self->inst.sched->cpus[msg->cpu].capacity;
	weir_spin_unlock(&self->inst.lock);
	return 0;
}

/* It is not runnable any more. */
static int fair_balancer_leave(struct fair_balancer weir_mem *self, struct weir_task weir_mem *t)
{
	struct fair_balancer_task weir_mem *p = weir_priv(&self->inst, t);
	u32 port = p->port;
	int err = weir_spin_lock(&self->inst.lock);

	if (err)
		return err;
	fair_balancer_enter(self, p, 0, 0, weir_now(self->inst.sched));
	p->port = port;
	weir_spin_unlock(&self->inst.lock);
	return 0;
}

WEIR_ENTRY int fair_balancer_on_block(struct fair_balancer weir_mem *self,
				      const struct weir_msg *msg)
{
	return fair_balancer_leave(self, msg->task);
}

WEIR_ENTRY int fair_balancer_on_exit(struct fair_balancer weir_mem *self,
				     const struct weir_msg *msg)
{
	return fair_balancer_leave(self, msg->task);
}

/* --- evening out ------------------------------------------------------------------------------------------ */

/* A CPU that runs none of the tasks in its pipe is about to take one of them. */
static u32 fair_balancer_spare(struct weir_pipe weir_mem *pipe)
{
	u32 nr = weir_pipe_nr(pipe), idle;

	if (!nr)
		return 0;
	return weir_pipe_load(pipe, &idle) > nr ? nr : nr - 1;
}

/* A task of @from that may move to @cpu, from its tail on; one that ran lately only within a cache. */
static struct weir_task weir_mem *fair_balancer_find(struct fair_balancer weir_mem *self,
						     struct weir_pipe weir_mem *from, u32 cpu)
{
	struct weir_sched weir_mem *s = self->inst.sched;
	int near = weir_distance(s, from->cpu, cpu) < 2;
	u64 n = 0, now = weir_now(s);
	struct weir_task weir_mem *t;

	if (weir_pipe_lock(from))
		return 0;
	for (t = from->tail; t && n < self->reach && weir_loop; t = weir_pipe_prev(from, t)) {
		struct fair_balancer_task weir_mem *p = weir_priv(&self->inst, t);

		if (weir_load(&t->state) == WEIR_SCHEDULABLE &&
		    (near || now - p->stopped >= self->hot) &&
		    fair_balancer_may(s, cpu, weir_affinity(s, t)))
			break;
		n++;
	}
	weir_pipe_unlock(from);
	return n < self->reach ? t : 0;
}

/* Move one task from @from to @cpu's pipe. 1: done. Under the in-pipe's lock what is known of it is certain. */
static int fair_balancer_move(struct fair_balancer weir_mem *self, struct weir_pipe weir_mem *from,
			      u32 cpu)
{
	struct weir_task weir_mem *t = fair_balancer_find(self, from, cpu);
	struct weir_pipe weir_mem *in = t ? weir_holder(&self->inst, t) : 0;
	int moved = 0;

	if (!in || weir_pipe_lock(in))
		return 0;
	if (weir_pipe_has(in, t) && !weir_pending(in, t) && weir_out_of(&self->inst, t) == from &&
	    fair_balancer_may(self->inst.sched, cpu, weir_affinity(self->inst.sched, t)))
		moved = !fair_balancer_put(self, in, t, weir_port_to(&self->inst, &self->map, cpu),
					   1);
	weir_pipe_unlock(in);
	return moved;
}

/*
 * The most loaded pipe that can spare a task, of those at most @far from @cpu and no nearer than @near; null: none.
 */
static struct weir_pipe weir_mem *fair_balancer_busiest(struct fair_balancer weir_mem *self,
							u32 cpu, u32 near, u32 far, u64 *load)
{
	struct weir_pipe weir_mem *best = 0;
	u64 now = weir_now(self->inst.sched), most = 0;
	u32 n = 0;

	for (u32 w = 0; w * 64 < self->inst.nr_out && weir_loop; w++) {
		u64 bits = weir_load(&self->queued.word[w & (WEIR_MASK_WORDS - 1)]);

		while (bits && weir_loop) {
			u32 i = w * 64 + weir_lowest_bit(bits), away;
			struct weir_pipe weir_mem *out = weir_out(&self->inst, i);
			u64 here;

			bits &= bits - 1;
			n++;
			if (!weir_pipe_nr(out)) {
				/* Whoever fills it in between sets the bit again after us. */
				weir_mask_clear(&self->queued, i);
				if (weir_pipe_nr(out))
					weir_mask_set(&self->queued, i);
				continue;
			}
			away = weir_distance(self->inst.sched, cpu, out->cpu);
			if (away < near || away > far || out->cpu == cpu ||
			    !fair_balancer_spare(out))
				continue;
			here = fair_balancer_load(self, out->cpu, now) + 1;
			if (here > most) {
				most = here;
				best = out;
			}
		}
	}
	weir_note_scan(&self->inst, n + (self->inst.nr_out + 63) / 64);
	*load = most;
	return best;
}

/* Same core or cache, then same node, then anywhere. */
WEIR_ENTRY int fair_balancer_on_idle(struct fair_balancer weir_mem *self, u32 cpu)
{
	struct weir_pipe weir_mem *from;
	u64 load;

	if (!weir_port_to(&self->inst, &self->map, cpu))
		return 0;
	for (u32 far = 1; far < 4 && weir_loop; far++) {
		from = fair_balancer_busiest(self, cpu, far == 1 ? 0 : far, far, &load);
		if (from && fair_balancer_move(self, from, cpu))
			return 1;
	}
	return 0;
}

WEIR_ENTRY int fair_balancer_on_tick(struct fair_balancer weir_mem *self,
				     const struct weir_msg *msg)
{
	struct weir_sched weir_mem *s = self->inst.sched;
	struct weir_pipe weir_mem *out = weir_port_to(&self->inst, &self->map, msg->cpu), *from;
	u64 now = weir_now(s), load, mine;
	struct weir_task weir_mem *t;
	u32 idle;

	if (!out)
		return 0;
	/* More than it runs, while another CPU has nothing to do and has not found it. */
	t = weir_load(&s->cpus[msg->cpu].curr);
	if (t && fair_balancer_spare(out)) {
		idle = weir_idle_near(weir_in(&self->inst, 0), t, 0);
		if (idle != WEIR_NO_CPU && fair_balancer_move(self, out, idle))
			return 0;
	}
	if (now < weir_load(&self->port[out->from_port].next))
		return 0;
	weir_store(&self->port[out->from_port].next, now + self->interval);
	from = fair_balancer_busiest(self, msg->cpu, 0, 3, &load);
	if (!from)
		return 0;
	mine = fair_balancer_load(self, msg->cpu, now);
	/* A task's worth of difference, lest the two CPUs hand it to and fro. */
	if (load * 100 > mine * self->imbalance && load - mine > load / (weir_pipe_nr(from) + 1))
		fair_balancer_move(self, from, msg->cpu);
	return 0;
}

WEIR_ENTRY void fair_balancer_take_state(struct fair_balancer weir_mem *self,
					 struct fair_balancer weir_mem *old)
{
	for (u32 i = 0; i < self->inst.nr_out && i < old->inst.nr_out && weir_loop; i++) {
		self->port[i].pelt.at = old->port[i].pelt.at;
		self->port[i].pelt.load_sum = old->port[i].pelt.load_sum;
		self->port[i].pelt.part = old->port[i].pelt.part;
		self->port[i].load = old->port[i].load;
		self->port[i].next = old->port[i].next;
	}
}
