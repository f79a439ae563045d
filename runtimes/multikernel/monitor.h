/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The monitor of one core: it serves the requests of programs that concern several cores. It has a replica of all names, sets up
 * channels, makes dispatchers on other cores, sends capabilities there, orders what groups publish, and agrees with other monitors
 * about shared memory.
 * Neutral: it needs only port.h; the carrier delivers messages to peers and clients, and does a kernel's work. Source: 1, 2.2.
 *
 * A service has an IREF: its core, its dispatcher, and a number that is not reused soon. A bind looks up the IREF by name, and goes to
 * the service's monitor, which asks the service; its answer returns with the channel.
 */
#ifndef WEIR_MONITOR_H
#define WEIR_MONITOR_H

#include "commit.h"
#include "ordered.h"

#define MK_NAMES   64u
#define MK_EXPORTS 32u
#define MK_PENDING 32u
#define MK_CHORES  (MK_EXPORTS + 2 * MK_SUBSCRIBERS)
/* The IREF of a group's name: this and its number. */
#define MK_TOPIC      (1ull << 63)
#define MK_PEER_WORDS 7u

/* Requests of a client: w[0] & 0xff. A name is two words. */
enum mk_ask {
	MON_EXPORT = 1, /* name */
	MON_BIND,	/* name */
	MON_DECIDE,	/* a service about a client: request; 1 yes, 0 no */
	MON_SPAWN,	/* core, entry, argument; w[0] from bit 32 on: its priority */
	MON_CAP_SEND,	/* slot, core, dispatcher there */
	MON_RETYPE,	/* slot; type and bytes << 8; offset and slot << 48 */
	MON_REVOKE,	/* slot */
	/* words of the text, in order; w[0] bits 8 to 15: number of bytes, bit 16: the last */
	MON_MANIFEST,
	MON_JOIN,  /* gang, group */
	MON_PHASE, /* gang, phase */
	MON_MERGE, /* gang; groups, a bit each, and from bit 32 on the group into which they merge; phase */
	MON_SPLIT,	 /* gang, group */
	MON_TOPIC,	 /* name: the number of its group, which is made */
	MON_SUBSCRIBE,	 /* group, 0: the names */
	MON_UNSUBSCRIBE, /* group */
	MON_CLOSE,	 /* the carrier\'s word about the end of a channel */
	MON_SIBLING,	 /* core, dispatcher of the same program there, bit: a slot that wakes it */
	MON_PUBLISH,	 /* three words; w[0] from bit 32 on: group */
};

/* Messages to a client: w[0] & 0xff; the status is in bits 32 on. */
enum mk_say {
	MON_ANSWER = 1,
	MON_ASK,    /* a service: request, core of the client */
	MON_BOUND,  /* a service: request; the carrier's words about the channel */
	MON_HANGUP, /* the other end of a channel is closed: the carrier\'s word */
	/* a member: its words; w[0] bits 8 to 15: enum mk_entry_kind, 16 to 31: group, 32 on: number of the entry */
	MON_EVENT,
};

enum mk_peer_kind {
	PEER_PROPOSE = 1,  /* op, group and kind << 32, three words */
	PEER_ORDERED,	   /* op, status and value << 32 */
	PEER_BIND,	   /* op, iref, client */
	PEER_BOUND,	   /* op, status, four words of the carrier */
	PEER_SPAWN,	   /* op, domain, entry, argument, priority */
	PEER_SPAWNED,	   /* op, status, number */
	PEER_CAP,	   /* op, dispatcher, four words of the carrier */
	PEER_CAP_DONE,	   /* op, status, slot */
	PEER_COMMIT,	   /* of commit.h */
	PEER_SIBLING,	   /* op, domain, dispatcher */
	PEER_SIBLING_DONE, /* op, status */
	PEER_OTHER = 64,   /* from here on the carrier's own */
};

/* Statuses, with the kernel's numbers. */
#define MON_OK	     0
#define MON_EINVAL   -1
#define MON_EBUSY    -4
#define MON_EUSED    -5
#define MON_EROOM    -6
#define MON_EREMOTE  -8
#define MON_EUNKNOWN -9
#define MON_EREFUSED -10

struct mk_name {
	u64 name[2]; /* 0, 0: none */
	u64 iref;
};

struct mk_export {
	u32 used;
	u32 client;
	u64 iref;
};

enum mk_pending_kind {
	PENDING_NONE,
	PENDING_EXPORT,
	PENDING_BIND,
	PENDING_ASKED,
	PENDING_SPAWN,
	PENDING_CAP,
	PENDING_COMMIT,
	PENDING_SIBLING,
	PENDING_ORDERED,
	PENDING_CHORE,
	PENDING_OTHER
};

