/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bandwidth - limit the CPU time of each group in a period
 *
 * class:    annotate
 * pipes:    none
 * listens:  GROUP: the task's group; without a task, a group's parent. LIMIT: a group's quota, burst and period. DISPATCH: the
 *           task borrows a slice of the quota. RELINQUISH, BLOCK, EXIT: it returns the unused rest
 * answers:  BUDGET: 0 while the quota of one of its groups is used up, and when it is filled again
 * params:   slice ns 5000000 [100000, 1000000000]; largest part of a quota that a CPU borrows at a time
 * per-task: 24 bytes
 * cost:     O(depth of the groups) per message and per answer; takes the instance's own lock
 * batch:    no pipes
 * source:   Turner, Rao and Rao, "CPU bandwidth control for CFS", 2010
 * long:     shares of groups within groups are booked from the task up, under one lock
 *
 * Accounts for CPU time; `throttle` in front of any order withholds the tasks of a group without quota. A
 * task that gets a CPU borrows a slice of the quota, which becomes its time slice if that is longer, and
 * returns the unused rest, so no group exceeds its quota on any number of CPUs. Overruns by a
 * late timer are deducted from the next period. What a group leaves of its quota, up to its burst, it may use in the next
 * periods. Groups nest: a task uses the quotas of all
 * its groups, up to eight. Group 0, the root, has no limit; group numbers go up to 255, parents before their children.
 *
 * example:  annotate affinity, weight, fair, bandwidth; entry -> throttle -> cfs -> cpus;
 */
#include <weir/component.h>

#define BANDWIDTH_GROUPS 256u
#define BANDWIDTH_DEPTH	 8u
/* ns; less is not worth a turn. */
#define BANDWIDTH_LEAST 100000ull

struct bandwidth_task {
	u64 since; /* (l) ns; it runs since then */
	u64 lease; /* (l) ns that it took of the quota, 0: it does not run */
	u32 group; /* (l) */
	u32 unused;
};

struct bandwidth_group {
	u64 quota;  /* (l) ns, 0: no limit */
	u64 burst;  /* (l) ns of earlier periods that it may use at most */
	u64 saved;  /* (l) ns of them in this period */
	u64 period; /* (l) ns */
	u64 until;  /* (l) ns; end of the present period */
	u64 used;   /* (l) ns in it, slices that were taken among it */
	u32 parent; /* (l) less than its own number */
	u32 asked;  /* (l) times that its tasks were told when the period ends, in it */
};

struct bandwidth {
	struct weir_instance inst;
	u64 slice;					/* (c) ns */
	struct bandwidth_group group[BANDWIDTH_GROUPS]; /* (l) */
};

WEIR_COMPONENT(bandwidth, .summary = "limit the CPU time of each group in a period",
	       .cls = WEIR_ANNOTATE,
	       .listens = WEIR_TOPIC_BIT(GROUP) | WEIR_TOPIC_BIT(LIMIT) | WEIR_TOPIC_BIT(DISPATCH) |
			  WEIR_TOPIC_BIT(RELINQUISH) | WEIR_TOPIC_BIT(BLOCK) | WEIR_TOPIC_BIT(EXIT),
	       .answers = WEIR_TOPIC_BIT(BUDGET), .per_task = sizeof(struct bandwidth_task),
	       WEIR_PARAMS(bandwidth,
			   WEIR_PARAM(bandwidth, slice, NS, 5000000, 100000, 1000000000,
				      "largest part of a quota that a CPU borrows at a time")));

/* @passed periods have begun. Slices that are out, and what was too much, count in the period that begins. */
static void bandwidth_refill(struct bandwidth_group weir_mem *g, u64 passed)
{
	u64 had = g->quota + g->saved, left = g->used < had ? had - g->used : 0;

	g->used = passed == 1 && g->used > had ? g->used - had : 0;
	if (passed > 1)
		left += g->quota;
	g->saved = left < g->burst ? left : g->burst;
	g->asked = 0;
}

