/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A treap of tasks by time (weir/kit/timetree.h), like that of keyed pipes, with places instead of pointers. */
#include <weir/schedule.h>
#include <weir/kit/timetree.h>

#define WEIR_FIRST_NODES 16u

static struct weir_timetree_node weir_mem *timetree_node(const struct weir_timetree weir_mem *d,
							 u32 place)
{
	return &d->node[place - 1];
}

static u32 weir_mem *timetree_place_of(struct weir_timetree weir_mem *d,
				       struct weir_task weir_mem *t)
{
	return (u32 weir_mem *)((char weir_mem *)weir_priv(d->inst, t) + d->offset);
}

/* Place of @t; 0: it has none. */
static u32 timetree_find(struct weir_timetree weir_mem *d, struct weir_task weir_mem *t)
{
	u32 place = *timetree_place_of(d, t);

	return place && place <= d->nr && timetree_node(d, place)->task == t ? place : 0;
}

/* Replace place @old by @new below @up. */
static void timetree_replace(struct weir_timetree weir_mem *d, u32 up, u32 old, u32 new)
{
	if (!up)
		d->root = new;
	else if (timetree_node(d, up)->left == old)
		timetree_node(d, up)->left = new;
	else
		timetree_node(d, up)->right = new;
}

/* The node at @place takes the place of its parent. */
static void timetree_rotate_up(struct weir_timetree weir_mem *d, u32 place)
{
	struct weir_timetree_node weir_mem *n = timetree_node(d, place);
	u32 parent = n->up, inner;
	struct weir_timetree_node weir_mem *p = timetree_node(d, parent);

	if (p->left == place) {
		inner = n->right;
		p->left = inner;
		n->right = parent;
	} else {
		inner = n->left;
		p->right = inner;
		n->left = parent;
	}
	if (inner)
		timetree_node(d, inner)->up = parent;
	n->up = p->up;
	timetree_replace(d, p->up, parent, place);
	p->up = place;
}

/* Link the node at @place by its times. */
static void timetree_link(struct weir_timetree weir_mem *d, u32 place)
{
	struct weir_timetree_node weir_mem *n = timetree_node(d, place);
	u64 mix = ((u64)++d->nr_added << 32 | n->task->id) * 0x9e3779b97f4a7c15ull;
	u32 at = d->root, up = 0, less = 0;

	/* Derived from numbers that are the same in a repeated run, so that its costs are the same, too. */
	mix ^= mix >> 29;
	n->weight = (mix * 0xbf58476d1ce4e5b9ull) >> 32;
	n->left = 0;
	n->right = 0;
	while (at && weir_loop) {
		const struct weir_timetree_node weir_mem *o = timetree_node(d, at);

		up = at;
		less = n->at < o->at || (n->at == o->at && n->until > o->until);
		at = less ? o->left : o->right;
	}
	n->up = up;
	if (!up)
		d->root = place;
	else if (less)
		timetree_node(d, up)->left = place;
	else
		timetree_node(d, up)->right = place;
	while (n->up && timetree_node(d, n->up)->weight < n->weight && weir_loop)
		timetree_rotate_up(d, place);
}

static void timetree_unlink(struct weir_timetree weir_mem *d, u32 place)
{
	struct weir_timetree_node weir_mem *n = timetree_node(d, place);
	u32 child;

	while (n->left && n->right && weir_loop) {
		if (timetree_node(d, n->left)->weight > timetree_node(d, n->right)->weight)
			timetree_rotate_up(d, n->left);
		else
			timetree_rotate_up(d, n->right);
	}
	child = n->left ? n->left : n->right;
	if (child)
		timetree_node(d, child)->up = n->up;
	timetree_replace(d, n->up, place, child);
}

/* Remove the node at @place and keep it for another task. */
static void timetree_drop(struct weir_timetree weir_mem *d, u32 place)
{
	struct weir_timetree_node weir_mem *n = timetree_node(d, place);

	timetree_unlink(d, place);
	*timetree_place_of(d, n->task) = 0;
	n->task = 0;
	n->left = d->unused;
	d->unused = place;
}

