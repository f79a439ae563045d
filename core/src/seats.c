/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Seats for components that decide about all CPUs at once: weir/seats.h says what they promise. */
#include "internal.h"
#include <weir/seats.h>

static struct weir_rt_task weir_mem *seat_priv(const struct weir_instance weir_mem *self,
					       const struct weir_task weir_mem *t)
{
	return (struct weir_rt_task weir_mem *)weir_priv(self, t);
}

/* --- guests ---------------------------------------------------------------------------------- */

static void guest_forget(struct weir_instance weir_mem *self, struct weir_seats weir_mem *seats, struct weir_task weir_mem *t)
{
	struct weir_rt_task weir_mem *p = seat_priv(self, t);

	if (p->guest && p->guest <= self->sched->nr_cpus && seats->guest[p->guest - 1] == t)
		seats->guest[p->guest - 1] = 0;
	p->guest = 0;
}

/* @t, a guest in the in-pipe, goes to @cpu, which waits for work. */
static int guest_send(struct weir_instance weir_mem *self, struct weir_seats weir_mem *seats, struct weir_pipe weir_mem *in,
		      struct weir_task weir_mem *t, u32 cpu)
{
	seats->guest[cpu] = t;
	seat_priv(self, t)->guest = cpu + 1;
	return weir_route(self, in, t, weir_port_to(self, &seats->map, cpu));
}

/* The CPU waits for work, has no task of its own, and no guest is on its way to it. */
static int guest_wanted(struct weir_instance weir_mem *self, const struct weir_seats weir_mem *seats, u32 cpu)
{
	return weir_seat_exists(self, seats, cpu) && weir_mask_test(self->sched->idle, cpu) && !seats->by_cpu[cpu] &&
	       !seats->guest[cpu];
}

/* Send a guest to a CPU that waits, the one where it ran last if possible; or it stays. */
WEIR_GLOBAL int weir_guest_place(struct weir_instance weir_mem *self weir_arg, struct weir_seats weir_mem *seats weir_arg,
				 struct weir_pipe weir_mem *in weir_arg, struct weir_task weir_mem *t weir_arg)
{
	const struct weir_cpumask weir_mem *mask = weir_affinity(self->sched, t);
	u32 last = weir_load(&t->cpu);

	if (last < self->sched->nr_cpus && guest_wanted(self, seats, last) && (!mask || weir_mask_test(mask, last)))
		return guest_send(self, seats, in, t, last);
	for (u32 w = in->word_lo; w <= in->word_hi && weir_loop; w++) {
		u64 bits = in->cpus->word[w] & weir_load(&self->sched->idle->word[w]);

		if (mask)
			bits &= weir_load(&mask->word[w]);
		while (bits && weir_loop) {
			u32 cpu = w * 64 + weir_lowest_bit(bits);

			bits &= bits - 1;
			if (guest_wanted(self, seats, cpu))
				return guest_send(self, seats, in, t, cpu);
		}
	}
	seats->withheld = 1;
	return 0;
}

/* The CPU's seat is taken, or the CPU goes: whoever is on the way there without a seat looks elsewhere. */
static int guest_evict(struct weir_instance weir_mem *self, struct weir_seats weir_mem *seats, struct weir_pipe weir_mem *in,
		       u32 cpu)
{
	struct weir_task weir_mem *t = seats->guest[cpu];
	int err = 0;

	if (!t)
		return 0;
	guest_forget(self, seats, t);
	seats->guest[cpu] = 0;
	if (!weir_pipe_has(in, t) || weir_pending(in, t))
		return 0;
	if (weir_out_of(self, t))
		err = weir_pipe_remove(weir_out_of(self, t), t);
	return err ? err : weir_guest_place(self, seats, in, t);
}

/* The first guest that no CPU has been found for and that may run on @cpu (WEIR_NO_CPU: anyone), or null. */
static struct weir_task weir_mem *guest_next(struct weir_instance weir_mem *self, struct weir_seats weir_mem *seats,
					     struct weir_pipe weir_mem *in, u32 cpu)
{
	struct weir_task weir_mem *t;
	u32 n = 0, some = 0;

