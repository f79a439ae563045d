/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Recipients: subscribers and responders of each topic, resolved when a graph is built.
 *
 * A message about a task or a CPU has a scope (WEIR_SCOPED_TOPICS, docs/decisions/0037): it reaches the instances that lead to that CPU,
 * so it costs the same on 4 and on 4,096 CPUs. `sub_list` holds, for each topic: subscribers to every message; subscribers for their own
 * CPUs only, each once; and, for each CPU, the latter that lead to it. `scopes` says where a CPU's part begins.
 */
#include "internal.h"

/* CPUs to which the out-pipes of @inst lead, into `reach`; returns their number. */
WEIR_GLOBAL int weir_graph_reach(struct weir_sched weir_mem *s weir_arg,
				 struct weir_graph weir_mem *g weir_arg,
				 const struct weir_instance weir_mem *inst weir_arg)
{
	u32 nr = 0;

	for (u32 w = 0; w < s->mask_words && weir_loop; w++)
		g->reach->word[w] = 0;
	for (u32 i = 0; i < inst->nr_out && weir_loop; i++) {
		const struct weir_pipe weir_mem *out = inst->out[i];

		for (u32 w = out->word_lo; out->nr_cpus && w <= out->word_hi && weir_loop; w++)
			g->reach->word[w] |= out->cpus->word[w];
	}
	for (u32 w = 0; w < s->mask_words && weir_loop; w++)
		nr += weir_count_bits(g->reach->word[w]);
	return nr;
}

/*
 * Store the topics that @inst hears for its own CPUs only in `scoped`, and these CPUs in `reach`. An instance that leads to all CPUs, or
 * to none (annotators, services), hears every message. (In memory: the verifier would follow each loop over topics for each known value.)
 */
WEIR_GLOBAL int weir_graph_scoped(struct weir_sched weir_mem *s weir_arg,
				  struct weir_graph weir_mem *g weir_arg,
				  const struct weir_instance weir_mem *inst weir_arg)
{
	const struct weir_class weir_mem *class = &s->classes[inst->class];

	g->scoped = class->on & WEIR_SCOPED_TOPICS & ~class->hears_all;
	if (!inst->nr_out || !g->scoped || (u32)weir_graph_reach(s, g, inst) >= s->nr_cpus)
		g->scoped = 0;
	return 0;
}

/* Count the subscriptions of one instance, and record which topics it answers. */
WEIR_GLOBAL int weir_subscribe_count(struct weir_sched weir_mem *s weir_arg,
				     struct weir_graph weir_mem *g weir_arg,
				     struct weir_instance weir_mem *inst weir_arg)
{
	struct weir_class weir_mem *class = &s->classes[inst->class];

	weir_graph_scoped(s, g, inst);
	if (class->has & (WEIR_HAS_TASK_INIT | WEIR_HAS_TASK_EXIT))
		g->init_list[g->nr_task_init++] = inst;
	if (inst->per_task)
		g->priv_list[g->nr_priv++] = inst;
	g->reviewed |= inst->reviews;
	g->subscribed |= inst->on | inst->reviews;
	if (!(inst->on | inst->answers))
		return 0;
	for (u32 t = 0; t < weir_unknown(WEIR_MAX_TOPICS) && weir_loop; t++) {
		struct weir_subs weir_mem *subs = &g->subs[t];

		if (g->scoped >> t & 1)
			subs->nr_scoped++;
		else if (inst->on >> t & 1)
			subs->nr++;
		if (!(inst->answers >> t & 1))
			continue;
		if (subs->responder)
			return -WEIR_EEXIST;
		subs->responder = inst;
		/* (What is asked is recorded.) */
		subs->answer_at =
			s->log || inst->answer_at & WEIR_ASK_FURTHER ? 0 : inst->answer_at;
	}
	return 0;
}

/* Add one instance to the lists of its topics: in the first pass to the lengths of the lists by CPU, in the second to the lists. */
WEIR_GLOBAL int weir_subscribe_add(struct weir_sched weir_mem *s weir_arg,
				   struct weir_graph weir_mem *g weir_arg,
				   struct weir_instance weir_mem *inst weir_arg, u32 placed)
{
	u64 on = inst->on;

