/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * u_edf - run by deadline on each CPU, with time reserved for the future needs of other tasks
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
 * params:    tasks count 256 [1, 4096]; most tasks with JOB; others run in the background
 * per-task:  8 bytes, and 204 plus 8 per CPU for each of `tasks`
 * cost:      O(n^2 + n CPUs) at each release of a job for n real-time tasks, O(n CPUs) at each end
 *            of an allotment; its own lock
 * batch:     each task is in one out-pipe, or waits in the in-pipe; an out-pipe holds no more tasks than
 *            its CPUs were assigned, in the order of the in-pipe
 * source:    Nelissen, Berten, Nelis, Goossens and Milojevic, "U-EDF: an unfair but optimal multiprocessor
 *            scheduling algorithm for sporadic tasks", 2012; whole allotments: docs/decisions/0015
 * long:      allotting the work up to a deadline and charging it change the same table
 *
 * At each release, the remaining work of all jobs is allotted to virtual CPUs in order of deadline: as much as the
 * first CPU can take before the job's deadline, then the second, and so on. No job takes the time that
 * more urgent tasks will need on a CPU for their next jobs, which is their share of it from their current
 * deadlines on. Each virtual CPU runs its allotments by deadline, except tasks that run on an earlier one; a CPU without
 * work runs what waits for another. There are no slices, so jobs are preempted only slightly
 * more often than with global EDF.
 *
 * No deadline is missed if the shares add up to at most the number of CPUs, which must be equal, and deadlines are not
 * before the ends of periods. Tasks without parameters, and those bound to some of the CPUs, take turns on
 * otherwise idle CPUs.
 *
 * example:   annotate affinity, job, deadline; entry -> u_edf -> each cpu { -> cpu };
 */
#include <weir/kit/fluid.h>
#include <weir/cpus.h>

struct u_edf {
	struct weir_instance inst;
	struct weir_assign assign;
	u64 tasks;	     /* (c) */
	u64 last;	     /* (h) ns; of the last decision */
	u32 weir_mem *order; /* (h) rows by deadline */
	u32 weir_mem *runs;  /* (h) by virtual CPU: 1 + row, 0: none */
	u64 weir_mem *lot;   /* (h) by row and virtual CPU: ns */
	u64 weir_mem *taken; /* (h) by virtual CPU: lots so far, ns */
	u64 weir_mem
	*kept;	  /* (h) by virtual CPU: what is set aside for later jobs, ns, modulo 2^64 */
	u32 nr;	  /* (h) rows in `order` */
	u32 cpus; /* (h) virtual CPUs */
};

/* A row's words. */
enum u_edf_word {
	U_EDF_FROM, /* when the job's time began, ns */
	U_EDF_SPAN, /* until it ends; 0: no job yet */
	U_EDF_NOW,  /* ideal progress at the time of the decision, ns */
	U_EDF_THEN, /* and at the deadline that is looked at */
	U_EDF_LOW,  /* at its own deadline: where its share of the CPUs' time begins, ns */
	U_EDF_HIGH, /* and ends */
};

WEIR_COMPONENT(u_edf,
	       .summary = "run by deadline on each CPU, with time reserved for the future needs of "
			  "other tasks",
	       .cls = WEIR_DISTRIBUTE, .kernel = WEIR_KERNEL_ON_REQUEST, .ordering = WEIR_KEEPS,
	       .in_min = 1, .in_max = 1, .out_min = 1, .out_max = WEIR_ANY,
	       .per_task = sizeof(struct weir_rt_task), .listens = WEIR_ASSIGN_LISTENS,
	       .reviews = WEIR_ASSIGN_REVIEWS, .serial = 1, .publishes = WEIR_TOPIC_BIT(PREEMPT),
	       .asks = WEIR_ASSIGN_ASKS, .needs = WEIR_ASSIGN_NEEDS,
	       WEIR_PARAMS(u_edf, WEIR_PARAM(u_edf, tasks, COUNT, 256, 1, 4096,
					     "most tasks with JOB; others run in the background")));

