/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * rt - run real-time priorities, FIFO or round robin, before all other tasks
 *
 * class:     order
 * pipes:     in 1, out 1, keyed
 * listens:   PRIORITY: a waiting task goes to the tail of its new level; a running one is preempted if necessary
 * publishes: PREEMPT: a CPU runs a less urgent task than a new one
 * asks:      PRIORITY: 101 to 199 is real time; needed. POLICY: round robin or not. EXECUTED: the rest
 *            of the slice of a preempted task. AFFINITY: which CPUs the task may take
 * answers:   -
 * kernel:    on request
 * params:    slice ns 100000000 [100000, 10000000000]; slice of round robin
 *            rr flag 0 [0, 1]; tasks with unknown policy use round robin
 * per-task:  32 bytes
 * cost:      O(log n) per change, plus a scan of the CPUs behind the out-pipe for preemption; no
 *            lock of its own
 * batch:     the out-pipe holds the tasks of the in-pipe: those of real-time priority by decreasing
 *            priority, each level in the order of its list; then the others in the order of the in-pipe
 * source:    POSIX.1-2017, 2.8.4, Process scheduling: SCHED_FIFO, SCHED_RR
 *
 * A preempted task stays at the head of its level and, with round robin, keeps the rest of its slice.
 * A task that used up its slice, yielded, woke or got another priority goes to the tail. Tasks that give up
 * their CPU while a more urgent one waits count as preempted. Without EXECUTED, a preempted task gets a
 * full slice again.
 *
 * Other tasks keep the order, urgency and slice of the stage before, which forms the class below; `edf` behind
 * this component forms the class above.
 *
 * example:   annotate affinity, executed, policy, priority;
 *            entry -> load_balancer -> each cpu { round_robin(slice = 3ms) -> rt -> cpu };
 */
#include <weir/kit/realtime.h>

struct rt_task {
	u64 place; /* (p) in the list of its level, 0: none yet */
	u64 level; /* (a) priority to which the place belongs, 0: it goes to the tail */
	u64 used;  /* (p) ns of its slice */
	u64 seen;  /* (p) EXECUTED when `used` was right */
};

struct rt {
	struct weir_instance inst;
	u64 slice; /* (c) ns */
	u64 rr;	   /* (c) */
	u64 tail;  /* (p) last place given */
};

WEIR_COMPONENT(rt,
	       .summary = "run real-time priorities, FIFO or round robin, before all other "
			  "tasks",
	       .cls = WEIR_ORDER, .serial = 1, .kernel = WEIR_KERNEL_ON_REQUEST,
	       .ordering = WEIR_STABLE, .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1,
	       .keyed_out = 1, .listens = WEIR_TOPIC_BIT(PRIORITY),
	       .reviews = WEIR_TOPIC_BIT(PRIORITY), .publishes = WEIR_TOPIC_BIT(PREEMPT),
	       .asks = WEIR_TOPIC_BIT(PRIORITY) | WEIR_TOPIC_BIT(POLICY) |
		       WEIR_TOPIC_BIT(EXECUTED) | WEIR_TOPIC_BIT(AFFINITY),
	       .needs = WEIR_TOPIC_BIT(PRIORITY), .per_task = sizeof(struct rt_task),
	       WEIR_PARAMS(rt,
			   WEIR_PARAM(rt, slice, NS, 100000000, 100000, 10000000000ull,
				      "slice of round robin"),
			   WEIR_PARAM(rt, rr, FLAG, 0, 0, 1,
				      "tasks with unknown policy use round robin")));

static int rt_round_robin(struct rt weir_mem *self, struct weir_task weir_mem *t)
{
	struct weir_msg msg = { .topic = WEIR_TOPIC_POLICY, .task = t };

	if (weir_request(self->inst.sched, &msg))
		return self->rr != 0;
	return msg.value == WEIR_POLICY_RR;
}

/* It gave up its CPU: because a more urgent one waits for it? */
static int rt_preempted(const struct rt weir_mem *self, u64 level_key)
{
	const struct weir_pipe weir_mem *home = self->inst.home;
	struct weir_task weir_mem *first = home ? weir_pipe_first(home) : 0;

	return first && weir_load(&first->key) < level_key;
}

/* Charge the slice with what the task has run. 1: round robin, and it is used up. */
static int rt_charge(struct rt weir_mem *self, struct weir_task weir_mem *t,
		     struct rt_task weir_mem *p, int round_robin)
{
	struct weir_msg run = { .topic = WEIR_TOPIC_EXECUTED, .task = t };

	if (weir_request(self->inst.sched, &run))
		return 0;
	p->used += run.value2 - p->seen;
	p->seen = run.value2;
	return round_robin && p->used >= self->slice;
}

/* A task whose slice is not used up keeps its place, unless it woke or gave up its CPU of its own accord. */
static int rt_to_tail(const struct rt weir_mem *self, const struct rt_task weir_mem *p,
		      u64 priority, u32 why)
{
	return !p->place || weir_load(&p->level) != priority || why == WEIR_WHY_WOKE ||
	       (why == WEIR_WHY_REQUEUED && !rt_preempted(self, weir_realtime_key(priority)));
}

/* A real-time task into its list. */
static u32 rt_enlist(struct rt weir_mem *self, struct weir_task weir_mem *t, u64 priority,
		     struct weir_step weir_mem *s)
{
	struct rt_task weir_mem *p = weir_priv(&self->inst, t);
	int round_robin = rt_round_robin(self, t);

	if (rt_charge(self, t, p, round_robin) || rt_to_tail(self, p, priority, s->why)) {
		self->tail = (self->tail + 1) & WEIR_REALTIME_PLACE_MASK;
		p->place = self->tail ? self->tail : 1;
		weir_store(&p->level, priority);
		p->used = 0;
	}
	weir_store(&t->slice_ns, round_robin ? self->slice - p->used : WEIR_SLICE_UNLIMITED);
	s->key = weir_realtime_key(priority) + p->place;
	/* One of the same level does not give way. */
	weir_urgent(s, weir_realtime_key(priority) | WEIR_REALTIME_PLACE_MASK);
	return 0;
}

WEIR_ENTRY u32 rt_step(struct rt weir_mem *self, u32 what, struct weir_task weir_mem *t,
		       struct weir_step weir_mem *s)
{
	u64 priority = weir_property(self->inst.sched, WEIR_TOPIC_PRIORITY, t);

	weir_use(what);
	if (weir_is_realtime(priority)) {
		if (s->runs)
			return weir_place_urgent(s, weir_realtime_key(priority));
		return rt_enlist(self, t, priority, s);
	}
	s->key = weir_key_before(s);
	if (s->key < weir_realtime_key(0))
		s->key = weir_realtime_key(0);
	if (s->runs)
		weir_urgent(s, s->key);
	else
		((struct rt_task weir_mem *)weir_priv(&self->inst, t))->place = 0;
	return 0;
}

/* The same priority again is a new one, too. A running task keeps its place in case it is preempted. */
WEIR_ENTRY int rt_on_priority(struct rt weir_mem *self, const struct weir_msg *msg)
{
	if (msg->task && !weir_runs(msg->task))
		weir_store(&((struct rt_task weir_mem *)weir_priv(&self->inst, msg->task))->level,
			   0);
	return 0;
}

/* Places go on from where they were. */
WEIR_ENTRY void rt_take_state(struct rt weir_mem *self, struct rt weir_mem *old)
{
	self->tail = old->tail;
}
