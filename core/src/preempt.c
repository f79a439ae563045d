/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Wake an idle CPU for a task, or preempt the CPU that runs the least urgent task. */
#include "internal.h"

/* Whether a CPU behind @pipe waits for work. */
WEIR_FLAT static int any_idle(const struct weir_pipe weir_mem *pipe)
{
	struct weir_sched weir_mem *s = pipe->sched;

	if (pipe->nr_cpus == 1)
		return weir_mask_test(s->idle, pipe->cpu);
	for (u32 w = pipe->word_lo; w <= pipe->word_hi && weir_loop; w++)
		if (pipe->cpus->word[w] & weir_load(&s->idle->word[w]))
			return 1;
	return 0;
}

WEIR_FLAT int weir_kick_later(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	/*
	 * The lock is held. A CPU announces that it is idle, then takes the lock and looks: if it announced before this check, it is seen here;
	 * if not, it will see @t.
	 */
	if (pipe->nr_cpus && any_idle(pipe)) {
		struct weir_msg msg = { .topic = WEIR_TOPIC_KICK,
					.cpu = WEIR_NO_CPU,
					.task = t,
					.value = pipe->idx,
					.value2 = pipe->to->idx };

		weir_msg_push(pipe->sched, &msg);
	}
	return 0;
}

/*
 * The same for the end of a chain of calls, where no frame is left to allocate room for the message: without room, the next
 * CPU that releases the pipe's lock sends it.
 */
WEIR_GLOBAL int weir_pipe_news(struct weir_pipe weir_mem *pipe weir_arg,
			       struct weir_task weir_mem *t weir_arg)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(pipe->sched);
	struct weir_msg weir_mem *m;

	weir_barrier(pipe->sched);
	if (!pipe->nr_cpus || !any_idle(pipe))
		return 0;
	if (ctx->nr_msgs >= ctx->cap_msgs) {
		weir_store(&pipe->wanted, 1);
		return 0;
	}
	m = &ctx->msgs[ctx->nr_msgs++].msg;
	m->topic = WEIR_TOPIC_KICK;
	m->cpu = WEIR_NO_CPU;
	m->task = t;
	m->value = pipe->idx;
	m->value2 = pipe->to->idx;
	m->mask = 0;
	return 0;
}

/* The first CPU from @from on behind @pipe that waits for work; with @missed, only CPUs that missed a look; or WEIR_NO_CPU. */
static u32 first_idle(const struct weir_pipe weir_mem *pipe, u32 from, int missed)
{
	struct weir_sched weir_mem *s = pipe->sched;

	for (u32 w = pipe->word_lo; w <= pipe->word_hi && weir_loop; w++) {
		u64 bits = pipe->cpus->word[w] & weir_load(&s->idle->word[w]);

		while (bits && weir_loop) {
			u32 cpu = w * 64 + weir_lowest_bit(bits);

			bits &= bits - 1;
			if (cpu >= from && (!missed || weir_load(&s->ctx[cpu].missed)))
				return cpu;
		}
	}
	return WEIR_NO_CPU;
}

/* The caller that removes a CPU from the idle set wakes it. 1: this call removed @cpu. */
static int take_idle(struct weir_sched weir_mem *s, u32 cpu)
{
	return cpu < s->nr_cpus && weir_mask_clear(s->idle, cpu);
}

static u32 take_first(struct weir_sched weir_mem *s, const struct weir_pipe weir_mem *pipe,
		      u32 from, int missed)
{
	u32 cpu;

	do
		cpu = first_idle(pipe, from, missed);
	while (cpu < s->nr_cpus && !take_idle(s, cpu) && weir_loop);
	return cpu;
}

/*
 * The idle CPU nearest to @t that its affinity allows. A CPU that another caller wakes meanwhile is for that caller's task: then take the
 * next one, or @t would wait while a CPU sleeps.
 */
static u32 take_near(struct weir_sched weir_mem *s, const struct weir_pipe weir_mem *pipe,
		     struct weir_task weir_mem *t)
{
	const struct weir_cpumask weir_mem *mask = weir_affinity(s, t);
	u32 cpu;

	do
		cpu = weir_idle_near(pipe, t, mask);
	while (cpu < s->nr_cpus && !take_idle(s, cpu) && weir_loop);
	return cpu;
}

WEIR_GLOBAL u32 weir_kick_target(struct weir_sched weir_mem *s weir_arg,
				 struct weir_task weir_mem *t weir_arg, u64 where)
{
	struct weir_pipe weir_mem *pipe = &s->graph->pipes[(u32)where];
	u32 from = where >> 32, cpu = WEIR_NO_CPU;

