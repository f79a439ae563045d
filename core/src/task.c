/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Task records: blocks of WEIR_TASK_CHUNK, never freed, so a stale pointer is at worst outdated. */
#include "internal.h"

#define CHUNK_BYTES (WEIR_TASK_CHUNK * sizeof(struct weir_task))

/* Free the parts that weir_task_grow() has allocated for block number @c; null parts were not allocated. */
WEIR_GLOBAL int weir_task_grow_undo(struct weir_sched weir_mem *s weir_arg, u32 c,
				    struct weir_task weir_mem *chunk weir_arg)
{
	struct weir_graph weir_mem *g = s->graph;

	for (u32 i = 0; i < g->nr_instances && weir_loop; i++) {
		struct weir_instance weir_mem *inst = g->instances[i];

		if (weir_gap(inst) || !inst->per_task)
			continue;
		weir_free(s, inst->priv[c], (u64)WEIR_TASK_CHUNK * inst->per_task);
		inst->priv[c] = 0;
	}
	weir_free(s, chunk, CHUNK_BYTES);
	return -WEIR_ENOMEM;
}

struct weir_task weir_mem *weir_task_get(struct weir_sched weir_mem *s, u32 id)
{
	struct weir_task weir_mem *t;

	if (id / WEIR_TASK_CHUNK >= weir_load_acquire(&s->nr_chunks) ||
	    weir_gap(s->chunks[id / WEIR_TASK_CHUNK]))
		return 0;
	t = weir_record(s, id);
	return weir_state(t) == WEIR_FREE ? 0 : t;
}

/* Push onto the stack of free records, without waiting; only the holder of task_lock pops. */
static void give_back(struct weir_sched weir_mem *s, struct weir_task weir_mem *t)
{
	weir_stack_push(&s->free_task, t->in_next, t->id);
}

/* Pop the first record; task_lock is held, and there is one. */
static struct weir_task weir_mem *take_record(struct weir_sched weir_mem *s)
{
	u32 id = weir_load_acquire(&s->free_task), seen;

	while (weir_loop) {
		seen = weir_cas(&s->free_task, id, weir_record(s, id)->in_next);
		if (seen == id)
			break;
		id = seen;
	}
	return weir_record(s, id);
}

/* Add block @c of records, and private data of each instance that needs it. task_lock is held. */
WEIR_GLOBAL int weir_task_grow(struct weir_sched weir_mem *s weir_arg, u32 c)
{
	struct weir_graph weir_mem *g = s->graph;
	struct weir_task weir_mem *chunk;
	u32 i;

	if (c >= WEIR_MAX_CHUNKS)
		return -WEIR_ENOMEM;
	chunk = weir_alloc(s, CHUNK_BYTES);
	if (!chunk)
		return -WEIR_ENOMEM;
	for (i = 0; i < g->nr_instances && weir_loop; i++) {
		struct weir_instance weir_mem *inst = g->instances[i];

		if (weir_gap(inst) || !inst->per_task)
			continue;
		inst->priv[c] = weir_alloc(s, (u64)WEIR_TASK_CHUNK * inst->per_task);
		if (!inst->priv[c])
			return weir_task_grow_undo(s, c, chunk);
	}
	s->chunks[c] = chunk;
	for (i = weir_unknown(WEIR_TASK_CHUNK); i > 0 && weir_loop; i--) {
		/* Through the table: before 7.0, the kernel refuses a number that a known pointer is added to. */
		struct weir_task weir_mem *t = weir_record(s, c * WEIR_TASK_CHUNK + i - 1);

		t->id = c * WEIR_TASK_CHUNK + i - 1;
		if (weir_own_block(s, c))
			give_back(s, t);
	}
	if (!WEIR_DOMAINS || c >= s->nr_chunks)
		weir_store_release(&s->nr_chunks, c + 1);
	return 0;
}

/* The next block of which this domain creates the numbers. */
static u32 next_block(const struct weir_sched weir_mem *s)
{
	u32 c = s->nr_chunks;

	if (!weir_distributed(s))
		return c;
	/* Blocks of other domains may be beyond. */
	for (c = s->domain; c < s->nr_chunks && s->chunks[c] && weir_loop;)
		c += s->nr_domains;
	return c;
}

/* A record in state unconsidered, or null when the arena is full. The caller is a reader. */
static struct weir_task weir_mem *take(struct weir_sched weir_mem *s)
{
	struct weir_task weir_mem *t = 0;

