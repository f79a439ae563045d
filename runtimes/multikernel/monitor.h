/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The monitor of one core: what programs ask of the system and its cores do together. It keeps names (the one of core 0), hands out
 * channels, makes dispatchers on other cores, sends capabilities there, and agrees with the others about memory that several know.
 * Neutral: port.h is all it needs; the carrier takes messages to peers and clients, and does what is a kernel's. Source: 1, 2.2.
 *
 * A service has an IREF: its core, its dispatcher, and a number that is not used again soon. A bind goes by the name to the IREF, by the IREF to
 * the service's monitor, which asks the service; what it says comes back with the channel.
 */
#ifndef WEIR_MONITOR_H
#define WEIR_MONITOR_H

#include "commit.h"

#define MK_NAMES      64u
#define MK_EXPORTS    32u
#define MK_PENDING    32u
#define MK_PEER_WORDS 7u

/* What a client asks: w[0] & 0xff. A name is two words. */
enum mk_ask {
	MON_EXPORT = 1, /* name */
	MON_BIND,	/* name */
	MON_DECIDE,	/* a service about a client: request; 1 yes, 0 no */
	MON_SPAWN,	/* core, entry, argument; w[0] from bit 32 on: its priority */
	MON_CAP_SEND,	/* slot, core, dispatcher there */
	MON_RETYPE,	/* slot; type and bytes << 8; offset and slot << 48 */
	MON_REVOKE,	/* slot */
	/* words of the text, in order: w[0] bits 8 to 15 how many bytes, bit 16: the last */
	MON_MANIFEST,
	MON_JOIN,  /* gang */
	MON_PHASE, /* gang, phase */
};

/* What a client hears: w[0] & 0xff; the status is in bits 32 on. */
enum mk_say {
	MON_ANSWER = 1,
	MON_ASK,   /* a service: request, core of the client */
	MON_BOUND, /* a service: request; what the carrier says of the channel */
};

enum mk_peer_kind {
	PEER_REGISTER = 1, /* op, name, iref */
	PEER_REGISTERED,   /* op, status */
	PEER_LOOKUP,	   /* op, name */
	PEER_FOUND,	   /* op, status, iref */
	PEER_BIND,	   /* op, iref, client */
	PEER_BOUND,	   /* op, status, four words of the carrier */
	PEER_SPAWN,	   /* op, domain, entry, argument, priority */
	PEER_SPAWNED,	   /* op, status, number */
	PEER_CAP,	   /* op, dispatcher, four words of the carrier */
	PEER_CAP_DONE,	   /* op, status, slot */
	PEER_COMMIT,	   /* of commit.h */
	PEER_WITHDRAW,	   /* op, name, iref */
	PEER_OTHER = 64,   /* from here on the carrier's own */
};

/* Statuses, as the kernel's. */
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
	PENDING_OTHER
};

struct mk_pending {
	u32 kind;
	u32 client;
	u32 core; /* ASKED: of the client */
	u32 op;	  /* ASKED: the number there */
	u64 iref;
	u64 word[3];
};

struct mk_monitor {
	u32 core;
	u32 nr;
	u32 next; /* number of the next export */
	u32 unused;
	struct mk_name name[MK_NAMES]; /* core 0 */
	struct mk_export export[MK_EXPORTS];
	struct mk_pending pending[MK_PENDING];
	struct mk_commit commit;
};

/* --- the carrier's ------------------------------------------------------------------------------------- */

/* To the monitor of another core, in order. */
void mk_peer_send(struct mk_monitor *m, u32 core, u32 kind, const u64 *words);
void mk_client_send(struct mk_monitor *m, u32 client, const u64 *words);
/* The domain that a client belongs to. */
u32 mk_client_domain(struct mk_monitor *m, u32 client);
/* A channel for service @server of this core and a client of @core: memory and what wakes the server, in four words. A status. */
s32 mk_channel_make(struct mk_monitor *m, u32 server, u32 core, u32 client, u64 *words);
/* The server's end, and the client's: what each receives in one word. A status. */
s32 mk_channel_server(struct mk_monitor *m, u32 server, u32 core, u32 client, const u64 *words,
		      u64 *channel);
s32 mk_channel_client(struct mk_monitor *m, u32 core, u32 client, const u64 *words, u64 *channel);
s32 mk_spawn_here(struct mk_monitor *m, u32 domain, u64 entry, u64 argument, s32 priority,
		  u64 *number);
/* A capability of a client as four words, and back, for dispatcher @number. */
s32 mk_cap_pack(struct mk_monitor *m, u32 client, u64 slot, u64 *words);
s32 mk_cap_unpack(struct mk_monitor *m, u32 number, const u64 *words, u64 *slot);
/* Memory behind a client's capability: object[0] base, object[1] bytes. 1: other cores may know of it. */
int mk_memory_of(struct mk_monitor *m, u32 client, u64 slot, u64 *object);
/* Something has been made of this memory here; delete what was made of it here; make something of it for a client. */
int mk_memory_used(struct mk_monitor *m, const u64 *object);
void mk_memory_revoke(struct mk_monitor *m, const u64 *object);
s32 mk_memory_retype(struct mk_monitor *m, u32 client, const u64 *object, u64 type, u64 slot);
/* What the neutral part does not know. 1: it was the carrier's. */
int mk_other_client(struct mk_monitor *m, u32 client, const u64 *words);
int mk_other_peer(struct mk_monitor *m, u32 from, u32 kind, const u64 *words);

/* --- ours -------------------------------------------------------------------------------------------------- */

int mk_monitor_init(struct mk_monitor *m, u32 core, u32 nr, const u32 *node);
void mk_monitor_client(struct mk_monitor *m, u32 client, const u64 *words);
void mk_monitor_peer(struct mk_monitor *m, u32 from, u32 kind, const u64 *words);
/* A client has ended: its exports and names go, and cores that wait for it are refused. */
void mk_monitor_gone(struct mk_monitor *m, u32 client);
void mk_answer_client(struct mk_monitor *m, u32 client, s32 status, u64 a, u64 b, u64 c);
/* A number for something under way, or ~0. */
u32 mk_pending_new(struct mk_monitor *m, u32 kind, u32 client);

WEIR_INLINE u64 mk_iref(u32 core, u32 client, u32 nr)
{
	return (u64)core << 48 | (u64)client << 32 | nr;
}

#endif
