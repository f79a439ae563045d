/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Energy-aware placement (weir/kit/frugal.h). */
#include <weir/cpus.h>
#include <weir/kit/frugal.h>

/* Smaller CPUs rank higher, then @prev, then more room; 0: the task does not fit. */
static u64 frugal_rank(const struct weir_sched weir_mem *s, u32 cpu, u32 prev, u64 used, u32 room)
{
	u64 size = weir_cpu_capacity(s, cpu);

	if (room > size)
		return 0;
	return ((1ull << 20) - size) << 20 | (u64)(cpu == prev) << 19 |
	       (size > used ? size - used : 0);
}

WEIR_GLOBAL u32 weir_frugal_cpu(struct weir_rq_loads weir_mem *loads weir_arg, u32 prev, u64 util,
				u64 clamps, const struct weir_cpumask weir_mem *mask weir_arg)
{
	struct weir_instance weir_mem *self = loads->inst;
	struct weir_sched weir_mem *s = self->sched;
	u64 now = weir_now(s), most = 0;
	u32 best = WEIR_NO_CPU, full = 0;

	for (u32 i = 0; i < self->nr_out && weir_loop; i++) {
		u32 cpu = weir_out(self, i)->cpu;
		u64 used, rank;

		if (!weir_cpu_may(s, cpu, 0))
			continue;
		used = weir_rq_load_util(loads, cpu, now);
		full |= (u32)weir_frugal_full(loads, cpu, used);
		if (mask && !weir_mask_test(mask, cpu))
			continue;
		/* It is counted there while it sleeps. */
		if (cpu == prev)
			used = used > util ? used - util : 0;
		rank = frugal_rank(s, cpu, prev, used, weir_uclamp_room(used + util, clamps));
		if (rank > most) {
			most = rank;
			best = cpu;
		}
	}
	weir_note_scan(self, self->nr_out);
	weir_store(&loads->tipped, full);
	return full ? WEIR_NO_CPU : best;
}
