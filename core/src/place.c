/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What components ask about tasks, CPUs and pipes, and how they wake or preempt a CPU. */
#include "internal.h"

int weir_task_placed(const struct weir_task weir_mem *t, const struct weir_pipe weir_mem *in)
{
	u32 nr = in->sched->graph->nr_slots;

	for (u32 i = in->slot + 1; i < nr && weir_loop; i++)
		if (weir_load_acquire(&t->hooks[i].pipe))
			return 1;
	return 0;
}

struct weir_pipe weir_mem *weir_holder(const struct weir_instance weir_mem *self, const struct weir_task weir_mem *t)
{
	u32 nr = self->sched->graph->nr_slots;

	for (u32 i = 0; i < nr && weir_loop; i++) {
		struct weir_pipe weir_mem *pipe = weir_load_acquire(&t->hooks[i].pipe);

		if (pipe && pipe->to == self)
			return pipe;
	}
	return 0;
}

const struct weir_cpumask weir_mem *weir_affinity(struct weir_sched weir_mem *s, struct weir_task weir_mem *t)
{
	struct weir_msg msg = { .topic = WEIR_TOPIC_AFFINITY, .task = t };

	return weir_request(s, &msg) ? 0 : msg.mask;
}

int weir_pipe_allows(const struct weir_pipe weir_mem *pipe, const struct weir_cpumask weir_mem *mask)
{
	struct weir_sched weir_mem *s = pipe->sched;

	if (pipe->nr_cpus == 0)
		return 0;
	if (pipe->nr_cpus == 1)
		return weir_load(&s->cpus[pipe->cpu].online) && (!mask || weir_mask_test(mask, pipe->cpu));
	for (u32 w = pipe->word_lo; w <= pipe->word_hi && weir_loop; w++) {
		u64 bits = pipe->cpus->word[w] & (mask ? weir_load(&mask->word[w]) : ~0ull);

		while (bits && weir_loop) {
			if (weir_load(&s->cpus[w * 64 + weir_lowest_bit(bits)].online))
				return 1;
			bits &= bits - 1;
		}
	}
	return 0;
}

u32 weir_pipe_load(const struct weir_pipe weir_mem *pipe, u32 *idle)
{
	struct weir_sched weir_mem *s = pipe->sched;
	u32 busy = 0;

	*idle = 0;
	for (u32 w = pipe->word_lo; w <= pipe->word_hi && weir_loop; w++) {
		busy += weir_count_bits(pipe->cpus->word[w] & weir_load(&s->busy->word[w]));
		*idle += weir_count_bits(pipe->cpus->word[w] & weir_load(&s->idle->word[w]));
	}
	return weir_pipe_nr(pipe) + busy;
}

/* Take @cpu out of the idle set; whoever does wakes it. */
static int kick(struct weir_instance weir_mem *self, struct weir_task weir_mem *t, u32 cpu)
{
	if (!weir_mask_clear(self->sched->idle, cpu))
		return 0;
	weir_publish(self, WEIR_TOPIC_KICK, t, cpu, 0);
	return 1;
}

/* How far apart two CPUs are: 0 same core, 1 same LLC, 2 same node, 3 else. */
static u32 distance(const struct weir_cpu weir_mem *a, const struct weir_cpu weir_mem *b)
{
	if (a->core == b->core)
		return 0;
	if (a->llc == b->llc)
		return 1;
	return a->node == b->node ? 2 : 3;
}

int weir_kick_idle(struct weir_instance weir_mem *self, struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	struct weir_sched weir_mem *s = self->sched;
	const struct weir_cpumask weir_mem *mask = 0;
	u32 last = weir_load(&t->cpu);
	u32 best = WEIR_NO_CPU, best_distance = ~0u;

	if (pipe->nr_cpus == 1)
		return weir_mask_test(s->idle, pipe->cpu) && kick(self, t, pipe->cpu);
	for (u32 w = pipe->word_lo; w <= pipe->word_hi && weir_loop; w++) {
		u64 bits = pipe->cpus->word[w] & weir_load(&s->idle->word[w]);

		while (bits && weir_loop) {
			u32 cpu = w * 64 + weir_lowest_bit(bits);
			u32 d = 0;

			bits &= bits - 1;
			if (best == WEIR_NO_CPU)
				mask = weir_affinity(s, t);
			if (!weir_load(&s->cpus[cpu].online) || (mask && !weir_mask_test(mask, cpu)))
				continue;
			if (cpu == last)
				return kick(self, t, cpu);
			if (last < s->nr_cpus)
				d = distance(&s->cpus[last], &s->cpus[cpu]);
			if (d < best_distance) {
				best = cpu;
				best_distance = d;
			}
			if (last >= s->nr_cpus)
				return kick(self, t, cpu);
		}
	}
	return best != WEIR_NO_CPU && kick(self, t, best);
}

void weir_preempt(struct weir_instance weir_mem *self, struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t,
		  u64 key)
{
	struct weir_sched weir_mem *s = self->sched;
	const struct weir_cpumask weir_mem *mask = 0;
	u32 worst = WEIR_NO_CPU;
	u64 worst_key = key;

	if (pipe->nr_cpus > 1)
		mask = weir_affinity(s, t);
	for (u32 w = pipe->word_lo; w <= pipe->word_hi && weir_loop; w++) {
		u64 bits = pipe->cpus->word[w] & (mask ? weir_load(&mask->word[w]) : ~0ull);

		if (bits & weir_load(&s->idle->word[w]))
			return;
		bits &= weir_load(&s->busy->word[w]);
		weir_note_scan(self, weir_count_bits(bits));
		while (bits && weir_loop) {
			u32 cpu = w * 64 + weir_lowest_bit(bits);
			u64 k = weir_load(&s->cpus[cpu].curr_key);

			bits &= bits - 1;
			if (k > worst_key) {
				worst = cpu;
				worst_key = k;
			}
		}
	}
	if (worst == WEIR_NO_CPU)
		return;
	/* Until it chooses again the CPU counts as running @t, so the next arrival looks elsewhere. */
	weir_store(&s->cpus[worst].curr_key, key);
	weir_publish(self, WEIR_TOPIC_PREEMPT, t, worst, key);
}

void weir_note_scan(struct weir_instance weir_mem *self, u32 n)
{
	weir_op(self->sched, WEIR_OP_SCAN, self->idx, n);
}

void weir_note_burn(struct weir_instance weir_mem *self, u32 n)
{
	weir_op(self->sched, WEIR_OP_BURN, self->idx, n);
}

void weir_timer_set(struct weir_instance weir_mem *self, u64 at_ns)
{
	weir_store(&self->timer_ns, at_ns);
	weir_rt_timer(self->sched, self->idx, at_ns);
}
