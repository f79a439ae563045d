/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * cbs - serve each task within a budget per period, by the deadline of its server
 *
 * class:     annotate
 * pipes:     none
 * listens:   JOB, DEADLINE: budget and period. POLICY: which tasks request the deadline policy. PRIORITY: above 199 is that of a deadline
 *            task. DISPATCH,
 *            RELINQUISH, BLOCK, EXIT: the budget is charged. CPU_STATUS: how much can be admitted and reclaimed
 * publishes: OVERLOAD: the task is not admitted. PREEMPT: with reclaim, less is left for a running task than its slice
 * answers:   DEADLINE: that of the task's server, 0 without one; the period in value2. BUDGET: whether
 *            the task has budget, and when it will be replenished
 * params:    hard flag 0 [0, 1]; a task without budget waits (with throttle) for its next period
 *            bound pct 0 [0, 100]; admitted load of the CPUs, 0: unlimited
 *            policy flag 0 [0, 1]; only tasks of the deadline policy get a server
 *            budget ns 0 [0, 10000000000]; for tasks without JOB, 0: they get no server
 *            period ns 100000000 [1000, 10000000000]; for these
 *            reclaim flag 0 [0, 1]; tasks use the bandwidth that others do not (GRUB)
 * per-task:  152 bytes
 * cost:      O(1) per message and per answer; with reclaim O(CPUs) when a task is admitted or ends, and O(sleeping tasks) when
 *            one blocks; takes the instance's lock
 * batch:     no pipes
 * source:    Abeni and Buttazzo, "Integrating multimedia applications in hard real-time systems", 1998;
 *            hard and with admission: Linux, SCHED_DEADLINE (Lelli, Scordino, Abeni and Faggioli, 2016); reclaim: Lipari and
 *            Baruah, "Greedy reclamation of unused bandwidth in constant-bandwidth servers", 2000, as in Linux's documentation
 * long:      admission, both kinds of budget, hard and soft, and what is reclaimed belong to one server
 *
 * Constant bandwidth server: a task that wakes keeps its deadline and budget unless they exceed its rate
 * until then; otherwise it gets a full budget and a deadline from now. With `hard` and a deadline before the end of the period it keeps the
 * deadline, with as much budget as its rate allows until then, and waits for the next period if the deadline is over. When the budget is
 * exhausted, the
 * deadline is postponed by a period and the budget replenished: the task continues with less urgency, so
 * a task that exceeds its declared execution time delays only itself. With `hard` it waits until the end
 * of the period if the filter `throttle` is in front of the order; without it, the task continues. JOB and DEADLINE set
 * budget and period.
 *
 * With `policy`, a task that gets the priority of a deadline task without being one has inherited it with a mutex: it has the
 * deadline that it inherited, without a server and a budget, until it gets its own priority again.
 *
 * Use it instead of `deadline`, before any component that orders by deadline. It accounts for the CPU's
 * capacity, not for its clock. A task that is not admitted has no deadline: it runs after those with one,
 * in the order of the stage before edf. The bound compares budgets per period with all online CPUs; where deadlines are shorter than
 * periods, and on several CPUs, it keeps edf from falling behind forever, but does not guarantee each deadline.
 *
 * With `reclaim` a task's budget falls more slowly while others leave theirs, as on Linux: by max(U, A - R + T / m) / B per unit of work,
 * with U its rate, A the sum of the rates of active tasks of its CPU, R that of all its tasks, T the sum of all rates, m the number of CPUs and
 * B the bound (100 % without). On one CPU that is max(U, A) / B. A task belongs to the CPU on which it ran last, or came. It is active from its
 * wake-up until it has slept so long that its remaining budget is what its rate allows until its deadline. What all admitted tasks together do
 * not need is shared in the same way, up to the bound, so a lone task gets all of the bound, and others keep their guarantees. In Linux, tasks
 * request to reclaim one by one; here all do.
 *
 * example:   annotate affinity, job, cbs(hard = true, bound = 95%); entry -> throttle -> edf -> cpus;
 */
