/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * laxity - assign the CPUs to the tasks with the least laxity in one decision, as a hardware engine does
 *
 * class:     distribute
 * pipes:     in 1, out 1..
 * listens:   DISPATCH, BLOCK, EXIT: what runs, and how long. DEADLINE: a task's urgency has changed.
 *            CPU_STATUS: decide again. AFFINITY: a task's CPUs have changed
 * publishes: PREEMPT: a CPU runs a task that must wait
 * asks:      JOB: execution time and relative deadline; DEADLINE: absolute, ns; EXECUTED: execution time
 *            so far; all needed. AFFINITY: which CPUs the task may take
 * answers:   -
 * kernel:    on request
 * params:    tick ns 100000 [0, 1000000000]; laxities are compared at its multiples, 0: never
 *            by count 0 [0, 2]; what is least: 0 laxity, 1 time to the deadline, 2 likewise but tasks without laxity first
 *            eager flag 1 [0, 1]; decide also when a job is released, ends or blocks; off: a free CPU waits for the tick
 *            ties flag 1 [0, 1]; among equals prefer a task of the previous decision
 *            stay flag 1 [0, 1]; a task that is selected again stays on its CPU
 *            tasks count 1024 [1, 65536]; most tasks with JOB; others run in the background
 * per-task:  8 bytes, and 200 for each of `tasks`
 * cost:      O(n log CPUs + CPUs) a decision for n real-time tasks, O(n CPUs) while one is bound to
 *            some CPUs; ticks at which nothing can change are omitted; its own lock
 * batch:     each task is in one out-pipe, or waits in the in-pipe; an out-pipe holds no more tasks than
 *            its CPUs were assigned, in the order of the in-pipe
 * source:    Mok and Dertouzos, "Multiprocessor scheduling in a hard real-time environment", 1978 (LLF);
 *            decisions, ties and CPUs: Mancuso et al., hardware scheduling engine, V-B and IV-B3
 * long:      one choice for all CPUs; messages, timers and updates only note that it is due
 *
 * A decision selects the tasks with the least laxity (time to the deadline less remaining work), as many as there are
 * CPUs. Ties go to tasks of the previous decision, also if a new job of the task has been released
 * since, then to the task with the lowest number. A task that is selected again stays on its CPU; the others go to the
 * free CPUs in order of urgency. With `eager = false` decisions are made at ticks only,
 * so a CPU changes its task at most once per tick; time left between two ticks goes to background tasks.
 *
 * `by` makes it the engine's other policies, with the same ticks, ties and CPUs: earliest deadline first (1), and earliest
 * deadline until zero laxity (2), where jobs without laxity are equals.
 *
 * Unlike in the engine, a job that exceeds its declared execution time continues, with the laxity that its deadline gives.
 * Tasks without parameters take turns on otherwise idle CPUs. If some CPUs are slower, the order is
 * the same: laxity is computed for a CPU of capacity 1024.
 *
 * example:   annotate affinity, deadline, executed, job; entry -> laxity(tick = 1ms) -> each cpu { -> cpu };
 */
#include <weir/component.h>
#include <weir/cpus.h>
#include <weir/kit/top_k.h>
#include <weir/kit/laxity.h>

struct laxity {
	struct weir_instance inst;
	struct weir_assign assign;
	u64 tick;		/* (c) ns */
	u64 by;			/* (c) enum laxity_by */
	u64 eager;		/* (c) */
	u64 ties;		/* (c) */
	u64 stay;		/* (c) */
	u64 tasks;		/* (c) */
	u64 decided;		/* (h) ns + 1 of the last decision, 0: none */
	struct weir_top_k best; /* (h) rows chosen */
	u32 weir_mem *given;	/* (h) by CPU: 1 + row that is given it just now, 0: none */
};

/* What is least. */
enum laxity_by { LAXITY_BY_LAXITY, LAXITY_BY_DEADLINE, LAXITY_BY_DEADLINE_UNTIL_ZERO };

