/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * For ports without a verifier. In the BPF port these words have a meaning: a function of the core or of a
 * component that is checked once instead of at each call, a function that may not take one of the eight frames,
 * an argument that points into the arena, an argument that points to the caller's record, and a loop limit that
 * must not be treated as a constant, because the verifier would walk every iteration.
 */
#ifndef WEIR_UNVERIFIED_H
#define WEIR_UNVERIFIED_H

#define WEIR_GLOBAL
#define WEIR_HELPER static
#define WEIR_FLAT
/* A part of a call: in BPF a function that is checked once, elsewhere inlined into the call. And a step, which the dispatch jumps to. */
#define WEIR_PART		       static inline __attribute__((always_inline))
#define WEIR_STEP		       __attribute__((noinline))
#define weir_class_step(i, what, t, s) weir_steps[(i)->class](i, what, t, s)
/*
 * A function that is rarely called and not inlined: in BPF, COLD is inlined and takes no frame, RARE has no effect. A condition that
 * rarely holds.
 */
#define WEIR_COLD	 __attribute__((noinline))
#define WEIR_RARE	 __attribute__((noinline))
#define weir_unlikely(c) __builtin_expect(!!(c), 0)
/* An argument that the verifier wants at a call, although the function does not look at it. */
#define weir_use(v) ((void)(v))
/* What is computed from @v need not be ready before this point. */
#define weir_only_now(v) ((void)0)
#define weir_arg
#define weir_arg_record
/* @n, of which a verifier knows nothing: it would search once more for each value that it can tell apart. */
#define weir_unknown(n) (n)
/* Zero bits below the lowest set one of a 64-bit word that is not 0. */
#define weir_ctz(w) ((u32)__builtin_ctzll(w))

/*
 * Waiting for another CPU, which may stop anywhere (a preempted virtual CPU): a call waits a bounded time in total,
 * then does something else (docs/decisions/0034). @waited is a u64 that starts at 0 with the call; @limit bounds it,
 * in polls of the word (0: no bound). The BPF port uses a fixed time instead.
 *
 * weir_impatient_lock(lock, waited, limit): 0, or -WEIR_EAGAIN.
 */
#define WEIR_WAIT(name) u64 name = 0
/*
 * A barrier with a frequent side and a rare side: both are full barriers, unless a port can move the whole cost to the rare side.
 */
#define weir_light_fence() weir_fence()
/* Strict: a test wants this attempt at a lock to fail. */
#define weir_port_gives_up() 0
#define weir_heavy_fence()   weir_fence()
/* Clock for measuring waits for locks, ns; 0: the port has no clock. */
#define weir_port_clock() 0ull
/* Between two polls; 0: give up. */
#define weir_wait(waited, limit) \
	(weir_port_relax((u32)(waited)++), (limit) == 0 || (waited) <= (limit))
/* Longer, for a swap, which the operator requested and which is retried. */
#define weir_wait_long(waited, limit) weir_wait(waited, 25 * (limit))

#endif
