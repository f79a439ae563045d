/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* An idle CPU near another one (weir/kit/idle_sibling.h). */
#include <weir/cpus.h>
#include <weir/kit/idle_sibling.h>

/* The other threads of @cpu's core among the 64 CPUs of its word. */
static u64 near_threads(const struct weir_sched weir_mem *s, u32 cpu)
{
	u32 first = cpu & ~63u;
	u64 bits = 0;

	for (u32 i = first; i < first + weir_unknown(64) && i < weir_nr_cpus(s) && weir_loop; i++)
		if (i != cpu && weir_cpu_core(s, i) == weir_cpu_core(s, cpu))
			bits |= 1ull << (i % 64);
	return bits;
}

/* CPUs come in ascending order. Numbers of caches and nodes are below the number of CPUs; for others, all CPUs are searched. */
static void near_span(const struct weir_sched weir_mem *s, struct weir_span weir_mem *spans,
		      u32 group, u32 cpu)
{
	if (group >= weir_nr_cpus(s))
		return;
	if (!spans[group].first)
		spans[group].first = (u16)(1 + cpu / 64);
	spans[group].last = (u16)(1 + cpu / 64);
}

WEIR_GLOBAL int weir_near_construct(struct weir_instance weir_mem *self weir_arg,
				    struct weir_near weir_mem *near weir_arg)
{
	const struct weir_sched weir_mem *s = self->sched;
	u64 nr = weir_nr_cpus(s);

	near->inst = self;
	near->lot = weir_random(self->sched);
	near->threads = weir_instance_alloc(self, nr * sizeof(u64));
	near->llc = weir_instance_alloc(self, nr * sizeof(struct weir_span));
	near->node = weir_instance_alloc(self, nr * sizeof(struct weir_span));
	if (!near->threads || !near->llc || !near->node)
		return -WEIR_ENOMEM;
	for (u32 i = 0; i < weir_nr_cpus(s) && weir_loop; i++) {
		near->threads[i] = near_threads(s, i);
		near_span(s, near->llc, weir_cpu_llc(s, i), i);
		near_span(s, near->node, weir_cpu_node(s, i), i);
	}
	return 0;
}

/* The rank of a CPU that the task fits, above all capacities; one more: its core is idle. */
#define SIBLING_FITS (1u << 20)

/* Whether the CPU has the capacity that the task needs, or there is no larger one. */
static int sibling_fits(const struct weir_sched weir_mem *s, u32 cpu, u64 need)
{
	return need <= weir_cpu_capacity(s, cpu) || weir_cpu_capacity(s, cpu) >= 1024;
}

/* Whether it is idle, allowed for the task, and large enough. */
static int sibling_takes(const struct weir_near weir_mem *near, u32 cpu, u64 need, int idle,
			 const struct weir_cpumask weir_mem *mask)
{
	const struct weir_sched weir_mem *s = near->inst->sched;

	return weir_cpu_may(s, cpu, mask) && weir_cpu_free(s, near, cpu, idle) &&
	       sibling_fits(s, cpu, need);
}

/* Whether word @w may have a CPU of the group. */
static int near_has(const struct weir_sched weir_mem *s, const struct weir_span weir_mem *spans,
		    u32 group, u32 w)
{
	return group >= weir_nr_cpus(s) || (spans[group].first <= w + 1 && w < spans[group].last);
}

WEIR_GLOBAL u32 weir_idle_sibling(const struct weir_near weir_mem *near weir_arg, u32 target,
				  u32 prev, u64 needs,
				  const struct weir_cpumask weir_mem *mask weir_arg)
{
	struct weir_instance weir_mem *self = near->inst;
	const struct weir_pipe weir_mem *in = weir_in(self, 0);
	struct weir_sched weir_mem *s = self->sched;
	u64 need = needs & WEIR_SIBLING_NEED, lot = weir_lot(near, (u32)(needs >> 24));
	u64 best = weir_unknown(WEIR_RANKED_NONE);
	u32 n = weir_unknown(0u);
	int idle = (int)(needs >> 63);

	if (sibling_takes(near, target, need, idle, mask))
		return target;
	if (prev != target && sibling_takes(near, prev, need, idle, mask) &&
	    weir_distance(s, prev, target) < 2)
		return prev;
	for (u32 w = in->word_lo; w <= in->word_hi && weir_loop; w++) {
		u64 waits = weir_idle_word(s, w);
		u64 bits = in->cpus->word[w] &
			   (idle ? waits
				 : waits | weir_load(&near->lazy.word[w & (WEIR_MASK_WORDS - 1)]));

		if (mask)
			bits &= weir_load(&mask->word[w]);
		n += weir_count_bits(bits);
		if (!near_has(s, near->llc, weir_cpu_llc(s, target), w) &&
		    !(need && near_has(s, near->node, weir_cpu_node(s, target), w)))
			continue;
		while (bits && weir_loop) {
			u32 cpu = w * 64 + weir_lowest_bit(bits), have;
			u64 ranked;

			bits &= bits - 1;
			if (!weir_cpu_is_online(s, cpu) ||
			    weir_distance(s, target, cpu) > 1 + (need != 0))
				continue;
			have = sibling_fits(s, cpu, need) ? weir_unknown(SIBLING_FITS)
							  : weir_cpu_capacity(s, cpu);
			have += have >= SIBLING_FITS && waits >> (cpu % 64) & 1 &&
						weir_core_idle(s, near, cpu)
					? 1
					: 0;
			ranked = weir_unknown(weir_ranked(have, lot, cpu));
			if (ranked > best)
				best = ranked;
		}
	}
	weir_note_scan(self, n + in->word_hi - in->word_lo + 1);
	return weir_ranked_cpu(best);
}
