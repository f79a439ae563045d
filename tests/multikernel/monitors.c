/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Monitors of up to 16 cores in one process: messages between two cores stay in order, and a random pair is next. Every ask gets one
 * answer; names belong to one; binds are local, remote, refused, unknown; of cores that want the same memory at once exactly one gets it.
 *
 *   monitors [ROUNDS] [SEED]       status 3: a mistake was found
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "monitor.h"

#define CORES	16
#define CLIENTS 6
#define QUEUE	512

void weir_port_fail(const char *what, const char *file, u32 line)
{
	fprintf(stderr, "broken: %s (%s:%u)\n", what, file, line);
	exit(3);
}

void weir_port_relax(u32 spins)
{
	(void)spins;
}

static struct mk_monitor monitors[CORES];
static u32 nr_cores, nodes[CORES];
static u64 dice;
static struct message {
	u32 kind;
	u64 words[MK_PEER_WORDS];
} messages[CORES][CORES][QUEUE];
static u32 head[CORES][CORES], tail[CORES][CORES];
static u64 sent;

/* What a client waits for, and what it heard last. */
static struct client {
	u32 waits;
	u32 answers;
	s32 status;
	u64 word[3];
	u32 refuses; /* as a service */
	u32 bound;
} clients[CORES][CLIENTS];

/* One page of memory that all cores know of: the core that has retyped it. */
static u32 owners, used[CORES], owner_core, owner_client;

static void found(const char *what)
{
	printf("found: %s\n", what);
	exit(3);
}

#define check(x) ((x) ? (void)0 : found(#x))

static u32 draw(u32 n)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (u32)(dice >> 32) % n;
}

static u32 me(struct mk_monitor *m)
{
	return (u32)(m - monitors);
}

void mk_peer_send(struct mk_monitor *m, u32 core, u32 kind, const u64 *words)
{
	struct message *l = &messages[me(m)][core][head[me(m)][core] % QUEUE];

	check(core < nr_cores && core != me(m));
	check(head[me(m)][core] - tail[me(m)][core] < QUEUE);
	l->kind = kind;
	memcpy(l->words, words, sizeof(l->words));
	head[me(m)][core]++;
	sent++;
}

void mk_client_send(struct mk_monitor *m, u32 client, const u64 *w)
{
	struct client *c = &clients[me(m)][client];
	u64 decide[4] = { MON_DECIDE };

	if (client >= CLIENTS)
		return;
	switch (w[0] & 0xff) {
	case MON_ANSWER:
		check(c->waits);
		c->waits = 0;
		c->answers++;
		c->status = (s32)(w[0] >> 32);
		memcpy(c->word, w + 1, sizeof(c->word));
		return;
	case MON_ASK:
		decide[1] = w[1];
		decide[2] = !c->refuses;
		/* Another one may not decide for it. */
		{
			u64 forged[4] = { MON_DECIDE, w[1], 1 };

			mk_monitor_client(m, (client + 1) % CLIENTS, forged);
		}
		mk_monitor_client(m, client, decide);
		return;
	case MON_BOUND:
		c->bound++;
		return;
	}
	found("a message that no client knows");
}

int mk_client_try(struct mk_monitor *m, u32 client, const u64 *w)
{
	(void)m;
	(void)client;
	(void)w;
	found("an entry without a member");
	return 0;
}

u32 mk_client_domain(struct mk_monitor *m, u32 client)
{
	return 100 + me(m) * CLIENTS + client;
}

s32 mk_channel_make(struct mk_monitor *m, u32 server, u32 core, u32 client, u64 *words)
{
	words[0] = 0x1000 * (me(m) + 1);
	words[1] = server;
	words[2] = core;
	words[3] = client;
	return MON_OK;
}

s32 mk_channel_server(struct mk_monitor *m, u32 server, u32 core, u32 client, const u64 *words,
		      u64 *channel)
{
	(void)m;
	check(words[1] == server && words[2] == core && words[3] == client);
	*channel = words[0];
	return MON_OK;
}

s32 mk_channel_client(struct mk_monitor *m, u32 core, u32 client, const u64 *words, u64 *channel)
{
	check(words[0] == 0x1000 * (core + 1) && words[2] == me(m) && words[3] == client);
	*channel = words[0];
	return MON_OK;
}

s32 mk_spawn_here(struct mk_monitor *m, u32 domain, u64 entry, u64 argument, s32 priority,
		  u64 *number)
{
	check(entry == argument + 1 && priority == -(s32)domain);
	*number = me(m) * 1000 + domain;
	return draw(4) ? MON_OK : MON_EROOM;
}

int mk_is_sibling(struct mk_monitor *m, u32 domain, u32 number)
{
	(void)m;
	return number == domain + 1;
}

s32 mk_waker_make(struct mk_monitor *m, u32 client, u32 core, u32 number, u32 bit, u64 *slot)
{
	(void)m, (void)client;
	*slot = core + number + bit;
	return MON_OK;
}

