/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Port: the core under the model checker. Each atomic access and each lock operation is a point where
 * the checker may let another logical thread go on. A lock that is taken blocks; a spin loop blocks until
 * the word that it looked at changes. Atomic stores take effect at once, or wait in a buffer of their
 * thread as on x86 (Sewell et al., "x86-TSO", 2010) until a fence, a lock or an exchange.
 */
#ifndef WEIR_PORT_H
#define WEIR_PORT_H

#include <stdint.h>
#include <weir/unverified.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

#define weir_mem
#define weir_loop     1
#define WEIR_STRICT   1 /* rank order of locks is asserted */
#define WEIR_DECLINES 1
/* Set for scenarios in which a CPU stops: only there do waits end. */
extern int model_impatient;
#define WEIR_IMPATIENT model_impatient
#define WEIR_INLINE    static inline __attribute__((always_inline))
#define WEIR_ENTRY
#define WEIR_DESCRIPTOR(name) const struct weir_descriptor name##_descriptor

/* A few tasks are enough, and the arena is restored before each schedule. */
#define WEIR_TASK_CHUNK 4u
#define WEIR_MAX_CHUNKS 8u

void weir_port_fail(const char *what, const char *file, u32 line);

#define weir_assert(cond)      ((cond) ? (void)0 : weir_port_fail(#cond, __FILE__, __LINE__))
#define weir_valid(sched, ptr) weir_assert((u64)(ptr) - (u64)(sched) < (sched)->arena_bytes)
#define weir_budget_reset()    ((void)0)

enum model_kind { MODEL_READ, MODEL_WRITE, MODEL_LOCK, MODEL_UNLOCK, MODEL_AWAIT, MODEL_FENCE };

/* The present thread is about to do this; it comes back when it is this thread's turn. */
void model_point(const volatile void *word, enum model_kind kind, const char *what, u32 line);
/* 1: the store waits in the thread's buffer. 0: the caller makes it. */
int model_store(volatile void *word, u32 bytes, u64 value, enum model_kind kind, const char *what,
		u32 line);
/* 1: the thread has a store to the word in its buffer, with this value. */
int model_forward(const volatile void *word, u64 *value);
void model_fence(u32 line);
/* What it read last, for spin loops. */
void model_loaded(const volatile void *word, u32 bytes, u64 value);

/* Values first: what @v itself does comes before this access. */
#define MODEL_DO(p, v, kind, expr)                   \
	({                                           \
		__auto_type p_ = (p);                \
		__typeof__(*p_) v_ = (v);            \
		model_point(p_, kind, #p, __LINE__); \
		expr;                                \
	})
#define MODEL_LOAD(p)                                                                        \
	({                                                                                   \
		__auto_type p_ = (p);                                                        \
		u64 own_;                                                                    \
		model_point(p_, MODEL_READ, #p, __LINE__);                                   \
		__auto_type v_ = model_forward(p_, &own_) ? (__typeof__(*p_))own_            \
							  : *(volatile __typeof__(*p_) *)p_; \
		model_loaded(p_, sizeof(*p_), (u64)v_);                                      \
		v_;                                                                          \
	})
#define MODEL_STORE(p, v)                                                              \
	({                                                                             \
		__auto_type p_ = (p);                                                  \
		__typeof__(*p_) v_ = (v);                                              \
		if (!model_store(p_, sizeof(*p_), (u64)v_, MODEL_WRITE, #p, __LINE__)) \
			*p_ = v_;                                                      \
		(void)0;                                                               \
	})

#define weir_load(p)		 MODEL_LOAD(p)
#define weir_load_acquire(p)	 MODEL_LOAD(p)
#define weir_store(p, v)	 MODEL_STORE(p, v)
#define weir_store_release(p, v) MODEL_STORE(p, v)
#define weir_fetch_add(p, v)	 MODEL_DO(p, v, MODEL_WRITE, __sync_fetch_and_add(p_, v_))
#define weir_fetch_or(p, v)	 MODEL_DO(p, v, MODEL_WRITE, __sync_fetch_and_or(p_, v_))
#define weir_fetch_and(p, v)	 MODEL_DO(p, v, MODEL_WRITE, __sync_fetch_and_and(p_, v_))
#define weir_fence()		 model_fence(__LINE__)

/* WEIR_MODEL_BREAK builds a checker that must find something: 1 makes an exchange two steps, 2 a lock. */
#if WEIR_MODEL_BREAK == 1
#define weir_cas(p, old, new)                      \
	({                                         \
		__auto_type seen_ = MODEL_LOAD(p); \
		if (seen_ == (old))                \
			weir_store(p, new);        \
		seen_;                             \
	})
#else
/* What it saw is what a spin loop waits to change. */
#define weir_cas(p, old, new)                                                            \
	({                                                                               \
		__auto_type at_ = (p);                                                   \
		__auto_type saw_ = MODEL_DO(at_, new, MODEL_WRITE,                       \
					    __sync_val_compare_and_swap(p_, (old), v_)); \
		model_loaded(at_, sizeof(*at_), (u64)saw_);                              \
		saw_;                                                                    \
	})
#endif

/* 0: as for model_patient_lock(). */
int model_relax(void);
#undef weir_wait
#define weir_wait(waited, limit) ((waited)++, model_relax())
#undef weir_wait_long
#define weir_wait_long(waited, limit) weir_wait(waited, limit)
#define weir_port_relax(spins)	      ((void)(spins), (void)model_relax())

WEIR_INLINE int weir_spin_lock(u32 *lock)
{
#if WEIR_MODEL_BREAK == 2
	model_point(lock, MODEL_LOCK, "lock", __LINE__);
	model_point(lock, MODEL_WRITE, "lock", __LINE__);
#else
	model_point(lock, MODEL_LOCK, "lock", __LINE__);
#endif
	*lock = 1;
	return 0;
}

#if WEIR_MODEL_BREAK == 2
#define weir_try_lock(lock) (MODEL_LOAD(lock) ? 0 : (*(lock) = 1))
#else
#define weir_try_lock(lock) (weir_cas(lock, 0, 1) == 0)
#endif

/* 0: no thread that could change the word goes on any more, so the wait ends without it. */
int model_patient_lock(const volatile void *word, u32 line);

WEIR_INLINE int weir_lock_within(u32 *lock)
{
	if (!model_patient_lock(lock, __LINE__))
		return -3; /* -WEIR_EAGAIN */
#if WEIR_MODEL_BREAK == 2
	model_point(lock, MODEL_WRITE, "lock", __LINE__);
#endif
	*lock = 1;
	return 0;
}

/* Waiting begins with an attempt. */
#define weir_lock_at_once(lock)			 0
#define weir_impatient_lock(lock, waited, limit) ((void)(waited), weir_lock_within(lock))

WEIR_INLINE void weir_spin_unlock(u32 *lock)
{
	if (!model_store(lock, sizeof(*lock), 0, MODEL_UNLOCK, "lock", __LINE__))
		*lock = 0;
}

/* With a full barrier behind it. */
WEIR_INLINE void weir_unlock_fenced(u32 *lock)
{
	weir_spin_unlock(lock);
	model_fence(__LINE__);
}

u32 weir_port_cpu(void);
void weir_port_set_cpu(u32 cpu);

#endif
