/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The CPUs as components and the kit see them: their number, properties and running tasks. Components and the kit read
 * struct weir_sched only through this file, so its layout stays private to the core.
 *
 * All values may change at any time: check again under the lock that decides.
 */
#ifndef WEIR_CPUS_H
#define WEIR_CPUS_H

#include <weir/component.h>

WEIR_INLINE u32 weir_nr_cpus(const struct weir_sched weir_mem *s)
{
	return weir_load(&s->nr_cpus);
}

/* Used words of a set of CPUs. */
WEIR_INLINE u32 weir_mask_words(const struct weir_sched weir_mem *s)
{
	return s->mask_words;
}

WEIR_INLINE int weir_cpu_is_online(const struct weir_sched weir_mem *s, u32 cpu)
{
	return weir_load(&s->cpus[cpu].online);
}

/* Speed, 1024: the fastest kind of CPU. */
WEIR_INLINE u32 weir_cpu_capacity(const struct weir_sched weir_mem *s, u32 cpu)
{
	return s->cpus[cpu].capacity;
}

/* Number of the core, the last-level cache or the NUMA node that the CPU belongs to. */
WEIR_INLINE u32 weir_cpu_core(const struct weir_sched weir_mem *s, u32 cpu)
{
	return s->cpus[cpu].core;
}

WEIR_INLINE u32 weir_cpu_llc(const struct weir_sched weir_mem *s, u32 cpu)
{
	return s->cpus[cpu].llc;
}

WEIR_INLINE u32 weir_cpu_node(const struct weir_sched weir_mem *s, u32 cpu)
{
	return s->cpus[cpu].node;
}

/* The task that the CPU runs, or null. */
WEIR_INLINE struct weir_task weir_mem *weir_cpu_curr(const struct weir_sched weir_mem *s, u32 cpu)
{
	return weir_load(&s->cpus[cpu].curr);
}

/* The record of the CPU that calls. */
WEIR_INLINE const struct weir_cpu weir_mem *weir_this_cpu(const struct weir_sched weir_mem *s)
{
	return &s->cpus[weir_port_cpu()];
}

/*
 * 1: @c, a CPU of this domain, runs a task: @now, or as its last call said. While a call of @c gives up a task and takes the next (weir_yield()), it still
 * runs one by the latter: so @c takes no line of memory from those who compare its load with others'.
 */
WEIR_INLINE u32 weir_cpu_runs(const struct weir_cpu weir_mem *c, int now)
{
	return now ? weir_load(&c->curr) != 0 : weir_load(&c->runs);
}

/* @cpu wakes a task now, and what it runs is about to block: a hint, for a step with WEIR_WHY_WOKE, and lost if the task waits on its way. */
WEIR_INLINE int weir_cpu_leaves(const struct weir_sched weir_mem *s, u32 cpu)
{
	return weir_load(&s->cpus[cpu].leaves) != 0;
}

/* The urgency of that task, 0 while the CPU chooses; a component may set it to that of the task about to run. */
WEIR_INLINE u64 weir_cpu_key(const struct weir_sched weir_mem *s, u32 cpu)
{
	return weir_load(&s->cpus[cpu].curr_key);
}

WEIR_INLINE void weir_cpu_set_key(struct weir_sched weir_mem *s, u32 cpu, u64 key)
{
	weir_store(&s->cpus[cpu].curr_key, key);
}

/* The CPU waits for a KICK. */
WEIR_INLINE int weir_cpu_is_idle(const struct weir_sched weir_mem *s, u32 cpu)
{
	return weir_mask_test(s->idle, cpu);
}

/* Word @w of the set of CPUs that wait for a KICK. */
WEIR_INLINE u64 weir_idle_word(const struct weir_sched weir_mem *s, u32 w)
{
	return weir_load(&s->idle->word[w]);
}

/* Word @w of the set of CPUs that run a task or choose one. */
WEIR_INLINE u64 weir_busy_word(const struct weir_sched weir_mem *s, u32 w)
{
	return weir_load(&s->busy->word[w]);
}

/* weir_pipe_allows(), at once where one CPU is behind the pipe. */
WEIR_INLINE int weir_out_allows(const struct weir_pipe weir_mem *pipe,
				const struct weir_cpumask weir_mem *mask)
{
	const struct weir_cpu weir_mem *only = pipe->only;

	if (weir_unlikely(!only))
		return weir_pipe_allows(pipe, mask);
	return !(weir_load(&only->away) & WEIR_CPU_OFF) &&
	       (!mask || weir_mask_test(mask, pipe->cpu));
}

/* weir_pipe_load(), likewise. */
WEIR_INLINE u32 weir_out_load(const struct weir_pipe weir_mem *pipe, u32 *idle)
{
	const struct weir_cpu weir_mem *only = pipe->only;
	u32 load;

	if (weir_unlikely(!only))
		return weir_pipe_load(pipe, idle);
	/* A CPU that is about to choose runs nothing. */
	load = weir_home_nr(pipe->tally) + weir_cpu_runs(only, only == weir_this_cpu(pipe->sched));
	/* A CPU that chooses from an empty pipe takes a new task without a KICK. */
	*idle = !load || (weir_load(&only->away) && weir_mask_test(pipe->sched->idle, pipe->cpu));
	return load;
}

/* For a constructor: the mean capacity of the CPUs behind each out-pipe, online or not; null: no memory. O(out-pipes x CPUs). */
WEIR_INLINE u64 weir_mem *weir_out_capacities(struct weir_instance weir_mem *self)
{
	u64 weir_mem *mean = weir_instance_alloc(self, (u64)self->nr_out * sizeof(u64));

	for (u32 i = 0; mean && i < self->nr_out && weir_loop; i++) {
		struct weir_pipe weir_mem *out = weir_out(self, i);
		u64 sum = 0;

		for (u32 c = 0; c < weir_nr_cpus(self->sched) && weir_loop; c++)
			if (out->nr_cpus && weir_mask_test(out->cpus, c))
				sum += weir_cpu_capacity(self->sched, c);
		mean[i] = out->nr_cpus ? sum / out->nr_cpus : 0;
	}
	return mean;
}

#endif
