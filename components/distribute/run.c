/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * run - pack tasks into servers and reduce them to uniprocessor problems, solved by deadline
 *
 * class:     distribute
 * pipes:     in 1, out 1..
 * listens:   DISPATCH, BLOCK, EXIT: what runs, and how long. CPU_STATUS: decide again. AFFINITY: a
 *            task that is bound to some CPUs is a background task
 * publishes: PREEMPT: a CPU runs a task that must wait
 * asks:      JOB: execution time and relative deadline; needed. DEADLINE: absolute, ns; needed.
 *            AFFINITY: which CPUs the task may take
 * answers:   -
 * kernel:    on request
 * params:    tasks count 1024 [1, 4096]; most tasks with JOB; others run in the background
 * per-task:  8 bytes, and 364 for each of `tasks`
 * cost:      O(n + CPUs) per event for n real-time tasks, O(n) more per server deadline, O(n^2)
 *            when tasks join or leave; its own lock
 * batch:     each task is in one out-pipe, or waits in the in-pipe; an out-pipe holds no more tasks than
 *            its CPUs were assigned, in the order of the in-pipe
 * source:    Regnier, Lima, Massa, Levin and Brandt, "RUN: optimal multiprocessor real-time scheduling via
 *            reduction to uniprocessor", 2011; whole budgets: docs/decisions/0015
 * long:      the reduction to one CPU and its replay share the servers; halves would share all of
 *            their state
 *
 * Tasks are packed into servers of at most one CPU, first fit by decreasing share. If this takes more servers
 * than CPUs, the complements of the servers are packed in turn, until the packs need whole CPUs
 * (weir/kit/reduce.h). Each level is scheduled by deadline, and so are the tasks of a running server. If the tasks
 * can be partitioned, this is partitioned EDF; otherwise it preempts far less than policies with slices.
 *
 * No deadline is missed if the shares add up to at most the number of CPUs, which must be equal, deadlines are the
 * ends of periods, and all tasks start together. Tasks that join later change the servers: current jobs
 * then keep their remaining time if it fits, and can be late once. Tasks without parameters, and those bound to
 * some of the CPUs, take turns on otherwise idle CPUs.
 *
 * example:   annotate affinity, job, deadline; entry -> run -> each cpu { -> cpu };
 */
#include <weir/kit/fluid.h>
#include <weir/kit/reduce.h>

struct run {
	struct weir_instance inst;
	struct weir_assign assign;
	struct weir_reduction red;
	u64 tasks;	    /* (c) */
	u64 last;	    /* (h) ns; of the last decision */
	u64 origin;	    /* (h) ns; when the servers were packed */
	u32 weir_mem *pick; /* (h) by leaf: 1 + row that it serves, 0: none */
	u32 members;	    /* (h) rows that are packed */
	u32 cpus;	    /* (h) for which they were */
};

enum run_word {
	RUN_FROM,  /* when the job's time began, ns */
	RUN_SPAN,  /* until it ends */
	RUN_BASE,  /* `used` at its beginning */
	RUN_WHOLE, /* span of a whole job */
	RUN_SHARE, /* in 2^-52 */
	RUN_LEAF,  /* 1 + leaf that serves it, 0: none yet */
};

WEIR_COMPONENT(run,
	       .summary = "pack tasks into servers and reduce them to uniprocessor "
			  "problems, solved by deadline",
	       .cls = WEIR_DISTRIBUTE, .kernel = WEIR_KERNEL_ON_REQUEST, .ordering = WEIR_KEEPS,
	       .in_min = 1, .in_max = 1, .out_min = 1, .out_max = WEIR_ANY,
	       .per_task = sizeof(struct weir_rt_task), .listens = WEIR_ASSIGN_LISTENS,
	       .reviews = WEIR_ASSIGN_REVIEWS, .serial = 1, .publishes = WEIR_TOPIC_BIT(PREEMPT),
	       .asks = WEIR_ASSIGN_ASKS, .needs = WEIR_ASSIGN_NEEDS,
	       WEIR_PARAMS(run, WEIR_PARAM(run, tasks, COUNT, 1024, 1, 4096,
					   "most tasks with JOB; others run in the background")));

static u64 run_end(const struct weir_rt weir_mem *r)
{
	return r->x[RUN_FROM] + r->x[RUN_SPAN];
}

static u64 run_need(const struct weir_rt weir_mem *r)
{
	return r->wcet < r->x[RUN_WHOLE] ? r->wcet : r->x[RUN_WHOLE];
}

/* --- jobs -------------------------------------------------------------------------------------- */

