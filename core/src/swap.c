/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Reconfiguration. Source: 0, 7.3.3; DESIGN D5; docs/decisions/0006.
 *
 * Everything that can fail happens before the first change: the new graph, its instances, hooks and
 * private data are built beside the old ones. Then the tasks move over, which cannot fail.
 */
#include "internal.h"

/* Callers continue. A CPU that sleeps because it was held off is kicked; pairs with enter_to_pick(). */
WEIR_GLOBAL int weir_start_readers(struct weir_sched weir_mem *s weir_arg)
{
	struct weir_msg kick = { .topic = WEIR_TOPIC_KICK };

	/* (Without a graph nobody comes in.) */
	weir_store_release(&s->writer, s->graph ? 0 : WEIR_NO_GRAPH);
	weir_fence();
	for (u32 i = 0; i < s->nr_cpus && weir_loop; i++) {
		if (!weir_load(&s->ctx[i].missed))
			continue;
		weir_store(&s->ctx[i].missed, 0);
		kick.cpu = i;
		if (weir_mask_clear(s->idle, i) && s->rt_topics & WEIR_TOPIC_BIT(KICK))
			weir_rt_message(s, &kick);
	}
	return 0;
}

/* Hold off new calls and wait for those under way. */
WEIR_GLOBAL int weir_stop_readers(struct weir_sched weir_mem *s weir_arg)
{
	WEIR_WAIT(wait);

	if (s->graph && weir_cas(&s->writer, 0, 1))
		return -WEIR_EBUSY;
	weir_heavy_fence();
	for (u32 i = 0; i < s->nr_cpus && weir_loop; i++) {
		u32 busy = weir_load_acquire(&s->ctx[i].readers);

		/* Once it was 0, it rises only briefly: a CPU that enters sees the writer and leaves. */
		while (busy && weir_wait_long(wait, s->patience) && weir_loop)
			busy = weir_load_acquire(&s->ctx[i].readers);
		if (busy) {
			/* Waited too long; nothing has changed yet. */
			weir_start_readers(s);
			return -WEIR_EAGAIN;
		}
	}
	return 0;
}

/* The private data and state of an instance that continues under the same class. */
static void inherit(struct weir_sched weir_mem *s, struct weir_instance weir_mem *to,
		    struct weir_instance weir_mem *from)
{
	if (to->per_task && to->per_task == from->per_task) {
		weir_instance_priv_free(s, to);
		to->priv = from->priv;
		from->priv = 0;
	} else if (to->came_at && from->priv) {
		/* Another number of in-pipes: the rest of the data is the same. */
		for (u32 id = 0; id < s->nr_chunks * WEIR_TASK_CHUNK && weir_loop; id++)
			if (!weir_gap(s->chunks[id / WEIR_TASK_CHUNK]))
				weir_copy(weir_priv(to, weir_record(s, id)),
					  weir_priv(from, weir_record(s, id)), to->came_at);
	}
	if (s->classes[to->class].has & WEIR_HAS_TAKE_STATE)
		weir_class_take_state(to, from);
}

/* Run the private constructor or destructor of one instance for every task. */
WEIR_GLOBAL int weir_each_task(struct weir_sched weir_mem *s weir_arg,
			       struct weir_instance weir_mem *inst weir_arg, int init)
{
	u32 has = s->classes[inst->class].has;

	if (!(has & (init ? WEIR_HAS_TASK_INIT : WEIR_HAS_TASK_EXIT)))
		return 0;
	for (u32 id = 0; id < s->nr_chunks * WEIR_TASK_CHUNK && weir_loop; id++) {
		struct weir_task weir_mem *t;

		if (weir_gap(s->chunks[id / WEIR_TASK_CHUNK]))
			continue;
		t = &s->chunks[id / WEIR_TASK_CHUNK][id % WEIR_TASK_CHUNK];
		if (weir_state(t) == WEIR_FREE || weir_state(t) == WEIR_DEAD)
			continue;
		if (init)
			weir_class_task_init(inst, t);
		else
			weir_class_task_exit(inst, t);
	}
	return 0;
}

