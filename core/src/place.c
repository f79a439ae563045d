/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A task's way and place (place.h): what is not in every call's path, and what components ask. */
#include "place.h"

/*
 * Where an instance with several in-pipes keeps through which of them a task came: behind its own private data. After it is the one through
 * which a review has brought it: until its place is changed, under a lock, it is where it came to by the first.
 */
static u32 weir_mem *came_by(const struct weir_instance weir_mem *inst,
			     const struct weir_task weir_mem *t)
{
	return (u32 weir_mem *)((char weir_mem *)weir_priv(inst, t) + inst->came_at);
}

WEIR_FLAT struct weir_pipe weir_mem *weir_before(const struct weir_pipe weir_mem *pipe,
						 const struct weir_task weir_mem *t)
{
	const struct weir_instance weir_mem *from = pipe->from;
	u32 port = 0;

	if (!from)
		return 0;
	if (from->nr_in > 1) {
		port = weir_load(came_by(from, t));
		port = port < from->nr_in ? port : 0;
	}
	return from->in[port];
}

/* The answer of @inst is no port of it. */
WEIR_INLINE u32 no_port(struct weir_instance weir_mem *inst, u32 port)
{
	/* The task waits here. */
	if (port != WEIR_WITHHOLD)
		weir_fault(inst->sched, inst->idx, -WEIR_EPORTS);
	return WEIR_WITHHOLD;
}

WEIR_COLD u32 weir_no_port(struct weir_instance weir_mem *inst, u32 port)
{
	return no_port(inst, port);
}

/* A step of @inst begins. 1: it has its own lock, which the caller is to give back. */
WEIR_PART u32 weir_before_step(struct weir_instance weir_mem *inst weir_arg,
			       struct weir_pipe weir_mem *pipe weir_arg,
			       struct weir_task weir_mem *t weir_arg, u32 what)
{
	struct weir_sched weir_mem *s = inst->sched;
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	struct weir_step weir_mem *step = &ctx->step;
	u32 alone = inst->serial && !inst->home;

	step->in = pipe->to_port;
	step->want = WEIR_WITHHOLD;
	step->keeps_tie = 0;
	if (inst->nr_in > 1)
		weir_store(came_by(inst, t) + (what == WEIR_REVIEW && !inst->home), pipe->to_port);
	if (weir_unlikely(ctx->mover == inst && ctx->moved == t))
		step->want = ctx->move_port;
	weir_op(s, WEIR_OP_STEP, inst->idx, what | (pipe->idx + 1) << 8);
	/* If a CPU that has stopped has the lock, it goes on without: better that than to wait for it. */
	if (weir_unlikely(alone) && weir_lock_word(s, &inst->step_lock))
		alone = 0;
	/* Who passes its lock has arrived later than who passed it before, wherever both are going; of those that keep their place, too. */
	if (alone && what == WEIR_ARRIVED) {
		if ((s32)(inst->stamp - ctx->stamp) > 0)
			ctx->stamp = inst->stamp;
		if (!ctx->keeps)
			t->seq = ++ctx->stamp;
		if ((s32)(t->seq - inst->stamp) > 0)
			inst->stamp = t->seq;
	}
	return alone;
}

/* It is over, and began with @key. */
WEIR_PART u32 weir_after_step(struct weir_instance weir_mem *inst weir_arg,
			      struct weir_pipe weir_mem *pipe weir_arg, u32 port, u32 alone,
			      u64 key)
{
	struct weir_step weir_mem *step = &weir_ctx(inst->sched)->step;

	/* Those behind it that have one in-pipe are not told which. */
	step->in = 0;
	if (weir_unlikely(alone))
		weir_spin_unlock(&inst->step_lock);
	weir_op(inst->sched, WEIR_OP_STEP_END, inst->idx, 0);
	/* There is one tie. After two orders a stage that keeps the key, or says so, leaves it as it was. */
	if (inst->ties && !(pipe->tied && (step->key == key || step->keeps_tie)))
		step->tie = key;
	return port >= inst->nr_out ? no_port(inst, port) : port;
}

WEIR_COLD u32 weir_take_step(struct weir_ctx weir_mem *ctx, struct weir_instance weir_mem *inst,
			     struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t,
			     u32 what)
{
	u64 key = ctx->step.key;
	u32 alone = weir_before_step(inst, pipe, t, what);

	return weir_after_step(inst, pipe, weir_class_step(inst, what, t, &ctx->step), alone, key);
}

