/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The monitor of a core on the bare kernel: runtimes/multikernel's monitor and planner, carried by LMP to clients and by UMP to peers.
 * It alone has the kernel's own capability. The placement controller of gangs is with the monitor of core 0.
 */
#include <weir/mk.h>

#include "monitor.h"
#include "planner.h"

#define RING_BYTES  2048u
#define OUT	    128u
#define TEXT_BYTES  4096u
#define POKE_BIT    1
#define MAX_CLIENTS 32u /* dispatchers of a core */
#define MAX_CORES   16u
#define CHANNELS    32u /* at one time; of 4096 bytes each, from SLOT_RAM */
#define LATE	    64u

enum {
	PEER_PIECE = PEER_OTHER, /* bytes, last, then 40 of them: of a text, or of a gang */
	PEER_ADMIT,		 /* op: what was sent is a manifest */
	PEER_ADMITTED,		 /* op, status, gang */
	PEER_LEARN,		 /* gang: what was sent is a gang */
	PEER_PHASE,
	PEER_PHASE_REPLY,
	PEER_CLOSED, /* base: the far end of a channel of that core */
	PEER_HANGUP, /* base: the service has closed its end */
};

static struct mk_monitor monitor;
static struct mk_channel peers[MAX_CORES];
static struct out {
	u64 words[MK_PEER_WORDS];
	u32 kind;
} out[MAX_CORES][OUT];
static u32 out_head[MAX_CORES], out_tail[MAX_CORES];
static u32 notify_slot[MAX_CORES];
/* Channels whose service is here: their memory, and who has an end. */
static struct channel {
	u64 base; /* 0: free */
	u32 core, client, server;
	u32 open; /* ENDs, a bit each */
} channels[CHANNELS];
/* Ends of channels whose service is on another core. */
static struct far_end {
	u64 base; /* 0: none */
	u32 client, core;
} far_ends[CHANNELS * 4];
#define END_SERVER 1u
#define END_CLIENT 2u
static u32 domain_of[MAX_CLIENTS];
static u32 gang_of[MAX_CLIENTS]; /* and one; 0: none */

static struct mk_planner planner;
static struct mk_controller controller;	 /* core 0 */
static char text[MAX_CORES][TEXT_BYTES]; /* received from each core so far */
static u32 text_bytes[MAX_CORES];
static char asked[TEXT_BYTES]; /* a client's manifest */
static u32 asked_bytes;
static u32 phase_client[MK_MAX_GANGS];

/* --- carrier ------------------------------------------------------------------------------------------------- */

static void flush(u32 core)
{
	while (out_head[core] != out_tail[core]) {
		struct out *o = &out[core][out_tail[core] % OUT];

		if (ump_send(&peers[core].ump, o->words, MK_PEER_WORDS, o->kind, 0))
			return;
		out_tail[core]++;
	}
}

void mk_peer_send(struct mk_monitor *m, u32 core, u32 kind, const u64 *words)
{
	struct out *o = &out[core][out_head[core] % OUT];

	(void)m;
	if (out_head[core] - out_tail[core] == OUT)
		mk_exit(2); /* more than a hundred messages in flight to one core */
	o->kind = kind;
	memcpy(o->words, words, sizeof(o->words));
	out_head[core]++;
	flush(core);
}

/* To a client whose buffer was full; in order. */
static struct late {
	u32 client, unused;
	u64 words[4];
} late[LATE];
static u32 nr_late;

static int has_late(u32 client)
{
	for (u32 i = 0; i < nr_late; i++)
		if (late[i].client == client)
			return 1;
	return 0;
}

/* Send what there is room for now. 1: there is more. */
static int send_late(void)
{
	u32 kept = 0;

	for (u32 i = 0; i < nr_late; i++) {
		u32 before = 0, n;

		for (n = 0; n < kept; n++)
			before |= late[n].client == late[i].client;
		if (before || mk_send_raw(SLOT_CLIENTS + late[i].client, late[i].words,
					  LMP_ANSWER) == MK_EBUSY)
			late[kept++] = late[i];
	}
	nr_late = kept;
	return kept != 0;
}

