/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * rbed - serve hard, soft and best-effort tasks by rates and earliest deadline first
 *
 * class:     order
 * pipes:     in 1, out 1, keyed
 * listens:   JOB, DEADLINE: a job of a waiting task was released. PRIORITY: of a waiting task
 * publishes: PREEMPT: a CPU runs a less urgent task than a new one. OVERLOAD: a hard task is
 *            not admitted. DEADLINE_MISS: a real-time task is late
 * asks:      JOB: execution time and relative deadline; DEADLINE: absolute, and the period; EXECUTED:
 *            CPU time of the task; all needed. CRITICALITY: low is soft. PRIORITY: weight of best
 *            effort. AFFINITY: which CPUs the task may take
 * answers:   -
 * kernel:    on request
 * params:    slice ns 80000000 [20000, 10000000000]; a best-effort task's period is this times the
 *            number of such tasks
 *            floor pct 10 [1, 100]; load reserved for best effort
 * per-task:  216 bytes
 * cost:      O(log n) per change, also when a best-effort task starts a slice; O(n) when a hard or soft task is admitted,
 *            and the jobs of a schedule where rates do not suffice, 65,536 tasks looked at; a scan of the CPUs behind the out-pipe; takes the instance's own lock
 * batch:     the out-pipe holds the tasks of the in-pipe: real-time tasks with budget and best-effort
 *            tasks stably sorted by deadline (while the order is strict, hard ones first), then, without a key,
 *            real-time tasks without budget
 * source:    Brandt, Banachowski, Lin and Bisson, "Dynamic integrated scheduling of hard real-time, soft
 *            real-time, and non-real-time processes", 2003; release times and the end of a period:
 *            Peter, 2012, 3.6.4; the deadlines of best effort: Spuri and Buttazzo, 1996; docs/decisions/0120
 * long:      admission, the rates of three classes and the order share the books
 *
 * A task with JOB and DEADLINE is hard, or soft if its criticality is low; any other is best effort, and
 * so is a hard one that would leave less than the floor, or with which some hard task could miss a deadline. A hard task runs at
 * most its execution time per period, and not before the release, which is the deadline less the relative one. Soft tasks do so, too,
 * or get equal fractions of it if together they need more than is left. Best-effort
 * tasks divide the rest, at least the floor, by weight, which is 21 plus the priority:
 * a slice is the share of a period. A budget is a slice, ended by the runtime's timer. With `urgent`
 * behind it, real-time tasks without budget get no idle time. A real-time task that gives up its CPU has ended its
 * period.
 *
 * While every deadline is the end of a period, all tasks are in one order by deadline. If a hard task has an earlier one, as a
 * gang's slot has (JOB 80 ms of 80 ms, period 160 ms), or if it is admitted while others have more work left than their rates
 * allow until their deadlines, the order is strict: hard tasks first, by deadline. Admission draws their schedule
 * (weir/kit/demand.h): they must fit with what is under way now, and then either by all possible releases or by their
 * phases. A task that was admitted by its phase is admitted again if it moves its releases. What does not fit now only is
 * tried again with each job; a slot, which comes without new jobs, a period later.
 *
 * A hard task that blocks while it has work left can delay others when it goes on, as under every order by deadline, except in a
 * slot: with the execution time as the deadline it has that time for itself, until the deadline.
 *
 * Two points differ from Barrelfish. A used-up best-effort slice is followed by one whose deadline is
 * a period later, instead of one released at once, whose deadlines would stay near forever and
 * delay a hard task with a longer period beyond its own deadline. And a soft task's deadline is its period.
 *
 * Use one instance per CPU, and tasks that do not migrate (partition): the rate of a hard task is booked until it ends. An
 * instance with several CPUs books rates only, of the deadline where that is before the end of the period, and knows no yielding.
 *
 * example:   annotate affinity, deadline, job, executed, priority;
 *            entry -> partition(fit = 2, bound = 90%, unknown = 1%)
 *            -> each cpu { rbed(slice = 80ms) -> urgent -> cpu };
 */
#include <weir/cpus.h>
#include <weir/kit/demand.h>
#include <weir/kit/rate_alloc.h>
#include <weir/kit/timerqueue.h>