/* A row's words. */
enum laxity_word {
	/* smaller first: latest start or deadline, ns; 0: it has no laxity and that counts */
	LAXITY_URGENCY,
	/* among equals: the number of the task, more for one that was not chosen before */
	LAXITY_RANK,
	LAXITY_LATEST, /* latest start, ns: the deadline less the work left; 0: to be found out */
	LAXITY_CPU,    /* 1 + CPU given by the last decision, 0: none */
	LAXITY_BEFORE, /* likewise, by the one at an earlier time than that */
	LAXITY_LOOKED, /* a task bound to some CPUs makes rows be looked at in order: done with */
};

/* Added to the rank of a task that was not chosen before; task numbers are smaller. */
#define LAXITY_OTHER (1ull << 32)

WEIR_COMPONENT(
	laxity,
	.summary = "assign the CPUs to the tasks with the least laxity in one "
		   "decision, as a hardware engine does",
	.cls = WEIR_DISTRIBUTE, .kernel = WEIR_KERNEL_ON_REQUEST, .ordering = WEIR_KEEPS,
	.in_min = 1, .in_max = 1, .out_min = 1, .out_max = WEIR_ANY,
	.per_task = sizeof(struct weir_rt_task),
	.listens = WEIR_ASSIGN_LISTENS | WEIR_TOPIC_BIT(DEADLINE), .reviews = WEIR_ASSIGN_REVIEWS,
	.serial = 1, .publishes = WEIR_TOPIC_BIT(PREEMPT),
	.asks = WEIR_ASSIGN_ASKS | WEIR_TOPIC_BIT(EXECUTED),
	.needs = WEIR_ASSIGN_NEEDS | WEIR_TOPIC_BIT(EXECUTED),
	WEIR_PARAMS(laxity,
		    WEIR_PARAM(laxity, tick, NS, 100000, 0, 1000000000,
			       "laxities are compared at its multiples, 0: never"),
		    WEIR_PARAM(laxity, by, COUNT, 0, 0, 2,
			       "what is least: 0 laxity, 1 time to the deadline, 2 likewise but "
			       "tasks without laxity first"),
		    WEIR_PARAM(laxity, eager, FLAG, 1, 0, 1,
			       "decide also when a job is released, ends or blocks; off: a free "
			       "CPU waits for the tick"),
		    WEIR_PARAM(laxity, ties, FLAG, 1, 0, 1,
			       "among equals prefer a task of the previous decision"),
		    WEIR_PARAM(laxity, stay, FLAG, 1, 0, 1,
			       "a task that is selected again stays on its CPU"),
		    WEIR_PARAM(laxity, tasks, COUNT, 1024, 1, 65536,
			       "most tasks with JOB; others run in the background")),
	WEIR_RELATIONS(WEIR_RELATION(laxity, ONE_OF, tick, eager,
				     "nothing would ever be decided")));

/* How urgent the row is at @now, equals aside; its latest start is known. */
static u64 laxity_urgency(const struct laxity weir_mem *self, const struct weir_rt weir_mem *r,
			  u64 now)
{
	if (self->by == LAXITY_BY_LAXITY)
		return r->x[LAXITY_LATEST];
	if (self->by == LAXITY_BY_DEADLINE_UNTIL_ZERO && r->x[LAXITY_LATEST] <= now)
		return 0;
	return weir_key(weir_property(self->inst.sched, WEIR_TOPIC_DEADLINE, r->task));
}

