/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Reduction of a multiprocessor to uniprocessors (weir/kit/reduce.h). */
#include <weir/kit/reduce.h>

static u32 reduce_open(struct weir_reduction weir_mem *red, u32 level)
{
	struct weir_server weir_mem *s = &red->server[red->nr];

	s->share = 0;
	s->fill = 0;
	s->deadline = 0;
	s->dual = 0;
	s->parent = 0;
	s->chosen = 0;
	s->runs = 1;
	s->level = level;
	s->nr = !level;
	s->whole = 0;
	s->stale = 1;
	return red->nr++;
}

/* The first server from @from on with room for @share, or a new one. */
static u32 reduce_fit(struct weir_reduction weir_mem *red, u32 from, u32 level, u64 share)
{
	for (u32 i = from; i < weir_load(&red->nr) && weir_loop; i++)
		if (red->server[i].share + share <= WEIR_SHARE_ONE + WEIR_SHARE_EPSILON)
			return i;
	return red->nr < red->cap ? reduce_open(red, level) : red->nr - 1;
}

WEIR_GLOBAL u32 weir_reduce_leaf(struct weir_reduction weir_mem *red weir_arg, u64 share)
{
	u32 at = reduce_fit(red, 0, 0, share);

	red->server[at].share += share;
	red->nr_leaves = red->nr;
	return at;
}

static int reduce_is_root(const struct weir_server weir_mem *s)
{
	return s->share + WEIR_SHARE_EPSILON >= WEIR_SHARE_ONE;
}

/* Give capacity that no task needs, rounded down, to leaves, until the shares add up to all CPUs. */
static void reduce_fill(struct weir_reduction weir_mem *red, u32 cpus)
{
	u64 sum = WEIR_SHARE_SHORT, all = cpus * WEIR_SHARE_ONE, rest;

	for (u32 i = 0; i < weir_load(&red->nr) && weir_loop; i++)
		sum += red->server[i].share;
	rest = all > sum ? all - sum : 0;
	for (u32 i = 0; i < weir_load(&red->nr) && weir_loop; i++) {
		struct weir_server weir_mem *s = &red->server[i];
		u64 fill = s->share < WEIR_SHARE_ONE ? WEIR_SHARE_ONE - s->share : 0;

		s->fill = fill < rest ? fill : rest;
		s->share += s->fill;
		rest -= s->fill;
	}
}

/* The server of the level from @from up to @to with the largest unpacked dual, or @to; counts the unpacked duals in `left`. */
static u32 reduce_largest(struct weir_reduction weir_mem *red, u32 from, u32 to)
{
	u32 best = to;

	red->left = 0;
	for (u32 i = from; i < to && weir_loop; i++) {
		const struct weir_server weir_mem *s = &red->server[i];

		if (s->parent || reduce_is_root(s))
			continue;
		red->left++;
		if (best == to || s->share < red->server[best].share)
			best = i;
	}
	return best;
}

/* Pack the duals of one level into servers of the next. 0: there is nothing left to pack. */
WEIR_GLOBAL int weir_reduce_pack(struct weir_reduction weir_mem *red weir_arg, u32 from, u32 level)
{
	u32 to = red->nr;

	red->packed = 0;
	while (weir_loop) {
		u32 child = reduce_largest(red, from, to), at;
		struct weir_server weir_mem *s, *up;

		/* The last one alone: the shares do not add up to a whole number. It counts as a root. */
		if (!red->left || (red->left == 1 && !red->packed))
			break;
		s = &red->server[child];
		at = reduce_fit(red, to, level, WEIR_SHARE_ONE - s->share);
		up = &red->server[at];
		up->share += WEIR_SHARE_ONE - s->share;
		up->nr += s->nr;
		up->whole += 1 - s->whole;
		s->parent = at + 1;
		red->packed++;
	}
	return red->nr > to && red->packed > red->nr - to;
}

/* Leaves below a server must be neighbours. Parents come after their children. */
static void reduce_place(struct weir_reduction weir_mem *red)
{
	u32 next = 0;

	for (u32 n = red->nr; n > 0 && weir_loop; n--) {
		struct weir_server weir_mem *s = &red->server[n - 1];

		if (s->parent) {
			struct weir_server weir_mem *up = &red->server[s->parent - 1];

			s->first = up->next;
			s->root = up->root;
			up->next += s->nr;
		} else {
			s->first = next;
			s->root = next;
			next += s->nr;
		}
		s->next = s->first;
	}
}

WEIR_GLOBAL int weir_reduce_build(struct weir_reduction weir_mem *red weir_arg, u32 cpus)
{
	u32 from = 0, level = 1;

	if (red->nr > cpus) {
		reduce_fill(red, cpus);
		while (weir_loop) {
			u32 next = red->nr;

			if (!weir_reduce_pack(red, from, level))
				break;
			from = next;
			level++;
		}
	}
	reduce_place(red);
	return 0;
}

/* Whether the dual of @a precedes that of @b: by deadline; among equals the running one first. */
static int reduce_before(const struct weir_server weir_mem *a, const struct weir_server weir_mem *b)
{
	if (!a->dual != !b->dual)
		return a->dual != 0;
	if (a->deadline != b->deadline)
		return a->deadline < b->deadline;
	return !a->runs && b->runs;
}

WEIR_GLOBAL int weir_reduce_run(struct weir_reduction weir_mem *red weir_arg)
{
	u32 i;

	for (i = 0; i < weir_load(&red->nr) && weir_loop; i++)
		red->server[i].chosen = 0;
	for (i = 0; i < weir_load(&red->nr) && weir_loop; i++) {
		struct weir_server weir_mem *s = &red->server[i], *up;

		if (!s->parent)
			continue;
		up = &red->server[s->parent - 1];
		if (!up->chosen || reduce_before(s, &red->server[up->chosen - 1]))
			up->chosen = i + 1;
	}
	for (i = red->nr; i > 0 && weir_loop; i--) {
		struct weir_server weir_mem *s = &red->server[i - 1];
		const struct weir_server weir_mem *up;

		if (!s->parent) {
			s->runs = 1;
			continue;
		}
		up = &red->server[s->parent - 1];
		s->runs = !up->runs || up->chosen != i;
	}
	return 0;
}

WEIR_GLOBAL int weir_reduce_construct(struct weir_instance weir_mem *self weir_arg,
				      struct weir_reduction weir_mem *red weir_arg, u64 items)
{
	/* Each level has at most half of the servers of the one below. */
	red->cap = 2 * items + 1;
	red->server = weir_instance_alloc(self, red->cap * sizeof(struct weir_server));
	return red->server ? 0 : -WEIR_ENOMEM;
}
