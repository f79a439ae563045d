/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Queries of components about tasks, CPUs and pipes, and their reports for the cost models. */
#include <weir/cpus.h>

#include "internal.h"

struct weir_pipe weir_mem *weir_first_allowed(struct weir_instance weir_mem *self,
					      const struct weir_cpumask weir_mem *mask)
{
	for (u32 i = 0; i < self->nr_out && weir_loop; i++) {
		if (weir_pipe_allows(self->out[i], mask)) {
			weir_note_scan(self, i + 1);
			return self->out[i];
		}
	}
	weir_note_scan(self, self->nr_out);
	return 0;
}

WEIR_GLOBAL int weir_port_map(struct weir_instance weir_mem *self weir_arg,
			      struct weir_port_map weir_mem *map weir_arg)
{
	u32 i;

	map->nr = 0;
	for (i = 0; i < self->nr_out && weir_loop; i++)
		if (self->out[i]->nr_cpus && (self->out[i]->word_hi + 1) * 64 > map->nr)
			map->nr = (self->out[i]->word_hi + 1) * 64;
	map->port = weir_instance_alloc(self, (u64)map->nr * sizeof(u32) + 8);
	if (!map->port)
		return -WEIR_ENOMEM;
	for (i = self->nr_out; i > 0 && weir_loop; i--) {
		struct weir_pipe weir_mem *out = self->out[i - 1];

		for (u32 w = out->word_lo; w <= out->word_hi && weir_loop; w++) {
			u64 bits = out->cpus->word[w];

			while (bits && weir_loop) {
				map->port[w * 64 + weir_lowest_bit(bits)] = i;
				bits &= bits - 1;
			}
		}
	}
	return 0;
}

WEIR_GLOBAL WEIR_RARE int weir_pipe_allows(const struct weir_pipe weir_mem *pipe weir_arg,
					   const struct weir_cpumask weir_mem *mask weir_arg)
{
	struct weir_sched weir_mem *s = pipe->sched;

	if (pipe->nr_cpus == 0)
		return 0;
	if (pipe->only)
		return weir_out_allows(pipe, mask);
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

WEIR_GLOBAL u64 weir_pipe_capacity(const struct weir_pipe weir_mem *pipe weir_arg)
{
	struct weir_sched weir_mem *s = pipe->sched;
	u64 sum = 0;

	for (u32 w = pipe->word_lo; w <= pipe->word_hi && weir_loop; w++) {
		u64 bits = pipe->cpus->word[w];

		while (bits && weir_loop) {
			struct weir_cpu weir_mem *c = &s->cpus[w * 64 + weir_lowest_bit(bits)];

			bits &= bits - 1;
			if (weir_load(&c->online))
				sum += c->capacity;
		}
	}
	return sum;
}

WEIR_GLOBAL u32 weir_pipe_load(const struct weir_pipe weir_mem *pipe weir_arg,
			       u32 *idle weir_arg_record)
{
	struct weir_sched weir_mem *s = pipe->sched;
	u32 busy = 0;

	if (WEIR_DOMAINS && pipe->outward) {
		/* As the other domain has reported. */
		for (u32 w = pipe->word_lo; w <= pipe->word_hi && weir_loop; w++)
			busy += weir_count_bits(pipe->cpus->word[w] & weir_load(&s->busy->word[w]));
		*idle = pipe->nr_cpus - busy;
		return weir_pipe_nr(pipe) + weir_load(&pipe->beyond) + busy;
	}
	if (pipe->only)
		return weir_out_load(pipe, idle);
	if (pipe->lone) {
		/* Its tasks may end in the homes of others (WEIR_BY_IN). */
		busy = weir_cpu_runs(pipe->lone, pipe->lone == weir_this_cpu(s));
		busy += weir_pipe_nr(pipe);
		*idle = !busy ||
			(weir_load(&pipe->lone->away) && weir_mask_test(s->idle, pipe->cpu));
		return busy;
	}
	*idle = 0;
	for (u32 w = pipe->word_lo; w <= pipe->word_hi && weir_loop; w++) {
		busy += weir_count_bits(pipe->cpus->word[w] & weir_load(&s->busy->word[w]));
		*idle += weir_count_bits(pipe->cpus->word[w] & weir_load(&s->idle->word[w]));
	}
	return weir_pipe_nr(pipe) + busy;
}

u32 weir_distance(struct weir_sched weir_mem *s, u32 a, u32 b)
{
	struct weir_cpu weir_mem *x = &s->cpus[a], *y = &s->cpus[b];

	u32 far = x->core == y->core ? 0 : x->llc == y->llc ? 1 : x->node == y->node ? 2 : 3;

	/* (A verifier would track each of the four distances separately.) */
	return weir_unknown(far);
}

/*
 * Of the CPUs in word @w of a set, as @bits, the one nearest to CPU @last, with its distance in the upper half; all ones if
 * none is online. (A function of its own, because a verifier would walk through both loops together.)
 */
WEIR_GLOBAL u64 weir_nearest_of(struct weir_sched weir_mem *s weir_arg, u32 last, u32 w, u64 bits)
{
	u64 best = ~0ull;

	while (bits && weir_loop) {
		u32 cpu = w * 64 + weir_lowest_bit(bits);
		u64 found;

		bits &= bits - 1;
		if (!weir_load(&s->cpus[cpu].online))
			continue;
		if (last >= s->nr_cpus || cpu == last)
			return cpu;
		found = (u64)weir_distance(s, last, cpu) << 32 | cpu;
		if (found >> 32 < best >> 32)
			best = found;
	}
	return best;
}

WEIR_GLOBAL WEIR_RARE u32 weir_idle_near(const struct weir_pipe weir_mem *pipe weir_arg,
					 const struct weir_task weir_mem *t weir_arg,
					 const struct weir_cpumask weir_mem *mask weir_arg)
{
	struct weir_sched weir_mem *s = pipe->sched;
	u32 last = weir_last_cpu(t);
	u32 nr = pipe->word_hi - pipe->word_lo + 1;
	u32 w = pipe->word_lo;
	u64 best = ~0ull;

	/* Start with the word that most likely has neighbours. */
	if (last < s->nr_cpus && last / 64 > pipe->word_lo && last / 64 <= pipe->word_hi)
		w = last / 64;
	for (u32 i = 0; i < nr && best >> 32 > 1 && weir_loop; i++) {
		u64 bits = pipe->cpus->word[w] & weir_load(&s->idle->word[w]);
		u64 found;

		if (mask)
			bits &= weir_load(&mask->word[w]);
		found = bits ? weir_nearest_of(s, last, w, bits) : ~0ull;
		if (found >> 32 < best >> 32)
			best = found;
		w = w == pipe->word_hi ? pipe->word_lo : w + 1;
	}
	return (u32)best;
}

WEIR_FLAT void weir_note_scan(struct weir_instance weir_mem *self, u32 n)
{
	/* (Where operations are recorded, all steps are taken with care.) */
	if (weir_unlikely(self->careful))
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
