/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Load behind the out-pipes of a balancer (weir/kit/rq_load.h). */
#include <weir/cpus.h>
#include <weir/kit/fair.h>
#include <weir/kit/rq_load.h>

WEIR_FLAT int weir_rq_load_construct(struct weir_instance weir_mem *self,
				     struct weir_rq_loads weir_mem *loads)
{
	if (self->nr_out > WEIR_MAX_CPUS)
		return -WEIR_EPORTS;
	loads->inst = self;
	loads->port =
		weir_instance_alloc(self, (u64)self->nr_out * sizeof(struct weir_rq_load_port));
	if (!loads->port)
		return -WEIR_ENOMEM;
	if (weir_near_construct(self, &loads->near))
		return -WEIR_ENOMEM;
	return weir_port_map(self, &loads->map);
}

WEIR_FLAT int weir_rq_load_take(struct weir_rq_loads weir_mem *loads,
				const struct weir_rq_loads weir_mem *old)
{
	for (u32 i = 0; i < loads->inst->nr_out && i < old->inst->nr_out && weir_loop; i++) {
		loads->port[i].pelt.at = old->port[i].pelt.at;
		loads->port[i].pelt.load_sum = old->port[i].pelt.load_sum;
		loads->port[i].pelt.part = old->port[i].pelt.part;
		loads->port[i].load = old->port[i].load;
		loads->port[i].awake = old->port[i].awake;
		loads->port[i].pelt.util_sum = old->port[i].pelt.util_sum;
		loads->port[i].running = old->port[i].running;
		loads->port[i].spared = old->port[i].spared;
	}
	for (u32 w = 0; w < weir_unknown(WEIR_MASK_WORDS) && weir_loop; w++)
		loads->near.lazy.word[w] = old->near.lazy.word[w];
	return 0;
}

/* Update the average of @q to @now, unless another CPU is updating it; that CPU may have stopped there. */
static void rq_load_update(struct weir_rq_load_port weir_mem *q, u64 now)
{
	if (!weir_try_lock(&q->busy))
		return;
	weir_pelt_update(&q->pelt, now, weir_rq_load_sum(q), weir_load(&q->running));
	weir_spin_unlock(&q->busy);
}

/* What a task uses, @sum, counts behind @q from now on; @less: no longer. */
static void rq_load_shift(struct weir_rq_load_port weir_mem *q, u64 sum, int less)
{
	if (!weir_try_lock(&q->busy))
		return;
	if (!less)
		q->pelt.util_sum += sum;
	else
		q->pelt.util_sum -= sum < q->pelt.util_sum ? sum : q->pelt.util_sum;
	weir_spin_unlock(&q->busy);
}

static int rq_load_lazy(const struct weir_rq_load_port weir_mem *q)
{
	return !weir_load(&q->awake) && weir_load(&q->load) > 0;
}

/* A task of @weight more is runnable behind the pipe; @more is -1: one less. A CPU that counts at the same time looks again afterwards. */
static void rq_load_count(struct weir_rq_loads weir_mem *loads, u32 port, u32 weight, s64 more)
{
	struct weir_rq_load_port weir_mem *q = &loads->port[port];
	u32 cpu = weir_out(loads->inst, port)->cpu;
	struct weir_cpumask weir_mem *lazy = &loads->near.lazy;

	weir_fetch_add(&q->load, (s64)weight * more);
	if (weight && weight != WEIR_WEIGHT_IDLE)
		weir_fetch_add(&q->awake, (u32)more);
	if (cpu >= weir_nr_cpus(loads->inst->sched))
		return;
	if (rq_load_lazy(q)) {
		weir_mask_set(lazy, cpu);
		if (!rq_load_lazy(q))
			weir_mask_clear(lazy, cpu);
	} else if (weir_mask_test(lazy, cpu)) {
		weir_mask_clear(lazy, cpu);
		if (rq_load_lazy(q))
			weir_mask_set(lazy, cpu);
	}
}

/* The CPU behind the task's pipe runs it no longer. */
static void rq_load_stop(struct weir_rq_loads weir_mem *loads,
			 const struct weir_rq_load_task weir_mem *p, u64 now)
{
	u32 port = weir_load(&p->counted) >> 32;

	if (!loads->uses || !port || port > loads->inst->nr_out)
		return;
	rq_load_update(&loads->port[port - 1], now);
	weir_store(&loads->port[port - 1].running, 0);
}

