/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sporadic - give each task a budget that is replenished one period after its use
 *
 * class:     annotate
 * pipes:     none
 * listens:   JOB, DEADLINE: budget and period. DISPATCH, RELINQUISH, BLOCK: the budget is charged
 * answers:   BUDGET: whether the task has budget, and when it will be replenished
 * params:    budget ns 0 [0, 10000000000]; for tasks without JOB, 0: they are not limited
 *            period ns 100000000 [1000, 10000000000]; for these
 * per-task:  200 bytes
 * cost:      O(1) per message and per answer; takes the instance's lock
 * batch:     no pipes
 * source:    Sprunt, Sha and Lehoczky, "Aperiodic task scheduling for hard-real-time systems", 1989;
 *            amounts and times as in Stanovich, Baker, Wang and Harbour, "Defects of the POSIX sporadic
 *            server and how to correct them", 2010, whose rules the seL4 kernel has, too (sporadic.c there)
 *
 * For fixed priorities: to all other tasks, the task looks like a periodic one with its budget and period,
 * yet it is served at once when it arrives, if it has budget. Use consumes the oldest amount, which is
 * replenished one period after it was available and requested. A partly used amount is
 * split; the rest counts as available from the end of the use, and adjacent amounts
 * are merged. Under the rules of POSIX a task could get more than its budget in a period
 * (sporadic_rules.wtest has the cases). Four points differ from the paper; none gives more time:
 * - A task without budget waits in throttle. In the paper, and in POSIX, its priority falls.
 * - Overruns by a late runtime are deducted from the next amount. In the paper the next amount is
 *   delayed instead.
 * - With eight amounts outstanding, the last ones are merged at the later time. In the paper the rest
 *   of the current one waits for the next.
 * - A task that was kept from the CPUs for more than a period is not compensated for earlier ones.
 *
 * Use it with throttle, and with an order by priority. Time is that of the CPU's capacity.
 *
 * example:   annotate affinity, priority, sporadic(budget = 2ms, period = 10ms);
 *            entry -> throttle -> priority_order -> cpus;
 */
#include <weir/kit/reserve.h>

#define SPORADIC_AMOUNTS 8u

struct sporadic_task {
	struct weir_reserve r;	      /* (l) */
	u64 at[SPORADIC_AMOUNTS];     /* (l) ns; from then on the amount is there; rising */
	u64 amount[SPORADIC_AMOUNTS]; /* (l) ns of work */
	u32 nr;			      /* (l) 0: the task has no server */
	u32 unused;
};

struct sporadic {
	struct weir_instance inst;
	u64 budget; /* (c) ns */
	u64 period; /* (c) ns */
};

WEIR_COMPONENT(
	sporadic, .summary = "give each task a budget that is replenished one period after its use",
	.cls = WEIR_ANNOTATE,
	.listens = WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(DISPATCH) |
		   WEIR_TOPIC_BIT(RELINQUISH) | WEIR_TOPIC_BIT(BLOCK),
	.answers = WEIR_TOPIC_BIT(BUDGET), .per_task = sizeof(struct sporadic_task),
	WEIR_PARAMS(sporadic,
		    WEIR_PARAM(sporadic, budget, NS, 0, 0, 10000000000ull,
			       "for tasks without JOB, 0: they are not limited"),
		    WEIR_PARAM(sporadic, period, NS, 100000000, 1000, 10000000000ull, "for these")),
	WEIR_RELATIONS(WEIR_RELATION(sporadic, AT_MOST, budget, period,
				     "a server cannot get more than all of the time")));

/* Under the lock, like all that follows. */
static void sporadic_begin(struct sporadic_task weir_mem *p, u64 now)
{
	p->nr = 1;
	p->at[0] = now;
	p->amount[0] = p->r.budget;
}

static void sporadic_pop(struct sporadic_task weir_mem *p)
{
	p->nr--;
	for (u32 i = 0; i < p->nr && weir_loop; i++) {
		p->at[i] = p->at[i + 1];
		p->amount[i] = p->amount[i + 1];
	}
}

static void sporadic_push(struct sporadic_task weir_mem *p, u64 at, u64 amount)
{
	if (p->nr == SPORADIC_AMOUNTS) {
		p->at[p->nr - 1] = at;
		p->amount[p->nr - 1] += amount;
		return;
	}
	p->at[p->nr] = at;
	p->amount[p->nr++] = amount;
}

/*
 * What was used since @begin comes back a period after it was there; what is left is there from the end of
 * the use. A task that was kept from the CPUs for more than a period does not get all that it missed.
 */
