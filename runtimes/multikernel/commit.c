/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* See commit.h. */
#include "commit.h"

int mk_commit_init(struct mk_commit *c, u32 core, u32 nr, const u32 *node)
{
	if (!nr || nr > MK_COMMIT_CORES || core >= nr)
		return -WEIR_EINVAL;
	*c = (struct mk_commit){ .core = core, .nr = nr, .next = 1 };
	for (u32 i = 0; i < nr; i++) {
		c->node[i] = node ? node[i] : 0;
		c->distance[i] = c->node[i] > (node ? node[core] : 0)
					 ? c->node[i] - node[core]
					 : (node ? node[core] : 0) - c->node[i];
	}
	return 0;
}

/* The first core of a node represents it, except on the root's node. */
static u32 head_of(const struct mk_commit *c, u32 core)
{
	u32 i = 0;

	while (c->node[i] != c->node[core])
		i++;
	return i;
}

static u32 apart(const struct mk_commit *c, u32 a, u32 b)
{
	return c->node[a] > c->node[b] ? c->node[a] - c->node[b] : c->node[b] - c->node[a];
}

u32 mk_commit_children(const struct mk_commit *c, u32 root, u32 core, u32 *out)
{
	u32 nr = 0;

	for (u32 i = 0; i < c->nr; i++) {
		int own = c->node[i] == c->node[core] && i != core && i != root;
		int head = core == root && c->node[i] != c->node[root] && head_of(c, i) == i;

		if (core != root && (c->node[core] == c->node[root] || head_of(c, core) != core))
			own = 0;
		if (own || head)
			out[nr++] = i;
	}
	/* Farthest first, so that the longest path starts first; a few entries at most; stable among equals. */
	for (u32 i = 1; i < nr; i++)
		for (u32 k = i; k && apart(c, core, out[k - 1]) < apart(c, core, out[k]); k--) {
			u32 other = out[k];

			out[k] = out[k - 1];
			out[k - 1] = other;
		}
	return nr;
}

static u32 root_of(u32 id)
{
	return id & 0xff;
}

static struct mk_commit_op *find(struct mk_commit *c, u32 id)
{
	for (u32 i = 0; i < MK_COMMIT_OPS; i++)
		if (c->op[i].used && c->op[i].id == id)
			return &c->op[i];
	return 0;
}

static struct mk_commit_op *new_op(struct mk_commit *c)
{
	for (u32 i = 0; i < MK_COMMIT_OPS; i++)
		if (!c->op[i].used)
			return &c->op[i];
	return 0;
}

static int meet(const u64 *a, const u64 *b)
{
	return a[0] < b[0] + b[1] && b[0] < a[0] + a[1];
}

/* Promise the object to @id, unless it is promised to another operation. */
static int promise(struct mk_commit *c, u32 id, const u64 *object)
{
	struct mk_promise *free = 0;

	for (u32 i = 0; i < MK_COMMIT_OPS; i++) {
		struct mk_promise *p = &c->promise[i];

		if (!p->id)
			free = free ? free : p;
		else if (p->id != id && meet(p->object, object))
			return 0;
	}
	if (!free)
		return 0;
	*free = (struct mk_promise){ .id = id, .object = { object[0], object[1] } };
	return 1;
}

static void forget(struct mk_commit *c, u32 id)
{
	for (u32 i = 0; i < MK_COMMIT_OPS; i++)
		if (c->promise[i].id == id)
			c->promise[i].id = 0;
}

static struct mk_commit_message about(const struct mk_commit_op *op, u32 step)
{
	return (struct mk_commit_message){ .step = step,
					   .id = op->id,
					   .object = { op->object[0], op->object[1] },
					   .word = { op->word[0], op->word[1], op->word[2] },
					   .command = op->command };
}

/* No beats busy, busy beats yes. */
static u32 both(u32 a, u32 b)
{
	return a == MK_COMMIT_NO || b == MK_COMMIT_NO	    ? MK_COMMIT_NO
	       : a == MK_COMMIT_BUSY || b == MK_COMMIT_BUSY ? MK_COMMIT_BUSY
							    : MK_COMMIT_YES;
}

