/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Port: a BPF program with arena memory (clang 19 or newer, -mcpu=v4, kernel 6.12 or newer).
 * Loops are bounded by may_goto; a broken invariant is counted, not fatal.
 */
#ifndef WEIR_PORT_H
#define WEIR_PORT_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define weir_mem __attribute__((address_space(1)))
/* True until the verifier's iteration budget of this program run is used up. */
#define weir_loop                                                        \
	({                                                               \
		__label__ l_break, l_continue;                           \
		int ret_ = 1;                                            \
		asm volatile goto("may_goto %l[l_break]" ::: : l_break); \
		goto l_continue;                                         \
	l_break:                                                         \
		ret_ = 0;                                                \
	l_continue:;                                                     \
		ret_;                                                    \
	})
#define WEIR_STRICT   0
#define WEIR_DECLINES 1
/* Calls may give up waiting for another CPU, whatever the configuration says. */
#define WEIR_IMPATIENT 1
#define WEIR_OPLOG     0
#define WEIR_DOMAINS   0
#define WEIR_INLINE    static inline __attribute__((always_inline, unused))
/* One translation unit: components are static and kept apart by their prefix. */
#define WEIR_ENTRY static inline __attribute__((always_inline, unused))
/*
 * A function that the verifier checks once, by itself, instead of at each call (the unit is compiled
 * with hidden visibility, which makes all others static to the verifier). It returns a number, and its
 * arguments that are pointers say where they point.
 */
#define WEIR_GLOBAL __attribute__((noinline, visibility("default")))
#define WEIR_PART   WEIR_GLOBAL
#define WEIR_STEP
/* The same for a function of a component beside its entry points. */
#define WEIR_HELPER WEIR_GLOBAL
/* No instruction for it; and a search by branches would cost the verifier a walk through all 64 ways. */
#define weir_ctz(w) weir_count_bits(((w) & -(w)) - 1)
#define weir_use(v) asm volatile("" ::"r"(v))
/* Nothing is computed from @v before this point: what is ready early waits in the frame. */
#define weir_only_now(v) asm volatile("" : "+r"(v))
/* A call chain has eight frames and 512 bytes: this function uses none of them. */
#define WEIR_FLAT __attribute__((always_inline))
/* What is hardly ever called takes no frame either. */
#define WEIR_COLD __attribute__((always_inline))
#define WEIR_RARE
#define weir_unlikely(c) (c)
#define weir_arg	 __attribute__((btf_decl_tag("arg:arena")))
#define weir_arg_record	 __attribute__((btf_decl_tag("arg:nonnull")))
/*
 * @n, of which the verifier knows nothing. It walks through every turn of a loop with a constant limit, and once more through what follows
 * for each value, or range of values, that it tells apart where paths join. (An addition would leave it a range.)
 */
static volatile u64 weir_port_zero __attribute__((unused));
#define weir_unknown(n) ((__typeof__(n))((n) ^ weir_port_zero))
#define WEIR_DESCRIPTOR(name) \
	static const struct weir_descriptor name##_descriptor __attribute__((unused))

/* Broken invariants since the start; read by the loader. */
static volatile u64 weir_port_faults __attribute__((unused));

#define weir_assert(cond)                   \
	do {                                \
		if (!(cond))                \
			weir_port_faults++; \
	} while (0)
#define weir_valid(sched, ptr) ((void)0)
#define weir_budget_reset()    ((void)0)

/*
 * There is no instruction for acquire and release before Linux 6.15: plain accesses keep that order where
 * the machine does (x86). Full barriers come from atomics.
 */
