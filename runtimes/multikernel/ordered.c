/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* See ordered.h. */
#include "ordered.h"

void mk_ordered_init(struct mk_ordered *o, u32 core, u32 nr)
{
	*o = (struct mk_ordered){ .core = core, .nr = nr };
}

/* --- at the home core: one entry of a group after the other -------------------------------------------- */

static struct mk_proposal *proposal(struct mk_ordered *o, u32 cookie)
{
	return &o->proposal[cookie % MK_PROPOSALS];
}

static void finish(struct mk_ordered *o, u32 cookie, s32 status)
{
	struct mk_proposal *p = proposal(o, cookie);
	struct mk_proposal was = *p;

	p->entry.kind = 0;
	while (o->tail != o->head && !proposal(o, o->tail)->entry.kind)
		o->tail++;
	mk_ordered_over(o, was.from, was.op, status, was.value);
}

/* Have the cores asked about the first proposal of each group, unless they are already. */
static void begin(struct mk_ordered *o)
{
	u32 asked = 0;

	for (u32 at = o->tail; at != o->head; at++) {
		struct mk_proposal *p = proposal(o, at);

		if (!p->entry.kind || asked >> p->group & 1)
			continue;
		asked |= 1u << p->group;
		if (p->begun)
			continue;
		p->begun = 1;
		if (mk_ordered_agree(o, p->group, &p->entry, at)) {
			asked &= ~(1u << p->group);
			finish(o, at, -WEIR_EBUSY);
		}
	}
}

int mk_ordered_propose(struct mk_ordered *o, u32 from, u32 op, u32 group,
		       const struct mk_entry *entry)
{
	if (o->head - o->tail == MK_PROPOSALS)
		return -WEIR_EBUSY;
	*proposal(o, o->head++) =
		(struct mk_proposal){ .from = from, .op = op, .group = group, .entry = *entry };
	begin(o);
	return 0;
}

void mk_ordered_agreed(struct mk_ordered *o, u32 cookie, int done)
{
	finish(o, cookie, done ? proposal(o, cookie)->status : -WEIR_EBUSY);
	begin(o);
}

/* --- at every core ------------------------------------------------------------------------------------------ */

int mk_ordered_may(struct mk_ordered *o, u32 group)
{
	for (u32 i = 0; i < MK_SUBSCRIBERS; i++) {
		const struct mk_subscriber *s = &o->subscriber[i];

		if (s->state == SUBSCRIBER_IN && s->group == group &&
		    o->log[group].next - s->at >= MK_LOG)
			return 0;
	}
	return 1;
}

int mk_ordered_reserve(struct mk_ordered *o, u32 client, u32 group)
{
	struct mk_subscriber *free = 0;

	for (u32 i = 0; i < MK_SUBSCRIBERS; i++) {
		struct mk_subscriber *s = &o->subscriber[i];

		if (!s->state)
			free = free ? free : s;
		else if (s->client == client && s->group == group)
			return -WEIR_EBUSY;
	}
	if (!free)
		return -WEIR_ENOMEM;
	*free = (struct mk_subscriber){ .state = SUBSCRIBER_JOINS,
					.client = client,
					.group = group };
	return 0;
}

/* A member of this core joins: what it gets begins with the entry of its own join. */
static void subscribe(struct mk_ordered *o, u32 client, u32 group, u32 at)
{
	for (u32 i = 0; i < MK_SUBSCRIBERS; i++) {
		struct mk_subscriber *s = &o->subscriber[i];

		if (s->state == SUBSCRIBER_JOINS && s->client == client && s->group == group) {
			s->state = SUBSCRIBER_IN;
			s->at = at;
		}
	}
}

void mk_ordered_append(struct mk_ordered *o, u32 group, const struct mk_entry *entry, u32 cookie)
{
	struct mk_log *log = &o->log[group];
	struct mk_entry *e = &log->entry[log->next % MK_LOG];
	u32 index = log->next, value = index;
	s32 status = 0;

	*e = *entry;
	if (e->kind == ENTRY_JOIN || e->kind == ENTRY_LEAVE) {
		log->members += e->kind == ENTRY_JOIN ? 1 : -1u;
		e->word[1] = log->members;
		if (e->kind == ENTRY_JOIN && e->word[0] >> 32 == o->core)
			subscribe(o, (u32)e->word[0], group, index);
	} else if (group == MK_GROUP_OF_NAMES) {
		status = mk_ordered_names(o, e, &value);
	}
	log->next++;
	if (cookie != ~0u) {
		proposal(o, cookie)->status = status;
		proposal(o, cookie)->value = value;
	}
	mk_ordered_pump(o);
}

int mk_ordered_pump(struct mk_ordered *o)
{
	int more = 0;

	for (u32 i = 0; i < MK_SUBSCRIBERS; i++) {
		struct mk_subscriber *s = &o->subscriber[i];
		struct mk_log *log = &o->log[s->group];

		while (s->state == SUBSCRIBER_IN && s->at != log->next) {
			if (mk_ordered_deliver(o, s->client, s->group, s->at,
					       &log->entry[s->at % MK_LOG])) {
				more = 1;
				break;
			}
			s->at++;
		}
	}
	return more;
}

int mk_ordered_drop(struct mk_ordered *o, u32 client, u32 group)
{
	for (u32 i = 0; i < MK_SUBSCRIBERS; i++) {
		struct mk_subscriber *s = &o->subscriber[i];
		u32 was = s->state;

		if (!was || s->client != client || s->group != group)
			continue;
		s->state = SUBSCRIBER_NONE;
		return was == SUBSCRIBER_IN;
	}
	return 0;
}
