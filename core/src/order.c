/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The order of a pipe: a list, and for a keyed pipe over it a treap (Seidel and Aragon, "Randomized search trees", 1996) by key, tie and
 * arrival. The nodes of a gated pipe know the least gate below them, so the first member whose gate is open is found in O(log n), as in Linux's
 * tree of EEVDF. The home's lock is held.
 */
#include "internal.h"

/* Heap weight: a mix of the task's number, so runs are repeatable. */
static u32 weight_of(const struct weir_task weir_mem *t)
{
	return t->id * 2654435761u;
}

/* @a goes before @b, which is linked and arrived another time. */
static int goes_before(const struct weir_pipe weir_mem *p, const struct weir_task weir_mem *a,
		       const struct weir_task weir_mem *b)
{
	if (a->key != b->key)
		return a->key < b->key;
	if (p->tied && a->tie != b->tie)
		return a->tie < b->tie;
	return weir_came_before(a, b);
}

static u64 least_of(const struct weir_task weir_mem *t)
{
	u64 least = t->gate;

	if (t->left && t->left->least < least)
		least = t->left->least;
	if (t->right && t->right->least < least)
		least = t->right->least;
	return least;
}

static void replace_child(struct weir_pipe weir_mem *p, struct weir_task weir_mem *up,
			  struct weir_task weir_mem *old, struct weir_task weir_mem *new)
{
	if (!up)
		p->root = new;
	else if (up->left == old)
		up->left = new;
	else
		up->right = new;
}

/* Rotate: @t takes the place of its parent. */
static void rotate_up(struct weir_pipe weir_mem *p, struct weir_task weir_mem *t)
{
	struct weir_task weir_mem *parent = t->up, *inner;

	if (parent->left == t) {
		inner = t->right;
		parent->left = inner;
		t->right = parent;
	} else {
		inner = t->left;
		parent->right = inner;
		t->left = parent;
	}
	if (inner)
		inner->up = parent;
	t->up = parent->up;
	replace_child(p, parent->up, parent, t);
	parent->up = t;
	if (p->gated) {
		t->least = parent->least;
		parent->least = least_of(parent);
	}
}

/* Behind @after, or first if that is null. */
WEIR_INLINE void list_link(struct weir_pipe weir_mem *p, struct weir_task weir_mem *t,
			   struct weir_task weir_mem *after)
{
	t->prev = after;
	t->next = after ? after->next : p->head;
	if (t->next)
		t->next->prev = t;
	else
		p->tail = t;
	if (after)
		after->next = t;
	else
		p->head = t;
}

/* @t, which is a leaf, rises over those of less weight; who is above it learns of it at the end. */
WEIR_INLINE void rise(struct weir_pipe weir_mem *p, struct weir_task weir_mem *t)
{
	struct weir_task weir_mem *up = t->up, *below = t, *inner;
	u32 weight = weight_of(t), gated = p->gated;

	while (up && weight_of(up) < weight && weir_loop) {
		if (up->left == below) {
			inner = t->right;
			up->left = inner;
			t->right = up;
		} else {
			inner = t->left;
			up->right = inner;
			t->left = up;
		}
		if (inner)
			inner->up = up;
		below = up;
		up = below->up;
		below->up = t;
		if (gated) {
			t->least = below->least;
			below->least = least_of(below);
		}
	}
	if (below == t)
		return;
	t->up = up;
	replace_child(p, up, below, t);
}

WEIR_GLOBAL u32 weir_tree_link(struct weir_pipe weir_mem *p weir_arg,
			       struct weir_task weir_mem *t weir_arg)
{
	struct weir_task weir_mem *at = p->root, *up = 0, *pred = 0;
	u64 key = t->key;
	u32 steps = 1;

	if (p->tail && goes_before(p, p->tail, t)) {
		up = pred = p->tail;
		at = 0;
	}
	while (at && weir_loop) {
		up = at;
		steps++;
		if (at->key < key || (at->key == key && goes_before(p, at, t))) {
			pred = at;
			at = at->right;
		} else {
			at = at->left;
		}
	}
	t->left = 0;
	t->right = 0;
	t->up = up;
	t->least = t->gate;
	if (!up)
		p->root = t;
	else if (up == pred)
		up->right = t;
	else
		up->left = t;
	list_link(p, t, pred);
	for (at = p->gated ? up : 0; at && at->least > t->gate && weir_loop; at = at->up)
		at->least = t->gate;
	rise(p, t);
	return steps;
}

WEIR_GLOBAL int weir_tree_unlink(struct weir_pipe weir_mem *p weir_arg,
				 struct weir_task weir_mem *t weir_arg)
{
	struct weir_task weir_mem *only, *at;

	while (t->left && t->right && weir_loop)
		rotate_up(p, weight_of(t->left) > weight_of(t->right) ? t->left : t->right);
	only = t->left ? t->left : t->right;
	if (only)
		only->up = t->up;
	replace_child(p, t->up, t, only);
	for (at = p->gated ? t->up : 0; at && weir_loop; at = at->up) {
		u64 least = least_of(at);

		if (least == at->least && least < t->gate)
			break;
		at->least = least;
	}
	return 0;
}

WEIR_GLOBAL int weir_list_insert(struct weir_pipe weir_mem *p weir_arg,
				 struct weir_task weir_mem *t weir_arg)
{
	struct weir_task weir_mem *after = p->tail;

	while (after && weir_came_before(t, after) && weir_loop)
		after = after->prev;
	list_link(p, t, after);
	return 0;
}

struct weir_task weir_mem *weir_pipe_first(const struct weir_pipe weir_mem *pipe)
{
	struct weir_task weir_mem *t = pipe->root;
	u64 now = pipe->now;

	if (!pipe->gated || !t)
		return pipe->head;
	if (t->least > now) {
		/* None is open: the one whose gate opens first. */
		now = t->least;
		while (weir_loop) {
			if (t->left && t->left->least == now)
				t = t->left;
			else if (t->gate == now)
				break;
			else
				t = t->right;
		}
		return t;
	}
	while (weir_loop) {
		if (t->left && t->left->least <= now)
			t = t->left;
		else if (t->gate <= now)
			break;
		else
			t = t->right;
	}
	return t;
}
