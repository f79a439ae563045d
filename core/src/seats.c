/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Seats for components that decide about all CPUs at once: weir/seats.h says what they promise. */
#include "guests.h"

/* --- seats ------------------------------------------------------------------------------------- */

/* The task of @row, which has a seat and is in the in-pipe, goes where that is unless it is there. */
WEIR_GLOBAL int weir_seat_send(struct weir_instance weir_mem *self weir_arg, struct weir_seats weir_mem *seats weir_arg,
			       struct weir_pipe weir_mem *in weir_arg, u32 row)
{
	struct weir_rt weir_mem *r = &seats->row[row];
	struct weir_task weir_mem *curr;
	u32 cpu = r->cpu - 1;
	int err;

	if (!weir_seat_exists(self, seats, cpu))
		return 0;
	err = weir_guest_evict(self, seats, in, cpu);
	if (!err)
		err = weir_route(self, in, r->task, weir_port_to(self, &seats->map, cpu));
	curr = weir_load(&self->sched->cpus[cpu].curr);
	if (!err && curr && curr != r->task)
		weir_publish(self, WEIR_TOPIC_PREEMPT, r->task, cpu, 0);
	return err;
}

/* @row gets the seat of @cpu, which is free. In the frame of who decides: it lies below all that a guest is asked. */
WEIR_FLAT static int seat_take(struct weir_instance weir_mem *self, struct weir_seats weir_mem *seats,
			       struct weir_pipe weir_mem *in, u32 row, u32 cpu)
{
	struct weir_rt weir_mem *r = &seats->row[row];

	seats->by_cpu[cpu] = row + 1;
	r->cpu = cpu + 1;
	return weir_pipe_has(in, r->task) && !weir_pending(in, r->task) ? weir_seat_send(self, seats, in, row) : 0;
}

/* @r gives up its seat. If it runs there it is preempted; @in may be null if that is not wanted. */
static int seat_leave(struct weir_instance weir_mem *self, struct weir_seats weir_mem *seats, struct weir_pipe weir_mem *in,
		      struct weir_rt weir_mem *r)
{
	struct weir_task weir_mem *t = r->task;
	struct weir_pipe weir_mem *out;
	u32 cpu = r->cpu;

	if (!cpu)
		return 0;
	seats->by_cpu[cpu - 1] = 0;
	r->cpu = 0;
	if (!in)
		return 0;
	if (weir_pipe_has(in, t)) {
		out = weir_out_of(self, t);
		return out ? weir_pipe_remove(out, t) : 0;
	}
	if (weir_load(&self->sched->cpus[cpu - 1].curr) == t)
		weir_publish(self, WEIR_TOPIC_PREEMPT, t, cpu - 1, 0);
	return 0;
}

/* The task of @r is no real-time task any more, or gone. */
static int seat_drop(struct weir_instance weir_mem *self, struct weir_seats weir_mem *seats, struct weir_pipe weir_mem *in,
		     struct weir_rt weir_mem *r)
{
	int err = seat_leave(self, seats, in, r);

	if (r->task && weir_seat_priv(self, r->task)->row == (u32)(r - seats->row) + 1)
		weir_seat_priv(self, r->task)->row = 0;
	r->task = 0;
	r->state = 0;
	return err;
}

static void seat_stopped(struct weir_rt weir_mem *r, u64 now)
{
	if (r->state & WEIR_RT_RUNS)
		r->used += now - r->since;
	r->since = now;
	r->state &= ~WEIR_RT_RUNS;
}

/* A row for @t, or null if the table is full. */
static struct weir_rt weir_mem *seat_open(struct weir_instance weir_mem *self, struct weir_seats weir_mem *seats,
					  struct weir_task weir_mem *t)
{
	struct weir_rt weir_mem *r = 0;
	u32 i;

