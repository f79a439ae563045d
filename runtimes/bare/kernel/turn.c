/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Time, and the turns of harts.
 *
 * The emulator counts instructions and runs one hart after the other, so its clock shows the total work of all harts. The machine's time
 * is different: it advances in rounds of one quantum. In a round every hart has a turn: it runs for one instruction per nanosecond of the
 * quantum, and reads a clock that begins at the round's time. An idle hart passes its turn on at once; if all are idle, the next round
 * begins at the next due time. So harts run in parallel as on a real machine with one instruction per nanosecond, independent of the
 * emulator's order: only the hart whose turn it is is awake.
 *
 * A hart's actions become visible to others up to a quantum late, but never early, because messages carry the sender's time.
 *
 * Only this file of the kernel depends on the emulator. parallel.c replaces it where harts run in parallel.
 */
#include "kernel.h"

#ifndef BARE_PARALLEL

#define MTIME	       (*(volatile u64 *)0x200bff8)
#define MTIMECMP(hart) (*(volatile u64 *)(0x2004000 + 8ull * (hart)))
#define MSIP(hart)     (*(volatile u32 *)(0x2000000 + 4ull * (hart)))
#define TICK	       100 /* ns of one count of MTIME */

struct remote remotes[MAX_HARTS];

static struct {
	u64 base; /* of this round */
	u32 holder;
	u32 unused;
	u64 until[MAX_HARTS]; /* idle until then; 0: busy */
} turns;

#ifdef BARE_EXACT
/* Take n instructions, and always the same number more. */
static void settle(u64 n)
{
	u64 odd;

	__asm__ volatile("andi %1, %0, 1\n\tbnez %1, 1f\n\tnop\n1:\taddi %0, %0, -2\n\tbgtz %0, 1b"
			 : "+r"(n), "=&r"(odd));
}

/*
 * For tests (tests/bare/inject.c): the emulator counts hundreds of instructions from the write on, so expiries lie at few places behind the
 * last time that the kernel set them. Here the write is delayed until the rest is a whole number of hundreds, and not repeated for the same
 * time.
 */
static u64 exact_at[MAX_HARTS];

static void set_exactly(struct hart *h, u64 at)
{
	u64 t = now(h), rest, m;

	CSR_WRITE(mie, 0x880);
	if (at == exact_at[h->cpu])
		return;
	exact_at[h->cpu] = at;
	if (at > t)
		settle((at - t) % TICK);
	rest = at > t ? (at - t) / TICK : 0;
	do {
		m = MTIME;
		MTIMECMP(h->cpu) = m + rest;
	} while (MTIME != m);
}
#endif

/* The time of the next round: at once, or when the first hart has work. */
static u64 next_round(struct hart *h)
{
	struct boot *boot = boot_record();
	u64 first = NEVER, base = turns.base + boot->quantum;

	for (u32 i = 0; i < boot->harts; i++) {
		u64 at = turns.until[i];

		if (weir_load(&remotes[i].any) && remotes[i].at < at)
			at = remotes[i].at;
		if (at < first)
			first = at;
	}
	/* The driver may run on another hart than the one that gets its interrupt. */
	if (SHARED && interrupt_waits())
		first = 0;
	if (first == NEVER) {
		if (!(boot->flags & BOOT_INPUT) || !programs_left())
			stop(programs_left() ? STOP_WAITING : STOP_DONE, 0, 0);
		CSR_WRITE(mie, 0x800);
		__asm__ volatile("wfi");
		CSR_WRITE(mie, 0x8);
		turns.until[0] = 1;
	} else if (first > base) {
		base = first;
	}
	if (ended_at && base > ended_at + GRACE_NS)
		stop(STOP_DONE, 0, 0);
	if (boot->duration && base >= boot->duration) {
		h->base = boot->duration;
		stop(STOP_TIME, 0, 0);
	}
	return base;
}

static void take(struct hart *h)
{
	h->n.turns++;
	h->base = turns.base > h->last ? turns.base : h->last;
	h->start = CSR_READ(minstret);
	h->turn_end = turns.base + boot_record()->quantum;
}

void turn_begin(struct hart *h)
{
	MTIMECMP(h->cpu) = NEVER;
	CSR_WRITE(mie, 0x8);
	while (weir_load_acquire(&turns.holder) != h->cpu)
		__asm__ volatile("wfi");
	MSIP(h->cpu) = 0;
	take(h);
}

void turn_pass(struct hart *h, u64 until)
{
	u32 next = h->cpu + 1;
	u64 t = now(h);

#ifdef BARE_EXACT
	exact_at[h->cpu] = NEVER;
#endif
	/* Idle for a part of the turn, or not at all if something came due on the way here. */
	if (until && until < h->turn_end && t < h->turn_end) {
		if (until > t)
			h->base += until - t;
		return;
	}
	h->last = now(h);
	turns.until[h->cpu] = until;
	MTIMECMP(h->cpu) = NEVER;
	CSR_WRITE(mie, 0x8);
	if (next == boot_record()->harts) {
		next = 0;
		turns.base = next_round(h);
	}
	weir_store_release(&turns.holder, next);
	if (next != h->cpu)
		MSIP(next) = 1;
	while (weir_load_acquire(&turns.holder) != h->cpu)
		__asm__ volatile("wfi");
	MSIP(h->cpu) = 0;
	take(h);
	/* An idle hart resumes at its time, within the round. */
	if (until) {
		if (weir_load(&remotes[h->cpu].any) && remotes[h->cpu].at < until)
			until = remotes[h->cpu].at;
		if (until != NEVER && until > h->base && until < h->turn_end)
			h->base = until;
	}
}

void turn_arm(struct hart *h, u64 at)
{
	u64 t = now(h);

	if (at > h->turn_end)
		at = h->turn_end;
#ifdef BARE_EXACT
	set_exactly(h, at);
	return;
#endif
	MTIMECMP(h->cpu) = MTIME + (at > t ? (at - t + TICK - 1) / TICK : 0);
	CSR_WRITE(mie, 0x880);
}

void prod(struct hart *from, u32 hart)
{
	struct remote *m = &remotes[hart];
	u64 at = now(from);

	if (!weir_load(&m->any) || at < m->at)
		m->at = at;
	weir_store_release(&m->any, 1);
}

void poke(struct hart *from, u32 hart, u32 dispatcher, u64 bits)
{
	struct remote *m = &remotes[hart];

	from->n.pokes++;
	weir_fetch_or(&m->notified[dispatcher % MAX_DISPATCHERS], bits);
	weir_store(&m->mine[dispatcher % MAX_DISPATCHERS], 1);
	prod(from, hart);
}

#endif
