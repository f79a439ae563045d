/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Capabilities: what a dispatcher may do. They are in kernel memory and named by slot, so none can be forged. All capabilities of a home
 * are in one list, each behind its parent and one level deeper, so its descendants follow it directly. Memory that other cores know is
 * retyped and revoked by agreement of the monitors. Source: 1, 1.5.
 */
#include "kernel.h"

void cap_put(struct hart *h, struct cap *c, struct kdcb *owner, const struct cap *what,
	     struct cap *parent)
{
	*c = *what;
	c->owner = owner->home << 8 | owner->number;
	c->depth = parent ? parent->depth + 1 : 0;
	c->remote = parent ? parent->remote : what->remote;
	c->prev = parent;
	c->next = parent ? parent->next : harts[owner->home].caps;
	if (parent)
		parent->next = c;
	else
		harts[owner->home].caps = c;
	if (c->next)
		c->next->prev = c;
	h->n.capabilities++;
}

struct cap *cap_free_slot(struct kdcb *k, u32 from)
{
	for (u32 i = from; i < SLOT_CLIENTS; i++)
		if (!k->cap[i].type)
			return &k->cap[i];
	return 0;
}

static u64 encoded(const struct cap *c)
{
	return (c->object | (c->bytes / 2 - 1)) >> 2;
}

static int map(struct hart *h, struct kdcb *k, const struct cap *c)
{
	u32 n = k->nr_regions;

	for (u32 i = 3; i < n; i++)
		if (k->region[i] == encoded(c))
			return MK_OK;
	if (n >= MAX_REGIONS)
		return MK_EROOM;
	k->region[n] = encoded(c);
	k->config[n / 8] |= (0x18ull | (c->rights & (RIGHT_READ | RIGHT_WRITE))) << n % 8 * 8;
	k->nr_regions++;
	regions_changed(h, k);
	return MK_OK;
}

static int unmap(struct hart *h, struct kdcb *k, u64 which)
{
	u32 n, last = k->nr_regions - 1;

	for (n = 3; n <= last && k->region[n] != which; n++)
		;
	if (n > last)
		return MK_EINVAL;
	k->region[n] = k->region[last];
	k->config[n / 8] &= ~(0xffull << n % 8 * 8);
	k->config[n / 8] |= (k->config[last / 8] >> last % 8 * 8 & 0xff) << n % 8 * 8;
	k->config[last / 8] &= ~(0xffull << last % 8 * 8);
	k->nr_regions--;
	regions_changed(h, k);
	return MK_OK;
}

void cap_delete(struct hart *h, struct cap *c)
{
	struct kdcb *owner = &dispatchers[c->owner >> 8][c->owner & 0xff];

	/* In no list. */
	if (c->type == CAP_DEAD) {
		*c = (struct cap){ 0 };
		return;
	}
	if (c->type == CAP_FRAME && owner->block) {
		u32 others = 0;

		for (u32 i = 0; i < NR_SLOTS; i++)
			others += &owner->cap[i] != c && owner->cap[i].type == CAP_FRAME &&
				  encoded(&owner->cap[i]) == encoded(c);
		if (!others)
			unmap(h, owner, encoded(c));
	}
	if (c->prev)
		c->prev->next = c->next;
	else
		harts[owner->home].caps = c->next;
	if (c->next)
		c->next->prev = c->prev;
	*c = (struct cap){ 0 };
}

/*
 * Its object has ended. The owner's slot is not free yet, because the owner deletes what it knows by its number. Slots of clients are the
 * kernel's to fill.
 */
void cap_die(struct hart *h, struct cap *c)
{
	struct kdcb *owner = &dispatchers[c->owner >> 8][c->owner & 0xff];
	u32 slot = (u32)(c - owner->cap);

	cap_delete(h, c);
	if (slot < SLOT_CLIENTS)
		c->type = CAP_DEAD;
}

u32 cap_revoke(struct hart *h, struct cap *c)
{
	u32 nr = 0;

	while (c->next && c->next->depth > c->depth) {
		cap_delete(h, c->next);
		nr++;
	}
	return nr;
}

static int is_memory(const struct cap *c)
{
	return c->type == CAP_RAM || c->type == CAP_FRAME;
}

/* Whether memory of [base, base + bytes) has been retyped, except to raw memory as large as @whole. */
static u32 used(const struct kdcb *k, u64 base, u64 bytes, u64 whole)
{
	u32 nr = 0;

	for (struct cap *c = harts[k->home].caps; c; c = c->next)
		if (is_memory(c) && c->object < base + bytes && base < c->object + c->bytes)
			nr += c->type == CAP_FRAME || c->bytes < whole;
	return nr;
}

