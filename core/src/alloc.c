/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Memory: a bump pointer over the arena with free lists by size, eight sizes per power of two. */
#include "internal.h"

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
