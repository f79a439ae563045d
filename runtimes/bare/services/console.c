/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The console: a driver of the serial port (a 16550) in user mode, and a service that prints lines. It has the device's registers as a
 * frame and its interrupt as a capability; the interrupt arrives as a message. Lines of several clients are not mixed.
 *
 * What it reads is its argument, so that two runs read the same at the same time; each line goes to the client that asks first.
 */
#include <weir/mk.h>

#define REG(n)	   (((volatile u8 *)0x10000000)[n])
#define DATA	   REG(0)
#define INTERRUPTS REG(1)
#define FIFO	   REG(2)
#define STATUS	   REG(5)
#define ROOM	   0x20
#define FIFO_BYTES 16
#define QUEUE	   8192u
#define IRQ_BADGE  1

struct client {
	struct mk_channel *channel;
	struct client *next;
	u32 n;
	char line[CONSOLE_LINE];
};

static char queue[QUEUE];
static u32 head, tail;
static struct mk_thread *writer;
static const char *input;

/* As much as the device accepts; the interrupt requests more. */
static void feed(void)
{
	for (u32 i = 0; i < FIFO_BYTES && head != tail && STATUS & ROOM; i++)
		DATA = queue[tail++ % QUEUE];
	INTERRUPTS = head != tail ? 2 : 0;
}

static void interrupt(u64 badge, const u64 *words, u64 along)
{
	(void)words;
	(void)along;
	if (badge != IRQ_BADGE)
		return;
	feed();
	mk_invoke(SLOT_IRQ, CMD_ACK, 0, 0, 0, 0);
	if (writer)
		mk_unpark(writer);
}

static void print(const char *text, u32 n)
{
	struct mk_dcb *d = mk_self();

	while (n) {
		while (head - tail == QUEUE) {
			writer = mk_current();
			mk_park();
			writer = 0;
		}
		queue[head++ % QUEUE] = *text++;
		n--;
	}
	d->disabled = 1;
	feed();
	d->disabled = 0;
}

/* The next line fits into the client's ring, because it asks for one at a time. */
static void read_for(struct mk_channel *c)
{
	u32 n = 0, more = *input != 0;

	while (input[n] && input[n] != '\n' && n < CONSOLE_LINE)
		n++;
	for (u32 at = 0;;) {
		u64 words[UMP_WORDS] = { 0 };
		u32 bytes = n - at < sizeof(words) ? n - at : sizeof(words);

		memcpy(words, input + at, bytes);
		at += bytes;
		mk_channel_send(c, words, UMP_WORDS,
				!more	 ? CONSOLE_END
				: at < n ? CONSOLE_MORE
					 : CONSOLE_LAST,
				bytes);
		if (at == n)
			break;
	}
	input += n;
	input += *input == '\n';
}

static void take(struct client *c)
{
	u64 words[UMP_WORDS];
	u32 kind, bytes;

	while (!mk_channel_try(c->channel, words, UMP_WORDS, &kind, &bytes)) {
		const char *text = (const char *)words;

		if (kind == CONSOLE_READ) {
			read_for(c->channel);
			continue;
		}
		for (u32 i = 0; i < bytes && i < sizeof(words); i++)
			if (c->n < sizeof(c->line))
				c->line[c->n++] = text[i];
		if (kind != CONSOLE_LAST)
			continue;
		print(c->line, c->n);
		if (c->n && c->line[c->n - 1] != '\n')
			print("\n", 1);
		c->n = 0;
	}
}

int main(int argc, char **argv)
{
	struct client *first = 0, *spare = 0;
	u64 slot = mk_slot();

	input = argc > 1 ? argv[1] : "";
	mk_set(WEIR_TOPIC_PRIORITY, 999, 0);
	mk_invoke(SLOT_DEVICE, CMD_MAP, 0, 0, 0, 0);
	FIFO = 7;
	INTERRUPTS = 0;
	mk_on_message(interrupt);
	mk_invoke(SLOT_SELF, CMD_ENDPOINT, slot, IRQ_BADGE, 0, 0);
	mk_invoke(SLOT_IRQ, CMD_BIND, slot, 0, 0, 0);
	if (mk_export("console"))
		return 1;
	for (;;) {
		mk_wait_any();
		while (mk_client_asks()) {
			struct client *c = spare ? spare : mk_alloc(sizeof(*c));

			if (!c) {
				mk_next_client(1);
				continue;
			}
			spare = c == spare ? c->next : 0;
			*c = (struct client){ .channel = mk_next_client(0), .next = first };
			if (c->channel)
				first = c;
		}
		for (struct client **p = &first; *p;) {
			struct client *c = *p;
			u32 gone = c->channel->gone;

			take(c);
			if (!gone) {
				p = &c->next;
				continue;
			}
			*p = c->next;
			mk_channel_close(c->channel);
			c->next = spare;
			spare = c;
		}
	}
}
