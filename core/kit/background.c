/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Background tasks: tasks that the policy does not decide about, on otherwise idle CPUs (weir/kit/assign.h).
 * All under the lock that steps are taken under.
 */
#include <weir/cpus.h>
#include "background.h"

int weir_background_forget(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign,
			   struct weir_task weir_mem *t)
{
	struct weir_rt_task weir_mem *p = weir_assign_priv(self, t);

	if (p->background && p->background <= weir_nr_cpus(self->sched) &&
	    assign->background[p->background - 1] == t)
		assign->background[p->background - 1] = 0;
	p->background = 0;
	return 0;
}

/* @t, a background task that waits, is to go to the idle @cpu. */
static void background_send(struct weir_instance weir_mem *self,
			    struct weir_assign weir_mem *assign, struct weir_task weir_mem *t,
			    u32 cpu)
{
	assign->background[cpu] = t;
	weir_assign_priv(self, t)->background = cpu + 1;
}

/*
 * The background task on its way to @cpu, or null. If a message gave up waiting for the lock, the start or end of the task was
 * not noted: an outdated entry must not keep others from the CPU.
 */
static struct weir_task weir_mem *background_of(const struct weir_instance weir_mem *self,
						const struct weir_assign weir_mem *assign, u32 cpu)
{
	struct weir_task weir_mem *t = assign->background[cpu];

	return t && weir_assign_priv(self, t)->background == cpu + 1 &&
			       weir_state(t) == WEIR_SCHEDULABLE
		       ? t
		       : 0;
}

/* The CPU is idle, has no task assigned, and no background task is on its way to it. */
static int background_wanted(const struct weir_instance weir_mem *self,
			     const struct weir_assign weir_mem *assign, u32 cpu)
{
	return weir_assign_usable(self, assign, cpu) && weir_cpu_is_idle(self->sched, cpu) &&
	       !assign->by_cpu[cpu] && !background_of(self, assign, cpu);
}

/* A CPU of @mask for a background task, @last if possible, or WEIR_NO_CPU. */
WEIR_GLOBAL u32 weir_background_cpu(const struct weir_instance weir_mem *self weir_arg,
				    const struct weir_assign weir_mem *assign weir_arg,
				    const struct weir_cpumask weir_mem *mask weir_arg, u32 last)
{
	const struct weir_pipe weir_mem *in = weir_in(self, 0);

	if (last < weir_nr_cpus(self->sched) && background_wanted(self, assign, last) &&
	    (!mask || weir_mask_test(mask, last)))
		return last;
	for (u32 w = in->word_lo; w <= in->word_hi && weir_loop; w++) {
		u64 bits = in->cpus->word[w] & weir_idle_word(self->sched, w);

		if (mask)
			bits &= weir_load(&mask->word[w]);
		while (bits && weir_loop) {
			u32 cpu = w * 64 + weir_lowest_bit(bits);

			bits &= bits - 1;
			if (background_wanted(self, assign, cpu))
				return cpu;
		}
	}
	return WEIR_NO_CPU;
}

WEIR_FLAT static void background_place(struct weir_instance weir_mem *self,
				       struct weir_assign weir_mem *assign,
				       struct weir_task weir_mem *t)
{
	const struct weir_cpumask weir_mem *mask = weir_affinity(self->sched, t);
	u32 last = weir_last_cpu(t), cpu = weir_background_cpu(self, assign, mask, last);

	if (cpu == WEIR_NO_CPU && !assign->withheld) {
		/* A CPU announces that it is idle and then looks here, without the lock: it sees this change, or this code sees the CPU. */
		weir_store(&assign->withheld, 1);
		weir_fence();
		cpu = weir_background_cpu(self, assign, mask, last);
	}
	if (cpu < weir_nr_cpus(self->sched))
		background_send(self, assign, t, cpu);
}

WEIR_GLOBAL int weir_background_place(struct weir_instance weir_mem *self weir_arg,
				      struct weir_assign weir_mem *assign weir_arg,
				      struct weir_task weir_mem *t weir_arg)
{
	background_place(self, assign, t);
	return 0;
}

WEIR_GLOBAL int weir_background_evict(struct weir_instance weir_mem *self weir_arg,
				      struct weir_assign weir_mem *assign weir_arg, u32 cpu)
{
	struct weir_task weir_mem *t = background_of(self, assign, cpu);

	if (!t)
		return 0;
	weir_background_forget(self, assign, t);
	background_place(self, assign, t);
	return weir_review(self, t);
}

/* The first background task in the in-pipe that has no CPU and may run on @cpu, or null. */
static struct weir_task weir_mem *background_next(struct weir_instance weir_mem *self,
						  struct weir_assign weir_mem *assign, u32 cpu)
{
	struct weir_pipe weir_mem *in = weir_in(self, 0);
	struct weir_task weir_mem *t;
	u32 n = 0, some = 0;

	/* In a home the lock is held. */
	if (!self->home && weir_pipe_lock(in))
		return 0;
	weir_for_task(t, in) {
		const struct weir_cpumask weir_mem *mask;

		n++;
		if (weir_assign_priv(self, t)->background || weir_assign_row(self, assign, t))
			continue;
		some = 1;
		mask = weir_affinity(self->sched, t);
		if (!mask || weir_mask_test(mask, cpu))
			break;
	}
	weir_note_scan(self, n);
	if (!some)
		weir_store(&assign->withheld, 0);
	if (!self->home)
		weir_pipe_unlock(in);
	return t;
}

WEIR_GLOBAL int weir_assign_idle(struct weir_instance weir_mem *self weir_arg,
				 struct weir_assign weir_mem *assign weir_arg, u32 cpu)
{
	struct weir_task weir_mem *t = 0;

	if (!weir_load(&assign->withheld) || weir_steps_lock(self))
		return 0;
	if (weir_assign_usable(self, assign, cpu) && !assign->by_cpu[cpu] &&
	    !background_of(self, assign, cpu))
		t = background_next(self, assign, cpu);
	if (t) {
		background_send(self, assign, t, cpu);
		weir_review(self, t);
	}
	weir_steps_unlock(self);
	return t != 0;
}

WEIR_GLOBAL int weir_background_fill(struct weir_instance weir_mem *self weir_arg,
				     struct weir_assign weir_mem *assign weir_arg)
{
	for (u32 cpu = 0; assign->withheld && cpu < weir_nr_cpus(self->sched) && weir_loop; cpu++) {
		struct weir_task weir_mem *t = background_wanted(self, assign, cpu)
						       ? background_next(self, assign, cpu)
						       : 0;

		if (!t)
			continue;
		background_send(self, assign, t, cpu);
		weir_review(self, t);
	}
	return 0;
}
