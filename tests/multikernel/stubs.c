/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Stubs over every transport: `stubs N [SEED]`. N messages of random kinds and contents each way through UMP rings of 2 and 16 slots, endpoints
 * of three words as on the bare kernel, and memory that does not cohere; then messages that were damaged on their way. all.toml is the interface.
 *
 * Ends with 3 where a mistake was found.
 */
#include <string.h>

#include "all.h"
#include "noncoherent.h"
#include "ump.h"

#include "random.h"

void ump_sleep(const void *word, u32 value)
{
	(void)word;
	(void)value;
}

void ump_wake(const void *word)
{
	(void)word;
}

/* --- transports --------------------------------------------------------------------------------------------- */

static int over_ump_send(void *end, const u64 *words, u32 nr, u32 kind, u32 tag)
{
	return ump_send(end, words, nr, kind, tag);
}

static int over_ump_recv(void *end, u64 *words, u32 nr, u32 *kind, u32 *tag)
{
	return ump_recv(end, words, nr, kind, tag);
}

static const struct stub_transport over_ump = { 7, over_ump_send, over_ump_recv };

/* An endpoint takes four words at a time and has room for some: kind and tag take one of them. */
#define ROOM 4u
struct endpoint {
	u64 words[ROOM][4];
	u32 first, nr;
};
struct lmp {
	struct endpoint *mine, *its;
};

static int over_lmp_send(void *end, const u64 *words, u32 nr, u32 kind, u32 tag)
{
	struct endpoint *e = ((struct lmp *)end)->its;
	u64 *to = e->words[(e->first + e->nr) % ROOM];

	if (e->nr == ROOM)
		return -WEIR_EAGAIN;
	to[0] = kind | (u64)tag << 32;
	for (u32 i = 0; i < 3; i++)
		to[i + 1] = i < nr ? words[i] : 0;
	e->nr++;
	return 0;
}

static int over_lmp_recv(void *end, u64 *words, u32 nr, u32 *kind, u32 *tag)
{
	struct endpoint *e = ((struct lmp *)end)->mine;
	u64 *from = e->words[e->first];

	if (!e->nr)
		return -WEIR_EAGAIN;
	*kind = (u32)from[0];
	*tag = (u32)(from[0] >> 32);
	for (u32 i = 0; i < nr && i < 3; i++)
		words[i] = from[i + 1];
	e->first = (e->first + 1) % ROOM;
	e->nr--;
	return 0;
}

static const struct stub_transport over_lmp = { 3, over_lmp_send, over_lmp_recv };

static int over_ncp_send(void *end, const u64 *words, u32 nr, u32 kind, u32 tag)
{
	return ncp_send(end, words, nr, kind, tag);
}

static int over_ncp_recv(void *end, u64 *words, u32 nr, u32 *kind, u32 *tag)
{
	return ncp_recv(end, words, nr, kind, tag);
}

static const struct stub_transport over_ncp = { NCP_WORDS, over_ncp_send, over_ncp_recv };

/* Here all memory is one; tests/multikernel/noncoherent.c has copies. */
void nc_read(u32 core, void *to, const struct nc_line *line)
{
	(void)core;
	memcpy(to, line, sizeof(*line));
}

void nc_write(u32 core, struct nc_line *line, const void *from)
{
	(void)core;
	memcpy(line, from, sizeof(*line));
}

static u32 locked[2], raised[2];

int nc_try_lock(u32 core)
{
	return locked[core] ? 0 : (locked[core] = 1);
}

void nc_unlock(u32 core)
{
	locked[core] = 0;
}

int nc_raised(u32 core)
{
	return (int)raised[core];
}

void nc_raise(u32 core)
{
	raised[core] = 1;
}

/* --- random messages -------------------------------------------------------------------------------------------- */

/* What was sent and is still to come, an order of seeds for each way. */
#define UNDERWAY 4096u
struct way {
	u64 seed[UNDERWAY];
	u32 first, nr;
	u64 continued, sent, received;
};
static struct way ways[2]; /* 0: to the server */

