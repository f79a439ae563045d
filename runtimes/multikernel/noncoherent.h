/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Messages between cores whose caches do not cohere, and how a core is notified of them. Neutral: the runtime reads and writes whole lines past its
 * caches, and has a lock and an interrupt for each core. Source: 1, 2.6 (the SCC: 32-byte lines, a test-and-set register a core, memory on each tile).
 *
 * NCP is UMP's ring, but a core discards its cached copy of a line before it reads the line. Because that makes polling expensive, a
 * sender writes the channel's number into the receiver's notification ring, one number per line, and interrupts the core unless an
 * interrupt is already pending.
 */
#ifndef WEIR_NONCOHERENT_H
#define WEIR_NONCOHERENT_H

#include <weir/error.h>
#include <weir/port.h>

#define NC_LINE	  32u
#define NCP_WORDS 3u

struct nc_line {
	u64 word[NC_LINE / 8];
} __attribute__((aligned(32)));

/* --- the runtime's ---------------------------------------------------------------------------------------------- */

/* Read the memory, not a cached copy; write through, a whole line at once. In the order of the calls. */
void nc_read(u32 core, void *to, const struct nc_line *line);
void nc_write(u32 core, struct nc_line *line, const void *from);
/* A core's register: 1: the caller has it. */
int nc_try_lock(u32 core);
void nc_unlock(u32 core);
/* Whether a core's interrupt is pending; raise it. The receiver clears it before it looks. */
int nc_raised(u32 core);
void nc_raise(u32 core);

/* --- notification ring ------------------------------------------------------------------------------------------- */

/* In the receiver's memory: line 0 counts numbers written, line 1 numbers read, then one number per line. */
struct nc_ring {
	u32 core; /* the receiver */
	u32 nr;	  /* a power of two */
	struct nc_line *line;
	u64 read; /* the receiver's own */
};

#define NC_RING_LINES(nr) (2u + (nr))

WEIR_INLINE void nc_ring_init(struct nc_ring *r, u32 core, struct nc_line *lines, u32 nr)
{
	*r = (struct nc_ring){ .core = core, .nr = nr, .line = lines };
}

/* Core @from reports a message in @channel. 0, or -WEIR_EAGAIN: the ring is full, or another core has its lock: try again later. */
WEIR_INLINE int nc_notify(struct nc_ring *r, u32 from, u16 channel)
{
	struct nc_line written, read, number = { { channel } };
	int err = 0;

	if (!nc_try_lock(r->core))
		return -WEIR_EAGAIN;
	nc_read(from, &written, &r->line[0]);
	nc_read(from, &read, &r->line[1]);
	if (written.word[0] - read.word[0] >= r->nr) {
		err = -WEIR_EAGAIN;
	} else {
		u64 at = written.word[0]++;

		nc_write(from, &r->line[2 + at % r->nr], &number);
		nc_write(from, &r->line[0], &written);
		if (!nc_raised(r->core))
			nc_raise(r->core);
	}
	nc_unlock(r->core);
	return err;
}

/* The receiver takes the next number. 0, or -WEIR_EAGAIN: there is none. */
WEIR_INLINE int nc_notified(struct nc_ring *r, u16 *channel)
{
	struct nc_line line;

	nc_read(r->core, &line, &r->line[0]);
	if (line.word[0] == r->read)
		return -WEIR_EAGAIN;
	nc_read(r->core, &line, &r->line[2 + r->read % r->nr]);
	*channel = (u16)line.word[0];
	line = (struct nc_line){ { ++r->read } };
	nc_write(r->core, &r->line[1], &line);
	return 0;
}

/* --- notification tree ---------------------------------------------------------------------------------------------- */

/*
 * The design that the source rejected, for comparison: a bit for each of 255 times 256 channels, and a bit in the root for each line
 * with one set. It is never full.
 */
struct nc_tree {
	u32 core;
	struct nc_line *line; /* 0: the root; then 255 leaves */
};

#define NC_TREE_LINES 256u

WEIR_INLINE void nc_tree_set(u32 core, struct nc_line *at, u32 bit)
{
	struct nc_line line;

	nc_read(core, &line, at);
	line.word[bit / 64] |= 1ull << (bit % 64);
	nc_write(core, at, &line);
}

/* 0, or -WEIR_EAGAIN: another core has the lock. */
WEIR_INLINE int nc_tree_notify(struct nc_tree *t, u32 from, u16 channel)
{
	u32 leaf = 1 + channel / 256u;

	if (leaf >= NC_TREE_LINES || !nc_try_lock(t->core))
		return leaf >= NC_TREE_LINES ? -WEIR_EINVAL : -WEIR_EAGAIN;
	nc_tree_set(from, &t->line[leaf], channel % 256u);
	nc_tree_set(from, &t->line[0], leaf);
	if (!nc_raised(t->core))
		nc_raise(t->core);
	nc_unlock(t->core);
	return 0;
}

