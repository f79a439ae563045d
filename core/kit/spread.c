/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Evening out between groups of CPUs (weir/kit/spread.h). */
#include <weir/kit/spread.h>

/* The core, the cache or the node of the CPU behind @port; numbers that are no CPU's number count as 0. */
static u32 spread_place(const struct weir_rq_loads weir_mem *loads, u32 port, u32 level)
{
	const struct weir_sched weir_mem *s = loads->inst->sched;
	u32 cpu = weir_out(loads->inst, port)->cpu;
	u32 place = !level	 ? weir_cpu_core(s, cpu)
		    : level == 1 ? weir_cpu_llc(s, cpu)
				 : weir_cpu_node(s, cpu);

	return place < weir_nr_cpus(s) ? place : 0;
}

/* Sort by the place of the level, equal ones in the order that they had: by node, cache and core in the end. */
WEIR_FLAT static void spread_sort(struct weir_spread weir_mem *spread, u32 level,
				  u32 weir_mem *first, u32 weir_mem *was)
{
	struct weir_rq_loads weir_mem *loads = spread->loads;
	u32 nr = loads->inst->nr_out, sum = 0;

	for (u32 i = 0; i < weir_nr_cpus(loads->inst->sched) && weir_loop; i++)
		first[i] = 0;
	for (u32 i = 0; i < nr && weir_loop; i++) {
		was[i] = spread->order[i];
		first[spread_place(loads, i, level)]++;
	}
	for (u32 i = 0; i < nr && weir_loop; i++)
		spread->cpu[i].span[level + 1] = first[spread_place(loads, i, level)];
	for (u32 i = 0; i < weir_nr_cpus(loads->inst->sched) && weir_loop; i++) {
		u32 n = first[i];

		first[i] = sum;
		sum += n;
	}
	for (u32 i = 0; i < nr && weir_loop; i++) {
		u32 place = spread_place(loads, was[i], level);
		u32 at = first[place]++;

		if (at < nr)
			spread->order[at] = was[i];
	}
}

/* Where in the order the groups of each level begin. */
WEIR_FLAT static void spread_begin(struct weir_spread weir_mem *spread)
{
	struct weir_instance weir_mem *self = spread->loads->inst;

	for (u32 i = 1; i < self->nr_out && weir_loop; i++) {
		u32 last = spread->order[i - 1], port = spread->order[i];
		u32 away = weir_distance(self->sched, weir_out(self, last)->cpu,
					 weir_out(self, port)->cpu);

		for (u32 level = 0; level < weir_limit(WEIR_SPREAD_LEVELS) && weir_loop; level++)
			spread->cpu[port].first[level] =
				away > level ? i : spread->cpu[last].first[level];
	}
}

WEIR_FLAT int weir_spread_construct(struct weir_spread weir_mem *spread,
				    struct weir_rq_loads weir_mem *loads)
{
	struct weir_instance weir_mem *self = loads->inst;
	u64 nr = self->nr_out;
	u32 weir_mem *first =
		weir_instance_alloc(self, (u64)weir_nr_cpus(self->sched) * sizeof(u32));
	u32 weir_mem *was = weir_instance_alloc(self, nr * sizeof(u32));

	spread->loads = loads;
	spread->order = weir_instance_alloc(self, nr * sizeof(u32));
	spread->cpu = weir_instance_alloc(self, nr * sizeof(struct weir_spread_cpu));
	if (!first || !was || !spread->order || !spread->cpu)
		return -WEIR_ENOMEM;
	for (u32 i = 0; i < nr && weir_loop; i++) {
		spread->order[i] = i;
		spread->cpu[i].span[0] = 1;
		spread->cpu[i].span[WEIR_SPREAD_LEVELS] = (u32)nr;
	}
	for (u32 level = 0; level < weir_limit(WEIR_SPREAD_LEVELS - 1) && weir_loop; level++)
		spread_sort(spread, level, first, was);
	spread_begin(spread);
	return 0;
}

WEIR_FLAT static void spread_clear(struct weir_spread_group weir_mem *g)
{
	g->load = 0;
	g->capacity = 0;
	g->wanted = 0;
	g->most = 0;
	g->nr = 0;
	g->cpus = 0;
	g->from = 0;
}

/* The CPU behind @port counts for the group. */
WEIR_FLAT static void spread_count(struct weir_rq_loads weir_mem *loads, u32 port,
				   struct weir_spread_group weir_mem *g)
{
	struct weir_sched weir_mem *s = loads->inst->sched;
	struct weir_pipe weir_mem *out = weir_out(loads->inst, port);
	u64 load = weir_rq_load_of(loads, out->cpu, weir_now(s)), weighs;
	u32 idle;

	g->load += load;
	g->capacity += (u64)weir_cpu_capacity(s, out->cpu) * out->nr_cpus;
	g->wanted += weir_pelt_util(&loads->port[port].pelt);
	g->nr += weir_pipe_load(out, &idle);
	g->cpus += out->nr_cpus;
	weighs = weir_rq_load_weighs(s, out->cpu, load + 1);
	if (weighs > g->most && weir_pipe_spare(out)) {
		g->most = weighs;
		g->from = port + 1;
	}
}

