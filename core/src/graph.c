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
	inst->hears = s->classes[class].hears;
	inst->serial = s->classes[class].serial;
	inst->answer_at = s->classes[class].answer_at;
	return inst;
}

WEIR_GLOBAL int weir_instance_params(struct weir_instance weir_mem *inst weir_arg,
				     const u64 weir_mem *params weir_arg)
{
	struct weir_class weir_mem *class = &inst->sched->classes[inst->class];

	for (u32 i = 0; i < class->nr_params && i < weir_unknown(WEIR_MAX_PARAMS) && weir_loop; i++)
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

		if (pp->slot >= plan->nr_slots ||
		    (pp->home != WEIR_NONE && pp->home >= plan->nr_pipes) ||
		    pp->mask >= plan->nr_masks || pp->to >= plan->nr_instances)
			return -WEIR_EINVAL;
		p->idx = i;
		p->mark = i + 1;
		p->depth = pp->slot;
		p->postponed = pp->postponed;
		p->label = pp->label;
		p->to_port = pp->to_port;
		p->sched = s;
		p->cpus = &masks[pp->mask];
		p->cpu = WEIR_NO_CPU;
		p->home = pp->home == WEIR_NONE ? 0 : &g->pipes[pp->home];
		p->holder = p->home ? p->home : p;
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

/* With several in-pipes it keeps, of each task, through which one it came. */
void weir_instance_ports(struct weir_instance weir_mem *inst)
{
	inst->came_at = inst->per_task;
	if (inst->nr_in > 1 && inst->sched->classes[inst->class].has & WEIR_HAS_STEP)
		inst->per_task += 8;
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
	weir_instance_ports(inst);
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
	}
	for (i = 0; i < pi->nr_out && weir_loop; i++) {
		u32 p = plan->links[pi->first_out + i];

		if (p >= plan->nr_pipes)
			return -WEIR_EINVAL;
		inst->out[i] = &g->pipes[p];
		g->pipes[p].from = inst;
		g->pipes[p].from_port = i;
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
	weir_graph_facts(s, g);
	weir_graph_homes(g);
	weir_graph_follow(g);
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

/* What instances hear and review, and how tasks are ordered, from the entries up to a pipe. */
struct facts {
	u64 reviews, reviews_far;
	u32 hears, counts, keyed, gated, tied;
};

/* At the in-pipes of @inst together. */
WEIR_INLINE void facts_before(const struct weir_instance weir_mem *inst, struct facts *all)
{
	for (u32 i = 0; i < inst->nr_in && weir_loop; i++) {
		const struct weir_pipe weir_mem *in = inst->in[i];

		all->hears |= in->hears;
		all->reviews |= in->reviews;
		all->reviews_far |= in->reviews_far;
		all->counts |= in->counts;
		/* Who keeps the order of what comes sorted has sorted out-pipes. */
		all->keyed |= in->keyed;
		all->gated |= in->gated;
		all->tied |= in->tied;
	}
}

/* At @p, the sender of which has @before at its in-pipes. */
WEIR_INLINE void facts_of_pipe(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *p,
			       const struct facts *before)
{
	struct weir_instance weir_mem *from = p->from;

	p->hears = before->hears;
	p->reviews = before->reviews;
	p->reviews_far = before->reviews_far;
	p->counted = from && !p->home && !p->postponed && p->stages;
	p->counts = before->counts || p->counted;
	if (p->stages) {
		p->hears |= p->to->hears;
		if (p->to->home)
			p->reviews |= p->to->reviews;
		else
			p->reviews_far |= p->to->reviews;
	}
	/* Where it leads from one domain to another, the sender decides nothing any more: its tasks are in a list, in order of arrival. */
	p->keyed = 0;
	p->gated = 0;
	p->tied = 0;
	if (!from || p->outward || p->inward)
		return;
	p->keyed = before->keyed;
	p->gated = before->gated;
	p->tied = before->tied;
	if (s->classes[from->class].keyed_out) {
		/* A stable order keeps the one from before among equals, where there was one. */
		p->tied = s->classes[from->class].ordering == WEIR_STABLE && p->keyed;
		p->keyed = 1;
		p->gated |= s->classes[from->class].keyed_out >= WEIR_GATED;
	}
	/* Behind it nobody says which gates are open: the keys alone go on. */
	if (p->postponed)
		p->gated = 0;
}

static void facts_of_instance(struct weir_sched weir_mem *s, struct weir_instance weir_mem *inst)
{
	const struct weir_class weir_mem *class = &s->classes[inst->class];

	inst->home = 0;
	for (u32 i = 0; i < inst->nr_out && weir_loop; i++)
		inst->home = inst->out[i]->home;
	for (u32 i = 0; i < inst->nr_out && weir_loop; i++)
		if (inst->out[i]->home != inst->home || inst->out[i]->postponed)
			inst->home = 0;
	inst->ties = class->keyed_out != 0;
}

static void what_follows(struct weir_pipe weir_mem *p)
{
	p->kind = !p->stages	 ? WEIR_AT_END
		  : p->postponed ? WEIR_AT_REST
		  : p->to->home	 ? WEIR_AT_HOME
				 : WEIR_AT_SHARED;
	p->apart |= p->counts || p->sched->log || weir_holder(p) != p;
	p->simple =
		p->kind == WEIR_AT_END && p->nr_cpus == 1 && !p->keyed && !p->gated && !p->apart;
	if (p->sched->log && !p->postponed && !p->word)
		p->word = WEIR_RECORDED;
	/* (An exit of a home in which tasks are withheld has its members alone.) */
	p->tally = 0;
	if (p->whole && !p->postponed)
		p->tally = p->whole;
	else if (!p->stages && (!p->home || !p->next_in_home || p->border == p))
		p->tally = p;
	p->lone = p->nr_cpus == 1 && !p->outward ? &p->sched->cpus[p->cpu] : 0;
	p->only = p->tally ? p->lone : 0;
}

/* Who alone before @exit hears. (Not counted: the kernel's verifier would follow the count.) */
static void find_ear(struct weir_pipe weir_mem *exit)
{
	struct weir_instance weir_mem *at = exit->from, *ear = 0;

	while (at && weir_loop) {
		if (at->nr_in != 1 || (ear && at->hears))
			break;
		if (at->hears)
			ear = at;
		at = at->in[0]->from;
	}
	exit->ear = at ? 0 : ear;
}

WEIR_GLOBAL int weir_graph_facts(struct weir_sched weir_mem *s weir_arg,
				 struct weir_graph weir_mem *g weir_arg)
{
	const struct facts none = {};
	u32 i;

	for (i = 0; i < g->nr_pipes && weir_loop; i++) {
		struct weir_pipe weir_mem *p = &g->pipes[i];

		p->stages =
			!weir_gap(p->to) && s->classes[p->to->class].has & WEIR_HAS_STEP ? 1 : 0;
		/* Nothing is put off where the path ends. */
		p->postponed &= p->stages;
	}
	for (i = 0; i < g->nr_instances && weir_loop; i++)
		if (!weir_gap(g->instances[i]))
			facts_of_instance(s, g->instances[i]);
	/* Instances are in an order in which each comes after those that feed it; so are their out-pipes. */
	for (i = 0; i < g->nr_pipes && weir_loop; i++)
		if (!g->pipes[i].from)
			facts_of_pipe(s, &g->pipes[i], &none);
	for (i = 0; i < g->nr_instances && weir_loop; i++) {
		struct weir_instance weir_mem *inst = g->instances[i];
		struct facts before = {};

		if (weir_gap(inst))
			continue;
		facts_of_instance(s, inst);
		facts_before(inst, &before);
		for (u32 k = 0; k < inst->nr_out && weir_loop; k++)
			facts_of_pipe(s, inst->out[k], &before);
		inst->careful = s->log || inst->nr_in > 1 || (inst->serial && !inst->home) ||
				(inst->ties && inst->nr_in && inst->in[0]->keyed);
	}
	return 0;
}

/* What follows each pipe, when homes and facts are known. */
WEIR_GLOBAL int weir_graph_follow(struct weir_graph weir_mem *g weir_arg)
{
	u32 i;

	for (i = 0; i < g->nr_pipes && weir_loop; i++)
		what_follows(&g->pipes[i]);
	for (i = 0; i < g->nr_cpus && weir_loop; i++)
		if (g->cpus[i].exit != WEIR_NONE)
			find_ear(&g->pipes[g->cpus[i].exit]);
	return 0;
}

/* The pipes of each home, and its way in. */
WEIR_FLAT int weir_graph_homes(struct weir_graph weir_mem *g)
{
	for (u32 i = 0; i < g->nr_pipes && weir_loop; i++) {
		struct weir_pipe weir_mem *p = &g->pipes[i], *h = p->home;

		/* What comes out of it, or from another domain, is of its receiver's home. */
		if (p->postponed || (WEIR_DOMAINS && p->inward))
			h = p->home = p->to->home;
		p->holder = h ? h : p;
		if (!h)
			continue;
		if (h != p) {
			p->next_in_home = h->next_in_home;
			h->next_in_home = i + 1;
		}
		/* The way in: what is before it is shared. */
		if (!p->from || p->from->home != h) {
			h->border = h->border || h->way_in ? 0 : p;
			h->way_in = 1;
			if (p->stages)
				p->whole = h;
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

WEIR_FLAT int weir_graph_free(struct weir_sched weir_mem *s, struct weir_graph weir_mem *g)
{
	for (u32 i = 0; i < g->nr_instances && weir_loop; i++) {
		if (weir_gap(g->instances[i]))
			continue;
		weir_class_destroy(g->instances[i]);
		weir_instance_free(s, g, g->instances[i]);
	}
	weir_region_free(s, &g->region);
	weir_free(s, g, sizeof(struct weir_graph));
	return 0;
}