static u64 u_edf_end(const struct weir_rt weir_mem *r)
{
	return r->x[U_EDF_FROM] + r->x[U_EDF_SPAN];
}

static u64 u_edf_need(const struct weir_rt weir_mem *r)
{
	return r->wcet < r->x[U_EDF_SPAN] ? r->wcet : r->x[U_EDF_SPAN];
}

/* What is left of the job. */
static u64 u_edf_left(const struct weir_rt weir_mem *r)
{
	u64 need = u_edf_need(r);

	return r->state & WEIR_RT_READY && need > r->used ? need - r->used : 0;
}

static u64 weir_mem *u_edf_lot(const struct u_edf weir_mem *self, u32 row, u32 cpu)
{
	return &self->lot[(u64)row * weir_nr_cpus(self->inst.sched) + cpu];
}

/* --- jobs -------------------------------------------------------------------------------------- */

/* What happened to @r. Its deadline lies ahead, or is now if it waits for a release that does not come. */
static void u_edf_take_up(struct weir_rt weir_mem *r, u64 now)
{
	u64 span = r->deadline - r->release;

	if (r->state & WEIR_RT_FRESH) {
		if (r->period && r->period < span)
			span = r->period;
		/* Longer than its deadline: it has a whole CPU until it is done, as one allotment. */
		if (span < r->wcet)
			span = r->wcet;
		r->x[U_EDF_SPAN] = span;
		r->x[U_EDF_FROM] = r->release + span > now ? r->release : now;
		r->used = 0;
	} else if (u_edf_end(r) <= now && r->state & WEIR_RT_READY) {
		/* It computes longer than it declared, or is late: its share goes on. */
		r->x[U_EDF_FROM] = now;
		r->used = 0;
	} else if (u_edf_end(r) < now) {
		r->x[U_EDF_FROM] = now - r->x[U_EDF_SPAN];
	}
	r->state &= ~(u32)(WEIR_RT_FRESH | WEIR_RT_WOKEN | WEIR_RT_WANT);
}

/* Rows by deadline; the order changes little from one time to the next. */
WEIR_HELPER int u_edf_sort(struct u_edf weir_mem *self weir_arg, u64 now)
{
	self->nr = 0;
	for (u32 i = 0; i < weir_load(&self->assign.nr) && weir_loop; i++) {
		struct weir_rt weir_mem *r = &self->assign.row[i];
		u32 at = self->nr;

		if (!r->task || (!(r->state & WEIR_RT_FRESH) && !r->x[U_EDF_SPAN]))
			continue;
		u_edf_take_up(r, now);
		while (at && u_edf_end(&self->assign.row[self->order[at - 1]]) > u_edf_end(r) &&
		       weir_loop) {
			self->order[at] = self->order[at - 1];
			at--;
		}
		self->order[at] = i;
		self->nr++;
	}
	return 0;
}

/* --- allotments -------------------------------------------------------------------------------- */

/*
 * Ideal progress at @at of the @nr most urgent tasks into word @word, as if jobs went on for ever. It is whole:
 * parts are added up by deadline and the sums rounded up, so that tasks whose shares fill some CPUs fill
 * them at any time.
 */
WEIR_HELPER int u_edf_progress(struct u_edf weir_mem *self weir_arg, u32 nr, u64 at, u32 word)
{
	u64 sum = 0, before = 0;

	for (u32 i = 0; i < nr && weir_loop; i++) {
		struct weir_rt weir_mem *r = &self->assign.row[self->order[i]];
		u64 since, jobs, need, ideal, part;

		since = at > r->x[U_EDF_FROM] ? at - r->x[U_EDF_FROM] : 0;
		jobs = since / r->x[U_EDF_SPAN];
		need = u_edf_need(r);
		ideal = jobs * need +
			weir_share(need, since - jobs * r->x[U_EDF_SPAN], r->x[U_EDF_SPAN], &part);
		sum += part;
		part = (sum + (1ull << WEIR_PART_BITS) - 1) >> WEIR_PART_BITS;
		r->x[word] = ideal + part - before;
		before = part;
	}
	return 0;
}