void mk_client_send(struct mk_monitor *m, u32 client, const u64 *words)
{
	(void)m;
	if (client >= MAX_CLIENTS)
		return;
	if (!has_late(client) && mk_send_raw(SLOT_CLIENTS + client, words, LMP_ANSWER) != MK_EBUSY)
		return;
	/* One that requests much more than it reads does not get all. */
	if (nr_late == LATE)
		return;
	late[nr_late].client = client;
	memcpy(late[nr_late++].words, words, sizeof(late->words));
}

int mk_client_try(struct mk_monitor *m, u32 client, const u64 *words)
{
	(void)m;
	if (has_late(client) || mk_send_raw(SLOT_CLIENTS + client, words, LMP_ANSWER) == MK_EBUSY)
		return -WEIR_EAGAIN;
	return 0;
}

u32 mk_client_domain(struct mk_monitor *m, u32 client)
{
	(void)m;
	return domain_of[client % MAX_CLIENTS];
}

static s64 grant(u64 slot, u32 number, u64 badge)
{
	struct mk_result r = mk_invoke(SLOT_KERNEL, CMD_GRANT, slot, number, badge, 0);

	return r.status ? r.status : (s64)r.value[0];
}

/* Make a capability here and transfer it to a client; returns the client's slot. */
static s64 forge_for(u32 number, u64 type, u64 object, u64 bytes, u64 rights)
{
	struct mk_result r = mk_invoke(SLOT_KERNEL, CMD_FORGE, type, object, bytes, rights);
	s64 slot;

	if (r.status)
		return r.status;
	slot = grant(r.value[0], number, 0);
	mk_invoke(r.value[0], CMD_DELETE, 0, 0, 0, 0);
	return slot;
}

s32 mk_channel_make(struct mk_monitor *m, u32 server, u32 core, u32 client, u64 *words)
{
	u64 slot = mk_slot();
	struct mk_result r;
	u32 n;

	for (n = 0; n < CHANNELS && channels[n].base; n++)
		;
	if (n == CHANNELS)
		return MON_EROOM;
	r = mk_invoke(SLOT_RAM, CMD_RETYPE, CAP_FRAME, 4096, n * 4096, slot);
	if (r.status)
		return MON_EROOM;
	r = mk_invoke(slot, CMD_IDENTIFY, 0, 0, 0, 0);
	words[0] = r.value[0];
	words[1] = r.value[1];
	words[2] = (u64)m->core << 32 | server;
	mk_invoke(slot, CMD_DELETE, 0, 0, 0, 0);
	channels[n] = (struct channel){ .base = words[0],
					.core = core,
					.client = client,
					.server = server,
					.open = END_SERVER | END_CLIENT };
	return MON_OK;
}

/* An end is closed. Whatever is left of the memory's capabilities on this core goes with the last one. */
static void channel_closed(u64 base, u32 end)
{
	for (u32 i = 0; i < CHANNELS; i++) {
		struct channel *c = &channels[i];
		u64 w[4] = { MON_HANGUP, base };

		if (c->base != base || !(c->open & end))
			continue;
		c->open &= ~end;
		if (!c->open) {
			mk_invoke(SLOT_KERNEL, CMD_OVERLAP, base, 4096, 1, 0);
			c->base = 0;
		} else if (end == END_CLIENT) {
			mk_client_send(&monitor, c->server, w);
		} else if (c->core == monitor.core) {
			mk_client_send(&monitor, c->client, w);
		} else {
			mk_peer_send(&monitor, c->core, PEER_HANGUP, (u64[MK_PEER_WORDS]){ base });
		}
	}
}

static void far_closed(struct far_end *f)
{
	u64 base = f->base;

	f->base = 0;
	mk_invoke(SLOT_KERNEL, CMD_OVERLAP, base, 4096, 1, 0);
	mk_peer_send(&monitor, f->core, PEER_CLOSED, (u64[MK_PEER_WORDS]){ base });
}