/* What the row was given by the decision before the present one, and how urgent it is now. */
static void laxity_weigh(struct laxity weir_mem *self, struct weir_rt weir_mem *r, u64 now)
{
	int ran = r->x[LAXITY_CPU] || !r->x[LAXITY_LATEST] ||
		  r->state & (WEIR_RT_RUNS | WEIR_RT_FRESH | WEIR_RT_WOKEN);

	if (!now)
		r->x[LAXITY_BEFORE] = 0; /* before the first instant nothing was chosen */
	else if (self->decided != now + 1)
		r->x[LAXITY_BEFORE] = r->x[LAXITY_CPU] && r->cpu ? r->cpu : r->x[LAXITY_CPU];
	if (ran)
		r->x[LAXITY_LATEST] = weir_latest_start(self->inst.sched, r->task);
	r->x[LAXITY_URGENCY] = laxity_urgency(self, r, now);
	r->x[LAXITY_RANK] = r->task->id;
	if (!self->ties || !r->x[LAXITY_BEFORE])
		r->x[LAXITY_RANK] += LAXITY_OTHER;
	r->x[LAXITY_CPU] = 0;
	r->x[LAXITY_LOOKED] = 0;
	r->want_cpu = 0;
	r->state &= ~(u32)(WEIR_RT_FRESH | WEIR_RT_WOKEN | WEIR_RT_WANT);
}

static int laxity_before(const struct weir_rt weir_mem *a, const struct weir_rt weir_mem *b)
{
	if (a->x[LAXITY_URGENCY] != b->x[LAXITY_URGENCY])
		return a->x[LAXITY_URGENCY] < b->x[LAXITY_URGENCY];
	return a->x[LAXITY_RANK] < b->x[LAXITY_RANK];
}

static void laxity_give(struct laxity weir_mem *self, u32 row, u32 cpu)
{
	struct weir_rt weir_mem *r = &self->assign.row[row];

	self->given[cpu] = row + 1;
	r->want_cpu = cpu + 1;
	r->x[LAXITY_CPU] = cpu + 1;
}

/* The CPU that the row had before, if it may keep it; else none. */
static u32 laxity_kept(const struct laxity weir_mem *self, const struct weir_rt weir_mem *r,
		       const struct weir_cpumask weir_mem *mask)
{
	u32 cpu = (u32)r->x[LAXITY_BEFORE] - 1;

	if (!self->stay || !r->x[LAXITY_BEFORE] || cpu >= weir_nr_cpus(self->inst.sched) ||
	    self->given[cpu] || (mask && !weir_mask_test(mask, cpu)) ||
	    !weir_assign_usable(&self->inst, &self->assign, cpu))
		return WEIR_NO_CPU;
	return cpu;
}

/* The first CPU from @cpu on that has no task and that @mask allows, or one beyond the last. */
static u32 laxity_free(const struct laxity weir_mem *self, u32 cpu,
		       const struct weir_cpumask weir_mem *mask)
{
	for (; cpu < weir_nr_cpus(self->inst.sched) && weir_loop; cpu++)
		if (!self->given[cpu] && (!mask || weir_mask_test(mask, cpu)) &&
		    weir_assign_usable(&self->inst, &self->assign, cpu))
			break;
	return cpu;
}

/*
 * Some tasks may not run everywhere: choose in order of urgency; a bound one takes a CPU of its own that no
 * more urgent bound one has, or waits.
 */
static void laxity_choose_bound(struct laxity weir_mem *self)
{
	struct weir_sched weir_mem *s = self->inst.sched;

	while (self->best.nr < self->best.room && weir_loop) {
		struct weir_rt weir_mem *first = 0;
		const struct weir_cpumask weir_mem *mask;
		u32 cpu;

		for (u32 i = 0; i < weir_load(&self->assign.nr) && weir_loop; i++) {
			struct weir_rt weir_mem *r = &self->assign.row[i];

			if (r->task && r->state & WEIR_RT_READY && !r->x[LAXITY_LOOKED] &&
			    (!first || laxity_before(r, first)))
				first = r;
		}
		weir_note_scan(&self->inst, self->assign.nr);
		if (!first)
			break;
		first->x[LAXITY_LOOKED] = 1;
		mask = weir_affinity(s, first->task);
		if (!weir_assign_unbound(weir_in(&self->inst, 0), mask)) {
			cpu = laxity_kept(self, first, mask);
			if (cpu == WEIR_NO_CPU)
				cpu = laxity_free(self, 0, mask);
			if (cpu >= weir_nr_cpus(s))
				continue;
			laxity_give(self, (u32)(first - self->assign.row), cpu);
		}
		self->best.heap[self->best.nr++] = (u32)(first - self->assign.row);
	}
}