/* The instance of the old graph that continues as @pi, or null. */
static struct weir_instance weir_mem *kept(struct weir_graph weir_mem *old,
					   const struct weir_plan_instance weir_mem *pi)
{
	struct weir_instance weir_mem *from =
		old && pi->keep < old->nr_instances ? old->instances[pi->keep] : 0;

	return from && from->class == pi->class ? from : 0;
}

/* --- tasks from graph to graph; no other call is under way, and all inboxes of homes are empty ------------- */

/* Two chains in order of arrival, as one. */
WEIR_INLINE struct weir_task weir_mem *merged(struct weir_task weir_mem *a,
					      struct weir_task weir_mem *b)
{
	struct weir_task weir_mem *first = 0, *last = 0, *next;

	while (a && b && weir_loop) {
		if (weir_came_before(b, a)) {
			next = b;
			b = b->next;
		} else {
			next = a;
			a = a->next;
		}
		if (last)
			last->next = next;
		else
			first = next;
		last = next;
	}
	if (!last)
		return a ? a : b;
	last->next = a ? a : b;
	return first;
}

/*
 * The run that was being collected is over: it is merged with one of as many runs, and so on, so that n tasks in k runs take n log k steps.
 * (Tasks of a pipe in order of arrival are a run.) @all: it was the last one, and all become one.
 */
WEIR_GLOBAL int weir_merge_run(struct weir_graph weir_mem *g weir_arg, int all)
{
	struct weir_task weir_mem *run = g->first;
	u32 level = 0;

	for (; level < WEIR_MERGES && (all || g->runs[level]) && weir_loop; level++) {
		run = merged(g->runs[level], run);
		g->runs[level] = 0;
	}
	g->first = all ? run : 0;
	g->last = 0;
	if (!all)
		g->runs[level < WEIR_MERGES ? level : WEIR_MERGES - 1] = run;
	return 0;
}

/* It is collected: after those that came before it, or it begins a run. */
static void collect_task(struct weir_graph weir_mem *g, struct weir_task weir_mem *t)
{
	if (g->last && weir_came_before(t, g->last))
		weir_merge_run(g, 0);
	t->next = 0;
	if (g->last)
		g->last->next = t;
	else
		g->first = t;
	g->last = t;
}

/*
 * The pipe from another domain through which @t came to @at: it starts there again (weir_keep_borders()). Null: it came from an entry of
 * this domain.
 */
static struct weir_pipe weir_mem *border_of(struct weir_pipe weir_mem *at,
					    const struct weir_task weir_mem *t)
{
	while (WEIR_DOMAINS && at->from && weir_loop)
		at = weir_before(at, t);
	return WEIR_DOMAINS && at->inward ? at : 0;
}

/* What was put off in @p. */
static void collect_posted(struct weir_sched weir_mem *s, struct weir_graph weir_mem *g,
			   struct weir_pipe weir_mem *p)
{
	u32 id = weir_take_posted(p);

	while (id && weir_loop) {
		struct weir_task weir_mem *t = weir_record(s, id - 1);
		struct weir_pipe weir_mem *start = border_of(p, t);

		id = weir_load(&t->in_next);
		p->behind--;
		weir_store(&t->pend, 0);
		weir_store(&t->in_next, start ? start->idx + 1 : 0);
		if (weir_state(t) == WEIR_SCHEDULABLE)
			collect_task(g, t);
		else if (weir_state(t) == WEIR_DEAD)
			weir_task_ended(s, t);
	}
}

/* The in-pipe of @inst through which @t came to @at; null: it came another way. */
static struct weir_pipe weir_mem *way_to(struct weir_instance weir_mem *inst,
					 struct weir_pipe weir_mem *at,
					 struct weir_task weir_mem *t)
{
	while (at && at->to != inst && weir_loop)
		at = weir_before(at, t);
	return at;
}