#include <weir/kit/realtime.h>
#include <weir/kit/reserve.h>
#include <weir/cpus.h>

enum cbs_state { CBS_NONE, CBS_ADMITTED, CBS_REFUSED };

struct cbs_task {
	struct weir_reserve r; /* (l) */
	u64 used;	       /* (l) ns of the budget */
	u64 deadline;	       /* (l) ns, absolute; 0: none yet */
	u64 rate;	       /* (l) booked */
	u64 policy;	       /* (l) as reported */
	u32 state;	       /* (l) enum cbs_state */
	u32 waits;	       /* (l) hard: for the end of its period */
	/* reclaim: it sleeps and is active until `zero`, ns; in a list by that time */
	u64 zero;			 /* (l) */
	struct weir_task weir_mem *next; /* (l) */
	struct weir_task weir_mem *prev; /* (l) */
	u64 lent;			 /* (l) deadline of a task without a server */
	u64 above;			 /* (l) it has the priority of a deadline task */
	u32 active;			 /* (l) its rate counts */
	u32 sleeps;			 /* (l) it is in the list */
	u32 home;			 /* (l) 1 + the CPU to which it belongs; 0: none */
	u32 unused;
};

/* Rates of the tasks that belong to a CPU. */
struct cbs_cpu {
	u64 active; /* (l) */
	u64 all;    /* (l) */
};

struct cbs {
	struct weir_instance inst;
	u64 hard;     /* (c) */
	u64 bound;    /* (c) percent */
	u64 policy;   /* (c) */
	u64 budget;   /* (c) ns */
	u64 period;   /* (c) ns */
	u64 load;     /* (l) booked */
	u64 asked;    /* (l) an instance asks for budgets, and withholds tasks without one */
	u64 reclaim;  /* (c) */
	u64 capacity; /* (l) of the online CPUs */
	u64 housed;   /* (l) rates of the tasks that belong to a CPU */
	struct cbs_cpu weir_mem *cpu;	  /* (c) */
	struct weir_task weir_mem *first; /* (l) of the sleeping tasks that are active */
	struct weir_task weir_mem *last;  /* (l) */
};

WEIR_COMPONENT(
	cbs, .summary = "serve each task within a budget per period, by the deadline of its server",
	.cls = WEIR_ANNOTATE,
	.listens = WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(DISPATCH) |
		   WEIR_TOPIC_BIT(RELINQUISH) | WEIR_TOPIC_BIT(BLOCK) | WEIR_TOPIC_BIT(EXIT) |
		   WEIR_TOPIC_BIT(POLICY) | WEIR_TOPIC_BIT(PRIORITY) | WEIR_TOPIC_BIT(CPU_STATUS),
	.publishes = WEIR_TOPIC_BIT(OVERLOAD) | WEIR_TOPIC_BIT(PREEMPT),
	.answers = WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(BUDGET),
	.per_task = sizeof(struct cbs_task),
	WEIR_PARAMS(cbs,
		    WEIR_PARAM(cbs, hard, FLAG, 0, 0, 1,
			       "a task without budget waits (with throttle) for its next period"),
		    WEIR_PARAM(cbs, bound, PCT, 0, 0, 100,
			       "admitted load of the CPUs, 0: unlimited"),
		    WEIR_PARAM(cbs, policy, FLAG, 0, 0, 1,
			       "only tasks of the deadline policy get a server"),
		    WEIR_PARAM(cbs, budget, NS, 0, 0, 10000000000ull,
			       "for tasks without JOB, 0: they get no server"),
		    WEIR_PARAM(cbs, period, NS, 100000000, 1000, 10000000000ull, "for these"),
		    WEIR_PARAM(cbs, reclaim, FLAG, 0, 0, 1,
			       "tasks use the bandwidth that others do not (GRUB)")),
	WEIR_RELATIONS(WEIR_RELATION(cbs, AT_MOST, budget, period,
				     "a server cannot get more than all of the time")));

