/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * dp_wrap - wrap the shares of all tasks around the CPUs, from deadline to deadline
 *
 * class:     distribute
 * pipes:     in 1, out 1..
 * listens:   DISPATCH, BLOCK, EXIT: what runs, and how long. CPU_STATUS: decide again. AFFINITY: a
 *            task that is bound to some CPUs is a background task
 * publishes: PREEMPT: a CPU runs a task whose part of the slice is over
 * asks:      JOB: execution time and relative deadline; needed. DEADLINE: absolute, ns; needed.
 *            AFFINITY: which CPUs the task may take
 * answers:   -
 * kernel:    on request
 * params:    mirror flag 1 [0, 1]; every second full slice is mirrored, so that tasks stay on their CPU
 *            tasks count 1024 [1, 65536]; most tasks with JOB; others run in the background
 * per-task:  8 bytes, and 200 for each of `tasks`
 * cost:      O(n + CPUs) for n real-time tasks at each end of a task's part, at most n + CPUs per
 *            slice; its own lock
 * batch:     each task is in one out-pipe, or waits in the in-pipe; an out-pipe holds no more tasks than
 *            its CPUs were assigned, in the order of the in-pipe
 * source:    Levin, Funk, Sadowski, Pye and Brandt, "DP-FAIR: a simple model for understanding optimal
 *            multiprocessor scheduling", 2010; the layout: McNaughton, 1959
 *
 * Time is cut into slices at all deadlines. In each slice every task has its share, and the shares
 * are laid out one after the other over the CPUs: in each slice, fewer tasks migrate than there are CPUs.
 * No deadline is missed if the shares add up to at most the number of CPUs, which must be equal, and deadlines are
 * not before the ends of periods (weir/kit/fluid.h describes the rounding to nanoseconds). Only background tasks use
 * the time that a job leaves when it ends early: tasks without parameters, and those bound to some of the
 * CPUs, which take turns on otherwise idle CPUs.
 *
 * example:   annotate affinity, job, deadline; entry -> dp_wrap -> each cpu { -> cpu };
 */
#include <weir/kit/fluid.h>
#include <weir/cpus.h>

struct dp_wrap {
	struct weir_instance inst;
	struct weir_assign assign;
	struct weir_fluid fluid;
	u64 mirror;	   /* (c) */
	u64 tasks;	   /* (c) */
	u32 weir_mem *cpu; /* (h) CPUs of the slice, in the order of the layout */
	u32 backwards;	   /* (h) the slice runs from its end to its beginning */
	u32 unused;
};

/* A row's words, behind those of the slice: where its lot begins. */
enum dp_wrap_word {
	DP_WRAP_CPU = WEIR_FLUID_WORDS, /* index in `cpu` */
	DP_WRAP_AT,			/* ns from the slice's beginning, or end */
};

WEIR_COMPONENT(
	dp_wrap,
	.summary = "wrap the shares of all tasks around the CPUs, from deadline to deadline",
	.cls = WEIR_DISTRIBUTE, .kernel = WEIR_KERNEL_ON_REQUEST, .ordering = WEIR_KEEPS,
	.in_min = 1, .in_max = 1, .out_min = 1, .out_max = WEIR_ANY,
	.per_task = sizeof(struct weir_rt_task), .listens = WEIR_ASSIGN_LISTENS,
	.reviews = WEIR_ASSIGN_REVIEWS, .serial = 1, .publishes = WEIR_TOPIC_BIT(PREEMPT),
	.asks = WEIR_ASSIGN_ASKS, .needs = WEIR_ASSIGN_NEEDS,
	WEIR_PARAMS(
		dp_wrap,
		WEIR_PARAM(dp_wrap, mirror, FLAG, 1, 0, 1,
			   "every second full slice is mirrored, so that tasks stay on their CPU"),
		WEIR_PARAM(dp_wrap, tasks, COUNT, 1024, 1, 65536,
			   "most tasks with JOB; others run in the background")));

/* The slice's lots, one behind the other, CPU by CPU. */
static void dp_wrap_lay(struct dp_wrap weir_mem *self)
{
	u64 length = self->fluid.end - self->fluid.start, at = 0;
	u32 nr = 0, on = 0;

	for (u32 cpu = 0; cpu < weir_nr_cpus(self->inst.sched) && weir_loop; cpu++)
		if (weir_assign_usable(&self->inst, &self->assign, cpu))
			self->cpu[nr++] = cpu;
	/* Only a full slice can be mirrored: idle time must come last, for unexpected tasks. */
	self->backwards = self->mirror && self->fluid.lots == length * nr && !self->backwards;
	for (u32 i = 0; i < weir_load(&self->assign.nr) && weir_loop; i++) {
		struct weir_rt weir_mem *r = &self->assign.row[i];

		if (!r->task || !r->x[WEIR_FLUID_LOT])
			continue;
		r->x[DP_WRAP_CPU] = on;
		r->x[DP_WRAP_AT] = at;
		at += r->x[WEIR_FLUID_LOT];
		if (at >= length) {
			at -= length;
			on++;
		}
	}
}