struct mk_pending {
	u32 kind;
	u32 client;
	u32 core; /* ASKED: of the client */
	u32 op;	  /* ASKED: the number on that core */
	u64 iref;
	u64 word[3];
};

/* An entry that the monitor itself proposes, until it is appended. */
struct mk_chore {
	u32 state; /* 0: none, 1: to be proposed, 2: proposed */
	u32 group;
	struct mk_entry entry;
};

struct mk_monitor {
	u32 core;
	u32 nr;
	u32 next; /* number of the next export */
	u32 unused;
	struct mk_name name[MK_NAMES]; /* the same on all cores */
	struct mk_chore chore[MK_CHORES];
	struct mk_ordered ordered;
	struct mk_export export[MK_EXPORTS];
	struct mk_pending pending[MK_PENDING];
	struct mk_commit commit;
};

/* --- the carrier's ------------------------------------------------------------------------------------- */

/* Send to the monitor of another core, in order. */
void mk_peer_send(struct mk_monitor *m, u32 core, u32 kind, const u64 *words);
void mk_client_send(struct mk_monitor *m, u32 client, const u64 *words);
/* 0, or -WEIR_EAGAIN: it has no room now. */
int mk_client_try(struct mk_monitor *m, u32 client, const u64 *words);
/* The domain that a client belongs to. */
u32 mk_client_domain(struct mk_monitor *m, u32 client);
/* Make a channel for service @server of this core and a client of @core; four words name its memory and wake-up. Returns a status. */
s32 mk_channel_make(struct mk_monitor *m, u32 server, u32 core, u32 client, u64 *words);
/* Make the server's end, and the client's; each receives its end as one word. Returns a status. */
s32 mk_channel_server(struct mk_monitor *m, u32 server, u32 core, u32 client, const u64 *words,
		      u64 *channel);
s32 mk_channel_client(struct mk_monitor *m, u32 core, u32 client, const u64 *words, u64 *channel);
s32 mk_spawn_here(struct mk_monitor *m, u32 domain, u64 entry, u64 argument, s32 priority,
		  u64 *number);
/* Whether dispatcher @number of this core is of that domain; and a slot of a client's that sets @bit of dispatcher @number of @core. */
int mk_is_sibling(struct mk_monitor *m, u32 domain, u32 number);
s32 mk_waker_make(struct mk_monitor *m, u32 client, u32 core, u32 number, u32 bit, u64 *slot);
/* A capability of a client as four words, and back, for dispatcher @number. */
s32 mk_cap_pack(struct mk_monitor *m, u32 client, u64 slot, u64 *words);
s32 mk_cap_unpack(struct mk_monitor *m, u32 number, const u64 *words, u64 *slot);
/* Memory of a client's capability: object[0] base, object[1] bytes. 1: other cores may know it. */
int mk_memory_of(struct mk_monitor *m, u32 client, u64 slot, u64 *object);
/* Whether this core has retyped the memory; delete what was retyped here; retype it for a client. */
int mk_memory_used(struct mk_monitor *m, const u64 *object);
void mk_memory_revoke(struct mk_monitor *m, const u64 *object);
s32 mk_memory_retype(struct mk_monitor *m, u32 client, const u64 *object, u64 type, u64 slot);
/* Messages unknown to the neutral part. 1: handled by the carrier. */
int mk_other_client(struct mk_monitor *m, u32 client, const u64 *words);
int mk_other_peer(struct mk_monitor *m, u32 from, u32 kind, const u64 *words);

/* --- ours -------------------------------------------------------------------------------------------------- */

int mk_monitor_init(struct mk_monitor *m, u32 core, u32 nr, const u32 *node);
void mk_monitor_client(struct mk_monitor *m, u32 client, const u64 *words);
void mk_monitor_peer(struct mk_monitor *m, u32 from, u32 kind, const u64 *words);
/* Try again what had to wait for room. 1: some still has. To be called after messages, and from time to time while it returns 1. */
int mk_monitor_pump(struct mk_monitor *m);
/* A client has ended: remove its exports and names, and refuse cores that wait for it. */
void mk_monitor_gone(struct mk_monitor *m, u32 client);
void mk_answer_client(struct mk_monitor *m, u32 client, s32 status, u64 a, u64 b, u64 c);
/* A number for a pending operation, or ~0. */
u32 mk_pending_new(struct mk_monitor *m, u32 kind, u32 client);

WEIR_INLINE u64 mk_iref(u32 core, u32 client, u32 nr)
{
	return (u64)core << 48 | (u64)client << 32 | nr;
}

#endif