	for (i = 0; i < seats->nr && weir_loop; i++)
		if (!seats->row[i].task)
			break;
	if (i == seats->cap)
		return 0;
	if (i == seats->nr)
		seats->nr++;
	r = &seats->row[i];
	r->task = t;
	r->deadline = 0;
	r->used = 0;
	r->state = 0;
	r->cpu = 0;
	r->want_cpu = 0;
	for (u32 k = 0; k < weir_limit(WEIR_RT_WORDS) && weir_loop; k++)
		r->x[k] = 0;
	weir_seat_priv(self, t)->row = i + 1;
	return r;
}

/* What JOB and DEADLINE say of @t, into `told`. 1: it has a job. */
WEIR_GLOBAL int weir_seat_ask(struct weir_instance weir_mem *self weir_arg, struct weir_seats weir_mem *seats weir_arg,
			      struct weir_task weir_mem *t weir_arg)
{
	struct weir_msg msg = { .topic = WEIR_TOPIC_JOB, .task = t };

	if (weir_request(self->sched, &msg))
		return 0;
	seats->told.wcet = msg.value;
	seats->told.relative = msg.value2;
	msg.topic = WEIR_TOPIC_DEADLINE;
	msg.value = 0;
	msg.value2 = 0;
	if (weir_request(self->sched, &msg))
		return 0;
	seats->told.deadline = msg.value;
	seats->told.period = msg.value2;
	return seats->told.wcet && seats->told.relative && msg.value && msg.value >= seats->told.relative;
}

/* What is told of @t, into its row, which it may get or lose. 1 + row; 0: it is a guest. */
WEIR_GLOBAL u32 weir_seat_learn(struct weir_instance weir_mem *self weir_arg, struct weir_seats weir_mem *seats weir_arg,
				struct weir_pipe weir_mem *in weir_arg, struct weir_task weir_mem *t weir_arg)
{
	int bound = !weir_seat_unbound(in, weir_affinity(self->sched, t));
	int real_time = weir_seat_ask(self, seats, t);
	struct weir_rt weir_mem *r = weir_seat_row(self, seats, t);

	if (!real_time || (bound && !seats->bound)) {
		if (r)
			seat_drop(self, seats, in, r);
		return 0;
	}
	if (!r)
		r = seat_open(self, seats, t);
	if (!r)
		return 0;
	if (bound)
		seats->bound = WEIR_SEATS_SOME_BOUND;
	if (!(r->state & WEIR_RT_READY))
		r->state |= WEIR_RT_READY | WEIR_RT_WOKEN;
	if (r->deadline != seats->told.deadline) {
		r->wcet = seats->told.wcet;
		r->release = seats->told.deadline - seats->told.relative;
		r->deadline = seats->told.deadline;
		r->period = seats->told.period;
		r->state |= WEIR_RT_FRESH;
	}
	return (u32)(r - seats->row) + 1;
}

/* @t came without a job that is known of: a guest. */
static int seat_arrive_guest(struct weir_instance weir_mem *self, struct weir_seats weir_mem *seats,
			     struct weir_pipe weir_mem *in, struct weir_task weir_mem *t)
{
	struct weir_pipe weir_mem *out = weir_out_of(self, t);
	int err = 0;

	if (out && weir_seat_priv(self, t)->guest)
		return weir_route(self, in, t, out);
	weir_guest_forget(self, seats, t);
	if (out)
		err = weir_pipe_remove(out, t);
	return err ? err : weir_guest_place(self, seats, in, t);
}

/* One change of the in-pipe. 1: the policy is to decide. */
WEIR_GLOBAL int weir_seats_arrive(struct weir_instance weir_mem *self weir_arg, struct weir_seats weir_mem *seats weir_arg,
				  struct weir_pipe weir_mem *in weir_arg, struct weir_task weir_mem *t weir_arg)
{
	struct weir_rt weir_mem *r = weir_seat_row(self, seats, t);
	int err = 0;
	u32 row;

	if (r)
		seat_stopped(r, weir_now(self->sched));
	row = weir_seat_learn(self, seats, in, t);
	if (!row)
		return seat_arrive_guest(self, seats, in, t);
	weir_guest_forget(self, seats, t);
	weir_store(&t->slice_ns, WEIR_SLICE_UNLIMITED);
	if (seats->row[row - 1].cpu)
		err = weir_seat_send(self, seats, in, row - 1);
	else if (weir_out_of(self, t))
		err = weir_pipe_remove(weir_out_of(self, t), t);
	return err ? err : (seats->row[row - 1].state & (WEIR_RT_FRESH | WEIR_RT_WOKEN)) != 0;
}