/*
 * Where @t, which came to @at, starts in the graph that follows: null: at its entry, or at the border, as everything is new (@inst is null), or it
 * came another way than through @inst, or its keys come from there. Else only @inst is new: where its home begins, or before it.
 */
static struct weir_pipe weir_mem *start_of(struct weir_instance weir_mem *inst,
					   struct weir_pipe weir_mem *at,
					   struct weir_task weir_mem *t)
{
	struct weir_pipe weir_mem *start = inst ? way_to(inst, at, t) : 0;

	if (start && inst->home)
		start = (struct weir_pipe weir_mem *)weir_came_in(inst->home, at, t);
	return start && !start->keyed ? start : 0;
}

/* @t, which waits in @p or runs there, is the next that leaves the graph. 0: it stays, because it did not come through @inst (null: the whole graph is replaced). */
WEIR_INLINE int leaves(struct weir_ctx weir_mem *ctx, struct weir_graph weir_mem *g,
		       struct weir_instance weir_mem *inst, struct weir_pipe weir_mem *p,
		       struct weir_task weir_mem *t)
{
	if (!g->all && !way_to(inst, p, t))
		return 0;
	ctx->until = start_of(inst, p, t);
	g->leaves = t;
	g->leaves_at = weir_holder(p);
	return 1;
}

/* The next task that leaves the graph, or its home as it runs: 1, or 0: none. The one before has done so, and waits among those collected. */
WEIR_GLOBAL int weir_next_leaves(struct weir_sched weir_mem *s weir_arg,
				 struct weir_instance weir_mem *inst weir_arg)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	struct weir_graph weir_mem *g = s->graph;
	struct weir_task weir_mem *t;
	u32 i;

	if (g->leaves && g->scan < g->nr_pipes)
		collect_task(g, g->leaves);
	for (; g->scan < g->nr_pipes && weir_loop; g->scan++) {
		struct weir_pipe weir_mem *p = &g->pipes[g->scan], *start;

		t = g->leaves ? g->follows : p->head;
		for (; t && weir_loop; t = t->next) {
			if (!leaves(ctx, g, inst, p, t))
				continue;
			start = ctx->until ? ctx->until : border_of(p, t);
			weir_store(&t->in_next, start ? start->idx + 1 : 0);
			g->follows = t->next;
			return 1;
		}
		g->leaves = 0;
		if (g->all && p->postponed)
			collect_posted(s, g, p);
	}
	for (; g->scan < g->nr_pipes + s->nr_cpus && weir_loop;) {
		i = g->scan++ - g->nr_pipes;
		t = weir_load(&s->cpus[i].curr);
		i = g->cpus[i].exit;
		if (t && i != WEIR_NONE && weir_load(&t->home) == i + 1 &&
		    leaves(ctx, g, inst, &g->pipes[i], t))
			return 1;
	}
	ctx->until = 0;
	ctx->collects = 0;
	return 0;
}

/* The instance that is replaced, or then the one in its place; null: the whole graph is. */
WEIR_INLINE struct weir_instance weir_mem *new_in(const struct weir_graph weir_mem *g)
{
	return g->other ? g->instances[g->other->idx] : 0;
}

/* Another class in the place of @old sorts otherwise: what comes to the same exits by other ways is then linked otherwise, too. */
static int sorts_otherwise(const struct weir_sched weir_mem *s,
			   const struct weir_instance weir_mem *old,
			   const struct weir_instance weir_mem *new)
{
	const struct weir_class weir_mem *a = &s->classes[old->class], *b = &s->classes[new->class];

	return a->keyed_out != b->keyed_out || a->ordering != b->ordering;
}

/*
 * What the graph has of tasks that are to leave it: what waits behind the instance that is replaced, and what runs there; all, if the graph is,
 * or if that instance sorts otherwise.
 */
