/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * rbed - serve hard, soft and best-effort tasks by rates and earliest deadline first
 *
 * class:     order
 * pipes:     in 1, out 1, keyed
 * listens:   DEADLINE: a job of a waiting task was released. UNBLOCK: a best-effort task woke.
 *            RELINQUISH: it gave up its CPU. PRIORITY: of a waiting task
 * publishes: PREEMPT: a CPU runs a less urgent task than a new one. OVERLOAD: a hard task is
 *            not admitted. DEADLINE_MISS: a real-time task is late
 * asks:      JOB: execution time and relative deadline; DEADLINE: absolute, and the period; EXECUTED:
 *            CPU time of the task; all needed. CRITICALITY: low is soft. PRIORITY: weight of best
 *            effort. AFFINITY: which CPUs the task may take
 * answers:   -
 * kernel:    on request
 * params:    slice ns 80000000 [100000, 10000000000]; a best-effort task's period is this times the
 *            number of such tasks
 *            floor pct 10 [1, 100]; load reserved for best effort
 * per-task:  120 bytes
 * cost:      O(log n) per change, also when a best-effort task starts a slice; O(n) when a hard or soft task is admitted;
 *            a scan of the CPUs behind the out-pipe; takes the in-pipe lock and the out-pipe lock
 * batch:     the out-pipe holds the tasks of the in-pipe: real-time tasks with budget and best-effort
 *            tasks stably sorted by deadline, then, without a key, real-time tasks without budget
 * source:    Brandt, Banachowski, Lin and Bisson, "Dynamic integrated scheduling of hard real-time, soft
 *            real-time, and non-real-time processes", 2003; release times and the end of a period:
 *            Peter, 2012, 3.6.4; the deadlines of best effort: Spuri and Buttazzo, 1996
 * long:      admission, the rates of three classes and the order share the books
 *
 * A task with JOB and DEADLINE is hard, or soft if its criticality is low; any other is best effort, and
 * so is a hard one that would leave less than the floor. A hard task runs at most its execution time per period.
 * Soft tasks do so too, or get equal fractions of it if together they need more than is left. Best-effort
 * tasks divide the rest, at least the floor, by weight, which is 21 plus the priority:
 * a slice is the share of a period. A budget is a slice, ended by the runtime's timer. With `urgent`
 * behind it, real-time tasks without budget get no idle time.
 *
 * Two points differ from Barrelfish. A used-up best-effort slice is followed by one whose deadline is
 * a period later, instead of one released at once, whose deadlines would stay near forever and
 * delay a hard task with a longer period beyond its own deadline. And if a deadline is before the end
 * of the period, a hard task's rate is computed from the deadline, and a soft task's deadline is its period;
 * otherwise the sum of the rates would be too small.
 *
 * Use one instance per CPU, and tasks that do not migrate (partition): the rate of a hard task is booked until it ends.
 *
 * Takes no steps, so tasks are linked before it (docs/decisions/0050): it counts those that wait, and looks at all of them
 * when a task is admitted.
 *
 * example:   annotate affinity, deadline, job, executed, priority;
 *            entry -> partition(fit = 2, bound = 90%, unknown = 1%)
 *            -> each cpu { rbed(slice = 80ms) -> urgent -> cpu };
 */
#include <weir/kit/timerqueue.h>
#include <weir/cpus.h>
#include <weir/kit/rate_alloc.h>

struct rbed_task {
	struct weir_rate_task rated; /* (p) first, as weir/kit/rate_alloc.h wants it */
	u64 seen;		     /* (p) EXECUTED when `used` was right */
	u64 deadline;		     /* (p) of the job, as declared; ns, absolute */
	u64 wcet;		     /* (p) what was booked for, with `relative` and the period */
	u64 relative;		     /* (p) */
	u32 late;		     /* (p) DEADLINE_MISS was published for the job */
	u32 place;		     /* (l) in the heap */
};

/* What a task has declared, ns. */
struct rbed_declared {
	u64 wcet;
	u64 relative;
	u64 deadline;
	u64 period;
};

/* What happened to a task that is to be put in its place. */
enum rbed_event { RBED_MOVED, RBED_WOKEN, RBED_GAVE_UP };

struct rbed {
	struct weir_instance inst;
	struct weir_timerqueue releases; /* real-time tasks that wait for their next period */
	u64 slice;			 /* (c) ns */
	u64 floor;			 /* (c) percent */
	struct weir_rate_alloc rates;	 /* (p) */
	struct rbed_declared declared;	 /* (p) of the task that is being looked at */
};