int weir_seats_update(struct weir_instance weir_mem *self, struct weir_seats weir_mem *seats, struct weir_pipe weir_mem *in)
{
	struct weir_change weir_mem *c;
	int decide = 0;

	weir_for_change(c, in) {
		int err = weir_seats_arrive(self, seats, in, c->task);

		if (err < 0)
			return err;
		decide |= err;
	}
	if (!decide)
		return 0;
	seats->anew = 1;
	if (!weir_now(self->sched))
		return 1;
	weir_seats_soon(self, seats);
	return 0;
}

/* --- messages ---------------------------------------------------------------------------------- */

/* A task came onto a CPU: the one of its seat, or one that shares the out-pipe with it. */
static int seat_dispatched(struct weir_instance weir_mem *self, struct weir_seats weir_mem *seats,
			   struct weir_task weir_mem *t, u32 cpu)
{
	struct weir_rt weir_mem *r = weir_seat_row(self, seats, t);

	weir_guest_forget(self, seats, t);
	if (!r || cpu >= self->sched->nr_cpus)
		return 0;
	r->state |= WEIR_RT_RUNS;
	r->since = weir_now(self->sched);
	if (r->cpu == cpu + 1)
		return 0;
	if (r->cpu && weir_port_to(self, &seats->map, r->cpu - 1) == weir_port_to(self, &seats->map, cpu)) {
		u32 other = seats->by_cpu[cpu];

		seats->by_cpu[r->cpu - 1] = other;
		if (other)
			seats->row[other - 1].cpu = r->cpu;
		seats->by_cpu[cpu] = (u32)(r - seats->row) + 1;
		r->cpu = cpu + 1;
		return 0;
	}
	/* It was claimed while it lost its seat. */
	weir_publish(self, WEIR_TOPIC_PREEMPT, t, cpu, 0);
	return 0;
}

static int seat_blocked(struct weir_instance weir_mem *self, struct weir_seats weir_mem *seats, struct weir_task weir_mem *t,
			int gone)
{
	struct weir_rt weir_mem *r = weir_seat_row(self, seats, t);

	weir_guest_forget(self, seats, t);
	if (!r)
		return 0;
	seat_stopped(r, weir_now(self->sched));
	r->state &= ~(u32)WEIR_RT_READY;
	if (gone)
		seat_drop(self, seats, 0, r);
	else
		seat_leave(self, seats, 0, r);
	return 1;
}

/* A CPU came or goes. What waits for one that goes looks elsewhere; what is sent to it later cannot be. */
static int seat_cpu_status(struct weir_instance weir_mem *self, struct weir_seats weir_mem *seats, struct weir_pipe weir_mem *in,
			   u32 cpu)
{
	u32 row;

	if (cpu >= self->sched->nr_cpus)
		return 0;
	row = seats->by_cpu[cpu];
	if (!weir_load(&self->sched->cpus[cpu].online)) {
		if (row)
			seat_leave(self, seats, in, &seats->row[row - 1]);
		weir_guest_evict(self, seats, in, cpu);
	}
	seats->anew = 1;
	return 1;
}

WEIR_GLOBAL int weir_seats_on(struct weir_instance weir_mem *self weir_arg, struct weir_seats weir_mem *seats weir_arg,
			      const struct weir_msg *msg weir_arg_record)
{
	struct weir_pipe weir_mem *in = weir_in(self, 0);
	struct weir_task weir_mem *t = msg->task;
	u32 cpu = msg->cpu, topic = msg->topic;
	int decide = 0;

	if ((!t && topic != WEIR_TOPIC_CPU_STATUS) || weir_pipe_lock(in))
		return 0;
	switch (topic) {
	case WEIR_TOPIC_DISPATCH:
		seat_dispatched(self, seats, t, cpu);
		break;
	case WEIR_TOPIC_BLOCK:
		decide = seat_blocked(self, seats, t, 0);
		break;
	case WEIR_TOPIC_EXIT:
		decide = seat_blocked(self, seats, t, 1);
		break;
	case WEIR_TOPIC_CPU_STATUS:
		decide = seat_cpu_status(self, seats, in, cpu);
		break;
	}
	weir_pipe_unlock(in);
	return decide;
}

