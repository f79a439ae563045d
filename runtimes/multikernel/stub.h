/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The base of stubs: `runweir stubs` generates the functions of an interface; this file splits their messages into fragments and
 * reassembles them. Neutral: it needs only port.h and a transport of fragments. docs/messages.md has an example. Source: 1, 2.1.
 *
 * A fragment has up to seven words, a kind of 15 bits and a tag of 32. Kind: bits 0 to 13 the message's number, bit 14: its first fragment.
 * Tag: bytes of the whole message. Number 0 is a greeting, the first fragment each way: its word is the hash of the interface.
 *
 * A message is its arguments in order, little-endian, each aligned to its size from the message's start, gaps zero. A list is its length
 * (u32) and its items; a text is its length, its bytes and a NUL. So a handler's arguments point into the message itself.
 *
 * The other side is not trusted: numbers, lengths, gaps and texts are checked before a handler sees them, and a wrong one ends the
 * binding. A transport must lose nothing and keep the order.
 */
#ifndef WEIR_STUB_H
#define WEIR_STUB_H

#include <weir/error.h>
#include <weir/port.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "messages are little-endian");

#define STUB_WORDS  7u
#define STUB_FIRST  (1u << 14)
#define STUB_NUMBER (STUB_FIRST - 1)

struct stub_transport {
	/* of a fragment, 1 to 7 */
	u32 words;
	/* 0, or -WEIR_EAGAIN: no room now; any other value ends the binding */
	int (*send)(void *end, const u64 *words, u32 nr, u32 kind, u32 tag);
	/* 0, or -WEIR_EAGAIN: nothing now; any other value ends the binding */
	int (*recv)(void *end, u64 *words, u32 nr, u32 *kind, u32 *tag);
};

/* The poll function calls it after the last fragment of a message was sent. fn 0: no call. */
struct stub_then {
	void (*fn)(void *arg);
	void *arg;
};

struct stub {
	const struct stub_transport *transport;
	void *end;
	u64 hash;
	u64 *out, *in; /* one message each */
	u32 max;       /* bytes of each */
	u32 out_bytes, out_at, out_kind;
	u32 in_bytes, in_at, in_kind;
	u8 busy;  /* a message is in @out */
	u8 due;	  /* its continuation is to be called */
	u8 ready; /* a whole message is in @in */
	u8 greeted, heard;
	struct stub_then then;
	int err;	   /* the error that ended the binding */
	const char *fault; /* the same in words */
};

/* Where an argument is written or read. */
struct stub_cursor {
	u8 *base;
	u32 at, end;
	u8 bad;
};

WEIR_INLINE void stub_init(struct stub *s, const struct stub_transport *transport, void *end,
			   u64 hash, u64 *out, u64 *in, u32 max)
{
	*s = (struct stub){
		.transport = transport, .end = end, .hash = hash, .out = out, .in = in, .max = max
	};
}

WEIR_INLINE int stub_end(struct stub *s, int err, const char *fault)
{
	if (!s->err) {
		s->err = err;
		s->fault = fault;
	}
	return s->err;
}

/* --- writing ------------------------------------------------------------------------------------------------ */

/* 0 and a cursor for a new message; -WEIR_EAGAIN: one is still being sent; or the error that ended the binding. */
WEIR_INLINE int stub_begin(struct stub *s, struct stub_cursor *c)
{
	if (s->err)
		return s->err;
	if (s->busy || s->due)
		return -WEIR_EAGAIN;
	*c = (struct stub_cursor){ .base = (u8 *)s->out, .end = s->max };
	return 0;
}

/* Room for @bytes aligned to @align, with zeroes in the gap before it. Stubs have checked all lengths, so there is room. */
WEIR_INLINE void *stub_room(struct stub_cursor *c, u64 bytes, u32 align)
{
	u8 *p;

	while (c->at % align && c->at < c->end)
		c->base[c->at++] = 0;
	if (c->at % align || bytes > c->end - c->at) {
		c->bad = 1;
		return c->base;
	}
	p = c->base + c->at;
	c->at += (u32)bytes;
	return p;
}

WEIR_INLINE void stub_put(struct stub_cursor *c, const void *value, u64 bytes, u32 align)
{
	void *p = stub_room(c, bytes, align);

	if (!c->bad && bytes)
		__builtin_memcpy(p, value, bytes);
}

