/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * For ports whose code no verifier walks through. The BPF port gives these words a meaning: a function of the
 * core and one of a component that is checked once instead of at each call, one that may not cost a frame of the
 * eight, an argument that points into the arena, an argument that points to a record of the caller's, and a limit
 * of a loop that must not be taken for a constant, lest every turn be walked through.
 */
#ifndef WEIR_UNVERIFIED_H
#define WEIR_UNVERIFIED_H

#define WEIR_GLOBAL
#define WEIR_HELPER static
#define WEIR_FLAT
#define weir_arg
#define weir_arg_record
#define weir_limit(n) (n)
/* Zero bits below the lowest set one of a 64-bit word that is not 0. */
#define weir_ctz(w) ((u32)__builtin_ctzll(w))

/*
 * Waiting for another CPU. A kernel may not wait for long with interrupts off, for the other CPU can be a virtual
 * one that has no turn: there weir_impatient_lock() fails, or weir_wait() tells to go on without (docs/decisions/0014).
 */
#define WEIR_WAIT(name) u32 name = 0
/* Between two looks; 0: give up. */
#define weir_wait(name) (weir_port_relax((name)++), 1)

#endif
