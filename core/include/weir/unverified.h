/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * For ports whose code no verifier walks through. The BPF port gives these words a meaning: a function of the
 * core and one of a component that is checked once instead of at each call, one that may not cost a frame of the
 * eight, an argument that points into the arena, an argument that points to a record of the caller's, and a limit
 * of a loop that must not be taken for a constant, because the verifier would walk through every turn.
 */
#ifndef WEIR_UNVERIFIED_H
#define WEIR_UNVERIFIED_H

#define WEIR_GLOBAL
#define WEIR_HELPER static
#define WEIR_FLAT
/*
 * A function that is hardly ever called and stays out of its callers: in BPF, COLD is part of them and takes no frame, RARE is as it would
 * be without the word. A condition that hardly ever holds.
 */
#define WEIR_COLD	 __attribute__((noinline, cold))
#define WEIR_RARE	 __attribute__((noinline, cold))
#define weir_unlikely(c) __builtin_expect(!!(c), 0)
#define weir_arg
#define weir_arg_record
#define weir_limit(n) (n)
/* Zero bits below the lowest set one of a 64-bit word that is not 0. */
#define weir_ctz(w) ((u32)__builtin_ctzll(w))

/*
 * Waiting for another CPU, which may stop anywhere (a virtual CPU without a turn): a call waits a bounded time in
 * all, then does something else (docs/decisions/0034). @waited is a u64 that starts at 0 with the call; @limit bounds
 * it, in looks at the word (0: no bound). The BPF port takes a fixed time instead.
 *
 * weir_impatient_lock(lock, waited, limit): 0, or -WEIR_EAGAIN.
 */
#define WEIR_WAIT(name) u64 name = 0
/*
 * A barrier of which one side is taken often and the other hardly ever: both sides are full ones, unless a port knows how to have the
 * second one cost all and the first one nothing.
 */
#define weir_light_fence() weir_fence()
#define weir_heavy_fence() weir_fence()
/* Time that a wait for a lock is measured by, ns; 0: the port has no clock. */
#define weir_port_clock() 0ull
/* Between two looks; 0: give up. */
#define weir_wait(waited, limit) \
	(weir_port_relax((u32)(waited)++), (limit) == 0 || (waited) <= (limit))
/* Longer, for a swap, which the operator asked for and which is tried again. */
#define weir_wait_long(waited, limit) weir_wait(waited, 25 * (limit))

#endif