/* A client closes its end, or all (base 0), because it has ended. */
static void close_ends(u32 client, u64 base)
{
	for (u32 i = 0; i < CHANNELS; i++) {
		struct channel c = channels[i];

		if (!c.base || (base && c.base != base))
			continue;
		if (c.server == client)
			channel_closed(c.base, END_SERVER);
		if (c.core == monitor.core && c.client == client)
			channel_closed(c.base, END_CLIENT);
	}
	for (u32 i = 0; i < CHANNELS * 4; i++)
		if (far_ends[i].base && far_ends[i].client == client &&
		    (!base || far_ends[i].base == base))
			far_closed(&far_ends[i]);
}

static s32 ends(struct mk_monitor *m, u32 mine, u32 core, u32 other, const u64 *words, u64 *channel)
{
	s64 frame = forge_for(mine, CAP_FRAME, words[0], words[1], RIGHT_READ | RIGHT_WRITE),
	    notify, endpoint = 0;

	if (frame < 0)
		return (s32)frame;
	notify = forge_for(mine, CAP_NOTIFY, (u64)core << 32 | other, POKE_BIT, RIGHT_WRITE);
	if (notify < 0)
		return (s32)notify;
	if (core == m->core)
		endpoint = grant(SLOT_CLIENTS + other, mine, MK_BADGE + mine);
	*channel = (u64)frame | (u64)notify << 16 | (endpoint > 0 ? (u64)endpoint << 32 : 0) |
		   (u64)other << 56;
	return MON_OK;
}

s32 mk_channel_server(struct mk_monitor *m, u32 server, u32 core, u32 client, const u64 *words,
		      u64 *channel)
{
	s32 err = ends(m, server, core, client, words, channel);

	*channel |= 1ull << 48;
	return err;
}

s32 mk_channel_client(struct mk_monitor *m, u32 core, u32 client, const u64 *words, u64 *channel)
{
	for (u32 i = 0; i < CHANNELS * 4 && core != m->core; i++) {
		if (far_ends[i].base)
			continue;
		far_ends[i] = (struct far_end){ .base = words[0], .client = client, .core = core };
		break;
	}
	return ends(m, client, core, (u32)words[2], words, channel);
}

s32 mk_spawn_here(struct mk_monitor *m, u32 domain, u64 entry, u64 argument, s32 priority,
		  u64 *number)
{
	struct mk_result r = mk_invoke(SLOT_KERNEL, CMD_CREATE, domain, entry, argument, 0);

	(void)m;
	if (r.status)
		return (s32)r.status;
	*number = r.value[0];
	if (priority)
		mk_invoke(SLOT_KERNEL, CMD_PUBLISH, WEIR_TOPIC_PRIORITY, *number,
			  (u64)(s64)priority, 0);
	return MON_OK;
}

int mk_is_sibling(struct mk_monitor *m, u32 domain, u32 number)
{
	struct mk_result r = mk_invoke(SLOT_KERNEL, CMD_FIND, number, SLOT_SELF, 0, 0);

	(void)m;
	return r.status == CAP_DISPATCHER && r.value[2] >> 16 == domain;
}

s32 mk_waker_make(struct mk_monitor *m, u32 client, u32 core, u32 number, u32 bit, u64 *slot)
{
	s64 r = forge_for(client, CAP_NOTIFY, (u64)core << 32 | number, bit, RIGHT_WRITE);

	(void)m;
	*slot = (u64)r;
	return r < 0 ? (s32)r : MON_OK;
}

