/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Memory by allocators. The host has one kind of memory, so allocators differ in alignment, in how much they give, and in what they do
 * when that is used up. A head before each block says how to free it.
 */
#include <stdlib.h>
#include <string.h>

#include "api.h"

/* Numbers as in omp.h. */
#define SPACES	   4u /* the highest number of a memory space */
#define PREDEFINED 8u /* the highest number of an allocator that exists always */
#define DEFAULT	   ((uintptr_t)-1)

enum trait {
	TRAIT_SYNC = 1,
	TRAIT_ALIGNMENT,
	TRAIT_ACCESS,
	TRAIT_POOL,
	TRAIT_FALLBACK,
	TRAIT_NEXT,
	TRAIT_PINNED,
	TRAIT_PARTITION,
};
enum { FALSE = 0, CONTENDED = 3, PRIVATE = 6, ALL, CGROUP = 10 };
enum fallback { FALLBACK_DEFAULT = 11, FALLBACK_NULL, FALLBACK_ABORT, FALLBACK_NEXT };
enum { ENVIRONMENT = 15, INTERLEAVED = 18 };

struct pair {
	int key;
	uintptr_t value;
};

struct allocator {
	size_t align;
	size_t pool; /* bytes at most */
	size_t used; /* (a) */
	uintptr_t fallback;
	uintptr_t next; /* the allocator that is asked then */
};

struct head {
	void *base;
	size_t bytes;
	uintptr_t allocator;
};

static int is_one_of(uintptr_t value, uintptr_t first, uintptr_t last)
{
	return value == DEFAULT || (value >= first && value <= last);
}

/* 0: it is not a trait, or cannot be had. */
static int take_trait(struct allocator *a, const struct pair *p)
{
	uintptr_t v = p->value;

	switch (p->key) {
	case TRAIT_SYNC:
		return is_one_of(v, CONTENDED, PRIVATE);
	case TRAIT_ALIGNMENT:
		a->align = v == DEFAULT ? 1 : v;
		return a->align && !(a->align & (a->align - 1));
	case TRAIT_ACCESS:
		return is_one_of(v, ALL, CGROUP);
	case TRAIT_POOL:
		a->pool = v;
		return 1;
	case TRAIT_FALLBACK:
		a->fallback = v == DEFAULT ? FALLBACK_DEFAULT : v;
		return is_one_of(v, FALLBACK_DEFAULT, FALLBACK_NEXT);
	case TRAIT_NEXT:
		a->next = v;
		return 1;
	case TRAIT_PINNED:
		return is_one_of(v, FALSE, FALSE);
	case TRAIT_PARTITION:
		return is_one_of(v, ENVIRONMENT, INTERLEAVED);
	}
	return 0;
}

GOMP_API uintptr_t omp_init_allocator(uintptr_t space, int nr, const struct pair *traits)
{
	struct allocator a = { .align = 1, .pool = SIZE_MAX, .fallback = FALLBACK_DEFAULT }, *own;

	if (space > SPACES)
		return 0;
	for (int i = 0; i < nr; i++)
		if (!take_trait(&a, &traits[i]))
			return 0;
	own = fresh(sizeof(*own));
	*own = a;
	return (uintptr_t)own;
}

GOMP_API uintptr_t omp_init_allocator_(const uintptr_t *space, const int *nr,
				       const struct pair *traits)
{
	return omp_init_allocator(*space, *nr, traits);
}

GOMP_API uintptr_t omp_init_allocator_8_(const uintptr_t *space, const int64_t *nr,
					 const struct pair *traits)
{
	return omp_init_allocator(*space, (int)*nr, traits);
}

GOMP_API void omp_destroy_allocator(uintptr_t a)
{
	if (a > PREDEFINED)
		free((void *)a);
}

GOMP_API void omp_destroy_allocator_(const uintptr_t *a)
{
	omp_destroy_allocator(*a);
}

GOMP_API void omp_set_default_allocator(uintptr_t a)
{
	me()->task->settings.allocator = a ? a : 1;
}

GOMP_API void omp_set_default_allocator_(const uintptr_t *a)
{
	omp_set_default_allocator(*a);
}

ASKS(uintptr_t, omp_get_default_allocator)
{
	return me()->task->settings.allocator;
}

/* --- blocks ------------------------------------------------------------------------------------------------------ */

static int grant(struct allocator *a, size_t bytes)
{
	size_t used = glance(&a->used);

	do
		if (a->pool < bytes || used > a->pool - bytes)
			return 0;
	while (!cas(&a->used, &used, used + bytes));
	return 1;
}

