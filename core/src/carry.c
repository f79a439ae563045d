/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Carried tasks: from an entry on, as long as the receivers' updates serve as steps (enum weir_carries), a task goes from stage to stage
 * without a link, a log record or a worklist entry. It is linked where its path ends: in an exit, before a receiver that takes no steps,
 * or in the pipe whose receiver withholds it. `landing` names that pipe. Membership of the pipes before it follows from the wiring.
 * docs/decisions/0050.
 *
 * A CPU that moves a task from one pipe to another holds both locks, in rank order, and makes the new link before it removes the old one.
 * So a waiting task is always linked somewhere; a CPU that removes it reads `landing`, locks that pipe, and reads `landing` again.
 *
 * Logs and worklists remain for everything except the arrival of one task: reviews, rebuilds, inboxes, replacements. For these a task is
 * linked in the pipe of the receiver that must see it, and moves on with that receiver's update.
 */
#include "internal.h"

/* --- which pipes ---------------------------------------------------------------------------------- */

/* Whether the updates of @inst may serve as steps: a task's path to it follows from the wiring. */
WEIR_GLOBAL int weir_carry_instance(struct weir_sched weir_mem *s weir_arg,
				    struct weir_instance weir_mem *inst weir_arg)
{
	u32 carries = s->logged || weir_distributed(s) ? 0 : s->classes[inst->class].carries;

	for (u32 i = 0; i < inst->nr_in && carries && weir_loop; i++) {
		const struct weir_pipe weir_mem *in = inst->in[i];

		/* With several in-pipes, the CPU where the task entered selects one. */
		if (in->postponed || in->keyed || (inst->nr_in > 1 && in->from))
			carries = 0;
		if (in->from && s->classes[in->from->class].carries & WEIR_CARRIES_TO_OUTS)
			carries = 0;
	}
	inst->carries = carries;
	return 0;
}

/* Whether the receivers between @pipe and the entry take steps. (A pipe that several entries lead to ends this: its order is its own.) */
static int from_entry(const struct weir_pipe weir_mem *pipe)
{
	while (pipe->from && weir_loop) {
		if (!pipe->from->carries || pipe->from->nr_in != 1)
			return 0;
		pipe = pipe->from->in[0];
	}
	return 1;
}

/* The pipe where the tasks of carried @pipe are linked, if there is exactly one; else null. */
static struct weir_pipe weir_mem *only_landing(struct weir_pipe weir_mem *pipe)
{
	while (pipe->carried & WEIR_CARRIED && weir_loop) {
		if (pipe->to->nr_out != 1)
			return 0;
		pipe = pipe->to->out[0];
	}
	return pipe;
}

/* Mark the pipes through which tasks are carried, in a complete graph that is not in use. */
WEIR_GLOBAL int weir_carry_plan(struct weir_sched weir_mem *s weir_arg,
				struct weir_graph weir_mem *g weir_arg)
{
	u32 i;

	for (i = 0; i < g->nr_instances && weir_loop; i++)
		if (!weir_gap(g->instances[i]))
			weir_carry_instance(s, g->instances[i]);
	for (i = 0; i < g->nr_pipes && weir_loop; i++) {
		struct weir_pipe weir_mem *p = &g->pipes[i];

		p->carried = 0;
		if (!weir_gap(p->to) && p->to->carries && from_entry(p))
			p->carried |= (p->to->carries & WEIR_CARRIES_HOW) == WEIR_CARRIES_LOCKED
					      ? WEIR_CARRIED | WEIR_ALONE
					      : WEIR_CARRIED;
		if (p->from && p->from->carries && from_entry(p->from->in[0]))
			p->carried |= WEIR_FED;
	}
	for (i = 0; i < g->nr_pipes && weir_loop; i++) {
		struct weir_pipe weir_mem *p = &g->pipes[i];

		p->deep = 0;
		if (!(p->carried & WEIR_CARRIED) || s->exclusive)
			continue;
		p->deep = only_landing(p);
		/* No component balances by the length of an entry. */
		if (!p->deep && p->from)
			p->carried |= WEIR_COUNTED;
	}
	for (i = 0; i < g->nr_pipes && weir_loop; i++) {
		const struct weir_pipe weir_mem *at = &g->pipes[i];

		while (at->carried & WEIR_FED && weir_loop) {
			at = at->from->in[0];
			if (at->carried & WEIR_COUNTED)
				g->pipes[i].carried |= WEIR_BEHIND_COUNTED;
		}
	}
	return 0;
}

/* --- the path of a task ----------------------------------------------------------------------------- */

int weir_passed(const struct weir_pipe weir_mem *pipe, const struct weir_task weir_mem *t)
{
	const struct weir_pipe weir_mem *at = weir_landing(pipe->sched, t);

	while (at && at->slot > pipe->slot && weir_loop)
		at = weir_before(at, t);
	return at == pipe;
}