WEIR_FLAT int weir_rq_load_start(struct weir_rq_loads weir_mem *loads,
				 struct weir_rq_load_task weir_mem *p, u32 cpu, u64 now)
{
	u32 port = cpu < loads->map.nr ? loads->map.port[cpu] : 0;

	weir_rq_load_track(p, now);
	if (cpu >= weir_nr_cpus(loads->inst->sched))
		return 0;
	weir_store(&p->running, weir_cpu_capacity(loads->inst->sched, cpu));
	if (!loads->uses || !port)
		return 0;
	rq_load_update(&loads->port[port - 1], now);
	weir_store(&loads->port[port - 1].running, weir_cpu_capacity(loads->inst->sched, cpu));
	return 0;
}

WEIR_GLOBAL int weir_rq_load_enter(struct weir_rq_loads weir_mem *loads weir_arg,
				   struct weir_rq_load_task weir_mem *p weir_arg, u32 port,
				   u32 weight, u64 now)
{
	u64 new = (u64)port << 32 | weight, old = weir_load(&p->counted), seen;
	u32 nr = loads->inst->nr_out, from;

	weir_rq_load_track(p, now);
	if (weir_load(&p->running)) {
		weir_store(&p->stopped, now);
		rq_load_stop(loads, p, now);
	}
	weir_store(&p->running, 0);
	while (weir_loop) {
		seen = weir_cas(&p->counted, old, new);
		if (seen == old)
			break;
		old = seen;
	}
	from = old >> 32;
	if (from && from <= nr) {
		rq_load_update(&loads->port[from - 1], now);
		if (old != new)
			rq_load_count(loads, from - 1, (u32)old, -1);
	}
	if (port && port <= nr && old != new) {
		rq_load_update(&loads->port[port - 1], now);
		rq_load_count(loads, port - 1, weight, 1);
	}
	if (loads->uses && from != port) {
		if (from && from <= nr)
			rq_load_shift(&loads->port[from - 1], p->pelt.util_sum, 1);
		if (port && port <= nr)
			rq_load_shift(&loads->port[port - 1], p->pelt.util_sum, 0);
	}
	return 0;
}

WEIR_GLOBAL int weir_rq_load_leave(struct weir_rq_loads weir_mem *loads weir_arg,
				   struct weir_rq_load_task weir_mem *p weir_arg)
{
	return weir_rq_load_enter(loads, p, weir_load(&p->counted) >> 32, 0,
				  weir_now(loads->inst->sched));
}

WEIR_GLOBAL u64 weir_rq_load_of(struct weir_rq_loads weir_mem *loads weir_arg, u32 cpu, u64 now)
{
	u32 port = cpu < loads->map.nr ? loads->map.port[cpu] : 0;
	struct weir_rq_load_port weir_mem *q;

	if (!port)
		return ~0ull >> 20;
	q = &loads->port[port - 1];
	rq_load_update(q, now);
	return weir_pelt_load(&q->pelt);
}

WEIR_GLOBAL u64 weir_rq_load_util(struct weir_rq_loads weir_mem *loads weir_arg, u32 cpu, u64 now)
{
	u32 port = cpu < loads->map.nr ? loads->map.port[cpu] : 0;
	u64 util;

	if (!port)
		return 0;
	rq_load_update(&loads->port[port - 1], now);
	util = weir_pelt_util(&loads->port[port - 1].pelt);
	return util < 1024 ? util : 1024;
}

WEIR_GLOBAL u32 weir_pipe_spare(struct weir_pipe weir_mem *pipe weir_arg)
{
	u32 nr = weir_pipe_nr(pipe), idle;

	if (!nr)
		return 0;
	return weir_pipe_load(pipe, &idle) > nr ? nr : nr - 1;
}

/* The out-pipe holds no task; a CPU that fills it meanwhile sets its bit again afterwards. */
static int rq_load_empty(struct weir_rq_loads weir_mem *loads, u32 port)
{
	struct weir_pipe weir_mem *out = weir_out(loads->inst, port);

	if (weir_pipe_nr(out))
		return 0;
	weir_mask_clear(&loads->queued, port);
	if (weir_pipe_nr(out))
		weir_mask_set(&loads->queued, port);
	return 1;
}