static u64 cbs_capacity(struct weir_sched weir_mem *s)
{
	u64 sum = 0;

	for (u32 i = 0; i < weir_nr_cpus(s) && weir_loop; i++)
		if (weir_cpu_is_online(s, i))
			sum += weir_cpu_capacity(s, i);
	return sum;
}

/* --- reclaiming, under the lock -------------------------------------------------------------------------------- */

static struct cbs_cpu weir_mem *cbs_home(const struct cbs weir_mem *self,
					 const struct cbs_task weir_mem *p)
{
	return p->home && p->home <= weir_nr_cpus(self->inst.sched) ? &self->cpu[p->home - 1] : 0;
}

/* How much of its budget the task uses on @cpu per unit of work, WEIR_RESERVE_FULL: as much. */
static u64 cbs_pace(const struct cbs weir_mem *self, const struct cbs_task weir_mem *p, u32 cpu)
{
	u64 pace, size, fair;

	if (!self->reclaim || !self->capacity || cpu >= weir_nr_cpus(self->inst.sched))
		return WEIR_RESERVE_FULL;
	/* All CPUs of the same load would have this one's part of it. */
	size = weir_cpu_capacity(self->inst.sched, cpu);
	fair = self->housed * size / self->capacity;
	pace = self->cpu[cpu].active + fair;
	pace = pace > self->cpu[cpu].all ? (pace - self->cpu[cpu].all) * 1024 / (size ? size : 1)
					 : 0;
	if (pace < p->rate)
		pace = p->rate;
	if (self->bound)
		pace = (pace * 100 + self->bound - 1) / self->bound;
	return pace < WEIR_RESERVE_FULL ? pace : WEIR_RESERVE_FULL;
}

/* Charge the task, which runs or has run until now, up to @at, ns. */
static void cbs_charge(const struct cbs weir_mem *self, struct weir_task weir_mem *t,
		       struct cbs_task weir_mem *p, u64 at)
{
	u32 cpu = weir_last_cpu(t);
	u64 ran;

	if (!p->r.running || at <= p->r.since || cpu >= weir_nr_cpus(self->inst.sched))
		return;
	ran = (at - p->r.since) * weir_cpu_capacity(self->inst.sched, cpu) >> 10;
	p->r.since = at;
	p->used +=
		ran < WEIR_RESERVE_LONG
			? (ran * cbs_pace(self, p, cpu) + WEIR_RESERVE_FULL - 1) / WEIR_RESERVE_FULL
			: ran;
}

/* Before the rates of @cpu's tasks change at @at, ns: charge what runs there, with the rates up to then. */
WEIR_FLAT static void cbs_settle(struct cbs weir_mem *self, u32 cpu, u64 at)
{
	struct weir_task weir_mem *t = weir_cpu_curr(self->inst.sched, cpu);

	if (t)
		cbs_charge(self, t, weir_priv(&self->inst, t), at);
}

/* The same for all CPUs, whose share in the sum of all rates changes. */
WEIR_FLAT static void cbs_settle_all(struct cbs weir_mem *self, u64 at)
{
	for (u32 i = 0; self->reclaim && i < weir_nr_cpus(self->inst.sched) && weir_loop; i++)
		cbs_settle(self, i, at);
}

/* The task is active at @at, ns, or not any more. */
WEIR_FLAT static void cbs_switch(struct cbs weir_mem *self, struct cbs_task weir_mem *p, u32 active,
				 u64 at)
{
	struct cbs_cpu weir_mem *home = cbs_home(self, p);

	p->active = active;
	if (!home)
		return;
	cbs_settle(self, p->home - 1, at);
	home->active += active ? p->rate : -p->rate;
}

/* The task belongs to @cpu from @at on, ns. */
WEIR_FLAT static void cbs_move(struct cbs weir_mem *self, struct cbs_task weir_mem *p, u32 cpu,
			       u64 at)
{
	struct cbs_cpu weir_mem *home = cbs_home(self, p);

	if (!self->reclaim || p->home == cpu + 1 || cpu >= weir_nr_cpus(self->inst.sched))
		return;
	if (home) {
		cbs_settle(self, p->home - 1, at);
		home->all -= p->rate;
		home->active -= p->active ? p->rate : 0;
		cbs_settle(self, cpu, at);
	} else {
		cbs_settle_all(self, at);
		self->housed += p->rate;
	}
	p->home = cpu + 1;
	self->cpu[cpu].all += p->rate;
	self->cpu[cpu].active += p->active ? p->rate : 0;
}

