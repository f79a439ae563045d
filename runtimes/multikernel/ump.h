/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * UMP: messages between two cores through shared memory, a ring of cache lines in each direction. Neutral: it needs only port.h and
 * two calls of the runtime. docs/messages.md explains the protocol. Source: 1, 2.4 and 2.5.
 *
 * A slot is one line: seven words, and a control word that is written last. Its epoch bit flips on each pass round the ring, so slots
 * are never cleared. A receiver writes the number of messages taken into a line of its own, overwriting it each time: that needs no
 * flow control, so two full rings cannot wait for each other. Control words of messages in the other direction carry the number, too.
 *
 * Control word: bit 0 epoch, 1 to 15 kind and fragment (the caller's), 16 to 31 messages taken, modulo 2^16, 32 to 63 tag (the caller's).
 */
#ifndef WEIR_UMP_H
#define WEIR_UMP_H

#include <weir/error.h>
#include <weir/port.h>

#define UMP_WORDS     7u
#define UMP_MAX_SLOTS 32768u
/* Looks at a slot before a receiver sleeps: initial, minimum, maximum. */
#define UMP_WINDOW     256u
#define UMP_WINDOW_MIN 16u
#define UMP_WINDOW_MAX 4096u

struct ump_slot {
	u64 word[UMP_WORDS];
	u64 control;
} __attribute__((aligned(64)));

/* Whether the receiver must be woken. */
enum ump_asleep {
	UMP_AWAKE,
	UMP_WAITS,	/* by a message; at its slot's control word */
	UMP_WAITS_ROOM, /* by a message, or by room in the ring that it sends to; at the bell */
};

/* Zeroed by its maker. */
struct ump_ring {
	u64 taken __attribute__((aligned(64)));	 /* written by the receiver */
	u32 asleep __attribute__((aligned(64))); /* likewise: enum ump_asleep */
	u32 bell; /* by the sender: counts what wakes one that waits for room */
	struct ump_slot slot[] __attribute__((aligned(64)));
};

/* One end. */
struct ump {
	struct ump_ring *tx;
	struct ump_ring *rx;
	u32 nr;	    /* slots of a ring, a power of two */
	u32 window; /* looks before it sleeps */
	u64 sent;
	u64 taken; /* of those, taken by the other side, as far as we know */
	u64 received;
	u64 acked;  /* of those, acknowledged in our line or in a message */
	u64 blocks; /* times it slept */
};

/* The runtime's: sleep while the 32 bits at @word are @value; wake the threads that sleep there, if any. */
void ump_sleep(const void *word, u32 value);
void ump_wake(const void *word);

WEIR_INLINE u64 ump_bytes(u32 nr)
{
	return sizeof(struct ump_ring) + (u64)nr * sizeof(struct ump_slot);
}

/* 0, or -WEIR_EINVAL. @tx and @rx are lines of zeroes; the other end passes them in reverse order. */
WEIR_INLINE int ump_init(struct ump *c, void *tx, void *rx, u32 nr)
{
	if (nr < 2 || nr > UMP_MAX_SLOTS || nr & (nr - 1) || (u64)tx % 64 || (u64)rx % 64)
		return -WEIR_EINVAL;
	*c = (struct ump){ .tx = tx, .rx = rx, .nr = nr, .window = UMP_WINDOW };
	return 0;
}

WEIR_INLINE u64 ump_epoch(const struct ump *c, u64 n)
{
	return (n / c->nr & 1) ^ 1;
}

/* Whether every slot holds a message that may not have been read. */
WEIR_INLINE int ump_full(struct ump *c)
{
	u64 line;

	if (c->sent - c->taken < c->nr)
		return 0;
	/*
	 * Messages may have said more, and the line may be old: the other side writes it for half a ring without a message to us. Back at
	 * its number, the 16 bits of the next message would mean another one.
	 */
	line = weir_load_acquire(&c->tx->taken);
	if (line > c->taken)
		c->taken = line;
	return c->sent - c->taken >= c->nr;
}

/* The other side waits for a message or for room. */
WEIR_INLINE void ump_ring_bell(struct ump *c)
{
	/* Only we write it. */
	weir_store(&c->tx->bell, weir_load(&c->tx->bell) + 1);
	ump_wake(&c->tx->bell);
}