WEIR_GLOBAL u32 weir_rq_load_busiest(struct weir_rq_loads weir_mem *loads weir_arg, u32 cpu,
				     u32 near, u32 far)
{
	struct weir_instance weir_mem *self = loads->inst;
	u64 now = weir_now(self->sched), most = weir_unknown(0ull);
	u32 n = weir_unknown(0u), best = weir_unknown(0u);
	u64 lot = weir_lot(&loads->near, cpu);

	for (u32 w = 0; w * 64 < self->nr_out && weir_loop; w++) {
		u64 bits = weir_load(&loads->queued.word[w & (WEIR_MASK_WORDS - 1)]);

		while (bits && weir_loop) {
			u32 i = w * 64 + weir_lowest_bit(bits), away;
			struct weir_pipe weir_mem *out = weir_out(self, i);
			u64 here;

			bits &= bits - 1;
			n++;
			if (rq_load_empty(loads, i))
				continue;
			away = weir_distance(self->sched, cpu, out->cpu);
			if (away < near || away > far || out->cpu == cpu || !weir_pipe_spare(out))
				continue;
			here = weir_rq_load_weighs(self->sched, out->cpu,
						   weir_rq_load_of(loads, out->cpu, now) + 1);
			here = weir_unknown(here << 8 | weir_lot_of(lot, out->cpu) >> 16);
			if (here <= most)
				continue;
			most = here;
			best = i + 1;
		}
	}
	weir_note_scan(self, n + (self->nr_out + 63) / 64);
	return best;
}

/*
 * What counts more than the load of @cpu: 32 where a task would wait. Free CPUs by size, since a new task may compute; differences below a sixteenth do
 * not count. 16 more where the core is busy.
 */
static u32 rq_load_rank(const struct weir_rq_loads weir_mem *loads, u32 cpu, int idle)
{
	const struct weir_sched weir_mem *s = loads->inst->sched;
	u32 rank = 32;

	if (weir_cpu_free(s, &loads->near, cpu, idle)) {
		rank = (1024 - weir_cpu_capacity(s, cpu)) / 64;
		if (!weir_cpu_waits(s, cpu) || !weir_core_idle(s, &loads->near, cpu))
			rank += 16;
	}
	return weir_unknown(rank);
}

/* How recently it was given a new task, of @all so far, 12 bits: the largest if it was the last one. */
static u64 rq_load_recent(const struct weir_rq_load_port weir_mem *q, u64 all)
{
	u64 since = all - weir_load(&q->turn);

	return weir_unknown(since < 4095 ? 4095 - since : 0);
}

WEIR_GLOBAL u32 weir_rq_load_idlest(struct weir_rq_loads weir_mem *loads weir_arg, u32 here,
				    int idle, const struct weir_cpumask weir_mem *mask weir_arg)
{
	struct weir_instance weir_mem *self = loads->inst;
	struct weir_sched weir_mem *s = self->sched;
	u64 now = weir_now(s), least = weir_unknown(~0ull);
	u64 all = weir_load(&loads->turn), lot = weir_lot(&loads->near, all);
	struct weir_pipe weir_mem *to;
	u32 found = weir_unknown(WEIR_NO_CPU);

	for (u32 i = 0; i < self->nr_out && weir_loop; i++) {
		u32 cpu = weir_out(self, i)->cpu;
		u64 load;

		if (!weir_cpu_may(s, cpu, mask))
			continue;
		load = weir_rq_load_weighs(s, cpu,
					   weir_rq_load_of(loads, cpu, now) +
						   weir_rq_load_sum(&loads->port[i]));
		load += (u64)rq_load_rank(loads, cpu, idle) << 35;
		load = load * 4 + (here < weir_nr_cpus(s) ? weir_distance(s, here, cpu) : 0);
		load = load << 20 | rq_load_recent(&loads->port[i], all) << 8 |
		       weir_lot_of(lot, cpu) >> 16;
		load = weir_unknown(load);
		if (load < least) {
			least = load;
			found = cpu;
		}
	}
	weir_note_scan(self, self->nr_out);
	to = weir_port_to(self, &loads->map, found);
	if (!to)
		to = weir_first_allowed(self, mask);
	if (to)
		weir_store(&loads->port[to->from_port].turn, weir_fetch_add(&loads->turn, 1) + 1);
	return to ? to->from_port + 1 : 0;
}