s32 mk_cap_pack(struct mk_monitor *m, u32 client, u64 slot, u64 *words)
{
	struct mk_result r = mk_invoke(SLOT_KERNEL, CMD_FIND, client, slot, 0, 0);

	(void)m;
	if (r.status != CAP_FRAME && r.status != CAP_RAM && r.status != CAP_NOTIFY)
		return MON_EINVAL;
	if (!(r.value[2] & RIGHT_GRANT))
		return MK_ERIGHT;
	words[0] = (u64)r.status;
	words[1] = r.value[0];
	words[2] = r.value[1];
	words[3] = r.value[2] & RIGHT_ALL;
	if (r.status != CAP_NOTIFY)
		mk_invoke(SLOT_KERNEL, CMD_REMOTE, words[1], words[2], 0, 0);
	return MON_OK;
}

s32 mk_cap_unpack(struct mk_monitor *m, u32 number, const u64 *words, u64 *slot)
{
	s64 r = forge_for(number, words[0], words[1], words[2], words[3]);

	(void)m;
	*slot = (u64)r;
	return r < 0 ? (s32)r : MON_OK;
}

int mk_memory_of(struct mk_monitor *m, u32 client, u64 slot, u64 *object)
{
	struct mk_result r = mk_invoke(SLOT_KERNEL, CMD_FIND, client, slot, 0, 0);

	(void)m;
	if (r.status != CAP_RAM && r.status != CAP_FRAME)
		return -1;
	object[0] = r.value[0];
	object[1] = r.value[1];
	return r.value[2] >> 8 & 1;
}

int mk_memory_used(struct mk_monitor *m, const u64 *object)
{
	(void)m;
	return mk_invoke(SLOT_KERNEL, CMD_OVERLAP, object[0], object[1], 0, 0).value[0] != 0;
}

void mk_memory_revoke(struct mk_monitor *m, const u64 *object)
{
	(void)m;
	mk_invoke(SLOT_KERNEL, CMD_OVERLAP, object[0], object[1], 1, 0);
}

s32 mk_memory_retype(struct mk_monitor *m, u32 client, const u64 *object, u64 type, u64 slot)
{
	s64 r = forge_for(client, type, object[0], object[1], RIGHT_ALL);

	(void)m;
	(void)slot;
	return r < 0 ? (s32)r : MON_OK;
}

/* --- gangs ------------------------------------------------------------------------------------------------------- */

static void submit(const struct mk_submit *s)
{
	const u64 value[4] = { s->row.offset, s->row.period, s->row.length, s->from };

	for (u64 field = 0; field < 4; field++)
		mk_invoke(SLOT_KERNEL, CMD_PUBLISH, WEIR_TOPIC_GANG_SLOT, ~0ull,
			  (s->gang + 1) | field << 32, value[field]);
}

static void learn(u32 gang, const struct mk_gang *g)
{
	struct mk_submit s;

	if (mk_planner_learn(&planner, gang, g, mk_now(), &s))
		submit(&s);
	for (u32 phase = 0; phase < g->manifest.nr_phases; phase++)
		if (mk_planner_push(&planner, gang, phase, g->version, &g->row[phase], mk_now(),
				    &s))
			submit(&s);
}

static void send_pieces(u32 core, const void *what, u32 bytes)
{
	for (u32 at = 0; at < bytes; at += 40) {
		u32 n = bytes - at < 40 ? bytes - at : 40;
		u64 w[MK_PEER_WORDS] = { n, at };

		memcpy(w + 2, (const char *)what + at, n);
		mk_peer_send(&monitor, core, PEER_PIECE, w);
	}
}

/* At core 0: place the gang, and notify every core concerned. */
static s32 admit(const char *words, u32 bytes, u64 *number)
{
	static struct mk_manifest m;
	struct mk_fault fault;
	struct mk_refusal why;
	const struct mk_gang *g;
	u32 gang;

	if (mk_manifest_parse(words, bytes, &m, &fault))
		return MON_EINVAL;
	if (mk_admit(&controller, &m, mk_now(), 0, &gang, &why))
		return MON_EREFUSED;
	*number = gang;
	g = mk_gang_at(&controller, gang);
	for (u32 core = 0; core < monitor.nr; core++) {
		if (!mk_has(&g->cpus, core))
			continue;
		if (core == 0) {
			learn(gang, g);
		} else {
			send_pieces(core, g, sizeof(*g));
			mk_peer_send(&monitor, core, PEER_LEARN, (u64[MK_PEER_WORDS]){ gang });
		}
	}
	return MON_OK;
}

