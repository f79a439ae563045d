/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * fair_server - reserve a part of the time for tasks below the real-time classes
 *
 * class:     order
 * pipes:     in 1, out 1, keyed
 * listens:   DISPATCH, RELINQUISH, BLOCK, EXIT: the time that fair tasks run is charged
 * publishes: PREEMPT: the server serves, and a CPU runs a less urgent task than a fair one
 * asks:      PRIORITY: 101 to 199 is real time; needed. DEADLINE: absolute, ns; a task with one is not fair.
 *            AFFINITY: which CPUs the task may take
 * answers:   -
 * kernel:    on request
 * params:    budget ns 50000000 [1000000, 1000000000]; time in each period that fair tasks get
 *            period ns 1000000000 [1000000, 10000000000]; length of a period
 *            rules count 7 [6, 7]; of Linux 6.12 or of 7.x: whether fair tasks that sleep beyond a period are served at once again
 * per-task:  8 bytes
 * cost:      O(log n) per change; O(n) when the server begins or ends to serve, and when its timer is due;
 *            takes the in-pipe lock and the out-pipe lock, and the instance's lock
 * batch:     the out-pipe holds the tasks of the in-pipe by their urgency, equal ones in the order of the in-pipe; a task
 *            with neither a real-time priority nor a deadline has the urgency of the server's deadline while that serves
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
#include <weir/kit/reserve.h>

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

struct fair_server {
	struct weir_instance inst;
	u64 budget; /* (c) ns */
	u64 period; /* (c) ns */
	u64 deadline; /* (a) ns, end of the period; written under the instance's lock, like all that follow */
	u64 left;    /* (l) ns of the budget */
	u64 since;   /* (l) ns; charged up to here */
	u32 running; /* (l) CPUs that run a fair task */
	u32 state;   /* (a) enum fair_server_state */
	u64 rules;   /* (c) */
	u64 served; /* (l) it had to serve, and fair tasks have not run for a budget without it since */
};

WEIR_COMPONENT(fair_server,
	       .summary = "reserve a part of the time for tasks below the real-time classes",
	       .cls = WEIR_ORDER, .carries = WEIR_CARRIES_LOCKED, .kernel = WEIR_KERNEL_ON_REQUEST,
	       .ordering = WEIR_STABLE, .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1,
	       .keyed_out = 1,
	       .listens = WEIR_TOPIC_BIT(DISPATCH) | WEIR_TOPIC_BIT(RELINQUISH) |
			  WEIR_TOPIC_BIT(BLOCK) | WEIR_TOPIC_BIT(EXIT),
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

/* --- the server's account, under the instance's lock ----------------------------------------------------- */

static void fair_server_begin(struct fair_server weir_mem *self, u64 now)
{
	weir_store(&self->deadline, now + self->period);
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
		weir_store(&self->state, FAIR_SERVER_SPENT);
		return;
	}
	if (self->state == FAIR_SERVER_SPENT)
		weir_store(&self->state, FAIR_SERVER_DEFERS);
	self->served = 0;
	fair_server_begin(self, now);
}

/* What the server's rate allows until the deadline is less than what is left. */
static int fair_server_overflows(const struct fair_server weir_mem *self, u64 now)
{
	return self->left * self->period > (self->deadline - now) * self->budget;
}

/* The first fair task waits. */
static void fair_server_start(struct fair_server weir_mem *self)
{
	u64 now = weir_now(self->inst.sched);

	if (weir_instance_lock(&self->inst))
		return;
	if (self->state == FAIR_SERVER_OFF) {
		if (self->deadline <= now) {
			self->served &= self->rules < 7;
			fair_server_begin(self, now);
		} else if (fair_server_overflows(self, now)) {
			if (self->served)
				self->left = (self->deadline - now) * self->budget / self->period;
			else
				fair_server_begin(self, now);
		}
		weir_store(&self->state, self->served ? FAIR_SERVER_SERVES : FAIR_SERVER_DEFERS);
		weir_timer_set(&self->inst,
			       self->served ? self->deadline : self->deadline - self->left);
	}
	weir_instance_unlock(&self->inst);
}

/* The CPU runs something less urgent than the server: no fair task waits. */
static void fair_server_rest(struct fair_server weir_mem *self)
{
	if (weir_instance_lock(&self->inst))
		return;
	if (self->state == FAIR_SERVER_SERVES && !self->running)
		weir_store(&self->state, FAIR_SERVER_OFF);
	weir_instance_unlock(&self->inst);
}