/* A job began. 1: the task is not packed, or with another share. */
static int run_begin(struct weir_rt weir_mem *r, u64 now)
{
	u64 span = r->deadline - r->release, share, part;

	if (r->period && r->period < span)
		span = r->period;
	/* Longer than its deadline: a server of a whole CPU until it is done, rather than very many. */
	if (span < r->wcet)
		span = r->wcet;
	r->x[RUN_FROM] = r->release + span > now ? r->release : now;
	r->x[RUN_SPAN] = span;
	r->x[RUN_WHOLE] = span;
	r->x[RUN_BASE] = 0;
	r->used = 0;
	share = weir_share(run_need(r), WEIR_SHARE_ONE, span, &part);
	if (r->x[RUN_LEAF] && share == r->x[RUN_SHARE])
		return 0;
	r->x[RUN_SHARE] = share;
	return 1;
}

/* The time of @r's job is over and no other was announced: its share goes on. */
static void run_roll(struct weir_rt weir_mem *r, u64 now)
{
	u64 end = run_end(r);

	r->x[RUN_SPAN] = r->x[RUN_WHOLE];
	r->x[RUN_FROM] = end + r->x[RUN_SPAN] > now ? end : now;
	r->x[RUN_BASE] = 0;
	r->used = 0;
}

/* Take up what happened to the tasks. 1: they must be packed again. */
WEIR_HELPER int run_take_up(struct run weir_mem *self weir_arg, u64 now)
{
	u32 members = self->members, cpus = weir_assign_cpus(&self->inst, &self->assign);
	int stale = cpus != self->cpus;

	self->members = 0;
	for (u32 i = 0; i < weir_load(&self->assign.nr) && weir_loop; i++) {
		struct weir_rt weir_mem *r = &self->assign.row[i];
		u32 state = r->state;

		if (!r->task || (!(state & WEIR_RT_FRESH) && !r->x[RUN_SPAN]))
			continue;
		self->members++;
		r->state &= ~(u32)(WEIR_RT_FRESH | WEIR_RT_WOKEN | WEIR_RT_WANT);
		if (state & WEIR_RT_FRESH)
			stale |= run_begin(r, now);
		else if (run_end(r) <= now)
			run_roll(r, now);
		else
			continue;
		if (r->x[RUN_LEAF])
			self->red.server[r->x[RUN_LEAF] - 1].stale = 1;
	}
	stale |= members != self->members;
	self->cpus = cpus;
	return stale;
}

/* --- packing ----------------------------------------------------------------------------------- */

/* Jobs under way need from now on what is left of them. */
static void run_rebase(struct weir_rt weir_mem *r, u64 now)
{
	u64 end = run_end(r);

	r->x[RUN_LEAF] = 0;
	if (now <= r->x[RUN_FROM])
		return;
	r->x[RUN_FROM] = now;
	r->x[RUN_SPAN] = end - now;
	r->x[RUN_BASE] = r->used < run_need(r) ? r->used : run_need(r);
}

WEIR_HELPER int run_pack(struct run weir_mem *self weir_arg, u64 now)
{
	self->red.nr = 0;
	self->origin = now;
	for (u32 i = 0; i < weir_load(&self->assign.nr) && weir_loop; i++)
		if (self->assign.row[i].task && self->assign.row[i].x[RUN_SPAN])
			run_rebase(&self->assign.row[i], now);
	while (weir_loop) {
		struct weir_rt weir_mem *best = 0;

		for (u32 i = 0; i < weir_load(&self->assign.nr) && weir_loop; i++) {
			struct weir_rt weir_mem *r = &self->assign.row[i];

			if (r->task && r->x[RUN_SPAN] && !r->x[RUN_LEAF] &&
			    (!best || r->x[RUN_SHARE] > best->x[RUN_SHARE]))
				best = r;
		}
		if (!best)
			break;
		best->x[RUN_LEAF] = weir_reduce_leaf(&self->red, best->x[RUN_SHARE]) + 1;
	}
	weir_note_scan(&self->inst, self->members * self->members);
	return weir_reduce_build(&self->red, self->cpus);
}

/* --- budgets ----------------------------------------------------------------------------------- */

/* What @r is to have run by @at, which may lie in later jobs, in whole and in parts. */
WEIR_FLAT static u64 run_ideal(const struct weir_rt weir_mem *r, u64 at, u64 *part)
{
	u64 need = run_need(r), base = r->x[RUN_BASE], end = run_end(r), over, rest;

	if (at < end) {
		rest = need - base < r->x[RUN_SPAN] ? need - base : r->x[RUN_SPAN];
		return base + weir_share(rest, at > r->x[RUN_FROM] ? at - r->x[RUN_FROM] : 0,
					 r->x[RUN_SPAN], part);
	}
	over = (at - end) / r->x[RUN_WHOLE];
	return need * (1 + over) +
	       weir_share(need, at - end - over * r->x[RUN_WHOLE], r->x[RUN_WHOLE], part);
}