struct args {
	u32 kind; /* 0 empty … */
	u8 a;
	u64 l;
	u16 d;
	u32 e, call;
	signed char f;
	short g;
	s32 h;
	s64 i;
	_Bool j;
	float k;
	double m;
	char first[300], second[9];
	u32 first_len, second_len, raw_len, wide_len, truths_len, reals_len, small_len, many_len;
	u8 raw[500];
	u64 wide[40];
	_Bool truths[9];
	double reals[5];
	short small[7];
	struct all_point one, many[6];
	u8 end;
};

static u32 text(char *to, u32 most)
{
	/* "a", "ä", "€", "𝄞" */
	static const char *const letters[] = { "a", "\xc3\xa4", "\xe2\x82\xac",
					       "\xf0\x9d\x84\x9e" };
	u32 want = (u32)(roll() % (most + 1)), n = 0;

	for (;;) {
		const char *letter = letters[roll() % 4];
		u32 bytes = (u32)strlen(letter);

		if (n + bytes > want)
			return n;
		memcpy(to + n, letter, bytes);
		n += bytes;
	}
}

static struct all_point point(void)
{
	struct all_point p;

	/* The gaps of a caller's struct hold whatever was there. */
	memset(&p, (int)roll(), sizeof(p));
	p.tag = (u8)roll();
	p.x = (s64)roll();
	p.near = roll() & 1;
	p.y = (float)(s32)roll();
	p.last = (u16)roll();
	return p;
}

/* The message of a seed: both ends make it. @server: the server's. */
static void make(struct args *m, u64 seed, int server)
{
	u64 saved = dice;

	dice = seed;
	memset(m, 0, sizeof(*m));
	m->kind = (u32)(roll() % 6);
	if (server && m->kind == 2)
		m->kind = 3;
	m->a = (u8)roll();
	m->l = roll();
	m->d = (u16)roll();
	m->e = (u32)roll();
	m->call = (u32)roll();
	m->f = (signed char)roll();
	m->g = (short)roll();
	m->h = (s32)roll();
	m->i = (s64)roll();
	m->j = roll() & 1;
	m->k = (float)(s32)roll();
	m->m = (double)(s64)roll();
	m->first_len = text(m->first, m->kind == 5 ? 64 : 300);
	m->second_len = text(m->second, 9);
	m->raw_len = (u32)(roll() % 501);
	for (u32 i = 0; i < m->raw_len; i++)
		m->raw[i] = (u8)roll();
	m->wide_len = (u32)(roll() % 41);
	for (u32 i = 0; i < m->wide_len; i++)
		m->wide[i] = roll();
	m->truths_len = (u32)(roll() % 10);
	for (u32 i = 0; i < m->truths_len; i++)
		m->truths[i] = roll() & 1;
	m->reals_len = (u32)(roll() % 6);
	for (u32 i = 0; i < m->reals_len; i++)
		m->reals[i] = (double)(s64)roll();
	m->small_len = (u32)(roll() % 8);
	for (u32 i = 0; i < m->small_len; i++)
		m->small[i] = (short)roll();
	m->one = point();
	m->many_len = (u32)(roll() % (m->kind == 5 ? 4 : 7));
	for (u32 i = 0; i < m->many_len; i++)
		m->many[i] = point();
	m->end = (u8)roll();
	dice = saved;
}

/* By which messages come to this end: to the server, way 0. */
static struct way *way_to(const struct all *b)
{
	return &ways[!b->server];
}

static void next(struct args *m, struct all *b)
{
	struct way *w = way_to(b);

	REQUIRE(w->nr);
	make(m, w->seed[w->first], !b->server);
}

static void taken(struct all *b)
{
	struct way *w = way_to(b);

	w->first = (w->first + 1) % UNDERWAY;
	w->nr--;
	w->received++;
}

static int same_point(const struct all_point *p, const struct all_point *q)
{
	return p->tag == q->tag && p->x == q->x && p->near == q->near && p->y == q->y &&
	       p->last == q->last;
}

/* Now and then a handler is not ready. */
static int later(void)
{
	return roll() % 16 == 0;
}

