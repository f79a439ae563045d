/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Sets of CPUs. Bits are set and cleared atomically; readers may see a set that is being changed. */
#ifndef WEIR_CPUMASK_H
#define WEIR_CPUMASK_H

#include <weir/port.h>

#define WEIR_MAX_CPUS	4096
#define WEIR_MASK_WORDS (WEIR_MAX_CPUS / 64)
#define WEIR_NO_CPU	(~0u)

struct weir_cpumask {
	u64 word[WEIR_MASK_WORDS]; /* (a) */
};

WEIR_INLINE int weir_mask_test(const struct weir_cpumask weir_mem *m, u32 cpu)
{
	return weir_load(&m->word[(cpu / 64) & (WEIR_MASK_WORDS - 1)]) >> (cpu % 64) & 1;
}

/* Whether the bit was set before. */
WEIR_INLINE int weir_mask_set(struct weir_cpumask weir_mem *m, u32 cpu)
{
	u64 bit = 1ull << (cpu % 64);

	return (weir_fetch_or(&m->word[(cpu / 64) & (WEIR_MASK_WORDS - 1)], bit) & bit) != 0;
}

WEIR_INLINE int weir_mask_clear(struct weir_cpumask weir_mem *m, u32 cpu)
{
	u64 bit = 1ull << (cpu % 64);

	return (weir_fetch_and(&m->word[(cpu / 64) & (WEIR_MASK_WORDS - 1)], ~bit) & bit) != 0;
}

WEIR_INLINE u32 weir_count_bits(u64 w)
{
	w -= w >> 1 & 0x5555555555555555ull;
	w = (w & 0x3333333333333333ull) + (w >> 2 & 0x3333333333333333ull);
	w = (w + (w >> 4)) & 0x0f0f0f0f0f0f0f0full;
	return (w * 0x0101010101010101ull) >> 56;
}

/* Index of the lowest set bit of @w, which is not 0. */
WEIR_INLINE u32 weir_lowest_bit(u64 w)
{
	return weir_ctz(w);
}

#endif
