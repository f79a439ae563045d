/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A program whose threads compute in two groups with reservations of their own, and a garbage collector: it merges all members into one
 * group, whose long slots they need because they meet at barriers while they mark, and then splits them again. Beside them, each core has a
 * program that computes. `collector N` collects N times (default 3); `collector N apart` without a merge. Source: 1, 3.3.
 */
#include <weir/mk.h>

#define MAX	 16
#define PHASES	 "name vm\nB 1\nH 1 5\nH 0.5 5\nH 2 5\n"
#define ALL	 0xffff
#define FAST	 1 /* groups, and their phases */
#define SLOW	 2
#define COLLECTS 3
#define MARKS	 2000 /* barriers of a collection */

static u32 nr, joined, arrived, round_nr, left, hogs, wrong;
static s64 vm;
static volatile u32 marking, stopped;
static u64 work[2][MAX]; /* rounds of a member alone, and within collections */

static void barrier(void)
{
	u32 now = weir_load(&round_nr);

	if (weir_fetch_add(&arrived, 1) + 1 == nr) {
		weir_store(&arrived, 0);
		weir_store_release(&round_nr, now + 1);
		return;
	}
	while (weir_load_acquire(&round_nr) == now)
		;
}

/* All members mark together. */
static void mark(u32 core)
{
	for (u32 i = 0; i < MARKS; i++) {
		mk_work(2000);
		work[1][core]++;
		barrier();
	}
}

static void mutate(void *arg)
{
	u32 core = (u32)mk_self()->core, seen = 0;

	(void)arg;
	if (mk_join_gang((u64)vm, core % 2 ? FAST : SLOW))
		weir_fetch_add(&wrong, 1);
	weir_fetch_add(&joined, 1);
	while (!stopped) {
		if (marking != seen) {
			seen = marking;
			mark(core);
		}
		mk_work(5000);
		work[0][core]++;
	}
	weir_fetch_add(&left, -1u);
}

static void hog(void *arg)
{
	(void)arg;
	/* Its slices begin at other times on other cores. */
	mk_sleep(700000 * mk_self()->core);
	while (!stopped)
		mk_work(100000);
	weir_fetch_add(&hogs, -1u);
}

/* What a call says about how many cores it concerned. */
static void expect(s64 got, s64 wanted, const char *what)
{
	if (got == wanted)
		return;
	weir_fetch_add(&wrong, 1);
	mk_print("collector: %s: %ld, not %ld", what, (long)got, (long)wanted);
}

/* The members' groups enter their phases: one of each group asks for it, here the core that runs @arg. */
static void enter(void *arg)
{
	u32 group = (u32)(u64)arg;

	expect(mk_phase((u64)vm, group), group == FAST ? nr / 2 : nr - nr / 2 - 1, "a phase");
	weir_fetch_add(&joined, 1);
}

int main(int argc, char **argv)
{
	u64 times = argc > 1 ? (u64)(argv[1][0] - '0') : 3, began, took = 0, changes = 0;
	int merges = argc < 3;

	nr = (u32)mk_self()->nr_cores;
	vm = mk_manifest(PHASES);
	if (vm < 0 || nr < 4) {
		mk_print("collector: the manifest is refused: %ld; it needs 4 harts", (long)vm);
		return 1;
	}
	/* The collector itself is in group 0, on core 0, and marks with the others. */
	expect(mk_join_gang((u64)vm, 0), 0, "join");
	expect(mk_join_gang((u64)vm, 16), MK_EUNKNOWN, "a group too many");
	left = nr - 1;
	hogs = nr;
	for (u32 core = 0; core < nr; core++)
		if (mk_spawn(core, hog, 0) < 0 || (core && mk_spawn(core, mutate, 0) < 0))
			return 2;
	while (weir_load(&joined) < nr - 1)
		mk_sleep(100000);
	if (mk_spawn(1, enter, (void *)FAST) < 0 || mk_spawn(2, enter, (void *)SLOW) < 0)
		return 3;
	while (weir_load(&joined) < nr + 1)
		mk_sleep(100000);
	for (u64 i = 0; i < times; i++) {
		mk_sleep(20000000);
		began = mk_now();
		if (merges)
			expect(mk_merge((u64)vm, ALL, 7, COLLECTS), nr, "the merge");
		changes += mk_now() - began;
		marking++;
		began = mk_now();
		mark(0);
		took += mk_now() - began;
		began = mk_now();
		if (merges)
			expect(mk_split((u64)vm, 7), nr, "the split");
		changes += mk_now() - began;
	}
	expect(mk_split((u64)vm, 7), MK_EUNKNOWN, "a split of nothing");
	mk_sleep(20000000);
	stopped = 1;
	while (weir_load(&left) || weir_load(&hogs))
		mk_sleep(1000000);
	for (u32 core = 0; core < nr; core++)
		if (work[1][core] != times * MARKS)
			wrong++;
	mk_mark(8, times ? took / times : 0);
	mk_mark(9, times ? changes / times : 0);
	mk_print("collector: %u collections of %u members, %u us each, and %u us for merge and "
		 "split; rounds alone: %u fast, %u slow; %u wrong",
		 (u32)times, nr, times ? (u32)(took / times / 1000) : 0,
		 times ? (u32)(changes / times / 1000) : 0, (u32)work[0][1], (u32)work[0][2],
		 wrong);
	return wrong != 0;
}
