/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* An idle CPU near another one (weir/kit/idle_sibling.h). */
#include <weir/cpus.h>
#include <weir/kit/idle_sibling.h>

WEIR_GLOBAL int weir_core_idle(const struct weir_sched weir_mem *s weir_arg, u32 cpu)
{
	u32 first = cpu & ~63u;

	/* Threads of a core are numbered as neighbours, or a half of the machine apart: the latter are not looked at. */
	for (u32 i = first; i < first + 64 && i < weir_nr_cpus(s) && weir_loop; i++)
		if (i != cpu && weir_cpu_core(s, i) == weir_cpu_core(s, cpu) &&
		    !weir_cpu_is_idle(s, i))
			return 0;
	return 1;
}

/* The CPU has a quarter more than the task used of late. */
static int sibling_fits(const struct weir_sched weir_mem *s, u32 cpu, u64 need)
{
	return !need || (need - 1) * 5 / 4 < weir_cpu_capacity(s, cpu) ||
	       weir_cpu_capacity(s, cpu) >= 1024;
}

/* It is idle, the task may use it, and fits. */
static int sibling_takes(const struct weir_sched weir_mem *s, u32 cpu, u64 need,
			 const struct weir_cpumask weir_mem *mask)
{
	return weir_cpu_may(s, cpu, mask) && weir_cpu_waits(s, cpu) && sibling_fits(s, cpu, need);
}

WEIR_GLOBAL u32 weir_idle_sibling(struct weir_instance weir_mem *self weir_arg, u32 target,
				  u32 prev, u64 need,
				  const struct weir_cpumask weir_mem *mask weir_arg)
{
	const struct weir_pipe weir_mem *in = weir_in(self, 0);
	struct weir_sched weir_mem *s = self->sched;
	u32 best = WEIR_NO_CPU, rank = 0, n = 0;

	if (sibling_takes(s, target, need, mask))
		return target;
	if (prev != target && sibling_takes(s, prev, need, mask) &&
	    weir_distance(s, prev, target) < 2)
		return prev;
	for (u32 w = in->word_lo; w <= in->word_hi && weir_loop; w++) {
		u64 bits = in->cpus->word[w] & weir_idle_word(s, w);

		if (mask)
			bits &= weir_load(&mask->word[w]);
		while (bits && weir_loop) {
			u32 cpu = w * 64 + weir_lowest_bit(bits), have;

			bits &= bits - 1;
			n++;
			if (!weir_cpu_is_online(s, cpu) ||
			    weir_distance(s, target, cpu) > 1 + (need != 0))
				continue;
			have = sibling_fits(s, cpu, need) ? 1u << 20 : weir_cpu_capacity(s, cpu);
			have += have >= 1u << 20 && weir_core_idle(s, cpu) ? 1 : 0;
			if (have > rank) {
				rank = have;
				best = cpu;
			}
		}
	}
	weir_note_scan(self, n + in->word_hi - in->word_lo + 1);
	return best;
}
