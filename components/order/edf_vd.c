/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * edf_vd - mixed criticality: run by virtual deadlines, and by real ones after a critical overrun
 *
 * class:     order
 * pipes:     in 1, out 1, keyed
 * listens:   DEADLINE: a job of a waiting task was released. JOB, CRITICALITY: a waiting task declares itself again
 * publishes: PREEMPT: a CPU runs a less urgent task than a new one. OVERLOAD: the tasks fail
 *            the test of the paper
 * asks:      JOB: expected execution time and relative deadline; DEADLINE: absolute, and the period;
 *            EXECUTED: execution time so far; all needed. CRITICALITY: the level, and the execution
 *            time of the high one. AFFINITY: which CPUs the task may take
 * answers:   -
 * kernel:    on request
 * params:    x pct 0 [0, 100]; factor of high tasks' relative deadlines in the low mode, 0: computed as in the paper
 * per-task:  72 bytes
 * cost:      O(log n) per change, changes of the mode included, averaged over the jobs; O(h log n) for h
 *            waiting high tasks when a change of the set changes x; no lock of its own
 * batch:     the out-pipe holds the tasks of the in-pipe, stably sorted: in the low mode by deadline, with
 *            those of high tasks shortened; in the high mode high tasks by real deadlines, all
 *            others behind them; tasks that overran or were suspended are last
 * source:    Baruah, Bonifaci, D'Angelo, Li, Marchetti-Spaccamela, van der Ster and Stougie, "The
 *            preemptive uniprocessor scheduling of mixed-criticality implicit-deadline sporadic task
 *            systems", 2012, section 4
 * long:      the admission test and both modes of the order share the virtual deadlines
 *
 * With l the load of the low tasks, h the expected and H the worst-case load of the high ones: if l + H <= 1, this
 * is edf. Otherwise relative deadlines of high tasks are multiplied by x = h / (1 - l), and all
 * deadlines are met as long as no job exceeds its expected time. If a high one does, the mode changes:
 * low tasks are suspended, and high ones meet their deadlines if x l + H <= 1. The low mode returns when no high task
 * has a job. A suspended low job, one that was released before that and begins later, and one that exceeds its declared time,
 * runs in the remaining time until it ends; with `on_miss = "abort"` in the workload it is dropped.
 *
 * A given `x` is used for all loads, and the mode always changes when a high task exceeds its
 * expected time; both modes are safe if l + h / x <= 1 and x l + H <= 1. OVERLOAD reports if they are not.
 *
 * For one CPU; on several, give each its own instance (partition). Deadlines must be the ends of periods.
 *
 * example:   annotate affinity, criticality, deadline, executed, job; entry -> edf_vd -> cpus;
 */
#include <weir/component.h>
#include <weir/cpus.h>
#include <weir/kit/roster.h>

/* Load of one CPU of capacity 1024. */
#define EDF_VD_FULL 1000000ull
/* Longest time that is multiplied by a load, ns: 4 hours. */
#define EDF_VD_LONG (1ull << 44)

struct edf_vd_task {
	u64 wcet;     /* (h) expected, ns */
	u64 wcet_hi;  /* (h) at most; high criticality only */
	u64 relative; /* (h) ns */
	u64 period;   /* (h) ns */
	u64 load;     /* (h) booked, expected */
	u64 load_hi;  /* (h) booked, at most */
	u64 deadline; /* (h) absolute deadline of the job seen last */
	u32 level;    /* (h) as booked: enum weir_criticality */
	u32 aside;    /* (h) the job was set aside */
	u32 in_high;  /* (h) place among the high tasks */
	u32 in_low;   /* (h) place among the low ones */
};