	weir_graph_scoped(s, g, inst);
	for (u32 t = 0; on && t < weir_unknown(WEIR_MAX_TOPICS) && weir_loop; t++) {
		struct weir_subs weir_mem *subs = &g->subs[t];
		u32 weir_mem *begins = g->scopes + subs->scope;

		if (!(on >> t & 1))
			continue;
		if (!(g->scoped >> t & 1)) {
			if (placed)
				g->sub_list[subs->first + subs->nr++] = inst;
			continue;
		}
		if (placed)
			g->sub_list[subs->first_scoped + subs->nr_scoped++] = inst;
		for (u32 w = 0; w < s->mask_words && weir_loop; w++) {
			for (u64 bits = g->reach->word[w]; bits && weir_loop; bits &= bits - 1) {
				u32 cpu = w * 64 + weir_lowest_bit(bits);

				if (placed)
					g->sub_list[begins[cpu + 1]++] = inst;
				else
					begins[cpu + 2]++;
			}
		}
	}
	return 0;
}

/*
 * Compute places in `sub_list` from the lengths of the lists; returns the total. begins[c + 1] is the place of CPU c's next entry; after
 * all entries are added, it is the end of c's part and the beginning of the next.
 */
WEIR_GLOBAL int weir_subscribe_place(struct weir_sched weir_mem *s weir_arg,
				     struct weir_graph weir_mem *g weir_arg, u32 nr)
{
	u32 total = 0;

	for (u32 n = 0; n < nr && weir_loop; n++) {
		struct weir_subs weir_mem *subs = &g->subs[n];
		u32 weir_mem *begins = g->scopes + subs->scope;

		subs->first = total;
		subs->first_scoped = total + subs->nr;
		total = subs->first_scoped + subs->nr_scoped;
		if (subs->nr_scoped) {
			begins[0] = begins[1] = total;
			for (u32 c = 0; c < s->nr_cpus && weir_loop; c++)
				total = begins[c + 2] += total;
		}
		subs->nr = 0;
		subs->nr_scoped = 0;
	}
	return total;
}

/* Which topics have lists by CPU, and memory for them. */
static int scopes_alloc(struct weir_sched weir_mem *s, struct weir_graph weir_mem *g, u32 nr)
{
	u32 words = 0;

	for (u32 n = 0; n < nr && weir_loop; n++) {
		struct weir_subs weir_mem *subs = &g->subs[n];

		subs->scope = words;
		if (subs->nr_scoped)
			words += s->nr_cpus + 2;
	}
	weir_region_drop(s, &g->region, g->scopes);
	g->scopes = weir_region_alloc(s, &g->region, (words + 1) * sizeof(u32));
	return g->scopes ? 0 : -WEIR_ENOMEM;
}

/* Also after one instance was replaced. */
WEIR_GLOBAL int weir_graph_subscribe(struct weir_sched weir_mem *s weir_arg,
				     struct weir_graph weir_mem *g weir_arg)
{
	u32 total;
	int err;

	if (!g->reach)
		g->reach = weir_region_alloc(s, &g->region, sizeof(struct weir_cpumask));
	if (!g->reach)
		return -WEIR_ENOMEM;
	g->reviewed = WEIR_TOPIC_BIT(AFFINITY);
	g->subscribed = 0;
	g->nr_task_init = 0;
	g->nr_priv = 0;
	for (u32 n = 0; n < weir_unknown(WEIR_MAX_TOPICS) && weir_loop; n++) {
		struct weir_subs weir_mem *subs = &g->subs[n];

		subs->nr = subs->nr_scoped = 0;
		subs->responder = 0;
		subs->answer_at = 0;
	}
	for (u32 i = 0; i < g->nr_instances && weir_loop; i++) {
		if (weir_gap(g->instances[i]))
			continue;
		err = weir_subscribe_count(s, g, g->instances[i]);
		if (err)
			return err;
	}
	err = scopes_alloc(s, g, weir_unknown(WEIR_MAX_TOPICS));
	if (err)
		return err;
	for (u32 i = 0; i < g->nr_instances && weir_loop; i++)
		if (!weir_gap(g->instances[i]))
			weir_subscribe_add(s, g, g->instances[i], 0);
	g->wanted = g->subscribed | s->rt_topics;
	g->alone = 0;
	for (u32 n = 0; n < weir_unknown(WEIR_MAX_TOPICS) && weir_loop; n++) {
		const struct weir_subs weir_mem *subs = &g->subs[n];

		if (subs->nr + subs->nr_scoped ==
		    (subs->responder && subs->responder->on >> n & 1 ? 1 : 0))
			g->alone |= 1ull << n;
	}
	total = weir_subscribe_place(s, g, WEIR_MAX_TOPICS);
	weir_region_drop(s, &g->region, g->sub_list);
	g->sub_list = weir_region_alloc(s, &g->region, ((u64)total + 1) * sizeof(void *));
	if (!g->sub_list)
		return -WEIR_ENOMEM;
	for (u32 i = 0; i < g->nr_instances && weir_loop; i++)
		if (!weir_gap(g->instances[i]))
			weir_subscribe_add(s, g, g->instances[i], 1);
	return 0;
}
