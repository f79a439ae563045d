/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * group_weight - divide each group's weight among its tasks
 *
 * class:     annotate
 * pipes:     none
 * listens:   PRIORITY: the weight of that nice value within the group. WEIGHT: any other. GROUP: the task's group;
 *            without a task, a group's weight and parent. DISPATCH, RELINQUISH: its group's account is charged.
 *            BLOCK, EXIT, WITHHELD: the task does not compete any more, or not until it is let through
 * answers:   WEIGHT: the task's effective weight in all its groups; in value2 2^32 divided by it, and from bit 32 on 1: it changes
 *            without a message. A question's value2 says what
 *            the asking order multiplies the task's virtual time by, in 1/1024; 0: it does not say
 * params:    slack ns 1000000 [0, 1000000000]; what a group's account may be ahead or behind before weights change
 * per-task:  32 bytes
 * cost:      O(depth of the groups) per message and per answer; takes the instance's own lock
 * batch:     no pipes
 * long:      shares and accounts of nested groups change together, under one lock: who competes decides what an account is entitled to
 * source:    Linux: group scheduling, spec/4 section 5; as weights of tasks: ours
 *
 * Use it instead of `weight`, in front of any order that uses weights. A group competes like one task with its
 * weight, and its runnable members divide its share by their own weights; groups nest. A task's weight
 * is its own times, for each of its groups, up to eight, the group's weight over the sum of all competitors in it.
 *
 * A penalty (`pmc_fair`) counts among the members of a group only: a task's share there is that of its weight over the penalty's
 * stretch, and the group's share of the rest is what it is without, as in Linux's hierarchy, where only tasks are stretched.
 *
 * The sums change when members start or stop competing; an order notices at its next request, for most tasks one
 * slice later, and it forgets the debts of members one by one when they sleep. So each group has an account: what it was entitled to
 * among the competitors in its parent, less what its members have run. Once that is more than `slack`, its members' weights
 * are larger or smaller, up to four times, until the account is even. A group pays its debts while it has no
 * runnable member, and keeps what it is owed (docs/decisions/0185). The members of a group of weight 3 (cpu.idle), and of groups
 * within it, have that weight each, so that orders treat them like SCHED_IDLE. Group 0 is the root and holds all tasks without a group; numbers go up to 255, parents before their children.
 *
 * example:   annotate affinity, group_weight, fair; entry -> cfs -> cpus;
 */
#include <weir/kit/fair.h>

#define GROUP_WEIGHT_GROUPS 256u
#define GROUP_WEIGHT_DEPTH  8u

/* ns for each CPU: what averages of loads and balancers take to follow. */
#define GROUP_WEIGHT_FAR_NS 16000000ull

struct group_weight_task {
	u32 weight;  /* (l) its own, 0: never set */
	u32 group;   /* (l) */
	u32 counted; /* (l) weight with which it competes in its group, 0: it does not */
	u32 running; /* (a) the time since `since` is not in `ran` yet */
	u64 since;   /* (a) ns; when it got its CPU */
	u64 ran;     /* (a) ns that its groups are still to be charged for */
};

struct group_weight_group {
	u64 sum;    /* (l) weights of the members that compete in it */
	u32 weight; /* (l) 0: never set, 1024 */
	u32 parent; /* (l) less than its own number */
	u64 time;   /* (l) run time of its members over the sum of their weights, 2^-20 ns */
	u64 seen;   /* (l) `time` of the parent up to which its account is credited */
	s64 lag;    /* (l) ns; its account: what it is owed */
};

struct group_weight {
	struct weir_instance inst;
	u64 slack; /* (c) ns */
	u64 far;   /* (c) ns that an account is beyond it at most */
	struct group_weight_group group[GROUP_WEIGHT_GROUPS]; /* (l) */
};

WEIR_COMPONENT(
	group_weight, .summary = "divide each group's weight among its tasks", .cls = WEIR_ANNOTATE,
	.listens = WEIR_TOPIC_BIT(PRIORITY) | WEIR_TOPIC_BIT(WEIGHT) | WEIR_TOPIC_BIT(GROUP) |
		   WEIR_TOPIC_BIT(DISPATCH) | WEIR_TOPIC_BIT(RELINQUISH) | WEIR_TOPIC_BIT(BLOCK) |
		   WEIR_TOPIC_BIT(EXIT) | WEIR_TOPIC_BIT(WITHHELD),
	.answers = WEIR_TOPIC_BIT(WEIGHT), .per_task = sizeof(struct group_weight_task),
	WEIR_PARAMS(group_weight, WEIR_PARAM(group_weight, slack, NS, 1000000, 0, 1000000000,
					     "what a group's account may be ahead or behind before "
					     "weights change")));

