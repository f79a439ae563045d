/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Messages on one core and between cores, and the monitor's services for programs. */
#include <stdarg.h>

#include "lib.h"

/* --- LMP ------------------------------------------------------------------------------------------------- */

void mk_on_message(mk_handler handler)
{
	struct lib *l = lib();
	u32 nr;

	disable();
	l->handler = handler;
	nr = handler ? l->nr_early : 0;
	l->nr_early -= nr;
	for (u32 i = 0; i < nr; i++)
		handler(l->early[i].badge & 0xffffffffffff, l->early[i].word,
			l->early[i].badge >> 48);
	enable();
}

void own_message(u64 badge, const u64 *words)
{
	u64 through = badge & 0xffffffffffff, along = badge >> 48;
	struct lib *l = lib();

	if (!through && (words[0] & 0xff) != MON_ANSWER) {
		monitor_said(words);
		return;
	}
	for (struct call *c = l->calls; c; c = c->next) {
		if (c->badge != through || c->done)
			continue;
		for (u32 i = 0; i < 4; i++)
			c->words[i] = words[i];
		c->done = 1;
		unpark(c->thread);
		return;
	}
	if (!through)
		return;
	if (l->handler) {
		l->handler(through, words, along);
	} else if (l->nr_early < LMP_BUFFERS) {
		l->early[l->nr_early].badge = badge;
		memcpy(l->early[l->nr_early++].word, words, 4 * sizeof(*words));
	}
}

s64 mk_send(u64 endpoint, const u64 *words, u64 along)
{
	return mk_send_raw(endpoint, words, along << LMP_CAP_SHIFT);
}

void mk_answer(u64 endpoint, const u64 *words)
{
	struct lib *l = lib();
	struct mk_dcb *d = mk_self();

	/*
	 * With other work, also a timer to set, the caller returns here; else its next entry is an upcall, and the receiver runs at once.
	 * The last look comes after the store: a notification behind it sets haswork again.
	 */
	if (!l->first && !l->current && (!l->sleeping || l->sleeping->wake_at == l->timer)) {
		d->haswork = 0;
		if (d->lmp_tail == d->lmp_head && !d->notified)
			mk_send_raw(endpoint, words, LMP_FINAL);
		d->haswork = 1;
	}
	while (mk_send_raw(endpoint, words, LMP_ANSWER) == MK_EBUSY)
		;
}

/* The receiver was busy, or has not answered yet. */
static __attribute__((noinline)) s64 call_waits(struct call *c, u64 endpoint, const u64 *words,
						s64 err)
{
	while (err == MK_EBUSY) {
		mk_yield();
		err = mk_send_raw(endpoint, words, 0);
	}
	disable();
	while (!err && !c->done)
		park();
	enable();
	return err;
}

s64 mk_call(u64 endpoint, u64 badge, const u64 *words, u64 *answer)
{
	struct lib *l = lib();
	struct call c, **p;
	s64 err;

	disable();
	c.thread = l->current;
	c.badge = badge;
	c.done = 0;
	c.next = l->calls;
	l->calls = &c;
	enable();
	err = mk_send_raw(endpoint, words, 0);
	if (err || !c.done)
		err = call_waits(&c, endpoint, words, err);
	disable();
	for (p = &lib()->calls; *p != &c; p = &(*p)->next)
		;
	*p = c.next;
	enable();
	for (u32 i = 0; i < 4 && !err; i++)
		answer[i] = c.words[i];
	return err;
}

/* --- UMP --------------------------------------------------------------------------------------------------- */

void ump_wake(const void *word)
{
	for (struct mk_channel *c = lib()->channels; c; c = c->next)
		if ((u64)word >= (u64)c->ump.tx &&
		    (u64)word < (u64)c->ump.tx + ump_bytes(c->ump.nr)) {
			mk_invoke(c->notify, CMD_POKE, 0, 0, 0, 0);
			return;
		}
}

void mk_channel_add(struct mk_channel *c)
{
	struct lib *l = lib();

	disable();
	c->next = l->channels;
	l->channels = c;
	enable();
}

int mk_channel_try(struct mk_channel *c, u64 *words, u32 nr, u32 *kind, u32 *tag)
{
	return ump_recv(&c->ump, words, nr, kind, tag);
}

void mk_channel_send(struct mk_channel *c, const u64 *words, u32 nr, u32 kind, u32 tag)
{
	/* The other side empties its ring when it runs; a program without other work checks again after a while. */
	for (u64 wait = 1000; ump_send(&c->ump, words, nr, kind, tag);
	     wait = wait < 100000 ? wait * 2 : wait)
		mk_sleep(wait);
}