static void admitted(u64 op, s32 status, u64 gang)
{
	struct mk_pending *p = op < MK_PENDING ? &monitor.pending[op] : 0;
	u32 client;

	if (!p || p->kind != PENDING_OTHER)
		return;
	client = p->client;
	p->kind = PENDING_NONE;
	mk_answer_client(&monitor, client, status, gang, 0, 0);
}

static void phase_over(u32 gang, const struct mk_phase_result *r)
{
	mk_answer_client(&monitor, phase_client[gang],
			 r->status == MK_PHASE_DONE ? MON_OK : MON_EBUSY, r->count, r->status, 0);
}

/* A client of this core requests a change of its gang. */
static void change(u32 client, const u64 *w)
{
	struct mk_phase_message msg;
	struct mk_phase_result result;
	struct mk_submit s;
	u32 gang = w[1] < MK_MAX_GANGS ? (u32)w[1] : MK_MAX_GANGS;
	int asked;

	if ((w[0] & 0xff) == MON_PHASE)
		asked = mk_planner_change(&planner, gang, (u32)w[2], mk_now(), &msg, &s, &result);
	else if ((w[0] & 0xff) == MON_MERGE)
		asked = mk_planner_merge(&planner, gang, (u32)w[2], (u32)(w[2] >> 32), (u32)w[3],
					 mk_now(), &msg, &s, &result);
	else
		asked = mk_planner_split(&planner, gang, (u32)w[2], mk_now(), &msg, &s, &result);
	if (asked < 0) {
		mk_answer_client(&monitor, client, asked == -WEIR_EBUSY ? MON_EBUSY : MON_EUNKNOWN,
				 0, 0, 0);
		return;
	}
	phase_client[gang] = client;
	submit(&s);
	if (!asked) {
		phase_over(gang, &result);
		return;
	}
	for (u32 core = 0; core < monitor.nr; core++)
		if (core != monitor.core && mk_has(&planner.gang[gang].cpus, core)) {
			u64 out[MK_PEER_WORDS] = { msg.gang | (u64)msg.phase << 32, msg.time,
						   msg.coordinator | (u64)msg.sequence << 32,
						   msg.change | (u64)msg.group << 32, msg.groups };

			mk_peer_send(&monitor, core, PEER_PHASE, out);
		}
}

/* A client of this core joins a group of a gang. All members of a gang on a core are in one group, as they share its slots. */
static s32 join(u32 client, u64 gang, u64 group)
{
	struct mk_submit s;
	s32 status;
	int changed;

	if (gang >= MK_MAX_GANGS || !planner.gang[gang].used || group >= MK_MAX_GROUPS)
		return MON_EUNKNOWN;
	for (u32 other = 0; other < MAX_CLIENTS; other++)
		if (other != client && gang_of[other] == gang + 1 &&
		    planner.gang[gang].home != group &&
		    mk_invoke(SLOT_KERNEL, CMD_FIND, other, SLOT_SELF, 0, 0).status > 0)
			return MON_EUSED;
	status = (s32)mk_invoke(SLOT_KERNEL, CMD_PUBLISH, WEIR_TOPIC_GANG, client, gang + 1,
				WEIR_GANG_RUN)
			 .status;
	if (status)
		return status;
	gang_of[client] = (u32)gang + 1;
	changed = mk_planner_join(&planner, (u32)gang, (u32)group, mk_now(), &s);
	if (changed > 0)
		submit(&s);
	return MON_OK;
}