#define EXPECT(number)               \
	struct args m;               \
	(void)ctx;                   \
	if (later())                 \
		return -WEIR_EAGAIN; \
	next(&m, b);                 \
	REQUIRE(m.kind == (number)); \
	taken(b)

static int got_empty(struct all *b, void *ctx)
{
	EXPECT(0);
	return 0;
}

static int got_scalars(struct all *b, void *ctx, u8 a, u64 l, u16 d, u32 e, signed char f, short g,
		       s32 h, s64 i, _Bool j, float k, double real)
{
	EXPECT(1);
	REQUIRE(a == m.a && l == m.l && d == m.d && e == m.e && f == m.f && g == m.g && h == m.h &&
		i == m.i && j == m.j && k == m.k && real == m.m);
	return 0;
}

static int got_texts(struct all *b, void *ctx, const char *first, u32 first_len, const char *second,
		     u32 second_len)
{
	EXPECT(2);
	REQUIRE(first_len == m.first_len && !memcmp(first, m.first, first_len) &&
		!first[first_len]);
	REQUIRE(second_len == m.second_len && !memcmp(second, m.second, second_len) &&
		!second[second_len]);
	return 0;
}

static int got_lists(struct all *b, void *ctx, const u8 *raw, u32 raw_len, const u64 *wide,
		     u32 wide_len, const _Bool *truths, u32 truths_len, const double *reals,
		     u32 reals_len, const short *small, u32 small_len)
{
	EXPECT(3);
	REQUIRE(raw_len == m.raw_len && !memcmp(raw, m.raw, raw_len));
	REQUIRE(wide_len == m.wide_len && !memcmp(wide, m.wide, wide_len * 8));
	REQUIRE(truths_len == m.truths_len && !memcmp(truths, m.truths, truths_len));
	REQUIRE(reals_len == m.reals_len && !memcmp(reals, m.reals, reals_len * 8));
	REQUIRE(small_len == m.small_len && !memcmp(small, m.small, small_len * 2));
	return 0;
}

static int got_records(struct all *b, void *ctx, const struct all_point *one,
		       const struct all_point *many, u32 many_len, u8 end)
{
	EXPECT(4);
	REQUIRE(same_point(one, &m.one) && many_len == m.many_len && end == m.end);
	for (u32 i = 0; i < many_len; i++)
		REQUIRE(same_point(&many[i], &m.many[i]));
	return 0;
}

static int got_look(struct all *b, void *ctx, u32 call, const char *path, u32 path_len)
{
	EXPECT(5);
	REQUIRE(call == m.call && path_len == m.first_len && !memcmp(path, m.first, path_len));
	return 0;
}

static int got_look_reply(struct all *b, void *ctx, u32 call, const struct all_point *many,
			  u32 many_len, _Bool ok)
{
	EXPECT(5);
	REQUIRE(call == m.call && many_len == m.many_len && ok == m.j);
	for (u32 i = 0; i < many_len; i++)
		REQUIRE(same_point(&many[i], &m.many[i]));
	return 0;
}

static const struct all_handlers handlers = {
	.empty = got_empty,
	.scalars = got_scalars,
	.texts = got_texts,
	.lists = got_lists,
	.records = got_records,
	.look = got_look,
	.look_reply = got_look_reply,
};

static void gone(void *arg)
{
	((struct way *)arg)->continued++;
}

/* 0, -WEIR_EAGAIN … */
static int send(struct all *b, struct args *m, struct stub_then then)
{
	switch (m->kind) {
	case 0:
		return all_send_empty(b, then);
	case 1:
		return all_send_scalars(b, then, m->a, m->l, m->d, m->e, m->f, m->g, m->h, m->i,
					m->j, m->k, m->m);
	case 2:
		return all_send_texts(b, then, m->first, m->first_len, m->second, m->second_len);
	case 3:
		return all_send_lists(b, then, m->raw, m->raw_len, m->wide, m->wide_len, m->truths,
				      m->truths_len, m->reals, m->reals_len, m->small,
				      m->small_len);
	case 4:
		return all_send_records(b, then, &m->one, m->many, m->many_len, m->end);
	default:
		return b->server ? all_send_look_reply(b, then, m->call, m->many, m->many_len, m->j)
				 : all_send_look(b, then, m->call, m->first, m->first_len);
	}
}

