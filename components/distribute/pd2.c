/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * pd2 - give each task its share in every interval, in quanta (Pfair)
 *
 * class:     distribute
 * pipes:     in 1, out 1..
 * listens:   DISPATCH, BLOCK, EXIT: what runs, and how long. CPU_STATUS: decide again. AFFINITY: a
 *            task that is bound to some CPUs is a background task
 * publishes: PREEMPT: a CPU runs a task whose quantum has ended
 * asks:      JOB: execution time and relative deadline; needed. DEADLINE: absolute, ns; needed.
 *            AFFINITY: which CPUs the task may take
 * answers:   -
 * kernel:    on request
 * params:    quantum ns 1000000 [1000, 1000000000]; length of a slot; slots start at its multiples
 *            early flag 0 [0, 1]; a subtask may run as soon as its predecessor is done
 *            ties flag 1 [0, 1]; break ties among deadlines by overlap and group deadline
 *            tasks count 1024 [1, 65536]; most tasks with JOB; others run in the background
 * per-task:  8 bytes, and 200 for each of `tasks`
 * cost:      O(n log CPUs + CPUs) per quantum for n real-time tasks; its own lock
 * batch:     each task is in one out-pipe, or waits in the in-pipe; an out-pipe holds no more tasks than
 *            its CPUs were assigned, in the order of the in-pipe
 * source:    Srinivasan and Anderson, "Optimal rate-based scheduling on multiprocessors", 2002 (PD2,
 *            its priorities in section 2); Anderson and Srinivasan, "Early-release fair scheduling",
 *            2000; for `ties` off (EPDF) Anderson and Srinivasan, "A new look at pfair priorities"
 * long:      one set of windows serves all CPUs: release, comparison and choice read the same state
 *
 * A job that needs e quanta and has p of them until its deadline is a sequence of e subtasks; number i is
 * released floor((i-1)p/e) quanta after the job, with deadline ceil(ip/e). In every slot the released
 * subtasks with the earliest deadlines run. Ties go to one whose window overlaps the next one's, then to
 * one with the later group deadline, then to one that keeps its CPU. No deadline is missed if execution
 * times, periods and releases are multiples of the quantum, deadlines are not before the ends of periods,
 * and the shares e/p add up to at most the number of CPUs, which must be equal. Other times are rounded: execution
 * times up, ends of windows inwards. Without `ties` this holds on up to two CPUs only.
 *
 * A task that exceeds its declared time continues at its rate. Tasks without parameters, and those
 * bound to some of the CPUs, take turns on CPUs that a slot leaves idle. Times must be below 2^32 quanta.
 *
 * example:   annotate affinity, job, deadline; entry -> pd2(quantum = 1ms) -> each cpu { -> cpu };
 */
#include <weir/component.h>
#include <weir/kit/top_k.h>

struct pd2 {
	struct weir_instance inst;
	struct weir_assign assign;
	u64 quantum;		/* (c) ns */
	u64 early;		/* (c) */
	u64 ties;		/* (c) */
	u64 tasks;		/* (c) */
	u64 slot;		/* (h) 1 + slot decided last, 0: none */
	struct weir_top_k best; /* (h) rows chosen for the slot */
};

/* A row's words. Slots are absolute. */
enum pd2_word {
	PD2_START,    /* slot in which the job's first window begins */
	PD2_NEED,     /* quanta of a job */
	PD2_SPAN,     /* quanta until its deadline */
	PD2_DONE,     /* subtasks of the job that are done */
	PD2_CHOSEN,   /* it has the slot decided last */
	PD2_DEADLINE, /* of its next subtask; with `ties` twice that, and 1 less for an overlap */
	PD2_GROUP,    /* group deadline, inverted: the later one goes first */
};

