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

	weir_store_release(&s->writer, 0);
	weir_barrier(s);
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

	if (weir_cas(&s->writer, 0, 1))
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
		if (t->state == WEIR_FREE || t->state == WEIR_DEAD)
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

/* REMOVED records hold references to tasks; the old logs are never read again. */
WEIR_GLOBAL int weir_drop_logs(struct weir_graph weir_mem *g weir_arg)
{
	for (u32 i = 0; i < g->nr_pipes && weir_loop; i++) {
		if (weir_load(&g->pipes[i].inbox))
			weir_inbox_open(&g->pipes[i]);
		weir_pipe_consume(&g->pipes[i]);
	}
	return 0;
}

/* The old hooks of @t: each block's hooks begin where its first task's pointed. */
static struct weir_hook weir_mem *old_hook(struct weir_hook weir_mem *weir_mem *old, u32 nr_slots,
					   const struct weir_task weir_mem *t, u32 slot)
{
	return &old[t->id / WEIR_TASK_CHUNK][(u64)(t->id % WEIR_TASK_CHUNK) * nr_slots + slot];
}

/* Point every task to its new hooks; the old ones go into @hooks. */
WEIR_GLOBAL int weir_exchange_hooks(struct weir_sched weir_mem *s weir_arg, u32 nr_slots,
				    struct weir_hook weir_mem *weir_mem *hooks weir_arg)
{
	for (u32 c = 0; c < s->nr_chunks && weir_loop; c++) {
		struct weir_hook weir_mem *new = hooks[c];

		if (weir_gap(s->chunks[c]))
			continue;
		hooks[c] = s->chunks[c][0].hooks;
		for (u32 i = 0; i < weir_limit(WEIR_TASK_CHUNK) && weir_loop; i++) {
			s->chunks[c][i].hooks = new + (u64)i *nr_slots;
			s->chunks[c][i].landing = 0;
		}
	}
	return 0;
}

/* Present every task of the old entry pipes, in their order, to the new graph. */
WEIR_GLOBAL u32 weir_resubmit(struct weir_sched weir_mem *s weir_arg,
			      struct weir_graph weir_mem *old weir_arg,
			      struct weir_hook weir_mem *weir_mem *hooks weir_arg)
{
	struct weir_graph weir_mem *g = s->graph;
	u32 n = 0;

	for (u32 i = 0; i < old->nr_pipes && weir_loop; i++) {
		struct weir_pipe weir_mem *p = &old->pipes[i];
		struct weir_pipe weir_mem *same = weir_same_border(s, p);
		struct weir_task weir_mem *t = p->head;

		while (!p->from && t && weir_loop) {
			struct weir_task weir_mem *next =
				old_hook(hooks, old->nr_slots, t, p->slot)->next;

			if (weir_load(&t->torn)) {
				/* Partly removed: it is in no new pipe, and its owner finds nothing left to do. */
				t = next;
				continue;
			}
			weir_store(&t->slice_ns, WEIR_SLICE_DEFAULT);
			weir_store(&t->key, WEIR_KEY_NONE);
			if (weir_solo(s))
				t->hooks[0].key = ++s->arrivals;
			weir_assert(!weir_pipe_append(
				same ? same : &g->pipes[g->cpus[t->entry_cpu].entry], t));
			n++;
			t = next;
		}
	}
	return n;
}

WEIR_GLOBAL int weir_hooks_free(struct weir_sched weir_mem *s weir_arg,
				struct weir_hook weir_mem *weir_mem *hooks weir_arg, u32 nr_slots)
{
	for (u32 c = 0; hooks && c < s->nr_chunks && weir_loop; c++)
		weir_free(s, hooks[c], (u64)WEIR_TASK_CHUNK * nr_slots * sizeof(struct weir_hook));
	weir_free(s, hooks, WEIR_MAX_CHUNKS * sizeof(void *));
	return 0;
}

/* Private data and hooks for the tasks that exist, beside the old ones; nothing in use is touched. */
WEIR_GLOBAL int weir_prepare(struct weir_sched weir_mem *s weir_arg,
			     struct weir_graph weir_mem *g weir_arg,
			     struct weir_hook weir_mem *weir_mem *hooks weir_arg)
{
	int err = 0;

	for (u32 i = 0; i < g->nr_instances && !err && weir_loop; i++)
		if (!weir_gap(g->instances[i]))
			err = weir_instance_priv(s, g->instances[i]);
	return err ? err : weir_task_hooks_new(s, g->nr_slots, hooks);
}

/* Worklists and messages name pipes of the old graph, whose tasks are presented again. */
static void forget_work(struct weir_sched weir_mem *s)
{
	for (u32 i = 0; i < s->nr_cpus && weir_loop; i++) {
		s->ctx[i].work_head = 0;
		s->ctx[i].work_tail = 0;
		s->ctx[i].nr_msgs = 0;
		s->ctx[i].delivery = 0;
		s->ctx[i].followers = 0;
	}
}

