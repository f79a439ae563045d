/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A scheduler is one block of memory, the arena: its set-up, the state of the calling CPU, and all other memory. There is no other global state.
 */
#include "internal.h"

struct weir_ctx weir_mem *weir_ctx(const struct weir_sched weir_mem *s)
{
	u32 cpu = weir_port_cpu();

	return &s->ctx[cpu < s->nr_cpus ? cpu : 0];
}

void weir_op_add(struct weir_oplog *log, u32 kind, u32 object, u32 n)
{
	struct weir_op *op;

	if (log->nr >= log->cap)
		return;
	op = &log->ops[log->nr++];
	op->kind = kind;
	op->object = object;
	op->n = n;
}

WEIR_FLAT int weir_instance_lock(struct weir_instance weir_mem *self)
{
	return weir_lock_word(self->sched, &self->lock);
}

u64 weir_now(struct weir_sched weir_mem *s)
{
	return weir_rt_now(s);
}

/* splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014). */
u64 weir_random(struct weir_sched weir_mem *s)
{
	u64 x = weir_fetch_add(&s->random, 0x9e3779b97f4a7c15ull);

	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* Room for one more message, or -WEIR_ENOMEM. */
WEIR_GLOBAL int weir_msgs_room(struct weir_sched weir_mem *s weir_arg,
			       struct weir_ctx weir_mem *ctx weir_arg)
{
	u32 cap = ctx->cap_msgs ? 2 * ctx->cap_msgs : WEIR_FIRST_MSGS;
	struct weir_queued weir_mem *all =
		(struct weir_queued weir_mem *)weir_alloc_here(s, cap * sizeof(struct weir_queued));

	if (!all) {
		weir_fetch_add(&s->lost_messages, 1);
		return -WEIR_ENOMEM;
	}
	weir_copy_here(all, ctx->msgs, ctx->nr_msgs * sizeof(struct weir_queued));
	weir_free_here(s, ctx->msgs, ctx->cap_msgs * sizeof(struct weir_queued));
	ctx->msgs = all;
	ctx->cap_msgs = cap;
	return 0;
}

static void topics_init(struct weir_sched weir_mem *s)
{
	/* Standard topics have UUIDs 1, 2, …: they are part of the interface and never collide. */
	for (u32 i = 0; i < weir_unknown(WEIR_NR_STD_TOPICS) && weir_loop; i++) {
		s->topics[i].uuid = i + 1;
		s->topics[i].version = 1;
		s->topics[i].users = 1;
		s->topics[i].kept = 1;
	}
}

static int cpus_init(struct weir_sched weir_mem *s)
{
	for (u32 i = 0; i < s->nr_cpus && weir_loop; i++) {
		s->ctx[i].cpu = i;
		s->cpus[i].online = 1;
		s->cpus[i].curr_key = WEIR_KEY_NONE;
		s->cpus[i].away = WEIR_CPU_SLEEPS;
		if (weir_msgs_room(s, &s->ctx[i]))
			return -WEIR_ENOMEM;
	}
	return 0;
}

int weir_init(struct weir_sched weir_mem *s, const struct weir_config *config)
{
	if (!config->nr_cpus || config->nr_cpus > WEIR_MAX_CPUS ||
	    config->arena_bytes < sizeof(struct weir_sched))
		return -WEIR_EINVAL;
	weir_budget_reset();
	s->arena_bytes = config->arena_bytes;
	s->used = (sizeof(struct weir_sched) + 63) & ~63ull;
	s->nr_cpus = config->nr_cpus;
	s->mask_words = (config->nr_cpus + 63) / 64;
	s->random = config->seed;
	s->patience = config->patience;
	s->free_task = WEIR_NO_TASK;
	s->writer = WEIR_NO_GRAPH;
	s->nr_classes = config->nr_classes;
	s->classes = weir_alloc(s, config->nr_classes * sizeof(struct weir_class));
	s->cpus = weir_alloc(s, config->nr_cpus * sizeof(struct weir_cpu));
	s->ctx = weir_alloc(s, config->nr_cpus * sizeof(struct weir_ctx));
	s->chunks = weir_alloc(s, WEIR_MAX_CHUNKS * sizeof(void *));
	s->idle = weir_alloc(s, sizeof(struct weir_cpumask));
	s->busy = weir_alloc(s, sizeof(struct weir_cpumask));
	if (!s->classes || !s->cpus || !s->ctx || !s->chunks || !s->idle || !s->busy)
		return -WEIR_ENOMEM;
	for (u32 i = 0; i < config->nr_classes && weir_loop; i++)
		s->classes[i] = config->classes[i];
	topics_init(s);
	return cpus_init(s);
}

/* --- memory: a bump pointer over the arena with free lists by size, eight sizes per power of two --------------- */

#define MIN_SHIFT 6u		   /* smallest block: a cache line */
#define LINE	  ((u64)WEIR_LINE) /* all sizes are multiples of it */

/* Index of the smallest size class that holds @bytes; *@size becomes its size. */
static u32 size_class(u64 bytes, u64 *size)
{
	u32 shift = MIN_SHIFT;
	u64 step, n;

	/* Neighbours share no line, so writes of two CPUs do not share one by chance. */
	bytes = (bytes + LINE - 1) & ~(LINE - 1);
	while ((1ull << (shift + 1)) <= bytes && weir_loop)
		shift++;
	step = 1ull << (shift - 3);
	n = bytes <= (1ull << shift) ? 0 : (bytes - (1ull << shift) + step - 1) / step;
	*size = (1ull << shift) + n * step;
	return (shift - MIN_SHIFT) * 8 + n;
}

static void zero(void weir_mem *p, u64 bytes)
{
	volatile u64 weir_mem *w = (volatile u64 weir_mem *)p;

	for (u64 i = 0; i < bytes / 8 && weir_loop; i++)
		w[i] = 0;
}

/*
 * Free lists are stacks: any CPU pushes with one exchange, and only the holder of the lock pops, so the items behind the one
 * that it sees in front do not change. Freeing never waits, and allocation need not: there is fresh memory.
 */

/* A freed block of class @c, or 0. */
static u64 take_free(struct weir_sched weir_mem *s, u32 c, u64 size)
{
	u64 p = weir_load_acquire(&s->free_list[c]), seen;
	WEIR_WAIT(waited);

	if (!p || weir_impatient_lock(&s->alloc_lock, waited, s->patience))
		return 0;
	p = weir_load_acquire(&s->free_list[c]);
	while (p && weir_loop) {
		seen = weir_cas(&s->free_list[c], p, *(u64 weir_mem *)p);
		if (seen == p)
			break;
		p = seen;
	}
	weir_spin_unlock(&s->alloc_lock);
	if (p)
		weir_fetch_add(&s->freed, -size);
	return p;
}

/* Memory that was never used, or 0. */
static u64 take_fresh(struct weir_sched weir_mem *s, u64 size)
{
	u64 used = weir_load(&s->used), seen;

	while (used + size <= s->arena_bytes && weir_loop) {
		seen = weir_cas(&s->used, used, used + size);
		if (seen == used)
			return (u64)s + used;
		used = seen;
	}
	return 0;
}

WEIR_FLAT u64 weir_alloc_here(struct weir_sched weir_mem *s, u64 bytes)
{
	u64 size, p;
	u32 c;

	c = size_class(bytes, &size);
	if (c >= WEIR_NR_SIZES)
		return 0;
	p = take_free(s, c, size);
	if (!p)
		return take_fresh(s, size);
	zero((void weir_mem *)p, size);
	return p;
}

/* Aligned to a cache line. */
WEIR_GLOBAL u64 weir_alloc_at(struct weir_sched weir_mem *s weir_arg, u64 bytes)
{
	return weir_alloc_here(s, bytes);
}

WEIR_FLAT void weir_copy_here(void weir_mem *to, const void weir_mem *from, u64 bytes)
{
	volatile u64 weir_mem *w = (volatile u64 weir_mem *)to;
	const volatile u64 weir_mem *r = (const volatile u64 weir_mem *)from;

	for (u64 i = 0; i < bytes / 8 && weir_loop; i++)
		w[i] = r[i];
}

/* Copy a record within the arena: the kernel's compiler cannot copy whole structs there. */
WEIR_GLOBAL int weir_copy(void weir_mem *to weir_arg, const void weir_mem *from weir_arg, u64 bytes)
{
	weir_copy_here(to, from, bytes);
	return 0;
}

WEIR_FLAT int weir_free_here(struct weir_sched weir_mem *s, void weir_mem *p, u64 bytes)
{
	u64 size;
	u32 c;

	if (!p)
		return 0;
	c = size_class(bytes, &size);
	if (c >= WEIR_NR_SIZES)
		return -WEIR_EINVAL;
	weir_stack_push(&s->free_list[c], *(u64 weir_mem *)p, (u64)p);
	weir_fetch_add(&s->freed, size);
	return 0;
}

/* @bytes as given to weir_alloc(). */
WEIR_GLOBAL int weir_free(struct weir_sched weir_mem *s weir_arg, void weir_mem *p weir_arg,
			  u64 bytes)
{
	return weir_free_here(s, p, bytes);
}

struct block {
	struct block weir_mem *next;
	struct block weir_mem *prev;
	u64 bytes;
};

/* Memory that is freed with the region, or earlier with weir_region_drop(). */
void weir_mem *weir_region_alloc(struct weir_sched weir_mem *s, struct weir_region weir_mem *r,
				 u64 bytes)
{
	struct block weir_mem *b = weir_alloc(s, bytes + sizeof(struct block));
	struct block weir_mem *first = r->first;

	if (!b)
		return 0;
	b->bytes = bytes + sizeof(struct block);
	b->next = first;
	if (first)
		first->prev = b;
	r->first = b;
	return b + 1;
}

void weir_mem *weir_instance_alloc(struct weir_instance weir_mem *self, u64 bytes)
{
	return weir_region_alloc(self->sched, &self->region, bytes);
}

void weir_region_drop(struct weir_sched weir_mem *s, struct weir_region weir_mem *r,
		      void weir_mem *p)
{
	struct block weir_mem *b = (struct block weir_mem *)p - 1;

	if (!p)
		return;
	if (b->next)
		b->next->prev = b->prev;
	if (b->prev)
		b->prev->next = b->next;
	else
		r->first = b->next;
	weir_free(s, b, b->bytes);
}

WEIR_GLOBAL int weir_region_free(struct weir_sched weir_mem *s weir_arg,
				 struct weir_region weir_mem *r weir_arg)
{
	struct block weir_mem *b = r->first;

	while (b && weir_loop) {
		struct block weir_mem *next = b->next;

		weir_free(s, b, b->bytes);
		b = next;
	}
	r->first = 0;
	return 0;
}