struct edf_vd {
	struct weir_instance inst;
	struct weir_roster high; /* (h) high tasks that wait */
	struct weir_roster low;	 /* (h) low ones that wait and are not set aside */
	u64 lo;			 /* (h) booked by low tasks */
	u64 hi;			 /* (h) by high ones, expected */
	u64 most;		 /* (h) by high ones, at most */
	u64 part;   /* (h) of a high task's relative deadline in the low mode, EDF_VD_FULL: all */
	u64 x;	    /* (c) that as a percentage, 0: to be computed */
	u64 until;  /* (h) ns; a high task had a job in the high mode until then */
	u32 mode;   /* (h) 1: high */
	u32 warned; /* (h) OVERLOAD was published for the present set */
	struct edf_vd_task declared; /* (h) by the task that is being looked at */
};

WEIR_COMPONENT(
	edf_vd,
	.summary = "mixed criticality: run by virtual deadlines, and by real ones "
		   "after a critical overrun",
	.cls = WEIR_ORDER, .serial = 1, .hears = WEIR_HEARS_PICKED | WEIR_HEARS_LEFT,
	.kernel = WEIR_KERNEL_ON_REQUEST, .ordering = WEIR_STABLE, .in_min = 1, .in_max = 1,
	.out_min = 1, .out_max = 1, .keyed_out = 1,
	.listens = WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(CRITICALITY),
	.reviews = WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(CRITICALITY),
	.publishes = WEIR_TOPIC_BIT(PREEMPT) | WEIR_TOPIC_BIT(OVERLOAD),
	.asks = WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(EXECUTED) |
		WEIR_TOPIC_BIT(CRITICALITY) | WEIR_TOPIC_BIT(AFFINITY),
	.needs = WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(EXECUTED),
	.per_task = sizeof(struct edf_vd_task),
	WEIR_PARAMS(edf_vd,
		    WEIR_PARAM(edf_vd, x, PCT, 0, 0, 100,
			       "factor of high tasks' relative deadlines in the low mode, 0: "
			       "computed as in the paper")));

static u64 edf_vd_load(u64 wcet, u64 period)
{
	if (wcet > EDF_VD_LONG)
		wcet = EDF_VD_LONG;
	return period ? (wcet * EDF_VD_FULL + period - 1) / period : 0;
}

static u64 edf_vd_full(struct edf_vd weir_mem *self)
{
	u64 capacity = weir_pipe_capacity(weir_out(&self->inst, 0));

	return EDF_VD_FULL * (capacity ? capacity : 1024) / 1024;
}

/* There are no modes: all deadlines can be met by edf, or those of the high tasks by nothing else. */
static int edf_vd_plain(const struct edf_vd weir_mem *self)
{
	return !self->x && self->part == EDF_VD_FULL;
}

/* What part of their relative deadlines high tasks have in the low mode. */
static u64 edf_vd_part(const struct edf_vd weir_mem *self, u64 full)
{
	u64 part = EDF_VD_FULL;

	if (self->x)
		return self->x * (EDF_VD_FULL / 100);
	if (self->lo + self->most > full && self->lo < full)
		part = (self->hi * EDF_VD_FULL + full - self->lo - 1) / (full - self->lo);
	return part && part < EDF_VD_FULL ? part : EDF_VD_FULL;
}

/* Both modes are safe by the test of the paper. */
static int edf_vd_safe(const struct edf_vd weir_mem *self, u64 full)
{
	if (!self->x && self->lo + self->most <= full)
		return 1;
	return self->lo + self->hi * EDF_VD_FULL / self->part <= full &&
	       self->part * self->lo / EDF_VD_FULL + self->most <= full;
}

/* The part of the deadlines, after the set of tasks has changed. */
static void edf_vd_plan(struct edf_vd weir_mem *self, struct weir_task weir_mem *t)
{
	u64 full = edf_vd_full(self);
	u32 safe;

	self->part = edf_vd_part(self, full);
	safe = edf_vd_safe(self, full);
	if (!safe && !self->warned)
		weir_publish(&self->inst, WEIR_TOPIC_OVERLOAD, t, WEIR_NO_CPU,
			     self->lo + self->most);
	self->warned = !safe;
}

