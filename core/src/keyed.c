/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The order of a keyed pipe: a list in order, and over it a treap (Seidel and Aragon, "Randomized
 * search trees", 1996) that finds a place in O(log n) expected. Members of equal key keep the place
 * they were given, so the tree never compares anything but keys.
 */
#include "internal.h"

/* Heap weight: a mix of the task's number and the pipe's traffic, so runs are repeatable. */
static u32 weight_of(const struct weir_pipe weir_mem *pipe, const struct weir_task weir_mem *t)
{
	u64 x = (pipe->nr_added << 32 | t->id) * 0x9e3779b97f4a7c15ull;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9ull;
	return x >> 32;
}

/* Replace @old by @new as child of @up. */
static void replace_child(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *up,
			  struct weir_task weir_mem *old, struct weir_task weir_mem *new)
{
	if (!up)
		pipe->root = new;
	else if (weir_hook(pipe, up)->left == old)
		weir_hook(pipe, up)->left = new;
	else
		weir_hook(pipe, up)->right = new;
}

/* Rotate: @t takes the place of its parent. */
static void rotate_up(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	struct weir_hook weir_mem *h = weir_hook(pipe, t);
	struct weir_task weir_mem *parent = h->up;
	struct weir_hook weir_mem *ph = weir_hook(pipe, parent);
	struct weir_task weir_mem *inner;

	if (ph->left == t) {
		inner = h->right;
		ph->left = inner;
		h->right = parent;
	} else {
		inner = h->left;
		ph->right = inner;
		h->left = parent;
	}
	if (inner)
		weir_hook(pipe, inner)->up = parent;
	h->up = ph->up;
	replace_child(pipe, ph->up, parent, t);
	ph->up = t;
}

/* Link @t below @up (null: as root), thread it into the list behind @pred, restore the heap. */
static void attach(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t, u64 key,
		   struct weir_task weir_mem *up, struct weir_task weir_mem *pred)
{
	struct weir_hook weir_mem *h = weir_hook(pipe, t);

	weir_assert_locked(pipe);
	h->key = key;
	h->left = 0;
	h->right = 0;
	h->up = up;
	h->weight = weight_of(pipe, t);
	if (!up)
		pipe->root = t;
	else if (up == pred)
		weir_hook(pipe, up)->right = t;
	else
		weir_hook(pipe, up)->left = t;
	weir_list_link(pipe, t, pred);
	while (h->up && weir_hook(pipe, h->up)->weight < h->weight && weir_loop)
		rotate_up(pipe, t);
}

/* Descend to a leaf; equal keys count as smaller than @key if @behind, else as greater. */
static void insert(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t, u64 key,
		   int behind)
{
	struct weir_task weir_mem *up = 0, *pred = 0, *at = pipe->root;
	u32 steps = 0;

	if (behind && pipe->tail && weir_hook(pipe, pipe->tail)->key <= key) {
		attach(pipe, t, key, pipe->tail, pipe->tail);
		weir_op(pipe->sched, WEIR_OP_ADD, pipe->idx, 1);
		return;
	}
	while (at && weir_loop) {
		u64 k = weir_hook(pipe, at)->key;

		up = at;
		steps++;
		if (k < key || (k == key && behind)) {
			pred = at;
			at = weir_hook(pipe, at)->right;
		} else {
			at = weir_hook(pipe, at)->left;
		}
	}
	attach(pipe, t, key, up, pred);
	weir_op(pipe->sched, WEIR_OP_ADD, pipe->idx, steps);
}

WEIR_GLOBAL int weir_keyed_insert(struct weir_pipe weir_mem *pipe weir_arg,
				  struct weir_task weir_mem *t weir_arg, u64 key)
{
	insert(pipe, t, key, 1);
	return 0;
}

WEIR_GLOBAL int weir_keyed_insert_first(struct weir_pipe weir_mem *pipe weir_arg,
					struct weir_task weir_mem *t weir_arg, u64 key)
{
	insert(pipe, t, key, 0);
	return 0;
}

/* Directly behind @after, whose key is @key. */
WEIR_GLOBAL int weir_keyed_insert_after(struct weir_pipe weir_mem *pipe weir_arg,
					struct weir_task weir_mem *t weir_arg, u64 key,
					struct weir_task weir_mem *after weir_arg)
{
	struct weir_task weir_mem *up = after;

	if (weir_hook(pipe, after)->right)
		/* leftmost of the right subtree: has no left child */
		up = weir_hook(pipe, after)->next;
	attach(pipe, t, key, up, after);
	weir_op(pipe->sched, WEIR_OP_ADD, pipe->idx, 1);
	return 0;
}

WEIR_GLOBAL int weir_keyed_remove(struct weir_pipe weir_mem *pipe weir_arg,
				  struct weir_task weir_mem *t weir_arg)
{
	struct weir_hook weir_mem *h = weir_hook(pipe, t);
	struct weir_task weir_mem *child;

	weir_assert_locked(pipe);
	while (h->left && h->right && weir_loop) {
		if (weir_hook(pipe, h->left)->weight > weir_hook(pipe, h->right)->weight)
			rotate_up(pipe, h->left);
		else
			rotate_up(pipe, h->right);
	}
	child = h->left ? h->left : h->right;
	if (child)
		weir_hook(pipe, child)->up = h->up;
	replace_child(pipe, h->up, t, child);
	h->left = 0;
	h->right = 0;
	h->up = 0;
	weir_list_unlink(pipe, t);
	return 0;
}
