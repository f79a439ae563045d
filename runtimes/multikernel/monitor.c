/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* See monitor.h. */
#include "monitor.h"

/* Commands of agreements. */
enum { AGREE_RETYPE, AGREE_REVOKE };

int mk_monitor_init(struct mk_monitor *m, u32 core, u32 nr, const u32 *node)
{
	*m = (struct mk_monitor){ .core = core, .nr = nr, .next = 1 };
	return mk_commit_init(&m->commit, core, nr, node);
}

void mk_answer_client(struct mk_monitor *m, u32 client, s32 status, u64 a, u64 b, u64 c)
{
	u64 words[4] = { MON_ANSWER | (u64)(u32)status << 32, a, b, c };

	mk_client_send(m, client, words);
}

u32 mk_pending_new(struct mk_monitor *m, u32 kind, u32 client)
{
	for (u32 i = 0; i < MK_PENDING; i++) {
		if (m->pending[i].kind)
			continue;
		m->pending[i] = (struct mk_pending){ .kind = kind, .client = client };
		return i;
	}
	return ~0u;
}

static struct mk_pending *pending(struct mk_monitor *m, u64 op, u32 kind)
{
	return op < MK_PENDING && m->pending[op].kind == kind ? &m->pending[op] : 0;
}

/* Send to a core, which may be this one. */
static void peer(struct mk_monitor *m, u32 core, u32 kind, const u64 *words)
{
	if (core == m->core)
		mk_monitor_peer(m, core, kind, words);
	else
		mk_peer_send(m, core, kind, words);
}

#define PEER(m, core, kind, ...) peer(m, core, kind, (const u64[MK_PEER_WORDS]){ __VA_ARGS__ })

/* --- names: core 0 ----------------------------------------------------------------------------------------- */

static struct mk_name *name_find(struct mk_monitor *m, u64 a, u64 b)
{
	for (u32 i = 0; i < MK_NAMES; i++)
		if (m->name[i].name[0] == a && m->name[i].name[1] == b)
			return &m->name[i];
	return 0;
}

static s32 name_register(struct mk_monitor *m, u64 a, u64 b, u64 iref)
{
	struct mk_name *free = name_find(m, 0, 0);

	if (!a && !b)
		return MON_EINVAL;
	if (name_find(m, a, b))
		return MON_EUSED;
	if (!free)
		return MON_EROOM;
	*free = (struct mk_name){ .name = { a, b }, .iref = iref };
	return MON_OK;
}

/* --- exports and binds ---------------------------------------------------------------------------------------- */

static void export(struct mk_monitor *m, u32 client, const u64 *w)
{
	u32 op = mk_pending_new(m, PENDING_EXPORT, client);

	for (u32 i = 0; i < MK_EXPORTS && op != ~0u; i++) {
		if (m->export[i].used)
			continue;
		m->export[i] = (struct mk_export){ .used = 1,
						   .client = client,
						   .iref = mk_iref(m->core, client, m->next++) };
		m->pending[op].iref = m->export[i].iref;
		PEER(m, 0, PEER_REGISTER, op, w[1], w[2], m->export[i].iref);
		return;
	}
	if (op != ~0u)
		m->pending[op].kind = PENDING_NONE;
	mk_answer_client(m, client, MON_EROOM, 0, 0, 0);
}

static void registered(struct mk_monitor *m, const u64 *w)
{
	struct mk_pending *p = pending(m, w[0], PENDING_EXPORT);
	u32 client;

	if (!p)
		return;
	client = p->client;
	if ((s32)w[1])
		for (u32 i = 0; i < MK_EXPORTS; i++)
			if (m->export[i].used && m->export[i].iref == p->iref)
				m->export[i].used = 0;
	p->kind = PENDING_NONE;
	mk_answer_client(m, client, (s32)w[1], 0, 0, 0);
}

static void bind(struct mk_monitor *m, u32 client, const u64 *w)
{
	u32 op = mk_pending_new(m, PENDING_BIND, client);

	if (op == ~0u)
		mk_answer_client(m, client, MON_EROOM, 0, 0, 0);
	else
		PEER(m, 0, PEER_LOOKUP, op, w[1], w[2]);
}