/* Wake the other side if it sleeps: it sets the flag before its last look at the slot, and we check the flag after the write. */
WEIR_INLINE void ump_rouse(struct ump *c, struct ump_slot *s)
{
	u32 asleep;

	weir_fence();
	asleep = weir_load(&c->tx->asleep);
	if (asleep == UMP_WAITS_ROOM)
		ump_ring_bell(c);
	else if (asleep)
		ump_wake(&s->control);
}

/* 0, or -WEIR_EAGAIN: no slot is free. @kind has 15 bits. */
WEIR_INLINE int ump_send(struct ump *c, const u64 *words, u32 nr, u32 kind, u32 tag)
{
	struct ump_slot *s = &c->tx->slot[c->sent & (c->nr - 1)];
	u64 control = ump_epoch(c, c->sent) | (u64)(kind & 0x7fff) << 1 |
		      (c->received & 0xffff) << 16 | (u64)tag << 32;

	if (ump_full(c))
		return -WEIR_EAGAIN;
	for (u32 i = 0; i < nr && i < UMP_WORDS; i++)
		weir_store(&s->word[i], words[i]);
	weir_store_release(&s->control, control);
	c->sent++;
	c->acked = c->received;
	ump_rouse(c, s);
	return 0;
}

/* Acknowledge the messages taken. */
WEIR_INLINE void ump_ack(struct ump *c)
{
	weir_store_release(&c->rx->taken, c->received);
	c->acked = c->received;
	/* As for a message. */
	weir_fence();
	if (weir_load(&c->tx->asleep) == UMP_WAITS_ROOM)
		ump_ring_bell(c);
}

WEIR_INLINE struct ump_slot *ump_next(struct ump *c)
{
	return &c->rx->slot[c->received & (c->nr - 1)];
}

/* 1: a message is there. */
WEIR_INLINE int ump_ready(struct ump *c)
{
	return (weir_load_acquire(&ump_next(c)->control) & 1) == ump_epoch(c, c->received);
}

/* 0 and a message, or -WEIR_EAGAIN: there is none. */
WEIR_INLINE int ump_recv(struct ump *c, u64 *words, u32 nr, u32 *kind, u32 *tag)
{
	struct ump_slot *s = ump_next(c);
	u64 control = weir_load_acquire(&s->control), more;

	if ((control & 1) != ump_epoch(c, c->received))
		return -WEIR_EAGAIN;
	for (u32 i = 0; i < nr && i < UMP_WORDS; i++)
		words[i] = weir_load(&s->word[i]);
	*kind = control >> 1 & 0x7fff;
	*tag = (u32)(control >> 32);
	/* A message written before the other side's last update of its line has an older number. */
	more = ((control >> 16) - c->taken) & 0xffff;
	if (more <= c->sent - c->taken)
		c->taken += more;
	c->received++;
	/* Half a ring at a time, so that the line seldom moves; a message in the other direction also acknowledges. */
	if (c->received - c->acked >= c->nr / 2)
		ump_ack(c);
	return 0;
}

/*
 * Poll, then sleep, until a message is there. The window adapts: it grows when a message arrives within it and shrinks otherwise, so
 * that a receiver with infrequent messages sleeps at once.
 */
WEIR_INLINE void ump_wait(struct ump *c)
{
	struct ump_slot *s = ump_next(c);
	u32 looks;

	for (looks = 0; looks < c->window; looks++) {
		if (ump_ready(c)) {
			if (c->window < UMP_WINDOW_MAX && looks)
				c->window *= 2;
			return;
		}
		weir_port_relax(looks);
	}
	if (c->window > UMP_WINDOW_MIN)
		c->window /= 2;
	while (!ump_ready(c)) {
		/* A message changes the word that we sleep on, so none is missed between the look and the sleep. */
		u64 control = weir_load(&s->control);

		weir_store(&c->rx->asleep, UMP_WAITS);
		weir_fence();
		if (ump_ready(c))
			break;
		c->blocks++;
		ump_sleep(&s->control, (u32)control);
	}
	weir_store(&c->rx->asleep, UMP_AWAKE);
}

/* Sleep until a message is there, or a slot is free to send: for a side that has half sent something. */
WEIR_INLINE void ump_wait_room(struct ump *c)
{
	for (;;) {
		u32 bell = weir_load(&c->rx->bell);

		weir_store(&c->rx->asleep, UMP_WAITS_ROOM);
		weir_fence();
		if (ump_ready(c) || !ump_full(c))
			break;
		c->blocks++;
		ump_sleep(&c->rx->bell, bell);
	}
	weir_store(&c->rx->asleep, UMP_AWAKE);
}

#endif
