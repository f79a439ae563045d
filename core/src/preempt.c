/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Wake an idle CPU for a task, or preempt the CPU that runs the least urgent task. */
#include <weir/cpus.h>

#include "place.h"

/* The caller that removes a CPU from the idle set wakes it. 1: this call removed @cpu. */
WEIR_INLINE int take_idle(struct weir_sched weir_mem *s, u32 cpu)
{
	return cpu < s->nr_cpus && weir_mask_test(s->idle, cpu) && weir_mask_clear(s->idle, cpu);
}

/* Once no lock is held, @cpu is kicked, which was taken out of the idle set. */
WEIR_GLOBAL int weir_kick_cpu(struct weir_pipe weir_mem *pipe weir_arg,
			      struct weir_task weir_mem *t weir_arg, u32 cpu)
{
	struct weir_msg msg = { .topic = WEIR_TOPIC_KICK, .cpu = cpu, .task = t };

	if (pipe->to)
		msg.value2 = pipe->to->idx;
	weir_msg_push(pipe->sched, &msg);
	return 1;
}

/* The first CPU behind @pipe that waits for work, or WEIR_NO_CPU. */
static u32 first_idle(const struct weir_pipe weir_mem *pipe)
{
	for (u32 w = pipe->word_lo; w <= pipe->word_hi && weir_loop; w++) {
		u64 bits = pipe->cpus->word[w] & weir_load(&pipe->sched->idle->word[w]);

		if (bits)
			return w * 64 + weir_lowest_bit(bits);
	}
	return WEIR_NO_CPU;
}

/*
 * The idle CPU nearest to @t that its affinity allows. A CPU that another caller wakes meanwhile is for that caller's task: then take the
 * next one, or @t would wait while a CPU sleeps.
 */
WEIR_FLAT static u32 take_near(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *pipe,
			       struct weir_task weir_mem *t)
{
	const struct weir_cpumask weir_mem *mask = t ? weir_affinity(s, t) : 0;
	u32 cpu;

	do
		cpu = t ? weir_idle_near(pipe, t, mask) : first_idle(pipe);
	while (cpu < s->nr_cpus && !take_idle(s, cpu) && weir_loop);
	return cpu;
}

WEIR_FLAT int weir_kick(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	struct weir_sched weir_mem *s = pipe->sched;
	u32 cpu = pipe->cpu;

	if (pipe->nr_cpus == 1) {
		if (!take_idle(s, cpu))
			return 0;
	} else {
		if (!pipe->nr_cpus || first_idle(pipe) == WEIR_NO_CPU)
			return 0;
		cpu = take_near(s, pipe, t);
		if (cpu >= s->nr_cpus)
			return 0;
	}
	return weir_kick_cpu(pipe, t, cpu);
}

WEIR_GLOBAL int weir_kick_all(struct weir_pipe weir_mem *pipe weir_arg)
{
	while (weir_loop)
		if (!weir_kick(pipe, 0))
			break;
	return 0;
}

/*
 * The CPU behind @pipe, allowed by @mask, that runs the least urgent task, if that is less urgent than @key.
 * A CPU that is choosing and has not been preempted yet runs no task, which counts as least urgent.
 */
WEIR_PART u32 weir_least_urgent(struct weir_pipe weir_mem *pipe weir_arg,
				const struct weir_cpumask weir_mem *mask weir_arg, u64 key)
{
	struct weir_sched weir_mem *s = pipe->sched;
	u32 worst = WEIR_NO_CPU;

	for (u32 w = pipe->word_lo; w <= pipe->word_hi && weir_loop; w++) {
		u64 bits = pipe->cpus->word[w] & weir_load(&s->busy->word[w]);

		if (mask)
			bits &= weir_load(&mask->word[w]);
		for (; bits && key != WEIR_KEY_NONE && weir_loop; bits &= bits - 1) {
			u32 cpu = w * 64 + weir_lowest_bit(bits);
			const struct weir_cpu weir_mem *c = &s->cpus[cpu];
			u64 k = weir_load(&c->curr_key);

			/* An offline CPU will not choose. */
			if (k <= key ||
			    (k == WEIR_KEY_NONE && !weir_load(&c->curr) && !weir_load(&c->online)))
				continue;
			worst = cpu;
			key = k;
		}
	}
	return worst;
}