/* For its argument's type alone: the cast below would make any address one of the arena, and a store to it would go astray there. */
int weir_in_arena(const volatile void weir_mem *p);
#define weir_volatile(p)	 ((void)sizeof(weir_in_arena(p)), (volatile __typeof__(*(p)) weir_mem *)(p))
#define weir_load(p)		 (*weir_volatile(p))
#define weir_load_acquire(p)	 (*weir_volatile(p))
#define weir_store(p, v)	 ((void)(*weir_volatile(p) = (v)))
#define weir_store_release(p, v) ((void)(*weir_volatile(p) = (v)))
#define weir_fetch_add(p, v)	 __sync_fetch_and_add((p), (v))
#define weir_cas(p, old, new)	 __sync_val_compare_and_swap((p), (old), (new))
/* On arena memory the kernel refuses the instructions that combine bits and return the old value. */
#define weir_fetch_op(p, new)                                     \
	({                                                        \
		__typeof__(p) word_ = (p);                        \
		u64 old_ = weir_load(word_);                      \
		while (weir_loop) {                               \
			u64 seen_ = weir_cas(word_, old_, (new)); \
			if (seen_ == old_)                        \
				break;                            \
			old_ = seen_;                             \
		}                                                 \
		old_;                                             \
	})
#define weir_fetch_or(p, v)  weir_fetch_op(p, old_ | (v))
#define weir_fetch_and(p, v) weir_fetch_op(p, (old_) & (v))
/*
 * A full barrier: an atomic addition that returns the old value, on a word of our own stack, so that CPUs
 * share no line for it. In assembler, since the compiler drops the result, and with it the order.
 */
#define weir_fence()                                                      \
	do {                                                              \
		u64 own_ = 0, sum_ = 0;                                   \
		asm volatile("%0 = atomic_fetch_add((u64 *)(%1 + 0), %0)" \
			     : "+r"(sum_)                                 \
			     : "r"(&own_)                                 \
			     : "memory");                                 \
	} while (0)

#define weir_light_fence() weir_fence()
/* Strict: a test wants this attempt at a lock to fail. */
#define weir_port_gives_up() 0
#define weir_heavy_fence()   weir_fence()

/* Helper 5 of the kernel: bpf_ktime_get_ns. */
static u64 (*const weir_bpf_ktime_get_ns)(void) __attribute__((unused)) = (u64(*)(void))5;

/*
 * How long a call of the core waits for other CPUs in all, with interrupts off: longer than any of them holds a lock
 * while it runs, short for a task that waits.
 */
#define WEIR_WAIT_NS 20000ull

/* Time that a wait for a lock is measured by. */
#define weir_port_clock() weir_bpf_ktime_get_ns()

/* Bounded by the clock: a count would be a new state for the verifier at each look. */
#define WEIR_WAIT(name) u64 name = 0
#define weir_wait_until(until, ns)                         \
	({                                                 \
		u64 now_ = weir_bpf_ktime_get_ns();        \
		(until) = (until) ? (until) : now_ + (ns); \
		now_ < (until);                            \
	})
#define weir_wait(until, limit)	     weir_wait_until(until, WEIR_WAIT_NS)
#define weir_wait_long(until, limit) weir_wait_until(until, 25 * WEIR_WAIT_NS)

/* 1: the lock was free and is the caller's now. Never waits. */
#define weir_try_lock(lock) (weir_cas(lock, 0, 1) == 0)

#define weir_impatient_lock(lock, until, limit)       \
	({                                            \
		int err_ = -3; /* -WEIR_EAGAIN */     \
		while (weir_loop) {                   \
			if (weir_try_lock(lock)) {    \
				err_ = 0;             \
				break;                \
			}                             \
			if (!weir_wait(until, limit)) \
				break;                \
		}                                     \
		err_;                                 \
	})

WEIR_INLINE void weir_spin_unlock(u32 weir_mem *lock)
{
	(void)__sync_lock_test_and_set(lock, 0);
}

/* Helper 8 of the kernel: bpf_get_smp_processor_id. */
static u32 (*const weir_bpf_smp_processor_id)(void) __attribute__((unused)) = (u32(*)(void))8;

WEIR_INLINE u32 weir_port_cpu(void)
{
	return weir_bpf_smp_processor_id();
}

WEIR_INLINE void weir_port_set_cpu(u32 cpu)
{
	weir_use(cpu); /* it is the CPU that runs this; as an argument it stays one */
}

#endif
