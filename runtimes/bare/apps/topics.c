/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A replicated state machine on all cores: `topics N` has a member on each core, each of which publishes N changes (default 20) of a state
 * to which their order matters. All members end in the same state. One comes late, one leaves early, and one member watches names until
 * a service appears. Source: 1, 2.4.
 */
#include <weir/mk.h>

#define MAX 16

static u32 nr, joined, ready, left, wrong;
static u64 changes;
static struct mk_channel channel;
/* What each member has made of the entries. */
static volatile struct replica {
	u64 state, taken, next, members;
	u32 seen; /* a name */
} replica[MAX + 1];

static void expect(u32 right)
{
	if (!right)
		weir_fetch_add(&wrong, 1);
}

static void apply(volatile struct replica *r, const struct mk_event *e)
{
	expect(!r->next || e->index == r->next);
	r->next = e->index + 1;
	if (e->kind == ENTRY_MESSAGE) {
		/* Not commutative. */
		r->state = (r->state ^ e->word[0]) * 0x100000001b3 + e->word[1];
		r->taken++;
	} else if (e->kind == ENTRY_JOIN || e->kind == ENTRY_LEAVE) {
		r->members = e->word[1];
	}
}

static void event(const struct mk_event *e)
{
	if (e->group)
		apply(&replica[mk_self()->core], e);
	else if (e->kind == ENTRY_NAME && !memcmp(e->word, "late\0\0\0\0\0\0\0\0\0\0\0", 16))
		replica[mk_self()->core].seen = 1;
}

static void member(void *arg)
{
	u32 core = (u32)mk_self()->core;
	s64 topic = mk_topic("ledger");

	(void)arg;
	mk_on_event(event);
	expect(topic > 0 && mk_subscribe((u32)topic) >= 0);
	expect(mk_subscribe((u32)topic) == MK_EUSED && mk_subscribe(15) == MK_EUNKNOWN);
	if (core == 0)
		expect(mk_subscribe(0) >= 0);
	weir_fetch_add(&joined, 1);
	while (weir_load(&joined) < nr)
		mk_sleep(20000);
	for (u64 i = 0; i < changes; i++) {
		u64 words[3] = { core * 1000 + i, mk_now(), 0 };

		expect(mk_publish((u32)topic, words) >= 0);
		if (i % 8 == core % 8)
			mk_sleep(30000);
	}
	/* Entries of others may still be on the way. */
	while (replica[core].taken < nr * changes)
		mk_sleep(50000);
	weir_fetch_add(&ready, 1);
	while (weir_load(&ready) < nr)
		mk_sleep(20000);
	if (core == nr - 1) {
		expect(!mk_unsubscribe((u32)topic));
		expect(mk_unsubscribe((u32)topic) == MK_EUNKNOWN);
	}
	weir_fetch_add(&left, 1);
	if (core)
		return;
	/* A service that does not exist yet: wait for its name, without asking again and again. */
	while (!replica[0].seen)
		mk_sleep(20000);
	expect(!mk_bind("late", &channel));
}

static void late(void *arg)
{
	(void)arg;
	while (weir_load(&left) < nr)
		mk_sleep(100000);
	expect(!mk_export("late"));
	/* It is a group's, or not here. */
	expect(mk_export("ledger") == MK_EUSED && mk_topic("late") == MK_EUSED);
	while (!mk_client_asks())
		mk_sleep(20000);
	mk_next_client(0);
	weir_fetch_add(&left, 1);
}

int main(int argc, char **argv)
{
	nr = (u32)mk_self()->nr_cores;
	for (const char *p = argc > 1 ? argv[1] : "20"; *p; p++)
		changes = changes * 10 + (u64)(*p - '0');
	for (u32 core = 1; core < nr; core++)
		if (mk_spawn(core, member, 0) < 0)
			return 2;
	if (mk_spawn(nr - 1, late, 0) < 0)
		return 3;
	member(0);
	while (weir_load(&left) < nr + 1)
		mk_sleep(20000);
	for (u32 core = 0; core < nr; core++)
		expect(replica[core].state == replica[0].state &&
		       replica[core].taken == nr * changes);
	/* One has left, and the others' dispatchers have ended. */
	for (u32 i = 0; replica[0].members != 1 && i < 1000; i++)
		mk_sleep(20000);
	expect(replica[0].members == 1);
	mk_print("topics: %lu changes on %u cores in one order, state %lx, %u wrong",
		 (unsigned long)(nr * changes), nr, (unsigned long)replica[0].state, wrong);
	return wrong != 0;
}