static struct group_weight_group weir_mem *group_weight_at(struct group_weight weir_mem *self,
							   u32 g)
{
	return &self->group[g & (GROUP_WEIGHT_GROUPS - 1)];
}

static u64 group_weight_of(const struct group_weight_group weir_mem *g)
{
	return g->weight ? g->weight : WEIR_WEIGHT_NICE_0;
}

/* --- accounts, under the lock ------------------------------------------------------------------------------- */

static void group_weight_bound(const struct group_weight weir_mem *self,
			       struct group_weight_group weir_mem *group, s64 lag)
{
	s64 most = (s64)(self->slack + self->far);

	group->lag = lag > most ? most : lag < -most ? -most : lag;
}

/* Credit @group with its part of what the competitors in its parent have run. Without members it only pays its debt. */
static void group_weight_credit(const struct group_weight weir_mem *self,
				struct group_weight_group weir_mem *group, u64 time)
{
	u64 passed = time - group->seen, weight = group_weight_of(group);
	s64 lag = group->lag;

	group->seen = time;
	if (group->sum)
		group_weight_bound(self, group, lag + (s64)((passed * weight) >> 20));
	else if (lag < 0)
		group->lag = passed >= ((u64)-lag << 20) / weight
				     ? 0
				     : lag + (s64)((passed * weight) >> 20);
}

/* A member of @g has run for @ran ns: its groups have had it. */
static void group_weight_charge(struct group_weight weir_mem *self, u32 g, u64 ran)
{
	for (u32 i = 0; i < weir_unknown(GROUP_WEIGHT_DEPTH + 1) && weir_loop; i++) {
		struct group_weight_group weir_mem *group = group_weight_at(self, g);

		if (group->sum)
			group->time += (ran << 20) / group->sum;
		if (!g)
			return;
		group_weight_credit(self, group, group_weight_at(self, group->parent)->time);
		group_weight_bound(self, group, group->lag - (s64)ran);
		g = group->parent;
	}
}

/* Take down what the task has run so far; of two callers that see that it has stopped, one does. */
static void group_weight_stop(struct group_weight weir_mem *self,
			      struct group_weight_task weir_mem *p)
{
	u64 now, since;

	if (!weir_load(&p->running) || weir_cas(&p->running, 1, 0) != 1)
		return;
	now = weir_now(self->inst.sched);
	since = weir_load(&p->since);
	if (now > since)
		weir_fetch_add(&p->ran, now - since);
}

/* Charge its groups for what the task has run until it stopped. */
static void group_weight_settle(struct group_weight weir_mem *self, struct weir_task weir_mem *t,
				struct group_weight_task weir_mem *p)
{
	u64 ran;

	if (!weir_runs(t))
		group_weight_stop(self, p);
	ran = weir_load(&p->ran);
	if (!ran)
		return;
	weir_fetch_add(&p->ran, -ran);
	group_weight_charge(self, p->group, ran);
}

/* @weight of a member of @group, by the group's account: a quarter to four times as much. */
static u64 group_weight_even(const struct group_weight weir_mem *self,
			     const struct group_weight_group weir_mem *group, u64 weight)
{
	u64 slack = self->slack, far = self->far * 5 >> 10, off;

	if (group->lag > (s64)slack) {
		off = ((u64)group->lag - slack) * 3 >> 10;
		return weight * (((far + off) << 10) / (far - off)) >> 10;
	}
	if (group->lag < -(s64)slack) {
		off = ((u64)-group->lag - slack) * 3 >> 10;
		return weight * (((far - off) << 10) / (far + off)) >> 10;
	}
	return weight;
}

/* --- who competes, under the lock ---------------------------------------------------------------------------- */

/* @add more competes in group @g, and @take less; a group without members does not compete. */
static void group_weight_sum(struct group_weight weir_mem *self, u32 g, u64 add, u64 take)
{
	for (u32 i = 0; i < weir_unknown(GROUP_WEIGHT_DEPTH) && weir_loop; i++) {
		struct group_weight_group weir_mem *group = group_weight_at(self, g);
		u64 was = group->sum, sum = was + add > take ? was + add - take : 0;

		if (!g || !was == !sum) {
			group->sum = sum;
			return;
		}
		group_weight_credit(self, group, group_weight_at(self, group->parent)->time);
		group->sum = sum;
		add = was ? 0 : group_weight_of(group);
		take = was ? group_weight_of(group) : 0;
		g = group->parent;
	}
}

