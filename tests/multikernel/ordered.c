/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Ordered group communication, exhaustively: monitors of three or four cores, the real code, and all that can happen next from every
 * state that was not seen before: the first message of each pair of cores arrives, a client reads, or asks the next thing of its script.
 * States are compared by a hash of 64 bits. Logs have two entries here, so that they fill up.
 *
 *   ordered [STATES]       most states of a scenario; status 3: a mistake was found
 *
 * Of each state: members get the entries of a group in one order, without a gap, from their own join on. Of each end: all answered, all
 * replicas equal, nothing promised, every published entry there once if its publisher was told so, and never otherwise.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "monitor.h"

#define CORES	 4
#define CLIENTS	 4
#define QUEUE	 8
#define STEPS	 6
#define RECORDS	 10
#define NOT_HELD (~0u)

void weir_port_fail(const char *what, const char *file, u32 line)
{
	fprintf(stderr, "broken: %s (%s:%u)\n", what, file, line);
	exit(3);
}

void weir_port_relax(u32 spins)
{
	(void)spins;
}

/* What a client does: T its topic, S subscribe, U unsubscribe, N subscribe to names, E export, B bind, G it ends, a digit: publish that. */
struct script {
	u32 core;
	u32 room; /* entries that it takes before it reads; 0: it never has room */
	const char *steps;
};

struct scenario {
	const char *name;
	u32 cores;
	const u32 nodes[CORES];
	const char *before[CLIENTS]; /* done by one client after the other */
	struct script script[CLIENTS];
};

static const struct scenario scenarios[] = {
	{ "two publishers", 3, { 0, 0, 1 }, { "TS", "TS" }, { { 0, 9, "12" }, { 2, 9, "3" } } },
	{ "a slow member", 3, { 0, 0, 1 }, { "TS", "T" }, { { 0, 1, "" }, { 2, 9, "1234" } } },
	{ "a member that never reads",
	  3,
	  { 0, 0, 1 },
	  { "TS", "T", "TS" },
	  { { 0, 0, "" }, { 2, 9, "123" }, { 1, 9, "" } } },
	{ "two want a name, and one watches",
	  3,
	  { 0, 1, 1 },
	  { "", "", "N" },
	  { { 0, 9, "E" }, { 2, 9, "E" }, { 1, 9, "" } } },
	{ "a service ends while it gets its name",
	  3,
	  { 0, 0, 0 },
	  { "", "N" },
	  { { 2, 9, "EG" }, { 1, 9, "" } } },
	{ "a member ends", 3, { 0, 0, 1 }, { "T", "TS" }, { { 0, 9, "SG" }, { 2, 9, "12" } } },
	{ "a slow member ends", 3, { 0, 0, 1 }, { "TS", "T" }, { { 0, 0, "G" }, { 2, 9, "123" } } },
	{ "four cores of two nodes",
	  4,
	  { 0, 0, 1, 1 },
	  { "TS", "TS" },
	  { { 0, 9, "1" }, { 3, 9, "2" } } },
	{ "two groups", 3, { 0, 1, 2 }, { "TS", "tS" }, { { 0, 9, "1" }, { 1, 9, "2" } } },
	{ "a member ends while another one is slow",
	  3,
	  { 0, 0, 1 },
	  { "TS", "T", "TS" },
	  { { 0, 9, "G" }, { 2, 9, "123" }, { 1, 1, "" } } },
	{ "a third joins and leaves",
	  3,
	  { 0, 0, 1 },
	  { "TS", "T", "T" },
	  { { 0, 9, "12" }, { 1, 9, "SU" }, { 2, 9, "3" } } },
	{ "two make a topic", 3, { 0, 0, 1 }, { "" }, { { 0, 9, "TS1" }, { 2, 9, "TS" } } },
};

struct client {
	u32 at; /* step */
	u32 waits, tries, gone, held;
	u32 group, member; /* of entries: the next one, NOT_HELD: it gets none */
	s32 status;
	u32 refused; /* publications that were refused in the end, a bit each */
	u32 accepted;
};

struct world {
	struct mk_monitor monitor[CORES];
	struct {
		u32 nr, unused;
		struct {
			u64 kind;
			u64 words[MK_PEER_WORDS];
		} item[QUEUE];
	} queue[CORES][CORES];
	struct client client[CLIENTS];
	/* Entries that some member has got. */
	struct mk_entry record[MK_GROUPS][RECORDS];
};

static struct world *w;
static const struct scenario *play;
static u64 states, ends, most = 400000;
static u64 *seen, seen_room;

static void found(const char *what)
{
	printf("found: %s: %s\n", play->name, what);
	exit(3);
}

#define check(x) ((x) ? (void)0 : found(#x))

static u32 me(struct mk_monitor *m)
{
	return (u32)(m - w->monitor);
}