int mk_other_client(struct mk_monitor *m, u32 client, const u64 *w)
{
	switch (w[0] & 0xff) {
	case MON_CLOSE:
		if (w[1])
			close_ends(client, w[1]);
		mk_answer_client(m, client, MON_OK, 0, 0, 0);
		return 1;
	case MON_MANIFEST: {
		u32 n = w[0] >> 8 & 0xff, op;
		u64 gang = 0;

		if (n > 24 || asked_bytes + n > TEXT_BYTES) {
			asked_bytes = 0;
			mk_answer_client(m, client, MON_EINVAL, 0, 0, 0);
			return 1;
		}
		memcpy(asked + asked_bytes, w + 1, n);
		asked_bytes += n;
		if (!(w[0] >> 16 & 1)) {
			mk_answer_client(m, client, MON_OK, 0, 0, 0);
			return 1;
		}
		op = mk_pending_new(m, PENDING_OTHER, client);
		if (op == ~0u) {
			mk_answer_client(m, client, MON_EROOM, 0, 0, 0);
		} else if (m->core == 0) {
			s32 status = admit(asked, asked_bytes, &gang);

			admitted(op, status, gang);
		} else {
			send_pieces(0, asked, asked_bytes);
			mk_peer_send(m, 0, PEER_ADMIT, (u64[MK_PEER_WORDS]){ op });
		}
		asked_bytes = 0;
		return 1;
	}
	case MON_JOIN:
		mk_answer_client(m, client, join(client, w[1], w[2]), 0, 0, 0);
		return 1;
	case MON_PHASE:
	case MON_MERGE:
	case MON_SPLIT:
		change(client, w);
		return 1;
	}
	return 0;
}

int mk_other_peer(struct mk_monitor *m, u32 from, u32 kind, const u64 *w)
{
	struct mk_submit s;

	switch (kind) {
	case PEER_PIECE:
		if (w[0] <= 40 && w[1] + w[0] <= TEXT_BYTES && w[1] < TEXT_BYTES) {
			memcpy(text[from] + w[1], w + 2, w[0]);
			text_bytes[from] = (u32)(w[1] + w[0]);
		}
		return 1;
	case PEER_ADMIT: {
		u64 gang = 0;
		s32 status = m->core == 0 ? admit(text[from], text_bytes[from], &gang) : MON_EINVAL;

		mk_peer_send(m, from, PEER_ADMITTED,
			     (u64[MK_PEER_WORDS]){ w[0], (u32)status, gang });
		return 1;
	}
	case PEER_ADMITTED:
		admitted(w[0], (s32)w[1], w[2]);
		return 1;
	case PEER_LEARN:
		if (from == 0 && w[0] < MK_MAX_GANGS && text_bytes[from] == sizeof(struct mk_gang))
			learn((u32)w[0], (const struct mk_gang *)text[from]);
		return 1;
	case PEER_CLOSED:
		for (u32 i = 0; i < CHANNELS; i++)
			if (channels[i].base == w[0] && channels[i].core == from)
				channel_closed(w[0], END_CLIENT);
		return 1;
	case PEER_HANGUP:
		for (u32 i = 0; i < CHANNELS * 4; i++)
			if (far_ends[i].base == w[0] && far_ends[i].core == from)
				mk_client_send(m, far_ends[i].client, (u64[4]){ MON_HANGUP, w[0] });
		return 1;
	case PEER_PHASE: {
		struct mk_phase_message msg = { .gang = (u32)w[0],
						.phase = (u32)(w[0] >> 32),
						.time = w[1],
						.coordinator = (u32)w[2],
						.sequence = (u32)(w[2] >> 32),
						.change = (u32)w[3],
						.group = (u32)(w[3] >> 32),
						.groups = (u32)w[4] };
		struct mk_phase_reply r;

		if (mk_planner_receive(&planner, &msg, &s, &r))
			submit(&s);
		mk_peer_send(m, from, PEER_PHASE_REPLY,
			     (u64[MK_PEER_WORDS]){ r.gang, r.sequence, r.cpu, r.status });
		return 1;
	}
	case PEER_PHASE_REPLY: {
		struct mk_phase_reply r = { .gang = (u32)w[0],
					    .sequence = (u32)w[1],
					    .cpu = (u32)w[2],
					    .status = (u32)w[3] };
		struct mk_phase_result result;

		if (mk_planner_reply(&planner, &r, &result))
			phase_over(r.gang, &result);
		return 1;
	}
	}
	return 0;
}