/* Urgency behind all hard tasks while the order is strict: added to a deadline. */
#define RBED_BEHIND (1ull << 59)

struct rbed_task {
	struct weir_rate_task rated;	/* (h) first, as weir/kit/rate_alloc.h wants it */
	struct weir_demand_task demand; /* (h) of a hard one */
	u64 seen;			/* (h) EXECUTED when `used` was right */
	u64 deadline;			/* (h) of the job, as declared; ns, absolute */
	u64 wcet;     /* (h) what was booked for, with `relative` and the period */
	u64 relative; /* (h) */
	u32 late;     /* (h) DEADLINE_MISS was published for the job */
	u32 again; /* (h) refused for what was under way then: it asks again, see rbed_asks_again() */
	u32 blocked; /* (h) in its slot, or admitted within it */
	u32 asked;   /* (h) it gives up its CPU because its budget is less */
	u32 fresh;   /* (h) a job was declared while it ran: it gives up its CPU between two jobs */
	u32 place;   /* (l) in the heap */
};

/* What a task has declared, ns. */
struct rbed_declared {
	u64 wcet;
	u64 relative;
	u64 deadline;
	u64 period;
};

struct rbed {
	struct weir_instance inst;
	struct weir_timerqueue releases; /* real-time tasks that wait for their next period */
	u64 slice;			 /* (c) ns */
	u64 floor;			 /* (c) percent */
	struct weir_rate_alloc rates;	 /* (h) */
	struct weir_demand hard;	 /* (h) hard tasks; none if there are several CPUs */
	u64 density; /* (h) of hard tasks, for an admission: the sum of the rates until their deadlines */
	u64 work;		       /* (h) likewise: ns to do now, and one job each */
	u64 behind;		       /* (h) likewise: some rate is greater than for a whole job */
	u64 settled;		       /* (h) ns; until then the order is strict, see rbed_fits() */
	u32 strict;		       /* (h) keys are those of a strict order */
	u32 phased;		       /* (h) hard tasks fit by their phases only */
	struct rbed_declared declared; /* (h) of the task that is being looked at */
};

