/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the native and strict ports need from the C library. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <weir/port.h>

#include "guard.h"

__thread u32 weir_port_cpu_tls;
#ifdef WEIR_USERS
u32 weir_port_users;
#endif
#if WEIR_STRICT
__thread u32 weir_strict_budget;
#endif

void weir_port_fail(const char *what, const char *file, u32 line)
{
	if (weir_guard_failed)
		weir_guard_failed(what);
	fprintf(stderr, "runweir: broken invariant: %s (%s:%u)\n", what, file, line);
	abort();
}

#if !WEIR_STRICT
/* linux/membarrier.h, which not every computer has */
#define PRIVATE_EXPEDITED	   (1 << 3)
#define REGISTER_PRIVATE_EXPEDITED (1 << 4)

u32 weir_port_barriers;

/*
 * Before there are threads, as with several the kernel waits for a grace period, 12 ms; so before the constructor of a preloaded library. A child of
 * fork() has the registration too, and an exec() starts over.
 */
__attribute__((constructor(101))) static void use_barriers(void)
{
	weir_port_barriers = !syscall(SYS_membarrier, REGISTER_PRIVATE_EXPEDITED, 0, 0);
}

void weir_port_heavy_fence(void)
{
	if (weir_alone())
		return;
	weir_fence();
	if (weir_port_barriers && syscall(SYS_membarrier, PRIVATE_EXPEDITED, 0, 0))
		weir_port_fail("membarrier of a registered process", __FILE__, __LINE__);
}
#endif

/* With more threads than cores the holder may be off its core: give it ours now and then. */
void weir_port_relax(u32 spins)
{
	if (spins % 64 == 63) {
		if (weir_guard_waits)
			weir_guard_waits();
		sched_yield();
	}
#if WEIR_STRICT
	weir_strict_budget++; /* how long another CPU takes says nothing about our loops */
#endif
}

#if WEIR_STRICT
int weir_strict_loop(void)
{
	weir_assert(weir_strict_budget && "loop budget of one call");
	weir_strict_budget--;
	return 1;
}

static __thread u32 impatience; /* of 1024 attempts to have a pipe's lock, how many are to fail */
static __thread u64 dice;

void weir_strict_impatience(u32 of_1024, u64 seed)
{
	impatience = of_1024;
	dice = seed | 1;
}

int weir_strict_gives_up(void)
{
	if (!impatience)
		return 0;
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (dice >> 20) % 1024 < impatience;
}
#endif
