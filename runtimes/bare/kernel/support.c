/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Functions that a C compiler and the core expect, the trace, and the machine's stop. */
#include "kernel.h"

#define FINISHER ((volatile u32 *)0x100000)

void *memset(void *p, int c, __SIZE_TYPE__ n)
{
	u8 *to = p;
	u64 word = (u8)c * 0x0101010101010101ull;

	for (; n && (u64)to % 8; n--)
		*to++ = (u8)c;
	for (; n >= 8; n -= 8, to += 8)
		*(u64 *)to = word;
	while (n--)
		*to++ = (u8)c;
	return p;
}

void *memcpy(void *p, const void *q, __SIZE_TYPE__ n)
{
	u8 *to = p;
	const u8 *from = q;

	if (((u64)to | (u64)from) % 8 == 0)
		for (; n >= 8; n -= 8, to += 8, from += 8)
			*(u64 *)to = *(const u64 *)from;
	while (n--)
		*to++ = *from++;
	return p;
}

void *memmove(void *p, const void *q, __SIZE_TYPE__ n)
{
	u8 *to = p;
	const u8 *from = q;

	if (to <= from)
		return memcpy(p, q, n);
	while (n--)
		to[n] = from[n];
	return p;
}

int memcmp(const void *a, const void *b, __SIZE_TYPE__ n)
{
	const u8 *x = a, *y = b;

	for (; n; n--, x++, y++)
		if (*x != *y)
			return *x - *y;
	return 0;
}

void trace(struct hart *h, u32 kind, u32 task, u64 a, u64 b)
{
	struct boot *boot = boot_record();
	struct trace_record *r;

	if (!(boot->flags & BOOT_TRACE) ||
	    ((kind == TRACE_LMP || kind == TRACE_NOTIFY) && !(boot->flags & BOOT_MESSAGES)))
		return;
	if (h->n.traced >= boot->trace_records) {
		h->n.dropped++;
		return;
	}
	r = (struct trace_record *)boot->trace + h->cpu * boot->trace_records + h->n.traced++;
	*r = (struct trace_record){ .time = now(h), .kind = kind, .task = task, .a = a, .b = b };
}

void stop(u32 why, s32 detail, const char *text)
{
	struct results *r = (struct results *)boot_record()->results;
	u32 i;

	/* It comes from the end of a turn, so no call of the core is under way. */
	for (i = 0; !PARALLEL && (why == STOP_DONE || why == STOP_TIME) &&
		    i < (SHARED ? 1 : boot_record()->harts);
	     i++) {
		int line = harts[i].sched ? weir_check(harts[i].sched) : 0;

		if (line) {
			why = STOP_BROKEN;
			detail = line;
			text = "the scheduler's state is not consistent: core/src/check.c has the "
			       "invariant in this line";
		}
	}
	r->why = why;
	r->detail = detail;
	r->time = PARALLEL ? now(self()) : self()->base;
	for (i = 0; text && text[i] && i + 1 < sizeof(r->text); i++)
		r->text[i] = text[i];
	for (i = 0; i < boot_record()->harts; i++) {
		struct hart *h = &harts[i];

		if (h->started && h->idle)
			h->n.idle_ns += r->time > h->idle_from ? r->time - h->idle_from : 0;
		h->n.messages_short = h->messages_short;
		if (h->sched)
			h->n.arena_bytes = h->sched->used - h->sched->freed;
		r->hart[i] = h->n;
	}
	r->magic = BOOT_MAGIC;
	weir_fence();
	*FINISHER = 0x5555;
	for (;;)
		__asm__ volatile("wfi");
}

void weir_port_fail(const char *what, const char *file, u32 line)
{
	(void)file;
	stop(STOP_BROKEN, (s32)line, what);
}

/* A trap from the kernel itself. */
void kernel_broken(u64 cause, u64 pc, u64 value)
{
	static char text[] = "trap in the kernel: cause 0x................ at 0x................, "
			     "address 0x................";
	u64 v[3] = { cause, pc, value };
	u32 n = 0;

	for (u32 i = 0; text[i]; i++)
		if (text[i] == '.') {
			text[i] = "0123456789abcdef"[v[n / 16] >> (60 - n % 16 * 4) & 15];
			n++;
		}
	stop(STOP_BROKEN, -1, text);
}
