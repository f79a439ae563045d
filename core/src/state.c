/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Set-up of a scheduler, and the state of the calling CPU. There is no other global state. */
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
	for (u32 i = 0; i < weir_limit(WEIR_NR_STD_TOPICS) && weir_loop; i++) {
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
	s->writer = 1; /* until there is a graph */
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
