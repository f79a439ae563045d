/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Messages between two cores: N (default 2000) to a dispatcher on the last core and back, with a sum over all words. Measures
 * instructions for sending and receiving one (marks 3 and 4). Then binds to an unknown name and to a service that refuses.
 */
#include <weir/mk.h>

static u64 instructions(void)
{
	u64 n;

	__asm__ volatile("rdinstret %0" : "=r"(n)::"memory");
	return n;
}

static void server(void *arg)
{
	struct mk_channel *c;

	if (mk_export((const char *)arg))
		mk_exit(1);
	if (((const char *)arg)[0] == 'n') {
		mk_next_client(1);
		return;
	}
	c = mk_next_client(0);
	for (;;) {
		u64 words[UMP_WORDS];
		u32 kind, tag;

		mk_channel_recv(c, words, UMP_WORDS, &kind, &tag);
		if (kind == 9)
			return;
		words[1] += words[0];
		mk_channel_send(c, words, UMP_WORDS, kind, tag + 1);
	}
}

int main(int argc, char **argv)
{
	u64 n = 0, bad = 0, send = ~0ull, receive = ~0ull, got = 0;
	u32 last = (u32)mk_self()->nr_cores - 1;
	struct mk_channel c, other;
	s64 unknown, refused;

	for (const char *p = argc > 1 ? argv[1] : "2000"; *p; p++)
		n = n * 10 + (u64)(*p - '0');
	if (mk_spawn(last, server, "echo") < 0 || mk_spawn(last, server, "nobody") < 0)
		return 1;
	while (mk_bind("echo", &c) == MK_EUNKNOWN)
		mk_sleep(20000);
	for (u64 sent = 0; got < n;) {
		u64 words[UMP_WORDS] = { sent, sent ^ 0x5a5a, 3, 4, 5, 6, ~sent }, from;
		u32 kind, tag;

		/* As many in flight as the ring holds. */
		from = instructions();
		while (sent < n && !ump_send(&c.ump, words, UMP_WORDS, 1, (u32)sent)) {
			u64 took = instructions() - from;

			if (took < send)
				send = took;
			sent++;
			words[0] = sent;
			words[1] = sent ^ 0x5a5a;
			words[6] = ~sent;
			from = instructions();
		}
		from = instructions();
		if (mk_channel_try(&c, words, UMP_WORDS, &kind, &tag)) {
			mk_channel_recv(&c, words, UMP_WORDS, &kind, &tag);
		} else {
			u64 took = instructions() - from;

			if (took < receive)
				receive = took;
		}
		bad += words[0] != got || words[1] != (got ^ 0x5a5a) + got || words[6] != ~got ||
		       tag != (u32)got + 1;
		got++;
	}
	mk_channel_send(&c, &n, 1, 9, 0);
	unknown = mk_bind("missing", &other);
	while ((refused = mk_bind("nobody", &other)) == MK_EUNKNOWN)
		mk_sleep(20000);
	mk_mark(3, send);
	mk_mark(4, receive);
	mk_print("ump: %lu messages to core %u and back, %lu wrong; send %lu, receive %lu "
		 "instructions; slept %lu times; unknown %d, refused %d\n",
		 (unsigned long)n, last, (unsigned long)bad, (unsigned long)send,
		 (unsigned long)receive, (unsigned long)c.ump.blocks, (int)unknown, (int)refused);
	return bad || unknown != MK_EUNKNOWN || refused != MK_EREFUSED;
}