WEIR_GLOBAL int weir_seats_affinity(struct weir_instance weir_mem *self weir_arg, struct weir_seats weir_mem *seats weir_arg,
				    struct weir_pipe weir_mem *in weir_arg, struct weir_task weir_mem *t weir_arg,
				    const struct weir_cpumask weir_mem *mask weir_arg)
{
	struct weir_rt weir_mem *r = weir_seat_row(self, seats, t);
	struct weir_pipe weir_mem *out = weir_out_of(self, t);
	int err = 0;

	if (weir_pending(in, t) || (r && !seats->bound && weir_seat_unbound(in, mask)))
		return 0;
	if (r && seats->bound) {
		if (!weir_seat_unbound(in, mask))
			seats->bound = WEIR_SEATS_SOME_BOUND;
		return 1;
	}
	if (r)
		err = seat_drop(self, seats, in, r);
	else if (out && weir_pipe_allows(out, mask))
		return 0;
	else if (out)
		err = weir_pipe_remove(out, t);
	weir_guest_forget(self, seats, t);
	return err ? err : weir_guest_place(self, seats, in, t);
}

/* --- decisions ----------------------------------------------------------------------------------- */

WEIR_GLOBAL int weir_seats_settle(struct weir_instance weir_mem *self weir_arg, struct weir_seats weir_mem *seats weir_arg,
				  u64 now)
{
	for (u32 i = 0; i < weir_load(&seats->nr) && weir_loop; i++) {
		struct weir_rt weir_mem *r = &seats->row[i];
		u32 state;

		if (!r->task)
			continue;
		state = weir_load(&r->task->state);
		if (state == WEIR_FREE || state == WEIR_DEAD || !weir_seat_row(self, seats, r->task) ||
		    weir_seat_row(self, seats, r->task) != r) {
			seat_drop(self, seats, 0, r);
			continue;
		}
		if (r->state & WEIR_RT_RUNS) {
			r->used += now - r->since;
			r->since = now;
		}
	}
	return 0;
}

WEIR_GLOBAL u32 weir_seats_cpus(const struct weir_instance weir_mem *self weir_arg,
				const struct weir_seats weir_mem *seats weir_arg)
{
	u32 n = 0;

	for (u32 cpu = 0; cpu < weir_load(&self->sched->nr_cpus) && weir_loop; cpu++)
		n += weir_seat_exists(self, seats, cpu);
	return n;
}

/* A CPU whose seat is free: one that waits for work, else any; @from: where to begin. */
WEIR_GLOBAL u32 weir_seats_free(const struct weir_instance weir_mem *self weir_arg,
				const struct weir_seats weir_mem *seats weir_arg, int idle)
{
	for (u32 cpu = 0; cpu < weir_load(&self->sched->nr_cpus) && weir_loop; cpu++)
		if (!seats->by_cpu[cpu] && (!idle || weir_mask_test(self->sched->idle, cpu)) &&
		    weir_seat_exists(self, seats, cpu))
			return cpu;
	return WEIR_NO_CPU;
}

/* Where a row without a seat goes at once: the CPU it wants, or the one where it ran last; or none. */
static u32 seat_favourite(const struct weir_instance weir_mem *self, const struct weir_seats weir_mem *seats,
			  const struct weir_rt weir_mem *r)
{
	u32 cpu = r->want_cpu ? r->want_cpu - 1 : weir_load(&r->task->cpu);

	return weir_seat_exists(self, seats, cpu) && !seats->by_cpu[cpu] ? cpu : WEIR_NO_CPU;
}