WEIR_GLOBAL WEIR_RARE int weir_walk(struct weir_sched weir_mem *s weir_arg,
				    struct weir_pipe weir_mem *at weir_arg,
				    struct weir_task weir_mem *t weir_arg, u32 what, u32 first)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);

	while (at->stages && !at->to->home && (!at->postponed || first) && weir_loop) {
		struct weir_instance weir_mem *inst = at->to;
		u32 port = weir_take_step(ctx, inst, at, t, what);

		first = 0;
		if (port == WEIR_WITHHOLD)
			break;
		at = inst->out[port];
	}
	ctx->reached = at;
	return 0;
}

/* --- what instances hear ------------------------------------------------------------------------------- */

WEIR_INLINE void tell(struct weir_ctx weir_mem *ctx, struct weir_instance weir_mem *inst,
		      struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t, u32 what)
{
	if (inst->hears & (what == WEIR_PICKED ? WEIR_HEARS_PICKED : WEIR_HEARS_LEFT))
		weir_step_at(ctx, inst, pipe, what, t);
}

/* From @at, where @t waited or is picked, back to its entry; ctx->step.why says why. */
WEIR_GLOBAL WEIR_RARE int weir_hear(struct weir_sched weir_mem *s weir_arg,
				    struct weir_pipe weir_mem *at weir_arg,
				    struct weir_task weir_mem *t weir_arg, u32 what, u32 runs)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	struct weir_pipe weir_mem *before;

	/* It goes elsewhere by the answer of stages without a home: they have it still. */
	int near = what == WEIR_LEFT && ctx->step.why == WEIR_WHY_WENT;

	ctx->step.runs = runs;
	if (at->stages && (!near || at->to->home))
		tell(ctx, at->to, at, t, what);
	for (; at->from && at != ctx->until && (!near || at->from->home) && weir_loop;
	     at = before) {
		before = weir_before(at, t);
		tell(ctx, at->from, before, t, what);
	}
	return 0;
}

/* --- places; the home is locked ------------------------------------------------------------------------ */

/* Pipes between stages that are shared, but no entries, count what waits behind them: balancers ask. */
static void count_behind(struct weir_pipe weir_mem *at, const struct weir_task weir_mem *t, u32 by)
{
	while (at && weir_loop) {
		if (at->counted)
			weir_fetch_add(&at->behind, by);
		at = weir_before(at, t);
	}
}

WEIR_GLOBAL WEIR_RARE int weir_go_by(struct weir_pipe weir_mem *end weir_arg,
				     struct weir_task weir_mem *t weir_arg)
{
	u32 landing = t->landing;
	struct weir_pipe weir_mem *at = landing ? &end->sched->graph->pipes[landing - 1] : 0;

	at = at && at->counts ? at : 0;
	count_behind(at, t, (u32)-1);
	while (end->from && weir_loop) {
		const struct weir_instance weir_mem *inst = end->from;

		if (inst->nr_in > 1)
			weir_store(came_by(inst, t), weir_load(came_by(inst, t) + 1));
		end = weir_before(end, t);
	}
	count_behind(at, t, 1);
	return 0;
}

WEIR_GLOBAL WEIR_RARE int weir_count_at(struct weir_pipe weir_mem *h weir_arg,
					struct weir_pipe weir_mem *at weir_arg,
					struct weir_task weir_mem *t weir_arg, u32 by, u32 steps)
{
	weir_use(steps);
	weir_op(h->sched, by == 1 ? WEIR_OP_LINK : WEIR_OP_UNLINK, at->idx, steps | t->id << 8);
	if (at->counts)
		count_behind(at, t, by);
	if (at != h) {
		weir_store(&h->held, weir_load(&h->held) + by);
		h->apart = 1;
		h->simple = 0;
	}
	if (weir_home_nr(h) > h->max_nr)
		weir_store(&h->max_nr, weir_home_nr(h));
	return 0;
}

/* @h counts @t no longer, which waited or ran there; its instances are still to hear of it. The pipe where it was. */
WEIR_PART u64 weir_take_out(struct weir_sched weir_mem *s weir_arg,
			    struct weir_pipe weir_mem *h weir_arg,
			    struct weir_task weir_mem *t weir_arg)
{
	u32 waits = t->landing;
	struct weir_pipe weir_mem *at = h;

