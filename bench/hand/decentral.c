/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The yardstick `hand-fused`: the topology `decentral` written by hand.
 *
 * Duties: a task's affinity; its last CPU if that is idle, else an idle one, else the one with the fewest waiting and running tasks;
 * a round-robin list with a lock for each CPU; slices; a claim by one state change; a block of a task that waits or runs; idle CPUs are kicked.
 */
#include "hand.h"

struct fused_task {
	u32 id;
	u32 state; /* enum weir_task_state */
	u32 cpu;   /* where it runs or last ran */
	u32 queue; /* 1 + the CPU in whose list it is, 0: in none */
	struct fused_task *next;
	struct fused_task *prev;
	u64 slice_ns;
	const u64 *mask; /* null: everywhere */
};

struct fused_cpu {
	u32 lock;
	u32 nr;
	u32 online;
	u32 unused;
	struct fused_task *head;
	struct fused_task *tail;
	struct fused_task *curr;
} __attribute__((aligned(64)));

struct fused {
	u32 nr_cpus;
	u32 kicks;
	u64 slice_ns;
	u64 idle __attribute__((aligned(64)));
	struct fused_cpu cpus[HAND_MAX_CPUS];
};

static int fused_allows(const struct fused *s, const struct fused_task *t, u32 cpu)
{
	return weir_load(&s->cpus[cpu].online) && (!t->mask || hand_has(t->mask, cpu));
}

static u32 fused_load(const struct fused *s, u32 cpu, u32 *idle)
{
	u32 load = weir_load(&s->cpus[cpu].nr) + (weir_load(&s->cpus[cpu].curr) != 0);

	*idle = !load || hand_has(&s->idle, cpu);
	return load;
}

static u32 fused_choose(const struct fused *s, const struct fused_task *t)
{
	u32 last = weir_load(&t->cpu), best = WEIR_NO_CPU, best_load = 0, best_idle = 0, load, idle;

	if (last < s->nr_cpus && fused_allows(s, t, last)) {
		best = last;
		best_load = fused_load(s, last, &best_idle);
		if (best_idle)
			return best;
	}
	for (u32 cpu = 0; cpu < s->nr_cpus; cpu++) {
		if (cpu == last || !fused_allows(s, t, cpu))
			continue;
		load = fused_load(s, cpu, &idle);
		if (best == WEIR_NO_CPU || (idle && !best_idle) ||
		    (!idle == !best_idle && load < best_load)) {
			best = cpu;
			best_load = load;
			best_idle = idle;
		}
	}
	return best;
}

static int fused_enter(struct fused *s, struct fused_task *t)
{
	u32 cpu = fused_choose(s, t);
	struct fused_cpu *c;

	if (cpu == WEIR_NO_CPU)
		return -1;
	c = &s->cpus[cpu];
	t->slice_ns = s->slice_ns;
	hand_lock(&c->lock);
	t->prev = c->tail;
	t->next = 0;
	if (c->tail)
		c->tail->next = t;
	else
		c->head = t;
	c->tail = t;
	weir_store(&c->nr, c->nr + 1);
	weir_store(&t->queue, cpu + 1);
	weir_spin_unlock(&c->lock);
	/* A CPU that found nothing said so under the lock. */
	if (hand_has(&s->idle, cpu) && hand_drop(&s->idle, cpu))
		s->kicks++;
	return 0;
}

static void fused_unlink(struct fused_cpu *c, struct fused_task *t)
{
	if (t->prev)
		t->prev->next = t->next;
	else
		c->head = t->next;
	if (t->next)
		t->next->prev = t->prev;
	else
		c->tail = t->prev;
	weir_store(&c->nr, c->nr - 1);
	weir_store(&t->queue, 0);
}

HAND_CALL int fused_admit(struct fused *s, struct fused_task *t)
{
	if (weir_cas(&t->state, WEIR_UNCONSIDERED, WEIR_SCHEDULABLE) != WEIR_UNCONSIDERED)
		return -1;
	return fused_enter(s, t);
}

HAND_CALL int fused_relinquish(struct fused *s, struct fused_task *t)
{
	struct fused_cpu *c = &s->cpus[weir_load(&t->cpu)];

	if (weir_cas(&t->state, WEIR_RUNNING, WEIR_SCHEDULABLE) != WEIR_RUNNING)
		return -1;
	if (weir_load(&c->curr) == t)
		weir_store(&c->curr, 0);
	return fused_enter(s, t);
}

HAND_CALL int fused_block(struct fused *s, struct fused_task *t)
{
	u32 state = weir_load(&t->state), queue = weir_load(&t->queue);

	if (weir_cas(&t->state, state, WEIR_UNCONSIDERED) != state)
		return -1;
	if (state == WEIR_RUNNING && weir_load(&s->cpus[t->cpu].curr) == t)
		weir_store(&s->cpus[t->cpu].curr, 0);
	if (state == WEIR_SCHEDULABLE && queue) {
		struct fused_cpu *c = &s->cpus[queue - 1];

		hand_lock(&c->lock);
		if (t->queue == queue)
			fused_unlink(c, t);
		weir_spin_unlock(&c->lock);
	}
	return 0;
}

HAND_CALL struct fused_task *fused_pick(struct fused *s, u32 cpu)
{
	struct fused_cpu *c = &s->cpus[cpu];
	struct fused_task *t;

	hand_lock(&c->lock);
	for (t = c->head; t; t = t->next)
		if (weir_cas(&t->state, WEIR_SCHEDULABLE, HAND_CLAIMED) == WEIR_SCHEDULABLE)
			break;
	if (t) {
		fused_unlink(c, t);
		weir_store(&t->cpu, cpu);
		weir_store(&c->curr, t);
		/* From here on it may be blocked. */
		weir_store_release(&t->state, WEIR_RUNNING);
	} else {
		hand_add(&s->idle, cpu);
	}
	weir_spin_unlock(&c->lock);
	if (t && hand_has(&s->idle, cpu))
		hand_drop(&s->idle, cpu);
	return t;
}

u64 fused_bytes(void)
{
	return sizeof(struct fused);
}

void fused_init(struct fused *s, u32 nr_cpus)
{
	s->nr_cpus = nr_cpus;
	s->slice_ns = 3000000;
	for (u32 cpu = 0; cpu < nr_cpus; cpu++)
		s->cpus[cpu].online = 1;
}

u64 fused_task_bytes(void)
{
	return sizeof(struct fused_task);
}

void fused_task_init(struct fused_task *t, u32 id)
{
	t->id = id;
	t->state = WEIR_UNCONSIDERED;
	t->cpu = WEIR_NO_CPU;
}

u32 fused_task_id(const struct fused_task *t)
{
	return t->id;
}