/* An empty slot for @nr of the caller, or null. */
static struct cap *empty(struct kdcb *k, u64 nr)
{
	return nr && nr < NR_SLOTS && !k->cap[nr].type ? &k->cap[nr] : 0;
}

static s64 retype(struct hart *h, struct kdcb *k, struct cap *c, u64 type, u64 bytes, u64 offset,
		  u64 slot)
{
	struct cap *to = empty(k, slot), what = *c;

	if (c->type != CAP_RAM)
		return MK_ECAP;
	if ((type != CAP_RAM && type != CAP_FRAME) || bytes < 4096 || bytes & (bytes - 1) ||
	    offset % bytes || offset > c->bytes || bytes > c->bytes - offset)
		return MK_EINVAL;
	if (!to)
		return slot && slot < NR_SLOTS ? MK_EBUSY : MK_EINVAL;
	if (c->remote)
		return MK_EREMOTE;
	if (used(k, c->object + offset, bytes, c->bytes))
		return MK_EUSED;
	what.type = type;
	what.object += offset;
	what.bytes = bytes;
	cap_put(h, to, k, &what, c);
	if (type == CAP_FRAME)
		memset((void *)what.object, 0, bytes);
	return MK_OK;
}

static void identify(const struct cap *c, u64 *area)
{
	area[10] = c->type;
	area[11] = is_memory(c)					 ? c->object
		   : c->type == CAP_NOTIFY || c->type == CAP_IRQ ? c->object
								 : 0;
	area[12] = is_memory(c) ? c->bytes : c->badge;
	area[13] = c->rights | (u64)c->remote << 8;
	if (c->type == CAP_DISPATCHER)
		area[13] |= (u64)((struct kdcb *)c->object)->domain << 16;
}

static s64 kernel(struct hart *h, struct kdcb *k, u64 *area)
{
	u64 a = area[12], b = area[13], c = area[14], d = area[15];
	struct kdcb *other = 0;

	switch (area[11]) {
	case CMD_CREATE:
		if (a >= boot_record()->nr_images)
			return MK_EINVAL;
		other = create(h, k->home, a, b, c);
		if (!other)
			return MK_EROOM;
		area[11] = other->number;
		return MK_OK;
	case CMD_KILL:
		if (a >= MAX_DISPATCHERS || !dispatchers[k->home][a].block)
			return MK_EDEAD;
		end(h, &dispatchers[k->home][a], 0, 64);
		return MK_OK;
	case CMD_GRANT: {
		struct cap *slot;

		if (a >= NR_SLOTS || !k->cap[a].type || b >= MAX_DISPATCHERS ||
		    !dispatchers[k->home][b].block)
			return MK_EINVAL;
		other = &dispatchers[k->home][b];
		slot = cap_free_slot(other, SLOT_FREE);
		if (!slot)
			return MK_EROOM;
		cap_put(h, slot, other, &k->cap[a], &k->cap[a]);
		if (c && slot->type == CAP_ENDPOINT)
			slot->badge = c & 0xffffffffffff;
		area[11] = slot - other->cap;
		return MK_OK;
	}
	case CMD_FORGE: {
		struct cap *slot = cap_free_slot(k, SLOT_FREE);

		if (a != CAP_FRAME && a != CAP_NOTIFY && a != CAP_RAM)
			return MK_EINVAL;
		if (!slot)
			return MK_EROOM;
		cap_put(h, slot, k,
			&(struct cap){ .type = a,
				       .object = b,
				       .rights = d & RIGHT_ALL,
				       .remote = a != CAP_NOTIFY,
				       .bytes = a == CAP_NOTIFY ? 0 : c,
				       .badge = a == CAP_NOTIFY ? c : 0 },
			0);
		area[11] = slot - k->cap;
		return MK_OK;
	}
	case CMD_PUBLISH:
		if (b != ~0ull && (b >= MAX_DISPATCHERS || !dispatchers[k->home][b].block))
			return MK_EDEAD;
		other = b == ~0ull ? 0 : &dispatchers[k->home][b];
		return publish(h, other, k->home, a, c, d) ? MK_EINVAL : MK_OK;
	case CMD_OVERLAP: {
		u32 nr = 0;

		for (struct cap *at = harts[k->home].caps, *after; at; at = after) {
			after = at->next;
			if (!is_memory(at) || at->object >= a + b || a >= at->object + at->bytes)
				continue;
			if (at->type == CAP_FRAME || at->bytes < b) {
				nr++;
				if (c & 1)
					cap_delete(h, at);
			} else if (c & 2 && at->object == a && at->bytes == b) {
				cap_delete(h, at);
			}
		}
		area[11] = nr;
		return MK_OK;
	}
	case CMD_FIND:
		if (a >= MAX_DISPATCHERS || !dispatchers[k->home][a].block || b >= NR_SLOTS)
			return MK_EINVAL;
		identify(&dispatchers[k->home][a].cap[b], area);
		return area[10];
	case CMD_REMOTE:
		for (struct cap *at = harts[k->home].caps; at; at = at->next)
			if (is_memory(at) && at->object < a + b && a < at->object + at->bytes)
				at->remote = 1;
		return MK_OK;
	}
	return MK_EINVAL;
}