	if (waits) {
		at = &s->graph->pipes[waits - 1];
		weir_unlink_at(h, at, t, 0);
	}
	return (u64)at;
}

WEIR_FLAT int weir_drop(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *h,
			struct weir_task weir_mem *t, u32 why)
{
	struct weir_ctx weir_mem *ctx;
	struct weir_pipe weir_mem *at;
	u32 waits = t->landing, was;

	if (weir_load(&t->home) != h->idx + 1)
		return 0;
	at = (struct weir_pipe weir_mem *)weir_take_out(s, h, t);
	if (at->hears & WEIR_HEARS_LEFT) {
		ctx = weir_ctx(s);
		was = ctx->step.why;
		ctx->step.why = why;
		weir_hear(s, at, t, WEIR_LEFT, !waits);
		ctx->step.why = was;
		ctx->step.runs = 0;
	}
	weir_store_release(&t->home, 0);
	return 0;
}

WEIR_FLAT WEIR_RARE int weir_place(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *at,
				   struct weir_task weir_mem *t, u32 number)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);

	weir_place_from(ctx, weir_holder(at), at, t, number, ctx->keeps, 1);
	return 0;
}

/* --- once more ------------------------------------------------------------------------------------------ */

/* The pipe through which @t came into home @h, where it is linked in @at or runs (@at: the exit). */
WEIR_GLOBAL u64 weir_came_in(struct weir_pipe weir_mem *h weir_arg,
			     struct weir_pipe weir_mem *at weir_arg,
			     struct weir_task weir_mem *t weir_arg)
{
	struct weir_pipe weir_mem *before;

	for (; at->home == h && at->from && weir_loop; at = before) {
		before = weir_before(at, t);
		if (before->home != h)
			break;
	}
	return (u64)at;
}

/* The out-pipe of @at's receiver by which @t, which is linked in @end or runs, went on. */
struct weir_pipe weir_mem *weir_went_on(struct weir_pipe weir_mem *at,
					struct weir_pipe weir_mem *end,
					struct weir_task weir_mem *t)
{
	struct weir_pipe weir_mem *before;

	if (at->to->nr_out == 1)
		return at->to->out[0];
	for (; end->from && weir_loop; end = before) {
		before = weir_before(end, t);
		if (before == at)
			break;
	}
	return end;
}

/*
 * @t is about to leave @old for @now, both of home @h: stages on the way back from the one that are not on that from the other hear that it has
 * left. (Most often there are none, or it stays.)
 */
WEIR_GLOBAL WEIR_RARE int weir_leave_stages(struct weir_sched weir_mem *s weir_arg,
					    struct weir_pipe weir_mem *old weir_arg,
					    struct weir_pipe weir_mem *now weir_arg,
					    struct weir_task weir_mem *t weir_arg)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	struct weir_pipe weir_mem *p = old, *q;

	ctx->step.why = WEIR_WHY_WENT;
	/* Pipe by pipe: the receiver of @p has had @t. */
	while (p && p->home && weir_loop) {
		for (q = now; q && q != p && weir_loop;)
			q = weir_before(q, t);
		if (q)
			break;
		if (p->stages)
			tell(ctx, p->to, p, t, WEIR_LEFT);
		p = weir_before(p, t);
	}
	return 0;
}

/* The steps of a review, from pipe @at of home @h on: where they place @t now. */
WEIR_PART u64 weir_steps_again(struct weir_sched weir_mem *s weir_arg,
			       struct weir_pipe weir_mem *h weir_arg,
			       struct weir_pipe weir_mem *at weir_arg,
			       struct weir_task weir_mem *t weir_arg)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	u32 what = WEIR_REVIEW;

	while (at->stages && at->to->home == h && weir_loop) {
		struct weir_instance weir_mem *inst = at->to;
		struct weir_pipe weir_mem *old, *on;
		u32 port = weir_step_with(ctx, inst, at, what, t, inst->careful || ctx->moved == t);

		if (port == WEIR_WITHHOLD)
			break;
		weir_only_now(inst);
		weir_only_now(s);
		on = inst->out[port];
		/* Behind where it was withheld, or on another way, stages have not had it yet. */
		if (what == WEIR_REVIEW) {
			old = &s->graph->pipes[t->landing - 1];
			if (at == old || (inst->nr_out > 1 && on != weir_went_on(at, old, t)))
				what = WEIR_ARRIVED;
		}
		at = on;
	}
	return (u64)at;
}