int stub_push(struct stub *s);

/* The message is complete: send as much as there is room for. 0, or the error that ended the binding. */
WEIR_INLINE int stub_send(struct stub *s, struct stub_cursor *c, u32 number, struct stub_then then)
{
	int err;

	if (c->bad)
		return -WEIR_EINVAL;
	s->out_bytes = c->at;
	s->out_at = 0;
	s->out_kind = number | STUB_FIRST;
	s->busy = 1;
	s->then = then;
	err = stub_push(s);
	return err == -WEIR_EAGAIN ? 0 : err;
}

/* --- reading ------------------------------------------------------------------------------------------------ */

/* @bytes aligned to @align, or null; the gap must be zero. */
WEIR_INLINE const void *stub_get(struct stub_cursor *c, u64 bytes, u32 align)
{
	const u8 *p;

	while (c->at % align) {
		if (c->at >= c->end || c->base[c->at]) {
			c->bad = 1;
			return 0;
		}
		c->at++;
	}
	if (c->bad || bytes > c->end - c->at) {
		c->bad = 1;
		return 0;
	}
	p = c->base + c->at;
	c->at += (u32)bytes;
	return p;
}

/* A scalar's value, or 0. */
#define stub_get_as(c, type)                                                    \
	({                                                                      \
		const type *stub_p = stub_get((c), sizeof(type), sizeof(type)); \
		stub_p ? *stub_p : (type)0;                                     \
	})

/* The length of a list or a text that has at most @most items. */
WEIR_INLINE u32 stub_length(struct stub_cursor *c, u32 most)
{
	const u32 *n = stub_get(c, 4, 4);

	if (!n || *n > most) {
		c->bad = 1;
		return 0;
	}
	return *n;
}

/* UTF-8 without NUL, without surrogates and in its shortest form: Unicode, table 3-7. */
WEIR_INLINE int stub_utf8(const u8 *p, u32 n)
{
	u32 i = 0;

	while (i < n) {
		u32 first = p[i++], more, low = 0x80, high = 0xbf;

		if (!first)
			return 0;
		if (first < 0x80)
			continue;
		if (first < 0xc2 || first > 0xf4)
			return 0;
		more = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
		if (first == 0xe0)
			low = 0xa0;
		if (first == 0xed)
			high = 0x9f;
		if (first == 0xf0)
			low = 0x90;
		if (first == 0xf4)
			high = 0x8f;
		while (more--) {
			if (i >= n || p[i] < low || p[i] > high)
				return 0;
			i++;
			low = 0x80;
			high = 0xbf;
		}
	}
	return 1;
}

/* A text of at most @most bytes, or null; a NUL follows it. */
WEIR_INLINE const char *stub_get_text(struct stub_cursor *c, u32 most, u32 *length)
{
	const u8 *p;

	*length = stub_length(c, most);
	p = stub_get(c, (u64)*length + 1, 1);
	if (!p || p[*length] || !stub_utf8(p, *length)) {
		c->bad = 1;
		return 0;
	}
	return (const char *)p;
}

/* Check @nr bools, @step bytes apart: any value except 0 and 1 is undefined in C. */
WEIR_INLINE void stub_check_bools(struct stub_cursor *c, const void *at, u32 nr, u32 step)
{
	const u8 *p = at;

	for (u32 i = 0; p && i < nr; i++)
		if (p[(u64)i * step] > 1)
			c->bad = 1;
}

/* --- fragments ------------------------------------------------------------------------------------------------ */

/*
 * 1: a whole message has arrived, with its number and a cursor. 0: none now. Below 0: the error that ended the binding. A message stays
 * until stub_done().
 */
int stub_next(struct stub *s, u32 *number, struct stub_cursor *c);

WEIR_INLINE void stub_done(struct stub *s)
{
	s->ready = 0;
	s->in_kind = 0;
}

/*
 * Whether a message is half sent: then wait for room to send, too (ump_wait_room()), because the other side may be waiting for the rest of
 * it and send nothing.
 */
WEIR_INLINE int stub_sending(const struct stub *s)
{
	return s->busy;
}

/* Call the continuation that is due. 1: there was one. */
WEIR_INLINE int stub_continue(struct stub *s)
{
	if (!s->due)
		return 0;
	s->due = 0;
	if (s->then.fn)
		s->then.fn(s->then.arg);
	return 1;
}

#endif