/*
 * The stretch from @low to @high of all CPUs' time laid one behind the other, @length each: what lies on
 * each CPU is added to `kept`, or taken from it.
 */
static void u_edf_keep(struct u_edf weir_mem *self, u64 low, u64 high, u64 length, int sign)
{
	u32 cpu = length ? low / length : self->cpus;

	while (cpu < self->cpus && low < high && weir_loop) {
		u64 until = (cpu + 1) * length;
		u64 piece = (high < until ? high : until) - low;

		self->kept[cpu] += sign > 0 ? piece : -piece;
		low += piece;
		cpu++;
	}
}

/* What more urgent tasks than the one at place @n may need on each CPU between their deadlines and its own. */
WEIR_HELPER int u_edf_set_aside(struct u_edf weir_mem *self weir_arg, u32 n, u64 now)
{
	struct weir_rt weir_mem *own = &self->assign.row[self->order[n]];
	u64 length = u_edf_end(own) - now, low = 0;

	u_edf_progress(self, n + 1, now + length, U_EDF_THEN);
	for (u32 cpu = 0; cpu < weir_load(&self->cpus) && weir_loop; cpu++)
		self->kept[cpu] = 0;
	for (u32 i = 0; i < n && weir_loop; i++) {
		const struct weir_rt weir_mem *r = &self->assign.row[self->order[i]];
		u64 high = low + r->x[U_EDF_THEN] - r->x[U_EDF_NOW];

		u_edf_keep(self, low, high, length, 1);
		u_edf_keep(self, r->x[U_EDF_LOW], r->x[U_EDF_HIGH], u_edf_end(r) - now, -1);
		low = high;
	}
	own->x[U_EDF_LOW] = low;
	own->x[U_EDF_HIGH] = low + own->x[U_EDF_THEN] - own->x[U_EDF_NOW];
	return 0;
}

/* What is left of the job at place @n, to the virtual CPUs in their order. */
WEIR_HELPER int u_edf_allot(struct u_edf weir_mem *self weir_arg, u32 n, u64 now)
{
	u32 row = self->order[n];
	struct weir_rt weir_mem *r = &self->assign.row[row];
	u64 left = u_edf_left(r), length = u_edf_end(r) - now, given = 0;

	for (u32 cpu = 0; cpu < weir_load(&self->cpus) && weir_loop; cpu++) {
		u64 busy = self->kept[cpu] + self->taken[cpu] + given;
		u64 lot;

		/* The rounding of what is kept can go below zero. */
		if (busy >> 63)
			busy = 0;
		lot = length > busy ? length - busy : 0;
		/* More than fits is for the last one, which will be late with it. */
		if (lot > left || cpu + 1 == self->cpus)
			lot = left;
		*u_edf_lot(self, row, cpu) = lot;
		self->taken[cpu] += lot;
		given += lot;
		left -= lot;
	}
	return 0;
}

WEIR_HELPER int u_edf_plan(struct u_edf weir_mem *self weir_arg, u64 now)
{
	u32 i;

	self->cpus = weir_assign_cpus(&self->inst, &self->assign);
	u_edf_sort(self, now);
	u_edf_progress(self, self->nr, now, U_EDF_NOW);
	for (i = 0; i < weir_load(&self->cpus) && weir_loop; i++)
		self->taken[i] = 0;
	for (i = 0; i < weir_load(&self->nr) && weir_loop; i++) {
		u_edf_set_aside(self, i, now);
		u_edf_allot(self, i, now);
	}
	weir_note_scan(&self->inst, self->nr * self->nr);
	return 0;
}

/* --- decisions --------------------------------------------------------------------------------- */

/* Time has passed: what ran has less of its lots. */
static void u_edf_charge(struct u_edf weir_mem *self, u64 now)
{
	u64 passed = now - self->last;

	self->last = now;
	for (u32 cpu = 0; cpu < weir_load(&self->cpus) && weir_loop; cpu++) {
		u64 weir_mem *lot;

		if (!self->runs[cpu])
			continue;
		lot = u_edf_lot(self, self->runs[cpu] - 1, cpu);
		*lot -= passed < *lot ? passed : *lot;
	}
}