static void commit(struct weir_sched weir_mem *s, const struct weir_plan weir_mem *plan,
		   struct weir_graph weir_mem *g, struct weir_hook weir_mem *weir_mem *hooks,
		   struct weir_swap_stats *stats)
{
	struct weir_graph weir_mem *old = s->graph;
	u32 i;

	if (old)
		weir_drop_logs(old);
	forget_work(s);
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
	if (WEIR_CARRY && old)
		weir_gather(s, old);
	weir_exchange_hooks(s, plan->nr_slots, hooks);
	s->graph = g;
	for (i = 0; i < plan->nr_instances && weir_loop; i++) {
		if (weir_gap(g->instances[i]))
			continue;
		if (!kept(old, &plan->instances[i]))
			weir_each_task(s, g->instances[i], 1);
		if (g->instances[i]->timer_ns)
			weir_timer_set(g->instances[i], g->instances[i]->timer_ns);
	}
	if (old)
		stats->represented = weir_resubmit(s, old, hooks);
}

/* A call is under way on this CPU: a component may not swap the graph that it runs in. */
static int inside_call(struct weir_sched weir_mem *s, u32 cpu)
{
	weir_port_set_cpu(cpu);
	weir_budget_reset();
	return weir_load(&weir_ctx(s)->readers) != 0;
}

/* The switch to the finished new graph: the only part for which callers wait. */
WEIR_GLOBAL int weir_change_over(struct weir_sched weir_mem *s weir_arg,
				 const struct weir_plan weir_mem *plan weir_arg,
				 struct weir_graph weir_mem *g weir_arg,
				 struct weir_hook weir_mem *weir_mem *hooks weir_arg,
				 struct weir_swap_stats *stats weir_arg_record)
{
	u64 start = weir_rt_now(s);
	int err = weir_stop_readers(s);

	if (!err) {
		stats->built = 0;
		stats->kept = 0;
		stats->represented = 0;
		err = weir_prepare(s, g, hooks);
		if (!err)
			commit(s, plan, g, hooks, stats);
		weir_start_readers(s);
	}
	stats->pause_ns = weir_rt_now(s) - start;
	return err;
}

/* Build and switch. The graph left over is the old one, or the new one after a failure. */
WEIR_GLOBAL int weir_swap_begin(struct weir_sched weir_mem *s weir_arg, u32 cpu,
				const struct weir_plan weir_mem *plan weir_arg,
				struct weir_swap_stats *stats weir_arg_record)
{
	struct weir_hook weir_mem *weir_mem *hooks;
	struct weir_graph weir_mem *g, *old;
	int err;

	if (inside_call(s, cpu))
		return -WEIR_EDEADLK;
	/* Of two concurrent swaps, each would free what the other builds on. */
	if (weir_cas(&s->swapping, 0, 1))
		return -WEIR_EBUSY;
	old = s->graph;
	hooks = weir_alloc(s, WEIR_MAX_CHUNKS * sizeof(void *));
	g = weir_alloc(s, sizeof(struct weir_graph));
	err = hooks && g ? weir_graph_build(s, plan, g) : -WEIR_ENOMEM;
	stats->refused = g ? g->refused : 0;
	if (!err)
		err = weir_change_over(s, plan, g, hooks, stats);
	s->spent = err ? g : old;
	s->spent_hooks = hooks;
	s->spent_slots = old && !err ? old->nr_slots : plan->nr_slots;
	if (err)
		weir_swap_clean(s);
	return err;
}

/* Free what is left over. */
WEIR_GLOBAL int weir_swap_clean(struct weir_sched weir_mem *s weir_arg)
{
	weir_hooks_free(s, s->spent_hooks, s->spent_slots);
	if (s->spent)
		weir_graph_free(s, s->spent);
	weir_store_release(&s->swapping, 0);
	return 0;
}

WEIR_FLAT void weir_swap_end(struct weir_sched weir_mem *s)
{
	/* The tasks are at the entry; they move on while other CPUs already make calls. */
	weir_drain(s, 0, 0);
	weir_swap_clean(s);
}

WEIR_FLAT int weir_swap(struct weir_sched weir_mem *s, u32 cpu,
			const struct weir_plan weir_mem *plan, struct weir_swap_stats *stats)
{
	int err = weir_swap_begin(s, cpu, plan, stats);

	if (!err)
		weir_swap_end(s);
	return err;
}

/* --- one instance ------------------------------------------------------------------------------ */

/*
 * Link the tasks that pass through @in there and in no pipe behind it: those pipes will have another order, and other tasks may be
 * carried.
 */
