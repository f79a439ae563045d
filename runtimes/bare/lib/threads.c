/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Threads on the upcalls of one dispatcher. On Run: check the channels, then run the first ready thread. A thread that yields lets the
 * next one run; when all have yielded in this slice, the dispatcher yields. Source: 1, 1.4.
 */
#include "lib.h"

struct mk_result mk_invoke(u64 slot, u64 command, u64 a, u64 b, u64 c, u64 d)
{
	register u64 a0 __asm__("a0") = slot, a1 __asm__("a1") = command, a2 __asm__("a2") = a,
			a3 __asm__("a3") = b, a4 __asm__("a4") = c, a5 __asm__("a5") = d,
			a7 __asm__("a7") = SYS_INVOKE;

	__asm__ volatile("ecall"
			 : "+r"(a0), "+r"(a1), "+r"(a2), "+r"(a3), "+r"(a4), "+r"(a5), "+r"(a7)
			 :
			 : "memory", "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a6");
	return (struct mk_result){ (s64)a0, { a1, a2, a3 } };
}

static void yield_dispatcher(void)
{
	register u64 a0 __asm__("a0") = 0, a7 __asm__("a7") = SYS_YIELD;

	__asm__ volatile("ecall"
			 : "+r"(a0), "+r"(a7)
			 :
			 : "memory", "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a1", "a2",
			   "a3", "a4", "a5", "a6");
}

/* --- time ------------------------------------------------------------------------------------------------ */

u64 mk_now(void)
{
	struct mk_dcb *d = mk_self();
	u64 base, start, count;

	/* There may have been another turn in between. */
	do {
		base = d->base;
		start = d->start;
		__asm__ volatile("rdinstret %0" : "=r"(count)::"memory");
	} while (d->base != base || d->start != start);
	return base + (count - start);
}

void mk_work(u64 ns)
{
	u64 n = ns / 2 + 1;

	__asm__ volatile("1: addi %0, %0, -1\n\tbnez %0, 1b" : "+r"(n));
}

/* --- disabled ----------------------------------------------------------------------------------------------- */

void ready(struct mk_thread *t, int first)
{
	struct lib *l = lib();

	t->state = THREAD_READY;
	l->nr_ready++;
	if (first) {
		t->next = l->first;
		l->first = t;
		if (!t->next)
			l->last = &t->next;
		return;
	}
	t->next = 0;
	if (!l->first)
		l->last = &l->first;
	*l->last = t;
	l->last = &t->next;
}

/* Wait until unparked. The switch returns enabled, so disable again. */
void park(void)
{
	struct lib *l = lib();
	struct mk_thread *t = l->current;

	if (t->permit) {
		t->permit = 0;
		return;
	}
	t->state = THREAD_PARKED;
	l->current = 0;
	mk_switch_out(t->area);
	disable();
}

void unpark(struct mk_thread *t)
{
	if (t->state == THREAD_PARKED)
		ready(t, 0);
	else if (t->state != THREAD_GONE)
		t->permit = 1;
}

static void messages(void)
{
	struct mk_dcb *d = mk_self();

	/*
	 * Only those that are here: a client that is answered can send the next one at once, and would keep the ready threads from running
	 * forever. An expiry meanwhile goes first, too.
	 */
	for (u64 head = weir_load_acquire(&d->lmp_head); d->lmp_tail != head && !d->notified;) {
		struct mk_lmp *m = &d->buffer[d->lmp_tail % LMP_BUFFERS];
		u64 words[4] = { m->word[0], m->word[1], m->word[2], m->word[3] }, badge = m->badge;

		d->lmp_tail++;
		own_message(badge, words);
	}
}

/*
 * Wake the threads whose event has come. Notifications are cleared before the look at what they announce, and messages come last: the
 * answer to one may not return, which mk_answer() decides by the ready threads.
 */