WEIR_COMPONENT(
	rbed,
	.summary = "serve hard, soft and best-effort tasks by rates and earliest deadline first",
	.cls = WEIR_ORDER, .kernel = WEIR_KERNEL_ON_REQUEST, .ordering = WEIR_STABLE, .in_min = 1,
	.in_max = 1, .out_min = 1, .out_max = 1, .keyed_out = 1,
	.change_kinds = WEIR_ADDED | WEIR_REMOVED | WEIR_MOVED,
	.listens = WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(UNBLOCK) | WEIR_TOPIC_BIT(RELINQUISH) |
		   WEIR_TOPIC_BIT(PRIORITY),
	.publishes = WEIR_TOPIC_BIT(PREEMPT) | WEIR_TOPIC_BIT(OVERLOAD) |
		     WEIR_TOPIC_BIT(DEADLINE_MISS),
	.asks = WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(EXECUTED) |
		WEIR_TOPIC_BIT(CRITICALITY) | WEIR_TOPIC_BIT(PRIORITY) | WEIR_TOPIC_BIT(AFFINITY),
	.needs = WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(EXECUTED),
	.per_task = sizeof(struct rbed_task),
	WEIR_PARAMS(
		rbed,
		WEIR_PARAM(rbed, slice, NS, 80000000, 100000, 10000000000ull,
			   "a best-effort task's period is this times the number of such tasks"),
		WEIR_PARAM(rbed, floor, PCT, 10, 1, 100, "load reserved for best effort")));

static struct rbed_task weir_mem *rbed_of(struct rbed weir_mem *self, struct weir_task weir_mem *t)
{
	return weir_priv(&self->inst, t);
}

/* --- rates change -------------------------------------------------------------------------------- */

/* Bring what the task has used up to date. */
WEIR_HELPER int rbed_charge(struct rbed weir_mem *self weir_arg,
			    struct weir_task weir_mem *t weir_arg)
{
	struct weir_msg run = { .topic = WEIR_TOPIC_EXECUTED, .task = t };
	struct rbed_task weir_mem *p = weir_priv(&self->inst, t);

	if (weir_request(self->inst.sched, &run))
		return 0;
	if (p->rated.kind != WEIR_RATE_NEW && run.value2 != p->seen) {
		p->rated.used += run.value2 - p->seen;
		p->rated.begun = 1;
	}
	p->seen = run.value2;
	return 0;
}

/* The runtime's timer ends what is left of the budget. */
static void rbed_slice(struct rbed weir_mem *self, struct weir_pipe weir_mem *in,
		       struct weir_task weir_mem *t, const struct weir_rate_task weir_mem *p)
{
	u64 left = p->used < p->budget ? p->budget - p->used : 1, capacity = 1024;

	if (in->nr_cpus == 1)
		capacity = weir_cpu_capacity(self->inst.sched, in->cpu);
	if (left < WEIR_RATE_LONG)
		left = (left * 1024 + capacity - 1) / capacity;
	weir_store(&t->slice_ns, left);
}

/* One that runs on @cpu. If it has to stop earlier than its slice says it is asked in again. */
WEIR_HELPER int rbed_squeeze_one(struct rbed weir_mem *self weir_arg,
				 struct weir_task weir_mem *t weir_arg, u32 cpu, u64 now)
{
	struct weir_rate_task weir_mem *p = &rbed_of(self, t)->rated;
	int less;

	rbed_charge(self, t);
	less = weir_rate_squeeze(&self->inst, &self->rates, p, now);
	if (p->kind == WEIR_RATE_BEST_EFFORT)
		weir_cpu_set_key(self->inst.sched, cpu, p->deadline);
	else if (less)
		weir_publish(&self->inst, WEIR_TOPIC_PREEMPT, t, cpu, 0);
	return 0;
}

/* Those that run here. */
WEIR_HELPER int rbed_squeeze_running(struct rbed weir_mem *self weir_arg,
				     struct weir_pipe weir_mem *in weir_arg, u64 now)
{
	struct weir_sched weir_mem *s = self->inst.sched;

	for (u32 w = in->word_lo; w <= in->word_hi && weir_loop; w++) {
		u64 bits = in->cpus->word[w] & weir_busy_word(s, w);

		while (bits && weir_loop) {
			u32 cpu = w * 64 + weir_lowest_bit(bits);
			struct weir_task weir_mem *t = weir_cpu_curr(s, cpu);

			bits &= bits - 1;
			if (t && !weir_pipe_has(in, t))
				rbed_squeeze_one(self, t, cpu, now);
		}
	}
	return 0;
}