/* The task competes with @weight from now on; 0: not at all. */
static void group_weight_count(struct group_weight weir_mem *self,
			       struct group_weight_task weir_mem *p, u32 weight)
{
	if (p->counted == weight)
		return;
	group_weight_sum(self, p->group, weight, p->counted);
	p->counted = weight;
}

static u32 group_weight_own(const struct group_weight_task weir_mem *p)
{
	return p->weight ? p->weight : WEIR_WEIGHT_NICE_0;
}

/* Its own weight, or group, is another one. */
static int group_weight_change(struct group_weight weir_mem *self, struct weir_task weir_mem *t,
			       u32 weight, u32 group)
{
	struct group_weight_task weir_mem *p = weir_priv(&self->inst, t);
	int err = weir_instance_lock(&self->inst);
	u32 counted;

	if (err)
		return err;
	counted = p->counted;
	group_weight_settle(self, t, p);
	group_weight_count(self, p, 0);
	p->weight = weight ? weight : p->weight;
	p->group = group < GROUP_WEIGHT_GROUPS ? group : p->group;
	group_weight_count(self, p, counted ? group_weight_own(p) : 0);
	weir_instance_unlock(&self->inst);
	return 0;
}

WEIR_ENTRY int group_weight_construct(struct group_weight weir_mem *self)
{
	self->far = GROUP_WEIGHT_FAR_NS * (1 + (u64)weir_nr_cpus(self->inst.sched));
	return 0;
}

WEIR_ENTRY int group_weight_on_priority(struct group_weight weir_mem *self,
					const struct weir_msg *msg)
{
	if (!msg->task)
		return -WEIR_EINVAL;
	return group_weight_change(self, msg->task, weir_fair_nice(-(s64)msg->value), ~0u);
}

WEIR_ENTRY int group_weight_on_weight(struct group_weight weir_mem *self,
				      const struct weir_msg *msg)
{
	if (!msg->task || !msg->value || msg->value > WEIR_WEIGHT_MAX)
		return -WEIR_EINVAL;
	return group_weight_change(self, msg->task, (u32)msg->value, ~0u);
}

/* Without a task: value is the group, value2 its weight, and from bit 32 on its parent. */
WEIR_ENTRY int group_weight_on_group(struct group_weight weir_mem *self, const struct weir_msg *msg)
{
	u32 g = (u32)msg->value, weight = (u32)msg->value2, parent = (u32)(msg->value2 >> 32);
	struct group_weight_group weir_mem *group;
	int err;

	if (msg->value >= GROUP_WEIGHT_GROUPS)
		return -WEIR_EINVAL;
	if (msg->task)
		return group_weight_change(self, msg->task, 0, g);
	if (!g || parent >= g || !weight || weight > WEIR_WEIGHT_MAX)
		return -WEIR_EINVAL;
	err = weir_instance_lock(&self->inst);
	if (err)
		return err;
	group = group_weight_at(self, g);
	group_weight_credit(self, group, group_weight_at(self, group->parent)->time);
	if (group->sum)
		group_weight_sum(self, group->parent, 0, group_weight_of(group));
	group->weight = weight;
	group->parent = parent;
	group->seen = group_weight_at(self, parent)->time;
	if (group->sum)
		group_weight_sum(self, parent, weight, 0);
	weir_instance_unlock(&self->inst);
	return 0;
}

WEIR_ENTRY int group_weight_on_dispatch(struct group_weight weir_mem *self,
					const struct weir_msg *msg)
{
	struct group_weight_task weir_mem *p = weir_priv(&self->inst, msg->task);

	/* Where the message of its leaving came too late. */
	group_weight_stop(self, p);
	weir_store(&p->since, weir_now(self->inst.sched));
	weir_store(&p->running, 1);
	return 0;
}

/* It may have been seen to wait before, and perhaps runs again. Its groups are charged at the next request. */
WEIR_ENTRY int group_weight_on_relinquish(struct group_weight weir_mem *self,
					  const struct weir_msg *msg)
{
	if (!weir_runs(msg->task))
		group_weight_stop(self, weir_priv(&self->inst, msg->task));
	return 0;
}

