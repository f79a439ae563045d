/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* See monitor.h. */
#include "monitor.h"

/* Commands of agreements. */
enum { AGREE_RETYPE, AGREE_REVOKE, AGREE_ENTRY };

#define KIND_SHIFT 8 /* of an entry, in the command */

int mk_monitor_init(struct mk_monitor *m, u32 core, u32 nr, const u32 *node)
{
	*m = (struct mk_monitor){ .core = core, .nr = nr, .next = 1 };
	mk_ordered_init(&m->ordered, core, nr);
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

/* --- entries of groups: names are those of group 0 ----------------------------------------------------------- */

static struct mk_monitor *monitor_of_ordered(struct mk_ordered *o)
{
	return (struct mk_monitor *)((char *)o - __builtin_offsetof(struct mk_monitor, ordered));
}

/* Send an entry to the home core of its group. */
static void propose(struct mk_monitor *m, u32 op, u32 group, u32 kind, u64 a, u64 b, u64 c)
{
	PEER(m, mk_ordered_home(&m->ordered, group), PEER_PROPOSE, op, group | (u64)kind << 32, a,
	     b, c);
}

static struct mk_name *name_find(struct mk_monitor *m, u64 a, u64 b)
{
	for (u32 i = 0; i < MK_NAMES; i++)
		if (m->name[i].name[0] == a && m->name[i].name[1] == b)
			return &m->name[i];
	return 0;
}

static struct mk_name *iref_find(struct mk_monitor *m, u64 iref)
{
	for (u32 i = 0; i < MK_NAMES; i++)
		if ((m->name[i].name[0] || m->name[i].name[1]) && m->name[i].iref == iref)
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

/* A group for a name: the one that it has, or a new one; the entry becomes that of its name. */
static s32 topic_register(struct mk_monitor *m, struct mk_entry *e, u32 *group)
{
	struct mk_name *n = e->word[0] || e->word[1] ? name_find(m, e->word[0], e->word[1]) : 0;
	u32 kind = e->kind;

	e->kind = ENTRY_OTHER;
	if (n) {
		*group = (u32)n->iref;
		return n->iref & MK_TOPIC ? MON_OK : MON_EUSED;
	}
	for (*group = 1; *group < MK_GROUPS && iref_find(m, MK_TOPIC | *group); ++*group)
		;
	if (*group == MK_GROUPS)
		return MON_EROOM;
	e->kind = kind;
	e->word[2] = MK_TOPIC | *group;
	return name_register(m, e->word[0], e->word[1], e->word[2]);
}

s32 mk_ordered_names(struct mk_ordered *o, struct mk_entry *e, u32 *value)
{
	struct mk_monitor *m = monitor_of_ordered(o);
	struct mk_name *n;
	s32 status = MON_EUNKNOWN;

	switch (e->kind) {
	case ENTRY_NAME:
		status = name_register(m, e->word[0], e->word[1], e->word[2]);
		break;
	case ENTRY_TOPIC:
		status = topic_register(m, e, value);
		if (e->kind == ENTRY_TOPIC)
			e->kind = ENTRY_NAME;
		break;
	case ENTRY_UNNAME:
		n = iref_find(m, e->word[2]);
		if (!n)
			break;
		e->word[0] = n->name[0];
		e->word[1] = n->name[1];
		*n = (struct mk_name){ 0 };
		status = MON_OK;
		break;
	}
	if (status)
		e->kind = ENTRY_OTHER;
	return status;
}

/* At the home core. Only a core's own monitor speaks for its services and members. */
static void proposed(struct mk_monitor *m, u32 from, const u64 *w)
{
	struct mk_entry e = { .kind = (u32)(w[1] >> 32), .word = { w[2], w[3], w[4] } };
	u32 group = (u32)w[1], names = group == MK_GROUP_OF_NAMES;
	int own = e.kind == ENTRY_MESSAGE			  ? !names
		  : e.kind == ENTRY_JOIN || e.kind == ENTRY_LEAVE ? e.word[0] >> 32 == from
		  : e.kind == ENTRY_NAME || e.kind == ENTRY_UNNAME
			  ? names && e.word[2] >> 48 == from
			  : names && e.kind == ENTRY_TOPIC;
	s32 status = MON_EINVAL;

	if (own && group < MK_GROUPS && mk_ordered_home(&m->ordered, group) == m->core) {
		if (!mk_ordered_propose(&m->ordered, from, (u32)w[0], group, &e))
			return;
		status = MON_EBUSY;
	}
	PEER(m, from, PEER_ORDERED, w[0], (u32)status);
}

int mk_ordered_agree(struct mk_ordered *o, u32 group, const struct mk_entry *e, u32 cookie)
{
	/* Beyond all memory. */
	u64 object[2] = { MK_TOPIC | group, 1 };

	return mk_commit_begin(&monitor_of_ordered(o)->commit, 2,
			       AGREE_ENTRY | e->kind << KIND_SHIFT, object, e->word, cookie);
}

void mk_ordered_over(struct mk_ordered *o, u32 core, u32 op, s32 status, u32 value)
{
	s32 said = status == -WEIR_EBUSY ? MON_EBUSY : status;

	PEER(monitor_of_ordered(o), core, PEER_ORDERED, op, (u32)said | (u64)value << 32);
}

int mk_ordered_deliver(struct mk_ordered *o, u32 client, u32 group, u32 index,
		       const struct mk_entry *e)
{
	u64 w[4] = { MON_EVENT | (u64)e->kind << 8 | (u64)group << 16 | (u64)index << 32,
		     e->word[0], e->word[1], e->word[2] };

	return mk_client_try(monitor_of_ordered(o), client, w);
}

/* --- what clients ask of groups --------------------------------------------------------------------------------- */

/* The monitor proposes it itself, and tries again until it is appended. */
static void add_chore(struct mk_monitor *m, u32 group, u32 kind, u64 a, u64 c)
{
	for (u32 i = 0; i < MK_CHORES; i++) {
		if (m->chore[i].state)
			continue;
		m->chore[i] = (struct mk_chore){ 1, group, { kind, 0, { a, 0, c } } };
		return;
	}
}

/* The record of a member, in entries. */
static u64 member(const struct mk_monitor *m, u32 client)
{
	return (u64)m->core << 32 | client;
}

static int has_group(struct mk_monitor *m, u64 group)
{
	return group < MK_GROUPS && iref_find(m, MK_TOPIC | group);
}

/* A client's proposal; its kind is kept for the end. */
static void ask_entry(struct mk_monitor *m, u32 client, u32 group, u32 kind, u64 a, u64 b, u64 c)
{
	u32 op = mk_pending_new(m, PENDING_ORDERED, client);

	if (op == ~0u) {
		if (kind == ENTRY_JOIN)
			mk_ordered_drop(&m->ordered, client, group);
		mk_answer_client(m, client, MON_EBUSY, 0, 0, 0);
		return;
	}
	m->pending[op].word[0] = kind;
	m->pending[op].word[1] = group;
	m->pending[op].word[2] = a;
	propose(m, op, group, kind, a, b, c);
}

static void subscribe(struct mk_monitor *m, u32 client, u64 group)
{
	int err = group && !has_group(m, group)
			  ? -WEIR_ENOENT
			  : mk_ordered_reserve(&m->ordered, client, (u32)group);

	if (err)
		mk_answer_client(m, client,
				 err == -WEIR_ENOENT  ? MON_EUNKNOWN
				 : err == -WEIR_EBUSY ? MON_EUSED
						      : MON_EROOM,
				 0, 0, 0);
	else
		ask_entry(m, client, (u32)group, ENTRY_JOIN, member(m, client), 0, 0);
}

static void unsubscribe(struct mk_monitor *m, u32 client, u64 group)
{
	int was = group < MK_GROUPS && mk_ordered_drop(&m->ordered, client, (u32)group);

	if (was)
		add_chore(m, (u32)group, ENTRY_LEAVE, member(m, client), 0);
	mk_answer_client(m, client, was ? MON_OK : MON_EUNKNOWN, 0, 0, 0);
}

static void publish(struct mk_monitor *m, u32 client, const u64 *w)
{
	u64 group = w[0] >> 32;

	if (!has_group(m, group))
		mk_answer_client(m, client, MON_EUNKNOWN, 0, 0, 0);
	else
		ask_entry(m, client, (u32)group, ENTRY_MESSAGE, w[1], w[2], w[3]);
}

static void name_over(struct mk_monitor *m, struct mk_pending *p, s32 status);

/* A proposal of this core is over. */
static void ordered(struct mk_monitor *m, const u64 *w)
{
	struct mk_pending *p = w[0] < MK_PENDING ? &m->pending[w[0]] : 0;
	s32 status = (s32)w[1];
	struct mk_pending was;
	int gone; /* the client has ended meanwhile */

	if (!p)
		return;
	was = *p;
	switch (p->kind) {
	case PENDING_EXPORT:
		name_over(m, p, status);
		return;
	case PENDING_CHORE:
		/* What cannot be done any more is done. */
		m->chore[was.word[0]].state = status == MON_EBUSY ? 1 : 0;
		p->kind = PENDING_NONE;
		return;
	case PENDING_ORDERED:
		p->kind = PENDING_NONE;
		gone = was.client == ~0u;
		if (was.word[0] == ENTRY_JOIN && (status || gone))
			mk_ordered_drop(&m->ordered, (u32)was.word[2], (u32)was.word[1]);
		if (was.word[0] == ENTRY_JOIN && !status && gone)
			add_chore(m, (u32)was.word[1], ENTRY_LEAVE, was.word[2], 0);
		if (!gone)
			mk_answer_client(m, was.client, status, w[1] >> 32, 0, 0);
		return;
	}
}

int mk_monitor_pump(struct mk_monitor *m)
{
	int more = mk_ordered_pump(&m->ordered);

	for (u32 i = 0; i < MK_CHORES; i++) {
		struct mk_chore *c = &m->chore[i];
		u32 op = c->state == 1 ? mk_pending_new(m, PENDING_CHORE, ~0u) : ~0u;

		if (op != ~0u) {
			c->state = 2;
			m->pending[op].word[0] = i;
			propose(m, op, c->group, c->entry.kind, c->entry.word[0], c->entry.word[1],
				c->entry.word[2]);
		}
		more |= c->state == 1;
	}
	return more;
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
		propose(m, op, MK_GROUP_OF_NAMES, ENTRY_NAME, w[1], w[2], m->export[i].iref);
		return;
	}
	if (op != ~0u)
		m->pending[op].kind = PENDING_NONE;
	mk_answer_client(m, client, MON_EROOM, 0, 0, 0);
}

static void name_over(struct mk_monitor *m, struct mk_pending *p, s32 status)
{
	u32 client = p->client;

	for (u32 i = 0; i < MK_EXPORTS; i++) {
		struct mk_export *e = &m->export[i];

		if (!e->used || e->iref != p->iref)
			continue;
		/* Its client has ended meanwhile. */
		if (!status && client == ~0u)
			add_chore(m, MK_GROUP_OF_NAMES, ENTRY_UNNAME, 0, e->iref);
		if (status || client == ~0u)
			e->used = 0;
	}
	p->kind = PENDING_NONE;
	if (client != ~0u)
		mk_answer_client(m, client, status, 0, 0, 0);
}

static void bind_over(struct mk_monitor *m, struct mk_pending *p, s32 status, u64 channel, u64 core)
{
	u32 client = p->client;

	p->kind = PENDING_NONE;
	mk_answer_client(m, client, status, channel, core, 0);
}

/* The name is looked up here; the service's monitor asks the service. */
static void bind(struct mk_monitor *m, u32 client, const u64 *w)
{
	struct mk_name *n = w[1] || w[2] ? name_find(m, w[1], w[2]) : 0;
	u32 op = n ? mk_pending_new(m, PENDING_BIND, client) : ~0u;

	if (op == ~0u || n->iref >> 48 >= m->nr) {
		if (op != ~0u)
			m->pending[op].kind = PENDING_NONE;
		mk_answer_client(m, client, n && op == ~0u ? MON_EROOM : MON_EUNKNOWN, 0, 0, 0);
		return;
	}
	m->pending[op].iref = n->iref;
	PEER(m, n->iref >> 48, PEER_BIND, op, n->iref, client);
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

/* A dispatcher may wake those of its own program, wherever they are. */
static void sibling(struct mk_monitor *m, u32 client, const u64 *w)
{
	u32 op = w[1] < m->nr ? mk_pending_new(m, PENDING_SIBLING, client) : ~0u;

	if (op == ~0u) {
		mk_answer_client(m, client, w[1] < m->nr ? MON_EROOM : MON_EINVAL, 0, 0, 0);
		return;
	}
	m->pending[op].core = (u32)w[1];
	m->pending[op].word[0] = w[2];
	m->pending[op].word[1] = w[3];
	PEER(m, w[1], PEER_SIBLING, op, mk_client_domain(m, client), w[2]);
}

static void sibling_over(struct mk_monitor *m, const u64 *w)
{
	struct mk_pending *p = pending(m, w[0], PENDING_SIBLING);
	s32 status = (s32)w[1];
	u64 slot = 0;
	u32 client;

	if (!p)
		return;
	client = p->client;
	if (!status)
		status = mk_waker_make(m, client, p->core, (u32)p->word[0], p->word[1] % 63, &slot);
	p->kind = PENDING_NONE;
	mk_answer_client(m, client, status, slot, 0, 0);
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
	if (mk_commit_begin(&m->commit, 2, retype ? AGREE_RETYPE : AGREE_REVOKE, object, 0, op)) {
		m->pending[op].kind = PENDING_NONE;
		mk_answer_client(m, client, MON_EBUSY, 0, 0, 0);
	}
}

void mk_commit_send(struct mk_commit *c, u32 core, const struct mk_commit_message *msg)
{
	u64 words[MK_PEER_WORDS] = { msg->step | (u64)msg->answers << 8 | (u64)msg->value << 16 |
					     (u64)msg->command << 32,
				     msg->id,
				     msg->object[0],
				     msg->object[1],
				     msg->word[0],
				     msg->word[1],
				     msg->word[2] };

	mk_peer_send(monitor_of(c), core, PEER_COMMIT, words);
}

int mk_commit_may(struct mk_commit *c, const struct mk_commit_message *msg)
{
	struct mk_monitor *m = monitor_of(c);

	if ((msg->command & 0xff) == AGREE_ENTRY)
		return mk_ordered_may(&m->ordered, msg->object[0] % MK_GROUPS);
	return msg->command == AGREE_REVOKE || !mk_memory_used(m, msg->object);
}

void mk_commit_do(struct mk_commit *c, const struct mk_commit_message *msg)
{
	struct mk_monitor *m = monitor_of(c);
	struct mk_pending *p;

	if ((msg->command & 0xff) == AGREE_ENTRY) {
		struct mk_entry e = { .kind = msg->command >> KIND_SHIFT,
				      .word = { msg->word[0], msg->word[1], msg->word[2] } };

		mk_ordered_append(&m->ordered, msg->object[0] % MK_GROUPS, &e,
				  (msg->id & 0xff) == c->core ? msg->cookie : ~0u);
	} else if (msg->command == AGREE_REVOKE) {
		mk_memory_revoke(m, msg->object);
	} else if ((msg->id & 0xff) == c->core) {
		p = &m->pending[msg->cookie];
		p->core = (u32)mk_memory_retype(m, p->client, msg->object, p->word[0], p->word[1]);
	}
}

void mk_commit_over(struct mk_commit *c, const struct mk_commit_message *msg, u32 value)
{
	struct mk_monitor *m = monitor_of(c);
	u32 cookie = msg->cookie;
	struct mk_pending p;
	s32 status = value == MK_COMMIT_YES    ? MON_OK
		     : value == MK_COMMIT_BUSY ? MON_EBUSY
					       : MON_EUSED;

	if ((msg->command & 0xff) == AGREE_ENTRY) {
		mk_ordered_agreed(&m->ordered, cookie, value == MK_COMMIT_YES);
		return;
	}
	p = m->pending[cookie];
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
	case MON_SIBLING:
		sibling(m, client, w);
		return;
	case MON_TOPIC:
		ask_entry(m, client, MK_GROUP_OF_NAMES, ENTRY_TOPIC, w[1], w[2], 0);
		return;
	case MON_SUBSCRIBE:
		subscribe(m, client, w[1]);
		return;
	case MON_UNSUBSCRIBE:
		unsubscribe(m, client, w[1]);
		return;
	case MON_PUBLISH:
		publish(m, client, w);
		return;
	}
	mk_answer_client(m, client, MON_EINVAL, 0, 0, 0);
}

void mk_monitor_peer(struct mk_monitor *m, u32 from, u32 kind, const u64 *w)
{
	s32 status;
	u64 out = 0;

	if (mk_other_peer(m, from, kind, w))
		return;
	switch (kind) {
	case PEER_PROPOSE:
		proposed(m, from, w);
		return;
	case PEER_ORDERED:
		ordered(m, w);
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
	case PEER_SIBLING:
		PEER(m, from, PEER_SIBLING_DONE, w[0],
		     (u32)(mk_is_sibling(m, (u32)w[1], (u32)w[2]) ? MON_OK : MON_EUNKNOWN));
		return;
	case PEER_SIBLING_DONE:
		sibling_over(m, w);
		return;
	case PEER_COMMIT: {
		struct mk_commit_message msg = { .step = w[0] & 0xff,
						 .answers = w[0] >> 8 & 0xff,
						 .value = w[0] >> 16 & 3,
						 .id = (u32)w[1],
						 .object = { w[2], w[3] },
						 .word = { w[4], w[5], w[6] },
						 .command = (u32)(w[0] >> 32) };

		mk_commit_receive(&m->commit, from, &msg);
		return;
	}
	}
}

/* Whether a name is still being registered; its end follows then. */
static int naming(const struct mk_monitor *m, u64 iref)
{
	for (u32 i = 0; i < MK_PENDING; i++)
		if (m->pending[i].kind == PENDING_EXPORT && m->pending[i].iref == iref)
			return 1;
	return 0;
}

void mk_monitor_gone(struct mk_monitor *m, u32 client)
{
	for (u32 i = 0; i < MK_EXPORTS; i++) {
		struct mk_export *e = &m->export[i];

		if (!e->used || e->client != client || naming(m, e->iref))
			continue;
		e->used = 0;
		add_chore(m, MK_GROUP_OF_NAMES, ENTRY_UNNAME, 0, e->iref);
	}
	for (u32 group = 0; group < MK_GROUPS; group++) {
		if (!mk_ordered_drop(&m->ordered, client, group))
			continue;
		add_chore(m, group, ENTRY_LEAVE, member(m, client), 0);
		/* It has joined here, though the answer is still on the way: it leaves once. */
		for (u32 i = 0; i < MK_PENDING; i++)
			if (m->pending[i].kind == PENDING_ORDERED &&
			    m->pending[i].client == client && m->pending[i].word[0] == ENTRY_JOIN &&
			    m->pending[i].word[1] == group)
				m->pending[i].word[0] = 0;
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
	mk_monitor_pump(m);
}
