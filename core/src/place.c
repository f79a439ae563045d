/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What components ask about tasks, CPUs and pipes, and how they wake or preempt a CPU. */
#include "internal.h"

struct weir_pipe weir_mem *weir_holder(const struct weir_instance weir_mem *self, const struct weir_task weir_mem *t)
{
	u32 nr = self->sched->graph->nr_slots;

	for (u32 i = 0; i < nr && weir_loop; i++) {
		struct weir_pipe weir_mem *pipe = weir_load_acquire(&t->hooks[i].pipe);

		if (pipe && pipe->to == self)
			return pipe;
	}
	return 0;
}

/* All out-pipes of an instance have the same depth, so one hook tells. */
struct weir_pipe weir_mem *weir_out_of(const struct weir_instance weir_mem *self, const struct weir_task weir_mem *t)
{
	struct weir_pipe weir_mem *pipe;

	if (!self->nr_out)
		return 0;
	pipe = weir_load_acquire(&t->hooks[self->out[0]->slot].pipe);
	return pipe && pipe->from == self ? pipe : 0;
}

WEIR_FLAT int weir_route(struct weir_instance weir_mem *self, struct weir_pipe weir_mem *in, struct weir_task weir_mem *t,
			 struct weir_pipe weir_mem *to)
{
	struct weir_pipe weir_mem *now = weir_out_of(self, t);
	int err = 0;

	if (now && now != to)
		err = weir_pipe_remove(now, t);
	if (!err && to)
		err = weir_pipe_mirror(to, t, in);
	/* Outside of an update nobody else would look at a task that has left one pipe and not reached the other. */
	if (err == -WEIR_EAGAIN)
		weir_start_over(in);
	if (!err && !to)
		weir_publish(self, WEIR_TOPIC_WITHHELD, t, WEIR_NO_CPU, 0);
	return err;
}

struct weir_pipe weir_mem *weir_first_allowed(struct weir_instance weir_mem *self,
					      const struct weir_cpumask weir_mem *mask)
{
	for (u32 i = 0; i < self->nr_out && weir_loop; i++) {
		if (weir_pipe_allows(self->out[i], mask)) {
			weir_note_scan(self, i + 1);
			return self->out[i];
		}
	}
	weir_note_scan(self, self->nr_out);
	return 0;
}

WEIR_GLOBAL int weir_port_map(struct weir_instance weir_mem *self weir_arg, struct weir_port_map weir_mem *map weir_arg)
{
	u32 i;

	map->nr = 0;
	for (i = 0; i < self->nr_out && weir_loop; i++)
		if (self->out[i]->nr_cpus && (self->out[i]->word_hi + 1) * 64 > map->nr)
			map->nr = (self->out[i]->word_hi + 1) * 64;
	map->port = weir_instance_alloc(self, (u64)map->nr * sizeof(u32) + 8);
	if (!map->port)
		return -WEIR_ENOMEM;
	for (i = self->nr_out; i > 0 && weir_loop; i--) {
		struct weir_pipe weir_mem *out = self->out[i - 1];

		for (u32 w = out->word_lo; w <= out->word_hi && weir_loop; w++) {
			u64 bits = out->cpus->word[w];

			while (bits && weir_loop) {
				map->port[w * 64 + weir_lowest_bit(bits)] = i;
				bits &= bits - 1;
			}
		}
	}
	return 0;
}

WEIR_GLOBAL u64 weir_property(struct weir_sched weir_mem *s weir_arg, u32 topic, struct weir_task weir_mem *t weir_arg)
{
	struct weir_msg msg = { .topic = topic, .task = t };

	return weir_request_here(s, &msg) ? 0 : msg.value;
}

WEIR_GLOBAL u64 weir_affinity_at(struct weir_sched weir_mem *s weir_arg, struct weir_task weir_mem *t weir_arg)
{
	struct weir_msg msg = { .topic = WEIR_TOPIC_AFFINITY, .task = t };

	return weir_request_here(s, &msg) ? 0 : (u64)msg.mask;
}

WEIR_GLOBAL int weir_pipe_allows(const struct weir_pipe weir_mem *pipe weir_arg, const struct weir_cpumask weir_mem *mask weir_arg)
{
	struct weir_sched weir_mem *s = pipe->sched;

	if (pipe->nr_cpus == 0)
		return 0;
	if (pipe->nr_cpus == 1)
		return weir_load(&s->cpus[pipe->cpu].online) && (!mask || weir_mask_test(mask, pipe->cpu));
	for (u32 w = pipe->word_lo; w <= pipe->word_hi && weir_loop; w++) {
		u64 bits = pipe->cpus->word[w] & (mask ? weir_load(&mask->word[w]) : ~0ull);

		while (bits && weir_loop) {
			if (weir_load(&s->cpus[w * 64 + weir_lowest_bit(bits)].online))
				return 1;
			bits &= bits - 1;
		}
	}
	return 0;
}