/* One that waits takes its new place, if it has one. */
WEIR_HELPER int rbed_squeeze_waiting(struct rbed weir_mem *self weir_arg,
				     struct weir_pipe weir_mem *in weir_arg,
				     struct weir_task weir_mem *t weir_arg, u64 now)
{
	struct weir_rate_task weir_mem *p = &rbed_of(self, t)->rated;

	rbed_charge(self, t);
	weir_rate_squeeze(&self->inst, &self->rates, p, now);
	if (!weir_pipe_has(weir_out(&self->inst, 0), t))
		return 0;
	rbed_slice(self, in, t, p);
	if (p->kind != WEIR_RATE_BEST_EFFORT)
		return 0;
	return weir_pipe_insert_stable(weir_out(&self->inst, 0), t, p->deadline, in);
}

/*
 * A real-time task was admitted, and less is left to others than before. What is left of a turn is gone if the
 * task waits for something in between.
 */
WEIR_HELPER int rbed_squeeze_all(struct rbed weir_mem *self weir_arg,
				 struct weir_pipe weir_mem *in weir_arg, u64 now)
{
	struct weir_task weir_mem *t;

	self->rates.epoch++;
	if (self->rates.chain < now)
		self->rates.chain = now;
	rbed_squeeze_running(self, in, now);
	weir_for_task(t, in)
		if (rbed_squeeze_waiting(self, in, t, now))
			break;
	return 0;
}

/* --- real time ----------------------------------------------------------------------------------- */

/* Book what the task needs, hard or soft; 1: less is left to others. */
static int rbed_admit(struct rbed weir_mem *self, struct weir_task weir_mem *t,
		      struct rbed_task weir_mem *p, u32 kind)
{
	u64 within = kind == WEIR_RATE_HARD && p->relative < p->rated.period ? p->relative
									     : p->rated.period;
	u64 rate = weir_rate_of(p->wcet, within);

	if (weir_rate_book(&self->inst, &self->rates, &p->rated, kind, rate))
		return 1;
	weir_publish(&self->inst, WEIR_TOPIC_OVERLOAD, t, WEIR_NO_CPU, rate);
	return 0;
}

/* What @t has declared, into `declared`. 1: it has a job and a deadline. */
WEIR_HELPER int rbed_ask(struct rbed weir_mem *self weir_arg, struct weir_task weir_mem *t weir_arg)
{
	struct weir_msg msg = { .topic = WEIR_TOPIC_JOB, .task = t };
	struct weir_sched weir_mem *s = self->inst.sched;

	if (weir_request(s, &msg))
		return 0;
	self->declared.wcet = msg.value;
	self->declared.relative = msg.value2;
	msg.topic = WEIR_TOPIC_DEADLINE;
	msg.value = msg.value2 = 0;
	if (weir_request(s, &msg))
		return 0;
	self->declared.deadline = msg.value;
	self->declared.period = msg.value2 ? msg.value2 : self->declared.relative;
	return self->declared.wcet && self->declared.relative &&
	       msg.value >= self->declared.relative;
}

/* Ask what the task is. 1: less is left to best effort than before. */
WEIR_HELPER int rbed_learn(struct rbed weir_mem *self weir_arg,
			   struct weir_task weir_mem *t weir_arg)
{
	struct rbed_task weir_mem *p = weir_priv(&self->inst, t);
	const struct rbed_declared weir_mem *declared = &self->declared;
	u32 kind;

	if (!rbed_ask(self, t)) {
		if (p->rated.kind == WEIR_RATE_BEST_EFFORT)
			return 0;
		weir_rate_unbook(&self->rates, &p->rated);
		p->wcet = p->rated.used = p->rated.budget = 0;
		p->rated.kind = WEIR_RATE_BEST_EFFORT;
		return 0;
	}
	kind = WEIR_RATE_HARD;
	if (weir_property(self->inst.sched, WEIR_TOPIC_CRITICALITY, t) == WEIR_CRITICALITY_LO)
		kind = WEIR_RATE_SOFT;
	if (p->wcet == declared->wcet && p->relative == declared->relative &&
	    (p->rated.kind == kind ||
	     (p->rated.kind == WEIR_RATE_BEST_EFFORT && kind == WEIR_RATE_HARD))) {
		/* A refused task is not asked for again; its period is that of its turn. */
		if (p->rated.kind == WEIR_RATE_BEST_EFFORT || p->rated.period == declared->period) {
			if (p->deadline != declared->deadline)
				p->late = 0;
			p->deadline = declared->deadline;
			return 0;
		}
	}
	p->wcet = declared->wcet;
	p->relative = declared->relative;
	p->rated.period = declared->period;
	if (p->rated.kind <= WEIR_RATE_BEST_EFFORT)
		p->rated.begun = 0;
	p->deadline = declared->deadline;
	p->late = 0;
	return rbed_admit(self, t, p, kind);
}

