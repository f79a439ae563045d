/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Boot, and traps. */
#include "kernel.h"

struct hart harts[MAX_HARTS];
u8 kernel_stacks[(MAX_HARTS + 1) << STACK_SHIFT] __attribute__((aligned(16)));

void trap_entry_long(void);

#define CAUSE_INTERRUPT	 (1ull << 63)
#define CAUSE_TIMER	 (CAUSE_INTERRUPT | 7)
#define CAUSE_EXTERNAL	 (CAUSE_INTERRUPT | 11)
#define CAUSE_ILLEGAL	 2
#define CAUSE_CALL	 8
#define IS_ACCESS(cause) ((cause) == 1 || (cause) == 5 || (cause) == 7)

/* An event came while a dispatcher ran; it continues, or another one runs. */
static u64 *after_interrupt(struct hart *h, u64 *area)
{
	struct kdcb *k = h->current;

	events(h);
	while (!h->resched) {
		u64 due = next_due(h);

		if (now(h) < h->turn_end && now(h) < due) {
			turn_arm(h, due);
			k->block->base = h->base;
			k->block->start = h->start;
			return area;
		}
		if (now(h) >= h->turn_end)
			turn_pass(h, 0);
		events(h);
	}
	home_lock(h, k->home);
	k->state = area == (u64 *)k->block->enabled ? STATE_ENABLED : STATE_DISABLED;
	return preempt(h, h->resched == 2 ? WHY_SLICE : WHY_PREEMPTED);
}

/* A fault of the program: it gets an upcall, or the kernel ends it. */
static u64 *fault(struct hart *h, u64 cause, u64 value, u64 *area)
{
	struct kdcb *k = h->current;
	struct mk_dcb *d = k->block;
	int enabled = area == (u64 *)d->enabled;
	u64 entry = !IS_ACCESS(cause) ? d->trap : enabled ? d->fault : d->fault_disabled;

	if (!entry || ++k->faults > 2) {
		retire(h, k, 0, cause + 1);
		return next(h);
	}
	if (!enabled)
		memcpy((void *)d->trapped, (void *)d->saved, sizeof(d->trapped));
	d->fault_address = value;
	d->fault_cause = cause;
	d->disabled = 1;
	h->n.upcalls++;
	h->fresh[0] = entry;
	h->fresh[10] = (u64)d;
	return h->fresh;
}

static u64 *call(struct hart *h, u64 *area)
{
	struct kdcb *k = h->current;
	int enabled = area == (u64 *)k->block->enabled;

	area[0] += 4;
	k->faults = 0;
	switch (area[17]) {
	case SYS_YIELD: {
		struct kdcb *to = 0;

		if (area[10]) {
			struct cap *c = &k->cap[area[10] % NR_SLOTS];

			if (area[10] >= NR_SLOTS || c->type != CAP_ENDPOINT) {
				area[10] = MK_ECAP;
				return area;
			}
			to = (struct kdcb *)c->object;
		}
		area[10] = MK_OK;
		k->state = enabled ? STATE_ENABLED : STATE_DISABLED;
		return yield(h, to);
	}
	case SYS_INVOKE:
		k->state = enabled ? STATE_ENABLED : STATE_DISABLED;
		area[10] = invoke(h, k, area);
		if (h->current != k)
			return next(h);
		k->state = STATE_RUNNING;
		return area;
	case SYS_LMP:
		k->state = enabled ? STATE_ENABLED : STATE_DISABLED;
		return message(h, k, area);
	}
	area[10] = MK_EINVAL;
	return area;
}

u64 *trap(u64 cause, u64 value, u64 *area)
{
	struct hart *h = self();

	if (SHARED)
		weir_store(&h->inside, 1);
	if (cause == CAUSE_CALL) {
		home_lock(h, h->current->home);
		area = call(h, area);
	} else if (cause & CAUSE_INTERRUPT) {
		h->current->faults = 0;
		if (cause == CAUSE_EXTERNAL)
			interrupt_external(h);
		area = after_interrupt(h, area);
	} else if (cause != CAUSE_ILLEGAL || !fp_give(h)) {
		home_lock(h, h->current->home);
		area = fault(h, cause, value, area);
	}
	/* Effects of a call are handled at once, by an interrupt. */
	if (h->rearm || h->resched) {
		h->rearm = 0;
		turn_arm(h, h->resched ? 0 : next_due(h));
	}
	leave(h);
	return area;
}

void boot(u64 cpu)
{
	struct hart *h = self();
	struct boot *boot = boot_record();

	if (cpu >= MAX_HARTS || cpu >= boot->harts)
		return;
	if (SHARED)
		weir_store(&h->inside, 1);
	turn_begin(h);
	CSR_WRITE(mcounteren, 7);
	CSR_WRITE(scounteren, 7);
	/* The short way takes no lock. */
	if (SHARED || boot->flags & BOOT_MESSAGES)
		CSR_WRITE(mtvec, trap_entry_long);
	h->started = 1;
	interrupt_start(h);
	sched_start(h);
	home_lock(h, h->cpu);
	/* The monitor comes first on each hart: it is dispatcher 0. */
	for (u32 i = 0; i < boot->nr_images; i++)
		if (boot->image[i].hart == cpu && boot->image[i].flags & IMAGE_MONITOR)
			create(h, cpu, i, 0, boot->mesh);
	for (u32 i = 0; i < boot->nr_images; i++)
		if (boot->image[i].hart == cpu && !(boot->image[i].flags & IMAGE_MONITOR))
			create(h, cpu, i, 0, 0);
	{
		u64 *area;

		area = next(h);
		turn_arm(h, next_due(h));
		leave(h);
		go(area);
	}
}
