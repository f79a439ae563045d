/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Building a graph from a plan. Nothing here touches the graph in use. */
#include "internal.h"

#define PRIV_BYTES (WEIR_MAX_CHUNKS * sizeof(void *))

/* Allocate private data for existing tasks; 0, or -WEIR_ENOMEM with only the region's memory left allocated. */
WEIR_GLOBAL int weir_instance_priv(struct weir_sched weir_mem *s weir_arg,
				   struct weir_instance weir_mem *inst weir_arg)
{
	if (!inst->per_task || inst->priv)
		return 0;
	inst->priv = weir_alloc(s, PRIV_BYTES);
	if (!inst->priv)
		return -WEIR_ENOMEM;
	for (u32 c = 0; c < s->nr_chunks && weir_loop; c++) {
		if (weir_gap(s->chunks[c]))
			continue;
		inst->priv[c] = weir_alloc(s, (u64)WEIR_TASK_CHUNK * inst->per_task);
		if (!inst->priv[c])
			return -WEIR_ENOMEM;
	}
	return 0;
}

WEIR_GLOBAL int weir_instance_priv_free(struct weir_sched weir_mem *s weir_arg,
					struct weir_instance weir_mem *inst weir_arg)
{
	if (!inst->priv)
		return 0;
	for (u32 c = 0; c < s->nr_chunks && weir_loop; c++)
		weir_free(s, inst->priv[c], (u64)WEIR_TASK_CHUNK * inst->per_task);
	weir_free(s, inst->priv, PRIV_BYTES);
	inst->priv = 0;
	return 0;
}

struct weir_instance weir_mem *weir_instance_new(struct weir_sched weir_mem *s,
						 struct weir_graph weir_mem *g, u32 class, u32 idx)
{
	struct weir_instance weir_mem *inst;

	if (class >= s->nr_classes)
		return 0;
	inst = weir_region_alloc(s, &g->region, s->classes[class].size);
	if (!inst)
		return 0;
	inst->sched = s;
	inst->class = class;
	inst->idx = idx;
	inst->per_task = (s->classes[class].per_task + 7) & ~7u;
	return inst;
}

WEIR_GLOBAL int weir_instance_params(struct weir_instance weir_mem *inst weir_arg,
				     const u64 weir_mem *params weir_arg)
{
	struct weir_class weir_mem *class = &inst->sched->classes[inst->class];

	for (u32 i = 0; i < class->nr_params && i < weir_limit(WEIR_MAX_PARAMS) && weir_loop; i++)
		*(u64 weir_mem *)((char weir_mem *)inst + class->param_offset[i]) = params[i];
	return 0;
}

WEIR_GLOBAL int weir_build_pipes(struct weir_sched weir_mem *s weir_arg,
				 const struct weir_plan weir_mem *plan weir_arg,
				 struct weir_graph weir_mem *g weir_arg)
{
	struct weir_cpumask weir_mem *masks;
	u64 room;

	masks = weir_region_alloc(s, &g->region, plan->nr_masks * sizeof(struct weir_cpumask));
	/* One more than needed: they must begin with a cache line, and a region's memory does not. */
	room = (u64)weir_region_alloc(s, &g->region,
				      (plan->nr_pipes + 1) * sizeof(struct weir_pipe));
	if (!masks || !room)
		return -WEIR_ENOMEM;
	g->pipes = (struct weir_pipe weir_mem *)((room + 63) & ~63ull);
	weir_copy(masks, plan->masks, plan->nr_masks * sizeof(struct weir_cpumask));
	for (u32 i = 0; i < plan->nr_pipes && weir_loop; i++) {
		const struct weir_plan_pipe weir_mem *pp = &plan->pipes[i];
		struct weir_pipe weir_mem *p = &g->pipes[i];

		if (pp->slot >= plan->nr_slots || pp->mask >= plan->nr_masks ||
		    pp->to >= plan->nr_instances)
			return -WEIR_EINVAL;
		p->idx = i;
		p->slot = pp->slot;
		p->keyed = pp->keyed;
		p->postponed = pp->postponed;
		p->label = pp->label;
		p->to_port = pp->to_port;
		p->sched = s;
		p->cpus = &masks[pp->mask];
		p->cpu = WEIR_NO_CPU;
		for (u32 w = 0; w < s->mask_words && weir_loop; w++) {
			u64 word = p->cpus->word[w];

			if (!word)
				continue;
			if (p->cpu == WEIR_NO_CPU) {
				p->cpu = w * 64 + weir_lowest_bit(word);
				p->word_lo = w;
			}
			p->word_hi = w;
			p->nr_cpus += weir_count_bits(word);
		}
	}
	return 0;
}