WEIR_GLOBAL int weir_collect(struct weir_pipe weir_mem *in weir_arg)
{
	struct weir_task weir_mem *t;

	weir_pipe_lock(in);
	if (weir_load(&in->inbox))
		weir_inbox_open(in);
	if (weir_carried(in) & WEIR_CARRIED)
		weir_recall_all(in);
	weir_for_task(t, in)
		weir_task_withdraw(in->sched, t, in->slot + 1);
	weir_pipe_unlock(in);
	return 0;
}

/* Link every task of @in, which holds them, by the present rules for carried tasks. */
WEIR_GLOBAL int weir_collected(struct weir_pipe weir_mem *in weir_arg)
{
	struct weir_task weir_mem *t;

	weir_for_task(t, in) {
		if (weir_carried(in))
			weir_store(&t->landing, in->idx + 1);
		else if (t->landing == in->idx + 1)
			weir_store(&t->landing, 0);
	}
	return 0;
}

/* Present all tasks of @in to a new receiver. */
static void present_all(struct weir_pipe weir_mem *in, struct weir_swap_stats *stats)
{
	stats->represented += in->nr;
	weir_pipe_lock(in);
	weir_pipe_represent(in);
	weir_pipe_unlock(in);
}

/* Exchange @old for @new in the graph's tables. */
static void replace(struct weir_graph weir_mem *g, struct weir_instance weir_mem *old,
		    struct weir_instance weir_mem *new)
{
	u32 i;

	for (i = 0; i < new->nr_in &&weir_loop; i++) {
		new->in[i]->to = new;
		new->in[i]->change_kinds = new->sched->classes[new->class].change_kinds;
	}
	for (i = 0; i < new->nr_out &&weir_loop; i++)
		new->out[i]->from = new;
	g->instances[old->idx] = new;
}

/* The exchange itself; no other call is under way. */
static int exchange(struct weir_sched weir_mem *s, const struct weir_replacement *with,
		    struct weir_swap_stats *stats)
{
	u32 instance = with->instance, class = with->class;
	struct weir_instance weir_mem *old, *new;
	struct weir_graph weir_mem *g = s->graph;
	u32 i;
	int err;

	stats->built = 1;
	stats->kept = 0;
	stats->represented = 0;
	stats->refused = 0;
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
	weir_instance_params(new, with->params);
	err = weir_topics_bind(s, new);
	if (!err)
		err = weir_instance_priv(s, new);
	if (!err) {
		err = weir_class_construct(new);
		stats->refused = err ? instance + 1 : 0;
	}
	if (!err) {
		replace(g, old, new);
		err = weir_graph_subscribe(s, g);
		if (err) {
			/* A second responder, or no memory for the lists: undo everything. */
			replace(g, new, old);
			weir_assert(!weir_graph_subscribe(s, g));
		}
	}
	if (err) {
		weir_instance_free(s, g, new);
		return err;
	}
	for (i = 0; i < new->nr_in &&weir_loop; i++) {
		if (WEIR_CARRY)
			weir_collect(new->in[i]);
		else
			present_all(new->in[i], stats);
	}
	/* The out-pipes are empty. */
	for (i = 0; i < new->nr_out &&weir_loop; i++)
		new->out[i]->keyed = s->classes[class].keyed_out;
	if (WEIR_CARRY) {
		weir_carry_plan(s, g);
		for (i = 0; i < new->nr_in &&weir_loop; i++) {
			weir_collected(new->in[i]);
			present_all(new->in[i], stats);
		}
	}
	if (old->timer_ns)
		weir_rt_timer(s, instance, 0);
	if (new->timer_ns)
		weir_timer_set(new, new->timer_ns);
	if (class == old->class) {
		inherit(s, new, old);
		stats->kept = 1;
	} else {
		weir_each_task(s, old, 0);
		weir_each_task(s, new, 1);
	}
	weir_class_destroy(old);
	return weir_instance_free(s, g, old);
}

WEIR_GLOBAL int weir_swap_instance_begin(struct weir_sched weir_mem *s weir_arg, u32 cpu,
					 const struct weir_replacement *with weir_arg_record,
					 struct weir_swap_stats *stats weir_arg_record)
{
	u64 start = weir_rt_now(s);
	int err;

	if (inside_call(s, cpu))
		return -WEIR_EDEADLK;
	if (weir_cas(&s->swapping, 0, 1))
		return -WEIR_EBUSY;
	err = weir_stop_readers(s);
	if (!err) {
		err = exchange(s, with, stats);
		weir_start_readers(s);
	}
	stats->pause_ns = weir_rt_now(s) - start;
	s->spent = 0;
	s->spent_hooks = 0;
	if (err)
		weir_store_release(&s->swapping, 0);
	return err;
}

WEIR_FLAT int weir_swap_instance(struct weir_sched weir_mem *s, u32 cpu,
				 const struct weir_replacement *with, struct weir_swap_stats *stats)
{
	int err = weir_swap_instance_begin(s, cpu, with, stats);

	if (!err)
		weir_swap_end(s);
	return err;
}
