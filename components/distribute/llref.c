/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * llref - between deadlines, run the tasks with the largest remaining share
 *
 * class:     distribute
 * pipes:     in 1, out 1..
 * listens:   DISPATCH, BLOCK, EXIT: what runs, and how long. CPU_STATUS: decide again. AFFINITY: a
 *            task that is bound to some CPUs is a background task
 * publishes: PREEMPT: a CPU runs a task that must wait
 * asks:      JOB: execution time and relative deadline; needed. DEADLINE: absolute, ns; needed.
 *            AFFINITY: which CPUs the task may take
 * answers:   -
 * kernel:    on request
 * params:    lazy flag 0 [0, 1]; at an event, keep running tasks running if possible (LRE-TL)
 *            tasks count 1024 [1, 65536]; most tasks with JOB; others run in the background
 * per-task:  8 bytes, and 200 for each of `tasks`
 * cost:      O(n log CPUs + CPUs) per event for n real-time tasks, at most n + CPUs events per
 *            slice; its own lock
 * batch:     each task is in one out-pipe, or waits in the in-pipe; an out-pipe holds no more tasks than
 *            its CPUs were assigned, in the order of the in-pipe
 * source:    Cho, Ravindran and Jensen, "An optimal real-time scheduling algorithm for multiprocessors",
 *            2006; `lazy`: Funk, "LRE-TL: an optimal multiprocessor algorithm for sporadic task sets
 *            with unconstrained deadlines", 2010
 *
 * Time is cut into slices at all deadlines, and in each slice every task has its share, which is worked
 * off on a plane of time and remaining share: the token of a running task falls, that of a waiting task stays
 * level. When a token reaches the bottom (share done) or the ceiling (the task must run until
 * the end of the slice), tasks are selected again, those with the largest remainder first. With `lazy` one task replaces one other per
 * event, which avoids most preemptions.
 *
 * No deadline is missed if the shares add up to at most the number of CPUs, which must be equal, and deadlines are
 * not before the ends of periods (weir/kit/fluid.h describes the rounding to nanoseconds). Tasks without
 * parameters, and those bound to some of the CPUs, take turns on otherwise idle CPUs.
 *
 * example:   annotate affinity, job, deadline; entry -> llref -> each cpu { -> cpu };
 */
#include <weir/kit/top_k.h>
#include <weir/kit/fluid.h>

struct llref {
	struct weir_instance inst;
	struct weir_assign assign;
	struct weir_fluid fluid;
	struct weir_top_k best; /* (h) rows that are to run */
	u64 lazy;		/* (c) */
	u64 tasks;		/* (c) */
};

/* A row's words, behind those of the slice. */
enum llref_word {
	LLREF_RANK = WEIR_FLUID_WORDS, /* with `lazy` 0: it must run, 1: it runs, 2: it waits */
	LLREF_LEFT,		       /* of its share, inverted: more goes first */
};

WEIR_COMPONENT(
	llref, .summary = "between deadlines, run the tasks with the largest remaining share",
	.cls = WEIR_DISTRIBUTE, .kernel = WEIR_KERNEL_ON_REQUEST, .ordering = WEIR_KEEPS,
	.in_min = 1, .in_max = 1, .out_min = 1, .out_max = WEIR_ANY,
	.per_task = sizeof(struct weir_rt_task), .listens = WEIR_ASSIGN_LISTENS,
	.reviews = WEIR_ASSIGN_REVIEWS, .serial = 1, .publishes = WEIR_TOPIC_BIT(PREEMPT),
	.asks = WEIR_ASSIGN_ASKS, .needs = WEIR_ASSIGN_NEEDS,
	WEIR_PARAMS(llref,
		    WEIR_PARAM(llref, lazy, FLAG, 0, 0, 1,
			       "at an event, keep running tasks running if possible (LRE-TL)"),
		    WEIR_PARAM(llref, tasks, COUNT, 1024, 1, 65536,
			       "most tasks with JOB; others run in the background")));

/* Offer the tasks to choose from; `rest` is what remains of the slice. */
static void llref_choose(struct llref weir_mem *self, u64 rest)
{
	weir_top_k_clear(&self->best, weir_assign_cpus(&self->inst, &self->assign));
	for (u32 i = 0; i < weir_load(&self->assign.nr) && weir_loop; i++) {
		struct weir_rt weir_mem *r = &self->assign.row[i];
		u64 left;

		r->state &= ~(u32)WEIR_RT_WANT;
		left = r->task ? weir_fluid_left(r) : 0;
		if (!left)
			continue;
		r->x[LLREF_RANK] = !self->lazy || left >= rest ? 0 : r->cpu ? 1 : 2;
		r->x[LLREF_LEFT] = ~left;
		weir_top_k_offer(&self->best, &self->assign, i);
	}
	for (u32 i = 0; i < weir_load(&self->best.nr) && weir_loop; i++)
		self->assign.row[self->best.heap[i]].state |= WEIR_RT_WANT;
}

