/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * How many CPUs a program is to use, and its answer (source 1, 3.3: de-allocation is cooperative). The process that has the policy divides
 * its CPUs among the programs that say how many they could use, and writes each one's number on a page that the program reads.
 * A program changes where it can, between two parallel regions for instance, by a call that is also the answer. One that does not answer
 * in time is multiplexed: serve.c lets its threads share as many CPUs as it was to use.
 */
#include "remote.h"

void allot_divide(u32 nr_cpus, u32 n, const u32 *wish, u32 *cpus)
{
	u32 left = nr_cpus, gave = 1;

	for (u32 i = 0; i < n; i++)
		cpus[i] = 0;
	while (gave) {
		gave = 0;
		for (u32 i = 0; i < n && left; i++)
			if (cpus[i] < wish[i]) {
				cpus[i]++;
				left--;
				gave = 1;
			}
	}
	/* More programs than CPUs: the policy lets them take turns. */
	for (u32 i = 0; i < n; i++)
		if (wish[i] && !cpus[i])
			cpus[i] = 1;
}

static u32 least(u32 a, u32 b)
{
	return a < b ? a : b;
}

WEIR_API const struct weir_activation *weir_rt_activation(void)
{
	return join_activation();
}

WEIR_API unsigned weir_rt_allotment(unsigned wish)
{
	struct weir_activation *a = join_activation();
	struct remote_question q = { .call = CALL_WISH, .number = wish };
	u32 asked, n;

	if (!a)
		return wish && rt.nr_cpus ? least(wish, rt.nr_cpus) : wish;
	asked = weir_load(&a->asked);
	if (__builtin_expect(weir_load(&a->wish) != wish, 0)) {
		weir_store(&a->wish, wish);
		join_ask(&q, 0, -1, 0);
		asked = weir_load(&a->asked);
	}
	n = weir_load(&a->cpus);
	n = n ? least(n, wish) : wish;
	if (__builtin_expect(weir_load(&a->answered) != asked, 0)) {
		weir_store(&a->uses, n);
		/* `uses` before it. */
		__atomic_store_n(&a->answered, asked, __ATOMIC_RELEASE);
		if (weir_load(&a->confined))
			join_ask(&q, 0, -1, 0);
	}
	return n;
}
