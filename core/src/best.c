/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The few most urgent of many rows (weir/best.h). */
#include "internal.h"
#include <weir/best.h>

/* Row @a goes before row @b. */
static int best_before(const struct weir_best weir_mem *best, const struct weir_seats weir_mem *seats, u32 a, u32 b)
{
	const struct weir_rt weir_mem *x = &seats->row[a];
	const struct weir_rt weir_mem *y = &seats->row[b];
	u32 w = best->word;

	if (x->x[w] != y->x[w])
		return x->x[w] < y->x[w];
	if (x->x[w + 1] != y->x[w + 1])
		return x->x[w + 1] < y->x[w + 1];
	if (!x->cpu != !y->cpu)
		return x->cpu != 0;
	return a < b;
}

/* The root is replaced by @row, which sinks to its place. */
WEIR_GLOBAL int weir_best_sink(struct weir_best weir_mem *best weir_arg, const struct weir_seats weir_mem *seats weir_arg,
			       u32 row)
{
	u32 at = 0;

	while (weir_loop) {
		u32 child = 2 * at + 1;

		if (child >= best->nr)
			break;
		if (child + 1 < best->nr && best_before(best, seats, best->heap[child], best->heap[child + 1]))
			child++;
		if (!best_before(best, seats, row, best->heap[child]))
			break;
		best->heap[at] = best->heap[child];
		at = child;
	}
	best->heap[at] = row;
	return 0;
}

WEIR_GLOBAL int weir_best_offer(struct weir_best weir_mem *best weir_arg, const struct weir_seats weir_mem *seats weir_arg,
				u32 row)
{
	u32 at = best->nr;

	if (at == best->room)
		return at && best_before(best, seats, row, best->heap[0]) ? weir_best_sink(best, seats, row) : 0;
	best->nr++;
	while (at && best_before(best, seats, best->heap[(at - 1) / 2], row) && weir_loop) {
		best->heap[at] = best->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	best->heap[at] = row;
	return 0;
}

WEIR_GLOBAL int weir_best_construct(struct weir_instance weir_mem *self weir_arg, struct weir_best weir_mem *best weir_arg,
				    u32 word)
{
	best->word = word;
	best->heap = weir_instance_alloc(self, self->sched->nr_cpus * sizeof(u32) + 8);
	return best->heap ? 0 : -WEIR_ENOMEM;
}