static void look_around(void)
{
	struct lib *l = lib();
	/* In one step: with one scheduler for all harts the kernel of another one may add to it. */
	u64 was = __atomic_exchange_n(&mk_self()->notified, 0, __ATOMIC_ACQ_REL), t;

	t = l->sleeping ? mk_now() : 0;
	for (struct mk_channel *c = l->channels; c; c = c->next)
		if (c->waiting && ump_ready(&c->ump)) {
			struct mk_thread *w = c->waiting;

			c->waiting = 0;
			weir_store(&c->ump.rx->asleep, 0);
			unpark(w);
		}
	while (l->sleeping && l->sleeping->wake_at <= t) {
		struct mk_thread *w = l->sleeping;

		l->sleeping = w->next;
		ready(w, 0);
	}
	if (was & WAKE_BIT)
		take_inbox();
	/* It has fired; also if by the clock of this hart it has yet to. */
	if (l->timer <= t || was >> 63)
		l->timer = 0;
	messages();
}

static int quiet(void)
{
	struct mk_dcb *d = mk_self();
	struct lib *l = lib();

	if (d->lmp_tail != d->lmp_head || d->notified)
		return 0;
	for (struct mk_channel *c = l->channels; c; c = c->next)
		if (c->waiting && ump_ready(&c->ump))
			return 0;
	return 1;
}

void mk_choose(void)
{
	struct mk_dcb *d = mk_self();
	struct lib *l = lib();

	if (l->off) {
		struct mk_thread *off = l->off;

		l->off = 0;
		off_its_stack(off);
	}
	for (;;) {
		struct mk_thread *t;

		look_around();
		t = l->first;
		if (t) {
			l->first = t->next;
			if (!l->first)
				l->last = &l->first;
			l->nr_ready--;
			t->state = THREAD_RUNNING;
			l->current = t;
			if (d->fp || t->has_fp)
				mk_fp_load(t->fp);
			mk_resume(t->area);
		}
		/* Announce the sleep, then look for the last time: a sender after that look sees the announcement. */
		d->haswork = 0;
		for (struct mk_channel *c = l->channels; c; c = c->next)
			if (c->waiting)
				weir_store(&c->ump.rx->asleep, 1);
		weir_fence();
		if (l->sleeping && l->sleeping->wake_at != l->timer) {
			l->timer = l->sleeping->wake_at;
			mk_invoke(SLOT_SELF, CMD_TIMER, l->timer, 0, 0, 0);
		}
		if (!quiet() || (l->sleeping && l->sleeping->wake_at <= mk_now())) {
			d->haswork = 1;
			continue;
		}
		/* Enabled and without a thread: work from here on need not be resumed. The next entry is an upcall. */
		l->current = 0;
		enable();
		yield_dispatcher();
		disable();
		d->haswork = 1;
	}
}

/* --- upcalls ---------------------------------------------------------------------------------------------------- */

static void keep_current(int first)
{
	struct lib *l = lib();
	struct mk_thread *t = l->current;
	struct mk_dcb *d = mk_self();

	if (!t)
		return;
	for (u32 i = 0; i < 32; i++)
		t->area[i] = d->enabled[i];
	if (d->fp)
		mk_fp_save(t->fp);
	l->current = 0;
	ready(t, first);
}

/* The first thread of a program. */
void mk_main_entry(void);
void mk_main_entry(void)
{
	struct mk_dcb *d = mk_self();
	char **argv = mk_alloc((d->argc + 1) * sizeof(*argv)), *at = (char *)d->arguments;

	for (u64 i = 0; i < d->argc; i++) {
		argv[i] = at;
		while (*at++)
			;
	}
	argv[d->argc] = 0;
	mk_exit((u32)main((int)d->argc, argv));
}

/* The first thread of a dispatcher that the program requested. */
static void spawned(void)
{
	struct mk_dcb *d = mk_self();

	((void (*)(void *))d->entry)((void *)d->argument);
	mk_exit(0);
}

