/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * rt - run real-time priorities, FIFO or round robin, before all other tasks
 *
 * class:     order
 * pipes:     in 1, out 1, keyed
 * listens:   PRIORITY: the task goes to the tail of its new level. UNBLOCK: to the tail of its level.
 *            RELINQUISH: to the tail, unless a more urgent task took its CPU
 * publishes: PREEMPT: a CPU runs a less urgent task than a new one
 * asks:      PRIORITY: 101 to 199 is real time; needed. POLICY: round robin or not. EXECUTED: the rest
 *            of the slice of a preempted task. AFFINITY: which CPUs the task may take
 * answers:   -
 * kernel:    on request
 * params:    slice ns 100000000 [100000, 10000000000]; slice of round robin
 *            rr flag 0 [0, 1]; tasks with unknown policy use round robin
 * per-task:  32 bytes
 * cost:      O(log n) per change, plus a scan of the CPUs behind the out-pipe for preemption; takes the
 *            in-pipe lock and the out-pipe lock
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
	u64 level; /* (p) priority to which the place belongs */
	u64 used;  /* (p) ns of its slice */
	u64 seen;  /* (p) EXECUTED when `used` was right */
};

struct rt {
	struct weir_instance inst;
	u64 slice; /* (c) ns */
	u64 rr;	   /* (c) */
	u64 tail;  /* (p) last place given */
};

enum rt_event { RT_MOVED, RT_TAIL, RT_GAVE_UP };

WEIR_COMPONENT(rt,
	       .summary = "run real-time priorities, FIFO or round robin, before all other "
			  "tasks",
	       .cls = WEIR_ORDER, .carries = WEIR_CARRIES_LOCKED, .kernel = WEIR_KERNEL_ON_REQUEST,
	       .ordering = WEIR_STABLE, .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1,
	       .keyed_out = 1,
	       .listens = WEIR_TOPIC_BIT(PRIORITY) | WEIR_TOPIC_BIT(UNBLOCK) |
			  WEIR_TOPIC_BIT(RELINQUISH),
	       .publishes = WEIR_TOPIC_BIT(PREEMPT),
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
static int rt_preempted(struct rt weir_mem *self, u64 key)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	int preempted;

	if (weir_pipe_lock(out))
		return 1;
	preempted =
		out->head && out->head->hooks[out->slot].key < (key & ~WEIR_REALTIME_PLACE_MASK);
	weir_pipe_unlock(out);
	return preempted;
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

/* A real-time task into its list. */
static int rt_enlist(struct rt weir_mem *self, struct weir_pipe weir_mem *in,
		     struct weir_task weir_mem *t, u64 priority, u32 event)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	struct rt_task weir_mem *p = weir_priv(&self->inst, t);
	int round_robin = rt_round_robin(self, t);
	int over = rt_charge(self, t, p, round_robin);
	int err;

	if (over || !p->place || p->level != priority || event == RT_TAIL ||
	    (event == RT_GAVE_UP && !rt_preempted(self, weir_realtime_key(priority)))) {
		self->tail = (self->tail + 1) & WEIR_REALTIME_PLACE_MASK;
		p->place = self->tail ? self->tail : 1;
		p->level = priority;
		p->used = 0;
	}
	weir_store(&t->slice_ns, round_robin ? self->slice - p->used : WEIR_SLICE_UNLIMITED);
	err = weir_pipe_insert_stable(out, t, weir_realtime_key(priority) + p->place, in);
	if (err)
		return err;
	/* One of the same level does not give way. */
	weir_preempt(&self->inst, out, t, weir_realtime_key(priority) | WEIR_REALTIME_PLACE_MASK);
	return 0;
}

static int rt_put(struct rt weir_mem *self, struct weir_pipe weir_mem *in,
		  struct weir_task weir_mem *t, u32 event)
{
	u64 priority = weir_property(self->inst.sched, WEIR_TOPIC_PRIORITY, t), key;
	struct rt_task weir_mem *p = weir_priv(&self->inst, t);

	if (weir_is_realtime(priority))
		return rt_enlist(self, in, t, priority, event);
	p->place = 0;
	key = weir_key_before(in, t);
	if (key < weir_realtime_key(0))
		key = weir_realtime_key(0);
	return weir_pipe_insert_stable(weir_out(&self->inst, 0), t, key, in);
}

WEIR_ENTRY int rt_update(struct rt weir_mem *self, struct weir_pipe weir_mem *in)
{
	struct weir_change weir_mem *c;
	int err;

	weir_for_change(c, in) {
		err = rt_put(self, in, c->task, RT_MOVED);
		if (err)
			return err;
	}
	return 0;
}

WEIR_ENTRY int rt_on_priority(struct rt weir_mem *self, const struct weir_msg *msg)
{
	if (msg->task)
		weir_rekey_running(&self->inst, weir_out(&self->inst, 0), msg->task,
				   weir_is_realtime(msg->value) ? weir_realtime_key(msg->value)
								: WEIR_KEY_NONE);
	return 0;
}

/* A task that update has still to look at gets its place there. */
WEIR_INLINE int rt_again(struct rt weir_mem *self, const struct weir_msg *msg,
			 struct weir_pipe weir_mem *in, u32 event)
{
	return weir_pipe_has(weir_out(&self->inst, 0), msg->task)
		       ? rt_put(self, in, msg->task, event)
		       : 0;
}

/* Only a real-time task changes its place: the others go by the stage before. */
WEIR_INLINE int rt_event(struct rt weir_mem *self, const struct weir_msg *msg,
			 struct weir_pipe weir_mem *in, u32 event)
{
	struct rt_task weir_mem *p = weir_priv(&self->inst, msg->task);

	return p->place ? rt_again(self, msg, in, event) : 0;
}

WEIR_ENTRY int rt_follow_priority(struct rt weir_mem *self, const struct weir_msg *msg,
				  struct weir_pipe weir_mem *in)
{
	return rt_again(self, msg, in, RT_TAIL);
}

WEIR_ENTRY int rt_follow_unblock(struct rt weir_mem *self, const struct weir_msg *msg,
				 struct weir_pipe weir_mem *in)
{
	return rt_event(self, msg, in, RT_TAIL);
}

WEIR_ENTRY int rt_follow_relinquish(struct rt weir_mem *self, const struct weir_msg *msg,
				    struct weir_pipe weir_mem *in)
{
	return rt_event(self, msg, in, RT_GAVE_UP);
}

/* Places go on from where they were. */
WEIR_ENTRY void rt_take_state(struct rt weir_mem *self, struct rt weir_mem *old)
{
	self->tail = old->tail;
}
