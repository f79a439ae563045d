/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A gang over all cores beside programs that compute: its members meet at a spin barrier N times (default 2000). `gang best` declares
 * no slots, `gang slots` 2 ms in each 5 ms. Prints the time of the rounds and how far apart the members began their slots.
 */
#include <weir/mk.h>

#define MAX 16

static u32 nr, arrived, round_nr, joined, left, hogs;
static u64 rounds;
static s64 gang = -1;
static volatile u64 began[MAX], ended;

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

static void member(void *arg)
{
	(void)arg;
	if (gang >= 0)
		mk_join_gang((u64)gang, 0);
	weir_fetch_add(&joined, 1);
	while (weir_load(&joined) < nr)
		mk_sleep(50000);
	for (u64 i = 0; i < rounds; i++) {
		mk_work(1000);
		barrier();
	}
	weir_fetch_add(&left, -1u);
}

static void hog(void *arg)
{
	(void)arg;
	/* Elsewhere, other work does not begin at the same time on all cores. */
	mk_sleep(1300000 * mk_self()->core);
	while (!ended)
		mk_work(100000);
	weir_fetch_add(&hogs, -1u);
}

int main(int argc, char **argv)
{
	int slots = argc > 1 && argv[1][0] == 's';
	u64 from, took;

	nr = (u32)mk_self()->nr_cores;
	for (const char *p = argc > 2 ? argv[2] : "2000"; *p; p++)
		rounds = rounds * 10 + (u64)(*p - '0');
	if (slots) {
		char text[] = "name team\nB 1\nH 2 5\n";

		gang = mk_manifest(text);
		if (gang < 0) {
			mk_print("gang: the manifest is refused: %ld\n", (long)gang);
			return 1;
		}
	}
	left = nr;
	hogs = nr;
	for (u32 core = 0; core < nr; core++)
		if (mk_spawn(core, hog, 0) < 0 ||
		    (core != mk_self()->core && mk_spawn(core, member, 0) < 0))
			return 2;
	if (slots) {
		s64 asked;

		from = mk_now();
		asked = mk_phase((u64)gang, 1);
		mk_mark(6, mk_now() - from);
		if (asked != nr)
			return 3;
	}
	from = mk_now();
	member(0);
	while (weir_load(&left))
		mk_sleep(20000);
	took = mk_now() - from;
	ended = 1;
	while (weir_load(&hogs))
		mk_sleep(1000000);
	mk_mark(7, took);
	mk_print("gang: %lu rounds of %u members in %lu us, %lu rounds/s\n", (unsigned long)rounds,
		 nr, (unsigned long)(took / 1000), (unsigned long)(rounds * 1000000000ull / took));
	return 0;
}
