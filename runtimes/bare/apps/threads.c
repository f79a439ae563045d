/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Threads fill every register with values of their own and check them, while the dispatcher is preempted by others and by its own slices;
 * also mutexes, joins and sleeps. Prints rounds and errors.
 */
#include <weir/mk.h>

#define THREADS 3
#define ROUNDS	600

static u64 wrong[16], rounds[16];
static u32 left, inside, clash, counter;
static struct mk_mutex lock[16];

static void check(void *arg)
{
	u64 mine = (u64)arg, core = mk_self()->core;

	for (u64 i = 0; i < ROUNDS; i++) {
		u64 k = mine << 56 | core << 48 | i, out[8];

		__asm__ volatile("mv s2, %1\n\taddi s3, %1, 1\n\taddi t3, %1, 2\n\taddi t6, %1, "
				 "3\n\taddi a6, %1, 4\n\taddi ra, %1, 5\n\t"
				 "addi s11, %1, 6\n\taddi t5, %1, 7\n\tli t0, 400\n1:\taddi t0, "
				 "t0, -1\n\tbnez t0, 1b\n\t"
				 "sd s2, 0(%0)\n\tsd s3, 8(%0)\n\tsd t3, 16(%0)\n\tsd t6, "
				 "24(%0)\n\tsd a6, 32(%0)\n\tsd ra, 40(%0)\n\t"
				 "sd s11, 48(%0)\n\tsd t5, 56(%0)"
				 :
				 : "r"(out), "r"(k)
				 : "s2", "s3", "t3", "t6", "a6", "ra", "s11", "t5", "t0", "memory");
		for (u32 n = 0; n < 8; n++)
			if (out[n] != k + n)
				weir_fetch_add(&wrong[core], 1);
		weir_fetch_add(&rounds[core], 1);
		if (i % 50 == 0) {
			mk_lock(&lock[core]);
			if (core == 0) {
				clash += inside++ != 0;
				mk_yield();
				counter++;
				inside--;
			}
			mk_unlock(&lock[core]);
		}
		if (i % 100 == mine)
			mk_sleep(3000);
		if (i % 37 == 0)
			mk_yield();
	}
}

static void team(void *arg)
{
	struct mk_thread *t[THREADS];

	(void)arg;
	for (u64 i = 0; i < THREADS; i++)
		t[i] = mk_thread(check, (void *)(i + 1));
	for (u32 i = 0; i < THREADS; i++)
		if (t[i])
			mk_join(t[i]);
	weir_fetch_add(&left, -1u);
}

static void rival(void *arg)
{
	(void)arg;
	mk_work(8000000);
	weir_fetch_add(&left, -1u);
}

int main(int argc, char **argv)
{
	u32 nr = (u32)mk_self()->nr_cores;
	u64 all = 0, bad = 0;

	(void)argc;
	(void)argv;
	left = 2 * nr;
	for (u32 core = 0; core < nr; core++)
		if (mk_spawn(core, rival, 0) < 0 ||
		    (core != mk_self()->core && mk_spawn(core, team, 0) < 0))
			return 1;
	team(0);
	while (weir_load(&left))
		mk_sleep(500000);
	for (u32 core = 0; core < nr; core++) {
		all += rounds[core];
		bad += wrong[core];
	}
	mk_print("threads: %lu rounds on %u cores, %lu wrong, %u in a mutex at once, counted %u\n",
		 (unsigned long)all, nr, (unsigned long)bad, clash, counter);
	return bad || clash || all != (u64)nr * THREADS * ROUNDS ||
	       counter != THREADS * ROUNDS / 50;
}