/* Tasks use the group up. */
static int spread_busy(const struct weir_spread_group weir_mem *g, u64 imbalance)
{
	return g->capacity * 100 <= g->wanted * imbalance;
}

static int spread_overloaded(const struct weir_spread_group weir_mem *g, u64 imbalance)
{
	return g->nr > g->cpus && spread_busy(g, imbalance);
}

/* Group @k is complete: the other one of the two is the next to be counted, 3 - the one with most load. */
WEIR_FLAT static u32 spread_close(struct weir_spread_cpu weir_mem *me, u32 k, u64 imbalance)
{
	struct weir_spread_group weir_mem *one = &me->group[k], *most = &me->group[3 - k];

	me->load += one->load;
	me->capacity += one->capacity;
	if (one->from && spread_overloaded(one, imbalance) &&
	    (!most->from || one->load * most->capacity > most->load * one->capacity)) {
		k = 3 - k;
		one = most;
	}
	spread_clear(one);
	return k;
}

/* What may move from the busiest group to the CPU's own; 0: nothing. */
WEIR_FLAT static u64 spread_limit(const struct weir_spread_cpu weir_mem *me,
				  const struct weir_spread_group weir_mem *most, u32 level,
				  u64 imbalance)
{
	const struct weir_spread_group weir_mem *mine = &me->group[0];
	u64 here, there, mean, less;

	if (mine->nr < mine->cpus || !spread_busy(mine, imbalance)) {
		if (level > 1)
			return mine->wanted < mine->capacity
				       ? (mine->capacity - mine->wanted) | WEIR_SPREAD_BY_UTIL
				       : 0;
		/* With one task more it must not have more than the other one is left with. */
		return (u64)most->nr * mine->cpus >= (u64)(mine->nr + 1) * most->cpus + mine->cpus
			       ? WEIR_SPREAD_ANY
			       : 0;
	}
	here = mine->load * 1024 / mine->capacity;
	there = most->load * 1024 / most->capacity;
	mean = me->load * 1024 / me->capacity;
	if (here >= mean || there <= mean ||
	    (spread_overloaded(mine, imbalance) && there * 100 <= here * imbalance))
		return 0;
	less = (there - mean) * most->capacity;
	here = (mean - here) * mine->capacity;
	return (less < here ? less : here) / 1024;
}

/* Each attempt that moved nothing lets twice as much move. */
WEIR_FLAT static u64 spread_more(u64 limit, u32 failed)
{
	u64 by = limit & WEIR_SPREAD_BY_UTIL, most = limit & WEIR_SPREAD_ANY;

	if (failed > 20 || most >> 40)
		return WEIR_SPREAD_ANY;
	return by | (((most + 1) << failed) - 1);
}

WEIR_GLOBAL u32 weir_spread_find(struct weir_spread weir_mem *spread weir_arg, u32 cpu, u32 level,
				 u64 imbalance)
{
	struct weir_rq_loads weir_mem *loads = spread->loads;
	struct weir_sched weir_mem *s = loads->inst->sched;
	u32 port = cpu < loads->map.nr ? loads->map.port[cpu] : 0, last = WEIR_NO_CPU;
	u32 k = weir_limit(1), end;
	struct weir_spread_cpu weir_mem *me;
	u64 limit;

	if (!port || level >= WEIR_SPREAD_LEVELS)
		return 0;
	me = &spread->cpu[port - 1];
	me->load = 0;
	me->capacity = 0;
	for (u32 i = 0; i < weir_limit(3) && weir_loop; i++)
		spread_clear(&me->group[i]);
	end = me->first[level] + me->span[level + 1];
	if (end > loads->inst->nr_out)
		end = loads->inst->nr_out;
	for (u32 i = me->first[level]; i <= end && weir_loop; i++) {
		u32 at, c = WEIR_NO_CPU, away = level + 1;

		if (i < end) {
			at = spread->order[i];
			c = weir_out(loads->inst, at)->cpu;
			away = at == port - 1 ? 0 : 1 + weir_distance(s, cpu, c);
			if (away > level + 1 || !weir_cpu_is_online(s, c))
				continue;
		}
		/* Another group begins, or none does. */
		if (away > level && last != WEIR_NO_CPU &&
		    (c == WEIR_NO_CPU || !level || weir_distance(s, last, c) >= level))
			/* (Hidden from the verifier, which would walk through both.) */
			k = weir_limit(spread_close(me, k, imbalance));
		if (c == WEIR_NO_CPU)
			break;
		if (away > level)
			last = c;
		spread_count(loads, at, &me->group[away > level ? k : 0]);
	}
	me->load += me->group[0].load;
	me->capacity += me->group[0].capacity;
	weir_note_scan(loads->inst, me->span[level + 1]);
	if (!me->group[3 - k].from || !me->group[0].capacity)
		return 0;
	limit = spread_limit(me, &me->group[3 - k], level, imbalance);
	if (!limit)
		return 0;
	me->limit = spread_more(limit, me->failed[level]);
	return me->group[3 - k].from;
}