static void sporadic_spend(struct sporadic_task weir_mem *p, u64 begin, u64 used)
{
	u64 least = begin > p->r.period ? begin - p->r.period : 0, at;

	while (used && used >= p->amount[0] && weir_loop) {
		u64 amount = p->amount[0];

		at = p->at[0] > least ? p->at[0] : least;
		used -= amount;
		sporadic_pop(p);
		sporadic_push(p, at + p->r.period, amount);
	}
	if (!used)
		return;
	at = p->at[0] > least ? p->at[0] : least;
	p->at[0] = at + used;
	p->amount[0] -= used;
	sporadic_push(p, at + p->r.period, used);
}

/* The task wants its budget from now on; amounts that are there before the first is used up join it. */
static void sporadic_wake(struct sporadic_task weir_mem *p, u64 now)
{
	if (p->at[0] > now)
		return;
	p->at[0] = now;
	while (p->nr > 1 && p->at[1] <= now + p->amount[0] && weir_loop) {
		u64 amount = p->amount[0];

		sporadic_pop(p);
		p->at[0] = now;
		p->amount[0] += amount;
	}
}

static void sporadic_refresh(struct sporadic weir_mem *self, struct weir_task weir_mem *t,
			     struct sporadic_task weir_mem *p)
{
	struct weir_sched weir_mem *s = self->inst.sched;
	u64 begin;

	if (!p->nr && self->budget) {
		p->r.wcet = self->budget;
		p->r.within = self->period;
		weir_reserve_learn(&p->r, self->period);
		sporadic_begin(p, weir_now(s));
	}
	if (!p->nr)
		return;
	begin = p->r.since;
	sporadic_spend(p, begin, weir_reserve_charge(s, &p->r, t, !weir_runs(t)));
	if (weir_blocked(t))
		return;
	if (p->r.idle)
		sporadic_wake(p, weir_now(s));
	p->r.idle = 0;
}

WEIR_ENTRY int sporadic_on_job(struct sporadic weir_mem *self, const struct weir_msg *msg)
{
	struct sporadic_task weir_mem *p = weir_reserve_open(&self->inst, msg);

	if (!p)
		return -WEIR_EINVAL;
	weir_reserve_job(&p->r, msg);
	weir_instance_unlock(&self->inst);
	return 0;
}

WEIR_ENTRY int sporadic_on_deadline(struct sporadic weir_mem *self, const struct weir_msg *msg)
{
	struct sporadic_task weir_mem *p = weir_reserve_open(&self->inst, msg);

	if (!p)
		return -WEIR_EINVAL;
	if (p->r.wcet && (msg->value2 || p->r.within) && weir_reserve_learn(&p->r, msg->value2))
		sporadic_begin(p, weir_now(self->inst.sched));
	weir_instance_unlock(&self->inst);
	return 0;
}

WEIR_ENTRY int sporadic_on_dispatch(struct sporadic weir_mem *self, const struct weir_msg *msg)
{
	struct sporadic_task weir_mem *p = weir_reserve_open(&self->inst, msg);

	if (!p)
		return -WEIR_EINVAL;
	sporadic_refresh(self, msg->task, p);
	weir_reserve_start(self->inst.sched, &p->r);
	if (p->nr)
		weir_store(&msg->task->slice_ns,
			   weir_reserve_time(self->inst.sched, msg->cpu, p->amount[0]));
	weir_instance_unlock(&self->inst);
	return 0;
}

WEIR_ENTRY int sporadic_on_relinquish(struct sporadic weir_mem *self, const struct weir_msg *msg)
{
	struct sporadic_task weir_mem *p = weir_reserve_open(&self->inst, msg);

	if (!p)
		return -WEIR_EINVAL;
	/* The message may be late: perhaps it runs again. */
	if (!weir_runs(msg->task))
		sporadic_refresh(self, msg->task, p);
	weir_instance_unlock(&self->inst);
	return 0;
}

WEIR_ENTRY int sporadic_on_block(struct sporadic weir_mem *self, const struct weir_msg *msg)
{
	struct sporadic_task weir_mem *p = weir_reserve_open(&self->inst, msg);

	if (!p)
		return -WEIR_EINVAL;
	sporadic_refresh(self, msg->task, p);
	p->r.running = 0;
	p->r.idle = 1;
	weir_instance_unlock(&self->inst);
	return 0;
}

WEIR_ENTRY int sporadic_answer_budget(struct sporadic weir_mem *self, struct weir_msg *msg)
{
	struct sporadic_task weir_mem *p = weir_reserve_open(&self->inst, msg);

	if (!p)
		return -WEIR_EINVAL;
	sporadic_refresh(self, msg->task, p);
	msg->value = !p->nr || p->at[0] <= weir_now(self->inst.sched);
	msg->value2 = msg->value ? 0 : p->at[0];
	weir_instance_unlock(&self->inst);
	return 0;
}