static struct all ends[2]; /* 1: the server */

/* Random steps of either end until @total messages have come each way. */
static void both_ways(const char *name, const struct stub_transport *t, void *a, void *b, u64 total)
{
	u64 idle = 0;
	u32 busy = 0;

	memset(ways, 0, sizeof(ways));
	all_open(&ends[0], 0, t, a, &handlers, 0);
	all_open(&ends[1], 1, t, b, &handlers, 0);
	while (ways[0].received < total || ways[1].received < total) {
		int server = roll() & 1;
		struct way *w = &ways[server];
		struct args m;

		if (w->sent < total && w->nr < UNDERWAY && roll() & 1) {
			u64 seed = roll() | 1;
			int err;

			make(&m, seed, server);
			/* Before it goes: the other end may have it at once. */
			w->seed[(w->first + w->nr) % UNDERWAY] = seed;
			w->nr++;
			err = send(&ends[server], &m, (struct stub_then){ gone, w });
			if (err == -WEIR_EAGAIN) {
				w->nr--;
				busy++;
			} else {
				REQUIRE(!err);
				w->sent++;
			}
		} else {
			int n = all_poll(&ends[server]);

			if (n < 0)
				found(ends[server].stub.fault, __FILE__, __LINE__);
			idle = n ? 0 : idle + 1;
			REQUIRE(idle < 100000);
		}
	}
	for (int i = 0; i < 2; i++)
		REQUIRE(all_poll(&ends[i]) >= 0 && ways[i].continued == total && !ways[i].nr);
	REQUIRE(busy);
	printf("ok   %s: %llu messages each way\n", name, (unsigned long long)total);
}

/* --- refusals ----------------------------------------------------------------------------------------------------- */

static void what_is_too_long_is_refused(void)
{
	static char long_text[301];
	struct all *client = &ends[0], *server = &ends[1];
	struct stub_then none = { 0 };

	memset(long_text, 'x', sizeof(long_text));
	REQUIRE(all_send_texts(client, none, long_text, 301, "", 0) == -WEIR_EINVAL);
	REQUIRE(all_send_texts(client, none, "\xc3", 1, "", 0) == -WEIR_EINVAL);
	REQUIRE(all_send_texts(client, none, "a\0b", 3, "", 0) == -WEIR_EINVAL);
	REQUIRE(all_send_texts(server, none, "", 0, "", 0) == -WEIR_EINVAL);
	REQUIRE(all_send_look_reply(client, none, 0, 0, 0, 1) == -WEIR_EINVAL);
	REQUIRE(all_send_texts(client, none, "", 0, "", 0) == 0);
	printf("ok   what is too long, no UTF-8 or the other end's is refused\n");
}

/* A transport that keeps what is sent, and gives what it has kept. */
#define KEPT 64u
static struct kept {
	u64 words[STUB_WORDS];
	u32 kind, tag;
} kept[KEPT];
static u32 nr_kept, nr_given;

static int keep_send(void *end, const u64 *words, u32 nr, u32 kind, u32 tag)
{
	(void)end;
	if (nr_kept == KEPT)
		return -WEIR_EAGAIN;
	kept[nr_kept] = (struct kept){ .kind = kind, .tag = tag };
	memcpy(kept[nr_kept++].words, words, nr * 8);
	return 0;
}

static int keep_recv(void *end, u64 *words, u32 nr, u32 *kind, u32 *tag)
{
	(void)end;
	if (nr_given >= nr_kept)
		return -WEIR_EAGAIN;
	memcpy(words, kept[nr_given].words, nr * 8);
	*kind = kept[nr_given].kind;
	*tag = kept[nr_given++].tag;
	return 0;
}

static const struct stub_transport keeper = { 7, keep_send, keep_recv };

