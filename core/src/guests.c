/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Guests of components with seats: tasks that no policy decides about, on CPUs that would be idle (weir/seats.h).
 * The in-pipe is locked where not said otherwise.
 */
#include "guests.h"

int weir_guest_forget(struct weir_instance weir_mem *self, struct weir_seats weir_mem *seats, struct weir_task weir_mem *t)
{
	struct weir_rt_task weir_mem *p = weir_seat_priv(self, t);

	if (p->guest && p->guest <= self->sched->nr_cpus && seats->guest[p->guest - 1] == t)
		seats->guest[p->guest - 1] = 0;
	p->guest = 0;
	return 0;
}

/* @t, a guest in the in-pipe, goes to @cpu, which waits for work. */
static int guest_send(struct weir_instance weir_mem *self, struct weir_seats weir_mem *seats, struct weir_pipe weir_mem *in,
		      struct weir_task weir_mem *t, u32 cpu)
{
	int err = weir_route(self, in, t, weir_port_to(self, &seats->map, cpu));

	if (err)
		return err;
	seats->guest[cpu] = t;
	weir_seat_priv(self, t)->guest = cpu + 1;
	return 0;
}

/*
 * The guest on its way to @cpu, or null. Where a call gave up waiting for this pipe, nobody told that the guest came or left:
 * an old note must not keep others from the CPU.
 */
static struct weir_task weir_mem *guest_of(const struct weir_instance weir_mem *self, const struct weir_seats weir_mem *seats,
					   u32 cpu)
{
	struct weir_task weir_mem *t = seats->guest[cpu];

	return t && weir_seat_priv(self, t)->guest == cpu + 1 && weir_pipe_has(weir_in(self, 0), t) ? t : 0;
}

/* The CPU waits for work, has no task of its own, and no guest is on its way to it. */
static int guest_wanted(const struct weir_instance weir_mem *self, const struct weir_seats weir_mem *seats, u32 cpu)
{
	return weir_seat_exists(self, seats, cpu) && weir_mask_test(self->sched->idle, cpu) && !seats->by_cpu[cpu] &&
	       !guest_of(self, seats, cpu);
}

/* A CPU of @mask that a guest can have, @last if possible, or WEIR_NO_CPU. */
WEIR_GLOBAL u32 weir_guest_cpu(const struct weir_instance weir_mem *self weir_arg,
			       const struct weir_seats weir_mem *seats weir_arg,
			       const struct weir_cpumask weir_mem *mask weir_arg, u32 last)
{
	const struct weir_pipe weir_mem *in = weir_in(self, 0);

	if (last < self->sched->nr_cpus && guest_wanted(self, seats, last) && (!mask || weir_mask_test(mask, last)))
		return last;
	for (u32 w = in->word_lo; w <= in->word_hi && weir_loop; w++) {
		u64 bits = in->cpus->word[w] & weir_load(&self->sched->idle->word[w]);

		if (mask)
			bits &= weir_load(&mask->word[w]);
		while (bits && weir_loop) {
			u32 cpu = w * 64 + weir_lowest_bit(bits);

			bits &= bits - 1;
			if (guest_wanted(self, seats, cpu))
				return cpu;
		}
	}
	return WEIR_NO_CPU;
}

WEIR_GLOBAL int weir_guest_place(struct weir_instance weir_mem *self weir_arg, struct weir_seats weir_mem *seats weir_arg,
				 struct weir_pipe weir_mem *in weir_arg, struct weir_task weir_mem *t weir_arg)
{
	u32 cpu = weir_guest_cpu(self, seats, weir_affinity(self->sched, t), weir_load(&t->cpu));

	if (cpu < self->sched->nr_cpus)
		return guest_send(self, seats, in, t, cpu);
	seats->withheld = 1;
	return 0;
}

WEIR_GLOBAL int weir_guest_evict(struct weir_instance weir_mem *self weir_arg, struct weir_seats weir_mem *seats weir_arg,
				 struct weir_pipe weir_mem *in weir_arg, u32 cpu)
{
	struct weir_task weir_mem *t = guest_of(self, seats, cpu);
	int err = 0;

	if (!t)
		return 0;
	weir_guest_forget(self, seats, t);
	if (weir_pending(in, t))
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
	if (weir_seat_exists(self, seats, cpu) && !seats->by_cpu[cpu] && !guest_of(self, seats, cpu)) {
		t = guest_next(self, seats, in, cpu);
		sent = t && !guest_send(self, seats, in, t, cpu);
	}
	weir_pipe_unlock(in);
	return sent;
}

WEIR_GLOBAL int weir_guests_fill(struct weir_instance weir_mem *self weir_arg, struct weir_seats weir_mem *seats weir_arg,
				struct weir_pipe weir_mem *in weir_arg)
{
	for (u32 cpu = 0; seats->withheld && cpu < weir_load(&self->sched->nr_cpus) && weir_loop; cpu++) {
		struct weir_task weir_mem *t = guest_wanted(self, seats, cpu) ? guest_next(self, seats, in, cpu) : 0;

		if (t)
			guest_send(self, seats, in, t, cpu);
	}
	return 0;
}