void mk_channel_recv(struct mk_channel *c, u64 *words, u32 nr, u32 *kind, u32 *tag)
{
	struct ump *u = &c->ump;

	while (ump_recv(u, words, nr, kind, tag)) {
		u32 looks = 0;

		while (looks < u->window && !ump_ready(u))
			looks++;
		if (looks < u->window) {
			if (u->window < UMP_WINDOW_MAX && looks)
				u->window *= 2;
			continue;
		}
		if (u->window > UMP_WINDOW_MIN)
			u->window /= 2;
		u->blocks++;
		disable();
		c->waiting = lib()->current;
		if (!ump_ready(u))
			park();
		c->waiting = 0;
		enable();
	}
}

void mk_wait_any(void)
{
	struct lib *l = lib();
	u32 nothing = 1;

	disable();
	for (struct mk_channel *c = l->channels; c; c = c->next)
		if (!c->waiting) {
			c->waiting = l->current;
			if (ump_ready(&c->ump) || c->gone)
				nothing = 0;
		}
	l->server = l->current;
	if (nothing && l->asked == l->taken)
		park();
	for (struct mk_channel *c = l->channels; c; c = c->next)
		if (c->waiting == l->current)
			c->waiting = 0;
	l->server = 0;
	enable();
}

/* An end of a channel in one word: slots of the frame, the notification and the endpoint, and which end it is. */
static s64 channel_open(struct mk_channel *c, u64 packed)
{
	u64 frame = packed & 0xffff;
	struct mk_result r = mk_invoke(frame, CMD_IDENTIFY, 0, 0, 0, 0);
	char *base = (char *)r.value[0];
	s64 err;

	if (r.status != CAP_FRAME || r.value[1] < 4096)
		return MK_ECAP;
	err = mk_invoke(frame, CMD_MAP, 0, 0, 0, 0).status;
	if (err)
		return err;
	*c = (struct mk_channel){ .frame = frame,
				  .base = r.value[0],
				  .notify = packed >> 16 & 0xffff,
				  .endpoint = packed >> 32 & 0xffff,
				  .badge = MK_BADGE + (packed >> 56) };
	if (ump_init(&c->ump, packed >> 48 & 1 ? base + 2048 : base,
		     packed >> 48 & 1 ? base : base + 2048, 16))
		return MK_EINVAL;
	mk_channel_add(c);
	return MK_OK;
}

void mk_channel_close(struct mk_channel *c)
{
	struct lib *l = lib();
	struct mk_channel **p;
	u64 w[4] = { MON_CLOSE, c->base }, answer[4];

	disable();
	for (p = &l->channels; *p && *p != c; p = &(*p)->next)
		;
	if (*p)
		*p = c->next;
	enable();
	mk_invoke(c->frame, CMD_DELETE, 0, 0, 0, 0);
	mk_invoke(c->notify, CMD_DELETE, 0, 0, 0, 0);
	if (c->endpoint)
		mk_invoke(c->endpoint, CMD_DELETE, 0, 0, 0, 0);
	ask_monitor(w, answer);
}

/* --- the monitor ---------------------------------------------------------------------------------------------- */

s64 ask_monitor(const u64 *words, u64 *answer)
{
	struct lib *l = lib();
	s64 err;

	mk_lock(&l->monitor);
	err = mk_call(SLOT_MONITOR, 0, words, answer);
	mk_unlock(&l->monitor);
	return err ? err : (s64)answer[0] >> 32;
}

void monitor_said(const u64 *words)
{
	struct lib *l = lib();

	if ((words[0] & 0xff) == MON_EVENT) {
		struct mk_event e = { .group = words[0] >> 16 & 0xffff,
				      .index = (u32)(words[0] >> 32),
				      .kind = words[0] >> 8 & 0xff,
				      .word = { words[1], words[2], words[3] } };

		if (l->on_event)
			l->on_event(&e);
		return;
	}
	if ((words[0] & 0xff) == MON_HANGUP)
		for (struct mk_channel *c = l->channels; c; c = c->next)
			if (c->base == words[1]) {
				c->gone = 1;
				if (c->waiting)
					unpark(c->waiting);
			}
	if ((words[0] & 0xff) == MON_ASK) {
		l->requests[l->asked++ % 16] = (struct request){ words[1], words[2] };
	} else if ((words[0] & 0xff) == MON_BOUND) {
		l->bound_id = words[1];
		l->bound_status = (s32)(words[0] >> 32);
		l->bound_channel = words[2];
		l->bound = 1;
	}
	if (l->server)
		unpark(l->server);
}

