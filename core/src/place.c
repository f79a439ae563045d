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

int weir_route(struct weir_instance weir_mem *self, struct weir_pipe weir_mem *in, struct weir_task weir_mem *t,
	       struct weir_pipe weir_mem *to)
{
	struct weir_pipe weir_mem *now = weir_out_of(self, t);

	if (now && now != to) {
		int err = weir_pipe_remove(now, t);

		if (err)
			return err;
	}
	if (to)
		return weir_pipe_mirror(to, t, in);
	weir_publish(self, WEIR_TOPIC_WITHHELD, t, WEIR_NO_CPU, self->idx);
	return 0;
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

int weir_port_map(struct weir_instance weir_mem *self, struct weir_port_map weir_mem *map)
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

u64 weir_property(struct weir_sched weir_mem *s, u32 topic, struct weir_task weir_mem *t)
{
	struct weir_msg msg = { .topic = topic, .task = t };

	return weir_request(s, &msg) ? 0 : msg.value;
}

const struct weir_cpumask weir_mem *weir_affinity(struct weir_sched weir_mem *s, struct weir_task weir_mem *t)
{
	struct weir_msg msg = { .topic = WEIR_TOPIC_AFFINITY, .task = t };

	return weir_request(s, &msg) ? 0 : msg.mask;
}

int weir_pipe_allows(const struct weir_pipe weir_mem *pipe, const struct weir_cpumask weir_mem *mask)
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

u64 weir_pipe_capacity(const struct weir_pipe weir_mem *pipe)
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

u32 weir_pipe_load(const struct weir_pipe weir_mem *pipe, u32 *idle)
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

/* Take @cpu out of the idle set; whoever does wakes it. */
static int kick(struct weir_instance weir_mem *self, struct weir_task weir_mem *t, u32 cpu)
{
	if (!weir_mask_clear(self->sched->idle, cpu))
		return 0;
	weir_publish(self, WEIR_TOPIC_KICK, t, cpu, 0);
	return 1;
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

u32 weir_idle_near(const struct weir_pipe weir_mem *pipe, const struct weir_task weir_mem *t,
		   const struct weir_cpumask weir_mem *mask)
{
	struct weir_sched weir_mem *s = pipe->sched;
	u32 last = weir_load(&t->cpu);
	u32 best = WEIR_NO_CPU, best_distance = ~0u;
	u32 nr = pipe->word_hi - pipe->word_lo + 1;
	u32 w = pipe->word_lo;

	/* Begin where neighbours most likely are. */
	if (last < s->nr_cpus && last / 64 > pipe->word_lo && last / 64 <= pipe->word_hi)
		w = last / 64;
	for (u32 i = 0; i < nr && best_distance > 1 && weir_loop; i++) {
		u64 bits = pipe->cpus->word[w] & weir_load(&s->idle->word[w]);

		if (mask)
			bits &= weir_load(&mask->word[w]);
		while (bits && weir_loop) {
			u32 cpu = w * 64 + weir_lowest_bit(bits);
			u32 d;

			bits &= bits - 1;
			if (!weir_load(&s->cpus[cpu].online))
				continue;
			if (last >= s->nr_cpus || cpu == last)
				return cpu;
			d = weir_distance(s, last, cpu);
			if (d < best_distance) {
				best = cpu;
				best_distance = d;
			}
		}
		w = w == pipe->word_hi ? pipe->word_lo : w + 1;
	}
	return best;
}

int weir_kick_idle(struct weir_instance weir_mem *self, struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	u32 cpu, idle;

	/* Pairs with the fence in weir_pick(): either we see the idle CPU, or it sees @t in the pipe. */
	weir_barrier(self->sched);
	if (pipe->nr_cpus == 1)
		return weir_mask_test(self->sched->idle, pipe->cpu) && kick(self, t, pipe->cpu);
	weir_pipe_load(pipe, &idle);
	if (!idle)
		return 0;
	cpu = weir_idle_near(pipe, t, weir_affinity(self->sched, t));
	return cpu != WEIR_NO_CPU && kick(self, t, cpu);
}

void weir_preempt(struct weir_instance weir_mem *self, struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t,
		  u64 key)
{
	struct weir_sched weir_mem *s = self->sched;
	const struct weir_cpumask weir_mem *mask = 0;
	u32 worst = WEIR_NO_CPU;
	u64 worst_key = key;

	if (pipe->nr_cpus > 1)
		mask = weir_affinity(s, t);
	for (u32 w = pipe->word_lo; w <= pipe->word_hi && weir_loop; w++) {
		u64 bits = pipe->cpus->word[w] & (mask ? weir_load(&mask->word[w]) : ~0ull);

		if (bits & weir_load(&s->idle->word[w]))
			return;
		bits &= weir_load(&s->busy->word[w]);
		weir_note_scan(self, weir_count_bits(bits));
		while (bits && weir_loop) {
			u32 cpu = w * 64 + weir_lowest_bit(bits);
			u64 k = weir_load(&s->cpus[cpu].curr_key);

			bits &= bits - 1;
			if (k > worst_key) {
				worst = cpu;
				worst_key = k;
			}
		}
	}
	if (worst == WEIR_NO_CPU)
		return;
	/* Until it chooses again the CPU counts as running @t, so the next arrival looks elsewhere. */
	weir_store(&s->cpus[worst].curr_key, key);
	weir_publish(self, WEIR_TOPIC_PREEMPT, t, worst, key);
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
