/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Port: a bare hart. Memory is memory; the thread pointer holds the address of the hart's own record, whose first word is the CPU in
 * whose name it calls. No hart is preempted, so waiting is spinning, and a broken invariant stops the machine.
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
/* Both return the old value. */
#define weir_fetch_add(p, v) __atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL)
#define weir_fetch_or(p, v)  __atomic_fetch_or((p), (v), __ATOMIC_ACQ_REL)
#define weir_fetch_and(p, v) __atomic_fetch_and((p), (v), __ATOMIC_ACQ_REL)
#define weir_fence()	     __atomic_thread_fence(__ATOMIC_SEQ_CST)
/* Old value; the exchange happened if it equals @old. */
#define weir_cas(p, old, new) __sync_val_compare_and_swap((p), (old), (new))

/* Called between two looks at a word that another CPU will change. */
WEIR_INLINE void weir_port_relax(u32 spins)
{
	(void)spins;
	__asm__ volatile("nop" ::: "memory");
}

/* 1: the lock was free and is the caller's now. Never waits. */
WEIR_INLINE int weir_try_lock(u32 *lock)
{
	return !__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE);
}

WEIR_INLINE int weir_spin_lock(u32 *lock)
{
	while (!weir_try_lock(lock))
		weir_port_relax(0);
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

WEIR_INLINE u32 weir_port_cpu(void)
{
	u32 cpu;

	__asm__ volatile("lw %0, 0(tp)" : "=r"(cpu));
	return cpu;
}

WEIR_INLINE void weir_port_set_cpu(u32 cpu)
{
	__asm__ volatile("sw %0, 0(tp)" ::"r"(cpu) : "memory");
}

#endif