static int group_weight_rest(struct group_weight weir_mem *self, struct weir_task weir_mem *t)
{
	struct group_weight_task weir_mem *p = weir_priv(&self->inst, t);
	int err = p->counted ? weir_instance_lock(&self->inst) : 0;

	/* Most have blocked before they end, and are counted no more. */
	if (err || !p->counted)
		return err;
	group_weight_settle(self, t, p);
	group_weight_count(self, p, 0);
	weir_instance_unlock(&self->inst);
	return 0;
}

WEIR_ENTRY int group_weight_on_block(struct group_weight weir_mem *self, const struct weir_msg *msg)
{
	return weir_blocked(msg->task) ? group_weight_rest(self, msg->task) : 0;
}

WEIR_ENTRY int group_weight_on_exit(struct group_weight weir_mem *self, const struct weir_msg *msg)
{
	return group_weight_rest(self, msg->task);
}

/* It waits for its group's budget, or for a CPU. Whoever orders it asks for its weight when it is let through. */
WEIR_ENTRY int group_weight_on_withheld(struct group_weight weir_mem *self,
					const struct weir_msg *msg)
{
	return msg->task && !weir_runs(msg->task) ? group_weight_rest(self, msg->task) : 0;
}

/*
 * The weight with which a task competes in its group if its virtual time is multiplied by @stretch, 1/1024, within a half
 * of one and a half; 0: as before. (A penalty is not asked for here: an answer may send no request, because the kernel allows no recursion.)
 */
static u32 group_weight_competes(const struct group_weight_task weir_mem *p, u64 stretch)
{
	u64 own = group_weight_own(p);

	if (!stretch)
		return p->counted ? p->counted : (u32)own;
	if (!p->group)
		return (u32)own;
	return (u32)((own << 10) / (stretch < 512 ? 512 : stretch > 1536 ? 1536 : stretch));
}

/* A request about a task that is not counted means that it has just arrived. */
WEIR_ENTRY int group_weight_answer_weight(struct group_weight weir_mem *self, struct weir_msg *msg)
{
	struct group_weight_task weir_mem *p;
	u64 weight;
	u32 g, idle = 0;
	int err;

	if (!msg->task)
		return -WEIR_EINVAL;
	p = weir_priv(&self->inst, msg->task);
	err = weir_instance_lock(&self->inst);
	if (err)
		return err;
	group_weight_settle(self, msg->task, p);
	if (!weir_blocked(msg->task) && weir_state(msg->task) != WEIR_DEAD)
		group_weight_count(self, p, group_weight_competes(p, msg->value2));
	/*
	 * 10 bits more, so that what is rounded off on the way does not count. The order stretches the task's time once more;
	 * that its sum here has its weight without that takes it back.
	 */
	weight = (u64)group_weight_own(p) << 10;
	g = p->group;
	for (u32 i = 0; g && i < weir_unknown(GROUP_WEIGHT_DEPTH) && weir_loop; i++) {
		struct group_weight_group weir_mem *group = group_weight_at(self, g);

		group_weight_credit(self, group, group_weight_at(self, group->parent)->time);
		weight = weight * group_weight_of(group) / (group->sum ? group->sum : 1);
		weight = group_weight_even(self, group, weight);
		idle |= group->weight == WEIR_WEIGHT_IDLE;
		g = group->parent;
	}
	weir_instance_unlock(&self->inst);
	weight = (weight + 512) >> 10;
	/* A member of a light group deep down is due less: then it has up to twice that, or more, whatever the account says. */
	msg->value = idle			? WEIR_WEIGHT_IDLE
		     : weight < 1		? 1
		     : weight > WEIR_WEIGHT_MAX ? WEIR_WEIGHT_MAX
						: weight;
	msg->value2 = weir_fair_inverse(msg->value) | WEIR_FAIR_UNTOLD;
	return 0;
}

WEIR_ENTRY void group_weight_take_state(struct group_weight weir_mem *self,
					struct group_weight weir_mem *old)
{
	for (u32 i = 0; i < weir_unknown(GROUP_WEIGHT_GROUPS) && weir_loop; i++) {
		self->group[i].sum = old->group[i].sum;
		self->group[i].weight = old->group[i].weight;
		self->group[i].parent = old->group[i].parent;
		self->group[i].time = old->group[i].time;
		self->group[i].seen = old->group[i].seen;
		self->group[i].lag = old->group[i].lag;
	}
}