/* --- what monitors need --------------------------------------------------------------------------------- */

void mk_peer_send(struct mk_monitor *m, u32 core, u32 kind, const u64 *words)
{
	u32 n = w->queue[me(m)][core].nr++;

	check(core < play->cores && core != me(m) && n < QUEUE);
	w->queue[me(m)][core].item[n].kind = kind;
	memcpy(w->queue[me(m)][core].item[n].words, words, sizeof(u64) * MK_PEER_WORDS);
}

/* Clients have their number on every core, and are on one. */
static struct client *client_of(struct mk_monitor *m, u32 client)
{
	check(client < CLIENTS && play->script[client].core == me(m));
	check(!w->client[client].gone);
	return &w->client[client];
}

void mk_client_send(struct mk_monitor *m, u32 client, const u64 *words)
{
	struct client *c = client_of(m, client);

	check((words[0] & 0xff) == MON_ANSWER && c->waits);
	c->waits = 0;
	c->status = (s32)(words[0] >> 32);
	if (play->script[client].steps && c->status == MON_OK && c->group == NOT_HELD)
		c->group = (u32)words[1];
}

int mk_client_try(struct mk_monitor *m, u32 client, const u64 *words)
{
	struct client *c = client_of(m, client);
	u32 group = words[0] >> 16 & 0xffff, index = (u32)(words[0] >> 32),
	    kind = words[0] >> 8 & 0xff;
	struct mk_entry *e = &w->record[group][index % RECORDS];

	check((words[0] & 0xff) == MON_EVENT && group < MK_GROUPS && index < RECORDS);
	if (c->held >= play->script[client].room)
		return -WEIR_EAGAIN;
	c->held++;
	/* The first one is its own join. */
	if (c->member == NOT_HELD)
		check(kind == ENTRY_JOIN && words[1] == ((u64)me(m) << 32 | client));
	else
		check(index == c->member);
	c->member = index + 1;
	if (!e->kind)
		*e = (struct mk_entry){ .kind = kind, .word = { words[1], words[2], words[3] } };
	check(e->kind == kind && !memcmp(e->word, words + 1, sizeof(e->word)));
	return 0;
}

u32 mk_client_domain(struct mk_monitor *m, u32 client)
{
	(void)m;
	return client;
}

s32 mk_channel_make(struct mk_monitor *m, u32 server, u32 core, u32 client, u64 *words)
{
	(void)m, (void)server, (void)core, (void)client, (void)words;
	return MON_EROOM;
}

s32 mk_channel_server(struct mk_monitor *m, u32 server, u32 core, u32 client, const u64 *words,
		      u64 *channel)
{
	(void)m, (void)server, (void)core, (void)client, (void)words, (void)channel;
	return MON_EROOM;
}

s32 mk_channel_client(struct mk_monitor *m, u32 core, u32 client, const u64 *words, u64 *channel)
{
	(void)m, (void)core, (void)client, (void)words, (void)channel;
	return MON_EROOM;
}

s32 mk_spawn_here(struct mk_monitor *m, u32 domain, u64 entry, u64 argument, s32 priority,
		  u64 *number)
{
	(void)m, (void)domain, (void)entry, (void)argument, (void)priority, (void)number;
	return MON_EROOM;
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
	(void)m, (void)client, (void)slot, (void)words;
	return MON_EINVAL;
}

s32 mk_cap_unpack(struct mk_monitor *m, u32 number, const u64 *words, u64 *slot)
{
	(void)m, (void)number, (void)words, (void)slot;
	return MON_EINVAL;
}

int mk_memory_of(struct mk_monitor *m, u32 client, u64 slot, u64 *object)
{
	(void)m, (void)client, (void)slot, (void)object;
	return -1;
}

int mk_memory_used(struct mk_monitor *m, const u64 *object)
{
	(void)m, (void)object;
	return 0;
}

void mk_memory_revoke(struct mk_monitor *m, const u64 *object)
{
	(void)m, (void)object;
}

s32 mk_memory_retype(struct mk_monitor *m, u32 client, const u64 *object, u64 type, u64 slot)
{
	(void)m, (void)client, (void)object, (void)type, (void)slot;
	return MON_EINVAL;
}

int mk_other_client(struct mk_monitor *m, u32 client, const u64 *words)
{
	(void)m, (void)client, (void)words;
	return 0;
}

int mk_other_peer(struct mk_monitor *m, u32 from, u32 kind, const u64 *words)
{
	(void)m, (void)from, (void)words;
	return kind >= PEER_OTHER;
}

/* --- what can happen -------------------------------------------------------------------------------------- */

static int is_publication(char step)
{
	return step >= '0' && step <= '9';
}