WEIR_GLOBAL int weir_seats_give(struct weir_instance weir_mem *self weir_arg, struct weir_seats weir_mem *seats weir_arg,
				struct weir_pipe weir_mem *in weir_arg)
{
	int err = 0;
	u32 i;

	seats->missing = 0;
	for (i = 0; i < weir_load(&seats->nr) && weir_loop; i++) {
		struct weir_rt weir_mem *r = &seats->row[i];

		if (r->cpu && (!(r->state & WEIR_RT_WANT) || (r->want_cpu && r->want_cpu != r->cpu) ||
			       !weir_seat_exists(self, seats, r->cpu - 1)))
			err |= seat_leave(self, seats, in, r);
	}
	for (i = 0; i < weir_load(&seats->nr) && weir_loop; i++) {
		struct weir_rt weir_mem *r = &seats->row[i];
		u32 cpu;

		if (!r->task || !(r->state & WEIR_RT_WANT) || r->cpu)
			continue;
		cpu = seat_favourite(self, seats, r);
		if (cpu != WEIR_NO_CPU)
			err |= seat_take(self, seats, in, i, cpu);
		else
			seats->missing += !r->want_cpu;
	}
	for (i = 0; seats->missing && i < weir_load(&seats->nr) && weir_loop; i++) {
		struct weir_rt weir_mem *r = &seats->row[i];
		u32 cpu;

		if (!r->task || !(r->state & WEIR_RT_WANT) || r->cpu || r->want_cpu)
			continue;
		seats->missing--;
		cpu = weir_seats_free(self, seats, 1);
		if (cpu == WEIR_NO_CPU)
			cpu = weir_seats_free(self, seats, 0);
		if (cpu != WEIR_NO_CPU)
			err |= seat_take(self, seats, in, i, cpu);
	}
	return err ? -WEIR_EINVAL : 0;
}

void weir_seats_arm(struct weir_instance weir_mem *self, u64 at)
{
	u64 armed = weir_load(&self->timer_ns);

	/* A time of 0 would take the timer back. */
	if (!at)
		at = 1;
	if (!armed || at < armed)
		weir_timer_set(self, at);
}

void weir_seats_soon(struct weir_instance weir_mem *self, const struct weir_seats weir_mem *seats)
{
	u64 now = weir_now(self->sched);

	if (seats->grid)
		now = (now + seats->grid - 1) / seats->grid * seats->grid;
	weir_seats_arm(self, now);
}

/* --- life ------------------------------------------------------------------------------------------ */

WEIR_GLOBAL int weir_seats_construct(struct weir_instance weir_mem *self weir_arg, struct weir_seats weir_mem *seats weir_arg)
{
	u64 nr_cpus = self->sched->nr_cpus;

	seats->row = weir_instance_alloc(self, seats->cap * sizeof(struct weir_rt));
	seats->by_cpu = weir_instance_alloc(self, nr_cpus * sizeof(u32) + 8);
	seats->guest = weir_instance_alloc(self, nr_cpus * sizeof(void *));
	if (!seats->row || !seats->by_cpu || !seats->guest)
		return -WEIR_ENOMEM;
	return weir_port_map(self, &seats->map);
}

WEIR_GLOBAL int weir_seats_take(struct weir_instance weir_mem *self weir_arg, struct weir_seats weir_mem *seats weir_arg,
				struct weir_instance weir_mem *from weir_arg, struct weir_seats weir_mem *old weir_arg)
{
	u64 timer = from->timer_ns;
	u32 i;

	seats->anew = 1;
	if (seats->cap < old->nr)
		return -WEIR_EPARAM; /* the tasks get rows when they come again */
	for (i = 0; i < weir_load(&old->nr) && weir_loop; i++)
		weir_copy(&seats->row[i], &old->row[i], sizeof(struct weir_rt));
	seats->nr = old->nr;
	for (i = 0; i < weir_load(&self->sched->nr_cpus) && weir_loop; i++)
		seats->by_cpu[i] = old->by_cpu[i];
	/* Guests are presented anew, and find no CPU that waits for them. */
	seats->withheld = 1;
	if (timer)
		weir_timer_set(self, timer);
	return 0;
}