static void cbs_wakes(struct cbs weir_mem *self, struct cbs_task weir_mem *p)
{
	struct cbs_task weir_mem *before = p->prev ? weir_priv(&self->inst, p->prev) : 0;
	struct cbs_task weir_mem *behind = p->next ? weir_priv(&self->inst, p->next) : 0;

	if (!p->sleeps)
		return;
	p->sleeps = 0;
	if (before)
		before->next = p->next;
	else
		self->first = p->next;
	if (behind)
		behind->prev = p->prev;
	else
		self->last = p->prev;
}

static void cbs_sleeps(struct cbs weir_mem *self, struct weir_task weir_mem *t,
		       struct cbs_task weir_mem *p)
{
	struct weir_task weir_mem *before = self->last;
	struct cbs_task weir_mem *q = 0;

	for (; before && weir_loop; before = q->prev) {
		q = weir_priv(&self->inst, before);
		if (q->zero <= p->zero)
			break;
	}
	p->sleeps = 1;
	p->prev = before;
	p->next = before ? q->next : self->first;
	if (before)
		q->next = t;
	else
		self->first = t;
	if (p->next) {
		q = weir_priv(&self->inst, p->next);
		q->prev = t;
	} else {
		self->last = t;
	}
}

/* Up to @now, ns: tasks that have slept long enough are active no more; @t is charged. */
WEIR_FLAT static void cbs_advance(struct cbs weir_mem *self, struct weir_task weir_mem *t, u64 now)
{
	struct cbs_task weir_mem *q = weir_priv(&self->inst, t);

	while (self->first && weir_loop) {
		struct cbs_task weir_mem *p = weir_priv(&self->inst, self->first);

		if (p->zero > now)
			break;
		/* It has perhaps just stopped. */
		cbs_charge(self, t, q, p->zero);
		cbs_wakes(self, p);
		cbs_switch(self, p, 0, p->zero);
	}
	cbs_charge(self, t, q, now);
}

/* The task competes from now on. What runs on its CPU has less time than was granted. */
WEIR_FLAT static void cbs_activate(struct cbs weir_mem *self, struct weir_task weir_mem *t,
				   struct cbs_task weir_mem *p, u64 now)
{
	struct weir_task weir_mem *runs;
	struct cbs_task weir_mem *q;

	cbs_wakes(self, p);
	if (!self->reclaim || p->active)
		return;
	/* It has come through there, and never run. */
	if (!p->home)
		cbs_move(self, p, weir_load(&t->entry_cpu), now);
	cbs_switch(self, p, 1, now);
	runs = p->home ? weir_cpu_curr(self->inst.sched, p->home - 1) : 0;
	q = runs ? weir_priv(&self->inst, runs) : 0;
	if (q && runs != t && q->r.running && q->state == CBS_ADMITTED)
		weir_publish(&self->inst, WEIR_TOPIC_PREEMPT, runs, p->home - 1, 0);
}

/* It blocks at @now, ns, and is active until its remaining budget is what its rate allows until its deadline. */
WEIR_FLAT static void cbs_rest(struct cbs weir_mem *self, struct weir_task weir_mem *t,
			       struct cbs_task weir_mem *p, u64 now)
{
	u64 left = p->used < p->r.budget ? p->r.budget - p->used : 0, lag;

	if (!p->active || p->sleeps || !p->rate)
		return;
	lag = left * WEIR_RESERVE_FULL / p->rate;
	p->zero = p->deadline > lag ? p->deadline - lag : 0;
	if (p->zero > now)
		cbs_sleeps(self, t, p);
	else
		cbs_switch(self, p, 0, now);
}