/*
 * All monitors must agree. If another core wants the same memory, both are refused; or a group's log is full somewhere. They try again
 * after different delays.
 */
static s64 agree(const u64 *words, u64 *answer)
{
	u64 wait = 10000 * (mk_self()->core + 1);
	s64 err;

	while ((err = ask_monitor(words, answer)) == MK_EBUSY) {
		mk_sleep(wait);
		wait += wait < 1000000 ? wait / 2 : 0;
	}
	return err;
}

static void name_words(const char *name, u64 *out)
{
	char text[MK_NAME_LENGTH] = { 0 };

	for (u32 i = 0; i < MK_NAME_LENGTH && name[i]; i++)
		text[i] = name[i];
	memcpy(out, text, MK_NAME_LENGTH);
}

s64 mk_export(const char *name)
{
	u64 w[4] = { MON_EXPORT }, answer[4];

	name_words(name, w + 1);
	return agree(w, answer);
}

/* --- groups --- */

void mk_on_event(mk_event_handler handler)
{
	lib()->on_event = handler;
}

/* Answered with a number. */
static s64 ordered(u64 ask, u64 a, u64 b, u64 c)
{
	u64 w[4] = { ask, a, b, c }, answer[4];
	s64 err = agree(w, answer);

	return err ? err : (s64)answer[1];
}

s64 mk_topic(const char *name)
{
	u64 words[2];

	name_words(name, words);
	return ordered(MON_TOPIC, words[0], words[1], 0);
}

s64 mk_subscribe(u32 group)
{
	return ordered(MON_SUBSCRIBE, group, 0, 0);
}

s64 mk_unsubscribe(u32 group)
{
	return ordered(MON_UNSUBSCRIBE, group, 0, 0);
}

s64 mk_publish(u32 group, const u64 *words)
{
	return ordered(MON_PUBLISH | (u64)group << 32, words[0], words[1], words[2]);
}

int mk_client_asks(void)
{
	struct lib *l = lib();

	return l->asked != l->taken;
}

struct mk_channel *mk_next_client(int refuse)
{
	struct lib *l = lib();
	struct mk_channel *c = refuse ? 0 : mk_alloc(sizeof(*c));
	u64 w[4] = { MON_DECIDE, 0, c != 0 };

	disable();
	l->server = l->current;
	while (l->asked == l->taken)
		park();
	w[1] = l->requests[l->taken++ % 16].id;
	l->bound = 0;
	enable();
	while (mk_send(SLOT_MONITOR, w, 0) == MK_EBUSY)
		mk_yield();
	disable();
	while (!(l->bound && l->bound_id == w[1]))
		park();
	l->server = 0;
	enable();
	if (!c || l->bound_status || channel_open(c, l->bound_channel))
		return 0;
	return c;
}

s64 mk_bind(const char *name, struct mk_channel *out)
{
	u64 w[4] = { MON_BIND }, answer[4];
	s64 err;

	name_words(name, w + 1);
	err = ask_monitor(w, answer);
	return err ? err : channel_open(out, answer[1]);
}

s64 mk_spawn(u32 core, void (*fn)(void *), void *arg)
{
	u64 w[4] = { MON_SPAWN | (u64)(u32)lib()->priority << 32, core, (u64)fn, (u64)arg },
	    answer[4];
	s64 err = ask_monitor(w, answer);

	return err ? err : (s64)answer[1];
}

s64 mk_cap_send(u64 slot, u32 core, u32 number)
{
	u64 w[4] = { MON_CAP_SEND, slot, core, number }, answer[4];
	s64 err = ask_monitor(w, answer);

	return err ? err : (s64)answer[1];
}

s64 mk_retype(u64 slot, u64 type, u64 bytes, u64 offset, u64 to)
{
	struct mk_result r = mk_invoke(slot, CMD_RETYPE, type, bytes, offset, to);
	u64 w[4] = { MON_RETYPE, slot, type | bytes << 8, offset | to << 48 }, answer[4];

	return r.status == MK_EREMOTE ? agree(w, answer) : r.status;
}

s64 mk_revoke(u64 slot)
{
	struct mk_result r = mk_invoke(slot, CMD_REVOKE, 0, 0, 0, 0);
	u64 w[4] = { MON_REVOKE, slot }, answer[4];

	return r.status == MK_EREMOTE ? agree(w, answer) : r.status;
}