/* The carried pipe of depth @slot through which @t passed: its address; 0: none. */
WEIR_GLOBAL u64 weir_carried_at(struct weir_sched weir_mem *s weir_arg,
				const struct weir_task weir_mem *t weir_arg, u32 slot)
{
	const struct weir_pipe weir_mem *at = weir_landing(s, t);

	while (at && at->slot > slot && weir_loop)
		at = weir_before(at, t);
	return at && at->slot == slot && at->carried & WEIR_CARRIED ? (u64)at : 0;
}

/* @t, which is or was linked in @landing, leaves the carried pipes before that from depth @slot on. */
WEIR_GLOBAL int weir_leave(struct weir_sched weir_mem *s weir_arg,
			   struct weir_pipe weir_mem *landing weir_arg,
			   const struct weir_task weir_mem *t weir_arg, u32 slot)
{
	struct weir_pipe weir_mem *at = landing;

	weir_use(s);
	if (!weir_solo(s)) {
		for (at = weir_before(at, t); at && at->slot >= slot && weir_loop;
		     at = weir_before(at, t))
			if (at->carried & WEIR_COUNTED)
				weir_fetch_add(&at->through, (u32)-1);
		return 0;
	}
	/* From shallow to deep, in the order in which operations are reported. */
	for (; slot < landing->slot && weir_loop; slot++) {
		at = landing;
		while (at && at->slot > slot && weir_loop)
			at = weir_before(at, t);
		if (!at || at->slot != slot)
			continue;
		weir_op(s, WEIR_OP_LEAVE, at->idx, 0);
		at->through--;
		at->nr_removed++;
	}
	return 0;
}

/* --- order by arrival, if calls do not overlap ---------------------------------------------------------- */

/* Merge two lists of @pipe's hooks, chained by `next`. */
static struct weir_task weir_mem *merge_lists(const struct weir_pipe weir_mem *pipe,
					      struct weir_task weir_mem *a,
					      struct weir_task weir_mem *b)
{
	struct weir_task weir_mem *first = 0, *last = 0;

	while (a && b && weir_loop) {
		struct weir_task weir_mem *t = weir_arrival(b) < weir_arrival(a) ? b : a;

		if (t == a)
			a = weir_hook(pipe, a)->next;
		else
			b = weir_hook(pipe, b)->next;
		if (last)
			weir_hook(pipe, last)->next = t;
		else
			first = t;
		last = t;
	}
	if (!last)
		return a ? a : b;
	weir_hook(pipe, last)->next = a ? a : b;
	return first;
}

#define RUNS 32u /* merged lists of doubling numbers of runs */

/* Merge runs that are already in order: there is at most one per pipe that the tasks came from. */
void weir_sort_by_arrival(struct weir_pipe weir_mem *pipe)
{
	struct weir_task weir_mem *runs[RUNS] = { 0 }, *rest = pipe->head, *prev = 0, *t;
	u32 i;

	while (rest) {
		struct weir_task weir_mem *run = rest, *end = rest;

		for (;;) {
			rest = weir_hook(pipe, end)->next;
			if (!rest || weir_arrival(rest) < weir_arrival(end))
				break;
			end = rest;
		}
		weir_hook(pipe, end)->next = 0;
		for (i = 0; i < RUNS - 1 && runs[i]; i++) {
			run = merge_lists(pipe, runs[i], run);
			runs[i] = 0;
		}
		runs[i] = runs[i] ? merge_lists(pipe, runs[i], run) : run;
	}
	t = 0;
	for (i = 0; i < RUNS; i++)
		t = merge_lists(pipe, runs[i], t);
	pipe->head = t;
	for (; t; t = weir_hook(pipe, t)->next) {
		weir_hook(pipe, t)->prev = prev;
		prev = t;
	}
	pipe->tail = prev;
}

/* --- members ------------------------------------------------------------------------------------------ */

/* The next member to visit in pipe @at, after @t if that is still there; @in is locked. */
static struct weir_task weir_mem *not_visited(struct weir_pipe weir_mem *in,
					      struct weir_pipe weir_mem *at,
					      struct weir_task weir_mem *t, u32 visit)
{
	t = t && weir_pipe_linked(at, t) ? weir_pipe_next(at, t) : at->head;
	for (; t && weir_loop; t = weir_pipe_next(at, t)) {
		/* The number is that of a free record otherwise. */
		if (t->next_free == visit || (at != in && !weir_passed(in, t)))
			continue;
		t->next_free = visit;
		break;
	}
	return t;
}

/*
 * If calls do not overlap, members are visited in order: all are temporarily chained in the list of carried @in, as if they were linked
 * there. Returns the first one, or null.
 */
static struct weir_task weir_mem *chain_all(struct weir_pipe weir_mem *in)
{
	struct weir_graph weir_mem *g = in->sched->graph;
	struct weir_task weir_mem *t;