static void edf_vd_unbook(struct edf_vd weir_mem *self, struct edf_vd_task weir_mem *p)
{
	if (p->level == WEIR_CRITICALITY_HI) {
		self->hi -= p->load < self->hi ? p->load : self->hi;
		self->most -= p->load_hi < self->most ? p->load_hi : self->most;
	} else {
		self->lo -= p->load < self->lo ? p->load : self->lo;
	}
	p->load = p->load_hi = 0;
}

/* What @t has declared, into `declared`; without a job whose deadline is known `deadline` is 0. */
WEIR_HELPER int edf_vd_ask(struct edf_vd weir_mem *self weir_arg,
			   struct weir_task weir_mem *t weir_arg)
{
	struct weir_msg msg = { .topic = WEIR_TOPIC_JOB, .task = t };
	struct weir_sched weir_mem *s = self->inst.sched;
	int unknown = weir_request(s, &msg);

	self->declared.wcet = msg.value;
	self->declared.relative = msg.value2;
	msg.topic = WEIR_TOPIC_DEADLINE;
	msg.value = msg.value2 = 0;
	unknown = unknown || weir_request(s, &msg) || msg.value < self->declared.relative;
	self->declared.deadline = unknown ? 0 : msg.value;
	self->declared.period = msg.value2 ? msg.value2 : self->declared.relative;
	msg.topic = WEIR_TOPIC_CRITICALITY;
	msg.value = msg.value2 = 0;
	if (weir_request(s, &msg) || msg.value != WEIR_CRITICALITY_HI)
		msg.value = msg.value2 = 0;
	self->declared.level = msg.value;
	if (msg.value && msg.value2 < self->declared.wcet)
		msg.value2 = self->declared.wcet;
	self->declared.wcet_hi = msg.value2;
	return 0;
}

/* Ask what the task needs, and book it. */
WEIR_FLAT static void edf_vd_learn(struct edf_vd weir_mem *self, struct weir_task weir_mem *t)
{
	struct edf_vd_task weir_mem *p = weir_priv(&self->inst, t);
	const struct edf_vd_task weir_mem *declared = &self->declared;

	edf_vd_ask(self, t);
	if (p->deadline != declared->deadline)
		p->aside = 0;
	p->deadline = declared->deadline;
	if (!declared->deadline || !declared->relative)
		return;
	if (p->wcet == declared->wcet && p->relative == declared->relative &&
	    p->period == declared->period && p->level == declared->level &&
	    p->wcet_hi == declared->wcet_hi)
		return;
	edf_vd_unbook(self, p);
	p->wcet = declared->wcet;
	p->relative = declared->relative;
	p->period = declared->period;
	p->level = declared->level;
	p->wcet_hi = declared->wcet_hi;
	p->load = edf_vd_load(p->wcet, p->period);
	p->load_hi = edf_vd_load(p->wcet_hi, p->period);
	if (p->level == WEIR_CRITICALITY_HI) {
		self->hi += p->load;
		self->most += p->load_hi;
	} else {
		self->lo += p->load;
	}
	edf_vd_plan(self, t);
}

/* What the job may still run before it has to be looked at, ns. */
static u64 edf_vd_left(struct edf_vd weir_mem *self, struct weir_task weir_mem *t,
		       const struct edf_vd_task weir_mem *p)
{
	int most = p->level == WEIR_CRITICALITY_HI && (self->mode || edf_vd_plain(self));
	u64 limit = most ? p->wcet_hi : p->wcet;
	u64 used = weir_property(self->inst.sched, WEIR_TOPIC_EXECUTED, t);

	return limit > used ? limit - used : 0;
}

/* The key of a task in the present mode; WEIR_KEY_NONE: it runs in the remaining time. */
static u64 edf_vd_key(struct edf_vd weir_mem *self, struct weir_task weir_mem *t,
		      const struct edf_vd_task weir_mem *p)
{
	u64 within;

	if (!p->deadline || !p->relative || p->aside || !edf_vd_left(self, t, p))
		return WEIR_KEY_NONE;
	if (p->level != WEIR_CRITICALITY_HI || self->mode)
		return p->deadline;
	within = p->relative < EDF_VD_LONG ? p->relative * self->part / EDF_VD_FULL : p->relative;
	return p->deadline - p->relative + within;
}

