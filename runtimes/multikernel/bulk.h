/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Bulk channels: large data between two cores without a copy. The sender owns a pool of buffers in shared memory. A message names a
 * buffer, which then belongs to the receiver until it returns it by a message the other way. Neutral: it needs only UMP.
 * Source: 1, 2.3.
 *
 * The channel has a UMP connection of its own with at least as many slots as buffers, so neither side ever waits for a slot.
 */
#ifndef WEIR_BULK_H
#define WEIR_BULK_H

#include "ump.h"

#define BULK_MAX   64u /* buffers of a pool */
#define BULK_GIVEN 1u
#define BULK_BACK  2u

struct bulk {
	struct ump *ump;
	char *pool;
	u32 nr;
	u32 bytes; /* of a buffer */
	u64 free;  /* a bit per buffer; sender: available ones; receiver: those that it holds */
	u32 sender;
};

/* 0, or -WEIR_EINVAL. @pool has @nr times @bytes; both ends pass the same. */
WEIR_INLINE int bulk_init(struct bulk *b, struct ump *ump, void *pool, u32 nr, u32 bytes,
			  int sender)
{
	if (!nr || nr > BULK_MAX || ump->nr < nr || !bytes || bytes % 64 || (u64)pool % 64)
		return -WEIR_EINVAL;
	*b = (struct bulk){
		.ump = ump, .pool = pool, .nr = nr, .bytes = bytes, .sender = sender != 0
	};
	b->free = sender ? (nr == 64 ? ~0ull : (1ull << nr) - 1) : 0;
	return 0;
}

WEIR_INLINE void *bulk_at(const struct bulk *b, u32 n)
{
	return b->pool + (u64)n * b->bytes;
}

/* Which buffer @p is, or BULK_MAX. */
WEIR_INLINE u32 bulk_number(const struct bulk *b, const void *p)
{
	u64 at = (u64)((const char *)p - b->pool);

	return at % b->bytes || at / b->bytes >= b->nr ? BULK_MAX : (u32)(at / b->bytes);
}

/* The sender collects returned buffers. 0, or -WEIR_EINVAL: the other side returned a buffer that it did not have. */
WEIR_INLINE int bulk_collect(struct bulk *b)
{
	u64 word;
	u32 kind, tag;

	while (!ump_recv(b->ump, &word, 1, &kind, &tag)) {
		if (kind != BULK_BACK || word >= b->nr || b->free >> word & 1)
			return -WEIR_EINVAL;
		b->free |= 1ull << word;
	}
	return 0;
}

/* A buffer to fill, or null: the receiver has all of them. */
WEIR_INLINE void *bulk_buffer(struct bulk *b)
{
	u32 n;

	if (!b->free && (bulk_collect(b) || !b->free))
		return 0;
	n = weir_ctz(b->free);
	b->free &= ~(1ull << n);
	return bulk_at(b, n);
}

/* Send @bytes of a buffer from bulk_buffer(), which then no longer belongs to the sender. */
WEIR_INLINE int bulk_send(struct bulk *b, void *buffer, u32 bytes, u32 tag)
{
	u64 words[2] = { bulk_number(b, buffer), bytes };

	if (!b->sender || words[0] == BULK_MAX || bytes > b->bytes || b->free >> words[0] & 1)
		return -WEIR_EINVAL;
	return ump_send(b->ump, words, 2, BULK_GIVEN, tag);
}

/* 0 and a buffer with its length, -WEIR_EAGAIN, or -WEIR_EINVAL: the other side names a buffer that it does not own. */
WEIR_INLINE int bulk_recv(struct bulk *b, void **buffer, u32 *bytes, u32 *tag)
{
	u64 words[2];
	u32 kind;
	int err = ump_recv(b->ump, words, 2, &kind, tag);

	if (err)
		return err;
	if (b->sender || kind != BULK_GIVEN || words[0] >= b->nr || words[1] > b->bytes ||
	    b->free >> words[0] & 1)
		return -WEIR_EINVAL;
	b->free |= 1ull << words[0];
	*buffer = bulk_at(b, (u32)words[0]);
	*bytes = (u32)words[1];
	return 0;
}

/* The receiver returns a buffer. */
WEIR_INLINE int bulk_return(struct bulk *b, void *buffer)
{
	u64 n = bulk_number(b, buffer);
	int err;

	if (b->sender || n == BULK_MAX || !(b->free >> n & 1))
		return -WEIR_EINVAL;
	err = ump_send(b->ump, &n, 1, BULK_BACK, 0);
	if (!err)
		b->free &= ~(1ull << n);
	return err;
}

#endif