	weir_for_task(t, in) {
		const struct weir_cpumask weir_mem *mask;

		n++;
		if (weir_out_of(self, t) || weir_pending(in, t) || weir_seat_row(self, seats, t))
			continue;
		some = 1;
		mask = weir_affinity(self->sched, t);
		if (cpu == WEIR_NO_CPU || !mask || weir_mask_test(mask, cpu))
			break;
	}
	weir_note_scan(self, n);
	if (!some)
		seats->withheld = 0;
	return t;
}

WEIR_GLOBAL int weir_seats_idle(struct weir_instance weir_mem *self weir_arg, struct weir_seats weir_mem *seats weir_arg,
				u32 cpu)
{
	struct weir_pipe weir_mem *in = weir_in(self, 0);
	struct weir_task weir_mem *t;
	int sent = 0;

	if (!weir_load(&seats->withheld) || weir_pipe_lock(in))
		return 0;
	if (weir_seat_exists(self, seats, cpu) && !seats->by_cpu[cpu] && !seats->guest[cpu]) {
		t = guest_next(self, seats, in, cpu);
		sent = t && !guest_send(self, seats, in, t, cpu);
	}
	weir_pipe_unlock(in);
	return sent;
}

/* --- seats ------------------------------------------------------------------------------------- */

/* The task of @r, which has a seat, goes where that is unless it is there. */
static int seat_send(struct weir_instance weir_mem *self, struct weir_seats weir_mem *seats, struct weir_pipe weir_mem *in,
		     struct weir_rt weir_mem *r)
{
	struct weir_task weir_mem *t = r->task;
	u32 cpu = r->cpu - 1;
	struct weir_task weir_mem *curr;
	int err;

	if (!weir_seat_exists(self, seats, cpu))
		return 0;
	err = guest_evict(self, seats, in, cpu);
	if (!err)
		err = weir_route(self, in, t, weir_port_to(self, &seats->map, cpu));
	curr = weir_load(&self->sched->cpus[cpu].curr);
	if (!err && curr && curr != t)
		weir_publish(self, WEIR_TOPIC_PREEMPT, t, cpu, 0);
	return err;
}

WEIR_GLOBAL int weir_seat_take(struct weir_instance weir_mem *self weir_arg, struct weir_seats weir_mem *seats weir_arg,
			       struct weir_pipe weir_mem *in weir_arg, u32 row, u32 cpu)
{
	struct weir_rt weir_mem *r = &seats->row[row];

	seats->by_cpu[cpu] = row + 1;
	r->cpu = cpu + 1;
	if (!weir_pipe_has(in, r->task) || weir_pending(in, r->task))
		return 0;
	return seat_send(self, seats, in, r);
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

	if (r->task && seat_priv(self, r->task)->row == (u32)(r - seats->row) + 1)
		seat_priv(self, r->task)->row = 0;
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
	seat_priv(self, t)->row = i + 1;
	return r;
}

/* What JOB and DEADLINE tell of @t into its row, which it may get or lose. Null: it is a guest. */
static struct weir_rt weir_mem *seat_learn(struct weir_instance weir_mem *self, struct weir_seats weir_mem *seats,
					   struct weir_pipe weir_mem *in, struct weir_task weir_mem *t)
{
	struct weir_msg job = { .topic = WEIR_TOPIC_JOB, .task = t };
	struct weir_msg due = { .topic = WEIR_TOPIC_DEADLINE, .task = t };
	struct weir_rt weir_mem *r = weir_seat_row(self, seats, t);
	int bound = !weir_seat_unbound(in, weir_affinity(self->sched, t));

