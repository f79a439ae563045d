/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * fair_server - reserve a part of the time for tasks below the real-time classes
 *
 * class:     order
 * pipes:     in 1, out 1, keyed
 * listens:   DISPATCH: while the server serves, a turn is at most the rest of the budget
 * publishes: PREEMPT: the server serves, and a CPU runs a less urgent task than a fair one
 * asks:      PRIORITY: 101 to 199 is real time; needed. DEADLINE: absolute, ns; a task with one is not fair.
 *            AFFINITY: which CPUs the task may take
 * answers:   -
 * kernel:    on request
 * params:    budget ns 50000000 [1000000, 1000000000]; time in each period that fair tasks get
 *            period ns 1000000000 [1000000, 10000000000]; length of a period
 *            rules count 7 [6, 7]; of Linux 6.12 or of 7.x: whether fair tasks that sleep beyond a period are served at once again
 * per-task:  8 bytes
 * cost:      O(log n) per change; O(n) when the server begins or ends to serve, and when it goes on in a new period; no lock of its own
 * batch:     the out-pipe holds the tasks of the in-pipe by their urgency, equal ones in the order of the in-pipe; a task
 *            with neither a real-time priority nor a deadline has the urgency of the server's deadline while that serves, and
 *            is eligible then, whatever an order before says
 * source:    Linux 6.12 and 7.x, kernel/sched/deadline.c: the fair server, a deadline server that is deferred
 * long:      the places of fair tasks and the account that decides on them change together
 *
 * Real-time tasks that never block starve all others. With this component behind `rt` and `edf`, the other tasks get
 * `budget` in each `period`, if they have work. What they run by themselves counts: the server waits until
 * only the rest of the budget fits into the period, and then serves them with the urgency of the period's end, as
 * a task of that deadline. Once it serves, the next period's budget is served at its beginning, as long as
 * fair tasks wait at the end of a period.
 *
 * A server that had to serve, and whose fair tasks sleep, is served at once when one wakes before the deadline, with as much of the budget as its
 * rate allows until then. When one wakes after the deadline, a new period begins: by the rules of 6.12 it is served at once too, until fair
 * tasks have run for a whole budget by themselves; by those of 7.x it is deferred again. So a task of 1 ms in each
 * 100 ms, on the CPU of a real-time task that never blocks, waits for 950 ms once (`rules = 6`), or each time (`rules = 7`).
 *
 * An instance counts the time in which at least one of its CPUs runs a fair task. Any stack can have one: what is neither real-time nor has
 * a deadline counts as fair, whatever order it is in (Linux's server for sched_ext is the same). Differences from Linux: it is not part of
 * the admission of `cbs`. By 6.12 a server that has not served yet may serve at once if fair tasks wake late in a period; here it is
 * deferred.
 *
 * example:   annotate affinity, executed, policy, priority;
 *            entry -> load_balancer -> each cpu { round_robin(slice = 3ms) -> rt -> fair_server -> cpu };
 */
#include <weir/kit/realtime.h>
#include <weir/cpus.h>

/* A rest of the budget below this is not worth a switch, ns. */
#define FAIR_SERVER_LEAST_NS 1000
/* When to look again if a lock could not be taken, ns. */
#define FAIR_SERVER_AGAIN_NS 50000

enum fair_server_state {
	FAIR_SERVER_OFF,    /* no fair task waited or ran when it last looked */
	FAIR_SERVER_DEFERS, /* fair tasks may get their time by themselves */
	FAIR_SERVER_SERVES,
	FAIR_SERVER_SPENT, /* until the period is over */
};

/* What a task counts as: a word of its private memory. */
enum fair_server_count { FAIR_SERVER_NOT, FAIR_SERVER_WAITS, FAIR_SERVER_RUNS };

struct fair_server {
	struct weir_instance inst;
	u64 budget;   /* (c) ns */
	u64 period;   /* (c) ns */
	u64 rules;    /* (c) */
	u64 deadline; /* (h) ns, end of the period */
	u64 left;     /* (h) ns of the budget */
	u64 since;    /* (h) ns; charged up to here */
	u64 placed; /* (h) urgency of the server when fair tasks got their places, WEIR_KEY_NONE: none */
	u32 running; /* (h) CPUs that run a fair task */
	u32 waiting; /* (h) fair tasks that wait */
	u32 state;   /* (h) enum fair_server_state */
	u32 served; /* (h) it had to serve, and fair tasks have not run for a budget without it since */
};

WEIR_COMPONENT(fair_server,
	       .summary = "reserve a part of the time for tasks below the real-time classes",
	       .cls = WEIR_ORDER, .serial = 1, .hears = WEIR_HEARS_PICKED | WEIR_HEARS_LEFT,
	       .kernel = WEIR_KERNEL_ON_REQUEST, .ordering = WEIR_STABLE, .in_min = 1, .in_max = 1,
	       .out_min = 1, .out_max = 1, .keyed_out = 1, .listens = WEIR_TOPIC_BIT(DISPATCH),
	       .publishes = WEIR_TOPIC_BIT(PREEMPT),
	       .asks = WEIR_TOPIC_BIT(PRIORITY) | WEIR_TOPIC_BIT(DEADLINE) |
		       WEIR_TOPIC_BIT(AFFINITY),
	       .needs = WEIR_TOPIC_BIT(PRIORITY), .per_task = sizeof(u64),
	       WEIR_PARAMS(fair_server,
			   WEIR_PARAM(fair_server, budget, NS, 50000000, 1000000, 1000000000,
				      "time in each period that fair tasks get"),
			   WEIR_PARAM(fair_server, period, NS, 1000000000, 1000000, 10000000000ull,
				      "length of a period"),
			   WEIR_PARAM(fair_server, rules, COUNT, 7, 6, 7,
				      "of Linux 6.12 or of 7.x: whether fair tasks that sleep "
				      "beyond a period are served at once again")),
	       WEIR_RELATIONS(WEIR_RELATION(fair_server, AT_MOST, budget, period,
					    "a server cannot get more than all of the time")));

static int fair_server_is_fair(struct fair_server weir_mem *self, struct weir_task weir_mem *t)
{
	struct weir_sched weir_mem *s = self->inst.sched;

	if (weir_is_realtime(weir_property(s, WEIR_TOPIC_PRIORITY, t)))
		return 0;
	return !weir_property(s, WEIR_TOPIC_DEADLINE, t);
}

/* --- the server's account, under the lock that steps are taken under ------------------------------------- */

static void fair_server_begin(struct fair_server weir_mem *self, u64 now)
{
	self->deadline = now + self->period;
	self->left = self->budget;
}

/* Fair tasks that run without the server use its budget, too: then it is not needed for a period. */
static void fair_server_charge(struct fair_server weir_mem *self, u64 now)
{
	u64 used = self->running && now > self->since ? now - self->since : 0;

	self->since = now;
	if (!used)
		return;
	self->left = used < self->left ? self->left - used : 0;
	if (self->left >= FAIR_SERVER_LEAST_NS)
		return;
	if (self->state == FAIR_SERVER_SERVES) {
		self->state = FAIR_SERVER_SPENT;
		return;
	}
	if (self->state == FAIR_SERVER_SPENT)
		self->state = FAIR_SERVER_DEFERS;
	self->served = 0;
	fair_server_begin(self, now);
}

/* What the server's rate allows until the deadline is less than what is left. */
static int fair_server_overflows(const struct fair_server weir_mem *self, u64 now)
{
	return self->left * self->period > (self->deadline - now) * self->budget;
}

static u64 fair_server_urgency(const struct fair_server weir_mem *self)
{
	return self->state == FAIR_SERVER_SERVES ? self->deadline : WEIR_KEY_NONE;
}

/* The first fair task waits. */
static void fair_server_start(struct fair_server weir_mem *self, u64 now)
{
	if (self->deadline <= now) {
		if (self->rules >= 7)
			self->served = 0;
		fair_server_begin(self, now);
	} else if (fair_server_overflows(self, now)) {
		if (self->served)
			self->left = (self->deadline - now) * self->budget / self->period;
		else
			fair_server_begin(self, now);
	}
	self->state = self->served ? FAIR_SERVER_SERVES : FAIR_SERVER_DEFERS;
	self->placed = fair_server_urgency(self);
	weir_timer_set(&self->inst, self->served ? self->deadline : self->deadline - self->left);
}

/* Only the server can grant the rest of the budget in time. */
static int fair_server_must(const struct fair_server weir_mem *self, u64 now)
{
	return self->state == FAIR_SERVER_DEFERS && !self->running &&
	       now + self->left >= self->deadline;
}

/* What is due at @now. */
static void fair_server_advance(struct fair_server weir_mem *self, u64 now)
{
	if (!self->waiting && !self->running && self->state != FAIR_SERVER_SPENT) {
		self->state = FAIR_SERVER_OFF;
	} else if (self->state >= FAIR_SERVER_SERVES && now >= self->deadline) {
		fair_server_begin(self, self->deadline + self->period > now ? self->deadline : now);
		self->state = FAIR_SERVER_SERVES;
	} else if (fair_server_must(self, now)) {
		self->state = FAIR_SERVER_SERVES;
		self->served = 1;
	}
}

/* When to look again: a fair task that runs as long as the server would have to begin uses up the budget itself. */
static u64 fair_server_next(const struct fair_server weir_mem *self, u64 now)
{
	u64 begin = self->deadline - self->left;

	if (self->state == FAIR_SERVER_OFF)
		return 0;
	if (self->state != FAIR_SERVER_DEFERS)
		return self->deadline;
	return begin > now ? begin : now + self->left;
}

/* @t counts as @as from now on. What it counted as before. */
static u64 fair_server_count(struct fair_server weir_mem *self, struct weir_task weir_mem *t,
			     u64 as)
{
	u64 weir_mem *counts = weir_priv(&self->inst, t);
	u64 was = *counts;

	self->waiting += (as == FAIR_SERVER_WAITS) - (was == FAIR_SERVER_WAITS);
	self->running += (as == FAIR_SERVER_RUNS) - (was == FAIR_SERVER_RUNS);
	*counts = as;
	return was;
}

/* --- places ------------------------------------------------------------------------------------------------ */

/* The urgency of fair tasks is another one from now on: those that wait are asked to take their new places, but @t (null: none). */
static void fair_server_ask(struct fair_server weir_mem *self, const struct weir_task weir_mem *t)
{
	struct weir_task weir_mem *other;

	weir_for_member(other, weir_in(&self->inst, 0))
		if (other != t &&
		    *(u64 weir_mem *)weir_priv(&self->inst, other) == FAIR_SERVER_WAITS)
			weir_review(&self->inst, other);
}

/* The state may have to change, in a step about @t or (null) by the timer. 1: all are to be asked, which a step cannot do here. */
WEIR_HELPER int fair_server_turn(struct fair_server weir_mem *self weir_arg,
				 struct weir_task weir_mem *t weir_arg, u64 now)
{
	u64 urgency;
	int far;

	fair_server_advance(self, now);
	urgency = fair_server_urgency(self);
	far = urgency != self->placed && !self->inst.home;
	/* Then the timer does. */
	weir_timer_set(&self->inst, far && t ? now : fair_server_next(self, now));
	if (far && t)
		return 1;
	if (urgency != self->placed && !far)
		fair_server_ask(self, t);
	self->placed = urgency;
	return far;
}

WEIR_ENTRY int fair_server_construct(struct fair_server weir_mem *self)
{
	self->since = weir_now(self->inst.sched);
	self->placed = WEIR_KEY_NONE;
	return 0;
}

/* @t runs from now on. */
static void fair_server_run(struct fair_server weir_mem *self, struct weir_task weir_mem *t,
			    int fair)
{
	if (!fair) {
		/* The CPU runs something less urgent than the server. */
		if (self->state == FAIR_SERVER_SERVES && !self->waiting && !self->running &&
		    weir_out(&self->inst, 0)->nr_cpus == 1 && weir_load(&t->key) > self->deadline)
			self->state = FAIR_SERVER_OFF;
		return;
	}
	fair_server_count(self, t, FAIR_SERVER_RUNS);
}

/* Served, it runs for the rest of the budget at most. This is after all stages heard that it was picked: those before may grant slices then. */
WEIR_ENTRY int fair_server_on_dispatch(struct fair_server weir_mem *self,
				       const struct weir_msg *msg)
{
	struct weir_task weir_mem *t = msg->task;

	if (weir_steps_lock(&self->inst))
		return 0;
	/* The runtime's default slice, 0, may be longer, too. */
	if (self->state == FAIR_SERVER_SERVES &&
	    *(u64 weir_mem *)weir_priv(&self->inst, t) == FAIR_SERVER_RUNS &&
	    weir_load(&t->slice_ns) - 1 >= self->left)
		weir_store(&t->slice_ns, self->left);
	weir_steps_unlock(&self->inst);
	return 0;
}

/* Its place in the out-pipe, or how urgent it is while it runs. */
static u32 fair_server_put(struct fair_server weir_mem *self, struct weir_step weir_mem *s,
			   int fair)
{
	if (fair && self->state == FAIR_SERVER_SERVES) {
		/* Among themselves they keep their order, too. */
		s->keeps_tie = 1;
		return weir_place_urgent(s, self->deadline);
	}
	if (fair && !s->runs)
		s->key = weir_key_before(s);
	return 0;
}

WEIR_ENTRY u32 fair_server_step(struct fair_server weir_mem *self, u32 what,
				struct weir_task weir_mem *t, struct weir_step weir_mem *s)
{
	int fair = what != WEIR_LEFT && fair_server_is_fair(self, t);
	u64 now = weir_now(self->inst.sched), was;

	fair_server_charge(self, now);
	if (what == WEIR_PICKED) {
		fair_server_count(self, t, FAIR_SERVER_NOT);
		fair_server_run(self, t, fair);
		return 0;
	}
	if (what == WEIR_REVIEW && s->runs)
		return fair_server_put(self, s, fair);
	was = fair_server_count(self, t, fair ? FAIR_SERVER_WAITS : FAIR_SERVER_NOT);
	/* It has stopped: the budget may be spent, or only the server can grant the rest of it in time. */
	if (fair_server_urgency(self) != self->placed ||
	    (was == FAIR_SERVER_RUNS &&
	     (self->state == FAIR_SERVER_SPENT || fair_server_must(self, now))))
		fair_server_turn(self, t, now);
	if (fair && self->state == FAIR_SERVER_OFF)
		fair_server_start(self, now);
	return what == WEIR_LEFT ? 0 : fair_server_put(self, s, fair);
}

WEIR_ENTRY int fair_server_on_timer(struct fair_server weir_mem *self)
{
	u64 now = weir_now(self->inst.sched);
	int far;

	if (weir_steps_lock(&self->inst)) {
		weir_timer_set(&self->inst, now + FAIR_SERVER_AGAIN_NS);
		return 0;
	}
	fair_server_charge(self, now);
	far = fair_server_turn(self, 0, now);
	weir_steps_unlock(&self->inst);
	return far ? weir_review_all(&self->inst) : 0;
}

/* Those that wait or run are counted anew. */
WEIR_ENTRY void fair_server_take_state(struct fair_server weir_mem *self,
				       struct fair_server weir_mem *old)
{
	self->deadline = old->deadline;
	self->left = old->left;
	self->state = old->state;
	self->served = old->served;
	self->placed = fair_server_urgency(self);
	weir_timer_begin(&self->inst, old->inst.timer_ns);
}