WEIR_HELPER u32 edf_vd_place(struct edf_vd weir_mem *self weir_arg,
			     struct weir_task weir_mem *t weir_arg,
			     struct weir_step weir_mem *s weir_arg)
{
	const struct weir_pipe weir_mem *in = weir_in(&self->inst, 0);
	struct edf_vd_task weir_mem *p = weir_priv(&self->inst, t);
	u64 key = edf_vd_key(self, t, p), left = edf_vd_left(self, t, p), capacity = 1024;

	if (in->nr_cpus == 1)
		capacity = weir_cpu_capacity(self->inst.sched, in->cpu);
	if (key == WEIR_KEY_NONE || left >= EDF_VD_LONG)
		weir_store(&t->slice_ns, WEIR_SLICE_DEFAULT);
	else
		weir_store(&t->slice_ns, (left * 1024 + capacity - 1) / capacity);
	return weir_place_urgent(s, key);
}

/* Waiting high tasks but @t get new places: their deadlines have changed. */
WEIR_HELPER int edf_vd_review_high(struct edf_vd weir_mem *self weir_arg,
				   struct weir_task weir_mem *t weir_arg)
{
	for (u32 i = 0; i < self->high.nr && weir_loop; i++)
		if (self->high.task[i] != t)
			weir_review(&self->inst, self->high.task[i]);
	return 0;
}

/* Low tasks that wait are set aside, each job once. */
WEIR_HELPER int edf_vd_suspend_low(struct edf_vd weir_mem *self weir_arg)
{
	for (u32 i = 0; i < self->low.nr && weir_loop; i++) {
		struct weir_task weir_mem *t = self->low.task[i];

		((struct edf_vd_task weir_mem *)weir_priv(&self->inst, t))->aside = 1;
		weir_review(&self->inst, t);
	}
	return weir_roster_clear(&self->low);
}

static int edf_vd_is_high(struct edf_vd weir_mem *self, struct weir_task weir_mem *t)
{
	const struct edf_vd_task weir_mem *p = weir_priv(&self->inst, t);

	return p->level == WEIR_CRITICALITY_HI;
}

/* A high task other than @t has a job. */
static int edf_vd_critical(struct edf_vd weir_mem *self, struct weir_task weir_mem *t)
{
	const struct weir_pipe weir_mem *in = weir_in(&self->inst, 0);
	struct weir_sched weir_mem *s = self->inst.sched;

	if (self->high.nr > 1 || (self->high.nr && self->high.task[0] != t))
		return 1;
	for (u32 w = in->word_lo; w <= in->word_hi && weir_loop; w++) {
		u64 bits = in->cpus->word[w] & weir_busy_word(s, w);

		while (bits && weir_loop) {
			struct weir_task weir_mem *other =
				weir_cpu_curr(s, w * 64 + weir_lowest_bit(bits));

			bits &= bits - 1;
			if (other && other != t && edf_vd_is_high(self, other))
				return 1;
		}
	}
	return 0;
}

/* @t waits: changes of the mode concern it. */
WEIR_HELPER int edf_vd_enlist(struct edf_vd weir_mem *self weir_arg,
			      struct weir_task weir_mem *t weir_arg)
{
	const struct edf_vd_task weir_mem *p = weir_priv(&self->inst, t);

	if (p->level == WEIR_CRITICALITY_HI) {
		weir_roster_drop(&self->low, t);
		return weir_roster_add(&self->high, t);
	}
	weir_roster_drop(&self->high, t);
	if (!p->deadline || p->aside)
		return weir_roster_drop(&self->low, t);
	return weir_roster_add(&self->low, t);
}

/* The mode in which @t, whose deadline was @before, is put into its place. */
WEIR_HELPER int edf_vd_change_mode(struct edf_vd weir_mem *self weir_arg,
				   struct weir_task weir_mem *t weir_arg, u64 before)
{
	struct edf_vd_task weir_mem *p = weir_priv(&self->inst, t);

