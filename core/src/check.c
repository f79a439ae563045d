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

/* List and tree agree and are in order; of a gated pipe each node knows the least gate below it. */
static int check_keyed(const struct weir_pipe weir_mem *pipe)
{
	struct weir_task weir_mem *t;
	u32 roots = 0;

	weir_for_task(t, pipe) {
		u64 least = t->gate;

		REQUIRE(!t->next || t->key <= t->next->key);
		REQUIRE(!t->next || t->key != t->next->key ||
			(pipe->tied && t->tie < t->next->tie) ||
			((!pipe->tied || t->tie == t->next->tie) && weir_came_before(t, t->next)));
		REQUIRE(!t->left || t->left->up == t);
		REQUIRE(!t->right || t->right->up == t);
		REQUIRE(!t->left || t->left->key <= t->key);
		REQUIRE(!t->right || t->right->key >= t->key);
		if (t->left && t->left->least < least)
			least = t->left->least;
		if (t->right && t->right->least < least)
			least = t->right->least;
		REQUIRE(!pipe->gated || t->least == least);
		roots += !t->up;
	}
	REQUIRE(roots == (pipe->nr != 0));
	return 0;
}

static int check_pipe(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *pipe)
{
	struct weir_pipe weir_mem *h = weir_holder(pipe);
	struct weir_task weir_mem *prev = 0, *t;
	u32 n = 0;

	REQUIRE(!(pipe->word & ~WEIR_RECORDED) || pipe->postponed);
	weir_for_task(t, pipe) {
		REQUIRE(t->landing == pipe->idx + 1);
		REQUIRE(t->home == h->idx + 1);
		REQUIRE(t->prev == prev);
		/* Only tasks that may run are in pipes, by the number under which they came. */
		REQUIRE(weir_state(t) == WEIR_SCHEDULABLE);
		REQUIRE(weir_claim_number(t->claim) == t->placed);
		/* No change is pending. */
		REQUIRE(!t->pend);
		prev = t;
		n++;
	}
	REQUIRE(pipe->tail == prev);
	REQUIRE(pipe->nr == n);
	(void)s;
	return pipe->keyed ? check_keyed(pipe) : 0;
}

/* A task is on one path, from an entry on. */
static int check_path(const struct weir_graph weir_mem *g, const struct weir_task weir_mem *t)
{
	struct weir_pipe weir_mem *at = t->landing ? &g->pipes[t->landing - 1] : 0;
	u32 depth = WEIR_MAX_DEPTH;

	while (at && at->from && weir_loop) {
		REQUIRE(at->depth < depth);
		depth = at->depth;
		at = weir_before(at, t);
	}
	return 0;
}

/* What @pipe counts is what has come through it. */
static int check_counted(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *pipe)
{
	u32 n = 0;

	for (u32 id = 0; id < s->nr_chunks * WEIR_TASK_CHUNK && weir_loop; id++)
		if (!weir_gap(s->chunks[id / WEIR_TASK_CHUNK]))
			n += weir_pipe_has(pipe, weir_record(s, id)) != 0;
	REQUIRE(pipe->behind == n);
	return 0;
}

int weir_check(struct weir_sched weir_mem *s)
{
	struct weir_graph weir_mem *g = s->graph;
	u32 total = 0, schedulable = 0, away = 0, linked = 0, held = 0, inside = 0, posted = 0;
	int line;

	weir_budget_reset();
	if (!g)
		return 0;
	for (u32 i = 0; i < g->nr_pipes && weir_loop; i++) {
		struct weir_pipe weir_mem *p = &g->pipes[i];

		line = check_pipe(s, p);
		if (!line && p->counted)
			line = check_counted(s, p);
		if (line)
			return line;
		linked += p->nr;
		held += weir_holder(p) == p ? weir_home_nr(p) : 0;
	}
	REQUIRE(linked == held);
	for (u32 id = 0; id < s->nr_chunks * WEIR_TASK_CHUNK && weir_loop; id++) {
		struct weir_task weir_mem *t;
		u32 state;

		if (weir_gap(s->chunks[id / WEIR_TASK_CHUNK]))
			continue;
		t = weir_record(s, id);
		state = weir_state(t);
		if (state == WEIR_FREE)
			continue;
		total++;
		away += state == WEIR_AWAY;
		schedulable += state == WEIR_SCHEDULABLE;
		inside += t->landing != 0;
		/* In no home: it waits in a postponed pipe. */
		posted += state == WEIR_SCHEDULABLE && !t->home;
		REQUIRE(!t->landing || t->home);
		REQUIRE(t->home || state != WEIR_SCHEDULABLE || t->pend & WEIR_TOKEN);
		REQUIRE(!t->home || state == WEIR_SCHEDULABLE || state == WEIR_RUNNING);
		/* What runs is found by its CPU: so a swap shows it to the next graph. */
		REQUIRE(!t->home || state != WEIR_RUNNING || s->cpus[weir_last_cpu(t)].curr == t);
		line = check_path(g, t);
		if (line)
			return line;
	}
	REQUIRE(total == s->nr_tasks);
	REQUIRE(away == s->nr_away);
	/* Conservation: a schedulable task is linked, or on its way; any other is in no pipe. */
	REQUIRE(inside == linked);
	REQUIRE(linked + posted == schedulable);
	for (u32 i = 0; i < s->nr_cpus && weir_loop; i++) {
		struct weir_task weir_mem *t = s->cpus[i].curr;

		REQUIRE(!t || (weir_state(t) == WEIR_RUNNING && weir_last_cpu(t) == i));
		/* What runs is counted by the home that it was picked from. */
		REQUIRE(!t || g->cpus[i].exit == WEIR_NONE || t->home == g->cpus[i].exit + 1);
		REQUIRE(!t || weir_mask_test(s->busy, i));
		REQUIRE(!s->ctx[i].held && !s->ctx[i].own_first && !s->ctx[i].nr_msgs);
	}
	return 0;
}
