/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Time of harts that run in parallel, without turns: in the emulator with a thread per hart, or on a processor. No two runs are alike. The
 * clock is the counter that programs read, too: the emulator has the host's time-stamp counter there, so a "nanosecond" is one of its counts
 * here. An inter-processor interrupt replaces the round. For tests: kernels overlap here, and never in turn.c.
 */
#include "kernel.h"

#ifdef BARE_PARALLEL

#define MTIME	       (*(volatile u64 *)0x200bff8)
#define MTIMECMP(hart) (*(volatile u64 *)(0x2004000 + 8ull * (hart)))
#define MSIP(hart)     (*(volatile u32 *)(0x2000000 + 4ull * (hart)))
#define ALL	       0x888 /* timer, software, external */
#define CALIBRATION    10000 /* counts of MTIME, 100 ns each */
#define LOOK	       10000 /* likewise: an idle hart looks whether the machine has to stop */
#define END	       400000000ull /* counts for the rest of the output */

struct remote remotes[MAX_HARTS];

static u64 origin, rate; /* of the counter; its counts for one of MTIME */

void turn_begin(struct hart *h)
{
	MTIMECMP(h->cpu) = NEVER;
	CSR_WRITE(mie, 0);
	if (h->cpu == 0) {
		u64 from = MTIME;

		origin = CSR_READ(minstret);
		while (MTIME - from < CALIBRATION)
			;
		weir_store_release(&rate, (CSR_READ(minstret) - origin) / CALIBRATION + 1);
	}
	while (!weir_load_acquire(&rate))
		weir_port_relax(0);
	h->base = 0;
	h->start = origin;
	h->turn_end = NEVER;
}

static void look(struct hart *h, u64 t)
{
	struct boot *boot = boot_record();
	u64 ended = weir_load(&ended_at);

	if (ended && t > ended + END)
		stop(STOP_DONE, 0, 0);
	if (boot->duration && t > boot->duration) {
		h->base = t;
		stop(STOP_TIME, 0, 0);
	}
}

/* An event comes too early rather than too late: its handler arms the timer again. */
void turn_arm(struct hart *h, u64 at)
{
	u64 t = now(h), wait = at > t ? (at - t) / rate : 0;

	look(h, t);
	MTIMECMP(h->cpu) = MTIME + (wait < LOOK ? wait : LOOK);
	CSR_WRITE(mie, ALL);
}

void turn_pass(struct hart *h, u64 until)
{
	h->n.turns++;
	if (!until)
		return;
	turn_arm(h, until);
	__asm__ volatile("wfi");
}

void prod(struct hart *from, u32 hart)
{
	(void)from;
	weir_store_release(&remotes[hart].any, 1);
	weir_fence();
	MSIP(hart) = 1;
}

void prodded(struct hart *h)
{
	MSIP(h->cpu) = 0;
	weir_fence();
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