static void bind_over(struct mk_monitor *m, struct mk_pending *p, s32 status, u64 channel, u64 core)
{
	u32 client = p->client;

	p->kind = PENDING_NONE;
	mk_answer_client(m, client, status, channel, core, 0);
}

static void found(struct mk_monitor *m, const u64 *w)
{
	struct mk_pending *p = pending(m, w[0], PENDING_BIND);

	if (!p)
		return;
	if ((s32)w[1] || w[2] >> 48 >= m->nr) {
		bind_over(m, p, MON_EUNKNOWN, 0, 0);
		return;
	}
	p->iref = w[2];
	PEER(m, w[2] >> 48, PEER_BIND, w[0], w[2], p->client);
}

/* At the service's monitor: ask the service. */
static void bind_asked(struct mk_monitor *m, u32 from, const u64 *w)
{
	u32 server = w[1] >> 32 & 0xffff, i, op;
	u64 ask[4] = { MON_ASK };

	for (i = 0; i < MK_EXPORTS && !(m->export[i].used && m->export[i].iref == w[1]); i++)
		;
	op = i < MK_EXPORTS ? mk_pending_new(m, PENDING_ASKED, server) : ~0u;
	if (op == ~0u) {
		PEER(m, from, PEER_BOUND, w[0], (u32)(i < MK_EXPORTS ? MON_EROOM : MON_EUNKNOWN));
		return;
	}
	m->pending[op].core = from;
	m->pending[op].op = w[0];
	m->pending[op].iref = w[1];
	m->pending[op].word[0] = w[2];
	ask[1] = op;
	ask[2] = from;
	mk_client_send(m, server, ask);
}

/* The service has decided. */
static void decided(struct mk_monitor *m, u32 client, const u64 *w)
{
	struct mk_pending *p = pending(m, w[1], PENDING_ASKED);
	u64 words[4] = { 0 }, channel = 0, bound[4] = { MON_BOUND };
	u32 core, op, far;
	s32 status = MON_EREFUSED;

	/* Only the service that was asked decides. */
	if (!p || p->client != client)
		return;
	core = p->core;
	op = p->op;
	far = p->word[0];
	p->kind = PENDING_NONE;
	if (w[2]) {
		status = mk_channel_make(m, client, core, far, words);
		if (!status)
			status = mk_channel_server(m, client, core, far, words, &channel);
	}
	bound[0] |= (u64)(u32)status << 32;
	bound[1] = w[1];
	bound[2] = channel;
	bound[3] = core;
	mk_client_send(m, client, bound);
	PEER(m, core, PEER_BOUND, op, (u32)status, words[0], words[1], words[2], words[3]);
}

static void bound(struct mk_monitor *m, u32 from, const u64 *w)
{
	struct mk_pending *p = pending(m, w[0], PENDING_BIND);
	s32 status = (s32)w[1];
	u64 channel = 0;

	if (!p || p->iref >> 48 != from)
		return;
	if (!status)
		status = mk_channel_client(m, from, p->client, w + 2, &channel);
	bind_over(m, p, status, channel, from);
}

/* --- dispatchers and capabilities elsewhere ------------------------------------------------------------------------- */

static void spawn(struct mk_monitor *m, u32 client, const u64 *w)
{
	u32 op = w[1] < m->nr ? mk_pending_new(m, PENDING_SPAWN, client) : ~0u;

	if (op == ~0u)
		mk_answer_client(m, client, w[1] < m->nr ? MON_EROOM : MON_EINVAL, 0, 0, 0);
	else
		PEER(m, w[1], PEER_SPAWN, op, mk_client_domain(m, client), w[2], w[3], w[0] >> 32);
}

