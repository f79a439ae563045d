/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Channels come and go: `channels N` has a client on each core, each of which binds to a service N times (default 30), asks, and closes; every
 * third time it makes a dispatcher that asks and ends without a word. Far more than there is memory for at one time. Source: 1, 2.2.
 */
#include <weir/mk.h>

static u32 nr, wrong, left, asked;
static u64 times;

static void expect(u32 right)
{
	if (!right)
		weir_fetch_add(&wrong, 1);
}

static void ask(struct mk_channel *c)
{
	u64 words[UMP_WORDS] = { 20 };
	u32 kind, tag;
	s64 err;

	/* Others have all of its memory now. */
	while ((err = mk_bind("double", c)) == MK_EROOM || err == MK_EREFUSED)
		mk_sleep(100000);
	expect(!err);
	if (err)
		return;
	mk_channel_send(c, words, UMP_WORDS, 1, 0);
	mk_channel_recv(c, words, UMP_WORDS, &kind, &tag);
	expect(words[0] == 40 && !c->gone);
	weir_fetch_add(&asked, 1);
}

/* In memory of its own: the next one may begin before this one has ended, which looks at its channels until then. */
static void once(void *arg)
{
	struct mk_channel *c = mk_alloc(sizeof(*c));

	(void)arg;
	expect(c != 0);
	if (c)
		ask(c);
}

static void client(void *arg)
{
	static struct mk_channel channel[16];
	u32 core = (u32)mk_self()->core, before;

	(void)arg;
	for (u64 i = 0; i < times; i++) {
		if (i % 3 == 2) {
			before = weir_load(&asked);
			expect(mk_spawn(core, once, 0) >= 0);
			while (weir_load(&asked) == before)
				mk_sleep(20000);
			continue;
		}
		ask(&channel[core]);
		mk_channel_close(&channel[core]);
	}
	weir_fetch_add(&left, -1u);
}

int main(int argc, char **argv)
{
	struct mk_channel *c[16] = { 0 };
	u64 served = 0, words[UMP_WORDS];
	u32 kind, tag, open = 0, most = 0;

	nr = (u32)mk_self()->nr_cores;
	for (const char *p = argc > 1 ? argv[1] : "30"; *p; p++)
		times = times * 10 + (u64)(*p - '0');
	expect(!mk_export("double"));
	left = nr;
	for (u32 core = 0; core < nr; core++)
		expect(mk_spawn(core, client, 0) >= 0);
	while (weir_load(&left) || open) {
		if (!mk_client_asks())
			mk_sleep(20000);
		while (mk_client_asks()) {
			u32 i = 0;

			while (i < 8 && c[i])
				i++;
			if (i == 8) {
				mk_next_client(1);
				continue;
			}
			c[i] = mk_next_client(0);
			open += c[i] != 0;
		}
		most = open > most ? open : most;
		for (u32 i = 0; i < 8; i++) {
			if (!c[i])
				continue;
			if (!mk_channel_try(c[i], words, UMP_WORDS, &kind, &tag)) {
				words[0] *= 2;
				mk_channel_send(c[i], words, UMP_WORDS, 1, 0);
				served++;
			} else if (c[i]->gone) {
				mk_channel_close(c[i]);
				c[i] = 0;
				open--;
			}
		}
	}
	expect(served == nr * times);
	mk_print("channels: %lu binds from %u cores, up to %u at once, %u wrong",
		 (unsigned long)served, nr, most, wrong);
	return wrong != 0;
}