/* A group, brought up to date; null: it has no limit. The lock is held. */
static struct bandwidth_group weir_mem *bandwidth_group(struct bandwidth weir_mem *self, u32 number,
							u64 now)
{
	struct bandwidth_group weir_mem *g = &self->group[number & (BANDWIDTH_GROUPS - 1)];
	u64 passed;

	if (!g->quota)
		return 0;
	if (!g->until) {
		g->until = now + g->period;
	} else if (now >= g->until) {
		passed = (now - g->until) / g->period + 1;
		g->until += passed * g->period;
		bandwidth_refill(g, passed);
	}
	return g;
}

/* The groups that the task is in, from its own outwards, except the root. */
#define bandwidth_for_group(self, p, number)                                \
	for (u32 number = (p)->group, depth_ = 0;                           \
	     number && depth_ < weir_unknown(BANDWIDTH_DEPTH) && weir_loop; \
	     number = (self)->group[number & (BANDWIDTH_GROUPS - 1)].parent, depth_++)

/*
 * What is left of the task's quotas, at most @most, and when there is more of what is used up; the lock is held. Each that asks is told a
 * nanosecond later than the one before, so that they go on in this order and not in that of their CPUs' numbers.
 */
static u64 bandwidth_left(struct bandwidth weir_mem *self, const struct bandwidth_task weir_mem *p,
			  u64 most, u64 now, u64 *more_at)
{
	*more_at = 0;
	bandwidth_for_group(self, p, number) {
		struct bandwidth_group weir_mem *g = bandwidth_group(self, number, now);
		u64 left;

		if (!g)
			continue;
		left = g->used < g->quota + g->saved ? g->quota + g->saved - g->used : 0;
		if (left < most)
			most = left;
		if (!left && g->until + g->asked > *more_at)
			*more_at = g->until + g->asked++;
	}
	return most;
}

/* The task takes @lease of its quotas, or gives it back and has used @ran. 1: it has a limit. The lock is held. */
static int bandwidth_book(struct bandwidth weir_mem *self, const struct bandwidth_task weir_mem *p,
			  u64 now, u64 add, u64 take)
{
	int limited = 0;

	bandwidth_for_group(self, p, number) {
		struct bandwidth_group weir_mem *g = bandwidth_group(self, number, now);

		if (!g)
			continue;
		g->used = g->used + add > take ? g->used + add - take : 0;
		limited = 1;
	}
	return limited;
}

/* The task runs no longer. The lock is held. */
WEIR_FLAT static void bandwidth_settle(struct bandwidth weir_mem *self,
				       struct bandwidth_task weir_mem *p, u64 now)
{
	if (!p->lease)
		return;
	bandwidth_book(self, p, now, now - p->since, p->lease);
	p->lease = 0;
}

/* Take the lock and find the task's memory, settled if it has stopped; null: the message is about no task. */
static struct bandwidth_task weir_mem *bandwidth_open(struct bandwidth weir_mem *self,
						      const struct weir_msg *msg, u64 now)
{
	struct bandwidth_task weir_mem *p;

	if (!msg->task || weir_instance_lock(&self->inst))
		return 0;
	p = weir_priv(&self->inst, msg->task);
	if (!weir_runs(msg->task))
		bandwidth_settle(self, p, now);
	return p;
}

/* Without a task: value is the group, value2 from bit 32 on its parent. */
static int bandwidth_adopt(struct bandwidth weir_mem *self, u32 number, u32 parent)
{
	if (!number || parent >= number)
		return -WEIR_EINVAL;
	if (weir_instance_lock(&self->inst))
		return -WEIR_EAGAIN;
	self->group[number & (BANDWIDTH_GROUPS - 1)].parent = parent;
	weir_instance_unlock(&self->inst);
	return 0;
}

WEIR_ENTRY int bandwidth_on_group(struct bandwidth weir_mem *self, const struct weir_msg *msg)
{
	u64 now = weir_now(self->inst.sched);
	struct bandwidth_task weir_mem *p;

	if (msg->value >= BANDWIDTH_GROUPS)
		return -WEIR_EINVAL;
	if (!msg->task)
		return bandwidth_adopt(self, (u32)msg->value, (u32)(msg->value2 >> 32));
	p = bandwidth_open(self, msg, now);
	if (!p)
		return -WEIR_EAGAIN;
	bandwidth_settle(self, p, now);
	p->group = (u32)msg->value;
	weir_instance_unlock(&self->inst);
	return 0;
}

