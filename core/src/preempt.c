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
static u32 take_near(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *pipe,
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

/* Not a CPU: one behind the pipe waits for a KICK. */
#define SOME_IDLE (WEIR_NO_CPU - 1)

/*
 * Whether a CPU behind @pipe, allowed by @mask (null: any), waits for a KICK; if none does, the one that runs the least urgent task, if that is
 * less urgent than @key. A CPU that is choosing and has not been preempted yet runs no task, which counts as least urgent.
 */
WEIR_PART u32 weir_least_urgent(struct weir_pipe weir_mem *pipe weir_arg,
				const struct weir_cpumask weir_mem *mask weir_arg, u64 key)
{
	struct weir_sched weir_mem *s = pipe->sched;
	u32 worst = WEIR_NO_CPU;

	for (u32 w = pipe->word_lo; w <= pipe->word_hi && weir_loop; w++) {
		u64 bits = pipe->cpus->word[w];

		if (mask)
			bits &= weir_load(&mask->word[w]);
		if (weir_unlikely(bits & weir_load(&s->idle->word[w])))
			return SOME_IDLE;
		bits &= weir_load(&s->busy->word[w]);
		while (bits && key != WEIR_KEY_NONE && weir_loop) {
			u32 cpu = w * 64 + weir_lowest_bit(bits);
			const struct weir_cpu weir_mem *c = &s->cpus[cpu];
			u64 k = weir_load(&c->curr_key);

			bits &= bits - 1;
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

/* One of the idle CPUs behind @pipe is woken for @t. 0: they are awake by now. */
static WEIR_RARE int wake_one(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	return weir_kick(pipe, t);
}

WEIR_COLD int weir_attract(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
			   struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	u64 key = ctx->step.urgent && pipe->from ? ctx->step.urgency : WEIR_KEY_NONE;
	const struct weir_cpumask weir_mem *mask;
	struct weir_cpu weir_mem *c;
	u32 cpu;

	/* What CPUs of another coherence domain do is not known here. */
	if (!pipe->nr_cpus || (WEIR_DOMAINS && pipe->outward))
		return 0;
	mask = pipe->nr_cpus > 1 ? weir_affinity(s, t) : 0;
	cpu = weir_least_urgent(pipe, mask, key);
	if (weir_unlikely(cpu == SOME_IDLE)) {
		if (wake_one(pipe, t))
			return 0;
		cpu = weir_least_urgent(pipe, mask, key);
	}
	if (key != WEIR_KEY_NONE)
		weir_note_scan(pipe->from, pipe->nr_cpus);
	if (cpu >= SOME_IDLE)
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
	weir_publish(pipe->from, WEIR_TOPIC_PREEMPT, t, cpu, key);
	return 0;
}