WEIR_COMPONENT(pd2, .summary = "give each task its share in every interval, in quanta (Pfair)",
	       .cls = WEIR_DISTRIBUTE, .kernel = WEIR_KERNEL_ON_REQUEST, .ordering = WEIR_KEEPS,
	       .in_min = 1, .in_max = 1, .out_min = 1, .out_max = WEIR_ANY,
	       .per_task = sizeof(struct weir_rt_task), .listens = WEIR_ASSIGN_LISTENS,
	       .reviews = WEIR_ASSIGN_REVIEWS, .serial = 1, .publishes = WEIR_TOPIC_BIT(PREEMPT),
	       .asks = WEIR_ASSIGN_ASKS, .needs = WEIR_ASSIGN_NEEDS,
	       WEIR_PARAMS(pd2,
			   WEIR_PARAM(pd2, quantum, NS, 1000000, 1000, 1000000000,
				      "length of a slot; slots start at its multiples"),
			   WEIR_PARAM(pd2, early, FLAG, 0, 0, 1,
				      "a subtask may run as soon as its predecessor is done"),
			   WEIR_PARAM(pd2, ties, FLAG, 1, 0, 1,
				      "break ties among deadlines by overlap and group deadline"),
			   WEIR_PARAM(pd2, tasks, COUNT, 1024, 1, 65536,
				      "most tasks with JOB; others run in the background")));

static u64 pd2_ceil(u64 a, u64 b)
{
	return (a + b - 1) / b;
}

/* Windows of a job that just began. An overrun of the job before is paid for: they begin after it. */
static void pd2_begin(struct pd2 weir_mem *self, struct weir_rt weir_mem *r)
{
	u64 first = pd2_ceil(r->release, self->quantum), span = r->deadline - r->release;
	u64 need = pd2_ceil(r->wcet, self->quantum), paid = 0;

	if (r->x[PD2_NEED])
		paid = r->x[PD2_START] + r->x[PD2_DONE] * r->x[PD2_SPAN] / r->x[PD2_NEED];
	if (r->period && r->period < span)
		span = r->period;
	span = (r->release + span) / self->quantum;
	span = span > first ? span - first : 1;
	if (span > ~0u)
		span = ~0u;
	if (need > span)
		need = span;
	r->x[PD2_START] = first > paid ? first : paid;
	r->x[PD2_NEED] = need;
	r->x[PD2_SPAN] = span;
	r->x[PD2_DONE] = 0;
}

/* Slot in which the next subtask is released, if each waits for its window. */
static u64 pd2_release(const struct weir_rt weir_mem *r)
{
	return r->x[PD2_START] + r->x[PD2_DONE] * r->x[PD2_SPAN] / r->x[PD2_NEED];
}

/* Take note of the slots that passed since the last decision, and of what happened to the task. */
static void pd2_catch_up(struct pd2 weir_mem *self, struct weir_rt weir_mem *r, u64 now, u64 passed)
{
	if (r->x[PD2_CHOSEN] && passed) {
		r->x[PD2_DONE] += passed;
		r->x[PD2_CHOSEN] = 0;
	}
	if (r->state & WEIR_RT_FRESH) {
		pd2_begin(self, r);
	} else if (r->x[PD2_DONE] >= r->x[PD2_NEED]) {
		/* It needs more than it declared: another job's worth of windows. */
		r->x[PD2_START] += r->x[PD2_DONE] / r->x[PD2_NEED] * r->x[PD2_SPAN];
		r->x[PD2_DONE] %= r->x[PD2_NEED];
	}
	/* While it waited for something its windows did not move on. */
	if ((r->state & (WEIR_RT_FRESH | WEIR_RT_WOKEN)) == WEIR_RT_WOKEN && pd2_release(r) < now)
		r->x[PD2_START] += now - pd2_release(r);
	r->state &= ~(u32)(WEIR_RT_FRESH | WEIR_RT_WOKEN | WEIR_RT_WANT);
}

/* Priority of the next subtask; all within a job, so products stay below 2^64. */
static void pd2_weigh(struct pd2 weir_mem *self, struct weir_rt weir_mem *r)
{
	u64 need = r->x[PD2_NEED], span = r->x[PD2_SPAN], rest = span - need;
	u64 ends = (r->x[PD2_DONE] + 1) * span, deadline = pd2_ceil(ends, need), group = 0;

	if (2 * need >= span && rest)
		group = r->x[PD2_START] + pd2_ceil(pd2_ceil(deadline * rest, span) * span, rest);
	r->x[PD2_DEADLINE] = 2 * (r->x[PD2_START] + deadline) - (self->ties && ends % need);
	r->x[PD2_GROUP] = ~(self->ties && ends % need ? group : 0);
}