/* @t is in @h where the last step has placed it, in @at. */
WEIR_PART int weir_place_again(struct weir_sched weir_mem *s weir_arg,
			       struct weir_pipe weir_mem *h weir_arg,
			       struct weir_pipe weir_mem *at weir_arg,
			       struct weir_task weir_mem *t weir_arg)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	struct weir_pipe weir_mem *old = &s->graph->pipes[t->landing - 1];

	if (at == old && (!at->keyed || (ctx->step.key == t->key && ctx->step.tie == t->tie &&
					 ctx->step.gate == t->gate))) {
		/* It may be that a CPU may take it only now. */
		if (!at->stages && at->nr_cpus > 1)
			weir_kick(at, t);
		return 0;
	}
	weir_unlink_at(h, old, t, 0);
	weir_link_at(h, ctx, at, t, 0);
	weir_call_for(ctx, at, t);
	return 0;
}

WEIR_FLAT int weir_review_here(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *h,
			       struct weir_pipe weir_mem *at, struct weir_task weir_mem *t)
{
	struct weir_pipe weir_mem *old = &s->graph->pipes[t->landing - 1];
	struct weir_pipe weir_mem *counts = old->counts ? old : 0;

	/* It may have come in elsewhere than before. */
	count_behind(counts, t, (u32)-1);
	at = (struct weir_pipe weir_mem *)weir_steps_again(s, h, at, t);
	count_behind(counts, t, 1);
	if (at != old && h->hears & WEIR_HEARS_LEFT)
		weir_leave_stages(s, old, at, t);
	return weir_place_again(s, h, at, t);
}

/* --- for components ---------------------------------------------------------------------------------------- */

WEIR_INLINE int has(const struct weir_pipe weir_mem *pipe, const struct weir_task weir_mem *t)
{
	u32 landing = weir_load_acquire(&t->landing);
	struct weir_pipe weir_mem *at;

	if (!landing || landing > pipe->sched->graph->nr_pipes)
		return 0;
	for (at = &pipe->sched->graph->pipes[landing - 1]; at && weir_loop; at = weir_before(at, t))
		if (at == pipe)
			return 1;
	return 0;
}

WEIR_GLOBAL int weir_pipe_has(const struct weir_pipe weir_mem *pipe weir_arg,
			      const struct weir_task weir_mem *t weir_arg)
{
	return has(pipe, t);
}

WEIR_GLOBAL WEIR_RARE u32 weir_port_of(const struct weir_instance weir_mem *self weir_arg,
				       const struct weir_task weir_mem *t weir_arg)
{
	const struct weir_graph weir_mem *g = self->sched->graph;
	u32 landing = weir_load_acquire(&t->landing);
	struct weir_pipe weir_mem *at;

	if (!landing || landing > g->nr_pipes)
		return WEIR_WITHHOLD;
	for (at = &g->pipes[landing - 1]; at && weir_loop; at = weir_before(at, t))
		if (at->from == self)
			return at->from_port;
	return WEIR_WITHHOLD;
}

WEIR_GLOBAL u64 weir_member(struct weir_pipe weir_mem *pipe weir_arg,
			    struct weir_task weir_mem *t weir_arg)
{
	struct weir_graph weir_mem *g = pipe->sched->graph;
	struct weir_pipe weir_mem *at = t ? &g->pipes[t->landing - 1] : weir_holder(pipe);

	t = t ? t->next : at->head;
	while (weir_loop) {
		for (; t && weir_loop; t = t->next)
			if (at == pipe || has(pipe, t))
				return (u64)t;
		if (!at->next_in_home)
			break;
		at = &g->pipes[at->next_in_home - 1];
		t = at->head;
	}
	return 0;
}

/* @p is behind @pipe, or could be: several pipes of one depth share what is behind them. */
static int is_behind(const struct weir_pipe weir_mem *pipe, const struct weir_pipe weir_mem *p)
{
	if (p->depth <= pipe->depth || (pipe->home && p->home != pipe->home))
		return 0;
	for (u32 w = p->word_lo; p->nr_cpus && w <= p->word_hi && weir_loop; w++)
		if (p->cpus->word[w] & ~pipe->cpus->word[w])
			return 0;
	return 1;
}