/* Link the in- and out-pipes of one instance. */
WEIR_GLOBAL int weir_wire(struct weir_sched weir_mem *s weir_arg,
			  const struct weir_plan weir_mem *plan weir_arg,
			  struct weir_graph weir_mem *g weir_arg,
			  struct weir_instance weir_mem *inst weir_arg,
			  const struct weir_plan_instance weir_mem *pi weir_arg)
{
	u32 i;

	inst->nr_in = pi->nr_in;
	inst->nr_out = pi->nr_out;
	inst->in = weir_region_alloc(s, &g->region, (pi->nr_in + 1) * sizeof(void *));
	inst->out = weir_region_alloc(s, &g->region, (pi->nr_out + 1) * sizeof(void *));
	if (!inst->in || !inst->out)
		return -WEIR_ENOMEM;
	for (i = 0; i < pi->nr_in && weir_loop; i++) {
		u32 p = plan->links[pi->first_in + i];

		if (p >= plan->nr_pipes)
			return -WEIR_EINVAL;
		inst->in[i] = &g->pipes[p];
		g->pipes[p].to = inst;
		g->pipes[p].change_kinds = s->classes[inst->class].change_kinds;
	}
	for (i = 0; i < pi->nr_out && weir_loop; i++) {
		u32 p = plan->links[pi->first_out + i];

		if (p >= plan->nr_pipes)
			return -WEIR_EINVAL;
		inst->out[i] = &g->pipes[p];
		g->pipes[p].from = inst;
		g->pipes[p].from_port = i;
		/* The writer decides the order of its out-pipes. */
		g->pipes[p].keyed = s->classes[inst->class].keyed_out;
	}
	return 0;
}

WEIR_GLOBAL int weir_build_instances(struct weir_sched weir_mem *s weir_arg,
				     const struct weir_plan weir_mem *plan weir_arg,
				     struct weir_graph weir_mem *g weir_arg)
{
	int err;

	g->instances = weir_region_alloc(s, &g->region, (plan->nr_instances + 1) * sizeof(void *));
	g->init_list = weir_region_alloc(s, &g->region, (plan->nr_instances + 1) * sizeof(void *));
	g->priv_list = weir_region_alloc(s, &g->region, (plan->nr_instances + 1) * sizeof(void *));
	if (!g->instances || !g->init_list || !g->priv_list)
		return -WEIR_ENOMEM;
	for (u32 i = 0; i < plan->nr_instances && weir_loop; i++) {
		const struct weir_plan_instance weir_mem *pi = &plan->instances[i];
		struct weir_instance weir_mem *inst;

		g->nr_instances = i + 1;
		if (weir_distributed(s) && pi->domain != s->domain)
			continue;
		inst = weir_instance_new(s, g, pi->class, i);
		if (!inst)
			return pi->class >= s->nr_classes ? -WEIR_EINVAL : -WEIR_ENOMEM;
		g->instances[i] = inst;
		err = weir_topics_bind(s, inst);
		if (err)
			return err;
		err = weir_wire(s, plan, g, inst, pi);
		if (err)
			return err;
		weir_instance_params(inst, plan->params + pi->first_param);
	}
	/* Construct after all wiring: a component may inspect its pipes and what they reach. */
	for (u32 i = 0; i < plan->nr_instances && weir_loop; i++) {
		if (weir_gap(g->instances[i]))
			continue;
		err = weir_class_construct(g->instances[i]);
		if (err) {
			g->refused = i + 1;
			return err;
		}
	}
	return 0;
}

static void learn(u32 weir_mem *fact, u32 value)
{
	if (weir_load(fact) != value)
		weir_store(fact, value);
}

