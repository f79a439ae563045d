/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What tests with random orders and contents share: a generator, and a check that tells what it found from everything else that may
 * end a program.
 */
#ifndef TESTS_RANDOM_H
#define TESTS_RANDOM_H

#include <stdio.h>
#include <stdlib.h>
#include <weir/port.h>

/* xorshift64 (Marsaglia, "Xorshift RNGs", 2003); not from 0. */
static inline u64 xorshift(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static u64 dice __attribute__((unused)) = 88172645463325253ull;

static inline u64 roll(void)
{
	return xorshift(&dice);
}

/* Ends the program with 3, which no crash and no wrong argument does. */
static inline void found(const char *what, const char *file, int line)
{
	fprintf(stderr, "found: %s (%s:%d)\n", what, file, line);
	exit(3);
}

#define REQUIRE(cond) ((cond) ? (void)0 : found(#cond, __FILE__, __LINE__))

#endif