/* The task's rate is @rate from now on. */
WEIR_FLAT static void cbs_book(struct cbs weir_mem *self, struct cbs_task weir_mem *p, u64 rate)
{
	struct cbs_cpu weir_mem *home = cbs_home(self, p);

	cbs_settle_all(self, weir_now(self->inst.sched));
	if (home) {
		self->housed += rate - p->rate;
		home->all += rate - p->rate;
		home->active += p->active ? rate - p->rate : 0;
	}
	self->load += rate - p->rate;
	p->rate = rate;
}

/* --- servers, under the lock ---------------------------------------------------------------------------------- */

/* Book what the task's parameters say, or refuse it. */
WEIR_FLAT static void cbs_admit(struct cbs weir_mem *self, struct weir_task weir_mem *t,
				struct cbs_task weir_mem *p)
{
	u64 rate = weir_reserve_rate(p->r.budget, p->r.period);
	int refused = self->bound && (self->load - p->rate + rate) / self->bound >
					     self->capacity * (WEIR_RESERVE_FULL / 1024) / 100;

	cbs_book(self, p, refused ? 0 : rate);
	p->state = refused ? CBS_REFUSED : CBS_ADMITTED;
	p->deadline = 0;
	p->used = 0;
	if (refused)
		weir_publish(&self->inst, WEIR_TOPIC_OVERLOAD, t, WEIR_NO_CPU, rate);
}

static int cbs_serves(const struct cbs weir_mem *self, const struct cbs_task weir_mem *p)
{
	return !self->policy || p->policy == WEIR_POLICY_DEADLINE;
}

/* The server's next periods, as far as the budget has been used up. */
static void cbs_fill(struct cbs weir_mem *self, struct cbs_task weir_mem *p, u64 now)
{
	u64 periods = p->used / p->r.budget, begin;

	if (!self->hard) {
		p->deadline += periods * p->r.period;
		p->used -= periods * p->r.budget;
		return;
	}
	begin = p->deadline - p->r.relative;
	if (begin + p->r.period > now) {
		p->waits = 1;
		return;
	}
	/* One that was kept from the CPUs so long that its period is over does not get all that it missed. */
	begin += p->r.period;
	p->used -= p->r.budget;
	if (!p->waits || p->used >= p->r.budget || begin + p->r.relative <= now) {
		begin = now;
		p->used = 0;
	}
	p->waits = 0;
	p->deadline = begin + p->r.relative;
}

/* A task that declares no job gets the server that such tasks are given. */
WEIR_FLAT static void cbs_adopt(struct cbs weir_mem *self, struct weir_task weir_mem *t,
				struct cbs_task weir_mem *p)
{
	if (p->state != CBS_NONE || !self->budget || !cbs_serves(self, p))
		return;
	p->r.wcet = self->budget;
	p->r.within = self->period;
	if (weir_reserve_learn(&p->r, self->period))
		cbs_admit(self, t, p);
}

/* Budget and deadline of a server that is new, or whose task wakes and would exceed its rate with what is left. */
WEIR_INLINE void cbs_renew(const struct cbs weir_mem *self, struct cbs_task weir_mem *p, u64 left,
			   u64 now)
{
	u64 laxity = p->deadline > now ? p->deadline - now : 0;

	if (!p->deadline || !self->hard || p->deadline - p->r.relative + p->r.period <= now ||
	    (left && laxity && p->r.relative == p->r.period)) {
		p->deadline = now + p->r.relative;
		p->used = 0;
	} else {
		/* In its period a server with an earlier deadline keeps that, with as much as its rate allows until then. */
		left = left ? weir_reserve_rate(p->r.budget, p->r.relative) * laxity /
				       WEIR_RESERVE_FULL
			    : 0;
		p->used = p->r.budget - left;
	}
}

/* What the rules say of a task that may run and has been adopted if it was to be. */
WEIR_INLINE void cbs_refresh(struct cbs weir_mem *self, struct weir_task weir_mem *t,
			     struct cbs_task weir_mem *p)
{
	struct weir_sched weir_mem *s = self->inst.sched;
	u64 now = weir_now(s), left;