static int timetree_grow(struct weir_timetree weir_mem *d)
{
	struct weir_sched weir_mem *s = d->inst->sched;
	u32 cap = d->cap ? 2 * d->cap : WEIR_FIRST_NODES;
	struct weir_timetree_node weir_mem *node =
		weir_alloc(s, cap * sizeof(struct weir_timetree_node));

	if (!node)
		return -WEIR_ENOMEM;
	if (d->cap) {
		weir_copy(node, d->node, d->nr * sizeof(struct weir_timetree_node));
		weir_free(s, d->node, d->cap * sizeof(struct weir_timetree_node));
	}
	d->node = node;
	d->cap = cap;
	return 0;
}

/* A free place for @t; 0: no memory. */
static u32 timetree_take(struct weir_timetree weir_mem *d, struct weir_task weir_mem *t)
{
	u32 place = d->unused;

	if (place) {
		d->unused = timetree_node(d, place)->left;
	} else {
		if (d->nr == d->cap && timetree_grow(d))
			return 0;
		place = ++d->nr;
	}
	timetree_node(d, place)->task = t;
	*timetree_place_of(d, t) = place;
	return place;
}

WEIR_GLOBAL int weir_timetree_set(struct weir_timetree weir_mem *d weir_arg,
				  struct weir_task weir_mem *t weir_arg, u64 at, u64 until)
{
	int err = weir_instance_lock(d->inst);
	u32 place;

	if (err)
		return err;
	place = timetree_find(d, t);
	if (place)
		timetree_unlink(d, place);
	else
		place = timetree_take(d, t);
	if (place) {
		timetree_node(d, place)->at = at;
		timetree_node(d, place)->until = until;
		timetree_link(d, place);
	} else {
		err = -WEIR_ENOMEM;
	}
	weir_instance_unlock(d->inst);
	return err;
}

WEIR_GLOBAL int weir_timetree_clear(struct weir_timetree weir_mem *d weir_arg,
				    struct weir_task weir_mem *t weir_arg)
{
	int err;
	u32 place;

	if (!weir_load(timetree_place_of(d, t)))
		return 0;
	err = weir_instance_lock(d->inst);
	if (err)
		return err;
	place = timetree_find(d, t);
	if (place)
		timetree_drop(d, place);
	weir_instance_unlock(d->inst);
	return 0;
}

/* The first node whose time is after @bound; 0: none. */
static u32 timetree_after(const struct weir_timetree weir_mem *d, u64 bound, u32 *looked)
{
	u32 at = d->root, found = 0;

	while (at && weir_loop) {
		const struct weir_timetree_node weir_mem *n = timetree_node(d, at);
		int after = n->at > bound;

		if (after)
			found = at;
		at = after ? n->left : n->right;
		++*looked;
	}
	return found;
}

WEIR_FLAT u64 weir_timetree_after(struct weir_timetree weir_mem *d, u64 now, u64 bound, u32 *looked)
{
	u64 first = 0;

	*looked = 0;
	if (weir_instance_lock(d->inst))
		return 0;
	while (!first && weir_loop) {
		u32 place = timetree_after(d, bound, looked);
		const struct weir_timetree_node weir_mem *n;

		if (!place)
			break;
		n = timetree_node(d, place);
		/* The first node of a time has the latest second time: if that has passed, the others have, too. */
		if (n->until > now)
			first = n->at;
		else
			timetree_drop(d, place);
	}
	weir_instance_unlock(d->inst);
	return first;
}

WEIR_FLAT void weir_timetree_free(struct weir_timetree weir_mem *d)
{
	if (d->cap)
		weir_free(d->inst->sched, d->node, d->cap * sizeof(struct weir_timetree_node));
	d->nr = 0;
	d->cap = 0;
	d->root = 0;
	d->unused = 0;
}