/* Without locks: each number is right for itself. */
WEIR_GLOBAL WEIR_RARE u32 weir_pipe_count(const struct weir_pipe weir_mem *pipe weir_arg)
{
	const struct weir_graph weir_mem *g = pipe->sched->graph;
	u32 nr = weir_load(&pipe->nr);

	if (!pipe->stages)
		return nr;
	if (pipe->whole)
		return weir_home_nr(pipe->whole) + weir_load(&pipe->behind);
	if (pipe->counted)
		return weir_load(&pipe->behind);
	if (pipe->postponed)
		nr += weir_load(&pipe->behind);
	for (u32 i = 0; i < g->nr_pipes && weir_loop; i++) {
		u32 more = weir_load(&g->pipes[i].nr);

		if (more && is_behind(pipe, &g->pipes[i]))
			nr += more;
	}
	return nr;
}

WEIR_GLOBAL int weir_in_hand(struct weir_sched weir_mem *s weir_arg,
			     const struct weir_task weir_mem *t weir_arg)
{
	if (weir_load(&t->home) || weir_load(&t->pend))
		return 0;
	if (weir_state(t) != WEIR_SCHEDULABLE)
		return 1;
	/* Pairs with the fence in submit(): either that call sees the change, or the place is seen here. */
	weir_fetch_add(&s->changes, 1);
	weir_heavy_fence();
	return !weir_load(&t->home);
}

WEIR_GLOBAL u64 weir_pipe_added(const struct weir_pipe weir_mem *pipe weir_arg)
{
	const struct weir_graph weir_mem *g = pipe->sched->graph;
	u64 added = 0;

	if (!pipe->stages)
		return weir_load(&pipe->nr_added);
	if (pipe->whole)
		return weir_load(&pipe->whole->nr_added);
	for (u32 i = 0; i < g->nr_pipes && weir_loop; i++)
		if (!g->pipes[i].stages && is_behind(pipe, &g->pipes[i]))
			added += weir_load(&g->pipes[i].nr_added);
	return added;
}

WEIR_GLOBAL int weir_review(struct weir_instance weir_mem *self weir_arg,
			    struct weir_task weir_mem *t weir_arg)
{
	/* (A graph that is being taken down asks for nothing.) */
	if (weir_ctx(self->sched)->collects || weir_in_hand(self->sched, t))
		return 0;
	return weir_note(self->sched, t, self->home ? WEIR_AGAIN : WEIR_AFRESH);
}

WEIR_GLOBAL int weir_review_all(struct weir_instance weir_mem *self weir_arg)
{
	struct weir_sched weir_mem *s = self->sched;
	struct weir_graph weir_mem *g = s->graph;

	/* As when the CPUs of a large machine start, one by one. */
	if (!weir_load(&s->nr_tasks))
		return 0;
	weir_recall_posted(s);
	for (u32 i = 0; i < g->nr_pipes && weir_loop; i++) {
		struct weir_pipe weir_mem *p = &g->pipes[i];

		if (weir_holder(p) == p && !p->postponed &&
		    (weir_home_nr(p) || weir_load(&p->word) & ~WEIR_RECORDED))
			weir_ask_home(s, p, WEIR_ANEW);
	}
	return 0;
}

WEIR_GLOBAL int weir_move(struct weir_instance weir_mem *self weir_arg,
			  struct weir_task weir_mem *t weir_arg, u32 port)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(self->sched);

	if (ctx->moved || !weir_load(&t->home) || weir_cas(&t->pend, 0, WEIR_TOKEN | WEIR_AFRESH))
		return -WEIR_EBUSY;
	ctx->mover = self;
	ctx->moved = t;
	ctx->move_port = port;
	weir_own(self->sched, ctx, t);
	return 0;
}

WEIR_COLD u32 weir_withhold(struct weir_instance weir_mem *self, u32 what,
			    struct weir_task weir_mem *t, u64 until)
{
	if (what == WEIR_ARRIVED || !weir_withheld(self, t))
		weir_publish(self, WEIR_TOPIC_WITHHELD, t, WEIR_NO_CPU, until);
	return WEIR_WITHHOLD;
}

WEIR_FLAT u32 weir_send(struct weir_instance weir_mem *self, u32 what, struct weir_task weir_mem *t,
			struct weir_pipe weir_mem *to)
{
	return to ? to->from_port : weir_withhold(self, what, t, 0);
}
