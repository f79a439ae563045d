/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Per-CPU assignment of real-time tasks: weir/kit/assign.h describes it. */
#include <weir/cpus.h>
#include "background.h"

/* --- assignment ------------------------------------------------------------------------------------- */

/* The task of @r waits for the CPU assigned to it: nothing else is to be there. */
WEIR_FLAT static void assign_clear(struct weir_instance weir_mem *self,
				   struct weir_assign weir_mem *assign, struct weir_rt weir_mem *r)
{
	struct weir_task weir_mem *curr;
	u32 cpu = r->cpu - 1;

	if (!weir_assign_usable(self, assign, cpu))
		return;
	weir_background_evict(self, assign, cpu);
	curr = weir_cpu_curr(self->sched, cpu);
	if (curr && curr != r->task)
		weir_publish(self, WEIR_TOPIC_PREEMPT, r->task, cpu, 0);
}

/* Assign @cpu, which is free, to @row. Inline: the calls below it need the stack frame. */
WEIR_FLAT static void assign_take(struct weir_instance weir_mem *self,
				  struct weir_assign weir_mem *assign, u32 row, u32 cpu)
{
	struct weir_rt weir_mem *r = &assign->row[row];

	assign->by_cpu[cpu] = row + 1;
	r->cpu = cpu + 1;
	if (weir_state(r->task) != WEIR_SCHEDULABLE)
		return;
	assign_clear(self, assign, r);
	weir_review(self, r->task);
}

/* Take the CPU away from @r. If the task runs there it is preempted, if it waits it goes back, unless it is @gone. */
static void assign_leave(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign,
			 struct weir_rt weir_mem *r, int gone)
{
	struct weir_task weir_mem *t = r->task;
	u32 cpu = r->cpu;

	if (!cpu)
		return;
	assign->by_cpu[cpu - 1] = 0;
	r->cpu = 0;
	if (gone)
		return;
	if (weir_cpu_curr(self->sched, cpu - 1) == t)
		weir_publish(self, WEIR_TOPIC_PREEMPT, t, cpu - 1, 0);
	else
		weir_review(self, t);
}

/* The task of @r is no longer a real-time task, or, if @gone, not here any more. */
static void assign_drop(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign,
			struct weir_rt weir_mem *r, int gone)
{
	assign_leave(self, assign, r, gone);
	if (r->task && weir_assign_priv(self, r->task)->row == (u32)(r - assign->row) + 1)
		weir_assign_priv(self, r->task)->row = 0;
	r->task = 0;
	r->state = 0;
}

static void assign_stopped(struct weir_rt weir_mem *r, u64 now)
{
	if (r->state & WEIR_RT_RUNS)
		r->used += now - r->since;
	r->since = now;
	r->state &= ~WEIR_RT_RUNS;
}

/* A row for @t, or null if the table is full. */
static struct weir_rt weir_mem *assign_open(struct weir_instance weir_mem *self,
					    struct weir_assign weir_mem *assign,
					    struct weir_task weir_mem *t)
{
	struct weir_rt weir_mem *r = 0;
	u32 i;

	for (i = 0; i < assign->nr && weir_loop; i++)
		if (!assign->row[i].task)
			break;
	if (i == assign->cap)
		return 0;
	if (i == assign->nr)
		assign->nr++;
	r = &assign->row[i];
	r->task = t;
	r->deadline = 0;
	r->used = 0;
	r->state = 0;
	r->cpu = 0;
	r->want_cpu = 0;
	for (u32 k = 0; k < weir_unknown(WEIR_RT_WORDS) && weir_loop; k++)
		r->x[k] = 0;
	weir_assign_priv(self, t)->row = i + 1;
	return r;
}

/* Store the values of JOB and DEADLINE for @t in `reported`. 1: it has a job. */
WEIR_FLAT static int assign_query(struct weir_instance weir_mem *self,
				  struct weir_assign weir_mem *assign, struct weir_task weir_mem *t)
{
	struct weir_msg msg = { .topic = WEIR_TOPIC_JOB, .task = t };