/* --- the loop -------------------------------------------------------------------------------------------------------- */

static struct {
	u32 client;
	u64 words[4];
} inbox[256];
static u32 in_head, in_tail;
static struct mk_thread *loop, *waker;
static u32 waking;

/* Some client has no room now: the loop tries again after a while. */
static void wake_later(void *arg)
{
	(void)arg;
	for (;;) {
		mk_park();
		mk_sleep(50000);
		waking = 0;
		mk_unpark(loop);
	}
}

static void ended(u32 client)
{
	u32 kept = 0;

	gang_of[client] = 0;
	for (u32 i = 0; i < nr_late; i++)
		if (late[i].client != client)
			late[kept++] = late[i];
	nr_late = kept;
	close_ends(client, 0);
	mk_monitor_gone(&monitor, client);
}

/* Threads are held off: keep the message for the loop, so that no request starts in the middle of another. */
static void said(u64 badge, const u64 *words, u64 along)
{
	(void)along;
	if (!badge || badge > MAX_CLIENTS || in_head - in_tail == 256)
		return;
	inbox[in_head % 256].client = (u32)badge - 1;
	memcpy(inbox[in_head % 256].words, words, 32);
	in_head++;
	mk_unpark(loop);
}

int main(int argc, char **argv)
{
	u32 nr = (u32)mk_self()->nr_cores, me = (u32)mk_self()->core;
	char *mesh = (char *)mk_self()->argument;

	(void)argc;
	(void)argv;
	loop = mk_current();
	mk_set(WEIR_TOPIC_PRIORITY, 1000, 0);
	mk_monitor_init(&monitor, me, nr, 0);
	mk_planner_init(&planner, me);
	if (me == 0)
		mk_controller_init(&controller, nr);
	for (u32 i = 0; i < nr; i++) {
		struct mk_result r;

		if (i == me)
			continue;
		/* The ring from a to b is number a * nr + b. */
		ump_init(&peers[i].ump, mesh + (me * nr + i) * RING_BYTES,
			 mesh + (i * nr + me) * RING_BYTES, 16);
		r = mk_invoke(SLOT_KERNEL, CMD_FORGE, CAP_NOTIFY, (u64)i << 32, POKE_BIT,
			      RIGHT_WRITE);
		peers[i].notify = notify_slot[i] = (u32)r.value[0];
		mk_channel_add(&peers[i]);
	}
	mk_on_message(said);
	waker = mk_thread(wake_later, 0);
	for (;;) {
		u32 busy = 0;
		int waits;

		while (in_tail != in_head) {
			u64 words[4];
			u32 client = inbox[in_tail % 256].client;
			struct mk_result r =
				mk_invoke(SLOT_KERNEL, CMD_FIND, client, SLOT_SELF, 0, 0);

			memcpy(words, inbox[in_tail++ % 256].words, 32);
			busy = 1;
			if (words[0] == LMP_GONE) {
				ended(client);
				continue;
			}
			domain_of[client] = (u32)(r.value[2] >> 16);
			mk_monitor_client(&monitor, client, words);
		}
		for (u32 i = 0; i < nr; i++) {
			u64 words[MK_PEER_WORDS];
			u32 kind, tag;

			if (i == me)
				continue;
			flush(i);
			busy |= out_head[i] != out_tail[i];
			while (!mk_channel_try(&peers[i], words, MK_PEER_WORDS, &kind, &tag)) {
				mk_monitor_peer(&monitor, i, kind, words);
				busy = 1;
			}
		}
		waits = send_late();
		waits |= mk_monitor_pump(&monitor);
		if (busy) {
			mk_yield();
			continue;
		}
		if (waits && !waking) {
			waking = 1;
			mk_unpark(waker);
		}
		mk_wait_any();
	}
}