static void begin(void)
{
	struct mk_dcb *d = mk_self();
	struct lib *l = lib();

	l->entries[0] = d->fault;
	l->entries[1] = d->fault_disabled;
	l->entries[2] = d->trap;
	mk_on_fault(0);
	l->last = &l->first;
	l->next_slot = SLOT_FREE;
	l->begun = 1;
	place_take();
	l->main.area[0] = d->entry == (u64)mk_main_entry ? (u64)mk_main_entry : (u64)spawned;
	l->main.area[2] = d->heap_end & ~15ull;
	/* Its stack is the heap's upper end. */
	d->heap_end -= STACK_BYTES;
	l->main.area[4] = (u64)d;
	ready(&l->main, 0);
}

void mk_run(struct mk_dcb *d);
void mk_run(struct mk_dcb *d)
{
	struct lib *l = lib();

	(void)d;
	if (!l->begun)
		begin();
	l->yields = 0;
	keep_current(0);
	mk_choose();
}

void mk_fault(struct mk_dcb *d);
void mk_fault(struct mk_dcb *d)
{
	mk_fault_handler handler = lib()->on_fault;

	if (handler)
		handler(d->fault_cause, d->fault_address);
	mk_exit(256 + d->fault_cause);
}

/* Without a handler the kernel ends the program, and says why. */
void mk_on_fault(mk_fault_handler handler)
{
	struct mk_dcb *d = mk_self();
	struct lib *l = lib();

	l->on_fault = handler;
	d->fault = handler ? l->entries[0] : 0;
	d->fault_disabled = handler ? l->entries[1] : 0;
	d->trap = handler ? l->entries[2] : 0;
}

void mk_lmp_entered(u64 badge, u64 a, u64 b, u64 c, u64 e);
void mk_lmp_entered(u64 badge, u64 a, u64 b, u64 c, u64 e)
{
	struct lib *l = lib();
	struct mk_thread *t = l->current;
	struct call *call = l->calls;
	u64 words[4] = { a, b, c, e };

	/*
	 * The usual end of a call: its thread ran last, and only its caller's registers must be kept. The monitor also says what is no
	 * answer.
	 */
	if (t && call && call->thread == t && call->badge == badge && !call->done &&
	    (badge || (a & 0xff) == MON_ANSWER)) {
		for (u32 i = 0; i < 4; i++)
			call->words[i] = words[i];
		call->done = 1;
		mk_resume((u64 *)mk_self()->enabled);
	}
	/* The usual beginning of a call: a service that waits. */
	if (!t && !call && l->handler && badge && !(badge >> 48)) {
		l->handler(badge, words, 0);
		mk_choose();
	}
	if (!l->begun)
		begin();
	keep_current(1);
	own_message(badge, words);
	mk_choose();
}

/* --- what programs call ------------------------------------------------------------------------------------------------ */

void *mk_alloc(u64 bytes)
{
	struct mk_dcb *d = mk_self();
	u64 at, was = d->disabled;

	disable();
	bytes = (bytes + 15) & ~15ull;
	at = (d->heap + 15) & ~15ull;
	if (bytes > d->heap_end || at + bytes > d->heap_end)
		at = 0;
	else
		d->heap = at + bytes;
	d->disabled = was;
	return (void *)at;
}

u64 mk_slot(void)
{
	struct lib *l = lib();

	/* The kernel puts transferred capabilities into the first free slot, so search from the other end. */
	if (l->next_slot < SLOT_FREE + 1)
		l->next_slot = SLOT_CLIENTS;
	return --l->next_slot;
}

void thread_begin(void)
{
	struct mk_thread *t = lib()->current;

	t->fn(t->arg);
	mk_lock(&t->lock);
	t->gone = 1;
	mk_cond_broadcast(&t->over, &t->lock);
	mk_unlock(&t->lock);
	disable();
	t->state = THREAD_GONE;
	lib()->current = 0;
	lib()->off = t;
	mk_switch_out(t->area);
}