	if (weir_request(self->sched, &msg))
		return 0;
	assign->reported.wcet = msg.value;
	assign->reported.relative = msg.value2;
	msg.topic = WEIR_TOPIC_DEADLINE;
	msg.value = 0;
	msg.value2 = 0;
	if (weir_request(self->sched, &msg))
		return 0;
	assign->reported.deadline = msg.value;
	assign->reported.period = msg.value2;
	return assign->reported.wcet && assign->reported.relative && msg.value &&
	       msg.value >= assign->reported.relative;
}

/* Store the reported parameters of @t in its row, which it may get or lose. 1 + row; 0: it is a background task. */
WEIR_GLOBAL u32 weir_assign_learn(struct weir_instance weir_mem *self weir_arg,
				  struct weir_assign weir_mem *assign weir_arg,
				  struct weir_task weir_mem *t weir_arg)
{
	int bound = !weir_assign_unbound(weir_in(self, 0), weir_affinity(self->sched, t));
	int real_time = assign_query(self, assign, t);
	struct weir_rt weir_mem *r = weir_assign_row(self, assign, t);

	if (!real_time || (bound && !assign->bound)) {
		if (r)
			assign_drop(self, assign, r, 1);
		return 0;
	}
	if (!r)
		r = assign_open(self, assign, t);
	if (!r)
		return 0;
	if (bound)
		assign->bound = WEIR_ASSIGN_SOME_BOUND;
	if (!(r->state & WEIR_RT_READY))
		r->state |= WEIR_RT_READY | WEIR_RT_WOKEN;
	if (r->deadline != assign->reported.deadline) {
		r->wcet = assign->reported.wcet;
		r->release = assign->reported.deadline - assign->reported.relative;
		r->deadline = assign->reported.deadline;
		r->period = assign->reported.period;
		r->state |= WEIR_RT_FRESH;
	}
	return (u32)(r - assign->row) + 1;
}

/* @t is a background task that waits: if no CPU is kept for it, look for one. */
static void assign_background(struct weir_instance weir_mem *self,
			      struct weir_assign weir_mem *assign, struct weir_task weir_mem *t)
{
	u32 cpu = weir_assign_priv(self, t)->background;

	if (cpu && cpu <= weir_nr_cpus(self->sched) && assign->background[cpu - 1] == t)
		return;
	weir_background_forget(self, assign, t);
	weir_background_place(self, assign, t);
}

/* @t has arrived. 1: the policy must decide. */
WEIR_FLAT static int assign_arrive(struct weir_instance weir_mem *self,
				   struct weir_assign weir_mem *assign,
				   struct weir_task weir_mem *t)
{
	struct weir_rt weir_mem *r = weir_assign_row(self, assign, t);
	u32 row;

	if (r)
		assign_stopped(r, weir_now(self->sched));
	row = weir_assign_learn(self, assign, t);
	if (!row) {
		assign_background(self, assign, t);
		/*
		 * A CPU that looks before the task is linked does not see it: look once more when it is.
		 */
		if (!weir_assign_priv(self, t)->background)
			weir_review(self, t);
		return 0;
	}
	weir_background_forget(self, assign, t);
	weir_store(&t->slice_ns, WEIR_SLICE_UNLIMITED);
	r = &assign->row[row - 1];
	if (r->cpu)
		assign_clear(self, assign, r);
	return (r->state & (WEIR_RT_FRESH | WEIR_RT_WOKEN)) != 0;
}

int weir_assign_step(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign,
		     u32 what, struct weir_task weir_mem *t, const struct weir_step weir_mem *s)
{
	const struct weir_rt weir_mem *r = weir_assign_row(self, assign, t);

	if (what == WEIR_REVIEW && !s->runs && !r)
		assign_background(self, assign, t);
	/* One that had blocked, and that a stage before this one withheld until now, arrives by a review. */
	if (what == WEIR_REVIEW && (s->runs || !r || r->state & WEIR_RT_READY))
		return 0;
	if (!assign_arrive(self, assign, t))
		return 0;
	assign->stale = 1;
	if (!weir_now(self->sched))
		return 1;
	weir_assign_soon(self, assign);
	return 0;
}