/* Facts of the machine, the same in every plan for it; components may sort by them in construct. */
static void cpus_from_plan(struct weir_sched weir_mem *s, const struct weir_plan weir_mem *plan)
{
	/* Other CPUs read them meanwhile; only the first graph changes values. */
	for (u32 i = 0; i < weir_load(&s->nr_cpus) && weir_loop; i++) {
		learn(&s->cpus[i].core, plan->cpus[i].core);
		learn(&s->cpus[i].llc, plan->cpus[i].llc);
		learn(&s->cpus[i].node, plan->cpus[i].node);
		learn(&s->cpus[i].isa, plan->cpus[i].isa);
		learn(&s->cpus[i].capacity, plan->cpus[i].capacity);
	}
}

/* Make a complete graph of the zeroed @g, which weir_graph_free() frees, also after an error. */
WEIR_GLOBAL int weir_graph_build(struct weir_sched weir_mem *s weir_arg,
				 const struct weir_plan weir_mem *plan weir_arg,
				 struct weir_graph weir_mem *g weir_arg)
{
	u32 nr_lists = 0;
	int err;

	if (plan->nr_cpus != s->nr_cpus || plan->nr_slots > WEIR_MAX_DEPTH || !plan->nr_slots)
		return -WEIR_EINVAL;
	err = weir_domains_init(s, plan);
	if (err)
		return err;
	cpus_from_plan(s, plan);
	g->nr_pipes = plan->nr_pipes;
	g->nr_slots = plan->nr_slots;
	g->nr_cpus = plan->nr_cpus;
	err = weir_build_pipes(s, plan, g);
	if (!err)
		err = weir_borders(s, plan, g);
	if (err)
		return err;
	g->cpus = weir_region_alloc(s, &g->region, plan->nr_cpus * sizeof(struct weir_plan_cpu));
	if (!g->cpus)
		return -WEIR_ENOMEM;
	weir_copy(g->cpus, plan->cpus, plan->nr_cpus * sizeof(struct weir_plan_cpu));
	/* CPUs behind one exit share their entries. */
	for (u32 i = 0; i < plan->nr_cpus && weir_loop; i++) {
		const struct weir_plan_cpu weir_mem *pc = &plan->cpus[i];

		if (pc->first_postponed + pc->nr_postponed > nr_lists)
			nr_lists = pc->first_postponed + pc->nr_postponed;
		if (pc->first_puller + pc->nr_puller > nr_lists)
			nr_lists = pc->first_puller + pc->nr_puller;
	}
	g->lists = weir_region_alloc(s, &g->region, (nr_lists + 1) * sizeof(u32));
	if (!g->lists)
		return -WEIR_ENOMEM;
	for (u32 i = 0; i < nr_lists && weir_loop; i++)
		g->lists[i] = plan->lists[i];
	err = weir_build_instances(s, plan, g);
	if (err)
		return err;
	if (WEIR_CARRY)
		weir_carry_plan(s, g);
	return weir_graph_subscribe(s, g);
}

WEIR_GLOBAL int weir_instance_free(struct weir_sched weir_mem *s weir_arg,
				   struct weir_graph weir_mem *g weir_arg,
				   struct weir_instance weir_mem *inst weir_arg)
{
	weir_topics_unbind(s, inst);
	weir_instance_priv_free(s, inst);
	weir_region_free(s, &inst->region);
	weir_region_drop(s, &g->region, inst);
	return 0;
}

WEIR_GLOBAL int weir_graph_free(struct weir_sched weir_mem *s weir_arg,
				struct weir_graph weir_mem *g weir_arg)
{
	for (u32 i = 0; i < g->nr_instances && weir_loop; i++) {
		if (weir_gap(g->instances[i]))
			continue;
		weir_class_destroy(g->instances[i]);
		weir_instance_free(s, g, g->instances[i]);
	}
	for (u32 i = 0; g->pipes && i < g->nr_pipes && weir_loop; i++)
		weir_free(s, g->pipes[i].log, g->pipes[i].cap_log * sizeof(struct weir_change));
	weir_region_free(s, &g->region);
	weir_free(s, g, sizeof(struct weir_graph));
	return 0;
}