/* @t with urgency @key was linked in @pipe, no CPU that may take it is idle, and that of this call does not choose. */
WEIR_GLOBAL WEIR_RARE int weir_preempt_for(struct weir_sched weir_mem *s weir_arg,
					   struct weir_pipe weir_mem *pipe weir_arg,
					   struct weir_task weir_mem *t weir_arg,
					   const struct weir_cpumask weir_mem *mask weir_arg,
					   u64 key)
{
	struct weir_instance weir_mem *self = pipe->from;
	struct weir_cpu weir_mem *c;
	u32 cpu;

	if (!self)
		return 0;
	cpu = weir_least_urgent(pipe, mask, key);
	weir_note_scan(self, pipe->nr_cpus);
	if (cpu == WEIR_NO_CPU)
		return 0;
	c = &s->cpus[cpu];
	/*
	 * Until it chooses again the CPU counts as running @t, so the next arrival looks elsewhere. A CPU that is about to choose
	 * needs no message.
	 */
	if (!weir_load(&c->curr)) {
		weir_cas(&c->curr_key, WEIR_KEY_NONE, key);
		return 0;
	}
	weir_store(&c->curr_key, key);
	weir_publish(self, WEIR_TOPIC_PREEMPT, t, cpu, key);
	return 0;
}

/* A CPU behind @pipe that @mask allows (null: any) waits for a KICK. */
WEIR_INLINE int some_idle(struct weir_sched weir_mem *s, const struct weir_pipe weir_mem *pipe,
			  const struct weir_cpumask weir_mem *mask)
{
	for (u32 w = pipe->word_lo; w <= pipe->word_hi && weir_loop; w++) {
		u64 bits = pipe->cpus->word[w] & weir_load(&s->idle->word[w]);

		if (bits && (!mask || bits & weir_load(&mask->word[w])))
			return 1;
	}
	return 0;
}

/*
 * @t with urgency @key is linked in @pipe. 1: CPU @cpu, which makes this call, is behind it, @mask allows it, and it has given up its task, so none is
 * less urgent: it takes @t, or a more urgent one, without a message.
 */
WEIR_INLINE int takes_next(struct weir_sched weir_mem *s, const struct weir_pipe weir_mem *pipe,
			   const struct weir_cpumask weir_mem *mask, u32 cpu, u64 key)
{
	struct weir_cpu weir_mem *c = &s->cpus[cpu];

	return !weir_load(&c->curr) && !weir_load(&c->away) && weir_mask_test(pipe->cpus, cpu) &&
	       (!mask || weir_mask_test(mask, cpu)) &&
	       weir_cas(&c->curr_key, WEIR_KEY_NONE, key) == WEIR_KEY_NONE;
}

/* Somebody has to be asked, woken or preempted. */
WEIR_FLAT static WEIR_RARE int attract_others(struct weir_sched weir_mem *s,
					      struct weir_ctx weir_mem *ctx,
					      struct weir_pipe weir_mem *pipe,
					      struct weir_task weir_mem *t)
{
	const struct weir_cpumask weir_mem *mask;
	u64 key = ctx->step.urgency;

	/* What CPUs of another coherence domain do is not known here. */
	if (!pipe->nr_cpus || (WEIR_DOMAINS && pipe->outward))
		return 0;
	mask = pipe->nr_cpus > 1 ? weir_affinity(s, t) : 0;
	if (some_idle(s, pipe, mask) && weir_kick(pipe, t))
		return 0;
	if (!ctx->step.urgent || takes_next(s, pipe, mask, ctx->cpu, key))
		return 0;
	return weir_preempt_for(s, pipe, t, mask, key);
}

WEIR_GLOBAL WEIR_RARE int weir_attract(struct weir_sched weir_mem *s weir_arg,
				       struct weir_ctx weir_mem *ctx weir_arg,
				       struct weir_pipe weir_mem *pipe weir_arg,
				       struct weir_task weir_mem *t weir_arg)
{
	/* Most often no CPU is idle, and that of this call has given up its task. */
	if (weir_at_hand(s, WEIR_TOPIC_AFFINITY)) {
		const struct weir_cpumask weir_mem *mask = weir_affinity(s, t);

		if (ctx->step.urgent && !some_idle(s, pipe, 0) &&
		    takes_next(s, pipe, mask, ctx->cpu, ctx->step.urgency))
			return 0;
	}
	return attract_others(s, ctx, pipe, t);
}