/* The client's next step, if it can have one. A refused publication is tried once more. */
static int act(u32 nr, const char *steps)
{
	struct client *c = &w->client[nr];
	struct mk_monitor *m = &w->monitor[play->script[nr].core];
	u64 words[4] = { 0 };
	char step;

	/* It may end at any time. */
	if (c->gone || (c->waits && steps[c->at] != 'G'))
		return 0;
	if (c->at && !c->waits && is_publication(steps[c->at - 1]) && c->status != -9999) {
		u32 bit = 1u << (steps[c->at - 1] - '0');

		if (c->status == MON_EBUSY && !c->tries++) {
			c->at--;
		} else {
			*(c->status == MON_OK ? &c->accepted : &c->refused) |= bit;
			c->tries = 0;
		}
	}
	c->status = -9999;
	step = steps[c->at];
	if (!step)
		return 0;
	c->at++;
	c->waits = 1;
	switch (step) {
	case 'T':
	case 't':
		c->group = NOT_HELD;
		words[0] = MON_TOPIC;
		words[1] = (u64)step;
		break;
	case 'S':
	case 'N':
		words[0] = MON_SUBSCRIBE;
		words[1] = step == 'N' ? 0 : c->group;
		break;
	case 'U':
		words[0] = MON_UNSUBSCRIBE;
		words[1] = c->group;
		break;
	case 'E':
		words[0] = MON_EXPORT;
		words[1] = 'e';
		break;
	case 'G':
		c->waits = 0;
		c->gone = 1;
		mk_monitor_gone(m, nr);
		return 1;
	default:
		words[0] = MON_PUBLISH | (u64)c->group << 32;
		words[1] = (u64)step;
		words[2] = nr;
	}
	mk_monitor_client(m, nr, words);
	mk_monitor_pump(m);
	return 1;
}

static void arrive(u32 from, u32 to)
{
	u64 words[MK_PEER_WORDS];
	u32 kind = (u32)w->queue[from][to].item[0].kind;

	memcpy(words, w->queue[from][to].item[0].words, sizeof(words));
	w->queue[from][to].nr--;
	memmove(&w->queue[from][to].item[0], &w->queue[from][to].item[1],
		w->queue[from][to].nr * sizeof(w->queue[from][to].item[0]));
	memset(&w->queue[from][to].item[w->queue[from][to].nr], 0,
	       sizeof(w->queue[from][to].item[0]));
	mk_monitor_peer(&w->monitor[to], from, kind, words);
}

/* The choice of number @n; 0: it is none now. */
static int choose(u32 n)
{
	if (n < CORES * CORES) {
		if (!w->queue[n / CORES][n % CORES].nr)
			return 0;
		arrive(n / CORES, n % CORES);
		return 1;
	}
	n -= CORES * CORES;
	if (n < CLIENTS)
		return play->script[n].steps && act(n, play->script[n].steps);
	n -= CLIENTS;
	if (!w->client[n].held)
		return 0;
	w->client[n].held = 0;
	mk_monitor_pump(&w->monitor[play->script[n].core]);
	return 1;
}

#define CHOICES (CORES * CORES + 2 * CLIENTS)

/* --- what must hold --------------------------------------------------------------------------------------- */