static s64 dispatcher(struct hart *h, struct kdcb *k, const struct cap *cap, u64 *area)
{
	/* What a program may report about its own dispatcher to the policy. */
	static const u64 may = WEIR_TOPIC_BIT(PRIORITY) | WEIR_TOPIC_BIT(DEADLINE) |
			       WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(WEIGHT) |
			       WEIR_TOPIC_BIT(GROUP) | WEIR_TOPIC_BIT(LATENCY);
	struct kdcb *of = (struct kdcb *)cap->object;
	u64 a = area[12], b = area[13];
	struct cap *slot;

	if (!of->block)
		return MK_EDEAD;
	switch (area[11]) {
	case CMD_SET:
		if (a >= 64 || !(may >> a & 1))
			return MK_ERIGHT;
		return publish(h, of, of->home, a, b, area[14]) ? MK_EINVAL : MK_OK;
	case CMD_TIMER:
		weir_store(&of->timer, a);
		if (SHARED && of->home != h->cpu)
			prod(h, of->home);
		else
			h->rearm = 1;
		return MK_OK;
	case CMD_EXIT:
		end(h, of, a, 0);
		return MK_OK;
	case CMD_ENDPOINT:
	case CMD_NOTIFY:
		slot = empty(k, a);
		if (!slot)
			return MK_EBUSY;
		if (area[11] == CMD_ENDPOINT)
			cap_put(h, slot, k,
				&(struct cap){ .type = CAP_ENDPOINT,
					       .rights = RIGHT_ALL,
					       .object = (u64)of,
					       .badge = b & 0xffffffffffff },
				0);
		else
			cap_put(h, slot, k,
				&(struct cap){ .type = CAP_NOTIFY,
					       .rights = RIGHT_ALL,
					       .object = (u64)of->home << 32 | of->number,
					       .badge = b % 63 },
				0);
		return MK_OK;
	case CMD_MARK:
		trace(h, TRACE_MARK, of->id, a, b);
		return MK_OK;
	}
	return MK_EINVAL;
}

s64 invoke(struct hart *h, struct kdcb *k, u64 *area)
{
	u64 nr = area[10], command = area[11], a = area[12], b = area[13];
	struct cap *c = &k->cap[nr % NR_SLOTS], *slot;

	if (nr >= NR_SLOTS || !c->type)
		return MK_ECAP;
	switch (command) {
	case CMD_IDENTIFY:
		identify(c, area);
		return area[10];
	case CMD_COPY:
		slot = empty(k, a);
		if (!slot)
			return MK_EBUSY;
		if (!(c->rights & RIGHT_GRANT))
			return MK_ERIGHT;
		{
			struct cap what = *c;

			what.rights &= b;
			cap_put(h, slot, k, &what, c);
		}
		return MK_OK;
	case CMD_DELETE:
		if (nr == SLOT_SELF)
			return MK_EINVAL;
		cap_delete(h, c);
		return MK_OK;
	case CMD_REVOKE:
		if (c->remote)
			return MK_EREMOTE;
		area[11] = cap_revoke(h, c);
		return MK_OK;
	}
	switch (c->type) {
	case CAP_RAM:
		return command == CMD_RETYPE ? retype(h, k, c, a, b, area[14], area[15])
					     : MK_EINVAL;
	case CAP_FRAME:
		return command == CMD_MAP     ? map(h, k, c)
		       : command == CMD_UNMAP ? unmap(h, k, encoded(c))
					      : MK_EINVAL;
	case CAP_DISPATCHER:
		return dispatcher(h, k, c, area);
	case CAP_NOTIFY:
		if (command != CMD_POKE)
			return MK_EINVAL;
		if (c->object >> 32 == k->home)
			notify(h, &dispatchers[k->home][(u32)c->object], 1ull << c->badge);
		else
			poke(h, c->object >> 32, (u32)c->object, 1ull << c->badge);
		return MK_OK;
	case CAP_IRQ:
		if (command == CMD_ACK) {
			interrupt_ack(c->object);
			return MK_OK;
		}
		if (command != CMD_BIND || a >= NR_SLOTS || k->cap[a].type != CAP_ENDPOINT)
			return MK_EINVAL;
		return interrupt_bind(c->object, (struct kdcb *)k->cap[a].object, k->cap[a].badge);
	case CAP_KERNEL:
		return kernel(h, k, area);
	}
	return MK_ECAP;
}