	if (weir_request(self->sched, &job) || weir_request(self->sched, &due) || !job.value || !job.value2 || !due.value ||
	    due.value < job.value2 || (bound && !seats->bound)) {
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
	if (r->deadline != due.value) {
		r->wcet = job.value;
		r->release = due.value - job.value2;
		r->deadline = due.value;
		r->period = due.value2;
		r->state |= WEIR_RT_FRESH;
	}
	return r;
}

/* One change of the in-pipe. 1: the policy is to decide. */
WEIR_GLOBAL int weir_seats_arrive(struct weir_instance weir_mem *self weir_arg, struct weir_seats weir_mem *seats weir_arg,
				  struct weir_pipe weir_mem *in weir_arg, struct weir_task weir_mem *t weir_arg)
{
	struct weir_rt weir_mem *r = weir_seat_row(self, seats, t);
	struct weir_pipe weir_mem *out = weir_out_of(self, t);
	int err = 0;

	if (r)
		seat_stopped(r, weir_now(self->sched));
	r = seat_learn(self, seats, in, t);
	if (!r) {
		if (out && seat_priv(self, t)->guest)
			return weir_route(self, in, t, out);
		guest_forget(self, seats, t);
		if (out)
			err = weir_pipe_remove(out, t);
		return err ? err : weir_guest_place(self, seats, in, t);
	}
	guest_forget(self, seats, t);
	weir_store(&t->slice_ns, WEIR_SLICE_UNLIMITED);
	if (r->cpu)
		err = seat_send(self, seats, in, r);
	else if (out)
		err = weir_pipe_remove(out, t);
	return err ? err : (r->state & (WEIR_RT_FRESH | WEIR_RT_WOKEN)) != 0;
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
	return decide;
}

/* --- messages ---------------------------------------------------------------------------------- */

/* A task came onto a CPU: the one of its seat, or one that shares the out-pipe with it. */
static int seat_dispatched(struct weir_instance weir_mem *self, struct weir_seats weir_mem *seats,
			   struct weir_task weir_mem *t, u32 cpu)
{
	struct weir_rt weir_mem *r = weir_seat_row(self, seats, t);

	guest_forget(self, seats, t);
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

	guest_forget(self, seats, t);
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
		guest_evict(self, seats, in, cpu);
	}
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
	guest_forget(self, seats, t);
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

/* Send guests to CPUs that wait and have no task of their own. */
WEIR_GLOBAL int weir_seats_fill(struct weir_instance weir_mem *self weir_arg, struct weir_seats weir_mem *seats weir_arg,
				struct weir_pipe weir_mem *in weir_arg)
{
	for (u32 cpu = 0; seats->withheld && cpu < weir_load(&self->sched->nr_cpus) && weir_loop; cpu++) {
		struct weir_task weir_mem *t = guest_wanted(self, seats, cpu) ? guest_next(self, seats, in, cpu) : 0;

		if (t)
			guest_send(self, seats, in, t, cpu);
	}
	return 0;
}

/* Where a row without a seat goes at once: the CPU it wants, or the one where it ran last; or none. */
static u32 seat_favourite(const struct weir_instance weir_mem *self, const struct weir_seats weir_mem *seats,
			  const struct weir_rt weir_mem *r)
{
	u32 cpu = r->want_cpu ? r->want_cpu - 1 : weir_load(&r->task->cpu);

	return weir_seat_exists(self, seats, cpu) && !seats->by_cpu[cpu] ? cpu : WEIR_NO_CPU;
}

WEIR_GLOBAL int weir_seats_place(struct weir_instance weir_mem *self weir_arg, struct weir_seats weir_mem *seats weir_arg,
				 struct weir_pipe weir_mem *in weir_arg)
{
	u32 missing = 0, i;
	int err = 0;

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
			err |= weir_seat_take(self, seats, in, i, cpu);
		else
			missing += !r->want_cpu;
	}
	for (i = 0; missing && i < weir_load(&seats->nr) && weir_loop; i++) {
		struct weir_rt weir_mem *r = &seats->row[i];
		u32 cpu;

		if (!r->task || !(r->state & WEIR_RT_WANT) || r->cpu || r->want_cpu)
			continue;
		missing--;
		cpu = weir_seats_free(self, seats, 1);
		if (cpu == WEIR_NO_CPU)
			cpu = weir_seats_free(self, seats, 0);
		if (cpu != WEIR_NO_CPU)
			err |= weir_seat_take(self, seats, in, i, cpu);
	}
	weir_seats_fill(self, seats, in);
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