WEIR_GLOBAL int weir_collect(struct weir_sched weir_mem *s weir_arg)
{
	struct weir_graph weir_mem *g = s->graph;
	struct weir_instance weir_mem *inst = g ? new_in(g) : 0;

	if (!g)
		return 0;
	g->first = 0;
	g->last = 0;
	g->leaves = 0;
	/* Behind an end there are no tasks. */
	if (inst && !inst->nr_out)
		return 0;
	g->all = !inst || sorts_otherwise(s, inst, g->other);
	weir_ctx(s)->collects = 1;
	g->scan = 0;
	while (weir_next_leaves(s, inst) && weir_loop)
		weir_drop(s, g->leaves_at, g->leaves, WEIR_WHY_AGAIN);
	weir_merge_run(g, 1);
	return 0;
}

/* What runs is shown to the graph in use, where one instance, or all, is new. */
WEIR_GLOBAL int weir_show_running(struct weir_sched weir_mem *s weir_arg)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	struct weir_graph weir_mem *g = s->graph;

	for (u32 i = 0; i < s->nr_cpus && weir_loop; i++) {
		struct weir_task weir_mem *t = weir_load(&s->cpus[i].curr);
		u32 exit = g->cpus[i].exit;

		weir_only_now(ctx);
		weir_only_now(g);
		if (!t || exit == WEIR_NONE || weir_state(t) != WEIR_RUNNING || weir_load(&t->home))
			continue;
		weir_store(&t->home, exit + 1);
		t->placed = weir_claim_number(t->claim);
		ctx->step.why = WEIR_WHY_AGAIN;
		ctx->until = start_of(new_in(g), &g->pipes[exit], t);
		if (g->pipes[exit].hears & WEIR_HEARS_PICKED)
			weir_hear(s, &g->pipes[exit], t, WEIR_PICKED, 1);
		ctx->until = 0;
	}
	return 0;
}

/* The first task that was collected, and how it goes on: g->leaves, from g->leaves_at on, which it has left if that was its start. 0: there is none. */
WEIR_GLOBAL int weir_next_comes(struct weir_sched weir_mem *s weir_arg)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	struct weir_graph weir_mem *g = s->graph;
	struct weir_task weir_mem *t = g->first;
	u32 start;

	if (!t)
		return 0;
	start = weir_load(&t->in_next);
	g->first = t->next;
	g->leaves = t;
	g->leaves_at = start ? &g->pipes[start - 1] : weir_entry(s, t);
	g->scan = start;
	weir_store(&t->in_next, 0);
	if (!g->other)
		weir_store(&t->slice_ns, WEIR_SLICE_DEFAULT);
	weir_begin_steps(ctx, WEIR_WHY_AGAIN);
	return 1;
}

/* It waits in the postponed pipe to which it has come; or 0. */
WEIR_FLAT int weir_waits_before(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *to)
{
	struct weir_graph weir_mem *g = s->graph;

	if (!to->postponed || (g->scan == to->idx + 1 && to->home))
		return 0;
	weir_store(&g->leaves->pend, WEIR_TOKEN | WEIR_HAND);
	weir_put_off(s, to, g->leaves, 1);
	return 1;
}

/* Present what was collected to the graph in use. The number of tasks. */
WEIR_GLOBAL u32 weir_present(struct weir_sched weir_mem *s weir_arg)
{
	u32 n = 0;

	weir_ctx(s)->keeps = 1;
	while (weir_next_comes(s) && weir_loop) {
		struct weir_graph weir_mem *g = s->graph;

		weir_walk(s, g->leaves_at, g->leaves, WEIR_ARRIVED, g->scan != 0);
		weir_only_now(s);
		g = s->graph;
		if (!weir_waits_before(s, weir_ctx(s)->reached))
			weir_place(s, weir_ctx(s)->reached, g->leaves,
				   weir_claim_number(g->leaves->claim));
		n++;
	}
	weir_ctx(s)->keeps = 0;
	return n;
}

/* Private data for the tasks that exist, beside the old; nothing in use is touched. */
WEIR_FLAT int weir_prepare(struct weir_sched weir_mem *s, struct weir_graph weir_mem *g)
{
	int err = 0;

	for (u32 i = 0; i < g->nr_instances && !err && weir_loop; i++)
		if (!weir_gap(g->instances[i]))
			err = weir_instance_priv(s, g->instances[i]);
	return err;
}

