/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Port: an ordinary process. Memory is memory, loops may run as long as they like, and a
 * broken invariant ends the program.
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

/* Qualifies pointers into the arena; only the BPF target gives it a meaning. */
#define weir_mem
/* Condition of every loop whose length is data. */
#define weir_loop 1
/* Checks that only the strict port makes. */
#define WEIR_STRICT 0
/* Calls may give up waiting for another CPU, whatever the configuration says. */
#define WEIR_IMPATIENT 0
#define WEIR_INLINE    static inline __attribute__((always_inline))
#define WEIR_ENTRY
/* Program-wide facts of a component; the BPF target gets them through the class table. */
#define WEIR_DESCRIPTOR(name) const struct weir_descriptor name##_descriptor

void weir_port_fail(const char *what, const char *file, u32 line);

#define weir_assert(cond) ((cond) ? (void)0 : weir_port_fail(#cond, __FILE__, __LINE__))
/* The pointer lies in the arena. */
#define weir_valid(sched, ptr) ((void)0)
#define weir_budget_reset()    ((void)0)

#define weir_load(p)		 __atomic_load_n((p), __ATOMIC_RELAXED)
#define weir_load_acquire(p)	 __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define weir_store(p, v)	 __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define weir_store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
/*
 * Who uses a scheduler of this process. As long as each has one thread at a time, as in a simulation, plain operations do, at a fifth of the price and
 * less, as in a C library as long as its program has one thread. The program says so (host.h); a unit without WEIR_USERS never asks.
 */
enum { WEIR_USERS_UNKNOWN, WEIR_USERS_ALONE, WEIR_USERS_THREADS };
#ifdef WEIR_USERS
extern u32 weir_port_users;
#define weir_alone() (weir_port_users == WEIR_USERS_ALONE)
#else
#define weir_alone() 0
#endif

/* The old value of *@p, which becomes @plain, in which that is called before_: by @atomic, which does the same, unless the caller is alone. */
#define weir_change(p, atomic, plain)       \
	({                                  \
		__typeof__(*(p)) before_;   \
		if (weir_alone()) {         \
			before_ = *(p);     \
			*(p) = (plain);     \
		} else {                    \
			before_ = (atomic); \
		}                           \
		before_;                    \
	})

/* All return the old value. */
#define weir_fetch_add(p, v) \
	weir_change(p, __atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL), before_ + (v))
#define weir_fetch_or(p, v) \
	weir_change(p, __atomic_fetch_or((p), (v), __ATOMIC_ACQ_REL), before_ | (v))
#define weir_fetch_and(p, v) \
	weir_change(p, __atomic_fetch_and((p), (v), __ATOMIC_ACQ_REL), before_ &(v))
/* The exchange happened if it equals @from. */
#define weir_cas(p, from, to)                                          \
	weir_change(p, __sync_val_compare_and_swap((p), (from), (to)), \
		    before_ == (from) ? (to) : before_)
#define weir_fence()                                             \
	do {                                                     \
		if (!weir_alone())                               \
			__atomic_thread_fence(__ATOMIC_SEQ_CST); \
	} while (0)

/* The kernel can have all threads of the process execute a barrier: then the frequent side needs none (membarrier(2)). */
/* (c) 1: it can, and the process has said that it will ask for that */
extern u32 weir_port_barriers;
void weir_port_heavy_fence(void);
#undef weir_light_fence
#undef weir_heavy_fence
#define weir_light_fence()                         \
	do {                                       \
		if (!weir_port_barriers)           \
			weir_fence();              \
		__asm__ volatile("" ::: "memory"); \
	} while (0)
#define weir_heavy_fence() weir_port_heavy_fence()

/* Called between two looks at a word that another CPU will change. */
void weir_port_relax(u32 spins);

/* 1: the lock was free and is the caller's now. Never waits. */
WEIR_INLINE int weir_try_lock(u32 *lock)
{
	return !weir_change(lock, __atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE), 1);
}

/* Never fails: a lock that only threads of this process hold, for a few instructions. */
WEIR_INLINE int weir_spin_lock(u32 *lock)
{
	u32 spins = 0;

	while (!weir_try_lock(lock))
		weir_port_relax(spins++);
	return 0;
}

WEIR_INLINE int weir_lock_within(u32 *lock, u64 *waited, u64 limit)
{
	while (!weir_try_lock(lock)) {
		if (limit && *waited >= limit)
			return -3; /* -WEIR_EAGAIN */
		weir_port_relax((u32)(*waited)++);
	}
	return 0;
}

/* See weir/unverified.h. */
#define weir_impatient_lock(lock, waited, limit) weir_lock_within(lock, &(waited), limit)

WEIR_INLINE void weir_spin_unlock(u32 *lock)
{
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}

/* The CPU in whose name this thread calls; entering a call of schedule.h sets it. */
extern __thread u32 weir_port_cpu_tls;

WEIR_INLINE u32 weir_port_cpu(void)
{
	return weir_port_cpu_tls;
}

WEIR_INLINE void weir_port_set_cpu(u32 cpu)
{
	weir_port_cpu_tls = cpu;
}

#endif
