/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * affinity - store the CPUs on which each task may run
 *
 * class:    annotate
 * pipes:    none
 * listens:  AFFINITY: store the task's mask; null means everywhere
 * answers:  AFFINITY: the task's mask; null means everywhere
 * params:   fallback flag 0 [0, 1]; a task whose CPUs are all offline may run everywhere until one of them is back
 * per-task: 16 bytes, and a mask of the machine's size for tasks that have been bound
 * cost:     O(words of CPUs) per message, O(1) per answer (with `fallback` it is called for it, up to O(CPUs)); its own lock when a task is bound for the first time
 * batch:    no pipes
 * source:   CoBaS 5.7.4 and appendix A.1, component 0x20
 *
 * A mask is changed in place, word by word, and its memory is used for masks only as long as the
 * instance exists. A reader without a lock can see a partly changed mask; the message that follows the
 * change corrects decisions based on it.
 *
 * Linux lets a task run elsewhere when the last CPU of its mask goes offline: `fallback` does so. Without it the task
 * waits.
 *
 * example:  annotate affinity;
 */
#include <weir/component.h>
#include <weir/cpus.h>

/*
 * A mask and the way to it: all are chained for destroy, those without a task also in the free
 * list.
 */
struct affinity_mask {
	u64 all;
	u64 free;
	struct weir_cpumask mask; /* (a) only the machine's words exist */
};

struct affinity_task {
	u64 now;			     /* (a) address of its set, 0: all CPUs */
	struct affinity_mask weir_mem *mask; /* (a) null: never bound */
};

struct affinity {
	struct weir_instance inst;
	u64 fallback; /* (c) */
	u64 all;      /* (a) address of the mask made last */
	u64 free;     /* (a) of the one given back last; own lock to take one */
};

WEIR_COMPONENT(
	affinity, .summary = "store the CPUs on which each task may run", .cls = WEIR_ANNOTATE,
	.listens = WEIR_TOPIC_BIT(AFFINITY), .answers = WEIR_TOPIC_BIT(AFFINITY),
	.per_task = sizeof(struct affinity_task), WEIR_ANSWER_AT(affinity_task, now),
	WEIR_PARAMS(affinity,
		    WEIR_PARAM(affinity, fallback, FLAG, 0, 0, 1,
			       "a task whose CPUs are all offline may run everywhere until one "
			       "of them is back")));

/* With `fallback` the answer about a task that is bound depends on more than its word. */
WEIR_ENTRY int affinity_construct(struct affinity weir_mem *self)
{
	if (self->fallback)
		self->inst.answer_at |= WEIR_ASK_FURTHER;
	return 0;
}

static u64 affinity_bytes(const struct affinity weir_mem *self)
{
	return __builtin_offsetof(struct affinity_mask, mask) +
	       (u64)weir_mask_words(self->inst.sched) * sizeof(u64);
}

/* A mask that a task has given back, or null. Only the holder of the lock takes one; giving one back needs no lock. */
static struct affinity_mask weir_mem *affinity_again(struct affinity weir_mem *self)
{
	u64 m = weir_load_acquire(&self->free), seen;

	if (!m || weir_instance_lock(&self->inst))
		return 0;
	m = weir_load_acquire(&self->free);
	while (m && weir_loop) {
		seen = weir_cas(&self->free, m, ((struct affinity_mask weir_mem *)m)->free);
		if (seen == m)
			break;
		m = seen;
	}
	weir_instance_unlock(&self->inst);
	return (struct affinity_mask weir_mem *)m;
}

/* A mask for a task that has none, or null when the arena is full. */
static struct affinity_mask weir_mem *affinity_get(struct affinity weir_mem *self)
{
	struct affinity_mask weir_mem *m = affinity_again(self);

	if (m)
		return m;
	m = weir_alloc(self->inst.sched, affinity_bytes(self));
	if (!m)
		return 0;
	weir_stack_push(&self->all, m->all, (u64)m);
	return m;
}

WEIR_ENTRY int affinity_on_affinity(struct affinity weir_mem *self, const struct weir_msg *msg)
{
	struct affinity_task weir_mem *p;
	struct affinity_mask weir_mem *m;

	if (!msg->task)
		return -WEIR_EINVAL;
	p = weir_priv(&self->inst, msg->task);
	if (!msg->mask) {
		weir_store_release(&p->now, 0);
		return 0;
	}
	m = p->mask;
	if (!m)
		m = affinity_get(self);
	if (!m)
		return -WEIR_ENOMEM;
	for (u32 w = 0; w < weir_mask_words(self->inst.sched) && weir_loop; w++)
		weir_store(&m->mask.word[w], weir_load(&msg->mask->word[w]));
	weir_store(&p->mask, m);
	weir_store_release(&p->now, (u64)&m->mask);
	return 0;
}

/* Whether a CPU of the mask is online. O(1) in most cases: the first one is. */
WEIR_INLINE int affinity_lives(struct affinity weir_mem *self,
			       const struct weir_cpumask weir_mem *mask)
{
	struct weir_sched weir_mem *s = self->inst.sched;

	for (u32 w = 0; w < weir_mask_words(s) && weir_loop; w++) {
		u64 bits = weir_load(&mask->word[w]);

		while (bits && weir_loop) {
			u32 cpu = w * 64 + weir_lowest_bit(bits);

			bits &= bits - 1;
			if (cpu < weir_nr_cpus(s) && weir_cpu_is_online(s, cpu))
				return 1;
		}
	}
	return 0;
}

WEIR_ENTRY int affinity_answer_affinity(struct affinity weir_mem *self, struct weir_msg *msg)
{
	struct affinity_task weir_mem *p;

	if (!msg->task)
		return -WEIR_EINVAL;
	p = weir_priv(&self->inst, msg->task);
	msg->mask = (const struct weir_cpumask weir_mem *)weir_load_acquire(&p->now);
	if (msg->mask && self->fallback && !affinity_lives(self, msg->mask))
		msg->mask = 0;
	return 0;
}

WEIR_ENTRY void affinity_task_exit(struct affinity weir_mem *self, struct weir_task weir_mem *t)
{
	struct affinity_task weir_mem *p = weir_priv(&self->inst, t);
	struct affinity_mask weir_mem *m = p->mask;

	if (!m)
		return;
	weir_store(&p->now, 0);
	weir_store(&p->mask, 0);
	weir_stack_push(&self->free, m->free, (u64)m);
}

WEIR_ENTRY void affinity_take_state(struct affinity weir_mem *self, struct affinity weir_mem *old)
{
	self->all = old->all;
	self->free = old->free;
	old->all = 0;
	old->free = 0;
}

WEIR_ENTRY void affinity_destroy(struct affinity weir_mem *self)
{
	struct affinity_mask weir_mem *m = (struct affinity_mask weir_mem *)self->all;

	while (m && weir_loop) {
		struct affinity_mask weir_mem *next = (struct affinity_mask weir_mem *)m->all;

		weir_free(self->inst.sched, m, affinity_bytes(self));
		m = next;
	}
}