/* One thing is not as it was sent, or two are, and so on. */
static void damage(void)
{
	struct kept *k = &kept[roll() % nr_kept];

	switch (roll() % 6) {
	case 0:
		k->kind ^= 1u << roll() % 15;
		break;
	case 1:
		k->tag = roll() % 2 ? k->tag + (u32)(roll() % 16) - 8 : (u32)roll();
		break;
	case 2: /* one is lost */
		memmove(k, k + 1, (char *)&kept[--nr_kept] - (char *)k);
		break;
	default:
		((u8 *)k->words)[roll() % sizeof(k->words)] = (u8)roll();
	}
	if (nr_kept && roll() % 4 == 0)
		damage();
}

static u64 accepted;

static int any_empty(struct all *b, void *ctx)
{
	(void)b;
	(void)ctx;
	accepted++;
	return 0;
}

static int any_scalars(struct all *b, void *ctx, u8 a, u64 l, u16 d, u32 e, signed char f, short g,
		       s32 h, s64 i, _Bool j, float k, double real)
{
	(void)a, (void)l, (void)d, (void)e, (void)f, (void)g, (void)h, (void)i, (void)k, (void)real;
	REQUIRE((*(u8 *)&j) <= 1);
	return any_empty(b, ctx);
}

static int any_texts(struct all *b, void *ctx, const char *first, u32 first_len, const char *second,
		     u32 second_len)
{
	REQUIRE(first_len <= 300 && strlen(first) == first_len);
	REQUIRE(second_len <= 9 && strlen(second) == second_len);
	return any_empty(b, ctx);
}

static int any_lists(struct all *b, void *ctx, const u8 *raw, u32 raw_len, const u64 *wide,
		     u32 wide_len, const _Bool *truths, u32 truths_len, const double *reals,
		     u32 reals_len, const short *small, u32 small_len)
{
	u64 sum = 0;

	REQUIRE(raw_len <= 500 && wide_len <= 40 && truths_len <= 9 && reals_len <= 5 &&
		small_len <= 7);
	for (u32 i = 0; i < raw_len; i++)
		sum += raw[i];
	for (u32 i = 0; i < wide_len; i++)
		sum += wide[i];
	for (u32 i = 0; i < truths_len; i++)
		REQUIRE(((const u8 *)truths)[i] <= 1);
	for (u32 i = 0; i < reals_len; i++)
		sum += reals[i] > 0;
	for (u32 i = 0; i < small_len; i++)
		sum += (u64)small[i];
	accepted += sum == 1;
	return any_empty(b, ctx);
}

static int any_records(struct all *b, void *ctx, const struct all_point *one,
		       const struct all_point *many, u32 many_len, u8 end)
{
	(void)end;
	REQUIRE(many_len <= 6 && *(const u8 *)&one->near <= 1);
	for (u32 i = 0; i < many_len; i++)
		REQUIRE(*(const u8 *)&many[i].near <= 1);
	return any_empty(b, ctx);
}

static int any_look(struct all *b, void *ctx, u32 call, const char *path, u32 path_len)
{
	(void)call;
	REQUIRE(path_len <= 64 && strlen(path) == path_len);
	return any_empty(b, ctx);
}

static const struct all_handlers any = {
	.empty = any_empty,
	.scalars = any_scalars,
	.texts = any_texts,
	.lists = any_lists,
	.records = any_records,
	.look = any_look,
};

static void damaged_messages(u64 total)
{
	u64 refused = 0;

	accepted = 0;
	for (u64 i = 0; i < total; i++) {
		struct args m;
		int err;

		nr_kept = nr_given = 0;
		all_open(&ends[0], 0, &keeper, 0, &any, 0);
		all_open(&ends[1], 1, &keeper, 0, &any, 0);
		ends[1].stub.greeted = 1;
		for (int n = 0; n < 2; n++) {
			make(&m, roll() | 1, 0);
			REQUIRE(!send(&ends[0], &m, (struct stub_then){ 0 }));
		}
		damage();
		err = all_poll(&ends[1]);
		if (err < 0) {
			refused++;
			REQUIRE(ends[1].stub.fault && all_poll(&ends[1]) == err);
			REQUIRE(all_send_empty(&ends[1], (struct stub_then){ 0 }) == err);
		}
	}
	REQUIRE(refused > total / 4 && accepted > total / 4);
	printf("ok   damaged messages: %llu bindings, %llu ended, %llu messages accepted\n",
	       (unsigned long long)total, (unsigned long long)refused,
	       (unsigned long long)accepted);
}

