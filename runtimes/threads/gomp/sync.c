/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Critical sections, atomic updates without an instruction, and the locks of omp.h: a word, or a word with an owner. */
#include <stdlib.h>

#include "gomp.h"

/* The size of omp_nest_lock_t: 16 bytes. */
struct nest {
	u32 word;
	int depth;
	struct task *owner;
};

static u32 unnamed ALIGNED;
static u32 atomic ALIGNED;

GOMP_API void GOMP_critical_start(void)
{
	mutex_lock(&unnamed);
}

GOMP_API void GOMP_critical_end(void)
{
	mutex_unlock(&unnamed);
}

/* gcc keeps a pointer for each name, initially null; it is large enough to be the lock. */
GOMP_API void GOMP_critical_name_start(void **name)
{
	mutex_lock((u32 *)name);
}

GOMP_API void GOMP_critical_name_end(void **name)
{
	mutex_unlock((u32 *)name);
}

GOMP_API void GOMP_atomic_start(void)
{
	mutex_lock(&atomic);
}

GOMP_API void GOMP_atomic_end(void)
{
	mutex_unlock(&atomic);
}

GOMP_API void omp_init_lock(u32 *word)
{
	set(word, 0);
}

GOMP_API void omp_destroy_lock(u32 *word)
{
	(void)word;
}

GOMP_API void omp_set_lock(u32 *word)
{
	mutex_lock(word);
}

GOMP_API void omp_unset_lock(u32 *word)
{
	mutex_unlock(word);
}

GOMP_API int omp_test_lock(u32 *word)
{
	return mutex_trylock(word);
}

GOMP_API void omp_init_nest_lock(struct nest *n)
{
	*n = (struct nest){ 0 };
}

GOMP_API void omp_destroy_nest_lock(struct nest *n)
{
	(void)n;
}

static int nest_take(struct nest *n, int wait)
{
	struct task *task = me()->task;

	if (get(&n->owner) != task) {
		if (wait)
			mutex_lock(&n->word);
		else if (!mutex_trylock(&n->word))
			return 0;
		set(&n->owner, task);
	}
	return ++n->depth;
}

GOMP_API void omp_set_nest_lock(struct nest *n)
{
	nest_take(n, 1);
}

GOMP_API int omp_test_nest_lock(struct nest *n)
{
	return nest_take(n, 0);
}

GOMP_API void omp_unset_nest_lock(struct nest *n)
{
	if (--n->depth)
		return;
	set(&n->owner, 0);
	mutex_unlock(&n->word);
}

/* Fortran's forms, which pass locks by reference, too. */
#define FORTRAN(type, result, name, lock) \
	GOMP_API result name##_(type l);  \
	GOMP_API result name##_(type l)   \
	{                                 \
		return name(lock l);      \
	}

FORTRAN(u32 *, void, omp_init_lock, )
FORTRAN(u32 *, void, omp_destroy_lock, )
FORTRAN(u32 *, void, omp_set_lock, )
FORTRAN(u32 *, void, omp_unset_lock, )
FORTRAN(u32 *, int, omp_test_lock, )

/* A nested lock is larger than Fortran's variable for it, which has its address. */
FORTRAN(struct nest **, void, omp_set_nest_lock, *)
FORTRAN(struct nest **, int, omp_test_nest_lock, *)
FORTRAN(struct nest **, void, omp_unset_nest_lock, *)

GOMP_API void omp_init_nest_lock_(struct nest **n)
{
	*n = malloc(sizeof(**n));
	if (!*n)
		fatal("no memory for a lock");
	omp_init_nest_lock(*n);
}

GOMP_API void omp_destroy_nest_lock_(struct nest **n)
{
	free(*n);
	*n = 0;
}