	if (p->state != CBS_ADMITTED)
		return;
	cbs_advance(self, t, now);
	if (!weir_runs(t))
		p->r.running = 0;
	if (weir_blocked(t))
		return;
	cbs_activate(self, t, p, now);
	left = p->used < p->r.budget ? p->r.budget - p->used : 0;
	if (!p->deadline || (p->r.idle && (p->deadline <= now ||
					   weir_reserve_rate(left, p->deadline - now) >
						   weir_reserve_rate(p->r.budget, p->r.relative))))
		cbs_renew(self, p, left, now);
	p->r.idle = 0;
	if (p->used >= p->r.budget)
		cbs_fill(self, p, now);
}

/*
 * How long the task that has got @cpu may go on, ns. Where no instance asks for budgets, as there is no throttle, one
 * without budget is not held back: it goes on until its period is over, not for a nanosecond again and again.
 */
static u64 cbs_turn(struct cbs weir_mem *self, const struct cbs_task weir_mem *p, u32 cpu)
{
	u64 now = weir_now(self->inst.sched), end = p->deadline - p->r.relative + p->r.period;
	u64 left;

	if (p->used >= p->r.budget && self->hard && !self->asked && end > now)
		return end - now;
	left = p->used < p->r.budget ? p->r.budget - p->used : 0;
	return weir_reserve_time(self->inst.sched, cpu,
				 left * WEIR_RESERVE_FULL / cbs_pace(self, p, cpu));
}

WEIR_ENTRY int cbs_construct(struct cbs weir_mem *self)
{
	self->capacity = cbs_capacity(self->inst.sched);
	self->cpu = weir_instance_alloc(&self->inst, (u64)weir_nr_cpus(self->inst.sched) *
							     sizeof(struct cbs_cpu));
	return self->cpu ? 0 : -WEIR_ENOMEM;
}

WEIR_ENTRY int cbs_on_cpu_status(struct cbs weir_mem *self, const struct weir_msg *msg)
{
	int err = weir_instance_lock(&self->inst);

	weir_use(msg);
	if (err)
		return err;
	cbs_settle_all(self, weir_now(self->inst.sched));
	self->capacity = cbs_capacity(self->inst.sched);
	weir_instance_unlock(&self->inst);
	return 0;
}

WEIR_ENTRY int cbs_on_policy(struct cbs weir_mem *self, const struct weir_msg *msg)
{
	struct cbs_task weir_mem *p = weir_reserve_open(&self->inst, msg);

	if (!p)
		return -WEIR_EINVAL;
	p->policy = msg->value;
	weir_instance_unlock(&self->inst);
	return 0;
}

WEIR_ENTRY int cbs_on_priority(struct cbs weir_mem *self, const struct weir_msg *msg)
{
	struct cbs_task weir_mem *p = weir_reserve_open(&self->inst, msg);

	if (!p)
		return -WEIR_EINVAL;
	p->above = (s64)msg->value > WEIR_REALTIME_HIGHEST;
	weir_instance_unlock(&self->inst);
	return 0;
}

WEIR_ENTRY int cbs_on_job(struct cbs weir_mem *self, const struct weir_msg *msg)
{
	struct cbs_task weir_mem *p = weir_reserve_open(&self->inst, msg);

	if (!p)
		return -WEIR_EINVAL;
	weir_reserve_job(&p->r, msg);
	weir_instance_unlock(&self->inst);
	return 0;
}

/* The job's deadline itself does not matter. */
WEIR_ENTRY int cbs_on_deadline(struct cbs weir_mem *self, const struct weir_msg *msg)
{
	struct cbs_task weir_mem *p = weir_reserve_open(&self->inst, msg);

	if (!p)
		return -WEIR_EINVAL;
	if (!cbs_serves(self, p))
		p->lent = msg->value;
	else if (p->r.wcet && (msg->value2 || p->r.within) &&
		 weir_reserve_learn(&p->r, msg->value2))
		cbs_admit(self, msg->task, p);
	weir_instance_unlock(&self->inst);
	return 0;
}