u32 weir_assign_port(const struct weir_instance weir_mem *self,
		     const struct weir_assign weir_mem *assign, const struct weir_task weir_mem *t)
{
	const struct weir_rt weir_mem *r = weir_assign_row(self, assign, t);
	u32 cpu = r ? r->cpu : weir_assign_priv(self, t)->background;

	return cpu && weir_assign_usable(self, assign, cpu - 1) ? assign->map.port[cpu - 1] - 1
								: WEIR_WITHHOLD;
}

/* --- messages ---------------------------------------------------------------------------------- */

/* A task got a CPU: the assigned one, or one that shares the out-pipe with it. */
static int assign_dispatched(struct weir_instance weir_mem *self,
			     struct weir_assign weir_mem *assign, struct weir_task weir_mem *t,
			     u32 cpu)
{
	struct weir_rt weir_mem *r = weir_assign_row(self, assign, t);

	weir_background_forget(self, assign, t);
	if (!r || cpu >= weir_nr_cpus(self->sched))
		return 0;
	r->state |= WEIR_RT_RUNS;
	r->since = weir_now(self->sched);
	if (r->cpu == cpu + 1)
		return 0;
	if (r->cpu &&
	    weir_port_to(self, &assign->map, r->cpu - 1) == weir_port_to(self, &assign->map, cpu)) {
		u32 other = assign->by_cpu[cpu];

		assign->by_cpu[r->cpu - 1] = other;
		if (other)
			assign->row[other - 1].cpu = r->cpu;
		assign->by_cpu[cpu] = (u32)(r - assign->row) + 1;
		r->cpu = cpu + 1;
		return 0;
	}
	/* It was claimed while its CPU assignment was removed. */
	weir_publish(self, WEIR_TOPIC_PREEMPT, t, cpu, 0);
	return 0;
}

static int assign_blocked(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign,
			  struct weir_task weir_mem *t, int gone)
{
	struct weir_rt weir_mem *r = weir_assign_row(self, assign, t);

	weir_background_forget(self, assign, t);
	if (!r)
		return 0;
	assign_stopped(r, weir_now(self->sched));
	r->state &= ~(u32)WEIR_RT_READY;
	if (gone)
		assign_drop(self, assign, r, 1);
	else
		assign_leave(self, assign, r, 1);
	return 1;
}

/* A CPU goes online or offline. Tasks waiting for an offline CPU look for another; none can be sent to it later. */
static int assign_cpu_status(struct weir_instance weir_mem *self,
			     struct weir_assign weir_mem *assign, u32 cpu)
{
	u32 row;

	if (cpu >= weir_nr_cpus(self->sched))
		return 0;
	row = assign->by_cpu[cpu];
	if (!weir_cpu_is_online(self->sched, cpu)) {
		if (row)
			assign_leave(self, assign, &assign->row[row - 1], 0);
		weir_background_evict(self, assign, cpu);
	}
	assign->stale = 1;
	return 1;
}

/* Where @t may run has changed: @mask. The task is reviewed afterwards. 1: the policy must decide. */
static int assign_affinity(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign,
			   struct weir_task weir_mem *t, const struct weir_cpumask weir_mem *mask)
{
	struct weir_rt weir_mem *r = weir_assign_row(self, assign, t);
	u32 port = weir_assign_port(self, assign, t);

	if (!r) {
		if (port != WEIR_WITHHOLD && !weir_pipe_allows(weir_out(self, port), mask))
			weir_background_forget(self, assign, t);
		return 0;
	}
	if (weir_assign_unbound(weir_in(self, 0), mask))
		return assign->bound != 0;
	if (assign->bound) {
		assign->bound = WEIR_ASSIGN_SOME_BOUND;
		return 1;
	}
	assign_drop(self, assign, r, 0);
	return 0;
}