WEIR_COMPONENT(
	rbed,
	.summary = "serve hard, soft and best-effort tasks by rates and earliest deadline first",
	.cls = WEIR_ORDER, .kernel = WEIR_KERNEL_ON_REQUEST, .ordering = WEIR_STABLE, .in_min = 1,
	.in_max = 1, .out_min = 1, .out_max = 1, .keyed_out = 1, .serial = 1,
	.hears = WEIR_HEARS_PICKED | WEIR_HEARS_LEFT,
	.listens = WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(PRIORITY),
	.reviews = WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(PRIORITY),
	.publishes = WEIR_TOPIC_BIT(PREEMPT) | WEIR_TOPIC_BIT(OVERLOAD) |
		     WEIR_TOPIC_BIT(DEADLINE_MISS),
	.asks = WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(EXECUTED) |
		WEIR_TOPIC_BIT(CRITICALITY) | WEIR_TOPIC_BIT(PRIORITY) | WEIR_TOPIC_BIT(AFFINITY),
	.needs = WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(EXECUTED),
	.per_task = sizeof(struct rbed_task),
	WEIR_PARAMS(
		rbed,
		WEIR_PARAM(rbed, slice, NS, 80000000, 20000, 10000000000ull,
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

/* What @work, ns on a CPU of capacity 1024, takes on the only CPU. */
static u64 rbed_time(const struct rbed weir_mem *self, u64 work)
{
	const struct weir_pipe weir_mem *in = weir_in(&self->inst, 0);
	u64 capacity = 1024;

	if (in->nr_cpus == 1)
		capacity = weir_cpu_capacity(self->inst.sched, in->cpu);
	return work < WEIR_RATE_LONG ? (work * 1024 + capacity - 1) / capacity : work;
}

/* The execution time is all the time up to the deadline, all of which is reserved. */
static int rbed_is_slot(const struct rbed_task weir_mem *p)
{
	return p->rated.kind == WEIR_RATE_HARD && p->demand.in &&
	       p->demand.wcet >= p->demand.deadline;
}

/* The runtime's timer ends what is left of the budget. */
static void rbed_slice(struct rbed weir_mem *self, struct weir_task weir_mem *t,
		       const struct rbed_task weir_mem *p, u64 now)
{
	const struct weir_rate_task weir_mem *rated = &p->rated;
	u64 left = rated->used < rated->budget ? rated->budget - rated->used : 1;

	left = rbed_time(self, left);
	if (rbed_is_slot(p) && rated->release <= now && now < rated->deadline &&
	    left > rated->deadline - now)
		left = rated->deadline - now;
	weir_store(&t->slice_ns, left);
}

/* Urgency by the deadline, unless the budget of a real-time task is used up until its release. */
static u64 rbed_key(const struct rbed weir_mem *self, const struct weir_rate_task weir_mem *p,
		    u64 now)
{
	if (p->kind != WEIR_RATE_BEST_EFFORT && p->release > now)
		return WEIR_KEY_NONE;
	if (!self->strict || p->kind == WEIR_RATE_HARD)
		return p->deadline;
	return RBED_BEHIND + (p->deadline < RBED_BEHIND ? p->deadline : RBED_BEHIND - 1);
}

/* One that runs on @cpu. If it has to stop earlier than its slice says it is asked in again. */
WEIR_HELPER int rbed_squeeze_one(struct rbed weir_mem *self weir_arg,
				 struct weir_task weir_mem *t weir_arg, u32 cpu, u64 now)
{
	struct rbed_task weir_mem *p = rbed_of(self, t);
	int less;

	rbed_charge(self, t);
	less = weir_rate_squeeze(&self->inst, &self->rates, &p->rated, now);
	if (p->rated.kind != WEIR_RATE_HARD)
		weir_cpu_set_key(self->inst.sched, cpu,
				 rbed_key(self, &p->rated, p->rated.release));
	if (p->rated.kind != WEIR_RATE_BEST_EFFORT && less) {
		p->asked = 1;
		weir_publish(&self->inst, WEIR_TOPIC_PREEMPT, t, cpu, 0);
	}
	return 0;
}

/* Those that run here, but @t, which is about to wait. */
WEIR_HELPER int rbed_squeeze_running(struct rbed weir_mem *self weir_arg,
				     struct weir_task weir_mem *t weir_arg, u64 now)
{
	const struct weir_pipe weir_mem *in = weir_in(&self->inst, 0);
	struct weir_sched weir_mem *s = self->inst.sched;

	for (u32 w = in->word_lo; w <= in->word_hi && weir_loop; w++) {
		u64 bits = in->cpus->word[w] & weir_busy_word(s, w);

		while (bits && weir_loop) {
			u32 cpu = w * 64 + weir_lowest_bit(bits);
			struct weir_task weir_mem *curr = weir_cpu_curr(s, cpu);

			bits &= bits - 1;
			if (curr && curr != t)
				rbed_squeeze_one(self, curr, cpu, now);
		}
	}
	return 0;
}

/*
 * A real-time task, @t or one before it, was admitted, and less is left to others than before; or the order is strict from now on, or no
 * more. What is left of a turn is gone if the task waits for something in between. Those that wait are asked to take their new places.
 */
WEIR_HELPER int rbed_squeeze_all(struct rbed weir_mem *self weir_arg,
				 struct weir_task weir_mem *t weir_arg, u64 now)
{
	struct weir_rate_alloc weir_mem *rates = &self->rates;
	struct weir_task weir_mem *other;

	rates->epoch++;
	if (rates->chain < now)
		rates->chain = now;
	rbed_squeeze_running(self, t, now);
	if (self->inst.home)
		weir_for_member(other, weir_in(&self->inst, 0))
			if (other != t) {
				weir_rate_squeeze(&self->inst, rates, &rbed_of(self, other)->rated,
						  now);
				weir_review(&self->inst, other);
			}
	return weir_rate_squeeze(&self->inst, rates, &rbed_of(self, t)->rated, now);
}

/* --- real time ----------------------------------------------------------------------------------- */

/* What hard task @t has to do from now on, for a drawing, is added to @all. */
WEIR_HELPER int rbed_draft(struct rbed weir_mem *self weir_arg,
			   struct weir_task weir_mem *t weir_arg, u64 now)
{
	struct rbed_task weir_mem *p = rbed_of(self, t);
	struct weir_demand_task weir_mem *d = &p->demand;
	const struct weir_rate_task weir_mem *rated = &p->rated;
	u64 release = p->deadline - p->relative, left = p->wcet, rate, fair;

	rbed_charge(self, t);
	if (rated->begun && rated->release >= release) {
		release = rated->release;
		left = rated->used < left ? left - rated->used : 0;
	}
	/* A slot comes in each period without new jobs. */
	if (rbed_is_slot(p) && release + d->period <= now) {
		release += (now - release) / d->period * d->period;
		left = p->wcet;
	}
	d->left = 0;
	d->due = release + d->deadline;
	d->at = release > now ? release : release + d->period;
	/* A task that is late already cannot be helped; a sporadic one may come at any time. */
	if (d->at <= now)
		d->at = now;
	if (release <= now && d->due > now)
		d->left = rbed_time(self, left);
	/* Its time ends with its deadline, whatever it has had of it. */
	if (rbed_is_slot(p) && d->left > d->due - now)
		d->left = d->due - now;
	fair = weir_rate_of(d->wcet, d->deadline);
	rate = d->left ? weir_rate_of(d->left, d->due - now) : 0;
	self->density += rate > fair ? rate : fair;
	self->behind |= rate > fair;
	self->work += d->left + d->wcet;
	return 0;
}

/*
 * Hard tasks, one of them new, meet all deadlines: with what is under way, and ever after. While some have more to do than their rates until
 * their deadlines, best effort gets nothing before them, so the order is strict until all have done what they have to do now.
 * 2: they do not, for now.
 */
WEIR_HELPER int rbed_fits(struct rbed weir_mem *self weir_arg, u64 now)
{
	struct weir_demand weir_mem *hard = &self->hard;
	struct weir_task weir_mem *t = hard->first;
	u64 spare = WEIR_RATE_FULL, idle;
	u32 phased = 0;

	self->density = self->behind = self->work = 0;
	while (t && weir_loop) {
		rbed_draft(self, t, now);
		spare -= weir_rate_of(weir_demand_of(hard, t)->wcet,
				      weir_demand_of(hard, t)->period);
		t = weir_demand_of(hard, t)->next;
	}
	weir_note_scan(&self->inst, hard->nr);
	if (!spare || spare > WEIR_RATE_FULL)
		spare = 1;
	/* Not later than this: from now on one job each beside what the rates say. */
	idle = self->work < WEIR_RATE_LONG ? now + self->work * WEIR_RATE_FULL / spare : ~0ull;
	if (self->density > WEIR_RATE_FULL) {
		if (!weir_demand_now(hard, now))
			return 2;
		idle = hard->idle;
		if (hard->nr_short && !weir_demand_any(hard)) {
			if (!weir_demand_phases(hard))
				return 0;
			phased = 1;
		}
	}
	self->phased = phased;
	if (self->behind && self->settled < idle)
		self->settled = idle;
	return 1;
}

/* The same with @t, which has its rate; if not, its rate is given back. */
static int rbed_join(struct rbed weir_mem *self, struct weir_task weir_mem *t,
		     struct rbed_task weir_mem *p)
{
	struct weir_demand_task weir_mem *d = &p->demand;
	u64 now = weir_now(self->inst.sched);
	int fits;

	d->wcet = rbed_time(self, p->wcet);
	d->period = p->rated.period;
	d->deadline = p->relative < d->period ? p->relative : d->period;
	/* Work and time were both rounded up. */
	if (d->wcet > d->deadline && rbed_time(self, p->wcet - 1) <= d->deadline)
		d->wcet = d->deadline;
	d->phase = (p->deadline - p->relative) % d->period;
	weir_demand_add(&self->hard, t);
	fits = d->wcet <= d->deadline ? rbed_fits(self, now) : 0;
	if (fits == 1)
		return 1;
	p->again = fits == 2;
	d->at = now + d->period;
	weir_demand_remove(&self->hard, t);
	weir_rate_refuse(&self->rates, &p->rated);
	return 0;
}

/* Book what the task needs, hard or soft; 1: less is left to others. */
static int rbed_admit(struct rbed weir_mem *self, struct weir_task weir_mem *t,
		      struct rbed_task weir_mem *p, u32 kind)
{
	struct weir_pipe weir_mem *in = weir_in(&self->inst, 0);
	u64 within = p->rated.period;
	u64 rate;

	if (kind == WEIR_RATE_HARD && in->nr_cpus != 1 && p->relative < within)
		within = p->relative;
	rate = weir_rate_of(p->wcet, within);
	p->again = 0;
	weir_demand_remove(&self->hard, t);
	if (weir_rate_book(&self->inst, &self->rates, &p->rated, kind, rate) &&
	    (kind != WEIR_RATE_HARD || in->nr_cpus != 1 || rbed_join(self, t, p)))
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

/* It was admitted by its phase, and has another one now. */
static int rbed_has_moved(const struct rbed weir_mem *self, const struct rbed_task weir_mem *p,
			  const struct rbed_declared weir_mem *declared)
{
	return self->phased && p->demand.in && p->deadline != declared->deadline &&
	       (declared->deadline - declared->relative) % p->demand.period != p->demand.phase;
}

/* All the time up to the deadline. */
static int rbed_wants_slot(struct rbed weir_mem *self,
			   const struct rbed_declared weir_mem *declared)
{
	return rbed_time(self, declared->wcet) >= declared->relative;
}

/* It was refused for what was under way then, and has a new job, or is a slot whose next period has begun. */
static int rbed_asks_again(struct rbed weir_mem *self, const struct rbed_task weir_mem *p,
			   const struct rbed_declared weir_mem *declared)
{
	if (!p->again)
		return 0;
	return p->deadline != declared->deadline ||
	       (rbed_wants_slot(self, declared) && weir_now(self->inst.sched) >= p->demand.at);
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
		weir_demand_remove(&self->hard, t);
		weir_rate_refuse(&self->rates, &p->rated);
		p->wcet = 0;
		return 0;
	}
	kind = WEIR_RATE_HARD;
	if (weir_property(self->inst.sched, WEIR_TOPIC_CRITICALITY, t) == WEIR_CRITICALITY_LO)
		kind = WEIR_RATE_SOFT;
	if (p->wcet == declared->wcet && p->relative == declared->relative &&
	    !rbed_asks_again(self, p, declared) && !rbed_has_moved(self, p, declared) &&
	    (p->rated.kind == kind ||
	     (p->rated.kind == WEIR_RATE_BEST_EFFORT && kind == WEIR_RATE_HARD))) {
		/* A refused task is not asked for again; its period is that of its turn. */
		if (p->rated.kind == WEIR_RATE_BEST_EFFORT || p->rated.period == declared->period) {
			if (p->deadline != declared->deadline) {
				p->late = 0;
				p->fresh = 1;
			}
			p->deadline = declared->deadline;
			return 0;
		}
	}
	p->wcet = declared->wcet;
	p->relative = declared->relative;
	p->rated.period = declared->period;
	/* A slot is where it is declared to be: the old one's next period is of no account. */
	if (p->rated.kind <= WEIR_RATE_BEST_EFFORT || rbed_wants_slot(self, declared))
		p->rated.begun = 0;
	p->deadline = declared->deadline;
	p->late = 0;
	return rbed_admit(self, t, p, kind);
}

/*
 * No new job was declared. One that blocked is over with its deadline, and so is a slot: the next period is that of @now, or the one
 * after it.
 */
static void rbed_skip(struct rbed_task weir_mem *p, u64 now, u32 why)
{
	struct weir_rate_task weir_mem *rated = &p->rated;

	/* With its budget used up it has nothing left to do in the period. */
	if (why == WEIR_WHY_WOKE && rated->used && rated->used < rated->limit)
		p->blocked = 1;
	if (now < rated->release + p->relative || !(why == WEIR_WHY_WOKE || rbed_is_slot(p)))
		return;
	rated->release += (now - rated->release) / rated->period * rated->period;
	if (now >= rated->release + p->relative)
		rated->release += rated->period;
	rated->used = 0;
	p->blocked = 0;
}

/* The period that the task is in, and what it may still run in it. */
WEIR_HELPER int rbed_period(struct rbed weir_mem *self weir_arg,
			    struct weir_task weir_mem *t weir_arg, u64 now, u32 why)
{
	struct rbed_task weir_mem *p = weir_priv(&self->inst, t);
	struct weir_rate_task weir_mem *rated = &p->rated;
	u64 due = p->late ? rated->release + p->relative : p->deadline;
	int unserved = rated->begun && rated->used < rated->limit && !p->blocked;
	u64 released = p->deadline - p->relative;
	u64 limit = weir_rate_granted(&self->inst, &self->rates, rated, p->wcet);
	int came_back = why == WEIR_WHY_WOKE || why == WEIR_WHY_REQUEUED;

	if (!rated->begun) {
		p->blocked = rbed_is_slot(p) && released < now;
		/* Admitted as it comes back: the period that was declared may be over by now. */
		if (came_back)
			weir_rate_period(&self->rates, rated, released, limit);
	}
	if (rated->begun && released > rated->release)
		p->blocked = 0;
	else if (rated->begun && rated->kind == WEIR_RATE_HARD)
		rbed_skip(p, now, why);
	weir_rate_period(&self->rates, rated, released, limit);
	rated->deadline =
		rated->release + (rated->kind == WEIR_RATE_HARD ? p->relative : rated->period);
	/* A slot goes on without new jobs; what counts is that it had its time. */
	if (now < due || (p->late && !rbed_is_slot(p)))
		return 0;
	p->late = 1;
	if (unserved || !rbed_is_slot(p))
		weir_publish(&self->inst, WEIR_TOPIC_DEADLINE_MISS, t, WEIR_NO_CPU, due);
	return 0;
}

/* --- both ---------------------------------------------------------------------------------------- */

/* It gave up its CPU, and no more urgent task waits. */
static int rbed_yielded(const struct rbed weir_mem *self, const struct weir_rate_task weir_mem *p,
			u64 now)
{
	const struct weir_pipe weir_mem *home = self->inst.home;
	struct weir_task weir_mem *first = home ? weir_pipe_first(home) : 0;

	return !first || weir_load(&first->key) >= rbed_key(self, p, now);
}

/* A real-time task gave up its CPU, and its period ends with that. */
static int rbed_is_done(const struct rbed weir_mem *self, const struct rbed_task weir_mem *own,
			u64 now)
{
	const struct weir_rate_task weir_mem *p = &own->rated;

	return !own->asked && !own->fresh && p->used && p->used < p->limit && p->release <= now &&
	       weir_in(&self->inst, 0)->nr_cpus == 1 && rbed_yielded(self, p, now);
}

/*
 * What @t may run from now on. 1: a best-effort task needs a new turn; it takes up its old one unless that is
 * over, or came to nothing.
 */
WEIR_HELPER int rbed_renew(struct rbed weir_mem *self weir_arg,
			   struct weir_task weir_mem *t weir_arg, u64 now, u32 why)
{
	struct rbed_task weir_mem *own = rbed_of(self, t);
	struct weir_rate_task weir_mem *p = &own->rated;

	if (p->kind != WEIR_RATE_BEST_EFFORT) {
		if (why == WEIR_WHY_WOKE && p->epoch != self->rates.epoch)
			weir_rate_squeeze(&self->inst, &self->rates, p, now);
		/* A period ends with its budget, or by giving up the CPU. */
		if (why == WEIR_WHY_REQUEUED && rbed_is_done(self, own, now))
			p->used = p->limit;
		if (why == WEIR_WHY_REQUEUED)
			own->asked = 0;
		if (why == WEIR_WHY_REQUEUED || why == WEIR_WHY_WOKE)
			own->fresh = 0;
		rbed_period(self, t, now, why);
		return 0;
	}
	if (p->used >= p->budget)
		return 1;
	if (why == WEIR_WHY_REQUEUED)
		return p->begun && rbed_yielded(self, p, now);
	if (why != WEIR_WHY_WOKE)
		return 0;
	/* What is left of it must not be more than its rate until the deadline, as rates are now. */
	return weir_rate_stale(&self->rates, p, now);
}

/*
 * @t goes where its deadline says; without a budget it waits for its next period. Of a soft one that waits for the CPU,
 * the deadline is news.
 */
WEIR_HELPER u32 rbed_place(struct rbed weir_mem *self weir_arg,
			   struct weir_task weir_mem *t weir_arg,
			   struct weir_step weir_mem *s weir_arg, u64 now)
{
	const struct rbed_task weir_mem *p = rbed_of(self, t);
	const struct weir_rate_task weir_mem *rated = &p->rated;
	u64 key = rbed_key(self, rated, now), at = 0;
	int err;

	rbed_slice(self, t, p, now);
	if (key == WEIR_KEY_NONE)
		at = rated->release;
	if (rated->kind == WEIR_RATE_SOFT && !p->late && (!at || p->deadline < at))
		at = p->deadline;
	err = at ? weir_timerqueue_set(&self->releases, t, at)
		 : weir_timerqueue_clear(&self->releases, t);
	if (err)
		weir_step_failed(&self->inst, t, err);
	/* Without memory for its release it runs before that, rather than never. */
	if (err && key == WEIR_KEY_NONE)
		key = rated->deadline;
	if (key != WEIR_KEY_NONE)
		return weir_place_urgent(s, key);
	s->key = key;
	return 0;
}

/* What @t is, has used, and may run. */
WEIR_HELPER int rbed_look(struct rbed weir_mem *self weir_arg,
			  struct weir_task weir_mem *t weir_arg, u64 now, u32 why)
{
	u32 less, strict;

	rbed_charge(self, t);
	less = rbed_learn(self, t);
	strict = self->hard.nr_short || now < self->settled;
	if (less || strict != self->strict) {
		self->strict = strict;
		rbed_squeeze_all(self, t, now);
	}
	weir_rate_mark(&self->inst, &self->rates, t);
	if (rbed_renew(self, t, now, why)) {
		weir_rate_count(&self->inst, &self->rates, t);
		weir_rate_turn(&self->inst, &self->rates, t, now, self->slice);
	}
	return 0;
}

WEIR_ENTRY int rbed_construct(struct rbed weir_mem *self)
{
	weir_timerqueue_init(&self->releases, &self->inst,
			     __builtin_offsetof(struct rbed_task, place));
	weir_demand_init(&self->hard, &self->inst, __builtin_offsetof(struct rbed_task, demand));
	self->rates.floor = self->floor;
	return 0;
}

/* A running task is looked at when it comes back. */
WEIR_ENTRY u32 rbed_step(struct rbed weir_mem *self, u32 what, struct weir_task weir_mem *t,
			 struct weir_step weir_mem *s)
{
	u64 now = weir_now(self->inst.sched);

	if (what == WEIR_PICKED || what == WEIR_LEFT) {
		weir_rate_forget(&self->rates, &rbed_of(self, t)->rated);
		return 0;
	}
	if (s->runs)
		return 0;
	rbed_look(self, t, now, s->why);
	return rbed_place(self, t, s, now);
}

/* The next period of tasks that wait for it begins. */
WEIR_ENTRY int rbed_on_timer(struct rbed weir_mem *self)
{
	return weir_timerqueue_review(&self->releases);
}

/* Fields of the books are written under the lock of the steps, and so here. */
WEIR_ENTRY void rbed_task_exit(struct rbed weir_mem *self, struct weir_task weir_mem *t)
{
	weir_timerqueue_clear(&self->releases, t);
	if (weir_steps_lock(&self->inst))
		return;
	weir_demand_remove(&self->hard, t);
	weir_rate_unbook(&self->rates, &rbed_of(self, t)->rated);
	weir_steps_unlock(&self->inst);
}

/* The books come along; tasks are re-enqueued and stay what they are. */
WEIR_ENTRY void rbed_take_state(struct rbed weir_mem *self, struct rbed weir_mem *old)
{
	weir_rate_take(&self->rates, &old->rates);
	self->hard.first = old->hard.first;
	self->hard.nr = old->hard.nr;
	self->hard.nr_short = old->hard.nr_short;
	self->settled = old->settled;
	self->strict = old->strict;
	self->phased = old->phased;
}

WEIR_ENTRY void rbed_destroy(struct rbed weir_mem *self)
{
	weir_timerqueue_free(&self->releases);
}