static void cap_send(struct mk_monitor *m, u32 client, const u64 *w)
{
	u64 words[4] = { 0 };
	s32 status = w[2] < m->nr ? mk_cap_pack(m, client, w[1], words) : MON_EINVAL;
	u32 op = status ? ~0u : mk_pending_new(m, PENDING_CAP, client);

	if (op == ~0u)
		mk_answer_client(m, client, status ? status : MON_EROOM, 0, 0, 0);
	else
		PEER(m, w[2], PEER_CAP, op, w[3], words[0], words[1], words[2], words[3]);
}

static void simple_over(struct mk_monitor *m, u32 kind, const u64 *w)
{
	struct mk_pending *p = pending(m, w[0], kind);
	u32 client;

	if (!p)
		return;
	client = p->client;
	p->kind = PENDING_NONE;
	mk_answer_client(m, client, (s32)w[1], w[2], 0, 0);
}

/* --- memory known to several cores --------------------------------------------------------------------------------------- */

static struct mk_monitor *monitor_of(struct mk_commit *c)
{
	return (struct mk_monitor *)((char *)c - __builtin_offsetof(struct mk_monitor, commit));
}

static void agree(struct mk_monitor *m, u32 client, const u64 *w)
{
	u32 retype = (w[0] & 0xff) == MON_RETYPE, op;
	u64 object[2], bytes = w[2] >> 8, offset = w[3] & 0xffffffffffff;

	if (mk_memory_of(m, client, w[1], object) < 0) {
		mk_answer_client(m, client, MON_EINVAL, 0, 0, 0);
		return;
	}
	if (retype && (bytes < 4096 || bytes & (bytes - 1) || offset % bytes ||
		       offset > object[1] || bytes > object[1] - offset)) {
		mk_answer_client(m, client, MON_EINVAL, 0, 0, 0);
		return;
	}
	if (retype) {
		object[0] += offset;
		object[1] = bytes;
	}
	op = mk_pending_new(m, PENDING_COMMIT, client);
	if (op == ~0u) {
		mk_answer_client(m, client, MON_EROOM, 0, 0, 0);
		return;
	}
	m->pending[op].word[0] = retype ? w[2] & 0xff : 0;
	m->pending[op].word[1] = w[3] >> 48;
	if (mk_commit_begin(&m->commit, 2, retype ? AGREE_RETYPE : AGREE_REVOKE, object, op)) {
		m->pending[op].kind = PENDING_NONE;
		mk_answer_client(m, client, MON_EBUSY, 0, 0, 0);
	}
}

void mk_commit_send(struct mk_commit *c, u32 core, const struct mk_commit_message *msg)
{
	u64 words[MK_PEER_WORDS] = { msg->step | (u64)msg->answers << 8 | (u64)msg->value << 16,
				     msg->id, msg->object[0], msg->object[1], msg->command };

	mk_peer_send(monitor_of(c), core, PEER_COMMIT, words);
}

int mk_commit_may(struct mk_commit *c, const struct mk_commit_message *msg)
{
	return msg->command == AGREE_REVOKE || !mk_memory_used(monitor_of(c), msg->object);
}

void mk_commit_do(struct mk_commit *c, const struct mk_commit_message *msg)
{
	struct mk_monitor *m = monitor_of(c);
	struct mk_pending *p;

	if (msg->command == AGREE_REVOKE) {
		mk_memory_revoke(m, msg->object);
	} else if ((msg->id & 0xff) == c->core) {
		p = &m->pending[msg->cookie];
		p->core = (u32)mk_memory_retype(m, p->client, msg->object, p->word[0], p->word[1]);
	}
}

void mk_commit_over(struct mk_commit *c, u32 cookie, u32 value)
{
	struct mk_monitor *m = monitor_of(c);
	struct mk_pending p = m->pending[cookie];
	s32 status = value == MK_COMMIT_YES    ? MON_OK
		     : value == MK_COMMIT_BUSY ? MON_EBUSY
					       : MON_EUSED;

	m->pending[cookie].kind = PENDING_NONE;
	if (value == MK_COMMIT_YES && p.word[0])
		status = (s32)p.core;
	mk_answer_client(m, p.client, status, 0, 0, 0);
}