static void *block(size_t align, size_t bytes, uintptr_t a)
{
	size_t all;
	char *base;
	struct head *h;

	if (align < 16)
		align = 16;
	/* Behind the head the next address that is aligned. */
	if (__builtin_add_overflow(bytes, align + sizeof(*h), &all) || !(base = malloc(all)))
		return 0;
	h = (struct head *)(((u64)base + sizeof(*h) + align - 1) & ~(u64)(align - 1)) - 1;
	*h = (struct head){ base, bytes, a };
	return h + 1;
}

static void *allocate(size_t align, size_t bytes, uintptr_t a)
{
	if (!bytes || align & (align - 1))
		return 0;
	if (!a)
		a = me()->task->settings.allocator;
	while (a > PREDEFINED) {
		struct allocator *own = (struct allocator *)a;

		if (align < own->align)
			align = own->align;
		if (grant(own, bytes)) {
			void *p = block(align, bytes, a);

			if (p)
				return p;
			__atomic_fetch_sub(&own->used, bytes, __ATOMIC_RELAXED);
		}
		if (own->fallback == FALLBACK_ABORT)
			fatal("an allocator has no memory left, and its program wants to end then");
		if (own->fallback == FALLBACK_NULL)
			return 0;
		a = own->fallback == FALLBACK_NEXT ? own->next : 1;
	}
	return a ? block(align, bytes, a) : 0;
}

GOMP_API void omp_free(void *p, uintptr_t a)
{
	struct head *h = (struct head *)p - 1;

	(void)a;
	if (!p)
		return;
	if (h->allocator > PREDEFINED)
		__atomic_fetch_sub(&((struct allocator *)h->allocator)->used, h->bytes,
				   __ATOMIC_RELAXED);
	free(h->base);
}

GOMP_API void *omp_aligned_alloc(size_t align, size_t bytes, uintptr_t a)
{
	return allocate(align, bytes, a);
}

GOMP_API void *omp_alloc(size_t bytes, uintptr_t a)
{
	return allocate(1, bytes, a);
}

GOMP_API void *omp_aligned_calloc(size_t align, size_t nr, size_t bytes, uintptr_t a)
{
	size_t all;
	void *p;

	if (__builtin_mul_overflow(nr, bytes, &all))
		return 0;
	p = allocate(align, all, a);
	return p ? memset(p, 0, all) : 0;
}

GOMP_API void *omp_calloc(size_t nr, size_t bytes, uintptr_t a)
{
	return omp_aligned_calloc(1, nr, bytes, a);
}

/* Within its own allocator a block counts once, however it moves. Null: it is not of @a, or that has not as much. */
static void *resize(const struct head *h, size_t bytes, uintptr_t a)
{
	struct allocator *own = (struct allocator *)a;
	size_t had = h->bytes;
	void *p;

	if (a <= PREDEFINED || a != h->allocator || (bytes > had && !grant(own, bytes - had)))
		return 0;
	p = block(own->align, bytes, a);
	if (!p && bytes > had)
		__atomic_fetch_sub(&own->used, bytes - had, __ATOMIC_RELAXED);
	if (!p)
		return 0;
	memcpy(p, h + 1, bytes < had ? bytes : had);
	if (bytes < had)
		__atomic_fetch_sub(&own->used, had - bytes, __ATOMIC_RELAXED);
	free(h->base);
	return p;
}

/* Without a new allocator it stays with the one that it is from. */
GOMP_API void *omp_realloc(void *p, size_t bytes, uintptr_t a, uintptr_t from)
{
	const struct head *h = (const struct head *)p - 1;
	void *q;

	if (!p)
		return omp_alloc(bytes, a);
	if (!bytes) {
		omp_free(p, from);
		return 0;
	}
	q = resize(h, bytes, a ? a : h->allocator);
	if (q)
		return q;
	q = allocate(1, bytes, a ? a : h->allocator);
	if (!q)
		return 0;
	memcpy(q, p, bytes < h->bytes ? bytes : h->bytes);
	omp_free(p, from);
	return q;
}

/* Of a variable with an allocate clause. */
GOMP_API void *GOMP_alloc(size_t align, size_t bytes, uintptr_t a)
{
	void *p = allocate(align, bytes ? bytes : 1, a);

	if (!p)
		fatal("no memory for a variable with an allocate clause");
	return p;
}

GOMP_API void GOMP_free(void *p, uintptr_t a)
{
	omp_free(p, a);
}