WEIR_GLOBAL u64 weir_pipe_capacity(const struct weir_pipe weir_mem *pipe weir_arg)
{
	struct weir_sched weir_mem *s = pipe->sched;
	u64 sum = 0;

	for (u32 w = pipe->word_lo; w <= pipe->word_hi && weir_loop; w++) {
		u64 bits = pipe->cpus->word[w];

		while (bits && weir_loop) {
			struct weir_cpu weir_mem *c = &s->cpus[w * 64 + weir_lowest_bit(bits)];

			bits &= bits - 1;
			if (weir_load(&c->online))
				sum += c->capacity;
		}
	}
	return sum;
}

/* The CPU runs a task; one that is about to choose does not. */
static u32 weir_runs(const struct weir_cpu weir_mem *cpu)
{
	return weir_load(&cpu->curr) != 0;
}

WEIR_GLOBAL u32 weir_pipe_load(const struct weir_pipe weir_mem *pipe weir_arg, u32 *idle weir_arg_record)
{
	struct weir_sched weir_mem *s = pipe->sched;
	u32 busy = 0;

	if (pipe->nr_cpus == 1) {
		u32 load = weir_pipe_nr(pipe) + weir_runs(&s->cpus[pipe->cpu]);

		/* A CPU that chooses and has nothing to choose from will take what comes, unkicked. */
		*idle = !load || weir_mask_test(s->idle, pipe->cpu);
		return load;
	}
	*idle = 0;
	for (u32 w = pipe->word_lo; w <= pipe->word_hi && weir_loop; w++) {
		busy += weir_count_bits(pipe->cpus->word[w] & weir_load(&s->busy->word[w]));
		*idle += weir_count_bits(pipe->cpus->word[w] & weir_load(&s->idle->word[w]));
	}
	return weir_pipe_nr(pipe) + busy;
}

u32 weir_distance(struct weir_sched weir_mem *s, u32 a, u32 b)
{
	struct weir_cpu weir_mem *x = &s->cpus[a], *y = &s->cpus[b];

	if (x->core == y->core)
		return 0;
	if (x->llc == y->llc)
		return 1;
	return x->node == y->node ? 2 : 3;
}

/*
 * Of the CPUs in word @w of a set, as @bits, the one nearest to CPU @last, behind its distance in the upper half; all ones if
 * none is online. (By itself, for a verifier would walk through both loops together.)
 */
WEIR_GLOBAL u64 weir_nearest_of(struct weir_sched weir_mem *s weir_arg, u32 last, u32 w, u64 bits)
{
	u64 best = ~0ull;

	while (bits && weir_loop) {
		u32 cpu = w * 64 + weir_lowest_bit(bits);
		u64 found;

		bits &= bits - 1;
		if (!weir_load(&s->cpus[cpu].online))
			continue;
		if (last >= s->nr_cpus || cpu == last)
			return cpu;
		/* From memory to the verifier: it would go on with each of the four distances. */
		found = (u64)weir_limit(weir_distance(s, last, cpu)) << 32 | cpu;
		if (found >> 32 < best >> 32)
			best = found;
	}
	return best;
}

WEIR_GLOBAL u32 weir_idle_near(const struct weir_pipe weir_mem *pipe weir_arg, const struct weir_task weir_mem *t weir_arg,
			       const struct weir_cpumask weir_mem *mask weir_arg)
{
	struct weir_sched weir_mem *s = pipe->sched;
	u32 last = weir_load(&t->cpu);
	u32 nr = pipe->word_hi - pipe->word_lo + 1;
	u32 w = pipe->word_lo;
	u64 best = ~0ull;

	/* Begin where neighbours most likely are. */
	if (last < s->nr_cpus && last / 64 > pipe->word_lo && last / 64 <= pipe->word_hi)
		w = last / 64;
	for (u32 i = 0; i < nr && best >> 32 > 1 && weir_loop; i++) {
		u64 bits = pipe->cpus->word[w] & weir_load(&s->idle->word[w]);
		u64 found;

		if (mask)
			bits &= weir_load(&mask->word[w]);
		found = bits ? weir_nearest_of(s, last, w, bits) : ~0ull;
		if (found >> 32 < best >> 32)
			best = found;
		w = w == pipe->word_hi ? pipe->word_lo : w + 1;
	}
	return (u32)best;
}

/* Some CPU behind @pipe waits for work. */
WEIR_FLAT static int anybody_idle(const struct weir_pipe weir_mem *pipe)
{
	struct weir_sched weir_mem *s = pipe->sched;

	if (pipe->nr_cpus == 1)
		return weir_mask_test(s->idle, pipe->cpu);
	for (u32 w = pipe->word_lo; w <= pipe->word_hi && weir_loop; w++)
		if (pipe->cpus->word[w] & weir_load(&s->idle->word[w]))
			return 1;
	return 0;
}