WEIR_GLOBAL int weir_assign_on(struct weir_instance weir_mem *self weir_arg,
			       struct weir_assign weir_mem *assign weir_arg,
			       const struct weir_msg *msg weir_arg_record)
{
	struct weir_task weir_mem *t = msg->task;
	u32 cpu = msg->cpu, topic = msg->topic;
	int decide = 0;

	if ((!t && topic != WEIR_TOPIC_CPU_STATUS) || weir_steps_lock(self))
		return 0;
	switch (topic) {
	case WEIR_TOPIC_DISPATCH:
		assign_dispatched(self, assign, t, cpu);
		break;
	case WEIR_TOPIC_BLOCK:
		decide = assign_blocked(self, assign, t, 0);
		break;
	case WEIR_TOPIC_EXIT:
		decide = assign_blocked(self, assign, t, 1);
		break;
	case WEIR_TOPIC_CPU_STATUS:
		decide = assign_cpu_status(self, assign, cpu);
		break;
	case WEIR_TOPIC_AFFINITY:
		decide = assign_affinity(self, assign, t, msg->mask);
		break;
	}
	weir_steps_unlock(self);
	return decide;
}

/* --- decisions ----------------------------------------------------------------------------------- */

WEIR_GLOBAL int weir_assign_account(struct weir_instance weir_mem *self weir_arg,
				    struct weir_assign weir_mem *assign weir_arg, u64 now)
{
	for (u32 i = 0; i < weir_load(&assign->nr) && weir_loop; i++) {
		struct weir_rt weir_mem *r = &assign->row[i];
		u32 state;

		if (!r->task)
			continue;
		state = weir_state(r->task);
		if (state == WEIR_FREE || state == WEIR_DEAD ||
		    !weir_assign_row(self, assign, r->task) ||
		    weir_assign_row(self, assign, r->task) != r) {
			assign_drop(self, assign, r, 1);
			continue;
		}
		if (r->state & WEIR_RT_RUNS) {
			r->used += now - r->since;
			r->since = now;
		}
	}
	return 0;
}

WEIR_GLOBAL u32 weir_assign_cpus(const struct weir_instance weir_mem *self weir_arg,
				 const struct weir_assign weir_mem *assign weir_arg)
{
	u32 n = 0;

	for (u32 cpu = 0; cpu < weir_nr_cpus(self->sched) && weir_loop; cpu++)
		n += weir_assign_usable(self, assign, cpu);
	return n;
}

/* A CPU that is not assigned: an idle one if @idle, else any. */
WEIR_GLOBAL u32 weir_assign_free_cpu(const struct weir_instance weir_mem *self weir_arg,
				     const struct weir_assign weir_mem *assign weir_arg, int idle)
{
	for (u32 cpu = 0; cpu < weir_nr_cpus(self->sched) && weir_loop; cpu++)
		if (!assign->by_cpu[cpu] && (!idle || weir_cpu_is_idle(self->sched, cpu)) &&
		    weir_assign_usable(self, assign, cpu))
			return cpu;
	return WEIR_NO_CPU;
}

/* The preferred CPU of a row without one: the wanted or the last one; WEIR_NO_CPU if that is not free. */
static u32 assign_preferred(const struct weir_instance weir_mem *self,
			    const struct weir_assign weir_mem *assign,
			    const struct weir_rt weir_mem *r)
{
	u32 cpu = r->want_cpu ? r->want_cpu - 1 : weir_last_cpu(r->task);

	return weir_assign_usable(self, assign, cpu) && !assign->by_cpu[cpu] ? cpu : WEIR_NO_CPU;
}

/* Rows that must not keep their CPU give it up. */
static void assign_give_up(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign)
{
	for (u32 i = 0; i < weir_load(&assign->nr) && weir_loop; i++) {
		struct weir_rt weir_mem *r = &assign->row[i];

		if (r->cpu &&
		    (!(r->state & WEIR_RT_WANT) || (r->want_cpu && r->want_cpu != r->cpu) ||
		     !weir_assign_usable(self, assign, r->cpu - 1)))
			assign_leave(self, assign, r, 0);
	}
}

