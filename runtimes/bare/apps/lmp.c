/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Messages between two dispatchers of one core: N calls (default 1000), each answered at once. Measures instructions for one way, from
 * the sender's call of the library to the receiver's handler (mark 1: the minimum), and for a call with its answer (mark 2: the minimum).
 * Then a busy receiver: its messages are buffered, and excess ones are refused.
 */
#include <weir/mk.h>

static struct mk_channel *client;
static u32 served, buffered;
static u64 arrived;

static u64 instructions(void)
{
	u64 n;

	__asm__ volatile("rdinstret %0" : "=r"(n)::"memory");
	return n;
}

static void serve(u64 badge, const u64 *words, u64 along)
{
	u64 answer[4];

	arrived = instructions();
	(void)along;
	for (u32 i = 0; i < 4; i++)
		answer[i] = words[i] + !i;
	if (!client || badge != client->badge)
		return;
	served++;
	mk_answer(client->endpoint, answer);
}

static void count(u64 badge, const u64 *words, u64 along)
{
	(void)words;
	(void)along;
	buffered += badge == 5;
}

static void server(void *arg)
{
	(void)arg;
	mk_on_message(serve);
	if (mk_export("lmp"))
		mk_exit(1);
	client = mk_next_client(0);
	if (!client || !client->endpoint)
		mk_exit(2);
	for (;;)
		mk_park();
}

int main(int argc, char **argv)
{
	u64 n = 0, least = ~0ull, whole = ~0ull, bad = 0, refused = 0;
	struct mk_channel c;
	u64 own = mk_slot();

	for (const char *p = argc > 1 ? argv[1] : "1000"; *p; p++)
		n = n * 10 + (u64)(*p - '0');
	if (mk_spawn((u32)mk_self()->core, server, 0) < 0)
		return 1;
	while (mk_bind("lmp", &c))
		mk_sleep(20000);
	while (!*(struct mk_channel *volatile *)&client)
		mk_sleep(20000);
	for (u64 i = 0; i < n; i++) {
		u64 words[4] = { i, i * 3, ~i, 7 }, answer[4], from = instructions(), took;

		if (mk_call(c.endpoint, c.badge, words, answer))
			return 2;
		took = instructions() - from;
		if (took < whole)
			whole = took;
		if (arrived - from < least)
			least = arrived - from;
		bad += answer[0] != i + 1 || answer[1] != i * 3 || answer[2] != ~i;
	}
	mk_mark(1, least);
	mk_mark(2, whole);
	/* To itself, while it runs: messages that do not fit are refused. */
	mk_on_message(count);
	mk_invoke(SLOT_SELF, CMD_ENDPOINT, own, 5, 0, 0);
	mk_self()->disabled = 1;
	for (u32 i = 0; i < LMP_BUFFERS + 4; i++) {
		u64 words[4] = { i };

		refused += mk_send_raw(own, words, 0) == MK_EBUSY;
	}
	mk_self()->disabled = 0;
	mk_sleep(1000000);
	mk_print("lmp: %lu calls, %lu wrong, one way %lu instructions, with the answer %lu; served "
		 "%u, buffered %u, refused %lu\n",
		 (unsigned long)n, (unsigned long)bad, (unsigned long)least, (unsigned long)whole,
		 served, buffered, (unsigned long)refused);
	return bad || served != n || buffered != LMP_BUFFERS || refused != 4;
}