	if (!t) {
		/* All CPUs that looked at the exit in vain, one at a time; if there are none, a CPU to continue the work left. */
		cpu = take_first(s, pipe, from, 1);
		if (cpu == WEIR_NO_CPU && !from)
			cpu = take_first(s, pipe, 0, 0);
	} else if (pipe->nr_cpus == 1) {
		cpu = take_idle(s, pipe->cpu) ? pipe->cpu : WEIR_NO_CPU;
	} else if (weir_pipe_lock(pipe)) {
		/* If the record belongs to another task by now, this one has ended, and the kicked CPU finds nothing. */
		cpu = take_near(s, pipe, t);
	} else {
		/* Ask for its affinity while it exists: later the record can be another task's. */
		if (weir_pipe_holds(pipe, t))
			cpu = take_near(s, pipe, t);
		weir_pipe_unlock(pipe);
	}
	return cpu;
}

/*
 * The CPU behind @pipe, allowed by @mask, that runs the least urgent task, if that is less urgent than @key; none if a CPU is idle.
 * A CPU that is choosing and has not been preempted yet runs no task, which counts as least urgent.
 */
WEIR_GLOBAL u32 weir_least_urgent(struct weir_pipe weir_mem *pipe weir_arg,
				  const struct weir_cpumask weir_mem *mask weir_arg, u64 key)
{
	struct weir_sched weir_mem *s = pipe->sched;
	u32 worst = WEIR_NO_CPU;

	for (u32 w = pipe->word_lo; w <= pipe->word_hi && weir_loop; w++) {
		u64 bits = pipe->cpus->word[w] & (mask ? weir_load(&mask->word[w]) : ~0ull);

		if (bits & weir_load(&s->idle->word[w]))
			return WEIR_NO_CPU;
		bits &= weir_load(&s->busy->word[w]);
		while (bits && weir_loop) {
			u32 cpu = w * 64 + weir_lowest_bit(bits);
			u64 k = weir_load(&s->cpus[cpu].curr_key);

			bits &= bits - 1;
			if (k == WEIR_KEY_NONE && !weir_load(&s->cpus[cpu].curr)) {
				/* An offline CPU will not choose. */
				if (weir_load(&s->cpus[cpu].online)) {
					worst = cpu;
					key = k;
				}
			} else if (k > key) {
				worst = cpu;
				key = k;
			}
		}
	}
	return worst;
}

WEIR_GLOBAL int weir_preempt(struct weir_instance weir_mem *self weir_arg,
			     struct weir_pipe weir_mem *pipe weir_arg,
			     struct weir_task weir_mem *t weir_arg, u64 key)
{
	struct weir_sched weir_mem *s = self->sched;
	u32 cpu;

	/* What CPUs of another coherence domain run is not known here. */
	if (WEIR_DOMAINS && pipe->outward)
		return 0;
	cpu = weir_least_urgent(pipe, pipe->nr_cpus > 1 ? weir_affinity(s, t) : 0, key);
	weir_note_scan(self, pipe->nr_cpus);
	if (cpu == WEIR_NO_CPU)
		return 0;
	/*
	 * Until it chooses again the CPU counts as running @t, so the next arrival looks elsewhere. A CPU that is about to choose
	 * needs no message; if it has chosen meanwhile, from @pipe with @t in it, its choice counts.
	 */
	if (!weir_load(&s->cpus[cpu].curr)) {
		weir_cas(&s->cpus[cpu].curr_key, WEIR_KEY_NONE, key);
		return 0;
	}
	weir_store(&s->cpus[cpu].curr_key, key);
	weir_publish(self, WEIR_TOPIC_PREEMPT, t, cpu, key);
	return 1;
}

void weir_rekey_running(struct weir_instance weir_mem *self, struct weir_pipe weir_mem *pipe,
			struct weir_task weir_mem *t, u64 key)
{
	struct weir_sched weir_mem *s = self->sched;
	u32 cpu = weir_load(&t->cpu);
	u64 first = WEIR_KEY_NONE;

	if (cpu >= s->nr_cpus || !weir_mask_test(pipe->cpus, cpu) ||
	    weir_load(&s->cpus[cpu].curr) != t)
		return;
	weir_store(&t->key, key);
	weir_store(&s->cpus[cpu].curr_key, key);
	if (weir_pipe_lock(pipe))
		return;
	if (pipe->head)
		first = pipe->head->hooks[pipe->slot].key;
	weir_pipe_unlock(pipe);
	if (first < key)
		weir_publish(self, WEIR_TOPIC_PREEMPT, t, cpu, first);
}