/* value: the group, and from bit 32 on the period in us; value2: the quota in us, 0: no limit, and from bit 32 on the burst in us. */
WEIR_ENTRY int bandwidth_on_limit(struct bandwidth weir_mem *self, const struct weir_msg *msg)
{
	u32 g = (u32)msg->value;
	u64 period = (msg->value >> 32) * 1000;
	struct bandwidth_group weir_mem *group;

	if (!g || g >= BANDWIDTH_GROUPS || ((u32)msg->value2 && !period))
		return -WEIR_EINVAL;
	if (weir_instance_lock(&self->inst))
		return -WEIR_EAGAIN;
	group = &self->group[g & (BANDWIDTH_GROUPS - 1)];
	group->quota = (u64)(u32)msg->value2 * 1000;
	group->burst = (msg->value2 >> 32) * 1000;
	group->saved = 0;
	group->period = period;
	group->until = 0;
	group->used = 0;
	weir_instance_unlock(&self->inst);
	return 0;
}

WEIR_ENTRY int bandwidth_on_dispatch(struct bandwidth weir_mem *self, const struct weir_msg *msg)
{
	u64 now = weir_now(self->inst.sched), turn = weir_load(&msg->task->slice_ns), lease,
	    more_at;
	struct bandwidth_task weir_mem *p = bandwidth_open(self, msg, now);

	if (!p)
		return -WEIR_EAGAIN;
	lease = bandwidth_left(self, p, self->slice, now, &more_at);
	/* Another CPU was faster, or little is left: a short slice, on credit. */
	if (lease < BANDWIDTH_LEAST)
		lease = BANDWIDTH_LEAST;
	if (bandwidth_book(self, p, now, lease, 0)) {
		if (turn == WEIR_SLICE_DEFAULT || turn > lease)
			weir_store(&msg->task->slice_ns, lease);
		p->lease = lease;
		p->since = now;
	}
	weir_instance_unlock(&self->inst);
	return 0;
}

static int bandwidth_stop(struct bandwidth weir_mem *self, const struct weir_msg *msg)
{
	/* Settling on the way does all that is to be done. */
	if (!bandwidth_open(self, msg, weir_now(self->inst.sched)))
		return -WEIR_EAGAIN;
	weir_instance_unlock(&self->inst);
	return 0;
}

WEIR_ENTRY int bandwidth_on_relinquish(struct bandwidth weir_mem *self, const struct weir_msg *msg)
{
	return bandwidth_stop(self, msg);
}

WEIR_ENTRY int bandwidth_on_block(struct bandwidth weir_mem *self, const struct weir_msg *msg)
{
	return bandwidth_stop(self, msg);
}

WEIR_ENTRY int bandwidth_on_exit(struct bandwidth weir_mem *self, const struct weir_msg *msg)
{
	return bandwidth_stop(self, msg);
}

WEIR_ENTRY int bandwidth_answer_budget(struct bandwidth weir_mem *self, struct weir_msg *msg)
{
	u64 now = weir_now(self->inst.sched);
	struct bandwidth_task weir_mem *p = bandwidth_open(self, msg, now);

	if (!p)
		return -WEIR_EINVAL;
	msg->value = bandwidth_left(self, p, 1, now, &msg->value2);
	weir_instance_unlock(&self->inst);
	return 0;
}

WEIR_ENTRY void bandwidth_take_state(struct bandwidth weir_mem *self,
				     struct bandwidth weir_mem *old)
{
	for (u32 i = 0; i < weir_unknown(BANDWIDTH_GROUPS) && weir_loop; i++) {
		self->group[i].quota = old->group[i].quota;
		self->group[i].burst = old->group[i].burst;
		self->group[i].saved = old->group[i].saved;
		self->group[i].period = old->group[i].period;
		self->group[i].until = old->group[i].until;
		self->group[i].used = old->group[i].used;
		self->group[i].parent = old->group[i].parent;
	}
}