/* Each of the chosen rows its CPU: first those that stay, then the others by urgency to CPUs in order. */
static void laxity_assign(struct laxity weir_mem *self)
{
	u32 cpu = 0, i;

	for (i = 0; i < weir_load(&self->best.nr) && weir_loop; i++) {
		struct weir_rt weir_mem *r = &self->assign.row[self->best.heap[i]];
		u32 kept = laxity_kept(self, r, 0);

		r->state |= WEIR_RT_WANT;
		if (!r->want_cpu && kept != WEIR_NO_CPU)
			laxity_give(self, self->best.heap[i], kept);
	}
	while (weir_loop) {
		struct weir_rt weir_mem *first = 0;

		for (i = 0; i < weir_load(&self->best.nr) && weir_loop; i++) {
			struct weir_rt weir_mem *r = &self->assign.row[self->best.heap[i]];

			if (!r->want_cpu && (!first || laxity_before(r, first)))
				first = r;
		}
		cpu = laxity_free(self, cpu, 0);
		if (!first || cpu >= weir_nr_cpus(self->inst.sched))
			break;
		laxity_give(self, (u32)(first - self->assign.row), cpu);
	}
}

/*
 * The tick at which another choice is possible: the laxity of those that wait has come down to the most
 * that one of those that run has, and theirs stays as it is; or to zero, where only that counts. 0: no task waits, or
 * time changes nothing.
 */
static u64 laxity_next(const struct laxity weir_mem *self, u64 now)
{
	u64 waits = WEIR_KEY_NONE, runs = 0, at = now + 1;

	for (u32 i = 0; i < weir_load(&self->assign.nr) && weir_loop; i++) {
		const struct weir_rt weir_mem *r = &self->assign.row[i];
		u64 latest = r->x[LAXITY_LATEST];

		if (!r->task || !(r->state & WEIR_RT_READY))
			continue;
		if (r->state & WEIR_RT_WANT)
			runs = latest > runs ? latest : runs;
		else if (latest < waits && (self->by == LAXITY_BY_LAXITY || latest > now))
			waits = latest;
	}
	if (self->by == LAXITY_BY_DEADLINE)
		waits = WEIR_KEY_NONE;
	if (!self->tick || (waits == WEIR_KEY_NONE && (self->stay || !runs)))
		return 0;
	if (self->by == LAXITY_BY_DEADLINE_UNTIL_ZERO)
		runs = now;
	/* Where tasks do not stay, their order decides about CPUs, and that changes at any tick. */
	if (self->stay && waits > runs && now + (waits - runs) > at)
		at = now + (waits - runs);
	return (at + self->tick - 1) / self->tick * self->tick;
}

/* Choose what runs from @now on, and where; under the lock. */
WEIR_HELPER int laxity_decide(struct laxity weir_mem *self weir_arg, u64 now)
{
	u64 at;

	weir_assign_account(&self->inst, &self->assign, now);
	weir_top_k_clear(&self->best, weir_assign_cpus(&self->inst, &self->assign));
	for (u32 i = 0; i < weir_nr_cpus(self->inst.sched) && weir_loop; i++)
		self->given[i] = 0;
	for (u32 i = 0; i < weir_load(&self->assign.nr) && weir_loop; i++) {
		struct weir_rt weir_mem *r = &self->assign.row[i];

		if (!r->task)
			continue;
		laxity_weigh(self, r, now);
		if (self->assign.bound < WEIR_ASSIGN_SOME_BOUND && r->state & WEIR_RT_READY)
			weir_top_k_offer(&self->best, &self->assign, i);
	}
	if (self->assign.bound == WEIR_ASSIGN_SOME_BOUND)
		laxity_choose_bound(self);
	laxity_assign(self);
	self->decided = now + 1;
	at = laxity_next(self, now);
	if (at)
		weir_assign_timer(&self->inst, at);
	weir_note_scan(&self->inst, 2 * self->assign.nr);
	return 0;
}