/* When, in ns from where the layout begins, the first end of a part of @r after @cell is, or @none. */
WEIR_HELPER u64 dp_wrap_turn(const struct weir_rt weir_mem *r weir_arg, u64 length, u64 now,
			     int backwards)
{
	u64 begin = r->x[DP_WRAP_AT], end = begin + r->x[WEIR_FLUID_LOT], best = length, at;

	if (end > length)
		end -= length;
	at = backwards ? length - begin : begin;
	if (at > now && at < best)
		best = at;
	at = backwards ? length - end : end;
	return at > now && at < best ? at : best;
}

/* Choose what runs where from @now on; under the lock. */
WEIR_HELPER int dp_wrap_decide(struct dp_wrap weir_mem *self weir_arg, u64 now)
{
	u64 length, since, cell, next;

	if (self->assign.stale || now >= self->fluid.end) {
		weir_fluid_slice(&self->inst, &self->assign, &self->fluid, now);
		dp_wrap_lay(self);
		self->assign.stale = 0;
	}
	length = self->fluid.end - self->fluid.start;
	since = now - self->fluid.start;
	cell = self->backwards ? length - 1 - since : since;
	next = length;
	for (u32 i = 0; i < weir_load(&self->assign.nr) && weir_loop; i++) {
		struct weir_rt weir_mem *r = &self->assign.row[i];
		u64 begin = r->x[DP_WRAP_AT], end = begin + r->x[WEIR_FLUID_LOT], turn;
		u32 on = r->x[DP_WRAP_CPU];

		r->state &= ~(u32)WEIR_RT_WANT;
		if (!r->task || !r->x[WEIR_FLUID_LOT] || !length)
			continue;
		turn = dp_wrap_turn(r, length, since, self->backwards);
		if (turn < next)
			next = turn;
		if (cell < begin && cell + length < end)
			on++;
		else if (cell < begin || cell >= end)
			continue;
		if (!(r->state & WEIR_RT_READY))
			continue;
		r->state |= WEIR_RT_WANT;
		r->want_cpu = self->cpu[on] + 1;
	}
	weir_note_scan(&self->inst, self->assign.nr);
	if (length)
		weir_assign_timer(&self->inst, self->fluid.start + next);
	return 0;
}

WEIR_ENTRY int dp_wrap_construct(struct dp_wrap weir_mem *self)
{
	self->assign.cap = self->tasks;
	self->cpu =
		weir_instance_alloc(&self->inst, weir_nr_cpus(self->inst.sched) * sizeof(u32) + 8);
	return self->cpu ? weir_assign_construct(&self->inst, &self->assign) : -WEIR_ENOMEM;
}

WEIR_ENTRY u32 dp_wrap_step(struct dp_wrap weir_mem *self, u32 what, struct weir_task weir_mem *t,
			    struct weir_step weir_mem *s)
{
	if (weir_assign_step(&self->inst, &self->assign, what, t, s)) {
		dp_wrap_decide(self, 0);
		weir_assign_apply(&self->inst, &self->assign);
	}
	return weir_assign_port(&self->inst, &self->assign, t);
}

WEIR_ENTRY int dp_wrap_on_dispatch(struct dp_wrap weir_mem *self, const struct weir_msg *msg)
{
	weir_assign_on(&self->inst, &self->assign, msg);
	return 0;
}

WEIR_ENTRY int dp_wrap_on_block(struct dp_wrap weir_mem *self, const struct weir_msg *msg)
{
	weir_assign_on(&self->inst, &self->assign, msg);
	return 0;
}

WEIR_ENTRY int dp_wrap_on_exit(struct dp_wrap weir_mem *self, const struct weir_msg *msg)
{
	weir_assign_on(&self->inst, &self->assign, msg);
	return 0;
}

WEIR_ENTRY int dp_wrap_on_cpu_status(struct dp_wrap weir_mem *self, const struct weir_msg *msg)
{
	return weir_assign_notify(&self->inst, &self->assign, msg);
}

WEIR_ENTRY int dp_wrap_on_affinity(struct dp_wrap weir_mem *self, const struct weir_msg *msg)
{
	return weir_assign_notify(&self->inst, &self->assign, msg);
}

WEIR_ENTRY int dp_wrap_on_idle(struct dp_wrap weir_mem *self, u32 cpu)
{
	return weir_assign_idle(&self->inst, &self->assign, cpu);
}

WEIR_ENTRY int dp_wrap_on_timer(struct dp_wrap weir_mem *self)
{
	int err = weir_steps_lock(&self->inst);

	if (err)
		return err;
	dp_wrap_decide(self, weir_now(self->inst.sched));
	weir_assign_place(&self->inst, &self->assign);
	return weir_steps_unlock(&self->inst);
}

WEIR_ENTRY void dp_wrap_take_state(struct dp_wrap weir_mem *self, struct dp_wrap weir_mem *old)
{
	self->fluid.start = old->fluid.start;
	self->fluid.end = old->fluid.end;
	weir_assign_take(&self->inst, &self->assign, &old->inst, &old->assign);
}