/* Messages name pipes of the old graph. */
static void forget_work(struct weir_sched weir_mem *s)
{
	for (u32 i = 0; i < s->nr_cpus && weir_loop; i++) {
		s->ctx[i].nr_msgs = 0;
		s->ctx[i].next_msg = 0;
		s->ctx[i].delivery = 0;
		s->ctx[i].todo = s->ctx[i].own_first || s->ctx[i].work.task;
	}
}

#if WEIR_DOMAINS
/* Collected tasks that came from another domain start where they do now; the first of all that were collected. */
static struct weir_task weir_mem *weir_keep_borders(struct weir_sched weir_mem *s,
						    struct weir_graph weir_mem *old)
{
	for (struct weir_task weir_mem *t = old->first; t && weir_loop; t = t->next) {
		struct weir_pipe weir_mem *same =
			weir_load(&t->in_next)
				? weir_same_border(s, &old->pipes[weir_load(&t->in_next) - 1])
				: 0;

		weir_store(&t->in_next, same ? same->idx + 1 : 0);
	}
	return old->first;
}
#else
#define weir_keep_borders(s, old) ((old)->first)
#endif

/* The new graph takes the place of the old one, which no task is in any more. */
static void switch_graph(struct weir_sched weir_mem *s, const struct weir_plan weir_mem *plan,
			 struct weir_swap_stats *stats)
{
	struct weir_graph weir_mem *old = s->graph, *g = s->spent;
	u32 i;

	for (i = 0; old && i < old->nr_instances && weir_loop; i++)
		if (!weir_gap(old->instances[i]))
			old->instances[i]->idx = WEIR_NONE; /* no instance inherits its state yet */
	for (i = 0; i < plan->nr_instances && weir_loop; i++) {
		struct weir_instance weir_mem *from;

		if (weir_gap(g->instances[i]))
			continue;
		from = kept(old, &plan->instances[i]);
		if (!from) {
			stats->built++;
			continue;
		}
		from->idx = i;
		inherit(s, g->instances[i], from);
		stats->kept++;
	}
	for (i = 0; old && i < old->nr_instances && weir_loop; i++) {
		if (weir_gap(old->instances[i]))
			continue;
		if (old->instances[i]->timer_ns)
			weir_rt_timer(s, i, 0);
		if (old->instances[i]->idx == WEIR_NONE)
			weir_each_task(s, old->instances[i], 0);
	}
	s->graph = g;
	s->spent = old;
	for (i = 0; i < s->nr_cpus && weir_loop; i++) {
		const struct weir_plan_cpu weir_mem *pc = &g->cpus[i];

		s->ctx[i].entry = &g->pipes[pc->entry];
		s->ctx[i].exit =
			pc->exit == WEIR_NONE || pc->nr_postponed ? 0 : &g->pipes[pc->exit];
	}
	for (i = 0; i < plan->nr_instances && weir_loop; i++) {
		if (weir_gap(g->instances[i]))
			continue;
		if (!kept(old, &plan->instances[i]))
			weir_each_task(s, g->instances[i], 1);
		if (g->instances[i]->timer_ns)
			weir_timer_set(g->instances[i], g->instances[i]->timer_ns);
	}
	g->first = old ? weir_keep_borders(s, old) : 0;
}

/* A call is under way on this CPU: a component may not swap the graph that it runs in. */
static int inside_call(struct weir_sched weir_mem *s, u32 cpu)
{
	weir_port_set_cpu(cpu);
	weir_budget_reset();
	return weir_load(&weir_ctx(s)->readers) != 0;
}

/* Callers are held off, and all is there that the new graph @g needs. */
static int hold_off(struct weir_sched weir_mem *s, struct weir_graph weir_mem *g)
{
	int err = weir_stop_readers(s);

	if (err)
		return err;
	err = weir_prepare(s, g);
	if (err)
		weir_start_readers(s);
	else
		forget_work(s);
	return err;
}