s32 mk_cap_pack(struct mk_monitor *m, u32 client, u64 slot, u64 *words)
{
	(void)m;
	(void)client;
	for (u32 i = 0; i < 4; i++)
		words[i] = slot + i;
	return slot ? MON_OK : MON_EINVAL;
}

s32 mk_cap_unpack(struct mk_monitor *m, u32 number, const u64 *words, u64 *slot)
{
	(void)m;
	(void)number;
	check(words[3] == words[0] + 3);
	*slot = words[0];
	return MON_OK;
}

int mk_memory_of(struct mk_monitor *m, u32 client, u64 slot, u64 *object)
{
	(void)m;
	(void)client;
	object[0] = 0x10000;
	object[1] = 0x10000;
	return slot == 9 ? 1 : -1;
}

int mk_memory_used(struct mk_monitor *m, const u64 *object)
{
	check(object[0] == 0x14000 && object[1] == 4096);
	return used[me(m)] != 0;
}

void mk_memory_revoke(struct mk_monitor *m, const u64 *object)
{
	(void)object;
	if (used[me(m)])
		owners--;
	used[me(m)] = 0;
}

s32 mk_memory_retype(struct mk_monitor *m, u32 client, const u64 *object, u64 type, u64 slot)
{
	check(object[0] == 0x14000 && type == 2 && slot == 5);
	check(owners == 0);
	owners++;
	used[me(m)] = 1;
	owner_core = me(m);
	owner_client = client;
	return MON_OK;
}

int mk_other_client(struct mk_monitor *m, u32 client, const u64 *words)
{
	(void)m;
	(void)client;
	(void)words;
	return 0;
}

int mk_other_peer(struct mk_monitor *m, u32 from, u32 kind, const u64 *words)
{
	(void)m;
	(void)from;
	(void)words;
	return kind >= PEER_OTHER;
}

static void pump(void)
{
	for (u32 core = 0; core < nr_cores; core++)
		mk_monitor_pump(&monitors[core]);
}

static void ask(u32 core, u32 client, u64 a, u64 b, u64 c, u64 d)
{
	u64 words[4] = { a, b, c, d };

	check(!clients[core][client].waits);
	clients[core][client].waits = 1;
	mk_monitor_client(&monitors[core], client, words);
}

/* Deliver one message, of a random pair. 0: there is none. */
static int deliver(void)
{
	u32 first = draw(nr_cores * nr_cores);

	for (u32 i = 0; i < nr_cores * nr_cores; i++) {
		u32 pair = (first + i) % (nr_cores * nr_cores), from = pair / nr_cores,
		    to = pair % nr_cores;
		struct message l;

		if (head[from][to] == tail[from][to])
			continue;
		l = messages[from][to][tail[from][to]++ % QUEUE];
		mk_monitor_peer(&monitors[to], from, l.kind, l.words);
		return 1;
	}
	return 0;
}

static void settle(void)
{
	for (u32 n = 0; deliver(); n++)
		check(n < 100000);
	pump();
	for (u32 n = 0; deliver(); n++)
		check(n < 100000);
	for (u32 core = 0; core < nr_cores; core++)
		for (u32 client = 0; client < CLIENTS; client++)
			check(!clients[core][client].waits);
}

/* Every core is reached once, and the root's first child is among the farthest. */
static void tree(u32 root)
{
	u32 todo[CORES] = { root }, nr = 1, seen[CORES] = { 0 };

	seen[root] = 1;
	for (u32 at = 0; at < nr; at++) {
		u32 below[MK_COMMIT_CORES],
			n = mk_commit_children(&monitors[0].commit, root, todo[at], below);

		for (u32 i = 0; i < n; i++) {
			check(!seen[below[i]]);
			seen[below[i]] = 1;
			todo[nr++] = below[i];
		}
		for (u32 i = 1; at == 0 && i < n; i++)
			check(abs((int)nodes[below[i - 1]] - (int)nodes[root]) >=
			      abs((int)nodes[below[i]] - (int)nodes[root]));
	}
	check(nr == nr_cores);
}

static void begin(u32 cores)
{
	nr_cores = cores;
	memset(clients, 0, sizeof(clients));
	memset(head, 0, sizeof(head));
	memset(tail, 0, sizeof(tail));
	memset(used, 0, sizeof(used));
	owners = 0;
	for (u32 i = 0; i < cores; i++)
		nodes[i] = i * (1 + draw(3)) / 4;
	for (u32 i = 0; i < cores; i++)
		check(!mk_monitor_init(&monitors[i], i, cores, nodes));
	for (u32 i = 0; i < cores; i++)
		tree(i);
}