/* The period that the task is in, and what it may still run in it. */
WEIR_HELPER int rbed_period(struct rbed weir_mem *self weir_arg,
			    struct weir_task weir_mem *t weir_arg, u64 now)
{
	struct rbed_task weir_mem *p = weir_priv(&self->inst, t);
	struct weir_rate_task weir_mem *rated = &p->rated;

	weir_rate_period(&self->rates, rated, p->deadline - p->relative,
			 weir_rate_granted(&self->inst, &self->rates, rated, p->wcet));
	rated->deadline =
		rated->release + (rated->kind == WEIR_RATE_HARD ? p->relative : rated->period);
	if (now >= p->deadline && !p->late) {
		p->late = 1;
		weir_publish(&self->inst, WEIR_TOPIC_DEADLINE_MISS, t, WEIR_NO_CPU, p->deadline);
	}
	return 0;
}

/* --- both ---------------------------------------------------------------------------------------- */

/* It gave up its CPU, and no more urgent task waits. */
static int rbed_yielded(struct rbed weir_mem *self, const struct weir_rate_task weir_mem *p)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	int yielded = 0;

	if (weir_pipe_lock(out))
		return 0;
	yielded = !out->head || out->head->hooks[out->slot].key >= p->deadline;
	weir_pipe_unlock(out);
	return yielded;
}

/*
 * What @t may run from now on. 1: a best-effort task needs a new turn; it takes up its old one unless that is
 * over, or came to nothing.
 */
WEIR_HELPER int rbed_renew(struct rbed weir_mem *self weir_arg,
			   struct weir_task weir_mem *t weir_arg, u64 now, u32 event)
{
	struct weir_rate_task weir_mem *p = &rbed_of(self, t)->rated;

	if (p->kind != WEIR_RATE_BEST_EFFORT) {
		if (event == RBED_WOKEN && p->epoch != self->rates.epoch)
			weir_rate_squeeze(&self->inst, &self->rates, p, now);
		rbed_period(self, t, now);
		return 0;
	}
	if (p->used >= p->budget)
		return 1;
	if (event == RBED_GAVE_UP)
		return p->begun && rbed_yielded(self, p);
	if (event != RBED_WOKEN)
		return 0;
	/* What is left of it must not be more than its rate until the deadline, as rates are now. */
	return weir_rate_stale(&self->rates, p, now);
}

/* @t goes where its deadline says; without a budget it waits for its next period. */
WEIR_HELPER int rbed_insert(struct rbed weir_mem *self weir_arg,
			    struct weir_pipe weir_mem *in weir_arg,
			    struct weir_task weir_mem *t weir_arg, u64 now)
{
	struct weir_rate_task weir_mem *p = &rbed_of(self, t)->rated;
	u64 key = p->deadline;
	int err;

	if (p->kind != WEIR_RATE_BEST_EFFORT && p->release > now)
		key = WEIR_KEY_NONE;
	rbed_slice(self, in, t, p);
	if (key == WEIR_KEY_NONE)
		err = weir_timerqueue_set(&self->releases, t, p->release);
	else
		err = weir_timerqueue_clear(&self->releases, t);
	if (!err)
		err = weir_pipe_insert_stable(weir_out(&self->inst, 0), t, key, in);
	if (err)
		return err;
	if (key != WEIR_KEY_NONE)
		weir_preempt(&self->inst, weir_out(&self->inst, 0), t, key);
	return 0;
}

/* Put @t in its place, by what it is and has used. */
WEIR_HELPER int rbed_put(struct rbed weir_mem *self weir_arg,
			 struct weir_pipe weir_mem *in weir_arg,
			 struct weir_task weir_mem *t weir_arg, u32 event)
{
	const struct weir_rate_task weir_mem *p = &rbed_of(self, t)->rated;
	u64 now = weir_now(self->inst.sched);
	u32 was = p->kind;