WEIR_GLOBAL int weir_swap_begin(struct weir_sched weir_mem *s weir_arg, u32 cpu,
				const struct weir_plan weir_mem *plan weir_arg,
				struct weir_swap_stats *stats weir_arg_record)
{
	struct weir_graph weir_mem *g;
	u64 began;
	int err;

	if (inside_call(s, cpu))
		return -WEIR_EDEADLK;
	/* Of two concurrent swaps, each would free what the other builds on. */
	if (weir_cas(&s->swapping, 0, 1))
		return -WEIR_EBUSY;
	g = weir_alloc(s, sizeof(struct weir_graph));
	err = g ? weir_graph_build(s, plan, g) : -WEIR_ENOMEM;
	stats->refused = g ? g->refused : 0;
	stats->built = 0;
	stats->kept = 0;
	stats->represented = 0;
	s->spent = g;
	if (!err) {
		began = weir_rt_now(s);
		err = hold_off(s, g);
		stats->pause_ns = err ? weir_rt_now(s) - began : began;
	}
	if (err)
		weir_swap_clean(s);
	return err;
}

/* --- one instance ------------------------------------------------------------------------------ */

/* Exchange @old for @new in the graph's tables. */
static void replace(struct weir_graph weir_mem *g, struct weir_instance weir_mem *old,
		    struct weir_instance weir_mem *new)
{
	u32 i;

	for (i = 0; i < new->nr_in &&weir_loop; i++)
		new->in[i]->to = new;
	for (i = 0; i < new->nr_out &&weir_loop; i++)
		new->out[i]->from = new;
	g->instances[old->idx] = new;
}

/* Through which in-pipe each task came, which an instance of another class keeps elsewhere. */
static void keep_ways(struct weir_sched weir_mem *s, struct weir_instance weir_mem *to,
		      const struct weir_instance weir_mem *from)
{
	for (u32 id = 0; id < s->nr_chunks * WEIR_TASK_CHUNK && weir_loop; id++) {
		const struct weir_task weir_mem *t;

		if (weir_gap(s->chunks[id / WEIR_TASK_CHUNK]))
			continue;
		t = weir_record(s, id);
		*(u32 weir_mem *)((char weir_mem *)weir_priv(to, t) + to->came_at) =
			*(u32 weir_mem *)((char weir_mem *)weir_priv(from, t) + from->came_at);
	}
}

/* The instance that @with asks for, beside the one in use. No other call is under way. */
static int make_other(struct weir_sched weir_mem *s, const struct weir_replacement *with,
		      struct weir_swap_stats *stats)
{
	u32 instance = with->instance, class = with->class;
	struct weir_instance weir_mem *old, *new;
	struct weir_graph weir_mem *g = s->graph;
	int err;

	if (!g || instance >= g->nr_instances || class >= s->nr_classes ||
	    weir_gap(g->instances[instance]))
		return -WEIR_ENOENT;
	old = g->instances[instance];
	new = weir_instance_new(s, g, class, instance);
	if (!new)
		return -WEIR_ENOMEM;
	new->nr_in = old->nr_in;
	new->nr_out = old->nr_out;
	new->in = old->in;
	new->out = old->out;
	new->home = old->home;
	weir_instance_ports(new);
	weir_instance_params(new, with->params);
	err = weir_topics_bind(s, new);
	if (!err)
		err = weir_instance_priv(s, new);
	if (!err) {
		err = weir_class_construct(new);
		stats->refused = err ? instance + 1 : 0;
	}
	if (err)
		weir_instance_free(s, g, new);
	else
		g->other = new;
	return err;
}