/*
 * What the leaves below @s are to have run by @at, together. Parts of a nanosecond are added up from the
 * root's first leaf on, and the sums rounded up, so that neighbours' budgets add up to those of their servers.
 */
WEIR_HELPER u64 run_measure(struct run weir_mem *self weir_arg,
			    const struct weir_server weir_mem *s weir_arg, u64 at)
{
	u64 before = 0, parts = 0, whole = 0, up = (1ull << WEIR_PART_BITS) - 1, part;

	for (u32 i = 0; i < weir_load(&self->assign.nr) && weir_loop; i++) {
		const struct weir_rt weir_mem *r = &self->assign.row[i];
		u64 ideal;
		u32 place;

		if (!r->task || !r->x[RUN_SPAN] || !r->x[RUN_LEAF])
			continue;
		place = self->red.server[r->x[RUN_LEAF] - 1].first;
		if (place < s->root || place >= s->first + s->nr)
			continue;
		ideal = run_ideal(r, at, &part);
		if (place < s->first) {
			before += part;
		} else {
			parts += part;
			whole += ideal;
		}
	}
	for (u32 i = 0; i < weir_load(&self->red.nr_leaves) && weir_loop; i++) {
		const struct weir_server weir_mem *leaf = &self->red.server[i];
		u64 ideal;

		if (!leaf->fill || leaf->first < s->root || leaf->first >= s->first + s->nr)
			continue;
		ideal = weir_share(leaf->fill, at - self->origin, WEIR_SHARE_ONE, &part);
		if (leaf->first < s->first) {
			before += part;
		} else {
			parts += part;
			whole += ideal;
		}
	}
	return whole + ((before + parts + up) >> WEIR_PART_BITS) -
	       ((before + up) >> WEIR_PART_BITS);
}

/* How long the dual of @s is to run from @now to its deadline. */
static void run_budget(struct run weir_mem *self, struct weir_server weir_mem *s, u64 now)
{
	u64 span = s->deadline - now;
	u64 leaves = run_measure(self, s, s->deadline) - run_measure(self, s, now);
	u64 own = s->whole * span + (s->level % 2 ? -leaves : leaves);

	s->dual = span - own;
	if (s->dual >> 63)
		s->dual = 0;
	if (s->dual > span)
		s->dual = span;
	weir_note_scan(&self->inst, 2 * self->assign.nr);
}

/* Deadlines of servers: the first of those that they serve. Where one has come, a budget begins. */
WEIR_HELPER int run_replenish(struct run weir_mem *self weir_arg, u64 now)
{
	u32 i;

	for (i = 0; i < weir_load(&self->red.nr) && weir_loop; i++) {
		struct weir_server weir_mem *s = &self->red.server[i];

		s->stale |= s->deadline <= now;
		if (s->stale && s->parent)
			self->red.server[s->parent - 1].stale = 1;
		if (s->stale)
			s->deadline = ~0ull;
	}
	for (i = 0; i < weir_load(&self->assign.nr) && weir_loop; i++) {
		const struct weir_rt weir_mem *r = &self->assign.row[i];
		struct weir_server weir_mem *s;

		if (!r->task || !r->x[RUN_SPAN] || !r->x[RUN_LEAF])
			continue;
		s = &self->red.server[r->x[RUN_LEAF] - 1];
		if (s->stale && run_end(r) < s->deadline)
			s->deadline = run_end(r);
	}
	for (i = 0; i < weir_load(&self->red.nr) && weir_loop; i++) {
		struct weir_server weir_mem *s = &self->red.server[i];

		if (s->parent) {
			struct weir_server weir_mem *up = &self->red.server[s->parent - 1];

			if (up->stale && s->deadline < up->deadline)
				up->deadline = s->deadline;
			if (s->stale)
				run_budget(self, s, now);
		}
		s->stale = 0;
	}
	return 0;
}

/* --- decisions --------------------------------------------------------------------------------- */

/* Row @a goes before row @b of the same leaf: by deadline; what computes too long comes last. */
static int run_before(const struct weir_rt weir_mem *a, const struct weir_rt weir_mem *b)
{
	int over_a = a->used >= run_need(a), over_b = b->used >= run_need(b);

	if (over_a != over_b)
		return over_b;
	if (run_end(a) != run_end(b))
		return run_end(a) < run_end(b);
	return a->cpu && !b->cpu;
}