static int assign_lacks(const struct weir_rt weir_mem *r)
{
	return r->task && r->state & WEIR_RT_WANT && !r->cpu;
}

WEIR_GLOBAL int weir_assign_apply(struct weir_instance weir_mem *self weir_arg,
				  struct weir_assign weir_mem *assign weir_arg)
{
	u32 i, cpu;

	assign->missing = 0;
	assign_give_up(self, assign);
	/* First those whose own CPU is free, so that none of them loses it to another. */
	for (i = 0; i < weir_load(&assign->nr) && weir_loop; i++) {
		struct weir_rt weir_mem *r = &assign->row[i];

		if (!assign_lacks(r))
			continue;
		cpu = assign_preferred(self, assign, r);
		if (cpu != WEIR_NO_CPU)
			assign_take(self, assign, i, cpu);
		else
			assign->missing += !r->want_cpu;
	}
	/* The rest migrate. */
	for (i = 0; assign->missing && i < weir_load(&assign->nr) && weir_loop; i++) {
		struct weir_rt weir_mem *r = &assign->row[i];

		if (!assign_lacks(r) || r->want_cpu)
			continue;
		assign->missing--;
		cpu = weir_assign_free_cpu(self, assign, 1);
		if (cpu == WEIR_NO_CPU)
			cpu = weir_assign_free_cpu(self, assign, 0);
		if (cpu != WEIR_NO_CPU)
			assign_take(self, assign, i, cpu);
	}
	return 0;
}

void weir_assign_timer(struct weir_instance weir_mem *self, u64 at)
{
	u64 armed = weir_load(&self->timer_ns);

	/* A time of 0 would disarm the timer. */
	if (!at)
		at = 1;
	if (!armed || at < armed)
		weir_timer_set(self, at);
}

void weir_assign_soon(struct weir_instance weir_mem *self,
		      const struct weir_assign weir_mem *assign)
{
	u64 now = weir_now(self->sched);

	if (assign->grid)
		now = (now + assign->grid - 1) / assign->grid * assign->grid;
	weir_assign_timer(self, now);
}

/* --- life cycle ------------------------------------------------------------------------------------------ */

WEIR_FLAT int weir_assign_construct(struct weir_instance weir_mem *self,
				    struct weir_assign weir_mem *assign)
{
	u64 nr_cpus = weir_nr_cpus(self->sched);

	assign->row = weir_instance_alloc(self, assign->cap * sizeof(struct weir_rt));
	assign->by_cpu = weir_instance_alloc(self, nr_cpus * sizeof(u32) + 8);
	assign->background = weir_instance_alloc(self, nr_cpus * sizeof(void *));
	if (!assign->row || !assign->by_cpu || !assign->background)
		return -WEIR_ENOMEM;
	return weir_port_map(self, &assign->map);
}

WEIR_GLOBAL int weir_assign_take(struct weir_instance weir_mem *self weir_arg,
				 struct weir_assign weir_mem *assign weir_arg,
				 struct weir_instance weir_mem *from weir_arg,
				 struct weir_assign weir_mem *old weir_arg)
{
	u64 timer = from->timer_ns;
	u32 i;

	assign->stale = 1;
	if (assign->cap < old->nr)
		return -WEIR_EPARAM; /* the tasks get rows when they are presented again */
	for (i = 0; i < weir_load(&old->nr) && weir_loop; i++)
		weir_copy(&assign->row[i], &old->row[i], sizeof(struct weir_rt));
	assign->nr = old->nr;
	for (i = 0; i < weir_nr_cpus(self->sched) && weir_loop; i++)
		assign->by_cpu[i] = old->by_cpu[i];
	/* Background tasks are presented again, and no CPU waits for them. */
	assign->withheld = 1;
	if (timer)
		weir_timer_set(self, timer);
	return 0;
}