	if (weir_lock_word(s, &s->task_lock))
		return 0;
	if (weir_load(&s->free_task) != WEIR_NO_TASK || !weir_task_grow(s, next_block(s))) {
		t = take_record(s);
		weir_fetch_add(&s->nr_tasks, 1);
	}
	weir_spin_unlock(&s->task_lock);
	return t;
}

WEIR_GLOBAL int weir_task_private(struct weir_graph weir_mem *g weir_arg,
				  struct weir_task weir_mem *t weir_arg)
{
	for (u32 i = 0; i < g->nr_priv && weir_loop; i++) {
		struct weir_instance weir_mem *inst = g->priv_list[i];
		u64 weir_mem *w;

		w = (u64 weir_mem *)weir_priv(inst, t);
		/* A receiver that has passed on the record's former task may still read its old data. */
		for (u32 k = 0; k < inst->per_task / 8 && weir_loop; k++)
			weir_store(&w[k], 0);
	}
	for (u32 i = 0; i < g->nr_task_init && weir_loop; i++)
		weir_class_task_init(g->init_list[i], t);
	return 0;
}

/* A task's life begins in a record. */
static void begin_life(struct weir_sched weir_mem *s, struct weir_task weir_mem *t, u64 cookie)
{
	weir_store(&t->cookie, cookie);
	weir_store(&t->slice_ns, WEIR_SLICE_DEFAULT);
	weir_store(&t->key, WEIR_KEY_NONE);
	weir_task_private(s->graph, t);
	weir_store(&t->in_next, 0);
	weir_store(&t->entry_cpu, 0);
	weir_store_release(&t->claim, weir_claim_word(weir_claim_number(weir_load(&t->claim)),
						      WEIR_NO_CPU, WEIR_UNCONSIDERED));
}

struct weir_task weir_mem *weir_task_open(struct weir_sched weir_mem *s, u64 cookie)
{
	struct weir_task weir_mem *t = take(s);

	if (!t)
		return 0;
	begin_life(s, t, cookie);
	return t;
}

#define LENT (~1u) /* in `entry_cpu`: another domain has the task of this number */

static int is_lent(const struct weir_task weir_mem *t)
{
	return t->entry_cpu == LENT;
}

#if WEIR_DOMAINS

struct weir_task weir_mem *weir_task_import(struct weir_sched weir_mem *s, u32 id, u64 cookie)
{
	u32 c = id / WEIR_TASK_CHUNK;
	struct weir_task weir_mem *t;

	if (c >= WEIR_MAX_CHUNKS)
		return 0;
	if (!s->chunks[c]) {
		int err = weir_lock_word(s, &s->task_lock);

		if (err)
			return 0;
		if (!s->chunks[c])
			err = weir_task_grow(s, c);
		weir_spin_unlock(&s->task_lock);
		if (err)
			return 0;
	}
	t = weir_record(s, id);
	/* It has been here before, and its leaving is not over yet: later. */
	if (weir_state(t) != WEIR_FREE)
		return 0;
	weir_fetch_add(&s->nr_tasks, 1);
	begin_life(s, t, cookie);
	return t;
}

void weir_task_lend(struct weir_sched weir_mem *s, struct weir_task weir_mem *t)
{
	if (weir_own_block(s, t->id / WEIR_TASK_CHUNK))
		t->entry_cpu = LENT;
}

void weir_task_number_back(struct weir_sched weir_mem *s, u32 id)
{
	struct weir_task weir_mem *t = weir_record(s, id);

	weir_assert(is_lent(t));
	t->entry_cpu = 0;
	if (weir_state(t) == WEIR_FREE)
		give_back(s, t);
}

#endif

/* The record is no longer used by anybody. */
WEIR_GLOBAL int weir_task_free(struct weir_sched weir_mem *s weir_arg,
			       struct weir_task weir_mem *t weir_arg)
{
	/* Its number goes on, so that no place of this life is valid in the next one. */
	weir_store(&t->claim, weir_claim_word(weir_claim_number(weir_load(&t->claim)) + 1,
					      WEIR_NO_CPU, WEIR_FREE));
	weir_fetch_add(&s->nr_tasks, (u32)-1);
	if (!weir_distributed(s) || (weir_own_block(s, t->id / WEIR_TASK_CHUNK) && !is_lent(t)))
		give_back(s, t);
	return 0;
}