/* What the damage above seldom makes: a list that is too long by itself, and a lost fragment that another one could stand for. */
static void two_that_look_right(void)
{
	static const u8 zeroes[100];
	struct stub_then none = { 0 };
	u32 length = 301, at = 0;
	u8 bytes[320] = { 0 };

	nr_kept = nr_given = 0;
	all_open(&ends[0], 0, &keeper, 0, &any, 0);
	all_open(&ends[1], 1, &keeper, 0, &any, 0);
	ends[1].stub.greeted = 1;
	REQUIRE(!all_send_empty(&ends[0], none));
	memcpy(bytes, &length, 4);
	memset(bytes + 4, 'x', length);
	for (nr_kept = 1; at < 313; at += 56, nr_kept++) {
		kept[nr_kept] = (struct kept){ .kind = 3 | (at ? 0 : STUB_FIRST), .tag = 313 };
		memcpy(kept[nr_kept].words, bytes + at, at + 56 > 313 ? 313 - at : 56);
	}
	REQUIRE(all_poll(&ends[1]) == -WEIR_EINVAL);

	nr_kept = nr_given = 0;
	all_open(&ends[0], 0, &keeper, 0, &any, 0);
	all_open(&ends[1], 1, &keeper, 0, &any, 0);
	ends[1].stub.greeted = 1;
	REQUIRE(!all_send_lists(&ends[0], none, zeroes, 100, 0, 0, 0, 0, 0, 0, 0, 0));
	REQUIRE(nr_kept == 4);
	kept[2] = kept[3];
	nr_kept--;
	REQUIRE(!all_send_lists(&ends[0], none, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
	REQUIRE(all_poll(&ends[1]) == -WEIR_EINVAL);
	printf("ok   a list that is too long, and a lost fragment\n");
}

int main(int argc, char **argv)
{
	u64 total = argc > 1 ? strtoull(argv[1], 0, 0) : 2000;
	static struct endpoint endpoints[2];
	struct lmp lmp[2] = { { &endpoints[0], &endpoints[1] }, { &endpoints[1], &endpoints[0] } };

	if (argc > 2)
		dice = strtoull(argv[2], 0, 0) * 2 + 1;
	for (u32 slots = 2; slots <= 16; slots *= 8) {
		struct ump ump[2];
		void *ring[2];
		char name[32];

		for (int i = 0; i < 2; i++)
			ring[i] = memset(aligned_alloc(64, ump_bytes(slots)), 0, ump_bytes(slots));
		REQUIRE(!ump_init(&ump[0], ring[0], ring[1], slots) &&
			!ump_init(&ump[1], ring[1], ring[0], slots));
		snprintf(name, sizeof(name), "UMP, %u slots", slots);
		both_ways(name, &over_ump, &ump[0], &ump[1], total);
		if (slots == 2)
			what_is_too_long_is_refused();
		free(ring[0]);
		free(ring[1]);
	}
	both_ways("three words at a time", &over_lmp, &lmp[0], &lmp[1], total);
	{
		static struct nc_line rings[2][NCP_LINES(8)], mailbox[2][NC_RING_LINES(64)];
		struct nc_ring ring[2];
		struct ncp ncp[2];

		for (u32 i = 0; i < 2; i++)
			nc_ring_init(&ring[i], i, mailbox[i], 64);
		ncp_init(&ncp[0], 0, rings[0], rings[1], 8, &ring[1], 1);
		ncp_init(&ncp[1], 1, rings[1], rings[0], 8, &ring[0], 1);
		both_ways("memory that does not cohere", &over_ncp, &ncp[0], &ncp[1], total);
	}
	damaged_messages(total * 8);
	two_that_look_right();
	return 0;
}
