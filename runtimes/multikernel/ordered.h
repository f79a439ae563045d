/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Ordered group communication: all members of a group see the same entries in the same order, and who joined and left between which.
 * So cores that apply the same entries to equal state keep it equal (state-machine replication). Neutral: it needs only port.h; the
 * monitor carries messages and agrees about each entry (commit.h). Source: 1, 2.4.
 *
 * Each group has a home core, its number modulo the number of cores, which puts proposals into an order. For one entry after the other,
 * it asks all cores in two phases: a core whose log has no room refuses, and the proposer tries again later; otherwise all append the
 * entry. A core's log keeps an entry until its own members have taken it, so none misses one, and a slow member holds up the
 * publishers of its own groups only.
 *
 * Group 0 is the names' (monitor.c); its entries change the table of names on each core, so a look-up needs no message.
 */
#ifndef WEIR_ORDERED_H
#define WEIR_ORDERED_H

#include <weir/error.h>
#include <weir/port.h>

#define MK_GROUPS	  16u /* with the names' */
#define MK_SUBSCRIBERS	  32u /* of a core */
#define MK_PROPOSALS	  64u /* at a home core */
#define MK_ENTRY_WORDS	  3u
#define MK_GROUP_OF_NAMES 0u
/* Entries that a core keeps of a group; a power of two. The model of tests/multikernel/ordered.c has a shorter log. */
#ifndef MK_LOG
#define MK_LOG 8u
#endif

enum mk_entry_kind {
	ENTRY_MESSAGE = 1, /* published: three words */
	ENTRY_JOIN,	   /* core << 32 | client; members from then on */
	ENTRY_LEAVE,	   /* likewise */
	/* Of the names' group. */
	ENTRY_NAME,   /* name, iref */
	ENTRY_UNNAME, /* the name that is free again, its iref */
	ENTRY_TOPIC,  /* name of a group; becomes ENTRY_NAME */
	ENTRY_OTHER,  /* not a change: the name was taken, or unknown */
};

struct mk_entry {
	u32 kind; /* enum mk_entry_kind */
	u32 unused;
	u64 word[MK_ENTRY_WORDS];
};

struct mk_log {
	u32 next; /* number of the next entry */
	u32 members;
	struct mk_entry entry[MK_LOG];
};

enum mk_subscriber_state { SUBSCRIBER_NONE, SUBSCRIBER_JOINS, SUBSCRIBER_IN };

/* A member on this core. */
struct mk_subscriber {
	u32 state; /* enum mk_subscriber_state */
	u32 client;
	u32 group;
	u32 at; /* the next entry for it */
};

/* At a home core. */
struct mk_proposal {
	u32 from; /* core */
	u32 op;	  /* its number there */
	u32 group;
	u32 begun; /* 1: the cores are being asked */
	s32 status;
	u32 value;
	struct mk_entry entry;
};

struct mk_ordered {
	u32 core;
	u32 nr;
	u32 head, tail; /* of the proposals, in order; those of other groups may overtake */
	struct mk_proposal proposal[MK_PROPOSALS]; /* entry.kind 0: over */
	struct mk_log log[MK_GROUPS];
	struct mk_subscriber subscriber[MK_SUBSCRIBERS];
};

/* --- the user's ---------------------------------------------------------------------------------------- */

/* Have all cores agree about an entry, in two phases. 0, or below 0: not now. */
int mk_ordered_agree(struct mk_ordered *o, u32 group, const struct mk_entry *entry, u32 cookie);
/* A proposal of @core is over. 0 and a value, -WEIR_EBUSY, or what the state machine says. */
void mk_ordered_over(struct mk_ordered *o, u32 core, u32 op, s32 status, u32 value);
/* An entry to a client of this core: 0, or -WEIR_EAGAIN: it has no room. */
int mk_ordered_deliver(struct mk_ordered *o, u32 client, u32 group, u32 index,
		       const struct mk_entry *entry);
/* The names' state machine: apply an entry, which it may change to what has happened. A status, and a value. */
s32 mk_ordered_names(struct mk_ordered *o, struct mk_entry *entry, u32 *value);

/* --- ours ------------------------------------------------------------------------------------------------ */

void mk_ordered_init(struct mk_ordered *o, u32 core, u32 nr);
WEIR_INLINE u32 mk_ordered_home(const struct mk_ordered *o, u32 group)
{
	return group % o->nr;
}
/* A client of this core will join, which is proposed next: reserve its record. 0, -WEIR_EBUSY: it has one, -WEIR_ENOMEM. */
int mk_ordered_reserve(struct mk_ordered *o, u32 client, u32 group);
/* At the group's home core. 0, or -WEIR_EBUSY: there are too many. */
int mk_ordered_propose(struct mk_ordered *o, u32 from, u32 op, u32 group,
		       const struct mk_entry *entry);
/* Whether this core's log has room for another entry. */
int mk_ordered_may(struct mk_ordered *o, u32 group);
/* All cores have agreed: append. @cookie: at the home core, as for mk_ordered_agree(); else ~0. */
void mk_ordered_append(struct mk_ordered *o, u32 group, const struct mk_entry *entry, u32 cookie);
/* At the home core: the agreement is over. 1: all have appended. */
void mk_ordered_agreed(struct mk_ordered *o, u32 cookie, int done);
/* Deliver what members have room for. 1: some have more to come. */
int mk_ordered_pump(struct mk_ordered *o);
/* A client of this core leaves a group, or has not joined: no entry reaches it from now on. 1: it was a member. */
int mk_ordered_drop(struct mk_ordered *o, u32 client, u32 group);

#endif
