/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The yardstick `hand-edf`: the topology `edf` written by hand.
 *
 * Duties: one queue for all CPUs, by deadline, equal ones by arrival, in a balanced tree (a treap); a task's affinity, looked at when a
 * CPU chooses; the running task that is least urgent is preempted, or an idle CPU kicked; a claim by one state change.
 */
#include "hand.h"

struct edf_task {
	u32 id;
	u32 state;
	u32 cpu;
	u32 weight; /* heap order */
	struct edf_task *left, *right, *up;
	struct edf_task *next, *prev;
	u64 deadline;  /* ns */
	u64 published; /* the one published last */
	u64 slice_ns;
	const u64 *mask;
};

struct edf_cpu {
	struct edf_task *curr;
	u64 deadline; /* of `curr`, or of what it is to choose */
} __attribute__((aligned(64)));

struct edf_hand {
	u32 nr_cpus;
	u32 kicks;
	u32 preempted;
	u32 seed;
	u64 idle;
	u32 lock __attribute__((aligned(64)));
	u32 nr;
	struct edf_task *root, *head, *tail;
	struct edf_cpu cpus[HAND_MAX_CPUS];
};

static void edf_child(struct edf_hand *s, struct edf_task *up, struct edf_task *old,
		      struct edf_task *new)
{
	if (!up)
		s->root = new;
	else if (up->left == old)
		up->left = new;
	else
		up->right = new;
}

static void edf_rotate(struct edf_hand *s, struct edf_task *t)
{
	struct edf_task *p = t->up, *inner;

	if (p->left == t) {
		inner = t->right;
		p->left = inner;
		t->right = p;
	} else {
		inner = t->left;
		p->right = inner;
		t->left = p;
	}
	if (inner)
		inner->up = p;
	t->up = p->up;
	edf_child(s, p->up, p, t);
	p->up = t;
}

static void edf_link(struct edf_hand *s, struct edf_task *t)
{
	struct edf_task *at = s->root, *up = 0, *pred = 0;

	if (s->tail && s->tail->deadline <= t->deadline) {
		up = s->tail;
		pred = s->tail;
		at = 0;
	}
	while (at) {
		up = at;
		if (at->deadline <= t->deadline) {
			pred = at;
			at = at->right;
		} else {
			at = at->left;
		}
	}
	s->seed = s->seed * 1664525u + 1013904223u;
	t->weight = s->seed;
	t->left = 0;
	t->right = 0;
	t->up = up;
	if (!up)
		s->root = t;
	else if (up == pred)
		up->right = t;
	else
		up->left = t;
	t->prev = pred;
	t->next = pred ? pred->next : s->head;
	if (t->prev)
		t->prev->next = t;
	else
		s->head = t;
	if (t->next)
		t->next->prev = t;
	else
		s->tail = t;
	while (t->up && t->up->weight < t->weight)
		edf_rotate(s, t);
	weir_store(&s->nr, s->nr + 1);
}

static void edf_unlink(struct edf_hand *s, struct edf_task *t)
{
	struct edf_task *child;

	while (t->left && t->right)
		edf_rotate(s, t->left->weight > t->right->weight ? t->left : t->right);
	child = t->left ? t->left : t->right;
	if (child)
		child->up = t->up;
	edf_child(s, t->up, t, child);
	if (t->prev)
		t->prev->next = t->next;
	else
		s->head = t->next;
	if (t->next)
		t->next->prev = t->prev;
	else
		s->tail = t->prev;
	weir_store(&s->nr, s->nr - 1);
}