	if (self->mode && p->deadline != before && !edf_vd_critical(self, t))
		self->mode = 0;
	else if (!self->mode && !edf_vd_plain(self) && p->level == WEIR_CRITICALITY_HI &&
		 p->deadline && !edf_vd_left(self, t, p))
		self->mode = 1;
	/* All low jobs that were released in the high mode would come at once after it, which nothing has room for. */
	if (p->level != WEIR_CRITICALITY_HI && p->deadline &&
	    (self->mode || p->deadline - p->relative < self->until))
		p->aside = 1;
	return 0;
}

/* @t waits: what has changed, for it and for others. */
WEIR_HELPER int edf_vd_look(struct edf_vd weir_mem *self weir_arg,
			    struct weir_task weir_mem *t weir_arg)
{
	const struct edf_vd_task weir_mem *p = weir_priv(&self->inst, t);
	u64 before = p->deadline, part = self->part;
	u32 mode = self->mode;
	int err;

	edf_vd_learn(self, t);
	edf_vd_change_mode(self, t, before);
	err = edf_vd_enlist(self, t);
	/* When the low mode returns, no other high task waits, and what was set aside remains so. */
	if ((!mode && self->mode) || self->part != part)
		edf_vd_review_high(self, t);
	if (!mode && self->mode)
		edf_vd_suspend_low(self);
	return err;
}

WEIR_ENTRY int edf_vd_construct(struct edf_vd weir_mem *self)
{
	weir_roster_init(&self->high, &self->inst, __builtin_offsetof(struct edf_vd_task, in_high));
	weir_roster_init(&self->low, &self->inst, __builtin_offsetof(struct edf_vd_task, in_low));
	self->part = edf_vd_part(self, edf_vd_full(self));
	return 0;
}

/* A running task is looked at when it comes back. */
WEIR_ENTRY u32 edf_vd_step(struct edf_vd weir_mem *self, u32 what, struct weir_task weir_mem *t,
			   struct weir_step weir_mem *s)
{
	int err;

	if (what == WEIR_PICKED || what == WEIR_LEFT) {
		if (what == WEIR_LEFT && self->mode && edf_vd_is_high(self, t))
			self->until = weir_now(self->inst.sched);
		weir_roster_drop(&self->high, t);
		weir_roster_drop(&self->low, t);
		return 0;
	}
	if (s->runs)
		return 0;
	err = edf_vd_look(self, t);
	/* Without memory for the lists it keeps its place when the mode changes. */
	if (err)
		weir_step_failed(&self->inst, t, err);
	return edf_vd_place(self, t, s);
}

/* Nothing is left to do, for critical tasks neither: the low mode returns. */
WEIR_ENTRY int edf_vd_on_idle(struct edf_vd weir_mem *self, u32 cpu)
{
	(void)cpu;
	if (!weir_load(&self->mode) || weir_steps_lock(&self->inst))
		return 0;
	if (!edf_vd_critical(self, 0))
		self->mode = 0;
	weir_steps_unlock(&self->inst);
	return 0;
}

/* The books are written under the lock of the steps. */
WEIR_ENTRY void edf_vd_task_exit(struct edf_vd weir_mem *self, struct weir_task weir_mem *t)
{
	if (weir_steps_lock(&self->inst))
		return;
	edf_vd_unbook(self, weir_priv(&self->inst, t));
	edf_vd_plan(self, t);
	weir_steps_unlock(&self->inst);
}

WEIR_ENTRY void edf_vd_take_state(struct edf_vd weir_mem *self, struct edf_vd weir_mem *old)
{
	self->lo = old->lo;
	self->hi = old->hi;
	self->most = old->most;
	self->part = edf_vd_part(self, edf_vd_full(self));
	self->mode = old->mode;
	self->until = old->until;
	self->warned = old->warned;
}

WEIR_ENTRY void edf_vd_destroy(struct edf_vd weir_mem *self)
{
	weir_roster_free(&self->high);
	weir_roster_free(&self->low);
}