	weir_unchain(weir_ctx(in->sched));
	if (!weir_pipe_nr(in))
		return 0;
	for (u32 i = 0; in->through && i < g->nr_pipes && weir_loop; i++) {
		struct weir_pipe weir_mem *at = &g->pipes[i];

		if (!at->carried || at->slot <= in->slot)
			continue;
		weir_for_task(t, at)
			if (weir_passed(in, t))
				weir_list_link(in, t, in->tail);
	}
	weir_sort_by_arrival(in);
	weir_ctx(in->sched)->chained = in;
	return in->head;
}

void weir_unchain(struct weir_ctx weir_mem *ctx)
{
	struct weir_pipe weir_mem *in = ctx->chained;
	struct weir_task weir_mem *t, *next;

	if (!in)
		return;
	ctx->chained = 0;
	t = in->head;
	in->head = 0;
	in->tail = 0;
	for (; t; t = next) {
		next = weir_pipe_next(in, t);
		if (weir_pipe_holds(in, t)) {
			weir_list_link(in, t, in->tail);
		} else {
			weir_hook(in, t)->next = 0;
			weir_hook(in, t)->prev = 0;
		}
	}
}

WEIR_GLOBAL u64 weir_member(struct weir_pipe weir_mem *in weir_arg,
			    struct weir_task weir_mem *t weir_arg)
{
	struct weir_sched weir_mem *s = in->sched;
	struct weir_ctx weir_mem *ctx = weir_ctx(s);

	if (!(in->carried & WEIR_CARRIED))
		return t ? (u64)weir_pipe_next(in, t) : (u64)in->head;
	if (weir_solo(s)) {
		t = t ? weir_pipe_next(in, t) : chain_all(in);
		if (!t)
			weir_unchain(ctx);
		return (u64)t;
	}
	weir_unvisit(s, ctx);
	if (!t) {
		ctx->visit = WEIR_VISIT | weir_fetch_add(&s->visits, 1);
		ctx->visit_at = 0;
	}
	while (ctx->visit_at <= s->graph->nr_pipes && weir_loop) {
		struct weir_pipe weir_mem *at =
			ctx->visit_at ? &s->graph->pipes[ctx->visit_at - 1] : in;

		if (!ctx->visit_at) {
			t = not_visited(in, in, t, ctx->visit);
			if (t)
				return (u64)t;
		} else if (at->carried && at->slot > in->slot && weir_load(&at->nr) &&
			   !weir_pipe_lock(at)) {
			t = not_visited(in, at, t, ctx->visit);
			/* After the unlock it may run and end: its record stays until it has been visited. */
			if (t)
				weir_fetch_add(&t->refs, 1);
			ctx->visited = t;
			weir_pipe_unlock(at);
			if (t)
				return (u64)t;
		}
		t = 0;
		ctx->visit_at++;
	}
	return 0;
}

/*
 * Link all members of carried @in there, in order; it is locked. -WEIR_EAGAIN: some could not be moved. (If calls overlap, members have
 * only the order of the pipes where they are.)
 */
WEIR_GLOBAL int weir_recall_all(struct weir_pipe weir_mem *in weir_arg)
{
	struct weir_sched weir_mem *s = in->sched;
	int err = 0;

	for (u32 i = 0; i < s->graph->nr_pipes && weir_loop; i++) {
		struct weir_pipe weir_mem *at = &s->graph->pipes[i];
		struct weir_task weir_mem *t, *next;

		if (at == in || !at->carried || at->slot <= in->slot)
			continue;
		if (weir_load(&at->inbox) && !weir_pipe_lock(at)) {
			weir_inbox_open(at);
			weir_pipe_unlock(at);
		}
		if (!weir_load(&at->nr))
			continue;
		for (t = at->head; t && weir_loop; t = next) {
			next = weir_pipe_next(at, t);
			if (weir_passed(in, t) && weir_recall(in, t, in->slot + 1) < 0)
				err = -WEIR_EAGAIN;
		}
	}
	if (weir_solo(s))
		weir_sort_by_arrival(in);
	return err;
}

/* --- swaps ------------------------------------------------------------------------------------------ */

/*
 * For a swap, which discards the hooks: chain all tasks of each carried entry in its list, including those linked further on. No call is
 * under way, and all inboxes are empty.
 */
WEIR_GLOBAL int weir_gather(struct weir_sched weir_mem *s weir_arg,
			    struct weir_graph weir_mem *g weir_arg)
{
	u32 i;

	for (i = 0; i < g->nr_pipes && weir_loop; i++) {
		struct weir_pipe weir_mem *p = &g->pipes[i], *entry;
		struct weir_task weir_mem *t;

		/* Tasks are linked once: in no pipe that is fed and before others that are. */
		if (!(p->carried & WEIR_FED))
			continue;
		weir_for_task(t, p) {
			entry = &g->pipes[g->cpus[t->entry_cpu].entry];
			weir_list_link(entry, t, entry->tail);
		}
	}
	for (i = 0; weir_solo(s) && i < g->nr_pipes && weir_loop; i++)
		if (g->pipes[i].carried & WEIR_CARRIED && !g->pipes[i].from)
			weir_sort_by_arrival(&g->pipes[i]);
	return 0;
}