/* Each virtual CPU takes the most urgent task with a lot there that runs on none before it. */
WEIR_HELPER int u_edf_choose(struct u_edf weir_mem *self weir_arg)
{
	u32 i;

	for (i = 0; i < weir_load(&self->nr) && weir_loop; i++)
		self->assign.row[self->order[i]].state &= ~(u32)WEIR_RT_WANT;
	for (u32 cpu = 0; cpu < weir_load(&self->cpus) && weir_loop; cpu++) {
		self->runs[cpu] = 0;
		for (i = 0; i < weir_load(&self->nr) && weir_loop; i++) {
			u32 row = self->order[i];
			struct weir_rt weir_mem *r = &self->assign.row[row];

			if (!*u_edf_lot(self, row, cpu) || !r->task || r->state & WEIR_RT_WANT ||
			    !u_edf_left(r))
				continue;
			r->state |= WEIR_RT_WANT;
			self->runs[cpu] = row + 1;
			break;
		}
	}
	return 0;
}

/* A virtual CPU without a task, else the one whose task has the latest deadline and need not run on. */
static u32 u_edf_victim(const struct u_edf weir_mem *self, u64 now)
{
	u32 victim = self->cpus;
	u64 latest = now;

	for (u32 cpu = 0; cpu < self->cpus && weir_loop; cpu++) {
		const struct weir_rt weir_mem *r;

		if (!self->runs[cpu])
			return cpu;
		r = &self->assign.row[self->runs[cpu] - 1];
		if (u_edf_end(r) > latest && u_edf_left(r) < u_edf_end(r) - now) {
			latest = u_edf_end(r);
			victim = cpu;
		}
	}
	return victim;
}

/*
 * What cannot wait any longer runs, for lots are exact to a nanosecond or two only; and a CPU without a task
 * takes one that waits for another CPU.
 */
WEIR_HELPER int u_edf_correct(struct u_edf weir_mem *self weir_arg, u64 now)
{
	for (u32 i = 0; i < weir_load(&self->nr) && weir_loop; i++) {
		u32 row = self->order[i], cpu;
		struct weir_rt weir_mem *r = &self->assign.row[row];
		u64 left = r->task ? u_edf_left(r) : 0;

		if (!left || r->state & WEIR_RT_WANT)
			continue;
		cpu = u_edf_victim(self, now);
		if (cpu == self->cpus)
			break;
		if (self->runs[cpu] && u_edf_end(r) > now + left)
			continue;
		if (self->runs[cpu])
			self->assign.row[self->runs[cpu] - 1].state &= ~(u32)WEIR_RT_WANT;
		self->runs[cpu] = row + 1;
		r->state |= WEIR_RT_WANT;
	}
	return 0;
}

/* When to look again: a lot or a job's time is over, or a task can wait no longer. */
WEIR_HELPER u64 u_edf_next(const struct u_edf weir_mem *self weir_arg, u64 now)
{
	u64 next = ~0ull, at;

	for (u32 cpu = 0; cpu < weir_load(&self->cpus) && weir_loop; cpu++) {
		if (!self->runs[cpu])
			continue;
		at = *u_edf_lot(self, self->runs[cpu] - 1, cpu);
		if (at && now + at < next)
			next = now + at;
	}
	for (u32 i = 0; i < weir_load(&self->nr) && weir_loop; i++) {
		const struct weir_rt weir_mem *r = &self->assign.row[self->order[i]];

		if (!r->task || !(r->state & WEIR_RT_READY))
			continue;
		at = u_edf_end(r);
		if (!(r->state & WEIR_RT_WANT) && u_edf_left(r) && at - u_edf_left(r) > now)
			at -= u_edf_left(r);
		if (at < next)
			next = at;
	}
	return next;
}

