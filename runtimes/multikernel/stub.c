/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Fragments of messages: see stub.h. */
#include "stub.h"

static int greet(struct stub *s)
{
	int err = s->transport->send(s->end, &s->hash, 1, STUB_FIRST, 8);

	if (!err)
		s->greeted = 1;
	return err;
}

/* Send as much as there is room for. 0: all sent; -WEIR_EAGAIN: not all; else the error that ended the binding. */
int stub_push(struct stub *s)
{
	u32 step = s->transport->words * 8;
	int err;

	if (s->err)
		return s->err;
	if (!s->greeted) {
		err = greet(s);
		if (err)
			return err == -WEIR_EAGAIN ? err : stub_end(s, err, "the transport failed");
	}
	while (s->busy) {
		u64 words[STUB_WORDS] = { 0 };
		u32 bytes = s->out_bytes - s->out_at;

		if (bytes > step)
			bytes = step;
		__builtin_memcpy(words, (u8 *)s->out + s->out_at, bytes);
		err = s->transport->send(s->end, words, (bytes + 7) / 8, s->out_kind, s->out_bytes);
		if (err)
			return err == -WEIR_EAGAIN ? err : stub_end(s, err, "the transport failed");
		s->out_kind &= STUB_NUMBER;
		s->out_at += bytes;
		if (s->out_at >= s->out_bytes) {
			s->busy = 0;
			s->due = s->then.fn != 0;
		}
	}
	return 0;
}

/* A first fragment. */
static int first(struct stub *s, u32 kind, u32 tag, const u64 *words)
{
	if (!s->heard) {
		if (kind != STUB_FIRST || tag != 8)
			return stub_end(s, -WEIR_EPROTO, "the other side began without a greeting");
		if (words[0] != s->hash)
			return stub_end(s, -WEIR_EPROTO, "the other side has another interface");
		s->heard = 1;
		return 0;
	}
	if (!(kind & STUB_FIRST) || !(kind & STUB_NUMBER))
		return stub_end(s, -WEIR_EINVAL, "a fragment belongs to no message");
	if (tag > s->max)
		return stub_end(s, -WEIR_EINVAL, "a message is longer than any of the interface");
	s->in_kind = kind & STUB_NUMBER;
	s->in_bytes = tag;
	s->in_at = 0;
	return 1;
}

int stub_next(struct stub *s, u32 *number, struct stub_cursor *c)
{
	u32 step = s->transport->words * 8;

	while (!s->ready) {
		u64 words[STUB_WORDS];
		u32 kind, tag, bytes;
		int err;

		if (s->err)
			return s->err;
		err = s->transport->recv(s->end, words, s->transport->words, &kind, &tag);
		if (err)
			return err == -WEIR_EAGAIN ? 0 : stub_end(s, err, "the transport failed");
		if (!s->in_kind) {
			err = first(s, kind, tag, words);
			if (err < 0)
				return err;
			if (!err)
				continue;
		} else if (kind != s->in_kind || tag != s->in_bytes) {
			return stub_end(s, -WEIR_EINVAL, "a fragment belongs to another message");
		}
		bytes = s->in_bytes - s->in_at;
		if (bytes > step)
			bytes = step;
		__builtin_memcpy((u8 *)s->in + s->in_at, words, bytes);
		s->in_at += bytes;
		s->ready = s->in_at >= s->in_bytes;
	}
	*number = s->in_kind;
	*c = (struct stub_cursor){ .base = (u8 *)s->in, .end = s->in_bytes };
	return 1;
}