/* What is due at @now; @waits: a fair task does. */
static void fair_server_advance(struct fair_server weir_mem *self, u64 now, int waits)
{
	u32 state = self->state;

	if (!waits && !self->running && state != FAIR_SERVER_SPENT) {
		state = FAIR_SERVER_OFF;
	} else if (state >= FAIR_SERVER_SERVES && now >= self->deadline) {
		fair_server_begin(self, self->deadline + self->period > now ? self->deadline : now);
		state = FAIR_SERVER_SERVES;
	} else if (state == FAIR_SERVER_DEFERS && !self->running &&
		   now + self->left >= self->deadline) {
		state = FAIR_SERVER_SERVES;
		self->served = 1;
	}
	weir_store(&self->state, state);
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

/* --- places ------------------------------------------------------------------------------------------------ */

static int fair_server_put(struct fair_server weir_mem *self, struct weir_pipe weir_mem *in,
			   struct weir_task weir_mem *t, int fair)
{
	u64 key = in->keyed ? t->hooks[in->slot].key : WEIR_KEY_NONE;

	if (fair && weir_load(&self->state) == FAIR_SERVER_SERVES)
		return weir_insert_urgent(&self->inst, t, weir_load(&self->deadline), in);
	return weir_pipe_insert_stable(weir_out(&self->inst, 0), t,
				       fair ? weir_key_before(in, t) : key, in);
}

/* The state has changed, or may have to: each fair task gets its place again. */
WEIR_HELPER int fair_server_turn(struct fair_server weir_mem *self weir_arg, u64 now)
{
	struct weir_pipe weir_mem *in = weir_in(&self->inst, 0);
	struct weir_task weir_mem *t;
	int err = 0, waits = 0;

	if (weir_pipe_lock(in)) {
		weir_timer_set(&self->inst, now + FAIR_SERVER_AGAIN_NS);
		return 0;
	}
	weir_for_member(t, in) {
		waits = fair_server_is_fair(self, t);
		if (waits)
			break;
	}
	if (!weir_instance_lock(&self->inst)) {
		fair_server_charge(self, now);
		fair_server_advance(self, now, waits);
		weir_timer_set(&self->inst, fair_server_next(self, now));
		weir_instance_unlock(&self->inst);
	}
	weir_for_member(t, in) {
		if (!weir_pending(in, t) && fair_server_is_fair(self, t))
			err = fair_server_put(self, in, t, 1);
		if (err)
			break;
	}
	weir_pipe_unlock(in);
	return err;
}

WEIR_ENTRY int fair_server_update(struct fair_server weir_mem *self, struct weir_pipe weir_mem *in)
{
	struct weir_change weir_mem *c;
	int err;

	weir_for_change(c, in) {
		int fair = fair_server_is_fair(self, c->task);

		if (fair && weir_load(&self->state) == FAIR_SERVER_OFF)
			fair_server_start(self);
		err = fair_server_put(self, in, c->task, fair);
		if (err)
			return err;
	}
	return 0;
}

WEIR_ENTRY int fair_server_on_timer(struct fair_server weir_mem *self)
{
	return fair_server_turn(self, weir_now(self->inst.sched));
}

/* --- what runs ----------------------------------------------------------------------------------------------- */

WEIR_ENTRY int fair_server_on_dispatch(struct fair_server weir_mem *self,
				       const struct weir_msg *msg)
{
	u64 weir_mem *runs = weir_priv(&self->inst, msg->task);

	if (!fair_server_is_fair(self, msg->task)) {
		if (weir_load(&self->state) == FAIR_SERVER_SERVES &&
		    weir_out(&self->inst, 0)->nr_cpus == 1 &&
		    weir_load(&msg->task->key) > weir_load(&self->deadline))
			fair_server_rest(self);
		return 0;
	}
	if (weir_instance_lock(&self->inst))
		return 0;
	fair_server_charge(self, weir_now(self->inst.sched));
	if (!weir_load(runs)) {
		weir_store(runs, 1);
		self->running++;
	}
	/* The runtime's default slice, 0, may be longer, too. */
	if (self->state == FAIR_SERVER_SERVES && weir_load(&msg->task->slice_ns) - 1 >= self->left)
		weir_store(&msg->task->slice_ns, self->left);
	weir_instance_unlock(&self->inst);
	return 0;
}

/* The task has stopped: the budget may be spent, or only the server can grant the rest of it in time. */
WEIR_FLAT static int fair_server_stop(struct fair_server weir_mem *self,
				      struct weir_task weir_mem *t)
{
	u64 weir_mem *runs = weir_priv(&self->inst, t);
	u64 now = weir_now(self->inst.sched);
	int turn;

	if (!weir_load(runs) || weir_instance_lock(&self->inst))
		return 0;
	fair_server_charge(self, now);
	weir_store(runs, 0);
	if (self->running)
		self->running--;
	turn = self->state == FAIR_SERVER_SPENT ||
	       (self->state == FAIR_SERVER_DEFERS && now + self->left >= self->deadline);
	weir_instance_unlock(&self->inst);
	return turn ? fair_server_turn(self, now) : 0;
}

/* The message may be late: perhaps it runs again. */
WEIR_ENTRY int fair_server_on_relinquish(struct fair_server weir_mem *self,
					 const struct weir_msg *msg)
{
	return weir_reserve_on_cpu(msg->task) ? 0 : fair_server_stop(self, msg->task);
}

WEIR_ENTRY int fair_server_on_block(struct fair_server weir_mem *self, const struct weir_msg *msg)
{
	return fair_server_stop(self, msg->task);
}

WEIR_ENTRY int fair_server_on_exit(struct fair_server weir_mem *self, const struct weir_msg *msg)
{
	return fair_server_stop(self, msg->task);
}

/* Those that run are counted anew when they are dispatched. */
WEIR_ENTRY void fair_server_take_state(struct fair_server weir_mem *self,
				       struct fair_server weir_mem *old)
{
	self->deadline = old->deadline;
	self->left = old->left;
	self->state = old->state;
	self->served = old->served;
}