static u64 hash(void)
{
	const u64 *p = (const u64 *)w;
	u64 h = 0x9e3779b97f4a7c15ull;

	for (u64 i = 0; i < sizeof(*w) / 8; i++) {
		h = (h ^ p[i]) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	return h ? h : 1;
}

/* 1: it is new. */
static int is_new(u64 h)
{
	u64 at = h % seen_room;

	for (; seen[at]; at = at + 1 == seen_room ? 0 : at + 1)
		if (seen[at] == h)
			return 0;
	seen[at] = h;
	return 1;
}

static void check_end(void)
{
	u32 stuck = 0;

	for (u32 i = 0; i < CLIENTS; i++) {
		struct client *c = &w->client[i];
		const struct script *s = &play->script[i];

		check(!c->waits);
		check(!s->steps || c->gone || !s->steps[c->at]);
		stuck |= s->steps && !s->room && !c->gone;
	}
	for (u32 core = 0; core < play->cores; core++) {
		struct mk_monitor *m = &w->monitor[core];

		check(!memcmp(m->name, w->monitor[0].name, sizeof(m->name)));
		check(m->ordered.head == m->ordered.tail);
		for (u32 i = 0; i < MK_COMMIT_OPS; i++)
			check(!m->commit.op[i].used && !m->commit.promise[i].id);
		for (u32 i = 0; i < MK_PENDING; i++)
			check(!m->pending[i].kind);
		for (u32 i = 0; i < MK_CHORES; i++)
			check(!m->chore[i].state || stuck);
		for (u32 g = 0; g < MK_GROUPS; g++) {
			const struct mk_log *a = &m->ordered.log[g],
					    *b = &w->monitor[0].ordered.log[g];

			check(a->next == b->next && a->members == b->members &&
			      !memcmp(a->entry, b->entry, sizeof(a->entry)));
		}
		for (u32 i = 0; i < MK_SUBSCRIBERS; i++) {
			const struct mk_subscriber *s = &m->ordered.subscriber[i];

			check(s->state != SUBSCRIBER_JOINS);
			check(s->state != SUBSCRIBER_IN || !play->script[s->client].room ||
			      w->client[s->client].member == m->ordered.log[s->group].next);
		}
	}
	/* Names belong to who lives. */
	for (u32 i = 0; i < MK_NAMES; i++) {
		u64 iref = w->monitor[0].name[i].iref;

		if (w->monitor[0].name[i].name[0] == 'e')
			check(!w->client[iref >> 32 & 0xffff].gone);
	}
	/* Members as many as the log says. */
	for (u32 g = 0; g < MK_GROUPS; g++) {
		u32 members = 0;

		for (u32 core = 0; core < play->cores; core++)
			for (u32 i = 0; i < MK_SUBSCRIBERS; i++)
				members += w->monitor[core].ordered.subscriber[i].state &&
					   w->monitor[core].ordered.subscriber[i].group == g;
		check(stuck || members == w->monitor[0].ordered.log[g].members);
	}
}

/* Of all entries that members got: each publication at most once; those that a member of the whole time missed are none. */
static void check_publications(void)
{
	for (u32 i = 0; i < CLIENTS; i++)
		for (u32 id = 0; id < 10; id++) {
			u32 times = 0, watched = 0;

			for (u32 g = 1; g < MK_GROUPS; g++)
				for (u32 n = 0; n < RECORDS; n++)
					times += w->record[g][n].kind == ENTRY_MESSAGE &&
						 w->record[g][n].word[0] == '0' + id &&
						 w->record[g][n].word[1] == i;
			for (u32 k = 0; k < CLIENTS; k++)
				watched |= play->before[k] && strchr(play->before[k], 'S') &&
					   play->script[k].room && !w->client[k].gone &&
					   w->client[k].group == w->client[i].group &&
					   !strchr(play->script[k].steps, 'U');
			if (w->client[i].refused >> id & 1)
				check(!times);
			if (w->client[i].accepted >> id & 1)
				check(times == 1 || (!watched && times == 0));
		}
}

static void explore(u32 depth)
{
	struct world *saved;
	int moved = 0;

	if (!is_new(hash()))
		return;
	states++;
	if (states > most || depth > 5000)
		found("too many states");
	saved = malloc(sizeof(*saved));
	memcpy(saved, w, sizeof(*w));
	for (u32 n = 0; n < CHOICES; n++) {
		if (choose(n)) {
			moved = 1;
			explore(depth + 1);
		}
		memcpy(w, saved, sizeof(*w));
	}
	free(saved);
	if (moved)
		return;
	/* What was refused before somebody read, or left, is tried again now. */
	for (u32 core = 0; core < play->cores; core++)
		mk_monitor_pump(&w->monitor[core]);
	for (u32 i = 0; i < CORES * CORES; i++)
		moved |= w->queue[i / CORES][i % CORES].nr != 0;
	if (moved && depth < 300) {
		explore(depth + 1);
		return;
	}
	ends++;
	check_end();
	check_publications();
}

/* Let everything happen in one order. */
static void settle(void)
{
	for (int moved = 1; moved;) {
		moved = 0;
		for (u32 n = 0; n < CORES * CORES; n++)
			while (choose(n))
				moved = 1;
		for (u32 i = 0; i < CLIENTS; i++)
			if (play->script[i].room)
				moved |= choose(CORES * CORES + CLIENTS + i);
	}
}

static void run(void)
{
	memset(w, 0, sizeof(*w));
	memset(seen, 0, seen_room * sizeof(*seen));
	states = ends = 0;
	for (u32 i = 0; i < play->cores; i++)
		check(!mk_monitor_init(&w->monitor[i], i, play->cores, play->nodes));
	for (u32 i = 0; i < CLIENTS; i++)
		w->client[i] = (struct client){ .member = NOT_HELD,
						.group = NOT_HELD - 1,
						.status = -9999 };
	for (u32 i = 0; i < CLIENTS; i++) {
		if (!play->before[i])
			continue;
		while (act(i, play->before[i]))
			settle();
		w->client[i].at = 0;
		w->client[i].status = -9999;
	}
	explore(0);
	printf("ordered: %s: %llu states, %llu ends\n", play->name, (unsigned long long)states,
	       (unsigned long long)ends);
}

int main(int argc, char **argv)
{
	if (argc > 1)
		most = strtoull(argv[1], 0, 0);
	seen_room = 2 * most + 1;
	seen = calloc(seen_room, sizeof(*seen));
	w = calloc(1, sizeof(*w));
	for (u32 i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++) {
		play = &scenarios[i];
		run();
	}
	return 0;
}