/* --- what comes in ------------------------------------------------------------------------------------------------------------ */

void mk_monitor_client(struct mk_monitor *m, u32 client, const u64 *w)
{
	if (mk_other_client(m, client, w))
		return;
	switch (w[0] & 0xff) {
	case MON_EXPORT:
		export(m, client, w);
		return;
	case MON_BIND:
		bind(m, client, w);
		return;
	case MON_DECIDE:
		decided(m, client, w);
		return;
	case MON_SPAWN:
		spawn(m, client, w);
		return;
	case MON_CAP_SEND:
		cap_send(m, client, w);
		return;
	case MON_RETYPE:
	case MON_REVOKE:
		agree(m, client, w);
		return;
	}
	mk_answer_client(m, client, MON_EINVAL, 0, 0, 0);
}

void mk_monitor_peer(struct mk_monitor *m, u32 from, u32 kind, const u64 *w)
{
	struct mk_name *n;
	s32 status;
	u64 out = 0;

	if (mk_other_peer(m, from, kind, w))
		return;
	switch (kind) {
	case PEER_REGISTER:
		/* Only the monitor of a service's own core registers it. */
		status = w[3] >> 48 == from ? name_register(m, w[1], w[2], w[3]) : MON_EINVAL;
		PEER(m, from, PEER_REGISTERED, w[0], (u32)status);
		return;
	case PEER_REGISTERED:
		registered(m, w);
		return;
	case PEER_LOOKUP:
		n = w[1] || w[2] ? name_find(m, w[1], w[2]) : 0;
		PEER(m, from, PEER_FOUND, w[0], (u32)(n ? MON_OK : MON_EUNKNOWN), n ? n->iref : 0);
		return;
	case PEER_FOUND:
		found(m, w);
		return;
	case PEER_BIND:
		bind_asked(m, from, w);
		return;
	case PEER_BOUND:
		bound(m, from, w);
		return;
	case PEER_SPAWN:
		status = mk_spawn_here(m, (u32)w[1], w[2], w[3], (s32)w[4], &out);
		PEER(m, from, PEER_SPAWNED, w[0], (u32)status, out);
		return;
	case PEER_SPAWNED:
		simple_over(m, PENDING_SPAWN, w);
		return;
	case PEER_CAP:
		status = mk_cap_unpack(m, (u32)w[1], w + 2, &out);
		PEER(m, from, PEER_CAP_DONE, w[0], (u32)status, out);
		return;
	case PEER_CAP_DONE:
		simple_over(m, PENDING_CAP, w);
		return;
	case PEER_COMMIT: {
		struct mk_commit_message msg = { .step = w[0] & 0xff,
						 .answers = w[0] >> 8 & 0xff,
						 .value = w[0] >> 16 & 3,
						 .id = (u32)w[1],
						 .object = { w[2], w[3] },
						 .command = (u32)w[4] };

		mk_commit_receive(&m->commit, from, &msg);
		return;
	}
	case PEER_WITHDRAW:
		for (u32 i = 0; i < MK_NAMES; i++)
			if (m->name[i].iref == w[0] && w[0] >> 48 == from)
				m->name[i] = (struct mk_name){ 0 };
		return;
	}
}

void mk_monitor_gone(struct mk_monitor *m, u32 client)
{
	for (u32 i = 0; i < MK_EXPORTS; i++)
		if (m->export[i].used && m->export[i].client == client) {
			m->export[i].used = 0;
			PEER(m, 0, PEER_WITHDRAW, m->export[i].iref);
		}
	for (u32 i = 0; i < MK_PENDING; i++) {
		struct mk_pending *p = &m->pending[i];

		if (!p->kind || p->client != client)
			continue;
		if (p->kind == PENDING_ASKED)
			PEER(m, p->core, PEER_BOUND, p->op, (u32)MON_EREFUSED);
		/* Its other operations continue, and their results are dropped. */
		if (p->kind == PENDING_ASKED)
			p->kind = PENDING_NONE;
		else
			p->client = ~0u;
	}
}