/* Choose what runs from @now on; under the lock. */
WEIR_HELPER int u_edf_decide(struct u_edf weir_mem *self weir_arg, u64 now)
{
	u32 stale = self->assign.stale, i;
	u64 next;

	weir_assign_account(&self->inst, &self->assign, now);
	u_edf_charge(self, now);
	for (i = 0; i < weir_load(&self->nr) && weir_loop; i++) {
		const struct weir_rt weir_mem *r = &self->assign.row[self->order[i]];

		stale |= r->task && r->state & WEIR_RT_READY && u_edf_end(r) <= now;
	}
	if (stale)
		u_edf_plan(self, now);
	self->assign.stale = 0;
	u_edf_choose(self);
	u_edf_correct(self, now);
	next = u_edf_next(self, now);
	weir_note_scan(&self->inst, self->nr * (1 + self->cpus));
	if (next != ~0ull)
		weir_assign_timer(&self->inst, next);
	return 0;
}

WEIR_ENTRY int u_edf_construct(struct u_edf weir_mem *self)
{
	u64 cpus = weir_nr_cpus(self->inst.sched);

	self->assign.cap = self->tasks;
	self->order = weir_instance_alloc(&self->inst, self->tasks * sizeof(u32) + 8);
	self->runs = weir_instance_alloc(&self->inst, cpus * sizeof(u32) + 8);
	self->lot = weir_instance_alloc(&self->inst, self->tasks * cpus * sizeof(u64));
	self->taken = weir_instance_alloc(&self->inst, cpus * sizeof(u64));
	self->kept = weir_instance_alloc(&self->inst, cpus * sizeof(u64));
	if (!self->order || !self->runs || !self->lot || !self->taken || !self->kept)
		return -WEIR_ENOMEM;
	return weir_assign_construct(&self->inst, &self->assign);
}

WEIR_ENTRY u32 u_edf_step(struct u_edf weir_mem *self, u32 what, struct weir_task weir_mem *t,
			  struct weir_step weir_mem *s)
{
	if (weir_assign_step(&self->inst, &self->assign, what, t, s)) {
		u_edf_decide(self, 0);
		weir_assign_apply(&self->inst, &self->assign);
	}
	return weir_assign_port(&self->inst, &self->assign, t);
}

WEIR_ENTRY int u_edf_on_dispatch(struct u_edf weir_mem *self, const struct weir_msg *msg)
{
	return weir_assign_notify(&self->inst, &self->assign, msg);
}

/* The virtual CPU goes on with another task. */
WEIR_ENTRY int u_edf_on_block(struct u_edf weir_mem *self, const struct weir_msg *msg)
{
	return weir_assign_notify(&self->inst, &self->assign, msg);
}

WEIR_ENTRY int u_edf_on_exit(struct u_edf weir_mem *self, const struct weir_msg *msg)
{
	return weir_assign_notify(&self->inst, &self->assign, msg);
}

WEIR_ENTRY int u_edf_on_cpu_status(struct u_edf weir_mem *self, const struct weir_msg *msg)
{
	return weir_assign_notify(&self->inst, &self->assign, msg);
}

WEIR_ENTRY int u_edf_on_affinity(struct u_edf weir_mem *self, const struct weir_msg *msg)
{
	return weir_assign_notify(&self->inst, &self->assign, msg);
}

WEIR_ENTRY int u_edf_on_idle(struct u_edf weir_mem *self, u32 cpu)
{
	return weir_assign_idle(&self->inst, &self->assign, cpu);
}

WEIR_ENTRY int u_edf_on_timer(struct u_edf weir_mem *self)
{
	int err = weir_steps_lock(&self->inst);

	if (err)
		return err;
	u_edf_decide(self, weir_now(self->inst.sched));
	weir_assign_place(&self->inst, &self->assign);
	return weir_steps_unlock(&self->inst);
}

WEIR_ENTRY void u_edf_take_state(struct u_edf weir_mem *self, struct u_edf weir_mem *old)
{
	weir_assign_take(&self->inst, &self->assign, &old->inst, &old->assign);
}