/* Somebody for @t: an idle CPU, or the one that runs the least urgent task. The lock is held. */
static void edf_find_cpu(struct edf_hand *s, struct edf_task *t)
{
	u64 worst = t->deadline,
	    idle = weir_load(&s->idle) & (t->mask ? weir_load(t->mask) : ~0ull);
	u32 victim = WEIR_NO_CPU;

	if (idle) {
		if (hand_drop(&s->idle, (u32)__builtin_ctzll(idle)))
			s->kicks++;
		return;
	}
	for (u32 cpu = 0; cpu < s->nr_cpus; cpu++) {
		if (t->mask && !hand_has(t->mask, cpu))
			continue;
		if (s->cpus[cpu].deadline > worst) {
			worst = s->cpus[cpu].deadline;
			victim = cpu;
		}
	}
	if (victim == WEIR_NO_CPU)
		return;
	s->cpus[victim].deadline = t->deadline;
	s->preempted += s->cpus[victim].curr != 0;
}

static int edf_enter(struct edf_hand *s, struct edf_task *t)
{
	t->deadline = weir_load(&t->published);
	t->slice_ns = WEIR_SLICE_UNLIMITED;
	hand_lock(&s->lock);
	edf_link(s, t);
	edf_find_cpu(s, t);
	weir_spin_unlock(&s->lock);
	return 0;
}

HAND_CALL int edf_hand_admit(struct edf_hand *s, struct edf_task *t)
{
	if (weir_cas(&t->state, WEIR_UNCONSIDERED, WEIR_SCHEDULABLE) != WEIR_UNCONSIDERED)
		return -1;
	return edf_enter(s, t);
}

HAND_CALL int edf_hand_relinquish(struct edf_hand *s, struct edf_task *t)
{
	struct edf_cpu *c = &s->cpus[weir_load(&t->cpu)];

	if (weir_cas(&t->state, WEIR_RUNNING, WEIR_SCHEDULABLE) != WEIR_RUNNING)
		return -1;
	if (weir_load(&c->curr) == t) {
		weir_store(&c->curr, 0);
		weir_store(&c->deadline, WEIR_KEY_NONE);
	}
	return edf_enter(s, t);
}

/* The deadline of its next job; the task runs or waits for nothing. */
HAND_CALL void edf_hand_deadline(struct edf_hand *s, struct edf_task *t, u64 deadline)
{
	struct edf_cpu *c = &s->cpus[weir_load(&t->cpu) % HAND_MAX_CPUS];

	weir_store(&t->published, deadline);
	if (weir_load(&c->curr) != t)
		return;
	weir_store(&t->deadline, deadline);
	weir_store(&c->deadline, deadline);
	hand_lock(&s->lock);
	if (s->head && s->head->deadline < deadline)
		s->preempted++;
	weir_spin_unlock(&s->lock);
}

HAND_CALL struct edf_task *edf_hand_pick(struct edf_hand *s, u32 cpu)
{
	struct edf_cpu *c = &s->cpus[cpu];
	struct edf_task *t;

	hand_lock(&s->lock);
	for (t = s->head; t; t = t->next)
		if ((!t->mask || hand_has(t->mask, cpu)) &&
		    weir_cas(&t->state, WEIR_SCHEDULABLE, HAND_CLAIMED) == WEIR_SCHEDULABLE)
			break;
	if (t) {
		edf_unlink(s, t);
		weir_store(&t->cpu, cpu);
		weir_store(&c->curr, t);
		weir_store(&c->deadline, t->deadline);
		weir_store_release(&t->state, WEIR_RUNNING);
	} else {
		hand_add(&s->idle, cpu);
	}
	weir_spin_unlock(&s->lock);
	return t;
}

u64 edf_hand_bytes(void)
{
	return sizeof(struct edf_hand);
}

void edf_hand_init(struct edf_hand *s, u32 nr_cpus)
{
	s->nr_cpus = nr_cpus;
	for (u32 cpu = 0; cpu < nr_cpus; cpu++)
		s->cpus[cpu].deadline = WEIR_KEY_NONE;
}

u64 edf_hand_task_bytes(void)
{
	return sizeof(struct edf_task);
}

void edf_hand_task_init(struct edf_task *t, u32 id)
{
	t->id = id;
	t->state = WEIR_UNCONSIDERED;
	t->cpu = WEIR_NO_CPU;
}

u32 edf_hand_task_id(const struct edf_task *t)
{
	return t->id;
}