	rbed_charge(self, t);
	if (rbed_learn(self, t))
		rbed_squeeze_all(self, in, now);
	if (p->kind != was)
		weir_rate_mark(&self->inst, &self->rates, in, t);
	if (rbed_renew(self, t, now, event)) {
		weir_rate_count(&self->inst, &self->rates, in, t);
		weir_rate_turn(&self->inst, &self->rates, t, now, self->slice);
	}
	return rbed_insert(self, in, t, now);
}

WEIR_ENTRY int rbed_construct(struct rbed weir_mem *self)
{
	weir_timerqueue_init(&self->releases, &self->inst,
			     __builtin_offsetof(struct rbed_task, place));
	self->rates.floor = self->floor;
	return 0;
}

WEIR_ENTRY int rbed_update(struct rbed weir_mem *self, struct weir_pipe weir_mem *in)
{
	struct weir_change weir_mem *c;
	int err;

	weir_rate_mark_changes(&self->inst, &self->rates, in);
	weir_for_change(c, in) {
		if (c->kind == WEIR_REMOVED)
			continue;
		err = rbed_put(self, in, c->task, RBED_MOVED);
		if (err)
			return err;
	}
	return 0;
}

/* A task that update has still to look at gets its place there. */
static int rbed_again(struct rbed weir_mem *self, const struct weir_msg *msg,
		      struct weir_pipe weir_mem *in, u32 event)
{
	if (!weir_pipe_has(weir_out(&self->inst, 0), msg->task))
		return 0;
	weir_rate_mark_changes(&self->inst, &self->rates, in);
	return rbed_put(self, in, msg->task, event);
}

WEIR_ENTRY int rbed_follow_deadline(struct rbed weir_mem *self, const struct weir_msg *msg,
				    struct weir_pipe weir_mem *in)
{
	return rbed_again(self, msg, in, RBED_MOVED);
}

WEIR_ENTRY int rbed_follow_unblock(struct rbed weir_mem *self, const struct weir_msg *msg,
				   struct weir_pipe weir_mem *in)
{
	return rbed_again(self, msg, in, RBED_WOKEN);
}

WEIR_ENTRY int rbed_follow_relinquish(struct rbed weir_mem *self, const struct weir_msg *msg,
				      struct weir_pipe weir_mem *in)
{
	return rbed_again(self, msg, in, RBED_GAVE_UP);
}

/* It counts by its weight in others' turns; its own turn goes on as it is. */
WEIR_ENTRY int rbed_follow_priority(struct rbed weir_mem *self, const struct weir_msg *msg,
				    struct weir_pipe weir_mem *in)
{
	return weir_rate_mark(&self->inst, &self->rates, in, msg->task);
}

/* The next period of tasks that wait for it begins. */
WEIR_ENTRY int rbed_on_timer(struct rbed weir_mem *self)
{
	u64 now = weir_now(self->inst.sched);
	struct weir_pipe weir_mem *in;
	struct weir_task weir_mem *t;
	int err = 0;

	while (!err && weir_loop) {
		t = weir_timerqueue_pop_waiting(&self->releases, now, &in);
		if (!t)
			break;
		weir_rate_mark_changes(&self->inst, &self->rates, in);
		err = rbed_put(self, in, t, RBED_MOVED);
		weir_pipe_unlock(in);
	}
	return err;
}

/* Fields of the books are written under the in-pipe's lock, and so here. */
WEIR_ENTRY void rbed_task_exit(struct rbed weir_mem *self, struct weir_task weir_mem *t)
{
	struct weir_pipe weir_mem *in = weir_in(&self->inst, 0);

	weir_timerqueue_clear(&self->releases, t);
	if (weir_pipe_lock(in))
		return;
	weir_rate_unbook(&self->rates, &rbed_of(self, t)->rated);
	weir_rate_forget(&self->rates, &rbed_of(self, t)->rated);
	weir_pipe_unlock(in);
}

/* The books come along; tasks are presented anew and stay what they are. */
WEIR_ENTRY void rbed_take_state(struct rbed weir_mem *self, struct rbed weir_mem *old)
{
	weir_rate_take(&self->rates, &old->rates);
}

WEIR_ENTRY void rbed_destroy(struct rbed weir_mem *self)
{
	weir_timerqueue_free(&self->releases);
}
