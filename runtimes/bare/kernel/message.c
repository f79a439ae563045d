/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Messages between dispatchers of one core, the slow path: everything that start.S does not do. A waiting receiver runs at once, on the
 * sender's time; a busy one finds the message in its buffer. An answer lends no time, or a client of a service of high priority would have
 * that priority for as long as it likes. Source: 1, 2.3.
 */
#include "kernel.h"

int deliver(struct hart *h, struct kdcb *to, u64 badge, const u64 *words)
{
	struct mk_dcb *d = to->block;
	struct mk_lmp *slot;

	if (d->lmp_head - d->lmp_tail >= LMP_BUFFERS)
		return MK_EBUSY;
	slot = &d->buffer[d->lmp_head % LMP_BUFFERS];
	slot->badge = badge;
	for (u32 i = 0; i < 4; i++)
		slot->word[i] = words[i];
	/* Its dispatcher may run on another hart. */
	weir_store_release(&d->lmp_head, d->lmp_head + 1);
	d->haswork = 1;
	h->n.messages_buffered++;
	wake(h, to);
	return MK_OK;
}

static s64 check(struct hart *h, struct kdcb *k, u64 slot, u64 along, struct cap **out)
{
	struct cap *c = &k->cap[slot % NR_SLOTS];

	if (slot >= NR_SLOTS || c->type != CAP_ENDPOINT)
		return MK_ECAP;
	if (!((struct kdcb *)c->object)->block)
		return MK_EDEAD;
	if (along) {
		if (along >= NR_SLOTS || !k->cap[along].type)
			return MK_ECAP;
		if (!(k->cap[along].rights & RIGHT_GRANT))
			return MK_ERIGHT;
	}
	*out = c;
	return MK_OK;
}

/* Whether it may run on another one's time. If one scheduler is for all harts, another hart may have chosen one that is queued. */
static int may_borrow(const struct kdcb *k)
{
	return SHARED ? k->on == SCHED_BLOCKED : k->on != SCHED_RUNNING;
}

u64 *message(struct hart *h, struct kdcb *k, u64 *area)
{
	u64 flags = area[15], along = flags >> LMP_CAP_SHIFT, badge,
	    words[4] = { area[11], area[12], area[13], area[14] };
	struct cap *c;
	s64 err = check(h, k, area[10], along, &c);
	struct kdcb *to;
	struct mk_dcb *d;
	int waits;

	if (err) {
		area[10] = err;
		k->state = STATE_RUNNING;
		return area;
	}
	to = (struct kdcb *)c->object;
	d = to->block;
	badge = c->badge;
	waits = to != k && to->state == STATE_ENABLED && d->lmp_head == d->lmp_tail &&
		(to == h->charged || (may_borrow(to) && !(flags & (LMP_FINAL | LMP_ANSWER))));
	if (!waits && d->lmp_head - d->lmp_tail >= LMP_BUFFERS) {
		area[10] = MK_EBUSY;
		k->state = STATE_RUNNING;
		return area;
	}
	if (along) {
		struct cap *slot = cap_free_slot(to, SLOT_FREE);

		if (!slot) {
			area[10] = MK_EROOM;
			k->state = STATE_RUNNING;
			return area;
		}
		cap_put(h, slot, to, &k->cap[along], &k->cap[along]);
		badge |= (u64)(slot - to->cap) << 48;
	}
	h->n.messages_long++;
	trace(h, TRACE_LMP, k->id, to->id, !waits);
	area[10] = MK_OK;
	if (flags & LMP_FINAL)
		k->state = STATE_ENABLED;
	/* On its own time: the policy decides, and may let the sender continue. */
	if (!waits || flags & LMP_HANDOVER) {
		deliver(h, to, badge, words);
		if (flags & LMP_HANDOVER)
			return yield(h, to);
		if (flags & LMP_FINAL)
			return yield(h, 0);
		k->state = STATE_RUNNING;
		return area;
	}
	left(h, k);
	/* Back to the owner of the time, or to another dispatcher on the same time: the earlier lender is no longer involved. */
	if (k != h->charged) {
		h->current = 0;
		if (k->state == STATE_DISABLED || has_something(k))
			wake(h, k);
	}
	{
		u64 *fresh = dispatch(h, to);

		d->disabled = 1;
		d->haswork = 1;
		fresh[0] = d->lmp;
		fresh[10] = badge;
		for (u32 i = 0; i < 4; i++)
			fresh[11 + i] = words[i];
		fresh[15] = (u64)d;
		return fresh;
	}
}
