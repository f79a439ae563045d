/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The invariants of a scheduler at rest: what tests check after every call. A broken one is named by
 * its line in this file.
 */
#include "internal.h"

#define REQUIRE(cond)                    \
	do {                             \
		if (!(cond))             \
			return __LINE__; \
	} while (0)

static int is_out_of(const struct weir_pipe weir_mem *pipe,
		     const struct weir_instance weir_mem *inst)
{
	return pipe->from == inst;
}

/* List and tree agree and are in order. */
static int check_keyed(const struct weir_pipe weir_mem *pipe)
{
	struct weir_task weir_mem *t;
	u32 roots = 0;

	weir_for_task(t, pipe) {
		struct weir_hook weir_mem *h = &t->hooks[pipe->slot];

		REQUIRE(!h->next || h->key <= h->next->hooks[pipe->slot].key);
		REQUIRE(!h->left || h->left->hooks[pipe->slot].up == t);
		REQUIRE(!h->right || h->right->hooks[pipe->slot].up == t);
		REQUIRE(!h->left || h->left->hooks[pipe->slot].weight <= h->weight);
		REQUIRE(!h->right || h->right->hooks[pipe->slot].weight <= h->weight);
		REQUIRE(!h->left || h->left->hooks[pipe->slot].key <= h->key);
		REQUIRE(!h->right || h->right->hooks[pipe->slot].key >= h->key);
		roots += !h->up;
	}
	REQUIRE(roots == (pipe->nr != 0));
	return 0;
}

static int check_pipe(const struct weir_pipe weir_mem *pipe)
{
	struct weir_task weir_mem *prev = 0, *t;
	u32 n = 0;

	REQUIRE(!pipe->lock);
	weir_for_task(t, pipe) {
		REQUIRE(t->hooks[pipe->slot].pipe == pipe);
		REQUIRE(t->hooks[pipe->slot].prev == prev);
		/* Only tasks that may run are in pipes. */
		REQUIRE(t->state == WEIR_SCHEDULABLE);
		/* No change is pending, except until an exit is asked. */
		REQUIRE(!t->hooks[pipe->slot].change || pipe->postponed || pipe->rebuild);
		prev = t;
		n++;
	}
	REQUIRE(pipe->tail == prev);
	REQUIRE(pipe->nr == n);
	REQUIRE(!pipe->nr_log || pipe->postponed || pipe->rebuild);
	return pipe->keyed ? check_keyed(pipe) : 0;
}

static int counts(const struct weir_pipe weir_mem *pipe)
{
	return weir_solo(pipe->sched) || weir_carried(pipe) & WEIR_COUNTED;
}

/* A task is on one path: each pipe that holds it is fed by the receiver of the one before. */
static int check_path(const struct weir_graph weir_mem *g, const struct weir_task weir_mem *t,
		      u32 *entered)
{
	const struct weir_pipe weir_mem *last = 0;

	for (u32 i = 0; i < g->nr_slots && weir_loop; i++) {
		const struct weir_pipe weir_mem *pipe = weir_pipe_at(g->pipes[0].sched, t, i);

		if (!pipe)
			continue;
		REQUIRE(pipe->slot == i);
		/* A carried task is linked once. */
		REQUIRE(!t->hooks[i].pipe || !weir_carried(pipe) || t->landing == pipe->idx + 1);
		entered[0] += !last;
		/* Pipes that do not link their members count them if they promise to. */
		if (!t->hooks[i].pipe)
			entered[1] += counts(pipe);
		if (last)
			REQUIRE(is_out_of(pipe, last->to));
		else
			REQUIRE(!pipe->from);
		last = pipe;
	}
	/* Conservation: a schedulable task has entered, any other is in no pipe. */
	REQUIRE((last != 0) == (t->state == WEIR_SCHEDULABLE));
	return 0;
}

int weir_check(struct weir_sched weir_mem *s)
{
	struct weir_graph weir_mem *g = s->graph;
	u32 total = 0, schedulable = 0, through = 0, away = 0;
	/* tasks that have; pipes that have them as members without a link, and count them */
	u32 entered[2] = { 0, 0 };
	int line;

	weir_budget_reset();
	if (!g)
		return 0;
	for (u32 i = 0; i < g->nr_pipes && weir_loop; i++) {
		line = check_pipe(&g->pipes[i]);
		if (line)
			return line;
		if (counts(&g->pipes[i]))
			through += g->pipes[i].through;
		REQUIRE(weir_carried(&g->pipes[i]) & WEIR_CARRIED || !g->pipes[i].through);
	}
	for (u32 id = 0; id < s->nr_chunks * WEIR_TASK_CHUNK && weir_loop; id++) {
		struct weir_task weir_mem *t;

		if (weir_gap(s->chunks[id / WEIR_TASK_CHUNK]))
			continue;
		t = &s->chunks[id / WEIR_TASK_CHUNK][id % WEIR_TASK_CHUNK];
		if (t->state == WEIR_FREE)
			continue;
		total++;
		away += t->state == WEIR_AWAY;
		schedulable += t->state == WEIR_SCHEDULABLE;
		line = check_path(g, t, entered);
		if (line)
			return line;
	}
	REQUIRE(total == s->nr_tasks);
	REQUIRE(away == s->nr_away);
	REQUIRE(entered[0] == schedulable);
	REQUIRE(entered[1] == through);
	for (u32 i = 0; i < s->nr_cpus && weir_loop; i++) {
		struct weir_task weir_mem *t = s->cpus[i].curr;

		REQUIRE(!t || (t->state == WEIR_RUNNING && t->cpu == i));
		REQUIRE(!t || weir_mask_test(s->busy, i));
		REQUIRE(!s->ctx[i].nr_held && !s->ctx[i].work_head && !s->ctx[i].nr_msgs);
	}
	return 0;
}