s64 mk_manifest(const char *text)
{
	u64 answer[4] = { 0 };
	s64 err = MK_OK;
	u32 at = 0, last = 0;

	while (!last && !err) {
		u64 w[4] = { MON_MANIFEST };
		char piece[24];
		u32 n = 0;

		while (n < sizeof(piece) && text[at])
			piece[n++] = text[at++];
		last = !text[at];
		memcpy(w + 1, piece, n);
		w[0] |= (u64)n << 8 | (u64)last << 16;
		err = ask_monitor(w, answer);
	}
	return err ? err : (s64)answer[1];
}

s64 mk_join_gang(u64 gang, u32 group)
{
	u64 w[4] = { MON_JOIN, gang, group }, answer[4];

	return ask_monitor(w, answer);
}

static s64 change(u64 ask, u64 gang, u64 a, u64 b)
{
	u64 w[4] = { ask, gang, a, b }, answer[4];
	s64 err = ask_monitor(w, answer);

	return err ? err : (s64)answer[1];
}

s64 mk_phase(u64 gang, u32 phase)
{
	return change(MON_PHASE, gang, phase, 0);
}

s64 mk_merge(u64 gang, u32 groups, u32 into, u32 phase)
{
	return change(MON_MERGE, gang, groups | (u64)into << 32, phase);
}

s64 mk_split(u64 gang, u32 group)
{
	return change(MON_SPLIT, gang, group, 0);
}

/* --- the console ------------------------------------------------------------------------------------------------ */

struct line {
	char text[CONSOLE_LINE];
	u32 n;
};

static void put(struct line *l, char c)
{
	if (l->n < sizeof(l->text))
		l->text[l->n++] = c;
}

static void number(struct line *l, u64 v, u32 base)
{
	char digit[24];
	u32 n = 0;

	do
		digit[n++] = "0123456789abcdef"[v % base];
	while (v /= base);
	while (n)
		put(l, digit[--n]);
}

static void format_line(struct line *l, const char *f, va_list a)
{
	for (; *f; f++) {
		u32 is_long = 0;

		if (*f != '%') {
			put(l, *f);
			continue;
		}
		for (f++; *f == 'l'; f++)
			is_long = 1;
		if (*f == 's') {
			for (const char *s = va_arg(a, const char *); *s; s++)
				put(l, *s);
		} else if (*f == 'c') {
			put(l, (char)va_arg(a, int));
		} else if (*f == 'd') {
			s64 v = is_long ? va_arg(a, s64) : va_arg(a, s32);

			if (v < 0)
				put(l, '-');
			number(l, v < 0 ? -(u64)v : (u64)v, 10);
		} else if (*f == 'u' || *f == 'x') {
			number(l, is_long ? va_arg(a, u64) : va_arg(a, u32), *f == 'x' ? 16 : 10);
		} else if (*f) {
			put(l, *f);
		} else {
			return;
		}
	}
}

/* It may not have begun yet. */
static void find_console(struct lib *l)
{
	for (u32 i = 0; !l->has_console && i < 1000; i++) {
		l->has_console = !mk_bind("console", &l->console);
		if (!l->has_console)
			mk_sleep(50000);
	}
}

void mk_print(const char *format, ...)
{
	struct lib *l = lib();
	struct line line = { .n = 0 };
	va_list a;

	va_start(a, format);
	format_line(&line, format, a);
	va_end(a);
	mk_lock(&l->printing);
	find_console(l);
	for (u32 at = 0; l->has_console && at < line.n;) {
		u64 words[UMP_WORDS] = { 0 };
		u32 n = line.n - at < sizeof(words) ? line.n - at : sizeof(words);

		memcpy(words, line.text + at, n);
		at += n;
		mk_channel_send(&l->console, words, UMP_WORDS,
				at < line.n ? CONSOLE_MORE : CONSOLE_LAST, n);
	}
	mk_unlock(&l->printing);
}

s64 mk_read(char *line, u32 room)
{
	struct lib *l = lib();
	u64 words[UMP_WORDS] = { 0 };
	u32 kind = CONSOLE_MORE, n = 0;

	mk_lock(&l->printing);
	find_console(l);
	if (!l->has_console) {
		mk_unlock(&l->printing);
		return -1;
	}
	mk_channel_send(&l->console, words, UMP_WORDS, CONSOLE_READ, 0);
	while (kind == CONSOLE_MORE) {
		u32 bytes;

		mk_channel_recv(&l->console, words, UMP_WORDS, &kind, &bytes);
		for (u32 i = 0; i < bytes && i < sizeof(words); i++)
			if (n + 1 < room)
				line[n++] = ((const char *)words)[i];
	}
	mk_unlock(&l->printing);
	if (room)
		line[n] = 0;
	return kind == CONSOLE_END ? -1 : (s64)n;
}