void thread_release(struct mk_thread *t)
{
	if (weir_fetch_add(&t->refs, -1u) != 1)
		return;
	if (t->node)
		weir_store_release(&t->node->used, 0);
	if (t->taken) {
		weir_store_release(t->taken, 0);
		return;
	}
	t->next = lib()->free;
	lib()->free = t;
}

struct mk_thread *mk_thread(void (*fn)(void *), void *arg)
{
	struct lib *l = lib();
	struct mk_thread *t;
	char *stack = 0;

	disable();
	t = l->free;
	if (t) {
		l->free = t->next;
		stack = (char *)(t + 1);
	} else {
		t = mk_alloc(sizeof(*t) + STACK_BYTES);
		stack = (char *)(t + 1);
	}
	if (!t) {
		enable();
		return 0;
	}
	*t = (struct mk_thread){ .fn = fn, .arg = arg, .refs = 2 };
	t->area[0] = (u64)thread_begin;
	t->area[2] = ((u64)stack + STACK_BYTES) & ~15ull;
	ready(t, 0);
	enable();
	return t;
}

struct mk_thread *mk_current(void)
{
	return lib()->current;
}

void mk_park(void)
{
	disable();
	park();
	enable();
}

/* Also from a handler of messages, which is disabled. */
void mk_unpark(struct mk_thread *t)
{
	u64 was = mk_self()->disabled;

	disable();
	unpark(t);
	mk_self()->disabled = was;
}

void mk_join(struct mk_thread *t)
{
	mk_lock(&t->lock);
	while (!t->gone)
		mk_cond_wait(&t->over, &t->lock);
	mk_unlock(&t->lock);
	disable();
	thread_release(t);
	enable();
}

void mk_yield(void)
{
	struct lib *l = lib();
	struct mk_thread *t = l->current;

	disable();
	look_around();
	if (!l->first || ++l->yields > l->nr_ready) {
		/* All have yielded. */
		l->yields = 0;
		enable();
		yield_dispatcher();
		return;
	}
	l->current = 0;
	ready(t, 0);
	mk_switch_out(t->area);
}

void mk_sleep_until(u64 at)
{
	struct lib *l = lib();
	struct mk_thread *t = l->current, **p;

	disable();
	t->wake_at = at;
	t->state = THREAD_PARKED;
	for (p = &l->sleeping; *p && (*p)->wake_at <= at; p = &(*p)->next)
		;
	t->next = *p;
	*p = t;
	l->current = 0;
	mk_switch_out(t->area);
}

void mk_sleep(u64 ns)
{
	mk_sleep_until(mk_now() + ns);
}

s64 mk_set(u32 topic, u64 value, u64 value2)
{
	if (topic == WEIR_TOPIC_PRIORITY)
		lib()->priority = (s32)value;
	return mk_invoke(SLOT_SELF, CMD_SET, topic, value, value2, 0).status;
}

void mk_mark(u64 number, u64 value)
{
	mk_invoke(SLOT_SELF, CMD_MARK, number, value, 0, 0);
}

void mk_exit(u64 number)
{
	place_leave();
	for (;;)
		mk_invoke(SLOT_SELF, CMD_EXIT, number, 0, 0, 0);
}

void *memset(void *p, int c, __SIZE_TYPE__ n)
{
	u8 *to = p;

	while (n--)
		*to++ = (u8)c;
	return p;
}

void *memcpy(void *p, const void *q, __SIZE_TYPE__ n)
{
	u8 *to = p;
	const u8 *from = q;

	while (n--)
		*to++ = *from++;
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

void weir_port_fail(const char *what, const char *file, u32 line);
void weir_port_fail(const char *what, const char *file, u32 line)
{
	(void)what;
	(void)file;
	mk_exit(1024 + line);
}
