/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Floating point in threads of several cores that are preempted and yield: each sums the same series, and all sums must be equal to the
 * bit. One thread rounds upwards, which is its own affair. Prints the sum's error and how many were wrong.
 */
#include <weir/mk.h>

#define THREADS 3
#define TERMS	4000

static u32 left;
static u64 wrong, ready;
static double expected[2];

static double zeta(u64 terms, int yields)
{
	double sum = 0;

	for (u64 k = terms; k; k--) {
		sum += 1.0 / ((double)k * (double)k);
		if (yields && k % 500 == 0)
			mk_yield();
	}
	return sum;
}

static void upwards(u64 mode)
{
	__asm__ volatile("fsrm %0" ::"r"(mode));
}

static void one(void *arg)
{
	double sum;

	if (arg)
		upwards(3);
	sum = zeta(TERMS, 1);
	if (sum != expected[arg != 0])
		weir_fetch_add(&wrong, 1);
	if (__builtin_sqrt(6 * sum) < 3.14 || __builtin_sqrt(6 * sum) > 3.1416)
		weir_fetch_add(&wrong, 1);
}

static void team(void *arg)
{
	struct mk_thread *t[THREADS];

	(void)arg;
	for (u64 i = 0; i < THREADS; i++)
		t[i] = mk_thread(one, (void *)(u64)(i == 1));
	for (u32 i = 0; i < THREADS; i++)
		if (t[i])
			mk_join(t[i]);
	weir_fetch_add(&left, -1u);
}

int main(int argc, char **argv)
{
	u32 nr = (u32)mk_self()->nr_cores;

	(void)argc;
	(void)argv;
	expected[0] = zeta(TERMS, 0);
	upwards(3);
	expected[1] = zeta(TERMS, 0);
	upwards(0);
	ready = expected[0] < expected[1];
	/* Two dispatchers on each core, so that they take the registers from each other. */
	left = 2 * nr;
	for (u32 core = 0; core < nr; core++)
		for (u32 i = 0; i < 2; i++)
			if (mk_spawn(core, team, 0) < 0)
				return 1;
	while (weir_load(&left))
		mk_sleep(500000);
	mk_print("floats: %u sums of %u terms, %lu wrong; %u/1000000 below the series' limit\n",
		 2 * nr * THREADS, TERMS, (unsigned long)wrong,
		 (u32)((1.6449340668482264 - expected[0]) * 1e6));
	return wrong || !ready;
}