WEIR_ENTRY int cbs_on_dispatch(struct cbs weir_mem *self, const struct weir_msg *msg)
{
	struct cbs_task weir_mem *p = weir_reserve_open(&self->inst, msg);

	if (!p)
		return -WEIR_EINVAL;
	cbs_adopt(self, msg->task, p);
	cbs_refresh(self, msg->task, p);
	if (p->state == CBS_ADMITTED)
		cbs_move(self, p, msg->cpu, weir_now(self->inst.sched));
	weir_reserve_start(self->inst.sched, &p->r);
	if (p->state == CBS_ADMITTED)
		weir_store(&msg->task->slice_ns, cbs_turn(self, p, msg->cpu));
	weir_instance_unlock(&self->inst);
	return 0;
}

WEIR_ENTRY int cbs_on_relinquish(struct cbs weir_mem *self, const struct weir_msg *msg)
{
	struct cbs_task weir_mem *p = weir_reserve_open(&self->inst, msg);

	if (!p)
		return -WEIR_EINVAL;
	/* The message may be late: perhaps it runs again. */
	if (!weir_runs(msg->task)) {
		cbs_advance(self, msg->task, weir_now(self->inst.sched));
		p->r.running = 0;
	}
	weir_instance_unlock(&self->inst);
	return 0;
}

WEIR_ENTRY int cbs_on_block(struct cbs weir_mem *self, const struct weir_msg *msg)
{
	struct cbs_task weir_mem *p = weir_reserve_open(&self->inst, msg);
	u64 now = weir_now(self->inst.sched);

	if (!p)
		return -WEIR_EINVAL;
	cbs_advance(self, msg->task, now);
	p->r.running = 0;
	p->r.idle = 1;
	cbs_rest(self, msg->task, p, now);
	weir_instance_unlock(&self->inst);
	return 0;
}

WEIR_ENTRY int cbs_on_exit(struct cbs weir_mem *self, const struct weir_msg *msg)
{
	struct cbs_task weir_mem *p = weir_reserve_open(&self->inst, msg);
	u64 now = weir_now(self->inst.sched);

	if (!p)
		return -WEIR_EINVAL;
	cbs_advance(self, msg->task, now);
	cbs_wakes(self, p);
	cbs_book(self, p, 0);
	p->active = 0;
	p->state = CBS_REFUSED;
	weir_instance_unlock(&self->inst);
	return 0;
}

WEIR_ENTRY int cbs_answer_deadline(struct cbs weir_mem *self, struct weir_msg *msg)
{
	struct cbs_task weir_mem *p = weir_reserve_open(&self->inst, msg);

	if (!p)
		return -WEIR_EINVAL;
	cbs_adopt(self, msg->task, p);
	cbs_refresh(self, msg->task, p);
	if (p->state == CBS_ADMITTED)
		msg->value = p->deadline;
	else
		msg->value = p->above && !cbs_serves(self, p) ? p->lent : 0;
	msg->value2 = p->r.period;
	weir_instance_unlock(&self->inst);
	return 0;
}

WEIR_ENTRY int cbs_answer_budget(struct cbs weir_mem *self, struct weir_msg *msg)
{
	struct cbs_task weir_mem *p = weir_reserve_open(&self->inst, msg);

	if (!p)
		return -WEIR_EINVAL;
	self->asked = 1;
	cbs_adopt(self, msg->task, p);
	cbs_refresh(self, msg->task, p);
	msg->value = p->state != CBS_ADMITTED || p->used < p->r.budget;
	msg->value2 = msg->value ? 0 : p->deadline - p->r.relative + p->r.period;
	weir_instance_unlock(&self->inst);
	return 0;
}

WEIR_ENTRY void cbs_take_state(struct cbs weir_mem *self, struct cbs weir_mem *old)
{
	self->load = old->load;
	self->housed = old->housed;
	for (u32 i = 0; i < weir_nr_cpus(self->inst.sched) && weir_loop; i++) {
		self->cpu[i].active = old->cpu[i].active;
		self->cpu[i].all = old->cpu[i].all;
	}
	self->first = old->first;
	self->last = old->last;
}