/* 1: the task of row @i has work and competes for @slot. */
WEIR_HELPER int pd2_consider(struct pd2 weir_mem *self weir_arg, u32 i, u64 slot, u64 passed)
{
	struct weir_rt weir_mem *r = &self->assign.row[i];

	if (!r->task || (!(r->state & WEIR_RT_FRESH) && !r->x[PD2_NEED]))
		return 0;
	pd2_catch_up(self, r, slot, passed);
	r->x[PD2_CHOSEN] = 0;
	if (!(r->state & WEIR_RT_READY))
		return 0;
	if ((self->early ? r->x[PD2_START] : pd2_release(r)) <= slot) {
		pd2_weigh(self, r);
		weir_top_k_offer(&self->best, &self->assign, i);
	}
	return 1;
}

/* Choose for the slot of @now, which may have been decided before; under the lock. */
WEIR_HELPER int pd2_decide(struct pd2 weir_mem *self weir_arg, u64 now)
{
	u64 slot = now / self->quantum, passed = self->slot ? slot + 1 - self->slot : 0;
	u32 ready = 0;

	weir_assign_account(&self->inst, &self->assign, now);
	weir_top_k_clear(&self->best, weir_assign_cpus(&self->inst, &self->assign));
	for (u32 i = 0; i < weir_load(&self->assign.nr) && weir_loop; i++)
		ready |= pd2_consider(self, i, slot, passed);
	for (u32 i = 0; i < weir_load(&self->best.nr) && weir_loop; i++) {
		struct weir_rt weir_mem *r = &self->assign.row[self->best.heap[i]];

		r->state |= WEIR_RT_WANT;
		r->x[PD2_CHOSEN] = 1;
	}
	self->slot = slot + 1;
	weir_note_scan(&self->inst, self->assign.nr);
	if (ready)
		weir_assign_timer(&self->inst, (slot + 1) * self->quantum);
	return 0;
}

WEIR_ENTRY int pd2_construct(struct pd2 weir_mem *self)
{
	int err = weir_top_k_construct(&self->inst, &self->best, PD2_DEADLINE);

	self->assign.cap = self->tasks;
	/* A task that comes is considered at the beginning of a slot. */
	self->assign.grid = self->quantum;
	return err ? err : weir_assign_construct(&self->inst, &self->assign);
}

WEIR_ENTRY u32 pd2_step(struct pd2 weir_mem *self, u32 what, struct weir_task weir_mem *t,
			struct weir_step weir_mem *s)
{
	if (weir_assign_step(&self->inst, &self->assign, what, t, s)) {
		pd2_decide(self, 0);
		weir_assign_apply(&self->inst, &self->assign);
	}
	return weir_assign_port(&self->inst, &self->assign, t);
}

WEIR_ENTRY int pd2_on_dispatch(struct pd2 weir_mem *self, const struct weir_msg *msg)
{
	weir_assign_on(&self->inst, &self->assign, msg);
	return 0;
}

WEIR_ENTRY int pd2_on_block(struct pd2 weir_mem *self, const struct weir_msg *msg)
{
	weir_assign_on(&self->inst, &self->assign, msg);
	return 0;
}

WEIR_ENTRY int pd2_on_exit(struct pd2 weir_mem *self, const struct weir_msg *msg)
{
	weir_assign_on(&self->inst, &self->assign, msg);
	return 0;
}

WEIR_ENTRY int pd2_on_cpu_status(struct pd2 weir_mem *self, const struct weir_msg *msg)
{
	if (weir_assign_on(&self->inst, &self->assign, msg))
		weir_assign_timer(&self->inst, weir_now(self->inst.sched));
	return 0;
}

WEIR_ENTRY int pd2_on_affinity(struct pd2 weir_mem *self, const struct weir_msg *msg)
{
	return weir_assign_notify(&self->inst, &self->assign, msg);
}

WEIR_ENTRY int pd2_on_idle(struct pd2 weir_mem *self, u32 cpu)
{
	return weir_assign_idle(&self->inst, &self->assign, cpu);
}

WEIR_ENTRY int pd2_on_timer(struct pd2 weir_mem *self)
{
	int err = weir_steps_lock(&self->inst);

	if (err)
		return err;
	pd2_decide(self, weir_now(self->inst.sched));
	weir_assign_place(&self->inst, &self->assign);
	return weir_steps_unlock(&self->inst);
}

WEIR_ENTRY void pd2_take_state(struct pd2 weir_mem *self, struct pd2 weir_mem *old)
{
	if (self->quantum == old->quantum)
		self->slot = old->slot;
	weir_assign_take(&self->inst, &self->assign, &old->inst, &old->assign);
}