/*
 * How long until a token comes to the bottom or to the ceiling, at most @rest. That of a task which has not come to
 * its CPU yet does not fall; on_dispatch sees to it.
 */
static u64 llref_event(const struct llref weir_mem *self, u64 rest)
{
	u64 first = rest;

	for (u32 i = 0; i < weir_load(&self->assign.nr) && weir_loop; i++) {
		const struct weir_rt weir_mem *r = &self->assign.row[i];
		u64 left = r->task ? weir_fluid_left(r) : 0, at;

		if (!left || (r->state & (WEIR_RT_WANT | WEIR_RT_RUNS)) == WEIR_RT_WANT)
			continue;
		at = r->state & WEIR_RT_WANT ? left : rest - left;
		if (at && at < first)
			first = at;
	}
	return first;
}

/* Choose what runs from @now on; under the lock. */
WEIR_HELPER int llref_decide(struct llref weir_mem *self weir_arg, u64 now)
{
	u64 rest;

	if (self->assign.stale || now >= self->fluid.end) {
		weir_fluid_slice(&self->inst, &self->assign, &self->fluid, now);
		self->assign.stale = 0;
	} else {
		weir_assign_account(&self->inst, &self->assign, now);
	}
	rest = self->fluid.end - now;
	llref_choose(self, rest);
	if (rest)
		weir_assign_timer(&self->inst, now + llref_event(self, rest));
	weir_note_scan(&self->inst, 2 * self->assign.nr);
	return 0;
}

WEIR_ENTRY int llref_construct(struct llref weir_mem *self)
{
	int err = weir_top_k_construct(&self->inst, &self->best, LLREF_RANK);

	self->assign.cap = self->tasks;
	return err ? err : weir_assign_construct(&self->inst, &self->assign);
}

WEIR_ENTRY u32 llref_step(struct llref weir_mem *self, u32 what, struct weir_task weir_mem *t,
			  struct weir_step weir_mem *s)
{
	if (weir_assign_step(&self->inst, &self->assign, what, t, s)) {
		llref_decide(self, 0);
		weir_assign_apply(&self->inst, &self->assign);
	}
	return weir_assign_port(&self->inst, &self->assign, t);
}

/*
 * Its token falls from now on. (If it were counted from the decision, a share smaller than what the way to the CPU
 * takes would never be had, and the timer never come to rest.)
 */
WEIR_ENTRY int llref_on_dispatch(struct llref weir_mem *self, const struct weir_msg *msg)
{
	const struct weir_rt weir_mem *r;

	weir_assign_on(&self->inst, &self->assign, msg);
	r = weir_assign_row(&self->inst, &self->assign, msg->task);
	if (r && weir_fluid_left(r))
		weir_assign_timer(&self->inst, weir_now(self->inst.sched) + weir_fluid_left(r));
	return 0;
}

/* Its token is at the bottom: another task takes the CPU. */
WEIR_ENTRY int llref_on_block(struct llref weir_mem *self, const struct weir_msg *msg)
{
	return weir_assign_notify(&self->inst, &self->assign, msg);
}

WEIR_ENTRY int llref_on_exit(struct llref weir_mem *self, const struct weir_msg *msg)
{
	return weir_assign_notify(&self->inst, &self->assign, msg);
}

WEIR_ENTRY int llref_on_cpu_status(struct llref weir_mem *self, const struct weir_msg *msg)
{
	return weir_assign_notify(&self->inst, &self->assign, msg);
}

WEIR_ENTRY int llref_on_affinity(struct llref weir_mem *self, const struct weir_msg *msg)
{
	return weir_assign_notify(&self->inst, &self->assign, msg);
}

WEIR_ENTRY int llref_on_idle(struct llref weir_mem *self, u32 cpu)
{
	return weir_assign_idle(&self->inst, &self->assign, cpu);
}

WEIR_ENTRY int llref_on_timer(struct llref weir_mem *self)
{
	int err = weir_steps_lock(&self->inst);

	if (err)
		return err;
	llref_decide(self, weir_now(self->inst.sched));
	weir_assign_place(&self->inst, &self->assign);
	return weir_steps_unlock(&self->inst);
}

WEIR_ENTRY void llref_take_state(struct llref weir_mem *self, struct llref weir_mem *old)
{
	self->fluid.start = old->fluid.start;
	self->fluid.end = old->fluid.end;
	weir_assign_take(&self->inst, &self->assign, &old->inst, &old->assign);
}