/* Each leaf that runs serves one task. */
WEIR_HELPER int run_serve(struct run weir_mem *self weir_arg)
{
	u32 room = self->cpus, i;

	for (i = 0; i < weir_load(&self->red.nr_leaves) && weir_loop; i++)
		self->pick[i] = 0;
	for (i = 0; i < weir_load(&self->assign.nr) && weir_loop; i++) {
		struct weir_rt weir_mem *r = &self->assign.row[i];
		u32 leaf;

		if (!r->task || !(r->state & WEIR_RT_READY) || !r->x[RUN_LEAF])
			continue;
		r->state &= ~(u32)WEIR_RT_WANT;
		leaf = r->x[RUN_LEAF] - 1;
		if (!self->pick[leaf] || run_before(r, &self->assign.row[self->pick[leaf] - 1]))
			self->pick[leaf] = i + 1;
	}
	for (i = 0; room && i < weir_load(&self->red.nr_leaves) && weir_loop; i++) {
		if (!self->red.server[i].runs || !self->pick[i])
			continue;
		self->assign.row[self->pick[i] - 1].state |= WEIR_RT_WANT;
		room--;
	}
	return 0;
}

/* Choose what runs from @now on; under the lock. */
WEIR_HELPER int run_decide(struct run weir_mem *self weir_arg, u64 now)
{
	u64 passed = now - self->last, next = ~0ull;

	weir_assign_account(&self->inst, &self->assign, now);
	if (run_take_up(self, now))
		run_pack(self, now);
	for (u32 i = 0; i < weir_load(&self->red.nr) && weir_loop; i++) {
		struct weir_server weir_mem *s = &self->red.server[i];

		if (!s->runs)
			s->dual -= passed < s->dual ? passed : s->dual;
	}
	self->last = now;
	run_replenish(self, now);
	weir_reduce_run(&self->red);
	run_serve(self);
	for (u32 i = 0; i < weir_load(&self->red.nr) && weir_loop; i++) {
		const struct weir_server weir_mem *s = &self->red.server[i];

		if (s->deadline > now && s->deadline < next)
			next = s->deadline;
		if (!s->runs && s->dual && now + s->dual < next)
			next = now + s->dual;
	}
	weir_note_scan(&self->inst, self->assign.nr + self->red.nr);
	if (next != ~0ull)
		weir_assign_timer(&self->inst, next);
	return 0;
}

WEIR_ENTRY int run_construct(struct run weir_mem *self)
{
	int err = weir_reduce_construct(&self->inst, &self->red, self->tasks);

	self->assign.cap = self->tasks;
	self->pick = weir_instance_alloc(&self->inst, self->tasks * sizeof(u32) + 8);
	if (!self->pick)
		return -WEIR_ENOMEM;
	return err ? err : weir_assign_construct(&self->inst, &self->assign);
}

WEIR_ENTRY u32 run_step(struct run weir_mem *self, u32 what, struct weir_task weir_mem *t,
			struct weir_step weir_mem *s)
{
	if (weir_assign_step(&self->inst, &self->assign, what, t, s)) {
		run_decide(self, 0);
		weir_assign_apply(&self->inst, &self->assign);
	}
	return weir_assign_port(&self->inst, &self->assign, t);
}

WEIR_ENTRY int run_on_dispatch(struct run weir_mem *self, const struct weir_msg *msg)
{
	return weir_assign_notify(&self->inst, &self->assign, msg);
}

/* Its server goes on with another task. */
WEIR_ENTRY int run_on_block(struct run weir_mem *self, const struct weir_msg *msg)
{
	return weir_assign_notify(&self->inst, &self->assign, msg);
}

WEIR_ENTRY int run_on_exit(struct run weir_mem *self, const struct weir_msg *msg)
{
	return weir_assign_notify(&self->inst, &self->assign, msg);
}

WEIR_ENTRY int run_on_cpu_status(struct run weir_mem *self, const struct weir_msg *msg)
{
	return weir_assign_notify(&self->inst, &self->assign, msg);
}

WEIR_ENTRY int run_on_affinity(struct run weir_mem *self, const struct weir_msg *msg)
{
	return weir_assign_notify(&self->inst, &self->assign, msg);
}

WEIR_ENTRY int run_on_idle(struct run weir_mem *self, u32 cpu)
{
	return weir_assign_idle(&self->inst, &self->assign, cpu);
}

WEIR_ENTRY int run_on_timer(struct run weir_mem *self)
{
	int err = weir_steps_lock(&self->inst);

	if (err)
		return err;
	run_decide(self, weir_now(self->inst.sched));
	weir_assign_place(&self->inst, &self->assign);
	return weir_steps_unlock(&self->inst);
}

/* The servers are packed again: `cpus` is 0. */
WEIR_ENTRY void run_take_state(struct run weir_mem *self, struct run weir_mem *old)
{
	weir_assign_take(&self->inst, &self->assign, &old->inst, &old->assign);
}