static void names(void)
{
	u32 server_core = draw(nr_cores), server = draw(CLIENTS), core = draw(nr_cores), client;
	struct client *c;

	do
		client = draw(CLIENTS);
	while (core == server_core && client == server);
	c = &clients[core][client];
	/* Two want the same name. */
	ask(server_core, server, MON_EXPORT, 77, 5, 0);
	ask(core, client, MON_EXPORT, 77, 5, 0);
	settle();
	check((clients[server_core][server].status == MON_OK) + (c->status == MON_OK) == 1);
	if (c->status == MON_OK) {
		u32 other = server_core;

		server_core = core;
		core = other;
		other = server;
		server = client;
		client = other;
		c = &clients[core][client];
	}
	ask(core, client, MON_BIND, 78, 5, 0);
	settle();
	check(c->status == MON_EUNKNOWN);
	ask(core, client, MON_BIND, 77, 5, 0);
	settle();
	check(c->status == MON_OK && c->word[0] == 0x1000 * (server_core + 1) &&
	      clients[server_core][server].bound == 1);
	clients[server_core][server].refuses = 1;
	ask(core, client, MON_BIND, 77, 5, 0);
	settle();
	check(c->status == MON_EREFUSED);
	mk_monitor_gone(&monitors[server_core], server);
	settle();
	ask(core, client, MON_BIND, 77, 5, 0);
	settle();
	check(c->status == MON_EUNKNOWN);
}

static void elsewhere(void)
{
	u32 core = draw(nr_cores), client = draw(CLIENTS), to = draw(nr_cores),
	    domain = 100 + core * CLIENTS + client;
	struct client *c = &clients[core][client];

	ask(core, client, MON_SPAWN | (u64)(u32)-domain << 32, to, 5, 4);
	settle();
	check(c->status == MON_EROOM || c->word[0] == to * 1000 + domain);
	ask(core, client, MON_SPAWN, nr_cores, 5, 4);
	settle();
	check(c->status == MON_EINVAL);
	ask(core, client, MON_CAP_SEND, 33, to, 0);
	settle();
	check(c->status == MON_OK && c->word[0] == 33);
	ask(core, client, MON_CAP_SEND, 0, to, 0);
	settle();
	check(c->status == MON_EINVAL);
	/* Only its own program's dispatchers. */
	ask(core, client, MON_SIBLING, to, domain + 1, 2);
	settle();
	check(c->status == MON_OK && c->word[0] == to + domain + 3);
	ask(core, client, MON_SIBLING, to, domain, 2);
	settle();
	check(c->status == MON_EUNKNOWN);
	ask(core, client, MON_SIBLING, nr_cores, domain + 1, 2);
	settle();
	check(c->status == MON_EINVAL);
	ask(core, client, 250, 0, 0, 0);
	settle();
	check(c->status == MON_EINVAL);
}

/* Several cores want the same page; one that is refused because another one asks tries again. */
static void retype(void)
{
	u32 nr = 1 + draw(nr_cores < 5 ? nr_cores : 5), core[5], client[5], done[5] = { 0 },
	    left = nr, tries = 0, won = 0;

	for (u32 i = 0; i < nr; i++) {
		core[i] = (draw(nr_cores) + i) % nr_cores;
		client[i] = i;
	}
	while (left) {
		check(tries++ < 1000);
		for (u32 i = 0; i < nr; i++) {
			if (done[i] || clients[core[i]][client[i]].waits || draw(4 + i) > 2)
				continue;
			ask(core[i], client[i], MON_RETYPE, 9, 2 | 4096 << 8, 0x4000 | 5ull << 48);
		}
		for (u32 n = draw(60); n && deliver(); n--)
			;
		if (draw(2))
			settle();
		for (u32 i = 0; i < nr; i++) {
			struct client *c = &clients[core[i]][client[i]];

			if (done[i] || c->waits || !c->answers || c->status == MON_EBUSY)
				continue;
			check(c->status == MON_OK || c->status == MON_EUSED);
			won += c->status == MON_OK;
			done[i] = 1;
			left--;
		}
	}
	settle();
	check(won == 1 && owners == 1);
	ask(owner_core, owner_client, MON_REVOKE, 9, 0, 0);
	settle();
	check(clients[owner_core][owner_client].status == MON_OK && owners == 0);
	/* Whatever was promised is free again. */
	ask(owner_core, owner_client, MON_RETYPE, 9, 2 | 4096 << 8, 0x4000 | 5ull << 48);
	settle();
	check(clients[owner_core][owner_client].status == MON_OK);
}

int main(int argc, char **argv)
{
	u32 rounds = argc > 1 ? (u32)atoi(argv[1]) : 2000;

	dice = argc > 2 ? strtoull(argv[2], 0, 0) | 1 : 0x9e3779b97f4a7c15ull;
	for (u32 i = 0; i < rounds; i++) {
		begin(1 + draw(CORES));
		names();
		elsewhere();
		begin(1 + draw(CORES));
		retype();
	}
	printf("monitors: %u rounds, %llu messages\n", rounds, (unsigned long long)sent);
	return 0;
}
