/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The few most urgent of many rows (weir/kit/top_k.h). */
#include <weir/cpus.h>
#include <weir/kit/top_k.h>

/* Whether row @a precedes row @b. */
static int top_k_before(const struct weir_top_k weir_mem *top,
			const struct weir_assign weir_mem *assign, u32 a, u32 b)
{
	const struct weir_rt weir_mem *x = &assign->row[a];
	const struct weir_rt weir_mem *y = &assign->row[b];
	u32 w = top->word;

	if (x->x[w] != y->x[w])
		return x->x[w] < y->x[w];
	if (x->x[w + 1] != y->x[w + 1])
		return x->x[w + 1] < y->x[w + 1];
	if (!x->cpu != !y->cpu)
		return x->cpu != 0;
	return a < b;
}

/* Replace the root by @row, which sinks to its place. */
WEIR_GLOBAL int weir_top_k_sink(struct weir_top_k weir_mem *top weir_arg,
				const struct weir_assign weir_mem *assign weir_arg, u32 row)
{
	u32 at = 0;

	while (weir_loop) {
		u32 child = 2 * at + 1;

		if (child >= top->nr)
			break;
		if (child + 1 < top->nr &&
		    top_k_before(top, assign, top->heap[child], top->heap[child + 1]))
			child++;
		if (!top_k_before(top, assign, row, top->heap[child]))
			break;
		top->heap[at] = top->heap[child];
		at = child;
	}
	top->heap[at] = row;
	return 0;
}

WEIR_GLOBAL int weir_top_k_offer(struct weir_top_k weir_mem *top weir_arg,
				 const struct weir_assign weir_mem *assign weir_arg, u32 row)
{
	u32 at = top->nr;

	if (at == top->room)
		return at && top_k_before(top, assign, row, top->heap[0])
			       ? weir_top_k_sink(top, assign, row)
			       : 0;
	top->nr++;
	while (at && top_k_before(top, assign, top->heap[(at - 1) / 2], row) && weir_loop) {
		top->heap[at] = top->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	top->heap[at] = row;
	return 0;
}

WEIR_GLOBAL int weir_top_k_construct(struct weir_instance weir_mem *self weir_arg,
				     struct weir_top_k weir_mem *top weir_arg, u32 word)
{
	top->word = word;
	top->heap = weir_instance_alloc(self, weir_nr_cpus(self->sched) * sizeof(u32) + 8);
	return top->heap ? 0 : -WEIR_ENOMEM;
}