/* The first bit, or 256. *@looks grows by the words looked at. */
WEIR_INLINE u32 nc_first(const struct nc_line *line, u64 *looks)
{
	for (u32 i = 0; i < NC_LINE / 8; i++) {
		++*looks;
		if (line->word[i])
			return i * 64 + weir_ctz(line->word[i]);
	}
	return 256;
}

/* The receiver takes a channel with a message. 0, or -WEIR_EAGAIN: there is none, or a sender has the lock. */
WEIR_INLINE int nc_tree_notified(struct nc_tree *t, u16 *channel, u64 *looks)
{
	struct nc_line root, line;
	u32 leaf, bit;

	if (!nc_try_lock(t->core))
		return -WEIR_EAGAIN;
	nc_read(t->core, &root, &t->line[0]);
	leaf = nc_first(&root, looks);
	if (leaf == 256) {
		nc_unlock(t->core);
		return -WEIR_EAGAIN;
	}
	nc_read(t->core, &line, &t->line[leaf]);
	bit = nc_first(&line, looks);
	*channel = (u16)((leaf - 1) * 256 + bit);
	line.word[bit / 64] &= line.word[bit / 64] - 1;
	nc_write(t->core, &t->line[leaf], &line);
	if (!(line.word[0] | line.word[1] | line.word[2] | line.word[3])) {
		root.word[leaf / 64] &= ~(1ull << (leaf % 64));
		nc_write(t->core, &t->line[0], &root);
	}
	nc_unlock(t->core);
	return 0;
}

/* --- NCP ----------------------------------------------------------------------------------------------------------- */

/*
 * A ring: line 0 counts the messages that its receiver has taken; then one message per line: three words and the control word: bit 0
 * epoch, 1 to 15 kind, 16 to 31 unused, 32 to 63 tag, as in UMP. Zeroed by its maker.
 */
#define NCP_LINES(nr) (1u + (nr))

struct ncp {
	struct nc_line *tx, *rx;
	struct nc_ring *ring; /* the other side's */
	u32 core;	      /* ours */
	u32 nr;		      /* messages of a ring, a power of two */
	u64 sent, taken, received, acked;
	u16 channel; /* our number at the other side */
	u8 owed;     /* a message was sent without its notification */
};

WEIR_INLINE void ncp_init(struct ncp *c, u32 core, struct nc_line *tx, struct nc_line *rx, u32 nr,
			  struct nc_ring *ring, u16 channel)
{
	*c = (struct ncp){
		.tx = tx, .rx = rx, .ring = ring, .core = core, .nr = nr, .channel = channel
	};
}

/* Send an owed notification. 0, or -WEIR_EAGAIN: the other side's ring is full; the message stays sent, because it may have been read. */
WEIR_INLINE int ncp_push(struct ncp *c)
{
	int err;

	if (!c->owed)
		return 0;
	err = nc_notify(c->ring, c->core, c->channel);
	if (!err)
		c->owed = 0;
	return err;
}

/* 0, or -WEIR_EAGAIN: there is no room. The next ncp_send(), ncp_recv() or ncp_push() retries a notification that failed. */
WEIR_INLINE int ncp_send(struct ncp *c, const u64 *words, u32 nr, u32 kind, u32 tag)
{
	struct nc_line line = { { 0 } };

	(void)ncp_push(c);
	if (c->sent - c->taken >= c->nr) {
		struct nc_line ack;

		nc_read(c->core, &ack, &c->tx[0]);
		c->taken = ack.word[0];
		if (c->sent - c->taken >= c->nr)
			return -WEIR_EAGAIN;
	}
	for (u32 i = 0; i < nr && i < NCP_WORDS; i++)
		line.word[i] = words[i];
	line.word[3] = ((c->sent / c->nr & 1) ^ 1) | (u64)(kind & 0x7fff) << 1 | (u64)tag << 32;
	nc_write(c->core, &c->tx[1 + c->sent % c->nr], &line);
	c->sent++;
	c->owed = 1;
	(void)ncp_push(c);
	return 0;
}

/* 0 and a message, or -WEIR_EAGAIN. */
WEIR_INLINE int ncp_recv(struct ncp *c, u64 *words, u32 nr, u32 *kind, u32 *tag)
{
	struct nc_line line;

	(void)ncp_push(c);
	nc_read(c->core, &line, &c->rx[1 + c->received % c->nr]);
	if ((line.word[3] & 1) != ((c->received / c->nr & 1) ^ 1))
		return -WEIR_EAGAIN;
	for (u32 i = 0; i < nr && i < NCP_WORDS; i++)
		words[i] = line.word[i];
	*kind = line.word[3] >> 1 & 0x7fff;
	*tag = (u32)(line.word[3] >> 32);
	c->received++;
	/* Half a ring at a time, because each acknowledgement moves a line across the machine. */
	if (c->received - c->acked >= c->nr / 2) {
		struct nc_line ack = { { c->received } };

		nc_write(c->core, &c->rx[0], &ack);
		c->acked = c->received;
	}
	return 0;
}

#endif