WEIR_ENTRY int laxity_construct(struct laxity weir_mem *self)
{
	int err = weir_top_k_construct(&self->inst, &self->best, LAXITY_URGENCY);

	self->assign.cap = self->tasks;
	self->assign.grid = self->eager ? 0 : self->tick;
	self->assign.bound = WEIR_ASSIGN_BOUND_TOO;
	self->given =
		weir_instance_alloc(&self->inst, weir_nr_cpus(self->inst.sched) * sizeof(u32) + 8);
	if (!err && !self->given)
		err = -WEIR_ENOMEM;
	return err ? err : weir_assign_construct(&self->inst, &self->assign);
}

WEIR_ENTRY u32 laxity_step(struct laxity weir_mem *self, u32 what, struct weir_task weir_mem *t,
			   struct weir_step weir_mem *s)
{
	if (weir_assign_step(&self->inst, &self->assign, what, t, s)) {
		laxity_decide(self, 0);
		weir_assign_apply(&self->inst, &self->assign);
	}
	return weir_assign_port(&self->inst, &self->assign, t);
}

WEIR_ENTRY int laxity_on_dispatch(struct laxity weir_mem *self, const struct weir_msg *msg)
{
	return weir_assign_notify(&self->inst, &self->assign, msg);
}

WEIR_ENTRY int laxity_on_block(struct laxity weir_mem *self, const struct weir_msg *msg)
{
	return weir_assign_notify(&self->inst, &self->assign, msg);
}

WEIR_ENTRY int laxity_on_exit(struct laxity weir_mem *self, const struct weir_msg *msg)
{
	return weir_assign_notify(&self->inst, &self->assign, msg);
}

/* A task became more or less urgent, as by what it inherits; at time 0 tasks are decided about as they come. */
WEIR_ENTRY int laxity_on_deadline(struct laxity weir_mem *self, const struct weir_msg *msg)
{
	struct weir_rt weir_mem *r;

	if (!msg->task || weir_steps_lock(&self->inst))
		return 0;
	r = weir_assign_row(&self->inst, &self->assign, msg->task);
	if (r) {
		r->x[LAXITY_LATEST] = 0;
		if (weir_now(self->inst.sched))
			weir_assign_soon(&self->inst, &self->assign);
	}
	return weir_steps_unlock(&self->inst);
}

/* Before there are tasks nothing is to be decided, and a decision between ticks would be one too many. */
WEIR_ENTRY int laxity_on_cpu_status(struct laxity weir_mem *self, const struct weir_msg *msg)
{
	if (weir_assign_on(&self->inst, &self->assign, msg) && weir_load(&self->assign.nr))
		weir_assign_timer(&self->inst, weir_now(self->inst.sched));
	return 0;
}

WEIR_ENTRY int laxity_on_affinity(struct laxity weir_mem *self, const struct weir_msg *msg)
{
	if (weir_assign_on(&self->inst, &self->assign, msg))
		weir_assign_timer(&self->inst, weir_now(self->inst.sched));
	return 0;
}

WEIR_ENTRY int laxity_on_idle(struct laxity weir_mem *self, u32 cpu)
{
	return weir_assign_idle(&self->inst, &self->assign, cpu);
}

WEIR_ENTRY int laxity_on_timer(struct laxity weir_mem *self)
{
	int err = weir_steps_lock(&self->inst);

	if (err)
		return err;
	laxity_decide(self, weir_now(self->inst.sched));
	weir_assign_place(&self->inst, &self->assign);
	return weir_steps_unlock(&self->inst);
}

WEIR_ENTRY void laxity_take_state(struct laxity weir_mem *self, struct laxity weir_mem *old)
{
	self->decided = old->decided;
	self->assign.bound = old->assign.bound;
	weir_assign_take(&self->inst, &self->assign, &old->inst, &old->assign);
}