/* Our own part of a step. */
static u32 own_part(struct mk_commit *c, const struct mk_commit_message *msg)
{
	if (msg->step == MK_STEP_PREPARE) {
		if (!promise(c, msg->id, msg->object))
			return MK_COMMIT_BUSY;
		if (mk_commit_may(c, msg))
			return MK_COMMIT_YES;
		forget(c, msg->id);
		return MK_COMMIT_NO;
	}
	if (msg->step == MK_STEP_DO || msg->step == MK_STEP_COMMIT)
		mk_commit_do(c, msg);
	forget(c, msg->id);
	return MK_COMMIT_YES;
}

static void step(struct mk_commit *c, struct mk_commit_op *op, u32 which);

/* All cores below have answered. */
static void all_in(struct mk_commit *c, struct mk_commit_op *op)
{
	struct mk_commit_message over;

	if (op->parent != ~0u) {
		struct mk_commit_message up = about(op, MK_STEP_ANSWER);
		u32 to = op->parent;

		up.answers = op->step;
		up.value = op->value;
		/* A decision follows after PREPARE; every other step ends the operation. */
		if (op->step != MK_STEP_PREPARE)
			op->used = 0;
		mk_commit_send(c, to, &up);
		return;
	}
	if (op->step == MK_STEP_PREPARE) {
		op->refused = op->value;
		step(c, op, op->value == MK_COMMIT_YES ? MK_STEP_COMMIT : MK_STEP_ABORT);
		return;
	}
	over = about(op, op->step);
	over.cookie = op->cookie;
	op->used = 0;
	mk_commit_over(c, &over, op->step == MK_STEP_ABORT ? op->refused : MK_COMMIT_YES);
}

static void step(struct mk_commit *c, struct mk_commit_op *op, u32 which)
{
	struct mk_commit_message msg = about(op, which);
	u32 below[MK_COMMIT_CORES], nr = mk_commit_children(c, root_of(op->id), c->core, below);

	msg.cookie = op->parent == ~0u ? op->cookie : 0;
	op->step = which;
	op->waiting = nr;
	op->value = own_part(c, &msg);
	for (u32 i = 0; i < nr; i++)
		mk_commit_send(c, below[i], &msg);
	if (!nr)
		all_in(c, op);
}

int mk_commit_begin(struct mk_commit *c, u32 phases, u32 command, const u64 *object,
		    const u64 *words, u32 cookie)
{
	struct mk_commit_op *op = new_op(c);

	if (!op)
		return -WEIR_EBUSY;
	*op = (struct mk_commit_op){ .used = 1,
				     .id = c->core | c->next << 8,
				     .parent = ~0u,
				     .object = { object[0], object[1] },
				     .command = command,
				     .cookie = cookie };
	for (u32 i = 0; words && i < MK_COMMIT_WORDS; i++)
		op->word[i] = words[i];
	c->next = c->next == 0xffffff ? 1 : c->next + 1;
	step(c, op, phases == 2 ? MK_STEP_PREPARE : MK_STEP_DO);
	return 0;
}

void mk_commit_receive(struct mk_commit *c, u32 from, const struct mk_commit_message *msg)
{
	struct mk_commit_op *op = find(c, msg->id);

	if (msg->step == MK_STEP_ANSWER) {
		if (!op || op->step != msg->answers || !op->waiting)
			return;
		op->value = both(op->value, msg->value);
		if (--op->waiting == 0)
			all_in(c, op);
		return;
	}
	if (!op)
		op = new_op(c);
	if (!op) {
		/* No room to record it: refuse. A decision always finds its record, so only a first message gets here. */
		struct mk_commit_message no = { .step = MK_STEP_ANSWER,
						.id = msg->id,
						.answers = msg->step };

		mk_commit_send(c, from, &no);
		return;
	}
	*op = (struct mk_commit_op){ .used = 1,
				     .id = msg->id,
				     .parent = from,
				     .object = { msg->object[0], msg->object[1] },
				     .word = { msg->word[0], msg->word[1], msg->word[2] },
				     .command = msg->command };
	step(c, op, msg->step);
}