WEIR_FLAT int weir_kick_later(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	/* Pairs with the fence in weir_pick(): either we see the idle CPU, or it sees @t in the pipe. */
	weir_barrier(pipe->sched);
	if (pipe->nr_cpus && anybody_idle(pipe)) {
		struct weir_msg msg = { .topic = WEIR_TOPIC_KICK, .cpu = WEIR_NO_CPU, .task = t,
					.value = pipe->idx, .value2 = pipe->to->idx };

		weir_msg_push(pipe->sched, &msg);
	}
	return 0;
}

WEIR_GLOBAL u32 weir_kick_whom(struct weir_sched weir_mem *s weir_arg, struct weir_task weir_mem *t weir_arg, u32 idx)
{
	struct weir_pipe weir_mem *pipe = &s->graph->pipes[idx];
	u32 cpu = pipe->cpu;

	if (pipe->nr_cpus > 1) {
		/* Where it may run is asked while it is there: later the record can be another task's. */
		cpu = WEIR_NO_CPU;
		if (weir_pipe_lock(pipe)) {
			/* If it is another task's record by now, ours is gone, and whoever is kicked finds nothing. */
			cpu = weir_idle_near(pipe, t, weir_affinity(s, t));
		} else {
			if (weir_pipe_has(pipe, t))
				cpu = weir_idle_near(pipe, t, weir_affinity(s, t));
			weir_pipe_unlock(pipe);
		}
	}
	/* Whoever takes a CPU out of the idle set wakes it. */
	return cpu < s->nr_cpus && weir_mask_clear(s->idle, cpu) ? cpu : WEIR_NO_CPU;
}

/* The CPU behind @pipe, allowed by @mask, that runs the task least urgent of those less urgent than @key; none if one is idle. */
WEIR_GLOBAL u32 weir_least_urgent(struct weir_pipe weir_mem *pipe weir_arg, const struct weir_cpumask weir_mem *mask weir_arg,
				  u64 key)
{
	struct weir_sched weir_mem *s = pipe->sched;
	u32 worst = WEIR_NO_CPU;

	for (u32 w = pipe->word_lo; w <= pipe->word_hi && weir_loop; w++) {
		u64 bits = pipe->cpus->word[w] & (mask ? weir_load(&mask->word[w]) : ~0ull);

		if (bits & weir_load(&s->idle->word[w]))
			return WEIR_NO_CPU;
		bits &= weir_load(&s->busy->word[w]);
		while (bits && weir_loop) {
			u32 cpu = w * 64 + weir_lowest_bit(bits);
			u64 k = weir_load(&s->cpus[cpu].curr_key);

			bits &= bits - 1;
			if (k > key) {
				worst = cpu;
				key = k;
			}
		}
	}
	return worst;
}

WEIR_GLOBAL int weir_preempt(struct weir_instance weir_mem *self weir_arg, struct weir_pipe weir_mem *pipe weir_arg,
			     struct weir_task weir_mem *t weir_arg, u64 key)
{
	struct weir_sched weir_mem *s = self->sched;
	u32 cpu = weir_least_urgent(pipe, pipe->nr_cpus > 1 ? weir_affinity(s, t) : 0, key);

	weir_note_scan(self, pipe->nr_cpus);
	if (cpu == WEIR_NO_CPU)
		return 0;
	/* Until it chooses again the CPU counts as running @t, so the next arrival looks elsewhere. */
	weir_store(&s->cpus[cpu].curr_key, key);
	weir_publish(self, WEIR_TOPIC_PREEMPT, t, cpu, key);
	return 1;
}

void weir_rekey_running(struct weir_instance weir_mem *self, struct weir_pipe weir_mem *pipe,
			struct weir_task weir_mem *t, u64 key)
{
	struct weir_sched weir_mem *s = self->sched;
	u32 cpu = weir_load(&t->cpu);
	u64 first = WEIR_KEY_NONE;

	if (cpu >= s->nr_cpus || !weir_mask_test(pipe->cpus, cpu) || weir_load(&s->cpus[cpu].curr) != t)
		return;
	weir_store(&t->key, key);
	weir_store(&s->cpus[cpu].curr_key, key);
	if (weir_pipe_lock(pipe))
		return;
	if (pipe->head)
		first = pipe->head->hooks[pipe->slot].key;
	weir_pipe_unlock(pipe);
	if (first < key)
		weir_publish(self, WEIR_TOPIC_PREEMPT, t, cpu, first);
}

void weir_note_scan(struct weir_instance weir_mem *self, u32 n)
{
	weir_op(self->sched, WEIR_OP_SCAN, self->idx, n);
}

void weir_note_burn(struct weir_instance weir_mem *self, u32 n)
{
	weir_op(self->sched, WEIR_OP_BURN, self->idx, n);
}

void weir_timer_set(struct weir_instance weir_mem *self, u64 at_ns)
{
	weir_store(&self->timer_ns, at_ns);
	weir_rt_timer(self->sched, self->idx, at_ns);
}