/* The exchange itself: no task is behind the old one. */
static int exchange(struct weir_sched weir_mem *s, struct weir_swap_stats *stats)
{
	struct weir_graph weir_mem *g = s->graph;
	struct weir_instance weir_mem *new = g->other, *old = g->instances[new->idx];
	int err;

	replace(g, old, new);
	err = weir_graph_subscribe(s, g);
	if (err) {
		/* A second responder, or no memory for the lists: undo everything. */
		replace(g, new, old);
		weir_assert(!weir_graph_subscribe(s, g));
	}
	weir_graph_facts(s, g);
	weir_graph_follow(g);
	if (err)
		return err;
	g->other = old;
	if (old->timer_ns)
		weir_rt_timer(s, old->idx, 0);
	if (new->timer_ns)
		weir_timer_set(new, new->timer_ns);
	if (new->class == old->class) {
		inherit(s, new, old);
		stats->kept = 1;
	} else {
		weir_each_task(s, old, 0);
		weir_each_task(s, new, 1);
	}
	if (new->nr_in > 1 && new->class != old->class)
		keep_ways(s, new, old);
	return 0;
}

WEIR_GLOBAL int weir_swap_instance_begin(struct weir_sched weir_mem *s weir_arg, u32 cpu,
					 const struct weir_replacement *with weir_arg_record,
					 struct weir_swap_stats *stats weir_arg_record)
{
	u64 began = weir_rt_now(s);
	int err;

	if (inside_call(s, cpu))
		return -WEIR_EDEADLK;
	if (weir_cas(&s->swapping, 0, 1))
		return -WEIR_EBUSY;
	stats->built = 1;
	stats->kept = 0;
	stats->represented = 0;
	stats->refused = 0;
	s->spent = 0;
	err = weir_stop_readers(s);
	if (!err) {
		err = make_other(s, with, stats);
		if (err)
			weir_start_readers(s);
	}
	stats->pause_ns = err ? weir_rt_now(s) - began : began;
	if (err)
		weir_store_release(&s->swapping, 0);
	return err;
}

/* --- the second half of either --------------------------------------------------------------------- */

/* What is new takes its place: the whole graph, which @plan describes, or one instance. */
WEIR_GLOBAL int weir_take_place(struct weir_sched weir_mem *s weir_arg,
				const struct weir_plan weir_mem *plan weir_arg,
				struct weir_swap_stats *stats weir_arg_record)
{
	if (!s->spent)
		return exchange(s, stats);
	switch_graph(s, plan, stats);
	return 0;
}

/* Callers go on. Of one instance that was to be replaced, the one that is not in use is freed; @err: that is the new one. */
WEIR_GLOBAL int weir_swapped(struct weir_sched weir_mem *s weir_arg, int err)
{
	struct weir_graph weir_mem *g = s->graph;

	if (g->other) {
		if (!err)
			weir_class_destroy(g->other);
		weir_instance_free(s, g, g->other);
		g->other = 0;
	}
	return weir_start_readers(s);
}

/* Free what is left over. */
WEIR_GLOBAL int weir_swap_clean(struct weir_sched weir_mem *s weir_arg)
{
	if (s->spent)
		weir_graph_free(s, s->spent);
	weir_store_release(&s->swapping, 0);
	return 0;
}

WEIR_FLAT int weir_swap_end(struct weir_sched weir_mem *s, const struct weir_plan weir_mem *plan,
			    struct weir_swap_stats *stats)
{
	int err;

	weir_collect(s);
	err = weir_take_place(s, plan, stats);
	weir_show_running(s);
	stats->represented = weir_present(s);
	weir_swapped(s, err);
	stats->pause_ns = weir_rt_now(s) - stats->pause_ns;
	/* KICKs, and what components have asked for. */
	weir_drain(s);
	weir_swap_clean(s);
	return err;
}

WEIR_FLAT int weir_swap(struct weir_sched weir_mem *s, u32 cpu,
			const struct weir_plan weir_mem *plan, struct weir_swap_stats *stats)
{
	int err = weir_swap_begin(s, cpu, plan, stats);

	return err ? err : weir_swap_end(s, plan, stats);
}

WEIR_FLAT int weir_swap_instance(struct weir_sched weir_mem *s, u32 cpu,
				 const struct weir_replacement *with, struct weir_swap_stats *stats)
{
	int err = weir_swap_instance_begin(s, cpu, with, stats);

	return err ? err : weir_swap_end(s, 0, stats);
}
