/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * spread [DISPATCHERS [ROUNDS]]: one core makes all dispatchers (12), and each computes ROUNDS rounds (100) of 20 us. With a scheduler for
 * each hart they all run on that core; with one for all harts (`--shared`) they go where the policy puts them. Counts the rounds on each
 * hart; checks that no round is lost or done twice, that none of a dispatcher's registers change on its way to another hart, and that
 * all sleeps, messages to a service of the same core and its answers arrive.
 */
#include <weir/mk.h>

#define MOST 12 /* the service maps a frame for each, and its console; there are 16 regions */

static u64 on_hart[16], done[MOST], wrong, moves, answers;
static u32 left, running[MOST], nr, serving;
static u64 rounds;

/* 1: registers are as they were, after 20 us. */
static int round_of(u64 k)
{
	u64 out[6];
	double f = (double)k, g = 0;

	__asm__ volatile("mv s2, %2\n\taddi s3, %2, 1\n\taddi t3, %2, 2\n\taddi a6, %2, 3\n\t"
			 "addi s11, %2, 4\n\taddi t6, %2, 5\n\tfmv.d fs3, %3\n\tfmv.d ft7, %3\n\t"
			 "li t0, 10000\n1:\taddi t0, t0, -1\n\tbnez t0, 1b\n\t"
			 "sd s2, 0(%1)\n\tsd s3, 8(%1)\n\tsd t3, 16(%1)\n\tsd a6, 24(%1)\n\t"
			 "sd s11, 32(%1)\n\tsd t6, 40(%1)\n\tfadd.d %0, fs3, ft7"
			 : "=f"(g)
			 : "r"(out), "r"(k), "f"(f)
			 : "s2", "s3", "t3", "a6", "s11", "t6", "t0", "fs3", "ft7", "memory");
	for (u64 i = 0; i < 6; i++)
		if (out[i] != k + i)
			return 0;
	/* Not by f, which may be lost with the others. */
	return (u64)g == 2 * k;
}

static struct mk_channel *clients[MOST];
static u32 nr_clients;

static void serve(u64 badge, const u64 *words, u64 along)
{
	u64 answer[4] = { words[0], words[1] + 1 };

	(void)along;
	for (u32 i = 0; i < weir_load_acquire(&nr_clients); i++)
		if (clients[i]->badge == badge) {
			weir_fetch_add(&answers, 1);
			mk_answer(clients[i]->endpoint, answer);
			return;
		}
}

static void service(void *arg)
{
	(void)arg;
	mk_on_message(serve);
	if (mk_export("spread"))
		mk_exit(1);
	weir_store_release(&serving, 1);
	while (nr_clients < nr) {
		struct mk_channel *c = mk_next_client(0);

		if (!c)
			mk_exit(2);
		clients[nr_clients] = c;
		weir_store_release(&nr_clients, nr_clients + 1);
	}
	while (weir_load(&left))
		mk_sleep(1000000);
}

static void worker(void *arg)
{
	u64 me = (u64)arg, last = mk_self()->hart;
	struct mk_channel c;

	while (!weir_load_acquire(&serving))
		mk_sleep(50000);
	if (mk_bind("spread", &c))
		mk_exit(3);
	while (weir_load_acquire(&nr_clients) < nr)
		mk_sleep(50000);
	for (u64 i = 0; i < rounds; i++) {
		u64 words[4] = { me, i }, answer[4] = { 0 }, hart;

		/* No dispatcher is on two harts. */
		if (weir_fetch_add(&running[me], 1))
			weir_fetch_add(&wrong, 1);
		if (!round_of(me << 48 | i << 8))
			weir_fetch_add(&wrong, 1);
		weir_fetch_add(&running[me], -1u);
		hart = mk_self()->hart;
		weir_fetch_add(&on_hart[hart % 16], 1);
		if (hart != last)
			weir_fetch_add(&moves, 1);
		last = hart;
		done[me]++;
		if (i % 8 == me % 8 && (mk_call(c.endpoint, c.badge, words, answer) ||
					answer[0] != me || answer[1] != i + 1))
			weir_fetch_add(&wrong, 1);
		if (i % 16 == me % 16)
			mk_sleep(30000);
	}
	weir_fetch_add(&left, -1u);
}

static u64 number(int argc, char **argv, int n, u64 otherwise)
{
	u64 v = 0;

	if (argc <= n)
		return otherwise;
	for (const char *p = argv[n]; *p >= '0' && *p <= '9'; p++)
		v = v * 10 + (u64)(*p - '0');
	return v;
}

int main(int argc, char **argv)
{
	u64 from = mk_now(), all = 0, took;
	u32 core = (u32)mk_self()->core, used = 0;

	nr = (u32)number(argc, argv, 1, 12);
	rounds = number(argc, argv, 2, 100);
	if (!nr || nr > MOST)
		return 2;
	left = nr;
	mk_set(WEIR_TOPIC_PRIORITY, 10, 0);
	if (mk_spawn(core, service, 0) < 0)
		return 1;
	for (u64 i = 0; i < nr; i++)
		if (mk_spawn(core, worker, (void *)i) < 0)
			return 1;
	while (weir_load(&left))
		mk_sleep(200000);
	took = (mk_now() - from) / 1000;
	for (u32 i = 0; i < nr; i++) {
		all += done[i];
		wrong += done[i] != rounds;
	}
	for (u32 i = 0; i < mk_self()->nr_cores; i++)
		used += on_hart[i] != 0;
	for (u32 i = 0; i < mk_self()->nr_cores; i++) {
		mk_mark(20 + i, on_hart[i]);
		mk_print("spread: %lu rounds on hart %u\n", (unsigned long)on_hart[i], i);
	}
	mk_print("spread: %u dispatchers, %lu rounds on %u harts in %lu us, %lu moves, %lu "
		 "answers, %lu wrong\n",
		 nr, (unsigned long)all, used, (unsigned long)took, (unsigned long)moves,
		 (unsigned long)answers, (unsigned long)wrong);
	return wrong != 0;
}
